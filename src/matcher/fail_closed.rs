//! Matchers that fail closed: a mask is found, or the output ends.
//!
//! The loop of an inference engine steps many requests at once, and in some an error on the way ends all of them. There a mask that can't be found
//! has to be some mask: that of the stop tokens, so that the request ends by itself, and says why when it is asked.

use super::{Fill, MatchError, Matcher};
use crate::util::bit_row;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Matcher {
    /// Sets whether the matcher fails closed. Then [`fill_mask`](Self::fill_mask) has no errors: where the text is stuck, the step takes more than the
    /// [`Limits`](crate::Limits) allow, the row is too short or the engine fails, the row has the stop tokens and nothing else, accepting one of them ends the text, and
    /// [`error`](Self::error) says why. Off at first; forks inherit it.
    pub fn set_fail_closed(&mut self, is_closed: bool) {
        self.failure.is_closed = is_closed;
        if !is_closed {
            self.failure.error = None;
        }
    }

    /// Returns why the last mask of a matcher that [fails closed](Self::set_fail_closed) has the stop tokens only; nothing if it is the mask of what may
    /// follow, or text was accepted or taken back since.
    pub fn error(&self) -> Option<&MatchError> {
        self.failure.error.as_ref()
    }

    /// As [`Self::fill_mask`], with the stop tokens instead of an error.
    pub(super) fn fill_or_close(&mut self, row: &mut [u32]) -> Fill {
        (self.failure.error, self.failure.is_closed_ahead) = (None, false);
        let filled = match self.failure.is_poisoned {
            true => Err(self.failure.poisoned()),
            false => self.fail_on_panic(|matcher| matcher.try_fill_mask(row)),
        };
        filled.unwrap_or_else(|error| {
            row.fill(0);
            for &token in self.stop_tokens() {
                let (word, bit) = bit_row::place(token);
                if let Some(word) = row.get_mut(word) {
                    *word |= bit;
                }
            }
            self.failure.error = Some(error);
            Fill { all_set: false, none_set: row.iter().all(|&word| word == 0) }
        })
    }

    /// Tells whether the row of the text so far was filled as one behind drafts and has the stop tokens for want of a mask, so that they are to be accepted.
    #[cold]
    pub(super) fn closes_here(&mut self) -> bool {
        // While the row is filled once more, a stop token that is tried for it asks no further.
        if !core::mem::take(&mut self.failure.is_closed_ahead) {
            return false;
        }
        let mut row = core::mem::take(&mut self.scratch.row);
        row.resize(self.grammar.vocab().n_mask_words(), 0);
        let closes = self.fail_on_panic(|matcher| matcher.try_fill_mask(&mut row)).is_err();
        self.scratch.row = row;
        self.failure.is_closed_ahead = true;
        closes
    }

    /// Does what may panic; of a matcher that fails closed that is an error, and what it was changing is not looked at again.
    pub(super) fn fail_on_panic<T>(
        &mut self,
        work: impl FnOnce(&mut Matcher) -> Result<T, MatchError>,
    ) -> Result<T, MatchError> {
        if !self.failure.is_closed {
            return work(self);
        }
        catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|panic| {
            self.failure.is_poisoned = true;
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|&message| message.to_owned()));
            Err(MatchError::internal(message.unwrap_or_else(|| "without a message".to_owned())))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{GrammarCompiler, Vocab};

    #[test]
    fn a_matcher_in_which_the_engine_failed_only_ends() {
        let mut builder = Vocab::builder();
        builder.extend(["a", "b", "</s>"]);
        let vocab = builder.stop_tokens(vec![2]).build().unwrap();
        let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf("root ::= \"ab\"").unwrap().matcher();
        matcher.set_fail_closed(true);
        matcher.accept_token(0).unwrap();
        let found = matcher.fail_on_panic::<()>(|_| panic!("as if"));
        assert!(found.unwrap_err().is_internal());

        let mut row = [u32::MAX];
        matcher.fill_mask(&mut row).unwrap();
        assert_eq!(row, [1 << 2]);
        assert!(matcher.error().unwrap().is_internal());
        assert!(matcher.accept_token(1).unwrap_err().is_internal());
        assert!(matcher.accept_bytes(b"b").unwrap_err().is_internal());
        assert!(!matcher.is_token_allowed(1) && matcher.jump_forward().is_empty());
        assert_ne!(matcher.mask_key(), matcher.mask_key());
        let mut fork = matcher.fork();
        fork.accept_token(2).unwrap();
        assert!(fork.is_terminated());

        matcher.reset();
        assert!(matcher.error().is_none());
        matcher.accept_bytes(b"ab").unwrap();
        assert!(matcher.is_accepting());
    }
}

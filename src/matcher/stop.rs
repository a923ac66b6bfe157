//! Stop tokens: where they are allowed, and when the output has ended.
//!
//! A stop token is never text. Where the grammar doesn't name it, it may follow a text that is complete, and ends the output. Where the grammar names it, it is read as
//! the grammar says, and ends the output if the text is complete with it:
//!
//! | grammar, `<s>` a stop token | the output `a <s>` |
//! |---|---|
//! | `"a"` | has ended: the text was complete |
//! | `"a" <s>` | has ended: the text is complete with it |
//! | `("a" <s>)+` | has ended, though the grammar would go on |
//! | `"a" <s> "b"`, `"a" (<s> "b")?` | goes on with `b` |
//!
//! A set of tokens, like any but some, never has a stop token in force, whatever it excludes: only what a grammar names is meant.

use super::{MatchError, Matcher};
use crate::automaton::DONE;
use crate::exec::is_done;
use crate::util::bit_row;
use crate::vocab::TokenId;

impl Matcher {
    /// Returns the stop tokens in force.
    pub fn stop_tokens(&self) -> &[TokenId] {
        self.stop_tokens.as_deref().unwrap_or_else(|| self.grammar.vocab().stop_tokens())
    }

    /// Replaces the vocabulary's stop tokens for this matcher. A stop token is never text while it is one. Any id below the width of the logits can be one, padding
    /// too: what a stop token is called is of no importance.
    ///
    /// # Errors
    /// If an id is not in the vocabulary.
    pub fn set_stop_tokens(&mut self, tokens: &[TokenId]) -> Result<(), MatchError> {
        let n_tokens = self.grammar.vocab().n_tokens();
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= n_tokens) {
            return Err(MatchError::unknown_token(token, n_tokens));
        }
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        self.stop_tokens = Some(tokens.into());
        // A stop token is no text.
        self.scratch.memo.lasting = None;
        self.note_exhaustion();
        Ok(())
    }

    /// Tells whether the output has ended: a stop token was accepted that ends it, or nothing but stop tokens can follow and the matcher was asked to
    /// [end there](Self::set_terminate_when_nothing_follows). Only stop tokens are allowed then.
    ///
    /// A stop token that the grammar names ends the output if the text is complete with it; else the text goes on behind it.
    pub fn is_terminated(&self) -> bool {
        self.ending.is_stopped || self.ending.is_exhausted
    }

    /// Sets whether the output also ends without a stop token: as soon as the text is complete and no token but stop tokens can follow. So the last token of a closed
    /// text, like the brace behind a JSON object, ends it, and a step of the model is saved. Off at first; forks inherit it.
    ///
    /// Whether tokens can follow is decided for the stop tokens in force. After a text that is complete and may go on this takes as long as filling a mask. Where that is
    /// more work than a step may take, the output has not ended.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let vocab = Vocab::from_tokens(["a", "b"])?;
    /// let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= "a" "b"?"#)?.matcher();
    /// matcher.set_terminate_when_nothing_follows(true);
    /// matcher.accept_token(0)?;
    /// assert!(matcher.is_accepting() && !matcher.is_terminated());
    /// matcher.accept_token(1)?;
    /// assert!(matcher.is_terminated());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_terminate_when_nothing_follows(&mut self, is_asked: bool) {
        self.ending.is_asked_ahead = is_asked;
        self.note_exhaustion();
    }

    /// Finds out whether the output ends since nothing follows. To be called whenever the text or the stop tokens change.
    #[inline]
    pub(super) fn note_exhaustion(&mut self) {
        self.ending.is_exhausted = false;
        if self.ending.is_asked_ahead && !self.ending.is_stopped && is_done(&self.live) {
            self.ending.is_exhausted = !self.may_go_on();
        }
    }

    /// Tells whether a token that is no stop token is allowed, or that takes too much work to be known.
    fn may_go_on(&mut self) -> bool {
        if self.live.iter().all(|head| head.state == DONE) {
            return false;
        }
        if self.failure.is_poisoned {
            return true;
        }
        let mut row = core::mem::take(&mut self.scratch.row);
        row.clear();
        row.resize(self.grammar.vocab().n_mask_words(), 0);
        let filled = self.fail_on_panic(|matcher| matcher.fill_following(&mut row));
        for &token in self.stop_tokens() {
            bit_row::clear(&mut row, token);
        }
        let may_go_on = filled.is_err() || row.iter().any(|&word| word != 0);
        self.scratch.row = row;
        may_go_on
    }

    /// Sets and clears the bits of stop tokens; returns how many are set, and how many were set and are not.
    pub(super) fn add_stop_tokens(&self, row: &mut [u32]) -> (usize, usize) {
        let (mut n_set, mut n_cleared) = (0, 0);
        for &token in self.stop_tokens() {
            let (word, bit) = bit_row::place(token);
            let word = &mut row[word];
            if self.is_stop_allowed(token) {
                *word |= bit;
                n_set += 1;
            } else {
                n_cleared += usize::from(*word & bit != 0);
                *word &= !bit;
            }
        }
        (n_set, n_cleared)
    }

    pub(super) fn is_stop_allowed(&self, token: TokenId) -> bool {
        self.is_terminated() || is_done(&self.live) || self.is_named_here(token)
    }

    /// Tells whether the grammar itself names the token here.
    fn is_named_here(&self, token: TokenId) -> bool {
        let program = self.grammar.program();
        self.live.iter().any(|head| {
            program
                .place(head.state)
                .is_some_and(|(linked, local)| linked.unit.control_lists(local, token, false).next().is_some())
        })
    }
}

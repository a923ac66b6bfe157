//! Stop tokens: where they are allowed, and when the output has ended.

use super::{MatchError, Matcher};
use crate::exec::is_done;
use crate::util::bit_row;
use crate::vocab::{TokenId, TokenKind};

impl Matcher {
    /// Returns the stop tokens in force.
    pub fn stop_tokens(&self) -> &[TokenId] {
        self.stop_tokens.as_deref().unwrap_or_else(|| self.grammar.vocab().stop_tokens())
    }

    /// Replaces the vocabulary's stop tokens for this matcher. A stop token is never text while it is one. Padding is never allowed,
    /// not even as a stop token: give such an id a kind in the vocabulary.
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
        self.scratch.memo.invalidate();
        Ok(())
    }

    /// Tells whether a stop token was accepted.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
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
        let is_padding = self.grammar.vocab().kind(token) == TokenKind::Padding;
        !is_padding && (self.is_terminated || is_done(&self.live) || self.is_named_here(token))
    }

    /// Tells whether the grammar itself names the token here.
    fn is_named_here(&self, token: TokenId) -> bool {
        let program = self.grammar.program();
        self.live.iter().any(|head| {
            program.place(head.state).is_some_and(|(linked, local)| linked.unit.control_list(local, token).is_some())
        })
    }
}

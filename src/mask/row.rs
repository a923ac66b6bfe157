//! An owned mask.

use crate::logits::{Logit, mask_row};
use crate::util::bit_row;
use crate::vocab::TokenId;
use bitvec::{order::Lsb0, slice::BitSlice};

/// A mask over a vocabulary: bit `i % 32` of word `i / 32`, least significant first, is set when token `i` is allowed. Bits beyond
/// the vocabulary are 0.
///
/// ```
/// let mut mask = maskwright::TokenMask::new(70);
/// mask.as_words_mut()[2] = 0b10;
/// assert_eq!(mask.iter().collect::<Vec<_>>(), [65]);
/// let mut logits = vec![0.5f32; 70];
/// mask.apply_to_logits(&mut logits);
/// assert_eq!((logits[65], logits[64]), (0.5, f32::NEG_INFINITY));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TokenMask {
    words: Vec<u32>,
    n_tokens: usize,
}

impl TokenMask {
    /// Returns the mask over `n_tokens` tokens that allows none; `ceil(n_tokens / 32)` words.
    pub fn new(n_tokens: usize) -> Self {
        TokenMask { words: vec![0; bit_row::n_words(n_tokens)], n_tokens }
    }

    /// Returns the number of tokens, allowed or not.
    pub fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Returns the words.
    pub fn as_words(&self) -> &[u32] {
        &self.words
    }

    /// Returns the words, to be filled. Bits beyond the vocabulary must stay 0.
    pub fn as_words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Returns the bits, one per token.
    pub fn as_bits(&self) -> &BitSlice<u32, Lsb0> {
        &BitSlice::from_slice(&self.words)[..self.n_tokens]
    }

    /// Tells whether a token is allowed; ids outside the vocabulary are not.
    pub fn contains(&self, token: TokenId) -> bool {
        self.as_bits().get(token as usize).is_some_and(|bit| *bit)
    }

    /// Returns the number of allowed tokens.
    pub fn count(&self) -> usize {
        self.as_bits().count_ones()
    }

    /// Returns the allowed tokens, ascending.
    pub fn iter(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.as_bits().iter_ones().map(|token| token as TokenId)
    }

    /// Sets the logits of tokens that are not allowed to negative infinity. Logits beyond the vocabulary count as not allowed, and
    /// if the slice is shorter than the vocabulary, what it has is masked; [`logits::apply_mask`](crate::logits::apply_mask) refuses that.
    pub fn apply_to_logits<T: Logit>(&self, logits: &mut [T]) {
        mask_row(&self.words, self.n_tokens, logits);
    }
}

//! Tokenizers: from text to tokens.

use super::{TokenId, Vocab};

/// A tokenizer: which tokens a text is spelled with.
///
/// Maskwright needs none to compute masks. Forced text is tokenized, and should be as the model saw it in training
/// ([`Matcher::jump_forward_tokens`](crate::Matcher::jump_forward_tokens)).
///
/// The tokens must spell the text, or what there is of it up to its last whole character: normalization, tokens around the text, and ids that aren't text are errors of the
/// caller. Beyond that a tokenizer should be *consistent*: a text that ends where a token of a longer text ends is split as it is there. Byte pair encoding is, and so is longest match.
///
/// Functions from bytes to tokens are tokenizers, and so is a [`Vocab`], by longest match.
pub trait Tokenize {
    /// Returns the tokens of a text, which can end within a character.
    fn tokenize(&self, text: &[u8]) -> Vec<TokenId>;
}

impl<F: Fn(&[u8]) -> Vec<TokenId>> Tokenize for F {
    fn tokenize(&self, text: &[u8]) -> Vec<TokenId> {
        self(text)
    }
}

impl Tokenize for Vocab {
    fn tokenize(&self, text: &[u8]) -> Vec<TokenId> {
        self.tokenize_greedy(text)
    }
}

//! Tokens by number and kind.

/// The number of a token: its index in a row of logits.
pub type TokenId = u32;

/// The kind of a token, which decides where it may be allowed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TokenKind {
    /// Ordinary text: allowed where the grammar allows its bytes.
    Text,
    /// A special token such as `<|im_start|>`: never text whatever its spelling, allowed only where a grammar names it.
    Control,
    /// An added token such as `<think>`: text that a grammar may also name.
    AddedText,
    /// An id without a token, as those between the tokenizer's size and the width of the logits: never allowed but as a stop token of a matcher.
    Padding,
}

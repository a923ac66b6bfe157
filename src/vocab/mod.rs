//! Vocabularies: the bytes of each token, its kind, and indexes over all tokens.
//!
//! A [`Vocab`] maps token ids to the bytes that each token adds *in mid-sequence*, and says which ids are text at all:
//!
//! | kind | example | in the trie | may be allowed |
//! |---|---|---|---|
//! | [`TokenKind::Text`] | `ing`, `" the"`, `\xE2\x82` | yes, unless it has no bytes | where its bytes fit |
//! | [`TokenKind::AddedText`] | `<think>` | yes, unless it has no bytes | where its bytes fit, or where a grammar names it |
//! | [`TokenKind::Control`] | `<\|im_start\|>` | no, whatever its spelling | where a grammar names it, or as a stop token |
//! | [`TokenKind::Padding`] | ids beyond the tokenizer | no | only as a stop token of a matcher |
//!
//! Two indexes serve every grammar:
//!
//! - the [`Trie`] shares the work of tokens with a common prefix: a mask is one walk over it instead of one walk per token;
//! - *regions* divide the trie by a set of characters, so that a state that loops over nearly all text need not walk most of it; a region
//!   is found when a grammar first needs it.
//!
//! A token's bytes may be part of a UTF-8 character, may equal another token's, and may be absent; none of these is a special case.
//!
//! Sources: byte strings ([`Vocab::builder`]), tiktoken data (feature `tiktoken`) and Hugging Face `tokenizer.json` (feature `hf`).

mod builder;
mod error;
#[cfg(feature = "hf")]
mod hf;
mod longest_first;
mod marks;
mod merged_tries;
mod punctuation;
mod quoted;
mod regions;
mod tables;
#[cfg(feature = "tiktoken")]
pub mod tiktoken;
mod token;
mod tokenize;
mod trie;

pub use builder::VocabBuilder;
pub use error::VocabError;
pub use token::{TokenId, TokenKind};
pub use tokenize::Tokenize;
pub(crate) use trie::byte_bit;
pub use trie::{Trie, TrieNode};

use crate::util::{ByteSet, bit_row};
use core::fmt;
use core::ops::Bound;
use longest_first::LongestFirst;
use merged_tries::MergedTries;
pub(crate) use punctuation::Punctuation;
use punctuation::{PunctuatedTokens, PunctuationBelow};
pub(crate) use quoted::QuotedStrings;
pub(crate) use regions::{Alphabet, CharCount, NonAscii, Region, ascii_bytes, ascii_set};
use regions::{Lengths, Regions};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use tables::TokenTables;

/// The offset of a token's bytes, with its kind in the two highest bits: each step needs both, and this way they share a cache line.
#[derive(Clone, Copy)]
struct PackedStart(u32);

impl PackedStart {
    const KIND_SHIFT: u32 = 30;
    const KINDS: [TokenKind; 4] = [TokenKind::Text, TokenKind::Control, TokenKind::AddedText, TokenKind::Padding];

    fn new(offset: u32, kind: TokenKind) -> Self {
        debug_assert!(offset >> Self::KIND_SHIFT == 0 && Self::KINDS[kind as usize] == kind);
        PackedStart(offset | (kind as u32) << Self::KIND_SHIFT)
    }

    #[inline]
    fn offset(self) -> usize {
        (self.0 & !(3 << Self::KIND_SHIFT)) as usize
    }

    #[inline]
    fn kind(self) -> TokenKind {
        Self::KINDS[(self.0 >> Self::KIND_SHIFT) as usize]
    }
}

const _: () = assert!(Vocab::BYTES_MAX < 1 << PackedStart::KIND_SHIFT);

/// A tokenizer's vocabulary, with the indexes that masks are computed from. Immutable; share it in an `Arc`.
///
/// ```
/// use maskwright::vocab::{TokenKind, Vocab};
/// let mut builder = Vocab::builder();
/// builder.extend(["a", "b", "ab", "<end>"]);
/// builder.stop_tokens([3]).logits_width(8);
/// let vocab = builder.build()?;
/// assert_eq!(vocab.n_tokens(), 8);
/// assert_eq!(vocab.tokenize_greedy(b"abb"), [2, 1]);
/// assert_eq!((vocab.kind(3), vocab.kind(4)), (TokenKind::Control, TokenKind::Padding));
/// assert_eq!(vocab.ids_named("<end>"), [3]);
/// # Ok::<(), maskwright::vocab::VocabError>(())
/// ```
pub struct Vocab {
    /// The bytes of all tokens, concatenated; control tokens and padding have none.
    bytes: Box<[u8]>,
    /// By token, and one more at the end.
    starts: Box<[PackedStart]>,
    names: BTreeMap<TokenId, Box<str>>,
    ids_by_name: BTreeMap<Box<str>, Box<[TokenId]>>,
    stop_tokens: Box<[TokenId]>,
    token_bytes_max: usize,
    unspellable_bytes: ByteSet,
    trie: Trie,
    regions: Regions,
    merged_tries: MergedTries,
    tables: TokenTables,
}

impl Vocab {
    /// The longest token, in bytes, that a vocabulary may hold.
    pub const TOKEN_BYTES_MAX: usize = u16::MAX as usize;
    /// The largest width of a row of logits.
    pub const N_TOKENS_MAX: usize = 1 << 22;
    /// The most bytes that all tokens may have together.
    pub const BYTES_MAX: usize = 1 << 28;

    /// Returns the width of a row of logits, padding included.
    pub fn n_tokens(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of 32-bit words in a mask row: `ceil(n_tokens / 32)`.
    pub fn n_mask_words(&self) -> usize {
        bit_row::n_words(self.n_tokens())
    }

    /// Returns the bytes that the token adds in mid-sequence; nothing for control tokens, padding and unknown ids.
    #[inline]
    pub fn bytes(&self, id: TokenId) -> &[u8] {
        match self.starts.get(id as usize..id as usize + 2) {
            Some(&[start, end]) => &self.bytes[start.offset()..end.offset()],
            _ => &[],
        }
    }

    /// Returns the kind of the token; an unknown id is padding.
    #[inline]
    pub fn kind(&self, id: TokenId) -> TokenKind {
        self.starts.get(id as usize).map_or(TokenKind::Padding, |start| start.kind())
    }

    /// Returns whether the token may be read as its bytes: of kind text or added text, with at least one byte. These are the tokens
    /// of the trie.
    pub fn is_text(&self, id: TokenId) -> bool {
        !self.bytes(id).is_empty()
    }

    /// Returns the name by which a grammar can refer to the token.
    pub fn name(&self, id: TokenId) -> Option<&str> {
        self.names.get(&id).map(|name| &**name)
    }

    /// Returns the ids with this name, ascending; a name may have several, or none.
    pub fn ids_named(&self, name: &str) -> &[TokenId] {
        self.ids_by_name.get(name).map_or(&[], |ids| ids)
    }

    /// Calls `visit` with each name that `text` begins with, longest first, and the ids of that name.
    pub(crate) fn for_each_name_beginning(&self, text: &str, mut visit: impl FnMut(&str, &[TokenId])) {
        // All of them sort before the text, and each other name in between ends the search of those that are as long as what it shares with the text.
        let mut bound = Bound::Included(text);
        while let Some((name, ids)) = self.ids_by_name.range::<str, _>((Bound::Unbounded, bound)).next_back() {
            let n_shared = name.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            if n_shared == name.len() {
                visit(name, ids);
                bound = Bound::Excluded(&text[..n_shared]);
            } else {
                let n_shared = (0..=n_shared).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0);
                bound = Bound::Included(&text[..n_shared]);
            }
            if n_shared == 0 {
                break;
            }
        }
    }

    /// Returns all names with their ids, in the order of the names.
    pub fn names(&self) -> impl Iterator<Item = (&str, &[TokenId])> {
        self.ids_by_name.iter().map(|(name, ids)| (&**name, &**ids))
    }

    /// Returns the row of all tokens but padding.
    pub(crate) fn any_token_row(&self) -> &[u32] {
        &self.tables.any_token_row
    }

    /// Returns the ids of the tokens that a grammar means by a name: those that have it; if there are none, those with this text.
    pub(crate) fn ids_called(&self, name: &str) -> &[TokenId] {
        match self.ids_named(name) {
            [] if name.is_empty() => &[],
            [] => self.trie.find(name.as_bytes()).map_or(&[], |node| self.trie.tokens(node)),
            ids => ids,
        }
    }

    /// Returns the tokens that end a document, ascending.
    pub fn stop_tokens(&self) -> &[TokenId] {
        &self.stop_tokens
    }

    /// Returns the length of the longest text token, in bytes.
    pub fn token_bytes_max(&self) -> usize {
        self.token_bytes_max
    }

    /// Returns the bytes that no single-byte text token spells. If there is none, every continuation of every text can be spelled.
    pub fn unspellable_bytes(&self) -> ByteSet {
        self.unspellable_bytes
    }

    /// Returns the text of the tokens, byte by byte; control tokens, padding and unknown ids add nothing.
    pub fn decode(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter().flat_map(|&id| self.bytes(id)).copied().collect()
    }

    /// Spells a text with text tokens, always by the longest one that fits (the lowest id among equals). This is not what a tokenizer
    /// does; it is for tests and tools. Stops where no token fits: the result then spells a proper prefix.
    pub fn tokenize_greedy(&self, text: &[u8]) -> Vec<TokenId> {
        let mut ids = Vec::new();
        let mut suffix = text;
        while let Some((id, len)) = self.trie.longest_match(suffix) {
            ids.push(id);
            suffix = &suffix[len..];
        }
        ids
    }

    /// Returns the trie over all text tokens.
    pub fn trie(&self) -> &Trie {
        &self.trie
    }

    /// Returns the region of an alphabet below a trie node.
    pub(crate) fn region(&self, alphabet: Alphabet, from: TrieNode) -> Arc<Region> {
        self.regions.get(&self.trie, alphabet, from)
    }

    /// Returns the trie of what tokens spell from some nodes on ([`Trie::merged`]).
    pub(crate) fn merged(&self, nodes: &[TrieNode]) -> Arc<Trie> {
        self.merged_tries.get(&self.trie, nodes)
    }

    /// Forgets what was found for masks.
    pub(crate) fn clear_caches(&self) {
        self.regions.clear();
        self.merged_tries.clear();
    }

    /// Returns the memory used by this vocabulary, in bytes; exact but for the tables of names.
    pub fn memory_bytes(&self) -> usize {
        let by_id = self.names.values().map(|name| name.len() + 32);
        let by_name = self.ids_by_name.iter().map(|(name, ids)| name.len() + size_of_val(&**ids) + 48);
        size_of::<Self>()
            + self.bytes.len()
            + size_of_val(&*self.starts)
            + size_of_val(&*self.stop_tokens)
            + by_id.chain(by_name).sum::<usize>()
            + self.trie.memory_bytes()
            + self.regions.memory_bytes()
            + self.merged_tries.memory_bytes()
            + self.tables.memory_bytes()
    }
}

impl Vocab {
    /// Returns the set of the bytes below a node of the trie, as [`byte_bit`]s.
    pub(crate) fn bytes_below(&self, node: TrieNode) -> u64 {
        self.tables.bytes_below[node.index()]
    }

    /// Returns the punctuation below each node of the trie.
    pub(crate) fn punctuation(&self) -> &PunctuationBelow {
        &self.tables.punctuation
    }

    /// Returns the tokens that hold punctuation.
    pub(crate) fn punctuated_tokens(&self) -> &PunctuatedTokens {
        &self.tables.punctuated_tokens
    }

    /// Returns the text tokens, longest first.
    pub(crate) fn longest_first(&self) -> &LongestFirst {
        &self.tables.longest_first
    }

    fn lengths(&self) -> Lengths<'_> {
        Lengths { trie: &self.trie, n_chars: self.regions.n_chars(), longest_first: &self.tables.longest_first }
    }

    /// Returns the tokens that hold quoted strings.
    pub(crate) fn quoted_strings(&self) -> &QuotedStrings {
        &self.tables.quoted_strings
    }
}

impl Region {
    /// Returns the tokens in which at most `n_max` characters begin.
    pub fn tokens_up_to(&self, vocab: &Vocab, n_max: usize) -> &[TokenId] {
        self.of_length_up_to(vocab.lengths(), n_max)
    }

    /// Returns the tokens in which more characters begin.
    pub fn tokens_beyond(&self, vocab: &Vocab, n_max: usize) -> Cow<'_, [TokenId]> {
        self.of_length_beyond(vocab.lengths(), n_max)
    }
}

impl fmt::Debug for Vocab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocab")
            .field("n_tokens", &self.n_tokens())
            .field("n_text_tokens", &self.trie.subtree_tokens(TrieNode::ROOT).len())
            .field("n_names", &self.names.len())
            .field("stop_tokens", &self.stop_tokens)
            .finish_non_exhaustive()
    }
}

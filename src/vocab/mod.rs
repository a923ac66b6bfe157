//! What the engine knows of a tokenizer: the bytes of each token, its kind, and indexes over all of them.
//!
//! A [`Vocab`] maps token ids to the bytes that each token adds *in mid-sequence*, and says which ids are text at all:
//!
//! | kind | example | in the trie | may be allowed |
//! |---|---|---|---|
//! | [`TokenKind::Text`] | `ing`, `" the"`, `\xE2\x82` | yes, unless it has no bytes | where its bytes fit |
//! | [`TokenKind::AddedText`] | `<think>` | yes, unless it has no bytes | where its bytes fit, or where a grammar names it |
//! | [`TokenKind::Control`] | `<\|im_start\|>` | no, whatever its spelling | where a grammar names it, or as a stop token |
//! | [`TokenKind::Padding`] | ids beyond the tokenizer | no | never |
//!
//! Two indexes serve every grammar:
//!
//! - the [`Trie`] shares the work of tokens that begin alike: a mask is one walk over it instead of one walk per token;
//! - *regions* say what a loop over a set of characters sees of the trie, so that states that let nearly all text pass need not walk
//!   most of it; they are made when a grammar first has such a loop.
//!
//! A token's bytes may be part of a UTF-8 character, may equal another token's, and may be absent; none of this is special.
//!
//! Sources: byte strings ([`Vocab::builder`]), tiktoken data (feature `tiktoken`) and Hugging Face `tokenizer.json` (feature `hf`).

mod builder;
mod error;
#[cfg(feature = "hf")]
mod hf;
mod regions;
#[cfg(feature = "tiktoken")]
pub mod tiktoken;
mod trie;

pub use builder::VocabBuilder;
pub use error::VocabError;
pub use trie::Trie;
pub(crate) use trie::kind_of;

use crate::util::ByteSet;
use core::any::Any;
use core::fmt;
use core::panic::AssertUnwindSafe;
use regions::Regions;
pub(crate) use regions::{After, Alphabet, Others, Region, lead, row_of};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Numbers a token: its index in a row of logits.
pub type TokenId = u32;

/// Says what a token is, and so where it may be allowed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TokenKind {
    /// Ordinary text: allowed where its bytes fit.
    Text,
    /// A special token such as `<|im_start|>`: never text whatever its spelling, allowed only where a grammar names it.
    Control,
    /// An added token such as `<think>`: text that a grammar may also name.
    AddedText,
    /// An id without a token, as those between the tokenizer's size and the width of the logits: never allowed.
    Padding,
}

/// Where the bytes of a token begin, and its kind in the two highest bits. PERF: both are asked for at each step, and tokens lie far apart.
#[derive(Clone, Copy)]
struct Start(u32);

impl Start {
    const KIND_SHIFT: u32 = 30;
    const KINDS: [TokenKind; 4] = [TokenKind::Text, TokenKind::Control, TokenKind::AddedText, TokenKind::Padding];

    fn new(place: u32, kind: TokenKind) -> Self {
        debug_assert!(place >> Self::KIND_SHIFT == 0 && Self::KINDS[kind as usize] == kind);
        Start(place | (kind as u32) << Self::KIND_SHIFT)
    }

    #[inline]
    fn place(self) -> usize {
        (self.0 & !(3 << Self::KIND_SHIFT)) as usize
    }

    #[inline]
    fn kind(self) -> TokenKind {
        Self::KINDS[(self.0 >> Self::KIND_SHIFT) as usize]
    }
}

const _: () = assert!(Vocab::BYTES_MAX < 1 << Start::KIND_SHIFT);

/// A tokenizer's vocabulary with the indexes that masks are made from. Immutable; share it in an `Arc`.
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
    /// The bytes of all tokens in turn; of control tokens and padding there are none.
    bytes: Box<[u8]>,
    /// By token, and behind the last.
    starts: Box<[Start]>,
    names: BTreeMap<TokenId, Box<str>>,
    ids_by_name: BTreeMap<Box<str>, Box<[TokenId]>>,
    stop_tokens: Box<[TokenId]>,
    token_bytes_max: usize,
    unspellable_bytes: ByteSet,
    trie: Trie,
    regions: Regions,
    derived: Derived,
}

/// What another layer finds out about all tokens, once for all compilers: that layer alone knows what it is.
#[derive(Default)]
struct Derived(OnceLock<AssertUnwindSafe<Arc<dyn Any + Send + Sync>>>);

impl Vocab {
    /// The longest token, in bytes, that a vocabulary may hold.
    pub const TOKEN_BYTES_MAX: usize = u16::MAX as usize;
    /// The largest width of a row of logits.
    pub const N_TOKENS_MAX: usize = 1 << 22;
    /// The most bytes that all tokens may have together.
    pub const BYTES_MAX: usize = 1 << 28;

    /// Starts a vocabulary from its parts.
    pub fn builder() -> VocabBuilder {
        VocabBuilder::new()
    }

    /// Builds a vocabulary of text tokens: the first has id 0. It has no stop token.
    ///
    /// # Errors
    /// As [`VocabBuilder::build`].
    pub fn from_tokens<T: AsRef<[u8]>>(tokens: impl IntoIterator<Item = T>) -> Result<Vocab, VocabError> {
        let mut builder = Vocab::builder();
        builder.extend(tokens);
        builder.build()
    }

    /// Returns the width of a row of logits, padding included.
    pub fn n_tokens(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of 32-bit words in a mask row: `ceil(n_tokens / 32)`.
    pub fn n_mask_words(&self) -> usize {
        self.n_tokens().div_ceil(32)
    }

    /// Returns the bytes that the token adds in mid-sequence; nothing for control tokens, padding and unknown ids.
    #[inline]
    pub fn bytes(&self, id: TokenId) -> &[u8] {
        match self.starts.get(id as usize..id as usize + 2) {
            Some(&[start, end]) => &self.bytes[start.place()..end.place()],
            _ => &[],
        }
    }

    /// Returns the kind of the token; an unknown id is padding.
    #[inline]
    pub fn kind(&self, id: TokenId) -> TokenKind {
        self.starts.get(id as usize).map_or(TokenKind::Padding, |start| start.kind())
    }

    /// Returns whether the token may stand for its bytes: of kind text or added text, with at least one byte. These are the tokens
    /// of the trie.
    pub fn is_text(&self, id: TokenId) -> bool {
        !self.bytes(id).is_empty()
    }

    /// Returns the name by which a grammar may name the token.
    pub fn name(&self, id: TokenId) -> Option<&str> {
        self.names.get(&id).map(|name| &**name)
    }

    /// Returns the ids with this name, ascending; a name may have several, or none.
    pub fn ids_named(&self, name: &str) -> &[TokenId] {
        self.ids_by_name.get(name).map_or(&[], |ids| ids)
    }

    /// Returns all names with their ids, in the order of the names.
    pub fn names(&self) -> impl Iterator<Item = (&str, &[TokenId])> {
        self.ids_by_name.iter().map(|(name, ids)| (&**name, &**ids))
    }

    /// Returns the tokens that end a document, ascending.
    pub fn stop_tokens(&self) -> &[TokenId] {
        &self.stop_tokens
    }

    /// Returns the length of the longest text token, in bytes.
    pub fn token_bytes_max(&self) -> usize {
        self.token_bytes_max
    }

    /// Returns the bytes that no single-byte text token spells. When there is none, every text can be spelled from any place.
    pub fn unspellable_bytes(&self) -> ByteSet {
        self.unspellable_bytes
    }

    /// Returns the text of the tokens, byte by byte; control tokens, padding and unknown ids add nothing.
    pub fn decode(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter().flat_map(|&id| self.bytes(id)).copied().collect()
    }

    /// Spells a text with text tokens, the longest first at each place (the lowest id among equals). This is not what a tokenizer
    /// does; it is for tests and tools. Stops at the first place where no token fits: the result then spells a proper prefix.
    pub fn tokenize_greedy(&self, text: &[u8]) -> Vec<TokenId> {
        let mut ids = Vec::new();
        let mut rest = text;
        while let Some((id, len)) = self.trie.longest_match(rest) {
            ids.push(id);
            rest = &rest[len..];
        }
        ids
    }

    /// Returns the trie over all text tokens.
    pub fn trie(&self) -> &Trie {
        &self.trie
    }

    /// Returns what a loop over `alphabet` sees below a trie node.
    pub(crate) fn region(&self, alphabet: Alphabet, from: u32) -> Arc<Region> {
        self.regions.get(&self.trie, alphabet, from)
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
    }
}

impl Vocab {
    /// Returns what `find` found out about the tokens at the first call.
    ///
    /// # Panics
    /// If that was of another type: there is one for each vocabulary.
    pub(crate) fn derived<T: Send + Sync + 'static>(&self, find: impl FnOnce(&Vocab) -> T) -> Arc<T> {
        let AssertUnwindSafe(known) = self.derived.0.get_or_init(|| AssertUnwindSafe(Arc::new(find(self))));
        Arc::clone(known).downcast().expect("one kind of findings is kept with a vocabulary")
    }
}

impl fmt::Debug for Vocab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocab")
            .field("n_tokens", &self.n_tokens())
            .field("n_text_tokens", &self.trie.subtree_tokens(0).len())
            .field("n_names", &self.names.len())
            .field("stop_tokens", &self.stop_tokens)
            .finish_non_exhaustive()
    }
}

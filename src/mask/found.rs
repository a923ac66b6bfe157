//! What walks find: tokens, and remainders on which callers decide.

use super::entry::MaskEntry;
use super::remainder::{Remainder, sorted};
use crate::automaton::UnitState;
use crate::util::{Threshold, bit_row};
use crate::vocab::{Region, TokenId, TrieNode, Vocab};
use std::sync::{Arc, OnceLock};

/// Fewest tokens of a subwalk whose row is shared by the masks that have it.
pub(super) const BASE_TOKENS_MIN: Threshold = Threshold::new(256);
/// Tokens are sorted by way of their row where it has at most so many words for each.
const WORDS_PER_SORTED_TOKEN: usize = 8;

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Tokens that are allowed beside `tokens`, as a row that is there already.
    pub base: Option<LargeSet>,
    /// Tokens of `base` that are not allowed, unless `tokens` has them.
    pub cleared: Vec<TokenId>,
    /// Tokens that are allowed, in any order, perhaps repeated.
    pub tokens: Vec<TokenId>,
    /// Where the caller decides.
    pub remainders: Vec<Remainder>,
    /// Trie nodes visited.
    pub n_nodes: u64,
    /// Walks, over the vocabulary or a part of it.
    pub n_walks: u64,
}

/// A large set of tokens.
#[derive(Clone, Debug)]
pub(crate) enum LargeSet {
    /// Those of a region in which at most so many characters begin.
    Region(Arc<Region>, usize),
    Subwalk(Arc<Subwalk>),
}

impl LargeSet {
    fn tokens<'a>(&'a self, vocab: &Vocab) -> &'a [TokenId] {
        match self {
            LargeSet::Region(region, n_max) => region.tokens_up_to(vocab, *n_max),
            LargeSet::Subwalk(subwalk) => &subwalk.tokens,
        }
    }

    pub fn mask(&self, vocab: &Vocab, n_words: usize) -> MaskEntry {
        match self {
            LargeSet::Region(region, n_max) => MaskEntry::of_region_up_to(region, vocab, *n_max, n_words),
            LargeSet::Subwalk(subwalk) => MaskEntry::Dense(Arc::clone(subwalk.row(n_words))),
        }
    }
}

impl Found {
    /// Moves the tokens of the base to the others.
    pub fn flatten(&mut self, vocab: &Vocab) {
        let Some(base) = self.base.take() else { return };
        self.cleared.sort_unstable();
        let is_kept = |id: &TokenId| self.cleared.binary_search(id).is_err();
        self.tokens.extend(base.tokens(vocab).iter().copied().filter(is_kept));
        self.cleared.clear();
    }
}

/// What a unit allows below a trie node, whoever called it.
#[derive(Debug)]
pub(crate) struct Subwalk {
    pub(super) tokens: Box<[TokenId]>,
    pub(super) remainders: Box<[Remainder]>,
    pub(super) row: OnceLock<Arc<[u32]>>,
}

impl Subwalk {
    /// Puts the tokens in order: by way of their row, where that is faster. It is kept if they are so many that it will be asked for.
    pub(super) fn new(tokens: Vec<TokenId>, remainders: Vec<Remainder>, n_words: usize) -> Subwalk {
        let remainders = remainders.into();
        if tokens.len() < n_words / WORDS_PER_SORTED_TOKEN {
            return Subwalk { tokens: sorted(tokens), remainders, row: OnceLock::new() };
        }
        let row = bit_row::of(&tokens, n_words);
        let is_kept = tokens.len() >= n_words.max(BASE_TOKENS_MIN.get());
        let tokens = bit_row::bits(&row).collect();
        Subwalk { tokens, remainders, row: if is_kept { OnceLock::from(row) } else { OnceLock::new() } }
    }

    /// Returns how much memory it takes with its key, in bytes, and of tries that it shares its part. Tokens that are many get a row.
    pub(super) fn memory_bytes(&self, n_words: usize) -> usize {
        let row = if self.tokens.len() >= BASE_TOKENS_MIN.get() { n_words * size_of::<u32>() } else { 0 };
        let tries = self.remainders.iter().filter_map(Remainder::merged);
        size_of::<(SubwalkKey, Subwalk)>()
            + size_of_val(&*self.tokens)
            + size_of_val(&*self.remainders)
            + row
            + tries.map(|trie| trie.memory_bytes() / Arc::strong_count(trie)).sum::<usize>()
    }

    /// Returns the tokens as a mask of `n_words` words.
    pub fn row(&self, n_words: usize) -> &Arc<[u32]> {
        self.row.get_or_init(|| bit_row::of(&self.tokens, n_words))
    }
}

/// Where a subwalk belongs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SubwalkKey {
    pub(super) state: UnitState,
    pub(super) register: u64,
    pub(super) node: TrieNode,
}

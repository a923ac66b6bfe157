//! What walks find: tokens, and remainders on which callers decide.

use super::entry::{Ids, MaskEntry};
use super::remainder::{Remainder, exclude, sorted};
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
    base: Option<LargeSet>,
    /// Tokens of `base` that are not allowed, unless `tokens` has them.
    cleared: Vec<TokenId>,
    /// Tokens that are allowed, in any order, perhaps repeated.
    pub tokens: Vec<TokenId>,
    /// Where the caller decides.
    pub remainders: Vec<Remainder>,
    /// Trie nodes visited.
    pub n_nodes: u64,
    /// Walks, over the vocabulary or a part of it.
    pub n_walks: u64,
}

/// What was found up to a moment: what comes later can be taken back, or taken apart.
#[derive(Clone, Copy)]
pub(super) struct FoundMark {
    n_tokens: usize,
    n_remainders: usize,
    has_base: bool,
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

    /// Tells whether all tokens of another set are in this one, both of them regions: a subwalk may come once from a state's model and once from the state itself, and then
    /// what is refused of the first is not refused of the second.
    fn contains(&self, other: &LargeSet) -> bool {
        match (self, other) {
            (LargeSet::Region(region, n_max), LargeSet::Region(other, other_max)) => {
                Arc::ptr_eq(region, other) && other_max <= n_max
            }
            _ => false,
        }
    }
}

impl Found {
    /// Forgets all that was found, and keeps its memory.
    pub fn clear(&mut self) {
        self.truncate(FoundMark { n_tokens: 0, n_remainders: 0, has_base: false });
        (self.n_nodes, self.n_walks) = (0, 0);
    }

    pub fn mark(&self) -> FoundMark {
        let (n_tokens, n_remainders) = (self.tokens.len(), self.remainders.len());
        FoundMark { n_tokens, n_remainders, has_base: self.base.is_some() }
    }

    /// Forgets what was found since.
    pub fn truncate(&mut self, mark: FoundMark) {
        self.tokens.truncate(mark.n_tokens);
        self.remainders.truncate(mark.n_remainders);
        if !mark.has_base {
            // What is cleared is taken from the base.
            self.base = None;
            self.cleared.clear();
        }
    }

    /// Adds the tokens of a set but `refused`, as a row if there is none yet and `is_row` says that the set is worth it. Returns how many tokens were copied.
    pub fn add_set(&mut self, vocab: &Vocab, set: LargeSet, is_row: bool, mut refused: Vec<TokenId>) -> usize {
        if self.base.as_ref().is_some_and(|base| self.cleared.is_empty() && base.contains(&set)) {
            return 0;
        }
        if is_row && self.base.is_none() {
            self.base = Some(set);
            self.cleared.append(&mut refused);
            return 0;
        }
        let tokens = set.tokens(vocab);
        match refused.is_empty() {
            true => self.tokens.extend_from_slice(tokens),
            false => {
                refused.sort_unstable();
                self.tokens.extend(tokens.iter().copied().filter(|id| refused.binary_search(id).is_err()));
            }
        }
        tokens.len()
    }

    /// Takes tokens, ascending, from those found between two moments.
    pub fn refuse(&mut self, refused: &[TokenId], from: FoundMark, to: FoundMark) {
        let is_allowed = |id: &TokenId| refused.binary_search(id).is_err();
        let kept: Vec<TokenId> = self.tokens[from.n_tokens..to.n_tokens].iter().copied().filter(is_allowed).collect();
        self.tokens.splice(from.n_tokens..to.n_tokens, kept);
        if to.has_base && !from.has_base {
            self.cleared.extend_from_slice(refused);
        }
    }

    /// Takes tokens from what becomes of the remainders found between two moments.
    pub fn exclude(&mut self, excluded: &Arc<[TokenId]>, from: FoundMark, to: FoundMark) {
        exclude(&mut self.remainders[from.n_remainders..to.n_remainders], excluded);
    }

    /// Moves the tokens of the base to the others.
    pub fn flatten(&mut self, vocab: &Vocab) {
        let Some(base) = self.base.take() else { return };
        self.cleared.sort_unstable();
        let is_kept = |id: &TokenId| self.cleared.binary_search(id).is_err();
        self.tokens.extend(base.tokens(vocab).iter().copied().filter(is_kept));
        self.cleared.clear();
    }

    /// Returns the tokens as a mask of `n_words` words.
    pub fn mask(&self, vocab: &Vocab, n_words: usize) -> MaskEntry {
        let base = match &self.base {
            None => MaskEntry::Sparse(Ids::new()),
            Some(LargeSet::Region(region, n_max)) => MaskEntry::of_region_up_to(region, vocab, *n_max, n_words),
            Some(LargeSet::Subwalk(subwalk)) => MaskEntry::Dense(Arc::clone(subwalk.row(n_words))),
        };
        base.edited(&self.cleared, &self.tokens, n_words)
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

//! A walker: what walks found, and the memory that they work in.

use super::callee::Callee;
use super::found::{Found, Subwalk, SubwalkKey};
use super::loops::{Loop, Loops};
use crate::automaton::{BELOW, StateId};
use crate::exec::{Configuration, Head, Stacks, StacksMark, Work};
use crate::util::{BoundedMap, ByteSet};
use crate::vocab::{TokenId, TrieNode};
use ahash::AHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Trie nodes that are visited with one head in a unit of work.
pub(super) const NODES_PER_WORK: u64 = 4;
/// Memory for subwalks, in bytes.
const SUBWALK_BYTES_MAX: usize = 2 << 20;
/// Most memory of a walker that is kept for the next walk, beside its maps, in bytes: hardly a walk takes so much.
const IDLE_BYTES_MAX: usize = 8 << 20;

/// What a walk found, and the memory it worked in.
#[derive(Debug)]
pub(crate) struct Walker {
    pub(super) stacks: Stacks,
    pub(super) levels: Vec<Level>,
    pub(super) heads: Vec<Head>,
    pub(super) next: Configuration,
    pub(super) strategies: AHashMap<StateId, Strategy>,
    /// The unit that the walk began in.
    pub(super) home: u32,
    pub(super) subwalks: BoundedMap<SubwalkKey, Arc<Subwalk>>,
    pub(super) loops: Loops,
    pub(super) products: ProductWalk,
    pub(super) found: Found,
    /// Memory for a row, to compare masks in.
    pub(super) scratch_row: Vec<u32>,
}

impl Default for Walker {
    fn default() -> Self {
        Walker {
            stacks: Stacks::new(BELOW),
            levels: Vec::new(),
            heads: Vec::new(),
            next: Vec::new(),
            strategies: AHashMap::new(),
            home: u32::MAX,
            subwalks: BoundedMap::new(SUBWALK_BYTES_MAX),
            loops: Loops::default(),
            products: ProductWalk::default(),
            found: Found::default(),
            scratch_row: Vec::new(),
        }
    }
}

impl Walker {
    /// Prepares for walks with a program that take no more work than that, and forgets what was found before. What is found beyond is of no use
    /// ([`Self::is_spent`]).
    pub fn clear(&mut self, work: Work) {
        self.strategies.clear();
        self.loops.allow_explorations();
        self.found.clear();
        self.stacks.work = work;
    }

    /// Tells whether a walk was given up, since it took more work than it may.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.stacks.work.is_spent()
    }

    /// Tells whether the memory is small enough to be kept for the next walk.
    pub fn is_small(&self) -> bool {
        let Walker { stacks, levels, heads, products, found, .. } = self;
        let n_tokens = found.tokens.capacity() + products.refused.capacity() + products.excluded.capacity();
        let lists = levels.capacity() * size_of::<Level>() + heads.capacity() * size_of::<Head>();
        stacks.memory_bytes() + lists + n_tokens * size_of::<TokenId>() <= IDLE_BYTES_MAX
    }

    /// Returns the work done since the last [`Self::clear`].
    pub fn work_done(&self) -> u64 {
        self.stacks.work.done()
    }
}

/// How the tokens below a state are found.
#[derive(Clone, Debug)]
pub(super) enum Strategy {
    /// By the region of its loop.
    Region(Loop),
    /// By the region of another state's loop, and a walk where they differ.
    Diff(ModelPath),
    /// As what the state calls.
    Callee(Callee),
    /// By walking.
    Walk,
}

/// The configuration before the byte of a trie node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// The only head, or else `heads[first..last]`.
    pub head: Head,
    pub first: u32,
    pub last: u32,
    pub mark: StacksMark,
}

impl Level {
    pub fn is_single(&self) -> bool {
        self.first == self.last
    }

    /// Returns its heads, given those of all levels.
    pub fn heads<'a>(&'a self, all: &'a [Head]) -> &'a [Head] {
        match self.is_single() {
            true => core::slice::from_ref(&self.head),
            false => &all[self.first as usize..self.last as usize],
        }
    }
}

/// How to find the model of a state: a byte that leads there, and the states that it leads to.
#[derive(Clone, Debug)]
pub(super) struct ModelPath {
    pub byte: u8,
    pub states: SmallVec<[StateId; 2]>,
}

/// Two configurations before the byte of a trie node: ranges of [`ProductWalk::heads`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Twin {
    pub first: u32,
    pub middle: u32,
    pub last: u32,
    pub mark: StacksMark,
    /// The node that led here, if both can end there and tokens below it are still judged by the model's remainders.
    pub ended: Option<TrieNode>,
}

/// The memory of a walk with a state and its model.
#[derive(Debug, Default)]
pub(super) struct ProductWalk {
    pub levels: Vec<Twin>,
    /// For each level the state's heads, then the model's.
    pub heads: Vec<Head>,
    pub own: Vec<Head>,
    pub model: Vec<Head>,
    /// Tokens of the model's that the state refuses.
    pub refused: Vec<TokenId>,
    /// Tokens below the model's remainders that the caller is not to judge.
    pub excluded: Vec<TokenId>,
    /// Bytes of the first level that the model was not walked with.
    pub apart: ByteSet,
}

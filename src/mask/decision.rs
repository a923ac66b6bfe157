//! The nodes of decision trees: what a mask is when so much of the stack is known.
//!
//! The root of a tree is a state with an unknown caller below. What tokens the state decides by itself is the root's mask; if some tokens leave the unit and read on,
//! the next frame decides on them, and each answer ("the frame below returns to state s") is a child, whose mask holds what is allowed by then.
//! A node without such *remainders* has the whole mask.

use super::entry::MaskEntry;
use super::remainder::Remainder;
use crate::automaton::UnitState;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use smallvec::SmallVec;
use std::sync::Arc;

/// Names a node of a decision tree; no two nodes of this process have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct DecisionId(pub u64);

impl DecisionId {
    /// Stands above roots; no node has it.
    pub const NONE: DecisionId = DecisionId(0);
    /// Stands above the first node on the path of a configuration; no node has it.
    pub const PATH_ROOT: DecisionId = DecisionId(u64::MAX);
    /// Stands above unions; no node has it.
    pub const UNION_ROOT: DecisionId = DecisionId(u64::MAX - 1);
}

/// A question and its answer so far: below which node, and which state the next frame returns to. Compared in full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NodeKey {
    /// The node above.
    pub parent: DecisionId,
    pub place: KeyPlace,
    /// The register in that state; the hash of a list.
    pub register: u64,
}

const _: () = assert!(size_of::<NodeKey>() == 32);

/// What a [`NodeKey`] adds to those above.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum KeyPlace {
    /// A state: that of a root, or the one that the next frame returns to.
    State(UnitState),
    /// A list of so many words, which the node has ([`DecisionNode::list`]).
    List(u32),
}

impl NodeKey {
    /// Returns the key of a list; others may have the same.
    pub fn of_list(parent: DecisionId, list: &[u64]) -> NodeKey {
        // The same in all processes: those who craft lists of one hash only have masks that are not cached.
        let hasher = ahash::RandomState::with_seeds(1, 2, 3, 4);
        NodeKey { parent, place: KeyPlace::List(list.len() as u32), register: hasher.hash_one(list) }
    }
}

/// What decides beyond a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The frame below, for each remainder; nothing if there is none.
    Remainders,
    /// The whole configuration, since its heads can be combined in too many ways.
    Configuration,
    /// The exits of the node of a configuration's stacks that has this name.
    Exits(u32),
}

/// A node of a decision tree.
#[derive(Debug)]
pub(crate) struct DecisionNode {
    pub id: DecisionId,
    /// The tokens allowed so far.
    pub mask: MaskEntry,
    /// Whether there are none.
    pub is_empty: bool,
    /// Where the next frame decides.
    pub remainders: Box<[Remainder]>,
    pub next: Next,
    /// What its key is the hash of, if it is one.
    pub list: Box<[u64]>,
    /// Whether it was looked up since the store last asked.
    was_used: AtomicBool,
}

impl DecisionNode {
    pub fn new(mask: MaskEntry, remainders: Box<[Remainder]>) -> Self {
        let is_empty = mask.is_empty();
        DecisionNode {
            id: DecisionNode::fresh_id(),
            mask,
            is_empty,
            remainders,
            next: Next::Remainders,
            list: Box::default(),
            was_used: AtomicBool::new(true),
        }
    }

    /// Returns a node that has no mask.
    pub fn inner(next: Next) -> Self {
        DecisionNode { next, ..DecisionNode::new(MaskEntry::Sparse(SmallVec::new()), Box::new([])) }
    }

    /// Returns the node as that of a list.
    pub fn under(self, list: &[u64]) -> Self {
        DecisionNode { list: list.into(), ..self }
    }

    /// Returns an id that no node has or will have.
    pub fn fresh_id() -> DecisionId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        DecisionId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Notes that the node was looked up.
    #[inline]
    pub fn mark_used(&self) {
        // A store to a line that other cores read costs them a miss; most nodes are marked already.
        if !self.was_used.load(Ordering::Relaxed) {
            self.was_used.store(true, Ordering::Relaxed);
        }
    }

    /// Tells whether the node was looked up since the last call.
    pub fn take_used(&self) -> bool {
        self.was_used.swap(false, Ordering::Relaxed)
    }

    /// Returns what the node may share with others, each once: where it is, and its memory in bytes.
    pub fn shared(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let row = self.mask.row().map(|row| (Arc::as_ptr(row).addr(), size_of_val(&**row)));
        let tries = self.remainders.iter().filter_map(Remainder::merged);
        let tries = tries.map(|trie| (Arc::as_ptr(trie).addr(), trie.memory_bytes()));
        // Remainders in one trie follow one another.
        let mut last = 0;
        let is_first = move |(place, _): &(usize, usize)| core::mem::replace(&mut last, *place) != *place;
        row.into_iter().chain(tries.filter(is_first))
    }

    /// Returns the memory of the node without what it may share, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<DecisionNode>() + self.mask.memory_bytes() + size_of_val(&*self.remainders) + size_of_val(&*self.list)
    }
}

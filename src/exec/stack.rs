//! Stacks as a graph of nodes.
//!
//! A node stands for what lies below a state: a set of places to return to. Because a place to return to may itself be an end of its
//! unit, returning can go on: after `if c if c x` all the open `if`s may take an `else`. So a node holds its *exits*: the heads
//! that are live after the return, further returns included. Exits of a node below that are reached through a state q which is live
//! over a higher node too are left out: since q may end, whatever the lower head can read, the higher one can as well. That bounds
//! exits by the states of the grammar, and makes a return take constant time however deep the stack is.
//!
//! Nearly all nodes have one exit, without a register, and take 8 bytes; the rest list their exits in a second table. Both tables only grow
//! at their ends, and rolling back truncates them. A node that was made lately is found again instead of made again.

use super::distinct_values::DistinctValues;
use super::head::{BOTTOM, Head, StackNodeId};
use super::inclusions::Inclusions;
use super::work::Work;
use crate::automaton::StateId;
use crate::util::chunked::Chunked;

/// One exit, `(return state, parent)`; or, with the top bit of `first` set, a range of the exit table, `(start, length)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    first: u32,
    second: u32,
}

const _: () = assert!(size_of::<Node>() == 8);

/// The bit of [`Node::first`] that says that the exits are listed.
const LIST: u32 = 1 << 31;
/// The number of nodes made lately that are found again.
const RECENT: usize = 64;

/// The stacks of one matcher, or of one walk over the vocabulary.
#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    nodes: Chunked<Node>,
    exits: Chunked<Head>,
    /// Nodes made lately, by a hash of their content.
    recent: [StackNodeId; RECENT],
    pub(super) inclusions: Inclusions,
    /// What values are compared with; without it none is refused.
    pub(super) values: Option<Box<DistinctValues>>,
    /// What steps have cost, and may.
    pub work: Work,
    /// The nodes whose exits were read, where somebody wants to know.
    read: Option<Vec<StackNodeId>>,
}

/// Stands for a node that nothing leads to.
pub(super) const UNUSED: StackNodeId = StackNodeId(u32::MAX);

/// A place to truncate to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct StacksMark {
    pub n_nodes: u32,
    /// Bytes read, if values are compared.
    pub n_bytes: u32,
}

impl StacksMark {
    /// Stacks with only the [bottom](BOTTOM), before any text.
    pub const BOTTOM: StacksMark = StacksMark { n_nodes: BOTTOM.0 + 1, n_bytes: 0 };

    /// Tells whether a node was there.
    #[inline]
    pub fn has(self, node: StackNodeId) -> bool {
        node.0 < self.n_nodes
    }
}

impl Stacks {
    /// Returns stacks with the one node [`BOTTOM`], which returns to `below`.
    pub fn new(below: StateId) -> Self {
        let mut nodes = Chunked::default();
        nodes.push(Node { first: below.0, second: BOTTOM.0 });
        Stacks {
            nodes,
            exits: Chunked::default(),
            recent: [BOTTOM; RECENT],
            inclusions: Inclusions::default(),
            values: None,
            work: Work::default(),
            read: None,
        }
    }

    /// Compares values from now on; nothing was read so far. `is_json` tells whether the whole text is a JSON document.
    pub fn compare_values(&mut self, is_json: bool) {
        self.values = Some(Box::new(DistinctValues::new(is_json)));
    }

    /// Looks at the values that were admitted, if there are some, now that they stay ([`DistinctValues::examine`]).
    pub fn examine_values(&mut self, is_held: impl Fn(&[u8]) -> bool) {
        if let Some(values) = &mut self.values {
            values.examine(is_held);
        }
    }

    /// Returns what values are compared with, if they are.
    #[inline]
    pub fn values(&self) -> Option<&DistinctValues> {
        self.values.as_deref()
    }

    /// Returns the number of sets of values ([`DistinctValues::n_sets`]).
    pub fn n_sets(&self) -> u32 {
        self.values.as_ref().map_or(0, |values| values.n_sets())
    }

    /// As [`DistinctValues::fingerprint_of`]; the register itself if no values are compared.
    pub fn fingerprint_of_values(&mut self, register: u64, n_sets: u32) -> u64 {
        self.values.as_deref_mut().map_or(register, |values| values.fingerprint_of(register, n_sets))
    }

    /// Notes a byte before its step, or several whose steps changed nothing but a state.
    #[inline]
    pub fn read(&mut self, bytes: &[u8]) {
        if let Some(values) = &mut self.values {
            bytes.iter().for_each(|&byte| values.read(byte));
        }
    }

    #[inline]
    pub fn mark(&self) -> StacksMark {
        let n_bytes = self.values.as_ref().map_or(0, |values| values.n_bytes());
        StacksMark { n_nodes: self.nodes.len() as u32, n_bytes }
    }

    /// Forgets the nodes made since `mark`.
    #[inline]
    pub fn truncate(&mut self, mark: StacksMark) {
        // Lists of exits were added together with their nodes, in the same order.
        if let Some(values) = &mut self.values {
            values.truncate(mark.n_bytes);
        }
        for node in (mark.n_nodes as usize..self.nodes.len()).rev() {
            let Node { first, .. } = self.nodes.get(node);
            if first & LIST != 0 {
                self.exits.truncate((first & !LIST) as usize);
            }
        }
        self.nodes.truncate(mark.n_nodes as usize);
        self.inclusions.truncate(mark.n_nodes);
    }

    pub fn memory_bytes(&self) -> usize {
        let values = self.values.as_ref().map_or(0, |values| values.memory_bytes());
        self.nodes.memory_bytes() + self.exits.memory_bytes() + self.inclusions.memory_bytes() + values
    }

    /// Returns stacks with only what `live` needs, and renames the nodes in `live`.
    pub fn compacted(&self, live: &mut [Head]) -> Stacks {
        let mut number = vec![UNUSED; self.nodes.len()];
        number[BOTTOM.index()] = BOTTOM;
        live.iter().for_each(|head| number[head.node.index()] = BOTTOM);
        // Exits lead to nodes made earlier, so one sweep down finds all that is needed.
        for node in (0..self.nodes.len()).rev() {
            if number[node] != UNUSED {
                let node = StackNodeId::new(node);
                self.exits(node).for_each(|exit| number[exit.node.index()] = BOTTOM);
            }
        }
        let mut stacks = Stacks::new(StateId(self.nodes.get(BOTTOM.index()).first));
        for node in 1..self.nodes.len() {
            if number[node] == UNUSED {
                continue;
            }
            let renamed = |head: Head| Head { node: number[head.node.index()], ..head };
            let Node { first, second } = self.nodes.get(node);
            let kept = if first & LIST == 0 {
                Node { first, second: number[second as usize].0 }
            } else {
                let start = stacks.exits.len() as u32;
                self.exits(StackNodeId::new(node)).for_each(|exit| stacks.exits.push(renamed(exit)));
                Node { first: start | LIST, second }
            };
            number[node] = StackNodeId::new(stacks.nodes.len());
            stacks.nodes.push(kept);
        }
        for (joined, included) in self.inclusions.since(0) {
            let (joined, included) = (number[joined.index()], number[included.index()]);
            if joined != UNUSED && included != UNUSED {
                stacks.inclusions.add(joined, included);
            }
        }
        live.iter_mut().for_each(|head| head.node = number[head.node.index()]);
        stacks.values.clone_from(&self.values);
        stacks
    }

    /// Notes from now on whose exits are read.
    pub fn note_reads(&mut self) {
        self.read = Some(Vec::new());
    }

    /// Returns the nodes whose exits were read since the last time, perhaps repeated.
    pub fn take_reads(&mut self) -> impl Iterator<Item = StackNodeId> + '_ {
        self.read.iter_mut().flat_map(|read| read.drain(..))
    }

    #[inline]
    pub(super) fn look_at(&mut self, node: StackNodeId) {
        if let Some(read) = &mut self.read
            && read.last() != Some(&node)
        {
            read.push(node);
        }
    }

    /// Adds a node with these exits.
    pub(super) fn add_node(&mut self, exits: &[Head]) -> StackNodeId {
        let node = match *exits {
            [Head { state, node, register: 0 }] => Node { first: state.0, second: node.0 },
            _ => self.listed(exits),
        };
        self.add(node)
    }

    fn add(&mut self, node: Node) -> StackNodeId {
        let id = StackNodeId::new(self.nodes.len());
        assert!(id.0 < LIST, "stacks hold fewer than 2^31 nodes");
        self.nodes.push(node);
        id
    }

    /// Adds exits to their table; returns a node that lists them.
    fn listed(&mut self, exits: &[Head]) -> Node {
        let first = self.exits.len() as u32 | LIST;
        exits.iter().for_each(|&exit| self.exits.push(exit));
        Node { first, second: exits.len() as u32 }
    }

    /// Tells whether a node has these exits, in this order.
    pub(super) fn has_exits(&self, node: StackNodeId, exits: &[Head]) -> bool {
        self.exits(node).eq(exits.iter().copied())
    }

    /// Returns the number of exits of a node: none if the work was spent before there was one.
    #[inline]
    pub fn n_exits(&self, node: StackNodeId) -> usize {
        let Node { first, second } = self.nodes.get(node.index());
        if first & LIST == 0 { 1 } else { second as usize }
    }

    /// Returns an exit of a node.
    #[inline]
    pub fn exit(&self, node: StackNodeId, index: usize) -> Head {
        let Node { first, second } = self.nodes.get(node.index());
        match first & LIST == 0 {
            true => Head { state: StateId(first), node: StackNodeId(second), register: 0 },
            false => self.exits.get((first & !LIST) as usize + index),
        }
    }

    /// Returns the exits of a node.
    #[inline]
    pub fn exits(&self, node: StackNodeId) -> impl Iterator<Item = Head> + '_ {
        (0..self.n_exits(node)).map(move |index| self.exit(node, index))
    }

    /// Returns a node with these exits, in this order: one that was made lately, or a new one.
    pub(super) fn find_or_add(&mut self, exits: &[Head]) -> StackNodeId {
        if let [Head { state, node, register: 0 }] = *exits {
            return self.plain(state, node);
        }
        let slot = (hash_of(exits) >> 58) as usize;
        let known = self.recent[slot];
        if known.index() < self.nodes.len()
            && self.nodes.get(known.index()).first & LIST != 0
            && self.has_exits(known, exits)
        {
            return known;
        }
        let node = self.listed(exits);
        self.recent[slot] = self.add(node);
        self.recent[slot]
    }

    /// As [`Self::find_or_add`], with one exit without a register.
    pub(super) fn plain(&mut self, state: StateId, parent: StackNodeId) -> StackNodeId {
        let node = Node { first: state.0, second: parent.0 };
        let slot = ((u64::from(state.0) << 32 | u64::from(parent.0)).wrapping_mul(MIX) >> 58) as usize;
        let known = self.recent[slot];
        if known.index() < self.nodes.len() && self.nodes.get(known.index()) == node {
            return known;
        }
        self.recent[slot] = self.add(node);
        self.recent[slot]
    }
}

/// Returns a hash that is good in its lower bits, too.
#[inline]
pub(super) fn spread(hash: u64) -> u64 {
    hash ^ hash >> 32
}

/// Returns a hash of exits, good in its upper bits.
pub(super) fn hash_of(exits: &[Head]) -> u64 {
    exits.iter().fold(exits.len() as u64, |hash, head| {
        let part = u64::from(head.state.0) << 32 | u64::from(head.node.0);
        (hash.rotate_left(5) ^ part ^ head.register.rotate_left(17)).wrapping_mul(MIX)
    })
}

/// What it costs to put an exit of a node in its place among the others.
pub(super) const WORK_PER_EXIT: u64 = 4;

const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

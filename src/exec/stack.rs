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
use super::head::{BOTTOM, Head, StackNodeId, join_registers, joined};
use super::inclusions::Inclusions;
use super::work::Work;
use crate::automaton::{Kind, Linked, LocalState, Program, StateId};
use crate::machine::Counter;
use crate::util::chunked::Chunked;
use smallvec::SmallVec;

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
    values: Option<Box<DistinctValues>>,
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

    /// Looks at the values that were admitted, if there are some, now that they stay ([`DistinctValues::settle`]).
    pub fn settle_values(&mut self, is_held: impl Fn(&[u8]) -> bool) {
        if let Some(values) = &mut self.values {
            values.settle(is_held);
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
    fn look_at(&mut self, node: StackNodeId) {
        if let Some(read) = &mut self.read
            && read.last() != Some(&node)
        {
            read.push(node);
        }
    }

    /// Adds a node with these exits.
    pub(super) fn add_node(&mut self, exits: &[Head]) -> StackNodeId {
        let id = StackNodeId::new(self.nodes.len());
        assert!(id.0 < LIST, "stacks hold fewer than 2^31 nodes");
        let node = match *exits {
            [Head { state, node, register: 0 }] => Node { first: state.0, second: node.0 },
            _ => self.listed(exits),
        };
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

    /// Adds to `live` the heads that are live in `state` over `node`: itself, if it reads anything, and where it returns to.
    #[inline]
    pub fn land(&mut self, program: &Program, head: Head, live: &mut impl Extend<Head>) {
        self.land_with(program, head, live, true);
    }

    /// As [`Self::land`]; values are admitted to their sets, or else left to who returns later.
    #[inline]
    fn land_with(&mut self, program: &Program, head: Head, live: &mut impl Extend<Head>, admits: bool) {
        let Some((linked, local)) = program.place(head.state) else { return live.extend([head]) };
        let info = linked.unit.info(local);
        match info.kind {
            Kind::Loop { .. } => self.land_counted(program, linked, local, head, live, admits),
            Kind::RegisterRule { .. } => {
                if let Some(register) = linked.unit.advance(local, head.register) {
                    self.land_counted(program, linked, local, Head { register, ..head }, live, admits);
                }
            }
            kind => {
                if info.has_moves() {
                    live.extend([head]);
                }
                match kind {
                    Kind::End => self.leave(program, head, live, admits),
                    Kind::BodyEnd { loop_state, .. } => {
                        if let Some(register) = linked.unit.advance(local, head.register) {
                            let head = Head { state: linked.own(loop_state), register, ..head };
                            self.land_counted(program, linked, loop_state, head, live, admits);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// As [`Self::land`], in a state that counts, with what is counted by then.
    fn land_counted(
        &mut self,
        program: &Program,
        linked: &Linked,
        state: LocalState,
        head: Head,
        live: &mut impl Extend<Head>,
        admits: bool,
    ) {
        if linked.unit.info(state).has_moves() && linked.unit.can_continue(state, head.register) {
            live.extend([head]);
        }
        if linked.unit.can_end(state, head.register) {
            self.leave(program, head, live, admits);
        }
    }

    /// Adds the exits below a head that may end, but those that it stands for itself: some of those to its own state.
    #[inline]
    fn leave(&mut self, program: &Program, head: Head, live: &mut impl Extend<Head>, admits: bool) {
        self.look_at(head.node);
        let n_exits = self.n_exits(head.node);
        self.work.spend(n_exits as u64);
        for index in 0..n_exits {
            let exit = self.exit(head.node, index);
            if exit.state == head.state && stands_for(program, head, exit.register) {
                continue;
            }
            match &mut self.values {
                Some(values) if admits => {
                    let place = program.place(exit.state);
                    match place.map(|(linked, local)| (linked.unit.info(local).kind, &linked.unit)) {
                        Some((Kind::DistinctValue(distinct), unit)) => {
                            // Each of them is compared with the new one.
                            self.work.spend(u64::from(values.n_values(exit.register)));
                            let register = values.admit(exit.register, distinct, unit.declared_keys(distinct));
                            live.extend(register.map(|register| Head { register, ..exit }));
                        }
                        _ => live.extend([exit]),
                    }
                }
                _ => live.extend([exit]),
            }
        }
    }

    /// Returns the node that returns to `state` with the register and the node of any of `heads`.
    pub fn push(&mut self, program: &Program, state: StateId, heads: &[Head]) -> StackNodeId {
        let kind = program.info(state).map_or(Kind::Inner, |info| info.kind);
        // The usual node: one head of a plain state, without a register.
        if let (&[Head { node, register: 0, .. }], Kind::Inner) = (heads, kind) {
            return self.plain(state, node);
        }
        let mut exits: SmallVec<[Head; 8]> = SmallVec::new();
        for &head in heads {
            if self.work.is_spent() {
                break;
            }
            let head = Head { state, ..head };
            match (kind, &self.values) {
                (Kind::DistinctValue(_), Some(values)) => {
                    exits.push(Head { register: values.begin(head.register), ..head });
                }
                (Kind::DistinctValue(_), None) => exits.push(head),
                _ => self.land_with(program, head, &mut exits, false),
            }
        }
        self.node_of(program, &mut exits, self.mark(), 0)
    }

    /// Drops heads that others stand for. The heads are sorted by state, node and register; those that are left come first, and their number is
    /// returned.
    ///
    /// A head stands for those of its state that returning from it leads to, unless their registers ask for something else; they were
    /// left out when it was added; and so on from there. So others of that state over their nodes can go too if their registers allow no
    /// more. Exits
    /// lead to older nodes, so this never goes round in a circle.
    fn drop_implied(&mut self, program: &Program, heads: &mut [Head]) -> usize {
        let (mut n_kept, mut first) = (0, 0);
        let mut implied: SmallVec<[Head; 8]> = SmallVec::new();
        while first < heads.len() {
            let state = heads[first].state;
            let last = first + heads[first..].partition_point(|head| head.state == state);
            if last - first > 1 {
                implied.clear();
                let mut n_left = IMPLIED_FREE + IMPLIED_PER_HEAD * (last - first);
                for &head in heads[first..last].iter().rev().filter(|&&head| can_end(program, head)) {
                    self.add_implied(program, head, &mut implied, &mut n_left);
                }
                let mut next = 0;
                while next < implied.len() {
                    self.add_implied(program, implied[next], &mut implied, &mut n_left);
                    next += 1;
                }
                implied.sort_unstable_by_key(|head| head.node);
            }
            for index in first..last {
                let head = heads[index];
                let like = implied.partition_point(|other| other.node < head.node);
                let is_implied = last - first > 1
                    && implied[like..]
                        .iter()
                        .take_while(|other| other.node == head.node)
                        .any(|&other| joined(program, other, head.register) == Some(other.register));
                if !is_implied {
                    heads[n_kept] = head;
                    n_kept += 1;
                }
            }
            first = last;
        }
        n_kept
    }

    /// Adds the exits of its own state that `head`, which may end, stands for; takes what it looks at from `n_left`.
    fn add_implied(&mut self, program: &Program, head: Head, implied: &mut SmallVec<[Head; 8]>, n_left: &mut usize) {
        self.look_at(head.node);
        for index in 0..self.n_exits(head.node).min(*n_left) {
            *n_left -= 1;
            let exit = self.exit(head.node, index);
            if exit.state == head.state && stands_for(program, head, exit.register) {
                implied.push(exit);
            }
        }
    }

    /// Returns the node with these exits, in any order, repeated or not. Exits to one state over different nodes are joined
    /// if the nodes were made since `fresh`: they stand for the same place in the text, reached in different ways, and would
    /// multiply with each step. Older ones stay apart, since joining them would make new nodes in each step.
    fn node_of(
        &mut self,
        program: &Program,
        exits: &mut SmallVec<[Head; 8]>,
        fresh: StacksMark,
        n_deep: usize,
    ) -> StackNodeId {
        if exits.len() > 1 && !self.work.is_spent() {
            self.work.spend(WORK_PER_EXIT * exits.len() as u64);
            exits.sort_unstable();
            let are_joined = |a: &Head, b: &Head| n_deep < JOINS_DEEP_MAX && !fresh.has(a.node) && !fresh.has(b.node);
            let n_left = self.merge_heads(program, exits, fresh, n_deep + 1, are_joined);
            exits.truncate(n_left);
        }
        if let [Head { state, node, register: 0 }] = exits[..] {
            return self.plain(state, node);
        }
        let hash = hash_of(exits);
        let slot = (hash >> 58) as usize;
        let known = self.recent[slot];
        if known.index() < self.nodes.len()
            && self.nodes.get(known.index()).first & LIST != 0
            && self.has_exits(known, exits)
        {
            return known;
        }
        let node = self.listed(exits);
        self.add(node, slot)
    }

    fn plain(&mut self, state: StateId, parent: StackNodeId) -> StackNodeId {
        let node = Node { first: state.0, second: parent.0 };
        let slot = ((u64::from(state.0) << 32 | u64::from(parent.0)).wrapping_mul(MIX) >> 58) as usize;
        let known = self.recent[slot];
        if known.index() < self.nodes.len() && self.nodes.get(known.index()) == node {
            return known;
        }
        self.add(node, slot)
    }

    fn add(&mut self, node: Node, slot: usize) -> StackNodeId {
        let id = StackNodeId::new(self.nodes.len());
        assert!(id.0 < LIST, "stacks hold fewer than 2^31 nodes");
        self.nodes.push(node);
        self.recent[slot] = id;
        id
    }

    /// Makes few heads of many, which are sorted: drops those that others stand for, and makes one head of the first of a state and register and the others
    /// that `are_joined` with it. Those that are left come first, and their number is returned. `fresh` is the mark from before the step.
    pub(super) fn merge_heads(
        &mut self,
        program: &Program,
        heads: &mut [Head],
        fresh: StacksMark,
        n_deep: usize,
        are_joined: impl Fn(&Head, &Head) -> bool,
    ) -> usize {
        let n_left = join_registers(program, heads);
        let n_left = self.drop_implied(program, &mut heads[..n_left]);
        let heads = &mut heads[..n_left];
        heads.sort_unstable_by_key(|head| (head.state, head.register, head.node));
        let (mut n_kept, mut first) = (0, 0);
        while first < heads.len() {
            let head = heads[first];
            let is_met =
                |other: &Head| (other.state, other.register) == (head.state, head.register) && are_joined(&head, other);
            let end = first + 1 + heads[first + 1..].partition_point(is_met);
            let node = match &heads[first..end] {
                [only] => only.node,
                _ => self.join(program, &mut heads[first..end], fresh, n_deep),
            };
            heads[n_kept] = Head { node, ..head };
            n_kept += 1;
            first = end;
        }
        n_kept
    }

    /// Returns the node that returns to where any of the nodes of some heads does, which are of one state and register, and sorted; `fresh` is the mark from
    /// before the step. All are joined at once, since what is made on the way would be kept.
    fn join(&mut self, program: &Program, heads: &mut [Head], fresh: StacksMark, n_deep: usize) -> StackNodeId {
        self.work.spend(heads.len() as u64);
        // What is included in what depends on the nodes that are left out, too.
        heads.iter().for_each(|head| self.look_at(head.node));
        let n_left = self.inclusions.drop_included(heads);
        if let [only] = heads[..n_left] {
            return only.node;
        }
        let mut exits: SmallVec<[Head; 8]> = SmallVec::new();
        for head in &heads[..n_left] {
            if self.work.is_spent() {
                break;
            }
            exits.extend(self.exits(head.node));
            self.work.spend(self.n_exits(head.node) as u64);
        }
        let joined = self.node_of(program, &mut exits, fresh, n_deep);
        let largest = heads[..n_left].iter().map(|head| head.node).max_by_key(|&node| self.n_exits(node));
        // Otherwise exits may be missing.
        if !self.work.is_spent()
            && let Some(included) = largest
        {
            self.inclusions.add(joined, included);
        }
        joined
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

/// Nodes made in one step lie over each other as deep as one move pushes; joins stop here.
const JOINS_DEEP_MAX: usize = 64;

/// Exits looked at to drop heads of one state that others stand for: some, and some for each head.
const IMPLIED_FREE: usize = 64;
const IMPLIED_PER_HEAD: usize = 4;

/// Tells whether returning needs no more bytes.
pub(crate) fn can_end(program: &Program, head: Head) -> bool {
    program.place(head.state).is_some_and(|(linked, local)| linked.unit.can_end(local, head.register))
}

/// Tells whether `head`, which may end, stands for a head of its state with this register that returning from it leads to.
fn stands_for(program: &Program, head: Head, register: u64) -> bool {
    let Some((linked, local)) = program.place(head.state) else { return false };
    match linked.unit.info(local).kind {
        Kind::Loop { counter } => implies(linked.unit.counter(counter), head.register, register),
        _ => register == head.register,
    }
}

/// Tells whether a counter that may end in `register`, over a node that returns to its own state with the register `below`, can do all
/// that the lower one can: read as many copies, and then return twice.
fn implies(counter: &Counter, register: u64, below: u64) -> bool {
    counter.can_end(below) && counter.join(register, below) == Some(register)
}

const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

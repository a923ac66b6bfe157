//! Minimization: from any deterministic automaton to the minimal, trimmed and canonically numbered one.
//!
//! States are split into blocks until the states of a block agree on acceptance and, for each byte, on the block of the
//! target. The simple method compares all states in each round, which takes a thousand rounds of a thousand states on
//! `[a-z]{1000}`. Here a state is compared again only if the block of one of its targets got a new number, and the largest part of a
//! split block keeps the number: a state changes its number at most log n times, so all comparisons together visit O(m log n) edges. On
//! `[a-z]{1000}` each round visits one state. That all but the largest part are renumbered is Hopcroft's idea (*An n log n algorithm for minimizing
//! states in a finite automaton*, 1971); comparing states by the blocks of their targets is Moore's (1956).
//!
//! Most states differ within a few bytes, so the first blocks are not those by acceptance but by *fingerprints*: sums over what a state reads, computed
//! for all states in a few rounds. States with different fingerprints are certainly different; those with equal ones are compared.
//!
//! Invariant: within a block, the states that are not pending ("clean") agree on all bytes. A pending state has a target with a new
//! number, so it certainly differs from the clean ones.

use super::Dfa;
use super::error::{RegularError, Work};
use super::utf8::{Edge, push_edge};
use crate::util::mixed;

/// A deterministic automaton under construction: state 0 is the start, and all states are reachable from it.
#[derive(Debug, Default)]
pub(super) struct Table {
    edges: Vec<Edge>,
    ends: Vec<u32>,
    accepting: Vec<bool>,
}

impl Table {
    /// Adds an edge to the current state; its edges come in ascending order.
    pub(super) fn push_edge(&mut self, edge: Edge) {
        let start = self.ends.last().map_or(0, |&end| end as usize);
        push_edge(&mut self.edges, edge, start);
    }

    /// Finishes the current state.
    pub(super) fn end_state(&mut self, is_accepting: bool) {
        self.ends.push(self.edges.len() as u32);
        self.accepting.push(is_accepting);
    }

    fn n_states(&self) -> usize {
        self.ends.len()
    }

    fn edges(&self, state: u32) -> &[Edge] {
        let start = state.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.edges[start as usize..self.ends[state as usize] as usize]
    }

    /// Returns the minimal automaton of the same language.
    ///
    /// # Errors
    /// If the budget is exhausted.
    pub(super) fn minimize(&self, work: &mut Work<'_>) -> Result<Dfa, RegularError> {
        let before = Predecessors::new(self);
        let live = self.live(&before);
        if !live.first().is_some_and(|&live| live) {
            return Ok(Dfa::default());
        }
        work.spend(FINGERPRINT_BYTES * self.edges.len())?;
        let blocks = Refinement::new(self, &live).run(&before, work)?;
        Ok(self.number(&live, &blocks))
    }

    /// Returns by state whether an accepting one is reachable.
    fn live(&self, before: &Predecessors) -> Vec<bool> {
        let mut live = self.accepting.clone();
        let mut pending: Vec<u32> = (0..self.n_states() as u32).filter(|&s| live[s as usize]).collect();
        while let Some(state) = pending.pop() {
            for &source in before.of(state) {
                if !core::mem::replace(&mut live[source as usize], true) {
                    pending.push(source);
                }
            }
        }
        live
    }

    /// Makes one state per block, numbered breadth first from the start in the order of bytes.
    fn number(&self, live: &[bool], block_of: &[u32]) -> Dfa {
        const NONE: u32 = u32::MAX;
        let n_blocks = block_of.iter().copied().max().map_or(0, |last| last as usize + 1);
        let mut numbers = vec![NONE; n_blocks];
        // By number: a representative of each block.
        let mut order: Vec<u32> = Vec::with_capacity(n_blocks);
        numbers[block_of[0] as usize] = 0;
        order.push(0);
        let mut edges = Vec::with_capacity(self.edges.len().min(n_blocks * 2));
        let mut ends = Vec::with_capacity(n_blocks);
        let mut next = 0;
        while next < order.len() {
            let start = edges.len();
            for &(low, high, target) in self.edges(order[next]).iter().filter(|edge| live[edge.2 as usize]) {
                let number = &mut numbers[block_of[target as usize] as usize];
                if *number == NONE {
                    *number = order.len() as u32;
                    order.push(target);
                }
                push_edge(&mut edges, (low, high, *number), start);
            }
            ends.push(edges.len() as u32);
            next += 1;
        }
        let accepting = order.iter().map(|&state| self.accepting[state as usize]).collect();
        Dfa::from_parts(edges.into(), ends.into(), accepting)
    }
}

/// By state, the sources of the edges into it.
struct Predecessors {
    sources: Vec<u32>,
    starts: Vec<u32>,
}

impl Predecessors {
    fn new(table: &Table) -> Self {
        let n = table.n_states();
        let mut starts = vec![0; n + 1];
        for edge in &table.edges {
            starts[edge.2 as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut sources = vec![0; table.edges.len()];
        let mut filled = starts.clone();
        for state in 0..n as u32 {
            for edge in table.edges(state) {
                let place = &mut filled[edge.2 as usize];
                sources[*place as usize] = state;
                *place += 1;
            }
        }
        Predecessors { sources, starts }
    }

    fn of(&self, state: u32) -> &[u32] {
        &self.sources[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }
}

/// A run of states in `Refinement::order`, pending ones first.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: u32,
    clean: u32,
    end: u32,
}

struct Refinement<'a> {
    table: &'a Table,
    live: &'a [bool],
    /// The live states, block after block.
    order: Vec<u32>,
    /// By state: where it is in `order`.
    place_of: Vec<u32>,
    /// By state: its block; meaningless for dead states.
    block_of: Vec<u32>,
    blocks: Vec<Block>,
    /// The blocks with pending states.
    pending: Vec<u32>,
    scratch: Scratch,
}

/// The edges of the states being compared, with blocks for targets.
#[derive(Default)]
struct Scratch {
    edges: Vec<Edge>,
    /// (state, start and end in `edges`)
    states: Vec<(u32, u32, u32)>,
    /// The parts into which a block is split, as runs of `Refinement::order`.
    parts: Vec<(u32, u32)>,
    /// States whose predecessors become pending.
    marked: Vec<u32>,
}

/// Bytes up to which a fingerprint looks ahead.
const FINGERPRINT_BYTES: usize = 4;

/// By byte: the sum of random numbers of the bytes before it, so that the sum over a range of bytes is a difference.
const SUMS: [u64; 257] = {
    let mut sums = [0u64; 257];
    let mut byte = 0;
    while byte < 256 {
        sums[byte + 1] = sums[byte].wrapping_add(mixed(byte as u64 + 1));
        byte += 1;
    }
    sums
};

/// Returns by state a number that says which texts of at most [`FINGERPRINT_BYTES`] bytes can be read from it, and which of these lead to acceptance: nearly always another number for
/// other texts. It is the same however the bytes of an edge are cut into ranges. Dead states have 0.
fn fingerprints(table: &Table, live: &[bool]) -> Vec<u64> {
    const ACCEPTING: u64 = 2;
    let states = || 0..table.n_states() as u32;
    let of_end = |state: u32| if table.accepting[state as usize] { ACCEPTING } else { 1 };
    let mut known: Vec<u64> =
        states().map(|state| if live[state as usize] { mixed(of_end(state)) } else { 0 }).collect();
    let mut next = Vec::with_capacity(known.len());
    for _ in 0..FINGERPRINT_BYTES {
        next.clear();
        next.extend(states().map(|state| {
            let of_edge = |&(low, high, target): &Edge| {
                let bytes = SUMS[usize::from(high) + 1].wrapping_sub(SUMS[usize::from(low)]);
                known[target as usize].wrapping_mul(bytes)
            };
            let sum = table.edges(state).iter().map(of_edge).fold(of_end(state), u64::wrapping_add);
            if live[state as usize] { mixed(sum) } else { 0 }
        }));
        core::mem::swap(&mut known, &mut next);
    }
    known
}

impl<'a> Refinement<'a> {
    /// Begins with a block for each fingerprint.
    fn new(table: &'a Table, live: &'a [bool]) -> Self {
        let n = table.n_states();
        let fingerprints = fingerprints(table, live);
        // Whether a state accepts is told apart for certain: nothing compares it later.
        let key = |state: u32| (table.accepting[state as usize], fingerprints[state as usize]);
        let mut order: Vec<u32> = (0..n as u32).filter(|&state| live[state as usize]).collect();
        order.sort_unstable_by_key(|&state| (key(state), state));
        let mut place_of = vec![0; n];
        let mut block_of = vec![0; n];
        let mut blocks = Vec::new();
        let mut end = 0;
        for states in order.chunk_by(|&a, &b| key(a) == key(b)) {
            let first = end;
            for &state in states {
                place_of[state as usize] = end;
                block_of[state as usize] = blocks.len() as u32;
                end += 1;
            }
            blocks.push(Block { first, clean: end, end });
        }
        let pending = (0..blocks.len() as u32).collect();
        Refinement { table, live, order, place_of, block_of, blocks, pending, scratch: Scratch::default() }
    }

    /// Splits until no state is pending, and returns the block of each state.
    fn run(mut self, before: &Predecessors, work: &mut Work<'_>) -> Result<Vec<u32>, RegularError> {
        while let Some(block) = self.pending.pop() {
            let Block { first, clean, end } = self.blocks[block as usize];
            work.spend(1 + (clean - first) as usize)?;
            if end - first == 1 {
                self.blocks[block as usize].clean = first;
                continue;
            }
            self.compare(block);
            self.split(block, before);
        }
        Ok(self.block_of)
    }

    /// Groups the pending states of a block by their edges, and lists the parts into which the block is split.
    fn compare(&mut self, block: u32) {
        let Block { first, clean, end } = self.blocks[block as usize];
        let Scratch { edges, states, parts, .. } = &mut self.scratch;
        edges.clear();
        states.clear();
        parts.clear();
        for &state in &self.order[first as usize..clean as usize] {
            let start = edges.len();
            for &(low, high, target) in self.table.edges(state).iter().filter(|edge| self.live[edge.2 as usize]) {
                push_edge(edges, (low, high, self.block_of[target as usize]), start);
            }
            states.push((state, start as u32, edges.len() as u32));
        }
        let edges_of = |&(_, start, end): &(u32, u32, u32)| &edges[start as usize..end as usize];
        states.sort_unstable_by(|a, b| edges_of(a).cmp(edges_of(b)));
        let mut place = first;
        for group in states.chunk_by(|a, b| edges_of(a) == edges_of(b)) {
            parts.push((place, place + group.len() as u32));
            for &(state, ..) in group {
                self.order[place as usize] = state;
                self.place_of[state as usize] = place;
                place += 1;
            }
        }
        if clean < end {
            parts.push((clean, end));
        }
        self.blocks[block as usize].clean = first;
    }

    /// Gives new numbers to all parts but the largest, and makes the states with edges into them pending.
    fn split(&mut self, block: u32, before: &Predecessors) {
        let parts = core::mem::take(&mut self.scratch.parts);
        let largest = (0..parts.len()).max_by_key(|&i| parts[i].1 - parts[i].0).expect("a block has states");
        let n_before = self.blocks.len();
        for (i, &(first, end)) in parts.iter().enumerate() {
            let renewed = Block { first, clean: first, end };
            if i == largest {
                self.blocks[block as usize] = renewed;
                continue;
            }
            for &state in &self.order[first as usize..end as usize] {
                self.block_of[state as usize] = self.blocks.len() as u32;
            }
            self.blocks.push(renewed);
        }
        for new in n_before..self.blocks.len() {
            // `mark` reorders states within their block, which may be this one; so iterate over a copy of its run.
            let Block { first, end, .. } = self.blocks[new];
            let mut states = core::mem::take(&mut self.scratch.marked);
            states.clear();
            states.extend_from_slice(&self.order[first as usize..end as usize]);
            for &state in &states {
                for &source in before.of(state) {
                    self.mark(source);
                }
            }
            self.scratch.marked = states;
        }
        self.scratch.parts = parts;
    }

    /// Makes a state pending.
    fn mark(&mut self, state: u32) {
        if !self.live[state as usize] {
            return;
        }
        let number = self.block_of[state as usize];
        let block = &mut self.blocks[number as usize];
        let place = self.place_of[state as usize];
        if place < block.clean {
            return;
        }
        if block.clean == block.first {
            self.pending.push(number);
        }
        let other = self.order[block.clean as usize];
        self.order.swap(place as usize, block.clean as usize);
        self.place_of[other as usize] = place;
        self.place_of[state as usize] = block.clean;
        block.clean += 1;
    }
}

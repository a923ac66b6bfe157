//! Minimal deterministic automata over bytes.

use super::utf8::Edge;
use core::fmt;

/// A minimal deterministic automaton over bytes.
///
/// Every state is reachable and live: an absent edge stands for the dead state. States are numbered breadth first in the order of bytes,
/// so two automata are equal exactly if their languages are.
///
/// ```
/// use maskwright::{Limits, regular::{Dfa, Node, Regular}};
/// let mut regular = Regular::new();
/// let ab = regular.push(Node::Bytes((*b"ab").into()));
/// let some = regular.push(Node::Repeat { body: ab, min: 1, max: None });
/// regular.set_root(some);
/// let dfa = Dfa::new(&regular, &Limits::default()).unwrap();
/// assert!(dfa.is_match(b"abab") && !dfa.is_match(b"aba"));
/// assert_eq!((dfa.n_states(), dfa.witness()), (3, Some(b"ab".to_vec())));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Dfa {
    /// The edges by state, ascending by byte; adjacent ranges have different targets.
    edges: Box<[Edge]>,
    /// By state: where its edges end.
    ends: Box<[u32]>,
    accepting: Box<[bool]>,
}

impl Dfa {
    pub(super) fn from_parts(edges: Box<[Edge]>, ends: Box<[u32]>, accepting: Box<[bool]>) -> Self {
        Dfa { edges, ends, accepting }
    }

    /// Returns the first state; `None` if the automaton matches no string.
    pub fn start(&self) -> Option<u32> {
        (!self.is_empty()).then_some(0)
    }

    /// Returns the number of states; they are numbered from zero.
    pub fn n_states(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of edges.
    pub fn n_edges(&self) -> usize {
        self.edges.len()
    }

    /// Returns about how much memory the automaton takes beside its own size, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.edges) + size_of_val(&*self.ends) + size_of_val(&*self.accepting)
    }

    /// Returns whether a match may end in `state`.
    pub fn is_accepting(&self, state: u32) -> bool {
        self.accepting[state as usize]
    }

    /// Returns the state after `state` and `byte`, or `None` if no match continues with `byte`.
    pub fn next(&self, state: u32, byte: u8) -> Option<u32> {
        let edges = self.edge_slice(state);
        let after = edges.partition_point(|edge| edge.1 < byte);
        edges.get(after).filter(|edge| edge.0 <= byte).map(|edge| edge.2)
    }

    /// Returns the edges of `state`, ascending: lowest byte, highest byte, target.
    pub fn edges(&self, state: u32) -> impl ExactSizeIterator<Item = (u8, u8, u32)> + Clone + '_ {
        self.edge_slice(state).iter().copied()
    }

    pub(super) fn edge_slice(&self, state: u32) -> &[Edge] {
        let start = state.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.edges[start as usize..self.ends[state as usize] as usize]
    }

    /// Returns whether the automaton matches exactly these bytes.
    pub fn is_match(&self, bytes: &[u8]) -> bool {
        let end = bytes.iter().try_fold(self.start(), |state, &byte| state.map(|state| self.next(state, byte)));
        end.flatten().is_some_and(|state| self.is_accepting(state))
    }

    /// Returns whether the language is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the least of the shortest matches, in the order of bytes; `None` if the language is empty.
    pub fn witness(&self) -> Option<Vec<u8>> {
        let distances = self.distances();
        let mut state = self.start()?;
        let mut text = Vec::with_capacity(distances[state as usize] as usize);
        while !self.is_accepting(state) {
            let nearer = |edge: &(u8, u8, u32)| distances[edge.2 as usize] < distances[state as usize];
            let (byte, _, target) = self.edges(state).find(nearer).expect("every state can accept");
            text.push(byte);
            state = target;
        }
        Some(text)
    }

    /// Returns, for each state, the least number of bytes to an accepting one.
    pub fn distances(&self) -> Vec<u32> {
        // Breadth first and backwards, over the sources of each target.
        let n = self.n_states();
        let mut starts = vec![0_usize; n + 1];
        self.edges.iter().for_each(|edge| starts[edge.2 as usize + 1] += 1);
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut sources = vec![0; self.edges.len()];
        let mut filled = starts.clone();
        for state in 0..n as u32 {
            for (_, _, target) in self.edges(state) {
                sources[filled[target as usize]] = state;
                filled[target as usize] += 1;
            }
        }
        let mut distances = vec![u32::MAX; n];
        let mut queue: Vec<u32> = (0..n as u32).filter(|&state| self.is_accepting(state)).collect();
        queue.iter().for_each(|&state| distances[state as usize] = 0);
        let mut next = 0;
        while next < queue.len() {
            let state = queue[next] as usize;
            next += 1;
            for &source in &sources[starts[state]..starts[state + 1]] {
                if distances[source as usize] == u32::MAX {
                    distances[source as usize] = distances[state] + 1;
                    queue.push(source);
                }
            }
        }
        distances
    }

    /// Returns the lengths in bytes of the shortest and of the longest match, the latter `None` if matches can be of any
    /// length; `None` if the language is empty.
    pub fn byte_lengths(&self) -> Option<(usize, Option<usize>)> {
        let shortest = self.distances()[self.start()? as usize] as usize;
        // Remove states without sources until there are none: those on a cycle or reachable from one remain.
        let mut n_sources = vec![0_u32; self.n_states()];
        self.edges.iter().for_each(|edge| n_sources[edge.2 as usize] += 1);
        let mut depths = vec![0_usize; self.n_states()];
        let mut pending: Vec<u32> = (n_sources[0] == 0).then_some(0).into_iter().collect();
        let mut n_taken = 0;
        let mut longest = 0;
        while let Some(state) = pending.pop() {
            n_taken += 1;
            let depth = depths[state as usize];
            if self.is_accepting(state) {
                longest = longest.max(depth);
            }
            for (_, _, target) in self.edges(state) {
                depths[target as usize] = depths[target as usize].max(depth + 1);
                n_sources[target as usize] -= 1;
                if n_sources[target as usize] == 0 {
                    pending.push(target);
                }
            }
        }
        Some((shortest, (n_taken == self.n_states()).then_some(longest)))
    }
}

impl fmt::Debug for Dfa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for state in 0..self.n_states() as u32 {
            let mark = if self.is_accepting(state) { "*" } else { "" };
            let edges: Vec<String> = self
                .edges(state)
                .map(|(low, high, target)| format!("{:?} {target}", crate::util::ByteSet::range(low, high)))
                .collect();
            map.entry(&format_args!("{state}{mark}"), &edges);
        }
        map.finish()
    }
}

//! Drafts: automata under construction, with states and edges in any order and several edges for one letter.

use crate::machine::{DeclaredKeys, Distinct, RegisterRule};
use crate::pass::{Edge, Label, NetRuleId};
use std::sync::Arc;

/// No edge.
const NONE: u32 = u32::MAX;

/// An automaton under construction; state 0 is the start.
#[derive(Default)]
pub(super) struct Draft {
    // Rows are linked lists in one table: a vector for each state would be reallocated again and again as it grows.
    rows: Vec<Row>,
    edges: Vec<Link>,
    pub accepting: Vec<bool>,
    /// The rules that edges call or called, so that not all edges need be searched for calls: most read bytes.
    calls: Vec<NetRuleId>,
    /// States to which calls of distinct values return, and which are not reached otherwise.
    pub elements: Vec<(u32, Distinct)>,
    /// Lists of declared keys.
    pub declared_keys: Vec<Arc<DeclaredKeys>>,
    /// The register rules of states.
    pub register_rules: Vec<(u32, RegisterRule)>,
}

/// The first and the last edge of a state.
#[derive(Clone, Copy)]
struct Row {
    first: u32,
    last: u32,
}

/// An edge, and the next one of its state.
#[derive(Clone, Copy)]
struct Link {
    edge: Edge,
    next: u32,
}

impl Draft {
    pub fn new() -> Self {
        let mut draft = Draft {
            rows: Vec::with_capacity(8),
            edges: Vec::with_capacity(12),
            accepting: Vec::with_capacity(8),
            calls: Vec::new(),
            elements: Vec::new(),
            declared_keys: Vec::new(),
            register_rules: Vec::new(),
        };
        draft.state();
        draft
    }

    /// Resets the draft to a start state, for reuse.
    pub fn restart(&mut self) {
        let Draft { rows, edges, accepting, calls, elements, declared_keys, register_rules } = self;
        rows.clear();
        edges.clear();
        accepting.clear();
        calls.clear();
        elements.clear();
        declared_keys.clear();
        register_rules.clear();
        self.state();
    }

    /// Returns whether the memory is worth reusing: not empty, and small enough.
    pub fn is_small(&self) -> bool {
        (1..=1 << 10).contains(&self.rows.capacity()) && self.edges.capacity() <= 1 << 10
    }

    /// Reserves capacity for more states and edges.
    pub fn reserve(&mut self, n_states: usize, n_edges: usize) {
        self.rows.reserve(n_states);
        self.accepting.reserve(n_states);
        self.edges.reserve(n_edges);
    }

    pub fn n_states(&self) -> usize {
        self.rows.len()
    }

    pub fn n_edges(&self) -> usize {
        self.edges.len()
    }

    pub fn state(&mut self) -> u32 {
        self.rows.push(Row { first: NONE, last: NONE });
        self.accepting.push(false);
        self.rows.len() as u32 - 1
    }

    /// Adds some states; returns the first.
    pub fn states(&mut self, n_states: usize) -> u32 {
        let first = self.rows.len();
        self.rows.resize(first + n_states, Row { first: NONE, last: NONE });
        self.accepting.resize(first + n_states, false);
        first as u32
    }

    pub fn accept(&mut self, state: u32) {
        self.accepting[state as usize] = true;
    }

    /// Adds a list of declared keys; returns its index.
    pub fn add_declared_keys(&mut self, declared_keys: DeclaredKeys) -> u32 {
        self.declared_keys.push(Arc::new(declared_keys));
        self.declared_keys.len() as u32 - 1
    }

    pub fn edge(&mut self, from: u32, label: Label, target: u32) {
        if let Label::Call(called) = label {
            self.calls.push(called);
        }
        let index = self.edges.len() as u32;
        self.edges.push(Link { edge: Edge { label, target }, next: NONE });
        let row = &mut self.rows[from as usize];
        match row.last {
            NONE => row.first = index,
            last => self.edges[last as usize].next = index,
        }
        row.last = index;
    }

    /// Returns the edges of a state, in the order in which they were added.
    #[inline]
    pub fn row(&self, state: u32) -> impl Iterator<Item = &Edge> + '_ {
        let mut next = self.rows[state as usize].first;
        core::iter::from_fn(move || {
            let link = self.edges.get(next as usize)?;
            next = link.next;
            Some(&link.edge)
        })
    }

    /// Returns the edge of a state that has one only, as most states within keys and constants do.
    #[inline]
    pub fn only_edge(&self, state: u32) -> Option<&Edge> {
        let Row { first, last } = self.rows[state as usize];
        if first == last { self.edges.get(first as usize).map(|link| &link.edge) } else { None }
    }

    pub fn has_edges(&self, state: u32) -> bool {
        self.rows[state as usize].first != NONE
    }

    /// Returns all edges, in any order.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> + '_ {
        self.edges.iter().map(|link| &link.edge)
    }

    /// Returns the rules that edges call, perhaps with some that only removed edges called.
    pub fn calls(&self) -> &[NetRuleId] {
        &self.calls
    }

    pub fn edges_mut(&mut self) -> impl Iterator<Item = &mut Edge> + '_ {
        self.edges.iter_mut().map(|link| &mut link.edge)
    }

    /// Removes the edges that fail a test.
    pub fn retain(&mut self, test: impl Fn(&Edge) -> bool) {
        let rows: Vec<Vec<Edge>> =
            (0..self.n_states() as u32).map(|state| self.row(state).copied().collect()).collect();
        self.edges.clear();
        self.calls.clear();
        self.rows.fill(Row { first: NONE, last: NONE });
        for (state, row) in rows.iter().enumerate() {
            row.iter().filter(|edge| test(edge)).for_each(|edge| self.edge(state as u32, edge.label, edge.target));
        }
    }

    pub fn byte(&mut self, from: &[u32], byte: u8, target: u32) {
        from.iter().for_each(|&from| self.edge(from, Label::Bytes(byte, byte), target));
    }

    /// Adds a path that reads `text` from each of some states to `target`.
    pub fn text(&mut self, from: &[u32], text: &[u8], target: u32) {
        let (&first, rest) = text.split_first().expect("a text with a byte");
        if rest.is_empty() {
            return self.byte(from, first, target);
        }
        // The states between two bytes have one edge each, to the next, and are added in bulk.
        let (first_state, first_edge) = (self.rows.len() as u32, self.edges.len() as u32 + from.len() as u32);
        self.byte(from, first, first_state);
        let n_states = rest.len() as u32;
        self.rows.extend((first_edge..first_edge + n_states).map(|edge| Row { first: edge, last: edge }));
        self.accepting.resize(self.rows.len(), false);
        let targets = (first_state + 1..first_state + n_states).chain([target]);
        self.edges.extend(
            rest.iter()
                .zip(targets)
                .map(|(&byte, target)| Link { edge: Edge { label: Label::Bytes(byte, byte), target }, next: NONE }),
        );
    }

    /// Adds a path that reads `text` from each of some states; returns its end.
    pub fn texts(&mut self, from: &[u32], text: &[u8]) -> smallvec::SmallVec<[u32; 4]> {
        if text.is_empty() {
            return from.into();
        }
        let target = self.state();
        self.text(from, text, target);
        smallvec::smallvec![target]
    }

    /// Adds the states of another draft; returns the offset of their numbers. What follows its accepting states is left to the caller.
    pub fn embed(&mut self, other: &Draft) -> u32 {
        self.calls.extend_from_slice(&other.calls);
        let (base, first_edge) = (self.rows.len() as u32, self.edges.len() as u32);
        let moved = |edge: u32| if edge == NONE { NONE } else { edge + first_edge };
        self.rows.extend(other.rows.iter().map(|row| Row { first: moved(row.first), last: moved(row.last) }));
        self.accepting.resize(self.rows.len(), false);
        self.edges.extend(
            other.edges.iter().map(|link| Link {
                edge: Edge { target: link.edge.target + base, ..link.edge },
                next: moved(link.next),
            }),
        );
        base
    }

    /// Gives `from` the edges of `state` too.
    pub fn copy_edges(&mut self, state: u32, from: u32) {
        let mut next = self.rows[state as usize].first;
        let last = self.rows[state as usize].last;
        while let Some(&Link { edge, next: after }) = self.edges.get(next as usize) {
            self.edge(from, edge.label, edge.target);
            // A state's own edges grow while they are copied to itself.
            next = if next == last { NONE } else { after };
        }
    }
}

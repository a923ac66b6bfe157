//! Automata as they are drafted: states and edges in any order, several edges for one letter allowed.

use crate::machine::{Distinct, Tally};
use crate::pass::{Edge, Label};
use smallvec::SmallVec;

/// The edges of a state: one or two nearly always.
pub(super) type Row = SmallVec<[Edge; 2]>;

/// An automaton under construction; state 0 is the start.
#[derive(Default)]
pub(super) struct Draft {
    pub rows: Vec<Row>,
    pub accepting: Vec<bool>,
    /// States that calls of elements return to, and nothing else leads to.
    pub elements: Vec<(u32, Distinct)>,
    /// States that ask something of the rule's register.
    pub tallies: Vec<(u32, Tally)>,
    n_edges: usize,
}

impl Draft {
    pub fn new() -> Self {
        Draft { rows: vec![Row::new()], accepting: vec![false], elements: Vec::new(), tallies: Vec::new(), n_edges: 0 }
    }

    pub fn n_states(&self) -> usize {
        self.rows.len()
    }

    pub fn n_edges(&self) -> usize {
        self.n_edges
    }

    pub fn state(&mut self) -> u32 {
        self.rows.push(Row::new());
        self.accepting.push(false);
        self.rows.len() as u32 - 1
    }

    pub fn accept(&mut self, state: u32) {
        self.accepting[state as usize] = true;
    }

    pub fn edge(&mut self, from: u32, label: Label, target: u32) {
        self.rows[from as usize].push(Edge { label, target });
        self.n_edges += 1;
    }

    pub fn byte(&mut self, from: &[u32], byte: u8, target: u32) {
        from.iter().for_each(|&from| self.edge(from, Label::Bytes(byte, byte), target));
    }

    /// Adds a text from any of some states to `target`.
    pub fn text(&mut self, from: &[u32], text: &[u8], target: u32) {
        let (&last, first) = text.split_last().expect("a text with a byte");
        let mut from: smallvec::SmallVec<[u32; 4]> = from.into();
        for &byte in first {
            let next = self.state();
            self.byte(&from, byte, next);
            from = smallvec::smallvec![next];
        }
        self.byte(&from, last, target);
    }

    /// Adds a text from any of some states; returns where it ends.
    pub fn texts(&mut self, from: &[u32], text: &[u8]) -> smallvec::SmallVec<[u32; 4]> {
        if text.is_empty() {
            return from.into();
        }
        let target = self.state();
        self.text(from, text, target);
        smallvec::smallvec![target]
    }

    /// Adds the states of another draft, and edges from each of `from` as from its start; returns what is added to the numbers of its states.
    /// Where it accepts, the caller goes on.
    pub fn embed(&mut self, other: &Draft) -> u32 {
        let base = self.rows.len() as u32;
        for row in &other.rows {
            let row: Row = row.iter().map(|edge| Edge { target: edge.target + base, ..*edge }).collect();
            self.n_edges += row.len();
            self.rows.push(row);
            self.accepting.push(false);
        }
        base
    }

    /// Gives `from` the edges of `state` too.
    pub fn copy_edges(&mut self, state: u32, from: u32) {
        let edges = self.rows[state as usize].clone();
        self.n_edges += edges.len();
        self.rows[from as usize].extend(edges);
    }
}

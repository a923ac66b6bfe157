//! Products: what both match, what either matches, what one matches and the other doesn't.
//!
//! A state of a product is a pair of states, either of which may be missing (its automaton has given up). Pairs are made from the
//! start on, and the result is minimized.

use super::error::{RegularError, Work};
use super::minimize::Table;
use super::utf8::Edge;
use super::{CharSet, Dfa, Node, Regular};
use crate::Limits;
use hashbrown::HashMap;
use std::sync::OnceLock;

/// Stands for a state of an automaton that has given up.
const GONE: u32 = u32::MAX;

/// What of two languages is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    /// What either matches.
    Union,
    /// What both match.
    Intersect,
    /// What the first matches and the second doesn't.
    Minus,
}

impl Product {
    /// Tells whether a pair can lead to a match, as far as its form says.
    fn is_viable(self, a: u32, b: u32) -> bool {
        match self {
            Product::Union => a != GONE || b != GONE,
            Product::Intersect => a != GONE && b != GONE,
            Product::Minus => a != GONE,
        }
    }

    fn accepts(self, a: bool, b: bool) -> bool {
        match self {
            Product::Union => a || b,
            Product::Intersect => a && b,
            Product::Minus => a && !b,
        }
    }
}

impl Dfa {
    /// Returns the automaton of all texts: sequences of characters, encoded as UTF-8.
    pub fn all_text() -> &'static Dfa {
        static ALL: OnceLock<Dfa> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut regular = Regular::new();
            let any = regular.push(Node::Class(CharSet::all()));
            let all = regular.push(Node::Repeat { body: any, min: 0, max: None });
            regular.set_root(all);
            Dfa::new(&regular, &Limits::default()).expect("nine states are within the default limits")
        })
    }

    /// Returns the automaton of what either matches.
    ///
    /// # Errors
    /// If it needs more than `limits.dfa_states_max` states before it is minimized.
    pub fn union(&self, other: &Dfa, limits: &Limits) -> Result<Dfa, RegularError> {
        product(self, other, Product::Union, limits)
    }

    /// Returns the automaton of what both match.
    ///
    /// # Errors
    /// If it needs more than `limits.dfa_states_max` states before it is minimized.
    pub fn intersect(&self, other: &Dfa, limits: &Limits) -> Result<Dfa, RegularError> {
        product(self, other, Product::Intersect, limits)
    }

    /// Returns the automaton of what this one matches and `other` doesn't.
    ///
    /// # Errors
    /// If it needs more than `limits.dfa_states_max` states before it is minimized.
    pub fn minus(&self, other: &Dfa, limits: &Limits) -> Result<Dfa, RegularError> {
        product(self, other, Product::Minus, limits)
    }

    /// Returns the automaton of the texts of valid UTF-8 that this one doesn't match.
    ///
    /// # Errors
    /// If it needs more than `limits.dfa_states_max` states before it is minimized.
    pub fn complement(&self, limits: &Limits) -> Result<Dfa, RegularError> {
        product(Dfa::all_text(), self, Product::Minus, limits)
    }

    /// Tells whether this automaton matches all that `other` matches. Visits at most one pair of states after the other, and
    /// stops at the first difference.
    pub fn contains(&self, other: &Dfa) -> bool {
        let mut pairs = Pairs::default();
        let Some(start) = other.start() else { return true };
        pairs.intern(start, self.start().unwrap_or(GONE));
        let mut next = 0;
        while let Some(&(a, b)) = pairs.order.get(next) {
            // Everything that `other` begins it can end; so without a partner there is a difference.
            if b == GONE || (other.is_accepting(a) && !self.is_accepting(b)) {
                return false;
            }
            sweep(other.edge_slice(a), self.edge_slice(b), |_, _, a, b| {
                if a != GONE {
                    pairs.intern(a, b);
                }
            });
            next += 1;
        }
        true
    }
}

/// Pairs of states, numbered as they are found.
#[derive(Default)]
struct Pairs {
    numbers: HashMap<(u32, u32), u32>,
    order: Vec<(u32, u32)>,
}

impl Pairs {
    fn intern(&mut self, a: u32, b: u32) -> u32 {
        *self.numbers.entry((a, b)).or_insert_with(|| {
            self.order.push((a, b));
            self.order.len() as u32 - 1
        })
    }
}

/// As [`product`], for whoever watches.
pub(crate) fn product_within(
    a: &Dfa,
    b: &Dfa,
    kind: Product,
    limits: &Limits,
    work: &mut Work<'_>,
) -> Result<Dfa, RegularError> {
    let (start_a, start_b) = (a.start().unwrap_or(GONE), b.start().unwrap_or(GONE));
    if !kind.is_viable(start_a, start_b) {
        return Ok(Dfa::default());
    }
    let mut pairs = Pairs::default();
    pairs.intern(start_a, start_b);
    let mut table = Table::default();
    let mut next = 0;
    while let Some(&(p, q)) = pairs.order.get(next) {
        if pairs.order.len() > limits.dfa_states_max {
            return Err(RegularError::determinized(pairs.order.len(), limits.dfa_states_max));
        }
        work.spend(1 + edges_of(a, p).len() + edges_of(b, q).len())?;
        sweep(edges_of(a, p), edges_of(b, q), |low, high, p, q| {
            if kind.is_viable(p, q) {
                let target = pairs.intern(p, q);
                table.push_edge((low, high, target));
            }
        });
        let accepting = |dfa: &Dfa, state| state != GONE && dfa.is_accepting(state);
        table.end_state(kind.accepts(accepting(a, p), accepting(b, q)));
        next += 1;
    }
    table.minimize(work)
}

fn product(a: &Dfa, b: &Dfa, kind: Product, limits: &Limits) -> Result<Dfa, RegularError> {
    product_within(a, b, kind, limits, &mut Work(&mut |_| true))
}

fn edges_of(dfa: &Dfa, state: u32) -> &[Edge] {
    if state == GONE { &[] } else { dfa.edge_slice(state) }
}

/// Calls `visit` with each maximal range of bytes over which both lists of edges stay the same, and the two targets, of
/// which at least one is there.
fn sweep<'e>(mut a: &'e [Edge], mut b: &'e [Edge], mut visit: impl FnMut(u8, u8, u32, u32)) {
    let mut low = 0_u32;
    while !a.is_empty() || !b.is_empty() {
        // For each side: until where it stays as it is, and what it is.
        let look = |edges: &[Edge]| match edges.first() {
            Some(edge) if u32::from(edge.0) <= low => (u32::from(edge.1) + 1, edge.2),
            Some(edge) => (u32::from(edge.0), GONE),
            None => (256, GONE),
        };
        let ((end_a, target_a), (end_b, target_b)) = (look(a), look(b));
        let end = end_a.min(end_b);
        if target_a != GONE || target_b != GONE {
            visit(low as u8, (end - 1) as u8, target_a, target_b);
        }
        for edges in [&mut a, &mut b] {
            if edges.first().is_some_and(|edge| u32::from(edge.1) < end) {
                *edges = &edges[1..];
            }
        }
        low = end;
    }
}

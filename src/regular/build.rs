//! From expressions to automata.
//!
//! One pass over the nodes, operands first, makes the automata of classes, counts the states that each node needs when it
//! is written out, and builds intersections and complements on the automata of their operands. The count comes first, so
//! that `[a-z]{1,4000000000}` or `((a{1000}){1000}){1000}` is refused at once, and so is an expression that is small only because it shares its
//! nodes.

use super::determinize::{VISITS_PER_STATE, determinize};
use super::error::{RegularError, Work};
use super::nfa::{self, Parts, repeat_bounds};
use super::product::{Product, product_within};
use super::utf8::ClassAutomaton;
use super::{CharSet, Dfa, Node, NodeId, Regular};
use crate::Limits;
use hashbrown::{HashMap, hash_map::Entry};
use std::borrow::Cow;

/// Steps counted for the smallest intersection or complement.
const STEPS_PER_AUTOMATON: usize = 128;

impl Dfa {
    /// Builds the minimal automaton of an expression.
    ///
    /// # Errors
    /// If the expression with its repeats written out, or an automaton on the way, has more than `limits.dfa_states_max`
    /// states, or if the sets of the subset construction grow too large for that number of states.
    pub fn new(regular: &Regular, limits: &Limits) -> Result<Dfa, RegularError> {
        let dfa = Self::new_within(regular, limits, &mut |_| Ok::<(), core::convert::Infallible>(()))?;
        Ok(dfa.unwrap_or_else(|never| match never {}))
    }

    /// As [`Self::new`], but reports the states and edges visited to `spend` now and then, whose error ends it: an expression can have
    /// millions of complements, each of an automaton of the largest size.
    pub(crate) fn new_within<E>(
        regular: &Regular,
        limits: &Limits,
        spend: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Result<Dfa, E>, RegularError> {
        let mut stopped = None;
        let mut go_on = |n_steps| spend(n_steps).map_err(|error| stopped = Some(error)).is_ok();
        let dfa = Self::build(regular, limits, &mut Work(&mut go_on));
        match stopped {
            Some(error) => Ok(Err(error)),
            None => dfa.map(Ok),
        }
    }

    /// As [`Self::new`], for whoever watches.
    pub(crate) fn build(regular: &Regular, limits: &Limits, work: &mut Work<'_>) -> Result<Dfa, RegularError> {
        let Some(root) = regular.root() else { return Ok(Dfa::default()) };
        let n = root.index() + 1;
        let mut parts = Parts {
            regular,
            classes: Vec::new(),
            class_of: vec![0; n],
            n_states: vec![0; n],
            n_steps: vec![0; n],
            dfas: HashMap::new(),
            is_text: true,
        };
        let needed = needed(regular, root);
        parts.is_text = (0..n).filter(|&id| needed[id]).all(|id| regular.nodes()[id].is_text());
        let mut class_numbers: HashMap<&CharSet, u32> = HashMap::new();
        for id in (0..n).map(NodeId::new).filter(|id| needed[id.index()]) {
            work.spend(1)?;
            let n_states = |operand: &NodeId| parts.n_states[operand.index()];
            let n_states = match regular.node(id) {
                Node::Empty => 0,
                Node::Bytes(bytes) => bytes.len() as u64,
                Node::Class(set) => {
                    let number = match class_numbers.entry(set) {
                        Entry::Occupied(entry) => *entry.get(),
                        Entry::Vacant(entry) => {
                            parts.classes.push(ClassAutomaton::new(set));
                            *entry.insert(parts.classes.len() as u32 - 1)
                        }
                    };
                    parts.class_of[id.index()] = number;
                    parts.classes[number as usize].n_states() as u64
                }
                Node::Concat(operands) => operands.iter().map(n_states).fold(0, u64::saturating_add),
                Node::Union(operands) => operands.iter().map(n_states).fold(1, u64::saturating_add),
                Node::Repeat { body, min, max } => {
                    let (min, max) = repeat_bounds(*min, *max, n_states(body));
                    let n_copies = u64::from(max.unwrap_or(min.max(1)));
                    n_copies.saturating_mul(n_states(body).saturating_add(u64::from(max != Some(min))))
                }
                Node::And(a, b) => {
                    let (a, b) = (parts.dfa(*a, limits, work)?, parts.dfa(*b, limits, work)?);
                    let dfa = product_within(&a, &b, Product::Intersect, limits, work)?;
                    work.spend(STEPS_PER_AUTOMATON + dfa.n_edges())?;
                    drop((a, b));
                    parts.insert(id, dfa)
                }
                Node::Substring(chunks) => {
                    let dfa = Dfa::of_runs(chunks, limits, work)?;
                    work.spend(STEPS_PER_AUTOMATON + dfa.n_edges())?;
                    parts.insert(id, dfa)
                }
                Node::Not(a) => {
                    let a = parts.dfa(*a, limits, work)?;
                    let dfa = product_within(Dfa::all_text(), &a, Product::Minus, limits, work)?;
                    work.spend(STEPS_PER_AUTOMATON + dfa.n_edges())?;
                    drop(a);
                    parts.insert(id, dfa)
                }
            };
            parts.n_states[id.index()] = n_states;
            parts.n_steps[id.index()] = if n_states == 0 { 1 } else { n_steps(regular.node(id), &parts.n_steps) };
        }
        if let Some(dfa) = parts.dfas.remove(&root) {
            return Ok(dfa);
        }
        parts.dfa(root, limits, work).map(Cow::into_owned)
    }
}

impl Parts<'_> {
    /// Returns the automaton of a node whose operands were prepared.
    fn dfa(&self, id: NodeId, limits: &Limits, work: &mut Work<'_>) -> Result<Cow<'_, Dfa>, RegularError> {
        if let Some(dfa) = self.dfas.get(&id) {
            return Ok(Cow::Borrowed(dfa));
        }
        let n_states = self.n_states[id.index()];
        if n_states > limits.dfa_states_max as u64 {
            return Err(RegularError::expanded(n_states, limits.dfa_states_max));
        }
        let (n_steps, n_steps_max) = (self.n_steps[id.index()], limits.dfa_states_max.saturating_mul(VISITS_PER_STATE));
        if n_steps > n_steps_max as u64 {
            return Err(RegularError::visits(n_steps, n_steps_max));
        }
        let table = determinize(&nfa::write(self, id, work)?, limits.dfa_states_max, work)?;
        Ok(Cow::Owned(table.minimize(work)?))
    }

    /// Keeps the automaton of a node and returns the number of states that a copy of it needs.
    fn insert(&mut self, id: NodeId, dfa: Dfa) -> u64 {
        let n_states = 2 * dfa.n_states() as u64 + 1;
        self.dfas.insert(id, dfa);
        n_states
    }
}

/// Returns the number of nodes visited while a node with states is written out: more than its states when long chains of
/// nodes with a single operand are repeated.
fn n_steps(node: &Node, n_steps: &[u64]) -> u64 {
    match node {
        &Node::Repeat { body, min, max } => {
            let n_copies = u64::from(max.unwrap_or(min.max(1)));
            n_copies.saturating_mul(n_steps[body.index()]).saturating_add(1)
        }
        Node::Concat(operands) | Node::Union(operands) => {
            operands.iter().map(|operand| n_steps[operand.index()]).fold(1, u64::saturating_add)
        }
        // Copied as they are.
        Node::Empty | Node::Bytes(_) | Node::Class(_) | Node::And(..) | Node::Not(_) | Node::Substring(_) => 1,
    }
}

/// Tells for each node up to the root whether the root is made of it.
fn needed(regular: &Regular, root: NodeId) -> Vec<bool> {
    let mut needed = vec![false; root.index() + 1];
    needed[root.index()] = true;
    for id in (0..=root.index()).rev() {
        if needed[id] {
            regular.nodes()[id].for_each_operand(|operand| needed[operand.index()] = true);
        }
    }
    needed
}

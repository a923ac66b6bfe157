//! The union of many automata at once.
//!
//! The simple method takes one after the other into a product: of `n` numbers, each an automaton of 40 states, the last products have `40 n`
//! states, so that 8,000 numbers take a minute. Here all are one nondeterministic automaton whose states are shared, and the subset
//! construction runs once:
//!
//! ```text
//! 25    o -2-> o -5-> (o) .... zeros      states that accept the same are one: what follows 25 and 35 is
//! 35    o -3-> o -5---^                   made once, and a set of one state is no more than that state
//! ```
//!
//! States become one from the ends on, loops of a state to itself included; a state from which a longer cycle can be reached stays its own. So
//! a set has several members only where several automata agree so far, and for texts that differ somewhere these are the nodes of a
//! tree with as many leaves as there are texts.
//!
//! Cost: the members of all sets, which for texts are their bytes. What is made before minimizing is little more than what is left of it.

use super::Dfa;
use super::error::{RegularError, Work};
use super::product::{Product, product_within};
use crate::Limits;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// The target of a loop, in a state that is looked up.
const ITSELF: u32 = u32::MAX;
/// A state that has no number yet.
const UNKNOWN: u32 = u32::MAX - 1;

type Edge = (u8, u8, u32);
type State = (bool, SmallVec<[Edge; 4]>);
/// Ascending.
type Set = SmallVec<[u32; 4]>;

/// A union under construction.
#[derive(Default)]
pub(crate) struct Union {
    /// One alone needs no union, and a product of two takes half the time.
    few: SmallVec<[Arc<Dfa>; 2]>,
    shared: Shared,
    starts: Set,
}

impl Union {
    /// Adds what an automaton matches.
    pub fn add(&mut self, dfa: Arc<Dfa>) {
        self.few.push(dfa);
        if self.few.len() > 2 || !self.starts.is_empty() {
            for dfa in core::mem::take(&mut self.few) {
                self.starts.extend(self.shared.add(&dfa));
            }
        }
    }

    /// Returns the automaton of what any of those added matches.
    ///
    /// # Errors
    /// If there are more than `limits.dfa_states_max` states before they are minimized, or it is time to stop.
    pub fn finish(self, limits: &Limits, work: &mut Work<'_>) -> Result<Arc<Dfa>, RegularError> {
        let Union { few, shared, mut starts } = self;
        match &few[..] {
            [only] => return Ok(Arc::clone(only)),
            [a, b] => return product_within(a, b, Product::Union, limits, work).map(Arc::new),
            _ => {}
        }
        starts.sort_unstable();
        starts.dedup();
        let mut scratch = Scratch::default();
        let step = |set: &Set, edges: &mut Vec<(u8, u8, Set)>, work: &mut Work<'_>| {
            let is_accepting = shared.step(set, &mut scratch, edges);
            let n_targets = edges.iter().map(|(_, _, targets)| targets.len()).sum::<usize>();
            work.spend(scratch.edges.len() + n_targets)?;
            Ok(is_accepting)
        };
        Dfa::unfold_within(starts, step, limits, work).map(Arc::new)
    }
}

/// The states of all automata, equal ones once.
#[derive(Default)]
struct Shared {
    numbers: HashMap<State, u32>,
    states: Vec<State>,
}

#[derive(Default)]
struct Scratch {
    edges: Vec<Edge>,
    cuts: Vec<u16>,
}

impl Shared {
    /// Adds an automaton; returns the number of its start.
    fn add(&mut self, dfa: &Dfa) -> Option<u32> {
        let start = dfa.start()?;
        let n_states = dfa.n_states();
        // Targets that have no number yet, by state; loops don't count.
        let mut n_open: Vec<u32> = vec![0; n_states];
        let mut sources: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); n_states];
        for state in 0..n_states as u32 {
            for (_, _, target) in dfa.edges(state).filter(|edge| edge.2 != state) {
                n_open[state as usize] += 1;
                sources[target as usize].push(state);
            }
        }
        let mut numbers = vec![UNKNOWN; n_states];
        let mut pending: Vec<u32> = (0..n_states as u32).filter(|&state| n_open[state as usize] == 0).collect();
        while let Some(state) = pending.pop() {
            let target_of = |target| if target == state { ITSELF } else { numbers[target as usize] };
            let edges = dfa.edges(state).map(|(low, high, target)| (low, high, target_of(target)));
            let key = (dfa.is_accepting(state), edges.collect());
            numbers[state as usize] = self.number(key);
            for &source in &sources[state as usize] {
                n_open[source as usize] -= 1;
                if n_open[source as usize] == 0 {
                    pending.push(source);
                }
            }
        }
        // What is left leads to longer cycles.
        let left: Vec<u32> = (0..n_states as u32).filter(|&state| numbers[state as usize] == UNKNOWN).collect();
        for (number, &state) in (self.states.len() as u32..).zip(&left) {
            numbers[state as usize] = number;
        }
        for &state in &left {
            let edges = dfa.edges(state).map(|(low, high, target)| (low, high, numbers[target as usize]));
            self.states.push((dfa.is_accepting(state), edges.collect()));
        }
        Some(numbers[start as usize])
    }

    fn number(&mut self, state: State) -> u32 {
        let Shared { numbers, states } = self;
        *numbers.entry(state).or_insert_with_key(|(is_accepting, edges)| {
            let number = states.len() as u32;
            let target_of = |target| if target == ITSELF { number } else { target };
            let edges = edges.iter().map(|&(low, high, target)| (low, high, target_of(target)));
            states.push((*is_accepting, edges.collect()));
            number
        })
    }

    /// Adds the edges of a set, ascending; tells whether a match may end there.
    fn step(&self, set: &Set, scratch: &mut Scratch, found: &mut Vec<(u8, u8, Set)>) -> bool {
        let members = || set.iter().map(|&state| &self.states[state as usize]);
        let Scratch { edges, cuts } = scratch;
        edges.clear();
        edges.extend(members().flat_map(|(_, edges)| edges.iter().copied()));
        edges.sort_unstable();
        edges.dedup();
        cuts.clear();
        cuts.extend(edges.iter().flat_map(|&(low, high, _)| [u16::from(low), u16::from(high) + 1]));
        cuts.sort_unstable();
        cuts.dedup();
        let mut first = 0;
        for pair in cuts.windows(2) {
            let (low, high) = (pair[0] as u8, (pair[1] - 1) as u8);
            // Edges that end before are behind for good once all before them are.
            while edges.get(first).is_some_and(|edge| edge.1 < low) {
                first += 1;
            }
            let over = edges[first..].iter().take_while(|edge| edge.0 <= low).filter(|edge| edge.1 >= low);
            let mut targets: Set = over.map(|edge| edge.2).collect();
            targets.sort_unstable();
            targets.dedup();
            if !targets.is_empty() {
                found.push((low, high, targets));
            }
        }
        members().any(|(is_accepting, _)| *is_accepting)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Node, Regular};
    use super::*;
    use crate::testing::Rng;

    fn union_of(automata: &[Arc<Dfa>], limits: &Limits) -> Result<Arc<Dfa>, RegularError> {
        let mut union = Union::default();
        automata.iter().for_each(|dfa| union.add(Arc::clone(dfa)));
        union.finish(limits, &mut Work(&mut |_| true))
    }

    /// Returns a text, perhaps with loops of one or of two bytes in it.
    fn automaton(rng: &mut Rng) -> Arc<Dfa> {
        let mut regular = Regular::new();
        let parts = (0..rng.below(5)).map(|_| {
            let bytes = [&b"a"[..], b"b", b"c", b"ab", b"\xC3"][rng.below(5)];
            let body = regular.push(Node::Bytes(bytes.into()));
            let max = [Some(1), Some(1), None][rng.below(3)];
            regular.push(Node::Repeat { body, min: rng.below(2) as u32, max })
        });
        let parts = parts.collect();
        let root = regular.push(Node::Concat(parts));
        regular.set_root(root);
        Arc::new(Dfa::new(&regular, &Limits::default()).unwrap())
    }

    #[test]
    fn it_is_what_one_union_after_the_other_gives() {
        let limits = Limits::default();
        let mut rng = Rng::new(7);
        for n_automata in (0..300).map(|round| round % 12) {
            let mut automata: Vec<Arc<Dfa>> = (0..n_automata).map(|_| automaton(&mut rng)).collect();
            automata.extend((n_automata % 5 == 1).then(Arc::default));
            let expected = automata.iter().fold(Dfa::default(), |all, one| all.union(one, &limits).unwrap());
            assert_eq!(*union_of(&automata, &limits).unwrap(), expected, "{automata:?}");
        }
    }

    #[test]
    fn what_follows_many_texts_is_made_once() {
        let texts =
            (0..1000).map(|n| Arc::new(Dfa::of_texts(&[format!("{n:03}the same end")], &Limits::default()).unwrap()));
        let texts: Vec<Arc<Dfa>> = texts.collect();
        // Before the digits, after one, after two, and the end: whatever digits there were.
        let limits = Limits { dfa_states_max: 3 + 13, ..Limits::default() };
        assert_eq!(union_of(&texts, &limits).unwrap().n_states(), 16);
        let limits = Limits { dfa_states_max: 3 + 12, ..Limits::default() };
        assert!(union_of(&texts, &limits).is_err());
    }
}

//! The minimal automaton of a list of strings.
//!
//! The strings are added in ascending order, so that the states of one beyond its common prefix with the next are final, and can be merged
//! with equal ones (Daciuk, Mihov, Watson and Watson, "Incremental construction of minimal acyclic finite-state automata", 2000).

use super::Dfa;
use super::error::RegularError;
use super::utf8::{Edge, push_edge};
use crate::Limits;
use core::hash::BuildHasher;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

/// Most states for which there is room from the beginning.
const N_STATES_ROOM: usize = 1 << 10;

/// A state: whether a string ends there, and its edges.
type State = (bool, SmallVec<[Edge; 2]>);

/// The final states, interned.
struct Interned {
    hasher: DefaultHashBuilder,
    numbers: HashTable<u32>,
    states: Vec<State>,
}

impl Interned {
    /// With room for as many states.
    fn with_capacity(n_states: usize) -> Interned {
        Interned {
            hasher: DefaultHashBuilder::default(),
            numbers: HashTable::with_capacity(n_states),
            states: Vec::with_capacity(n_states),
        }
    }

    fn number(&mut self, state: State) -> u32 {
        let Interned { hasher, numbers, states } = self;
        let is_same = |number: &u32| states[*number as usize] == state;
        let entry =
            numbers.entry(hasher.hash_one(&state), is_same, |&number| hasher.hash_one(&states[number as usize]));
        match entry {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let number = states.len() as u32;
                place.insert(number);
                states.push(state);
                number
            }
        }
    }
}

impl Dfa {
    /// Returns the automaton of exactly these strings, in any order.
    ///
    /// # Errors
    /// If it needs more than `limits.dfa_states_max` states.
    pub fn of_texts<T: AsRef<[u8]>>(texts: &[T], limits: &Limits) -> Result<Dfa, RegularError> {
        let mut sorted: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.is_empty() {
            return Ok(Dfa::default());
        }
        let n_bytes: usize = sorted.iter().map(|text| text.len()).sum();
        let mut interned = Interned::with_capacity((n_bytes + 1).min(N_STATES_ROOM));
        // The states along the last string, each with the byte of the edge to the next.
        let mut open: Vec<(State, u8)> = vec![(State::default(), 0)];
        let close_to = |n_left: usize, open: &mut Vec<(State, u8)>, interned: &mut Interned| {
            while open.len() > n_left {
                let (state, _) = open.pop().expect("more than one is open");
                let target = interned.number(state);
                let (before, byte) = open.last_mut().expect("the first one stays");
                let at = before.1.len();
                match before.1.last_mut() {
                    Some((_, high, same)) if *same == target && *high + 1 == *byte => *high = *byte,
                    _ => before.1.insert(at, (*byte, *byte, target)),
                }
            }
        };
        let mut last: &[u8] = &[];
        for text in sorted {
            let n_shared = text.iter().zip(last).take_while(|(a, b)| a == b).count();
            close_to(n_shared + 1, &mut open, &mut interned);
            for &byte in &text[n_shared..] {
                open.last_mut().expect("the first one stays").1 = byte;
                open.push((State::default(), 0));
            }
            open.last_mut().expect("the first one stays").0.0 = true;
            if interned.states.len() + open.len() > limits.dfa_states_max {
                return Err(RegularError::determinized(interned.states.len() + open.len(), limits.dfa_states_max));
            }
            last = text;
        }
        close_to(1, &mut open, &mut interned);
        let (start, _) = open.pop().expect("the first one stays");
        let start = interned.number(start);
        Ok(numbered(&interned.states, start))
    }
}

/// Returns the automaton of some states, numbered breadth first from the start in the order of bytes.
fn numbered(states: &[State], start: u32) -> Dfa {
    let mut numbers = vec![u32::MAX; states.len()];
    let mut order = vec![start];
    numbers[start as usize] = 0;
    let mut edges: Vec<Edge> = Vec::with_capacity(states.len());
    let mut ends = Vec::with_capacity(states.len());
    let mut next = 0;
    while let Some(&state) = order.get(next) {
        next += 1;
        let first = edges.len();
        for &(low, high, target) in &states[state as usize].1 {
            let number = &mut numbers[target as usize];
            if *number == u32::MAX {
                *number = order.len() as u32;
                order.push(target);
            }
            push_edge(&mut edges, (low, high, *number), first);
        }
        ends.push(edges.len() as u32);
    }
    let accepting = order.iter().map(|&state| states[state as usize].0).collect();
    Dfa::from_parts(edges.into(), ends.into(), accepting)
}

#[cfg(test)]
mod tests {
    use super::super::{Node, Regular};
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn it_is_what_a_union_of_the_texts_gives() {
        let limits = Limits::default();
        let mut rng = Rng::new(5);
        for n_texts in (0..200).map(|round| round % 20) {
            let text = |rng: &mut Rng| -> Vec<u8> { (0..rng.below(5)).map(|_| b"aabc\xC3"[rng.below(5)]).collect() };
            let texts: Vec<Vec<u8>> = (0..n_texts).map(|_| text(&mut rng)).collect();
            let mut regular = Regular::new();
            let nodes = texts.iter().map(|text| regular.push(Node::Bytes(text.as_slice().into()))).collect();
            let root = regular.push(Node::Union(nodes));
            regular.set_root(root);
            assert_eq!(Dfa::of_texts(&texts, &limits).unwrap(), Dfa::new(&regular, &limits).unwrap(), "{texts:?}");
        }
    }

    #[test]
    fn too_many_states_are_an_error() {
        let limits = Limits { dfa_states_max: 10, ..Limits::default() };
        assert!(Dfa::of_texts(&["abcdefghi"], &limits).is_ok());
        assert!(Dfa::of_texts(&["abcdefghij"], &limits).is_err());
    }
}

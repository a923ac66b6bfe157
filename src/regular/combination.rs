//! Unions of intersections of many automata and their complements, at once.
//!
//! The simple method makes one product after the other and minimizes each. Of three conditions with nine patterns each that is a union of
//! 729 intersections, and nearly all of the time goes into minimizing automata that the next product makes larger again. Here a state is
//! what each of the automata is in, made from the start on, and the result is minimized once.
//!
//! What keeps states few is forgetting. An automaton that has given up, or that matches whatever follows, decides its literals for good:
//!
//! ```text
//! clauses   a & ~b | ~a & c      a has given up:   c        (the first clause is dead, ~a is true)
//!                                a matches all:    ~b       (the second is dead, a is true)
//! ```
//!
//! So a state is the set of clauses that are alive and, for automata that these still ask, their states; all else is forgotten. Once all
//! literals of a clause are true, any text follows, and nothing else matters.
//!
//! Cost: for each state and each of its byte ranges, the automata asked times the clauses by 32. There can be as many states as products of
//! the automata; minimizing on the way may need fewer, so that is what to do where the states here are too many.

use super::Dfa;
use super::error::{RegularError, Work};
use super::minimize::Table;
use super::utf8::Edge;
use crate::Limits;
use crate::util::bit_row;
use core::hash::BuildHasher;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::sync::Arc;

/// An automaton that has given up.
const GONE: u32 = u32::MAX;
/// An automaton that matches whatever text follows.
const ANYTHING: u32 = u32::MAX - 1;
/// An automaton whose state no longer matters. In clauses that are alive its literals are true.
const FORGOTTEN: u32 = u32::MAX - 2;

/// Numbers that states may have on average: at most `dfa_states_max` times as many exist at once, of four bytes each.
const NUMBERS_PER_STATE: usize = 256;

/// Clauses, any of which must hold, under construction. A clause is a set of literals, all of which must hold.
#[derive(Default)]
pub(crate) struct Combination {
    automata: Vec<Arc<Dfa>>,
    numbers: HashMap<Arc<Dfa>, u32>,
    clauses: Vec<Vec<(u32, bool)>>,
}

impl Combination {
    /// Adds a clause: automata that match, or, with the sign `false`, don't match. All match texts of valid UTF-8 only.
    pub fn add(&mut self, literals: impl IntoIterator<Item = (Arc<Dfa>, bool)>) {
        let Combination { automata, numbers, clauses } = self;
        let number = |(dfa, sign): (Arc<Dfa>, bool)| {
            let number = *numbers.entry(dfa).or_insert_with_key(|dfa| {
                automata.push(Arc::clone(dfa));
                automata.len() as u32 - 1
            });
            (number, sign)
        };
        clauses.push(literals.into_iter().map(number).collect());
    }

    /// Returns the automaton of the texts for which some clause holds.
    ///
    /// # Errors
    /// If there are more than `limits.dfa_states_max` states before they are minimized, or they are too large; or if it is time to stop.
    pub fn finish(self, limits: &Limits, work: &mut Work<'_>) -> Result<Dfa, RegularError> {
        let Some(mut states) = States::new(&self) else { return Ok(Dfa::default()) };
        let mut table = Table::default();
        let mut edges: Vec<Edge> = Vec::new();
        let mut state = 0;
        while state < states.n_states {
            if states.n_states > limits.dfa_states_max {
                return Err(RegularError::determinized(states.n_states, limits.dfa_states_max));
            }
            if states.numbers.len() > limits.dfa_states_max.saturating_mul(NUMBERS_PER_STATE) {
                return Err(RegularError::determinized(limits.dfa_states_max + 1, limits.dfa_states_max));
            }
            edges.clear();
            states.step(state, &mut edges, work)?;
            edges.iter().for_each(|&edge| table.push_edge(edge));
            table.end_state(states.is_accepting(state));
            state += 1;
        }
        table.minimize(work)
    }
}

/// One of the automata.
struct Part {
    dfa: Arc<Dfa>,
    /// By state: whether any text follows, as far as characters that were begun allow.
    is_anything: Vec<bool>,
    /// The clauses in which it must match, and those in which it must not: a bit for each.
    positive: Box<[u32]>,
    negative: Box<[u32]>,
}

impl Part {
    fn asks(&self, alive: &[u32]) -> bool {
        let asked = self.positive.iter().zip(&self.negative).map(|(positive, negative)| positive | negative);
        asked.zip(alive).any(|(asked, alive)| asked & alive != 0)
    }
}

/// The states found so far. Each is a run of numbers: that of the automaton of all texts, those of the parts, the clauses that are alive; of
/// these none if a clause holds already.
struct States {
    parts: Vec<Part>,
    n_words: usize,
    numbers: Vec<u32>,
    n_states: usize,
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The state under construction.
    next: Vec<u32>,
    open: Vec<u32>,
    /// By part that is asked: its place, and how many of its edges are behind.
    asked: Vec<(usize, usize)>,
}

impl States {
    /// Begins with the start; nothing if no clause can hold.
    fn new(combination: &Combination) -> Option<States> {
        let n_words = bit_row::n_words(combination.clauses.len());
        let no_clause = || vec![0; n_words].into_boxed_slice();
        let part = |dfa: &Arc<Dfa>| {
            let is_anything = states_of_anything(dfa);
            Part { dfa: Arc::clone(dfa), is_anything, positive: no_clause(), negative: no_clause() }
        };
        let mut parts: Vec<Part> = combination.automata.iter().map(part).collect();
        for (clause, literals) in combination.clauses.iter().enumerate() {
            for &(part, sign) in literals {
                let Part { positive, negative, .. } = &mut parts[part as usize];
                let clauses = if sign { positive } else { negative };
                bit_row::set(clauses, clause as u32);
            }
        }
        let mut next: Vec<u32> = vec![0];
        next.extend(parts.iter().map(|part| part.dfa.start().map_or(GONE, |start| known_state(part, start))));
        next.extend(vec![u32::MAX; n_words]);
        if let Some(last) = next.last_mut().filter(|_| !combination.clauses.len().is_multiple_of(32)) {
            *last = (1 << (combination.clauses.len() % 32)) - 1;
        }
        let mut states = States {
            parts,
            n_words,
            numbers: Vec::new(),
            n_states: 0,
            known: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            next,
            open: vec![0; n_words],
            asked: Vec::new(),
        };
        states.reduce().then(|| states.intern())?;
        Some(states)
    }

    /// Forgets what no longer matters in the state under construction; returns whether a clause can hold.
    fn reduce(&mut self) -> bool {
        let n_parts = self.parts.len();
        let (of_parts, alive) = self.next[1..].split_at_mut(n_parts);
        if n_parts == 0 || alive.iter().all(|&clauses| clauses == 0) {
            // A clause holds already.
            return n_parts > 0 || self.n_words > 0;
        }
        self.open.fill(0);
        for (part, &state) in self.parts.iter().zip(&*of_parts) {
            match state {
                FORGOTTEN => {}
                GONE => alive.iter_mut().zip(&part.positive).for_each(|(alive, dead)| *alive &= !dead),
                ANYTHING => alive.iter_mut().zip(&part.negative).for_each(|(alive, dead)| *alive &= !dead),
                _ => {
                    let literals = part.positive.iter().zip(&part.negative);
                    self.open.iter_mut().zip(literals).for_each(|(open, (positive, negative))| {
                        *open |= positive | negative;
                    });
                }
            }
        }
        if alive.iter().all(|&clauses| clauses == 0) {
            return false;
        }
        if alive.iter().zip(&self.open).any(|(alive, open)| alive & !open != 0) {
            alive.fill(0);
            of_parts.fill(FORGOTTEN);
            return true;
        }
        for (part, state) in self.parts.iter().zip(of_parts) {
            if *state >= FORGOTTEN || !part.asks(alive) {
                *state = FORGOTTEN;
            }
        }
        true
    }

    /// Returns the number of the state under construction.
    fn intern(&mut self) -> u32 {
        let States { numbers, known, hasher, next, n_states, .. } = self;
        let length = next.len();
        let hash = hasher.hash_one(&next[..]);
        let run = |numbers: &[u32], state: u32| -> core::ops::Range<usize> {
            debug_assert!((state as usize + 1) * length <= numbers.len());
            state as usize * length..(state as usize + 1) * length
        };
        if let Some(&state) = known.find(hash, |&state| numbers[run(numbers, state)] == next[..]) {
            return state;
        }
        let state = *n_states as u32;
        *n_states += 1;
        numbers.extend_from_slice(next);
        known.insert_unique(hash, state, |&state| hasher.hash_one(&numbers[run(numbers, state)]));
        state
    }

    fn is_accepting(&self, state: usize) -> bool {
        let length = self.next.len();
        let numbers = &self.numbers[state * length..(state + 1) * length];
        let (of_parts, alive) = numbers[1..].split_at(self.parts.len());
        if !Dfa::all_text().is_accepting(numbers[0]) {
            return false;
        }
        if alive.iter().all(|&clauses| clauses == 0) {
            return true;
        }
        let holds = |word: usize| {
            let mut clauses = alive[word];
            for (part, &state) in self.parts.iter().zip(of_parts).filter(|(_, state)| **state != FORGOTTEN) {
                clauses &= !if part.dfa.is_accepting(state) { part.negative[word] } else { part.positive[word] };
            }
            clauses != 0
        };
        (0..self.n_words).any(holds)
    }

    /// Adds the edges of a state, ascending.
    fn step(&mut self, state: usize, edges: &mut Vec<Edge>, work: &mut Work<'_>) -> Result<(), RegularError> {
        let length = self.next.len();
        let start = state * length;
        self.asked.clear();
        for place in 0..self.parts.len() {
            if self.numbers[start + 1 + place] != FORGOTTEN {
                self.asked.push((place, 0));
            }
        }
        for &(text_low, text_high, text) in Dfa::all_text().edge_slice(self.numbers[start]) {
            let mut low = u32::from(text_low);
            while low <= u32::from(text_high) {
                let mut end = u32::from(text_high) + 1;
                self.next.copy_from_slice(&self.numbers[start..start + length]);
                self.next[0] = text;
                for (place, n_behind) in &mut self.asked {
                    let part = &self.parts[*place];
                    let row = part.dfa.edge_slice(self.numbers[start + 1 + *place]);
                    while row.get(*n_behind).is_some_and(|edge| u32::from(edge.1) < low) {
                        *n_behind += 1;
                    }
                    self.next[1 + *place] = match row.get(*n_behind) {
                        Some(edge) if u32::from(edge.0) <= low => {
                            end = end.min(u32::from(edge.1) + 1);
                            known_state(part, edge.2)
                        }
                        edge => {
                            end = end.min(edge.map_or(256, |edge| u32::from(edge.0)));
                            GONE
                        }
                    };
                }
                work.spend(2 + (length + self.asked.len() * (6 + 2 * self.n_words)) / 8)?;
                if self.reduce() {
                    let target = self.intern();
                    edges.push((low as u8, (end - 1) as u8, target));
                }
                low = end;
            }
        }
        Ok(())
    }
}

fn known_state(part: &Part, state: u32) -> u32 {
    if part.is_anything[state as usize] { ANYTHING } else { state }
}

/// Tells for each state whether what follows is what follows in some state of the automaton of all texts.
fn states_of_anything(dfa: &Dfa) -> Vec<bool> {
    let all = Dfa::all_text();
    let mut is_anything = vec![false; dfa.n_states()];
    // Both are minimal, so the states are the same if their edges are, and there is one start of all texts at most.
    'starts: for start in (0..dfa.n_states() as u32).filter(|&state| dfa.is_accepting(state)) {
        let mut image = vec![GONE; all.n_states()];
        image[0] = start;
        let mut pending = vec![0];
        while let Some(state) = pending.pop() {
            let (edges, edges_of_image) = (all.edge_slice(state), dfa.edge_slice(image[state as usize]));
            let is_accepting = all.is_accepting(state) == dfa.is_accepting(image[state as usize]);
            if edges.len() != edges_of_image.len() || !is_accepting {
                continue 'starts;
            }
            for (edge, edge_of_image) in edges.iter().zip(edges_of_image) {
                let target = &mut image[edge.2 as usize];
                if *target == GONE {
                    *target = edge_of_image.2;
                    pending.push(edge.2);
                }
                if (edge.0, edge.1, *target) != *edge_of_image {
                    continue 'starts;
                }
            }
        }
        image.iter().for_each(|&state| is_anything[state as usize] = true);
        break;
    }
    is_anything
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::ecma;
    use crate::testing::Rng;

    #[test]
    fn it_is_what_one_product_after_the_other_gives() {
        let limits = Limits::default();
        let patterns = ["a", "b", "^a*$", "ab|ba", "^..$", "é", "^[aé]*$", "[^a]b$", "", "^$", "^(?!a)", "x{2,3}"];
        let dfa = |pattern: &&str| Arc::new(Dfa::new(&ecma::parse(pattern, &limits).unwrap(), &limits).unwrap());
        let mut automata: Vec<Arc<Dfa>> = patterns.iter().map(dfa).collect();
        automata.push(Arc::default());
        let mut rng = Rng::new(11);
        for n_clauses in (0..400).map(|round| round % 40) {
            let mut combination = Combination::default();
            let mut expected = Dfa::default();
            for _ in 0..n_clauses {
                let mut literals = Vec::new();
                let mut clause = Dfa::all_text().clone();
                for _ in 0..rng.below(5) {
                    let (dfa, sign) = (&automata[rng.below(automata.len())], rng.below(2) == 0);
                    literals.push((Arc::clone(dfa), sign));
                    clause = if sign { clause.intersect(dfa, &limits) } else { clause.minus(dfa, &limits) }.unwrap();
                }
                combination.add(literals);
                expected = expected.union(&clause, &limits).unwrap();
            }
            let found = combination.finish(&limits, &mut Work(&mut |_| true)).unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn too_many_states_are_an_error_and_so_is_being_stopped() {
        let limits = Limits::default();
        let literals = || {
            let dfa = |n: usize| Dfa::new(&ecma::parse(&format!("a.{{{n}}}$"), &limits).unwrap(), &limits).unwrap();
            (0..6).map(move |n| (Arc::new(dfa(n)), true))
        };
        let run = |stop_after: usize, limits: &Limits| {
            let mut combination = Combination::default();
            combination.add(literals());
            let mut n_spent = 0;
            let mut go_on = |n| {
                n_spent += n;
                n_spent <= stop_after
            };
            combination.finish(limits, &mut Work(&mut go_on))
        };
        assert!(
            run(usize::MAX, &Limits { dfa_states_max: 10, ..Limits::default() }).is_err_and(|e| !e.is_interrupted())
        );
        assert!(run(20, &Limits::default()).is_err_and(|e| e.is_interrupted()));
        assert!(run(usize::MAX, &Limits::default()).is_ok());
    }
}

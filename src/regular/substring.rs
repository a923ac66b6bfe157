//! Any contiguous run of a list of chunks, like a quotation of whole words from a text.
//!
//! A list of n chunks has n² / 2 runs, so writing them out as alternatives, or as one nested option for each place where a run may begin, takes
//! quadratic space. The suffix automaton (Blumer et al., *The smallest automaton recognizing the subwords of a text*, 1985) of the list has
//! at most 2n states and 3n moves: a state stands for the runs that end at the same places, and a run is read from the first state. It is built chunk by chunk, over
//! chunks as letters, and then written out over bytes. It is deterministic in chunks only, as one chunk may begin another (`a`, `ab`), so the
//! subset construction follows.

use super::Dfa;
use super::determinize::determinize;
use super::error::{RegularError, Work};
use super::nfa::{FINAL, Nfa};
use crate::Limits;
use hashbrown::HashMap;

/// A state of a suffix automaton.
#[derive(Clone, Default)]
struct State {
    /// The number of chunks of the longest run that leads here.
    length: u32,
    /// The state of the longest suffixes that end at more places.
    link: Option<u32>,
    /// The next states by chunk.
    next: HashMap<u32, u32>,
}

/// Returns the states of the suffix automaton of a sequence of letters.
fn suffix_automaton(letters: impl IntoIterator<Item = u32>) -> Vec<State> {
    let mut states = vec![State::default()];
    let mut last = 0u32;
    for letter in letters {
        let new = states.len() as u32;
        states.push(State { length: states[last as usize].length + 1, ..State::default() });
        let mut from = Some(last);
        last = new;
        while let Some(state) = from.filter(|&state| !states[state as usize].next.contains_key(&letter)) {
            states[state as usize].next.insert(letter, new);
            from = states[state as usize].link;
        }
        let Some(state) = from else {
            states[new as usize].link = Some(0);
            continue;
        };
        let target = states[state as usize].next[&letter];
        if states[target as usize].length == states[state as usize].length + 1 {
            states[new as usize].link = Some(target);
            continue;
        }
        // Only some of the runs of the target end here too: those become a state of their own.
        let copy = states.len() as u32;
        states.push(State { length: states[state as usize].length + 1, ..states[target as usize].clone() });
        let mut from = Some(state);
        while let Some(state) = from.filter(|&state| states[state as usize].next.get(&letter) == Some(&target)) {
            states[state as usize].next.insert(letter, copy);
            from = states[state as usize].link;
        }
        (states[target as usize].link, states[new as usize].link) = (Some(copy), Some(copy));
    }
    states
}

impl Dfa {
    /// Returns the automaton of all runs of `chunks`, the empty one included.
    pub(super) fn of_runs(chunks: &[Box<[u8]>], limits: &Limits, work: &mut Work<'_>) -> Result<Dfa, RegularError> {
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        let mut texts: Vec<&[u8]> = Vec::new();
        let letters: Vec<u32> = chunks
            .iter()
            .filter(|chunk| !chunk.is_empty())
            .map(|chunk| {
                *numbers.entry(chunk).or_insert_with(|| {
                    texts.push(chunk);
                    texts.len() as u32 - 1
                })
            })
            .collect();
        work.spend(chunks.len())?;
        let states = suffix_automaton(letters);
        let length = |&letter: &u32| texts[letter as usize].len() as u64;
        let n_bytes: u64 = states.iter().flat_map(|state| state.next.keys()).map(length).sum();
        if n_bytes > limits.dfa_states_max as u64 {
            return Err(RegularError::expanded(n_bytes, limits.dfa_states_max));
        }
        // Moves lead to longer runs, so the states with the longest come first.
        let mut order: Vec<usize> = (0..states.len()).collect();
        order.sort_by_key(|&state| core::cmp::Reverse(states[state].length));
        let mut nfa = Nfa::new();
        let mut entries = vec![FINAL; states.len()];
        for state in order {
            work.spend(1 + states[state].next.len())?;
            let mut moves: Vec<(u32, u32)> = states[state].next.iter().map(|(&letter, &to)| (letter, to)).collect();
            moves.sort_unstable();
            let mut alternatives = vec![FINAL];
            for (letter, to) in moves {
                alternatives.push(nfa.text(texts[letter as usize], entries[to as usize]));
            }
            entries[state] = nfa.union(alternatives);
        }
        nfa.entry = entries[0];
        determinize(&nfa, limits.dfa_states_max, work)?.minimize(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular::{Node, Regular, naive};
    use crate::testing::Rng;

    fn of(chunks: &[&str]) -> Result<Dfa, RegularError> {
        let mut regular = Regular::new();
        let root = regular.push(Node::Substring(chunks.iter().map(|chunk| chunk.as_bytes().into()).collect()));
        regular.set_root(root);
        Dfa::new(&regular, &Limits::default())
    }

    #[test]
    fn it_has_the_runs_that_trying_each_pair_of_ends_finds() {
        let mut rng = Rng::new(3);
        for _ in 0..300 {
            let chunks: Vec<&str> = (0..rng.below(8)).map(|_| ["a", "b", "ab", "ba", "é", ""][rng.below(6)]).collect();
            let mut runs: Vec<String> = vec![String::new()];
            for start in 0..chunks.len() {
                runs.extend((start..chunks.len()).map(|end| chunks[start..=end].concat()));
            }
            assert_eq!(of(&chunks).unwrap(), Dfa::of_texts(&runs, &Limits::default()).unwrap(), "{chunks:?}");
        }
    }

    #[test]
    fn a_long_text_takes_linear_space() {
        let words: Vec<String> = (0..4000).map(|n| format!("w{} ", n % 1013)).collect();
        let dfa = of(&words.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert!(dfa.n_states() < 40_000, "{}", dfa.n_states());
        assert!(dfa.is_match(words[17..900].concat().as_bytes()) && !dfa.is_match(b"w1 w3 "));
        let many = "x".repeat(1 << 17);
        assert!(of(&[&many]).is_err());
    }

    #[test]
    fn the_oracle_agrees() {
        let mut regular = Regular::new();
        let runs = regular.push(Node::Substring([b"a"[..].into(), b"b"[..].into(), b"a"[..].into()].into()));
        let twice = regular.push(Node::Repeat { body: runs, min: 2, max: Some(2) });
        regular.set_root(twice);
        let dfa = Dfa::new(&regular, &Limits::default()).unwrap();
        for text in ["", "ab", "abab", "aa", "abaaba", "bb", "abb", "aaba", "bba", "aaaa", "ababa"] {
            assert_eq!(dfa.is_match(text.as_bytes()), naive::is_match(&regular, text.as_bytes()), "{text}");
        }
    }
}

//! The automaton of a regular language that counts characters.
//!
//! Text without `</think>` of at most 20,000 characters: the product of both has 20,000 copies of each state. Instead a register counts the characters beside the automaton
//! ([`Length`]), and no state is entered with so many that the end is too far.

use super::network::{Determinism, Edge, Label, Rows, RuleAutomaton};
use crate::machine::{Length, RegisterRule};
use crate::regular::Dfa;
use crate::util::distances_to_end;
use hashbrown::HashMap;

/// Returns the automaton of the texts of a language that are not empty and have at most `max` characters, if there are some.
pub(super) fn automaton(dfa: &Dfa, max: u32) -> Option<RuleAutomaton> {
    let start = dfa.start()?;
    let is_between = characters_end(dfa);
    let cost = |target: u32| u32::from(is_between[target as usize]);
    let to_end = to_end(dfa, cost);
    let least = |target: u32| to_end[target as usize].saturating_add(cost(target));
    // By place: the state of the language. Nothing leads back to the first.
    let mut places: Vec<u32> = vec![start];
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut rows = Rows::default();
    // By state: whether the end may be farther than from a state before.
    let mut may_be_farther = vec![false; dfa.n_states()];
    while let Some(&state) = places.get(rows.len()) {
        for (low, high, target) in dfa.edges(state).filter(|&(_, _, target)| least(target) <= max) {
            may_be_farther[target as usize] |= to_end[target as usize] > to_end[state as usize];
            let target = *numbers.entry(target).or_insert_with(|| {
                places.push(target);
                places.len() as u32 - 1
            });
            rows.push(Edge { label: Label::Bytes(low, high), target });
        }
        rows.end_row();
    }
    if places.len() == 1 {
        return None;
    }
    let accepting = (0..places.len()).map(|place| place > 0 && dfa.is_accepting(places[place])).collect();
    let is_checked = |state: u32| is_between[state as usize] || may_be_farther[state as usize];
    let rules = (1..).zip(&places[1..]).filter(|&(_, &state)| is_checked(state)).map(|(place, &state)| {
        let arrival_max = Some(max.saturating_sub(to_end[state as usize]));
        let (counts_char, is_accepting) = (is_between[state as usize], dfa.is_accepting(state));
        (place, RegisterRule::Length(Length { counts_char, is_accepting, min: 0, arrival_max }))
    });
    let rules = rules.collect();
    Some(RuleAutomaton::from_parts(rows, accepting, Determinism::Unknown).with_register_rules(rules))
}

/// Returns by state whether it is between characters, not within one: only continuation bytes follow there.
fn characters_end(dfa: &Dfa) -> Vec<bool> {
    let is_within = |state: u32| {
        !dfa.is_accepting(state) && dfa.edges(state).all(|(low, high, _)| (0x80..=0xBF).contains(&low) && high <= 0xBF)
    };
    (0..dfa.n_states() as u32).map(|state| !is_within(state)).collect()
}

/// Returns by state the least number of characters from there to the end, a partly read one included.
fn to_end(dfa: &Dfa, cost: impl Fn(u32) -> u32) -> Vec<u32> {
    let n_states = dfa.n_states() as u32;
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); n_states as usize];
    for state in 0..n_states {
        dfa.edges(state).for_each(|(_, _, target)| sources[target as usize].push(state));
    }
    distances_to_end(&sources, (0..n_states).filter(|&state| dfa.is_accepting(state)), cost)
}

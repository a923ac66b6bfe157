//! The automaton of a regular language that counts tokens.
//!
//! Each state of the language's automaton is there up to twice, by whether it is entered on a shortest way to an end, which is all that is left when the tokens are spent
//! ([`TokenBudget`]).
//!
//! ```text
//! [ab]* "."     0 --[ab]--> 1     1 --[ab]--> 1     0, 1 --"."--> 2 nearer (end)
//! a (bc)*       0 --a--> 1 nearer (end)     1 --b--> 2     2 --c--> 1 nearer (end)
//! ```

use super::network::{Determinism, Edge, Label, Rows, RuleAutomaton};
use crate::machine::{RegisterRule, TokenBudget};
use crate::regular::Dfa;
use hashbrown::HashMap;

/// Returns the automaton of the texts of a language that are not empty and have at most `max` tokens, if there are some.
pub(super) fn automaton(dfa: &Dfa, max: u32) -> Option<RuleAutomaton> {
    let start = dfa.start().filter(|&start| max > 0 && dfa.edges(start).len() > 0)?;
    let distances = dfa.distances();
    let mut numbers: HashMap<(u32, bool), u32> = HashMap::new();
    // Nothing leads back to the first.
    let mut places: Vec<(u32, bool)> = vec![(start, false)];
    let mut rows = Rows::default();
    while let Some(&(state, _)) = places.get(rows.len()) {
        for (low, high, target) in dfa.edges(state) {
            let is_nearer = distances[target as usize] < distances[state as usize];
            let target = *numbers.entry((target, is_nearer)).or_insert_with(|| {
                places.push((target, is_nearer));
                places.len() as u32 - 1
            });
            rows.push(Edge { label: Label::Bytes(low, high), target });
        }
        rows.end_row();
    }
    let accepting = (0..places.len()).map(|place| place > 0 && dfa.is_accepting(places[place].0)).collect();
    let rules = (1..).zip(&places[1..]).map(|(place, &(state, is_nearer))| {
        let budget = TokenBudget { is_nearer, is_accepting: dfa.is_accepting(state), max };
        (place, RegisterRule::Tokens(budget))
    });
    let rules = rules.collect();
    Some(RuleAutomaton::from_parts(rows, accepting, Determinism::Unknown).with_register_rules(rules))
}

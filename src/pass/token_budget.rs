//! The automaton of a regular language that counts tokens.
//!
//! Each state of the language's automaton is there up to twice, by whether it is entered from a place where the text could have ended: that is where a token counts
//! ([`TokenBudget`]).
//!
//! ```text
//! a b*     0 --a--> 1 (end) --b--> 1          0 --a--> 1 counts --b--> 1 counts
//! a (bc)*  0 --a--> 1 (end) --b--> 2 --c--> 1  0 --a--> 1 counts --b--> 2 counts --c--> 1 --b--> 2 counts
//! ```

use super::network::{Edge, Label, Rows, RuleAutomaton};
use crate::machine::{RegisterRule, TokenBudget};
use crate::regular::Dfa;
use hashbrown::HashMap;

/// Returns the automaton of the texts of a language that are not empty and have at most `max` tokens, if there are some.
pub(super) fn automaton(dfa: &Dfa, max: u32) -> Option<RuleAutomaton> {
    let start = dfa.start().filter(|&start| max > 0 && dfa.edges(start).len() > 0)?;
    let mut numbers: HashMap<(u32, bool), u32> = HashMap::new();
    // Nothing leads back to the first.
    let mut places: Vec<(u32, bool)> = vec![(start, false)];
    let mut rows = Rows::default();
    while let Some(&(state, _)) = places.get(rows.len()) {
        let reads_on = rows.is_empty() || dfa.is_accepting(state);
        for (low, high, target) in dfa.edges(state) {
            let target = *numbers.entry((target, reads_on)).or_insert_with(|| {
                places.push((target, reads_on));
                places.len() as u32 - 1
            });
            rows.push(Edge { label: Label::Bytes(low, high), target });
        }
        rows.end_row();
    }
    let accepting = (0..places.len()).map(|place| place > 0 && dfa.is_accepting(places[place].0)).collect();
    let rules = (1..).zip(&places[1..]).map(|(place, &(state, reads_on))| {
        let budget = TokenBudget { reads_on, is_accepting: dfa.is_accepting(state), max };
        (place, RegisterRule::Tokens(budget))
    });
    let rules = rules.collect();
    Some(RuleAutomaton::from_parts(rows, accepting, false).with_register_rules(rules))
}

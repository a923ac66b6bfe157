//! Shortest completions: witnesses that a viable prefix is no dead end.

use super::chart::{Chart, Item, Symbol};
use super::productions::{BoundedState, NEVER, Production, ProductionId, Productions, add};
use super::utf8;
use core::cmp::Reverse;
use hashbrown::HashMap;
use std::collections::BinaryHeap;

/// A production prefix at a set, whose end must be followed by something.
type Goal = (ProductionId, u32);

impl Chart {
    /// Returns the least number of symbols that complete the text so far, saturating at 64 bits.
    pub fn completion_len(&self) -> u64 {
        self.best_item(&self.goals()).0
    }

    /// Returns a shortest completion: symbols which make the text a sentence.
    pub fn shortest_completion(&self) -> Vec<Symbol> {
        let goals = self.goals();
        let mut out = Vec::new();
        let (_, Some(mut item)) = self.best_item(&goals) else { return out };
        loop {
            self.write_completion(item, &mut out);
            match goals.get(&(item.production, item.origin)) {
                Some(Followed { by: Some(next), .. }) => item = *next,
                _ => return out,
            }
        }
    }

    /// Returns the item of the last set from which a sentence is completed soonest, and the number of symbols that takes.
    fn best_item(&self, goals: &HashMap<Goal, Followed>) -> (u64, Option<Item>) {
        let lengths = self.last_items().iter().map(|&item| {
            let after = goals.get(&(item.production, item.origin)).map_or(NEVER, |followed| followed.len);
            (add(self.productions.least_to_complete(item.production, item.state), after), Some(item))
        });
        lengths.min_by_key(|&(len, _)| len).unwrap_or((NEVER, None))
    }

    /// Returns what must follow each production that is in progress at the last set: the least number of symbols.
    fn goals(&self) -> HashMap<Goal, Followed> {
        // Upwards from the items of the last set to all that wait for them ...
        let mut goals: HashMap<Goal, Followed> = HashMap::new();
        let mut operands: HashMap<Goal, Vec<(Goal, Item)>> = HashMap::new();
        let mut pending: Vec<Goal> = Vec::new();
        for item in self.last_items() {
            let goal = (item.production, item.origin);
            if goals.insert(goal, Followed { len: NEVER, by: None }).is_none() {
                pending.push(goal);
            }
        }
        while let Some(goal) = pending.pop() {
            for &user in self.waiting(goal.0, goal.1) {
                let Some(user) = super::chart::advance(&self.productions, user, false) else { continue };
                let above = (user.production, user.origin);
                operands.entry(above).or_default().push((goal, user));
                if goals.insert(above, Followed { len: NEVER, by: None }).is_none() {
                    pending.push(above);
                }
            }
        }
        // ... and back down from the root, least number of symbols first (Dijkstra).
        let mut queue = BinaryHeap::from([Reverse((0, (Productions::ROOT, 0), None))]);
        while let Some(Reverse((len, goal, by))) = queue.pop() {
            let Some(followed) = goals.get_mut(&goal).filter(|followed| followed.len == NEVER) else { continue };
            *followed = Followed { len, by: by.map(|(production, state, origin)| Item { production, state, origin }) };
            for &(operand, user) in operands.get(&goal).map_or(&[][..], Vec::as_slice) {
                let len = add(len, self.productions.least_to_complete(user.production, user.state));
                queue.push(Reverse((len, operand, Some((user.production, user.state, user.origin)))));
            }
        }
        goals
    }

    /// Appends a shortest string that completes an item.
    fn write_completion(&self, item: Item, out: &mut Vec<Symbol>) {
        let mut pending = vec![(item.production, item.state, 1u32)];
        while let Some((production, state, n_copies)) = pending.pop() {
            if n_copies > 1 {
                pending.push((production, state, n_copies - 1));
            }
            let mut write = |bytes: &[u8]| out.extend(bytes.iter().map(|&byte| Symbol::Byte(byte)));
            match self.productions.get(production) {
                _ if self.productions.least_to_complete(production, state) == 0 => {}
                Production::Bytes(bytes) => write(&bytes[state as usize..]),
                Production::Marker(text) => write(&text.as_bytes()[state as usize..]),
                Production::Class(set) => {
                    let (prefix, bytes, len) =
                        utf8::complete(set, state).expect("only productions that can be completed are begun");
                    write(&bytes[prefix..len]);
                }
                Production::Control(control) => out.push(Symbol::Control(control.clone())),
                Production::TokenExcept(excluded) => out.push(Symbol::TokenExcept(excluded.clone())),
                Production::AtMostTokens { dfa, max } => {
                    let mut bytes = Vec::new();
                    dfa.complete(BoundedState::unpack(state, *max).at, &mut bytes);
                    write(&bytes);
                }
                Production::Dfa(dfa) => {
                    let mut bytes = Vec::new();
                    dfa.complete(state, &mut bytes);
                    write(&bytes);
                }
                Production::Rule(_, body) => pending.push((*body, 0, 1)),
                Production::Sequence(operands) => {
                    pending.extend(operands[state as usize..].iter().rev().map(|&operand| (operand, 0, 1)));
                }
                Production::Choice(operands) => {
                    pending.extend(self.productions.shortest(operands).map(|operand| (operand, 0, 1)));
                }
                Production::Repeat { body, min, .. } => pending.push((*body, 0, min - state)),
            }
        }
    }
}

/// The least number of symbols that must follow a production, and the item that continues after it.
#[derive(Clone, Copy)]
struct Followed {
    len: u64,
    by: Option<Item>,
}

//! Shortest completions: the witness that a viable prefix is no dead end.

use super::chart::{Chart, Item, Symbol};
use super::parts::{NEVER, Part, PartId, Parts, add};
use super::utf8;
use core::cmp::Reverse;
use hashbrown::HashMap;
use std::collections::BinaryHeap;

/// A part, read from a set on, that just ended: what has to follow?
type Goal = (PartId, u32);

impl Chart {
    /// Returns the least number of symbols that complete the text so far. (Lengths beyond 64 bits are cut to that.)
    pub fn completion_len(&self) -> u64 {
        self.best_item(&self.goals()).0
    }

    /// Returns a shortest completion: pushing its symbols leads to acceptance.
    pub fn shortest_completion(&self) -> Vec<Symbol> {
        let goals = self.goals();
        let mut out = Vec::new();
        let (_, Some(mut item)) = self.best_item(&goals) else { return out };
        loop {
            self.write_rest(item, &mut out);
            match goals.get(&(item.part, item.origin)) {
                Some(Followed { by: Some(next), .. }) => item = *next,
                _ => return out,
            }
        }
    }

    /// Returns the item of the last set that is nearest to the end of everything, and how far it has to go.
    fn best_item(&self, goals: &HashMap<Goal, Followed>) -> (u64, Option<Item>) {
        let lengths = self.last_items().iter().map(|&item| {
            let after = goals.get(&(item.part, item.origin)).map_or(NEVER, |followed| followed.len);
            (add(self.parts.least_rest(item.part, item.state), after), Some(item))
        });
        lengths.min_by_key(|&(len, _)| len).unwrap_or((NEVER, None))
    }

    /// Returns, for each part that an item of the last set is in the end waited for by, the least that has to follow it.
    fn goals(&self) -> HashMap<Goal, Followed> {
        // The ways upwards from the items of the last set ...
        let mut goals: HashMap<Goal, Followed> = HashMap::new();
        let mut operands: HashMap<Goal, Vec<(Goal, Item)>> = HashMap::new();
        let mut pending: Vec<Goal> = Vec::new();
        for item in self.last_items() {
            let goal = (item.part, item.origin);
            if goals.insert(goal, Followed { len: NEVER, by: None }).is_none() {
                pending.push(goal);
            }
        }
        while let Some(goal) = pending.pop() {
            for &user in self.waiting(goal.0, goal.1) {
                let Some(user) = super::chart::advance(&self.parts, user, false) else { continue };
                let above = (user.part, user.origin);
                operands.entry(above).or_default().push((goal, user));
                if goals.insert(above, Followed { len: NEVER, by: None }).is_none() {
                    pending.push(above);
                }
            }
        }
        // ... and back down from the root, the nearest first.
        let mut queue = BinaryHeap::from([Reverse((0, (Parts::ROOT, 0), None))]);
        while let Some(Reverse((len, goal, by))) = queue.pop() {
            let Some(followed) = goals.get_mut(&goal).filter(|followed| followed.len == NEVER) else { continue };
            *followed = Followed { len, by: by.map(|(part, state, origin)| Item { part, state, origin }) };
            for &(operand, user) in operands.get(&goal).map_or(&[][..], Vec::as_slice) {
                let len = add(len, self.parts.least_rest(user.part, user.state));
                queue.push(Reverse((len, operand, Some((user.part, user.state, user.origin)))));
            }
        }
        goals
    }

    /// Appends a shortest text that finishes an item.
    fn write_rest(&self, item: Item, out: &mut Vec<Symbol>) {
        let mut pending = vec![(item.part, item.state, 1u32)];
        while let Some((part, state, n_copies)) = pending.pop() {
            if n_copies > 1 {
                pending.push((part, state, n_copies - 1));
            }
            let mut write = |bytes: &[u8]| out.extend(bytes.iter().map(|&byte| Symbol::Byte(byte)));
            match self.parts.get(part) {
                _ if self.parts.least_rest(part, state) == 0 => {}
                Part::Bytes(bytes) => write(&bytes[state as usize..]),
                Part::Class(set) => {
                    let (begun, bytes, len) = utf8::complete(set, state).expect("only what can be finished is begun");
                    write(&bytes[begun..len]);
                }
                Part::Control(control) => out.push(Symbol::Control(control.clone())),
                Part::Machine(machine) => {
                    let mut bytes = Vec::new();
                    machine.complete(state, &mut bytes);
                    write(&bytes);
                }
                Part::Rule(_, body) => pending.push((*body, 0, 1)),
                Part::Sequence(operands) => {
                    pending.extend(operands[state as usize..].iter().rev().map(|&operand| (operand, 0, 1)));
                }
                Part::Choice(operands) => {
                    pending.extend(self.parts.nearest(operands).map(|operand| (operand, 0, 1)));
                }
                Part::Repeat { body, min, .. } => pending.push((*body, 0, min - state)),
            }
        }
    }
}

/// The least that has to follow a part, and the item that goes on with it.
#[derive(Clone, Copy)]
struct Followed {
    len: u64,
    by: Option<Item>,
}

//! The closure over calls: what items read before any call returns, and the contexts that their calls lead to.

use super::super::moves::StateRef;
use super::builder::Builder;
use super::workspace::{At, Chain, Closing, Context, Item, Items, Scratch};
use crate::pass::{BuildError, Label, NetRuleId};
use smallvec::SmallVec;

impl Builder<'_> {
    /// Follows the calls of `items` that end their rules, puts what they read into `scratch`, and adds a context for each other call.
    pub fn close(
        &mut self,
        chain: &Chain,
        items: Items,
        contexts: &mut Vec<Context>,
        scratch: &mut Scratch,
    ) -> Result<(), BuildError> {
        scratch.letters.clear();
        scratch.targets.clear();
        // Taken with its allocations, and given back at the end.
        let closing = self.workspace.closing.take().unwrap_or_default();
        let Closing { mut entered, mut calls, mut call_of, mut groups, mut group_of } = closing;
        entered.clear();
        call_of.clear();
        group_of.clear();
        let mut closed = items;
        let mut next = 0;
        while next < closed.len() {
            let Item { member, state } = closed[next];
            next += 1;
            let automaton = self.automaton(member);
            self.bounds.compile_budget.spend(1 + automaton.edges(state).len())?;
            for edge in automaton.edges(state) {
                let target = Item { member, state: edge.target };
                let Label::Call(called) = edge.label else {
                    scratch.letters.add(edge.label, scratch.targets.len() as u32);
                    scratch.targets.push(target);
                    continue;
                };
                let caller = &self.members[member as usize];
                let callee = caller.rule.callee(called);
                let ends_rule = !caller.has_register && automaton.is_pure_end(edge.target);
                if !ends_rule {
                    let index = *call_of.entry(callee).or_insert_with(|| {
                        calls.push((callee, Items::new()));
                        calls.len() - 1
                    });
                    calls[index].1.push(target);
                } else if entered.insert(callee) {
                    match self.member_of(callee) {
                        Some(member) if !self.members[member as usize].has_register => {
                            closed.push(Item { member, state: 0 });
                        }
                        _ => contexts.push(self.enter(chain.clone(), callee)),
                    }
                }
            }
        }
        // Plain members of this unit that return to the same place are entered together.
        for (callee, returns) in calls.drain(..) {
            self.bounds.compile_budget.spend(1 + chain.len())?;
            for state in self.return_states(returns) {
                match self.member_of(callee) {
                    Some(member) if !self.members[member as usize].has_register && self.merges => {
                        let start = Item { member, state: 0 };
                        let index = *group_of.entry(state).or_insert_with(|| {
                            groups.push((state, Items::new()));
                            groups.len() - 1
                        });
                        groups[index].1.push(start);
                    }
                    _ => {
                        let mut chain = chain.clone();
                        chain.push(StateRef::own(state));
                        contexts.push(self.enter(chain, callee));
                    }
                }
            }
        }
        for (state, starts) in groups.drain(..) {
            let mut chain = chain.clone();
            chain.push(StateRef::own(state));
            contexts.push(Context { chain, at: At::Items(starts) });
        }
        self.workspace.closing = Some(Closing { entered, calls, call_of, groups, group_of });
        Ok(())
    }

    fn enter(&mut self, chain: Chain, callee: NetRuleId) -> Context {
        let at = match self.member_of(callee) {
            Some(member) => At::Items(SmallVec::from_slice(&[Item { member, state: 0 }])),
            None => At::Child(self.child(callee)),
        };
        Context { chain, at }
    }
}

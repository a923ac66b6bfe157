//! The row of a state: where each letter leads.
//!
//! [`Builder::row_of_contexts`] makes any row; the others are short cuts for states that call nothing, or only other units.

use super::super::moves::{Move, Pushes, StateRef};
use super::super::table::{Rows, Target};
use super::builder::{Builder, Member, n_bytes};
use super::workspace::{At, Chain, Context, ControlPieces, Item, LOOP, MadeMoves, Scratch};
use crate::pass::{BuildError, Edge, Label, steps_of_sorting};
use smallvec::SmallVec;

/// Most calls of a state whose rows are joined one by one: each has another list for each of the lists before.
const JOINED_MAX: usize = 16;

impl Builder<'_> {
    pub fn row(&mut self, state: usize, rows: &mut Rows) -> Result<(), BuildError> {
        if let [item] = self.workspace.sets[state][..] {
            let (rule, state) =
                (self.members[item.member as usize].rule, if item.state == LOOP { 0 } else { item.state });
            let edges = rule.automaton.edges(state);
            if self.is_simple(rule, state) && (self.merges || n_bytes(edges) == edges.len()) {
                return self.simple_row(item, rows);
            }
        }
        let mut items = self.workspace.sets[state].clone();
        // Between two copies, a copy begins.
        items.iter_mut().filter(|item| item.state == LOOP).for_each(|item| item.state = 0);
        let mut scratch = core::mem::take(&mut self.workspace.scratch);
        let mut contexts = core::mem::take(&mut self.workspace.contexts);
        self.close(&SmallVec::new(), items, &mut contexts, &mut scratch)?;
        if contexts.is_empty() && self.merges {
            // Where nothing is called, a letter leads to one state.
            let Scratch { letters, targets } = &mut scratch;
            self.bounds.compile_budget.spend(steps_of_sorting(letters.n_letters()))?;
            let mut n_items = 0;
            letters.for_each(|label, found| {
                n_items += found.len() + steps_of_sorting(found.len());
                let items = found.iter().map(|&index| targets[index as usize]).collect();
                rows.push(label, Target::State(self.states(items)[0]));
            });
            self.bounds.compile_budget.spend(n_items)?;
        } else if self.merges
            && contexts.len() <= JOINED_MAX
            && contexts.iter().all(|context| matches!(context.at, At::Child(..)))
        {
            self.row_beside_children(&mut scratch, &contexts, rows)?;
        } else {
            self.row_of_contexts(&mut scratch, &mut contexts, rows)?;
        }
        contexts.clear();
        (self.workspace.scratch, self.workspace.contexts) = (scratch, contexts);
        Ok(())
    }

    /// Makes the row of an item whose state is simple ([`Self::is_simple`]).
    pub fn simple_row(&mut self, item: Item, rows: &mut Rows) -> Result<(), BuildError> {
        // The edges of one item are in order already.
        let member = &self.members[item.member as usize];
        let edges = member.rule.automaton.edges(if item.state == LOOP { 0 } else { item.state });
        let (bytes, calls) = edges.split_at(n_bytes(edges));
        let target = |builder: &mut Self, edge: &Edge| builder.single(Item { member: item.member, state: edge.target });
        if calls.is_empty() {
            self.bounds.compile_budget.spend(edges.len())?;
            for edge in bytes {
                let target = target(self, edge);
                rows.push(edge.label, Target::State(target));
            }
            return Ok(());
        }
        self.bounds.compile_budget.spend(edges.len())?;
        if calls.len() > JOINED_MAX {
            return self.row_of_many_calls(item, bytes, calls, rows);
        }
        let mut pieces = core::mem::take(&mut self.workspace.row_scratch.pieces);
        pieces.clear();
        let mut controls = ControlPieces::new();
        for edge in bytes {
            let Label::Bytes(low, high) = edge.label else { unreachable!("only bytes are among them") };
            pieces.push((low, high, Target::State(target(self, edge))));
        }
        for edge in calls {
            let (chain, place) = self.child_called(item.member, edge);
            self.join_child(&chain, place, &mut pieces, &mut controls)?;
        }
        rows.bytes.extend_from_slice(&pieces);
        controls.sort_unstable_by_key(|&(letter, _)| letter);
        rows.controls.extend_from_slice(&controls);
        self.workspace.row_scratch.pieces = pieces;
        Ok(())
    }

    /// Returns where a call of a rule of another unit leads, and what it pushes.
    fn child_called(&mut self, member: u32, edge: &Edge) -> (Chain, StateRef) {
        let Label::Call(called) = edge.label else { unreachable!("only calls are among them") };
        let Member { rule, has_register, .. } = self.members[member as usize];
        let mut chain = Chain::new();
        if has_register || !rule.automaton.is_pure_end(edge.target) {
            chain.push(StateRef::own(self.single(Item { member, state: edge.target })));
        }
        (chain, self.child(rule.callee(called)))
    }

    /// As [`Self::simple_row`], for many calls: all moves of a letter become a list at once.
    fn row_of_many_calls(
        &mut self,
        item: Item,
        bytes: &[Edge],
        calls: &[Edge],
        rows: &mut Rows,
    ) -> Result<(), BuildError> {
        let mut made = self.workspace.row_scratch.take_moves();
        for edge in bytes {
            let target = self.single(Item { member: item.member, state: edge.target });
            made.add(edge.label, Move { pushes: Pushes::new(), target: StateRef::own(target) });
        }
        for edge in calls {
            let n_before = made.n_counted;
            let (chain, place) = self.child_called(item.member, edge);
            self.child_moves(&chain, place, |label, found| made.add(label, found));
            self.bounds.compile_budget.spend(1 + chain.len() + made.n_counted - n_before)?;
            self.bounds.check_moves(made.n_counted)?;
        }
        self.row_of_moves(made, rows)
    }

    /// Adds moves to the row, those of each letter as one target.
    fn row_of_moves(&mut self, mut made: MadeMoves, rows: &mut Rows) -> Result<(), BuildError> {
        let MadeMoves { moves, by_letter, .. } = &mut made;
        self.bounds.compile_budget.spend(steps_of_sorting(by_letter.n_letters()))?;
        let mut n_found = 0;
        by_letter.for_each(|label, found| {
            n_found += found.len() + steps_of_sorting(found.len());
            let target = match found {
                &[index] if moves[index as usize].is_simple() => Target::State(moves[index as usize].target.state),
                _ => Target::List(self.list(&mut found.iter().map(|&index| moves[index as usize].clone()).collect())),
            };
            rows.push(label, target);
        });
        self.bounds.compile_budget.spend(n_found)?;
        self.workspace.row_scratch.made = made;
        Ok(())
    }

    /// Completes a row from what was closed first (into `scratch`) and calls into other units.
    fn row_beside_children(
        &mut self,
        scratch: &mut Scratch,
        contexts: &[Context],
        rows: &mut Rows,
    ) -> Result<(), BuildError> {
        let mut pieces = core::mem::take(&mut self.workspace.row_scratch.pieces);
        pieces.clear();
        let mut controls = ControlPieces::new();
        let Scratch { letters, targets } = scratch;
        letters.for_each(|label, found| {
            let items = found.iter().map(|&index| targets[index as usize]).collect();
            let target = Target::State(self.states(items)[0]);
            match label {
                Label::Bytes(low, high) => pieces.push((low, high, target)),
                Label::Control(letter) => controls.push((letter, target)),
                Label::Call(_) | Label::External(_) | Label::Bounded(_) => unreachable!("calls were followed"),
            }
        });
        for context in contexts {
            let At::Child(place) = context.at else { unreachable!("all contexts are children") };
            self.join_child(&context.chain, place, &mut pieces, &mut controls)?;
        }
        rows.bytes.extend_from_slice(&pieces);
        controls.sort_unstable_by_key(|&(letter, _)| letter);
        rows.controls.extend_from_slice(&controls);
        self.workspace.row_scratch.pieces = pieces;
        Ok(())
    }

    /// Completes a row from what was closed first (into `scratch`) and the contexts that it led to.
    fn row_of_contexts(
        &mut self,
        scratch: &mut Scratch,
        contexts: &mut Vec<Context>,
        rows: &mut Rows,
    ) -> Result<(), BuildError> {
        let mut made = self.workspace.row_scratch.take_moves();
        // The chains that wait or were pushed count, too.
        made.n_counted = contexts.iter().map(|context| 1 + context.chain.len()).sum();
        let mut chain: Chain = SmallVec::new();
        let mut is_closed = true;
        loop {
            if is_closed {
                let Scratch { letters, targets } = scratch;
                letters.for_each(|label, found| {
                    let items = found.iter().map(|&index| targets[index as usize]).collect();
                    for target in self.states(items) {
                        made.add(label, Move { pushes: Pushes::from_slice(&chain), target: StateRef::own(target) });
                    }
                });
            }
            self.bounds.compile_budget.spend(1 + chain.len())?;
            self.bounds.check_moves(made.n_counted)?;
            let Some(context) = contexts.pop() else { break };
            chain = context.chain;
            is_closed = matches!(context.at, At::Items(_));
            match context.at {
                At::Items(items) => {
                    let n_before = contexts.len();
                    self.close(&chain, items, contexts, scratch)?;
                    made.n_counted += (contexts.len() - n_before) * (2 + chain.len());
                }
                At::Child(place) => {
                    let n_before = made.n_counted;
                    self.child_moves(&chain, place, |label, found| made.add(label, found));
                    self.bounds.compile_budget.spend(made.n_counted - n_before)?;
                }
            }
        }
        self.row_of_moves(made, rows)
    }
}

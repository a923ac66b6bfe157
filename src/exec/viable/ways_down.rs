//! The ways down the stack of a head: which values it is within, and whether one of them can run out.

use super::super::candidates::Candidates;
use super::super::distinct_values::DistinctValues;
use super::super::head::{Head, StackNodeId};
use super::super::stack::Stacks;
use crate::automaton::{Kind, Program, StateId};
use crate::machine::{Distinct, Equality};
use core::cell::Cell;
use smallvec::SmallVec;

/// Most nodes of the stacks to look at; beyond, a place counts as free.
pub(super) const NODES_MAX: usize = 256;

/// How many values of each rule are under way that no set has yet.
pub(super) const ONE_UNDER_WAY: u32 = 1;

/// Memory to go down stacks in.
#[derive(Debug, Default)]
pub(super) struct WaysDown {
    nodes: Vec<(StackNodeId, bool)>,
    pending: Vec<(StackNodeId, bool)>,
    /// Where the last place that was found not to be free is within values that can become anything, but behind which values may run out: the places behind them.
    pub behind: SmallVec<[Head; 2]>,
}

impl WaysDown {
    /// Tells whether nothing that a head is within can be exhausted: on some way down its stack. There may be `n_more` values that no set has yet.
    pub fn is_free(&mut self, program: &Program, stacks: &mut Stacks, head: Head, n_more: u32) -> bool {
        self.behind.clear();
        let Some(values) = stacks.values() else { return true };
        if is_exhausted(program, values, head, n_more) {
            return false;
        }
        // Mostly there is no value yet that could be repeated; what can be read from states is found for whole units, and candidates take a look
        // at all values.
        let is_unbounded = |state| {
            program.reaches_unbounded(state, false) || program.reaches_unbounded(state, true) && has_no_exponent(values)
        };
        let is_unbounded_behind = |state| program.reaches_unbounded(state, false);
        let n_compared = Cell::new(0);
        let has_candidates = |frame: Head, equality| {
            let n_begun = values.n_begun(frame.register);
            n_compared.set(n_compared.get() + u64::from(values.n_values(frame.register)) + u64::from(n_begun));
            Candidates::exist(values, frame.register, equality)
        };
        let is_free = self.has_free_way(program, stacks, head, n_more, |_| false, |_| false, |_, _| true)
            || self.has_free_way(program, stacks, head, n_more, is_unbounded, is_unbounded_behind, |_, _| true)
            || self.has_free_way(program, stacks, head, n_more, is_unbounded, is_unbounded_behind, has_candidates);
        stacks.work.spend(n_compared.get());
        is_free
    }

    /// Tells whether on some way down the stack of a head no value under way can become one that is there already (`has_candidates`), unless something unbounded can be
    /// read above it: from the head's state (`is_unbounded`), or from one that is returned to (`is_unbounded_behind`). Notes the places behind values that hold something unbounded,
    /// where values may run out.
    #[expect(
        clippy::too_many_arguments,
        reason = "three questions, each of which is left out where it needs no answer"
    )]
    fn has_free_way(
        &mut self,
        program: &Program,
        stacks: &Stacks,
        head: Head,
        n_more: u32,
        is_unbounded: impl Fn(StateId) -> bool,
        is_unbounded_behind: impl Fn(StateId) -> bool,
        has_candidates: impl Fn(Head, Equality) -> bool,
    ) -> bool {
        self.nodes.clear();
        self.behind.clear();
        self.pending.clear();
        self.pending.push((head.node, is_unbounded(head.state)));
        while let Some((node, is_unbounded)) = self.pending.pop() {
            if self.nodes.contains(&(node, is_unbounded)) {
                continue;
            }
            if self.nodes.len() >= NODES_MAX {
                return true;
            }
            self.nodes.push((node, is_unbounded));
            for exit in stacks.exits(node) {
                let Some(info) = program.info(exit.state) else { return true };
                // The value under way may become one that is there already.
                if let Kind::DistinctValue(distinct) = info.kind
                    && !is_unbounded
                    && is_compared(distinct)
                    && exit.register as u32 != 0
                    && (distinct.declared_keys.is_some() || has_candidates(exit, distinct.equality))
                {
                    continue;
                }
                // The value under way will be one more.
                let n_more = n_more + ONE_UNDER_WAY;
                if stacks.values().is_some_and(|values| is_exhausted(program, values, exit, n_more)) {
                    if is_unbounded {
                        self.behind.push(Head { register: u64::from(exit.register as u32), ..exit });
                    }
                    continue;
                }
                self.pending.push((exit.node, is_unbounded || is_unbounded_behind(exit.state)));
            }
        }
        false
    }

    /// Returns where the outermost value that a head is within begins, and how many there are beside such values.
    pub fn extent(&mut self, program: &Program, stacks: &Stacks, head: Head) -> (u32, usize) {
        let Some(values) = stacks.values() else { return (0, 0) };
        let (mut start, mut n_used) = (values.n_bytes(), 0);
        self.for_each_value(program, stacks, head, |register| {
            start = start.min((register >> 32) as u32);
            n_used += values.n_values(register) as usize;
        });
        (start, n_used)
    }

    /// Calls `visit` with the registers of the values that a head is within.
    pub fn for_each_value(&mut self, program: &Program, stacks: &Stacks, head: Head, mut visit: impl FnMut(u64)) {
        self.nodes.clear();
        self.pending.clear();
        self.pending.push((head.node, false));
        while let Some((node, _)) = self.pending.pop() {
            if self.nodes.contains(&(node, false)) || self.nodes.len() >= NODES_MAX {
                continue;
            }
            self.nodes.push((node, false));
            for exit in stacks.exits(node) {
                match program.info(exit.state).map(|info| info.kind) {
                    Some(Kind::DistinctValue(distinct)) if is_compared(distinct) => visit(exit.register),
                    Some(_) => {}
                    None => continue,
                }
                self.pending.push((exit.node, false));
            }
        }
    }
}

/// Tells whether the values of the rule of a head may have run out, with `n_more` beside those that are there, so that only its end is safe.
fn is_exhausted(program: &Program, values: &DistinctValues, head: Head, n_more: u32) -> bool {
    program.exhausted_behind(head.state).is_some_and(|n_values| values.n_values(head.register) + n_more >= n_values)
}

/// Tells whether values of a kind can run out at all.
pub(super) fn is_compared(distinct: Distinct) -> bool {
    distinct.has_finite_domain() || distinct.equality == Equality::Json
}

/// Tells whether the number at the end of the text, if there is one, has no exponent so far.
fn has_no_exponent(values: &DistinctValues) -> bool {
    !last_number(values).any(|byte| byte.eq_ignore_ascii_case(&b'e'))
}

/// Returns the number at the end of the text, from its end to its beginning; nothing if there is none.
pub(super) fn last_number(values: &DistinctValues) -> impl Iterator<Item = u8> + '_ {
    values.bytes_backward().take_while(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte))
}

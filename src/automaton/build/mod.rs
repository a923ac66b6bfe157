//! Building units from the rules of a normal grammar.
//!
//! A state of a unit is a set of *items* (rule, state of its automaton) that lie over the same stack. Reading a byte from a set
//! takes the closure over calls first: the rules that the items call, those that *they* begin with, and so on; it ends, since no
//! rule begins with itself. A call that ends its rule pushes nothing (the callee's items join the set); other calls are grouped by
//! what they return to, each group a *context*: a chain of pushed return states, and the items at its end. Within a context the
//! targets of a byte are one state; so expression grammars, alternatives with common beginnings, and calls of one rule from several
//! places stay deterministic. Calls into other units take over their first moves.
//!
//! Copies of a counted body have a register, so items of a counter's body are only ever together with each other.
//!
//! Sets can be exponentially many. Past a budget the unit is built again with one item per state and several moves per byte; so is a rule
//! of its own that determinization gave up.
//!
//! Cost: for each state, the sum of the edges in its closure, and of the lengths of its chains. Rules that begin with each other in a long
//! row (`a ::= b "x" | "p"`, `b ::= c "y" | "q"`, ...) have long chains in each of many states, so what is kept counts against
//! [`automaton_moves_max`](crate::Limits::automaton_moves_max) while it is made, each pushed state as one move.

mod builder;
mod children;
mod closure;
mod finish;
mod rows;
mod workspace;

pub(crate) use builder::Entry;
pub(crate) use workspace::Workspace;

use super::bounds::Bounds;
use super::moves::LocalState;
use super::table::{MoveTable, Rows, Target};
use super::unit::Content;
use crate::pass::{BuildError, Determinism, Edge, FinishedNetwork, FinishedRule, Label, NetRuleId};
use builder::Builder;
use core::mem::take;
use finish::infos_of_states;
use smallvec::{SmallVec, smallvec};
use workspace::Item;

/// States allowed per item, and in any case, before items are no longer put together.
const STATES_PER_ITEM: usize = 4;
const STATES_FREE: usize = 256;

/// Items in all sets together, per item and in any case, likewise.
const MEMBERS_PER_ITEM: usize = 16;
const MEMBERS_FREE: usize = 1 << 22;

/// Builds the unit of the rules `members`, a component of the call graph. `entered` are the places of those that others may enter; `entries`
/// has the places of all rules that they call outside the component.
pub(crate) fn build(
    network: &FinishedNetwork,
    members: &[NetRuleId],
    entered: &[u32],
    entries: &[Option<Entry>],
    bounds: Bounds<'_>,
    workspace: &mut Workspace,
) -> Result<Content, BuildError> {
    if let [id] = members
        && network.rule(*id).counter.is_none()
        && let Some(content) = plain(network.rule(*id), bounds, &mut workspace.rows)?
    {
        return Ok(content);
    }
    // Determinization gave such a rule up already, with calls as letters.
    let is_large = matches!(members, [id] if network.rule(*id).automaton.determinism() == Determinism::TooLarge);
    let n_items: usize = members.iter().map(|&id| network.rule(id).automaton.n_states()).sum();
    let budget = Budget {
        n_states: STATES_FREE + STATES_PER_ITEM * n_items,
        n_members: MEMBERS_FREE + MEMBERS_PER_ITEM * n_items,
    };
    if !is_large
        && let Some(content) = Builder::new(network, members, entries, true, bounds, workspace).run(entered, budget)?
    {
        return Ok(content);
    }
    let builder = Builder::new(network, members, entries, false, bounds, workspace);
    let content = builder.run(entered, Budget::NONE)?;
    Ok(content.expect("without a budget building goes on to the end"))
}

/// Returns the unit of a rule without calls, control tokens and registers whose edges are apart: its states are those of the automaton.
fn plain(rule: &FinishedRule, bounds: Bounds<'_>, rows: &mut Rows) -> Result<Option<Content>, BuildError> {
    let automaton = &rule.automaton;
    let n_states = automaton.n_states();
    if automaton.has_register() || !rule.callees.is_empty() {
        return Ok(None);
    }
    rows.clear(n_states, automaton.all_edges().len());
    for state in 0..n_states as u32 {
        let edges = automaton.edges(state);
        let mut last = None;
        for edge in edges {
            let Label::Bytes(low, high) = edge.label else { return Ok(None) };
            if last.is_some_and(|last| low <= last) {
                return Ok(None);
            }
            last = Some(high);
            rows.bytes.push((low, high, Target::State(LocalState(edge.target))));
        }
        rows.end();
    }
    bounds.check_moves(rows.bytes.len())?;
    bounds.compile_budget.spend(n_states + rows.bytes.len())?;
    let infos = infos_of_states(automaton, None, rows)?;
    Ok(Some(Content {
        table: MoveTable::new(rows, &infos, bounds, 0)?,
        moves: Box::new([]),
        list_ends: Box::new([]),
        infos,
        controls: Box::new([]),
        token_sets: None,
        counters: Box::new([]),
        register_rules: Box::new([]),
        declared_keys: SmallVec::new(),
        children: SmallVec::new(),
        entries: smallvec![LocalState(0)],
        has_distinct_values: false,
    }))
}

/// How far items are put together.
#[derive(Clone, Copy)]
struct Budget {
    n_states: usize,
    n_members: usize,
}

impl Budget {
    const NONE: Budget = Budget { n_states: usize::MAX, n_members: usize::MAX };
}

impl Builder<'_> {
    fn run(mut self, entered: &[u32], budget: Budget) -> Result<Option<Content>, BuildError> {
        let starts: SmallVec<[LocalState; 4]> = entered.iter().map(|&member| self.start(member)).collect();
        // The end of a copy leads to the place between copies, which must exist even where copies are entered from inside.
        for member in 0..self.members.len() {
            if self.members[member].counter.is_some() {
                self.start(member as u32);
            }
        }
        // Nearly all states stand for one item, and read one or two ranges.
        let n_items = self.workspace.single_ids.len();
        let mut rows = take(&mut self.workspace.rows);
        rows.clear(n_items, 2 * n_items);
        let n_direct = if self.is_direct { self.automaton(0).n_states() } else { 0 };
        while rows.len() < n_direct.max(self.workspace.sets.len()) {
            self.bounds.compile_budget.spend(1)?;
            let state = rows.len() as u32;
            match self.is_direct {
                true => match *self.automaton(0).edges(state) {
                    // Three states of four read one byte.
                    [Edge { label: Label::Bytes(low, high), target }] => {
                        rows.bytes.push((low, high, Target::State(LocalState(target))));
                    }
                    _ => self.simple_row(Item { member: 0, state }, &mut rows)?,
                },
                false => self.row(state as usize, &mut rows)?,
            }
            rows.end();
            self.bounds.check_moves(rows.bytes.len() + rows.controls.len() + self.n_listed)?;
            if self.workspace.sets.len() > budget.n_states || self.n_members > budget.n_members {
                return Ok(None);
            }
        }
        self.finish(rows, starts).map(Some)
    }
}

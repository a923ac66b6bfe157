//! A finished unit: what is known of each state, and the table of moves.

use super::super::moves::{LocalState, Move, Pushes, StateRef};
use super::super::state::{Kind, Owner, ROLES_MAX, RegisterRuleId, Role, StateInfo, StateInfos, StateInfosBuilder};
use super::super::table::{MoveTable, Row, Rows, Target, reads};
use super::super::unit::{Content, ControlRow};
use super::builder::Builder;
use super::workspace::{Item, LOOP};
use crate::machine::{Distinct, RegisterRule};
use crate::pass::{BuildError, RuleAutomaton, TokenSets};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Returns what is known of states, unless they have too many roles.
fn known(infos: Option<StateInfos>) -> Result<StateInfos, BuildError> {
    let too_many = || BuildError::limit("roles of a unit's states", ROLES_MAX as u64 + 1, ROLES_MAX as u64);
    infos.ok_or_else(too_many)
}

/// Returns what is known of the states of a unit that are those of an automaton without counters and register rules.
pub(super) fn infos_of_states(
    automaton: &RuleAutomaton,
    owner: Option<Owner>,
    rows: &Rows,
) -> Result<StateInfos, BuildError> {
    let mut infos = StateInfosBuilder::with_capacity(rows.len());
    // Nearly all states have one of these roles.
    let [inner, end] = [Kind::Inner, Kind::End].map(|kind| infos.role(Role { kind, owner }));
    for (state, row) in (0..).zip(rows.iter()) {
        infos.push(if automaton.is_accepting(state) { end } else { inner }, reads(&row));
    }
    for &(state, distinct) in automaton.elements() {
        // Only calls of values lead here.
        let role = infos.role(Role { kind: Kind::DistinctValue(distinct), owner });
        infos.set_role(LocalState(state), role);
    }
    known(infos.finish())
}

impl Builder<'_> {
    pub fn finish(mut self, rows: Rows, entries: SmallVec<[LocalState; 4]>) -> Result<Content, BuildError> {
        let infos = match &self.members[..] {
            [member] if self.is_direct && member.strictest.is_none() => {
                infos_of_states(&member.rule.automaton, member.distinct.map(Owner::DistinctValues), &rows)?
            }
            _ => known(StateInfos::of(rows.iter().enumerate().map(|(state, row)| self.info(state, &row))))?,
        };
        let table = MoveTable::new(&rows, &infos, self.bounds, self.n_listed)?;
        let has_controls = !rows.controls.is_empty();
        let mut controls: Vec<ControlRow> = Vec::new();
        for row in rows.iter().filter(|_| has_controls) {
            let lists = row.controls.iter().map(|&(letter, target)| match target {
                Target::List(list) => (letter, list),
                Target::State(state) => {
                    (letter, self.list(&mut smallvec![Move { pushes: Pushes::new(), target: StateRef::own(state) }]))
                }
            });
            controls.push(lists.collect());
        }
        let reads_sets = rows.controls.iter().any(|(letter, _)| letter.is_set());
        let content = Content {
            table,
            moves: self.workspace.listed.drain(..).collect(),
            list_ends: self.workspace.list_ends.as_slice().into(),
            infos,
            controls: controls.into(),
            token_sets: if reads_sets { self.token_sets() } else { None },
            counters: self.counters.into(),
            register_rules: self.register_rules.into(),
            declared_keys: self.declared_keys,
            children: self.workspace.children.drain(..).collect(),
            entries,
            has_distinct_values: self.members.iter().any(|member| member.distinct.is_some()),
        };
        self.workspace.rows = rows;
        Ok(content)
    }

    /// Returns what letters that are sets of tokens mean: all automata of a grammar that have some share one list. So no part of a grammar that is compiled by itself may have some.
    fn token_sets(&self) -> Option<Arc<TokenSets>> {
        let of_members = self.members.iter().filter_map(|member| member.rule.automaton.token_sets());
        let of_children = self.workspace.children.iter().filter_map(|child| child.content.token_sets.as_ref());
        let mut all = of_members.chain(of_children);
        let first = all.next().cloned();
        assert!(all.all(|sets| Some(sets) == first.as_ref()), "the automata of a grammar share one list of token sets");
        first
    }

    fn info(&mut self, state: usize, row: &Row<'_>) -> StateInfo {
        let (first, n_items) = match self.is_direct {
            true => (Item { member: 0, state: state as u32 }, 1),
            false => (self.workspace.sets[state][0], self.workspace.sets[state].len()),
        };
        let member = &self.members[first.member as usize];
        let automaton = &*member.rule.automaton;
        if n_items == 1 && !member.has_register {
            // The usual state: it stands for one item.
            let kind = if automaton.is_accepting(first.state) { Kind::End } else { Kind::Inner };
            return StateInfo { kind, reads: reads(row), owner: None };
        }
        if let Some(strictest) = member.strictest.clone() {
            debug_assert_eq!(n_items, 1, "a rule with register rules is deterministic");
            let owner = Some(Owner::RegisterRules(self.register_rule(strictest)));
            let register_rule = automaton.register_rule(first.state).cloned();
            let kind = register_rule.map_or(Kind::Inner, |register_rule| Kind::RegisterRule {
                register_rule: self.register_rule(register_rule),
            });
            return StateInfo { kind, reads: reads(row), owner };
        }
        let owner = match (member.counter, member.has_register) {
            (Some(counter), _) => Some(Owner::Counter(counter)),
            (None, true) => member.distinct.map(Owner::DistinctValues),
            (None, false) => None,
        };
        let accepts = |item: &Item| self.automaton(item.member).is_accepting(item.state);
        let can_end = || if n_items == 1 { accepts(&first) } else { self.workspace.sets[state].iter().any(accepts) };
        let value = automaton.element(first.state);
        debug_assert!(
            self.is_direct
                || self.workspace.sets[state]
                    .iter()
                    .all(|item| self.automaton(item.member).element(item.state) == value),
            "values of one state are kept apart in one way"
        );
        let kind = match (member.counter, value) {
            // Only calls of values lead here.
            (None, Some(distinct)) => {
                let declared_keys = distinct.declared_keys.map(|index| member.declared_keys_base + index);
                Kind::DistinctValue(Distinct { declared_keys, ..distinct })
            }
            (Some(counter), _) if first.state == LOOP => Kind::Loop { counter },
            (Some(counter), _) if can_end() => {
                let between = member.single_base.wrapping_add(LOOP);
                Kind::BodyEnd { counter, loop_state: self.workspace.single_ids[between as usize] }
            }
            (None, None) if can_end() => Kind::End,
            _ => Kind::Inner,
        };
        StateInfo { kind, reads: reads(row), owner }
    }

    fn register_rule(&mut self, register_rule: RegisterRule) -> RegisterRuleId {
        *self.register_rule_ids.entry(register_rule).or_insert_with_key(|register_rule| {
            self.register_rules.push(register_rule.clone());
            RegisterRuleId::new(self.register_rules.len() - 1)
        })
    }
}

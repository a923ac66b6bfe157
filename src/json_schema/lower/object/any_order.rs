//! Objects whose keys come in any order: the set of names that came is part of the state.
//!
//! ```text
//! {"properties": {"a": .., "b": ..}}        {} --a--> {a} --b--> {a, b}
//!                                            |                     ^
//!                                            +---b--> {b} --a------+
//! ```
//!
//! n names have 2^n sets, so that [`Limits::any_order_keys_max`](crate::Limits::any_order_keys_max) bounds them. What makes each of them cheap: names are spelled out only as far as
//! several that may still come begin alike; the rest of a name, its colon and its value are one rule, which all sets share.

use super::super::draft::Draft;
use super::super::white_space::{AfterOpen, From};
use super::super::{Lowered, Lowerer, STEPS_PER_EDGE};
use super::slots::SlotSet;
use super::{KeyIndex, Places, Plan, Progress};
use crate::json_schema::error::SchemaError;
use crate::pass::{Label, NetRuleId};
use hashbrown::HashMap;

/// Most names that may be in a set.
const NAME_BITS_MAX: usize = 20;

/// The state after some members.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct KeysSoFar {
    /// The names that came, by place among those that may come.
    names: u32,
    /// The number of members as far as it matters.
    n_members: u64,
    /// The obligations satisfied, by slot.
    met: SlotSet,
}

/// The states of an object drafted so far.
struct Sets<'a> {
    plan: &'a Plan,
    depth: u32,
    /// The names that may come, by spelling.
    names: Vec<u32>,
    required: u32,
    /// The states after a value.
    after: HashMap<KeysSoFar, u32>,
    pending: Vec<(KeysSoFar, u32)>,
    /// The rules of what is left of a name, by its place and the bytes before.
    rests: HashMap<(usize, usize), NetRuleId>,
}

impl Lowerer<'_> {
    /// Adds the objects of a plan between the start of a draft and `end`.
    pub(super) fn object_in_any_order(&mut self, draft: &mut Draft, plan: &Plan, depth: u32, end: u32) -> Lowered<()> {
        let names: Vec<u32> =
            plan.sorted.iter().copied().filter(|&name| plan.names[name as usize].content.is_some()).collect();
        let limit = self.limits.any_order_keys_max.min(NAME_BITS_MAX);
        if names.len() > limit {
            return Err(SchemaError::too_much("any_order_keys_max", names.len(), limit).into());
        }
        let bits = names.iter().enumerate().filter(|&(_, &name)| plan.names[name as usize].is_required);
        let required = bits.fold(0, |bits, (place, _)| bits | 1 << place);
        let (after, rests) = Default::default();
        let mut sets = Sets { plan, depth, names, required, after, pending: Vec::new(), rests };
        let open = draft.state();
        draft.byte(&[0], b'{', open);
        let none = KeysSoFar { names: 0, n_members: 0, met: 0 };
        let AfterOpen { before_close, before_first } = self.after_open(draft, open, depth)?;
        if sets.may_close(none) {
            draft.byte(&before_close, b'}', end);
        }
        let mut places = self.workspace.places();
        self.next_key(draft, &mut sets, &mut places, none, |_, _| Ok(before_first.clone()))?;
        let mut n_counted = draft.n_states() + draft.n_edges();
        while let Some((so_far, state)) = sets.pending.pop() {
            let n_drafted = draft.n_states() + draft.n_edges();
            self.budget.spend(STEPS_PER_EDGE * n_drafted.saturating_sub(n_counted))?;
            self.check_states(self.n_states + draft.n_states())?;
            n_counted = n_drafted;
            self.check_written("properties", sets.after.len())?;
            let from = self.after_element(draft, state)?;
            if sets.may_close(so_far) {
                let close = self.before_close(draft, from.clone(), depth)?;
                draft.byte(&close, b'}', end);
            }
            self.next_key(draft, &mut sets, &mut places, so_far, |lowerer, draft| lowerer.comma(draft, &from, depth))?;
        }
        self.workspace.take_back_places(places);
        Ok(())
    }

    /// Adds the keys that may come next from their opening quote on, and their values. `before` adds what stands before them, if there are any.
    fn next_key(
        &mut self,
        draft: &mut Draft,
        sets: &mut Sets<'_>,
        places: &mut Places,
        so_far: KeysSoFar,
        before: impl FnOnce(&mut Self, &mut Draft) -> Lowered<From>,
    ) -> Lowered<()> {
        let n_missing = u64::from((sets.required & !so_far.names).count_ones());
        let room = sets.plan.max.map_or(u64::MAX, |max| max.saturating_sub(so_far.n_members));
        // Where only the required names have room, nothing else may come.
        let may_come = if n_missing >= room { sets.required & !so_far.names } else { !so_far.names };
        let next: Vec<usize> = (0..sets.names.len()).filter(|place| may_come >> place & 1 == 1).collect();
        let n_classes = if n_missing >= room { 0 } else { sets.plan.classes.len() };
        if n_missing > room || (next.is_empty() && n_classes == 0) {
            return Ok(());
        }
        let from = before(self, draft)?;
        for index in 0..n_classes {
            let (rule, closed) = self.class_key(draft, sets.plan, places, index)?;
            from.iter().for_each(|&from| draft.edge(from, Label::Call(rule), closed));
            self.value_in_any_order(draft, sets, places, closed, KeyIndex::Class(index as u32), so_far)?;
        }
        if next.is_empty() {
            return Ok(());
        }
        let quoted = draft.state();
        draft.byte(&from, b'"', quoted);
        // Ranges of the names that begin alike, with the bytes read and the state behind them.
        let mut open = vec![(0..next.len(), 0, quoted)];
        while let Some((range, n_read, state)) = open.pop() {
            self.budget.spend(range.len())?;
            let mut at = range.start;
            while at < range.end {
                let (first, byte) = (at, sets.spelled(next[at])[n_read]);
                while at < range.end && sets.spelled(next[at])[n_read] == byte {
                    at += 1;
                }
                if at == first + 1 {
                    self.rest_of_name(draft, sets, places, (next[first], n_read), state, so_far)?;
                    continue;
                }
                let target = draft.state();
                draft.byte(&[state], byte, target);
                open.push((first..at, n_read + 1, target));
            }
        }
        Ok(())
    }

    /// Adds what is left of a name behind some bytes of it, and its value.
    fn rest_of_name(
        &mut self,
        draft: &mut Draft,
        sets: &mut Sets<'_>,
        places: &mut Places,
        (place, n_read): (usize, usize),
        from: u32,
        so_far: KeysSoFar,
    ) -> Lowered<()> {
        let name = sets.names[place];
        let content = sets.plan.names[name as usize].content.as_ref().expect("names without values never come");
        let so_far = KeysSoFar { names: so_far.names | 1 << place, ..so_far };
        let is_always_same = content.met.is_empty();
        let rule = match sets.rests.get(&(place, n_read)) {
            Some(&rule) => rule,
            None => {
                let value = match is_always_same {
                    true => {
                        let value = self.value(content.conjunction, sets.depth + 1, false)?;
                        Some(self.member(value, sets.depth)?)
                    }
                    false => None,
                };
                let (mut rest, end) = self.workspace.draft_with_end();
                let closed = if value.is_some() { rest.state() } else { end };
                rest.text(&[0], &sets.spelled(place)[n_read..], closed);
                value.into_iter().for_each(|value| rest.edge(closed, Label::Call(value), end));
                self.spend(&rest)?;
                let rule = self.rule("name", rest, None);
                sets.rests.insert((place, n_read), rule);
                rule
            }
        };
        if is_always_same {
            let after =
                sets.after(draft, KeysSoFar { n_members: sets.plan.n_members_after(so_far.n_members), ..so_far });
            draft.edge(from, Label::Call(rule), after);
            return Ok(());
        }
        let closed = draft.state();
        draft.edge(from, Label::Call(rule), closed);
        self.value_in_any_order(draft, sets, places, closed, KeyIndex::Name(name), so_far)
    }

    /// Adds a colon and a value; `so_far` is the state after it, apart from the count and the obligations that the value satisfies.
    fn value_in_any_order(
        &mut self,
        draft: &mut Draft,
        sets: &mut Sets<'_>,
        places: &mut Places,
        from: u32,
        key: KeyIndex,
        so_far: KeysSoFar,
    ) -> Lowered<()> {
        let n_members = sets.plan.n_members_after(so_far.n_members);
        let seen = Progress { next: 0, n_members, met: so_far.met };
        let variants = self.variants(sets.plan, places, key, seen)?;
        if let [(conjunction, met)] = variants[..] {
            let value = self.value(conjunction, sets.depth + 1, false)?;
            let member = self.member(value, sets.depth)?;
            let after = sets.after(draft, KeysSoFar { n_members, met: so_far.met | met, ..so_far });
            draft.edge(from, Label::Call(member), after);
            return Ok(());
        }
        // Several variants share their colon.
        let colon = self.colon(draft, from, sets.depth)?;
        for &(conjunction, met) in &variants {
            let value = self.value(conjunction, sets.depth + 1, false)?;
            let after = sets.after(draft, KeysSoFar { n_members, met: so_far.met | met, ..so_far });
            colon.iter().for_each(|&from| draft.edge(from, Label::Call(value), after));
        }
        Ok(())
    }
}

impl Sets<'_> {
    /// Returns the spelling of a name, with its closing quote.
    fn spelled(&self, place: usize) -> &[u8] {
        &self.plan.names[self.names[place] as usize].spelled
    }

    /// Returns the state after some members.
    fn after(&mut self, draft: &mut Draft, so_far: KeysSoFar) -> u32 {
        *self.after.entry(so_far).or_insert_with(|| {
            let state = draft.state();
            self.pending.push((so_far, state));
            state
        })
    }

    fn may_close(&self, so_far: KeysSoFar) -> bool {
        let mut met = so_far.met;
        let mut is_there = vec![false; self.plan.names.len()];
        for (place, &name) in self.names.iter().enumerate() {
            is_there[name as usize] = so_far.names >> place & 1 == 1;
        }
        for (name, _) in self.plan.names.iter().zip(is_there).filter(|&(_, is_there)| !is_there) {
            met |= name.without;
        }
        let all = self.plan.rest(self.plan.names.len() as u32).open;
        self.required & !so_far.names == 0 && so_far.n_members >= self.plan.min && all & !met == 0
    }
}

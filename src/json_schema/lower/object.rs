//! Objects: declared keys in a fixed order, each at most once, then undeclared keys. Keys in any order are in `any_order`.
//!
//! Keys that a schema names come in the order in which it names them, then those that are only required, then all others. So the state
//! after some members is the index of the next name, with the number of members as far as it matters and the obligations satisfied.
//!
//! *Declared keys.* All names are in one trie of spellings. After the `i`-th name only later ones may follow, up to the next required one: at
//! a node of the trie these are a set of names that depends only on its first one. So states are pairs of a node and a first name: for
//! names with different first letters a handful in all, never more than the sum over the nodes of the names below.
//!
//! *Other keys* are a rule that many objects share, with its own quotes: any string, or the strings of some patterns. Duplicates of declared
//! keys are refused at the end of the key, as duplicates of earlier keys are.

mod any_order;
mod plan;
mod slots;
mod values;

use super::draft::Draft;
use super::leaf::LeafKey;
use super::text::embed_spelled;
use super::white_space::{self, AfterOpen, From};
use super::{Cached, Lowered, Lowerer, STEPS_PER_EDGE};
use crate::json_schema::conjunction::{ConjunctionId, Member, Members};
use crate::json_schema::error::SchemaError;
use crate::machine::{DeclaredKeys, Distinct, Equality, Exhaustible, SCARCE};
use crate::pass::{Label, NetRuleId};
use crate::regular::Dfa;
use crate::schema_options::{Spelling, WhiteSpace};
use hashbrown::HashMap;
pub(super) use plan::Plan;
use plan::{ClassKeys, Content};
use slots::SlotSet;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Variants of the value of a key: its constraint, and the obligations that it satisfies.
type Variants = SmallVec<[(ConjunctionId, SlotSet); 1]>;

/// The index of a key of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum KeyIndex {
    Name(u32),
    Class(u32),
}

/// The names with a common prefix: a node of the trie of names.
#[derive(Clone, Copy)]
struct Group {
    /// The last byte of that prefix.
    byte: u8,
    /// A range of the sorted names.
    low: u32,
    high: u32,
    /// The range of [`Groups::names`] that has those that may be present, in their order; `None` for a single name.
    names: Option<(u32, u32)>,
}

/// The trie of names, divided on demand.
#[derive(Default)]
struct Groups {
    groups: Vec<Group>,
    names: Vec<u32>,
    /// By index in the sorted names and number of bytes read: a range of the groups.
    ranges: HashMap<(u32, u32), (u32, u32)>,
    all_names: Option<Group>,
}

/// The state after some members.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Progress {
    /// The next name: names before it may not follow any more.
    next: u32,
    n_members: u64,
    /// The obligations satisfied, by slot.
    met: SlotSet,
}

/// A range of [`Places::other_keys`].
type OtherKeys = (u32, u32);

/// The keys that may come after some members.
#[derive(Clone, Copy)]
struct NextKey {
    /// The state after the opening quote, if a declared name may follow.
    quoted: Option<u32>,
    others: OtherKeys,
}

/// A map from [`Progress`].
struct ByProgress<T> {
    // Nearly always only the next name matters: those are a vector.
    by_next: Vec<Option<T>>,
    others: HashMap<Progress, T>,
}

impl<T> Default for ByProgress<T> {
    fn default() -> Self {
        ByProgress { by_next: Vec::new(), others: HashMap::new() }
    }
}

impl<T> ByProgress<T> {
    fn clear(&mut self) {
        self.by_next.clear();
        self.others.clear();
    }

    fn get(&self, seen: Progress) -> Option<&T> {
        match seen {
            Progress { next, n_members: 0, met: 0 } => self.by_next.get(next as usize)?.as_ref(),
            _ => self.others.get(&seen),
        }
    }

    fn insert(&mut self, seen: Progress, value: T) {
        let Progress { next, n_members: 0, met: 0 } = seen else {
            self.others.insert(seen, value);
            return;
        };
        if self.by_next.len() <= next as usize {
            self.by_next.resize_with(next as usize + 1, || None);
        }
        self.by_next[next as usize] = Some(value);
    }
}

/// The states of an object drafted so far.
#[derive(Default)]
pub(super) struct Places {
    /// The states after a value.
    after: ByProgress<u32>,
    n_after: usize,
    pending: Vec<(Progress, u32)>,
    /// The keys that may follow.
    keys: ByProgress<NextKey>,
    /// The states within keys: a range of the sorted names, the bytes read, the state before the key.
    nodes: HashMap<(u32, u32, u32, Progress), u32>,
    /// The states within keys with a prefix of one name only: by that name, as the next one.
    suffixes: ByProgress<u32>,
    groups: Groups,
    /// The states after the closing quote of a name: by that name, as the next one.
    ends: ByProgress<u32>,
    /// Groups whose next bytes are pending, with the number of bytes read and the state.
    open: Vec<(Group, u32, u32)>,
    /// The rules of other keys, and the states to which they return.
    other_keys: Vec<(NetRuleId, u32)>,
    others: ByProgress<OtherKeys>,
    /// The rules of the keys of each class.
    class_rules: Vec<(NetRuleId, Option<u32>)>,
    /// The index of the draft's list of all names.
    declared_keys: Option<u32>,
    /// Variants of values, by key, obligations satisfied, and obligations that later members may satisfy.
    variants: HashMap<(KeyIndex, SlotSet, SlotSet), Variants>,
}

impl Places {
    /// Clears everything, for reuse.
    pub fn clear(&mut self) {
        let Places { after, n_after, pending, keys, nodes, suffixes, groups, ends, open, .. } = self;
        let Places { other_keys, others, class_rules, declared_keys, variants, .. } = self;
        after.clear();
        *n_after = 0;
        pending.clear();
        keys.clear();
        nodes.clear();
        suffixes.clear();
        groups.clear();
        ends.clear();
        open.clear();
        other_keys.clear();
        others.clear();
        class_rules.clear();
        *declared_keys = None;
        variants.clear();
    }

    /// Returns whether the memory is small enough for reuse.
    pub fn is_small(&self) -> bool {
        const CAPACITY_MAX: usize = 1 << 10;
        let of_seen = [self.after.others.capacity(), self.suffixes.others.capacity(), self.ends.others.capacity()];
        let of_keys = [self.keys.others.capacity(), self.others.others.capacity(), self.variants.capacity()];
        let of_names = [self.after.by_next.capacity(), self.groups.names.capacity(), self.groups.groups.capacity()];
        let of_maps = [self.nodes.capacity(), self.groups.ranges.capacity(), self.open.capacity()];
        [of_seen, of_keys, of_names, of_maps].as_flattened().iter().all(|&capacity| capacity <= CAPACITY_MAX)
    }
}

impl Lowerer<'_> {
    /// Adds the objects of a plan between the start of a draft and `end`.
    pub(super) fn object(&mut self, draft: &mut Draft, plan: &Plan, depth: u32, end: u32) -> Lowered<()> {
        if self.expander.options.has_any_order {
            return self.object_in_any_order(draft, plan, depth, end);
        }
        let open = draft.state();
        draft.byte(&[0], b'{', open);
        let none = Progress { next: 0, n_members: 0, met: 0 };
        let AfterOpen { before_close, before_first } = self.after_open(draft, open, depth)?;
        if plan.may_close(none) {
            draft.byte(&before_close, b'}', end);
        }
        if plan.max == Some(0) {
            return Ok(());
        }
        // About the number of states for names without common prefixes.
        let n_spelled: usize = plan.names.iter().map(|name| name.spelled.len()).sum();
        draft.reserve(n_spelled + 6 * plan.names.len(), n_spelled + 16 * plan.names.len());
        let mut places = self.workspace.places();
        self.key(draft, plan, &mut places, &before_first, none, depth)?;
        let mut n_counted = draft.n_states() + draft.n_edges();
        while let Some((seen, state)) = places.pending.pop() {
            // Drafts of objects may grow large before they are finished.
            let n_drafted = draft.n_states() + draft.n_edges();
            self.budget.spend(STEPS_PER_EDGE * n_drafted.saturating_sub(n_counted))?;
            self.check_states(self.n_states + draft.n_states())?;
            n_counted = n_drafted;
            self.check_written("properties", places.n_after)?;
            let from = self.after_element(draft, state)?;
            if plan.may_close(seen) {
                let close = self.before_close(draft, from.clone(), depth)?;
                draft.byte(&close, b'}', end);
            }
            if plan.max.is_none_or(|max| seen.n_members < max) && plan.can_continue(seen) {
                let next = self.comma(draft, &from, depth)?;
                self.key(draft, plan, &mut places, &next, seen, depth)?;
            }
        }
        self.workspace.take_back_places(places);
        Ok(())
    }

    /// Adds the next key from its opening quote on, and its value.
    fn key(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        from: &From,
        seen: Progress,
        depth: u32,
    ) -> Lowered<()> {
        let next = match places.keys.get(seen) {
            Some(&next) => next,
            None => {
                let quoted = draft.state();
                let others = self.keys_from(draft, plan, places, quoted, seen, depth)?;
                // After the last name there is none left: an opening quote without edges would have to be trimmed.
                let next = NextKey { quoted: draft.has_edges(quoted).then_some(quoted), others };
                places.keys.insert(seen, next);
                next
            }
        };
        if let Some(quoted) = next.quoted {
            draft.byte(from, b'"', quoted);
        }
        let (begin, end) = next.others;
        for &(rule, closed) in &places.other_keys[begin as usize..end as usize] {
            from.iter().for_each(|&from| draft.edge(from, Label::Call(rule), closed));
        }
        Ok(())
    }

    /// Adds the names that may follow, after their opening quote; returns the other keys that may follow.
    fn keys_from(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        quoted: u32,
        mut seen: Progress,
        depth: u32,
    ) -> Lowered<OtherKeys> {
        // Names may follow up to the next required one. Skipping a name can satisfy an obligation.
        let n_names = plan.names.len() as u32;
        loop {
            self.names(draft, plan, places, quoted, seen, depth)?;
            let stop = plan.rest(seen.next).next_stop;
            let Some(name) = plan.names.get(stop as usize) else { break };
            if name.is_required {
                return Ok((0, 0));
            }
            let Some(passed) = plan.skip(seen, stop) else { return Ok((0, 0)) };
            seen = passed;
        }
        // Other keys may follow when no required name is pending.
        let past = Progress { next: n_names, ..seen };
        if plan.classes.is_empty() {
            return Ok((0, 0));
        }
        if let Some(&others) = places.others.get(past) {
            return Ok(others);
        }
        let begin = places.other_keys.len() as u32;
        for index in 0..plan.classes.len() {
            let (rule, closed) = self.class_key(draft, plan, places, index)?;
            self.member_value(draft, places, closed, KeyIndex::Class(index as u32), past, plan, depth)?;
            places.other_keys.push((rule, closed));
        }
        let others = (begin, places.other_keys.len() as u32);
        places.others.insert(past, others);
        Ok(others)
    }

    /// Returns the rule of the keys of a class, and a new state to which it returns.
    fn class_key(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        index: usize,
    ) -> Lowered<(NetRuleId, u32)> {
        if places.declared_keys.is_none() && !plan.names.is_empty() {
            let spelled = (0..plan.names.len()).map(|place| plan.spelled(place as u32));
            places.declared_keys = Some(draft.add_declared_keys(DeclaredKeys::new(b"\"", spelled)));
        }
        let (rule, scarce_after) = match places.class_rules.get(index) {
            Some(&known) => known,
            None => {
                let keys = &plan.classes[index].keys;
                let new = (self.other_key(keys)?, plan.scarce_after(keys));
                places.class_rules.push(new);
                new
            }
        };
        let closed = draft.state();
        let distinct = Distinct {
            equality: Equality::Bytes,
            scarce_after,
            exhaustible: Exhaustible::Never,
            declared_keys: places.declared_keys,
        };
        draft.elements.push((closed, distinct));
        Ok((rule, closed))
    }

    /// Adds the names that may follow up to the next stop.
    fn names(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        quoted: u32,
        seen: Progress,
        depth: u32,
    ) -> Lowered<()> {
        let last = plan.rest(seen.next).next_stop;
        let of_name = |name: u32| Progress { next: name, ..seen };
        places.open.push((places.groups.all_names(plan), 0, quoted));
        while let Some((of, depth_in, state)) = places.open.pop() {
            let (begin, end) = match places.groups.ranges.get(&(of.low, depth_in)) {
                Some(&range) => range,
                None => {
                    self.budget.spend((of.high - of.low) as usize)?;
                    places.groups.add(plan, of, depth_in)
                }
            };
            self.budget.spend((end - begin) as usize + 1)?;
            self.check_states(self.n_states + draft.n_states())?;
            for index in begin..end {
                let group = places.groups.groups[index as usize];
                let first = places.groups.first_from(plan, group, seen.next).filter(|&name| name <= last);
                let Some(first) = first else { continue };
                let byte = group.byte;
                if plan.spelled(group.low).len() == depth_in as usize + 1 {
                    let target = self.name_end(draft, plan, places, first, seen, depth)?;
                    draft.byte(&[state], byte, target);
                    continue;
                }
                if group.names.is_none() {
                    // The suffix of a name that no other shares is one chain, drafted once.
                    if let Some(&target) = places.suffixes.get(of_name(first)) {
                        draft.byte(&[state], byte, target);
                        continue;
                    }
                    let target = draft.state();
                    draft.byte(&[state], byte, target);
                    places.suffixes.insert(of_name(first), target);
                    let rest = &plan.spelled(group.low)[depth_in as usize + 1..];
                    self.budget.spend(rest.len())?;
                    self.check_states(self.n_states + draft.n_states() + rest.len())?;
                    let end = self.name_end(draft, plan, places, first, seen, depth)?;
                    draft.text(&[target], rest, end);
                    continue;
                }
                let key = (group.low, depth_in + 1, first, Progress { next: 0, ..seen });
                let known = places.nodes.get(&key).copied();
                let target = known.unwrap_or_else(|| draft.state());
                draft.byte(&[state], byte, target);
                if known.is_none() {
                    places.nodes.insert(key, target);
                    places.open.push((group, depth_in + 1, target));
                }
            }
        }
        Ok(())
    }

    /// Returns the rule of undeclared keys, with their quotes.
    fn other_key(&mut self, keys: &ClassKeys) -> Lowered<NetRuleId> {
        let keys = match keys {
            ClassKeys::Undeclared => {
                let draft = |_: &mut Self| Ok(Some(quoted_spelling(Dfa::all_text())));
                return Ok(self.leaf("key", LeafKey::AnyKey, None, draft)?.expect("there are keys"));
            }
            ClassKeys::In(keys) => keys,
        };
        if let Some(&rule) = self.keys.get(keys) {
            return Ok(rule);
        }
        let draft = quoted_spelling(keys);
        self.spend(&draft)?;
        let rule = self.rule("key", draft, None);
        self.keys.insert(Arc::clone(keys), rule);
        Ok(rule)
    }

    /// Returns the state after the quote that closes a name.
    fn name_end(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        name: u32,
        seen: Progress,
        depth: u32,
    ) -> Lowered<u32> {
        if let Some(&state) = places.ends.get(Progress { next: name, ..seen }) {
            return Ok(state);
        }
        let state = draft.state();
        places.ends.insert(Progress { next: name, ..seen }, state);
        let after = Progress { next: name + 1, ..seen };
        self.member_value(draft, places, state, KeyIndex::Name(name), after, plan, depth)?;
        Ok(state)
    }

    /// Adds a colon and a value; `seen` is the state after it, apart from obligations that the value satisfies.
    #[expect(clippy::too_many_arguments, reason = "one step of drafting, called from two places")]
    fn member_value(
        &mut self,
        draft: &mut Draft,
        places: &mut Places,
        from: u32,
        key: KeyIndex,
        seen: Progress,
        plan: &Plan,
        depth: u32,
    ) -> Lowered<()> {
        let variants = self.variants(plan, places, key, seen)?;
        let is_one = variants.len() == 1;
        // Several variants share their colon.
        let colon = if is_one { From::new() } else { self.colon(draft, from, depth)? };
        for &(conjunction, met) in variants.iter() {
            let n_members = plan.n_members_after(seen.n_members);
            let Some(met) = plan.satisfied_after(key, seen.met | met) else { continue };
            let after = Progress { n_members, met, ..seen };
            let rule = self.value(conjunction, depth + 1, false)?;
            let target = match places.after.get(after) {
                Some(&state) => state,
                None => {
                    let state = draft.state();
                    places.after.insert(after, state);
                    places.n_after += 1;
                    places.pending.push((after, state));
                    state
                }
            };
            if is_one {
                let rule = self.member(rule, depth)?;
                draft.edge(from, Label::Call(rule), target);
            } else {
                colon.iter().for_each(|&from| draft.edge(from, Label::Call(rule), target));
            }
        }
        Ok(())
    }

    /// Returns the rule of a colon and a value in an object at `depth`.
    ///
    /// All keys with the same constraint share it, in whatever object: one unit, whose masks differ only by what may follow the value.
    fn member(&mut self, value: NetRuleId, depth: u32) -> Lowered<NetRuleId> {
        let key = (value, depth < white_space::INDENT_DEEP_MAX);
        if let Some(&rule) = self.members.get(&key) {
            return Ok(rule);
        }
        let (mut draft, end) = self.workspace.draft_with_end();
        let leaf_key = match self.expander.options.white_space {
            WhiteSpace::Flexible { run_max } => Some(LeafKey::Member(run_max)),
            _ => None,
        };
        let automaton = leaf_key.as_ref().and_then(|key| self.store.leaves.find(key));
        let (rule_key, cached) = match automaton {
            Some(automaton) => {
                let mut callees: SmallVec<[NetRuleId; 2]> = self.free_white_space()?.into_iter().collect();
                callees.push(value);
                let mut state = 0;
                for &callee in &callees {
                    let after = if callee == value { end } else { draft.state() };
                    draft.edge(state, Label::Call(callee), after);
                    state = after;
                }
                self.spend_states(automaton.n_states(), automaton.all_edges().len())?;
                (None, Some(Cached::Caller(automaton, callees)))
            }
            None => {
                let from = self.colon(&mut draft, 0, depth)?;
                from.iter().for_each(|&from| draft.edge(from, Label::Call(value), end));
                self.spend(&draft)?;
                (leaf_key, None)
            }
        };
        let rule = self.rule("member", draft, None);
        (self.drafts[rule.index()].key, self.drafts[rule.index()].cached) = (rule_key, cached);
        self.members.insert(key, rule);
        Ok(rule)
    }

    /// Returns the variants of the value of a key; `seen` is the state after it, apart from obligations that the value satisfies.
    fn variants(&mut self, plan: &Plan, places: &mut Places, key: KeyIndex, seen: Progress) -> Lowered<Variants> {
        let content = match key {
            KeyIndex::Name(name) => {
                plan.names[name as usize].content.as_ref().expect("names without values are left out")
            }
            KeyIndex::Class(class) => &plan.classes[class as usize].content,
        };
        if content.met.is_empty() {
            return Ok(smallvec![(content.conjunction, 0)]);
        }
        let open = content.met.iter().fold(0, |bits, (slot, _)| bits | 1 << slot) & !seen.met;
        let later = open
            & match key {
                KeyIndex::Name(name) => plan.names[name as usize].later,
                // Other keys may follow.
                KeyIndex::Class(_) => SlotSet::MAX,
            };
        if let Some(variants) = places.variants.get(&(key, open, later)) {
            return Ok(variants.clone());
        }
        let variants = self.value_variants(content, open, later)?;
        places.variants.insert((key, open, later), variants.clone());
        Ok(variants)
    }

    /// Returns the variants of the value of a key, by the obligations of `open` that they satisfy; those that nothing `later` can satisfy
    /// must be satisfied.
    ///
    /// It need not be known that a value fails an obligation, so variants may overlap; but for a few constants they are disjoint, since then
    /// few variants remain.
    fn value_variants(&mut self, content: &Content, open: SlotSet, later: SlotSet) -> Lowered<Variants> {
        let mut conditions: Vec<(SlotSet, Vec<Member>)> = Vec::with_capacity(content.met.len());
        let mut always = 0;
        for &(index, member) in content.met.iter().filter(|(index, _)| open >> index & 1 == 1) {
            match member {
                None => always |= 1 << index,
                Some(member) => match conditions.iter_mut().find(|(bit, _)| *bit == 1 << index) {
                    Some((_, any)) => any.push(member),
                    None => conditions.push((1 << index, vec![member])),
                },
            }
        }
        conditions.retain(|(bit, _)| always & bit == 0);
        // Obligations that must be satisfied first: they leave fewer variants.
        conditions.sort_by_key(|(bit, _)| later & bit != 0);
        let mut variants: Vec<(Members, SlotSet)> = vec![(content.members.clone(), always)];
        for (bit, any) in conditions {
            let member = match any[..] {
                [only] => only,
                _ => {
                    let of = any.into_iter().map(|member| self.expander.intern([member])).collect();
                    self.expander.conjunctions.choice(of)
                }
            };
            let is_constant = self.expander.is_finite(member) || self.expander.is_finite(member.negated());
            let mut longer = Vec::with_capacity(2 * variants.len());
            for (members, bits) in variants {
                let mut with = members.clone();
                with.push(member);
                let must_be = later & bit == 0;
                if self.is_nothing(&with)? {
                    if !must_be {
                        longer.push((members, bits));
                    }
                    continue;
                }
                if must_be {
                    longer.push((with, bits | bit));
                    continue;
                }
                let mut without = members.clone();
                without.push(member.negated());
                let is_known = members.contains(&member) || self.is_nothing(&without)?;
                if !is_known {
                    longer.push((if is_constant { without } else { members.clone() }, bits));
                }
                longer.push((if is_known { members } else { with }, bits | bit));
            }
            variants = longer;
            self.budget.spend(variants.len())?;
            let limit = self.limits.schema_variants_max;
            if variants.len() > limit {
                let reason = format!("more than {limit} combinations of conditions wait for the same key");
                return Err(SchemaError::unsupported("not", reason).into());
            }
        }
        let mut found = Variants::new();
        for (members, bits) in variants {
            let conjunction = self.expander.intern(members);
            if !self.expander.conjunctions.is_nothing(conjunction) {
                found.push((conjunction, bits));
            }
        }
        Ok(found)
    }
}

/// Returns the spellings of the strings of an automaton, with their quotes.
fn quoted_spelling(dfa: &Dfa) -> Draft {
    let mut draft = Draft::new();
    let end = draft.state();
    draft.accept(end);
    let base = embed_spelled(&mut draft, dfa, end, Spelling::Shortest);
    draft.byte(&[0], b'"', base);
    draft
}

impl Groups {
    fn clear(&mut self) {
        let Groups { groups, names, ranges, all_names } = self;
        groups.clear();
        names.clear();
        ranges.clear();
        *all_names = None;
    }

    /// Adds a list of those of some names that may be present; returns its range.
    fn list(&mut self, plan: &Plan, names: impl Iterator<Item = u32>) -> (u32, u32) {
        let begin = self.names.len();
        self.names.extend(names.filter(|&name| plan.names[name as usize].content.is_some()));
        self.names[begin..].sort_unstable();
        (begin as u32, self.names.len() as u32)
    }

    /// Returns the group of all names: the root of the trie.
    fn all_names(&mut self, plan: &Plan) -> Group {
        let n_names = plan.names.len() as u32;
        *match self.all_names {
            Some(ref all) => all,
            None => {
                let names = Some(self.list(plan, 0..n_names));
                self.all_names.insert(Group { byte: 0, low: 0, high: n_names, names })
            }
        }
    }

    /// Divides a group by the next byte; returns the range of the new groups.
    fn add(&mut self, plan: &Plan, of: Group, n_read: u32) -> (u32, u32) {
        let begin = self.groups.len() as u32;
        let mut at = of.low;
        while at < of.high {
            let low = at;
            let byte = plan.spelled(low)[n_read as usize];
            while at < of.high && plan.spelled(at)[n_read as usize] == byte {
                at += 1;
            }
            if (low, at) == (of.low, of.high) {
                // Along a common prefix the list is the same.
                self.groups.push(Group { byte, ..of });
                break;
            }
            let sorted = &plan.sorted[low as usize..at as usize];
            let names = (at - low > 1).then(|| self.list(plan, sorted.iter().copied()));
            self.groups.push(Group { byte, low, high: at, names });
        }
        let range = (begin, self.groups.len() as u32);
        self.ranges.insert((of.low, n_read), range);
        range
    }

    /// Returns the first name of a group from `next` on.
    fn first_from(&self, plan: &Plan, group: Group, next: u32) -> Option<u32> {
        match group.names {
            Some((begin, end)) => {
                let names = &self.names[begin as usize..end as usize];
                names.get(names.partition_point(|&name| name < next)).copied()
            }
            None => {
                let name = plan.sorted[group.low as usize];
                Some(name).filter(|&name| name >= next && plan.names[name as usize].content.is_some())
            }
        }
    }
}

impl Plan {
    /// Returns the length of the shortest prefix of a key that few keys begin with ([`Distinct::scarce_after`]).
    fn scarce_after(&self, keys: &ClassKeys) -> Option<u32> {
        let ClassKeys::In(keys) = keys else { return None };
        // With its opening quote.
        let scarce_after = 1 + keys.scarce_after(SCARCE.into())?;
        // Declared keys count as taken.
        let are_many = self.names.len() >= SCARCE as usize / 2;
        let is_declared =
            are_many || self.names.iter().enumerate().any(|(at, _)| self.spelled(at as u32).len() >= scarce_after);
        Some(if is_declared { 0 } else { scarce_after as u32 })
    }

    fn may_close(&self, seen: Progress) -> bool {
        let is_complete = self.rest(seen.next).next_required == self.names.len() as u32;
        let rest = self.rest(seen.next);
        let are_met = rest.are_later_met && rest.open & !(seen.met | rest.without) == 0;
        is_complete && seen.n_members >= self.min && are_met
    }

    /// Returns the number of members after one more, as far as it matters.
    fn n_members_after(&self, n_members: u64) -> u64 {
        if self.max.is_some() { n_members + 1 } else { (n_members + 1).min(self.min) }
    }

    /// Returns the state after a name is skipped; `None` if an obligation can't be satisfied any more.
    fn skip(&self, seen: Progress, name: u32) -> Option<Progress> {
        let met = self.satisfied_after(KeyIndex::Name(name), seen.met | self.names[name as usize].without)?;
        Some(Progress { next: name + 1, met, ..seen })
    }

    /// Returns those of the satisfied obligations that still matter after a key; `None` if one that had to be satisfied is not.
    fn satisfied_after(&self, key: KeyIndex, met: SlotSet) -> Option<SlotSet> {
        let closes = match key {
            KeyIndex::Name(name) => self.names[name as usize].closes,
            KeyIndex::Class(_) => 0,
        };
        (closes & !met == 0).then_some(met & !closes)
    }

    fn can_continue(&self, seen: Progress) -> bool {
        (seen.next as usize) < self.names.len() || !self.classes.is_empty()
    }
}

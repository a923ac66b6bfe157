//! Objects: keys in their order, each at most once, and the others.
//!
//! Keys that a schema names come in the order in which it names them, then those that are only required, then all others. So what is known after some
//! members is a number, how far the order has gone, together with the number of members as far as it matters and the obligations that are met.
//!
//! *Keys.* All names stand in one trie of spellings. After the `i`-th name only later ones may follow, up to the next that is required: at a node
//! of the trie that leaves a set of names which depends only on its first one. So states are pairs of a node and a first name: for
//! names with different first letters a handful in all, never more than the sum over the nodes of the names below.
//!
//! *Other keys* are a rule that many objects share, with quotes of its own: any text, or the texts of some patterns. That names are not among
//! them is seen when the key ends, as it is for keys that were there before.

mod plan;
mod slots;
mod values;

use super::draft::Draft;
use super::text::{embed_spelled, has_finite_end};
use super::white_space::{self, AfterOpen, From};
use super::{Kept, Lowered, Lowerer, STEPS_PER_EDGE};
use crate::json_schema::conjunction::{ConjunctionId, Member, Members};
use crate::json_schema::error::SchemaError;
use crate::json_schema::leaf::LeafKey;
use crate::json_schema::options::{Spelling, WhiteSpace};
use crate::machine::{DeclaredKeys, Distinct, Equality, Exhaustible};
use crate::pass::{Label, NetRuleId};
use crate::regular::Dfa;
use hashbrown::HashMap;
pub(super) use plan::Plan;
use plan::{ClassKeys, Content};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Most ways for the value of one key to be, by the obligations that it meets.
const WAYS_MAX: usize = 64;
/// Largest bound on the number of members: each number is written out.
pub(in crate::json_schema) const MEMBERS_MAX: u64 = 4096;

/// Ways for the value of a key to be: what it satisfies, and the obligations that it meets.
type Ways = SmallVec<[(ConjunctionId, u64); 1]>;

/// Names a key of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum KeyIndex {
    Name(u32),
    Class(u32),
}

/// Names with the same beginning.
#[derive(Clone, Copy)]
struct Group {
    /// The last byte of that beginning.
    byte: u8,
    /// A range of the sorted names.
    low: u32,
    high: u32,
    /// Where those that may be there are among the [`Groups::names`], in their order; of a single one nothing is kept.
    names: Option<(u32, u32)>,
}

/// What may be read next within names.
#[derive(Default)]
struct Groups {
    groups: Vec<Group>,
    names: Vec<u32>,
    /// By place in the sorted names and number of bytes read: a range of the groups.
    ranges: HashMap<(u32, u32), (u32, u32)>,
    all_names: Option<Group>,
}

/// What is known after some members.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Seen {
    /// Names before this one are past.
    next: u32,
    n_members: u64,
    met: u64,
}

/// A range of [`Places::other_keys`].
type OtherKeys = (u32, u32);

/// The keys that may come after some members.
#[derive(Clone, Copy)]
struct NextKey {
    /// After the quote that opens a name, if one may come.
    quoted: Option<u32>,
    others: OtherKeys,
}

/// Values by what is known after some members.
struct BySeen<T> {
    // PERF: nearly always only the order counts.
    by_next: Vec<Option<T>>,
    others: HashMap<Seen, T>,
}

impl<T> Default for BySeen<T> {
    fn default() -> Self {
        BySeen { by_next: Vec::new(), others: HashMap::new() }
    }
}

impl<T> BySeen<T> {
    fn clear(&mut self) {
        self.by_next.clear();
        self.others.clear();
    }

    fn get(&self, seen: Seen) -> Option<&T> {
        match seen {
            Seen { next, n_members: 0, met: 0 } => self.by_next.get(next as usize)?.as_ref(),
            _ => self.others.get(&seen),
        }
    }

    fn insert(&mut self, seen: Seen, value: T) {
        let Seen { next, n_members: 0, met: 0 } = seen else {
            self.others.insert(seen, value);
            return;
        };
        if self.by_next.len() <= next as usize {
            self.by_next.resize_with(next as usize + 1, || None);
        }
        self.by_next[next as usize] = Some(value);
    }
}

/// Where the drafted parts of an object are.
#[derive(Default)]
pub(super) struct Places {
    /// After a value.
    after: BySeen<u32>,
    n_after: usize,
    pending: Vec<(Seen, u32)>,
    /// The keys that may come.
    keys: BySeen<NextKey>,
    /// Within keys: a range of the sorted names, the bytes read, the first name that may follow.
    nodes: HashMap<(u32, u32, u32, Seen), u32>,
    /// Within keys, where only one name goes on so: by that name, as the next one.
    rests: BySeen<u32>,
    groups: Groups,
    /// After the quote that closes a name, by that name, as the next one.
    ends: BySeen<u32>,
    /// Groups whose next bytes are not drafted yet, with the number of bytes read and the state.
    open: Vec<(Group, u32, u32)>,
    /// The rules of other keys, and where they return to.
    other_keys: Vec<(NetRuleId, u32)>,
    others: BySeen<OtherKeys>,
    /// The rules of the keys of each class.
    class_rules: Vec<NetRuleId>,
    /// Which list of the draft has all names.
    declared_keys: Option<u32>,
    /// Ways for values to be, by key, obligations that are met, and obligations that something to come may meet.
    ways: HashMap<(KeyIndex, u64, u64), Ways>,
}

impl Places {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        let Places { after, n_after, pending, keys, nodes, rests, groups, ends, open, .. } = self;
        let Places { other_keys, others, class_rules, declared_keys, ways, .. } = self;
        after.clear();
        *n_after = 0;
        pending.clear();
        keys.clear();
        nodes.clear();
        rests.clear();
        groups.clear();
        ends.clear();
        open.clear();
        other_keys.clear();
        others.clear();
        class_rules.clear();
        *declared_keys = None;
        ways.clear();
    }

    /// Returns whether the memory is worth keeping: there is not much.
    pub fn is_small(&self) -> bool {
        const CAPACITY_MAX: usize = 1 << 10;
        let of_seen = [self.after.others.capacity(), self.rests.others.capacity(), self.ends.others.capacity()];
        let of_keys = [self.keys.others.capacity(), self.others.others.capacity(), self.ways.capacity()];
        let of_names = [self.after.by_next.capacity(), self.groups.names.capacity(), self.groups.groups.capacity()];
        let of_maps = [self.nodes.capacity(), self.groups.ranges.capacity(), self.open.capacity()];
        [of_seen, of_keys, of_names, of_maps].as_flattened().iter().all(|&capacity| capacity <= CAPACITY_MAX)
    }
}

impl Lowerer<'_> {
    /// Adds the objects of a plan between the start of a draft and `end`.
    pub(super) fn object(&mut self, draft: &mut Draft, plan: &Plan, depth: u32, end: u32) -> Lowered<()> {
        let open = draft.state();
        draft.byte(&[0], b'{', open);
        let none = Seen { next: 0, n_members: 0, met: 0 };
        let AfterOpen { before_close, before_first } = self.after_open(draft, open, depth)?;
        if plan.may_close(none) {
            draft.byte(&before_close, b'}', end);
        }
        if plan.max == Some(0) {
            return Ok(());
        }
        // PERF: about what names without common beginnings need.
        let n_spelled: usize = plan.names.iter().map(|name| name.spelled.len()).sum();
        draft.reserve(n_spelled + 6 * plan.names.len(), n_spelled + 16 * plan.names.len());
        let mut places = self.spare.places();
        self.key(draft, plan, &mut places, &before_first, none, depth)?;
        let mut n_counted = draft.n_states() + draft.n_edges();
        while let Some((seen, state)) = places.pending.pop() {
            // Drafts of objects may grow long before they are done.
            let n_drafted = draft.n_states() + draft.n_edges();
            self.budget.spend(STEPS_PER_EDGE * n_drafted.saturating_sub(n_counted))?;
            n_counted = n_drafted;
            self.check_written("members", places.n_after)?;
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
        self.spare.take_back_places(places);
        Ok(())
    }

    /// Adds the next key from its opening quote on, and its value.
    fn key(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        from: &From,
        seen: Seen,
        depth: u32,
    ) -> Lowered<()> {
        let next = match places.keys.get(seen) {
            Some(&next) => next,
            None => {
                let quoted = draft.state();
                let others = self.keys_from(draft, plan, places, quoted, seen, depth)?;
                // PERF: behind the last name there is none left, and what leads nowhere would have to be cut away.
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

    /// Adds the names that may follow from behind their quote on; returns the other keys that may.
    fn keys_from(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        quoted: u32,
        mut seen: Seen,
        depth: u32,
    ) -> Lowered<OtherKeys> {
        // Names that may follow: up to the next required one. Passing over some of the others meets an obligation.
        let n_names = plan.names.len() as u32;
        loop {
            self.names(draft, plan, places, quoted, seen, depth)?;
            let stop = plan.rest(seen.next).next_stop;
            let Some(name) = plan.names.get(stop as usize) else { break };
            if name.is_required {
                return Ok((0, 0));
            }
            let Some(passed) = plan.pass_over(seen, stop) else { return Ok((0, 0)) };
            seen = passed;
        }
        // Others may come once no required name is left.
        let past = Seen { next: n_names, ..seen };
        if plan.classes.is_empty() {
            return Ok((0, 0));
        }
        if let Some(&others) = places.others.get(past) {
            return Ok(others);
        }
        if places.declared_keys.is_none() && !plan.names.is_empty() {
            let spelled = (0..plan.names.len()).map(|place| plan.spelled(place as u32));
            places.declared_keys = Some(draft.add_declared_keys(DeclaredKeys::new(b"\"", spelled)));
        }
        let begin = places.other_keys.len() as u32;
        for (index, class) in plan.classes.iter().enumerate() {
            let rule = match places.class_rules.get(index) {
                Some(&rule) => rule,
                None => {
                    let rule = self.other_key(&class.keys)?;
                    places.class_rules.push(rule);
                    rule
                }
            };
            let closed = draft.state();
            let has_finite_domain = matches!(&class.keys, ClassKeys::In(keys) if has_finite_end(keys));
            let distinct = Distinct {
                equality: Equality::Bytes,
                has_finite_domain,
                exhaustible: Exhaustible::Never,
                declared_keys: places.declared_keys,
            };
            draft.elements.push((closed, distinct));
            self.member_value(draft, places, closed, KeyIndex::Class(index as u32), past, plan, depth)?;
            places.other_keys.push((rule, closed));
        }
        let others = (begin, places.other_keys.len() as u32);
        places.others.insert(past, others);
        Ok(others)
    }

    /// Adds the names that may follow up to the next stop.
    fn names(
        &mut self,
        draft: &mut Draft,
        plan: &Plan,
        places: &mut Places,
        quoted: u32,
        seen: Seen,
        depth: u32,
    ) -> Lowered<()> {
        let last = plan.rest(seen.next).next_stop;
        let of_name = |name: u32| Seen { next: name, ..seen };
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
                    // PERF: the rest of a name that shares it with no other needs no look at each byte.
                    if let Some(&target) = places.rests.get(of_name(first)) {
                        draft.byte(&[state], byte, target);
                        continue;
                    }
                    let target = draft.state();
                    draft.byte(&[state], byte, target);
                    places.rests.insert(of_name(first), target);
                    let rest = &plan.spelled(group.low)[depth_in as usize + 1..];
                    self.budget.spend(rest.len())?;
                    let end = self.name_end(draft, plan, places, first, seen, depth)?;
                    draft.text(&[target], rest, end);
                    continue;
                }
                let key = (group.low, depth_in + 1, first, Seen { next: 0, ..seen });
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

    /// Returns the rule of keys that nobody names, with their quotes.
    fn other_key(&mut self, keys: &ClassKeys) -> Lowered<NetRuleId> {
        let keys = match keys {
            ClassKeys::Others => {
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
        seen: Seen,
        depth: u32,
    ) -> Lowered<u32> {
        if let Some(&state) = places.ends.get(Seen { next: name, ..seen }) {
            return Ok(state);
        }
        let state = draft.state();
        places.ends.insert(Seen { next: name, ..seen }, state);
        let after = Seen { next: name + 1, ..seen };
        self.member_value(draft, places, state, KeyIndex::Name(name), after, plan, depth)?;
        Ok(state)
    }

    /// Adds a colon and a value; `seen` is what is known after it but for the value itself.
    #[expect(clippy::too_many_arguments, reason = "one step of drafting, called from two places")]
    fn member_value(
        &mut self,
        draft: &mut Draft,
        places: &mut Places,
        from: u32,
        key: KeyIndex,
        seen: Seen,
        plan: &Plan,
        depth: u32,
    ) -> Lowered<()> {
        let ways = self.ways(plan, places, key, seen)?;
        let is_one = ways.len() == 1;
        // Several values share their colon.
        let colon = if is_one { From::new() } else { self.colon(draft, from, depth)? };
        for &(conjunction, met) in ways.iter() {
            let n_members = plan.n_members_after(seen);
            let Some(met) = plan.met_after(key, seen.met | met) else { continue };
            let after = Seen { n_members, met, ..seen };
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
    /// It is the same for all keys whose values are alike, in whatever object: one unit, and masks that differ only by what may follow the value.
    fn member(&mut self, value: NetRuleId, depth: u32) -> Lowered<NetRuleId> {
        let key = (value, depth < white_space::INDENT_DEEP_MAX);
        if let Some(&rule) = self.members.get(&key) {
            return Ok(rule);
        }
        let mut draft = self.spare.draft();
        let end = draft.state();
        draft.accept(end);
        let leaf_key = match self.expander.options.white_space {
            WhiteSpace::Flexible { run_max } => Some(LeafKey::Member(run_max)),
            _ => None,
        };
        let automaton = leaf_key.as_ref().and_then(|key| self.store.leaves.find(key));
        let (rule_key, kept) = match automaton {
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
                (None, Some(Kept::Caller(automaton, callees)))
            }
            None => {
                let from = self.colon(&mut draft, 0, depth)?;
                from.iter().for_each(|&from| draft.edge(from, Label::Call(value), end));
                self.spend(&draft)?;
                (leaf_key, None)
            }
        };
        let rule = self.rule("member", draft, None);
        (self.drafts[rule.index()].key, self.drafts[rule.index()].kept) = (rule_key, kept);
        self.members.insert(key, rule);
        Ok(rule)
    }

    /// Returns the ways for the value of a key to be where `seen` is known after it but for the value itself.
    fn ways(&mut self, plan: &Plan, places: &mut Places, key: KeyIndex, seen: Seen) -> Lowered<Ways> {
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
                KeyIndex::Class(_) => u64::MAX,
            };
        if let Some(ways) = places.ways.get(&(key, open, later)) {
            return Ok(ways.clone());
        }
        let ways = self.value_ways(content, open, later)?;
        places.ways.insert((key, open, later), ways.clone());
        Ok(ways)
    }

    /// Returns the ways for the value of a key to be, by the obligations of `open` that it meets; those that nothing `later` may meet have to
    /// be met.
    ///
    /// Nobody needs to know that a value doesn't meet an obligation, so ways may overlap; but those of a few constants are told apart,
    /// since of those only a few ways are left then.
    fn value_ways(&mut self, content: &Content, open: u64, later: u64) -> Lowered<Ways> {
        let mut conditions: Vec<(u64, Vec<Member>)> = Vec::with_capacity(content.met.len());
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
        // What has to be met leaves fewer ways for the rest.
        conditions.sort_by_key(|(bit, _)| later & bit != 0);
        let mut ways: Vec<(Members, u64)> = vec![(content.members.clone(), always)];
        for (bit, any) in conditions {
            let member = match any[..] {
                [only] => only,
                _ => {
                    let of = any.into_iter().map(|member| self.expander.intern([member])).collect();
                    self.expander.conjunctions.choice(of)
                }
            };
            let is_constant = self.expander.is_finite(member) || self.expander.is_finite(member.negated());
            let mut longer = Vec::with_capacity(2 * ways.len());
            for (members, bits) in ways {
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
            ways = longer;
            self.budget.spend(ways.len())?;
            if ways.len() > WAYS_MAX {
                let reason = format!("more than {WAYS_MAX} combinations of conditions wait for the same key");
                return Err(SchemaError::unsupported("not", reason).into());
            }
        }
        let mut found = Ways::new();
        for (members, bits) in ways {
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

    /// Adds a list of those of some names that may be there; returns where it is.
    fn list(&mut self, plan: &Plan, names: impl Iterator<Item = u32>) -> (u32, u32) {
        let begin = self.names.len();
        self.names.extend(names.filter(|&name| plan.names[name as usize].content.is_some()));
        self.names[begin..].sort_unstable();
        (begin as u32, self.names.len() as u32)
    }

    /// Returns the group of all names, of which nothing is read.
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

    /// Divides names that begin alike by their next byte; returns where the groups are.
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
                // Along a common beginning the list is one.
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
    fn may_close(&self, seen: Seen) -> bool {
        let is_complete = self.rest(seen.next).next_required == self.names.len() as u32;
        let rest = self.rest(seen.next);
        let are_met = rest.are_later_met && rest.open & !(seen.met | rest.without) == 0;
        is_complete && seen.n_members >= self.min && are_met
    }

    /// Returns the number of members after one more, as far as it matters.
    fn n_members_after(&self, seen: Seen) -> u64 {
        if self.max.is_some() { seen.n_members + 1 } else { (seen.n_members + 1).min(self.min) }
    }

    /// Returns what is known once a name is passed over; nothing if an obligation then can't be met any more.
    fn pass_over(&self, seen: Seen, name: u32) -> Option<Seen> {
        let met = self.met_after(KeyIndex::Name(name), seen.met | self.names[name as usize].without)?;
        Some(Seen { next: name + 1, met, ..seen })
    }

    /// Returns those of some obligations that are met at a key that still matter behind it; nothing if one that had to be met is not.
    fn met_after(&self, key: KeyIndex, met: u64) -> Option<u64> {
        let closes = match key {
            KeyIndex::Name(name) => self.names[name as usize].closes,
            KeyIndex::Class(_) => 0,
        };
        (closes & !met == 0).then_some(met & !closes)
    }

    fn can_continue(&self, seen: Seen) -> bool {
        (seen.next as usize) < self.names.len() || !self.classes.is_empty()
    }
}

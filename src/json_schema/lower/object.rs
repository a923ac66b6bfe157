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

use super::draft::Draft;
use super::text::{embed_spelled, has_finite_end, spelled_key, too_large};
use super::white_space::{self, From};
use super::{Lowered, Lowerer};
use crate::json_schema::conjunction::{ConjunctionId, Member};
use crate::json_schema::error::SchemaError;
use crate::json_schema::language::{LanguageId, few_texts};
use crate::json_schema::leaf::LeafKey;
use crate::json_schema::shape::{Keys, ObjectShape, Obligation, Shape, ValueKind, Witness};
use crate::machine::{Distinct, Equality, Reserved, RunsOut};
use crate::pass::{Label, NetRuleId};
use crate::regular::Dfa;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;

/// Most obligations that wait at once.
const OBLIGATIONS_MAX: usize = 64;
/// Most ways for the value of one key to be, by the obligations that it meets.
const WAYS_MAX: usize = 64;
/// Most classes of keys that nobody names.
const CLASSES_MAX: usize = 64;
/// Most keys of a class that are named one by one.
const NAMED_MAX: usize = 1024;
/// Largest bound on the number of members: each number is written out.
const WRITTEN_MAX: u64 = 4096;

/// Ways for the value of a key to be: what it satisfies, and the obligations that it meets.
type Ways = SmallVec<[(ConjunctionId, u64); 1]>;

/// What the value of a key satisfies, and the obligations that it may meet.
#[derive(Clone, PartialEq, Eq)]
struct Content {
    members: Vec<Member>,
    /// Obligations with what a value satisfies that meets them (any value: `None`).
    met: Vec<(usize, Option<Member>)>,
}

/// A key that the schema names.
struct Name {
    spelled: Vec<u8>,
    is_required: bool,
    /// Nothing if there is no value for it.
    content: Option<Content>,
    /// The obligations that are met if it is not there.
    without: u64,
}

/// Keys that nobody names and whose values satisfy the same.
struct Class {
    keys: ClassKeys,
    content: Content,
}

/// Names a key of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum KeyIndex {
    Name(u32),
    Class(u32),
}

#[derive(Clone)]
enum ClassKeys {
    /// All that nobody names.
    Others,
    In(Arc<Dfa>),
}

pub(super) struct Plan {
    names: Vec<Name>,
    /// By spelling.
    sorted: Vec<u32>,
    /// By name: the place of the first required name from there on, or the number of names.
    next_required: Vec<u32>,
    /// By name: the place of the first name from there on that can't be passed over, or not without meeting something.
    next_stop: Vec<u32>,
    /// By name: the obligations that are met if no name from there on comes.
    without_rest: Vec<u64>,
    /// By name: the obligations that something from there on can meet.
    chances: Vec<u64>,
    classes: Vec<Class>,
    obligations: u64,
    min: u64,
    max: Option<u64>,
}

/// Names with the same beginning.
#[derive(Clone)]
struct Group {
    /// The last byte of that beginning.
    byte: u8,
    /// A range of the sorted names.
    low: u32,
    high: u32,
    /// Those that may be there, in their order.
    names: Rc<[u32]>,
}

/// What is known after some members.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Seen {
    /// Names before this one are past.
    next: u32,
    n_members: u64,
    met: u64,
}

type OtherKeys = Rc<[(NetRuleId, u32)]>;

/// The keys that may come after some members.
#[derive(Clone)]
struct NextKey {
    /// After the quote that opens a name.
    quoted: u32,
    others: Option<OtherKeys>,
}

#[derive(Default)]
struct Places {
    /// After a value.
    after: HashMap<Seen, u32>,
    pending: Vec<(Seen, u32)>,
    /// The keys that may come.
    keys: HashMap<Seen, NextKey>,
    /// Within keys: a range of the sorted names, the bytes read, the first name that may follow.
    nodes: HashMap<(u32, u32, u32, Seen), u32>,
    /// By place in the sorted names and number of bytes read: what may be read next.
    groups: HashMap<(u32, u32), Rc<[Group]>>,
    all_names: Option<Group>,
    /// After the quote that closes a name.
    ends: HashMap<(u32, Seen), u32>,
    /// The rules of other keys, and where they return to.
    others: HashMap<Seen, OtherKeys>,
    /// The rules of the keys of each class.
    class_rules: Vec<NetRuleId>,
    /// Which list of the draft has all names.
    reserved: Option<u32>,
    /// Ways for values to be, by key, obligations that are met, and obligations that something to come may meet.
    ways: HashMap<(KeyIndex, u64, u64), Rc<Ways>>,
}

impl Lowerer<'_> {
    /// Adds the objects of a plan between the start of a draft and `end`.
    pub(super) fn object(&mut self, draft: &mut Draft, plan: &Plan, depth: u32, end: u32) -> Lowered<()> {
        let open = draft.state();
        draft.byte(&[0], b'{', open);
        let none = Seen { next: 0, n_members: 0, met: 0 };
        if plan.may_close(none) {
            let inside = self.inside_empty(draft, open)?;
            draft.byte(&inside, b'}', end);
        }
        if plan.max == Some(0) {
            return Ok(());
        }
        let first = self.after_open(draft, open, depth)?;
        let mut places = Places::default();
        let bound = plan.max.unwrap_or(plan.min);
        if bound > WRITTEN_MAX {
            let keyword = if plan.max.is_some() { "maxProperties" } else { "minProperties" };
            let reason = format!("{bound} members would have to be told apart, and at most {WRITTEN_MAX} are");
            return Err(SchemaError::unsupported(keyword, reason).into());
        }
        self.key(draft, plan, &mut places, &first, none, depth)?;
        while let Some((seen, state)) = places.pending.pop() {
            self.check_written("members", places.after.len())?;
            let from = self.after_element(draft, state)?;
            if plan.may_close(seen) {
                let close = self.before_close(draft, from.clone(), depth)?;
                draft.byte(&close, b'}', end);
            }
            if plan.max.is_none_or(|max| seen.n_members < max) && plan.may_go_on(seen) {
                let next = self.comma(draft, &from, depth)?;
                self.key(draft, plan, &mut places, &next, seen, depth)?;
            }
        }
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
        let next = match places.keys.get(&seen) {
            Some(next) => next.clone(),
            None => {
                let quoted = draft.state();
                let others = self.keys_from(draft, plan, places, quoted, seen, depth)?;
                let next = NextKey { quoted, others };
                places.keys.insert(seen, next.clone());
                next
            }
        };
        draft.byte(from, b'"', next.quoted);
        for &(rule, closed) in next.others.iter().flat_map(|others| others.iter()) {
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
    ) -> Lowered<Option<OtherKeys>> {
        // Names that may follow: up to the next required one. Passing over some of the others meets an obligation.
        let n_names = plan.names.len() as u32;
        loop {
            self.names(draft, plan, places, quoted, seen, depth)?;
            let stop = plan.next_stop[seen.next as usize];
            let Some(name) = plan.names.get(stop as usize) else { break };
            if name.is_required {
                return Ok(None);
            }
            seen = Seen { next: stop + 1, met: seen.met | name.without, ..seen };
        }
        // Others may come once no required name is left.
        let past = Seen { next: n_names, ..seen };
        if plan.classes.is_empty() || plan.is_hopeless(past) {
            return Ok(None);
        }
        if let Some(others) = places.others.get(&past) {
            return Ok(Some(Rc::clone(others)));
        }
        if places.reserved.is_none() && !plan.names.is_empty() {
            let spelled: Vec<Vec<u8>> = (0..n_names).map(|place| [b"\"", plan.spelled(place)].concat()).collect();
            places.reserved = Some(draft.reserve(Reserved::new(spelled.iter().map(|spelled| &**spelled))));
        }
        let mut others = Vec::with_capacity(plan.classes.len());
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
            let is_finite = matches!(&class.keys, ClassKeys::In(keys) if has_finite_end(keys));
            let distinct =
                Distinct { equality: Equality::Bytes, is_finite, runs_out: RunsOut::Never, reserved: places.reserved };
            draft.elements.push((closed, distinct));
            self.member_value(draft, places, closed, KeyIndex::Class(index as u32), past, plan, depth)?;
            others.push((rule, closed));
        }
        let others: OtherKeys = others.into();
        places.others.insert(past, Rc::clone(&others));
        Ok(Some(others))
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
        let last = plan.next_stop[seen.next as usize];
        let mut pending: Vec<(Group, u32, u32)> =
            vec![(places.all_names.get_or_insert_with(|| plan.all_names()).clone(), 0, quoted)];
        while let Some((of, depth_in, state)) = pending.pop() {
            let low = of.low;
            let groups = match places.groups.get(&(low, depth_in)) {
                Some(groups) => Rc::clone(groups),
                None => {
                    self.watch.spend((of.high - low) as usize)?;
                    let groups: Rc<[Group]> = plan.groups(&of, depth_in).into();
                    places.groups.insert((low, depth_in), Rc::clone(&groups));
                    groups
                }
            };
            self.watch.spend(groups.len() + 1)?;
            for group in groups.iter() {
                let after = group.names.partition_point(|&name| name < seen.next);
                let Some(&first) = group.names.get(after).filter(|&&name| name <= last) else { continue };
                let byte = group.byte;
                if plan.spelled(group.low).len() == depth_in as usize + 1 {
                    let target = self.name_end(draft, plan, places, first, seen, depth)?;
                    draft.byte(&[state], byte, target);
                    continue;
                }
                let key = (group.low, depth_in + 1, first, Seen { next: 0, ..seen });
                let known = places.nodes.get(&key).copied();
                let target = known.unwrap_or_else(|| draft.state());
                draft.byte(&[state], byte, target);
                if known.is_some() {
                    continue;
                }
                places.nodes.insert(key, target);
                if group.high - group.low > 1 {
                    pending.push((group.clone(), depth_in + 1, target));
                    continue;
                }
                // PERF: the rest of a name that shares it with no other needs no look at each byte.
                let rest = &plan.spelled(group.low)[depth_in as usize + 1..];
                self.watch.spend(rest.len())?;
                let end = self.name_end(draft, plan, places, first, seen, depth)?;
                draft.text(&[target], rest, end);
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
        let key = (name, Seen { next: 0, ..seen });
        if let Some(&state) = places.ends.get(&key) {
            return Ok(state);
        }
        let state = draft.state();
        places.ends.insert(key, state);
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
            let n_members = if plan.max.is_some() { seen.n_members + 1 } else { (seen.n_members + 1).min(plan.min) };
            let after = Seen { n_members, met: seen.met | met, ..seen };
            if plan.is_hopeless(after) {
                continue;
            }
            let rule = self.value(conjunction, depth + 1);
            let target = *places.after.entry(after).or_insert_with(|| {
                let state = draft.state();
                places.pending.push((after, state));
                state
            });
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
        let mut draft = Draft::new();
        let end = draft.state();
        draft.accept(end);
        let from = self.colon(&mut draft, 0, depth)?;
        from.iter().for_each(|&from| draft.edge(from, Label::Call(value), end));
        self.spend(&draft)?;
        let rule = self.rule("member", draft, None);
        self.members.insert(key, rule);
        Ok(rule)
    }

    /// Returns the ways for the value of a key to be where `seen` is known after it but for the value itself.
    fn ways(&mut self, plan: &Plan, places: &mut Places, key: KeyIndex, seen: Seen) -> Lowered<Rc<Ways>> {
        let content = match key {
            KeyIndex::Name(name) => {
                plan.names[name as usize].content.as_ref().expect("names without values are left out")
            }
            KeyIndex::Class(class) => &plan.classes[class as usize].content,
        };
        let open = content.met.iter().fold(0, |bits, (index, _)| bits | 1 << index) & !seen.met;
        let later = open & plan.chances[seen.next as usize];
        if let Some(ways) = places.ways.get(&(key, open, later)) {
            return Ok(Rc::clone(ways));
        }
        let ways = Rc::new(self.value_ways(content, open, later)?);
        places.ways.insert((key, open, later), Rc::clone(&ways));
        Ok(ways)
    }

    /// Returns the obligations that a value may meet.
    fn chances(&mut self, content: &Content) -> Lowered<u64> {
        let mut chances = 0;
        for &(index, member) in &content.met {
            let with: Vec<Member> = content.members.iter().copied().chain(member).collect();
            if !self.is_nothing(&with)? {
                chances |= 1 << index;
            }
        }
        Ok(chances)
    }

    /// Works out which keys there are and what their values satisfy; nothing if a required one can't be there.
    pub(super) fn plan_object(&mut self, shape: &ObjectShape) -> Lowered<Option<Plan>> {
        let n_obligations = shape.obligations.len();
        if n_obligations > OBLIGATIONS_MAX {
            let reason =
                format!("{n_obligations} conditions wait for a key at once, and at most {OBLIGATIONS_MAX} may");
            return Err(SchemaError::unsupported("not", reason).into());
        }
        // All names that anything mentions, so that the others have nothing to do with names.
        let mut order: Vec<Rc<str>> = Vec::with_capacity(shape.properties.len());
        let mut known: HashSet<Rc<str>> = HashSet::new();
        let mut mention = |name: &Rc<str>| {
            if known.insert(Rc::clone(name)) {
                order.push(Rc::clone(name));
            }
        };
        shape.properties.iter().for_each(|(name, _)| mention(name));
        shape.required.iter().for_each(|(name, ())| mention(name));
        let all_keys =
            || shape.rules.iter().map(|rule| &rule.keys).chain(shape.obligations.iter().flat_map(Obligation::keys));
        for witness in shape.obligations.iter().flat_map(|obligation| &obligation.any) {
            if let Witness::Absent(name) | Witness::Key(Keys::Name(name), _) = witness {
                mention(name);
            }
        }
        let mut mentioned: Vec<Rc<str>> = shape.absent.iter().cloned().collect();
        for keys in all_keys() {
            if let Keys::Beside { names, .. } = keys {
                mentioned.extend(names.iter().map(|name| Rc::from(&**name)));
            }
        }
        mentioned.sort_unstable();
        mentioned.iter().for_each(&mut mention);
        let mut satisfying: Vec<(Member, Arc<Dfa>)> = Vec::new();
        for keys in all_keys() {
            if let Keys::Satisfying(member) = keys
                && !satisfying.iter().any(|(known, _)| known == member)
            {
                satisfying.push((*member, self.strings_of(&[*member])?));
            }
        }
        let names_of_shape = match shape.names.is_empty() {
            true => None,
            false => Some(self.strings_of(&shape.names)?),
        };
        let mut names = Vec::with_capacity(order.len());
        for name in &order {
            let is_required = shape.required.contains(name);
            let is_allowed =
                !shape.absent.contains(name) && names_of_shape.as_ref().is_none_or(|dfa| dfa.is_match(name.as_bytes()));
            let mut content = None;
            if is_allowed {
                let mut members = shape.properties.get(name).cloned().unwrap_or_default();
                for rule in &shape.rules {
                    if self.is_among(&rule.keys, name, &satisfying)? {
                        members.push(rule.member);
                    }
                }
                let mut met = Vec::new();
                for (index, obligation) in shape.obligations.iter().enumerate() {
                    for witness in &obligation.any {
                        if let Witness::Key(keys, member) = witness
                            && self.is_among(keys, name, &satisfying)?
                        {
                            met.push((index, *member));
                        }
                    }
                }
                content = self.content(members, met)?;
            }
            if is_required && content.is_none() {
                return Ok(None);
            }
            let mut without = 0;
            for (index, obligation) in shape.obligations.iter().enumerate() {
                if obligation.any.iter().any(|witness| matches!(witness, Witness::Absent(absent) if absent == name)) {
                    without |= 1 << index;
                }
            }
            names.push(Name { spelled: spelled_key(name), is_required, content, without });
        }
        let mut classes = self.classes(shape, &order, names_of_shape, &satisfying)?;
        // Keys of which there are few could all be used up; so they are named, in the order of the patterns that they match.
        let mut few: Vec<(usize, Vec<u8>, Content)> = Vec::new();
        classes.retain(|class| {
            let ClassKeys::In(keys) = &class.keys else { return true };
            let Some(texts) = few_texts(keys, NAMED_MAX) else { return true };
            few.extend(texts.into_iter().map(|text| (self.first_pattern(shape, &text), text, class.content.clone())));
            false
        });
        few.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        names.extend(few.into_iter().filter_map(|(_, text, content)| {
            let spelled = spelled_key(core::str::from_utf8(&text).ok()?);
            Some(Name { spelled, is_required: false, content: Some(content), without: 0 })
        }));
        let mut sorted: Vec<u32> = (0..names.len() as u32).collect();
        sorted.sort_unstable_by(|&a, &b| names[a as usize].spelled.cmp(&names[b as usize].spelled));
        let mut next_required = vec![names.len() as u32; names.len() + 1];
        for index in (0..names.len()).rev() {
            next_required[index] = if names[index].is_required { index as u32 } else { next_required[index + 1] };
        }
        // Bounds that can't be met or missed are none.
        let n_required = names.iter().filter(|name| name.is_required).count() as u64;
        let n_possible = names.iter().filter(|name| name.content.is_some()).count() as u64;
        let min = if shape.min <= n_required { 0 } else { shape.min };
        let max = shape.max.filter(|&max| !classes.is_empty() || n_possible > max);
        let obligations = u64::MAX.checked_shr(64 - n_obligations as u32).unwrap_or(0);
        let mut next_stop = vec![names.len() as u32; names.len() + 1];
        let mut without_rest = vec![0; names.len() + 1];
        let mut of_classes = 0;
        for class in &classes {
            of_classes |= self.chances(&class.content)?;
        }
        let mut chances = vec![of_classes; names.len() + 1];
        for (index, name) in names.iter().enumerate().rev() {
            let is_stop = name.is_required || name.without != 0;
            next_stop[index] = if is_stop { index as u32 } else { next_stop[index + 1] };
            without_rest[index] = without_rest[index + 1] | name.without;
            let of_value = match &name.content {
                Some(content) => self.chances(content)?,
                None => 0,
            };
            chances[index] = chances[index + 1] | name.without | of_value;
        }
        Ok(Some(Plan {
            names,
            sorted,
            next_required,
            next_stop,
            without_rest,
            chances,
            classes,
            obligations,
            min,
            max,
        }))
    }

    /// Returns the place of the first rule whose pattern a key matches.
    fn first_pattern(&self, shape: &ObjectShape, name: &[u8]) -> usize {
        let is_in =
            |keys: &Keys| matches!(keys, Keys::In(language) if self.expander.languages.dfa(*language).is_match(name));
        shape.rules.iter().position(|rule| is_in(&rule.keys)).unwrap_or(usize::MAX)
    }

    /// Returns what the value of a key satisfies; nothing if there is no such value.
    fn content(&mut self, mut members: Vec<Member>, mut met: Vec<(usize, Option<Member>)>) -> Lowered<Option<Content>> {
        let conjunction = self.expander.intern(members.clone());
        if self.expander.conjunctions.is_nothing(conjunction) {
            return Ok(None);
        }
        members.sort_unstable();
        members.dedup();
        met.sort_unstable();
        met.dedup();
        Ok(Some(Content { members, met }))
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
        let mut ways: Vec<(Vec<Member>, u64)> = vec![(content.members.clone(), always)];
        for (bit, any) in conditions {
            let member = match any[..] {
                [only] => only,
                _ => {
                    let of = any.into_iter().map(|member| self.expander.intern(vec![member])).collect();
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
            self.watch.spend(ways.len())?;
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

    /// Tells whether surely no value satisfies all members.
    pub(super) fn is_nothing(&mut self, members: &[Member]) -> Lowered<bool> {
        let conjunction = self.expander.intern(members.to_vec());
        self.expander.is_surely_nothing(conjunction)
    }

    fn is_among(&mut self, keys: &Keys, name: &str, satisfying: &[(Member, Arc<Dfa>)]) -> Lowered<bool> {
        Ok(match self.expander.has_key(keys, name)? {
            Some(verdict) => verdict,
            None => {
                let Keys::Satisfying(member) = keys else { unreachable!("other keys are decided") };
                satisfying.iter().any(|(known, dfa)| known == member && dfa.is_match(name.as_bytes()))
            }
        })
    }

    /// Splits the keys that nobody names by what their values satisfy.
    fn classes(
        &mut self,
        shape: &ObjectShape,
        names: &[Rc<str>],
        names_of_shape: Option<Arc<Dfa>>,
        satisfying: &[(Member, Arc<Dfa>)],
    ) -> Lowered<Vec<Class>> {
        // Nothing else is needed if every other key is forbidden.
        let is_closed = shape.rules.iter().any(|rule| {
            let is_everywhere = matches!(&rule.keys, Keys::Beside { languages, .. } if languages.is_empty());
            is_everywhere && {
                let conjunction = self.expander.intern(vec![rule.member]);
                self.expander.conjunctions.is_nothing(conjunction)
            }
        });
        if is_closed {
            return Ok(Vec::new());
        }
        let mut languages: Vec<LanguageId> = Vec::new();
        let all_keys = shape.rules.iter().map(|rule| &rule.keys);
        for keys in all_keys.chain(shape.obligations.iter().flat_map(Obligation::keys)) {
            match keys {
                Keys::In(language) => languages.push(*language),
                Keys::Beside { languages: beside, .. } => languages.extend(beside.iter().copied()),
                Keys::Name(_) | Keys::Satisfying(_) => {}
            }
        }
        languages.sort_unstable();
        languages.dedup();
        if languages.is_empty() && satisfying.is_empty() && names_of_shape.is_none() {
            // Then all others are alike.
            let is_among = |keys: &Keys| matches!(keys, Keys::Beside { .. });
            let members = shape.rules.iter().filter(|rule| is_among(&rule.keys)).map(|rule| rule.member).collect();
            let content = self.content(members, met_by(shape, is_among))?;
            return Ok(content.map(|content| Class { keys: ClassKeys::Others, content }).into_iter().collect());
        }
        let content_of = |lowerer: &mut Self, signs: &[bool]| {
            let is_in = |language: &LanguageId| signs[languages.binary_search(language).expect("all were listed")];
            let is_among = |keys: &Keys| match keys {
                Keys::Name(_) => false,
                Keys::In(language) => is_in(language),
                Keys::Beside { languages, .. } => !languages.iter().any(is_in),
                Keys::Satisfying(member) => satisfying
                    .iter()
                    .position(|(known, _)| known == member)
                    .is_some_and(|index| signs[languages.len() + index]),
            };
            let members = shape.rules.iter().filter(|rule| is_among(&rule.keys)).map(|rule| rule.member).collect();
            lowerer.content(members, met_by(shape, is_among))
        };
        let automata: Vec<Arc<Dfa>> = languages
            .iter()
            .map(|&language| Arc::clone(self.expander.languages.dfa(language)))
            .chain(satisfying.iter().map(|(_, dfa)| Arc::clone(dfa)))
            .collect();
        // Each with the languages, then the members, that it is in; nothing stands for all texts.
        let mut parts: Vec<(Option<Arc<Dfa>>, Vec<bool>)> = vec![(names_of_shape, Vec::new())];
        for automaton in &automata {
            let mut finer = Vec::with_capacity(2 * parts.len());
            for (part, signs) in parts {
                for sign in [true, false] {
                    let signs: Vec<bool> = signs.iter().copied().chain([sign]).collect();
                    // PERF: keys without values need no automaton.
                    if signs.len() == automata.len() && content_of(self, &signs)?.is_none() {
                        continue;
                    }
                    let split = match (&part, sign) {
                        (None, true) => Ok(Arc::clone(automaton)),
                        (None, false) => automaton.complement(self.limits).map(Arc::new),
                        (Some(part), true) => part.intersect(automaton, self.limits).map(Arc::new),
                        (Some(part), false) => part.minus(automaton, self.limits).map(Arc::new),
                    };
                    let split = split.map_err(too_large)?;
                    self.watch.spend(split.n_states())?;
                    if !split.is_empty() {
                        finer.push((Some(split), signs));
                    }
                }
            }
            if finer.len() > CLASSES_MAX {
                let reason = format!("the patterns tell apart more than {CLASSES_MAX} classes of keys");
                return Err(SchemaError::unsupported("patternProperties", reason).into());
            }
            parts = finer;
        }
        let mut classes: Vec<Class> = Vec::new();
        for (keys, signs) in parts {
            let Some(content) = content_of(self, &signs)? else { continue };
            let mut keys = keys.unwrap_or_else(|| Arc::new(Dfa::all_text().clone()));
            // Where texts can run out none may be a name; elsewhere names are told apart when they end.
            if has_finite_end(&keys) {
                let texts: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
                let texts = Dfa::of_texts(&texts, self.limits).map_err(too_large)?;
                keys = Arc::new(keys.minus(&texts, self.limits).map_err(too_large)?);
            }
            if keys.is_empty() {
                continue;
            }
            match classes.iter_mut().find(|class| class.content == content) {
                Some(Class { keys: ClassKeys::In(known), .. }) => {
                    *known = Arc::new(known.union(&keys, self.limits).map_err(too_large)?);
                }
                _ => classes.push(Class { keys: ClassKeys::In(keys), content }),
            }
        }
        Ok(classes)
    }

    /// Returns the automaton of the strings that satisfy some members.
    fn strings_of(&mut self, members: &[Member]) -> Lowered<Arc<Dfa>> {
        let conjunction = self.expander.intern(members.to_vec());
        let shapes = self.expander.shapes(conjunction, ValueKind::String)?;
        let mut all: Option<Arc<Dfa>> = None;
        for shape in shapes.iter() {
            let Shape::String(string) = shape else { continue };
            let dfa = self.expander.languages.of_shape(string, true, self.limits).map_err(too_large)?;
            all = Some(match all {
                None => dfa,
                Some(all) => Arc::new(all.union(&dfa, self.limits).map_err(too_large)?),
            });
        }
        Ok(all.unwrap_or_default())
    }
}

/// Returns the spellings of the strings of an automaton, with their quotes.
fn quoted_spelling(dfa: &Dfa) -> Draft {
    let mut draft = Draft::new();
    let end = draft.state();
    draft.accept(end);
    let base = embed_spelled(&mut draft, dfa, end);
    draft.byte(&[0], b'"', base);
    draft
}

/// Returns the obligations of a shape that keys can meet, each with what their values satisfy then.
fn met_by(shape: &ObjectShape, is_among: impl Fn(&Keys) -> bool) -> Vec<(usize, Option<Member>)> {
    let mut met = Vec::new();
    for (index, obligation) in shape.obligations.iter().enumerate() {
        met.extend(obligation.any.iter().filter_map(|witness| match witness {
            Witness::Key(keys, member) if is_among(keys) => Some((index, *member)),
            _ => None,
        }));
    }
    met
}

impl Plan {
    /// Tells whether there may be keys that nobody names.
    pub fn is_open(&self) -> bool {
        !self.classes.is_empty()
    }

    fn spelled(&self, place: u32) -> &[u8] {
        &self.names[self.sorted[place as usize] as usize].spelled
    }

    fn all_names(&self) -> Group {
        let n_names = self.names.len() as u32;
        let names = (0..n_names).filter(|&name| self.names[name as usize].content.is_some()).collect();
        Group { byte: 0, low: 0, high: n_names, names }
    }

    /// Returns names that begin alike, by their next byte.
    fn groups(&self, of: &Group, n_read: u32) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut at = of.low;
        while at < of.high {
            let low = at;
            let byte = self.spelled(low)[n_read as usize];
            while at < of.high && self.spelled(at)[n_read as usize] == byte {
                at += 1;
            }
            if (low, at) == (of.low, of.high) {
                // Along a common beginning the list is one.
                groups.push(Group { byte, ..of.clone() });
                break;
            }
            let names = self.sorted[low as usize..at as usize].iter().copied();
            let mut names: Vec<u32> = names.filter(|&name| self.names[name as usize].content.is_some()).collect();
            names.sort_unstable();
            groups.push(Group { byte, low, high: at, names: names.into() });
        }
        groups
    }

    fn may_close(&self, seen: Seen) -> bool {
        let is_complete = self.next_required[seen.next as usize] == self.names.len() as u32;
        let met = seen.met | self.without_rest[seen.next as usize];
        is_complete && seen.n_members >= self.min && met == self.obligations
    }

    /// Tells whether something is owed that nothing to come can meet.
    fn is_hopeless(&self, seen: Seen) -> bool {
        self.obligations & !seen.met & !self.chances[seen.next as usize] != 0
    }

    fn may_go_on(&self, seen: Seen) -> bool {
        (seen.next as usize) < self.names.len() || !self.classes.is_empty()
    }
}

//! Constants: the facts of a value that equals one, and the alternatives of a value that differs from one or from several.
//!
//! To differ from each of n constant objects with the same keys is n conditions on those keys, which multiply forks or states. Constants
//! that differ under a single key are one condition: the object lacks a key, has another key, has another value under one of the equal
//! keys, or none of the n values under that key.

use super::finite::Constant;
use super::*;
use crate::json_schema::value::Member as JsonMember;

/// Constants with the same keys, and the same values but under one key.
struct ConstantsBesideKey {
    values: Vec<ValueId>,
    /// The key whose values differ, by its index among the sorted keys.
    place: usize,
}

/// The keys of an object, sorted, with their values.
type Entries = Vec<(Arc<str>, ValueId, Constant)>;

impl Expander<'_> {
    /// Returns the facts of a constant; `None` if it is of another kind.
    pub(super) fn constant(&mut self, kind: ValueKind, document: DocumentId, value: ValueId) -> Option<Vec<Fact>> {
        let json = self.model.json(document);
        Some(match (kind, json.value(value)) {
            (ValueKind::Null, Value::Null)
            | (ValueKind::True, Value::Bool(true))
            | (ValueKind::False, Value::Bool(false)) => vec![],
            (ValueKind::Number, Value::Number(number)) => vec![Fact::NumberIn(vec![number.clone()])],
            (ValueKind::String, Value::String(text)) => vec![Fact::StringIn(vec![text.into()])],
            (ValueKind::Array, Value::Array(items)) => {
                let n_items = items.len() as u64;
                let mut facts = vec![Fact::MinItems(n_items), Fact::MaxItems(n_items)];
                facts.extend(items.iter().enumerate().map(|(index, &item)| {
                    let (from, to) = (index as u64, Some(index as u64 + 1));
                    Fact::Items(ItemRule { from, to, member: Member::value(document, item) })
                }));
                facts
            }
            (ValueKind::Object, Value::Object(members)) => {
                let mut facts = Vec::with_capacity(2 * members.len() + 1);
                let mut names = HashSet::new();
                for member in members {
                    let name: Arc<str> = json.key(member).into();
                    names.insert(Arc::clone(&name));
                    facts.push(Fact::Property(Arc::clone(&name), Member::value(document, member.value)));
                    facts.push(Fact::Required(name));
                }
                let keys = Keys::Beside { names: Rc::new(names), languages: Rc::new([]) };
                facts.push(Fact::Keys(KeyRule { keys, member: Member::NOTHING }));
                facts
            }
            _ => return None,
        })
    }

    /// Returns the alternatives of a value that differs from a constant.
    pub(super) fn other_than(&mut self, kind: ValueKind, document: DocumentId, value: ValueId) -> Vec<Alternative> {
        let json = self.model.json(document);
        let fact = |fact| vec![Goal::Fact(fact)];
        match (kind, json.value(value)) {
            (ValueKind::Null, Value::Null)
            | (ValueKind::True, Value::Bool(true))
            | (ValueKind::False, Value::Bool(false)) => vec![],
            (ValueKind::Number, Value::Number(number)) => vec![fact(Fact::NumberNot(number.clone()))],
            (ValueKind::String, Value::String(text)) => vec![fact(Fact::StringNot(text.into()))],
            (ValueKind::Array, Value::Array(items)) => {
                let n_items = items.len() as u64;
                let mut alternatives = vec![fact(Fact::MinItems(n_items + 1))];
                if n_items > 0 {
                    alternatives.push(fact(Fact::MaxItems(n_items - 1)));
                }
                alternatives.extend(items.iter().enumerate().map(|(index, &item)| {
                    let (from, to) = (index as u64, Some(index as u64 + 1));
                    let member = Member::value(document, item).negated();
                    vec![Goal::Fact(Fact::MinItems(n_items)), Goal::Fact(Fact::Items(ItemRule { from, to, member }))]
                }));
                alternatives
            }
            (ValueKind::Object, Value::Object(members)) => {
                let mut alternatives = Vec::new();
                let names: HashSet<Arc<str>> = members.iter().map(|member| json.key(member).into()).collect();
                for member in members {
                    let name: Arc<str> = json.key(member).into();
                    alternatives.push(fact(Fact::Absent(Arc::clone(&name))));
                    let other = Member::value(document, member.value).negated();
                    alternatives.push(vec![
                        Goal::Fact(Fact::Required(Arc::clone(&name))),
                        Goal::Fact(Fact::Property(name, other)),
                    ]);
                }
                let keys = Keys::Beside { names: Rc::new(names), languages: Rc::new([]) };
                alternatives.push(fact(Fact::Obligation(Obligation::key(keys, None))));
                alternatives
            }
            _ => vec![vec![]],
        }
    }

    /// Returns the goals of objects different from some constants.
    pub(super) fn other_objects(&mut self, document: DocumentId, values: &[ValueId]) -> Expanded<Alternative> {
        let mut goals: Alternative = Vec::new();
        for ConstantsBesideKey { values, place } in self.partition(document, values)? {
            let denied = |value: ValueId| Member::value(document, value).negated();
            let [first, _, ..] = values[..] else {
                goals.extend(values.iter().map(|&value| Goal::Member(denied(value), Frames::new())));
                continue;
            };
            let json = self.model.json(document);
            let Some(entries) = entries(json, first) else {
                unreachable!("constants are of objects whose entries are known")
            };
            let mut of = Vec::with_capacity(values.len());
            for &value in &values {
                let value = json.member(value, &entries[place].0).expect("all of them have the same keys");
                of.push(self.conjunctions.intern(self.model, [Member::value(document, value)]));
            }
            let differing = self.conjunctions.choice(of).negated();
            let mut any = Vec::with_capacity(2 * entries.len() + 1);
            for (index, (name, value, _)) in entries.iter().enumerate() {
                let other = if index == place { differing } else { denied(*value) };
                any.push(Witness::Absent(Arc::clone(name)));
                any.push(Witness::Key(Keys::Name(Arc::clone(name)), Some(other)));
            }
            let names = entries.into_iter().map(|(name, ..)| name).collect();
            any.push(Witness::Key(Keys::Beside { names: Rc::new(names), languages: Rc::new([]) }, None));
            goals.push(Goal::Fact(Fact::Obligation(Obligation { any })));
        }
        Ok(goals)
    }

    /// Partitions constants into [`ConstantsBesideKey`], with one differing key for all constants of the same keys, chosen to make few parts.
    fn partition(&mut self, document: DocumentId, values: &[ValueId]) -> Expanded<Vec<ConstantsBesideKey>> {
        let json = self.model.json(document);
        let mut parts = Vec::new();
        let mut groups: Vec<Vec<(ValueId, Entries)>> = Vec::new();
        let mut by_names: HashMap<Vec<Arc<str>>, usize> = HashMap::new();
        for &value in values {
            let Some(entries) = entries(json, value).filter(|entries| !entries.is_empty()) else {
                parts.push(ConstantsBesideKey { values: vec![value], place: 0 });
                continue;
            };
            self.budget.spend(STEPS_PER_FACT * entries.len())?;
            let names = entries.iter().map(|(name, ..)| Arc::clone(name)).collect();
            let group = *by_names.entry(names).or_insert(groups.len());
            groups.resize_with(groups.len().max(group + 1), Vec::new);
            groups[group].push((value, entries));
        }
        for group in groups {
            let n_names = group[0].1.len();
            let mut best: Option<(usize, ByOthers<'_>)> = None;
            for place in 0..n_names {
                self.budget.spend(STEPS_PER_FACT * n_names * group.len())?;
                let mut by_others = ByOthers::new();
                for (value, entries) in &group {
                    let others = entries.iter().enumerate().filter(|(index, _)| *index != place);
                    by_others.entry(others.map(|(_, entry)| &entry.2).collect()).or_default().push(*value);
                }
                if best.as_ref().is_none_or(|(_, least)| by_others.len() < least.len()) {
                    best = Some((place, by_others));
                }
            }
            let (place, by_others) = best.expect("objects of a group have keys");
            parts.extend(by_others.into_values().map(|values| ConstantsBesideKey { values, place }));
        }
        parts.sort_unstable_by_key(|part| part.values[0]);
        Ok(parts)
    }
}

/// Objects by the values of all keys but one.
type ByOthers<'a> = HashMap<Vec<&'a Constant>, Vec<ValueId>>;

/// Returns the keys of an object with their values; `None` if a value is too large to compare.
fn entries(json: &Json, object: ValueId) -> Option<Entries> {
    let Value::Object(members) = json.value(object) else { return None };
    let entry = |member: &JsonMember| Some((json.key(member).into(), member.value, Constant::new(json, member.value)?));
    let mut entries = members.iter().map(entry).collect::<Option<Entries>>()?;
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Some(entries)
}

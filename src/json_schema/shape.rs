//! Shapes: the constraints of one alternative of a conjunction on values of one kind, without disjunctions.
//!
//! A conjunction is, for each kind of values, a list of shapes: a value satisfies it if it has any of them. The constraints on properties,
//! items and keys of a shape are conjunctions again.

use super::conjunction::{Member, Members};
use super::decimal::Decimal;
use super::model::SchemaId;
use super::number::NumberSet;
use super::value::{Value, ValueId};
use crate::util::index_type;
use hashbrown::HashSet;
pub(super) use indexed::NameMap;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

index_type!(
    /// The index of a language of strings, among the [`Languages`](super::language::Languages) of a schema.
    pub(super) LanguageId
);

/// The kinds of values: the types of JSON, but `true` and `false` are separate kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ValueKind {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
}

impl ValueKind {
    pub const ALL: [ValueKind; 7] = [
        ValueKind::Null,
        ValueKind::False,
        ValueKind::True,
        ValueKind::Number,
        ValueKind::String,
        ValueKind::Array,
        ValueKind::Object,
    ];
}

/// Returns whether a value of a document is of a kind.
pub(super) fn is_of_kind(value: Value<'_>, kind: ValueKind) -> bool {
    matches!(
        (value, kind),
        (Value::Null, ValueKind::Null)
            | (Value::Bool(true), ValueKind::True)
            | (Value::Bool(false), ValueKind::False)
            | (Value::Number(_), ValueKind::Number)
            | (Value::String(_), ValueKind::String)
            | (Value::Array(_), ValueKind::Array)
            | (Value::Object(_), ValueKind::Object)
    )
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Shape {
    /// The one value of its kind.
    Only,
    Number(NumberShape),
    String(StringShape),
    Array(ArrayShape),
    Object(ObjectShape),
}

impl Shape {
    /// Returns a fingerprint of the shape.
    pub fn fingerprint(&self) -> u64 {
        use core::hash::{Hash, Hasher};
        let mut hasher = ahash::AHasher::default();
        match self {
            Shape::Only => {}
            Shape::Number(number) => number.hash(&mut hasher),
            Shape::String(string) => string.hash(&mut hasher),
            Shape::Array(array) => {
                (array.min, array.max, array.counts.len()).hash(&mut hasher);
                array.rules.iter().for_each(|rule| (rule.from, rule.to, rule.member).hash(&mut hasher));
            }
            Shape::Object(object) => {
                (object.min, object.max, object.rules.len()).hash(&mut hasher);
                object.properties.iter().for_each(|property| property.hash(&mut hasher));
                object.required.iter().for_each(|(name, ())| name.hash(&mut hasher));
                object.rules.iter().for_each(|rule| rule.member.hash(&mut hasher));
                for witness in object.obligations.iter().flat_map(|obligation| &obligation.any) {
                    match witness {
                        Witness::Key(Keys::Name(name), member) => (name, member).hash(&mut hasher),
                        Witness::Key(_, member) => member.hash(&mut hasher),
                        Witness::Absent(name) => (name, ()).hash(&mut hasher),
                    }
                }
                // In any order.
                let fingerprint_of = |name: &Arc<str>| {
                    let mut hasher = ahash::AHasher::default();
                    name.hash(&mut hasher);
                    hasher.finish()
                };
                object.absent.iter().map(fingerprint_of).fold(0u64, u64::wrapping_add).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Returns the number of bytes of all names in the shape.
    pub fn n_name_bytes(&self) -> usize {
        let Shape::Object(object) = self else { return 0 };
        let declared = object.properties.iter().map(|(name, _)| name);
        let required = object.required.iter().map(|(name, ())| name);
        declared.chain(required).chain(&object.absent).map(|name| name.len()).sum()
    }

    /// Returns about how many facts the shape has.
    pub fn n_facts(&self) -> usize {
        match self {
            Shape::Object(object) => {
                object.properties.len()
                    + object.required.len()
                    + object.absent.len()
                    + object.rules.len()
                    + object.obligations.iter().map(|obligation| obligation.any.len()).sum::<usize>()
            }
            Shape::Array(array) => array.rules.len() + array.counts.len(),
            // Eight listed values count as one fact.
            Shape::String(string) => 1 + (string.values.as_ref().map_or(0, Vec::len) + string.excluded.len()) / 8,
            Shape::Number(number) => 1 + (number.values.as_ref().map_or(0, Vec::len) + number.excluded.len()) / 8,
            Shape::Only => 1,
        }
    }

    pub fn any(kind: ValueKind) -> Shape {
        match kind {
            ValueKind::Null | ValueKind::False | ValueKind::True => Shape::Only,
            ValueKind::Number => {
                Shape::Number(NumberShape { set: NumberSet::all(), values: None, excluded: BTreeSet::new() })
            }
            ValueKind::String => Shape::String(StringShape::default()),
            ValueKind::Array => Shape::Array(ArrayShape::default()),
            ValueKind::Object => Shape::Object(ObjectShape::default()),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct NumberShape {
    pub set: NumberSet,
    /// Only these, if given.
    pub values: Option<Vec<Decimal>>,
    pub excluded: BTreeSet<Decimal>,
}

impl NumberShape {
    /// Keeps only the values of a list.
    pub fn restrict(&mut self, values: Vec<Decimal>) {
        match &mut self.values {
            Some(allowed) => {
                let listed: HashSet<&Decimal> = values.iter().collect();
                allowed.retain(|value| listed.contains(value));
            }
            None => self.values = Some(values),
        }
    }

    /// Returns sets whose union is the shape.
    pub fn sets(&self) -> Vec<NumberSet> {
        if let Some(values) = self.listed() {
            return sets_of(&self.set, values);
        }
        // Between any two excluded values there is an interval.
        let excluded: Vec<&Decimal> = self.excluded.iter().filter(|value| self.set.contains(value)).collect();
        let mut sets = Vec::with_capacity(excluded.len() + 1);
        let mut rest = self.set.clone();
        for value in excluded {
            sets.push(rest.intersect(&NumberSet::below(value)));
            rest = rest.intersect(&NumberSet::above(value));
        }
        sets.push(rest);
        sets.retain(|set| *set != NumberSet::empty());
        sets
    }

    /// Returns the steps of the budget for finding [`Self::listed`].
    pub fn steps_of_listing(&self) -> usize {
        let Some(values) = &self.values else { return 0 };
        let longest = values.iter().map(Decimal::n_digits).max().unwrap_or(0);
        values.len().saturating_mul(1 + self.set.steps_of_divisions(longest))
    }

    /// Returns the listed values that satisfy all other constraints, if values are listed.
    pub fn listed(&self) -> Option<Vec<&Decimal>> {
        let values = self.values.as_ref()?;
        Some(values.iter().filter(|value| self.set.contains(value) && !self.excluded.contains(value)).collect())
    }
}

/// Returns sets whose union is some values of a set: consecutive integers are one set.
fn sets_of(set: &NumberSet, mut values: Vec<&Decimal>) -> Vec<NumberSet> {
    /// Fewest consecutive integers that become one set.
    const ROW_MIN: usize = 8;
    values.sort_unstable();
    values.dedup();
    let mut sets = Vec::new();
    let mut rest = &values[..];
    while let Some(first) = rest.first() {
        let mut n_in_row = 1;
        if let Some(start) = first.to_scaled(0).filter(|_| first.is_integer()) {
            // Beyond 128 bits no number is next to another one.
            let is_next = |(index, value): (usize, &&Decimal)| {
                let next = start.checked_add(index as i128);
                value.is_integer() && next.is_some_and(|next| value.to_scaled(0) == Some(next))
            };
            n_in_row = rest.iter().enumerate().take_while(|&(index, value)| is_next((index, value))).count();
        }
        let (row, behind) = rest.split_at(n_in_row.max(1));
        match row.len() >= ROW_MIN {
            true => {
                sets.push(set.integers_between(row[0], row[row.len() - 1]));
            }
            false => sets.extend(row.iter().map(|value| set.only(value))),
        }
        rest = behind;
    }
    sets
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct StringShape {
    /// Bounds on the number of characters.
    pub min: u64,
    pub max: Option<u64>,
    /// Languages to which the string must belong (true) or must not belong.
    pub languages: Vec<(LanguageId, bool)>,
    /// Only these, if given.
    pub values: Option<Vec<Arc<str>>>,
    pub excluded: BTreeSet<Arc<str>>,
}

impl StringShape {
    /// Keeps only the values of a list.
    pub fn restrict(&mut self, values: Vec<Arc<str>>) {
        match &mut self.values {
            Some(allowed) => {
                let listed: HashSet<&str> = values.iter().map(|value| &**value).collect();
                allowed.retain(|value| listed.contains(&**value));
            }
            None => self.values = Some(values),
        }
    }

    /// Returns whether the string is unconstrained.
    pub fn is_any(&self) -> bool {
        *self == StringShape::default()
    }

    /// Returns whether nothing but its length is constrained.
    pub fn is_free(&self) -> bool {
        self.values.is_none() && self.languages.is_empty() && self.excluded.is_empty()
    }

    pub fn has_length(&self, text: &str) -> bool {
        let length = text.chars().count() as u64;
        self.min <= length && self.max.is_none_or(|max| length <= max)
    }
}

/// The constraint that items `from..to` (to the end: `None`) satisfy a member.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ItemRule {
    pub from: u64,
    pub to: Option<u64>,
    pub member: Member,
}

/// The constraint that at least `min` and at most `max` of the items `from..to` satisfy a member.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ItemCount {
    pub from: u64,
    pub to: Option<u64>,
    pub member: Member,
    pub min: u64,
    pub max: Option<u64>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ArrayShape {
    pub rules: ItemRules,
    pub counts: Vec<ItemCount>,
    pub min: u64,
    pub max: Option<u64>,
    pub is_unique: bool,
    /// In lenient mode: the keywords that require distinct items.
    pub unique_by: Vec<(SchemaId, ValueId)>,
}

impl ArrayShape {
    /// Returns whether items must be distinct.
    pub fn has_distinct_items(&self) -> bool {
        self.is_unique && self.max.is_none_or(|max| max > 1)
    }
}

/// Constraints on items.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ItemRules {
    /// Those of one position each, by position: a prefix may have 100,000.
    at: BTreeMap<u64, Members>,
    others: Vec<ItemRule>,
}

/// Constraints on several positions that a new one is compared with, at most: a duplicate does no harm.
const RULES_COMPARED_MAX: usize = 64;

impl ItemRules {
    pub fn add(&mut self, rule: ItemRule) {
        if rule.to == Some(rule.from + 1) {
            self.at.entry(rule.from).or_default().push(rule.member);
        } else if !last_of(&self.others).contains(&rule) {
            self.others.push(rule);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = ItemRule> + '_ {
        let of_place = |(&from, members): (&u64, &Members)| {
            let members = members.clone();
            members.into_iter().map(move |member| ItemRule { from, to: Some(from + 1), member })
        };
        self.at.iter().flat_map(of_place).chain(self.others.iter().cloned())
    }

    /// Returns what the item at a position must satisfy, whatever counts it; perhaps repeated.
    pub fn at(&self, position: u64) -> impl Iterator<Item = Member> + '_ {
        let holds = move |rule: &&ItemRule| rule.from <= position && rule.to.is_none_or(|to| position < to);
        let own = self.at.get(&position).into_iter().flatten().copied();
        own.chain(self.others.iter().filter(holds).map(|rule| rule.member))
    }

    /// Returns what all items from some position on must satisfy.
    pub fn at_the_end(&self) -> impl Iterator<Item = Member> + '_ {
        self.others.iter().filter(|rule| rule.to.is_none()).map(|rule| rule.member)
    }

    /// Returns the positions where constraints begin and end.
    pub fn bounds(&self) -> impl Iterator<Item = u64> + '_ {
        let last = self.at.last_key_value().map(|(&from, _)| from + 1);
        self.others.iter().flat_map(|rule| [Some(rule.from), rule.to]).flatten().chain(last)
    }

    /// Returns about how many there are.
    pub fn len(&self) -> usize {
        self.at.len() + self.others.len()
    }
}

/// Returns the last constraints of a list, which a new one is compared with.
pub(super) fn last_of<T>(rules: &[T]) -> &[T] {
    &rules[rules.len().saturating_sub(RULES_COMPARED_MAX)..]
}

/// A set of keys.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Keys {
    /// One name.
    Name(Arc<str>),
    /// All keys of a language.
    In(LanguageId),
    /// All but some names and the keys of some languages: those to which `additionalProperties` applies.
    Beside { names: Rc<HashSet<Arc<str>>>, languages: Rc<[LanguageId]> },
    /// All keys that, as strings, satisfy a member.
    Satisfying(Member),
}

/// The constraint that the values of some keys satisfy a member.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct KeyRule {
    // First, since it is compared first: sets of keys can be large.
    pub member: Member,
    pub keys: Keys,
}

/// A fact that satisfies an obligation.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Witness {
    /// Some key has a value that satisfies a member (any value: `None`).
    Key(Keys, Option<Member>),
    /// A name is absent.
    Absent(Arc<str>),
}

/// The constraint that an object has at least one of some witnesses.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Obligation {
    pub any: Vec<Witness>,
}

impl Obligation {
    pub fn key(keys: Keys, member: Option<Member>) -> Self {
        Obligation { any: vec![Witness::Key(keys, member)] }
    }

    /// Returns the sets of keys that its witnesses refer to.
    pub fn keys(&self) -> impl Iterator<Item = &Keys> {
        self.any.iter().filter_map(|witness| match witness {
            Witness::Key(keys, _) => Some(keys),
            Witness::Absent(_) => None,
        })
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ObjectShape {
    /// Constraints by name, in the order in which the names were first met.
    pub properties: NameMap<Members>,
    pub required: NameMap<()>,
    /// Names that must be absent.
    pub absent: HashSet<Arc<str>>,
    pub rules: Vec<KeyRule>,
    /// Constraints on the keys, as strings.
    pub names: Vec<Member>,
    pub obligations: Vec<Obligation>,
    pub min: u64,
    pub max: Option<u64>,
}

mod indexed {
    use hashbrown::HashMap;
    use std::sync::Arc;

    /// A map from names, in the order of insertion.
    #[derive(Clone, Debug)]
    pub(in super::super) struct NameMap<T> {
        entries: Vec<(Arc<str>, T)>,
        /// The index of each name, once there are many: a few names are compared faster than one is hashed.
        indices: HashMap<Arc<str>, u32>,
    }

    /// Most names that are searched linearly.
    const FEW_MAX: usize = 12;

    impl<T: PartialEq> PartialEq for NameMap<T> {
        fn eq(&self, other: &NameMap<T>) -> bool {
            self.entries == other.entries
        }
    }

    impl<T> Default for NameMap<T> {
        fn default() -> Self {
            NameMap { entries: Vec::new(), indices: HashMap::new() }
        }
    }

    impl<T: Default> NameMap<T> {
        /// Reserves capacity for more names.
        pub fn reserve(&mut self, n_names: usize) {
            self.entries.reserve(n_names);
            if self.entries.len() + n_names > FEW_MAX {
                self.indices.reserve(n_names);
            }
        }

        pub fn entry(&mut self, name: &Arc<str>) -> &mut T {
            let index = self.index_of(name).unwrap_or_else(|| {
                self.entries.push((Arc::clone(name), T::default()));
                let n_names = self.entries.len();
                if n_names > FEW_MAX {
                    let first = if n_names == FEW_MAX + 1 { 0 } else { n_names - 1 };
                    let indices = (first..n_names).map(|index| (Arc::clone(&self.entries[index].0), index as u32));
                    self.indices.extend(indices);
                }
                n_names - 1
            });
            &mut self.entries[index].1
        }

        fn index_of(&self, name: &str) -> Option<usize> {
            match self.entries.len() <= FEW_MAX {
                true => self.entries.iter().position(|(other, _)| **other == *name),
                false => self.indices.get(name).map(|&index| index as usize),
            }
        }

        pub fn get(&self, name: &str) -> Option<&T> {
            self.index_of(name).map(|index| &self.entries[index].1)
        }

        pub fn contains(&self, name: &str) -> bool {
            self.index_of(name).is_some()
        }

        pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &T)> {
            self.entries.iter().map(|(name, value)| (name, value))
        }

        pub fn len(&self) -> usize {
            self.entries.len()
        }
    }
}

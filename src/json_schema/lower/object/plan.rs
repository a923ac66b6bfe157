//! Which keys an object may have, and what their values satisfy.

use super::super::text::{SpelledKey, has_finite_end, spelled_key};
use super::super::{Lowered, Lowerer};
use super::slots::{self, Chances, SlotSet};
use crate::json_schema::conjunction::{ConjunctionId, Member, Members};
use crate::json_schema::error::SchemaError;
use crate::json_schema::language::{enumerate_strings, too_large, watched};
use crate::json_schema::shape::{Keys, LanguageId, NameMap, ObjectShape, Obligation, Shape, ValueKind, Witness};
use crate::regular::{Dfa, Product, product_within};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Most keys of a class that are named one by one.
const NAMED_MAX: usize = 1024;

/// What the value of a key satisfies, and the obligations that it may meet.
#[derive(Clone, PartialEq, Eq)]
pub(in super::super) struct Content {
    pub members: Members,
    /// The conjunction of them.
    pub conjunction: ConjunctionId,
    /// Obligations, by slot, with what a value satisfies that meets them (any value: `None`).
    pub met: Vec<(usize, Option<Member>)>,
}

/// A key that the schema names.
pub(in super::super) struct Name {
    pub spelled: SpelledKey,
    pub is_required: bool,
    /// Nothing if there is no value for it.
    pub content: Option<Content>,
    /// The obligations that are met if it is not there.
    pub without: SlotSet,
    /// The obligations that something behind it may still meet.
    pub later: SlotSet,
    /// The obligations that nothing behind it can meet.
    pub closes: SlotSet,
}

/// Keys that nobody names and whose values satisfy the same.
pub(in super::super) struct Class {
    pub keys: ClassKeys,
    pub content: Content,
}

#[derive(Clone)]
pub(in super::super) enum ClassKeys {
    /// All that nobody names.
    Undeclared,
    In(Arc<Dfa>),
}

/// What is known of a name and all behind it.
#[derive(Clone, Copy)]
pub(in super::super) struct Rest {
    /// The place of the first required name, or the number of names.
    pub next_required: u32,
    /// The place of the first name that can't be passed over, or where that makes a difference to obligations.
    pub next_stop: u32,
    /// The obligations that something before may have met, and that matter.
    pub open: SlotSet,
    /// Those of them that are met if none of the names comes.
    pub without: SlotSet,
    /// Whether obligations that nothing before can meet are met if none of the names comes.
    pub are_later_met: bool,
}

pub(in super::super) struct Plan {
    pub names: Vec<Name>,
    /// By spelling.
    pub sorted: Vec<u32>,
    /// By name, and behind the last.
    pub suffixes: Vec<Rest>,
    pub classes: Vec<Class>,
    pub min: u64,
    pub max: Option<u64>,
}

impl Plan {
    /// Tells whether there may be keys that nobody names.
    pub fn is_open(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Returns what the values of any keys that nobody names satisfy, if there may be such keys.
    pub fn undeclared(&self) -> Option<ConjunctionId> {
        let class = self.classes.iter().find(|class| matches!(class.keys, ClassKeys::Undeclared))?;
        Some(class.content.conjunction)
    }

    /// Returns what is known of the names from one on.
    pub fn rest(&self, next: u32) -> Rest {
        self.suffixes[next as usize]
    }

    /// Returns the spelling of a name, by its place among the sorted ones.
    pub fn spelled(&self, place: u32) -> &[u8] {
        &self.names[self.sorted[place as usize] as usize].spelled
    }
}

impl Lowerer<'_> {
    /// Works out which keys there are and what their values satisfy; nothing if a required one can't be there.
    pub(in super::super) fn plan_object(&mut self, shape: &ObjectShape) -> Lowered<Option<Plan>> {
        let n_obligations = shape.obligations.len();
        // All names that anything mentions, so that the others have nothing to do with names.
        let mut known: NameMap<()> = NameMap::default();
        known.reserve(shape.properties.len());
        let mut mention = |name: &Arc<str>| *known.entry(name);
        shape.properties.iter().for_each(|(name, _)| mention(name));
        shape.required.iter().for_each(|(name, ())| mention(name));
        let all_keys =
            || shape.rules.iter().map(|rule| &rule.keys).chain(shape.obligations.iter().flat_map(Obligation::keys));
        for witness in shape.obligations.iter().flat_map(|obligation| &obligation.any) {
            if let Witness::Absent(name) | Witness::Key(Keys::Name(name), _) = witness {
                mention(name);
            }
        }
        let mut mentioned: Vec<&str> = shape.absent.iter().map(|name| &**name).collect();
        for keys in all_keys() {
            if let Keys::Beside { names, .. } = keys {
                mentioned.extend(names.iter().map(|name| &**name));
            }
        }
        mentioned.retain(|&name| !known.contains(name));
        mentioned.sort_unstable();
        mentioned.dedup();
        let mentioned: Vec<Arc<str>> = mentioned.into_iter().map(Arc::from).collect();
        mentioned.iter().for_each(|name| *known.entry(name));
        let order = known;
        let mut satisfying: Vec<(Member, Arc<Dfa>)> = Vec::new();
        for keys in all_keys() {
            if let Keys::Satisfying(member) = keys
                && !satisfying.iter().any(|(known, _)| known == member)
            {
                satisfying.push((*member, self.strings_of(&[*member])?));
            }
        }
        let names_of_shape = match shape.names.is_empty() && self.expander.options.excluded_texts.is_empty() {
            true => None,
            false => Some(self.strings_of(&shape.names)?),
        };
        let named = NamedWitnesses::of(shape);
        // By name, then by class: the obligations that they may meet.
        let mut chances: Vec<Chances> = Vec::with_capacity(order.len());
        let mut names = Vec::with_capacity(order.len());
        for (name, ()) in order.iter() {
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
                let mut met = named.keys.get(&**name).cloned().unwrap_or_default();
                for &(index, keys, member) in &named.others {
                    if self.is_among(keys, name, &satisfying)? {
                        met.push((index, member));
                    }
                }
                self.budget.spend(named.others.len() + 1)?;
                content = self.content(members, met)?;
            }
            if is_required && content.is_none() {
                return Ok(None);
            }
            let by_value = match &content {
                Some(content) => self.chances(content)?,
                None => SmallVec::new(),
            };
            let without = named.absent.get(&**name).cloned().unwrap_or_default();
            chances.push(Chances { by_value, without });
            names.push(Name::new(spelled_key(name), is_required, content));
        }
        let mut classes = self.classes(shape, &order, names_of_shape, &satisfying)?;
        // Keys of which there are few could all be used up; so they are named, in the order of the patterns that they match.
        let mut few: Vec<(usize, Vec<u8>, Content)> = Vec::new();
        classes.retain(|class| {
            let ClassKeys::In(keys) = &class.keys else { return true };
            let Some(texts) = enumerate_strings(keys, NAMED_MAX) else { return true };
            few.extend(texts.into_iter().map(|text| (self.first_pattern(shape, &text), text, class.content.clone())));
            false
        });
        few.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        for (_, text, content) in few {
            let Ok(name) = core::str::from_utf8(&text) else { continue };
            chances.push(Chances { by_value: self.chances(&content)?, without: SmallVec::new() });
            names.push(Name::new(spelled_key(name), false, Some(content)));
        }
        for class in &classes {
            chances.push(Chances { by_value: self.chances(&class.content)?, without: SmallVec::new() });
        }
        let mut sorted: Vec<u32> = (0..names.len() as u32).collect();
        sorted.sort_unstable_by(|&a, &b| names[a as usize].spelled.cmp(&names[b as usize].spelled));
        // Bounds that can't be met or missed are none.
        let n_required = names.iter().filter(|name| name.is_required).count() as u64;
        let n_possible = names.iter().filter(|name| name.content.is_some()).count() as u64;
        let min = if shape.min <= n_required { 0 } else { shape.min };
        let max = shape.max.filter(|&max| !classes.is_empty() || n_possible > max);
        let is_any_order = self.expander.options.has_any_order;
        let suffixes = slots::assign(is_any_order, n_obligations, &chances, &mut names, &mut classes)?;
        Ok(suffixes.map(|suffixes| Plan { names, sorted, suffixes, classes, min, max }))
    }

    /// Returns the place of the first rule whose pattern a key matches.
    fn first_pattern(&self, shape: &ObjectShape, name: &[u8]) -> usize {
        let is_in =
            |keys: &Keys| matches!(keys, Keys::In(language) if self.expander.languages.dfa(*language).is_match(name));
        shape.rules.iter().position(|rule| is_in(&rule.keys)).unwrap_or(usize::MAX)
    }

    /// Returns what the value of a key satisfies; nothing if there is no such value.
    fn content(&mut self, mut members: Members, mut met: Vec<(usize, Option<Member>)>) -> Lowered<Option<Content>> {
        let conjunction = self.expander.intern(members.clone());
        if self.expander.conjunctions.is_nothing(conjunction) {
            return Ok(None);
        }
        members.sort_unstable();
        members.dedup();
        met.sort_unstable();
        met.dedup();
        Ok(Some(Content { members, conjunction, met }))
    }

    /// Returns the obligations that a value may meet.
    fn chances(&mut self, content: &Content) -> Lowered<SmallVec<[usize; 4]>> {
        let mut chances = SmallVec::new();
        for &(index, member) in &content.met {
            let with: Members = content.members.iter().copied().chain(member).collect();
            if chances.last() != Some(&index) && !self.is_nothing(&with)? {
                chances.push(index);
            }
        }
        Ok(chances)
    }

    /// Tells whether surely no value satisfies all members.
    pub(in super::super) fn is_nothing(&mut self, members: &[Member]) -> Lowered<bool> {
        let conjunction = self.expander.intern(Members::from_slice(members));
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
        names: &NameMap<()>,
        names_of_shape: Option<Arc<Dfa>>,
        satisfying: &[(Member, Arc<Dfa>)],
    ) -> Lowered<Vec<Class>> {
        // Nothing else is needed if every other key is forbidden.
        let is_closed = shape.rules.iter().any(|rule| {
            let is_everywhere = matches!(&rule.keys, Keys::Beside { languages, .. } if languages.is_empty());
            is_everywhere && {
                let conjunction = self.expander.intern([rule.member]);
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
            return Ok(content.map(|content| Class { keys: ClassKeys::Undeclared, content }).into_iter().collect());
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
                    // Keys without values need no automaton.
                    if signs.len() == automata.len() && content_of(self, &signs)?.is_none() {
                        continue;
                    }
                    let split = match (&part, sign) {
                        (None, true) => Arc::clone(automaton),
                        (None, false) => self.product(Dfa::all_text(), automaton, Product::Minus)?,
                        (Some(part), true) => self.product(part, automaton, Product::Intersect)?,
                        (Some(part), false) => self.product(part, automaton, Product::Minus)?,
                    };
                    if !split.is_empty() {
                        finer.push((Some(split), signs));
                    }
                }
            }
            let limit = self.limits.key_classes_max;
            if finer.len() > limit {
                let reason = format!("the patterns tell apart more than {limit} classes of keys");
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
                let texts: Vec<&[u8]> = names.iter().map(|(name, ())| name.as_bytes()).collect();
                let texts = Dfa::of_texts(&texts, self.limits).map_err(too_large)?;
                keys = self.product(&keys, &texts, Product::Minus)?;
            }
            if keys.is_empty() {
                continue;
            }
            match classes.iter_mut().find(|class| class.content == content) {
                Some(Class { keys: ClassKeys::In(known), .. }) => {
                    *known = self.product(known, &keys, Product::Union)?;
                }
                _ => classes.push(Class { keys: ClassKeys::In(keys), content }),
            }
        }
        Ok(classes)
    }

    fn product(&self, a: &Dfa, b: &Dfa, product: Product) -> Lowered<Arc<Dfa>> {
        watched(self.budget, too_large, |work| product_within(a, b, product, self.limits, work)).map(Arc::new)
    }

    /// Returns the automaton of the strings that satisfy some members.
    fn strings_of(&mut self, members: &[Member]) -> Lowered<Arc<Dfa>> {
        let conjunction = self.expander.intern(Members::from_slice(members));
        let shapes = self.expander.shapes(conjunction, ValueKind::String)?;
        let strings =
            shapes.iter().filter_map(|shape| if let Shape::String(string) = shape { Some(string) } else { None });
        self.expander.languages.of_shapes(&strings.collect::<Vec<_>>(), true, self.limits)
    }
}

impl Name {
    fn new(spelled: SpelledKey, is_required: bool, content: Option<Content>) -> Self {
        Name { spelled, is_required, content, without: 0, later: 0, closes: 0 }
    }
}

/// The witnesses of a shape's obligations: by name, and all others.
#[derive(Default)]
struct NamedWitnesses<'a> {
    keys: HashMap<&'a str, Vec<(usize, Option<Member>)>>,
    absent: HashMap<&'a str, SmallVec<[usize; 4]>>,
    others: Vec<(usize, &'a Keys, Option<Member>)>,
}

impl<'a> NamedWitnesses<'a> {
    fn of(shape: &'a ObjectShape) -> Self {
        let mut found = NamedWitnesses::default();
        for (index, obligation) in shape.obligations.iter().enumerate() {
            for witness in &obligation.any {
                match witness {
                    Witness::Key(Keys::Name(name), member) => {
                        found.keys.entry(&**name).or_default().push((index, *member));
                    }
                    Witness::Key(keys, member) => found.others.push((index, keys, *member)),
                    Witness::Absent(name) => found.absent.entry(&**name).or_default().push(index),
                }
            }
        }
        found
    }
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

//! Languages of decoded strings: patterns and formats, interned, and the automata of string shapes.

use super::draft::Draft;
use super::error::{LowerError, SchemaError};
use super::format::Format;
use super::shape::{LanguageId, StringShape};
use crate::Limits;
use crate::frontend::ecma;
use crate::pass::CompileBudget;
use crate::regular::{CharSet, Combination, Dfa, Node, Product, Regular, RegularError, Union, Work, product_within};
use crate::util::BoundedMap;
use crate::util::json_string::spelled_byte;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Memory for the automata of patterns and formats, in bytes.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Most states of a product that decides whether languages are disjoint; beyond it the answer is unknown.
const DISJOINT_STATES_MAX: usize = 1 << 12;

/// Most states of languages combined at once; beyond it they are combined one by one.
const COMBINED_STATES_MAX: usize = 1 << 12;

/// Most states, before minimization, of one automaton for several shapes; beyond it the shapes stay separate where they can.
const JOINED_STATES_MAX: usize = 1 << 11;

/// Steps of the budget for building an automaton, however small.
const STEPS_PER_AUTOMATON: usize = 256;
/// Steps of the budget for reading a pattern, beside those for its automaton: the shortest takes thirty microseconds with it.
const STEPS_PER_PATTERN: usize = 1024;

/// The name of a language, the same in every schema.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum LanguageName {
    Pattern(Box<str>),
    /// The strings of a format.
    Format(Box<str>),
    /// A superset of the strings of a format.
    OuterFormat(Box<str>),
    /// The strings in which a text does not occur.
    Without(Box<str>),
    /// The strings in which none of some texts occurs: as a JSON document writes them, or as they are.
    Excluding {
        texts: Box<[Box<str>]>,
        is_plain: bool,
    },
    /// The strings of any of some shapes.
    AnyOf(Arc<[StringKey]>),
}

impl LanguageName {
    /// Returns about how much memory the name takes beside its own size, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            LanguageName::Pattern(text)
            | LanguageName::Format(text)
            | LanguageName::OuterFormat(text)
            | LanguageName::Without(text) => text.len(),
            LanguageName::Excluding { texts, .. } => texts.iter().map(|text| text.len() + 16).sum(),
            LanguageName::AnyOf(shapes) => shapes.iter().map(StringKey::memory_bytes).sum(),
        }
    }
}

/// What a string shape says, without names of its schema.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct StringKey {
    pub min: u64,
    pub max: Option<u64>,
    pub languages: Vec<(LanguageName, bool)>,
}

impl StringKey {
    /// Returns about how much memory the key takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let of_language = |(name, _): &(LanguageName, bool)| name.memory_bytes() + 32;
        size_of::<StringKey>() + self.languages.iter().map(of_language).sum::<usize>()
    }
}

/// Builds an automaton within a budget.
///
/// # Errors
/// The error that `refuse` returns for an automaton that is too large; that of the budget if it is exhausted.
pub(super) fn watched<T>(
    budget: &CompileBudget,
    refuse: impl FnOnce(RegularError) -> SchemaError,
    make: impl FnOnce(&mut Work<'_>) -> Result<T, RegularError>,
) -> Result<T, LowerError> {
    budget.spend(STEPS_PER_AUTOMATON)?;
    make(&mut Work(&mut |n_steps| budget.spend(n_steps).is_ok())).map_err(|error| match budget.check() {
        Err(given_up) if error.is_interrupted() => given_up.into(),
        _ => refuse(error).into(),
    })
}

pub(super) fn too_large(error: RegularError) -> SchemaError {
    SchemaError::too_much(error.limit_name(), error.given() as usize, error.limit() as usize)
}

/// The automata of patterns and formats, shared by schemas.
#[derive(Debug)]
pub(super) struct LanguageStore {
    automata: Mutex<BoundedMap<LanguageName, Arc<Dfa>>>,
}

impl Default for LanguageStore {
    fn default() -> Self {
        LanguageStore { automata: Mutex::new(BoundedMap::new(KEPT_BYTES_MAX)) }
    }
}

impl LanguageStore {
    fn find(&self, name: &LanguageName) -> Option<Arc<Dfa>> {
        self.automata.lock().unwrap_or_else(PoisonError::into_inner).get(name)
    }

    fn keep(&self, name: &LanguageName, dfa: &Arc<Dfa>) {
        let bytes = size_of::<(LanguageName, Dfa)>() + name.memory_bytes() + dfa.memory_bytes();
        self.automata.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), bytes, Arc::clone(dfa));
    }
}

/// The languages of one schema.
pub(super) struct Languages<'a> {
    store: Arc<LanguageStore>,
    budget: &'a CompileBudget,
    automata: Vec<(LanguageName, Arc<Dfa>)>,
    ids: HashMap<LanguageName, LanguageId>,
    /// By languages and signs: whether they are certainly disjoint.
    disjoint: HashMap<Vec<(LanguageId, bool)>, bool>,
}

impl<'a> Languages<'a> {
    pub fn new(store: Arc<LanguageStore>, budget: &'a CompileBudget) -> Self {
        let (automata, ids, disjoint) = (Vec::new(), HashMap::new(), HashMap::new());
        Languages { store, budget, automata, ids, disjoint }
    }

    /// Returns the language of the strings in which a pattern matches.
    pub fn pattern(&mut self, pattern: &str, keyword: &str, limits: &Limits) -> Result<LanguageId, LowerError> {
        let budget = self.budget;
        self.intern(LanguageName::Pattern(pattern.into()), |_| {
            budget.spend(STEPS_PER_PATTERN)?;
            let regular = ecma::parse(pattern, limits).map_err(|error| {
                let refused = match error.is_unsupported() {
                    true => SchemaError::unsupported(keyword, error.message()),
                    false => {
                        SchemaError::keyword_value(keyword, format!("is not a valid pattern: {}", error.message()))
                    }
                };
                match error.hint() {
                    Some(hint) => refused.with_hint(hint.to_owned()),
                    None => refused,
                }
            })?;
            let refuse = |error: RegularError| SchemaError::unsupported(keyword, error.to_string());
            watched(budget, refuse, |work| Dfa::build(&regular, limits, work)).map(Arc::new)
        })
    }

    /// Returns the language of a format; `None` if the format is an annotation.
    pub fn format(&mut self, name: &str, draft: Draft) -> Option<LanguageId> {
        let format = Format::find(name, draft)?;
        let name = LanguageName::Format(format.id().into());
        Some(self.intern(name, |_| Ok(format.automaton())).expect("formats build"))
    }

    /// Returns a superset of the strings of a format; `None` if the format is an annotation.
    pub fn outer_format(&mut self, name: &str, draft: Draft) -> Option<LanguageId> {
        let format = Format::find(name, draft)?;
        let Some(dfa) = format.outer_automaton() else { return self.format(name, draft) };
        let name = LanguageName::OuterFormat(format.id().into());
        Some(self.intern(name, |_| Ok(dfa)).expect("formats build"))
    }

    /// Returns the automaton of the strings in which a text, which is not empty, does not occur.
    pub fn without(&mut self, text: &str, limits: &Limits) -> Result<Arc<Dfa>, LowerError> {
        let budget = self.budget;
        let id = self.intern(LanguageName::Without(text.into()), |_| {
            let mut regular = Regular::new();
            let any = regular.push(Node::Class(CharSet::all()));
            let all = regular.push(Node::Repeat { body: any, min: 0, max: None });
            let text = regular.push(Node::Bytes(text.as_bytes().into()));
            let holding = regular.push(Node::Concat([all, text, all].into()));
            let root = regular.push(Node::Not(holding));
            regular.set_root(root);
            watched(budget, too_large, |work| Dfa::build(&regular, limits, work)).map(Arc::new)
        })?;
        Ok(Arc::clone(self.dfa(id)))
    }

    /// Returns the language of the strings in which none of some texts occurs: as a JSON document writes them in the shortest spelling or, if `is_plain`, as they are.
    pub fn excluding(&mut self, texts: &[Box<str>], is_plain: bool, limits: &Limits) -> Result<LanguageId, LowerError> {
        let budget = self.budget;
        self.intern(LanguageName::Excluding { texts: texts.into(), is_plain }, |_| {
            let mut regular = Regular::new();
            let any = regular.push(Node::Class(CharSet::all()));
            let all = regular.push(Node::Repeat { body: any, min: 0, max: None });
            let texts = texts.iter().map(|text| regular.push(Node::Bytes(text.as_bytes().into())));
            let texts: Vec<_> = texts.collect();
            let one = regular.push(Node::Union(texts.into()));
            let holding = regular.push(Node::Concat([all, one, all].into()));
            let root = regular.push(Node::Not(holding));
            regular.set_root(root);
            watched(budget, too_large, |work| {
                let written = Dfa::build(&regular, limits, work)?;
                match is_plain {
                    true => Ok(Arc::new(written)),
                    false => written.inverse_image(spelled_byte, limits, work).map(Arc::new),
                }
            })
        })
    }

    /// Returns the union of the strings of some shapes as one language; `None` if a shape lists values or bounds lengths, or the automaton would
    /// be too large.
    ///
    /// # Errors
    /// If the budget gives up.
    pub fn any_of(&mut self, shapes: &[&StringShape], limits: &Limits) -> Result<Option<LanguageId>, LowerError> {
        let mut keys = Vec::with_capacity(shapes.len());
        for shape in shapes {
            match self.key_of(shape) {
                Some(key) if key.min == 0 && key.max.is_none() => keys.push(key),
                _ => return Ok(None),
            }
        }
        let name = LanguageName::AnyOf(keys.into());
        let make = |languages: &Self| match languages.joined(shapes, limits)? {
            Some(dfa) => Ok(dfa),
            None => Err(SchemaError::too_much("dfa_states_max", JOINED_STATES_MAX + 1, JOINED_STATES_MAX).into()),
        };
        match self.intern(name, make) {
            Ok(language) => Ok(Some(language)),
            Err(LowerError::Schema(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the automaton of the decoded strings that have any of some shapes but for their lengths, if it is small.
    ///
    /// # Errors
    /// If the budget gives up.
    pub fn joined(&self, shapes: &[&StringShape], limits: &Limits) -> Result<Option<Arc<Dfa>>, LowerError> {
        let combination = self.combination(shapes, limits)?;
        let few = Limits { dfa_states_max: limits.dfa_states_max.min(JOINED_STATES_MAX), ..limits.clone() };
        match watched(self.budget, too_large, |work| combination.finish(&few, work)) {
            Ok(dfa) => Ok(Some(Arc::new(dfa))),
            Err(LowerError::Schema(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn intern(
        &mut self,
        name: LanguageName,
        make: impl FnOnce(&Self) -> Result<Arc<Dfa>, LowerError>,
    ) -> Result<LanguageId, LowerError> {
        if let Some(&id) = self.ids.get(&name) {
            return Ok(id);
        }
        let dfa = match self.store.find(&name) {
            Some(dfa) => dfa,
            None => {
                let dfa = make(self)?;
                self.store.keep(&name, &dfa);
                dfa
            }
        };
        let id = LanguageId::new(self.automata.len());
        self.automata.push((name.clone(), dfa));
        self.ids.insert(name, id);
        Ok(id)
    }

    /// Returns a shape by the names of its languages, which mean the same in other schemas; `None` if it lists values.
    pub fn key_of(&self, shape: &StringShape) -> Option<StringKey> {
        if shape.values.is_some() || !shape.excluded.is_empty() {
            return None;
        }
        let name = |&(language, sign): &(LanguageId, bool)| (self.automata[language.index()].0.clone(), sign);
        Some(StringKey { min: shape.min, max: shape.max, languages: shape.languages.iter().map(name).collect() })
    }

    pub fn dfa(&self, id: LanguageId) -> &Arc<Dfa> {
        &self.automata[id.index()].1
    }

    /// Returns whether a text is in a language.
    ///
    /// # Errors
    /// If the budget is spent.
    pub fn contains(&self, id: LanguageId, text: &str) -> Result<bool, LowerError> {
        self.budget.spend(steps_of_match(text))?;
        Ok(self.dfa(id).is_match(text.as_bytes()))
    }

    /// Tells whether a string satisfies all that a shape says.
    pub fn satisfies(&self, text: &str, shape: &StringShape) -> bool {
        shape.has_length(text)
            && shape.values.as_ref().is_none_or(|values| values.iter().any(|value| **value == *text))
            && !shape.excluded.contains(text)
            && shape.languages.iter().all(|&(language, sign)| self.dfa(language).is_match(text.as_bytes()) == sign)
    }

    /// Returns the listed values of a shape that satisfy the rest of it, if values are listed.
    ///
    /// # Errors
    /// If the budget is spent.
    pub fn listed(&self, shape: &StringShape) -> Result<Option<Vec<Arc<str>>>, LowerError> {
        let Some(values) = &shape.values else { return Ok(None) };
        let rest = StringShape { values: None, ..shape.clone() };
        let mut listed = Vec::new();
        for value in values {
            self.budget.spend(shape.languages.len() * steps_of_match(value))?;
            if self.satisfies(value, &rest) {
                listed.push(Arc::clone(value));
            }
        }
        Ok(Some(listed))
    }

    /// Returns whether certainly no string is in all languages of a shape.
    pub fn are_disjoint(&mut self, shape: &StringShape) -> bool {
        if shape.languages.len() < 2 {
            return false;
        }
        if let Some(&known) = self.disjoint.get(&shape.languages) {
            return known;
        }
        let alone = StringShape { languages: shape.languages.clone(), ..StringShape::default() };
        let limits = Limits { dfa_states_max: DISJOINT_STATES_MAX, ..Limits::default() };
        let is_disjoint = self.of_shape(&alone, false, &limits).is_ok_and(|dfa| dfa.is_empty());
        self.disjoint.insert(shape.languages.clone(), is_disjoint);
        is_disjoint
    }

    /// Returns the automaton of the decoded strings of a shape, without its bounds on lengths unless `has_lengths`.
    pub fn of_shape(&self, shape: &StringShape, has_lengths: bool, limits: &Limits) -> Result<Arc<Dfa>, LowerError> {
        self.of_shapes(&[shape], has_lengths, limits)
    }

    /// Returns the automaton of the decoded strings that have any of some shapes, without their bounds on lengths unless `has_lengths`.
    pub fn of_shapes(
        &self,
        shapes: &[&StringShape],
        has_lengths: bool,
        limits: &Limits,
    ) -> Result<Arc<Dfa>, LowerError> {
        let mut all = Union::default();
        for group in alike(shapes) {
            all.add(self.of_group(&group, has_lengths, limits)?);
        }
        watched(self.budget, too_large, |work| all.finish(limits, work))
    }

    /// As [`Self::of_shapes`], of a group of [`alike`].
    fn of_group(&self, group: &[&StringShape], has_lengths: bool, limits: &Limits) -> Result<Arc<Dfa>, LowerError> {
        let of_texts =
            |texts: &[&[u8]]| watched(self.budget, too_large, |_| Dfa::of_texts(texts, limits)).map(Arc::new);
        if group.iter().any(|shape| shape.values.is_some()) {
            let mut listed: Vec<Arc<str>> = Vec::new();
            for shape in group {
                listed.extend(self.listed(shape)?.unwrap_or_default());
            }
            return of_texts(&bytes_of(&listed));
        }
        let dfa = self.combined(group, limits)?;
        let StringShape { min, max, .. } = *group[0];
        if !has_lengths || (min == 0 && max.is_none()) {
            return Ok(dfa);
        }
        let Some((shortest, longest)) = dfa.byte_lengths() else { return Ok(dfa) };
        // A character has one to four bytes.
        let min = if shortest as u64 / 4 >= min { 0 } else { min };
        let max = max.filter(|&max| longest.is_none_or(|longest| longest as u64 > max));
        if min == 0 && max.is_none() {
            return Ok(dfa);
        }
        self.with_lengths(&dfa, min, max, limits)
    }

    /// Returns the automaton of the strings of another one with `min` to `max` characters.
    pub fn with_lengths(&self, dfa: &Dfa, min: u64, max: Option<u64>, limits: &Limits) -> Result<Arc<Dfa>, LowerError> {
        let too_long = |n: u64| u32::try_from(n).unwrap_or(u32::MAX - 1);
        let mut lengths = Regular::new();
        let any = lengths.push(Node::Class(CharSet::all()));
        let all = lengths.push(Node::Repeat { body: any, min: too_long(min), max: max.map(too_long) });
        lengths.set_root(all);
        watched(self.budget, too_large, |work| {
            let lengths = Dfa::build(&lengths, limits, work)?;
            product_within(dfa, &lengths, Product::Intersect, limits, work).map(Arc::new)
        })
    }

    /// Returns the languages of a shape without listed values, with signs: those that contain its strings (true), and those that don't.
    fn literals(&self, shape: &StringShape, limits: &Limits) -> Result<Vec<(Arc<Dfa>, bool)>, LowerError> {
        // Positive ones first: they are smaller.
        let (wanted, unwanted): (Vec<_>, Vec<_>) = shape.languages.iter().partition(|(_, sign)| *sign);
        let literals = wanted.into_iter().chain(unwanted);
        let mut clause: Vec<_> = literals.map(|&(language, sign)| (Arc::clone(self.dfa(language)), sign)).collect();
        if !shape.excluded.is_empty() {
            let excluded = Dfa::of_texts(&bytes_of(&shape.excluded), limits).map_err(too_large)?;
            clause.push((Arc::new(excluded), false));
        }
        Ok(clause)
    }

    fn combination(&self, shapes: &[&StringShape], limits: &Limits) -> Result<Combination, LowerError> {
        let mut combination = Combination::default();
        for shape in shapes {
            combination.add(self.literals(shape, limits)?);
        }
        Ok(combination)
    }

    /// Returns the automaton of the decoded strings that have any of some shapes without listed values, whatever their lengths.
    fn combined(&self, shapes: &[&StringShape], limits: &Limits) -> Result<Arc<Dfa>, LowerError> {
        // Intersecting one by one keeps intermediate automata small; at once, the infinite languages multiply.
        if let [shape] = shapes {
            return self.intersection(&self.literals(shape, limits)?, limits);
        }
        let combination = self.combination(shapes, limits)?;
        let few = Limits { dfa_states_max: limits.dfa_states_max.min(COMBINED_STATES_MAX), ..limits.clone() };
        match watched(self.budget, too_large, |work| combination.finish(&few, work)) {
            Err(LowerError::Schema(_)) => {}
            result => return result.map(Arc::new),
        }
        let mut union: Arc<Dfa> = Arc::default();
        for shape in shapes {
            let dfa = self.intersection(&self.literals(shape, limits)?, limits)?;
            union = watched(self.budget, too_large, |work| {
                product_within(&union, &dfa, Product::Union, limits, work).map(Arc::new)
            })?;
        }
        Ok(union)
    }

    /// Returns the intersection of some automata and of the complements of others, computed one by one.
    fn intersection(&self, clause: &[(Arc<Dfa>, bool)], limits: &Limits) -> Result<Arc<Dfa>, LowerError> {
        let mut dfa: Option<Arc<Dfa>> = None;
        for (other, sign) in clause {
            let (one, product) = match (&dfa, sign) {
                (None, true) => {
                    dfa = Some(Arc::clone(other));
                    continue;
                }
                (None, false) => (Dfa::all_text(), Product::Minus),
                (Some(dfa), true) => (&**dfa, Product::Intersect),
                (Some(dfa), false) => (&**dfa, Product::Minus),
            };
            let made = watched(self.budget, too_large, |work| product_within(one, other, product, limits, work))?;
            dfa = Some(Arc::new(made));
        }
        Ok(dfa.unwrap_or_else(|| Arc::new(Dfa::all_text().clone())))
    }
}

/// Groups the shapes whose strings can be one automaton: those that list values, and those with equal bounds on their length.
pub(super) fn alike<'s>(shapes: &[&'s StringShape]) -> Vec<Vec<&'s StringShape>> {
    let mut groups: Vec<Vec<&StringShape>> = Vec::new();
    let mut places: HashMap<Option<(u64, Option<u64>)>, usize> = HashMap::new();
    for &shape in shapes {
        let bounds = shape.values.is_none().then_some((shape.min, shape.max));
        let place = *places.entry(bounds).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(shape);
    }
    groups
}

/// Returns the steps of the budget for running an automaton over a text.
fn steps_of_match(text: &str) -> usize {
    4 + text.len() / 4
}

fn bytes_of<'a>(values: impl IntoIterator<Item = &'a Arc<str>>) -> Vec<&'a [u8]> {
    values.into_iter().map(|value| value.as_bytes()).collect()
}

/// Returns the texts of an automaton if there are at most `n_max`.
pub(super) fn enumerate_strings(dfa: &Dfa, n_max: usize) -> Option<Vec<Vec<u8>>> {
    let (_, longest) = dfa.byte_lengths().unwrap_or((0, Some(0)));
    longest?;
    let (mut texts, mut text) = (Vec::new(), Vec::new());
    // States with the number of bytes before the last one that leads to them, and that one.
    let mut pending: Vec<(u32, usize, Option<u8>)> = dfa.start().map(|start| (start, 0, None)).into_iter().collect();
    while let Some((state, n_before, last)) = pending.pop() {
        text.truncate(n_before);
        text.extend(last);
        if dfa.is_accepting(state) {
            texts.push(text.clone());
        }
        // Each pending state leads to at least one more text.
        if texts.len() + pending.len() > n_max {
            return None;
        }
        for (low, high, target) in dfa.edges(state) {
            pending.extend((low..=high).map(|byte| (target, text.len(), Some(byte))));
        }
    }
    (texts.len() <= n_max).then_some(texts)
}

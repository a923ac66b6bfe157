//! Languages of decoded strings: patterns and formats by number, and the automata of string shapes.

use super::draft::Draft;
use super::error::SchemaError;
use super::format::Format;
use super::leaf::{AnyValueStore, LeafStore, StringKey};
use super::lower::Spare;
use super::shape::StringShape;
use crate::Limits;
use crate::frontend::ecma;
use crate::regular::{CharSet, Dfa, Node, Regular, RegularError};
use crate::util::{Pool, index_type};
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

index_type!(
    /// Names a language of strings.
    pub(super) LanguageId
);

/// Most automata that a store keeps.
const KEPT_MAX: usize = 4096;

/// States of products that are made to see whether languages are disjoint.
const DISJOINT_STATES_MAX: usize = 1 << 12;

/// Whether a language is a format, and its name or pattern.
pub(super) type LanguageName = (bool, Box<str>);

/// The automata of patterns and formats, and of rules that call nothing, kept from schema to schema.
#[derive(Debug, Default)]
pub(crate) struct LanguageStore {
    /// By pattern, or by the name of a format.
    automata: Mutex<HashMap<LanguageName, Arc<Dfa>>>,
    pub(super) leaves: LeafStore,
    pub(super) any_values: AnyValueStore,
    /// Memory to lower schemas in.
    pub(super) spares: Pool<Spare>,
}

impl LanguageStore {
    fn find(&self, is_format: bool, text: &str) -> Option<Arc<Dfa>> {
        let automata = self.automata.lock().unwrap_or_else(PoisonError::into_inner);
        automata.get(&(is_format, Box::from(text))).cloned()
    }

    fn keep(&self, is_format: bool, text: &str, dfa: &Arc<Dfa>) {
        let mut automata = self.automata.lock().unwrap_or_else(PoisonError::into_inner);
        if automata.len() >= KEPT_MAX {
            automata.clear();
        }
        automata.insert((is_format, text.into()), Arc::clone(dfa));
    }
}

/// The languages of one schema.
pub(super) struct Languages {
    store: Arc<LanguageStore>,
    automata: Vec<(LanguageName, Arc<Dfa>)>,
    ids: HashMap<LanguageName, LanguageId>,
    /// By languages and signs: whether they surely have nothing in common.
    disjoint: HashMap<Vec<(LanguageId, bool)>, bool>,
}

impl Languages {
    pub fn new(store: Arc<LanguageStore>) -> Self {
        Languages { store, automata: Vec::new(), ids: HashMap::new(), disjoint: HashMap::new() }
    }

    /// Returns the language of the strings in which a pattern matches.
    pub fn pattern(&mut self, pattern: &str, keyword: &str, limits: &Limits) -> Result<LanguageId, SchemaError> {
        self.intern(false, pattern, || {
            let regular = ecma::parse(pattern, limits).map_err(|error| match error.is_unsupported() {
                true => SchemaError::unsupported(keyword, error.message()),
                false => SchemaError::keyword_value(keyword, format!("is not a valid pattern: {}", error.message())),
            })?;
            let dfa = Dfa::new(&regular, limits);
            dfa.map(Arc::new).map_err(|error| SchemaError::unsupported(keyword, error.to_string()))
        })
    }

    /// Returns the language of a format; nothing if the format is an annotation.
    pub fn format(&mut self, name: &str, draft: Draft) -> Option<LanguageId> {
        let format = Format::find(name, draft)?;
        Some(self.intern(true, format.id(), || Ok(format.automaton())).expect("formats build"))
    }

    /// Returns a language that holds all strings of a format; nothing if the format is an annotation.
    pub fn outer_format(&mut self, name: &str, draft: Draft) -> Option<LanguageId> {
        let format = Format::find(name, draft)?;
        let Some(dfa) = format.outer_automaton() else { return self.format(name, draft) };
        Some(self.intern(true, &format!("all of {}", format.id()), || Ok(dfa)).expect("formats build"))
    }

    fn intern(
        &mut self,
        is_format: bool,
        text: &str,
        make: impl FnOnce() -> Result<Arc<Dfa>, SchemaError>,
    ) -> Result<LanguageId, SchemaError> {
        let key = (is_format, Box::from(text));
        if let Some(&id) = self.ids.get(&key) {
            return Ok(id);
        }
        let dfa = match self.store.find(is_format, text) {
            Some(dfa) => dfa,
            None => {
                let dfa = make()?;
                self.store.keep(is_format, text, &dfa);
                dfa
            }
        };
        let id = LanguageId::new(self.automata.len());
        self.automata.push((key.clone(), dfa));
        self.ids.insert(key, id);
        Ok(id)
    }

    /// Returns what rules without calls were made of before.
    pub fn leaves(&self) -> &LeafStore {
        &self.store.leaves
    }

    /// Returns what a shape says to other schemas; nothing if it lists values.
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

    pub fn contains(&self, id: LanguageId, text: &str, _limits: &Limits) -> Result<bool, SchemaError> {
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
    pub fn listed(&self, shape: &StringShape, _limits: &Limits) -> Result<Option<Vec<Arc<str>>>, SchemaError> {
        let Some(values) = &shape.values else { return Ok(None) };
        let rest = StringShape { values: None, ..shape.clone() };
        Ok(Some(values.iter().filter(|value| self.satisfies(value, &rest)).cloned().collect()))
    }

    /// Tells whether surely no string is in the languages of a shape.
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

    /// Returns the automaton of the decoded strings of a shape, but for its lengths if `has_lengths` is false.
    pub fn of_shape(&self, shape: &StringShape, has_lengths: bool, limits: &Limits) -> Result<Arc<Dfa>, RegularError> {
        if let Ok(Some(values)) = self.listed(shape, limits) {
            return Ok(Arc::new(Dfa::of_texts(&bytes_of(&values), limits)?));
        }
        let mut dfa: Option<Arc<Dfa>> = None;
        // What is asked for first: it is the smaller part.
        for &(language, sign) in
            shape.languages.iter().filter(|(_, sign)| *sign).chain(shape.languages.iter().filter(|(_, sign)| !*sign))
        {
            let other = self.dfa(language);
            dfa = Some(match (dfa, sign) {
                (None, true) => Arc::clone(other),
                (None, false) => Arc::new(other.complement(limits)?),
                (Some(dfa), true) => Arc::new(dfa.intersect(other, limits)?),
                (Some(dfa), false) => Arc::new(dfa.minus(other, limits)?),
            });
        }
        let mut dfa = dfa.unwrap_or_else(|| Arc::new(Dfa::all_text().clone()));
        if !shape.excluded.is_empty() {
            dfa = Arc::new(dfa.minus(&Dfa::of_texts(&bytes_of(&shape.excluded), limits)?, limits)?);
        }
        if !has_lengths || (shape.min == 0 && shape.max.is_none()) {
            return Ok(dfa);
        }
        let Some((shortest, longest)) = dfa.byte_lengths() else { return Ok(dfa) };
        // A character has one to four bytes.
        let min = if shortest as u64 / 4 >= shape.min { 0 } else { shape.min };
        let max = shape.max.filter(|&max| longest.is_none_or(|longest| longest as u64 > max));
        if min == 0 && max.is_none() {
            return Ok(dfa);
        }
        let too_long = |n: u64| u32::try_from(n).unwrap_or(u32::MAX - 1);
        let mut lengths = Regular::new();
        let any = lengths.push(Node::Class(CharSet::all()));
        let all = lengths.push(Node::Repeat { body: any, min: too_long(min), max: max.map(too_long) });
        lengths.set_root(all);
        Ok(Arc::new(dfa.intersect(&Dfa::new(&lengths, limits)?, limits)?))
    }
}

fn bytes_of<'a>(values: impl IntoIterator<Item = &'a Arc<str>>) -> Vec<&'a [u8]> {
    values.into_iter().map(|value| value.as_bytes()).collect()
}

/// Returns the texts of an automaton if there are at most `n_max`.
pub(super) fn few_texts(dfa: &Dfa, n_max: usize) -> Option<Vec<Vec<u8>>> {
    let (_, longest) = dfa.byte_lengths().unwrap_or((0, Some(0)));
    longest?;
    let mut texts = Vec::new();
    let mut pending: Vec<(u32, Vec<u8>)> = dfa.start().map(|start| (start, Vec::new())).into_iter().collect();
    while let Some((state, text)) = pending.pop() {
        if dfa.is_accepting(state) {
            texts.push(text.clone());
        }
        // Each state leads to a text of its own at least.
        if texts.len() + pending.len() > n_max {
            return None;
        }
        for (low, high, target) in dfa.edges(state) {
            for byte in low..=high {
                let mut longer = text.clone();
                longer.push(byte);
                pending.push((target, longer));
            }
        }
    }
    (texts.len() <= n_max).then_some(texts)
}

//! What became of each keyword of a schema.
//!
//! Findings are made when they are asked for: ten thousand nested schemas have pointers of three hundred megabytes.

use super::model::{Body, Keyword, SchemaId, SchemaModel};
use super::options::SchemaOptions;
use super::value::ValueId;
use std::collections::HashMap;

/// What became of a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Every mask obeys it.
    Enforced,
    /// It could not be enforced, and lenient mode dropped it; the reason.
    Relaxed(Box<str>),
    /// It says nothing about which values are valid: annotations, unknown words, formats that are not asserted.
    Annotation,
}

/// A keyword of a schema, its place, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The keyword, like `minLength`.
    pub keyword: Box<str>,
    /// The URI of the document, if it has one, and the JSON pointer of the keyword's value: `#/properties/a/minLength`.
    pub place: Box<str>,
    /// What became of it.
    pub verdict: Verdict,
}

/// A keyword that lenient mode dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relaxed {
    pub schema: SchemaId,
    /// The keyword's value.
    pub value: ValueId,
    pub reason: Box<str>,
}

/// What became of each keyword of a schema: all that was read, in the order in which sub-schemas were met.
#[derive(Clone, Debug)]
pub struct SchemaReport {
    model: SchemaModel,
    has_formats: bool,
    relaxed: HashMap<(SchemaId, ValueId), Box<str>>,
}

impl SchemaReport {
    pub(super) fn new(model: SchemaModel, options: &SchemaOptions, relaxed: Vec<Relaxed>) -> Self {
        let relaxed = relaxed.into_iter().map(|one| ((one.schema, one.value), one.reason));
        SchemaReport { model, has_formats: options.has_formats, relaxed: relaxed.collect() }
    }

    /// Returns all findings: first the keywords that constrain, then annotations. Each is made on the way.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        let constraints = self.model.schemas().flat_map(move |(id, schema)| {
            let entries = match schema.body() {
                Body::Keywords { entries, .. } => entries.iter(),
                Body::Bool(_) => [].iter(),
            };
            entries.map(move |entry| {
                let keyword = self.model.json(schema.document()).key_of(entry.value).unwrap_or_default();
                let verdict = match self.relaxed.get(&(id, entry.value)) {
                    Some(reason) => Verdict::Relaxed(reason.clone()),
                    None if self.is_annotation(&entry.keyword) => Verdict::Annotation,
                    None => Verdict::Enforced,
                };
                self.finding(id, keyword, entry.value, verdict)
            })
        });
        let annotations = self.model.annotations();
        constraints.chain(annotations.map(move |(id, word, value)| self.finding(id, word, value, Verdict::Annotation)))
    }

    fn finding(&self, schema: SchemaId, keyword: &str, value: ValueId, verdict: Verdict) -> Finding {
        Finding { keyword: keyword.into(), place: self.model.place(schema, value).into(), verdict }
    }

    fn is_annotation(&self, keyword: &Keyword) -> bool {
        matches!(keyword, Keyword::Format(name) if !self.has_formats || super::format::language(name).is_none())
    }

    /// Returns about how much memory the report takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.model.memory_bytes() + self.relaxed.values().map(|reason| 64 + reason.len()).sum::<usize>()
    }

    /// Tells whether every constraint is enforced.
    pub fn is_exact(&self) -> bool {
        self.relaxed.is_empty()
    }
}

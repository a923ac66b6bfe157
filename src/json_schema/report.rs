//! The report of how each keyword of a schema is enforced.
//!
//! Findings are made on demand: ten thousand nested schemas have pointers of three hundred megabytes.

use super::applicable::{Constraint, ConstraintsAt};
use super::format::Format;
use super::keywords::parts_of;
use super::lint::SchemaWarning;
use super::model::{Body, Keyword, ObjectKeyword, SchemaId, SchemaModel, StringKeyword, TypeSet};
use super::text_position::{PathStep, Writing};
use super::value::ValueId;
use crate::schema_options::SchemaOptions;
use smallvec::SmallVec;
use std::collections::HashMap;

/// How a keyword is enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Every mask obeys it.
    Enforced,
    /// Every mask obeys its regular part; the rest, described here, is not enforced. Only formats are such: `idn-hostname`.
    EnforcedInPart(Box<str>),
    /// It can't be enforced, and lenient mode dropped it for this reason.
    Relaxed(Box<str>),
    /// It does not constrain values: annotations, unknown keywords, formats that are not asserted.
    Annotation,
}

/// A keyword of a schema, its location, and how it is enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The keyword, like `minLength`.
    pub keyword: Box<str>,
    /// The URI of the document, if it has one, and the JSON pointer of the keyword's value: `#/properties/a/minLength`.
    pub location: Box<str>,
    /// How it is enforced.
    pub verdict: Verdict,
}

/// A keyword that lenient mode dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relaxed {
    /// The representative of equal schemas.
    pub schema: SchemaId,
    /// The keyword's value.
    pub value: ValueId,
    /// The entry of a map that was dropped; `None` if the whole keyword was.
    pub part: Option<u32>,
    pub reason: Box<str>,
}

/// The report of all keywords of a schema, in the order in which sub-schemas were read.
#[derive(Clone, Debug)]
pub struct SchemaReport {
    /// The model before equal sub-schemas were merged.
    model: SchemaModel,
    has_formats: bool,
    has_any_order: bool,
    dropped: Option<Box<Dropped>>,
}

/// The constraints that lenient mode dropped.
#[derive(Clone, Debug)]
struct Dropped {
    /// By sub-schema: the representative of its equals.
    merged: Box<[SchemaId]>,
    reasons: HashMap<(SchemaId, ValueId, Option<u32>), Box<str>>,
    /// By sub-schema: whether it is reachable by keywords that were not dropped.
    is_reached: Box<[bool]>,
}

impl Dropped {
    fn new(model: &SchemaModel, merged: Box<[SchemaId]>, relaxed: Vec<Relaxed>) -> Self {
        let reasons = relaxed.into_iter().map(|one| ((one.schema, one.value, one.part), one.reason));
        let is_reached = vec![false; model.n_schemas()].into();
        let mut this = Dropped { merged, reasons: reasons.collect(), is_reached };
        let mut reaches_dynamic = false;
        let mut pending = vec![model.root()];
        while let Some(id) = pending.pop() {
            if core::mem::replace(&mut this.is_reached[id.index()], true) {
                continue;
            }
            for (index, entry) in model.schema(id).entries().iter().enumerate() {
                if this.reason(model, id, index, None).is_some() {
                    continue;
                }
                let mut location = 0;
                entry.keyword.for_each_schema(|&below, _| {
                    if this.reason(model, id, index, Some(location)).is_none() {
                        pending.push(below);
                    }
                    location += 1;
                });
                if entry.keyword.is_dynamic() && !core::mem::replace(&mut reaches_dynamic, true) {
                    pending.extend(model.dynamic.values().copied());
                }
            }
        }
        this
    }

    /// Returns the reason why a keyword, or an entry of its map, was dropped, if it was.
    fn reason(&self, model: &SchemaModel, schema: SchemaId, index: usize, part: Option<u32>) -> Option<&str> {
        let same = self.merged[schema.index()];
        let value = model.schema(same).entries()[index].value;
        self.reasons.get(&(same, value, part)).map(|reason| &**reason)
    }
}

impl SchemaReport {
    pub(super) fn new(
        model: SchemaModel,
        options: &SchemaOptions,
        merged: Box<[SchemaId]>,
        relaxed: Vec<Relaxed>,
    ) -> Self {
        let dropped = (!relaxed.is_empty()).then(|| Box::new(Dropped::new(&model, merged, relaxed)));
        SchemaReport { model, has_formats: options.has_formats, has_any_order: options.has_any_order, dropped }
    }

    /// Returns all findings, lazily: first the keywords that constrain values, then annotations.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        let constraints = self.model.schemas().flat_map(move |(id, schema)| {
            (0..schema.entries().len()).flat_map(move |index| self.findings_of(id, index))
        });
        let annotations = self.model.annotations();
        constraints.chain(annotations.map(move |(id, word, value)| self.finding(id, word, value, Verdict::Annotation)))
    }

    /// Returns the findings of a keyword and of those that belong to it, like `then` to `if`.
    fn findings_of(&self, id: SchemaId, index: usize) -> SmallVec<[Finding; 1]> {
        let mut found = SmallVec::new();
        let schema = self.model.schema(id);
        let json = self.model.json(schema.document());
        let entry = &schema.entries()[index];
        // `dependencies` of both kinds are two entries.
        if index > 0 && schema.entries()[index - 1].value == entry.value {
            return found;
        }
        let verdict = self.verdict(id, index);
        if let (Keyword::Object(ObjectKeyword::PatternProperties(patterns)), Some(dropped)) =
            (&entry.keyword, &self.dropped)
        {
            let reasons =
                (0..patterns.len()).map(|location| dropped.reason(&self.model, id, index, Some(location as u32)));
            let reasons: Vec<Option<&str>> = reasons.collect();
            let is_left = patterns.is_empty() || reasons.iter().any(Option::is_none);
            found.extend(is_left.then(|| self.finding(id, "patternProperties", entry.value, verdict)));
            for ((pattern, _), reason) in patterns.iter().zip(reasons) {
                let value = json.member(entry.value, pattern).expect("the map has the pattern");
                let verdict = reason.map(|reason| Verdict::Relaxed(reason.into()));
                found.extend(verdict.map(|verdict| self.finding(id, "patternProperties", value, verdict)));
            }
            return found;
        }
        let word = json.key_of(entry.value).unwrap_or_default();
        found.push(self.finding(id, word, entry.value, verdict.clone()));
        let Body::Keywords { annotations, .. } = schema.body() else { unreachable!("it has a keyword") };
        for name in parts_of(word) {
            let value = json.member(schema.value(), name).filter(|value| !annotations.contains(value));
            found.extend(value.map(|value| self.finding(id, name, value, verdict.clone())));
        }
        found
    }

    fn verdict(&self, id: SchemaId, index: usize) -> Verdict {
        let Some(dropped) = &self.dropped else {
            return self.verdict_of_kept(id, index);
        };
        match dropped.reason(&self.model, id, index, None) {
            Some(reason) => Verdict::Relaxed(reason.into()),
            None => match self.verdict_of_kept(id, index) {
                verdict @ Verdict::Annotation => verdict,
                _ if !dropped.is_reached[id.index()] => Verdict::Relaxed("it belongs to what was dropped".into()),
                verdict => verdict,
            },
        }
    }

    fn finding(&self, schema: SchemaId, keyword: &str, value: ValueId, verdict: Verdict) -> Finding {
        Finding { keyword: keyword.into(), location: self.model.location(schema, value).into(), verdict }
    }

    /// Returns the verdict on a keyword that lenient mode did not drop.
    fn verdict_of_kept(&self, id: SchemaId, index: usize) -> Verdict {
        let Keyword::String(StringKeyword::Format(name, draft)) = &self.model.schema(id).entries()[index].keyword
        else {
            return Verdict::Enforced;
        };
        match Format::find(name, *draft).filter(|_| self.has_formats) {
            None => Verdict::Annotation,
            Some(format) => {
                format.not_enforced().map_or(Verdict::Enforced, |what| Verdict::EnforcedInPart(what.into()))
            }
        }
    }

    /// Returns whether the keys of objects come in the order in which the schema declares them, rather than in any.
    pub fn has_declared_order(&self) -> bool {
        !self.has_any_order
    }

    /// Most probable mistakes that are looked for in one schema.
    pub const WARNINGS_MAX: usize = super::lint::WARNINGS_MAX;

    /// Returns the probable mistakes: what was meant to constrain values and doesn't; of very many the first [`WARNINGS_MAX`](Self::WARNINGS_MAX).
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?.into());
    /// let grammar = compiler.compile_json_schema(r#"{"type": "object", "propertys": {"a": {"type": "integer"}}}"#)?;
    /// let warnings = grammar.schema_report().unwrap().warnings();
    /// assert_eq!(
    ///     warnings[0].to_string(),
    ///     "unknown keyword `propertys` constrains nothing, at #/propertys; did you mean `properties`?"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self) -> Vec<SchemaWarning> {
        self.model.warnings(self.has_formats)
    }

    /// Returns what the schema says about the value at a path of a document, or about what is written there.
    ///
    /// ```
    /// use maskwright::json_schema::TextPosition;
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?.into());
    /// let grammar = compiler.compile_json_schema(r#"{"properties": {"age": {"type": "integer", "minimum": 0}}}"#)?;
    /// let position = TextPosition::of(br#"{"age": "#).unwrap();
    /// let found = grammar.schema_report().unwrap().constraints_at(&position.path, position.writing);
    /// assert_eq!(&*found.constraints[1].words, "minimum 0");
    /// assert_eq!(&*found.constraints[1].location, "#/properties/age/minimum");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn constraints_at(&self, path: &[PathStep], writing: Writing) -> ConstraintsAt {
        let types = match writing {
            Writing::InString => TypeSet::STRING,
            Writing::InNumber => TypeSet::NUMBER,
            Writing::InLiteral => TypeSet::NULL.union(TypeSet::BOOLEAN),
            Writing::FirstItem | Writing::AfterItem => TypeSet::ARRAY,
            Writing::FirstKey | Writing::Key | Writing::InKey | Writing::Colon | Writing::AfterMember => {
                TypeSet::OBJECT
            }
            Writing::Value | Writing::End => TypeSet::ALL,
        };
        let mut found = self.model.constraints_at(path, types);
        self.keep_enforced(&mut found.constraints);
        found
    }

    /// Drops the keywords that constrain nothing: those that lenient mode dropped, and formats that nobody knows. What is enforced in part says so.
    fn keep_enforced(&self, constraints: &mut Vec<Constraint>) {
        if constraints.is_empty() {
            return;
        }
        let findings = self.findings().filter(|finding| finding.verdict != Verdict::Enforced);
        let fates: HashMap<(Box<str>, Box<str>), Verdict> =
            findings.map(|finding| ((finding.location, finding.keyword), finding.verdict)).collect();
        constraints.retain_mut(|constraint| {
            match fates.get(&(constraint.location.clone(), constraint.keyword.clone())) {
                Some(Verdict::Relaxed(_) | Verdict::Annotation) => return false,
                Some(Verdict::EnforcedInPart(_)) => constraint.words = format!("{} in part", constraint.words).into(),
                _ => {}
            }
            true
        });
    }

    /// Returns about how much memory the report takes, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let of_dropped = |dropped: &Dropped| {
            let reasons = dropped.reasons.values().map(|reason| 64 + reason.len());
            size_of_val(&*dropped.merged) + dropped.is_reached.len() + reasons.sum::<usize>()
        };
        self.model.memory_bytes() + self.dropped.as_deref().map_or(0, of_dropped)
    }

    /// Returns whether every constraint is enforced: lenient mode dropped nothing, and no format is enforced in part.
    pub fn is_exact(&self) -> bool {
        let is_in_part = |id, index| matches!(self.verdict_of_kept(id, index), Verdict::EnforcedInPart(_));
        let mut schemas = self.model.schemas();
        self.dropped.is_none()
            && !schemas.any(|(id, schema)| (0..schema.entries().len()).any(|index| is_in_part(id, index)))
    }
}

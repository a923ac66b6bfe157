//! Probable mistakes in a schema that do not prevent its use: what was meant to constrain values and doesn't.
//!
//! The standard lets unknown words pass, so that a misspelt keyword constrains nothing. Annotations that are in use (`title`, `x-...`, those of OpenAPI) are no
//! mistakes; other words are told, with the keyword that they resemble.

use super::draft::Draft;
use super::format;
use super::keywords::{keywords, parts_of, word};
use super::model::{Keyword, ObjectKeyword, SchemaId, SchemaModel, StringKeyword};
use super::value::{Value, ValueId};
use super::wrapper;
use crate::util::{Span, closest_name, edit_distance};
use core::fmt;
use hashbrown::HashSet;

/// Most warnings about one schema.
pub(super) const WARNINGS_MAX: usize = 1 << 10;
/// Longest word that is compared with words of about its length only.
const SHORT_LEN_MAX: usize = 5;
/// Most comparisons of two words; long ones take some microseconds each.
const COMPARED_MAX: usize = 1 << 16;

/// Annotations of the drafts, of OpenAPI and of editors.
const ANNOTATIONS: [&str; 38] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "comment",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "discriminator",
    "xml",
    "externalDocs",
    "$recursiveAnchor",
    "$vocabulary",
    "$dynamicAnchor",
    "id",
    "name",
    "strict",
    "version",
    "media",
    "links",
    "base",
    "markdownDescription",
    "enumDescriptions",
    "enumNames",
    "enumTitles",
    "errorMessage",
    "propertyOrder",
    "ui:widget",
    "ui:options",
    "tsType",
    "javaType",
    "nullable",
    "defaultSnippets",
];

/// Formats that no draft defines and that are in use.
const OTHER_FORMATS: [&str; 9] =
    ["int32", "int64", "uint32", "uint64", "float", "double", "byte", "binary", "password"];

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

/// The kind of a [`SchemaWarning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaWarningKind {
    /// The document is not a schema and has one within it.
    Wrapper,
    /// No draft knows the word, so that it constrains nothing.
    UnknownKeyword,
    /// The keyword has no effect where it stands, like `then` without `if`.
    WithoutEffect,
    /// No draft defines the format, so that it constrains nothing.
    UnknownFormat,
    /// `$schema` names no known draft.
    UnknownDraft,
    /// A required name resembles a declared property and is none.
    UndeclaredName,
    /// The keyword belongs to another draft than `$schema` names, and counts all the same.
    ForeignKeyword,
}

/// A probable mistake in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaWarning {
    kind: SchemaWarningKind,
    location: Box<str>,
    span: Option<Span>,
    /// The span of a word that is the mistake, rather than its value.
    key_span: Option<Span>,
    message: Box<str>,
    hint: Option<Box<str>>,
}

impl SchemaWarning {
    /// Returns the kind.
    pub fn kind(&self) -> SchemaWarningKind {
        self.kind
    }

    /// Returns the URI of the document, if it has one, and the JSON pointer of the place.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Returns the span in the text of the schema, if it was read from one.
    pub fn span(&self) -> Option<Span> {
        self.span
    }

    /// Returns the span of what is wrong in the text of the schema: of a keyword that constrains nothing the word, else the value.
    pub(crate) fn mistake_span(&self) -> Option<Span> {
        self.key_span.or(self.span)
    }

    /// Returns what is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what the author may have meant.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for SchemaWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at {}", self.message, self.location)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl SchemaModel {
    /// Returns the probable mistakes, in the order in which sub-schemas were read; of very many the first.
    pub(super) fn warnings(&self, has_formats: bool) -> Vec<SchemaWarning> {
        let mut lints = Lints { model: self, found: Vec::new(), n_compared: 0 };
        let root = self.schema(self.root());
        let json = self.json(root.document());
        // A type alone is that of the wrapper: `{"type": "object", "parameters": {...}}` of a function.
        let is_free =
            root.entries().iter().all(|entry| matches!(entry.keyword, Keyword::Value(_))) && root.entries().len() < 2;
        let wrapper = is_free.then(|| wrapper::find(json, root.value())).flatten();
        if let Some(found) = &wrapper {
            let message = format!("this looks like {}, and nearly every document conforms to it", found.what);
            lints.add(SchemaWarningKind::Wrapper, self.root(), root.value(), message, Some(found.hint()));
        }
        lints.drafts();
        for (id, schema) in self.schemas() {
            if lints.found.len() >= WARNINGS_MAX {
                break;
            }
            // Other documents are not the author's, most likely.
            if schema.document() != root.document() {
                continue;
            }
            for entry in schema.entries() {
                let dialect = &self.resources[schema.resource().index()].dialect;
                if entry.is_foreign && dialect.is_named {
                    lints.foreign(id, entry.value);
                }
                match &entry.keyword {
                    Keyword::String(StringKeyword::Format(name, draft)) if has_formats => {
                        lints.format(id, entry.value, name, *draft);
                    }
                    Keyword::Object(ObjectKeyword::Required(names)) => lints.required(id, entry.value, names),
                    _ => {}
                }
            }
            let is_wrapper = wrapper.is_some() && id == self.root();
            if let (super::model::Body::Keywords { annotations, .. }, false) = (schema.body(), is_wrapper) {
                annotations.iter().for_each(|&value| lints.annotation(id, value));
            }
        }
        lints.found.truncate(WARNINGS_MAX);
        lints.found
    }
}

struct Lints<'m> {
    model: &'m SchemaModel,
    found: Vec<SchemaWarning>,
    n_compared: usize,
}

impl Lints<'_> {
    fn add(
        &mut self,
        kind: SchemaWarningKind,
        schema: SchemaId,
        value: ValueId,
        message: String,
        hint: Option<String>,
    ) {
        let document = self.model.schema(schema).document();
        let json = self.model.json(document);
        let is_given = self.model.document_uri(document).is_empty() && !json.source().is_empty();
        let is_about_word = matches!(
            kind,
            SchemaWarningKind::UnknownKeyword | SchemaWarningKind::WithoutEffect | SchemaWarningKind::ForeignKeyword
        );
        let key_span = if is_given && is_about_word { json.key_span(value) } else { None };
        self.found.push(SchemaWarning {
            kind,
            key_span,
            location: self.model.location(schema, value).into(),
            span: is_given.then(|| json.span(value)),
            message: message.into(),
            hint: hint.map(Into::into),
        });
    }

    /// Returns the closest of some names, as long as few were compared.
    fn closest<'n>(&mut self, name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        let n_compared = &mut self.n_compared;
        closest_name(name, names.take(COMPARED_MAX - *n_compared).inspect(|_| *n_compared += 1))
    }

    fn annotation(&mut self, schema: SchemaId, value: ValueId) {
        if self.found.len() >= WARNINGS_MAX {
            return;
        }
        let model = self.model;
        let json = model.json(model.schema(schema).document());
        let Some(name) = json.key_of(value) else { return };
        let shown = shown(name);
        if let Some(word) = word(name) {
            let whole = ["if", "contains"].into_iter().find(|whole| parts_of(whole).contains(&name));
            let has_whole = whole.is_some_and(|whole| json.member(model.schema(schema).value(), whole).is_some());
            let message = match whole {
                Some(whole) if !has_whole => format!("`{shown}` has no effect without `{whole}`"),
                None if name == "additionalItems" => format!("`{shown}` has no effect without a list of `items`"),
                None if !word.drafts.contains(&model.schema(schema).draft()) && word.is_constraint() => {
                    format!("`{shown}` is no keyword of the schema's draft")
                }
                _ => return,
            };
            self.add(SchemaWarningKind::WithoutEffect, schema, value, message, None);
            return;
        }
        if ANNOTATIONS.contains(&name) || name.starts_with("x-") || name.starts_with("x_") || name.starts_with("ui:") {
            return;
        }
        // Much resembles `not` and `if`, so that short words differ by one letter only.
        let is_short = |word: &str| word.len() <= SHORT_LEN_MAX;
        let is_near_in_length = |known: &&'static str| !is_short(known) || known.len().abs_diff(name.len()) <= 1;
        let known = keywords().map(|keyword| keyword.name).filter(|&known| known != "id").filter(is_near_in_length);
        let near = match name.len() {
            0..2 => None,
            2..SHORT_LEN_MAX => self.closest(name, known).filter(|near| edit_distance(name, near) <= 1),
            _ => self.closest(name, known),
        };
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        let message = format!("unknown keyword `{shown}` constrains nothing");
        self.add(SchemaWarningKind::UnknownKeyword, schema, value, message, hint);
    }

    /// Tells a keyword of another draft, which a validator of the named draft would pass over.
    fn foreign(&mut self, schema: SchemaId, value: ValueId) {
        let model = self.model;
        let Some(name) = model.json(model.schema(schema).document()).key_of(value) else { return };
        let draft = model.schema(schema).draft();
        let message =
            format!("`{}` is no keyword of {draft}, which `$schema` names, and is enforced all the same", shown(name));
        let hint = "an option makes it an annotation (`--no-foreign-keywords`, or `ReadOptions::has_foreign_keywords`)"
            .to_owned();
        self.add(SchemaWarningKind::ForeignKeyword, schema, value, message, Some(hint));
    }

    fn format(&mut self, schema: SchemaId, value: ValueId, name: &str, draft: Draft) {
        if format::Format::find(name, draft).is_some() || OTHER_FORMATS.contains(&name) {
            return;
        }
        let near = self.closest(name, format::ASSERTED.into_iter());
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        let message = format!("unknown format `{}` constrains nothing", shown(name));
        self.add(SchemaWarningKind::UnknownFormat, schema, value, message, hint);
    }

    /// Tells required names that resemble a property declared beside them and are not declared.
    fn required(&mut self, schema: SchemaId, value: ValueId, names: &[std::sync::Arc<str>]) {
        let model = self.model;
        let named = model.schema(schema).entries().iter().find_map(|entry| match &entry.keyword {
            Keyword::Object(ObjectKeyword::Properties(named)) => Some(named),
            _ => None,
        });
        let Some(named) = named else { return };
        let declared: HashSet<&str> = named.iter().map(|(name, _)| &**name).collect();
        let required: HashSet<&str> = names.iter().map(|name| &**name).collect();
        for name in names.iter().filter(|name| !declared.contains(&***name)) {
            if self.found.len() >= WARNINGS_MAX {
                return;
            }
            // A name that is required, too, is meant.
            let others = named.iter().map(|(other, _)| &**other).filter(|other| !required.contains(other));
            if let Some(near) = self.closest(name, others) {
                let message = format!("required name {} is not among the properties", quoted(name));
                let hint = format!("did you mean {}?", quoted(near));
                self.add(SchemaWarningKind::UndeclaredName, schema, value, message, Some(hint));
            }
        }
    }

    fn drafts(&mut self) {
        let model = self.model;
        for resource in &model.resources {
            let json = model.json(resource.document);
            let Some(value) = json.member(resource.value, "$schema") else { continue };
            let Value::String(name) = json.value(value) else { continue };
            if resource.dialect.is_named || Draft::from_uri(name).is_some() {
                continue;
            }
            let Some((id, schema)) = model.schemas().find(|(_, schema)| schema.document() == resource.document) else {
                continue;
            };
            let hint = self.closest(name, DRAFTS.into_iter()).map(|near| format!("did you mean {}?", quoted(near)));
            let message = format!("`$schema` names no known draft, and the schema is read as {}", schema.draft());
            self.add(SchemaWarningKind::UnknownDraft, id, value, message, hint);
        }
    }
}

/// Returns a word of a schema as it is shown in a message.
fn shown(name: &str) -> String {
    const CHARS_MAX: usize = 60;
    name.chars().take(CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", shown(name))
}

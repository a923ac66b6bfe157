//! Errors of structural tags.

use crate::frontend::SyntaxError;
use crate::json_schema::{Json, SchemaError, ValueId};
use crate::pass::BuildError;
use crate::util::Span;
use core::fmt;

/// The reason why a text is no structural tag, with the JSON pointer of the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagError {
    details: Box<Details>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    pointer: Box<str>,
    span: Option<Span>,
    /// The line of the place, with carets below; of what has lines of its own, such as a grammar, nothing.
    excerpt: Box<str>,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    /// What is wrong with the document.
    Document(Box<str>),
    /// The text is no JSON, or too much of it.
    Json(SchemaError),
    /// A grammar or a regular expression.
    Syntax { what: &'static str, error: SyntaxError },
    /// A schema.
    Schema(SchemaError),
    /// What the format asks for and can't be done.
    Unsupported(Box<str>),
    /// What a grammar can't be built of.
    Build(BuildError),
    /// Too much of something.
    Limit { what: &'static str, given: usize, limit: usize },
    /// Who ended the work knows why.
    Interrupted,
}

impl TagError {
    fn new(pointer: &str, reason: Reason) -> Self {
        let (span, excerpt) = Default::default();
        TagError { details: Box::new(Details { pointer: pointer.into(), span, excerpt, reason }) }
    }

    /// Returns an error about a value of the document.
    fn at(json: &Json, at: ValueId, reason: Reason) -> Self {
        let mut error = Self::new(&json.pointer(at), reason);
        error.details.span = Some(json.span(at));
        error
    }

    /// Adds the line of the place.
    fn with_excerpt(mut self, json: &Json) -> Self {
        if let Some(span) = self.details.span {
            let mut excerpt = String::new();
            span.write_caret(json.source(), &mut excerpt).expect("writing to a string succeeds");
            self.details.excerpt = excerpt.into();
        }
        self
    }

    /// Returns the error that a text is not JSON.
    pub(super) fn json(error: &SchemaError) -> Self {
        Self::new(error.pointer(), Reason::Json(error.clone()))
    }

    pub(super) fn document(json: &Json, at: ValueId, message: impl Into<Box<str>>) -> Self {
        Self::at(json, at, Reason::Document(message.into())).with_excerpt(json)
    }

    pub(super) fn unsupported(json: &Json, at: ValueId, message: impl Into<Box<str>>) -> Self {
        Self::at(json, at, Reason::Unsupported(message.into())).with_excerpt(json)
    }

    pub(super) fn limit(json: &Json, at: ValueId, what: &'static str, given: usize, limit: usize) -> Self {
        Self::at(json, at, Reason::Limit { what, given, limit })
    }

    /// Returns the error of a grammar or a regular expression that is a string of the document.
    pub(super) fn syntax(json: &Json, at: ValueId, what: &'static str, error: SyntaxError) -> Self {
        let span = json.span_in_string(at, error.span());
        let mut error = Self::at(json, at, Reason::Syntax { what, error });
        error.details.span = Some(span);
        error
    }

    pub(super) fn interrupted() -> Self {
        Self::new("", Reason::Interrupted)
    }

    /// Returns the error of a schema that is a value of the document, or of the document as a whole if it isn't known which.
    pub(super) fn schema(json: &Json, at: Option<ValueId>, error: SchemaError) -> Self {
        let Some(at) = at else { return Self::new("", Reason::Schema(error)) };
        let is_within = error.document().is_empty();
        let value = json.value_within(at, error.span().filter(|_| is_within));
        let mut error = Self::at(json, at, Reason::Schema(error));
        error.details.span = Some(json.span(value));
        error
    }

    /// Returns the error of building a value of the document.
    pub(super) fn build(json: &Json, at: ValueId, error: BuildError) -> Self {
        Self::at(json, at, Reason::Build(error))
    }

    /// Returns the error of building what is at the pointer, if that is the reason: a token that the vocabulary lacks, a limit, a language without texts.
    pub fn as_build(&self) -> Option<&BuildError> {
        match &self.details.reason {
            Reason::Build(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the JSON pointer of the place; that of a schema is the schema itself, whose error has a pointer of its own.
    pub fn pointer(&self) -> &str {
        &self.details.pointer
    }

    /// Returns the span of the place in the text of the document: within a grammar, a regular expression or a schema that of the place there. `None` if the error is about no
    /// place, or the text is no JSON.
    ///
    /// ```
    /// use maskwright::{Limits, structural_tag::{StructuralTag, TagOptions}};
    /// let text = r#"{"format": {"type": "regex", "pattern": "\"[b-a]\""}}"#;
    /// let error = StructuralTag::parse(text, &TagOptions::default(), &Limits::default()).unwrap_err();
    /// assert_eq!((error.pointer(), error.span().map(|span| span.line_column(text))), ("/format/pattern", Some((1, 45))));
    /// # Ok::<(), maskwright::structural_tag::TagError>(())
    /// ```
    pub fn span(&self) -> Option<Span> {
        self.details.span
    }

    /// Returns the error of the grammar or regular expression at the pointer, if that is the reason.
    pub fn as_syntax(&self) -> Option<&SyntaxError> {
        match &self.details.reason {
            Reason::Syntax { error, .. } => Some(error),
            _ => None,
        }
    }

    /// Returns the error of the schema at the pointer, if that is the reason.
    pub fn as_schema(&self) -> Option<&SchemaError> {
        match &self.details.reason {
            Reason::Schema(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error of the text as a whole, if it is no JSON or too much of it.
    pub(crate) fn as_json(&self) -> Option<&SchemaError> {
        match &self.details.reason {
            Reason::Json(error) => Some(error),
            _ => None,
        }
    }

    /// Returns `(given, limit)` if a limit is met.
    pub fn limit_met(&self) -> Option<(u64, u64)> {
        match &self.details.reason {
            Reason::Limit { given, limit, .. } => Some((*given as u64, *limit as u64)),
            Reason::Syntax { error, .. } => error.limit_met(),
            Reason::Schema(error) | Reason::Json(error) => {
                error.limit().map(|(_, given, limit)| (given as u64, limit as u64))
            }
            Reason::Build(error) => error.limit_met(),
            Reason::Document(_) | Reason::Unsupported(_) | Reason::Interrupted => None,
        }
    }

    /// Returns whether the document is well formed and asks for something that can't be enforced.
    pub fn is_unsupported(&self) -> bool {
        match &self.details.reason {
            Reason::Unsupported(_) => true,
            Reason::Schema(error) => error.is_unsupported(),
            _ => false,
        }
    }
}

impl fmt::Display for TagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { pointer, excerpt, reason, .. } = &*self.details;
        write!(f, "#{pointer}: ")?;
        match reason {
            Reason::Document(message) | Reason::Unsupported(message) if f.alternate() => {
                write!(f, "{message}{excerpt}")
            }
            Reason::Document(message) | Reason::Unsupported(message) => f.write_str(message),
            Reason::Syntax { what, error } if f.alternate() => write!(f, "in the {what}, {error:#}"),
            Reason::Syntax { what, error } => write!(f, "in the {what}, {error}"),
            Reason::Interrupted => f.write_str("reading was interrupted"),
            Reason::Limit { what, given, limit } => write!(f, "{what}: {given} is over the limit of {limit}"),
            Reason::Schema(error) | Reason::Json(error) if f.alternate() => write!(f, "{error:#}"),
            Reason::Schema(error) | Reason::Json(error) => fmt::Display::fmt(error, f),
            Reason::Build(error) if f.alternate() => write!(f, "{error:#}"),
            Reason::Build(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for TagError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.details.reason {
            Reason::Syntax { error, .. } => Some(error),
            Reason::Schema(error) | Reason::Json(error) => Some(error),
            Reason::Build(error) => Some(error),
            Reason::Document(_) | Reason::Unsupported(_) | Reason::Limit { .. } | Reason::Interrupted => None,
        }
    }
}

//! Errors of structural tags.

use crate::frontend::SyntaxError;
use crate::json_schema::{Json, SchemaError, ValueId};
use crate::pass::BuildError;
use core::fmt;

/// The reason why a text is no structural tag, with the JSON pointer of the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagError {
    details: Box<Details>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    pointer: Box<str>,
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
    fn new(pointer: String, reason: Reason) -> Self {
        TagError { details: Box::new(Details { pointer: pointer.into(), reason }) }
    }

    /// Returns the error that a text is not JSON.
    pub(super) fn json(error: &SchemaError) -> Self {
        Self::new(error.pointer().to_owned(), Reason::Json(error.clone()))
    }

    pub(super) fn document(json: &Json, at: ValueId, message: impl Into<Box<str>>) -> Self {
        Self::new(json.pointer(at), Reason::Document(message.into()))
    }

    pub(super) fn unsupported(json: &Json, at: ValueId, message: impl Into<Box<str>>) -> Self {
        Self::new(json.pointer(at), Reason::Unsupported(message.into()))
    }

    pub(super) fn limit(json: &Json, at: ValueId, what: &'static str, given: usize, limit: usize) -> Self {
        Self::new(json.pointer(at), Reason::Limit { what, given, limit })
    }

    pub(super) fn syntax(json: &Json, at: ValueId, what: &'static str, error: SyntaxError) -> Self {
        Self::new(json.pointer(at), Reason::Syntax { what, error })
    }

    pub(super) fn interrupted() -> Self {
        Self::new(String::new(), Reason::Interrupted)
    }

    /// Returns the error of a schema at a pointer of the document.
    pub(crate) fn schema(pointer: String, error: SchemaError) -> Self {
        Self::new(pointer, Reason::Schema(error))
    }

    /// Returns the error of building what is at a pointer of the document.
    pub(crate) fn build(pointer: String, error: BuildError) -> Self {
        Self::new(pointer, Reason::Build(error))
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
        let Details { pointer, reason } = &*self.details;
        write!(f, "#{pointer}: ")?;
        match reason {
            Reason::Document(message) | Reason::Unsupported(message) => f.write_str(message),
            Reason::Syntax { what, error } if f.alternate() => write!(f, "in the {what}, {error:#}"),
            Reason::Syntax { what, error } => write!(f, "in the {what}, {error}"),
            Reason::Interrupted => f.write_str("reading was interrupted"),
            Reason::Limit { what, given, limit } => write!(f, "{what}: {given} is over the limit of {limit}"),
            Reason::Schema(error) | Reason::Json(error) if f.alternate() => write!(f, "{error:#}"),
            Reason::Schema(error) | Reason::Json(error) => fmt::Display::fmt(error, f),
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

//! Errors of compiling a source.

use crate::frontend::SyntaxError;
use crate::json_schema::{LowerError, SchemaError};
use crate::pass::BuildError;
use core::fmt;

/// The reason why a source can't be compiled: it is malformed, or it is well formed and can't be built.
///
/// `{}` is one line; `{:#}` adds the source line with a caret, if the error has a span.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompileError {
    /// The source is malformed.
    Syntax(SyntaxError),
    /// The JSON Schema is malformed, unsatisfiable, or has a constraint that can't be enforced.
    Schema(SchemaError),
    /// The grammar can't be built: an empty language, an unknown control token, a limit, a deadline.
    Build(BuildError),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Syntax(error) => fmt::Display::fmt(error, f),
            CompileError::Schema(error) => fmt::Display::fmt(error, f),
            CompileError::Build(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for CompileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CompileError::Syntax(error) => Some(error),
            CompileError::Schema(error) => Some(error),
            CompileError::Build(error) => Some(error),
        }
    }
}

impl From<SyntaxError> for CompileError {
    fn from(error: SyntaxError) -> Self {
        CompileError::Syntax(error)
    }
}

impl From<SchemaError> for CompileError {
    fn from(error: SchemaError) -> Self {
        CompileError::Schema(error)
    }
}

impl From<BuildError> for CompileError {
    fn from(error: BuildError) -> Self {
        CompileError::Build(error)
    }
}

impl From<LowerError> for CompileError {
    fn from(error: LowerError) -> Self {
        match error {
            LowerError::Schema(error) => CompileError::Schema(error),
            LowerError::Build(error) => CompileError::Build(error),
        }
    }
}

//! Errors of compiling a source.

use crate::frontend::SyntaxError;
use crate::grammar::SchemaOperand;
use crate::json_schema::{LowerError, SchemaError};
use crate::pass::BuildError;
use crate::structural_tag::TagError;
use crate::util::Span;
use core::fmt;
use std::sync::Arc;

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
    /// A JSON Schema among the operands of a grammar is malformed, unsatisfiable, or has a constraint that can't be enforced.
    Operand(OperandError),
    /// The text is no structural tag, or a schema, grammar or regular expression in it is refused.
    Tag(TagError),
    /// The grammar can't be built: an empty language, an unknown control token, a limit, a deadline.
    Build(BuildError),
}

/// An error of a JSON Schema that is an operand of a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandError {
    details: Box<Details>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    operand: SchemaOperand,
    error: SchemaError,
    rule: Box<str>,
    span: Option<Span>,
    source: Option<Arc<str>>,
}

impl OperandError {
    pub(super) fn new(
        operand: &SchemaOperand,
        error: SchemaError,
        rule: &str,
        span: Option<Span>,
        source: Option<&str>,
    ) -> Self {
        let (operand, rule, source) = (operand.clone(), rule.into(), source.map(Into::into));
        OperandError { details: Box::new(Details { operand, error, rule, span, source }) }
    }

    /// Returns the schema.
    pub fn operand(&self) -> &SchemaOperand {
        &self.details.operand
    }

    /// Returns the error of the schema.
    pub fn schema_error(&self) -> &SchemaError {
        &self.details.error
    }

    /// Returns the name of the rule that has the schema as an operand.
    pub fn rule(&self) -> &str {
        &self.details.rule
    }

    /// Returns the span of the value of the schema that the error is about, or else of the operand, if the grammar came from a text.
    ///
    /// ```
    /// use maskwright::{CompileError, GrammarCompiler, Vocab};
    /// let source = "root ::= %json {\n  \"type\": \"sring\"\n}";
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens(["a"])?.into());
    /// let Err(CompileError::Operand(error)) = compiler.compile_ebnf(source) else { panic!() };
    /// assert_eq!(error.span().unwrap().line_column(source), (2, 11));
    /// # Ok::<(), maskwright::VocabError>(())
    /// ```
    pub fn span(&self) -> Option<Span> {
        let Details { operand, error, span, source, .. } = &*self.details;
        // A span of another document is none of the operand.
        let inner = error.span().filter(|_| error.document().is_empty());
        let found = source.as_deref().zip(*span).zip(inner);
        found.and_then(|((source, place), inner)| operand.span_in(source, place, inner)).or(*span)
    }

    /// Returns the span of the whole operand.
    pub(super) fn operand_span(&self) -> Option<Span> {
        self.details.span
    }
}

impl fmt::Display for OperandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { error, rule, source, .. } = &*self.details;
        write!(f, "schema in rule `{rule}`: {error}")?;
        match (source, self.span()) {
            (Some(source), Some(span)) if f.alternate() => span.write_caret(source, f),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for OperandError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.details.error)
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Syntax(error) => fmt::Display::fmt(error, f),
            CompileError::Schema(error) => fmt::Display::fmt(error, f),
            CompileError::Operand(error) => fmt::Display::fmt(error, f),
            CompileError::Tag(error) => fmt::Display::fmt(error, f),
            CompileError::Build(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for CompileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CompileError::Syntax(error) => Some(error),
            CompileError::Schema(error) => Some(error),
            CompileError::Operand(error) => Some(error),
            CompileError::Tag(error) => Some(error),
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

impl From<TagError> for CompileError {
    fn from(error: TagError) -> Self {
        CompileError::Tag(error)
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

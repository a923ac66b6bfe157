//! Errors of making a recognizer.

use crate::grammar::Grammar;
use crate::util::Span;
use core::fmt;
use std::sync::Arc;

/// The reason why a [`Recognizer`](super::Recognizer) could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecognizerError {
    kind: Kind,
    span: Option<Span>,
    source: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    EmptyLanguage { root: Box<str> },
    RecursiveOperand { rule: Box<str> },
    ControlInOperand,
    Schema,
    TooLarge { given: usize, limit: usize },
}

impl RecognizerError {
    pub(super) fn empty_language(grammar: &Grammar) -> Self {
        let root = grammar.rule(grammar.root());
        Self::new(grammar, root.span, Kind::EmptyLanguage { root: root.name.clone() })
    }

    pub(super) fn recursive_operand(grammar: &Grammar, span: Option<Span>, rule: &str) -> Self {
        Self::new(grammar, span, Kind::RecursiveOperand { rule: rule.into() })
    }

    pub(super) fn control_in_operand(grammar: &Grammar, span: Option<Span>) -> Self {
        Self::new(grammar, span, Kind::ControlInOperand)
    }

    pub(super) fn schema(grammar: &Grammar, span: Option<Span>) -> Self {
        Self::new(grammar, span, Kind::Schema)
    }

    pub(super) fn too_large(grammar: &Grammar, span: Option<Span>, given: usize, limit: usize) -> Self {
        Self::new(grammar, span, Kind::TooLarge { given, limit })
    }

    fn new(grammar: &Grammar, span: Option<Span>, kind: Kind) -> Self {
        RecognizerError { kind, span, source: grammar.source().map(Into::into) }
    }

    /// Returns whether the language of the grammar is empty.
    pub fn is_empty_language(&self) -> bool {
        matches!(self.kind, Kind::EmptyLanguage { .. })
    }

    /// Returns whether an operand of `&`, `-` or `~` is not regular.
    pub fn is_not_regular(&self) -> bool {
        matches!(self.kind, Kind::RecursiveOperand { .. } | Kind::ControlInOperand)
    }

    /// Returns `(given, limit)` if a limit was exceeded.
    pub fn limit(&self) -> Option<(usize, usize)> {
        match self.kind {
            Kind::TooLarge { given, limit } => Some((given, limit)),
            _ => None,
        }
    }

    /// Returns the name of the rule that the error is about, if there is one.
    pub fn rule(&self) -> Option<&str> {
        match &self.kind {
            Kind::EmptyLanguage { root: rule } | Kind::RecursiveOperand { rule } => Some(rule),
            _ => None,
        }
    }

    /// Returns the span in the source of the grammar.
    pub fn span(&self) -> Option<Span> {
        self.span
    }
}

impl fmt::Display for RecognizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::EmptyLanguage { root } => write!(f, "no text matches rule `{root}`")?,
            Kind::RecursiveOperand { rule } => {
                write!(f, "an operand of `&`, `-` or `~` must be regular, and rule `{rule}` refers to itself")?;
            }
            Kind::ControlInOperand => {
                f.write_str("an operand of `&`, `-` or `~` holds a control token, or counts tokens")?
            }
            Kind::Schema => {
                f.write_str("a JSON Schema can't be read as it is: replace it by a grammar of its documents")?
            }
            Kind::TooLarge { given, limit } => {
                write!(
                    f,
                    "an intersection or complement needs at least {given} states, more than the limit of {limit}"
                )?;
            }
        }
        match (&self.source, self.span) {
            (Some(source), Some(span)) if f.alternate() => span.write_caret(source, f),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for RecognizerError {}

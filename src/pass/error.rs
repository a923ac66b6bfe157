//! Errors of building a grammar's automata.

use crate::grammar::{ControlRef, NotRegular, NotRegularReason};
use crate::limits::Limits;
use crate::util::Span;
use core::fmt;
use std::sync::Arc;

/// The reason why a well-formed grammar can't be compiled.
///
/// `{}` is one line; `{:#}` adds the source line with a caret, if the grammar came from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    kind: Kind,
    span: Option<Span>,
    source: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    EmptyLanguage { rule: Box<str>, reasons: Vec<String> },
    UnknownControl { name: Box<str>, nearest: Option<Box<str>> },
    UnknownTokenId { id: u32, n_tokens: usize },
    NotRegular { message: String },
    Limit { what: &'static str, given: u64, limit: u64 },
    Deadline,
    Cancelled,
}

impl BuildError {
    fn new(kind: Kind) -> Self {
        BuildError { kind, span: None, source: None }
    }

    /// Returns the error that a rule matches nothing, with what else in the grammar matches nothing.
    pub(crate) fn empty_language(rule: &str, reasons: Vec<String>) -> Self {
        Self::new(Kind::EmptyLanguage { rule: rule.into(), reasons })
    }

    pub(crate) fn unknown_control(name: &str, nearest: Option<&str>) -> Self {
        Self::new(Kind::UnknownControl { name: name.into(), nearest: nearest.map(Into::into) })
    }

    pub(crate) fn unknown_token_id(id: u32, n_tokens: usize) -> Self {
        Self::new(Kind::UnknownTokenId { id, n_tokens })
    }

    pub(crate) fn not_regular(error: &NotRegular) -> Self {
        Self::new(match error.reason() {
            NotRegularReason::TooLarge { given, limit } => {
                let what = "nodes of a regular expression (n_exprs_max)";
                Kind::Limit { what, given: *given as u64, limit: *limit as u64 }
            }
            _ => Kind::NotRegular { message: error.to_string() },
        })
    }

    pub(crate) fn limit(what: &'static str, given: u64, limit: u64) -> Self {
        Self::new(Kind::Limit { what, given, limit })
    }

    /// Returns an error if a grammar's automata have more states than the limit.
    pub(crate) fn check_states(n_states: usize, limits: &Limits) -> Result<(), Self> {
        if n_states > limits.automaton_states_max {
            let what = "states of the grammar's automata (automaton_states_max)";
            return Err(Self::limit(what, n_states as u64, limits.automaton_states_max as u64));
        }
        Ok(())
    }

    pub(crate) fn deadline() -> Self {
        Self::new(Kind::Deadline)
    }

    pub(crate) fn cancelled() -> Self {
        Self::new(Kind::Cancelled)
    }

    pub(crate) fn at(mut self, span: Option<Span>, source: Option<&str>) -> Self {
        self.span = self.span.or(span);
        self.source = self.source.or_else(|| source.map(Into::into));
        self
    }

    /// Returns the span in the grammar's source, if the error has one.
    pub fn span(&self) -> Option<Span> {
        self.span
    }

    /// Returns the 1-based line and column (in characters) where the span begins, if the error has one.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        Some(self.span?.line_column(self.source.as_deref()?))
    }

    /// Returns whether no text conforms to the grammar.
    pub fn is_unsatisfiable(&self) -> bool {
        matches!(self.kind, Kind::EmptyLanguage { .. })
    }

    /// Returns whether the grammar names a token that the vocabulary lacks.
    pub fn is_unknown_token(&self) -> bool {
        matches!(self.kind, Kind::UnknownControl { .. } | Kind::UnknownTokenId { .. })
    }

    /// Returns the token that the vocabulary lacks.
    pub(crate) fn unknown_token(&self) -> Option<ControlRef> {
        match &self.kind {
            Kind::UnknownControl { name, .. } => Some(ControlRef::Name(name.clone())),
            Kind::UnknownTokenId { id, .. } => Some(ControlRef::Id(*id)),
            _ => None,
        }
    }

    /// Returns `(given, limit)` if a limit of [`Limits`](crate::Limits) was exceeded.
    pub fn limit_met(&self) -> Option<(u64, u64)> {
        match self.kind {
            Kind::Limit { given, limit, .. } => Some((given, limit)),
            _ => None,
        }
    }

    /// Returns whether the deadline passed or the compile was cancelled: another attempt may succeed.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, Kind::Deadline | Kind::Cancelled)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::EmptyLanguage { rule, reasons } => {
                write!(f, "rule `{rule}` matches nothing at all: no text can ever complete it")?;
                reasons.iter().try_for_each(|reason| write!(f, "; {reason}"))?;
            }
            Kind::UnknownControl { name, nearest } => {
                write!(f, "the vocabulary has no token named `{name}`")?;
                if let Some(nearest) = nearest {
                    write!(f, " (did you mean `{nearest}`?)")?;
                }
            }
            Kind::UnknownTokenId { id, n_tokens } => {
                write!(f, "token id {id} is not in the vocabulary of {n_tokens} tokens, or is padding")?;
            }
            Kind::NotRegular { message } => f.write_str(message)?,
            Kind::Limit { what, given, limit } => write!(f, "{what}: {given} is over the limit of {limit}")?,
            Kind::Deadline => f.write_str("the deadline passed before the grammar was compiled")?,
            Kind::Cancelled => f.write_str("compiling was cancelled")?,
        }
        match (&self.source, self.span) {
            (Some(source), Some(span)) if f.alternate() => span.write_caret(source, f),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for BuildError {}

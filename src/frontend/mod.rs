//! Front ends: from a text to a [`Grammar`](crate::grammar::Grammar), or to an error that says where and why.
//!
//! Texts come from strangers. Each front end checks the bounds of [`Limits`](crate::Limits) before it does any work that
//! they should stop, keeps the place of everything it reads, and refuses what it can't represent exactly.

pub mod ebnf;
pub mod ecma;
pub mod regex;

use crate::util::Span;
use core::fmt;

/// Why a source text is not a grammar: what is wrong, where, and often what to write instead.
///
/// `{}` is one line; `{:#}` adds the source line with a caret, and the hint.
///
/// ```
/// use maskwright::{Limits, frontend::ebnf};
/// let error = ebnf::parse("root ::= vlaue\nvalue ::= [0-9]+", "root", &Limits::default()).unwrap_err();
/// assert_eq!(error.to_string(), "undefined rule `vlaue` at line 1, column 10");
/// assert_eq!(error.line_column(), (1, 10));
/// assert_eq!(error.hint(), Some("did you mean `value`?"));
/// assert!(format!("{error:#}").contains("1 | root ::= vlaue\n   |          ^^^^^"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SyntaxError {
    parts: Box<Parts>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    message: Box<str>,
    span: Span,
    line_column: (usize, usize),
    excerpt: Box<str>,
    hint: Option<Box<str>>,
    limit: Option<(u64, u64)>,
    is_unsupported: bool,
}

impl SyntaxError {
    /// Returns an error about `span` of `source`. The message is a lower-case phrase without a final period.
    pub fn new(source: &str, span: Span, message: impl Into<String>) -> Self {
        let mut excerpt = String::new();
        span.write_caret(source, &mut excerpt).expect("writing to a string succeeds");
        let line_column = span.line_column(source);
        let message = message.into().into_boxed_str();
        SyntaxError {
            parts: Box::new(Parts {
                message,
                span,
                line_column,
                excerpt: excerpt.into(),
                hint: None,
                limit: None,
                is_unsupported: false,
            }),
        }
    }

    /// Adds what the author may have meant, or what to write instead.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.parts.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// Returns the same error about another place, of the source that the first one is a part of.
    pub(crate) fn moved(&self, source: &str, span: Span) -> Self {
        let Parts { message, hint, limit, is_unsupported, .. } = &*self.parts;
        let mut moved = SyntaxError::new(source, span, message.as_ref());
        (moved.parts.hint, moved.parts.limit) = (hint.clone(), *limit);
        moved.parts.is_unsupported = *is_unsupported;
        moved
    }

    /// Says that a bound of [`Limits`](crate::Limits) is met, which the message names.
    #[must_use]
    pub(crate) fn over_limit(mut self, given: usize, limit: usize) -> Self {
        self.parts.limit = Some((given as u64, limit as u64));
        self
    }

    /// Returns `(given, limit)` when a bound of [`Limits`](crate::Limits) was met; where reading stopped at the bound, `given` is the
    /// least that there would have been.
    pub fn limit_met(&self) -> Option<(u64, u64)> {
        self.parts.limit
    }

    /// Says that the source is right, as far as is known, and can't be represented or is beyond a limit.
    #[must_use]
    pub(crate) fn unsupported(mut self) -> Self {
        self.parts.is_unsupported = true;
        self
    }

    /// Tells whether that was said; front ends for patterns of schemas say it.
    pub(crate) fn is_unsupported(&self) -> bool {
        self.parts.is_unsupported
    }

    /// Returns the place in the source.
    pub fn span(&self) -> Span {
        self.parts.span
    }

    /// Returns what is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.parts.message
    }

    /// Returns what the author may have meant, or what to write instead.
    pub fn hint(&self) -> Option<&str> {
        self.parts.hint.as_deref()
    }

    /// Returns the 1-based line and column (in characters) of the place.
    pub fn line_column(&self) -> (usize, usize) {
        self.parts.line_column
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.parts.line_column;
        write!(f, "{} at line {line}, column {column}", self.parts.message)?;
        if f.alternate() {
            f.write_str(&self.parts.excerpt)?;
            if let Some(hint) = &self.parts.hint {
                write!(f, "\n hint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { message, span, line_column, hint, .. } = &*self.parts;
        let mut fields = f.debug_struct("SyntaxError");
        fields.field("message", message).field("span", span).field("line_column", line_column);
        fields.field("hint", hint).finish()
    }
}

impl std::error::Error for SyntaxError {}

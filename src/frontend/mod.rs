//! Front ends: from a text to a [`Grammar`](crate::grammar::Grammar), or to an error with a span and a reason.
//!
//! Texts come from strangers. Each front end checks the [`Limits`](crate::Limits) before it does the work that
//! they bound, records the span of everything it reads, and refuses what it can't represent exactly.

mod check;
mod dialect;
pub mod ebnf;
pub mod ecma;
mod extent;
pub mod lark;
mod progress;
pub mod regex;
mod specials;

pub use dialect::Dialect;
pub(crate) use progress::{ReadError, Spend};

use crate::util::Span;
use core::fmt;

/// The reason why a source text is not a grammar, with its span and often a hint what to write instead.
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

    /// Adds a hint: what the author may have meant, or what to write instead.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.parts.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// Returns the error with a span of the source that contains the text of the first one.
    pub(crate) fn moved(&self, source: &str, span: Span) -> Self {
        let Parts { message, hint, limit, is_unsupported, .. } = &*self.parts;
        let mut moved = SyntaxError::new(source, span, message.as_ref());
        (moved.parts.hint, moved.parts.limit) = (hint.clone(), *limit);
        moved.parts.is_unsupported = *is_unsupported;
        moved
    }

    /// Marks the error as one of [`Limits`](crate::Limits), which the message names.
    #[must_use]
    pub(crate) fn over_limit(mut self, given: usize, limit: usize) -> Self {
        self.parts.limit = Some((given as u64, limit as u64));
        self
    }

    /// Returns `(given, limit)` if a limit of [`Limits`](crate::Limits) was exceeded; if parsing stopped there, `given` is a lower bound.
    pub fn limit_met(&self) -> Option<(u64, u64)> {
        self.parts.limit
    }

    /// Marks the error as unsupported: the source may be well-formed, and can't be represented or exceeds a limit.
    #[must_use]
    pub(crate) fn unsupported(mut self) -> Self {
        self.parts.is_unsupported = true;
        self
    }

    /// Returns whether the error is marked as unsupported, which only front ends for patterns of schemas do.
    pub(crate) fn is_unsupported(&self) -> bool {
        self.parts.is_unsupported
    }

    /// Returns the span in the source.
    pub fn span(&self) -> Span {
        self.parts.span
    }

    /// Returns the message, without the position.
    pub fn message(&self) -> &str {
        &self.parts.message
    }

    /// Returns the hint: what the author may have meant, or what to write instead.
    pub fn hint(&self) -> Option<&str> {
        self.parts.hint.as_deref()
    }

    /// Returns the 1-based line and column (in characters) where the span begins.
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

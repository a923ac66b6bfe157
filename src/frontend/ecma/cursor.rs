//! The parser's place in a pattern.

use super::SyntaxError;
use crate::Limits;
use crate::util::Span;

/// A pattern that is being read, as far as [`at`](Parser::at).
pub(super) struct Parser<'a> {
    pub(super) pattern: &'a str,
    pub(super) limits: &'a Limits,
    pub(super) at: usize,
    /// How many groups capture.
    pub(super) n_groups: usize,
    /// Some group has a name.
    pub(super) names: bool,
}

impl Parser<'_> {
    pub(super) fn refuse(&self, start: usize, end: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.pattern, Span::new(start, end), message)
    }

    pub(super) fn continuation(&self) -> &str {
        &self.pattern[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.continuation().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.continuation().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }
}

//! Checking a document against a grammar, with the position and reason of the first error.

use super::expected::{Expected, RuleInProgress, expected, rules_in_progress};
use super::explain::rules_to_json;
use super::show;
use crate::grammar::Grammar;
use crate::reference::Recognizer;
use crate::util::Span;
use core::fmt;
use serde_json::{Value, json};

/// The position and reason of the first error of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    offset: usize,
    line_column: (usize, usize),
    /// The character that is refused, or the byte if it is not UTF-8; `None` if the document ends too early.
    refused: Option<Box<[u8]>>,
    expected: Expected,
    rules: Vec<RuleInProgress>,
    excerpt: Box<str>,
}

/// Checks a document. `recognizer` was made from `grammar`.
///
/// # Errors
/// The first byte that is refused after the bytes before it, or the end of a document that is incomplete.
pub fn check(grammar: &Grammar, recognizer: &Recognizer, document: &[u8]) -> Result<(), Box<Failure>> {
    let mut chart = recognizer.start();
    let offset = chart.push_bytes(document);
    if offset == document.len() && chart.is_accepting() {
        return Ok(());
    }
    // Offsets count bytes; columns count characters of the text as shown, where each byte that is not UTF-8 is one character.
    let text = String::from_utf8_lossy(document);
    let start = match &text {
        std::borrow::Cow::Borrowed(text) => (0..=offset).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0),
        std::borrow::Cow::Owned(_) => String::from_utf8_lossy(&document[..offset]).len().min(text.len()),
    };
    let refused = document.get(offset).map(|_| {
        let from = if matches!(text, std::borrow::Cow::Borrowed(_)) { start } else { offset };
        let first = document[from..].utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        first.map_or([document[offset]].into(), |c| c.to_string().into_bytes().into())
    });
    let span = Span::new(start, start);
    let mut excerpt = String::new();
    span.write_caret(&text, &mut excerpt).expect("writing into a string");
    Err(Box::new(Failure {
        offset,
        line_column: span.line_column(&text),
        refused,
        expected: expected(grammar, &chart),
        rules: rules_in_progress(grammar, &chart),
        excerpt: excerpt.into(),
    }))
}

impl Failure {
    /// Returns the number of bytes of the document before the error.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the line and the column, in characters, both from 1.
    pub fn line_column(&self) -> (usize, usize) {
        self.line_column
    }

    /// Returns whether the document is a viable prefix that ends too early.
    pub fn is_incomplete(&self) -> bool {
        self.refused.is_none()
    }

    /// Returns what may come instead.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns the rules in progress there, innermost first.
    pub fn rules(&self) -> &[RuleInProgress] {
        &self.rules
    }

    /// Returns this as JSON: `{"offset", "line", "column", "incomplete", "message", "expected", "rules"}`.
    pub fn to_json(&self) -> Value {
        json!({
            "offset": self.offset,
            "line": self.line_column.0,
            "column": self.line_column.1,
            "incomplete": self.is_incomplete(),
            "message": self.to_string(),
            "expected": self.expected.to_json(),
            "rules": rules_to_json(&self.rules),
        })
    }
}

impl fmt::Display for Failure {
    /// The alternate form adds the line of the document with a caret, and the rules in progress.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column;
        write!(f, "line {line}, column {column}: ")?;
        match &self.refused {
            Some(refused) => write!(f, "`{}` is refused", show::bytes(refused))?,
            None => f.write_str("the document ends too early")?,
        }
        write!(f, "; expected {}", self.expected)?;
        if f.alternate() {
            const N_SHOWN_MAX: usize = 10;
            f.write_str(&self.excerpt)?;
            for rule in self.rules.iter().take(N_SHOWN_MAX) {
                write!(f, "\n in rule {rule}")?;
            }
            if self.rules.len() > N_SHOWN_MAX {
                write!(f, "\n in {} more rules", self.rules.len() - N_SHOWN_MAX)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

//! The first place at which a text doesn't match, and what was expected there.

use crate::controls::{self, Piece};
use crate::document::DocumentPosition;
use crate::expected::{Expected, shown_control};
use maskwright::Matcher;
use serde_json::Value;

/// The place of the first error of a text.
#[derive(Debug)]
pub struct Refusal {
    /// Where it is.
    pub position: DocumentPosition,
    /// The text ends too early; otherwise the character at the position is refused.
    pub is_incomplete: bool,
    /// The character or control token that is refused.
    pub found: String,
    /// What was expected.
    pub expected: Expected,
}

impl Refusal {
    /// Finds the first error of a text, if `refused_at` is where a piece of it was refused (`None`: it ends too early). `fresh` has read nothing.
    pub fn new(fresh: Matcher, text: &[u8], all: &[Piece], refused_at: Option<usize>) -> Self {
        let offset = refused_at.unwrap_or(text.len());
        let read = controls::cut(all, offset);
        // What was read once can be read again.
        let matcher = controls::accept_for_explanation(&fresh, text, &read).map_or(fresh, |(matcher, _)| matcher);
        let control = all.iter().find_map(|piece| match piece {
            Piece::Control { at, control, .. } if at.start == offset => Some(control),
            _ => None,
        });
        let (found, rest): (String, &[u8]) = match control {
            Some(control) => (shown_control(control), &[]),
            None => (found(text, offset), &text[offset..]),
        };
        let expected = Expected::new(&matcher, rest);
        Refusal { position: DocumentPosition::new(text, offset), is_incomplete: refused_at.is_none(), found, expected }
    }

    /// Returns what is wrong, and where.
    pub fn headline(&self) -> String {
        let DocumentPosition { line, column, offset, .. } = self.position;
        let at = format!("line {line}, column {column} (byte {offset})");
        match self.is_incomplete {
            true => format!("does not match: it is incomplete, and ends at {at}"),
            false => format!("does not match: {} is not allowed at {at}", self.found),
        }
    }

    /// Returns it as lines for people: the headline, the excerpt, and what was expected.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.headline(), self.position.to_string()];
        lines.extend(self.expected.labelled_lines());
        lines
    }

    /// Adds it to a JSON object.
    pub fn add_to(&self, report: &mut Value) {
        report["reason"] = if self.is_incomplete { "incomplete" } else { "refused" }.into();
        report["offset"] = self.position.offset.into();
        report["line"] = self.position.line.into();
        report["column"] = self.position.column.into();
        report["found"] = if self.is_incomplete { Value::Null } else { self.found.as_str().into() };
        if let (Value::Object(report), Value::Object(expected)) = (report, self.expected.to_json()) {
            report.extend(expected);
        }
    }
}

/// Shows the character, or else the byte, at an offset.
fn found(document: &[u8], offset: usize) -> String {
    let suffix = &document[offset.min(document.len())..];
    let head = &suffix[..suffix.len().min(4)];
    let chunk = head.utf8_chunks().next();
    match (chunk.and_then(|chunk| chunk.valid().chars().next()), suffix.first()) {
        (Some(c), _) => crate::output::quoted(c.encode_utf8(&mut [0; 4]).as_bytes()),
        (None, Some(byte)) => format!("byte \\x{byte:02X}"),
        (None, None) => "the end".to_owned(),
    }
}

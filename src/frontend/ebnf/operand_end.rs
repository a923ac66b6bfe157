//! Where an operand `%json(compact) {"type": "integer"}` ends: whether it is a schema is checked when it is compiled.

use crate::frontend::SyntaxError;
use crate::frontend::extent::{self, Unclosed};
use crate::util::Span;
use core::ops::Range;

/// What begins a schema.
pub(super) const KEYWORD: &str = "%json";

/// Returns where the operand that begins at `range.start` ends.
pub(super) fn end(source: &str, range: Range<usize>) -> Result<usize, SyntaxError> {
    let options = options(source, range.start + KEYWORD.len()..range.end)?;
    let start = skip_blanks(source, options.end, range.end);
    json_end(source, start..range.end)
}

/// Returns the place of the next byte that is no blank.
pub(super) fn skip_blanks(source: &str, at: usize, end: usize) -> usize {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    at + source.as_bytes()[at..end].iter().take_while(|byte| is_blank(byte)).count()
}

/// Returns the range of the options, parentheses included; an empty one if there are none.
pub(super) fn options(source: &str, range: Range<usize>) -> Result<Range<usize>, SyntaxError> {
    let bytes = source.as_bytes();
    if range.is_empty() || bytes[range.start] != b'(' {
        return Ok(range.start..range.start);
    }
    let mut at = range.start + 1;
    while at < range.end {
        match bytes[at] {
            b')' => return Ok(range.start..at + 1),
            b'"' => at = string_end(source, at..range.end)?,
            _ => at += 1,
        }
    }
    Err(unclosed(source, range.start, "the list of options"))
}

/// Returns where a JSON value ends that is a schema: an object, `true` or `false`.
fn json_end(source: &str, range: Range<usize>) -> Result<usize, SyntaxError> {
    let text = &source[range.clone()];
    for word in ["true", "false"] {
        if text.starts_with(word) {
            return Ok(range.start + word.len());
        }
    }
    if !text.starts_with('{') {
        let n_bytes = text.chars().next().map_or(0, char::len_utf8);
        let span = Span::new(range.start, range.start + n_bytes);
        return Err(SyntaxError::new(source, span, "expected a JSON Schema behind `%json`")
            .with_hint("a schema is an object, `true` or `false`, like `%json {\"type\": \"integer\"}`"));
    }
    extent::json(&source.as_bytes()[..range.end], range.start).map_err(|unclosed| match unclosed {
        Unclosed::Value => self::unclosed(source, range.start, "the JSON Schema"),
        Unclosed::String(start) => self::unclosed(source, start, "the string"),
    })
}

/// Returns where the JSON string ends that begins at `range.start`.
fn string_end(source: &str, range: Range<usize>) -> Result<usize, SyntaxError> {
    let end = extent::json_string(&source.as_bytes()[..range.end], range.start);
    end.ok_or_else(|| unclosed(source, range.start, "the string"))
}

fn unclosed(source: &str, at: usize, what: &str) -> SyntaxError {
    SyntaxError::new(source, Span::new(at, at + 1), format!("{what} is opened here and not closed"))
}

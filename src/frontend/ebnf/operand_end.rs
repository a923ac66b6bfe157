//! Where an operand `%json(compact) {"type": "integer"}` ends: whether it is a schema is checked when it is compiled.

use crate::frontend::SyntaxError;
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
    let (mut at, mut n_open) = (range.start, 0usize);
    while at < range.end {
        match source.as_bytes()[at] {
            b'"' => {
                at = string_end(source, at..range.end)?;
                continue;
            }
            b'{' | b'[' => n_open += 1,
            b'}' | b']' => n_open -= 1,
            _ => {}
        }
        at += 1;
        if n_open == 0 {
            return Ok(at);
        }
    }
    Err(unclosed(source, range.start, "the JSON Schema"))
}

/// Returns where the JSON string ends that begins at `range.start`.
fn string_end(source: &str, range: Range<usize>) -> Result<usize, SyntaxError> {
    let mut at = range.start + 1;
    while at < range.end {
        match source.as_bytes()[at] {
            b'\\' => at += 2,
            b'"' => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(unclosed(source, range.start, "the string"))
}

fn unclosed(source: &str, at: usize, what: &str) -> SyntaxError {
    SyntaxError::new(source, Span::new(at, at + 1), format!("{what} is opened here and not closed"))
}

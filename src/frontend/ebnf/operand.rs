//! JSON Schemas as operands: `%json {"type": "integer"}`, or with options `%json(compact, draft = "7") {...}`.
//!
//! Here only the end of the schema is found; whether it is one is checked when it is compiled.

use super::lexeme;
use crate::frontend::SyntaxError;
use crate::grammar::SchemaOperand;
use crate::schema_options::{OptionValue, SchemaOptions};
use crate::util::{Span, closest_name};
use core::ops::Range;

/// What begins a schema.
pub(super) const KEYWORD: &str = "%json";

/// Returns where the operand that begins at `range.start` ends.
pub(super) fn end(source: &str, range: Range<usize>) -> Result<usize, SyntaxError> {
    let options = options(source, range.start + KEYWORD.len()..range.end)?;
    let start = skip_blanks(source, options.end, range.end);
    json_end(source, start..range.end)
}

/// Reads an operand whose end is known.
pub(super) fn schema(source: &str, range: Range<usize>) -> Result<SchemaOperand, SyntaxError> {
    let written = options(source, range.start + KEYWORD.len()..range.end)?;
    let mut options = SchemaOptions::default();
    if !written.is_empty() {
        for option in split_options(source, written.start + 1..written.end - 1) {
            read_option(source, option, &mut options)?;
        }
    }
    let start = skip_blanks(source, written.end, range.end);
    Ok(SchemaOperand::new(&source[start..range.end], options))
}

fn skip_blanks(source: &str, at: usize, end: usize) -> usize {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    at + source.as_bytes()[at..end].iter().take_while(|byte| is_blank(byte)).count()
}

/// Returns the range of the options, parentheses included; an empty one if there are none.
fn options(source: &str, range: Range<usize>) -> Result<Range<usize>, SyntaxError> {
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

/// Splits a list of options at its commas.
fn split_options(source: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut parts, mut start, mut is_in_string) = (Vec::new(), range.start, false);
    let mut at = range.start;
    while at < range.end {
        match source.as_bytes()[at] {
            b'\\' if is_in_string => at += 1,
            b'"' => is_in_string = !is_in_string,
            b',' if !is_in_string => {
                parts.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(start..range.end);
    parts
}

fn read_option(source: &str, range: Range<usize>, options: &mut SchemaOptions) -> Result<(), SyntaxError> {
    let trimmed = source[range.clone()].trim();
    let start = range.start + source[range.clone()].len() - source[range].trim_start().len();
    let span = Span::new(start, start + trimmed.len());
    let refused = |message: String| SyntaxError::new(source, span, message);
    let (word, value) = match trimmed.split_once('=') {
        None => (trimmed, OptionValue::Absent),
        Some((word, value)) => {
            let written = value.trim();
            let at = start + trimmed.len() - value.trim_start().len();
            let value = match written.as_bytes() {
                [b'"', .., b'"'] => OptionValue::Text(lexeme::text(source, at + 1..at + written.len() - 1, &mut Vec::new())?),
                _ => OptionValue::Count(
                    written
                        .parse()
                        .map_err(|_| refused("the value of an option is a number or a quoted text".to_owned()))?,
                ),
            };
            (word.trim(), value)
        }
    };
    options.set_word(word, value).map_err(|message| {
        let error = refused(message);
        match closest_name(word, SchemaOptions::WORDS.into_iter()) {
            Some(near) if near != word => error.with_hint(format!("did you mean `{near}`?")),
            _ => error,
        }
    })
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

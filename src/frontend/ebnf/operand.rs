//! JSON Schemas as operands: `%json {"type": "integer"}`, or with options `%json(compact, draft = "7") {...}`.

use super::lexeme;
use super::operand_end::{KEYWORD, options, skip_blanks};
use crate::frontend::SyntaxError;
use crate::grammar::SchemaOperand;
use crate::schema_options::{OptionValue, SchemaOptions};
use crate::util::{Span, closest_name};
use core::ops::Range;

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
                [b'"', .., b'"'] => {
                    OptionValue::Text(lexeme::text(source, at + 1..at + written.len() - 1, &mut Vec::new())?)
                }
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

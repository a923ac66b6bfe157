//! Prints a JSON Schema among the operands of a grammar: `%json(compact) {"type": "integer"}`.
//!
//! Some inference servers rename the rules of a printed grammar by replacing words wherever they stand, schemas included. So a name of a rule that
//! is a word of a string in a schema is printed there with an escape: `root` as `\u0072oot`, which is the same string.

use super::{Grammar, SchemaOperand};
use crate::schema_options::OptionValue;
use core::fmt::Write as _;
use hashbrown::HashSet;

/// Appends the operand to `text`. Returns whether it has the same meaning when it is read again.
pub(super) fn print_schema(grammar: &Grammar, schema: &SchemaOperand, text: &mut String) -> bool {
    let names: HashSet<&str> = grammar.rules().iter().map(|rule| &*rule.name).collect();
    let words = schema.options().to_words();
    let is_exact = words.is_some();
    *text += "%json";
    for (index, (word, value)) in words.unwrap_or_default().into_iter().enumerate() {
        *text += if index == 0 { "(" } else { ", " };
        *text += word;
        match value {
            OptionValue::Absent => {}
            OptionValue::Count(count) => write!(text, " = {count}").expect("writing to a string succeeds"),
            OptionValue::Text(value) => {
                // The escapes of Rust are those of EBNF.
                write!(text, " = {value:?}").expect("writing to a string succeeds");
            }
        }
    }
    if text.ends_with("%json") {
        text.push(' ');
    } else {
        *text += ") ";
    }
    print_json(&names, schema.text(), text);
    let json = schema.text().trim_matches([' ', '\t', '\n', '\r']);
    is_exact && (json.starts_with('{') || matches!(json, "true" | "false"))
}

/// Appends a JSON text, with the names of rules in its strings escaped.
fn print_json(names: &HashSet<&str>, json: &str, text: &mut String) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = json.as_bytes();
    let (mut at, mut is_in_string) = (0, false);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                is_in_string = !is_in_string;
                at += 1;
            }
            b'\\' => at = (at + 2).min(bytes.len()),
            byte if is_word(byte) => {
                while at < bytes.len() && is_word(bytes[at]) {
                    at += 1;
                }
                if is_in_string && names.contains(&json[start..at]) {
                    write!(text, "\\u{byte:04x}").expect("writing to a string succeeds");
                    *text += &json[start + 1..at];
                    continue;
                }
            }
            _ => at += 1,
        }
        while !json.is_char_boundary(at) {
            at += 1;
        }
        *text += &json[start..at];
    }
}

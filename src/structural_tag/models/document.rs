//! Formats of structural tags as JSON texts.

use crate::util::json_string::push_quoted;

/// Returns the structural tag with a format.
pub(super) fn structural_tag(format: &str) -> String {
    format!(r#"{{"type": "structural_tag", "format": {format}}}"#)
}

/// Returns the format of one text.
pub(super) fn const_string(text: &str) -> String {
    format!(r#"{{"type": "const_string", "value": {}}}"#, quoted(text))
}

/// Returns the format of any text without some texts in it.
pub(super) fn any_text(excludes: &[&str]) -> String {
    format!(r#"{{"type": "any_text", "excludes": {}}}"#, strings(excludes))
}

/// Returns the format of what a regular expression matches.
pub(super) fn regex(pattern: &str) -> String {
    format!(r#"{{"type": "regex", "pattern": {}}}"#, quoted(pattern))
}

/// Returns the format of arguments that a schema accepts; the schema is JSON.
pub(super) fn json_schema(style: &str, schema: &str) -> String {
    format!(r#"{{"type": "json_schema", "style": {}, "json_schema": {schema}}}"#, quoted(style))
}

/// Returns the format of formats one behind the other.
pub(super) fn sequence(mut elements: Vec<String>) -> String {
    match elements.len() {
        1 => elements.remove(0),
        _ => format!(r#"{{"type": "sequence", "elements": [{}]}}"#, elements.join(", ")),
    }
}

/// Returns the format of one of some formats.
pub(super) fn one_of(mut elements: Vec<String>) -> String {
    match elements.len() {
        1 => elements.remove(0),
        _ => format!(r#"{{"type": "or", "elements": [{}]}}"#, elements.join(", ")),
    }
}

/// Returns the format of a format or nothing.
pub(super) fn optional(content: &str) -> String {
    format!(r#"{{"type": "optional", "content": {content}}}"#)
}

/// Returns the format of any number of copies.
pub(super) fn star(content: &str) -> String {
    format!(r#"{{"type": "star", "content": {content}}}"#)
}

/// Returns the format of `min` to `max` copies.
pub(super) fn repeat(content: &str, min: u32, max: u32) -> String {
    format!(r#"{{"type": "repeat", "min": {min}, "max": {max}, "content": {content}}}"#)
}

/// Returns the format of a begin, a content, and one of some ends, none of which occurs in the free text of the content.
pub(super) fn tag(begin: &str, content: &str, ends: &[&str]) -> String {
    format!(r#"{{"type": "tag", "begin": {}, "content": {content}, "end": {}}}"#, quoted(begin), strings(ends))
}

/// Returns the format of at least one of some tags, with a separator between them.
pub(super) fn tags_with_separator(tags: &[String], separator: &str) -> String {
    format!(
        r#"{{"type": "tags_with_separator", "at_least_one": true, "separator": {}, "tags": [{}]}}"#,
        quoted(separator),
        tags.join(", ")
    )
}

fn strings(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_quoted(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::{Json, Value};
    use crate::limits::Limits;

    #[test]
    fn quoted_texts_read_back_equal() {
        for text in ["", "a\"b\\c", "\n\t\0\x1f", "</｜DSML｜ calls>"] {
            let json = Json::parse(&quoted(text), &Limits::default()).unwrap();
            assert_eq!(json.value(json.root()), Value::String(text));
        }
    }
}

//! Where a text that is the beginning of a JSON document stops: the path to the value under way, and what of it is being written.
//!
//! One pass with a stack of open containers. The text need not be valid by any schema, only by JSON; of a text that is not the beginning of a document nothing is
//! said. White space may stand wherever JSON allows it.

use super::decimal::is_json_number;

/// A step from a value to one within it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// The value of a key, decoded.
    Key(Box<str>),
    /// An item, counted from 0.
    Item(usize),
}

/// What comes next, or is under way, at the end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Writing {
    /// A value begins.
    Value,
    /// A value begins, or the array ends, which has no items so far.
    FirstItem,
    /// A key begins, or the object ends, which has no members so far.
    FirstKey,
    /// A key begins, behind a comma.
    Key,
    /// A key is under way.
    InKey,
    /// A key is complete, and its colon comes next.
    Colon,
    /// A string is under way.
    InString,
    /// A number is under way, which may be complete.
    InNumber,
    /// `true`, `false` or `null` is under way.
    InLiteral,
    /// A member of an object is complete: a comma or the end of the object comes next.
    AfterMember,
    /// An item of an array is complete: a comma or the end of the array comes next.
    AfterItem,
    /// The document is complete.
    End,
}

/// Where a text stops within a JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The path from the root to the value that is under way or begins; for what belongs to a container, like a key or a comma, the container's.
    pub path: Vec<PathStep>,
    /// What comes next or is under way.
    pub writing: Writing,
    /// The keys of the object at the path that are complete, decoded, in order; none if the path leads to another value.
    pub keys: Vec<Box<str>>,
    /// The number of complete items of the array at the path.
    pub n_items: usize,
    /// Where in the text the string, key, number or literal begins that is under way; else the length of the text.
    pub start: usize,
}

/// An open container.
enum Open {
    Object { keys: Vec<Box<str>> },
    Array { n_items: usize },
}

impl TextPosition {
    /// Returns where a text stops; `None` if no JSON document begins with it.
    ///
    /// ```
    /// use maskwright::json_schema::{PathStep, TextPosition, Writing};
    /// let position = TextPosition::of(br#"{"tags": ["a", "b"#).unwrap();
    /// assert_eq!(position.path, [PathStep::Key("tags".into()), PathStep::Item(1)]);
    /// assert_eq!(position.writing, Writing::InString);
    /// assert!(TextPosition::of(b"[1,,").is_none());
    /// ```
    pub fn of(text: &[u8]) -> Option<TextPosition> {
        let mut open: Vec<Open> = Vec::new();
        let (mut writing, mut start, mut at) = (Writing::Value, 0, 0);
        while at < text.len() {
            let byte = text[at];
            let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            match writing {
                Writing::InKey | Writing::InString => {
                    at = string_end(text, start)?;
                    if text[at - 1] != b'"' || at == start + 1 || !is_closed(text, start, at) {
                        break;
                    }
                    let decoded: String = serde_json::from_slice(&text[start..at]).ok()?;
                    if writing == Writing::InString {
                        writing = after_value(&mut open);
                        continue;
                    }
                    let Some(Open::Object { keys }) = open.last_mut() else { return None };
                    keys.push(decoded.into());
                    writing = Writing::Colon;
                    continue;
                }
                Writing::InNumber => {
                    if matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') {
                        at += 1;
                        continue;
                    }
                    is_json_number(&text[start..at]).then_some(())?;
                    writing = after_value(&mut open);
                    continue;
                }
                Writing::InLiteral => {
                    let whole = literal(text[start])?;
                    let n_read = at - start;
                    if n_read == whole.len() {
                        writing = after_value(&mut open);
                        continue;
                    }
                    if whole.as_bytes()[n_read] != byte {
                        return None;
                    }
                    at += 1;
                    continue;
                }
                _ if is_space => {
                    at += 1;
                    continue;
                }
                Writing::FirstKey | Writing::AfterMember if byte == b'}' => {
                    open.pop();
                    writing = after_value(&mut open);
                }
                Writing::FirstItem | Writing::AfterItem if byte == b']' => {
                    open.pop();
                    writing = after_value(&mut open);
                }
                Writing::FirstKey | Writing::Key if byte == b'"' => (writing, start) = (Writing::InKey, at),
                Writing::Colon if byte == b':' => writing = Writing::Value,
                Writing::AfterMember if byte == b',' => writing = Writing::Key,
                Writing::AfterItem if byte == b',' => writing = Writing::Value,
                Writing::Value | Writing::FirstItem => {
                    start = at;
                    writing = match byte {
                        b'{' => {
                            open.push(Open::Object { keys: Vec::new() });
                            Writing::FirstKey
                        }
                        b'[' => {
                            open.push(Open::Array { n_items: 0 });
                            Writing::FirstItem
                        }
                        b'"' => Writing::InString,
                        b'-' | b'0'..=b'9' => Writing::InNumber,
                        b't' | b'f' | b'n' => Writing::InLiteral,
                        _ => return None,
                    };
                }
                _ => return None,
            }
            at += 1;
        }
        // A literal says itself that it is complete; a number at the end may go on.
        if writing == Writing::InLiteral && Some(text.len() - start) == literal(text[start]).map(str::len) {
            writing = after_value(&mut open);
        }
        let is_token = matches!(writing, Writing::InKey | Writing::InString | Writing::InNumber | Writing::InLiteral);
        Some(Self::new(open, writing, if is_token { start } else { text.len() }))
    }

    fn new(mut open: Vec<Open>, writing: Writing, start: usize) -> Self {
        let is_within = matches!(writing, Writing::Value | Writing::InString | Writing::InNumber | Writing::InLiteral);
        let (mut keys, mut n_items) = (Vec::new(), 0);
        let path_end = if is_within { open.len() } else { open.len().saturating_sub(1) };
        let step = |open: &Open| match open {
            // The key whose value is under way is the last one.
            Open::Object { keys } => PathStep::Key(keys.last().cloned().unwrap_or_default()),
            Open::Array { n_items } => PathStep::Item(*n_items),
        };
        let path = open[..path_end].iter().map(step).collect();
        if !is_within {
            match open.pop() {
                Some(Open::Object { keys: read }) => keys = read,
                Some(Open::Array { n_items: read }) => n_items = read,
                None => {}
            }
        }
        TextPosition { path, writing, keys, n_items, start }
    }
}

/// Counts a complete value, and returns what comes next.
fn after_value(open: &mut [Open]) -> Writing {
    match open.last_mut() {
        None => Writing::End,
        Some(Open::Object { .. }) => Writing::AfterMember,
        Some(Open::Array { n_items }) => {
            *n_items += 1;
            Writing::AfterItem
        }
    }
}

fn literal(first: u8) -> Option<&'static str> {
    ["true", "false", "null"].into_iter().find(|word| word.as_bytes()[0] == first)
}

/// Returns the end of the string that begins at `start`: behind its closing quote, or the end of the text. `None` if a character can't stand in a string.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            0..0x20 => return None,
            _ => at += 1,
        }
    }
    Some(text.len())
}

/// Returns whether the last quote of a string is not an escaped one.
fn is_closed(text: &[u8], start: usize, end: usize) -> bool {
    let n_slashes = text[start + 1..end - 1].iter().rev().take_while(|&&byte| byte == b'\\').count();
    n_slashes.is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> (String, Writing) {
        let position = TextPosition::of(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
        let steps = position.path.iter().map(|step| match step {
            PathStep::Key(key) => format!("/{key}"),
            PathStep::Item(index) => format!("/{index}"),
        });
        (steps.collect(), position.writing)
    }

    #[test]
    fn texts_stop_anywhere() {
        for (text, path, writing) in [
            ("", "", Writing::Value),
            (" {", "", Writing::FirstKey),
            ("{\"a", "", Writing::InKey),
            ("{\"a\"", "", Writing::Colon),
            ("{\"a\" :", "/a", Writing::Value),
            ("{\"a\": -1", "/a", Writing::InNumber),
            ("{\"a\": 1 ", "", Writing::AfterMember),
            ("{\"a\": 1,", "", Writing::Key),
            ("{\"a\": tru", "/a", Writing::InLiteral),
            ("{\"a\": true", "", Writing::AfterMember),
            ("{\"a\": [", "/a", Writing::FirstItem),
            ("{\"a\": [1, ", "/a/1", Writing::Value),
            ("{\"a\": [1, {}", "/a", Writing::AfterItem),
            ("{\"a\": [[], {\"b~\\u0041\": \"x\\\"", "/a/1/b~A", Writing::InString),
            ("{\"a\": \"\\\\\"", "", Writing::AfterMember),
            ("[{}]\n", "", Writing::End),
            ("\"", "", Writing::InString),
            ("12", "", Writing::InNumber),
            ("[1e-99999999999999999999, 1", "/1", Writing::InNumber),
        ] {
            assert_eq!(at(text), (path.to_owned(), writing), "{text}");
        }
        for text in ["x", "[1,,", "{1", "{\"a\" 1", "[1 2", "{} {", "01 ", "trx", "{\"a\": 1,}", "\"\n"] {
            assert_eq!(TextPosition::of(text.as_bytes()), None, "{text}");
        }
        let position = TextPosition::of(br#"{"a": 1, "b": [1], "c"#).unwrap();
        assert_eq!(position.keys, ["a".into(), "b".into()]);
        assert_eq!(position.start, 19);
    }

    #[test]
    fn every_prefix_of_a_document_stops_somewhere() {
        let text = r#"{"a\n": [1.5e-3, "é\u00e9", {"b": null}, []], "": false, "c": {"d": "\\\""}} "#;
        let whole: serde_json::Value = serde_json::from_str(text).unwrap();
        assert!(whole.is_object());
        for end in 0..=text.len() {
            assert!(TextPosition::of(&text.as_bytes()[..end]).is_some(), "{end}");
        }
        assert!(TextPosition::of(&vec![b'['; 300_000]).is_some());
    }
}

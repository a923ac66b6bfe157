//! JSON strings, and the small objects of `%regex`, `%llguidance` and `%grammar_options`.
//!
//! These objects are flat, so that their values are told apart without a tree: a literal, a string, or a list of strings.

use crate::frontend::SyntaxError;
use crate::util::Span;
use crate::util::json_string::{EscapeError, read_escape};
use core::ops::Range;

/// A value of a member.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    /// Anything else.
    Other,
}

/// A member of an object: its key, its value, and where they are.
#[derive(Debug)]
pub(super) struct Member {
    pub key: String,
    pub value: Value,
    pub span: Span,
}

/// Reads the text between the quotes of a JSON string, with `\xHH` besides the escapes of JSON.
pub(super) fn text(source: &str, inside: Range<usize>) -> Result<String, SyntaxError> {
    let mut text = String::with_capacity(inside.len());
    let mut at = inside.start;
    while at < inside.end {
        let rest = &source[at..inside.end];
        let length = rest.find('\\').unwrap_or(rest.len());
        if let Some(place) = rest[..length].find(|c: char| c < ' ' && c != '\t') {
            let span = Span::new(at + place, at + place + 1);
            return Err(SyntaxError::new(source, span, "control characters are escaped in strings"));
        }
        text.push_str(&rest[..length]);
        at += length;
        if at < inside.end {
            let (c, end) = escape(source, at, inside.end)?;
            text.push(c);
            at = end;
        }
    }
    Ok(text)
}

/// Reads the escape at `start` and returns where it ends.
fn escape(source: &str, start: usize, end: usize) -> Result<(char, usize), SyntaxError> {
    let behind = &source[start + 1..end];
    let after = start + 1 + behind.chars().next().map_or(0, char::len_utf8);
    let refuse = |message: String, stop: usize| SyntaxError::new(source, Span::new(start, stop), message);
    if let Some(digits) = behind.strip_prefix('x') {
        let digits = digits.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let digits = digits.ok_or_else(|| refuse("`\\x` needs 2 hexadecimal digits".to_owned(), after))?;
        let value = u8::from_str_radix(digits, 16).expect("two hexadecimal digits");
        return Ok((char::from(value), after + 2));
    }
    read_escape(behind.as_bytes()).map(|(c, n_bytes)| (c, start + 1 + n_bytes)).map_err(|error| match error {
        EscapeError::Digits => refuse("`\\u` needs 4 hexadecimal digits".to_owned(), after),
        EscapeError::HalfOfPair(unit) => {
            refuse(format!("U+{unit:04X} is half of a surrogate pair, not a character"), after + 4)
        }
        EscapeError::Unknown => {
            let written = source[start + 1..after].escape_debug();
            refuse(format!("unknown escape `\\{written}`"), after)
                .with_hint("escapes are those of JSON and `\\xHH`; a backslash is written `\\\\`")
        }
    })
}

/// Reads the members of a flat object, given the inside of its braces.
pub(super) fn members(source: &str, inside: Range<usize>) -> Result<Vec<Member>, SyntaxError> {
    let mut reader = Reader { source, at: inside.start, end: inside.end };
    let mut members = Vec::new();
    reader.skip_blank();
    if reader.at == reader.end {
        return Ok(members);
    }
    loop {
        reader.skip_blank();
        let start = reader.at;
        let key = reader.string()?;
        reader.expect(':')?;
        let value = reader.value()?;
        members.push(Member { key, value, span: Span::new(start, reader.at) });
        reader.skip_blank();
        if reader.at == reader.end {
            return Ok(members);
        }
        reader.expect(',')?;
    }
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
    end: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..self.end]
    }

    fn skip_blank(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn refuse(&self, expected: &str) -> SyntaxError {
        let width = self.rest().chars().next().map_or(0, char::len_utf8);
        SyntaxError::new(self.source, Span::new(self.at, self.at + width), format!("expected {expected}"))
    }

    fn expect(&mut self, c: char) -> Result<(), SyntaxError> {
        self.skip_blank();
        if !self.rest().starts_with(c) {
            return Err(self.refuse(&format!("`{c}`")));
        }
        self.at += c.len_utf8();
        Ok(())
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        self.skip_blank();
        if !self.rest().starts_with('"') {
            return Err(self.refuse("a string"));
        }
        let start = self.at + 1;
        let bytes = &self.source.as_bytes()[..self.end];
        let mut at = start;
        while bytes.get(at).is_some_and(|&byte| byte != b'"') {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        if at >= self.end {
            return Err(self.refuse("a string that is closed"));
        }
        self.at = at + 1;
        text(self.source, start..at)
    }

    fn value(&mut self) -> Result<Value, SyntaxError> {
        self.skip_blank();
        if self.rest().starts_with('"') {
            return Ok(Value::Text(self.string()?));
        }
        if self.rest().starts_with('[') {
            self.at += 1;
            let mut texts = Vec::new();
            self.skip_blank();
            while !self.rest().starts_with(']') {
                if !texts.is_empty() {
                    self.expect(',')?;
                }
                texts.push(self.string()?);
                self.skip_blank();
            }
            self.at += 1;
            return Ok(Value::Texts(texts));
        }
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        let length = self.rest().find(|c| !word(c)).unwrap_or(self.rest().len());
        let value = match &self.rest()[..length] {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "" => return Err(self.refuse("`true`, `false`, a string or a list of strings")),
            _ => Value::Other,
        };
        self.at += length;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_json() {
        let source = r#"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\x41é"#;
        assert_eq!(text(source, 0..source.len()).unwrap(), "\"\\/\u{8}\u{C}\n\r\té😀Aé");
        for bad in [r"\ud800", r"\udc00\ud800", r"\u12", r"\q", r"\x4", r"\ud83dx", r"\ud83d\u0041", "\n"] {
            assert!(text(bad, 0..bad.len()).is_err(), "{bad}");
        }
    }

    #[test]
    fn objects_are_flat() {
        let source = r#" "a" : true, "b":["x", "y\n"],"c":"z","d": 1.5 , "e":[]"#;
        let read: Vec<_> = members(source, 0..source.len()).unwrap().into_iter().map(|m| (m.key, m.value)).collect();
        let texts = |texts: &[&str]| Value::Texts(texts.iter().map(|&text| text.to_owned()).collect());
        let expected = [
            ("a".to_owned(), Value::Bool(true)),
            ("b".to_owned(), texts(&["x", "y\n"])),
            ("c".to_owned(), Value::Text("z".to_owned())),
            ("d".to_owned(), Value::Other),
            ("e".to_owned(), texts(&[])),
        ];
        assert_eq!(read, expected);
        for bad in [
            "a",
            "\"a\"",
            "\"a\":",
            "\"a\":1 2",
            "\"a\":{}",
            "\"a\":[1]",
            "\"a\":[\"b\" \"c\"]",
            "\"a\":\"b",
            "\"a\":1,",
        ] {
            assert!(members(bad, 0..bad.len()).is_err(), "{bad}");
        }
    }
}

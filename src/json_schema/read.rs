//! The parser of JSON: from a text, or a `serde_json::Value`, to a [`Json`] document.
//!
//! The parser accepts RFC 8259 and nothing else: no comments, no trailing commas, no lone surrogates. It has an explicit
//! stack of open arrays and objects, so that nesting costs heap memory and never call stack. Children are on two
//! stacks until their parent ends and then move into the arena together, which makes the children of a value one
//! slice.

use super::decimal::{Decimal, Shape};
use super::error::SchemaError;
use super::value::{Json, Kind, Member, Text, ValueId};
use crate::Limits;
use crate::frontend::SyntaxError;
use crate::util::Span;
use crate::util::json_string::{EscapeError, read_escape};
use std::sync::Arc;

impl Json {
    /// Parses a text as one JSON value.
    ///
    /// # Errors
    /// If the text is not JSON, or exceeds `source_bytes_max`, `json_nesting_max`, `json_values_max` or
    /// `number_digits_max` of the limits.
    pub fn parse(source: &str, limits: &Limits) -> Result<Json, SchemaError> {
        Json::parse_within(source, limits, &|_| true)
    }

    /// As [`Self::parse`], but tells `go_on` now and then how many bytes were read since, and asks whether to go on. If not there is an error
    /// that is of no use to anybody: who stops knows why.
    pub(crate) fn parse_within(
        source: &str,
        limits: &Limits,
        go_on: &dyn Fn(usize) -> bool,
    ) -> Result<Json, SchemaError> {
        Json::outline(source, &[], limits, go_on)
    }

    /// As [`Self::parse_within`], but objects that are the values of some keys are checked and left unread, with no members: [`Self::part`] reads one. Of a document whose
    /// schemas are compiled by themselves nearly everything is in these.
    pub(crate) fn outline(
        source: &str,
        unread: &[&str],
        limits: &Limits,
        go_on: &dyn Fn(usize) -> bool,
    ) -> Result<Json, SchemaError> {
        let bytes_max = limits.source_bytes_max.min(u32::MAX as usize - 1);
        if source.len() > bytes_max {
            return Err(SchemaError::too_much("source_bytes_max", source.len(), bytes_max));
        }
        let mut reader = Reader::new(Json::empty(source.into(), "".into(), source.len()), source, 0, limits, go_on);
        reader.unread = unread;
        reader.document()?;
        Ok(reader.json)
    }

    /// Reads a value of this document as a document of its own, with the same spans and JSON pointers.
    pub(crate) fn part(
        &self,
        id: ValueId,
        limits: &Limits,
        go_on: &dyn Fn(usize) -> bool,
    ) -> Result<Json, SchemaError> {
        let (start, end) = (self.span(id).start as usize, self.span(id).end as usize);
        let json = Json::empty(Arc::clone(&self.source), self.pointer(id).into(), end - start);
        let mut reader = Reader::new(json, &self.source[..end], start, limits, go_on);
        reader.document()?;
        Ok(reader.json)
    }

    /// Copies a `serde_json` value, which has no spans and no duplicate keys.
    ///
    /// # Errors
    /// If the value exceeds `json_nesting_max`, `json_values_max` or `number_digits_max` of the limits.
    pub fn from_value(value: &serde_json::Value, limits: &Limits) -> Result<Json, SchemaError> {
        copy(value, limits)
    }
}

/// The stack of open arrays and objects, the outermost first.
#[derive(Default)]
struct Open {
    frames: Vec<Frame>,
    items: Vec<ValueId>,
    members: Vec<Member>,
}

struct Frame {
    id: ValueId,
    is_object: bool,
    /// Where the children begin on their stack.
    first: usize,
    /// The key whose value comes next.
    key: Option<(Text, Span)>,
}

impl Open {
    fn begin(&mut self, id: ValueId, is_object: bool) {
        let first = if is_object { self.members.len() } else { self.items.len() };
        self.frames.push(Frame { id, is_object, first, key: None });
    }

    /// Adds a value to the innermost open array or object.
    fn add(&mut self, value: ValueId) {
        let Some(frame) = self.frames.last_mut() else { return };
        match frame.key.take() {
            Some((key, key_span)) => self.members.push(Member { key, key_span, value }),
            None => self.items.push(value),
        }
    }

    /// Ends the innermost and returns it.
    fn end(&mut self, json: &mut Json, end: usize) -> ValueId {
        let frame = self.frames.pop().expect("something is open");
        if frame.is_object {
            json.close_object(frame.id, &self.members[frame.first..], end);
            self.members.truncate(frame.first);
        } else {
            json.close_array(frame.id, &self.items[frame.first..], end);
            self.items.truncate(frame.first);
        }
        frame.id
    }
}

fn check_bounds(n_values: usize, open: &Open, limits: &Limits) -> Result<(), SchemaError> {
    if open.frames.len() > limits.json_nesting_max {
        return Err(SchemaError::too_much("json_nesting_max", open.frames.len(), limits.json_nesting_max));
    }
    let values_max = limits.json_values_max.min(u32::MAX as usize - 1);
    if n_values > values_max {
        return Err(SchemaError::too_much("json_values_max", n_values, values_max));
    }
    Ok(())
}

struct Reader<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    limits: &'a Limits,
    json: Json,
    open: Open,
    /// The keys whose objects are left unread, and how many values are in such objects so far.
    unread: &'a [&'a str],
    n_unread: usize,
    go_on: &'a dyn Fn(usize) -> bool,
    /// Where `go_on` was asked last.
    looked_at: usize,
}

/// Bytes between two questions whether to go on.
const BYTES_PER_LOOK: usize = 1 << 14;

impl<'a> Reader<'a> {
    fn new(json: Json, source: &'a str, at: usize, limits: &'a Limits, go_on: &'a dyn Fn(usize) -> bool) -> Self {
        // Capacity for most documents.
        let open =
            Open { frames: Vec::with_capacity(16), items: Vec::with_capacity(16), members: Vec::with_capacity(32) };
        let bytes = source.as_bytes();
        Reader { source, bytes, at, limits, json, open, unread: &[], n_unread: 0, go_on, looked_at: at }
    }

    fn document(&mut self) -> Result<(), SchemaError> {
        self.skip_white();
        self.whole_value::<true>()?;
        self.skip_white();
        if self.at < self.bytes.len() { self.expected("the end of the text") } else { Ok(()) }
    }

    /// Reads a value with all that is in it. If it isn't stored, it is only checked.
    fn whole_value<const IS_STORED: bool>(&mut self) -> Result<(), SchemaError> {
        let depth = self.open.frames.len();
        loop {
            if self.at - self.looked_at >= BYTES_PER_LOOK {
                if !(self.go_on)(self.at - self.looked_at) {
                    return Err(SchemaError::interrupted());
                }
                self.looked_at = self.at;
            }
            // A value begins here; a scalar or an empty container ends at once.
            let mut ended = match IS_STORED && self.is_left_unread() {
                true => self.pass_over()?,
                false => self.value::<IS_STORED>()?,
            };
            while ended {
                if self.open.frames.len() == depth {
                    return Ok(());
                }
                self.skip_white();
                let frame = self.open.frames.last().expect("the value is open");
                let (close, is_object) = if frame.is_object { (b'}', true) } else { (b']', false) };
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.skip_white();
                        if is_object {
                            self.key::<IS_STORED>("a key in quotes")?;
                        }
                        ended = false;
                    }
                    Some(byte) if byte == close => self.end::<IS_STORED>(),
                    _ => return self.expected(if is_object { "`,` or `}`" } else { "`,` or `]`" }),
                }
            }
        }
    }

    /// Tells whether an object begins here that is left unread.
    fn is_left_unread(&self) -> bool {
        let key = || self.open.frames.last().and_then(|frame| frame.key);
        let is_listed = |text: Text| self.unread.contains(&&self.json.texts[text.start as usize..text.end as usize]);
        !self.unread.is_empty() && self.peek() == Some(b'{') && key().is_some_and(|(text, _)| is_listed(text))
    }

    /// Checks an object and stores nothing of it but its span. Returns that it has ended.
    fn pass_over(&mut self) -> Result<bool, SchemaError> {
        let start = self.at;
        self.whole_value::<false>()?;
        // The object itself is stored.
        self.n_unread -= 1;
        let id = self.json.push(Kind::Null, Span::new(start, self.at));
        self.json.close_object(id, &[], self.at);
        self.open.add(id);
        Ok(true)
    }

    /// Reads a scalar, an empty container, or the beginning of another one up to its first value; returns whether it
    /// has ended.
    fn value<const IS_STORED: bool>(&mut self) -> Result<bool, SchemaError> {
        let start = self.at;
        let kind = match self.peek() {
            Some(open @ (b'{' | b'[')) => {
                self.at += 1;
                let id = if IS_STORED { self.json.push(Kind::Null, Span::new(start, self.at)) } else { ValueId(0) };
                self.open.begin(id, open == b'{');
                self.check::<IS_STORED>(start)?;
                self.skip_white();
                if self.peek() == Some(open + 2) {
                    self.end::<IS_STORED>();
                    return Ok(true);
                }
                if open == b'{' {
                    self.key::<IS_STORED>("a key in quotes or `}`")?;
                }
                return Ok(false);
            }
            Some(b'"') => Kind::String(self.string::<IS_STORED>()?),
            Some(b'-' | b'0'..=b'9') => {
                let number = self.number()?;
                if IS_STORED { self.json.number(number) } else { Kind::Null }
            }
            _ => {
                let words = [("true", Kind::Bool(true)), ("false", Kind::Bool(false)), ("null", Kind::Null)];
                let Some((word, kind)) = words.into_iter().find(|(word, _)| self.source[start..].starts_with(word))
                else {
                    return self.expected("a value");
                };
                self.at += word.len();
                kind
            }
        };
        let id = IS_STORED.then(|| self.json.push(kind, Span::new(start, self.at)));
        self.check::<IS_STORED>(start)?;
        id.into_iter().for_each(|id| self.open.add(id));
        Ok(true)
    }

    /// Ends the innermost array or object at its closing bracket.
    fn end<const IS_STORED: bool>(&mut self) {
        self.at += 1;
        if IS_STORED {
            let id = self.open.end(&mut self.json, self.at);
            self.open.add(id);
        } else {
            self.open.frames.pop();
        }
    }

    /// Reads a key and its colon.
    fn key<const IS_STORED: bool>(&mut self, expected: &str) -> Result<(), SchemaError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.expected(expected);
        }
        let text = self.string::<IS_STORED>()?;
        if IS_STORED {
            let key = Some((text, Span::new(start, self.at)));
            self.open.frames.last_mut().expect("an object is open").key = key;
        }
        self.skip_white();
        if self.peek() != Some(b':') {
            return self.expected("`:`");
        }
        self.at += 1;
        self.skip_white();
        Ok(())
    }

    fn number(&mut self) -> Result<Decimal, SchemaError> {
        let start = self.at;
        let shape = match Shape::scan(&self.bytes[start..]) {
            Ok(shape) => shape,
            Err(offset) => {
                self.at += offset;
                return self.expected("a digit");
            }
        };
        self.at += shape.end;
        if self.bytes[start..self.at].iter().all(|&b| b == b'0' || b == b'-')
            && matches!(self.peek(), Some(b'0'..=b'9'))
        {
            return Err(self.error(Span::new(start, self.at), "a number can't begin with a needless 0"));
        }
        Decimal::parse(&self.source[start..self.at], self.limits.number_digits_max).map_err(|error| {
            let span = Span::new(start, self.at);
            match error.n_digits() {
                Some((given, limit)) => {
                    SchemaError::too_much("number_digits_max", given, limit).in_source(self.source, span)
                }
                None => self.error(span, &error.to_string()),
            }
        })
    }

    /// Reads a string with its quotes, and stores it among the texts of the document.
    fn string<const IS_STORED: bool>(&mut self) -> Result<Text, SchemaError> {
        let quote = self.at;
        let start = self.json.texts.len() as u32;
        self.at += 1;
        loop {
            let run = self.at;
            self.at += n_plain(&self.bytes[run..]);
            if IS_STORED {
                self.json.texts.push_str(&self.source[run..self.at]);
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Text { start, end: self.json.texts.len() as u32 });
                }
                Some(b'\\') => {
                    let c = self.escape()?;
                    if IS_STORED {
                        self.json.texts.push(c);
                    }
                }
                Some(control) => {
                    let message = format!("control character U+{control:04X} in a string must be written as an escape");
                    return Err(self.error(Span::new(self.at, self.at + 1), &message));
                }
                None => return Err(self.error(Span::new(quote, quote + 1), "this string has no end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SchemaError> {
        let start = self.at;
        let (n_bytes, message) = match read_escape(&self.bytes[start + 1..]) {
            Ok((character, n_bytes)) => {
                self.at += 1 + n_bytes;
                return Ok(character);
            }
            Err(EscapeError::Unknown) => {
                (1 + self.source[start + 1..].chars().next().map_or(0, char::len_utf8), "unknown escape in a string")
            }
            Err(EscapeError::Digits) => (2, "`\\u` needs four hexadecimal digits"),
            Err(EscapeError::HalfOfPair(_)) => (6, "half of a surrogate pair"),
        };
        Err(self.error(Span::new(start, start + n_bytes), message))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_white(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Counts a value that began there.
    fn check<const IS_STORED: bool>(&mut self, start: usize) -> Result<(), SchemaError> {
        self.n_unread += usize::from(!IS_STORED);
        let n_values = self.json.n_values() + self.n_unread;
        let span = Span::new(start, self.at);
        check_bounds(n_values, &self.open, self.limits).map_err(|error| error.in_source(self.source, span))
    }

    fn expected<T>(&self, what: &str) -> Result<T, SchemaError> {
        let next = self.source[self.at..].chars().next();
        let found = next.map_or("the end of the text".to_owned(), |c| format!("{c:?}"));
        let span = Span::new(self.at, self.at + next.map_or(0, char::len_utf8));
        Err(self.error(span, &format!("expected {what}, found {found}")))
    }

    fn error(&self, span: Span, message: &str) -> SchemaError {
        SchemaError::syntax(SyntaxError::new(self.source, span, message))
    }
}

fn copy(value: &serde_json::Value, limits: &Limits) -> Result<Json, SchemaError> {
    use serde_json::Value as Serde;
    enum Task<'a> {
        Value(&'a Serde),
        Member(&'a str, &'a Serde),
        End,
    }
    let mut json = Json::empty("".into(), "".into(), 0);
    let mut open = Open::default();
    let mut tasks = vec![Task::Value(value)];
    let push_text = |json: &mut Json, text: &str| {
        let start = json.texts.len();
        let all = u32::try_from(start + text.len());
        let end = all.map_err(|_| SchemaError::too_much("source_bytes_max", start + text.len(), u32::MAX as usize))?;
        json.texts.push_str(text);
        Ok(Text { start: start as u32, end })
    };
    while let Some(task) = tasks.pop() {
        let value = match task {
            Task::End => {
                let id = open.end(&mut json, 0);
                open.add(id);
                continue;
            }
            Task::Member(key, value) => {
                let key = push_text(&mut json, key)?;
                open.frames.last_mut().expect("an object is open").key = Some((key, Span::default()));
                value
            }
            Task::Value(value) => value,
        };
        let id = match value {
            Serde::Null => json.push(Kind::Null, Span::default()),
            Serde::Bool(b) => json.push(Kind::Bool(*b), Span::default()),
            Serde::Number(number) => {
                let text = number.to_string();
                let number =
                    Decimal::parse(&text, limits.number_digits_max).map_err(|error| match error.n_digits() {
                        Some((given, limit)) => SchemaError::too_much("number_digits_max", given, limit),
                        None => {
                            SchemaError::syntax(SyntaxError::new(&text, Span::new(0, text.len()), error.to_string()))
                        }
                    })?;
                let number = json.number(number);
                json.push(number, Span::default())
            }
            Serde::String(text) => {
                let text = push_text(&mut json, text)?;
                json.push(Kind::String(text), Span::default())
            }
            Serde::Array(items) => {
                let id = json.push(Kind::Null, Span::default());
                open.begin(id, false);
                tasks.push(Task::End);
                tasks.extend(items.iter().rev().map(Task::Value));
                check_bounds(json.n_values(), &open, limits)?;
                continue;
            }
            Serde::Object(members) => {
                let id = json.push(Kind::Null, Span::default());
                open.begin(id, true);
                tasks.push(Task::End);
                let first = tasks.len();
                tasks.extend(members.iter().map(|(key, value)| Task::Member(key, value)));
                tasks[first..].reverse();
                check_bounds(json.n_values(), &open, limits)?;
                continue;
            }
        };
        check_bounds(json.n_values(), &open, limits)?;
        open.add(id);
    }
    Ok(json)
}

/// Returns how many bytes come before the first that is a quote, a backslash or a control character.
fn n_plain(bytes: &[u8]) -> usize {
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    // Eight bytes at a time. A byte is less than `n` if subtracting `n` borrows; a borrow affects only the bytes above
    // (Anderson, "Bit Twiddling Hacks": determine if a word has a byte less than n).
    const ONES: u64 = u64::MAX / 255;
    let less = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word & (ONES << 7);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let special = |byte: u8| less(word ^ (ONES * u64::from(byte)), 1);
        let found = less(word, 0x20) | special(b'"') | special(b'\\');
        if found != 0 {
            return 8 * index + found.trailing_zeros() as usize / 8;
        }
    }
    8 * words.len() + rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;
    use proptest::prelude::*;

    fn read(source: &str) -> Json {
        Json::parse(source, &Limits::default()).unwrap()
    }

    fn refusal(source: &str) -> String {
        Json::parse(source, &Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn keeps_places_order_and_repeated_keys() {
        let source = " {\"b\": [1, {\"x\": \"\\u00e9\"}],\n \"a\": null, \"b\": true}";
        let json = read(source);
        let Value::Object(members) = json.value(json.root()) else { panic!() };
        assert_eq!(members.iter().map(|m| json.key(m)).collect::<Vec<_>>(), ["b", "a", "b"]);
        let again = json.duplicates();
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].key_span.line_column(source), (2, 13));
        assert_eq!(json.member(json.root(), "b"), Some(again[0].value));
        let Value::Array(items) = json.value(members[0].value) else { panic!() };
        let x = json.member(items[1], "x").unwrap();
        assert_eq!(json.value(x), Value::String("é"));
        assert_eq!(json.pointer(x), "/b/1/x");
        assert_eq!(json.key_of(x), Some("x"));
        let span = json.span(items[1]);
        assert_eq!(&source[span.start as usize..span.end as usize], "{\"x\": \"\\u00e9\"}");
        assert_eq!(json.span(json.root()), Span::new(1, source.len()));
    }

    #[test]
    fn refuses_with_a_place() {
        for (source, message) in [
            ("", "expected a value, found the end of the text at line 1, column 1"),
            ("[1,\n 2,]", "expected a value, found ']' at line 2, column 4"),
            ("{\"a\":1,}", "expected a key in quotes, found '}' at line 1, column 8"),
            ("{\"a\" 1}", "expected `:`, found '1' at line 1, column 6"),
            ("[1 2]", "expected `,` or `]`, found '2' at line 1, column 4"),
            ("{\"a\":1 \"b\"}", "expected `,` or `}`, found '\"' at line 1, column 8"),
            ("[1}", "expected `,` or `]`, found '}' at line 1, column 3"),
            ("{a:1}", "expected a key in quotes or `}`, found 'a' at line 1, column 2"),
            ("1 2", "expected the end of the text, found '2' at line 1, column 3"),
            ("nul", "expected a value, found 'n' at line 1, column 1"),
            ("truex", "expected the end of the text, found 'x' at line 1, column 5"),
            ("01", "a number can't begin with a needless 0 at line 1, column 1"),
            ("-", "expected a digit, found the end of the text at line 1, column 2"),
            ("1.e5", "expected a digit, found 'e' at line 1, column 3"),
            ("\"é\\x\"", "unknown escape in a string at line 1, column 3"),
            ("\"\\u12g4\"", "`\\u` needs four hexadecimal digits at line 1, column 2"),
            ("\"\\ud800\"", "half of a surrogate pair at line 1, column 2"),
            ("\"\\ud800\\u0041\"", "half of a surrogate pair at line 1, column 2"),
            ("\"\\ude00\\ud83d\"", "half of a surrogate pair at line 1, column 2"),
            ("\"\n\"", "control character U+000A in a string must be written as an escape at line 1, column 2"),
            ("[\"\0\"]", "control character U+0000 in a string must be written as an escape at line 1, column 3"),
            ("\0", "expected a value, found '\\0' at line 1, column 1"),
            ("\u{feff}1", "expected a value, found '\\u{feff}' at line 1, column 1"),
            (" \"abc", "this string has no end at line 1, column 2"),
            ("1e9999999999999999999", "a power of ten beyond 1000000000000000 at line 1, column 1"),
        ] {
            assert_eq!(refusal(source), message, "{source:?}");
        }
        let error = Json::parse("[1,\n x]", &Limits::default()).unwrap_err();
        assert!(format!("{error:#}").ends_with("\n 2 |  x]\n   |  ^"), "{error:#}");
    }

    #[test]
    fn decodes_strings() {
        let json = read(r#"["\ud83d\ude00","\"\\\/\b\f\n\r\t","a\u0000b","\u007f"]"#);
        let Value::Array(items) = json.value(json.root()) else { panic!() };
        let texts: Vec<_> = items.iter().map(|&item| json.value(item)).collect();
        let expected = ["😀", "\"\\/\u{8}\u{c}\n\r\t", "a\0b", "\u{7f}"].map(Value::String);
        assert_eq!(texts, expected);
    }

    #[test]
    fn pointers_lead_back() {
        let json = read(r#"{"": {"~1/": [[], {"00": 5}]}, "0": 1}"#);
        for id in (0..json.n_values()).map(ValueId::new) {
            assert_eq!(json.at_pointer(&json.pointer(id)), Some(id));
        }
        assert_eq!(json.at_pointer("//~01~1/1/00").map(|id| json.to_json(id)), Some("5".to_owned()));
        for pointer in
            ["x", "/x", "//~01~1/01", "//~01~1/2", "//~01~1/-", "//~01~1/+1", "/0/", "//~01~1/99999999999999999999"]
        {
            assert_eq!(json.at_pointer(pointer), None, "{pointer}");
        }
    }

    #[test]
    fn equality_is_by_value() {
        for (a, b, verdict) in [
            ("1", "1.0", true),
            ("[1, 2]", "[2, 1]", false),
            (r#"{"a": 1, "b": [1e1]}"#, r#"{"b": [10.0], "a": 1}"#, true),
            (r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#, false),
            (r#"{"a": 1, "b": 1}"#, r#"{"a": 1}"#, false),
            (r#"{"a": 1, "a": 2}"#, r#"{"a": 2}"#, true),
            (r#"{"a": 1, "a": 2}"#, r#"{"a": 1, "b": 2}"#, false),
            ("0", "false", false),
            ("\"1\"", "1", false),
            ("[]", "{}", false),
            ("[[]]", "[[[]]]", false),
        ] {
            assert_eq!(read(a) == read(b), verdict, "{a} {b}");
            assert_eq!(read(b) == read(a), verdict, "{b} {a}");
        }
    }

    #[test]
    fn wide_objects_are_searched() {
        let keys = (0..50_000).map(|i| format!("\"k{}\":{i}", (i * 7919) % 50_000)).collect::<Vec<_>>();
        let json = read(&format!("{{{},\"k3\":\"again\"}}", keys.join(",")));
        for i in 0..50_000 {
            let value = json.member(json.root(), &format!("k{}", (i * 7919) % 50_000)).unwrap();
            assert_eq!(value.index(), if (i * 7919) % 50_000 == 3 { 50_001 } else { i + 1 });
        }
        assert_eq!(json.member(json.root(), "k50000"), None);
        assert_eq!(json.member(json.root(), ""), None);
        assert_eq!(json.duplicates().len(), 1);
    }

    #[test]
    fn depth_costs_no_stack() {
        let n = 60_000;
        let source = format!("{}1{}", "[{\"a\":".repeat(n / 2), "}]".repeat(n / 2));
        let json = read(&source);
        assert_eq!(json.n_values(), n + 1);
        assert_eq!(json.to_string(), source);
        assert!(json.clone() == json);
        assert_eq!(json.at_pointer(&json.pointer(ValueId::new(n))), Some(ValueId::new(n)));
        let mut value = serde_json::Value::Null;
        for _ in 0..10_000 {
            value = serde_json::Value::Array(vec![value]);
        }
        let copied = Json::from_value(&value, &Limits::default()).unwrap();
        assert_eq!(copied.n_values(), 10_001);
        while let serde_json::Value::Array(mut items) = value {
            value = items.pop().unwrap();
        }
    }

    #[test]
    fn bounds_are_named() {
        let limits = Limits { json_nesting_max: 3, json_values_max: 5, number_digits_max: 4, ..Limits::default() };
        let bound = |source: &str| Json::parse(source, &limits).err().and_then(|e| e.limit());
        assert_eq!(bound("[[[1]]]"), None);
        assert_eq!(bound("[[[[1]]]]"), Some(("json_nesting_max", 4, 3)));
        assert_eq!(bound("[1,1,1,1]"), None);
        assert_eq!(bound("[1,1,1,1,1]"), Some(("json_values_max", 6, 5)));
        assert_eq!(bound("[12.345]"), Some(("number_digits_max", 5, 4)));
        assert_eq!(bound("1234"), None);
        let limits = Limits { source_bytes_max: 3, ..limits };
        assert_eq!(Json::parse("1234", &limits).unwrap_err().limit(), Some(("source_bytes_max", 4, 3)));
    }

    fn json_texts() -> impl Strategy<Value = String> {
        let number = "-?(0|[1-9][0-9]{0,12})(\\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?";
        let string = r#""([ -!#-\[\]-~é😀]|\\["\\/bfnrt]|\\u00[0-9a-f]{2}|\\ud83d\\ude0[0-9])*""#;
        let leaf =
            prop_oneof![Just("null".to_owned()), Just("true".to_owned()), Just("false".to_owned()), number, string];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            let key = prop_oneof![3 => string, 1 => Just("\"a\"".to_owned())];
            let members = prop::collection::vec((key, inner.clone()), 0..12);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(|items| format!("[ {} ]", items.join(" ,"))),
                members.prop_map(|members| {
                    let all: Vec<_> = members.into_iter().map(|(k, v)| format!("{k}\t:{v}")).collect();
                    format!("{{{}}}", all.join("\n,"))
                }),
            ]
        })
    }

    const UNREAD: &[&str] = &["", "a"];

    /// Of a document whose objects are left unread, the same is refused, and together with these parts the same is read.
    fn is_whole_with_its_parts(source: &str) -> Result<(), TestCaseError> {
        let limits = Limits { json_values_max: 30, json_nesting_max: 4, ..Limits::default() };
        for limits in [Limits::default(), limits] {
            let outline = Json::outline(source, UNREAD, &limits, &|_| true);
            let whole = match (Json::parse(source, &limits), &outline) {
                (Ok(whole), Ok(_)) => whole,
                (whole, outline) => {
                    prop_assert_eq!(whole.err(), outline.as_ref().err().cloned(), "{:?}", source);
                    continue;
                }
            };
            let outline = outline.unwrap();
            let mut n_values = 0;
            for id in (0..outline.n_values()).map(ValueId::new) {
                let same = whole.value_at(outline.span(id)).unwrap();
                prop_assert_eq!(outline.pointer(id), whole.pointer(same));
                let is_unread = matches!(whole.value(same), Value::Object(_))
                    && outline.key_of(id).is_some_and(|key| UNREAD.contains(&key));
                if !is_unread {
                    n_values += 1;
                    continue;
                }
                prop_assert_eq!(outline.value(id), Value::Object(&[]));
                let part = outline.part(id, &limits, &|_| true).unwrap();
                n_values += part.n_values();
                for id in (0..part.n_values()).map(ValueId::new) {
                    let same = whole.value_at(part.span(id)).unwrap();
                    prop_assert_eq!(part.pointer(id), whole.pointer(same));
                    prop_assert_eq!(part.to_json(id), whole.to_json(same));
                }
            }
            prop_assert_eq!(n_values, whole.n_values());
        }
        Ok(())
    }

    /// Whether a value is what the other reader, with its binary numbers, made of it.
    fn same(json: &Json, id: ValueId, other: &serde_json::Value) -> bool {
        use serde_json::Value as Serde;
        match (json.value(id), other) {
            (Value::Null, Serde::Null) => true,
            (Value::Bool(a), Serde::Bool(b)) => a == *b,
            (Value::Number(a), Serde::Number(b)) => {
                let (a, b) = (a.to_string().parse::<f64>().unwrap(), b.as_f64().unwrap());
                (a - b).abs() <= a.abs() * 1e-15
            }
            (Value::String(a), Serde::String(b)) => a == b,
            (Value::Array(a), Serde::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(&a, b)| same(json, a, b)),
            (Value::Object(a), Serde::Object(b)) => {
                let n_repeated = json.duplicates().iter().filter(|again| again.object == id).count();
                let is_in = |(key, b): (&String, _)| json.member(id, key).is_some_and(|a| same(json, a, b));
                a.len() == b.len() + n_repeated && b.iter().all(is_in)
            }
            _ => false,
        }
    }

    /// Both readers accept, with the same values, or both refuse.
    fn agrees_with_serde(source: &str) -> Result<(), TestCaseError> {
        let ours = Json::parse(source, &Limits::default());
        match serde_json::from_str::<serde_json::Value>(source) {
            Ok(theirs) => {
                prop_assert!(ours.is_ok(), "{:?}: {:?}", source, ours);
                let ours = ours.unwrap();
                let copied = Json::from_value(&theirs, &Limits::default()).unwrap();
                for json in [&ours, &copied] {
                    prop_assert!(same(json, json.root(), &theirs), "{:?} {} {}", source, json, theirs);
                }
            }
            Err(error) if error.to_string().starts_with("number out of range") => {}
            Err(error) => prop_assert!(ours.is_err(), "{:?}: {}", source, error),
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn reads_what_serde_reads(source in json_texts()) {
            agrees_with_serde(&source)?;
            is_whole_with_its_parts(&source)?;
        }

        #[test]
        fn refuses_what_serde_refuses(source in json_texts(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0..24usize), 1..4)) {
            let mut chars: Vec<char> = source.chars().collect();
            for (index, what) in edits {
                let at = index.index(chars.len() + 1);
                let pieces = ['"', '\\', '{', '}', '[', ']', ',', ':', '0', '1', '-', '.', 'e', 'u', 'd', '\n', ' ', '\u{1}', 'é'];
                match pieces.get(what) {
                    Some(&c) => chars.insert(at, c),
                    None if at < chars.len() => drop(chars.remove(at)),
                    None => {}
                }
            }
            let edited: String = chars.into_iter().collect();
            agrees_with_serde(&edited)?;
            is_whole_with_its_parts(&edited)?;
        }
    }

    #[test]
    fn what_is_plain_ends_where_it_should() {
        let mut rng = crate::testing::Rng::new(3);
        for _ in 0..20_000 {
            let special = [0, 0x1F, 0x20, 0x21, b'"', b'#', b'[', b'\\', b']', 0x7F, 0x80, 0xA2, 0xDC, 0xFF];
            let mut byte = || match rng.below(4) {
                0 => special[rng.below(special.len())],
                _ => b'a' + rng.below(26) as u8,
            };
            let bytes: Vec<u8> = (0..20).map(|_| byte()).collect();
            let plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
            assert_eq!(n_plain(&bytes), bytes.iter().take_while(|byte| plain(byte)).count(), "{bytes:?}");
        }
    }
}

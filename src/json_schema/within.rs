//! Places of a text within a JSON document, such as a grammar that is a string of a structural tag, or a schema that is a value of it.

use super::value::{Json, ValueId};
use crate::util::Span;

impl Json {
    /// Returns where in the source of this document a span of a string is written: `span` counts the bytes of the string as it is decoded.
    ///
    /// ```text
    /// {"grammar": "root ::= \"a"}      the string is  root ::= "a
    ///                       ^^                                 ^  byte 9
    /// ```
    pub(crate) fn span_in_string(&self, id: ValueId, span: Span) -> Span {
        let whole = self.span(id);
        let (start, end) = (whole.start as usize + 1, (whole.end as usize).saturating_sub(1));
        let raw = self.source().get(start..end).unwrap_or_default();
        let (mut n_raw, mut n_decoded) = (0, 0);
        let mut offset_of = |decoded: u32| {
            while n_decoded < decoded as usize && n_raw < raw.len() {
                let (n_written, n_meant) = character(&raw[n_raw..]);
                (n_raw, n_decoded) = (n_raw + n_written, n_decoded + n_meant);
            }
            start + n_raw
        };
        let begin = offset_of(span.start);
        Span::new(begin, offset_of(span.end))
    }

    /// Returns the root of the schema with this text of which the place at a span is a part, or that is the place itself.
    pub(crate) fn schema_around(&self, span: Span, text: &str) -> Option<ValueId> {
        let mut at = self.value_at(span)?;
        loop {
            let span = self.span(at);
            let (start, end) = (span.start as usize, span.end as usize);
            match (end - start).cmp(&text.len()) {
                core::cmp::Ordering::Less => at = self.parent(at)?,
                core::cmp::Ordering::Equal => return (&self.source()[start..end] == text).then_some(at),
                core::cmp::Ordering::Greater => return None,
            }
        }
    }

    /// Returns the value at a span of a schema that is a value of this document, or else the schema.
    pub(crate) fn value_within(&self, schema: ValueId, span: Option<Span>) -> ValueId {
        let start = self.span(schema).start;
        let found = span.and_then(|span| self.value_at(Span { start: start + span.start, end: start + span.end }));
        found.unwrap_or(schema)
    }
}

/// Returns the number of bytes of the first character of a string as it is written, and as it is decoded.
fn character(raw: &str) -> (usize, usize) {
    match raw.as_bytes() {
        [b'\\', b'u', ..] => {
            let unit = raw.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0);
            match char::from_u32(unit) {
                Some(c) => (raw.len().min(6), c.len_utf8()),
                // Two units make a character of four bytes.
                None => (raw.len().min(12), 4),
            }
        }
        [b'\\', ..] => (raw.len().min(2), 1),
        _ => {
            let n_bytes = raw.chars().next().map_or(1, char::len_utf8);
            (n_bytes, n_bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn spans_of_strings_are_where_they_are_written() {
        let source = r#"["aé\n\u00e9\ud83d\ude00b\"c", 1]"#;
        let json = Json::parse(source, &Limits::default()).unwrap();
        let id = json.at_pointer("/0").unwrap();
        let decoded = "aé\né😀b\"c";
        let written = ["a", "é", "\\n", "\\u00e9", "\\ud83d\\ude00", "b", "\\\"", "c"];
        for ((at, c), written) in decoded.char_indices().zip(written) {
            let span = json.span_in_string(id, Span::new(at, at + c.len_utf8()));
            assert_eq!(&source[span.start as usize..span.end as usize], written);
        }
        let end = json.span_in_string(id, Span::new(decoded.len(), decoded.len()));
        assert_eq!((end.start, &source[end.start as usize..]), (end.end, "\", 1]"));
    }
}

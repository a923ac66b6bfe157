//! The tokens of JSON texts, and of prefixes of them. Nothing is checked: texts come from automata of JSON.

/// A token of a JSON text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JsonToken<'a> {
    /// A bracket, a brace, a comma or a colon.
    Mark(u8),
    /// What stands between the quotes of a string, as it is written; whole if the closing one is there.
    String { written: &'a [u8], is_whole: bool },
    /// A number, `true`, `false` or `null`; whole if something follows.
    Scalar { written: &'a [u8], is_whole: bool },
}

/// Returns the tokens of a text.
pub(crate) fn json_tokens(text: &[u8]) -> impl Iterator<Item = JsonToken<'_>> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        rest = &rest[rest.iter().position(|byte| !is_blank(byte))?..];
        let token;
        (token, rest) = match rest[0] {
            mark @ (b'[' | b']' | b'{' | b'}' | b',' | b':') => (JsonToken::Mark(mark), &rest[1..]),
            b'"' => {
                let mut end = 1;
                while rest.get(end).is_some_and(|&byte| byte != b'"') {
                    end += if rest[end] == b'\\' { 2 } else { 1 };
                }
                let (is_whole, end) = (end < rest.len(), end.min(rest.len()));
                let behind = rest.get(end + 1..).unwrap_or_default();
                (JsonToken::String { written: &rest[1..end], is_whole }, behind)
            }
            _ => {
                let end = rest.iter().position(|byte| is_blank(byte) || b",:[]{}\"".contains(byte));
                let (written, behind) = rest.split_at(end.unwrap_or(rest.len()));
                (JsonToken::Scalar { written, is_whole: end.is_some() }, behind)
            }
        };
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_to_their_end() {
        let text = br#" {"a\"b": [-1.5e3,true], "": "\\" }"#;
        let tokens: Vec<JsonToken<'_>> = json_tokens(text).collect();
        let string = |written| JsonToken::String { written, is_whole: true };
        let scalar = |written| JsonToken::Scalar { written, is_whole: true };
        let mark = JsonToken::Mark;
        #[rustfmt::skip]
        let expected = [
            mark(b'{'), string(br#"a\"b"#), mark(b':'), mark(b'['), scalar(b"-1.5e3"), mark(b','), scalar(b"true"), mark(b']'), mark(b','),
            string(b""), mark(b':'), string(br"\\"), mark(b'}'),
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn what_is_cut_is_not_whole() {
        for (text, written) in [("\"", ""), ("[\"a", "a"), (r#""\"#, r"\"), (r#""\""#, r#"\""#)] {
            let expected = JsonToken::String { written: written.as_bytes(), is_whole: false };
            assert_eq!(json_tokens(text.as_bytes()).last(), Some(expected), "{text}");
        }
        assert_eq!(json_tokens(b"12").last(), Some(JsonToken::Scalar { written: b"12", is_whole: false }));
        assert_eq!(json_tokens(b" \n").last(), None);
    }
}

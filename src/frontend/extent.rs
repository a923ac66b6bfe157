//! Where quoted text and JSON values end, found fast: a source may be one literal of megabytes.

/// Bytes that are looked at together: the compiler makes vector instructions of it.
const CHUNK: usize = 32;

/// Returns the place of the first byte from `from` on that is wanted.
pub(super) fn find(text: &[u8], from: usize, is_wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let rest = text.get(from..)?;
    // Most often it is near.
    let (near, far) = rest.split_at(rest.len().min(CHUNK));
    if let Some(n) = near.iter().position(|&byte| is_wanted(byte)) {
        return Some(from + n);
    }
    let has_none = |chunk: &&[u8; CHUNK]| chunk.iter().fold(0, |any, &byte| any | u8::from(is_wanted(byte))) == 0;
    let (chunks, _) = far.as_chunks::<CHUNK>();
    let n_skipped = near.len() + CHUNK * chunks.iter().take_while(has_none).count();
    rest[n_skipped..].iter().position(|&byte| is_wanted(byte)).map(|n| from + n_skipped + n)
}

/// Returns the end of what begins at `start` and ends at an unescaped `close` of the same line.
pub(super) fn quoted(text: &[u8], start: usize, close: u8) -> Option<usize> {
    // Without a branch, so that a chunk is compared at once.
    let is_line_end = |byte: u8| (byte == b'\n') | (byte == b'\r');
    let mut at = start + 1;
    loop {
        at = find(text, at, |byte| (byte == close) | (byte == b'\\') | is_line_end(byte))?;
        match text[at] {
            b'\\' if text.get(at + 1).is_none_or(|&next| !is_line_end(next)) => at += 2,
            byte if byte == close => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Returns the end of the JSON string that begins at `start`, at its first quote that is not escaped.
pub(super) fn json_string(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at = find(text, at, |byte| (byte == b'"') | (byte == b'\\'))?;
        match text[at] {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Why a JSON value has no end: where what is not closed begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unclosed {
    Value,
    String(usize),
}

/// Returns the end of the JSON object or array that begins at `start`, at the bracket that closes as many as were opened.
pub(super) fn json(text: &[u8], start: usize) -> Result<usize, Unclosed> {
    let (mut at, mut n_open) = (start, 0usize);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = json_string(text, at - 1).ok_or(Unclosed::String(at - 1))?,
            b'{' | b'[' => n_open += 1,
            b'}' | b']' if n_open == 1 => return Ok(at),
            b'}' | b']' => n_open -= 1,
            _ => {}
        }
    }
    Err(Unclosed::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_where_they_are() {
        for length in 0..3 * CHUNK {
            let mut text = vec![b'a'; length];
            text.push(b'x');
            text.extend([b'x'; 3]);
            for from in 0..=length {
                assert_eq!(find(&text, from, |byte| byte == b'x'), Some(length));
            }
            assert_eq!(find(&text, 0, |byte| byte == b'y'), None);
            assert_eq!(find(&text, text.len() + 1, |byte| byte == b'x'), None);
        }
    }

    #[test]
    fn quotes_close_what_they_should() {
        let ends = |text: &str| quoted(text.as_bytes(), 0, b'"');
        assert_eq!(ends(r#""a\"b"c""#), Some(6));
        assert_eq!(ends(r#""\\""#), Some(4));
        for open in ["\"a", "\"a\n\"", "\"a\\\n\"", "\"a\\\r\"", "\"a\\", "\"a\\\""] {
            assert_eq!(ends(open), None, "{open:?}");
        }
    }

    #[test]
    fn json_ends_at_its_last_bracket() {
        assert_eq!(json(br#"{"}": ["\"]"]} }"#, 0), Ok(14));
        assert_eq!(json(b"[[]", 0), Err(Unclosed::Value));
        assert_eq!(json(br#"{"a\"}"#, 0), Err(Unclosed::String(1)));
        assert_eq!(json(br#"{"a\"#, 0), Err(Unclosed::String(1)));
    }
}

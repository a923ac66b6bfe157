//! Escapes in JSON strings ([RFC 8259, section 7](https://www.rfc-editor.org/rfc/rfc8259#section-7)).

use smallvec::SmallVec;

/// Why something behind a backslash is no escape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EscapeError {
    /// No escape begins with this letter, or there is none.
    Unknown,
    /// Four hexadecimal digits are missing behind `u`.
    Digits,
    /// It is a half of a surrogate pair, and the other half doesn't follow.
    HalfOfPair(u16),
}

/// Reads the escape at the beginning of what stands behind a backslash; returns its character and its number of bytes.
pub(crate) fn read_escape(text: &[u8]) -> Result<(char, usize), EscapeError> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4)?;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    };
    let letter = *text.first().ok_or(EscapeError::Unknown)?;
    let character = match letter {
        b'"' | b'\\' | b'/' => char::from(letter),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = unit(1).ok_or(EscapeError::Digits)?;
            if let Some(character) = char::from_u32(first) {
                return Ok((character, 5));
            }
            let follows = first < 0xDC00 && text[5..].starts_with(b"\\u");
            let low = unit(7).filter(|low| follows && (0xDC00..0xE000).contains(low));
            let low = low.ok_or(EscapeError::HalfOfPair(first as u16))?;
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (low - 0xDC00);
            return Ok((char::from_u32(code).expect("a pair of surrogates is a character"), 11));
        }
        _ => return Err(EscapeError::Unknown),
    };
    Ok((character, 1))
}

/// Adds what a string means to `decoded`, given what stands between its quotes; half of a surrogate pair and an escape that is cut mean U+FFFD.
pub(crate) fn decode(written: &[u8], decoded: &mut Vec<u8>) {
    let mut rest = written;
    while let Some(n_plain) = rest.iter().position(|&byte| byte == b'\\') {
        decoded.extend_from_slice(&rest[..n_plain]);
        let (character, n_bytes) = match read_escape(&rest[n_plain + 1..]) {
            Ok(read) => read,
            Err(EscapeError::HalfOfPair(_)) => (char::REPLACEMENT_CHARACTER, 5),
            Err(_) => (char::REPLACEMENT_CHARACTER, rest.len()),
        };
        decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = rest.get(n_plain + 1 + n_bytes..).unwrap_or_default();
    }
    decoded.extend_from_slice(rest);
}

/// Tells whether a byte has to be escaped.
pub(crate) fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Returns the letter behind a backslash that stands for a byte, if there is one.
pub(crate) fn short_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => return None,
    })
}

/// Returns the shortest spelling of a byte of a string.
pub(crate) fn spelled_byte(byte: u8) -> SmallVec<[u8; 6]> {
    if !is_escaped(byte) {
        return SmallVec::from_slice(&[byte]);
    }
    match short_escape(byte) {
        Some(letter) => SmallVec::from_slice(&[b'\\', letter]),
        None => format!("\\u{byte:04x}").into_bytes().into(),
    }
}

/// Adds the shortest spelling of a string, with its quotes.
pub(crate) fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(n_plain) = rest.bytes().position(is_escaped) {
        out.push_str(&rest[..n_plain]);
        out.extend(spelled_byte(rest.as_bytes()[n_plain]).into_iter().map(char::from));
        rest = &rest[n_plain + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_to_their_end() {
        for (text, character, n_bytes) in [
            ("n..", '\n', 1),
            ("/", '/', 1),
            ("\\\\", '\\', 1),
            ("u00e9f", 'é', 5),
            ("uD83D\\uDE00", '😀', 11),
            ("ud83d\\ude00x", '😀', 11),
        ] {
            assert_eq!(read_escape(text.as_bytes()), Ok((character, n_bytes)), "{text}");
        }
        for (text, error) in [
            ("", EscapeError::Unknown),
            ("x41", EscapeError::Unknown),
            ("u12", EscapeError::Digits),
            ("u+123", EscapeError::Digits),
            ("ud83d", EscapeError::HalfOfPair(0xD83D)),
            ("ud83d\\u", EscapeError::HalfOfPair(0xD83D)),
            ("ud83d\\u0041", EscapeError::HalfOfPair(0xD83D)),
            ("ud83dxude00", EscapeError::HalfOfPair(0xD83D)),
            ("ude00\\ud83d", EscapeError::HalfOfPair(0xDE00)),
        ] {
            assert_eq!(read_escape(text.as_bytes()), Err(error), "{text}");
        }
    }

    #[test]
    fn quoted_texts_read_back_equal() {
        for text in ["", "plain é 😀", "\"\\/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}"] {
            let mut quoted = String::new();
            push_quoted(text, &mut quoted);
            assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text, "{quoted}");
        }
    }
}

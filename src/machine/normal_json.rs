//! One form for all spellings of a prefix of a JSON value: texts that have it in common go on alike.

use super::json_value::canonical_number;
use crate::util::json_string::read_escape;
use crate::util::{JsonToken, json_tokens};

/// Returns a prefix of a value without what makes no difference for what may follow and for what the value will be equal to: white space between tokens, how characters are
/// escaped, how numbers are spelled that something follows, and zeros beyond `n_zeros_max` at any place of one that nothing follows yet.
///
/// An escape that is not whole, or is half of a surrogate pair ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259), 7 and 8.2), stays as it is, and so does all of its string behind it.
pub fn normal_json(text: &[u8], n_zeros_max: usize) -> Vec<u8> {
    let mut normal = Vec::with_capacity(text.len());
    for token in json_tokens(text) {
        match token {
            JsonToken::Mark(mark) => normal.push(mark),
            JsonToken::String { written, is_whole } => {
                normal.push(b'"');
                push_normal(&mut normal, written);
                normal.extend(is_whole.then_some(b'"'));
            }
            JsonToken::Scalar { written, is_whole: true } => normal.extend(canonical_number(written)),
            JsonToken::Scalar { written, is_whole: false } => push_begun(&mut normal, written, n_zeros_max),
        }
    }
    normal
}

/// Adds a string, each character in one form.
fn push_normal(normal: &mut Vec<u8>, written: &[u8]) {
    let mut rest = written;
    while let Some(n_plain) = rest.iter().position(|&byte| byte == b'\\') {
        normal.extend_from_slice(&rest[..n_plain]);
        rest = &rest[n_plain..];
        let Ok((character, n_bytes)) = read_escape(&rest[1..]) else { break };
        // A quote within stays apart from one that ends the string.
        if matches!(character, '"' | '\\') {
            normal.push(b'\\');
        }
        normal.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[1 + n_bytes..];
    }
    normal.extend_from_slice(rest);
}

/// Adds a number that nothing follows yet, without zeros beyond `n_zeros_max` at any place.
fn push_begun(normal: &mut Vec<u8>, number: &[u8], n_zeros_max: usize) {
    let mut n_zeros = 0;
    for &byte in number {
        n_zeros = if byte == b'0' { n_zeros + 1 } else { 0 };
        if n_zeros <= n_zeros_max + 1 {
            normal.push(byte.to_ascii_lowercase());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::normal_json;

    fn is_alike(a: &str, b: &str) -> bool {
        normal_json(a.as_bytes(), 1) == normal_json(b.as_bytes(), 1)
    }

    #[test]
    fn spellings_of_one_prefix_have_one_form() {
        let alike = [
            ("[1, \"a", "[1,\n\t\"a"),
            (r#"["\u00e9", "#, r#"["é","#),
            (r#""\ud83d\ude00"#, r#""😀"#),
            (r#""\/\u002f"#, r#""//"#),
            ("[1.0, ", "[1,"),
            ("[1e2,", "[100,"),
            ("1.5000", "1.500"),
            ("1E", "1e"),
        ];
        for (a, b) in alike {
            assert!(is_alike(a, b), "{a} {b}");
        }
    }

    #[test]
    fn what_is_not_the_same_stays_apart() {
        let apart = [
            (r#""a b"#, r#""ab"#),
            (r#""\u0022"#, r#""""#),
            (r#""\ud83d"#, r#""\ud83e"#),
            // No low surrogate follows, so these are no pair.
            (r#""\ud83d\u0041"#, r#""\ud83d\udc41"#),
            (r#""\ud83d\u"#, r#""\ud83d"#),
            ("[1.0", "[1"),
            ("1.00", "1.0"),
        ];
        for (a, b) in apart {
            assert!(!is_alike(a, b), "{a} {b}");
        }
    }
}

//! One form for all spellings of a prefix of a JSON value: texts that have it in common go on alike.

use super::distinct::canonical_number;

/// Returns a prefix of a value without what makes no difference for what may follow and for what the value will be equal to: white space between tokens, how characters are
/// escaped, how numbers are spelled that something follows, and zeros beyond `n_zeros_max` at any place of one that nothing follows yet.
///
/// An escape that is not whole, or is half of a surrogate pair ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259), 7 and 8.2), stays as it is, and so does all behind it.
pub fn normal_json(text: &[u8], n_zeros_max: usize) -> Vec<u8> {
    let mut normal = Vec::with_capacity(text.len());
    let mut at = 0;
    let mut is_in_string = false;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' if !is_in_string => {}
            b'"' => {
                is_in_string = !is_in_string;
                normal.push(byte);
            }
            b'\\' if is_in_string => match escaped(&text[at..]) {
                Some((c, n_bytes)) => {
                    // A quote within stays apart from one that ends the string.
                    if matches!(c, '"' | '\\') {
                        normal.push(b'\\');
                    }
                    normal.extend(c.encode_utf8(&mut [0; 4]).bytes());
                    at += n_bytes;
                }
                None => {
                    normal.extend(&text[at - 1..]);
                    break;
                }
            },
            b'-' | b'0'..=b'9' if !is_in_string => {
                let rest = &text[at - 1..];
                match rest.iter().position(|byte| !byte.is_ascii_digit() && !b"+-.eE".contains(byte)) {
                    Some(n_bytes) => {
                        normal.extend(canonical_number(&rest[..n_bytes]));
                        // Behind a number there is none, but in a string.
                        at += n_bytes - 1;
                    }
                    None => {
                        push_begun(&mut normal, rest, n_zeros_max);
                        break;
                    }
                }
            }
            _ => normal.push(byte),
        }
    }
    normal
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

/// Returns the character of an escape behind its backslash, and the number of bytes there; nothing if it is not whole.
fn escaped(text: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = core::str::from_utf8(text.get(at..at + 4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    Some(match text.first()? {
        b'b' => ('\u{8}', 1),
        b'f' => ('\u{c}', 1),
        b'n' => ('\n', 1),
        b'r' => ('\r', 1),
        b't' => ('\t', 1),
        b'u' => match unit(1)? {
            high @ 0xD800..0xDC00 if text.get(5..7)? == b"\\u" => {
                let low = unit(7)?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                (char::from_u32(0x10000 + ((high - 0xD800) << 10) + low)?, 11)
            }
            code => (char::from_u32(code)?, 5),
        },
        &plain => (char::from(plain), 1),
    })
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

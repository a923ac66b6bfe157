//! The contents of tokens: the text of a literal, the set of a class, the bounds of a count, the pattern of a regex.
//!
//! The scan has found the ends of tokens; everything else about them is checked here, where errors can point at single characters.

use super::scan::shorten;
use crate::frontend::{ReadError, Spend, SyntaxError, extent};
use crate::limits::Limits;
use crate::regular::CharSet;
use crate::util::Span;
use core::ops::Range;

/// The meaning of an escape.
enum Escape {
    Char(char),
    Set(CharSet),
}

/// Reads the text between the quotes of a literal. Adds to `long_escapes` where `\x` has more than two digits.
pub(super) fn text(source: &str, inside: Range<usize>, long_escapes: &mut Vec<Span>) -> Result<String, SyntaxError> {
    let mut text = String::with_capacity(inside.len());
    let mut at = inside.start;
    while let Some(length) = source[at..inside.end].find('\\') {
        text.push_str(&source[at..at + length]);
        let start = at + length;
        let (escape, end) = escape(source, start, inside.end)?;
        note_long_escape(source, start..end, long_escapes);
        match escape {
            Escape::Char(c) => text.push(c),
            Escape::Set(_) => {
                let written = &source[start..end];
                let message = format!("`{written}` stands for more than one character");
                return Err(SyntaxError::new(source, Span::new(start, end), message)
                    .with_hint(format!("write it as a class outside of the string: `[{written}]`")));
            }
        }
        at = end;
    }
    text.push_str(&source[at..inside.end]);
    Ok(text)
}

/// Reads a class, brackets included. Adds to `long_escapes` where `\x` has more than two digits.
pub(super) fn class(
    source: &str,
    token: Range<usize>,
    long_escapes: &mut Vec<Span>,
    spend: Spend<'_>,
) -> Result<CharSet, ReadError> {
    let end = token.end - 1;
    let is_negated = source[token.start + 1..end].starts_with('^');
    let mut at = token.start + 1 + usize::from(is_negated);
    // `[^]` leaves out nothing.
    if at == end && !is_negated {
        let error = SyntaxError::new(source, token.into(), "empty class");
        return Err(error.with_hint("the empty text is written \"\"; inside a class, `]` is written `\\]`").into());
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut n_ranges_next = RANGES_PER_MERGE;
    while at < end {
        // Millions of characters are merged now and then, so that the spend needs not wait for all of them.
        if ranges.len() >= n_ranges_next {
            ranges = CharSet::from_ranges(ranges).ranges().to_vec();
            n_ranges_next = 2 * ranges.len() + RANGES_PER_MERGE;
            spend(RANGES_PER_MERGE)?;
        }
        let start = at;
        let (low, next) = class_item(source, start, end)?;
        note_long_escape(source, start..next, long_escapes);
        at = next;
        // A `-` before the bracket is itself; so is one right after a range, because this loop begins anew there.
        let is_range = source[at..end].starts_with('-') && at + 1 < end;
        if !is_range {
            match low {
                Escape::Char(c) => ranges.push((c, c)),
                Escape::Set(set) => ranges.extend_from_slice(set.ranges()),
            }
            continue;
        }
        let (high, next) = class_item(source, at + 1, end)?;
        note_long_escape(source, at + 1..next, long_escapes);
        let span = Span::new(start, next);
        let (Escape::Char(low), Escape::Char(high)) = (low, high) else {
            return Err(SyntaxError::new(source, span, "a range of characters needs a character at both ends")
                .with_hint("inside a class, the character `-` is written `\\-`")
                .into());
        };
        if low > high {
            let (left, right) = (&source[start..at], &source[at + 1..next]);
            return Err(SyntaxError::new(source, span, "the range of characters ends before it begins")
                .with_hint(format!(
                    "did you mean `{}`? The character `-` is written `\\-`",
                    meant_range(low, high, left, right)
                ))
                .into());
        }
        ranges.push((low, high));
        at = next;
    }
    let set = CharSet::from_ranges(ranges);
    Ok(if is_negated { set.negate() } else { set })
}

/// Returns what was meant by a range that ends before it begins, written as `left` and `right`.
fn meant_range(low: char, high: char, left: &str, right: &str) -> String {
    // Capitals come before small letters, and other characters between them: nobody means these.
    if low.is_ascii_lowercase() && high.is_ascii_uppercase() {
        let other = high.to_ascii_lowercase();
        let (first, last) = (low.min(other), low.max(other));
        return format!("{first}-{last}{}-{}", first.to_ascii_uppercase(), last.to_ascii_uppercase());
    }
    format!("{right}-{left}")
}

/// Ranges of a class that are read before those so far are merged.
const RANGES_PER_MERGE: usize = 1 << 15;

fn class_item(source: &str, at: usize, end: usize) -> Result<(Escape, usize), SyntaxError> {
    let c = source[at..end].chars().next().expect("not at the end of the class");
    if c == '\\' { escape(source, at, end) } else { Ok((Escape::Char(c), at + c.len_utf8())) }
}

/// Reads the escape at `start` and returns where it ends.
fn escape(source: &str, start: usize, end: usize) -> Result<(Escape, usize), SyntaxError> {
    let rest = &source[start + 1..end];
    let c = rest.chars().next().expect("a backslash is never last in a closed token");
    let after = start + 1 + c.len_utf8();
    let simple = match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        'v' => '\x0B',
        'f' => '\x0C',
        'e' => '\x1B',
        'x' => return hex_code_point(source, start, after, end),
        'u' if rest[1..].starts_with('{') => return braced_code_point(source, start, after + 1, end),
        'u' => return code_point(source, start, after, 4, end),
        'U' => return code_point(source, start, after, 8, end),
        'd' | 'w' | 's' => return Ok((Escape::Set(ascii_set(c)), after)),
        'D' | 'W' | 'S' => return Ok((Escape::Set(ascii_set(c.to_ascii_lowercase()).negate()), after)),
        _ if c.is_ascii_punctuation() => c,
        _ => {
            let error =
                SyntaxError::new(source, Span::new(start, after), format!("unknown escape `\\{}`", c.escape_debug()));
            return Err(match c {
                'p' | 'P' => error.with_hint("Unicode properties belong into a regex, like `/\\p{L}/`"),
                _ => error.with_hint("a backslash is written `\\\\`"),
            });
        }
    };
    Ok((Escape::Char(simple), after))
}

/// Notes an escape `\xH...` with more than two digits.
fn note_long_escape(source: &str, escape: Range<usize>, long_escapes: &mut Vec<Span>) {
    if escape.len() > "\\xHH".len() && source[escape.clone()].starts_with("\\x") {
        long_escapes.push(escape.into());
    }
}

/// Returns the set of `\d`, `\w` or `\s`.
fn ascii_set(letter: char) -> CharSet {
    match letter {
        'd' => CharSet::range('0', '9'),
        'w' => CharSet::from_ranges([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
        _ => CharSet::from_ranges([('\t', '\r'), (' ', ' ')]),
    }
}

/// Reads exactly `n_digits` digits at `at`, for the escape that begins at `start`.
fn code_point(
    source: &str,
    start: usize,
    at: usize,
    n_digits: usize,
    end: usize,
) -> Result<(Escape, usize), SyntaxError> {
    let n_found = source[at..end].bytes().take(n_digits).take_while(u8::is_ascii_hexdigit).count();
    let stop = at + n_found;
    if n_found < n_digits {
        let written = &source[start..at];
        let message = format!("`{written}` needs {n_digits} hexadecimal digits");
        return Err(SyntaxError::new(source, Span::new(start, stop), message)
            .with_hint("any character can be written `\\u{...}` with one to six digits"));
    }
    let value = u32::from_str_radix(&source[at..stop], 16).expect("eight hexadecimal digits at most");
    to_char(source, start, stop, value, end)
}

/// Reads the digits of `\x`, as many as there are.
fn hex_code_point(source: &str, start: usize, at: usize, end: usize) -> Result<(Escape, usize), SyntaxError> {
    let text = &source.as_bytes()[..end];
    let stop = extent::find(text, at, |byte| !byte.is_ascii_hexdigit()).unwrap_or(end);
    if stop == at {
        return Err(SyntaxError::new(source, Span::new(start, stop), "`\\x` needs hexadecimal digits")
            .with_hint("a backslash is written `\\\\`"));
    }
    let value = match extent::find(&text[..stop], at, |digit| digit != b'0') {
        None => 0,
        // Digits that do not fit are beyond the last character.
        Some(first) => u32::from_str_radix(&source[first..stop], 16).unwrap_or(u32::MAX),
    };
    to_char(source, start, stop, value, end)
}

/// Reads the digits of `\u{...}` at `at`.
fn braced_code_point(source: &str, start: usize, at: usize, end: usize) -> Result<(Escape, usize), SyntaxError> {
    let n_digits = source[at..end].bytes().take(7).take_while(u8::is_ascii_hexdigit).count();
    let stop = at + n_digits;
    if !(1..=6).contains(&n_digits) || !source[stop..end].starts_with('}') {
        return Err(SyntaxError::new(
            source,
            Span::new(start, stop),
            "`\\u{` needs one to six hexadecimal digits and a `}`",
        ));
    }
    let value = u32::from_str_radix(&source[at..stop], 16).expect("six hexadecimal digits at most");
    to_char(source, start, stop + 1, value, end)
}

fn to_char(source: &str, start: usize, stop: usize, value: u32, end: usize) -> Result<(Escape, usize), SyntaxError> {
    if let Some(c) = char::from_u32(value) {
        return Ok((Escape::Char(c), stop));
    }
    let span = Span::new(start, stop);
    if value > 0x10_FFFF {
        let message = match value {
            u32::MAX => format!("`{}` is beyond the last character, U+10FFFF", shorten(&source[start..stop])),
            _ => format!("U+{value:X} is beyond the last character, U+10FFFF"),
        };
        return Err(SyntaxError::new(source, span, message));
    }
    let error = SyntaxError::new(source, span, format!("U+{value:04X} is half of a surrogate pair, not a character"));
    // Authors used to JSON write a pair of surrogates: the hint has the single escape.
    let low = source[stop..end]
        .strip_prefix("\\u")
        .and_then(|rest| rest.get(..4))
        .and_then(|d| u32::from_str_radix(d, 16).ok());
    Err(match low {
        Some(low @ 0xDC00..=0xDFFF) if value < 0xDC00 => {
            error.with_hint(format!("write `\\u{{{:X}}}`", 0x1_0000 + ((value - 0xD800) << 10) + (low - 0xDC00)))
        }
        _ => error.with_hint("characters beyond U+FFFF are written `\\u{...}`"),
    })
}

/// Reads a count, braces included, as the least and the greatest number of copies.
pub(super) fn count(source: &str, token: Range<usize>, limits: &Limits) -> Result<(u32, Option<u32>), SyntaxError> {
    let span = Span::from(token.clone());
    let inside = &source[token.start + 1..token.end - 1];
    let malformed = || {
        SyntaxError::new(source, span, format!("malformed count `{}`", shorten(&source[token.clone()])))
            .with_hint("counts are written `{2}`, `{2,}`, `{2,5}` or `{,5}`")
    };
    let bound = |digits: &str| -> Result<Option<u32>, SyntaxError> {
        let digits = digits.trim_matches([' ', '\t']);
        if digits.is_empty() {
            return Ok(None);
        }
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(malformed());
        }
        // Digits that do not fit are beyond any limit.
        match digits.parse::<u32>() {
            Ok(value) if value <= limits.bound_max() => Ok(Some(value)),
            _ => {
                let message =
                    format!("the count {} is above the limit repeat_max = {}", shorten(digits), limits.bound_max());
                let given = digits.parse().unwrap_or(usize::MAX);
                let error = SyntaxError::new(source, span, message).over_limit(given, limits.bound_max() as usize);
                Err(error.with_hint("without an upper bound: `{n,}`"))
            }
        }
    };
    let Some((low, high)) = inside.split_once(',') else {
        let exact = bound(inside)?.ok_or_else(malformed)?;
        return Ok((exact, Some(exact)));
    };
    // XGrammar prints `{n, -1}` for no upper bound.
    let high = if high.trim_matches([' ', '\t']) == "-1" { "" } else { high };
    match (bound(low)?, bound(high)?) {
        (None, None) => Err(malformed()),
        (Some(low), Some(high)) if low > high => {
            let message = format!("the count ends before it begins: {low} is more than {high}");
            Err(SyntaxError::new(source, span, message).with_hint(format!("did you mean `{{{high},{low}}}`?")))
        }
        (low, high) => Ok((low.unwrap_or(0), high)),
    }
}

/// Returns the pattern of a regex for its parser: `\/` without its backslash.
pub(super) fn pattern(written: &str) -> String {
    let mut pattern = String::with_capacity(written.len());
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            let escaped = chars.next().expect("a backslash is never last in a closed regex");
            if escaped != '/' {
                pattern.push('\\');
            }
            pattern.push(escaped);
        } else {
            pattern.push(c);
        }
    }
    pattern
}

/// Returns where the byte at `offset` of [`pattern`]`(written)` is in `written`.
pub(super) fn offset_in_written(written: &str, offset: usize) -> usize {
    let bytes = written.as_bytes();
    let (mut at, mut read) = (0, 0);
    while at < bytes.len() && read < offset {
        let (step, yields) = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'/')) => (2, 1),
            (b'\\', Some(_)) if read + 1 < offset => (2, 2),
            _ => (1, 1),
        };
        at += step;
        read += yields;
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(source: &str) -> CharSet {
        class(source, 0..source.len(), &mut Vec::new(), &mut |_| Ok(())).unwrap()
    }

    #[test]
    fn classes() {
        let cases: [(&str, &[(char, char)]); 12] = [
            ("[a-]", &[('-', '-'), ('a', 'a')]),
            ("[-a]", &[('-', '-'), ('a', 'a')]),
            ("[+--]", &[('+', '-')]),
            ("[a-c-e]", &[('-', '-'), ('a', 'c'), ('e', 'e')]),
            ("[a^]", &[('^', '^'), ('a', 'a')]),
            (r"[\]\[\\]", &[('[', ']')]),
            (r"[\x41-\u005A]", &[('A', 'Z')]),
            (r"[\U0001F600-\u{1F64F}]", &[('\u{1F600}', '\u{1F64F}')]),
            (r"[\d_]", &[('0', '9'), ('_', '_')]),
            (r"[^\D]", &[('0', '9')]),
            (r"[\s]", &[('\t', '\r'), (' ', ' ')]),
            ("[é-ü]", &[('é', 'ü')]),
        ];
        for (source, ranges) in cases {
            assert_eq!(set(source).ranges(), ranges, "{source}");
        }
        assert!(!set(r"[^\n]").contains('\n') && set(r"[^\n]").contains('\r'));
        assert!(set("[^\0-\u{10FFFF}]").is_empty());
    }

    #[test]
    fn texts() {
        let source = r#"\x41\u00e9\u{1F600}\U0001F600\n\"\'\/\-\[\]\0\\n"#;
        let mut long = Vec::new();
        assert_eq!(text(source, 0..source.len(), &mut long).unwrap(), "Aé😀😀\n\"'/-[]\0\\n");
        assert_eq!(long, []);
        let source = r"\x1F600\x41g\x0000000041-\xA";
        assert_eq!(text(source, 0..source.len(), &mut long).unwrap(), "😀AgA-\n");
        assert_eq!(long, [Span::new(0, 7), Span::new(12, 24)]);
    }

    #[test]
    fn offsets_skip_the_backslash_before_a_slash() {
        let written = r"a\/b\\c\/";
        let pattern = pattern(written);
        assert_eq!(pattern, r"a/b\\c/");
        let places: Vec<usize> = (0..=pattern.len()).map(|offset| offset_in_written(written, offset)).collect();
        assert_eq!(places, [0, 1, 3, 4, 5, 6, 7, 9]);
    }
}

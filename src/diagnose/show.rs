//! Bytes, characters and terminals as people read them.

use crate::grammar::{ControlRef, ExcludedTokens, is_control_token};
use crate::reference::Terminal;
use crate::regular::CharSet;
use crate::util::ByteSet;
use core::fmt::Write;

/// How many ranges of a class are shown before it is cut.
const N_RANGES_MAX: usize = 12;

/// Returns bytes as text, with what can't be seen escaped.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_char(&mut out, c, '"'));
        chunk.invalid().iter().for_each(|byte| _ = write!(out, "\\x{byte:02X}"));
    }
    out
}

fn push_char(out: &mut String, c: char, escaped: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        _ if c == escaped => out.extend(['\\', c]),
        _ if c.is_control() || c > '\u{2FFFF}' => _ = write!(out, "\\u{{{:X}}}", u32::from(c)),
        _ => out.push(c),
    }
}

/// Returns a set of characters as a class, negated where that is shorter.
pub(super) fn class(set: &CharSet) -> String {
    let complement = set.negate();
    if complement.is_empty() {
        return "any character".into();
    }
    let (mark, set) = if complement.ranges().len() < set.ranges().len() { ("[^", &complement) } else { ("[", set) };
    let mut out = String::from(mark);
    for &(low, high) in set.ranges().iter().take(N_RANGES_MAX) {
        push_char(&mut out, low, ']');
        if high > low {
            if u32::from(high) > u32::from(low) + 1 {
                out.push('-');
            }
            push_char(&mut out, high, ']');
        }
    }
    out.push_str(if set.ranges().len() > N_RANGES_MAX { "...]" } else { "]" });
    out
}

/// Returns a set of bytes as a class; bytes that are no ASCII by their numbers.
pub(super) fn byte_class(set: &ByteSet) -> String {
    let mut out = String::from("[");
    let push = |out: &mut String, byte: u8| {
        if byte.is_ascii() { push_char(out, byte as char, ']') } else { _ = write!(out, "\\x{byte:02X}") }
    };
    for (low, high) in set.ranges() {
        push(&mut out, low);
        if high > low {
            if high - low > 1 {
                out.push('-');
            }
            push(&mut out, high);
        }
    }
    out.push(']');
    out
}

/// Returns the bytes that may come next: those of ASCII as a class, and whether a character beyond it may begin or go on.
pub(super) fn next_bytes(set: &ByteSet) -> String {
    let ascii = *set & ByteSet::range(0, 0x7F);
    let mut parts = Vec::new();
    if !ascii.is_empty() {
        let chars =
            CharSet::from_ranges(ascii.ranges().into_iter().map(|(low, high)| (char::from(low), char::from(high))));
        let all = CharSet::from_ranges([('\0', '\x7F')]);
        let is_most = ascii.iter().count() > 64;
        parts.push(match (ascii.iter().count(), is_most) {
            (128, _) => "any character of ASCII".to_owned(),
            // Backticks need no escape for what is between them.
            (1, _) => match ascii.iter().next().expect("there is one") {
                byte if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
                byte => format!("`{}`", bytes(&[byte])),
            },
            (_, false) => class(&chars),
            (_, true) => format!("any character of ASCII but {}", class(&chars.negate().intersect(&all))),
        });
    }
    if !(*set & ByteSet::range(0xC2, 0xF4)).is_empty() {
        parts.push("a character beyond ASCII".to_owned());
    }
    if !(*set & ByteSet::range(0x80, 0xBF)).is_empty() {
        parts.push("the rest of a character".to_owned());
    }
    parts.join(" or ")
}

/// Returns what may come, as EBNF writes it where it can.
pub(super) fn terminal(terminal: &Terminal) -> String {
    match terminal {
        Terminal::Literal(suffix) => format!("\"{}\"", bytes(suffix)),
        Terminal::Character { set, prefix } if prefix.is_empty() => class(set),
        Terminal::Character { set, .. } => format!("the rest of a character of {}", class(set)),
        Terminal::Byte(set) => byte_class(set),
        Terminal::Control(control) => self::control(control),
        Terminal::TokenExcept(excluded) => token_except(excluded),
    }
}

/// Returns a set of tokens as EBNF writes it.
pub(super) fn token_except(excluded: &ExcludedTokens) -> String {
    let ids = excluded.written_ids();
    match excluded.names() {
        [] if ids.is_empty() => "any token".to_owned(),
        [] => format!("<[^{ids}]>"),
        [name] if ids.is_empty() && is_control_token(name) => format!("!{name}"),
        names => {
            let mut parts: Vec<String> = names.iter().map(|name| format!("\"{}\"", bytes(name.as_bytes()))).collect();
            parts.extend((!ids.is_empty()).then(|| format!("<[{ids}]>")));
            format!("ExcludeToken({})", parts.join(", "))
        }
    }
}

/// Returns a control token as EBNF writes it.
pub(super) fn control(control: &ControlRef) -> String {
    match control {
        ControlRef::Name(name) => name.to_string(),
        ControlRef::Id(id) => format!("<[{id}]>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_read_like_ebnf() {
        let letters = CharSet::from_ranges([('a', 'z'), ('_', '_'), ('0', '1')]);
        assert_eq!(class(&letters), "[01_a-z]");
        assert_eq!(class(&CharSet::from_ranges([('"', '"'), ('\\', '\\')]).negate()), "[^\"\\\\]");
        assert_eq!(class(&CharSet::all()), "any character");
        assert_eq!(byte_class(&(ByteSet::range(b'a', b'c') | ByteSet::range(0x80, 0xBF))), "[a-c\\x80-\\xBF]");
        assert_eq!(bytes(b"a\n\xff\"\xc3\xa9"), "a\\n\\xFF\\\"é");
    }

    #[test]
    fn sets_of_tokens_are_shown_as_they_are_written() {
        let shown = |names: &[&str], ids: &[u32]| {
            let names = names.iter().map(|&name| ControlRef::Name(name.into()));
            token_except(&ExcludedTokens::new(names.chain(ids.iter().map(|&id| ControlRef::Id(id)))))
        };
        assert_eq!(shown(&["<|x|>"], &[]), "!<|x|>");
        assert_eq!(shown(&["x"], &[]), "ExcludeToken(\"x\")");
        assert_eq!(shown(&["<|x|>"], &[7]), "ExcludeToken(\"<|x|>\", <[7]>)");
        assert_eq!(shown(&[], &[7]), "<[^7]>");
    }

    #[test]
    fn one_byte_in_backticks_is_shown_as_it_is() {
        let shown = |byte: u8| next_bytes(&ByteSet::range(byte, byte));
        assert_eq!([shown(b'"'), shown(b'\\'), shown(b'\n'), shown(b'a')], ["`\"`", "`\\`", "`\\n`", "`a`"]);
    }
}

//! Classes and escapes: the syntax of single characters.

use super::SyntaxError;
use super::cursor::Parser;
use crate::regular::CharSet;
use regex_syntax::hir::{Class, HirKind};

/// The meaning of an escape.
pub(super) enum Atom {
    /// One code point, perhaps a surrogate, which no string has.
    Point(u32),
    /// A set of characters.
    Set(CharSet),
}

impl Atom {
    pub(super) fn into_set(self) -> CharSet {
        match self {
            Atom::Point(point) => points(point, point),
            Atom::Set(set) => set,
        }
    }
}

/// Returns the characters that end lines.
pub(super) fn line_terminators() -> CharSet {
    CharSet::from_iter(['\n', '\r', '\u{2028}', '\u{2029}'])
}

/// Returns the characters of words, `\w`.
pub(super) fn word() -> CharSet {
    CharSet::from_ranges([('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')])
}

fn white_space() -> CharSet {
    let single = ['\t', '\u{b}', '\u{c}', ' ', '\u{a0}', '\u{1680}', '\u{202f}', '\u{205f}', '\u{3000}', '\u{feff}'];
    CharSet::from_iter(single).union(&CharSet::range('\u{2000}', '\u{200a}')).union(&line_terminators())
}

/// Returns the characters among the code points `low..=high`.
fn points(low: u32, high: u32) -> CharSet {
    let below = (low, high.min(0xD7FF));
    let above = (low.max(0xE000), high);
    let ranges = [below, above].into_iter().filter(|(low, high)| low <= high);
    CharSet::from_ranges(ranges.filter_map(|(low, high)| Some((char::from_u32(low)?, char::from_u32(high)?))))
}

/// Reads a class after its `[`.
pub(super) fn class(parser: &mut Parser<'_>, start: usize) -> Result<CharSet, SyntaxError> {
    let is_negated = parser.eat("^");
    let mut sets: Vec<(char, char)> = Vec::new();
    loop {
        let from = parser.at;
        if parser.eat("]") {
            let set = CharSet::from_ranges(sets);
            return Ok(if is_negated { set.negate() } else { set });
        }
        let low = class_atom(parser, start)?;
        if !parser.continuation().starts_with('-') || parser.continuation().starts_with("-]") {
            sets.extend_from_slice(low.into_set().ranges());
            continue;
        }
        parser.at += 1;
        let high = class_atom(parser, start)?;
        if let (Atom::Point(low), Atom::Point(high)) = (&low, &high) {
            if low > high {
                let text = &parser.pattern[from..parser.at];
                return Err(parser.refuse(from, parser.at, format!("range `{text}` ends before it begins")));
            }
            sets.extend_from_slice(points(*low, *high).ranges());
        } else {
            // `[\w-.]`: the hyphen stands for itself.
            for set in [low.into_set(), CharSet::range('-', '-'), high.into_set()] {
                sets.extend_from_slice(set.ranges());
            }
        }
    }
}

fn class_atom(parser: &mut Parser<'_>, class_start: usize) -> Result<Atom, SyntaxError> {
    let start = parser.at;
    match parser.next() {
        None => Err(parser.refuse(class_start, class_start + 1, "class without its `]`")),
        Some('\\') => escape(parser, start, true),
        Some(c) => Ok(Atom::Point(u32::from(c))),
    }
}

/// Reads an escape after its backslash, which stands at `start`.
pub(super) fn escape(parser: &mut Parser<'_>, start: usize, in_class: bool) -> Result<Atom, SyntaxError> {
    let Some(c) = parser.next() else {
        return Err(parser.refuse(start, parser.at, "backslash at the end"));
    };
    let point = |c: char| Ok(Atom::Point(u32::from(c)));
    let set = |set: CharSet| Ok(Atom::Set(set));
    let digit = || CharSet::range('0', '9');
    match c {
        'd' => set(digit()),
        'D' => set(digit().negate()),
        'w' => set(word()),
        'W' => set(word().negate()),
        's' => set(white_space()),
        'S' => set(white_space().negate()),
        't' => point('\t'),
        'n' => point('\n'),
        'v' => point('\u{b}'),
        'f' => point('\u{c}'),
        'r' => point('\r'),
        'b' if in_class => point('\u{8}'),
        '0' if !parser.continuation().starts_with(|c: char| c.is_ascii_digit()) => point('\0'),
        'c' => match parser.next() {
            Some(letter) if letter.is_ascii_alphabetic() => Ok(Atom::Point(u32::from(letter) % 32)),
            _ => Err(parser.refuse(start, start + 2, "`\\c` without a letter")),
        },
        'x' => match hex(parser, 2) {
            Some(value) => Ok(Atom::Point(value)),
            None => Err(parser.refuse(start, start + 2, "`\\x` without two hexadecimal digits")),
        },
        'u' => unicode(parser, start),
        'p' | 'P' => property(parser, start, c == 'P'),
        '0'..='9' => {
            parser.at += parser.continuation().bytes().take_while(u8::is_ascii_digit).count();
            let text = &parser.pattern[start..parser.at];
            Err(parser
                .refuse(start, parser.at, format!("octal escapes (`{text}`) are not supported"))
                .with_hint("write `\\x` with two hexadecimal digits")
                .unsupported())
        }
        c if c.is_ascii_alphabetic() => {
            // Without the flag `u` it stands for itself.
            let error = parser.refuse(start, parser.at, format!("unknown escape `\\{c}`")).unsupported();
            Err(match c {
                'A' => error.with_hint("the start of the text is `^`"),
                'z' | 'Z' => error.with_hint("the end of the text is `$`"),
                _ => error,
            })
        }
        c => point(c),
    }
}

/// Reads exactly `n` hexadecimal digits, or nothing.
fn hex(parser: &mut Parser<'_>, n: usize) -> Option<u32> {
    let digits = parser.continuation().get(..n)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    parser.at += n;
    Some(value)
}

/// Reads `\uXXXX`, a pair of surrogates as one character, or `\u{...}`, after the `u`.
fn unicode(parser: &mut Parser<'_>, start: usize) -> Result<Atom, SyntaxError> {
    if parser.continuation().starts_with('{') {
        let inner = parser.continuation()[1..].split('}').next().unwrap_or_default();
        let is_hex = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_hexdigit());
        let end = (parser.at + inner.len() + 2).min(parser.pattern.len());
        let value = inner.trim_start_matches('0');
        let value = if value.is_empty() { Some(0) } else { u32::from_str_radix(value, 16).ok() };
        let Some(value) = value.filter(|&value| is_hex && value <= 0x10_FFFF) else {
            return Err(parser.refuse(start, start + 2, "`\\u{...}` without the number of a character"));
        };
        parser.at = end;
        return Ok(Atom::Point(value));
    }
    let Some(first) = hex(parser, 4) else {
        return Err(parser.refuse(start, start + 2, "`\\u` without four hexadecimal digits"));
    };
    if (0xD800..0xDC00).contains(&first) {
        let place = parser.at;
        if parser.eat("\\u")
            && let Some(second) = hex(parser, 4)
            && (0xDC00..0xE000).contains(&second)
        {
            return Ok(Atom::Point(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)));
        }
        parser.at = place;
    }
    Ok(Atom::Point(first))
}

/// Reads `{...}` of a Unicode property, whose table is that of `regex-syntax`.
fn property(parser: &mut Parser<'_>, start: usize, is_negated: bool) -> Result<Atom, SyntaxError> {
    let inner =
        parser.continuation().strip_prefix('{').and_then(|continuation| Some(&continuation[..continuation.find('}')?]));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
    let Some(name) = inner.filter(|name| !name.is_empty() && name.chars().all(is_name)).map(str::to_owned) else {
        let message = format!("`\\{}` without the name of a property in braces", if is_negated { 'P' } else { 'p' });
        return Err(parser.refuse(start, start + 2, message));
    };
    parser.at += name.len() + 2;
    let parsed = regex_syntax::parse(&format!("\\p{{{name}}}")).ok();
    let ranges: Option<Vec<(char, char)>> = parsed.and_then(|hir| match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => {
            Some(class.ranges().iter().map(|range| (range.start(), range.end())).collect())
        }
        // A property of a single character.
        HirKind::Literal(literal) => core::str::from_utf8(&literal.0).ok()?.chars().next().map(|c| vec![(c, c)]),
        _ => None,
    });
    let Some(ranges) = ranges else {
        let text = &parser.pattern[start..parser.at];
        return Err(parser.refuse(start, parser.at, format!("unknown property `{text}`")).unsupported());
    };
    let set = CharSet::from_ranges(ranges);
    Ok(Atom::Set(if is_negated { set.negate() } else { set }))
}

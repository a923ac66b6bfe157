//! Errors of the parser, in our words: what is not regular is named.

use super::SyntaxError;
use crate::Limits;
use crate::util::Span;
use regex_syntax::{ast, hir};

/// Returns the span of a place in a pattern.
pub(super) fn span(span: &ast::Span) -> Span {
    Span::new(span.start.offset, span.end.offset)
}

/// Says what the parser found wrong.
pub(super) fn from_parser(pattern: &str, error: &ast::Error, limits: &Limits) -> SyntaxError {
    use ast::ErrorKind;
    let mut place = span(error.span());
    if place.start == place.end {
        // A place between characters: point at what follows.
        let next = pattern[place.start as usize..].chars().next();
        place.end += next.map_or(0, char::len_utf8) as u32;
    }
    let text = pattern.get(error.span().start.offset..error.span().end.offset).unwrap_or_default();
    let rest = pattern.get(error.span().start.offset..).unwrap_or_default();
    let refuse = |message: String| SyntaxError::new(pattern, place, message);
    match error.kind() {
        ErrorKind::UnsupportedLookAround => {
            let name = if text.contains("<=") || text.contains("<!") { "look-behind" } else { "look-ahead" };
            refuse(format!("{name} (`{text}`) is not supported")).with_hint(
                "say what the text itself looks like; grammars have `&` and `~` for conditions on regular parts",
            )
        }
        ErrorKind::UnsupportedBackreference if text == "\\0" => {
            refuse("unknown escape `\\0`".to_string()).with_hint("the character U+0000 is written `\\x00`")
        }
        ErrorKind::UnsupportedBackreference => refuse(format!("back-references (`{text}`) are not regular")),
        ErrorKind::EscapeUnrecognized if text.starts_with("\\k") || text.starts_with("\\g") => {
            refuse(format!("back-references (`{text}`) are not regular"))
        }
        ErrorKind::EscapeUnrecognized => {
            let error = refuse(format!("unknown escape `{text}`"));
            match (text, rest[text.len()..].bytes().next()) {
                ("\\Z", _) => error.with_hint("the end of the text is `\\z` or `$`"),
                ("\\e", _) => error.with_hint("the character U+001B is written `\\x1B`"),
                ("\\c", Some(letter)) if letter.is_ascii_alphabetic() => {
                    let c = char::from(letter);
                    error.with_hint(format!("the control character `\\c{c}` is written `\\x{:02X}`", letter & 0x1F))
                }
                _ => error,
            }
        }
        ErrorKind::FlagUnrecognized if rest.starts_with("P=") => {
            refuse("back-references (`(?P=`) are not regular".to_string())
        }
        ErrorKind::FlagUnrecognized if rest.starts_with('>') => {
            refuse("atomic groups (`(?>`) are not supported".to_string())
        }
        ErrorKind::FlagUnrecognized if rest.starts_with('(') => {
            refuse("conditionals (`(?(`) are not regular".to_string())
        }
        ErrorKind::FlagUnrecognized
            if rest.starts_with(['&', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) || rest.starts_with("P>") =>
        {
            refuse("recursion into groups is not regular".to_string())
        }
        ErrorKind::FlagUnrecognized => refuse(format!("unknown flag `{text}`")),
        ErrorKind::ClassUnclosed if has_bracket_inside(pattern, error.span().start.offset) => refuse(kind_text(error))
            .with_hint("inside a class, `[` opens another class; the character is written `\\[`"),
        ErrorKind::NestLimitExceeded(_) => too_deep(pattern, place, limits),
        ErrorKind::DecimalInvalid => {
            let error = refuse(format!("repeat count `{text}` is more than {} (repeat_max)", limits.bound_max()));
            error.over_limit(text.parse().unwrap_or(usize::MAX), limits.bound_max() as usize)
        }
        kind => refuse(kind.to_string()),
    }
}

fn kind_text(error: &ast::Error) -> String {
    error.kind().to_string()
}

/// Returns whether the class that opens at `start` has another `[` in it, that no backslash stands before.
fn has_bracket_inside(pattern: &str, start: usize) -> bool {
    let mut bytes = pattern.as_bytes()[start..].iter().skip(1);
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' => return true,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    // The class that is not closed may be the inner one.
    pattern[..start].bytes().rev().take_while(|&byte| byte != b']').any(|byte| byte == b'[')
}

/// Says that possessive repetitions are not supported: they match less than the same without the last `+`.
pub(super) fn possessive(pattern: &str, op: &ast::Span) -> SyntaxError {
    SyntaxError::new(pattern, span(op), "possessive repetitions (`++`, `*+`, `?+`, `}+`) are not supported").with_hint(
        "without the last `+` it matches the same if what follows can't begin with more of what is repeated; \
         a repetition of a repetition is written `(?:...)+`",
    )
}

/// Says that groups or classes are nested too deeply.
pub(super) fn too_deep(pattern: &str, place: Span, limits: &Limits) -> SyntaxError {
    let error = SyntaxError::new(pattern, place, format!("nested more than {} deep (nesting_max)", limits.nesting_max));
    error.over_limit(limits.nesting_max.saturating_add(1), limits.nesting_max)
}

/// Says what is wrong with a class or a literal.
pub(super) fn from_translator(pattern: &str, error: &hir::Error) -> SyntaxError {
    let refuse = |message: String| SyntaxError::new(pattern, span(error.span()), message);
    match error.kind() {
        hir::ErrorKind::InvalidUtf8 => refuse("this could match bytes that are not UTF-8".to_string())
            .with_hint("patterns match characters; leave out the flag `-u`"),
        kind => refuse(kind.to_string()),
    }
}

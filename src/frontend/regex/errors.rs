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
        ErrorKind::UnsupportedBackreference => refuse(format!("back-references (`{text}`) are not regular")),
        ErrorKind::EscapeUnrecognized if text.starts_with("\\k") || text.starts_with("\\g") => {
            refuse(format!("back-references (`{text}`) are not regular"))
        }
        ErrorKind::EscapeUnrecognized => {
            let error = refuse(format!("unknown escape `{text}`"));
            if text == "\\Z" { error.with_hint("the end of the text is `\\z` or `$`") } else { error }
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
        ErrorKind::NestLimitExceeded(_) => too_deep(pattern, place, limits),
        ErrorKind::DecimalInvalid => {
            let error = refuse(format!("repeat count `{text}` is more than {} (repeat_max)", limits.repeat_max));
            error.over_limit(text.parse().unwrap_or(usize::MAX), limits.repeat_max as usize)
        }
        kind => refuse(kind.to_string()),
    }
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

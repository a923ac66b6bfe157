//! Hints for authors: the closest name, and what is missing where the parser stopped.

use super::scan::{Token, TokenKind, Tokens, shorten};
use crate::frontend::SyntaxError;
use crate::util::{Span, edit_distance};
use core::ops::Range;

/// Returns the name closest to `wanted`, if one is close enough to be a misspelling.
pub(super) fn closest_name<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Longer names are not compared, nor more of them: the time is the product of the lengths.
    const LENGTH_MAX: usize = 80;
    const CANDIDATES_MAX: usize = 4096;
    if wanted.len() > LENGTH_MAX {
        return None;
    }
    let distance_max = (wanted.len() / 3).max(1);
    let candidates = names.filter(|name| name.len().abs_diff(wanted.len()) <= distance_max && name.len() <= LENGTH_MAX);
    let (distance, name) = candidates
        .take(CANDIDATES_MAX)
        .map(|name| (edit_distance(wanted, name), name))
        .min_by_key(|&(distance, _)| distance)?;
    // A name of one letter is near to every other.
    (distance <= distance_max && distance < wanted.len()).then_some(name)
}

/// Returns the error for a reference to a rule that is not defined.
pub(super) fn undefined_rule<'n>(
    source: &str,
    range: Range<usize>,
    names: impl Iterator<Item = &'n str> + Clone,
) -> SyntaxError {
    let name = &source[range.clone()];
    let error = SyntaxError::new(source, range.clone().into(), format!("undefined rule `{}`", shorten(name)));
    let is_defined = |part: &str| names.clone().any(|name| name == part);
    // `a-b` is one name: the author may have meant a difference. `a.b` likewise.
    for (mark, meaning) in [('-', "a difference"), ('.', "any character between them")] {
        if let Some((left, right)) = name.split_once(mark)
            && is_defined(left)
            && (right.is_empty() || is_defined(right))
        {
            return error
                .with_hint(format!("`{mark}` belongs to the name; for {meaning} write `{left} {mark} {right}`"));
        }
    }
    if source[range.end..].starts_with('(') && matches!(name, "Token" | "ExcludeTokens" | "TokenDispatch") {
        return error.with_hint(
            "macros are `Token(...)`, `ExcludeToken(...)`, `Marker(...)`, `Regex(...)`, `Substring(...)`, `TagDispatch(...)` and `TokenTagDispatch(...)`",
        );
    }
    match closest_name(name, names.clone()) {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// Returns the error for a parser that stopped at `stop` in the rule with the body `body`.
pub(super) fn explain_stop(source: &str, body: Range<usize>, stop: usize) -> SyntaxError {
    let mut before: Option<Token> = None;
    let mut found: Option<Token> = None;
    for token in Tokens::new(source, body.clone()).map_while(Result::ok) {
        if token.range.end > stop {
            found = Some(token);
            break;
        }
        before = Some(token);
    }
    let written = |token: &Token| shorten(&source[token.range.clone()]);
    let is_one_of = |token: &Option<Token>, marks: &[&str]| {
        token.as_ref().is_some_and(|t| marks.contains(&&source[t.range.clone()]))
    };
    // The operator before needs an operand, unless there is one, which is malformed itself.
    if is_one_of(&before, &["&", "-", "~"]) {
        let before = before.expect("one of the marks");
        let message = format!("expected an expression after `{}`", written(&before));
        return SyntaxError::new(source, before.range.into(), message).with_hint("the empty text is written \"\"");
    }
    let Some(found) = found else {
        let end = body.end.max(body.start + 1) - 1;
        return SyntaxError::new(source, Span::new(end, body.end), "the rule ends too early");
    };
    let message = match (found.kind, written(&found)) {
        (TokenKind::Count, written) => format!("nothing to repeat before `{written}`"),
        (_, written) if matches!(&*written, "*" | "+" | "?") => format!("nothing to repeat before `{written}`"),
        (_, written) if matches!(&*written, "&" | "-") => format!("expected an expression before `{written}`"),
        (_, written) => format!("unexpected `{written}`"),
    };
    let error = SyntaxError::new(source, found.range.clone().into(), message);
    match found.kind {
        TokenKind::Number => error.with_hint("names begin with a letter or `_`; text is written in quotes"),
        _ if &source[found.range] == "," => error.with_hint("parts that follow each other need no comma"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, distance) in [("value", "vlaue", 1), ("value", "VALUE", 0), ("", "abc", 3), ("kitten", "sitting", 3)]
        {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
        }
    }

    #[test]
    fn only_near_names_are_offered() {
        let names = ["string", "number", "x"];
        assert_eq!(closest_name("strnig", names.into_iter()), Some("string"));
        assert_eq!(closest_name("array", names.into_iter()), None);
        assert_eq!(closest_name("y", names.into_iter()), None);
        assert_eq!(closest_name(&"s".repeat(1 << 20), names.into_iter()), None);
    }
}

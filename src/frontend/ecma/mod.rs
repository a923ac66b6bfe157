//! ECMAScript patterns, as JSON Schema uses them: Unicode, unanchored.
//!
//! The language of a pattern is the set of the strings in which it matches somewhere: `b` is the same as `/.*b.*/s`, and `^b$` matches `b` alone.
//! Classes, escapes and properties have the meaning of ECMAScript with the flag `u` (`\d` and `\w` are ASCII, `\s` is not); because real schemas
//! have them, needless escapes such as `\-` and `\_`, and unmatched braces and brackets, stand for themselves. Laziness, captures and names
//! make no difference to which strings match.
//!
//! # Assertions
//!
//! Anchors, word boundaries and lookaheads match the empty string under a condition on their context. The usual compositional translation
//! fails for them: in `(a|ab)(?!c)c?` the lookahead constrains what a later part matches, and beyond the match the suffix of the text. So
//! the translation goes from right to left, and computes for each position the *continuation*, the language of the whole suffix of the text:
//!
//! ```text
//! cont(x y, after)   = cont(x, cont(y, after))
//! cont(a, after)     = a after
//! cont((?=x), after) = cont(x, anything) & after          cont($, after) = after & ""
//! cont((?!x), after) = ~cont(x, anything) & after         the whole: any text, then cont(pattern, anything)
//! ```
//!
//! That is exact for any condition on what follows, at any position. Conditions on what precedes, `^` and the left side of `\b`, have three
//! cases: nothing, a word character, another character; so a continuation is three languages (the file `lower.rs` has the details). Parts
//! without assertions are translated as a whole: `^[a-z]{1,255}$` is the expression `[a-z]{1,255}`.
//!
//! A repeat is an equation: `cont(x*, after)` is the least `R = after | cont(x, R)`. Without assertions in `x` its solution is `x* after`.
//! With assertions, as in `((?!foo).)*`, the system of all equations of a loop is solved by derivatives and Arden's rule (the file `solve.rs`).
//!
//! Refused by name: back-references, which are not regular, and lookbehind.

mod arena;
mod class;
mod cursor;
mod lower;
mod part;
mod solve;
#[cfg(test)]
pub(crate) mod suite;
#[cfg(test)]
mod tests;

use super::SyntaxError;
use crate::Limits;
use crate::regular::Regular;
use crate::util::Span;

/// Reads a pattern; the result matches the whole texts in which the pattern matches somewhere.
///
/// ```
/// use maskwright::{Limits, frontend::ecma, regular::Dfa};
/// let limits = Limits::default();
/// let dfa = Dfa::new(&ecma::parse(r"^(?!.*--)[a-z-]+\.|\u{1F600}", &limits).unwrap(), &limits).unwrap();
/// assert!(dfa.is_match(b"a-b.c") && dfa.is_match("a--b.😀".as_bytes()) && !dfa.is_match(b"a--b."));
/// let error = ecma::parse(r"(a)\1", &limits).unwrap_err();
/// assert_eq!(error.message(), r"back-references (`\1`) are not regular");
/// ```
///
/// # Errors
/// If the pattern is malformed, holds a back-reference or a lookbehind, or exceeds `source_bytes_max`, `nesting_max` (250 at most),
/// `repeat_max`, or, with its repeats and conditions written out, `n_exprs_max` or `loop_states_max`. The span is a place in `pattern`.
pub fn parse(pattern: &str, limits: &Limits) -> Result<Regular, SyntaxError> {
    if pattern.len() > limits.source_bytes_max {
        let message =
            format!("pattern of {} bytes, more than {} (source_bytes_max)", pattern.len(), limits.source_bytes_max);
        return Err(SyntaxError::new("", Span::default(), message).unsupported());
    }
    let part = part::parse(pattern, limits)?;
    lower::lower(pattern, &part, limits)
}

/// Returns the only text that a pattern matches, if it is an anchored literal: `abc` for `^abc$`.
pub(crate) fn anchored_literal(pattern: &str) -> Option<&str> {
    let literal = pattern.strip_prefix('^')?.strip_suffix('$')?;
    (!literal.contains(['\\', '^', '$', '.', '*', '+', '?', '(', ')', '[', ']', '{', '}', '|'])).then_some(literal)
}

//! ECMAScript patterns, as JSON Schema uses them: Unicode, unanchored.
//!
//! A pattern stands for the whole texts in which it matches somewhere: `b` becomes what `/.*b.*/s` becomes, and `^b$` the text `b` alone.
//! Classes, escapes and properties mean what they mean in ECMAScript with the flag `u` (`\d` and `\w` are ASCII, `\s` is not); as real schemas
//! need it, needless escapes such as `\-` and `\_`, and braces and brackets that open or close nothing, stand for themselves. Laziness,
//! captures and names make no difference to which texts match.
//!
//! # Places that look around
//!
//! Anchors, word boundaries and lookaheads match nothing, but under a condition on what is around them. Translating part by part, as one does
//! without them, fails: in `(a|ab)(?!c)c?` the lookahead looks at what a later part matches, and beyond the match at the rest of the text. So
//! the translation goes from right to left, and what it carries is not a part but *all the rest of the text* from a place on:
//!
//! ```text
//! rest(x y, after)   = rest(x, rest(y, after))
//! rest(a, after)     = a after
//! rest((?=x), after) = rest(x, anything) & after          rest($, after) = after & ""
//! rest((?!x), after) = ~rest(x, anything) & after         the whole: any text, then rest(pattern, anything)
//! ```
//!
//! That is exact for any condition on what follows, at any place. Conditions on what came before, `^` and the left side of `\b`, have three
//! cases: nothing, a word character, another character; so a rest is three languages (the file `lower.rs` has the details). Parts without conditions
//! are never taken apart: `^[a-z]{1,255}$` is the expression `[a-z]{1,255}`.
//!
//! A repeat is an equation: `rest(x*, after)` is the least `R = after | rest(x, R)`. Without conditions in `x` its solution is `x* after`. With
//! conditions, as in `((?!foo).)*`, the system of all equations of a loop is solved by derivatives and Arden's rule (the file `solve.rs`).
//!
//! Refused by name: back-references, which are not regular, and lookbehind.

mod arena;
mod class;
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
/// `repeat_max`, or, for repeats with conditions inside, `dfa_states_max`. The span is a place in `pattern`.
pub fn parse(pattern: &str, limits: &Limits) -> Result<Regular, SyntaxError> {
    if pattern.len() > limits.source_bytes_max {
        let message =
            format!("pattern of {} bytes, more than {} (source_bytes_max)", pattern.len(), limits.source_bytes_max);
        return Err(SyntaxError::new("", Span::default(), message).unsupported());
    }
    let part = part::parse(pattern, limits)?;
    lower::lower(pattern, &part, limits)
}

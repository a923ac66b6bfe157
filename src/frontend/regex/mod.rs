//! Regular expressions in the usual syntax, for full matches over Unicode scalar values.
//!
//! The crate `regex-syntax` reads the pattern and knows the classes; its syntax is that of the crate `regex`: classes and set
//! operations on them, Unicode properties, groups, counted repeats, flags `i`, `s` and `x` (also inline). Laziness and greed make no
//! difference to which whole texts match. What isn't regular, or depends on the text around (back-references, look-around, word
//! boundaries), is refused by name.
//!
//! Anchors `^`, `$`, `\A`, `\z` mean what they say wherever they stand: at the ends they are redundant, `a^b` matches nothing, and
//! `([a-z]+(,|$))*` is a list with an optional comma at its end (the file `anchors.rs` says how).

mod anchors;
mod ascii;
mod errors;
mod lower;
mod options;
#[cfg(test)]
mod tests;

pub use options::RegexOptions;

use super::{ReadError, Spend, SyntaxError};
use crate::Limits;
use crate::regular::Regular;
use crate::util::Span;
use regex_syntax::ast;

/// Reads a pattern that must match whole texts. `flags` holds some of `i` (letters in any case), `s` (`.` matches `\n` too),
/// `x` (white space and comments in the pattern don't count), `a` (`\d`, `\w` and `\s` are those of ASCII) and `j` (contents of a JSON string).
///
/// ```
/// use maskwright::{Limits, frontend::regex, regular::Dfa};
/// let limits = Limits::default();
/// let regular = regex::parse(r"\d{4}(-\d\d){2}|now", "i", &limits).unwrap();
/// let dfa = Dfa::new(&regular, &limits).unwrap();
/// assert!(dfa.is_match(b"2024-02-29") && dfa.is_match(b"NOW") && !dfa.is_match(b"2024"));
/// let error = regex::parse(r"(a)\1", "", &limits).unwrap_err();
/// assert_eq!(error.message(), r"back-references (`\1`) are not regular");
/// ```
///
/// # Errors
/// If the pattern is malformed, holds a construct that is not regular, could match what is not UTF-8, or exceeds
/// `source_bytes_max`, `pattern_bytes_max`, `n_exprs_max`, `nesting_max` or `repeat_max`. The span is a place in `pattern`.
pub fn parse(pattern: &str, flags: &str, limits: &Limits) -> Result<Regular, SyntaxError> {
    let mut options = RegexOptions::default();
    if let Some(flag) = flags.chars().find(|&flag| !options.set_flag(flag)) {
        let message = format!("unknown flag `{flag}` of a regular expression");
        let error = SyntaxError::new(pattern, Span::default(), message);
        return Err(error.with_hint("the flags are `a`, `i`, `j`, `s`, `u` and `x`"));
    }
    parse_with(pattern, &options, limits)
}

/// As [`parse`], with options in place of flags.
///
/// # Errors
/// As [`parse`], and if the contents of JSON strings that match exceed `n_exprs_max`.
pub fn parse_with(pattern: &str, options: &RegexOptions, limits: &Limits) -> Result<Regular, SyntaxError> {
    parse_within(pattern, options, limits, &mut |_| Ok(())).map_err(ReadError::uninterrupted)
}

/// As [`parse_with`], but reports its work to `spend` now and then, in bytes that take as long to read; the error of `spend` ends it.
pub(crate) fn parse_within(
    pattern: &str,
    options: &RegexOptions,
    limits: &Limits,
    spend: Spend<'_>,
) -> Result<Regular, ReadError> {
    let limit = limits.pattern_bytes_max.min(limits.source_bytes_max);
    if pattern.len() > limit {
        let name = if limit == limits.pattern_bytes_max { "pattern_bytes_max" } else { "source_bytes_max" };
        let message = format!("pattern of {} bytes, more than {limit} ({name})", pattern.len());
        return Err(SyntaxError::new("", Span::default(), message).over_limit(pattern.len(), limit).into());
    }
    // Of the levels that the parser counts, up to four (repeat, group, choice, sequence) are one level of groups.
    let nest_limit = u32::try_from(limits.nesting_max).unwrap_or(u32::MAX).saturating_add(1).saturating_mul(4);
    let mut parser =
        ast::parse::ParserBuilder::new().ignore_whitespace(options.ignores_white_space).nest_limit(nest_limit).build();
    let ast = parser.parse(pattern).map_err(|error| errors::from_parser(pattern, &error, limits))?;
    spend(pattern.len())?;
    let regular = ast::visit(&ast, lower::Lowering::new(pattern, options, limits, spend))?;
    if !options.is_json_string {
        return Ok(regular);
    }
    let contents = regular.in_json_strings();
    let (given, limit) = (contents.nodes().len(), limits.n_exprs_max);
    spend(given)?;
    if given > limit {
        let message = format!("the contents of JSON strings take {given} expressions, more than {limit} (n_exprs_max)");
        let span = Span::new(0, pattern.len());
        return Err(SyntaxError::new(pattern, span, message).over_limit(given, limit).into());
    }
    Ok(contents)
}

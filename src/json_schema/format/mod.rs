//! The keyword `format`: each asserted format as the regular language of the strings that have it.
//!
//! A language is over the *decoded* characters of a string. It is written as an ECMAScript pattern, in the terms of the RFC that defines the
//! format, and read by [`ecma::parse`]; lengths and exclusions are lookaheads. Where a format is not regular, or only at a large cost, the
//! language holds *fewer* strings, so that whatever matches is valid. Under a negation ([`outer_language`]) such a format is a language that
//! holds *more* strings, so that whatever doesn't match is invalid; the strings between the two are refused either way.
//!
//! | format | definition | left out |
//! |---|---|---|
//! | `date` | RFC 3339, with the lengths of months and leap years | |
//! | `time`, `date-time` | RFC 3339, leap seconds at 23:59:60 UTC | leap seconds at offsets that are not multiples of 15 minutes |
//! | `duration` | RFC 3339, appendix A | |
//! | `hostname` | RFC 1123: letters, digits, inner hyphens; labels up to 63, names up to 253 | labels with `--` third (A-labels, whose contents are not regular); names over 247 when each label with its dot counts as the next multiple of 8 |
//! | `email` | RFC 5321, with quoted local parts and address literals | as for `hostname`; quoted local parts with escapes and more than 31 characters |
//! | `ipv4`, `ipv6` | RFC 2673, section 3.2; RFC 4291, section 2.2 | |
//! | `uri`, `uri-reference`, `uri-template` | RFC 3986; RFC 6570, section 2 | |
//! | `uuid` | RFC 4122 | |
//! | `json-pointer`, `relative-json-pointer` | RFC 6901 and its relative draft | |
//! | `regex` | ECMA-262 with the flag `u` | groups more than three deep, most named groups and references, rare ranges and counts; the file `pattern.rs` has the rest |
//!
//! | format | outer language |
//! |---|---|
//! | `time`, `date-time` | seconds up to 60 at any time |
//! | `hostname` | labels as above, of any number and contents, perhaps with a last dot |
//! | `email` | any text with `@` |
//! | `regex` | any text but those that begin with a quantifier, and some with parentheses that don't match |
//!
//! Other formats that the drafts know (`idn-email`, `idn-hostname`, `iri`, `iri-reference`) are annotations, like unknown ones.

mod net;
mod pattern;
#[cfg(test)]
mod tests;
mod time;

use crate::Limits;
use crate::frontend::ecma;
use crate::regular::{Dfa, Regular};
use std::sync::{Arc, OnceLock};

/// The formats that are asserted.
pub const ASSERTED: [&str; 15] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// The formats that the drafts define and that are annotations here.
pub const ANNOTATIONS: [&str; 4] = ["idn-email", "idn-hostname", "iri", "iri-reference"];

/// Returns the language of the decoded strings of a format; `None` if the format is an annotation. Languages are built when first
/// asked for, and shared.
///
/// ```
/// use maskwright::{Limits, json_schema::format, regular::Dfa};
/// let date = Dfa::new(&format::language("date").unwrap(), &Limits::default()).unwrap();
/// assert!(date.is_match(b"2024-02-29") && !date.is_match(b"2023-02-29"));
/// assert!(format::language("iri").is_none() && format::language("phone").is_none());
/// ```
pub fn language(name: &str) -> Option<Arc<Regular>> {
    static LANGUAGES: [OnceLock<Arc<Regular>>; ASSERTED.len()] = [const { OnceLock::new() }; ASSERTED.len()];
    let number = ASSERTED.iter().position(|&asserted| asserted == name)?;
    let language = LANGUAGES[number].get_or_init(|| {
        let pattern = match name {
            "date-time" => time::date_time(),
            "date" => time::date(),
            "time" => time::time(),
            "duration" => time::duration(),
            "email" => net::email(),
            "hostname" => net::hostname(),
            "ipv4" => net::ipv4(),
            "ipv6" => net::ipv6(),
            "uri" => net::uri(),
            "uri-reference" => net::uri_reference(),
            "uri-template" => net::uri_template(),
            "uuid" => "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}".to_owned(),
            "json-pointer" => json_pointer().to_owned(),
            "relative-json-pointer" => format!("(?:0|[1-9][0-9]*)(?:#|{})", json_pointer()),
            "regex" => pattern::pattern(),
            _ => unreachable!("{name} has a language"),
        };
        let regular = ecma::parse(&format!("^(?:{pattern})$"), &Limits::default());
        Arc::new(regular.unwrap_or_else(|error| panic!("the pattern of {name} is well-formed: {error:#}")))
    });
    Some(Arc::clone(language))
}

/// Returns the automaton of [`language`]. Formats never change, so that each is built once in a process.
pub(super) fn automaton(name: &str) -> Option<Arc<Dfa>> {
    static AUTOMATA: [OnceLock<Arc<Dfa>>; ASSERTED.len()] = [const { OnceLock::new() }; ASSERTED.len()];
    let number = ASSERTED.iter().position(|&asserted| asserted == name)?;
    let automaton = AUTOMATA[number].get_or_init(|| {
        let regular = language(name).expect("asserted formats have a language");
        Arc::new(Dfa::new(&regular, &Limits::default()).expect("formats are within the default limits"))
    });
    Some(Arc::clone(automaton))
}

/// Returns a language that holds all strings of a format, and as few others as is practical; `None` if the format is an annotation. The
/// strings that it doesn't hold are those that surely don't have the format. Where [`language`] is exact, it is the same.
///
/// ```
/// use maskwright::{Limits, json_schema::format, regular::Dfa};
/// let dfa = |regular| Dfa::new(regular, &Limits::default()).unwrap();
/// let (inner, outer) = (format::language("time").unwrap(), format::outer_language("time").unwrap());
/// assert!(!dfa(&inner).is_match(b"12:00:60Z") && dfa(&outer).is_match(b"12:00:60Z"));
/// assert!(!dfa(&outer).is_match(b"noon"));
/// ```
pub fn outer_language(name: &str) -> Option<Arc<Regular>> {
    const OUTER: [&str; 5] = ["date-time", "time", "email", "hostname", "regex"];
    static LANGUAGES: [OnceLock<Arc<Regular>>; OUTER.len()] = [const { OnceLock::new() }; OUTER.len()];
    let Some(number) = OUTER.iter().position(|&outer| outer == name) else { return language(name) };
    let language = LANGUAGES[number].get_or_init(|| {
        let pattern = match name {
            "date-time" => format!("{}[Tt]{}", time::date(), time::outer_time()),
            "time" => time::outer_time(),
            "email" => "[^@]*@[^]*".to_owned(),
            "hostname" => net::outer_hostname(),
            "regex" => pattern::outer_pattern().to_owned(),
            _ => unreachable!("{name} has an outer language"),
        };
        let regular = ecma::parse(&format!("^(?:{pattern})$"), &Limits::default());
        Arc::new(regular.unwrap_or_else(|error| panic!("the outer pattern of {name} is well-formed: {error:#}")))
    });
    Some(Arc::clone(language))
}

fn json_pointer() -> &'static str {
    "(?:/(?:[^/~]|~[01])*)*"
}

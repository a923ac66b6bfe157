//! The keyword `format`: each asserted format as the regular language of the strings that have it.
//!
//! A language is over the *decoded* characters of a string. It is written as an ECMAScript pattern, in the terms of the RFC that defines the
//! format, and read by [`ecma::parse`]; lengths and exclusions are lookaheads. A format that is not regular, or only at a large cost, is
//! approximated on one side or the other:
//!
//! - *From within*: the language holds *fewer* strings, so that whatever matches is valid. Under a negation such a format is the *outer*
//!   language, which holds *more* strings, so that whatever doesn't match is invalid; the strings between the two are refused either way.
//! - *In part*: what takes tables of IDNA or a decoder is not checked. The language holds
//!   all strings of the format and some others; the report says which ([`Verdict::EnforcedInPart`](super::Verdict::EnforcedInPart)).
//!
//! | format | definition | left out |
//! |---|---|---|
//! | `date` | RFC 3339, with the lengths of months and leap years | |
//! | `time`, `date-time` | RFC 3339, leap seconds at 23:59:60 UTC | leap seconds at offsets that are not multiples of 15 minutes |
//! | `duration` | RFC 3339, appendix A | |
//! | `hostname` | RFC 1123: letters, digits, inner hyphens; labels up to 63, names up to 253; from draft 7 on `--` third only in A-labels (`xn--`) | names over 247 when each label with its dot counts as the next multiple of 8 |
//! | `email` | RFC 5321, with quoted local parts and address literals | long names as for `hostname`; quoted local parts with escapes and more than 31 characters |
//! | `idn-hostname` | RFC 5890 to 5892: labels as for `hostname` or of letters, marks and digits of any script | |
//! | `idn-email` | RFC 6531: `email` with other characters | as for `email` |
//! | `ipv4`, `ipv6` | RFC 2673, section 3.2; RFC 4291, section 2.2 | |
//! | `uri`, `uri-reference`, `uri-template` | RFC 3986; RFC 6570, section 2 | |
//! | `iri`, `iri-reference` | RFC 3987 | |
//! | `uuid` | RFC 4122 | |
//! | `json-pointer`, `relative-json-pointer` | RFC 6901 and its relative draft | |
//! | `regex` | ECMA-262 with the flag `u` | groups more than three deep, most named groups and references, rare ranges and counts; the file `pattern.rs` has the rest |
//!
//! | format | not enforced: also let through |
//! |---|---|
//! | `hostname` from draft 7 on | A-labels whose contents are no label |
//! | `idn-hostname`, `idn-email` | the same; characters that compatibility normalization changes; against the rules of context and RFC 5893 (right to left); labels with other characters that are too long as A-labels, and long names |
//!
//! | format | outer language |
//! |---|---|
//! | `time`, `date-time` | seconds up to 60 at any time |
//! | `hostname` | labels as above, of any number and contents, perhaps with a last dot |
//! | `email`, `idn-email` | any text with `@` |
//! | `regex` | any text but those that begin with a quantifier, and some with parentheses that don't match |
//!
//! Formats that no draft defines are annotations.

mod idn;
mod net;
mod pattern;
#[cfg(test)]
mod tests;
mod time;

use super::draft::Draft;
use crate::Limits;
use crate::frontend::ecma;
use crate::regular::{Dfa, Regular};
use std::sync::{Arc, OnceLock};

/// The formats that are asserted.
pub const ASSERTED: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "uuid",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// What defines a format.
struct Definition {
    /// The name in schemas; with a suffix in parentheses where drafts differ.
    id: &'static str,
    pattern: fn() -> String,
    outer_pattern: Option<fn() -> String>,
    /// What an approximation in part lets through.
    not_enforced: Option<&'static str>,
}

impl Definition {
    const fn exact(id: &'static str, pattern: fn() -> String) -> Self {
        Definition { id, pattern, outer_pattern: None, not_enforced: None }
    }

    /// A format approximated from within.
    const fn within(id: &'static str, pattern: fn() -> String, outer_pattern: fn() -> String) -> Self {
        Definition { id, pattern, outer_pattern: Some(outer_pattern), not_enforced: None }
    }

    const fn in_part(self, not_enforced: &'static str) -> Self {
        Definition { not_enforced: Some(not_enforced), ..self }
    }
}

const N_DEFINITIONS: usize = ASSERTED.len() + 2;

static DEFINITIONS: [Definition; N_DEFINITIONS] = [
    Definition::within("date-time", time::date_time, time::outer_date_time),
    Definition::exact("date", time::date),
    Definition::within("time", time::time, time::outer_time),
    Definition::exact("duration", time::duration),
    Definition::within("email", net::email, net::outer_email),
    Definition::within("idn-email", idn::email, net::outer_email).in_part(idn::NOT_ENFORCED),
    Definition::within("hostname", net::hostname, net::outer_hostname)
        .in_part("what A-labels (`xn--`) encode is not checked"),
    Definition::within("hostname (draft 6)", net::hostname_of_rfc_1123, net::outer_hostname),
    Definition::exact("idn-hostname", idn::hostname).in_part(idn::NOT_ENFORCED),
    Definition::exact("ipv4", net::ipv4),
    Definition::exact("ipv6", net::ipv6),
    Definition::exact("uri", net::uri),
    Definition::exact("uri-reference", net::uri_reference),
    Definition::exact("iri", net::iri),
    Definition::exact("iri-reference", net::iri_reference),
    Definition::exact("uri-template", net::uri_template),
    Definition::exact("uuid", uuid),
    Definition::exact("json-pointer", json_pointer),
    Definition::exact("relative-json-pointer", relative_json_pointer),
    Definition::exact("relative-json-pointer (draft 2019-09)", relative_json_pointer_without_moves),
    Definition::within("regex", pattern::pattern, pattern::outer_pattern),
];

/// An asserted format as a draft defines it: a place in the table of definitions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Format(usize);

impl Format {
    /// Returns the format of a name; `None` if the format is an annotation.
    pub fn find(name: &str, draft: Draft) -> Option<Format> {
        let id = match name {
            "hostname" if draft < Draft::Draft7 => "hostname (draft 6)",
            "relative-json-pointer" if draft < Draft::Draft2020 => "relative-json-pointer (draft 2019-09)",
            name if name.ends_with(')') => return None,
            name => name,
        };
        DEFINITIONS.iter().position(|definition| definition.id == id).map(Format)
    }

    /// Returns a name that tells it from all other formats.
    pub fn id(self) -> &'static str {
        DEFINITIONS[self.0].id
    }

    /// Returns what is not enforced of a format that is enforced in part.
    pub fn not_enforced(self) -> Option<&'static str> {
        DEFINITIONS[self.0].not_enforced
    }

    fn language(self) -> Arc<Regular> {
        static LANGUAGES: [OnceLock<Arc<Regular>>; N_DEFINITIONS] = [const { OnceLock::new() }; N_DEFINITIONS];
        Arc::clone(LANGUAGES[self.0].get_or_init(|| parse(self.id(), &(DEFINITIONS[self.0].pattern)())))
    }

    /// Returns the outer language, where it is another.
    fn outer_language(self) -> Option<Arc<Regular>> {
        static LANGUAGES: [OnceLock<Arc<Regular>>; N_DEFINITIONS] = [const { OnceLock::new() }; N_DEFINITIONS];
        let pattern = DEFINITIONS[self.0].outer_pattern?;
        Some(Arc::clone(LANGUAGES[self.0].get_or_init(|| parse(self.id(), &pattern()))))
    }

    /// Returns the automaton of the language. Formats never change, so that each is built once in a process.
    pub fn automaton(self) -> Arc<Dfa> {
        static AUTOMATA: [OnceLock<Arc<Dfa>>; N_DEFINITIONS] = [const { OnceLock::new() }; N_DEFINITIONS];
        Arc::clone(AUTOMATA[self.0].get_or_init(|| build(&self.language())))
    }

    /// Returns the automaton of the outer language, where it is another.
    pub fn outer_automaton(self) -> Option<Arc<Dfa>> {
        static AUTOMATA: [OnceLock<Arc<Dfa>>; N_DEFINITIONS] = [const { OnceLock::new() }; N_DEFINITIONS];
        let language = self.outer_language()?;
        Some(Arc::clone(AUTOMATA[self.0].get_or_init(|| build(&language))))
    }
}

fn parse(id: &str, pattern: &str) -> Arc<Regular> {
    let regular = ecma::parse(&format!("^(?:{pattern})$"), &Limits::default());
    Arc::new(regular.unwrap_or_else(|error| panic!("the pattern of {id} is well-formed: {error:#}")))
}

fn build(regular: &Regular) -> Arc<Dfa> {
    Arc::new(Dfa::new(regular, &Limits::default()).expect("formats are within the default limits"))
}

/// Returns the language of the decoded strings of a format, as a draft defines it; `None` if the format is an annotation. Languages are
/// built on demand, and shared.
///
/// ```
/// use maskwright::{Limits, json_schema::{Draft, format}, regular::Dfa};
/// let dfa = |name, draft| Dfa::new(&format::language(name, draft).unwrap(), &Limits::default()).unwrap();
/// let date = dfa("date", Draft::Draft2020);
/// assert!(date.is_match(b"2024-02-29") && !date.is_match(b"2023-02-29"));
/// let (old, new) = (dfa("hostname", Draft::Draft4), dfa("hostname", Draft::Draft7));
/// assert!(old.is_match(b"ab--cd") && !new.is_match(b"ab--cd"));
/// assert!(format::language("phone", Draft::Draft2020).is_none());
/// ```
pub fn language(name: &str, draft: Draft) -> Option<Arc<Regular>> {
    Format::find(name, draft).map(Format::language)
}

/// Returns a language that holds all strings of a format, and as few others as is practical; `None` if the format is an annotation. The
/// strings that it doesn't hold are those that surely don't have the format. Where [`language`] is exact, or holds all strings, it is the
/// same.
///
/// ```
/// use maskwright::{Limits, json_schema::{Draft, format}, regular::Dfa};
/// let dfa = |regular| Dfa::new(regular, &Limits::default()).unwrap();
/// let (inner, outer) = (format::language("time", Draft::Draft7).unwrap(), format::outer_language("time", Draft::Draft7).unwrap());
/// assert!(!dfa(&inner).is_match(b"12:00:60Z") && dfa(&outer).is_match(b"12:00:60Z"));
/// assert!(!dfa(&outer).is_match(b"noon"));
/// ```
pub fn outer_language(name: &str, draft: Draft) -> Option<Arc<Regular>> {
    let format = Format::find(name, draft)?;
    Some(format.outer_language().unwrap_or_else(|| format.language()))
}

/// Returns what of a format is not enforced, if something is: the language holds strings that don't have the format.
pub fn not_enforced(name: &str, draft: Draft) -> Option<&'static str> {
    Format::find(name, draft)?.not_enforced()
}

fn uuid() -> String {
    "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}".to_owned()
}

fn json_pointer() -> String {
    "(?:/(?:[^/~]|~[01])*)*".to_owned()
}

/// That of draft-bhutton-relative-json-pointer-00, which draft 2020-12 refers to: `0-1/a` begins at the item before. Its grammar and its examples disagree on `0-1#`, which is taken.
fn relative_json_pointer() -> String {
    let number = "(?:0|[1-9][0-9]*)";
    format!("{number}(?:[+-]{number})?(?:#|{})", json_pointer())
}

/// That of draft-handrews-relative-json-pointer-01 and -02.
fn relative_json_pointer_without_moves() -> String {
    format!("(?:0|[1-9][0-9]*)(?:#|{})", json_pointer())
}

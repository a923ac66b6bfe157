//! What a JSON Schema expects after a text, in its own words: properties, keywords and where they are written.
//!
//! The automata of a schema have no rules that a person wrote. So the text so far is read once more, as the beginning of a JSON document
//! ([`TextPosition`]), and the schema is followed along the path to the value under way ([`ConstraintsAt`]). Which bytes and which keys may come is asked of
//! the engine, since keywords act together: it is exact where the keywords alone are not.
//!
//! Behind a digit a number may end or go on. Where the engine lets it end, what comes next is a matter of the object or array around it, which is told as well:
//! in `{"n": 1` the brace is refused since `m` is missing, and not by what is said of `n`.

use super::show;
use crate::json_schema::{Constraint, ConstraintsAt, PathStep, SchemaReport, TextPosition, Writing};
use crate::matcher::Matcher;
use crate::util::{ByteSet, closest_name};
use core::fmt;
use serde_json::{Value, json};
use std::sync::Arc;

/// Most declared names that the engine is asked about.
const NAMES_ASKED_MAX: usize = 512;
/// Most names and constraints that are shown in one line.
const SHOWN_MAX: usize = 6;

/// Where a text stops within a document of a JSON Schema, and what the schema says there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaPlace {
    position: TextPosition,
    constraints: Vec<Constraint>,
    /// Keywords of containers on the path, with the number of steps that lead to the container.
    around: Vec<(usize, Constraint)>,
    bytes: ByteSet,
    is_end: bool,
    is_complete: bool,
    keys: Option<NextKeys>,
    refused_key: Option<RefusedKey>,
    /// Whether an escape comes next in a string, and no escape may.
    is_escape_refused: bool,
    /// What the container of a number says that may be complete.
    enclosing: Option<Box<SchemaPlace>>,
}

/// The keys that may come next in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextKeys {
    /// The declared names that may come next, in declared order.
    pub next: Vec<Arc<str>>,
    /// Whether other names may come, too. `false`: this is not known.
    pub has_others: bool,
    /// The names that are required and have not come.
    pub missing: Vec<Arc<str>>,
    /// Whether some declared name may come only behind others, since keys come in declared order.
    pub is_ordered: bool,
}

/// A key that may not come where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedKey {
    name: Box<str>,
    reason: RefusedKeyReason,
}

/// Why a key may not come where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedKeyReason {
    /// The object has it already.
    Repeated,
    /// It is declared before this one, which has come: keys come in declared order.
    ComesBefore(Arc<str>),
    /// This one is required, is declared before it, and has not come.
    Misses(Arc<str>),
    /// It is not declared; the closest declared name that may come, if one is close.
    Undeclared(Option<Arc<str>>),
    /// It is not declared, and `propertyNames` constrains the names of others.
    PropertyNames,
    /// It is declared, and something else forbids it here.
    Forbidden,
}

impl RefusedKey {
    /// Returns the name, decoded.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the reason.
    pub fn reason(&self) -> &RefusedKeyReason {
        &self.reason
    }
}

impl fmt::Display for RefusedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = named(&self.name);
        match &self.reason {
            RefusedKeyReason::Repeated => write!(f, "the key {name} has come already"),
            RefusedKeyReason::ComesBefore(other) => {
                write!(f, "keys come in declared order: {name} comes before {}", named(other))
            }
            RefusedKeyReason::Misses(other) => {
                write!(f, "keys come in declared order: {} is required before {name}", named(other))
            }
            RefusedKeyReason::Undeclared(None) => write!(f, "no property {name} is declared, and it may not come here"),
            RefusedKeyReason::Undeclared(Some(near)) => {
                write!(f, "no property {name} is declared: did you mean {}?", named(near))
            }
            RefusedKeyReason::PropertyNames => write!(f, "the key {name} does not conform to `propertyNames`"),
            RefusedKeyReason::Forbidden => write!(f, "the key {name} may not come here"),
        }
    }
}

fn named(name: &str) -> String {
    const CHARS_MAX: usize = 60;
    let cut: String = name.chars().take(CHARS_MAX).collect();
    format!("`{}`", show::bytes(cut.as_bytes()))
}

/// Returns a list like `a, b and 3 more`, or `a, b or c`.
fn list(names: &[Arc<str>], last: &str) -> String {
    let mut shown: Vec<String> = names.iter().take(SHOWN_MAX).map(|name| named(name)).collect();
    if names.len() > SHOWN_MAX {
        return format!("{} {last} {} more", shown.join(", "), names.len() - SHOWN_MAX);
    }
    match shown.pop() {
        None => String::new(),
        Some(only) if shown.is_empty() => only,
        Some(end) => format!("{} {last} {end}", shown.join(", ")),
    }
}

impl SchemaPlace {
    /// Returns the place of a matcher that has read `text` as the beginning of a document of the schema, perhaps behind other text; `rest` goes on with the text as
    /// far as known, so that a key that is refused is known as a whole. `None` if the text is not the beginning of a JSON document.
    pub(super) fn of(report: &SchemaReport, matcher: &Matcher, text: &[u8], rest: &[u8]) -> Option<SchemaPlace> {
        let position = TextPosition::of(text)?;
        let bytes = next_bytes(matcher);
        // A blank would end the number.
        let after_number = || {
            let ends: ByteSet = b",]} \t\n\r".iter().copied().collect();
            let goes_on =
                rest.first().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
            let is_end = !(bytes & ends).is_empty() && !goes_on;
            let mut after = TextPosition::of(&[text, b" "].concat()).filter(|_| is_end)?;
            after.start = text.len();
            (after.writing != Writing::End).then_some(after)
        };
        let after = (position.writing == Writing::InNumber).then(after_number).flatten();
        let mut place = Self::at(report, matcher, position, bytes, text, rest);
        place.enclosing = after.map(|after| Box::new(Self::at(report, matcher, after, bytes, text, rest)));
        Some(place)
    }

    fn at(
        report: &SchemaReport,
        matcher: &Matcher,
        position: TextPosition,
        bytes: ByteSet,
        text: &[u8],
        rest: &[u8],
    ) -> SchemaPlace {
        let ConstraintsAt { constraints, declared, mut required, dependent_required, around, .. } =
            report.constraints_at(&position.path, position.writing);
        for (of, name) in dependent_required {
            if position.keys.iter().any(|key| **key == *of) && !required.contains(&name) {
                required.push(name);
            }
        }
        let mut place = SchemaPlace {
            constraints: relevant(constraints, position.writing),
            around,
            bytes,
            is_end: matcher.is_accepting(),
            is_complete: position.writing == Writing::End,
            keys: None,
            refused_key: None,
            is_escape_refused: position.writing == Writing::InString
                && rest.first() == Some(&b'\\')
                && !bytes.contains(b'\\'),
            enclosing: None,
            position,
        };
        if matches!(place.position.writing, Writing::FirstKey | Writing::Key | Writing::InKey | Writing::AfterMember) {
            let has_order = report.has_declared_order();
            let mut keys = place.next_keys(matcher, text, &declared, &required);
            keys.is_ordered &= has_order;
            let refused = place.key_in(text, rest).filter(|name| !place.needs_blank_before(matcher, name));
            let is_never = |name: &str| {
                let path = [&place.position.path[..], &[PathStep::Key(name.into())]].concat();
                report.constraints_at(&path, Writing::Value).constraints.iter().any(|one| &*one.keyword == "false")
            };
            place.refused_key = refused.and_then(|name| {
                let is_never = is_never(&name);
                place.refusal(name, is_never, &declared, &required, &keys, has_order)
            });
            place.keys = Some(keys);
        }
        place
    }

    /// Returns whether a key is refused since white space must come before it, and only for that.
    fn needs_blank_before(&self, matcher: &Matcher, name: &str) -> bool {
        if !matches!(self.position.writing, Writing::FirstKey | Writing::Key) || self.bytes.contains(b'"') {
            return false;
        }
        let mut ahead = matcher.fork();
        skip_blanks(&mut ahead);
        ahead.accept_bytes(Value::from(name).to_string().as_bytes()).is_ok()
    }

    /// Returns the JSON pointer of the value that is under way or begins; for what belongs to an object or an array, like a key, that of the container.
    pub fn pointer(&self) -> String {
        pointer_of(&self.position.path)
    }

    /// Returns where the text stops.
    pub fn position(&self) -> &TextPosition {
        &self.position
    }

    /// Returns the keywords that constrain what is under way.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// Returns the bytes that may come next.
    pub fn bytes(&self) -> &ByteSet {
        &self.bytes
    }

    /// Returns the keys that may come next, where one may.
    pub fn keys(&self) -> Option<&NextKeys> {
        self.keys.as_ref()
    }

    /// Returns the key of the text that is refused, if what is refused is a key.
    pub fn refused_key(&self) -> Option<&RefusedKey> {
        self.refused_key.as_ref()
    }

    /// Returns the keywords of the objects and arrays around that constrain the value by its neighbours, like `uniqueItems`.
    pub fn constraints_around(&self) -> impl Iterator<Item = &Constraint> {
        self.around.iter().map(|(_, constraint)| constraint)
    }

    /// Returns what the object or array around a number says, if the number may be complete here.
    pub fn enclosing(&self) -> Option<&SchemaPlace> {
        self.enclosing.as_deref()
    }

    /// Returns the name of the property whose value is under way.
    fn property(&self) -> Option<&str> {
        self.position.path.iter().rev().find_map(|step| match step {
            PathStep::Key(key) => Some(&**key),
            PathStep::Item(_) => None,
        })
    }

    /// Asks the engine which declared keys may come next.
    fn next_keys(&self, matcher: &Matcher, text: &[u8], declared: &[Arc<str>], required: &[Arc<str>]) -> NextKeys {
        let begun = &text[self.position.start..];
        let mut probe = matcher.fork();
        let mut keys = NextKeys::default();
        let is_after = self.position.writing == Writing::AfterMember;
        keys.missing =
            required.iter().filter(|name| !self.position.keys.contains(&name.as_ref().into())).cloned().collect();
        if is_after && probe.accept_bytes(b",").is_err() {
            return keys;
        }
        if begun.is_empty() {
            skip_blanks(&mut probe);
        }
        let mut firsts = ByteSet::EMPTY;
        let mut others = probe.fork();
        let is_open = !begun.is_empty() || others.accept_bytes(b"\"").is_ok();
        for name in declared.iter().take(NAMES_ASKED_MAX) {
            let written = Value::from(&**name).to_string();
            let Some(rest) = written.as_bytes().strip_prefix(begun) else { continue };
            if self.position.keys.contains(&name.as_ref().into()) {
                continue;
            }
            if probe.fork().accept_bytes(rest).is_ok() {
                let first = if begun.is_empty() { rest.get(1) } else { rest.first() };
                firsts |= first.copied().into_iter().collect::<ByteSet>();
                keys.next.push(Arc::clone(name));
            } else {
                keys.is_ordered = true;
            }
        }
        keys.has_others = is_open
            && declared.len() <= NAMES_ASKED_MAX
            && next_bytes(&others).iter().any(|byte| !firsts.contains(byte));
        keys.is_ordered &= !keys.next.is_empty();
        keys
    }

    /// Returns the key that goes on in `rest`, or begins behind a comma that is refused, decoded.
    fn key_in(&self, text: &[u8], rest: &[u8]) -> Option<String> {
        let mut written = text[self.position.start..].to_vec();
        let mut rest = rest;
        match self.position.writing {
            Writing::InKey => {}
            Writing::AfterMember if !self.bytes.contains(b',') => {
                rest = rest.strip_prefix(b",")?.trim_ascii_start();
                if rest.first() != Some(&b'"') {
                    return None;
                }
            }
            Writing::FirstKey | Writing::Key if rest.first() == Some(&b'"') => {}
            _ => return None,
        }
        written.extend_from_slice(rest);
        let mut end = 1;
        while end < written.len() && written[end] != b'"' {
            end += if written[end] == b'\\' { 2 } else { 1 };
        }
        serde_json::from_slice(written.get(..=end)?).ok()
    }

    /// Returns why a key is refused, whether or not it `is_never` allowed; `None` if what is refused is the comma before it, and not for the key.
    fn refusal(
        &self,
        name: String,
        is_never: bool,
        declared: &[Arc<str>],
        required: &[Arc<str>],
        keys: &NextKeys,
        has_order: bool,
    ) -> Option<RefusedKey> {
        let place_of = |name: &str| declared.iter().position(|other| **other == *name);
        let has_come = |name: &str| self.position.keys.iter().any(|key| **key == *name);
        let has = |keyword: &str| self.constraints.iter().any(|one| one.holds && *one.keyword == *keyword);
        // Of two letters nearly every name resembles another.
        let near = || closest_name(&name, keys.next.iter().map(|name| &**name)).filter(|_| name.chars().count() > 2);
        let is_closed = has("additionalProperties") || has("unevaluatedProperties");
        let is_listed = has("const") || has("enum");
        let missing = |end: usize| {
            let is_before = |other: &str| place_of(other).is_some_and(|other| other < end);
            required.iter().find(|other| !has_come(other) && is_before(other))
        };
        let reason = match place_of(&name) {
            _ if has_come(&name) => RefusedKeyReason::Repeated,
            Some(_) if !has_order => RefusedKeyReason::Forbidden,
            Some(place) => {
                // Keys that the schema doesn't name come last.
                let is_later = |key: &str| place_of(key).map_or(!is_never, |other| other > place);
                let later = self.position.keys.iter().rev().find(|key| is_later(key));
                match (later, missing(place)) {
                    (Some(later), _) => RefusedKeyReason::ComesBefore(later.as_ref().into()),
                    (None, Some(missing)) => RefusedKeyReason::Misses(Arc::clone(missing)),
                    (None, None) => RefusedKeyReason::Forbidden,
                }
            }
            None => match (near(), missing(declared.len())) {
                (Some(near), _) => RefusedKeyReason::Undeclared(Some(near.into())),
                (None, _) if is_listed => RefusedKeyReason::Forbidden,
                (None, _) if is_closed => RefusedKeyReason::Undeclared(None),
                (None, _) if has("propertyNames") && keys.has_others => RefusedKeyReason::PropertyNames,
                (None, Some(missing)) if has_order && !keys.has_others => RefusedKeyReason::Misses(Arc::clone(missing)),
                (None, _) if has("propertyNames") => RefusedKeyReason::PropertyNames,
                (None, _) => RefusedKeyReason::Undeclared(None),
            },
        };
        let is_of_key = match reason {
            RefusedKeyReason::Forbidden | RefusedKeyReason::PropertyNames => false,
            RefusedKeyReason::Undeclared(_) => is_closed,
            _ => true,
        };
        let is_told = self.position.writing != Writing::AfterMember || is_of_key;
        is_told.then(|| RefusedKey { name: name.into(), reason })
    }

    /// Returns what may come next, in words.
    pub fn expected(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut bytes = self.bytes;
        let blanks: ByteSet = b" \t\n\r".iter().copied().collect();
        let is_within = matches!(self.position.writing, Writing::InString | Writing::InKey);
        if !is_within {
            let mut take = |set: &[u8], words: &str| {
                let set: ByteSet = set.iter().copied().collect();
                if !(bytes & set).is_empty() {
                    // Of a number it may be the first byte that is refused.
                    let some = Some(bytes & set).filter(|some| set.len() > 1 && *some != set);
                    let begins = some.map(|some| format!(" that begins with {}", show::next_bytes(&some)));
                    bytes = bytes & !set;
                    parts.push(format!("{words}{}", begins.unwrap_or_default()));
                }
            };
            match self.position.writing {
                Writing::Value | Writing::FirstItem => {
                    take(b"\"", "a string");
                    take(b"-0123456789", "a number");
                    take(b"{", "an object");
                    take(b"[", "an array");
                    take(b"t", "`true`");
                    take(b"f", "`false`");
                    take(b"n", "`null`");
                }
                Writing::FirstKey | Writing::Key => take(b"\"", "a key"),
                _ => {}
            }
            take(b"]", "`]`");
            take(b"}", "`}`");
            take(b",", "`,`");
            take(b":", "`:`");
            let n_blank = (bytes & blanks).iter().count();
            if n_blank > 0 {
                bytes = bytes & !blanks;
                if parts.is_empty() && bytes.is_empty() {
                    parts.push("white space".to_owned());
                }
            }
        }
        if !bytes.is_empty() {
            parts.insert(0, show::next_bytes(&bytes));
        }
        if self.is_end {
            parts.push("the end of the text".to_owned());
        }
        match parts.pop() {
            None => "nothing".to_owned(),
            Some(only) if parts.is_empty() => only,
            Some(last) => format!("{} or {last}", parts.join(", ")),
        }
    }

    /// Returns what the schema says here, for people: each line is a sentence.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let pointer = self.pointer();
        let mut at = match (&*pointer, self.property()) {
            ("", _) => "at the root of the document".to_owned(),
            (pointer, Some(name)) => format!("at {pointer}, in the property {}", named(name)),
            (pointer, None) => format!("at {pointer}"),
        };
        let holding: Vec<&Constraint> = self.constraints.iter().filter(|one| one.holds).collect();
        let others: Vec<&Constraint> = self.constraints.iter().filter(|one| !one.holds).collect();
        let listed = |all: &[&Constraint]| {
            let shown = all.iter().take(SHOWN_MAX).map(|one| format!("{} ({})", one.words, one.location));
            let more = all.len().checked_sub(SHOWN_MAX).filter(|&n| n > 0).map(|n| format!("{n} more"));
            shown.chain(more).collect::<Vec<_>>().join(", ")
        };
        if !holding.is_empty() {
            at += &format!(": {}", listed(&holding));
        }
        lines.push(at);
        if !others.is_empty() {
            lines.push(format!("in alternatives: {}", listed(&others)));
        }
        for group in self.around.chunk_by(|(depth, _), (other, _)| depth == other) {
            let depth = group[0].0;
            let container = match self.position.path[depth] {
                PathStep::Key(_) => "object",
                PathStep::Item(_) => "array",
            };
            let at = match &*pointer_of(&self.position.path[..depth]) {
                "" => "the root of the document".to_owned(),
                pointer => pointer.to_owned(),
            };
            let (holding, others): (Vec<&Constraint>, Vec<&Constraint>) =
                group.iter().map(|(_, one)| one).partition(|one| one.holds);
            let others =
                if others.is_empty() { String::new() } else { format!("in alternatives: {}", listed(&others)) };
            let parts = [listed(&holding), others].into_iter().filter(|part| !part.is_empty());
            lines.push(format!("around it, the {container} at {at}: {}", parts.collect::<Vec<_>>().join("; ")));
        }
        if self.is_escape_refused {
            lines.push(
                "no escape may come here: the string is written in its shortest spelling, unless options allow any"
                    .into(),
            );
        }
        if let Some(refused) = &self.refused_key {
            lines.push(refused.to_string());
        }
        if let Some(keys) = &self.keys {
            if !keys.next.is_empty() {
                let order = if keys.is_ordered { "keys come in declared order; " } else { "" };
                let others = if keys.has_others { ", or another key" } else { "" };
                lines.push(format!("{order}next is {}{others}", list(&keys.next, "or")));
            }
            if !keys.missing.is_empty() {
                lines.push(format!("required and missing: {}", list(&keys.missing, "and")));
            }
        }
        if let Some(place) = &self.enclosing {
            // Of a keyword of the array that speaks of the number it was told above.
            let mut place = SchemaPlace::clone(place);
            place.constraints.retain(|one| !self.around.iter().any(|(_, told)| told.location == one.location));
            let mut around = place.lines();
            match place.constraints.is_empty() {
                // The place alone says nothing.
                true => drop(around.remove(0)),
                false => around[0].insert_str(0, "around the number, "),
            }
            // What is around the container is around the number, and has been said.
            around.retain(|line| !lines.contains(line));
            lines.append(&mut around);
        }
        lines
    }

    /// Returns this as JSON: `{"pointer", "expected", "constraints": [{"keyword", "location", "words", "holds"}], "around": as constraints, "keys": {"next",
    /// "has_others", "missing"}, "refused_key": {"name", "reason"}, "enclosing": {...}, "lines"}`. What there is nothing of is null.
    pub fn to_json(&self) -> Value {
        let names = |names: &[Arc<str>]| names.iter().map(|name| Value::from(&**name)).collect::<Value>();
        let constraint = |one: &Constraint| json!({ "keyword": &*one.keyword, "location": &*one.location, "words": &*one.words, "holds": one.holds });
        let keys = self.keys.as_ref().map(
            |keys| json!({ "next": names(&keys.next), "has_others": keys.has_others, "missing": names(&keys.missing) }),
        );
        let refused = self.refused_key.as_ref();
        json!({
            "pointer": self.pointer(),
            "expected": self.expected(),
            "constraints": self.constraints.iter().map(constraint).collect::<Value>(),
            "around": self.constraints_around().map(constraint).collect::<Value>(),
            "keys": keys,
            "refused_key": refused.map(|key| json!({ "name": key.name(), "reason": key.to_string() })),
            "enclosing": self.enclosing().map(SchemaPlace::to_json),
            "lines": self.lines(),
        })
    }
}

impl fmt::Display for SchemaPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.expected(), self.lines().join("; "))
    }
}

/// Returns the constraints that say something about what is under way.
fn relevant(mut constraints: Vec<Constraint>, writing: Writing) -> Vec<Constraint> {
    let about = |keyword: &str| match keyword {
        "type" | "enum" | "const" | "not" | "false" => true,
        "minLength" | "maxLength" | "pattern" | "format" => {
            matches!(writing, Writing::Value | Writing::FirstItem | Writing::InString)
        }
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            matches!(writing, Writing::Value | Writing::FirstItem | Writing::InNumber)
        }
        "minItems" | "maxItems" | "uniqueItems" | "contains" | "minContains" | "maxContains" | "items"
        | "additionalItems" | "unevaluatedItems" => {
            matches!(writing, Writing::FirstItem | Writing::AfterItem)
        }
        _ => matches!(writing, Writing::FirstKey | Writing::Key | Writing::InKey | Writing::AfterMember),
    };
    constraints.retain(|one| about(&one.keyword));
    constraints
}

/// Returns a path as a JSON pointer.
fn pointer_of(path: &[PathStep]) -> String {
    let mut pointer = String::new();
    for step in path {
        pointer.push('/');
        match step {
            PathStep::Key(key) => pointer += &key.replace('~', "~0").replace('/', "~1"),
            PathStep::Item(index) => pointer += &index.to_string(),
        }
    }
    pointer
}

/// Reads the white space that must come next, if some must.
fn skip_blanks(matcher: &mut Matcher) {
    let forced = matcher.jump_forward();
    let n_blanks = forced.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let _ = matcher.accept_bytes(&forced[..n_blanks]);
}

/// Returns the bytes that may come next, as the engine says.
pub(super) fn next_bytes(matcher: &Matcher) -> ByteSet {
    let mut probe = matcher.fork();
    let mut set = ByteSet::EMPTY;
    for byte in 0..=255u8 {
        if probe.accept_bytes(&[byte]).is_ok() {
            set.insert(byte);
            let _ = probe.rollback(1);
        }
    }
    set
}

//! Which earlier values the one under way can still become equal to.
//!
//! While `["red", "green", "gr` is read, that is the second one; behind one more `a` none is left, and whatever comes, the value will be new. Keys and words
//! are compared byte by byte, strings by their characters, however spelled. A container may have its keys in another order, so a candidate is one that has all of the scalars
//! read so far; which of these come first is not looked at. The answer errs on the side of too many candidates, and never gets one more as text is added.

use super::distinct_values::{DistinctValues, Piece};
use crate::machine::{Equality, JsonScalars, ends_within_escape};
use crate::util::ByteSet;
use smallvec::SmallVec;
use std::borrow::Cow;

/// The values that one under way may become.
#[derive(Debug)]
pub(crate) struct Candidates {
    comparison: Comparison,
    values: SmallVec<[Candidate; 2]>,
}

/// How values are compared with the one under way; where it begins.
#[derive(Clone, Copy, Debug)]
enum Comparison {
    /// Byte by byte.
    Bytes(u32),
    /// By characters.
    String(u32),
    /// Any number may be the same: it can go on with zeros and an exponent.
    Number,
    /// By scalars, those from here on: the others were compared before.
    Container(u32),
}

#[derive(Debug)]
struct Candidate {
    value: Piece,
    /// Of containers, and of strings with escapes.
    scalars: Option<JsonScalars>,
}

/// What was read of the value under way, as far as it is compared by scalars.
#[derive(Default)]
struct Begun {
    /// Nothing for what is compared byte by byte: a string without escapes, too.
    scalars: Option<JsonScalars>,
    /// Whether the text ends within an escape, so that the last character is not known.
    is_cut: bool,
}

fn is_number(byte: u8) -> bool {
    byte == b'-' || byte.is_ascii_digit()
}

impl Candidates {
    /// Finds the candidates for the value under way in a frame.
    pub fn of(values: &DistinctValues, register: u64, equality: Equality) -> Candidates {
        let mut found = Candidates { comparison: Comparison::of(values, register, equality), values: SmallVec::new() };
        found.values = found.comparison.candidates(values, register).collect();
        found.pass_scalars(values);
        found
    }

    /// Drops those that are candidates no more, now that more was read.
    pub fn narrow(&mut self, values: &DistinctValues) {
        let begun = self.comparison.begun(values);
        self.values.retain(|candidate| self.comparison.remains(values, &begun, candidate));
        self.pass_scalars(values);
    }

    /// Notes that the scalars up to here were compared.
    fn pass_scalars(&mut self, values: &DistinctValues) {
        if let (Comparison::Container(start), false) = (self.comparison, self.is_empty()) {
            let text: Vec<u8> = values.bytes_from(start).collect();
            self.comparison = Comparison::Container(start + last_scalar(&text) as u32);
        }
    }

    /// Returns how much memory they take beside themselves, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let spilled = if self.values.spilled() { self.values.capacity() * size_of::<Candidate>() } else { 0 };
        let scalars = self.values.iter().flat_map(|candidate| &candidate.scalars);
        spilled + scalars.map(JsonScalars::memory_bytes).sum::<usize>()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Tells whether there are candidates for the value under way in a frame.
    pub fn exist(values: &DistinctValues, register: u64, equality: Equality) -> bool {
        Comparison::of(values, register, equality).candidates(values, register).next().is_some()
    }

    /// Tells whether there are none, and thus none later.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the bytes behind which some are left, now that more was read: perhaps too many; none if no candidate is left.
    pub fn next_bytes(&self, values: &DistinctValues) -> ByteSet {
        let begun = self.comparison.begun(values);
        let mut next = ByteSet::EMPTY;
        for candidate in self.values.iter().filter(|candidate| self.comparison.remains(values, &begun, candidate)) {
            next |= self.next_bytes_of(values, &begun, candidate);
        }
        next
    }

    fn next_bytes_of(&self, values: &DistinctValues, begun: &Begun, candidate: &Candidate) -> ByteSet {
        let next_of = |start: u32| values.bytes(candidate.value).skip((values.n_bytes() - start) as usize).take(1);
        // Any character of a string may be spelled by an escape.
        let suffixes =
            candidate.scalars.as_ref().zip(begun.scalars.as_ref()).and_then(|(all, begun)| all.suffixes(begun));
        match (self.comparison, suffixes) {
            (Comparison::Bytes(start), _) => next_of(start).collect(),
            (Comparison::String(start), _) if begun.scalars.is_none() && candidate.scalars.is_none() => {
                next_of(start).chain([b'\\']).collect()
            }
            (Comparison::Container(_), Some(suffixes)) if !begun.is_cut => {
                suffixes.map(|suffix| suffix.first().copied().unwrap_or(b'"')).chain([b'\\']).collect()
            }
            _ => ByteSet::ALL,
        }
    }
}

impl Comparison {
    /// Returns how the values of a frame are compared with the one under way.
    fn of(values: &DistinctValues, register: u64, equality: Equality) -> Comparison {
        let start = (register >> 32) as u32;
        match (equality, values.first_of(values.begun(register))) {
            (Equality::Json, Some(b'{' | b'[')) => Comparison::Container(start),
            (Equality::Json, Some(b'"')) => Comparison::String(start),
            (Equality::Json, Some(first)) if is_number(first) => Comparison::Number,
            _ => Comparison::Bytes(start),
        }
    }

    /// Returns the candidates for the value under way in a frame, the last one first.
    fn candidates(self, values: &DistinctValues, register: u64) -> impl Iterator<Item = Candidate> + '_ {
        let first = values.first_of(values.begun(register));
        let is_alike = move |value: &Piece| match (self, values.first_of(*value)) {
            (Comparison::Number, other) => other.is_some_and(is_number),
            (_, other) => first.is_some() && other == first,
        };
        let begun = match values.in_set(register).any(|value| is_alike(&value)) {
            true => self.begun(values),
            false => Begun::default(),
        };
        let bits = match (self, &begun.scalars) {
            (Comparison::Container(_), Some(scalars)) => scalars.bloom_bits(),
            _ => 0,
        };
        // A container that lacks a scalar of the value under way is not decoded, and most strings differ early.
        let alike = values.in_set_with(register, bits).filter(is_alike);
        let candidate = move |value| Candidate { value, scalars: self.scalars_of(values, value) };
        alike.map(candidate).filter(move |candidate| self.remains(values, &begun, candidate))
    }

    /// Returns what was read of the value.
    fn begun(self, values: &DistinctValues) -> Begun {
        let start = match self {
            Comparison::Bytes(_) | Comparison::Number => return Begun::default(),
            Comparison::String(start) if values.bytes_from(start).all(|byte| byte != b'\\') => return Begun::default(),
            Comparison::String(start) | Comparison::Container(start) => start,
        };
        let text: Vec<u8> = values.bytes_from(start).collect();
        Begun { scalars: Some(JsonScalars::of(&text)), is_cut: ends_within_escape(&text) }
    }

    /// Returns the scalars of a value that is compared by them.
    fn scalars_of(self, values: &DistinctValues, value: Piece) -> Option<JsonScalars> {
        let is_decoded = match self {
            Comparison::Bytes(_) | Comparison::Number => false,
            Comparison::String(_) => values.bytes(value).any(|byte| byte == b'\\'),
            Comparison::Container(_) => true,
        };
        is_decoded.then(|| JsonScalars::of(&values.bytes(value).collect::<Vec<u8>>()))
    }

    fn remains(self, values: &DistinctValues, begun: &Begun, candidate: &Candidate) -> bool {
        let has_prefix = |start: u32| {
            let mut bytes = values.bytes(candidate.value);
            values.bytes_from(start).all(|byte| bytes.next() == Some(byte))
        };
        match (self, &begun.scalars, &candidate.scalars) {
            (Comparison::Number, ..) => true,
            (Comparison::Bytes(start), ..) | (Comparison::String(start), None, None) => has_prefix(start),
            _ if begun.is_cut => true,
            (Comparison::String(start) | Comparison::Container(start), own, other_scalars) => {
                let decoded = |piece: &mut dyn Iterator<Item = u8>| JsonScalars::of(&piece.collect::<Vec<u8>>());
                let own =
                    own.as_ref().map_or_else(|| Cow::Owned(decoded(&mut values.bytes_from(start))), Cow::Borrowed);
                let other = || Cow::Owned(decoded(&mut values.bytes(candidate.value)));
                own.can_extend_to(&other_scalars.as_ref().map_or_else(other, Cow::Borrowed))
            }
        }
    }
}

/// Returns where the last scalar of a JSON text begins, if it may go on; else the end of the text.
fn last_scalar(text: &[u8]) -> usize {
    let (mut at, mut last) = (0, 0);
    while at < text.len() {
        last = at;
        match text[at] {
            b'"' => {
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                if at <= text.len() {
                    last = at;
                }
            }
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'[' | b']' | b'{' | b'}' => {
                at += 1;
                last = at;
            }
            _ => {
                while at < text.len() && !b" \t\n\r,:]}[{\"".contains(&text[at]) {
                    at += 1;
                }
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_scalars_are_those_that_may_go_on() {
        for (text, last) in [
            (r#"{"a":"bc"#, r#""bc"#),
            (r#"{"a":"b""#, ""),
            (r#"{"a":"b\"c"#, r#""b\"c"#),
            (r#"{"a":12"#, "12"),
            (r#"{"a":12,"#, ""),
            (r#"["a","b"#, r#""b"#),
            ("[true", "true"),
            ("[", ""),
        ] {
            assert_eq!(&text[last_scalar(text.as_bytes())..], last, "{text}");
        }
    }
}

//! Which earlier values the one under way can still become equal to.
//!
//! While `["red", "green", "gr` is read, that is the second one; behind one more `a` none is left, and whatever comes, the value will be new. Keys and words
//! are compared byte by byte, strings by their characters, however spelled. A container may have its keys in another order, so a candidate is one that has all of the scalars
//! read so far; which of these come first is not looked at. The answer errs on the side of too many candidates, and never gets one more as text is added.

use super::distinct_values::{DistinctValues, Piece};
use crate::machine::{Equality, JsonScalars, ends_within_escape};
use crate::util::ByteSet;
use smallvec::SmallVec;

/// The values that one under way may become.
#[derive(Debug)]
pub(crate) struct Candidates {
    kind: Kind,
    values: SmallVec<[Candidate; 2]>,
}

/// How values are compared with the one under way; where it begins.
#[derive(Clone, Copy, Debug)]
enum Kind {
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
    scalars: JsonScalars,
}

impl Candidates {
    /// Finds the candidates for the value under way in a frame.
    pub fn of(values: &DistinctValues, register: u64, equality: Equality) -> Candidates {
        let start = (register >> 32) as u32;
        let text = || values.bytes_from(start).collect::<Vec<u8>>();
        let mut found = Candidates { kind: Kind::Bytes(start), values: SmallVec::new() };
        let (Some(first), true) = (values.first_byte(register), register as u32 != 0) else { return found };
        let mut add = |value: Piece| {
            let scalars = match equality {
                Equality::Json if matches!(first, b'"' | b'{' | b'[') => {
                    JsonScalars::of(&values.bytes(value).collect::<Vec<u8>>())
                }
                _ => JsonScalars::default(),
            };
            found.values.push(Candidate { value, scalars });
        };
        let is_alike = |value: Piece| values.first_of(value) == Some(first);
        let is_number = |byte: u8| byte == b'-' || byte.is_ascii_digit();
        match (equality, first) {
            (Equality::Json, b'{' | b'[') => {
                let bits = JsonScalars::of(&text()).bloom_bits();
                values.for_each_with(register, bits, |value| {
                    if is_alike(value) {
                        add(value)
                    }
                });
                found.kind = Kind::Container(start);
            }
            (Equality::Json, first) if is_number(first) => {
                let is_one = |value: Piece| values.first_of(value).is_some_and(is_number);
                values.for_each(register, |value| {
                    if is_one(value) {
                        add(value)
                    }
                });
                found.kind = Kind::Number;
            }
            _ => {
                values.for_each(register, |value| {
                    if is_alike(value) {
                        add(value)
                    }
                });
                if let (Equality::Json, b'"') = (equality, first) {
                    found.kind = Kind::String(start);
                }
            }
        }
        let mut all = core::mem::take(&mut found.values);
        let scalars = found.scalars(values);
        all.retain(|candidate| found.remains(values, &scalars, candidate));
        found.values = all;
        if let Kind::Container(start) = found.kind {
            found.kind = Kind::Container(start + last_scalar(&text()) as u32);
        }
        found
    }

    /// Tells whether there are none, and thus none later.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the bytes behind which some are left, now that more was read: perhaps too many; none if no candidate is left.
    pub fn next_bytes(&self, values: &DistinctValues) -> ByteSet {
        let scalars = self.scalars(values);
        let mut next = ByteSet::EMPTY;
        for candidate in self.values.iter().filter(|candidate| self.remains(values, &scalars, candidate)) {
            next = next | self.next_bytes_of(values, &scalars, candidate);
        }
        next
    }

    fn next_bytes_of(
        &self,
        values: &DistinctValues,
        (scalars, is_cut): &(JsonScalars, bool),
        candidate: &Candidate,
    ) -> ByteSet {
        match (self.kind, &scalars.partial) {
            (Kind::Bytes(start), _) => {
                let n_read = values.n_bytes() - start;
                values.bytes(candidate.value).skip(n_read as usize).take(1).collect()
            }
            (Kind::String(_) | Kind::Container(_), Some(prefix)) if !is_cut => {
                // Any character may be spelled by an escape.
                let next =
                    |string: &Vec<u8>| string.strip_prefix(&**prefix).map(|rest| rest.first().copied().unwrap_or(b'"'));
                candidate.scalars.strings.iter().filter_map(next).chain([b'\\']).collect()
            }
            _ => ByteSet::ALL,
        }
    }

    /// Returns the scalars that are compared, and whether the text ends within an escape, so that the last one is not known.
    fn scalars(&self, values: &DistinctValues) -> (JsonScalars, bool) {
        match self.kind {
            Kind::Bytes(_) | Kind::Number => Default::default(),
            Kind::String(start) | Kind::Container(start) => {
                let text: Vec<u8> = values.bytes_from(start).collect();
                (JsonScalars::of(&text), ends_within_escape(&text))
            }
        }
    }

    fn remains(&self, values: &DistinctValues, (scalars, is_cut): &(JsonScalars, bool), candidate: &Candidate) -> bool {
        match self.kind {
            Kind::Bytes(start) => {
                let mut bytes = values.bytes(candidate.value);
                values.bytes_from(start).all(|byte| bytes.next() == Some(byte))
            }
            Kind::Number => true,
            Kind::String(_) | Kind::Container(_) => *is_cut || scalars.can_extend_to(&candidate.scalars),
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
            (r#"{"a":"b\""#, ""),
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

//! JSON values by what they mean: canonical forms, and the scalars in them.

use crate::util::json_string::{decode, read_escape};
use crate::util::{JsonToken, json_tokens};

/// A container that is not closed yet, with the canonical forms of the values in it.
enum Open {
    Array(Vec<u8>),
    Object { members: Vec<(Vec<u8>, Vec<u8>)>, key: Option<Vec<u8>> },
}

/// Returns a JSON value without white space, with decoded strings, normalized numbers and sorted keys; unspecified for any other text.
pub(super) fn canonical_json(text: &[u8]) -> Vec<u8> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = Vec::new();
    for token in json_tokens(text) {
        let value = match token {
            JsonToken::Mark(b'[') => {
                open.push(Open::Array(b"[".to_vec()));
                continue;
            }
            JsonToken::Mark(b'{') => {
                open.push(Open::Object { members: Vec::new(), key: None });
                continue;
            }
            JsonToken::Mark(b']' | b'}') => match open.pop() {
                Some(closed) => closed.finish(),
                None => continue,
            },
            JsonToken::Mark(_) => continue,
            JsonToken::String { written, .. } => canonical_string(written),
            JsonToken::Scalar { written, .. } => canonical_number(written),
        };
        match open.last_mut() {
            None => root = value,
            Some(Open::Array(items)) => {
                items.extend(value);
                items.push(b',');
            }
            Some(Open::Object { members, key }) => match key.take() {
                None => *key = Some(value),
                Some(key) => members.push((key, value)),
            },
        }
    }
    root
}

impl Open {
    /// Returns the canonical form of the container.
    fn finish(self) -> Vec<u8> {
        match self {
            Open::Array(mut items) => {
                items.push(b']');
                items
            }
            Open::Object { mut members, .. } => {
                members.sort();
                let mut value = b"{".to_vec();
                for (key, member) in members {
                    value.extend(key);
                    value.push(b':');
                    value.extend(member);
                    value.push(b',');
                }
                value.push(b'}');
                value
            }
        }
    }
}

/// Returns the canonical form of a string: a quote, the length in bytes, a colon, the decoded bytes.
fn canonical_string(written: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    decode(written, &mut decoded);
    let mut value = format!("\"{}:", decoded.len()).into_bytes();
    value.extend(decoded);
    value
}

/// Returns a number as sign, digits without zeros at either end, `e` and the power of ten of the last digit; any other word unchanged.
pub fn canonical_number(text: &[u8]) -> Vec<u8> {
    let (is_negative, magnitude) = match text.split_first() {
        Some((b'-', magnitude)) => (true, magnitude),
        _ => (false, text),
    };
    if !magnitude.first().is_some_and(u8::is_ascii_digit) {
        return text.to_vec();
    }
    let (mantissa, exponent) = match magnitude.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(e) => (&magnitude[..e], &magnitude[e + 1..]),
        None => (magnitude, &b"0"[..]),
    };
    let exponent =
        core::str::from_utf8(exponent).ok().and_then(|text| text.parse::<i64>().ok()).unwrap_or(i64::MAX / 2);
    let n_fraction = mantissa.iter().position(|&byte| byte == b'.').map_or(0, |point| mantissa.len() - point - 1);
    let mut digits: Vec<u8> = mantissa.iter().copied().filter(u8::is_ascii_digit).skip_while(|&b| b == b'0').collect();
    let mut power = exponent.saturating_sub(n_fraction as i64);
    while digits.last() == Some(&b'0') {
        digits.pop();
        power = power.saturating_add(1);
    }
    if digits.is_empty() {
        return b"0e0".to_vec();
    }
    let sign = if is_negative { "-" } else { "" };
    let mut value = sign.as_bytes().to_vec();
    value.extend(digits);
    value.extend(format!("e{power}").into_bytes());
    value
}

/// The keys and scalars that occur in a prefix of a JSON value, at any depth.
#[derive(Clone, Default, Debug)]
pub struct JsonScalars {
    /// The complete ones: strings decoded, behind a quote, others in canonical form.
    complete: Vec<Vec<u8>>,
    /// The incomplete string that the prefix ends in, decoded, behind a quote.
    partial: Option<Vec<u8>>,
}

impl JsonScalars {
    /// Returns how much memory they take beside themselves, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let bytes: usize = self.complete.iter().chain(&self.partial).map(Vec::capacity).sum();
        self.complete.capacity() * size_of::<Vec<u8>>() + bytes
    }

    /// Returns the scalars of a prefix. A number or word at its end is incomplete and left out.
    pub fn of(text: &[u8]) -> JsonScalars {
        let mut scalars = JsonScalars::default();
        for token in json_tokens(text) {
            match token {
                JsonToken::String { written, is_whole } => {
                    let mut decoded = vec![b'"'];
                    decode(written, &mut decoded);
                    if is_whole { scalars.complete.push(decoded) } else { scalars.partial = Some(decoded) }
                }
                JsonToken::Scalar { written, is_whole: true } => scalars.complete.push(canonical_number(written)),
                JsonToken::Mark(_) | JsonToken::Scalar { is_whole: false, .. } => {}
            }
        }
        scalars
    }

    /// Returns a Bloom filter of the complete scalars: a value that lacks one of its bits lacks a scalar.
    pub fn bloom_bits(&self) -> u64 {
        let bits_of = |scalar: &Vec<u8>| {
            let hash = scalar.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            });
            1 << (hash >> 58) | 1 << (hash >> 52 & 63)
        };
        self.complete.iter().fold(0, |bits, scalar| bits | bits_of(scalar))
    }

    /// Returns the suffix of each complete string of which the incomplete one of `prefix` is a prefix; nothing if there is none.
    pub fn suffixes<'a>(&'a self, prefix: &'a JsonScalars) -> Option<impl Iterator<Item = &'a [u8]>> {
        let partial = prefix.partial.as_ref()?;
        Some(self.complete.iter().filter_map(|scalar| scalar.strip_prefix(&**partial)))
    }

    /// Returns whether some value with the scalars `other` may begin with this prefix: `other` has all of its scalars.
    pub fn can_extend_to(&self, other: &JsonScalars) -> bool {
        self.complete.iter().all(|scalar| other.complete.contains(scalar))
            && other.suffixes(self).is_none_or(|mut suffixes| suffixes.next().is_some())
    }
}

/// Tells whether a JSON text ends within an escape, or before the second half of a pair of them.
pub fn ends_within_escape(text: &[u8]) -> bool {
    let Some(JsonToken::String { written: mut rest, is_whole: false }) = json_tokens(text).last() else { return false };
    while let Some(n_plain) = rest.iter().position(|&byte| byte == b'\\') {
        let Ok((_, n_bytes)) = read_escape(&rest[n_plain + 1..]) else { return true };
        rest = &rest[n_plain + 1 + n_bytes..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_under_way() {
        for (text, wanted) in [
            (r#"{"a":"b"#, false),
            (r#"{"a":"\"#, true),
            (r#"{"a":"\\"#, false),
            (r#"{"a":"\\\"#, true),
            (r#""\n"#, false),
            (r#""\u00"#, true),
            (r#""\u00e9"#, false),
            (r#""\ud83d"#, true),
            (r#""\ud83d\ude0"#, true),
            (r#""\ud83d\ude00"#, false),
            (r#"["\\", "\"", 1"#, false),
        ] {
            assert_eq!(ends_within_escape(text.as_bytes()), wanted, "{text}");
        }
    }
}

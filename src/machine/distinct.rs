//! Values that must all be distinct: the keys of an object, the items of an array under `uniqueItems`.
//!
//! A register names the set of the values read so far and the offset at which the current one began; their bytes are in the history. At the
//! end of a value the engine compares it with the set, by the equality defined here.

/// The constraint that all keys of an object, or all items of an array, are distinct.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Distinct {
    /// When two texts are the same value.
    pub equality: Equality,
    /// The length in bytes, or less, of the shortest prefix of a value that at most [`SCARCE`] values begin with, all of which earlier ones may be: an
    /// opening quote counts. 0 if it is not known; nothing if each prefix has infinitely many completions, or more than that many.
    pub scarce_after: Option<u32>,
    /// Whether all values of the domain may be taken while another one could or must follow.
    pub exhaustible: Exhaustible,
    /// The index of the rule's list of keys that count as taken from the start.
    pub declared_keys: Option<u32>,
}

/// A number of values that a document hardly has.
pub const SCARCE: u32 = 1 << 16;

impl Distinct {
    /// Returns whether some prefix of a value has finitely many completions only.
    pub fn has_finite_domain(&self) -> bool {
        self.scarce_after.is_some()
    }
}

/// Whether a domain of distinct values can be exhausted between two of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Exhaustible {
    /// It can't.
    Never,
    /// It can where it is finite, once a container has so many values; with fewer, another one is left wherever one must follow.
    Behind(u32),
}

/// When two texts are the same value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Equality {
    /// If their bytes are equal.
    Bytes,
    /// If they are equal JSON values: numbers by value, strings by characters, objects in any order of their keys.
    Json,
}

impl Equality {
    /// Returns a canonical form: two texts have the same one exactly if they are the same value.
    pub fn canonical(self, text: &[u8]) -> Vec<u8> {
        match self {
            Equality::Bytes => text.to_vec(),
            Equality::Json => canonical_json(text),
        }
    }
}

/// A container that is not closed yet, with the canonical forms of the values in it.
enum Open {
    Array(Vec<u8>),
    Object { members: Vec<(Vec<u8>, Vec<u8>)>, key: Option<Vec<u8>> },
}

/// Returns a JSON value without white space, with decoded strings, normalized numbers and sorted keys; unspecified for any other text.
fn canonical_json(text: &[u8]) -> Vec<u8> {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    let mut root = Vec::new();
    while at < text.len() {
        let value = match text[at] {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => {
                at += 1;
                continue;
            }
            b'[' => {
                open.push(Open::Array(b"[".to_vec()));
                at += 1;
                continue;
            }
            b'{' => {
                open.push(Open::Object { members: Vec::new(), key: None });
                at += 1;
                continue;
            }
            b']' | b'}' => {
                at += 1;
                match open.pop() {
                    Some(Open::Array(mut items)) => {
                        items.push(b']');
                        items
                    }
                    Some(Open::Object { mut members, .. }) => {
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
                    None => continue,
                }
            }
            b'"' => string(text, &mut at),
            _ => {
                let start = at;
                while at < text.len() && !b" \t\n\r,:]}[{\"".contains(&text[at]) {
                    at += 1;
                }
                canonical_number(&text[start..at])
            }
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
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'[' | b']' | b'{' | b'}' => at += 1,
                b'"' => {
                    let decoded = decoded(text, &mut at, vec![b'"']);
                    match at > text.len() {
                        true => scalars.partial = Some(decoded),
                        false => scalars.complete.push(decoded),
                    }
                }
                _ => {
                    let start = at;
                    while at < text.len() && !b" \t\n\r,:]}[{\"".contains(&text[at]) {
                        at += 1;
                    }
                    if at < text.len() {
                        scalars.complete.push(canonical_number(&text[start..at]));
                    }
                }
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
    let (mut at, mut is_in_string) = (0, false);
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'"' => {
                is_in_string = !is_in_string;
                1
            }
            b'\\' if is_in_string => match text.get(at + 1) {
                Some(b'u') => {
                    let is_first_half = matches!(
                        text.get(at + 2..at + 4),
                        Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
                    );
                    if is_first_half { 12 } else { 6 }
                }
                _ => 2,
            },
            _ => 1,
        };
    }
    at > text.len()
}

/// Reads the string literal at `at` and returns its canonical form: a quote, the length in bytes, a colon, the decoded bytes.
fn string(text: &[u8], at: &mut usize) -> Vec<u8> {
    let decoded = decoded(text, at, Vec::new());
    let mut value = format!("\"{}:", decoded.len()).into_bytes();
    value.extend(decoded);
    value
}

/// Reads the string literal at `at` and adds its decoded bytes to `decoded`. Behind it `at` is greater than the length of the text if the string does not end.
fn decoded(text: &[u8], at: &mut usize, mut decoded: Vec<u8>) -> Vec<u8> {
    *at += 1;
    let unit = |at: usize| {
        let digits = text.get(at..at + 4).and_then(|digits| core::str::from_utf8(digits).ok())?;
        u32::from_str_radix(digits, 16).ok()
    };
    while *at < text.len() && text[*at] != b'"' {
        if text[*at] != b'\\' {
            decoded.push(text[*at]);
            *at += 1;
            continue;
        }
        let escape = text.get(*at + 1).copied().unwrap_or(b'"');
        *at += 2;
        let plain = match escape {
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = unit(*at).unwrap_or(0);
                *at += 4;
                if (0xD800..0xDC00).contains(&code)
                    && text.get(*at..*at + 2) == Some(b"\\u")
                    && let Some(low) = unit(*at + 2)
                {
                    code = 0x10000 + ((code - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
                    *at += 6;
                }
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                decoded.extend(c.encode_utf8(&mut [0; 4]).bytes());
                continue;
            }
            other => other,
        };
        decoded.push(plain);
    }
    *at += 1;
    decoded
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_values_are_compared_by_value() {
        for (a, b, same) in [
            ("1", "1.0", true),
            ("1", "1e0", true),
            ("100", "1e2", true),
            ("0.10", "1e-1", true),
            ("-0", "0.0", true),
            ("1", "-1", false),
            ("1", "10", false),
            ("true", "1", false),
            (r#""a""#, r#""\u0061""#, true),
            (r#""😀""#, r#""\ud83d\ude00""#, true),
            (r#""1""#, "1", false),
            (r#""\n""#, r#""\u000a""#, true),
            ("[1, 2]", "[1,2.0]", true),
            ("[1,2]", "[2,1]", false),
            ("[[1],2]", "[[1,2]]", false),
            ("[]", "{}", false),
            (r#"["a","b"]"#, r#"["a\",\"b"]"#, false),
            (r#"{"a": 1, "b": [2]}"#, r#"{"b":[2.0],"a":1}"#, true),
            (r#"{"a": 1}"#, r#"{"a": 2}"#, false),
            (r#"{"a": {"b": null}}"#, r#"{"a": {"b": false}}"#, false),
        ] {
            let is_same = |equality: Equality| equality.canonical(a.as_bytes()) == equality.canonical(b.as_bytes());
            assert_eq!(is_same(Equality::Json), same, "{a} and {b}");
            assert!(!is_same(Equality::Bytes));
        }
    }

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

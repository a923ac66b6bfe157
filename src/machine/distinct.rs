//! Elements that must all be different: the keys of an object, the items of an array under `uniqueItems`.
//!
//! What was read is in the history anyhow; a register names the set of the elements so far and the place where the current one began. The engine
//! compares texts at the end of an element and needs to know when two texts are the same element.

/// How elements are kept apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Distinct {
    /// When two texts are the same element.
    pub equality: Equality,
    /// Whether elements may run out of texts that are left: some beginning of an element can only be completed in finitely many ways.
    pub is_finite: bool,
    /// Whether nothing may be left between two elements, though another one could or must follow.
    pub runs_out: RunsOut,
    /// Which of the rule's lists has the elements that are taken before any was read.
    pub reserved: Option<u32>,
}

/// Whether elements may run out between two of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RunsOut {
    /// They don't.
    Never,
    /// They may where there are finitely many.
    Perhaps,
}

/// When two texts are the same element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Equality {
    /// When their bytes are equal.
    Bytes,
    /// When they are the same JSON value: numbers by value, strings by characters, objects whatever the order of their keys.
    Json,
}

impl Equality {
    /// Returns a text that two elements have in common exactly when they are the same.
    pub fn canonical(self, text: &[u8]) -> Vec<u8> {
        match self {
            Equality::Bytes => text.to_vec(),
            Equality::Json => canonical_json(text),
        }
    }
}

/// A container on the way, with the canonical texts of what was read in it.
enum Open {
    Array(Vec<u8>),
    Object { members: Vec<(Vec<u8>, Vec<u8>)>, key: Option<Vec<u8>> },
}

/// Returns a JSON value without white space, with decoded strings, normal numbers and sorted keys; anything for what is no JSON value.
fn canonical_json(text: &[u8]) -> Vec<u8> {
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    let mut whole = Vec::new();
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
            None => whole = value,
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
    whole
}

/// The keys and scalars in the beginning of a JSON value, wherever they stand.
#[derive(Clone, Default, Debug)]
pub struct Leaves {
    /// Those that are whole, as canonical texts.
    pub whole: Vec<Vec<u8>>,
    /// The strings among them, decoded.
    pub strings: Vec<Vec<u8>>,
    /// The string that the text ends in, decoded.
    pub begun: Option<Vec<u8>>,
}

impl Leaves {
    /// Returns the leaves of a text. A number or word at its end is not whole.
    pub fn of(text: &[u8]) -> Leaves {
        let mut leaves = Leaves::default();
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b'[' | b']' | b'{' | b'}' => at += 1,
                b'"' => {
                    let value = string(text, &mut at);
                    let decoded =
                        value.iter().position(|&byte| byte == b':').map_or(&[][..], |colon| &value[colon + 1..]);
                    match at > text.len() {
                        true => leaves.begun = Some(decoded.to_vec()),
                        false => {
                            leaves.strings.push(decoded.to_vec());
                            leaves.whole.push(value);
                        }
                    }
                }
                _ => {
                    let start = at;
                    while at < text.len() && !b" \t\n\r,:]}[{\"".contains(&text[at]) {
                        at += 1;
                    }
                    if at < text.len() {
                        leaves.whole.push(canonical_number(&text[start..at]));
                    }
                }
            }
        }
        leaves
    }

    /// Returns a few bits for each whole leaf: a value without one of them lacks a leaf.
    pub fn bits(&self) -> u64 {
        let bit = |leaf: &Vec<u8>| {
            let hash = leaf.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            });
            1 << (hash >> 58) | 1 << (hash >> 52 & 63)
        };
        self.whole.iter().fold(0, |bits, leaf| bits | bit(leaf))
    }

    /// Tells whether a value with the leaves `other` may begin with this one: it has all of these.
    pub fn may_lead_to(&self, other: &Leaves) -> bool {
        self.whole.iter().all(|leaf| other.whole.contains(leaf))
            && self.begun.as_ref().is_none_or(|begun| other.strings.iter().any(|text| text.starts_with(begun)))
    }
}

/// Returns a string decoded, with its length before it so that no other text looks like it.
fn string(text: &[u8], at: &mut usize) -> Vec<u8> {
    let mut decoded: Vec<u8> = Vec::new();
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
    let mut value = format!("\"{}:", decoded.len()).into_bytes();
    value.extend(decoded);
    value
}

/// Returns a number as sign, digits without zeros at their ends, and the power of ten of the last; other words as they are.
pub fn canonical_number(text: &[u8]) -> Vec<u8> {
    let (is_negative, rest) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    if !rest.first().is_some_and(u8::is_ascii_digit) {
        return text.to_vec();
    }
    let (mantissa, exponent) = match rest.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(place) => (&rest[..place], &rest[place + 1..]),
        None => (rest, &b"0"[..]),
    };
    let exponent =
        core::str::from_utf8(exponent).ok().and_then(|text| text.parse::<i64>().ok()).unwrap_or(i64::MAX / 2);
    let n_fraction = mantissa.iter().position(|&byte| byte == b'.').map_or(0, |place| mantissa.len() - place - 1);
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
}

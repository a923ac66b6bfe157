//! Values that must all be distinct: the keys of an object, the items of an array under `uniqueItems`.
//!
//! A register names the set of the values read so far and the offset at which the current one began; their bytes are in the history. At the
//! end of a value the engine compares it with the set, by the equality defined here.

use super::json_value::canonical_json;

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

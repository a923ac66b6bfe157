//! The spellings of a language inside JSON strings.
//!
//! In a JSON string a character stands for itself, or is written as a short escape, as `\uXXXX` with hexadecimal digits of either case, or beyond
//! the basic plane as a pair of those. Each text decodes in one way, so decoding is a function from contents to texts; the contents that decode into a language are
//! its inverse image, which commutes with every operator. Hence each node is replaced by itself but for the leaves, where a character becomes
//! its spellings, and the complement, which is taken among the contents that are valid.
//!
//! The numbers of a set of characters are read by a tree over their digits, in which equal subtrees are one operand: `.` takes some forty nodes, a
//! Unicode class of several hundred ranges a few thousand.

use super::{CharSet, Node, NodeId, Regular};
use hashbrown::HashMap;

/// A hexadecimal digit of an escape: `n_bits` of a number, added to `first`.
#[derive(Clone, Copy)]
struct Digit {
    n_bits: u32,
    first: u32,
    /// Whether the second half of a pair of surrogates, `\uD`, begins before this digit.
    begins_half: bool,
}

const HEX: Digit = Digit { n_bits: 4, first: 0, begins_half: false };
/// The four digits of a character of the basic plane.
const BASIC: [Digit; 4] = [HEX; 4];
/// The digits of a pair of surrogates behind its first `D`.
const PAIR: [Digit; 6] = [
    Digit { n_bits: 2, first: 8, begins_half: false },
    HEX,
    HEX,
    Digit { n_bits: 2, first: 12, begins_half: true },
    HEX,
    HEX,
];

/// Characters with a short escape, and its letter.
const SHORT: [(char, char); 8] =
    [('"', '"'), ('\\', '\\'), ('/', '/'), ('\u{8}', 'b'), ('\u{C}', 'f'), ('\n', 'n'), ('\r', 'r'), ('\t', 't')];

impl Regular {
    /// Returns the contents of JSON strings, quotes left out, that decode into a match of this expression.
    ///
    /// ```
    /// use maskwright::{Limits, frontend::regex, regular::Dfa};
    /// let limits = Limits::default();
    /// let line = regex::parse(r#"say "\w+""#, "", &limits).unwrap().in_json_strings();
    /// let dfa = Dfa::new(&line, &limits).unwrap();
    /// assert!(dfa.is_match(br#"say \"hi\""#) && dfa.is_match(br#"s\u0061y \u0022hi\""#) && !dfa.is_match(br#"say "hi""#));
    /// ```
    ///
    /// Literals that are not UTF-8 match nothing, since no string decodes to them. Linear in the nodes and in the ranges of classes; a
    /// [`Node::Substring`] of n chunks becomes n nodes that share their tails.
    pub fn in_json_strings(&self) -> Regular {
        let mut speller = Speller { regular: Regular::new(), classes: HashMap::new() };
        let mut spelled: Vec<NodeId> = Vec::with_capacity(self.nodes().len());
        for node in self.nodes() {
            let id = speller.node(node, &spelled);
            spelled.push(id);
        }
        if let Some(root) = self.root() {
            speller.regular.set_root(spelled[root.index()]);
        }
        speller.regular
    }
}

struct Speller {
    regular: Regular,
    /// Classes spelled before.
    classes: HashMap<CharSet, NodeId>,
}

impl Speller {
    fn push(&mut self, node: Node) -> NodeId {
        self.regular.push(node)
    }

    fn node(&mut self, node: &Node, spelled: &[NodeId]) -> NodeId {
        match node {
            Node::Bytes(bytes) => self.text(bytes),
            Node::Class(set) => self.class(set),
            Node::Substring(chunks) => {
                // From the last chunk: what may follow the chunks before, and all of these are where a run may begin.
                let mut run = self.push(Node::Empty);
                let mut starts = vec![run];
                for chunk in chunks.iter().rev() {
                    let chunk = self.text(chunk);
                    let longer = self.push(Node::Concat([chunk, run].into()));
                    run = self.push(Node::Repeat { body: longer, min: 0, max: Some(1) });
                    starts.push(run);
                }
                self.push(Node::Union(starts.into()))
            }
            Node::Not(operand) => {
                let any = self.class(&CharSet::all());
                let valid = self.push(Node::Repeat { body: any, min: 0, max: None });
                let other = self.push(Node::Not(spelled[operand.index()]));
                self.push(Node::And(valid, other))
            }
            _ => self.push(node.map_operands(|id| spelled[id.index()])),
        }
    }

    fn text(&mut self, bytes: &[u8]) -> NodeId {
        let Ok(text) = core::str::from_utf8(bytes) else { return self.push(Node::Union([].into())) };
        let chars: Box<[NodeId]> = text.chars().map(|c| self.class(&CharSet::range(c, c))).collect();
        self.push(Node::Concat(chars))
    }

    fn class(&mut self, set: &CharSet) -> NodeId {
        if let Some(&known) = self.classes.get(set) {
            return known;
        }
        let plain = CharSet::from_ranges([(' ', '!'), ('#', '['), (']', char::MAX)]);
        let unescaped = self.push(Node::Class(set.intersect(&plain)));
        let letters = SHORT.iter().filter(|(c, _)| set.contains(*c)).map(|&(_, letter)| (letter, letter));
        let short = self.push(Node::Class(CharSet::from_ranges(letters)));
        let marker = self.push(Node::Bytes(b"u"[..].into()));
        let number = self.number(set);
        let long = self.push(Node::Concat([marker, number].into()));
        let escaped = self.push(Node::Union([short, long].into()));
        let backslash = self.push(Node::Bytes(b"\\"[..].into()));
        let escape = self.push(Node::Concat([backslash, escaped].into()));
        let id = self.push(Node::Union([unescaped, escape].into()));
        self.classes.insert(set.clone(), id);
        id
    }

    /// Spells what follows `\u`.
    fn number(&mut self, set: &CharSet) -> NodeId {
        let (mut basic, mut others) = (Vec::new(), Vec::new());
        for &(low, high) in set.ranges() {
            let (low, high) = (u32::from(low), u32::from(high));
            // A range that spans the surrogates does not hold them: they are no characters.
            for (from, to) in [(0, 0xD7FF), (0xE000, 0xFFFF)] {
                if low <= to && high >= from {
                    basic.push((low.max(from), high.min(to)));
                }
            }
            if high > 0xFFFF {
                others.push((low.max(0x1_0000) - 0x1_0000, high - 0x1_0000));
            }
        }
        let basic = self.digits(&basic, &BASIC);
        let first = self.push(Node::Class(CharSet::from_ranges([('D', 'D'), ('d', 'd')])));
        let pair = self.digits(&others, &PAIR);
        let pair = self.push(Node::Concat([first, pair].into()));
        self.push(Node::Union([basic, pair].into()))
    }

    /// Spells the numbers of some ascending ranges. Recurses by digit, six deep at most.
    fn digits(&mut self, ranges: &[(u32, u32)], digits: &[Digit]) -> NodeId {
        let Some((digit, rest)) = digits.split_first() else { return self.push(Node::Empty) };
        let n_bits_left: u32 = rest.iter().map(|digit| digit.n_bits).sum();
        // The values of this digit by what may follow them.
        let mut groups: Vec<(Vec<(u32, u32)>, Vec<u32>)> = Vec::new();
        for value in 0..1u32 << digit.n_bits {
            let (from, to) = (value << n_bits_left, ((value + 1) << n_bits_left) - 1);
            let within = ranges.iter().filter(|&&(low, high)| low <= to && high >= from);
            let after: Vec<_> = within.map(|&(low, high)| (low.max(from) - from, high.min(to) - from)).collect();
            if after.is_empty() {
                continue;
            }
            match groups.iter_mut().find(|(known, _)| *known == after) {
                Some((_, values)) => values.push(value),
                None => groups.push((after, vec![value])),
            }
        }
        let mut alternatives = Vec::with_capacity(groups.len());
        for (after, values) in groups {
            let chars = values.iter().flat_map(|value| {
                let c = char::from_digit(digit.first + value, 16).expect("a hexadecimal digit");
                [(c, c), (c.to_ascii_uppercase(), c.to_ascii_uppercase())]
            });
            let first = self.push(Node::Class(CharSet::from_ranges(chars)));
            let rest = self.digits(&after, rest);
            alternatives.push(self.push(Node::Concat([first, rest].into())));
        }
        let numbers = self.push(Node::Union(alternatives.into()));
        if !digit.begins_half {
            return numbers;
        }
        let marker = self.push(Node::Bytes(b"\\u"[..].into()));
        let half = self.push(Node::Class(CharSet::from_ranges([('D', 'D'), ('d', 'd')])));
        self.push(Node::Concat([marker, half, numbers].into()))
    }
}

#[cfg(test)]
mod tests {
    use crate::Limits;
    use crate::frontend::regex;
    use crate::regular::{Dfa, Node, Regular};
    use crate::testing::Rng;

    fn dfa(regular: &Regular) -> Dfa {
        Dfa::new(regular, &Limits::default()).unwrap()
    }

    /// Spells a text in a random way.
    fn spell(text: &str, rng: &mut Rng) -> String {
        let mut spelled = String::new();
        for c in text.chars() {
            let short = super::SHORT.iter().find(|(plain, _)| *plain == c);
            match (rng.below(3), short) {
                (0, _) if c >= ' ' && c != '"' && c != '\\' => spelled.push(c),
                (1, Some((_, letter))) => spelled.extend(['\\', *letter]),
                _ => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        spelled += &if rng.below(2) == 0 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                    }
                }
            }
        }
        spelled
    }

    #[test]
    fn contents_match_if_what_they_decode_to_does() {
        let limits = Limits::default();
        let mut rng = Rng::new(11);
        let chars: Vec<char> = "ab\"\\/\n\u{7}é\u{D7FF}\u{E000}\u{FFFF}\u{10000}😀\u{10FFFF}".chars().collect();
        for pattern in
            [r"[ab]*", r"(?s).*", r"[^a]+", r#"["\\/\n]{1,3}"#, r"\w+|😀", r"[\x{E000}-\x{1F5FF}]*", r"\P{L}+"]
        {
            let regular = regex::parse(pattern, "", &limits).unwrap();
            let (decoded, contents) = (dfa(&regular), dfa(&regular.in_json_strings()));
            for _ in 0..300 {
                let text: String = (0..rng.below(4)).map(|_| chars[rng.below(chars.len())]).collect();
                let spelled = spell(&text, &mut rng);
                let json: String = serde_json::from_str(&format!("\"{spelled}\"")).unwrap();
                assert_eq!(json, text);
                assert_eq!(
                    contents.is_match(spelled.as_bytes()),
                    decoded.is_match(text.as_bytes()),
                    "{pattern} {spelled}"
                );
            }
            for bad in ["\"", "\\", "\\x", "\\u12", "\\ud800", "\\udc00", "\\ud83da", "\n", "a\u{7}"] {
                assert!(!contents.is_match(bad.as_bytes()), "{pattern} {bad:?}");
            }
        }
    }

    #[test]
    fn complements_hold_among_contents_that_are_valid() {
        let mut regular = Regular::new();
        let a = regular.push(Node::Bytes(b"a"[..].into()));
        let not = regular.push(Node::Not(a));
        regular.set_root(not);
        let dfa = dfa(&regular.in_json_strings());
        assert!(dfa.is_match(b"") && dfa.is_match(b"\\n") && dfa.is_match(b"aa"));
        assert!(!dfa.is_match(b"a") && !dfa.is_match(b"\\u0061") && !dfa.is_match(b"\\") && !dfa.is_match(b"\""));
    }

    #[test]
    fn runs_of_chunks_are_spelled() {
        let mut regular = Regular::new();
        let runs = regular.push(Node::Substring([b"a\n"[..].into(), b"b"[..].into()].into()));
        regular.set_root(runs);
        let dfa = dfa(&regular.in_json_strings());
        assert!(["", "a\\n", "a\\nb", "\\u0062"].iter().all(|text| dfa.is_match(text.as_bytes())));
        assert!(!dfa.is_match(b"a") && !dfa.is_match(b"ba\\n"));
    }
}

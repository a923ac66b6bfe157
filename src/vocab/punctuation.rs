//! Which punctuation the tokens below a trie node hold, in which order: what tells, before a subtree is walked, that nothing in it ends one element of a list
//! and begins another.
//!
//! For each node, over all tokens that end below it, of what these spell from the node on: whether there is a quote, a comma with more behind it, two quotes
//! behind a comma, and so on; and the same of what they spell behind their first quote, which is what counts within a string.

use super::{TokenId, Trie};

/// What some suffixes of tokens hold: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Punctuation(u8);

impl Punctuation {
    pub const NONE: Punctuation = Punctuation(0);
    /// A byte behind which an element of a list may be at its end: a quote, a comma, a closing bracket or brace, white space.
    pub const END: Punctuation = Punctuation(1);
    pub const QUOTE: Punctuation = Punctuation(2);
    pub const TWO_QUOTES: Punctuation = Punctuation(4);
    /// A comma, and something behind it.
    pub const COMMA_MORE: Punctuation = Punctuation(8);
    /// A comma.
    pub const COMMA: Punctuation = Punctuation(128);
    /// A comma, and two quotes behind it.
    pub const COMMA_TWO_QUOTES: Punctuation = Punctuation(16);
    /// An opening bracket or brace.
    pub const OPEN: Punctuation = Punctuation(32);
    /// An opening bracket or brace, a comma behind it, and something behind that.
    pub const OPEN_COMMA: Punctuation = Punctuation(64);

    /// Tells whether all of these bits are set.
    fn has(self, bits: Punctuation) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// Tells whether one of these bits is set.
    pub fn intersects(self, bits: Punctuation) -> bool {
        self.0 & bits.0 != 0
    }

    /// Returns the bits that are set in one of both.
    pub fn or(self, bits: Punctuation) -> Punctuation {
        Punctuation(self.0 | bits.0)
    }

    /// Returns what a suffix with one more byte before it holds; `is_empty` tells whether it was empty.
    fn after(self, byte: u8, is_empty: bool) -> Punctuation {
        let mut all = self.0;
        let mut add = |holds: bool, bit: Punctuation| all |= if holds { bit.0 } else { 0 };
        match byte {
            b'"' => {
                add(true, Punctuation::END);
                add(self.has(Punctuation::QUOTE), Punctuation::TWO_QUOTES);
                add(true, Punctuation::QUOTE);
            }
            b',' => {
                add(true, Punctuation::END);
                add(true, Punctuation::COMMA);
                add(!is_empty, Punctuation::COMMA_MORE);
                add(self.has(Punctuation::TWO_QUOTES), Punctuation::COMMA_TWO_QUOTES);
            }
            b'[' | b'{' => {
                add(true, Punctuation::OPEN);
                add(self.has(Punctuation::COMMA_MORE), Punctuation::OPEN_COMMA);
            }
            b']' | b'}' => add(true, Punctuation::END),
            _ => add(byte.is_ascii_whitespace(), Punctuation::END),
        }
        Punctuation(all)
    }
}

/// The punctuation below each node of a trie.
#[derive(Debug)]
pub(crate) struct PunctuationBelow {
    /// By node: all of it, and what stands behind a first quote.
    of_nodes: Box<[(Punctuation, Punctuation)]>,
    /// The children of the root: what [`Self::from`] says of each, outside of strings and within.
    root_children: Box<[(u32, [Punctuation; 2])]>,
    /// Tokens in which a container is opened and a comma follows, outside of strings and within.
    opening: [Box<[TokenId]>; 2],
}

impl PunctuationBelow {
    /// Looks at all tokens of a trie, each from its end on: takes time in their bytes.
    pub fn of(trie: &Trie) -> PunctuationBelow {
        let mut of_nodes = vec![(Punctuation::default(), Punctuation::default()); trie.n_nodes()];
        let mut path: Vec<u32> = vec![0];
        for node in 1..trie.n_nodes() as u32 {
            path.truncate(usize::from(trie.depth(node)));
            if !trie.tokens(node).is_empty() {
                let (mut all, mut behind_quote) =
                    with_byte(trie.byte(node), Punctuation::default(), Punctuation::default(), true);
                for &above in path.iter().rev() {
                    let found = &mut of_nodes[above as usize];
                    found.0.0 |= all.0;
                    found.1.0 |= behind_quote.0;
                    (all, behind_quote) = with_byte(trie.byte(above), all, behind_quote, false);
                }
            }
            path.push(node);
        }
        let mut found =
            PunctuationBelow { of_nodes: of_nodes.into(), root_children: Box::new([]), opening: Default::default() };
        found.root_children = trie
            .children(0)
            .map(|node| (node, [false, true].map(|is_in_string| found.from(trie, node, is_in_string))))
            .collect();
        found.opening = [false, true].map(|is_in_string| found.find_opening(trie, is_in_string));
        found
    }

    fn find_opening(&self, trie: &Trie, is_in_string: bool) -> Box<[TokenId]> {
        let (mut found, mut path) = (Vec::new(), Vec::new());
        for node in 1..trie.n_nodes() as u32 {
            path.truncate(usize::from(trie.depth(node)) - 1);
            path.push(trie.byte(node));
            if !trie.tokens(node).is_empty() {
                let none = (Punctuation::NONE, Punctuation::NONE, true);
                let (all, behind_quote, _) = path.iter().rev().fold(none, |(all, behind_quote, is_empty), &byte| {
                    let (all, behind_quote) = with_byte(byte, all, behind_quote, is_empty);
                    (all, behind_quote, false)
                });
                if seen((all, behind_quote), is_in_string).has(Punctuation::OPEN_COMMA) {
                    found.extend_from_slice(trie.tokens(node));
                }
            }
        }
        found.into()
    }

    /// Returns the children of the root with what [`Self::from`] says of each.
    pub fn root_children(&self, is_in_string: bool) -> impl Iterator<Item = (u32, Punctuation)> + '_ {
        self.root_children.iter().map(move |&(node, found)| (node, found[usize::from(is_in_string)]))
    }

    /// Returns the tokens in which a container is opened, with a comma and more behind; within a string, behind its end.
    pub fn opening(&self, is_in_string: bool) -> &[TokenId] {
        &self.opening[usize::from(is_in_string)]
    }

    /// Returns what the tokens below a node hold behind the node; within a string, what they hold from their first quote on, which may end it.
    pub fn below(&self, node: u32, is_in_string: bool) -> Punctuation {
        seen(self.of_nodes[node as usize], is_in_string)
    }

    /// As [`Self::below`], of the node's own byte and what comes behind it.
    pub fn from(&self, trie: &Trie, node: u32, is_in_string: bool) -> Punctuation {
        // Bits of a longer suffix come each from one bit of the shorter one, so that sets of suffixes may be taken together.
        let (all, behind_quote) = self.of_nodes[node as usize];
        let is_leaf = trie.subtree_end(node) == node + 1;
        seen(with_byte(trie.byte(node), all, behind_quote, is_leaf), is_in_string)
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.of_nodes)
    }
}

/// Returns what counts of a suffix.
fn seen((all, behind_quote): (Punctuation, Punctuation), is_in_string: bool) -> Punctuation {
    match is_in_string {
        false => all,
        true if all.has(Punctuation::QUOTE) => behind_quote.or(Punctuation::QUOTE).or(Punctuation::END),
        true => behind_quote,
    }
}

/// Puts a byte before a suffix: returns what it holds then, and what it holds behind its first quote.
fn with_byte(byte: u8, all: Punctuation, behind_quote: Punctuation, is_empty: bool) -> (Punctuation, Punctuation) {
    (all.after(byte, is_empty), if byte == b'"' { all } else { behind_quote })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(tokens: &[&str], node_of: &str) -> (Punctuation, Punctuation) {
        let (mut bytes, mut starts) = (Vec::new(), vec![0u32]);
        for token in tokens {
            bytes.extend_from_slice(token.as_bytes());
            starts.push(bytes.len() as u32);
        }
        let trie = Trie::new(&bytes, &starts);
        let found = PunctuationBelow::of(&trie);
        let node = trie.find(node_of.as_bytes()).expect("a token begins so");
        (found.below(node, false), found.below(node, true))
    }

    #[test]
    fn suffixes_are_those_of_tokens_below_the_node() {
        let tokens = ["abc", "a,", "a\",\"b\"", "[1,2"];
        let (all, in_string) = below(&tokens, "");
        assert!(all.has(Punctuation::OPEN_COMMA) && all.has(Punctuation::COMMA_TWO_QUOTES));
        assert!(!in_string.has(Punctuation::OPEN) && in_string.has(Punctuation::COMMA_TWO_QUOTES));
        let (all, _) = below(&tokens, "a,");
        assert_eq!(all, Punctuation::default());
        let (all, _) = below(&tokens, "ab");
        assert_eq!(all, Punctuation::default());
        let (all, in_string) = below(&tokens, "a\",");
        assert!(all.has(Punctuation::TWO_QUOTES) && !all.has(Punctuation::COMMA_MORE));
        assert!(in_string.has(Punctuation::QUOTE) && !in_string.has(Punctuation::TWO_QUOTES));
    }

    #[test]
    fn a_comma_at_the_end_of_a_token_begins_nothing() {
        let (all, _) = below(&["x,"], "x");
        assert!(all.has(Punctuation::END) && all.has(Punctuation::COMMA) && !all.has(Punctuation::COMMA_MORE));
    }
}

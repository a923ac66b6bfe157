//! Which punctuation the tokens below a trie node hold, in which order: what tells, before a subtree is walked, that nothing in it ends one element of a list
//! and begins another.
//!
//! For each node, over all tokens that end below it, of what these spell from the node on: whether there is a quote, a comma with more behind it, two quotes
//! behind a comma, and so on; and the same of what they spell behind their first quote, which is what counts within a string.

use super::token::TokenId;
use super::trie::{Trie, TrieNode};

/// What some suffixes of tokens hold: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Punctuation(u16);

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
    /// An opening bracket, and behind it something but white space.
    pub const OPEN_ITEM: Punctuation = Punctuation(32);
    /// An opening bracket or brace, a comma behind it, and something behind that.
    pub const OPEN_COMMA: Punctuation = Punctuation(64);
    /// Something but white space.
    pub const NO_SPACE: Punctuation = Punctuation(256);
    /// A comma, and behind it perhaps a whole JSON value, or the beginning of an array or object: a number or word outside of a string, two quotes, a
    /// bracket or brace.
    pub const COMMA_VALUE: Punctuation = Punctuation(512);
    /// A number or word before any quote.
    const WORD: Punctuation = Punctuation(1024);
    /// A bracket or brace, opening or closing.
    const BRACKET: Punctuation = Punctuation(2048);
    /// An opening bracket.
    pub const OPEN: Punctuation = Punctuation(4096);

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

    /// Returns the bits that are set in both.
    pub fn and(self, bits: Punctuation) -> Punctuation {
        Punctuation(self.0 & bits.0)
    }

    /// Returns what a suffix with one more byte before it holds; `is_empty` tells whether it was empty.
    fn after(self, byte: u8, is_empty: bool) -> Punctuation {
        let mut all = self.0;
        let mut add = |holds: bool, bit: Punctuation| all |= if holds { bit.0 } else { 0 };
        add(!byte.is_ascii_whitespace(), Punctuation::NO_SPACE);
        match byte {
            b'"' => {
                add(true, Punctuation::END);
                add(self.has(Punctuation::QUOTE), Punctuation::TWO_QUOTES);
                add(true, Punctuation::QUOTE);
                all &= !Punctuation::WORD.0;
            }
            b',' => {
                add(true, Punctuation::END);
                add(true, Punctuation::COMMA);
                add(!is_empty, Punctuation::COMMA_MORE);
                add(self.has(Punctuation::TWO_QUOTES), Punctuation::COMMA_TWO_QUOTES);
                let value = Punctuation::WORD.or(Punctuation::TWO_QUOTES).or(Punctuation::BRACKET);
                add(self.intersects(value), Punctuation::COMMA_VALUE);
            }
            b'[' | b'{' => {
                add(byte == b'[', Punctuation::OPEN);
                add(byte == b'[' && self.has(Punctuation::NO_SPACE), Punctuation::OPEN_ITEM);
                add(self.has(Punctuation::COMMA_MORE), Punctuation::OPEN_COMMA);
                add(true, Punctuation::BRACKET);
            }
            b']' | b'}' => {
                add(true, Punctuation::END);
                add(true, Punctuation::BRACKET);
            }
            _ => {
                add(byte.is_ascii_whitespace(), Punctuation::END);
                add(byte.is_ascii_alphanumeric() || byte == b'-', Punctuation::WORD);
            }
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
    root_children: Box<[(TrieNode, [Punctuation; 2])]>,
    /// The tokens that hold some of [`LISTED`], by what they hold, outside of strings and within.
    lists: [Box<[TokensWith]>; 2],
}

/// Punctuation that few tokens hold.
const LISTED: Punctuation = Punctuation(
    Punctuation::COMMA.0
        | Punctuation::COMMA_MORE.0
        | Punctuation::COMMA_TWO_QUOTES.0
        | Punctuation::QUOTE.0
        | Punctuation::TWO_QUOTES.0
        | Punctuation::OPEN.0
        | Punctuation::OPEN_ITEM.0
        | Punctuation::OPEN_COMMA.0
        | Punctuation::COMMA_VALUE.0,
);

/// All tokens that hold exactly this.
#[derive(Debug)]
struct TokensWith {
    punctuation: Punctuation,
    tokens: Vec<TokenId>,
}

impl PunctuationBelow {
    /// Looks at all tokens of a trie, each from its end on: takes time in their bytes.
    pub fn of(trie: &Trie) -> PunctuationBelow {
        let mut of_nodes = vec![(Punctuation::default(), Punctuation::default()); trie.n_nodes()];
        let mut path: Vec<TrieNode> = vec![TrieNode::ROOT];
        for node in trie.preorder(TrieNode::ROOT).skip(1) {
            path.truncate(usize::from(trie.depth(node)));
            if !trie.tokens(node).is_empty() {
                let (mut all, mut behind_quote) =
                    with_byte(trie.byte(node), Punctuation::default(), Punctuation::default(), true);
                for &above in path.iter().rev() {
                    let found = &mut of_nodes[above.index()];
                    found.0.0 |= all.0;
                    found.1.0 |= behind_quote.0;
                    (all, behind_quote) = with_byte(trie.byte(above), all, behind_quote, false);
                }
            }
            path.push(node);
        }
        let mut found =
            PunctuationBelow { of_nodes: of_nodes.into(), root_children: Box::new([]), lists: lists_of(trie) };
        found.root_children = trie
            .children(TrieNode::ROOT)
            .map(|node| (node, [false, true].map(|is_in_string| found.from(trie, node, is_in_string))))
            .collect();
        found
    }

    /// Returns the children of the root with what [`Self::from`] says of each.
    pub fn root_children(&self, is_in_string: bool) -> impl Iterator<Item = (TrieNode, Punctuation)> + '_ {
        self.root_children.iter().map(move |&(node, found)| (node, found[usize::from(is_in_string)]))
    }

    /// Returns the tokens that hold some of this punctuation; within a string, behind its end. Nothing if they may be many.
    pub fn tokens_with(
        &self,
        punctuation: Punctuation,
        is_in_string: bool,
    ) -> Option<impl Iterator<Item = TokenId> + '_> {
        let lists = self.lists[usize::from(is_in_string)].iter();
        let is_listed = punctuation.0 & !LISTED.0 == 0;
        is_listed.then(|| {
            lists
                .filter(move |list| list.punctuation.intersects(punctuation))
                .flat_map(|list| list.tokens.iter().copied())
        })
    }

    /// Returns what the tokens below a node hold behind the node; within a string, what they hold from their first quote on, which may end it.
    pub fn below(&self, node: TrieNode, is_in_string: bool) -> Punctuation {
        seen(self.of_nodes[node.index()], is_in_string)
    }

    /// As [`Self::below`], of the node's own byte and what comes behind it.
    pub fn from(&self, trie: &Trie, node: TrieNode, is_in_string: bool) -> Punctuation {
        // Bits of a longer suffix come each from one bit of the shorter one, so that sets of suffixes may be taken together.
        let (all, behind_quote) = self.of_nodes[node.index()];
        let is_leaf = !trie.has_children(node);
        seen(with_byte(trie.byte(node), all, behind_quote, is_leaf), is_in_string)
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let tokens = self.lists.iter().flatten().map(|list| list.tokens.capacity() * size_of::<TokenId>());
        size_of_val(&*self.of_nodes) + tokens.sum::<usize>()
    }
}

/// Returns the tokens that hold some of [`LISTED`], by what they hold, outside of strings and within.
fn lists_of(trie: &Trie) -> [Box<[TokensWith]>; 2] {
    let mut lists: [Vec<TokensWith>; 2] = Default::default();
    let mut path = Vec::new();
    for node in trie.preorder(TrieNode::ROOT).skip(1) {
        path.truncate(usize::from(trie.depth(node)) - 1);
        path.push(trie.byte(node));
        if trie.tokens(node).is_empty() {
            continue;
        }
        let none = (Punctuation::NONE, Punctuation::NONE, true);
        let (all, behind_quote, _) = path.iter().rev().fold(none, |(all, behind_quote, is_empty), &byte| {
            let (all, behind_quote) = with_byte(byte, all, behind_quote, is_empty);
            (all, behind_quote, false)
        });
        for (list, is_in_string) in lists.iter_mut().zip([false, true]) {
            let punctuation = Punctuation(seen((all, behind_quote), is_in_string).0 & LISTED.0);
            if punctuation == Punctuation::NONE {
                continue;
            }
            match list.iter_mut().find(|known| known.punctuation == punctuation) {
                Some(known) => known.tokens.extend_from_slice(trie.tokens(node)),
                None => list.push(TokensWith { punctuation, tokens: trie.tokens(node).to_vec() }),
            }
        }
    }
    lists.map(Vec::into_boxed_slice)
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
        assert!(!in_string.has(Punctuation::OPEN_ITEM) && in_string.has(Punctuation::COMMA_TWO_QUOTES));
        let (all, _) = below(&tokens, "a,");
        assert_eq!(all, Punctuation::default());
        let (all, _) = below(&tokens, "ab");
        assert_eq!(all, Punctuation::NO_SPACE.or(Punctuation::WORD));
        let (all, in_string) = below(&tokens, "a\",");
        assert!(all.has(Punctuation::TWO_QUOTES) && !all.has(Punctuation::COMMA_MORE));
        assert!(in_string.has(Punctuation::QUOTE) && !in_string.has(Punctuation::TWO_QUOTES));
    }

    #[test]
    fn tokens_are_listed_by_what_they_hold() {
        let (bytes, starts) = (b"abc,[1,2\",\"x".as_slice(), [0, 3, 4, 8, 12]);
        let trie = Trie::new(bytes, &starts);
        let found = PunctuationBelow::of(&trie);
        let with = |punctuation, is_in_string| {
            let mut tokens: Vec<_> = found.tokens_with(punctuation, is_in_string).expect("few").collect();
            tokens.sort_unstable();
            tokens
        };
        assert_eq!(with(Punctuation::COMMA, false), [1, 2, 3]);
        assert_eq!(with(Punctuation::COMMA_MORE, false), [2, 3]);
        assert_eq!(with(Punctuation::COMMA, true), [3]);
        assert_eq!(with(Punctuation::OPEN_COMMA.or(Punctuation::TWO_QUOTES), false), [2, 3]);
        assert!(with(Punctuation::OPEN_COMMA, true).is_empty());
        assert!(found.tokens_with(Punctuation::END, false).is_none());
    }

    #[test]
    fn a_whole_value_behind_a_comma() {
        for (suffix, wanted) in [
            (",1", true),
            (", true", true),
            (r#","a""#, true),
            ("a,{}", true),
            (", -", true),
            (",", false),
            (r#","abc"#, false),
            (r#"},{"a"#, true),
            (r#"}]}, "a"#, false),
            ("1 ", false),
        ] {
            let (all, _) = below(&[&format!("x{suffix}")], "x");
            assert_eq!(all.has(Punctuation::COMMA_VALUE), wanted, "{suffix}");
        }
    }

    #[test]
    fn an_item_begins_behind_a_bracket_with_more_than_white_space() {
        for (suffix, wanted) in [("[", false), ("[ ", false), (r#"{"a"#, false), ("[[", true), (r#"[ "a"#, true)] {
            let (all, _) = below(&[&format!("x{suffix}")], "x");
            assert_eq!(all.has(Punctuation::OPEN_ITEM), wanted, "{suffix}");
        }
    }

    #[test]
    fn a_comma_at_the_end_of_a_token_begins_nothing() {
        let (all, _) = below(&["x,"], "x");
        assert!(all.has(Punctuation::END) && all.has(Punctuation::COMMA) && !all.has(Punctuation::COMMA_MORE));
    }
}

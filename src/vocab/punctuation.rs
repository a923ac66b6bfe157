//! Which punctuation the tokens below a trie node hold, in which order: what tells, before a subtree is walked, that nothing in it ends one element of a list
//! and begins another.
//!
//! For each node, over all tokens that end below it, of what these spell from the node on: whether there is a quote, a comma with more behind it, two quotes
//! behind a comma, and so on; and the same of what they spell behind their first quote, which is what counts within a string.
//!
//! The same is known of whole tokens: few hold any of the rarer kinds, and those are listed by what they hold ([`PunctuatedTokens`]).

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

    /// Tells whether a byte is one of those without which no token holds any of [`LISTED`].
    pub fn is_listed(byte: u8) -> bool {
        matches!(byte, b',' | b'"' | b'[')
    }

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
    #[inline]
    fn after(self, byte: u8, is_empty: bool) -> Punctuation {
        let mut all = self.or(ALONE[usize::from(byte)]).0;
        let mut add = |holds: bool, bit: Punctuation| all |= if holds { bit.0 } else { 0 };
        match byte {
            b'"' => {
                add(self.has(Punctuation::QUOTE), Punctuation::TWO_QUOTES);
                all &= !Punctuation::WORD.0;
            }
            b',' => {
                add(!is_empty, Punctuation::COMMA_MORE);
                add(self.has(Punctuation::TWO_QUOTES), Punctuation::COMMA_TWO_QUOTES);
                let value = Punctuation::WORD.or(Punctuation::TWO_QUOTES).or(Punctuation::BRACKET);
                add(self.intersects(value), Punctuation::COMMA_VALUE);
            }
            b'[' | b'{' => {
                add(byte == b'[' && self.has(Punctuation::NO_SPACE), Punctuation::OPEN_ITEM);
                add(self.has(Punctuation::COMMA_MORE), Punctuation::OPEN_COMMA);
            }
            _ => {}
        }
        Punctuation(all)
    }
}

/// By byte: what it is by itself, whatever stands behind it.
const ALONE: [Punctuation; 256] = {
    let mut alone = [Punctuation::NONE; 256];
    let mut byte = 0;
    while byte < 256 {
        let kind = match byte as u8 {
            b'"' => Punctuation::END.0 | Punctuation::QUOTE.0,
            b',' => Punctuation::END.0 | Punctuation::COMMA.0,
            b'[' => Punctuation::OPEN.0 | Punctuation::BRACKET.0,
            b'{' => Punctuation::BRACKET.0,
            b']' | b'}' => Punctuation::END.0 | Punctuation::BRACKET.0,
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' => Punctuation::WORD.0,
            _ => 0,
        };
        let is_space = (byte as u8).is_ascii_whitespace();
        let space = if is_space { Punctuation::END.0 } else { Punctuation::NO_SPACE.0 };
        alone[byte] = Punctuation(kind | space);
        byte += 1;
    }
    alone
};

/// The punctuation below each node of a trie.
#[derive(Debug)]
pub(crate) struct PunctuationBelow {
    /// By node: all of it, and what stands behind a first quote.
    of_nodes: Box<[(Punctuation, Punctuation)]>,
    /// The children of the root: what [`Self::from`] says of each, outside of strings and within.
    root_children: Box<[(TrieNode, [Punctuation; 2])]>,
}

impl PunctuationBelow {
    /// Looks at all nodes of a trie, each behind those below it: what a longer suffix holds follows bit by bit from what the shorter one holds, so that sets of
    /// suffixes are taken together. Takes time in the nodes.
    pub fn of(trie: &Trie) -> PunctuationBelow {
        let mut of_nodes = vec![(Punctuation::NONE, Punctuation::NONE); trie.n_nodes()];
        // By depth: what the nodes there hold with what is below them, as far as they have the same parent.
        let depth_max = trie.preorder(TrieNode::ROOT).map(|node| trie.depth(node)).max().unwrap_or(0);
        let mut from_depth = vec![(Punctuation::NONE, Punctuation::NONE); usize::from(depth_max) + 2];
        for node in trie.preorder(TrieNode::ROOT).rev() {
            let depth = usize::from(trie.depth(node));
            let (all, behind_quote) = core::mem::take(&mut from_depth[depth + 1]);
            of_nodes[node.index()] = (all, behind_quote);
            // A token that ends at an inner node adds nothing: what it holds, those hold as well that go on from it.
            let is_leaf = !trie.has_children(node);
            let (all, behind_quote) = with_byte(trie.byte(node), all, behind_quote, is_leaf);
            let from = &mut from_depth[depth];
            *from = (from.0.or(all), from.1.or(behind_quote));
        }
        let mut found = PunctuationBelow { of_nodes: of_nodes.into(), root_children: Box::new([]) };
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

    /// Returns what the tokens below a node hold behind the node; within a string, what they hold from their first quote on, which may end it.
    pub fn below(&self, node: TrieNode, is_in_string: bool) -> Punctuation {
        seen(self.of_nodes[node.index()], is_in_string)
    }

    /// As [`Self::below`], of the node's own byte and what comes behind it.
    pub fn from(&self, trie: &Trie, node: TrieNode, is_in_string: bool) -> Punctuation {
        let (all, behind_quote) = self.of_nodes[node.index()];
        let is_leaf = !trie.has_children(node);
        seen(with_byte(trie.byte(node), all, behind_quote, is_leaf), is_in_string)
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.of_nodes)
    }
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

/// The tokens that hold some of [`LISTED`], by what they hold, outside of strings and within.
#[derive(Debug)]
pub(crate) struct PunctuatedTokens {
    lists: [Box<[TokensWith]>; 2],
}

impl PunctuatedTokens {
    /// Looks at tokens, which are given with their bytes: those that have a byte which is listed ([`Punctuation::is_listed`]).
    pub fn of<'t>(tokens: impl Iterator<Item = (TokenId, &'t [u8])>) -> PunctuatedTokens {
        let mut lists: [Vec<TokensWith>; 2] = Default::default();
        for (token, bytes) in tokens {
            for (list, is_in_string) in lists.iter_mut().zip([false, true]) {
                let punctuation = seen(held(bytes), is_in_string).and(LISTED);
                if punctuation == Punctuation::NONE {
                    continue;
                }
                match list.iter_mut().find(|known| known.punctuation == punctuation) {
                    Some(known) => known.tokens.push(token),
                    None => list.push(TokensWith { punctuation, tokens: vec![token] }),
                }
            }
        }
        PunctuatedTokens { lists: lists.map(Vec::into_boxed_slice) }
    }

    /// Returns the tokens that hold some of this punctuation; within a string, behind its end. Nothing if they may be many.
    pub fn with(&self, punctuation: Punctuation, is_in_string: bool) -> Option<impl Iterator<Item = TokenId> + '_> {
        let lists = self.lists[usize::from(is_in_string)].iter();
        let is_listed = punctuation.0 & !LISTED.0 == 0;
        is_listed.then(|| {
            lists
                .filter(move |list| list.punctuation.intersects(punctuation))
                .flat_map(|list| list.tokens.iter().copied())
        })
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let tokens = self.lists.iter().flatten().map(|list| list.tokens.capacity() * size_of::<TokenId>());
        tokens.sum()
    }
}

/// Returns what a suffix holds, and what it holds behind its first quote.
fn held(suffix: &[u8]) -> (Punctuation, Punctuation) {
    let none = (Punctuation::NONE, Punctuation::NONE, true);
    let (all, behind_quote, _) = suffix.iter().rev().fold(none, |(all, behind_quote, is_empty), &byte| {
        let (all, behind_quote) = with_byte(byte, all, behind_quote, is_empty);
        (all, behind_quote, false)
    });
    (all, behind_quote)
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
#[inline]
fn with_byte(byte: u8, all: Punctuation, behind_quote: Punctuation, is_empty: bool) -> (Punctuation, Punctuation) {
    (all.after(byte, is_empty), if byte == b'"' { all } else { behind_quote })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trie_of(tokens: &[impl AsRef<[u8]>]) -> Trie {
        let (mut bytes, mut starts) = (Vec::new(), vec![0u32]);
        for token in tokens {
            bytes.extend_from_slice(token.as_ref());
            starts.push(bytes.len() as u32);
        }
        Trie::new(&bytes, &starts)
    }

    fn listed(tokens: &[impl AsRef<[u8]>]) -> PunctuatedTokens {
        let tokens = (0..).zip(tokens.iter().map(AsRef::as_ref));
        PunctuatedTokens::of(tokens.filter(|(_, bytes)| bytes.iter().any(|&byte| Punctuation::is_listed(byte))))
    }

    #[test]
    fn nodes_and_lists_say_what_each_token_holds() {
        let mut rng = crate::testing::Rng::new(7);
        for _ in 0..200 {
            let letters = b"a1-,\"[]{} :";
            let token = |rng: &mut crate::testing::Rng| -> Vec<u8> {
                (0..1 + rng.below(7)).map(|_| letters[rng.below(letters.len())]).collect()
            };
            let tokens: Vec<Vec<u8>> = (0..1 + rng.below(30)).map(|_| token(&mut rng)).collect();
            let trie = trie_of(&tokens);
            let (found, listed) = (PunctuationBelow::of(&trie), listed(&tokens));
            let mut below: std::collections::HashMap<TrieNode, (Punctuation, Punctuation)> = Default::default();
            for token in &tokens {
                for n_before in 0..token.len() {
                    let node = trie.find(&token[..n_before]).expect("a token begins so");
                    let (all, behind_quote) = held(&token[n_before..]);
                    let known = below.entry(node).or_default();
                    *known = (known.0.or(all), known.1.or(behind_quote));
                }
            }
            for node in trie.preorder(TrieNode::ROOT) {
                assert_eq!(found.of_nodes[node.index()], below.get(&node).copied().unwrap_or_default(), "{tokens:?}");
            }
            for (bit, is_in_string) in (0..16).flat_map(|bit| [(1 << bit, false), (1 << bit, true)]) {
                let Some(with) = listed.with(Punctuation(bit), is_in_string) else { continue };
                let mut with: Vec<TokenId> = with.collect();
                with.sort_unstable();
                let holds = |token: &[u8]| seen(held(token), is_in_string).intersects(Punctuation(bit));
                let wanted = (0..tokens.len()).filter(|&id| holds(&tokens[id])).map(|id| id as TokenId);
                assert_eq!(with, wanted.collect::<Vec<_>>(), "{tokens:?}");
            }
        }
    }

    fn below(tokens: &[&str], node_of: &str) -> (Punctuation, Punctuation) {
        let trie = trie_of(tokens);
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
        let found = listed(&["abc", ",", "[1,2", "\",\"x"]);
        let with = |punctuation, is_in_string| {
            let mut tokens: Vec<_> = found.with(punctuation, is_in_string).expect("few").collect();
            tokens.sort_unstable();
            tokens
        };
        assert_eq!(with(Punctuation::COMMA, false), [1, 2, 3]);
        assert_eq!(with(Punctuation::COMMA_MORE, false), [2, 3]);
        assert_eq!(with(Punctuation::COMMA, true), [3]);
        assert_eq!(with(Punctuation::OPEN_COMMA.or(Punctuation::TWO_QUOTES), false), [2, 3]);
        assert!(with(Punctuation::OPEN_COMMA, true).is_empty());
        assert!(found.with(Punctuation::END, false).is_none());
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

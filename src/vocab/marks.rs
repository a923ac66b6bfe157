//! Where in characters the nodes of a trie are: one byte a node.
//!
//! To divide a trie by an alphabet is to read of each node whether its byte goes on with a character of the alphabet. With the nodes themselves and a position in UTF-8 by depth
//! that took 2 ms for the 270,000 nodes of a vocabulary of 100,000 tokens, for each alphabet anew. But where characters begin and end is the same for all alphabets; what is
//! left is a look-up by one byte, in 270 KB that are read in a row.

use super::trie::{Trie, TrieNode};
use crate::util::Utf8State;
use std::sync::Arc;

/// What the byte of a node is to the characters on the path to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(u8);

impl Mark {
    /// More than there are marks, so that any of them is a place in a table; those below 128 are the characters of ASCII.
    pub const COUNT: usize = 256;
    /// It begins a character beyond ASCII.
    pub const BEGINS: Mark = Mark(0x80);
    /// It goes on with one.
    const CONTINUES: Mark = Mark(0x81);
    /// It ends one.
    const ENDS: Mark = Mark(0x82);
    /// It ends U+2028 or U+2029.
    pub const ENDS_SEPARATOR: Mark = Mark(0x83);
    /// Between two characters, it begins none.
    pub const BEGINS_NOTHING: Mark = Mark(0x84);
    /// It doesn't go on with the character that it is in, or one above it doesn't, or begins nothing.
    pub const BREAKS: Mark = Mark(0x85);

    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Tells whether the byte begins a character.
    pub fn begins_character(self) -> bool {
        self.0 < 0x80 || self == Mark::BEGINS
    }

    /// Tells whether the path to the node is whole characters.
    pub fn ends_character(self) -> bool {
        self.0 < 0x80 || self == Mark::ENDS || self == Mark::ENDS_SEPARATOR
    }
}

/// The marks of the nodes below one, where a character begins behind that one.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    first: TrieNode,
    marks: Arc<[Mark]>,
}

impl Marks {
    /// Finds those of all nodes below `from`.
    pub fn below(trie: &Trie, from: TrieNode) -> Marks {
        // By depth: the position behind the node that was met last.
        let mut positions = vec![Position::BOUNDARY];
        let marks = trie.preorder(from).skip(1).map(|node| {
            positions.truncate(usize::from(trie.depth(node) - trie.depth(from)));
            let (mark, position) = positions[positions.len() - 1].read(trie.byte(node));
            positions.push(position);
            mark
        });
        Marks { first: from.next(), marks: marks.collect() }
    }

    /// Returns the mark of a node.
    #[inline]
    pub fn of(&self, node: TrieNode) -> Mark {
        self.marks[node.index() - self.first.index()]
    }

    /// Returns the marks of the nodes from one up to another.
    pub fn between(&self, first: TrieNode, end: TrieNode) -> &[Mark] {
        &self.marks[first.index() - self.first.index()..end.index() - self.first.index()]
    }

    /// Returns the memory of the marks, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.marks)
    }
}

/// A position in text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    At(Utf8State),
    /// Behind the first byte of U+2000 to U+2FFF.
    AfterE2,
    /// Behind the first two bytes of U+2000 to U+203F.
    AfterE280,
    /// Behind what is no text.
    Broken,
}

impl Position {
    const BOUNDARY: Position = Position::At(Utf8State::BOUNDARY);

    /// Returns what a byte is to the characters here, and the position behind it.
    fn read(self, byte: u8) -> (Mark, Position) {
        let rest = match self {
            Position::BOUNDARY if byte < 0x80 => return (Mark(byte), Position::BOUNDARY),
            Position::BOUNDARY if byte == 0xE2 => return (Mark::BEGINS, Position::AfterE2),
            Position::BOUNDARY => {
                return match Utf8State::of_lead(byte) {
                    Some(rest) => (Mark::BEGINS, Position::At(rest)),
                    None => (Mark::BEGINS_NOTHING, Position::Broken),
                };
            }
            Position::AfterE2 if byte == 0x80 => return (Mark::CONTINUES, Position::AfterE280),
            Position::AfterE280 if matches!(byte, 0xA8 | 0xA9) => return (Mark::ENDS_SEPARATOR, Position::BOUNDARY),
            Position::At(rest) => rest,
            Position::AfterE2 => Utf8State::of_lead(0xE2).expect("a character begins so"),
            Position::AfterE280 => Utf8State::of_lead(0xE2).expect("a character begins so").after_continuation(),
            Position::Broken => return (Mark::BREAKS, Position::Broken),
        };
        if !rest.bytes().contains(&byte) {
            return (Mark::BREAKS, Position::Broken);
        }
        match Position::At(rest.after_continuation()) {
            Position::BOUNDARY => (Mark::ENDS, Position::BOUNDARY),
            position => (Mark::CONTINUES, position),
        }
    }
}

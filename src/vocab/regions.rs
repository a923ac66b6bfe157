//! Regions: the part of the trie that a loop over characters covers, found once for each set of characters.
//!
//! A state that loops on many characters (the body of a string, a name, free text) accepts tens of thousands of tokens without leaving
//! the loop. Walking the trie for it visits 70,000 nodes for a name and 270,000 for a string, for each state of each grammar that has such
//! a loop. But which tokens consist of the loop's characters depends on the characters alone. For a set of characters and a trie node,
//! the *region* has:
//!
//! - the tokens below the node that consist of such characters (the last character may be incomplete);
//! - the *border*: the nodes reached by whole characters of the set and then one byte that begins none, grouped by that byte. A state
//!   continues only at the border nodes whose byte it reads: for a string body those of `"` and `\`, 1,700 of 270,000 nodes;
//! - the *interior*: the nodes reached by whole characters of the set and then one byte that begins another, grouped likewise. If the loop
//!   can end after any character, its caller continues at the interior and border nodes whose byte *it* reads.
//!
//! Most border nodes of one byte have similar subtrees: nothing, or what programs write after a quote. So the subtrees below one byte are
//! merged into one small trie ([`Crossing`]), in which a state walks 50 nodes instead of 5,000. A large subtree has little in
//! common with the others, so it is walked by itself.
//!
//! A set consists of some ASCII characters and either none or all of the other characters, or all but U+2028 and U+2029. The trie is walked
//! for loops over any other set.
//!
//! Cost: reading a byte per trie node (of its [`marks`](super::marks), which are made with the vocabulary) when a region is first needed, and copying its tokens; then a hash
//! lookup. The vocabulary caches as many regions as fit in [`REGION_BYTES_MAX`].

use super::longest_first::LongestFirst;
use super::marks::{Mark, Marks};
use super::token::TokenId;
use super::trie::{Trie, TrieNode};
use crate::util::{ByteSet, Threshold, Utf8State, bit_row};
use ahash::AHashMap;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Fewest border nodes that are worth a merged trie.
const MERGED_NODES_MIN: Threshold = Threshold::new(8);
/// Most tokens at and below a border node that is put into a merged trie.
const TOKENS_BELOW_MAX: Threshold = Threshold::new(1 << 9);
/// Most tokens of a merged trie.
const MERGED_TOKENS_MAX: usize = 1 << 14;

/// Most tokens that are looked at one by one for those with too many characters.
const LONGER_MAX: usize = 1 << 12;

/// Most memory of the cached regions of a vocabulary, in bytes. When it is used up, some are forgotten.
const REGION_BYTES_MAX: usize = 64 << 20;

/// A set of characters: some of ASCII, and none or nearly all of the rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Alphabet {
    /// Bit `c` is set when the set has the character `c`.
    pub ascii: u128,
    /// The characters of the set beyond ASCII.
    pub non_ascii: NonAscii,
}

/// A set of characters beyond ASCII.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum NonAscii {
    None,
    All,
    /// All but U+2028 and U+2029, which `.` of ECMA-262 doesn't match.
    AllButSeparators,
}

/// Returns the characters of ASCII for which a test holds, as bits.
pub(crate) fn ascii_set(is_one: impl FnMut(&u8) -> bool) -> u128 {
    (0..128u8).filter(is_one).fold(0, |set, byte| set | 1 << byte)
}

/// Returns the characters of a set of ASCII, ascending.
pub(crate) fn ascii_bytes(set: u128) -> impl Iterator<Item = u8> {
    (0..128u8).filter(move |&byte| set >> byte & 1 == 1)
}

impl Alphabet {
    /// Returns the bytes with which characters of the set begin.
    pub fn first_bytes(&self) -> ByteSet {
        (0..=255).filter(|&byte| self.begins(byte)).collect()
    }

    /// Returns whether a character of the set begins with a byte.
    pub fn begins(&self, byte: u8) -> bool {
        if byte < 0x80 {
            self.ascii >> byte & 1 == 1
        } else {
            self.non_ascii != NonAscii::None && Utf8State::of_lead(byte).is_some()
        }
    }

    /// Returns by mark where a node with that mark is, if the nodes above it are in the region.
    fn sides(&self) -> [Side; Mark::COUNT] {
        let mut sides = [Side::Inside; Mark::COUNT];
        for byte in 0..0x80 {
            sides[usize::from(byte)] = if self.begins(byte) { Side::Inside } else { Side::Border };
        }
        if self.non_ascii == NonAscii::None {
            sides[Mark::BEGINS.index()] = Side::Border;
        }
        if self.non_ascii == NonAscii::AllButSeparators {
            sides[Mark::ENDS_SEPARATOR.index()] = Side::Nowhere;
        }
        sides[Mark::BEGINS_NOTHING.index()] = Side::Border;
        sides[Mark::BREAKS.index()] = Side::Nowhere;
        sides
    }
}

/// Where a node is whose path, but for its own byte, consists of an alphabet's characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// In the region.
    Inside,
    /// Behind whole characters, by a byte that begins none of the alphabet.
    Border,
    /// Behind part of a character that its byte doesn't go on with.
    Nowhere,
}

/// Trie nodes by the byte that leads to them.
#[derive(Debug)]
struct NodesByByte {
    starts: Box<[u32; 257]>,
    nodes: Box<[TrieNode]>,
}

impl NodesByByte {
    fn new(trie: &Trie, found: &[TrieNode]) -> NodesByByte {
        let mut starts = Box::new([0u32; 257]);
        found.iter().for_each(|&node| starts[usize::from(trie.byte(node)) + 1] += 1);
        for byte in 0..256 {
            starts[byte + 1] += starts[byte];
        }
        let mut next = *starts;
        let mut nodes = vec![TrieNode::ROOT; found.len()];
        for &node in found {
            let at = &mut next[usize::from(trie.byte(node))];
            nodes[*at as usize] = node;
            *at += 1;
        }
        NodesByByte { starts, nodes: nodes.into() }
    }

    fn get(&self, byte: u8) -> &[TrieNode] {
        let byte = usize::from(byte);
        &self.nodes[self.starts[byte] as usize..self.starts[byte + 1] as usize]
    }
}

/// The trie below a node, divided by an alphabet.
#[derive(Debug)]
pub(crate) struct Region {
    alphabet: Alphabet,
    from: TrieNode,
    /// Of the nodes below `from`, perhaps of others too.
    marks: Marks,
    tokens: Box<[TokenId]>,
    row: OnceLock<Arc<[u32]>>,
    by_length: OnceLock<TokensByLength>,
    border: NodesByByte,
    /// Found when first needed: few loops can end where more of their characters may follow.
    interior: OnceLock<NodesByByte>,
    /// Likewise: few tokens are no text.
    broken: OnceLock<Box<[TrieNode]>>,
    n_chars_max: OnceLock<usize>,
    crossings: Mutex<Vec<(CrossingKey, Arc<Crossing>)>>,
}

/// A byte, and the condition on the number of characters before it.
type CrossingKey = (u8, CharCount);

/// The border nodes of one byte that meet a condition on the number of characters before them.
#[derive(Debug)]
pub(crate) struct Crossing {
    /// Those to be walked one by one.
    pub alone: Box<[TrieNode]>,
    /// Those to be walked at once, in the trie that they make [merged](Trie::merged); none if they would be few, or have very many tokens.
    pub merged: Box<[TrieNode]>,
}

impl Crossing {
    fn of(trie: &Trie, nodes: impl Iterator<Item = TrieNode>) -> Crossing {
        let n_tokens = |&node: &TrieNode| trie.subtree_tokens(node).len();
        let (mut alone, mut merged): (Vec<_>, Vec<_>) = nodes.partition(|node| n_tokens(node) > TOKENS_BELOW_MAX.get());
        if merged.len() < MERGED_NODES_MIN.get() || merged.iter().map(n_tokens).sum::<usize>() > MERGED_TOKENS_MAX {
            alone.append(&mut merged);
        }
        Crossing { alone: alone.into(), merged: merged.into() }
    }
}

/// A condition on the number of characters between a region's node and a node of its border or interior.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CharCount {
    Any,
    OneOrMore,
    /// At least one, and from the first to the second number.
    Between(u16, u16),
}

impl CharCount {
    /// Returns the least and the greatest number allowed.
    pub fn range(self) -> (u16, u16) {
        match self {
            CharCount::Any => (0, u16::MAX),
            CharCount::OneOrMore => (1, u16::MAX),
            CharCount::Between(first, last) => (first, last),
        }
    }

    /// Returns whether a border or interior node of a region meets the condition.
    fn allows(self, region: &Region, trie: &Trie, node: TrieNode) -> bool {
        let is_after_some = trie.depth(node) > trie.depth(region.from) + 1;
        match self {
            CharCount::Any => true,
            CharCount::OneOrMore => is_after_some,
            CharCount::Between(first, last) => {
                is_after_some && (first..=last).contains(&(trie.n_chars_before(node) - trie.n_chars(region.from)))
            }
        }
    }
}

/// How long the tokens of the vocabulary are.
#[derive(Clone, Copy)]
pub(super) struct Lengths<'v> {
    pub trie: &'v Trie,
    /// By token: the number of characters that begin in it.
    pub n_chars: &'v [u16],
    pub longest_first: &'v LongestFirst,
}

/// The tokens of a region by the number of characters that begin in them, below the region's node.
#[derive(Debug)]
struct TokensByLength {
    tokens: Box<[TokenId]>,
    /// By number of characters: where the tokens with more characters begin.
    ends: Box<[u32]>,
}

impl TokensByLength {
    /// Returns the tokens with at most so many characters, and the others.
    fn split(&self, n_max: usize) -> (&[TokenId], &[TokenId]) {
        let end = self.ends.get(n_max).map_or(self.tokens.len(), |&end| end as usize);
        self.tokens.split_at(end)
    }
}

impl Region {
    fn new(trie: &Trie, marks: Marks, alphabet: Alphabet, from: TrieNode) -> Region {
        let mut tokens = Vec::with_capacity(trie.subtree_tokens(from).len());
        let mut border = Vec::new();
        for_each_piece(trie, &marks, alphabet, from, |first, end, side| {
            tokens.extend_from_slice(trie.tokens_between(first, end));
            if side == Side::Border {
                border.push(end);
            }
        });
        Region {
            alphabet,
            from,
            marks,
            tokens: tokens.into(),
            row: OnceLock::new(),
            by_length: OnceLock::new(),
            border: NodesByByte::new(trie, &border),
            interior: OnceLock::new(),
            broken: OnceLock::new(),
            n_chars_max: OnceLock::new(),
            crossings: Mutex::default(),
        }
    }

    /// Returns the nodes reached by whole characters and then `byte`, which begins another one.
    fn interior(&self, trie: &Trie, byte: u8) -> &[TrieNode] {
        if !self.alphabet.begins(byte) {
            return &[];
        }
        let find = || {
            let mut interior = Vec::new();
            for_each_piece(trie, &self.marks, self.alphabet, self.from, |first, end, _| {
                interior.extend((first.0..end.0).map(TrieNode).filter(|&node| self.marks.of(node).begins_character()));
            });
            NodesByByte::new(trie, &interior)
        };
        self.interior.get_or_init(find).get(byte)
    }

    /// Returns the nodes reached by whole characters and then a part of another one, and a byte that can't follow there.
    pub fn broken(&self, trie: &Trie) -> &[TrieNode] {
        self.broken.get_or_init(|| {
            let mut broken = Vec::new();
            for_each_piece(trie, &self.marks, self.alphabet, self.from, |_, end, side| {
                if side == Side::Nowhere && end < trie.subtree_end(self.from) {
                    broken.push(end);
                }
            });
            broken.into()
        })
    }

    /// Returns the trie node below which the region lies.
    pub fn from(&self) -> TrieNode {
        self.from
    }

    /// Returns the tokens of the region as a mask of `n_words` words.
    pub fn row(&self, n_words: usize) -> &Arc<[u32]> {
        self.row.get_or_init(|| bit_row::of(&self.tokens, n_words))
    }

    /// Returns the number of tokens.
    pub fn n_tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the tokens in which at most `n_max` characters begin below the region's node.
    pub(super) fn of_length_up_to(&self, lengths: Lengths<'_>, n_max: usize) -> &[TokenId] {
        match lengths.longest_first.longer(n_max) {
            [] => &self.tokens,
            _ => self.by_length(lengths).split(n_max).0,
        }
    }

    /// Returns the other tokens.
    pub(super) fn of_length_beyond(&self, lengths: Lengths<'_>, n_max: usize) -> Cow<'_, [TokenId]> {
        let longer = lengths.longest_first.longer(n_max);
        if longer.is_empty() {
            return Cow::Borrowed(&[]);
        }
        // Most bounds are beyond nearly all tokens, which need not be sorted for that.
        if longer.len() > LONGER_MAX.min(self.tokens.len()) || self.by_length.get().is_some() {
            return self.by_length(lengths).split(n_max).1.into();
        }
        let (row, length) = (self.row(bit_row::n_words(lengths.n_chars.len())), self.length(lengths));
        longer.iter().copied().filter(|&token| bit_row::has(row, token) && length(token) > n_max).collect()
    }

    /// Tells how many characters begin in one of the tokens below the region's node.
    fn length(&self, Lengths { trie, n_chars, .. }: Lengths<'_>) -> impl Fn(TokenId) -> usize {
        let n_above = trie.n_chars(self.from);
        move |token| usize::from(n_chars[token as usize] - n_above)
    }

    fn by_length(&self, lengths: Lengths<'_>) -> &TokensByLength {
        self.by_length.get_or_init(|| {
            // A counting sort: a region can have most of the vocabulary, but lengths are few.
            let length = self.length(lengths);
            let longest = self.tokens.iter().map(|&token| length(token)).max().unwrap_or(0);
            let mut ends = vec![0u32; longest + 2];
            self.tokens.iter().for_each(|&token| ends[length(token) + 1] += 1);
            (1..ends.len()).for_each(|length| ends[length] += ends[length - 1]);
            let mut tokens = vec![0; self.tokens.len()];
            for &token in &self.tokens {
                let end = &mut ends[length(token)];
                tokens[*end as usize] = token;
                *end += 1;
            }
            ends.pop();
            TokensByLength { tokens: tokens.into(), ends: ends.into() }
        })
    }

    /// Returns the nodes reached by whole characters and then `byte`, which begins no character of the alphabet.
    pub fn border(&self, byte: u8) -> &[TrieNode] {
        self.border.get(byte)
    }

    /// Returns the border nodes of `byte` that meet a condition on the number of characters before them, as they are best walked; `None` if that is one
    /// by one because they are few.
    pub fn crossing(&self, trie: &Trie, byte: u8, after: CharCount) -> Option<Arc<Crossing>> {
        if self.border(byte).len() < MERGED_NODES_MIN.get() {
            return None;
        }
        let mut crossings = self.crossings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, crossing)) = crossings.iter().find(|(key, _)| *key == (byte, after)) {
            return Some(Arc::clone(crossing));
        }
        let crossing = Arc::new(Crossing::of(trie, self.border_after(trie, byte, after)));
        crossings.push(((byte, after), Arc::clone(&crossing)));
        Some(crossing)
    }

    /// Returns the border nodes of `byte` that meet a condition on the number of characters before them.
    pub fn border_after(&self, trie: &Trie, byte: u8, after: CharCount) -> impl Iterator<Item = TrieNode> {
        self.border(byte).iter().copied().filter(move |&node| after.allows(self, trie, node))
    }

    /// Returns the interior nodes of `byte` that meet a condition on the number of characters before them.
    pub fn interior_after(&self, trie: &Trie, byte: u8, after: CharCount) -> impl Iterator<Item = TrieNode> {
        self.interior(trie, byte).iter().copied().filter(move |&node| after.allows(self, trie, node))
    }

    /// Returns the greatest number of characters before a border node.
    pub fn n_chars_max(&self, trie: &Trie) -> usize {
        *self.n_chars_max.get_or_init(|| {
            let n_chars = self.border.nodes.iter().map(|&node| trie.n_chars_before(node)).max();
            usize::from(n_chars.map_or(0, |n| n - trie.n_chars(self.from)))
        })
    }

    /// Returns the memory of the region and of what was derived from it so far, in bytes.
    fn memory_bytes(&self) -> usize {
        let by_length = self.by_length.get().map_or(0, |by_length| by_length.tokens.len() + by_length.ends.len());
        let row = self.row.get().map_or(0, |row| row.len());
        let interior = self.interior.get().map_or(0, |interior| interior.nodes.len() + interior.starts.len());
        let n_ids = self.tokens.len() + self.border.nodes.len() + self.border.starts.len() + by_length + row + interior;
        let n_ids = n_ids + self.broken.get().map_or(0, |broken| broken.len());
        let crossings = self.crossings.lock().unwrap_or_else(PoisonError::into_inner);
        let of_crossing = |crossing: &Crossing| {
            size_of::<(CrossingKey, Crossing)>() + size_of_val(&*crossing.alone) + size_of_val(&*crossing.merged)
        };
        let of_crossings: usize = crossings.iter().map(|(_, crossing)| of_crossing(crossing)).sum();
        size_of::<Region>() + n_ids * size_of::<u32>() + of_crossings
    }
}

/// Calls `visit` with the pieces of a region in preorder: the first node of each, and the node behind its last one, where an alphabet ends, with its side. The last piece
/// ends behind the nodes below `from`.
fn for_each_piece(
    trie: &Trie,
    marks: &Marks,
    alphabet: Alphabet,
    from: TrieNode,
    mut visit: impl FnMut(TrieNode, TrieNode, Side),
) {
    let sides = alphabet.sides();
    let end = trie.subtree_end(from);
    let mut first = from.next();
    while first < end {
        let piece = marks.between(first, end);
        let Some(n_inside) = piece.iter().position(|mark| sides[mark.index()] != Side::Inside) else { break };
        let node = TrieNode::new(first.index() + n_inside);
        visit(first, node, sides[piece[n_inside].index()]);
        first = trie.subtree_end(node);
    }
    visit(first, end, Side::Nowhere);
}

/// Regions whose memory is counted again whenever one is added, and most that are forgotten then.
const VISITED_PER_NEW: usize = 4;

/// The regions of a vocabulary, found on demand and cached.
#[derive(Debug)]
pub(super) struct Regions {
    /// Of all nodes.
    marks: Marks,
    /// By token: the number of characters that begin in it.
    n_chars: Box<[u16]>,
    cache: Mutex<RegionCache>,
}

type RegionKey = (Alphabet, TrieNode);

/// Regions grow while they are used. So whenever one is added, the memory of the next few is counted again, round and round, and as long as all of them take
/// too much, those few are forgotten: no caller pays for more than that.
#[derive(Debug, Default)]
struct RegionCache {
    places: AHashMap<RegionKey, usize>,
    entries: Vec<RegionEntry>,
    /// The entry to visit next.
    hand: usize,
    /// The memory of all entries, as far as it was counted.
    bytes: usize,
}

#[derive(Debug)]
struct RegionEntry {
    key: RegionKey,
    region: Arc<Region>,
    /// Its memory when it was counted last.
    bytes: usize,
}

impl RegionCache {
    fn get(&self, key: RegionKey) -> Option<&Arc<Region>> {
        self.places.get(&key).map(|&place| &self.entries[place].region)
    }

    fn add(&mut self, key: RegionKey, region: &Arc<Region>, bytes_max: usize) {
        for _ in 0..VISITED_PER_NEW {
            self.visit_next(bytes_max);
        }
        let bytes = region.memory_bytes();
        self.places.insert(key, self.entries.len());
        self.entries.push(RegionEntry { key, region: Arc::clone(region), bytes });
        self.bytes += bytes;
    }

    /// Counts the memory of the next region again, and forgets it if all take too much.
    fn visit_next(&mut self, bytes_max: usize) {
        if self.hand >= self.entries.len() {
            self.hand = 0;
        }
        let Some(entry) = self.entries.get_mut(self.hand) else { return };
        let bytes = entry.region.memory_bytes();
        self.bytes += bytes - entry.bytes;
        entry.bytes = bytes;
        if self.bytes <= bytes_max {
            self.hand += 1;
            return;
        }
        let forgotten = self.entries.swap_remove(self.hand);
        self.bytes -= forgotten.bytes;
        self.places.remove(&forgotten.key);
        if let Some(moved) = self.entries.get(self.hand) {
            self.places.insert(moved.key, self.hand);
        }
    }
}

impl Regions {
    pub fn new(trie: &Trie, n_tokens: usize) -> Regions {
        let mut n_chars = vec![0; n_tokens];
        for node in trie.preorder(TrieNode::ROOT) {
            trie.tokens(node).iter().for_each(|&token| n_chars[token as usize] = trie.n_chars(node));
        }
        Regions { marks: Marks::below(trie, TrieNode::ROOT), n_chars: n_chars.into(), cache: Mutex::default() }
    }

    pub fn get(&self, trie: &Trie, alphabet: Alphabet, from: TrieNode) -> Arc<Region> {
        let key = (alphabet, from);
        if let Some(region) = self.lock().get(key) {
            return Arc::clone(region);
        }
        // Two threads may find the same region; the first one is cached.
        // Behind part of a character, where the path to it is no text, characters begin elsewhere than from the root on.
        let is_text = from == TrieNode::ROOT || self.marks.of(from).ends_character();
        let marks = if is_text { self.marks.clone() } else { Marks::below(trie, from) };
        let region = Arc::new(Region::new(trie, marks, alphabet, from));
        let mut cache = self.lock();
        if let Some(known) = cache.get(key) {
            return Arc::clone(known);
        }
        cache.add(key, &region, REGION_BYTES_MAX);
        region
    }

    /// Returns by token the number of characters that begin in it.
    pub fn n_chars(&self) -> &[u16] {
        &self.n_chars
    }

    /// Forgets all regions.
    pub fn clear(&self) {
        *self.lock() = RegionCache::default();
    }

    pub fn memory_bytes(&self) -> usize {
        self.marks.memory_bytes()
            + size_of_val(&*self.n_chars)
            + self.lock().entries.iter().map(|entry| entry.region.memory_bytes()).sum::<usize>()
    }

    fn lock(&self) -> MutexGuard<'_, RegionCache> {
        // Nothing panics half-way.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Vocab;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn regions_beyond_the_bound_are_forgotten_a_few_at_a_time() {
        let tokens: Vec<Vec<u8>> = (b'a'..=b'z').map(|byte| vec![byte]).collect();
        let vocab = Vocab::from_tokens(&tokens).unwrap();
        let alphabet = |n: u32| Alphabet { ascii: 1 << b'a' | u128::from(n), non_ascii: NonAscii::None };
        let marks = Marks::below(vocab.trie(), TrieNode::ROOT);
        let new = |n: u32| Arc::new(Region::new(vocab.trie(), marks.clone(), alphabet(n), TrieNode::ROOT));
        let bytes_max = 10 * new(0).memory_bytes();
        let mut cache = RegionCache::default();
        for n in 0..100 {
            let n_before = cache.entries.len();
            cache.add((alphabet(n), TrieNode::ROOT), &new(n), bytes_max);
            assert!(n_before < cache.entries.len() + VISITED_PER_NEW && cache.bytes <= bytes_max + bytes_max / 10);
            assert_eq!(cache.bytes, cache.entries.iter().map(|entry| entry.region.memory_bytes()).sum::<usize>());
            for (place, entry) in cache.entries.iter().enumerate() {
                assert_eq!(cache.places[&entry.key], place);
            }
            assert_eq!(
                cache.get((alphabet(n), TrieNode::ROOT)).map(|region| region.alphabet.ascii),
                Some(alphabet(n).ascii)
            );
        }
        assert!(cache.entries.len() >= 8 && cache.places.len() == cache.entries.len());
    }

    fn path_of(trie: &Trie, node: TrieNode) -> Vec<u8> {
        let is_above = |&above: &TrieNode| above.0 <= node.0 && node.0 < trie.subtree_end(above).0;
        let path = trie.preorder(TrieNode::ROOT).skip(1).filter(is_above);
        path.map(|above| trie.byte(above)).collect()
    }

    #[test]
    fn a_region_is_what_trying_each_token_finds() {
        let texts = [
            "a",
            "ab",
            "a b",
            "ab c",
            "é",
            "aé",
            "é\"b",
            "\"",
            "a\"",
            "ab\"",
            "ab\"c",
            "abé\"",
            "b\u{4e16}",
            "abé",
            "aéé",
        ];
        let mut tokens: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        tokens.extend(
            ["\u{2028}", "a\u{2029}b", "\u{2026}", "\u{2014}\"", "\u{3000}\""].map(|text| text.as_bytes().to_vec()),
        );
        tokens.extend([vec![0xE2, 0x80], vec![0xE2, 0x81, b'"'], vec![b'a', 0xE2]]);
        tokens.extend([vec![0xA9, b'a'], vec![0xA9, 0x80, b'b', b'"'], vec![0xA9, 0x80, 0xC3, 0xA9, b'"']]);
        tokens.extend([vec![b'a', 0xC3], vec![0xA9], vec![0xE4, 0xB8], vec![0xED, 0xA0], vec![b'a', 0xFF]]);
        // So many short ones that the longer ones are looked at one by one.
        tokens.extend((0..120u8).map(|n| {
            (0..3).map(|place| [b'a', b'b', b'c', 0xC3, 0xA9][usize::from(n / 5u8.pow(place) % 5)]).collect()
        }));
        let vocab = Vocab::from_tokens(&tokens).unwrap();
        let trie = vocab.trie();
        for non_ascii in [NonAscii::None, NonAscii::All, NonAscii::AllButSeparators] {
            let alphabet = Alphabet { ascii: 1 << b'a' | 1 << b'b', non_ascii };
            // Also from within a character, and behind what is no text: a state may have read the beginning of it before.
            for from in [&b""[..], b"a", b"ab", &[b'a', 0xC3], &[0xA9], &[0xA9, 0x80]].map(<[u8]>::to_vec) {
                let node = trie.find(&from).unwrap();
                let region = vocab.region(alphabet, node);
                let begins = |character: char| match character {
                    'a' | 'b' => true,
                    '\u{2028}' | '\u{2029}' => non_ascii == NonAscii::All,
                    _ => !character.is_ascii() && non_ascii != NonAscii::None,
                };
                let in_region = |text: &[u8]| match core::str::from_utf8(text) {
                    Ok(text) => text.chars().all(begins),
                    Err(error) if error.error_len().is_none() && non_ascii != NonAscii::None => {
                        let whole =
                            core::str::from_utf8(&text[..error.valid_up_to()]).expect("it is valid up to there");
                        whole.chars().all(begins)
                    }
                    Err(_) => false,
                };
                let below = |token: &&Vec<u8>| token.len() > from.len() && token.starts_with(&from);
                let expected: BTreeSet<&Vec<u8>> =
                    tokens.iter().filter(below).filter(|token| in_region(&token[from.len()..])).collect();
                let got: BTreeSet<&Vec<u8>> = region.tokens.iter().map(|&id| &tokens[id as usize]).collect();
                assert_eq!(got, expected, "{alphabet:?} below {from:?}");
                let quotes: BTreeSet<TrieNode> = region.border(b'"').iter().copied().collect();
                let expected: BTreeSet<TrieNode> = tokens
                    .iter()
                    .filter(below)
                    .filter_map(|token| {
                        let at = from.len() + token[from.len()..].iter().position(|&byte| byte == b'"')?;
                        let before = &token[from.len()..at];
                        let is_whole = core::str::from_utf8(before).is_ok() && in_region(before);
                        is_whole.then(|| trie.find(&token[..=at])).flatten()
                    })
                    .collect();
                assert_eq!(quotes, expected, "{alphabet:?} below {from:?}");
                let interior: BTreeSet<TrieNode> =
                    (0..=255).flat_map(|byte| region.interior_after(trie, byte, CharCount::Any)).collect();
                let begins_another = |&node: &TrieNode| {
                    let path = path_of(trie, node);
                    let before = &path[from.len()..path.len() - 1];
                    let is_whole = core::str::from_utf8(before).is_ok() && in_region(before);
                    is_whole && alphabet.begins(trie.byte(node))
                };
                let expected: BTreeSet<TrieNode> = trie.preorder(node).skip(1).filter(begins_another).collect();
                assert_eq!(interior, expected, "{alphabet:?} below {from:?}");
                // The tokens are sorted by length once that is worth it: not before all bounds but the last ones.
                let beyond: Vec<_> = (0..6).rev().map(|n_max| (n_max, region.tokens_beyond(&vocab, n_max))).collect();
                for (n_max, beyond) in beyond {
                    let n_chars = |&&token: &&TokenId| {
                        let bytes = &tokens[token as usize][from.len()..];
                        bytes.iter().filter(|&&byte| super::super::trie::begins_character(byte)).count() <= n_max
                    };
                    let (short, others): (BTreeSet<TokenId>, BTreeSet<TokenId>) =
                        region.tokens.iter().partition(n_chars);
                    assert_eq!(beyond.iter().copied().collect::<BTreeSet<_>>(), others);
                    assert_eq!(region.tokens_up_to(&vocab, n_max).iter().copied().collect::<BTreeSet<_>>(), short);
                    assert_eq!(region.tokens_beyond(&vocab, n_max).iter().copied().collect::<BTreeSet<_>>(), others);
                }
            }
        }
    }
}

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
//! merged into one small trie ([`Region::merged`]), in which a state walks 50 nodes instead of 5,000.
//!
//! A set consists of some ASCII characters and either none or all of the other characters, or all but U+2028 and U+2029. The trie is walked
//! for loops over any other set.
//!
//! Cost: one walk of some nanoseconds per trie node when a region is first needed; then a hash lookup. The vocabulary caches as many
//! regions as fit in [`REGION_BYTES_MAX`].

use super::token::TokenId;
use super::trie::{Trie, TrieNode};
use crate::util::{Utf8State, bit_row};
use ahash::AHashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Fewest border nodes that are worth a merged trie.
const MERGED_NODES_MIN: usize = 8;
/// Most tokens at and below border nodes that are put into one merged trie.
const MERGED_TOKENS_MAX: usize = 1 << 14;

/// Most memory of the cached regions of a vocabulary, in bytes. When it is used up, the cache is cleared.
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

impl Alphabet {
    /// Returns whether a character of the set begins with a byte.
    pub fn begins(&self, byte: u8) -> bool {
        if byte < 0x80 {
            self.ascii >> byte & 1 == 1
        } else {
            self.non_ascii != NonAscii::None && Utf8State::of_lead(byte).is_some()
        }
    }
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
    tokens: Box<[TokenId]>,
    row: OnceLock<Arc<[u32]>>,
    by_length: OnceLock<TokensByLength>,
    border: NodesByByte,
    /// Found when first needed: few loops can end where more of their characters may follow.
    interior: OnceLock<NodesByByte>,
    n_chars_max: OnceLock<usize>,
    n_beyond: usize,
    merged: Mutex<Vec<Merged>>,
}

/// The subtrees of border nodes, merged; `None` if they have too many tokens.
#[derive(Debug)]
struct Merged {
    byte: u8,
    after: CharCount,
    trie: Option<Arc<Trie>>,
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

/// The tokens of a region by the number of characters that begin in them, below the region's node.
#[derive(Debug)]
struct TokensByLength {
    tokens: Box<[TokenId]>,
    /// By number of characters: where the tokens with more characters begin.
    ends: Box<[u32]>,
}

impl Region {
    fn new(trie: &Trie, alphabet: Alphabet, from: TrieNode) -> Region {
        let (mut tokens, mut border, mut n_beyond) = (Vec::new(), Vec::new(), 0);
        for_each_node(trie, alphabet, from, |node, found| match found {
            Reached::Begins | Reached::Continues => tokens.extend_from_slice(trie.tokens(node)),
            Reached::Border => {
                border.push(node);
                n_beyond += trie.subtree_tokens(node).len();
            }
        });
        Region {
            alphabet,
            from,
            tokens: tokens.into(),
            row: OnceLock::new(),
            by_length: OnceLock::new(),
            border: NodesByByte::new(trie, &border),
            interior: OnceLock::new(),
            n_chars_max: OnceLock::new(),
            n_beyond,
            merged: Mutex::default(),
        }
    }

    /// Returns the nodes reached by whole characters and then `byte`, which begins another one.
    fn interior(&self, trie: &Trie, byte: u8) -> &[TrieNode] {
        if Position::BOUNDARY.next(self.alphabet, byte).is_none() {
            return &[];
        }
        let find = || {
            let mut interior = Vec::new();
            for_each_node(trie, self.alphabet, self.from, |node, found| {
                if found == Reached::Begins {
                    interior.push(node);
                }
            });
            NodesByByte::new(trie, &interior)
        };
        self.interior.get_or_init(find).get(byte)
    }

    /// Returns the trie node below which the region lies.
    pub fn from(&self) -> TrieNode {
        self.from
    }

    /// Returns the tokens of the region, in trie order.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// Returns the tokens of the region as a mask of `n_words` words.
    pub fn row(&self, n_words: usize) -> &Arc<[u32]> {
        self.row.get_or_init(|| bit_row::of(&self.tokens, n_words))
    }

    /// Returns the tokens in which at most `n_max` characters begin, and the remaining ones. `bytes_of` has the bytes of a token.
    pub(super) fn tokens_by_length<'a>(
        &self,
        trie: &Trie,
        bytes_of: impl Fn(TokenId) -> &'a [u8],
        n_max: usize,
    ) -> (&[TokenId], &[TokenId]) {
        if n_max == usize::MAX {
            return (&self.tokens, &[]);
        }
        let TokensByLength { tokens, ends } = self.by_length.get_or_init(|| {
            let depth = usize::from(trie.depth(self.from));
            let n_chars = |token: TokenId| {
                bytes_of(token)[depth..].iter().filter(|&&byte| super::trie::begins_character(byte)).count()
            };
            // A counting sort: a region can have most of the vocabulary, but lengths are few.
            let lengths: Vec<usize> = self.tokens.iter().map(|&token| n_chars(token)).collect();
            let longest = lengths.iter().copied().max().unwrap_or(0);
            let mut ends = vec![0u32; longest + 2];
            lengths.iter().for_each(|&length| ends[length + 1] += 1);
            (1..ends.len()).for_each(|length| ends[length] += ends[length - 1]);
            let mut tokens = vec![0; self.tokens.len()];
            for (&token, &length) in self.tokens.iter().zip(&lengths) {
                tokens[ends[length] as usize] = token;
                ends[length] += 1;
            }
            ends.pop();
            TokensByLength { tokens: tokens.into(), ends: ends.into() }
        });
        let end = ends.get(n_max).map_or(tokens.len(), |&end| end as usize);
        tokens.split_at(end)
    }

    /// Returns the nodes reached by whole characters and then `byte`, which begins no character of the alphabet.
    pub fn border(&self, byte: u8) -> &[TrieNode] {
        self.border.get(byte)
    }

    /// Returns the trie of what tokens spell from a border byte on; `None` if few border nodes have that byte or very many tokens lie at and
    /// below them.
    pub fn merged(&self, trie: &Trie, byte: u8, after: CharCount) -> Option<Arc<Trie>> {
        if self.border(byte).len() < MERGED_NODES_MIN {
            return None;
        }
        let mut cache = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(merged) = cache.iter().find(|merged| merged.byte == byte && merged.after == after) {
            return merged.trie.clone();
        }
        let nodes: Vec<TrieNode> = self.border_after(trie, byte, after).collect();
        let n_tokens: usize = nodes.iter().map(|&node| trie.subtree_tokens(node).len()).sum();
        let merged = (n_tokens <= MERGED_TOKENS_MAX).then(|| Arc::new(trie.merged(&nodes)));
        cache.push(Merged { byte, after, trie: merged.clone() });
        merged
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

    /// Returns the number of tokens at and below the border.
    pub fn n_beyond(&self) -> usize {
        self.n_beyond
    }

    /// Returns the memory of the region and of what was derived from it so far, in bytes.
    fn memory_bytes(&self) -> usize {
        let by_length = self.by_length.get().map_or(0, |by_length| by_length.tokens.len() + by_length.ends.len());
        let row = self.row.get().map_or(0, |row| row.len());
        let interior = self.interior.get().map_or(0, |interior| interior.nodes.len() + interior.starts.len());
        let n_ids = self.tokens.len() + self.border.nodes.len() + self.border.starts.len() + by_length + row + interior;
        let merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        let tries: usize = merged.iter().flat_map(|merged| &merged.trie).map(|trie| trie.memory_bytes()).sum();
        size_of::<Region>() + n_ids * size_of::<u32>() + tries
    }
}

/// How the byte of a node relates to the alphabet, where the bytes before it belong to characters of the alphabet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// The byte begins a character.
    Begins,
    /// The byte continues a character.
    Continues,
    /// The byte begins no character of the alphabet. The subtree is skipped.
    Border,
}

/// Calls `visit` with the nodes below `from` that are reached by characters of the alphabet, and with their border.
fn for_each_node(trie: &Trie, alphabet: Alphabet, from: TrieNode, mut visit: impl FnMut(TrieNode, Reached)) {
    let depth = |node: TrieNode| usize::from(trie.depth(node) - trie.depth(from));
    // The position within a character before each byte of the path.
    let mut positions = vec![Position::BOUNDARY];
    let end = trie.subtree_end(from);
    let mut node = from.next();
    while node < end {
        let at = depth(node) - 1;
        positions.truncate(at + 1);
        match positions[at].next(alphabet, trie.byte(node)) {
            Some(position) => {
                visit(node, if positions[at] == Position::BOUNDARY { Reached::Begins } else { Reached::Continues });
                positions.push(position);
                node = node.next();
            }
            None => {
                if positions[at] == Position::BOUNDARY {
                    visit(node, Reached::Border);
                }
                node = trie.subtree_end(node);
            }
        }
    }
}

/// A position relative to the UTF-8 of characters of an alphabet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Position {
    /// Of any characters.
    At(Utf8State),
    /// After the first byte of U+2000 to U+2FFF, where U+2028 and U+2029 are excluded.
    AfterE2,
    /// After the first two bytes of U+2000 to U+203F, likewise.
    AfterE280,
}

impl Position {
    const BOUNDARY: Position = Position::At(Utf8State::BOUNDARY);

    /// Returns the position after `byte`, or `None` if it belongs to no character of the alphabet.
    fn next(self, alphabet: Alphabet, byte: u8) -> Option<Position> {
        let is_continuation = (0x80..=0xBF).contains(&byte);
        match self {
            Position::BOUNDARY if byte < 0x80 => (alphabet.ascii >> byte & 1 == 1).then_some(Position::BOUNDARY),
            Position::BOUNDARY if byte == 0xE2 && alphabet.non_ascii == NonAscii::AllButSeparators => {
                Some(Position::AfterE2)
            }
            Position::BOUNDARY => {
                let state = Utf8State::of_lead(byte).filter(|_| alphabet.non_ascii != NonAscii::None)?;
                Some(Position::At(state))
            }
            Position::At(state) => state.bytes().contains(&byte).then(|| Position::At(state.after_continuation())),
            Position::AfterE2 if byte == 0x80 => Some(Position::AfterE280),
            Position::AfterE2 => {
                let state = Utf8State::of_lead(0xE2).expect("a character begins so").after_continuation();
                is_continuation.then_some(Position::At(state))
            }
            Position::AfterE280 => (is_continuation && !matches!(byte, 0xA8 | 0xA9)).then_some(Position::BOUNDARY),
        }
    }
}

/// Regions whose memory is counted again whenever one is added, and most that are forgotten then.
const VISITED_PER_NEW: usize = 4;

/// The regions of a vocabulary, found on demand and cached.
#[derive(Debug, Default)]
pub(super) struct Regions {
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
    pub fn get(&self, trie: &Trie, alphabet: Alphabet, from: TrieNode) -> Arc<Region> {
        let key = (alphabet, from);
        if let Some(region) = self.lock().get(key) {
            return Arc::clone(region);
        }
        // Two threads may find the same region; the first one is cached.
        let region = Arc::new(Region::new(trie, alphabet, from));
        let mut cache = self.lock();
        if let Some(known) = cache.get(key) {
            return Arc::clone(known);
        }
        cache.add(key, &region, REGION_BYTES_MAX);
        region
    }

    /// Forgets all regions.
    pub fn clear(&self) {
        *self.lock() = RegionCache::default();
    }

    pub fn memory_bytes(&self) -> usize {
        self.lock().entries.iter().map(|entry| entry.region.memory_bytes()).sum()
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
        let new = |n: u32| Arc::new(Region::new(vocab.trie(), alphabet(n), TrieNode::ROOT));
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

    #[test]
    fn a_region_is_what_trying_each_token_finds() {
        let texts = ["a", "ab", "a b", "ab c", "é", "aé", "é\"b", "\"", "a\"", "ab\"", "ab\"c", "abé\"", "b\u{4e16}"];
        let mut tokens: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        tokens.extend(
            ["\u{2028}", "a\u{2029}b", "\u{2026}", "\u{2014}\"", "\u{3000}\""].map(|text| text.as_bytes().to_vec()),
        );
        tokens.extend([vec![0xE2, 0x80], vec![0xE2, 0x81, b'"'], vec![b'a', 0xE2]]);
        tokens.extend([vec![b'a', 0xC3], vec![0xA9], vec![0xE4, 0xB8], vec![0xED, 0xA0], vec![b'a', 0xFF]]);
        let vocab = Vocab::from_tokens(&tokens).unwrap();
        let trie = vocab.trie();
        for non_ascii in [NonAscii::None, NonAscii::All, NonAscii::AllButSeparators] {
            let alphabet = Alphabet { ascii: 1 << b'a' | 1 << b'b', non_ascii };
            for from in [vec![], b"a".to_vec(), b"ab".to_vec()] {
                let node = trie.find(&from).unwrap();
                let region = vocab.region(alphabet, node);
                let in_region = |text: &[u8]| {
                    let mut position = Position::BOUNDARY;
                    text.iter().all(|&byte| match position.next(alphabet, byte) {
                        Some(next) => {
                            position = next;
                            true
                        }
                        None => false,
                    })
                };
                let below = |token: &&Vec<u8>| token.len() > from.len() && token.starts_with(&from);
                let expected: BTreeSet<&Vec<u8>> =
                    tokens.iter().filter(below).filter(|token| in_region(&token[from.len()..])).collect();
                let got: BTreeSet<&Vec<u8>> = region.tokens().iter().map(|&id| &tokens[id as usize]).collect();
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
            }
        }
    }
}

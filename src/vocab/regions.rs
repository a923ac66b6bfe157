//! Regions: what a loop over characters sees of the vocabulary, found once and kept.
//!
//! A state that loops on many characters (the body of a string, a name, free text) accepts tens of thousands of tokens by going round
//! and round; walking the trie visits 70,000 nodes for a name and 270,000 for a string, and does so again for each state of each
//! grammar that has such a loop. But which tokens consist of the loop's characters depends on the characters alone. For a
//! set of characters and a trie node, the *region* has:
//!
//! - the tokens below the node that consist of such characters (the last one may be cut short);
//! - the *border*: nodes reached by whole characters of the set and one byte that belongs to none, grouped by that byte. A state goes on
//!   only at the borders whose byte it reads: for a string body those of `"` and `\`, 1,700 of 270,000 nodes;
//! - the *interior*: nodes reached by whole characters of the set and one byte that begins another, grouped likewise. When the loop
//!   can end anywhere, its caller goes on at the interiors and borders whose bytes *it* reads.
//!
//! What follows the border is the same for most of its nodes: nothing, or what programs write behind a quote. So the subtrees behind one
//! byte are laid over one another into one small trie ([`Region::merged`]), in which a state walks 50 nodes instead of 5,000.
//!
//! Sets are a set of ASCII characters, with or without all other characters of Unicode, the two separators of lines and paragraphs left out or
//! not; loops over anything else are walked.
//!
//! Cost: one walk of some nanoseconds per trie node when a region is first asked for; then a look-up. The vocabulary keeps as many as fit
//! in [`REGION_BYTES_MAX`].

use super::{TokenId, Trie};
use ahash::AHashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Fewest nodes of a border that are worth a trie of their own.
const MERGED_NODES_MIN: usize = 8;
/// Most tokens beyond a border that are put into one.
const MERGED_TOKENS_MAX: usize = 1 << 14;

/// Memory for regions that a vocabulary keeps, in bytes. When it is used up, all are forgotten.
const REGION_BYTES_MAX: usize = 64 << 20;

/// A set of characters: some of ASCII, and none or nearly all of the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Alphabet {
    /// Bit `c` is set when the set has the character `c`.
    pub ascii: u128,
    /// Which characters beyond ASCII the set has.
    pub others: Others,
}

/// Characters beyond ASCII.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Others {
    None,
    All,
    /// All but U+2028 and U+2029, which `.` of ECMA-262 doesn't match.
    NoSeparators,
}

impl Alphabet {
    /// Returns whether characters of the set begin with a byte.
    pub fn begins(&self, byte: u8) -> bool {
        if byte < 0x80 { self.ascii >> byte & 1 == 1 } else { self.others != Others::None && lead(byte).is_some() }
    }
}

/// Trie nodes by the byte that leads to them.
#[derive(Debug)]
struct Groups {
    starts: Box<[u32; 257]>,
    nodes: Box<[u32]>,
}

impl Groups {
    fn new(trie: &Trie, found: &[u32]) -> Groups {
        let mut starts = Box::new([0u32; 257]);
        found.iter().for_each(|&node| starts[usize::from(trie.byte(node)) + 1] += 1);
        for byte in 0..256 {
            starts[byte + 1] += starts[byte];
        }
        let mut next = *starts;
        let mut nodes = vec![0; found.len()];
        for &node in found {
            let at = &mut next[usize::from(trie.byte(node))];
            nodes[*at as usize] = node;
            *at += 1;
        }
        Groups { starts, nodes: nodes.into() }
    }

    fn get(&self, byte: u8) -> &[u32] {
        let byte = usize::from(byte);
        &self.nodes[self.starts[byte] as usize..self.starts[byte + 1] as usize]
    }
}

/// What a loop over an alphabet sees below a trie node.
#[derive(Debug)]
pub(crate) struct Region {
    alphabet: Alphabet,
    from: u32,
    tokens: Box<[TokenId]>,
    row: OnceLock<Arc<[u32]>>,
    by_length: OnceLock<ByLength>,
    border: Groups,
    /// Found when first asked for: few loops end where more of their characters may follow.
    interior: OnceLock<Groups>,
    n_begun_max: OnceLock<usize>,
    n_beyond: usize,
    merged: Mutex<Vec<Merged>>,
}

/// The subtrees of a border's nodes, laid over one another; nothing where that isn't worth it.
#[derive(Debug)]
struct Merged {
    byte: u8,
    after: After,
    trie: Option<Arc<Trie>>,
}

/// Returns some tokens as a mask of `n_words` words.
pub(crate) fn row_of(tokens: &[TokenId], n_words: usize) -> Arc<[u32]> {
    let mut row = vec![0u32; n_words];
    tokens.iter().for_each(|&id| row[id as usize / 32] |= 1 << (id % 32));
    row.into()
}

/// How many of a region's characters lie between its node and a node of its border.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum After {
    Any,
    OneOrMore,
    /// At least one, at least and at most so many.
    Between(u16, u16),
}

impl After {
    /// Returns the least and the greatest number.
    pub fn range(self) -> (u16, u16) {
        match self {
            After::Any => (0, u16::MAX),
            After::OneOrMore => (1, u16::MAX),
            After::Between(first, last) => (first, last),
        }
    }

    fn has(self, region: &Region, trie: &Trie, node: u32) -> bool {
        let is_after_some = trie.depth(node) > trie.depth(region.from) + 1;
        match self {
            After::Any => true,
            After::OneOrMore => is_after_some,
            After::Between(first, last) => {
                is_after_some && (first..=last).contains(&(trie.n_begun_before(node) - trie.n_begun(region.from)))
            }
        }
    }
}

/// The tokens of a region by the number of characters that begin in them, below the region's node.
#[derive(Debug)]
struct ByLength {
    tokens: Box<[TokenId]>,
    /// Where the tokens with more than so many characters begin.
    ends: Box<[u32]>,
}

impl Region {
    fn new(trie: &Trie, alphabet: Alphabet, from: u32) -> Region {
        let (mut tokens, mut border, mut n_beyond) = (Vec::new(), Vec::new(), 0);
        for_each_node(trie, alphabet, from, |node, found| match found {
            Found::Begins | Found::Continues => tokens.extend_from_slice(trie.tokens(node)),
            Found::Border => {
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
            border: Groups::new(trie, &border),
            interior: OnceLock::new(),
            n_begun_max: OnceLock::new(),
            n_beyond,
            merged: Mutex::default(),
        }
    }

    /// Returns the nodes reached by whole characters and then `byte`, which begins a further one.
    fn interior(&self, trie: &Trie, byte: u8) -> &[u32] {
        if Place::Between.next(self.alphabet, byte).is_none() {
            return &[];
        }
        let find = || {
            let mut interior = Vec::new();
            for_each_node(trie, self.alphabet, self.from, |node, found| {
                if found == Found::Begins {
                    interior.push(node);
                }
            });
            Groups::new(trie, &interior)
        };
        self.interior.get_or_init(find).get(byte)
    }

    /// Returns the trie node that the region lies below.
    pub fn from(&self) -> u32 {
        self.from
    }

    /// Returns the tokens of the region, in trie order.
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// Returns the tokens of the region as a mask of `n_words` words.
    pub fn row(&self, n_words: usize) -> &Arc<[u32]> {
        self.row.get_or_init(|| row_of(&self.tokens, n_words))
    }

    /// Returns the tokens in which at most `n_max` characters begin, and the others.
    pub fn tokens_up_to(&self, vocab: &super::Vocab, n_max: usize) -> (&[TokenId], &[TokenId]) {
        if n_max == usize::MAX {
            return (&self.tokens, &[]);
        }
        let ByLength { tokens, ends } = self.by_length.get_or_init(|| {
            let depth = usize::from(vocab.trie().depth(self.from));
            let n_begun = |token: TokenId| {
                vocab.bytes(token)[depth..].iter().filter(|&&byte| super::trie::begins_character(byte)).count()
            };
            // PERF: a region can have most of the vocabulary, which is few lengths.
            let lengths: Vec<usize> = self.tokens.iter().map(|&token| n_begun(token)).collect();
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
            ByLength { tokens: tokens.into(), ends: ends.into() }
        });
        let end = ends.get(n_max).map_or(tokens.len(), |&end| end as usize);
        tokens.split_at(end)
    }

    /// Returns the nodes reached by whole characters and then `byte`, which begins no character of the alphabet.
    pub fn border(&self, byte: u8) -> &[u32] {
        self.border.get(byte)
    }

    /// Returns what the tokens spell from a border's byte on, as a trie. Nothing if the border has few nodes or very many tokens lie
    /// beyond it.
    pub fn merged(&self, trie: &Trie, byte: u8, after: After) -> Option<Arc<Trie>> {
        if self.border(byte).len() < MERGED_NODES_MIN {
            return None;
        }
        let mut kept = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(merged) = kept.iter().find(|merged| merged.byte == byte && merged.after == after) {
            return merged.trie.clone();
        }
        let nodes: Vec<u32> = self.border_after(trie, byte, after).collect();
        let n_tokens: usize = nodes.iter().map(|&node| trie.subtree_tokens(node).len()).sum();
        let merged = (n_tokens <= MERGED_TOKENS_MAX).then(|| Arc::new(trie.merged(&nodes)));
        kept.push(Merged { byte, after, trie: merged.clone() });
        merged
    }

    /// Returns the nodes reached by some whole characters and then `byte`, which begins no character of the alphabet.
    pub fn border_after(&self, trie: &Trie, byte: u8, after: After) -> impl Iterator<Item = u32> {
        self.border(byte).iter().copied().filter(move |&node| after.has(self, trie, node))
    }

    /// Returns the nodes reached by some whole characters and then `byte`, which begins a further one.
    pub fn interior_after(&self, trie: &Trie, byte: u8, after: After) -> impl Iterator<Item = u32> {
        self.interior(trie, byte).iter().copied().filter(move |&node| after.has(self, trie, node))
    }

    /// Returns how many characters begin on the longest way to the border.
    pub fn n_begun_max(&self, trie: &Trie) -> usize {
        *self.n_begun_max.get_or_init(|| {
            let begun = self.border.nodes.iter().map(|&node| trie.n_begun_before(node)).max();
            usize::from(begun.map_or(0, |n| n - trie.n_begun(self.from)))
        })
    }

    /// Returns the number of tokens at and below the border.
    pub fn n_beyond(&self) -> usize {
        self.n_beyond
    }

    /// Returns the memory that the region takes with what was made of it so far, in bytes.
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

/// How a node was reached: by whole characters of an alphabet and one byte more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The byte begins another of its characters.
    Begins,
    /// The byte goes on with one.
    Continues,
    /// The byte belongs to none. What lies below is not looked at.
    Border,
}

/// Calls `visit` with the nodes below `from` that characters of the alphabet lead to, and with their border.
fn for_each_node(trie: &Trie, alphabet: Alphabet, from: u32, mut visit: impl FnMut(u32, Found)) {
    let depth = |node: u32| usize::from(trie.depth(node) - trie.depth(from));
    // The place within a character before each byte of the path.
    let mut places = vec![Place::Between];
    let end = trie.subtree_end(from);
    let mut node = from + 1;
    while node < end {
        let at = depth(node) - 1;
        places.truncate(at + 1);
        match places[at].next(alphabet, trie.byte(node)) {
            Some(place) => {
                visit(node, if places[at] == Place::Between { Found::Begins } else { Found::Continues });
                places.push(place);
                node += 1;
            }
            None => {
                if places[at] == Place::Between {
                    visit(node, Found::Border);
                }
                node = trie.subtree_end(node);
            }
        }
    }
}

/// A place within the UTF-8 of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Between,
    /// This many continuation bytes follow, the first of them in a range.
    Within {
        n_left: u8,
        low: u8,
        high: u8,
    },
    /// After the first byte of U+2000 to U+2FFF, and after the first two of U+2000 to U+203F, where separators are left out.
    Within2,
    Within20,
}

impl Place {
    /// Returns the place after `byte`, or nothing if it belongs to no character of the alphabet.
    fn next(self, alphabet: Alphabet, byte: u8) -> Option<Place> {
        match self {
            Place::Between if byte < 0x80 => (alphabet.ascii >> byte & 1 == 1).then_some(Place::Between),
            Place::Between => {
                let (n_left, low, high) = lead(byte).filter(|_| alphabet.others != Others::None)?;
                if byte == 0xE2 && alphabet.others == Others::NoSeparators {
                    return Some(Place::Within2);
                }
                Some(Place::Within { n_left, low, high })
            }
            Place::Within2 if byte == 0x80 => Some(Place::Within20),
            Place::Within2 => Place::Within { n_left: 2, low: 0x80, high: 0xBF }.next(alphabet, byte),
            Place::Within20 if matches!(byte, 0xA8 | 0xA9) => None,
            Place::Within20 => Place::Within { n_left: 1, low: 0x80, high: 0xBF }.next(alphabet, byte),
            Place::Within { low, high, .. } if byte < low || byte > high => None,
            Place::Within { n_left: 1, .. } => Some(Place::Between),
            Place::Within { n_left, .. } => Some(Place::Within { n_left: n_left - 1, low: 0x80, high: 0xBF }),
        }
    }
}

/// Returns how many bytes follow a leading byte, and the range of the first (Unicode 16, table 3-7).
pub(crate) fn lead(byte: u8) -> Option<(u8, u8, u8)> {
    match byte {
        0xC2..=0xDF => Some((1, 0x80, 0xBF)),
        0xE0 => Some((2, 0xA0, 0xBF)),
        0xE1..=0xEC | 0xEE..=0xEF => Some((2, 0x80, 0xBF)),
        0xED => Some((2, 0x80, 0x9F)),
        0xF0 => Some((3, 0x90, 0xBF)),
        0xF1..=0xF3 => Some((3, 0x80, 0xBF)),
        0xF4 => Some((3, 0x80, 0x8F)),
        _ => None,
    }
}

/// After how many new regions their memory is counted.
const COUNTED_EACH: usize = 16;

/// The regions of a vocabulary that were asked for.
#[derive(Debug, Default)]
pub(super) struct Regions {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_key: AHashMap<(Alphabet, u32), Arc<Region>>,
}

impl Kept {
    /// Returns the memory of all regions; it grows with what is asked of them.
    fn bytes(&self) -> usize {
        self.by_key.values().map(|region| region.memory_bytes()).sum()
    }
}

impl Regions {
    pub fn get(&self, trie: &Trie, alphabet: Alphabet, from: u32) -> Arc<Region> {
        let key = (alphabet, from);
        if let Some(region) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).by_key.get(&key) {
            return Arc::clone(region);
        }
        // Two threads may find the same region; one of them is kept.
        let region = Arc::new(Region::new(trie, alphabet, from));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // PERF: regions grow while they are used, so that what they take must be counted anew; now and then is enough.
        if kept.by_key.len().is_multiple_of(COUNTED_EACH) && kept.bytes() + region.memory_bytes() > REGION_BYTES_MAX {
            *kept = Kept::default();
        }
        Arc::clone(kept.by_key.entry(key).or_insert(region))
    }

    pub fn memory_bytes(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Vocab;
    use super::*;
    use std::collections::BTreeSet;

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
        for others in [Others::None, Others::All, Others::NoSeparators] {
            let alphabet = Alphabet { ascii: 1 << b'a' | 1 << b'b', others };
            for from in [vec![], b"a".to_vec(), b"ab".to_vec()] {
                let node = trie.find(&from).unwrap();
                let region = vocab.region(alphabet, node);
                let in_region = |text: &[u8]| {
                    let mut place = Place::Between;
                    text.iter().all(|&byte| match place.next(alphabet, byte) {
                        Some(next) => {
                            place = next;
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
                let quotes: BTreeSet<u32> = region.border(b'"').iter().copied().collect();
                let expected: BTreeSet<u32> = tokens
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

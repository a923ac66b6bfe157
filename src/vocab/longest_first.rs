//! The tokens by their lengths, each with the kinds of its bytes: those that may be refused somewhere are found without a walk where few are long enough, or have what it takes.

use super::TokenId;
use super::trie::byte_bit;

/// The kinds of bytes: [`byte_bit`]s.
const N_KINDS: usize = u64::BITS as usize;

/// Places of which one word tells.
const PLACES_PER_BLOCK: usize = u64::BITS as usize;

/// The text tokens with at least one byte, longest first.
#[derive(Debug)]
pub(crate) struct LongestFirst {
    tokens: Box<[TokenId]>,
    /// By kind of bytes, and there by [`PLACES_PER_BLOCK`] places: which of these have tokens with such a byte.
    kinds: Box<[u64]>,
    /// By a number of bytes: how many tokens are longer.
    n_longer: Box<[u32]>,
}

impl LongestFirst {
    pub(super) fn of<'a>(tokens: impl Iterator<Item = (TokenId, &'a [u8])> + Clone) -> LongestFirst {
        let len_max = tokens.clone().map(|(_, bytes)| bytes.len()).max().unwrap_or(0);
        let mut n_longer = vec![0u32; len_max + 1];
        for (_, bytes) in tokens.clone().filter(|(_, bytes)| !bytes.is_empty()) {
            n_longer[bytes.len() - 1] += 1;
        }
        (0..len_max).rev().for_each(|len| n_longer[len] += n_longer[len + 1]);
        let n_tokens = n_longer[0] as usize;
        let (mut ids, mut next) = (vec![0; n_tokens], n_longer.clone());
        let n_blocks = n_tokens.div_ceil(PLACES_PER_BLOCK);
        let mut kinds = vec![0; N_KINDS * n_blocks];
        for (id, bytes) in tokens.filter(|(_, bytes)| !bytes.is_empty()) {
            let place = &mut next[bytes.len()];
            let at = *place as usize;
            ids[at] = id;
            for &byte in bytes {
                let kind = byte_bit(byte).trailing_zeros() as usize;
                kinds[kind * n_blocks + at / PLACES_PER_BLOCK] |= 1 << (at % PLACES_PER_BLOCK);
            }
            *place += 1;
        }
        LongestFirst { tokens: ids.into(), kinds: kinds.into(), n_longer: n_longer.into() }
    }

    /// Returns the number of tokens of more than so many bytes.
    pub fn n_longer(&self, len: usize) -> usize {
        self.n_longer.get(len).map_or(0, |&n| n as usize)
    }

    /// Returns the tokens of more than so many bytes, longest first.
    pub fn longer(&self, len: usize) -> &[TokenId] {
        &self.tokens[..self.n_longer(len)]
    }

    /// Adds to `found` tokens of more than so many bytes that have bytes of all kinds of some of these sets, longest first, until they are more than `found_max`.
    ///
    /// A look at 64 tokens takes some steps for each kind of the sets.
    pub fn add_with_kinds(&self, len: usize, sets: &[u64], found_max: usize, found: &mut Vec<TokenId>) {
        let n_blocks = self.tokens.len().div_ceil(PLACES_PER_BLOCK);
        for (block, tokens) in self.longer(len).chunks(PLACES_PER_BLOCK).enumerate() {
            let are_here = u64::MAX >> (PLACES_PER_BLOCK - tokens.len());
            let of_kind = |kind: usize| self.kinds[kind * n_blocks + block];
            let of_set = |&set: &u64| bits_of(set).fold(are_here, |places, kind| places & of_kind(kind));
            let places = sets.iter().fold(0, |places, set| places | of_set(set));
            found.extend(bits_of(places).map(|place| tokens[place]));
            if found.len() > found_max {
                return;
            }
        }
    }

    /// Returns how much memory it takes, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.tokens) + size_of_val(&*self.kinds) + size_of_val(&*self.n_longer)
    }
}

/// Returns the bits of a word that are set, ascending.
fn bits_of(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_by_their_lengths() {
        let all: [&[u8]; 5] = [b"b", b"", b"abc", b"a", b"9Z"];
        let found = LongestFirst::of((0..).zip(all));
        let kinds = |text: &[u8]| text.iter().fold(0, |kinds, &byte| kinds | byte_bit(byte));
        let longer = |len: usize, sets: &[&[u8]]| {
            let mut tokens = Vec::new();
            found.add_with_kinds(len, &sets.iter().map(|set| kinds(set)).collect::<Vec<_>>(), usize::MAX, &mut tokens);
            tokens
        };
        assert_eq!((longer(1, &[b""]), longer(0, &[b"b"])), (vec![2, 4], vec![2, 0]));
        assert_eq!((longer(0, &[b"Z9", b"ac"]), longer(0, &[])), (vec![2, 4], vec![]));
        assert_eq!((longer(0, &[b"ab"]), longer(0, &[b"bZ", b"a"])), (vec![2], vec![2, 3]));
        assert_eq!([0, 1, 2, 3, 9].map(|len| found.n_longer(len)), [4, 2, 1, 0, 0]);
        assert_eq!(LongestFirst::of([].into_iter()).n_longer(0), 0);
    }
}

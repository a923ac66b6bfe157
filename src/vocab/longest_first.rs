//! The tokens by their lengths, each with the kinds of its bytes: those that may be refused somewhere are found without a walk where few are long enough, or have what it takes.

use super::TokenId;
use super::trie::byte_bit;

/// The text tokens with at least one byte, longest first.
#[derive(Debug)]
pub(crate) struct LongestFirst {
    tokens: Box<[TokenId]>,
    /// By place: the set of the token's bytes, as [`byte_bit`]s.
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
        let (mut ids, mut kinds, mut next) = (vec![0; n_tokens], vec![0; n_tokens], n_longer.clone());
        for (id, bytes) in tokens.filter(|(_, bytes)| !bytes.is_empty()) {
            let place = &mut next[bytes.len()];
            ids[*place as usize] = id;
            kinds[*place as usize] = bytes.iter().fold(0, |kinds, &byte| kinds | byte_bit(byte));
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
    pub fn add_with_kinds(&self, len: usize, sets: &[u64], found_max: usize, found: &mut Vec<TokenId>) {
        // So many that a look at all of them costs little more than at one.
        const BLOCK: usize = 32;
        let n = self.n_longer(len);
        let has_all = |kinds: u64, set: u64| kinds & set == set;
        for (tokens, kinds) in self.tokens[..n].chunks(BLOCK).zip(self.kinds[..n].chunks(BLOCK)) {
            let is_any = |&set: &u64| kinds.iter().fold(false, |is_any, &kinds| is_any | has_all(kinds, set));
            if !sets.iter().any(is_any) {
                continue;
            }
            let has_one = |kinds: u64| sets.iter().any(|&set| has_all(kinds, set));
            found.extend(tokens.iter().zip(kinds).filter(|(_, kinds)| has_one(**kinds)).map(|(&token, _)| token));
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
        assert_eq!([0, 1, 2, 3, 9].map(|len| found.n_longer(len)), [4, 2, 1, 0, 0]);
        assert_eq!(LongestFirst::of([].into_iter()).n_longer(0), 0);
    }
}

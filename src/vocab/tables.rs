//! What masks look up about tokens, made with the vocabulary so that no step waits for it.

use super::longest_first::LongestFirst;
use super::punctuation::{PunctuatedTokens, Punctuation, PunctuationBelow};
use super::quoted::QuotedStrings;
use super::token::{TokenId, TokenKind};
use super::trie::Trie;
use crate::util::bit_row;

/// The tables of a vocabulary.
pub(super) struct TokenTables {
    /// By node of the trie: the set of the bytes below it, as [`byte_bit`](super::byte_bit)s.
    pub bytes_below: Box<[u64]>,
    pub punctuation: PunctuationBelow,
    pub punctuated_tokens: PunctuatedTokens,
    pub longest_first: LongestFirst,
    pub quoted_strings: QuotedStrings,
    /// The row of all tokens but padding.
    pub any_token_row: Box<[u32]>,
}

impl TokenTables {
    /// Makes the tables of the tokens `bytes[starts[id]..starts[id + 1]]`, which are those of the trie, and of others without bytes.
    pub fn of(trie: &Trie, bytes: &[u8], starts: &[u32], kinds: &[TokenKind]) -> TokenTables {
        let ranges = || (0..).zip(starts.windows(2).map(|pair| pair[0] as usize..pair[1] as usize));
        let mut any_token_row = vec![0; bit_row::n_words(kinds.len())];
        let tokens = (0..).zip(kinds).filter(|(_, kind)| **kind != TokenKind::Padding);
        tokens.for_each(|(token, _)| bit_row::set(&mut any_token_row, token));
        TokenTables {
            bytes_below: trie.bytes_below(),
            punctuation: PunctuationBelow::of(trie),
            punctuated_tokens: PunctuatedTokens::of(tokens_with(bytes, starts, Punctuation::is_listed)),
            longest_first: LongestFirst::of(ranges().map(|(token, range)| (token, &bytes[range]))),
            quoted_strings: QuotedStrings::of(kinds.len(), tokens_with(bytes, starts, |byte| byte == b'"')),
            any_token_row: any_token_row.into(),
        }
    }

    /// Returns how much memory they take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.bytes_below)
            + self.punctuation.memory_bytes()
            + self.punctuated_tokens.memory_bytes()
            + self.longest_first.memory_bytes()
            + self.quoted_strings.memory_bytes()
            + size_of_val(&*self.any_token_row)
    }
}

/// Returns the tokens that have one of some bytes, in the order of their numbers, each with all of its bytes.
fn tokens_with<'a>(
    bytes: &'a [u8],
    starts: &[u32],
    is_wanted: impl Fn(u8) -> bool,
) -> impl Iterator<Item = (TokenId, &'a [u8])> {
    // Most tokens are left by one comparison with the place of the next such byte.
    let mut next = position_from(bytes, 0, &is_wanted);
    let ranges = starts.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
    (0..).zip(ranges).filter_map(move |(token, range)| {
        let has_one = next < range.end;
        if has_one {
            next = position_from(bytes, range.end, &is_wanted);
        }
        has_one.then(|| (token, &bytes[range]))
    })
}

/// Returns where the first byte of some kind stands from a place on, or the end of all bytes.
fn position_from(bytes: &[u8], start: usize, is_wanted: impl Fn(u8) -> bool) -> usize {
    // Compared all at once.
    const AT_ONCE: usize = 64;
    let mut at = start;
    while let Some(chunk) = bytes[at..].first_chunk::<AT_ONCE>()
        && !chunk.iter().fold(false, |is_found, &byte| is_found | is_wanted(byte))
    {
        at += AT_ONCE;
    }
    bytes[at..].iter().position(|&byte| is_wanted(byte)).map_or(bytes.len(), |n_before| at + n_before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn tokens_with_a_byte_are_those_that_contain_it() {
        let mut rng = Rng::new(3);
        for _ in 0..100 {
            let token = |rng: &mut Rng| -> Vec<u8> {
                let letters = if rng.below(3) == 0 { b"a,b\"" } else { b"abcd" };
                (0..1 + rng.below(70)).map(|_| letters[rng.below(4)]).collect()
            };
            let tokens: Vec<Vec<u8>> = (0..1 + rng.below(40)).map(|_| token(&mut rng)).collect();
            let ends = tokens.iter().scan(0, |end, token| {
                *end += token.len() as u32;
                Some(*end)
            });
            let starts: Vec<u32> = core::iter::once(0).chain(ends).collect();
            let bytes = tokens.concat();
            let is_wanted = |byte: u8| matches!(byte, b',' | b'"');
            let found: Vec<(TokenId, &[u8])> = tokens_with(&bytes, &starts, is_wanted).collect();
            let all = (0..).zip(tokens.iter().map(Vec::as_slice));
            let wanted = all.filter(|(_, token)| token.iter().any(|&byte| is_wanted(byte)));
            assert_eq!(found, wanted.collect::<Vec<_>>(), "{tokens:?}");
        }
    }
}

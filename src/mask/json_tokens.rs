//! Tokens of a vocabulary by the JSON that they may hold: which of them can begin, end or repeat a key or an item.

use crate::automaton::ReservedTokens;
use crate::machine::Reserved;
use crate::vocab::{TokenId, Vocab};
use ahash::AHashMap;
use smallvec::SmallVec;

/// Calls `visit` with all that may be a key in some bytes, what stands between two quotes, with the second, and with what stands before it; quotes
/// within are escaped.
fn for_each_quoted<'a>(bytes: &'a [u8], mut visit: impl FnMut(&'a [u8], &'a [u8])) {
    for (open, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
        let mut at = open + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    visit(&bytes[open + 1..=at], &bytes[..open]);
                    break;
                }
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }
}

/// Tokens that may hold a whole element or the beginning of one, where elements are compared.
#[derive(Debug)]
pub(crate) struct ElementTokens {
    /// By what stands between two quotes in them, with the second; and the longest such piece, in bytes.
    pub by_key: AHashMap<Box<[u8]>, Vec<TokenId>>,
    key_bytes_max: usize,
    /// Those in which the same stands between quotes twice.
    pub twice: Box<[TokenId]>,
    /// By what was read of a key, without its opening quote: those that may end it, and hold it whole once more behind that. And the longest such
    /// beginning, in bytes.
    ending_twice: AHashMap<Box<[u8]>, Vec<TokenId>>,
    ending_twice_bytes_max: usize,
    /// Those with two quotes.
    pub quoted: Box<[TokenId]>,
    /// Those with a quote and a comma.
    pub separating: Box<[TokenId]>,
    /// Those with a quote, or with a byte that may stand behind a value: white space, a comma, a closing bracket or brace.
    pub ending: Box<[TokenId]>,
    /// Those with such a byte, other than a quote, behind one that is no white space.
    pub ending_whole: Box<[TokenId]>,
    /// Those with a closing bracket or brace, and those with a quote before it.
    pub closing: Box<[TokenId]>,
    pub closing_quoted: Box<[TokenId]>,
    /// Those with a closing bracket or brace, a comma behind it, and more; and those with a quote before.
    pub closing_on: Box<[TokenId]>,
    pub closing_on_quoted: Box<[TokenId]>,
    /// Those with a quote, a comma behind it, and what may be a whole item behind that.
    pub string_on: Box<[TokenId]>,
    /// By what stands behind a quote in them, up to their end, and the length of the longest such piece, in bytes.
    pub by_begun_key: AHashMap<Box<[u8]>, Vec<TokenId>>,
    pub begun_bytes_max: usize,
    /// The most closing brackets and braces before a quote in one of them.
    pub closed_before_key_max: usize,
    /// Those that may hold two elements of a container that begins within: an opening bracket or brace, and a comma behind.
    pub opening: Box<[TokenId]>,
    /// Those of them with a quote before the bracket or brace.
    pub opening_quoted: Box<[TokenId]>,
    /// Those with a quote, and the place of the first.
    pub with_quote: Box<[(TokenId, u32)]>,
    /// Those that begin with a quote, as a mask.
    begins_with_quote: Box<[u32]>,
    /// Those with a backslash.
    pub escaping: Box<[TokenId]>,
    /// Those with an opening bracket.
    pub brackets: Box<[TokenId]>,
    /// Those of them with a quote before the bracket.
    pub brackets_quoted: Box<[TokenId]>,
    /// Those in which a container begins, first or behind a comma.
    pub containers: Box<[TokenId]>,
}

impl ElementTokens {
    /// Finds the tokens of a vocabulary.
    pub fn of(vocab: &Vocab) -> ElementTokens {
        let with = |test: &dyn Fn(&[u8]) -> bool| {
            (0..vocab.n_tokens() as TokenId).filter(|&token| test(vocab.bytes(token))).collect()
        };
        let n_quotes = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'"').count();
        let mut by_key: AHashMap<Box<[u8]>, Vec<TokenId>> = AHashMap::new();
        let mut twice: Vec<TokenId> = Vec::new();
        for token in (0..vocab.n_tokens() as TokenId).filter(|&token| n_quotes(vocab.bytes(token)) >= 2) {
            let mut keys: Vec<&[u8]> = Vec::new();
            for_each_quoted(vocab.bytes(token), |key, _| keys.push(key));
            keys.sort_unstable();
            if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                twice.push(token);
            }
            keys.dedup();
            keys.into_iter().for_each(|key| by_key.entry(key.into()).or_default().push(token));
        }
        let mut ending_twice: AHashMap<Box<[u8]>, Vec<TokenId>> = AHashMap::new();
        for token in (0..vocab.n_tokens() as TokenId).filter(|&token| n_quotes(vocab.bytes(token)) >= 3) {
            let bytes = vocab.bytes(token);
            for (end, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
                // Between two keys of an object stands a comma.
                for_each_quoted(&bytes[end + 1..], |key, before| {
                    if let Some(begun) = key[..key.len() - 1].strip_suffix(&bytes[..end])
                        && before.trim_ascii_end().ends_with(b",")
                    {
                        ending_twice.entry(begun.into()).or_default().push(token);
                    }
                });
            }
        }
        let is_behind = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b']' | b'}');
        let mut by_begun_key: AHashMap<Box<[u8]>, Vec<TokenId>> = AHashMap::new();
        for token in 0..vocab.n_tokens() as TokenId {
            let bytes = vocab.bytes(token);
            for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
                by_begun_key.entry(bytes[at + 1..].into()).or_default().push(token);
            }
        }
        // What a string leaves of a token: nothing ends or begins before its quote.
        let first_quote = |bytes: &[u8]| -> Option<usize> { bytes.iter().position(|&byte| byte == b'"') };
        let closes = |bytes: &[u8]| bytes.iter().any(|byte| matches!(byte, b'}' | b']'));
        let closes_and_goes_on = |bytes: &[u8]| {
            let close = bytes.iter().position(|byte| matches!(byte, b'}' | b']'));
            let comma = close.and_then(|close| Some(close + bytes[close..].iter().position(|&byte| byte == b',')?));
            comma.is_some_and(|comma| !bytes[comma + 1..].trim_ascii().is_empty())
        };
        // Quotes may be escaped and commas be within a string, so that any may count.
        let goes_on_behind_string = |bytes: &[u8]| {
            let quote = first_quote(bytes).unwrap_or(bytes.len());
            let commas = (quote..bytes.len()).filter(|&place| bytes[place] == b',');
            commas.into_iter().any(|comma| match bytes[comma + 1..].trim_ascii_start() {
                [b'"', rest @ ..] => rest.contains(&b'"'),
                [_, rest @ ..] => rest.iter().any(is_behind),
                [] => false,
            })
        };
        let behind_quote =
            |bytes: &[u8], test: &dyn Fn(&[u8]) -> bool| first_quote(bytes).is_some_and(|quote| test(&bytes[quote..]));
        let opens = |bytes: &[u8]| {
            let open = bytes.iter().position(|byte| matches!(byte, b'{' | b'['));
            open.is_some_and(|open| bytes[open..].contains(&b','))
        };
        let begins_container = |bytes: &[u8]| {
            let is_open = |byte: &u8| matches!(byte, b'{' | b'[');
            let comma = bytes.iter().position(|&byte| byte == b',');
            bytes.trim_ascii_start().first().is_some_and(is_open)
                || comma.is_some_and(|comma| bytes[comma..].iter().any(is_open))
        };
        let n_closed_before_key = |bytes: &[u8]| {
            let quote = bytes.iter().rposition(|&byte| byte == b'"').unwrap_or(0);
            bytes[..quote].iter().filter(|byte| matches!(byte, b'}' | b']')).count()
        };
        let quote_of = |token: TokenId| Some((token, first_quote(vocab.bytes(token))? as u32));
        let mut begins_with_quote = vec![0u32; vocab.n_mask_words()];
        for token in (0..vocab.n_tokens()).filter(|&token| vocab.bytes(token as TokenId).first() == Some(&b'"')) {
            begins_with_quote[token / 32] |= 1 << (token % 32);
        }
        ElementTokens {
            begins_with_quote: begins_with_quote.into(),
            with_quote: (0..vocab.n_tokens() as TokenId).filter_map(quote_of).collect(),
            escaping: with(&|bytes| bytes.contains(&b'\\')),
            brackets: with(&|bytes| bytes.contains(&b'[')),
            containers: with(&begins_container),
            begun_bytes_max: by_begun_key.keys().map(|key| key.len()).max().unwrap_or(0),
            closed_before_key_max: (0..vocab.n_tokens() as TokenId)
                .map(|token| n_closed_before_key(vocab.bytes(token)))
                .max()
                .unwrap_or(0),
            by_begun_key,
            closing_quoted: with(&|bytes| behind_quote(bytes, &closes)),
            closing_on_quoted: with(&|bytes| behind_quote(bytes, &closes_and_goes_on)),
            opening_quoted: with(&|bytes| behind_quote(bytes, &opens)),
            brackets_quoted: with(&|bytes| behind_quote(bytes, &|bytes| bytes.contains(&b'['))),
            ending: with(&|bytes| bytes.iter().any(|byte| *byte == b'"' || is_behind(byte))),
            ending_whole: with(&|bytes| bytes.trim_ascii_start().iter().skip(1).any(is_behind)),
            key_bytes_max: by_key.keys().map(|key| key.len()).max().unwrap_or(0),
            by_key,
            twice: twice.into(),
            ending_twice_bytes_max: ending_twice.keys().map(|begun| begun.len()).max().unwrap_or(0),
            ending_twice,
            quoted: with(&|bytes| n_quotes(bytes) >= 2),
            opening: with(&opens),
            separating: with(&|bytes| n_quotes(bytes) > 0 && bytes.contains(&b',')),
            closing: with(&closes),
            closing_on: with(&closes_and_goes_on),
            string_on: with(&goes_on_behind_string),
        }
    }

    /// Clears the bits of the tokens that begin with a quote.
    pub fn clear_quotes(&self, row: &mut [u32]) {
        // PERF: these are many.
        row.iter_mut().zip(&self.begins_with_quote).for_each(|(word, quoted)| *word &= !quoted);
    }

    /// Returns the tokens that may end a key of which `n_bytes` bytes were read, the opening quote included, and hold it whole once more.
    pub fn ending_twice(&self, n_bytes: usize, begun: impl FnOnce() -> SmallVec<[u8; 64]>) -> &[TokenId] {
        // PERF: hardly a token has the three quotes that it takes, and those tokens hold short keys.
        if n_bytes > self.ending_twice_bytes_max + 1 {
            return &[];
        }
        begun().get(1..).and_then(|begun| self.ending_twice.get(begun)).map_or(&[], |tokens| tokens)
    }

    /// Returns the tokens that have to do with some keys, which have both quotes.
    pub fn of_keys(&self, keys: &Reserved) -> ReservedTokens {
        // PERF: most keys are longer than what hardly a token holds.
        let rests = keys.iter().filter_map(|key| key.get(1..)).filter(|rest| rest.len() <= self.key_bytes_max);
        ReservedTokens::new(sorted(rests.flat_map(|rest| self.by_key.get(rest).into_iter().flatten().copied())))
    }

    /// Returns the tokens that begin with what some keys are behind their first quote.
    pub fn beginning(vocab: &Vocab, keys: &Reserved) -> Box<[TokenId]> {
        let trie = vocab.trie();
        let nodes = keys.iter().filter_map(|key| trie.find(key.get(1..)?));
        sorted(nodes.flat_map(|node| trie.subtree_tokens(node).iter().copied()))
    }
}

/// Returns some tokens in order, each once.
fn sorted(tokens: impl Iterator<Item = TokenId>) -> Box<[TokenId]> {
    let mut tokens: Vec<TokenId> = tokens.collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.into()
}

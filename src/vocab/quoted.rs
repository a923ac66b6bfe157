//! Tokens by the quoted strings that they hold: which can repeat a key of an object as a whole, beginning and end.

use super::token::TokenId;
use crate::util::bit_row;
use ahash::AHashMap;

/// The tokens of a vocabulary that hold quoted strings.
#[derive(Debug)]
pub(crate) struct QuotedStrings {
    /// By string, with its closing quote and without the opening one.
    holding: AHashMap<Box<[u8]>, Vec<TokenId>>,
    string_bytes_max: usize,
    /// Tokens that hold the same string twice.
    holding_twice: Box<[TokenId]>,
    /// Tokens that begin an object and hold a string behind that: perhaps a key of the object.
    opening_and_holding: Box<[TokenId]>,
    /// By prefix of a string, without the opening quote: tokens that end the string and hold it once more, whole, behind a comma.
    ending_and_holding: AHashMap<Box<[u8]>, Vec<TokenId>>,
    prefix_bytes_max: usize,
    /// Tokens that begin with a quote, as a mask.
    begins_with_quote: Box<[u32]>,
    /// Tokens with a quote, with the number of bytes from their first one on; the most bytes first.
    open: Box<[(u32, TokenId)]>,
    /// The most closing brackets and braces before a quote in one token.
    n_closed_before_quote_max: usize,
}

/// Calls `visit` with each string between two quotes, its closing quote included, and with what stands before it. Any quote may be the opening one.
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

impl QuotedStrings {
    /// Looks at the tokens that have a quote, in the order of their numbers, each with its bytes; the vocabulary has `n_tokens`.
    pub fn of<'a>(n_tokens: usize, tokens: impl Iterator<Item = (TokenId, &'a [u8])>) -> QuotedStrings {
        let mut found = QuotedStrings {
            holding: AHashMap::new(),
            string_bytes_max: 0,
            holding_twice: Box::new([]),
            opening_and_holding: Box::new([]),
            ending_and_holding: AHashMap::new(),
            prefix_bytes_max: 0,
            begins_with_quote: vec![0; bit_row::n_words(n_tokens)].into(),
            open: Box::new([]),
            n_closed_before_quote_max: 0,
        };
        let (mut holding_twice, mut open, mut opening_and_holding) = (Vec::new(), Vec::new(), Vec::new());
        for (token, bytes) in tokens {
            let Some(last_quote) = bytes.iter().rposition(|&byte| byte == b'"') else { continue };
            if bytes[0] == b'"' {
                bit_row::set(&mut found.begins_with_quote, token);
            }
            let n_closed = bytes[..last_quote].iter().filter(|byte| matches!(byte, b'}' | b']')).count();
            found.n_closed_before_quote_max = found.n_closed_before_quote_max.max(n_closed);
            let first_quote = bytes.iter().position(|&byte| byte == b'"').unwrap_or(last_quote);
            open.push(((bytes.len() - first_quote) as u32, token));
            let mut strings: Vec<&[u8]> = Vec::new();
            let mut opens = false;
            for_each_quoted(bytes, |string, before| {
                strings.push(string);
                opens |= before.contains(&b'{');
            });
            if opens {
                opening_and_holding.push(token);
            }
            strings.sort_unstable();
            if strings.windows(2).any(|pair| pair[0] == pair[1]) {
                holding_twice.push(token);
            }
            strings.dedup();
            for string in strings {
                found.string_bytes_max = found.string_bytes_max.max(string.len());
                found.holding.entry(string.into()).or_default().push(token);
            }
            found.add_ending_and_holding(token, bytes);
        }
        found.holding_twice = holding_twice.into();
        found.opening_and_holding = opening_and_holding.into();
        open.sort_unstable_by(|a, b| b.cmp(a));
        found.open = open.into();
        found
    }

    fn add_ending_and_holding(&mut self, token: TokenId, bytes: &[u8]) {
        for (end, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
            for_each_quoted(&bytes[end + 1..], |string, before| {
                let is_next_key = before.trim_ascii_end().ends_with(b",");
                if let Some(prefix) = string[..string.len() - 1].strip_suffix(&bytes[..end]).filter(|_| is_next_key) {
                    self.prefix_bytes_max = self.prefix_bytes_max.max(prefix.len());
                    self.ending_and_holding.entry(prefix.into()).or_default().push(token);
                }
            });
        }
    }

    /// Returns the tokens that hold a string whole, given with its closing quote and without the opening one.
    pub fn holding(&self, string: &[u8]) -> &[TokenId] {
        // Most keys are longer than what any token holds, and then nothing is hashed.
        match string.len() <= self.string_bytes_max {
            true => self.holding.get(string).map_or(&[], |tokens| tokens),
            false => &[],
        }
    }

    /// Returns the tokens that begin an object and hold a string behind that, which may be a key of the object.
    ///
    /// There are none in `cl100k_base` and `o200k_base`.
    pub fn opening_and_holding(&self) -> &[TokenId] {
        &self.opening_and_holding
    }

    /// Returns the tokens that hold the same string twice.
    pub fn holding_twice(&self) -> &[TokenId] {
        &self.holding_twice
    }

    /// Returns the tokens that may end within a string of which they hold at least `n_bytes`, the opening quote included.
    pub fn open_for(&self, n_bytes: u32) -> impl Iterator<Item = TokenId> + '_ {
        self.open.iter().take_while(move |(n_open, _)| *n_open >= n_bytes).map(|&(_, token)| token)
    }

    /// Returns the tokens that may end a string of which a prefix was read, `n_bytes` long without the opening quote, and hold it once more.
    pub fn ending_and_holding<T: AsRef<[u8]>>(&self, n_bytes: usize, prefix: impl FnOnce() -> T) -> &[TokenId] {
        // Hardly a token has the three quotes that it takes, and those hold short strings.
        match n_bytes <= self.prefix_bytes_max {
            true => self.ending_and_holding.get(prefix().as_ref()).map_or(&[], |tokens| tokens),
            false => &[],
        }
    }

    /// Clears the bits of the tokens that begin with a quote: a thousand of them, as a mask.
    pub fn clear_beginning_with_quote(&self, row: &mut [u32]) {
        row.iter_mut().zip(&self.begins_with_quote).for_each(|(word, quoted)| *word &= !quoted);
    }

    /// Returns the most closing brackets and braces before a quote in one token: no token holds a key of an object further out.
    pub fn n_closed_before_quote_max(&self) -> usize {
        self.n_closed_before_quote_max
    }

    /// Returns about how much memory this takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let of = |map: &AHashMap<Box<[u8]>, Vec<TokenId>>| {
            let entries = map.iter().map(|(key, tokens)| key.len() + 4 * tokens.capacity());
            entries.sum::<usize>() + map.capacity() * size_of::<(Box<[u8]>, Vec<TokenId>)>()
        };
        let lists = 4 * (self.holding_twice.len() + self.opening_and_holding.len() + self.begins_with_quote.len())
            + size_of_val(&*self.open);
        of(&self.holding) + of(&self.ending_and_holding) + lists
    }
}

//! Sets of tokens as letters: all tokens but some.
//!
//! A place that reads any token but a few has most of the vocabulary to read, so a set is one letter of the alphabet and not an edge for each of its tokens. The letters of a
//! grammar are indices of one list, which all of its automata share. What tokens there are is known where masks are made; here a set is what it excludes.

/// Tokens as ranges of ids, ascending, with gaps between them, both ends included.
pub(crate) type TokenRanges = Box<[(u32, u32)]>;

/// The sets of tokens that a grammar reads, each by the tokens that are not in it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct TokenSets {
    /// By set.
    excluded: Vec<TokenRanges>,
}

impl TokenSets {
    /// Adds a set; returns its index.
    pub fn add(&mut self, excluded: TokenRanges) -> u32 {
        self.excluded.push(excluded);
        self.excluded.len() as u32 - 1
    }

    pub fn is_empty(&self) -> bool {
        self.excluded.is_empty()
    }

    /// Returns the ranges of tokens that are not in a set.
    pub fn excluded(&self, set: u32) -> &[(u32, u32)] {
        &self.excluded[set as usize]
    }

    /// Tells whether a token is in a set.
    #[inline]
    pub fn contains(&self, set: u32, token: u32) -> bool {
        let excluded = self.excluded(set);
        let at = excluded.partition_point(|&(_, high)| high < token);
        excluded.get(at).is_none_or(|&(low, _)| token < low)
    }

    pub fn memory_bytes(&self) -> usize {
        self.excluded.iter().map(|ranges| size_of_val(&**ranges) + size_of::<TokenRanges>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_what_it_does_not_exclude() {
        let mut sets = TokenSets::default();
        let first = sets.add([(1, 1), (3, 7)].into());
        let all = sets.add([].into());
        assert_eq!((first, all), (0, 1));
        assert_eq!((0..10).filter(|&token| sets.contains(first, token)).collect::<Vec<_>>(), [0, 2, 8, 9]);
        assert!((0..10).all(|token| sets.contains(all, token)));
    }
}

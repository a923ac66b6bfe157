//! Remainders: places in the vocabulary where a unit ends inside a token, and the caller decides on what follows.

use crate::vocab::{CharCount, Region, TokenId, Trie, TrieNode};
use std::sync::Arc;

/// A place in the vocabulary where the unit ends inside a token: what follows is up to the caller.
#[derive(Clone, Debug)]
pub(crate) struct Remainder {
    pub point: ResumePoint,
    /// Tokens beyond the place that the caller does not decide on, ascending.
    pub excluded: Option<Arc<[TokenId]>>,
}

impl Remainder {
    /// Returns the merged trie that the place is in, if it is in one.
    pub(super) fn merged(&self) -> Option<&Arc<Trie>> {
        match &self.point {
            ResumePoint::Merged(trie, _) => Some(trie),
            _ => None,
        }
    }
}

/// A place in the vocabulary.
#[derive(Clone, Debug)]
pub(crate) enum ResumePoint {
    /// Below this node of the vocabulary's trie.
    Node(TrieNode),
    /// Below this node of what was merged behind a region.
    Merged(Arc<Trie>, TrieNode),
    /// After some characters of a region, anywhere.
    Region(Arc<Region>, CharCount),
}

impl From<ResumePoint> for Remainder {
    fn from(point: ResumePoint) -> Self {
        Remainder { point, excluded: None }
    }
}

/// Keeps some tokens, ascending, out of what becomes of remainders.
pub(super) fn exclude(remainders: &mut [Remainder], tokens: &Arc<[TokenId]>) {
    for remainder in remainders {
        remainder.excluded = Some(match &remainder.excluded {
            None => Arc::clone(tokens),
            Some(before) if Arc::ptr_eq(before, tokens) => continue,
            Some(before) => sorted([&**before, tokens].concat()),
        });
    }
}

/// Returns tokens ascending, each once.
pub(super) fn sorted<T: From<Vec<TokenId>>>(mut tokens: Vec<TokenId>) -> T {
    tokens.sort_unstable();
    tokens.dedup();
    tokens.into()
}

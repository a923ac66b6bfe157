//! What a walk is about: a program, and the trie of a vocabulary or of what was merged behind one of its regions.

use super::remainder::{Remainder, ResumePoint};
use crate::automaton::Program;
use crate::util::Threshold;
use crate::vocab::{Trie, TrieNode, Vocab};
use std::sync::Arc;

/// Fewest trie nodes below a node that make it worth to ask for a region.
const REGION_NODES: Threshold = Threshold::new(200);

/// Regions within regions, at most; below that the trie is walked.
pub(super) const REGIONS_DEEP_MAX: usize = 16;

/// What a walk is about. The trie is the vocabulary's, or what was merged behind a region.
#[derive(Clone, Copy)]
pub(super) struct WalkContext<'a> {
    pub program: &'a Program,
    pub vocab: &'a Vocab,
    pub trie: &'a Trie,
    pub(super) merged: Option<&'a Arc<Trie>>,
    /// Regions, heads and subwalks that the walk is within.
    nesting: usize,
}

impl<'a> WalkContext<'a> {
    /// Returns the context of a walk over a whole vocabulary.
    pub(super) fn new(program: &'a Program, vocab: &'a Vocab) -> Self {
        WalkContext { program, vocab, trie: vocab.trie(), merged: None, nesting: 0 }
    }

    /// Returns the same on another trie.
    pub(super) fn on<'b>(&'b self, merged: &'b Arc<Trie>) -> WalkContext<'b> {
        WalkContext { trie: merged, merged: Some(merged), ..*self }
    }

    /// Returns the same one level deeper.
    pub(super) fn deeper(self) -> Self {
        WalkContext { nesting: self.nesting + 1, ..self }
    }

    pub fn remainder(&self, node: TrieNode) -> Remainder {
        self.merged.map_or(ResumePoint::Node(node), |trie| ResumePoint::Merged(Arc::clone(trie), node)).into()
    }

    /// Tells whether it is worth to ask for a region below a node.
    pub(super) fn has_regions(&self, from: TrieNode) -> bool {
        self.is_whole() && self.n_nodes_below(from) >= REGION_NODES.get()
    }

    /// Tells whether the vocabulary is walked, and short cuts may still be taken.
    pub fn is_whole(&self) -> bool {
        self.merged.is_none() && self.nesting < REGIONS_DEEP_MAX
    }

    pub fn n_nodes_below(&self, node: TrieNode) -> usize {
        self.trie.n_nodes_at(node) - 1
    }
}

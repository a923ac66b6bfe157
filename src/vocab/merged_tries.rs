//! Tries that lie over one another ([`Trie::merged`]), found again by their nodes.
//!
//! What is merged is what may follow where a unit ends or a loop over characters is left: behind the closing quote of a string, say, of any string of any schema. In some 8,000
//! schemas some four hundred lists of nodes come up, most of them again and again.

use super::trie::{Trie, TrieNode};
use crate::util::BoundedMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most memory of the tries that a vocabulary keeps, in bytes.
const BYTES_MAX: usize = 8 << 20;

/// The merged tries of a vocabulary.
#[derive(Debug)]
pub(super) struct MergedTries {
    by_nodes: Mutex<BoundedMap<Box<[TrieNode]>, Arc<Trie>>>,
}

impl Default for MergedTries {
    fn default() -> Self {
        MergedTries { by_nodes: Mutex::new(BoundedMap::new(BYTES_MAX)) }
    }
}

impl MergedTries {
    /// Returns [`Trie::merged`] of these nodes.
    pub fn get(&self, trie: &Trie, nodes: &[TrieNode]) -> Arc<Trie> {
        if let Some(merged) = self.lock().get(nodes) {
            return merged;
        }
        // Two threads may make the same trie; the first one is kept.
        let merged = Arc::new(trie.merged(nodes));
        let bytes = merged.memory_bytes() + size_of_val(nodes);
        self.lock().insert(nodes.into(), bytes, Arc::clone(&merged));
        merged
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        self.lock().clear();
    }

    pub fn memory_bytes(&self) -> usize {
        self.lock().weight()
    }

    fn lock(&self) -> MutexGuard<'_, BoundedMap<Box<[TrieNode]>, Arc<Trie>>> {
        // Nothing panics half-way.
        self.by_nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Vocab;
    use super::*;

    #[test]
    fn a_merged_trie_is_made_once() {
        let vocab = Vocab::from_tokens(["\",", "\"}", "a\",", "a\"]", "\""]).unwrap();
        let trie = vocab.trie();
        let tries = MergedTries::default();
        let nodes = [trie.find(b"\"").unwrap(), trie.find(b"a\"").unwrap()];
        let merged = tries.get(trie, &nodes);
        let tokens_of = |text: &[u8]| merged.find(text).map(|node| merged.tokens(node));
        assert_eq!([&b"\","[..], b"\"}", b"\"]"].map(tokens_of), [Some(&[0, 2][..]), Some(&[1]), Some(&[3])]);
        assert!(Arc::ptr_eq(&tries.get(trie, &nodes), &merged) && tries.memory_bytes() > 0);
        assert!(!Arc::ptr_eq(&tries.get(trie, &nodes[..1]), &merged));
        tries.clear();
        assert!(!Arc::ptr_eq(&tries.get(trie, &nodes), &merged));
    }
}

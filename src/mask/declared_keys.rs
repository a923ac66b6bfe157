//! The tokens that can spell declared keys of objects: an additional property must not repeat one.

use super::remainder::sorted;
use crate::automaton::Program;
use crate::machine::DeclaredKeys;
use crate::vocab::{QuotedStrings, TokenId, Vocab};
use std::sync::OnceLock;

/// The tokens of a vocabulary that can spell the keys of one list.
#[derive(Debug)]
pub(crate) struct KeyTokens {
    /// Those that hold one of the keys whole, ascending.
    pub holding: Box<[TokenId]>,
    /// Those that begin with one of the keys behind its opening quote, ascending; once asked for.
    beginning: OnceLock<Box<[TokenId]>>,
}

impl KeyTokens {
    fn of(keys: &DeclaredKeys, strings: &QuotedStrings) -> KeyTokens {
        let holding = keys.iter().filter_map(|key| key.get(1..)).flat_map(|string| strings.holding(string));
        KeyTokens { holding: sorted(holding.copied().collect()), beginning: OnceLock::new() }
    }

    /// Returns the tokens that begin with one of the keys behind its opening quote, found at the first call.
    pub fn beginning(&self, keys: &DeclaredKeys, vocab: &Vocab) -> &[TokenId] {
        self.beginning.get_or_init(|| {
            let trie = vocab.trie();
            let nodes = keys.iter().filter_map(|key| trie.find(key.get(1..)?));
            sorted(nodes.flat_map(|node| trie.subtree_tokens(node).iter().copied()).collect())
        })
    }
}

/// The tokens for the declared keys of one grammar, found when a unit is first asked for.
#[derive(Debug)]
pub(crate) struct DeclaredKeyTokens {
    /// By unit of the program, and by list of the unit.
    by_unit: Box<[OnceLock<Box<[KeyTokens]>>]>,
}

impl DeclaredKeyTokens {
    pub fn of(program: &Program) -> DeclaredKeyTokens {
        let n_units = if program.has_distinct_values() { program.units().len() } else { 0 };
        DeclaredKeyTokens { by_unit: (0..n_units).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the tokens for each list of declared keys of a unit.
    pub fn of_unit(&self, program: &Program, index: usize, vocab: &Vocab) -> &[KeyTokens] {
        self.by_unit[index].get_or_init(|| {
            let lists = &program.units()[index].unit.content.declared_keys;
            lists.iter().map(|keys| KeyTokens::of(keys, vocab.quoted_strings())).collect()
        })
    }
}

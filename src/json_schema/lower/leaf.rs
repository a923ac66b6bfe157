//! Caches of rules across schemas: rules that call no others, the member rule (a colon and a value), and the rules of any JSON value.
//!
//! Schemas repeat each other: 98 % of the strings and numbers in real schemas occurred in an earlier one. The automaton of such a rule is
//! determined by a short *key*; for an equal key it is neither drafted nor trimmed nor built again.

use crate::json_schema::language::StringKey;
use crate::json_schema::shape::NumberShape;
use crate::pass::{FinishedNetwork, RuleAutomaton};
use crate::schema_options::{RootForm, SchemaOptions, Spelling, WhiteSpace};
use crate::util::BoundedMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The key of a rule: everything that its automaton depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum LeafKey {
    /// White space of at most this many characters.
    WhiteSpace(u32),
    /// One character in any spelling.
    Character,
    AnyString,
    /// The strings of some shapes.
    Strings {
        shapes: Vec<StringKey>,
        is_element: bool,
        spelling: Spelling,
    },
    Numbers {
        shapes: Vec<NumberShape>,
        is_element: bool,
        has_integer_fractions: bool,
    },
    /// Any key, with its quotes.
    AnyKey,
    /// A colon and a value, each after white space of at most this many characters. It calls the rule of white space, if some is allowed, and
    /// the rule of the value: of any value, since an automaton refers to the rules that it calls by position.
    Member(u32),
}

/// The key of the rules of any JSON value, for white space that does not depend on the nesting depth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AnyValueKey {
    white_space: WhiteSpace,
    has_integer_fractions: bool,
    /// The texts that no string has in it, and whether strings are written without escapes.
    excluded_texts: (Vec<Box<str>>, bool),
}

impl AnyValueKey {
    pub fn of(options: &SchemaOptions) -> Self {
        let SchemaOptions { white_space, has_integer_fractions, excluded_texts, root, .. } = options;
        let is_plain = matches!(root, RootForm::Text { .. });
        AnyValueKey {
            white_space: white_space.clone(),
            has_integer_fractions: *has_integer_fractions,
            excluded_texts: (excluded_texts.clone(), is_plain && !excluded_texts.is_empty()),
        }
    }
}

/// The rules of any JSON value, for the options used last.
#[derive(Debug, Default)]
pub(super) struct AnyValueStore {
    known: Mutex<VecDeque<(AnyValueKey, Arc<FinishedNetwork>)>>,
}

impl AnyValueStore {
    /// Most options whose rules are cached.
    const KEPT_MAX: usize = 16;

    pub fn find(&self, key: &AnyValueKey) -> Option<Arc<FinishedNetwork>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(known, _)| known == key).map(|(_, network)| Arc::clone(network))
    }

    pub fn keep(&self, key: AnyValueKey, network: &Arc<FinishedNetwork>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.truncate(Self::KEPT_MAX - 1);
        known.push_front((key, Arc::clone(network)));
    }
}

/// The automata of leaves.
#[derive(Debug)]
pub(super) struct LeafStore {
    known: Mutex<BoundedMap<LeafKey, Arc<RuleAutomaton>>>,
}

impl Default for LeafStore {
    fn default() -> Self {
        LeafStore { known: Mutex::new(BoundedMap::new(LeafStore::BYTES_MAX)) }
    }
}

impl LeafStore {
    /// Memory for automata, in bytes.
    const BYTES_MAX: usize = 16 << 20;

    pub fn find(&self, key: &LeafKey) -> Option<Arc<RuleAutomaton>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key)
    }

    pub fn keep(&self, key: LeafKey, automaton: &Arc<RuleAutomaton>) {
        let bytes = 2 * size_of::<LeafKey>() + key.memory_bytes() + automaton.memory_bytes();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, bytes, Arc::clone(automaton));
    }
}

impl LeafKey {
    /// Returns about how much memory the key takes beside its own size, in bytes.
    fn memory_bytes(&self) -> usize {
        match self {
            LeafKey::WhiteSpace(_) | LeafKey::Character | LeafKey::AnyString | LeafKey::AnyKey | LeafKey::Member(_) => {
                0
            }
            LeafKey::Strings { shapes, .. } => shapes.iter().map(StringKey::memory_bytes).sum(),
            LeafKey::Numbers { shapes, .. } => shapes.len() * 4 * size_of::<NumberShape>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::language::LanguageName;

    #[test]
    fn leaves_are_found_by_all_of_their_key_and_forgotten_when_they_are_too_many() {
        let store = LeafStore::default();
        let automaton = Arc::new(RuleAutomaton::from_sorted(Vec::new(), vec![0, 0], [true].into_iter()));
        store.keep(LeafKey::WhiteSpace(16), &automaton);
        assert!(store.find(&LeafKey::WhiteSpace(16)).is_some() && store.find(&LeafKey::WhiteSpace(15)).is_none());
        let names = |n: usize| {
            let pattern = LanguageName::Pattern(format!("{n}{}", "x".repeat(1 << 20)).into());
            let shape = StringKey { min: 0, max: None, languages: vec![(pattern, true)] };
            LeafKey::Strings { shapes: vec![shape], is_element: false, spelling: Spelling::Shortest }
        };
        (0..40).for_each(|n| store.keep(names(n), &automaton));
        assert!(store.known.lock().unwrap().weight() <= LeafStore::BYTES_MAX);
        assert!(store.find(&names(39)).is_some() && store.find(&names(0)).is_none());
    }
}

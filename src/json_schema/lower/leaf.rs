//! Rules that call no others, that of a colon and a value, and those of any JSON value, kept from schema to schema.
//!
//! Schemas repeat themselves: of the texts and numbers in real ones 98 % have been in another. What such a rule's automaton depends on is
//! a few words, its *key*; with an equal key the automaton is the same, and neither drafted, trimmed nor built again.

use crate::json_schema::language::StringKey;
use crate::json_schema::options::{SchemaOptions, Spelling, WhiteSpace};
use crate::json_schema::shape::NumberShape;
use crate::pass::{FinishedNetwork, RuleAutomaton};
use crate::util::BoundedMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// All that the automaton of a rule depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum LeafKey {
    /// White space, at most so many characters of it.
    WhiteSpace(u32),
    /// One character in any spelling.
    Character,
    AnyString,
    /// Strings of some shapes.
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
    /// A colon and a value, with free white space of at most so many characters before each. It calls the rule of the white space, if there may
    /// be some, and that of the value: any value, since a rule names what it calls by its place.
    Member(u32),
}

/// All that the rules of any JSON value depend on, where they don't depend on the depth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AnyValueKey {
    white_space: WhiteSpace,
    has_integer_fractions: bool,
}

impl AnyValueKey {
    pub fn of(options: &SchemaOptions) -> Self {
        let SchemaOptions { white_space, has_integer_fractions, .. } = options;
        AnyValueKey { white_space: white_space.clone(), has_integer_fractions: *has_integer_fractions }
    }
}

/// The rules of any JSON value, for the last options that were used.
#[derive(Debug, Default)]
pub(super) struct AnyValueStore {
    known: Mutex<VecDeque<(AnyValueKey, Arc<FinishedNetwork>)>>,
}

impl AnyValueStore {
    /// Options whose rules are kept.
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

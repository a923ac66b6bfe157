//! The store that makes equal units one.
//!
//! Units are compared in full; a fingerprint only finds the bucket. The store is bounded in bytes by two generations: a look-up
//! moves what it finds to the young one, and when the young one is full it becomes the old one, and what nobody asked for since
//! is forgotten. Grammars that use a forgotten unit keep it; a later equal one is a new unit with a new number, which costs
//! sharing and never correctness.

use super::build::Workspace;
use super::unit::{Content, Unit};
use crate::machine::Counter;
use crate::pass::RuleAutomaton;
use crate::util::{FoldBuildHasher, Pool};
use core::hash::BuildHasher;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hashbrown::{HashMap, HashTable};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers units across all stores of the process.
static NEXT_UID: AtomicU32 = AtomicU32::new(1);

/// What a unit is built from: equal components build equal units.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Component {
    pub rules: SmallVec<[(Arc<RuleAutomaton>, Option<Counter>); 1]>,
    /// What the rules call, those of each in turn.
    pub callees: Vec<Callee>,
    /// The rules that others enter.
    pub entered: SmallVec<[u32; 4]>,
}

/// Where a call leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Callee {
    /// To a rule of the component.
    Member(u32),
    /// To a state of a unit that is built.
    Unit { uid: u32, state: u32 },
}

impl Component {
    pub fn clear(&mut self) {
        self.rules.clear();
        self.callees.clear();
        self.entered.clear();
    }

    fn memory_bytes(&self) -> usize {
        let rules: usize = self.rules.iter().map(|(automaton, _)| automaton.memory_bytes() + 128).sum();
        rules + size_of_val(&*self.entered) + size_of_val(&*self.callees) + 64
    }
}

/// Interned units.
#[derive(Debug)]
pub(crate) struct UnitStore {
    hasher: FoldBuildHasher,
    bytes_max: usize,
    generations: Mutex<Generations>,
    built: Mutex<Built>,
    flat_units: Mutex<FlatUnits>,
    n_found: AtomicU64,
    /// Memory to build in.
    pub(super) workspaces: Pool<Workspace>,
}

/// Units by what they were built from, bounded like the units themselves.
#[derive(Debug, Default)]
struct Built {
    young: HashTable<BuiltUnit>,
    old: HashTable<BuiltUnit>,
    young_bytes: usize,
}

#[derive(Debug)]
struct BuiltUnit {
    fingerprint: u64,
    component: Component,
    unit: Arc<Unit>,
}

/// Units of rules that call nothing, by their automaton: the very same one, which lives as long as it is a key here.
#[derive(Debug, Default)]
struct FlatUnits {
    units: HashMap<FlatUnitKey, FlatUnit>,
    bytes: usize,
}

/// Where an automaton is in memory, and what counts its copies.
type FlatUnitKey = (usize, Option<Counter>);

#[derive(Debug)]
struct FlatUnit {
    unit: Arc<Unit>,
    /// What keeps the place from being used for another.
    _automaton: Arc<RuleAutomaton>,
}

/// Units, with their fingerprints.
type Units = HashTable<(u64, Arc<Unit>)>;

#[derive(Debug, Default)]
struct Generations {
    young: Units,
    old: Units,
    young_bytes: usize,
    old_bytes: usize,
    n_made: u64,
}

impl UnitStore {
    /// Returns a store that keeps at most about `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        UnitStore {
            hasher: FoldBuildHasher::default(),
            bytes_max,
            generations: Mutex::default(),
            built: Mutex::default(),
            flat_units: Mutex::default(),
            n_found: AtomicU64::new(0),
            workspaces: Pool::default(),
        }
    }

    /// Returns a number by which equal components are found; others may have the same.
    pub(super) fn fingerprint(&self, component: &Component) -> u64 {
        self.hasher.hash_one(component)
    }

    /// Returns the unit that was built from a component, if it is still known.
    pub(super) fn find_built(&self, fingerprint: u64, component: &Component) -> Option<Arc<Unit>> {
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &BuiltUnit| known.fingerprint == fingerprint && known.component == *component;
        let found = built.young.find(fingerprint, is_it).or_else(|| built.old.find(fingerprint, is_it));
        let unit = Arc::clone(&found?.unit);
        self.n_found.fetch_add(1, Ordering::Relaxed);
        Some(unit)
    }

    /// Remembers what a unit was built from.
    pub(super) fn insert_built(&self, fingerprint: u64, component: &Component, unit: &Arc<Unit>) {
        let known = BuiltUnit { fingerprint, component: component.clone(), unit: Arc::clone(unit) };
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let Built { young, old, young_bytes } = &mut *built;
        *young_bytes += component.memory_bytes() + unit.memory_bytes();
        young.insert_unique(fingerprint, known, |known| known.fingerprint);
        if *young_bytes > self.bytes_max / 2 {
            // PERF: a table of the size that it will have again.
            core::mem::swap(young, old);
            young.clear();
            *young_bytes = 0;
        }
    }

    /// Returns the unit of a rule that calls nothing, if it was built of the very same automaton.
    pub(super) fn find_flat(&self, automaton: &Arc<RuleAutomaton>, counter: Option<Counter>) -> Option<Arc<Unit>> {
        let flat_units = self.flat_units.lock().unwrap_or_else(PoisonError::into_inner);
        let unit = Arc::clone(&flat_units.units.get(&(Arc::as_ptr(automaton).addr(), counter))?.unit);
        self.n_found.fetch_add(1, Ordering::Relaxed);
        Some(unit)
    }

    /// Remembers the unit of a rule that calls nothing. That is of use if its automaton is kept elsewhere too.
    pub(super) fn insert_flat(&self, automaton: &Arc<RuleAutomaton>, counter: Option<Counter>, unit: &Arc<Unit>) {
        let mut flat_units = self.flat_units.lock().unwrap_or_else(PoisonError::into_inner);
        if flat_units.bytes > self.bytes_max / 4 {
            *flat_units = FlatUnits::default();
        }
        let key = (Arc::as_ptr(automaton).addr(), counter);
        let flat = FlatUnit { unit: Arc::clone(unit), _automaton: Arc::clone(automaton) };
        if flat_units.units.insert(key, flat).is_none() {
            flat_units.bytes += automaton.memory_bytes() + unit.memory_bytes();
        }
    }

    /// Returns the unit with this content.
    pub fn intern(&self, content: Content, name: Cow<'static, str>) -> Arc<Unit> {
        let fingerprint = self.hasher.hash_one(&content);
        // A panic elsewhere leaves the tables as they were between two statements: at worst something is missing.
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        match generations.find(fingerprint, &content) {
            Some((unit, is_young)) => {
                self.n_found.fetch_add(1, Ordering::Relaxed);
                if !is_young {
                    generations.keep(fingerprint, &unit, self.bytes_max);
                }
                unit
            }
            None => {
                generations.n_made += 1;
                let uid = NEXT_UID.fetch_add(1, Ordering::Relaxed);
                assert!(uid != u32::MAX, "fewer than 2^32 units are built in one process");
                let unit = Arc::new(Unit::new(uid, name, content));
                generations.keep(fingerprint, &unit, self.bytes_max);
                unit
            }
        }
    }

    /// Forgets all units; those that are in use stay with who uses them.
    pub fn clear(&self) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        *generations = Generations { n_made: generations.n_made, ..Generations::default() };
        drop(generations);
        *self.built.lock().unwrap_or_else(PoisonError::into_inner) = Built::default();
        *self.flat_units.lock().unwrap_or_else(PoisonError::into_inner) = FlatUnits::default();
        self.workspaces.clear();
    }

    /// Returns (units found, units made, bytes held).
    pub fn stats(&self) -> (u64, u64, usize) {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        (self.n_found.load(Ordering::Relaxed), generations.n_made, generations.young_bytes + generations.old_bytes)
    }
}

impl Generations {
    /// Returns the unit of a content, and whether it is among the young ones.
    fn find(&self, fingerprint: u64, content: &Content) -> Option<(Arc<Unit>, bool)> {
        let is_it = |(known, unit): &(u64, Arc<Unit>)| *known == fingerprint && unit.content == *content;
        let young = self.young.find(fingerprint, is_it).map(|(_, unit)| (Arc::clone(unit), true));
        young.or_else(|| self.old.find(fingerprint, is_it).map(|(_, unit)| (Arc::clone(unit), false)))
    }

    /// Adds a unit to the young ones, of which it is none yet.
    fn keep(&mut self, fingerprint: u64, unit: &Arc<Unit>, bytes_max: usize) {
        let Generations { young, old, young_bytes, old_bytes, .. } = self;
        young.insert_unique(fingerprint, (fingerprint, Arc::clone(unit)), |&(fingerprint, _)| fingerprint);
        *young_bytes += unit.memory_bytes();
        if *young_bytes > bytes_max / 2 {
            core::mem::swap(young, old);
            young.clear();
            *old_bytes = core::mem::take(young_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::PackedMove;
    use super::super::state::{Kind, Reads, StateInfo, StateInfos};
    use super::super::table::MoveTable;
    use super::*;

    fn content(n: u32) -> Content {
        let info = StateInfo { kind: Kind::End, reads: Reads::Nothing, owner: None };
        Content {
            table: MoveTable::of_one(PackedMove::local(n)),
            moves: Box::new([]),
            list_ends: Box::new([]),
            infos: StateInfos::of([info].into_iter()).unwrap(),
            controls: Box::new([]),
            counters: Box::new([]),
            register_rules: Box::new([]),
            declared_keys: SmallVec::new(),
            children: SmallVec::new(),
            entries: smallvec::smallvec![0],
            has_distinct_values: false,
        }
    }

    #[test]
    fn equal_contents_are_one_unit() {
        let store = UnitStore::new(1 << 20);
        let (a, b, c) = (
            store.intern(content(1), "a".into()),
            store.intern(content(1), "b".into()),
            store.intern(content(2), "c".into()),
        );
        assert!(Arc::ptr_eq(&a, &b) && a.uid != c.uid);
        assert_eq!((store.stats().0, store.stats().1), (1, 2));
    }

    #[test]
    fn a_full_store_forgets_and_stays_right() {
        let store = UnitStore::new(4096);
        let first = store.intern(content(0), "first".into());
        for n in 1..100 {
            store.intern(content(n), "other".into());
        }
        assert!(store.stats().2 <= 3 * 4096 / 2 + 512);
        let again = store.intern(content(0), "first".into());
        assert_ne!(first.uid, again.uid);
        assert_eq!(first.content, again.content);
    }
}

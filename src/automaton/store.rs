//! The store that makes equal units one.
//!
//! Units are compared in full; a fingerprint only finds the bucket. The store is bounded in bytes and forgets what nobody asked for
//! lately, little by little ([`BoundedTable`]). Grammars that use a forgotten unit keep it; a later equal one is a new unit with a new
//! number, which costs sharing and never correctness.

use super::build::Workspace;
use super::unit::{Content, Unit, UnitState};
use crate::machine::Counter;
use crate::pass::RuleAutomaton;
use crate::util::{BoundedMap, BoundedTable, FoldBuildHasher, Pool};
use core::hash::BuildHasher;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
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
    Unit(UnitState),
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
    interned: Mutex<Interned>,
    /// Units by what they were built from, bounded like the units themselves.
    built: Mutex<BoundedTable<(Component, Arc<Unit>)>>,
    flat_units: Mutex<BoundedMap<FlatUnitKey, FlatUnit>>,
    n_found: AtomicU64,
    /// Memory to build in.
    pub(super) workspaces: Pool<Workspace>,
}

/// Units by content.
#[derive(Debug)]
struct Interned {
    units: BoundedTable<Arc<Unit>>,
    n_made: u64,
}

/// Units of rules that call nothing have for a key where their automaton is in memory, and what counts its copies.
type FlatUnitKey = (usize, Option<Counter>);

#[derive(Clone, Debug)]
struct FlatUnit {
    unit: Arc<Unit>,
    /// What keeps the place from being used for another.
    _automaton: Arc<RuleAutomaton>,
}

impl UnitStore {
    /// Returns a store that keeps at most about `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        UnitStore {
            hasher: FoldBuildHasher::default(),
            interned: Mutex::new(Interned { units: BoundedTable::new(bytes_max), n_made: 0 }),
            built: Mutex::new(BoundedTable::new(bytes_max)),
            flat_units: Mutex::new(BoundedMap::new(bytes_max / 4)),
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
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let unit = built.find(fingerprint, |(known, _)| known == component, |(_, unit)| Arc::clone(unit))?;
        self.n_found.fetch_add(1, Ordering::Relaxed);
        Some(unit)
    }

    /// Remembers what a unit was built from.
    pub(super) fn insert_built(&self, fingerprint: u64, component: &Component, unit: &Arc<Unit>) {
        let known = (component.clone(), Arc::clone(unit));
        let n_bytes = component.memory_bytes() + unit.memory_bytes();
        self.built.lock().unwrap_or_else(PoisonError::into_inner).insert(fingerprint, n_bytes, known);
    }

    /// Returns the unit of a rule that calls nothing, if it was built of the very same automaton.
    pub(super) fn find_flat(&self, automaton: &Arc<RuleAutomaton>, counter: Option<Counter>) -> Option<Arc<Unit>> {
        let mut flat_units = self.flat_units.lock().unwrap_or_else(PoisonError::into_inner);
        let unit = flat_units.get(&(Arc::as_ptr(automaton).addr(), counter))?.unit;
        self.n_found.fetch_add(1, Ordering::Relaxed);
        Some(unit)
    }

    /// Remembers the unit of a rule that calls nothing. That is of use if its automaton is kept elsewhere too.
    pub(super) fn insert_flat(&self, automaton: &Arc<RuleAutomaton>, counter: Option<Counter>, unit: &Arc<Unit>) {
        let key = (Arc::as_ptr(automaton).addr(), counter);
        let flat = FlatUnit { unit: Arc::clone(unit), _automaton: Arc::clone(automaton) };
        let n_bytes = automaton.memory_bytes() + unit.memory_bytes();
        self.flat_units.lock().unwrap_or_else(PoisonError::into_inner).insert(key, n_bytes, flat);
    }

    /// Returns the unit with this content.
    pub fn intern(&self, content: Content, name: Cow<'static, str>) -> Arc<Unit> {
        let fingerprint = self.hasher.hash_one(&content);
        // A panic elsewhere leaves the tables as they were between two statements: at worst something is missing.
        let mut interned = self.interned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(unit) = interned.units.find(fingerprint, |unit| unit.content == content, Arc::clone) {
            self.n_found.fetch_add(1, Ordering::Relaxed);
            return unit;
        }
        interned.n_made += 1;
        let uid = NEXT_UID.fetch_add(1, Ordering::Relaxed);
        assert!(uid != u32::MAX, "fewer than 2^32 units are built in one process");
        let unit = Arc::new(Unit::new(uid, name, content));
        interned.units.insert(fingerprint, unit.memory_bytes(), Arc::clone(&unit));
        unit
    }

    /// Forgets all units; those that are in use stay with who uses them.
    pub fn clear(&self) {
        self.interned.lock().unwrap_or_else(PoisonError::into_inner).units.clear();
        self.built.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.flat_units.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.workspaces.clear();
    }

    /// Returns (units found, units made, bytes held).
    pub fn stats(&self) -> (u64, u64, usize) {
        let interned = self.interned.lock().unwrap_or_else(PoisonError::into_inner);
        (self.n_found.load(Ordering::Relaxed), interned.n_made, interned.units.weight())
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::{LocalState, PackedMove};
    use super::super::state::{Kind, Reads, StateInfo, StateInfos};
    use super::super::table::MoveTable;
    use super::*;

    fn content(n: u32) -> Content {
        let info = StateInfo { kind: Kind::End, reads: Reads::Nothing, owner: None };
        Content {
            table: MoveTable::of_one(PackedMove::local(LocalState(n))),
            moves: Box::new([]),
            list_ends: Box::new([]),
            infos: StateInfos::of([info].into_iter()).unwrap(),
            controls: Box::new([]),
            token_sets: None,
            counters: Box::new([]),
            register_rules: Box::new([]),
            declared_keys: SmallVec::new(),
            children: SmallVec::new(),
            entries: smallvec::smallvec![LocalState(0)],
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
        assert!(store.stats().2 <= 4096);
        let again = store.intern(content(0), "first".into());
        assert_ne!(first.uid, again.uid);
        assert_eq!(first.content, again.content);
    }
}

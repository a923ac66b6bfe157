//! Linking: the units of one grammar, with small numbers for their states.

use super::bounds::Bounds;
use super::build::{Entry, build};
use super::moves::{LocalState, StateRef, Step};
use super::state::{Kind, Owner, Role, StateInfo};
use super::store::{Callee, Component, UnitStore};
use super::unbounded::{
    CAN_ALWAYS_CLOSE, FAR, MAY_BE_EXHAUSTED, REACHES_UNBOUNDED, UNBOUNDED_DIGITS, distance, distance_behind, unbounded,
    unbounded_at,
};
use super::unit::Unit;
use crate::limits::Limits;
use crate::machine::{Distinct, Equality, Exhaustible};
use crate::pass::{BuildError, CompileBudget, FinishedNetwork, FinishedRule, NetRuleId, NormalGrammar};
use crate::util::{ByteSet, Components, components, index_type};
use core::sync::atomic::{AtomicU64, Ordering};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

index_type!(
    /// Names a state of a program. 0 is [`DONE`], 1 is [`BELOW`]; the others are the states of its units, in turn.
    pub(crate) StateId
);

/// The whole text has been read. Nothing follows.
pub(crate) const DONE: StateId = StateId(0);
/// The end of what is known: whatever called, seen from a mask that is made for any caller.
pub(crate) const BELOW: StateId = StateId(1);
/// The first state of a unit.
const FIRST: StateId = StateId(2);

/// A unit in its place.
#[derive(Debug)]
pub(crate) struct Linked {
    pub unit: Arc<Unit>,
    /// The first state of the unit.
    base: StateId,
    /// Likewise, by slot: 0 for the unit itself, then its children.
    bases: SmallVec<[StateId; 4]>,
}

impl Linked {
    #[inline]
    pub fn state(&self, place: StateRef) -> StateId {
        StateId(self.bases[place.slot as usize].0 + place.state.0)
    }

    /// Returns the state that the unit has under a number of its own.
    #[inline]
    pub fn own(&self, state: LocalState) -> StateId {
        StateId(self.base.0 + state.0)
    }

    /// Returns the number that a state of the unit has there.
    #[inline]
    fn local(&self, state: StateId) -> LocalState {
        LocalState(state.0 - self.base.0)
    }
}

/// Names a program; no other one has its name, ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProgramId(u64);

/// A grammar ready to run over bytes: its units, linked.
#[derive(Debug)]
pub(crate) struct Program {
    id: ProgramId,
    units: Box<[Linked]>,
    unit_of: Box<[u32]>,
    start: StateId,
    has_empty_text: bool,
    is_json: bool,
    has_controls: bool,
    counts_tokens: bool,
    has_distinct_values: bool,
    may_run_out: bool,
    may_have_last_items: bool,
    /// Once asked for, where there may be some.
    last_items_behind: OnceLock<Option<u32>>,
    /// Once asked for.
    byte_classes: OnceLock<Box<ByteClasses>>,
    /// Once asked for.
    all_bytes: OnceLock<ByteSet>,
}

/// Classes of bytes that no state tells apart.
#[derive(Debug)]
pub(crate) struct ByteClasses {
    of: [u8; 256],
    n_classes: usize,
}

impl ByteClasses {
    fn new(units: &[Linked]) -> ByteClasses {
        let mut classes = ByteClasses { of: [0; 256], n_classes: 1 };
        // By class so far and class of the unit: the class of both, and zero for none yet.
        let mut numbers: HashMap<(u8, u8), u8> = HashMap::new();
        for linked in units {
            numbers.clear();
            let all = classes.of.iter_mut().zip(linked.unit.classes());
            all.for_each(|(class, &own)| {
                let next = numbers.len() as u8;
                *class = *numbers.entry((*class, own)).or_insert(next);
            });
            classes.n_classes = numbers.len();
        }
        classes
    }

    /// Returns the class of each byte, less than [`Self::n_classes`].
    #[inline]
    pub fn of(&self) -> &[u8; 256] {
        &self.of
    }

    /// Returns the number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }
}

impl Program {
    /// Builds, interns and links the units of a normal grammar. `externals` are the automata that were built before: those of
    /// [`Label::External`](crate::pass::Label::External), by number.
    pub fn new(
        normal: &NormalGrammar,
        externals: &[Entry],
        store: &UnitStore,
        limits: &Limits,
        compile_budget: &CompileBudget,
    ) -> Result<Program, BuildError> {
        let root = Self::build(normal, externals, store, limits, compile_budget)?;
        compile_budget.check()?;
        Program::link(&root, normal.has_empty_text, externals.is_empty(), limits)
    }

    /// Builds and interns the units of a part of a grammar; returns where it begins. `externals` as in [`Self::new`].
    pub fn build(
        normal: &NormalGrammar,
        externals: &[Entry],
        store: &UnitStore,
        limits: &Limits,
        compile_budget: &CompileBudget,
    ) -> Result<Entry, BuildError> {
        let mut entries = build_units(normal, externals, store, limits, compile_budget)?;
        Ok(entries[normal.network.root.index()].take().expect("the root is built"))
    }

    /// Links what was built; `is_json` tells whether the text is one JSON document.
    pub fn link(root: &Entry, has_empty_text: bool, is_json: bool, limits: &Limits) -> Result<Program, BuildError> {
        // Room for the units of most grammars.
        let mut base_of: HashMap<u32, StateId> = HashMap::with_capacity(24);
        let mut found: Vec<Arc<Unit>> = Vec::with_capacity(32);
        found.push(Arc::clone(&root.unit));
        let mut n_states = FIRST.index();
        base_of.insert(root.unit.uid, FIRST);
        let mut next = 0;
        while next < found.len() {
            let unit = Arc::clone(&found[next]);
            next += 1;
            n_states += unit.n_states();
            BuildError::check_states(n_states, limits)?;
            for child in &unit.content.children {
                if !base_of.contains_key(&child.uid) {
                    base_of.insert(child.uid, FIRST);
                    found.push(Arc::clone(child));
                }
            }
        }
        let mut unit_of = Vec::with_capacity(n_states);
        unit_of.resize(FIRST.index(), u32::MAX);
        for (index, unit) in found.iter().enumerate() {
            base_of.insert(unit.uid, StateId::new(unit_of.len()));
            unit_of.resize(unit_of.len() + unit.n_states(), index as u32);
        }
        let units = found.into_iter().map(|unit| {
            let slots = core::iter::once(&unit).chain(unit.content.children.iter());
            let bases: SmallVec<[StateId; 4]> = slots.map(|unit| base_of[&unit.uid]).collect();
            Linked { base: bases[0], unit, bases }
        });
        let units: Box<[Linked]> = units.collect();
        let start = units[0].own(root.state);
        let has_controls = units.iter().any(|linked| !linked.unit.content.controls.is_empty());
        let counts_tokens = units.iter().any(|linked| linked.unit.counts_tokens());
        let has_distinct_values = units.iter().any(|linked| linked.unit.content.has_distinct_values);
        let has = |test: &dyn Fn(&Distinct) -> bool| {
            let is_it = |role: &Role| matches!(&role.kind, Kind::DistinctValue(distinct) if test(distinct));
            let of_values = |linked: &&Linked| linked.unit.content.has_distinct_values;
            units.iter().filter(of_values).any(|linked| linked.unit.content.infos.roles().iter().any(is_it))
        };
        let has_items = has(&|distinct| distinct.equality == Equality::Json);
        let may_run_out = has_items || has(&|distinct| distinct.has_finite_domain());
        let may_have_last_items = has_items && has(&|distinct| distinct.exhaustible != Exhaustible::Never);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(Program {
            id: ProgramId(NEXT.fetch_add(1, Ordering::Relaxed)),
            units,
            unit_of: unit_of.into(),
            start,
            has_empty_text,
            is_json,
            has_controls,
            counts_tokens,
            has_distinct_values,
            may_run_out,
            may_have_last_items,
            last_items_behind: OnceLock::new(),
            byte_classes: OnceLock::new(),
            all_bytes: OnceLock::new(),
        })
    }

    /// Returns the program's name: states are its own.
    pub fn id(&self) -> ProgramId {
        self.id
    }

    /// Tells whether some state reads a control token.
    #[inline]
    pub fn has_controls(&self) -> bool {
        self.has_controls
    }

    /// Tells whether some state counts tokens, so that the end of one makes a difference.
    #[inline]
    pub fn counts_tokens(&self) -> bool {
        self.counts_tokens
    }

    /// Tells whether the text is one JSON document, if the grammar has rules whose values must all be different.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Tells whether the grammar has rules whose values must all be different.
    #[inline]
    pub fn has_distinct_values(&self) -> bool {
        self.has_distinct_values
    }

    /// Tells whether there can be values of which no new one is left.
    #[inline]
    pub fn may_run_out(&self) -> bool {
        self.may_run_out
    }

    /// Tells whether there can be arrays of at most `n_values` items in which nothing is left for another item though one must follow.
    pub fn has_last_items(&self, n_values: usize) -> bool {
        let least = || {
            let states = (FIRST.0..self.n_states() as u32).map(StateId);
            states.filter_map(|state| self.may_be_exhausted_behind(state)).min()
        };
        self.may_have_last_items
            && self.last_items_behind.get_or_init(least).is_some_and(|least| n_values >= least as usize)
    }

    /// Returns how many values there are, at least, where those of the rule of a state may run out between two of them, so that only the end of the rule is safe; nothing if
    /// they can't.
    pub fn exhausted_behind(&self, state: StateId) -> Option<u32> {
        self.bound_of_exhaustible(state).filter(|_| self.unbounded(state) & CAN_ALWAYS_CLOSE == 0)
    }

    /// As [`Self::exhausted_behind`], of any state of the rule that comes behind this one, too.
    pub fn may_be_exhausted_behind(&self, state: StateId) -> Option<u32> {
        self.bound_of_exhaustible(state).filter(|_| self.unbounded(state) & MAY_BE_EXHAUSTED != 0)
    }

    /// Returns how many values the way from a state between values takes to one behind which values can't run out, or to the end; a guess, and no more than 15.
    pub fn n_values_to_close(&self, state: StateId) -> u8 {
        match self.owner(state) {
            Some(Owner::DistinctValues(_)) => distance(self.unbounded(state)),
            _ => 0,
        }
    }

    /// As [`Self::n_values_to_close`], if the state is left by a byte.
    pub fn n_values_to_close_behind(&self, state: StateId, byte: u8) -> u8 {
        self.place(state).map_or(FAR, |(linked, local)| distance_behind(&linked.unit, local, byte))
    }

    fn bound_of_exhaustible(&self, state: StateId) -> Option<u32> {
        match self.owner(state) {
            Some(Owner::DistinctValues(Distinct { exhaustible: Exhaustible::Behind(n_values), .. })) => Some(n_values),
            _ => None,
        }
    }

    /// Tells whether a value of unbounded length can be read from `state`, each longer one another value. Within a number that is known only if
    /// it has no exponent yet.
    pub fn reaches_unbounded(&self, state: StateId, is_plain: bool) -> bool {
        let bits = self.place(state).map_or(0, |(linked, local)| unbounded_at(&linked.unit, local));
        bits & REACHES_UNBOUNDED != 0 || is_plain && bits & UNBOUNDED_DIGITS != 0
    }

    fn unbounded(&self, state: StateId) -> u8 {
        self.place(state).map_or(0, |(linked, local)| unbounded(&linked.unit)[local.index()])
    }

    /// Returns the classes of bytes that no state tells apart, found at the first call.
    pub fn byte_classes(&self) -> &ByteClasses {
        self.byte_classes.get_or_init(|| Box::new(ByteClasses::new(&self.units)))
    }

    /// Returns the number of the unit that a state belongs to.
    pub fn unit_index(&self, state: StateId) -> usize {
        self.unit_of[state.index()] as usize
    }

    /// Returns the state in which a text begins.
    pub fn start(&self) -> StateId {
        self.start
    }

    /// Tells whether the empty text is in the language.
    pub fn has_empty_text(&self) -> bool {
        self.has_empty_text
    }

    /// Returns the number of states, with the two that belong to no unit.
    pub fn n_states(&self) -> usize {
        self.unit_of.len()
    }

    pub fn units(&self) -> &[Linked] {
        &self.units
    }

    /// Returns the unit of a state and the state's number there; nothing for [`DONE`] and [`BELOW`].
    #[inline]
    pub fn place(&self, state: StateId) -> Option<(&Linked, LocalState)> {
        let linked = self.units.get(self.unit_of[state.index()] as usize)?;
        Some((linked, linked.local(state)))
    }

    #[inline]
    pub fn info(&self, state: StateId) -> Option<StateInfo> {
        self.place(state).map(|(linked, local)| linked.unit.info(local))
    }

    /// Returns what the register of a state belongs to.
    #[inline]
    pub fn owner(&self, state: StateId) -> Option<Owner> {
        self.info(state)?.owner
    }

    /// Returns the bytes that a state reads.
    pub fn bytes(&self, state: StateId) -> ByteSet {
        self.place(state).map_or(ByteSet::EMPTY, |(linked, local)| linked.unit.bytes(local))
    }

    /// Returns the bytes that some state reads.
    pub fn all_bytes(&self) -> ByteSet {
        *self.all_bytes.get_or_init(|| {
            let classes = self.byte_classes();
            // One byte of each class tells.
            let mut firsts: [Option<u8>; 256] = [None; 256];
            (0..=255).rev().for_each(|byte| firsts[usize::from(classes.of()[usize::from(byte)])] = Some(byte));
            let read = self.bytes_read(firsts.iter().flatten().copied().collect());
            let is_read = |byte: &u8| {
                firsts[usize::from(classes.of()[usize::from(*byte)])].is_some_and(|first| read.contains(first))
            };
            (0..=255).filter(is_read).collect()
        })
    }

    /// Returns those of `bytes` that some state reads.
    pub fn bytes_read(&self, bytes: ByteSet) -> ByteSet {
        let reads = |&byte: &u8| {
            self.units
                .iter()
                .any(|linked| linked.unit.states().any(|state| linked.unit.code(state, byte).step() != Step::None))
        };
        bytes.iter().filter(reads).collect()
    }

    /// Returns about how much memory the program takes, in bytes, shared units included.
    pub fn memory_bytes(&self) -> usize {
        let units: usize = self.units.iter().map(|l| l.unit.memory_bytes() + size_of_val(&*l.bases)).sum();
        units + size_of_val(&*self.unit_of) + size_of::<Program>()
    }
}

/// Where each rule is.
struct Places {
    components: Components<NetRuleId>,
    /// By rule: its component, and its place there.
    of_rule: Vec<(u32, u32)>,
    /// By rule: whether others enter it, or the text begins with it.
    is_entered: Vec<bool>,
}

impl Places {
    fn of(network: &FinishedNetwork) -> Places {
        // Automata that were built before call none of the rules, so that they are in no component with one; their numbers are the last ones.
        let n_rules = network.rules.len();
        let called = |rule: &'_ FinishedRule| rule.callees.partition_point(|callee| callee.index() < n_rules);
        let mut components = components(n_rules, |rule| {
            let rule = network.rule(rule);
            &rule.callees[..called(rule)]
        });
        components.sort_by_key(|rule| rule);
        let mut of_rule = vec![(0, 0); network.rules.len()];
        for (component, members) in (0..).zip(components.iter()) {
            (0..).zip(members).for_each(|(place, member)| of_rule[member.index()] = (component, place));
        }
        let mut is_entered = vec![false; network.rules.len()];
        is_entered[network.root.index()] = true;
        for (caller, rule) in network.rules.iter().enumerate() {
            let others = rule.callees[..called(rule)].iter();
            others
                .filter(|callee| of_rule[callee.index()].0 != of_rule[caller].0)
                .for_each(|callee| is_entered[callee.index()] = true);
        }
        Places { components, of_rule, is_entered }
    }
}

/// Returns where each rule ended up.
fn build_units(
    normal: &NormalGrammar,
    externals: &[Entry],
    store: &UnitStore,
    limits: &Limits,
    compile_budget: &CompileBudget,
) -> Result<Vec<Option<Entry>>, BuildError> {
    let network = &normal.network;
    let places = Places::of(network);
    let mut entries: Vec<Option<Entry>> = vec![None; network.rules.len()];
    entries.extend(externals.iter().cloned().map(Some));
    let mut n_moves = 0usize;
    let (mut component, mut workspace) = (Component::default(), store.workspaces.take());
    let mut entered: Vec<NetRuleId> = Vec::new();
    for (index, members) in (0..).zip(places.components.iter()) {
        // A rule that calls nothing may have been built for another grammar, of the very same automaton, if somebody else holds that.
        let is_flat = |rule: &FinishedRule| rule.callees.is_empty() && Arc::strong_count(&rule.automaton) > 1;
        let flat = match members[..] {
            [id] => Some(network.rule(id)).filter(|rule| is_flat(rule)),
            _ => None,
        };
        if let Some(rule) = flat
            && let Some(unit) = store.find_flat(&rule.automaton, rule.counter)
        {
            n_moves += unit.n_moves;
            let state = unit.content.entries[0];
            entries[members[0].index()] = Some(Entry { unit, state });
            continue;
        }
        component.clear();
        entered.clear();
        for (place, &member) in (0..).zip(members) {
            let rule = network.rule(member);
            component.rules.push((Arc::clone(&rule.automaton), rule.counter));
            component.callees.extend(rule.callees.iter().map(|callee| match places.of_rule.get(callee.index()) {
                Some(&(component, place)) if component == index => Callee::Member(place),
                _ => {
                    let entry = entries[callee.index()].as_ref().expect("callees are built before their callers");
                    Callee::Unit(entry.unit_state())
                }
            }));
            if places.is_entered[member.index()] {
                component.entered.push(place);
                entered.push(member);
            }
        }
        compile_budget.spend(component.rules.iter().map(|(automaton, _)| automaton.all_edges().len()).sum())?;
        let fingerprint = store.fingerprint(&component);
        let unit = match store.find_built(fingerprint, &component) {
            Some(unit) => unit,
            None => {
                let bounds = Bounds { compile_budget, n_moves, n_moves_max: limits.automaton_moves_max };
                let content = build(network, members, &component.entered, &entries, bounds, &mut workspace)?;
                compile_budget.spend(content.moves.len())?;
                let unit = store.intern(content, network.rule(entered[0]).name.clone());
                store.insert_built(fingerprint, &component, &unit);
                unit
            }
        };
        if let Some(rule) = flat {
            store.insert_flat(&rule.automaton, rule.counter, &unit);
        }
        n_moves += unit.n_moves;
        if n_moves > limits.automaton_moves_max {
            let what = "moves of the grammar's automata (automaton_moves_max)";
            return Err(BuildError::limit(what, n_moves as u64, limits.automaton_moves_max as u64));
        }
        for (&id, &state) in entered.iter().zip(&unit.content.entries) {
            entries[id.index()] = Some(Entry { unit: Arc::clone(&unit), state });
        }
    }
    if workspace.is_small() {
        store.workspaces.put(workspace);
    }
    Ok(entries)
}

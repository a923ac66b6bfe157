//! The states, children and lists of moves of a unit under way: each is numbered when it is first asked for.

use super::super::bounds::Bounds;
use super::super::moves::{LocalState, Move, MoveListId, StateRef};
use super::super::state::{CounterId, RegisterRuleId};
use super::super::unit::{Unit, UnitState};
use super::workspace::{Item, Items, LOOP, MoveList, NO_STATE, Workspace};
use crate::machine::{Counter, DeclaredKeys, Distinct, RegisterRule};
use crate::pass::{Edge, FinishedNetwork, FinishedRule, Label, NetRuleId, RuleAutomaton};
use crate::util::mixed;
use core::hash::BuildHasher;
use hashbrown::{DefaultHashBuilder, HashMap};
use smallvec::SmallVec;
use std::sync::Arc;

/// Where a rule ended up: a unit and one of its entries.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub unit: Arc<Unit>,
    pub state: LocalState,
}

impl Entry {
    /// Names the entry beyond the unit.
    pub fn unit_state(&self) -> UnitState {
        self.unit.unit_state(self.state)
    }
}

/// A rule of the unit.
pub(super) struct Member<'a> {
    pub id: NetRuleId,
    pub rule: &'a FinishedRule,
    /// Where the states of its single items begin in `single_ids`; the place between copies comes first.
    pub single_base: u32,
    /// Where its lists begin in `declared_keys`.
    pub declared_keys_base: u32,
    /// Which counter it is.
    pub counter: Option<CounterId>,
    /// Whether its states have a register.
    pub has_register: bool,
    /// What stands for all its register rules.
    pub strictest: Option<RegisterRule>,
    pub distinct: Option<Distinct>,
}

pub(super) struct Builder<'a> {
    pub members: SmallVec<[Member<'a>; 1]>,
    pub entries: &'a [Option<Entry>],
    pub merges: bool,
    pub counters: Vec<Counter>,
    pub register_rules: Vec<RegisterRule>,
    pub register_rule_ids: HashMap<RegisterRule, RegisterRuleId>,
    /// The declared keys of all members.
    pub declared_keys: SmallVec<[Arc<DeclaredKeys>; 1]>,
    /// What fingerprints of lists begin with.
    pub seed: u64,
    pub bounds: Bounds<'a>,
    /// Moves of the lists and what they push.
    pub n_listed: usize,
    /// Items of all sets together.
    pub n_members: usize,
    /// Whether the states are those of the one member's automaton: each of them is simple ([`Builder::is_simple`]).
    pub is_direct: bool,
    pub workspace: &'a mut Workspace,
}

impl<'a> Builder<'a> {
    pub fn new(
        network: &'a FinishedNetwork,
        ids: &[NetRuleId],
        entries: &'a [Option<Entry>],
        merges: bool,
        bounds: Bounds<'a>,
        workspace: &'a mut Workspace,
    ) -> Self {
        let mut members = SmallVec::with_capacity(ids.len());
        let mut counters = Vec::new();
        let mut n_single = 0;
        let mut declared_keys: SmallVec<[Arc<DeclaredKeys>; 1]> = SmallVec::new();
        for &id in ids {
            let rule = network.rule(id);
            members.push(Member {
                id,
                rule,
                single_base: n_single + 1,
                declared_keys_base: declared_keys.len() as u32,
                counter: rule.counter.map(|_| CounterId::new(counters.len())),
                has_register: rule.counter.is_some() || rule.automaton.has_register(),
                strictest: rule.automaton.strictest_register_rule(),
                distinct: rule.automaton.distinct(),
            });
            n_single += 1 + rule.automaton.n_states() as u32;
            counters.extend(rule.counter);
            declared_keys.extend(rule.automaton.declared_keys().iter().cloned());
        }
        workspace.clear(n_single as usize);
        let mut builder = Builder {
            members,
            entries,
            merges,
            counters,
            register_rules: Vec::new(),
            register_rule_ids: HashMap::new(),
            declared_keys,
            seed: DefaultHashBuilder::default().hash_one(ids),
            bounds,
            n_listed: 0,
            n_members: 0,
            is_direct: false,
            workspace,
        };
        builder.is_direct = match &builder.members[..] {
            [Member { rule, .. }] if merges && rule.counter.is_none() => {
                (0..rule.automaton.n_states() as u32).all(|state| builder.is_simple(rule, state))
            }
            _ => false,
        };
        builder
    }

    pub fn automaton(&self, member: u32) -> &'a RuleAutomaton {
        &self.members[member as usize].rule.automaton
    }

    /// Returns the member that is a rule, unless the rule is of another unit.
    pub fn member_of(&self, rule: NetRuleId) -> Option<u32> {
        // Members are ascending.
        self.members.binary_search_by_key(&rule, |member| member.id).ok().map(|member| member as u32)
    }

    pub fn state(&mut self, items: Items) -> LocalState {
        if let [item] = items[..] {
            return self.single(item);
        }
        *self.workspace.ids.entry(items).or_insert_with_key(|items| {
            self.n_members += items.len();
            self.workspace.sets.push(items.clone());
            LocalState::new(self.workspace.sets.len() - 1)
        })
    }

    /// Returns the state of one item.
    pub fn single(&mut self, item: Item) -> LocalState {
        if self.is_direct {
            return LocalState(item.state);
        }
        // Nearly all sets have one item, and need no hashing.
        let at = self.members[item.member as usize].single_base.wrapping_add(item.state) as usize;
        if self.workspace.single_ids[at] == NO_STATE {
            self.workspace.single_ids[at] = LocalState::new(self.workspace.sets.len());
            self.n_members += 1;
            self.workspace.sets.push(SmallVec::from_slice(&[item]));
        }
        self.workspace.single_ids[at]
    }

    /// Returns the state in which a member begins.
    pub fn start(&mut self, member: u32) -> LocalState {
        let state = if self.members[member as usize].counter.is_some() { LOOP } else { 0 };
        self.state(SmallVec::from_slice(&[Item { member, state }]))
    }

    /// Returns the states that stand for these items: one, or one each when items are not put together.
    pub fn states(&mut self, mut items: Items) -> SmallVec<[LocalState; 2]> {
        items.sort_unstable();
        items.dedup();
        if self.merges {
            return SmallVec::from_slice(&[self.state(items)]);
        }
        items.into_iter().map(|item| self.state(SmallVec::from_slice(&[item]))).collect()
    }

    /// Returns the states that stand for items which calls return to: values that are kept apart in different ways are never one state.
    pub fn return_states(&mut self, mut items: Items) -> SmallVec<[LocalState; 2]> {
        let value = |builder: &Self, item: &Item| builder.automaton(item.member).element(item.state);
        let mut states = SmallVec::new();
        while let Some(first) = items.first() {
            let distinct = value(self, first);
            let (alike, others) = items.into_iter().partition(|item| value(self, item) == distinct);
            states.extend(self.states(alike));
            items = others;
        }
        states
    }

    pub fn slot(&mut self, unit: &Arc<Unit>) -> u32 {
        let Workspace { slot_of, children, .. } = &mut *self.workspace;
        *slot_of.entry(unit.uid).or_insert_with(|| {
            children.push(Arc::clone(unit));
            children.len() as u32
        })
    }

    /// Returns where a rule of another unit begins.
    pub fn child(&mut self, callee: NetRuleId) -> StateRef {
        let entries = self.entries;
        let entry = entries[callee.index()].as_ref().expect("callees are built before their callers");
        StateRef { slot: self.slot(&entry.unit), state: entry.state }
    }

    /// Returns the list of some moves.
    pub fn list(&mut self, moves: &mut MoveList) -> MoveListId {
        if moves.len() > 1 {
            moves.sort_unstable();
            moves.dedup();
        }
        let Builder { workspace, seed, .. } = self;
        let Workspace { listed, list_ends, list_ids, .. } = &mut **workspace;
        let fingerprint = fingerprint(*seed, moves);
        let is_it = |&(known, id): &(u64, MoveListId)| {
            let first = if id.0 == 0 { 0 } else { list_ends[id.index() - 1] };
            known == fingerprint && listed[first as usize..list_ends[id.index()] as usize] == moves[..]
        };
        if let Some(&(_, id)) = list_ids.find(fingerprint, is_it) {
            return id;
        }
        self.n_listed += moves.iter().map(Move::n_counted).sum::<usize>();
        listed.extend(moves.drain(..));
        list_ends.push(listed.len() as u32);
        let id = MoveListId::new(list_ends.len() - 1);
        list_ids.insert_unique(fingerprint, (fingerprint, id), |&(fingerprint, _)| fingerprint);
        id
    }

    /// Tells whether a state of a rule reads bytes, each to one place, and calls rules of other units, each from one place.
    pub fn is_simple(&self, rule: &FinishedRule, state: u32) -> bool {
        // Edges are sorted by their labels, bytes first.
        let edges = rule.automaton.edges(state);
        if let [Edge { label: Label::Bytes(..), .. }] = edges {
            return true;
        }
        let (bytes, calls) = edges.split_at(n_bytes(edges));
        are_apart(bytes)
            && calls.iter().all(|edge| match edge.label {
                Label::Call(called) => self.member_of(rule.callee(called)).is_none(),
                _ => false,
            })
            && calls.windows(2).all(|pair| pair[0].label != pair[1].label)
    }
}

/// Returns a number that different lists of moves have in common very rarely.
fn fingerprint(seed: u64, moves: &[Move]) -> u64 {
    // A list is a few words, which a general hash takes a hundred steps for.
    let add = |all: u64, place: &StateRef| mixed(all ^ (u64::from(place.slot) << 32 | u64::from(place.state.0)));
    moves.iter().fold(seed, |all, one| add(one.pushes.iter().fold(all, add), &one.target))
}

/// Returns how many of some edges read bytes: they come first.
pub(super) fn n_bytes(edges: &[Edge]) -> usize {
    edges.iter().take_while(|edge| matches!(edge.label, Label::Bytes(..))).count()
}

/// Tells whether edges that read bytes, in their order, have no byte in common.
fn are_apart(edges: &[Edge]) -> bool {
    edges.windows(2).all(|pair| match (pair[0].label, pair[1].label) {
        (Label::Bytes(_, high), Label::Bytes(low, _)) => high < low,
        _ => false,
    })
}

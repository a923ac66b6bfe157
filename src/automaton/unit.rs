//! A unit: the piece of automaton that is built, shared and classified as a whole.
//!
//! A unit holds the rules of one strongly connected component of the call graph. Its moves are *real-time*: a state and a byte give
//! a target and the return states to push, with the closure over calls already done, so that running never follows empty moves
//! except to return. Reading `{` in JSON's `value`, say, gives one move: target `object, expecting a key`, nothing pushed.
//!
//! ```text
//! table[state][class of byte] = none                       no text goes on like this
//!                             | target                     one move inside the unit, nothing pushed (nearly always)
//!                             | list of (pushes, target)   anything else
//! ```
//!
//! A target or a return state may lie in a *child* unit: one that this one calls. Units depend on their content alone: children are
//! units interned before, control tokens are ids, counters are their bounds. So equal units of different grammars are one.

use super::moves::{LocalState, Move, MoveListId, PackedMove, Run, Runs};
use super::state::{CounterId, RegisterRuleId, StateInfo, StateInfos};
use super::table::MoveTable;
use crate::machine::{Counter, DeclaredKeys, Distinct, RegisterRule};
use crate::pass::{ControlKind, ControlLetter, TokenSets};
use crate::util::ByteSet;
use core::hash::{Hash, Hasher};
use core::sync::atomic::AtomicBool;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// The control tokens that a state reads, ascending, then sets of tokens, with their list. One that is named and spells a part of a literal stands twice.
pub(super) type ControlRow = Box<[ControlMove]>;

/// A letter that is tokens, and its list.
type ControlMove = (ControlLetter, MoveListId);

/// What a unit is made of; equal contents are the same unit.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) struct Content {
    pub table: MoveTable,
    /// The moves of all lists.
    pub moves: Box<[Move]>,
    /// By list: where its moves end.
    pub list_ends: Box<[u32]>,
    pub infos: StateInfos,
    /// By state: the control tokens that it reads, ascending, with their list.
    pub controls: Box<[ControlRow]>,
    /// What letters that are sets mean, if states read some.
    pub token_sets: Option<Arc<TokenSets>>,
    pub counters: Box<[Counter]>,
    pub register_rules: Box<[RegisterRule]>,
    /// Lists of declared keys; [`Distinct::declared_keys`] is an index here.
    pub declared_keys: SmallVec<[Arc<DeclaredKeys>; 1]>,
    pub children: SmallVec<[Arc<Unit>; 2]>,
    /// The start states by entry.
    pub entries: SmallVec<[LocalState; 4]>,
    /// Whether some state is a [`Kind::DistinctValue`].
    pub has_distinct_values: bool,
}

impl Content {
    /// Returns about how much memory a unit of this content takes, in bytes, without its children.
    fn memory_bytes(&self) -> usize {
        let spilled = |one: &Move| if one.pushes.spilled() { size_of_val(&*one.pushes) } else { 0 };
        let moves: usize = self.moves.iter().map(|one| size_of::<Move>() + spilled(one)).sum();
        let controls: usize = self.controls.iter().map(|row| size_of_val(&**row) + size_of::<Box<[u8]>>()).sum();
        size_of::<Unit>()
            + 256
            + self.table.memory_bytes()
            + self.infos.memory_bytes()
            + self.register_rules.iter().map(RegisterRule::memory_bytes).sum::<usize>()
            + self.declared_keys.iter().map(|declared_keys| declared_keys.memory_bytes() + 32).sum::<usize>()
            + size_of_val(&*self.list_ends)
            + moves
            + controls
            + self.token_sets.as_ref().map_or(0, |sets| sets.memory_bytes())
            + size_of_val(&*self.children)
    }
}

/// A state of a unit, whichever programs it is in; names it for as long as the process lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnitState {
    /// [`Unit::uid`].
    pub uid: u32,
    pub state: LocalState,
}

impl Hash for UnitState {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Both as one word.
        state.write_u64(u64::from(self.uid) << 32 | u64::from(self.state.0));
    }
}

/// An interned unit.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Identifies the content for as long as the process lives; never used again.
    pub uid: u32,
    /// For people: the rules that the unit was first built from.
    pub name: Cow<'static, str>,
    /// Moves, those of lists with what they push.
    pub n_moves: usize,
    n_bytes: usize,
    pub content: Content,
    /// By entry: the moves of its start state, once asked for.
    first_runs: SmallVec<[OnceLock<Runs>; 1]>,
    /// The bytes of each column of the table, once asked for.
    column_bytes: OnceLock<Box<[ByteSet]>>,
    /// The bytes that some state reads, once asked for.
    all_bytes: OnceLock<ByteSet>,
    /// By state, once asked for: what can be read without a bound.
    pub(super) unbounded: OnceLock<Box<[u8]>>,
    /// By state, once asked for: whether that was seen at a glance.
    pub(super) seen_unbounded: OnceLock<Box<[AtomicBool]>>,
}

impl Drop for Unit {
    /// Drops children one after the other: a chain of units can be as long as the grammar has rules.
    fn drop(&mut self) {
        let mut pending = core::mem::take(&mut self.content.children);
        while let Some(child) = pending.pop() {
            if let Some(mut last) = Arc::into_inner(child) {
                pending.extend(core::mem::take(&mut last.content.children));
            }
        }
    }
}

impl PartialEq for Unit {
    fn eq(&self, other: &Unit) -> bool {
        self.uid == other.uid
    }
}

impl Eq for Unit {}

impl Hash for Unit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uid.hash(state);
    }
}

impl Unit {
    pub fn new(uid: u32, name: Cow<'static, str>, content: Content) -> Self {
        let first_runs = content.entries.iter().map(|_| OnceLock::new()).collect();
        let n_moves = content.table.n_moves() + content.moves.iter().map(Move::n_counted).sum::<usize>();
        let n_bytes = content.memory_bytes();
        Unit {
            uid,
            name,
            n_moves,
            n_bytes,
            content,
            first_runs,
            column_bytes: OnceLock::new(),
            all_bytes: OnceLock::new(),
            unbounded: OnceLock::new(),
            seen_unbounded: OnceLock::new(),
        }
    }

    /// Returns the bytes that `state` reads, ascending, neighbours with the same move together.
    pub fn runs(&self, state: LocalState) -> Cow<'_, [Run]> {
        // Callers take over the moves of start states again and again.
        match self.content.entries.iter().position(|&entry| entry == state) {
            Some(entry) => Cow::Borrowed(self.first_runs[entry].get_or_init(|| self.content.table.runs(state))),
            None => Cow::Owned(self.content.table.runs(state).into_vec()),
        }
    }

    #[inline]
    pub fn n_states(&self) -> usize {
        self.content.infos.len()
    }

    /// Names a state of the unit beyond it.
    #[inline]
    pub fn unit_state(&self, state: LocalState) -> UnitState {
        UnitState { uid: self.uid, state }
    }

    /// Returns the states.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = LocalState> + use<> {
        (0..self.n_states() as u32).map(LocalState)
    }

    #[inline]
    pub fn code(&self, state: LocalState, byte: u8) -> PackedMove {
        self.content.table.code(state, byte)
    }

    /// Returns the classes of all bytes.
    #[inline]
    pub fn classes(&self) -> &[u8; 256] {
        self.content.table.class_of()
    }

    /// Returns the class of a byte: bytes of one class have the same moves everywhere in the unit.
    #[inline]
    pub fn class(&self, byte: u8) -> u8 {
        self.content.table.class_of()[usize::from(byte)]
    }

    /// Returns the bytes that `state` reads.
    pub fn bytes(&self, state: LocalState) -> ByteSet {
        self.moves_of_bytes(state).fold(ByteSet::EMPTY, |all, (bytes, _)| all | bytes)
    }

    /// Returns the moves of `state`, each with bytes that have it. Several may be the same.
    pub fn moves_of_bytes(&self, state: LocalState) -> impl Iterator<Item = (ByteSet, PackedMove)> {
        self.content.table.moves_by_column(state, self.column_bytes())
    }

    /// Tells whether two states read the same bytes.
    pub fn reads_alike(&self, state: LocalState, other: LocalState) -> bool {
        self.content.table.reads_alike(state, other)
    }

    /// Returns the bytes that some state reads.
    pub fn all_bytes(&self) -> ByteSet {
        *self.all_bytes.get_or_init(|| self.content.table.all_bytes(self.column_bytes()))
    }

    fn column_bytes(&self) -> &[ByteSet] {
        self.column_bytes.get_or_init(|| self.content.table.column_bytes())
    }

    #[inline]
    pub fn info(&self, state: LocalState) -> StateInfo {
        self.content.infos.get(state)
    }

    #[inline]
    pub fn list(&self, list: MoveListId) -> &[Move] {
        let (ends, list) = (&self.content.list_ends, list.index());
        let first = if list == 0 { 0 } else { ends[list - 1] };
        &self.content.moves[first as usize..ends[list] as usize]
    }

    #[inline]
    pub fn counter(&self, counter: CounterId) -> &Counter {
        &self.content.counters[counter.index()]
    }

    #[inline]
    pub fn register_rule(&self, rule: RegisterRuleId) -> &RegisterRule {
        &self.content.register_rules[rule.index()]
    }

    /// Tells whether the states count tokens.
    pub fn counts_tokens(&self) -> bool {
        self.content.register_rules.iter().any(RegisterRule::counts_tokens)
    }

    /// Returns the values that are taken before any was read.
    #[inline]
    pub fn declared_keys(&self, distinct: Distinct) -> Option<&DeclaredKeys> {
        distinct.declared_keys.map(|index| &*self.content.declared_keys[index as usize])
    }

    /// Returns the lists of moves of `state` by a token that is read as a whole: as one that the grammar names, as one that spells a part of a literal, and, if `is_of_sets`, as one
    /// of each set that holds it.
    pub fn control_lists(
        &self,
        state: LocalState,
        token: u32,
        is_of_sets: bool,
    ) -> impl Iterator<Item = MoveListId> + '_ {
        let (named, sets) = self.named_and_sets(state);
        let first = named.partition_point(|&(letter, _)| letter < ControlLetter::named(token));
        let named = named[first..].iter().take_while(move |(letter, _)| letter.kind() == ControlKind::Token(token));
        let sets = if is_of_sets { sets } else { &[] };
        let holding = sets.iter().filter(move |(letter, _)| match (letter.kind(), &self.content.token_sets) {
            (ControlKind::Set(set), Some(sets)) => sets.contains(set, token),
            _ => false,
        });
        named.chain(holding).map(|&(_, list)| list)
    }

    /// Returns the letters of `state` that are one token, and those that are sets, with their list.
    fn named_and_sets(&self, state: LocalState) -> (&[ControlMove], &[ControlMove]) {
        let controls = self.controls(state);
        let n_named = match controls.last() {
            Some((last, _)) if last.is_set() => controls.partition_point(|(letter, _)| !letter.is_set()),
            _ => controls.len(),
        };
        controls.split_at(n_named)
    }

    /// Returns the tokens that `state` reads as a whole one by one, ascending, some of them twice.
    pub fn named_tokens(&self, state: LocalState) -> impl Iterator<Item = u32> + '_ {
        self.named_and_sets(state).0.iter().filter_map(|(letter, _)| match letter.kind() {
            ControlKind::Token(token) => Some(token),
            ControlKind::Set(_) => None,
        })
    }

    /// Returns the sets of tokens that `state` reads, each by the ranges of tokens that are not in it, ascending.
    pub fn sets_read(&self, state: LocalState) -> impl Iterator<Item = &[(u32, u32)]> {
        self.named_and_sets(state).1.iter().filter_map(|(letter, _)| match (letter.kind(), &self.content.token_sets) {
            (ControlKind::Set(set), Some(sets)) => Some(sets.excluded(set)),
            _ => None,
        })
    }

    /// Returns the control tokens that `state` reads, ascending, then the sets of tokens, with their list.
    #[inline]
    pub fn controls(&self, state: LocalState) -> &[ControlMove] {
        if self.content.controls.is_empty() { &[] } else { &self.content.controls[state.index()] }
    }

    /// Returns about how much memory the unit takes, in bytes, without its children.
    #[inline]
    pub fn memory_bytes(&self) -> usize {
        self.n_bytes
    }
}

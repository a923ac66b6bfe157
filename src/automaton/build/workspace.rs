//! What building a unit works with: items, contexts, and memory that one unit after the other is built in.

use super::super::moves::{LocalState, Move, MoveListId, StateRef};
use super::super::table::{Piece, Rows, Target};
use super::super::unit::Unit;
use crate::pass::{ControlLetter, Label, NetRuleId, Splitter};
use crate::util::RingCache;
use hashbrown::{HashMap, HashSet, HashTable};
use smallvec::SmallVec;
use std::sync::Arc;

/// Most ranges of a row that is short.
pub(super) const SHORT_ROW: usize = 4;

/// A state of a member's automaton. `state == LOOP` is the place between two copies of a counted body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Item {
    pub member: u32,
    pub state: u32,
}

pub(super) const LOOP: u32 = u32::MAX;

/// No state yet.
pub(super) const NO_STATE: LocalState = LocalState(u32::MAX);

pub(super) type Items = SmallVec<[Item; 4]>;

pub(super) type Chain = SmallVec<[StateRef; 4]>;

/// Items at the end of a chain of pushed return states.
pub(super) struct Context {
    pub chain: Chain,
    pub at: At,
}

pub(super) enum At {
    Items(Items),
    /// The entry of a child.
    Child(StateRef),
}

/// Memory that one unit after the other is built in.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The states of sets with several items.
    pub(super) ids: HashMap<Items, LocalState>,
    /// The states of sets with one item, [`NO_STATE`] where there is none yet.
    pub(super) single_ids: Vec<LocalState>,
    pub(super) sets: Vec<Items>,
    /// Units that are called, and the slot of each by its number.
    pub(super) children: Vec<Arc<Unit>>,
    pub(super) slot_of: HashMap<u32, u32>,
    pub(super) child_rows: HashMap<(Chain, StateRef), ChildRow>,
    /// The moves of all lists, where each list ends, and the lists by what they hold.
    pub(super) listed: Vec<Move>,
    pub(super) list_ends: Vec<u32>,
    pub(super) list_ids: HashTable<(u64, MoveListId)>,
    /// The last lists that two targets became together, the next to be replaced first.
    pub(super) joined: RingCache<(Target, Target), Target, 4>,
    /// The last short rows of children's states over one return state: by that, and the child's.
    pub(super) short_rows: RingCache<(StateRef, StateRef), SmallVec<[Piece; SHORT_ROW]>, 8>,
    pub(super) scratch: Scratch,
    pub(super) contexts: Vec<Context>,
    pub(super) row_scratch: RowScratch,
    pub(super) closing: Option<Closing>,
    pub(super) rows: Rows,
}

impl Workspace {
    /// Largest table that is kept: clearing one takes as long as it is large.
    pub(super) const CAPACITY_MAX: usize = 4096;

    /// Tells whether the memory is worth keeping until the next grammar.
    pub fn is_small(&self) -> bool {
        const ROWS_MAX: usize = 1 << 14;
        let lists = self.listed.capacity().max(self.list_ends.capacity());
        let states = self.single_ids.capacity().max(self.sets.capacity());
        lists.max(states).max(self.rows.bytes.capacity()) <= ROWS_MAX
    }

    /// Forgets all but the memory, for a unit with so many items.
    pub(super) fn clear(&mut self, n_items: usize) {
        let is_large = |capacity: usize| capacity > Self::CAPACITY_MAX;
        let of_closing = |closing: &Closing| {
            closing.entered.capacity().max(closing.call_of.capacity()).max(closing.group_of.capacity())
        };
        let of_maps = self.ids.capacity().max(self.slot_of.capacity()).max(self.child_rows.capacity());
        if is_large(of_maps)
            || is_large(self.list_ids.capacity())
            || self.closing.as_ref().is_some_and(|of| is_large(of_closing(of)))
        {
            *self = Workspace::default();
        }
        self.ids.clear();
        self.single_ids.clear();
        self.single_ids.resize(n_items, NO_STATE);
        self.sets.clear();
        self.children.clear();
        self.slot_of.clear();
        self.child_rows.clear();
        self.listed.clear();
        self.list_ends.clear();
        self.list_ids.clear();
        self.joined.clear();
        self.short_rows.clear();
    }
}

/// The memory in which calls are sorted out.
#[derive(Default)]
pub(super) struct Closing {
    /// Rules entered at the end of the same chain.
    pub entered: HashSet<NetRuleId>,
    /// Calls by callee, with what they return to.
    pub calls: Vec<(NetRuleId, Items)>,
    pub call_of: HashMap<NetRuleId, usize>,
    /// Members that are entered together, by where they return to.
    pub groups: Vec<(LocalState, Items)>,
    pub group_of: HashMap<LocalState, usize>,
}

/// The moves of one letter, nearly always one or two.
pub(super) type MoveList = SmallVec<[Move; 2]>;

/// Where control tokens lead.
pub(super) type ControlPieces = SmallVec<[(ControlLetter, Target); 4]>;

/// The moves of a child's state as seen from the unit, over a chain.
#[derive(Clone, Default)]
pub(super) struct ChildRow {
    pub bytes: Vec<Piece>,
    pub controls: Vec<(ControlLetter, Target)>,
}

/// Moves made for a row.
#[derive(Default)]
pub(super) struct MadeMoves {
    pub moves: Vec<Move>,
    /// By letter: the places of its moves.
    pub by_letter: Splitter,
    /// The moves with what they push, and what waits to become moves.
    pub n_counted: usize,
}

impl MadeMoves {
    pub fn add(&mut self, label: Label, one: Move) {
        self.n_counted += 1 + one.pushes.len();
        self.by_letter.add(label, self.moves.len() as u32);
        self.moves.push(one);
    }
}

/// Memory in which rows are made.
#[derive(Default)]
pub(super) struct RowScratch {
    pub made: MadeMoves,
    pub pieces: Vec<Piece>,
    pub merged: Vec<Piece>,
    pub theirs: ChildRow,
}

impl RowScratch {
    /// Takes the memory of moves, without moves.
    pub fn take_moves(&mut self) -> MadeMoves {
        let MadeMoves { mut moves, mut by_letter, .. } = core::mem::take(&mut self.made);
        moves.clear();
        by_letter.clear();
        MadeMoves { moves, by_letter, n_counted: 0 }
    }
}

/// What the items of one context read: letters with positions of `targets`.
#[derive(Default)]
pub(super) struct Scratch {
    pub letters: Splitter,
    pub targets: Vec<Item>,
}

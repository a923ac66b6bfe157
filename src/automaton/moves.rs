//! Moves of a unit's states: where a byte or a control token leads, and what it pushes.

use crate::util::index_type;
use core::hash::{Hash, Hasher};
use smallvec::SmallVec;

index_type!(
    /// Names a state of a unit, within that unit.
    pub(crate) LocalState
);

index_type!(
    /// Names a list of moves of a unit.
    pub(crate) MoveListId
);

/// A state of a unit or of one of its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) struct StateRef {
    /// 0: the unit itself; k: its child k - 1.
    pub slot: u32,
    pub state: LocalState,
}

impl Hash for StateRef {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Both as one word.
        state.write_u64(u64::from(self.slot) << 32 | u64::from(self.state.0));
    }
}

impl StateRef {
    pub fn own(state: LocalState) -> Self {
        StateRef { slot: 0, state }
    }
}

/// One way to go on: push frames, then be in the target. The register of the state that is left goes to the first frame, or to the
/// target if nothing is pushed; all others start at 0.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) struct Move {
    /// The return states, bottom first.
    pub pushes: Pushes,
    pub target: StateRef,
}

impl Hash for Move {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A word each, without their number, which is seldom all that differs.
        self.pushes.iter().for_each(|place| place.hash(state));
        self.target.hash(state);
    }
}

/// Return states; a move nearly always pushes one or two.
pub(crate) type Pushes = SmallVec<[StateRef; 2]>;

impl Move {
    /// Returns how many moves of a grammar's automata it counts as: in a list it takes several times the time and memory of one in a table.
    pub fn n_counted(&self) -> usize {
        2 * (1 + self.pushes.len())
    }

    /// Tells whether the move stays inside the unit and pushes nothing.
    pub fn is_simple(&self) -> bool {
        self.pushes.is_empty() && self.target.slot == 0
    }
}

/// An entry of the move table, packed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PackedMove(u32);

/// An entry of the move table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// No move.
    None,
    /// To a state of this unit that is [`Kind::Inner`] and has moves; nothing pushed.
    Plain(LocalState),
    /// To a state of this unit; nothing pushed.
    Local(LocalState),
    /// The moves of a list.
    List(MoveListId),
}

impl PackedMove {
    pub const NONE: PackedMove = PackedMove(0);
    const LIST: u32 = 1 << 31;
    const LOCAL: u32 = 1 << 30;

    /// Returns the entry as bits: some, unless it is [`Self::NONE`].
    #[inline]
    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn plain(state: LocalState) -> Self {
        PackedMove(state.0 + 1)
    }

    pub fn local(state: LocalState) -> Self {
        PackedMove((state.0 + 1) | Self::LOCAL)
    }

    pub fn list(list: MoveListId) -> Self {
        PackedMove(list.0 | Self::LIST)
    }

    #[inline]
    pub fn step(self) -> Step {
        match self.0 {
            0 => Step::None,
            code if code & Self::LIST != 0 => Step::List(MoveListId(code & !Self::LIST)),
            code if code & Self::LOCAL != 0 => Step::Local(LocalState((code & !Self::LOCAL) - 1)),
            code => Step::Plain(LocalState(code - 1)),
        }
    }
}

/// Neighbouring bytes that have the same move.
pub(super) type Run = (u8, u8, PackedMove);

/// All of a state, ascending: nearly always few.
pub(super) type Runs = SmallVec<[Run; 4]>;

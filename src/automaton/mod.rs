//! Automata over bytes: units, the store that shares them, and the programs that link them.

mod bounds;
mod build;
mod dump;
mod link;
mod moves;
mod registers;
mod state;
mod store;
mod table;
mod unbounded;
mod unit;

pub(crate) use build::Entry;
pub(crate) use dump::{dump_dot, dump_text};
pub(crate) use link::{BELOW, DONE, Linked, Program, ProgramId, StateId};
pub(crate) use moves::{LocalState, MoveListId, PackedMove, Step};
#[cfg(feature = "testing")]
pub(crate) use state::CounterId;
pub(crate) use state::{Kind, Owner, Reads, RegisterRuleId};
pub(crate) use store::UnitStore;
pub(crate) use unit::{Unit, UnitState};

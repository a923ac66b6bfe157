//! Small state machines that would be far too large as finite automata.
//!
//! A machine carries its state in a *register*, 64 bits beside the automaton state (and in the frame, while something is called
//! from inside it). The automaton tells the machine when a piece has been read; the machine tells the automaton whether more may
//! follow and whether it may end; and it maps registers that no token could tell apart to one *signature*, so that masks are
//! shared among them.

mod counter;
mod distinct;
mod length;
mod reserved;
mod residue;
mod tally;

pub use counter::Counter;
pub(crate) use counter::merged_bounds;
pub use distinct::{Distinct, Equality, RunsOut};
pub(crate) use distinct::{Leaves, canonical_number};
pub use length::Length;
pub use reserved::Reserved;
pub use residue::{End, Residue, Way, Ways};
pub use tally::Tally;

/// The state of a machine, in 64 bits. What they mean is the machine's own business; 0 is the state on entry.
pub type Register = u64;

/// A state machine driven by the completion of pieces (a copy of the repeated body, a key, an item).
pub trait Machine {
    /// Returns the state after one more piece, or `None` when no such piece may stand here.
    fn advance(&self, register: Register) -> Option<Register>;

    /// Tells whether the machine may end in this state.
    fn may_end(&self, register: Register) -> bool;

    /// Tells whether one more piece may begin in this state.
    fn may_continue(&self, register: Register) -> bool;

    /// Returns a state that no `horizon` further pieces can tell from `register`: the same questions get the same answers.
    /// Each piece has at least one byte, so the longest token's length is a horizon that masks can use.
    fn signature(&self, register: Register, horizon: u32) -> Register;

    /// Returns one state that stands for both, if there is one; it is `a` if `a` allows all that `b` does. To join many states, join
    /// neighbours in ascending order.
    fn join(&self, a: Register, b: Register) -> Option<Register>;
}

//! Heads: the places where a text can lead, and what their registers let follow.

use crate::automaton::{Kind, Program, StateId};
use crate::machine::Counter;
use crate::util::index_type;

index_type!(
    /// Names a node of a [`Stacks`](super::stack::Stacks).
    pub(crate) StackNodeId
);

/// The node below everything: it returns to one given state.
pub(crate) const BOTTOM: StackNodeId = StackNodeId(0);

/// A place where a text can lead: a state, the stack below it, and the register of the state's machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Head {
    pub state: StateId,
    pub node: StackNodeId,
    pub register: u64,
}

const _: () = assert!(size_of::<Head>() == 16);

/// The places where one text can lead, sorted, each once. Empty: the text is not a prefix of any sentence.
pub(crate) type Configuration = Vec<Head>;

/// Returns a register that no `horizon` bytes can tell from `register` in `state`, whatever values there are.
pub(crate) fn signature(program: &Program, state: StateId, register: u64, horizon: u32) -> u64 {
    if register == 0 {
        return 0;
    }
    program.place(state).map_or(register, |(linked, local)| linked.unit.signature(local, register, horizon))
}

/// Tells whether returning needs no more bytes.
pub(crate) fn can_end(program: &Program, head: Head) -> bool {
    program.place(head.state).is_some_and(|(linked, local)| linked.unit.can_end(local, head.register))
}

/// Tells whether `head`, which may end, stands for a head of its state with this register that returning from it leads to.
pub(super) fn stands_for(program: &Program, head: Head, register: u64) -> bool {
    let Some((linked, local)) = program.place(head.state) else { return false };
    match linked.unit.info(local).kind {
        Kind::Loop { counter } => implies(linked.unit.counter(counter), head.register, register),
        _ => register == head.register,
    }
}

/// Tells whether a counter that may end in `register`, over a node that returns to its own state with the register `below`, can do all
/// that the lower one can: read as many copies, and then return twice.
fn implies(counter: &Counter, register: u64, below: u64) -> bool {
    counter.can_end(below) && counter.join(register, below) == Some(register)
}

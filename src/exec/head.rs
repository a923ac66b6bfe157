//! Heads: the places where a text can lead, and which of their registers are one.

use crate::automaton::{Program, StateId};
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

/// Makes one head of those that differ at most in registers which one register can stand for. The heads are sorted by state, node and
/// register; those that are left come first, and their number is returned.
pub(super) fn join_registers(program: &Program, heads: &mut [Head]) -> usize {
    let mut n_kept = 0;
    for index in 0..heads.len() {
        let head = heads[index];
        if let Some(last) = heads[..n_kept].last_mut()
            && (last.state, last.node) == (head.state, head.node)
            && let Some(register) = joined(program, *last, head.register)
        {
            last.register = register;
            continue;
        }
        heads[n_kept] = head;
        n_kept += 1;
    }
    n_kept
}

/// Returns the register that stands for that of `head` and for `other`, if there is one.
pub(super) fn joined(program: &Program, head: Head, other: u64) -> Option<u64> {
    let (linked, local) = program.place(head.state)?;
    linked.unit.join(local, head.register, other)
}

/// Returns a register that no `horizon` bytes can tell from `register` in `state`, whatever values there are.
pub(crate) fn signature(program: &Program, state: StateId, register: u64, horizon: u32) -> u64 {
    if register == 0 {
        return 0;
    }
    program.place(state).map_or(register, |(linked, local)| linked.unit.signature(local, register, horizon))
}

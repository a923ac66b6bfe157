//! What rollback needs: one snapshot per accepted step.
//!
//! The usual snapshot is one head without a register, and takes 12 bytes:
//!
//! ```text
//! | 1 bit: spilled | 8 bits: nodes added | 23 bits: state |   32 bits: node   |   32 bits: token |
//! ```
//!
//! Anything else (several heads, a register, termination, many nodes, bytes instead of a token) goes to other tables, and the
//! snapshot holds its place there; of bytes where they begin instead of the node, and their number instead of the token. All are in chunks, so that copies share them, and rolling back truncates them.

use crate::automaton::StateId;
use crate::exec::{Configuration, Head, StackNodeId};
use crate::util::chunked::Chunked;
use crate::vocab::TokenId;

/// One step of what a matcher accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AcceptedPiece {
    /// A token.
    Token(TokenId),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// The state of a matcher apart from its stacks, before a step.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub is_terminated: bool,
    /// The number of nodes.
    pub n_nodes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    head: u32,
    node: u32,
    token: u32,
}

const _: () = assert!(size_of::<Step>() == 12);

const SPILLED: u32 = 1 << 31;
const STATE_BITS: u32 = 23;
const STATE_MAX: StateId = StateId((1 << STATE_BITS) - 1);
const NODES_MAX: u32 = 0xff;

/// A snapshot that doesn't fit in a [`Step`].
#[derive(Clone, Copy, Debug)]
struct Spilled {
    kind: SpilledKind,
    /// Where its heads begin, up to those of the next one.
    first_head: u32,
    /// Nodes added by the step.
    n_nodes: u32,
}

const _: () = assert!(size_of::<Spilled>() == 12);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SpilledKind {
    /// The step accepted a token.
    Token,
    /// The step accepted a token after the output had ended.
    TokenAtEnd,
    /// The step accepted bytes.
    Bytes,
}

/// The snapshots of a matcher.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    steps: Chunked<Step>,
    spilled: Chunked<Spilled>,
    /// The heads of all spilled snapshots.
    heads: Chunked<Head>,
    /// The bytes accepted as such.
    bytes: Chunked<u8>,
}

impl History {
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn memory_bytes(&self) -> usize {
        self.steps.memory_bytes() + self.spilled.memory_bytes() + self.heads.memory_bytes() + self.bytes.memory_bytes()
    }

    /// Adds the snapshot from before a step that accepted a token; the step added `n_nodes` nodes.
    pub fn push_token(&mut self, live: &[Head], is_terminated: bool, n_nodes: u32, token: TokenId) {
        match *live {
            [Head { state, node, register: 0 }] if !is_terminated && state <= STATE_MAX && n_nodes <= NODES_MAX => {
                self.steps.push(Step { head: n_nodes << STATE_BITS | state.0, node: node.0, token });
            }
            _ => {
                let kind = if is_terminated { SpilledKind::TokenAtEnd } else { SpilledKind::Token };
                self.spill(live, kind, n_nodes, (0, token));
            }
        }
    }

    /// Adds the snapshot from before a step that accepted bytes.
    pub fn push_bytes(&mut self, live: &[Head], n_nodes: u32, bytes: &[u8]) {
        let start = self.bytes.len() as u32;
        bytes.iter().for_each(|&byte| self.bytes.push(byte));
        self.spill(live, SpilledKind::Bytes, n_nodes, (start, bytes.len() as u32));
    }

    fn spill(&mut self, live: &[Head], kind: SpilledKind, n_nodes: u32, (node, token): (u32, u32)) {
        let head = self.spilled.len() as u32 | SPILLED;
        let first_head = self.heads.len() as u32;
        self.spilled.push(Spilled { kind, first_head, n_nodes });
        live.iter().for_each(|&head| self.heads.push(head));
        self.steps.push(Step { head, node, token });
    }

    /// Takes the last snapshot back: puts its configuration into `live`. `n_nodes` is the number of nodes now.
    pub fn pop(&mut self, live: &mut Configuration, n_nodes: u32) -> Option<Snapshot> {
        let last = self.steps.len().checked_sub(1)?;
        let Step { head, node, .. } = self.steps.get(last);
        self.steps.truncate(last);
        live.clear();
        if head & SPILLED == 0 {
            live.push(Head { state: StateId(head & STATE_MAX.0), node: StackNodeId(node), register: 0 });
            return Some(Snapshot { is_terminated: false, n_nodes: n_nodes - (head >> STATE_BITS) });
        }
        let spilled = self.spilled.get((head & !SPILLED) as usize);
        self.spilled.truncate((head & !SPILLED) as usize);
        let first_head = spilled.first_head as usize;
        live.extend((first_head..self.heads.len()).map(|index| self.heads.get(index)));
        self.heads.truncate(first_head);
        if spilled.kind == SpilledKind::Bytes {
            self.bytes.truncate(node as usize);
        }
        let is_terminated = spilled.kind == SpilledKind::TokenAtEnd;
        Some(Snapshot { is_terminated, n_nodes: n_nodes - spilled.n_nodes })
    }

    /// Calls `visit` with what each step accepted, oldest first.
    pub fn for_each_accepted(&self, mut visit: impl FnMut(AcceptedPiece)) {
        for index in 0..self.steps.len() {
            let Step { head, node, token } = self.steps.get(index);
            let is_spilled = head & SPILLED != 0;
            if is_spilled && self.spilled.get((head & !SPILLED) as usize).kind == SpilledKind::Bytes {
                let bytes = node as usize..(node + token) as usize;
                visit(AcceptedPiece::Bytes(bytes.map(|index| self.bytes.get(index)).collect()));
            } else {
                visit(AcceptedPiece::Token(token));
            }
        }
    }
}

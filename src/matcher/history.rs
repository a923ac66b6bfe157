//! What rollback needs: one snapshot per accepted step.
//!
//! The usual snapshot is one head without a register, and takes 12 bytes:
//!
//! ```text
//! | 1 bit: spilled | 8 bits: nodes added | 23 bits: state |   32 bits: node   |   32 bits: token |
//! ```
//!
//! Anything else (several heads, a register, termination, many nodes, bytes instead of a token) goes to a second table, and the
//! snapshot holds its place there. Both are in chunks, so that copies share them, and rolling back truncates them.

use crate::exec::{Configuration, Head};
use crate::util::chunked::Chunked;
use crate::vocab::TokenId;

/// What was accepted in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Accepted {
    Token(TokenId),
    /// A number of bytes.
    Bytes(usize),
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
const STATE_MAX: u32 = (1 << STATE_BITS) - 1;
const NODES_MAX: u32 = 0xff;
/// In the header of a spilled step, beside the number of heads.
const TERMINATED: u32 = 1 << 31;
const BYTES: u32 = 1 << 30;

/// The snapshots of a matcher.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    steps: Chunked<Step>,
    /// A header per spilled step (`state`: number of heads and flags; `node`: nodes added; `register`: bytes accepted), then its heads.
    spilled: Chunked<Head>,
    /// The bytes accepted as such.
    bytes: Chunked<u8>,
}

impl History {
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn memory_bytes(&self) -> usize {
        self.steps.memory_bytes() + self.spilled.memory_bytes() + self.bytes.memory_bytes()
    }

    /// Adds the snapshot from before a step that accepted a token; the step added `n_nodes` nodes.
    pub fn push_token(&mut self, live: &[Head], is_terminated: bool, n_nodes: u32, token: TokenId) {
        match *live {
            [Head { state, node, register: 0 }] if !is_terminated && state <= STATE_MAX && n_nodes <= NODES_MAX => {
                self.steps.push(Step { head: n_nodes << STATE_BITS | state, node, token });
            }
            _ => self.spill(live, if is_terminated { TERMINATED } else { 0 }, n_nodes, 0, token),
        }
    }

    /// Adds the snapshot from before a step that accepted bytes.
    pub fn push_bytes(&mut self, live: &[Head], n_nodes: u32, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.bytes.push(byte));
        self.spill(live, BYTES, n_nodes, bytes.len() as u64, 0);
    }

    fn spill(&mut self, live: &[Head], flags: u32, n_nodes: u32, n_bytes: u64, token: TokenId) {
        let head = self.spilled.len() as u32 | SPILLED;
        self.spilled.push(Head { state: live.len() as u32 | flags, node: n_nodes, register: n_bytes });
        live.iter().for_each(|&head| self.spilled.push(head));
        self.steps.push(Step { head, node: 0, token });
    }

    /// Takes the last snapshot back: puts its configuration into `live`. `n_nodes` is the number of nodes now.
    pub fn pop(&mut self, live: &mut Configuration, n_nodes: u32) -> Option<Snapshot> {
        let last = self.steps.len().checked_sub(1)?;
        let Step { head, node, .. } = self.steps.get(last);
        self.steps.truncate(last);
        live.clear();
        if head & SPILLED == 0 {
            live.push(Head { state: head & STATE_MAX, node, register: 0 });
            return Some(Snapshot { is_terminated: false, n_nodes: n_nodes - (head >> STATE_BITS) });
        }
        let start = (head & !SPILLED) as usize;
        let header = self.spilled.get(start);
        let n_heads = (header.state & !(TERMINATED | BYTES)) as usize;
        live.extend((0..n_heads).map(|index| self.spilled.get(start + 1 + index)));
        self.spilled.truncate(start);
        if header.state & BYTES != 0 {
            self.bytes.truncate(self.bytes.len() - header.register as usize);
        }
        Some(Snapshot { is_terminated: header.state & TERMINATED != 0, n_nodes: n_nodes - header.node })
    }

    /// Calls `visit` with what each step accepted, oldest first; bytes come with their offset in [`Self::byte`].
    pub fn for_each_accepted(&self, mut visit: impl FnMut(Accepted, usize)) {
        let mut offset = 0;
        for index in 0..self.steps.len() {
            let Step { head, token, .. } = self.steps.get(index);
            let mut accepted = Accepted::Token(token);
            if head & SPILLED != 0 {
                let header = self.spilled.get((head & !SPILLED) as usize);
                if header.state & BYTES != 0 {
                    accepted = Accepted::Bytes(header.register as usize);
                }
            }
            visit(accepted, offset);
            if let Accepted::Bytes(n_bytes) = accepted {
                offset += n_bytes;
            }
        }
    }

    /// Returns a byte that was accepted as such.
    pub fn byte(&self, offset: usize) -> u8 {
        self.bytes.get(offset)
    }
}

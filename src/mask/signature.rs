//! Masks of whole configurations, found again by what tokens can see of them.
//!
//! The mask of an ambiguous configuration is found by a walk over its stacks ([`configuration`](super::configuration)), which reads the exits of some nodes:
//! those that tokens of this vocabulary can return through. Whatever lies below makes no difference. So the mask is cached in the same decision trees as
//! all others ([`store`](super::store)), under a path that spells the heads, and then the exits of one node after the other that the walk read. Nodes have no numbers there,
//! which are a matcher's own: each is named by the order in which it was met, so that the path says what stacks look like and not where they lie.
//!
//! ```text
//! {(s, n7), (t, n7), (s, n9)}     3 heads, (s, #0), (t, #0), (s, #1)
//! n7 returns to (u, n2)           the exits of #0:  1 head, (u, #2)
//! n9, n2 were not looked at       the mask
//! ```
//!
//! A path is followed in the order in which it was made; that a walk over other stacks would have read exits in another order makes no difference
//! either, since those that it finds are the same.

use super::decision::{DecisionId, DecisionNode, Next};
use super::entry::MaskEntry;
use super::query::MaskQuery;
use crate::automaton::{DONE, UnitState};
use crate::exec::{Head, StackNodeId};
use smallvec::SmallVec;
use std::sync::Arc;

/// Longest path, in heads; what is more ambiguous is hardly met again.
const PATH_MAX: usize = 96;

/// The way to a cached mask.
#[derive(Default)]
struct Path {
    /// Nodes by their names.
    nodes: SmallVec<[StackNodeId; 16]>,
    n_heads: usize,
}

/// Heads that a path spells.
type Group = SmallVec<[Head; 8]>;
/// What is said of each head: its state, the name of its node, and its register.
const HEAD_WORDS: usize = 3;
type Spelling = SmallVec<[u64; 8 * HEAD_WORDS]>;

impl MaskQuery<'_> {
    /// Returns the cached mask of a configuration.
    pub(super) fn find_configuration(&self, live: &[Head]) -> Option<&Arc<DecisionNode>> {
        let (mut parent, mut path, mut group) = (DecisionId::PATH_ROOT, Path::default(), first_group(live));
        loop {
            let decision = self.table.find_list(parent, &self.spelling(&mut path, &group)?)?;
            match decision.next {
                Next::Exits(name) => group = self.exits(*path.nodes.get(name as usize)?),
                _ => return Some(decision),
            }
            parent = decision.id;
        }
    }

    /// Keeps the mask of a configuration; `has_looked_at` tells whether the walk that found it read exits of a node.
    pub(super) fn insert_configuration(
        &self,
        live: &[Head],
        has_looked_at: impl Fn(StackNodeId) -> bool,
        mask: impl FnOnce() -> DecisionNode,
    ) {
        let (mut parent, mut path, mut group) = (DecisionId::PATH_ROOT, Path::default(), first_group(live));
        // By name: whether the path has the node's exits.
        let mut is_asked: SmallVec<[bool; 16]> = SmallVec::new();
        while let Some(spelling) = self.spelling(&mut path, &group) {
            is_asked.resize(path.nodes.len(), false);
            let (id, next) = match self.table.find_list(parent, &spelling) {
                Some(known) => (known.id, known.next),
                None => {
                    let name = (0..path.nodes.len()).find(|&name| !is_asked[name] && has_looked_at(path.nodes[name]));
                    let Some(name) = name else {
                        self.store.insert_list(parent, &spelling, mask());
                        return;
                    };
                    let node = DecisionNode::inner(Next::Exits(name as u32));
                    let Some(cached) = self.store.insert_list(parent, &spelling, node) else { return };
                    (cached.id, cached.next)
                }
            };
            let Next::Exits(name) = next else { return };
            is_asked[name as usize] = true;
            group = self.exits(path.nodes[name as usize]);
            parent = id;
        }
    }

    /// Returns what says all of a group of heads; nothing if the path gets too long.
    fn spelling(&self, path: &mut Path, group: &Group) -> Option<Spelling> {
        path.n_heads += group.len() + 1;
        if path.n_heads > PATH_MAX {
            return None;
        }
        let mut spelling = Spelling::new();
        for head in group {
            let Some((linked, local)) = self.program.place(head.state) else {
                // The end of the text; no unit has the number.
                spelling.extend_from_slice(&[u64::MAX, 0, 0]);
                continue;
            };
            let name = path.nodes.iter().position(|&node| node == head.node).unwrap_or_else(|| {
                path.nodes.push(head.node);
                path.nodes.len() - 1
            });
            let UnitState { uid, state } = linked.unit.unit_state(local);
            let register = self.signature(head.state, head.register);
            spelling.extend_from_slice(&[u64::from(uid) << 32 | u64::from(state.0), name as u64, register]);
        }
        Some(spelling)
    }

    fn exits(&self, node: StackNodeId) -> Group {
        (0..self.stacks.n_exits(node)).map(|index| self.stacks.exit(node, index)).collect()
    }

    /// Returns a node with the mask of a row.
    pub(super) fn node_of_row(&self, row: &[u32]) -> DecisionNode {
        // Rows are compared as they are, and need no memory for that.
        self.store.node(MaskEntry::Dense(row.into()), Box::new([]), row.len(), &mut Vec::new())
    }
}

fn first_group(live: &[Head]) -> Group {
    live.iter().copied().filter(|head| head.state != DONE).collect()
}

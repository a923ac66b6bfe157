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

use super::decision::{DecisionId, DecisionNode, KeyPlace, Next, NodeKey};
use super::entry::MaskEntry;
use super::settle::MaskQuery;
use crate::automaton::DONE;
use crate::exec::{Head, StackNodeId};
use smallvec::SmallVec;
use std::sync::Arc;

/// Longest path, in heads; what is more ambiguous is hardly met again.
const PATH_MAX: usize = 96;

/// Where a path has come to.
struct Path {
    parent: DecisionId,
    /// Nodes by their names.
    nodes: SmallVec<[StackNodeId; 16]>,
    n_heads: usize,
}

/// Heads that a path spells.
type Group = SmallVec<[Head; 8]>;

impl MaskQuery<'_> {
    /// Returns the cached mask of a configuration.
    pub(super) fn find_configuration(&self, live: &[Head]) -> Option<&Arc<DecisionNode>> {
        let mut path = Path { parent: DecisionId::PATH_ROOT, nodes: SmallVec::new(), n_heads: 0 };
        let mut group = first_group(live);
        loop {
            let keys = self.keys(&mut path, &group)?;
            let decision = self.find_path(path.parent, keys)?;
            path.parent = decision.id;
            match decision.next {
                Next::Exits(name) => group = self.exits(*path.nodes.get(name as usize)?),
                _ => return Some(decision),
            }
        }
    }

    /// Keeps the mask of a configuration; `has_looked_at` tells whether the walk that found it read exits of a node.
    pub(super) fn insert_configuration(
        &self,
        live: &[Head],
        has_looked_at: impl Fn(StackNodeId) -> bool,
        mask: impl FnOnce() -> Arc<DecisionNode>,
    ) {
        let mut path = Path { parent: DecisionId::PATH_ROOT, nodes: SmallVec::new(), n_heads: 0 };
        let mut group = first_group(live);
        // By name: whether the path has the node's exits.
        let mut is_asked: SmallVec<[bool; 16]> = SmallVec::new();
        let mut mask = Some(mask);
        loop {
            let Some(keys) = self.keys(&mut path, &group) else { return };
            is_asked.resize(path.nodes.len(), false);
            let (last, inner) = keys.split_last().expect("a group has its count");
            let Some(parent) = self.insert_path(path.parent, inner.iter().copied()) else { return };
            let key = NodeKey { parent, ..*last };
            let next = match self.table.find(&key) {
                Some((_, decision)) => {
                    path.parent = decision.id;
                    decision.next
                }
                None => {
                    let name = (0..path.nodes.len()).find(|&name| !is_asked[name] && has_looked_at(path.nodes[name]));
                    let Some(name) = name else {
                        if let Some(mask) = mask.take() {
                            self.store.insert(key, &mask());
                        }
                        return;
                    };
                    let node = Arc::new(DecisionNode::inner(Next::Exits(name as u32)));
                    let Some(cached) = self.store.insert(key, &node) else { return };
                    path.parent = cached.id;
                    cached.next
                }
            };
            let Next::Exits(name) = next else { return };
            is_asked[name as usize] = true;
            group = self.exits(path.nodes[name as usize]);
        }
    }

    /// Returns what spells a group of heads, without parents; nothing if the path gets too long.
    fn keys(&self, path: &mut Path, group: &Group) -> Option<SmallVec<[NodeKey; 9]>> {
        path.n_heads += group.len() + 1;
        if path.n_heads > PATH_MAX {
            return None;
        }
        let count =
            NodeKey { parent: DecisionId::NONE, place: KeyPlace::Heads(group.len() as u32), node: 0, register: 0 };
        let mut keys = SmallVec::from_slice(&[count]);
        for head in group {
            let known = path.nodes.iter().position(|&node| node == head.node);
            let name = known.unwrap_or_else(|| {
                path.nodes.push(head.node);
                path.nodes.len() - 1
            });
            keys.push(match self.program.place(head.state) {
                Some((linked, local)) => NodeKey {
                    parent: DecisionId::NONE,
                    place: KeyPlace::State(linked.unit.unit_state(local)),
                    node: name as u32,
                    register: self.signature(head.state, head.register),
                },
                None => NodeKey { parent: DecisionId::NONE, place: KeyPlace::End, node: 0, register: 0 },
            });
        }
        Some(keys)
    }

    fn exits(&self, node: StackNodeId) -> Group {
        (0..self.stacks.n_exits(node)).map(|index| self.stacks.exit(node, index)).collect()
    }

    /// Returns a node with the mask of a row.
    pub(super) fn node_of_row(&self, row: &[u32]) -> Arc<DecisionNode> {
        // Rows are compared as they are, and need no memory for that.
        self.store.node(MaskEntry::Dense(row.into()), Box::new([]), row.len(), &mut Vec::new())
    }
}

fn first_group(live: &[Head]) -> Group {
    live.iter().copied().filter(|head| head.state != DONE).collect()
}

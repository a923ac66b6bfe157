//! Memoized walks: what a unit allows below a trie node, whoever called it.
//!
//! Behind `"name":` a string may follow, behind `"street":` as well, in this schema and in thousands of others. Those are different
//! states, and each has a mask of its own, but at the node of the opening quote they all come to the body of a string, with other stacks below. So what a unit
//! allows below a trie node, whoever called it, is memoized as a *subwalk*: tokens, and the remainders on which the caller decides. A walk that enters
//! the unit again at that node takes the subwalk, and walks on only at its remainders.

use super::found::{BASE_TOKENS_MIN, Found, LargeSet, Subwalk, SubwalkKey};
use super::remainder::{Remainder, ResumePoint};
use super::switches::ShortCut;
use super::walk_context::WalkContext;
use super::walker::{Strategy, Walker};
use crate::automaton::BELOW;
use crate::exec::{BOTTOM, Head};
use crate::util::Threshold;
use crate::vocab::{TrieNode, Vocab};
use std::sync::Arc;

/// Fewest trie nodes below a node that make it worth to look for a subwalk; the runs of white space that begin with a carriage return have some 40.
pub(super) const NODES_MIN: Threshold = Threshold::new(24);
/// Most tokens below a node at which the subwalk of a loop is kept: regions give more than that without a copy.
const LOOP_TOKENS_MAX: usize = 1 << 12;

/// Fewest nodes below remainders that are worth a trie of their own, and most tokens that are put into one.
const CONDENSED_NODES_MIN: Threshold = Threshold::new(8);
const CONDENSED_TOKENS_MAX: usize = 1 << 12;

impl Walker {
    /// Tells whether what a head allows below `node` is worth keeping, for states of other units.
    pub(super) fn is_memoized(&mut self, context: WalkContext<'_>, node: TrieNode, head: Head) -> bool {
        if !ShortCut::SubwalkMemo.is_on() || !context.is_whole() || context.n_nodes_below(node) < NODES_MIN.get() {
            return false;
        }
        let Some((linked, _)) = context.program.place(head.state) else { return false };
        if linked.unit.uid == self.home {
            return false;
        }
        let is_small = context.trie.subtree_tokens(node).len() <= LOOP_TOKENS_MAX;
        is_small || matches!(self.strategy(context.program, head), Strategy::Walk)
    }

    /// Walks the tokens below `node` with a head of another unit than the walk began in.
    pub(super) fn walk_memoized(&mut self, context: WalkContext<'_>, node: TrieNode, head: Head) {
        let Some((linked, local)) = context.program.place(head.state) else { return };
        let place = SubwalkKey { state: linked.unit.unit_state(local), register: head.register, node };
        let known = self.subwalks.get(&place);
        let subwalk = known.unwrap_or_else(|| {
            let subwalk = Arc::new(self.subwalk(context, linked.unit.uid, node, head));
            if !self.is_spent() {
                let bytes = subwalk.memory_bytes(context.vocab.n_mask_words());
                self.subwalks.insert(place, bytes, Arc::clone(&subwalk));
            }
            subwalk
        });
        let is_row = subwalk.tokens.len() >= BASE_TOKENS_MIN.get();
        self.found.add_set(context.vocab, LargeSet::Subwalk(Arc::clone(&subwalk)), is_row, Vec::new());
        self.stacks.work.spend((subwalk.tokens.len() / 16) as u64);
        for remainder in &subwalk.remainders {
            for index in 0..self.stacks.n_exits(head.node) {
                let exit = self.stacks.exit(head.node, index);
                if exit.state == BELOW {
                    self.found.remainders.push(remainder.clone());
                } else {
                    self.after(context.deeper(), remainder, exit);
                }
            }
        }
    }

    /// Returns what a head allows below `node`, whoever called its unit.
    fn subwalk(&mut self, context: WalkContext<'_>, home: u32, node: TrieNode, head: Head) -> Subwalk {
        let outer = core::mem::take(&mut self.found);
        let outer_home = core::mem::replace(&mut self.home, home);
        self.below_head(context.deeper(), node, Head { node: BOTTOM, ..head });
        self.home = outer_home;
        self.found.flatten(context.vocab);
        let Found { tokens, mut remainders, n_nodes, n_walks, .. } = core::mem::replace(&mut self.found, outer);
        self.found.n_nodes += n_nodes;
        self.found.n_walks += n_walks;
        condense(context.vocab, &mut remainders);
        Subwalk::new(tokens, remainders, context.vocab.n_mask_words())
    }
}

/// Lays what is below many places over one another, so that it is walked once.
fn condense(vocab: &Vocab, remainders: &mut Vec<Remainder>) {
    let trie = vocab.trie();
    let node_of = |remainder: &Remainder| match remainder {
        Remainder { point: ResumePoint::Node(node), excluded: None } => Some(*node),
        _ => None,
    };
    let nodes: Vec<TrieNode> = remainders.iter().filter_map(node_of).flat_map(|node| trie.children(node)).collect();
    let n_tokens: usize = nodes.iter().map(|&node| trie.subtree_tokens(node).len()).sum();
    if !ShortCut::Merged.is_on() || nodes.len() < CONDENSED_NODES_MIN.get() || n_tokens > CONDENSED_TOKENS_MAX {
        return;
    }
    remainders.retain(|remainder| node_of(remainder).is_none());
    remainders.push(ResumePoint::Merged(vocab.merged(&nodes), TrieNode::ROOT).into());
}

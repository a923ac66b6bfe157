//! Parts of masks that many states have in common.
//!
//! Behind `"name":` a text may follow, behind `"street":` as well, in this schema and in thousands of others. Those are different
//! states, and each has a mask of its own, but at the node of the opening quote they all come to the body of a text, with other stacks below. So what a unit
//! allows below a trie node, whoever called it, is kept as a *part*: tokens, and the remainders on which the caller decides. A walk that enters
//! the unit again at that node takes the part, and walks on only at its remainders.

use super::switches::ShortCut;
use super::walk::{Base, Found, Ground, Remainder, Shape, Spot, Walker};
use crate::automaton::BELOW;
use crate::exec::{BOTTOM, Pair};
use crate::vocab::{TokenId, Trie, row_of};
use ahash::AHashMap;
use std::sync::{Arc, OnceLock};

/// Fewest trie nodes below a node that make it worth to look for a part; the runs of white space that begin with a carriage return have some 40.
pub(super) const NODES_MIN: u32 = 24;
/// Most tokens below a node at which the part of a loop is kept: regions give more than that without a copy.
const LOOP_TOKENS_MAX: usize = 1 << 12;

/// Fewest tokens of a part whose row is shared by the masks that have it.
const BASE_TOKENS_MIN: usize = 256;

/// Fewest nodes below remainders that are worth a trie of their own, and most tokens that are put into one.
const CONDENSED_NODES_MIN: usize = 8;
const CONDENSED_TOKENS_MAX: usize = 1 << 12;

/// What a unit allows below a trie node, whoever called it.
#[derive(Debug)]
pub(crate) struct Part {
    tokens: Box<[TokenId]>,
    remainders: Box<[Remainder]>,
    row: OnceLock<Arc<[u32]>>,
}

impl Part {
    pub fn tokens(&self) -> &[TokenId] {
        &self.tokens
    }

    /// Returns the tokens as a mask of `n_words` words.
    pub fn row(&self, n_words: usize) -> &Arc<[u32]> {
        self.row.get_or_init(|| row_of(&self.tokens, n_words))
    }
}

/// Where a part belongs: a unit's number is never used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    unit: u32,
    state: u32,
    register: u64,
    node: u32,
}

/// The parts that a walker knows.
#[derive(Debug, Default)]
pub(super) struct Parts {
    known: AHashMap<Place, Arc<Part>>,
    bytes: usize,
}

impl Parts {
    /// Memory for parts, in bytes; when it is used up, all are forgotten.
    const BYTES_MAX: usize = 2 << 20;

    fn keep(&mut self, place: Place, part: &Arc<Part>, n_words: usize) {
        // Tokens that are many get a row.
        let row = if part.tokens.len() >= BASE_TOKENS_MIN { n_words * size_of::<u32>() } else { 0 };
        let bytes = size_of::<(Place, Part)>() + size_of_val(&*part.tokens) + size_of_val(&*part.remainders) + row;
        if self.bytes + bytes > Parts::BYTES_MAX {
            *self = Parts::default();
        }
        if bytes <= Parts::BYTES_MAX {
            self.bytes += bytes;
            self.known.insert(place, Arc::clone(part));
        }
    }
}

impl Walker {
    /// Tells whether what a pair allows below `node` is worth keeping, for states of other units.
    pub(super) fn is_shared(&mut self, ground: Ground<'_>, node: u32, pair: Pair, n_deep: usize) -> bool {
        if !ShortCut::Parts.is_on()
            || !ground.is_whole(n_deep)
            || ground.n_nodes_below(node) < NODES_MIN
            || self.stacks.elements().is_some()
        {
            return false;
        }
        let Some((linked, _)) = ground.program.place(pair.state) else { return false };
        if linked.unit.uid == self.home {
            return false;
        }
        let is_small = ground.trie.subtree_tokens(node).len() <= LOOP_TOKENS_MAX;
        is_small || matches!(self.shape(ground.program, pair), Shape::Other)
    }

    /// Walks the tokens below `node` with a pair of another unit than the walk began in.
    pub(super) fn below_shared(&mut self, ground: Ground<'_>, node: u32, pair: Pair, n_deep: usize) {
        let Some((linked, local)) = ground.program.place(pair.state) else { return };
        let place = Place { unit: linked.unit.uid, state: local, register: pair.register, node };
        let known = self.parts.known.get(&place).map(Arc::clone);
        let part = known.unwrap_or_else(|| {
            let part = Arc::new(self.part(ground, linked.unit.uid, node, pair, n_deep));
            if !self.is_spent() {
                self.parts.keep(place, &part, ground.vocab.n_mask_words());
            }
            part
        });
        if self.found.base.is_none() && part.tokens.len() >= BASE_TOKENS_MIN {
            self.found.base = Some(Base::Part(Arc::clone(&part)));
        } else {
            self.found.tokens.extend_from_slice(&part.tokens);
        }
        self.stacks.work.spend((part.tokens.len() / 16) as u64);
        for remainder in &part.remainders {
            for index in 0..self.stacks.n_exits(pair.node) {
                let exit = self.stacks.exit(pair.node, index);
                if exit.state == BELOW {
                    self.found.remainders.push(remainder.clone());
                } else {
                    self.after(ground, remainder, exit, n_deep + 1);
                }
            }
        }
    }

    /// Returns what a pair allows below `node`, whoever called its unit.
    fn part(&mut self, ground: Ground<'_>, home: u32, node: u32, pair: Pair, n_deep: usize) -> Part {
        let outer = core::mem::take(&mut self.found);
        let outer_home = core::mem::replace(&mut self.home, home);
        self.below_pair(ground, node, Pair { node: BOTTOM, ..pair }, n_deep + 1);
        self.home = outer_home;
        self.found.flatten(ground.vocab);
        let Found { mut tokens, mut remainders, n_nodes, n_walks, .. } = core::mem::replace(&mut self.found, outer);
        self.found.n_nodes += n_nodes;
        self.found.n_walks += n_walks;
        condense(ground.trie, &mut remainders);
        tokens.sort_unstable();
        tokens.dedup();
        Part { tokens: tokens.into(), remainders: remainders.into(), row: OnceLock::new() }
    }
}

/// Lays what is below many places over one another, so that it is walked once.
fn condense(trie: &Trie, remainders: &mut Vec<Remainder>) {
    let node_of = |remainder: &Remainder| match remainder {
        Remainder { spot: Spot::Node(node), excluded: None } => Some(*node),
        _ => None,
    };
    let nodes: Vec<u32> = remainders.iter().filter_map(node_of).flat_map(|node| trie.children(node)).collect();
    let n_tokens: usize = nodes.iter().map(|&node| trie.subtree_tokens(node).len()).sum();
    if ShortCut::Merged.is_on() && nodes.len() >= CONDENSED_NODES_MIN && n_tokens <= CONDENSED_TOKENS_MAX {
        remainders.retain(|remainder| node_of(remainder).is_none());
        remainders.push(Spot::Merged(Arc::new(trie.merged(&nodes)), 0).into());
    }
}

//! Which nodes of the stacks return to wherever others do.
//!
//! Where a bracket may be a plain character as well, the text so far leaves open which brackets are: behind each one the stacks before it and the one above it are
//! joined, so that each node has the exits of the one before, and one more. A closing bracket then returns to all of them. They need not be joined
//! again, exit by exit: the last one has them all.
//!
//! ```text
//! root ::= ([^()] | "(" | "(" root ")")*        ( ( (        n1 = {bottom}   n2 = n1 + {n1}   n3 = n2 + {n2}
//! ```
//!
//! Cost: a search in a list of the joined nodes for each link that is followed; as many links as nodes that are looked at, and a few more.

use super::head::{Head, StackNodeId};
use crate::util::chunked::Chunked;
use smallvec::{SmallVec, smallvec};

/// Links that are followed for some heads: so many, and some for each head.
const LINKS_FREE: usize = 64;
const LINKS_PER_HEAD: usize = 4;

/// Links from nodes that were joined to one of those that they were joined from.
#[derive(Clone, Debug, Default)]
pub(super) struct Inclusions {
    /// Joined nodes, ascending, and the node that each includes.
    links: Chunked<(StackNodeId, StackNodeId)>,
}

impl Inclusions {
    /// Notes that a node returns to wherever an older one does; of no effect if it is not the newest of which that was noted.
    pub fn add(&mut self, joined: StackNodeId, included: StackNodeId) {
        let n = self.links.len();
        if included < joined && (n == 0 || self.links.get(n - 1).0 < joined) {
            self.links.push((joined, included));
        }
    }

    /// Returns the links of nodes from a number on.
    pub fn since(&self, first: u32) -> SmallVec<[(StackNodeId, StackNodeId); 4]> {
        (self.first_of(StackNodeId(first))..self.links.len()).map(|index| self.links.get(index)).collect()
    }

    /// Forgets the links of nodes from a number on.
    #[inline]
    pub fn truncate(&mut self, n_nodes: u32) {
        while let Some(last) = self.links.len().checked_sub(1)
            && self.links.get(last).0.0 >= n_nodes
        {
            self.links.truncate(last);
        }
    }

    /// Drops heads over nodes that nodes of others include. The heads are of one state and register, and sorted by node; those that are left come first, and their
    /// number is returned.
    pub fn drop_included(&self, heads: &mut [Head]) -> usize {
        if self.links.len() == 0 {
            return heads.len();
        }
        let mut is_included: SmallVec<[bool; 32]> = smallvec![false; heads.len()];
        let mut n_left = LINKS_FREE + LINKS_PER_HEAD * heads.len();
        for index in (1..heads.len()).rev() {
            if is_included[index] {
                continue;
            }
            let (mut node, mut below) = (heads[index].node, index);
            while let Some(included) = self.included_in(node).filter(|_| n_left > 0) {
                n_left -= 1;
                below = heads[..below].partition_point(|head| head.node <= included);
                let Some(last) = below.checked_sub(1) else { break };
                is_included[last] |= heads[last].node == included;
                node = included;
            }
        }
        let mut n_kept = 0;
        for index in 0..heads.len() {
            if !is_included[index] {
                heads[n_kept] = heads[index];
                n_kept += 1;
            }
        }
        n_kept
    }

    /// Returns the node that one is noted to include.
    pub fn included_in(&self, node: StackNodeId) -> Option<StackNodeId> {
        let index = self.first_of(node);
        (index < self.links.len()).then(|| self.links.get(index)).filter(|link| link.0 == node).map(|link| link.1)
    }

    /// Returns the index of the first link of a node with this number or a greater one.
    fn first_of(&self, node: StackNodeId) -> usize {
        let (mut low, mut high) = (0, self.links.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.links.get(middle).0 < node {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    pub fn memory_bytes(&self) -> usize {
        self.links.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(nodes: &[u32]) -> Vec<Head> {
        let head = |&node: &u32| Head { state: crate::automaton::DONE, node: StackNodeId(node), register: 0 };
        nodes.iter().map(head).collect()
    }

    #[test]
    fn heads_over_included_nodes_are_dropped() {
        let mut inclusions = Inclusions::default();
        for (joined, included) in [(3, 1), (5, 3), (8, 2), (9, 5)] {
            inclusions.add(StackNodeId(joined), StackNodeId(included));
        }
        // Not the newest, or no older node.
        inclusions.add(StackNodeId(5), StackNodeId(4));
        inclusions.add(StackNodeId(10), StackNodeId(10));
        let left = |nodes: &[u32]| {
            let mut heads = heads(nodes);
            let n_left = inclusions.drop_included(&mut heads);
            heads[..n_left].iter().map(|head| head.node.0).collect::<Vec<_>>()
        };
        assert_eq!(left(&[1, 2, 3, 4, 9]), [2, 4, 9]);
        assert_eq!(left(&[1, 2, 8]), [1, 8]);
        assert_eq!(left(&[1, 2]), [1, 2]);
        assert_eq!(left(&[1, 3, 5]), [5]);
        assert_eq!(inclusions.since(5).len(), 3);
        inclusions.truncate(8);
        assert_eq!(inclusions.since(0)[..], [(StackNodeId(3), StackNodeId(1)), (StackNodeId(5), StackNodeId(3))]);
    }
}

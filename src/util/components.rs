//! Strongly connected components (Tarjan, 1972), without recursion.

use super::ids::Index;

/// The strongly connected components of a graph.
pub(crate) struct Components<N> {
    members: Vec<N>,
    /// Where each component ends.
    ends: Vec<u32>,
}

impl<N: Index> Components<N> {
    /// Returns the components in reverse topological order: each after all that are reachable from it.
    pub fn iter(&self) -> impl Iterator<Item = &[N]> {
        let mut first = 0;
        self.ends.iter().map(move |&end| {
            let members = &self.members[first as usize..end as usize];
            first = end;
            members
        })
    }

    /// Sorts the members of each component.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(N) -> K) {
        let mut first = 0;
        for &end in &self.ends {
            self.members[first as usize..end as usize].sort_unstable_by_key(|&member| key(member));
            first = end;
        }
    }
}

/// Returns the strongly connected components of the graph of `n` nodes with these successors.
pub(crate) fn components<'a, N: Index + 'a>(n: usize, successors: impl Fn(N) -> &'a [N]) -> Components<N> {
    const NEW: u32 = u32::MAX;
    /// Finished; nodes on the stack have their index instead.
    const DONE: u32 = u32::MAX - 1;
    let mut found = Components { members: Vec::with_capacity(n), ends: Vec::with_capacity(n) };
    // By node: its discovery index and its low link.
    let mut nodes: Vec<(u32, u32)> = vec![(NEW, 0); n];
    let mut stack: Vec<N> = Vec::with_capacity(n.min(64));
    let mut next_index = 0;
    // (node, place among its successors)
    let mut calls: Vec<(N, usize)> = Vec::with_capacity(n.min(64));
    for start in (0..n).map(N::at) {
        if nodes[start.position()].0 != NEW {
            continue;
        }
        calls.push((start, 0));
        while let Some(&mut (node, ref mut place)) = calls.last_mut() {
            let v = node.position();
            if *place == 0 {
                nodes[v] = (next_index, next_index);
                next_index += 1;
                stack.push(node);
            }
            if let Some(&next) = successors(node).get(*place) {
                *place += 1;
                match nodes[next.position()].0 {
                    NEW => calls.push((next, 0)),
                    DONE => {}
                    index => nodes[v].1 = nodes[v].1.min(index),
                }
                // Place 0 marks a node that was just discovered and must not occur again.
                continue;
            }
            calls.pop();
            let (index, low) = nodes[v];
            if let Some(&(parent, _)) = calls.last() {
                let low_of_parent = &mut nodes[parent.position()].1;
                *low_of_parent = low.min(*low_of_parent);
            }
            if low == index {
                let at = stack.iter().rposition(|&other| other == node);
                let members = stack.drain(at.expect("a node is on the stack until it is found")..);
                for member in members {
                    nodes[member.position()].0 = DONE;
                    found.members.push(member);
                }
                found.ends.push(found.members.len() as u32);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(graph: &[&[u32]]) -> Vec<Vec<u32>> {
        let mut found = components(graph.len(), |node: u32| graph[node.position()]);
        found.sort_by_key(|member| member);
        found.iter().map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn cycles_are_together_and_after_what_they_lead_to() {
        assert_eq!(of(&[&[1], &[2, 3], &[0], &[4], &[], &[5]]), [vec![4], vec![3], vec![0, 1, 2], vec![5]]);
    }

    #[test]
    fn what_was_found_before_belongs_to_no_other() {
        // 1 and 2 lead to 0, which is found first; 3 and 4 lead to each other and to all.
        assert_eq!(of(&[&[], &[0], &[1, 0], &[4, 0], &[2, 3]]), [vec![0], vec![1], vec![2], vec![3, 4]]);
    }

    #[test]
    fn a_long_chain_does_not_recurse() {
        let n = 200_000;
        let chain: Vec<u32> = (1..=n).collect();
        let successors = |node: u32| &chain[node.position()..(node.position() + 1).min(n as usize - 1)];
        assert_eq!(components(n as usize, successors).iter().count(), n as usize);
    }
}

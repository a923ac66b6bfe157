//! Least distances to the ends of a graph whose edges cost nothing or one, such as an automaton whose bytes may begin a character.

use std::collections::VecDeque;

/// Returns by node the least cost of a path from there to an end; `u32::MAX` where none leads to one. `sources` has for each node those with an edge to it, and `cost` is 0 or 1 for
/// all edges to a node.
///
/// Breadth-first from the ends by cost, with edges that cost nothing taken first: linear in the edges.
pub(crate) fn distances_to_end(
    sources: &[Vec<u32>],
    ends: impl Iterator<Item = u32>,
    cost: impl Fn(u32) -> u32,
) -> Vec<u32> {
    let mut to_end = vec![u32::MAX; sources.len()];
    let mut pending: VecDeque<(u32, u32)> = ends.map(|end| (end, 0)).collect();
    while let Some((node, distance)) = pending.pop_front() {
        if to_end[node as usize] <= distance {
            continue;
        }
        to_end[node as usize] = distance;
        for &source in &sources[node as usize] {
            match cost(node) {
                0 => pending.push_front((source, distance)),
                one => pending.push_back((source, distance + one)),
            }
        }
    }
    to_end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_edges_come_first() {
        // 0 -> 1 -> 2 -> 4 and 0 -> 3 -> 4, of which edges to 1, 2 and 4 are free; nothing leads from 5 to the end.
        let sources = [vec![], vec![0], vec![1], vec![0], vec![2, 3], vec![]];
        let cost = |node: u32| u32::from(node == 3);
        assert_eq!(distances_to_end(&sources, [4].into_iter(), cost), [0, 0, 0, 0, 0, u32::MAX]);
        let all_cost = |_: u32| 1;
        assert_eq!(distances_to_end(&sources, [4].into_iter(), all_cost), [2, 2, 1, 1, 0, u32::MAX]);
    }
}

//! Strongly connected components (Tarjan, 1972), without recursion.

/// Returns the strongly connected components of the graph with these successors, each after all components that it leads to.
pub(crate) fn components(successors: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let n = successors.len();
    let (mut index, mut low) = (vec![NEW; n], vec![0u32; n]);
    let mut on_stack = vec![false; n];
    let (mut stack, mut found) = (Vec::new(), Vec::new());
    let mut next_index = 0;
    // (node, position among its successors)
    let mut calls: Vec<(u32, usize)> = Vec::new();
    for start in 0..n as u32 {
        if index[start as usize] != NEW {
            continue;
        }
        calls.push((start, 0));
        while let Some(&mut (node, ref mut position)) = calls.last_mut() {
            let v = node as usize;
            if *position == 0 {
                index[v] = next_index;
                low[v] = next_index;
                next_index += 1;
                stack.push(node);
                on_stack[v] = true;
            }
            if let Some(&next) = successors[v].get(*position) {
                *position += 1;
                let w = next as usize;
                if index[w] == NEW {
                    calls.push((next, 0));
                } else if on_stack[w] {
                    low[v] = low[v].min(index[w]);
                }
                // A node without successors is done in the branch below; position 0 must not come again.
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent as usize] = low[parent as usize].min(low[v]);
            }
            if low[v] == index[v] {
                let at =
                    stack.iter().rposition(|&other| other == node).expect("a node is on the stack until it is found");
                let members = stack.split_off(at);
                members.iter().for_each(|&member| on_stack[member as usize] = false);
                found.push(members);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_together_and_after_what_they_lead_to() {
        let mut found = components(&[vec![1], vec![2, 3], vec![0], vec![4], vec![], vec![5]]);
        found.iter_mut().for_each(|members| members.sort_unstable());
        assert_eq!(found, [vec![4], vec![3], vec![0, 1, 2], vec![5]]);
    }

    #[test]
    fn a_long_chain_does_not_recurse() {
        let n = 200_000;
        let chain: Vec<Vec<u32>> = (0..n).map(|i| if i + 1 < n { vec![i + 1] } else { vec![] }).collect();
        assert_eq!(components(&chain).len(), n as usize);
    }
}

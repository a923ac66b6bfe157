//! Bipartite matching: how many positions of an array can have distinct values?

use crate::pass::{BuildError, CompileBudget};
use hashbrown::HashMap;

/// Returns how many positions, at most, can have a value of their domain that no other of them has: a greatest matching, found by
/// augmenting paths (Berge, "Two theorems in graph theory", 1957).
///
/// Takes time in positions times the sizes of their domains, which is charged to the budget.
pub(super) fn n_distinct(positions: &[&[Vec<u8>]], budget: &CompileBudget) -> Result<usize, BuildError> {
    let mut taken_by: HashMap<&[u8], usize> = HashMap::new();
    let mut value_of: Vec<Option<&[u8]>> = vec![None; positions.len()];
    for position in 0..positions.len() {
        // By value: the position that would have to take another value.
        let mut from: HashMap<&[u8], usize> = HashMap::new();
        let mut pending = vec![position];
        let mut free = None;
        while let (None, Some(at)) = (free, pending.pop()) {
            budget.spend(positions[at].len())?;
            for value in positions[at] {
                if from.contains_key(&**value) {
                    continue;
                }
                from.insert(value, at);
                match taken_by.get(&**value) {
                    Some(&other) => pending.push(other),
                    None => {
                        free = Some(&**value);
                        break;
                    }
                }
            }
        }
        // Each position of the path takes the value that it reached, and leaves its own to the one before.
        while let Some(value) = free {
            let at = from[value];
            taken_by.insert(value, at);
            free = value_of[at].replace(value);
        }
    }
    Ok(taken_by.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Returns the same by exhaustive search.
    fn most_distinct(positions: &[Vec<Vec<u8>>], used: &mut Vec<Vec<u8>>) -> usize {
        let Some((first, rest)) = positions.split_first() else { return used.len() };
        let mut most = most_distinct(rest, used);
        for value in first {
            if !used.contains(value) {
                used.push(value.clone());
                most = most.max(most_distinct(rest, used));
                used.pop();
            }
        }
        most
    }

    #[test]
    fn as_many_positions_differ_as_can() {
        let mut rng = Rng::new(5);
        let mut n_all = 0;
        for _ in 0..2000 {
            let n_values = 1 + rng.below(6);
            let positions: Vec<Vec<Vec<u8>>> = (0..rng.below(6))
                .map(|_| (0..n_values as u8).filter(|_| rng.below(2) == 0).map(|value| vec![value]).collect())
                .collect();
            let slices: Vec<&[Vec<u8>]> = positions.iter().map(|domain| &**domain).collect();
            let n = n_distinct(&slices, &CompileBudget::none()).unwrap();
            assert_eq!(n, most_distinct(&positions, &mut Vec::new()), "{positions:?}");
            n_all += usize::from(n == positions.len());
        }
        assert!((200..1800).contains(&n_all), "{n_all}");
    }
}

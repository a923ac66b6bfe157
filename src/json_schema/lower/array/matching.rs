//! Bipartite matching: can every position of an array have a distinct value?

use crate::pass::{BuildError, CompileBudget};
use hashbrown::HashMap;

/// Returns whether each position can have a value of its domain that no other has: a matching, found by augmenting paths (Berge, "Two
/// theorems in graph theory", 1957).
pub(super) fn can_all_differ(positions: &[Vec<Vec<u8>>], budget: &CompileBudget) -> Result<bool, BuildError> {
    let mut taken_by: HashMap<&[u8], usize> = HashMap::new();
    for position in 0..positions.len() {
        // By value: the position that would have to take another value.
        let mut from: HashMap<&[u8], usize> = HashMap::new();
        let mut pending = vec![position];
        let mut free = None;
        while let (None, Some(at)) = (free, pending.pop()) {
            budget.spend(positions[at].len())?;
            for value in &positions[at] {
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
        let Some(mut value) = free else { return Ok(false) };
        loop {
            let at = from[value];
            let before = taken_by.iter().find(|&(_, &other)| other == at).map(|(&value, _)| value);
            taken_by.insert(value, at);
            match before {
                Some(before) if at != position => value = before,
                _ => break,
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Decides the same by exhaustive search.
    fn can_differ(positions: &[Vec<Vec<u8>>], used: &mut Vec<Vec<u8>>) -> bool {
        let Some((first, rest)) = positions.split_first() else { return true };
        first.iter().any(|value| {
            if used.contains(value) {
                return false;
            }
            used.push(value.clone());
            let can = can_differ(rest, used);
            used.pop();
            can
        })
    }

    #[test]
    fn places_differ_if_they_can() {
        let mut rng = Rng::new(5);
        let mut n_can = 0;
        for _ in 0..2000 {
            let n_values = 1 + rng.below(6);
            let positions: Vec<Vec<Vec<u8>>> = (0..rng.below(6))
                .map(|_| (0..n_values as u8).filter(|_| rng.below(2) == 0).map(|value| vec![value]).collect())
                .collect();
            let can = can_all_differ(&positions, &CompileBudget::none()).unwrap();
            assert_eq!(can, can_differ(&positions, &mut Vec::new()), "{positions:?}");
            n_can += usize::from(can);
        }
        assert!((200..1800).contains(&n_can), "{n_can}");
    }
}

//! Whether places that must have different values can.

use crate::pass::{BuildError, CompileBudget};
use hashbrown::HashMap;

/// Returns whether each of some places can have a value of its own, of those that are listed for it: a matching, found by paths that make it larger
/// (Berge, "Two theorems in graph theory", 1957).
pub(super) fn can_all_differ(places: &[Vec<Vec<u8>>], budget: &CompileBudget) -> Result<bool, BuildError> {
    let mut taken_by: HashMap<&[u8], usize> = HashMap::new();
    for place in 0..places.len() {
        // By value: the place that would have to take another.
        let mut from: HashMap<&[u8], usize> = HashMap::new();
        let mut pending = vec![place];
        let mut free = None;
        while let (None, Some(at)) = (free, pending.pop()) {
            budget.spend(places[at].len())?;
            for value in &places[at] {
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
                Some(before) if at != place => value = before,
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

    /// Tells the same by trying all ways.
    fn can_differ(places: &[Vec<Vec<u8>>], used: &mut Vec<Vec<u8>>) -> bool {
        let Some((first, rest)) = places.split_first() else { return true };
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
            let places: Vec<Vec<Vec<u8>>> = (0..rng.below(6))
                .map(|_| (0..n_values as u8).filter(|_| rng.below(2) == 0).map(|value| vec![value]).collect())
                .collect();
            let can = can_all_differ(&places, &CompileBudget::none()).unwrap();
            assert_eq!(can, can_differ(&places, &mut Vec::new()), "{places:?}");
            n_can += usize::from(can);
        }
        assert!((200..1800).contains(&n_can), "{n_can}");
    }
}

//! Counting the texts that complete a unit.

use super::unit::{Kind, Step, Unit};

/// Returns for each state the number of texts that lead from it to the end of the unit: 0 where that is not known, as behind calls and
/// counters, or where there are infinitely many, or more than 2^32.
pub(super) fn n_texts(unit: &Unit) -> Box<[u32]> {
    let n_states = unit.n_states();
    let mut counts: Vec<Option<u32>> = vec![None; n_states];
    // States on the path that is being followed.
    let mut is_open = vec![false; n_states];
    let mut is_done = vec![false; n_states];
    for start in 0..n_states as u32 {
        let mut path: Vec<u32> = if is_done[start as usize] { Vec::new() } else { vec![start] };
        while let Some(&state) = path.last() {
            let at = state as usize;
            if is_done[at] {
                path.pop();
                continue;
            }
            if !is_open[at] {
                is_open[at] = true;
                // What is still open lies on a cycle and stays unknown.
                let waiting = targets(unit, state).into_iter().flatten().map(|(target, _)| target);
                path.extend(waiting.filter(|&target| !is_done[target as usize] && !is_open[target as usize]));
                continue;
            }
            path.pop();
            (is_open[at], is_done[at]) = (false, true);
            let ends = match unit.info(state).kind {
                Kind::End => Some(1u32),
                Kind::Inner => Some(0),
                _ => None,
            };
            let sum = |ends: u32| {
                targets(unit, state)?.into_iter().try_fold(ends, |sum, (target, n_bytes)| {
                    sum.checked_add(counts[target as usize]?.checked_mul(n_bytes)?)
                })
            };
            counts[at] = ends.and_then(sum);
        }
    }
    counts.into_iter().map(|count| count.unwrap_or(0)).collect()
}

/// Returns the states that bytes lead to, each with the number of bytes; nothing if a byte leads anywhere else.
fn targets(unit: &Unit, state: u32) -> Option<Vec<(u32, u32)>> {
    let mut targets: Vec<(u32, u32)> = Vec::new();
    for byte in 0..=255 {
        match unit.code(state, byte).step() {
            Step::None => {}
            Step::List(_) => return None,
            Step::Quiet(target) | Step::Simple(target) => {
                match targets.iter_mut().find(|(known, _)| *known == target) {
                    Some((_, n_bytes)) => *n_bytes += 1,
                    None => targets.push((target, 1)),
                }
            }
        }
    }
    Some(targets)
}

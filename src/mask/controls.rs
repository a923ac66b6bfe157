//! Tokens that a state reads as a whole: those that the grammar names, and those of sets.
//!
//! A set is all tokens but some. The union of several is all tokens but those that each of them excludes, so a state takes one pass over a row, however many sets it reads.
//! Stop tokens are in these rows: which they are is a matcher's to say, and it clears them.

use super::entry::{MaskEntry, filled};
use crate::automaton::{LocalState, Unit};
use crate::util::bit_row;
use crate::vocab::Vocab;

/// Adds the tokens that a state reads as a whole to a row.
pub(crate) fn add_controls(unit: &Unit, state: LocalState, vocab: &Vocab, row: &mut [u32]) {
    unit.named_tokens(state).for_each(|token| bit_row::set(row, token));
    if let Some(excluded) = excluded(unit, state) {
        let kept = outside(row, &excluded);
        row.iter_mut().zip(vocab.any_token_row()).for_each(|(word, bits)| *word |= bits);
        restore(row, &excluded, &kept);
    }
}

/// Returns a mask with the tokens of the sets that a state reads.
pub(super) fn with_sets(unit: &Unit, state: LocalState, vocab: &Vocab, mask: MaskEntry) -> MaskEntry {
    let Some(excluded) = excluded(unit, state) else { return mask };
    MaskEntry::Dense(filled(vocab.any_token_row(), |row| {
        excluded.iter().for_each(|&(low, high)| bit_row::clear_range(row, low, high));
        mask.add_to(row);
    }))
}

/// Returns the ranges of tokens that all sets exclude which a state reads; nothing if it reads none.
fn excluded(unit: &Unit, state: LocalState) -> Option<Vec<(u32, u32)>> {
    let mut sets = unit.sets_read(state);
    let first = sets.next()?.to_vec();
    Some(sets.fold(first, |all, one| intersection(&all, one)))
}

/// Returns what two lists of ranges have in common; all of them ascending, with gaps.
fn intersection(a: &[(u32, u32)], b: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let (mut i, mut j, mut common) = (0, 0, Vec::new());
    while let (Some(&(low, high)), Some(&(other_low, other_high))) = (a.get(i), b.get(j)) {
        if low.max(other_low) <= high.min(other_high) {
            common.push((low.max(other_low), high.min(other_high)));
        }
        if high < other_high { i += 1 } else { j += 1 }
    }
    common
}

/// Returns the tokens of some ranges that are set in a row.
fn outside(row: &[u32], ranges: &[(u32, u32)]) -> Vec<u32> {
    ranges.iter().flat_map(|&(low, high)| bit_row::ones_in(row, low, high)).collect()
}

/// Clears the bits of some ranges but those of `kept`.
fn restore(row: &mut [u32], ranges: &[(u32, u32)], kept: &[u32]) {
    ranges.iter().for_each(|&(low, high)| bit_row::clear_range(row, low, high));
    bit_row::set_all(row, kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_sets_exclude_is_excluded() {
        assert_eq!(intersection(&[(1, 5), (8, 9)], &[(0, 2), (4, 8), (12, 13)]), [(1, 2), (4, 5), (8, 8)]);
        assert_eq!(intersection(&[(1, 5)], &[]), []);
    }
}

//! Tokens that a state reads as a whole: those that the grammar names, and those of sets.
//!
//! A set is all tokens but some. The union of several is all tokens but those that each of them excludes, so a state takes one row, however many sets it reads.
//! Stop tokens are in these rows: which they are is a matcher's to say, and it clears them.

use super::entry::{MaskEntry, filled};
use crate::automaton::{LocalState, Unit};
use crate::util::bit_row;
use crate::vocab::Vocab;
use std::sync::Arc;

/// Adds the tokens that a state reads as a whole to a row.
pub(crate) fn add_controls(unit: &Unit, state: LocalState, vocab: &Vocab, row: &mut [u32]) {
    unit.named_tokens(state).for_each(|token| bit_row::set(row, token));
    if let Some(of_sets) = row_of_sets(unit, state, vocab) {
        row.iter_mut().zip(&*of_sets).for_each(|(word, bits)| *word |= bits);
    }
}

/// Returns a mask with the tokens of the sets that a state reads.
pub(super) fn with_sets(unit: &Unit, state: LocalState, vocab: &Vocab, mask: MaskEntry) -> MaskEntry {
    let Some(mut row) = row_of_sets(unit, state, vocab) else { return mask };
    mask.add_to(Arc::get_mut(&mut row).expect("the row was just made"));
    MaskEntry::Dense(row)
}

/// Returns the tokens of the sets that a state reads: all but those that each of them excludes. Nothing if it reads none.
fn row_of_sets(unit: &Unit, state: LocalState, vocab: &Vocab) -> Option<Arc<[u32]>> {
    let mut sets = unit.sets_read(state);
    let first = sets.next()?.to_vec();
    let excluded = sets.fold(first, |all, one| intersection(&all, one));
    Some(filled(vocab.any_token_row(), |row| {
        excluded.iter().for_each(|&(low, high)| bit_row::clear_range(row, low, high));
    }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_sets_exclude_is_excluded() {
        assert_eq!(intersection(&[(1, 5), (8, 9)], &[(0, 2), (4, 8), (12, 13)]), [(1, 2), (4, 5), (8, 8)]);
        assert_eq!(intersection(&[(1, 5)], &[]), []);
    }
}

//! Rows that many masks nearly have in common.
//!
//! Behind a value there may be white space, a comma, a closing brace: some 300 tokens, nearly the same ones behind any value of any schema. Kept
//! each by itself, such masks take more memory than they are worth, and setting that many bits takes three times as long as copying a row that
//! is at hand. So a mask that differs from another by few tokens is cached as the row of that one, shared, and the difference. Masks are remembered as they
//! come; those that no other shares make room for others.

use super::entry::MaskEntry;
use super::switches::ShortCut;
use crate::util::Threshold;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows remembered.
const ROWS_MAX: usize = 64;
/// Most tokens of a list that is cached as it is: to set them takes no longer than to copy a row.
const TOKENS_FREE: Threshold = Threshold::new(96);
/// Most tokens in which a mask may differ from a row, and the share of its list that these may be.
const DIFFERENCE_MAX: usize = 96;
const DIFFERENCE_SHARE: usize = 4;
/// Tokens in which it may differ from a row without looking for a nearer one.
const DIFFERENCE_FREE: Threshold = Threshold::new(48);
/// Parts of a row in which tokens are counted, to tell at once that most others are not near it, and words of each.
const SAMPLES: usize = 8;
const SAMPLE_WORDS: usize = 32;

/// The rows that masks may be based on.
#[derive(Debug, Default)]
pub(super) struct RowPool(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    rows: Vec<PooledRow>,
    /// Where the next one goes, when there is no more room.
    next: usize,
}

#[derive(Debug)]
struct PooledRow {
    row: Arc<[u32]>,
    sample: Sample,
    /// How often it is held without being shared: here, and by the mask that it is the row of.
    n_own: usize,
}

impl RowPool {
    /// Returns a mask in the form in which it takes least time to write. `scratch` is memory for a row of `n_words`.
    pub fn delta_encoded(&self, mask: MaskEntry, n_words: usize, scratch: &mut Vec<u32>) -> MaskEntry {
        let (n_listed, own) = match &mask {
            // Others are shared already.
            MaskEntry::Dense(row) if Arc::strong_count(row) == 1 => (usize::MAX, Some(row)),
            _ => (n_listed(&mask), None),
        };
        if n_listed <= TOKENS_FREE.get() || !ShortCut::RowPool.is_on() {
            return mask;
        }
        let row = match own {
            Some(row) => &**row,
            None => {
                scratch.resize(n_words, 0);
                mask.write(scratch);
                &**scratch
            }
        };
        let sample = Sample::of(row);
        let max = DIFFERENCE_MAX.min(n_listed / DIFFERENCE_SHARE);
        let mut known = self.lock();
        if let Some(mask) = known.nearest(row, sample, max) {
            return mask;
        }
        let n_own = if own.is_some() { 2 } else { 1 };
        known.add(PooledRow { row: own.cloned().unwrap_or_else(|| row.into()), sample, n_own });
        mask
    }

    /// Forgets all rows.
    pub fn clear(&self) {
        *self.lock() = Rows::default();
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        // Nothing panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    /// Returns a row as what it differs in from one that is known, if that are at most `max` tokens: from the nearest one, unless one is near enough.
    fn nearest(&self, row: &[u32], sample: Sample, mut max: usize) -> Option<MaskEntry> {
        let bases = self.rows.iter().map(|base| (base.sample.difference_min(sample), &base.row));
        let mut bases: SmallVec<[_; ROWS_MAX]> = bases.filter(|&(n_min, _)| n_min <= max).collect();
        bases.sort_unstable_by_key(|&(n_min, _)| n_min);
        let mut nearest = None;
        for (n_min, base) in bases {
            if n_min > max || nearest.is_some() && max <= DIFFERENCE_FREE.get() {
                break;
            }
            if let Some(mask) = MaskEntry::between(base, row, max) {
                max = n_listed(&mask);
                nearest = Some(mask);
            }
        }
        nearest
    }

    /// Remembers a row, instead of one that no mask shares if there is no more room.
    fn add(&mut self, row: PooledRow) {
        if self.rows.len() < ROWS_MAX {
            return self.rows.push(row);
        }
        let is_free = |place: &usize| {
            let PooledRow { row, n_own, .. } = &self.rows[place % ROWS_MAX];
            Arc::strong_count(row) <= *n_own
        };
        if let Some(place) = (self.next..self.next + ROWS_MAX).find(is_free) {
            self.rows[place % ROWS_MAX] = row;
            self.next = (place + 1) % ROWS_MAX;
        }
    }
}

/// How many of the first tokens a row has, by part: to count all would take longer than to make most rows.
#[derive(Clone, Copy, Debug)]
struct Sample([u16; SAMPLES]);

impl Sample {
    fn of(row: &[u32]) -> Sample {
        let mut counts = [0; SAMPLES];
        for (count, words) in counts.iter_mut().zip(row.chunks(SAMPLE_WORDS)) {
            *count = words.iter().map(|word| word.count_ones() as u16).sum();
        }
        Sample(counts)
    }

    /// Returns in how many tokens two rows differ, at least.
    fn difference_min(self, other: Sample) -> usize {
        self.0.iter().zip(other.0).map(|(a, b)| usize::from(a.abs_diff(b))).sum()
    }
}

/// Returns how many tokens a mask lists, beside those of a row.
fn n_listed(mask: &MaskEntry) -> usize {
    match mask {
        MaskEntry::Sparse(tokens) => tokens.len(),
        MaskEntry::Patched { set, clear, .. } => set.len() + clear.len(),
        MaskEntry::Dense(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::TokenId;

    fn written(mask: &MaskEntry, n_words: usize) -> Vec<u32> {
        let mut row = vec![0; n_words];
        mask.write(&mut row);
        row
    }

    fn delta_encoded(bases: &RowPool, mask: MaskEntry, n_words: usize) -> MaskEntry {
        bases.delta_encoded(mask, n_words, &mut Vec::new())
    }

    #[test]
    fn masks_that_are_nearly_alike_share_a_row() {
        let bases = RowPool::default();
        let n_words = 4096;
        let first = MaskEntry::new((0..400).map(|i| i * 7).collect(), n_words);
        let cached = delta_encoded(&bases, first.clone(), n_words);
        assert!(matches!(cached, MaskEntry::Sparse(_)), "nothing is known that it could share");
        let other = first.edited(&[0, 7], &[1, 2, 3], n_words);
        let patched = delta_encoded(&bases, other.clone(), n_words);
        let MaskEntry::Patched { set, clear, .. } = &patched else { panic!("it is near") };
        assert_eq!((&**set, &**clear), (&[1, 2, 3][..], &[0, 7][..]));
        assert_eq!(written(&patched, n_words), written(&other, n_words));
        let MaskEntry::Dense(row) = delta_encoded(&bases, first.clone(), n_words) else {
            panic!("equal masks are one row")
        };
        assert_eq!(row[..], written(&first, n_words)[..]);
        let far = MaskEntry::new((0..400).map(|i| i * 11 + 1).collect(), n_words);
        assert!(matches!(delta_encoded(&bases, far, n_words), MaskEntry::Sparse(_)));
        let few = MaskEntry::new((0..50).collect(), n_words);
        assert!(matches!(delta_encoded(&bases, few, n_words), MaskEntry::Sparse(_)));
    }

    #[test]
    fn masks_beside_one_row_are_told_apart_from_others() {
        let bases = RowPool::default();
        let n_words = 4096;
        let large = MaskEntry::new((0..20_000).map(|i| i * 2).collect(), n_words);
        let ids: Vec<TokenId> = (0..300).map(|i| i * 26 + 1).collect();
        let beside = |more: &[TokenId]| large.edited(&[], &[&ids, more].concat(), n_words);
        for (more, is_kept) in [(&[][..], true), (&[5, 3, 5, 1], false), (&[], false)] {
            let mask = beside(more);
            let shared = delta_encoded(&bases, mask.clone(), n_words);
            assert_eq!(written(&shared, n_words), written(&mask, n_words));
            let n_set = if let MaskEntry::Patched { set, .. } = &shared { set.len() } else { 0 };
            assert_eq!(n_set > 200, is_kept, "{more:?}");
        }
        // The same list alone is another mask.
        assert!(matches!(delta_encoded(&bases, MaskEntry::new(ids.clone(), n_words), n_words), MaskEntry::Sparse(_)));
    }

    #[test]
    fn rows_that_are_nearly_alike_are_one() {
        let bases = RowPool::default();
        let n_words = 4096;
        let ids: Vec<TokenId> = (0..3000).map(|i| i * 11).collect();
        let large = || MaskEntry::new(ids.clone(), n_words);
        assert!(matches!(delta_encoded(&bases, large(), n_words), MaskEntry::Dense(_)));
        let other = || MaskEntry::new([&ids[3..], &[1, 4096 * 32 - 1]].concat(), n_words);
        let patched = delta_encoded(&bases, other(), n_words);
        assert!(written(&patched, n_words) == written(&other(), n_words));
        let MaskEntry::Patched { set, clear, .. } = patched else { panic!("it is near") };
        assert_eq!((&*set, &*clear), (&[1, 4096 * 32 - 1][..], &ids[..3]));
        let far = MaskEntry::new((0..3000).map(|i| i * 12).collect(), n_words);
        assert!(matches!(delta_encoded(&bases, far, n_words), MaskEntry::Dense(_)));
    }

    #[test]
    fn rows_that_nobody_shares_make_room() {
        let bases = RowPool::default();
        let n_words = 4096;
        let mask = |number: u32| MaskEntry::new((0..400).map(|i| i * 200 + number).collect(), n_words);
        delta_encoded(&bases, mask(0), n_words);
        let _shared = delta_encoded(&bases, mask(0), n_words);
        (1..2 * ROWS_MAX as u32).for_each(|number| drop(delta_encoded(&bases, mask(number), n_words)));
        assert_eq!(bases.lock().rows.len(), ROWS_MAX);
        assert!(matches!(delta_encoded(&bases, mask(0), n_words), MaskEntry::Dense(_)), "it is shared and stays");
        assert!(matches!(delta_encoded(&bases, mask(1), n_words), MaskEntry::Sparse(_)), "it was forgotten");
    }

    #[test]
    fn the_row_of_a_mask_makes_room_unless_another_mask_shares_it() {
        let bases = RowPool::default();
        let n_words = 4096;
        let mask = |number: u32| {
            let ids = (0..3000).map(|i| i * (2 * number + 1) % (32 * n_words as u32));
            delta_encoded(&bases, MaskEntry::new(ids.collect(), n_words), n_words)
        };
        let row = |mask: &MaskEntry| match mask {
            MaskEntry::Dense(row) => Arc::clone(row),
            _ => panic!("it is a row"),
        };
        let (first, _sharing) = (mask(0), mask(0));
        let others: Vec<MaskEntry> = (1..2 * ROWS_MAX as u32).map(mask).collect();
        assert_eq!(bases.lock().rows.len(), ROWS_MAX);
        assert!(Arc::ptr_eq(&row(&first), &row(&mask(0))), "it is shared and stays");
        assert!(!Arc::ptr_eq(&row(&others[0]), &row(&mask(1))), "it was forgotten");
    }
}

//! Rows that many masks nearly have in common.
//!
//! Behind a value there may be white space, a comma, a closing brace: some 300 tokens, nearly the same ones behind any value of any schema. Kept
//! each by itself, such masks take more memory than they are worth, and setting that many bits takes three times as long as copying a row that
//! is at hand. So a mask that differs from the row of another by few tokens is kept as that row, shared, and the difference. Rows are
//! remembered as they come; those that no other mask shares make room for others.

use super::entry::MaskEntry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows remembered.
const ROWS_MAX: usize = 32;
/// Most tokens of a mask that is kept as it is: to set them takes no longer than to copy a row.
const TOKENS_FREE: usize = 96;
/// Most tokens in which a mask may differ from its base.
const DIFFERENCE_MAX: usize = 96;
/// Tokens in which it may differ from a base without looking for a nearer one.
const DIFFERENCE_FREE: usize = 24;

/// The rows of a store.
#[derive(Debug, Default)]
pub(super) struct Bases {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    rows: Vec<Base>,
    /// Where the next one goes, when there is no more room.
    next: usize,
}

#[derive(Clone, Debug)]
struct Base {
    row: Arc<[u32]>,
    /// Tokens in it.
    n_tokens: usize,
}

impl Bases {
    /// Returns a mask in the form in which it takes least time to write. `row` is memory to find that out in.
    pub fn rebased(&self, mask: MaskEntry, n_words: usize, row: &mut Vec<u32>) -> MaskEntry {
        let mut max = match &mask {
            MaskEntry::Sparse(ids) if ids.len() > TOKENS_FREE => DIFFERENCE_MAX.min(ids.len() / 4),
            MaskEntry::Patched { set, clear, .. } if set.len() + clear.len() > TOKENS_FREE => {
                DIFFERENCE_MAX.min((set.len() + clear.len()) / 4)
            }
            // A row of its own.
            MaskEntry::Dense(row) if Arc::strong_count(row) == 1 => DIFFERENCE_MAX,
            _ => return mask,
        };
        row.resize(n_words, 0);
        mask.write(row);
        let n_tokens = row.iter().map(|word| word.count_ones() as usize).sum();
        let mut nearest: Option<Arc<[u32]>> = None;
        let mut known = self.lock();
        for base in &known.rows {
            let is_like = base.n_tokens.abs_diff(n_tokens) <= max;
            let Some(difference) = is_like.then(|| difference(row, &base.row, max)).flatten() else { continue };
            nearest = Some(Arc::clone(&base.row));
            if difference <= DIFFERENCE_FREE {
                break;
            }
            max = difference;
        }
        match nearest {
            Some(base) => {
                drop(known);
                MaskEntry::between(&base, row)
            }
            None => {
                let (row, mask) = match mask {
                    MaskEntry::Dense(row) => (Arc::clone(&row), MaskEntry::Dense(row)),
                    mask => (Arc::from(&**row), mask),
                };
                known.remember(Base { row, n_tokens });
                mask
            }
        }
    }

    /// Forgets all rows.
    pub fn clear(&self) {
        *self.lock() = Known::default();
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing panics half-way.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Adds a row, in the place of one that no mask has if there is no more room.
    fn remember(&mut self, base: Base) {
        if self.rows.len() < ROWS_MAX {
            return self.rows.push(base);
        }
        let is_free = |place: &usize| Arc::strong_count(&self.rows[place % ROWS_MAX].row) == 1;
        if let Some(place) = (self.next..self.next + ROWS_MAX).find(is_free) {
            self.rows[place % ROWS_MAX] = base;
            self.next = (place + 1) % ROWS_MAX;
        }
    }
}

/// Returns in how many bits two rows differ, if those are at most `max`.
fn difference(a: &[u32], b: &[u32], max: usize) -> Option<usize> {
    const WORDS: usize = 32;
    let mut n = 0;
    // PERF: most of two rows that are worth comparing to the end is equal, and seen to be so quickly.
    for (a, b) in a.chunks(WORDS).zip(b.chunks(WORDS)).filter(|(a, b)| a != b) {
        n += a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones() as usize).sum::<usize>();
        if n > max {
            return None;
        }
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(mask: &MaskEntry, n_words: usize) -> Vec<u32> {
        let mut row = vec![0; n_words];
        mask.write(&mut row);
        row
    }

    fn rebased(bases: &Bases, mask: MaskEntry, n_words: usize) -> MaskEntry {
        bases.rebased(mask, n_words, &mut Vec::new())
    }

    #[test]
    fn masks_that_are_nearly_alike_share_a_row() {
        let bases = Bases::default();
        let n_words = 4096;
        let first = MaskEntry::new((0..400).map(|i| i * 7).collect(), n_words);
        let kept = rebased(&bases, first.clone(), n_words);
        assert!(matches!(kept, MaskEntry::Sparse(_)), "nothing is known that it could share");
        let other = first.with(&[1, 2, 3], n_words).without(&[0, 7], n_words);
        let patched = rebased(&bases, other.clone(), n_words);
        let MaskEntry::Patched { set, clear, .. } = &patched else { panic!("{patched:?}") };
        assert_eq!((&**set, &**clear), (&[1, 2, 3][..], &[0, 7][..]));
        assert_eq!(row_of(&patched, n_words), row_of(&other, n_words));
        let MaskEntry::Dense(row) = rebased(&bases, first.clone(), n_words) else { panic!("equal masks are one row") };
        assert_eq!(row[..], row_of(&first, n_words)[..]);
        let far = MaskEntry::new((0..400).map(|i| i * 11 + 1).collect(), n_words);
        assert!(matches!(rebased(&bases, far, n_words), MaskEntry::Sparse(_)));
        let few = MaskEntry::new((0..50).collect(), n_words);
        assert!(matches!(rebased(&bases, few, n_words), MaskEntry::Sparse(_)));
    }

    #[test]
    fn rows_that_nobody_shares_make_room() {
        let bases = Bases::default();
        let n_words = 4096;
        let mask = |number: u32| MaskEntry::new((0..400).map(|i| i * 200 + number).collect(), n_words);
        rebased(&bases, mask(0), n_words);
        let _shared = rebased(&bases, mask(0), n_words);
        (1..2 * ROWS_MAX as u32).for_each(|number| drop(rebased(&bases, mask(number), n_words)));
        assert_eq!(bases.lock().rows.len(), ROWS_MAX);
        assert!(matches!(rebased(&bases, mask(0), n_words), MaskEntry::Dense(_)), "it is shared and stays");
        assert!(matches!(rebased(&bases, mask(1), n_words), MaskEntry::Sparse(_)), "it was forgotten");
    }
}

//! Rows that many masks nearly have in common.
//!
//! Behind a value there may be white space, a comma, a closing brace: some 300 tokens, nearly the same ones behind any value of any schema. Kept
//! each by itself, such masks take more memory than they are worth, and setting that many bits takes three times as long as copying a row that
//! is at hand. So a mask that differs from another by few tokens is cached as the row of that one, shared, and the difference. So are rows:
//! those of texts that may end after so many characters, say. Masks are remembered as they come; those that no other shares make room for
//! others.

use super::entry::{MaskEntry, differing, filled};
use super::switches::ShortCut;
use crate::util::{Threshold, bit_row};
use crate::vocab::TokenId;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Masks remembered.
const BASES_MAX: usize = 32;
/// Most tokens of a list that is cached as it is: to set them takes no longer than to copy a row.
const TOKENS_FREE: Threshold = Threshold::new(96);
/// Most tokens in which a mask may differ from its base, and the share of its list that these may be.
const DIFFERENCE_MAX: usize = 96;
const DIFFERENCE_SHARE: usize = 4;
/// Words of a row in which tokens are counted, to tell at once that most others are not near it.
const SAMPLED_WORDS: usize = 256;
/// Tokens in which it may differ from a base without looking for a nearer one.
const DIFFERENCE_FREE: Threshold = Threshold::new(24);

/// The masks that others may be based on.
#[derive(Debug, Default)]
pub(super) struct RowPool {
    known: Mutex<Pooled>,
}

#[derive(Debug, Default)]
struct Pooled {
    bases: Slots<PooledMask>,
    /// Rows that are masks, with what [`sample`] counts of them.
    rows: Slots<(Arc<[u32]>, usize)>,
}

/// Items, each of which makes room for another once no mask shares it.
#[derive(Debug)]
struct Slots<T> {
    items: Vec<T>,
    /// Where the next one goes, when there is no more room.
    next: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { items: Vec::new(), next: 0 }
    }
}

impl<T> Slots<T> {
    fn add(&mut self, item: T, is_shared: impl Fn(&T) -> bool) {
        if self.items.len() < BASES_MAX {
            return self.items.push(item);
        }
        let is_free = |place: &usize| !is_shared(&self.items[place % BASES_MAX]);
        if let Some(place) = (self.next..self.next + BASES_MAX).find(is_free) {
            self.items[place % BASES_MAX] = item;
            self.next = (place + 1) % BASES_MAX;
        }
    }
}

/// A mask: a list of tokens, each once, perhaps beside those of a row.
#[derive(Debug)]
struct PooledMask {
    beside: Option<Arc<[u32]>>,
    tokens: Box<[TokenId]>,
    /// All of it, once another mask shares it.
    row: Option<Arc<[u32]>>,
}

/// The tokens of a base that a mask lacks.
type Lacking = SmallVec<[TokenId; DIFFERENCE_MAX]>;

impl RowPool {
    /// Returns a mask in the form in which it takes least time to write. `zeros` is memory to find that out in: a row without bits, now and
    /// afterwards.
    pub fn delta_encoded(&self, mask: MaskEntry, n_words: usize, zeros: &mut Vec<u32>) -> MaskEntry {
        if !ShortCut::RowPool.is_on() {
            return mask;
        }
        let (beside, tokens) = match &mask {
            MaskEntry::Sparse(tokens) => (None, &**tokens),
            MaskEntry::Patched { base, set, clear } if clear.is_empty() => (Some(base), &**set),
            // Others are shared already.
            MaskEntry::Dense(row) if Arc::strong_count(row) == 1 => return self.delta_encoded_row(row),
            _ => return mask,
        };
        if tokens.len() <= TOKENS_FREE.get() {
            return mask;
        }
        zeros.resize(n_words, 0);
        let mut n_tokens = 0;
        for &token in tokens {
            n_tokens += usize::from(!bit_row::has(zeros, token));
            bit_row::set(zeros, token);
        }
        let mut known = self.lock();
        let Some((place, lacking)) = known.nearest(beside, n_tokens, zeros) else {
            let take = |token: &TokenId| {
                let is_first = bit_row::has(zeros, *token);
                bit_row::clear(zeros, *token);
                is_first
            };
            let tokens = tokens.iter().copied().filter(take).collect();
            known.bases.add(PooledMask { beside: beside.cloned(), tokens, row: None }, PooledMask::is_shared);
            return mask;
        };
        let row = known.bases.items[place].row(n_words);
        drop(known);
        tokens.iter().for_each(|&token| zeros[bit_row::place(token).0] = 0);
        let set = tokens.iter().copied().filter(|&token| !bit_row::has(&row, token)).collect();
        MaskEntry::patched(&row, set, lacking.to_vec())
    }

    /// As [`Self::delta_encoded`], for a row.
    fn delta_encoded_row(&self, row: &Arc<[u32]>) -> MaskEntry {
        let n_sampled = sample(row);
        let mut known = self.lock();
        let mut max = DIFFERENCE_MAX;
        let mut nearest = None;
        for (base, _) in known.rows.items.iter().filter(|(_, n)| n_sampled.abs_diff(*n) <= DIFFERENCE_MAX) {
            if let Some(difference) = difference(base, row, max) {
                (max, nearest) = (difference, Some(Arc::clone(base)));
                if max <= DIFFERENCE_FREE.get() {
                    break;
                }
            }
        }
        if let Some(mask) = nearest.and_then(|base| MaskEntry::between(&base, row, max)) {
            return mask;
        }
        // One is here, and one is that of the mask.
        known.rows.add((Arc::clone(row), n_sampled), |(row, _)| Arc::strong_count(row) > 2);
        MaskEntry::Dense(Arc::clone(row))
    }

    /// Forgets all masks.
    pub fn clear(&self) {
        *self.lock() = Pooled::default();
    }

    fn lock(&self) -> MutexGuard<'_, Pooled> {
        // Nothing panics half-way.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledMask {
    /// Returns the mask as a row.
    fn row(&mut self, n_words: usize) -> Arc<[u32]> {
        let PooledMask { beside, tokens, row } = self;
        let row = row.get_or_insert_with(|| match beside {
            Some(beside) => filled(beside, |row| bit_row::set_all(row, tokens)),
            None => bit_row::of(tokens, n_words),
        });
        Arc::clone(row)
    }

    fn is_shared(&self) -> bool {
        self.row.as_ref().is_some_and(|row| Arc::strong_count(row) > 1)
    }
}

impl Pooled {
    /// Returns which base a mask differs least from, if there is one near enough, and what the mask lacks of it. The mask has `n_tokens` tokens,
    /// whose bits are set in `row`, beside those of another row.
    fn nearest(&self, beside: Option<&Arc<[u32]>>, n_tokens: usize, row: &[u32]) -> Option<(usize, Lacking)> {
        let is_same = |base: &PooledMask| match (&base.beside, beside) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let mut max = DIFFERENCE_MAX.min(n_tokens / DIFFERENCE_SHARE);
        let mut nearest = None;
        for (place, base) in self.bases.items.iter().enumerate().filter(|(_, base)| is_same(base)) {
            if base.tokens.len().abs_diff(n_tokens) > max {
                continue;
            }
            let lacking = base.tokens.iter().copied().filter(|&token| !bit_row::has(row, token));
            let lacking: Lacking = lacking.take(max + 1).collect();
            // What is not lacking of the base is in the mask.
            let n_more = (n_tokens + lacking.len()).saturating_sub(base.tokens.len());
            if lacking.len() + n_more > max {
                continue;
            }
            max = lacking.len() + n_more;
            nearest = Some((place, lacking));
            if max <= DIFFERENCE_FREE.get() {
                break;
            }
        }
        nearest
    }
}

/// Returns how many of the first tokens a row has. Rows that differ in that by more than [`DIFFERENCE_MAX`] are not near each other, and to count all
/// tokens would take longer than to make most rows.
fn sample(row: &[u32]) -> usize {
    row[..row.len().min(SAMPLED_WORDS)].iter().map(|word| word.count_ones() as usize).sum()
}

/// Returns in how many bits two rows differ, if those are at most `max`.
fn difference(a: &[u32], b: &[u32], max: usize) -> Option<usize> {
    let mut n = 0;
    for (_, a, b) in differing(a, b) {
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
        (1..2 * BASES_MAX as u32).for_each(|number| drop(delta_encoded(&bases, mask(number), n_words)));
        assert_eq!(bases.lock().bases.items.len(), BASES_MAX);
        assert!(matches!(delta_encoded(&bases, mask(0), n_words), MaskEntry::Dense(_)), "it is shared and stays");
        assert!(matches!(delta_encoded(&bases, mask(1), n_words), MaskEntry::Sparse(_)), "it was forgotten");
    }
}

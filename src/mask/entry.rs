//! One mask, in the form that suits its size.
//!
//! Copying a row of 100,000 bits takes some 100 ns; so does clearing it and setting a few hundred bits. Below
//! [`sparse_max`] tokens the ids are kept (4 bytes each instead of a row); above it the row; and a mask that differs from a kept
//! row by a few tokens is that row, shared, and the ids to add and to take away.

use crate::util::bit_row;
use crate::vocab::{Region, TokenId, Vocab};
use ahash::AHashSet;
use smallvec::SmallVec;
use std::sync::Arc;

/// A list of tokens. A short one lies where the rest of the mask does, so that reading it is no cache miss of its own.
pub(crate) type Ids = SmallVec<[TokenId; 10]>;

/// A set of tokens.
#[derive(Clone, Debug)]
pub(crate) enum MaskEntry {
    /// These tokens, in any order, some perhaps repeated: sorting them would take longer than all else.
    Sparse(Ids),
    /// These bits.
    Dense(Arc<[u32]>),
    /// The bits of `base`, with and without these tokens, which are in any order, some perhaps repeated, none in both.
    Patched { base: Arc<[u32]>, set: Box<[TokenId]>, clear: Box<[TokenId]> },
}

/// Most tokens of a sparse mask, and of a patch: setting so many bits takes about as long as copying a row of `n_words`.
pub(super) fn sparse_max(n_words: usize) -> usize {
    n_words / 8
}

impl MaskEntry {
    /// Returns the mask of these tokens, in any order, repeated or not.
    pub fn new(tokens: Vec<TokenId>, n_words: usize) -> Self {
        if tokens.len() <= sparse_max(n_words) {
            return MaskEntry::Sparse(Ids::from_slice(&tokens));
        }
        MaskEntry::Dense(bit_row::of(&tokens, n_words))
    }

    /// Returns the mask of a region's tokens but those in which more than `n_max` characters begin; the row is the region's own where it can be.
    pub fn of_region_up_to(region: &Region, vocab: &Vocab, n_max: usize, n_words: usize) -> Self {
        let beyond = region.tokens_beyond(vocab, n_max);
        if region.n_tokens() - beyond.len() <= sparse_max(n_words) {
            return MaskEntry::new(region.tokens_up_to(vocab, n_max).to_vec(), n_words);
        }
        let row = region.row(n_words);
        MaskEntry::Dense(match &*beyond {
            [] => Arc::clone(row),
            beyond => filled(row, |row| bit_row::clear_all(row, beyond)),
        })
    }

    /// Returns this mask without the tokens `clear` and with the tokens `set`, which may be among them.
    pub fn edited(&self, clear: &[TokenId], set: &[TokenId], n_words: usize) -> Self {
        if clear.is_empty() && set.is_empty() {
            return self.clone();
        }
        let (base, old_set, old_clear) = match self {
            MaskEntry::Sparse(ids) => return MaskEntry::new([&*difference(ids, clear), set].concat(), n_words),
            MaskEntry::Dense(base) => (base, &[][..], &[][..]),
            MaskEntry::Patched { base, set, clear } => (base, &**set, &**clear),
        };
        if clear.len() + set.len() > sparse_max(n_words) {
            return self.changed(base, |row| {
                bit_row::clear_all(row, clear);
                bit_row::set_all(row, set);
            });
        }
        let in_base = |is_in: bool| move |id: &TokenId| bit_row::has(base, *id) == is_in;
        // Room for all at once: most tokens are new.
        let mut more: Vec<TokenId> = Vec::with_capacity(set.len() + old_set.len());
        more.extend(set.iter().copied().filter(in_base(false)));
        more.extend(difference(old_set, clear));
        let mut less: Vec<TokenId> = clear.iter().copied().filter(in_base(true)).collect();
        less.extend_from_slice(old_clear);
        MaskEntry::patched(base, more, difference(&less, set))
    }

    /// Returns this mask with its row changed, as a patch of `base`, which it has or patches, if that is small.
    fn changed(&self, base: &Arc<[u32]>, change: impl FnOnce(&mut [u32])) -> Self {
        let row = filled(base, |row| {
            if let MaskEntry::Patched { set, clear, .. } = self {
                bit_row::set_all(row, set);
                bit_row::clear_all(row, clear);
            }
            change(row);
        });
        MaskEntry::between(base, &row, sparse_max(row.len())).unwrap_or(MaskEntry::Dense(row))
    }

    /// Returns a row with some bits set and others cleared, all of them different from what they were.
    pub(super) fn patched(base: &Arc<[u32]>, set: Vec<TokenId>, clear: Vec<TokenId>) -> Self {
        if set.is_empty() && clear.is_empty() {
            return MaskEntry::Dense(Arc::clone(base));
        }
        if set.len() + clear.len() <= sparse_max(base.len()) {
            return MaskEntry::Patched { base: Arc::clone(base), set: set.into(), clear: clear.into() };
        }
        MaskEntry::Dense(filled(base, |row| {
            bit_row::set_all(row, &set);
            bit_row::clear_all(row, &clear);
        }))
    }

    /// Returns the mask of a row, as the difference from another one, if that is in at most `n_max` tokens.
    pub fn between(base: &Arc<[u32]>, row: &[u32], n_max: usize) -> Option<Self> {
        // Rows that are worth comparing differ in few pieces. Each piece is compared at once, so that comparing takes little longer than copying.
        const WORDS: usize = 8;
        let ((old, old_rest), (new, new_rest)) = (base.as_chunks::<WORDS>(), row.as_chunks::<WORDS>());
        let pieces = (0..).step_by(WORDS).zip(old.iter().zip(new)).filter(|(_, (old, new))| old != new);
        let rest = (old.len() * WORDS, (old_rest, new_rest));
        let pieces = pieces.map(|(first, (old, new))| (first, (&old[..], &new[..]))).chain([rest]);
        let (mut set, mut clear): (Vec<TokenId>, Vec<TokenId>) = (Vec::new(), Vec::new());
        for (first, (old, new)) in pieces {
            for (word, (&old, &new)) in (first..).zip(old.iter().zip(new)).filter(|(_, (old, new))| old != new) {
                set.extend(bit_row::bits_of_word(word, new & !old));
                clear.extend(bit_row::bits_of_word(word, old & !new));
            }
            if set.len() + clear.len() > n_max {
                return None;
            }
        }
        Some(MaskEntry::patched(base, set, clear))
    }

    /// Makes `row` this mask.
    #[inline]
    pub fn write(&self, row: &mut [u32]) {
        match self {
            MaskEntry::Sparse(ids) => {
                row.fill(0);
                bit_row::set_all(row, ids);
            }
            MaskEntry::Dense(base) => row.copy_from_slice(base),
            MaskEntry::Patched { base, set, clear } => {
                row.copy_from_slice(base);
                bit_row::set_all(row, set);
                bit_row::clear_all(row, clear);
            }
        }
    }

    /// Adds this mask to `row`.
    pub fn add_to(&self, row: &mut [u32]) {
        let (base, ids, clear): (&[u32], &[TokenId], &[TokenId]) = match self {
            MaskEntry::Sparse(ids) => (&[], ids, &[]),
            MaskEntry::Dense(base) => (base, &[], &[]),
            MaskEntry::Patched { base, set, clear } => (base, set, clear),
        };
        // What this mask lacks and the row has stays.
        let kept: SmallVec<[TokenId; 16]> = clear.iter().copied().filter(|&id| bit_row::has(row, id)).collect();
        row.iter_mut().zip(base).for_each(|(word, bits)| *word |= bits);
        bit_row::set_all(row, ids);
        bit_row::clear_all(row, clear);
        bit_row::set_all(row, &kept);
    }

    /// Returns the memory that this mask takes beside its row, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            MaskEntry::Sparse(ids) if !ids.spilled() => 0,
            MaskEntry::Sparse(ids) => size_of_val(&**ids),
            MaskEntry::Dense(_) => 0,
            MaskEntry::Patched { set, clear, .. } => size_of_val(&**set) + size_of_val(&**clear),
        }
    }

    /// Returns the row, which other masks may have too.
    pub fn row(&self) -> Option<&Arc<[u32]>> {
        match self {
            MaskEntry::Sparse(_) => None,
            MaskEntry::Dense(row) | MaskEntry::Patched { base: row, .. } => Some(row),
        }
    }

    /// Tells whether the mask allows no token.
    pub fn is_empty(&self) -> bool {
        match self {
            MaskEntry::Sparse(ids) => ids.is_empty(),
            MaskEntry::Dense(base) => !has_more_than(base, 0),
            // What is cleared is in the row.
            MaskEntry::Patched { base, set, clear } => {
                let n_clear = || clear.iter().collect::<AHashSet<_>>().len();
                set.is_empty() && !has_more_than(base, clear.len()) && !has_more_than(base, n_clear())
            }
        }
    }
}

/// Returns a copy of a row, changed before it is shared.
pub(super) fn filled(row: &[u32], change: impl FnOnce(&mut [u32])) -> Arc<[u32]> {
    let mut row: Arc<[u32]> = row.into();
    change(Arc::get_mut(&mut row).expect("the row was just made"));
    row
}

/// Tells whether more than `n` bits are set; looks no further than it must.
fn has_more_than(row: &[u32], n: usize) -> bool {
    let mut n_found = 0;
    row.iter().any(|word| {
        n_found += word.count_ones() as usize;
        n_found > n
    })
}

/// Returns the tokens of `ids` that are not in `others`, which come in any order.
fn difference(ids: &[TokenId], others: &[TokenId]) -> Vec<TokenId> {
    if ids.is_empty() || others.is_empty() {
        return ids.to_vec();
    }
    let mut others = others.to_vec();
    others.sort_unstable();
    ids.iter().copied().filter(|id| others.binary_search(id).is_err()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_empty_when_nothing_is_left_of_it() {
        let many = MaskEntry::new((0..600).collect(), 64);
        let last = many.edited(&(1..600).collect::<Vec<_>>(), &[], 64);
        assert!(!many.is_empty() && !last.is_empty() && last.edited(&[0], &[], 64).is_empty());
        assert!(MaskEntry::new(vec![], 64).is_empty() && !MaskEntry::new(vec![7], 64).is_empty());
        let few = MaskEntry::new((0..520).collect(), 64).edited(&[3], &[], 64);
        assert!(matches!(few, MaskEntry::Patched { .. }) && !few.is_empty());
    }

    #[test]
    fn every_form_writes_and_adds_the_same_bits() {
        let n_words = 64;
        let few: Vec<u32> = (0..5).map(|i| i * 31).collect();
        let many: Vec<u32> = (0..600).map(|i| i * 2).collect();
        let patched = MaskEntry::new(many.clone(), n_words).edited(&[], &[1, 3, 4], n_words);
        assert!(matches!(patched, MaskEntry::Patched { .. }));
        let cases = [
            (MaskEntry::new(few.clone(), n_words), few.clone()),
            (MaskEntry::new(many.clone(), n_words), many.clone()),
            (patched.edited(&[], &[5, 3], n_words), [many.clone(), vec![1, 3, 5]].concat()),
            (MaskEntry::new(few.clone(), n_words).edited(&[], &many, n_words), [few.clone(), many.clone()].concat()),
            (patched.edited(&[], &(0..2000).collect::<Vec<_>>(), n_words), (0..2000).collect()),
            (patched.edited(&[0, 3, 8], &[], n_words), [&[1, 2, 4, 6][..], &many[5..]].concat()),
            (patched.edited(&many[5..], &[], n_words), [&many[..5], &[1, 3]].concat()),
            (patched.edited(&[0, 3, 8], &[3, 8], n_words), [&[1, 2, 3, 4, 6][..], &many[4..]].concat()),
            (MaskEntry::new(few.clone(), n_words).edited(&[31, 32], &[], n_words), [&few[..1], &few[2..]].concat()),
        ];
        for (entry, tokens) in cases {
            let mut expected = vec![0u32; n_words];
            bit_row::set_all(&mut expected, &tokens);
            let mut row = vec![u32::MAX; n_words];
            entry.write(&mut row);
            assert_eq!(row, expected);
            row.fill(0);
            let others = [2047, 8];
            bit_row::set_all(&mut row, &others);
            entry.add_to(&mut row);
            bit_row::set_all(&mut expected, &others);
            assert_eq!(row, expected);
            assert!(!entry.is_empty());
        }
    }
}

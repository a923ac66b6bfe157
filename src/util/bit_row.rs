//! Rows of bits, 32 to a word: bit `i % 32` of word `i / 32`, least significant first, stands for the number `i`.

use std::sync::Arc;

/// Returns how many words a row of so many bits has.
#[inline]
pub(crate) const fn n_words(n_bits: usize) -> usize {
    n_bits.div_ceil(32)
}

/// Returns the row with some bits.
pub(crate) fn of(bits: &[u32], n_words: usize) -> Arc<[u32]> {
    let mut row: Arc<[u32]> = core::iter::repeat_n(0, n_words).collect();
    set_all(Arc::get_mut(&mut row).expect("the row was just made"), bits);
    row
}

/// Returns the index of the word that has a bit, and the bit.
#[inline]
pub(crate) fn place(bit: u32) -> (usize, u32) {
    (bit as usize / 32, 1 << (bit % 32))
}

/// Tells whether a bit is set.
#[inline]
pub(crate) fn has(row: &[u32], bit: u32) -> bool {
    let (word, bit) = place(bit);
    row[word] & bit != 0
}

/// Sets a bit.
#[inline]
pub(crate) fn set(row: &mut [u32], bit: u32) {
    let (word, bit) = place(bit);
    row[word] |= bit;
}

/// Clears a bit.
#[inline]
pub(crate) fn clear(row: &mut [u32], bit: u32) {
    let (word, bit) = place(bit);
    row[word] &= !bit;
}

/// Sets some bits.
#[inline]
pub(crate) fn set_all(row: &mut [u32], bits: &[u32]) {
    bits.iter().for_each(|&bit| set(row, bit));
}

/// Clears some bits.
#[inline]
pub(crate) fn clear_all(row: &mut [u32], bits: &[u32]) {
    bits.iter().for_each(|&bit| clear(row, bit));
}

/// Returns the bits of a row, ascending.
pub(crate) fn bits(row: &[u32]) -> impl Iterator<Item = u32> + '_ {
    // Most words of most rows have none.
    row.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(|(index, &word)| bits_of_word(index, word))
}

/// Returns the bits of one word of a row, ascending.
#[inline]
pub(crate) fn bits_of_word(index: usize, word: u32) -> impl Iterator<Item = u32> {
    let next = |&left: &u32| Some(left & left.wrapping_sub(1)).filter(|&left| left != 0);
    core::iter::successors(Some(word).filter(|&word| word != 0), next)
        .map(move |left| 32 * index as u32 + left.trailing_zeros())
}

/// Clears the bits from `low` to `high`, both included, as far as there are so many.
pub(crate) fn clear_range(row: &mut [u32], low: u32, high: u32) {
    let (first, last) = (low as usize / 32, high as usize / 32);
    let n_words = row.len();
    for (index, word) in row.iter_mut().enumerate().take(last.saturating_add(1).min(n_words)).skip(first) {
        *word &= !bits_between(index, low, high);
    }
}

/// Returns the bits of a word that stand for numbers from `low` to `high`.
fn bits_between(word: usize, low: u32, high: u32) -> u32 {
    let base = word as u32 * 32;
    let from = low.saturating_sub(base);
    let below = u64::from(high) + 1 - u64::from(base);
    let mask = if below >= 32 { u32::MAX } else { (1 << below) - 1 };
    mask & (u32::MAX << from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cleared() {
        for (low, high) in [(0, 0), (3, 40), (31, 32), (32, 63), (0, 95), (64, 200), (90, 95)] {
            let mut row = vec![u32::MAX; 3];
            clear_range(&mut row, low, high);
            assert!((0..96).filter(|&bit| !has(&row, bit)).eq(low..=high.min(95)));
        }
    }

    #[test]
    fn bits_are_set_and_cleared() {
        let mut row = vec![0; n_words(65)];
        assert_eq!((n_words(0), n_words(32), row.len()), (0, 1, 3));
        set_all(&mut row, &[0, 31, 32, 64]);
        assert_eq!(row, [1 | 1 << 31, 1, 1]);
        clear_all(&mut row, &[0, 1, 32]);
        assert_eq!((0..65).filter(|&bit| has(&row, bit)).collect::<Vec<_>>(), [31, 64]);
        assert_eq!(place(70), (2, 1 << 6));
        assert!(bits(&[0, 1 | 1 << 31, 0, 6]).eq([32, 63, 97, 98]) && bits(&[0]).next().is_none());
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_and_cleared() {
        let mut row = vec![0; n_words(65)];
        assert_eq!((n_words(0), n_words(32), row.len()), (0, 1, 3));
        set_all(&mut row, &[0, 31, 32, 64]);
        assert_eq!(row, [1 | 1 << 31, 1, 1]);
        clear_all(&mut row, &[0, 1, 32]);
        assert_eq!((0..65).filter(|&bit| has(&row, bit)).collect::<Vec<_>>(), [31, 64]);
        assert_eq!(place(70), (2, 1 << 6));
    }
}

//! A set of bytes as a bitmap of four words.

use core::fmt;

/// A set of bytes.
///
/// ```
/// use maskwright::util::ByteSet;
/// let digits = ByteSet::range(b'0', b'9');
/// assert!(digits.contains(b'7') && digits.len() == 10);
/// assert_eq!((digits | ByteSet::from_bytes(b"x")).iter().last(), Some(b'x'));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct ByteSet {
    words: [u64; 4],
}

impl ByteSet {
    /// The set without members.
    pub const EMPTY: ByteSet = ByteSet { words: [0; 4] };
    /// The set of all 256 bytes.
    pub const ALL: ByteSet = ByteSet { words: [u64::MAX; 4] };

    /// Returns the set of the bytes `low..=high`; empty when `low > high`.
    pub fn range(low: u8, high: u8) -> Self {
        if low > high {
            return Self::EMPTY;
        }
        // By word: its bits from the first member on, and up to the last.
        let bits = |i: usize, byte: u8| usize::from(byte).saturating_sub(64 * i).min(63);
        let is_in = |i: usize| (usize::from(low >> 6)..=usize::from(high >> 6)).contains(&i);
        let word = |i: usize| if is_in(i) { u64::MAX << bits(i, low) & u64::MAX >> (63 - bits(i, high)) } else { 0 };
        ByteSet { words: core::array::from_fn(word) }
    }

    /// Returns the set of the bytes in `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        bytes.iter().copied().collect()
    }

    /// Returns the set of the bytes whose bit is set: byte `64 * i + j` by bit `j` of word `i`.
    pub fn from_words(words: [u64; 4]) -> Self {
        ByteSet { words }
    }

    /// Returns the members below 128, by bit.
    pub fn ascii(&self) -> u128 {
        u128::from(self.words[0]) | u128::from(self.words[1]) << 64
    }

    /// Returns whether `byte` is a member.
    #[inline]
    pub fn contains(&self, byte: u8) -> bool {
        self.words[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Adds `byte`.
    #[inline]
    pub fn insert(&mut self, byte: u8) {
        self.words[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Returns whether the set has no member.
    pub fn is_empty(&self) -> bool {
        self.words == [0; 4]
    }

    /// Returns whether every member is in `other` too.
    pub fn is_subset(&self, other: &ByteSet) -> bool {
        self.words.iter().zip(other.words).all(|(a, b)| a & !b == 0)
    }

    /// Returns the members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let words = self.words;
        (0..4u8).flat_map(move |i| {
            let mut word = words[usize::from(i)];
            core::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros() as u8;
                    word &= word - 1;
                    (i << 6) | bit
                })
            })
        })
    }

    /// Returns the maximal runs of consecutive members, ascending.
    pub fn ranges(&self) -> Vec<(u8, u8)> {
        let mut runs: Vec<(u8, u8)> = Vec::new();
        for byte in self.iter() {
            match runs.last_mut() {
                Some((_, high)) if *high + 1 == byte => *high = byte,
                _ => runs.push((byte, byte)),
            }
        }
        runs
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        let mut set = Self::EMPTY;
        bytes.into_iter().for_each(|b| set.insert(b));
        set
    }
}

impl core::ops::BitOr for ByteSet {
    type Output = ByteSet;
    fn bitor(mut self, other: ByteSet) -> ByteSet {
        self |= other;
        self
    }
}

impl core::ops::BitOrAssign for ByteSet {
    fn bitor_assign(&mut self, other: ByteSet) {
        self.words.iter_mut().zip(other.words).for_each(|(a, b)| *a |= b);
    }
}

impl core::ops::BitAnd for ByteSet {
    type Output = ByteSet;
    fn bitand(mut self, other: ByteSet) -> ByteSet {
        self.words.iter_mut().zip(other.words).for_each(|(a, b)| *a &= b);
        self
    }
}

impl core::ops::Not for ByteSet {
    type Output = ByteSet;
    fn not(mut self) -> ByteSet {
        self.words.iter_mut().for_each(|w| *w = !*w);
        self
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (low, high) in self.ranges() {
            write!(f, "{}", core::ascii::escape_default(low))?;
            if high > low {
                write!(f, "-{}", core::ascii::escape_default(high))?;
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complement_and_ranges() {
        let set = ByteSet::range(3, 70) | ByteSet::from_bytes(&[255]);
        assert_eq!(set.ranges(), [(3, 70), (255, 255)]);
        assert_eq!((!set).ranges(), [(0, 2), (71, 254)]);
        assert!((set & !set).is_empty() && (set | !set) == ByteSet::ALL);
        assert_eq!(ByteSet::range(9, 3), ByteSet::EMPTY);
        for (low, high) in (0..=255u8).flat_map(|low| (low..=255).map(move |high| (low, high))) {
            assert_eq!(ByteSet::range(low, high), (low..=high).collect(), "{low} to {high}");
        }
        assert_eq!(ByteSet::from_bytes(&[0, 63, 64, 127, 128]).ascii(), 1 | 1 << 63 | 1 << 64 | 1 << 127);
        assert_eq!(ByteSet::ALL.iter().count(), 256);
    }
}

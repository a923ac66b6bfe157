//! Sets of Unicode scalar values.

/// A set of characters (Unicode scalar values, so never surrogates), as sorted ranges that neither touch nor overlap.
///
/// ```
/// use maskwright::regular::CharSet;
/// let letters = CharSet::range('a', 'z').union(&CharSet::range('A', 'Z'));
/// assert!(letters.contains('Q') && !letters.negate().contains('Q'));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct CharSet {
    ranges: Box<[(char, char)]>,
}

impl CharSet {
    /// Returns the set without members.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns the set of all characters.
    pub fn all() -> Self {
        CharSet { ranges: Box::new([('\0', char::MAX)]) }
    }

    /// Returns the set of the characters `low..=high`; empty when `low > high`.
    pub fn range(low: char, high: char) -> Self {
        Self::from_ranges([(low, high)])
    }

    /// Returns the union of inclusive ranges in any order.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        Self::of_listed(ranges.into_iter().collect())
    }

    fn of_listed(mut ranges: Vec<(char, char)>) -> Self {
        ranges.retain(|(low, high)| low <= high);
        ranges.sort_unstable();
        let mut merged: Vec<(char, char)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match merged.last_mut() {
                Some((_, last)) if successor(*last).is_none_or(|next| low <= next) => *last = (*last).max(high),
                _ => merged.push((low, high)),
            }
        }
        CharSet { ranges: merged.into() }
    }

    /// Returns the ranges, ascending.
    pub fn ranges(&self) -> &[(char, char)] {
        &self.ranges
    }

    /// Tells whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Tells whether all characters are members.
    pub fn is_all(&self) -> bool {
        *self.ranges == [('\0', char::MAX)]
    }

    /// Tells whether `c` is a member.
    pub fn contains(&self, c: char) -> bool {
        self.ranges
            .binary_search_by(|&(low, high)| {
                if high < c {
                    core::cmp::Ordering::Less
                } else if low > c {
                    core::cmp::Ordering::Greater
                } else {
                    core::cmp::Ordering::Equal
                }
            })
            .is_ok()
    }

    /// Returns the characters that are in either set.
    pub fn union(&self, other: &CharSet) -> CharSet {
        Self::from_ranges(self.ranges.iter().chain(other.ranges.iter()).copied())
    }

    /// Returns the characters that are not in this set.
    pub fn negate(&self) -> CharSet {
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = Some('\0');
        for &(low, high) in &self.ranges {
            if let (Some(from), Some(to)) = (next, predecessor(low))
                && from <= to
            {
                gaps.push((from, to));
            }
            next = successor(high);
        }
        if let Some(from) = next {
            gaps.push((from, char::MAX));
        }
        CharSet { ranges: gaps.into() }
    }

    /// Returns the characters that are in both sets.
    pub fn intersect(&self, other: &CharSet) -> CharSet {
        self.negate().union(&other.negate()).negate()
    }
}

impl FromIterator<char> for CharSet {
    fn from_iter<I: IntoIterator<Item = char>>(chars: I) -> Self {
        Self::from_ranges(chars.into_iter().map(|c| (c, c)))
    }
}

/// Returns the next scalar value, past the gap of the surrogates.
fn successor(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{E000}'),
        char::MAX => None,
        _ => char::from_u32(u32::from(c) + 1),
    }
}

/// Returns the scalar value before, past the gap of the surrogates.
fn predecessor(c: char) -> Option<char> {
    match c {
        '\u{E000}' => Some('\u{D7FF}'),
        '\0' => None,
        _ => char::from_u32(u32::from(c) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negation_jumps_over_surrogates() {
        let below = CharSet::range('\0', '\u{D7FF}');
        assert_eq!(below.negate(), CharSet::range('\u{E000}', char::MAX));
        assert_eq!(below.union(&below.negate()), CharSet::all());
        assert_eq!(CharSet::all().negate(), CharSet::empty());
        assert_eq!(CharSet::empty().negate(), CharSet::all());
    }

    #[test]
    fn ranges_merge_when_they_touch() {
        let set = CharSet::from_ranges([('d', 'f'), ('a', 'c'), ('x', 'b'), ('e', 'm')]);
        assert_eq!(set.ranges(), [('a', 'm')]);
        assert_eq!(CharSet::from_ranges([('a', 'm'), ('b', 'c')]).ranges(), [('a', 'm')]);
        let both = set.intersect(&CharSet::range('k', 'z'));
        assert_eq!(both.ranges(), [('k', 'm')]);
        assert!(both.contains('l') && !both.contains('n'));
    }
}

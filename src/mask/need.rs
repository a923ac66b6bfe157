//! What the texts have in common that are refused from a state on: by which bytes they can be told from those that are not.

use smallvec::SmallVec;

/// Most sets of kinds of bytes for one place.
const SETS_MAX: usize = 4;

/// Sets of kinds of bytes ([`byte_bit`](crate::vocab::byte_bit)): a text without a byte of each kind of some set is not refused. None contains another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Need {
    sets: SmallVec<[u64; 2]>,
}

impl Need {
    /// That of places of which nothing is known.
    pub fn unknown() -> Need {
        Need { sets: SmallVec::from_slice(&[0]) }
    }

    /// Adds a set; returns whether that makes a difference. Beyond [`SETS_MAX`] sets the two that have most in common are replaced by that.
    pub fn add(&mut self, mut set: u64) -> bool {
        if self.sets.iter().any(|known| known & set == *known) {
            return false;
        }
        loop {
            self.sets.retain(|known| *known & set != set);
            if self.sets.len() < SETS_MAX {
                self.sets.push(set);
                return true;
            }
            let nearest = self.sets.iter().max_by_key(|known| (**known & set).count_ones()).expect("there are many");
            set &= nearest;
        }
    }

    /// Adds what texts need behind a byte of these kinds; returns whether that makes a difference.
    pub fn add_behind(&mut self, kinds: u64, behind: &Need) -> bool {
        behind.sets.iter().fold(false, |is_more, set| self.add(set | kinds) | is_more)
    }

    /// Returns whether no text of bytes of these kinds has what it needs.
    #[inline]
    pub fn is_missing_in(&self, kinds: u64) -> bool {
        self.sets.iter().all(|set| set & !kinds != 0)
    }

    /// The sets: a text without a byte of each kind of some set is not refused.
    #[inline]
    pub fn sets(&self) -> &[u64] {
        &self.sets
    }

    /// Returns the fewest kinds of bytes that a text needs.
    pub fn n_kinds_min(&self) -> u32 {
        self.sets.iter().map(|set| set.count_ones()).min().unwrap_or(u64::BITS)
    }

    /// Returns how much memory it takes beside itself, in bytes.
    pub fn memory_bytes(&self) -> usize {
        if self.sets.spilled() { 8 * self.sets.capacity() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_keeps_the_smallest_sets_and_joins_the_nearest() {
        let mut need = Need::default();
        assert!(need.is_missing_in(u64::MAX), "nothing is refused");
        assert!(need.add(0b111) && need.add(0b011) && !need.add(0b1011));
        assert_eq!(need.sets[..], [0b011]);
        for bit in 2..2 + SETS_MAX as u32 {
            need.add(0b1 | 1 << bit);
        }
        assert!(need.sets.len() <= SETS_MAX && need.sets.contains(&1), "{need:?}");
        assert!(!need.is_missing_in(0b1) && need.is_missing_in(0b10));
    }
}

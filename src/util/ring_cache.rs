//! A cache of the last few entries, for lookups that repeat soon.

/// The last `N` entries inserted; a new one replaces the oldest. Lookups compare every key, so `N` is small.
pub(crate) struct RingCache<K, V, const N: usize> {
    entries: [Option<(K, V)>; N],
    next: usize,
}

impl<K, V, const N: usize> Default for RingCache<K, V, N> {
    fn default() -> Self {
        RingCache { entries: [const { None }; N], next: 0 }
    }
}

impl<K: PartialEq, V, const N: usize> RingCache<K, V, N> {
    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.entries.fill_with(|| None);
    }

    /// Returns the value inserted with `key`, if it was not replaced.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.iter().flatten().find(|(cached, _)| cached == key).map(|(_, value)| value)
    }

    /// Inserts an entry in the place of the oldest.
    pub fn insert(&mut self, key: K, value: V) {
        self.entries[self.next] = Some((key, value));
        self.next = (self.next + 1) % N;
    }
}

#[cfg(test)]
mod tests {
    use super::RingCache;

    #[test]
    fn the_last_entries_are_found() {
        let mut cache: RingCache<u32, u32, 3> = RingCache::default();
        (0..5).for_each(|n| cache.insert(n, 10 * n));
        assert_eq!([0, 1, 2, 3, 4].map(|n| cache.get(&n).copied()), [None, None, Some(20), Some(30), Some(40)]);
        cache.clear();
        assert!((0..5).all(|n| cache.get(&n).is_none()));
    }
}

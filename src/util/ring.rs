//! The last few answers to a question.

/// The last `N` answers to a question, the oldest to be replaced first. PERF: what is asked again is asked soon.
pub(crate) struct Ring<K, V, const N: usize> {
    entries: [Option<(K, V)>; N],
    next: usize,
}

impl<K, V, const N: usize> Default for Ring<K, V, N> {
    fn default() -> Self {
        Ring { entries: [const { None }; N], next: 0 }
    }
}

impl<K: PartialEq, V, const N: usize> Ring<K, V, N> {
    pub fn clear(&mut self) {
        self.entries.fill_with(|| None);
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.iter().flatten().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.entries[self.next] = Some((key, value));
        self.next = (self.next + 1) % N;
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn the_last_answers_are_known() {
        let mut ring: Ring<u32, u32, 3> = Ring::default();
        (0..5).for_each(|n| ring.insert(n, 10 * n));
        assert_eq!([0, 1, 2, 3, 4].map(|n| ring.get(&n).copied()), [None, None, Some(20), Some(30), Some(40)]);
        ring.clear();
        assert!((0..5).all(|n| ring.get(&n).is_none()));
    }
}

//! Declared property names. An additional property must not reuse one of them.

use core::ops::Range;

/// The spellings of an object's declared property names, sorted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DeclaredKeys {
    bytes: Box<[u8]>,
    /// Where each key ends in `bytes`.
    ends: Box<[u32]>,
}

impl DeclaredKeys {
    /// Returns the list of some keys, which come in ascending order, each with `prefix` before it.
    pub fn new<'a>(prefix: &[u8], keys: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Self {
        let n_bytes = keys.clone().map(|key| prefix.len() + key.len()).sum();
        let (mut bytes, mut ends) = (Vec::with_capacity(n_bytes), Vec::with_capacity(keys.len()));
        for key in keys {
            bytes.extend_from_slice(prefix);
            bytes.extend_from_slice(key);
            ends.push(bytes.len() as u32);
        }
        let declared_keys = DeclaredKeys { bytes: bytes.into(), ends: ends.into() };
        debug_assert!(declared_keys.iter().is_sorted());
        declared_keys
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the keys in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Returns the key at `index`.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    /// Returns whether `key` is declared. Binary search.
    pub fn contains(&self, key: &[u8]) -> bool {
        let index = self.n_before(key);
        index < self.len() && self.get(index) == key
    }

    /// Returns the indices of the keys that begin with `prefix`. Binary search.
    pub fn with_prefix(&self, prefix: &[u8]) -> Range<usize> {
        let first = self.n_before(prefix);
        first..self.partition_point(first..self.len(), |key| key.starts_with(prefix))
    }

    /// Returns the index of the first key of `range` that fails `test`, or the end of `range`: as `slice::partition_point`.
    pub fn partition_point(&self, range: Range<usize>, test: impl Fn(&[u8]) -> bool) -> usize {
        let Range { start: mut low, end: mut high } = range;
        while low < high {
            let middle = low.midpoint(high);
            if test(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns the number of keys less than `key`.
    fn n_before(&self, key: &[u8]) -> usize {
        self.partition_point(0..self.len(), |declared| declared < key)
    }

    /// Returns how much memory the keys take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_whole_and_by_prefix() {
        let keys: [&[u8]; 6] = [b"", b"a", b"ab", b"abc", b"b", b"ba"];
        let declared_keys = DeclaredKeys::new(b"", keys.into_iter());
        assert_eq!(declared_keys.iter().collect::<Vec<_>>(), keys);
        for key in keys {
            assert!(declared_keys.contains(key));
        }
        for key in [&b"abcd"[..], b"aa", b"c", b"\0"] {
            assert!(!declared_keys.contains(key));
        }
        assert_eq!(
            [&b"a"[..], b"abc", b"b", b""].map(|prefix| declared_keys.with_prefix(prefix)),
            [1..4, 3..4, 4..6, 0..6]
        );
        assert!(declared_keys.with_prefix(b"c").is_empty() && DeclaredKeys::default().with_prefix(b"").is_empty());
        assert_eq!(declared_keys.partition_point(1..6, |key| key[0] == b'a'), 4);
        let long = DeclaredKeys::new(b"\"", [&b"abc"[..]].into_iter());
        assert!(long.contains(b"\"abc") && !long.contains(b"\"ab") && !long.contains(b"abc"));
    }
}

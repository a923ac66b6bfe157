//! Elements that are taken before any was read: the names of an object, which keys that nobody names must not be.

use core::ops::Range;

/// Texts in ascending order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reserved {
    bytes: Box<[u8]>,
    /// Where each text ends.
    ends: Box<[u32]>,
}

impl Reserved {
    /// Returns these texts, which come in ascending order, each behind `first`.
    pub fn new<'a>(first: &[u8], texts: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Self {
        let n_bytes = texts.clone().map(|text| first.len() + text.len()).sum();
        let (mut bytes, mut ends) = (Vec::with_capacity(n_bytes), Vec::with_capacity(texts.len()));
        for text in texts {
            bytes.extend_from_slice(first);
            bytes.extend_from_slice(text);
            ends.push(bytes.len() as u32);
        }
        let reserved = Reserved { bytes: bytes.into(), ends: ends.into() };
        debug_assert!(reserved.iter().is_sorted());
        reserved
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    /// Tells whether `text` is one of them. Binary search.
    pub fn contains(&self, text: &[u8]) -> bool {
        let index = self.n_before(text);
        index < self.len() && self.get(index) == text
    }

    /// Returns the texts that begin with `begun`, by number. Binary search.
    pub fn begun_by(&self, begun: &[u8]) -> Range<usize> {
        let first = self.n_before(begun);
        first..self.first_without(first..self.len(), |text| text.starts_with(begun))
    }

    /// Returns the first of some texts that fails a test, which only those at the beginning pass; or else the end. Binary search.
    pub fn first_without(&self, among: Range<usize>, test: impl Fn(&[u8]) -> bool) -> usize {
        let Range { start: mut low, end: mut high } = among;
        while low < high {
            let middle = low.midpoint(high);
            if test(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns the number of texts that come before `text`.
    fn n_before(&self, text: &[u8]) -> usize {
        self.first_without(0..self.len(), |known| known < text)
    }

    /// Returns how much memory the texts take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_whole_and_begun() {
        let texts: [&[u8]; 6] = [b"", b"a", b"ab", b"abc", b"b", b"ba"];
        let reserved = Reserved::new(b"", texts.into_iter());
        assert_eq!(reserved.iter().collect::<Vec<_>>(), texts);
        for text in texts {
            assert!(reserved.contains(text));
        }
        for text in [&b"abcd"[..], b"aa", b"c", b"\0"] {
            assert!(!reserved.contains(text));
        }
        assert_eq!([&b"a"[..], b"abc", b"b", b""].map(|begun| reserved.begun_by(begun)), [1..4, 3..4, 4..6, 0..6]);
        assert!(reserved.begun_by(b"c").is_empty() && Reserved::default().begun_by(b"").is_empty());
        assert_eq!(reserved.first_without(1..6, |text| text[0] == b'a'), 4);
        let long = Reserved::new(b"\"", [&b"abc"[..]].into_iter());
        assert!(long.contains(b"\"abc") && !long.contains(b"\"ab") && !long.contains(b"abc"));
    }
}

//! Elements that are taken before any was read: the names of an object, which keys that nobody names must not be.

/// Texts in ascending order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reserved {
    bytes: Box<[u8]>,
    /// Where each text ends.
    ends: Box<[u32]>,
}

impl Reserved {
    /// Returns these texts, which come in ascending order.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for text in texts {
            bytes.extend_from_slice(text);
            ends.push(bytes.len() as u32);
        }
        let reserved = Reserved { bytes: bytes.into(), ends: ends.into() };
        debug_assert!(reserved.iter().is_sorted());
        reserved
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    /// Tells whether `text` is one of them. Binary search.
    pub fn contains(&self, text: &[u8]) -> bool {
        let index = self.n_before(text);
        index < self.len() && self.get(index) == text
    }

    /// Returns what is left of each text that begins with `begun`, ascending. Binary search, and a step for each of them.
    pub fn rests<'a>(&'a self, begun: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
        (self.n_before(begun)..self.len()).map_while(|index| self.get(index).strip_prefix(begun))
    }

    /// Returns the number of texts that come before `text`.
    fn n_before(&self, text: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle) < text { low = middle + 1 } else { high = middle }
        }
        low
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
        let reserved = Reserved::new(texts);
        assert_eq!(reserved.iter().collect::<Vec<_>>(), texts);
        for text in texts {
            assert!(reserved.contains(text));
        }
        for text in [&b"abcd"[..], b"aa", b"c", b"\0"] {
            assert!(!reserved.contains(text));
        }
        let rests = |begun: &[u8]| reserved.rests(begun).map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(rests(b"a"), [&b""[..], b"b", b"bc"]);
        assert_eq!(rests(b"abc"), [b""]);
        assert_eq!(rests(b"").len(), 6);
        assert!(rests(b"c").is_empty() && Reserved::default().rests(b"").next().is_none());
    }
}

//! The text read so far and the sets of elements in it, for rules whose elements must all be different.
//!
//! The register of such a rule holds a set (lower half) and, in the frame of an element under way, the place where the element began (upper half).
//! Sets are lists that share their ends; an element is a piece of the text. Both only grow at their ends and are cut back by rolling back.

use crate::machine::Distinct;
use crate::util::chunked::Chunked;

/// Names a set: 0 is the empty one.
type SetId = u32;

/// A set: another one and one more element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Set {
    rest: SetId,
    start: u32,
    end: u32,
}

/// What elements are compared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elements {
    text: Chunked<u8>,
    sets: Chunked<Set>,
}

impl Elements {
    #[inline]
    pub fn n_bytes(&self) -> u32 {
        self.text.len() as u32
    }

    pub fn read(&mut self, byte: u8) {
        assert!(self.text.len() < u32::MAX as usize, "a text with distinct elements has fewer than 2^32 bytes");
        self.text.push(byte);
    }

    /// Forgets all but the first `n_bytes` bytes, and the elements that end behind them.
    pub fn truncate(&mut self, n_bytes: u32) {
        while self.sets.len() > 0 && self.sets.get(self.sets.len() - 1).end > n_bytes {
            self.sets.truncate(self.sets.len() - 1);
        }
        self.text.truncate(n_bytes as usize);
    }

    /// Returns the register of the frame of an element that begins with the last byte.
    pub fn begin(&self, register: u64) -> u64 {
        u64::from(register as u32) | u64::from(self.n_bytes() - 1) << 32
    }

    /// Ends the element of a frame; returns the register with the new set, unless the element was in it already.
    pub fn admit(&mut self, register: u64, distinct: Distinct) -> Option<u64> {
        let (rest, start, end) = (register as u32, (register >> 32) as u32, self.n_bytes());
        let element = self.piece(start, end);
        if self.any(rest, |set| {
            let is_short = distinct.equality == crate::machine::Equality::Bytes && set.end - set.start != end - start;
            !is_short && distinct.equality.same(&self.piece(set.start, set.end), &element)
        }) {
            return None;
        }
        let set = Set { rest, start, end };
        // Other places where the text can lead end the same element.
        let n_sets = self.sets.len();
        let known = (n_sets.saturating_sub(4)..n_sets).find(|&index| self.sets.get(index) == set);
        let index = known.unwrap_or_else(|| {
            self.sets.push(set);
            n_sets
        });
        Some(index as u64 + 1)
    }

    /// Calls `visit` with what is left of each element of the frame's set that the element under way is a beginning of.
    pub fn for_each_rest(&self, register: u64, mut visit: impl FnMut(&[u8])) {
        let begun = self.piece((register >> 32) as u32, self.n_bytes());
        self.any(register as u32, |set| {
            if (set.end - set.start) as usize >= begun.len() {
                let element = self.piece(set.start, set.end);
                if let Some(rest) = element.strip_prefix(&*begun) {
                    visit(rest);
                }
            }
            false
        });
    }

    /// Returns what was read of the element of a frame.
    #[cfg(feature = "testing")]
    pub fn begun(&self, register: u64) -> Vec<u8> {
        self.piece((register >> 32) as u32, self.n_bytes())
    }

    /// Returns the first byte of the element of a frame.
    pub fn first_byte(&self, register: u64) -> Option<u8> {
        let start = (register >> 32) as usize;
        (start < self.text.len()).then(|| self.text.get(start))
    }

    /// Calls `visit` with each element of a set.
    pub fn for_each(&self, register: u64, mut visit: impl FnMut(Vec<u8>)) {
        self.any(register as u32, |set| {
            visit(self.piece(set.start, set.end));
            false
        });
    }

    pub fn memory_bytes(&self) -> usize {
        self.text.memory_bytes() + self.sets.memory_bytes()
    }

    fn any(&self, mut set: SetId, mut test: impl FnMut(Set) -> bool) -> bool {
        while set != 0 {
            let content = self.sets.get(set as usize - 1);
            if test(content) {
                return true;
            }
            set = content.rest;
        }
        false
    }

    fn piece(&self, start: u32, end: u32) -> Vec<u8> {
        (start..end).map(|place| self.text.get(place as usize)).collect()
    }
}

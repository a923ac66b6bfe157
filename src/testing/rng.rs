//! A small generator of random numbers (SplitMix64).

use std::collections::VecDeque;

/// A generator of random numbers that depend on a seed alone, or on the bytes of a fuzzer.
///
/// ```
/// use maskwright::testing::Rng;
/// let (mut a, mut b) = (Rng::new(7), Rng::new(7));
/// assert!((0..100).all(|_| a.below(10) == b.below(10)));
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    /// Numbers from the fuzzer's bytes, returned first.
    given: VecDeque<u16>,
    state: u64,
}

impl Rng {
    /// Returns a generator for a seed.
    pub fn new(seed: u64) -> Self {
        Rng { given: VecDeque::new(), state: seed }
    }

    /// Returns a generator whose first numbers are the pairs of `data`, so that a fuzzer that changes a byte changes one decision; the
    /// numbers after them depend on all of `data`.
    pub fn from_bytes(data: &[u8]) -> Self {
        let given = data.chunks(2).map(|pair| u16::from(pair[0]) | pair.get(1).map_or(0, |&high| u16::from(high) << 8));
        let state = data
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |state: u64, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Rng { given: given.collect(), state }
    }

    /// Returns 64 random bits, or the next number given.
    pub fn bits(&mut self) -> u64 {
        if let Some(number) = self.given.pop_front() {
            return number.into();
        }
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Returns true `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns a member of a slice.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

//! A fast keyed hash for keys that consist of machine words.
//!
//! General hashers absorb bytes and so take tens of instructions for a word. Here a word is one 64 × 64 → 128 bit multiplication whose
//! halves are xored (a *fold*). The factor is random for each store, so that nobody can prepare keys that all collide.

use core::hash::{BuildHasher, Hasher};
use hashbrown::DefaultHashBuilder;

/// Makes the [`FoldHasher`]s of one store, all with the same random key.
#[derive(Clone, Debug)]
pub(crate) struct FoldBuildHasher {
    seed: u64,
    factor: u64,
}

impl Default for FoldBuildHasher {
    fn default() -> Self {
        let random = DefaultHashBuilder::default();
        FoldBuildHasher { seed: random.hash_one(0u8), factor: random.hash_one(1u8) | 1 }
    }
}

impl BuildHasher for FoldBuildHasher {
    type Hasher = FoldHasher;

    #[inline]
    fn build_hasher(&self) -> FoldHasher {
        FoldHasher { hash: self.seed, factor: self.factor }
    }
}

/// A hasher that folds one word at a time.
pub(crate) struct FoldHasher {
    hash: u64,
    factor: u64,
}

impl Hasher for FoldHasher {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.hash = fold(self.hash ^ word, self.factor);
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, tail) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        // The leading 1 tells tails of different lengths apart.
        let last = tail.iter().fold(1, |last, &byte| last << 8 | u64::from(byte));
        self.write_u64(last);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The high bits of the last word have reached few of the low bits yet, by which hash tables choose their buckets.
        fold(self.hash, self.factor)
    }
}

#[inline]
fn fold(word: u64, factor: u64) -> u64 {
    let product = u128::from(word) * u128::from(factor);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashSet;

    #[test]
    fn different_keys_have_different_hashes() {
        let builder = FoldBuildHasher::default();
        let zeros = (2..258usize).map(|length| builder.hash_one(&vec![0u8; length][..]));
        let words = (0..4096u64)
            .flat_map(|word| [builder.hash_one(word), builder.hash_one((word, 1u8)), builder.hash_one((1u8, word))]);
        let hashes: HashSet<u64> = zeros.chain(words).collect();
        // (1, 1) is there twice.
        assert_eq!(hashes.len(), 256 + 3 * 4096 - 1);
        assert_eq!(builder.hash_one("text"), builder.clone().hash_one("text"));
    }

    #[test]
    fn low_bits_differ_too() {
        let builder = FoldBuildHasher::default();
        let low: HashSet<u64> = (0..1024u64).map(|word| builder.hash_one(word << 40) & 1023).collect();
        assert!(low.len() > 500, "{} of 1024", low.len());
    }
}

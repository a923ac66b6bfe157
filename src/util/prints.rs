//! Fingerprints of what consists of whole words.
//!
//! General hashers take in bytes of any number, and so take tens of steps for a word. Here a word is one multiplication to 128 bits, of which
//! both halves are put together; the factor is a secret of each store, so that nobody can make up values which all have one fingerprint.

use core::hash::{BuildHasher, Hasher};
use hashbrown::DefaultHashBuilder;

/// Makes the [`Prints`] of one store.
#[derive(Clone, Debug)]
pub(crate) struct PrintBuilder {
    seed: u64,
    factor: u64,
}

impl Default for PrintBuilder {
    fn default() -> Self {
        let random = DefaultHashBuilder::default();
        PrintBuilder { seed: random.hash_one(0u8), factor: random.hash_one(1u8) | 1 }
    }
}

impl BuildHasher for PrintBuilder {
    type Hasher = Prints;

    #[inline]
    fn build_hasher(&self) -> Prints {
        Prints { print: self.seed, factor: self.factor }
    }
}

/// A fingerprint, word by word.
pub(crate) struct Prints {
    print: u64,
    factor: u64,
}

impl Hasher for Prints {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.print = folded(self.print ^ word, self.factor);
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
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        let last = rest.iter().fold(1, |last, &byte| last << 8 | u64::from(byte));
        self.write_u64(last);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The high bits of the last word have come to few of the low ones, which tables look at.
        folded(self.print, self.factor)
    }
}

#[inline]
fn folded(word: u64, factor: u64) -> u64 {
    let product = u128::from(word) * u128::from(factor);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashSet;

    #[test]
    fn different_values_have_different_prints() {
        let builder = PrintBuilder::default();
        let texts = (2..258usize).map(|length| builder.hash_one(&vec![0u8; length][..]));
        let words = (0..4096u64)
            .flat_map(|word| [builder.hash_one(word), builder.hash_one((word, 1u8)), builder.hash_one((1u8, word))]);
        let prints: HashSet<u64> = texts.chain(words).collect();
        // (1, 1) is there twice.
        assert_eq!(prints.len(), 256 + 3 * 4096 - 1);
        assert_eq!(builder.hash_one("text"), builder.clone().hash_one("text"));
    }

    #[test]
    fn low_bits_differ_too() {
        let builder = PrintBuilder::default();
        let low: HashSet<u64> = (0..1024u64).map(|word| builder.hash_one(word << 40) & 1023).collect();
        assert!(low.len() > 500, "{} of 1024", low.len());
    }
}

//! Masks applied to logits, against the definition, bit by bit.

use half::{bf16, f16};
use maskwright::TokenMask;
use maskwright::logits::{Logit, LogitRows, LogitsError, MaskRows, apply_mask, apply_masks};
use maskwright::testing::Rng;

/// A type of logits with its bits, for comparisons that tell NaNs and zeros apart.
trait Bits: Logit {
    fn from_random(bits: u64) -> Self;
    fn bits(self) -> u32;
    fn closed() -> u32;
}

impl Bits for f32 {
    fn from_random(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
    fn bits(self) -> u32 {
        self.to_bits()
    }
    fn closed() -> u32 {
        f32::NEG_INFINITY.to_bits()
    }
}

impl Bits for f16 {
    fn from_random(bits: u64) -> Self {
        f16::from_bits(bits as u16)
    }
    fn bits(self) -> u32 {
        self.to_bits().into()
    }
    fn closed() -> u32 {
        0xfc00
    }
}

impl Bits for bf16 {
    fn from_random(bits: u64) -> Self {
        bf16::from_bits(bits as u16)
    }
    fn bits(self) -> u32 {
        self.to_bits().into()
    }
    fn closed() -> u32 {
        0xff80
    }
}

/// Words of which some are all ones and some all zeros; bits beyond the tokens are anything.
fn random_words(rng: &mut Rng, n_words: usize) -> Vec<u32> {
    let word = |rng: &mut Rng| match rng.below(4) {
        0 => 0,
        1 => u32::MAX,
        2 => 1 << rng.below(32),
        _ => rng.bits() as u32,
    };
    (0..n_words).map(|_| word(rng)).collect()
}

fn expect<T: Bits>(mask: &[u32], n_tokens: usize, logits: &[T]) -> Vec<u32> {
    let is_allowed = |token: usize| token < n_tokens && mask[token / 32] >> (token % 32) & 1 == 1;
    logits.iter().enumerate().map(|(token, logit)| if is_allowed(token) { logit.bits() } else { T::closed() }).collect()
}

fn bits<T: Bits>(logits: &[T]) -> Vec<u32> {
    logits.iter().map(|logit| logit.bits()).collect()
}

fn one_row<T: Bits>(rng: &mut Rng) {
    for n_tokens in (0usize..200).chain([1000, 1024, 4097]) {
        let n_words = n_tokens.div_ceil(32);
        let n_spare = rng.below(2);
        let mask = random_words(rng, n_words + n_spare);
        let logits: Vec<T> = (0..n_tokens + rng.below(40)).map(|_| T::from_random(rng.bits())).collect();
        let expected = expect(&mask, n_tokens, &logits);
        let mut masked = logits.clone();
        apply_mask(&mask, n_tokens, &mut masked).unwrap();
        assert_eq!(bits(&masked), expected, "{n_tokens} tokens");
        let mut owned = TokenMask::new(n_tokens);
        owned.as_words_mut().copy_from_slice(&mask[..n_words]);
        let mut masked = logits.clone();
        owned.apply_to_logits(&mut masked);
        assert_eq!(bits(&masked), expected, "{n_tokens} tokens");
        // Narrower rows are refused as they are.
        let mut narrow = logits[..n_tokens.saturating_sub(1)].to_vec();
        let before = bits(&narrow);
        if n_tokens > 0 {
            let error = apply_mask(&mask, n_tokens, &mut narrow).unwrap_err();
            assert!(error.is_too_narrow() && error.bound() == (n_tokens - 1, n_tokens), "{error}");
            let error = apply_mask(&mask[..n_words - 1], n_tokens, &mut masked).unwrap_err();
            assert!(!error.is_too_narrow() && error.bound() == (n_words - 1, n_words), "{error}");
        }
        assert_eq!((bits(&narrow), bits(&masked)), (before, expected));
    }
}

#[test]
fn what_is_not_allowed_is_closed_and_the_rest_stays_bit_for_bit() {
    let mut rng = Rng::new(5);
    one_row::<f32>(&mut rng);
    one_row::<f16>(&mut rng);
    one_row::<bf16>(&mut rng);
}

fn many_rows<T: Bits>(rng: &mut Rng) {
    for _ in 0..500 {
        let n_tokens = rng.between(1, 150);
        let (n_words, width) = (n_tokens.div_ceil(32), n_tokens + rng.below(3) * rng.below(40));
        let (words_per_row, stride) = (n_words + rng.below(3), width + rng.below(5));
        let (n_masks, n_rows) = (rng.between(1, 5), rng.between(1, 5));
        // The last row may end where its columns do.
        let n_words_given = (n_masks - 1) * words_per_row + rng.between(n_words, words_per_row);
        let words = random_words(rng, n_words_given);
        let n_logits = (n_rows - 1) * stride + rng.between(width, stride);
        let logits: Vec<T> = (0..n_logits).map(|_| T::from_random(rng.bits())).collect();
        let rows: Vec<(usize, usize)> = (0..rng.below(6)).map(|_| (rng.below(n_masks), rng.below(n_rows))).collect();
        let mut expected = bits(&logits);
        for &(mask, row) in &rows {
            let row = row * stride..row * stride + width;
            let before: Vec<T> = expected[row.clone()].iter().map(|&bits| T::from_random(bits.into())).collect();
            expected[row].copy_from_slice(&expect(&words[mask * words_per_row..], n_tokens, &before));
        }
        let mut masked = logits.clone();
        let masks = MaskRows { words: &words, words_per_row, n_tokens };
        apply_masks(masks, LogitRows { logits: &mut masked, width, stride }, rows.iter().copied()).unwrap();
        assert_eq!(bits(&masked), expected, "{rows:?}");
        // A row that isn't there: none is masked.
        for (missing, bound) in [((n_masks, 0), (n_masks, n_masks)), ((0, n_rows), (n_rows, n_rows))] {
            let mut masked = logits.clone();
            let rows: Vec<(usize, usize)> = rows.iter().copied().chain([missing]).collect();
            let error = apply_masks(masks, LogitRows { logits: &mut masked, width, stride }, rows).unwrap_err();
            assert_eq!(error.bound(), bound, "{error}");
            assert_eq!(bits(&masked), bits(&logits));
        }
    }
}

#[test]
fn rows_are_masked_by_pairs_and_others_stay() {
    let mut rng = Rng::new(6);
    many_rows::<f32>(&mut rng);
    many_rows::<f16>(&mut rng);
    many_rows::<bf16>(&mut rng);
}

#[test]
fn rows_that_do_not_fit_are_errors() {
    let words = [u32::MAX; 6];
    let apply = |n_tokens: usize, words_per_row: usize, width: usize, stride: usize, pair: (usize, usize)| {
        let mut logits = [0.0f32; 300];
        let masks = MaskRows { words: &words, words_per_row, n_tokens };
        let outcome = apply_masks(masks, LogitRows { logits: &mut logits, width, stride }, [pair]);
        outcome.map_err(|error: LogitsError| (error.bound(), error.to_string()))
    };
    let bound = |outcome: Result<(), ((usize, usize), String)>| outcome.unwrap_err().0;
    assert_eq!(apply(70, 3, 100, 100, (1, 2)), Ok(()));
    assert_eq!(apply(70, 3, 70, 115, (1, 2)), Ok(()));
    assert_eq!(bound(apply(70, 2, 100, 100, (0, 0))), (2, 3));
    assert_eq!(bound(apply(70, 3, 69, 100, (0, 0))), (69, 70));
    assert_eq!(bound(apply(70, 3, 100, 99, (0, 0))), (99, 100));
    assert_eq!(bound(apply(70, 3, 100, 100, (2, 0))), (2, 2));
    assert_eq!(bound(apply(70, 3, 100, 100, (0, 3))), (3, 3));
    assert_eq!(bound(apply(70, 3, 301, 400, (0, 0))), (0, 0));
    assert_eq!(bound(apply(70, usize::MAX, 100, usize::MAX, (1, 0))), (1, 1));
    assert_eq!(bound(apply(70, 3, 100, 100, (usize::MAX, usize::MAX))), (usize::MAX, 2));
    assert_eq!(apply(0, 0, 0, 0, (7, 9)), Ok(()));
    let error = apply(70, 3, 69, 100, (0, 0)).unwrap_err().1;
    assert_eq!(error, "the row has 69 logits for 70 tokens");
}

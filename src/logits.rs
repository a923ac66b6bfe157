//! Masks applied to logits: what is not allowed becomes negative infinity, everything else stays bit for bit.
//!
//! A row of logits has a column per token, 32 columns for each word of a mask. Where a word is all ones nothing is read or written, where it is all zeros nothing is read; else each bit is
//! spread to the width of a logit and keeps the logit or makes it negative infinity, without a branch, so that the compiler makes vector code of it:
//!
//! ```text
//! word   ...0110      spread   0000 ffff ffff 0000      keeps   -inf  x2  x1  -inf
//! ```
//!
//! The bits are spread by a table, or by instructions where there are some.
//!
//! Columns beyond the vocabulary are padding and become negative infinity, too. Rows that are too narrow for the vocabulary are errors: their tokens would have no logits.

use crate::util::bit_row;
use core::fmt;

/// A type of logits: `f32`, and the two halves [`half::f16`] and [`half::bf16`].
pub trait Logit: Copy + sealed::Bits {}

impl Logit for f32 {}
impl Logit for half::f16 {}
impl Logit for half::bf16 {}

mod sealed {
    /// Logits of which 32 are masked at a time.
    pub trait Bits: Copy {
        const NEG_INFINITY: Self;

        /// Masks a chunk by tables of bits spread to the width of a logit.
        fn mask_by_table(chunk: &mut [Self; 32], word: u32);
    }
}

/// The four bits of an index, spread to 32 bits each.
static SPREAD_TO_32: [[u32; 4]; 1 << 4] = {
    let mut spread = [[0; 4]; 1 << 4];
    let mut place = 0;
    while place < 4 << 4 {
        spread[place / 4][place % 4] = if (place / 4) >> (place % 4) & 1 == 1 { u32::MAX } else { 0 };
        place += 1;
    }
    spread
};

/// The eight bits of an index, spread to 16 bits each.
static SPREAD_TO_16: [[u16; 8]; 1 << 8] = {
    let mut spread = [[0; 8]; 1 << 8];
    let mut place = 0;
    while place < 8 << 8 {
        spread[place / 8][place % 8] = if (place / 8) >> (place % 8) & 1 == 1 { u16::MAX } else { 0 };
        place += 1;
    }
    spread
};

impl sealed::Bits for f32 {
    const NEG_INFINITY: Self = f32::NEG_INFINITY;

    #[inline(always)]
    fn mask_by_table(chunk: &mut [Self; 32], word: u32) {
        for (index, part) in chunk.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            // Both are read before anything is written, so that the compiler needn't know that they are apart.
            let (keep, logits) = (SPREAD_TO_32[(word >> (4 * index) & 15) as usize], *part);
            *part = core::array::from_fn(|lane| {
                f32::from_bits(logits[lane].to_bits() & keep[lane] | Self::NEG_INFINITY.to_bits() & !keep[lane])
            });
        }
    }
}

macro_rules! bits_of_half {
    ($half:ty) => {
        impl sealed::Bits for $half {
            const NEG_INFINITY: Self = <$half>::NEG_INFINITY;

            #[inline(always)]
            fn mask_by_table(chunk: &mut [Self; 32], word: u32) {
                for (part, byte) in chunk.as_chunks_mut::<8>().0.iter_mut().zip(word.to_le_bytes()) {
                    // As above.
                    let (keep, logits) = (SPREAD_TO_16[usize::from(byte)], *part);
                    *part = core::array::from_fn(|lane| {
                        let closed = Self::NEG_INFINITY.to_bits() & !keep[lane];
                        <$half>::from_bits(logits[lane].to_bits() & keep[lane] | closed)
                    });
                }
            }
        }
    };
}

bits_of_half!(half::f16);
bits_of_half!(half::bf16);

/// Masks a chunk of some of the bits, where the compiler has vector instructions that select.
#[inline(always)]
fn mask_by_select<T: Logit>(chunk: &mut [T; 32], word: u32) {
    for (bit, logit) in chunk.iter_mut().enumerate() {
        *logit = if word & 1 << bit != 0 { *logit } else { T::NEG_INFINITY };
    }
}

/// Whether selecting is faster than tables.
///
/// PERF: in the time of a plain pass over 100,277 columns in the cache (`--bench logits`, half of the bits), 32 and 16 bits: x86-64 by selecting 2.3 and 3.4, by tables 1.8 and 1.8; with AVX2
/// (`RUSTFLAGS=-Ctarget-cpu=x86-64-v3`) by selecting 1.0 and 2.0, by tables 1.9 and 2.0.
const SELECTS: bool = cfg!(any(not(target_arch = "x86_64"), target_feature = "avx2"));

/// Masks of a batch, one behind the other: row `i` is `words[i * words_per_row..][..words_per_row]`, as [`fill_masks`](crate::matcher::fill_masks) makes them.
#[derive(Clone, Copy, Debug)]
pub struct MaskRows<'a> {
    /// The words of all rows.
    pub words: &'a [u32],
    /// How many words further each row begins.
    pub words_per_row: usize,
    /// The number of tokens, [`Vocab::n_tokens`](crate::Vocab::n_tokens).
    pub n_tokens: usize,
}

/// Logits of a batch, one row behind the other: row `i` is `logits[i * stride..][..width]`.
#[derive(Debug)]
pub struct LogitRows<'a, T> {
    /// The logits of all rows.
    pub logits: &'a mut [T],
    /// The number of columns of each row: one per token, and any number for padding.
    pub width: usize,
    /// How many logits further each row begins. What lies between the rows stays.
    pub stride: usize,
}

/// Makes the logits of the tokens that a mask doesn't allow negative infinity, and those beyond the vocabulary. The others stay bit for bit.
///
/// ```
/// let mut logits = [0.5f32, -1.0, 2.0, 0.0];
/// maskwright::logits::apply_mask(&[0b101], 3, &mut logits)?;
/// assert_eq!(logits, [0.5, f32::NEG_INFINITY, 2.0, f32::NEG_INFINITY]);
/// # Ok::<(), maskwright::logits::LogitsError>(())
/// ```
///
/// # Errors
/// If there are fewer logits than tokens, or the mask has fewer than `ceil(n_tokens / 32)` words; nothing is changed then.
pub fn apply_mask<T: Logit>(mask: &[u32], n_tokens: usize, logits: &mut [T]) -> Result<(), LogitsError> {
    let n_words = bit_row::n_words(n_tokens);
    if mask.len() < n_words {
        return Err(Kind::MaskTooShort { given: mask.len(), needed: n_words }.into());
    }
    if logits.len() < n_tokens {
        return Err(Kind::TooNarrow { given: logits.len(), needed: n_tokens }.into());
    }
    mask_row(&mask[..n_words], n_tokens, logits);
    Ok(())
}

/// Applies masks to rows of logits, as [`apply_mask`] does to one. `rows` are pairs of a mask's row and the row of logits that it is for, so that not all rows of a batch need a mask, and masks
/// may be denser than logits: `list.iter().map(|&row| (row, row))` is for those that are not, `list.iter().copied().enumerate()` for those that are. The logits of other rows stay.
///
/// ```
/// use maskwright::logits::{LogitRows, MaskRows, apply_masks};
/// // Three rows of two logits, of which the first and the last have masks.
/// let mut logits = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let masks = MaskRows { words: &[0b01, 0b10], words_per_row: 1, n_tokens: 2 };
/// apply_masks(masks, LogitRows { logits: &mut logits, width: 2, stride: 2 }, [0, 2].into_iter().enumerate())?;
/// let closed = f32::NEG_INFINITY;
/// assert_eq!(logits, [1.0, closed, 3.0, 4.0, closed, 6.0]);
/// # Ok::<(), maskwright::logits::LogitsError>(())
/// ```
///
/// # Errors
/// If rows of logits have fewer columns than there are tokens, or rows of masks too few words; if rows overlap; if a row isn't there as a whole. Nothing is changed then.
pub fn apply_masks<T: Logit>(
    masks: MaskRows<'_>,
    logits: LogitRows<'_, T>,
    rows: impl IntoIterator<Item = (usize, usize), IntoIter: Clone>,
) -> Result<(), LogitsError> {
    let MaskRows { words, words_per_row, n_tokens } = masks;
    let LogitRows { logits, width, stride } = logits;
    let n_words = bit_row::n_words(n_tokens);
    if words_per_row < n_words {
        return Err(Kind::MaskTooShort { given: words_per_row, needed: n_words }.into());
    }
    if width < n_tokens {
        return Err(Kind::TooNarrow { given: width, needed: n_tokens }.into());
    }
    if stride < width {
        return Err(Kind::Overlap { given: stride, needed: width }.into());
    }
    let rows = rows.into_iter();
    let (n_masks, n_rows) = (n_whole(words.len(), n_words, words_per_row), n_whole(logits.len(), width, stride));
    for (mask, row) in rows.clone() {
        if mask >= n_masks {
            return Err(Kind::NoMask { given: mask, n_rows: n_masks }.into());
        }
        if row >= n_rows {
            return Err(Kind::NoRow { given: row, n_rows }.into());
        }
    }
    for (mask, row) in rows {
        mask_row(&words[mask * words_per_row..][..n_words], n_tokens, &mut logits[row * stride..][..width]);
    }
    Ok(())
}

/// Returns how many rows of a width there are, each a stride behind the one before; the last one needs no more than its width.
fn n_whole(n: usize, width: usize, stride: usize) -> usize {
    match n.checked_sub(width) {
        // Rows of nothing are there, however many.
        Some(_) if stride == 0 => usize::MAX,
        Some(behind) => behind / stride + 1,
        None => 0,
    }
}

/// Masks a row: of `n_tokens` bits, or of as many as there are logits, and closes what is beyond.
pub(crate) fn mask_row<T: Logit>(mask: &[u32], n_tokens: usize, logits: &mut [T]) {
    let (covered, beyond) = logits.split_at_mut(n_tokens.min(logits.len()));
    let (whole, rest) = covered.as_chunks_mut::<32>();
    for (chunk, &word) in whole.iter_mut().zip(mask) {
        match word {
            u32::MAX => {}
            0 => chunk.fill(T::NEG_INFINITY),
            _ if SELECTS => mask_by_select(chunk, word),
            _ => T::mask_by_table(chunk, word),
        }
    }
    let last = mask.get(whole.len()).copied().unwrap_or(0);
    for (bit, logit) in rest.iter_mut().enumerate() {
        if last & 1 << bit == 0 {
            *logit = T::NEG_INFINITY;
        }
    }
    beyond.fill(T::NEG_INFINITY);
}

/// Why masks can't be applied to logits: rows that don't fit. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogitsError {
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    TooNarrow { given: usize, needed: usize },
    MaskTooShort { given: usize, needed: usize },
    Overlap { given: usize, needed: usize },
    NoMask { given: usize, n_rows: usize },
    NoRow { given: usize, n_rows: usize },
}

impl LogitsError {
    /// Tells whether the logits have fewer columns than the vocabulary has tokens.
    pub fn is_too_narrow(&self) -> bool {
        matches!(self.kind, Kind::TooNarrow { .. })
    }

    /// Returns `(given, bound)`: columns or words of a row and how many are needed, a stride and the width, or a row and the number of rows.
    pub fn bound(&self) -> (usize, usize) {
        match self.kind {
            Kind::TooNarrow { given, needed }
            | Kind::MaskTooShort { given, needed }
            | Kind::Overlap { given, needed }
            | Kind::NoMask { given, n_rows: needed }
            | Kind::NoRow { given, n_rows: needed } => (given, needed),
        }
    }
}

impl fmt::Display for LogitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::TooNarrow { given, needed } => write!(f, "the row has {given} logits for {needed} tokens"),
            Kind::MaskTooShort { given, needed } => write!(f, "the mask has {given} words and needs {needed}"),
            Kind::Overlap { given, needed } => {
                write!(f, "rows of {needed} logits overlap: each begins {given} behind the one before")
            }
            Kind::NoMask { given, n_rows } => write!(f, "there is no mask {given}: there are {n_rows}"),
            Kind::NoRow { given, n_rows } => write!(f, "there is no row {given} of logits: there are {n_rows}"),
        }
    }
}

impl From<Kind> for LogitsError {
    fn from(kind: Kind) -> Self {
        LogitsError { kind }
    }
}

impl std::error::Error for LogitsError {}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    /// Both ways, whichever this machine takes.
    #[test]
    fn tables_and_selecting_are_the_same() {
        fn check<T: Logit>(of_bits: impl Fn(u32) -> T, to_bits: impl Fn(T) -> u32) {
            let mut random = 1u64;
            for round in 0..10_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let word = if round < 32 { 1 << round } else { (random >> 32) as u32 };
                let chunk: [T; 32] =
                    core::array::from_fn(|lane| of_bits(word.rotate_left(lane as u32) ^ random as u32));
                let (mut by_table, mut by_select) = (chunk, chunk);
                T::mask_by_table(&mut by_table, word);
                mask_by_select(&mut by_select, word);
                for bit in 0..32 {
                    let expected = if word >> bit & 1 == 1 { chunk[bit] } else { T::NEG_INFINITY };
                    let found = (to_bits(by_table[bit]), to_bits(by_select[bit]));
                    assert_eq!(found, (to_bits(expected), to_bits(expected)), "bit {bit} of {word:032b}");
                }
            }
        }
        check(f32::from_bits, f32::to_bits);
        check(|bits| f16::from_bits(bits as u16), |logit| logit.to_bits().into());
        check(|bits| bf16::from_bits(bits as u16), |logit| logit.to_bits().into());
    }
}

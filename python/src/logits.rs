//! Masks applied to logits in memory of the CPU.

use crate::memory::{BitmaskRows, Element, Rows};
use crate::numbers::row_indices;
use half::{bf16, f16};
use maskwright::logits::{Logit, LogitRows, MaskRows, apply_masks};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Makes the logits of tokens that a bitmask doesn't allow negative infinity, in place: `logits` is a numpy array or a CPU tensor of float32, float16 or bfloat16, with as many dimensions as `bitmask`. `rows` selects rows
/// of both; without it all rows of `logits` have one in `bitmask`. `n_tokens` is the number of tokens: columns beyond become negative infinity, and fewer columns are a `ValueError`. Without it
/// the mask is as wide as its words allow.
#[pyfunction]
#[pyo3(signature = (logits, bitmask, *, rows=None, n_tokens=None))]
pub fn apply_mask_cpu(
    py: Python<'_>,
    logits: &Bound<'_, PyAny>,
    bitmask: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = row_indices)] rows: Option<Vec<usize>>,
    n_tokens: Option<usize>,
) -> PyResult<()> {
    let logits = Rows::of(logits, true)?;
    let bitmask = match bitmask.is_instance_of::<crate::memory::Bitmask>() {
        true => BitmaskRows::of(bitmask)?,
        // Only read.
        false => BitmaskRows::Fresh(Rows::of(bitmask, false)?.words()?),
    };
    // Without a number of tokens the last word may be one that only some of its bits have columns for.
    let n_bits = bitmask.n_columns * 32;
    let n_tokens = match n_tokens {
        Some(n_tokens) => n_tokens,
        None if logits.n_columns + 31 < n_bits => {
            let message = format!("the rows have {} logits for masks of {n_bits} bits", logits.n_columns);
            return Err(PyValueError::new_err(message));
        }
        None => logits.n_columns.min(n_bits),
    };
    if n_tokens > n_bits {
        return Err(PyValueError::new_err(format!("the masks have {n_bits} bits for {n_tokens} tokens")));
    }
    if rows.is_none() && bitmask.n_rows < logits.n_rows {
        let message = format!("there are {} masks for {} rows of logits", bitmask.n_rows, logits.n_rows);
        return Err(PyValueError::new_err(message));
    }
    let rows = rows.unwrap_or_else(|| (0..logits.n_rows).collect());
    match logits.element {
        Element::F32 => apply::<f32>(py, &logits, &bitmask, &rows, n_tokens),
        Element::F16 => apply::<f16>(py, &logits, &bitmask, &rows, n_tokens),
        Element::Bf16 => apply::<bf16>(py, &logits, &bitmask, &rows, n_tokens),
        Element::Word => Err(PyTypeError::new_err("logits are floats of 32 or 16 bits, not integers")),
    }
}

fn apply<T: Logit + Send>(
    py: Python<'_>,
    logits: &Rows,
    bitmask: &Rows,
    rows: &[usize],
    n_tokens: usize,
) -> PyResult<()> {
    let (width, stride, words_per_row) = (logits.n_columns, logits.stride, bitmask.stride);
    let (logits, words) = (logits.whole::<T>(), bitmask.whole::<u32>());
    let applied = py.detach(move || {
        // SAFETY: the caller has both arrays until the end of the call, and logits are not masks.
        let (logits, words) = unsafe { (logits.slice(), words.slice()) };
        let masks = MaskRows { words, words_per_row, n_tokens };
        apply_masks(masks, LogitRows { logits, width, stride }, rows.iter().map(|&row| (row, row)))
    });
    applied.map_err(|error| PyValueError::new_err(error.to_string()))
}

//! Masks applied to logits.

use crate::arguments::{array, array_mut};
use crate::error::{code, error, guard_code};
use half::{bf16, f16};
use maskwright::logits::{Logit, apply_mask};

unsafe fn apply<T: Logit>(
    mask: *const u32,
    n_words: usize,
    n_tokens: usize,
    logits: *mut T,
    n_logits: usize,
    error: *mut *mut error,
) -> code {
    let work = || {
        // SAFETY: as the header says.
        let (mask, logits) = unsafe { (array(mask, n_words, "mask")?, array_mut(logits, n_logits, "logits")?) };
        apply_mask(mask, n_tokens, logits)
            .map_err(|error| crate::error::error::new(code::OutOfRange, &error.to_string()))
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Makes the logits of the tokens that a mask doesn't allow negative infinity, and those beyond `n_tokens`. There must be at least ceil(n_tokens / 32) words and `n_tokens` logits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_apply_mask_f32(
    mask: *const u32,
    n_words: usize,
    n_tokens: usize,
    logits: *mut f32,
    n_logits: usize,
    error: *mut *mut error,
) -> code {
    // SAFETY: as the header says.
    unsafe { apply(mask, n_words, n_tokens, logits, n_logits, error) }
}

/// As mw_apply_mask_f32, for IEEE 754 numbers of 16 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_apply_mask_f16(
    mask: *const u32,
    n_words: usize,
    n_tokens: usize,
    logits: *mut u16,
    n_logits: usize,
    error: *mut *mut error,
) -> code {
    // SAFETY: as the header says; the types are the same in memory.
    unsafe { apply(mask, n_words, n_tokens, logits.cast::<f16>(), n_logits, error) }
}

/// As mw_apply_mask_f32, for the upper halves of numbers of 32 bits (bfloat16).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_apply_mask_bf16(
    mask: *const u32,
    n_words: usize,
    n_tokens: usize,
    logits: *mut u16,
    n_logits: usize,
    error: *mut *mut error,
) -> code {
    // SAFETY: as the header says; the types are the same in memory.
    unsafe { apply(mask, n_words, n_tokens, logits.cast::<bf16>(), n_logits, error) }
}

//! Many matchers at once.

use super::{Fill, MatchError, Matcher};
use crate::vocab::TokenId;
use core::borrow::BorrowMut;
use rayon::prelude::*;

/// Fills one row per matcher, in parallel: row `i` is `rows[i * words_per_row..][..words_per_row]`. Runs on `pool`, or on the caller's
/// (by default the global) rayon pool. Returns one result per matcher; a row whose result is an error is all zeros.
///
/// # Panics
/// If `rows` has fewer than `matchers.len() * words_per_row` words.
pub fn fill_masks<M: BorrowMut<Matcher> + Send>(
    matchers: &mut [M],
    rows: &mut [u32],
    words_per_row: usize,
    pool: Option<&rayon::ThreadPool>,
) -> Vec<Result<Fill, MatchError>> {
    let n_words = matchers.len().checked_mul(words_per_row);
    assert!(
        n_words.is_some_and(|n| n <= rows.len()),
        "{} words for {} rows of {words_per_row}",
        rows.len(),
        matchers.len()
    );
    let fill = |matcher: &mut M, row: &mut [u32]| {
        let filled = matcher.borrow_mut().fill_mask(row);
        if filled.is_err() {
            row.fill(0);
        }
        filled
    };
    if words_per_row == 0 {
        return matchers.iter_mut().map(|matcher| fill(matcher, &mut [])).collect();
    }
    in_pool(pool, || {
        matchers
            .par_iter_mut()
            .zip(rows.par_chunks_mut(words_per_row))
            .map(|(matcher, row)| fill(matcher, row))
            .collect()
    })
}

/// Accepts one token per matcher, in parallel, on `pool` or on the caller's rayon pool. Returns one result per matcher; those that
/// failed are as they were.
///
/// # Panics
/// If there are not as many tokens as matchers.
pub fn accept_tokens<M: BorrowMut<Matcher> + Send>(
    matchers: &mut [M],
    tokens: &[TokenId],
    pool: Option<&rayon::ThreadPool>,
) -> Vec<Result<(), MatchError>> {
    assert_eq!(matchers.len(), tokens.len(), "one token per matcher");
    in_pool(pool, || {
        matchers.par_iter_mut().zip(tokens).map(|(matcher, &token)| matcher.borrow_mut().accept_token(token)).collect()
    })
}

fn in_pool<R: Send>(pool: Option<&rayon::ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

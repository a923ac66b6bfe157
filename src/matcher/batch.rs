//! Many matchers at once.

use super::{Fill, MatchError, Matcher};
use crate::vocab::TokenId;
use core::borrow::BorrowMut;
use rayon::prelude::*;

/// Fills one row per matcher, in parallel: row `i` is `rows[i * words_per_row..][..words_per_row]`. Runs on `pool`, or on the caller's
/// (by default the global) rayon pool. Returns one result per matcher; a row whose result is an error is all zeros.
///
/// # Errors
/// Per matcher, as [`Matcher::fill_mask`]. A matcher whose row is not within `rows` as a whole gets the error of a row that is too short
/// ([`MatchError::bound`] has the words that are there and `words_per_row`); the others are filled.
pub fn fill_masks<M: BorrowMut<Matcher> + Send>(
    matchers: &mut [M],
    rows: &mut [u32],
    words_per_row: usize,
    pool: Option<&rayon::ThreadPool>,
) -> Vec<Result<Fill, MatchError>> {
    let fill = |matcher: &mut M, row: &mut [u32]| {
        let filled = match row.len() < words_per_row {
            true => Err(MatchError::row_too_short(row.len(), words_per_row)),
            false => matcher.borrow_mut().fill_mask(row),
        };
        if filled.is_err() {
            row.fill(0);
        }
        filled
    };
    // Rows of no words, and those behind the last word.
    let n_rows = rows.len().checked_div(words_per_row).map_or(0, |n_whole| n_whole + 1);
    let (within, beyond) = matchers.split_at_mut(n_rows.min(matchers.len()));
    let mut results: Vec<_> = in_pool(pool, || {
        let rows = rows.par_chunks_mut(words_per_row.max(1)).chain([&mut [][..]]);
        within.par_iter_mut().zip(rows).map(|(matcher, row)| fill(matcher, row)).collect()
    });
    results.extend(beyond.iter_mut().map(|matcher| fill(matcher, &mut [])));
    results
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

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
    fill_each(matchers, rows, words_per_row, pool, |matcher, row| fill_row(matcher.borrow_mut(), row, words_per_row))
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

/// Accepts the tokens of each matcher, all of them or none, and fills its row, in parallel: one step of a batch in one call. Rows and pool are as in [`fill_masks`]. Returns one result
/// per matcher; a row whose result is an error is all zeros, and what fails for one matcher is of no consequence for the others.
///
/// ```
/// use maskwright::matcher::accept_and_fill;
/// use maskwright::{GrammarCompiler, Vocab};
/// let vocab = Vocab::from_tokens(["a", "b"])?;
/// let grammar = GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= "a" "b" "a""#)?;
/// let mut matchers = [grammar.matcher(), grammar.matcher()];
/// let mut rows = [0; 2];
/// let filled = accept_and_fill(&mut matchers, &[[0], [1]], &mut rows, 1, None);
/// assert!(filled[0].is_ok() && rows == [0b10, 0]);
/// assert_eq!(filled[1].as_ref().unwrap_err().token(), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Per matcher, as [`Matcher::accept_tokens`]: then [`MatchError::token_index`] is the index of the token, and the matcher is as before. Or else as [`fill_masks`]: then the tokens are
/// accepted.
///
/// # Panics
/// If there are not as many lists of tokens as matchers.
pub fn accept_and_fill<M: BorrowMut<Matcher> + Send, T: AsRef<[TokenId]> + Sync>(
    matchers: &mut [M],
    tokens: &[T],
    rows: &mut [u32],
    words_per_row: usize,
    pool: Option<&rayon::ThreadPool>,
) -> Vec<Result<Fill, MatchError>> {
    assert_eq!(matchers.len(), tokens.len(), "one list of tokens per matcher");
    let mut steps: Vec<(&mut M, &T)> = matchers.iter_mut().zip(tokens).collect();
    fill_each(&mut steps, rows, words_per_row, pool, |(matcher, tokens), row| {
        let matcher = (**matcher).borrow_mut();
        matcher.accept_tokens(tokens.as_ref())?;
        fill_row(matcher, row, words_per_row)
    })
}

fn fill_row(matcher: &mut Matcher, row: &mut [u32], words_per_row: usize) -> Result<Fill, MatchError> {
    match row.len() < words_per_row {
        true => Err(MatchError::row_too_short(row.len(), words_per_row)),
        false => matcher.fill_mask(row),
    }
}

/// Calls `fill` with each item and its row, as much of it as there is; rows whose result is an error become zeros.
fn fill_each<I: Send>(
    items: &mut [I],
    rows: &mut [u32],
    words_per_row: usize,
    pool: Option<&rayon::ThreadPool>,
    fill: impl Fn(&mut I, &mut [u32]) -> Result<Fill, MatchError> + Sync,
) -> Vec<Result<Fill, MatchError>> {
    let fill = |item: &mut I, row: &mut [u32]| {
        let filled = fill(item, row);
        if filled.is_err() {
            row.fill(0);
        }
        filled
    };
    // Rows of no words, and those behind the last word.
    let n_rows = rows.len().checked_div(words_per_row).map_or(0, |n_whole| n_whole + 1);
    let (within, beyond) = items.split_at_mut(n_rows.min(items.len()));
    let mut results: Vec<_> = in_pool(pool, || {
        let rows = rows.par_chunks_mut(words_per_row.max(1)).chain([&mut [][..]]);
        within.par_iter_mut().zip(rows).map(|(item, row)| fill(item, row)).collect()
    });
    results.extend(beyond.iter_mut().map(|item| fill(item, &mut [])));
    results
}

fn in_pool<R: Send>(pool: Option<&rayon::ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

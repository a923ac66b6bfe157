//! Many matchers at once.
//!
//! What a step takes is not known before. Most masks are known and are copied in less time than it takes to wake a thread; others are computed for milliseconds. Handing out every batch made those of
//! known masks a tenth slower than one row after the other on two cores, and small batches, which were never handed out, waited for all of their slow steps in turn. So the calling thread begins, looks at the
//! clock after 1, 2, 4 and then every 8 steps, and hands out what is left as soon as that pays. A batch so takes no longer than its steps one after the other, and at most one slow step longer than if all were handed out
//! at once.

use super::{Fill, MatchError, Matcher};
use crate::vocab::TokenId;
use core::borrow::BorrowMut;
use core::time::Duration;
use rayon::prelude::*;
use std::time::Instant;

/// Most steps between two looks at the clock.
const STEPS_PER_LOOK_MAX: usize = 8;

/// What is left has to take this much longer than handing it out, which wakes threads, and waiting for them.
const HANDED_OUT_MIN: Duration = Duration::from_micros(100);

/// A step that takes no longer copies a known mask, at the speed of memory: two threads are no faster at it than one.
const COPY_MAX: Duration = Duration::from_micros(3);

/// Threads from which on copies are handed out as well.
const COPYING_THREADS_MIN: usize = 4;

/// What one task takes at least: a thread that is through with it looks for another.
const TASK_MIN: Duration = Duration::from_micros(20);

/// Calls `step` with each item, on the calling thread and, once that is worth it, on those of `pool` or of the caller's rayon pool. Returns the results in the order of the items.
///
/// This is how the functions of this module divide their work, for batches of another shape than theirs.
///
/// ```
/// use maskwright::matcher::step_each;
/// assert_eq!(step_each(vec![1, 2, 3], None, |n| n * n), [1, 4, 9]);
/// ```
pub fn step_each<I: Send, R: Send>(
    items: Vec<I>,
    pool: Option<&rayon::ThreadPool>,
    step: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    // Asked only where there is something to hand out: the global pool is started by the question.
    let n_threads = || pool.map_or_else(rayon::current_num_threads, rayon::ThreadPool::current_num_threads);
    let mut results = Vec::with_capacity(items.len());
    let mut rest = items.into_iter();
    let mut n_steps = 1;
    while rest.len() > 0 {
        let n_steps_now = n_steps.min(rest.len());
        let start = Instant::now();
        results.extend(rest.by_ref().take(n_steps_now).map(&step));
        let each = start.elapsed() / n_steps_now as u32;
        if is_long(each, rest.len()) && are_enough(n_threads(), each) {
            let n_per_task = (TASK_MIN.as_nanos() / each.as_nanos().max(1)).max(1) as usize;
            let rest: Vec<I> = rest.collect();
            let work = || rest.into_par_iter().with_min_len(n_per_task).map(&step).collect::<Vec<R>>();
            results.extend(in_pool(pool, work));
            break;
        }
        n_steps = (2 * n_steps).min(STEPS_PER_LOOK_MAX);
    }
    results
}

/// Tells whether `n` steps that take so long each take longer than handing them out.
fn is_long(each: Duration, n: usize) -> bool {
    n > 1 && each.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX)) >= HANDED_OUT_MIN
}

/// Tells whether so many threads are faster than one at steps that take so long each.
fn are_enough(n_threads: usize, each: Duration) -> bool {
    n_threads >= if each > COPY_MAX { 2 } else { COPYING_THREADS_MIN }
}

/// Fills one row per matcher: row `i` is `rows[i * words_per_row..][..words_per_row]`. Runs on the calling thread and, where that is faster, on `pool`, or on the caller's
/// (by default the global) rayon pool, as [`step_each`] does. Returns one result per matcher; a row whose result is an error is all zeros.
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

/// Accepts one token per matcher, on the threads that [`fill_masks`] has. Returns one result per matcher; those that failed are as they were.
///
/// # Panics
/// If there are not as many tokens as matchers.
pub fn accept_tokens<M: BorrowMut<Matcher> + Send>(
    matchers: &mut [M],
    tokens: &[TokenId],
    pool: Option<&rayon::ThreadPool>,
) -> Vec<Result<(), MatchError>> {
    assert_eq!(matchers.len(), tokens.len(), "one token per matcher");
    let steps = matchers.iter_mut().zip(tokens).collect();
    step_each(steps, pool, |(matcher, &token): (&mut M, _)| matcher.borrow_mut().accept_token(token))
}

/// Accepts the tokens of each matcher, all of them or none, and fills its row: one step of a batch in one call. Rows and threads are as in [`fill_masks`]. Returns one result
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
    // Rows of no words, and those behind the last word, are empty.
    let mut rest = rows;
    let steps = items.iter_mut().map(|item| {
        let row = rest.split_off_mut(..words_per_row.min(rest.len())).unwrap_or_default();
        (item, row)
    });
    step_each(steps.collect(), pool, |(item, row)| fill(item, row))
}

fn in_pool<R: Send>(pool: Option<&rayon::ThreadPool>, work: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

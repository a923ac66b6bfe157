//! Many matchers at once.
//!
//! What a step takes is not known before. Most masks are known and are copied in less time than it takes to wake a thread; others are computed for milliseconds. Handing out every batch made those of
//! known masks slower than one row after the other, up to twice on a busy machine, where a thread that is woken waits for its turn; and small batches, which were never handed out, waited for all of
//! their slow steps. So the calling thread begins, looks at the clock after 1, 2, 4 and then every 8 steps, and hands out what is left once that takes longer than such a wait. So a batch takes at most one slow
//! step longer than if all were handed out at once.

use super::threads::Threads;
use super::{Fill, MatchError, Matcher};
use crate::vocab::TokenId;
use core::borrow::BorrowMut;
use core::cell::LazyCell;
use core::time::Duration;
use rayon::prelude::*;
use std::time::Instant;

/// Most steps between two looks at the clock.
const STEPS_PER_LOOK_MAX: usize = 8;

/// What is left is handed out if it takes as long as a thread waits for its turn where all cores are busy, about.
const HANDED_OUT_MIN: Duration = Duration::from_millis(2);

/// What one task takes at least: a thread that is through with it looks for another.
const TASK_MIN: Duration = Duration::from_micros(20);

/// Calls `step` with each item, on the calling thread and, once that is worth it, on those of `pool` or of the caller's rayon pool. Returns the results in the order of the items.
///
/// A process that was forked has none of its parent's threads. Without a `pool` that is taken care of, as long as the parent's global rayon pool was started by this crate; a `pool` of the parent is not to
/// be used there.
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
    let threads = LazyCell::new(|| Threads::of(pool).filter(|threads| threads.n_threads() > 1));
    let mut results = Vec::with_capacity(items.len());
    let mut rest = items.into_iter();
    let mut n_steps = 1;
    while rest.len() > 0 {
        let n_steps_now = n_steps.min(rest.len());
        let start = Instant::now();
        results.extend(rest.by_ref().take(n_steps_now).map(&step));
        let each = start.elapsed() / n_steps_now as u32;
        if is_worth_a_thread(each, rest.len())
            && let Some(threads) = *threads
        {
            let n_per_task = (TASK_MIN.as_nanos() / each.as_nanos().max(1)).max(1) as usize;
            let rest: Vec<I> = rest.collect();
            let work = || rest.into_par_iter().with_min_len(n_per_task).map(&step).collect::<Vec<R>>();
            results.extend(threads.run(work));
            break;
        }
        n_steps = (2 * n_steps).min(STEPS_PER_LOOK_MAX);
    }
    results
}

/// Tells whether it is worth it to wake a thread for `n` steps that take so long each.
fn is_worth_a_thread(each: Duration, n: usize) -> bool {
    n > 1 && each.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX)) >= HANDED_OUT_MIN
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn slow_steps_are_handed_out_and_results_keep_their_order() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let step = |item: usize| {
            thread::sleep(Duration::from_millis(3));
            (item, thread::current().id())
        };
        let results = step_each((0..6).collect(), Some(&pool), step);
        assert!(results.iter().map(|result| result.0).eq(0..6));
        let caller = thread::current().id();
        assert!(results[0].1 == caller && results[1..].iter().all(|result| result.1 != caller));
        // The last one stays.
        assert!(step_each(vec![0], Some(&pool), step)[0].1 == caller);
        assert!(step_each(Vec::new(), None, step).is_empty());
    }
}

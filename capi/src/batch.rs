//! Many matchers at once.

use crate::arguments::{array, array_mut};
use crate::error::{code, error, free, guard_code, guard_handle};
use crate::matcher::matcher;
use maskwright::matcher::{accept_and_fill, fill_masks};
use maskwright::{Fill, MatchError, Matcher};

/// Threads that step batches.
pub struct pool {
    inner: rayon::ThreadPool,
}

/// Most threads of a pool. Rayon takes time in the square of their number to start them.
const THREADS_MAX: usize = 1024;

/// Makes a pool of `n_threads` threads, at most 1024; 0: one for each core. A pool is not to be used in a process that was forked after it was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_pool_new(n_threads: usize, error: *mut *mut error) -> *mut pool {
    let work = || {
        if n_threads > THREADS_MAX {
            return Err(error::argument(&format!("a pool of {n_threads} threads: {THREADS_MAX} at most")));
        }
        let built = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
        let failed = |error: rayon::ThreadPoolBuildError| crate::error::error::new(code::Internal, &error.to_string());
        Ok(pool { inner: built.map_err(failed)? })
    };
    // SAFETY: as the header says.
    unsafe { guard_handle(error, work) }
}

/// Frees a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_pool_free(pool: *mut pool) {
    // SAFETY: NULL or a pool that nobody uses any more.
    unsafe { free(pool) };
}

/// Returns matchers, each of them once.
unsafe fn matchers<'a>(list: *const *mut matcher, n: usize) -> Result<Vec<&'a mut Matcher>, error> {
    // SAFETY: as the header says.
    let list = unsafe { array(list, n, "matchers") }?;
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(error::argument("a matcher is in the batch twice"));
    }
    // SAFETY: NULL or a matcher that no other thread uses; they are different.
    let found = list.iter().map(|&matcher| unsafe { matcher.as_mut() }.map(|matcher| &mut matcher.inner));
    found.collect::<Option<Vec<_>>>().ok_or_else(|| error::argument("a matcher is NULL"))
}

fn n_words(n_rows: usize, words_per_row: usize) -> Result<usize, error> {
    n_rows.checked_mul(words_per_row).ok_or_else(|| error::argument("there are too many rows"))
}

/// Writes the code of each result.
fn report(results: &[Result<Fill, MatchError>], codes: &mut [code]) {
    for (to, result) in codes.iter_mut().zip(results) {
        *to = result.as_ref().map_or_else(code::of_match, |_| code::Ok);
    }
}

/// Fills a row for each matcher, on the threads of a pool or, if it is NULL, on those that the process shares (a forked process has its own): row i begins at `rows + i * words_per_row`. `codes`, if it is not NULL, has a place for each matcher: what became of
/// its row, which is all zeros where it failed. Fails itself only if arguments make no sense.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_batch_fill(
    pool: *const pool,
    matchers: *const *mut matcher,
    n_matchers: usize,
    rows: *mut u32,
    words_per_row: usize,
    codes: *mut code,
    error: *mut *mut error,
) -> code {
    let work = || {
        let n_codes = if codes.is_null() { 0 } else { n_matchers };
        // SAFETY: as the header says.
        let (pool, mut matchers, rows, codes) = unsafe {
            (
                pool.as_ref(),
                self::matchers(matchers, n_matchers)?,
                array_mut(rows, n_words(n_matchers, words_per_row)?, "rows")?,
                array_mut(codes, n_codes, "codes")?,
            )
        };
        report(&fill_masks(&mut matchers, rows, words_per_row, pool.map(|pool| &pool.inner)), codes);
        Ok(())
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Accepts one token for each matcher and fills its row: one step of a batch. Otherwise as mw_batch_fill; the row of a matcher that refuses its token is all zeros, and the matcher as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_batch_accept_and_fill(
    pool: *const pool,
    matchers: *const *mut matcher,
    tokens: *const u32,
    n_matchers: usize,
    rows: *mut u32,
    words_per_row: usize,
    codes: *mut code,
    error: *mut *mut error,
) -> code {
    let work = || {
        let n_codes = if codes.is_null() { 0 } else { n_matchers };
        // SAFETY: as the header says.
        let (pool, mut matchers, tokens, rows, codes) = unsafe {
            (
                pool.as_ref(),
                self::matchers(matchers, n_matchers)?,
                array(tokens, n_matchers, "tokens")?,
                array_mut(rows, n_words(n_matchers, words_per_row)?, "rows")?,
                array_mut(codes, n_codes, "codes")?,
            )
        };
        let lists: Vec<[u32; 1]> = tokens.iter().map(|&token| [token]).collect();
        let pool = pool.map(|pool| &pool.inner);
        report(&accept_and_fill(&mut matchers, &lists, rows, words_per_row, pool), codes);
        Ok(())
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

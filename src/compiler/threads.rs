//! Independent pieces of one compile on several threads.
//!
//! The threads are those of the operating system, made for the purpose and joined at once: a thread of a pool would take up other work while it waits,
//! maybe a compile that waits for this one.

use super::error::CompileError;
use crate::limits::Limits;
use crate::pass::CompileBudget;
use crate::util::set_lane;
use core::num::NonZero;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

/// Fewest pieces for each thread: one takes as long as some pieces to start.
const PIECES_PER_THREAD: usize = 8;

/// Returns on how many threads, of at most `n_threads_max`, so many pieces are worth doing.
pub(super) fn n_threads(n_pieces: usize, n_threads_max: usize) -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    let n_wanted = n_threads_max.min(n_pieces / PIECES_PER_THREAD);
    if n_wanted <= 1 {
        return 1;
    }
    n_wanted.min(*AVAILABLE.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get)))
}

/// Compiles pieces on `n_threads` threads, each within what is left of `budget`. Results and errors are those of one thread: pieces count in their order, and
/// the index of the first one that is refused is returned.
pub(super) fn compile_each<T: Sync, R: Send>(
    pieces: &[T],
    n_threads: usize,
    budget: &CompileBudget,
    limits: &Limits,
    compile: impl Fn(&T, &CompileBudget) -> Result<R, CompileError> + Sync,
) -> Result<Vec<R>, (usize, CompileError)> {
    if n_threads <= 1 {
        let compile = |(index, piece)| compile(piece, budget).map_err(|error| (index, error));
        return pieces.iter().enumerate().map(compile).collect();
    }
    let before = budget.fork();
    // All that the threads have spent bounds what they go on with.
    let (spent, is_stopped) = (Mutex::new((budget.fork(), budget.fork())), AtomicBool::new(false));
    let forks = pieces.iter().map(|piece| (piece, budget.fork())).collect();
    let done = map(forks, n_threads, &is_stopped, |(piece, fork): (&T, CompileBudget)| {
        let outcome = compile(piece, &fork);
        let (before, spent) = &*spent.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = outcome.is_err() || spent.count_fork(before, &fork, limits).is_err();
        is_stopped.fetch_or(is_last, Ordering::Relaxed);
        (outcome, fork)
    });
    let mut results = Vec::with_capacity(pieces.len());
    for (index, done) in done.into_iter().enumerate() {
        let outcome = match done {
            Some((outcome, fork)) => {
                budget.count_fork(&before, &fork, limits).map_err(|error| (index, error.into()))?;
                outcome
            }
            None => compile(&pieces[index], budget),
        };
        results.push(outcome.map_err(|error| (index, error))?);
    }
    Ok(results)
}

/// Does pieces of work on `n_threads` threads, this one among them. Returns their results in order; nothing for those that were left undone since
/// another one had set `is_stopped`.
fn map<T: Send, R: Send>(
    pieces: Vec<T>,
    n_threads: usize,
    is_stopped: &AtomicBool,
    work: impl Fn(T) -> R + Sync,
) -> Vec<Option<R>> {
    let pieces: Vec<Mutex<Option<T>>> = pieces.into_iter().map(|piece| Mutex::new(Some(piece))).collect();
    let results: Vec<Mutex<Option<R>>> = pieces.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let run = || {
        while !is_stopped.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = pieces.get(index) else { break };
            let piece = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            let result = piece.map(&work);
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = result;
        }
    };
    thread::scope(|scope| {
        for lane in 1..n_threads {
            let run = &run;
            let run_in_lane = move || {
                set_lane(lane);
                run();
            };
            // Without another thread the work is done by those that there are.
            if thread::Builder::new().spawn_scoped(scope, run_in_lane).is_err() {
                break;
            }
        }
        run();
    });
    results.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_a_stop_leaves_the_rest() {
        let go_on = AtomicBool::new(false);
        let squares = map((0..100u32).collect(), 4, &go_on, |n| n * n);
        assert!(squares.iter().zip(0u32..).all(|(&square, n)| square == Some(n * n)) && squares.len() == 100);
        let stop = AtomicBool::new(false);
        let done = map((0..100u32).collect(), 1, &stop, |n| stop.store(n == 9, Ordering::Relaxed));
        assert!(done[..10].iter().all(Option::is_some) && done[10..].iter().all(Option::is_none));
        assert_eq!((n_threads(15, 8), n_threads(1000, 1)), (1, 1));
    }
}

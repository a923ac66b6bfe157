//! The threads of a batch that was given no pool, also in a process that was forked.
//!
//! A forked process has one thread: a pool that its parent started is there, but nobody works in it, and whoever waits for it waits for ever. So the process that first asks is remembered, and
//! another one has a pool of its own.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::sync::Mutex;

/// Where the steps of a batch run beside the calling thread.
#[derive(Clone, Copy)]
pub enum Threads<'a> {
    /// In a pool.
    Pool(&'a ThreadPool),
    /// In the pool of which the calling thread is one, or in the global one.
    Ambient,
}

/// The process that uses the shared threads, and its own pool if it isn't the first such process.
struct Shared {
    process: u32,
    own: Option<&'static ThreadPool>,
}

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

impl<'a> Threads<'a> {
    /// Returns the threads of `pool`, or those that the process shares, if they can be had.
    pub fn of(pool: Option<&'a ThreadPool>) -> Option<Self> {
        match pool {
            Some(pool) => Some(Threads::Pool(pool)),
            // A thread of a pool lives, and so does the pool.
            None if rayon::current_thread_index().is_some() => Some(Threads::Ambient),
            None => shared(&SHARED, process::id()),
        }
    }

    /// Returns the number of threads. Starts the global pool if it is to be used.
    pub fn n_threads(self) -> usize {
        match self {
            Threads::Pool(pool) => pool.current_num_threads(),
            Threads::Ambient => rayon::current_num_threads(),
        }
    }

    /// Runs `work` there.
    pub fn run<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Threads::Pool(pool) => pool.install(work),
            Threads::Ambient => work(),
        }
    }
}

/// Returns the threads that a process shares, if they can be had now.
fn shared(shared: &Mutex<Option<Shared>>, process: u32) -> Option<Threads<'static>> {
    // Held by another thread, or at the fork by one of the parent's: nobody waits for it.
    let mut shared = shared.try_lock().ok()?;
    Some(match &*shared {
        Some(Shared { process: user, own }) if *user == process => own.map_or(Threads::Ambient, Threads::Pool),
        None => {
            *shared = Some(Shared { process, own: None });
            Threads::Ambient
        }
        Some(_) => {
            let pool = ThreadPoolBuilder::new().build().ok()?;
            // It lives as long as the process, as the global one does.
            let own = &*Box::leak(Box::new(pool));
            *shared = Some(Shared { process, own: Some(own) });
            Threads::Pool(own)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_has_a_pool_of_its_own() {
        let state = Mutex::new(None);
        assert!((0..2).all(|_| matches!(shared(&state, 1), Some(Threads::Ambient))));
        let Some(Threads::Pool(first)) = shared(&state, 2) else { panic!("the global pool is the parent's") };
        let Some(Threads::Pool(again)) = shared(&state, 2) else { panic!("the pool is gone") };
        assert!(core::ptr::eq(first, again));
        assert_eq!(Threads::Pool(first).run(rayon::current_num_threads), Threads::Pool(first).n_threads());
        let _held = state.lock().unwrap();
        assert!(shared(&state, 2).is_none());
    }

    #[test]
    fn a_thread_of_a_pool_stays_in_it() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| Threads::of(None).unwrap().n_threads()), 3);
        assert_eq!(Threads::of(Some(&pool)).unwrap().n_threads(), 3);
    }
}

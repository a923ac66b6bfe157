//! Bounded work: at most so many requests at a time, others wait, and more than that are turned away. Each has a deadline and a flag to cancel.
//!
//! The flag is set when the future of a request is dropped, which happens as soon as the connection is closed: a page that sends a newer request, or is closed, stops the
//! work for the older one.

use maskwright::CompileOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Most requests that wait for a worker.
const WAITING_MAX: usize = 32;

/// The bounds on work.
#[derive(Clone)]
pub struct Workers {
    running: Arc<Semaphore>,
    n_waiting: Arc<AtomicUsize>,
    time_limit: Duration,
}

/// The reason why work has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfinished {
    /// Too many requests wait.
    Busy,
    /// The work panicked: a bug.
    Panicked,
}

/// The reason why work was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The time is over.
    TimeOver,
    /// Nobody waits for the result.
    Cancelled,
}

/// What work has to look at from time to time.
#[derive(Clone)]
pub struct Task {
    cancelled: Arc<AtomicBool>,
    deadline: Instant,
}

impl Task {
    /// Returns a task with so much time from now.
    pub fn new(time: Duration) -> Self {
        Task { cancelled: Arc::default(), deadline: Instant::now() + time }
    }

    /// Says whether to go on.
    ///
    /// # Errors
    /// If the time is over or the task is cancelled.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.cancelled.load(Ordering::Relaxed) {
            Err(Stopped::Cancelled)
        } else if Instant::now() >= self.deadline {
            Err(Stopped::TimeOver)
        } else {
            Ok(())
        }
    }

    /// Returns the same for a compile.
    pub fn compile_options(&self) -> CompileOptions {
        CompileOptions { deadline: Some(self.deadline), cancelled: Some(Arc::clone(&self.cancelled)) }
    }
}

/// Cancels a task when dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts a request that waits, until dropped.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Returns workers that run so many tasks at a time, each for so long.
    pub fn new(n_running_max: usize, time_limit: Duration) -> Self {
        Workers { running: Arc::new(Semaphore::new(n_running_max)), n_waiting: Arc::default(), time_limit }
    }

    /// Runs work on a thread of its own. The time begins when the work does. Dropping the future cancels it.
    ///
    /// # Errors
    /// If too many requests wait already, or the work panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Task) -> T + Send + 'static,
    ) -> Result<T, Unfinished> {
        let waiting = Waiting(Arc::clone(&self.n_waiting));
        if self.n_waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            return Err(Unfinished::Busy);
        }
        let permit = Arc::clone(&self.running).acquire_owned().await.map_err(|_| Unfinished::Busy)?;
        drop(waiting);
        let task = Task::new(self.time_limit);
        let _cancel = CancelOnDrop(Arc::clone(&task.cancelled));
        let outcome = tokio::task::spawn_blocking(move || {
            // The place is taken until the work has ended, even if nobody waits for it.
            let _permit = permit;
            work(&task)
        });
        outcome.await.map_err(|_| Unfinished::Panicked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_end() {
        assert_eq!(Task::new(Duration::ZERO).check(), Err(Stopped::TimeOver));
        let task = Task::new(Duration::from_secs(60));
        assert_eq!(task.check(), Ok(()));
        drop(CancelOnDrop(Arc::clone(&task.cancelled)));
        assert_eq!(task.check(), Err(Stopped::Cancelled));
    }
}

//! A pool of reusable workspaces.

use core::cell::Cell;
use core::fmt;
use std::sync::{Mutex, PoisonError};

thread_local! {
    static LANE: Cell<usize> = const { Cell::new(0) };
}

/// Sets the lane of this thread, which is 0 at first: threads that do one task together have different ones.
pub(crate) fn set_lane(lane: usize) {
    LANE.set(lane);
}

/// Workspaces that are not in use, for the next task: about as many as tasks run at the same time. Each lane of threads has its own. If two threads that run at the
/// same time pass a workspace back and forth, its memory moves between the caches of their cores, and to let it grow they wait for each other within `malloc`.
pub(crate) struct Pool<T>(Mutex<Vec<(usize, Box<T>)>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(Mutex::default())
    }
}

impl<T> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl<T: Default> Pool<T> {
    /// Most workspaces that wait in the pool; further ones are dropped.
    const IDLE_MAX: usize = 64;

    /// Takes a workspace of this thread's lane out of the pool, or makes an empty one.
    pub fn take(&self) -> Box<T> {
        let lane = LANE.get();
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = idle.iter().rposition(|&(giver, _)| giver == lane);
        let taken = own.map(|at| idle.swap_remove(at).1);
        drop(idle);
        taken.unwrap_or_default()
    }

    /// Drops the workspaces that wait.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new();
    }

    /// Gives a workspace back.
    pub fn put(&self, workspace: Box<T>) {
        let lane = LANE.get();
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < Self::IDLE_MAX {
            idle.push((lane, workspace));
        } else if let Some(other) = idle.iter_mut().find(|(giver, _)| *giver != lane) {
            // Lanes that are not in use any more don't fill the pool.
            let other = core::mem::replace(other, (lane, workspace));
            drop((idle, other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pool, set_lane};

    #[test]
    fn workspaces_are_reused_and_their_number_is_bounded() {
        let pool: Pool<Vec<u32>> = Pool::default();
        (0..2 * Pool::<Vec<u32>>::IDLE_MAX).for_each(|n| pool.put(Box::new(Vec::with_capacity(100 + n))));
        (0..Pool::<Vec<u32>>::IDLE_MAX).for_each(|_| assert!(pool.take().capacity() >= 100));
        assert_eq!(pool.take().capacity(), 0);
        pool.put(Box::new(Vec::with_capacity(100)));
        pool.clear();
        assert_eq!(pool.take().capacity(), 0);
    }

    #[test]
    fn threads_of_other_lanes_have_workspaces_of_their_own() {
        let pool: Pool<Vec<u32>> = Pool::default();
        pool.put(Box::new(Vec::with_capacity(100)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                set_lane(1);
                assert_eq!(pool.take().capacity(), 0);
                pool.put(Box::new(Vec::with_capacity(200)));
            });
        });
        assert!((100..200).contains(&pool.take().capacity()));
        assert_eq!(pool.take().capacity(), 0);
        set_lane(2);
        (0..2 * Pool::<Vec<u32>>::IDLE_MAX).for_each(|_| pool.put(Box::new(Vec::with_capacity(100))));
        set_lane(0);
        pool.put(Box::new(Vec::with_capacity(300)));
        assert!(pool.take().capacity() >= 300, "a full pool has room for another lane");
    }
}

//! A pool of reusable workspaces.

use core::fmt;
use std::sync::{Mutex, PoisonError};

/// Workspaces that are not in use, for the next task: about as many as tasks run at the same time.
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

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

    /// Takes a workspace out of the pool, or makes an empty one.
    pub fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Drops the workspaces that wait.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new();
    }

    /// Gives a workspace back.
    pub fn put(&self, workspace: T) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < Self::IDLE_MAX {
            idle.push(workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    #[test]
    fn workspaces_are_reused_and_their_number_is_bounded() {
        let pool: Pool<Vec<u32>> = Pool::default();
        (0..2 * Pool::<Vec<u32>>::IDLE_MAX).for_each(|n| pool.put(Vec::with_capacity(100 + n)));
        (0..Pool::<Vec<u32>>::IDLE_MAX).for_each(|_| assert!(pool.take().capacity() >= 100));
        assert_eq!(pool.take().capacity(), 0);
        pool.put(Vec::with_capacity(100));
        pool.clear();
        assert_eq!(pool.take().capacity(), 0);
    }
}

//! Memory that is kept from one piece of work to the next.

use core::fmt;
use std::sync::{Mutex, PoisonError};

/// Memory to work in, of work that is done: as much as is used at the same time, more or less.
pub(crate) struct Spares<T>(Mutex<Vec<T>>);

impl<T> Default for Spares<T> {
    fn default() -> Self {
        Spares(Mutex::default())
    }
}

impl<T> fmt::Debug for Spares<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spares").finish_non_exhaustive()
    }
}

impl<T: Default> Spares<T> {
    const KEPT_MAX: usize = 8;

    /// Returns memory that was kept, or none yet.
    pub fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps memory for what comes next.
    pub fn put(&self, spare: T) {
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < Self::KEPT_MAX {
            spares.push(spare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Spares;

    #[test]
    fn memory_comes_back_and_not_too_much_of_it() {
        let spares: Spares<Vec<u32>> = Spares::default();
        (0..2 * Spares::<Vec<u32>>::KEPT_MAX).for_each(|n| spares.put(Vec::with_capacity(100 + n)));
        (0..Spares::<Vec<u32>>::KEPT_MAX).for_each(|_| assert!(spares.take().capacity() >= 100));
        assert_eq!(spares.take().capacity(), 0);
    }
}

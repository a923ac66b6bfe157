//! Sizes from which on a quicker way is worth taking: what is found does not depend on them.
//!
//! Random inputs of tests are small, and would take the slow way nearly always. With the feature `testing` all thresholds can be made small at
//! once; without it each is a constant.

#[cfg(feature = "testing")]
use core::sync::atomic::{AtomicBool, Ordering};

/// A size from which on, or up to which, something is done in another way.
#[derive(Clone, Copy)]
pub(crate) struct Threshold(usize);

impl Threshold {
    pub const fn new(size: usize) -> Self {
        Threshold(size)
    }

    /// Returns the size, which tests may have made small.
    #[inline]
    pub fn get(self) -> usize {
        #[cfg(feature = "testing")]
        if ARE_SMALL.load(Ordering::Relaxed) {
            return self.0.min(2);
        }
        self.0
    }
}

#[cfg(feature = "testing")]
static ARE_SMALL: AtomicBool = AtomicBool::new(false);

/// Makes all thresholds of this process small, or what they are: 2 of whatever they count are then enough for a quicker way.
#[cfg(feature = "testing")]
pub fn set_small_thresholds(are_small: bool) {
    ARE_SMALL.store(are_small, Ordering::Relaxed);
}

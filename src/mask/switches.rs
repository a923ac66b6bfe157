//! Short cuts that tests and benches can turn off, one by one: what a mask is does not depend on them.
//!
//! They are turned off for the whole process, by the feature `testing` alone; without it each is on and costs nothing.

#[cfg(feature = "testing")]
use core::sync::atomic::{AtomicU32, Ordering};

/// A short cut on the way to a mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShortCut {
    /// Taking masks apart by heads and frames, each of which is kept; without it each configuration is walked as a whole.
    Heads,
    /// Runs of states that are reached by one more character each.
    Chains,
    /// States between which characters lead to and fro.
    Clusters,
    /// States that read nearly as a loop does.
    Models,
    /// States that only call, taken for what they call.
    Callees,
    /// What walks of different states have in common.
    SubwalkMemo,
    /// Rows that masks nearly have in common.
    RowPool,
    /// What follows a region, laid over one another.
    Merged,
    /// Unions of masks, which are kept.
    Unions,
    /// What configurations read for many characters, when they are walked as a whole.
    Lookaheads,
}

impl ShortCut {
    /// All of them.
    #[cfg(feature = "testing")]
    pub const ALL: [ShortCut; 10] = [
        ShortCut::Heads,
        ShortCut::Chains,
        ShortCut::Clusters,
        ShortCut::Models,
        ShortCut::Callees,
        ShortCut::SubwalkMemo,
        ShortCut::RowPool,
        ShortCut::Merged,
        ShortCut::Unions,
        ShortCut::Lookaheads,
    ];

    /// Turns the short cut on or off for this process.
    #[cfg(feature = "testing")]
    pub fn set(self, is_on: bool) {
        match is_on {
            true => OFF.fetch_and(!(1 << self as u32), Ordering::Relaxed),
            false => OFF.fetch_or(1 << self as u32, Ordering::Relaxed),
        };
    }

    /// Tells whether the short cut is on.
    #[inline]
    pub fn is_on(self) -> bool {
        #[cfg(feature = "testing")]
        return OFF.load(Ordering::Relaxed) >> self as u32 & 1 == 0;
        #[cfg(not(feature = "testing"))]
        true
    }
}

/// By short cut: whether it is off.
#[cfg(feature = "testing")]
static OFF: AtomicU32 = AtomicU32::new(0);

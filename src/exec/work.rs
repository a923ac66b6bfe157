//! What one step may cost, counted in work and not in time.
//!
//! Grammars come from strangers, and the text that a model writes can be read in more ways than there is time for. Each call of a matcher gets an
//! allowance; whatever runs takes from it what it does, and stops once nothing is left. What it has computed by then is of no use, so callers ask
//! ([`Work::is_spent`]) before they believe it.

/// Work done and allowed. A unit is about a step of one place in the grammar by one byte, a visit to a node of the vocabulary's trie, or a comparison of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Work {
    done: u64,
    max: u64,
}

impl Default for Work {
    fn default() -> Self {
        Work::up_to(u64::MAX)
    }
}

impl Work {
    /// Returns an allowance of which nothing is spent.
    pub fn up_to(max: u64) -> Self {
        Work { done: 0, max }
    }

    /// Takes from the allowance.
    #[inline]
    pub fn spend(&mut self, work: u64) {
        self.done = self.done.saturating_add(work);
    }

    /// Tells whether more was spent than allowed.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.done > self.max
    }

    /// Returns what was spent.
    #[inline]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns what was allowed.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns what is left.
    pub fn left(&self) -> u64 {
        self.max.saturating_sub(self.done)
    }
}

/// More work, or more memory, than one step may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OverBudget;

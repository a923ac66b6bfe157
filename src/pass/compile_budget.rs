//! The budget of a compile: deadline, cancellation, and a bound on its work.
//!
//! Passes count their work in *steps*, each about a visit of a state or an edge (some nanoseconds). Every [`STEPS_PER_CHECK`] steps the
//! budget checks the clock and the flag. Since grammars come from strangers, the steps are bounded too, at [`STEPS_PER_MOVE`] for each
//! move that the grammar's automata may have. Whether a compile stays within that bound depends on the grammar and the limits alone, never
//! on the machine's speed.

use super::BuildError;
use crate::limits::Limits;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// Steps allowed per move of [`Limits::automaton_moves_max`].
const STEPS_PER_MOVE: u64 = 32;
/// Steps between two checks of the clock: some tens of microseconds.
const STEPS_PER_CHECK: u64 = 1 << 13;

/// Returns the steps of sorting so many values; few of them take none worth counting.
pub(crate) fn steps_of_sorting(n: usize) -> usize {
    if n < 64 { 0 } else { n * n.ilog2() as usize }
}

/// What a compile may spend. Long loops count their steps here and stop with its error.
#[derive(Debug)]
pub(crate) struct CompileBudget {
    deadline: Option<Instant>,
    cancelled: Option<Arc<AtomicBool>>,
    n_steps: Cell<u64>,
    /// The number of steps at which to check the clock and the flag again.
    next_check: Cell<u64>,
    n_steps_max: u64,
    /// What the steps are and the name of the limit that bounds them, for the error.
    what: &'static str,
    n_edges: Cell<u64>,
    n_edges_max: u64,
    /// Steps of lowering the schemas of this compile so far: a grammar can have many.
    n_schema_steps: Cell<u64>,
}

impl CompileBudget {
    /// Returns a budget with a deadline, a flag to cancel, and a bound on the work by the limits.
    pub fn new(deadline: Option<Instant>, cancelled: Option<Arc<AtomicBool>>, limits: &Limits) -> Self {
        let n_edges_max = limits.automaton_moves_max as u64;
        CompileBudget {
            deadline,
            cancelled,
            n_steps: Cell::new(0),
            next_check: Cell::new(0),
            n_steps_max: n_edges_max.saturating_mul(STEPS_PER_MOVE),
            what: "steps of building the grammar's automata (32 for each of automaton_moves_max)",
            n_edges: Cell::new(0),
            n_edges_max,
            n_schema_steps: Cell::new(0),
        }
    }

    /// Returns a budget of at most `n_steps_max` steps with the same deadline and flag.
    pub fn for_steps(&self, n_steps_max: u64) -> Self {
        CompileBudget {
            deadline: self.deadline,
            cancelled: self.cancelled.clone(),
            n_steps: Cell::new(0),
            next_check: Cell::new(0),
            n_steps_max: self.n_steps_max.min(n_steps_max),
            what: self.what,
            n_edges: Cell::new(0),
            n_edges_max: self.n_edges_max,
            n_schema_steps: Cell::new(0),
        }
    }

    /// Returns a budget for lowering a JSON Schema with the same deadline and flag: what is left by the schemas before.
    pub fn for_schema(&self, limits: &Limits) -> Self {
        let what = "steps of lowering schemas (schema_steps_max)";
        let n_steps = self.n_schema_steps.clone();
        CompileBudget { n_steps, n_steps_max: limits.schema_steps_max, what, ..self.for_steps(u64::MAX) }
    }

    /// Counts the steps of a budget that [`Self::for_schema`] returned.
    pub fn count_schema(&self, schema: &CompileBudget) {
        self.n_schema_steps.set(schema.n_steps());
    }

    /// Returns a budget with the same deadline, flag and bounds, and as much spent.
    pub fn fork(&self) -> Self {
        CompileBudget {
            n_steps: self.n_steps.clone(),
            n_edges: self.n_edges.clone(),
            n_schema_steps: self.n_schema_steps.clone(),
            ..self.for_steps(u64::MAX)
        }
    }

    /// Counts what was spent of a [fork](Self::fork) since it was made, when as much was spent as of `before`.
    ///
    /// # Errors
    /// As [`Self::spend`] and [`Self::count_edges`], and if lowering schemas has taken too many steps in all.
    pub fn count_fork(&self, before: &CompileBudget, fork: &CompileBudget, limits: &Limits) -> Result<(), BuildError> {
        let n_schema_steps = fork.n_schema_steps.get() - before.n_schema_steps.get();
        self.n_schema_steps.set(self.n_schema_steps.get() + n_schema_steps);
        self.for_schema(limits).check()?;
        self.count_edges((fork.n_edges.get() - before.n_edges.get()) as usize)?;
        self.spend((fork.n_steps.get() - before.n_steps.get()) as usize)
    }

    /// Returns an unlimited budget.
    #[cfg(test)]
    pub fn none() -> Self {
        CompileBudget {
            n_edges_max: u64::MAX,
            n_steps_max: u64::MAX,
            ..CompileBudget::new(None, None, &Limits::default())
        }
    }

    /// Counts `n` steps.
    ///
    /// # Errors
    /// Once the deadline has passed, the flag is set, or the steps are too many.
    #[inline]
    pub fn spend(&self, n: usize) -> Result<(), BuildError> {
        let n_steps = self.n_steps.get() + n as u64;
        self.n_steps.set(n_steps);
        if n_steps >= self.next_check.get() { self.check() } else { Ok(()) }
    }

    /// Returns the steps counted so far.
    pub fn n_steps(&self) -> u64 {
        self.n_steps.get()
    }

    /// Counts edges of intermediate automata, over all automata of the compile.
    ///
    /// # Errors
    /// Once they are more than the moves that the grammar's automata may have.
    pub fn count_edges(&self, n: usize) -> Result<(), BuildError> {
        self.n_edges.set(self.n_edges.get() + n as u64);
        self.check_edges(self.n_edges.get() as usize)
    }

    /// Checks the edges of one intermediate automaton.
    ///
    /// # Errors
    /// If they are more than the moves that the grammar's automata may have.
    #[inline]
    pub fn check_edges(&self, n: usize) -> Result<(), BuildError> {
        match n as u64 <= self.n_edges_max {
            true => Ok(()),
            false => {
                let what = "moves of the grammar's automata (automaton_moves_max)";
                Err(BuildError::limit(what, n as u64, self.n_edges_max))
            }
        }
    }

    /// Checks the clock, the flag and the steps now; for use before long work that can't be interrupted.
    ///
    /// # Errors
    /// As [`Self::spend`].
    #[cold]
    pub fn check(&self) -> Result<(), BuildError> {
        let n_steps = self.n_steps.get();
        if self.cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(BuildError::cancelled());
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(BuildError::deadline());
        }
        if n_steps > self.n_steps_max {
            return Err(BuildError::limit(self.what, n_steps, self.n_steps_max));
        }
        // After an error the next check stays behind: questions that go without an answer must not go on working.
        self.next_check.set(n_steps + STEPS_PER_CHECK);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn gives_up_for_each_reason() {
        let limits = Limits { automaton_moves_max: 1000, ..Limits::default() };
        let budget = CompileBudget::new(None, None, &limits);
        assert!((0..32).all(|_| budget.spend(1000).is_ok()));
        let error = (0..64).find_map(|_| budget.spend(1000).err()).expect("the steps are bounded");
        assert_eq!(error.limit_met().map(|(_, limit)| limit), Some(32_000));
        assert!((0..3).all(|_| budget.spend(1).is_err()), "each step after an error is one too many");
        assert!(budget.count_edges(1000).is_ok() && budget.count_edges(1).is_err());
        let flag = Arc::new(AtomicBool::new(false));
        let budget = CompileBudget::new(None, Some(Arc::clone(&flag)), &limits);
        assert!(budget.check().is_ok());
        flag.store(true, Ordering::Relaxed);
        assert!(budget.check().is_err_and(|error| error.is_interrupted()));
        let limits = Limits { schema_steps_max: 100, ..limits };
        let budget = CompileBudget::new(None, None, &limits);
        let first = budget.for_schema(&limits);
        assert!(first.spend(60).is_ok());
        budget.count_schema(&first);
        assert!(budget.for_schema(&limits).spend(60).is_err(), "the second schema has what the first one left");
        let (before, fork) = (budget.fork(), budget.fork());
        assert!(fork.for_schema(&limits).spend(30).is_ok());
        let second = fork.for_schema(&limits);
        assert!(second.spend(30).is_ok());
        fork.count_schema(&second);
        assert!(budget.count_fork(&before, &fork, &limits).is_ok(), "90 steps");
        assert!(budget.count_fork(&before, &fork, &limits).is_err(), "120 steps");
        let past = Instant::now().checked_sub(Duration::from_secs(1));
        assert!(CompileBudget::new(past, None, &limits).spend(1).is_err_and(|error| error.is_interrupted()));
    }
}

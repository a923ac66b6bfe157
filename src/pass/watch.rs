//! Deadlines, cancellation and the bound on the work of a compile.
//!
//! Passes say what they spend in *steps*, each about a visit of a state or an arc (some nanoseconds). Every so many steps the watch looks
//! at the clock and the flag; and since grammars come from strangers, all steps together are bounded too, at
//! [`STEPS_PER_MOVE`] for each move that the grammar's automata may have. What is found within the bound depends on the grammar and the
//! limits alone, never on the machine's speed.

use super::BuildError;
use crate::limits::Limits;
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

/// Steps allowed per move of [`Limits::automaton_moves_max`].
const STEPS_PER_MOVE: u64 = 64;
/// Steps between two looks at the clock: some tens of microseconds.
const STEPS_PER_LOOK: u64 = 1 << 13;

/// Tells long loops when to give up.
#[derive(Debug)]
pub(crate) struct Watch {
    deadline: Option<Instant>,
    cancelled: Option<Arc<AtomicBool>>,
    n_steps: Cell<u64>,
    /// The number of steps at which to look again.
    next_look: Cell<u64>,
    n_steps_max: u64,
    /// What the steps are, with the limit that bounds them.
    what: &'static str,
    n_edges: Cell<u64>,
    n_edges_max: u64,
}

impl Watch {
    /// Returns a watch that looks at a deadline and a flag, and bounds the work by the limits.
    pub fn new(deadline: Option<Instant>, cancelled: Option<Arc<AtomicBool>>, limits: &Limits) -> Self {
        let n_edges_max = limits.automaton_moves_max as u64;
        Watch {
            deadline,
            cancelled,
            n_steps: Cell::new(0),
            next_look: Cell::new(0),
            n_steps_max: n_edges_max.saturating_mul(STEPS_PER_MOVE),
            what: "steps of building the grammar's automata (64 for each of automaton_moves_max)",
            n_edges: Cell::new(0),
            n_edges_max,
        }
    }

    /// Returns a watch with the same deadline and flag, for work of so many steps at most.
    pub fn for_steps(&self, n_steps_max: u64) -> Self {
        Watch {
            deadline: self.deadline,
            cancelled: self.cancelled.clone(),
            n_steps: Cell::new(0),
            next_look: Cell::new(0),
            n_steps_max: self.n_steps_max.min(n_steps_max),
            what: self.what,
            n_edges: Cell::new(0),
            n_edges_max: self.n_edges_max,
        }
    }

    /// Returns a watch with the same deadline and flag, for lowering a JSON Schema.
    pub fn for_schema(&self, limits: &Limits) -> Self {
        let what = "steps of lowering the schema (schema_steps_max)";
        Watch { n_steps_max: limits.schema_steps_max, what, ..self.for_steps(u64::MAX) }
    }

    /// Returns a watch that never gives up.
    #[cfg(test)]
    pub fn none() -> Self {
        Watch { n_edges_max: u64::MAX, n_steps_max: u64::MAX, ..Watch::new(None, None, &Limits::default()) }
    }

    /// Counts `n` steps.
    ///
    /// # Errors
    /// Once the deadline has passed, the flag is set, or the steps are too many.
    #[inline]
    pub fn spend(&self, n: usize) -> Result<(), BuildError> {
        let n_steps = self.n_steps.get() + n as u64;
        self.n_steps.set(n_steps);
        if n_steps >= self.next_look.get() { self.look() } else { Ok(()) }
    }

    /// Returns the steps counted so far.
    pub fn n_steps(&self) -> u64 {
        self.n_steps.get()
    }

    /// Counts arcs that an automaton on the way is made of, over all automata.
    ///
    /// # Errors
    /// Once they are more than the moves that the grammar may have.
    pub fn count_edges(&self, n: usize) -> Result<(), BuildError> {
        self.n_edges.set(self.n_edges.get() + n as u64);
        if self.n_edges.get() > self.n_edges_max {
            return Err(BuildError::limit(
                "moves of the grammar's automata (automaton_moves_max)",
                self.n_edges.get(),
                self.n_edges_max,
            ));
        }
        Ok(())
    }

    /// Looks at the clock and the flag now; for use before something long that can't be interrupted.
    ///
    /// # Errors
    /// As [`Self::spend`].
    #[cold]
    pub fn look(&self) -> Result<(), BuildError> {
        let n_steps = self.n_steps.get();
        self.next_look.set(n_steps + STEPS_PER_LOOK);
        if self.cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(BuildError::cancelled());
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(BuildError::deadline());
        }
        if n_steps > self.n_steps_max {
            return Err(BuildError::limit(self.what, n_steps, self.n_steps_max));
        }
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
        let watch = Watch::new(None, None, &limits);
        assert!((0..64).all(|_| watch.spend(1000).is_ok()));
        let error = (0..64).find_map(|_| watch.spend(1000).err()).expect("the steps are bounded");
        assert_eq!(error.limit_met().map(|(_, limit)| limit), Some(64_000));
        assert!(watch.count_edges(1000).is_ok() && watch.count_edges(1).is_err());
        let flag = Arc::new(AtomicBool::new(false));
        let watch = Watch::new(None, Some(Arc::clone(&flag)), &limits);
        assert!(watch.look().is_ok());
        flag.store(true, Ordering::Relaxed);
        assert!(watch.look().is_err_and(|error| error.is_interrupted()));
        let past = Instant::now().checked_sub(Duration::from_secs(1));
        assert!(Watch::new(past, None, &limits).spend(1).is_err_and(|error| error.is_interrupted()));
    }
}

//! What building the units of a grammar may use.

use crate::pass::{BuildError, CompileBudget};

/// What building a unit may use.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub compile_budget: &'a CompileBudget,
    /// Moves of the units before.
    pub n_moves: usize,
    pub n_moves_max: usize,
}

impl Bounds<'_> {
    /// Checks the number of moves of this unit.
    pub fn check_moves(&self, n_moves: usize) -> Result<(), BuildError> {
        let n_moves = self.n_moves.saturating_add(n_moves);
        if n_moves > self.n_moves_max {
            let what = "moves of the grammar's automata (automaton_moves_max)";
            return Err(BuildError::limit(what, n_moves as u64, self.n_moves_max as u64));
        }
        Ok(())
    }
}

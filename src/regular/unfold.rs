//! Automata that are given as a function: from a state to what follows.

use super::Dfa;
use super::error::{RegularError, Work};
use super::minimize::Table;
use crate::Limits;
use core::hash::Hash;
use hashbrown::HashMap;

/// States of most automata before they are minimized.
const N_STATES_USUAL: usize = 56;

impl Dfa {
    /// Builds the minimal automaton of all that can be reached from `start`. For each state `step` tells whether a match
    /// may end there, and adds its edges to the list, in ascending order of bytes: lowest byte, highest byte, target.
    /// States that no match leads through need not be left out.
    ///
    /// # Errors
    /// If there are more than `limits.dfa_states_max` states before they are minimized, or it is time to stop.
    pub(crate) fn unfold<S: Clone + Eq + Hash>(
        start: S,
        mut step: impl FnMut(&S, &mut Vec<(u8, u8, S)>) -> bool,
        limits: &Limits,
        work: &mut Work<'_>,
    ) -> Result<Dfa, RegularError> {
        Self::unfold_within(start, |state, edges, _| Ok(step(state, edges)), limits, work)
    }

    /// As [`Self::unfold`], where `step` tells whoever watches what it does beside adding edges.
    pub(crate) fn unfold_within<S: Clone + Eq + Hash>(
        start: S,
        mut step: impl FnMut(&S, &mut Vec<(u8, u8, S)>, &mut Work<'_>) -> Result<bool, RegularError>,
        limits: &Limits,
        work: &mut Work<'_>,
    ) -> Result<Dfa, RegularError> {
        // Room for the texts of a number.
        let mut numbers: HashMap<S, u32> = HashMap::with_capacity(N_STATES_USUAL);
        numbers.insert(start.clone(), 0);
        let mut order = Vec::with_capacity(N_STATES_USUAL);
        order.push(start);
        let mut table = Table::default();
        let mut edges = Vec::new();
        let mut next = 0;
        while next < order.len() {
            if order.len() > limits.dfa_states_max {
                return Err(RegularError::determinized(order.len(), limits.dfa_states_max));
            }
            let is_accepting = step(&order[next], &mut edges, work)?;
            work.spend(1 + edges.len())?;
            for (low, high, target) in edges.drain(..) {
                let number = *numbers.entry(target).or_insert_with_key(|target| {
                    order.push(target.clone());
                    order.len() as u32 - 1
                });
                table.push_edge((low, high, number));
            }
            table.end_state(is_accepting);
            next += 1;
        }
        table.minimize(work)
    }
}

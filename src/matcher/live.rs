//! The mask of what is live, whatever values there are, and of the last one again.

use super::Matcher;
use crate::exec::OverBudget;
use crate::mask::{FillOutcome, fill};
use crate::util::bit_row;

impl Matcher {
    /// Makes `row` the mask of what may follow if that is the last one again, tokens that were refused included; tells whether that is none.
    pub(super) fn fill_settled(&mut self, row: &mut [u32]) -> Option<bool> {
        let is_empty = self.scratch.memo.settled?;
        let node = self.scratch.memo.node(&self.live, &self.table)?;
        node.mask.write(row);
        bit_row::clear_all(row, &self.scratch.memo.refused);
        self.count_hits(1);
        Some(is_empty)
    }

    /// Makes `row` the mask of what may follow, whatever values there are; tells whether that is none.
    pub(super) fn fill_live(&mut self, row: &mut [u32]) -> Result<bool, OverBudget> {
        if let Some(node) = self.scratch.memo.node(&self.live, &self.table) {
            node.mask.write(row);
            let is_empty = node.is_empty;
            self.count_hits(1);
            return Ok(is_empty);
        }
        self.scratch.memo.settled = None;
        let FillOutcome { n_hits, is_empty, place } = self.ask(|query, live| fill(query, live, row))?;
        self.scratch.memo.place = place.map(|place| (self.live[0], self.table.version(), place));
        self.count_hits(n_hits);
        Ok(is_empty)
    }
}

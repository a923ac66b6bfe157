//! Strings that are documents as a whole and written as their characters, without quotes and escapes.

use super::draft::Draft;
use super::{Lowered, Lowerer};
use crate::json_schema::language::{too_large, watched};
use crate::json_schema::shape::StringShape;
use crate::pass::Label;
use crate::regular::{Product, product_within};
use std::sync::Arc;

impl Lowerer<'_> {
    /// Adds the strings of some shapes in which `until` does not occur, but for the empty one; returns whether that is among them.
    pub(super) fn plain_string(&mut self, draft: &mut Draft, shapes: &[StringShape], until: &str) -> Lowered<bool> {
        // PERF: whether a listed string holds the other one is seen without automata.
        let is_listed = shapes.iter().all(|shape| shape.values.is_some());
        let has_none = |text: &Arc<str>| until.is_empty() || !text.contains(until);
        let listed = |shape: &StringShape| StringShape {
            values: shape.values.as_ref().map(|values| values.iter().filter(|text| has_none(text)).cloned().collect()),
            ..shape.clone()
        };
        let shapes: Vec<StringShape> = shapes.iter().map(listed).collect();
        let all = self.expander.languages.of_shapes(&shapes.iter().collect::<Vec<_>>(), true, self.limits)?;
        let dfa = match is_listed || until.is_empty() {
            true => all,
            false => {
                let without = self.expander.languages.without(until, self.limits)?;
                watched(self.budget, too_large, |work| {
                    product_within(&all, &without, Product::Intersect, self.limits, work).map(Arc::new)
                })?
            }
        };
        let Some(start) = dfa.start() else { return Ok(false) };
        let base = draft.states(dfa.n_states());
        for state in 0..dfa.n_states() as u32 {
            for (low, high, target) in dfa.edges(state) {
                draft.edge(base + state, Label::Bytes(low, high), base + target);
            }
            if dfa.is_accepting(state) {
                draft.accept(base + state);
            }
        }
        draft.copy_edges(base + start, 0);
        Ok(dfa.is_accepting(start))
    }
}

//! Strings that are documents as a whole and written as their characters, without quotes and escapes.

use super::draft::Draft;
use super::length::{Counted, Written};
use super::{Lowered, Lowerer};
use crate::json_schema::language::{alike, too_large, watched};
use crate::json_schema::shape::StringShape;
use crate::pass::Label;
use crate::regular::{Dfa, Product, product_within};
use std::sync::Arc;

impl Lowerer<'_> {
    /// Adds the strings of some shapes in which `until` does not occur, but for the empty one; returns whether that is among them.
    pub(super) fn plain_string(&mut self, draft: &mut Draft, shapes: &[StringShape], until: &str) -> Lowered<bool> {
        // Whether a listed string holds the other one is seen without automata.
        let is_listed = shapes.iter().all(|shape| shape.values.is_some());
        let has_none = |text: &Arc<str>| until.is_empty() || !text.contains(until);
        let listed = |shape: &StringShape| StringShape {
            values: shape.values.as_ref().map(|values| values.iter().filter(|text| has_none(text)).cloned().collect()),
            ..shape.clone()
        };
        let shapes: Vec<StringShape> = shapes.iter().map(listed).collect();
        let without = match is_listed || until.is_empty() {
            true => None,
            false => Some(self.expander.languages.without(until, self.limits)?),
        };
        // What a register counts is not multiplied with the marker: 100 characters before `</parameter>` are 60 states, not 5,000.
        let (mut is_empty, mut written) = (false, Vec::new());
        let mut end = None;
        for group in alike(&shapes.iter().collect::<Vec<_>>()) {
            let has_bounds = group[0].min > 0 || group[0].max.is_some();
            if group[0].values.is_none() && has_bounds {
                let is_free = |shape: &&StringShape| shape.languages.is_empty() && shape.excluded.is_empty();
                let all = match &without {
                    Some(without) if group.iter().any(is_free) => Arc::clone(without),
                    _ => {
                        let all = self.expander.languages.of_shapes(&group, false, self.limits)?;
                        self.plain_without(all, without.as_deref())?
                    }
                };
                let end = *end.get_or_insert_with(|| {
                    let end = draft.state();
                    draft.accept(end);
                    end
                });
                if self.with_length_register(draft, (0, end), group[0], &all, Written::Plain)? == Counted::Beside {
                    is_empty |= group[0].min == 0 && all.start().is_some_and(|start| all.is_accepting(start));
                    continue;
                }
            }
            written.extend(group.iter().map(|&shape| shape.clone()));
        }
        let all = self.expander.languages.of_shapes(&written.iter().collect::<Vec<_>>(), true, self.limits)?;
        let dfa = self.plain_without(all, without.as_deref())?;
        let Some(start) = dfa.start() else { return Ok(is_empty) };
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
        Ok(is_empty || dfa.is_accepting(start))
    }

    fn plain_without(&self, all: Arc<Dfa>, without: Option<&Dfa>) -> Lowered<Arc<Dfa>> {
        let Some(without) = without else { return Ok(all) };
        watched(self.budget, too_large, |work| {
            product_within(&all, without, Product::Intersect, self.limits, work).map(Arc::new)
        })
    }
}

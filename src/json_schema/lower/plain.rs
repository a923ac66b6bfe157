//! Strings that are documents as a whole and written as their characters, without quotes and escapes.

use super::draft::Draft;
use super::{Lowered, Lowerer};
use crate::json_schema::language::{too_large, watched};
use crate::json_schema::shape::StringShape;
use crate::pass::Label;
use crate::regular::{CharSet, Dfa, Node, Product, Regular, product_within};

impl Lowerer<'_> {
    /// Adds the strings of some shapes in which `until` does not occur, but for the empty one; returns whether that is among them.
    pub(super) fn plain_string(&mut self, draft: &mut Draft, shapes: &[StringShape], until: &str) -> Lowered<bool> {
        let all = self.expander.languages.of_shapes(&shapes.iter().collect::<Vec<_>>(), true, self.limits)?;
        let dfa = watched(self.budget, too_large, |work| {
            let without = Dfa::new(&text_without(until), self.limits)?;
            product_within(&all, &without, Product::Intersect, self.limits, work)
        })?;
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

/// Returns the texts in which another one does not occur; an empty one counts as none.
fn text_without(until: &str) -> Regular {
    let mut regular = Regular::new();
    let any = regular.push(Node::Class(CharSet::all()));
    let all = regular.push(Node::Repeat { body: any, min: 0, max: None });
    let root = match until {
        "" => all,
        _ => {
            let until = regular.push(Node::Bytes(until.as_bytes().into()));
            let holding = regular.push(Node::Concat([all, until, all].into()));
            regular.push(Node::Not(holding))
        }
    };
    regular.set_root(root);
    regular
}

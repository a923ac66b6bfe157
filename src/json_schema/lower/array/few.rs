//! Arrays whose items have few values, each at most once: every set of used values is a state.

use super::super::draft::Draft;
use super::super::white_space::AfterOpen;
use super::super::{Lowered, Lowerer};
use super::{Counts, Domain};
use crate::json_schema::conjunction::Members;
use crate::json_schema::error::SchemaError;
use crate::json_schema::shape::ArrayShape;
use hashbrown::HashMap;
use smallvec::SmallVec;

/// Most values whose sets fit a state, whatever the limit says.
const VALUE_BITS_MAX: usize = 32;

/// The values that a position may have, and by `contains` those that count, as sets of bits.
struct Position {
    values: u32,
    counted: SmallVec<[u32; 4]>,
}

/// The state after some items: the values used, which tell their number, and how many each `contains` has counted.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Progress {
    values: u32,
    counts: Counts,
}

impl Progress {
    /// Returns the state after another value, given by its bit; nothing if it counts where no more may.
    fn after(&self, bit: u32, position: &Position, shape: &ArrayShape) -> Option<Progress> {
        let mut after = Progress { values: self.values | bit, counts: self.counts.clone() };
        for (index, count) in shape.counts.iter().enumerate() {
            if position.counted[index] & bit != 0 {
                let n = after.counts[index] + 1;
                if count.max.is_some_and(|max| n > max) {
                    return None;
                }
                // Without an upper bound all numbers from the minimum on are equivalent.
                after.counts[index] = if count.max.is_none() { n.min(count.min) } else { n };
            }
        }
        Some(after)
    }

    fn is_enough(&self, shape: &ArrayShape) -> bool {
        u64::from(self.values.count_ones()) >= shape.min
            && shape.counts.iter().zip(&self.counts).all(|(count, &n)| n >= count.min)
    }
}

impl Lowerer<'_> {
    /// Adds arrays of a shape, given the domain of each position of the prefix, and of all behind it.
    pub(super) fn few_items(
        &mut self,
        draft: &mut Draft,
        shape: &ArrayShape,
        domains: &[Domain],
        depth: u32,
        end: u32,
    ) -> Lowered<()> {
        let mut values: Vec<&[u8]> = Vec::new();
        for domain in domains {
            let Domain::Few(texts) = domain else {
                let reason = "some items have few values and others many";
                return Err(SchemaError::unsupported("uniqueItems", reason).into());
            };
            values.extend(texts.iter().map(|text| &**text));
        }
        values.sort_unstable();
        values.dedup();
        let limit = self.limits.unique_values_max.min(VALUE_BITS_MAX);
        if values.len() > limit {
            let reason =
                format!("places of an array have {} values in all, and at most {limit} are told apart", values.len());
            return Err(SchemaError::unsupported("uniqueItems", reason).into());
        }
        let positions = self.positions(shape, domains, &values)?;
        let open = draft.state();
        draft.byte(&[0], b'[', open);
        let AfterOpen { before_close, before_first } = self.after_open(draft, open, depth)?;
        let none = Progress { values: 0, counts: shape.counts.iter().map(|_| 0).collect() };
        if none.is_enough(shape) {
            draft.byte(&before_close, b']', end);
        }
        if shape.max == Some(0) {
            return Ok(());
        }
        let mut states: HashMap<Progress, u32> = HashMap::new();
        let mut pending: Vec<(Progress, Option<u32>)> = vec![(none, None)];
        while let Some((used, state)) = pending.pop() {
            self.check_written("uniqueItems", states.len())?;
            let n_items = used.values.count_ones();
            let from = match state {
                None => before_first.clone(),
                Some(state) => {
                    let from = self.after_element(draft, state)?;
                    if used.is_enough(shape) {
                        let close = self.before_close(draft, from.clone(), depth)?;
                        draft.byte(&close, b']', end);
                    }
                    if shape.max.is_some_and(|max| u64::from(n_items) >= max) {
                        continue;
                    }
                    self.comma(draft, &from, depth)?
                }
            };
            let position = &positions[(n_items as usize).min(positions.len() - 1)];
            for (index, text) in values.iter().enumerate() {
                let bit = 1u32 << index;
                if position.values & !used.values & bit == 0 {
                    continue;
                }
                let Some(after) = used.after(bit, position, shape) else { continue };
                let target = *states.entry(after).or_insert_with_key(|after| {
                    let state = draft.state();
                    pending.push((after.clone(), Some(state)));
                    state
                });
                draft.text(&from, text, target);
            }
        }
        Ok(())
    }

    fn positions(&mut self, shape: &ArrayShape, domains: &[Domain], values: &[&[u8]]) -> Lowered<Vec<Position>> {
        let set_of = |domain: &Domain| match domain {
            Domain::Few(texts) => {
                let bits = texts.iter().filter_map(|text| values.binary_search(&&**text).ok());
                bits.fold(0u32, |set, index| set | 1 << index)
            }
            Domain::Many { .. } => 0,
        };
        let mut positions = Vec::with_capacity(domains.len());
        for (at, domain) in domains.iter().enumerate() {
            let at = at as u64;
            let mut counted = SmallVec::new();
            for count in &shape.counts {
                let is_at = count.from <= at && count.to.is_none_or(|to| at < to);
                let members: Members = shape.rules.at(at).chain([count.member]).collect();
                counted.push(if is_at { set_of(&self.domain_of(members)?) } else { 0 });
            }
            positions.push(Position { values: set_of(domain), counted });
        }
        Ok(positions)
    }
}

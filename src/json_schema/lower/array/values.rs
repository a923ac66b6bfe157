//! Enumeration of the values of a conjunction, if they are few, containers included.
//!
//! Under `uniqueItems` the number of values bounds the number of items. Scalars are counted by their automata; containers are enumerated
//! here, as one text each, with members and items in the order of the draft. The caller decides how many are few.

use super::super::text::{has_finite_end, spelled_key};
use super::super::{LowerError, Lowered, Lowerer};
use super::{Plan, Seen, VALUES_MAX, n_prefix};
use crate::json_schema::conjunction::ConjunctionId;
use crate::json_schema::language::few_texts;
use crate::json_schema::shape::{ArrayShape, NumberShape, Shape, ValueKind};

/// Most values and prefixes of values that one enumeration visits.
const STEPS_MAX: usize = 1 << 14;
/// Deepest nesting of enumerated values.
const DEPTH_MAX: usize = 32;

/// What is known about the values that are not enumerated: scalars of a kind with too many, and containers.
#[derive(Clone, Copy, Default)]
pub(super) struct UnlistedValues {
    /// Whether there are any.
    pub is_some: bool,
    /// Whether some prefix of them has few completions.
    pub is_finite: bool,
    /// Whether there are infinitely many.
    pub is_endless: bool,
}

/// The budget of an enumeration.
#[derive(Clone, Copy)]
pub(in super::super) struct EnumerationBudget {
    /// Most values.
    n_max: usize,
    n_steps_left: usize,
    depth: usize,
}

impl EnumerationBudget {
    pub fn new(n_max: usize) -> EnumerationBudget {
        EnumerationBudget { n_max, n_steps_left: STEPS_MAX, depth: 0 }
    }

    /// Counts a step; returns whether the budget is exhausted, given the number of pending prefixes.
    pub fn is_over(&mut self, texts: &[Vec<u8>], n_open: usize) -> bool {
        self.n_steps_left = self.n_steps_left.saturating_sub(1);
        // A list may have duplicates until it is sorted.
        self.n_steps_left <= n_open || texts.len() > 8 * self.n_max + 64
    }
}

impl Lowerer<'_> {
    /// Returns the values of a conjunction as texts, each once, if they are few.
    pub(in super::super) fn few_values(
        &mut self,
        conjunction: ConjunctionId,
        few: &mut EnumerationBudget,
    ) -> Lowered<Option<Vec<Vec<u8>>>> {
        if few.depth >= DEPTH_MAX {
            return Ok(None);
        }
        few.depth += 1;
        let mut texts = Vec::new();
        let mut is_few = true;
        for kind in ValueKind::ALL {
            let shapes = self.expander.shapes(conjunction, kind)?;
            for shape in shapes.iter().filter(|_| matches!(kind, ValueKind::Array | ValueKind::Object)) {
                is_few = is_few
                    && match shape {
                        Shape::Array(array) => self.few_arrays(array, few, &mut texts)?,
                        Shape::Object(object) => self.few_objects(object, few, &mut texts)?,
                        _ => true,
                    };
            }
            is_few = is_few
                && match (kind, self.add_scalars(kind, &shapes, &mut texts)) {
                    (ValueKind::Array | ValueKind::Object, _) => true,
                    (_, Ok(others)) => !others.is_some,
                    // Some numbers can't be spelled as distinct items, which does not matter within containers.
                    (_, Err(LowerError::Schema(_))) => false,
                    (_, Err(error)) => return Err(error),
                };
            if !is_few || few.is_over(&texts, 0) {
                return Ok(None);
            }
        }
        few.depth -= 1;
        texts.sort_unstable();
        texts.dedup();
        Ok((texts.len() <= few.n_max).then_some(texts))
    }

    /// Adds the scalars of some shapes of a kind, if they are few; returns what others there are.
    pub(super) fn add_scalars(
        &mut self,
        kind: ValueKind,
        shapes: &[Shape],
        texts: &mut Vec<Vec<u8>>,
    ) -> Lowered<UnlistedValues> {
        let mut others = UnlistedValues::default();
        if shapes.is_empty() {
            return Ok(others);
        }
        match kind {
            ValueKind::Null => texts.push(b"null".to_vec()),
            ValueKind::False => texts.push(b"false".to_vec()),
            ValueKind::True => texts.push(b"true".to_vec()),
            ValueKind::Number => {
                let numbers: Vec<NumberShape> = shapes
                    .iter()
                    .filter_map(|shape| if let Shape::Number(number) = shape { Some(number.clone()) } else { None })
                    .collect();
                let (dfa, registers) = self.number_texts(&numbers, true)?;
                others.is_finite |= has_finite_end(&dfa);
                others.is_some |= !registers.is_empty();
                match few_texts(&dfa, VALUES_MAX) {
                    Some(few) => texts.extend(few),
                    None => (others.is_some, others.is_endless) = (true, true),
                }
            }
            ValueKind::String => {
                for shape in shapes {
                    let Shape::String(string) = shape else { continue };
                    let dfa = self.expander.languages.of_shape(string, true, self.limits)?;
                    others.is_finite |= has_finite_end(&dfa);
                    match few_texts(&dfa, VALUES_MAX) {
                        None => (others.is_some, others.is_endless) = (true, true),
                        Some(few) => texts.extend(few.iter().filter_map(|text| {
                            let text = core::str::from_utf8(text).ok()?;
                            Some([b"\"", &*spelled_key(text)].concat())
                        })),
                    }
                }
            }
            ValueKind::Array | ValueKind::Object => others.is_some = true,
        }
        Ok(others)
    }

    /// Adds the arrays of a shape; returns whether they are few.
    fn few_arrays(
        &mut self,
        shape: &ArrayShape,
        few: &mut EnumerationBudget,
        texts: &mut Vec<Vec<u8>>,
    ) -> Lowered<bool> {
        let plan = Plan { shape, n_prefix: n_prefix(shape), is_written: true, distinct: None };
        let none = Seen { position: 0, n_items: 0, counts: shape.counts.iter().map(|_| 0).collect() };
        let mut open: Vec<(Vec<Vec<u8>>, Seen)> = vec![(Vec::new(), none)];
        while let Some((items, seen)) = open.pop() {
            if few.is_over(texts, open.len()) {
                return Ok(false);
            }
            let n_items = items.len() as u64;
            if n_items >= shape.min && shape.counts.iter().zip(&seen.counts).all(|(count, &n)| n >= count.min) {
                texts.push([b"[", &*items.join(&b','), b"]"].concat());
            }
            if shape.max.is_some_and(|max| n_items >= max) {
                continue;
            }
            for (conjunction, counts) in self.item_variants(&plan, seen.position, &seen.counts)?.iter() {
                let (conjunction, next) = (*conjunction, plan.after_item(&seen, counts));
                if self.expander.conjunctions.is_nothing(conjunction) {
                    continue;
                }
                let Some(values) = self.few_values(conjunction, few)? else { return Ok(false) };
                for value in values.into_iter().filter(|value| !shape.is_unique || !items.contains(value)) {
                    let mut longer = items.clone();
                    longer.push(value);
                    open.push((longer, next.clone()));
                }
                if few.is_over(texts, open.len()) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

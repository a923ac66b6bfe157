//! Enumeration of the values of a conjunction, if they are few, containers included.
//!
//! Under `uniqueItems` the number of values bounds the number of items. Scalars are counted by their automata; containers are enumerated
//! here, as one text each, with members and items in the order of the draft. The caller decides how many are few.

use super::super::text::{Divisors, has_finite_end, spelled_key};
use super::super::{LowerError, Lowered, Lowerer, STEPS_PER_EDGE};
use super::{Plan, Progress, VALUES_MAX, n_prefix};
use crate::json_schema::conjunction::{ConjunctionId, Members};
use crate::json_schema::language::enumerate_strings;
use crate::json_schema::shape::{ArrayShape, NumberShape, ObjectShape, Shape, ValueKind};

/// Most values and prefixes of values that one enumeration visits.
const STEPS_MAX: usize = 1 << 14;
/// Number of values from which on it is not counted how many there are.
const MEASURED_MAX: usize = 256;
/// Most items with constraints of their own where it is found out whether an array can go on.
pub(super) const PREFIX_MAX: u64 = 64;
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
        let mut texts = Vec::new();
        let is_few = self.add_values(conjunction, few, &mut texts)?;
        Ok((is_few && texts.len() <= few.n_max).then_some(texts))
    }

    /// Returns a number of values that a conjunction has at least; nothing if it has none.
    pub(super) fn n_values_at_least(&mut self, conjunction: ConjunctionId) -> Lowered<Option<usize>> {
        if self.is_endless(conjunction)? {
            return Ok(Some(usize::MAX));
        }
        let mut texts = Vec::new();
        let is_all = self.add_values(conjunction, &mut EnumerationBudget::new(MEASURED_MAX), &mut texts)?;
        Ok((!is_all || !texts.is_empty()).then_some(texts.len()))
    }

    /// Tells whether a conjunction certainly has infinitely many values.
    pub(super) fn is_endless(&mut self, conjunction: ConjunctionId) -> Lowered<bool> {
        for kind in ValueKind::ALL {
            let shapes = self.expander.shapes(conjunction, kind)?;
            let is_endless = match kind {
                ValueKind::Array | ValueKind::Object => {
                    let mut is_endless = false;
                    for shape in shapes.iter() {
                        is_endless = is_endless
                            || match shape {
                                Shape::Array(array) => self.may_go_on(array)?,
                                Shape::Object(object) => self.may_have_any_key(object)?,
                                _ => false,
                            };
                    }
                    is_endless
                }
                // Numbers that can't be spelled as distinct items are an error of the array, where there is one.
                _ => self
                    .add_scalars(kind, &shapes, &mut Vec::new(), Divisors::All)
                    .is_ok_and(|others| others.is_endless),
            };
            if is_endless {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells whether a shape certainly has arrays, and each can have another item.
    fn may_go_on(&mut self, shape: &ArrayShape) -> Lowered<bool> {
        let n_prefix = n_prefix(shape);
        let are_counted = shape.counts.iter().any(|count| count.min > 0 || count.max.is_some());
        if shape.is_unique || shape.max.is_some() || are_counted || n_prefix > PREFIX_MAX {
            return Ok(false);
        }
        for position in 0..=n_prefix {
            let members: Members = shape.rules.at(position).collect();
            let conjunction = self.expander.intern(members);
            if !self.has_value(conjunction)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tells whether a shape certainly has objects, and each can have any other key.
    fn may_have_any_key(&mut self, shape: &ObjectShape) -> Lowered<bool> {
        if shape.max.is_some() || !shape.obligations.is_empty() {
            return Ok(false);
        }
        let Some(plan) = self.plan_object(shape)? else { return Ok(false) };
        let required =
            plan.names.iter().filter(|name| name.is_required).map(|name| Some(name.content.as_ref()?.conjunction));
        for conjunction in required.chain([plan.undeclared()]) {
            if !conjunction.map_or(Ok(false), |conjunction| self.has_value(conjunction))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tells whether a conjunction certainly has a value.
    fn has_value(&mut self, conjunction: ConjunctionId) -> Lowered<bool> {
        for kind in ValueKind::ALL {
            let shapes = self.expander.shapes(conjunction, kind)?;
            let mut texts = Vec::new();
            let has_some = match kind {
                ValueKind::Array | ValueKind::Object => shapes.iter().any(|shape| match shape {
                    Shape::Array(array) => array.min == 0 && array.counts.iter().all(|count| count.min == 0),
                    Shape::Object(object) => {
                        object.min == 0 && object.required.len() == 0 && object.obligations.is_empty()
                    }
                    _ => false,
                }),
                _ => self
                    .add_scalars(kind, &shapes, &mut texts, Divisors::All)
                    .is_ok_and(|others| others.is_endless || !texts.is_empty()),
            };
            if has_some {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds the values of a conjunction to a list that is empty before, each once; returns whether these are all, and not too many.
    fn add_values(
        &mut self,
        conjunction: ConjunctionId,
        few: &mut EnumerationBudget,
        texts: &mut Vec<Vec<u8>>,
    ) -> Lowered<bool> {
        if few.depth >= DEPTH_MAX {
            return Ok(false);
        }
        few.depth += 1;
        let mut is_few = true;
        for kind in ValueKind::ALL {
            let shapes = self.expander.shapes(conjunction, kind)?;
            for shape in shapes.iter().filter(|_| matches!(kind, ValueKind::Array | ValueKind::Object)) {
                is_few = is_few
                    && match shape {
                        Shape::Array(array) => self.few_arrays(array, few, texts)?,
                        Shape::Object(object) => self.few_objects(object, few, texts)?,
                        _ => true,
                    };
            }
            is_few = is_few
                && match (kind, self.add_scalars(kind, &shapes, texts, Divisors::All)) {
                    (ValueKind::Array | ValueKind::Object, _) => true,
                    (_, Ok(others)) => !others.is_some,
                    // Some numbers can't be spelled as distinct items, which does not matter within containers.
                    (_, Err(LowerError::Schema(_))) => false,
                    (_, Err(error)) => return Err(error),
                };
            if !is_few || few.is_over(texts, 0) {
                is_few = false;
                break;
            }
        }
        few.depth -= 1;
        texts.sort_unstable();
        texts.dedup();
        Ok(is_few)
    }

    /// Adds the scalars of some shapes of a kind, if they are few; returns what others there are.
    pub(super) fn add_scalars(
        &mut self,
        kind: ValueKind,
        shapes: &[Shape],
        texts: &mut Vec<Vec<u8>>,
        divisors: Divisors,
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
                let (dfa, registers) = self.number_texts(&numbers, true, divisors)?;
                others.is_finite |= has_finite_end(&dfa);
                others.is_some |= !registers.is_empty();
                match enumerate_strings(&dfa, VALUES_MAX) {
                    Some(few) => texts.extend(few),
                    None => (others.is_some, others.is_endless) = (true, true),
                }
            }
            ValueKind::String => {
                for shape in shapes {
                    let Shape::String(string) = shape else { continue };
                    let dfa = self.expander.languages.of_shape(string, true, self.limits)?;
                    others.is_finite |= has_finite_end(&dfa);
                    self.budget.spend(STEPS_PER_EDGE * dfa.n_edges())?;
                    match enumerate_strings(&dfa, VALUES_MAX) {
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
        // Spelling ever longer arrays out until there are too many took 25 ms.
        if self.may_go_on(shape)? {
            return Ok(false);
        }
        let plan = Plan { shape, n_prefix: n_prefix(shape), is_written: true, unique: None };
        let none = Progress { position: 0, n_items: 0, counts: shape.counts.iter().map(|_| 0).collect() };
        let mut open: Vec<(Vec<Vec<u8>>, Progress)> = vec![(Vec::new(), none)];
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

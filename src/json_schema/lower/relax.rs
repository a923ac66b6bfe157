//! Lenient mode where shapes become automata: what would be too large to write out is dropped.
//!
//! `{"minProperties": 100000}` is fine as a fact; that its members can't be told apart shows when an automaton is made of it. A shape no
//! longer knows which keyword a bound came from. So what is dropped from it is reported at every keyword that asks for just that: one of
//! them is to blame.
//!
//! A shape is what must hold together, whatever signs led to it. What is left of one lets more texts through and never fewer.

use super::object::Plan;
use super::{Draft, LowerError, Lowered, Lowerer};
use crate::json_schema::conjunction::Subject;
use crate::json_schema::error::SchemaError;
use crate::json_schema::model::{ArrayKeyword, Keyword, NumberKeyword, ObjectKeyword, SchemaId};
use crate::json_schema::number::{NumberError, NumberSet, NumberSpelling, NumberTexts, RegisterTexts};
use crate::json_schema::shape::{ArrayShape, ItemCount, ObjectShape};
use crate::json_schema::value::ValueId;
use crate::pass::NetRuleId;
use crate::regular::{Dfa, Work};
use std::borrow::Cow;
use std::sync::Arc;

/// Returns the error for numbers whose texts can't be had; which bound or divisor it is shows where the place is added.
fn no_texts(error: NumberError) -> SchemaError {
    let keyword = if let NumberError::Magnitude = error { "minimum" } else { "multipleOf" };
    SchemaError::unsupported(keyword, error.to_string())
}

impl Lowerer<'_> {
    /// In lenient mode, notes that the keywords of which a test is true are not enforced.
    ///
    /// # Errors
    /// The error, if there are none or it is not lenient mode.
    fn blame(&mut self, error: &SchemaError, is_to_blame: impl Fn(&Keyword) -> bool) -> Lowered<()> {
        let model = self.expander.model;
        let entries = model.schemas().flat_map(|(id, schema)| schema.entries().iter().map(move |entry| (id, entry)));
        let found = entries.filter(|(_, entry)| is_to_blame(&entry.keyword)).map(|(id, entry)| (id, entry.value));
        let found: Vec<(SchemaId, ValueId)> = found.collect();
        if !self.expander.options.is_lenient || found.is_empty() {
            return Err(error.clone().into());
        }
        found.into_iter().try_for_each(|(schema, value)| self.expander.relax(schema, value, None, error.clone()))
    }

    /// Returns the plan of the objects of a shape, whose numbers of members are within the bound; nothing if there are none. In lenient mode
    /// the least number is, since `Expander::checked_min` looks at keywords.
    pub(super) fn fitting_plan(&mut self, shape: &ObjectShape) -> Lowered<Option<Plan>> {
        let Some(plan) = self.plan_object(shape)? else { return Ok(None) };
        let bound = plan.max.unwrap_or(plan.min);
        if bound <= self.limits.object_members_max {
            return Ok(Some(plan));
        }
        let keyword = if plan.max.is_some() { "maxProperties" } else { "minProperties" };
        let error = SchemaError::too_many_members(keyword, bound, self.limits.object_members_max);
        // Of several bounds only the least is left, and then none.
        let Some(max) = shape.max.filter(|&max| max > self.limits.object_members_max) else { return Err(error.into()) };
        self.blame(&error, |keyword| match keyword {
            Keyword::Object(ObjectKeyword::MaxProperties(given)) => *given >= max,
            Keyword::Object(ObjectKeyword::MinProperties(given)) => *given > max,
            _ => false,
        })?;
        let shape = ObjectShape { max: None, ..shape.clone() };
        self.plan_object(&shape)
    }

    /// Returns the rule of the arrays of a shape, without conditions that can't be enforced; nothing if there are none.
    pub(super) fn lenient_array(&mut self, shape: &ArrayShape, depth: u32) -> Lowered<Option<NetRuleId>> {
        let mut shape = shape.clone();
        loop {
            // PERF: most that fail do so after a quarter of a million places, which takes a second. Each count up to a bound is one.
            let size = |count: &ItemCount| count.max.unwrap_or(count.min).min(shape.max.unwrap_or(u64::MAX));
            let n_places = shape.counts.iter().map(size).max().unwrap_or(0);
            let made = match self.check_written("items", usize::try_from(n_places).unwrap_or(usize::MAX)) {
                Err(error) => Err(error),
                Ok(()) if shape.has_distinct_items() => self.unique_array(&shape, depth),
                Ok(()) => self.array_rule(&shape, depth).map(Some),
            };
            let error = match made {
                Err(LowerError::Schema(error)) if error.is_unsupported() => error,
                made => return made,
            };
            let largest = (0..shape.counts.len()).max_by_key(|&index| size(&shape.counts[index]));
            match largest {
                Some(index) => {
                    let count = shape.counts.remove(index);
                    self.blame(&error, |keyword| asks_for(keyword, &count))?;
                }
                None if shape.is_unique => {
                    for &(schema, value) in &shape.unique_by {
                        self.expander.relax(schema, value, None, error.clone())?;
                    }
                    shape.is_unique = false;
                }
                None => return Err(error.into()),
            }
        }
    }

    fn array_rule(&mut self, shape: &ArrayShape, depth: u32) -> Lowered<NetRuleId> {
        let mut draft = Draft::new();
        let end = draft.state();
        draft.accept(end);
        self.array(&mut draft, shape, depth, end)?;
        self.spend(&draft)?;
        Ok(self.rule("array", draft, None))
    }

    /// Returns the texts of the numbers of a set, and those beside registers; in lenient mode without divisors that can't be enforced.
    pub(super) fn texts_of_set(
        &mut self,
        set: &NumberSet,
        is_element: bool,
    ) -> Lowered<(Arc<Dfa>, Vec<RegisterTexts>)> {
        let mut left = Cow::Borrowed(set);
        loop {
            let error = match self.texts_as_said(&left, is_element) {
                Ok(texts) => return Ok(texts),
                Err(NumberError::TooLarge(error)) if error.is_interrupted() => {
                    self.budget.check()?;
                    no_texts(NumberError::TooLarge(error))
                }
                Err(error) => no_texts(error),
            };
            // The greatest is the hardest; what followed from it goes with it.
            let Some((greatest, _)) = left.to_mut().pop_divisor() else { return Err(error.into()) };
            self.blame(&error, |keyword| match keyword {
                Keyword::Number(NumberKeyword::MultipleOf(given)) => {
                    given.is_multiple_of(&greatest) || greatest.is_multiple_of(given)
                }
                _ => false,
            })?;
        }
    }

    fn texts_as_said(&self, set: &NumberSet, is_element: bool) -> Result<(Arc<Dfa>, Vec<RegisterTexts>), NumberError> {
        let work = &mut Work(&mut |n_steps| self.budget.spend(n_steps).is_ok());
        if is_element {
            return set.element_texts(self.limits, work);
        }
        let has_integer_fractions = self.expander.options.has_integer_fractions;
        let spelling = NumberSpelling { has_integer_fractions, ..NumberSpelling::default() };
        set.texts(&spelling, self.limits, work).map(|texts| match texts {
            NumberTexts::Automaton(dfa) => (dfa, Vec::new()),
            NumberTexts::Register(texts) => (Arc::default(), texts.into_iter().collect()),
        })
    }
}

/// Tells whether a keyword asks for a count, or its denial does.
fn asks_for(keyword: &Keyword, count: &ItemCount) -> bool {
    let Subject::Schema(counted) = count.member.subject else { return false };
    let bounds = (count.min, count.max);
    match keyword {
        Keyword::Array(ArrayKeyword::Contains { schema, min, max }) => {
            let too_few = min.checked_sub(1).map(|below| (0, Some(below)));
            let too_many = max.map(|max| (max.saturating_add(1), None));
            *schema == counted && [Some((*min, *max)), too_few, too_many].contains(&Some(bounds))
        }
        Keyword::Array(ArrayKeyword::Items(id)) | Keyword::Array(ArrayKeyword::UnevaluatedItems(id)) => {
            *id == counted && bounds == (1, None)
        }
        _ => false,
    }
}

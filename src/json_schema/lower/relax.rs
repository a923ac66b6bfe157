//! Lenient mode while shapes become automata: constraints whose automaton would be too large are dropped.
//!
//! `{"minProperties": 100000}` is a fact like any other; only its automaton is too large. By then a shape no longer knows the keyword of a
//! bound. So a dropped bound is reported at every keyword that asks for it: one of them is the cause.
//!
//! A shape is a conjunction, whatever signs led to it, so that dropping a part of it allows more documents, never fewer.

use super::object::Plan;
use super::text::{Divisors, NumberAutomata};
use super::{Draft, LowerError, Lowered, Lowerer};
use crate::json_schema::conjunction::Subject;
use crate::json_schema::error::SchemaError;
use crate::json_schema::model::{ArrayKeyword, Keyword, NumberKeyword, ObjectKeyword, SchemaId};
use crate::json_schema::number::{NumberError, NumberSet, NumberSpelling, NumberTexts};
use crate::json_schema::shape::{ArrayShape, ItemCount, ObjectShape};
use crate::json_schema::value::ValueId;
use crate::pass::NetRuleId;
use crate::regular::Work;
use std::borrow::Cow;
use std::sync::Arc;

/// Returns the error for numbers whose automaton can't be built; adding its location finds the bound or divisor.
fn no_texts(error: NumberError) -> SchemaError {
    let keyword = if let NumberError::Magnitude = error { "minimum" } else { "multipleOf" };
    SchemaError::unsupported(keyword, error.to_string())
}

impl Lowerer<'_> {
    /// In lenient mode, records that the keywords with `is_to_blame` are not enforced.
    ///
    /// # Errors
    /// The given error, in strict mode or if there is no such keyword.
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

    /// Returns the plan of the objects of a shape, with bounds on members within the limit; `None` if there are no such objects. The lower
    /// bound is within it in lenient mode, where it was checked with its keyword.
    pub(super) fn fitting_plan(&mut self, shape: &ObjectShape) -> Lowered<Option<Plan>> {
        let Some(plan) = self.plan_object(shape)? else { return Ok(None) };
        let bound = plan.max.unwrap_or(plan.min);
        if bound <= self.limits.object_members_max {
            return Ok(Some(plan));
        }
        let keyword = if plan.max.is_some() { "maxProperties" } else { "minProperties" };
        let error = SchemaError::too_many_members(keyword, bound, self.limits.object_members_max);
        // The shape has the least of several upper bounds; without it there is none.
        let Some(max) = shape.max.filter(|&max| max > self.limits.object_members_max) else { return Err(error.into()) };
        self.blame(&error, |keyword| match keyword {
            Keyword::Object(ObjectKeyword::MaxProperties(given)) => *given >= max,
            Keyword::Object(ObjectKeyword::MinProperties(given)) => *given > max,
            _ => false,
        })?;
        let shape = ObjectShape { max: None, ..shape.clone() };
        self.plan_object(&shape)
    }

    /// Returns the rule of the arrays of a shape, without conditions that can't be enforced; `None` if there are no such arrays.
    pub(super) fn lenient_array(&mut self, shape: &ArrayShape, depth: u32) -> Lowered<Option<NetRuleId>> {
        let mut shape = shape.clone();
        // An array fails after a quarter of a million states, a second's work. Each count up to a bound is a state, so that the largest bound predicts most failures.
        let sizes: Lowered<Vec<u64>> = shape.counts.iter().map(|count| self.n_counts(&shape, count)).collect();
        let mut sizes = sizes?;
        loop {
            let n_places = sizes.iter().copied().max().unwrap_or(0);
            let made = match self.check_written("contains", usize::try_from(n_places).unwrap_or(usize::MAX)) {
                Err(error) => Err(error),
                Ok(()) if shape.has_distinct_items() => self.unique_array(&shape, depth),
                Ok(()) => self.array_rule(&shape, depth).map(Some),
            };
            let error = match made {
                Err(LowerError::Schema(error)) if error.is_unsupported() => error,
                made => return made,
            };
            let largest = (0..sizes.len()).max_by_key(|&index| sizes[index]);
            match largest {
                Some(index) => {
                    sizes.remove(index);
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

    /// Returns the texts of the numbers of a set, one of `n_sets`: an automaton, and automata beside registers. If none of them is written, since no double comes near, the inner
    /// error says so.
    pub(super) fn texts_of_set(
        &mut self,
        set: &NumberSet,
        n_sets: usize,
        is_element: bool,
        divisors: Divisors,
    ) -> Lowered<Result<NumberAutomata, SchemaError>> {
        let mut left = Cow::Borrowed(set);
        loop {
            let error = match self.texts_as_said(&left, is_element) {
                Ok(texts) => return Ok(Ok(texts)),
                Err(error @ NumberError::Magnitude) => return Ok(Err(no_texts(error))),
                Err(NumberError::TooLarge(error)) if error.is_interrupted() => {
                    self.budget.check()?;
                    no_texts(NumberError::TooLarge(error))
                }
                Err(error) => no_texts(error),
            };
            if divisors == Divisors::All {
                return Err(error.into());
            }
            // The greatest divisor makes the automaton large; divisors that it implies go with it. Once one is not enforced, others go as well until the set has no more than its share
            // of the states: of `oneOf` there are as many sets as divisors, each with all of these.
            let n_states_max = (self.limits.dfa_states_max / n_sets.max(1)) as u128;
            loop {
                let Some((greatest, _)) = left.to_mut().pop_divisor() else { return Err(error.into()) };
                self.blame(&error, |keyword| match keyword {
                    Keyword::Number(NumberKeyword::MultipleOf(given)) => {
                        given.is_multiple_of(&greatest) || greatest.is_multiple_of(given)
                    }
                    _ => false,
                })?;
                if !left.is_large(&self.number_spelling(), n_states_max) {
                    break;
                }
            }
        }
    }

    fn texts_as_said(&self, set: &NumberSet, is_element: bool) -> Result<NumberAutomata, NumberError> {
        let mut spend = |n_steps| self.budget.spend(n_steps).is_ok();
        let work = &mut Work(&mut spend);
        if is_element {
            return set.element_texts(self.limits, work);
        }
        set.texts(&self.number_spelling(), self.limits, work).map(|texts| match texts {
            NumberTexts::Automaton(dfa) => (dfa, Vec::new()),
            NumberTexts::Register(texts) => (Arc::default(), texts.into_iter().collect()),
        })
    }

    fn number_spelling(&self) -> NumberSpelling {
        let has_integer_fractions = self.expander.options.has_integer_fractions;
        NumberSpelling { has_integer_fractions, ..NumberSpelling::default() }
    }
}

/// Returns whether a keyword or its negation asks for a count.
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

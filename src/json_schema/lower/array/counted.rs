//! The items that `contains` counts, where items are distinct: values that count can run out.

use super::super::{Lowered, Lowerer};
use super::values::EnumerationBudget;
use super::{Domain, n_prefix};
use crate::json_schema::conjunction::{Member, Members};
use crate::json_schema::shape::{ArrayShape, ItemCount};
use smallvec::SmallVec;

/// Most values of counted items that are used to bound their number.
const COUNTED_MAX: usize = 64;

/// Most values that are told apart by a condition for each.
const TOLD_APART_MAX: usize = 8;

/// What is known about conditions that few values satisfy. Each of these values has to be counted until there are enough: it can't be, later on.
#[derive(Default)]
pub(super) struct FewCounted {
    /// By condition: how many values satisfy it behind the prefix, if they are few; empty if nothing depends on it.
    pub n_values: SmallVec<[Option<u64>; 4]>,
    /// Whether as many of the few as are still missing are always unused, and can follow.
    are_left: bool,
    /// The number of conditions of the schema; behind them each of some values has one, which counts it at most once.
    n_own: usize,
}

impl FewCounted {
    /// Returns whether some value that a condition counts is unused wherever one may be counted.
    pub fn is_left(&self, count: usize) -> bool {
        match self.n_values.get(count) {
            Some(n_values) => count >= self.n_own || self.are_left && n_values.is_some(),
            None => false,
        }
    }
}

impl Lowerer<'_> {
    /// Bounds the number of counted and of uncounted items by the sizes of their domains; returns whether that alone prevents exhaustion. It
    /// does if all items have the same constraint and one condition counts them.
    pub(super) fn bound_counts(&mut self, shape: &mut ArrayShape) -> Lowered<bool> {
        if shape.counts.is_empty() {
            return Ok(true);
        }
        let (true, [count]) = (n_prefix(shape) == 0, &shape.counts[..]) else { return Ok(false) };
        let count = count.clone();
        let mut is_safe = true;
        for (index, member) in [count.member, count.member.negated()].into_iter().enumerate() {
            let members: Members = shape.rules.iter().map(|rule| rule.member).chain([member]).collect();
            let conjunction = self.expander.intern(members);
            let domain = match self.domain(conjunction)? {
                Domain::Many { is_endless: false, is_finite } => {
                    let few = self.few_values(conjunction, &mut EnumerationBudget::new(COUNTED_MAX))?;
                    few.map_or(Domain::Many { is_endless: false, is_finite }, Domain::Few)
                }
                domain => domain,
            };
            match domain {
                Domain::Many { is_endless, .. } => is_safe &= is_endless,
                Domain::Few(values) if values.len() > COUNTED_MAX => is_safe = false,
                Domain::Few(values) if index == 0 => {
                    let max = shape.counts[0].max.map_or(values.len() as u64, |max| max.min(values.len() as u64));
                    shape.counts[0].max = Some(max);
                }
                Domain::Few(values) => {
                    shape.counts.push(ItemCount { member, min: 0, max: Some(values.len() as u64), ..count.clone() });
                }
            }
        }
        Ok(is_safe)
    }

    /// Returns how many numbers of items a condition has to tell apart, at most: items that none of the values can be are not counted.
    pub(in super::super) fn n_counts(&mut self, shape: &ArrayShape, count: &ItemCount) -> Lowered<u64> {
        let bound = count.max.unwrap_or(count.min).min(shape.max.unwrap_or(u64::MAX));
        let counted: Members = shape.rules.at_the_end().chain([count.member]).collect();
        let n_values = match shape.has_distinct_items() {
            _ if self.is_nothing(&counted)? => 0,
            // Only lists are looked at: to find out more, keywords might have to be dropped.
            true => counted.iter().filter_map(|&member| self.expander.n_values(member)).min().unwrap_or(usize::MAX),
            false => usize::MAX,
        };
        Ok(bound.min(n_prefix(shape).saturating_add(n_values as u64)))
    }

    /// Finds the conditions that few values satisfy, and tells whether values can't be exhausted.
    ///
    /// They can't where all items have the same constraint, and nothing bounds how many there are or count. Each of the few is counted for every such condition that it
    /// satisfies, until there are enough. So where `min - n` are missing of `k` values, `k - n` are unused, and as many as are needed can follow, whatever else they
    /// count for. A condition that infinitely many values satisfy always finds one that is none of the few.
    ///
    /// Elsewhere each of the few gets a condition of its own, where their constants are visible: then states tell which of them are used.
    pub(super) fn few_counted(&mut self, shape: &mut ArrayShape, is_bounded: bool) -> Lowered<(bool, FewCounted)> {
        let (mut is_known, mut are_enough) = (true, true);
        let mut n_values: SmallVec<[Option<u64>; 4]> = SmallVec::new();
        let rest: Members = shape.rules.at_the_end().collect();
        for count in &shape.counts {
            let counted: Members = rest.iter().copied().chain([count.member]).collect();
            let counted = self.expander.intern(counted);
            let n_few = match self.domain(counted)? {
                Domain::Few(values) => Some(values.len()),
                Domain::Many { .. } if self.is_endless(counted)? => None,
                Domain::Many { .. } => {
                    let few = self.few_values(counted, &mut EnumerationBudget::new(COUNTED_MAX))?;
                    is_known &= few.is_some();
                    few.map(|values| values.len())
                }
            };
            let n_few = n_few.map(|n_few| n_few as u64);
            are_enough &= n_few.is_none_or(|n_few| n_few >= count.min);
            n_values.push(n_few);
        }
        let are_left = !is_bounded && are_enough;
        let n_own = n_values.len();
        if !are_left {
            let values = self.values_to_tell_apart(shape, &rest, &n_values)?;
            n_values.extend(values.iter().map(|_| Some(1)));
            let of_value = |member| ItemCount { from: 0, to: None, member, min: 0, max: Some(1) };
            shape.counts.extend(values.into_iter().map(of_value));
        }
        Ok((is_known && are_left, FewCounted { n_values, are_left, n_own }))
    }

    /// Returns the values that satisfy the conditions which few values satisfy, if they are few in all and visible as constants.
    fn values_to_tell_apart(
        &mut self,
        shape: &ArrayShape,
        rest: &[Member],
        n_values: &[Option<u64>],
    ) -> Lowered<Vec<Member>> {
        let mut members: Vec<Member> = Vec::new();
        for (count, _) in shape.counts.iter().zip(n_values).filter(|(_, n_few)| n_few.is_some()) {
            let mut listed = [count.member].into_iter().chain(rest.iter().copied());
            let values = listed.find_map(|member| self.expander.listed_values(member));
            for value in values.into_iter().flatten() {
                if !members.contains(&value) && !self.is_nothing(&[count.member, value])? {
                    members.push(value);
                }
            }
        }
        // Two constants may be the same value.
        let mut values: Vec<Member> = Vec::new();
        for member in members {
            let mut is_new = true;
            for &value in &values {
                is_new &= self.is_nothing(&[member, value])?;
            }
            if is_new {
                values.push(member);
            }
        }
        Ok(if values.len() > TOLD_APART_MAX { Vec::new() } else { values })
    }
}

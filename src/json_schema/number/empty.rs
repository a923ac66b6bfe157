//! Emptiness of a set of numbers.
//!
//! Without integers and divisors, an interval between two different bounds has infinitely many numbers, which finitely many non-divisors do
//! not exhaust. Otherwise the members are multiples `k·d` of a step `d` between the bounds, and each non-divisor excludes the
//! multiples of some `m` among the `k`. If some `m` is 1, the set is empty. If not, `k = 1` is not excluded, nor are infinitely
//! many others in each direction; so only sets with two bounds need a search. `r` non-divisors exclude fewer than `2^r` consecutive `k`
//! (the bound of Jacobsthal's function), so that `2^r` candidates are enough.

use super::{Bound, NumberError, NumberSet, NumberSpelling, spell};
use crate::Limits;
use crate::json_schema::decimal::Decimal;
use crate::regular::Work;

pub(super) fn is_empty(set: &NumberSet, limits: &Limits, work: &mut Work<'_>) -> Result<bool, NumberError> {
    if let (Some(lower), Some(upper)) = (&set.lower, &set.upper)
        && lower.value >= upper.value
    {
        return Ok(!set.contains(&lower.value));
    }
    let Some(step) = set.step()? else { return Ok(false) };
    let non_divisors = set.non_divisors()?;
    if non_divisors.iter().any(|divisor| step.is_multiple_of(divisor)) {
        return Ok(true);
    }
    let (Some(lower), Some(upper)) = (&set.lower, &set.upper) else { return Ok(false) };
    let (lower, upper) = (snapped_up(lower, &step), snapped_up(&upper.negated(), &step).negated());
    if lower.value > upper.value {
        return Ok(true);
    }
    let candidates = [Decimal::default(), step.clone(), step.negated(), lower.value.clone(), upper.value.clone()];
    if candidates.iter().any(|value| set.contains(value)) {
        return Ok(false);
    }
    // There are more than 10^18 multiples between the bounds, more than 2^r.
    let is_far = |a: &Decimal, b: &Decimal| !a.is_zero() && a.height() > b.height().max(step.height()) + 20;
    if is_far(&lower.value, &upper.value) || is_far(&upper.value, &lower.value) {
        return Ok(false);
    }
    match is_empty_between(set, &lower, &upper, &step, 1 << non_divisors.len()) {
        Some(is_empty) => Ok(is_empty),
        None => {
            let plain = NumberSpelling { has_integer_fractions: false, has_exponents: false };
            Ok(spell::language(set, &plain, limits, work)?.is_empty())
        }
    }
}

/// Moves a lower bound up to 0 or to the nearest multiple of `step`, if it lies less than a step from zero.
fn snapped_up(bound: &Bound, step: &Decimal) -> Bound {
    let value = if bound.value.abs() >= *step || (bound.value.is_zero() && bound.is_inclusive) {
        return bound.clone();
    } else if bound.value.is_negative() {
        Decimal::default()
    } else {
        step.clone()
    };
    Bound { value, is_inclusive: true }
}

/// Returns whether no multiple of `step` between two bounds is in the set, given that of `n_tries_max` consecutive multiples at least one
/// is not excluded; `None` if 128 bits are too few.
fn is_empty_between(set: &NumberSet, lower: &Bound, upper: &Bound, step: &Decimal, n_tries_max: i128) -> Option<bool> {
    let multiples = Multiples::between(lower, upper, step)?;
    for k in 0..multiples.n.min(n_tries_max) {
        if set.contains(&multiples.get(k)?) {
            return Some(false);
        }
    }
    Some(true)
}

/// The multiples of a number between two bounds.
pub(super) struct Multiples {
    /// In units of `10^unit`.
    step: i128,
    unit: i64,
    first: i128,
    /// How many there are.
    pub n: i128,
}

impl Multiples {
    /// Returns the multiples of `step`; `None` if they are too large for 128 bits.
    pub fn between(lower: &Bound, upper: &Bound, step: &Decimal) -> Option<Multiples> {
        let unit = [&lower.value, &upper.value, step].into_iter().map(Decimal::exponent).min()?;
        let scaled = |value: &Decimal| value.to_scaled(unit);
        let (low, high, step) = (scaled(&lower.value)?, scaled(&upper.value)?, scaled(step)?);
        let first = low.div_euclid(step) + i128::from(low.rem_euclid(step) != 0 || !lower.is_inclusive);
        let last = high.div_euclid(step) - i128::from(high.rem_euclid(step) == 0 && !upper.is_inclusive);
        Some(Multiples { step, unit, first, n: last.checked_sub(first)?.saturating_add(1).max(0) })
    }

    /// Returns multiple `k`, from 0 on.
    pub fn get(&self, k: i128) -> Option<Decimal> {
        Decimal::from_scaled((self.first + k).checked_mul(self.step)?, self.unit)
    }
}

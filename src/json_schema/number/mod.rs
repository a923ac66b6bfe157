//! Sets of numbers, and how their members are written.
//!
//! What `minimum`, `maximum`, `multipleOf`, `type: integer`, `const` and their negations say of a number is a
//! [`NumberSet`]: bounds, divisors, non-divisors. [`NumberSet::language`] is the automaton of the JSON texts whose exact
//! decimal value is in it, so that `maximum: 100` refuses the fourth digit, and `multipleOf: 0.01` the third one after
//! the point. Values are decimals of any size, never binary floats.
//!
//! # Spellings
//!
//! - *Plain*: `-?(0|[1-9][0-9]*)(\.[0-9]+)?`, with any number of zeros at the end of the fraction; `-0` is zero. The
//!   language contains every plain spelling of every number of the set, except numbers outside the range of doubles (below).
//! - *Integers* (those of a set that [has only integers](NumberSet::integers)): without fraction, or with a fraction of
//!   zeros if [`NumberSpelling::has_integer_fractions`].
//! - *With an exponent*, like `1.5e-3` or `2E+08`, if [`NumberSpelling::has_exponents`] and the set does not
//!   constrain integers or divisors (whether `1.25e1` is an integer shows only after the exponent). Where the numbers of a sign
//!   have no bound, any mantissa is allowed. Otherwise the mantissa is normalized, with one digit before the point that is zero only for the
//!   number zero: then numbers compare by exponent first and by mantissa second. The exponent has one or two
//!   digits. If a bound lies beyond them, it may have three, from -308 to 307; to 308 where the bound stays
//!   within the doubles.
//!
//! # Divisors with many digits
//!
//! The multiples of 123456789, and the numbers that are not multiples of it, have too many remainders for the states of an automaton. Their
//! spellings are the usual ones: plain, without exponents, with any zeros at the end. The remainder is held in a register beside a small
//! automaton ([`NumberSet::texts`]), which works where one register suffices:
//!
//! | set | condition |
//! |---|---|
//! | every set | divisors, and bounds in units of a divisor's last digit, fit in 64 bits and 37 digits |
//! | multiples of several numbers | the least common multiple fits, too |
//! | no multiples of a number | it is the only divisor; with fractions there are no bounds |
//! | items of `uniqueItems` | integers without a bound |
//!
//! Other sets are refused if their automaton is larger than the limits allow.
//!
//! # Parsers with doubles
//!
//! Values are exact. A parser that rounds to doubles may move a number with more digits than doubles have onto a bound:
//! `0.99999999999999999999` is below 1 here, and 1 there.
//!
//! Parsers that work with doubles refuse `1e400`, and refuse 400 digits in a row. No exponent of the
//! language overflows a double by itself. Digits without a bound are not counted: a loop has 10 states, while a state for each of 309 digits
//! (and a mask for each state) would burden every schema with a number, and models do not write 200 digits in a row unless they are forced to.
//! A bound outside the range of doubles is replaced by 10^309, and a distance from zero below 10^-400 by 10^-400; if no number remains, the
//! error is [`NumberError::Magnitude`].
//!
//! # Files
//!
//! | file | idea |
//! |---|---|
//! | `side` | the bounds of one sign; comparing digit by digit |
//! | `residue` | remainders of division, digit by digit |
//! | `exponent` | the exponents in a range |
//! | `spell` | the automaton: all of the above at once |
//! | `few` | the list of the members, where bounds leave few multiples |
//! | `register` | divisors with many digits: an automaton beside a register that holds the remainder |
//! | `empty` | whether a set has no members: arithmetic on the multiples between the bounds |

mod empty;
mod exponent;
mod few;
mod register;
mod residue;
mod side;
mod spell;
#[cfg(test)]
mod tests;

pub(crate) use register::RegisterTexts;

use super::decimal::Decimal;
use crate::Limits;
use crate::regular::{Dfa, RegularError, Work};
use core::cmp::Ordering;
use core::fmt;
use std::sync::Arc;

/// The numbers that satisfy all of some constraints.
///
/// The set is normalized: of several constraints of one kind only the strongest remains, and a set with contradictory bounds is
/// [`NumberSet::empty`]. Two values of this type can still describe the same numbers and differ, also in how they spell integers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumberSet {
    lower: Option<Bound>,
    upper: Option<Bound>,
    /// `Some(true)`: only integers. `Some(false)`: no integers.
    integer: Option<bool>,
    /// `(d, true)`: only multiples of d. `(d, false)`: no multiples of d. Ascending and positive; none is implied by others with its sign.
    divisors: Vec<(Decimal, bool)>,
}

/// The texts of a set of numbers.
#[derive(Debug)]
pub(crate) enum NumberTexts {
    Automaton(Arc<Dfa>),
    /// `None` if there are none.
    Register(Option<RegisterTexts>),
}

/// An end of an interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bound {
    value: Decimal,
    is_inclusive: bool,
}

/// How numbers are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumberSpelling {
    /// Whether the numbers of a set of integers may have a fraction of zeros, like `1.0`.
    pub has_integer_fractions: bool,
    /// Whether numbers may have exponents.
    pub has_exponents: bool,
}

impl Default for NumberSpelling {
    fn default() -> Self {
        NumberSpelling { has_integer_fractions: false, has_exponents: true }
    }
}

impl Bound {
    fn negated(&self) -> Bound {
        Bound { value: self.value.negated(), is_inclusive: self.is_inclusive }
    }
}

impl NumberSet {
    /// Returns the set of all numbers.
    pub fn all() -> Self {
        NumberSet { lower: None, upper: None, integer: None, divisors: Vec::new() }
    }

    /// Returns the set of no numbers.
    pub fn empty() -> Self {
        NumberSet { lower: Some(exclusive(&Decimal::default())), ..NumberSet::below(&Decimal::default()) }
    }

    /// Returns the set of all integers.
    pub fn integers() -> Self {
        NumberSet { integer: Some(true), ..NumberSet::all() }
    }

    /// Returns the set of all numbers that aren't integers.
    pub fn non_integers() -> Self {
        NumberSet { integer: Some(false), ..NumberSet::all() }
    }

    /// Returns the set of one number.
    pub fn exactly(value: &Decimal) -> Self {
        NumberSet { lower: Some(inclusive(value)), ..NumberSet::at_most(value) }
    }

    /// Returns the set of the numbers from `value` on.
    pub fn at_least(value: &Decimal) -> Self {
        NumberSet { lower: Some(inclusive(value)), ..NumberSet::all() }
    }

    /// Returns the set of the numbers greater than `value`.
    pub fn above(value: &Decimal) -> Self {
        NumberSet { lower: Some(exclusive(value)), ..NumberSet::all() }
    }

    /// Returns the set of the numbers up to `value`.
    pub fn at_most(value: &Decimal) -> Self {
        NumberSet { upper: Some(inclusive(value)), ..NumberSet::all() }
    }

    /// Returns the set of the numbers less than `value`.
    pub fn below(value: &Decimal) -> Self {
        NumberSet { upper: Some(exclusive(value)), ..NumberSet::all() }
    }

    /// Returns the set of the multiples of `divisor`; those of 0 are 0 alone.
    pub fn multiples_of(divisor: &Decimal) -> Self {
        if divisor.is_zero() {
            return NumberSet::exactly(divisor);
        }
        NumberSet { divisors: vec![(divisor.abs(), true)], ..NumberSet::all() }
    }

    /// Returns the set of the numbers that aren't multiples of `divisor`.
    ///
    /// # Panics
    /// If `divisor` is 0: the numbers beside 0 are not one interval.
    pub fn non_multiples_of(divisor: &Decimal) -> Self {
        assert!(!divisor.is_zero(), "the numbers beside 0 are two sets");
        NumberSet { divisors: vec![(divisor.abs(), false)], ..NumberSet::all() }
    }

    /// Returns the numbers in both sets.
    #[must_use]
    pub fn intersect(&self, other: &NumberSet) -> NumberSet {
        let tightest = |a: &Option<Bound>, b: &Option<Bound>, kept: Ordering| match (a, b) {
            (Some(a), Some(b)) => match a.value.cmp(&b.value) {
                Ordering::Equal => {
                    Some(Bound { value: a.value.clone(), is_inclusive: a.is_inclusive && b.is_inclusive })
                }
                order => Some(if order == kept { a.clone() } else { b.clone() }),
            },
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let integer = match (self.integer, other.integer) {
            (Some(a), Some(b)) if a != b => return NumberSet::empty(),
            (a, b) => a.or(b),
        };
        let lower = tightest(&self.lower, &other.lower, Ordering::Greater);
        let upper = tightest(&self.upper, &other.upper, Ordering::Less);
        if let (Some(lower), Some(upper)) = (&lower, &upper) {
            let can_meet = lower.is_inclusive && upper.is_inclusive;
            if lower.value > upper.value || (lower.value == upper.value && !can_meet) {
                return NumberSet::empty();
            }
        }
        // Being a multiple of d follows from being one of a multiple of d; being no multiple of d from being none of a divisor of d.
        let follows = |(d, positive): &(Decimal, bool), (e, same): &(Decimal, bool)| {
            positive == same && d != e && if *positive { e.is_multiple_of(d) } else { d.is_multiple_of(e) }
        };
        // Within either set none follows from another.
        let kept = |of: &[(Decimal, bool)], by: &[(Decimal, bool)]| -> Vec<_> {
            of.iter().filter(|d| !by.iter().any(|e| follows(d, e))).cloned().collect()
        };
        let mut divisors = kept(&self.divisors, &other.divisors);
        divisors.extend(kept(&other.divisors, &self.divisors));
        divisors.sort_unstable();
        divisors.dedup();
        NumberSet { lower, upper, integer, divisors }
    }

    /// Returns the steps of a budget for finding out whether numbers of so many digits are multiples of the divisors, or some of these of such a number.
    pub fn steps_of_divisions(&self, n_digits: usize) -> usize {
        // Long division takes a tenth of a second where both have 4,096 digits.
        let of_divisor = |divisor: &Decimal| {
            let (short, long) = (divisor.n_digits().min(n_digits), divisor.n_digits().max(n_digits));
            1 + (long * (short + 4 * long)) / 16
        };
        self.divisors.iter().map(|(divisor, _)| of_divisor(divisor)).sum()
    }

    /// Returns the number of digits of the longest divisor.
    pub fn longest_divisor(&self) -> usize {
        self.divisors.iter().map(|(divisor, _)| divisor.n_digits()).max().unwrap_or(0)
    }

    /// Returns whether a number is in the set.
    pub fn contains(&self, value: &Decimal) -> bool {
        self.lower.as_ref().is_none_or(|bound| *value > bound.value || (bound.is_inclusive && *value == bound.value))
            && self
                .upper
                .as_ref()
                .is_none_or(|bound| *value < bound.value || (bound.is_inclusive && *value == bound.value))
            && self.integer.is_none_or(|is_integer| value.is_integer() == is_integer)
            && self.divisors.iter().all(|(divisor, is_multiple)| value.is_multiple_of(divisor) == *is_multiple)
    }

    /// Returns the set of one of its numbers, which is written as those of the set are.
    pub fn only(&self, value: &Decimal) -> Self {
        let mut of_kind = NumberSet { lower: None, upper: None, ..self.clone() };
        of_kind.divisors.retain(|(_, is_multiple)| *is_multiple);
        of_kind.intersect(&NumberSet::exactly(value))
    }

    /// Returns the set of the integers from `first` to `last`, all of which are in this set, spelled as this set spells them.
    pub fn integers_between(&self, first: &Decimal, last: &Decimal) -> Self {
        let between = NumberSet::at_least(first).intersect(&NumberSet::at_most(last));
        match self.integer {
            Some(_) => NumberSet { integer: self.integer, ..between },
            None => between.intersect(&NumberSet::multiples_of(&Decimal::from(1u64))),
        }
    }

    /// Returns whether no number at all is in the set.
    ///
    /// # Errors
    /// If neither arithmetic on 128 bits nor the automaton within `limits` decides it.
    pub fn is_empty(&self, limits: &Limits, work: &mut Work<'_>) -> Result<bool, NumberError> {
        empty::is_empty(self, limits, work)
    }

    /// Returns the minimal automaton of the texts of the numbers in the set, as the documentation of the module says.
    ///
    /// # Errors
    /// If it is too large for `limits.dfa_states_max`, or all numbers in the set are beyond what is written.
    pub fn language(
        &self,
        spelling: &NumberSpelling,
        limits: &Limits,
        work: &mut Work<'_>,
    ) -> Result<Arc<Dfa>, NumberError> {
        spell::language(self, spelling, limits, work).map(Arc::new)
    }

    /// Returns the texts of the numbers in the set, as the documentation of the module says: beside a register where divisors would make the
    /// automaton large.
    ///
    /// # Errors
    /// Those of [`Self::language`], if a register is no help.
    pub fn texts(
        &self,
        spelling: &NumberSpelling,
        limits: &Limits,
        work: &mut Work<'_>,
    ) -> Result<NumberTexts, NumberError> {
        let in_register = || register::Multiples::new(self, spelling).map(|all| NumberTexts::Register(all.texts()));
        if self.has_many_remainders()
            && let Some(texts) = in_register()
        {
            return Ok(texts);
        }
        match self.language(spelling, limits, work) {
            Err(NumberError::TooLarge(error)) if !error.is_interrupted() => {
                in_register().ok_or(NumberError::TooLarge(error))
            }
            result => result.map(NumberTexts::Automaton),
        }
    }

    /// Returns the texts of the numbers in the set as items that are compared: an automaton, and automata beside registers. Every prefix of a
    /// text of the latter has infinitely many continuations, each a different number. The automaton may have several texts of a number.
    ///
    /// # Errors
    /// Those of [`Self::language`], if registers are no help.
    pub fn element_texts(
        &self,
        limits: &Limits,
        work: &mut Work<'_>,
    ) -> Result<(Arc<Dfa>, Vec<RegisterTexts>), NumberError> {
        let spelling = NumberSpelling { has_integer_fractions: false, has_exponents: false };
        if self.has_many_remainders() {
            let zero = Decimal::default();
            // Nothing follows `0`.
            let halves = [NumberSet::above(&zero), NumberSet::below(&zero)];
            let halves = halves.map(|half| register::Multiples::new(&self.intersect(&half), &spelling));
            if let [Some(above), Some(below)] = &halves
                && above.has_no_end()
                && below.has_no_end()
            {
                // Zero is a multiple of each divisor, so it may not be there.
                let zero = self.intersect(&NumberSet::exactly(&zero)).language(&spelling, limits, work)?;
                return Ok((zero, [above.texts(), below.texts()].into_iter().flatten().collect()));
            }
        }
        Ok((self.language(&spelling, limits, work)?, Vec::new()))
    }

    /// Returns the number of divisors that constrain the set.
    pub fn n_divisors(&self) -> usize {
        self.divisors.len()
    }

    /// Returns a set with the same texts whose divisors are replaced by their least common multiple, if it is representable: `{4, 6}` becomes
    /// `{12}`.
    pub fn with_one_divisor(&self) -> NumberSet {
        let mut multiples = self.divisors.iter().filter(|(_, is_multiple)| *is_multiple).map(|(divisor, _)| divisor);
        let Some(first) = multiples.next() else { return self.clone() };
        let Ok(all) = multiples.try_fold(first.clone(), |a, b| least_common_multiple(&a, b)) else {
            return self.clone();
        };
        let others = self.divisors.iter().filter(|(_, is_multiple)| !is_multiple).cloned();
        NumberSet { divisors: core::iter::once((all, true)).chain(others).collect(), ..self.clone() }
    }

    /// Takes away the greatest divisor; returns it, and whether the numbers were its multiples.
    pub fn pop_divisor(&mut self) -> Option<(Decimal, bool)> {
        self.divisors.pop()
    }

    /// Returns whether divisors make more states than that for each number of digits, and neither a list of the members nor a register is a help.
    pub fn is_large(&self, spelling: &NumberSpelling, n_states_max: u128) -> bool {
        self.has_more_remainders(n_states_max) && register::Multiples::new(self, spelling).is_none()
    }

    /// Returns whether divisors make the automaton large and the members can't be listed.
    fn has_many_remainders(&self) -> bool {
        self.has_more_remainders(REMAINDERS_MAX)
    }

    fn has_more_remainders(&self, max: u128) -> bool {
        let has_many = || residue::Residues::new(self).is_ok_and(|residues| residues.n_remainders() > max);
        !self.divisors.is_empty() && has_many() && !few::is_list(self)
    }

    /// Returns the positive divisors of which no number in the set is a multiple; 1 for integers.
    fn non_divisors(&self) -> Result<Vec<Decimal>, NumberError> {
        let listed = self.divisors.iter().filter(|(_, is_multiple)| !is_multiple).map(|(divisor, _)| divisor.clone());
        let all: Vec<_> = listed.chain((self.integer == Some(false)).then(|| Decimal::from(1u64))).collect();
        match all.len() {
            0..=NON_DIVISORS_MAX => Ok(all),
            given => Err(NumberError::NonDivisors { given, limit: NON_DIVISORS_MAX }),
        }
    }

    /// Returns the greatest number of which all numbers in the set are multiples, as far as integers and divisors say; `None` if they
    /// don't.
    fn step(&self) -> Result<Option<Decimal>, NumberError> {
        let listed = self.divisors.iter().filter(|(_, is_multiple)| *is_multiple).map(|(divisor, _)| divisor.clone());
        let mut all = (self.integer == Some(true)).then(|| Decimal::from(1u64)).into_iter().chain(listed);
        let Some(first) = all.next() else { return Ok(None) };
        all.try_fold(first, |a, b| least_common_multiple(&a, &b)).map(Some)
    }
}

fn inclusive(value: &Decimal) -> Bound {
    Bound { value: value.clone(), is_inclusive: true }
}

fn exclusive(value: &Decimal) -> Bound {
    Bound { value: value.clone(), is_inclusive: false }
}

fn least_common_multiple(a: &Decimal, b: &Decimal) -> Result<Decimal, NumberError> {
    if a.is_multiple_of(b) {
        return Ok(a.clone());
    }
    if b.is_multiple_of(a) {
        return Ok(b.clone());
    }
    let unit = a.exponent().min(b.exponent());
    let common = || {
        let (x, y) = (a.to_scaled(unit)?, b.to_scaled(unit)?);
        Decimal::from_scaled((x / greatest_common_divisor(x, y)).checked_mul(y)?, unit)
    };
    common().ok_or(NumberError::Divisor { limit_digits: DIVISOR_DIGITS_MAX })
}

/// Returns the greatest common divisor of two positive numbers.
fn greatest_common_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Most digits of the least common multiple of divisors, written as an integer of the smallest unit among them.
const DIVISOR_DIGITS_MAX: u32 = 37;

/// Most remainders, for each number of digits, that become states of an automaton.
const REMAINDERS_MAX: u128 = 1 << 12;

/// Most divisors of which the numbers of a set are no multiples.
const NON_DIVISORS_MAX: usize = 16;

/// The reason why the texts of a set can't be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// The automaton is too large.
    TooLarge(RegularError),
    /// A divisor, or the least common multiple of some, has too many digits.
    Divisor {
        /// Most digits.
        limit_digits: u32,
    },
    /// The numbers are no multiples of too many divisors.
    NonDivisors {
        /// How many.
        given: usize,
        /// Most divisors.
        limit: usize,
    },
    /// All numbers in the set are outside the range of doubles.
    Magnitude,
}

impl From<RegularError> for NumberError {
    fn from(error: RegularError) -> Self {
        NumberError::TooLarge(error)
    }
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumberError::TooLarge(error) => error.fmt(f),
            NumberError::Divisor { limit_digits } => {
                write!(f, "the least common multiple of the divisors has more than {limit_digits} digits")
            }
            NumberError::NonDivisors { given, limit } => {
                write!(f, "multiples of {given} divisors are left out, more than {limit}")
            }
            NumberError::Magnitude => {
                f.write_str("all numbers left are 10^309 or more, or below 10^-400, in size, and are not written")
            }
        }
    }
}

impl std::error::Error for NumberError {}

//! Sets of numbers, and how their members are written.
//!
//! What `minimum`, `maximum`, `multipleOf`, `type: integer`, `const` and their negations say of a number is a
//! [`NumberSet`]: bounds, divisors, non-divisors. [`NumberSet::language`] is the automaton of the JSON texts whose exact
//! decimal value is in it, so that `maximum: 100` refuses the fourth digit, and `multipleOf: 0.01` the third one after
//! the point. Values are decimals of any size, never binary floats.
//!
//! # What is written
//!
//! - *Plain*: `-?(0|[1-9][0-9]*)(\.[0-9]+)?`, with any number of zeros at the end of the fraction; `-0` is zero. All
//!   that is written plainly and is in the set is in the language, but for magnitudes that no double has (below).
//! - *Integers* (those of a set that [has only integers](NumberSet::integers)): without fraction, or with a fraction of
//!   zeros if [`NumberSpelling::has_integer_fractions`].
//! - *With an exponent*, like `1.5e-3` or `2E+08`, if [`NumberSpelling::has_exponents`] and the set says nothing of
//!   integers and divisors (whether `1.25e1` is an integer shows only after the exponent). Where the numbers of a sign are
//!   not bounded at all, the mantissa is anything; else it has one digit before the point, not zero unless the number is,
//!   so that the exponent alone orders numbers and the mantissa decides among equals. The exponent has one or two
//!   digits. If a bound lies beyond them, it may have three, from -308 to 307; to 308 where the bound stays
//!   within the doubles.
//!
//! # Divisors with many digits
//!
//! A set of multiples of 123456789, or of numbers that aren't, has too many rests for an automaton. Its texts are the same as ever: plain,
//! without exponents, with any zeros at the end. But they are an automaton that goes with a register ([`NumberSet::texts`]), as long as
//! one register is enough:
//!
//! | set | what must hold |
//! |---|---|
//! | all | divisors, and bounds in units of a divisor's last digit, are in reach of 64 bits and 37 digits |
//! | multiples of several numbers | the least common multiple fits, too |
//! | no multiples of a number | of one only, and of no other; with fractions no bounds |
//! | elements that are compared | integers without an end in either direction |
//!
//! All else is refused if the automaton is larger than the limits allow.
//!
//! # What parsers make of it
//!
//! Values are exact. A parser that rounds to doubles may move a number with more digits than doubles have onto a bound:
//! `0.99999999999999999999` is below 1 here, and 1 there.
//!
//! Parsers that work with doubles refuse `1e400`, and refuse 400 digits in a row. No text here has an exponent alone that
//! overflows. Digits are not counted where nothing bounds them: a state for each of 309 digits would be paid for by every
//! schema with a number in it (a state is a mask), while a loop has 10 states, and runs of 200 digits don't happen
//! unless forced. A bound beyond the doubles is cut to 10^309, a distance from zero below 10^-400 to that; if nothing is left then the set is
//! [too large](NumberError::TooLarge).
//!
//! # How
//!
//! | file | idea |
//! |---|---|
//! | `side` | the bounds of one sign; comparing digit by digit |
//! | `residue` | divisors digit by digit |
//! | `exponent` | the exponents in a range |
//! | `spell` | the automaton: all of the above at once |
//! | `few` | where bounds leave few multiples: a list instead of residues |
//! | `register` | divisors with many digits: an automaton beside a register that holds the rest |
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
/// Kept in a normal form: of what several constraints say only the strongest stays, and a set whose bounds cross is
/// [`NumberSet::empty`]. Equal sets can still differ in form, and how integers are written depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumberSet {
    lower: Option<Bound>,
    upper: Option<Bound>,
    /// `Some(true)`: only integers. `Some(false)`: no integers.
    integer: Option<bool>,
    /// `(d, true)`: only multiples of d. `(d, false)`: no multiples of d. Ascending; all are greater than 0; none follows from the others of
    /// its kind.
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
        if self.has_many_rests()
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

    /// Returns the texts of the numbers in the set, as elements: an automaton, and others beside registers. The texts of those have no end:
    /// whatever the beginning of one is, it goes on in infinitely many ways, of which each is another number. Of a number that the automaton
    /// has there may be several texts.
    ///
    /// # Errors
    /// Those of [`Self::language`], if registers are no help.
    pub fn element_texts(
        &self,
        limits: &Limits,
        work: &mut Work<'_>,
    ) -> Result<(Arc<Dfa>, Vec<RegisterTexts>), NumberError> {
        let spelling = NumberSpelling { has_integer_fractions: false, has_exponents: false };
        if self.has_many_rests() {
            let zero = Decimal::default();
            // Nothing follows `0`.
            let halves = [NumberSet::above(&zero), NumberSet::below(&zero)];
            let halves = halves.map(|half| register::Multiples::new(&self.intersect(&half), &spelling));
            if let [Some(above), Some(below)] = &halves
                && above.has_no_end()
                && below.has_no_end()
            {
                let zero = self.only(&zero).language(&spelling, limits, work)?;
                return Ok((zero, [above.texts(), below.texts()].into_iter().flatten().collect()));
            }
        }
        Ok((self.language(&spelling, limits, work)?, Vec::new()))
    }

    /// Returns the number of divisors that the set says something about.
    pub fn n_divisors(&self) -> usize {
        self.divisors.len()
    }

    /// Returns a set with the same texts in which the multiples of several divisors are those of one, where that can be said: `{4, 6}` and
    /// `{12}` then are the same.
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

    /// Returns whether divisors make an automaton large, and bounds no list of it.
    fn has_many_rests(&self) -> bool {
        let has_many = || residue::Residues::new(self).is_ok_and(|residues| residues.n_rests() > RESTS_MAX);
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

/// Most rests, for each number of digits, that are worth states of an automaton.
const RESTS_MAX: u128 = 1 << 12;

/// Most divisors of which the numbers of a set are no multiples.
const NON_DIVISORS_MAX: usize = 16;

/// Why nothing is said about a set of numbers.
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
    /// All numbers in the set are so large, or so near to zero, that they are not written.
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

//! Divisors with many digits: the residue in a register.
//!
//! As a finite automaton the multiples of 123456789 have a state for each residue. Here a state is a position in the number, the comparison
//! of the digits so far with the bounds, and the last digit; a [`Residue`] of each state says how the register changes.
//! For the divisor `d = P / 10^q` everything is in units of `10^-q`: the numbers of one sign are the integers from `low` to `high` that are
//! multiples of `P`, written with `q` digits after the point, of which trailing zeros may be omitted. The numbers that continue a prefix by
//! `n` more digits (after the point up to `q` in all, before the point any number and then `q`) are a range of `10^n`, of which the bounds
//! cut off a part only if the prefix is one of a bound. Those ranges are the state's [`DigitRange`]s.
//!
//! `12` is below `9` as a string and above it as a number; so before the point the digits are counted, and compared with a bound when there
//! are as many as it has.
//!
//! Numbers that must *not* be multiples are handled in the same way if they are integers. A number with an arbitrary fraction can always be
//! turned into a non-multiple by another digit, so it needs no ranges and no bounds.

use super::side::{Edge, Side};
use super::{NumberSet, NumberSpelling};
use crate::json_schema::decimal::Decimal;
use crate::machine::{Continuations, DigitRange, EndCondition, RegisterRule, Residue};
use core::cmp::Ordering;
use hashbrown::HashMap;
use std::sync::Arc;

/// Most digits of a bound in units of a divisor: what 128 bits hold.
const DIGITS_MAX: u32 = 37;

/// An automaton with a register. State 0 is the start, without incoming edges.
#[derive(Debug)]
pub(crate) struct RegisterTexts {
    /// By state: its edges, as bytes and targets.
    pub edges: Vec<Vec<(u8, u32)>>,
    /// By state: its register rule, if any. Only states with a rule can accept.
    pub register_rules: Vec<Option<RegisterRule>>,
}

/// The multiples of a number, or the non-multiples, between bounds.
#[derive(Debug)]
pub(super) struct Multiples {
    /// P.
    modulus: u64,
    /// q.
    n_fraction: u32,
    is_multiple: bool,
    fractions: Fractions,
    /// The numbers without minus, and those with one; `None` where there are none.
    sides: [Option<Magnitudes>; 2],
}

/// The digits that may follow a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fractions {
    /// There is no point.
    None,
    Zeros,
    /// Any digits that divisors allow.
    All,
}

/// Inclusive bounds of the magnitudes of one sign.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Magnitudes {
    low: Limit,
    high: Option<Limit>,
}

/// A bound, and the number of its digits before the point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Limit {
    value: u128,
    n_whole: u32,
}

/// How digits compare with as many of the bounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Order {
    low: Ordering,
    /// `Less` where there is no bound.
    high: Ordering,
}

/// How digits before the point compare with as many first digits of the bounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Tie {
    /// Digits before the point, counted as far as it matters; 0 for `0`.
    n: u32,
    order: Order,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Position {
    Start,
    Minus,
    Whole {
        side: u8,
        tie: Tie,
        digit: u8,
    },
    Point {
        side: u8,
        order: Order,
    },
    /// After `n` digits behind the point, at most q.
    Fraction {
        side: u8,
        order: Order,
        n: u32,
        digit: u8,
    },
    /// After zeros that change nothing.
    Zeros,
    /// After digits that make the number no multiple.
    Free,
}

/// Numbers that digits to come can make: how many digits, and from where to where.
type Range = (u32, u128, u128);

impl Multiples {
    /// Returns the multiples of a set, if a single register is enough.
    pub fn new(set: &NumberSet, spelling: &NumberSpelling) -> Option<Multiples> {
        let (divisor, is_multiple) = only_divisor(set)?;
        let is_integer = match set.integer {
            Some(false) => return None,
            integer => integer.is_some(),
        };
        let mut n_fraction = u32::try_from((-divisor.exponent()).max(0)).ok().filter(|&n| n <= DIGITS_MAX)?;
        let mut modulus = u64::try_from(divisor.to_scaled(-i64::from(n_fraction))?).ok()?;
        if is_integer {
            // n·10^q is a multiple of P if n is one of P / gcd(P, 10^q).
            let common = greatest_common_divisor(u128::from(modulus), 10_u128.pow(n_fraction));
            modulus = (u128::from(modulus) / common) as u64;
            n_fraction = 0;
        }
        if modulus < 2 {
            return None;
        }
        let fractions = match set.integer {
            Some(_) if spelling.has_integer_fractions => Fractions::Zeros,
            Some(_) => Fractions::None,
            None => Fractions::All,
        };
        let mut all = Multiples { modulus, n_fraction, is_multiple, fractions, sides: [None, None] };
        for (idx, is_negative) in [false, true].into_iter().enumerate() {
            let Some(side) = Side::new(set, is_negative) else { continue };
            all.sides[idx] = all.magnitudes(&side)?.filter(|magnitudes| all.has_any(magnitudes));
        }
        Some(all)
    }

    /// Returns the bounds of a side in units: `Some(None)` if they are contradictory, `None` if they have too many digits.
    fn magnitudes(&self, side: &Side) -> Option<Option<Magnitudes>> {
        if side.is_cut {
            return None;
        }
        if self.is_endless() {
            // Zero is a multiple of every number.
            return match (&side.low, &side.high) {
                (_, Some(high)) if high.value.is_zero() => Some(None),
                (Some(low), None) if !low.value.is_zero() => None,
                (_, Some(_)) => None,
                (_, None) => Some(Some(Magnitudes { low: self.limit(0), high: None })),
            };
        }
        let low = match &side.low {
            None => 0,
            Some(edge) => {
                let (floor, is_exact) = self.scaled(edge)?;
                floor + u128::from(!is_exact || !edge.is_inclusive)
            }
        };
        let high = match &side.high {
            None => None,
            Some(edge) => match self.scaled(edge)? {
                (0, true) if !edge.is_inclusive => return Some(None),
                (floor, is_exact) => Some(floor - u128::from(is_exact && !edge.is_inclusive)),
            },
        };
        if high.is_some_and(|high| high < low) {
            return Some(None);
        }
        Some(Some(Magnitudes { low: self.limit(low), high: high.map(|high| self.limit(high)) }))
    }

    /// Returns a bound in units, rounded down, and whether it is exact.
    fn scaled(&self, edge: &Edge) -> Option<(u128, bool)> {
        let n_fraction = i64::from(self.n_fraction);
        let unit = edge.value.exponent().min(-n_fraction);
        let value = u128::try_from(edge.value.to_scaled(unit)?).ok()?;
        let rest = 10_u128.checked_pow(u32::try_from(-n_fraction - unit).ok()?)?;
        let floor = value / rest;
        (floor < 10_u128.pow(DIGITS_MAX)).then_some((floor, value.is_multiple_of(rest)))
    }

    fn limit(&self, value: u128) -> Limit {
        let whole = value / 10_u128.pow(self.n_fraction);
        Limit { value, n_whole: whole.checked_ilog10().map_or(0, |log| log + 1) }
    }

    /// Returns whether another digit can always turn a number into an accepted one.
    fn is_endless(&self) -> bool {
        !self.is_multiple && self.fractions == Fractions::All
    }

    /// Returns whether any number between bounds is accepted.
    fn has_any(&self, magnitudes: &Magnitudes) -> bool {
        let Some(high) = &magnitudes.high else { return true };
        let (low, high, modulus) = (magnitudes.low.value, high.value, u128::from(self.modulus));
        match self.is_multiple {
            true => high / modulus * modulus >= low,
            false => high > low || !low.is_multiple_of(modulus),
        }
    }

    /// Returns whether each prefix except `0` has infinitely many completions with different values.
    pub fn has_no_end(&self) -> bool {
        self.fractions == Fractions::None && self.sides.iter().flatten().all(|side| side.high.is_none())
    }

    /// Returns the automaton of the plain spellings; `None` if there are none.
    pub fn texts(&self) -> Option<RegisterTexts> {
        if self.sides.iter().all(Option::is_none) {
            return None;
        }
        let mut numbers: HashMap<Position, u32> = HashMap::from([(Position::Start, 0)]);
        let mut order = vec![Position::Start];
        let mut texts = RegisterTexts { edges: Vec::new(), register_rules: vec![None] };
        let mut reached = Vec::new();
        // A position has one of 10 digits, a count up to the number of digits of the bounds, and a few orders.
        while let Some(&position) = order.get(texts.edges.len()) {
            self.step(position, &mut reached);
            let mut edges = Vec::with_capacity(reached.len());
            for (byte, target) in reached.drain(..) {
                let known = numbers.get(&target).copied();
                let number = match known {
                    Some(number) => number,
                    None => {
                        let Some(register_rule) = self.register_rule(target) else { continue };
                        let number = order.len() as u32;
                        numbers.insert(target, number);
                        order.push(target);
                        texts.register_rules.push(register_rule);
                        number
                    }
                };
                edges.push((byte, number));
            }
            texts.edges.push(edges);
        }
        Some(texts)
    }

    fn side(&self, side: u8) -> Option<&Magnitudes> {
        self.sides[usize::from(side)].as_ref()
    }

    /// Returns the side of negative numbers: that of the positive ones if both are equal.
    fn side_of_minus(&self) -> u8 {
        u8::from(self.sides[0] != self.sides[1])
    }

    /// Adds the bytes that may follow a position, with their targets.
    fn step(&self, position: Position, reached: &mut Vec<(u8, Position)>) {
        match position {
            Position::Start => {
                if self.sides[1].is_some() {
                    reached.push((b'-', Position::Minus));
                }
                self.first_digits(0, reached);
            }
            Position::Minus => self.first_digits(self.side_of_minus(), reached),
            Position::Whole { side, tie, .. } => {
                if self.fractions != Fractions::None
                    && let Some(order) = self.whole_order(side, tie, 0)
                {
                    reached.push((b'.', Position::Point { side, order }));
                }
                if tie.n > 0 {
                    self.whole_digits(side, tie, 0, reached);
                }
            }
            Position::Point { side, order } => self.fraction_digits(side, order, 0, reached),
            Position::Fraction { side, order, n, .. } => self.fraction_digits(side, order, n, reached),
            Position::Zeros => self.last_digits(reached),
            Position::Free => reached.extend((b'0'..=b'9').map(|byte| (byte, Position::Free))),
        }
    }

    fn first_digits(&self, side: u8, reached: &mut Vec<(u8, Position)>) {
        let tie = Tie { n: 0, order: Order { low: Ordering::Equal, high: Ordering::Equal } };
        if self.side(side).is_some() {
            reached.push((b'0', Position::Whole { side, tie, digit: 0 }));
            self.whole_digits(side, tie, 1, reached);
        }
    }

    /// Adds the digits, from `least` on, that may follow others before the point.
    fn whole_digits(&self, side: u8, tie: Tie, least: u8, reached: &mut Vec<(u8, Position)>) {
        let Some(Magnitudes { low, high }) = self.side(side) else { return };
        let compare = |limit: &Limit, order: Ordering, digit: u8| match limit.n_whole.checked_sub(tie.n + 1) {
            None => Ordering::Greater,
            Some(n_behind) => order.then(digit.cmp(&self.digit(limit, n_behind + self.n_fraction))),
        };
        for digit in least..=9 {
            let n = tie.n + 1;
            let (n, above) = match high {
                // All numbers of digits above that of the low bound are equivalent.
                None => (n.min(low.n_whole + 1), Ordering::Less),
                Some(high) => (n, compare(high, tie.order.high, digit)),
            };
            let order = Order { low: compare(low, tie.order.low, digit), high: above };
            let tie = Tie { n, order };
            reached.push((b'0' + digit, Position::Whole { side, tie, digit }));
        }
    }

    /// Adds the digits that may follow `n` others after the point.
    fn fraction_digits(&self, side: u8, order: Order, n: u32, reached: &mut Vec<(u8, Position)>) {
        let Some(n_left) = self.n_fraction.checked_sub(n + 1) else { return self.last_digits(reached) };
        let Some(Magnitudes { low, high }) = self.side(side) else { return };
        for digit in 0..=9 {
            let compare = |limit: &Limit, order: Ordering| order.then(digit.cmp(&self.digit(limit, n_left)));
            let order = Order {
                low: compare(low, order.low),
                high: high.as_ref().map_or(Ordering::Less, |high| compare(high, order.high)),
            };
            reached.push((b'0' + digit, Position::Fraction { side, order, n: n + 1, digit }));
        }
    }

    /// Adds the digits after the significant ones.
    fn last_digits(&self, reached: &mut Vec<(u8, Position)>) {
        reached.push((b'0', Position::Zeros));
        if self.is_endless() {
            reached.extend((b'1'..=b'9').map(|byte| (byte, Position::Free)));
        }
    }

    /// Returns the digit of a bound that `n_behind` others follow.
    fn digit(&self, limit: &Limit, n_behind: u32) -> u8 {
        (limit.value / 10_u128.pow(n_behind) % 10) as u8
    }

    /// Returns the register rule of a position, if it has one; `None` if the position is a dead end.
    fn register_rule(&self, position: Position) -> Option<Option<RegisterRule>> {
        let unread = |end, more| (None, end, more);
        let (digit, end, more) = match position {
            Position::Start | Position::Minus => return Some(None),
            Position::Whole { side, tie, digit } => {
                let (end, more) = self.whole_continuations(side, tie);
                (Some(digit), end, more)
            }
            Position::Point { side, order } => {
                unread(EndCondition::Never, self.continuations(self.range(side, order, self.n_fraction)))
            }
            Position::Fraction { side, order, n, digit } => {
                let range = self.range(side, order, self.n_fraction - n);
                (Some(digit), self.end_of(range), self.continuations(range))
            }
            Position::Zeros => unread(EndCondition::Scaled(1), self.continuations([(0, 0, 0)])),
            Position::Free => unread(EndCondition::Always, Continuations::Any),
        };
        let is_stuck = end == EndCondition::Never
            && matches!(&more, Continuations::AnyOf(continuations) if continuations.is_empty());
        let residue = Residue { modulus: self.modulus, is_multiple: self.is_multiple, digit, end, continuations: more };
        (!is_stuck).then(|| Some(RegisterRule::Residue(Arc::new(residue))))
    }

    /// Returns how a number may end before the point, and how it may continue: with a point or with more digits before it.
    fn whole_continuations(&self, side: u8, tie: Tie) -> (EndCondition, Continuations) {
        let here = self.whole_order(side, tie, 0).and_then(|order| self.range(side, order, self.n_fraction));
        let end = self.end_of(here);
        let n_more_max = match self.side(side).and_then(|side| side.high) {
            _ if tie.n == 0 => 0,
            // Without an upper bound more digits are always allowed.
            None => return (end, Continuations::Any),
            Some(high) => high.n_whole.saturating_sub(tie.n),
        };
        let longer = (1..=n_more_max).filter_map(|n| {
            let order = self.whole_order(side, tie, n)?;
            self.range(side, order, self.n_fraction + n)
        });
        let behind_point = match self.fractions {
            Fractions::None => None,
            Fractions::Zeros | Fractions::All => here,
        };
        (end, self.continuations(behind_point.into_iter().chain(longer)))
    }

    /// Returns how numbers with `n` more digits before the point compare with the bounds; `None` if they are out of bounds.
    fn whole_order(&self, side: u8, tie: Tie, n: u32) -> Option<Order> {
        let Magnitudes { low, high } = self.side(side)?;
        let compare = |limit: &Limit, order: Ordering| (tie.n + n).cmp(&limit.n_whole).then(order);
        let order = Order {
            low: compare(low, tie.order.low),
            high: high.as_ref().map_or(Ordering::Less, |high| compare(high, tie.order.high)),
        };
        (order.low != Ordering::Less && order.high != Ordering::Greater).then_some(order)
    }

    /// Returns the range of the values of `n` further digits after a prefix with this comparison.
    fn range(&self, side: u8, order: Order, n: u32) -> Option<Range> {
        let Magnitudes { low, high } = self.side(side)?;
        let size = 10_u128.pow(n);
        let first = match order.low {
            Ordering::Less => return None,
            Ordering::Equal => low.value % size,
            Ordering::Greater => 0,
        };
        let last = match (order.high, high) {
            (Ordering::Greater, _) => return None,
            (Ordering::Equal, Some(high)) => high.value % size,
            _ => size - 1,
        };
        (first <= last).then_some((n, first, last))
    }

    /// Returns the condition under which a number may end, if only zeros are omitted.
    fn end_of(&self, range: Option<Range>) -> EndCondition {
        match range {
            Some((n, 0, _)) => EndCondition::Scaled(self.power(n)),
            _ => EndCondition::Never,
        }
    }

    fn continuations(&self, ranges: impl IntoIterator<Item = Range>) -> Continuations {
        if self.is_endless() {
            return Continuations::Any;
        }
        let n_enough = if self.is_multiple { u128::from(self.modulus) } else { 2 };
        let mut continuations = Vec::new();
        for (n_digits, first, last) in ranges {
            if last - first >= n_enough - 1 {
                return Continuations::Any;
            }
            let n = (last - first + 1) as u64;
            continuations.push(DigitRange {
                scale: self.power(n_digits),
                first: (first % u128::from(self.modulus)) as u64,
                n,
            });
        }
        Continuations::AnyOf(continuations.into())
    }

    /// Returns a power of ten modulo P.
    fn power(&self, n: u32) -> u64 {
        (10_u128.pow(n) % u128::from(self.modulus)) as u64
    }
}

/// Returns the only divisor of a set, and whether its numbers must be multiples of it or must not.
fn only_divisor(set: &NumberSet) -> Option<(Decimal, bool)> {
    // Multiples of 1 are handled by the spelling of integers.
    let one = Decimal::from(1u64);
    let step = set.step().ok()?.filter(|step| set.integer != Some(true) || *step != one);
    match (step, &*set.non_divisors().ok()?) {
        (Some(step), []) => Some((step, true)),
        (None, [divisor]) => Some((divisor.clone(), false)),
        _ => None,
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

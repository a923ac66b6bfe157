//! The numbers of one sign, by magnitude: comparing with bounds digit by digit.
//!
//! The digits before the point are compared with the first digits of a bound while they are read, but their number is known only
//! at the point: `12` is below `9` as a string and above it as a number. So the state before the point is
//! the number of digits read, counted up to one more than the bound has, and the order of the strings. After the point
//! the order is final once it is not `Equal`.

use super::{Bound, NumberSet};
use crate::json_schema::decimal::Decimal;
use core::cmp::Ordering;

/// Largest power of ten to which bounds are clamped.
const HEIGHT_MAX: i64 = 309;
/// Most zeros after the point of a bound.
const ZEROS_MAX: i64 = 400;

/// The magnitudes of the numbers of one sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// `None`: from 0 on.
    pub low: Option<Edge>,
    pub high: Option<Edge>,
    /// Whether a bound was clamped, so that some numbers are excluded.
    pub is_cut: bool,
}

/// A bound of magnitudes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub value: Decimal,
    pub is_inclusive: bool,
}

/// The comparison of the digits so far with the low and the high bound; `Greater` and `Less` where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tie {
    pub low: Ordering,
    pub high: Ordering,
}

impl Edge {
    fn new(bound: &Bound) -> Edge {
        Edge { value: bound.value.abs(), is_inclusive: bound.is_inclusive }
    }

    /// Returns the number of digits before the point; 0 for a number below 1.
    pub fn n_whole(&self) -> i64 {
        if self.value.is_zero() { 0 } else { self.value.height().max(0) }
    }

    /// Returns the number of digits after the point.
    pub fn n_fraction(&self) -> i64 {
        (-self.value.exponent()).max(0)
    }

    /// Returns the digit at a position; zeros precede and follow the significant ones.
    pub fn digit(&self, place: i64) -> u8 {
        usize::try_from(place).ok().and_then(|place| self.value.digits().get(place).copied()).unwrap_or(0)
    }
}

impl Side {
    /// Returns the magnitudes of the numbers of a set that have a sign; `None` if there are none. Zero has both signs.
    pub fn new(set: &NumberSet, is_negative: bool) -> Option<Side> {
        let (lower, upper) = (set.lower.as_ref(), set.upper.as_ref());
        let (lower, upper) = if is_negative {
            (upper.map(Bound::negated), lower.map(Bound::negated))
        } else {
            (lower.cloned(), upper.cloned())
        };
        if upper
            .as_ref()
            .is_some_and(|bound| bound.value.is_negative() || (bound.value.is_zero() && !bound.is_inclusive))
        {
            return None;
        }
        let says_something =
            |bound: &&Bound| !bound.value.is_negative() && (!bound.value.is_zero() || !bound.is_inclusive);
        let low = lower.as_ref().filter(says_something).map(Edge::new);
        let mut side = Side { low, high: upper.as_ref().map(Edge::new), is_cut: false };
        side.cut();
        Some(side)
    }

    /// Excludes magnitudes with very many digits.
    fn cut(&mut self) {
        let power = |exponent| Decimal::from_scaled(1, exponent).expect("a small exponent");
        let (largest, smallest) = (power(HEIGHT_MAX), power(-ZEROS_MAX));
        if let Some(high) = &mut self.high
            && high.value >= largest
        {
            *high = Edge { value: largest.clone(), is_inclusive: false };
            self.is_cut = true;
        }
        if let Some(low) = &mut self.low
            && low.value >= largest
        {
            *low = Edge { value: largest, is_inclusive: false };
            self.high = Some(Edge { value: Decimal::default(), is_inclusive: false });
            self.is_cut = true;
        }
        if let Some(high) = &mut self.high
            && !high.value.is_zero()
            && high.value < smallest
        {
            *high = Edge { value: Decimal::default(), is_inclusive: true };
            self.is_cut = true;
        }
        if let Some(low) = &mut self.low
            && !low.value.is_zero()
            && low.value < smallest
        {
            *low = Edge { value: smallest, is_inclusive: true };
            self.is_cut = true;
        }
    }

    /// Returns whether the magnitudes are unbounded.
    pub fn is_free(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    pub fn has_zero(&self) -> bool {
        self.low.is_none() && self.high.as_ref().is_none_or(|high| !high.value.is_zero() || high.is_inclusive)
    }

    /// Returns the comparison before the first digit.
    pub fn start(&self) -> Tie {
        Tie {
            low: if self.low.is_some() { Ordering::Equal } else { Ordering::Greater },
            high: if self.high.is_some() { Ordering::Equal } else { Ordering::Less },
        }
    }

    /// Returns the largest number of digits before the point that is counted.
    pub fn n_whole_max(&self) -> i64 {
        let edges = self.low.iter().chain(&self.high);
        edges.map(Edge::n_whole).max().map_or(1, |n| n + 1).max(2)
    }

    /// Returns how `n + 1` digits before the point compare, after `n` with `tie`; `None` if every continuation is above the high bound.
    pub fn whole(&self, n: i64, tie: Tie, digit: u8) -> Option<Tie> {
        let compare = |edge: &Edge, before: Ordering| match before {
            _ if n >= edge.n_whole() => Ordering::Greater,
            Ordering::Equal => digit.cmp(&edge.digit(n)),
            order => order,
        };
        let low = self.low.as_ref().map_or(tie.low, |low| compare(low, tie.low));
        let high = self.high.as_ref().map_or(tie.high, |high| compare(high, tie.high));
        let is_last = self.high.as_ref().is_some_and(|edge| n + 1 >= edge.n_whole());
        (high != Ordering::Greater || !is_last).then_some(Tie { low, high })
    }

    /// Returns how a number compares when its `n` digits before the point are complete; `None` if it is outside.
    pub fn whole_end(&self, n: i64, tie: Tie) -> Option<Tie> {
        let settle = |edge: &Edge, order: Ordering| n.cmp(&edge.n_whole()).then(order);
        let low = self.low.as_ref().map_or(tie.low, |low| settle(low, tie.low));
        let high = self.high.as_ref().map_or(tie.high, |high| settle(high, tie.high));
        Tie { low, high }.if_inside()
    }

    /// Returns how `n + 1` digits after the point compare, after `n` with `tie`; `None` if the number is outside.
    pub fn fraction(&self, n: i64, tie: Tie, digit: u8) -> Option<Tie> {
        self.compare(|edge| edge.value.height() + n, tie, digit).if_inside()
    }

    /// Returns whether a number may end after `n` digits after the point, none of them dropped zeros.
    pub fn is_end(&self, n: i64, tie: Tie) -> bool {
        let can_equal = |edge: &Edge| n >= edge.n_fraction() && edge.is_inclusive;
        let is_low = match tie.low {
            Ordering::Equal => self.low.as_ref().is_none_or(can_equal),
            order => order == Ordering::Greater,
        };
        let is_high = match tie.high {
            Ordering::Equal => self.high.as_ref().is_none_or(|edge| n < edge.n_fraction() || edge.is_inclusive),
            order => order == Ordering::Less,
        };
        is_low && is_high
    }

    /// Returns the number of digits after the point from which on only zeros and other digits differ.
    pub fn n_fraction_max(&self, tie: Tie) -> i64 {
        self.longest(tie, Edge::n_fraction)
    }

    /// Returns how the first digit of a mantissa, not 0, compares; `None` if the number is out of bounds with every exponent.
    pub fn mantissa_start(&self, digit: u8) -> Option<Tie> {
        if self.high.as_ref().is_some_and(|high| high.value.is_zero()) {
            return None;
        }
        Some(self.compare(|_| 0, self.start(), digit))
    }

    /// Returns how `n + 1` digits of a mantissa compare, after `n` with `tie`.
    pub fn mantissa(&self, n: i64, tie: Tie, digit: u8) -> Tie {
        self.compare(|_| n, tie, digit)
    }

    /// Returns the number of digits of a mantissa from which on only zeros and other digits differ.
    pub fn n_mantissa_max(&self, tie: Tie) -> i64 {
        self.longest(tie, |edge| edge.value.digits().len() as i64)
    }

    /// Returns the exponents, least and greatest, with which a mantissa of `n` digits is inside.
    pub fn exponents(&self, n: i64, tie: Tie) -> (i64, i64) {
        let reach = self.exponent_reach();
        let is_complete = |edge: &Edge| n >= edge.value.digits().len() as i64;
        let least = self.low.as_ref().filter(|edge| !edge.value.is_zero()).map_or(reach.0, |edge| {
            let is_inside = match tie.low {
                Ordering::Equal => is_complete(edge) && edge.is_inclusive,
                order => order == Ordering::Greater,
            };
            edge.value.height() - i64::from(is_inside)
        });
        let greatest = self.high.as_ref().map_or(reach.1, |edge| {
            let is_inside = match tie.high {
                Ordering::Equal => !is_complete(edge) || edge.is_inclusive,
                order => order == Ordering::Less,
            };
            edge.value.height() - 2 + i64::from(is_inside)
        });
        (least.max(reach.0), greatest.min(reach.1))
    }

    /// Returns the exponents that are written, least and greatest.
    pub fn exponent_reach(&self) -> (i64, i64) {
        let is_far = |edge: &Edge| !edge.value.is_zero() && (edge.value.height() - 1).abs() > 99;
        if !self.low.iter().chain(&self.high).any(is_far) {
            return (-99, 99);
        }
        let double_max = Decimal::from_scaled(17976931348623157, 292).expect("a small exponent");
        (-308, 307 + i64::from(self.high.as_ref().is_some_and(|high| high.value <= double_max)))
    }

    fn compare(&self, place: impl Fn(&Edge) -> i64, tie: Tie, digit: u8) -> Tie {
        let next = |edge: &Option<Edge>, order: Ordering| match edge {
            Some(edge) => order.then_with(|| digit.cmp(&edge.digit(place(edge)))),
            None => order,
        };
        Tie { low: next(&self.low, tie.low), high: next(&self.high, tie.high) }
    }

    fn longest(&self, tie: Tie, n_digits: impl Fn(&Edge) -> i64) -> i64 {
        let ties = [(&self.low, tie.low), (&self.high, tie.high)];
        let tied = ties.into_iter().filter(|(_, order)| *order == Ordering::Equal);
        tied.filter_map(|(edge, _)| edge.as_ref()).map(n_digits).max().unwrap_or(0)
    }
}

impl Tie {
    /// Returns the comparison, or `None` if it is out of bounds.
    fn if_inside(self) -> Option<Tie> {
        (self.low != Ordering::Less && self.high != Ordering::Greater).then_some(self)
    }
}

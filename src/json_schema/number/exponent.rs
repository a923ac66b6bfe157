//! The exponents in a range, digit by digit.
//!
//! The state is a list of ranges: for each number `r` of digits that may follow, the values below 10^r that they may have. So states with
//! equal futures are equal.

use smallvec::SmallVec;

/// By number of digits that may follow: the least and the greatest value of these digits, the least above the greatest if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Exponent {
    ranges: SmallVec<[(i16, i16); 4]>,
}

const NONE: (i16, i16) = (1, 0);

impl Exponent {
    /// Returns the state before the first digit: with up to `n_digits` digits, the numbers from `least` to `greatest`. `None` if there are
    /// none.
    pub fn new(least: i64, greatest: i64, n_digits: u32) -> Option<Exponent> {
        let range = |n: u32| {
            let greatest = greatest.min(10_i64.pow(n) - 1);
            let least = least.max(0);
            if n == 0 || least > greatest { NONE } else { (least as i16, greatest as i16) }
        };
        Exponent { ranges: (0..=n_digits).map(range).collect() }.if_viable()
    }

    /// Returns what may follow a digit.
    pub fn next(&self, digit: u8) -> Option<Exponent> {
        let mut power = 1;
        let ranges = self.ranges[1..].iter().map(|&(least, greatest)| {
            let base = i16::from(digit) * power;
            let after = (least.max(base) - base, greatest.min(base + (power - 1)) - base);
            power = power.saturating_mul(10);
            if after.0 > after.1 { NONE } else { after }
        });
        Exponent { ranges: ranges.collect() }.if_viable()
    }

    /// Returns whether the exponent may end here.
    pub fn is_end(&self) -> bool {
        self.ranges[0] == (0, 0)
    }

    fn if_viable(self) -> Option<Exponent> {
        self.ranges.iter().any(|&range| range != NONE).then_some(self)
    }
}

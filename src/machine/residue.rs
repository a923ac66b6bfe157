//! Residues: the decimal texts of the multiples of a number with many digits.
//!
//! As a finite automaton the multiples of 123456789 need a state for each residue. With the residue in a register, the automaton needs a
//! state for each digit: entering the state of digit `d` turns the residue `r` into `10·r + d` modulo `m`.
//!
//! *No dead ends.* A text may be continued by `n` digits, for some numbers `n`, and the values `z` that these digits can have form a range:
//! all of 0 to 999 for three digits after the point, 0 to 499 where a bound says so. After `n` digits the residue is `r·10^n + z`, so the
//! text can become a multiple if some `z` of the range is `-r·10^n` modulo `m`, which is arithmetic on the least `z` and the size of the
//! range. A state has one such [`DigitRange`] for each `n`. A range of `m` values or more has a suitable `z` for every `r`: its
//! state allows any residue.
//!
//! Numbers that must *not* be multiples use the same ranges: of two neighbours at most one is a multiple.
//!
//! In general a few further digits tell any two residues apart, so a residue is its own signature.

use super::Register;

/// What a state requires of the residue of a number, and how entering the state changes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Residue {
    /// The modulus, at least 2.
    pub modulus: u64,
    /// Whether the number must be a multiple of the modulus, or must not.
    pub is_multiple: bool,
    /// The digit read on entering the state, if any.
    pub digit: Option<u8>,
    /// Whether the text may end here.
    pub end: EndCondition,
    /// Whether the text may continue from here.
    pub continuations: Continuations,
}

/// With which residues a text may end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndCondition {
    /// With none.
    Never,
    /// If the residue times this is 0; where multiples are excluded, if it isn't.
    Scaled(u64),
    /// With any.
    Always,
}

/// With which residues a text may continue.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Continuations {
    /// With any.
    Any,
    /// With those that the digits of one of these ranges turn into an accepted number.
    AnyOf(Box<[DigitRange]>),
}

/// The values of the digits that may follow, for one number of digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DigitRange {
    /// 10 to the number of digits, modulo the modulus.
    pub scale: u64,
    /// The least value of the digits, modulo the modulus.
    pub first: u64,
    /// How many values there are, all consecutive; less than the modulus.
    pub n: u64,
}

impl Residue {
    /// Returns the residue after entering the state, or `None` if no continuation can satisfy the rule.
    #[inline]
    pub fn advance(&self, register: Register) -> Option<Register> {
        let residue = match self.digit {
            None => register,
            Some(digit) => {
                let next = u128::from(register) * 10 + u128::from(digit);
                (next % u128::from(self.modulus)) as u64
            }
        };
        (self.can_continue(residue) || self.can_end(residue)).then_some(residue)
    }

    /// Returns whether the text may end here.
    #[inline]
    pub fn can_end(&self, register: Register) -> bool {
        match self.end {
            EndCondition::Never => false,
            EndCondition::Scaled(scale) => (self.times(register, scale) == 0) == self.is_multiple,
            EndCondition::Always => true,
        }
    }

    /// Returns whether the text may continue from here.
    #[inline]
    pub fn can_continue(&self, register: Register) -> bool {
        match &self.continuations {
            Continuations::Any => true,
            Continuations::AnyOf(ranges) => ranges.iter().any(|range| self.reaches(range, register)),
        }
    }

    /// Returns whether the text may end here with some residue.
    pub fn can_ever_end(&self) -> bool {
        self.end != EndCondition::Never
    }

    /// Returns the least number of digits that must follow where every digit counts and none is bounded; elsewhere 0, a lower bound.
    #[cfg(any(test, feature = "testing"))]
    pub fn n_missing(&self, register: Register) -> u64 {
        let is_counted =
            self.is_multiple && self.end == EndCondition::Scaled(1) && self.continuations == Continuations::Any;
        if !is_counted || self.can_end(register) {
            return 0;
        }
        let modulus = u128::from(self.modulus);
        let powers = (1..).zip(core::iter::successors(Some(10_u128), |power| power.checked_mul(10)));
        let mut enough = powers.filter(|&(_, power)| {
            let range = |n: u128| DigitRange { scale: (power % modulus) as u64, first: 0, n: n as u64 };
            power >= modulus || self.reaches(&range(power), register)
        });
        enough.next().map_or(0, |(n, _)| n)
    }

    /// Returns about how much memory the residue takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let n_ranges = if let Continuations::AnyOf(ranges) = &self.continuations { ranges.len() } else { 0 };
        size_of::<Self>() + n_ranges * size_of::<DigitRange>()
    }

    /// Returns whether digits of a range turn the number read so far into an accepted one.
    fn reaches(&self, range: &DigitRange, register: Register) -> bool {
        let shifted = self.times(register, range.scale);
        // The residue with the least value of the digits; the first multiple is `modulus - sum` values later.
        let sum = (u128::from(shifted) + u128::from(range.first)) % u128::from(self.modulus);
        match self.is_multiple {
            true => (u128::from(self.modulus) - sum) % u128::from(self.modulus) < u128::from(range.n),
            false => range.n > 1 || (range.n == 1 && sum != 0),
        }
    }

    /// Returns a residue times a factor, modulo the modulus.
    fn times(&self, register: Register, scale: u64) -> u64 {
        (u128::from(register) * u128::from(scale) % u128::from(self.modulus)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residue(modulus: u64, is_multiple: bool, ranges: &[DigitRange]) -> Residue {
        Residue {
            modulus,
            is_multiple,
            digit: Some(3),
            end: EndCondition::Never,
            continuations: Continuations::AnyOf(ranges.into()),
        }
    }

    #[test]
    fn a_range_continues_where_one_of_its_values_fits() {
        for modulus in [2, 3, 7, 10, 12] {
            for (register, scale, first) in
                (0..modulus).flat_map(|r| (0..modulus).map(move |s| (r, s, (r + 3) % modulus)))
            {
                for n in 0..modulus {
                    let range = DigitRange { scale, first, n };
                    for is_multiple in [true, false] {
                        let fits = |z: u64| ((register * scale + z).is_multiple_of(modulus)) == is_multiple;
                        let expected = (first..first + n).any(fits);
                        let found = residue(modulus, is_multiple, &[range]).can_continue(register);
                        assert_eq!(found, expected, "{register} modulo {modulus} {range:?} {is_multiple}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_moduli_do_not_overflow() {
        let modulus = u64::MAX - 58;
        let open = Residue {
            modulus,
            is_multiple: true,
            digit: Some(9),
            end: EndCondition::Scaled(modulus - 1),
            continuations: Continuations::Any,
        };
        let residue_after = open.advance(modulus - 1).unwrap();
        assert_eq!(residue_after, modulus - 1);
        assert!(!open.can_end(residue_after) && open.can_end(0));
        let range = DigitRange { scale: modulus - 1, first: modulus - 1, n: modulus - 1 };
        let narrow = residue(modulus, true, &[range]);
        // 1 - 1 is a multiple.
        assert!(narrow.can_continue(modulus - 1));
        // -2 - 1 is three below one.
        assert!(narrow.can_continue(2) && !residue(modulus, true, &[DigitRange { n: 3, ..range }]).can_continue(2));
        assert!(residue(modulus, true, &[DigitRange { n: 4, ..range }]).can_continue(2));
    }

    #[test]
    fn the_least_number_of_missing_digits() {
        let open = Residue {
            modulus: 1009,
            is_multiple: true,
            digit: Some(1),
            end: EndCondition::Scaled(1),
            continuations: Continuations::Any,
        };
        for register in 0..1009 {
            let is_enough = |&n: &u32| (0..10_u64.pow(n)).any(|z| (register * 10_u64.pow(n) + z).is_multiple_of(1009));
            let expected = (0..5).find(is_enough).map(u64::from);
            assert_eq!(Some(open.n_missing(register)), expected, "{register}");
        }
        let large = Residue { modulus: u64::MAX, ..open };
        assert_eq!((large.n_missing(0), large.n_missing(u64::MAX - 1) > 0), (0, true));
        assert_eq!(Residue { is_multiple: false, ..large }.n_missing(1), 0);
    }

    #[test]
    fn residues_without_a_continuation_are_refused() {
        let stuck = Residue { end: EndCondition::Scaled(1), ..residue(7, true, &[]) };
        assert_eq!((stuck.advance(4), stuck.advance(6), stuck.advance(0)), (None, Some(0), None));
        let unread = Residue { digit: None, ..stuck };
        assert_eq!((unread.advance(0), unread.advance(4)), (Some(0), None));
        let always = Residue { end: EndCondition::Always, ..unread };
        assert_eq!((always.advance(4), always.can_end(4), always.can_continue(4)), (Some(4), true, false));
    }
}

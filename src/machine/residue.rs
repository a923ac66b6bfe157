//! Rests of numbers along an automaton: the texts of the multiples of a number with many digits.
//!
//! As a finite automaton the multiples of 123456789 take a state for each rest. A register that holds the rest takes a state for each
//! digit: arriving at the state of digit `d` makes `10·r + d` modulo `m` of the rest `r`.
//!
//! *No dead ends.* What may follow a text is some number of digits, and which numbers `z` these digits can make is a range: all of three
//! digits after the point, those up to 499 where a bound says so. After `n` digits the rest is `r·10^n + z`, so the text can become a
//! multiple if some `z` of the range is `-r·10^n` modulo `m`: arithmetic on the range's first member and its size. A state has such a range, a
//! [`Way`], for each number of digits that may follow, but at most one of `m` numbers or more: there is a right one in any case.
//!
//! Numbers that are *no* multiples are looked for in the same ranges: two neighbours are never both multiples.
//!
//! No two rests can be told to be the same by few further digits in general, so a rest is its own signature.

use super::Register;

/// What a state asks of the rest of a number, and what arriving there makes of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Residue {
    /// What rests are taken modulo; at least 2.
    pub modulus: u64,
    /// Whether multiples are wanted, or all others.
    pub is_multiple: bool,
    /// The digit that is read on arrival, if any.
    pub digit: Option<u8>,
    /// Whether the text may end here.
    pub end: End,
    /// How more may follow.
    pub more: Ways,
}

/// With which rests a text may end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// With none.
    Never,
    /// If the rest times this is 0, or if it isn't where multiples are left out.
    Scaled(u64),
    /// With any.
    Always,
}

/// With which rests more may follow.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ways {
    /// With any.
    Open,
    /// With those that one of some ways leads from to an end.
    Some(Box<[Way]>),
}

/// A number of digits that may follow, and what numbers they can make.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Way {
    /// 10 to the number of digits, modulo the modulus.
    pub scale: u64,
    /// The least number that the digits can make, modulo the modulus.
    pub first: u64,
    /// How many numbers in a row they can make, less than the modulus.
    pub n: u64,
}

impl Residue {
    /// Returns the rest on arrival, or `None` when nothing that follows could make it right.
    #[inline]
    pub fn arrive(&self, register: Register) -> Option<Register> {
        let rest = match self.digit {
            None => register,
            Some(digit) => {
                let next = u128::from(register) * 10 + u128::from(digit);
                (next % u128::from(self.modulus)) as u64
            }
        };
        (self.may_go_on(rest) || self.may_end(rest)).then_some(rest)
    }

    /// Tells whether the text may end here.
    #[inline]
    pub fn may_end(&self, register: Register) -> bool {
        match self.end {
            End::Never => false,
            End::Scaled(scale) => (self.scaled(register, scale) == 0) == self.is_multiple,
            End::Always => true,
        }
    }

    /// Tells whether more may follow here.
    #[inline]
    pub fn may_go_on(&self, register: Register) -> bool {
        match &self.more {
            Ways::Open => true,
            Ways::Some(ways) => ways.iter().any(|way| self.leads(way, register)),
        }
    }

    /// Tells whether there are rests with which the text may end here.
    pub fn is_end(&self) -> bool {
        self.end != End::Never
    }

    /// Returns how many digits must follow, as long as they all count; 0 where it is not known.
    pub fn n_missing(&self, register: Register) -> u64 {
        let is_counted = self.is_multiple && self.end == End::Scaled(1) && self.more == Ways::Open;
        if !is_counted || self.may_end(register) {
            return 0;
        }
        let modulus = u128::from(self.modulus);
        let powers = (1..).zip(core::iter::successors(Some(10_u128), |power| power.checked_mul(10)));
        let mut enough = powers.filter(|&(_, power)| {
            let way = |n: u128| Way { scale: (power % modulus) as u64, first: 0, n: n as u64 };
            power >= modulus || self.leads(&way(power), register)
        });
        enough.next().map_or(0, |(n, _)| n)
    }

    /// Returns about how much memory the residue takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let n_ways = if let Ways::Some(ways) = &self.more { ways.len() } else { 0 };
        size_of::<Self>() + n_ways * size_of::<Way>()
    }

    fn leads(&self, way: &Way, register: Register) -> bool {
        let shifted = self.scaled(register, way.scale);
        // How far behind the first number the first multiple is.
        let sum = (u128::from(shifted) + u128::from(way.first)) % u128::from(self.modulus);
        match self.is_multiple {
            true => (u128::from(self.modulus) - sum) % u128::from(self.modulus) < u128::from(way.n),
            false => way.n > 1 || (way.n == 1 && sum != 0),
        }
    }

    fn scaled(&self, register: Register, scale: u64) -> u64 {
        (u128::from(register) * u128::from(scale) % u128::from(self.modulus)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residue(modulus: u64, is_multiple: bool, ways: &[Way]) -> Residue {
        Residue { modulus, is_multiple, digit: Some(3), end: End::Never, more: Ways::Some(ways.into()) }
    }

    #[test]
    fn ways_lead_where_a_number_of_their_range_fits() {
        for modulus in [2, 3, 7, 10, 12] {
            for (register, scale, first) in
                (0..modulus).flat_map(|r| (0..modulus).map(move |s| (r, s, (r + 3) % modulus)))
            {
                for n in 0..modulus {
                    let way = Way { scale, first, n };
                    for is_multiple in [true, false] {
                        let fits = |z: u64| ((register * scale + z).is_multiple_of(modulus)) == is_multiple;
                        let expected = (first..first + n).any(fits);
                        let found = residue(modulus, is_multiple, &[way]).may_go_on(register);
                        assert_eq!(found, expected, "{register} modulo {modulus} {way:?} {is_multiple}");
                    }
                }
            }
        }
    }

    #[test]
    fn rests_of_large_moduli_do_not_overflow() {
        let modulus = u64::MAX - 58;
        let open =
            Residue { modulus, is_multiple: true, digit: Some(9), end: End::Scaled(modulus - 1), more: Ways::Open };
        let rest = open.arrive(modulus - 1).unwrap();
        assert_eq!(rest, modulus - 1);
        assert!(!open.may_end(rest) && open.may_end(0));
        let way = Way { scale: modulus - 1, first: modulus - 1, n: modulus - 1 };
        let narrow = residue(modulus, true, &[way]);
        // 1 - 1 is a multiple.
        assert!(narrow.may_go_on(modulus - 1));
        // -2 - 1 is three below one.
        assert!(narrow.may_go_on(2) && !residue(modulus, true, &[Way { n: 3, ..way }]).may_go_on(2));
        assert!(residue(modulus, true, &[Way { n: 4, ..way }]).may_go_on(2));
    }

    #[test]
    fn the_digits_that_are_missing_are_counted() {
        let open = Residue { modulus: 1009, is_multiple: true, digit: Some(1), end: End::Scaled(1), more: Ways::Open };
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
    fn arrivals_that_lead_nowhere_are_refused() {
        let stuck = Residue { end: End::Scaled(1), ..residue(7, true, &[]) };
        assert_eq!((stuck.arrive(4), stuck.arrive(6), stuck.arrive(0)), (None, Some(0), None));
        let unread = Residue { digit: None, ..stuck };
        assert_eq!((unread.arrive(0), unread.arrive(4)), (Some(0), None));
        let always = Residue { end: End::Always, ..unread };
        assert_eq!((always.arrive(4), always.may_end(4), always.may_go_on(4)), (Some(4), true, false));
    }
}

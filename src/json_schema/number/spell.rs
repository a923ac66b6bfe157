//! The automaton of the texts of a set of numbers.
//!
//! The states are computed on demand by one function that reads a text from left to right. A state combines the comparison with the bounds,
//! the remainders of division, and the mantissa, in case an exponent follows. Each of these forgets what no longer matters, so that few
//! combinations are reachable; the automaton is minimized at the end.

use super::exponent::Exponent;
use super::residue::{Remainders, Residues};
use super::side::{Side, Tie};
use super::{NumberError, NumberSet, NumberSpelling, few};
use crate::Limits;
use crate::regular::{Dfa, RegularError, Work};

/// A state of the automaton: what is known about the prefix of a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    Start,
    /// After a minus.
    Minus,
    Whole(Whole),
    Fraction(Fraction),
    /// After `e`: the allowed exponents, and the sign of the number.
    ExponentSign {
        side: u8,
        least: i64,
        greatest: i64,
    },
    /// Within the digits of an exponent.
    Exponent(Exponent),
}

/// Before the point.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Whole {
    side: u8,
    /// The number of digits, 0 for `0`, up to the greatest number that bounds distinguish.
    n: i64,
    /// `None` if no plain number with this prefix is within the bounds.
    tie: Option<Tie>,
    mantissa: Mantissa,
    remainders: Remainders,
}

/// After the point.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Fraction {
    side: u8,
    /// The number of digits after the point, up to the greatest number that bounds and divisors distinguish.
    n: i64,
    has_digit: bool,
    tie: Option<Tie>,
    mantissa: Mantissa,
    remainders: Remainders,
}

/// The mantissa to which an exponent would apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mantissa {
    /// There can be no exponent.
    None,
    /// Any mantissa: numbers of this sign have no bounds.
    Any,
    Zero,
    Digits(Tie),
}

struct Speller {
    /// The bounds of numbers without minus, and of numbers with it. If they are equal, only the first is used.
    sides: [Option<Side>; 2],
    side_of_minus: u8,
    residues: Residues,
    has_exponents: bool,
    fractions: Digits,
}

/// The digits allowed after the point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digits {
    None,
    Zeros,
    All,
}

type Edges = Vec<(u8, u8, Place)>;

/// Steps of a compile that finding a remainder behind each digit counts as.
const STEPS_PER_REMAINDER: usize = 4;

pub(super) fn language(
    set: &NumberSet,
    spelling: &NumberSpelling,
    limits: &Limits,
    work: &mut Work<'_>,
) -> Result<Dfa, NumberError> {
    let sides = [Side::new(set, false), Side::new(set, true)];
    let is_cut = sides.iter().flatten().any(|side| side.is_cut);
    let residues = Residues::new(set)?;
    if residues.is_contradiction() {
        return Ok(Dfa::default());
    }
    let fractions = match set.integer {
        Some(true) if spelling.has_integer_fractions => Digits::Zeros,
        Some(true) => Digits::None,
        _ => Digits::All,
    };
    if let Some(dfa) = few::language(set, fractions != Digits::None, residues.n_remainders(), limits, work)? {
        return Ok(dfa);
    }
    let is_unbounded = sides.iter().flatten().any(|side| side.high.is_none());
    if is_unbounded && residues.n_states_min() > limits.dfa_states_max as u128 {
        let given = usize::try_from(residues.n_states_min()).unwrap_or(usize::MAX);
        return Err(RegularError::determinized(given, limits.dfa_states_max).into());
    }
    let speller = Speller {
        side_of_minus: u8::from(sides[0] != sides[1]),
        sides,
        residues,
        has_exponents: spelling.has_exponents && set.integer.is_none() && set.divisors.is_empty(),
        fractions,
    };
    // Each digit changes each remainder.
    let n_steps = STEPS_PER_REMAINDER * speller.residues.n_divisors();
    let step = |place: &Place, edges: &mut Edges, work: &mut Work<'_>| {
        work.spend(n_steps)?;
        Ok(speller.step(place, edges))
    };
    let dfa = Dfa::unfold_within(Place::Start, step, limits, work)?;
    if dfa.is_empty() && is_cut {
        return Err(NumberError::Magnitude);
    }
    Ok(dfa)
}

impl Speller {
    fn side(&self, side: u8) -> Option<&Side> {
        self.sides[usize::from(side)].as_ref()
    }

    /// Adds the edges of a state in ascending order, and returns whether a number may end there.
    fn step(&self, place: &Place, edges: &mut Edges) -> bool {
        match place {
            Place::Start => {
                if self.side(self.side_of_minus).is_some() {
                    edges.push((b'-', b'-', Place::Minus));
                }
                self.first_digits(0, edges);
                false
            }
            Place::Minus => {
                self.first_digits(self.side_of_minus, edges);
                false
            }
            Place::Whole(whole) => self.step_whole(whole, edges),
            Place::Fraction(fraction) => self.step_fraction(fraction, edges),
            &Place::ExponentSign { side, least, greatest } => {
                let n_digits =
                    if self.side(side).is_some_and(|side| side.exponent_reach() != (-99, 99)) { 3 } else { 2 };
                let positive = Exponent::new(least, greatest, n_digits);
                let negative = Exponent::new(-greatest, -least, n_digits);
                for (sign, exponent) in [(b'+', &positive), (b'-', &negative)] {
                    edges.extend(exponent.iter().map(|exponent| (sign, sign, Place::Exponent(exponent.clone()))));
                }
                positive.iter().for_each(|exponent| push_exponent_digits(exponent, edges));
                false
            }
            Place::Exponent(exponent) => {
                push_exponent_digits(exponent, edges);
                exponent.is_end()
            }
        }
    }

    fn first_digits(&self, number: u8, edges: &mut Edges) {
        let Some(side) = self.side(number) else { return };
        let start = self.residues.start();
        for digit in 0..=9 {
            let mantissa = match digit {
                _ if !self.has_exponents => Mantissa::None,
                _ if side.is_free() => Mantissa::Any,
                0 if side.has_zero() => Mantissa::Zero,
                0 => Mantissa::None,
                _ => side.mantissa_start(digit).map_or(Mantissa::None, Mantissa::Digits),
            };
            let tie = if digit == 0 { Some(side.start()) } else { side.whole(0, side.start(), digit) };
            let remainders = tie.map_or(Remainders::IRRELEVANT, |_| self.residues.whole(start, digit));
            let whole = Whole { side: number, n: i64::from(digit > 0), tie, mantissa, remainders };
            push_digit(digit, is_viable(tie, mantissa).then_some(Place::Whole(whole)), edges);
        }
    }

    fn step_whole(&self, whole: &Whole, edges: &mut Edges) -> bool {
        let side = self.side(whole.side).expect("the number has a side");
        let tie = whole.tie.and_then(|tie| side.whole_end(whole.n, tie));
        let remainders = tie.and_then(|_| self.residues.point(whole.remainders));
        let fraction = Fraction {
            side: whole.side,
            n: 0,
            has_digit: false,
            tie: tie.filter(|_| remainders.is_some()),
            mantissa: whole.mantissa,
            remainders: remainders.unwrap_or(Remainders::IRRELEVANT),
        };
        if self.fractions != Digits::None {
            let is_viable = is_viable(fraction.tie, fraction.mantissa);
            edges.extend(is_viable.then(|| (b'.', b'.', Place::Fraction(self.reduced(fraction.clone())))));
        }
        if whole.n > 0 {
            for digit in 0..=9 {
                let tie = whole.tie.and_then(|tie| side.whole(whole.n, tie, digit));
                let longer = Whole {
                    side: whole.side,
                    n: (whole.n + 1).min(side.n_whole_max()),
                    tie,
                    mantissa: if whole.mantissa == Mantissa::Any { Mantissa::Any } else { Mantissa::None },
                    remainders: tie.map_or(Remainders::IRRELEVANT, |_| self.residues.whole(whole.remainders, digit)),
                };
                push_digit(digit, is_viable(longer.tie, longer.mantissa).then_some(Place::Whole(longer)), edges);
            }
        }
        self.push_exponent_sign(whole.side, whole.mantissa, 1, edges);
        self.is_end(side, &fraction)
    }

    fn step_fraction(&self, fraction: &Fraction, edges: &mut Edges) -> bool {
        let side = self.side(fraction.side).expect("the number has a side");
        for digit in 0..=if self.fractions == Digits::All { 9 } else { 0 } {
            let tie = fraction.tie.and_then(|tie| side.fraction(fraction.n, tie, digit));
            let remainders = tie.and_then(|_| self.residues.fraction(fraction.n, fraction.remainders, digit));
            let longer = Fraction {
                side: fraction.side,
                n: fraction.n + 1,
                has_digit: true,
                tie: tie.filter(|_| remainders.is_some()),
                mantissa: match fraction.mantissa {
                    Mantissa::Zero if digit > 0 => Mantissa::None,
                    Mantissa::Digits(tie) => Mantissa::Digits(side.mantissa(fraction.n + 1, tie, digit)),
                    mantissa => mantissa,
                },
                remainders: remainders.unwrap_or(Remainders::IRRELEVANT),
            };
            let is_viable = is_viable(longer.tie, longer.mantissa);
            push_digit(digit, is_viable.then(|| Place::Fraction(self.reduced(longer))), edges);
        }
        if !fraction.has_digit {
            return false;
        }
        self.push_exponent_sign(fraction.side, fraction.mantissa, fraction.n + 1, edges);
        self.is_end(side, fraction)
    }

    /// Caps the number of digits at the greatest number that is distinguished.
    fn reduced(&self, mut fraction: Fraction) -> Fraction {
        let side = self.side(fraction.side).expect("the number has a side");
        let plain = fraction
            .tie
            .map_or(0, |tie| side.n_fraction_max(tie).max(self.residues.n_fraction_max(fraction.remainders)));
        let mantissa = match fraction.mantissa {
            Mantissa::Digits(tie) => side.n_mantissa_max(tie) - 1,
            _ => 0,
        };
        fraction.n = fraction.n.min(plain.max(mantissa));
        fraction
    }

    fn is_end(&self, side: &Side, fraction: &Fraction) -> bool {
        fraction.tie.is_some_and(|tie| side.is_end(fraction.n, tie)) && self.residues.is_end(fraction.remainders)
    }

    fn push_exponent_sign(&self, side: u8, mantissa: Mantissa, n_digits: i64, edges: &mut Edges) {
        let bounds = self.side(side).expect("the number has a side");
        let (least, greatest) = match mantissa {
            Mantissa::None => return,
            Mantissa::Any | Mantissa::Zero => (-99, 99),
            Mantissa::Digits(tie) => bounds.exponents(n_digits, tie),
        };
        if least <= greatest {
            let sign = Place::ExponentSign { side, least, greatest };
            edges.extend([(b'E', b'E', sign.clone()), (b'e', b'e', sign)]);
        }
    }
}

/// Returns whether some number has this prefix, plain or with an exponent.
fn is_viable(tie: Option<Tie>, mantissa: Mantissa) -> bool {
    tie.is_some() || mantissa != Mantissa::None
}

fn push_digit(digit: u8, place: Option<Place>, edges: &mut Edges) {
    let byte = b'0' + digit;
    let Some(place) = place else { return };
    // Most digits lead where the one before leads: nine of ten places are not looked up.
    match edges.last_mut() {
        Some((_, high, last)) if *high + 1 == byte && *last == place => *high = byte,
        _ => edges.push((byte, byte, place)),
    }
}

fn push_exponent_digits(exponent: &Exponent, edges: &mut Edges) {
    for digit in 0..=9 {
        push_digit(digit, exponent.next(digit).map(Place::Exponent), edges);
    }
}

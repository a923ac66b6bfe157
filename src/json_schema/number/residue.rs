//! Divisibility, digit by digit.
//!
//! Let a divisor be `P / 10^q`, with `q` digits after the point. Before the point, the state is the remainder modulo `P` of the number read so
//! far. After the point, it is the *target*: the remainder modulo `P` that the next `q - n` digits, read as an integer, must have. Few digit
//! strings meet a target (modulo 5000, three digits have remainder 0 only if they are `000`), and the target that none meets is [`NEVER`].
//!
//! *Equivalent remainders.* Modulo 1000000 there are a million remainders, but only seven matter: how many zeros are missing. Suppose that
//! `k` digits follow a remainder `a`. Read as an integer, they must equal `-10^k·a` modulo `P`, which is impossible if that is `10^k` or more.
//! Two remainders are equivalent if this condition is the same for every `k` (from `q` on, as that many digits follow the point). From
//! the first `k` with `10^k >= P` on no new condition arises, because equivalent remainders stay equivalent when a digit is read. So only a
//! few `k` are compared, and a map from these conditions to the first remainder that had them finds the representative.
//!
//! *Smaller non-divisors.* Among the multiples of 429, the multiples of 6 are the multiples of 2; and if these are excluded, so are the
//! multiples of 8. So a non-divisor is reduced to those of its prime powers that the divisors do not imply, and a non-divisor that is a
//! multiple of another one is dropped.

use super::{DIVISOR_DIGITS_MAX, NumberError, NumberSet, greatest_common_divisor};
use crate::json_schema::decimal::Decimal;
use core::cell::RefCell;
use core::hash::BuildHasher;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use smallvec::SmallVec;

/// Most digits after the point of a divisor.
const FRACTION_MAX: i64 = 400;

/// The target of a number that is no multiple, whatever digits follow.
const NEVER: u128 = u128::MAX;

/// By divisor the remainder before the point, or the target after it: the number of such a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Remainders(u32);

impl Remainders {
    /// Stands for those of a text that is no number of the set without an exponent, whatever follows.
    pub const IRRELEVANT: Remainders = Remainders(u32::MAX);
}

#[derive(Debug)]
pub(super) struct Residues {
    divisors: Vec<Divisor>,
    lists: RefCell<Lists>,
    /// Whether every multiple of the divisors is a multiple of some non-divisor.
    is_contradiction: bool,
}

/// The lists that were met, each once.
#[derive(Debug)]
struct Lists {
    n_divisors: usize,
    /// One list after the other, and what is written of the next.
    entries: Vec<u128>,
    by_content: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Lists {
    fn new(n_divisors: usize) -> Self {
        Lists { n_divisors, entries: Vec::new(), by_content: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }

    fn get(&self, Remainders(number): Remainders) -> &[u128] {
        &self.entries[number as usize * self.n_divisors..][..self.n_divisors]
    }

    /// Ends the list that is being written.
    fn end(&mut self) -> Remainders {
        let Lists { n_divisors, entries, by_content, hasher } = self;
        let list = |number: u32| &entries[number as usize * *n_divisors..][..*n_divisors];
        let new = by_content.len() as u32;
        let hash = hasher.hash_one(list(new));
        match by_content.find(hash, |&number| list(number) == list(new)) {
            Some(&known) => {
                entries.truncate(new as usize * *n_divisors);
                Remainders(known)
            }
            None => {
                by_content.insert_unique(hash, new, |&number| hasher.hash_one(list(number)));
                Remainders(new)
            }
        }
    }
}

#[derive(Debug)]
struct Divisor {
    modulus: u128,
    n_fraction: i64,
    is_multiple: bool,
    /// 10^i modulo `modulus`, for i up to `n_fraction`.
    powers: Vec<u128>,
    /// Maps each remainder to its representative; `None` if no two are equivalent.
    classes: Option<RefCell<Classes>>,
}

/// The representatives found so far.
#[derive(Debug, Default)]
struct Classes {
    /// The representative, by the conditions on the digits to come.
    by_signature: HashMap<SmallVec<[u128; 4]>, u128>,
    /// The representative by remainder, for small divisors; [`UNKNOWN`] if it was not computed.
    by_remainder: Vec<u32>,
}

/// Most remainders that are tabulated.
const LISTED_MAX: u128 = 1 << 16;
const UNKNOWN: u32 = u32::MAX;

impl Residues {
    pub fn new(set: &NumberSet) -> Result<Residues, NumberError> {
        let one = Decimal::from(1u64);
        let step = set.step()?;
        let mut non_divisors = set.non_divisors()?;
        if let Some(step) = &step {
            non_divisors = beside_multiples(step, non_divisors);
        }
        let non_divisors = least_of(non_divisors);
        let is_contradiction = step.as_ref().is_some_and(|step| non_divisors.iter().any(|d| step.is_multiple_of(d)));
        // The spelling of integers sees to multiples of 1.
        let step = step.filter(|step| set.integer != Some(true) || *step != one);
        let multiples = step.iter().map(|step| Divisor::new(step, true));
        let divisors = multiples.chain(non_divisors.iter().map(|divisor| Divisor::new(divisor, false)));
        let divisors = divisors.collect::<Result<Vec<_>, _>>()?;
        let lists = Lists::new(divisors.len()).into();
        Ok(Residues { divisors, lists, is_contradiction })
    }

    /// Returns whether no number satisfies all divisors and non-divisors.
    pub fn is_contradiction(&self) -> bool {
        self.is_contradiction
    }

    /// Estimates the number of states for each number of digits; the estimate is never much too low.
    pub fn n_remainders(&self) -> u128 {
        self.divisors.iter().fold(1, |n, divisor| n.saturating_mul(divisor.coprime_part()))
    }

    /// Returns a lower bound of the states of any automaton of these numbers, where they may have any number of digits and there are some.
    ///
    /// Integers that differ modulo a power of a prime in some divisor, other than 2 and 5, need different digits behind them: with those that make one of them a multiple of that
    /// divisor, the other isn't one. By the other primes the digits may be chosen such that neither is a multiple of another non-divisor, none of which divides a second one.
    pub fn n_states_min(&self) -> u128 {
        self.divisors.iter().map(Divisor::coprime_part).fold(1, |least: u128, part| {
            let common = greatest_common_divisor(least.min(i128::MAX as u128) as i128, part as i128);
            least.saturating_mul(part / common as u128)
        })
    }

    /// Returns the number of divisors.
    pub fn n_divisors(&self) -> usize {
        self.divisors.len()
    }

    pub fn start(&self) -> Remainders {
        let mut lists = self.lists.borrow_mut();
        lists.entries.extend(self.divisors.iter().map(|_| 0));
        lists.end()
    }

    /// Adds a digit before the point.
    pub fn whole(&self, remainders: Remainders, digit: u8) -> Remainders {
        let next = self.each(remainders, |divisor, remainder| {
            Some(divisor.class(divisor.reduced(remainder * 10 + u128::from(digit))))
        });
        next.expect("any digit can follow")
    }

    /// Returns the targets after the point, or at the end; `None` if they can't be met.
    pub fn point(&self, remainders: Remainders) -> Option<Remainders> {
        self.each(remainders, |divisor, remainder| divisor.reached(divisor.missing(remainder), divisor.n_fraction))
    }

    /// Adds digit `n` after the point; returns `None` if the targets can't be met.
    pub fn fraction(&self, n: i64, targets: Remainders, digit: u8) -> Option<Remainders> {
        self.each(targets, |divisor, target| {
            let n_left = divisor.n_fraction - n - 1;
            match usize::try_from(n_left) {
                _ if target == NEVER => Some(NEVER),
                Err(_) if digit == 0 => Some(target),
                Err(_) => (!divisor.is_multiple).then_some(NEVER),
                Ok(n_left_idx) => {
                    let taken = divisor.reduced(u128::from(digit) * divisor.powers[n_left_idx]);
                    divisor.reached(divisor.reduced(target + divisor.modulus - taken), n_left)
                }
            }
        })
    }

    /// Returns the number of digits after the point from which on it only matters whether a digit is zero.
    pub fn n_fraction_max(&self, targets: Remainders) -> i64 {
        let lists = self.lists.borrow();
        let open = self.divisors.iter().zip(lists.get(targets)).filter(|(_, target)| **target != NEVER);
        open.map(|(divisor, _)| divisor.n_fraction).max().unwrap_or(0)
    }

    /// Returns whether a number with these targets may end.
    pub fn is_end(&self, targets: Remainders) -> bool {
        let lists = self.lists.borrow();
        self.divisors.iter().zip(lists.get(targets)).all(|(divisor, &target)| (target == 0) == divisor.is_multiple)
    }

    /// Returns the list of what `next` makes of each divisor's entry in a list; `None` if it returns that for one.
    fn each(&self, remainders: Remainders, next: impl Fn(&Divisor, u128) -> Option<u128>) -> Option<Remainders> {
        if self.divisors.is_empty() {
            return Some(remainders);
        }
        let lists = &mut *self.lists.borrow_mut();
        let (first, n_known) = (remainders.0 as usize * self.divisors.len(), lists.entries.len());
        for (index, divisor) in self.divisors.iter().enumerate() {
            let Some(entry) = next(divisor, lists.entries[first + index]) else {
                lists.entries.truncate(n_known);
                return None;
            };
            lists.entries.push(entry);
        }
        Some(lists.end())
    }
}

/// Returns the smallest non-divisors that exclude the same multiples of `step`.
fn beside_multiples(step: &Decimal, non_divisors: Vec<Decimal>) -> Vec<Decimal> {
    let reduced = |divisor: &Decimal| {
        let unit = step.exponent().min(divisor.exponent());
        let (step, divisor) = (step.to_scaled(unit)?, divisor.to_scaled(unit)?);
        // Only primes matter of which the non-divisor has a higher power than the step.
        let missing = divisor / greatest_common_divisor(divisor, step);
        let mut others = divisor;
        loop {
            let common = greatest_common_divisor(others, missing);
            if common == 1 {
                break Decimal::from_scaled(divisor / others, unit);
            }
            others /= common;
        }
    };
    non_divisors.into_iter().map(|divisor| reduced(&divisor).unwrap_or(divisor)).collect()
}

/// Returns those of some non-divisors that are multiples of no other one, ascending.
fn least_of(mut all: Vec<Decimal>) -> Vec<Decimal> {
    all.sort_unstable();
    all.dedup();
    let mut least: Vec<Decimal> = Vec::with_capacity(all.len());
    for divisor in all {
        if !least.iter().any(|known| divisor.is_multiple_of(known)) {
            least.push(divisor);
        }
    }
    least
}

impl Divisor {
    fn new(value: &Decimal, is_multiple: bool) -> Result<Divisor, NumberError> {
        let n_fraction = (-value.exponent()).max(0);
        let modulus = value.to_scaled(-n_fraction).map(i128::unsigned_abs);
        let modulus =
            modulus.filter(|&modulus| modulus < 10_u128.pow(DIVISOR_DIGITS_MAX) && n_fraction <= FRACTION_MAX);
        let modulus = modulus.ok_or(NumberError::Divisor { limit_digits: DIVISOR_DIGITS_MAX })?;
        let mut powers = vec![1 % modulus];
        for i in 0..n_fraction as usize {
            powers.push(powers[i] * 10 % modulus);
        }
        let has_classes = modulus.is_multiple_of(2) || modulus.is_multiple_of(5);
        Ok(Divisor { modulus, n_fraction, is_multiple, powers, classes: has_classes.then(RefCell::default) })
    }

    /// Returns the modulus without its factors 2 and 5.
    fn coprime_part(&self) -> u128 {
        let without = |modulus: u128, factor: u128| {
            core::iter::successors(Some(modulus), |m| m.is_multiple_of(factor).then(|| m / factor)).last().unwrap_or(1)
        };
        without(without(self.modulus, 2), 5)
    }

    /// Returns a number modulo the divisor's.
    fn reduced(&self, number: u128) -> u128 {
        // Few moduli and numbers need 128 bits, whose division takes several times as long.
        match (u64::try_from(number), u64::try_from(self.modulus)) {
            (Ok(number), Ok(modulus)) => u128::from(number % modulus),
            _ => number % self.modulus,
        }
    }

    /// Returns the target of the digits after the point for a remainder.
    fn missing(&self, remainder: u128) -> u128 {
        let power = self.powers[self.n_fraction as usize];
        let shifted = match remainder.checked_mul(power) {
            Some(product) => self.reduced(product),
            None => (0..self.n_fraction).fold(remainder, |remainder, _| remainder * 10 % self.modulus),
        };
        self.reduced(self.modulus - shifted)
    }

    /// Normalizes a target that `n_left` digits must meet; `None` if they can't and it is required.
    fn reached(&self, target: u128, n_left: i64) -> Option<u128> {
        match 10_u128.checked_pow(n_left as u32) {
            Some(power) if target >= power => (!self.is_multiple).then_some(NEVER),
            _ => Some(target),
        }
    }

    /// Returns the representative of a remainder.
    fn class(&self, remainder: u128) -> u128 {
        let Some(classes) = &self.classes else { return remainder };
        let mut classes = classes.borrow_mut();
        if self.modulus > LISTED_MAX {
            return *classes.by_signature.entry(self.signature(remainder)).or_insert(remainder);
        }
        if classes.by_remainder.is_empty() {
            classes.by_remainder = vec![UNKNOWN; self.modulus as usize];
        }
        if classes.by_remainder[remainder as usize] == UNKNOWN {
            let class = *classes.by_signature.entry(self.signature(remainder)).or_insert(remainder);
            classes.by_remainder[remainder as usize] = class as u32;
        }
        u128::from(classes.by_remainder[remainder as usize])
    }

    /// Returns the conditions of a remainder on the digits to come.
    fn signature(&self, remainder: u128) -> SmallVec<[u128; 4]> {
        let mut conditions: SmallVec<[u128; 4]> = SmallVec::new();
        let mut n_digits = self.n_fraction;
        let mut missing = self.missing(remainder);
        loop {
            let power = 10_u128.checked_pow(n_digits as u32);
            conditions.push(if power.is_some_and(|power| missing >= power) { NEVER } else { missing });
            if power.is_none_or(|power| power >= self.modulus) {
                return conditions;
            }
            n_digits += 1;
            missing = self.reduced(missing * 10);
        }
    }
}

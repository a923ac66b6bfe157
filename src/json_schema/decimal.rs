//! Exact decimal numbers of any size.
//!
//! Schemas compare numbers by value: `1`, `1.0` and `1e0` are one number, `9007199254740993` is not
//! `9007199254740992`, and `0.21` is a multiple of `0.07`. Binary floats get all three wrong. A [`Decimal`] is a
//! sign, significant digits and a power of ten, normalised (no zero at either end of the digits), so that equal
//! numbers are equal values and `1e400000000000` takes one digit, not 400 GB.
//!
//! *Order.* Of two positive numbers the one whose first digit stands higher is greater; at equal height the digits
//! decide as texts, since both begin at the same place and neither ends in zeros.
//!
//! *Multiples.* `A·10^a` is a multiple of `D·10^d` when `D` divides `A·10^(a-d)`. If `a < d` it never is (the right
//! side would make `A` end in a zero). Otherwise the remainder is computed digit by digit, as in school. Only the
//! factors 2 and 5 of `D` profit from the power of ten, and `D` has fewer than 4 of them per digit, so that a power
//! beyond `4·digits(D)` says nothing new and is cut to that: the cost is bounded by the digits written, whatever the
//! exponents.

use core::cmp::Ordering;
use core::fmt;
use smallvec::SmallVec;

/// An exact decimal number: `±digits · 10^exponent`.
///
/// ```
/// use maskwright::json_schema::Decimal;
/// let number = |text| Decimal::parse(text, 100).unwrap();
/// assert_eq!(number("1.0"), number("1e0"));
/// assert!(number("9007199254740993") > number("9007199254740992"));
/// assert!(number("0.21").is_multiple_of(&number("0.07")));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Decimal {
    negative: bool,
    /// Values 0 to 9, the most significant first; neither the first nor the last is 0; empty for zero.
    digits: SmallVec<[u8; 16]>,
    /// The power of ten of the last digit; 0 for zero.
    exponent: i64,
}

/// Why a text is not a [`Decimal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalError {
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Syntax { offset: usize },
    Digits { given: usize, limit: usize },
    Exponent,
}

impl Decimal {
    /// The greatest size of a power of ten, either way.
    pub const EXPONENT_MAX: i64 = 1_000_000_000_000_000;

    /// Reads a number as JSON writes it, with at most `n_digits_max` digits before the exponent.
    ///
    /// # Errors
    /// If `text` is not a JSON number, has more digits, or an exponent beyond [`Decimal::EXPONENT_MAX`].
    pub fn parse(text: &str, n_digits_max: usize) -> Result<Decimal, DecimalError> {
        let bytes = text.as_bytes();
        let number = Shape::scan(bytes);
        match number {
            Ok(shape) if shape.end == bytes.len() => Decimal::from_shape(bytes, &shape, n_digits_max),
            Ok(shape) => Err(DecimalError { kind: Kind::Syntax { offset: shape.end } }),
            Err(offset) => Err(DecimalError { kind: Kind::Syntax { offset } }),
        }
    }

    fn from_shape(bytes: &[u8], shape: &Shape, n_digits_max: usize) -> Result<Decimal, DecimalError> {
        let whole = &bytes[shape.whole.0..shape.whole.1];
        let fraction = &bytes[shape.fraction.0..shape.fraction.1];
        let given = whole.len() + fraction.len();
        if given > n_digits_max {
            return Err(DecimalError { kind: Kind::Digits { given, limit: n_digits_max } });
        }
        let digits: SmallVec<[u8; 16]> = whole.iter().chain(fraction).map(|b| b - b'0').collect();
        if digits.iter().all(|&d| d == 0) {
            return Ok(Decimal::default());
        }
        let too_far = DecimalError { kind: Kind::Exponent };
        let (exponent_negative, exponent_digits) = match shape.exponent {
            None => (false, &bytes[0..0]),
            Some((negative, start)) => (negative, &bytes[start..shape.end]),
        };
        let mut exponent: i64 = 0;
        for &b in exponent_digits {
            exponent = exponent * 10 + i64::from(b - b'0');
            if exponent > Decimal::EXPONENT_MAX {
                return Err(too_far);
            }
        }
        let exponent = if exponent_negative { -exponent } else { exponent } - fraction.len() as i64;
        let decimal = Decimal::normalised(shape.negative, digits, exponent);
        if decimal.exponent.abs() > Decimal::EXPONENT_MAX { Err(too_far) } else { Ok(decimal) }
    }

    fn normalised(negative: bool, mut digits: SmallVec<[u8; 16]>, exponent: i64) -> Decimal {
        let Some(last) = digits.iter().rposition(|&d| d != 0) else { return Decimal::default() };
        let exponent = exponent + (digits.len() - 1 - last) as i64;
        digits.truncate(last + 1);
        let first = digits.iter().position(|&d| d != 0).expect("a digit is not 0");
        digits.drain(..first);
        Decimal { negative, digits, exponent }
    }

    /// Returns whether this is 0.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Returns whether this is less than 0.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Returns whether this has no fractional part; `1.0` and `1e2` have none.
    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Returns the significant digits as values 0 to 9, the most significant first; none for zero.
    pub fn digits(&self) -> &[u8] {
        &self.digits
    }

    /// Returns the power of ten of the last significant digit.
    pub fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Returns the value if it is an integer from 0 to `u64::MAX`.
    pub fn to_u64(&self) -> Option<u64> {
        if self.negative || self.exponent < 0 || self.exponent > 20 {
            return None;
        }
        let step = |n: u64, d: u8| n.checked_mul(10)?.checked_add(u64::from(d));
        let zeros = core::iter::repeat_n(0, self.exponent as usize);
        self.digits.iter().copied().chain(zeros).try_fold(0u64, step)
    }

    /// Returns the number without its sign.
    #[must_use]
    pub fn abs(&self) -> Decimal {
        Decimal { negative: false, ..self.clone() }
    }

    /// Returns the number with the other sign.
    #[must_use]
    pub fn negated(&self) -> Decimal {
        Decimal { negative: !self.negative && !self.is_zero(), ..self.clone() }
    }

    /// Returns `value · 10^exponent`; `None` if that is beyond [`Decimal::EXPONENT_MAX`].
    pub(super) fn from_scaled(value: i128, exponent: i64) -> Option<Decimal> {
        let digits = value.unsigned_abs().to_string().bytes().map(|b| b - b'0').collect();
        let decimal = Decimal::normalised(value < 0, digits, exponent);
        (decimal.exponent.abs() <= Decimal::EXPONENT_MAX).then_some(decimal)
    }

    /// Returns the integer `self / 10^exponent`; `None` if it isn't one or doesn't fit.
    pub(super) fn to_scaled(&self, exponent: i64) -> Option<i128> {
        let zeros = if self.is_zero() { 0 } else { u32::try_from(self.exponent - exponent).ok()? };
        let step = |n: i128, &d: &u8| n.checked_mul(10)?.checked_add(i128::from(d));
        let digits = self.digits.iter().try_fold(0, step)?;
        let value = if digits == 0 { 0 } else { 10_i128.checked_pow(zeros)?.checked_mul(digits)? };
        Some(if self.negative { -value } else { value })
    }

    /// Returns the number of significant digits; 0 for zero.
    pub(super) fn n_digits(&self) -> usize {
        self.digits.len()
    }

    /// Returns whether this is a whole multiple of `divisor`, exactly. Only 0 is a multiple of 0.
    pub fn is_multiple_of(&self, divisor: &Decimal) -> bool {
        if self.is_zero() || divisor.is_zero() {
            return self.is_zero();
        }
        let Ok(zeros) = u64::try_from(self.exponent - divisor.exponent) else { return false };
        let zeros = zeros.min(4 * divisor.digits.len() as u64) as usize;
        let dividend = self.digits.iter().copied().chain(core::iter::repeat_n(0, zeros));
        match divisor.digits.len() {
            ..=18 => {
                let divisor = divisor.digits.iter().fold(0u64, |n, &d| n * 10 + u64::from(d));
                let remainder =
                    dividend.fold(0u64, |r, d| ((u128::from(r) * 10 + u128::from(d)) % u128::from(divisor)) as u64);
                remainder == 0
            }
            _ => long_remainder_is_zero(dividend, &divisor.digits),
        }
    }

    /// Returns the power of ten just above the first digit: `0.1 <= |x| / 10^height < 1`.
    pub(super) fn height(&self) -> i64 {
        self.exponent + self.digits.len() as i64
    }

    fn cmp_abs(&self, other: &Decimal) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (false, false) => self.height().cmp(&other.height()).then_with(|| self.digits.cmp(&other.digits)),
            (a, b) => b.cmp(&a),
        }
    }
}

/// Long division by a divisor beyond 64 bits: numbers in limbs of nine digits, the least significant first.
fn long_remainder_is_zero(dividend: impl Iterator<Item = u8>, divisor: &[u8]) -> bool {
    const BASE: u64 = 1_000_000_000;
    let divisor: Vec<u64> =
        divisor.rchunks(9).map(|limb| limb.iter().fold(0, |n, &d| n * 10 + u64::from(d))).chain([0]).collect();
    let mut rest = vec![0u64; divisor.len()];
    for digit in dividend {
        let mut carry = u64::from(digit);
        for limb in &mut rest {
            let wide = *limb * 10 + carry;
            *limb = wide % BASE;
            carry = wide / BASE;
        }
        // The rest is below ten times the divisor.
        while rest.iter().rev().ge(divisor.iter().rev()) {
            let mut borrow = 0;
            for (limb, &d) in rest.iter_mut().zip(&divisor) {
                let wide = *limb + BASE - d - borrow;
                *limb = wide % BASE;
                borrow = u64::from(wide < BASE);
            }
        }
    }
    rest.iter().all(|&limb| limb == 0)
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_abs(other),
            (true, true) => other.cmp_abs(self),
            (a, b) => b.cmp(&a),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        let digits = value.to_string().bytes().map(|b| b - b'0').collect();
        Decimal::normalised(false, digits, 0)
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        let positive = Decimal::from(value.unsigned_abs());
        Decimal { negative: value < 0, ..positive }
    }
}

/// Writes the number as JSON does: plainly where that adds at most 20 zeros, with an exponent elsewhere.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ZEROS_MAX: i64 = 20;
        if self.is_zero() {
            return f.write_str("0");
        }
        let mut text = String::with_capacity(self.digits.len() + 24);
        if self.negative {
            text.push('-');
        }
        let as_chars = |digits: &[u8]| digits.iter().map(|&d| char::from(b'0' + d)).collect::<String>();
        let height = self.height();
        if self.exponent >= 0 && self.exponent <= ZEROS_MAX {
            text += &as_chars(&self.digits);
            text.extend(core::iter::repeat_n('0', self.exponent as usize));
        } else if self.exponent < 0 && height > 0 {
            text += &as_chars(&self.digits[..height as usize]);
            text.push('.');
            text += &as_chars(&self.digits[height as usize..]);
        } else if self.exponent < 0 && height >= -ZEROS_MAX {
            text += "0.";
            text.extend(core::iter::repeat_n('0', -height as usize));
            text += &as_chars(&self.digits);
        } else {
            text += &as_chars(&self.digits[..1]);
            if self.digits.len() > 1 {
                text.push('.');
                text += &as_chars(&self.digits[1..]);
            }
            text.push('e');
            text += &(height - 1).to_string();
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decimal({self})")
    }
}

impl DecimalError {
    /// Returns the number of digits given and their limit, if that was the bound met.
    pub fn n_digits(&self) -> Option<(usize, usize)> {
        if let Kind::Digits { given, limit } = self.kind { Some((given, limit)) } else { None }
    }
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Syntax { offset } => write!(f, "not a JSON number from byte {offset} on"),
            Kind::Digits { given, limit } => write!(f, "a number of {given} digits (limit {limit})"),
            Kind::Exponent => write!(f, "a power of ten beyond {}", Decimal::EXPONENT_MAX),
        }
    }
}

impl std::error::Error for DecimalError {}

/// Tells whether a text is a JSON number, however large.
pub(super) fn is_json_number(text: &[u8]) -> bool {
    Shape::scan(text).is_ok_and(|shape| shape.end == text.len())
}

/// Where the parts of a JSON number lie in a text.
pub(super) struct Shape {
    negative: bool,
    whole: (usize, usize),
    fraction: (usize, usize),
    /// Whether it is negative, and where its digits begin.
    exponent: Option<(bool, usize)>,
    /// The offset after the number.
    pub(super) end: usize,
}

impl Shape {
    /// Returns the shape of the number at the start of `bytes`, or the offset where a digit is missing.
    pub(super) fn scan(bytes: &[u8]) -> Result<Shape, usize> {
        let at = |i: usize| bytes.get(i).copied();
        let digits = |from: usize| {
            let n = bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
            if n == 0 { Err(from) } else { Ok(from + n) }
        };
        let negative = at(0) == Some(b'-');
        let start = usize::from(negative);
        let whole = (start, if at(start) == Some(b'0') { start + 1 } else { digits(start)? });
        let mut end = whole.1;
        let mut fraction = (end, end);
        if at(end) == Some(b'.') {
            fraction = (end + 1, digits(end + 1)?);
            end = fraction.1;
        }
        let mut exponent = None;
        if matches!(at(end), Some(b'e' | b'E')) {
            let signed = matches!(at(end + 1), Some(b'+' | b'-'));
            let start = end + 1 + usize::from(signed);
            exponent = Some((at(end + 1) == Some(b'-'), start));
            end = digits(start)?;
        }
        Ok(Shape { negative, whole, fraction, exponent, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text, 10_000).unwrap()
    }

    #[test]
    fn spellings_of_one_number_are_equal() {
        for group in [
            &["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000"][..],
            &["0", "-0", "0.0", "0e99999999999999999999", "-0.0e5"],
            &["120", "1.2e2", "12e1", "0.12e3", "120.0"],
            &["-0.5", "-5e-1", "-0.50"],
        ] {
            assert!(group.iter().all(|text| d(text) == d(group[0])), "{group:?}");
        }
        assert_ne!(d("1"), d("-1"));
        assert_ne!(d("9007199254740993"), d("9007199254740992"));
    }

    #[test]
    fn orders_by_value() {
        let ascending = [
            "-1e300",
            "-10",
            "-9.99",
            "-1",
            "-1e-999999999999",
            "0",
            "1e-300",
            "0.099",
            "0.1",
            "0.11",
            "1",
            "1.00000000000000000000000000001",
            "2",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e300",
            "1e999999999999",
        ];
        for pair in ascending.windows(2) {
            assert!(d(pair[0]) < d(pair[1]), "{pair:?}");
            assert!(d(pair[1]) > d(pair[0]), "{pair:?}");
        }
    }

    #[test]
    fn multiples_are_exact() {
        for (number, divisor, verdict) in [
            ("0.21", "0.07", true),
            ("0.22", "0.07", false),
            ("-0.21", "0.07", true),
            ("1e300", "1e-300", true),
            ("1e-300", "1e-300", true),
            ("1e-301", "1e-300", false),
            ("5e-300", "1e-300", true),
            ("1e300", "7", false),
            ("1e300", "1024", true),
            ("1e999999999999", "3", false),
            ("3e999999999999", "0.3", true),
            ("4.5", "1.5", true),
            ("0", "0.01", true),
            ("35", "1.5", false),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("1e308", "0.123456789", false),
            ("1e308", "0.5", true),
            ("100000000000000000000000000000001", "100000000000000000000000000000001", true),
            ("300000000000000000000000000000003e5", "100000000000000000000000000000001", true),
            ("300000000000000000000000000000004e5", "100000000000000000000000000000001", false),
            ("1e40", "1267650600228229401496703205376", false),
            ("1e100", "1267650600228229401496703205376", true),
            ("0", "0", true),
            ("1", "0", false),
        ] {
            assert_eq!(d(number).is_multiple_of(&d(divisor)), verdict, "{number} by {divisor}");
        }
    }

    #[test]
    fn integers_and_conversions() {
        assert!(d("1.0").is_integer() && d("1e2").is_integer() && d("-3").is_integer() && d("0.0").is_integer());
        assert!(!d("0.5").is_integer() && !d("1e-1").is_integer());
        assert_eq!(d("18446744073709551615").to_u64(), Some(u64::MAX));
        assert_eq!(d("18446744073709551616").to_u64(), None);
        assert_eq!(d("1.2e1").to_u64(), Some(12));
        assert_eq!(d("-1").to_u64(), None);
        assert_eq!(d("1e999999999999").to_u64(), None);
        assert_eq!(Decimal::from(i64::MIN), d("-9223372036854775808"));
        assert_eq!(Decimal::from(0u64), d("0"));
    }

    #[test]
    fn texts_that_are_not_numbers_and_bounds() {
        for text in ["", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "1 ", " 1", "--1", "1.e1", "NaN", "1,", "é"]
        {
            assert!(Decimal::parse(text, 100).is_err(), "{text:?}");
        }
        assert_eq!(Decimal::parse("123.456", 5).unwrap_err().n_digits(), Some((6, 5)));
        let error = Decimal::parse("1e1000000000000001", 5).unwrap_err();
        assert_eq!(error.to_string(), "a power of ten beyond 1000000000000000");
        assert_eq!(Decimal::parse("1x", 5).unwrap_err().to_string(), "not a JSON number from byte 1 on");
    }

    #[test]
    fn prints_plainly_where_that_is_short() {
        for text in ["0", "-1", "120", "0.07", "-12.5", "1e300", "1.25e-40", "9007199254740993", "1e-300"] {
            assert_eq!(d(text).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(a in any::<i64>(), b in 1i64..100_000, shift in 0u32..12) {
            let scaled = |n: i64| d(&format!("{n}e-{shift}"));
            prop_assert_eq!(scaled(a).cmp(&scaled(b)), a.cmp(&b));
            prop_assert_eq!(scaled(a).is_multiple_of(&scaled(b)), a % b == 0);
            prop_assert_eq!(d(&scaled(a).to_string()), scaled(a));
            prop_assert_eq!(scaled(a).is_integer(), a % 10i64.pow(shift) == 0);
            prop_assert_eq!(scaled(a).negated(), d(&format!("{}e-{shift}", -i128::from(a))));
        }

        #[test]
        fn scaled_integers_come_back(a in any::<i128>(), zeros in 0u32..30, exponent in -50i64..50, up in 0i64..5) {
            let a = a / 10i128.pow(zeros);
            let decimal = Decimal::from_scaled(a, exponent).unwrap();
            prop_assert_eq!(&decimal, &d(&format!("{a}e{exponent}")));
            if a != i128::MIN {
                prop_assert_eq!(decimal.to_scaled(exponent), Some(a));
            }
            prop_assert_eq!(decimal.to_scaled(exponent - up), a.checked_mul(10i128.pow(up as u32)));
            let is_whole = a % 10i128.pow(up as u32) == 0;
            prop_assert_eq!(decimal.to_scaled(exponent + up), is_whole.then(|| a / 10i128.pow(up as u32)));
            prop_assert!(Decimal::from_scaled(1, Decimal::EXPONENT_MAX + 1).is_none());
        }

        #[test]
        fn long_division_agrees_with_128_bits(a in any::<u128>(), b in 1u128.., zeros in 0u32..4, factor in any::<u8>()) {
            let quick = |a: u128, b: u128| d(&a.to_string()).is_multiple_of(&d(&b.to_string()));
            let a = a / 10u128.pow(zeros) * 10u128.pow(zeros);
            prop_assert_eq!(quick(a, b), a % b == 0);
            let b = b >> 12;
            if b > 0 {
                prop_assert!(quick(b * u128::from(factor), b));
            }
        }
    }
}

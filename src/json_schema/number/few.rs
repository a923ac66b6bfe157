//! The automaton of a short list of numbers.
//!
//! Between 0 and 100000 there are 12 multiples of 7919. An automaton of remainders has 7919 states for each number of digits; that of the
//! 12 texts has some 60. All texts are written with the same number of digits after the point, and sorted; a state is a range of texts with a
//! common prefix. A number may end before the zeros at the end of its fraction, and may be followed by further zeros there.

use super::empty::Multiples;
use super::{NumberError, NumberSet};
use crate::Limits;
use crate::json_schema::decimal::Decimal;
use crate::regular::{Dfa, Work};

/// Most numbers that are tried for a list.
const MULTIPLES_MAX: i128 = 1 << 14;

/// Most digits after the point, or before it, of a number in a list.
const DIGITS_MAX: i64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// The texts in `first..end` have a common prefix of `n` bytes, which was read.
    Texts { first: u32, end: u32, n: u32 },
    /// After a complete text, in zeros of a fraction.
    Zeros { has_digit: bool },
}

/// Returns whether the bounds of a set leave few multiples.
pub(super) fn is_list(set: &NumberSet) -> bool {
    let (Some(lower), Some(upper)) = (&set.lower, &set.upper) else { return false };
    let Ok(Some(step)) = set.step() else { return false };
    Multiples::between(lower, upper, &step).is_some_and(|multiples| multiples.n <= MULTIPLES_MAX)
}

/// Returns the automaton of the plain texts of a set whose members are few multiples, fewer than `n_remainders`, the states for each digit
/// otherwise; `None` for other sets.
pub(super) fn language(
    set: &NumberSet,
    has_fractions: bool,
    n_remainders: u128,
    limits: &Limits,
    work: &mut Work<'_>,
) -> Result<Option<Dfa>, NumberError> {
    let (Some(lower), Some(upper)) = (&set.lower, &set.upper) else { return Ok(None) };
    let Some(step) = set.step()?.filter(|_| n_remainders > 1) else { return Ok(None) };
    let Some(multiples) = Multiples::between(lower, upper, &step) else { return Ok(None) };
    if multiples.n > MULTIPLES_MAX || multiples.n.unsigned_abs() > n_remainders {
        return Ok(None);
    }
    let Some(values) = (0..multiples.n).map(|k| multiples.get(k)).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let values: Vec<Decimal> = values.into_iter().filter(|value| set.contains(value)).collect();
    if values.iter().any(|value| value.height() > DIGITS_MAX || value.exponent() < -DIGITS_MAX) {
        return Ok(None);
    }
    let n_fraction = values.iter().map(|value| -value.exponent()).max().unwrap_or(0).max(0);
    let mut texts: Vec<Vec<u8>> = values.iter().map(|value| text(value, n_fraction)).collect();
    if values.iter().any(Decimal::is_zero) {
        texts.push([b"-", &*text(&Decimal::default(), n_fraction)].concat());
    }
    texts.sort_unstable();
    let start = Place::Texts { first: 0, end: texts.len() as u32, n: 0 };
    let step = |place: &Place, edges: &mut _| step_list(&texts, n_fraction > 0, has_fractions, *place, edges);
    Ok(Some(Dfa::unfold(start, step, limits, work)?))
}

/// Writes a number plainly, with this many digits after the point.
fn text(value: &Decimal, n_fraction: i64) -> Vec<u8> {
    let digit = |place: i64| {
        let idx = value.exponent() + value.digits().len() as i64 - 1 - place;
        b'0' + usize::try_from(idx).ok().and_then(|idx| value.digits().get(idx).copied()).unwrap_or(0)
    };
    let mut text = Vec::new();
    text.extend(value.is_negative().then_some(b'-'));
    text.extend((0..value.height().max(1)).rev().map(digit));
    if n_fraction > 0 {
        text.push(b'.');
        text.extend((1..=n_fraction).map(|n| digit(-n)));
    }
    text
}

fn step_list(
    texts: &[Vec<u8>],
    has_points: bool,
    has_fractions: bool,
    place: Place,
    edges: &mut Vec<(u8, u8, Place)>,
) -> bool {
    let zeros = (b'0', b'0', Place::Zeros { has_digit: true });
    let (first, end, n) = match place {
        Place::Zeros { has_digit } => {
            edges.push(zeros);
            return has_digit;
        }
        Place::Texts { first, end, n } => (first as usize, end as usize, n as usize),
    };
    let Some(text) = texts[first..end].first() else { return false };
    let is_complete = text.len() == n;
    if is_complete && has_points {
        edges.push(zeros);
    } else if is_complete && has_fractions {
        edges.push((b'.', b'.', Place::Zeros { has_digit: false }));
    }
    let mut from = first + usize::from(is_complete);
    while let Some(byte) = texts[from..end].first().map(|text| text[n]) {
        let to = from + texts[from..end].partition_point(|text| text[n] == byte);
        edges.push((byte, byte, Place::Texts { first: from as u32, end: to as u32, n: n as u32 + 1 }));
        from = to;
    }
    // Among texts with a common prefix, one that continues with zeros only is the first.
    let is_whole_over = !text[..n].contains(&b'.') && text[n..].starts_with(b".");
    let is_fraction = n > 0 && text[..n].contains(&b'.') && text[n - 1] != b'.';
    let is_zeros = |rest: &[u8]| rest.iter().all(|&byte| byte == b'0');
    is_complete || (is_whole_over && is_zeros(&text[n + 1..])) || (is_fraction && is_zeros(&text[n..]))
}

//! Texts that overlap: which ends of one are beginnings of another.

use super::SyntaxError;
use crate::grammar::{Expr, ExprId};

/// Returns the places of `text`, ascending, behind which the rest of it is a beginning of `other`, neither empty nor all of `other`.
///
/// The classical failure function (Knuth, Morris and Pratt, *Fast pattern matching in strings*, 1977): linear in both.
pub(super) fn ends_that_begin(text: &str, other: &str) -> Vec<usize> {
    let other = other.as_bytes();
    // By place in `other`: the length of its longest proper beginning that ends there.
    let mut shorter = vec![0usize; other.len()];
    let step = |shorter: &[usize], mut length: usize, byte: u8| {
        while length > 0 && (length == other.len() || other[length] != byte) {
            length = shorter[length - 1];
        }
        length + usize::from(other.get(length) == Some(&byte))
    };
    for place in 1..other.len() {
        shorter[place] = step(&shorter, shorter[place - 1], other[place]);
    }
    let mut length = text.bytes().fold(0, |length, byte| step(&shorter, length, byte));
    let mut places = Vec::new();
    while length > 0 {
        if length < other.len() {
            places.push(text.len() - length);
        }
        length = shorter[length - 1];
    }
    places
}

/// Adds the choice of some beginnings of a text, which end at ascending places: each is the one before and a bit more, so that this is linear.
pub(super) fn beginnings(
    text: &str,
    ends: &[usize],
    push: &mut dyn FnMut(Expr) -> Result<ExprId, SyntaxError>,
) -> Result<ExprId, SyntaxError> {
    let mut rest = None;
    for (index, &end) in ends.iter().enumerate().rev() {
        let start = if index == 0 { 0 } else { ends[index - 1] };
        let more = push(Expr::Literal(text.as_bytes()[start..end].into()))?;
        rest = Some(match rest {
            None => more,
            Some(rest) => {
                let rest = push(Expr::Repeat { body: rest, min: 0, max: Some(1) })?;
                push(Expr::Sequence([more, rest].into()))?
            }
        });
    }
    match rest {
        Some(all) => Ok(all),
        None => push(Expr::Choice([].into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    #[test]
    fn ends_are_those_that_trying_each_finds() {
        let mut rng = Rng::new(9);
        let mut text = |n: usize| -> String { (0..rng.below(n)).map(|_| ["a", "b", "é"][rng.below(3)]).collect() };
        for _ in 0..2000 {
            let (one, other) = (text(9), text(9));
            let is_end = |at: &usize| one.len() - at < other.len() && other.starts_with(&one[*at..]);
            let expected: Vec<usize> = one.char_indices().map(|(at, _)| at).filter(is_end).collect();
            assert_eq!(ends_that_begin(&one, &other), expected, "{one} {other}");
        }
        assert_eq!(ends_that_begin(&"a".repeat(100_000), &"a".repeat(100_000)).len(), 99_999);
    }
}

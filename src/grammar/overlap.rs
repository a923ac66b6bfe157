//! Texts that overlap: which ends of one are beginnings of another.

use super::{Expr, ExprId};

/// A text, prepared to be looked for at the ends of others.
///
/// The classical failure function (Knuth, Morris and Pratt, *Fast pattern matching in strings*, 1977): linear in the text and in each other one.
pub(crate) struct Beginning<'t> {
    text: &'t [u8],
    /// By place in the text: the length of its longest proper beginning that ends there.
    shorter: Vec<usize>,
}

impl<'t> Beginning<'t> {
    pub fn new(text: &'t str) -> Self {
        let mut beginning = Beginning { text: text.as_bytes(), shorter: vec![0; text.len()] };
        for place in 1..text.len() {
            beginning.shorter[place] = beginning.step(beginning.shorter[place - 1], beginning.text[place]);
        }
        beginning
    }

    /// Returns the length of the longest beginning that ends behind a byte, given the one that ends before it.
    fn step(&self, mut length: usize, byte: u8) -> usize {
        while length > 0 && self.text.get(length) != Some(&byte) {
            length = self.shorter[length - 1];
        }
        length + usize::from(self.text.get(length) == Some(&byte))
    }

    /// Returns the places of `other`, ascending and none of them 0, behind which the rest of it is a beginning of the text, perhaps all of it.
    pub fn places_in(&self, other: &str) -> Vec<usize> {
        let mut length = other.bytes().fold(0, |length, byte| self.step(length, byte));
        let mut places = Vec::new();
        while length > 0 {
            if length < other.len() {
                places.push(other.len() - length);
            }
            length = self.shorter[length - 1];
        }
        places
    }
}

/// Adds the choice of some beginnings of a text, which end at ascending places: each is the one before and a bit more, so that this is linear.
pub(crate) fn beginnings<E>(
    text: &str,
    ends: &[usize],
    push: &mut dyn FnMut(Expr) -> Result<ExprId, E>,
) -> Result<ExprId, E> {
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
    fn places_are_those_that_trying_each_finds() {
        let mut rng = Rng::new(9);
        let mut text = |n: usize| -> String { (0..rng.below(n)).map(|_| ["a", "b", "é"][rng.below(3)]).collect() };
        for _ in 0..2000 {
            let (one, other) = (text(9), text(9));
            let is_place = |at: &usize| *at > 0 && other.starts_with(&one[*at..]);
            let expected: Vec<usize> = one.char_indices().map(|(at, _)| at).filter(is_place).collect();
            assert_eq!(Beginning::new(&other).places_in(&one), expected, "{one} {other}");
        }
        let long = "a".repeat(100_000);
        assert_eq!(Beginning::new(&long).places_in(&long).len(), 99_999);
    }
}

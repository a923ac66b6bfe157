//! Counting pieces along an automaton: the texts of a language that have `min` to `max` characters.
//!
//! `^(\S+\s){0,49}\S+$` with at most 500 characters is a small automaton, but a product with 500 lengths has half a million states. A
//! register that counts characters beside the automaton needs none of them. Other than the copies of a [`Counter`](super::Counter), of
//! which each begins in the same state, a piece leads from one state of the automaton to another, and how many more it takes to the end
//! depends on the state: from behind a space one more character at least. So each state has bounds of its own, which say
//! whether the count can still come out right: no text goes on that can't be completed.

use super::Register;

/// What a state asks of the count of pieces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Length {
    /// Whether a piece is complete on arrival.
    pub counts: bool,
    /// Whether the text may end here, with `min` pieces.
    pub may_end: bool,
    /// The least number of pieces of the whole text.
    pub min: u32,
    /// The greatest count on arrival, if there is a bound.
    pub arrival_max: Option<u32>,
}

impl Length {
    /// Returns the count on arrival, or `None` when nothing that follows could make it right.
    #[inline]
    pub fn arrive(&self, register: Register) -> Option<Register> {
        let count = register + u64::from(self.counts);
        match self.arrival_max {
            Some(max) if count > u64::from(max) => None,
            Some(_) => Some(count),
            // Beyond the minimum all numbers are the same.
            None => Some(count.min(u64::from(self.min))),
        }
    }

    /// Tells whether the text may end here.
    #[inline]
    pub fn may_end(&self, register: Register) -> bool {
        self.may_end && register >= u64::from(self.min)
    }

    /// Returns the tally that stands for several of one automaton when it is asked for signatures.
    pub fn strictest(self, other: Length) -> Length {
        let least = |a: Option<u32>, b: Option<u32>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Length {
            counts: self.counts || other.counts,
            may_end: self.may_end || other.may_end,
            min: self.min.max(other.min),
            arrival_max: least(self.arrival_max, other.arrival_max),
        }
    }

    /// Tells whether `horizon` further pieces reach no upper bound, if this is the strictest of the automaton's tallies.
    pub fn is_far(&self, register: Register, horizon: u32) -> bool {
        self.arrival_max.is_none_or(|bound| register + u64::from(horizon) < u64::from(bound))
    }

    /// Tells whether `horizon` further pieces reach no bound at all, if this is the strictest of the automaton's tallies.
    pub fn is_level(&self, register: Register, horizon: u32) -> bool {
        let min = u64::from(self.min);
        self.is_far(register, horizon) && (register >= min || register + u64::from(horizon) < min)
    }

    /// Returns a count that no `horizon` further pieces can tell from `register`, if this is the strictest of the automaton's tallies.
    pub fn signature(&self, register: Register, horizon: u32) -> Register {
        let is_far = |bound: u32| register + u64::from(horizon) < u64::from(bound);
        let min = u64::from(self.min);
        match register {
            _ if !self.is_far(register, horizon) => register,
            // The minimum is not greater, so it is as far from the bounds.
            register if register >= min => min,
            _ if is_far(self.min) => 0,
            register => register,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_between_bounds() {
        let end = Length { counts: true, may_end: true, min: 2, arrival_max: Some(4) };
        let counts: Vec<_> = (0..5).map(|n| end.arrive(n)).collect();
        assert_eq!(counts, [Some(1), Some(2), Some(3), Some(4), None]);
        assert_eq!((1..=4).map(|n| end.may_end(n)).collect::<Vec<_>>(), [false, true, true, true]);
        let open = Length { arrival_max: None, ..end };
        assert_eq!((open.arrive(2), open.arrive(1)), (Some(2), Some(2)));
        let inside = Length { counts: false, ..end };
        assert_eq!((inside.arrive(4), inside.arrive(5)), (Some(4), None));
    }

    #[test]
    fn signatures_agree_within_the_horizon() {
        const HORIZON: u32 = 4;
        for (min, max) in [(1, None), (20, None), (1, Some(30)), (20, Some(30)), (20, Some(20))] {
            let to_end =
                |n: u32| Length { counts: true, may_end: n == 0, min, arrival_max: max.map(|max: u32| max - n) };
            let states = [to_end(0), to_end(1), to_end(7)];
            let owner = states.into_iter().reduce(Length::strictest).unwrap();
            let answers = |mut register: Register, turns: &[usize]| -> Vec<Option<bool>> {
                let mut found = Vec::new();
                for &turn in turns {
                    let Some(next) = states[turn].arrive(register) else {
                        found.push(None);
                        break;
                    };
                    register = next;
                    found.push(Some(states[turn].may_end(register)));
                }
                found
            };
            for register in 0..=u64::from(max.unwrap_or(min)) {
                let signature = owner.signature(register, HORIZON);
                for turns in 0..81 {
                    let turns = [turns % 3, turns / 3 % 3, turns / 9 % 3, turns / 27];
                    assert_eq!(answers(register, &turns), answers(signature, &turns), "{min} {max:?} {register}");
                }
            }
        }
    }
}

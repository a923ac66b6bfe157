//! Length bounds: the texts of a regular language that have `min` to `max` characters.
//!
//! `^(\S+\s){0,49}\S+$` with at most 500 characters is a small automaton, but its product with 500 lengths has half a million states. A
//! register that counts characters beside the automaton needs none of them. The copies that a [`Counter`](super::Counter) counts all begin
//! in the same state; a character leads from one state to another, and how many more it takes to the end depends on the state: after a
//! space at least one. So each state has bounds of its own, which refuse a count as soon as no continuation can satisfy `min` and `max`:
//! no text that is accepted as a prefix is a dead end.

use super::Register;

/// What a state requires of the number of characters read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Length {
    /// Whether entering the state completes a character.
    pub counts_char: bool,
    /// Whether the text may end here, with at least `min` characters.
    pub is_accepting: bool,
    /// The least number of characters of the whole text.
    pub min: u32,
    /// The greatest count with which the state may be entered, if there is an upper bound.
    pub arrival_max: Option<u32>,
}

impl Length {
    /// Returns the count after entering the state, or `None` if no continuation can satisfy the bounds.
    #[inline]
    pub fn advance(&self, register: Register) -> Option<Register> {
        let count = register + u64::from(self.counts_char);
        match self.arrival_max {
            Some(max) if count > u64::from(max) => None,
            Some(_) => Some(count),
            // All counts from the minimum on are equivalent.
            None => Some(count.min(u64::from(self.min))),
        }
    }

    /// Returns whether the text may end here.
    #[inline]
    pub fn can_end(&self, register: Register) -> bool {
        self.is_accepting && register >= u64::from(self.min)
    }

    /// Returns whether the text may continue: where it may end, one more character may be too many. Elsewhere [`Length::advance`] has refused every count that can't be continued.
    #[inline]
    pub fn can_continue(&self, register: Register) -> bool {
        !self.is_accepting || self.arrival_max.is_none_or(|max| register < u64::from(max))
    }

    /// Returns bounds at least as strict as both, for the three functions below: one such rule speaks for all states of an automaton.
    pub fn strictest(self, other: Length) -> Length {
        let least = |a: Option<u32>, b: Option<u32>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Length {
            counts_char: self.counts_char || other.counts_char,
            is_accepting: self.is_accepting || other.is_accepting,
            min: self.min.max(other.min),
            arrival_max: least(self.arrival_max, other.arrival_max),
        }
    }

    /// Returns whether `horizon` more characters stay below every upper bound. Asked of the automaton's strictest rule.
    pub fn upper_bound_out_of_reach(&self, register: Register, horizon: u32) -> bool {
        self.arrival_max.is_none_or(|bound| register + u64::from(horizon) < u64::from(bound))
    }

    /// Returns a count that no `horizon` further characters can tell from `register`. Asked of the automaton's strictest rule.
    pub fn signature(&self, register: Register, horizon: u32) -> Register {
        let is_out_of_reach = |bound: u32| register + u64::from(horizon) < u64::from(bound);
        let min = u64::from(self.min);
        match register {
            _ if !self.upper_bound_out_of_reach(register, horizon) => register,
            // The minimum is not greater than the count, so the upper bound is out of its reach too.
            register if register >= min => min,
            _ if is_out_of_reach(self.min) => 0,
            register => register,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_between_bounds() {
        let end = Length { counts_char: true, is_accepting: true, min: 2, arrival_max: Some(4) };
        let counts: Vec<_> = (0..5).map(|n| end.advance(n)).collect();
        assert_eq!(counts, [Some(1), Some(2), Some(3), Some(4), None]);
        assert_eq!((1..=4).map(|n| end.can_end(n)).collect::<Vec<_>>(), [false, true, true, true]);
        let open = Length { arrival_max: None, ..end };
        assert_eq!((open.advance(2), open.advance(1)), (Some(2), Some(2)));
        let inside = Length { counts_char: false, ..end };
        assert_eq!((inside.advance(4), inside.advance(5)), (Some(4), None));
    }

    #[test]
    fn signatures_agree_within_the_horizon() {
        const HORIZON: u32 = 4;
        for (min, max) in [(1, None), (20, None), (1, Some(30)), (20, Some(30)), (20, Some(20))] {
            let to_end = |n: u32| Length {
                counts_char: true,
                is_accepting: n == 0,
                min,
                arrival_max: max.map(|max: u32| max - n),
            };
            let states = [to_end(0), to_end(1), to_end(7)];
            let owner = states.into_iter().reduce(Length::strictest).unwrap();
            let answers = |mut register: Register, turns: &[usize]| -> Vec<Option<bool>> {
                let mut found = Vec::new();
                for &turn in turns {
                    let Some(next) = states[turn].advance(register) else {
                        found.push(None);
                        break;
                    };
                    register = next;
                    found.push(Some(states[turn].can_end(register)));
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

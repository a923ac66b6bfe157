//! Token budgets: the texts of a regular language that are written with at most so many tokens, as far as they can end there.
//!
//! Each token counts that begins or goes on with the text. When the budget is spent, only bytes may follow that lead the shortest way to an end of the text: none at all where it can end.
//! So the budget ends a text as soon as it can end, and never leaves it where it can't: each text that is begun can be completed. Text of characters, which can end behind each of them,
//! has at most that many tokens, but for those that finish a character.
//!
//! ```text
//! [ab]*         with a budget of 2    tokens `a` `ba`, and then nothing: the text has ended
//! [ab]* "</a>"  with a budget of 2    tokens `a` `ba`, and then `</a>`, whatever tokens it takes
//! [ab]{3,}      with a budget of 2    tokens `a` `b`, and then one more letter
//! ```
//!
//! The register says how much of the budget is left, and whether the token under way was counted:
//!
//! ```text
//! 0: nothing yet    1: within the first token    2: behind it    3: within the second    4: ...
//! ```
//!
//! A smaller register can go on in every way in which a larger one can. Between two tokens ([`after_token`](TokenBudget::after_token)) an odd one becomes the next even one.

use super::Register;

/// What a state requires of the number of tokens, and how entering the state counts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenBudget {
    /// Whether the state is entered on a shortest way to the end: one byte nearer to it than before.
    pub is_nearer: bool,
    /// Whether the text may end here.
    pub is_accepting: bool,
    /// The most tokens, at least one.
    pub max: u32,
}

impl TokenBudget {
    /// Returns the register after entering the state, or `None` if no token is left.
    #[inline]
    pub fn advance(&self, register: Register) -> Option<Register> {
        match register.is_multiple_of(2) {
            true if self.is_spent(register) => self.is_nearer.then_some(register),
            true => Some(register + 1),
            false => Some(register),
        }
    }

    /// Returns whether the text may go on from this state.
    #[inline]
    pub fn can_continue(&self, register: Register) -> bool {
        !(self.is_accepting && self.is_spent(register))
    }

    /// Returns the register where a token ends.
    #[inline]
    pub fn after_token(register: Register) -> Register {
        register.next_multiple_of(2)
    }

    /// Returns whether all tokens were counted, and the last of them has ended.
    #[inline]
    fn is_spent(&self, register: Register) -> bool {
        register >= 2 * u64::from(self.max)
    }

    /// Returns whether the budget can't end a text before the token under way, or the next one, ends.
    pub fn is_out_of_reach(&self, register: Register) -> bool {
        !self.is_spent(register)
    }

    /// Returns a register that no token can tell from `register`.
    pub fn signature(&self, register: Register) -> Register {
        match register {
            _ if self.is_spent(register) => register,
            register => register % 2,
        }
    }

    /// Returns a budget at least as strict as both, of states of one automaton.
    pub fn strictest(self, other: TokenBudget) -> TokenBudget {
        debug_assert_eq!(self.max, other.max);
        TokenBudget {
            is_nearer: self.is_nearer && other.is_nearer,
            is_accepting: self.is_accepting || other.is_accepting,
            max: self.max.min(other.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_count_until_the_shortest_way_is_left() {
        let state = |is_nearer| TokenBudget { is_nearer, is_accepting: true, max: 2 };
        let (other, nearer) = (state(false), state(true));
        assert_eq!((other.advance(0), other.advance(1), nearer.advance(0)), (Some(1), Some(1), Some(1)));
        let second = nearer.advance(TokenBudget::after_token(1)).unwrap();
        assert_eq!((second, other.advance(second), TokenBudget::after_token(second)), (3, Some(3), 4));
        assert!(other.advance(4).is_none() && !other.can_continue(4) && nearer.advance(4) == Some(4));
        assert!(other.can_continue(3) && TokenBudget { is_accepting: false, ..other }.can_continue(4));
        assert_eq!((0..5).map(|register| other.signature(register)).collect::<Vec<_>>(), [0, 1, 0, 1, 4]);
    }
}

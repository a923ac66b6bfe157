//! Token budgets: the texts of a regular language that are written with at most so many tokens.
//!
//! A token counts once it reads on from a place where the text could have ended, or from its beginning; a token that only finishes what was begun, like the last bytes of a character,
//! does not. So the budget ends a text where it can end, and never leaves it where it can't: whatever the vocabulary is, each text that is begun can be completed. Text of characters, which can
//! end behind each of them, has exactly that many tokens.
//!
//! ```text
//! [ab]* "." with a budget of 2             tokens `a` `b` `.`: none of them begins where the text could end but the first, so it is one token
//! [ab]*     with a budget of 2             tokens `a` `ba`, and then nothing: the text has ended
//! ```
//!
//! The register says how much of the budget is left, and whether the token under way counts already:
//!
//! ```text
//! 0: nothing yet    1: the first token counts    2: one counted, and another one may begin    3: the second counts    4: ...
//! ```
//!
//! A smaller register can go on in every way in which a larger one can. Between two tokens ([`after_token`](TokenBudget::after_token)) an odd one becomes the next even one.

use super::Register;

/// What a state requires of the number of tokens, and how entering the state counts them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TokenBudget {
    /// Whether the state is entered from a place where the text could have ended, or from its beginning.
    pub reads_on: bool,
    /// Whether the text may end here.
    pub is_accepting: bool,
    /// The most tokens, at least one.
    pub max: u32,
}

impl TokenBudget {
    /// Returns the register after entering the state, or `None` if no token is left.
    #[inline]
    pub fn advance(&self, register: Register) -> Option<Register> {
        match register.is_multiple_of(2) && self.reads_on {
            true if self.is_spent(register) => None,
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
            reads_on: self.reads_on || other.reads_on,
            is_accepting: self.is_accepting || other.is_accepting,
            max: self.max.min(other.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_count_where_they_read_on() {
        let state = |reads_on| TokenBudget { reads_on, is_accepting: true, max: 2 };
        let (next, inner) = (state(true), state(false));
        assert_eq!((next.advance(0), next.advance(1), inner.advance(0)), (Some(1), Some(1), Some(0)));
        let second = next.advance(TokenBudget::after_token(1)).unwrap();
        assert_eq!((second, next.advance(second), TokenBudget::after_token(second)), (3, Some(3), 4));
        assert!(next.advance(4).is_none() && !next.can_continue(4) && inner.advance(4) == Some(4));
        assert!(next.can_continue(3) && TokenBudget { is_accepting: false, ..next }.can_continue(4));
        assert_eq!((0..5).map(|register| next.signature(register)).collect::<Vec<_>>(), [0, 1, 0, 1, 4]);
    }
}

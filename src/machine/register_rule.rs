//! How the states of one automaton read and change a register.
//!
//! A [`Counter`](super::Counter) counts whole copies of a body from outside. Here the register changes with the steps of one automaton:
//! entering a state updates it, and the state's rule says whether the text may end or continue with the new value. All states of a
//! grammar rule use the same kind of register.

use super::{Length, Register, Residue, TokenBudget};
use std::sync::Arc;

/// What a state requires of the register, and how entering the state changes it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterRule {
    /// The register counts characters.
    Length(Length),
    /// The register is a residue modulo some number.
    Residue(Arc<Residue>),
    /// The register counts tokens.
    Tokens(TokenBudget),
}

impl RegisterRule {
    /// Returns the register after entering the state, or `None` if no continuation can satisfy the rule.
    #[inline]
    pub fn advance(&self, register: Register) -> Option<Register> {
        match self {
            RegisterRule::Length(length) => length.advance(register),
            RegisterRule::Residue(residue) => residue.advance(register),
            RegisterRule::Tokens(budget) => budget.advance(register),
        }
    }

    /// Returns the register where a token ends.
    #[inline]
    pub fn after_token(&self, register: Register) -> Register {
        match self {
            RegisterRule::Length(_) | RegisterRule::Residue(_) => register,
            RegisterRule::Tokens(_) => TokenBudget::after_token(register),
        }
    }

    /// Returns a register that can go on in every way in which one of two can, if there is one.
    pub fn join(&self, register: Register, other: Register) -> Option<Register> {
        match self {
            RegisterRule::Length(_) | RegisterRule::Residue(_) => None,
            RegisterRule::Tokens(_) => Some(register.min(other)),
        }
    }

    /// Returns whether entering the state may count a token.
    pub fn counts_tokens(&self) -> bool {
        matches!(self, RegisterRule::Tokens(_))
    }

    /// Returns whether the text may end in this state.
    #[inline]
    pub fn can_end(&self, register: Register) -> bool {
        match self {
            RegisterRule::Length(length) => length.can_end(register),
            RegisterRule::Residue(residue) => residue.can_end(register),
            RegisterRule::Tokens(budget) => budget.is_accepting,
        }
    }

    /// Returns whether the text may continue from this state.
    #[inline]
    pub fn can_continue(&self, register: Register) -> bool {
        match self {
            RegisterRule::Length(length) => length.can_continue(register),
            RegisterRule::Residue(residue) => residue.can_continue(register),
            RegisterRule::Tokens(budget) => budget.can_continue(register),
        }
    }

    /// Returns whether the text may end in this state with some register.
    pub fn can_ever_end(&self) -> bool {
        match self {
            RegisterRule::Length(length) => length.is_accepting,
            RegisterRule::Residue(residue) => residue.can_ever_end(),
            RegisterRule::Tokens(budget) => budget.is_accepting,
        }
    }

    /// Returns whether entering the state counts one more character.
    pub fn counts_chars(&self) -> bool {
        matches!(self, RegisterRule::Length(length) if length.counts_char)
    }

    /// Returns a lower bound on the number of characters that must still follow.
    #[cfg(feature = "testing")]
    pub fn n_missing(&self, register: Register) -> u64 {
        match self {
            RegisterRule::Length(length) => u64::from(length.min).saturating_sub(register),
            RegisterRule::Residue(residue) => residue.n_missing(register),
            RegisterRule::Tokens(_) => 0,
        }
    }

    /// Returns about how much memory the rule takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                RegisterRule::Length(_) | RegisterRule::Tokens(_) => 0,
                RegisterRule::Residue(residue) => residue.memory_bytes(),
            }
    }

    /// Returns a rule at least as strict as both, for the two functions below: one such rule speaks for all states of an automaton.
    pub fn strictest(self, other: RegisterRule) -> RegisterRule {
        match (self, other) {
            (RegisterRule::Length(a), RegisterRule::Length(b)) => RegisterRule::Length(a.strictest(b)),
            (RegisterRule::Tokens(a), RegisterRule::Tokens(b)) => RegisterRule::Tokens(a.strictest(b)),
            // A residue is its own signature, whatever the state.
            (residue @ RegisterRule::Residue(_), _) | (_, residue) => residue,
        }
    }

    /// Returns whether `horizon` more characters stay below every upper bound. Asked of the automaton's strictest rule.
    pub fn upper_bound_out_of_reach(&self, register: Register, horizon: u32) -> bool {
        match self {
            RegisterRule::Length(length) => length.upper_bound_out_of_reach(register, horizon),
            RegisterRule::Residue(_) => false,
            RegisterRule::Tokens(budget) => budget.is_out_of_reach(register),
        }
    }

    /// Returns a register that no `horizon` further characters can tell from `register`. Asked of the automaton's strictest rule.
    pub fn signature(&self, register: Register, horizon: u32) -> Register {
        match self {
            RegisterRule::Length(length) => length.signature(register, horizon),
            RegisterRule::Tokens(budget) => budget.signature(register),
            RegisterRule::Residue(_) => register,
        }
    }
}

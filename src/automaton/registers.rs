//! What the states of a unit do to a register and ask of it, whichever rule is behind them: a [`Counter`](crate::machine::Counter) or a
//! [`RegisterRule`](crate::machine::RegisterRule).

use super::{Kind, LocalState, Owner, Unit};

impl Unit {
    /// Returns the register behind one more copy or piece that `state` counts; nothing if no text goes on with so many.
    #[inline]
    pub fn advance(&self, state: LocalState, register: u64) -> Option<u64> {
        match self.info(state).kind {
            Kind::Loop { counter } | Kind::BodyEnd { counter, .. } => self.counter(counter).advance(register),
            Kind::RegisterRule { register_rule } => self.register_rule(register_rule).advance(register),
            Kind::Inner | Kind::End | Kind::DistinctValue(_) => Some(register),
        }
    }

    /// Tells whether the unit may end in `state`, without one more byte.
    #[inline]
    pub fn can_end(&self, state: LocalState, register: u64) -> bool {
        match self.info(state).kind {
            Kind::End => true,
            Kind::Loop { counter } => self.counter(counter).can_end(register),
            Kind::RegisterRule { register_rule } => self.register_rule(register_rule).can_end(register),
            Kind::Inner | Kind::BodyEnd { .. } | Kind::DistinctValue(_) => false,
        }
    }

    /// Tells whether what is counted lets the moves of `state` go on.
    #[inline]
    pub fn can_continue(&self, state: LocalState, register: u64) -> bool {
        match self.info(state).kind {
            Kind::Loop { counter } => self.counter(counter).can_continue(register),
            Kind::RegisterRule { register_rule } => self.register_rule(register_rule).can_continue(register),
            Kind::Inner | Kind::End | Kind::BodyEnd { .. } | Kind::DistinctValue(_) => true,
        }
    }

    /// Returns the register that stands for both of two in `state`, which differ, if there is one.
    pub fn join(&self, state: LocalState, register: u64, other: u64) -> Option<u64> {
        let info = self.info(state);
        debug_assert!(!matches!((info.kind, info.owner), (Kind::End, Some(Owner::Counter(_)))));
        match info.owner? {
            Owner::Counter(counter) => self.counter(counter).join(register, other),
            Owner::RegisterRules(register_rule) => self.register_rule(register_rule).join(register, other),
            Owner::DistinctValues(_) => None,
        }
    }

    /// Returns a register that no `horizon` bytes can tell from `register` in `state`, whatever values there are.
    pub fn signature(&self, state: LocalState, register: u64, horizon: u32) -> u64 {
        match self.info(state).owner {
            Some(Owner::Counter(counter)) => self.counter(counter).signature(register, horizon),
            Some(Owner::RegisterRules(register_rule)) => self.register_rule(register_rule).signature(register, horizon),
            Some(Owner::DistinctValues(_)) => 0,
            None => register,
        }
    }
}

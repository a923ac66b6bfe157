//! The error of building an automaton: it is too large.

use core::fmt;

/// The reason why an automaton was not built: it would exceed a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegularError {
    kind: Kind,
    given: u64,
    limit: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The states of the expression with its repeats written out.
    Expanded,
    /// The states of the deterministic automaton.
    Determinized,
    /// The nodes visited while the expression is written out, or the places visited while the sets behind deterministic
    /// states are made.
    Visits,
    /// The caller's budget is exhausted.
    Interrupted,
}

/// Tells whoever watches what is done, and asks whether to go on.
pub(crate) struct Work<'a>(pub &'a mut dyn FnMut(usize) -> bool);

impl Work<'_> {
    /// Counts `n` visits of states, edges or positions.
    ///
    /// # Errors
    /// If the budget is exhausted. The caller, which has the reason, replaces this error by its own.
    #[inline]
    pub fn spend(&mut self, n: usize) -> Result<(), RegularError> {
        if (self.0)(n) { Ok(()) } else { Err(RegularError { kind: Kind::Interrupted, given: 0, limit: 0 }) }
    }
}

impl RegularError {
    pub(super) fn expanded(given: u64, limit: usize) -> Self {
        RegularError { kind: Kind::Expanded, given, limit: limit as u64 }
    }

    pub(crate) fn determinized(given: usize, limit: usize) -> Self {
        RegularError { kind: Kind::Determinized, given: given as u64, limit: limit as u64 }
    }

    pub(super) fn visits(given: u64, limit: usize) -> Self {
        RegularError { kind: Kind::Visits, given, limit: limit as u64 }
    }

    /// Returns whether nothing is too large, but whoever watches wanted to stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// Returns the name of the field of [`Limits`](crate::Limits) that sets the limit.
    pub fn limit_name(&self) -> &'static str {
        "dfa_states_max"
    }

    /// Returns the size that was needed, or, if that is unknown, a size that is needed at least, such as that at which construction stopped.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// Returns the largest size allowed.
    pub fn limit(&self) -> u64 {
        self.limit
    }
}

impl fmt::Display for RegularError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (given, limit, name) = (self.given, self.limit, self.limit_name());
        match self.kind {
            Kind::Expanded => {
                write!(f, "with its repeats written out the expression has {given} states, more than {limit} ({name})")
            }
            Kind::Determinized => write!(f, "the deterministic automaton has more than {limit} states ({name})"),
            Kind::Visits => {
                write!(f, "building the automaton takes {given} steps, more than {limit} (from {name})")
            }
            Kind::Interrupted => f.write_str("building the automaton was interrupted"),
        }
    }
}

impl std::error::Error for RegularError {}

//! What became of a matcher that could not find a mask.

use super::error::MatchError;

/// What a matcher does where a mask can't be found.
#[derive(Clone, Default)]
pub(super) struct Failure {
    /// It allows the stop tokens and nothing else.
    pub is_closed: bool,
    /// Why it did so at the last mask.
    pub error: Option<MatchError>,
    /// It did so for a mask behind drafts, in the call that filled the last masks.
    pub is_closed_ahead: bool,
    /// The engine failed while it was changing something: nothing is believed any more.
    pub is_poisoned: bool,
}

impl Failure {
    /// Goes back to what it was before steps that were taken back. What they left behind of a failure of the engine stays.
    pub fn restore(&mut self, before: Failure) {
        *self = Failure { is_poisoned: self.is_poisoned, ..before };
    }

    pub fn poisoned(&self) -> MatchError {
        MatchError::internal("it failed before".to_owned())
    }
}

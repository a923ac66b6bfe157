//! Places of a cluster, and the moves between them.

use crate::automaton::{Kind, LocalState, Step, Unit};
use crate::util::Utf8State;

/// Between two characters.
pub(super) const BOUNDARY: Utf8State = Utf8State::BOUNDARY;

/// A state, and where in a character it is.
pub(in crate::mask) type Place = (LocalState, Utf8State);

/// Returns the state that a byte leads to, if nothing but that and counting happens.
pub(super) fn target(unit: &Unit, from: LocalState, byte: u8) -> Option<LocalState> {
    own_target(unit, from, byte).filter(|&to| is_plain(unit, to))
}

/// Returns the state that a byte leads to, if nothing is pushed.
pub(super) fn own_target(unit: &Unit, from: LocalState, byte: u8) -> Option<LocalState> {
    match unit.code(from, byte).step() {
        Step::Plain(to) | Step::Local(to) => Some(to),
        Step::None | Step::List(_) => None,
    }
}

/// Tells whether nothing but counting happens on entering a state.
pub(super) fn is_plain(unit: &Unit, state: LocalState) -> bool {
    let is_quiet = match unit.info(state).kind {
        Kind::Inner => true,
        Kind::RegisterRule { register_rule } => !unit.register_rule(register_rule).can_ever_end(),
        _ => false,
    };
    is_quiet && unit.controls(state).is_empty()
}

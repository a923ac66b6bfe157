//! Where texts can be drawn out without an end, each way another value.
//!
//! An element that must be new can't run out of values where it may still hold a string or a number of any length: those that are
//! there already are finitely many. What is found here is never too much: loops that a count or a set of elements bounds are left
//! out, and so are loops that say nothing new, such as white space, zeros and exponents.

use super::link::{Linked, Program};
use super::unit::{Kind, Owner, StateRef, Step, Unit};

/// From the state on, something endless can be read.
pub(super) const AHEAD: u8 = 1;
/// The state is within digits that go on without an end.
pub(super) const DIGITS: u8 = 2;

/// Sweeps over a unit; what is not found by then is not known.
const N_SWEEPS_MAX: usize = 64;

/// Returns what is known of each state of a program.
pub(super) fn endless(program: &Program) -> Box<[u8]> {
    let mut found = vec![0u8; program.n_states()];
    for index in callees_first(program) {
        let linked = &program.units()[index];
        for _ in 0..N_SWEEPS_MAX {
            let mut is_changed = false;
            for state in (0..linked.unit.n_states() as u32).rev() {
                let at = linked.bases[0] as usize + state as usize;
                let bits = found[at] | of_state(linked, state, &found);
                is_changed |= bits != found[at];
                found[at] = bits;
            }
            if !is_changed {
                break;
            }
        }
    }
    found.into()
}

/// Returns the units, each behind those that it calls.
fn callees_first(program: &Program) -> Vec<usize> {
    let units = program.units();
    let mut is_seen = vec![false; units.len()];
    let mut order = Vec::with_capacity(units.len());
    let mut open: Vec<(usize, usize)> = Vec::new();
    if !units.is_empty() {
        is_seen[0] = true;
        open.push((0, 1));
    }
    while let Some((index, slot)) = open.pop() {
        match units[index].bases.get(slot) {
            Some(&base) => {
                open.push((index, slot + 1));
                let callee = program.unit_index(base);
                if !core::mem::replace(&mut is_seen[callee], true) {
                    open.push((callee, 1));
                }
            }
            None => order.push(index),
        }
    }
    order
}

fn of_state(linked: &Linked, state: u32, found: &[u8]) -> u8 {
    let unit = &linked.unit;
    if is_bounded(unit, state) {
        return 0;
    }
    let mut bits = match (loops_on(unit, state, b"abcxyz"), loops_on(unit, state, b"12345")) {
        (true, _) => AHEAD,
        (false, true) => DIGITS,
        (false, false) => 0,
    };
    let mut is_seen = [false; 256];
    for byte in 0..=255u8 {
        // Bytes of one class have the same moves, and letters are in other classes than digits where that matters.
        let is_of_number = matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.');
        if core::mem::replace(&mut is_seen[usize::from(unit.class(byte))], true) && !is_of_number {
            continue;
        }
        let own = |state: u32| target(unit, state).map_or(0, |state| found[(linked.bases[0] + state) as usize]);
        let within = |target_bits: u8| match target_bits {
            bits if bits & AHEAD != 0 => AHEAD,
            bits if bits & DIGITS != 0 && is_of_number => DIGITS,
            bits if bits & DIGITS != 0 && !byte.eq_ignore_ascii_case(&b'e') => AHEAD,
            _ => 0,
        };
        bits |= match unit.code(state, byte).step() {
            Step::None => 0,
            Step::Quiet(target) | Step::Simple(target) => within(own(target)),
            Step::List(list) => unit.list(list).iter().fold(0, |bits, one| {
                let state_bits = |place: StateRef| match place.slot {
                    0 => own(place.state),
                    _ => found[linked.state(place) as usize],
                };
                let may_run_out = |place: &StateRef| {
                    place.slot == 0
                        && matches!(unit.info(place.state).kind, Kind::Element(distinct) if distinct.is_finite)
                };
                if one.pushes.iter().any(may_run_out) {
                    bits
                } else if one.pushes.is_empty() {
                    bits | within(state_bits(one.target))
                } else if state_bits(one.target) != 0
                    || one.pushes.iter().any(|&place| found[linked.state(place) as usize] & AHEAD != 0)
                {
                    // What is called begins here, digits too.
                    bits | AHEAD
                } else {
                    bits
                }
            }),
        };
    }
    bits
}

/// Tells whether two of `bytes` lead from `state` back to it.
fn loops_on(unit: &Unit, state: u32, bytes: &[u8]) -> bool {
    let is_loop = |byte: &&u8| match unit.code(state, **byte).step() {
        Step::Quiet(next) | Step::Simple(next) => target(unit, next) == Some(state),
        Step::None | Step::List(_) => false,
    };
    bytes.iter().filter(is_loop).count() >= 2
}

/// Returns the state that reading goes on from in `state`, unless something is counted up to a bound there.
fn target(unit: &Unit, state: u32) -> Option<u32> {
    let next = match unit.info(state).kind {
        Kind::BodyEnd { loop_state, .. } => loop_state,
        _ => state,
    };
    (!is_bounded(unit, state) && !is_bounded(unit, next)).then_some(next)
}

/// Tells whether a count with a bound decides what follows a state.
fn is_bounded(unit: &Unit, state: u32) -> bool {
    match unit.info(state).owner {
        Some(Owner::Counter(counter)) => unit.counter(counter).max().is_some(),
        Some(Owner::Tallies(_)) => true,
        Some(Owner::Elements(_)) | None => false,
    }
}

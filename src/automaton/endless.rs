//! Where texts can be drawn out without an end, each way another value.
//!
//! An element that must be new can't run out of values where it may still hold a string or a number of any length: those that are
//! there already are finitely many. What is found here is never too much: loops that a count or a set of elements bounds are left
//! out, and so are loops that say nothing new, such as white space, zeros and exponents.

use super::link::{Linked, Program};
use super::state::{Kind, Owner};
use super::unit::{Move, StateRef, Step, Unit};
use crate::machine::{Distinct, Equality, RegisterRule};

/// From the state on, something endless can be read.
pub(super) const AHEAD: u8 = 1;
/// The state is within digits that go on without an end.
pub(super) const DIGITS: u8 = 2;
/// The state is one between elements, from where the rule can end without any more of them, or by way of elements that are endless.
pub(super) const SAFE: u8 = 4;
/// The state is one between elements, and it or one that may follow in its rule is not [`SAFE`].
pub(super) const DOUBTFUL: u8 = 8;

/// Sweeps over a unit; what is not found by then is not known.
const N_SWEEPS_MAX: usize = 64;

/// Returns what is known of each state of a program.
pub(super) fn endless(program: &Program) -> Box<[u8]> {
    let mut found = vec![0u8; program.n_states()];
    for index in callees_first(program) {
        let linked = &program.units()[index];
        let classes = classes(&linked.unit);
        for _ in 0..N_SWEEPS_MAX {
            let mut is_changed = false;
            for state in (0..linked.unit.n_states() as u32).rev() {
                let at = linked.base as usize + state as usize;
                if found[at] & AHEAD == 0 {
                    let bits = found[at] | of_state(linked, state, &classes, &found);
                    is_changed |= bits != found[at];
                    found[at] = bits;
                }
            }
            if !is_changed {
                break;
            }
        }
        find_safe(linked, &mut found);
    }
    found.into()
}

/// Finds the states of a unit that are [`SAFE`], and those that are [`DOUBTFUL`].
fn find_safe(linked: &Linked, found: &mut [u8]) {
    let unit = &linked.unit;
    if !unit.content.has_elements {
        return;
    }
    let between = |&state: &u32| matches!(unit.info(state).owner, Some(Owner::Elements(_)));
    let states: Vec<u32> = (0..unit.n_states() as u32).filter(between).collect();
    sweep(linked, states.clone(), SAFE, found, is_safe);
    let is_settled = sweep(linked, states.clone(), DOUBTFUL, found, |linked, state, found| {
        let is_doubtful = |state: u32| found[(linked.base + state) as usize] & DOUBTFUL != 0;
        found[(linked.base + state) as usize] & SAFE == 0 || follow(linked, state, |next, _| is_doubtful(next))
    });
    if !is_settled {
        states.iter().for_each(|&state| found[(linked.base + state) as usize] |= DOUBTFUL);
    }
}

/// Gives the states that pass a test a bit, which makes others pass; tells whether no other one passes.
fn sweep(
    linked: &Linked,
    mut pending: Vec<u32>,
    bit: u8,
    found: &mut [u8],
    test: impl Fn(&Linked, u32, &[u8]) -> bool,
) -> bool {
    for _ in 0..N_SWEEPS_MAX {
        let n_pending = pending.len();
        pending.retain(|&state| {
            let is_one = test(linked, state, found);
            found[(linked.base + state) as usize] |= if is_one { bit } else { 0 };
            !is_one
        });
        if pending.len() == n_pending {
            return true;
        }
        // Rows of places stand in either order.
        pending.reverse();
    }
    false
}

/// Tells whether a test holds for some state of a rule with elements that comes next behind one of its states: behind bytes (then there is no
/// move), or behind what a move calls.
fn follow(linked: &Linked, state: u32, test: impl Fn(u32, Option<&Move>) -> bool) -> bool {
    let unit = &linked.unit;
    unit.content.table.moves(state).any(|(_, code)| match code.step() {
        Step::None => false,
        Step::Quiet(target) | Step::Simple(target) => test(target, None),
        Step::List(list) => unit.list(list).iter().any(|one| {
            // Elements are called from the unit itself, and so is white space, which never runs out.
            let after = one.pushes.first().unwrap_or(&one.target);
            after.slot == 0 && test(after.state, Some(one))
        }),
    })
}

fn is_safe(linked: &Linked, state: u32, found: &[u8]) -> bool {
    let unit = &linked.unit;
    unit.info(state).kind == Kind::End
        || follow(linked, state, |next, one| {
            let is_element = matches!(unit.info(next).kind, Kind::Element(_));
            found[(linked.base + next) as usize] & SAFE != 0
                && (!is_element || one.is_some_and(|one| begins_endless(linked, one, found)))
        })
}

/// Returns what is known of endless texts from a place on.
fn bits_at(linked: &Linked, place: StateRef, found: &[u8]) -> u8 {
    let state = match place.slot {
        0 => target(&linked.unit, place.state).map(|state| linked.base + state),
        _ => Some(linked.state(place)),
    };
    state.map_or(0, |state| found[state as usize] & (AHEAD | DIGITS))
}

/// Tells whether a move begins something endless: what is called begins there, digits too.
fn begins_endless(linked: &Linked, one: &Move, found: &[u8]) -> bool {
    let of = |place: StateRef| bits_at(linked, place, found);
    // What comes behind an element is not safe.
    let above = one.pushes.iter().rposition(|place| may_run_out(&linked.unit, *place)).map_or(0, |place| place + 1);
    !one.pushes.is_empty() && (of(one.target) != 0 || one.pushes[above..].iter().any(|&place| of(place) & AHEAD != 0))
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

/// What is in a class of bytes.
#[derive(Clone, Copy, Default)]
struct Class {
    /// A byte that goes on with a number before its exponent.
    has_number: bool,
    /// A byte that begins something else, or ends a number.
    has_other: bool,
}

fn classes(unit: &Unit) -> Vec<Class> {
    let mut classes = vec![Class::default(); unit.content.table.n_classes()];
    for byte in 0..=255u8 {
        let class = &mut classes[usize::from(unit.class(byte))];
        match byte {
            b'0'..=b'9' | b'+' | b'-' | b'.' => class.has_number = true,
            b'e' | b'E' => {}
            _ => class.has_other = true,
        }
    }
    classes
}

fn of_state(linked: &Linked, state: u32, classes: &[Class], found: &[u8]) -> u8 {
    let unit = &linked.unit;
    if is_bounded(unit, state) {
        return 0;
    }
    let mut bits = match (loops_on(unit, state, b"abcxyz"), loops_on(unit, state, b"12345")) {
        (true, _) => return AHEAD,
        (false, true) => DIGITS,
        (false, false) => 0,
    };
    let of = |place: StateRef| bits_at(linked, place, found);
    let own = |state: u32| of(StateRef::own(state));
    for (byte, code) in unit.content.table.moves(state) {
        let class = classes[usize::from(unit.class(byte))];
        let within = |behind: u8| match behind {
            behind if behind & AHEAD != 0 || behind != 0 && class.has_other => AHEAD,
            behind if behind != 0 && class.has_number => DIGITS,
            _ => 0,
        };
        match code.step() {
            Step::None => {}
            Step::Quiet(target) | Step::Simple(target) => bits |= within(own(target)),
            Step::List(list) => {
                for one in unit.list(list) {
                    bits |= if begins_endless(linked, one, found) { AHEAD } else { within(of(one.target)) };
                }
            }
        }
        if bits & AHEAD != 0 {
            break;
        }
    }
    bits
}

/// Tells whether a state is returned to by elements of which there may be no new one.
fn may_run_out(unit: &Unit, place: StateRef) -> bool {
    let unit = match place.slot {
        0 => unit,
        slot => &unit.content.children[slot as usize - 1],
    };
    match unit.info(place.state).kind {
        Kind::Element(Distinct { equality, has_finite_domain, .. }) => has_finite_domain || equality == Equality::Json,
        _ => false,
    }
}

/// Tells whether two of `bytes` lead from `state` back to it; one, where each digit has a state of its own.
fn loops_on(unit: &Unit, state: u32, bytes: &[u8]) -> bool {
    let is_loop = |byte: &&u8| match unit.code(state, **byte).step() {
        Step::Quiet(next) | Step::Simple(next) => target(unit, next) == Some(state),
        Step::None | Step::List(_) => false,
    };
    let n_least = if has_residue(unit, state) { 1 } else { 2 };
    bytes.iter().filter(is_loop).count() >= n_least
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
        Some(Owner::RegisterRules(_)) => !has_residue(unit, state),
        Some(Owner::Elements(_)) | None => false,
    }
}

/// Tells whether a rest is kept of the digits that are read: how many there are is up to the automaton.
fn has_residue(unit: &Unit, state: u32) -> bool {
    matches!(unit.info(state).owner, Some(Owner::RegisterRules(register_rule)) if matches!(unit.register_rule(register_rule), RegisterRule::Residue(_)))
}

//! From which states a value of unbounded length can be read: each longer one is a new value.
//!
//! Values that must all be different (keys of an object, items under `uniqueItems`) can be exhausted: with items `true` and `false` no third one is left. A value that
//! may still hold a string, a number or an array of any length can't: finitely many values are there already. No more can one that may still hold a string of [`N_CHOICES`]
//! letters. What is found here is an underestimate: loops that a counter or a set of values bounds are left out, and so are loops that don't change the value, such as white space,
//! leading zeros and exponents.
//!
//! Bits of a state depend on those of the states behind it, in its unit and in the units that this one calls. They are found for one unit after the other, callees first, when
//! they are asked for, and stay with the unit. Within a unit a state is looked at again when one behind it has got a bit, so that the cost is about
//! that of reading all moves twice: milliseconds for the larger objects of real schemas. But from most states a string without a bound is a few bytes away, and
//! a search for that ([`glance`]) answers first.

use super::moves::{LocalState, Move, PackedMove, StateRef, Step};
use super::state::{Kind, Owner};
use super::table::Letter;
use super::unit::Unit;
use crate::machine::{Equality, RegisterRule};
use crate::util::components;
use ahash::AHashSet;
use core::sync::atomic::{AtomicBool, Ordering};
use smallvec::SmallVec;

/// Something unbounded can be read from the state on.
pub(super) const REACHES_UNBOUNDED: u8 = 1;
/// The state is within digits that go on without a bound.
pub(super) const UNBOUNDED_DIGITS: u8 = 2;
/// The state is one between values, from where the rule can end without any more of them, or by way of values that are unbounded.
pub(super) const CAN_ALWAYS_CLOSE: u8 = 4;
/// The state is one between values, and it or one that may follow in its rule can't [always close](CAN_ALWAYS_CLOSE).
pub(super) const MAY_BE_EXHAUSTED: u8 = 8;

/// Of a state between values: from this bit on, how many values a shortest way to one that can [always close](CAN_ALWAYS_CLOSE) or to the end takes, at most
/// [`FAR`]; a guess where it can't be known.
const DISTANCE_SHIFT: u32 = 4;
/// A distance, or more.
pub(super) const FAR: u8 = 15;

/// Letters that make another string of a string, wherever they are in it.
const LETTERS: &[u8] = b"abcxyz";

/// Letters of a string, each one of two, that make more strings than any text holds.
const N_CHOICES: usize = 40;

/// Sweeps over the states between values; what is not found by then is not known.
const N_SWEEPS_MAX: usize = 64;

/// Most places to look at in a glance.
const GLANCE_PLACES_MAX: usize = 256;

/// Returns the bits of a state; perhaps nothing but [`REACHES_UNBOUNDED`], where that is easily seen.
pub(super) fn unbounded_at(unit: &Unit, state: LocalState) -> u8 {
    if let Some(found) = unit.unbounded.get() {
        return found[state.index()];
    }
    let seen = unit.seen_unbounded.get_or_init(|| unit.states().map(|_| AtomicBool::new(false)).collect());
    // A glance takes a microsecond, and the same few states are asked for at each step.
    if seen[state.index()].load(Ordering::Relaxed) {
        return REACHES_UNBOUNDED;
    }
    if glance(unit, state) {
        seen[state.index()].store(true, Ordering::Relaxed);
        return REACHES_UNBOUNDED;
    }
    unbounded(unit)[state.index()]
}

/// Returns the bits of each state of a unit.
pub(super) fn unbounded(unit: &Unit) -> &[u8] {
    if let Some(found) = unit.unbounded.get() {
        return found;
    }
    // Units can be nested as deep as a grammar has rules.
    let mut open: Vec<(&Unit, Vec<&Unit>)> = vec![(unit, unknown_callees(unit))];
    while let Some((last, callees)) = open.last_mut() {
        match callees.pop() {
            Some(callee) if callee.unbounded.get().is_none() => open.push((callee, unknown_callees(callee))),
            Some(_) => {}
            None => {
                let last = *last;
                last.unbounded.get_or_init(|| of_unit(last));
                open.pop();
            }
        }
    }
    unit.unbounded.get().expect("it was just found")
}

/// Returns the units that a unit calls without an answer at a glance.
fn unknown_callees(unit: &Unit) -> Vec<&Unit> {
    let called = unit.content.moves.iter().flat_map(|one| one.pushes.iter().chain([&one.target]));
    let mut callees: Vec<&Unit> = Vec::new();
    let mut seen: AHashSet<StateRef> = AHashSet::new();
    for &place in called.filter(|place| place.slot != 0) {
        let callee = callee(unit, place);
        if seen.insert(place) && callee.unbounded.get().is_none() && !glance(callee, place.state) {
            callees.push(callee);
        }
    }
    callees
}

fn callee(unit: &Unit, place: StateRef) -> &Unit {
    &unit.content.children[place.slot as usize - 1]
}

/// Tells whether a search of few places from a state on, depth first, finds letters that go on without a bound. Then [`REACHES_UNBOUNDED`] is a bit of the state.
fn glance(unit: &Unit, state: LocalState) -> bool {
    let mut seen: SmallVec<[(*const Unit, LocalState); 32]> = SmallVec::new();
    let mut pending: SmallVec<[(&Unit, LocalState); 32]> = SmallVec::from_slice(&[(unit, state)]);
    while let Some((unit, state)) = pending.pop() {
        let place = (core::ptr::from_ref(unit), state);
        if is_bounded(unit, state) || seen.contains(&place) {
            continue;
        }
        if seen.len() >= GLANCE_PLACES_MAX {
            return false;
        }
        seen.push(place);
        let is_known = unit.unbounded.get().is_some_and(|found| found[state.index()] & REACHES_UNBOUNDED != 0);
        if is_known || loops_on(unit, state, LETTERS) || has_room(unit, state) {
            return true;
        }
        let mut add = |place: StateRef| match place.slot {
            0 => pending.extend(target(unit, place.state).map(|state| (unit, state))),
            _ => pending.push((callee(unit, place), place.state)),
        };
        for (_, code) in unit.content.table.letters(state) {
            match code.step() {
                Step::None => {}
                Step::Plain(to) | Step::Local(to) => add(StateRef::own(to)),
                Step::List(list) => unit.list(list).iter().for_each(|one| {
                    safe_pushes(unit, one).iter().copied().for_each(&mut add);
                    add(one.target);
                }),
            }
        }
    }
    false
}

/// Returns the bits of each state of a unit whose children have theirs.
fn of_unit(unit: &Unit) -> Box<[u8]> {
    let mut found = vec![0u8; unit.n_states()];
    let roles = Roles::of(unit);
    let predecessors = Predecessors::of(unit, |_| true);
    find_circles(unit, &mut found);
    // States are numbered from the start on, so that backwards nearly all are looked at after those behind them.
    let mut pending: Vec<LocalState> = unit.states().collect();
    while let Some(state) = pending.pop() {
        let bits = found[state.index()];
        if bits & REACHES_UNBOUNDED == 0 {
            let new = bits | of_state(unit, state, &roles, &found);
            if new != bits {
                found[state.index()] = new;
                pending.extend_from_slice(predecessors.of_state(state));
            }
        }
    }
    find_closing(unit, &mut found);
    found.into()
}

/// From which states of a unit another one is entered, by a byte or by the end of a call.
struct Predecessors {
    /// By state: where its predecessors end.
    ends: Vec<u32>,
    states: Vec<LocalState>,
}

impl Predecessors {
    /// Finds those of the states that are `kept`, among them.
    fn of(unit: &Unit, is_kept: impl Fn(LocalState) -> bool) -> Predecessors {
        let n_states = unit.n_states();
        let mut starts = vec![0u32; n_states + 1];
        let for_each_edge = |visit: &mut dyn FnMut(LocalState, LocalState)| {
            for state in unit.states().filter(|&state| is_kept(state)) {
                for (_, code) in unit.content.table.letters(state) {
                    for_each_target(unit, code, |next| {
                        if is_kept(next) {
                            visit(state, next);
                        }
                    });
                }
            }
        };
        for_each_edge(&mut |_, next| starts[next.index() + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut states = vec![LocalState(0); starts[n_states] as usize];
        for_each_edge(&mut |state, next| {
            states[starts[next.index()] as usize] = state;
            starts[next.index()] += 1;
        });
        // Each start has moved to the next one.
        starts.pop();
        Predecessors { ends: starts, states }
    }

    fn of_state(&self, state: LocalState) -> &[LocalState] {
        let first = if state.0 == 0 { 0 } else { self.ends[state.index() - 1] };
        &self.states[first as usize..self.ends[state.index()] as usize]
    }
}

/// Calls `visit` with each state of the unit that a move enters or returns to; where characters are counted, with where they go on.
fn for_each_target(unit: &Unit, code: PackedMove, mut visit: impl FnMut(LocalState)) {
    let mut to = |next: LocalState| {
        visit(next);
        if let Kind::BodyEnd { loop_state, .. } = unit.info(next).kind {
            visit(loop_state);
        }
    };
    match code.step() {
        Step::None => {}
        Step::Plain(target) | Step::Local(target) => to(target),
        Step::List(list) => {
            let places = unit.list(list).iter().flat_map(|one| one.pushes.iter().chain([&one.target]));
            places.filter(|place| place.slot == 0).for_each(|place| to(place.state));
        }
    }
}

/// Finds the states of a unit in circles that read a comma or a digit other than 0.
///
/// One more way around such a circle is one more item of an array, a longer number, or a longer string: white space and escapes of characters that are no control
/// characters have no comma. Members of an object whose keys must be new are left out, and so are items that must be: whatever is in the circle can be repeated.
fn find_circles(unit: &Unit, found: &mut [u8]) {
    let is_free = |state: LocalState| {
        let info = unit.info(state);
        !matches!(info.kind, Kind::DistinctValue(_))
            && !matches!(info.owner, Some(Owner::DistinctValues(_)))
            && target(unit, state).is_some()
    };
    let letters =
        || core::iter::once((b',', REACHES_UNBOUNDED)).chain((b'1'..=b'9').map(|digit| (digit, UNBOUNDED_DIGITS)));
    let reads_some =
        |&state: &LocalState| is_free(state) && letters().any(|(byte, _)| unit.code(state, byte) != PackedMove::NONE);
    let reading: Vec<LocalState> = unit.states().filter(reads_some).collect();
    if reading.is_empty() {
        return;
    }
    // A circle is one in either direction.
    let predecessors = Predecessors::of(unit, is_free);
    let all = components(unit.n_states(), |state: LocalState| predecessors.of_state(state));
    let mut of_state = vec![0u32; unit.n_states()];
    for (number, members) in (0..).zip(all.iter()) {
        members.iter().for_each(|&state| of_state[state.index()] = number);
    }
    for state in reading {
        let own = of_state[state.index()];
        for (byte, bit) in letters() {
            for_each_target(unit, unit.code(state, byte), |next| {
                if is_free(next) && of_state[next.index()] == own {
                    found[state.index()] |= bit;
                }
            });
        }
    }
}

/// Finds the states of a unit that [can always close](CAN_ALWAYS_CLOSE), and those that [may be exhausted](MAY_BE_EXHAUSTED).
fn find_closing(unit: &Unit, found: &mut [u8]) {
    if !unit.content.has_distinct_values {
        return;
    }
    let between = |&state: &LocalState| matches!(unit.info(state).owner, Some(Owner::DistinctValues(_)));
    let states: Vec<LocalState> = unit.states().filter(between).collect();
    sweep(unit, states.clone(), CAN_ALWAYS_CLOSE, found, can_close);
    let is_settled = sweep(unit, states.clone(), MAY_BE_EXHAUSTED, found, |unit, state, found| {
        let is_doubtful = |state: LocalState| found[state.index()] & MAY_BE_EXHAUSTED != 0;
        found[state.index()] & CAN_ALWAYS_CLOSE == 0 || follow(unit, state, |next, _| is_doubtful(next))
    });
    if !is_settled {
        states.iter().for_each(|&state| found[state.index()] |= MAY_BE_EXHAUSTED);
    }
    find_distances(unit, states, found);
}

/// Notes of each state between values how many values it is away from one that can always close.
fn find_distances(unit: &Unit, mut states: Vec<LocalState>, found: &mut [u8]) {
    states.iter().for_each(|&state| found[state.index()] |= FAR << DISTANCE_SHIFT);
    for _ in 0..N_SWEEPS_MAX {
        let mut is_changed = false;
        for &state in &states {
            let distance = match found[state.index()] & CAN_ALWAYS_CLOSE != 0 || unit.info(state).kind == Kind::End {
                true => 0,
                false => {
                    let mut least = FAR;
                    follow(unit, state, |next, _| {
                        least = least.min(distance_by(unit, next, found));
                        false
                    });
                    least
                }
            };
            let bits = found[state.index()] & ((1 << DISTANCE_SHIFT) - 1) | distance << DISTANCE_SHIFT;
            is_changed |= bits != found[state.index()];
            found[state.index()] = bits;
        }
        if !is_changed {
            return;
        }
        // Rows of places stand in either order.
        states.reverse();
    }
}

/// Returns the distance by way of a state between values.
fn distance_by(unit: &Unit, next: LocalState, found: &[u8]) -> u8 {
    let is_value = matches!(unit.info(next).kind, Kind::DistinctValue(_));
    match matches!(unit.info(next).owner, Some(Owner::DistinctValues(_))) {
        true => (distance(found[next.index()]) + u8::from(is_value)).min(FAR),
        false => FAR,
    }
}

/// Returns the distance that a state's bits hold.
pub(super) fn distance(bits: u8) -> u8 {
    bits >> DISTANCE_SHIFT
}

/// Returns how far a state between values is from one that can always close, if it is left by a byte.
pub(super) fn distance_behind(unit: &Unit, state: LocalState, byte: u8) -> u8 {
    let found = unbounded(unit);
    let mut least = FAR;
    follow_code(unit, unit.code(state, byte), &mut |next, _| {
        least = least.min(distance_by(unit, next, found));
        false
    });
    least
}

/// Gives the states that pass a test a bit, which makes others pass; tells whether no other one passes.
fn sweep(
    unit: &Unit,
    mut pending: Vec<LocalState>,
    bit: u8,
    found: &mut [u8],
    test: impl Fn(&Unit, LocalState, &[u8]) -> bool,
) -> bool {
    for _ in 0..N_SWEEPS_MAX {
        let n_pending = pending.len();
        pending.retain(|&state| {
            let is_one = test(unit, state, found);
            found[state.index()] |= if is_one { bit } else { 0 };
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

/// Tells whether a test holds for some state of a rule with values that comes next behind one of its states: behind bytes (then there is no
/// move), or behind what a move calls.
fn follow(unit: &Unit, state: LocalState, mut test: impl FnMut(LocalState, Option<&Move>) -> bool) -> bool {
    unit.content.table.moves(state).any(|(_, code)| follow_code(unit, code, &mut test))
}

/// As [`follow`], by one byte.
fn follow_code(unit: &Unit, code: PackedMove, test: &mut impl FnMut(LocalState, Option<&Move>) -> bool) -> bool {
    match code.step() {
        Step::None => false,
        Step::Plain(target) | Step::Local(target) => test(target, None),
        Step::List(list) => unit.list(list).iter().any(|one| {
            // Values are called from the unit itself, and so is white space, which never runs out.
            let after = one.pushes.first().unwrap_or(&one.target);
            after.slot == 0 && test(after.state, Some(one))
        }),
    }
}

fn can_close(unit: &Unit, state: LocalState, found: &[u8]) -> bool {
    unit.info(state).kind == Kind::End
        || follow(unit, state, |next, one| {
            let is_element = matches!(unit.info(next).kind, Kind::DistinctValue(_));
            found[next.index()] & CAN_ALWAYS_CLOSE != 0
                && (!is_element || one.is_some_and(|one| begins_unbounded(unit, one, found)))
        })
}

/// Returns what can be read without a bound from a place on.
fn bits_at(unit: &Unit, place: StateRef, found: &[u8]) -> u8 {
    let bits = match place.slot {
        0 => target(unit, place.state).map_or(0, |state| found[state.index()]),
        // Callees whose bits are unknown were answered at a glance.
        _ => callee(unit, place).unbounded.get().map_or(REACHES_UNBOUNDED, |found| found[place.state.index()]),
    };
    bits & (REACHES_UNBOUNDED | UNBOUNDED_DIGITS)
}

/// Tells whether a move begins something unbounded: what is called begins there, digits too.
fn begins_unbounded(unit: &Unit, one: &Move, found: &[u8]) -> bool {
    let of = |place: StateRef| bits_at(unit, place, found);
    !one.pushes.is_empty()
        && (of(one.target) != 0 || safe_pushes(unit, one).iter().any(|&place| of(place) & REACHES_UNBOUNDED != 0))
}

/// Returns those of the places which a move pushes that are returned to before any value that may run out.
fn safe_pushes<'a>(unit: &Unit, one: &'a Move) -> &'a [StateRef] {
    let above = one.pushes.iter().rposition(|place| may_run_out(unit, *place)).map_or(0, |place| place + 1);
    &one.pushes[above..]
}

/// What a byte, or some byte of a column, can be in a JSON value.
#[derive(Clone, Copy, Default)]
struct Role {
    /// It goes on with a number before its exponent.
    is_of_number: bool,
    /// It begins something else, or ends a number.
    is_other: bool,
}

impl Role {
    fn of(byte: u8) -> Role {
        let is_of_number = matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.');
        Role { is_of_number, is_other: !is_of_number && !matches!(byte, b'e' | b'E') }
    }
}

/// The roles of the bytes of each column of a unit's table.
struct Roles(Vec<Role>);

impl Roles {
    fn of(unit: &Unit) -> Roles {
        let table = &unit.content.table;
        let mut roles = vec![Role::default(); table.n_columns()];
        for byte in 0..=255u8 {
            let (role, one) = (&mut roles[usize::from(table.column_of()[usize::from(byte)])], Role::of(byte));
            role.is_of_number |= one.is_of_number;
            role.is_other |= one.is_other;
        }
        Roles(roles)
    }

    fn at(&self, letter: Letter) -> Role {
        match letter {
            Letter::Byte(byte) => Role::of(byte),
            Letter::Column(column) => self.0[column],
        }
    }
}

fn of_state(unit: &Unit, state: LocalState, roles: &Roles, found: &[u8]) -> u8 {
    if is_bounded(unit, state) {
        return 0;
    }
    let mut bits = match (loops_on(unit, state, LETTERS), loops_on(unit, state, b"12345")) {
        (true, _) => return REACHES_UNBOUNDED,
        (false, true) => UNBOUNDED_DIGITS,
        (false, false) => 0,
    };
    let of = |place: StateRef| bits_at(unit, place, found);
    let own = |state: LocalState| of(StateRef::own(state));
    for (letter, code) in unit.content.table.letters(state) {
        let role = roles.at(letter);
        let within = |behind: u8| match behind {
            behind if behind & REACHES_UNBOUNDED != 0 || behind != 0 && role.is_other => REACHES_UNBOUNDED,
            behind if behind != 0 && role.is_of_number => UNBOUNDED_DIGITS,
            _ => 0,
        };
        match code.step() {
            Step::None => {}
            Step::Plain(target) | Step::Local(target) => bits |= within(own(target)),
            Step::List(list) => {
                for one in unit.list(list) {
                    bits |= if begins_unbounded(unit, one, found) { REACHES_UNBOUNDED } else { within(of(one.target)) };
                }
            }
        }
        if bits & REACHES_UNBOUNDED != 0 {
            return bits;
        }
    }
    // After those behind it were asked, which have the same room but for a letter.
    if has_room(unit, state) { REACHES_UNBOUNDED } else { bits }
}

/// Tells whether a string may go on with [`N_CHOICES`] letters, each one of two at least.
fn has_room(unit: &Unit, mut state: LocalState) -> bool {
    for _ in 0..N_CHOICES {
        let mut targets = LETTERS.iter().filter_map(|&byte| match unit.code(state, byte).step() {
            Step::Plain(next) | Step::Local(next) => target(unit, next),
            Step::None | Step::List(_) => None,
        });
        let (Some(next), Some(other)) = (targets.next(), targets.next()) else { return false };
        if next != other || is_bounded(unit, state) {
            return false;
        }
        state = next;
    }
    true
}

/// Tells whether a state is returned to by values of which there may be no new one.
fn may_run_out(unit: &Unit, place: StateRef) -> bool {
    let unit = if place.slot == 0 { unit } else { callee(unit, place) };
    match unit.info(place.state).kind {
        Kind::DistinctValue(distinct) => distinct.has_finite_domain() || distinct.equality == Equality::Json,
        _ => false,
    }
}

/// Tells whether two of `bytes` lead from `state` back to it; one, where each digit has a state of its own.
fn loops_on(unit: &Unit, state: LocalState, bytes: &[u8]) -> bool {
    let is_loop = |byte: &&u8| match unit.code(state, **byte).step() {
        Step::Plain(next) | Step::Local(next) => target(unit, next) == Some(state),
        Step::None | Step::List(_) => false,
    };
    let n_least = if has_residue(unit, state) { 1 } else { 2 };
    bytes.iter().filter(is_loop).count() >= n_least
}

/// Returns the state that reading goes on from in `state`, unless something is counted up to a bound there.
fn target(unit: &Unit, state: LocalState) -> Option<LocalState> {
    let next = match unit.info(state).kind {
        Kind::BodyEnd { loop_state, .. } => loop_state,
        _ => state,
    };
    (!is_bounded(unit, state) && !is_bounded(unit, next)).then_some(next)
}

/// Tells whether a count with a bound decides what follows a state.
fn is_bounded(unit: &Unit, state: LocalState) -> bool {
    match unit.info(state).owner {
        Some(Owner::Counter(counter)) => unit.counter(counter).max().is_some(),
        Some(Owner::RegisterRules(_)) => !has_residue(unit, state),
        Some(Owner::DistinctValues(_)) | None => false,
    }
}

/// Tells whether a rest is kept of the digits that are read: how many there are is up to the automaton.
fn has_residue(unit: &Unit, state: LocalState) -> bool {
    matches!(unit.info(state).owner, Some(Owner::RegisterRules(rule)) if matches!(unit.register_rule(rule), RegisterRule::Residue(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompiledGrammar, GrammarCompiler, Vocab};
    use std::sync::Arc;

    /// Objects, arrays and strings within one another, some of them endless, some with few values, some under a bound.
    const SCHEMAS: &[&str] = &[
        r#"{"type":"array","uniqueItems":true,"items":{"enum":["a","b",1]}}"#,
        r#"{"type":"array","uniqueItems":true,"items":{"type":"array","items":{"enum":[1,2]}},"contains":{"type":"array","maxItems":1}}"#,
        r#"{"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"boolean"},{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}]}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"b":{"enum":[1,2]}},"required":["b"],"additionalProperties":false}},"c":{"type":"string","maxLength":9}},"additionalProperties":{"type":"number"}}"#,
        r#"{"type":"array","uniqueItems":true,"items":{"type":"string","pattern":"^[a-z]{2,60}$"},"minItems":3}"#,
        r#"{"type":"array","uniqueItems":true,"items":{"type":"integer","multipleOf":7,"maximum":100}}"#,
        r#"{"type":"array","uniqueItems":true,"prefixItems":[{"enum":[1,2]}],"items":{"type":"string"}}"#,
    ];

    /// Compiled so that no units are shared with others.
    fn compiled(schema: &str) -> CompiledGrammar {
        let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap();
        GrammarCompiler::new(Arc::new(vocab)).compile_json_schema(schema).unwrap()
    }

    #[test]
    fn a_glance_changes_no_bits() {
        let n_seen = SCHEMAS.iter().map(|schema| {
            let (first, last) = (compiled(schema), compiled(schema));
            let units = |grammar: &CompiledGrammar| -> Vec<Arc<Unit>> {
                grammar.program().units().iter().map(|linked| Arc::clone(&linked.unit)).collect()
            };
            let (callers_first, callees_first) = (units(&first), units(&last));
            // Callees whose bits are known take no glance.
            callees_first.iter().rev().for_each(|unit| _ = unbounded(unit));
            let mut n_seen = 0;
            for (unit, known) in callers_first.iter().zip(&callees_first) {
                assert_eq!(unit.n_states(), known.n_states());
                for state in unit.states() {
                    let is_seen = glance(unit, state);
                    n_seen += usize::from(is_seen);
                    let is_one = unbounded(known)[state.index()] & REACHES_UNBOUNDED != 0;
                    assert!(is_one || !is_seen, "{schema}: {} {state:?}", unit.name);
                }
                assert_eq!(unbounded(unit), unbounded(known), "{schema}: {}", unit.name);
            }
            n_seen
        });
        assert!(n_seen.sum::<usize>() > 100);
    }

    #[test]
    fn a_string_of_many_letters_has_room_for_any_number_of_values() {
        let is_seen = |pattern: &str| {
            let grammar = compiled(&format!(r#"{{"type":"string","pattern":"{pattern}"}}"#));
            let (linked, start) = grammar.program().place(grammar.program().start()).unwrap();
            glance(&linked.unit, start)
        };
        assert!(is_seen("^[a-z]{41}$") && is_seen("^[ab]{60}[0-9]{2}$") && is_seen("^[xy]+$"));
        assert!(!is_seen("^[a-z]{30}$") && !is_seen("^a{60}$") && !is_seen("^(a[a-z]){30}$"));
    }
}

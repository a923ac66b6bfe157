//! Recognizing states that loop on whole characters.

use crate::automaton::{Kind, Program, StateId, Step};
use crate::vocab::{Alphabet, lead};

/// Fewest characters of ASCII that make a loop wide enough to be worth a region.
const WIDE_CHARS: u32 = 8;

/// Tells whether `state` loops on many letters, at a glance.
pub(crate) fn is_wide(program: &Program, state: StateId) -> bool {
    let Some((linked, local)) = program.place(state) else { return false };
    let stays =
        |byte: &u8| matches!(linked.unit.code(local, *byte).step(), Step::Quiet(to) | Step::Simple(to) if to == local);
    (b'a'..=b'z').filter(stays).count() >= WIDE_CHARS as usize
}

/// Returns the characters that lead from `state` back to it, if they are many and `state` is not between copies of a counted body:
/// those of ASCII, and all others if they all do.
pub(super) fn alphabet(program: &Program, state: StateId) -> Option<Alphabet> {
    let (linked, local) = program.place(state)?;
    let unit = &linked.unit;
    if !matches!(unit.info(local).kind, Kind::Inner | Kind::End) {
        return None;
    }
    let stays = |byte: u8| matches!(unit.code(local, byte).step(), Step::Quiet(to) | Step::Simple(to) if to == local);
    let ascii = (0..128u8).filter(|&byte| stays(byte)).fold(0u128, |ascii, byte| ascii | 1 << byte);
    if ascii.count_ones() < WIDE_CHARS {
        return None;
    }
    let others = (0x80..=0xFF).all(|byte| {
        let to = unit.code(local, byte).step();
        match (lead(byte), to) {
            (None, Step::None) => true,
            (Some((n_left, low, high)), Step::Quiet(to)) => completes(program, state, local, to, n_left, low, high),
            _ => false,
        }
    });
    Some(Alphabet { ascii, others })
}

/// Returns the characters that are pieces of a count one by one and lead back to `state`, if they are many.
pub(super) fn counted_alphabet(program: &Program, state: StateId) -> Option<Alphabet> {
    let (linked, local) = program.place(state)?;
    let unit = &linked.unit;
    let is_copy = |to: u32| match unit.info(local).kind {
        Kind::Loop { counter } => {
            unit.info(to).kind == Kind::BodyEnd { counter, loop_state: local } && !unit.info(to).has_moves()
        }
        Kind::Tally { tally } => to == local && unit.tally(tally).counts,
        _ => false,
    };
    let stays = |byte: u8| matches!(unit.code(local, byte).step(), Step::Simple(to) if is_copy(to));
    let ascii = (0..128u8).filter(|&byte| stays(byte)).fold(0u128, |ascii, byte| ascii | 1 << byte);
    if ascii.count_ones() < WIDE_CHARS || !unit.controls(local).is_empty() {
        return None;
    }
    let home = (0..128u8).find_map(|byte| match unit.code(local, byte).step() {
        Step::Simple(to) if is_copy(to) => Some(to),
        _ => None,
    })?;
    let others = (0x80..=0xFF).all(|byte| match (lead(byte), unit.code(local, byte).step()) {
        (None, Step::None) => true,
        (Some((n_left, low, high)), Step::Quiet(to)) => completes(program, state, home, to, n_left, low, high),
        _ => false,
    });
    Some(Alphabet { ascii, others })
}

/// Tells whether from `at` exactly the `n_left` continuation bytes (the first of them in a range) lead back to `home`.
fn completes(program: &Program, state: StateId, home: u32, at: u32, n_left: u8, low: u8, high: u8) -> bool {
    let Some((linked, _)) = program.place(state) else { return false };
    let unit = &linked.unit;
    // Nothing may end within the character: the walk does not look there.
    if unit.info(at).kind != Kind::Inner || !unit.controls(at).is_empty() {
        return false;
    }
    let mut next = None;
    let is_exact = (0..=255u8).all(|byte| match unit.code(at, byte).step() {
        Step::None => byte < low || byte > high,
        Step::Quiet(to) | Step::Simple(to) => (low..=high).contains(&byte) && *next.get_or_insert(to) == to,
        Step::List(_) => false,
    });
    match next {
        Some(next) if is_exact && n_left == 1 => next == home,
        Some(next) if is_exact => completes(program, state, home, next, n_left - 1, 0x80, 0xBF),
        _ => false,
    }
}

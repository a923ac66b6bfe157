//! The order in which a search tries bytes: so that it ends soon where a completion is left, and sees all spellings of the used values where none is.

use super::super::distinct_values::DistinctValues;
use super::super::head::Head;
use super::super::stack::Stacks;
use super::ways_down::{WaysDown, is_compared, last_number};
use crate::automaton::{Kind, Owner, Program, StateId};
use crate::machine::{Distinct, Exhaustible};
use crate::util::ByteSet;
use smallvec::SmallVec;

/// Which spellings of numbers are tried.
#[derive(Clone, Copy)]
pub(super) enum Numbers {
    /// Those without exponents, and without zeros at the end of a fraction: nearly all values have one.
    Short,
    All,
}

/// Returns the bytes to try from a head, the best last: some of each class, and those that used values go on with.
pub(super) fn bytes_of(
    ways: &mut WaysDown,
    program: &Program,
    stacks: &Stacks,
    head: Head,
    numbers: Numbers,
) -> SmallVec<[u8; 16]> {
    let mut bytes = SmallVec::new();
    let Some((linked, local)) = program.place(head.state) else { return bytes };
    let mut read = linked.unit.bytes(local);
    if let (Numbers::Short, Kind::End | Kind::RegisterRule { .. }, Some(values)) =
        (numbers, linked.unit.info(local).kind, stacks.values())
    {
        read = read & !needless(values);
    }
    if read.len() <= 1 {
        bytes.extend(read.iter());
        return bytes;
    }
    let (mut is_used, mut n_used) = ([false; 256], 0usize);
    if let Some(values) = stacks.values() {
        if let Some(Owner::DistinctValues(_)) = linked.unit.info(local).owner {
            // One of them may begin here.
            n_used += values.n_values(head.register) as usize;
            let first_bytes = values.in_set(head.register).filter_map(|value| values.first_of(value));
            first_bytes.for_each(|byte| is_used[usize::from(byte)] = true);
        }
        ways.for_each_value(program, stacks, head, |register| {
            n_used += values.n_values(register) as usize;
            let next_bytes = values.suffixes(register).filter_map(|suffix| values.first_of(suffix));
            next_bytes.for_each(|byte| is_used[usize::from(byte)] = true);
        });
    }
    // In a string a bracket is a character like others.
    let closes =
        |byte: u8| matches!(byte, b'}' | b']') && linked.unit.code(local, byte) != linked.unit.code(local, b'~');
    let is_between = program.n_values_to_close(head.state) > 0;
    let rank = |byte: u8, is_used: bool| -> Rank {
        let kind = if closes(byte) { 0 } else { 1 + u8::from(byte != b'"') };
        let n_left = if is_between { program.n_values_to_close_behind(head.state, byte) } else { 0 };
        (byte.is_ascii_whitespace(), n_left, is_used, kind)
    };
    let mut ranked: SmallVec<[(Rank, u8); 16]> =
        read.iter().map(|byte| (rank(byte, is_used[usize::from(byte)]), byte)).collect();
    ranked.sort_unstable();
    // Of a class one byte more than there are used values, which may be spelled otherwise up to here, and values that must follow, which may have to be this one.
    let n_values = n_used + n_values_left(program, stacks, head) as usize;
    let mut n_of_class = [0usize; 256];
    for &(_, byte) in &ranked {
        let n = &mut n_of_class[usize::from(linked.unit.class(byte))];
        let n_max = if byte.is_ascii_whitespace() { 0 } else { n_values };
        if *n <= n_max || is_used[usize::from(byte)] {
            *n += 1;
            bytes.push(byte);
        }
    }
    bytes.reverse();
    bytes
}

/// How early a byte is tried: white space last, between values first what leads to the end with few of them, what used values go on with late, and of the others
/// first what closes a container, then what closes a string, so that a search ends soon.
type Rank = (bool, u8, bool, u8);

/// Most frames that are looked at to find out how far the end is.
const FRAMES_MAX: usize = 32;

/// Returns how many values the ways out of the rules that a head is within take, up to the outermost one whose values are compared or may run out: a guess, which
/// looks down one way. A search ends where it leaves that one, and what it takes to know the way out of the others, often large ones, is not worth it.
pub(super) fn n_values_left(program: &Program, stacks: &Stacks, head: Head) -> u32 {
    let mut states: SmallVec<[StateId; FRAMES_MAX + 1]> = SmallVec::new();
    states.push(head.state);
    let mut node = head.node;
    while states.len() <= FRAMES_MAX
        && let Some(exit) = stacks.exits(node).next()
    {
        states.push(exit.state);
        node = exit.node;
    }
    let is_limited = |distinct: Distinct| is_compared(distinct) || distinct.exhaustible != Exhaustible::Never;
    let is_within = |&state: &StateId| {
        program.info(state).is_some_and(|info| {
            matches!(info.kind, Kind::DistinctValue(distinct) if is_limited(distinct))
                || matches!(info.owner, Some(Owner::DistinctValues(distinct)) if is_limited(distinct))
        })
    };
    let outermost = states.iter().rposition(is_within).unwrap_or(0);
    states[..=outermost].iter().map(|&state| u32::from(program.n_values_to_close(state))).sum()
}

/// Returns the bytes that make the number at the end of the text longer, if there is one, though perhaps another value has no other spelling:
/// exponents, and zeros of a fraction. Of strings that are like numbers it may be wrong.
fn needless(values: &DistinctValues) -> ByteSet {
    let number: SmallVec<[u8; 32]> = last_number(values).collect();
    if !number.last().is_some_and(|first| first.is_ascii_digit() || *first == b'-') {
        return ByteSet::EMPTY;
    }
    let exponents = ByteSet::from_bytes(b"eE");
    if number.iter().any(|byte| exponents.contains(*byte)) {
        ByteSet::range(b'0', b'9')
    } else if number.contains(&b'.') {
        exponents | ByteSet::from_bytes(b"0")
    } else {
        exponents
    }
}

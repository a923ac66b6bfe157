//! States between which characters lead to and fro, and nowhere else.
//!
//! A text that holds `abc` somewhere is read in four states: nothing found yet, `a`, `ab`, and all of it. None loops on all characters, but
//! none of these characters ends the text either: from each state, whatever is read leads to one of the four. So which tokens of such characters are allowed
//! needs no walk; only where another byte follows (the closing quote), it matters to which of the states the characters before it led.

use super::loops::{Form, Loop};
use crate::automaton::{Kind, Owner, Step, Unit};
use crate::util::ByteSet;
use crate::vocab::{Alphabet, Others, lead};
use ahash::AHashSet;
use std::sync::Arc;

/// Fewest characters of ASCII that are worth a region, and most states.
const CHARS_MIN: u32 = 48;
const STATES_MAX: usize = 256;

/// States of a unit that the characters of an alphabet don't lead out of.
#[derive(Debug)]
pub(super) struct Closed {
    /// The other bytes that some of the states read.
    pub bytes: ByteSet,
    /// The strictest tally, if characters are counted.
    pub strictest: Option<u32>,
}

/// Returns the closed set of states that a state belongs to, and the set's loop, if there is one.
pub(super) fn closed(unit: &Unit, start: u32) -> Option<(Vec<u32>, Loop)> {
    let reads = unit.bytes(start);
    let mut ascii = (0..128u8).filter(|&byte| reads.contains(byte)).fold(0u128, |ascii, byte| ascii | 1 << byte);
    let mut is_all = (0xC2..=0xF4).all(|byte| reads.contains(byte));
    if !is_plain(unit, start) {
        return None;
    }
    loop {
        if ascii.count_ones() < CHARS_MIN {
            return None;
        }
        match close(unit, start, ascii, is_all) {
            Ok(states) => {
                let alphabet = Alphabet { ascii, others: if is_all { Others::All } else { Others::None } };
                let read = states.iter().map(|&state| unit.bytes(state)).fold(ByteSet::EMPTY, |all, bytes| all | bytes);
                let bytes = read.iter().filter(|&byte| !alphabet.begins(byte)).collect();
                let strictest = match unit.info(start).owner {
                    Some(Owner::Tallies(tally)) => Some(tally),
                    _ => None,
                };
                let form = Form::Closed(Arc::new(Closed { bytes, strictest }));
                return Some((states, Loop { alphabet, form }));
            }
            Err(Opens::TooMany) => return None,
            Err(Opens::By(characters)) => ascii &= !characters,
            Err(Opens::ByOthers) => is_all = false,
        }
    }
}

/// Why a set of states is not closed.
enum Opens {
    /// These characters of ASCII lead to states that don't read letters and digits as the first one does, or end.
    By(u128),
    ByOthers,
    TooMany,
}

/// Returns the states that characters lead to from `start`.
fn close(unit: &Unit, start: u32, ascii: u128, is_all: bool) -> Result<Vec<u32>, Opens> {
    let words: u128 = (0..128u8).filter(u8::is_ascii_alphanumeric).fold(0, |words, byte| words | 1 << byte);
    let bytes_of = |set: u128| (0..128u8).filter(move |&byte| set >> byte & 1 == 1);
    let target = |from: u32, byte: u8| match unit.code(from, byte).step() {
        Step::Quiet(to) | Step::Simple(to) if is_plain(unit, to) => Some(to),
        _ => None,
    };
    let reads_on = |state: u32| bytes_of(ascii & words).all(|byte| target(state, byte).is_some());
    let mut states = vec![start];
    let mut known = AHashSet::from([start]);
    let mut within = AHashSet::new();
    let mut next = 0;
    while let Some(&state) = states.get(next) {
        next += 1;
        let mut opening = 0u128;
        let mut add = |to: u32, states: &mut Vec<u32>| {
            if known.insert(to) {
                states.push(to);
            }
        };
        for byte in bytes_of(ascii) {
            match target(state, byte) {
                Some(to) if states.contains(&to) || reads_on(to) => add(to, &mut states),
                _ => opening |= 1 << byte,
            }
        }
        if opening != 0 {
            return Err(Opens::By(opening));
        }
        if is_all {
            for (byte, (n_left, low, high)) in (0x80..=0xFF).filter_map(|byte| Some((byte, lead(byte)?))) {
                let Some(to) = target(state, byte) else { return Err(Opens::ByOthers) };
                if !complete(unit, to, (n_left, low, high), &mut within, &mut |to| add(to, &mut states)) {
                    return Err(Opens::ByOthers);
                }
            }
        }
        if states.len() > STATES_MAX {
            return Err(Opens::TooMany);
        }
    }
    Ok(states)
}

/// A place within a character: a state, how many continuation bytes follow, and the range of the first.
type Within = (u32, (u8, u8, u8));

/// Calls `visit` with the states that all characters lead to that go on from `at` with some continuation bytes; tells whether all of them
/// lead somewhere.
fn complete(
    unit: &Unit,
    at: u32,
    rest: (u8, u8, u8),
    seen: &mut AHashSet<Within>,
    visit: &mut impl FnMut(u32),
) -> bool {
    if !seen.insert((at, rest)) {
        return true;
    }
    let (n_left, low, high) = rest;
    (low..=high).all(|byte| match unit.code(at, byte).step() {
        Step::Quiet(to) | Step::Simple(to) if is_plain(unit, to) => {
            if n_left == 1 {
                visit(to);
                return true;
            }
            complete(unit, to, (n_left - 1, 0x80, 0xBF), seen, visit)
        }
        _ => false,
    })
}

/// Tells whether nothing but counting happens on entering a state.
fn is_plain(unit: &Unit, state: u32) -> bool {
    let is_quiet = match unit.info(state).kind {
        Kind::Inner => true,
        Kind::Tally { tally } => !unit.tally(tally).is_end(),
        _ => false,
    };
    is_quiet && unit.controls(state).is_empty()
}

impl Closed {
    /// Returns the state and the register after `bytes`, which are characters of the alphabet.
    pub fn run(&self, unit: &Unit, mut state: u32, mut register: u64, bytes: &[u8]) -> Option<(u32, u64)> {
        for &byte in bytes {
            let (Step::Quiet(to) | Step::Simple(to)) = unit.code(state, byte).step() else { return None };
            if let Kind::Tally { tally } = unit.info(to).kind {
                register = unit.tally(tally).arrive(register)?;
            }
            state = to;
        }
        Some((state, register))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::Code;
    use crate::compiler::{CompiledGrammar, GrammarCompiler};
    use crate::vocab::Vocab;

    fn compiled(pattern: &str) -> CompiledGrammar {
        let mut vocab = Vocab::builder();
        vocab.extend((0..=255u8).map(|byte| [byte]).collect::<Vec<_>>());
        let compiler = GrammarCompiler::new(Arc::new(vocab.build().unwrap()));
        compiler.compile_ebnf(&format!("root ::= /{pattern}/")).unwrap()
    }

    fn found(pattern: &str) -> Option<(usize, Alphabet)> {
        let compiled = compiled(pattern);
        let (linked, start) = compiled.program().place(compiled.program().start()).unwrap();
        closed(&linked.unit, start).map(|(states, found)| (states.len(), found.alphabet))
    }

    #[test]
    fn a_search_is_closed_under_all_but_what_ends_it() {
        // Nothing, `a`, `ab`, all of it; the quote is read from the last only.
        let (n_states, alphabet) = found(r#"[^"]*abc[^"]*""#).unwrap();
        assert_eq!((n_states, alphabet.others), (4, Others::All));
        assert!((0..128).all(|byte| (alphabet.ascii >> byte & 1 == 1) == (byte != u32::from(b'"'))));
    }

    #[test]
    fn characters_that_lead_out_are_no_part_of_the_alphabet() {
        // Behind the `@` fewer characters may follow, and in the end none of the others.
        let (n_states, alphabet) = found(r#"([a-zA-Z0-9]+\.)*[a-zA-Z0-9]+@[a-z]""#).unwrap();
        assert!(n_states <= 2 && alphabet.ascii.count_ones() == 62 && alphabet.others == Others::None);
        assert!(found(r#"[a-zA-Z0-9]{5}""#).is_none(), "each letter leads nearer to the end");
        assert!(found(r#"[ab]+""#).is_none(), "too few to be worth it");
        assert!(found("[^\"]*").is_none(), "it may end anywhere");
    }

    #[test]
    fn running_follows_characters() {
        let compiled = compiled(r#"[^"]*abc[^"]*""#);
        let (linked, start) = compiled.program().place(compiled.program().start()).unwrap();
        let unit = &linked.unit;
        let Some((_, Loop { form: Form::Closed(closed), .. })) = closed(unit, start) else { panic!("it is closed") };
        let after = |text: &str| closed.run(unit, start, 0, text.as_bytes()).unwrap().0;
        let may_end = |state: u32| unit.code(state, b'"') != Code::NONE;
        assert_eq!(["", "ab", "xabc", "abcé"].map(|text| may_end(after(text))), [false, false, true, true]);
        assert_eq!(closed.run(unit, start, 0, b"\""), None);
    }
}

//! All spellings of the strings of a language: each character as itself, as a short escape, as `\uXXXX` with hexadecimal digits of either
//! case, and beyond the basic plane as a pair of surrogates.
//!
//! The given automaton reads decoded strings in UTF-8, byte by byte, while `\u00e9` is a code point. So the characters that may follow a
//! state are listed as intervals of code points, each with its target state, and the digits are read by a trie over them; tries of equal
//! lists are shared. A state with a self-loop over `[a-z]` costs some ten states, one of the string `abc` five: six times as many as the
//! shortest spelling alone.

use super::draft::Draft;
use super::text::PLAIN;
use crate::pass::Label;
use crate::regular::Dfa;
use crate::util::json_string::short_escape;
use hashbrown::HashMap;
use std::rc::Rc;

/// Intervals of code points, ascending, each with a target state: first, last, state.
type Intervals = Vec<(u32, u32, u32)>;

/// Adds the edges of an automaton over decoded bytes in all spellings; `place` maps its states to those of the draft.
pub(super) fn spell_in_all_ways(draft: &mut Draft, dfa: &Dfa, place: impl Fn(u32) -> u32) {
    let mut characters = Characters { dfa, tails: HashMap::new() };
    let mut escapes = Escapes::default();
    for state in 0..dfa.n_states() as u32 {
        for (low, high, target) in dfa.edges(state) {
            for (first, last) in PLAIN {
                let (first, last) = (first.max(low), last.min(high));
                if first <= last {
                    draft.edge(place(state), Label::Bytes(first, last), place(target));
                }
            }
        }
        let mut after = characters.after(state);
        after.iter_mut().for_each(|(_, _, target)| *target = place(*target));
        if !after.is_empty() {
            let escape = escapes.escape(draft, after);
            draft.byte(&[place(state)], b'\\', escape);
        }
    }
}

/// The characters that may follow the states of an automaton.
struct Characters<'a> {
    dfa: &'a Dfa,
    /// By state and number of missing continuation bytes: the intervals of the values of those bytes.
    tails: HashMap<(u32, u32), Rc<Intervals>>,
}

impl Characters<'_> {
    /// Returns the characters that may follow a state; none within a character.
    fn after(&mut self, state: u32) -> Intervals {
        let mut all = Intervals::new();
        for (low, high, target) in self.dfa.edges(state) {
            if low < 0x80 {
                push(&mut all, u32::from(low), u32::from(high.min(0x7F)), target);
            }
            // The leading bytes of characters with one to three continuation bytes.
            for (n_more, first, last) in [(1, 0xC0, 0xDF), (2, 0xE0, 0xEF), (3, 0xF0, 0xF7)] {
                for lead in low.max(first)..=high.min(last) {
                    let from = u32::from(lead - first) << (6 * n_more);
                    for &(low, high, target) in &*self.tail(target, n_more) {
                        push(&mut all, from + low, from + high, target);
                    }
                }
            }
        }
        all
    }

    fn tail(&mut self, state: u32, n_bytes: u32) -> Rc<Intervals> {
        if let Some(known) = self.tails.get(&(state, n_bytes)) {
            return Rc::clone(known);
        }
        let mut all = Intervals::new();
        for (low, high, target) in self.dfa.edges(state) {
            let (low, high) = (u32::from(low & 0x3F), u32::from(high & 0x3F));
            if n_bytes == 1 {
                push(&mut all, low, high, target);
                continue;
            }
            let rest = self.tail(target, n_bytes - 1);
            for byte in low..=high {
                let from = byte << (6 * (n_bytes - 1));
                rest.iter().for_each(|&(low, high, target)| push(&mut all, from + low, from + high, target));
            }
        }
        let all = Rc::new(all);
        self.tails.insert((state, n_bytes), Rc::clone(&all));
        all
    }
}

fn push(intervals: &mut Intervals, low: u32, high: u32, target: u32) {
    match intervals.last_mut() {
        Some((_, last, same)) if *last + 1 == low && *same == target => *last = high,
        _ => intervals.push((low, high, target)),
    }
}

/// Returns the part of a list within `from..from + size`, relative to `from`.
fn part(intervals: &[(u32, u32, u32)], from: u32, size: u32) -> Intervals {
    let last = from + (size - 1);
    let within = intervals.iter().filter(|&&(low, high, _)| low <= last && high >= from);
    within.map(|&(low, high, target)| (low.max(from) - from, high.min(last) - from, target)).collect()
}

/// The states after backslashes.
#[derive(Default)]
struct Escapes {
    /// By the characters that may follow.
    escapes: HashMap<Intervals, u32>,
    /// The states before digits, by the number of bits that the digits have and their intervals.
    digits: HashMap<(u32, Intervals), u32>,
}

/// Bits of a pair of surrogates beyond the first digit of each: `\uD8..\uDC..`.
const PAIR_BITS: u32 = 18;
/// The bits of a low surrogate.
const LOW_BITS: u32 = 10;

impl Escapes {
    /// Returns the state after a backslash before some characters.
    fn escape(&mut self, draft: &mut Draft, characters: Intervals) -> u32 {
        if let Some(&known) = self.escapes.get(&characters) {
            return known;
        }
        let escape = draft.state();
        for byte in *b"\"\\/\x08\x0C\n\r\t" {
            let letter = if byte == b'/' { byte } else { short_escape(byte).expect("it has one") };
            if let Some(&(_, _, target)) = part(&characters, u32::from(byte), 1).first() {
                draft.byte(&[escape], letter, target);
            }
        }
        let number = draft.state();
        draft.byte(&[escape], b'u', number);
        let others = (0..16).filter(|&digit| digit != 0xD);
        self.digits(draft, number, others.map(|digit| (digit, part(&characters, digit << 12, 1 << 12), 12)));
        // D000 to D7FF are characters, D800 to DBFF the first halves of pairs. No state is made that leads nowhere.
        if characters.iter().any(|&(low, high, _)| high >= 0x1_0000 || (low <= 0xD7FF && high >= 0xD000)) {
            let second = draft.state();
            hex_digits(draft, number, (0xD, 0xD), second);
            let whole = (0..8).map(|digit| (digit, part(&characters, 0xD000 + (digit << 8), 1 << 8), 8));
            let in_quarter = |quarter| part(&characters, 0x1_0000 + (quarter << PAIR_BITS), 1 << PAIR_BITS);
            let halves = (0..4).map(|quarter| (8 + quarter, in_quarter(quarter), PAIR_BITS));
            self.digits(draft, second, whole.chain(halves));
        }
        self.escapes.insert(characters, escape);
        escape
    }

    /// Adds digits, ascending, each before numbers of some bits, if there are any.
    fn digits(&mut self, draft: &mut Draft, from: u32, digits: impl Iterator<Item = (u32, Intervals, u32)>) {
        let mut targets = Intervals::new();
        for (digit, numbers, n_bits) in digits.filter(|(_, numbers, _)| !numbers.is_empty()) {
            let target = self.numbers(draft, numbers, n_bits);
            push(&mut targets, digit, digit, target);
        }
        for (first, last, target) in targets {
            hex_digits(draft, from, (first, last), target);
        }
    }

    /// Returns the state before the digits of some numbers.
    fn numbers(&mut self, draft: &mut Draft, numbers: Intervals, n_bits: u32) -> u32 {
        if n_bits == 0 {
            return numbers[0].2;
        }
        let key = (n_bits, numbers);
        if let Some(&known) = self.digits.get(&key) {
            return known;
        }
        let state = draft.state();
        let numbers = &key.1;
        if n_bits == LOW_BITS {
            let (first, second) = (draft.state(), draft.state());
            draft.text(&[state], b"\\u", first);
            hex_digits(draft, first, (0xD, 0xD), second);
            let quarters = (0..4).map(|quarter| (0xC + quarter, part(numbers, quarter << 8, 1 << 8), 8));
            self.digits(draft, second, quarters);
        } else {
            let left = n_bits - 4;
            self.digits(draft, state, (0..16).map(|digit| (digit, part(numbers, digit << left, 1 << left), left)));
        }
        self.digits.insert(key, state);
        state
    }
}

/// Adds the hexadecimal digits `first..=last` in both cases.
fn hex_digits(draft: &mut Draft, from: u32, (first, last): (u32, u32), target: u32) {
    for (zero, low, high) in [(b'0', 0, 9), (b'a' - 10, 10, 15), (b'A' - 10, 10, 15)] {
        let (low, high) = (first.max(low), last.min(high));
        if low <= high {
            draft.edge(from, Label::Bytes(zero + low as u8, zero + high as u8), target);
        }
    }
}

//! Programs as text and as DOT (Graphviz), for people.

use super::link::{Linked, Program};
use super::moves::{LocalState, Move, PackedMove, Pushes, StateRef, Step};
use super::state::Kind;
use super::unit::Unit;
use crate::machine::RegisterRule;
use crate::pass::{ControlKind, ControlLetter};
use crate::util::ByteSet;
use core::fmt::Write;
use std::collections::BTreeMap;

/// Returns a listing: a block per unit, a line per state, a line per move.
///
/// ```text
/// unit 0 `value` (3 states), entries: 0
///   0
///     [{] -> 1
///     ["] -> push 2, unit 1 state 4
///   2 end
/// ```
pub(crate) fn dump_text(program: &Program) -> String {
    let mut text = String::new();
    for (index, linked) in program.units().iter().enumerate() {
        let unit = &linked.unit;
        let entries: Vec<String> = unit.content.entries.iter().map(|entry| entry.0.to_string()).collect();
        let (n_states, entries) = (unit.n_states(), entries.join(", "));
        writeln_to(&mut text, format_args!("unit {index} `{}` ({n_states} states), entries: {entries}", unit.name));
        for state in unit.states() {
            writeln_to(&mut text, format_args!("  {}{}", state.0, kind(linked, state)));
            for (label, moves) in rows(linked, state) {
                for one in moves {
                    writeln_to(&mut text, format_args!("    {label} -> {}", show(program, linked, &one)));
                }
            }
        }
    }
    text
}

/// Returns the program as a DOT digraph: a cluster per unit, dashed edges for moves that push.
pub(crate) fn dump_dot(program: &Program) -> String {
    let mut text = String::from("digraph grammar {\n  rankdir=LR;\n  node [shape=circle];\n");
    let name = |linked: &Linked, place: StateRef| format!("s{}", linked.state(place).0);
    for (index, linked) in program.units().iter().enumerate() {
        let label = quote(&linked.unit.name);
        writeln_to(&mut text, format_args!("  subgraph cluster_{index} {{\n    label={label};"));
        for state in linked.unit.states() {
            let shape = if kind(linked, state).is_empty() { "circle" } else { "doublecircle" };
            let label = quote(&format!("{}{}", state.0, kind(linked, state)));
            let id = name(linked, StateRef::own(state));
            writeln_to(&mut text, format_args!("    {id} [shape={shape}, label={label}];"));
        }
        text.push_str("  }\n");
        for state in linked.unit.states() {
            for (label, moves) in rows(linked, state) {
                for one in moves {
                    let pushed: Vec<String> = one.pushes.iter().map(|&place| name(linked, place)).collect();
                    let (style, pushed) = match pushed.is_empty() {
                        true => ("solid", String::new()),
                        false => ("dashed", format!(" / push {}", pushed.join(" "))),
                    };
                    let label = quote(&format!("{label}{pushed}"));
                    let (from, to) = (name(linked, StateRef::own(state)), name(linked, one.target));
                    writeln_to(&mut text, format_args!("  {from} -> {to} [style={style}, label={label}];"));
                }
            }
        }
    }
    text.push_str("}\n");
    text
}

fn writeln_to(text: &mut String, line: core::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a string never fails");
}

fn quote(label: &str) -> String {
    format!("\"{}\"", label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn kind(linked: &Linked, state: LocalState) -> String {
    match linked.unit.info(state).kind {
        Kind::Inner => String::new(),
        Kind::End => " end".into(),
        Kind::DistinctValue(_) => " value".into(),
        Kind::RegisterRule { register_rule } => {
            let register_rule = linked.unit.register_rule(register_rule);
            let end = if register_rule.can_ever_end() { " end" } else { "" };
            match register_rule {
                RegisterRule::Length(length) => {
                    let counts = if length.counts_char { " counts" } else { "" };
                    let max = length.arrival_max.map_or(String::new(), |max| max.to_string());
                    format!("{end}{counts} {{{},{max}}}", length.min)
                }
                RegisterRule::Tokens(budget) => {
                    let nearer = if budget.is_nearer { " nearer to the end" } else { "" };
                    format!("{end} counts tokens {{,{}}}{nearer}", budget.max)
                }
                RegisterRule::Residue(residue) => {
                    let digit = residue.digit.map_or(String::new(), |digit| format!(" digit {digit}"));
                    format!("{end}{digit} modulo {}", residue.modulus)
                }
            }
        }
        Kind::BodyEnd { loop_state, .. } => format!(" counts, then {}", loop_state.0),
        Kind::Loop { counter } => {
            let counter = linked.unit.counter(counter);
            let max = counter.max().map_or(String::new(), |max| max.to_string());
            format!(" counted {{{},{max}}}", counter.min())
        }
    }
}

/// Returns the moves of a state by what they read: bytes with equal moves together, then control tokens.
fn rows(linked: &Linked, state: LocalState) -> Vec<(String, Vec<Move>)> {
    let unit = &linked.unit;
    let mut by_code: BTreeMap<(u8, u32), (PackedMove, ByteSet)> = BTreeMap::new();
    for byte in 0..=255u8 {
        let code = unit.code(state, byte);
        let key = match code.step() {
            Step::None => continue,
            Step::Plain(target) | Step::Local(target) => (0, target.0),
            Step::List(list) => (1, list.0),
        };
        by_code.entry(key).or_insert((code, ByteSet::EMPTY)).1.insert(byte);
    }
    let moves = |code: PackedMove| match code.step() {
        Step::None => Vec::new(),
        Step::Plain(target) | Step::Local(target) => {
            vec![Move { pushes: Pushes::new(), target: StateRef::own(target) }]
        }
        Step::List(list) => unit.list(list).to_vec(),
    };
    let mut rows: Vec<(String, Vec<Move>)> =
        by_code.into_values().map(|(code, bytes)| (format!("{bytes:?}"), moves(code))).collect();
    rows.extend(unit.controls(state).iter().map(|&(letter, list)| (control(unit, letter), unit.list(list).to_vec())));
    rows
}

/// Returns a letter that is tokens as EBNF writes it.
fn control(unit: &Unit, letter: ControlLetter) -> String {
    let ranges = match (letter.kind(), &unit.content.token_sets) {
        (ControlKind::Token(token), _) => return format!("<[{token}]>"),
        (ControlKind::Set(set), Some(sets)) => sets.excluded(set),
        (ControlKind::Set(_), None) => &[],
    };
    let range = |&(low, high): &(u32, u32)| if low == high { low.to_string() } else { format!("{low}-{high}") };
    match ranges {
        [] => "<[*]>".to_owned(),
        ranges => format!("<[^{}]>", ranges.iter().map(range).collect::<Vec<_>>().join(",")),
    }
}

fn show(program: &Program, linked: &Linked, one: &Move) -> String {
    let place = |place: StateRef| match program.place(linked.state(place)) {
        Some((other, state)) if place.slot > 0 => {
            let index = program.units().iter().position(|unit| unit.unit == other.unit).unwrap_or_default();
            format!("unit {index} state {}", state.0)
        }
        _ => place.state.0.to_string(),
    };
    let mut parts: Vec<String> = one.pushes.iter().map(|&pushed| format!("push {}", place(pushed))).collect();
    parts.push(place(one.target));
    parts.join(", ")
}

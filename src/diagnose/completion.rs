//! Completions: a short text that makes the text so far a sentence.
//!
//! The reference recognizer finds a shortest one. It knows the grammar alone, and not what the engine counts beside it (distinct keys and items, long counts of a
//! schema), so each candidate is tried on the engine. Where the engine refuses a byte, the search goes on from the bytes before it, with each byte that the engine
//! allows there, the shortest candidates first; what is found so is a completion, and not always a shortest one. Long counts are too far away for that: a last attempt
//! takes a plain byte wherever the engine refuses one, as long as it takes.

use super::schema::next_bytes;
use crate::grammar::ControlRef;
use crate::matcher::Matcher;
use crate::reference::{Chart, Symbol};
use crate::vocab::TokenId;
use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Most places from which the search goes on.
const TRIES_MAX: usize = 16;
/// Most bytes of the last attempt that replace refused ones.
const REPLACED_MAX: usize = 1 << 10;
/// Longest completion that is looked for, in symbols.
const SYMBOLS_MAX: u64 = 1 << 14;

/// A text that completes the text so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    symbols: Vec<Symbol>,
    is_shortest: bool,
}

impl Completion {
    /// Returns the bytes and control tokens.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// Returns whether none is shorter, in bytes and control tokens.
    pub fn is_shortest(&self) -> bool {
        self.is_shortest
    }

    /// Returns the bytes, if it is all bytes.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let byte = |symbol: &Symbol| match symbol {
            Symbol::Byte(byte) => Some(*byte),
            _ => None,
        };
        self.symbols.iter().map(byte).collect()
    }
}

/// Finds a completion; `None` if the search gave up.
pub(super) fn find(matcher: &Matcher, chart: &mut Chart) -> Option<Completion> {
    if matcher.is_accepting() {
        return Some(Completion { symbols: Vec::new(), is_shortest: true });
    }
    let start = chart.len();
    // Candidates: the bytes before, and with how many symbols the grammar could complete them.
    let mut queue = BinaryHeap::from([Reverse((chart.completion_len(), Vec::new()))]);
    for n_tries in 0..TRIES_MAX {
        let Some(Reverse((len, before))) = queue.pop() else { break };
        if len > SYMBOLS_MAX {
            break;
        }
        let mut probe = matcher.fork();
        if probe.accept_bytes(&before).is_err() || chart.push_bytes(&before) < before.len() {
            chart.truncate(start);
            continue;
        }
        let symbols = chart.shortest_completion();
        let refused = symbols.iter().position(|symbol| !accepts(&mut probe, symbol));
        let has_tokens = symbols.iter().any(|symbol| !matches!(symbol, Symbol::Byte(_)));
        match refused {
            None if probe.is_accepting() || probe.is_terminated() => {
                chart.truncate(start);
                let mut all: Vec<Symbol> = before.into_iter().map(Symbol::Byte).collect();
                all.extend(symbols);
                return Some(Completion { symbols: all, is_shortest: n_tries == 0 });
            }
            None => {}
            // The search goes on behind bytes alone.
            Some(_) if has_tokens => {}
            Some(n_read) => {
                let mut ahead = before.clone();
                for index in 0..=n_read {
                    let mut probe = matcher.fork();
                    let _ = probe.accept_bytes(&ahead);
                    let taken = symbols.get(index).and_then(|symbol| match symbol {
                        Symbol::Byte(byte) => Some(*byte),
                        _ => None,
                    });
                    let depth = chart.len();
                    for byte in next_bytes(&probe).iter().filter(|byte| Some(*byte) != taken) {
                        if chart.push_byte(byte) {
                            let mut other = ahead.clone();
                            other.push(byte);
                            queue.push(Reverse((chart.completion_len() + other.len() as u64, other)));
                            chart.truncate(depth);
                        }
                    }
                    match taken {
                        Some(byte) if chart.push_byte(byte) => ahead.push(byte),
                        _ => break,
                    }
                }
            }
        }
        chart.truncate(start);
    }
    let found = plain(matcher, chart);
    chart.truncate(start);
    found
}

/// Makes a matcher accept a symbol, as some token if it is none of text; tells whether it does.
fn accepts(matcher: &mut Matcher, symbol: &Symbol) -> bool {
    match symbol {
        Symbol::Byte(byte) => matcher.accept_bytes(&[*byte]).is_ok(),
        Symbol::Control(ControlRef::Id(id)) => matcher.accept_token(*id).is_ok(),
        Symbol::Control(ControlRef::Name(name)) => {
            let vocab = Arc::clone(matcher.grammar().vocab());
            vocab.ids_named(name).iter().any(|&id| matcher.accept_token(id).is_ok())
        }
        Symbol::TokenExcept(_) => {
            let Ok(mask) = matcher.mask() else { return false };
            let is_other = |id: &TokenId| !matcher.stop_tokens().contains(id);
            mask.iter().find(is_other).is_some_and(|id| matcher.accept_token(id).is_ok())
        }
    }
}

/// Completes with what the grammar completes with, and a plain byte wherever the engine refuses one.
fn plain(matcher: &Matcher, chart: &mut Chart) -> Option<Completion> {
    let mut ahead = matcher.fork();
    let mut bytes = Vec::new();
    for _ in 0..REPLACED_MAX {
        for symbol in chart.shortest_completion() {
            let Symbol::Byte(byte) = symbol else { return None };
            if ahead.is_accepting() || ahead.accept_bytes(&[byte]).is_err() {
                break;
            }
            chart.push_byte(byte);
            bytes.push(byte);
        }
        if ahead.is_accepting() {
            let symbols = bytes.into_iter().map(Symbol::Byte).collect();
            return Some(Completion { symbols, is_shortest: false });
        }
        let allowed = next_bytes(&ahead);
        let byte =
            allowed.iter().max_by_key(|byte| (byte.is_ascii_lowercase(), byte.is_ascii_graphic(), Reverse(*byte)))?;
        if ahead.accept_bytes(&[byte]).is_err() || !chart.push_byte(byte) {
            return None;
        }
        bytes.push(byte);
    }
    None
}

//! What a grammar expects after a text, in terms of its rules.
//!
//! The engine's automata have lost the rules that a person wrote, so the reference recognizer parses the text so far again. It takes memory
//! for each byte; after very long texts only the bytes that may follow are shown, which the engine knows.

use crate::controls::Piece;
use crate::output::{is_unseen, quoted};
use maskwright::diagnose;
use maskwright::grammar::ControlRef;
use maskwright::reference::{Chart, Recognizer, Symbol};
use maskwright::util::ByteSet;
use maskwright::{CompiledGrammar, Limits, Matcher};
use serde_json::{Value, json};

/// The longest text that the reference recognizer is asked about, in bytes.
const RECOGNIZED_BYTES_MAX: usize = 1 << 16;
/// Most items shown.
const SHOWN_MAX: usize = 8;

/// What may follow a text.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// What may come, and in which rules, if the recognizer was asked.
    pub items: Vec<(String, Vec<String>)>,
    /// The bytes that may come.
    pub bytes: ByteSet,
    /// The text may end here.
    pub is_accepting: bool,
    /// A shortest text that completes it, with the names of control tokens.
    pub completion: Option<String>,
    /// Rules in progress, innermost first, if the recognizer was asked.
    pub open_rules: Vec<String>,
}

impl Expected {
    /// Finds what may follow; `matcher` has accepted `pieces`.
    pub fn new(matcher: &Matcher, text: &[u8], pieces: &[Piece]) -> Self {
        let mut expected = Expected { is_accepting: matcher.is_accepting(), ..Expected::default() };
        let mut probe = matcher.fork();
        for byte in 0..=255u8 {
            if probe.accept_bytes(&[byte]).is_ok() {
                expected.bytes.insert(byte);
                probe = matcher.fork();
            }
        }
        if let Some(chart) = chart_at(matcher.grammar(), text, pieces) {
            let grammar = matcher.grammar().expanded_grammar();
            for item in diagnose::expected(grammar, &chart).items() {
                let rules = item.rules().iter().map(|rule| harmless(rule.name())).collect();
                expected.items.push((harmless(&item.to_string()), rules));
            }
            let open = diagnose::rules_in_progress(grammar, &chart);
            expected.open_rules = open.iter().map(|open| harmless(open.rule().name())).collect();
            expected.completion =
                (chart.completion_len() <= 1 << 12).then(|| shown_symbols(&chart.shortest_completion()));
        }
        expected
    }

    /// Returns it as lines for people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (what, rules) in self.items.iter().take(SHOWN_MAX) {
            let from = match rules.len() {
                0 => String::new(),
                1..=3 => format!("   in {}", rules.join(", ")),
                n => format!("   in {} and {} more rules", rules[..2].join(", "), n - 2),
            };
            lines.push(format!("{what}{from}"));
        }
        if self.items.len() > SHOWN_MAX {
            lines.push(format!("... and {} more", self.items.len() - SHOWN_MAX));
        }
        if self.items.is_empty() && !self.bytes.is_empty() {
            lines.push(format!("a byte of {}", shown_bytes(&self.bytes)));
        }
        if self.is_accepting {
            lines.push("the end".to_owned());
        }
        lines
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let items: Vec<Value> =
            self.items.iter().map(|(what, rules)| json!({ "what": what, "rules": rules })).collect();
        json!({
            "expected": items,
            "expected_bytes": shown_bytes(&self.bytes),
            "may_end": self.is_accepting,
            "shortest_completion": self.completion,
            "open_rules": self.open_rules,
        })
    }
}

fn chart_at(grammar: &CompiledGrammar, text: &[u8], pieces: &[Piece]) -> Option<Chart> {
    if text.len() > RECOGNIZED_BYTES_MAX {
        return None;
    }
    let mut chart = Recognizer::new(grammar.expanded_grammar(), &Limits::default()).ok()?.start();
    for piece in pieces {
        let is_read = match piece {
            Piece::Bytes(at) => chart.push_bytes(&text[at.clone()]) == at.len(),
            Piece::Control { control, ids, .. } => match ids.first() {
                Some(&id) => chart.push_control(grammar.vocab().name(id), id),
                None => chart.push(&Symbol::Control(control.clone())),
            },
        };
        if !is_read {
            return None;
        }
    }
    Some(chart)
}

/// Replaces characters that could not be seen.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Shows a control token as grammars write it.
pub fn shown_control(control: &ControlRef) -> String {
    match control {
        ControlRef::Name(name) => harmless(name),
        ControlRef::Id(id) => format!("<[{id}]>"),
    }
}

fn shown_symbols(symbols: &[Symbol]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut bytes = Vec::new();
    for symbol in symbols {
        match symbol {
            Symbol::Byte(byte) => bytes.push(*byte),
            Symbol::TokenExcept(_) => {
                if !bytes.is_empty() {
                    parts.push(quoted(&std::mem::take(&mut bytes)));
                }
                parts.push("(any other token)".to_owned());
            }
            Symbol::Control(control) => {
                if !bytes.is_empty() {
                    parts.push(quoted(&std::mem::take(&mut bytes)));
                }
                parts.push(shown_control(control));
            }
        }
    }
    if !bytes.is_empty() {
        parts.push(quoted(&bytes));
    }
    parts.join(" ")
}

/// Shows a set of bytes as a class.
pub fn shown_bytes(bytes: &ByteSet) -> String {
    let shown = |byte: u8| match byte {
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\\' | b']' | b'[' | b'-' | b'^' => format!("\\{}", char::from(byte)),
        0x20..0x7F => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    };
    let mut text = String::from("[");
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in bytes.iter() {
        match ranges.last_mut() {
            Some((_, high)) if *high + 1 == byte => *high = byte,
            _ => ranges.push((byte, byte)),
        }
    }
    for (low, high) in ranges {
        text.push_str(&shown(low));
        if high - low > 1 {
            text.push('-');
        }
        if high > low {
            text.push_str(&shown(high));
        }
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_sets_are_shown_as_classes() {
        let set: ByteSet = b"\n-059a\xFF\xFE\xFD".iter().copied().chain(b'1'..=b'4').collect();
        assert_eq!(shown_bytes(&set), "[\\n\\-0-59a\\xFD-\\xFF]");
        assert_eq!(shown_bytes(&(0..=255).collect()), "[\\x00-\\xFF]");
        assert_eq!(shown_bytes(&ByteSet::EMPTY), "[]");
    }
}

//! Explanations of why bytes or a token are refused.

use super::expected::{Expected, RuleInProgress, expected, rules_in_progress};
use super::schema::SchemaPlace;
use super::show;
use crate::grammar::Grammar;
use crate::reference::Chart;
use crate::vocab::{TokenId, TokenKind, Vocab};
use core::fmt;
use serde_json::{Value, json};

/// The first byte that is refused, and what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    offset: usize,
    byte: u8,
    expected: Expected,
    rules: Vec<RuleInProgress>,
    schema: Option<Box<SchemaPlace>>,
}

impl Refusal {
    /// Returns the refusal of a byte by a JSON Schema.
    pub(super) fn of_schema(offset: usize, byte: u8, expected: Expected, schema: Option<SchemaPlace>) -> Self {
        Refusal { offset, byte, expected, rules: Vec::new(), schema: schema.map(Box::new) }
    }

    /// Returns the refusal with what a schema among the operands of the grammar says there.
    pub(super) fn with_schema(self, place: SchemaPlace, is_end: bool) -> Self {
        let expected = Expected::of_schema(&place, is_end).in_rule(self.rules.first());
        Refusal { expected, schema: Some(Box::new(place)), ..self }
    }

    /// Returns what a JSON Schema says there, if the grammar is one, or has one among its operands, and the byte stands in a JSON document of it.
    pub fn schema(&self) -> Option<&SchemaPlace> {
        self.schema.as_deref()
    }

    pub(super) fn keep_rules(&mut self, is_written: impl Fn(&str) -> bool) {
        self.expected.keep_rules(&is_written);
        self.rules.retain(|rule| is_written(rule.rule().name()));
    }

    /// Returns the number of bytes accepted before it.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the byte.
    pub fn byte(&self) -> u8 {
        self.byte
    }

    /// Returns what may come instead.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns the rules in progress there, innermost first.
    pub fn rules(&self) -> &[RuleInProgress] {
        &self.rules
    }

    /// Returns this as JSON: `{"offset", "byte", "expected", "rules": [{"name", "start"}], "schema"}`.
    pub fn to_json(&self) -> Value {
        json!({
            "offset": self.offset,
            "byte": self.byte,
            "expected": self.expected.to_json(),
            "rules": rules_to_json(&self.rules),
            "schema": self.schema.as_deref().map(SchemaPlace::to_json),
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let byte = show::bytes(&[self.byte]);
        write!(f, "byte {} `{byte}` is refused; expected {}", self.offset, self.expected)?;
        match &self.schema {
            Some(place) => write!(f, "; {}", place.lines().join("; ")),
            None => Ok(()),
        }
    }
}

pub(super) fn rules_to_json(rules: &[RuleInProgress]) -> Value {
    rules.iter().map(|rule| json!({ "name": rule.rule().name(), "start": rule.start() })).collect()
}

/// Explains why `bytes` can't follow the text of `chart`, which was made from `grammar`; `None` if they can. The chart is unchanged afterwards.
pub fn explain_bytes(grammar: &Grammar, chart: &mut Chart, bytes: &[u8]) -> Option<Refusal> {
    let before = chart.len();
    let offset = chart.push_bytes(bytes);
    chart.truncate(before);
    refusal_at(grammar, chart, bytes, offset)
}

/// Returns the refusal of the byte at an offset of `bytes`; `None` if the offset is after the last. The chart is unchanged afterwards.
pub(super) fn refusal_at(grammar: &Grammar, chart: &mut Chart, bytes: &[u8], offset: usize) -> Option<Refusal> {
    let &byte = bytes.get(offset)?;
    let before = chart.len();
    chart.push_bytes(&bytes[..offset]);
    let refusal = Refusal {
        offset,
        byte,
        expected: expected(grammar, chart),
        rules: rules_in_progress(grammar, chart),
        schema: None,
    };
    chart.truncate(before);
    Some(refusal)
}

/// The reason why a token is allowed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The grammar allows its bytes.
    TextFits,
    /// The grammar names it here, or reads it as one of a set.
    Named,
    /// It is a stop token, and the text is complete or the output has ended.
    Stops,
    /// There is no such token.
    UnknownId,
    /// It is an id without a token.
    Padding,
    /// The output has ended, and it is no stop token.
    Terminated,
    /// It is a stop token, the text is incomplete, and this is expected instead.
    Incomplete(Expected),
    /// It is a control token, or has no bytes, and the grammar names others (or none) here.
    NotNamed(Expected),
    /// The grammar refuses one of its bytes.
    TextRefused(Refusal),
}

/// The explanation why a token is allowed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenExplanation {
    id: TokenId,
    shown: Box<str>,
    reason: Reason,
}

impl TokenExplanation {
    /// Returns the explanation with another reason.
    pub(super) fn with_reason(self, reason: Reason) -> Self {
        TokenExplanation { reason, ..self }
    }

    pub(super) fn new(id: TokenId, vocab: &Vocab, reason: Reason) -> Self {
        let shown = vocab.name(id).map_or_else(|| show::bytes(vocab.bytes(id)), str::to_string);
        TokenExplanation { id, shown: shown.into(), reason }
    }

    pub(super) fn keep_rules(&mut self, is_written: impl Fn(&str) -> bool) {
        match &mut self.reason {
            Reason::Incomplete(expected) | Reason::NotNamed(expected) => expected.keep_rules(is_written),
            Reason::TextRefused(refusal) => refusal.keep_rules(is_written),
            _ => {}
        }
    }

    /// Returns the token.
    pub fn id(&self) -> TokenId {
        self.id
    }

    /// Returns whether the token is allowed.
    pub fn is_allowed(&self) -> bool {
        matches!(self.reason, Reason::TextFits | Reason::Named | Reason::Stops)
    }

    /// Returns the reason.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Returns this as JSON: `{"id", "token", "allowed", "why"}`, and the `refusal` or what is `expected`.
    pub fn to_json(&self) -> Value {
        let mut value =
            json!({ "id": self.id, "token": &*self.shown, "allowed": self.is_allowed(), "why": self.to_string() });
        match &self.reason {
            Reason::TextRefused(refusal) => value["refusal"] = refusal.to_json(),
            Reason::Incomplete(expected) | Reason::NotNamed(expected) => value["expected"] = expected.to_json(),
            _ => {}
        }
        value
    }
}

impl fmt::Display for TokenExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "token {}", self.id)?;
        if !self.shown.is_empty() {
            write!(f, " `{}`", self.shown)?;
        }
        match &self.reason {
            Reason::TextFits => f.write_str(" is allowed: its text fits"),
            Reason::Named => f.write_str(" is allowed: the grammar names it here"),
            Reason::Stops => f.write_str(" is allowed: it is a stop token and the text is complete"),
            Reason::UnknownId => f.write_str(" is not in the vocabulary"),
            Reason::Padding => f.write_str(" is padding, which is never allowed"),
            Reason::Terminated => f.write_str(" is refused: the output has ended"),
            Reason::Incomplete(expected) => {
                write!(f, " is refused: it is a stop token and the text is incomplete; expected {expected}")
            }
            Reason::NotNamed(expected) => {
                write!(f, " is refused: it is no text and the grammar does not name it here; expected {expected}")
            }
            Reason::TextRefused(refusal) => write!(f, " is refused: {refusal}"),
        }
    }
}

/// Explains why a token may or may not follow the text of `chart`, which was made from `grammar`. The chart is unchanged afterwards.
pub fn explain_token(
    grammar: &Grammar,
    chart: &mut Chart,
    vocab: &Vocab,
    stop_tokens: &[TokenId],
    is_terminated: bool,
    id: TokenId,
) -> TokenExplanation {
    let bytes = vocab.bytes(id);
    let is_stop = stop_tokens.contains(&id);
    let before = chart.len();
    let reason = if id as usize >= vocab.n_tokens() {
        Reason::UnknownId
    } else if vocab.kind(id) == TokenKind::Padding && !is_stop {
        Reason::Padding
    } else if is_terminated {
        if is_stop { Reason::Stops } else { Reason::Terminated }
    } else if chart.push_whole(vocab, id, is_stop) {
        chart.truncate(before);
        Reason::Named
    } else if is_stop {
        if chart.is_accepting() { Reason::Stops } else { Reason::Incomplete(expected(grammar, chart)) }
    } else if bytes.is_empty() {
        Reason::NotNamed(expected(grammar, chart))
    } else {
        explain_bytes(grammar, chart, bytes).map_or(Reason::TextFits, Reason::TextRefused)
    };
    TokenExplanation::new(id, vocab, reason)
}

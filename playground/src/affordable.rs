//! Whether the reference recognizer reads a text at little cost.
//!
//! Explanations in terms of rules come from the reference recognizer, which parses the text again, in cubic time for ambiguous grammars, and knows no deadline: a text of some
//! kilobytes whose masks take microseconds could keep it busy for minutes. So it is first tried on the text within a budget of time and items. What it reads within the
//! budget it reads again for an explanation; where the budget does not suffice, only what the engine knows is said.

use maskwright::reference::Recognizer;
use maskwright::{AcceptedPiece, Limits, Matcher};
use serde_json::{Value, json};
use std::fmt;
use std::time::{Duration, Instant};

/// What the reference recognizer may cost.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// How long it may take for a text.
    pub time: Duration,
    /// Most items, of some hundred bytes each.
    pub n_items: usize,
    /// Most expressions of a grammar, and most states of one of its regular expressions, that it is made for: making it can't be interrupted.
    pub n_exprs: usize,
    pub dfa_states: usize,
}

impl Budget {
    /// The budget of a command: somebody waits for it.
    pub const COMMAND: Budget =
        Budget { time: Duration::from_secs(2), n_items: 1 << 22, n_exprs: 1 << 21, dfa_states: 1 << 16 };
    /// The budget for the text that samples go on from: it is read by no one else.
    pub const SAMPLES: Budget =
        Budget { time: Duration::from_secs(2), n_items: 1 << 22, n_exprs: usize::MAX, dfa_states: 1 << 16 };
    /// The budget of a request, of which several are worked on at a time.
    pub const REQUEST: Budget =
        Budget { time: Duration::from_millis(400), n_items: 1 << 19, n_exprs: 1 << 15, dfa_states: 1 << 11 };
}

/// The reason why there is no explanation in terms of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unexplained {
    /// The text has more than so many bytes.
    LongText { bytes_max: usize },
    /// The recognizer took longer.
    Time { max: Duration },
    /// The recognizer has more items.
    Items { max: usize },
    /// The grammar is too large to make a recognizer for it.
    LargeGrammar,
    /// The matcher has forgotten the text.
    NoHistory,
}

impl fmt::Display for Unexplained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unexplained::LongText { bytes_max } => {
                write!(f, "texts of more than {} bytes are not explained", crate::output::grouped(*bytes_max as u64))?;
            }
            Unexplained::Time { max } => {
                write!(f, "the explanation took more than {}", crate::output::shown_time(*max))?;
            }
            Unexplained::Items { max } => {
                write!(f, "the explanation took more than {} items", crate::output::grouped(*max as u64))?;
            }
            Unexplained::LargeGrammar => f.write_str("the grammar is too large for an explanation")?,
            Unexplained::NoHistory => {
                let bytes_max = crate::output::grouped(crate::controls::EXPLAINED_BYTES_MAX as u64);
                write!(
                    f,
                    "texts of more than {bytes_max} bytes, or whose reading takes much memory, are not explained"
                )?;
            }
        }
        f.write_str("; expected items are not listed")
    }
}

impl Unexplained {
    /// Returns it as JSON.
    pub fn to_json(self) -> Value {
        let code = match self {
            Unexplained::LongText { .. } => "long_text",
            Unexplained::Time { .. } => "time",
            Unexplained::Items { .. } => "items",
            Unexplained::LargeGrammar => "large_grammar",
            Unexplained::NoHistory => "no_history",
        };
        json!({ "code": code, "message": self.to_string() })
    }
}

/// Tries the reference recognizer on the text of a matcher; returns why it can't be afforded, if it can't. `check` is asked at each byte whether to go on.
///
/// # Errors
/// Those of `check`.
pub fn try_recognizer<E>(
    matcher: &Matcher,
    budget: &Budget,
    mut check: impl FnMut() -> Result<(), E>,
) -> Result<Option<Unexplained>, E> {
    let Ok(pieces) = matcher.accepted() else { return Ok(Some(Unexplained::NoHistory)) };
    let start = Instant::now();
    let grammar = matcher.grammar();
    let vocab = grammar.vocab();
    let written = grammar.expanded_grammar();
    if written.exprs().len() > budget.n_exprs {
        return Ok(Some(Unexplained::LargeGrammar));
    }
    let limits = Limits { dfa_states_max: budget.dfa_states, ..Limits::default() };
    let Ok(recognizer) = Recognizer::new(written, &limits) else { return Ok(Some(Unexplained::LargeGrammar)) };
    let mut chart = recognizer.start();
    for piece in &pieces {
        let bytes = match piece {
            AcceptedPiece::Bytes(bytes) => &bytes[..],
            AcceptedPiece::Token(token) if chart.push_control(vocab.name(*token), *token) => b"",
            AcceptedPiece::Token(token) => vocab.bytes(*token),
        };
        for &byte in bytes {
            check()?;
            chart.push_byte(byte);
            if start.elapsed() > budget.time {
                return Ok(Some(Unexplained::Time { max: budget.time }));
            }
            if chart.n_items() > budget.n_items {
                return Ok(Some(Unexplained::Items { max: budget.n_items }));
            }
        }
    }
    Ok((start.elapsed() > budget.time).then_some(Unexplained::Time { max: budget.time }))
}

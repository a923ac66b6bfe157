//! Explanations of a matcher, by replaying what it accepted on the judge.

use super::explain::refusal_at;
use super::{Expected, Reason, Refusal, RuleInProgress, TokenExplanation};
use super::{expected, explain_bytes, explain_token, rules_in_progress};
use crate::limits::Limits;
use crate::matcher::{AcceptedPiece, MatchError, Matcher};
use crate::reference::{Chart, Judge, Recognizer, RecognizerError};
use crate::vocab::TokenId;
use core::fmt;
use serde_json::{Value, json};
use std::sync::Arc;

/// Where a matcher stands: what may come next, and which rules are in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    expected: Expected,
    rules: Vec<RuleInProgress>,
    is_terminated: bool,
}

impl Explanation {
    /// Returns what may come next; nothing of it after a stop token.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns the rules in progress, and where each began.
    pub fn rules(&self) -> &[RuleInProgress] {
        &self.rules
    }

    /// Tells whether a stop token was accepted.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// Returns this as JSON: `{"expected", "rules", "terminated"}`.
    pub fn to_json(&self) -> Value {
        let rules: Vec<Value> =
            self.rules.iter().map(|rule| json!({ "name": rule.rule().name(), "start": rule.start() })).collect();
        json!({ "expected": self.expected.to_json(), "rules": rules, "terminated": self.is_terminated })
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_terminated {
            return f.write_str("a stop token was accepted: only stop tokens may follow");
        }
        write!(f, "expected {}", self.expected)
    }
}

/// Why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExplainError {
    /// The text so far is not known any more: the matcher's history was forgotten.
    Matcher(MatchError),
    /// The grammar is too large for the judge.
    Judge(RecognizerError),
}

impl fmt::Display for ExplainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExplainError::Matcher(error) => fmt::Display::fmt(error, f),
            ExplainError::Judge(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for ExplainError {}

/// Explanations. They replay the whole text on the [judge](crate::reference), which takes a time that grows with its length (up to
/// its cube, for ambiguous grammars): they are for people, not for each step.
impl Matcher {
    /// Returns what is expected here: bytes and control tokens, with the rules that they come from.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let vocab = Vocab::from_tokens(["[", "]", "1", ",", "x"])?;
    /// let grammar = GrammarCompiler::new(vocab.into()).compile_ebnf("root ::= \"[\" num? \"]\"\nnum ::= [0-9]")?;
    /// let mut matcher = grammar.matcher();
    /// matcher.accept_token(0)?;
    /// assert_eq!(matcher.explain()?.to_string(), "expected \"]\" in rule `root` or [0-9] in rule `num`");
    /// let why = matcher.explain_token(4)?.to_string();
    /// assert!(why.starts_with("token 4 `x` is refused: byte 0 `x` is refused; expected"), "{why}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the history was forgotten, or the grammar is too large for the judge.
    pub fn explain(&self) -> Result<Explanation, ExplainError> {
        let judge = self.judge()?;
        let (grammar, chart) = (self.grammar().grammar(), judge.chart());
        Ok(Explanation {
            expected: expected(grammar, chart),
            rules: rules_in_progress(grammar, chart),
            is_terminated: self.is_terminated(),
        })
    }

    /// Says why a token is allowed or not, and which of its bytes is the first that is refused.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_token(&self, token: TokenId) -> Result<TokenExplanation, ExplainError> {
        let mut chart = self.judge()?.chart().clone();
        let grammar = self.grammar();
        let (stops, is_terminated) = (self.stop_tokens(), self.is_terminated());
        let (written, vocab) = (grammar.grammar(), grammar.vocab());
        let explanation = explain_token(written, &mut chart, vocab, stops, is_terminated, token);
        // Counts of characters and rests of numbers that are too many to be written are left out of the grammar.
        Ok(match explanation.reason() {
            Reason::Stops if !is_terminated && !self.is_accepting() => {
                explanation.with_reason(Reason::NotWhole(expected(written, &chart)))
            }
            Reason::TextFits => match self.refused(&mut chart, vocab.bytes(token)) {
                Some(refusal) => explanation.with_reason(Reason::TextRefused(refusal)),
                None => explanation,
            },
            _ => explanation,
        })
    }

    /// Says which of `bytes` is the first that can't follow, and why; `None` if all can.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_bytes(&self, bytes: &[u8]) -> Result<Option<Refusal>, ExplainError> {
        let mut chart = self.judge()?.chart().clone();
        let refusal = explain_bytes(self.grammar().grammar(), &mut chart, bytes);
        Ok(refusal.or_else(|| self.refused(&mut chart, bytes)))
    }

    /// Says which of `bytes` the engine refuses, if any, where the judge would not.
    fn refused(&self, chart: &mut Chart, bytes: &[u8]) -> Option<Refusal> {
        let offset = self.fork().accept_bytes(bytes).err()?.byte_offset()?;
        refusal_at(self.grammar().grammar(), chart, bytes, offset)
    }

    fn judge(&self) -> Result<Judge, ExplainError> {
        let pieces = self.accepted().map_err(ExplainError::Matcher)?;
        let grammar = self.grammar();
        let recognizer = Recognizer::new(grammar.grammar(), &Limits::default()).map_err(ExplainError::Judge)?;
        let mut judge = Judge::new(&recognizer, Arc::clone(grammar.vocab()));
        judge.set_stop_tokens(self.stop_tokens());
        for piece in pieces {
            let is_allowed = match &piece {
                AcceptedPiece::Token(token) => judge.accept_token(*token),
                AcceptedPiece::Bytes(bytes) => judge.accept_bytes(bytes),
            };
            assert!(is_allowed, "the judge allows what the engine accepted: {piece:?}");
        }
        Ok(judge)
    }
}

//! Explanations of a matcher, by replaying on the reference recognizer what it accepted.

use super::explain::refusal_at;
use super::{Expected, Reason, Refusal, RuleInProgress, TokenExplanation};
use super::{expected, explain_bytes, explain_token, rules_in_progress};
use crate::limits::Limits;
use crate::matcher::{AcceptedPiece, MatchError, Matcher};
use crate::reference::{Chart, OracleMatcher, Recognizer, RecognizerError};
use crate::vocab::TokenId;
use core::fmt;
use serde_json::{Value, json};
use std::sync::Arc;

/// What may come next after the text of a matcher, and which rules are in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    expected: Expected,
    rules: Vec<RuleInProgress>,
    is_terminated: bool,
}

impl Explanation {
    /// Returns what may come next; after the end of the output, nothing but stop tokens may.
    pub fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Returns the rules in progress, and where each began.
    pub fn rules(&self) -> &[RuleInProgress] {
        &self.rules
    }

    /// Returns whether the output has ended.
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
            return f.write_str("the output has ended: only stop tokens may follow");
        }
        write!(f, "expected {}", self.expected)
    }
}

/// The reason why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExplainError {
    /// The matcher's history was forgotten, and with it the text so far.
    Matcher(MatchError),
    /// The grammar is too large for the reference recognizer.
    Recognizer(RecognizerError),
    /// The reference recognizer refuses a piece that was accepted, such as a token whose part in the output changed with the stop tokens.
    NotReplayed {
        /// The index of the piece.
        index: usize,
    },
    /// Finding out how the grammar reads the text takes more than so many steps.
    TooAmbiguous {
        /// The most steps.
        limit: u64,
    },
}

impl fmt::Display for ExplainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExplainError::Matcher(error) => fmt::Display::fmt(error, f),
            ExplainError::Recognizer(error) => fmt::Display::fmt(error, f),
            ExplainError::NotReplayed { index } => {
                write!(f, "accepted piece {index} can't be replayed for an explanation")
            }
            ExplainError::TooAmbiguous { limit } => {
                write!(f, "finding out how the text is read takes more than {limit} steps")
            }
        }
    }
}

impl std::error::Error for ExplainError {}

/// Explanations. They replay the whole text on the [reference recognizer](crate::reference), in time linear in its length for most grammars
/// and cubic for very ambiguous ones: they are for people, not for each step.
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
    /// If the history was forgotten, or the grammar is too large for the reference recognizer.
    pub fn explain(&self) -> Result<Explanation, ExplainError> {
        let oracle = self.oracle()?;
        let (grammar, chart) = (self.grammar().expanded_grammar(), oracle.chart());
        Ok(Explanation {
            expected: expected(grammar, chart),
            rules: rules_in_progress(grammar, chart),
            is_terminated: self.is_terminated(),
        })
    }

    /// Explains why a token is allowed or not, and which of its bytes is the first that is refused.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_token(&self, token: TokenId) -> Result<TokenExplanation, ExplainError> {
        let mut chart = self.oracle()?.chart().clone();
        let grammar = self.grammar();
        let (stops, is_terminated) = (self.stop_tokens(), self.is_terminated());
        let (written, vocab) = (grammar.expanded_grammar(), grammar.vocab());
        let explanation = explain_token(written, &mut chart, vocab, stops, is_terminated, token);
        // The grammar shown omits counts of characters and residues that would need too many rules to be written as such.
        Ok(match explanation.reason() {
            Reason::Stops if !is_terminated && !self.is_accepting() => {
                explanation.with_reason(Reason::Incomplete(expected(written, &chart)))
            }
            Reason::TextFits => match self.refused(&mut chart, vocab.bytes(token)) {
                Some(refusal) => explanation.with_reason(Reason::TextRefused(refusal)),
                None => explanation,
            },
            _ => explanation,
        })
    }

    /// Explains which of `bytes` is the first that is refused; `None` if none is.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_bytes(&self, bytes: &[u8]) -> Result<Option<Refusal>, ExplainError> {
        let mut chart = self.oracle()?.chart().clone();
        let refusal = explain_bytes(self.grammar().expanded_grammar(), &mut chart, bytes);
        Ok(refusal.or_else(|| self.refused(&mut chart, bytes)))
    }

    /// Returns the refusal of the first of `bytes` that the engine refuses, though the reference recognizer does not.
    fn refused(&self, chart: &mut Chart, bytes: &[u8]) -> Option<Refusal> {
        let offset = self.fork().accept_bytes(bytes).err()?.byte_offset()?;
        refusal_at(self.grammar().expanded_grammar(), chart, bytes, offset)
    }

    /// Returns the reference recognizer after the text of this matcher.
    pub(super) fn oracle(&self) -> Result<OracleMatcher, ExplainError> {
        let pieces = self.accepted().map_err(ExplainError::Matcher)?;
        let grammar = self.grammar();
        let recognizer =
            Recognizer::new(grammar.expanded_grammar(), &Limits::default()).map_err(ExplainError::Recognizer)?;
        let mut oracle = OracleMatcher::new(&recognizer, Arc::clone(grammar.vocab()));
        oracle.set_stop_tokens(self.stop_tokens());
        for (index, piece) in pieces.into_iter().enumerate() {
            let is_read = match &piece {
                AcceptedPiece::Token(token) => {
                    // A token of text that became a stop token since.
                    let bytes = grammar.vocab().bytes(*token);
                    oracle.accept_token(*token) || !bytes.is_empty() && oracle.accept_bytes(bytes)
                }
                AcceptedPiece::Bytes(bytes) => oracle.accept_bytes(bytes),
            };
            // A matcher that fails closed ends where nothing else is left.
            let has_ended = || matches!(piece, AcceptedPiece::Token(token) if self.is_terminated() && self.stop_tokens().contains(&token));
            if !is_read && has_ended() {
                break;
            }
            if !is_read {
                return Err(ExplainError::NotReplayed { index });
            }
        }
        Ok(oracle)
    }
}

//! Explanations of a matcher, by replaying on the reference recognizer what it accepted.

use super::completion::Completion;
use super::embedded;
use super::explain::refusal_at;
use super::schema::{SchemaPlace, next_bytes};
use super::{Expected, Reason, Refusal, RuleInProgress, TokenExplanation};
use super::{expected, explain_bytes, explain_token, rules_in_progress};
use crate::limits::Limits;
use crate::matcher::{AcceptedPiece, MatchError, Matcher};
use crate::reference::{Chart, OracleMatcher, Recognizer, RecognizerError};
use crate::vocab::{TokenId, TokenKind};
use core::fmt;
use serde_json::{Value, json};
use std::sync::Arc;

/// What may come next after the text of a matcher, and which rules are in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    expected: Expected,
    rules: Vec<RuleInProgress>,
    is_terminated: bool,
    schema: Option<Box<SchemaPlace>>,
}

impl Explanation {
    /// Returns what a JSON Schema says here, if the grammar is one, or has one among its operands, and the text stops within a JSON document of it.
    pub fn schema(&self) -> Option<&SchemaPlace> {
        self.schema.as_deref()
    }

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

    /// Returns this as JSON: `{"expected", "rules", "terminated", "schema"}`.
    pub fn to_json(&self) -> Value {
        let rules: Vec<Value> =
            self.rules.iter().map(|rule| json!({ "name": rule.rule().name(), "start": rule.start() })).collect();
        json!({
            "expected": self.expected.to_json(),
            "rules": rules,
            "terminated": self.is_terminated,
            "schema": self.schema.as_deref().map(SchemaPlace::to_json),
        })
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_terminated {
            return f.write_str("the output has ended: only stop tokens may follow");
        }
        write!(f, "expected {}", self.expected)?;
        match &self.schema {
            Some(place) => write!(f, "; {}", place.lines().join("; ")),
            None => Ok(()),
        }
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
        if self.is_of_schema() {
            let (expected, schema) = self.in_schema(&[], &[])?;
            let (rules, is_terminated) = (Vec::new(), self.is_terminated());
            return Ok(Explanation { expected, rules, is_terminated, schema: schema.map(Box::new) });
        }
        let oracle = self.oracle()?;
        let (grammar, chart) = (self.grammar().expanded_grammar(), oracle.chart());
        let mut expected = expected(grammar, chart);
        let is_written = self.written_rules();
        expected.keep_rules(&is_written);
        let mut rules = rules_in_progress(grammar, chart);
        rules.retain(|rule| is_written(rule.rule().name()));
        let schema = embedded::place(self, chart, &self.text()?, &[]);
        if let Some(place) = &schema {
            expected = Expected::of_schema(place, self.is_accepting()).in_rule(rules.first());
        }
        Ok(Explanation { expected, rules, is_terminated: self.is_terminated(), schema: schema.map(Box::new) })
    }

    /// Explains why a token is allowed or not, and which of its bytes is the first that is refused.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_token(&self, token: TokenId) -> Result<TokenExplanation, ExplainError> {
        if self.is_of_schema() {
            return self.explain_token_of_schema(token);
        }
        let mut chart = self.oracle()?.chart().clone();
        let grammar = self.grammar();
        let (stops, is_terminated) = (self.stop_tokens(), self.is_terminated());
        let (written, vocab) = (grammar.expanded_grammar(), grammar.vocab());
        let explanation = explain_token(written, &mut chart, vocab, stops, is_terminated, token);
        // The grammar shown omits counts of characters and residues that would need too many rules to be written as such.
        let mut explanation = match explanation.reason() {
            Reason::Stops if !is_terminated && !self.is_accepting() => {
                explanation.with_reason(Reason::Incomplete(expected(written, &chart)))
            }
            Reason::TextFits => match self.refused(&mut chart, vocab.bytes(token)) {
                Some(refusal) => explanation.with_reason(Reason::TextRefused(refusal)),
                None => explanation,
            },
            _ => explanation,
        };
        explanation.keep_rules(self.written_rules());
        let reason = match explanation.reason() {
            Reason::TextRefused(refusal) => {
                let refusal = self.refined(refusal.clone(), &mut chart, vocab.bytes(token))?;
                Some(Reason::TextRefused(refusal))
            }
            Reason::Incomplete(_) | Reason::NotNamed(_) => {
                let place = embedded::place(self, &chart, &self.text()?, &[]);
                let expected = place.map(|place| Expected::of_schema(&place, self.is_accepting()));
                expected.map(|expected| match explanation.reason() {
                    Reason::Incomplete(_) => Reason::Incomplete(expected),
                    _ => Reason::NotNamed(expected),
                })
            }
            _ => None,
        };
        Ok(match reason {
            Some(reason) => explanation.with_reason(reason),
            None => explanation,
        })
    }

    /// Explains which of `bytes` is the first that is refused; `None` if none is.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_bytes(&self, bytes: &[u8]) -> Result<Option<Refusal>, ExplainError> {
        if self.is_of_schema() {
            return self.refusal_of_schema(bytes);
        }
        let mut chart = self.oracle()?.chart().clone();
        let refusal = explain_bytes(self.grammar().expanded_grammar(), &mut chart, bytes);
        let mut refusal = refusal.or_else(|| self.refused(&mut chart, bytes));
        if let Some(refusal) = &mut refusal {
            refusal.keep_rules(self.written_rules());
        }
        refusal.map(|refusal| self.refined(refusal, &mut chart, bytes)).transpose()
    }

    /// Returns a short text that completes the text so far; `None` if none was found within a bound of work.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?;
    /// let schema = r#"{"required": ["a", "b"], "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}}"#;
    /// let mut matcher = GrammarCompiler::new(vocab.into()).compile_json_schema(schema)?.matcher();
    /// matcher.accept_bytes(b"{\"a\":")?;
    /// let completion = matcher.completion()?.unwrap();
    /// assert_eq!(completion.bytes().unwrap()[1..], *b",\"b\":true}");
    /// assert!(completion.is_shortest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn completion(&self) -> Result<Option<Completion>, ExplainError> {
        Ok(super::completion::find(self, &mut self.oracle()?.chart().clone()))
    }

    /// Returns a refusal of one of `bytes` with what a schema among the operands of the grammar says there, if the byte stands in a document of one. The chart is
    /// unchanged afterwards.
    fn refined(&self, refusal: Refusal, chart: &mut Chart, bytes: &[u8]) -> Result<Refusal, ExplainError> {
        let (read, rest) = bytes.split_at(refusal.offset());
        let mut ahead = self.fork();
        if ahead.accept_bytes(read).is_err() {
            return Ok(refusal);
        }
        let mut text = self.text()?;
        text.extend_from_slice(read);
        let before = chart.len();
        chart.push_bytes(read);
        let place = embedded::place(&ahead, chart, &text, rest);
        chart.truncate(before);
        Ok(match place {
            Some(place) => refusal.with_schema(place, ahead.is_accepting()),
            None => refusal,
        })
    }

    /// Returns whether the grammar is a JSON Schema by itself.
    fn is_of_schema(&self) -> bool {
        self.grammar().schema_report().is_some()
    }

    /// Returns whether an author wrote the rule of a name: those of the automata of JSON Schemas have names of their own.
    fn written_rules(&self) -> impl Fn(&str) -> bool + use<> {
        let rules = self.grammar().grammar().rules();
        let names: hashbrown::HashSet<Box<str>> = rules.iter().map(|rule| rule.name.clone()).collect();
        move |name: &str| names.contains(name)
    }

    /// Returns the text so far.
    fn text(&self) -> Result<Vec<u8>, ExplainError> {
        let mut text = Vec::new();
        for piece in self.accepted().map_err(ExplainError::Matcher)? {
            match piece {
                AcceptedPiece::Bytes(bytes) => text.extend_from_slice(&bytes),
                AcceptedPiece::Token(token) if self.stop_tokens().contains(&token) => {}
                AcceptedPiece::Token(token) => text.extend_from_slice(self.grammar().vocab().bytes(token)),
            }
        }
        Ok(text)
    }

    /// Returns what a JSON Schema expects behind `read`, where `rest` stands.
    fn in_schema(&self, read: &[u8], rest: &[u8]) -> Result<(Expected, Option<SchemaPlace>), ExplainError> {
        let mut text = self.text()?;
        text.extend_from_slice(read);
        let mut ahead = self.fork();
        ahead.accept_bytes(read).map_err(ExplainError::Matcher)?;
        let place = self.grammar().schema_report().and_then(|report| SchemaPlace::of(report, &ahead, &text, rest));
        let expected = match &place {
            Some(place) => Expected::of_schema(place, ahead.is_accepting()),
            None => Expected::of_bytes(next_bytes(&ahead), ahead.is_accepting()),
        };
        Ok((expected, place))
    }

    fn refusal_of_schema(&self, bytes: &[u8]) -> Result<Option<Refusal>, ExplainError> {
        let Err(error) = self.fork().accept_bytes(bytes) else { return Ok(None) };
        let Some(offset) = error.byte_offset() else { return Err(ExplainError::Matcher(error)) };
        let (read, rest) = bytes.split_at(offset);
        let (expected, place) = self.in_schema(read, rest)?;
        Ok(rest.first().map(|&byte| Refusal::of_schema(offset, byte, expected, place)))
    }

    fn explain_token_of_schema(&self, token: TokenId) -> Result<TokenExplanation, ExplainError> {
        let vocab = self.grammar().vocab();
        let is_stop = self.stop_tokens().contains(&token);
        let reason = if token as usize >= vocab.n_tokens() {
            Reason::UnknownId
        } else if vocab.kind(token) == TokenKind::Padding && !is_stop {
            Reason::Padding
        } else if self.is_terminated() {
            if is_stop { Reason::Stops } else { Reason::Terminated }
        } else if is_stop {
            if self.is_accepting() { Reason::Stops } else { Reason::Incomplete(self.in_schema(&[], &[])?.0) }
        } else if vocab.bytes(token).is_empty() {
            Reason::NotNamed(self.in_schema(&[], &[])?.0)
        } else {
            self.refusal_of_schema(vocab.bytes(token))?.map_or(Reason::TextFits, Reason::TextRefused)
        };
        Ok(TokenExplanation::new(token, vocab, reason))
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

//! Which rules of a grammar read the bytes of documents.
//!
//! Only rules with text of their own count, like `digit ::= [0-9]`; a rule of nothing but references reads no byte itself. Where several rules could read a byte, all of
//! them count.

use crate::expected::shown_rule;
use maskwright::diagnose;
use maskwright::grammar::{Expr, ExprId, Grammar};
use maskwright::reference::Recognizer;
use maskwright::{AcceptedPiece, CompiledGrammar, Limits, Matcher};
use std::collections::BTreeSet;

/// The rules that have read a byte.
pub struct Coverage {
    grammar: Grammar,
    recognizer: Recognizer,
    /// The rules with text of their own.
    rules: BTreeSet<String>,
    read: BTreeSet<String>,
}

impl Coverage {
    /// Returns the coverage of no document; `None` for a JSON Schema, or a grammar that the reference recognizer can't read.
    pub fn new(compiled: &CompiledGrammar) -> Option<Self> {
        if compiled.schema_report().is_some() {
            return None;
        }
        let grammar = compiled.expanded_grammar().clone();
        let recognizer = Recognizer::new(&grammar, &Limits::default()).ok()?;
        let written = compiled.grammar();
        let rules = written.rules().iter().filter(|rule| has_text(written, rule.body));
        let rules = rules.map(|rule| shown_rule(&rule.name, rule.span)).collect();
        Some(Coverage { grammar, recognizer, rules, read: BTreeSet::new() })
    }

    /// Adds what a matcher has read.
    pub fn add(&mut self, matcher: &Matcher) {
        let Ok(pieces) = matcher.accepted() else { return };
        let vocab = matcher.grammar().vocab();
        let mut chart = self.recognizer.start();
        for piece in pieces {
            let bytes = match &piece {
                AcceptedPiece::Bytes(bytes) => bytes.to_vec(),
                AcceptedPiece::Token(id) => {
                    if chart.push_control(vocab.name(*id), *id) {
                        continue;
                    }
                    vocab.bytes(*id).to_vec()
                }
            };
            for byte in bytes {
                for item in diagnose::expected(&self.grammar, &chart).items() {
                    if item.terminal().bytes().contains(byte) {
                        self.read.extend(item.rules().iter().map(|rule| shown_rule(rule.name(), rule.span())));
                    }
                }
                if !chart.push_byte(byte) {
                    return;
                }
            }
        }
    }

    /// Returns the number of rules with text of their own.
    pub fn n_rules(&self) -> usize {
        self.rules.len()
    }

    /// Returns the rules with text of their own that have read nothing.
    pub fn unread(&self) -> Vec<String> {
        self.rules.difference(&self.read).cloned().collect()
    }
}

/// Returns whether an expression has text beside references to other rules.
fn has_text(grammar: &Grammar, body: ExprId) -> bool {
    let mut pending = vec![body];
    while let Some(id) = pending.pop() {
        match grammar.expr(id) {
            Expr::Rule(_) | Expr::Empty | Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_) => {}
            Expr::Literal(_) | Expr::LiteralNoCase(_) | Expr::Marker(_) | Expr::Class(_) | Expr::Regex(_) => {
                return true;
            }
            expr => expr.for_each_operand(|operand| pending.push(operand)),
        }
    }
    false
}

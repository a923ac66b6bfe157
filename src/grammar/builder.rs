//! The builder of grammars.

use super::spelling::between_slashes;
use super::{Capture, ControlRef, ExcludedTokens, Expr, ExprId, Grammar, Regex, Rule, RuleId, SchemaOperand};
use crate::regular::CharSet;
use crate::util::Span;
use core::fmt;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Builds a [`Grammar`]: expressions from the leaves up, rules in any order.
///
/// ```
/// use maskwright::grammar::GrammarBuilder;
/// let mut builder = GrammarBuilder::new();
/// let root = builder.rule("root");
/// let nested = { let inner = builder.rule_ref(root); let (open, close) = (builder.literal("("), builder.literal(")"));
///     builder.sequence([open, inner, close]) };
/// let empty = builder.empty();
/// let body = builder.choice([nested, empty]);
/// builder.define(root, body);
/// let grammar = builder.finish(root).unwrap();
/// assert_eq!(grammar.rules().len(), 1);
/// ```
#[derive(Default)]
pub struct GrammarBuilder {
    names: Vec<Box<str>>,
    by_name: HashMap<Box<str>, RuleId>,
    /// By name: the least number that may be free behind it.
    numbers: HashMap<Box<str>, u64>,
    bodies: Vec<Option<(ExprId, Option<Span>)>>,
    exprs: Vec<Expr>,
    spans: Vec<Option<Span>>,
    source: Option<Arc<str>>,
    /// The span of expressions and rules that are added without one.
    place: Option<Span>,
    pub(super) separate: HashSet<RuleId>,
    pub(super) captures: Vec<Capture>,
}

/// The reason why a [`GrammarBuilder`] has no complete grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError {
    rule: Box<str>,
}

impl GrammarError {
    /// Returns the name of the rule that was never defined.
    pub fn rule(&self) -> &str {
        &self.rule
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}` is used but not defined", self.rule)
    }
}

impl std::error::Error for GrammarError {}

impl GrammarBuilder {
    /// Returns a builder without rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the text to which spans refer.
    pub fn set_source(&mut self, source: impl Into<Arc<str>>) {
        self.source = Some(source.into());
    }

    /// Sets the span of what is added from here on without one; returns that before.
    pub(crate) fn set_place(&mut self, place: Option<Span>) -> Option<Span> {
        core::mem::replace(&mut self.place, place)
    }

    /// Returns the rule called `name`, declaring it if it is new. Rules are ordered by their declaration.
    pub fn rule(&mut self, name: &str) -> RuleId {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let id = RuleId::new(self.names.len());
        self.names.push(name.into());
        self.by_name.insert(name.into(), id);
        self.bodies.push(None);
        id
    }

    /// Declares a rule called `name`, or that and a number where there is such a rule.
    pub(crate) fn fresh_rule(&mut self, name: &str) -> RuleId {
        if self.rule_named(name).is_none() {
            return self.rule(name);
        }
        let mut number = self.numbers.get(name).copied().unwrap_or(2);
        let numbered = loop {
            let numbered = format!("{name}-{number}");
            number += 1;
            if self.rule_named(&numbered).is_none() {
                break numbered;
            }
        };
        self.numbers.insert(name.into(), number);
        self.rule(&numbered)
    }

    /// Returns the name of a rule.
    pub fn name_of(&self, rule: RuleId) -> &str {
        &self.names[rule.index()]
    }

    /// Returns the rule called `name`, if it is declared.
    pub fn rule_named(&self, name: &str) -> Option<RuleId> {
        self.by_name.get(name).copied()
    }

    /// Names what a rule matches. That has no effect on the language.
    pub fn capture(&mut self, rule: RuleId, name: &str) {
        self.captures.push(Capture { name: name.into(), rule, n_bytes_last: None });
    }

    /// Names the last bytes of what a rule matches.
    pub(crate) fn capture_last(&mut self, rule: RuleId, name: &str, n_bytes: u32) {
        self.captures.push(Capture { name: name.into(), rule, n_bytes_last: Some(n_bytes) });
    }

    /// Returns whether a rule has a body yet.
    pub fn is_defined(&self, rule: RuleId) -> bool {
        self.bodies[rule.index()].is_some()
    }

    /// Returns the number of expressions so far.
    pub fn n_exprs(&self) -> usize {
        self.exprs.len()
    }

    /// Returns an expression that was added.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.index()]
    }

    /// Gives a rule its body, replacing an earlier one.
    pub fn define(&mut self, rule: RuleId, body: ExprId) {
        self.define_at(rule, body, None);
    }

    /// Gives a rule its body and its span.
    pub fn define_at(&mut self, rule: RuleId, body: ExprId, span: Option<Span>) {
        assert!(body.index() < self.exprs.len(), "unknown expression");
        self.bodies[rule.index()] = Some((body, span.or(self.place)));
    }

    /// Adds an expression.
    ///
    /// # Panics
    /// If an operand or a rule is unknown, or a repeat has `max < min`.
    pub fn push(&mut self, expr: Expr) -> ExprId {
        self.push_at(expr, None)
    }

    /// Adds an expression with its span.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub fn push_at(&mut self, expr: Expr, span: Option<Span>) -> ExprId {
        expr.for_each_operand(|id| assert!(id.index() < self.exprs.len(), "unknown operand"));
        match &expr {
            Expr::Rule(rule) => assert!(rule.index() < self.names.len(), "unknown rule"),
            Expr::Repeat { min, max, .. } => assert!(max.is_none_or(|max| *min <= max), "empty range of counts"),
            _ => {}
        }
        self.exprs.push(expr);
        self.spans.push(span.or(self.place));
        ExprId::new(self.exprs.len() - 1)
    }

    /// Returns the number of rules so far, with a body or without.
    pub(super) fn n_rules(&self) -> usize {
        self.names.len()
    }

    /// Adds the empty string.
    pub fn empty(&mut self) -> ExprId {
        self.push(Expr::Empty)
    }

    /// Adds a literal.
    pub fn literal(&mut self, text: impl AsRef<[u8]>) -> ExprId {
        self.push(Expr::Literal(text.as_ref().into()))
    }

    /// Adds a literal that control tokens may spell as well, whole or in part.
    pub fn marker(&mut self, text: &str) -> ExprId {
        self.push(if text.is_empty() { Expr::Empty } else { Expr::Marker(text.into()) })
    }

    /// Adds a JSON document that a schema accepts.
    pub fn schema(&mut self, schema: SchemaOperand) -> ExprId {
        self.push(Expr::Schema(schema))
    }

    /// Adds one character of a set.
    pub fn class(&mut self, set: CharSet) -> ExprId {
        self.push(Expr::Class(set))
    }

    /// Adds a regular expression.
    pub fn regex(&mut self, mut regex: Regex) -> ExprId {
        // As it is read from what is printed.
        if regex.pattern.is_empty() {
            regex.pattern = between_slashes("").into();
        }
        self.push(Expr::Regex(regex))
    }

    /// Adds a control token by name.
    pub fn control(&mut self, name: &str) -> ExprId {
        self.push(Expr::Control(ControlRef::Name(name.into())))
    }

    /// Adds a control token by id.
    pub fn control_id(&mut self, id: u32) -> ExprId {
        self.push(Expr::Control(ControlRef::Id(id)))
    }

    /// Adds any one token but some.
    pub fn token_except(&mut self, excluded: ExcludedTokens) -> ExprId {
        self.push(Expr::TokenExcept(excluded))
    }

    /// Adds a text that is written with at most so many tokens; the body must be regular when the grammar is compiled.
    pub fn at_most_tokens(&mut self, body: ExprId, max: u32) -> ExprId {
        self.push(Expr::AtMostTokens { body, max })
    }

    /// Returns a repetition of a token, or of tokens of a set, with at most so many of them; nothing if the body is none.
    pub(crate) fn repeated_tokens(&self, body: ExprId, n_tokens: u32) -> Option<Expr> {
        match *self.expr(body) {
            Expr::Repeat { body, min, max }
                if min <= n_tokens && matches!(self.expr(body), Expr::Control(_) | Expr::TokenExcept(_)) =>
            {
                let max = Some(max.map_or(n_tokens, |max| max.min(n_tokens)));
                Some(Expr::Repeat { body, min, max })
            }
            _ => None,
        }
    }

    /// Adds a reference to a rule.
    pub fn rule_ref(&mut self, rule: RuleId) -> ExprId {
        self.push(Expr::Rule(rule))
    }

    /// Adds a sequence.
    pub fn sequence(&mut self, operands: impl IntoIterator<Item = ExprId>) -> ExprId {
        self.push(Expr::Sequence(operands.into_iter().collect()))
    }

    /// Adds a choice.
    pub fn choice(&mut self, operands: impl IntoIterator<Item = ExprId>) -> ExprId {
        self.push(Expr::Choice(operands.into_iter().collect()))
    }

    /// Adds a repetition; `max: None` has no upper bound.
    pub fn repeat(&mut self, body: ExprId, min: u32, max: Option<u32>) -> ExprId {
        self.push(Expr::Repeat { body, min, max })
    }

    /// Returns the grammar with the root rule `root`.
    ///
    /// # Errors
    /// If a declared rule has no body.
    pub fn finish(self, root: RuleId) -> Result<Grammar, GrammarError> {
        assert!(root.index() < self.names.len(), "unknown root");
        let mut rules = Vec::with_capacity(self.names.len());
        for (name, body) in self.names.into_iter().zip(self.bodies) {
            match body {
                Some((body, span)) => rules.push(Rule { name, body, span }),
                None => return Err(GrammarError { rule: name }),
            }
        }
        let GrammarBuilder { exprs, spans, source, separate, captures, .. } = self;
        Ok(Grammar { rules, exprs, spans, root, source, separate, captures })
    }
}

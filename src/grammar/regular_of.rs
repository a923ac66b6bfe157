//! Regular expressions of grammar expressions, where those are regular.
//!
//! The operands of `&`, `-` and `~` must be regular. Rules are inlined, each expression once however often it is used, so the
//! result is at most as large as the grammar. A recursive rule is refused, even if its language happens to be regular: whether it is, is
//! undecidable in general, and an author can write a repeat. Control tokens have no bytes.

use super::{ControlRef, Expr, ExprId, Grammar};
use crate::Limits;
use crate::regular::{CharSet, Node, NodeId, Regular};
use crate::util::Span;
use core::fmt;
use std::sync::Arc;

/// The reason why an expression of a grammar is not regular, and where.
///
/// `{}` is one line; `{:#}` adds the source line with a caret, if the grammar came from a text.
#[derive(Clone, PartialEq, Eq)]
pub struct NotRegular {
    details: Box<Details>,
}

#[derive(Clone, PartialEq, Eq)]
struct Details {
    reason: NotRegularReason,
    expr: ExprId,
    span: Option<Span>,
    rule: Option<Box<str>>,
    source: Option<Arc<str>>,
}

/// The construct that makes an expression not regular.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotRegularReason {
    /// A recursive rule.
    Recursion,
    /// A control token.
    Control(ControlRef),
    /// Any one token but some.
    Tokens,
    /// A bound on the tokens of a text.
    TokenBound,
    /// A JSON Schema.
    Schema,
    /// The left operand of `-` may match bytes that are not UTF-8, for which there is no complement.
    NotText,
    /// The regular expression would have more nodes than `limits.n_exprs_max`.
    TooLarge {
        /// The number of nodes at which inlining stopped.
        given: usize,
        /// The largest number allowed.
        limit: usize,
    },
}

impl NotRegular {
    /// Returns the reason.
    pub fn reason(&self) -> &NotRegularReason {
        &self.details.reason
    }

    /// Returns the offending expression: the control token, or the reference that closes the cycle of rules.
    pub fn expr(&self) -> ExprId {
        self.details.expr
    }

    /// Returns the span of that expression, if the grammar came from a text.
    pub fn span(&self) -> Option<Span> {
        self.details.span
    }

    /// Returns the rule that contains that expression, if inlining reached it through rules.
    pub fn rule(&self) -> Option<&str> {
        self.details.rule.as_deref()
    }
}

impl fmt::Display for NotRegular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { reason, span, rule, source, .. } = &*self.details;
        match reason {
            NotRegularReason::Recursion => f.write_str("recursion is not regular")?,
            NotRegularReason::Control(ControlRef::Name(name)) => {
                write!(f, "control token `{name}` has no text, so it is not regular")?;
            }
            NotRegularReason::Control(ControlRef::Id(id)) => {
                write!(f, "control token {id} has no text, so it is not regular")?;
            }
            NotRegularReason::Tokens => f.write_str("a set of tokens has no text, so it is not regular")?,
            NotRegularReason::TokenBound => {
                f.write_str("a bound on tokens is not regular: where they end is no part of the text")?
            }
            NotRegularReason::Schema => f.write_str("JSON documents are not regular")?,
            NotRegularReason::NotText => f.write_str("the left operand of `-` may match bytes that are not UTF-8")?,
            NotRegularReason::TooLarge { given, limit } => {
                write!(f, "the regular expression has at least {given} nodes, more than {limit} (n_exprs_max)")?;
            }
        }
        if let Some(rule) = rule {
            write!(f, " (in rule `{rule}`)")?;
        }
        if let (true, Some(span), Some(source)) = (f.alternate(), span, source) {
            span.write_caret(source, f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for NotRegular {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { reason, expr, span, rule, .. } = &*self.details;
        let mut fields = f.debug_struct("NotRegular");
        fields.field("reason", reason).field("expr", expr).field("span", span).field("rule", rule).finish()
    }
}

impl std::error::Error for NotRegular {}

/// The progress of the depth-first search at an expression.
#[derive(Clone, Copy)]
enum State {
    Unvisited,
    /// Its operands are being lowered.
    Open,
    Done(Lowered),
}

#[derive(Clone, Copy)]
struct Lowered {
    node: NodeId,
    /// Whether every match is certainly valid UTF-8.
    is_text: bool,
}

impl Grammar {
    /// Returns `expr` as a regular expression, with the rules that it refers to inlined.
    ///
    /// ```
    /// use maskwright::{Limits, grammar::GrammarBuilder, regular::{CharSet, Dfa}};
    /// let mut builder = GrammarBuilder::new();
    /// let (root, digit) = (builder.rule("root"), builder.rule("digit"));
    /// let class = builder.class(CharSet::range('0', '9'));
    /// builder.define(digit, class);
    /// let one = builder.rule_ref(digit);
    /// let body = builder.repeat(one, 1, None);
    /// builder.define(root, body);
    /// let grammar = builder.finish(root).unwrap();
    /// let regular = grammar.regular_of(body, &Limits::default()).unwrap();
    /// assert!(Dfa::new(&regular, &Limits::default()).unwrap().is_match(b"2024"));
    /// ```
    ///
    /// # Errors
    /// If a rule is recursive, if there is a control token, if the left operand of `-` may match bytes that are not UTF-8, or if the
    /// result has more than `limits.n_exprs_max` nodes.
    pub fn regular_of(&self, expr: ExprId, limits: &Limits) -> Result<Regular, NotRegular> {
        Inliner::new(self, limits).run(expr)
    }
}

struct Inliner<'a> {
    grammar: &'a Grammar,
    limits: &'a Limits,
    states: Vec<State>,
    /// The expressions being lowered, outermost first.
    open: Vec<ExprId>,
    regular: Regular,
}

impl<'a> Inliner<'a> {
    fn new(grammar: &'a Grammar, limits: &'a Limits) -> Self {
        let states = vec![State::Unvisited; grammar.exprs().len()];
        Inliner { grammar, limits, states, open: Vec::new(), regular: Regular::new() }
    }

    fn run(mut self, root: ExprId) -> Result<Regular, NotRegular> {
        self.open.push(root);
        while let Some(&id) = self.open.last() {
            match self.states[id.index()] {
                State::Unvisited => {
                    self.states[id.index()] = State::Open;
                    if let Expr::Rule(rule) = self.grammar.expr(id) {
                        let body = self.grammar.rule(*rule).body;
                        match self.states[body.index()] {
                            State::Open => return Err(self.refuse(id, NotRegularReason::Recursion)),
                            State::Unvisited => self.open.push(body),
                            State::Done(_) => {}
                        }
                    } else {
                        let (open, states) = (&mut self.open, &self.states);
                        let start = open.len();
                        self.grammar.expr(id).for_each_operand(|operand| {
                            if let State::Unvisited = states[operand.index()] {
                                open.push(operand);
                            }
                        });
                        open[start..].reverse();
                    }
                }
                State::Open => {
                    let lowered = self.lower(id)?;
                    self.states[id.index()] = State::Done(lowered);
                    self.open.pop();
                    let (given, limit) = (self.regular.nodes().len(), self.limits.n_exprs_max);
                    if given > limit {
                        return Err(self.refuse(id, NotRegularReason::TooLarge { given, limit }));
                    }
                }
                State::Done(_) => {
                    self.open.pop();
                }
            }
        }
        let root = self.done(root).node;
        self.regular.set_root(root);
        Ok(self.regular)
    }

    /// Lowers an expression whose operands are done.
    fn lower(&mut self, id: ExprId) -> Result<Lowered, NotRegular> {
        let grammar = self.grammar;
        let all_text = |this: &Self, operands: &[ExprId]| operands.iter().all(|&operand| this.done(operand).is_text);
        let (node, is_text) = match grammar.expr(id) {
            Expr::Empty => (Node::Empty, true),
            Expr::Literal(bytes) => (Node::Bytes(bytes.clone()), core::str::from_utf8(bytes).is_ok()),
            Expr::LiteralNoCase(text) => {
                let chars: Vec<NodeId> = text.chars().map(|c| self.any_case(c)).collect();
                (Node::Concat(chars.into()), true)
            }
            Expr::Class(set) => (Node::Class(set.clone()), true),
            Expr::Regex(regex) => return Ok(self.copy(&regex.regular)),
            Expr::Marker(text) => (Node::Bytes(text.as_bytes().into()), true),
            Expr::Schema(_) => return Err(self.refuse(id, NotRegularReason::Schema)),
            Expr::Control(control) => return Err(self.refuse(id, NotRegularReason::Control(control.clone()))),
            Expr::TokenExcept(_) => return Err(self.refuse(id, NotRegularReason::Tokens)),
            Expr::AtMostTokens { .. } => return Err(self.refuse(id, NotRegularReason::TokenBound)),
            Expr::Rule(rule) => return Ok(self.done(grammar.rule(*rule).body)),
            Expr::Sequence(operands) => (
                Node::Concat(operands.iter().map(|&operand| self.done(operand).node).collect()),
                all_text(self, operands),
            ),
            Expr::Choice(operands) => (
                Node::Union(operands.iter().map(|&operand| self.done(operand).node).collect()),
                all_text(self, operands),
            ),
            &Expr::Repeat { body, min, max } => {
                let body = self.done(body);
                (Node::Repeat { body: body.node, min, max }, body.is_text)
            }
            &Expr::And(a, b) => {
                let (a, b) = (self.done(a), self.done(b));
                (Node::And(a.node, b.node), a.is_text || b.is_text)
            }
            &Expr::Minus(a, b) => {
                // `a & ~b`, which is right if `a` matches UTF-8 only.
                if !self.done(a).is_text {
                    return Err(self.refuse(a, NotRegularReason::NotText));
                }
                let not = self.regular.push(Node::Not(self.done(b).node));
                (Node::And(self.done(a).node, not), true)
            }
            &Expr::Not(a) => (Node::Not(self.done(a).node), true),
        };
        Ok(Lowered { node: self.regular.push(node), is_text })
    }

    fn any_case(&mut self, c: char) -> NodeId {
        let set = CharSet::range(c, c).case_fold_simple();
        if set.ranges() == [(c, c)] {
            let mut utf8 = [0; 4];
            return self.regular.push(Node::Bytes(c.encode_utf8(&mut utf8).as_bytes().into()));
        }
        self.regular.push(Node::Class(set))
    }

    /// Copies an expression with all its nodes.
    fn copy(&mut self, other: &Regular) -> Lowered {
        let base = self.regular.nodes().len();
        let new = |id: NodeId| NodeId::new(base + id.index());
        // A node matches UTF-8 only if all literals in it are UTF-8; a complement always does.
        let mut is_text: Vec<bool> = Vec::with_capacity(other.nodes().len());
        for node in other.nodes() {
            let mut text = node.is_text();
            if let Node::And(a, b) = node {
                text = is_text[a.index()] || is_text[b.index()];
            } else if !matches!(node, Node::Not(_)) {
                node.for_each_operand(|operand| text &= is_text[operand.index()]);
            }
            is_text.push(text);
            self.regular.push(node.map_operands(new));
        }
        match other.root() {
            Some(root) => Lowered { node: new(root), is_text: is_text[root.index()] },
            None => Lowered { node: self.regular.push(Node::Union([].into())), is_text: true },
        }
    }

    fn done(&self, id: ExprId) -> Lowered {
        match self.states[id.index()] {
            State::Done(lowered) => lowered,
            _ => unreachable!("operands are lowered first: {id:?}"),
        }
    }

    fn refuse(&self, expr: ExprId, reason: NotRegularReason) -> NotRegular {
        // The innermost rule on the path; pending siblings are on the stack too, but `Unvisited`.
        let is_open = |id: &&ExprId| matches!(self.states[id.index()], State::Open);
        let rule = self.open.iter().rev().filter(is_open).find_map(|&id| match self.grammar.expr(id) {
            Expr::Rule(rule) if id != expr => Some(self.grammar.rule(*rule).name.clone()),
            _ => None,
        });
        // At the top: the rule whose body this is, if it is one.
        let rule = rule.or_else(|| {
            let top = self.open.first()?;
            self.grammar.rules().iter().find(|rule| rule.body == *top).map(|rule| rule.name.clone())
        });
        let (span, source) = (self.grammar.span(expr), self.grammar.source.clone());
        NotRegular { details: Box::new(Details { reason, expr, span, rule, source }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{GrammarBuilder, Regex, RuleId};
    use crate::regular::Dfa;

    fn dfa(build: impl FnOnce(&mut GrammarBuilder) -> ExprId) -> Result<Dfa, NotRegular> {
        let mut builder = GrammarBuilder::new();
        let root = builder.rule("root");
        let body = build(&mut builder);
        builder.define(root, body);
        let limits = Limits::default();
        Ok(Dfa::new(&builder.finish(root).unwrap().regular_of(body, &limits)?, &limits).unwrap())
    }

    #[test]
    fn every_kind_of_expression() {
        let dfa = dfa(|b| {
            let regex = crate::frontend::regex::parse("[ab]+", "", &Limits::default()).unwrap();
            let regex = b.regex(Regex { pattern: "[ab]+".into(), flags: "".into(), regular: regex.into() });
            let (literal, empty) = (b.literal("b"), b.empty());
            let minus = b.push(Expr::Minus(regex, literal));
            let no_case = b.push(Expr::LiteralNoCase("k1".into()));
            let optional = b.choice([no_case, empty]);
            let not = b.push(Expr::Not(minus));
            let class = b.class(CharSet::range('b', 'c'));
            let and = b.push(Expr::And(not, class));
            let some = b.repeat(and, 0, Some(2));
            b.sequence([minus, optional, some])
        })
        .unwrap();
        for text in ["a", "bb", "ak1", "a\u{212A}1", "abK1", "acb", "ak1cc"] {
            assert!(dfa.is_match(text.as_bytes()), "{text}");
        }
        for text in ["b", "", "ak", "accc", "ak1d"] {
            assert!(!dfa.is_match(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn rules_are_inlined_once() {
        // Forty rules, each twice the next: small as shared nodes.
        let mut builder = GrammarBuilder::new();
        let rules: Vec<RuleId> = (0..40).map(|i| builder.rule(&format!("r{i}"))).collect();
        for i in 0..39 {
            let (a, b) = (builder.rule_ref(rules[i + 1]), builder.rule_ref(rules[i + 1]));
            let body = builder.sequence([a, b]);
            builder.define(rules[i], body);
        }
        let leaf = builder.literal("x");
        builder.define(rules[39], leaf);
        let grammar = builder.finish(rules[0]).unwrap();
        let regular = grammar.regular_of(grammar.rule(rules[0]).body, &Limits::default()).unwrap();
        assert_eq!(regular.nodes().len(), 40);
        let small = Limits { n_exprs_max: 39, ..Limits::default() };
        let error = grammar.regular_of(grammar.rule(rules[0]).body, &small).unwrap_err();
        assert_eq!(error.reason(), &NotRegularReason::TooLarge { given: 40, limit: 39 });
        // A shared rule is not recursion.
        assert_eq!(Dfa::new(&regular, &Limits::default()).unwrap_err().given(), 1 << 39);
    }

    #[test]
    fn recursion_is_refused_where_the_cycle_closes() {
        let source = "root ::= list\nlist ::= \"a\" rest\nrest ::= list?";
        let mut builder = GrammarBuilder::new();
        builder.set_source(source);
        let (root, list, rest) = (builder.rule("root"), builder.rule("list"), builder.rule("rest"));
        let body = builder.rule_ref(list);
        builder.define(root, body);
        let (a, tail) = (builder.literal("a"), builder.rule_ref(rest));
        let sequence = builder.sequence([a, tail]);
        builder.define(list, sequence);
        let last = source.rfind("list").unwrap();
        let again = builder.push_at(Expr::Rule(list), Some(Span::new(last, last + 4)));
        let optional = builder.repeat(again, 0, Some(1));
        builder.define(rest, optional);
        let grammar = builder.finish(root).unwrap();
        let error = grammar.regular_of(body, &Limits::default()).unwrap_err();
        assert_eq!((error.reason(), error.expr(), error.rule()), (&NotRegularReason::Recursion, again, Some("rest")));
        assert_eq!(error.span(), Some(Span::new(last, last + 4)));
        let text = "recursion is not regular (in rule `rest`)\n 3 | rest ::= list?\n   |          ^^^^";
        assert_eq!(format!("{error:#}"), text);
    }

    #[test]
    fn a_rule_that_is_only_itself_is_recursion() {
        let mut builder = GrammarBuilder::new();
        let root = builder.rule("root");
        let body = builder.rule_ref(root);
        builder.define(root, body);
        let grammar = builder.finish(root).unwrap();
        let error = grammar.regular_of(body, &Limits::default()).unwrap_err();
        assert_eq!((error.reason(), error.rule()), (&NotRegularReason::Recursion, Some("root")));
    }

    #[test]
    fn control_tokens_and_bytes_are_refused() {
        let error = dfa(|b| {
            let (a, token) = (b.literal("a"), b.control("<|x|>"));
            b.sequence([a, token])
        })
        .unwrap_err();
        assert_eq!(error.to_string(), "control token `<|x|>` has no text, so it is not regular (in rule `root`)");
        let error = dfa(|b| b.control_id(7)).unwrap_err();
        assert_eq!(error.reason(), &NotRegularReason::Control(ControlRef::Id(7)));
        let error = dfa(|b| {
            let (bytes, a) = (b.literal(b"\xFF"), b.literal("a"));
            b.push(Expr::Minus(bytes, a))
        })
        .unwrap_err();
        assert_eq!(error.reason(), &NotRegularReason::NotText);
        // Elsewhere bytes are fine.
        let bytes = dfa(|b| {
            let (bytes, a) = (b.literal(b"\xFF"), b.literal("a"));
            let both = b.choice([bytes, a]);
            b.push(Expr::And(both, bytes))
        });
        assert!(bytes.unwrap().is_match(b"\xFF"));
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let deep = dfa(|b| (0..100_000).fold(b.literal("a"), |id, _| b.sequence([id])));
        assert!(deep.unwrap().is_match(b"a"));
    }
}

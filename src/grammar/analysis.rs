//! Analyses of a whole grammar: which rules are reachable, which are productive (match some string), which expressions are regular.
//!
//! "Is productive" and "is regular" are least fixpoints of the same form: an expression has the property once enough of its
//! operands have it. Iterating over all rules until nothing changes takes a round per link of a chain `a ::= b`, `b ::= c`, ..., so
//! a hundred thousand rules in the wrong order would take a hundred thousand rounds. Here each expression counts the operands that it
//! still waits for, and an expression that gets the property notifies its users: linear, and without recursion. To explain a failure,
//! the first operand that lacks the property is followed, and so on, up to an expression that lacks it by itself or a cycle of rules.

use super::{Expr, ExprId, Grammar, Rule, RuleId};
use crate::util::{ByteSet, Span};
use core::fmt;
use hashbrown::HashMap;

/// A probable mistake in a grammar that does not prevent its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    kind: WarningKind,
    rule: Box<str>,
    span: Option<Span>,
    detail: Box<str>,
    pointer: Option<Box<str>>,
}

/// The kind of a [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// The rule is not reachable from the root rule.
    UnusedRule,
    /// No string matches the rule because its recursion never ends, like `a ::= "x" a` (in an unused rule; elsewhere that is an error).
    NeverFinishes,
    /// No string matches the rule for another reason, like `a ::= "x" & "y"`: alternatives that refer to it are never taken.
    MatchesNothing,
    /// Something in the grammar has no effect on its language, like a rule option for sampling.
    WithoutEffect,
    /// It means something, and probably not what was meant, like `["a"]` for an option.
    Suspicious,
    /// Another engine reads this place as another language.
    ReadDifferently,
    /// A JSON Schema has something that was meant to constrain values and doesn't, like a misspelt keyword.
    Schema,
    /// The vocabulary has no single-byte token for some bytes of the grammar: where only such a byte may follow, no token may.
    Unspellable,
}

impl Warning {
    /// Returns the warning that the vocabulary can't spell some bytes of the grammar.
    pub(crate) fn unspellable(grammar: &Grammar, bytes: ByteSet) -> Self {
        let root = grammar.rule(grammar.root());
        let detail = format!("{bytes:?}").into();
        Warning { kind: WarningKind::Unspellable, rule: root.name.clone(), span: root.span, detail, pointer: None }
    }

    /// Returns a warning of a front end about a place in a rule.
    pub(crate) fn of_source(kind: WarningKind, rule: &str, span: Span, detail: String) -> Self {
        Warning { kind, rule: rule.into(), span: Some(span), detail: detail.into(), pointer: None }
    }

    /// Returns a warning about a JSON Schema, with the place in its text if that is the source.
    pub(crate) fn of_schema(span: Option<Span>, detail: String) -> Self {
        Warning { kind: WarningKind::Schema, rule: "".into(), span, detail: detail.into(), pointer: None }
    }

    /// Returns a warning about a schema that is an operand, with its pointer if the grammar is that of a document, and its place in the text of the grammar.
    pub(crate) fn of_operand(pointer: Option<&str>, span: Option<Span>, detail: String) -> Self {
        Warning { pointer: pointer.map(Into::into), ..Self::of_schema(span, detail) }
    }

    /// Returns a warning about a JSON document, at a pointer and a span of it.
    pub(crate) fn of_document(kind: WarningKind, pointer: &str, span: Span, detail: String) -> Self {
        let pointer = Some(pointer.into());
        Warning { kind, rule: "".into(), span: Some(span), detail: detail.into(), pointer }
    }

    /// Returns the warning that no string matches a rule.
    pub(crate) fn matches_nothing(rule: &Rule) -> Self {
        let (rule, span) = (rule.name.clone(), rule.span);
        Warning { kind: WarningKind::MatchesNothing, rule, span, detail: "".into(), pointer: None }
    }

    /// Returns this warning about a grammar that stands in a JSON document, at a pointer and a span of it.
    pub(crate) fn in_document(self, pointer: &str, span: Span) -> Self {
        Warning { span: Some(span), pointer: Some(pointer.into()), ..self }
    }

    /// Returns the kind of the warning.
    pub fn kind(&self) -> WarningKind {
        self.kind
    }

    /// Returns the name of the rule; empty for a warning about a JSON Schema or a field of a structural tag.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns the JSON pointer of the place, if it is one of a JSON document, a structural tag; of a grammar in it that of the whole grammar.
    pub fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }

    /// Returns the span of the place that the warning is about, or else of the rule's definition, if the grammar came from a text. Of a grammar in a JSON document it is where that stands.
    pub fn span(&self) -> Option<Span> {
        self.span
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pointer) = &self.pointer {
            write!(f, "#{pointer}: ")?;
        }
        match self.kind {
            WarningKind::UnusedRule => write!(f, "rule `{}` is never used", self.rule),
            WarningKind::NeverFinishes => write!(f, "rule `{}` can never finish: {}", self.rule, self.detail),
            WarningKind::MatchesNothing => write!(f, "rule `{}` matches nothing at all", self.rule),
            WarningKind::WithoutEffect
            | WarningKind::ReadDifferently
            | WarningKind::Suspicious
            | WarningKind::Schema => f.write_str(&self.detail),
            WarningKind::Unspellable => {
                write!(f, "no token of one byte spells {}: outputs that need such a byte can get stuck", self.detail)
            }
        }
    }
}

/// Returns the warnings about a grammar, in order of its rules.
pub fn warnings(grammar: &Grammar) -> Vec<Warning> {
    warnings_with_roots(grammar, &[grammar.root()])
}

/// As [`warnings`], but the rule of a name counts as used, with all rules that it refers to: the usual root rule, where another was chosen.
pub(crate) fn warnings_but_of(grammar: &Grammar, name: &str) -> Vec<Warning> {
    let named = grammar.rules().iter().position(|rule| &*rule.name == name).map(RuleId::new);
    warnings_with_roots(grammar, &[grammar.root(), named.unwrap_or(grammar.root())])
}

/// Returns the warnings about a grammar of which these rules and what they refer to count as used.
fn warnings_with_roots(grammar: &Grammar, roots: &[RuleId]) -> Vec<Warning> {
    let (reachable, reachable_exprs) = reachable(grammar);
    let mut warnings = lost_captures(grammar, &reachable_exprs);
    if reachable.iter().all(|&is_reachable| is_reachable) {
        return warnings;
    }
    let (used, _) = reachable_from(grammar, roots);
    let productivity = Productivity::new(grammar);
    for (index, rule) in grammar.rules().iter().enumerate().filter(|&(index, _)| !reachable[index]) {
        let mut warn = |kind, detail: String| {
            warnings.push(Warning {
                kind,
                rule: rule.name.clone(),
                span: rule.span,
                detail: detail.into(),
                pointer: None,
            });
        };
        if !used[index] {
            warn(WarningKind::UnusedRule, String::new());
        }
        if !productivity.is_productive(rule.body) {
            let detail = match productivity.obstacle(RuleId::new(index)) {
                Obstacle::Cycle(rules) if rules[0].index() == index => describe_cycle(grammar, &rules),
                Obstacle::Cycle(rules) => format!("it needs `{}`, which can't", grammar.rule(rules[0]).name),
                Obstacle::Expr(_) => "it needs what nothing matches".to_owned(),
            };
            warn(WarningKind::NeverFinishes, detail);
        }
    }
    warnings
}

/// Returns a warning for each capture whose rule stands within an operand that is read as a whole, an automaton that knows no rules.
fn lost_captures(grammar: &Grammar, is_reachable: &[bool]) -> Vec<Warning> {
    if grammar.captures().is_empty() {
        return Vec::new();
    }
    let mut operands = Vec::new();
    for (expr, _) in grammar.exprs().iter().zip(is_reachable).filter(|(_, is_reachable)| **is_reachable) {
        if matches!(expr, Expr::And(..) | Expr::Minus(..) | Expr::Not(_) | Expr::AtMostTokens { .. }) {
            expr.for_each_operand(|operand| operands.push(operand));
        }
    }
    let (within, _) = reachable_through(grammar, operands);
    let lost = grammar.captures().iter().filter(|capture| within[capture.rule.index()]);
    let warning = |capture: &super::Capture| {
        let rule = grammar.rule(capture.rule);
        let detail = format!(
            "the capture `{}` is not found within a rule with `lazy`, `max_chars` or `max_tokens`, and within operands of `&`, `-` and `~`",
            capture.name
        );
        let (kind, rule, span) = (WarningKind::WithoutEffect, rule.name.clone(), rule.span);
        Warning { kind, rule, span, detail: detail.into(), pointer: None }
    };
    lost.map(warning).collect()
}

/// Returns by rule whether it is reachable from the root.
pub(crate) fn reachable_rules(grammar: &Grammar) -> Vec<bool> {
    reachable(grammar).0
}

/// Returns by expression whether it is reachable from the root.
pub(crate) fn reachable_exprs(grammar: &Grammar) -> Vec<bool> {
    reachable(grammar).1
}

/// Returns the rules and the expressions that are reachable from the root.
fn reachable(grammar: &Grammar) -> (Vec<bool>, Vec<bool>) {
    reachable_from(grammar, &[grammar.root()])
}

/// Returns the rules and the expressions that are reachable from some rules.
fn reachable_from(grammar: &Grammar, roots: &[RuleId]) -> (Vec<bool>, Vec<bool>) {
    let (mut rules, exprs) = reachable_through(grammar, roots.iter().map(|&root| grammar.rule(root).body).collect());
    roots.iter().for_each(|root| rules[root.index()] = true);
    (rules, exprs)
}

/// Returns the rules and the expressions that are reachable from some expressions, these included.
fn reachable_through(grammar: &Grammar, mut pending: Vec<ExprId>) -> (Vec<bool>, Vec<bool>) {
    let mut reachable = vec![false; grammar.rules().len()];
    let mut seen = vec![false; grammar.exprs().len()];
    while let Some(id) = pending.pop() {
        if core::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        match grammar.expr(id) {
            Expr::Rule(rule) => {
                reachable[rule.index()] = true;
                pending.push(grammar.rule(*rule).body);
            }
            expr => expr.for_each_operand(|operand| pending.push(operand)),
        }
    }
    (reachable, seen)
}

/// The reason why an expression lacks a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A cycle of rules, each of which needs the next.
    Cycle(Vec<RuleId>),
    /// An expression that lacks the property whatever its operands are.
    Expr(ExprId),
}

/// The expressions that match some string. Emptiness that only automata can show, as of `"a" & "b"`, is not detected.
pub(crate) struct Productivity<'g> {
    grammar: &'g Grammar,
    holds: Vec<bool>,
}

impl<'g> Productivity<'g> {
    pub(crate) fn new(grammar: &'g Grammar) -> Self {
        Productivity { grammar, holds: least_fixpoint(grammar, Self::needs) }
    }

    pub(crate) fn is_productive(&self, expr: ExprId) -> bool {
        self.holds[expr.index()]
    }

    /// Returns the reason why a rule is not productive.
    pub(crate) fn obstacle(&self, rule: RuleId) -> Obstacle {
        obstacle(self.grammar, &self.holds, Self::needs, self.grammar.rule(rule).body, Some(rule))
    }

    fn needs(expr: &Expr) -> Needs {
        match expr {
            Expr::Empty | Expr::Literal(_) | Expr::Marker(_) | Expr::LiteralNoCase(_) => Needs::Nothing,
            // That a schema has no documents is found when it is compiled, and so is that no token is left.
            Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_) => Needs::Nothing,
            Expr::Class(set) if set.is_empty() => Needs::Never,
            Expr::Regex(regex) if regex.regular.root().is_none() => Needs::Never,
            Expr::Class(_) | Expr::Regex(_) | Expr::Not(_) | Expr::Repeat { min: 0, .. } => Needs::Nothing,
            Expr::Choice(operands) if operands.is_empty() => Needs::Never,
            Expr::Choice(_) => Needs::Any,
            Expr::Minus(..) => Needs::First,
            Expr::Rule(_) | Expr::Sequence(_) | Expr::Repeat { .. } | Expr::And(..) => Needs::All,
            Expr::AtMostTokens { .. } => Needs::All,
        }
    }
}

/// The expressions that use neither recursion, nor control tokens, nor schemas.
pub(crate) struct Regularity<'g> {
    grammar: &'g Grammar,
    holds: Vec<bool>,
}

impl<'g> Regularity<'g> {
    pub(crate) fn new(grammar: &'g Grammar) -> Self {
        Regularity { grammar, holds: least_fixpoint(grammar, Self::needs) }
    }

    pub(crate) fn is_regular(&self, expr: ExprId) -> bool {
        self.holds[expr.index()]
    }

    /// Returns the reason why an expression is not regular.
    pub(crate) fn obstacle(&self, expr: ExprId) -> Obstacle {
        obstacle(self.grammar, &self.holds, Self::needs, expr, None)
    }

    fn needs(expr: &Expr) -> Needs {
        match expr {
            Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_) | Expr::AtMostTokens { .. } => Needs::Never,
            _ => Needs::All,
        }
    }
}

/// The operands that must have a property so that an expression has it. The operand of a reference is the body of its rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    First,
    Any,
    All,
    Never,
}

fn for_each_needed(grammar: &Grammar, expr: &Expr, needs: Needs, mut visit: impl FnMut(ExprId)) {
    match (expr, needs) {
        (_, Needs::Nothing | Needs::Never) => {}
        (Expr::Rule(rule), _) => visit(grammar.rule(*rule).body),
        (_, Needs::First) => {
            let mut first = None;
            expr.for_each_operand(|id| first = first.or(Some(id)));
            first.into_iter().for_each(visit);
        }
        (_, Needs::Any | Needs::All) => expr.for_each_operand(visit),
    }
}

/// Returns by expression whether it has a property, the least fixpoint of `needs`.
fn least_fixpoint(grammar: &Grammar, needs: impl Fn(&Expr) -> Needs) -> Vec<bool> {
    let exprs = grammar.exprs();
    let needs: Vec<Needs> = exprs.iter().map(needs).collect();
    // The users of expression i: users[starts[i]..starts[i + 1]].
    let mut starts = vec![0u32; exprs.len() + 1];
    let mut n_missing = vec![0u32; exprs.len()];
    for (index, expr) in exprs.iter().enumerate() {
        for_each_needed(grammar, expr, needs[index], |operand| {
            starts[operand.index() + 1] += 1;
            n_missing[index] += 1;
        });
    }
    for index in 1..starts.len() {
        starts[index] += starts[index - 1];
    }
    let mut users = vec![0u32; starts[exprs.len()] as usize];
    let mut next = starts.clone();
    let mut holds = vec![false; exprs.len()];
    let mut pending = Vec::new();
    for (index, expr) in exprs.iter().enumerate() {
        for_each_needed(grammar, expr, needs[index], |operand| {
            let slot = &mut next[operand.index()];
            users[*slot as usize] = index as u32;
            *slot += 1;
        });
        if n_missing[index] == 0 && needs[index] != Needs::Never {
            holds[index] = true;
            pending.push(index);
        }
    }
    while let Some(index) = pending.pop() {
        for &user in &users[starts[index] as usize..starts[index + 1] as usize] {
            let user = user as usize;
            n_missing[user] -= 1;
            let is_enough = needs[user] == Needs::Any || n_missing[user] == 0;
            if is_enough && !core::mem::replace(&mut holds[user], true) {
                pending.push(user);
            }
        }
    }
    holds
}

/// Follows operands that lack a property, from `start` on, which is in the body of `rule` if that is given.
fn obstacle(
    grammar: &Grammar,
    holds: &[bool],
    needs: fn(&Expr) -> Needs,
    start: ExprId,
    rule: Option<RuleId>,
) -> Obstacle {
    let mut path: Vec<RuleId> = rule.into_iter().collect();
    let mut positions: HashMap<RuleId, usize> = path.iter().map(|&rule| (rule, 0)).collect();
    let mut at = start;
    // The loop ends: an operand has a smaller id than its user, and no rule is entered twice.
    loop {
        let expr = grammar.expr(at);
        if let Expr::Rule(rule) = expr {
            if let Some(&position) = positions.get(rule) {
                return Obstacle::Cycle(path.split_off(position));
            }
            positions.insert(*rule, path.len());
            path.push(*rule);
        }
        let mut lacking = None;
        for_each_needed(grammar, expr, needs(expr), |id| lacking = lacking.or((!holds[id.index()]).then_some(id)));
        match lacking {
            Some(operand) => at = operand,
            None => return Obstacle::Expr(at),
        }
    }
}

/// Returns a phrase like "it needs `b`, which needs `a` again" for the cycle of `a` and `b`.
pub(crate) fn describe_cycle(grammar: &Grammar, rules: &[RuleId]) -> String {
    const RULES_MAX: usize = 6;
    let mut phrase = "it needs".to_owned();
    for rule in &rules[1..rules.len().min(RULES_MAX)] {
        phrase += &format!(" `{}`, which needs", grammar.rule(*rule).name);
    }
    if rules.len() > RULES_MAX {
        phrase += " others, which need";
    }
    phrase + &format!(" `{}` again", grammar.rule(rules[0]).name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::GrammarBuilder;

    /// Rules `r0 ::= r1`, `r1 ::= r2`, ..., the last one as `last` says.
    fn chain(n_rules: usize, last: impl Fn(&mut GrammarBuilder, &[RuleId]) -> ExprId) -> Grammar {
        let mut builder = GrammarBuilder::new();
        let rules: Vec<RuleId> = (0..n_rules).map(|n| builder.rule(&format!("r{n}"))).collect();
        for pair in rules.windows(2) {
            let body = builder.rule_ref(pair[1]);
            builder.define(pair[0], body);
        }
        let body = last(&mut builder, &rules);
        builder.define(rules[n_rules - 1], body);
        builder.finish(rules[0]).unwrap()
    }

    #[test]
    fn long_chains_take_one_pass() {
        let grammar = chain(200_000, |builder, _| builder.literal("x"));
        let productivity = Productivity::new(&grammar);
        assert!(grammar.rules().iter().all(|rule| productivity.is_productive(rule.body)));
        let grammar = chain(200_000, |builder, rules| builder.rule_ref(rules[199_990]));
        let productivity = Productivity::new(&grammar);
        let Obstacle::Cycle(rules) = productivity.obstacle(grammar.root()) else { panic!("a cycle") };
        assert_eq!((rules.len(), rules[0].index()), (10, 199_990));
        assert!(describe_cycle(&grammar, &rules).ends_with("which needs others, which need `r199990` again"));
    }

    #[test]
    fn a_choice_needs_one_and_a_sequence_all() {
        let mut builder = GrammarBuilder::new();
        let (root, stuck) = (builder.rule("root"), builder.rule("stuck"));
        let (x, stuck_ref) = (builder.literal("x"), builder.rule_ref(stuck));
        let both = builder.sequence([x, stuck_ref, x]);
        let either = builder.choice([both, x]);
        let maybe = builder.repeat(stuck_ref, 0, Some(3));
        let some = builder.repeat(stuck_ref, 1, Some(3));
        let minus = builder.push(Expr::Minus(x, stuck_ref));
        let and = builder.push(Expr::And(x, stuck_ref));
        let none = builder.choice([]);
        builder.define(root, either);
        builder.define(stuck, both);
        let grammar = builder.finish(root).unwrap();
        let productivity = Productivity::new(&grammar);
        let expected =
            [(both, false), (either, true), (maybe, true), (some, false), (minus, true), (and, false), (none, false)];
        for (expr, is_productive) in expected {
            assert_eq!(productivity.is_productive(expr), is_productive, "{:?}", grammar.expr(expr));
        }
        assert_eq!(productivity.obstacle(stuck), Obstacle::Cycle(vec![stuck]));
        assert!(!Regularity::new(&grammar).is_regular(either) && Regularity::new(&grammar).is_regular(x));
        assert_eq!(warnings(&grammar), []);
    }
}

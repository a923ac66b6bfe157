//! Exclusions `a - b` that do nothing, or that leave nothing of an expression elsewhere.
//!
//! With `ident ::= [a-z]+ - ("if" | "then")` the rule `keyword ::= ident & "if"` matches nothing: what it asks for was taken away in another rule. And `[a-z]+ - "IF"`
//! takes nothing away, since the left operand never had it. Both are questions about regular languages and are decided, so no report is a guess. They take an automaton
//! or two for each `&` and `-`, as much as compiling, which is why compiling doesn't ask them.
//!
//! What can't be told: whether a word that is excluded was meant to be. A text refused for that is explained when it is refused.

use super::analysis::reachable_exprs;
use super::{Expr, ExprId, Grammar, Warning, WarningKind};
use crate::Limits;
use crate::regular::Dfa;

/// Most operators `&` and `-` that are looked at.
pub const EXCLUSION_OPERATORS_MAX: usize = 64;
/// Most exclusions that are tried as the reason why an expression matches nothing, and most alternatives of one exclusion.
const TRIED_MAX: usize = 64;
/// Most states of an automaton; what needs more is not told.
const STATES_MAX: usize = 4096;
/// Most characters of an expression in a message.
const SHOWN_CHARS_MAX: usize = 60;

impl Grammar {
    /// Returns warnings about exclusions `a - b`: of such as take nothing away, and of expressions of which an exclusion elsewhere leaves nothing.
    ///
    /// Compiling does not look for these, since it takes about as long again. Only the first 64 operators are looked at, and none whose automaton has more
    /// than 4,096 states. Grammars without source text have no places and get no warnings.
    ///
    /// ```
    /// use maskwright::{Limits, frontend::ebnf};
    /// let source = r#"
    /// root    ::= keyword | ident
    /// keyword ::= ident & "if"
    /// ident   ::= [a-z]+ - ("if" | "else")
    /// "#;
    /// let grammar = ebnf::parse(source, "root", &Limits::default())?.grammar;
    /// let warnings = grammar.exclusion_warnings(&Limits::default());
    /// assert_eq!(
    ///     warnings[0].to_string(),
    ///     r#"nothing matches `ident & "if"`: the exclusion `[a-z]+ - ("if" | "else")` takes all of it away"#
    /// );
    /// # Ok::<(), maskwright::frontend::SyntaxError>(())
    /// ```
    pub fn exclusion_warnings(&self, limits: &Limits) -> Vec<Warning> {
        let Some(source) = self.source() else { return Vec::new() };
        let limits = Limits { dfa_states_max: limits.dfa_states_max.min(STATES_MAX), ..limits.clone() };
        let reachable = reachable_exprs(self);
        let operators = (0..self.exprs.len())
            .map(ExprId::new)
            .filter(|id| reachable[id.index()] && self.operands_of_condition(*id).is_some());
        let mut lints = Lints { grammar: self, source, limits, found: Vec::new() };
        operators.take(EXCLUSION_OPERATORS_MAX).for_each(|id| lints.look_at(id));
        lints.found
    }

    /// Returns the operands of `&` or `-`.
    fn operands_of_condition(&self, id: ExprId) -> Option<(ExprId, ExprId)> {
        match *self.expr(id) {
            Expr::And(a, b) | Expr::Minus(a, b) => Some((a, b)),
            _ => None,
        }
    }
}

struct Lints<'g> {
    grammar: &'g Grammar,
    source: &'g str,
    limits: Limits,
    found: Vec<Warning>,
}

impl Lints<'_> {
    /// Looks at one operator; those in its operands were looked at before.
    fn look_at(&mut self, id: ExprId) {
        let Some((left, right)) = self.grammar.operands_of_condition(id) else { return };
        // What has an empty operand was told there.
        let (Some(left_dfa), Some(dfa)) = (self.dfa(self.grammar, left), self.dfa(self.grammar, id)) else { return };
        if dfa.is_empty() {
            let is_told = left_dfa.is_empty() || self.dfa(self.grammar, right).is_none_or(|dfa| dfa.is_empty());
            if !is_told {
                self.tell_reason(id);
            }
        } else if let Expr::Minus(..) = self.grammar.expr(id) {
            self.look_at_excluded(left, &left_dfa, right);
        }
    }

    /// Tells which exclusion elsewhere leaves nothing of an expression, if a single one does. One that leaves nothing by itself is no such case.
    fn tell_reason(&mut self, id: ExprId) {
        let exclusions = self.below(id).filter_map(|other| match *self.grammar.expr(other) {
            Expr::Minus(left, _) => Some((other, left)),
            _ => None,
        });
        for (exclusion, left) in exclusions.take(TRIED_MAX) {
            let mut relaxed = self.grammar.clone();
            relaxed.exprs[exclusion.index()] = Expr::Sequence([left].into());
            if self.dfa(&relaxed, id).is_some_and(|dfa| !dfa.is_empty()) {
                let (shown, reason) = (self.shown(id), self.shown(exclusion));
                let detail = format!("nothing matches `{shown}`: the exclusion `{reason}` takes all of it away");
                self.warn(WarningKind::Suspicious, id, detail);
                return;
            }
        }
    }

    /// Tells which of the excluded alternatives the left operand doesn't match anyway: all of them, or such as are written in place.
    fn look_at_excluded(&mut self, left: ExprId, left_dfa: &Dfa, excluded: ExprId) {
        let has_effect = |this: &Self, id: ExprId| {
            let common = this.dfa(this.grammar, id)?.intersect(left_dfa, &this.limits).ok()?;
            Some(!common.is_empty())
        };
        let idle: Vec<ExprId> = match (has_effect(self, excluded), self.grammar.expr(excluded)) {
            (Some(false), _) => vec![excluded],
            (Some(true), Expr::Choice(alternatives)) => {
                let alternatives = alternatives.iter().copied().take(TRIED_MAX);
                // A rule may have other uses, so that not all of it need be there.
                alternatives.filter(|&id| has_effect(self, id) == Some(false)).collect()
            }
            _ => return,
        };
        for id in idle {
            let (shown, left) = (self.shown(id), self.shown(left));
            let detail = format!("excluding `{shown}` has no effect: `{left}` doesn't match it anyway");
            self.warn(WarningKind::WithoutEffect, id, detail);
        }
    }

    /// Returns the automaton of an expression, unless it is too large or not regular.
    fn dfa(&self, grammar: &Grammar, id: ExprId) -> Option<Dfa> {
        Dfa::new(&grammar.regular_of(id, &self.limits).ok()?, &self.limits).ok()
    }

    /// Returns the expressions below another, through rules as well, in order.
    fn below(&self, whole: ExprId) -> impl Iterator<Item = ExprId> + use<> {
        let mut seen = vec![false; self.grammar.exprs().len()];
        let mut pending = vec![whole];
        while let Some(id) = pending.pop() {
            let mut visit = |part: ExprId| {
                if !std::mem::replace(&mut seen[part.index()], true) {
                    pending.push(part);
                }
            };
            match self.grammar.expr(id) {
                Expr::Rule(rule) => visit(self.grammar.rule(*rule).body),
                expr => expr.for_each_operand(visit),
            }
        }
        seen.into_iter().enumerate().filter(|&(_, is_below)| is_below).map(|(index, _)| ExprId::new(index))
    }

    fn warn(&mut self, kind: WarningKind, id: ExprId, detail: String) {
        let Some(span) = self.grammar.span(id) else { return };
        let rules = self.grammar.rules();
        // Rules don't nest: it is in the last one that begins before it.
        let rule = rules.iter().filter(|rule| rule.span.is_some_and(|at| at.start <= span.start));
        let rule = rule.max_by_key(|rule| rule.span.map(|at| at.start));
        let name = rule.map_or("", |rule| &rule.name);
        self.found.push(Warning::of_source(kind, name, span, detail));
    }

    /// Returns an expression as it is written, shortened.
    fn shown(&self, id: ExprId) -> String {
        let text = self.grammar.span(id).and_then(|at| self.source.get(at.start as usize..at.end as usize));
        let words: Vec<&str> = text.unwrap_or("...").split_whitespace().collect();
        let line = words.join(" ");
        match line.char_indices().nth(SHOWN_CHARS_MAX) {
            None => line,
            Some((cut, _)) => format!("{}...", &line[..cut]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::GrammarBuilder;

    /// As `frontend` would, without it: a grammar of one operator whose operands are `a`, `b` and so on of the source.
    fn literals(source: &str) -> (GrammarBuilder, impl Fn(&mut GrammarBuilder, &str) -> ExprId + use<>) {
        let mut builder = GrammarBuilder::new();
        builder.set_source(source);
        let source = source.to_owned();
        let literal = move |builder: &mut GrammarBuilder, text: &str| {
            let at = source.find(text).expect("it is in the source");
            builder.push_at(Expr::Literal(text.as_bytes().into()), Some(crate::util::Span::new(at, at + text.len())))
        };
        (builder, literal)
    }

    #[test]
    fn work_is_bounded_and_what_is_too_large_is_not_told() {
        let (mut builder, literal) = literals("x y");
        let root = builder.rule("root");
        let (x, y) = (literal(&mut builder, "x"), literal(&mut builder, "y"));
        let at = Some(crate::util::Span::new(0, 3));
        let operators: Vec<ExprId> = (0..200).map(|_| builder.push_at(Expr::Minus(x, y), at)).collect();
        let body = builder.choice(operators);
        builder.define(root, body);
        let grammar = builder.finish(root).unwrap();
        let warnings = grammar.exclusion_warnings(&Limits::default());
        assert_eq!(warnings.len(), EXCLUSION_OPERATORS_MAX);
        assert_eq!(warnings[0].to_string(), "excluding `y` has no effect: `x` doesn't match it anyway");
        assert_eq!(warnings[0].kind(), WarningKind::WithoutEffect);
        let none = grammar.exclusion_warnings(&Limits { dfa_states_max: 0, ..Limits::default() });
        assert_eq!(none, []);
    }

    #[test]
    fn an_operator_that_is_empty_by_itself_is_not_the_fault_of_an_exclusion() {
        // `x & y`, and `x - x`: what they say is that nothing matches.
        let (mut builder, literal) = literals("x y");
        let root = builder.rule("root");
        let (x, y) = (literal(&mut builder, "x"), literal(&mut builder, "y"));
        let and = builder.push(Expr::And(x, y));
        let minus = builder.push(Expr::Minus(x, x));
        let body = builder.choice([and, minus, x]);
        builder.define(root, body);
        assert_eq!(builder.finish(root).unwrap().exclusion_warnings(&Limits::default()), []);
    }
}

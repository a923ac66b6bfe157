//! Parts of grammars: the rules that one rule needs, as a grammar of their own.
//!
//! A *separate* rule is compiled by itself, and once for all grammars that have such a rule: of 128 tools with one changed, only that one. That is
//! a matter of time and memory alone: the language is the same, and whatever reads a grammar may ignore it.

use super::{Expr, ExprId, Grammar, GrammarBuilder, Rule, RuleId};
use core::hash::{Hash, Hasher};
use core::mem::take;
use hashbrown::HashSet;

/// Parts of one grammar.
pub(crate) struct Parts<'g> {
    grammar: &'g Grammar,
    /// By expression: the last part that has it, and its number there.
    exprs: Vec<(u32, ExprId)>,
    /// By rule, likewise.
    rules: Vec<(u32, RuleId)>,
    n_parts: u32,
    /// The expressions of the part under way, and those to be looked at.
    order: Vec<ExprId>,
    pending: Vec<ExprId>,
}

/// A part of a grammar.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The rules of the part. In place of those that it ends at there are rules without meaning.
    pub grammar: Grammar,
    /// By rule of the part: the rule of the whole.
    pub rules: Vec<RuleId>,
}

impl GrammarBuilder {
    /// Makes a rule one that is compiled by itself.
    pub(crate) fn set_separate(&mut self, rule: RuleId) {
        self.separate.insert(rule);
    }
}

impl Grammar {
    /// Returns the rules that are compiled by themselves.
    pub(crate) fn separate_rules(&self) -> &HashSet<RuleId> {
        &self.separate
    }

    /// Returns whether two grammars are the same but for names and spans.
    pub(crate) fn has_content_of(&self, other: &Grammar) -> bool {
        let bodies = |grammar: &Grammar| grammar.rules.iter().map(|rule| rule.body).collect::<Vec<_>>();
        self.root == other.root && self.exprs == other.exprs && bodies(self) == bodies(other)
    }

    /// Hashes what [`Self::has_content_of`] compares.
    pub(crate) fn hash_content<H: Hasher>(&self, state: &mut H) {
        self.exprs.hash(state);
        self.rules.iter().for_each(|rule| rule.body.hash(state));
    }

    /// Returns the grammar without its source and spans.
    pub(crate) fn without_source(mut self) -> Grammar {
        self.source = None;
        self.spans.iter_mut().for_each(|span| *span = None);
        self.rules.iter_mut().for_each(|rule| rule.span = None);
        self
    }
}

impl<'g> Parts<'g> {
    pub fn new(grammar: &'g Grammar) -> Self {
        let exprs = vec![(0, ExprId::new(0)); grammar.exprs.len()];
        let rules = vec![(0, RuleId::new(0)); grammar.rules.len()];
        Parts { grammar, exprs, rules, n_parts: 0, order: Vec::new(), pending: Vec::new() }
    }

    /// Returns the part of what `root` needs up to the rules for which `is_border` holds. Equal parts have the same
    /// [content](Grammar::has_content_of), if they were built alike.
    pub fn part(&mut self, root: RuleId, is_border: impl Fn(RuleId) -> bool) -> Part {
        let grammar = self.grammar;
        self.n_parts += 1;
        let this = self.n_parts;
        let mut rules = vec![root];
        self.rules[root.index()] = (this, RuleId::new(0));
        let (mut order, mut pending) = (take(&mut self.order), take(&mut self.pending));
        order.clear();
        let has_body = |rule: RuleId| rule == root || !is_border(rule);
        let mut next = 0;
        while let Some(&rule) = rules.get(next) {
            next += 1;
            if has_body(rule) {
                pending.push(grammar.rule(rule).body);
            }
            while let Some(id) = pending.pop() {
                if core::mem::replace(&mut self.exprs[id.index()].0, this) == this {
                    continue;
                }
                order.push(id);
                match grammar.expr(id) {
                    Expr::Rule(callee) if self.rules[callee.index()].0 != this => {
                        self.rules[callee.index()] = (this, RuleId::new(rules.len()));
                        rules.push(*callee);
                    }
                    expr => expr.for_each_operand(|operand| pending.push(operand)),
                }
            }
        }
        // Operands before their users.
        order.sort_unstable();
        let mut exprs = Vec::with_capacity(order.len() + 1);
        for (number, id) in order.iter().enumerate() {
            let expr = grammar.expr(*id);
            exprs.push(expr.renamed(|operand| self.exprs[operand.index()].1, |rule| self.rules[rule.index()].1));
            self.exprs[id.index()].1 = ExprId::new(number);
        }
        let mut spans: Vec<_> = order.iter().map(|&id| grammar.span(id)).collect();
        // The body of rules at the border.
        exprs.push(Expr::Empty);
        spans.push(None);
        let copy = |&rule: &RuleId| {
            let Rule { name, body, span } = grammar.rule(rule);
            let body = if has_body(rule) { self.exprs[body.index()].1 } else { ExprId::new(order.len()) };
            Rule { name: name.clone(), body, span: *span }
        };
        let copies = rules.iter().map(copy).collect();
        let (source, separate, captures) = (grammar.source.clone(), HashSet::new(), Vec::new());
        let grammar = Grammar { rules: copies, exprs, spans, root: RuleId::new(0), source, separate, captures };
        (self.order, self.pending) = (order, pending);
        Part { grammar, rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::frontend::ebnf;

    #[test]
    fn a_part_has_what_a_rule_needs_up_to_its_border() {
        let text = r#"root ::= a b  a ::= "x" b | c  b ::= "b" d  c ::= "c" a?  d ::= "d"  e ::= "y" b | c"#;
        let grammar = ebnf::parse(text, "root", &Limits::default()).unwrap().grammar;
        let rule = |name: &str| (0..6).map(RuleId::new).find(|&rule| &*grammar.rule(rule).name == name).unwrap();
        let border = rule("b");
        let part = Parts::new(&grammar).part(rule("a"), |rule| rule == border);
        let names: Vec<&str> = part.grammar.rules().iter().map(|rule| &*rule.name).collect();
        assert_eq!(names, ["a", "c", "b"]);
        assert_eq!(part.rules, [rule("a"), rule("c"), border]);
        assert_eq!(part.grammar.to_string(), "a ::= \"x\" b | c\nc ::= \"c\" a?\nb ::= \"\"\n");
        let again = Parts::new(&grammar).part(rule("a"), |rule| rule == border).grammar.without_source();
        assert!(part.grammar.has_content_of(&again));
        assert!(!part.grammar.has_content_of(&Parts::new(&grammar).part(rule("e"), |rule| rule == border).grammar));
        // Its own root is no border.
        let part = Parts::new(&grammar).part(border, |rule| rule == border);
        assert_eq!(part.grammar.to_string(), "b ::= \"b\" d\nd ::= \"d\"\n");
    }

    #[test]
    fn rules_with_bodies_of_each_other_are_another_content() {
        let grammar = |swapped: bool| {
            let mut builder = GrammarBuilder::new();
            let [root, a, b] = ["root", "a", "b"].map(|name| builder.rule(name));
            let (x, y) = (builder.literal("x"), builder.literal("y"));
            let (one, other) = (builder.rule_ref(a), builder.rule_ref(b));
            let body = builder.sequence([one, other]);
            builder.define(root, body);
            builder.define(a, if swapped { y } else { x });
            builder.define(b, if swapped { x } else { y });
            builder.finish(root).unwrap()
        };
        assert!(grammar(false).has_content_of(&grammar(false)) && !grammar(false).has_content_of(&grammar(true)));
    }
}

//! Parts of grammars: the rules that one rule needs, as a grammar of their own.
//!
//! A *separate* rule is compiled by itself, and once for all grammars that have such a rule: of 128 tools with one changed, only that one. That is
//! a matter of time and memory alone: the language is the same, and whatever reads a grammar may ignore it.

use super::{Expr, ExprId, Grammar, GrammarBuilder, RuleId};
use core::hash::{Hash, Hasher};
use hashbrown::{HashMap, HashSet};

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

    /// Returns the part of what `root` needs up to the rules for which `is_border` holds. Equal parts have the same [content](Self::has_content_of), if they
    /// were built alike.
    pub(crate) fn part(&self, root: RuleId, is_border: impl Fn(RuleId) -> bool) -> Part {
        let mut rules = vec![root];
        let mut rule_ids: HashMap<RuleId, RuleId> = HashMap::from_iter([(root, RuleId::new(0))]);
        let mut exprs: HashMap<ExprId, ExprId> = HashMap::new();
        let mut order: Vec<ExprId> = Vec::new();
        let mut pending: Vec<ExprId> = Vec::new();
        let mut next = 0;
        while next < rules.len() {
            let rule = rules[next];
            next += 1;
            if rule != root && is_border(rule) {
                continue;
            }
            pending.push(self.rule(rule).body);
            while let Some(id) = pending.pop() {
                if exprs.insert(id, id).is_some() {
                    continue;
                }
                order.push(id);
                match self.expr(id) {
                    Expr::Rule(callee) => {
                        rule_ids.entry(*callee).or_insert_with(|| {
                            rules.push(*callee);
                            RuleId::new(rules.len() - 1)
                        });
                    }
                    expr => expr.for_each_operand(|operand| pending.push(operand)),
                }
            }
        }
        // Operands before their users.
        order.sort_unstable();
        let mut builder = GrammarBuilder::new();
        if let Some(source) = &self.source {
            builder.set_source(source.clone());
        }
        for &rule in &rules {
            builder.rule(&self.rule(rule).name);
        }
        for id in order {
            let expr = self.expr(id).renamed(|operand| exprs[&operand], |rule| rule_ids[&rule]);
            let copy = builder.push_at(expr, self.span(id));
            exprs.insert(id, copy);
        }
        for (index, &rule) in rules.iter().enumerate() {
            let body = match exprs.get(&self.rule(rule).body) {
                Some(&body) if rule == root || !is_border(rule) => body,
                _ => builder.empty(),
            };
            builder.define_at(RuleId::new(index), body, self.rule(rule).span);
        }
        Part { grammar: builder.finish(RuleId::new(0)).expect("every rule has a body"), rules }
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
        let part = grammar.part(rule("a"), |rule| rule == border);
        let names: Vec<&str> = part.grammar.rules().iter().map(|rule| &*rule.name).collect();
        assert_eq!(names, ["a", "c", "b"]);
        assert_eq!(part.rules, [rule("a"), rule("c"), border]);
        assert_eq!(part.grammar.to_string(), "a ::= \"x\" b | c\nc ::= \"c\" a?\nb ::= \"\"\n");
        let again = grammar.part(rule("a"), |rule| rule == border).grammar.without_source();
        assert!(part.grammar.has_content_of(&again));
        assert!(!part.grammar.has_content_of(&grammar.part(rule("e"), |rule| rule == border).grammar));
    }
}

//! Grammars within grammars: copies of all rules of one into another, under names of their own.

use super::{Capture, Expr, ExprId, Grammar, GrammarBuilder, RuleId, SchemaOperand};
use core::ops::Range;
use hashbrown::HashMap;

impl GrammarBuilder {
    /// Adds the rules of a grammar under new names, and returns its root rule here. A rule `a` is called `{prefix}a`, or that and a number where
    /// there is such a rule already; spans are left out, since they are those of another text.
    ///
    /// ```
    /// use maskwright::{Limits, frontend::ebnf, grammar::GrammarBuilder};
    /// let list = ebnf::parse(r#"root ::= item ("," item)*  item ::= [0-9]"#, "root", &Limits::default())?.grammar;
    /// let mut builder = GrammarBuilder::new();
    /// let root = builder.rule("root");
    /// let list = builder.add_grammar(&list, "list-");
    /// let (open, list, close) = (builder.literal("["), builder.rule_ref(list), builder.literal("]"));
    /// let body = builder.sequence([open, list, close]);
    /// builder.define(root, body);
    /// let text = builder.finish(root)?.to_ebnf().expect("EBNF expresses it");
    /// assert_eq!(text.lines().nth(1), Some(r#"list-root ::= list-item ("," list-item)*"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_grammar(&mut self, grammar: &Grammar, prefix: &str) -> RuleId {
        let copy = self.add_copy(grammar, &uses(grammar), |name| format!("{prefix}{name}"), None);
        copy.rules[grammar.root().index()]
    }

    /// Adds the rules of a grammar, each with a new name for its own, and the expressions that they use ([`uses`]); but for one rule that nothing refers to, and its body if nothing else needs it.
    fn add_copy(
        &mut self,
        grammar: &Grammar,
        n_uses: &[u32],
        new_name: impl Fn(&str) -> String,
        without: Option<Without>,
    ) -> Copies {
        // Of what is left out no number is needed.
        let (no_rule, no_expr) = (RuleId::new(0), ExprId::new(0));
        let is_left_out = |id: RuleId| without.is_some_and(|without| without.rule == id);
        let mut rules = Vec::with_capacity(grammar.rules().len());
        for (index, rule) in grammar.rules().iter().enumerate() {
            rules.push(if is_left_out(RuleId::new(index)) { no_rule } else { self.fresh_rule(&new_name(&rule.name)) });
        }
        let mut exprs: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
        for (index, expr) in grammar.exprs().iter().enumerate() {
            let is_needed = n_uses[index] > 0 && without.is_none_or(|without| without.expr != Some(ExprId::new(index)));
            let copied = || expr.renamed(|id| exprs[id.index()], |rule| rules[rule.index()]);
            exprs.push(if is_needed { self.push(copied()) } else { no_expr });
        }
        for (index, rule) in grammar.rules().iter().enumerate() {
            if !is_left_out(RuleId::new(index)) {
                self.define(rules[index], exprs[rule.body.index()]);
            }
        }
        grammar.separate_rules().iter().for_each(|rule| self.set_separate(rules[rule.index()]));
        let captures = grammar.captures().iter();
        self.captures.extend(captures.map(|capture| Capture { rule: rules[capture.rule.index()], ..capture.clone() }));
        Copies { rules, exprs }
    }
}

/// A rule that is not copied, and its body if that isn't either.
#[derive(Clone, Copy)]
struct Without {
    rule: RuleId,
    expr: Option<ExprId>,
}

/// The numbers of the copies of rules and expressions.
struct Copies {
    rules: Vec<RuleId>,
    exprs: Vec<ExprId>,
}

/// Grammars made of others. The root rule is called `root`; the rules of the first operand get the prefix `p1-`, those of the second `p2-`, and so on, in place of a prefix that they have already, and
/// a number where there is such a rule. The root rule of an operand is written out where nothing else refers to it, unless it is deep. Each operand is copied: a grammar of `n` parts is made from
/// all of them at once in linear time, and one by one in quadratic time.
impl Grammar {
    /// Returns the grammar of one text.
    pub fn literal(text: &str) -> Grammar {
        Grammar::of(|builder| if text.is_empty() { builder.empty() } else { builder.literal(text) })
    }

    /// Returns the grammar of some texts, of which the output is one. Without any, nothing matches it.
    ///
    /// ```
    /// use maskwright::grammar::Grammar;
    /// assert_eq!(Grammar::choice(["yes", "no"]).to_string(), "root ::= \"yes\" | \"no\"\n");
    /// ```
    pub fn choice<'t>(texts: impl IntoIterator<Item = &'t str>) -> Grammar {
        Grammar::of(|builder| {
            let texts: Vec<ExprId> = texts.into_iter().map(|text| builder.literal(text)).collect();
            match *texts {
                [only] => only,
                _ => builder.choice(texts),
            }
        })
    }

    /// Returns the grammar of the JSON documents that a schema accepts; [`Grammar::from_json_schema`] also checks the schema.
    pub fn schema(operand: SchemaOperand) -> Grammar {
        Grammar::of(|builder| builder.schema(operand))
    }

    /// Returns the grammar of a sequence: a text of the first grammar, then one of the second, and so on.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab, grammar::{Grammar, SchemaOperand}, json_schema::SchemaOptions};
    /// let number = Grammar::schema(SchemaOperand::new(r#"{"type": "integer"}"#, SchemaOptions::default()));
    /// let grammar = Grammar::concat([&Grammar::literal("n="), &number, &Grammar::literal(";").repeat(0, Some(1))]);
    /// let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?;
    /// let mut matcher = GrammarCompiler::new(vocab.into()).compile(&grammar)?.matcher();
    /// matcher.accept_bytes(b"n=-12")?;
    /// assert!(matcher.is_accepting() && matcher.accept_bytes(b"-").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn concat<'g>(parts: impl IntoIterator<Item = &'g Grammar>) -> Grammar {
        Grammar::of(|builder| {
            let parts = add_all(builder, parts, |expr| match expr {
                Expr::Sequence(operands) => Some(operands),
                _ => None,
            });
            builder.sequence(parts)
        })
    }

    /// Returns the grammar of a choice: a text of one of the grammars.
    pub fn union<'g>(parts: impl IntoIterator<Item = &'g Grammar>) -> Grammar {
        Grammar::of(|builder| {
            let parts = add_all(builder, parts, |expr| match expr {
                Expr::Choice(operands) => Some(operands),
                _ => None,
            });
            builder.choice(parts)
        })
    }

    /// Returns the grammar of `min` to `max` texts of this one, one behind the other; `max: None` is no upper bound.
    ///
    /// # Panics
    /// If `max < min`.
    pub fn repeat(&self, min: u32, max: Option<u32>) -> Grammar {
        Grammar::of(|builder| {
            let body = add_all(builder, [self], |_| None);
            builder.repeat(body[0], min, max)
        })
    }

    /// Returns this grammar with a marker in place of each literal, also within regular expressions: control tokens of the vocabulary may spell
    /// them. Literals in any case stay, and operands of `&`, `-` and `~` mean the same as before.
    pub fn with_markers(&self) -> Grammar {
        let mut grammar = self.clone();
        for expr in &mut grammar.exprs {
            match expr {
                Expr::Literal(bytes) => {
                    if let Ok(text) = core::str::from_utf8(bytes) {
                        *expr = Expr::Marker(text.into());
                    }
                }
                Expr::Regex(regex) if !regex.has_markers() => *regex = regex.clone().with_markers(),
                _ => {}
            }
        }
        grammar
    }

    /// Returns the grammar with one rule of its own, whose body `body` adds.
    fn of(body: impl FnOnce(&mut GrammarBuilder) -> ExprId) -> Grammar {
        let mut builder = GrammarBuilder::new();
        let root = builder.rule("root");
        let body = body(&mut builder);
        builder.define(root, body);
        builder.finish(root).expect("every rule has a body")
    }

    /// Returns this grammar with other grammars in place of the schemas among its operands, and the rules that each of these has there; a schema for which there is no
    /// grammar matches nothing.
    pub(crate) fn with_schemas_as<'g>(
        &self,
        find: impl Fn(&SchemaOperand) -> Option<&'g Grammar>,
    ) -> (Grammar, Vec<(Range<usize>, SchemaOperand)>) {
        let mut builder = GrammarBuilder::new();
        if let Some(source) = self.source() {
            builder.set_source(source);
        }
        // Its own rules first, so that they keep their names.
        for rule in self.rules() {
            builder.rule(&rule.name);
        }
        let mut roots: HashMap<SchemaOperand, RuleId> = HashMap::new();
        let mut rules = Vec::new();
        for expr in self.exprs() {
            if let Expr::Schema(operand) = expr
                && !roots.contains_key(operand)
                && let Some(grammar) = find(operand)
            {
                let prefix = format!("schema-{}-", roots.len() + 1);
                let start = builder.n_rules();
                let root = builder.add_grammar(grammar, &prefix);
                rules.push((start..builder.n_rules(), operand.clone()));
                roots.insert(operand.clone(), root);
            }
        }
        let mut copies: Vec<ExprId> = Vec::with_capacity(self.exprs().len());
        for (index, expr) in self.exprs().iter().enumerate() {
            let expr = match expr {
                Expr::Schema(operand) => {
                    roots.get(operand).map_or(Expr::Choice(Box::new([])), |&root| Expr::Rule(root))
                }
                _ => expr.renamed(|id| copies[id.index()], |rule| rule),
            };
            copies.push(builder.push_at(expr, self.span(ExprId::new(index))));
        }
        for (index, rule) in self.rules().iter().enumerate() {
            builder.define_at(RuleId::new(index), copies[rule.body.index()], rule.span);
        }
        builder.captures.extend_from_slice(self.captures());
        (builder.finish(self.root()).expect("every rule has a body"), rules)
    }
}

/// The deepest body of a root rule that is written out: as text a grammar nests no deeper than [`Limits::nesting_max`](crate::Limits::nesting_max).
const INLINE_DEPTH_MAX: usize = 32;

/// Adds grammars to a builder; returns the expressions of each: one, or its operands if it is one for which `operands` has some.
fn add_all<'g>(
    builder: &mut GrammarBuilder,
    parts: impl IntoIterator<Item = &'g Grammar>,
    operands: impl Fn(&Expr) -> Option<&[ExprId]>,
) -> Vec<ExprId> {
    let mut all = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        let new_name = |name: &str| format!("p{}-{}", index + 1, operand_name(name));
        let (root, body) = (part.root(), part.rule(part.root()).body);
        let n_uses = uses(part);
        if !is_inline(part, &n_uses) {
            let copy = builder.add_copy(part, &n_uses, new_name, None);
            all.push(builder.rule_ref(copy.rules[root.index()]));
            continue;
        }
        let operands = operands(part.expr(body));
        let expr = operands.is_some().then_some(body);
        let copy = builder.add_copy(part, &n_uses, new_name, Some(Without { rule: root, expr }));
        match operands {
            Some(operands) => all.extend(operands.iter().map(|id| copy.exprs[id.index()])),
            None => all.push(copy.exprs[body.index()]),
        }
    }
    all
}

/// Returns whether the body of the root rule can stand in place of the rule: nothing else refers to either, the rule has no meaning of its own, and the body is not deep.
fn is_inline(grammar: &Grammar, n_uses: &[u32]) -> bool {
    let (root, body) = (grammar.root(), grammar.rule(grammar.root()).body);
    let mut depths: Vec<usize> = Vec::with_capacity(grammar.exprs().len());
    for expr in grammar.exprs() {
        let mut depth = 0;
        expr.for_each_operand(|id| depth = depth.max(depths[id.index()] + 1));
        depths.push(depth);
    }
    let calls_root = |(expr, &n_uses): (&Expr, &u32)| n_uses > 0 && matches!(expr, Expr::Rule(id) if *id == root);
    let is_called = grammar.exprs().iter().zip(n_uses).any(calls_root);
    let has_meaning = grammar.separate_rules().contains(&root) || grammar.captures().iter().any(|c| c.rule == root);
    let is_used = is_called || n_uses[body.index()] > 1;
    !is_used && !has_meaning && depths[body.index()] < INLINE_DEPTH_MAX
}

/// Returns by expression how often it is the body of a rule or an operand; expressions that no rule has are not used, nor do they use others.
fn uses(grammar: &Grammar) -> Vec<u32> {
    let mut n_uses = vec![0u32; grammar.exprs().len()];
    grammar.rules().iter().for_each(|rule| n_uses[rule.body.index()] += 1);
    // Operands come before what they are operands of.
    for (index, expr) in grammar.exprs().iter().enumerate().rev() {
        if n_uses[index] > 0 {
            expr.for_each_operand(|id| n_uses[id.index()] = n_uses[id.index()].saturating_add(1));
        }
    }
    n_uses
}

/// Returns what a rule of an operand is called without prefix and number, if it has been given a prefix before: names don't grow with the depth of grammars within grammars.
fn operand_name(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let prefixed = name.strip_prefix('p').and_then(|rest| rest.split_once('-'));
    let Some((_, rest)) = prefixed.filter(|(number, _)| is_number(number)) else { return name };
    match rest.rsplit_once('-') {
        Some((base, number)) if is_number(number) && !base.is_empty() => base,
        _ => rest,
    }
}

impl Expr {
    /// Returns the expression with other operands and rules.
    pub(super) fn renamed(&self, operand: impl Fn(ExprId) -> ExprId, rule: impl Fn(RuleId) -> RuleId) -> Expr {
        match self {
            Expr::Rule(id) => Expr::Rule(rule(*id)),
            Expr::Sequence(operands) => Expr::Sequence(operands.iter().map(|&id| operand(id)).collect()),
            Expr::Choice(operands) => Expr::Choice(operands.iter().map(|&id| operand(id)).collect()),
            &Expr::Repeat { body, min, max } => Expr::Repeat { body: operand(body), min, max },
            &Expr::AtMostTokens { body, max } => Expr::AtMostTokens { body: operand(body), max },
            &Expr::And(a, b) => Expr::And(operand(a), operand(b)),
            &Expr::Minus(a, b) => Expr::Minus(operand(a), operand(b)),
            &Expr::Not(a) => Expr::Not(operand(a)),
            Expr::Empty | Expr::Literal(_) | Expr::Marker(_) | Expr::LiteralNoCase(_) | Expr::Class(_) => self.clone(),
            Expr::Regex(_) | Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_) => self.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Grammar {
        crate::frontend::ebnf::parse(text, "root", &Default::default()).unwrap().grammar
    }

    #[test]
    fn names_stay_short_however_deep_grammars_are() {
        let item = parse(r#"root ::= item+  item ::= [a-z] item-2  item-2 ::= ";""#);
        let mut grammar = item.clone();
        for _ in 0..40 {
            grammar = Grammar::concat([&grammar, &item]);
        }
        let names: Vec<&str> = grammar.rules().iter().map(|rule| &*rule.name).collect();
        assert_eq!(names.len(), 1 + 41 * 2);
        assert_eq!(names[..4], ["root", "p1-item", "p1-item-2", "p1-item-3"]);
        assert!(names.iter().all(|name| name.len() < 14), "{names:?}");
        assert_eq!(parse(&grammar.to_ebnf().unwrap()).rules().len(), names.len());
    }

    #[test]
    fn root_rules_are_written_out_where_nothing_refers_to_them() {
        let nested = parse(r#"root ::= "(" root ")" | "x""#);
        let (a, b) = (parse(r#"root ::= "a" "b"?"#), parse(r#"root ::= "c" | item+  item ::= [d-f]"#));
        for (grammar, expected) in [
            (Grammar::concat([&a, &a]), r#"root ::= "a" "b"? "a" "b"?"#),
            (Grammar::union([&b, &a]), r#"root ::= "c" | p1-item+ | "a" "b"?  p1-item ::= [d-f]"#),
            (Grammar::concat([&b, &Grammar::literal("")]), r#"root ::= ("c" | p1-item+) ""  p1-item ::= [d-f]"#),
            (b.repeat(2, Some(3)), r#"root ::= ("c" | p1-item+){2,3}  p1-item ::= [d-f]"#),
            (Grammar::concat([&nested, &a]), r#"root ::= p1-root "a" "b"?  p1-root ::= "(" p1-root ")" | "x""#),
        ] {
            assert_eq!(grammar, parse(expected), "{grammar}");
        }
    }

    #[test]
    fn deep_bodies_and_those_with_a_meaning_keep_their_rules() {
        let mut deep = Grammar::literal("a");
        for _ in 0..1000 {
            deep = Grammar::union([&deep, &Grammar::literal("b")]).repeat(0, Some(1));
        }
        assert_eq!(deep.rules().len(), 2 * 1000 / INLINE_DEPTH_MAX + 1);
        assert_eq!(parse(&deep.to_ebnf().unwrap()).rules().len(), deep.rules().len());
        let named = parse(r#"root[capture="all"] ::= "a""#);
        let both = Grammar::concat([&named, &named]);
        assert!(both.rules().len() == 3 && both.captures().len() == 2, "{both}");
    }

    #[test]
    fn only_names_with_a_prefix_lose_it() {
        for (name, expected) in [
            ("p1-item", "item"),
            ("p12-item-3", "item"),
            ("p1-", ""),
            ("p1--2", "-2"),
            ("item-2", "item-2"),
            ("p-1", "p-1"),
            ("pa-1", "pa-1"),
        ] {
            assert_eq!(operand_name(name), expected);
        }
    }
}

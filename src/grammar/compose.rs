//! Grammars within grammars: copies of all rules of one into another, under names of their own.

use super::{Capture, Expr, ExprId, Grammar, GrammarBuilder, RuleId, SchemaOperand};
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
        let rules: Vec<RuleId> =
            grammar.rules().iter().map(|rule| self.fresh_rule(&format!("{prefix}{}", rule.name))).collect();
        let mut copies: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
        for expr in grammar.exprs() {
            let expr = expr.renamed(|id| copies[id.index()], |rule| rules[rule.index()]);
            copies.push(self.push(expr));
        }
        for (rule, &copy) in grammar.rules().iter().zip(&rules) {
            self.define(copy, copies[rule.body.index()]);
        }
        grammar.separate_rules().iter().for_each(|rule| self.set_separate(rules[rule.index()]));
        let captures = grammar.captures().iter();
        self.captures.extend(captures.map(|capture| Capture { rule: rules[capture.rule.index()], ..capture.clone() }));
        rules[grammar.root().index()]
    }

    /// Declares a rule called `name`, or that and a number.
    pub(crate) fn fresh_rule(&mut self, name: &str) -> RuleId {
        if self.rule_named(name).is_none() {
            return self.rule(name);
        }
        let names = (2u64..).map(|number| format!("{name}-{number}"));
        let mut free = names.filter(|name| self.rule_named(name).is_none());
        let name = free.next().expect("a grammar has fewer rules than there are numbers");
        self.rule(&name)
    }
}

/// Grammars made of others. The root rule is called `root`; the rules of the first operand get the prefix `p1-`, those of the second `p2-`, and so on.
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
            let parts = add_all(builder, parts);
            builder.sequence(parts)
        })
    }

    /// Returns the grammar of a choice: a text of one of the grammars.
    pub fn union<'g>(parts: impl IntoIterator<Item = &'g Grammar>) -> Grammar {
        Grammar::of(|builder| {
            let parts = add_all(builder, parts);
            builder.choice(parts)
        })
    }

    /// Returns the grammar of `min` to `max` texts of this one, one behind the other; `max: None` is no upper bound.
    ///
    /// # Panics
    /// If `max < min`.
    pub fn repeat(&self, min: u32, max: Option<u32>) -> Grammar {
        Grammar::of(|builder| {
            let body = add_all(builder, [self]);
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

    /// Returns this grammar with other grammars in place of the schemas among its operands; one for which there is none matches nothing.
    pub(crate) fn with_schemas_as<'g>(&self, find: impl Fn(&SchemaOperand) -> Option<&'g Grammar>) -> Grammar {
        let mut builder = GrammarBuilder::new();
        if let Some(source) = self.source() {
            builder.set_source(source);
        }
        // Its own rules first, so that they keep their names.
        for rule in self.rules() {
            builder.rule(&rule.name);
        }
        let mut roots: HashMap<SchemaOperand, RuleId> = HashMap::new();
        for expr in self.exprs() {
            if let Expr::Schema(operand) = expr
                && !roots.contains_key(operand)
                && let Some(grammar) = find(operand)
            {
                let prefix = format!("schema-{}-", roots.len() + 1);
                let root = builder.add_grammar(grammar, &prefix);
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
        builder.finish(self.root()).expect("every rule has a body")
    }
}

/// Adds grammars to a builder; returns a reference to each.
fn add_all<'g>(builder: &mut GrammarBuilder, parts: impl IntoIterator<Item = &'g Grammar>) -> Vec<ExprId> {
    let parts = parts.into_iter().enumerate();
    let add = |(index, part): (usize, &Grammar)| {
        let root = builder.add_grammar(part, &format!("p{}-", index + 1));
        builder.rule_ref(root)
    };
    parts.map(add).collect()
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

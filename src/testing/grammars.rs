//! Random grammars over a small alphabet, so that random texts are often viable.

use super::Rng;
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, GrammarBuilder, Regex, RuleId};
use crate::regular::{CharSet, Node, NodeId, Regular};
use std::sync::Arc;

/// The features of random grammars.
#[derive(Clone, Debug)]
pub struct GrammarShape {
    /// The characters of literals and classes.
    pub alphabet: Vec<char>,
    /// Further sets for classes. If there are any, classes and loops over them are frequent.
    pub wide_sets: Vec<CharSet>,
    /// The control tokens that a grammar may name.
    pub controls: Vec<ControlRef>,
    /// Most rules.
    pub n_rules_max: usize,
    /// Greatest depth of operators in a rule.
    pub depth_max: usize,
    /// Of a hundred control tokens, how many are all tokens but that one instead, and perhaps others.
    pub sets_of_100: usize,
    /// Of a hundred expressions, how many are texts with at most so many tokens.
    pub bounds_of_100: usize,
    /// What markers are made of, beside characters: names of control tokens. If there are none, there are no markers.
    pub marker_names: Vec<String>,
    /// Whether there are intersections, differences and complements.
    pub with_booleans: bool,
    /// Whether literals may have bytes that are not UTF-8.
    pub with_raw_bytes: bool,
    /// Whether repeats may have bounds up to a million, or only small ones.
    pub with_large_counts: bool,
}

impl Default for GrammarShape {
    fn default() -> Self {
        GrammarShape {
            alphabet: vec!['a', 'b', 'é', '一'],
            wide_sets: vec![],
            controls: vec![ControlRef::Name("<|x|>".into()), ControlRef::Name("<|y|>".into()), ControlRef::Id(1)],
            sets_of_100: 0,
            bounds_of_100: 0,
            marker_names: vec![],
            n_rules_max: 5,
            depth_max: 4,
            with_booleans: true,
            with_raw_bytes: true,
            with_large_counts: true,
        }
    }
}

impl GrammarShape {
    /// Returns a shape with a random choice of features and two to four characters.
    pub fn random(rng: &mut Rng) -> Self {
        let mut shape = GrammarShape::default();
        let alphabets: [&[char]; 6] = [
            &['a', 'b'],
            &['a', 'b', 'c'],
            &['a', 'A', 'b'],
            &['a', 'é', 'è'],
            &['一', '丁', 'a'],
            &['a', 'b', 'é', '😀'],
        ];
        shape.alphabet = rng.pick(&alphabets).to_vec();
        match rng.below(4) {
            0 | 1 => shape.controls.clear(),
            2 => shape.sets_of_100 = 40,
            _ => {}
        }
        if rng.chance(30) {
            shape.bounds_of_100 = 25;
        }
        shape.n_rules_max = rng.between(1, 6);
        shape.depth_max = rng.between(1, 4);
        shape.with_booleans = rng.chance(40);
        shape.with_raw_bytes = rng.chance(20);
        shape
    }
}

/// Returns a random grammar. Its language may be empty.
pub fn random_grammar(rng: &mut Rng, shape: &GrammarShape) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let n_rules = rng.between(1, shape.n_rules_max.max(1));
    let rules: Vec<RuleId> = (0..n_rules).map(|i| builder.rule(&rule_name("r", i))).collect();
    // Regular rules, for operands of `&`, `-` and `~`; each may use those before it.
    let n_regular = if shape.with_booleans { rng.between(0, 2) } else { 0 };
    let mut maker = Generator { rng, shape, builder, rules: vec![], n_left: 0 };
    for i in 0..n_regular {
        let name = format!("t{i}");
        maker.n_left = 8;
        let body = maker.expr(shape.depth_max.min(3), true);
        let rule = maker.builder.rule(&name);
        maker.builder.define(rule, body);
        maker.rules.push(rule);
    }
    let regular_rules = maker.rules.clone();
    for &rule in &rules {
        maker.rules = rules.iter().chain(&regular_rules).copied().collect();
        maker.n_left = 14;
        let body = maker.rule_body(rule, &regular_rules);
        maker.builder.define(rule, body);
    }
    maker.builder.finish(rules[0]).expect("all rules are defined")
}

fn rule_name(prefix: &str, i: usize) -> String {
    if i == 0 { "root".into() } else { format!("{prefix}{i}") }
}

struct Generator<'a> {
    rng: &'a mut Rng,
    shape: &'a GrammarShape,
    builder: GrammarBuilder,
    /// The rules that may be named.
    rules: Vec<RuleId>,
    /// The number of operators that this rule may still have.
    n_left: usize,
}

impl Generator<'_> {
    /// Returns the body of a rule: often of a form on which engines fail, with random operands; otherwise anything.
    fn rule_body(&mut self, rule: RuleId, regular_rules: &[RuleId]) -> ExprId {
        let depth = self.shape.depth_max;
        if self.shape.with_booleans && self.rng.chance(25) {
            let all = core::mem::replace(&mut self.rules, regular_rules.to_vec());
            let boolean = self.boolean(depth);
            self.rules = all;
            let around = [self.leaf(false), boolean, self.leaf(false)];
            return match self.rng.below(3) {
                0 => boolean,
                1 => self.builder.sequence(around),
                _ => self.builder.choice(around),
            };
        }
        if !self.shape.wide_sets.is_empty() && self.rng.chance(40) {
            return self.loop_between();
        }
        let own = self.builder.rule_ref(rule);
        let (a, b) = (self.expr(1, false), self.expr(1, false));
        let step = match self.rng.below(16) {
            0 => self.builder.sequence([own, a]),      // left
            1 => self.builder.sequence([a, own]),      // right
            2 => self.builder.sequence([own, own]),    // ambiguous
            3 => self.builder.sequence([a, own, b]),   // in the middle
            4 => self.builder.sequence([own, a, own]), // an operator
            5 => {
                let hidden = self.builder.repeat(a, 0, Some(1)); // hidden left
                self.builder.sequence([hidden, own, b])
            }
            _ => return self.expr(depth, false),
        };
        let base = self.expr(depth.saturating_sub(1), false);
        self.builder.choice([step, base])
    }

    /// Returns a loop over a set, perhaps with something before and after it.
    fn loop_between(&mut self) -> ExprId {
        let set = self.set();
        let class = self.builder.class(set);
        let is_bounded = self.rng.chance(self.shape.bounds_of_100);
        let (min, max) = if is_bounded || self.rng.chance(50) { (0, None) } else { self.counts(true) };
        let mut looping = self.builder.repeat(class, min, max);
        if is_bounded {
            looping = self.builder.at_most_tokens(looping, self.rng.below(5) as u32);
        }
        match self.rng.below(4) {
            0 => looping,
            1 => {
                let end = self.expr(1, false);
                self.builder.sequence([looping, end])
            }
            2 => {
                let (start, end) = (self.expr(1, false), self.expr(1, false));
                self.builder.sequence([start, looping, end])
            }
            _ => {
                let start = self.expr(1, false);
                self.builder.sequence([start, looping])
            }
        }
    }

    fn expr(&mut self, depth: usize, regular: bool) -> ExprId {
        if depth == 0 || self.n_left == 0 || self.rng.chance(20) {
            return self.leaf(regular);
        }
        self.n_left -= 1;
        if !regular && self.rng.chance(self.shape.bounds_of_100) {
            // Rules may be recursive.
            let rules = core::mem::take(&mut self.rules);
            let body = self.expr(depth - 1, true);
            self.rules = rules;
            let max = self.rng.below(5) as u32;
            return self.builder.at_most_tokens(body, max);
        }
        match self.rng.below(10) {
            0..=3 => {
                let n_parts = self.rng.between(1, 3);
                let parts: Vec<_> = (0..n_parts).map(|_| self.expr(depth - 1, regular)).collect();
                self.builder.sequence(parts)
            }
            4..=6 => {
                let n_parts = self.rng.between(1, 3);
                let parts: Vec<_> = (0..n_parts).map(|_| self.expr(depth - 1, regular)).collect();
                self.builder.choice(parts)
            }
            7 if regular && self.shape.with_booleans => self.boolean(depth),
            _ => {
                let body = self.expr(depth - 1, regular);
                let (min, max) = self.counts(!regular);
                self.builder.repeat(body, min, max)
            }
        }
    }

    fn boolean(&mut self, depth: usize) -> ExprId {
        let depth = depth.clamp(1, 3) - 1;
        let a = self.expr(depth, true);
        match self.rng.below(3) {
            0 => {
                let b = self.expr(depth, true);
                self.builder.push(Expr::And(a, b))
            }
            1 => {
                let b = self.expr(depth, true);
                self.builder.push(Expr::Minus(a, b))
            }
            _ => self.builder.push(Expr::Not(a)),
        }
    }

    fn counts(&mut self, with_large: bool) -> (u32, Option<u32>) {
        match self.rng.below(12) {
            0..=2 => (0, None),
            3..=4 => (1, None),
            5..=6 => (0, Some(1)),
            7 => (self.rng.between(0, 3) as u32, None),
            8 if self.shape.with_large_counts && with_large => *self.rng.pick(&[
                (1, Some(1_000_000)),
                (2, Some(7)),
                (0, Some(10)),
                (5, Some(12)),
                (3, Some(300)),
                (100, None),
            ]),
            _ => {
                let min = self.rng.between(0, 3);
                (min as u32, Some(self.rng.between(min, min + 3) as u32))
            }
        }
    }

    fn leaf(&mut self, regular: bool) -> ExprId {
        loop {
            let n_literals = if self.shape.wide_sets.is_empty() { 7 } else { 4 };
            return match self.rng.below(20) {
                7 | 15 if !regular && !self.shape.marker_names.is_empty() => {
                    let marker = self.marker();
                    self.builder.marker(&marker)
                }
                kind @ 0..=6 if kind < n_literals => {
                    let text = self.text(3);
                    self.builder.literal(text)
                }
                0..=9 => {
                    let set = self.set();
                    self.builder.class(set)
                }
                10..=14 if !self.rules.is_empty() => {
                    let rule = *self.rng.pick(&self.rules);
                    self.builder.rule_ref(rule)
                }
                15 if !regular && !self.shape.controls.is_empty() => {
                    let control = self.rng.pick(&self.shape.controls).clone();
                    match self.rng.chance(self.shape.sets_of_100) {
                        false => self.builder.push(Expr::Control(control)),
                        true => {
                            let others = (0..self.rng.below(3)).map(|_| ControlRef::Id(self.rng.below(8) as u32));
                            let others: Vec<ControlRef> = others.collect();
                            self.builder.token_except(ExcludedTokens::new([control].into_iter().chain(others)))
                        }
                    }
                }
                16 => self.builder.empty(),
                17 => {
                    let text = self.text(2);
                    self.builder.push(Expr::LiteralNoCase(text.into()))
                }
                18 => {
                    let regex = self.regex();
                    self.builder.regex(regex)
                }
                19 if self.shape.with_raw_bytes => {
                    let text = self.text(1);
                    let cut = self.rng.between(0, text.len());
                    self.builder.literal(&text.as_bytes()[cut..])
                }
                _ => continue,
            };
        }
    }

    /// Returns names of control tokens, or parts of them, amid other text.
    fn marker(&mut self) -> String {
        let mut marker = String::new();
        for _ in 0..self.rng.between(1, 3) {
            if self.rng.chance(40) {
                marker += &self.text(2);
            } else {
                let name: Vec<char> = self.rng.pick(&self.shape.marker_names).chars().collect();
                let start = if self.rng.chance(80) { 0 } else { self.rng.below(name.len()) };
                marker.extend(&name[start..]);
            }
        }
        marker
    }

    fn text(&mut self, len_max: usize) -> String {
        let len = self.rng.between(1, len_max);
        (0..len).map(|_| *self.rng.pick(&self.shape.alphabet)).collect()
    }

    fn set(&mut self) -> CharSet {
        if !self.shape.wide_sets.is_empty() && self.rng.chance(80) {
            return self.rng.pick(&self.shape.wide_sets).clone();
        }
        let chars: CharSet = (0..self.rng.between(1, 2)).map(|_| *self.rng.pick(&self.shape.alphabet)).collect();
        match self.rng.below(20) {
            0..=3 => chars.negate(),
            4 => CharSet::all(),
            5 => CharSet::empty(),
            6 => CharSet::range('a', 'z'),
            _ => chars,
        }
    }

    /// Returns a random regular expression; its pattern and its language are built side by side.
    fn regex(&mut self) -> Regex {
        let mut regular = Regular::new();
        let (mut pattern, mut branches) = (String::new(), Vec::new());
        for i in 0..self.rng.between(1, 2) {
            if i > 0 {
                pattern.push('|');
            }
            let mut parts = Vec::new();
            for _ in 0..self.rng.between(1, 3) {
                parts.push(self.regex_part(&mut regular, &mut pattern));
            }
            branches.push(regular.push(Node::Concat(parts.into())));
        }
        let root = regular.push(Node::Union(branches.into()));
        regular.set_root(root);
        Regex { pattern: pattern.into(), flags: "".into(), regular: Arc::new(regular) }
    }

    fn regex_part(&mut self, regular: &mut Regular, pattern: &mut String) -> NodeId {
        let body = if self.rng.chance(50) {
            let c = *self.rng.pick(&self.shape.alphabet);
            pattern.push(c);
            regular.push(Node::Bytes(c.to_string().into_bytes().into()))
        } else {
            let (a, b) = (*self.rng.pick(&self.shape.alphabet), *self.rng.pick(&self.shape.alphabet));
            pattern.extend(['[', a, b, ']']);
            regular.push(Node::Class([a, b].into_iter().collect()))
        };
        let (text, min, max) =
            *self.rng.pick(&[("", 1, Some(1)), ("*", 0, None), ("+", 1, None), ("{2,3}", 2, Some(3))]);
        if text.is_empty() {
            return body;
        }
        pattern.push_str(text);
        regular.push(Node::Repeat { body, min, max })
    }
}

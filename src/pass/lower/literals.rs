//! Literals, and how the alternatives of a choice share them.
//!
//! A choice may be of thousands of tags that begin alike and end alike. What is written twice costs all passes behind this one, so it is not written twice:
//!
//! ```text
//! "<f=a>" x "</f>" | "<f=b>" y "</f>"      < f = +-- a > --x--+-- < / f >
//!                                                +-- b > --y--+
//! ```
//!
//! Prefixes share states as in a trie. Suffixes of sequences that are whole literals share the states from there to the end: nothing but the literal leads out of these.

use super::{Literal, Lowering, Piece, STEPS_PER_CLASS, What};
use crate::grammar::{Expr, ExprId};
use crate::pass::BuildError;
use crate::pass::network::{ControlLetter, Label};
use crate::regular::CharSet;
use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

/// Fewest alternatives of a choice for which common prefixes are looked for.
const ALTERNATIVES_MIN: usize = 8;

/// Bytes of a literal that are hashed in a step.
const BYTES_PER_STEP: usize = 64;

impl<'a> Lowering<'a> {
    /// Returns what an expression reads, if that is one text.
    fn literal(&self, id: ExprId) -> Option<Literal<'a>> {
        let literal = match self.grammar.expr(id) {
            Expr::Literal(bytes) => Literal { text: bytes, is_marker: false },
            Expr::Marker(text) => Literal { text: text.as_bytes(), is_marker: true },
            _ => return None,
        };
        (!literal.text.is_empty()).then_some(literal)
    }

    /// Returns the literal that an expression begins with, where it stands, and the parts that follow it.
    fn first_literal(&self, id: ExprId) -> Option<(ExprId, Literal<'a>, &'a [ExprId])> {
        let (first, rest): (ExprId, &[ExprId]) = match self.grammar.expr(id) {
            Expr::Sequence(parts) if self.separated(parts).is_none() => {
                let (&first, rest) = parts.split_first()?;
                (first, rest)
            }
            _ => (id, &[]),
        };
        Some((first, self.literal(first)?, rest))
    }

    /// Emits the parts of a sequence, the last one first: sequences that end with the same literals share the states of these. The choices of a grammar may be of
    /// thousands of tags, and all end alike.
    pub(super) fn emit_parts(&mut self, rule: usize, from: u32, to: u32, parts: &[ExprId]) -> Result<(), BuildError> {
        let Some((&first, rest)) = parts.split_first() else {
            self.empty(rule, from, to);
            return Ok(());
        };
        let mut end = to;
        for &part in rest.iter().rev() {
            let known = self.literal(part).map(|literal| (rule, literal, end));
            // The text is hashed, though nothing may be emitted for it.
            self.budget.spend(1 + known.map_or(0, |(_, literal, _)| literal.text.len() / BYTES_PER_STEP))?;
            BuildError::check_states(self.n_states as usize, self.limits)?;
            if let Some(&state) = known.and_then(|key| self.before_literal.get(&key)) {
                end = state;
                continue;
            }
            let start = self.state(rule);
            known.and_then(|key| self.before_literal.insert(key, start));
            self.pending.push(Piece { rule, from: start, to: end, what: What::Expr(part) });
            end = start;
        }
        self.pending.push(Piece { rule, from, to: end, what: What::Expr(first) });
        Ok(())
    }

    /// Emits a choice. If many alternatives begin with literals, these share the states of common prefixes.
    pub(super) fn emit_alternatives(
        &mut self,
        rule: usize,
        from: u32,
        to: u32,
        parts: &[ExprId],
    ) -> Result<(), BuildError> {
        if parts.len() < ALTERNATIVES_MIN {
            self.emit_choice(rule, from, to, parts, What::Expr);
            return Ok(());
        }
        // By state and byte: the state behind it. A text that control tokens may spell has edges that no other text may have.
        let mut tries = [HashMap::new(), HashMap::new()];
        for &part in parts {
            match self.first_literal(part) {
                None => self.pending.push(Piece { rule, from, to, what: What::Expr(part) }),
                Some((first, literal, rest)) => {
                    let trie = &mut tries[usize::from(literal.is_marker)];
                    self.emit_beginning(rule, from, to, literal, rest, trie)
                        .map_err(|error| error.at(self.grammar.span(first), self.grammar.source()))?;
                }
            }
        }
        Ok(())
    }

    /// Emits an alternative that begins with a literal.
    fn emit_beginning(
        &mut self,
        rule: usize,
        from: u32,
        to: u32,
        Literal { text, is_marker }: Literal<'a>,
        rest: &[ExprId],
        trie: &mut HashMap<(u32, u8), u32>,
    ) -> Result<(), BuildError> {
        BuildError::check_states(self.n_states as usize + text.len(), self.limits)?;
        self.budget.spend(if is_marker { STEPS_PER_CLASS } else { 1 } * text.len())?;
        // The state before the literal, and those behind each byte. The first of them are there already.
        let mut places: SmallVec<[u32; 64]> = smallvec![from];
        let mut n_shared = 0;
        for (at, &byte) in text.iter().enumerate() {
            let before = places[at];
            let is_last = at + 1 == text.len() && rest.is_empty();
            let known = trie.get(&(before, byte)).copied().filter(|_| !is_last);
            let behind = match known {
                Some(behind) => {
                    n_shared = at + 1;
                    behind
                }
                None if is_last => to,
                None => {
                    let behind = self.state(rule);
                    trie.insert((before, byte), behind);
                    behind
                }
            };
            if known.is_none() {
                self.edge(rule, before, Label::Bytes(byte, byte), behind);
            }
            places.push(behind);
        }
        if is_marker {
            self.emit_spellings(rule, core::str::from_utf8(text).expect("a marker is text"), n_shared, |at| places[at]);
        }
        match rest {
            [] => Ok(()),
            _ => self.emit_parts(rule, places[text.len()], to, rest),
        }
    }

    /// Emits the control tokens whose names stand in a text and end behind its first `n_known` bytes. `place` is the state behind so many bytes.
    fn emit_spellings(&mut self, rule: usize, text: &str, n_known: usize, place: impl Fn(usize) -> u32) {
        let references = self.references;
        for (at, _) in text.char_indices() {
            references.for_each_spelling(&text[at..], &mut |n_bytes, token| {
                if at + n_bytes > n_known {
                    let spelling = Label::Control(ControlLetter::spelling(token));
                    self.edge(rule, place(at), spelling, place(at + n_bytes));
                }
            });
        }
    }

    pub(super) fn emit_bytes(&mut self, rule: usize, from: u32, to: u32, bytes: &[u8]) {
        let Some((&last, first)) = bytes.split_last() else { return self.empty(rule, from, to) };
        let mut at = from;
        for &byte in first {
            let next = self.state(rule);
            self.edge(rule, at, Label::Bytes(byte, byte), next);
            at = next;
        }
        self.edge(rule, at, Label::Bytes(last, last), to);
    }

    /// Emits a literal, and beside its bytes the control tokens whose names stand in it.
    pub(super) fn emit_marker(&mut self, rule: usize, from: u32, to: u32, text: &str) -> Result<(), BuildError> {
        BuildError::check_states(self.n_states as usize + text.len(), self.limits)?;
        let Some(n_inner) = text.len().checked_sub(1) else {
            self.empty(rule, from, to);
            return Ok(());
        };
        self.budget.spend(STEPS_PER_CLASS * text.len())?;
        // The state behind each byte; the states within are new, and so are numbered in turn.
        let first = self.nfa(rule).n_states;
        for _ in 0..n_inner {
            self.state(rule);
        }
        let place = |at: usize| match at {
            0 => from,
            at if at == text.len() => to,
            at => first + at as u32 - 1,
        };
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            self.edge(rule, place(at), Label::Bytes(byte, byte), place(at + 1));
        }
        self.emit_spellings(rule, text, 0, place);
        Ok(())
    }

    pub(super) fn emit_no_case(&mut self, rule: usize, from: u32, to: u32, text: &str) -> Result<(), BuildError> {
        let mut at = from;
        for c in text.chars() {
            self.budget.spend(STEPS_PER_CLASS)?;
            BuildError::check_states(self.n_states as usize, self.limits)?;
            let next = self.state(rule);
            self.emit_class(rule, at, next, &CharSet::from_iter([c]).case_fold_simple());
            at = next;
        }
        self.empty(rule, at, to);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NoControls, lowered};
    use super::super::{External, References, lower};
    use super::*;
    use crate::grammar::{ControlRef, ExcludedTokens, GrammarBuilder, SchemaOperand};
    use crate::limits::Limits;
    use crate::pass::compile_budget::CompileBudget;
    use crate::pass::determinize::determinize;
    use crate::pass::token_sets::TokenRanges;

    /// The names of control tokens, by id.
    const NAMES: [&str; 5] = ["<a", "a>", "b<a>", "<", "ab"];

    struct Names;

    impl References for Names {
        fn for_each_spelling(&self, text: &str, visit: &mut dyn FnMut(usize, u32)) {
            let begun = NAMES.iter().zip(0..).filter(|(name, _)| text.starts_with(**name));
            begun.for_each(|(name, id)| visit(name.len(), id));
        }

        fn excluded(&self, tokens: &ExcludedTokens) -> Result<Option<TokenRanges>, BuildError> {
            NoControls.excluded(tokens)
        }

        fn external(&self, schema: &SchemaOperand) -> External {
            NoControls.external(schema)
        }

        fn resolve(&self, name: &ControlRef) -> Result<SmallVec<[u32; 2]>, BuildError> {
            NoControls.resolve(name)
        }
    }

    #[test]
    fn alternatives_that_share_states_say_the_same() {
        let mut seed = 1u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let (mut n_states, mut n_states_apart) = (0, 0);
        for round in 0..2000 {
            let mut builder = GrammarBuilder::new();
            let (mut shared, mut apart) = (Vec::new(), Vec::new());
            let empty = builder.push(Expr::Empty);
            for _ in 0..ALTERNATIVES_MIN as u64 + next(5) {
                let mut parts = Vec::new();
                for _ in 0..1 + next(3) {
                    let text: String = (0..next(6)).map(|_| ['a', 'b', '<', '>'][next(4) as usize]).collect();
                    let literal = builder.push(match next(3) {
                        0 => Expr::Literal(text.as_bytes().into()),
                        _ => Expr::Marker(text.into()),
                    });
                    // What follows may be a loop, or nothing.
                    parts.push(match next(6) {
                        0 => builder.repeat(literal, 0, None),
                        1 => builder.repeat(literal, 0, Some(1)),
                        _ => literal,
                    });
                }
                // Nothing is shared where nothing stands first and last.
                let around: Vec<ExprId> = [empty].into_iter().chain(parts.iter().copied()).chain([empty]).collect();
                apart.push(builder.push(Expr::Sequence(around.into())));
                shared.push(match parts[..] {
                    [part] => part,
                    _ => builder.push(Expr::Sequence(parts.into())),
                });
            }
            let rules = [("shared", shared), ("apart", apart)].map(|(name, parts)| {
                let body = builder.push(Expr::Choice(parts.into()));
                let rule = builder.rule(name);
                builder.define(rule, body);
                rule
            });
            let refs = rules.map(|rule| builder.rule_ref(rule));
            let (root, body) = (builder.rule("root"), builder.choice(refs));
            builder.define(root, body);
            let grammar = builder.finish(root).unwrap();
            let network = lower(&grammar, &Names, &Limits::default(), &CompileBudget::none()).unwrap().network;
            let [shared, apart] = rules.map(|rule| {
                let nfa = &network.rules[rule.index()].automaton;
                (nfa.n_states, determinize(nfa, &CompileBudget::none()).unwrap())
            });
            assert_eq!(shared.1, apart.1, "round {round}");
            n_states += shared.0;
            n_states_apart += apart.0;
        }
        assert!(4 * n_states < 3 * n_states_apart, "{n_states} states, {n_states_apart} without sharing");
    }

    #[test]
    fn what_is_shared_counts_as_work() {
        let budget = CompileBudget::none();
        let lowered = |n_alternatives: usize, n_parts: usize, n_bytes: usize, limits: &Limits| {
            let mut builder = GrammarBuilder::new();
            let part = builder.push(Expr::Literal(vec![b'a'; n_bytes].into()));
            let alternative = builder.push(Expr::Sequence(vec![part; n_parts].into()));
            let body = builder.push(Expr::Choice(vec![alternative; n_alternatives].into()));
            let root = builder.rule("root");
            builder.define(root, body);
            lower(&builder.finish(root).unwrap(), &Names, limits, &budget).map(drop)
        };
        let limits = Limits { automaton_states_max: 1000, ..Limits::default() };
        let error = lowered(1, 1_000_000, 640, &limits).unwrap_err();
        assert!(error.limit_met().is_some_and(|(given, limit)| given == 1001 && limit == 1000), "{error}");
        assert!(budget.n_steps() < 20_000, "{} steps", budget.n_steps());
        let before = budget.n_steps();
        lowered(1000, 100, 1, &Limits::default()).unwrap();
        assert!(budget.n_steps() - before > 1000 * 98);
    }

    #[test]
    fn a_limit_is_met_at_the_literal_that_an_alternative_begins_with() {
        let alternatives: Vec<String> = ('a'..='k').map(|c| format!(r#""<{c} of many>" [0-9]"#)).collect();
        let text = format!("root ::= {}", alternatives.join(" | "));
        let limits = Limits { automaton_states_max: 60, ..Limits::default() };
        let span = lowered(&text, &limits).unwrap_err().span().unwrap();
        let found = &text[span.start as usize..span.end as usize];
        assert!(found.starts_with("\"<") && found.ends_with(">\""), "{found}");
    }

    #[test]
    fn sequences_share_the_literals_at_their_end() {
        let alternatives: Vec<String> = ('a'..='j').map(|c| format!(r#""<{c}" [0-9] "</" "end>""#)).collect();
        let network = lowered(&format!("root ::= {}", alternatives.join(" | ")), &Limits::default()).unwrap();
        // The start and the end, `<`, ten letters, what is before `</`, and before each of its letters and those of `end>` but the first.
        assert_eq!(network.rules[0].automaton.n_states, 2 + 1 + 10 + 1 + 1 + 1 + 3);
    }
}

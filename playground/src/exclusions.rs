//! Why an exclusion `a - b` bites: which one forbids the text, told by trying the grammar without it.
//!
//! An exclusion is compiled into one automaton, of which no item says that it was `b` that took the text away. But the grammar with `a` in place of `a - b` is a grammar as
//! well: where the text can go on in that one, the exclusion is the reason.

use crate::controls::{self, Piece};
use crate::output::quoted_short;
use crate::source::{Form, GrammarSource};
use maskwright::grammar::{Expr, ExprId, Grammar};
use maskwright::util::Span;
use maskwright::{AcceptedPiece, CompileOptions, CompiledGrammar, GrammarCompiler, Matcher};
use std::sync::Arc;

/// Most exclusions that are tried.
const TRIED_MAX: usize = 16;

const COULD_GO_ON: &str = "without it the text could go on";
const WOULD_BE_COMPLETE: &str = "without it the text would be complete";

/// The exclusions of a grammar, which are tried one by one. Each method returns a sentence for each without which the text could go on, or would be complete.
pub struct Exclusions<'a> {
    source: &'a GrammarSource,
    compiler: GrammarCompiler,
    options: CompileOptions,
}

impl<'a> Exclusions<'a> {
    /// Returns those of a grammar.
    pub fn of(source: &'a GrammarSource, grammar: &CompiledGrammar) -> Self {
        let compiler = GrammarCompiler::new(Arc::clone(grammar.vocab()));
        Exclusions { source, compiler, options: CompileOptions::default() }
    }

    /// As [`Self::of`], with a compiler and options that bound the work.
    pub fn within(source: &'a GrammarSource, compiler: GrammarCompiler, options: CompileOptions) -> Self {
        Exclusions { source, compiler, options }
    }

    /// Tells which forbid a text that is refused at a place, or ends too early.
    pub fn that_forbid_text(
        &self,
        grammar: &CompiledGrammar,
        text: &[u8],
        all: &[Piece],
        refused_at: Option<usize>,
    ) -> Vec<String> {
        self.tried(grammar.grammar(), |mut matcher| {
            let refused = controls::accept(&mut matcher, text, all).ok()?;
            match (refused_at, refused) {
                // The text was too short, and would be whole.
                (None, None) => matcher.is_accepting().then_some(WOULD_BE_COMPLETE),
                (Some(_), None) => Some(COULD_GO_ON),
                (Some(before), Some(after)) => (after > before).then_some(COULD_GO_ON),
                (None, Some(_)) => None,
            }
        })
    }

    /// Tells which forbid that bytes follow what a matcher has read, of which it reads `n_read`.
    pub fn that_forbid_bytes(&self, matcher: &Matcher, bytes: &[u8], n_read: usize) -> Vec<String> {
        let Ok(begun) = matcher.accepted() else { return Vec::new() };
        self.tried(matcher.grammar().grammar(), |mut relaxed| {
            read_again(&mut relaxed, &begun)?;
            let could_go_on = match relaxed.accept_bytes(bytes) {
                Ok(()) => true,
                Err(error) => error.byte_offset().is_some_and(|offset| offset > n_read),
            };
            could_go_on.then_some(COULD_GO_ON)
        })
    }

    /// Tells which forbid that the text ends behind what a matcher has read.
    pub fn that_forbid_end(&self, matcher: &Matcher) -> Vec<String> {
        let Ok(begun) = matcher.accepted() else { return Vec::new() };
        self.tried(matcher.grammar().grammar(), |mut relaxed| {
            read_again(&mut relaxed, &begun)?;
            relaxed.is_accepting().then_some(WOULD_BE_COMPLETE)
        })
    }

    /// Asks of the grammar without each exclusion what would be better.
    fn tried(&self, written: &Grammar, mut is_better: impl FnMut(Matcher) -> Option<&'static str>) -> Vec<String> {
        let Form::Ebnf { .. } = &self.source.form else { return Vec::new() };
        let is_exclusion = |expr: &Expr| matches!(expr, Expr::Minus(..));
        let ids = (0..written.exprs().len()).filter(|&index| is_exclusion(&written.exprs()[index])).take(TRIED_MAX);
        let mut lines: Vec<String> = Vec::new();
        for index in ids {
            let compile = |relaxed: Relaxed| {
                let grammar = relaxed.text.compile_with(&self.compiler, &self.options).ok()?;
                Some((relaxed, grammar))
            };
            let candidates = PARENTHESES.iter().filter_map(|&around| without(self.source, written, index, around));
            let Some((relaxed, grammar)) = candidates.into_iter().find_map(compile) else { continue };
            let Some(what) = is_better(grammar.matcher()) else { continue };
            let line =
                format!("exclusion: {} at line {}: {what}", quoted_short(relaxed.shown.as_bytes(), 60), relaxed.line);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// Accepts what another matcher has read; `None` if it is refused.
fn read_again(matcher: &mut Matcher, pieces: &[AcceptedPiece]) -> Option<()> {
    for piece in pieces {
        match piece {
            AcceptedPiece::Bytes(bytes) => matcher.accept_bytes(bytes).ok()?,
            AcceptedPiece::Token(id) => matcher.accept_token(*id).ok()?,
        }
    }
    Some(())
}

struct Relaxed {
    text: GrammarSource,
    /// The exclusion as written.
    shown: String,
    line: usize,
}

/// How many parentheses around the operands of an exclusion are tried as part of it, on the left and on the right: the span of `(a) - b` begins at `a`. Only the right number gives a grammar.
const PARENTHESES: [(usize, usize); 8] = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (0, 3), (3, 0)];

/// Returns a grammar's source with the left operand in place of an exclusion.
fn without(source: &GrammarSource, grammar: &Grammar, index: usize, around: (usize, usize)) -> Option<Relaxed> {
    let Expr::Minus(left, _) = &grammar.exprs()[index] else { return None };
    let whole = span_of(grammar, index)?;
    let left = grammar.span(*left)?;
    let (mut before, mut after) = (&source.text[..whole.start as usize], &source.text[whole.end as usize..]);
    for _ in 0..around.0 {
        before = before.trim_end().strip_suffix('(')?;
    }
    for _ in 0..around.1 {
        after = after.trim_start().strip_prefix(')')?;
    }
    let shown = &source.text[before.len()..source.text.len() - after.len()];
    // In `a) - (b` there are as many of both, and none belongs to another.
    if shown.find(')') < shown.find('(') && shown.contains(')') {
        return None;
    }
    let text = format!("{before}({}){after}", &source.text[left.start as usize..left.end as usize]);
    Some(Relaxed {
        text: GrammarSource { name: source.name.clone(), text, form: source.form.clone() },
        shown: shown.to_owned(),
        line: whole.line_column(&source.text).0,
    })
}

fn span_of(grammar: &Grammar, index: usize) -> Option<Span> {
    grammar.span(ExprId::new(index))
}

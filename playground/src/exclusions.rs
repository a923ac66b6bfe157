//! Why an exclusion `a - b` bites: which one forbids the text, told by trying the grammar without it.
//!
//! An exclusion is compiled into one automaton, of which no item says that it was `b` that took the text away. But the grammar with `a` in place of `a - b` is a grammar as
//! well: where the text can go on in that one, the exclusion is the reason.

use crate::controls::{self, Piece};
use crate::output::quoted_short;
use crate::source::{Form, GrammarSource};
use maskwright::grammar::{Expr, ExprId, Grammar};
use maskwright::util::Span;
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler};
use std::sync::Arc;

/// Most exclusions that are tried.
const TRIED_MAX: usize = 16;

/// Returns a sentence for each exclusion without which the text could go on, or would be complete.
pub fn that_forbid(
    source: &GrammarSource,
    grammar: &CompiledGrammar,
    text: &[u8],
    all: &[Piece],
    refused_at: Option<usize>,
) -> Vec<String> {
    let Form::Ebnf { .. } = &source.form else { return Vec::new() };
    let written = grammar.grammar();
    let is_exclusion = |expr: &Expr| matches!(expr, Expr::Minus(..));
    let ids = (0..written.exprs().len()).filter(|&index| is_exclusion(&written.exprs()[index])).take(TRIED_MAX);
    let mut lines: Vec<String> = Vec::new();
    let compiler = GrammarCompiler::new(Arc::clone(grammar.vocab()));
    for index in ids {
        let Some(relaxed) = without(source, written, index) else { continue };
        let Ok(relaxed_grammar) = relaxed.text.compile_with(&compiler, &CompileOptions::default()) else { continue };
        let mut matcher = relaxed_grammar.matcher();
        let Ok(refused) = controls::accept(&mut matcher, text, all) else { continue };
        let helps = match (refused_at, refused) {
            // The text was too short, and would be whole.
            (None, None) => matcher.is_accepting(),
            (Some(_), None) => true,
            (Some(before), Some(after)) => after > before,
            (None, Some(_)) => false,
        };
        let what = match refused_at {
            None => "without it the text would be complete",
            Some(_) => "without it the text could go on",
        };
        let line =
            format!("exclusion: {} at line {}: {what}", quoted_short(relaxed.shown.as_bytes(), 60), relaxed.line);
        if helps && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

struct Relaxed {
    text: GrammarSource,
    /// The exclusion as written.
    shown: String,
    line: usize,
}

/// Returns a grammar's source with the left operand in place of an exclusion.
fn without(source: &GrammarSource, grammar: &Grammar, index: usize) -> Option<Relaxed> {
    let Expr::Minus(left, _) = &grammar.exprs()[index] else { return None };
    // Ids are in the order of the expressions.
    let whole = span_of(grammar, index)?;
    let left = grammar.span(*left)?;
    let at = |span: Span| span.start as usize..span.end as usize;
    let (before, after) = (&source.text[..whole.start as usize], &source.text[whole.end as usize..]);
    let text = format!("{before}({}){after}", &source.text[at(left)]);
    Some(Relaxed {
        text: GrammarSource { name: source.name.clone(), text, form: source.form.clone() },
        shown: source.text[at(whole)].to_owned(),
        line: whole.line_column(&source.text).0,
    })
}

fn span_of(grammar: &Grammar, index: usize) -> Option<Span> {
    grammar.span(ExprId::new(index))
}

//! Arbitrary EBNF texts: an error with a span, or a grammar that prints, compiles and runs.

use super::engine::{Coverage, walk};
use super::fixture::{Fixture, limits};
use super::{GrammarShape, Rng, cases, random_grammar};
use crate::frontend::{SyntaxError, ebnf};
use crate::vocab::Vocab;
use crate::{CompileError, GrammarCompiler};
use std::sync::{Arc, LazyLock};

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| Arc::new(cases::default_vocab()));

/// Parses bytes as EBNF; if that succeeds, prints it and reads it again, compiles it, and walks it beside the oracle.
///
/// # Panics
/// If a property doesn't hold.
pub fn check(data: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let text = String::from_utf8_lossy(data);
    let limits = limits();
    let parsed = match ebnf::parse(&text, "root", &limits) {
        Ok(parsed) => parsed,
        Err(error) => {
            check_error(&error, &text);
            return coverage;
        }
    };
    let printed = parsed.grammar.to_ebnf().expect("what was EBNF can be said in EBNF");
    match ebnf::parse(&printed, "root", &limits) {
        Ok(again) => assert_eq!(again.grammar, parsed.grammar, "{text}\nprints as\n{printed}"),
        Err(error) => panic!("{text}\nprints as\n{printed}\n{error:#}"),
    }
    let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits).build();
    match compiler.compile_ebnf(&text) {
        Ok(compiled) => _ = compiled.dump(crate::Dump::Text),
        Err(CompileError::Syntax(error)) => panic!("{error} only when compiled\n{text}"),
        Err(CompileError::Schema(error)) => panic!("{error} without a schema\n{text}"),
        Err(CompileError::Operand(error)) => assert!(text.contains("%json") && !format!("{error:#}").is_empty()),
        Err(CompileError::Tag(error)) => panic!("{error} without a structural tag\n{text}"),
        Err(CompileError::Build(error)) => assert!(!error.to_string().is_empty() && !format!("{error:#}").is_empty()),
    }
    // Control tokens that the vocabulary lacks are errors of the engine alone, and the recognizer reads no schemas.
    if !has_unknown_controls(&parsed.grammar)
        && let Some(fixture) = Fixture::new(&compiler, &parsed.grammar)
    {
        walk(&mut Rng::from_bytes(data), &fixture, &mut coverage);
    }
    coverage
}

fn has_unknown_controls(grammar: &crate::grammar::Grammar) -> bool {
    use crate::grammar::{ControlRef, Expr};
    grammar.exprs().iter().any(|expr| match expr {
        Expr::Control(ControlRef::Name(name)) => VOCAB.ids_called(name).is_empty(),
        Expr::TokenExcept(excluded) => {
            excluded.names().iter().any(|name| VOCAB.ids_called(name).is_empty())
                || excluded.ids().last().is_some_and(|&(_, high)| high as usize >= VOCAB.n_tokens())
        }
        Expr::Control(ControlRef::Id(_)) | Expr::Schema(_) => true,
        _ => false,
    })
}

/// Checks that an error can be shown, and that its place is in the text.
pub(super) fn check_error(error: &SyntaxError, text: &str) {
    let (line, column) = error.line_column();
    let span = error.span();
    assert!(span.start <= span.end && span.end as usize <= text.len(), "{span:?} of {} bytes: {error}", text.len());
    assert!(line >= 1 && column >= 1 && !error.to_string().is_empty() && !format!("{error:#}").is_empty());
}

/// Returns a text that is nearly EBNF: a random grammar as text, with some random changes.
pub fn random_text(rng: &mut Rng) -> Vec<u8> {
    const FRAGMENTS: [&str; 38] = [
        "%json",
        "%json {\"type\": [\"integer\", \"null\"]}",
        "(compact, draft = \"7\")",
        "Marker(\"a<|x|>\")",
        "::=",
        "|",
        "*",
        "+",
        "?",
        "{",
        "}",
        "{2,3}",
        "{0,}",
        "{,3}",
        "(",
        ")",
        "[",
        "]",
        "[^",
        "-",
        "\"",
        "'",
        "\\",
        "\\x",
        "\\u",
        "\\u{1F600}",
        "#",
        "\n",
        "/",
        "i",
        "&",
        "~",
        ".",
        "<|x|>",
        "<[300]>",
        "root",
        "é",
        "\0",
    ];
    let mut shape = GrammarShape::random(rng);
    shape.with_raw_bytes = false;
    let grammar = random_grammar(rng, &shape);
    let mut text = grammar.to_ebnf().unwrap_or_else(|| super::dump_grammar(&grammar)).into_bytes();
    for _ in 0..*rng.pick(&[0, 0, 1, 2, 5]) {
        let at = rng.below(text.len() + 1);
        match rng.below(3) {
            0 => {
                let end = (at + rng.below(6)).min(text.len());
                text.drain(at..end);
            }
            1 => {
                let fragment = rng.pick(&FRAGMENTS);
                text.splice(at..at, fragment.bytes());
            }
            _ => {
                let from = rng.below(text.len() + 1);
                let fragment: Vec<u8> = text[from..(from + rng.below(12)).min(text.len())].to_vec();
                text.splice(at..at, fragment);
            }
        }
    }
    text
}

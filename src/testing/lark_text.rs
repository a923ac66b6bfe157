//! Arbitrary Lark texts: an error with a span, or a grammar that compiles and runs beside the oracle.

use super::ebnf_text::check_error;
use super::engine::{Coverage, walk};
use super::fixture::{Fixture, limits};
use super::{Rng, cases};
use crate::frontend::{Dialect, lark};
use crate::grammar::{ControlRef, Expr};
use crate::limits::Limits;
use crate::vocab::Vocab;
use crate::{CompileError, GrammarCompiler};
use std::sync::{Arc, LazyLock};

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| Arc::new(cases::default_vocab()));

/// Parses bytes as Lark; if that succeeds, compiles the grammar and walks it beside the oracle.
///
/// # Panics
/// If a property doesn't hold.
pub fn check(data: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let text = String::from_utf8_lossy(data);
    _ = Dialect::of(&text);
    let limits = Limits { n_rules_max: 200, ..limits() };
    let parsed = match lark::parse(&text, &limits) {
        Ok(parsed) => parsed,
        Err(error) => {
            check_error(&error, &text);
            return coverage;
        }
    };
    let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits).build();
    match compiler.compile_lark(&text) {
        Ok(compiled) => assert!(compiled.warnings().len() >= parsed.warnings.len(), "{text}"),
        Err(CompileError::Syntax(error)) => panic!("{error} only when compiled\n{text}"),
        Err(error) => assert!(!error.to_string().is_empty() && !format!("{error:#}").is_empty()),
    }
    // Control tokens that the vocabulary lacks are errors of the engine alone, and the recognizer reads no schemas.
    let is_unknown = |expr: &Expr| match expr {
        Expr::Control(ControlRef::Name(name)) => VOCAB.ids_called(name).is_empty(),
        Expr::TokenExcept(excluded) => {
            excluded.names().iter().any(|name| VOCAB.ids_called(name).is_empty())
                || excluded.ids().last().is_some_and(|&(_, high)| high as usize >= VOCAB.n_tokens())
        }
        Expr::Control(ControlRef::Id(_)) | Expr::Schema(_) => true,
        _ => false,
    };
    if !parsed.grammar.exprs().iter().any(is_unknown)
        && let Some(fixture) = Fixture::new(&compiler, &parsed.grammar)
    {
        walk(&mut Rng::from_bytes(data), &fixture, &mut coverage);
    }
    coverage
}

/// Returns a random text that is Lark or nearly so.
pub fn random_text(rng: &mut Rng) -> Vec<u8> {
    const HEADS: [&str; 10] =
        ["start", "a", "b", "c[lazy]", "d[suffix=\"b\"]", "e[max_chars=3]", "f[stop=\"ab\"]", "p::_", "A", "B"];
    // Those of lexemes, then those of all rules, then those of rules with a parameter.
    const ATOMS: [&str; 26] = [
        "\"a\"",
        "\"b\"",
        "\"ab\"",
        "\"A\"i",
        "\"a\"..\"c\"",
        "/[ab]+/",
        "/a?b/",
        "/./",
        "/(a|b){2}/",
        "/é|a/s",
        "%regex {\"substring_chars\": \"aba\"}",
        "A",
        "B",
        "a",
        "b",
        "c",
        "d",
        "e",
        "f",
        "p::0",
        "(\"a\" | \"b\")",
        "[\"b\"]",
        "<|x|>",
        "INT",
        "p::_",
        "p::incr([0:2])",
    ];
    const SUFFIXES: [&str; 8] = ["*", "+", "?", "~2", "~1..3", "{2,}", "{,2}", "{2}"];
    const ENDS: [&str; 3] = ["-> x ", "%if lt(_, 2) ", "%if bit_set(0) "];
    const OTHERS: [&str; 6] = [
        "%import common.INT\n",
        "%ignore \" \"\n",
        "%ignore /b/\n",
        "%llguidance {\"allow_initial_skip\": true}\n",
        "// c\n",
        "\n",
    ];
    let mut text = String::new();
    // Most texts define every name that they use, each in a way that ends.
    for head in HEADS {
        if rng.chance(1) {
            continue;
        }
        let (n_atoms, n_ends) = match head {
            "p::_" => (ATOMS.len(), ENDS.len()),
            _ if head.contains(['A', 'B', 'z', '"']) => (11, 1),
            _ => (ATOMS.len() - 2, 1),
        };
        let is_wild = rng.chance(2);
        text += head;
        text += ": ";
        for alternative in 0..rng.between(1, 3) {
            if alternative > 0 {
                text += if rng.chance(20) { "\n  | " } else { "| " };
            }
            for _ in 0..rng.between(0, 3) {
                text += ATOMS[rng.below(if is_wild { ATOMS.len() } else { n_atoms })];
                if rng.chance(25) {
                    text += SUFFIXES[rng.below(SUFFIXES.len())];
                }
                text.push(' ');
            }
            if rng.chance(20) {
                text += ENDS[rng.below(if is_wild { ENDS.len() } else { n_ends })];
            }
        }
        text.push('\n');
        if rng.chance(15) {
            text += OTHERS[rng.below(OTHERS.len())];
        }
    }
    if rng.chance(80) {
        text += "%import common.INT\n";
    }
    if rng.chance(10) {
        let at = rng.below(text.len() + 1);
        if text.is_char_boundary(at) {
            text.truncate(at);
        }
    }
    text.into_bytes()
}

//! Arbitrary patterns: an error with a span, or a language on which automaton and engine agree.

use super::ebnf_text::check_error;
use super::engine::{Coverage, random_allowed};
use super::fixture::limits;
use super::{Rng, cases, show_bytes};
use crate::frontend::regex;
use crate::regular::Dfa;
use crate::vocab::{TokenId, Vocab};
use crate::{CompileError, GrammarCompiler};
use std::sync::{Arc, LazyLock};

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| Arc::new(cases::default_vocab()));

/// Parses bytes as a pattern; if that succeeds, compiles it and compares each token of random walks with the pattern's automaton.
///
/// # Panics
/// If automaton and engine differ.
pub fn check(data: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let pattern = String::from_utf8_lossy(data);
    let limits = limits();
    let regular = match regex::parse(&pattern, "", &limits) {
        Ok(regular) => regular,
        Err(error) => {
            check_error(&error, &pattern);
            return coverage;
        }
    };
    let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits.clone()).build();
    let compiled = compiler.compile_regex(&pattern);
    let Ok(dfa) = Dfa::new(&regular, &limits) else { return coverage };
    let (compiled, start) = match (compiled, dfa.start()) {
        (Ok(compiled), Some(start)) => (compiled, start),
        (Err(CompileError::Build(_)), None) => return coverage,
        (Err(CompileError::Build(error)), _) if error.limit_met().is_some() => return coverage,
        (outcome, start) => panic!("{pattern}: {:?}, and the automaton starts in {start:?}", outcome.err()),
    };
    coverage.n_grammars = 1;
    let mut rng = Rng::from_bytes(data);
    let run = |from: u32, bytes: &[u8]| bytes.iter().try_fold(from, |state, &byte| dfa.next(state, byte));
    for _ in 0..2 {
        let (mut matcher, mut state, mut text) = (compiled.matcher(), start, Vec::new());
        for _ in 0..20 {
            let mask = matcher.mask().unwrap_or_else(|error| panic!("{pattern} after {}: {error}", show_bytes(&text)));
            assert_eq!(matcher.is_accepting(), dfa.is_accepting(state), "{pattern} after {}", show_bytes(&text));
            for id in (0..VOCAB.n_tokens() as TokenId).filter(|id| VOCAB.is_text(*id)) {
                let is_viable = run(state, VOCAB.bytes(id)).is_some();
                assert_eq!(mask.contains(id), is_viable, "{pattern} after {}: token {id}", show_bytes(&text));
            }
            coverage.n_bits += VOCAB.n_tokens() as u64;
            coverage.n_masks += 1;
            let Some(id) = random_allowed(&mut rng, mask.as_words()).filter(|&id| VOCAB.is_text(id)) else { break };
            matcher.accept_token(id).expect("an allowed token is accepted");
            text.extend_from_slice(VOCAB.bytes(id));
            state = run(state, VOCAB.bytes(id)).expect("an allowed token is viable");
        }
    }
    coverage
}

/// Returns a random text that is a pattern or nearly one.
pub fn random_text(rng: &mut Rng) -> Vec<u8> {
    const FRAGMENTS: [&str; 44] = [
        "a",
        "b",
        "ab",
        "é",
        "一",
        "😀",
        ".",
        "\\d",
        "\\w",
        "\\S",
        "\\pL",
        "\\p{Greek}",
        "[ab]",
        "[^a]",
        "[a-z0-9_]",
        "[[:alpha:]&&[^a]]",
        "*",
        "+",
        "?",
        "{2}",
        "{2,3}",
        "{3,40}",
        "{5,}",
        "{0,1000}",
        "*?",
        "|",
        "(",
        ")",
        "(?:",
        "(?i)",
        "(?i:",
        "(?s)",
        "(?x) ",
        "^",
        "$",
        "\\A",
        "\\z",
        "\\n",
        "\\x41",
        "\\u{e9}",
        "\\b",
        "(?P<n>",
        "\"",
        "\\",
    ];
    let mut text = Vec::new();
    let mut n_open = 0;
    for _ in 0..rng.between(1, 12) {
        let fragment = rng.pick(&FRAGMENTS);
        // Mostly balanced.
        if *fragment == ")" && n_open == 0 && rng.chance(95) {
            continue;
        }
        n_open += usize::from(fragment.starts_with('(') && !fragment.ends_with(')'));
        n_open -= usize::from(*fragment == ")" && n_open > 0);
        text.extend_from_slice(fragment.as_bytes());
    }
    if rng.chance(90) {
        text.extend(vec![b')'; n_open]);
    }
    text
}

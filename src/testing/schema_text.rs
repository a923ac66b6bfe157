//! Arbitrary texts as JSON Schemas: an error with a place, or masks that lead to JSON.

use super::engine::{Coverage, random_allowed};
use super::fixture::limits;
use super::{Rng, cases, schemas};
use crate::json_schema::{Json, SchemaOptions};
use crate::limits::Limits;
use crate::vocab::Vocab;
use crate::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler};
use std::sync::{Arc, LazyLock};

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| Arc::new(cases::default_vocab()));

/// Compiles bytes as a JSON Schema, strictly and leniently; what compiles is walked: masks and single tokens agree, complete
/// texts are JSON without a repeated key, and no text is a dead end unless items have to differ.
///
/// # Panics
/// If a property doesn't hold.
pub fn check(data: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let text = String::from_utf8_lossy(data);
    let limits = Limits { schema_steps_max: 1 << 18, json_values_max: 1 << 12, ..limits() };
    let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits).build();
    let compile = |is_lenient| {
        let options = SchemaOptions { is_lenient, ..SchemaOptions::default() };
        compiler.compile_json_schema_with(&text, &options, &CompileOptions::default())
    };
    let (strict, lenient) = (compile(false), compile(true));
    for error in [&strict, &lenient].into_iter().filter_map(|outcome| outcome.as_ref().err()) {
        let facts = error.facts(&text);
        assert!(!error.to_string().is_empty() && !format!("{error:#}").is_empty());
        let has_place = facts.pointer.is_some() || facts.span.is_some() || facts.limit.is_some();
        assert!(!matches!(error, CompileError::Schema(_)) || has_place, "{error}\n{text}");
    }
    if let (Ok(strict), Ok(lenient)) = (&strict, &lenient) {
        // Leniency drops what can't be enforced, and nothing could not.
        let is_exact = |grammar: &CompiledGrammar| grammar.schema_report().is_some_and(|report| report.is_exact());
        assert_eq!(is_exact(strict), is_exact(lenient), "{text}");
    }
    let Some(compiled) = strict.or(lenient).ok() else { return coverage };
    coverage.n_grammars += 1;
    let mut rng = Rng::from_bytes(data);
    for _ in 0..2 {
        walk(&mut rng, &compiled, &text, &mut coverage);
    }
    coverage
}

fn walk(rng: &mut Rng, compiled: &CompiledGrammar, schema: &str, coverage: &mut Coverage) {
    const STEPS_MAX: usize = 60;
    // Whether an unused item is left is decided by a search that may give up, and how many there are is counted to a bound.
    let may_end_dead = schema.contains("uniqueItems") || schema.contains("\\u");
    let (mut matcher, mut written) = (compiled.matcher(), Vec::new());
    for _ in 0..STEPS_MAX {
        let mask = match matcher.mask() {
            Ok(mask) => mask,
            Err(error) if error.is_over_budget() => return,
            Err(error) => {
                assert!(error.is_stuck() && may_end_dead, "{error}\n{schema}\n{}", String::from_utf8_lossy(&written));
                return;
            }
        };
        coverage.n_masks += 1;
        if matcher.is_accepting() {
            let document = std::str::from_utf8(&written).unwrap_or_else(|error| panic!("{schema}\n{error}"));
            let json = Json::parse(document, &Limits::default());
            let json = json.unwrap_or_else(|error| panic!("{schema}\n{document}\n{error}"));
            assert!(json.duplicates().is_empty(), "{schema}\na key is repeated in {document}");
        }
        let probe = rng.below(VOCAB.n_tokens()) as u32;
        assert_eq!(matcher.is_token_allowed(probe), mask.contains(probe), "{schema}\ntoken {probe}");
        let Some(token) = random_allowed(rng, mask.as_words()) else { return };
        matcher.accept_token(token).unwrap_or_else(|error| panic!("{error}\n{schema}"));
        if matcher.is_terminated() {
            return;
        }
        written.extend_from_slice(VOCAB.bytes(token));
    }
}

/// Returns a random text that is a schema or nearly so.
pub fn random_text(rng: &mut Rng) -> Vec<u8> {
    let mut text = schemas::random_schema(rng).into_bytes();
    if rng.chance(20) {
        let at = rng.below(text.len());
        match rng.below(3) {
            0 => text.truncate(at),
            1 => text[at] = *rng.pick(b"\"{}[]:,0-\\ "),
            _ => drop(text.remove(at)),
        }
    }
    text
}

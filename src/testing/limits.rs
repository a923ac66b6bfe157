//! Sources of every kind under random limits: the outcome is that of ample limits, or an error that names a limit.

use super::engine::Coverage;
use super::{Rng, cases, ebnf_text, fixture, lark_text, regex_text, schemas, tag_text};
use crate::compiler::ErrorCode;
use crate::limits::Limits;
use crate::vocab::Vocab;
use crate::{CompileError, CompiledGrammar, GrammarCompiler, Matcher};
use std::sync::{Arc, LazyLock};

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| Arc::new(cases::default_vocab()));

/// Compiles a random source under random limits and under ample ones, and steps both matchers.
///
/// # Panics
/// If a property doesn't hold.
pub fn check(data: &[u8]) -> Coverage {
    let mut rng = Rng::from_bytes(data);
    let kind = rng.below(5);
    let source = match kind {
        0 => ebnf_text::random_text(&mut rng),
        1 => lark_text::random_text(&mut rng),
        2 => regex_text::random_text(&mut rng),
        3 => tag_text::random_text(&mut rng),
        _ => schemas::random_schema(&mut rng).into_bytes(),
    };
    let source = String::from_utf8_lossy(&source);
    let ample = fixture::limits();
    let tight = random_limits(&mut rng, &ample);
    let compile = |limits: &Limits| {
        let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits.clone()).build();
        compile(&compiler, kind, &source)
    };
    let mut coverage = Coverage::default();
    match (compile(&tight), compile(&ample)) {
        (Ok(tight), Ok(ample)) => {
            coverage.n_grammars += 1;
            step(&mut rng, tight.matcher(), ample.matcher(), &mut coverage);
        }
        (Err(error), ample) => {
            let facts = error.facts(&source);
            if facts.code == ErrorCode::Limit {
                let (given, limit) = facts.limit.unwrap_or_else(|| panic!("{error} has no numbers"));
                assert!(given > limit, "{error}: {given} of {limit}\n{source}");
            } else {
                // Limits under which a keyword can't be enforced refuse the schema for the keyword.
                let may_differ = facts.code == ErrorCode::Unsupported && (kind >= 3 || source.contains("%json"));
                assert!(ample.is_err() || may_differ, "{error} under {tight:?} alone\n{source}");
            }
        }
        (Ok(_), Err(error)) => {
            let code = error.facts(&source).code;
            assert_eq!(code, ErrorCode::Limit, "{error} under ample limits alone\n{source}");
        }
    }
    coverage
}

fn compile(compiler: &GrammarCompiler, kind: usize, source: &str) -> Result<CompiledGrammar, CompileError> {
    match kind {
        0 => compiler.compile_ebnf(source),
        1 => compiler.compile_lark(source),
        2 => compiler.compile_regex(source),
        3 => compiler.compile_structural_tag(source),
        _ => compiler.compile_json_schema(source),
    }
}

/// Returns limits of which each is as in `ample` or smaller by a random factor.
fn random_limits(rng: &mut Rng, ample: &Limits) -> Limits {
    let mut limits = ample.clone();
    let mut cut = |limit: &mut usize| {
        if rng.chance(25) {
            *limit >>= rng.below(24);
        }
    };
    cut(&mut limits.source_bytes_max);
    cut(&mut limits.pattern_bytes_max);
    cut(&mut limits.nesting_max);
    cut(&mut limits.n_rules_max);
    cut(&mut limits.n_exprs_max);
    cut(&mut limits.dfa_states_max);
    cut(&mut limits.automaton_states_max);
    cut(&mut limits.automaton_moves_max);
    cut(&mut limits.json_nesting_max);
    cut(&mut limits.json_values_max);
    cut(&mut limits.number_digits_max);
    cut(&mut limits.n_schemas_max);
    cut(&mut limits.schema_alternatives_max);
    cut(&mut limits.schema_facts_max);
    cut(&mut limits.schema_variants_max);
    cut(&mut limits.key_classes_max);
    cut(&mut limits.matcher_bytes_max);
    if rng.chance(50) {
        limits.step_work_max >>= rng.below(22);
    }
    limits
}

/// Steps a matcher under tight limits beside one under ample limits: masks are equal, or the tight one says that it is over its budget and is as before.
fn step(rng: &mut Rng, mut tight: Matcher, mut ample: Matcher, coverage: &mut Coverage) {
    for _ in 0..8 {
        let Ok(mask) = ample.mask() else { return };
        match tight.mask() {
            Ok(found) => assert_eq!(found, mask),
            Err(error) => assert!(error.is_over_budget(), "{error}"),
        }
        coverage.n_masks += 1;
        let tokens: Vec<u32> = mask.iter().collect();
        if tokens.is_empty() {
            return;
        }
        let token = *rng.pick(&tokens);
        let n_steps = tight.n_steps();
        if ample.accept_token(token).is_err() {
            return;
        }
        if let Err(error) = tight.accept_token(token) {
            assert!(error.is_over_budget(), "{error}");
            assert_eq!(tight.n_steps(), n_steps);
            return;
        }
    }
}

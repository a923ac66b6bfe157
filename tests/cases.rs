//! The cases of `tests/data` on the oracle, and on the engine in every configuration.

use maskwright::frontend::ebnf;
use maskwright::grammar::Grammar;
use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::testing::cases::{self, Case, Subject};
use maskwright::testing::{Rng, fixture::tight_config};
use maskwright::{Config, GrammarCompiler, Limits, Vocab};
use std::path::Path;
use std::sync::Arc;

fn load() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    cases::load(&directory).unwrap_or_else(|message| panic!("{message}"))
}

fn read(case: &Case) -> Result<(Grammar, Recognizer), String> {
    let limits = Limits::default();
    let parsed = ebnf::parse(&case.grammar, &case.root, &limits).map_err(|error| error.to_string())?;
    let recognizer = Recognizer::new(&parsed.grammar, &limits).map_err(|error| error.to_string())?;
    Ok((parsed.grammar, recognizer))
}

/// Runs a case on the subject made from its grammar, or checks that the grammar is refused.
fn run<S: Subject>(case: &Case, subject: Result<S, String>) -> Result<usize, String> {
    match (subject, &case.error) {
        (Ok(mut subject), None) => cases::run(case, &mut subject),
        (Err(message), Some(wanted)) if message.contains(wanted) => Ok(1),
        (Err(message), _) => Err(format!("{}: {message}", case.name)),
        (Ok(_), Some(_)) => Err(format!("{}: the grammar is not refused", case.name)),
    }
}

fn run_on(case: &Case, compiler: &GrammarCompiler) -> Result<usize, String> {
    let compiled = compiler.compile_ebnf_with_root(&case.grammar, &case.root);
    run(case, compiled.map(|grammar| grammar.matcher()).map_err(|error| error.to_string()))
}

/// Fails with all messages; returns the number of checks.
fn sum(outcomes: impl IntoIterator<Item = Result<usize, String>>) -> usize {
    let (mut n_checks, mut failures) = (0, Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(n) => n_checks += n,
            Err(message) => failures.push(message),
        }
    }
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
    n_checks
}

#[test]
fn oracle_passes_every_case() {
    let cases = load();
    assert!(cases.len() >= 119, "{} cases", cases.len());
    let by_oracle = cases.iter().map(|case| {
        let oracle = read(case).map(|(_, recognizer)| OracleMatcher::new(&recognizer, Arc::clone(&case.vocab)));
        run(case, oracle)
    });
    println!("{} cases, {} checks", cases.len(), sum(by_oracle));
}

#[test]
fn engine_passes_every_case() {
    let n_checks = sum(load().iter().map(|case| run_on(case, &GrammarCompiler::new(Arc::clone(&case.vocab)))));
    println!("{n_checks} checks");
}

#[test]
fn engine_passes_every_case_with_tight_caches() {
    for bytes in [0, 2 << 10, 16 << 10] {
        sum(load().iter().map(|case| {
            let vocab = Arc::clone(&case.vocab);
            run_on(case, &GrammarCompiler::builder(vocab).config(tight_config(bytes)).build())
        }));
    }
}

/// One compiler for the cases of each vocabulary.
fn shared_compilers(cases: &[Case], config: &Config) -> Vec<(Arc<Vocab>, GrammarCompiler)> {
    let mut compilers: Vec<(Arc<Vocab>, GrammarCompiler)> = Vec::new();
    for case in cases {
        if !compilers.iter().any(|(vocab, _)| is_same(vocab, &case.vocab)) {
            let compiler = GrammarCompiler::builder(Arc::clone(&case.vocab)).config(config.clone()).build();
            compilers.push((Arc::clone(&case.vocab), compiler));
        }
    }
    compilers
}

fn is_same(a: &Vocab, b: &Vocab) -> bool {
    let n_tokens = a.n_tokens();
    n_tokens == b.n_tokens()
        && a.stop_tokens() == b.stop_tokens()
        && (0..n_tokens as u32).all(|id| (a.bytes(id), a.kind(id), a.name(id)) == (b.bytes(id), b.kind(id), b.name(id)))
}

fn run_shared(case: &Case, compilers: &[(Arc<Vocab>, GrammarCompiler)]) -> Result<usize, String> {
    let (_, compiler) = compilers.iter().find(|(vocab, _)| is_same(vocab, &case.vocab)).expect("each has its compiler");
    run_on(case, compiler)
}

#[test]
fn engine_passes_every_case_in_any_order_on_shared_compilers() {
    let mut cases = load();
    for (round, config) in
        [Config::default(), Config::default(), tight_config(64 << 10), tight_config(4 << 10)].into_iter().enumerate()
    {
        let mut rng = Rng::new(round as u64);
        for i in (1..cases.len()).rev() {
            cases.swap(i, rng.below(i + 1));
        }
        let compilers = shared_compilers(&cases, &config);
        sum(cases.iter().map(|case| run_shared(case, &compilers)));
        // Again, with warm caches.
        sum(cases.iter().rev().map(|case| run_shared(case, &compilers)));
    }
}

#[test]
fn engine_passes_every_case_on_many_threads() {
    let cases = load();
    for config in [Config::default(), tight_config(16 << 10)] {
        let compilers = shared_compilers(&cases, &config);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (cases, compilers) = (&cases, &compilers);
                scope.spawn(move || {
                    let from = thread * cases.len() / 4;
                    let rotated = cases[from..].iter().chain(&cases[..from]);
                    sum(rotated.map(|case| run_shared(case, compilers)));
                });
            }
        });
    }
}

//! Random schemas against the slow validator: sampled documents are valid, valid ones are accepted, and there are no dead ends. A quarter of them have
//! their keys in any order, and some have texts that no string may have in it.

use super::Rng;
use super::completion_search::{Completion, CompletionSearch};
use super::engine::Coverage;
use super::sampling::{Sample, Sampler, SamplingMode};
use super::schemas::{random_schema, random_value};
use super::spelling::{Numbers, Speller};
use super::validator::is_valid;
use crate::json_schema::{Json, SchemaOptions};
use crate::vocab::Vocab;
use crate::{CompileError, CompileOptions, GrammarCompiler, Limits};
use std::sync::{Arc, LazyLock};

const TOKENS: [&str; 24] = [
    "{\"", "\":", "\",\"", "\"}", "[]", "{}", "},", "]}", "\"]", "[[", ", ", "\": ", "ab", "\"a\"", "\"a\":", "true",
    "false", "null", "10", "1,", "0.5", "é", "x-", "\\u00",
];

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend(TOKENS);
    let end = builder.push("</s>");
    builder.stop_tokens([end]);
    Arc::new(builder.build().expect("tokens are a vocabulary"))
});

static SAMPLER: LazyLock<Sampler> = LazyLock::new(|| {
    let mut sampler = Sampler::new(&VOCAB);
    sampler.n_bytes_soft = 60;
    sampler
});

/// Tokens of a document before a completion is searched for.
const N_TOKENS_MAX: usize = 100;
/// Steps of a search for a completion, and for another order of keys.
const N_STEPS_MAX: usize = 20_000;

/// Makes a schema from bytes; if it compiles, samples documents and compares verdicts on values. The coverage counts documents and values
/// as masks.
///
/// # Panics
/// If the validator disagrees, or a prefix is a dead end.
pub fn check(data: &[u8]) -> Coverage {
    let mut rng = Rng::from_bytes(data);
    let schema = random_schema(&mut rng);
    check_schema(&mut rng, &schema)
}

/// Checks one schema.
///
/// # Panics
/// As [`check`].
pub fn check_schema(rng: &mut Rng, schema: &str) -> Coverage {
    let _shown = ShownOnPanic(schema);
    let mut options = SchemaOptions { has_any_order: rng.chance(25), ..SchemaOptions::default() };
    if rng.chance(20) {
        options.excluded_texts.push((*rng.pick(&["a", "b", "ab", "n", "\\", "\\n", "x-"])).into());
    }
    let mut coverage = Coverage::default();
    let parsed = json(schema);
    let limits = Limits {
        automaton_states_max: 1 << 16,
        automaton_moves_max: 1 << 18,
        schema_alternatives_max: 1 << 8,
        ..Limits::default()
    };
    let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits).build();
    let compiled = match compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()) {
        Ok(compiled) => Some(compiled),
        Err(CompileError::Schema(error)) if error.is_unsatisfiable() => None,
        Err(CompileError::Schema(error)) if error.is_unsupported() || error.limit().is_some() => return coverage,
        Err(CompileError::Build(error)) if error.limit_met().is_some() => return coverage,
        Err(error) => panic!("{schema}\n{error}"),
    };
    coverage.n_grammars = 1;
    let speller = Speller::new(schema, Numbers::AsWritten, N_STEPS_MAX);
    for _ in 0..30 {
        let text = random_value(rng, 2);
        let value = json(&text);
        let Ok(is_valid) = is_valid(&parsed, &value) else { return coverage };
        let is_valid = is_valid && has_no_excluded(&text, &options);
        coverage.n_masks += 1;
        let Some(compiled) = &compiled else {
            assert!(!is_valid, "{schema}\nis said to be unsatisfiable, and {text} is valid");
            continue;
        };
        let mut matcher = compiled.matcher();
        let is_accepted = matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting();
        // In any order: in this one, too.
        let is_other_order_accepted =
            || !options.has_any_order && speller.respell(&compiled.matcher(), &value).is_some();
        match is_valid {
            true => assert!(is_accepted || is_other_order_accepted(), "{schema}\nrefuses {text}"),
            false => assert!(!is_accepted, "{schema}\naccepts {text}"),
        }
    }
    let Some(compiled) = compiled else { return coverage };
    // A domain with fewer containers than `minItems` requires is not detected when the schema is compiled (see README).
    if schema.contains("\"uniqueItems\":true") && compiled.matcher().mask().is_err_and(|error| error.is_stuck()) {
        return coverage;
    }
    let completions = CompletionSearch::new(&compiled);
    let assert_valid = |text: &[u8]| {
        let text = std::str::from_utf8(text).unwrap_or_else(|error| panic!("{schema}\n{error}"));
        let value = Json::parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{schema}\n{text}\n{error}"));
        assert!(value.duplicates().is_empty(), "{schema}\na key is repeated in {text}");
        assert!(is_valid(&parsed, &value) != Ok(false), "{schema}\nthe invalid {text} was sampled");
        assert!(has_no_excluded(text, &options), "{schema}\nin {text} is one of {:?}", options.excluded_texts);
    };
    for mode in [SamplingMode::Common, SamplingMode::Rare, SamplingMode::Common, SamplingMode::Rare] {
        let mut sample = Sample::new(compiled.matcher());
        let n_tokens_free = rng.below(N_TOKENS_MAX);
        let mut is_whole = false;
        for _ in 0..n_tokens_free {
            if !SAMPLER.step(rng, mode, &mut sample) {
                is_whole = true;
                break;
            }
        }
        if !is_whole {
            match completions.search(&sample.matcher, N_STEPS_MAX) {
                Completion::Found(bytes) => {
                    sample.matcher.accept_bytes(&bytes).expect("the search took steps that are allowed");
                    sample.text.extend(bytes);
                    coverage.n_completions += 1;
                }
                Completion::DeadEnd => panic!("{schema}\na dead end after {}", String::from_utf8_lossy(&sample.text)),
                Completion::OutOfSteps => continue,
            }
        }
        assert!(sample.matcher.is_accepting());
        assert_valid(&sample.text);
        coverage.n_masks += 1;
    }
    coverage
}

/// Tells whether no string of a document has an excluded text in it, as it is written.
fn has_no_excluded(text: &str, options: &SchemaOptions) -> bool {
    let mut rest = text;
    while let Some(open) = rest.find('"') {
        rest = &rest[open + 1..];
        let mut end = 0;
        while rest.as_bytes()[end] != b'"' {
            end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
        }
        if options.excluded_texts.iter().any(|excluded| rest[..end].contains(&**excluded)) {
            return false;
        }
        rest = &rest[end + 1..];
    }
    true
}

/// Prints a schema if the test panics.
struct ShownOnPanic<'a>(&'a str);

impl Drop for ShownOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0);
        }
    }
}

fn json(text: &str) -> Json {
    Json::parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

//! Documents sampled from the masks of real schemas, checked by independent validators.
//!
//! For each schema of a seeded order: documents of two samplers, and shortest completions of some of their prefixes, by search; a
//! prefix without a completion is a dead end. Every document must be JSON without duplicate keys that the `jsonschema` crate accepts,
//! and for a share of the schemas `boon` as well. Twenty seconds, under `CI=true` about three minutes;
//! `MASKWRIGHT_SECONDS=n` for other times. The seed is printed; under `CI=true` it is always the same. `MASKWRIGHT_SEED=n`
//! repeats a run, with `MASKWRIGHT_SCHEMAS=text` for the schemas whose id contains the text.

use maskwright::json_schema::{Json, SchemaOptions};
use maskwright::testing::completion_search::{Completion, CompletionSearch};
use maskwright::testing::corpus::{SchemaCase, data};
use maskwright::testing::sampling::{Sample, Sampler, SamplingMode};
use maskwright::testing::{Rng, rounds};
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, Limits, Vocab};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Schemas on which a validator is wrong: the beginning of the id, the validator, and why.
const VALIDATOR_BUGS: &[(&str, &str, &str)] = &[];

/// Returns whether some string of a JSON text may be a pattern with a bracket in a class: `[[a-z]`.
fn has_nested_class(text: &str) -> bool {
    let is_nested =
        |string: &str| string.split('[').skip(1).collect::<Vec<_>>().windows(2).any(|pieces| !pieces[0].contains(']'));
    // Strings are every other piece between quotes.
    text.split('"').skip(1).step_by(2).any(is_nested)
}

/// White space of ECMA-262 that `boon` leaves out of `\s` and counts among `\S`.
const BOON_SPACE_MISSES: &[char] = &[
    '\u{1680}', '\u{2000}', '\u{2001}', '\u{2002}', '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}', '\u{2008}',
    '\u{2009}', '\u{200a}', '\u{2028}', '\u{202f}', '\u{205f}', '\u{3000}',
];

/// Line ends of ECMA-262, which no `.` stands for; both validators leave these out.
const DOT_MISSES: &[char] = &['\r', '\u{2028}', '\u{2029}'];

/// Formats that the validators know and that are annotations here.
const OTHER_FORMATS: &[&str] = &["idn-email", "idn-hostname", "iri", "iri-reference"];

const N_TEXTS: usize = 4;
/// Tokens of a document before a completion is searched for.
const N_TOKENS_MAX: usize = 1_000;
/// Steps of a search for a completion.
const N_STEPS_MAX: usize = 100_000;
const N_THREADS: usize = 2;
const CI_SEED: u64 = 20_240_229;

/// Tokens beside single bytes: frequent in JSON, and spanning several lexemes.
const TOKENS: &[&str] = &[
    "{\"", "\":", "\": ", "\",", "\", \"", "\",\"", "\"}", "\"]", "},", "}}", "]}", "[]", "{}", "[[", "[\"", "[{",
    "]]", "}]", ", ", ",\"", ": ", ":\"", ": \"", ": {", ": [", "\n", "\n  ", "  ", "    ", "true", "false", "null",
    " true", " null", "00", "10", "12", "19", "20", "2024", "-01", "0.5", ".0", "e1", "E+", "-1", "\\n", "\\\"",
    "\\\\", "\\u00", "\\u", "http", "https", "://", ".com", "www.", "@", "type", "name", "id", "value", "items", "key",
    "data", "the", "an", "in", "er", "on", "re", "st", "es", "a_b", "a-b", "x1", "é", "ü", "世界", "世", "🙂", "ab",
    "AB", "Ab", "zz", "T00:", ":00", ":00Z", "Z\"", "+0", "/a", "../", "#/", "a\"", "1}", "1,", "0]", "e\":",
    "s\": \"",
];

fn vocab() -> Vocab {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]).collect::<Vec<_>>());
    builder.extend(TOKENS);
    let end = builder.push("</s>");
    builder.stop_tokens([end]);
    builder.build().unwrap()
}

/// The two validators, if they support the schema.
struct Validators {
    jsonschema: Option<jsonschema::Validator>,
    boon: Option<(boon::Schemas, boon::SchemaIndex)>,
    /// Whether some pattern asks for white space.
    has_space_class: bool,
    /// Whether some pattern may have `--`, `&&`, `~~` or `[` in a class, which ECMA-262 reads as characters and `boon` as operators.
    has_class_operator: bool,
    has_divisor: bool,
    /// Whether some string is to be an address of mail.
    has_mail: bool,
    /// Whether some pattern has a `.` that could be any character.
    has_dot: bool,
    /// Whether some pattern may have `\<` or `\>`, which ECMA-262 reads as `<` and `>` and both validators as edges of words.
    has_edge: bool,
    /// Whether some string is to be a pattern: `boon` reads it as one of Rust's.
    has_regex: bool,
}

impl Validators {
    fn new(text: &str, has_boon: bool) -> Validators {
        let has_space_class = text.contains(r"\s") || text.contains(r"\S");
        let has_operator = ["--", "&&", "~~"].iter().any(|word| text.contains(word)) || has_nested_class(text);
        let has_class_operator = text.contains("attern") && has_operator;
        let has_divisor = text.contains("multipleOf");
        let has_mail = text.contains("\"email\"");
        let has_edge = text.contains(r"\\<") || text.contains(r"\\>");
        let has_regex = text.contains("\"regex\"");
        let has_dot = text.contains("attern") && text.contains('.');
        let mut validators = Validators {
            jsonschema: None,
            boon: None,
            has_space_class,
            has_class_operator,
            has_divisor,
            has_mail,
            has_dot,
            has_edge,
            has_regex,
        };
        let Ok(schema) = serde_json::from_str::<Value>(text) else { return validators };
        let mut options = jsonschema::options().should_validate_formats(true);
        for &name in OTHER_FORMATS {
            options = options.with_format(name, |_: &str| true);
        }
        options = options.without_content_encoding_support("base64");
        options = options.without_content_media_type_support("application/json");
        validators.jsonschema = catch_unwind(AssertUnwindSafe(|| options.build(&schema).ok())).ok().flatten();
        validators.boon = has_boon.then(|| Validators::boon(schema)).flatten();
        validators
    }

    fn boon(schema: Value) -> Option<(boon::Schemas, boon::SchemaIndex)> {
        fn any(_: &Value) -> Result<(), Box<dyn std::error::Error>> {
            Ok(())
        }
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        compiler.set_default_draft(boon::Draft::V2020_12);
        compiler.enable_format_assertions();
        for &name in OTHER_FORMATS {
            compiler.register_format(boon::Format { name, func: any });
        }
        compiler.add_resource("schema.json", schema).ok()?;
        let index = compiler.compile("schema.json", &mut schemas).ok()?;
        Some((schemas, index))
    }

    /// Asserts that a text is JSON, without repeated keys, and valid.
    fn assert_valid(&self, text: &[u8], case: &SchemaCase, coverage: &mut Coverage) {
        let text = std::str::from_utf8(text).expect("a JSON text is UTF-8");
        let json = Json::parse(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert!(json.duplicates().is_empty(), "repeated key in {text}");
        // The other reader rounds numbers, gives up at 128 levels, and knows no `1e999`.
        let read = serde_json::from_str::<Value>(text).ok();
        let Some(mut value) = read.filter(|value| is_exact(value, &json)) else {
            coverage.n_unread += 1;
            return;
        };
        without_negative_zero(&mut value);
        let is_trusted =
            |name: &str| VALIDATOR_BUGS.iter().all(|(id, validator, _)| !case.id.starts_with(id) || *validator != name);
        let misreads_dots = self.has_dot && has_string(&value, &|text| text.contains(DOT_MISSES));
        // RFC 5321 lets a quoted local part have escapes, and neither does; nor labels with hyphens as their third and fourth character, of which only RFC 5891 says more.
        let is_quoted = |text: &str| text.starts_with('"') && text.contains("\"@");
        let has_hyphens = |text: &str| {
            let labels = text.rsplit_once('@').map(|(_, domain)| domain.split('.'));
            labels.into_iter().flatten().any(|label| label.get(2..4) == Some("--"))
        };
        let misreads_mail = self.has_mail && has_string(&value, &|text| is_quoted(text) || has_hyphens(text));
        let misreads = misreads_dots || misreads_mail || self.has_edge;
        if let Some(validator) = self.jsonschema.as_ref().filter(|_| is_trusted("jsonschema") && !misreads) {
            if let Err(error) = validator.validate(&value) {
                panic!("the jsonschema crate refuses {text}\n    {error} at {}", error.instance_path());
            }
            coverage.n_validated += 1;
        }
        let misreads_spaces = self.has_space_class && has_string(&value, &|text| text.contains(BOON_SPACE_MISSES));
        // It divides as floats, 10.12 by 0.01 too.
        let misreads = misreads || misreads_spaces || self.has_divisor || self.has_class_operator || self.has_regex;
        if let Some((schemas, index)) = self.boon.as_ref().filter(|_| is_trusted("boon") && !misreads) {
            if let Err(error) = schemas.validate(&value, *index) {
                panic!("boon refuses {text}\n    {error}");
            }
            coverage.n_validated_by_boon += 1;
        }
    }
}

/// Returns whether a string or key of a value is as asked.
fn has_string(value: &Value, is_asked: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_asked(text),
        Value::Array(items) => items.iter().any(|item| has_string(item, is_asked)),
        Value::Object(members) => members.iter().any(|(key, value)| is_asked(key) || has_string(value, is_asked)),
        _ => false,
    }
}

/// Returns whether a value of serde_json's has the numbers of the text, and integers as integers.
fn is_exact(value: &Value, json: &Json) -> bool {
    const INTEGER_MAX: f64 = 9.2e18;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) if number.as_f64().is_some_and(|float| float.abs() > INTEGER_MAX) => return false,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    Json::from_value(value, &Limits::default()).is_ok_and(|copy| copy == *json)
}

/// Makes every `-0` a `0`: serde_json reads the integer as a float, which the validators take for none.
fn without_negative_zero(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_f64() == Some(0.0) => *value = 0.into(),
        Value::Array(items) => items.iter_mut().for_each(without_negative_zero),
        Value::Object(members) => members.values_mut().for_each(without_negative_zero),
        _ => {}
    }
}

#[derive(Default, Debug)]
struct Coverage {
    n_schemas: usize,
    n_refused: usize,
    n_texts: usize,
    n_bytes: usize,
    /// Documents that sampling did not complete.
    n_long: usize,
    n_completions: usize,
    n_incomplete: usize,
    n_validated: usize,
    n_validated_by_boon: usize,
    n_unread: usize,
    /// The schema that took longest.
    slowest: (Duration, String),
    /// The schemas with prefixes whose completion was not found.
    incomplete: Vec<String>,
    failures: Vec<String>,
}

impl Coverage {
    fn add(&mut self, other: Coverage) {
        self.n_schemas += other.n_schemas;
        self.n_refused += other.n_refused;
        self.n_texts += other.n_texts;
        self.n_bytes += other.n_bytes;
        self.n_long += other.n_long;
        self.n_completions += other.n_completions;
        self.n_incomplete += other.n_incomplete;
        self.n_validated += other.n_validated;
        self.n_validated_by_boon += other.n_validated_by_boon;
        self.n_unread += other.n_unread;
        self.incomplete.extend(other.incomplete);
        self.failures.extend(other.failures);
        if other.slowest.0 > self.slowest.0 {
            self.slowest = other.slowest;
        }
    }
}

/// Completes a document by search, if that is possible within the steps.
fn complete(completions: &CompletionSearch, sample: &Sample, coverage: &mut Coverage) -> Option<Vec<u8>> {
    match completions.search(&sample.matcher, N_STEPS_MAX) {
        Completion::Found(bytes) => {
            let mut matcher = sample.matcher.fork();
            matcher.accept_bytes(&bytes).unwrap_or_else(|error| panic!("{error}, by the search"));
            assert!(matcher.is_accepting());
            coverage.n_completions += 1;
            Some([&*sample.text, &*bytes].concat())
        }
        Completion::DeadEnd => panic!("a dead end after {}", String::from_utf8_lossy(&sample.text)),
        Completion::OutOfSteps => {
            coverage.n_incomplete += 1;
            None
        }
    }
}

/// Samples documents of a schema, and completes prefixes of them.
fn sample(rng: &mut Rng, case: &SchemaCase, compiled: &CompiledGrammar, sampler: &Sampler, coverage: &mut Coverage) {
    let validators = Validators::new(&case.schema, rng.chance(25));
    let completions = CompletionSearch::new(compiled);
    for i in 0..N_TEXTS {
        let mode = if i % 2 == 0 { SamplingMode::Common } else { SamplingMode::Rare };
        let mut sample = Sample::new(compiled.matcher());
        // A prefix, for which a completion is searched.
        let way_point = rng.below(sampler.n_bytes_soft);
        let mut is_passed = false;
        let mut n_tokens = 0;
        let whole = loop {
            if !is_passed && sample.text.len() >= way_point {
                is_passed = true;
                if let Some(text) = complete(&completions, &sample, coverage) {
                    validators.assert_valid(&text, case, coverage);
                }
            }
            if n_tokens >= N_TOKENS_MAX || sample.text.len() >= sampler.n_bytes_max {
                coverage.n_long += 1;
                break complete(&completions, &sample, coverage);
            }
            n_tokens += 1;
            if !sampler.step(rng, mode, &mut sample) {
                break Some(sample.text);
            }
        };
        if let Some(text) = whole {
            validators.assert_valid(&text, case, coverage);
            coverage.n_texts += 1;
            coverage.n_bytes += text.len();
        }
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

fn check(seed: u64, case: &SchemaCase, compiler: &GrammarCompiler, sampler: &Sampler) -> Coverage {
    let mut coverage = Coverage::default();
    let deadline = CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(2)), cancelled: None };
    let step = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut rng = Rng::new(case.id.bytes().fold(seed, step));
    let run = || {
        match compiler.compile_json_schema_with(&case.schema, &SchemaOptions::default(), &deadline) {
            Ok(compiled) => {
                coverage.n_schemas += 1;
                sample(&mut rng, case, &compiled, sampler, &mut coverage);
            }
            Err(_) => coverage.n_refused += 1,
        };
    };
    let start = Instant::now();
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        let schema: String = case.schema.chars().take(600).collect();
        coverage.failures.push(format!("{}: {}\n    {schema}", case.id, message_of(&*panic)));
    }
    coverage.slowest = (start.elapsed(), case.id.clone());
    if coverage.n_incomplete > 0 {
        coverage.incomplete.push(case.id.clone());
    }
    coverage
}

/// Runs the schemas in a seeded order until the time is up.
fn run(vocab: Vocab, n_bytes_soft: usize, share_of_time: f64) {
    let Some(path) = data("maskbench-dev.jsonl.gz") else { return };
    let only = std::env::var("MASKWRIGHT_SCHEMAS").unwrap_or_default();
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(File::open(path).unwrap())).lines();
    let lines: Vec<String> = lines.map(Result::unwrap).filter(|line| line.contains(&only)).collect();
    let time = rounds::time_or(if rounds::is_ci() { 170 } else { 20 }).mul_f64(share_of_time);
    let seed = rounds::seed_or(rounds::random_seed(CI_SEED));

    let vocab = Arc::new(vocab);
    let mut sampler = Sampler::new(&vocab);
    sampler.n_bytes_soft = n_bytes_soft;
    let compiler = GrammarCompiler::new(vocab);
    let start = Instant::now();
    let (rng, total) = (Mutex::new(Rng::new(seed)), Mutex::new(Coverage::default()));
    std::thread::scope(|scope| {
        for _ in 0..N_THREADS {
            scope.spawn(|| {
                loop {
                    let line = rng.lock().unwrap().below(lines.len());
                    let case = SchemaCase::parse(&lines[line], "").unwrap();
                    if case.id.contains(&only) {
                        total.lock().unwrap().add(check(seed, &case, &compiler, &sampler));
                    }
                    if start.elapsed() > time {
                        break;
                    }
                }
            });
        }
    });
    let mut coverage = total.into_inner().unwrap();
    let mut failures = std::mem::take(&mut coverage.failures);
    failures.sort();
    failures.dedup();
    println!("{coverage:?} in {:?}", start.elapsed());
    failures.iter().take(20).for_each(|failure| println!("{failure}"));
    assert!(failures.is_empty(), "{} schemas failed", failures.len());
    assert!(coverage.n_validated > 0 && (coverage.n_validated_by_boon > 0 || !only.is_empty()));
    // Shares say something of many schemas only: a slow machine sees few in the time.
    const SCHEMAS_MIN: usize = 500;
    if coverage.n_schemas < SCHEMAS_MIN {
        return;
    }
    assert!(coverage.n_unread * 10 <= coverage.n_validated, "numbers that the validators can't read");
    assert!(coverage.n_incomplete * 1_000 <= coverage.n_completions, "ends that were not found");
}

#[test]
fn texts_of_a_small_vocabulary() {
    run(vocab(), 300, if cfg!(feature = "tiktoken") { 0.6 } else { 1.0 });
}

#[cfg(feature = "tiktoken")]
#[test]
fn texts_of_a_real_vocabulary() {
    let vocab = Vocab::tiktoken(maskwright::Encoding::Cl100kBase).unwrap();
    run(vocab, 300, 0.4);
}

//! Real schemas with instances: what compiles, what is accepted, what is refused.
//!
//! Instances are printed as Python's `json.dumps(value, ensure_ascii=False)` prints them, in their own order of keys,
//! and accepted as bytes. A valid one that is refused must be accepted in another order of its keys. `--nocapture` shows the
//! counts; `MASKWRIGHT_SCHEMAS=text` runs only the schemas whose id contains the text.

use maskwright::json_schema::SchemaOptions;
use maskwright::testing::corpus::{Instance, SchemaCase, data};
use maskwright::testing::spelling::{Numbers, Speller, python};
use maskwright::{CompileError, CompileOptions, GrammarCompiler, Vocab};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Schemas that are refused, and why.
const REFUSED: &[(&str, &str)] = &[
    ("Github_hard---o75605", BACK_REFERENCE),
    ("Glaiveai2K---calculate_area_2f92f3ea", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_43c11cd0", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_4493ae68", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_6fd20e8d", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_8db9d7ff", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_92ac029d", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_d402e1cc", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_e6818129", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_f88fb53c", UNSATISFIABLE),
    ("Glaiveai2K---calculate_area_f8e04f89", UNSATISFIABLE),
    ("Handwritten---num5", STATES),
    ("JsonSchemaStore---aerleon-definitions.schema", STATES),
    ("JsonSchemaStore---cloudify", CIRCULAR),
    ("JsonSchemaStore---schema", CONDITIONS),
    ("JsonSchemaStore---travis", EQUAL_ITEMS),
];

const UNSATISFIABLE: &str = "no value is valid: its `oneOf` asks for what all of it requires";
const STATES: &str = "a pattern or number, with its bounds, needs more than `dfa_states_max` states";
const CIRCULAR: &str = "an `allOf` leads back to itself without reading anything";
const CONDITIONS: &str = "more than 64 combinations of conditions wait for the same key";
const BACK_REFERENCE: &str = "a pattern refers back, which is not regular";
const EQUAL_ITEMS: &str = "`uniqueItems` under a negation";

/// Instances whose label is wrong, by schema and index among its instances, and why. The `jsonschema` crate must
/// agree.
const WRONG_LABELS: &[(&str, usize, &str)] = &[];

/// The share of schemas that may be refused, in thousandths.
const REFUSED_PER_MILLE_MAX: usize = 3;

/// Steps of the search for another order of keys, and for one of an invalid instance.
const N_STEPS_VALID: usize = 20_000;
const N_STEPS_INVALID: usize = 200;

/// Limits on work are reached long before this, also on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(60);
const N_THREADS: usize = 2;

/// The verdict of the matcher on an instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    ValidAccepted,
    /// Refused as printed, accepted with its keys in another order.
    ValidReordered,
    ValidRefused,
    InvalidRefused,
    InvalidAccepted,
}

#[derive(Default)]
struct Report {
    n_compiled: usize,
    /// Reasons without their quoted parts, and ids with whole reasons.
    refused: BTreeMap<String, Vec<(String, String)>>,
    outcomes: BTreeMap<Outcome, usize>,
    /// Instances whose outcome contradicts the label: id, index, outcome, message.
    wrong: Vec<(String, usize, Outcome, String)>,
    compile_times: Vec<(Duration, String)>,
    accept_time: Duration,
    n_bytes: usize,
}

/// Returns a reason with its quoted parts and numbers taken out, so that equal ones can be counted.
fn kind_of(reason: &str) -> String {
    let quoted = reason.split('"').step_by(2).collect::<Vec<_>>().join("…");
    let places = quoted.split(' ').filter(|word| !word.starts_with('#')).collect::<Vec<_>>().join(" ");
    places.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect::<String>().replace("99", "9")
}

fn cut(text: &str) -> String {
    const CHARS_MAX: usize = 600;
    text.chars().take(CHARS_MAX).collect()
}

/// Returns the verdict of the `jsonschema` crate on an instance, if it supports the schema.
fn says_jsonschema(schema: &str, instance: &Instance) -> Option<bool> {
    let schema = serde_json::from_str(schema).ok()?;
    let instance = serde_json::from_str(instance.json.source()).ok()?;
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).ok()?;
    Some(validator.is_valid(&instance))
}

/// Compiles a schema and feeds its instances.
fn run(compiler: &GrammarCompiler, case: &SchemaCase, report: &Mutex<Report>) {
    let start = Instant::now();
    let options = CompileOptions { deadline: Some(start + TIME_MAX), cancelled: None };
    let compile = || compiler.compile_json_schema_with(&case.schema, &SchemaOptions::default(), &options);
    let compiled = catch_unwind(AssertUnwindSafe(compile));
    let compile_time = start.elapsed();
    let reason = match &compiled {
        Ok(Ok(_)) => None,
        Ok(Err(CompileError::Schema(error))) => Some((error.reason(), error.to_string())),
        Ok(Err(error)) => Some((error.to_string(), error.to_string())),
        Err(_) => Some(("panicked".to_owned(), "panicked".to_owned())),
    };
    let mut outcomes = Vec::new();
    let (start, mut n_bytes) = (Instant::now(), 0);
    if let Ok(Ok(compiled)) = compiled {
        let for_valid = Speller::new(&case.schema, Numbers::AsWritten, N_STEPS_VALID);
        let for_invalid = Speller::new(&case.schema, Numbers::AsWritten, N_STEPS_INVALID);
        for instance in &case.instances {
            let text = python(&instance.json);
            n_bytes += text.len();
            let mut matcher = compiled.matcher();
            let is_accepted = matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting();
            let speller = if instance.is_valid { &for_valid } else { &for_invalid };
            let other = || speller.respell(&compiled.matcher(), &instance.json).is_some();
            outcomes.push(match (instance.is_valid, is_accepted) {
                (true, true) => Outcome::ValidAccepted,
                (true, false) if other() => Outcome::ValidReordered,
                (true, false) => Outcome::ValidRefused,
                (false, false) if !other() => Outcome::InvalidRefused,
                (false, _) => Outcome::InvalidAccepted,
            });
        }
    }
    let accept_time = start.elapsed();
    let mut report = report.lock().unwrap();
    report.compile_times.push((compile_time, case.id.clone()));
    report.accept_time += accept_time;
    report.n_bytes += n_bytes;
    match reason {
        None => report.n_compiled += 1,
        Some((kind, reason)) => {
            report.refused.entry(kind_of(&kind)).or_default().push((case.id.clone(), reason));
        }
    }
    for (place, (&outcome, instance)) in outcomes.iter().zip(&case.instances).enumerate() {
        *report.outcomes.entry(outcome).or_default() += 1;
        if matches!(outcome, Outcome::ValidRefused | Outcome::InvalidAccepted) {
            let says = says_jsonschema(&case.schema, instance);
            let says =
                says.map_or("refuses the schema", |is_valid| if is_valid { "says valid" } else { "says invalid" });
            let (schema, text) = (cut(&case.schema), cut(instance.json.source()));
            let shown = format!("the jsonschema crate {says}: {}\n      {schema}\n      {text}", instance.title);
            report.wrong.push((case.id.clone(), place, outcome, shown));
        }
    }
}

impl Report {
    fn n_refused(&self) -> usize {
        self.refused.values().map(Vec::len).sum()
    }

    fn print(&mut self, elapsed: Duration) {
        println!("{} schemas compiled, {} refused, in {elapsed:.1?}", self.n_compiled, self.n_refused());
        self.compile_times.sort();
        let at = |share: usize| self.compile_times[(self.compile_times.len() - 1) * share / 1000].0;
        let total: Duration = self.compile_times.iter().map(|(time, _)| *time).sum();
        println!("  compile: {total:.1?} in all, median {:?}, p99 {:?}, slowest:", at(500), at(990));
        for (time, id) in self.compile_times.iter().rev().take(5) {
            println!("    {time:?} {id}");
        }
        println!("  accept: {:.1?} for {} bytes", self.accept_time, self.n_bytes);
        for (outcome, n) in &self.outcomes {
            println!("  {n:>6} {outcome:?}");
        }
        for (kind, all) in &self.refused {
            println!("  {:>6} refused: {kind}", all.len());
            for (id, reason) in all.iter() {
                println!("           {id}: {}", cut(reason));
            }
        }
        self.wrong.sort();
        for (id, place, outcome, shown) in &self.wrong {
            println!("  {outcome:?} {id} {place}: {shown}");
        }
    }
}

/// Asserts that a list has the names found; some of the list may not have been visited.
fn assert_listed<T: Ord + std::fmt::Debug>(what: &str, mut listed: Vec<T>, mut found: Vec<T>) {
    listed.sort();
    found.sort();
    let unlisted: Vec<_> = found.iter().filter(|one| !listed.contains(one)).collect();
    let gone: Vec<_> = listed.iter().filter(|one| !found.contains(one)).collect();
    assert!(unlisted.is_empty(), "{} {what}, not in the list: {unlisted:?}", unlisted.len());
    assert!(gone.is_empty(), "in the list, but not {what}: {gone:?}");
}

#[test]
fn real_schemas() {
    let Some(path) = data("maskbench-dev.jsonl.gz") else { return };
    let only = std::env::var("MASKWRIGHT_SCHEMAS").unwrap_or_default();
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(File::open(path).unwrap())).lines();
    let cases = lines.map(|line| SchemaCase::parse(&line.unwrap(), "").unwrap());
    let cases: Vec<SchemaCase> = cases.filter(|case| case.id.contains(&only)).collect();
    assert!(!cases.is_empty());

    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let (report, next, start) = (Mutex::new(Report::default()), AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..N_THREADS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(&compiler, case, &report);
                }
            });
        }
    });
    let mut report = report.into_inner().unwrap();
    report.print(start.elapsed());

    let n_instances: usize = cases.iter().map(|case| case.instances.len()).sum();
    let is_known = |id: &str| cases.iter().any(|case| case.id == id);
    let listed = REFUSED.iter().map(|(id, _)| *id).filter(|id| is_known(id)).collect();
    let refused = report.refused.values().flatten().map(|(id, _)| id.as_str()).collect();
    assert_listed("refused", listed, refused);
    let listed = WRONG_LABELS.iter().map(|&(id, place, _)| (id, place)).filter(|(id, _)| is_known(id)).collect();
    let wrong = report.wrong.iter().map(|(id, place, _, _)| (id.as_str(), *place)).collect();
    assert_listed("against their label", listed, wrong);
    for (id, place, why) in WRONG_LABELS {
        let Some(case) = cases.iter().find(|case| case.id == *id) else { continue };
        let instance = &case.instances[*place];
        assert_eq!(says_jsonschema(&case.schema, instance), Some(!instance.is_valid), "{id} {place}: {why}");
    }
    if only.is_empty() {
        assert!(report.n_refused() * 1000 <= REFUSED_PER_MILLE_MAX * cases.len());
        assert!(cases.len() > 7_000 && n_instances > 20_000);
    }
}

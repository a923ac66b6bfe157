//! JSON Schemas with instances: reading them, verifying an engine on them, timing it.
//!
//! An instance is printed as Python's `json.dumps(value, ensure_ascii=False)` prints it and tokenized as the model's
//! tokenizer does. [`verify`] comes first, untimed: which schemas compile, which tokens are taken. A pass (in the bench `maskbench`) then takes
//! the same tokens again and reads the clock.
//!
//! Why passes: to time a schema three times in a row would let the second time find what the first one stored, and an
//! engine would be measured warm where a server meets it cold. So a pass goes through all schemas in one order, starts
//! with empty stores, and of each step the least time over several passes counts. What one pass finds in the stores is
//! what the schemas before it left there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use maskwright::testing::corpus::{SchemaCase, files};
use maskwright::testing::spelling::python;

use crate::engine::allows;
use crate::{SchemaEngine, Session, Vocabulary};

/// What engines that can be told may take for a compile.
const COMPILE_TIME_MAX: Duration = Duration::from_secs(10);

/// A schema with tokenized instances.
pub struct Schema {
    /// Its name.
    pub id: String,
    /// The schema as written.
    pub text: String,
    /// Whether each instance is valid, and its tokens.
    pub instances: Vec<(bool, Vec<u32>)>,
}

/// Reads files of JSON lines, plain or gzip, files of one schema, and folders of these.
///
/// # Errors
/// If a file can't be read; says which and why.
pub fn read(paths: &[PathBuf], vocabulary: &Vocabulary) -> Result<Vec<Schema>, String> {
    let mut all = Vec::new();
    for path in paths {
        let found = if path.is_dir() { files(path) } else { vec![path.clone()] };
        for file in found {
            let cases = read_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            all.extend(cases.into_iter().map(|case| {
                Schema {
                    instances: case
                        .instances
                        .iter()
                        .map(|instance| (instance.is_valid, vocabulary.encode(&python(&instance.json))))
                        .collect(),
                    id: case.id,
                    text: case.schema,
                }
            }));
        }
    }
    Ok(all)
}

fn read_file(path: &Path) -> Result<Vec<SchemaCase>, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = match bytes.starts_with(&[0x1F, 0x8B]) {
        true => flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text),
        false => (&bytes[..]).read_to_string(&mut text),
    };
    read.map_err(|error| error.to_string())?;
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if path.extension().is_some_and(|extension| extension == "json") {
        return Ok(vec![SchemaCase::parse(&text, &name)?]);
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| SchemaCase::parse(line, &name).map_err(|error| format!("line {}: {error}", at + 1)))
        .collect()
}

/// What an engine makes of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It doesn't compile; why.
    Refused(String),
    /// How many tokens of each instance are taken, and whether the whole instance is.
    Compiled(Vec<(usize, bool)>),
}

/// Walks all instances of a schema, untimed.
pub fn verify<E: SchemaEngine>(engine: &E, schema: &Schema, row: &mut [u32], stop: u32) -> Verdict {
    let walk = |row: &mut [u32]| {
        let compiled = engine.compile_schema(&schema.text, COMPILE_TIME_MAX)?;
        let taken = schema.instances.iter().map(|(_, tokens)| {
            let mut session = engine.start(&compiled);
            let mut taken = 0;
            while taken < tokens.len() && session.try_fill(row) && allows(row, tokens[taken]) {
                if !session.accept(tokens[taken]) {
                    break;
                }
                taken += 1;
            }
            (taken, taken == tokens.len() && session.try_fill(row) && allows(row, stop))
        });
        Ok(taken.collect())
    };
    match catch_unwind(AssertUnwindSafe(|| walk(row))) {
        Ok(Ok(taken)) => Verdict::Compiled(taken),
        Ok(Err(error)) => Verdict::Refused(error),
        Err(_) => Verdict::Refused("panicked".to_owned()),
    }
}

/// Times in microseconds; schemas that don't compile have none.
#[derive(Clone, Default)]
pub struct Times {
    /// Per schema: compile.
    pub compile: Vec<f32>,
    /// Per schema: compile, start, first mask.
    pub first_mask: Vec<f32>,
    /// Per schema: mask + accept, for each token taken of each instance.
    pub steps: Vec<Vec<f32>>,
}

impl Times {
    /// Makes each time the lesser of two.
    pub fn lessen(&mut self, other: &Times) {
        let lessen = |a: &mut Vec<f32>, b: &[f32]| a.iter_mut().zip(b).for_each(|(a, b)| *a = a.min(*b));
        lessen(&mut self.compile, &other.compile);
        lessen(&mut self.first_mask, &other.first_mask);
        self.steps.iter_mut().zip(&other.steps).for_each(|(a, b)| lessen(a, b));
    }
}

fn microseconds(since: Instant) -> f32 {
    (since.elapsed().as_nanos() as f64 / 1000.0) as f32
}

/// Times one schema that was verified; adds to the times.
pub fn time<E: SchemaEngine>(engine: &E, schema: &Schema, verdict: &Verdict, row: &mut [u32], times: &mut Times) {
    let Verdict::Compiled(taken) = verdict else {
        times.compile.push(f32::NAN);
        times.first_mask.push(f32::NAN);
        times.steps.push(Vec::new());
        return;
    };
    let begin = Instant::now();
    let compiled = engine.compile_schema(&schema.text, COMPILE_TIME_MAX).expect("it was compiled before");
    times.compile.push(microseconds(begin));
    let mut session = engine.start(&compiled);
    session.fill(row);
    std::hint::black_box(&mut *row);
    times.first_mask.push(microseconds(begin));
    drop(session);
    let mut steps = Vec::with_capacity(taken.iter().map(|(n, _)| n).sum());
    for ((_, tokens), (n_taken, _)) in schema.instances.iter().zip(taken) {
        let mut session = engine.start(&compiled);
        for &token in &tokens[..*n_taken] {
            let begin = Instant::now();
            session.fill(row);
            std::hint::black_box(&mut *row);
            session.accept(token);
            steps.push(microseconds(begin));
        }
    }
    times.steps.push(steps);
}

/// Counts of verdicts.
#[derive(Default, Debug)]
pub struct Counts {
    /// Schemas.
    pub n_schemas: usize,
    /// Schemas that compile and whose instances all get the right answer.
    pub n_passing: usize,
    /// Schemas that don't compile, by reason without its quoted parts and numbers.
    pub refused: BTreeMap<String, usize>,
    /// Valid instances that are refused (as printed: the order of keys counts), and their schemas.
    pub n_valid_refused: usize,
    /// Invalid instances that are accepted.
    pub n_invalid_accepted: usize,
    /// Instances that were decided.
    pub n_instances: usize,
}

impl Counts {
    /// Counts the verdicts of an engine.
    pub fn of(schemas: &[Schema], verdicts: &[Verdict]) -> Counts {
        let mut counts = Counts { n_schemas: schemas.len(), ..Counts::default() };
        for (schema, verdict) in schemas.iter().zip(verdicts) {
            match verdict {
                Verdict::Refused(reason) => *counts.refused.entry(kind_of(reason)).or_default() += 1,
                Verdict::Compiled(taken) => {
                    let mut is_right = true;
                    for ((is_valid, _), (_, is_accepted)) in schema.instances.iter().zip(taken) {
                        counts.n_valid_refused += usize::from(*is_valid && !is_accepted);
                        counts.n_invalid_accepted += usize::from(!is_valid && *is_accepted);
                        is_right &= is_valid == is_accepted;
                    }
                    counts.n_instances += taken.len();
                    counts.n_passing += usize::from(is_right);
                }
            }
        }
        counts
    }

    /// Returns the number of schemas that don't compile.
    pub fn n_refused(&self) -> usize {
        self.refused.values().sum()
    }
}

/// Returns a reason without quoted parts, places and numbers, so that equal ones can be counted.
fn kind_of(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    let plain: String = line.split('"').step_by(2).collect::<Vec<_>>().join("..");
    let words = plain.split(' ').filter(|word| !word.contains("#/") && *word != "#");
    let text: Vec<String> = words
        .map(|word| if word.bytes().any(|byte| byte.is_ascii_digit()) { "N".to_owned() } else { word.to_owned() })
        .collect();
    text.join(" ").chars().take(100).collect()
}

/// Average and quantiles of some times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Times.
    pub n: usize,
    /// The values, as in [`Summary::NAMES`].
    pub values: [f64; 9],
}

impl Summary {
    /// Names of the values.
    pub const NAMES: [&str; 9] = ["avg", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"];

    /// Summarizes some times.
    pub fn of(times: impl Iterator<Item = f32>) -> Summary {
        let mut sorted: Vec<f32> = times.collect();
        sorted.sort_unstable_by(f32::total_cmp);
        if sorted.is_empty() {
            return Summary::default();
        }
        let avg = sorted.iter().map(|&time| f64::from(time)).sum::<f64>() / sorted.len() as f64;
        let quantile = |share: f64| {
            let place = (sorted.len() as f64 * share).ceil() as usize;
            f64::from(sorted[place.clamp(1, sorted.len()) - 1])
        };
        let [p25, p50, p75, p90, p95, p99, p999, max] = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0].map(quantile);
        Summary { n: sorted.len(), values: [avg, p25, p50, p75, p90, p95, p99, p999, max] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_values_of_the_sample() {
        let summary = Summary::of((1..=1000).rev().map(|n| n as f32));
        assert_eq!(summary.values, [500.5, 250.0, 500.0, 750.0, 900.0, 950.0, 990.0, 999.0, 1000.0]);
    }

    #[test]
    fn files_are_lines_or_single_schemas() {
        let folder = std::env::temp_dir().join(format!("maskwright-schemas-{}", std::process::id()));
        fs::create_dir_all(folder.join("more")).unwrap();
        let case = r#"{"id": "a", "schema": true, "tests": [{"valid": true, "data": {"b": [1.0]}}]}"#;
        fs::write(folder.join("lines.jsonl"), format!("{case}\n\n{case}\n")).unwrap();
        fs::write(folder.join("more/one.json"), r#"{"schema": {}, "tests": []}"#).unwrap();
        let vocabulary = Vocabulary::cl100k();
        let schemas = read(&[folder.join("lines.jsonl"), folder.join("more")], &vocabulary).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(schemas.iter().map(|schema| schema.id.as_str()).collect::<Vec<_>>(), ["a", "a", "one"]);
        assert_eq!(vocabulary.show(&schemas[0].instances[0].1), r#"{"b": [1.0]}"#);
    }
}

//! JSON Schemas with instances: correctness, compile, first mask, mask + accept; this engine and a peer on the same tokens.
//!
//! ```text
//! cargo bench --bench maskbench -- FILES [--vocabulary cl100k_base] [--limit N] [--seed N] [--passes N]
//!     [--column kept|dropped] [--engine NAME] [--json PATH] [--slowest N] [--without SHORT_CUT]
//! ```
//!
//! Files hold JSON lines (`{"id", "schema", "tests": [{"valid", "data"}]}`), plain or gzip, or one such object each;
//! folders are searched for the latter. Every schema is verified before anything is timed. Two columns: stores *kept*
//! from schema to schema, as in a server, and *dropped* before each. Schemas come in a seeded order, compiled grammars
//! are never cached; of each step the least time of the passes counts (see [`maskwright_bench::schemas`]). Engines take turns, pass by pass,
//! each in a thread of its own. `--without` turns a short cut of this repository's engine off, to see what it buys.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::Instant;

#[cfg(feature = "llguidance")]
use maskwright_bench::llguidance::Llguidance;
use maskwright_bench::ours::{Ours, short_cut};
use maskwright_bench::schemas::{Counts, Schema, Summary, Times, Verdict, read, time, verify};
use maskwright_bench::{Engine, SchemaEngine, Vocabulary};
use serde_json::{Value, json};

const COLUMNS: [&str; 2] = ["kept", "dropped"];

struct Options {
    files: Vec<PathBuf>,
    vocabulary: String,
    engines: Vec<String>,
    columns: Vec<String>,
    limit: Option<usize>,
    seed: u64,
    n_passes: usize,
    json: Option<String>,
    n_slowest: usize,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        files: Vec::new(),
        vocabulary: "cl100k_base".to_owned(),
        engines: Vec::new(),
        columns: Vec::new(),
        limit: None,
        seed: 1,
        n_passes: 3,
        json: None,
        n_slowest: 0,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        let number = |text: String| text.parse::<u64>().map_err(|error| format!("{argument}: {error}"));
        match argument.as_str() {
            "--vocabulary" => options.vocabulary = value()?,
            "--engine" => options.engines.push(value()?),
            "--column" => options.columns.push(value()?),
            "--limit" => options.limit = Some(number(value()?)? as usize),
            "--seed" => options.seed = number(value()?)?,
            "--passes" => options.n_passes = number(value()?)?.max(1) as usize,
            "--json" => options.json = Some(value()?),
            "--slowest" => options.n_slowest = number(value()?)? as usize,
            "--without" => short_cut(&value()?)?.set(false),
            "--bench" => {} // cargo adds it
            _ if argument.starts_with("--") => return Err(format!("unknown option {argument}")),
            _ => {
                // Cargo runs benches in the folder of their package.
                let (path, above) = (PathBuf::from(&argument), PathBuf::from("..").join(&argument));
                options.files.push(if !path.exists() && above.exists() { above } else { path });
            }
        }
    }
    if options.files.is_empty() {
        return Err("no files: give JSON lines, plain or gzip, or folders of JSON files".to_owned());
    }
    Ok(options)
}

fn wanted(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|given| given == name)
}

/// Puts the schemas into a seeded order and cuts them to the limit.
fn shuffle(schemas: &mut Vec<Schema>, seed: u64, limit: Option<usize>) {
    let mut rng = maskwright::testing::Rng::new(seed);
    for i in (1..schemas.len()).rev() {
        schemas.swap(i, rng.below(i + 1));
    }
    schemas.truncate(limit.unwrap_or(usize::MAX));
}

/// Memory of the process that is in use, in bytes, where the system tells.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? * 1024)
}

/// An engine's results.
struct Results {
    engine: &'static str,
    verdicts: Vec<Verdict>,
    counts: Counts,
    /// By column.
    times: Vec<(&'static str, Times)>,
    store_bytes: Option<usize>,
    resident_growth: Option<usize>,
}

/// What all engines are tested with.
#[derive(Clone, Copy)]
struct Course<'a> {
    vocabulary: &'a Vocabulary,
    schemas: &'a [Schema],
}

/// What an engine is to do next.
enum Task {
    Verify,
    /// A pass, in this column.
    Pass(&'static str),
}

/// An engine under test, which takes its turns in a thread of its own.
///
/// Why: what one engine frees decides how long another one's allocations take. With both in one thread, and so in one heap of the system's
/// allocator, a compile of `llguidance` took 700 us or 950 us at the median, by what the other engine had left there.
struct Contestant<'scope> {
    name: &'static str,
    tasks: Sender<Task>,
    done: Receiver<()>,
    results: ScopedJoinHandle<'scope, Results>,
}

impl<'scope> Contestant<'scope> {
    fn of<E: SchemaEngine>(scope: &'scope Scope<'scope, '_>, course: Course<'scope>) -> Self {
        let ((tasks, tasks_given), (tasks_done, done)) = (channel(), channel());
        let builder = Builder::new().name(E::NAME.to_owned()).stack_size(STACK_BYTES);
        let contest = move || contest::<E>(course, &tasks_given, &tasks_done);
        let results = builder.spawn_scoped(scope, contest).expect("a thread");
        // Loaded.
        let _ = done.recv();
        Contestant { name: E::NAME, tasks, done, results }
    }

    /// Has a task done, while all others wait.
    fn run(&self, task: Task) -> Result<(), String> {
        let stopped = || format!("{} has stopped", self.name);
        self.tasks.send(task).map_err(|_| stopped())?;
        self.done.recv().map_err(|_| stopped())
    }

    fn finish(self) -> Result<Results, String> {
        drop(self.tasks);
        self.results.join().map_err(|_| format!("{} panicked", self.name))
    }
}

/// Stack of an engine's thread: that of most systems' main threads.
const STACK_BYTES: usize = 8 << 20;

/// Does the tasks of one engine.
fn contest<E: SchemaEngine>(course: Course<'_>, tasks: &Receiver<Task>, done: &Sender<()>) -> Results {
    let Course { vocabulary, schemas } = course;
    let mut engine = E::load_for_schemas(vocabulary);
    let _ = done.send(());
    let mut row = vec![0; vocabulary.n_mask_words()];
    let mut results = Results {
        engine: E::NAME,
        verdicts: Vec::new(),
        counts: Counts::default(),
        times: Vec::new(),
        store_bytes: None,
        resident_growth: None,
    };
    for task in tasks {
        match task {
            Task::Verify => verify_all(&engine, course, &mut row, &mut results),
            Task::Pass(column) => pass(&mut engine, schemas, column, &mut row, &mut results),
        }
        if done.send(()).is_err() {
            break;
        }
    }
    results
}

fn verify_all<E: SchemaEngine>(engine: &E, course: Course<'_>, row: &mut [u32], results: &mut Results) {
    let Course { vocabulary, schemas } = course;
    let before = resident_bytes();
    let (begin, mut slowest) = (Instant::now(), (0.0, ""));
    for schema in schemas {
        let begin = Instant::now();
        results.verdicts.push(verify(engine, schema, row, vocabulary.stop));
        let seconds = begin.elapsed().as_secs_f64();
        if seconds > slowest.0 {
            slowest = (seconds, &schema.id);
        }
    }
    results.resident_growth = before.and_then(|before| Some(resident_bytes()?.saturating_sub(before)));
    results.counts = Counts::of(schemas, &results.verdicts);
    results.store_bytes = engine.store_bytes();
    eprintln!("{}: verified in {:.1?}, slowest {} in {:.1} s", E::NAME, begin.elapsed(), slowest.1, slowest.0);
}

fn pass<E: SchemaEngine>(
    engine: &mut E,
    schemas: &[Schema],
    column: &'static str,
    row: &mut [u32],
    results: &mut Results,
) {
    let begin = Instant::now();
    let mut times = Times::default();
    engine.forget();
    for (schema, verdict) in schemas.iter().zip(&results.verdicts) {
        if column == "dropped" {
            engine.forget();
        }
        time(engine, schema, verdict, row, &mut times);
    }
    eprintln!("{}: a pass, stores {column}, in {:.1?}", E::NAME, begin.elapsed());
    match results.times.iter_mut().find(|(name, _)| *name == column) {
        Some((_, least)) => least.lessen(&times),
        None => results.times.push((column, times)),
    }
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(is_right) if is_right => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Runs everything; says whether this repository's engine decides every invalid instance rightly.
fn run(options: &Options) -> Result<bool, String> {
    let vocabulary = match options.vocabulary.as_str() {
        "cl100k_base" => Vocabulary::cl100k(),
        "o200k_base" => Vocabulary::o200k(),
        name => return Err(format!("no vocabulary {name}; there are cl100k_base, o200k_base")),
    };
    if let Some(name) = options.columns.iter().find(|name| !COLUMNS.contains(&name.as_str())) {
        return Err(format!("no column {name}; there are {}", COLUMNS.join(", ")));
    }
    let mut schemas = read(&options.files, &vocabulary)?;
    shuffle(&mut schemas, options.seed, options.limit);
    let course = Course { vocabulary: &vocabulary, schemas: &schemas };
    let results = thread::scope(|scope| {
        let mut contestants = Vec::new();
        if wanted(&options.engines, Ours::NAME) {
            contestants.push(Contestant::of::<Ours>(scope, course));
        }
        #[cfg(feature = "llguidance")]
        if wanted(&options.engines, Llguidance::NAME) {
            contestants.push(Contestant::of::<Llguidance>(scope, course));
        }
        for contestant in &contestants {
            contestant.run(Task::Verify)?;
        }
        for column in COLUMNS.into_iter().filter(|column| wanted(&options.columns, column)) {
            for _ in 0..options.n_passes {
                contestants.iter().try_for_each(|contestant| contestant.run(Task::Pass(column)))?;
            }
        }
        contestants.into_iter().map(Contestant::finish).collect::<Result<Vec<Results>, String>>()
    })?;
    let report = Report { n_schemas: schemas.len(), results, options };
    report.print();
    report.print_slowest(&schemas);
    if let Some(path) = &options.json {
        std::fs::write(path, format!("{:#}\n", report.json())).map_err(|error| format!("{path}: {error}"))?;
    }
    let ours = report.results.iter().find(|results| results.engine == "maskwright");
    Ok(ours.is_none_or(|results| results.counts.n_invalid_accepted == 0))
}

struct Report<'a> {
    n_schemas: usize,
    results: Vec<Results>,
    options: &'a Options,
}

/// Steps that may be printed as slow ones.
const SLOW_STEP_MICROSECONDS: f32 = 100.0;

/// What is timed.
const FIGURES: [&str; 3] = ["compile", "compile + first mask", "mask + accept"];

impl Report<'_> {
    /// Summarizes a figure over some schemas; of each instance so many steps at most, if that is given.
    fn summary(
        results: &Results,
        times: &Times,
        figure: &str,
        schemas: &HashSet<usize>,
        n_steps: Option<&[Vec<usize>]>,
    ) -> Summary {
        let of = |values: &[f32]| {
            let chosen = values.iter().enumerate().filter(|(at, _)| schemas.contains(at));
            Summary::of(chosen.map(|(_, time)| *time))
        };
        match figure {
            "compile" => of(&times.compile),
            "compile + first mask" => of(&times.first_mask),
            _ => {
                let mut chosen = Vec::new();
                for (at, steps) in times.steps.iter().enumerate().filter(|(at, _)| schemas.contains(at)) {
                    let Verdict::Compiled(taken) = &results.verdicts[at] else { continue };
                    let mut begin = 0;
                    for (instance, (n_taken, _)) in taken.iter().enumerate() {
                        let n = n_steps.map_or(*n_taken, |n_steps| n_steps[at][instance].min(*n_taken));
                        chosen.extend_from_slice(&steps[begin..begin + n]);
                        begin += n_taken;
                    }
                }
                Summary::of(chosen.into_iter())
            }
        }
    }

    /// How many tokens of each instance of each schema every engine takes, where all compile it.
    fn taken_by_all(&self) -> Vec<Vec<usize>> {
        let of = |at: usize| {
            let taken = self.results.iter().filter_map(|results| match &results.verdicts[at] {
                Verdict::Compiled(taken) => Some(taken.iter().map(|(n, _)| *n).collect::<Vec<_>>()),
                Verdict::Refused(_) => None,
            });
            taken.reduce(|a, b| a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect()).unwrap_or_default()
        };
        (0..self.n_schemas).map(of).collect()
    }

    fn compiled_by(&self, engine: &str) -> HashSet<usize> {
        let results = self.results.iter().find(|results| results.engine == engine);
        let verdicts = results.map_or(&[][..], |results| &results.verdicts).iter().enumerate();
        verdicts.filter(|(_, verdict)| matches!(verdict, Verdict::Compiled(_))).map(|(at, _)| at).collect()
    }

    /// The schemas that every engine compiles.
    fn compiled_by_all(&self) -> HashSet<usize> {
        let sets = self.results.iter().map(|results| self.compiled_by(results.engine));
        sets.reduce(|a, b| &a & &b).unwrap_or_default()
    }

    /// Rows of the tables: column, figure, engine, over its own schemas and over those of all engines.
    fn rows(&self) -> Vec<(&'static str, &'static str, &'static str, Summary, Summary)> {
        let (all, taken) = (self.compiled_by_all(), self.taken_by_all());
        let mut rows = Vec::new();
        for column in COLUMNS {
            for figure in FIGURES {
                for results in &self.results {
                    let Some((_, times)) = results.times.iter().find(|(name, _)| *name == column) else { continue };
                    let own = Report::summary(results, times, figure, &self.compiled_by(results.engine), None);
                    let common = Report::summary(results, times, figure, &all, Some(&taken));
                    rows.push((column, figure, results.engine, own, common));
                }
            }
        }
        rows
    }

    /// Ratios of the first engine to each other one: column, figure, peer, and how many times as long it takes.
    fn ratios(&self) -> Vec<(&'static str, &'static str, &'static str, [f64; 9])> {
        let rows = self.rows();
        let Some(first) = self.results.first().map(|results| results.engine) else { return Vec::new() };
        let mut ratios = Vec::new();
        for (column, figure, engine, _, peer) in rows.iter().filter(|row| row.2 != first) {
            let own = rows.iter().find(|row| (row.0, row.1, row.2) == (*column, *figure, first));
            let Some((.., own)) = own else { continue };
            let mut values = peer.values;
            values.iter_mut().zip(own.values).for_each(|(peer, own)| *peer /= own);
            ratios.push((*column, *figure, *engine, values));
        }
        ratios
    }

    /// Prints the slowest compiles and steps, and how many steps take over a millisecond.
    fn print_slowest(&self, schemas: &[Schema]) {
        if self.options.n_slowest == 0 {
            return;
        }
        for (results, (column, times)) in self.results.iter().flat_map(|all| all.times.iter().map(move |of| (all, of)))
        {
            let print = |what: &str, mut slowest: Vec<(f32, usize, String)>| {
                println!("\n{}, slowest {what}, stores {column}", results.engine);
                slowest.retain(|(time, ..)| !time.is_nan());
                slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
                for (time, at, place) in slowest.iter().take(self.options.n_slowest) {
                    println!("{time:>12.1} us  {}{place}", schemas[*at].id);
                }
            };
            let compiles = times.first_mask.iter().enumerate();
            print("compiles + first masks", compiles.map(|(at, &time)| (time, at, String::new())).collect());
            let mut steps = Vec::new();
            for (at, of_schema) in times.steps.iter().enumerate() {
                let slow = of_schema.iter().enumerate().filter(|(_, time)| **time > SLOW_STEP_MICROSECONDS);
                steps.extend(slow.map(|(step, &time)| (time, at, format!(", step {step} of its instances"))));
            }
            let n_slow = steps.iter().filter(|(time, ..)| *time > 1000.0).count();
            print("steps", steps);
            println!("{n_slow} steps take over 1 ms");
        }
    }

    fn print(&self) {
        println!("{} schemas, seed {}, {}", self.n_schemas, self.options.seed, self.options.vocabulary);
        println!(
            "\n{:12} {:>8} {:>8} {:>14} {:>17} {:>12} {:>14}",
            "engine", "passing", "refused", "valid refused", "invalid accepted", "stores MiB", "resident +MiB"
        );
        let mebibytes =
            |bytes: Option<usize>| bytes.map_or("-".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1048576.0));
        for results in &self.results {
            let counts = &results.counts;
            println!(
                "{:12} {:>8} {:>8} {:>14} {:>17} {:>12} {:>14}",
                results.engine,
                counts.n_passing,
                counts.n_refused(),
                counts.n_valid_refused,
                counts.n_invalid_accepted,
                mebibytes(results.store_bytes),
                mebibytes(results.resident_growth)
            );
        }
        let titles = |what: &str| {
            print!("\n{what:<46} {:>9}", "n");
            Summary::NAMES.iter().for_each(|name| print!(" {name:>10}"));
            println!();
        };
        for (what, is_own) in [
            ("microseconds, over all that the engine compiles", true),
            ("over the schemas that all compile, on the same tokens", false),
        ] {
            titles(what);
            for (column, figure, engine, own, common) in self.rows() {
                let summary = if is_own { own } else { common };
                print!("{:<46} {:>9}", format!("{engine}, {figure}, stores {column}"), summary.n);
                summary.values.iter().for_each(|value| print!(" {value:>10.2}"));
                println!();
            }
        }
        titles("ratios over the schemas that all compile");
        for (column, figure, engine, values) in self.ratios() {
            print!("{:<46} {:>9}", format!("{engine}, {figure}, stores {column}"), "");
            values.iter().for_each(|value| print!(" {value:>10.2}"));
            println!();
        }
        for results in &self.results {
            println!("\nrefused by {}:", results.engine);
            let mut reasons: Vec<_> = results.counts.refused.iter().collect();
            reasons.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
            reasons.iter().take(20).for_each(|(reason, n)| println!("{n:>7} {reason}"));
        }
    }

    fn json(&self) -> Value {
        let values = |values: [f64; 9]| -> Value {
            Summary::NAMES
                .iter()
                .zip(values)
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let engines = self.results.iter().map(|results| {
            let counts = &results.counts;
            json!({
                "engine": results.engine, "n_passing": counts.n_passing, "n_refused": counts.n_refused(),
                "refused": counts.refused, "n_valid_refused": counts.n_valid_refused,
                "n_invalid_accepted": counts.n_invalid_accepted, "n_instances": counts.n_instances,
                "store_bytes": results.store_bytes, "resident_growth_bytes": results.resident_growth,
            })
        });
        let rows = self.rows().into_iter().map(|(column, figure, engine, own, common)| {
            json!({
                "stores": column, "figure": figure, "engine": engine, "n": own.n, "us": values(own.values),
                "n_common": common.n, "us_common": values(common.values),
            })
        });
        let ratios = self.ratios().into_iter().map(|(column, figure, engine, ratio)| {
            json!({ "stores": column, "figure": figure, "engine": engine, "ratio": values(ratio) })
        });
        json!({
            "n_schemas": self.n_schemas, "seed": self.options.seed, "vocabulary": self.options.vocabulary,
            "n_passes": self.options.n_passes, "engines": engines.collect::<Vec<_>>(),
            "times": rows.collect::<Vec<_>>(), "ratios": ratios.collect::<Vec<_>>(),
        })
    }
}

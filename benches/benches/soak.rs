//! Real schemas three times through one compiler with its default bounds, as in a server that runs for long: does a step ever wait for the store of masks,
//! does memory grow, and what is left when everything that can be forgotten is.
//!
//! ```text
//! cargo bench -p maskwright-bench --no-default-features --features ours --bench soak -- FILES [--passes N] [--limit N]
//! ```
//!
//! Prints for each pass: steps that take over 5 ms of the thread's time, and the longest; memory that is allocated and resident. Then what is allocated after [`clear_caches`](maskwright::GrammarCompiler::clear_caches) beyond the vocabulary.

use std::alloc::System;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use cpu_time::ThreadTime;
use maskwright::vocab::Vocab;
use maskwright::{CompileOptions, GrammarCompiler, json_schema::SchemaOptions};
use maskwright_bench::Vocabulary;
use maskwright_bench::engine::allows;
use maskwright_bench::ours::Ours;
use maskwright_bench::schemas::{Schema, read};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Steps that take longer are reported.
const STEP_MILLISECONDS_MAX: f64 = 5.0;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut paths, mut n_passes, mut limit) = (Vec::new(), 3, usize::MAX);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number =
            || arguments.next().and_then(|text| text.parse().ok()).ok_or(format!("{argument} takes a number"));
        match argument.as_str() {
            "--passes" => n_passes = number()?,
            "--limit" => limit = number()?,
            "--bench" => {} // cargo adds it
            _ => paths.push(PathBuf::from(&argument)),
        }
    }
    if paths.is_empty() {
        return Err("no files: give JSON lines, plain or gzip, or folders of JSON files".to_owned());
    }
    let vocabulary = Vocabulary::cl100k();
    let mut schemas = read(&paths, &vocabulary)?;
    schemas.truncate(limit);
    let vocab = Arc::new(Ours::vocab(&vocabulary));
    let before = allocated();
    let compiler = GrammarCompiler::new(vocab.clone());
    println!("{} schemas, {}", schemas.len(), vocabulary.name);
    for number in 1..=n_passes {
        pass(number, &compiler, &vocab, &schemas);
    }
    let report = |what: &str| {
        println!(
            "{what}: {:.1} MiB allocated beyond the vocabulary, {:.1} MiB resident",
            mebibytes(allocated() - before),
            resident()
        );
    };
    report("at the end");
    compiler.clear_caches();
    report("after clear_caches");
    Ok(())
}

fn pass(number: usize, compiler: &GrammarCompiler, vocab: &Vocab, schemas: &[Schema]) {
    let (begin, mut n_steps, mut longest) = (Instant::now(), 0u64, 0.0f64);
    let mut row = vec![0u32; vocab.n_mask_words()];
    for schema in schemas {
        let options = CompileOptions::default();
        let Ok(compiled) = compiler.compile_json_schema_with(&schema.text, &SchemaOptions::default(), &options) else {
            continue;
        };
        for (_, tokens) in &schema.instances {
            let mut matcher = compiled.matcher();
            for (at, &token) in tokens.iter().enumerate() {
                let begin = ThreadTime::now();
                let is_filled = matcher.fill_mask(&mut row).is_ok();
                let is_taken = is_filled && allows(&row, token) && matcher.accept_token(token).is_ok();
                let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
                (n_steps, longest) = (n_steps + 1, longest.max(milliseconds));
                if milliseconds > STEP_MILLISECONDS_MAX {
                    let version = compiler.stats().masks;
                    println!(
                        "  pass {number}: {milliseconds:.1} ms, {} token {at}; {} masks stored, {:.1} MiB",
                        schema.id,
                        version.n_sparse + version.n_dense + version.n_patched,
                        mebibytes(version.bytes)
                    );
                }
                if !is_taken {
                    break;
                }
            }
        }
    }
    let masks = compiler.stats().masks;
    println!(
        "pass {number}: {n_steps} steps in {:.1?}, longest {longest:.2} ms; {:.1} MiB allocated, {:.1} MiB resident; {} walks, {} masks forgotten",
        begin.elapsed(),
        mebibytes(allocated()),
        resident(),
        masks.walks,
        masks.evictions
    );
}

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / 1048576.0
}

/// Memory of the process that is in use, in MiB; 0 where the system doesn't tell.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

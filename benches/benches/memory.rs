//! Bytes and allocations of each engine, counted by the allocator: a program of its own, so that counting costs no timing anything.
//!
//! Of each engine: bytes held after loading the vocabulary; by a compiled grammar, fresh and after all documents; by a fresh session and per
//! token of history (accepts only, grammar warm); allocations per step (mask + accept) on documents seen before.

use std::alloc::System;

use maskwright_bench::timing::{compile, walk};
use maskwright_bench::verify::documents;
use maskwright_bench::{CASES, Case, Engine, Session, Vocabulary};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    println!(
        "{:28} {:11} {:>12} {:>12} {:>10} {:>12} {:>10} {:>12}",
        "bytes: case/vocabulary", "engine", "compiled", "warm", "session", "per token", "says", "allocs/step"
    );
    for vocabulary in [Vocabulary::cl100k(), Vocabulary::o200k()] {
        #[cfg(feature = "ours")]
        report::<maskwright_bench::ours::Ours>(&vocabulary);
        #[cfg(feature = "llguidance")]
        report::<maskwright_bench::llguidance::Llguidance>(&vocabulary);
        #[cfg(feature = "xgrammar")]
        report::<maskwright_bench::xgrammar::Xgrammar>(&vocabulary);
    }
}

#[allow(dead_code)] // all engines may be switched off
fn report<E: Engine>(vocabulary: &Vocabulary) {
    let region = Region::new(ALLOCATOR);
    let mut engine = E::load(vocabulary);
    println!("{:28} {:11} {:>12}", format!("loaded/{}", vocabulary.name), E::NAME, held(&region));
    for case in CASES {
        if let Err(error) = documents(&engine, vocabulary, case) {
            println!("{:28} {:11} {error}", format!("{}/{}", case.name, vocabulary.name), E::NAME);
            continue;
        }
        engine.forget();
        measure(&engine, vocabulary, case);
    }
}

#[allow(dead_code)]
fn measure<E: Engine>(engine: &E, vocabulary: &Vocabulary, case: &Case) {
    let texts: Vec<Vec<u32>> = case.documents.iter().map(|document| vocabulary.encode(document.text)).collect();
    let n_steps: usize = texts.iter().map(Vec::len).sum();
    let mut row = vec![0; vocabulary.n_mask_words()];

    let region = Region::new(ALLOCATOR);
    let compiled = compile(engine, case);
    let compiled_bytes = held(&region);
    for tokens in &texts {
        walk(&mut engine.start(&compiled), tokens, &mut row);
    }
    let warm_bytes = held(&region);

    let region = Region::new(ALLOCATOR);
    let mut session = engine.start(&compiled);
    let session_bytes = held(&region);
    let region = Region::new(ALLOCATOR);
    for &token in &texts[0] {
        assert!(session.accept(token), "verified before");
    }
    let per_token = held(&region) as f64 / texts[0].len() as f64;

    let mut allocations = 0;
    for tokens in &texts {
        let mut session = engine.start(&compiled);
        let region = Region::new(ALLOCATOR);
        walk(&mut session, tokens, &mut row);
        let change = region.change();
        allocations += change.allocations + change.reallocations;
    }
    println!(
        "{:28} {:11} {:>12} {:>12} {:>10} {:>12.1} {:>10} {:>12.2}",
        format!("{}/{}", case.name, vocabulary.name),
        E::NAME,
        compiled_bytes,
        warm_bytes,
        session_bytes + size_of::<E::Session>() as isize,
        per_token,
        E::compiled_bytes(&compiled).map_or("-".to_string(), |bytes| bytes.to_string()),
        allocations as f64 / n_steps as f64
    );
}

/// Bytes allocated and not freed since the region began.
fn held(region: &Region<'_, System>) -> isize {
    // Reallocations are part of both counters.
    let change = region.change();
    change.bytes_allocated as isize - change.bytes_deallocated as isize
}

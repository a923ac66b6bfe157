//! Criterion benches; ids are `op/grammar/vocabulary/engine`.
//!
//! `vocabulary` loads a vocabulary; `compile` and `first-mask` start with empty caches; `cold` compiles and walks all documents of a
//! case, `warm` walks them with a compiled grammar that has seen them (mask + accept; time per element is time per step);
//! `rollback` accepts up to eight tokens and takes them back; `jump-forward` asks for forced bytes before each accept; `batch` fills
//! and accepts for 64 texts at different places, one after another, and on a pool of threads where the engine has one.
//! A pair of case and engine whose warm walk takes more than a second is left to the ratios.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use maskwright_bench::timing::{compile, walk};
use maskwright_bench::verify::documents;
use maskwright_bench::{CASES, Case, Engine, Session, Vocabulary};

/// Texts of a batch.
const BATCH: usize = 64;

/// Tokens accepted and taken back, at most.
const ROLLBACK: usize = 8;

/// Longest warm walk that is repeated here.
const WALK_MAX: Duration = Duration::from_secs(1);

fn benches(criterion: &mut Criterion) {
    for vocabulary in [Vocabulary::cl100k(), Vocabulary::o200k()] {
        #[cfg(feature = "ours")]
        {
            engine::<maskwright_bench::ours::Ours>(criterion, &vocabulary);
            pool::batches(criterion, &vocabulary);
        }
        #[cfg(feature = "llguidance")]
        engine::<maskwright_bench::llguidance::Llguidance>(criterion, &vocabulary);
        #[cfg(feature = "xgrammar")]
        engine::<maskwright_bench::xgrammar::Xgrammar>(criterion, &vocabulary);
    }
}

#[allow(dead_code)] // all engines may be switched off
fn engine<E: Engine>(criterion: &mut Criterion, vocabulary: &Vocabulary) {
    let mut load = criterion.benchmark_group(format!("vocabulary/-/{}", vocabulary.name));
    load.bench_function(E::NAME, |b| b.iter_with_large_drop(|| E::load(vocabulary)));
    load.finish();
    let mut engine = E::load(vocabulary);
    for case in CASES {
        match documents(&engine, vocabulary, case) {
            Ok(_) => one_case(criterion, &mut engine, vocabulary, case),
            Err(error) if E::NAME == "maskwright" => panic!("{error}"),
            Err(error) => eprintln!("not timed: {}: {error}", E::NAME),
        }
    }
}

#[allow(dead_code)]
fn one_case<E: Engine>(criterion: &mut Criterion, engine: &mut E, vocabulary: &Vocabulary, case: &Case) {
    let texts: Vec<Vec<u32>> = case.documents.iter().map(|document| vocabulary.encode(document.text)).collect();
    let mut row = vec![0; vocabulary.n_mask_words()];
    let compiled = compile(engine, case);
    walk_all(engine, &compiled, &texts, &mut row);
    let begin = Instant::now();
    walk_all(engine, &compiled, &texts, &mut row);
    if begin.elapsed() > WALK_MAX {
        eprintln!("left to the ratios: {}/{}/{}", case.name, vocabulary.name, E::NAME);
        return;
    }
    warm(criterion, engine, &compiled, &texts, &mut row, &format!("{}/{}", case.name, vocabulary.name));
    drop(compiled);
    cold(criterion, engine, case, &texts, &mut row, vocabulary.name);
}

#[allow(dead_code)]
fn walk_all<E: Engine>(engine: &E, compiled: &E::Compiled, texts: &[Vec<u32>], row: &mut [u32]) {
    texts.iter().for_each(|tokens| walk(&mut engine.start(compiled), tokens, row));
}

#[allow(dead_code)]
fn warm<E: Engine>(
    criterion: &mut Criterion,
    engine: &E,
    compiled: &E::Compiled,
    texts: &[Vec<u32>],
    row: &mut [u32],
    place: &str,
) {
    let n_steps: usize = texts.iter().map(Vec::len).sum();
    let mut group = criterion.benchmark_group(format!("warm/{place}"));
    group.throughput(Throughput::Elements(n_steps as u64));
    group.bench_function(E::NAME, |b| b.iter(|| walk_all(engine, compiled, texts, row)));
    group.finish();

    // In the middle of the longest text, or at the end of a short one; both directions are timed, since neither can
    // repeat alone.
    let tokens = texts.iter().max_by_key(|tokens| tokens.len()).expect("a document");
    let n_back = ROLLBACK.min(tokens.len());
    let middle = (tokens.len() / 2).min(tokens.len() - n_back);
    let mut group = criterion.benchmark_group(format!("rollback/{place}"));
    group.throughput(Throughput::Elements(n_back as u64));
    group.bench_function(E::NAME, |b| {
        let mut session = engine.start(compiled);
        tokens[..middle].iter().for_each(|&token| assert!(session.accept(token)));
        b.iter(|| {
            tokens[middle..middle + n_back].iter().for_each(|&token| assert!(session.accept(token)));
            session.rollback(n_back);
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group(format!("jump-forward/{place}"));
    group.throughput(Throughput::Elements(tokens.len() as u64));
    group.bench_function(E::NAME, |b| {
        b.iter_batched_ref(
            || engine.start(compiled),
            |session| {
                for &token in tokens {
                    black_box(session.jump_forward());
                    assert!(session.accept(token));
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();

    let mut group = criterion.benchmark_group(format!("batch/{place}"));
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function(E::NAME, |b| {
        let mut batch: Vec<(E::Session, &[u32], usize)> = (0..BATCH)
            .map(|i| {
                let tokens = &texts[i % texts.len()];
                let mut session = engine.start(compiled);
                let at = tokens.len() * i / BATCH;
                tokens[..at].iter().for_each(|&token| assert!(session.accept(token)));
                (session, tokens.as_slice(), at)
            })
            .collect();
        b.iter(|| {
            for (session, tokens, at) in &mut batch {
                session.fill(row);
                black_box(&mut *row);
                assert!(session.accept(tokens[*at]));
                *at += 1;
                if *at == tokens.len() {
                    (*session, *at) = (engine.start(compiled), 0);
                }
            }
        });
    });
    group.finish();
}

#[allow(dead_code)]
fn cold<E: Engine>(
    criterion: &mut Criterion,
    engine: &mut E,
    case: &Case,
    texts: &[Vec<u32>],
    row: &mut [u32],
    vocabulary: &str,
) {
    let group = |criterion: &mut Criterion, op: &str, mut once: Box<dyn FnMut(&mut E) -> Duration + '_>| {
        let mut group: BenchmarkGroup<'_, WallTime> =
            criterion.benchmark_group(format!("{op}/{}/{vocabulary}", case.name));
        group.bench_function(E::NAME, |b| {
            b.iter_custom(|n| {
                (0..n)
                    .map(|_| {
                        engine.forget();
                        once(engine)
                    })
                    .sum()
            });
        });
        group.finish();
    };
    let mut group = group;
    group(criterion, "compile", Box::new(|engine| timed(|| compile(engine, case))));
    group(
        criterion,
        "first-mask",
        Box::new(|engine| {
            timed(|| {
                let compiled = compile(engine, case);
                let mut session = engine.start(&compiled);
                session.fill(row);
                (compiled, session)
            })
        }),
    );
    group(
        criterion,
        "cold",
        Box::new(|engine| {
            timed(|| {
                let compiled = compile(engine, case);
                walk_all(engine, &compiled, texts, row);
                compiled
            })
        }),
    );
}

/// The time a function takes; what it returns is dropped after.
#[allow(dead_code)]
fn timed<T>(f: impl FnOnce() -> T) -> Duration {
    let begin = Instant::now();
    let made = black_box(f());
    let elapsed = begin.elapsed();
    drop(made);
    elapsed
}

#[cfg(feature = "ours")]
mod pool {
    use super::*;
    use maskwright::Matcher;
    use maskwright_bench::ours::Ours;

    /// The batch bench on a pool with one thread and with one per core.
    pub fn batches(criterion: &mut Criterion, vocabulary: &Vocabulary) {
        let engine = Ours::load(vocabulary);
        let n_words = vocabulary.n_mask_words();
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        for case in CASES {
            let texts: Vec<Vec<u32>> = case.documents.iter().map(|document| vocabulary.encode(document.text)).collect();
            let compiled = compile(&engine, case);
            walk_all(&engine, &compiled, &texts, &mut vec![0; n_words]);
            let mut group = criterion.benchmark_group(format!("batch/{}/{}", case.name, vocabulary.name));
            group.throughput(Throughput::Elements(BATCH as u64));
            for n_threads in [1, n_cores] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("a pool");
                group.bench_function(format!("maskwright, pool of {n_threads}"), |b| {
                    let mut places: Vec<(&[u32], usize)> = (0..BATCH)
                        .map(|i| &texts[i % texts.len()])
                        .enumerate()
                        .map(|(i, t)| (t.as_slice(), t.len() * i / BATCH))
                        .collect();
                    let mut matchers: Vec<Matcher> = places
                        .iter()
                        .map(|(tokens, at)| {
                            let mut matcher = compiled.matcher();
                            matcher.accept_tokens(&tokens[..*at]).expect("verified before");
                            matcher
                        })
                        .collect();
                    let mut rows = vec![0; BATCH * n_words];
                    let mut next = vec![0; BATCH];
                    b.iter(|| {
                        black_box(maskwright::matcher::fill_masks(&mut matchers, &mut rows, n_words, Some(&pool)));
                        for (token, (tokens, at)) in next.iter_mut().zip(&places) {
                            *token = tokens[*at];
                        }
                        black_box(maskwright::matcher::accept_tokens(&mut matchers, &next, Some(&pool)));
                        for (matcher, (tokens, at)) in matchers.iter_mut().zip(&mut places) {
                            *at += 1;
                            if *at == tokens.len() {
                                matcher.reset();
                                *at = 0;
                            }
                        }
                    });
                });
                if n_threads == n_cores {
                    break;
                }
            }
            group.finish();
        }
    }
}

criterion_group! {
    name = all;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = benches
}
criterion_main!(all);

//! Figures of one engine on one case with one vocabulary, on one thread.
//!
//! - *compile*: grammar text to something that sessions start from, caches dropped before each repeat.
//! - *first mask*: compile, start, fill once; what a first request waits for.
//! - *cold request*: compile, start, and mask + accept over one document, caches dropped before each document.
//! - *cold pass*: compile once and walk all documents of the case, caches dropped before.
//! - *warm step*: mask + accept, on documents that this compiled grammar has seen. The mean comes from passes without a clock inside
//!   them; quantiles come from passes that read the clock at each step (some 25 ns that the mean doesn't have).
//!
//! Of each figure the least of a few repeats counts: per document, per pass, or per step; what takes seconds is not repeated. Masks go to one row that stays the same, as in a
//! server that reuses its buffer.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::{Case, Engine, Session, Vocabulary};

/// How often things are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Repeats {
    /// Repeats of compiling and of cold walks.
    pub cold: usize,
    /// Repeats of warm walks.
    pub warm: usize,
}

/// The figures, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Steps of all documents.
    pub n_steps: usize,
    /// Compile.
    pub compile: f64,
    /// Compile, start, first mask.
    pub first_mask: f64,
    /// Sum over the documents of a cold request each.
    pub cold_requests: f64,
    /// One compile and a first walk over all documents.
    pub cold_pass: f64,
    /// Start of a session of a warm grammar.
    pub start: f64,
    /// Mean of a warm step.
    pub warm_mean: f64,
    /// Median of a warm step.
    pub warm_p50: f64,
    /// 99th percentile of a warm step.
    pub warm_p99: f64,
    /// Slowest warm step.
    pub warm_max: f64,
}

impl Figures {
    /// Names and values, in the order of the reports.
    pub fn columns(&self) -> [(&'static str, f64); 9] {
        [
            ("compile", self.compile),
            ("first_mask", self.first_mask),
            ("cold_requests", self.cold_requests),
            ("cold_pass", self.cold_pass),
            ("start", self.start),
            ("warm_mean", self.warm_mean),
            ("warm_p50", self.warm_p50),
            ("warm_p99", self.warm_p99),
            ("warm_max", self.warm_max),
        ]
    }
}

/// Measures an engine on a case that it has passed in [`crate::verify`].
pub fn measure<E: Engine>(engine: &mut E, vocabulary: &Vocabulary, case: &Case, repeats: Repeats) -> Figures {
    let documents: Vec<Vec<u32>> = case.documents.iter().map(|document| vocabulary.encode(document.text)).collect();
    let mut row = vec![0; vocabulary.n_mask_words()];
    let mut figures = Figures { n_steps: documents.iter().map(Vec::len).sum(), ..Figures::default() };
    cold(engine, case, &documents, &mut row, repeats.cold, &mut figures);
    warm(engine, case, &documents, &mut row, repeats.warm, &mut figures);
    figures
}

fn cold<E: Engine>(
    engine: &mut E,
    case: &Case,
    documents: &[Vec<u32>],
    row: &mut [u32],
    n: usize,
    figures: &mut Figures,
) {
    figures.compile = least(n, || {
        engine.forget();
        let begin = Instant::now();
        let compiled = compile(engine, case);
        (begin.elapsed(), compiled).0
    });
    figures.first_mask = least(n, || {
        engine.forget();
        let begin = Instant::now();
        let compiled = compile(engine, case);
        let mut session = engine.start(&compiled);
        session.fill(row);
        begin.elapsed()
    });
    for tokens in documents {
        figures.cold_requests += least(n, || {
            engine.forget();
            let begin = Instant::now();
            let compiled = compile(engine, case);
            let mut session = engine.start(&compiled);
            walk(&mut session, tokens, row);
            begin.elapsed()
        });
    }
    figures.cold_pass = least(n, || {
        engine.forget();
        let mut sessions = Vec::with_capacity(documents.len());
        let begin = Instant::now();
        let compiled = compile(engine, case);
        for tokens in documents {
            let mut session = engine.start(&compiled);
            walk(&mut session, tokens, row);
            sessions.push(session);
        }
        begin.elapsed()
    });
}

fn warm<E: Engine>(
    engine: &mut E,
    case: &Case,
    documents: &[Vec<u32>],
    row: &mut [u32],
    n: usize,
    figures: &mut Figures,
) {
    engine.forget();
    let compiled = compile(engine, case);
    for tokens in documents {
        walk(&mut engine.start(&compiled), tokens, row);
    }
    figures.start = least(n.max(100), || {
        let begin = Instant::now();
        let session = engine.start(&compiled);
        (begin.elapsed(), session).0
    });
    let mut steps: Vec<f64> = Vec::with_capacity(figures.n_steps);
    let mut total = 0.0;
    for tokens in documents {
        total += least(n, || {
            let mut session = engine.start(&compiled);
            let begin = Instant::now();
            walk(&mut session, tokens, row);
            begin.elapsed()
        });
        let mut least_of = vec![f64::INFINITY; tokens.len()];
        let begin = Instant::now();
        for _ in 0..n.max(1) {
            let mut session = engine.start(&compiled);
            for (least, &token) in least_of.iter_mut().zip(tokens) {
                let step = Instant::now();
                session.fill(row);
                black_box(&mut *row);
                session.accept(token);
                *least = least.min(microseconds(step.elapsed()));
            }
            if begin.elapsed() > REPEAT_TIME {
                break;
            }
        }
        steps.extend(least_of);
    }
    figures.warm_mean = total / figures.n_steps as f64;
    steps.sort_by(f64::total_cmp);
    figures.warm_p50 = quantile(&steps, 0.5);
    figures.warm_p99 = quantile(&steps, 0.99);
    figures.warm_max = quantile(&steps, 1.0);
}

/// Fills a mask and accepts a token, for each token of a document.
pub fn walk(session: &mut impl Session, tokens: &[u32], row: &mut [u32]) {
    for &token in tokens {
        session.fill(row);
        black_box(&mut *row);
        assert!(session.accept(token), "verified before");
    }
}

/// Compiles a case that was verified before.
///
/// # Panics
/// When the engine refuses the grammar.
pub fn compile<E: Engine>(engine: &E, case: &Case) -> E::Compiled {
    engine.compile(case).unwrap_or_else(|error| panic!("{} refuses {}: {error}", E::NAME, case.name))
}

/// Time after which a measurement is not repeated.
const REPEAT_TIME: Duration = Duration::from_secs(1);

fn least(n: usize, mut once: impl FnMut() -> Duration) -> f64 {
    let begin = Instant::now();
    let mut least = Duration::MAX;
    for _ in 0..n.max(1) {
        least = least.min(once());
        if begin.elapsed() > REPEAT_TIME {
            break;
        }
    }
    microseconds(least)
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1000.0
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[(((sorted.len() as f64) * q).ceil() as usize).clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let sample: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!([0.5, 0.99, 1.0].map(|q| quantile(&sample, q)), [100.0, 198.0, 200.0]);
        assert_eq!(quantile(&[3.0], 0.5), 3.0);
    }
}

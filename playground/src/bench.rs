//! `playground bench`: how long compiling and masks take on this machine, on documents of the grammar.
//!
//! Documents are sampled, or given. Each is run on a compiler without caches (every state is new) and then again (every state was seen). A step is one mask and
//! one token.

use crate::check::{nanos, size_of};
use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::options::{FileArgs, VocabArgs};
use crate::output::{Output, counted, grouped, shown_time};
use crate::run::Run;
use crate::sampler::{Sampler, Style};
use crate::source::Loaded;
use maskwright::{CompileOptions, GrammarCompiler, Matcher, TokenId, TokenMask};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options of `bench`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground bench [OPTIONS] GRAMMAR_FILE\n       playground bench [OPTIONS] --regex PATTERN"
)]
pub struct Args {
    #[command(flatten)]
    pub file: FileArgs,
    /// How many documents are sampled
    #[arg(short, long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub number: u32,
    /// Seed of the first document
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Most tokens of a document
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub max_tokens: u32,
    /// How often the grammar is compiled
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub compiles: u32,
    #[command(flatten)]
    pub vocab: VocabArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Times in ascending order.
struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Times(times)
    }

    /// Returns the least time that `share` of all times are not above.
    fn quantile(&self, share: f64) -> Duration {
        let index = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(index.saturating_sub(1)).copied().unwrap_or_default()
    }

    fn shown(&self) -> String {
        let times = [0.5, 0.99, 1.0].map(|share| shown_time(self.quantile(share)));
        format!("{:>9} {:>9} {:>9}", times[0], times[1], times[2])
    }

    fn to_json(&self) -> Value {
        json!({
            "n": self.0.len(),
            "p50_ns": nanos(self.quantile(0.5)),
            "p99_ns": nanos(self.quantile(0.99)),
            "max_ns": nanos(self.quantile(1.0)),
        })
    }
}

/// Runs the command.
///
/// # Errors
/// If the grammar or the vocabulary can't be read, or no document can be sampled.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let loaded = Loaded::new(&args.file, &args.vocab)?;
    let vocab = Arc::clone(loaded.grammar.vocab());
    let mut documents: Vec<Vec<TokenId>> = Vec::new();
    for index in 0..args.number {
        let mut sampler = Sampler::new(&vocab, args.seed.wrapping_add(u64::from(index)), Style::Text);
        let run = Run::new(loaded.matcher(), args.max_tokens as usize)?.finish(&mut sampler, |_| {})?;
        documents.push(run.tokens());
    }
    let mut compiles = Vec::new();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..args.compiles {
        let compiler = GrammarCompiler::new(Arc::clone(&vocab));
        // The vocabulary keeps what other compilers found out.
        compiler.clear_caches();
        let start = Instant::now();
        let grammar = loaded.source.compile_with(&compiler, &CompileOptions::default());
        compiles.push(start.elapsed());
        last = Some((grammar.map_err(|error| loaded.source.failure(error))?, compiler));
    }
    let (grammar, compiler) = last.expect("it was compiled once at least");
    for times in [&mut first, &mut again] {
        for tokens in &documents {
            let mut matcher = grammar.matcher();
            if let Some(stops) = &loaded.stop_tokens {
                matcher.set_stop_tokens(stops).expect("the ids are in the vocabulary");
            }
            replay(&mut matcher, tokens, times)?;
        }
    }
    let (compiles, first, again) = (Times::new(compiles), Times::new(first), Times::new(again));
    let stats = compiler.stats();
    let n_tokens: usize = documents.iter().map(Vec::len).sum();
    if args.json {
        output.json(&json!({
            "version": 1,
            "grammar": loaded.source.name,
            "vocab": args.vocab.vocab,
            "n_documents": documents.len(),
            "n_tokens": n_tokens,
            "compile": compiles.to_json(),
            "first_step": first.to_json(),
            "step_again": again.to_json(),
            "grammar_bytes": grammar.memory_bytes(),
            "mask_bytes": stats.masks.bytes,
            "vocab_bytes": vocab.memory_bytes(),
        }));
        return Ok(Verdict::Yes);
    }
    output.line(format_args!("{}: {}", loaded.source.name, size_of(&grammar)));
    output.line(format_args!("{}, {}", counted(documents.len(), "document"), counted(n_tokens, "token")));
    output.line(format_args!("{:<22} {:>9} {:>9} {:>9}", "", "p50", "p99", "max"));
    output.line(format_args!("{:<22} {}", "compile", compiles.shown()));
    output.line(format_args!("{:<22} {}", "step, the first time", first.shown()));
    output.line(format_args!("{:<22} {}", "step, states seen", again.shown()));
    let kib = |bytes: usize| format!("{} KiB", grouped((bytes / 1024) as u64));
    output.line(format_args!(
        "memory: grammar {}, masks {}, vocabulary {}",
        kib(grammar.memory_bytes()),
        kib(stats.masks.bytes),
        kib(vocab.memory_bytes())
    ));
    Ok(Verdict::Yes)
}

fn replay(matcher: &mut Matcher, tokens: &[TokenId], times: &mut Vec<Duration>) -> Result<(), Failure> {
    let mut mask = TokenMask::new(matcher.grammar().vocab().n_tokens());
    for &token in tokens {
        let start = Instant::now();
        let filled = matcher.fill_mask(mask.as_words_mut()).map(|_| ()).and_then(|()| matcher.accept_token(token));
        times.push(start.elapsed());
        filled.map_err(|error| Failure::Step(error.to_string()))?;
    }
    Ok(())
}

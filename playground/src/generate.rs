//! `playground generate`: documents of a grammar or schema.
//!
//! Documents are sampled as in the demo, and end within the budget. What names tokens that are no text is printed with their names, as `check --control-tokens` reads them.

use crate::check::nanos;
use crate::cli::EXIT_CODES;
use crate::controls::pieces;
use crate::coverage::Coverage;
use crate::failure::{Failure, Verdict};
use crate::mask::at_prefix;
use crate::options::{FileArgs, PrefixArgs, VocabArgs};
use crate::output::Output;
use crate::run::Run;
use crate::sampler::{Sampler, Style};
use crate::source::{Loaded, check_stdin_once};
use serde_json::json;
use std::time::Instant;

/// Options of `generate`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground generate [OPTIONS] GRAMMAR_FILE\n       playground generate [OPTIONS] --regex PATTERN"
)]
pub struct Args {
    #[command(flatten)]
    pub file: FileArgs,
    /// How many documents, each on its line; the seed counts up
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub number: u32,
    /// Seed of the sampler: the same seed, the same document
    #[arg(long, default_value_t = 85)]
    pub seed: u64,
    /// Most tokens of a document, the stop token included; the document is closed in time
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_tokens: u32,
    /// How tokens are chosen
    #[arg(long, value_name = "STYLE", default_value = "text")]
    pub style: Style,
    /// Tell which rules read none of the documents' bytes
    #[arg(long)]
    pub coverage: bool,
    #[command(flatten)]
    pub prefix: PrefixArgs,
    #[command(flatten)]
    pub vocab: VocabArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// If the grammar or the vocabulary can't be read, or the budget is too small for any document.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    check_stdin_once(args.file.file.iter().chain(&args.prefix.prefix_file).map(std::path::PathBuf::as_path))?;
    let prefix = args.prefix.read()?;
    let loaded = Loaded::new(&args.file, &args.vocab)?;
    let read = pieces(&prefix, &loaded.grammar, args.prefix.control_tokens);
    let start = at_prefix(&loaded, &prefix, &read)?;
    let mut coverage = args.coverage.then(|| Coverage::new(&loaded.grammar)).flatten();
    let mut documents = Vec::new();
    let mut sampler = Sampler::new(loaded.grammar.vocab(), args.seed, args.style);
    for index in 0..args.number {
        let seed = args.seed.wrapping_add(u64::from(index));
        sampler.restart(seed);
        let clock = Instant::now();
        let run = Run::new(start.fork(), args.max_tokens as usize)?.finish(&mut sampler, |_| {})?;
        let time = clock.elapsed();
        if let Some(coverage) = &mut coverage {
            coverage.add(run.matcher());
        }
        if args.json {
            let tokens = run.tokens();
            documents.push(json!({
                "output": run.shown(),
                "text": String::from_utf8_lossy(&run.text),
                "seed": seed,
                "n_tokens": run.n_used,
                "n_forced": crate::forced::count(start.fork(), &tokens),
                "tokens": tokens,
                "ns": nanos(time),
            }));
        } else {
            output.line(run.shown());
            output.flush();
            // Nobody reads the documents after it.
            if output.has_failed() {
                return Ok(Verdict::Yes);
            }
        }
    }
    let (n_rules, unread) = coverage.map_or((0, None), |coverage| (coverage.n_rules(), Some(coverage.unread())));
    if args.json {
        output.json(&json!({
            "version": 1,
            "grammar": loaded.source.name,
            "max_tokens": args.max_tokens,
            "documents": documents,
            "unread_rules": unread,
            "compile_ns": nanos(loaded.compile_time),
        }));
    } else if args.coverage {
        match unread {
            None => crate::output::complain("coverage: a JSON Schema has no rules"),
            Some(unread) => {
                let n_read = n_rules - unread.len();
                crate::output::complain(&format!("coverage: {n_read} of {n_rules} rules with text of their own"));
                if !unread.is_empty() {
                    crate::output::complain(&format!("coverage: no byte was read by {}", unread.join(", ")));
                }
            }
        }
    }
    Ok(Verdict::Yes)
}

//! `playground generate`: a document of a grammar or schema.
//!
//! The document is sampled as in the demo, and ends within the budget.

use crate::check::nanos;
use crate::cli::GenerateArgs;
use crate::demo::Run;
use crate::failure::{Failure, Verdict};
use crate::output::Output;
use crate::sampler::Sampler;
use crate::source::GrammarSource;
use crate::vocabulary;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

/// Runs the command.
///
/// # Errors
/// If the grammar or the vocabulary can't be read, or the budget is too small for any document.
pub fn run(args: &GenerateArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let source = GrammarSource::read(&args.grammar, args.file.as_deref())?;
    let vocab = Arc::new(vocabulary::read(&args.vocab)?);
    let (grammar, compile_time) = source.compile(Arc::clone(&vocab))?;
    let mut sampler = Sampler::new(&vocab, args.seed);
    let start = Instant::now();
    let run = Run::new(&grammar, args.max_tokens as usize)?.finish(&mut sampler, |_| {})?;
    let time = start.elapsed();
    let text = String::from_utf8_lossy(&run.text);
    if args.json {
        output.json(&json!({
            "grammar": source.name,
            "output": text,
            "seed": args.seed,
            "max_tokens": args.max_tokens,
            "n_tokens": run.n_used,
            "n_forced": run.n_forced,
            "tokens": run.steps.iter().map(|step| step.token).collect::<Vec<_>>(),
            "compile_ns": nanos(compile_time),
            "ns": nanos(time),
        }));
    } else {
        output.line(text);
    }
    Ok(Verdict::Yes)
}

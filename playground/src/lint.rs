//! `playground lint`: probable mistakes in a grammar or schema, all of them, with their places.

use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::options::FileArgs;
use crate::output::{Output, counted, harmless};
use crate::source::GrammarSource;
use crate::vocabulary;
use maskwright::{CompileOptions, GrammarCompiler, Limits};
use serde_json::json;
use std::sync::Arc;

/// Options of `lint`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground lint [OPTIONS] GRAMMAR_FILE\n       playground lint [OPTIONS] --regex PATTERN"
)]
pub struct Args {
    #[command(flatten)]
    pub file: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Most warnings whose lines are shown with a caret.
const CARETS_MAX: usize = 100;

/// Runs the command. The answer is yes if there is nothing to complain of.
///
/// # Errors
/// If the grammar can't be read or compiled.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let source = GrammarSource::read(&args.file.grammar, args.file.file.as_deref())?;
    let parsed: Vec<_> = source.parsed().into_iter().collect();
    let compiler = GrammarCompiler::new(Arc::new(vocabulary::of_bytes(&parsed)?));
    let compiled = source.compile_with(&compiler, &CompileOptions::default());
    let grammar = compiled.map_err(|error| source.failure(error))?;
    let mut warnings = grammar.warnings().to_vec();
    // Compiling doesn't look for these, which take as long again.
    warnings.extend(parsed.iter().flat_map(|grammar| grammar.exclusion_warnings(&Limits::default())));
    if args.json {
        output.json(&json!({
            "version": 1,
            "grammar": source.name,
            "form": source.form.name(),
            "warnings": source.warnings_json(&warnings),
        }));
        return Ok(Verdict::of(warnings.is_empty()));
    }
    let places = crate::places::Places::new(&source.text);
    for (index, warning) in warnings.iter().enumerate() {
        let text = harmless(&warning.to_string());
        let Some(span) = warning.span() else {
            output.line(format_args!("{}: {text}", source.name));
            continue;
        };
        let (line, column) = places.line_column(span.start as usize);
        output.line(format_args!("{}:{line}:{column}: {text}", source.name));
        if index < CARETS_MAX {
            let mut excerpt = String::new();
            span.write_caret(&source.text, &mut excerpt).expect("writing to a string succeeds");
            output.line(excerpt.trim_start_matches('\n'));
        }
    }
    output.line(format_args!("{}: {}", source.name, counted(warnings.len(), "warning")));
    Ok(Verdict::of(warnings.is_empty()))
}

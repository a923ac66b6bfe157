//! `playground lint`: probable mistakes in a grammar or schema, all of them, with their places.

use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::options::FileArgs;
use crate::output::{Output, counted, grouped, harmless, of_command};
use crate::source::GrammarSource;
use crate::vocabulary;
use maskwright::grammar::{EXCLUSION_OPERATORS_MAX, Expr, Grammar};
use maskwright::json_schema::SchemaReport;
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, Limits};
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
    let notes = cut_notes(&grammar, &parsed);
    if args.json {
        output.json(&json!({
            "version": 1,
            "grammar": source.name,
            "form": source.form.name(),
            "warnings": source.warnings_json(&warnings),
            "notes": notes,
        }));
        return Ok(Verdict::of(warnings.is_empty()));
    }
    let places = crate::places::Places::new(&source.text);
    for (index, warning) in warnings.iter().enumerate() {
        let text = harmless(&of_command(&warning.to_string()));
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
    notes.iter().for_each(|note| output.line(format_args!("{}: {note}", source.name)));
    Ok(Verdict::of(warnings.is_empty()))
}

/// Returns a sentence for each kind of mistake that was looked for up to a bound: there may be more than are listed.
fn cut_notes(grammar: &CompiledGrammar, parsed: &[Grammar]) -> Vec<String> {
    let mut notes = Vec::new();
    let warnings_max = SchemaReport::WARNINGS_MAX;
    if grammar.schema_reports().any(|(_, report)| report.warnings().len() >= warnings_max) {
        let n_mistakes = counted(warnings_max, "mistake");
        notes.push(format!("at most {n_mistakes} of a schema are looked for: correct these to see the others"));
    }
    let is_operator = |expr: &&Expr| matches!(expr, Expr::And(..) | Expr::Minus(..));
    let n_operators: usize = parsed.iter().map(|grammar| grammar.exprs().iter().filter(is_operator).count()).sum();
    if n_operators > EXCLUSION_OPERATORS_MAX {
        let n_operators = grouped(n_operators as u64);
        notes.push(format!(
            "the first {EXCLUSION_OPERATORS_MAX} of {n_operators} operators `&` and `-` were looked at: what others take away is not listed"
        ));
    }
    notes
}

//! `playground explain`: how each keyword of a schema is enforced; and in what two grammars differ.

use crate::check::{nanos, size_of};
use crate::cli::EXIT_CODES;
use crate::compare;
use crate::failure::{Failure, Verdict};
use crate::options::GrammarArgs;
use crate::output::{Output, counted, shown_time};
use crate::source::{Form, GrammarSource, check_stdin_once};
use crate::vocabulary;
use maskwright::json_schema::{Finding, Verdict as Fate};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Options of `explain`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground explain [OPTIONS] SCHEMA_FILE\n       playground explain [OPTIONS] GRAMMAR_FILE --diff GRAMMAR_FILE\n       playground explain [OPTIONS] --regex PATTERN --diff GRAMMAR_FILE"
)]
pub struct Args {
    /// The schema file; `-` is standard input. With --diff any grammar, or --regex in its place
    #[arg(value_name = "SCHEMA_FILE", required_unless_present = "regex", conflicts_with = "regex")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub grammar: GrammarArgs,
    /// Show only what is not enforced
    #[arg(long)]
    pub only_relaxed: bool,
    /// Compare with another grammar, read with the same options but --regex: are they equal, or which shortest text is of one and not of the other?
    #[arg(long, value_name = "GRAMMAR_FILE", conflicts_with = "only_relaxed")]
    pub diff: Option<PathBuf>,
    /// Most places at which grammars are compared
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "diff")]
    pub diff_places: usize,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the command. The answer is yes if every constraint is enforced, or no difference is found.
///
/// # Errors
/// If the schema can't be read or compiled.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    check_stdin_once([args.file.as_ref(), args.diff.as_ref()].into_iter().flatten().map(PathBuf::as_path))?;
    if let Some(other) = &args.diff {
        return compare::run(args, other, output);
    }
    let source = GrammarSource::read(&args.grammar, args.file.as_deref())?;
    let source = match source.form {
        Form::Schema(_) => source,
        form => {
            // What is no JSON, or a structural tag, is no schema either.
            let may_be_schema = !matches!(form, Form::Tag) && serde_json::from_str::<Value>(&source.text).is_ok();
            let hint = if may_be_schema { "--schema reads it as a schema, " } else { "" };
            return Err(Failure::Usage(format!(
                "explain is about JSON Schemas, and {} is {} ({hint}--diff compares it with another grammar)",
                source.name,
                form.name()
            )));
        }
    };
    let (grammar, time) = source.compile(Arc::new(vocabulary::of_bytes(&[])?))?;
    let report = grammar.schema_report().expect("it was compiled from a schema");
    let is_shown =
        |finding: &Finding| !args.only_relaxed || matches!(finding.verdict, Fate::Relaxed(_) | Fate::EnforcedInPart(_));
    if args.json {
        output.json(&json!({
            "version": 1,
            "schema": source.name,
            "is_exact": report.is_exact(),
            "findings": report.findings().filter(is_shown).map(to_json).collect::<Vec<_>>(),
            "warnings": source.warnings_json(grammar.warnings()),
            "n_states": grammar.n_states(),
            "compile_ns": nanos(time),
        }));
        return Ok(Verdict::of(report.is_exact()));
    }
    output.line(format_args!("{}: {}, compiled in {}", source.name, size_of(&grammar), shown_time(time)));
    let width = report.findings().map(|finding| finding.keyword.chars().count()).max().unwrap_or(0);
    let (mut n_enforced, mut n_in_part, mut n_relaxed, mut n_others) = (0, 0, 0, 0);
    for finding in report.findings() {
        let fate = match &finding.verdict {
            Fate::Enforced => "enforced".to_owned(),
            Fate::EnforcedInPart(what) => format!("ENFORCED IN PART: {what}"),
            Fate::Relaxed(reason) => format!("RELAXED: {reason}"),
            _ => "annotation".to_owned(),
        };
        *match &finding.verdict {
            Fate::Enforced => &mut n_enforced,
            Fate::EnforcedInPart(_) => &mut n_in_part,
            Fate::Relaxed(_) => &mut n_relaxed,
            _ => &mut n_others,
        } += 1;
        if is_shown(&finding) {
            output.line(format_args!(
                "  {:<width$}  {fate:<10}  {}",
                shown(&finding.keyword),
                shown(&finding.location)
            ));
        }
    }
    let n_others = counted(n_others, "annotation");
    output.line(format_args!("{n_enforced} enforced, {n_in_part} in part, {n_relaxed} relaxed, {n_others}"));
    Ok(Verdict::of(report.is_exact()))
}

/// Returns a text of the schema for a terminal: invisible characters are question marks.
fn shown(text: &str) -> String {
    text.chars().map(|c| if crate::output::is_unseen(c) { '?' } else { c }).collect()
}

fn to_json(finding: Finding) -> Value {
    let (verdict, reason) = match &finding.verdict {
        Fate::Enforced => ("enforced", None),
        Fate::EnforcedInPart(what) => ("enforced_in_part", Some(what)),
        Fate::Relaxed(reason) => ("relaxed", Some(reason)),
        _ => ("annotation", None),
    };
    json!({ "keyword": finding.keyword, "location": finding.location, "verdict": verdict, "reason": reason })
}

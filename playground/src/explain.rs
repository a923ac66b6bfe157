//! `playground explain`: how each keyword of a schema is enforced.

use crate::check::nanos;
use crate::cli::ExplainArgs;
use crate::failure::{Failure, Verdict};
use crate::output::{Output, counted, shown_time};
use crate::source::GrammarSource;
use crate::vocabulary;
use maskwright::json_schema::{Finding, Verdict as Fate};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs the command. The answer is yes if every constraint is enforced.
///
/// # Errors
/// If the schema can't be read or compiled.
pub fn run(args: &ExplainArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let source = GrammarSource::read_schema(&args.file, args.lenient)?;
    let (grammar, time) = source.compile(Arc::new(vocabulary::of_bytes(None)?))?;
    let report = grammar.schema_report().expect("it was compiled from a schema");
    if args.json {
        output.json(&json!({
            "schema": source.name,
            "is_exact": report.is_exact(),
            "findings": report.findings().map(to_json).collect::<Vec<_>>(),
            "n_rules": grammar.grammar().rules().len(),
            "n_states": grammar.n_states(),
            "compile_ns": nanos(time),
        }));
        return Ok(Verdict::of(report.is_exact()));
    }
    let (n_rules, n_states) = (counted(grammar.grammar().rules().len(), "rule"), counted(grammar.n_states(), "state"));
    output.line(format_args!("{}: {n_rules}, {n_states}, compiled in {}", source.name, shown_time(time)));
    let width = report.findings().map(|finding| finding.keyword.chars().count()).max().unwrap_or(0);
    let (mut n_enforced, mut n_relaxed, mut n_others) = (0, 0, 0);
    for finding in report.findings() {
        let fate = match &finding.verdict {
            Fate::Enforced => "enforced".to_owned(),
            Fate::EnforcedInPart(what) => format!("ENFORCED IN PART: {what}"),
            Fate::Relaxed(reason) => format!("RELAXED: {reason}"),
            _ => "annotation".to_owned(),
        };
        *match &finding.verdict {
            Fate::Enforced | Fate::EnforcedInPart(_) => &mut n_enforced,
            Fate::Relaxed(_) => &mut n_relaxed,
            _ => &mut n_others,
        } += 1;
        output.line(format_args!("  {:<width$}  {fate:<10}  {}", shown(&finding.keyword), shown(&finding.location)));
    }
    output.line(format_args!("{n_enforced} enforced, {n_relaxed} relaxed, {}", counted(n_others, "annotation")));
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

//! `playground check`: checks documents against a grammar and shows the first error of each.

use crate::cli::EXIT_CODES;
use crate::controls::{self, pieces};
use crate::exclusions::Exclusions;
use crate::failure::{Failure, Verdict};
use crate::options::GrammarArgs;
use crate::output::{Output, complain, counted, quoted_short, shown_time, unescaped};
use crate::refusal::Refusal;
use crate::source::{GrammarSource, check_stdin_once, read_file, shown_path};
use crate::vocabulary;
use maskwright::CompiledGrammar;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options of `check`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXIT_CODES,
    override_usage = "playground check [OPTIONS] GRAMMAR_FILE [DOCUMENT|-]...\n       playground check [OPTIONS] --regex PATTERN [DOCUMENT|-]..."
)]
pub struct Args {
    /// The grammar file (unless --regex is given), then documents; `-` is standard input
    ///
    /// A line end at the end of a document file, which editors add, may be missing in the grammar.
    #[arg(value_name = "FILE", required_unless_present = "regex")]
    pub files: Vec<PathBuf>,
    /// Check this text too, with the escapes \n \r \t \\ \xHH (can be repeated)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Vec<String>,
    #[command(flatten)]
    pub grammar: GrammarArgs,
    /// Read names of the grammar's control tokens in a document, such as `<|eot_id|>` or `<[7]>`, as those tokens
    #[arg(long)]
    pub control_tokens: bool,
    /// Drop one line end at the end of each document file, even if the grammar allows it
    #[arg(long, conflicts_with = "exact")]
    pub trim: bool,
    /// Read document files byte by byte: a line end at the end belongs to the document
    #[arg(long)]
    pub exact: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What becomes of the line end at the end of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LineEnd {
    /// It belongs to the document.
    Kept,
    /// It belongs to the document, unless the document matches without it only.
    Optional,
    /// It is dropped.
    Dropped,
}

/// Runs the command.
///
/// # Errors
/// If the grammar can't be read or compiled. Documents that can't be read, or not within the limits, are reported and the others
/// checked; the exit code says so.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let (grammar_file, files): (Option<&Path>, &[PathBuf]) = match (&args.grammar.regex, &args.files[..]) {
        (Some(_), files) => (None, files),
        (None, [first, files @ ..]) => (Some(first), files),
        (None, []) => (None, &[]),
    };
    check_stdin_once(grammar_file.into_iter().chain(files.iter().map(PathBuf::as_path)))?;
    let text = |text: &String| {
        let text = unescaped(text).map_err(Failure::Usage)?;
        Ok((quoted_short(&text, 40), text))
    };
    let texts: Vec<(String, Vec<u8>)> = args.text.iter().map(text).collect::<Result<_, Failure>>()?;
    let source = GrammarSource::read(&args.grammar, grammar_file)?;
    // Documents need no vocabulary: each byte is a token.
    let vocab = vocabulary::of_bytes(&source.parsed().into_iter().collect::<Vec<_>>())?;
    let (grammar, time) = source.compile(Arc::new(vocab))?;
    if !args.json && files.is_empty() && args.text.is_empty() {
        let size = size_of(&grammar);
        output.line(format_args!("{}: a grammar of {size}, compiled in {}", source.name, shown_time(time)));
    }
    let mut reports = Vec::new();
    let mut failure = None;
    let line_end = match () {
        () if args.exact => LineEnd::Kept,
        () if args.trim => LineEnd::Dropped,
        () => LineEnd::Optional,
    };
    let texts = texts.into_iter().map(|(name, text)| (name, Ok(text), LineEnd::Kept));
    let files = files.iter().map(|path| (shown_path(path), read_file(path), line_end));
    for (name, document, line_end) in texts.chain(files) {
        let outcome =
            document.and_then(|document| Outcome::of(&grammar, &source, &document, line_end, args.control_tokens));
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                match error {
                    Failure::File { .. } => complain(&format!("error: {error}")),
                    _ => complain(&format!("error: {name}: {error}")),
                }
                let mut report = error.to_json();
                report["document"] = name.into();
                reports.push(report);
                failure.get_or_insert(error);
                continue;
            }
        };
        if !args.json {
            outcome.print(&name, output);
        }
        reports.push(outcome.to_json(&name));
    }
    let notes = notes(&grammar, &reports);
    if !args.json {
        notes.iter().for_each(|note| output.line(format_args!("note: {note}")));
    }
    let all_match = reports.iter().all(|report| report["matches"] == true);
    if args.json {
        output.json(&json!({
            "version": 1,
            "grammar": {
                "name": source.name,
                "form": source.form.name(),
                "n_rules": n_rules(&grammar),
                "n_states": grammar.n_states(),
                "memory_bytes": grammar.memory_bytes(),
                "compile_ns": nanos(time),
                "warnings": source.warnings_json(grammar.warnings()),
            },
            "documents": reports,
            "notes": notes,
            "all_match": all_match,
        }));
    }
    match failure {
        Some(_) => Ok(Verdict::Unread),
        None => Ok(Verdict::of(all_match)),
    }
}

/// Returns sentences about what verdicts without a vocabulary leave out.
fn notes(grammar: &CompiledGrammar, reports: &[Value]) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if !reports.is_empty() && vocabulary::counts_tokens(grammar.grammar()) {
        notes.push("the grammar counts tokens (`max_tokens`), and without a vocabulary there are none to count: `trace` counts them");
    }
    let is_refused = reports.iter().any(|report| report["matches"] == false);
    if is_refused && vocabulary::has_token_sets(grammar.grammar()) {
        notes.push("the grammar has sets of tokens (like `!<|eot_id|>`), which read whole tokens and no text: `trace` reads them");
    }
    notes
}

/// Returns the number of rules that the author wrote; none for a schema, whose automata have no rules.
pub fn n_rules(grammar: &CompiledGrammar) -> Option<usize> {
    grammar.schema_report().is_none().then(|| grammar.grammar().rules().len())
}

/// Returns the size of a grammar in words.
pub fn size_of(grammar: &CompiledGrammar) -> String {
    let n_states = counted(grammar.n_states(), "state");
    match n_rules(grammar) {
        Some(n_rules) => format!("{}, {n_states}", counted(n_rules, "rule")),
        None => n_states,
    }
}

/// Returns a document without the line end at its end.
fn trimmed(document: &[u8]) -> &[u8] {
    let document = document.strip_suffix(b"\n").unwrap_or(document);
    document.strip_suffix(b"\r").unwrap_or(document)
}

/// Returns a time for programs.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The outcome for a document.
struct Outcome {
    n_bytes: usize,
    time: Duration,
    refusal: Option<Refusal>,
    /// It matches without the line end at its end.
    is_trimmed: bool,
    /// The exclusions of the grammar but for which the text could go on.
    exclusions: Vec<String>,
}

impl Outcome {
    fn of(
        grammar: &CompiledGrammar,
        source: &GrammarSource,
        document: &[u8],
        line_end: LineEnd,
        with_controls: bool,
    ) -> Result<Self, Failure> {
        let without = trimmed(document);
        if line_end == LineEnd::Dropped {
            return Self::of_text(grammar, source, without, with_controls);
        }
        let outcome = Self::of_text(grammar, source, document, with_controls)?;
        let may_trim = line_end == LineEnd::Optional && without.len() < document.len();
        if outcome.refusal.is_some() && may_trim {
            let trimmed = Self::of_text(grammar, source, without, with_controls)?;
            // Where neither matches, the error is one of the document without the line end, unless it is earlier.
            return Ok(Outcome { is_trimmed: trimmed.refusal.is_none(), ..trimmed });
        }
        Ok(outcome)
    }

    fn of_text(
        grammar: &CompiledGrammar,
        source: &GrammarSource,
        text: &[u8],
        with_controls: bool,
    ) -> Result<Self, Failure> {
        let all = pieces(text, grammar, with_controls);
        let mut matcher = grammar.matcher();
        let start = Instant::now();
        let refused_at = controls::accept(&mut matcher, text, &all)?;
        let time = start.elapsed();
        let is_match = refused_at.is_none() && matcher.is_accepting();
        let refusal = (!is_match).then(|| Refusal::new(grammar.matcher(), text, &all, refused_at));
        let exclusions = match &refusal {
            Some(_) => Exclusions::of(source, grammar).that_forbid_text(grammar, text, &all, refused_at),
            None => Vec::new(),
        };
        Ok(Outcome { n_bytes: text.len(), time, refusal, is_trimmed: false, exclusions })
    }

    fn print(&self, name: &str, output: &mut Output) {
        let Some(refusal) = &self.refusal else {
            let without = if self.is_trimmed { "; without the line end at its end" } else { "" };
            let (n_bytes, time) = (counted(self.n_bytes, "byte"), shown_time(self.time));
            output.line(format_args!("{name}: matches ({n_bytes}, {time}{without})"));
            return;
        };
        for (index, line) in refusal.lines().iter().enumerate() {
            match index {
                0 => output.line(format_args!("{name}: {line}")),
                _ => output.line(line),
            }
        }
        self.exclusions.iter().for_each(|line| output.line(format_args!(" {line}")));
    }

    fn to_json(&self, name: &str) -> Value {
        let mut report = json!({
            "document": name,
            "matches": self.refusal.is_none(),
            "n_bytes": self.n_bytes,
            "without_line_end": self.is_trimmed,
            "ns": nanos(self.time),
        });
        if let Some(refusal) = &self.refusal {
            refusal.add_to(&mut report);
            report["exclusions"] = self.exclusions.clone().into();
        }
        report
    }
}

//! `playground check`: checks documents against a grammar and shows the first error of each.

use crate::cli::CheckArgs;
use crate::controls::{self, Piece, pieces};
use crate::document::DocumentPosition;
use crate::expected::Expected;
use crate::failure::{Failure, Verdict};
use crate::output::{Output, complain, counted, quoted_short, shown_time};
use crate::source::{Form, GrammarSource, check_stdin_once, read_file, shown_path};
use crate::vocabulary;
use maskwright::frontend::{ebnf, lark};
use maskwright::{CompiledGrammar, Limits};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs the command.
///
/// # Errors
/// If the grammar can't be read or compiled. Documents that can't be read are reported and the others checked; the first such failure is
/// the outcome.
pub fn run(args: &CheckArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let (grammar_file, files): (Option<&Path>, &[PathBuf]) = match (&args.grammar.regex, &args.files[..]) {
        (Some(_), files) => (None, files),
        (None, [first, files @ ..]) => (Some(first), files),
        (None, []) => (None, &[]),
    };
    check_stdin_once(grammar_file.into_iter().chain(files.iter().map(PathBuf::as_path)))?;
    let source = GrammarSource::read(&args.grammar, grammar_file)?;
    let (grammar, time) = compile(&source)?;
    if !args.json && files.is_empty() && args.text.is_empty() {
        let size =
            format!("{}, {}", counted(grammar.grammar().rules().len(), "rule"), counted(grammar.n_states(), "state"));
        output.line(format_args!("{}: a grammar of {size}, compiled in {}", source.name, shown_time(time)));
    }
    let mut reports = Vec::new();
    let mut failure = None;
    let texts = args.text.iter().map(|text| (quoted_short(text.as_bytes(), 40), Ok(text.clone().into_bytes())));
    let files = files.iter().map(|path| (shown_path(path), read_file(path).map(|bytes| trimmed(bytes, args.trim))));
    for (name, document) in texts.chain(files) {
        let document = match document {
            Ok(document) => document,
            Err(error) => {
                complain(&format!("error: {error}"));
                let mut report = error.to_json();
                report["document"] = name.into();
                reports.push(report);
                failure.get_or_insert(error);
                continue;
            }
        };
        let outcome = Outcome::of(&grammar, &document, args.control_tokens);
        if !args.json {
            outcome.print(&name, output);
        }
        reports.push(outcome.to_json(&name));
    }
    let all_match = reports.iter().all(|report| report["matches"] == true);
    if args.json {
        output.json(&json!({
            "grammar": {
                "name": source.name,
                "n_rules": grammar.grammar().rules().len(),
                "n_states": grammar.n_states(),
                "memory_bytes": grammar.memory_bytes(),
                "compile_ns": nanos(time),
                "warnings": grammar.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
            },
            "documents": reports,
            "all_match": all_match,
        }));
    }
    match failure {
        Some(_) => Ok(Verdict::Unread),
        None => Ok(Verdict::of(all_match)),
    }
}

/// Compiles a grammar over single bytes: documents need no vocabulary.
fn compile(source: &GrammarSource) -> Result<(CompiledGrammar, Duration), Failure> {
    let parsed = match &source.form {
        Form::Ebnf { root } => ebnf::parse(&source.text, root, &Limits::default()).ok().map(|parsed| parsed.grammar),
        Form::Lark => lark::parse(&source.text, &Limits::default()).ok().map(|parsed| parsed.grammar),
        Form::Regex | Form::Schema { .. } => None,
    };
    let vocab = vocabulary::of_bytes(parsed.as_ref())?;
    source.compile(Arc::new(vocab))
}

fn trimmed(mut document: Vec<u8>, is_wanted: bool) -> Vec<u8> {
    if is_wanted && document.last() == Some(&b'\n') {
        document.pop();
        document.pop_if(|byte| *byte == b'\r');
    }
    document
}

/// Returns a time for programs.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The outcome for a document.
struct Outcome {
    n_bytes: usize,
    time: Duration,
    mismatch: Option<Mismatch>,
}

/// The position of the first error of a document, and what was expected there.
struct Mismatch {
    position: DocumentPosition,
    /// The document ends too early; otherwise the character at the position is refused.
    is_incomplete: bool,
    /// The character that is refused.
    found: String,
    expected: Expected,
}

impl Outcome {
    fn of(grammar: &CompiledGrammar, document: &[u8], with_controls: bool) -> Self {
        let all = pieces(document, grammar, with_controls);
        let mut matcher = grammar.matcher();
        let start = Instant::now();
        let refused_at = controls::accept(&mut matcher, document, &all);
        let time = start.elapsed();
        let is_match = refused_at.is_none() && matcher.is_accepting();
        let mismatch = (!is_match).then(|| {
            let offset = refused_at.unwrap_or(document.len());
            let read = controls::cut(&all, offset);
            // A fresh matcher: the first may be in the middle of the pieces.
            let mut matcher = grammar.matcher();
            controls::accept(&mut matcher, document, &read);
            let found = match all.iter().find(|piece| matches!(piece, Piece::Control { at, .. } if at.start == offset))
            {
                Some(Piece::Control { control, .. }) => crate::expected::shown_control(control),
                _ => found(document, offset),
            };
            let expected = Expected::new(&matcher, &document[..offset], &read);
            Mismatch {
                position: DocumentPosition::new(document, offset),
                is_incomplete: refused_at.is_none(),
                found,
                expected,
            }
        });
        Outcome { n_bytes: document.len(), time, mismatch }
    }

    fn print(&self, name: &str, output: &mut Output) {
        let Some(mismatch) = &self.mismatch else {
            output.line(format_args!("{name}: matches ({}, {})", counted(self.n_bytes, "byte"), shown_time(self.time)));
            return;
        };
        let DocumentPosition { line, column, offset, .. } = mismatch.position;
        let at = format!("line {line}, column {column} (byte {offset})");
        match mismatch.is_incomplete {
            true => output.line(format_args!("{name}: does not match: it is incomplete, and ends at {at}")),
            false => output.line(format_args!("{name}: does not match: {} is not allowed at {at}", mismatch.found)),
        }
        output.line(&mismatch.position);
        let mut label = "expected: ";
        for line in mismatch.expected.lines() {
            output.line(format_args!(" {label}{line}"));
            label = "      or: ";
        }
        if let Some(completion) = mismatch.expected.completion.as_ref().filter(|_| mismatch.is_incomplete) {
            output.line(format_args!(" shortest completion: {completion}"));
        }
        if mismatch.expected.open_rules.len() > 1 {
            let rules = &mismatch.expected.open_rules;
            let shown = rules.iter().take(6).map(String::as_str).collect::<Vec<_>>().join(" < ");
            let more = if rules.len() > 6 { format!(" < ... ({} rules)", rules.len()) } else { String::new() };
            output.line(format_args!(" reading: {shown}{more}"));
        }
    }

    fn to_json(&self, name: &str) -> Value {
        let mut report = json!({
            "document": name,
            "matches": self.mismatch.is_none(),
            "n_bytes": self.n_bytes,
            "ns": nanos(self.time),
        });
        if let Some(mismatch) = &self.mismatch {
            report["reason"] = if mismatch.is_incomplete { "incomplete" } else { "refused" }.into();
            report["offset"] = mismatch.position.offset.into();
            report["line"] = mismatch.position.line.into();
            report["column"] = mismatch.position.column.into();
            report["found"] = if mismatch.is_incomplete { Value::Null } else { mismatch.found.as_str().into() };
            if let (Value::Object(report), Value::Object(expected)) = (&mut report, mismatch.expected.to_json()) {
                report.extend(expected);
            }
        }
        report
    }
}

/// Shows the character, or else the byte, at an offset.
fn found(document: &[u8], offset: usize) -> String {
    let suffix = &document[offset.min(document.len())..];
    let head = &suffix[..suffix.len().min(4)];
    let chunk = head.utf8_chunks().next();
    match (chunk.and_then(|chunk| chunk.valid().chars().next()), suffix.first()) {
        (Some(c), _) => crate::output::quoted(c.encode_utf8(&mut [0; 4]).as_bytes()),
        (None, Some(byte)) => format!("byte \\x{byte:02X}"),
        (None, None) => "the end".to_owned(),
    }
}

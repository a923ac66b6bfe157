//! `playground demo`: constrained sampling without a model or any files.
//!
//! For each grammar and schema: compile, sample, and check the result independently of the grammar.

use crate::arithmetic;
use crate::check::nanos;
use crate::cli::EXIT_CODES;
use crate::failure::{Failure, Verdict};
use crate::output::{Output, counted, grouped, quoted, quoted_short, shown_time};
use crate::run::{Run, Step};
use crate::sampler::{Sampler, Style};
use crate::source::{Form, GrammarSource};
use maskwright::{CompiledGrammar, Encoding, Vocab};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const JSON_GRAMMAR: &str = include_str!("../grammars/json.ebnf");
const ARITHMETIC_GRAMMAR: &str = include_str!("../grammars/arithmetic.ebnf");

/// Options of `demo`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct Args {
    /// Seed of the sampler: the same seed, the same output
    #[arg(long, default_value_t = 85)]
    pub seed: u64,
    /// Most tokens of each output, the stop token included; the output is closed in time (twice the shortest if that is longer)
    #[arg(long, default_value_t = 80, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub max_tokens: u32,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// One grammar of the demo.
struct Show {
    title: &'static str,
    file: &'static str,
    text: &'static str,
    is_schema: bool,
    check: fn(&[u8]) -> Result<String, String>,
}

const TOOL_CALL_SCHEMA: &str = include_str!("../grammars/tool_call.schema.json");

const SHOWS: [Show; 3] = [
    Show { title: "any JSON", file: "grammars/json.ebnf", text: JSON_GRAMMAR, is_schema: false, check: check_json },
    Show {
        title: "arithmetic",
        file: "grammars/arithmetic.ebnf",
        text: ARITHMETIC_GRAMMAR,
        is_schema: false,
        check: check_arithmetic,
    },
    Show {
        title: "a tool call",
        file: "grammars/tool_call.schema.json",
        text: TOOL_CALL_SCHEMA,
        is_schema: true,
        check: check_tool_call,
    },
];

fn check_json(text: &[u8]) -> Result<String, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| format!("serde_json: {error}"))?;
    let size = match &value {
        Value::Object(members) => format!("an object with {}", counted(members.len(), "member")),
        Value::Array(items) => format!("an array with {}", counted(items.len(), "item")),
        Value::String(_) => "a string".into(),
        Value::Number(_) => "a number".into(),
        Value::Bool(_) | Value::Null => "a constant".into(),
    };
    Ok(format!("serde_json reads {size}"))
}

/// Checks the constraints of the tool call's schema by hand.
fn check_tool_call(text: &[u8]) -> Result<String, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| format!("serde_json: {error}"))?;
    let arguments = &value["arguments"];
    let id = arguments["restaurant"]["id"].as_str().and_then(|id| id.strip_prefix("r-")).unwrap_or_default();
    let cuisine = &arguments["restaurant"]["cuisine"];
    let date = arguments["date"].as_str().unwrap_or_default();
    let guests = arguments["guests"].as_u64().unwrap_or_default();
    let wishes = arguments["wishes"].as_array().map_or(&[][..], Vec::as_slice);
    let is_wish = |wish: &Value| wish.as_str().is_some_and(|text| (1..=24).contains(&text.chars().count()));
    let checks = [
        ("the name", value["name"] == "book_table"),
        ("the identifier", id.len() == 4 && id.bytes().all(|byte| byte.is_ascii_digit())),
        (
            "the cuisine",
            cuisine.is_null() || ["italian", "japanese", "mexican", "any"].iter().any(|name| cuisine == name),
        ),
        ("the date", date.len() == 10 && date.bytes().filter(|&byte| byte == b'-').count() == 2),
        ("the number of guests", (1..=12).contains(&guests)),
        ("the wishes", wishes.len() <= 3 && wishes.iter().all(is_wish)),
    ];
    match checks.iter().find(|(_, is_well)| !is_well) {
        Some((what, _)) => Err(format!("{what} is wrong")),
        None => Ok(format!("a table for {guests}, with {}", counted(wishes.len(), "wish").replace("wishs", "wishes"))),
    }
}

fn check_arithmetic(text: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let outcome = arithmetic::evaluate(text)?;
    Ok(match outcome.n_names {
        0 => format!("its value is {}", outcome.value),
        n_names => format!("it parses, with {}", counted(n_names, "name")),
    })
}

/// Runs the command.
///
/// # Errors
/// If no token can follow, which would be a bug of the engine.
pub fn run(args: &Args, output: &mut Output) -> Result<Verdict, Failure> {
    let start = Instant::now();
    let vocab = Vocab::tiktoken(Encoding::Cl100kBase)
        .map_err(|error| Failure::Vocabulary { from: Encoding::Cl100kBase.name().into(), error })?;
    let vocab = Arc::new(vocab);
    let vocab_time = start.elapsed();
    let mut sampler = Sampler::new(&vocab, args.seed, Style::Text);
    if !args.json {
        let (name, n_tokens) = (Encoding::Cl100kBase.name(), grouped(vocab.n_tokens() as u64));
        output.line(format_args!("vocabulary {name}: {n_tokens} tokens, ready in {}", shown_time(vocab_time)));
    }
    let mut reports = Vec::new();
    let mut all_pass = true;
    for show in &SHOWS {
        let form = match show.is_schema {
            true => Form::Schema(Box::default()),
            false => Form::Ebnf { root: "root".into() },
        };
        let source = GrammarSource { name: show.file.into(), text: show.text.into(), form };
        let (grammar, compile_time) = source.compile(Arc::clone(&vocab))?;
        if !args.json {
            print_head(show, &grammar, compile_time, args, output);
        }
        let (run, _) = Run::with_room(grammar.matcher(), args.max_tokens as usize)?;
        let run = run.finish(&mut sampler, |step| {
            if !args.json {
                print_step(step, &vocab, output);
            }
        })?;
        let verdict = (show.check)(&run.text);
        all_pass &= verdict.is_ok();
        if args.json {
            reports.push(to_json(&run, show, &vocab, compile_time, &verdict));
        } else {
            print(&run, compile_time, &verdict, output);
        }
    }
    if args.json {
        output.json(&json!({
            "version": 1,
            "vocabulary": { "name": Encoding::Cl100kBase.name(), "n_tokens": vocab.n_tokens(), "ns": nanos(vocab_time) },
            "seed": args.seed,
            "max_tokens": args.max_tokens,
            "runs": reports,
            "all_pass": all_pass,
        }));
    }
    Ok(Verdict::of(all_pass))
}

fn print(run: &Run, compile_time: Duration, verdict: &Result<String, String>, output: &mut Output) {
    let totals = Totals::new(&run.steps);
    output.line(format_args!("\n{}\n", indented(&String::from_utf8_lossy(&run.text))));
    output.line(format_args!(
        "  {} in {} and {} appended as forced text, stop token included; the budget is {}",
        counted(run.n_used, "token"),
        counted(run.steps.len(), "step"),
        grouped(run.n_appended as u64),
        grouped(run.max_tokens as u64)
    ));
    let mut times = |label: &str, fill: Duration, accept: Duration, note: &str| {
        let (both, fill, accept) = (shown_time(fill + accept), shown_time(fill), shown_time(accept));
        output.line(format_args!("  {label:<12} mask {fill:>8} + accept {accept:>8} = {both:>8} a step{note}"));
    };
    let (first_fill, compile) = (shown_time(totals.first_fill), shown_time(compile_time));
    let note = format!("; the first mask took {first_fill}, compiling before it {compile}");
    times("first time:", totals.mean_fill, totals.mean_accept, &note);
    let (fill, accept) = run.again();
    times("once more:", fill, accept, "; every state was seen");
    output.line(match verdict {
        Ok(found) => format!("  check passed: {found}"),
        Err(error) => format!("  CHECK FAILED: {error}"),
    });
}

fn to_json(run: &Run, show: &Show, vocab: &Vocab, compile_time: Duration, verdict: &Result<String, String>) -> Value {
    let totals = Totals::new(&run.steps);
    let (again_fill, again_accept) = run.again();
    let step = |step: &Step| {
        json!({
            "n_allowed": step.n_allowed,
            "token": step.token,
            "text": String::from_utf8_lossy(vocab.bytes(step.token)),
            "is_closing": step.is_closing,
            "forced": step.forced,
            "fill_ns": nanos(step.fill_time),
            "accept_ns": nanos(step.accept_time),
            "forced_ns": nanos(step.forced_time),
        })
    };
    json!({
        "grammar": show.file,
        "output": String::from_utf8_lossy(&run.text),
        "steps": run.steps.iter().map(step).collect::<Vec<_>>(),
        "max_tokens": run.max_tokens,
        "n_tokens": run.n_used,
        "n_appended": run.n_appended,
        "n_forced": crate::forced::count(run.matcher().grammar().matcher(), &run.tokens()),
        "compile_ns": nanos(compile_time),
        "first_mask_ns": nanos(totals.first_fill),
        "mean_mask_ns": nanos(totals.mean_fill),
        "mean_accept_ns": nanos(totals.mean_accept),
        "again_mean_mask_ns": nanos(again_fill),
        "again_mean_accept_ns": nanos(again_accept),
        "passes": verdict.is_ok(),
        "check": match verdict { Ok(text) | Err(text) => text },
    })
}

/// Total times of all steps.
struct Totals {
    first_fill: Duration,
    mean_fill: Duration,
    mean_accept: Duration,
}

impl Totals {
    fn new(steps: &[Step]) -> Self {
        let mean = |times: &mut dyn Iterator<Item = Duration>| {
            let (sum, n) = times.fold((Duration::ZERO, 0u32), |(sum, n), time| (sum + time, n + 1));
            sum / n.max(1)
        };
        Totals {
            first_fill: steps.first().map_or(Duration::ZERO, |step| step.fill_time),
            mean_fill: mean(&mut steps.iter().map(|step| step.fill_time)),
            mean_accept: mean(&mut steps.iter().map(|step| step.accept_time)),
        }
    }
}

fn print_head(show: &Show, grammar: &CompiledGrammar, compile_time: Duration, args: &Args, output: &mut Output) {
    let (n_rules, n_states) = (counted(grammar.grammar().rules().len(), "rule"), counted(grammar.n_states(), "state"));
    output.line(format_args!(
        "\n{} ({}): {n_rules}, {n_states}, compiled in {}; seed {}\n",
        show.title,
        show.file,
        shown_time(compile_time),
        args.seed
    ));
    output.line(format_args!("{:>6} {:>9} {:>9} {:>9}  token", "step", "allowed", "mask", "accept"));
}

fn print_step(step: &Step, vocab: &Vocab, output: &mut Output) {
    let shown = match vocab.name(step.token) {
        Some(name) => name.to_owned(),
        None => quoted_short(vocab.bytes(step.token), 40),
    };
    let forced =
        if step.forced.is_empty() { String::new() } else { format!("   forced {}", quoted(step.forced.as_bytes())) };
    let closing = if step.is_closing { "   to end in time" } else { "" };
    output.line(format_args!(
        "{:>6} {:>9} {:>9} {:>9}  {shown}{forced}{closing}",
        step.index,
        grouped(step.n_allowed as u64),
        shown_time(step.fill_time),
        shown_time(step.accept_time)
    ));
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

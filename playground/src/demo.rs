//! `playground demo`: constrained sampling without a model or any files.
//!
//! For each grammar and schema: compile, then sample token by token as an inference engine does (fill the mask, choose, accept), with forced
//! text appended without a choice. The output always ends within the budget: before each choice the reference recognizer finds a shortest
//! completion of the text with the chosen token. Every byte is a token, so a completion of n bytes takes at most n tokens and the stop
//! token; once a choice would not leave room for that, the completion is written instead. The result is then checked independently of the
//! grammar.

use crate::arithmetic;
use crate::check::nanos;
use crate::cli::DemoArgs;
use crate::failure::{Failure, Verdict};
use crate::output::{Output, counted, grouped, quoted, quoted_short, shown_time};
use crate::sampler::{Sampler, View};
use crate::source::{Form, GrammarSource};
use maskwright::reference::{Chart, Recognizer, Symbol};
use maskwright::{CompiledGrammar, Encoding, Limits, MatchError, Matcher, TokenId, TokenMask, Vocab};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const JSON_GRAMMAR: &str = include_str!("../grammars/json.ebnf");
const ARITHMETIC_GRAMMAR: &str = include_str!("../grammars/arithmetic.ebnf");

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
pub fn run(args: &DemoArgs, output: &mut Output) -> Result<Verdict, Failure> {
    let start = Instant::now();
    let vocab = Vocab::tiktoken(Encoding::Cl100kBase)
        .map_err(|error| Failure::Vocabulary { from: Encoding::Cl100kBase.name().into(), error })?;
    let vocab = Arc::new(vocab);
    let vocab_time = start.elapsed();
    let mut sampler = Sampler::new(&vocab, args.seed);
    if !args.json {
        let (name, n_tokens) = (Encoding::Cl100kBase.name(), grouped(vocab.n_tokens() as u64));
        output.line(format_args!("vocabulary {name}: {n_tokens} tokens, ready in {}", shown_time(vocab_time)));
    }
    let mut reports = Vec::new();
    let mut all_pass = true;
    for show in &SHOWS {
        let form = match show.is_schema {
            true => Form::Schema { is_lenient: false },
            false => Form::Ebnf { root: "root".into() },
        };
        let source = GrammarSource { name: show.file.into(), text: show.text.into(), form };
        let (grammar, compile_time) = source.compile(Arc::clone(&vocab))?;
        if !args.json {
            print_head(show, &grammar, compile_time, args, output);
        }
        let run = Run::with_room(&grammar, args.max_tokens as usize)?.finish(&mut sampler, |step| {
            if !args.json {
                print_step(step, &vocab, output);
            }
        })?;
        let verdict = (show.check)(&run.text);
        all_pass &= verdict.is_ok();
        if args.json {
            reports.push(run.to_json(show, &vocab, compile_time, &verdict));
        } else {
            run.print(compile_time, &verdict, output);
        }
    }
    if args.json {
        output.json(&json!({
            "vocabulary": { "name": Encoding::Cl100kBase.name(), "n_tokens": vocab.n_tokens(), "ns": nanos(vocab_time) },
            "seed": args.seed,
            "max_tokens": args.max_tokens,
            "runs": reports,
            "all_pass": all_pass,
        }));
    }
    Ok(Verdict::of(all_pass))
}

/// One decoding step.
#[derive(Clone, Debug)]
pub struct Step {
    index: usize,
    n_allowed: usize,
    pub token: TokenId,
    /// The token closes the text because the budget is nearly used.
    is_closing: bool,
    /// The forced text after the token.
    forced: String,
    fill_time: Duration,
    accept_time: Duration,
    forced_time: Duration,
}

/// An output in progress.
pub struct Run {
    matcher: Matcher,
    chart: Chart,
    max_tokens: usize,
    pub text: Vec<u8>,
    pub n_used: usize,
    pub n_forced: usize,
    pub steps: Vec<Step>,
}

impl Run {
    /// Returns the empty output.
    ///
    /// # Errors
    /// If the budget is too small for any output.
    pub fn new(grammar: &CompiledGrammar, max_tokens: usize) -> Result<Self, Failure> {
        let run = Run::with_room(grammar, max_tokens)?;
        if run.max_tokens > max_tokens {
            let n_least = n_tokens_to_end(&run.chart);
            return Err(Failure::Usage(format!(
                "--max-tokens {max_tokens} is too small: the shortest output takes {n_least}"
            )));
        }
        Ok(run)
    }

    /// Returns the empty output; a budget that is too small for any output becomes twice that of the shortest.
    fn with_room(grammar: &CompiledGrammar, max_tokens: usize) -> Result<Self, Failure> {
        let recognizer = Recognizer::new(grammar.expanded_grammar(), &Limits::default())
            .map_err(|error| Failure::Usage(format!("the reference recognizer can't read the grammar: {error}")))?;
        let chart = recognizer.start();
        let n_least = n_tokens_to_end(&chart);
        let max_tokens = if n_least > max_tokens { n_least.saturating_mul(2) } else { max_tokens };
        Ok(Run { matcher: grammar.matcher(), chart, max_tokens, text: vec![], n_used: 0, n_forced: 0, steps: vec![] })
    }

    /// Samples to the end.
    ///
    /// # Errors
    /// If nothing may follow, or reference recognizer and mask differ.
    pub fn finish(mut self, sampler: &mut Sampler, mut tell: impl FnMut(&Step)) -> Result<Self, Failure> {
        let vocab = Arc::clone(self.matcher.grammar().vocab());
        let mut mask = TokenMask::new(vocab.n_tokens());
        while !self.matcher.is_terminated() {
            let start = Instant::now();
            self.matcher.fill_mask(mask.as_words_mut()).map_err(|error| unexpected(&error))?;
            let fill_time = start.elapsed();
            let (token, is_closing) = self.choose(sampler, &mask, &vocab)?;
            let start = Instant::now();
            self.matcher.accept_token(token).map_err(|error| unexpected(&error))?;
            let accept_time = start.elapsed();
            self.chart.push_bytes(vocab.bytes(token));
            self.text.extend_from_slice(vocab.bytes(token));
            self.n_used += 1;
            let start = Instant::now();
            let forced = self.matcher.jump_forward_text();
            if !forced.is_empty() {
                self.matcher.accept_bytes(forced.as_bytes()).map_err(|error| unexpected(&error))?;
            }
            let forced_time = start.elapsed();
            self.chart.push_bytes(forced.as_bytes());
            self.text.extend_from_slice(forced.as_bytes());
            // Forced text is part of every completion, so this stays within the budget.
            let n_forced = vocab.tokenize_greedy(forced.as_bytes()).len();
            (self.n_used, self.n_forced) = (self.n_used + n_forced, self.n_forced + n_forced);
            let index = self.steps.len() + 1;
            let n_allowed = mask.count();
            let step = Step { index, n_allowed, token, is_closing, forced, fill_time, accept_time, forced_time };
            tell(&step);
            self.steps.push(step);
        }
        Ok(self)
    }

    /// Returns an allowed token that leaves room to end, and whether it was chosen to end in time.
    fn choose(&mut self, sampler: &mut Sampler, mask: &TokenMask, vocab: &Vocab) -> Result<(TokenId, bool), Failure> {
        const N_TRIES: usize = 8;
        let used = (1.5 * self.n_used as f64 / self.max_tokens as f64).min(1.0);
        let view = View { text: &self.text, used, is_accepting: self.matcher.is_accepting() };
        let stop = vocab.stop_tokens().first().copied().filter(|_| view.is_accepting);
        if let Some(stop) = stop
            && sampler.wants_end(view)
        {
            return Ok((stop, false));
        }
        for _ in 0..N_TRIES {
            let Some(token) = sampler.draw(mask, vocab, view) else { break };
            let len = self.chart.len();
            let n_read = self.chart.push_bytes(vocab.bytes(token));
            let n_to_end = n_tokens_to_end(&self.chart);
            self.chart.truncate(len);
            if n_read < vocab.bytes(token).len() {
                return Err(Failure::Stuck(format!(
                    "the reference recognizer refuses token {token}, which the mask allows"
                )));
            }
            let has_room = self.n_used + 1 + n_to_end <= self.max_tokens;
            // Only white space could follow: too early in the first half of the budget.
            let is_early = used < 0.5 && n_to_end == 1 && self.ends_with(token, vocab);
            if has_room && !is_early {
                return Ok((token, false));
            }
        }
        if let Some(stop) = stop {
            return Ok((stop, true));
        }
        // The longest allowed token that is a prefix of a shortest completion; a single byte always is one.
        let completion: Vec<u8> = self.chart.shortest_completion().iter().map_while(byte_of).collect();
        let tokens = (1..=completion.len().min(vocab.token_bytes_max())).rev().filter_map(|len| {
            let node = vocab.trie().find(&completion[..len])?;
            vocab.trie().tokens(node).iter().copied().find(|&token| mask.contains(token))
        });
        let token = tokens.take(1).next();
        token.map(|token| (token, true)).ok_or_else(|| Failure::Stuck("no token closes the output".into()))
    }

    /// Returns whether after the token only white space can follow.
    fn ends_with(&self, token: TokenId, vocab: &Vocab) -> bool {
        let mut ahead = self.matcher.fork();
        let Ok(mask) = ahead.accept_token(token).and_then(|()| ahead.mask()) else { return false };
        let is_blank = |token: TokenId| vocab.bytes(token).iter().all(u8::is_ascii_whitespace);
        mask.iter().all(is_blank)
    }

    /// Replays the steps with warm caches; returns the mean time of masks and of accepts.
    fn again(&self) -> (Duration, Duration) {
        let mut matcher = self.matcher.grammar().matcher();
        let mut mask = TokenMask::new(matcher.grammar().vocab().n_tokens());
        let (mut fill_time, mut accept_time) = (Duration::ZERO, Duration::ZERO);
        for step in &self.steps {
            let start = Instant::now();
            let filled = matcher.fill_mask(mask.as_words_mut());
            fill_time += start.elapsed();
            let start = Instant::now();
            let accepted = matcher.accept_token(step.token);
            accept_time += start.elapsed();
            let forced = matcher.accept_bytes(step.forced.as_bytes());
            debug_assert!(filled.is_ok() && accepted.is_ok() && (forced.is_ok() || matcher.is_terminated()));
        }
        let n_steps = self.steps.len().max(1) as u32;
        (fill_time / n_steps, accept_time / n_steps)
    }

    fn print(&self, compile_time: Duration, verdict: &Result<String, String>, output: &mut Output) {
        let totals = Totals::new(&self.steps);
        output.line(format_args!("\n{}\n", indented(&String::from_utf8_lossy(&self.text))));
        output.line(format_args!(
            "  {} in {} and {} forced, stop token included; the budget is {}",
            counted(self.n_used, "token"),
            counted(self.steps.len(), "step"),
            grouped(self.n_forced as u64),
            grouped(self.max_tokens as u64)
        ));
        let mut times = |label: &str, fill: Duration, accept: Duration, note: &str| {
            let (both, fill, accept) = (shown_time(fill + accept), shown_time(fill), shown_time(accept));
            output.line(format_args!("  {label:<12} mask {fill:>8} + accept {accept:>8} = {both:>8} a step{note}"));
        };
        let (first_fill, compile) = (shown_time(totals.first_fill), shown_time(compile_time));
        let note = format!("; the first mask took {first_fill}, compiling before it {compile}");
        times("first time:", totals.mean_fill, totals.mean_accept, &note);
        let (fill, accept) = self.again();
        times("once more:", fill, accept, "; every state was seen");
        output.line(match verdict {
            Ok(found) => format!("  check passed: {found}"),
            Err(error) => format!("  CHECK FAILED: {error}"),
        });
    }

    fn to_json(&self, show: &Show, vocab: &Vocab, compile_time: Duration, verdict: &Result<String, String>) -> Value {
        let totals = Totals::new(&self.steps);
        let (again_fill, again_accept) = self.again();
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
            "output": String::from_utf8_lossy(&self.text),
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "max_tokens": self.max_tokens,
            "n_tokens": self.n_used,
            "n_forced": self.n_forced,
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
}

/// Returns a number of tokens that suffices to end: one for each missing byte, and the stop token.
fn n_tokens_to_end(chart: &Chart) -> usize {
    usize::try_from(chart.completion_len()).unwrap_or(usize::MAX).saturating_add(1)
}

fn byte_of(symbol: &Symbol) -> Option<u8> {
    match symbol {
        Symbol::Byte(byte) => Some(*byte),
        Symbol::Control(_) | Symbol::TokenExcept(_) => None,
    }
}

fn unexpected(error: &MatchError) -> Failure {
    Failure::Stuck(error.to_string())
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

fn print_head(show: &Show, grammar: &CompiledGrammar, compile_time: Duration, args: &DemoArgs, output: &mut Output) {
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

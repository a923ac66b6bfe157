//! Tools as a choice: 1, 16, 128 and 400 of them in three styles of calls, each with six parameters of its own.
//!
//! For each style and number: compile (into an empty compiler whose vocabulary is loaded), compile again with one tool changed, first mask, and mask +
//! accept over transcripts of calls to tools all over the list. The output is one call or several, a line end between them. The peer `llguidance`
//! reads the same language as Lark with `%json`; it has no style of parameters that are no JSON. The peer `xgrammar` reads the same structural tag, with strict schemas as by default.
//!
//! `cargo bench -p maskwright-bench --bench tools`
//!
//! Behind `--`: a part of the names of the lines to measure, like `parameters/128`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use maskwright_bench::engine::allows;
use maskwright_bench::ours::Ours;
use maskwright_bench::{Engine, Session, ToolEngine, ToolGrammar, Vocabulary};

const COUNTS: [usize; 4] = [1, 16, 128, 400];
const COMPILES: usize = 7;
/// No compile is measured again after so long.
const MEASURE_MAX: Duration = Duration::from_secs(10);
/// Calls in a transcript, and how often it is read.
const CALLS: usize = 12;
const PASSES: usize = 3;

/// How a call is written.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// `<tool_call>\n{"name": "f", "arguments": {...}}\n</tool_call>`
    Hermes,
    /// `<function=f>{...}</function>`
    Function,
    /// `<function=f>\n<parameter=k>\nv\n</parameter>\n</function>`
    Parameters,
}

impl Style {
    const ALL: [(&'static str, Style); 3] =
        [("hermes", Style::Hermes), ("function", Style::Function), ("parameters", Style::Parameters)];

    /// Returns what begins and what ends a call.
    fn edges(self, name: &str) -> (String, &'static str) {
        match self {
            Style::Hermes => (format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": "), "}\n</tool_call>"),
            Style::Function => (format!("<function={name}>"), "</function>"),
            Style::Parameters => (format!("<function={name}>\n"), "\n</function>"),
        }
    }
}

/// A tool of six parameters, whose number is in some of their names.
fn schema(n: usize) -> String {
    format!(
        r#"{{"type": "object", "properties": {{"path_{n}": {{"type": "string", "description": "Where to look"}}, "recursive": {{"type": "boolean"}}, "limit_{n}": {{"type": "integer", "minimum": 1, "maximum": {}}}, "mode": {{"enum": ["read", "write", "append_{n}"]}}, "tags": {{"type": "array", "items": {{"type": "string"}}}}, "options_{n}": {{"type": "object", "properties": {{"encoding": {{"type": "string"}}, "timeout": {{"type": "number"}}}}, "required": ["encoding"], "additionalProperties": false}}}}, "required": ["path_{n}", "mode"], "additionalProperties": false}}"#,
        100 + n
    )
}

fn name(n: usize) -> String {
    format!("get_things_{n}")
}

/// Returns the structural tag and the Lark grammar of some tools.
fn grammar(style: Style, tools: &[usize]) -> ToolGrammar {
    let (mut tags, mut lark) = (Vec::new(), String::from("start: call (\"\\n\" call)*\ncall: "));
    let calls: Vec<String> = tools.iter().map(|n| format!("call_{n}")).collect();
    lark += &calls.join(" | ");
    for &n in tools {
        let (begin, end) = style.edges(&name(n));
        let (begin, end) = (serde_json::to_string(&begin).unwrap(), serde_json::to_string(end).unwrap());
        let format = if style == Style::Parameters { r#", "style": "qwen_xml""# } else { "" };
        tags.push(format!(
            r#"{{"type": "tag", "begin": {begin}, "content": {{"type": "json_schema", "json_schema": {}{format}}}, "end": {end}}}"#,
            schema(n)
        ));
        write!(lark, "\ncall_{n}: {begin} args_{n} {end}\nargs_{n}: %json {}", schema(n)).unwrap();
    }
    let structural_tag = format!(
        r#"{{"type": "structural_tag", "format": {{"type": "tags_with_separator", "separator": "\n", "at_least_one": true, "tags": [{}]}}}}"#,
        tags.join(", ")
    );
    ToolGrammar { structural_tag, lark: (style != Style::Parameters).then_some(lark) }
}

/// Returns a transcript of calls to tools all over the list.
fn transcript(style: Style, n_tools: usize) -> String {
    let call = |index: usize| {
        let n = index * 37 % n_tools;
        let (begin, end) = style.edges(&name(n));
        let arguments = match style {
            Style::Parameters => format!(
                "<parameter=path_{n}>\n/var/log/service {index}\n</parameter>\n<parameter=recursive>\ntrue\n</parameter>\n<parameter=mode>\nwrite\n</parameter>\n<parameter=tags>\n[\"a\", \"nightly build\"]\n</parameter>"
            ),
            _ => format!(
                r#"{{"path_{n}": "/var/log/service {index}", "recursive": true, "limit_{n}": {}, "mode": "append_{n}", "tags": ["a", "nightly build"], "options_{n}": {{"encoding": "utf-8", "timeout": 2.5}}}}"#,
                1 + index
            ),
        };
        format!("{begin}{arguments}{end}")
    };
    (0..CALLS).map(call).collect::<Vec<_>>().join("\n")
}

/// Returns the least of several measurements, of fewer if they take long.
fn least(mut measure: impl FnMut() -> Duration) -> Duration {
    let (start, mut least) = (Instant::now(), Duration::MAX);
    for _ in 0..COMPILES {
        least = least.min(measure());
        if start.elapsed() > MEASURE_MAX {
            break;
        }
    }
    least
}

fn measure<E: ToolEngine>(
    engine: &mut E,
    vocabulary: &Vocabulary,
    style: Style,
    n_tools: usize,
) -> Result<String, String> {
    let all: Vec<usize> = (0..n_tools).collect();
    let text = grammar(style, &all);
    // The tool in the middle is another one.
    let changed: Vec<usize> = all.iter().map(|&n| if n == n_tools / 2 { 1000 } else { n }).collect();
    let changed = grammar(style, &changed);
    let mut again = Vec::new();
    let cold = least(|| {
        engine.forget();
        let start = Instant::now();
        let compiled = engine.compile_tools(&text);
        let cold = start.elapsed();
        drop(compiled);
        let start = Instant::now();
        drop(engine.compile_tools(&changed));
        again.push(start.elapsed());
        cold
    });
    engine.forget();
    let compiled = engine.compile_tools(&text)?;
    let mut row = vec![0u32; vocabulary.n_mask_words()];
    let start = Instant::now();
    engine.start(&compiled).fill(&mut row);
    let first = start.elapsed();
    let tokens = vocabulary.encode(&transcript(style, n_tools));
    let mut steps = Vec::with_capacity(PASSES * tokens.len());
    for _ in 0..PASSES {
        let mut session = engine.start(&compiled);
        for &token in &tokens {
            let start = Instant::now();
            session.fill(&mut row);
            let is_allowed = allows(&row, token);
            let is_accepted = session.accept(token);
            steps.push(start.elapsed());
            if !is_allowed || !is_accepted {
                return Err(format!("token {} is refused", vocabulary.show(&[token])));
            }
        }
    }
    let total: Duration = steps.iter().sum();
    let average = total / steps.len() as u32;
    steps.sort_unstable();
    let quantile = |q: f64| steps[((steps.len() - 1) as f64 * q) as usize];
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    Ok(format!(
        "{:>9.0} {:>9.0} {:>9.0} {:>8.2} {:>8.2} {:>8.1} {:>8.0}",
        micros(cold),
        micros(again.into_iter().min().expect("as often as the other")),
        micros(first),
        micros(average),
        micros(quantile(0.5)),
        micros(quantile(0.99)),
        micros(quantile(1.0)),
    ))
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let vocabulary = Vocabulary::cl100k();
    println!(
        "{:26} {:12} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8}",
        "style/tools", "engine", "compile", "changed", "1st mask", "avg", "p50", "p99", "max us"
    );
    let mut ours = Ours::load(&vocabulary);
    #[cfg(feature = "llguidance")]
    let mut llguidance = maskwright_bench::llguidance::Llguidance::load(&vocabulary);
    #[cfg(feature = "xgrammar")]
    let mut xgrammar = maskwright_bench::xgrammar::Xgrammar::load(&vocabulary);
    for (name, style) in Style::ALL {
        for n_tools in COUNTS {
            let id = format!("{name}/{n_tools}");
            if !id.contains(&wanted) {
                continue;
            }
            report(&id, &mut ours, &vocabulary, style, n_tools);
            #[cfg(feature = "llguidance")]
            report(&id, &mut llguidance, &vocabulary, style, n_tools);
            #[cfg(feature = "xgrammar")]
            report(&id, &mut xgrammar, &vocabulary, style, n_tools);
        }
    }
}

fn report<E: ToolEngine>(id: &str, engine: &mut E, vocabulary: &Vocabulary, style: Style, n_tools: usize) {
    match measure(engine, vocabulary, style, n_tools) {
        Ok(figures) => println!("{id:26} {:12} {figures}", E::NAME),
        Err(error) => println!("{id:26} {:12} {error}", E::NAME),
    }
}

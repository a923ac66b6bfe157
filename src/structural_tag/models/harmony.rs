//! Harmony, the format of gpt-oss: messages with channels.

use super::document;
use super::layout::{self, Markers};
use super::request::{Need, Plan, Tool};

const ANALYSIS: Markers = Markers { begin: "<|channel|>analysis<|message|>", end: "<|end|>" };
/// Text before a call.
const PREAMBLE: Markers = Markers { begin: "<|channel|>commentary<|message|>", end: "<|end|>" };
const FINAL: Markers = Markers { begin: "<|channel|>final<|message|>", end: "<|return|>" };

/// What begins the next message.
const NEXT: &str = "<|start|>assistant";

/// What begins or ends a message, and thus is in no text.
const EXCLUDES: [&str; 5] = ["<|start|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>"];

/// Returns the format of an output: analysis, and a final message or one call. The prompt ends with `<|start|>assistant`, or inside the analysis.
///
/// A call ends the output, so that there is never a second one. Tokenizers may have its end, and that of a final message, as stop tokens.
pub(super) fn output(plan: &Plan<'_>) -> String {
    let next = document::const_string(NEXT);
    let analysis = layout::reasoning(ANALYSIS, plan.thinking);
    let mut elements: Vec<String> = analysis.into_iter().flat_map(|analysis| [analysis, next.clone()]).collect();
    let text = document::any_text(&EXCLUDES);
    let last = document::tag(FINAL.begin, &text, &[FINAL.end, ""]);
    let call = || document::one_of(plan.tools.iter().map(|tool| call(tool)).collect());
    elements.push(match plan.need {
        Need::Never => last,
        Need::Maybe => {
            let preamble = document::tag(PREAMBLE.begin, &text, &[PREAMBLE.end]);
            let preamble = document::optional(&document::sequence(vec![preamble, next]));
            document::one_of(vec![last, document::sequence(vec![preamble, call()])])
        }
        Need::Always => call(),
    });
    document::sequence(elements)
}

/// Returns the format of a call. The recipient stands behind the channel or before it.
fn call(tool: &Tool) -> String {
    let name = &tool.name;
    let heads = [
        format!("<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"),
        format!("<|channel|>commentary to=functions.{name}<|constrain|>json<|message|>"),
        format!(" to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>"),
        format!(" to=functions.{name}<|channel|>commentary json<|message|>"),
    ];
    let head = document::one_of(heads.iter().map(|head| document::const_string(head)).collect());
    let arguments = document::json_schema("json", tool.schema());
    document::sequence(vec![head, arguments, document::const_string("<|call|>")])
}

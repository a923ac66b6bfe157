//! Kimi: K2 with JSON, K3 with parameters and blocks around everything.

use super::document;
use super::layout::{self, Layout, Markers, Part, THINK, Text};
use super::request::{Need, Plan, Thinking};

/// `<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`
pub(super) const K2: Layout = Layout {
    reasoning: Some(THINK),
    text: Text::BeforeCalls,
    triggers: &["<|tool_calls_section_begin|>", "<|tool_call_begin|>"],
    n_line_ends_max: 0,
    open: &["<|tool_calls_section_begin|>"],
    call: &[
        Part::Text("<|tool_call_begin|>functions."),
        Part::Name,
        Part::Text(":"),
        Part::Pattern("[0-9]+"),
        Part::Text("<|tool_call_argument_begin|>"),
        Part::Json,
        Part::Text("<|tool_call_end|>"),
    ],
    between: &[""],
    close: "<|tool_calls_section_end|>",
    is_single: false,
};

const K3_REASONING: Markers = Markers { begin: "<|open|>think<|sep|>", end: "<|close|>think<|sep|>" };
const K3_RESPONSE: Markers = Markers { begin: "<|open|>response<|sep|>", end: "<|close|>response<|sep|>" };

const K3_CALL: &[Part] = &[
    Part::Text("<|open|>call tool=\""),
    Part::Name,
    Part::Text("\" index=\""),
    Part::Pattern("[0-9]+"),
    Part::Text("\"<|sep|>"),
    Part::Parameters("kimi_k3_xml"),
    Part::Text("<|close|>call<|sep|>"),
];

/// Returns the format of an output of K3: reasoning, a response that is always there, calls, and the end of the message.
///
/// The prompt opens the first of these blocks: the response where there is no reasoning.
pub(super) fn k3_output(plan: &Plan<'_>) -> String {
    let mut elements: Vec<String> = layout::reasoning(K3_REASONING, plan.thinking).into_iter().collect();
    let begin = if plan.thinking == Thinking::Off { "" } else { K3_RESPONSE.begin };
    let text = document::any_text(&["<|open|>", "<|close|>"]);
    elements.push(document::tag(begin, &text, &[K3_RESPONSE.end]));
    let tags: Vec<String> = plan.tools.iter().map(|tool| layout::call(K3_CALL, tool)).collect();
    let calls = || {
        let calls = layout::calls(&tags, &[""], plan.n_calls_max);
        document::tag("<|open|>tools<|sep|>", &calls, &["<|close|>tools<|sep|>"])
    };
    match plan.need {
        Need::Never => {}
        Need::Maybe => elements.push(document::optional(&calls())),
        Need::Always => elements.push(calls()),
    }
    elements.push(document::const_string("<|close|>message<|sep|>"));
    document::sequence(elements)
}

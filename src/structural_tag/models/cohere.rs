//! Cohere's Command models.

use super::layout::{Layout, Markers, Part, SPACE, Text};

/// A list of `{"tool_call_id": "0", "tool_name": "f", "parameters": {}}` between `<|START_ACTION|>` and `<|END_ACTION|>`, or a response.
pub(super) const COMMAND_R7B: Layout = Layout {
    reasoning: Some(Markers { begin: "<|START_THINKING|>", end: "<|END_THINKING|>" }),
    text: Text::AloneBetween(Markers { begin: "<|START_RESPONSE|>", end: "<|END_RESPONSE|>" }),
    triggers: &["<|START_ACTION|>"],
    n_line_ends_max: 0,
    open: &["<|START_ACTION|>[\n"],
    call: &[
        Part::Text("    {\"tool_call_id\": \""),
        Part::Pattern("[0-9]+"),
        Part::Text("\", \"tool_name\": \""),
        Part::Name,
        Part::Text("\", \"parameters\": "),
        Part::Json,
        Part::Text("}"),
    ],
    between: &[",\n"],
    close: "\n]<|END_ACTION|>",
    is_single: false,
};

/// `<cofl:tool_calls><cofl:tool_call id="0" name="f"><cofl:value name="k" type="raw">v</cofl:value></cofl:tool_call></cofl:tool_calls>`
pub(super) const COMMAND: Layout = Layout {
    text: Text::BeforeCallsMaybeBetween(Markers { begin: "<|START_TEXT|>", end: "<|END_TEXT|>" }),
    triggers: &["<cofl:tool_calls>"],
    open: &["<cofl:tool_calls>"],
    call: &[
        Part::Text("<cofl:tool_call id=\""),
        Part::Pattern("[0-9]+"),
        Part::Text("\" name=\""),
        Part::Name,
        Part::Text("\">"),
        Part::Pattern(SPACE),
        Part::Parameters("cohere_xml"),
        Part::Pattern(SPACE),
        Part::Text("</cofl:tool_call>"),
    ],
    between: &["", "\n"],
    close: "</cofl:tool_calls>",
    ..COMMAND_R7B
};

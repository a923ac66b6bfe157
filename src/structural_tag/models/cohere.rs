//! Cohere's Command R7B.

use super::layout::{Layout, Markers, Part, Text};

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
    between: ",\n",
    close: "\n]<|END_ACTION|>",
    is_single: false,
};

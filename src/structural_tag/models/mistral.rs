//! Mistral: the format with a marker before each call, and the older list.

use super::layout::{Layout, Markers, Part, Text};

/// `[TOOL_CALLS]f[ARGS]{}`, in some versions with `[CALL_ID]` and nine letters or digits before `[ARGS]`.
pub(super) const MISTRAL: Layout = Layout {
    reasoning: Some(Markers { begin: "[THINK]", end: "[/THINK]" }),
    text: Text::BeforeCalls,
    triggers: &["[TOOL_CALLS]"],
    n_line_ends_max: 0,
    open: &[],
    call: &[
        Part::Text("[TOOL_CALLS]"),
        Part::Name,
        Part::Pattern("(\\[CALL_ID\\][A-Za-z0-9]{9})?"),
        Part::Text("[ARGS]"),
        Part::Json,
    ],
    between: &[""],
    close: "",
    is_single: false,
};

/// `[TOOL_CALLS] [{"name": "f", "arguments": {}}, ...]`; with an `id` behind the arguments, and without the blank, in some versions.
pub(super) const MISTRAL_LIST: Layout = Layout {
    reasoning: None,
    text: Text::BeforeCalls,
    triggers: &["[TOOL_CALLS]"],
    n_line_ends_max: 0,
    open: &["[TOOL_CALLS] [", "[TOOL_CALLS]["],
    call: &[
        Part::Text("{\"name\": \""),
        Part::Name,
        Part::Text("\", \"arguments\": "),
        Part::Json,
        Part::Pattern("(, \"id\": \"[A-Za-z0-9]{9}\")?"),
        Part::Text("}"),
    ],
    between: &[", "],
    close: "]",
    is_single: false,
};

//! Qwen, and Hermes before it.

use super::layout::{Layout, Part, THINK, Text};

/// `<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>`, with line ends between calls.
pub(super) const QWEN_3: Layout = Layout {
    reasoning: Some(THINK),
    text: Text::BeforeCalls,
    triggers: &["<tool_call>"],
    n_line_ends_max: 2,
    open: &[],
    call: &[
        Part::Text("<tool_call>\n{\"name\": \""),
        Part::Name,
        Part::Text("\", \"arguments\": "),
        Part::Json,
        Part::Text("}\n</tool_call>"),
    ],
    between: &["\n"],
    close: "",
    is_single: false,
};

/// `<tool_call>\n<function=f>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>`, with line ends between calls.
pub(super) const QWEN_3_CODER: Layout = Layout {
    // Parsers also take a call without the outer marker.
    triggers: &["<tool_call>", "<function="],
    call: &[
        Part::Text("<tool_call>\n<function="),
        Part::Name,
        Part::Text(">\n"),
        Part::Parameters("qwen_xml"),
        // No line end where there are no parameters.
        Part::Pattern("\n?"),
        Part::Text("</function>\n</tool_call>"),
    ],
    ..QWEN_3
};

//! MiniMax M2.

use super::layout::{Layout, Part, THINK, Text};

/// `<minimax:tool_call>\n<invoke name="f">\n<parameter name="k">v</parameter>\n</invoke>\n</minimax:tool_call>`
pub(super) const M2: Layout = Layout {
    reasoning: Some(THINK),
    text: Text::BeforeCalls,
    triggers: &["<minimax:tool_call>"],
    // Two behind the reasoning, one before the marker.
    n_line_ends_max: 3,
    open: &["<minimax:tool_call>\n"],
    call: &[
        Part::Text("<invoke name=\""),
        Part::Name,
        Part::Text("\">\n"),
        Part::Parameters("minimax_xml"),
        // No line end where there are no parameters.
        Part::Pattern("\n?"),
        Part::Text("</invoke>"),
    ],
    between: "\n",
    close: "\n</minimax:tool_call>",
    is_single: false,
};

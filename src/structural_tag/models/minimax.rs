//! MiniMax M2 and M3.

use super::layout::{Layout, Markers, Part, SPACE, THINK, Text};

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
    between: &["\n"],
    close: "\n</minimax:tool_call>",
    is_single: false,
};

/// `]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<k>v]<]minimax[>[</k>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>`
pub(super) const M3: Layout = Layout {
    reasoning: Some(Markers { begin: "<mm:think>", end: "</mm:think>" }),
    text: Text::BeforeCalls,
    triggers: &["]<]minimax[>["],
    n_line_ends_max: 3,
    open: &["]<]minimax[>[<tool_call>\n"],
    call: &[
        Part::Text("]<]minimax[>[<invoke name=\""),
        Part::Name,
        Part::Text("\">"),
        Part::Pattern(SPACE),
        Part::Declared("minimax_m3_xml"),
        Part::Pattern(SPACE),
        Part::Text("]<]minimax[>[</invoke>"),
    ],
    between: &["\n"],
    close: "\n]<]minimax[>[</tool_call>",
    is_single: false,
};

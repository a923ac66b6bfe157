//! GLM 4.5 and later.

use super::layout::{Layout, Part, THINK, Text};

/// `<tool_call>f\n<arg_key>k</arg_key>\n<arg_value>v</arg_value>\n</tool_call>`, with line ends between calls.
pub(super) const GLM_4_5: Layout = Layout {
    reasoning: Some(THINK),
    text: Text::BeforeCalls,
    triggers: &["<tool_call>"],
    n_line_ends_max: 2,
    open: &[],
    call: &[
        Part::Text("<tool_call>"),
        Part::Name,
        Part::Text("\n"),
        Part::Parameters("glm_xml"),
        // No line end where there are no parameters.
        Part::Pattern("\n?"),
        Part::Text("</tool_call>"),
    ],
    between: &["\n"],
    close: "",
    is_single: false,
};

/// The same without line ends.
pub(super) const GLM_4_7: Layout = Layout {
    call: &[Part::Text("<tool_call>"), Part::Name, Part::Parameters("glm_xml"), Part::Text("</tool_call>")],
    between: &[""],
    ..GLM_4_5
};

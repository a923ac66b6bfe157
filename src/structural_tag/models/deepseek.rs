//! DeepSeek: two formats with JSON, and three with parameters.

use super::layout::{Layout, Part, THINK, Text};

/// `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f`, a code block of JSON, `<｜tool▁call▁end｜><｜tool▁calls▁end｜>`.
pub(super) const R1: Layout = Layout {
    reasoning: Some(THINK),
    text: Text::BeforeCalls,
    triggers: &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"],
    n_line_ends_max: 2,
    open: &["<｜tool▁calls▁begin｜>"],
    call: &[
        Part::Text("<｜tool▁call▁begin｜>function<｜tool▁sep｜>"),
        Part::Name,
        Part::Text("\n```json\n"),
        Part::Json,
        Part::Text("\n```<｜tool▁call▁end｜>"),
    ],
    between: &["\n"],
    close: "<｜tool▁calls▁end｜>",
    is_single: false,
};

/// `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`
pub(super) const V3_1: Layout = Layout {
    n_line_ends_max: 0,
    call: &[
        Part::Text("<｜tool▁call▁begin｜>"),
        Part::Name,
        Part::Text("<｜tool▁sep｜>"),
        Part::Json,
        Part::Text("<｜tool▁call▁end｜>"),
    ],
    between: &[""],
    ..R1
};

/// `<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n...\n</｜DSML｜invoke>\n</｜DSML｜function_calls>`, with parameters in the middle.
pub(super) const V3_2: Layout = Layout {
    reasoning: Some(THINK),
    text: Text::BeforeCalls,
    triggers: &["<｜DSML｜function_calls>", "<｜DSML｜invoke"],
    n_line_ends_max: 2,
    open: &["<｜DSML｜function_calls>\n"],
    call: &[
        Part::Text("<｜DSML｜invoke name=\""),
        Part::Name,
        Part::Text("\">\n"),
        Part::Parameters("deepseek_xml"),
        Part::Text("\n</｜DSML｜invoke>"),
    ],
    between: &["\n"],
    close: "\n</｜DSML｜function_calls>",
    is_single: false,
};

/// The same with `tool_calls`.
pub(super) const V4: Layout = Layout {
    triggers: &["<｜DSML｜tool_calls>", "<｜DSML｜invoke"],
    open: &["<｜DSML｜tool_calls>\n"],
    close: "\n</｜DSML｜tool_calls>",
    ..V3_2
};

/// The same with ` calls`, and blanks before `invoke` and `parameter`.
pub(super) const V4_1: Layout = Layout {
    triggers: &["<｜DSML｜ calls>", "<｜DSML｜ invoke"],
    open: &["<｜DSML｜ calls>\n"],
    call: &[
        Part::Text("<｜DSML｜ invoke name=\""),
        Part::Name,
        Part::Text("\">\n"),
        Part::Parameters("deepseek_v4_1_xml"),
        Part::Text("\n</｜DSML｜ invoke>"),
    ],
    close: "\n</｜DSML｜ calls>",
    ..V3_2
};

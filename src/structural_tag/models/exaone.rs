//! EXAONE.

use super::layout::{Layout, Part};
use super::qwen::QWEN_3;

/// `<tool_call>{"name": "f", "arguments": {}}</tool_call>`
pub(super) const EXAONE_4: Layout = Layout {
    call: &[
        Part::Text("<tool_call>{\"name\": \""),
        Part::Name,
        Part::Text("\", \"arguments\": "),
        Part::Json,
        Part::Text("}</tool_call>"),
    ],
    between: &["\n", ""],
    ..QWEN_3
};

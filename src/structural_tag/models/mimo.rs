//! MiMo.

use super::layout::{Layout, Part};
use super::qwen::QWEN_3_CODER;

/// `<tool_call><function=f><parameter=k>v</parameter></function></tool_call>`
pub(super) const MIMO: Layout = Layout {
    call: &[
        Part::Text("<tool_call><function="),
        Part::Name,
        Part::Text(">"),
        Part::Parameters("qwen_xml"),
        Part::Text("</function></tool_call>"),
    ],
    between: &["", "\n"],
    ..QWEN_3_CODER
};

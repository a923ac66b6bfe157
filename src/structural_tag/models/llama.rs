//! Llama 3.1 and later, with calls as JSON.

use super::layout::{Layout, Part, Text};

/// `{"name": "f", "parameters": {}}`; the template takes a message for text or for one call.
pub(super) const LLAMA: Layout = Layout {
    reasoning: None,
    text: Text::Alone,
    triggers: &["{\"name\": "],
    n_line_ends_max: 0,
    open: &[],
    call: &[Part::Text("{\"name\": \""), Part::Name, Part::Text("\", \"parameters\": "), Part::Json, Part::Text("}")],
    between: &[""],
    close: "",
    is_single: true,
};

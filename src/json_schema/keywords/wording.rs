//! Words for the explanation of a contradiction.

use crate::json_schema::model::SchemaId;
use crate::json_schema::value::Json;

/// Most characters of a value that is shown.
pub(super) const VALUE_CHARS_MAX: usize = 60;
/// Most names that are listed, and most keywords that an error lists.
pub(in crate::json_schema) const LISTED_MAX: usize = 6;

/// What the words for a keyword need beside it.
pub(in crate::json_schema) struct Wording<'a> {
    /// The keyword as it was written.
    pub name: &'a str,
    /// Its remaining parts, by index, if it has parts.
    pub parts: &'a [usize],
    /// The document of its values.
    pub json: &'a Json,
    /// Whether a `nullable` beside it counts.
    pub is_nullable: bool,
    /// Whether a sub-schema is `false`.
    pub is_false: &'a dyn Fn(SchemaId) -> bool,
    /// The number of values that satisfy a sub-schema, if that is visible.
    pub n_values: &'a dyn Fn(SchemaId) -> Option<usize>,
}

impl Wording<'_> {
    /// Returns the remaining parts of the keyword after its name.
    pub(super) fn with_parts(&self, part: impl Fn(usize) -> String) -> String {
        let parts: Vec<String> = self.parts.iter().map(|&index| part(index)).collect();
        format!("{} {}", self.name, listed(&parts))
    }

    /// Returns ` false` for a sub-schema that allows nothing.
    pub(super) fn verdict(&self, id: SchemaId) -> &'static str {
        if (self.is_false)(id) { " false" } else { "" }
    }
}

/// Returns a few names, and the number of further ones.
pub(in crate::json_schema) fn listed(names: &[String]) -> String {
    match names.split_at_checked(LISTED_MAX) {
        Some((few, more)) if !more.is_empty() => format!("{} (and {} more)", few.join(", "), more.len()),
        _ => names.join(", "),
    }
}

/// Returns a text, truncated for messages.
pub(super) fn cut(text: String) -> String {
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

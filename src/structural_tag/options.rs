//! Options of reading structural tags.

use crate::schema_options::SchemaOptions;

/// Greatest depth of formats within formats.
pub const NESTING_MAX: usize = 100;

/// Options of reading structural tags.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TagOptions {
    /// The options of its schemas; `max_whitespace_cnt` of a format goes before their white space. By default an object has no other keys than
    /// its `properties`.
    pub schema: SchemaOptions,
}

impl Default for TagOptions {
    fn default() -> Self {
        TagOptions { schema: SchemaOptions { has_additional_properties: false, ..SchemaOptions::default() } }
    }
}

//! Documents as resolvers return them.

use super::error::SchemaError;
use super::value::Json;
use crate::Limits;
use crate::schema_options::Source;

/// Parses a document.
///
/// # Errors
/// If it is malformed or exceeds a limit.
pub(super) fn read(source: &Source, limits: &Limits) -> Result<Json, SchemaError> {
    match source {
        Source::Text(text) => Json::parse(text, limits),
        Source::Value(value) => Json::from_value(value, limits),
    }
}

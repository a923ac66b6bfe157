//! Options of JSON Schemas, as a request names them.

use crate::options::{SchemaArgs, SpellingName, draft, white_space};
use maskwright::json_schema::SchemaOptions;
use serde::Deserialize;

/// Options of a schema; what is left out is as the standard says. For other dialects they have no effect, since a page may not know yet what a text is.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub struct SchemaRequest {
    /// Where the schema is within the text, as a JSON pointer.
    pointer: Option<String>,
    /// `compact`, `flexible`, `flexible=N` or `indent=N`, as on the command line.
    white_space: Option<String>,
    /// `4`, `6`, `7`, `2019-09` or `2020-12`.
    draft: Option<String>,
    /// `shortest` or `any`.
    spelling: Option<String>,
    lenient: bool,
    no_formats: bool,
    no_additional_properties: bool,
    any_order: bool,
    integer_fractions: bool,
    no_foreign_keywords: bool,
    nullable: bool,
}

impl SchemaRequest {
    /// Returns the options.
    ///
    /// # Errors
    /// If one has no such value: which, and what it may be.
    pub fn options(&self) -> Result<SchemaOptions, String> {
        let named = |name: &str, reason: String| format!("schema.{name}: {reason}");
        let args = SchemaArgs {
            schema_pointer: self.pointer.clone(),
            lenient: self.lenient,
            white_space: self
                .white_space
                .as_deref()
                .map(white_space)
                .transpose()
                .map_err(|reason| named("white_space", reason))?,
            separators: None,
            no_formats: self.no_formats,
            no_additional_properties: self.no_additional_properties,
            any_order: self.any_order,
            spelling: match self.spelling.as_deref() {
                None => None,
                Some("shortest") => Some(SpellingName::Shortest),
                Some("any") => Some(SpellingName::Any),
                Some(_) => return Err(named("spelling", "it is shortest or any".into())),
            },
            integer_fractions: self.integer_fractions,
            no_foreign_keywords: self.no_foreign_keywords,
            nullable: self.nullable,
            draft: self.draft.as_deref().map(draft).transpose().map_err(|reason| named("draft", reason))?,
        };
        Ok(args.options())
    }
}

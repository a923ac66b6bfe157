//! Documents around a schema: definitions of tools and response formats, and descriptions of interfaces.
//!
//! Given where a schema is expected, such a document constrains nothing: its members are words that no draft knows. The places of the schema in the documents that
//! are in use are known, and tried in order.

use super::value::{Json, Value, ValueId};

/// Where the schema is, by the documents that have it there.
const PLACES: [(&str, &str); 14] = [
    ("/response_format/json_schema/schema", "a request with a response format"),
    ("/json_schema/schema", "a response format"),
    ("/text/format/schema", "a request with a text format"),
    ("/function/parameters", "the definition of a function"),
    ("/parameters", "the definition of a function"),
    ("/input_schema", "the definition of a tool"),
    ("/inputSchema", "the definition of a tool"),
    ("/content/application~1json/schema", "a body of OpenAPI"),
    ("/schema", "a wrapper"),
    ("/0/function/parameters", "a list of tools"),
    ("/0/parameters", "a list of tools"),
    ("/tools/0/function/parameters", "a request with tools"),
    ("/tools/0/input_schema", "a request with tools"),
    ("/tools/0/inputSchema", "a list of tools"),
];

/// Words of which a schema has one, most likely.
const WORDS: [&str; 12] = [
    "type",
    "properties",
    "$ref",
    "$defs",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "items",
    "required",
    "additionalProperties",
];

/// A document that has a schema somewhere within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrapper {
    /// What it looks like.
    pub what: &'static str,
    /// The JSON pointer of the schema.
    pub pointer: String,
}

/// Returns where the schema is in a document that is no schema itself.
pub(super) fn find(json: &Json, root: ValueId) -> Option<Wrapper> {
    let is_schema = |id: ValueId| match json.value(id) {
        Value::Object(members) => members.iter().any(|member| WORDS.contains(&json.key(member))),
        _ => false,
    };
    // Behind a pointer into a document the place is that of the document.
    let base = json.pointer(root);
    for (pointer, what) in PLACES {
        if json.at_pointer_from(root, pointer).is_some_and(is_schema) {
            return Some(Wrapper { what, pointer: format!("{base}{pointer}") });
        }
    }
    let schemas = json.at_pointer_from(root, "/components/schemas")?;
    let Value::Object(members) = json.value(schemas) else { return None };
    let first = members.iter().find(|member| is_schema(member.value))?;
    Some(Wrapper { what: "a description of OpenAPI", pointer: json.pointer(first.value) })
}

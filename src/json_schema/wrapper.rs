//! Documents around a schema: definitions of tools and response formats, and descriptions of interfaces.
//!
//! Given where a schema is expected, such a document constrains nothing: its members are words that no draft knows. The places of the schema in the documents that
//! are in use are known, and tried in order.

use super::value::{Json, Value, ValueId};

/// Where the schema is, by the documents that have it there.
const PLACES: [(&str, &str); 18] = [
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
    ("/0/input_schema", "a list of tools"),
    ("/0/inputSchema", "a list of tools"),
    ("/result/tools/0/inputSchema", "an answer of MCP with tools"),
    ("/functions/0/parameters", "a request with functions"),
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
    let description = match (json.member(root, "openapi"), json.member(root, "swagger")) {
        (None, Some(_)) => "a description of Swagger",
        _ => "a description of OpenAPI",
    };
    let first_of = |pointer: &str| {
        let Value::Object(members) = json.value(json.at_pointer_from(root, pointer)?) else { return None };
        members.iter().map(|member| member.value).find(|&value| is_schema(value))
    };
    let of_operations = || {
        let operations = json.at_pointer_from(root, "/paths")?;
        OPERATION_PLACES.iter().find_map(|steps| first_at(json, operations, steps, &is_schema))
    };
    let is_definition = |what: &'static str| move |id: ValueId| Wrapper { what, pointer: json.pointer(id) };
    let is_swagger = json.member(root, "swagger").is_some();
    first_of("/components/schemas")
        .or_else(|| if is_swagger { first_of("/definitions") } else { None })
        .or_else(of_operations)
        .map(is_definition(description))
        .or_else(|| {
            let Value::Object(members) = json.value(root) else { return None };
            let are_all_known = members.iter().all(|member| BESIDE_DEFINITIONS.contains(&json.key(member)));
            let definitions = ["/$defs", "/definitions"].into_iter().find_map(first_of).filter(|_| are_all_known);
            definitions.map(is_definition("definitions to which nothing refers"))
        })
}

/// What may stand beside definitions and constrains nothing.
const BESIDE_DEFINITIONS: [&str; 7] = ["$defs", "definitions", "$schema", "$id", "title", "description", "$comment"];

/// Where operations of OpenAPI and Swagger have schemas, from the paths on; `*` is any member or item.
const OPERATION_PLACES: [&[&str]; 4] = [
    &["*", "*", "requestBody", "content", "*", "schema"],
    &["*", "*", "parameters", "*", "schema"],
    &["*", "*", "responses", "*", "content", "*", "schema"],
    &["*", "*", "responses", "*", "schema"],
];

/// Returns the first value below another one that some steps lead to and that is wanted.
fn first_at(json: &Json, from: ValueId, steps: &[&str], is_wanted: &dyn Fn(ValueId) -> bool) -> Option<ValueId> {
    let Some((step, rest)) = steps.split_first() else { return is_wanted(from).then_some(from) };
    match json.value(from) {
        Value::Object(members) if *step == "*" => {
            members.iter().find_map(|member| first_at(json, member.value, rest, is_wanted))
        }
        Value::Array(items) if *step == "*" => items.iter().find_map(|&item| first_at(json, item, rest, is_wanted)),
        Value::Object(_) => first_at(json, json.member(from, step)?, rest, is_wanted),
        _ => None,
    }
}

impl Wrapper {
    /// Returns how to get at the schema.
    pub fn hint(&self) -> String {
        let Wrapper { pointer, .. } = self;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-.~".contains(c);
        let argument = if pointer.chars().all(is_plain) { pointer.clone() } else { format!("'{pointer}'") };
        format!(
            "its schema is at {pointer}: give that pointer (`--schema-pointer {argument}`, or `ReadOptions::pointer`)"
        )
    }
}

//! The sub-schemas of a JSON Schema and which contain or refer to which.

use crate::graph::{Graph, Node};
use crate::output::{harmless, shortened};
use maskwright::json_schema::SchemaReport;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most characters of the part of a label that the schema chooses.
const LABEL_CHARS_MAX: usize = 40;

/// Returns the graph of a schema that was compiled: each sub-schema that says something is a node. One is below another if that applies it or refers to it; a definition is below
/// what refers to it alone.
///
/// What a `$ref` leads to is looked up by pointer and anchor; one by a URI leads to a node that has that name.
pub fn graph(report: &SchemaReport, text: &str, root: &str) -> Graph {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    // A keyword stands directly below its schema.
    let parent = |location: &str| location.rfind('/').map(|slash| location[..slash].to_owned());
    let root = format!("#{root}");
    let mut names: BTreeSet<String> = report.findings().filter_map(|finding| parent(&finding.location)).collect();
    names.insert(root.clone());
    let value_at = |name: &str| document.pointer(name.strip_prefix('#')?);
    // To what a schema refers, as nodes.
    let references: Vec<(String, String)> = names
        .iter()
        .flat_map(|name| ["$ref", "$dynamicRef", "$recursiveRef"].map(|keyword| (name, keyword)))
        .filter_map(|(name, keyword)| Some((name.clone(), value_at(name)?.get(keyword)?.as_str()?.to_owned())))
        .collect();
    let anchored = |to: &str| {
        let anchor = to.strip_prefix('#').filter(|anchor| !anchor.is_empty() && !anchor.starts_with('/'))?;
        let has = |name: &str, keyword: &str| {
            value_at(name).and_then(|value| value.get(keyword)).is_some_and(|value| value == anchor)
        };
        names.iter().find(|name| has(name, "$anchor") || has(name, "$dynamicAnchor")).cloned()
    };
    let references: Vec<(String, String)> =
        references.into_iter().map(|(from, to)| (from, anchored(&to).unwrap_or(to))).collect();
    names.extend(references.iter().map(|(_, to)| to.clone()));
    let index: BTreeMap<&str, usize> = names.iter().enumerate().map(|(index, name)| (&**name, index)).collect();
    let mut nodes: Vec<Node> = Vec::new();
    let mut above: Vec<Option<usize>> = Vec::new();
    for name in &names {
        let ancestors = std::iter::successors(parent(name), |name| parent(name));
        let container = ancestors.into_iter().find_map(|ancestor| index.get(&*ancestor).copied());
        let is_definition = name.rsplit('/').nth(1).is_some_and(|word| ["$defs", "definitions"].contains(&word));
        above.push(container.filter(|_| !is_definition));
        let from = container.map_or(0, |container| names.iter().nth(container).map_or(0, |name| name.len() + 1));
        let step = if from > 0 { &name[from..] } else { name };
        let kind = value_at(name).map(described).unwrap_or_default();
        let label = shortened(&harmless(step), LABEL_CHARS_MAX);
        let label = if kind.is_empty() { label } else { format!("{label}: {kind}") };
        nodes.push(Node { name: harmless(name), label, below: BTreeSet::new() });
    }
    for (child, above) in above.into_iter().enumerate() {
        if let Some(container) = above {
            nodes[container].below.insert(child);
        }
    }
    for (from, to) in &references {
        nodes[index[&**from]].below.insert(index[&**to]);
    }
    Graph { nodes, root: index[&*root] }
}

/// Returns what a schema is about, in a word or two: its types, or the first keyword that says something else.
fn described(schema: &Value) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let Value::Object(members) = schema else { return schema.to_string() };
    let words = match (members.get("type"), members.get("const"), members.get("enum")) {
        (_, Some(value), _) => format!("const {value}"),
        (_, _, Some(Value::Array(values))) => format!("enum of {}", values.len()),
        (Some(Value::Array(types)), ..) => types.iter().map(shown).collect::<Vec<_>>().join(" or "),
        (Some(name), ..) => shown(name),
        _ => ["$ref", "anyOf", "oneOf", "allOf", "not", "if"]
            .into_iter()
            .find(|keyword| members.contains_key(*keyword))
            .unwrap_or_default()
            .to_owned(),
    };
    shortened(&harmless(&words), LABEL_CHARS_MAX)
}

//! The patterns of the official suite of JSON Schema.

use super::parse;
use crate::Limits;
use crate::regular::Dfa;
use serde_json::Value;
use std::path::PathBuf;

/// Reads a file of the suite. Without the suite, in `MASKWRIGHT_DATA` or beside the crate, a test says that it is skipped; where `CI` is
/// set it fails.
pub(crate) fn read(path: &str) -> Option<Value> {
    let data = std::env::var_os("MASKWRIGHT_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")));
    let file = data.join("json-schema-test-suite/tests").join(path);
    match std::fs::read_to_string(&file) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))),
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{}: {error}", file.display());
            eprintln!("skipped: {} is not there (set MASKWRIGHT_DATA)", file.display());
            None
        }
    }
}

fn is_match(pattern: &str, text: &str) -> bool {
    let limits = Limits::default();
    let regular = parse(pattern, &limits).unwrap_or_else(|error| panic!("{error:#}"));
    Dfa::new(&regular, &limits).unwrap().is_match(text.as_bytes())
}

/// Judges by the keywords `pattern` and `patternProperties` alone, the latter with `true`, `false` or a type below.
fn is_valid(schema: &Value, data: &Value) -> bool {
    match (data, schema.get("pattern"), schema.get("patternProperties")) {
        (Value::String(text), Some(pattern), _) => is_match(pattern.as_str().unwrap(), text),
        (Value::Object(entries), _, Some(Value::Object(patterns))) => entries.iter().all(|(key, value)| {
            let mut found = patterns.iter().filter(|(pattern, _)| is_match(pattern, key)).peekable();
            let is_known = found.peek().is_some();
            found.all(|(_, sub)| match sub.get("type").and_then(Value::as_str) {
                Some("integer") => value.is_i64(),
                _ => *sub == true || *sub == Value::Object(Default::default()),
            }) && (is_known || schema.get("additionalProperties") != Some(&Value::Bool(false)))
        }),
        _ => true,
    }
}

#[test]
fn patterns_of_the_official_suite() {
    let mut n_cases = 0;
    for file in ["pattern.json", "optional/ecmascript-regex.json", "optional/non-bmp-regex.json"] {
        for draft in ["draft2020-12", "draft7"] {
            let Some(groups) = read(&format!("{draft}/{file}")) else { return };
            for group in groups.as_array().unwrap() {
                for case in group["tests"].as_array().unwrap() {
                    n_cases += 1;
                    let expected = case["valid"].as_bool().unwrap();
                    let name = format!("{draft}/{file}: {}: {}", group["description"], case["description"]);
                    assert_eq!(is_valid(&group["schema"], &case["data"]), expected, "{name}");
                }
            }
        }
    }
    eprintln!("{n_cases} cases");
    assert!(n_cases > 150, "{n_cases} cases are few");
}

//! Arbitrary structural tags: an error with a pointer, or a grammar that compiles and runs beside the oracle.

use super::engine::{Coverage, walk};
use super::fixture::{Fixture, limits};
use super::{Rng, cases};
use crate::limits::Limits;
use crate::vocab::Vocab;
use crate::{CompileError, GrammarCompiler};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| Arc::new(cases::default_vocab()));

/// Compiles bytes as a structural tag; if that succeeds, walks it beside the oracle.
///
/// # Panics
/// If a property doesn't hold.
pub fn check(data: &[u8]) -> Coverage {
    let mut coverage = Coverage::default();
    let text = String::from_utf8_lossy(data);
    let limits = Limits { n_rules_max: 400, ..limits() };
    let compiler = GrammarCompiler::builder(Arc::clone(&VOCAB)).limits(limits).build();
    let compiled = match compiler.compile_structural_tag(&text) {
        Ok(compiled) => compiled,
        Err(error) => {
            let facts = error.facts(&text);
            assert!(!error.to_string().is_empty() && !format!("{error:#}").is_empty());
            let has_place = facts.pointer.is_some() || facts.span.is_some();
            assert!(!matches!(error, CompileError::Tag(_)) || has_place, "{error}\n{text}");
            return coverage;
        }
    };
    if let Some(fixture) = Fixture::new(&compiler, compiled.expanded_grammar()) {
        walk(&mut Rng::from_bytes(data), &fixture, &mut coverage);
    }
    coverage
}

/// Returns a random text that is a structural tag or nearly so.
pub fn random_text(rng: &mut Rng) -> Vec<u8> {
    let mut document = json!({ "type": "structural_tag", "format": random_format(rng, 3) });
    if rng.chance(10) {
        let members = ["type", "content", "begin", "tags", "format", "elements", "json_schema"];
        let name = *rng.pick(&members);
        drop_one(&mut document, name);
    }
    let mut text = document.to_string();
    if rng.chance(5) {
        let at = rng.below(text.len());
        if text.is_char_boundary(at) {
            text.truncate(at);
        }
    }
    text.into_bytes()
}

fn random_words(rng: &mut Rng) -> String {
    const WORDS: [&str; 10] = ["a", "b", "ab", "aa", "<|x|>", "a<|x|>", "<a>", "</a>", "", "b<"];
    (*rng.pick(&WORDS)).to_owned()
}

fn random_format(rng: &mut Rng, depth: usize) -> Value {
    let several = |rng: &mut Rng| (0..rng.between(1, 3)).map(|_| random_format(rng, depth - 1)).collect::<Vec<_>>();
    match if depth == 0 { rng.below(5) } else { rng.below(12) } {
        0 => json!({ "type": "const_string", "value": random_words(rng) }),
        1 => json!({ "type": "regex", "pattern": *rng.pick(&["[ab]+", "a?b", "(a|b){2}", "b*"]) }),
        2 => {
            let schema = rng.pick(&[json!({ "enum": [1, "a"] }), json!({ "type": "boolean" }), json!(false)]).clone();
            json!({ "type": "json_schema", "json_schema": schema })
        }
        3 => {
            let mut format = json!({ "type": "any_text", "excludes": words(rng) });
            if rng.chance(30) {
                format["max_chars"] = json!(rng.below(4));
            }
            format
        }
        4 => json!({ "type": "grammar", "grammar": *rng.pick(&["root ::= \"a\" root? \"b\"", "root ::= [ab]*"]) }),
        5 => json!({ "type": "sequence", "elements": several(rng) }),
        6 => json!({ "type": "or", "elements": several(rng) }),
        7 => json!({ "type": *rng.pick(&["optional", "star", "plus"]), "content": random_format(rng, depth - 1) }),
        8 => {
            let min = rng.below(3);
            let max = if rng.chance(30) { -1 } else { (min + rng.below(3)) as i64 };
            json!({ "type": "repeat", "content": random_format(rng, depth - 1), "min": min, "max": max })
        }
        9 => random_tag(rng, depth),
        10 => json!({
            "type": "triggered_tags",
            "triggers": words(rng),
            "tags": (0..rng.between(1, 2)).map(|_| random_tag(rng, depth)).collect::<Vec<_>>(),
            "at_least_one": rng.chance(30),
            "stop_after_first": rng.chance(30),
            "excludes": if rng.chance(20) { words(rng) } else { vec![] },
        }),
        _ => json!({
            "type": "tags_with_separator",
            "tags": [random_tag(rng, depth)],
            "separator": random_words(rng),
            "at_least_one": rng.chance(50),
        }),
    }
}

fn words(rng: &mut Rng) -> Vec<String> {
    (0..rng.between(1, 2)).map(|_| random_words(rng)).collect()
}

fn random_tag(rng: &mut Rng, depth: usize) -> Value {
    let end = if rng.chance(70) { json!(random_words(rng)) } else { json!(words(rng)) };
    json!({ "type": "tag", "begin": random_words(rng), "content": random_format(rng, depth - 1), "end": end })
}

/// Removes the first member of this name.
fn drop_one(value: &mut Value, name: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.remove(name).is_some() || members.values_mut().any(|member| drop_one(member, name))
        }
        Value::Array(items) => items.iter_mut().any(|item| drop_one(item, name)),
        _ => false,
    }
}

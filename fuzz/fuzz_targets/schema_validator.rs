//! JSON Schemas: what the engine writes is valid for an independent validator, the crate `jsonschema`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maskwright::testing::{Rng, schemas};
use maskwright::{GrammarCompiler, Vocab};
use serde_json::Value;
use std::sync::{Arc, LazyLock};

static VOCAB: LazyLock<Arc<Vocab>> =
    LazyLock::new(|| Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).expect("each byte is a token")));

fuzz_target!(|data: &[u8]| {
    let mut rng = Rng::from_bytes(data);
    let schema = schemas::random_schema(&mut rng);
    let Ok(parsed) = serde_json::from_str(&schema) else { return };
    let Ok(validator) = jsonschema::options().should_validate_formats(true).build(&parsed) else { return };
    let Ok(grammar) = GrammarCompiler::new(Arc::clone(&VOCAB)).compile_json_schema(&schema) else { return };
    let mut matcher = grammar.matcher();
    let mut text = Vec::new();
    for _ in 0..200 {
        if matcher.is_accepting() && has_exact_floats(&text) {
            let document = serde_json::from_slice(&text).expect("a complete text is JSON");
            assert!(has_line_ends(&document) || validator.is_valid(&document), "{schema}\n{document}");
        }
        let Ok(mask) = matcher.mask() else { return };
        let allowed: Vec<u32> = mask.iter().collect();
        if allowed.is_empty() {
            return;
        }
        let token = *rng.pick(&allowed);
        matcher.accept_token(token).expect("the mask allows it");
        text.push(token as u8);
    }
});

/// Tells whether some string has an end of a line that no `.` of ECMA-262 matches, but that of the validator does.
fn has_line_ends(document: &Value) -> bool {
    let is_one = |text: &str| text.contains(['\r', '\u{2028}', '\u{2029}']);
    match document {
        Value::String(text) => is_one(text),
        Value::Array(items) => items.iter().any(has_line_ends),
        Value::Object(members) => members.iter().any(|(key, value)| is_one(key) || has_line_ends(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Tells whether floats hold the numbers of a document nearly as they are written: the validator reads floats, and a large one is a multiple of nothing that it was written as.
fn has_exact_floats(text: &[u8]) -> bool {
    const LEN_MAX: usize = 15;
    let (mut is_string, mut is_escaped, mut n_number) = (false, false, 0);
    text.iter().all(|&byte| {
        let is_digit = !is_string && (byte.is_ascii_digit() || b".-+eE".contains(&byte) && n_number > 0);
        n_number = if is_digit { n_number + 1 } else { 0 };
        if byte == b'"' && !is_escaped {
            is_string = !is_string;
        }
        is_escaped = is_string && byte == b'\\' && !is_escaped;
        n_number <= LEN_MAX && !(is_digit && matches!(byte, b'e' | b'E'))
    })
}

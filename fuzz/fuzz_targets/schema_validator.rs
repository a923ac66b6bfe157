//! JSON Schemas: what the engine writes is valid for an independent validator, the crate `jsonschema`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maskwright::testing::{Rng, schemas};
use maskwright::{GrammarCompiler, Vocab};
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
        if matcher.is_accepting() {
            let document = serde_json::from_slice(&text).expect("a complete text is JSON");
            assert!(validator.is_valid(&document), "{schema}\n{document}");
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

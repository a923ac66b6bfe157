//! Masks of the grammars in `grammars/` over a real vocabulary, bit for bit against trying each token, along their samples.

#![cfg(feature = "tiktoken")]

use maskwright::{CompiledGrammar, Encoding, GrammarCompiler, TokenId, Vocab};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Positions of each sample at which masks are compared.
const N_POSITIONS: usize = 6;

fn compare(compiled: &CompiledGrammar, name: &str, text: &[u8]) {
    let mut matcher = compiled.matcher();
    matcher.accept_bytes(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mask = matcher.mask().unwrap();
    let vocab = compiled.vocab();
    let wrong = (0..vocab.n_tokens() as TokenId).find(|&id| matcher.is_token_allowed(id) != mask.contains(id));
    if let Some(id) = wrong {
        let (token, text) = (String::from_utf8_lossy(vocab.bytes(id)), String::from_utf8_lossy(text));
        panic!("{name} after {text:?}: token {id} {token:?} is in the mask: {}", mask.contains(id));
    }
}

#[test]
fn masks_are_what_trying_each_token_says() {
    let vocab = Arc::new(Vocab::tiktoken(Encoding::Cl100kBase).unwrap());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars");
    let mut n_compared = 0;
    for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "ebnf") {
            continue;
        }
        let name = file.file_stem().unwrap().to_str().unwrap();
        let compiler = GrammarCompiler::new(Arc::clone(&vocab));
        let compiled = compiler.compile_ebnf(&fs::read_to_string(&file).unwrap()).unwrap();
        compare(&compiled, name, b"");
        for sample in fs::read_dir(folder.join("samples").join(name).join("pass")).unwrap() {
            let sample = fs::read(sample.unwrap().path()).unwrap();
            for place in 1..=N_POSITIONS {
                compare(&compiled, name, &sample[..sample.len() * place / (N_POSITIONS + 1)]);
                n_compared += 1;
            }
        }
    }
    assert!(n_compared >= 6 * N_POSITIONS, "{n_compared} masks");
}

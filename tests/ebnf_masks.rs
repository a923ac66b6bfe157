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

/// Distances of more than 255 bytes, where some tokens are as long.
#[test]
fn tokens_of_hundreds_of_bytes() {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    tokens.extend((0..=255u8).map(|byte| vec![b'a' + byte % 26, byte]));
    tokens.extend([100, 253, 254, 255, 256, 257, 270, 271, 279, 280, 281, 300, 320].map(|n| vec![b'a'; n]));
    let compiler = GrammarCompiler::new(Arc::new(Vocab::from_tokens(tokens).unwrap()));
    let written_out = format!("root ::= /{}\"/", "[A-Za-z0-9]".repeat(280));
    let words = format!("root ::= /{}[a-z]*\"/", "[a-z]+ ".repeat(3));
    for source in [
        &*written_out,
        &*words,
        "root ::= /[a-z0-9]{0,270}\"/",
        "root ::= /[^\"]{3,300}\"/",
        "root ::= /([a-z]{1,130}[.]?){2}\"/",
    ] {
        let compiled = compiler.compile_ebnf(source).unwrap();
        for n in [0, 1, 5, 20, 24, 25, 26, 150, 270] {
            if compiled.matcher().accept_bytes(&vec![b'a'; n]).is_ok() {
                compare(&compiled, source, &vec![b'a'; n]);
            }
        }
    }
}

//! Token budgets over a real vocabulary: masks against trying each token, and what they take.

#![cfg(feature = "tiktoken")]

use maskwright::{CompiledGrammar, Encoding, GrammarCompiler, Matcher, TokenId, Vocab};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| Vocab::tiktoken(Encoding::Cl100kBase).unwrap().into());

/// Checks a mask against each token, and returns how long filling it took.
fn compare(matcher: &mut Matcher, context: &str) {
    let start = Instant::now();
    let mask = matcher.mask().unwrap();
    println!("{context}: {:?}, {} tokens", start.elapsed(), mask.iter().count());
    let wrong = (0..VOCAB.n_tokens() as TokenId).find(|&id| matcher.is_token_allowed(id) != mask.contains(id));
    if let Some(id) = wrong {
        let token = String::from_utf8_lossy(VOCAB.bytes(id)).into_owned();
        panic!("{context}: token {id} {token:?} is in the mask: {}", mask.contains(id));
    }
}

fn thinking(n_tokens: u32) -> CompiledGrammar {
    let format = format!(
        r#"{{"type": "structural_tag", "format": {{"type": "sequence", "elements": [
            {{"type": "tag", "begin": "<think>", "content": {{"type": "any_text", "max_tokens": {n_tokens}}}, "end": "</think>"}},
            {{"type": "json_schema", "json_schema": {{"type": "object"}}}}]}}}}"#
    );
    let start = Instant::now();
    let compiled = GrammarCompiler::new(Arc::clone(&VOCAB)).compile_structural_tag(&format).unwrap();
    println!("compiled in {:?}", start.elapsed());
    compiled
}

#[test]
fn masks_are_what_trying_each_token_says() {
    let mut matcher = thinking(3).matcher();
    compare(&mut matcher, "at the beginning");
    matcher.accept_bytes(b"<think>").unwrap();
    for n_left in (1..=3).rev() {
        compare(&mut matcher, &format!("{n_left} tokens left"));
        let text: &[u8] = if n_left == 2 { b" <" } else { b" word" };
        matcher.accept_token(VOCAB.tokenize_greedy(text)[0]).unwrap();
    }
    compare(&mut matcher, "no token left");
    assert_eq!(matcher.jump_forward(), b"</think>{");
    matcher.rollback(1).unwrap();
    compare(&mut matcher, "one token left again");
    matcher.accept_bytes(b" it's </think").unwrap();
    compare(&mut matcher, "within the end");
    matcher.accept_bytes(b">").unwrap();
    compare(&mut matcher, "behind the end");
}

#[test]
fn a_long_text_takes_as_much_as_a_short_one() {
    let mut matcher = thinking(4096).matcher();
    matcher.accept_bytes(b"<think>").unwrap();
    let word = VOCAB.tokenize_greedy(b" word")[0];
    let mut longest = std::time::Duration::ZERO;
    for n in 0..4096 {
        let start = Instant::now();
        assert!(matcher.mask().unwrap().contains(word), "token {n}");
        longest = if n < 2 { longest } else { longest.max(start.elapsed()) };
        matcher.accept_token(word).unwrap();
    }
    println!("at most {longest:?} from the third mask on, {} bytes", matcher.memory_bytes());
    assert!(!matcher.mask().unwrap().contains(word));
    assert!(matcher.n_live() < 4, "{}", matcher.n_live());
}

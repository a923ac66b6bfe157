//! Sets of tokens that are read whole, beyond what cases can say: errors that depend on the vocabulary, stop tokens of a matcher, distinct values beside them, large vocabularies.

use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::vocab::TokenKind;
use maskwright::{GrammarCompiler, Limits, TokenId, Vocab};
use std::sync::Arc;
use std::time::Instant;

/// `a`, `b`, `ab`, a control token, a stop token, and padding.
fn small() -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    builder.extend(["a", "b", "ab", "<|x|>", "</s>"]);
    builder.set_kind(3, TokenKind::Control).stop_tokens([4]).logits_width(7);
    builder.build().unwrap().into()
}

fn tokens(mask: &maskwright::TokenMask) -> Vec<TokenId> {
    mask.iter().collect()
}

#[test]
fn excluded_tokens_must_be_known_and_one_must_be_left() {
    let compiler = GrammarCompiler::new(small());
    for (grammar, message) in [
        ("root ::= ExcludeToken(\"<|z|>\")", "<|z|>"),
        ("root ::= <[^1,9]>", "9"),
        ("root ::= <[^1,5-900]>", "7"),
        ("root ::= \"a\" <[^0-3]>", "matches nothing"),
    ] {
        let error = compiler.compile_ebnf(grammar).unwrap_err().to_string();
        assert!(error.contains(message), "{grammar}: {error}");
    }
    // Padding in a range is as good as not there; what is left may be one alternative of several.
    assert!(compiler.compile_ebnf("root ::= <[^1-6]>").is_ok());
    let mut matcher = compiler.compile_ebnf("root ::= \"a\" | <[^0-3]>").unwrap().matcher();
    assert_eq!(tokens(&matcher.mask().unwrap()), [0]);
}

#[test]
fn the_stop_tokens_in_force_are_in_no_set() {
    let mut matcher = GrammarCompiler::new(small()).compile_ebnf("root ::= <[^1]> \"b\"").unwrap().matcher();
    assert_eq!(tokens(&matcher.mask().unwrap()), [0, 2, 3]);
    matcher.set_stop_tokens(&[0]).unwrap();
    assert_eq!(tokens(&matcher.mask().unwrap()), [2, 3, 4]);
    assert!(matcher.accept_token(0).is_err());
    // What was a stop token is a control token now.
    matcher.accept_token(4).unwrap();
    assert_eq!(tokens(&matcher.mask().unwrap()), [1]);
    matcher.accept_token(1).unwrap();
    assert_eq!(tokens(&matcher.mask().unwrap()), [0]);
}

#[test]
fn a_token_that_repeats_a_key_as_text_may_still_be_read_whole() {
    let vocab: Arc<Vocab> =
        Vocab::from_tokens(["{", "}", "\"", "a", "b", ":", ",", "1", "\"a", "a\"", "\":1"]).unwrap().into();
    let grammar = r#"root ::= %json(compact) {"type": "object"} | "{\"a\":1," <[^3]> <[*]>*"#;
    let compiled = GrammarCompiler::new(vocab).compile_ebnf(grammar).unwrap();
    let mut matcher = compiled.matcher();
    for token in [0, 2, 3, 2, 5, 7, 6] {
        matcher.accept_token(token).unwrap();
    }
    assert_eq!(tokens(&matcher.mask().unwrap()), [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]);
    matcher.accept_token(8).unwrap();
    // `"a"` as text would be the key again; as tokens anything may follow.
    assert_eq!(matcher.mask().unwrap().iter().count(), 11);
    for token in 0..11 {
        let mut fork = matcher.fork();
        assert!(fork.accept_token(token).is_ok());
    }
}

#[test]
fn tokens_that_were_read_whole_are_not_merged_with_forced_text() {
    let vocab: Arc<Vocab> = Vocab::from_tokens(["a", "b", "ab", "c"]).unwrap().into();
    let compiled = GrammarCompiler::new(Arc::clone(&vocab)).compile_ebnf("root ::= <[0]> \"b\" [c]").unwrap();
    let mut matcher = compiled.matcher();
    matcher.accept_token(0).unwrap();
    let forced = matcher.jump_forward_tokens(Some(&*vocab)).unwrap();
    let mut fork = matcher.fork();
    fork.rollback(forced.n_taken_back).unwrap();
    fork.accept_tokens(&forced.tokens).unwrap();
}

#[test]
fn rollback_forks_and_drafts_agree_with_the_oracle() {
    let vocab = small();
    let grammar = "root ::= (<[^1]> \"b\"){2,40} | \"ab\" <[*]>{0,3} \"a\"";
    let compiled = GrammarCompiler::new(Arc::clone(&vocab)).compile_ebnf(grammar).unwrap();
    let recognizer = Recognizer::new(compiled.expanded_grammar(), &Limits::default()).unwrap();
    let (mut matcher, mut oracle) = (compiled.matcher(), OracleMatcher::new(&recognizer, Arc::clone(&vocab)));
    for token in [2, 1, 0, 1, 3, 1] {
        let before = (matcher.mask().unwrap(), matcher.mask_key());
        assert_eq!(before.0.as_words(), oracle.mask(), "before {token}");
        let mut rows = [0; 2];
        matcher.fill_masks_for_chain(&[token], &mut rows, 1).unwrap();
        assert_eq!(matcher.fork().accept_token(token).is_ok(), oracle.accept_token(token));
        matcher.accept_token(token).unwrap();
        assert_eq!(rows[1..], *oracle.mask());
        matcher.rollback(1).unwrap();
        assert!(matcher.mask().unwrap() == before.0 && matcher.mask_key() == before.1);
        matcher.accept_token(token).unwrap();
    }
}

#[test]
fn a_large_vocabulary_bears_many_sets() {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend((0..260_000u32).map(|n| format!(" word{n}")));
    let vocab: Arc<Vocab> = builder.build().unwrap().into();
    let arms: Vec<String> = (0..200).map(|n| format!("<[^{n}-{}]> \"{n}\"", 200_000 + n)).collect();
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    let start = Instant::now();
    let compiled = compiler.compile_ebnf(&format!("root ::= {}", arms.join(" | "))).unwrap();
    let mut matcher = compiled.matcher();
    let mask = matcher.mask().unwrap();
    println!("{:?}, {} bytes", start.elapsed(), compiled.stats().bytes);
    // Only what all of them exclude is left out.
    assert_eq!(vocab.n_tokens() - mask.iter().count(), 200_000 - 199 + 1);
    matcher.accept_token(200_100).unwrap();
    assert_eq!(matcher.mask().unwrap().iter().count(), 10, "the first digits");
}

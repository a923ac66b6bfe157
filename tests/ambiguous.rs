//! Very ambiguous grammars: with a real vocabulary their masks are exact and every step is fast.
#![cfg(feature = "tiktoken")]

use maskwright::testing::{Rng, random_ambiguous};
use maskwright::{Encoding, GrammarCompiler, Matcher, Vocab};
use std::sync::{Arc, OnceLock};

fn vocab() -> Arc<Vocab> {
    static VOCAB: OnceLock<Arc<Vocab>> = OnceLock::new();
    Arc::clone(VOCAB.get_or_init(|| Arc::new(Vocab::tiktoken(Encoding::Cl100kBase).unwrap())))
}

/// Compares a mask with accepting every `nth` token, which computes no masks. Returns false if the mask exceeds its budget.
fn check_mask(matcher: &mut Matcher, nth: usize, context: &str) -> bool {
    let vocab = vocab();
    let mut row = vec![0u32; vocab.n_mask_words()];
    if let Err(error) = matcher.fill_mask(&mut row) {
        assert!(error.is_over_budget(), "{error}\n{context}");
        return false;
    }
    for id in (0..vocab.n_tokens() as u32).step_by(nth) {
        let is_set = row[id as usize / 32] >> (id % 32) & 1 == 1;
        let bytes = || String::from_utf8_lossy(vocab.bytes(id)).into_owned();
        assert_eq!(matcher.is_token_allowed(id), is_set, "token {id} {:?}\n{context}", bytes());
    }
    true
}

/// Nested tags, parentheses, S-expressions, words, counted characters, fields.
const GRAMMARS: [(&str, &str); 6] = [
    (
        "root ::= block+\nblock ::= \"<b>\" block+ \"</b>\" | [^<]*",
        "Hello <b>bold <b>and more</b> of it</b> and <b>x</b> tail.",
    ),
    (
        "root ::= block* \".\"\nblock ::= \"(\" block* \")\" | [a-z ]+",
        "hello (world (of (nested) parens) here) and (a b c).",
    ),
    (
        "root ::= ws (form ws)*\nform ::= [^ \\n()]+ | \"(\" ws (form ws)* \")\"\nws ::= [ \\n]*",
        "(define (square x)\n  (* x x))\n(display (square 12) é日本)",
    ),
    ("root ::= /(\\w+ ?){1,50}/u", "the quick brown fox jumps over the lazy dog and runs away from every Größe"),
    (
        "root ::= \"\\\"\" [^\"\\\\]{0,100} [^\"\\\\ ]{1,20} \"\\\"\"",
        "\"this is a sentence of some length, then it ends withoutspace\"",
    ),
    ("root ::= /([^,]*,?){1,30}/", "name,address of a person,phone number,age,some other field,,,last"),
];

#[test]
fn masks_of_ambiguous_grammars_are_those_of_trying_each_token() {
    for (grammar, text) in GRAMMARS {
        let compiled = GrammarCompiler::new(vocab()).compile_ebnf(grammar).unwrap();
        let mut matcher = compiled.matcher();
        for (step, token) in vocab().tokenize_greedy(text.as_bytes()).into_iter().enumerate() {
            assert!(check_mask(
                &mut matcher,
                if step % 5 == 0 { 3 } else { 31 },
                &format!("{grammar} after {step} tokens of {text:?}")
            ));
            matcher.accept_token(token).unwrap();
        }
        assert!(matcher.is_accepting(), "{grammar}");
    }
}

#[test]
fn masks_of_random_ambiguous_grammars_are_those_of_trying_each_token() {
    let (mut rng, mut n_masks) = (Rng::new(7), 0);
    while n_masks < 100 {
        let grammar = random_ambiguous(&mut rng);
        let Ok(compiled) = GrammarCompiler::new(vocab()).compile_ebnf(&grammar) else { continue };
        let mut matcher = compiled.matcher();
        for _ in 0..rng.between(1, 8) {
            if !check_mask(&mut matcher, 97, &grammar) {
                break;
            }
            n_masks += 1;
            let mask = matcher.mask().unwrap();
            let Some(token) = mask.iter().nth(rng.below(mask.count())) else { break };
            matcher.accept_token(token).unwrap();
            if matcher.is_terminated() {
                break;
            }
        }
    }
}

//! Very ambiguous grammars: with a real vocabulary their masks are exact and every step is fast.
#![cfg(feature = "tiktoken")]

use maskwright::testing::{Rng, random_ambiguous};
use maskwright::{Encoding, GrammarCompiler, Matcher, Vocab};
use std::collections::HashSet;
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
        let is_allowed = matcher.is_token_allowed(id);
        // A long token can take more work by itself than all of them together, which need not be read in every way.
        let is_over_budget = || matcher.fork().accept_token(id).is_err_and(|error| error.is_over_budget());
        assert!(is_allowed == is_set || is_set && is_over_budget(), "token {id} {:?}\n{context}", bytes());
    }
    true
}

/// Nested tags, parentheses, S-expressions, words, counted characters, fields, keywords amid names (without the letter x), marks that open, close or are plain, and operators that
/// are words.
const GRAMMARS: [(&str, &str); 9] = [
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
    (
        "root ::= word* \".\"\nword ::= [a-wyzA-Z0-9_]+ | \"(\" word* \")\" | \"if \" word \" fi\" | \"where \" word \",\"",
        "if name fi(if where somewhere, fi)where if otherwise fi,orders.",
    ),
    (
        "root ::= (inline* \"\\n\")*\ninline ::= \"**\" inline+ \"**\" | \"*\" inline+ \"*\" | [^\\n]",
        "a **bold *and italic* word**, *one* é\n* ** ***\n",
    ),
    (
        "root ::= expr \";\"\nexpr ::= un (ws (\"+\" | \"in\" | \"instanceof\") ws un)*\nun ::= [a-z]+ | \"(\" ws expr ws \")\" | \"f(\" ws expr ws \")\"\nws ::= \" \"*",
        "alpha in beta + (gamma in(delta) instanceof f( x +yin z)in((w)));",
    ),
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

/// The open brackets of all readings of a text, in which a round bracket may be a plain character; none if the text is no beginning of a sentence.
fn readings(text: &[u8]) -> HashSet<Vec<u8>> {
    let mut readings = HashSet::from([Vec::new()]);
    for &byte in text {
        let mut next = HashSet::new();
        for open in readings {
            let pushed = || [&open[..], &[byte]].concat();
            let popped = |bracket: u8| open.strip_suffix(&[bracket]).map(<[u8]>::to_vec);
            match byte {
                b'(' => next.extend([pushed(), open.clone()]),
                b'[' => next.extend([pushed()]),
                b')' => next.extend(popped(b'(')),
                b']' => next.extend(popped(b'[')),
                b'{' | b'}' => {}
                _ => next.extend([open.clone()]),
            }
        }
        readings = next;
    }
    readings
}

#[test]
fn brackets_that_may_be_plain_characters_are_read_in_every_way() {
    let grammar = "root ::= ([^()\\[\\]{}] | \"(\" | \"(\" root \")\" | \"[\" root \"]\")*";
    let compiled = GrammarCompiler::new(vocab()).compile_ebnf(grammar).unwrap();
    let mut rng = Rng::new(11);
    let mut row = vec![0u32; vocab().n_mask_words()];
    let mut n_closed = 0;
    for round in 0..400 {
        let (mut matcher, mut text) = (compiled.matcher(), Vec::new());
        for _ in 0..20 {
            let byte = *rng.pick(b"a((([[))]]");
            let allowed = !readings(&[&text[..], &[byte]].concat()).is_empty();
            assert_eq!(matcher.accept_bytes(&[byte]).is_ok(), allowed, "{:?}", String::from_utf8_lossy(&text));
            if allowed {
                text.push(byte);
                n_closed += usize::from(byte == b')');
            }
        }
        assert_eq!(matcher.is_accepting(), readings(&text).contains(&Vec::new()));
        if round % 20 == 0 {
            matcher.fill_mask(&mut row).unwrap();
            for id in (0..vocab().n_tokens() as u32).filter(|id| id % 97 == 0 || vocab().bytes(*id).contains(&b')')) {
                let is_set = row[id as usize / 32] >> (id % 32) & 1 == 1;
                let whole = [&text[..], vocab().bytes(id)].concat();
                let is_text = core::str::from_utf8(vocab().bytes(id)).is_ok();
                assert!(!is_text || is_set != readings(&whole).is_empty(), "{:?}", String::from_utf8_lossy(&whole));
            }
        }
    }
    assert!(n_closed > 500, "{n_closed}");
}

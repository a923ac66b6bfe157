//! Random grammars like those of programming languages: names, numbers, quoted text, with loops over classes that overlap and keywords beside them.
//!
//! In them states differ little from one another, and the vocabulary has thousands of tokens of few characters, so that what walks have in common
//! is found again and again. The reference recognizer is too slow for that many tokens: a mask is compared with trying each one.

use super::engine::{Coverage, random_allowed};
use super::sharing::mask_within_budget;
use super::{Rng, show_bytes};
use crate::GrammarCompiler;
use crate::vocab::{TokenId, Vocab};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// Characters of the tokens: of each kind that classes tell apart.
const CHARS: [&str; 18] = ["a", "q", "z", "_", "5", "X", "T", " ", "(", "<", "!", "-", ",", ".", "\"", "?", "\n", "é"];

/// Beginnings of longer tokens.
const BEGINNINGS: [&str; 7] = [" (", "a(", "(a", "a_", "<a", "\"a", " a"];

const CLASSES: [&str; 15] = [
    "[a-zA-Z0-9_]",
    "[a-zA-Z]",
    "[a-zA-Z0-9_(]",
    "[a-z]",
    "[^<!\\n]",
    "[^\"\\n]",
    "[a-zA-Z_ ]",
    "[a-z0-9_,.]",
    "[^ (]",
    "[a-zA-Z0-9]",
    "[aqz]",
    "[X5]",
    "[ ,]",
    "[a-zé]",
    "[^\\x00-\\x7F]",
];

/// Returns a vocabulary of all texts of three of [`CHARS`], all bytes, and some longer tokens.
pub fn vocab() -> Arc<Vocab> {
    static VOCAB: OnceLock<Arc<Vocab>> = OnceLock::new();
    let make = || {
        let mut tokens: BTreeSet<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        for a in CHARS {
            for b in CHARS {
                tokens.insert([a, b].concat().into());
                tokens.extend(BEGINNINGS.map(|beginning| [beginning, a, b].concat().into()));
                tokens.extend(CHARS.map(|c| [a, b, c].concat().into()));
            }
        }
        Arc::new(Vocab::from_tokens(tokens).expect("tokens are few and short"))
    };
    Arc::clone(VOCAB.get_or_init(make))
}

/// Returns a random grammar in EBNF. It may have no sentence.
pub fn random_text(rng: &mut Rng) -> String {
    let n_rules = rng.between(1, 4);
    let again = if rng.chance(50) { "r0" } else { "" };
    let mut text = format!("root ::= r0 \"\\n\" {again}\n");
    for index in 0..n_rules {
        let mut alternatives: Vec<String> = (0..rng.between(1, 3)).map(|_| sequence(rng, n_rules, index)).collect();
        if rng.chance(33) {
            alternatives.push(format!("\"<\" r{index} \">\""));
        }
        text += &format!("r{index} ::= {}\n", alternatives.join(" | "));
    }
    text
}

fn sequence(rng: &mut Rng, n_rules: usize, rule: usize) -> String {
    let items: Vec<String> = (0..rng.between(1, 3)).map(|_| item(rng, n_rules, rule)).collect();
    items.join(" ")
}

/// Returns an expression of a rule, which may name the rules behind it.
fn item(rng: &mut Rng, n_rules: usize, rule: usize) -> String {
    let class = *rng.pick(&CLASSES);
    match rng.below(10) {
        0 | 1 => literal(rng),
        2 => class.to_owned(),
        3 | 4 => format!("{class}*"),
        5 => format!("{class}+"),
        6 => {
            let least = rng.below(3);
            format!("{class}{{{least},{}}}", least + rng.between(1, 8))
        }
        7 => format!("{class} {}*", rng.pick(&CLASSES)),
        _ if rule + 1 < n_rules => format!("r{}", rng.between(rule + 1, n_rules - 1)),
        _ => literal(rng),
    }
}

fn literal(rng: &mut Rng) -> String {
    let escaped = |char: &'static str| match char {
        "\n" => "\\n",
        "\"" => "\\\"",
        _ => char,
    };
    let chars: String = (0..rng.between(1, 2)).map(|_| escaped(rng.pick::<&str>(&CHARS))).collect();
    format!("\"{chars}\"")
}

/// Walks through random grammars with one compiler, and compares each mask with trying each token.
///
/// # Panics
/// If they differ.
pub fn check(data: &[u8]) -> Coverage {
    let mut rng = Rng::from_bytes(data);
    let compiler = GrammarCompiler::new(vocab());
    let mut coverage = Coverage::default();
    for _ in 0..rng.between(1, 5) {
        walk(&mut rng, &compiler, &mut coverage);
    }
    coverage
}

fn walk(rng: &mut Rng, compiler: &GrammarCompiler, coverage: &mut Coverage) {
    let text = random_text(rng);
    let Ok(compiled) = compiler.compile_ebnf(&text) else { return };
    coverage.n_grammars += 1;
    let (vocab, mut matcher, mut accepted) = (compiler.vocab(), compiled.matcher(), Vec::new());
    for _ in 0..rng.between(1, 6) {
        let Some(row) = mask_within_budget(&mut matcher) else { break };
        for id in 0..vocab.n_tokens() as TokenId {
            let is_set = row[id as usize / 32] >> (id % 32) & 1 == 1;
            assert_eq!(
                is_set,
                matcher.is_token_allowed(id),
                "the mask, and a try of {} behind {}\n{text}",
                show_bytes(vocab.bytes(id)),
                show_bytes(&accepted)
            );
        }
        coverage.n_bits += vocab.n_tokens() as u64;
        coverage.n_masks += 1;
        let Some(token) = random_allowed(rng, &row) else { break };
        accepted.extend_from_slice(vocab.bytes(token));
        matcher.accept_token(token).expect("an allowed token is accepted");
    }
}

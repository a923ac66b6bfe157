//! Masks do not depend on the short cuts on the way to them: with each one off, engine and oracle agree.

use maskwright::testing::engine::{self, Coverage};
use maskwright::testing::rounds::data;
use maskwright::testing::{Rng, ShortCut, json_schema, operations};
use maskwright::{GrammarCompiler, TokenMask, Vocab};

/// Turned off for the whole process, so there is one test.
#[test]
fn masks_are_the_same_without_each_short_cut() {
    for short_cut in ShortCut::ALL {
        short_cut.set(false);
        let (mut rng, mut coverage) = (Rng::new(short_cut as u64), Coverage::default());
        for _ in 0..60 {
            coverage += engine::check(&data(&mut rng));
            coverage += operations::check(&data(&mut rng));
        }
        for _ in 0..15 {
            coverage += json_schema::check(&data(&mut rng));
        }
        check_each_length();
        check_each_extension();
        short_cut.set(true);
        assert!(coverage.n_masks > 100, "{short_cut:?}: {coverage:?}");
    }
}

/// Checks masks where a name may go on with a point, behind which the vocabulary has many tokens at one node of its trie and few at each of others.
fn check_each_extension() {
    let letters = || ('a'..='z').map(String::from);
    let pairs = || letters().flat_map(move |a| letters().map(move |b| format!("{a}{b}")));
    let alone = pairs().flat_map(|pair| [format!(".{pair}"), format!(".{pair}!")]);
    let behind_others =
        letters().chain(pairs()).flat_map(|name| ["", "!", ".", ".a", ".z!"].map(|end| name.clone() + end));
    let tokens: Vec<String> = alone.chain(behind_others).chain([".", "!", "."].map(String::from)).collect();
    let may_follow = |token: &str| {
        let text = token.strip_suffix('!').unwrap_or(token);
        let (name, extension) = text.split_once('.').unwrap_or((text, "z"));
        let is_begun = token == text || !extension.is_empty();
        is_begun && name.bytes().all(|byte| byte.is_ascii_lowercase()) && extension.bytes().all(|byte| byte != b'a')
    };
    let expected: Vec<u32> = (0..).zip(&tokens).filter(|(_, token)| may_follow(token)).map(|(id, _)| id).collect();
    let name = tokens.iter().position(|token| token == "mm").unwrap() as u32;
    let n_tokens = tokens.len();
    let vocab = Vocab::from_tokens(&tokens).unwrap();
    let grammar = r#"root ::= [a-z]* ("." [b-z]+)? "!""#;
    let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(grammar).unwrap().matcher();
    let mut mask = TokenMask::new(n_tokens);
    for n in 0..3 {
        matcher.fill_mask(mask.as_words_mut()).unwrap();
        assert_eq!(mask.iter().collect::<Vec<_>>(), expected, "behind {n} tokens");
        matcher.accept_token(name).unwrap();
    }
}

/// Checks all masks of a text whose letters are counted in a register: a token is allowed where its letters are not too many.
fn check_each_length() {
    const LETTERS_MAX: usize = 300;
    let vocab = Vocab::from_tokens(["a", "!", "aa", "a!", "aa!", "aaaa!"]).unwrap();
    let grammar = format!("root ::= [a-z]{{0,{LETTERS_MAX}}} \"!\"");
    let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(&grammar).unwrap().matcher();
    let mut mask = TokenMask::new(6);
    for n in 0..=LETTERS_MAX {
        matcher.fill_mask(mask.as_words_mut()).unwrap();
        let n_letters = [1, 0, 2, 1, 2, 4];
        let expected = (0..6).filter(|&token| n + n_letters[token as usize] <= LETTERS_MAX);
        assert_eq!(mask.iter().collect::<Vec<_>>(), expected.collect::<Vec<u32>>(), "behind {n} letters");
        if n < LETTERS_MAX {
            matcher.accept_token(0).unwrap();
        }
    }
}

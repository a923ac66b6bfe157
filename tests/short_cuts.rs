//! Masks do not depend on the short cuts on the way to them: with each one off, engine and oracle agree.

use maskwright::testing::engine::{self, Coverage};
use maskwright::testing::{Rng, ShortCut, json_schema, operations};
use maskwright::{GrammarCompiler, TokenMask, Vocab};

/// Turned off for the whole process, so there is one test.
#[test]
fn masks_are_the_same_without_each_short_cut() {
    let data = |rng: &mut Rng| -> Vec<u8> { (0..8).flat_map(|_| rng.bits().to_le_bytes()).collect() };
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
        short_cut.set(true);
        assert!(coverage.n_masks > 100, "{short_cut:?}: {coverage:?}");
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

//! Vocabularies that can't spell every byte: a warning when compiling, and a typed error where no token can follow.

use maskwright::grammar::WarningKind;
use maskwright::{GrammarCompiler, Vocab};

#[test]
fn compiling_warns_and_a_dead_end_is_an_error() {
    let vocab = Vocab::from_tokens(["a", "bc"]).unwrap();
    let grammar = GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= "a" "b" "c" | "ab!""#).unwrap();
    let warning = grammar.warnings().last().expect("a warning");
    assert_eq!(warning.kind(), WarningKind::Unspellable);
    assert_eq!(warning.to_string(), "no token of one byte spells [!b-c]: outputs that need such a byte can get stuck");

    let mut matcher = grammar.matcher();
    matcher.accept_bytes(b"ab").unwrap();
    let mut row = vec![u32::MAX; 1];
    let error = matcher.fill_mask(&mut row).unwrap_err();
    assert!(error.is_stuck() && row == [0], "{error}");
    // No state is lost: after a rollback tokens are allowed again.
    matcher.rollback(1).unwrap();
    matcher.fill_mask(&mut row).unwrap();
    assert_eq!(row, [1]);
}

#[test]
fn a_vocabulary_that_spells_what_the_grammar_needs_is_fine() {
    let vocab = Vocab::from_tokens(["a", "b"]).unwrap();
    let grammar = GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= ("a" | "b")+"#).unwrap();
    assert!(grammar.warnings().is_empty());
}

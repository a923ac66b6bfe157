//! The calls of a matcher: what they return where they fail, and what they leave as it was.

use maskwright::json_schema::{SchemaOptions, WhiteSpace};
use maskwright::matcher::{accept_tokens, fill_masks};
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, MatchError, Vocab};

/// The tokens `a`, `b` and the stop token 2.
fn grammar(source: &str) -> CompiledGrammar {
    let mut vocab = Vocab::builder();
    vocab.extend(["a", "b", "<|end|>"]).stop_tokens([2]);
    GrammarCompiler::new(vocab.build().unwrap().into()).compile_ebnf(source).unwrap()
}

#[test]
fn errors_of_lists_have_the_index_whatever_the_reason() {
    let mut matcher = grammar(r#"root ::= "aaa""#).matcher();
    matcher.accept_token(0).unwrap();
    for (tokens, index, token) in [
        (&[0, 1][..], 1, Some(1)),
        (&[1][..], 0, Some(1)),
        // Unknown.
        (&[0, 0, 9][..], 2, Some(9)),
        (&[9][..], 0, Some(9)),
        // After the end.
        (&[0, 0, 2, 2, 0][..], 4, None),
    ] {
        let error = matcher.accept_tokens(tokens).unwrap_err();
        assert_eq!((error.token_index(), error.token()), (Some(index), token), "{tokens:?}: {error}");
        assert!(error.to_string().contains(&format!("index {index}")), "{error}");
        assert_eq!(matcher.n_steps(), 1, "{tokens:?}");
        let whole: Vec<u32> = [0].into_iter().chain(tokens.iter().copied()).collect();
        let error = matcher.replay(&whole).unwrap_err();
        assert_eq!((error.token_index(), error.token()), (Some(index + 1), token), "{whole:?}: {error}");
        assert_eq!(matcher.n_steps(), 1, "{whole:?}");
    }
    let single = |error: MatchError| (error.token_index(), error.token());
    assert_eq!(single(matcher.accept_token(1).unwrap_err()), (None, Some(1)));
    assert_eq!(single(matcher.accept_token(9).unwrap_err()), (None, Some(9)));
    matcher.accept_tokens(&[0, 0, 2]).unwrap();
    assert!(matcher.accept_tokens(&[0]).unwrap_err().is_terminated());
}

#[test]
fn rows_that_do_not_fit_are_errors_of_their_matchers() {
    let grammar = grammar(r#"root ::= "a" | "b" "a""#);
    let fill = |n_matchers: usize, n_words: usize, words_per_row: usize| {
        let mut matchers: Vec<_> = (0..n_matchers).map(|_| grammar.matcher()).collect();
        let mut rows = vec![u32::MAX; n_words];
        let filled = fill_masks(&mut matchers, &mut rows, words_per_row, None);
        let bounds: Vec<_> = filled.iter().map(|one| one.as_ref().err().map(|error| error.bound().unwrap())).collect();
        (bounds, rows)
    };
    let set = 0b11;
    assert_eq!(fill(2, 2, 1), (vec![None, None], vec![set, set]));
    // Words beyond the rows are not touched, those of a row beyond the mask are cleared.
    assert_eq!(fill(1, 3, 2), (vec![None], vec![set, 0, u32::MAX]));
    assert_eq!(fill(3, 5, 2), (vec![None, None, Some((1, 2))], vec![set, 0, set, 0, 0]));
    assert_eq!(fill(4, 3, 2), (vec![None, Some((1, 2)), Some((0, 2)), Some((0, 2))], vec![set, 0, 0]));
    assert_eq!(fill(2, 0, 1), (vec![Some((0, 1)), Some((0, 1))], vec![]));
    assert_eq!(fill(1, 1, 0), (vec![Some((0, 1))], vec![u32::MAX]));
    assert_eq!(fill(2, 1, usize::MAX), (vec![Some((1, usize::MAX)), Some((0, usize::MAX))], vec![0]));
    assert_eq!(fill(0, 1, 1), (vec![], vec![u32::MAX]));
}

#[test]
fn batches_accept_one_token_each() {
    let grammar = grammar(r#"root ::= "a" | "b" "a""#);
    let mut matchers = [grammar.matcher(), grammar.matcher(), grammar.matcher()];
    let results = accept_tokens(&mut matchers, &[0, 1, 2], None);
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(matchers.map(|matcher| matcher.n_steps()), [1, 1, 0]);
}

/// What elements leave was not asked: that `true` was there and two are needed.
#[test]
fn forced_text_knows_which_elements_are_left() {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap();
    let compiler = GrammarCompiler::new(vocab.into());
    let schema = r#"{"type":"array","uniqueItems":true,"items":{"type":"boolean"},"minItems":2}"#;
    let options = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap();
    let mut matcher = grammar.matcher();
    for (text, forced) in [("", "["), ("[", ""), ("[true", ",false]"), ("[false,", "true]"), ("[true,false]", "")] {
        matcher.reset();
        matcher.accept_bytes(text.as_bytes()).unwrap();
        assert_eq!(matcher.jump_forward_text(), forced, "after {text}");
    }
}

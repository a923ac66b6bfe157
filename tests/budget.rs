//! Budgets of steps: beyond one there is a typed error without loss of state, and a matcher that fails closed ends its text instead.

use maskwright::{CompiledGrammar, GrammarCompiler, Limits, MatchError, Matcher, TokenKind, Vocab};
use std::sync::Arc;

/// Every byte, words of two and three letters, a stop token.
fn vocab() -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    (0..=255u8).for_each(|byte| {
        builder.push([byte]);
    });
    for a in b'a'..=b'z' {
        for b in b'a'..=b'z' {
            builder.push([a, b]);
            builder.push([b' ', a, b]);
        }
    }
    let stop = builder.push("</s>");
    builder.set_kind(stop, TokenKind::Control);
    builder.stop_tokens([stop]);
    Arc::new(builder.build().unwrap())
}

fn compile(grammar: &str, limits: Limits) -> CompiledGrammar {
    GrammarCompiler::builder(vocab()).limits(limits).build().compile_ebnf(grammar).unwrap()
}

/// Recursion through a counter: a text of `n` letters has more parses than there is time for.
const AMBIGUOUS: &str = "root ::= \"a\" (root (\"b\" | root)?){2,100} | \"a\"";

/// Enough work for the first masks of [`AMBIGUOUS`].
const WORK_MAX: u64 = 40_000;

fn row(matcher: &mut Matcher) -> Result<Vec<u32>, MatchError> {
    let mut row = vec![u32::MAX; matcher.grammar().vocab().n_mask_words()];
    let filled = matcher.fill_mask(&mut row);
    if filled.is_err() {
        assert!(row.iter().all(|&word| word == 0), "a row without a mask is empty");
    }
    filled.map(|_| row)
}

#[test]
fn a_mask_beyond_the_budget_is_an_error_that_changes_nothing() {
    let tight = compile(AMBIGUOUS, Limits { step_work_max: WORK_MAX, ..Limits::default() });
    let free = compile(AMBIGUOUS, Limits::default());
    let (mut matcher, mut wide) = (tight.matcher(), free.matcher());
    let before = row(&mut matcher).unwrap();
    let mut n_accepted = 0;
    let error = loop {
        if let Err(error) = row(&mut matcher) {
            break error;
        }
        matcher.accept_bytes(b"a").unwrap();
        wide.accept_bytes(b"a").unwrap();
        n_accepted += 1;
        assert!(n_accepted < 200, "the budget is never met");
    };
    assert!(
        error.is_over_budget() && !error.is_stuck() && error.to_string().contains("more than 40,000 units"),
        "{error}"
    );
    assert_eq!(matcher.n_steps(), n_accepted);
    // Accepting a sampled token has a budget of its own, and its verdict is the same.
    assert!(matcher.is_token_allowed(u32::from(b'a')) && !matcher.is_token_allowed(u32::from(b'z')));
    assert!(matcher.accept_token(u32::from(b'z')).is_err_and(|error| !error.is_over_budget()));
    matcher.accept_token(u32::from(b'a')).unwrap();
    wide.accept_token(u32::from(b'a')).unwrap();
    assert_eq!(matcher.is_accepting(), wide.is_accepting());
    assert_eq!(matcher.jump_forward(), wide.jump_forward());
    assert!(row(&mut matcher.fork()).is_err_and(|error| error.is_over_budget()));
    matcher.mask_key();
    matcher.rollback(n_accepted + 1).unwrap();
    assert_eq!(row(&mut matcher).unwrap(), before);
    (0..n_accepted).for_each(|_| matcher.accept_bytes(b"a").unwrap());
    matcher.reset();
    assert_eq!(row(&mut matcher).unwrap(), before);
}

#[test]
fn accepting_is_within_budgets_of_work_and_of_memory() {
    let tight = compile(AMBIGUOUS, Limits { step_work_max: 200, ..Limits::default() });
    let small = compile(AMBIGUOUS, Limits { matcher_bytes_max: 20_000, ..Limits::default() });
    for grammar in [tight, small] {
        let (mut matcher, mut n_accepted) = (grammar.matcher(), 0);
        let error = loop {
            match matcher.accept_token(u32::from(b'a')) {
                Ok(()) => n_accepted += 1,
                Err(error) => break error,
            }
            assert!(n_accepted < 2000, "the budget is never met");
        };
        assert!(error.is_over_budget(), "{error}");
        assert_eq!(matcher.n_steps(), n_accepted);
        assert!(matcher.memory_bytes() < 1 << 20);
        assert!(matcher.accept_token(u32::from(b'a')).is_err_and(|error| error.is_over_budget()));
        assert!(!matcher.is_token_allowed(u32::from(b'a')), "what can't be accepted is not allowed");
        matcher.rollback(n_accepted).unwrap();
        matcher.accept_token(u32::from(b'a')).unwrap();
    }
}

#[test]
fn comparing_values_is_work() {
    let compiler =
        GrammarCompiler::builder(vocab()).limits(Limits { step_work_max: 1000, ..Limits::default() }).build();
    let schema = r#"{"type": "array", "uniqueItems": true, "items": {"type": "integer"}}"#;
    let mut matcher = compiler.compile_json_schema(schema).unwrap().matcher();
    matcher.accept_bytes(b"[1000").unwrap();
    // A number is compared with those before it wherever it may end.
    let refused =
        (1001..4000).find_map(|n| matcher.accept_bytes(format!(",{n}").as_bytes()).err().map(|error| (n, error)));
    let (n, error) = refused.expect("comparing costs nothing");
    assert!(error.is_over_budget() && n > 1100, "{n}: {error}");
    matcher.accept_bytes(b"]").unwrap();
    assert!(matcher.is_accepting(), "a call that fails changes nothing");
    // A long text is accepted in one call as it is token by token.
    let numbers: Vec<String> = (1000..4000).map(|n| n.to_string()).collect();
    let mut matcher = GrammarCompiler::new(vocab()).compile_json_schema(schema).unwrap().matcher();
    matcher.accept_bytes(format!("[{}]", numbers.join(",")).as_bytes()).unwrap();
    assert!(matcher.is_accepting());
}

#[test]
fn defaults_suffice_for_ordinary_grammars_and_the_slow_ones_have_names() {
    let compiler = GrammarCompiler::new(vocab());
    let grammar = compiler.compile_ebnf("root ::= block* \".\"\nblock ::= \"(\" block* \")\" | [a-z ]+").unwrap();
    let mut matcher = grammar.matcher();
    for byte in b"some (nested (text) and) more." {
        row(&mut matcher).unwrap();
        matcher.accept_bytes(&[*byte]).unwrap();
    }
    let rules = compiler.ambiguous_rules();
    assert!(rules.iter().all(|rule| rule.contains("block") || rule.contains("root")), "{rules:?}");
    assert_eq!(rules.is_empty(), compiler.stats().masks.ambiguous_walks == 0);
    let plain = GrammarCompiler::new(vocab());
    let mut matcher = plain.compile_ebnf("root ::= \"{\" [a-z]+ \"}\"").unwrap().matcher();
    row(&mut matcher).unwrap();
    assert!(plain.ambiguous_rules().is_empty() && plain.stats().masks.ambiguous_walks == 0);
}

#[test]
fn a_matcher_that_fails_closed_has_a_row_for_everything() {
    let grammar = compile(AMBIGUOUS, Limits { step_work_max: WORK_MAX, ..Limits::default() });
    let vocab = Arc::clone(grammar.vocab());
    let stop = vocab.stop_tokens()[0];
    let mut only_stop = vec![0u32; vocab.n_mask_words()];
    only_stop[stop as usize / 32] |= 1 << (stop % 32);

    let mut matcher = grammar.matcher();
    matcher.set_fail_closed(true);
    let first = row(&mut matcher).unwrap();
    assert!(matcher.error().is_none() && first != only_stop);
    let mut n_accepted = 0;
    while matcher.error().is_none() {
        matcher.accept_bytes(b"a").unwrap();
        n_accepted += 1;
        row(&mut matcher).unwrap();
    }
    assert!(matcher.error().is_some_and(MatchError::is_over_budget));
    assert_eq!(row(&mut matcher).unwrap(), only_stop);
    // Text accepted after the error is ordinary text: no stop token may follow before a mask allows it.
    let mut further = matcher.fork();
    further.accept_bytes(b"a").unwrap();
    assert!(further.error().is_none());
    let is_accepting = further.is_accepting();
    assert_eq!(further.accept_token(stop).is_ok(), is_accepting);
    // The stop token ends the text, though the grammar would not; all steps can be undone.
    let mut ended = matcher.fork();
    ended.accept_token(stop).unwrap();
    assert!(ended.is_terminated());
    assert_eq!(row(&mut ended).unwrap(), only_stop);
    ended.rollback(n_accepted + 1).unwrap();
    assert!(ended.error().is_none() && !ended.is_terminated());
    assert_eq!(row(&mut ended).unwrap(), first);
    // A row that is too short gets the stop tokens that fit.
    let mut short = vec![u32::MAX; 2];
    matcher.rollback(n_accepted).unwrap();
    matcher.fill_mask(&mut short).unwrap();
    assert_eq!(short, [0, 0]);
    assert!(matcher.error().is_some_and(|error| error.bound() == Some((2, vocab.n_mask_words()))));

    // Stuck: no token may follow.
    let letters = Arc::new(Vocab::from_tokens(["a", "b"]).unwrap());
    let mut stuck = GrammarCompiler::new(letters).compile_ebnf("root ::= \"a\" \"z\"").unwrap().matcher();
    stuck.accept_token(0).unwrap();
    assert!(stuck.mask().is_err_and(|error| error.is_stuck()));
    stuck.set_fail_closed(true);
    assert_eq!(stuck.mask().unwrap().count(), 0, "there is no stop token");
    assert!(stuck.error().is_some_and(MatchError::is_stuck));
    stuck.set_fail_closed(false);
    assert!(stuck.error().is_none() && stuck.mask().is_err());
}

/// Calls that accept nothing in the end forgot that the last mask was that of the stop tokens, and one of these was refused then.
#[test]
fn what_accepts_nothing_leaves_a_matcher_that_failed_closed_as_it_was() {
    let mut vocab = Vocab::builder();
    vocab.extend(["a", "b"]);
    let end = vocab.push("</s>");
    vocab.stop_tokens([end]);
    let compiler = GrammarCompiler::new(Arc::new(vocab.build().unwrap()));
    let mut stuck = compiler.compile_ebnf("root ::= \"a\" \"z\"").unwrap().matcher();
    stuck.set_fail_closed(true);
    stuck.accept_token(0).unwrap();
    assert_eq!(stuck.mask().unwrap().iter().collect::<Vec<_>>(), [end]);
    for _ in 0..2 {
        assert_eq!(stuck.validate_tokens(&[end, 0]), 1);
        assert!(stuck.accept_tokens(&[end, 0]).is_err_and(|error| error.token_index() == Some(1)));
        assert!(stuck.error().is_some_and(MatchError::is_stuck));
    }
    stuck.accept_token(end).unwrap();
    assert!(stuck.is_terminated());
}

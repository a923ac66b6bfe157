//! When an output ends: stop tokens that the grammar names, padding, none at all, and ends without one.

use maskwright::testing::cases::default_vocab;
use maskwright::{CompiledGrammar, GrammarCompiler, Matcher, TokenId, Vocab};
use std::sync::Arc;

fn compile(text: &str) -> CompiledGrammar {
    GrammarCompiler::new(Arc::new(default_vocab())).compile_ebnf(text).unwrap_or_else(|error| panic!("{error:#}"))
}

fn allowed(matcher: &mut Matcher) -> Vec<TokenId> {
    matcher.mask().unwrap().iter().collect()
}

/// The stop token of the default vocabulary.
const END: TokenId = 303;

/// The README's grammar ends with a stop token: one is enough.
#[cfg(feature = "tiktoken")]
#[test]
fn the_grammar_of_the_readme_ends_with_its_stop_token() {
    let readme = include_str!("../README.md");
    let grammar = readme.split("```ebnf\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a grammar");
    let vocab = Arc::new(Vocab::tiktoken(maskwright::Encoding::Cl100kBase).unwrap());
    let &[end] = vocab.ids_named("<|endoftext|>") else { panic!("one token of that name") };
    assert!(vocab.stop_tokens().contains(&end), "{:?}", vocab.stop_tokens());
    let tokens = vocab.tokenize_greedy(b"Sure. <call>add(1, 2)</call> Done.");
    let mut matcher = GrammarCompiler::new(vocab).compile_ebnf(grammar).unwrap().matcher();
    for (index, &token) in tokens.iter().enumerate() {
        assert!(matcher.mask().unwrap().contains(token), "token {index}");
        matcher.accept_token(token).unwrap();
        assert!(!matcher.is_terminated() && !matcher.is_accepting(), "token {index}");
    }
    assert!(matcher.mask().unwrap().contains(end));
    matcher.accept_token(end).unwrap();
    assert!(matcher.is_terminated() && matcher.is_accepting());
    assert_eq!(allowed(&mut matcher), matcher.stop_tokens());
    assert!(matcher.accept_token(tokens[0]).unwrap_err().is_terminated());
    matcher.rollback(1).unwrap();
    assert!(!matcher.is_terminated() && !matcher.is_accepting());
    matcher.accept_token(tokens[0]).unwrap();
    assert!(matcher.mask().unwrap().contains(end));
}

#[test]
fn stop_tokens_on_padding_end_the_output() {
    let grammar = compile(r#"root ::= "a" "b"?"#);
    let mut matcher = grammar.matcher();
    // Padding of the vocabulary.
    matcher.set_stop_tokens(&[310, END]).unwrap();
    assert!(!matcher.is_token_allowed(310));
    matcher.accept_token(b'a'.into()).unwrap();
    assert_eq!(allowed(&mut matcher), [b'b'.into(), END, 310]);
    assert!(matcher.is_token_allowed(310) && !matcher.is_token_allowed(311));
    assert_eq!(matcher.validate_tokens(&[310, 310, END, b'b'.into()]), 3);
    matcher.accept_token(310).unwrap();
    assert!(matcher.is_terminated());
    assert_eq!(allowed(&mut matcher), [END, 310]);
    matcher.rollback(1).unwrap();
    assert!(!matcher.is_terminated());
    let explanation = matcher.explain_token(310).unwrap();
    assert!(explanation.is_allowed(), "{explanation}");
    assert!(!matcher.explain_token(311).unwrap().is_allowed());
    // A matcher that fails closed ends with them as well.
    matcher.set_stop_tokens(&[310]).unwrap();
    matcher.set_fail_closed(true);
    let mut short = [0; 10];
    assert!(matcher.fill_mask(&mut short[..9]).unwrap().none_set);
    assert!(!matcher.fill_mask(&mut short).unwrap().none_set && matcher.error().is_none());
    assert_eq!(matcher.set_stop_tokens(&[320]).unwrap_err().bound(), Some((320, 320)));
}

/// Whether a matcher has ended after each of some texts, from one matcher that goes there and back.
fn ends_after(grammar: &CompiledGrammar, texts: &[&str]) -> Vec<bool> {
    let mut matcher = grammar.matcher();
    matcher.set_terminate_when_nothing_follows(true);
    let ends = |matcher: &mut Matcher, text: &str| {
        matcher.accept_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let is_terminated = matcher.is_terminated();
        assert_eq!(matcher.fork().is_terminated(), is_terminated, "{text}");
        let only_stops = allowed(matcher).iter().all(|token| matcher.stop_tokens().contains(token));
        assert_eq!(is_terminated, matcher.is_accepting() && only_stops, "{text}");
        assert_eq!(matcher.accept_bytes(b"").is_ok(), !is_terminated, "{text}");
        matcher.rollback(matcher.n_steps()).unwrap();
        is_terminated
    };
    texts.iter().map(|text| ends(&mut matcher, text)).collect()
}

#[test]
fn outputs_end_where_nothing_follows() {
    let optional = compile(r#"root ::= "a" "b"?"#);
    assert_eq!(ends_after(&optional, &["", "a", "ab"]), [false, false, true]);
    // White space may follow.
    let spaced = compile("root ::= \"{}\" \" \"{0,2}");
    assert_eq!(ends_after(&spaced, &["{}", "{} ", "{}  "]), [false, false, true]);
    // A control token may follow.
    assert_eq!(ends_after(&compile(r#"root ::= "a" <|x|>?"#), &["a"]), [false]);
    // Nothing but a stop token may follow, whoever names it.
    assert_eq!(ends_after(&compile(r#"root ::= "a" <|end|>?"#), &["a"]), [true]);
    assert_eq!(ends_after(&compile(r#"root ::= "a" <|end|>"#), &["a"]), [false]);
    let recursive = compile(r#"root ::= "(" root? ")""#);
    assert_eq!(ends_after(&recursive, &["(", "(()", "(())"]), [false, false, true]);
    // A counter rules out what the automaton would read.
    let counted = compile("root ::= ([a-z] [0-9]){0,3}");
    assert_eq!(ends_after(&counted, &["", "a1", "a1b2c3"]), [false, false, true]);
}

#[test]
fn ends_of_json_are_ends() {
    let compiler = GrammarCompiler::new(Arc::new(default_vocab()));
    let object = compiler.compile_json_schema(r#"{"type": "object", "maxProperties": 2}"#).unwrap();
    assert_eq!(ends_after(&object, &["{", "{}", r#"{"a": 1}"#]), [false, true, true]);
    let number = compiler.compile_json_schema(r#"{"enum": [1, 12, true]}"#).unwrap();
    assert_eq!(ends_after(&number, &["1", "true"]), [false, true]);
    let items = r#"{"type": "array", "uniqueItems": true, "items": {"type": "boolean"}}"#;
    let items = compiler.compile_json_schema(items).unwrap();
    assert_eq!(ends_after(&items, &["[true", "[true]", "[true, false]"]), [false, true, true]);
}

/// What no token spells can't follow; what is a stop token isn't text.
#[test]
fn whether_something_follows_is_told_by_tokens() {
    let vocab = Vocab::from_tokens(["a", "b"]).unwrap();
    let compiler = GrammarCompiler::new(vocab.into());
    let mut matcher = compiler.compile_ebnf(r#"root ::= "a" ("b" | "c")?"#).unwrap().matcher();
    matcher.set_terminate_when_nothing_follows(true);
    matcher.accept_token(0).unwrap();
    assert!(!matcher.is_terminated());
    matcher.set_stop_tokens(&[1]).unwrap();
    assert!(matcher.is_terminated());
    assert_eq!(allowed(&mut matcher), [1]);
    matcher.set_stop_tokens(&[]).unwrap();
    assert!(!matcher.is_terminated());
    let mut matcher = compiler.compile_ebnf(r#"root ::= "a" "c"?"#).unwrap().matcher();
    matcher.set_terminate_when_nothing_follows(true);
    matcher.accept_token(0).unwrap();
    assert!(matcher.is_terminated() && matcher.accept_bytes(b"c").unwrap_err().is_terminated());
    let fill = matcher.fill_mask(&mut [0]).unwrap();
    assert!(fill.none_set && !fill.all_set);
}

#[test]
fn an_end_without_a_stop_token_is_taken_back() {
    let grammar = compile(r#"root ::= "a" "b""#);
    let tokens: [TokenId; 2] = [b'a'.into(), b'b'.into()];
    let mut matcher = grammar.matcher();
    matcher.accept_tokens(&tokens).unwrap();
    assert!(!matcher.is_terminated() && matcher.is_accepting());
    // Where it is asked for later, and not any more.
    for is_asked in [true, false, true] {
        matcher.set_terminate_when_nothing_follows(is_asked);
        assert_eq!(matcher.is_terminated(), is_asked);
    }
    // A stop token may come, or not; both are taken back.
    matcher.accept_token(END).unwrap();
    assert!(matcher.is_terminated() && matcher.n_steps() == 3);
    matcher.rollback(1).unwrap();
    assert!(matcher.is_terminated());
    matcher.rollback(1).unwrap();
    assert!(!matcher.is_terminated());
    assert_eq!(matcher.validate_tokens(&[b'b'.into(), END, b'b'.into()]), 2);
    assert!(!matcher.is_terminated());
    let error = matcher.accept_tokens(&[b'b'.into(), b'b'.into()]).unwrap_err();
    assert!(error.is_terminated() && error.token_index() == Some(1) && !matcher.is_terminated(), "{error}");
    matcher.replay(&tokens).unwrap();
    assert!(matcher.is_terminated() && matcher.jump_forward().is_empty());
    matcher.forget_history();
    assert!(matcher.is_terminated());
    matcher.reset();
    assert!(!matcher.is_terminated());
    // The text before any token may be the end.
    let mut matcher = compile(r#"root ::= """#).matcher();
    matcher.set_terminate_when_nothing_follows(true);
    assert!(matcher.is_terminated() && matcher.n_steps() == 0);
    matcher.reset();
    assert!(matcher.is_terminated());
}

//! The calls of a matcher: their errors, and that a failed call changes nothing.

use maskwright::json_schema::{SchemaOptions, WhiteSpace};
use maskwright::matcher::{accept_tokens, fill_masks};
use maskwright::{CompileOptions, CompiledGrammar, Config, GrammarCompiler, MatchError, Vocab};
use std::sync::Arc;

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

/// Forced text takes distinct values into account: `true` is used, and two items are needed.
#[test]
fn forced_text_knows_which_values_are_left() {
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

fn bytes_and(tokens: &[&str]) -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte])).extend(tokens);
    let end = builder.push("<|end|>");
    builder.stop_tokens([end]);
    Arc::new(builder.build().unwrap())
}

/// Returns the tokens of the mask after a text, as a new matcher of the grammar has them.
fn mask_after(grammar: &CompiledGrammar, text: &[u8], stop_tokens: Option<&[u32]>) -> Vec<u32> {
    let mut matcher = grammar.matcher();
    stop_tokens.into_iter().for_each(|tokens| matcher.set_stop_tokens(tokens).unwrap());
    matcher.accept_bytes(text).unwrap();
    matcher.mask().unwrap().iter().collect()
}

/// Objects with undeclared keys, which must be distinct.
fn free_keys(vocab: &Arc<Vocab>) -> CompiledGrammar {
    let schema = r#"{"type":"object","additionalProperties":{"type":"null"}}"#;
    let options = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    let compiler = GrammarCompiler::new(Arc::clone(vocab));
    compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap()
}

/// Cached masks depend on the stop tokens where keys must be distinct: a stop token is no text, so it can't complete a duplicate key.
#[test]
fn other_stop_tokens_are_other_masks_where_keys_are_compared() {
    let tokens = ["ab\"", "b\"", "x", "b\":null,\"ab\""];
    let vocab = bytes_and(&tokens);
    let grammar = free_keys(&vocab);
    let all: Vec<u32> = (256..256 + tokens.len() as u32).chain([u32::from(b'b')]).collect();
    for text in [&b"{\"ab\":null,\""[..], b"{\"ab\":null,\"a", b"{\"ab\":null,\"x", b"{\"xab\":null,\"ab\":null,\"x"] {
        for &first in &all {
            for &second in &all {
                let mut matcher = grammar.matcher();
                matcher.accept_bytes(text).unwrap();
                for tokens in [&[first][..], &[second], &[first, second], &[]] {
                    matcher.set_stop_tokens(tokens).unwrap();
                    // Twice: the second one is cached.
                    for _ in 0..2 {
                        let mask: Vec<u32> = matcher.mask().unwrap().iter().collect();
                        assert_eq!(mask, mask_after(&grammar, text, Some(tokens)), "{tokens:?} after {text:?}");
                    }
                }
            }
        }
    }
}

/// A fork knows the number of bytes before each step, so that a rollback drops the right keys.
#[test]
fn forks_roll_back_where_keys_are_compared() {
    let vocab = bytes_and(&["a\":null", ",\"b\":null", ",\""]);
    let grammar = free_keys(&vocab);
    let pieces: [&[u8]; 6] = [b"{\"", b"a\":null", b",\"b\":null", b",\"", b"c", b"\":null"];
    let mut matcher = grammar.matcher();
    for piece in pieces {
        matcher.accept_bytes(piece).unwrap();
    }
    for k in 0..=pieces.len() {
        let mut fork = matcher.fork();
        fork.rollback(k).unwrap();
        let text = pieces[..pieces.len() - k].concat();
        assert_eq!(
            fork.mask().unwrap().iter().collect::<Vec<_>>(),
            mask_after(&grammar, &text, None),
            "{k} steps back"
        );
        // Keys that were undone are allowed again, and no others.
        for piece in &pieces[pieces.len() - k..] {
            fork.accept_bytes(piece).unwrap_or_else(|error| panic!("{k} steps back, {piece:?}: {error}"));
        }
        for key in ["a", "b", "c"] {
            assert!(fork.accept_bytes(format!(",\"{key}\":").as_bytes()).is_err(), "{k} steps back: {key} twice");
        }
    }
}

/// One text with two roots is two grammars.
#[test]
fn a_cached_grammar_has_its_root() {
    let compiler = GrammarCompiler::new(bytes_and(&[]));
    let text = "root ::= \"a\" other\nother ::= \"b\" root?";
    for _ in 0..2 {
        for (root, token) in [("root", b'a'), ("other", b'b')] {
            let grammar = compiler.compile_ebnf_with_root(text, root).unwrap();
            let mask: Vec<u32> = grammar.matcher().mask().unwrap().iter().collect();
            assert_eq!(mask, [u32::from(token)], "{root}");
        }
    }
}

/// One text may be two grammars.
#[test]
fn a_cached_grammar_has_its_dialect() {
    let compiler = GrammarCompiler::new(bytes_and(&[]));
    for _ in 0..2 {
        assert!(compiler.compile_lark("start: \"a\"").is_ok() && compiler.compile_ebnf("start: \"a\"").is_err());
        assert!(compiler.compile_regex("start: \"a\"").is_ok() && compiler.compile_auto("start: \"a\"").is_ok());
    }
    assert_eq!(compiler.stats().grammar_misses, 4);
}

/// Units of rules without calls are shared by schemas; their counters are part of their identity.
#[test]
fn shared_units_have_their_counts() {
    let compiler = GrammarCompiler::new(bytes_and(&[]));
    let mut grammars = Vec::new();
    for (min, max) in [(6, 10), (6, 12), (7, 12), (7, 10), (6, 10)] {
        let schema = format!(r#"{{"type":"string","minLength":{min},"maxLength":{max}}}"#);
        grammars.push((min, max, compiler.compile_json_schema(&schema).unwrap()));
    }
    for (min, max, grammar) in grammars {
        for n in 0..14 {
            let mut matcher = grammar.matcher();
            let text = format!("\"{}\"", "x".repeat(n));
            let is_accepted = matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting();
            assert_eq!(is_accepted, (min..=max).contains(&n), "{n} characters of {min} to {max}");
        }
    }
}

/// A number may be a prefix of another one: a prefix equal to an earlier item is not refused yet.
#[test]
fn numbers_that_may_go_on_are_no_repetition_yet() {
    let compiler = GrammarCompiler::new(bytes_and(&["1,", "1]", "10", ",1", "-1", "1.5"]));
    let options = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    let compile = |schema: &str| {
        compiler
            .compile_json_schema_with(schema, &options, &CompileOptions::default())
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let follows = |grammar: &CompiledGrammar, text: &str| -> String {
        let mask = mask_after(grammar, text.as_bytes(), None);
        mask.into_iter().filter(|&token| token < 256).map(|token| char::from(token as u8)).collect()
    };
    let any = compile(r#"{"type":"array","uniqueItems":true,"items":{"type":"number"}}"#);
    for (text, expected) in [
        ("[1,1", ".0123456789"),
        ("[1,-", "0123456789"),
        ("[1,2", ",.0123456789]"),
        ("[10,1", ",.0123456789]"),
        ("[1,10,10", ".0123456789"),
        ("[1.5,1.5", "0123456789"),
        ("[0,0", "."),
        ("[0,", "-0123456789"),
    ] {
        assert_eq!(follows(&any, text), expected, "after {text}");
    }
    // Two digits at most: the domain can be exhausted.
    let few = compile(r#"{"type":"array","uniqueItems":true,"items":{"enum":[1,10,11,2]}}"#);
    for (text, expected) in [
        ("[1,1", "01"),
        ("[1,10,1", "1"),
        ("[1,10,11,", "2"),
        ("[10,11,", "12"),
        ("[10,11,1", ",]"),
        ("[1,10,11,2", "]"),
        ("[1,10,11", ",]"),
    ] {
        assert_eq!(follows(&few, text), expected, "after {text}");
    }
}

/// Nested contexts, in caches so small that they are evicted while in use.
#[test]
fn decisions_keep_their_callers_when_stores_are_replaced() {
    let vocab = bytes_and(&[
        ").", "].", ").!", ").?", "].!", "].?", ")]", ")].", ").]", "x).", "x)].!", "x).?", "((", "[[", "x.", "x.!",
    ]);
    let text = r#"
        root ::= "1" y "!" | "2" y "?" | "3" z "!" | "4" z "?"
        y ::= x "." | "[" y "]"
        z ::= x ":" | "[" z "]" | "{" y "}"
        x ::= "x" | "(" x ")"
    "#;
    let masks_with = |config: Config| {
        let compiler = GrammarCompiler::builder(Arc::clone(&vocab)).config(config).build();
        let grammar = compiler.compile_ebnf(text).unwrap();
        let mut masks = Vec::new();
        for round in 0..3 {
            for whole in ["1[((x))].!", "2((x)).?", "3{[x.]}!", "4[{x.}]?", "1(x).!", "2[[(x)]].?", "3x:!", "4[(x):]?"]
            {
                let mut matcher = grammar.matcher();
                // Masks of some prefixes, then of all: the recently used entries differ.
                for (place, byte) in whole.bytes().enumerate() {
                    if round == 2 || place % 2 == round {
                        masks.push(matcher.mask().unwrap_or_else(|error| panic!("{whole} at {place}: {error}")));
                    }
                    if matcher.accept_bytes(&[byte]).is_err() {
                        break;
                    }
                }
            }
        }
        (masks, compiler.stats().masks.evictions)
    };
    let (expected, n_evicted) = masks_with(Config::default());
    assert_eq!(n_evicted, 0);
    let mut n_evicted = 0;
    for mask_store_bytes_max in (512..32 << 10).step_by(256) {
        let (masks, n) = masks_with(Config { mask_store_bytes_max, ..Config::default() });
        assert!(masks == expected, "{mask_store_bytes_max} bytes");
        n_evicted += n;
    }
    assert!(n_evicted > 100, "{n_evicted} nodes were dropped");
}

/// Containers are compared by their scalars before their canonical forms; a number or word at the end of a prefix is incomplete.
#[test]
fn prefixes_of_containers_may_become_earlier_ones() {
    let tokens = ["10]", "0]", "0", "1]", "10,", "ue]", "true]", "]", "10],", "1,10]"];
    let vocab = bytes_and(&tokens);
    let options = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    let schema =
        r#"{"type":"array","uniqueItems":true,"items":{"type":"array","items":{"type":["integer","boolean"]}}}"#;
    let compiler = GrammarCompiler::new(vocab);
    let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap();
    let all = |text: &str| {
        let mask = mask_after(&grammar, text.as_bytes(), None);
        let named = tokens.iter().zip(256..).filter(|(_, id)| mask.contains(id)).map(|(token, _)| *token);
        named.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(all("[[10],["), "0] 0 1] 10, true] ] 1,10]");
    assert_eq!(all("[[10],[1"), "10] 0 1] 10, ] 10], 1,10]");
    assert_eq!(all("[[true],[tr"), "");
    assert_eq!(all("[[true],[1,tr"), "ue]");
    assert_eq!(all("[[1,10],["), "10] 0] 0 1] 10, true] ] 10],");
    assert_eq!(all("[[1,10],[1,"), "0] 0 1] 10, true] 1,10]");
}

/// A stop token is no text. One that is tried since it holds a key of the object around it is text again when it is no stop token any more.
#[test]
fn a_token_that_was_a_stop_token_is_text_again() {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    tokens.push(br#"{"a":"#.to_vec());
    let token = 256;
    let compiler = GrammarCompiler::new(Arc::new(Vocab::from_tokens(tokens).unwrap()));
    let mut matcher = compiler.compile_json_schema(r#"{"type": "object"}"#).unwrap().matcher();
    matcher.accept_bytes(br#"{"a":1,"b":"#).unwrap();
    for (stop_tokens, is_allowed) in [(&[token][..], false), (&[][..], true), (&[token][..], false)] {
        matcher.set_stop_tokens(stop_tokens).unwrap();
        for _ in 0..2 {
            assert_eq!(matcher.mask().unwrap().contains(token), is_allowed, "stop tokens {stop_tokens:?}");
            assert_eq!(matcher.is_token_allowed(token), is_allowed);
        }
    }
}

/// A key that the schema declares is no other one, also where its object begins within the token.
#[test]
fn declared_keys_of_an_object_that_begins_within_a_token() {
    let longer = ["{\"a\":1,", "{\"a\":\"", "{\"b\":1,", "{\"o\":{\"a\":1,", "{\"o\":{\"a\":\""];
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    tokens.extend(longer.iter().map(|token| token.as_bytes().to_vec()));
    let compiler = GrammarCompiler::new(Vocab::from_tokens(tokens).unwrap().into());
    for (schema, prefix, allowed) in [
        (r#"{"properties": {"a": {"type": "string"}}}"#, "", [1, 2, 3, 4].as_slice()),
        (r#"{"properties": {"o": {"properties": {"a": {"type": "string"}}}}}"#, "", &[0, 1, 2, 4]),
        (r#"{"properties": {"o": {"properties": {"a": {"type": "string"}}}}}"#, "{\"o\":", &[1, 2, 3, 4]),
        (r#"{"items": {"properties": {"a": false}}, "uniqueItems": true}"#, "[", &[2, 3, 4]),
    ] {
        let mut matcher = compiler.compile_json_schema(schema).unwrap().matcher();
        matcher.accept_bytes(prefix.as_bytes()).unwrap();
        let mask = matcher.mask().unwrap();
        for (index, text) in longer.iter().enumerate() {
            let token = 256 + index as u32;
            assert_eq!(mask.contains(token), allowed.contains(&index), "{schema} {prefix} {text}");
            assert_eq!(matcher.is_token_allowed(token), mask.contains(token), "{schema} {prefix} {text}");
        }
    }
}

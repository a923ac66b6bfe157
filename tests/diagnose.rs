//! Explanations and checks.

use maskwright::diagnose::{self, Reason};
use maskwright::frontend::ebnf;
use maskwright::grammar::Grammar;
use maskwright::json_schema::{SchemaOptions, WhiteSpace};
use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::testing::cases::default_vocab;
use maskwright::testing::{GrammarShape, Rng, VocabShape, random_grammar, random_vocab, random_walk};
use maskwright::{CompileOptions, GrammarCompiler, Limits, TokenId, TokenKind, Vocab};
use std::sync::Arc;

fn read(source: &str) -> (Grammar, Recognizer) {
    let limits = Limits::default();
    let grammar = ebnf::parse(source, "root", &limits).unwrap_or_else(|error| panic!("{error:#}")).grammar;
    let recognizer = Recognizer::new(&grammar, &limits).unwrap_or_else(|error| panic!("{error:#}"));
    (grammar, recognizer)
}

const LIST: &str = r#"root ::= list
list ::= "[" (item ("," item)*)? "]"
item ::= number | list | "true"
number ::= [0-9]+"#;

#[test]
fn a_failure_says_where_what_and_in_which_rules() {
    let (grammar, recognizer) = read(LIST);
    assert_eq!(diagnose::check(&grammar, &recognizer, b"[1,[true],22]"), Ok(()));
    let failure = diagnose::check(&grammar, &recognizer, b"[1,[trx]]").unwrap_err();
    assert_eq!(failure.offset(), 6);
    let text = format!("{failure:#}");
    let wanted = "line 1, column 7: `x` is refused; expected \"ue\" in rule `item`\n 1 | [1,[trx]]\n   |       ^\n in rule `item` \
                  from offset 4\n in rule `list` from offset 3\n in rule `item` from offset 3\n in rule `list` from \
                  offset 0\n in rule `root` from offset 0";
    assert_eq!(text, wanted);
    let json = failure.to_json();
    assert_eq!((json["column"].as_u64(), json["expected"]["items"][0]["what"].as_str()), (Some(7), Some("\"ue\"")));
    assert_eq!(json["rules"][1]["name"], "list");
}

#[test]
fn an_early_end_is_told_apart() {
    let (grammar, recognizer) = read(LIST);
    let failure = diagnose::check(&grammar, &recognizer, b"[1").unwrap_err();
    assert!(failure.is_incomplete() && failure.offset() == 2);
    let text = failure.to_string();
    assert!(text.starts_with("line 1, column 3: the document ends too early; expected "), "{text}");
    for part in ["[0-9] in rule `number`", "\",\"", "\"]\"", "in rule `list`"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn what_follows_a_whole_text_is_the_end() {
    let (grammar, recognizer) = read("root ::= \"a\"");
    let failure = diagnose::check(&grammar, &recognizer, "aé".as_bytes()).unwrap_err();
    assert_eq!(failure.to_string(), "line 1, column 2: `é` is refused; expected the end of the text");
    let (grammar, recognizer) = read("root ::= \"a\"*");
    let failure = diagnose::check(&grammar, &recognizer, b"a\n").unwrap_err();
    assert_eq!(
        failure.to_string(),
        "line 1, column 2: `\\n` is refused; expected \"a\" in rule `root`, or the end of the text"
    );
}

#[test]
fn places_are_right_in_and_after_odd_bytes() {
    let (grammar, recognizer) = read("root ::= [^x]*");
    for (document, offset, line_column) in [
        (&b"\xc3\xa9\n\xc3\xa9x"[..], 5, (2, 2)),
        (b"a\n\xffb", 2, (2, 1)),
        (b"\xe4\xb8", 2, (1, 2)),
        (b"\xe4\xb8x", 2, (1, 2)),
        (b"", 0, (1, 1)),
    ] {
        match diagnose::check(&grammar, &recognizer, document) {
            Ok(()) => assert!(document.is_empty()),
            Err(failure) => {
                assert_eq!(
                    (failure.offset(), failure.line_column()),
                    (offset, line_column),
                    "{document:?} {failure:#}"
                );
            }
        }
    }
    // Refused in the middle of a character: the character is shown.
    let (grammar, recognizer) = read("root ::= \"x\" [一丁]");
    let failure = diagnose::check(&grammar, &recognizer, "x七".as_bytes()).unwrap_err();
    assert_eq!((failure.offset(), failure.line_column()), (3, (1, 2)));
    assert!(failure.to_string().contains("`七` is refused; expected the rest of a character of [一丁]"), "{failure}");
}

#[test]
fn tokens_are_explained() {
    let (grammar, recognizer) = read("root ::= \"a\" <|x|> \"b\"*");
    let vocab = default_vocab();
    let mut chart = recognizer.start();
    let explain = |chart: &mut _, id| diagnose::explain_token(&grammar, chart, &vocab, vocab.stop_tokens(), false, id);
    let say = |chart: &mut _, id| explain(chart, id).to_string();
    assert_eq!(say(&mut chart, u32::from(b'a')), "token 97 `a` is allowed: its text fits");
    assert_eq!(say(&mut chart, 257), "token 257 `ab` is refused: byte 1 `b` is refused; expected <|x|> in rule `root`");
    assert_eq!(
        say(&mut chart, 300),
        "token 300 `<|x|>` is refused: it is no text and the grammar does not name it here; expected \"a\" in rule `root`"
    );
    assert_eq!(
        say(&mut chart, 303),
        "token 303 `<|end|>` is refused: it is a stop token and the text is incomplete; expected \"a\" in rule `root`"
    );
    assert_eq!(say(&mut chart, 310), "token 310 is padding, which is never allowed");
    assert_eq!(say(&mut chart, 320), "token 320 is not in the vocabulary");
    chart.push_byte(b'a');
    assert_eq!(explain(&mut chart, 300).reason(), &Reason::Named);
    chart.push_control(Some("<|x|>"), 300);
    assert_eq!(explain(&mut chart, 303).reason(), &Reason::Stops);
    let json = explain(&mut chart, 97).to_json();
    assert_eq!((json["allowed"].as_bool(), json["refusal"]["offset"].as_u64()), (Some(false), Some(0)));
    let after_stop = diagnose::explain_token(&grammar, &mut chart, &vocab, vocab.stop_tokens(), true, 98);
    assert_eq!(after_stop.reason(), &Reason::Terminated);
}

#[test]
fn explanations_agree_with_masks() {
    let mut n_bits = 0;
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let shape = GrammarShape::random(&mut rng);
        let grammar = random_grammar(&mut rng, &shape);
        let vocab_shape = VocabShape {
            alphabet: shape.alphabet.clone(),
            names: vec!["<|x|>".into(), "<|y|>".into()],
            n_text: 40,
            spells_everything: rng.chance(50),
        };
        let vocab = Arc::new(random_vocab(&mut rng, &vocab_shape));
        let limits = Limits { dfa_states_max: 2_000, ..Limits::default() };
        let Ok(recognizer) = Recognizer::new(&grammar, &limits) else { continue };
        let mut oracle = OracleMatcher::new(&recognizer, vocab.clone());
        random_walk(&mut rng, &mut oracle, 8);
        let row = oracle.mask();
        let mut chart = oracle.chart().clone();
        let (before, n_steps) = (chart.len(), oracle.n_steps());
        for id in 0..vocab.n_tokens() as TokenId + 3 {
            let is_set = row.get(id as usize / 32).is_some_and(|word| word >> (id % 32) & 1 == 1);
            let explanation =
                diagnose::explain_token(&grammar, &mut chart, &vocab, vocab.stop_tokens(), oracle.is_terminated(), id);
            assert_eq!(explanation.is_allowed(), is_set, "seed {seed}: {explanation}");
            assert_eq!(chart.len(), before);
            assert_eq!(oracle.accept_token(id), is_set, "seed {seed}: {explanation}");
            oracle.rollback(oracle.n_steps() - n_steps);
            assert_eq!(oracle.mask(), row);
            n_bits += 1;
        }
    }
    assert!(n_bits > 5_000, "{n_bits}");
}

#[test]
fn rests_that_no_grammar_writes_are_explained() {
    let compiler = maskwright::GrammarCompiler::new(default_vocab().into());
    let compiled = compiler.compile_json_schema(r#"{"type":"number","multipleOf":65537.25}"#).unwrap();
    let mut matcher = compiled.matcher();
    matcher.accept_bytes(b"65537").unwrap();
    // Digit by digit any number is fine, but not this one.
    let refusal = matcher.explain_bytes(b".3").unwrap().unwrap();
    assert_eq!((refusal.offset(), refusal.byte()), (1, b'3'));
    assert_eq!(matcher.explain_bytes(b".25"), Ok(None));
    let vocab = Arc::clone(compiled.vocab());
    for token in 0..vocab.n_tokens() as TokenId {
        let explanation = matcher.explain_token(token).unwrap();
        assert_eq!(explanation.is_allowed(), matcher.is_token_allowed(token), "{explanation}");
    }
}

#[test]
fn what_was_text_before_the_stop_tokens_changed_is_replayed() {
    let vocab = Vocab::from_tokens(["a", "b", "c"]).unwrap();
    let grammar = GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= "a" "b" "c""#).unwrap();
    let mut matcher = grammar.matcher();
    matcher.accept_tokens(&[0, 1]).unwrap();
    matcher.set_stop_tokens(&[1]).unwrap();
    assert_eq!(matcher.explain().unwrap().to_string(), "expected \"c\" in rule `root`");
    // One that fails closed ends amid the text.
    let mut stuck = grammar.matcher();
    stuck.set_fail_closed(true);
    stuck.set_stop_tokens(&[0]).unwrap();
    stuck.fill_mask(&mut [0]).unwrap();
    stuck.accept_token(0).unwrap();
    assert!(stuck.is_terminated() && stuck.explain().is_ok());
}

/// What a place of a schema says is what the engine does: the bytes, the keys, and the completion, after each prefix of documents.
#[test]
fn places_of_schemas_agree_with_the_engine() {
    use maskwright::json_schema::TextPosition;
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let schemas = [
        (
            r##"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/list"}, "c": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}},
                "required": ["b"], "additionalProperties": false, "$defs": {"list": {"type": "array", "items": {"type": "boolean"}, "minItems": 1}}}"##,
            &[r#"{"a": 12, "b": [true, false], "c": "x"}"#, r#"{"b":[false],"c":null}"#][..],
        ),
        (
            r#"{"allOf": [{"properties": {"x": {"type": "number"}}}, {"required": ["y"], "properties": {"y": {"const": 1}}}], "patternProperties": {"^z": {"type": "string"}}, "type": "object"}"#,
            &[r#"{"x": 1.5, "y": 1, "z1": "a", "other": [{}]}"#],
        ),
    ];
    for (schema, documents) in schemas {
        let grammar = compiler.compile_json_schema(schema).unwrap();
        for document in documents {
            for end in 0..=document.len() {
                let text = &document.as_bytes()[..end];
                let mut matcher = grammar.matcher();
                matcher.accept_bytes(text).unwrap_or_else(|error| panic!("{document}: {error}"));
                let explanation = matcher.explain().unwrap();
                let place = explanation.schema().expect("it is JSON");
                assert_eq!(Some(place.position()), TextPosition::of(text).as_ref());
                for byte in 0..=255u8 {
                    assert_eq!(
                        place.bytes().contains(byte),
                        matcher.fork().accept_bytes(&[byte]).is_ok(),
                        "{end} {byte}"
                    );
                }
                for name in place.keys().iter().flat_map(|keys| &keys.next) {
                    let written = format!("\"{name}\"");
                    let rest =
                        written.strip_prefix(core::str::from_utf8(&text[place.position().start..]).unwrap()).unwrap();
                    let comma = ["", ","]
                        .into_iter()
                        .any(|comma| matcher.fork().accept_bytes(format!("{comma}{rest}").as_bytes()).is_ok());
                    assert!(comma, "{name} after {}", &document[..end]);
                }
                for constraint in place.constraints() {
                    let pointer = constraint.location.strip_prefix('#').unwrap();
                    let value: serde_json::Value = serde_json::from_str(schema).unwrap();
                    assert!(value.pointer(pointer).is_some(), "{pointer}");
                    assert!(pointer.ends_with(&*constraint.keyword), "{constraint:?}");
                }
                let completion = matcher.completion().unwrap().expect("one is found").bytes().unwrap();
                matcher.accept_bytes(&completion).unwrap();
                assert!(matcher.is_accepting(), "{}", &document[..end]);
            }
        }
    }
}

/// A completion of values that must differ is one that the engine allows.
#[test]
fn completions_obey_what_the_engine_counts() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    for (schema, text) in [
        (r#"{"type": "array", "items": {"enum": [1, 2, 33]}, "uniqueItems": true, "minItems": 3}"#, "[1,2"),
        (r#"{"type": "object", "minProperties": 3, "additionalProperties": {"type": "null"}}"#, "{\"\":null"),
        (r#"{"type": "string", "minLength": 300}"#, "\"a"),
    ] {
        let mut matcher = compiler.compile_json_schema(schema).unwrap().matcher();
        matcher.accept_bytes(text.as_bytes()).unwrap();
        let completion = matcher.completion().unwrap().expect("one is found").bytes().unwrap();
        matcher.accept_bytes(&completion).unwrap();
        assert!(matcher.is_accepting(), "{schema}");
    }
}

/// The lines of an explanation of why `rest` can't follow `text`.
fn schema_lines(schema: &str, options: &SchemaOptions, text: &str, rest: &str) -> String {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let grammar = compiler.compile_json_schema_with(schema, options, &CompileOptions::default()).unwrap();
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(text.as_bytes()).unwrap_or_else(|error| panic!("{schema} {text}: {error}"));
    let refusal = matcher.explain_bytes(rest.as_bytes()).unwrap().unwrap_or_else(|| panic!("{schema} {text}{rest}"));
    assert_eq!(refusal.offset(), 0, "{schema} {text}{rest}");
    let place = refusal.schema().expect("it is JSON");
    assert_eq!(place.to_json()["lines"].as_array().unwrap().len(), place.lines().len());
    format!("expected {}\n{}", place.expected(), place.lines().join("\n"))
}

/// What names tokens is part of a completion, wherever it stands.
#[test]
fn completions_go_on_behind_control_tokens() {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    for name in ["<|mid|>", "<|end|>"] {
        let id = builder.push(b"");
        builder.set_kind(id, TokenKind::Control).set_name(id, name);
    }
    let compiler = GrammarCompiler::new(builder.stop_tokens([257]).build().unwrap().into());
    for (grammar, n_symbols) in [
        (r#"root ::= "a" <|mid|> "b""#, 3),
        (r#"root ::= "a" !<|mid|> "b""#, 3),
        (r#"root ::= "a" <[256]> <|end|>"#, 3),
        (r#"root ::= "a" (<|mid|> "b" | "cde")"#, 3),
    ] {
        let matcher = compiler.compile_ebnf(grammar).unwrap().matcher();
        let completion = matcher.completion().unwrap().unwrap_or_else(|| panic!("{grammar}"));
        assert!(completion.is_shortest() && completion.symbols().len() == n_symbols, "{grammar}: {completion:?}");
    }
}

/// Asserts for each schema, text and refused rest that the explanation says something, or with a `!` before it that it does not.
fn assert_lines(cases: &[(&str, &str, &str, &[&str])]) {
    for (schema, text, rest, parts) in cases {
        let lines = schema_lines(schema, &SchemaOptions::default(), text, rest);
        for part in *parts {
            match part.strip_prefix('!') {
                Some(part) => assert!(!lines.contains(part), "{text} {rest}: {part} in\n{lines}"),
                None => assert!(lines.contains(part), "{text} {rest}: no {part} in\n{lines}"),
            }
        }
    }
}

/// A number may end behind a digit, so that what refuses the next byte is the object or array around it.
#[test]
fn behind_a_number_the_container_decides() {
    let two = r#"{"type":"object","properties":{"n":{"type":"integer"},"m":{"type":"integer"}},"required":["n","m"]}"#;
    let ten = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":10},"m":{}},"required":["m"]}"#;
    assert_lines(&[
        (two, r#"{"n": 1"#, "}", &["at /n, in the property `n`: type integer", "\nrequired and missing: `m`"]),
        (two, r#"{"n": 1 "#, "}", &["required and missing: `m`"]),
        // A digit is refused by what is said of the number.
        (
            r#"{"properties":{"n":{"type":"integer","maximum":20}},"required":["n","m"]}"#,
            r#"{"n":2"#,
            "5",
            &["maximum 20", "!missing"],
        ),
        // It may not end yet.
        (ten, r#"{"n":1"#, "}", &["minimum 10", "!missing"]),
        (
            r#"{"type":"array","items":{"type":"integer"},"minItems":2}"#,
            "[1",
            "]",
            &["around the number, at the root of the document: type array", "minItems 2 (#/minItems)"],
        ),
        (r#"{"type":"array","items":{"type":"integer"},"maxItems":2}"#, "[1,2", ",3]", &["maxItems 2 (#/maxItems)"]),
        (r#"{"type":"object","minProperties":2}"#, r#"{"a": 1"#, "}", &["minProperties 2 (#/minProperties)"]),
        (
            r#"{"type":"object","maxProperties":1}"#,
            r#"{"a": 1"#,
            r#","b":2}"#,
            &["maxProperties 1 (#/maxProperties)", "!`b`"],
        ),
        (
            r#"{"type":"object","properties":{"a":{},"b":{}},"dependentRequired":{"a":["b"]},"additionalProperties":false}"#,
            r#"{"a": 1"#,
            "}",
            &["dependentRequired (#/dependentRequired)", "required and missing: `b`"],
        ),
        // The text may end with the number: there is nothing around it.
        (r#"{"type":"integer"}"#, "1", "}", &["!around"]),
    ]);
    // Without a rest both may come.
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let mut matcher = compiler.compile_json_schema(two).unwrap().matcher();
    matcher.accept_bytes(br#"{"n": 1"#).unwrap();
    let explanation = matcher.explain().unwrap();
    let enclosing = explanation.schema().unwrap().enclosing().unwrap();
    assert_eq!(enclosing.keys().unwrap().missing, ["m".into()]);
    assert_eq!((enclosing.pointer(), explanation.schema().unwrap().pointer()), (String::new(), "/n".into()));
}

/// A keyword of the object or array around a value may be what refuses it.
#[test]
fn keywords_that_refuse_are_named() {
    let unique = r#"{"properties":{"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true}}}"#;
    let when = r#"{"type":"object","properties":{"k":{"enum":["x","y"]},"m":{}},"required":["k"],"additionalProperties":false,"if":{"properties":{"k":{"const":"x"}}},"then":{"required":["m"]}}"#;
    assert_lines(&[
        (
            unique,
            r#"{"tags":["a","a"#,
            r#""]"#,
            &["around it, the array at /tags: uniqueItems (#/properties/tags/uniqueItems)"],
        ),
        (
            r#"{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}"#,
            r#"["a",""#,
            "a",
            &["uniqueItems (#/uniqueItems)"],
        ),
        // The first item differs from all before it.
        (r#"{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}"#, r#"[""#, "c", &["!uniqueItems"]),
        (
            r#"{"type":"array","items":{"type":["integer","string"]},"contains":{"type":"integer"},"maxContains":1}"#,
            "[1,",
            "2]",
            &["maxContains 1 (#/maxContains)"],
        ),
        (
            r#"{"type":"array","prefixItems":[{},{"type":"boolean"}],"items":false}"#,
            "[1,true",
            ",3]",
            &["items false (#/items)"],
        ),
        (
            r#"{"type":"array","prefixItems":[{},{"type":"integer"}],"items":false}"#,
            "[1,2",
            ",3]",
            &["items false (#/items)"],
        ),
        (
            r#"{"type":"array","prefixItems":[{}],"unevaluatedItems":false}"#,
            "[1",
            ",3]",
            &["unevaluatedItems false (#/unevaluatedItems)"],
        ),
        (
            r#"{"type":"array","prefixItems":[{}],"unevaluatedItems":{"type":"null"}}"#,
            "[1,",
            "3]",
            &["unevaluatedItems (#/unevaluatedItems)"],
        ),
        (
            r#"{"type":"object","properties":{"a":{}},"unevaluatedProperties":false}"#,
            "{\"",
            "b\":1}",
            &["unevaluatedProperties false (#/unevaluatedProperties)", "no property `b` is declared"],
        ),
        (when, r#"{"k":"x""#, "}", &["in alternatives: required \"m\" (#/then/required)"]),
        (
            r#"{"type":"object","propertyNames":{"pattern":"^[a-z]+$"}}"#,
            "{\"",
            "A\":1}",
            &["the key `A` does not conform to `propertyNames`", "propertyNames (#/propertyNames)", "!declared"],
        ),
    ]);
}

/// What lists values says which is refused, also within objects and arrays that it lists.
#[test]
fn listed_values_are_named() {
    assert_lines(&[
        (r#"{"const":{"a":1}}"#, r#"{"a": "#, "2}", &["a number that begins with `1`", "const {\"a\":1} (#/const)"]),
        (r#"{"const":{"a":1}}"#, r#"{""#, r#"b": 1}"#, &["the key `b` may not come here", "const {\"a\":1}"]),
        (r#"{"enum":[{"a":"x"},[2]]}"#, r#"{"a": ""#, r#"y"}"#, &["the object at the root of the document: enum"]),
        (r#"{"const":["a","b"]}"#, r#"["a",""#, r#"c"]"#, &["the array at the root of the document: const"]),
        (r#"{"type":"integer","minimum":5}"#, "", "-1", &["a number that begins with [1-9]"]),
        (r#"{"type":"number"}"#, "", "x", &["expected a number\n"]),
        (r#"{"enum":["\u00e9"]}"#, "\"", r#"\u00e9""#, &["no escape may come here"]),
        (r#"{"enum":["\u00e9"]}"#, "\"", "e\"", &["!no escape"]),
    ]);
}

/// Which comes first is said even where no key at all may follow, and white space that is missing is no fault of the key behind it.
#[test]
fn keys_and_white_space_in_the_wrong_place_are_told_apart() {
    let closed =
        r#"{"type":"object","properties":{"n":{"type":"string"},"m":{"type":"string"}},"additionalProperties":false}"#;
    let late = r#"{"type":"object","properties":{"m":{}},"required":["m"]}"#;
    assert_lines(&[
        (
            closed,
            r#"{"m": """#,
            r#", "n": ""}"#,
            &["keys come in declared order: `n` comes before `m`", "additionalProperties false"],
        ),
        (closed, r#"{"m": """#, r#", "x": ""}"#, &["no property `x` is declared"]),
        // A comma alone may begin any key.
        (closed, r#"{"m": """#, ",", &["!`n`"]),
        (late, r#"{""#, r#"zz":1}"#, &["keys come in declared order: `m` is required before `zz`"]),
        // Keys that the schema doesn't name come last, behind those that it requires or has in dependencies.
        (
            r#"{"properties":{"b":{}}}"#,
            r#"{"x":1,"b"#,
            r#"":2}"#,
            &["keys come in declared order: `b` comes before `x`"],
        ),
        (
            r#"{"properties":{"b":{"type":"string"}},"required":["b","z"]}"#,
            r#"{"b":"",""#,
            r#"x":1,"z":2}"#,
            &["keys come in declared order: `z` is required before `x`", "!did you mean"],
        ),
        (
            r#"{"dependentRequired":{"a":["b"]}}"#,
            r#"{"b": null, "a"#,
            r#"": 1}"#,
            &["keys come in declared order: `a` comes before `b`"],
        ),
        (
            r#"{"dependentSchemas":{"a":{"required":["b"]}}}"#,
            r#"{"b": null, "a"#,
            r#"": 1}"#,
            &["keys come in declared order: `a` comes before `b`"],
        ),
        (r#"{"properties":{"b":false}}"#, r#"{"x":1,"b"#, r#"":2}"#, &["the key `b` may not come here", "!before"]),
    ]);
    let indented = SchemaOptions { white_space: WhiteSpace::Indent { spaces: 2 }, ..SchemaOptions::default() };
    let schema = r#"{"type":"object","properties":{"a":{"type":"array"},"b":{}},"required":["a"]}"#;
    let lines = schema_lines(schema, &indented, "{", r#""a":[1,2]}"#);
    assert!(lines.starts_with("expected white space\n") && !lines.contains("may not come"), "{lines}");
    // The key is wrong as well.
    let lines = schema_lines(schema, &indented, "{", r#""b":1}"#);
    assert!(lines.contains("`a` is required before `b`"), "{lines}");
}

/// A schema that is an operand is explained as one that is the whole grammar, where the text stops within a document of it alone.
#[test]
fn schemas_within_grammars_speak_of_properties() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer","maximum":20},"tags":{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}},"required":["n"]}"#;
    let ebnf = compiler.compile_ebnf(&format!("root ::= \"xx\" call | \"xy\"\ncall ::= %json {schema} \";\"")).unwrap();
    let begin = r#""begin":"<tool=add>","end":"</tool>""#;
    let tag = format!(
        r#"{{"type":"structural_tag","format":{{"type":"triggered_tags","triggers":["<tool="],"tags":[{{{begin},"content":{{"type":"json_schema","json_schema":{schema}}}}}]}}}}"#
    );
    let tag = compiler.compile_structural_tag(&tag).unwrap();
    for (grammar, before) in [(&ebnf, "xx"), (&tag, "hi <tool=add>"), (&tag, "<tool=add>{\"n\":1}</tool> é <tool=add>")]
    {
        for (text, rest, parts) in [
            (
                r#"{"n":2"#,
                "5}",
                &["expected `0`, `}` or `,`", "at /n, in the property `n`", "maximum 20 (#/properties/n/maximum)"][..],
            ),
            (r#"{"#, "}", &["expected a key", "required and missing: `n`"]),
            (r#"{""#, "tags\":[]}", &["keys come in declared order: `n` is required before `tags`"]),
            (r#"{"n":1,"tags":["a",""#, "a\"]}", &["expected `b`", "around it, the array at /tags: uniqueItems"]),
            ("", "[", &["expected an object; at the root of the document: type object (#/type)"]),
        ] {
            let mut matcher = grammar.matcher();
            matcher.accept_bytes(format!("{before}{text}").as_bytes()).unwrap();
            let refusal = matcher.explain_bytes(rest.as_bytes()).unwrap().unwrap();
            let (place, shown) = (refusal.schema().expect("it is in a schema"), refusal.to_string());
            parts.iter().for_each(|part| assert!(shown.contains(part), "{text} {rest}: no {part} in\n{shown}"));
            let explanation = matcher.explain().unwrap();
            assert_eq!(explanation.schema().map(|here| here.position()), Some(place.position()));
            assert_eq!(explanation.expected().bytes(), *place.bytes());
            let token = matcher.explain_token(u32::from(rest.as_bytes()[0])).unwrap();
            assert_eq!(token.is_allowed(), refusal.offset() > 0);
            // What begins earlier is read up to there.
            let mut matcher = grammar.matcher();
            matcher.accept_bytes(before.as_bytes()).unwrap();
            let whole = matcher.explain_bytes(format!("{text}{rest}").as_bytes()).unwrap().unwrap();
            assert_eq!((whole.offset(), whole.schema()), (text.len() + refusal.offset(), Some(place)));
        }
    }
    // The rule of the operand is told, and none of those that stand for the schema.
    let mut matcher = ebnf.matcher();
    matcher.accept_bytes(b"xx{").unwrap();
    let explanation = matcher.explain().unwrap();
    assert_eq!(explanation.expected().items()[0].rules()[0].name(), "call");
    // Outside, and where something else may come as well, the rules speak.
    let either = compiler.compile_ebnf("root ::= \"x\" %json {\"type\": \"integer\"} | \"xa\"").unwrap();
    for (grammar, text) in [(&ebnf, "x"), (&ebnf, "xx{\"n\":1}"), (&tag, "hi"), (&either, "x")] {
        let mut matcher = grammar.matcher();
        matcher.accept_bytes(text.as_bytes()).unwrap();
        assert_eq!(matcher.explain().unwrap().schema(), None, "{text}");
    }
    // A string without quotes is no document.
    let text = compiler.compile_ebnf(r#"root ::= %json(text_until = "<") {"enum": ["1", "2"]} "<""#).unwrap();
    assert_eq!(text.matcher().explain().unwrap().schema(), None);
}

/// A grammar without sentences is told by what is empty in it, which need not be where the error is found.
#[test]
fn what_empties_a_grammar_is_named() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    for (source, expected) in [
        (
            "ident ::= [a-z]+ - (\"if\" | \"else\")\nkw ::= ident & \"else\"\nroot ::= \"(\" kw \")\"",
            "; rule `kw` (line 2) matches nothing; nothing matches `ident & \"else\"`: the exclusion `[a-z]+ - (\"if\" | \"else\")` takes all of it away",
        ),
        ("root ::= \"(\" a \")\"\na ::= b \"x\"\nb ::= \"1\" & \"2\"", "; rule `b` (line 3) matches nothing"),
        ("root ::= \"1\" & \"2\"", ""),
    ] {
        let error = compiler.compile_ebnf(source).unwrap_err().to_string();
        assert_eq!(error, format!("rule `root` matches nothing at all: no text can ever complete it{expected}"));
    }
}

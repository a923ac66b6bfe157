//! Distinct keys and items: no mask allows a duplicate, leads into a dead end, or is too small.
//!
//! Masks are compared with accepting each token, on random walks over vocabularies whose tokens have parts of values, whole ones, and
//! several. Accepting is compared with the definition: every complete document has distinct keys and items.

use maskwright::json_schema::{SchemaOptions, WhiteSpace};
use maskwright::testing::{Rng, rounds};
use maskwright::{CompileOptions, GrammarCompiler, Matcher, Vocab};
use std::sync::Arc;

/// Schemas with distinct keys or items.
const SCHEMAS: &[&str] = &[
    r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#,
    r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"enum": [1, 2]}}"#,
    r#"{"type": "object", "minProperties": 2, "additionalProperties": {"const": 1}}"#,
    r#"{"type": "object", "propertyNames": {"enum": ["a", "b", "ab"]}, "minProperties": 2}"#,
    r#"{"type": "object", "patternProperties": {"^[ab]$": {"const": 1}}, "additionalProperties": false, "minProperties": 2}"#,
    r#"{"type": "object", "patternProperties": {"^[ab]$": {"const": 1}, "^1": {"const": 2}}, "additionalProperties": false}"#,
    // Keys of limited length: few begin with a long prefix.
    r#"{"type": "object", "patternProperties": {"^[ab]{2}$": {"const": 1}}, "additionalProperties": false}"#,
    r#"{"type": "object", "patternProperties": {"^[ab]{1,20}$": {"const": 1}}, "additionalProperties": false}"#,
    r#"{"type": "object", "patternProperties": {"^[ab]{1,17}1$": {"const": 1}}, "properties": {"ab": {}}, "additionalProperties": false}"#,
    r#"{"type": "object", "properties": {"abab1": {"const": 1}}, "patternProperties": {"^(ab|b)[ab]{0,2}1?$": {"type": "object", "patternProperties": {"^a{1,3}$": {}}, "additionalProperties": false}}, "additionalProperties": false}"#,
    r#"{"type": "object", "patternProperties": {"^a[ab]{1,30}$": {"const": 1}, "^[a1]$": {"const": 11}}, "additionalProperties": false}"#,
    // Declared names are not allowed as additional keys.
    r#"{"type": "object", "properties": {"a": {"const": 1}, "ab": {"const": true}}, "additionalProperties": {"const": 11}}"#,
    r#"{"type": "object", "properties": {"a": {"const": 1}, "b": false}, "patternProperties": {"^a": {"const": 11}}, "additionalProperties": {"const": true}}"#,
    r#"{"anyOf": [{"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": {"const": 11}}, {"type": "object", "properties": {"ab": {"const": true}}, "patternProperties": {"^a": {"const": 1}}, "additionalProperties": {"const": true}}]}"#,
    r#"{"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"const": 1}}, "additionalProperties": {"const": 11}}}, "additionalProperties": {"const": true}}"#,
    // The keys of one pattern can be exhausted, those of the other can't.
    r#"{"type": "object", "patternProperties": {"^(ab)+$": {"const": 11}, "^.$": {"const": 1}}, "additionalProperties": {"const": true}}"#,
    r#"{"type": "object", "patternProperties": {"^(ab)+$": {"const": 11}, "^.$": {"type": "array", "items": {"const": 1}}}, "additionalProperties": {"const": true}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b", "ab", 1, true]}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}, "minItems": 2}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "integer"}, "maxItems": 3}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "number", "minimum": 0, "maximum": 2}}"#,
    r#"{"type": "array", "uniqueItems": true, "prefixItems": [{"enum": ["a", "b"]}, {"enum": ["a"]}], "minItems": 2, "items": false}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "boolean"}, "minItems": 2}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "array", "items": {"type": "integer"}}, "minItems": 2}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}"#,
    r#"{"type": "array", "uniqueItems": true}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "string", "pattern": "^(a|b1*)$"}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "string", "minLength": 1, "maxLength": 300}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": ["string", "array", "integer"]}}"#,
    // Keys of outer objects, after several closing braces of one token.
    r#"{"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": ["object", "integer"]}}}}"#,
    r#"{"type": "object", "properties": {"a": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}}}, "required": ["b"]}"#,
    // The end of the first container decides whether another value is left.
    r#"{"type": "array", "uniqueItems": true, "prefixItems": [{"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": false}, {"type": "object", "properties": {"a": {"const": true}}, "required": ["a"], "additionalProperties": false}], "minItems": 2, "items": false}"#,
    r#"{"type": "array", "uniqueItems": true, "prefixItems": [{"type": "array", "items": {"enum": [1, 11]}, "maxItems": 1}, {"const": [1]}], "minItems": 2, "items": false}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false}, "minItems": 3}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}"#,
    r#"{"anyOf": [{"type": "array", "uniqueItems": true, "items": {"type": "string"}}, {"type": "array", "uniqueItems": true, "items": {"pattern": "^a*$"}}]}"#,
    r#"{"anyOf": [{"type": "object", "properties": {"a": {"const": 1}}, "minProperties": 2}, {"type": "object", "properties": {"b": {"const": 2}}}]}"#,
    r#"{}"#,
    // Domains are exhausted within containers, or by bounds of `contains`.
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}, "required": ["a", "b"], "additionalProperties": false}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"enum": ["a", "ab", "abb"]}}, "required": ["a"], "additionalProperties": false}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 2}}, "required": ["a"], "additionalProperties": false}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"], "additionalProperties": false}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, true]}}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "array", "items": {"enum": ["a", 1]}, "maxItems": 1}}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}, "contains": {"minLength": 1}, "maxContains": 1}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b", 1, 11]}, "contains": {"type": "string"}, "maxContains": 1}"#,
    r#"{"type": "array", "uniqueItems": true, "items": {"type": ["object", "boolean"], "maxProperties": 0}}"#,
    r#"{"type": "object", "additionalProperties": {"type": "array", "uniqueItems": true, "items": {"type": ["array", "null"], "maxItems": 0}}}"#,
];

/// Returns a vocabulary of bytes and random longer tokens.
fn vocab(rng: &mut Rng) -> Arc<Vocab> {
    let alphabet = br#"{}[]"",,::aabb11 .-tru"#;
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    for _ in 0..150 {
        let length = 2 + rng.below(6);
        tokens.push((0..length).map(|_| alphabet[rng.below(alphabet.len())]).collect());
    }
    for whole in [
        r#""a":"#,
        r#","a":"#,
        r#"{"a":1,"a":"#,
        r#""a","a""#,
        r#"","a","#,
        r#""a"#,
        r#"],"a"#,
        r#"1,"a"#,
        "1,1,",
        "[1,1]",
        ",1,",
        "true,true",
        r#""ab""#,
        // The end of a key, and the same key again.
        r#"":1,""#,
        r#"":1,"""#,
        r#"":1,"a""#,
        r#"b":1,"ab""#,
        r#"":{},"b""#,
        // A whole item after the end of a string or of a container.
        r#"",1,"#,
        r#"",1]"#,
        r#"",[],"#,
        r#"","a"]"#,
        r#"],1,"#,
        r#"],"a","#,
        r#"},{},"#,
        r#""},{"a":1}"#,
        r#"}],1"#,
        r#"},"a":1"#,
        r#"}},"a":"#,
        r#"1}},"b""#,
        r#"}}},"a""#,
        r#"]},"a""#,
    ] {
        tokens.push(whole.as_bytes().to_vec());
    }
    tokens.sort();
    tokens.dedup();
    Arc::new(Vocab::from_tokens(tokens).unwrap())
}

/// Returns whether all keys of all objects are different, and all items of the outermost array.
fn is_distinct(text: &[u8], has_unique_items: bool) -> bool {
    let text = std::str::from_utf8(text).unwrap();
    let json = maskwright::json_schema::Json::parse(text, &maskwright::Limits::default()).unwrap();
    if !json.duplicates().is_empty() {
        return false;
    }
    if let maskwright::json_schema::Value::Array(items) = json.value(json.root())
        && has_unique_items
    {
        let pairs = items.iter().enumerate().flat_map(|(i, a)| items[..i].iter().map(move |b| (*a, *b)));
        return pairs.into_iter().all(|(a, b)| !json.equal(a, &json, b));
    }
    true
}

#[test]
fn masks_agree_with_what_is_accepted() {
    let seed = rounds::seed_or(7);
    let mut rng = Rng::new(seed);
    let (mut n_steps, mut n_complete) = (0, 0);
    for round in 0..12 {
        let vocab = vocab(&mut rng);
        let compiler = GrammarCompiler::new(Arc::clone(&vocab));
        for schema in SCHEMAS {
            let options =
                SchemaOptions { white_space: WhiteSpace::Flexible { run_max: 1 }, ..SchemaOptions::default() };
            let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap();
            let has_unique_items = schema.contains("uniqueItems");
            for _ in 0..4 {
                let mut matcher = grammar.matcher();
                let (mut text, mut lengths) = (Vec::new(), Vec::new());
                for step in 0..40 {
                    // Results of earlier masks don't apply after another text.
                    if rng.below(8) == 0 {
                        let n_kept = rng.below(lengths.len() + 1);
                        matcher.rollback(lengths.len() - n_kept).unwrap();
                        text.truncate(lengths.get(n_kept).copied().unwrap_or(text.len()));
                        lengths.truncate(n_kept);
                    }
                    let mask = match matcher.mask() {
                        Ok(mask) => mask,
                        // There are no stop tokens.
                        Err(_) if matcher.is_accepting() => {
                            assert!(
                                is_distinct(&text, has_unique_items),
                                "{schema}: {}",
                                String::from_utf8_lossy(&text)
                            );
                            n_complete += 1;
                            break;
                        }
                        Err(error) => panic!(
                            "seed {seed} round {round} {schema}: {error} after {}",
                            String::from_utf8_lossy(&text)
                        ),
                    };
                    let allowed: Vec<u32> = mask.iter().collect();
                    for token in 0..vocab.n_tokens() as u32 {
                        assert_eq!(
                            matcher.is_token_allowed(token),
                            mask.contains(token),
                            "seed {seed} {schema}: {:?} after {:?}",
                            String::from_utf8_lossy(vocab.bytes(token)),
                            String::from_utf8_lossy(&text)
                        );
                    }
                    n_steps += 1;
                    if matcher.is_accepting() {
                        assert!(is_distinct(&text, has_unique_items), "{schema}: {}", String::from_utf8_lossy(&text));
                        n_complete += 1;
                    }
                    if allowed.is_empty() {
                        break;
                    }
                    // Characters of the alphabet, so that values collide.
                    let liked: Vec<u32> = allowed
                        .iter()
                        .copied()
                        .filter(|&token| vocab.bytes(token).iter().all(|byte| br#"{}[]",:ab1tru"#.contains(byte)))
                        .collect();
                    let from = if liked.is_empty() || rng.below(10) == 0 { &allowed } else { &liked };
                    let token = from[rng.below(from.len())];
                    // Undoing and redoing changes nothing.
                    if step % 7 == 3 {
                        matcher.accept_token(token).unwrap();
                        matcher.rollback(1).unwrap();
                        assert_eq!(matcher.mask().unwrap(), mask);
                    }
                    matcher.accept_token(token).unwrap();
                    lengths.push(text.len());
                    text.extend_from_slice(vocab.bytes(token));
                }
            }
        }
    }
    assert!(n_steps > 5000 && n_complete > 100, "{n_steps} steps, {n_complete} complete texts");
}

/// Keys of one pattern (a single character) can be exhausted and those of the other can't: a token that begins a duplicate of the former is
/// a dead end, after the comma and across the end of a value.
#[test]
fn keys_that_run_out_beside_keys_that_do_not() {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    let longer = ["\"c", "\",\"", ",\"c", "],\"c", "],\"b", "\"c\":", " \"c"];
    tokens.extend(longer.map(|token| token.as_bytes().to_vec()));
    let vocab = Arc::new(Vocab::from_tokens(tokens).unwrap());
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    for schema in [
        r#"{"type": "object", "patternProperties": {"^(ab)+$": true, "^.$": {"type": "array"}}, "additionalProperties": false}"#,
        r#"{"type": "object", "patternProperties": {"^.$": {"type": "array"}, "^(ab)+$": true}, "additionalProperties": false}"#,
        r#"{"type": "object", "patternProperties": {"^(ab)+$": true, "^.$": {"type": "array"}}, "additionalProperties": {"oneOf": [true, true]}}"#,
    ] {
        let grammar = compiler.compile_json_schema(schema).unwrap();
        for text in [
            "{",
            r#"{"c":[],"#,
            r#"{"c":[], "#,
            r#"{"c":[]"#,
            r#"{"c":[],"d":["#,
            r#"{"c":[],"d":[[]"#,
            r#"{"c":[],"d":[["#,
            r#"{"c":[],"d":[1"#,
        ] {
            let mut matcher = grammar.matcher();
            matcher.accept_bytes(text.as_bytes()).unwrap();
            check_mask(&mut matcher, &vocab, schema, text);
        }
    }
}

/// White space behind a comma after which no value is left: no token ends at the comma, so nothing refuses it there.
#[test]
fn white_space_behind_a_comma_that_nothing_can_follow() {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    let longer = ["1], ", "], ", "1],\t[", "\", ", "\": 1, ", "1, "];
    tokens.extend(longer.map(|token| token.as_bytes().to_vec()));
    let vocab = Arc::new(Vocab::from_tokens(tokens).unwrap());
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    for (schema, text) in [
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"type": "array", "items": {"enum": ["a", 1]}, "maxItems": 1}}"#,
            r#"[[],["a"],["#,
        ),
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, true]}}}"#,
            r#"[[1,"a",true],[1,"a"#,
        ),
        (r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, true]}}"#, r#"["a",true,"#),
        (r#"{"type": "object", "propertyNames": {"enum": ["a", "b", "ab"]}}"#, r#"{"a":1,"ab":1,"b":"#),
        (r#"{"type": "object", "propertyNames": {"enum": ["a", "b", "ab"]}}"#, r#"{"a":1,"ab":1,"b"#),
        (
            r#"{"type": "object", "patternProperties": {"^[ab]$": {"const": 1}}, "additionalProperties": false}"#,
            r#"{"a":1,"b":"#,
        ),
    ] {
        let options = SchemaOptions { white_space: WhiteSpace::Flexible { run_max: 1 }, ..SchemaOptions::default() };
        let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap();
        let mut matcher = grammar.matcher();
        matcher.accept_bytes(text.as_bytes()).unwrap();
        check_mask(&mut matcher, &vocab, schema, text);
    }
}

/// Compares a mask with what trying each token says.
fn check_mask(matcher: &mut Matcher, vocab: &Vocab, schema: &str, text: &str) {
    let mask = matcher.mask().unwrap();
    for token in 0..vocab.n_tokens() as u32 {
        let shown = String::from_utf8_lossy(vocab.bytes(token));
        assert_eq!(matcher.is_token_allowed(token), mask.contains(token), "{schema}: {shown:?} after {text:?}");
    }
}

#[test]
fn conditions_that_count_more_items_than_differ_have_no_arrays() {
    let compiler = GrammarCompiler::new(Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap()));
    let twice = r#"{"type": "array", "uniqueItems": true, "contains": {"const": "abab"}, "minContains": 2"#;
    for schema in [
        format!("{twice}}}"),
        format!(r#"{twice}, "allOf": [{{"contains": {{"type": "array"}}}}]}}"#),
        format!(
            r#"{twice}, "allOf": [{{"contains": {{"type": "array"}}, "minContains": 3}}], "prefixItems": [{{"type": ["string", "array"]}}]}}"#
        ),
    ] {
        let error = compiler.compile_json_schema(&schema).unwrap_err();
        assert!(error.to_string().contains("unsatisfiable"), "{schema}: {error}");
        let items = format!(r#"{{"type": "array", "uniqueItems": true, "items": {schema}}}"#);
        let mut matcher = compiler.compile_json_schema(&items).unwrap().matcher();
        assert!(matcher.accept_bytes(b"[[").is_err() && matcher.accept_bytes(b"[]").is_ok(), "{items}");
    }
    let two = twice.replace("{\"const\": \"abab\"}", "{\"enum\": [\"abab\", 1]}");
    let schema = format!(r#"{two}, "allOf": [{{"contains": {{"type": "array"}}}}]}}"#);
    let mut matcher = compiler.compile_json_schema(&schema).unwrap().matcher();
    assert!(matcher.accept_bytes(b"[1, [], \"abab\"]").is_ok() && matcher.is_accepting());
}

#[test]
fn values_that_every_branch_lists_satisfy_no_branch_alone() {
    let compiler = GrammarCompiler::new(Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap()));
    for none in [
        r#"{"oneOf": [{"const": "ab"}, {"const": "ab"}]}"#,
        r#"{"oneOf": [{"const": 1}, {"const": 1}]}"#,
        r#"{"oneOf": [{"enum": ["a", 2]}, {"enum": [2, "a"]}, {"const": "a"}]}"#,
        r#"{"oneOf": [{"const": null}, {"const": null}]}"#,
        r#"{"oneOf": [{"type": "string", "pattern": "^a$"}, {"type": "string", "pattern": "^a$"}]}"#,
    ] {
        let error = compiler.compile_json_schema(none).unwrap_err();
        assert!(error.to_string().contains("unsatisfiable"), "{none}: {error}");
    }
    for (schema, valid) in [
        (r#"{"oneOf": [{"enum": ["ab", false]}, {"const": "ab"}, {"type": "boolean"}]}"#, "true"),
        (r#"{"oneOf": [{"enum": [3, "x"]}, {"const": 3}]}"#, "\"x\""),
        (r#"{"oneOf": [{"enum": ["a", 1]}, {"enum": ["a", 2]}], "type": ["string", "number"], "minimum": 2}"#, "2"),
    ] {
        let grammar = compiler.compile_json_schema(schema).unwrap();
        for text in ["\"ab\"", "\"a\"", "\"b\"", "\"x\"", "true", "false", "1", "2", "3", "7", "null"] {
            let mut matcher = grammar.matcher();
            let is_match = matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting();
            assert_eq!(is_match, text == valid, "{schema}: {text}");
        }
    }
}

/// What a value may become is remembered from mask to mask; once a part of the text is taken back, it may become more.
#[test]
fn earlier_values_come_back_when_text_is_taken_back() {
    let words: &[&[u8]] = &[b"d\"", b"d\"}", b"c\"", b"c\"}"];
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let vocab = Arc::new(Vocab::from_tokens(bytes.chain(words.iter().map(|word| word.to_vec()))).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    let schemas = [
        (r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}}"#, r#"["abc","abd","ab"#, 0),
        (
            r#"{"type": "array", "uniqueItems": true, "items": {"type": "object", "properties": {"k": {"type": "string"}}}}"#,
            r#"[{"k":"abc"},{"k":"abd"},{"k":"ab"#,
            1,
        ),
    ];
    for (schema, before, end) in schemas {
        let mut matcher = compiler.compile_json_schema(schema).unwrap().matcher();
        matcher.accept_bytes(before.as_bytes()).unwrap();
        let (ends_with_d, ends_with_c) = (256 + end, 258 + end);
        let is_repeated = |matcher: &mut Matcher| {
            let mask = matcher.mask().unwrap();
            (!mask.contains(ends_with_d), !mask.contains(ends_with_c))
        };
        assert_eq!(is_repeated(&mut matcher), (true, true), "{schema}");
        // Behind the first byte one of the values is left, or none; behind the second none.
        for text in [&b"c"[..], b"d", b"b", b"cx", b"xx"] {
            for &byte in text {
                matcher.accept_token(u32::from(byte)).unwrap();
                assert_eq!(is_repeated(&mut matcher), (false, false), "{schema}: {}", byte as char);
            }
            matcher.rollback(text.len()).unwrap();
            assert_eq!(is_repeated(&mut matcher), (true, true), "{schema}: behind {text:?}");
        }
    }
}

//! The cache of compiled schemas: a hit if text and options are the same, and only then.

use maskwright::json_schema::{SchemaOptions, Source, WhiteSpace};
use maskwright::{CompileOptions, Dump, GrammarCompiler, Vocab};
use std::sync::Arc;

#[test]
fn equal_texts_and_options_are_compiled_once() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let compile = |schema: &str, options: &SchemaOptions| {
        compiler.compile_json_schema_with(schema, options, &CompileOptions::default()).unwrap();
        (compiler.stats().grammar_hits, compiler.stats().grammar_misses)
    };
    let default = SchemaOptions::default();
    assert_eq!(compile(r#"{"type": "null"}"#, &default), (0, 1));
    assert_eq!(compile(r#"{"type": "null"}"#, &SchemaOptions::default()), (1, 1));
    // A title only changes the text.
    assert_eq!(compile(r#"{"type": "null", "title": "a"}"#, &default), (1, 2));
    let compact = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"type": "null"}"#, &compact), (1, 3));
    let closed = SchemaOptions { has_additional_properties: false, ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"type": "null"}"#, &closed), (1, 4));
    // Another resolver may have other documents; the same one is called once.
    let known = |uri: &str| (uri == "a").then(|| Source::from("{}"));
    let resolving = SchemaOptions { resolver: Arc::new(known), ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"$ref": "a"}"#, &resolving), (1, 5));
    assert_eq!(compile(r#"{"$ref": "a"}"#, &resolving.clone()), (2, 5));
    let other = SchemaOptions { resolver: Arc::new(known), ..SchemaOptions::default() };
    assert_eq!(compile(r#"{"$ref": "a"}"#, &other), (2, 6));
}

#[test]
fn what_schemas_share_is_spelled_as_each_wants_it() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let accepts = |schema: &str, options: &SchemaOptions, text: &str| {
        let grammar = compiler.compile_json_schema_with(schema, options, &CompileOptions::default()).unwrap();
        let mut matcher = grammar.matcher();
        text.bytes().all(|byte| matcher.accept_token(u32::from(byte)).is_ok()) && matcher.is_accepting()
    };
    let with = |white_space: WhiteSpace| SchemaOptions { white_space, ..SchemaOptions::default() };
    let spellings = [
        (with(WhiteSpace::Compact), r#"{"a":[1,{"b":2}]}"#),
        (with(WhiteSpace::Flexible { run_max: 2 }), "{\"a\" :  [1,\n{\"b\":2}] }"),
        (with(WhiteSpace::Indent { spaces: 1 }), "{\n \"a\": [\n  1,\n  {\n   \"b\": 2\n  }\n ]\n}"),
        (with(WhiteSpace::Separators { item: ", ".into(), key: ": ".into() }), r#"{"a": [1, {"b": 2}]}"#),
    ];
    // Any value is at the top, in an open object, among items, and in a schema that says more.
    for schema in ["{}", r#"{"type":"object"}"#, r#"{"properties":{"a":{"items":{}}}}"#, r#"{"required":["a"]}"#] {
        for (options, _) in &spellings {
            for (other, text) in &spellings {
                assert_eq!(accepts(schema, options, text), text_fits(options, other), "{schema} {options:?} {text}");
            }
        }
    }
    // Integers are no part of any value, so fractions that are none make no difference there.
    let fractions = SchemaOptions { has_integer_fractions: true, ..with(WhiteSpace::Compact) };
    for options in [&fractions, &with(WhiteSpace::Compact)] {
        assert!(accepts("{}", options, r#"[1.0,{"a":-2e3}]"#));
    }
    assert!(accepts(r#"{"type":"integer"}"#, &fractions, "1.0"));
    assert!(!accepts(r#"{"type":"integer"}"#, &with(WhiteSpace::Compact), "1.0"));
}

/// The numbers of both schemas have one key in the cache of automata.
#[test]
fn what_was_dropped_once_is_no_automaton_for_others() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let lenient = SchemaOptions { is_lenient: true, ..SchemaOptions::default() };
    let schemas = ["", "a", "b"]
        .map(|title| format!(r#"{{"title":"{title}","type":"integer","multipleOf":123456789123456789123456789}}"#));
    let compile = |schema: &str, options: &SchemaOptions| {
        compiler.compile_json_schema_with(schema, options, &CompileOptions::default())
    };
    let [first, second, third] = &schemas;
    assert!(!compile(first, &lenient).unwrap().schema_report().unwrap().is_exact());
    assert!(compile(second, &SchemaOptions::default()).is_err());
    assert!(!compile(third, &lenient).unwrap().schema_report().unwrap().is_exact());
}

/// Returns whether the texts above, written for `text` options, are as `options` want them.
fn text_fits(options: &SchemaOptions, text: &SchemaOptions) -> bool {
    // Free white space may also be none, or that of the separators.
    let is_narrow = matches!(text.white_space, WhiteSpace::Compact | WhiteSpace::Separators { .. });
    options.white_space == text.white_space || matches!(options.white_space, WhiteSpace::Flexible { .. }) && is_narrow
}

#[test]
fn what_was_compiled_before_makes_no_difference() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap());
    let names: Vec<String> = (0..30).map(|n| format!(r#""name{n}": {{"type": ["string", "integer"]}}"#)).collect();
    let many = |n: usize| format!(r#"{{"properties": {{{}}}, "required": ["name1", "name7"]}}"#, names[..n].join(", "));
    let schemas = [
        many(30),
        many(12),
        many(13),
        r##"{"properties": {"a": {"$ref": "#"}, "b\n\"": {}}, "additionalProperties": false, "minProperties": 2}"##
            .into(),
        r#"{"type": "string", "minLength": 3, "maxLength": 2}"#.into(),
        r#"{"patternProperties": {"^a": {"type": "null"}}, "maxProperties": 3, "required": ["x"]}"#.into(),
        r#"{"items": {"enum": [1, "a\u0000\\", [true]]}, "uniqueItems": true, "maxItems": 3}"#.into(),
        r#"{"anyOf": [{"required": ["a"]}, {"properties": {"b": {"const": "x"}}, "required": ["b"]}]}"#.into(),
        r#"{"pattern": "^[a-f\"]{2,}$", "type": ["string", "null"]}"#.into(),
        r##"{"$ref": "#/$defs/a", "$defs": {"a": {"items": [{"$ref": "#/$defs/a"}, false]}}}"##.into(),
    ];
    // A unit has the name of the rule that it was first built from.
    let dump = |compiler: &GrammarCompiler, schema: &str| {
        let text = compiler.compile_json_schema(schema).map(|grammar| grammar.dump(Dump::Text));
        let text = text.map_err(|error| error.to_string());
        text.map(|text| text.split('`').step_by(2).collect::<String>())
    };
    let one = GrammarCompiler::new(Arc::clone(&vocab));
    for round in 0..2 {
        for schema in &schemas {
            one.clear_caches();
            let alone = GrammarCompiler::new(Arc::clone(&vocab));
            assert_eq!(dump(&one, schema), dump(&alone, schema), "{schema}, round {round}");
        }
    }
}

//! Schemas made to be large, and schemas without values.

use maskwright::json_schema::SchemaOptions;
use maskwright::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler, Vocab};
use std::time::{Duration, Instant};

fn compiler() -> GrammarCompiler {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).expect("256 tokens are a vocabulary");
    GrammarCompiler::builder(vocab.into()).build()
}

fn compile(schema: &str) -> Result<CompiledGrammar, String> {
    // Far more than any takes, so that a slow machine doesn't decide.
    let options =
        CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(600)), ..CompileOptions::default() };
    let compiled = compiler().compile_json_schema_with(schema, &SchemaOptions::default(), &options);
    compiled.map_err(|error| error.to_string())
}

fn accepts(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    text.bytes().all(|byte| matcher.accept_token(u32::from(byte)).is_ok()) && matcher.is_accepting()
}

/// Ten times what the slowest takes, and more, so that a busy machine doesn't decide.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Compiles a schema made to be large; returns what came of it, and fails if it takes too long.
fn bounded(schema: &str) -> Result<CompiledGrammar, String> {
    let start = Instant::now();
    let compiled = compile(schema);
    let outcome = compiled.as_ref().err().cloned().unwrap_or_else(|| "compiled".to_owned());
    println!("{:?} for {} bytes: {outcome}", start.elapsed(), schema.len());
    assert!(start.elapsed() < TIME_MAX, "{:?} for {outcome}", start.elapsed());
    assert!(!outcome.contains("deadline"), "{outcome}");
    compiled
}

fn repeated(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect::<Vec<_>>().join(",")
}

#[test]
fn nested_choices_are_bounded() {
    let mut schema = r#"{"required":["z"]}"#.to_owned();
    for level in 0..16 {
        schema = format!(
            r#"{{"oneOf":[{schema},{{"required":["a{level}"]}},{{"properties":{{"b{level}":{{"type":"integer"}}}}}}]}}"#
        );
    }
    if let Err(message) = bounded(&schema) {
        assert!(message.contains("max") || message.contains("more than"), "{message}");
    }
}

#[test]
fn doubling_references_are_one_conjunction() {
    let definitions = repeated(30, |level| {
        let next = level + 1;
        format!(r##""d{level}":{{"allOf":[{{"$ref":"#/$defs/d{next}"}},{{"$ref":"#/$defs/d{next}"}}]}}"##)
    });
    let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{definitions},"d30":{{"type":"null"}}}}}}"##);
    let grammar = bounded(&schema).expect("all levels say the same");
    assert!(accepts(&grammar, "null") && !accepts(&grammar, "true"));
}

#[test]
fn deep_schemas_are_bounded() {
    for (open, close) in
        [(r#"{"items":"#, "}"), (r#"{"not":"#, "}"), (r#"{"allOf":["#, "]}"), (r#"{"properties":{"a":"#, "}}")]
    {
        let schema = format!("{}true{}", open.repeat(10_000), close.repeat(10_000));
        let _ = bounded(&schema);
    }
}

#[test]
fn many_branches_with_constants_are_quick() {
    let branches = repeated(300, |n| {
        format!(
            r#"{{"type":"object","properties":{{"t":{{"const":"t{n}"}},"x{n}":{{"type":"integer"}}}},"required":["t","x{n}"]}}"#
        )
    });
    let grammar = bounded(&format!(r#"{{"oneOf":[{branches}]}}"#)).expect("constants tell the branches apart");
    assert!(accepts(&grammar, r#"{"t":"t7","x7":1}"#) && !accepts(&grammar, r#"{"t":"t7","x8":1}"#));
}

/// Of numbers each was an automaton of its own, which one union after the other took in: 8,000 took a minute.
#[test]
fn long_lists_of_numbers_are_quick() {
    let value = |n: usize| n * n * 7919;
    let grammar = bounded(&format!(r#"{{"enum":[{}]}}"#, repeated(8_000, |n| value(n).to_string()))).expect("a list");
    for n in [0, 1, 2, 77, 1000, 4321, 7_999] {
        let (text, value) = (value(n).to_string(), value(n));
        assert!(accepts(&grammar, &text) && accepts(&grammar, &format!("{text}.00")), "{text}");
        assert!(!accepts(&grammar, &format!("{}", value + 1)) && !accepts(&grammar, &format!("{text}.01")), "{text}");
        let scientific = format!("{value:e}");
        assert!(accepts(&grammar, &scientific) && accepts(&grammar, &scientific.replace('e', "E+")), "{scientific}");
        for other in [format!("{scientific}1"), format!("-{scientific}"), format!("-{text}")] {
            assert_eq!(accepts(&grammar, &other), n == 0, "{other}");
        }
    }
    let integers = repeated(8_000, |n| value(n).to_string());
    let grammar = bounded(&format!(r#"{{"type":"integer","enum":[{integers}]}}"#)).expect("a list");
    assert!(accepts(&grammar, "7919") && !accepts(&grammar, "7919.0") && !accepts(&grammar, "791"));
    let grammar = bounded(&format!(r#"{{"type":"array","uniqueItems":true,"items":{{"enum":[{integers}]}}}}"#));
    let grammar = grammar.expect("items are compared");
    assert!(accepts(&grammar, "[7919,31676]") && !accepts(&grammar, "[7919,7919]"));
    let grammar =
        bounded(&format!(r#"{{"type":"integer","not":{{"enum":[{}]}}}}"#, repeated(2_000, |n| value(n).to_string())));
    let grammar = grammar.expect("all others");
    assert!(accepts(&grammar, "7918") && !accepts(&grammar, "7919") && accepts(&grammar, "79190"));
    let dense = bounded(&format!(r#"{{"enum":[{}]}}"#, repeated(100_000, |n| n.to_string()))).expect("few states");
    assert!(accepts(&dense, "99999") && !accepts(&dense, "100000"));
    if let Err(message) = bounded(&format!(r#"{{"enum":[{}]}}"#, repeated(100_000, |n| value(n).to_string()))) {
        assert!(message.contains("dfa_states_max"), "{message}");
    }
}

#[test]
fn wide_objects_and_large_counts_are_bounded() {
    let properties = repeated(50_000, |n| format!(r#""p{n}":{{"type":"null"}}"#));
    let _ = bounded(&format!(r#"{{"properties":{{{properties}}},"additionalProperties":false}}"#));
    let grammar = bounded(r#"{"type":"array","minItems":4000000000,"maxItems":4000000001,"items":{"type":"null"}}"#);
    assert!(!accepts(&grammar.expect("counted by machine"), "[null]"));
    let grammar = bounded(r#"{"type":"string","minLength":1,"maxLength":18446744073709551615,"pattern":"^ab*$"}"#);
    assert!(accepts(&grammar.expect("counted by machine"), "\"abb\""));
    let grammar = bounded(r#"{"properties":{"\u0000":{"const":"\u0000"}},"additionalProperties":false}"#);
    assert!(accepts(&grammar.expect("a character like others"), r#"{"\u0000":"\u0000"}"#));
}

#[test]
fn contradictions_name_the_keyword_that_completes_them() {
    for (schema, reason, pointer) in [
        (r#"{"type":"string","minLength":5,"maxLength":3}"#, "minLength 5 with maxLength 3", "/maxLength"),
        (
            r#"{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":3,"maxItems":2}}}"#,
            "minItems 3 with maxItems 2",
            "/properties/a/maxItems",
        ),
        (
            r#"{"properties":{"a":{"enum":[]}},"required":["a"],"type":"object"}"#,
            "no value is left for the required key \"a\"",
            "/required",
        ),
        (r#"{"allOf":[{"const":1},{"const":2}]}"#, "constants that differ", "/allOf/1/const"),
        (r#"{"not":{}}"#, "no value is valid", ""),
    ] {
        let options = (SchemaOptions::default(), CompileOptions::default());
        let Err(CompileError::Schema(error)) = compiler().compile_json_schema_with(schema, &options.0, &options.1)
        else {
            panic!("{schema} has values");
        };
        assert!(error.is_unsatisfiable() && error.reason().contains(reason), "{schema}: {error}");
        assert_eq!(error.pointer(), pointer, "{schema}: {error}");
    }
}

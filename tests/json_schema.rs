//! Schemas designed to be large, and unsatisfiable schemas.

use maskwright::json_schema::{SchemaError, SchemaOptions};
use maskwright::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler, Vocab};
use std::time::{Duration, Instant};

fn compiler() -> GrammarCompiler {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).expect("256 tokens are a vocabulary");
    GrammarCompiler::builder(vocab.into()).build()
}

fn compile(schema: &str) -> Result<CompiledGrammar, String> {
    // Far more than any takes, so that slow machines don't fail.
    let options =
        CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(600)), ..CompileOptions::default() };
    let compiled = compiler().compile_json_schema_with(schema, &SchemaOptions::default(), &options);
    compiled.map_err(|error| error.to_string())
}

fn accepts(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    text.bytes().all(|byte| matcher.accept_token(u32::from(byte)).is_ok()) && matcher.is_accepting()
}

/// More than ten times what the slowest takes, so that busy machines don't fail.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Compiles a schema designed to be large; fails if that takes too long.
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

/// Each number was a separate automaton, added by one union after the other: 8,000 took a minute.
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
        assert!(["dfa_states_max", "schema_steps_max"].iter().any(|limit| message.contains(limit)), "{message}");
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

/// Returns the error for an unsatisfiable schema.
fn unsatisfiable(schema: &str) -> SchemaError {
    let start = Instant::now();
    let (options, compile_options) = (SchemaOptions::default(), CompileOptions::default());
    let compiled = compiler().compile_json_schema_with(schema, &options, &compile_options);
    assert!(start.elapsed() < TIME_MAX, "{schema}");
    match compiled {
        Err(CompileError::Schema(error)) if error.is_unsatisfiable() => error,
        other => panic!("{schema} has no value: {other:?}"),
    }
}

#[test]
fn contradictions_are_named() {
    for (schema, message) in [
        (r#"{"type":"string","minLength":5,"maxLength":3}"#, r#"minLength 5 with maxLength 3, at #"#),
        (
            r#"{"type":["string","array"],"minLength":5,"maxLength":3,"minItems":2,"maxItems":1}"#,
            r#"type string or array with minLength 5, minItems 2, maxLength 3 and maxItems 1, at #"#,
        ),
        (
            r#"{"type":"object","required":["a"],"properties":{"a":{"type":"string","minLength":5,"maxLength":3},"b":{"type":"string","minLength":5,"maxLength":3}}}"#,
            r#"minLength 5 with maxLength 3, at #/properties/a"#,
        ),
        (
            r#"{"type":"object","required":["b"],"properties":{"a":{"type":"string","minLength":5,"maxLength":3},"b":{"type":"string","minLength":5,"maxLength":3}}}"#,
            r#"minLength 5 with maxLength 3, at #/properties/b"#,
        ),
        (
            r#"{"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":3,"maxItems":2}}}"#,
            r#"minItems 3 with maxItems 2, at #/properties/a"#,
        ),
        (
            r#"{"properties":{"a":{"enum":[]}},"required":["a"],"type":"object"}"#,
            r#"enum lists no value, at #/properties/a/enum"#,
        ),
        (r#"{"allOf":[{"const":1},{"const":2}]}"#, r#"const 1 with const 2, at #"#),
        (r#"{"allOf":[{"type":"string"},{"type":"integer"}]}"#, r#"type string with type integer, at #"#),
        (r#"{"enum":[1,2],"type":"string"}"#, r#"enum [1, 2] with type string, at #"#),
        (r#"{"enum":["a"],"pattern":"b"}"#, r#"enum ["a"] with pattern "b", at #"#),
        (r#"{"enum":[]}"#, r#"enum lists no value, at #/enum"#),
        (
            r#"{"type":"object","properties":{"a":false},"required":["a"]}"#,
            r#"required "a" with properties "a" false, at #/properties/a"#,
        ),
        (
            r#"{"type":"object","properties":{"x":{"type":"object","properties":{"a":false},"required":["a"]}},"required":["x"]}"#,
            r#"required "a" with properties "a" false, at #/properties/x/properties/a"#,
        ),
        (
            r#"{"type":"object","required":["zz"],"additionalProperties":false}"#,
            r#"required "zz" with additionalProperties false, at #/additionalProperties"#,
        ),
        (
            r#"{"type":"object","required":["a","zz"],"properties":{"a":{}},"additionalProperties":false}"#,
            r#"required "zz" with additionalProperties false, at #/additionalProperties"#,
        ),
        (
            r#"{"type":"array","contains":{"type":"null"},"items":{"type":"string"}}"#,
            r#"contains with items: type null with type string, at #"#,
        ),
        (
            r#"{"type":"array","contains":{"type":"null"},"minContains":3,"maxContains":2}"#,
            r#"minContains 3 with maxContains 2, at #"#,
        ),
        (r#"{"type":"array","contains":{"enum":[]}}"#, r#"enum lists no value, at #/contains/enum"#),
        (
            r#"{"type":"array","contains":{"type":"null"},"minContains":3,"maxItems":2}"#,
            r#"maxItems 2 with minContains 3, at #"#,
        ),
        (
            r#"{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":4}"#,
            r#"type integer with exclusiveMinimum 3 and exclusiveMaximum 4, at #"#,
        ),
        (r#"{"type":"integer","minimum":5,"maximum":4}"#, r#"minimum 5 with maximum 4, at #"#),
        (
            r#"{"type":"number","minimum":1,"maximum":4,"multipleOf":5}"#,
            r#"multipleOf 5 with minimum 1 and maximum 4, at #"#,
        ),
        (r#"{"oneOf":[true,true]}"#, r#"no value satisfies exactly one branch of oneOf, at #/oneOf"#),
        (
            r#"{"oneOf":[{"type":"null"},{"type":"null"}]}"#,
            r#"no value satisfies exactly one branch of oneOf, at #/oneOf"#,
        ),
        (r#"{"not":{}}"#, r#"every value satisfies the schema under not, at #/not"#),
        (r#"false"#, r#"`false` allows no value, at #"#),
        (r#"{"type":"object","allOf":[false]}"#, r#"`false` allows no value, at #/allOf/0"#),
        (r#"{"type":"string","format":"date","minLength":11}"#, r#"format date with minLength 11, at #"#),
        (r#"{"type":"string","format":"date","pattern":"x"}"#, r#"format date with pattern "x", at #"#),
        (
            r#"{"type":"array","uniqueItems":true,"minItems":5,"items":{"enum":[1,2,3,4]}}"#,
            r#"minItems 5 with uniqueItems and items of 4 values, at #"#,
        ),
        (
            r#"{"type":"array","uniqueItems":true,"minItems":3,"items":{"type":"boolean"}}"#,
            r#"minItems 3 with uniqueItems and items of 2 values, at #"#,
        ),
        (
            r#"{"$schema":"http://json-schema.org/draft-04/schema#","type":"array","enum":[[0,100],0.25],"minItems":3}"#,
            r#"enum [[0,100], 0.25] with type array and minItems 3, at #"#,
        ),
        (
            r##"{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}"##,
            r#"required "a" asks for one such value within the other, without end, at #/properties/a"#,
        ),
        (
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/s","maxLength":3}},"required":["a"],"$defs":{"s":{"type":"string","minLength":5}}}"##,
            r#"minLength 5 with maxLength 3, at #/properties/a"#,
        ),
        (
            r#"{"type":"object","required":["a"],"unevaluatedProperties":false,"anyOf":[{"properties":{"b":{}}}]}"#,
            r#"type object with required "a", each branch of anyOf and unevaluatedProperties false, at #"#,
        ),
        (
            r#"{"type":"object","minProperties":2,"propertyNames":{"const":"a"}}"#,
            r#"minProperties 2 with propertyNames, at #"#,
        ),
        (
            r#"{"type":"object","required":["a","b"],"maxProperties":1}"#,
            r#"required "a", "b" with maxProperties 1, at #"#,
        ),
        (
            r#"{"type":"array","prefixItems":[{},{"type":"string","const":1}],"minItems":2}"#,
            r#"const 1 with type string, at #/prefixItems/1"#,
        ),
        (
            r#"{"type":"array","items":[{},{"type":"string"}],"additionalItems":false,"minItems":4,"$schema":"http://json-schema.org/draft-07/schema#"}"#,
            r#"minItems 4 with additionalItems false, at #/additionalItems"#,
        ),
        (
            r#"{"type":"object","anyOf":[{"type":"string"},{"type":"integer"}]}"#,
            r#"type object with each branch of anyOf, at #"#,
        ),
        (
            r#"{"anyOf":[{"type":"string","enum":[1]},{"type":"integer","enum":["a"]}]}"#,
            r#"no branch of anyOf has a value, at #/anyOf"#,
        ),
        (r#"{"type":"string","not":{"type":"string"}}"#, r#"type string with not, at #"#),
        (
            r#"{"type":"object","patternProperties":{"^a":{"type":"string"}},"properties":{"ab":{"type":"null"},"ac":{"type":"null"}},"required":["ab"]}"#,
            r#"type string with type null, at #/patternProperties/^a"#,
        ),
        (
            r#"{"type":"array","prefixItems":[{"const":1},{"enum":[1,1.0]}],"minItems":2,"items":false,"uniqueItems":true}"#,
            r#"minItems 2 with uniqueItems and prefixItems /0, /1, at #"#,
        ),
        (
            r#"{"type":"object","properties":{"k":{"const":1}},"required":["k"],"if":{"properties":{"k":{"const":1}}},"then":{"required":["z"]},"additionalProperties":false}"#,
            r#"type object with properties "k", additionalProperties false and if, at #"#,
        ),
        (r#"{"type":"string","nullable":true,"enum":[1]}"#, r#"enum [1] with type string or null, at #"#),
    ] {
        let error = unsatisfiable(schema);
        assert_eq!(error.to_string(), format!("unsatisfiable: {message}"), "{schema}");
        assert!(error.contradicting().count() > 0 || message.contains("false"), "{schema}");
    }
    let error = unsatisfiable(r#"{"items":{},"type":"string","minLength":5,"maxLength":3}"#);
    assert_eq!(error.contradicting().collect::<Vec<_>>(), ["minLength", "maxLength"]);
}

#[test]
fn what_is_left_out_of_a_contradiction_forbids_nothing_more() {
    for (schema, message) in [
        // Without `properties` nothing would be additional, without `anyOf` nothing evaluated.
        (
            r#"{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false,"required":["a"],"minProperties":2}"#,
            r#"minProperties 2 with additionalProperties false beside properties "a", at #"#,
        ),
        // The same schema under a negation keeps its meaning.
        (
            r##"{"$defs":{"s":{"type":"string","minLength":1}},"$ref":"#/$defs/s","not":{"$ref":"#/$defs/s"},"maxLength":5}"##,
            "type string with minLength 1 and not, at #",
        ),
        (
            r#"{"type":"object","oneOf":[{"required":["a"]},{"required":["a","b"]}],"required":["b"],"maxProperties":3,"minProperties":1}"#,
            r#"required "b" with oneOf, at #"#,
        ),
        (
            r#"{"type":"object","required":["b"],"anyOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false,"maxProperties":0}"#,
            r#"required "b" with maxProperties 0, at #"#,
        ),
    ] {
        assert_eq!(unsatisfiable(schema).to_string(), format!("unsatisfiable: {message}"), "{schema}");
    }
}

#[test]
fn errors_of_lowering_name_the_keyword_and_its_place() {
    let nested = |schema: &str| format!(r#"{{"type":"object","properties":{{"x":{schema}}}}}"#);
    let alternatives = {
        let one = |n: usize| {
            format!(
                r#"{{"anyOf":[{{"properties":{{"a{n}":{{"type":"null"}},"b{n}":{{"minLength":3}}}},"required":["a{n}"]}},{{"required":["b{n}","c{n}"],"not":{{"required":["d{n}"]}}}},{{"minProperties":{n}}},{{"maxProperties":{n}}}]}}"#
            )
        };
        format!(r#"{{"allOf":[{}]}}"#, repeated(12, one))
    };
    for (schema, message) in [
        (
            r#"{"multipleOf":0.1234567890123456789012345678901234567890123,"minimum":1}"#,
            "`multipleOf` at #/properties/x/multipleOf can't be enforced: the least common multiple",
        ),
        (r#"{"const":1e400}"#, "`const` at #/properties/x/const can't be enforced: all numbers left are 10^309"),
        (r#"{"enum":["a",1e400]}"#, "`enum` at #/properties/x/enum can't be enforced"),
        (r#"{"type":"number","minimum":1e400,"maximum":2e400}"#, "`minimum` at #/properties/x/minimum can't be"),
        (
            r#"{"type":"integer","not":{"multipleOf":12345678901234567890123456789}}"#,
            "`multipleOf` at #/properties/x/not/multipleOf can't be enforced: the deterministic automaton",
        ),
        (
            r#"{"type":"object","minProperties":100000}"#,
            "`minProperties` at #/properties/x/minProperties can't be enforced: 100000 members",
        ),
        (
            r#"{"type":"array","contains":{"type":"null"},"minContains":5000000}"#,
            "`contains` at #/properties/x/contains can't be enforced: more than 65536 places",
        ),
        (&alternatives, "schema_alternatives_max is 16384, but 16385 would be needed, at #/properties/x"),
        (
            r#"{"type":"array","uniqueItems":true,"prefixItems":[{"type":"null"},{"type":"boolean"},{"type":"string"},{"type":"null"}]}"#,
            "`uniqueItems` at #/properties/x/uniqueItems can't be enforced",
        ),
        (r#"{"pattern":"(a"}"#, "`pattern` at #/properties/x/pattern is not a valid pattern: group without its `)`"),
        (
            r#"{"patternProperties":{"[a":{}}}"#,
            "`patternProperties` at #/properties/x/patternProperties/[a is not a valid pattern: class without its `]`",
        ),
        (r#"{"pattern":"(a)\\1"}"#, "`pattern` at #/properties/x/pattern can't be enforced: back-references"),
        (r#"{"pattern":"(?i:a)"}"#, "`pattern` at #/properties/x/pattern can't be enforced: unknown kind of group"),
    ] {
        let error = bounded(&nested(schema)).expect_err(schema);
        assert!(error.starts_with(message), "{schema}: {error}");
    }
}

#[test]
fn contradictions_are_found_in_bounded_time() {
    let wide = repeated(20_000, |n| format!(r#""p{n}":{{"type":"string","minLength":1}}"#));
    let names = repeated(20_000, |n| format!(r#""p{n}""#));
    let wide = format!(
        r#"{{"type":"object","required":[{names},"z"],"properties":{{{wide},"z":{{"enum":[1],"minimum":2}}}}}}"#
    );
    let branches = repeated(2_000, |n| format!(r#"{{"type":"string","minLength":{},"maxLength":{n}}}"#, n + 1));
    let branches = format!(r#"{{"anyOf":[{branches}]}}"#);
    let all = repeated(5_000, |n| format!(r#"{{"minLength":{n}}}"#));
    let all = format!(r#"{{"type":"string","maxLength":3,"allOf":[{all}]}}"#);
    let mut deep = r#"{"type":"string","minLength":5,"maxLength":3}"#.to_owned();
    for _ in 0..50 {
        deep = format!(r#"{{"type":"object","required":["a"],"properties":{{"a":{deep}}}}}"#);
    }
    let counts =
        r#"{"type":"array","minItems":4000000000,"maxItems":4000000001,"items":{"type":"null"},"uniqueItems":true}"#;
    let patterns = repeated(6, |n| format!(r#"{{"pattern":"^(a|b)*a(a|b){{{}}}$"}}"#, n + 3));
    let patterns = format!(r#"{{"type":"string","allOf":[{patterns}],"pattern":"c"}}"#);
    let in_deep = format!("minLength 5 with maxLength 3, at #{}", "/properties/a".repeat(50));
    for (schema, message) in [
        // Here the search gives up.
        (&wide[..], "no value is valid, at #"),
        (&branches, "no branch of anyOf has a value, at #/anyOf"),
        (&all, "minLength 4999 with maxLength 3, at #"),
        (&deep, &in_deep),
        (counts, "minItems 4000000000 with uniqueItems and items of 1 value, at #"),
        (&patterns, r#"pattern "c" with pattern "^(a|b)*a(a|b){8}$", at #"#),
    ] {
        assert_eq!(unsatisfiable(schema).to_string(), format!("unsatisfiable: {message}"));
    }
}

/// What was meant to constrain values and doesn't is a warning with its place, wherever the schema stands.
#[test]
fn probable_mistakes_are_warnings() {
    use maskwright::grammar::{Grammar, WarningKind};
    use maskwright::json_schema::SchemaWarningKind as Kind;
    let compiler = maskwright::GrammarCompiler::new(maskwright::Vocab::from_tokens(["a"]).unwrap().into());
    for (schema, kind, location) in [
        (r#"{"name": "f", "parameters": {"type": "object"}}"#, Kind::Wrapper, "#"),
        (r#"{"properties": {"a": {"minimun": 1}}}"#, Kind::UnknownKeyword, "#/properties/a/minimun"),
        (r#"{"else": false}"#, Kind::WithoutEffect, "#/else"),
        (r#"{"items": {"format": "ip4"}}"#, Kind::UnknownFormat, "#/items/format"),
        (r#"{"$schema": "http://example.com/schema"}"#, Kind::UnknownDraft, "#/$schema"),
        (r#"{"properties": {"name": true}, "required": ["nam"]}"#, Kind::UndeclaredName, "#/required"),
        (
            r#"{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [true]}"#,
            Kind::ForeignKeyword,
            "#/prefixItems",
        ),
    ] {
        let checked = Grammar::from_json_schema(schema, &Default::default()).unwrap();
        let (_, report) = &checked.reports[0];
        let found = report.warnings();
        assert_eq!((found.len(), found[0].kind(), found[0].location()), (1, kind, location), "{schema}");
        assert!(found[0].span().is_some());
        assert_eq!((checked.warnings.len(), checked.warnings[0].kind()), (1, WarningKind::Schema), "{schema}");
        let operand = Grammar::from_ebnf(&format!("root ::= %json {schema}"), "root").unwrap();
        assert_eq!(operand.warnings.len(), 1, "{schema}");
        assert!(operand.warnings[0].to_string().starts_with("in a JSON Schema of the grammar: "));
    }
    for schema in [
        "true",
        r#"{"title": "t", "description": "d", "default": 1, "examples": [], "x-own": {}, "deprecated": true}"#,
        r#"{"properties": {"propertys": {"format": "int64"}}, "required": ["other", "propertys"]}"#,
        r#"{"if": {"type": "string"}, "then": {"minLength": 1}, "contains": true, "minContains": 0}"#,
        r#"{"type": "object", "properties": {"parameters": {"type": "object"}}}"#,
    ] {
        assert_eq!(Grammar::from_json_schema(schema, &Default::default()).unwrap().warnings, [], "{schema}");
    }
    // Very many are cut.
    let many: Vec<String> = (0..5000).map(|index| format!("\"propertys{index}\": 1")).collect();
    let grammar = compiler.compile_json_schema(&format!("{{\"const\": \"a\", {}}}", many.join(",")));
    assert!(grammar.is_err() || grammar.unwrap().warnings().len() <= 1024);
}

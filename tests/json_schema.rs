//! Schemas with the values that are valid and those that are not, and schemas made to be large.

use maskwright::json_schema::{Json, SchemaOptions, Value, ValueId};
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, Limits, Vocab};
use std::path::Path;
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

struct File {
    text: String,
    json: Json,
}

impl File {
    fn get(&self, of: ValueId, name: &str) -> ValueId {
        self.json.member(of, name).unwrap_or_else(|| panic!("a case without {name:?}"))
    }

    fn text(&self, value: ValueId) -> &str {
        let span = self.json.span(value);
        &self.text[span.start as usize..span.end as usize]
    }

    fn items(&self, value: ValueId) -> &[ValueId] {
        match self.json.value(value) {
            Value::Array(items) => items,
            _ => panic!("a list is expected, not {}", self.text(value)),
        }
    }
}

#[test]
fn every_case_holds() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/json_schema");
    let (mut n_checks, mut failures) = (0, Vec::new());
    for entry in std::fs::read_dir(directory).expect("there are cases") {
        let text = std::fs::read_to_string(entry.expect("a file").path()).expect("a text");
        let json = Json::parse(&text, &Limits::default()).expect("the cases are JSON");
        let file = File { text, json };
        for &case in file.items(file.json.root()) {
            let (schema, why) = (file.text(file.get(case, "schema")), file.text(file.get(case, "why")));
            let grammar = match compile(schema) {
                Ok(grammar) => grammar,
                Err(message) => {
                    failures.push(format!("{why}: {message}"));
                    continue;
                }
            };
            for (list, verdict) in [("valid", true), ("invalid", false)] {
                for &value in file.items(file.get(case, list)) {
                    n_checks += 1;
                    if accepts(&grammar, file.text(value)) != verdict {
                        failures.push(format!("{why}: {} is {list}", file.text(value)));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} checks fail:\n{}", failures.len(), failures.join("\n"));
    assert!(n_checks > 100, "{n_checks} checks");
}

/// Compiles a schema made to be large; returns what came of it, and fails if it takes too long.
fn bounded(schema: &str) -> Result<CompiledGrammar, String> {
    let start = Instant::now();
    let compiled = compile(schema);
    let outcome = compiled.as_ref().err().cloned().unwrap_or_else(|| "compiled".to_owned());
    assert!(start.elapsed() < Duration::from_secs(300), "{:?} for {outcome}", start.elapsed());
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
        let schema = format!("{}true{}", open.repeat(2_000), close.repeat(2_000));
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
fn contradictions_are_errors() {
    for schema in [
        r#"{"type":"string","minLength":5,"maxLength":3}"#,
        r#"{"type":"object","properties":{"a":false},"required":["a"]}"#,
        r#"{"allOf":[{"type":"object","properties":{"a":{"const":1}}},{"properties":{"a":{"const":2}},"required":["a"]}]}"#,
    ] {
        let message = compile(schema).expect_err("no value is valid");
        assert!(message.contains("unsatisfiable"), "{message}");
    }
}

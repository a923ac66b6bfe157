//! Lenient mode against the `jsonschema` crate: dropping a keyword allows more and never less.
//!
//! Random schemas of few keywords, many of which can't be enforced, nested and under negations. Every value that the validator accepts is
//! accepted; if the report has nothing dropped, no other is.

use maskwright::json_schema::SchemaOptions;
use maskwright::testing::Rng;
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, Vocab};

const N_SCHEMAS: usize = 800;

/// Keywords that can't be enforced, in some contexts or in all.
const HARD: &[&str] = &[
    r#""pattern":"(a)\\1""#,
    r#""multipleOf":123456789123456789123456789"#,
    r#""minProperties":100000"#,
    r#""maxProperties":100000"#,
    r#""uniqueItems":true"#,
    r#""contains":{"type":"integer"},"minContains":1000000"#,
    r#""contains":{"type":"integer"},"maxContains":1000000"#,
    r#""patternProperties":{"(a)\\1":{"type":"null"}}"#,
    r#""patternProperties":{"(a)\\1":{"type":"integer"},"^b":{"type":"integer"}}"#,
];

const EASY: &[&str] = &[
    r#""type":"object""#,
    r#""type":["object","string","integer"]"#,
    r#""required":["a"]"#,
    r#""required":["b"]"#,
    r#""minProperties":1"#,
    r#""maxProperties":1"#,
    r#""minItems":1"#,
    r#""maxItems":2"#,
    r#""minimum":1"#,
    r#""contains":{"const":1}"#,
    r#""minLength":1"#,
    r#""const":1"#,
    r#""properties":{"a":{"type":"integer"}}"#,
    r#""properties":{"a":true,"b":{"type":"null"}}"#,
    r#""unevaluatedProperties":false"#,
    r#""unevaluatedProperties":{"type":"integer"}"#,
    r#""unevaluatedItems":false"#,
    r#""additionalProperties":false"#,
    r#""additionalProperties":{"type":"null"}"#,
];

/// Values in all orders of their members, of which one must be accepted.
const VALUES: &[&[&str]] = &[
    &["null"],
    &["0"],
    &["1"],
    &["2"],
    &["1.5"],
    &[r#""""#],
    &[r#""a""#],
    &[r#""aa""#],
    &["[]"],
    &["[1]"],
    &["[1,1]"],
    &["[1,2]"],
    &[r#"[null,"a"]"#],
    &["{}"],
    &[r#"{"a":1}"#],
    &[r#"{"a":null}"#],
    &[r#"{"b":1}"#],
    &[r#"{"b":null}"#],
    &[r#"{"aa":1}"#],
    &[r#"{"aa":null}"#],
    &[r#"{"c":1}"#],
    &[r#"{"a":1,"b":1}"#, r#"{"b":1,"a":1}"#],
    &[r#"{"a":1,"b":null}"#, r#"{"b":null,"a":1}"#],
    &[r#"{"aa":null,"b":1}"#, r#"{"b":1,"aa":null}"#],
    &[r#"{"a":1,"aa":null}"#, r#"{"aa":null,"a":1}"#],
    &[r#"{"aa":1,"c":2}"#, r#"{"c":2,"aa":1}"#],
];

fn schema(rng: &mut Rng, depth: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let of = if rng.below(2) == 0 { HARD } else { EASY };
        parts.push(of[rng.below(of.len())].to_owned());
    }
    if depth > 0 {
        let mut below = || schema(rng, depth - 1);
        let (a, b, c) = (below(), below(), below());
        parts.push(match rng.below(8) {
            0 => format!(r#""allOf":[{a},{b}]"#),
            1 => format!(r#""anyOf":[{a},{b}]"#),
            2 => format!(r#""oneOf":[{a},{b}]"#),
            3 | 4 => format!(r#""not":{a}"#),
            5 => format!(r#""if":{a},"then":{b},"else":{c}"#),
            6 => format!(r#""properties":{{"a":{a}}}"#),
            _ => format!(r#""dependentSchemas":{{"a":{a}}}"#),
        });
    }
    // Each keyword once.
    let mut known: Vec<&str> = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    for part in parts.iter().rev() {
        let keyword = part.split('"').nth(1).expect("a part begins with its keyword");
        if !known.contains(&keyword) {
            known.push(keyword);
            kept.push(part);
        }
    }
    format!("{{{}}}", kept.join(","))
}

fn accepts(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

#[test]
fn what_is_dropped_lets_more_through_and_never_less() {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).expect("256 tokens are a vocabulary");
    let compiler = GrammarCompiler::new(vocab.into());
    let options = SchemaOptions { is_lenient: true, ..SchemaOptions::default() };
    let mut rng = Rng::new(11);
    let (mut n_compiled, mut n_relaxed, mut n_valid, mut refusals) = (0, 0, 0, Vec::new());
    for round in 0..N_SCHEMAS {
        let schema = schema(&mut rng, round % 3);
        let parsed: serde_json::Value = serde_json::from_str(&schema).expect("a schema is JSON");
        let validator = jsonschema::validator_for(&parsed).unwrap_or_else(|error| panic!("{schema}\n{error}"));
        let compiled = match compiler.compile_json_schema_with(&schema, &options, &CompileOptions::default()) {
            Ok(compiled) => Some(compiled),
            Err(error) if error.to_string().contains("unsatisfiable") => None,
            Err(error) => {
                refusals.push(error.to_string());
                continue;
            }
        };
        n_compiled += 1;
        let is_exact = compiled.as_ref().is_none_or(|grammar| grammar.schema_report().is_some_and(|it| it.is_exact()));
        n_relaxed += usize::from(!is_exact);
        for texts in VALUES {
            let value: serde_json::Value = serde_json::from_str(texts[0]).expect("a value is JSON");
            let is_valid = validator.is_valid(&value);
            let is_accepted = compiled.as_ref().is_some_and(|grammar| texts.iter().any(|text| accepts(grammar, text)));
            n_valid += usize::from(is_valid);
            assert!(is_accepted || !is_valid, "{schema}\nrefuses {}", texts[0]);
            assert!(!is_accepted || is_valid || !is_exact, "{schema}\naccepts {}", texts[0]);
        }
    }
    println!("{n_compiled} compiled, {n_relaxed} relaxed, {n_valid} valid values, refused: {refusals:?}");
    assert!(refusals.len() < N_SCHEMAS / 50 && n_relaxed > N_SCHEMAS / 4 && n_valid > N_SCHEMAS, "{refusals:?}");
}

#[test]
fn one_of_many_divisors_is_enforced_as_far_as_automata_are_small() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let options = SchemaOptions { is_lenient: true, ..SchemaOptions::default() };
    let primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    let branches: Vec<String> = primes.iter().map(|prime| format!(r#"{{"multipleOf":{prime}}}"#)).collect();
    let schema = format!(r#"{{"type":"integer","oneOf":[{}]}}"#, branches.join(","));
    let compiled = compiler.compile_json_schema_with(&schema, &options, &CompileOptions::default()).unwrap();
    assert!(compiled.schema_report().is_some_and(|report| !report.is_exact()));
    for number in 0..5000u32 {
        let n_divisors = primes.iter().filter(|&prime| number.is_multiple_of(*prime)).count();
        let n_small = primes[..4].iter().filter(|&prime| number.is_multiple_of(*prime)).count();
        let is_accepted = accepts(&compiled, &number.to_string());
        assert!(is_accepted || n_divisors != 1, "{number} is refused");
        assert!(!is_accepted || n_small < 2, "{number} is accepted");
    }
}

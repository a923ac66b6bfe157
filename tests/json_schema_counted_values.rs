//! Arrays of distinct items that several `contains` count: exact, without dead ends, and with masks of little work.
//!
//! A condition that few values satisfy must count each of them, since none of them comes again. Random schemas are compared with the `jsonschema`
//! crate on all arrays of a few values, and every prefix that is accepted must have a completion.

use maskwright::json_schema::SchemaOptions;
use maskwright::testing::completion_search::{Completion, CompletionSearch};
use maskwright::testing::{Rng, rounds};
use maskwright::{CompileOptions, CompiledGrammar, GrammarCompiler, Limits, Vocab};
use std::collections::HashSet;
use std::sync::Arc;

const N_SCHEMAS: usize = 100;

/// Values, some of which begin as others do.
const VALUES: [&str; 5] = ["1", "2", "12", r#""a""#, "[]"];

const CONDITIONS: [&str; 10] = [
    "{}",
    r#"{"const":1}"#,
    r#"{"const":"a"}"#,
    r#"{"enum":[1,2]}"#,
    r#"{"enum":[2,12,"a"]}"#,
    r#"{"enum":[[],1,7]}"#,
    r#"{"type":"string"}"#,
    r#"{"type":"integer"}"#,
    r#"{"type":"boolean"}"#,
    r#"{"type":"array"}"#,
];

const ITEMS: [&str; 5] =
    ["{}", r#"{"enum":[1,2,12]}"#, r#"{"type":["integer","string"]}"#, r#"{"not":{"const":2}}"#, "false"];

/// Some places have fewer values than there are items before them: sets of used values are told apart.
const FEW: [&str; 3] = [
    r#"{"type":"array","uniqueItems":true,"prefixItems":[{"enum":[1,2]},{"const":1}],"items":{"enum":[1,2,12]},"contains":{"maximum":2},"maxContains":1}"#,
    r#"{"type":"array","uniqueItems":true,"prefixItems":[{"enum":[1,"a"]},{"const":1}],"items":{"enum":[1,2,12,"a"]},"contains":{"type":"integer"},"maxContains":2}"#,
    r#"{"type":"array","uniqueItems":true,"prefixItems":[{"enum":[1,2]},{"const":1}],"items":{"enum":[1,2,12]},"contains":{"minimum":2},"minContains":2}"#,
];

fn compiler(limits: Limits) -> GrammarCompiler {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).expect("256 tokens are a vocabulary");
    GrammarCompiler::builder(Arc::new(vocab)).limits(limits).build()
}

fn schema(rng: &mut Rng) -> String {
    let counted = |rng: &mut Rng| {
        let mut parts = format!(r#""contains":{}"#, rng.pick(&CONDITIONS));
        if rng.chance(30) {
            parts += &format!(r#","minContains":{}"#, rng.below(4));
        }
        if rng.chance(20) {
            parts += &format!(r#","maxContains":{}"#, 1 + rng.below(3));
        }
        format!("{{{parts}}}")
    };
    let counted: Vec<String> = (0..rng.between(1, 3)).map(|_| counted(rng)).collect();
    let mut parts =
        vec![r#""type":"array","uniqueItems":true"#.to_owned(), format!(r#""allOf":[{}]"#, counted.join(","))];
    if rng.chance(40) {
        parts.push(format!(r#""items":{}"#, rng.pick(&ITEMS)));
    }
    if rng.chance(30) {
        let prefix: Vec<&str> = (0..rng.between(1, 2)).map(|_| *rng.pick(&CONDITIONS)).collect();
        parts.push(format!(r#""prefixItems":[{}]"#, prefix.join(",")));
    }
    if rng.chance(30) {
        parts.push(format!(r#""maxItems":{}"#, rng.between(1, 4)));
    }
    if rng.chance(20) {
        parts.push(format!(r#""minItems":{}"#, rng.between(1, 3)));
    }
    format!("{{{}}}", parts.join(","))
}

/// Returns all arrays of at most four of the values.
fn arrays() -> Vec<String> {
    let mut arrays = vec![Vec::new()];
    let mut longest = arrays.clone();
    for _ in 0..4 {
        longest = longest.iter().flat_map(|items| VALUES.map(|value| [&items[..], &[value]].concat())).collect();
        arrays.extend(longest.iter().cloned());
    }
    arrays.iter().map(|items| format!("[{}]", items.join(","))).collect()
}

fn accepts(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

#[test]
fn counted_items_agree_with_a_validator_and_are_no_dead_ends() {
    let mut rng = Rng::new(rounds::seed_or(3));
    let compiler = compiler(Limits::default());
    let arrays = arrays();
    let (mut n_compiled, mut n_refused, mut n_accepted) = (0, 0, 0);
    for round in 0..N_SCHEMAS {
        let schema = FEW.get(round).map_or_else(|| schema(&mut rng), |&schema| schema.to_owned());
        let validator = jsonschema::validator_for(&serde_json::from_str(&schema).expect("a schema is JSON"));
        let validator = validator.unwrap_or_else(|error| panic!("{schema}: {error}"));
        let grammar = match compiler.compile_json_schema(&schema) {
            Ok(grammar) => Some(grammar),
            Err(error) if error.to_string().contains("unsatisfiable") => None,
            // Places with too few values beside others are told apart up to a bound only.
            Err(error) if error.to_string().contains("`uniqueItems`") => {
                n_refused += 1;
                continue;
            }
            Err(error) => panic!("{schema}: {error}"),
        };
        n_compiled += usize::from(grammar.is_some());
        for text in &arrays {
            let is_valid = validator.is_valid(&serde_json::from_str(text).expect("an array is JSON"));
            let is_accepted = grammar.as_ref().is_some_and(|grammar| accepts(grammar, text));
            assert_eq!(is_accepted, is_valid, "{schema}: {text} (accepted, valid)");
            n_accepted += usize::from(is_accepted);
        }
        let Some(grammar) = grammar else { continue };
        let completions = CompletionSearch::new(&grammar);
        let mut prefixes = HashSet::new();
        for text in arrays.iter().step_by(arrays.len() / 16) {
            let mut matcher = grammar.matcher();
            for (at, byte) in text.bytes().enumerate() {
                if matcher.accept_bytes(&[byte]).is_err() {
                    break;
                }
                if !prefixes.insert(&text[..=at]) {
                    continue;
                }
                let found = completions.search(&matcher, 3_000);
                assert!(!matches!(found, Completion::DeadEnd), "{schema}: a dead end behind {}", &text[..=at]);
            }
        }
    }
    println!("{n_compiled} of {N_SCHEMAS} schemas compiled, {n_refused} refused, {n_accepted} arrays accepted");
    assert!(n_compiled > N_SCHEMAS / 3 && n_accepted > 1_000, "{n_compiled} compiled, {n_accepted} accepted");
}

/// Whatever is counted, masks of a large vocabulary take little work: a search that is needed behind thousands of tokens is made once.
#[test]
fn masks_take_little_work() {
    let pairs = (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| vec![a, b]));
    let vocab =
        Vocab::from_tokens((0..=255u8).map(|byte| vec![byte]).chain(pairs)).expect("pairs of bytes are a vocabulary");
    let limits = Limits { step_work_max: 80_000, ..Limits::default() };
    let compiler = GrammarCompiler::builder(Arc::new(vocab)).limits(limits).build();
    for (parts, document) in [
        (r#""allOf":[{"contains":{}},{"contains":{"const":"x"}}]"#, r#"["ab", 1, "x", {"a": 2}]"#),
        (r#""allOf":[{"contains":{"type":"string"}},{"contains":{"const":5}}]"#, r#"[1, 5, "abcdef"]"#),
        (r#""allOf":[{"contains":{"minLength":3}},{"contains":{"pattern":"^a"}}]"#, r#"["xyz", "a", 1]"#),
        (r#""maxItems":5,"allOf":[{"contains":{}},{"contains":{"const":"x"}}]"#, r#"["ab", 1, "x", {"a": 2}]"#),
        (r#""maxItems":2,"allOf":[{"contains":{"type":"string"}},{"contains":{"const":5}}]"#, r#"[5, "abcdef"]"#),
        (
            r#""allOf":[{"contains":{"type":"string"},"maxContains":2},{"contains":{"const":5}}]"#,
            r#"[5, "abcdef", 1, "b"]"#,
        ),
        (
            r#""prefixItems":[{"type":"string"}],"allOf":[{"contains":{"type":"string"}},{"contains":{"const":5}}]"#,
            r#"["abc", 1, 5, "abcdef"]"#,
        ),
        (r#""prefixItems":[{"enum":[1,2]}],"contains":{"enum":[1,2,3]},"minContains":2"#, r#"[2, "abcdef", 1]"#),
        (
            r#""maxItems":4,"allOf":[{"contains":{"type":"string"}},{"contains":{"const":5}},{"contains":{"type":"object"}}]"#,
            r#"[{"b": 2}, 5, "c", 1]"#,
        ),
    ] {
        let schema = format!(r#"{{"type":"array","uniqueItems":true,{parts}}}"#);
        let mut matcher = compiler.compile_json_schema(&schema).unwrap().matcher();
        for (at, byte) in document.bytes().enumerate() {
            let mask = matcher.mask().unwrap_or_else(|error| panic!("{schema} behind {}: {error}", &document[..at]));
            assert!(mask.contains(u32::from(byte)), "{schema} {document}");
            matcher.accept_token(u32::from(byte)).unwrap();
        }
        assert!(matcher.is_accepting(), "{schema} {document}");
    }
}

/// More values to count than there are: nothing is dropped, since nothing needs to be counted so far.
#[test]
fn a_condition_that_nothing_satisfies_is_exact() {
    let compiler = compiler(Limits::default());
    for parts in [
        r#""items":{"enum":[0,2]},"contains":{"const":1},"minContains":1000000"#,
        r#""uniqueItems":true,"contains":{"enum":[1,2]},"minContains":1000000"#,
    ] {
        let schema = format!(r#"{{{parts}}}"#);
        for is_lenient in [false, true] {
            let options = SchemaOptions { is_lenient, ..SchemaOptions::default() };
            let grammar = compiler.compile_json_schema_with(&schema, &options, &CompileOptions::default());
            let grammar = grammar.unwrap_or_else(|error| panic!("{schema}: {error}"));
            assert!(grammar.schema_report().is_some_and(|report| report.is_exact()), "{schema}, lenient: {is_lenient}");
            for text in ["[]", "[0]", "[1]", "[1,2]"] {
                assert!(!accepts(&grammar, text), "{schema}: {text}");
            }
            assert!(accepts(&grammar, "7"), "{schema}");
        }
    }
}

/// Numbers that needn't be known to be enough are not a reason to drop what they must satisfy, and neither are branches that needn't be known to be apart.
#[test]
fn nothing_is_dropped_to_answer_a_question() {
    let compiler = compiler(Limits { dfa_states_max: 2_000, ..Limits::default() });
    let schema = r#"{"type":"array","uniqueItems":true,"prefixItems":[true,{"type":"array","contains":{"type":"number","maximum":9},"items":{"multipleOf":5003,"minimum":-2.5}}]}"#;
    for is_lenient in [false, true] {
        let options = SchemaOptions { is_lenient, ..SchemaOptions::default() };
        let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap();
        assert!(grammar.schema_report().is_some_and(|report| report.is_exact()), "lenient: {is_lenient}");
        assert!(accepts(&grammar, "[1,[0,5003]]") && !accepts(&grammar, "[1,[0,5002]]"));
    }
    let compiler = self::compiler(Limits::default());
    let schema = r##"{"$defs":{"d0":{"type":"object","properties":{"ab":{"items":{"required":["a"],"maxProperties":3},"uniqueItems":true,"unevaluatedItems":{"type":"null","unevaluatedItems":{"const":-1},"$ref":"#/$defs/d1","not":{"enum":["x-1"]}}},"b":{"type":"string","maxLength":2,"pattern":"^.$"}},"patternProperties":{"^(ab)+$":{"type":"null","minimum":0,"enum":[false,null,{}],"$ref":"#/$defs/d0"},"^(?!a)":false}},"d1":{"enum":[[]],"if":{"type":"integer","multipleOf":6.007,"exclusiveMinimum":0.5},"then":{"type":"array","contains":{"minItems":0,"enum":[{},{},true],"maxItems":1}}}},"maximum":2,"required":["c"],"additionalProperties":{"oneOf":[{"items":{"enum":[{}]},"$ref":"#/$defs/d0"},{"exclusiveMinimum":2},{"type":"string","pattern":"^.$","maximum":-2.5}]}}"##;
    for is_lenient in [false, true] {
        let options = SchemaOptions { is_lenient, ..SchemaOptions::default() };
        let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap();
        assert!(grammar.schema_report().is_some_and(|report| report.is_exact()), "lenient: {is_lenient}");
    }
}

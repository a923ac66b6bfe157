//! Invalid and extreme options.

use maskwright::json_schema::{SchemaError, SchemaOptions, WhiteSpace};
use maskwright::{CompileError, CompileOptions, CompiledGrammar, GrammarCompiler, Limits, Vocab};
use std::time::{Duration, Instant};

/// Far more than any takes, so that a busy machine doesn't decide.
const TIME_MAX: Duration = Duration::from_secs(30);

fn compile_within(limits: Limits, schema: &str, white_space: WhiteSpace) -> Result<CompiledGrammar, SchemaError> {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).expect("256 tokens are a vocabulary");
    let compiler = GrammarCompiler::builder(vocab.into()).limits(limits).build();
    let options = SchemaOptions { white_space, ..SchemaOptions::default() };
    let start = Instant::now();
    let compiled = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default());
    assert!(start.elapsed() < TIME_MAX, "{:?} for {:?}", start.elapsed(), compiled.err());
    compiled.map_err(|error| match error {
        CompileError::Schema(error) => error,
        error => panic!("{error}"),
    })
}

fn compile(schema: &str, white_space: WhiteSpace) -> Result<CompiledGrammar, SchemaError> {
    compile_within(Limits::default(), schema, white_space)
}

fn accepts(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

fn separators(item: &str, key: &str) -> WhiteSpace {
    WhiteSpace::Separators { item: item.into(), key: key.into() }
}

const OBJECT: &str =
    r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"null"}}},"additionalProperties":false}"#;

/// White space was written out state by state before any limit was asked.
#[test]
fn wide_indents_meet_a_limit() {
    let limit = Limits::default().automaton_states_max;
    for spaces in [2 * limit as u32, 100_000_000, u32::MAX] {
        for schema in ["{}", OBJECT, r#"{"type":"object"}"#] {
            let error = compile(schema, WhiteSpace::Indent { spaces }).unwrap_err();
            let (bound, given, of) = error.limit().expect("it is a limit");
            assert_eq!((bound, of), ("automaton_states_max", limit), "{error}");
            assert!(given > spaces as usize, "{error}");
        }
    }
    // Many lines that are within the limit one by one.
    let error = compile("{}", WhiteSpace::Indent { spaces: 60_000 }).unwrap_err();
    assert_eq!(error.limit().map(|(bound, ..)| bound), Some("automaton_states_max"));
    let grammar = compile(OBJECT, WhiteSpace::Indent { spaces: 1000 }).unwrap();
    let line = |depth: usize| format!("\n{}", " ".repeat(1000 * depth));
    let text = format!(r#"{{{}"a": [{}null{}]{}}}"#, line(1), line(2), line(1), line(0));
    assert!(accepts(&grammar, &text) && !accepts(&grammar, r#"{"a": [null]}"#));
}

#[test]
fn long_runs_of_white_space_are_counted_by_machine() {
    for run_max in [63, 64, 65, 66, 1000, 100_000_000] {
        let grammar = compile(OBJECT, WhiteSpace::Flexible { run_max }).unwrap();
        for n in [0_usize, 1, 2, 63, 64, 65, 66, 67, 1000, 1001] {
            let run = " \n\t\r".repeat(n.div_ceil(4))[..n].to_owned();
            for text in [
                format!("{{{run}}}"),
                format!(r#"{{{run}"a":[]}}"#),
                format!(r#"{{"a"{run}:[]}}"#),
                format!(r#"{{"a":{run}[{run}null{run},{run}null{run}]{run}}}"#),
            ] {
                assert_eq!(accepts(&grammar, &text), n <= run_max as usize, "{n} of {run_max}: {text}");
            }
        }
    }
    let error = compile(OBJECT, WhiteSpace::Flexible { run_max: u32::MAX }).unwrap_err();
    assert_eq!(error.limit(), Some(("repeat_max", u32::MAX as usize, u32::MAX as usize - 1)));
    let error = compile("{}", WhiteSpace::Flexible { run_max: u32::MAX }).unwrap_err();
    assert_eq!(error.to_string(), "repeat_max is 4294967294, but 4294967295 would be needed");
    let limits = Limits { repeat_max: 10, ..Limits::default() };
    let error = compile_within(limits, OBJECT, WhiteSpace::Flexible { run_max: 11 }).unwrap_err();
    assert_eq!(error.limit(), Some(("repeat_max", 11, 10)));
}

/// A bound on a length or a number of items that is above the limit is an error, not another bound.
#[test]
fn bounds_above_the_limit_are_errors() {
    for keyword in ["minLength", "maxLength", "minItems", "maxItems"] {
        let limits = Limits { repeat_max: 100, ..Limits::default() };
        let error =
            compile_within(limits.clone(), &format!(r#"{{"{keyword}":200}}"#), WhiteSpace::Compact).unwrap_err();
        assert_eq!(error.limit(), Some(("repeat_max", 200, 100)), "{keyword}");
        assert!(compile_within(limits, &format!(r#"{{"{keyword}":100}}"#), WhiteSpace::Compact).is_ok(), "{keyword}");
    }
}

/// Other separators make texts that are not JSON.
#[test]
fn separators_are_marks_with_white_space_around_them() {
    for (item, key) in
        [("; ", ":"), (",,", ":"), ("", ":"), (" ", ":"), (", \u{a0}", ":"), (",\u{b}", ":"), ("\"", ":")]
    {
        for schema in [OBJECT, "{}", r#"{"type":"null"}"#] {
            let error = compile(schema, separators(item, key)).unwrap_err();
            assert_eq!(error.invalid_option(), Some("separators"), "{item:?}: {error}");
            assert!(error.reason().starts_with("`item` must be `,`"), "{item:?}: {error}");
        }
    }
    let error = compile(OBJECT, separators(",", "=")).unwrap_err();
    let message = "the option `separators` makes no sense: `key` must be `:` with white space around it, \
        not \"=\"";
    assert_eq!(error.to_string(), message);
    for (item, key) in [(",", ":"), (", ", ": "), ("\n\t,\r\n", " :\t")] {
        let grammar = compile(OBJECT, separators(item, key)).unwrap();
        assert!(accepts(&grammar, &format!(r#"{{"a"{key}[null{item}null]}}"#)), "{item:?} {key:?}");
    }
    let wide = format!(",{}", " ".repeat(Limits::default().automaton_states_max));
    let error = compile(OBJECT, separators(&wide, ":")).unwrap_err();
    assert_eq!(error.limit().map(|(bound, ..)| bound), Some("automaton_states_max"));
}

/// Each limit beyond which a keyword can't be enforced is configurable: it refuses beyond, and not at, what a schema needs.
#[test]
fn limits_of_what_can_be_enforced_are_met_exactly() {
    let with = |set: &dyn Fn(&mut Limits)| {
        let mut limits = Limits::default();
        set(&mut limits);
        limits
    };
    type Change = fn(&mut Limits, usize);
    let cases: [(&str, usize, &str, Change); 5] = [
        (r#"{"type": "object", "maxProperties": 3}"#, 3, "maxProperties", |limits, n| {
            limits.object_members_max = n as u64
        }),
        (
            r#"{"type": "object", "unevaluatedProperties": false,
                "anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}, {"properties": {"c": {}}}]}"#,
            3,
            "unevaluatedProperties",
            |limits, n| limits.unevaluated_branches_max = n,
        ),
        (
            r#"{"type": "array", "allOf": [
                {"contains": {"pattern": "a"}, "maxContains": 2}, {"contains": {"pattern": "b"}, "maxContains": 2}]}"#,
            4,
            "contains",
            |limits, n| limits.schema_variants_max = n,
        ),
        (
            r#"{"type": "object", "patternProperties": {"a": {"type": "null"}, "b": {"type": ["null", "string"]}}}"#,
            4,
            "patternProperties",
            |limits, n| limits.key_classes_max = n,
        ),
        (
            r#"{"type": "array", "prefixItems": [{"enum": [1, 2]}, {"const": 1}], "items": {"enum": [1, 3]},
                "uniqueItems": true}"#,
            3,
            "uniqueItems",
            |limits, n| limits.unique_values_max = n,
        ),
    ];
    for (schema, n, keyword, change) in cases {
        let at = with(&|limits| change(limits, n));
        let below = with(&|limits| change(limits, n - 1));
        if let Err(error) = compile_within(at, schema, WhiteSpace::Compact) {
            panic!("{schema}: {error}");
        }
        let error = compile_within(below, schema, WhiteSpace::Compact).unwrap_err();
        assert!(error.is_unsupported() && error.keyword() == Some(keyword), "{schema}: {error}");
    }
}

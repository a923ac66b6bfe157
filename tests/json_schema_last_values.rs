//! Elements that run out of values: no mask leads into a place that nothing completes.
//!
//! Small schemas are searched whole: every text over a few bytes, up to a length, is stepped through, and a prefix must be accepted
//! exactly if some text of the schema begins with it. Of the schemas here each such text has a short one.

use maskwright::CompileOptions;
use maskwright::json_schema::{SchemaOptions, WhiteSpace};
use maskwright::testing::ends::{End, Ends};
use maskwright::{GrammarCompiler, Matcher, Vocab};
use std::sync::Arc;

/// Schemas and the bytes that texts are made of.
const SCHEMAS: &[(&str, &[u8])] = &[
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}"#,
        br#"[]{},:"ax"#,
    ),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"type":"string"},"b":{"enum":[1,2]}},"required":["a","b"],"additionalProperties":false}}"#,
        br#"[]{},:"ab12"#,
    ),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"b":{"enum":[1,2]}},"required":["b"],"additionalProperties":false}}"#,
        br#"[]{},:"b12"#,
    ),
    (
        r#"{"type":"array","items":{"type":"string"},"uniqueItems":true,"contains":{"type":"string","minLength":1},"maxContains":1}"#,
        br#"[],"b"#,
    ),
    (r#"{"type":"array","uniqueItems":true,"minItems":2,"items":{"enum":[1,2]},"contains":{"const":1}}"#, b"[],12"),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"array","uniqueItems":true,"items":{"enum":[1,2]}}}"#,
        b"[],12",
    ),
    (r#"{"type":"array","uniqueItems":true,"items":{"type":"array","maxItems":1,"items":{"enum":[1,11]}}}"#, b"[],1"),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"array","maxItems":1,"items":{"const":0}},"maxItems":3}"#,
        b"[],0",
    ),
    (
        r#"{"type":"array","uniqueItems":true,"prefixItems":[{"enum":[1,2]},{"enum":[1]}],"minItems":2,"items":false}"#,
        b"[],12",
    ),
    (r#"{"type":"array","uniqueItems":true,"items":{"type":"array","items":{"enum":[1,2]}}}"#, b"[],12"),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","patternProperties":{"^[ab]$":{"const":1}},"additionalProperties":false}}"#,
        br#"[]{},:"ab1"#,
    ),
    (
        r#"{"type":"object","additionalProperties":{"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"null"},{"type":"array","maxItems":0}]}}}"#,
        br#"{}[],:"anul"#,
    ),
];

struct Walk<'a> {
    ends: Ends,
    bytes: &'a [u8],
    schema: &'a str,
    n_looked_max: usize,
    n_looked: usize,
}

impl Walk<'_> {
    /// Looks at texts in the order of their length.
    fn run(&mut self, matcher: Matcher) {
        let mut open = std::collections::VecDeque::from([(matcher, Vec::<u8>::new())]);
        while let Some((mut matcher, text)) = open.pop_front() {
            self.n_looked += 1;
            if self.n_looked > self.n_looked_max {
                return;
            }
            let shown = String::from_utf8_lossy(&text).into_owned();
            match self.ends.search(&matcher, 3_000) {
                End::Found(_) | End::Unknown => {}
                End::None => panic!("{}: a dead end after {shown}", self.schema),
            }
            let mask = matcher.mask().ok();
            for byte in 0..=255u8 {
                let is_allowed = matcher.is_token_allowed(u32::from(byte));
                let is_set = mask.as_ref().is_some_and(|mask| mask.contains(u32::from(byte)));
                assert_eq!(is_allowed, is_set, "{}: {:?} after {shown}", self.schema, byte as char);
                let mut fork = matcher.fork();
                assert_eq!(
                    fork.accept_bytes(&[byte]).is_ok(),
                    is_set,
                    "{}: {:?} after {shown}",
                    self.schema,
                    byte as char
                );
                if is_set && self.bytes.contains(&byte) {
                    let mut longer = text.clone();
                    longer.push(byte);
                    open.push_back((fork, longer));
                }
            }
        }
    }
}

#[test]
fn no_text_is_a_dead_end() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    for &(schema, bytes) in SCHEMAS {
        let start = std::time::Instant::now();
        let options = SchemaOptions { white_space: WhiteSpace::Flexible { run_max: 1 }, ..SchemaOptions::default() };
        let grammar = compiler.compile_json_schema_with(schema, &options, &CompileOptions::default()).unwrap();
        let mut walk = Walk { ends: Ends::new(&grammar), bytes, schema, n_looked_max: 400, n_looked: 0 };
        walk.run(grammar.matcher());
        println!("{schema}: {} texts in {:?}", walk.n_looked, start.elapsed());
    }
}

/// Places where nothing, or only some, may follow.
#[test]
fn what_can_not_be_completed_is_refused() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    let string = r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}}"#;
    let flagged = r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a","b"],"additionalProperties":false}}"#;
    let flag = r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"],"additionalProperties":false}}"#;
    let counted = r#"{"type":"array","items":{"type":"string"},"uniqueItems":true,"contains":{"type":"string","minLength":1},"maxContains":1}"#;
    let number = r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"n":{"const":1}},"required":["n"],"additionalProperties":false}}"#;
    let word = r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"w":{"enum":["ab","ac","x"]}},"required":["w"],"additionalProperties":false}}"#;
    for (schema, before, refused) in [
        (string, r#"[{"a":"x"},{"a":"x"#, "\""),
        (string, r#"[{"a":"x"},{ "a" : "\u0078"#, "\""),
        (string, r#"[{"a":"x"},{"a":""#, "x\""),
        (flagged, r#"[{"a":"x","b":true},{"a":"x","b":false},{"a":"x"#, "\""),
        (flagged, r#"[{"a":"x","b":true},{"a":"x","b":"#, "t"),
        (flag, r#"[{"b":true},{ "b" : false}"#, ","),
        (flag, r#"[{"b":true},{"b":"#, " t"),
        (counted, r#"["b", """#, ","),
        (counted, r#"["b", ""#, "x"),
        (number, r#"[{"n":1}"#, ","),
        (word, r#"[{"w":"ab"},{"w":"ac"},{"w":""#, "a"),
        (word, r#"[{"w":"ab"},{"w":"ac"},{"w":""#, r"\u0061"),
        (word, r#"[{"w":"ab"},{"w":"ac"},{"w":"x"}"#, ","),
    ] {
        let grammar = compiler.compile_json_schema(schema).unwrap();
        let mut matcher = grammar.matcher();
        matcher.accept_bytes(before.as_bytes()).unwrap_or_else(|error| panic!("{schema} {before}: {error}"));
        assert!(matcher.accept_bytes(refused.as_bytes()).is_err(), "{schema}: {refused} after {before}");
        assert!(matcher.mask().is_ok(), "{schema} {before}");
    }
}

/// More items than there are values: nothing may follow, from the beginning on.
#[test]
fn too_few_values_leave_nothing() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    let flag = r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"],"additionalProperties":false},"minItems":3}"#;
    let mut matcher = compiler.compile_json_schema(flag).unwrap().matcher();
    assert!(matcher.mask().is_err_and(|error| error.is_stuck()));
    assert!(matcher.accept_bytes(b"[").is_err());
}

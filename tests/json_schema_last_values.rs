//! Exhausted domains of distinct values: no mask leads into a dead end.
//!
//! Small schemas are searched exhaustively: every string over a few bytes, up to a length, is tried, and must be accepted as a prefix
//! exactly if some document of the schema begins with it. In the schemas here each such prefix has a short completion.

use maskwright::CompileOptions;
use maskwright::json_schema::{SchemaOptions, WhiteSpace};
use maskwright::testing::Rng;
use maskwright::testing::completion_search::{Completion, CompletionSearch};
use maskwright::testing::sampling::{Sampler, SamplingMode};
use maskwright::{GrammarCompiler, Limits, Matcher, Vocab};
use std::sync::Arc;

/// Schemas with the bytes of their documents.
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
        r#"{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"a":{"enum":["a","b"]},"b":{"enum":[1]}},"additionalProperties":false}}"#,
        br#"[]{},:"ab1"#,
    ),
    (
        r#"{"type":"array","uniqueItems":true,"items":{"type":"array","uniqueItems":true,"items":{"enum":[1,2]}},"minItems":5}"#,
        b"[],12",
    ),
    (
        r#"{"type":"object","additionalProperties":{"type":"array","uniqueItems":true,"items":{"anyOf":[{"type":"null"},{"type":"array","maxItems":0}]}}}"#,
        br#"{}[],:"anul"#,
    ),
    // One variant only at a position of the prefix; several; one that is counted.
    (
        r#"{"type":"array","uniqueItems":true,"prefixItems":[{"const":2}],"items":{"enum":[1,2,12]},"contains":{"const":1},"minItems":3}"#,
        b"[],12",
    ),
    (
        r#"{"type":"array","uniqueItems":true,"prefixItems":[{"enum":[1,2]},{"enum":[1,2,12]}],"items":{"enum":[1,2,12,11]},"contains":{"const":1},"minItems":3}"#,
        b"[],12",
    ),
    (
        r#"{"type":"array","uniqueItems":true,"prefixItems":[{"const":1},{"enum":[1,2]}],"items":{"enum":[1,2,12]},"contains":{"enum":[1,12]},"minContains":2,"minItems":2}"#,
        b"[],12",
    ),
    (
        r#"{"type":"array","uniqueItems":true,"prefixItems":[{"const":2},{"type":"string"}],"items":{"type":"string"},"contains":{"const":"b"},"minItems":3}"#,
        br#"[],2"b"#,
    ),
];

struct Walk<'a> {
    completions: CompletionSearch,
    bytes: &'a [u8],
    schema: &'a str,
    n_looked_max: usize,
    n_looked: usize,
}

impl Walk<'_> {
    /// Visits strings in the order of their length.
    fn run(&mut self, matcher: Matcher) {
        let mut open = std::collections::VecDeque::from([(matcher, Vec::<u8>::new())]);
        while let Some((mut matcher, text)) = open.pop_front() {
            self.n_looked += 1;
            if self.n_looked > self.n_looked_max {
                return;
            }
            let shown = String::from_utf8_lossy(&text).into_owned();
            match self.completions.search(&matcher, 3_000) {
                Completion::Found(_) | Completion::OutOfSteps => {}
                Completion::DeadEnd => panic!("{}: a dead end after {shown}", self.schema),
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
        let mut walk =
            Walk { completions: CompletionSearch::new(&grammar), bytes, schema, n_looked_max: 400, n_looked: 0 };
        walk.run(grammar.matcher());
        println!("{schema}: {} texts in {:?}", walk.n_looked, start.elapsed());
    }
}

/// Prefixes after which nothing, or only some bytes, may follow.
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

/// As many items as there are values: each of them is needed.
#[test]
fn as_many_items_as_values_can_be_written() {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend(["{\"", "\":", "\",\"", "\"}", "},", "]}", "[]", "{}", "],[", "},{", "]]", "1,", "true"]);
    let end = builder.push("</s>");
    builder.stop_tokens([end]);
    let compiler = GrammarCompiler::new(Arc::new(builder.build().unwrap()));
    let sampler = Sampler::new(compiler.vocab());
    let mut n_written = 0;
    for (items, n_values) in [
        (r#"{"type":"array","uniqueItems":true,"items":{"enum":[1,2]}}"#, 5),
        (r#"{"type":"array","items":{"enum":[1,2]},"maxItems":2}"#, 7),
        (r#"{"anyOf":[{"enum":[1,2,3]},{"type":"array","items":{"const":1},"maxItems":1}]}"#, 5),
        (r#"{"type":"object","properties":{"a":{"const":1},"b":{"enum":[1,2]}},"additionalProperties":false}"#, 6),
        (
            r#"{"type":"object","properties":{"a":{"enum":[1,2]},"b":{"enum":[1,true,false]}},"required":["a"],"additionalProperties":false}"#,
            8,
        ),
        (
            r#"{"type":"object","properties":{"a":{"enum":["a","b","ab"]},"b":{"enum":[1.5,2]}},"required":["b"],"additionalProperties":false}"#,
            8,
        ),
    ] {
        for n_items in [n_values - 1, n_values] {
            let schema = format!(r#"{{"type":"array","uniqueItems":true,"items":{items},"minItems":{n_items}}}"#);
            let grammar = compiler.compile_json_schema(&schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
            for seed in 0..4 {
                let mode = if seed % 2 == 0 { SamplingMode::Common } else { SamplingMode::Rare };
                // It panics if nothing may follow.
                n_written += usize::from(sampler.sample(&mut Rng::new(seed), mode, grammar.matcher()).is_some());
            }
        }
    }
    assert!(n_written > 24, "{n_written} of 48");
}

/// Used values may have any spelling: the remaining ones are found all the same.
#[test]
fn other_spellings_of_used_values_hide_none_that_is_left() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    for (values, before) in [
        ("1,2,3", r#"[{ "b":1},{"b":2},"#),
        ("1,2,3", r#"[{ "b":1.0},{"b":3},{"b":"#),
        (r#""x","y","z""#, r#"[{ "b":"x"},{"b" :"z"},{ "b":""#),
        (r#""x","y","z""#, r#"[{"b":"y"},{"b":"x"},{ "b": ""#),
    ] {
        let schema = format!(
            r#"{{"type":"array","uniqueItems":true,"minItems":3,"items":{{"type":"object","properties":{{"b":{{"enum":[{values}]}}}},"required":["b"],"additionalProperties":false}}}}"#
        );
        let mut matcher = compiler.compile_json_schema(&schema).unwrap().matcher();
        matcher.accept_bytes(before.as_bytes()).unwrap_or_else(|error| panic!("{schema} {before}: {error}"));
        assert!(matcher.mask().is_ok(), "{schema} {before}");
    }
}

/// If no domain can be exhausted, or not with so few values, there is no search: the masks of a large vocabulary take little work.
#[test]
fn values_that_can_not_run_out_are_not_searched_for() {
    let pairs = (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| vec![a, b]));
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| vec![byte]).chain(pairs)).unwrap();
    let limits = Limits { step_work_max: 400_000, ..Limits::default() };
    let compiler = GrammarCompiler::builder(Arc::new(vocab)).limits(limits).build();
    for (schema, document) in [
        // Objects with any string.
        (
            r#"{"type":"array","uniqueItems":true,"contains":{"properties":{"k":{"const":"a"}},"required":["k"]},"items":{"type":"object","properties":{"k":{"enum":["a","b"]},"n":{"type":"string"}}}}"#,
            r#"[{"k":"b","n":"x"},{"k":"a","n":"yes"}]"#,
        ),
        // Arrays of any length.
        (
            r#"{"type":"array","uniqueItems":true,"contains":{"type":"array","items":{"enum":["é",true]}}}"#,
            r#"[[],1,[true,"é"],[[]],[true]]"#,
        ),
        // Numbers of any length that a divisor keeps in many states.
        (
            r#"{"type":"array","uniqueItems":true,"items":{"type":["number","null"],"multipleOf":5003,"maximum":1.5}}"#,
            "[0,null,-5003,-10006]",
        ),
        (
            r#"{"type":"array","uniqueItems":true,"contains":{"type":"array","prefixItems":[{"type":"integer","minimum":1,"multipleOf":3}],"maxItems":1},"prefixItems":[{"pattern":"^a"},{"type":"integer","multipleOf":1000003}]}"#,
            r#"["ab",1000003,[3],[],[12],0]"#,
        ),
        // Finitely many values, but more than there are here.
        (
            r#"{"type":"array","uniqueItems":true,"contains":{"type":"array","items":{"type":"boolean"},"maxItems":8}}"#,
            r#"[1,[[]],[true,false],"x"]"#,
        ),
        (
            r#"{"type":"array","uniqueItems":true,"items":{"type":["array","boolean"],"items":{"type":"boolean"},"maxItems":16}}"#,
            "[[],[true,false],[true],true,[false,false]]",
        ),
        // A constant alone at the beginning, and one that must be there somewhere.
        (
            r#"{"type":"array","uniqueItems":true,"prefixItems":[{"const":"tag"},{"type":"string"}],"items":{"type":"string"},"contains":{"const":"x"},"minItems":3}"#,
            r#"["tag","rolling","x","y"]"#,
        ),
        (
            r#"{"type":"array","uniqueItems":true,"prefixItems":[{"const":7},{"minLength":7}],"contains":{"const":1},"minItems":3}"#,
            r#"[7,"rolling on",[],1]"#,
        ),
    ] {
        assert_written(&compiler, schema, document);
    }
}

/// Arrays that need all values of a finite domain are written within the work that a step takes by default.
#[test]
fn domains_can_be_used_up() {
    let pairs = (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| vec![a, b]));
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| vec![byte]).chain(pairs)).unwrap();
    let compiler = GrammarCompiler::new(vocab.into());
    let objects = |n: usize| {
        let objects: Vec<String> = (0..n).map(|i| format!(r#"{{"a":{i},"b":{i}}}"#)).collect();
        objects.join(",")
    };
    for n in [6, 8] {
        let schema =
            format!(r#"{{"type":"array","uniqueItems":true,"minItems":{n},"items":{{"enum":[{}]}}}}"#, objects(n));
        assert_written(&compiler, &schema, &format!("[{}]", objects(n)));
    }
    let booleans: Vec<String> =
        (0..8).map(|n| format!(r#"{{"a":{},"b":{},"c":{}}}"#, n & 4 != 0, n & 2 != 0, n & 1 != 0)).collect();
    let schema = r#"{"type":"array","uniqueItems":true,"minItems":8,"items":{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"},"c":{"type":"boolean"}},"required":["a","b","c"],"additionalProperties":false}}"#;
    assert_written(&compiler, schema, &format!("[{}]", booleans.join(",")));
    let points: Vec<String> = (0..16).map(|n| format!("[{},{}]", n / 4, n % 4)).collect();
    let schema = r#"{"type":"array","uniqueItems":true,"minItems":16,"items":{"type":"array","items":{"type":"integer","minimum":0,"maximum":3},"minItems":2,"maxItems":2}}"#;
    assert_written(&compiler, schema, &format!("[{}]", points.join(",")));
}

/// Asserts that a document can be written byte by byte, as masks say, within the work that a step may take.
fn assert_written(compiler: &GrammarCompiler, schema: &str, document: &str) {
    let mut matcher = compiler.compile_json_schema(schema).unwrap().matcher();
    for byte in document.bytes() {
        let mask = matcher.mask().unwrap_or_else(|error| panic!("{schema} {document}: {error}"));
        assert!(mask.contains(u32::from(byte)), "{schema} {document}");
        matcher.accept_token(u32::from(byte)).unwrap();
    }
    assert!(matcher.is_accepting(), "{schema} {document}");
}

/// Which of several values alike an item is matters where the others must follow.
#[test]
fn values_that_must_follow_are_left_for_later() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    let arrays = |first: &str, others: &str, n_items: usize| {
        let item =
            |values: &str| format!(r#"{{"type":"array","items":{{"enum":[{values}]}},"minItems":1,"maxItems":1}}"#);
        let (first, others) = (item(first), item(others));
        format!(
            r#"{{"type":"array","uniqueItems":true,"prefixItems":[{first}],"items":{others},"minItems":{n_items}}}"#
        )
    };
    for (schema, document) in [
        (arrays("1,4", "1,2", 3), "[[4],[1],[2]]"),
        (arrays("4,1", "1,5", 3), "[[4],[5],[1]]"),
        (arrays("1,3", "2,1", 3), "[[3],[1],[2]]"),
        (arrays("1,2", "3,1", 3), "[[2],[3],[1]]"),
        (arrays("1,2", "2,3", 3), "[[1],[2],[3]]"),
        (arrays("1,12", "1,2", 3), "[[12],[2],[1]]"),
        (arrays("1,2,3,4,5", "1,2,3,4", 5), "[[5],[1],[2],[3],[4]]"),
        (
            r#"{"type":"array","uniqueItems":true,"prefixItems":[{"anyOf":[{"type":"object","properties":{"a":{"enum":[4,2,3]}},"additionalProperties":false,"required":["a"]},{"const":[2]}]}],"items":{"type":"object","properties":{"a":{"const":2}},"additionalProperties":false,"required":["a"]},"minItems":2}"#.to_owned(),
            r#"[{"a":3},{"a":2}]"#,
        ),
    ] {
        assert_written(&compiler, &schema, document);
    }
}

/// An alternative without values lends none to the others.
#[test]
fn shapes_that_are_empty_have_no_values() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    let only_empty = r#"{"type":"object","oneOf":[{"properties":{"ab":{"pattern":"^a"}}},{"minProperties":1}],"properties":{"ab":{"type":"object"}}}"#;
    let schema = format!(r#"{{"type":"array","uniqueItems":true,"items":{only_empty}}}"#);
    let mut matcher = compiler.compile_json_schema(&schema).unwrap().matcher();
    matcher.accept_bytes(b"[{ }").unwrap();
    assert!(matcher.fork().accept_bytes(b"]").is_ok());
    assert!(matcher.accept_bytes(b",").is_err());
}

/// Items behind a prefix are counted beside those of the prefix.
#[test]
fn counted_values_of_a_prefix_and_behind_it_must_be_enough() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    for (prefix, min, is_enough) in [("boolean", 2, false), ("number", 2, true), ("number", 3, false)] {
        let schema = format!(
            r#"{{"type":"array","uniqueItems":true,"prefixItems":[{{"type":"{prefix}"}}],"items":{{"multipleOf":11}},"contains":{{"type":"number","minimum":0,"maximum":1.5}},"minContains":{min}}}"#
        );
        assert_eq!(compiler.compile_json_schema(&schema).is_ok(), is_enough, "{schema}");
    }
}

/// More items than values: the array is unsatisfiable, and an optional property with it is never present.
#[test]
fn too_few_values_leave_nothing() {
    let vocab = Arc::new(Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap());
    let compiler = GrammarCompiler::new(vocab);
    for (items, n_values) in [
        (
            r#""items":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"],"additionalProperties":false}"#,
            2,
        ),
        (r#""items":{"type":"array","items":{"enum":[1,2]},"maxItems":2}"#, 7),
        (r#""items":{"type":"array","items":{"enum":[1,2]},"uniqueItems":true}"#, 5),
        (
            r#""items":{"type":"array","items":{"type":"null"},"maxItems":2,"contains":{"type":"null"},"minContains":1}"#,
            2,
        ),
        (
            r#""items":{"type":"object","properties":{"a":{"enum":[1,2.0]},"b":{"const":[]}},"additionalProperties":false,"maxProperties":1}"#,
            4,
        ),
        (
            r#""items":{"type":"object","patternProperties":{"^[ab]$":{"const":1}},"additionalProperties":false,"minProperties":1}"#,
            3,
        ),
        (r#""items":{"type":"object","maxProperties":0}"#, 1),
        (
            r#""items":{"type":"object","maxProperties":1,"required":["a"],"properties":{"a":{"type":"boolean"},"b":{}}}"#,
            2,
        ),
        (r#""prefixItems":[{"enum":[[],[1]]},{"enum":[[],[1]]},{"enum":[[],[1]]}],"items":{"type":"string"}"#, 2),
        (r#""prefixItems":[{"const":[]},{"enum":[[],{}]},{"enum":[{},[]]}],"items":{"type":"string"}"#, 2),
        (r#""contains":{"const":{}},"minContains":2,"items":{"type":"object"}"#, 0),
    ] {
        let array = |n_items: usize| format!(r#"{{"type":"array","uniqueItems":true,{items},"minItems":{n_items}}}"#);
        let schema = array(n_values + 1);
        let error = compiler.compile_json_schema(&schema).expect_err(&schema);
        assert!(error.to_string().contains("unsatisfiable"), "{schema}: {error}");
        let schema = format!(r#"{{"properties":{{"p":{schema}}}}}"#);
        let mut matcher = compiler.compile_json_schema(&schema).unwrap().matcher();
        matcher.accept_bytes(br#"{"#).unwrap();
        assert!(matcher.fork().accept_bytes(br#""q":1}"#).is_ok(), "{schema}");
        assert!(matcher.accept_bytes(br#""p":"#).is_err(), "{schema}");
        if n_values > 0 {
            compiler
                .compile_json_schema(&array(n_values))
                .unwrap_or_else(|error| panic!("{}: {error}", array(n_values)));
        }
    }
}

/// An array whose values are too few to be begun at all, which is found out only when it is, is in no mask.
#[test]
fn no_mask_begins_an_array_that_has_too_few_values() {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    tokens.extend([&b"[["[..], b"[ ", b"[[]", b"[[],", b"  [", b"12"].map(<[u8]>::to_vec));
    let vocab = Arc::new(Vocab::from_tokens(&tokens).unwrap());
    let nothing = r#"{"type":"array","items":{"type":"array"},"contains":{"type":"number"}}"#;
    let schema = format!(
        r#"{{"type":["array","integer"],"items":{{"type":"array","items":{nothing}}},"minItems":2,"uniqueItems":true}}"#
    );
    let mut matcher = GrammarCompiler::new(Arc::clone(&vocab)).compile_json_schema(&schema).unwrap().matcher();
    let mask = matcher.mask().unwrap();
    for token in 0..vocab.n_tokens() as u32 {
        let is_number = tokens[token as usize].iter().all(|byte| b"-0123456789 \t\n\r".contains(byte));
        assert_eq!(mask.contains(token), matcher.is_token_allowed(token), "{:?}", tokens[token as usize]);
        assert!(is_number || !mask.contains(token), "{:?}", tokens[token as usize]);
    }
}

/// What must follow a value is looked for behind it: from within a multiple of a large number few ways lead to its end.
#[test]
fn what_follows_a_number_is_looked_for_behind_it() {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| vec![byte])).unwrap();
    let limits = Limits { step_work_max: 100_000, ..Limits::default() };
    let compiler = GrammarCompiler::builder(Arc::new(vocab)).limits(limits).build();
    let schema = r#"{"type":"array","uniqueItems":true,"minItems":2,"prefixItems":[{"type":"number","multipleOf":5003},{"type":["object","boolean"],"maxProperties":0},{"type":"array"}],"items":{"type":["object","null"],"maxProperties":0}}"#;
    for document in ["[61765431541703,true]", "[-5003,{},[],null]"] {
        assert_written(&compiler, schema, document);
    }
}

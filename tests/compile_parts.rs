//! Compiles of many pieces: on several threads, from caches, and with options of regular expressions.

use maskwright::frontend::regex::{self, RegexOptions};
use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::regular::Dfa;
use maskwright::structural_tag::TagOptions;
use maskwright::{CompileOptions, CompiledGrammar, Config, GrammarCompiler, Limits, Vocab};
use std::sync::Arc;

fn vocab() -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend(["<parameter=", "</parameter>", "\n<", "a1", "true", "42", "r>", "=a"]);
    let stop = builder.push("<|stop|>");
    builder.stop_tokens([stop]);
    Arc::new(builder.build().unwrap())
}

fn compiler(compile_threads_max: usize, limits: Limits) -> GrammarCompiler {
    GrammarCompiler::builder(vocab()).config(Config { compile_threads_max, ..Config::default() }).limits(limits).build()
}

/// Returns the structural tag of tools, `broken` with schemas that no value satisfies.
fn tools(numbers: impl Iterator<Item = usize>, style: &str, broken: &[usize]) -> String {
    let tags: Vec<String> = numbers
        .map(|n| {
            let maximum = if broken.contains(&n) { 0 } else { 100 + n };
            format!(
                r#"{{"type": "tag", "begin": "<f={n}>", "end": "</f>", "content": {{"type": "json_schema", "style": "{style}", "json_schema":
                {{"type": "object", "properties": {{"a{n}": {{"type": "string"}}, "b": {{"type": "integer", "minimum": 1, "maximum": {maximum}}}, "c{n}": {{"enum": ["x", "y{n}"]}}}},
                "required": ["b"], "additionalProperties": false}}}}}}"#
            )
        })
        .collect();
    format!(
        r#"{{"type": "structural_tag", "format": {{"type": "tags_with_separator", "separator": "\n", "tags": [{}]}}}}"#,
        tags.join(", ")
    )
}

/// Returns the masks along a text, one token a byte.
fn masks(grammar: &CompiledGrammar, text: &str) -> Vec<Vec<u32>> {
    let mut matcher = grammar.matcher();
    let mask = |matcher: &mut maskwright::Matcher| matcher.mask().unwrap().iter().collect::<Vec<_>>();
    let mut masks = vec![mask(&mut matcher)];
    for byte in text.bytes() {
        matcher.accept_token(u32::from(byte)).unwrap();
        masks.push(mask(&mut matcher));
    }
    masks
}

#[test]
fn several_threads_compile_what_one_does() {
    let calls = [
        ("json", r#"<f=37>{"a37": "v", "b": 13}</f>"#.to_owned() + "\n" + r#"<f=2>{"b": 9, "c2": "y2"}</f>"#),
        (
            "qwen_xml",
            "<f=37><parameter=a37>v < w</parameter> <parameter=b> 13\n</parameter></f>\n<f=2><parameter=b>9</parameter>\n<parameter=c2>y2</parameter></f>"
                .to_owned(),
        ),
    ];
    for (style, call) in calls {
        let text = tools(0..60, style, &[]);
        let all: Vec<_> = [1, 2, 7]
            .map(|n_threads| {
                masks(&compiler(n_threads, Limits::default()).compile_structural_tag(&text).unwrap(), &call)
            })
            .into();
        assert!(all.iter().all(|masks| *masks == all[0]), "{style}");
    }
}

#[test]
fn several_threads_refuse_what_one_does() {
    let options = (TagOptions::default(), CompileOptions::default());
    let refused = |n_threads, limits: Limits, text: &str| {
        compiler(n_threads, limits).compile_structural_tag_with(text, &options.0, &options.1).unwrap_err().to_string()
    };
    let text = tools(0..60, "json", &[58, 41, 23]);
    for n_threads in [1, 2, 7] {
        assert!(refused(n_threads, Limits::default(), &text).contains("/tags/23/"), "{n_threads} threads");
    }
    // What all of them spend is bounded as what one spends.
    let text = tools(0..60, "json", &[]);
    let with_steps = |schema_steps_max| Limits { schema_steps_max, ..Limits::default() };
    let compiles = |n_threads, n_steps| compiler(n_threads, with_steps(n_steps)).compile_structural_tag(&text).is_ok();
    let enough = (0..40).map(|power| 1 << power).find(|&n_steps| compiles(1, n_steps)).unwrap();
    for n_threads in [1, 2, 7] {
        assert!(compiles(n_threads, enough));
        let error = refused(n_threads, with_steps(enough / 2), &text);
        assert!(error.contains("schema_steps_max"), "{n_threads} threads: {error}");
    }
}

#[test]
fn a_changed_tool_is_compiled_alone() {
    let compiler = compiler(1, Limits::default());
    let n_made = || compiler.stats().units_made;
    compiler.compile_structural_tag(&tools(0..40, "qwen_xml", &[])).unwrap();
    let all = n_made();
    let changed = tools((0..40).map(|n| if n == 17 { 90 } else { n }), "qwen_xml", &[]);
    compiler.compile_structural_tag(&changed).unwrap();
    let one = n_made() - all;
    assert!(one <= 12 && all > 40 * 3, "{one} units for one tool, {all} for 40");
    // Their order does not matter.
    compiler.compile_structural_tag(&tools((0..40).rev(), "qwen_xml", &[])).unwrap();
    assert!(n_made() - all - one <= 3, "{} units", n_made() - all - one);
}

#[test]
fn masks_of_parts_agree_with_the_oracle() {
    let styles = ["qwen_xml", "minimax_xml", "glm_xml", "deepseek_xml", "deepseek_v4_1_xml", "kimi_k3_xml"];
    let schemas = [
        r#"{"properties": {"a": {"type": "string"}, "ab": {"type": "integer"}, "b": {"type": "string", "maxLength": 2}}, "required": ["ab"], "additionalProperties": false}"#,
        r#"{"properties": {"a": {"type": ["boolean", "string"]}, "b": {"enum": ["x</parameter>", "y"]}}, "additionalProperties": {"type": "null"}}"#,
        r#"{"properties": {"a": {"type": "string"}, "b": {"type": "boolean"}, "c": {"const": 4}}, "required": ["a", "b", "c"], "additionalProperties": false}"#,
        "true",
    ];
    for style in styles {
        for schema in schemas {
            let text = format!(
                r#"{{"type": "structural_tag", "format": {{"type": "sequence", "elements": [{{"type": "const_string", "value": "("}},
                {{"type": "json_schema", "style": "{style}", "json_schema": {schema}}}, {{"type": "const_string", "value": ")"}}]}}}}"#
            );
            let grammar = compiler(1, Limits::default()).compile_structural_tag(&text).unwrap();
            let recognizer = Recognizer::new(grammar.expanded_grammar(), &Limits::default()).unwrap();
            let mut rng = maskwright::testing::Rng::new(7);
            for _ in 0..4 {
                let mut matcher = grammar.matcher();
                let mut oracle = OracleMatcher::new(&recognizer, Arc::clone(grammar.vocab()));
                for _ in 0..60 {
                    let mask = matcher.mask().unwrap();
                    assert_eq!(mask.as_words(), oracle.mask(), "{style} {schema} {:?}", matcher.accepted());
                    let allowed: Vec<u32> = mask.iter().collect();
                    // Of tokens of one byte there are many, and few lead on.
                    let lead_on = |&token: &u32| token > 255 || b"<>/=| \n\"abxy4p".contains(&(token as u8));
                    let few: Vec<u32> = allowed.iter().copied().filter(lead_on).collect();
                    let from = if few.is_empty() || rng.below(10) == 0 { allowed } else { few };
                    let Some(&token) = from.get(rng.below(from.len().max(1))) else { break };
                    matcher.accept_token(token).unwrap();
                    assert!(oracle.accept_token(token));
                    if matcher.is_terminated() {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn options_of_regular_expressions_count() {
    let limits = Limits::default();
    let compiler = compiler(1, limits.clone());
    let texts = ["", "a", "A", "aé", "7", "٣", "\n", "a\n", "a b", "ab", "\"", "\\\"", "\\n", "a\\n", "1\\\""];
    for pattern in [r"a?.", r"\d|a b", r"[^b]\w?", r#"a?["\n]|\d""#] {
        for bits in 0..32u32 {
            let is = |bit: u32| bits & 1 << bit != 0;
            let options = RegexOptions {
                is_any_case: is(0),
                dot_matches_newline: is(1),
                ignores_white_space: is(2),
                is_ascii: is(3),
                is_json_string: is(4),
            };
            let dfa = Dfa::new(&regex::parse_with(pattern, &options, &limits).unwrap(), &limits).unwrap();
            let grammar = compiler.compile_regex_with(pattern, &options, &CompileOptions::default()).unwrap();
            let again = compiler.compile_ebnf(&grammar.grammar().to_string()).unwrap();
            for text in texts {
                let is_match = |grammar: &CompiledGrammar| {
                    let mut matcher = grammar.matcher();
                    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
                };
                let expected = dfa.is_match(text.as_bytes());
                assert_eq!(
                    (is_match(&grammar), is_match(&again)),
                    (expected, expected),
                    "{pattern} {options:?} {text:?}"
                );
            }
        }
    }
}

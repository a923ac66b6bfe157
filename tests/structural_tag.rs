//! Structural tags: every format with texts that it matches and texts that it doesn't, errors with their pointers, masks against the oracle.

use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::structural_tag::{StructuralTag, TagError, TagOptions};
use maskwright::testing::Rng;
use maskwright::vocab::TokenKind;
use maskwright::{CompileError, CompiledGrammar, GrammarCompiler, Limits, TokenId, Vocab};
use std::sync::{Arc, LazyLock};

/// All bytes, tokens that cross the borders of tags, and control tokens, among them markers of tags.
static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend([
        "<t", "<t>", "<t>{", "</t>", "}</t>", "</t>x", "a<t", "{\"", "\":", "12", "{\"a\":", "a=", "b>", "<u>1</u>",
        "ab", "aab", "<think>",
    ]);
    for name in ["<|call|>", "<|end|>", "<t>", "t>"] {
        let id = builder.push(name);
        builder.set_kind(id, TokenKind::Control).set_name(id, name);
    }
    let stop = builder.push("<|stop|>");
    builder.stop_tokens([stop]);
    Arc::new(builder.build().unwrap())
});

fn envelope(format: &str) -> String {
    format!(r#"{{"type": "structural_tag", "format": {format}}}"#)
}

fn compile(format: &str) -> CompiledGrammar {
    let compiler = GrammarCompiler::new(Arc::clone(&VOCAB));
    compiler.compile_structural_tag(&envelope(format)).unwrap_or_else(|error| panic!("{format}: {error:#}"))
}

/// Tells whether a text is one of a grammar; control tokens are written as `⟨name⟩`, tokens that are to be read whole as `⟨#id⟩`.
fn is_match(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    let mut is_read = true;
    for (index, part) in text.split('⟨').enumerate() {
        let text = match part.split_once('⟩') {
            Some((name, text)) if index > 0 => {
                let token = match name.strip_prefix('#') {
                    Some(id) => id.parse().unwrap(),
                    None => grammar.vocab().ids_named(name)[0],
                };
                is_read &= matcher.accept_token(token).is_ok();
                text
            }
            _ => part,
        };
        is_read &= matcher.accept_bytes(text.as_bytes()).is_ok();
    }
    is_read && matcher.is_accepting()
}

const TOOL_A: &str = r#"{"type": "tag", "begin": "<t=a>", "content": {"type": "json_schema", "json_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}, "end": "</t>"}"#;
const TOOL_B: &str = r#"{"begin": "<t=b>", "content": {"type": "json_schema", "json_schema": {"enum": [true]}}, "end": ["</t>", "<|end|>"]}"#;

/// Formats, with texts that match and texts that don't.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (r#"{"type": "const_string", "value": "<t>é"}"#, &["<t>é", "⟨<t>⟩é", "<⟨t>⟩é"], &["", "<t>", "<t>éa"]),
    (r#"{"type": "token", "token": "ab"}"#, &["⟨#270⟩"], &["ab", "⟨#97⟩"]),
    (
        r#"{"type": "exclude_token", "exclude_tokens": ["<|call|>", 97]}"#,
        &["⟨#98⟩", "⟨<|end|>⟩", "⟨#270⟩", "⟨<t>⟩"],
        &["", "b", "⟨#97⟩", "⟨<|call|>⟩", "⟨#98⟩⟨#98⟩", "⟨<|stop|>⟩"],
    ),
    (
        r#"{"type": "any_tokens", "exclude_tokens": ["<|call|>"], "max_tokens": 2}"#,
        &["", "⟨#98⟩", "⟨#98⟩⟨#270⟩"],
        &["⟨<|call|>⟩", "⟨#98⟩⟨#98⟩⟨#98⟩", "b"],
    ),
    (r#"{"type": "any_tokens"}"#, &["", "⟨<|call|>⟩⟨#98⟩⟨#255⟩"], &["⟨<|stop|>⟩⟨#98⟩"]),
    (
        r#"{"type": "tag", "begin": "<think>", "content": {"type": "any_tokens"}, "end": {"type": "token", "token": "<|end|>"}}"#,
        &["<think>⟨<|end|>⟩", "<think>⟨#98⟩⟨<|end|>⟩"],
        &["<think>⟨<|end|>⟩⟨<|end|>⟩", "<think>", "<think>⟨#98⟩"],
    ),
    (
        r#"{"type": "token_triggered_tags", "trigger_tokens": ["<|call|>", "<|end|>"], "exclude_tokens": [97], "tags": [
            {"begin": {"type": "token", "token": "<|call|>"}, "content": {"type": "regex", "pattern": "[0-9]"}, "end": ";"}]}"#,
        &["", "⟨#98⟩", "⟨#98⟩⟨<|call|>⟩1;⟨#98⟩⟨<|call|>⟩2;", "⟨<|call|>⟩1;"],
        &["⟨#97⟩", "⟨<|end|>⟩", "⟨<|call|>⟩", "⟨<|call|>⟩a", "⟨<|call|>⟩1"],
    ),
    (
        r#"{"type": "token_triggered_tags", "trigger_tokens": ["<|call|>"], "at_least_one": true, "tags": [
            {"begin": {"type": "token", "token": "<|call|>"}, "content": {"type": "regex", "pattern": "[0-9]"}, "end": ";"}]}"#,
        &["⟨<|call|>⟩1;", "⟨<|call|>⟩1;⟨#98⟩⟨<|call|>⟩2;⟨#98⟩"],
        &["", "⟨#98⟩", "⟨#98⟩⟨<|call|>⟩1;"],
    ),
    (
        r#"{"type": "token_triggered_tags", "trigger_tokens": ["<|call|>"], "stop_after_first": true, "tags": [
            {"begin": {"type": "token", "token": "<|call|>"}, "content": {"type": "regex", "pattern": "[0-9]"}, "end": ";"}]}"#,
        &["", "⟨#98⟩", "⟨#98⟩⟨<|call|>⟩1;"],
        &["⟨<|call|>⟩1;⟨#98⟩", "⟨<|call|>⟩1;⟨<|call|>⟩1;"],
    ),
    (
        r#"{"type": "token_dispatch", "rules": [["<|call|>", {"type": "const_string", "value": "1"}], [97, {"type": "const_string", "value": "2"}]], "exclude_tokens": ["ab"]}"#,
        &["", "⟨#98⟩⟨<|call|>⟩1⟨#97⟩2⟨#98⟩", "⟨#97⟩2"],
        &["⟨#97⟩", "⟨#270⟩", "⟨<|call|>⟩2"],
    ),
    (
        r#"{"type": "token_dispatch", "loop": false, "rules": [["<|call|>", {"type": "const_string", "value": "1"}]]}"#,
        &["", "⟨#98⟩", "⟨#98⟩⟨<|call|>⟩1"],
        &["⟨<|call|>⟩1⟨#98⟩"],
    ),
    (r#"{"type": "json_schema", "json_schema": {"type": "integer"}}"#, &["12", "-3"], &["1.5", " 12", "12 ", ""]),
    (
        r#"{"type": "json_schema", "json_schema": {"properties": {"a": {"const": 1}}}, "style": "json", "any_order": false}"#,
        &["{\"a\": 1}", "{\"a\":\n1}"],
        &["{\"b\": 1}"],
    ),
    (r#"{"type": "json_schema", "json_schema": true, "max_whitespace_cnt": 1}"#, &["[ 1]", "[1,2]"], &["[  1]"]),
    (r#"{"type": "grammar", "grammar": "root ::= a \"<t>\"  a ::= [0-9]+"}"#, &["12<t>", "1⟨<t>⟩"], &["<t>", "12"]),
    (r#"{"type": "regex", "pattern": "a.b|<t>"}"#, &["axb", "a\nb", "⟨<t>⟩"], &["ab", "xaxb"]),
    (r#"{"type": "any_text"}"#, &["", "<t>é\n"], &["⟨<t>⟩"]),
    (r#"{"type": "any_text", "excludes": ["</t>", "aab"]}"#, &["", "</t", "aaa", "</</"], &["</t>", "xaab", "aaab"]),
    (r#"{"type": "any_text", "max_chars": 3}"#, &["", "éé1"], &["éé12"]),
    (r#"{"type": "any_text", "max_chars": 3, "excludes": ["b"]}"#, &["", "aéa"], &["b", "aaaa"]),
    (
        r#"{"type": "sequence", "elements": [{"type": "any_text"}, {"type": "const_string", "value": "X"}]}"#,
        &["X", "aXX"],
        &["", "aXa"],
    ),
    (
        r#"{"type": "or", "elements": [{"type": "const_string", "value": "a"}, {"type": "const_string", "value": "ab"}]}"#,
        &["a", "ab"],
        &["", "b", "aab"],
    ),
    (r#"{"type": "optional", "content": {"type": "const_string", "value": "a"}}"#, &["", "a"], &["aa"]),
    (r#"{"type": "star", "content": {"type": "const_string", "value": "ab"}}"#, &["", "abab"], &["a", "aba"]),
    (r#"{"type": "plus", "content": {"type": "const_string", "value": "ab"}}"#, &["ab", "abab"], &[""]),
    (
        r#"{"type": "repeat", "content": {"type": "const_string", "value": "a"}, "min": 2, "max": 3}"#,
        &["aa", "aaa"],
        &["a", "aaaa"],
    ),
    (
        r#"{"type": "repeat", "content": {"type": "const_string", "value": "a"}, "min": 2, "max": -1}"#,
        &["aa", "aaaaaaa"],
        &["a"],
    ),
    (
        r#"{"type": "tag", "begin": "<t>", "content": {"type": "any_text"}, "end": "</t>"}"#,
        &["<t></t>", "⟨<t>⟩a</</t>"],
        &["<t></t></t>", "<t>"],
    ),
    (
        r#"{"type": "tag", "begin": "<t>", "content": {"type": "sequence", "elements": [{"type": "regex", "pattern": "[0-9]"}, {"type": "any_text"}]}, "end": ["</t>", "<|end|>"]}"#,
        &["<t>1</t>", "<t>1a<|end|>", "<t>1⟨<|end|>⟩"],
        &["<t>1</t>a<|end|>", "<t>1<|end|></t>", "<t></t>"],
    ),
    (r#"{"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": ["x", ""]}"#, &["", "a", "ax"], &["axa"]),
    (
        r#"{"type": "tag", "begin": {"type": "token", "token": "<|call|>"}, "content": {"type": "const_string", "value": "a"}, "end": {"type": "token", "token": "<|end|>"}}"#,
        &["⟨<|call|>⟩a⟨<|end|>⟩"],
        &["<|call|>a<|end|>", "⟨<|call|>⟩a"],
    ),
    (r#"{"type": "token", "token": "<|call|>"}"#, &["⟨<|call|>⟩"], &["<|call|>", ""]),
    (
        r#"{"type": "triggered_tags", "triggers": ["<t="], "tags": [A, B]}"#,
        &["", "hi <t", "x<t=a>{\"n\": 1}</t>", "<t=b>true</t><t=b>true⟨<|end|>⟩ bye <"],
        &["<t=", "<t=c>", "<t=a>true</t>", "<t=b>true", "<t=b>true</t><t="],
    ),
    (
        r#"{"type": "triggered_tags", "triggers": ["<t="], "tags": [A, B], "at_least_one": true, "excludes": ["no"]}"#,
        &["<t=b>true</t>", "<t=b>true</t>n<t=b>true</t>"],
        &["", "x<t=b>true</t>", "<t=b>true</t>no"],
    ),
    (
        r#"{"type": "triggered_tags", "triggers": ["<t="], "tags": [A, B], "stop_after_first": true}"#,
        &["", "x", "x<t=b>true</t>"],
        &["<t=b>true</t>x", "x<t=b>true</t><t=b>true</t>"],
    ),
    (
        r#"{"type": "triggered_tags", "triggers": ["<t="], "tags": [B], "at_least_one": true, "stop_after_first": true}"#,
        &["<t=b>true</t>"],
        &["", "x<t=b>true</t>", "<t=b>true</t>x"],
    ),
    (
        r#"{"type": "triggered_tags", "triggers": ["<t=a", "<t=", "<u>"], "tags": [A, B]}"#,
        &["<t=b>true</t>", "<t=a>{\"n\": 1}</t>"],
        &["<u>", "<t=a"],
    ),
    (
        r#"{"type": "tags_with_separator", "tags": [B], "separator": ", "}"#,
        &["", "<t=b>true</t>", "<t=b>true</t>, <t=b>true</t>"],
        &["<t=b>true</t>,", "<t=b>true</t><t=b>true</t>", "x"],
    ),
    (
        r#"{"type": "tags_with_separator", "tags": [B], "separator": "", "at_least_one": true}"#,
        &["<t=b>true</t><t=b>true</t>"],
        &[""],
    ),
    (
        r#"{"type": "tags_with_separator", "tags": [B], "separator": ",", "stop_after_first": true}"#,
        &["", "<t=b>true</t>"],
        &["<t=b>true</t>,<t=b>true</t>"],
    ),
    (
        r#"{"type": "dispatch", "rules": [["<t>", {"type": "regex", "pattern": "[0-9]"}], ["aa", {"type": "const_string", "value": ""}]], "excludes": ["z"]}"#,
        &["", "x<t>1y<t>2", "⟨<t>⟩1", "aab", "aaa"],
        &["<t>x", "z", "<t>"],
    ),
    (
        r#"{"type": "dispatch", "rules": [["<t>", {"type": "regex", "pattern": "[0-9]"}]], "loop": false}"#,
        &["", "x", "x<t>1"],
        &["x<t>1x", "x<t>1<t>1"],
    ),
    (
        r#"{"type": "tag", "begin": "<o>", "content": {"type": "triggered_tags", "triggers": ["<t="], "tags": [B]}, "end": "</o>"}"#,
        &["<o>x<t=b>true</t>y</o>", "<o></o>"],
        &["<o></o></o>", "<o>x</o>y</o>"],
    ),
    (
        r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]}, "at": {"anyOf": [{"type": "string", "pattern": "^[0-9]+$"}, {"type": "null"}]}}, "required": ["city"]}}"#,
        &[
            "<parameter=city>Oslo</parameter>",
            "<parameter=city>\nsay \"hi\" <b>\n</parameter>\n<parameter=days>\n3\n</parameter>",
            "<parameter=city></parameter><parameter=unit>C</parameter>",
            "<parameter=city>a</parameter> <parameter=at>\n12\n</parameter>",
            "<parameter=city>a</parameter><parameter=at>null</parameter>",
        ],
        &[
            "",
            "<parameter=days>3</parameter>",
            "<parameter=days>3</parameter><parameter=city>a</parameter>",
            "<parameter=city>a</parameter><parameter=days>x</parameter>",
            "<parameter=city>a</parameter><parameter=unit>\"C\"</parameter>",
            "<parameter=city>a</parameter><parameter=unit>K</parameter>",
            "<parameter=city>a</parameter><parameter=at>x</parameter>",
            "\n<parameter=city>a</parameter>",
            "<parameter=city>a</parameter>\n",
            "<parameter=city>a</parameter><parameter=else>1</parameter>",
            "<parameter=city>a</parameter><parameter=city>a</parameter>",
        ],
    ),
    (
        r##"{"type": "qwen_xml_parameter", "json_schema": {"$ref": "#/$defs/p", "$defs": {"p": {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}}, "n": {"type": "array", "items": {"type": "string"}}}}}"##,
        &["", "<parameter=a>[\"x\", \"y\"]</parameter>"],
        &["<parameter=a>x</parameter>", "<parameter=a>[1]</parameter>"],
    ),
    (
        r#"{"type": "json_schema", "style": "minimax_xml", "json_schema": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 2}}, "additionalProperties": {"type": "integer"}}}"#,
        &[
            "",
            "<parameter name=\"a\">é1</parameter>",
            "<parameter name=\"b\">1</parameter>",
            "<parameter name=\"a\">x</parameter><parameter name=\"b\">1</parameter><parameter name=\"c\">2</parameter>",
        ],
        &[
            "<parameter name=\"a\">é12</parameter>",
            "<parameter name=\"b\">x</parameter>",
            "<parameter name=\"b\">1</parameter><parameter name=\"a\">x</parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "glm_xml", "json_schema": {"type": "object", "properties": {"a": {"type": ["string", "integer"]}}, "required": ["a"]}}"#,
        &["<arg_key>a</arg_key><arg_value>x</arg_value>", "<arg_key>a</arg_key><arg_value>12</arg_value>"],
        &["<arg_key>b</arg_key><arg_value>x</arg_value>", ""],
    ),
    (
        r#"{"type": "json_schema", "style": "deepseek_xml", "json_schema": {"type": "object", "properties": {"a": {"type": ["string", "boolean"]}}, "required": ["a"]}}"#,
        &[
            "<｜DSML｜parameter name=\"a\" string=\"true\">x</｜DSML｜parameter>",
            "<｜DSML｜parameter name=\"a\" string=\"false\">true</｜DSML｜parameter>",
        ],
        &[
            "<｜DSML｜parameter name=\"a\" string=\"false\">x</｜DSML｜parameter>",
            "<｜DSML｜parameter name=\"a\">x</｜DSML｜parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "deepseek_xml", "json_schema": {"type": "object", "properties": {"a": {"enum": ["x", 1]}}, "required": ["a"]}}"#,
        &[
            "<｜DSML｜parameter name=\"a\" string=\"true\">x</｜DSML｜parameter>",
            "<｜DSML｜parameter name=\"a\" string=\"false\"> 1\n</｜DSML｜parameter>",
        ],
        &[
            "<｜DSML｜parameter name=\"a\" string=\"true\"> x</｜DSML｜parameter>",
            "<｜DSML｜parameter name=\"a\" string=\"true\">x\n</｜DSML｜parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "deepseek_v4_1_xml", "json_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}"#,
        &["", "<｜DSML｜ parameter name=\"a\" string=\"false\">1</｜DSML｜ parameter>"],
        &["<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>"],
    ),
    (
        r#"{"type": "json_schema", "style": "kimi_k3_xml", "json_schema": {"type": "object", "properties": {"a\"b": {"type": ["string", "integer", "null"]}}}}"#,
        &[
            "<|open|>argument key=\"a&quot;b\" type=\"string\"<|sep|>n<|close|>argument<|sep|>",
            "<|open|>argument key=\"a&quot;b\" type=\"number\"<|sep|>3<|close|>argument<|sep|>",
        ],
        &[
            "<|open|>argument key=\"a&quot;b\" type=\"number\"<|sep|>n<|close|>argument<|sep|>",
            "<|open|>argument key=\"a&quot;b\" type=\"boolean\"<|sep|>true<|close|>argument<|sep|>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": true}"#,
        &["", "<parameter=x>1</parameter>", "<parameter=x>a</parameter>\n<parameter=y></parameter>"],
        &["<parameter=>1</parameter>", "x"],
    ),
];

fn with_tools(format: &str) -> String {
    format.replace("[A, B]", &format!("[{TOOL_A}, {TOOL_B}]")).replace("[B]", &format!("[{TOOL_B}]"))
}

#[test]
fn formats_match_what_they_say() {
    for (format, matches, others) in CASES {
        let grammar = compile(&with_tools(format));
        for text in *matches {
            assert!(is_match(&grammar, text), "{format} should match {text:?}");
        }
        for text in *others {
            assert!(!is_match(&grammar, text), "{format} should not match {text:?}");
        }
    }
}

#[test]
fn masks_agree_with_the_oracle() {
    let seed = std::env::var("MASKWRIGHT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(5);
    println!("MASKWRIGHT_SEED={seed}");
    let mut rng = Rng::new(seed);
    for (format, ..) in CASES {
        let grammar = compile(&with_tools(format));
        // The recognizer would need one rule for each state of the automaton of all JSON.
        if format.contains("\"json_schema\": true") && !format.contains("style") {
            continue;
        }
        let recognizer = Recognizer::new(grammar.expanded_grammar(), &Limits::default()).unwrap();
        for _ in 0..4 {
            let mut oracle = OracleMatcher::new(&recognizer, Arc::clone(&VOCAB));
            let mut matcher = grammar.matcher();
            for _ in 0..12 {
                let wanted = oracle.mask();
                let mask = matcher.mask().unwrap();
                assert_eq!(mask.as_words(), wanted, "{format} {:?}", matcher.accepted());
                assert_eq!(matcher.jump_forward(), oracle.forced_text(1 << 10), "{format} {:?}", matcher.accepted());
                let allowed: Vec<TokenId> = mask.iter().collect();
                // Of tokens of one byte there are many, and few lead into a tag.
                let long: Vec<TokenId> = allowed.iter().copied().filter(|&token| token > 255).collect();
                let forced = matcher.jump_forward();
                if !forced.is_empty() && rng.chance(50) {
                    assert!(oracle.accept_bytes(&forced));
                    matcher.accept_bytes(&forced).unwrap();
                    continue;
                }
                let choice = if long.is_empty() || rng.chance(50) { allowed } else { long };
                let token = *rng.pick(&choice);
                assert!(oracle.accept_token(token));
                matcher.accept_token(token).unwrap();
                if matcher.is_terminated() {
                    break;
                }
            }
        }
    }
}

#[test]
fn the_older_form_is_triggered_tags() {
    let text =
        r#"{"structures": [{"begin": "<t=a>", "schema": {"type": "integer"}, "end": "</t>"}], "triggers": ["<t="]}"#;
    let grammar = GrammarCompiler::new(Arc::clone(&VOCAB)).compile_structural_tag(text).unwrap();
    assert!(is_match(&grammar, "a <t=a>1</t> b") && is_match(&grammar, "") && !is_match(&grammar, "<t=a>x</t>"));
}

fn error(text: &str) -> TagError {
    match GrammarCompiler::new(Arc::clone(&VOCAB)).compile_structural_tag(text) {
        Err(CompileError::Tag(error)) => error,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn errors_have_a_pointer() {
    let malformed = [
        (r#"{"type": "any_text", "excludes": [1]}"#, "#/format/excludes/0: an item of the list is a string"),
        (r#"{"type": "anytext"}"#, "#/format/type: there is no format `anytext`"),
        (r#"{"kind": "any_text"}"#, "#/format: a `format` has a field `type`"),
        (r#"[]"#, "#/format: a format is an object"),
        (r#"{"type": "sequence", "elements": []}"#, "#/format/elements: `sequence` has at least one element"),
        (
            r#"{"type": "repeat", "content": {"type": "any_text"}, "min": 3, "max": 2}"#,
            "#/format: `max` 2 is less than `min` 3",
        ),
        (
            r#"{"type": "repeat", "content": {"type": "any_text"}, "min": -2}"#,
            "#/format/min: `min` is a number below 4294967296, and not negative",
        ),
        (
            r#"{"type": "tag", "begin": 1, "content": {"type": "any_text"}, "end": ""}"#,
            "#/format/begin: the begin of a tag is a text or a token",
        ),
        (
            r#"{"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": []}"#,
            "#/format/end: a tag has at least one end",
        ),
        (
            r#"{"type": "triggered_tags", "triggers": ["<x"], "tags": [{"begin": "<t>", "content": {"type": "any_text"}, "end": "e"}]}"#,
            "#/format/triggers: no trigger begins the tag that begins with \"<t>\"",
        ),
        (r#"{"type": "dispatch", "rules": [["a"]]}"#, "#/format/rules/0: a rule is a list of a pattern and a format"),
        (
            r#"{"type": "json_schema", "json_schema": 1}"#,
            "#/format/json_schema: a schema is an object, `true` or `false`",
        ),
    ];
    for (format, message) in malformed {
        assert_eq!(error(&envelope(format)).to_string(), message, "{format}");
    }
    assert_eq!(error("{\"format\": ").pointer(), "");
    assert_eq!(error(r#"{"type": "tag"}"#).to_string(), "#/type: the type of a structural tag is `structural_tag`");
    let syntax = error(&envelope(r#"{"type": "star", "content": {"type": "grammar", "grammar": "root ::= a"}}"#));
    assert_eq!(syntax.pointer(), "/format/content/grammar");
    assert!(syntax.as_syntax().is_some() && syntax.to_string().contains("rule `a`"), "{syntax}");
    let syntax = error(&envelope(r#"{"type": "regex", "pattern": "("}"#));
    assert!(syntax.pointer() == "/format/pattern" && syntax.as_syntax().is_some());
    let schema = error(&envelope(
        r#"{"type": "or", "elements": [{"type": "any_text"}, {"type": "json_schema", "json_schema": {"minimum": "1"}}]}"#,
    ));
    assert_eq!(schema.pointer(), "/format/elements/1/json_schema");
    assert_eq!(schema.as_schema().unwrap().keyword(), Some("minimum"));
    let parameter = error(&envelope(
        r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {"a": {"enum": 1}}}}"#,
    ));
    assert_eq!(parameter.pointer(), "/format/json_schema/properties/a");
    for unsupported in [
        r#"{"type": "json_schema", "json_schema": {}, "any_order": true}"#,
        r#"{"type": "json_schema", "json_schema": {}, "style": "cohere_xml"}"#,
        r#"{"type": "json_schema", "json_schema": {"minProperties": 1}, "style": "qwen_xml"}"#,
        r#"{"type": "json_schema", "json_schema": {"properties": {"a": true}, "required": ["b"]}, "style": "qwen_xml"}"#,
    ] {
        assert!(error(&envelope(unsupported)).is_unsupported(), "{unsupported}");
    }
}

#[test]
fn depth_is_bounded_and_deep_documents_are_read() {
    let nested = |depth: usize| {
        let open = r#"{"type": "sequence", "elements": ["#.repeat(depth - 1);
        envelope(&format!("{open}{}{}", r#"{"type": "const_string", "value": "a"}"#, "]}".repeat(depth - 1)))
    };
    assert!(StructuralTag::parse(&nested(100), &TagOptions::default(), &Limits::default()).is_ok());
    let error = StructuralTag::parse(&nested(101), &TagOptions::default(), &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("deeper than 100"), "{error}");
    let tower = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(StructuralTag::parse(&envelope(&tower), &TagOptions::default(), &Limits::default()).is_err());
}

#[test]
fn options_reach_the_schemas() {
    let mut options = TagOptions::default();
    options.schema.has_additional_properties = true;
    let text = envelope(r#"{"type": "json_schema", "json_schema": {"type": "object", "properties": {"b": true}}}"#);
    let compiler = GrammarCompiler::new(Arc::clone(&VOCAB));
    let open = compiler.compile_structural_tag_with(&text, &options, &Default::default()).unwrap();
    let closed = compiler.compile_structural_tag(&text).unwrap();
    assert!(is_match(&open, "{\"a\": 1}") && !is_match(&closed, "{\"a\": 1}") && is_match(&closed, "{}"));
}

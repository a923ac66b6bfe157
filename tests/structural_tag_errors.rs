//! Errors and warnings of structural tags: their pointers, places and hints, and the depth of documents.

use maskwright::structural_tag::{StructuralTag, TagError, TagOptions};
use maskwright::vocab::TokenKind;
use maskwright::{CompileError, GrammarCompiler, Limits, Vocab};
use std::sync::{Arc, LazyLock};

/// All bytes, another token of text, and some control tokens.
static VOCAB: LazyLock<Arc<Vocab>> = LazyLock::new(|| {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.push("ab");
    for name in ["<|call|>", "<|end|>"] {
        let id = builder.push(name);
        builder.set_kind(id, TokenKind::Control).set_name(id, name);
    }
    Arc::new(builder.build().unwrap())
});

fn envelope(format: &str) -> String {
    format!(r#"{{"type": "structural_tag", "format": {format}}}"#)
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
        (r#"{"type": "anytext"}"#, "#/format/type: there is no format `anytext` (did you mean `any_text`?)"),
        (r#"{"kind": "any_text"}"#, "#/format: a `format` needs a field `type`"),
        (
            r#"{"type": "triggered_tags", "trigers": ["<"], "tags": [{"begin": "<t>", "content": {"type": "any_text"}, "end": "e"}]}"#,
            "#/format: a `triggered_tags` needs a field `triggers` (is `trigers` meant to be it?)",
        ),
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
            r#"{"type": "repeat", "content": {"type": "any_text"}, "max": -2}"#,
            "#/format/max: `max` is a number below 4294967296, or -1 where there is none",
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
        (
            r#"{"type": "tags_with_separator", "separator": "", "tags": [{"type": "any_text", "begin": "", "content": {"type": "any_text"}, "end": "e"}]}"#,
            "#/format/tags/0/type: an item of the tags of `tags_with_separator` has the type `tag`",
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
    let style = error(&envelope(r#"{"type": "json_schema", "json_schema": {}, "style": "qwen_xlm"}"#));
    assert!(style.to_string().ends_with("the style `qwen_xlm` is not supported: is `qwen_xml` meant?"), "{style}");
    let syntax = error(&envelope(r#"{"type": "regex", "pattern": "("}"#));
    assert!(syntax.pointer() == "/format/pattern" && syntax.as_syntax().is_some());
    let schema = error(&envelope(
        r#"{"type": "or", "elements": [{"type": "any_text"}, {"type": "json_schema", "json_schema": {"minimum": "1"}}]}"#,
    ));
    assert_eq!(schema.pointer(), "/format/elements/1/json_schema");
    assert_eq!(schema.as_schema().unwrap().keyword(), Some("minimum"));
    let in_grammar = error(&envelope(
        r#"{"type": "sequence", "elements": [{"type": "any_text"}, {"type": "grammar", "grammar": "root ::= \"a\" %json {\"type\": \"strin\"}"}]}"#,
    ));
    assert_eq!(in_grammar.pointer(), "/format/elements/1/grammar");
    assert!(in_grammar.to_string().contains("in a schema of the grammar: `type` at #/type"), "{in_grammar}");
    let parameter = error(&envelope(
        r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {"a": {"enum": 1}}}}"#,
    ));
    assert_eq!(parameter.pointer(), "/format/json_schema/properties/a");
    for unsupported in [
        r#"{"type": "json_schema", "json_schema": {}, "style": "minimax_m3_xml"}"#,
        r##"{"type": "json_schema", "json_schema": {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n", "minimum": 1}}}, "style": "cohere_xml"}"##,
        r#"{"type": "json_schema", "json_schema": {"properties": {"a": {"type": "object", "minProperties": 1}}}, "style": "cohere_xml"}"#,
        r#"{"type": "json_schema", "json_schema": {"properties": {"a": {"oneOf": [{"type": "object"}, {"type": ["array", "object"]}]}}}, "style": "cohere_xml"}"#,
        r#"{"type": "json_schema", "json_schema": {"properties": {"a": {"oneOf": [{"type": "object"}, {"type": "null"}, {"type": ["array", "object"]}]}}}, "style": "cohere_xml"}"#,
        r#"{"type": "json_schema", "json_schema": {"properties": {"a": {"const": {}}}}, "style": "cohere_xml"}"#,
        r#"{"type": "json_schema", "json_schema": {"properties": {"a>b": {"type": "null"}}}, "style": "minimax_m3_xml"}"#,
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
    assert_eq!(error.limit_met(), Some((101, 100)), "{error}");
    let tower = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(StructuralTag::parse(&envelope(&tower), &TagOptions::default(), &Limits::default()).is_err());
}

#[test]
fn grammars_warn_with_their_pointer() {
    let text = envelope(
        r#"{"type": "or", "elements": [{"type": "any_text"}, {"type": "tag", "begin": "<", "end": ">", "content":
            {"type": "grammar", "grammar": "root ::= \"a\"\nspare ::= root\nroot2[temperature=1] ::= \"b\""}}]}"#,
    );
    let grammar = GrammarCompiler::new(Arc::clone(&VOCAB)).compile_structural_tag(&text).unwrap();
    let warnings: Vec<String> = grammar.warnings().iter().map(ToString::to_string).collect();
    let pointer = "/format/elements/1/content/grammar";
    assert!(warnings.contains(&format!("#{pointer}: rule `spare` is never used")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("`temperature=1`")), "{warnings:?}");
    for warning in grammar.warnings() {
        assert_eq!(warning.pointer(), Some(pointer));
        let span = warning.span().unwrap();
        assert!(text[span.start as usize..span.end as usize].starts_with("\"root ::="));
    }
    let tag = StructuralTag::parse(&text, &TagOptions::default(), &Limits::default()).unwrap();
    assert_eq!(tag.warnings(), grammar.warnings());
}

#[test]
fn unknown_fields_are_warnings() {
    for (format, field, known) in [
        (r#"{"type": "any_text", "exclude": ["a"]}"#, "/format/exclude", "excludes"),
        (r#"{"type": "json_schema", "json_schema": {"styl": 1}, "styl": "qwen_xml"}"#, "/format/styl", "style"),
        (
            r#"{"type": "star", "content": {"type": "regex", "pattern": "a", "patern": 1}}"#,
            "/format/content/patern",
            "pattern",
        ),
        (
            r#"{"type": "triggered_tags", "triggers": ["<"], "stop_after_frist": true, "tags": [{"begin": "<", "content": {"type": "any_text"}, "end": ">"}]}"#,
            "/format/stop_after_frist",
            "stop_after_first",
        ),
        (
            r#"{"type": "tags_with_separator", "separator": ",", "tags": [{"begin": "<", "content": {"type": "any_text"}, "end": ">", "ends": [">", "<"]}]}"#,
            "/format/tags/0/ends",
            "end",
        ),
        (
            r#"{"type": "tag", "begin": {"type": "token", "token": 1, "tokn": 2}, "content": {"type": "any_text"}, "end": ">"}"#,
            "/format/begin/tokn",
            "token",
        ),
    ] {
        let text = envelope(format);
        let tag = StructuralTag::parse(&text, &TagOptions::default(), &Limits::default()).unwrap();
        let [warning] = tag.warnings() else { panic!("{format}: {:?}", tag.warnings()) };
        assert_eq!(warning.pointer(), Some(field), "{format}");
        let message = warning.to_string();
        assert!(message.ends_with(&format!("which is ignored; did you mean `{known}`?")), "{message}");
        let span = warning.span().unwrap();
        let name = field.rsplit_once('/').unwrap().1;
        assert_eq!(text[span.start as usize..span.end as usize], format!("\"{name}\""));
    }
    let odd = r#"{"type": "structural_tag", "triger": 1, "format": {"type": "any_text", "comment": "why"}}"#;
    let tag = StructuralTag::parse(odd, &TagOptions::default(), &Limits::default()).unwrap();
    let messages: Vec<String> = tag.warnings().iter().map(ToString::to_string).collect();
    let expected = [
        "#/triger: the envelope of a structural tag has no field `triger`, which is ignored",
        "#/format/comment: the format `any_text` has no field `comment`, which is ignored",
    ];
    assert_eq!(messages, expected);
    let older = r#"{"structures": [{"begin": "<a>", "schema": {}, "end": "</a>", "stop": 1}], "triggers": ["<a"], "at_least_on": true}"#;
    let tag = StructuralTag::parse(older, &TagOptions::default(), &Limits::default()).unwrap();
    let pointers: Vec<&str> = tag.warnings().iter().filter_map(|warning| warning.pointer()).collect();
    assert_eq!(pointers, ["/at_least_on", "/structures/0/stop"]);
    let older = older.replace(", \"stop\": 1", "").replace("at_least_on\"", "at_least_one\"");
    let tag = StructuralTag::parse(&older, &TagOptions::default(), &Limits::default()).unwrap();
    assert_eq!(tag.warnings(), []);
    let idle = older.replace(r#"["<a"]"#, r#"["<a", "b"]"#);
    let tag = StructuralTag::parse(&idle, &TagOptions::default(), &Limits::default()).unwrap();
    let messages: Vec<String> = tag.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(messages, ["#/triggers/1: no tag begins with the trigger \"b\": text that contains it can't go on"]);
    // Very many are told in part.
    let many = (0..5000).map(|n| format!(r#", "a{n}": 1"#)).collect::<String>();
    let text = envelope(&format!(r#"{{"type": "any_text"{many}}}"#));
    let tag = StructuralTag::parse(&text, &TagOptions::default(), &Limits::default()).unwrap();
    assert_eq!(tag.warnings().len(), 1024);
}

#[test]
fn schemas_warn_with_their_pointer() {
    let schema = r##"{"type": "object", "properties": {"a": {"type": "string", "maxLenght": 1}, "b": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"minimun": 1}}}"##;
    let plain = format!(r#"{{"type": "json_schema", "json_schema": {schema}}}"#);
    for style in ["json", "qwen_xml", "glm_xml"] {
        let styled = format!(r#"{{"type": "json_schema", "json_schema": {schema}, "style": "{style}"}}"#);
        let text = envelope(&format!(r#"{{"type": "or", "elements": [{styled}, {plain}]}}"#));
        let grammar = GrammarCompiler::new(Arc::clone(&VOCAB)).compile_structural_tag(&text);
        let grammar = grammar.unwrap_or_else(|error| panic!("{style}: {error:#}"));
        let mut found: Vec<(&str, String)> = Vec::new();
        for warning in grammar.warnings() {
            let span = warning.span().expect("a place");
            let pointer = warning.pointer().unwrap_or_else(|| panic!("{style}: {warning}"));
            found.push((pointer, text[span.start as usize..span.end as usize].into()));
            assert!(warning.to_string().starts_with(&format!("#{pointer}: unknown keyword")), "{warning}");
            assert!(warning.to_string().contains("did you mean"), "{warning}");
        }
        for place in ["/properties/a/maxLenght", "/$defs/b/minimun"] {
            for element in 0..2 {
                let pointer = format!("/format/elements/{element}/json_schema{place}");
                let n_found = found.iter().filter(|(known, span)| *known == pointer && span == "1").count();
                assert_eq!(n_found, 1, "{style}: {pointer} in {found:?}");
            }
        }
    }
    // In EBNF there is no pointer, and the place is that in the text.
    let source = "root ::= \"a\"\n  %json {\"minimun\": 7}";
    let grammar = GrammarCompiler::new(Arc::clone(&VOCAB)).compile_ebnf(source).unwrap();
    let [warning] = grammar.warnings() else { panic!("{:?}", grammar.warnings()) };
    let span = warning.span().unwrap();
    assert_eq!((warning.pointer(), &source[span.start as usize..span.end as usize]), (None, "\"minimun\""));
}

#[test]
fn errors_have_a_line_and_a_column() {
    let text = |format: &str| format!("{{\"type\": \"structural_tag\",\n \"format\":\n  {format}}}");
    for (format, pointer, place) in [
        (r#"{"type": "const_string", "value": 1}"#, "/format/value", "1}}"),
        (
            r#"{"type": "repeat", "content": {"type": "any_text"}, "min": 3, "max": 2}"#,
            "/format",
            "{\"type\": \"repeat",
        ),
        (r#"{"type": "regex", "pattern": "\n\u00e9[b-a]"}"#, "/format/pattern", "b-a]"),
        (r#"{"type": "grammar", "grammar": "root ::= \"a\" | nobody"}"#, "/format/grammar", "nobody"),
        (r#"{"type": "json_schema", "json_schema": {"minimum": "x"}}"#, "/format/json_schema/minimum", "\"x\""),
        (
            r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {"a": {"enum": 1}}}}"#,
            "/format/json_schema/properties/a/enum",
            "1}}",
        ),
        (
            r##"{"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {"a": {"items": {"$ref": "#/$defs/b"}}}, "$defs": {"b": {"enum": 3}}}}"##,
            "/format/json_schema/$defs/b/enum",
            "3}}",
        ),
        (r#"{"type": "json_schema", "json_schema": {}, "style": "qwen_xlm"}"#, "/format/style", "\"qwen_xlm\""),
        (
            r#"{"type": "json_schema", "style": "qwen_xml", "max_whitespace_cnt": 0, "json_schema": {}}"#,
            "/format/max_whitespace_cnt",
            "0, ",
        ),
        (
            r#"{"type": "star", "content": {"type": "token", "token": "<|nobody|>"}}"#,
            "/format/content/token",
            "\"<|nobody|>\"",
        ),
    ] {
        let text = text(format);
        let facts = CompileError::from(error(&text)).facts(&text);
        assert_eq!(facts.pointer.as_deref(), Some(pointer), "{format}");
        let span = facts.span.unwrap_or_else(|| panic!("{format}: no span"));
        assert!(text[span.start as usize..].starts_with(place), "{format}: {}", &text[span.start as usize..]);
        let line = text.lines().nth(2).unwrap();
        assert_eq!(facts.line_column, Some((3, line[..line.rfind(place).unwrap()].chars().count() + 1)), "{format}");
    }
    let value = text(r#"{"type": "const_string", "value": 1}"#);
    let shown = "#/format/value: the field `value` is a string\n 3 |   {\"type\": \"const_string\", \"value\": 1}}\n   |                                     ^";
    assert_eq!(format!("{:#}", error(&value)), shown);
}

#[test]
fn what_cannot_be_built_has_a_pointer() {
    for (format, message) in [
        (
            r#"{"type": "star", "content": {"type": "token", "token": "<|nobody|>"}}"#,
            "#/format/content/token: the vocabulary has no token named `<|nobody|>`",
        ),
        (
            r#"{"type": "or", "elements": [{"type": "any_text"}, {"type": "exclude_token", "exclude_tokens": [99999]}]}"#,
            "#/format/elements/1/exclude_tokens/0: token id 99999 is not in the vocabulary",
        ),
        (
            r#"{"type": "or", "elements": [{"type": "token_dispatch", "rules": [["ab", {"type": "token", "token": 70000}]]}]}"#,
            "#/format/elements/0/rules/0/1/token: token id 70000",
        ),
        (
            r#"{"type": "token_dispatch", "rules": [["ab", {"type": "const_string", "value": "<|nobody|>"}], ["<|nobody|>", {"type": "any_text"}]]}"#,
            "#/format/rules/1/0: the vocabulary has no token named `<|nobody|>`",
        ),
        (
            r#"{"type": "tag", "begin": "<|nobody|>", "content": {"type": "any_text"}, "end": {"type": "token", "token": "<|nobody|>"}}"#,
            "#/format/end/token: the vocabulary has no token named `<|nobody|>`",
        ),
        (
            r#"{"type": "token_triggered_tags", "trigger_tokens": ["ab", "<|nobody|>"], "tags": [{"begin": {"type": "token", "token": "ab"}, "content": {"type": "any_text"}, "end": "c"}]}"#,
            "#/format/trigger_tokens/1: ",
        ),
        (r#"{"type": "regex", "pattern": "[^\\x{0}-\\x{10FFFF}]"}"#, "#/format: rule `root` matches nothing at all"),
    ] {
        let error = error(&envelope(format));
        assert!(error.to_string().starts_with(message), "{format}: {error}");
        assert!(error.as_build().is_some() && !error.is_unsupported(), "{format}");
        let facts = CompileError::from(error.clone()).facts(&envelope(format));
        assert_eq!(facts.pointer.as_deref(), Some(error.pointer()), "{format}");
    }
}

//! Structural tags: every format with texts that it matches and texts that it doesn't, errors with their pointers, masks against the oracle.

use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::structural_tag::TagOptions;
use maskwright::testing::{Rng, rounds};
use maskwright::vocab::TokenKind;
use maskwright::{CompiledGrammar, GrammarCompiler, Limits, TokenId, Vocab};
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
        r#"{"type": "tag", "begin": "<t>", "content": {"type": "exclude_token", "exclude_tokens": [97]}, "end": {"type": "token", "token": "<|end|>"}}"#,
        &["<t>⟨#98⟩⟨<|end|>⟩", "⟨<t>⟩⟨<|call|>⟩⟨<|end|>⟩"],
        &["<t>⟨<|end|>⟩⟨<|end|>⟩", "<t>⟨#97⟩⟨<|end|>⟩", "<t>⟨<|end|>⟩"],
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
    (
        r#"{"type": "json_schema", "style": "glm_xml", "max_whitespace_cnt": 2, "json_schema": {"properties": {"a": {"type": "integer"}, "b": {"type": "null"}}, "required": ["a"]}}"#,
        &[
            "<arg_key>a</arg_key>\n\n<arg_value>  1\n</arg_value>",
            "<arg_key>a</arg_key><arg_value>1</arg_value>\n\n<arg_key>b</arg_key><arg_value>null</arg_value>",
        ],
        &[
            "<arg_key>a</arg_key>   <arg_value>1</arg_value>",
            "<arg_key>a</arg_key><arg_value>   1</arg_value>",
            "<arg_key>a</arg_key><arg_value>1   </arg_value>",
            "<arg_key>a</arg_key><arg_value>1</arg_value>   <arg_key>b</arg_key><arg_value>null</arg_value>",
        ],
    ),
    (
        r#"{"type": "sequence", "elements": [{"type": "json_schema", "style": "qwen_xml", "max_whitespace_cnt": 1, "json_schema": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}, {"type": "json_schema", "style": "qwen_xml", "max_whitespace_cnt": 2, "json_schema": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}}]}"#,
        &["<parameter=a> 1 </parameter><parameter=a>  2  </parameter>"],
        &[
            "<parameter=a>  1</parameter><parameter=a>2</parameter>",
            "<parameter=a>1  </parameter><parameter=a>2</parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "minimax_m3_xml", "max_whitespace_cnt": 1, "json_schema": {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"], "additionalProperties": false}}"#,
        &["]<]minimax[>[<a>1]<]minimax[>[</a>\n]<]minimax[>[<b>2]<]minimax[>[</b>"],
        &["]<]minimax[>[<a>1]<]minimax[>[</a>\n\n]<]minimax[>[<b>2]<]minimax[>[</b>"],
    ),
    (r#"{"type": "grammar", "grammar": "root ::= a \"<t>\"  a ::= [0-9]+"}"#, &["12<t>", "1⟨<t>⟩"], &["<t>", "12"]),
    (r#"{"type": "regex", "pattern": "a.b|<t>"}"#, &["axb", "a\nb", "⟨<t>⟩"], &["ab", "xaxb"]),
    (r#"{"type": "regex", "pattern": "[<]t>\\d\\w"}"#, &["<t>1a"], &["⟨<t>⟩1a", "<t>٣a", "<t>1é"]),
    (r#"{"type": "any_text"}"#, &["", "<t>é\n"], &["⟨<t>⟩"]),
    (r#"{"type": "any_text", "excludes": ["</t>", "aab"]}"#, &["", "</t", "aaa", "</</"], &["</t>", "xaab", "aaab"]),
    (r#"{"type": "any_text", "max_chars": 3}"#, &["", "éé1"], &["éé12"]),
    // The product of so long a text with so many characters is large enough for a register.
    (
        r#"{"type": "sequence", "elements": [{"type": "any_text", "max_chars": 6, "excludes": ["LONG", "ab"]}, {"type": "const_string", "value": "é"}]}"#,
        &["é", "éééé12é", "éé"],
        &["", "éééé123é", "abé", "ééééééa"],
    ),
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
        r#"{"type": "dispatch", "rules": [["aab", {"type": "const_string", "value": "1"}], ["b", {"type": "const_string", "value": "2"}], ["aa", {"type": "const_string", "value": "3"}]], "loop": false}"#,
        &["aab1", "b2", "ab2", "aa3", "a", "xaab1"],
        &["aab2", "aa", "aaa3", "aab", "b1"],
    ),
    (
        r#"{"type": "tag", "begin": "<think>", "content": {"type": "any_text", "max_chars": 20000}, "end": "</think>"}"#,
        &["<think></think>", "<think>é</</think>"],
        &["<think></think></think>", "<think>"],
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
        r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}}, "required": ["b"]}}"#,
        &["<parameter=b></parameter>", "<parameter=a>1</parameter><parameter=b></parameter>"],
        &["", "<parameter=a>1</parameter>", "<parameter=c>null</parameter>"],
    ),
    (
        r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": true}"#,
        &["", "<parameter=x>1</parameter>", "<parameter=x>a</parameter>\n<parameter=y></parameter>"],
        &["<parameter=>1</parameter>", "x"],
    ),
    (
        r#"{"type": "json_schema", "excludes": ["</t>", "12"], "json_schema": {"properties": {"a": {"type": "string"}, "</t>": {"type": "string"}, "n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "string", "maxLength": 3}}, "e": {"enum": ["12", "21"]}}}}"#,
        &["{\"a\": \"</t\"}", "{\"n\": 12}", "{\"a\": \"<\\\"/t>\", \"l\": [\"1\", \"231\"], \"e\": \"21\"}"],
        &[
            "{\"a\": \"</t>\"}",
            "{\"a\": \"<\\/t>\"}",
            "{\"</t>\": \"\"}",
            "{\"l\": [\"312\"]}",
            "{\"l\": [\"3111\"]}",
            "{\"e\": \"12\"}",
        ],
    ),
    (
        r#"{"type": "json_schema", "excludes": ["}"], "json_schema": {"additionalProperties": {"additionalProperties": {"type": "string"}}}}"#,
        &["{}", "{\"x\": {\"y\": \"z\"}}"],
        &["{\"x}\": 1}", "{\"x\": {\"y\": \"}\"}}"],
    ),
    (
        r#"{"type": "json_schema", "excludes": ["<x", "ab"], "style": "qwen_xml", "json_schema": {"properties": {"a": {"type": "string"}, "p": {"type": "string", "pattern": "^a?b*$"}, "o": {"type": "object", "additionalProperties": true}}, "additionalProperties": true}}"#,
        &[
            "<parameter=a>a b< x</parameter>",
            "<parameter=p>bb</parameter>",
            "<parameter=o>{\"a\": \"b\"}</parameter><parameter=ba></parameter>",
        ],
        &[
            "<parameter=a>ab</parameter>",
            "<parameter=a><x</parameter>",
            "<parameter=p>ab</parameter>",
            "<parameter=o>{\"ab\": 1}</parameter>",
            "<parameter=o>{\"a\": [\"<x\"]}</parameter>",
            "<parameter=ab></parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "excludes": ["q"], "style": "cohere_xml", "json_schema": {"properties": {"a": true, "b": {"const": "pq"}}}}"#,
        &["", "<cofl:value name=\"a\" type=\"raw\">p</cofl:value>"],
        &[
            "<cofl:value name=\"a\" type=\"raw\">pq</cofl:value>",
            "<cofl:value name=\"b\" type=\"raw\">pq</cofl:value>",
            "<cofl:value name=\"a\" type=\"dict\"><cofl:value name=\"q\" type=\"raw\"></cofl:value></cofl:value>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {"a": {"type": "string", "maxLength": 90}, "b": {"type": "string", "pattern": "^[^x]*$", "minLength": 2, "maxLength": 80}, "c": {"type": "string", "minLength": 70}}}}"#,
        &[
            "<parameter=a></parameter>",
            "<parameter=a>é<</parameter>",
            "<parameter=a>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</parameter>",
            "<parameter=b>ab</parameter>",
            "<parameter=c>éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé</parameter>",
        ],
        &[
            "<parameter=a>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</parameter>",
            "<parameter=b>a</parameter>",
            "<parameter=b>ax</parameter>",
            "<parameter=c>ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé</parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "any_order": true, "max_whitespace_cnt": 0, "json_schema": {"properties": {"a": {"type": "integer"}, "b": {"properties": {"c": {}, "d": {}}, "required": ["c", "d"]}}, "required": ["a"]}}"#,
        &["{\"a\":1}", "{\"b\":{\"d\":1,\"c\":2},\"a\":1}", "{\"a\":1,\"b\":{\"c\":2,\"d\":1}}"],
        &["{\"b\":{\"d\":1,\"c\":2}}", "{\"a\":1,\"b\":{\"c\":2}}", "{\"a\":1,\"a\":1}", "{\"a\":1,\"c\":1}"],
    ),
    (
        r#"{"type": "json_schema", "any_order": true, "style": "qwen_xml", "json_schema": {"properties": {"a": {"type": "integer"}, "ab": {"type": "string"}, "b": {"const": {"x": 1, "y": 2}}}, "required": ["ab"]}}"#,
        &[
            "<parameter=ab></parameter>",
            "<parameter=b>{\"y\": 2, \"x\": 1}</parameter>\n<parameter=ab>t</parameter><parameter=a>1</parameter>",
        ],
        &[
            "",
            "<parameter=a>1</parameter>",
            "<parameter=ab></parameter><parameter=ab></parameter>",
            "<parameter=ab></parameter><parameter=c></parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "any_order": true, "style": "minimax_xml", "json_schema": {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"}}}"#,
        &[
            "",
            "<parameter name=\"a\">1</parameter>",
            "<parameter name=\"x\">null</parameter><parameter name=\"a\">1</parameter><parameter name=\"y\">null</parameter>",
        ],
        &[
            "<parameter name=\"x\">1</parameter>",
            "<parameter name=\"a\">1</parameter><parameter name=\"a\">1</parameter>",
        ],
    ),
    (
        r##"{"type": "json_schema", "style": "cohere_xml", "json_schema": {"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}}}},
            "properties": {"a<\"b": {"enum": ["x", 1]}, "l": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2}, "n": {"$ref": "#/$defs/node"}, "u": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}}, "required": ["a<\"b"]}}"##,
        &[
            "<cofl:value name=\"a&lt;&quot;b\" type=\"raw\">x</cofl:value>",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"json\"> 1 </cofl:value>\n<cofl:value name=\"l\" type=\"list\"><cofl:value type=\"json\">1.5</cofl:value> <cofl:value type=\"json\">2</cofl:value></cofl:value>",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"json\">1</cofl:value><cofl:value name=\"n\" type=\"dict\"><cofl:value name=\"next\" type=\"dict\">\n</cofl:value><cofl:value name=\"v\" type=\"raw\">ab</cofl:value></cofl:value>",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"json\">1</cofl:value><cofl:value name=\"u\" type=\"list\"><cofl:value type=\"raw\">a</cofl:value></cofl:value>",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"json\">1</cofl:value><cofl:value name=\"u\" type=\"raw\"></cofl:value>",
        ],
        &[
            "",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"raw\">1</cofl:value>",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"json\">1</cofl:value><cofl:value name=\"l\" type=\"list\"></cofl:value>",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"json\">1</cofl:value><cofl:value name=\"n\" type=\"dict\"><cofl:value name=\"v\" type=\"raw\">abc</cofl:value></cofl:value>",
            "<cofl:value name=\"a&lt;&quot;b\" type=\"json\">1</cofl:value><cofl:value name=\"n\" type=\"dict\"><cofl:value name=\"w\" type=\"raw\"></cofl:value></cofl:value>",
        ],
    ),
    (
        r##"{"type": "json_schema", "style": "cohere_xml", "json_schema": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"}, "c": {"type": "null"}}, "properties": {"x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/$defs/a"}, "z": {"$ref": "#/$defs/b"}}}}"##,
        &[
            "<cofl:value name=\"x\" type=\"json\">null</cofl:value><cofl:value name=\"y\" type=\"json\">null</cofl:value><cofl:value name=\"z\" type=\"json\">null</cofl:value>",
        ],
        &[
            "<cofl:value name=\"y\" type=\"raw\">a</cofl:value>",
            "<cofl:value name=\"z\" type=\"json\">1</cofl:value>",
            "<cofl:value name=\"y\" type=\"dict\"></cofl:value>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "cohere_xml", "any_order": true, "json_schema": {"properties": {"a": true, "b": {"type": "null"}}, "additionalProperties": {"type": "boolean"}}}"#,
        &[
            "",
            "<cofl:value name=\"z\" type=\"json\">true</cofl:value><cofl:value name=\"b\" type=\"json\">null</cofl:value><cofl:value name=\"a\" type=\"dict\"><cofl:value name=\"&amp;\" type=\"list\"></cofl:value></cofl:value>",
        ],
        &[
            "<cofl:value name=\"a\" type=\"json\">{}</cofl:value>",
            "<cofl:value name=\"b\" type=\"json\">true</cofl:value>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "qwen_xml", "any_order": true, "json_schema": {"properties": {"a": {"type": "integer"}, "ab": {"const": "t"}, "abc": {"type": "null"}, "b": {"type": "string"}, "ba": {}, "c": {"type": "boolean"}, "d": {"enum": [1, 2]}}, "required": ["ab", "d"]}}"#,
        &[
            "<parameter=d>1</parameter><parameter=ab>t</parameter>",
            "<parameter=abc>null</parameter>\n<parameter=ab>t</parameter><parameter=a>12</parameter><parameter=d>2</parameter><parameter=b><a</parameter>",
        ],
        &[
            "",
            "<parameter=ab>t</parameter><parameter=c>true</parameter>",
            "<parameter=d>1</parameter><parameter=ab>t</parameter><parameter=d>2</parameter>",
            "<parameter=d>1</parameter><parameter=ab>t</parameter><parameter=e>2</parameter>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "cohere_xml", "any_order": true, "json_schema": {"properties": {"a": true, "b": {"type": "null"}, "c": {"type": "null"}, "d": {"type": "null"}, "e": {"type": "null"}, "f": {"type": "null"}, "g": {"type": "null"}}, "required": ["c"], "additionalProperties": {"type": "boolean"}}}"#,
        &[
            "<cofl:value name=\"c\" type=\"json\">null</cofl:value>",
            "<cofl:value name=\"z\" type=\"json\">true</cofl:value><cofl:value name=\"g\" type=\"json\">null</cofl:value> <cofl:value name=\"c\" type=\"json\">null</cofl:value>",
        ],
        &[
            "",
            "<cofl:value name=\"g\" type=\"json\">null</cofl:value>",
            "<cofl:value name=\"c\" type=\"json\">null</cofl:value><cofl:value name=\"c\" type=\"json\">null</cofl:value>",
        ],
    ),
    (
        r#"{"type": "json_schema", "style": "minimax_m3_xml", "json_schema": {"type": "object"}}"#,
        &[""],
        &["]<]minimax[>[<a>1]<]minimax[>[</a>"],
    ),
    (
        r#"{"type": "json_schema", "style": "minimax_m3_xml", "json_schema": {"properties": {"a": {"type": ["string", "integer"]}, "l": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}}}}}"#,
        &[
            "",
            "]<]minimax[>[<a>1]<]minimax[>[</a>",
            "]<]minimax[>[<a>]<]x]<]minimax[>[</a> ]<]minimax[>[<l>]<]minimax[>[</l>",
            "]<]minimax[>[<l>]<]minimax[>[<item>]<]minimax[>[<x>true]<]minimax[>[</x>]<]minimax[>[</item>\n]<]minimax[>[</l>",
        ],
        &[
            "]<]minimax[>[<a>1</a>",
            "]<]minimax[>[<a>1]<]minimax[>[</l>",
            "]<]minimax[>[<l>]<]minimax[>[<item>]<]minimax[>[</item>]<]minimax[>[</l>",
            "]<]minimax[>[<l>1]<]minimax[>[</l>",
        ],
    ),
];

fn with_tools(format: &str) -> String {
    format
        .replace("LONG", &"é".repeat(400))
        .replace("[A, B]", &format!("[{TOOL_A}, {TOOL_B}]"))
        .replace("[B]", &format!("[{TOOL_B}]"))
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
    let mut rng = Rng::new(rounds::seed_or(5));
    for (format, ..) in CASES {
        let grammar = compile(&with_tools(format));
        // The recognizer would need one rule for each state of the automaton of all JSON, and for each count.
        if format.contains("\"json_schema\": true") && !format.contains("style") || format.contains("20000") {
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
fn twelve_parameters_come_in_any_order() {
    const STYLES: [&str; 8] = [
        "qwen_xml",
        "minimax_xml",
        "glm_xml",
        "deepseek_xml",
        "deepseek_v4_1_xml",
        "kimi_k3_xml",
        "cohere_xml",
        "minimax_m3_xml",
    ];
    let keys: [&str; 12] = ["a", "ab", "abc", "abd", "b", "ba", "c", "d", "long", "longer", "x", "y"];
    let properties: Vec<String> = keys.iter().map(|key| format!(r#""{key}": {{"type": "null"}}"#)).collect();
    let compiled = |style: &str| {
        let schema = format!(r#"{{"properties": {{{}}}, "required": ["ba", "x"]}}"#, properties.join(", "));
        compile(&format!(
            r#"{{"type": "json_schema", "style": "{style}", "any_order": true, "json_schema": {schema}}}"#
        ))
    };
    for style in STYLES {
        let n_states = compiled(style).n_states();
        assert!(n_states < 20_000, "{style}: 4,096 sets of keys take {n_states} states");
    }
    let grammar = compiled("qwen_xml");
    let written = |key: &&str| format!("<parameter={key}>null</parameter>");
    let mut rng = Rng::new(rounds::seed_or(6));
    for _ in 0..200 {
        let mut chosen: Vec<&str> = keys.iter().copied().filter(|_| rng.chance(80)).collect();
        for place in (1..chosen.len()).rev() {
            chosen.swap(place, rng.below(place + 1));
        }
        let is_complete = ["ba", "x"].iter().all(|key| chosen.contains(key));
        let text: String = chosen.iter().map(written).collect();
        assert_eq!(is_match(&grammar, &text), is_complete, "{text}");
        let again = text + &written(rng.pick(&chosen));
        assert!(grammar.matcher().accept_bytes(again.as_bytes()).is_err(), "{again}");
    }
}

#[test]
fn the_older_form_is_triggered_tags() {
    let text =
        r#"{"structures": [{"begin": "<t=a>", "schema": {"type": "integer"}, "end": "</t>"}], "triggers": ["<t="]}"#;
    let grammar = GrammarCompiler::new(Arc::clone(&VOCAB)).compile_structural_tag(text).unwrap();
    assert!(is_match(&grammar, "a <t=a>1</t> b") && is_match(&grammar, "") && !is_match(&grammar, "<t=a>x</t>"));
}

#[test]
fn counts_of_characters_are_exact_however_large() {
    let text = r#"{"type": "any_text", "max_chars": 20000, "excludes": ["</t>", "éé"]}"#;
    let grammar = compile(&format!(r#"{{"type": "tag", "begin": "<t>", "content": {text}, "end": ["</t>", "éé"]}}"#));
    let within = |n: usize| format!("<t>{}", "aé".repeat(n / 2) + if n % 2 == 1 { "b" } else { "" });
    let takes = |text: &str| grammar.matcher().accept_bytes(text.as_bytes()).is_ok();
    assert!(is_match(&grammar, &(within(20_000) + "</t>")) && is_match(&grammar, &(within(19_999) + "éé")));
    let mut matcher = grammar.matcher();
    matcher.accept_bytes(within(20_000).as_bytes()).unwrap();
    assert!(matcher.accept_bytes(&[0xC2]).is_err(), "no room for another character");
    assert!(matcher.accept_bytes(&[0xC3]).is_ok() && matcher.accept_bytes(&[0xA8]).is_err(), "part of the end");
    assert!(matcher.accept_bytes("é".as_bytes()[1..].as_ref()).is_ok() && matcher.accept_bytes(&[0xC2]).is_err());
    assert!(takes(&within(20_000)) && !takes(&(within(20_000) + "a")) && !takes(&(within(19_998) + "</a")));
    // Part of the end is text, as long as there is room for it.
    assert!(takes(&(within(19_998) + "</")) && takes(&(within(20_000) + "</")) && !takes(&(within(20_000) + "</a")));
    // Behind the last é that leaves room for its b no other begins.
    let ended = compile(r#"{"type": "grammar", "grammar": "root ::= ([a-zé]* \"éb\") & .{0,20000}"}"#);
    let mut matcher = ended.matcher();
    matcher.accept_bytes(("a".repeat(19_998) + "é").as_bytes()).unwrap();
    assert!(matcher.accept_bytes(&[0xC3]).is_err() && matcher.accept_bytes(b"a").is_err());
    assert!(matcher.accept_bytes(b"b").is_ok() && matcher.is_accepting());
    assert!(ended.matcher().accept_bytes("a".repeat(19_999).as_bytes()).is_err(), "no room for the end");
    let mut matcher = grammar.matcher();
    matcher.accept_bytes((within(19_999)).as_bytes()).unwrap();
    let before = matcher.mask().unwrap();
    let allowed = |token: &[u8], matcher: &mut maskwright::Matcher| {
        let bytes = |id: &TokenId| VOCAB.bytes(*id) == token;
        matcher.mask().unwrap().iter().filter(bytes).count() > 0
    };
    assert!(allowed(b"a", &mut matcher) && !allowed(b"ab", &mut matcher) && allowed(b"</t>", &mut matcher));
    matcher.accept_bytes(b"a").unwrap();
    assert!(!allowed(b"a", &mut matcher) && allowed(b"</t>", &mut matcher));
    matcher.rollback(1).unwrap();
    assert_eq!(matcher.mask().unwrap().as_words(), before.as_words());
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

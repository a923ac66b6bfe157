//! The commands beyond `check` and `mask`, and what all commands share: dialects, options, messages about schemas.

mod common;

use common::{file, json, run, run_with_input};
use serde_json::Value;

const PET: &str = r##"{"type": "object", "properties": {
  "type": {"enum": ["cat", "dog"]},
  "age": {"type": "integer", "minimum": 0},
  "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
  "owner": {"$ref": "#/$defs/person"}
}, "required": ["type", "age"], "additionalProperties": false,
"$defs": {"person": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}}, "required": ["name"]}}}"##;

/// Names that the compiler makes for automata: a word and numbers, like `string-20-36`.
fn has_made_name(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| {
        let mut parts = word.split('-');
        let is_word =
            parts.next().is_some_and(|first| first.len() > 2 && first.bytes().all(|b| b.is_ascii_lowercase()));
        let rest: Vec<&str> = parts.collect();
        is_word && !rest.is_empty() && rest.into_iter().all(is_number)
    })
}

#[test]
fn schemas_speak_of_properties_and_keywords() {
    assert!(has_made_name("\"0\" in string-20-36") && has_made_name("value-0-2") && !has_made_name("2024-02-29 a-b"));
    let schema = file("pet.json", PET);
    for (document, expected) in [
        (
            r#"{"age": 3}"#,
            &["keys come in declared order: `type` is required before `age`", "required and missing: `type` and `age`"]
                [..],
        ),
        (r#"{"type": "cow"}"#, &["at /type, in the property `type`: enum [\"cat\", \"dog\"] (#/properties/type/enum)"]),
        (
            r#"{"type": "cat", "age": -1}"#,
            &["type integer (#/properties/age/type), minimum 0 (#/properties/age/minimum)"],
        ),
        (r#"{"type": "cat", "aeg": 1}"#, &["no property `aeg` is declared: did you mean `age`?"]),
        (r#"{"type": "cat", "age": 1, "type": "dog"}"#, &["the key `type` has come already"]),
        (r#"{"type": "cat", "age": 1, "tags": ["a"], "age": 2}"#, &["the key `age` has come already"]),
        (
            r#"{"type": "cat", "age": 1, "owner": {}, "tags": []}"#,
            &["at /owner, in the property `owner`", "required and missing: `name`"],
        ),
        (r#"{"type": "cat", "age": 1, "owner": {"name": "A"}}"#, &["(#/$defs/person/properties/name/pattern)"]),
        (
            r#"{"type": "cat", "age": 1, "tags": []}"#,
            &["expected: a string", "minItems 1 (#/properties/tags/minItems)"],
        ),
        (r#"{"type": "cat", "#, &["next is `age`", "shortest completion: '\"age\":"]),
    ] {
        let run = run(&["check", &schema, "--text", document]);
        assert_eq!(run.code, 1, "{document}");
        for part in expected {
            assert!(run.out.contains(part), "{document}: {part}: {}", run.out);
        }
        assert!(!has_made_name(&run.out), "{}", run.out);
        let report = json(&common::run(&["check", "--json", &schema, "--text", document]));
        assert!(!has_made_name(&report.to_string()), "{report}");
        assert!(report["documents"][0]["schema"]["lines"].is_array(), "{report}");
    }
    let run = run(&["mask", &schema, "--prefix", "{", "--why", "\"}\"", "--why-not-stop", "--json"]);
    let report = json(&run);
    assert_eq!(report["why"][0]["schema"]["keys"]["next"], Value::from(vec!["type"]), "{report}");
    assert_eq!(report["next"]["schema"]["keys"]["missing"], Value::from(vec!["type", "age"]));
    assert!(!has_made_name(&run.out), "{}", run.out);
    // Where keys come in any order, none is refused for that.
    let any = common::run(&["check", &schema, "--any-order", "--text", r#"{"age": 3, "type": "cat", "aeg": 1}"#]);
    assert!(any.out.contains("did you mean `tags`?") || any.out.contains("no property `aeg`"), "{}", any.out);
    assert!(!any.out.contains("declared order"), "{}", any.out);
    // Schemas within grammars have no names of the author, either, and are told in their own words.
    let grammar = file("within.ebnf", "root ::= \"n=\" %json {\"type\": \"integer\", \"minimum\": 5}\n");
    let tag = file(
        "within.json",
        format!(
            r#"{{"type": "structural_tag", "format": {{"type": "tag", "begin": "<f>", "content": {{"type": "json_schema", "json_schema": {PET}}}, "end": "</f>"}}}}"#
        ),
    );
    for (grammar, text, expected) in [
        (
            &grammar,
            "n=x",
            &["expected: a number", "schema: at the root of the document: type integer (#/type), minimum 5"][..],
        ),
        (
            &tag,
            r#"<f>{"type": "cat", "age": 1, "owner": {}"#,
            &["expected: a key", "at /owner, in the property `owner`", "required and missing: `name`"],
        ),
    ] {
        let run = common::run(&["check", grammar, "--text", &format!("{text}}}")]);
        assert_eq!(run.code, 1);
        for part in expected {
            assert!(run.out.contains(part), "{text}: {part}: {}", run.out);
        }
        assert!(!has_made_name(&run.out), "{}", run.out);
    }
}

#[test]
fn completions_are_confirmed_by_the_engine() {
    // The automaton alone would allow an item twice.
    let schema =
        file("unique.json", r#"{"type": "array", "items": {"enum": [1, 2, 33]}, "uniqueItems": true, "minItems": 3}"#);
    let report = json(&run(&["check", "--json", &schema, "--text", "[1,2"]));
    assert_eq!(report["documents"][0]["completion"], "',33]'");
}

#[test]
fn schemas_that_constrain_nothing_by_mistake_are_warned_about() {
    for (name, schema, expected) in [
        (
            "wrapper",
            r#"{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}"#,
            "its schema is at /parameters:",
        ),
        ("mcp", r#"{"name": "f", "inputSchema": {"type": "object"}}"#, "its schema is at /inputSchema:"),
        (
            "openapi",
            r#"{"openapi": "3.1.0", "components": {"schemas": {"Pet": {"type": "object"}}}}"#,
            "its schema is at /components/schemas/Pet:",
        ),
        (
            "mcp-answer",
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "f", "inputSchema": {"type": "object"}}]}}"#,
            "this looks like an answer of MCP with tools, and nearly every document conforms to it, at #; its schema is at /result/tools/0/inputSchema:",
        ),
        (
            "functions",
            r#"{"functions": [{"name": "f", "parameters": {"type": "object"}}]}"#,
            "its schema is at /functions/0/parameters: give that pointer (`--schema-pointer /functions/0/parameters`)",
        ),
        (
            "paths",
            r#"{"openapi": "3.0.0", "paths": {"/a/{b}": {"summary": "s", "post": {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}}}}"#,
            "(`--schema-pointer '/paths/~1a~1{b}/post/requestBody/content/application~1json/schema'`)",
        ),
        (
            "swagger",
            r#"{"swagger": "2.0", "paths": {}, "definitions": {"Pet": {"type": "object"}}}"#,
            "this looks like a description of Swagger, and nearly every document conforms to it, at #; its schema is at /definitions/Pet:",
        ),
        (
            "definitions",
            r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"Pet": {"type": "object"}}}"#,
            "this looks like definitions to which nothing refers, and nearly every document conforms to it, at #; its schema is at /$defs/Pet: give that pointer (`--schema-pointer '/$defs/Pet'`",
        ),
        (
            "format",
            r#"{"format": "data-time"}"#,
            "unknown format `data-time` constrains nothing, at #/format; did you mean `date-time`?",
        ),
        (
            "keyword",
            r#"{"propertys": {}}"#,
            "unknown keyword `propertys` constrains nothing, at #/propertys; did you mean `properties`?",
        ),
        ("required", r#"{"type": "object", "requried": ["a"]}"#, "did you mean `required`?"),
        ("draft", r#"{"$schema": "http://json-schema.org/draft-7/schema#"}"#, "`$schema` names no known draft"),
        (
            "foreign",
            r#"{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [true]}"#,
            "`prefixItems` is no keyword of draft 7, which `$schema` names, and is enforced all the same, at #/prefixItems; an option",
        ),
        ("then", r#"{"then": {"type": "string"}}"#, "`then` has no effect without `if`"),
        (
            "undeclared",
            r#"{"properties": {"name": true}, "required": ["nmae"]}"#,
            "required name \"nmae\" is not among the properties, at #/required; did you mean \"name\"?",
        ),
    ] {
        let path = file(&format!("lint-{name}.json"), schema);
        let run = run(&["lint", &path]);
        assert_eq!(run.code, 1, "{name}: {}", run.err);
        assert!(run.out.contains(expected), "{name}: {}", run.out);
        assert!(common::run(&["check", &path]).err.contains(expected), "{name}");
        let report = json(&common::run(&["lint", "--json", &path]));
        assert_eq!(report["warnings"][0]["line"], 1, "{report}");
    }
    let run = run(&[
        "check",
        &file("function.json", r#"{"type": "function", "function": {"parameters": {"type": "object"}}}"#),
    ]);
    assert_eq!(run.code, 3);
    let hint = "its schema is at /function/parameters: give that pointer (`--schema-pointer /function/parameters`";
    assert!(run.err.contains(hint), "{}", run.err);
    let list = file("tools.json", r#"[{"name": "f", "inputSchema": {"type": "object"}}]"#);
    let run = common::run(&["check", &list]);
    assert_eq!(run.code, 3);
    assert!(run.err.contains("this looks like a list of tools; its schema is at /0/inputSchema:"), "{}", run.err);
    // What is defined is used, or is not all that there is.
    for (name, schema) in [
        ("used", r##"{"$ref": "#/$defs/Pet", "$defs": {"Pet": {"type": "object"}}}"##),
        ("beside", r#"{"type": "object", "definitions": {"Pet": {"type": "object"}}}"#),
        ("none", r#"{"$defs": {}}"#),
    ] {
        let run = common::run(&["lint", &file(&format!("definitions-{name}.json"), schema)]);
        assert_eq!(run.code, 0, "{name}: {}{}", run.out, run.err);
    }
    let clean = file(
        "clean.json",
        r#"{"title": "t", "x-mine": 1, "description": "d", "type": "object", "properties": {"a": {"type": "integer", "format": "int32"}}}"#,
    );
    assert_eq!(common::run(&["lint", &clean]).code, 0);
    let wrapper = file(
        "wrapper.json",
        r#"{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}"#,
    );
    assert_eq!(common::run(&["check", &wrapper, "--schema-pointer", "/parameters", "--text", "{\"a\": 1}"]).code, 1);
    assert_eq!(
        common::run(&["check", &wrapper, "--schema-pointer", "/parameters", "--text", "{\"a\": \"b\"}"]).code,
        0
    );
}

#[test]
fn grammars_that_mean_something_else_are_warned_about() {
    for (name, grammar, expected) in [
        ("empty", "root ::=\n", "the rule has no body"),
        ("option", "root ::= [\"a\"] \"b\"\n", "an option is written"),
        ("range", "root ::= \"a\"..\"z\"\n", "a range is written `[a-z]`"),
    ] {
        let path = file(&format!("lint-{name}.ebnf"), grammar);
        let run = run(&["lint", &path]);
        assert_eq!(run.code, 1, "{name}");
        assert!(run.out.contains(expected) && run.out.contains('^'), "{name}: {}", run.out);
    }
    for (name, grammar) in [("said", "root ::= \"\"\n"), ("class", "root ::= ['\"] [\"a] . .\n")] {
        let run = run(&["lint", &file(&format!("{name}.ebnf"), grammar)]);
        assert_eq!(run.code, 0, "{}", run.out);
    }
    let first = run(&["check", &file("first.ebnf", "root ::= a | b, c;\na ::= \"x\"\n")]);
    assert!(first.err.contains("unexpected `,` at line 1, column 15"), "{}", first.err);
    for (pattern, hint) in [("(?i)abc", "like `[aA]`"), ("(?s).", "write `[^]`"), ("(?P<n>abc)", "(?<name>...)")] {
        let schema = file("hint.json", serde_json::json!({ "pattern": pattern }).to_string());
        let run = run(&["check", &schema]);
        assert_eq!(run.code, 3);
        assert!(run.err.contains(hint), "{}", run.err);
    }
    // Very many warnings are counted, and not slow.
    let many: String = (0..20_000).map(|index| format!("unused{index} ::= \"a\"\n")).collect();
    let run = run(&["check", &file("many.ebnf", format!("root ::= \"a\"\n{many}")), "--text", "a"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("19990 more like these"), "{}", run.err);
}

#[test]
fn dialects_are_told_by_options_and_contents() {
    let lark = file("lark.txt", "start: \"a\" /b+/\n");
    assert_eq!(run(&["check", &lark, "--text", "abb"]).code, 0);
    assert_eq!(run(&["check", "--ebnf", &lark, "--text", "abb"]).code, 3);
    let tag = file("tag.txt", r#"{"type": "structural_tag", "format": {"type": "const_string", "value": "hi"}}"#);
    assert_eq!(run(&["check", &tag, "--text", "hi"]).code, 0);
    assert_eq!(json(&run(&["check", "--json", &tag, "--text", "hi"]))["grammar"]["form"], "a structural tag");
    let schema =
        file("spaces.txt", r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}"#);
    let check = |options: &[&str], text: &str| {
        let mut args = vec!["check", &schema, "--text", text];
        args.extend(options);
        run(&args).code
    };
    assert_eq!(check(&[], "{ \"a\": 1 }"), 0);
    assert_eq!(check(&["--white-space", "compact"], "{ \"a\": 1 }"), 1);
    assert_eq!(check(&["--white-space", "compact"], "{\"a\":1}"), 0);
    assert_eq!(check(&["--white-space", "indent=2"], "{\\n  \"a\": 1\\n}"), 0);
    assert_eq!(check(&["--separators", ", ", ": "], "{\"a\": 1, \"b\": 2}"), 0);
    assert_eq!(check(&["--no-additional-properties"], "{\"a\": 1, \"b\": 2}"), 1);
    assert_eq!(check(&["--integer-fractions"], "{\"a\": 1.0}"), 0);
    assert_eq!(check(&["--root", "a"], "{}"), 2);
    assert_eq!(check(&["--white-space", "wide"], "{}"), 2);
    assert_eq!(run(&["check", &lark, "--lenient"]).code, 2);
    let run = run(&["check", &lark, "--schema-pointer", "/a"]);
    assert!(run.err.contains("--schema-pointer is for JSON Schemas"), "{}", run.err);
}

#[test]
fn refusals_and_errors_have_their_places() {
    let grammar = file("places.ebnf", "root ::= \"a\"\n  \"b\" <|no_such|>\n");
    let report = json(&run(&["mask", "--json", &grammar]));
    assert_eq!((&report["version"], &report["error"]["code"]), (&1.into(), &"unknown_token".into()));
    assert_eq!((&report["error"]["line"], &report["error"]["column"]), (&2.into(), &7.into()));
    let report = json(&run(&["mask", "--json", "--regex", "ab", "--prefix", "a\\nb"]));
    let error = &report["error"];
    assert_eq!(
        (&error["kind"], &error["line"], &error["column"], &error["offset"]),
        (&"prefix".into(), &1.into(), &2.into(), &1.into())
    );
    assert_eq!(error["expected"][0]["what"], "\"b\"", "{report}");
    let schema = file("contradiction.json", r#"{"type": "string", "minLength": 5, "maxLength": 3}"#);
    let report = json(&run(&["check", "--json", &schema]));
    assert_eq!(report["error"]["keyword"], "minLength", "{report}");
    assert_eq!(report["error"]["keywords"], Value::from(vec!["minLength", "maxLength"]));
    let wide = run(&["check", "--regex", "日本", "--text", "日x"]);
    assert!(wide.out.contains(" 1 | 日x\n   |   ^"), "{}", wide.out);
}

#[test]
fn stop_tokens_can_be_chosen_or_missing() {
    // "a" in base64; no stop token.
    let vocab = file("nostop.tiktoken", "YQ== 0\nYg== 1\n");
    let run = run(&["mask", "--regex", "a", "--vocab", &vocab, "--prefix", "a"]);
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("the vocabulary has no stop token") && !run.out.contains("stuck"), "{}", run.out);
    let report = json(&common::run(&[
        "mask",
        "--json",
        "--regex",
        "a",
        "--vocab",
        &vocab,
        "--prefix",
        "a",
        "--stop-token",
        "1",
    ]));
    assert_eq!((&report["n_allowed"], &report["tokens"][0]["id"]), (&1.into(), &1.into()));
    assert_eq!(common::run(&["mask", "--regex", "a", "--vocab", &vocab, "--stop-token", "zz"]).code, 2);
    assert_eq!(common::run(&["generate", "--regex", "a", "--vocab", &vocab]).out, "a\n");
}

#[test]
fn questions_about_tokens_are_answered() {
    let grammar = file("why.ebnf", "root ::= name\nname ::= [a-z]+ - \"if\"\n");
    let run = run(&["mask", &grammar, "--prefix", "i", "--why", "\"f\"", "--why", "1", "-n", "0"]);
    assert!(run.out.contains("read by: name") && run.out.contains("1 was read as an id"), "{}", run.out);
    let run = common::run(&["check", &grammar, "--text", "if"]);
    assert!(
        run.out.contains("exclusion: '[a-z]+ - \"if\"' at line 2: without it the text would be complete"),
        "{}",
        run.out
    );
    let stop = common::run(&["mask", &grammar, "--why-not-stop", "-n", "0"]);
    assert_eq!(stop.code, 1);
    assert!(stop.out.contains("the text may not end here"), "{}", stop.out);
    let report = json(&common::run(&["mask", "--json", &grammar, "--group", "rule", "-n", "2"]));
    let groups = report["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &groups[0]["label"], &groups[0]["n_tokens"]), (1, &"name".into(), &report["n_allowed"]));
    let report = json(&common::run(&["mask", "--json", &grammar, "--group", "byte"]));
    assert_eq!(report["groups"].as_array().unwrap().len(), 26);
    let report = json(&common::run(&["mask", "--json", "--regex", "a\\\\nb", "--prefix", "a\\\\"]));
    assert_eq!(report["forced_text"], "nb");
}

#[test]
fn tokens_that_are_read_as_a_whole_are_explained() {
    let grammar = file("whole.ebnf", "root ::= any | \"x\" <|fim_prefix|>\nany ::= <[^1,100258]>\n");
    let why = |token: &str, prefix: &str| {
        let report = json(&run(&["mask", "--json", "-n", "0", &grammar, "--prefix", prefix, "--why", token]));
        report["why"][0].clone()
    };
    for (token, prefix, rule) in [("b", "", "any"), ("<|fim_suffix|>", "", "any"), ("<|fim_prefix|>", "x", "root")] {
        let told = why(token, prefix);
        assert_eq!((&told["is_allowed"], &told["read_by"]), (&true.into(), &vec![rule].into()), "{told}");
        assert!(told["reason"].as_str().unwrap().contains("or a set that has it"), "{told}");
        assert_eq!(told["completion_behind"], "", "{told}");
    }
    // A text that one rule reads, and a token that another one has in a set.
    assert_eq!(why("x", "")["read_by"], Value::from(vec!["any", "root"]));
    for token in ["1", "100258"] {
        let told = why(token, "");
        let reason = told["reason"].as_str().unwrap();
        assert!(told["is_allowed"] == false && reason.starts_with("the set of tokens"), "{token}: {told}");
    }
    let groups = json(&run(&["mask", "--json", "-n", "0", &grammar, "--group", "rule"]))["groups"].clone();
    let labels: Vec<&Value> = groups.as_array().unwrap().iter().map(|group| &group["label"]).collect();
    assert_eq!(labels, ["any", "root", "control tokens"], "{groups}");
    // Of a schema, the place and its keywords.
    let schema = file("whole.json", r#"{"properties": {"n": {"type": "integer"}}}"#);
    let run = run(&["mask", &schema, "--prefix", "{\"n\":", "--why", "\"1\"", "-n", "0"]);
    assert!(run.out.contains("read by: at /n, in the property `n`: type integer (#/properties/n/type)"), "{}", run.out);
}

/// A token is forced if all that may stand there begins with it.
#[test]
fn forced_means_the_same_everywhere() {
    let grammar = file("forced.ebnf", "root ::= \"abcdefghijklmn\" [0-9] \"é!\"\n");
    let document = json(&run(&["generate", "--json", &grammar, "--seed", "3"]))["documents"][0].clone();
    let ids: Vec<String> = document["tokens"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(document["n_tokens"], ids.len());
    let trace = json(&run(&["trace", "--json", &grammar, "--ids", &ids.join(",")]));
    assert_eq!(trace["is_complete"], true, "{trace}");
    assert_eq!(trace["n_forced"], document["n_forced"]);
    let forced: Vec<bool> =
        trace["tokens"].as_array().unwrap().iter().map(|token| token["is_forced"].as_bool().unwrap()).collect();
    // All but the digit: the stop token as well.
    assert_eq!(forced.iter().filter(|is_forced| !**is_forced).count(), 1, "{trace}");
    assert!(forced[0] && trace["tokens"][0]["n_allowed"].as_u64() > Some(1), "{trace}");
    let called = ["generate", "--json", "grammars/tool_call.schema.json", "--seed", "3"];
    let document = json(&run(&called))["documents"][0].clone();
    let ids: Vec<String> = document["tokens"].as_array().unwrap().iter().map(Value::to_string).collect();
    let trace = json(&run(&["trace", "--json", "grammars/tool_call.schema.json", "--ids", &ids.join(",")]));
    assert_eq!((&trace["is_complete"], &trace["n_forced"]), (&true.into(), &document["n_forced"]), "{trace}");
}

#[test]
fn traces_end_at_the_first_blocked_token() {
    let grammar = file("trace.ebnf", "root ::= \"[\" [0-9]+ \"]\"\n");
    let document = file("trace.txt", "[12]\n");
    let trace = run(&["trace", &grammar, &document]);
    assert_eq!(trace.code, 0, "{}", trace.err);
    assert!(trace.out.contains("complete: "), "{}", trace.out);
    let report = json(&run(&["trace", "--json", &grammar, "--text", "[1x2]"]));
    let tokens = report["tokens"].as_array().unwrap();
    assert_eq!((&report["is_complete"], &tokens.last().unwrap()["is_allowed"]), (&false.into(), &false.into()));
    assert!(report["blocked"]["reason"].as_str().unwrap().contains("'x'"), "{report}");
    let report = json(&run(&["trace", "--json", &grammar, "--ids", "58,16,60"]));
    assert_eq!(report["is_complete"], true, "{report}");
    let controls = file("controls.ebnf", "root ::= \"a\" <|fim_prefix|> \"b\"\n");
    let report = json(&run(&["trace", "--json", "--control-tokens", &controls, "--text", "a<|fim_prefix|>b"]));
    assert_eq!((&report["is_complete"], &report["n_tokens"]), (&true.into(), &3.into()), "{report}");
    assert_eq!(run(&["trace", &grammar]).code, 2);
}

#[test]
fn generated_documents_conform() {
    let grammar = file(
        "turns.ebnf",
        "root ::= (<|fim_prefix|> [a-z]{1,8} <|fim_suffix|>){1,3} end\nend ::= \"!\" | <|endoftext|> \"?\"\nspare ::= \"x\" | root\n",
    );
    let generated = run(&["generate", &grammar, "-n", "8", "--coverage"]);
    assert_eq!(generated.code, 0, "{}", generated.err);
    assert_eq!(generated.out.lines().count(), 8);
    assert!(generated.err.contains("no byte was read by spare"), "{}", generated.err);
    for line in generated.out.lines() {
        assert!(line.contains("<|fim_prefix|>"), "{line}");
        assert_eq!(run(&["check", "--control-tokens", &grammar, "--text", line]).code, 0, "{line}");
    }
    for style in ["text", "shortest", "rare", "blank"] {
        for source in ["grammars/json.ebnf", "grammars/tool_call.schema.json", "grammars/tool_calls.ebnf"] {
            let report =
                json(&run(&["generate", "--json", source, "--style", style, "--max-tokens", "120", "-n", "2"]));
            for document in report["documents"].as_array().unwrap_or_else(|| panic!("{source}: {report}")) {
                assert!(document["n_tokens"].as_u64().unwrap() <= 120, "{document}");
                let text = document["output"].as_str().unwrap().replace('\\', "\\\\");
                let check = run(&["check", "--control-tokens", source, "--text", &text]);
                assert_eq!(check.code, 0, "{source} {style}: {text}: {}", check.out);
            }
        }
    }
    let report =
        json(&run(&["generate", "--json", "--regex", "[ab]{40}", "--style", "shortest", "--max-tokens", "20"]));
    assert_eq!(
        report["documents"][0]["text"].as_str().map(str::len),
        Some(40),
        "a budget of tokens, not of bytes: {report}"
    );
    let run = run(&["generate", "--regex", "ab*c", "--prefix", "abb"]);
    assert!(run.code == 0 && run.out.trim_end().ends_with('c'), "{}", run.out);
}

#[test]
fn grammars_are_compared() {
    let diff = |a: &str, b: &str, options: &[&str]| {
        let (a, b) = (file("diff-a.ebnf", a), file("diff-b.ebnf", b));
        let mut args = vec!["explain", "--json", &a, "--diff", &b];
        args.extend(options);
        let run = run(&args);
        let report = json(&run);
        assert_eq!(run.code, i32::from(report["answer"] != "equal"), "{report}");
        report
    };
    assert_eq!(diff("root ::= (\"a\" | \"b\")* \"a\"\n", "root ::= [ab]* \"a\"\n", &[])["answer"], "equal");
    let report = diff("root ::= [a-z]{1,3}\n", "root ::= [a-z]{1,3} - \"if\"\n", &[]);
    assert_eq!(
        (&report["answer"], &report["text"], &report["is_in_first"]),
        (&"different".into(), &"'if'".into(), &true.into())
    );
    let report = diff("root ::= \"a\" <[7]>\n", "root ::= \"a\" (<[7]> | \"b\")\n", &[]);
    assert_eq!((&report["text"], &report["is_in_first"]), (&"'ab'".into(), &false.into()));
    // Recursion has no end, and neither has the search.
    let nested = "root ::= \"(\" root \")\" | \"\"\n";
    assert_eq!(diff(nested, "root ::= \"\" | \"(\" root \")\"\n", &["--diff-places", "50"])["answer"], "unknown");
    // Keys must differ, so that there are too many places; a sampled text tells.
    let object =
        |ty: &str| format!(r#"{{"type": "object", "properties": {{"a": {{"type": "{ty}"}}}}, "required": ["a"]}}"#);
    let (a, b) = (file("diff-c.json", object("integer")), file("diff-d.json", object("number")));
    let report = json(&run(&["explain", "--json", &a, "--diff", &b, "--diff-places", "300"]));
    assert!(report["answer"] == "different" && report["is_in_first"] == false, "{report}");
    let (a, b) = (file("diff-a.json", r#"{"enum": [1, 2]}"#), file("diff-b.json", r#"{"enum": [2, 1, 3]}"#));
    let report = json(&run(&["explain", "--json", &a, "--diff", &b]));
    assert_eq!((&report["text"], &report["is_shortest"]), (&"'3'".into(), &true.into()));
}

#[test]
fn a_pattern_is_compared_with_a_file() {
    let (a, b) = (file("diff-p.ebnf", "root ::= [a-z]+ \"x\"\n"), file("diff-q.ebnf", "root ::= [a-z]* [a-z] \"x\"\n"));
    // A pattern beside two files would leave open which of them it replaces.
    assert_eq!(run(&["explain", &a, "--regex", "a*b", "--diff", &b]).code, 2);
    assert_eq!(run(&["explain", "--diff", &b]).code, 2);
    let report = json(&run(&["explain", "--json", "--regex", "[a-z]+x", "--diff", &b]));
    assert_eq!((&report["answer"], &report["grammars"][0]), (&"equal".into(), &"--regex".into()), "{report}");
    let report = json(&run(&["explain", "--json", "--regex", "[a-z]+y?x", "--diff", &b]));
    assert_eq!(report["answer"], "equal", "{report}");
    let report = json(&run(&["explain", "--json", "--regex", "a*b", "--diff", &b]));
    assert_eq!((&report["text"], &report["is_in_first"]), (&"'b'".into(), &true.into()), "{report}");
    // Options of schemas belong to the file.
    let schema = file("diff-p.json", r#"{"type": "object", "maxProperties": 0}"#);
    let compact = ["explain", "--regex", r"\{\}", "--white-space", "compact", "--diff", &schema];
    assert_eq!(run(&compact).code, 0, "{}", run(&compact).out);
    assert_eq!(run(&["explain", "--regex", r"\{\}", "--diff", &schema]).code, 1);
    assert_eq!(run(&["explain", "--regex", "a", "--white-space", "compact", "--diff", &a]).code, 2);
    assert_eq!(run(&["explain", "--regex", "a"]).code, 2);
    // A recursive grammar is equal to itself, though the places of it have no end.
    let nested = file("diff-r.ebnf", "root ::= \"(\" root \")\" | \"\"\n");
    assert!(run(&["explain", &nested, "--diff", &nested]).out.starts_with("equal: both are the same grammar"));
}

#[test]
fn only_what_is_relaxed_is_shown() {
    let schema = file("relaxed.json", r#"{"type": "string", "minLength": 1, "pattern": "^(a)\\1$"}"#);
    let report = json(&run(&["explain", "--json", "--lenient", "--only-relaxed", &schema]));
    let keywords: Vec<&Value> = report["findings"].as_array().unwrap().iter().map(|one| &one["keyword"]).collect();
    assert_eq!(keywords, ["pattern"]);
    // Other commands say that something is not enforced.
    let checked = run(&["check", "--lenient", &schema]);
    assert!(
        checked.code == 0 && checked.err.contains("not enforced: 1 keyword; `playground explain`"),
        "{}",
        checked.err
    );
}

#[test]
fn what_is_not_enforced_is_no_constraint() {
    let schema = file("lenient.json", r#"{"type": "string", "pattern": "(?<=a)b", "format": "phone"}"#);
    let masked = run(&["mask", &schema, "--lenient", "-n", "0"]);
    assert!(masked.out.contains("at the root of the document: type string (#/type)\n"), "{}", masked.out);
    let explained = run(&["explain", &schema, "--lenient"]);
    assert!(explained.out.ends_with("1 enforced, 0 in part, 1 relaxed, 1 annotation\n"), "{}", explained.out);
    let schema = file("in-part.json", r#"{"type": "string", "format": "hostname"}"#);
    let masked = run(&["mask", &schema, "-n", "0"]);
    assert!(masked.out.contains("format hostname in part (#/format)"), "{}", masked.out);
    let explained = run(&["explain", &schema, "--only-relaxed"]);
    assert!(
        explained.code == 1 && explained.out.ends_with("1 enforced, 1 in part, 0 relaxed, 0 annotations\n"),
        "{}",
        explained.out
    );
}

#[test]
fn a_tag_without_a_format_is_no_schema() {
    for (name, source, says) in [
        ("misspelt", r#"{"type": "structural_tag", "fromat": {"type": "any_text"}}"#, "is `fromat` meant to be it?"),
        ("missing", r#"{"type": "structural_tag"}"#, "a `structural_tag` needs a field `format`"),
    ] {
        let run = run(&["check", &file(&format!("tag-{name}.json"), source)]);
        assert!(run.code == 3 && run.err.contains(says), "{name}: {}", run.err);
    }
}

#[test]
fn many_mistakes_are_all_listed_or_counted() {
    let words = |n: usize| {
        let words: Vec<String> = (0..n).map(|index| format!("\"word{index}\": 1")).collect();
        file("many-words.json", format!("{{{}}}", words.join(", ")))
    };
    let lint = run(&["lint", &words(100)]);
    assert!(lint.code == 1 && lint.out.ends_with(": 100 warnings\n"), "{}", lint.out.lines().last().unwrap());
    assert!(run(&["check", &words(100)]).err.contains(": 90 more like these;"));
    let lint = run(&["lint", &words(3000)]);
    assert!(lint.out.contains(": 1,024 warnings\n") && lint.out.contains("at most 1,024 mistakes"));
    let none: Vec<String> = (0..300).map(|index| format!("([a-b] - \"x{index}\")")).collect();
    let grammar = file("many-exclusions.ebnf", format!("root ::= {}\n", none.join(" ")));
    let lint = run(&["lint", &grammar]);
    assert!(lint.out.contains("the first 64 of 300 operators"), "{}", lint.out.lines().last().unwrap());
    // A misspelt word is shown itself, and not its value.
    let lint = run(&["lint", &file("caret.json", r#"{"type": "object", "propertys": {}}"#)]);
    assert!(lint.out.contains(":1:20: ") && lint.out.contains("   |                    ^^^^^^^^^^^\n"), "{}", lint.out);
}

#[test]
fn steps_say_why_they_cannot_be_taken() {
    let grammar = file("ended.ebnf", "root ::= \"a\" \"b\"\n");
    let stepped =
        run_with_input(&["step", &grammar], b"fork\ngo\ntoken\nwhy\nfinish\nwhy b\ntype b\nexpected\nwalk\nfinish\n");
    assert_eq!(stepped.code, 0, "{}", stepped.out);
    for says in
        ["under which name?", "to the output of which name?", "which token?", "not allowed: the output has ended"]
    {
        assert!(stepped.out.contains(says), "{says}: {}", stepped.out);
    }
    assert_eq!(
        stepped.out.matches("the output has ended, and only stop tokens may follow").count(),
        5,
        "{}",
        stepped.out
    );
    assert!(!stepped.out.contains("expected: \"b\""), "{}", stepped.out);
    // The vocabulary has an "a" and no "b".
    let vocab = file("stuck-step.tiktoken", "YQ== 0\n");
    let stuck = run_with_input(&["step", "--vocab", &vocab, &grammar], b"type a\nwalk 3\n");
    assert!(stuck.code == 1 && stuck.out.contains("0 allowed, stuck"), "{}", stuck.out);
    assert!(stuck.out.contains("stuck: no token can follow, and the text is not complete"), "{}", stuck.out);
}

#[test]
fn steps_are_taken_and_taken_back() {
    let grammar = file("step.ebnf", "root ::= \"[\" item (\",\" item)* \"]\"\nitem ::= [0-9]+ | \"true\"\n");
    let commands = "type [1\nfork a\ntype ,t\njump\nundo 2\ntype x\nwhy \"]\"\ntoken \"]\"\ngo a\ntype ,2]\nmask 3\nexpected\nhelp\nfrob\n";
    let run = run_with_input(&["step", "--json", &grammar], commands.as_bytes());
    assert_eq!(run.code, 0, "{}", run.err);
    let answers: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<&str> = answers.iter().map(|answer| answer["state"]["text"].as_str().unwrap()).collect();
    assert_eq!(
        texts,
        ["[1", "[1", "[1,t", "[1,true", "[1", "[1", "[1", "[1]", "[1", "[1,2]", "[1,2]", "[1,2]", "[1,2]", "[1,2]"]
    );
    let done: Vec<bool> = answers.iter().map(|answer| answer["is_done"].as_bool().unwrap()).collect();
    assert_eq!(done, [true, true, true, true, true, false, true, true, true, true, true, true, true, false]);
    let run = run_with_input(&["step", &grammar], b"walk 3\nfinish\ntext\nquit\ntype x\n");
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("written: "), "{}", run.out);
    assert_eq!(run_with_input(&["step", &grammar], b"type [\n").code, 1);
    assert_eq!(run_with_input(&["step", "-"], b"root ::= \"a\"").code, 2);
}

#[test]
fn graphs_are_drawn() {
    let dot = run(&["graph", "grammars/json.ebnf"]);
    assert!(
        dot.code == 0 && dot.out.starts_with("digraph rules {") && dot.out.contains("\"value\" -> \"object\""),
        "{}",
        dot.out
    );
    let svg = run(&["graph", "--svg", "grammars/json.ebnf"]);
    assert!(svg.out.starts_with("<svg ") && svg.out.trim_end().ends_with("</svg>"), "{}", svg.out);
    assert_eq!(
        svg.out.matches("<text ").count(),
        json(&run(&["graph", "--json", "grammars/json.ebnf"]))["rules"].as_array().unwrap().len()
    );
    assert!(run(&["graph", "--automaton", "grammars/json.ebnf"]).out.contains("digraph"));
    assert!(run(&["graph", "--automaton", "grammars/tool_call.schema.json"]).out.contains("digraph"));
}

#[test]
fn schemas_are_drawn_by_their_parts() {
    let schema = r##"{"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}, "b": {"$ref": "#far"}},
        "$defs": {"node": {"type": "array", "items": {"$ref": "#/$defs/node"}}, "far": {"$anchor": "far", "type": "null"}}}"##;
    let path = file("drawn.json", schema);
    let graph = json(&run(&["graph", "--json", &path]));
    assert_eq!(graph["root"], "#");
    let parts = graph["schemas"].as_array().unwrap();
    let below = |name: &str| {
        let part = parts.iter().find(|part| part["schema"] == name).unwrap_or_else(|| panic!("{name}: {graph}"));
        part["refers_to"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(below("#"), ["#/properties/a", "#/properties/b"]);
    assert_eq!(below("#/properties/a"), ["#/$defs/node"]);
    assert_eq!(below("#/properties/b"), ["#/$defs/far"]);
    // Recursion.
    assert_eq!(below("#/$defs/node"), ["#/$defs/node/items"]);
    assert_eq!(below("#/$defs/node/items"), ["#/$defs/node"]);
    let dot = run(&["graph", &path]).out;
    assert!(dot.contains("\"#/$defs/node\" [label=\"$defs/node: array\"]"), "{dot}");
    let svg = run(&["graph", "--svg", &path]).out;
    assert_eq!(svg.matches("<text ").count(), parts.len());
    // A schema within a file.
    let tool = file(
        "drawn-tool.json",
        r#"{"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "null"}}}}"#,
    );
    assert_eq!(json(&run(&["graph", "--json", "--schema-pointer", "/parameters", &tool]))["root"], "#/parameters");
}

#[test]
fn benches_tokens_completions_and_pages_are_printed() {
    let report =
        json(&run(&["bench", "--json", "grammars/json.ebnf", "-n", "2", "--max-tokens", "30", "--compiles", "2"]));
    assert!(report["first_step"]["n"] == report["n_tokens"] && report["compile"]["n"] == 2, "{report}");
    assert!(report["step_again"]["p50_ns"].as_u64() <= report["step_again"]["max_ns"].as_u64());
    let report = json(&run(&["tokens", "--json", "ab\\n", "--find", "16", "--find", "\"16\""]));
    let bytes: Vec<u64> = report["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|token| token["bytes"].as_array().unwrap())
        .map(|byte| byte.as_u64().unwrap())
        .collect();
    assert_eq!(bytes, [97, 98, 10]);
    assert_eq!((&report["found"][0]["token"]["id"], &report["found"][1]["token"]["id"]), (&16.into(), &845.into()));
    assert!(run(&["tokens"]).out.contains("stop tokens: 100257 <|endoftext|>"));
    for shell in ["bash", "zsh", "fish"] {
        let run = run(&["completions", shell]);
        assert!(run.code == 0 && run.out.contains("playground") && run.out.contains("generate"), "{shell}");
    }
    assert!(run(&["man"]).out.contains("playground"));
    assert!(run(&["man", "mask"]).out.contains("why"));
    assert_eq!(run(&["man", "frob"]).code, 2);
}

#[test]
fn json_has_a_version() {
    let grammar = file("version.ebnf", "root ::= \"a\"\n");
    for args in [
        &["check", "--json", &grammar][..],
        &["mask", "--json", &grammar],
        &["generate", "--json", &grammar],
        &["explain", "--json", "grammars/tool_call.schema.json"],
        &["trace", "--json", &grammar, "--text", "a"],
        &["lint", "--json", &grammar],
        &["graph", "--json", &grammar],
        &["bench", "--json", &grammar, "-n", "1", "--compiles", "1"],
        &["tokens", "--json"],
        &["demo", "--json", "--max-tokens", "10"],
        &["check", "--json", "/no/such/file"],
    ] {
        assert_eq!(json(&run(args))["version"], 1, "{args:?}");
    }
}

#[test]
fn tags_speak_of_formats_and_have_places() {
    let text = r#"{"type": "structural_tag", "triger": 1,
 "format": {"type": "triggered_tags", "triggers": ["<t"], "tags": [
  {"begin": "<ta>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": "</t>"},
  {"begin": "<tb>", "content": {"type": "grammar", "grammar": "root ::= yes | no\nyes ::= \"y\"\nno ::= \"n\""}, "end": "</t>"}]}}"#;
    let tag = file("spoken.json", text);
    let checked = run(&["check", &tag, "--text", "x<tc"]);
    assert_eq!(checked.code, 1);
    assert!(checked.out.contains("tag at #/format/tags/0"), "{}", checked.out);
    assert!(!checked.out.contains("tags-1") && !has_made_name(&checked.out), "{}", checked.out);
    assert!(
        checked.err.contains("#/triger: ") && checked.err.contains("(line 1, column 28)"),
        "the warning has its place: {}",
        checked.err
    );
    let checked = run(&["check", &tag, "--text", "<tb>q"]);
    assert!(checked.out.contains("no of the grammar at #/format/tags/1/content"), "{}", checked.out);
    assert!(!checked.out.contains("grammar-"), "{}", checked.out);
    let broken = file("broken-tag.json", text.replace("[0-9]+", "[9-0]+"));
    let refused = run(&["check", "--json", &broken, "--text", "x"]);
    let error = &json(&refused)["error"];
    assert_eq!((&error["line"], &error["column"]), (&3.into(), &63.into()), "{error}");
    let broken = file("broken-tag-2.json", text.replace("\"</t>\"}]", "7}]"));
    let refused = run(&["check", &broken, "--text", "x"]);
    assert!(refused.err.contains("\n 4 | ") && refused.err.trim_end().ends_with("^"), "{}", refused.err);
}

#[test]
fn a_chosen_root_is_no_reason_to_warn() {
    let grammar = file("roots.ebnf", "root ::= a b\na ::= \"a\"\nb ::= \"b\"\n");
    let checked = run(&["check", &grammar, "--root", "a", "--text", "a"]);
    assert_eq!((checked.code, checked.err.contains("root")), (0, false), "{}", checked.err);
    assert!(checked.err.contains("rule `b`") == checked.err.contains("warning"), "{}", checked.err);
}

/// Help that can't be written is a failure; what closes the pipe has read enough.
#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for args in [&["--help"][..], &["check", "--help"], &["--version"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = common::command(args).stdout(full).stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!(ended.status.code(), Some(4), "{args:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("can't write the output"), "{args:?}");
    }
}

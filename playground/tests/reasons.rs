//! What commands say of texts and tokens: how a text is cut, why it is refused, what grammars have in common.

mod common;

use common::{file, json, run, run_with_input};
use serde_json::Value;

#[test]
fn text_is_cut_as_the_tokenizer_of_the_file_does() {
    // The merge of `b c` comes before that of `a b`, so that `abc` is `a`, `bc`; the longest token is `ab`.
    let model = r#""model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "bc": 3, "ab": 4, "<end>": 5, "Ġ": 6}, "merges": ["b c", "a b"]}"#;
    let special = r#"{"id": 5, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}"#;
    let with = |normalizer: &str, prefix: bool| {
        let byte_level = format!(
            r#"{{"type": "ByteLevel", "add_prefix_space": {prefix}, "trim_offsets": true, "use_regex": true}}"#
        );
        format!(
            r#"{{"version": "1.0", "added_tokens": [{special}], "normalizer": {normalizer}, "pre_tokenizer": {byte_level}, "post_processor": null, "decoder": {byte_level}, {model}}}"#
        )
    };
    let as_it_is = file("merges.json", with("null", false));
    let ids = |run: &common::Run| {
        let value = json(run);
        let ids: Vec<u64> = value["tokens"].as_array().unwrap().iter().map(|t| t["id"].as_u64().unwrap()).collect();
        (ids, value["is_cut_by_tokenizer"].clone())
    };
    let trace = |vocab: &str, text: &str| {
        ids(&run(&["trace", "--regex", "[a-c<>den]*", "--vocab", vocab, "--text", text, "--json"]))
    };
    assert_eq!(trace(&as_it_is, "abc"), (vec![0, 3], true.into()));
    assert_eq!(ids(&run(&["tokens", "abcab", "--vocab", &as_it_is, "--json"])), (vec![0, 3, 4], true.into()));
    // A tokenizer that puts a space first makes another text of it.
    let changing = file("prefix.json", with("null", true));
    assert_eq!(trace(&changing, "abc"), (vec![4, 2], false.into()));
    let shown = run(&["tokens", "abc", "--vocab", &changing]).out;
    assert!(shown.starts_with("cut into the longest tokens"), "{shown}");
    // The name of a control token is text, which these letters don't spell.
    let named = run(&["tokens", "a<end>", "--vocab", &as_it_is]);
    assert!(named.code != 0 && named.err.contains("can't spell the text: no token has '<' at byte 1"), "{}", named.err);
    // A list of ranks doesn't say where its tokenizer splits.
    let ranks = file("letters.tiktoken", "YQ== 0\nYg== 1\nYmM= 2\nYw== 3\nYWI= 4\n");
    assert_eq!(trace(&ranks, "abc"), (vec![4, 3], false.into()));
}

#[test]
fn samples_of_a_text_with_too_many_ways_end_at_once() {
    let rules = "s ::= s s s | s s | \"a\" | \"\"\n";
    let text = "a".repeat(2000);
    let open = file("ways.ebnf", format!("root ::= s \"b\"\n{rules}"));
    let generated = run(&["generate", &open, "--prefix", &text]);
    assert!(generated.code > 1 && generated.err.contains("can be read in so many ways"), "{}", generated.err);
    let stepped = run_with_input(&["step", &open], format!("type {text}\nfinish\ntext\n").as_bytes());
    assert!(stepped.out.contains("can be read in so many ways"), "{}", stepped.out);
    assert!(stepped.out.contains(&text), "the session goes on: {}", stepped.out);
    // One that is complete needs no completion.
    let complete = file("ways-complete.ebnf", format!("root ::= s\n{rules}"));
    let generated = run(&["generate", &complete, "--prefix", &text, "--json"]);
    assert_eq!(generated.code, 0, "{}", generated.err);
    assert_eq!(json(&generated)["documents"][0]["tokens"], Value::from(vec![100_257]));
    let stepped = run_with_input(&["step", &complete], format!("type {text}\nfinish\n").as_bytes());
    assert!(stepped.code == 0 && stepped.out.trim_end().ends_with("ended"), "{}", stepped.out);
    let grouped = run(&["mask", &complete, "--prefix", &text, "--group", "rule"]).out;
    assert!(grouped.contains("(not explained): 'a'") && !grouped.contains("(no rule)"), "{grouped}");
}

/// What commands without a vocabulary can't judge is told.
#[test]
fn what_needs_a_vocabulary_is_told() {
    let counted = file("counted.ebnf", "root ::= text\ntext[max_tokens=2] ::= [a-z]*\n");
    let free = file("uncounted.ebnf", "root ::= [a-z]*\n");
    let note = "counts tokens (`max_tokens`)";
    let checked = run(&["check", &counted, "--text", "xqzjwvkxqzjwvkxqzjwvk"]);
    assert!(checked.code == 0 && checked.out.contains(note), "{}", checked.out);
    let compared = run(&["explain", &counted, "--diff", &free]);
    assert!(compared.out.starts_with("different: 'aaa'") && compared.out.contains(note), "{}", compared.out);
    for args in [&["check", "--json", &counted, "--text", "a"][..], &["explain", "--json", &counted, "--diff", &free]] {
        assert!(json(&run(args))["notes"][0].as_str().unwrap().contains(note), "{args:?}");
    }
    assert!(!run(&["check", &free, "--text", "a"]).out.contains("note"));
    let sets = file("sets.ebnf", "root ::= !<|endoftext|>{2}\n");
    let checked = run(&["check", &sets, "--text", "hello world"]);
    assert!(checked.code == 1 && checked.out.contains("expected: !<|endoftext|>"), "{}", checked.out);
    assert!(checked.out.contains("sets of tokens") && checked.out.contains("`trace` reads them"), "{}", checked.out);
    assert_eq!(run(&["trace", &sets, "--text", "hello world"]).code, 0);
}

#[test]
fn markers_differ_from_what_reads_the_same_letters() {
    let marker = file("marker-alone.ebnf", "root ::= Marker(\"<|im_end|>\")");
    let letters = file("letters.ebnf", "root ::= \"<|im_end|>\"");
    let both = file("both.ebnf", "root ::= <|im_end|> | \"<|im_end|>\"");
    let diff = |a: &str, b: &str| run(&["explain", a, "--diff", b]);
    let different = diff(&marker, &letters);
    assert_eq!(different.code, 1, "{}", different.out);
    assert!(
        different.out.contains("different: <|im_end|>") && different.out.contains("is a text of"),
        "{}",
        different.out
    );
    // Whole or in letters; a vocabulary in which a part of it is a token would tell them apart.
    assert_eq!(diff(&marker, &both).code, 0);
    let tag = file(
        "marked.json",
        r#"{"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": {"type": "const_string", "value": "x"}, "end": "</a>"}}"#,
    );
    let text = file("marked.ebnf", "root ::= \"<a>x</a>\"");
    assert_eq!(diff(&tag, &text).code, 1);
}

#[test]
fn a_keyword_around_a_number_is_told_once() {
    let schema = file("contains-one.json", r#"{"type": "array", "contains": {"const": 1}}"#);
    let checked = run(&["check", &schema, "--text", "[2]"]).out;
    assert_eq!(checked.matches("contains (#/contains)").count(), 1, "{checked}");
    assert!(checked.contains("around the number, at the root of the document: type array (#/type)"), "{checked}");
}

#[test]
fn what_forbids_the_end_is_told() {
    let grammar = file("not-if.ebnf", "root ::= [a-z]+ - \"if\"\n");
    let line = "exclusion: '[a-z]+ - \"if\"' at line 1: without it the text would be complete";
    for args in [
        &["mask", &grammar, "--prefix", "if", "--why", "<|endoftext|>"][..],
        &["mask", &grammar, "--prefix", "if", "--why-not-stop"],
        &["trace", &grammar, "--text", "if"],
        &["trace", &grammar, "--ids", "333,100257"],
        &["check", &grammar, "--text", "if"],
    ] {
        let run = run(args);
        assert!(run.code == 1 && run.out.contains(line), "{args:?}: {}", run.out);
    }
    let mask = json(&run(&["mask", &grammar, "--prefix", "if", "--why", "<|endoftext|>", "--why-not-stop", "--json"]));
    assert_eq!((&mask["exclusions"][0], &mask["why"][0]["exclusions"][0]), (&line.into(), &line.into()));
    assert_eq!(json(&run(&["trace", &grammar, "--text", "if", "--json"]))["exclusions"][0], line);
    let other = run(&["mask", &grammar, "--prefix", "i", "--why-not-stop"]).out;
    assert!(!other.contains("exclusion"), "{other}");
}

#[test]
fn control_tokens_that_spell_markers_are_read_and_explained() {
    let grammar = file("marker.ebnf", "root ::= Marker(\"<|endofprompt|>\") \"x\"\n");
    let why = run(&["mask", &grammar, "--why", "<|endofprompt|>"]).out;
    assert!(why.contains("spells a marker of the grammar") && why.contains(" read by: root"), "{why}");
    let traced = json(&run(&["trace", &grammar, "--text", "<|endofprompt|>x", "--control-tokens", "--json"]));
    assert_eq!((&traced["tokens"][0]["id"], &traced["is_complete"]), (&100_276.into(), &true.into()), "{traced}");
    // Without the option the marker is text, as it may be.
    let traced = json(&run(&["trace", &grammar, "--text", "<|endofprompt|>x", "--json"]));
    assert!(traced["is_complete"] == true && traced["n_tokens"].as_u64() > Some(2), "{traced}");
}

#[test]
fn steps_that_cannot_be_taken_say_why() {
    let grammar = file("forced-control.ebnf", "root ::= \"a\" <|endofprompt|> \"bc\" | \"d\"\n");
    let commands = "undo 5\ntype a\njump\njump\nundo 9\ngo x\nwalk 0\ntoken \"zqxj\"\n";
    let run = run_with_input(&["step", &grammar], commands.as_bytes());
    let answers: Vec<&str> = run.out.lines().filter(|line| !line.starts_with('>')).collect();
    let expected = [
        "there is no step to take back",
        "forced: <|endofprompt|>",
        "forced: 'bc'",
        "there are only 3 steps to take back",
        "no output has a name: `fork NAME` gives it one",
        "accepted: nothing",
        "'zqxj' is no token",
    ];
    assert_eq!(answers, expected);
    let refused = common::run(&["trace", &grammar, "--ids", ""]);
    assert!(refused.code == 2 && refused.err.contains("there are no ids"), "{}", refused.err);
}

#[test]
fn texts_of_the_command_line_are_escaped_once() {
    let checked = json(&run(&["check", "--regex", "a\\nb", "--text", "a\\nb", "--json"]));
    assert_eq!((&checked["documents"][0]["document"], &checked["all_match"]), (&"'a\\nb'".into(), &true.into()));
    let why = run(&["mask", "--regex", "a+", "--why", "\"z\\nq\""]).out;
    assert!(why.contains("\n'z\\nq': not allowed"), "{why}");
    assert!(run(&["tokens", "--find", "\"zqxj\""]).out.contains("'zqxj' is no token"));
}

#[test]
fn long_documents_are_explained_as_far_as_they_can_be() {
    let items: Vec<String> = (0..40_000).map(|index| format!("{{\"id\": {index}}}")).collect();
    let document = file("long-items.json", format!("[{}, {{\"id\": \"x\"}}]", items.join(", ")));
    let schema = file("items.json", r#"{"type": "array", "items": {"properties": {"id": {"type": "integer"}}}}"#);
    let checked = run(&["check", &schema, &document]).out;
    assert!(checked.contains("at /40000/id, in the property `id`: type integer"), "{checked}");
    let broken = file("long-broken.json", format!("[{}, x]", items.join(", ")));
    let checked = run(&["check", "grammars/json.ebnf", &broken]).out;
    assert!(checked.contains("texts of more than 65,536 bytes are not explained"), "{checked}");
    assert!(!checked.contains("not known any more"), "{checked}");
}

#[test]
fn what_lark_ignores_is_shown_as_it_is_written() {
    let grammar = file("ignoring.lark", "start: item (\",\" item)*\nitem: NUM\nNUM: /[0-9]+/\n%ignore \" \"\n");
    let checked = run(&["check", &grammar, "--text", "1 x"]).out;
    assert!(checked.contains("in %ignore"), "{checked}");
    let graph = run(&["graph", &grammar]).out;
    assert!(graph.contains("\"%ignore\""), "{graph}");
    assert!(!checked.contains("ignored.between") && !graph.contains("ignored.between"));
}

#[test]
fn keywords_of_other_drafts_are_told_and_can_be_turned_off() {
    let schema = file(
        "foreign.json",
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{"type": "string"}], "nullable": true, "type": "array"}"#,
    );
    let checked = run(&["check", &schema, "--text", "[1]"]);
    assert_eq!(checked.code, 1);
    let warning = "`prefixItems` is no keyword of draft 7, which `$schema` names, and is enforced all the same";
    assert!(checked.err.contains(warning) && checked.err.contains("(`--no-foreign-keywords`)"), "{}", checked.err);
    let checked = run(&["check", "--no-foreign-keywords", &schema, "--text", "[1]"]);
    assert!(checked.code == 0 && !checked.err.contains("all the same"), "{}", checked.err);
    assert_eq!(run(&["check", &schema, "--text", "null"]).code, 1);
    assert_eq!(run(&["check", "--nullable", &schema, "--text", "null"]).code, 0);
}

#[test]
fn options_in_messages_are_those_of_the_command_line() {
    let schema = file("wrapped.json", r#"{"name": "f", "parameters": {"type": "object"}}"#);
    let linted = run(&["lint", &schema]).out;
    assert!(linted.contains("(`--schema-pointer /parameters`)") && !linted.contains("ReadOptions"), "{linted}");
    let refused = run(&["check", &schema, "--schema-pointer", "/nope"]).err;
    assert!(refused.contains("the option `--schema-pointer`"), "{refused}");
    let tag = file("explained-tag.json", r#"{"type": "structural_tag", "format": {"type": "any_text"}}"#);
    let refused = run(&["explain", &tag]);
    assert!(refused.code == 2 && !refused.err.contains("--schema "), "{}", refused.err);
}

/// Each document is seen when it is there, and who closes the pipe has read enough.
#[test]
fn a_closed_pipe_ends_generate() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let start = std::time::Instant::now();
    let mut child = common::command(&["generate", "grammars/json.ebnf", "-n", "10000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.ends_with('\n'));
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0));
    // All documents take minutes.
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn bytes_of_values_that_are_no_json_are_one_class() {
    let tag = file(
        "parameters.json",
        r#"{"type": "structural_tag", "format": {"type": "json_schema", "style": "qwen_xml", "json_schema": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"], "additionalProperties": false}}}"#,
    );
    let checked = run(&["check", &tag, "--text", "<parameter=a>x"]).out;
    assert!(checked.contains("or: [1-9]\n") && checked.contains("json_schema at #/format"), "{checked}");
    let grouped = |grammar: &str, prefix: &str| run(&["mask", grammar, "--prefix", prefix, "--group", "rule"]).out;
    let groups = grouped(&tag, "<parameter=a>");
    assert!(groups.contains("  json_schema at #/format: ") && !groups.contains("(no rule)"), "{groups}");
    let operand =
        file("operand.ebnf", r#"root ::= "x" %json {"type": "object", "properties": {"n": {"type": "integer"}}}"#);
    let groups = grouped(&operand, "x{\"n\":");
    assert!(groups.contains("  root: ") && !groups.contains("(no rule)"), "{groups}");
}

//! Input that is long, odd or wrong: the answer is right, or says why there is none.

mod common;

use common::{file, json, run, run_with_input};

#[test]
fn a_long_document_is_read_to_its_end() {
    let (good, bad) = (file("long.txt", "a".repeat(3 << 20)), file("long-bad.txt", "a".repeat(3 << 20) + "c"));
    let checked = run(&["check", "--regex", "a*", &good]);
    assert_eq!((checked.code, checked.out.contains("matches (3,145,728 bytes")), (0, true), "{}", checked.out);
    let checked = json(&run(&["check", "--json", "--regex", "a*", &bad]));
    assert_eq!(checked["documents"][0]["offset"], 3 << 20);
    assert_eq!(run(&["mask", "--regex", "a*b", "--prefix-file", &good, "--why", "b"]).code, 0);
}

/// A step that is over its limit says nothing about the text: neither yes nor no.
#[test]
fn what_is_over_a_limit_is_neither_yes_nor_no() {
    let grammar = file("ambiguous.ebnf", "root ::= \"a\" (root (\"b\" | root)?){2,100} | \"a\"\n");
    let text = "a".repeat(200);
    let checked = run(&["check", &grammar, "--text", &text, "--text", "a"]);
    assert_eq!(checked.code, 4, "{}", checked.out);
    assert!(checked.err.contains("it can't be told whether the text matches"), "{}", checked.err);
    assert!(checked.out.contains("'a': matches"), "the other document is checked: {}", checked.out);
    let report = json(&run(&["check", "--json", &grammar, "--text", &text]));
    assert_eq!(report["documents"][0]["error"]["kind"], "step");
    assert_eq!(run(&["mask", &grammar, "--prefix", &text]).code, 4);
}

#[test]
fn what_is_generated_can_be_checked() {
    // The stop token that the grammar names belongs to the document; one that is only allowed behind it does not.
    for (source, shown) in [("root ::= [a-c]{3} <|endoftext|>", true), ("root ::= [a-c]{3}", false)] {
        let grammar = file("stopped.ebnf", source);
        let document = run(&["generate", &grammar]).out;
        assert_eq!(document.trim_end().ends_with("<|endoftext|>"), shown, "{document}");
        assert_eq!(run_with_input(&["check", "--control-tokens", &grammar, "-"], document.as_bytes()).code, 0);
    }
    assert_eq!(run(&["generate", "--regex", "a?", "--max-tokens", "1"]).code, 0);
    let small = run(&["generate", "--regex", "[0-9]{9}", "--max-tokens", "1"]);
    assert!(small.code == 2 && small.err.contains("the shortest output has"), "{}", small.err);
}

#[test]
fn texts_that_a_vocabulary_lacks_are_not_cut_short() {
    let vocab = file("small.tiktoken", "YQ== 0\nYg== 1\nYWI= 2\n");
    for args in
        [&["tokens", "--vocab", &vocab, "abc"][..], &["trace", "--vocab", &vocab, "--regex", "[abc]*", "--text", "abc"]]
    {
        let run = run(args);
        assert_eq!(run.code, 1, "{}", run.out);
        assert!(run.err.contains("no token has 'c' at byte 2"), "{}", run.err);
    }
    // An embedded encoding cuts as its tokenizer does: not into the longest tokens.
    let tokens = json(&run(&["tokens", "--json", "indivisible units"]));
    let ids: Vec<u64> =
        tokens["tokens"].as_array().unwrap().iter().map(|token| token["id"].as_u64().unwrap()).collect();
    let known = maskwright::vocab::tiktoken::encode(maskwright::Encoding::Cl100kBase, "indivisible units");
    assert_eq!(ids, known.into_iter().map(u64::from).collect::<Vec<_>>());
    let traced = run(&["trace", "grammars/json.ebnf", "--ids", "90,999999"]);
    assert!(traced.code == 1 && traced.out.contains("(no such token)") && !traced.out.contains("was read as an id"));
}

#[test]
fn pointers_to_schemas_are_explained() {
    let tool = file("pointed.json", r#"{"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}"#);
    assert_eq!(run(&["check", "--schema-pointer", "#/parameters", &tool, "--text", "{}"]).code, 0);
    for (pointer, says) in [
        ("/parametrs", "did you mean \"parameters\"?"),
        ("/parameters/x", "the value at \"/parameters\" has no \"x\" (it has \"type\", \"properties\")"),
        ("parameters", "must begin with `/`"),
    ] {
        let run = run(&["check", "--schema-pointer", pointer, &tool]);
        assert!(run.code == 3 && run.err.contains(says), "{pointer}: {}", run.err);
    }
}

#[test]
fn exclusions_that_do_nothing_or_too_much_are_told() {
    let grammar = file(
        "exclusions.ebnf",
        "root ::= ident | keyword\nkeyword ::= ident & \"if\"\nident ::= [a-z]+ - (\"if\" | \"Else\")\n",
    );
    let lint = json(&run(&["lint", "--json", &grammar]));
    let told: Vec<(&str, u64)> = lint["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| (warning["message"].as_str().unwrap(), warning["line"].as_u64().unwrap()))
        .collect();
    assert!(
        told.contains(&(
            "nothing matches `ident & \"if\"`: the exclusion `[a-z]+ - (\"if\" | \"Else\")` takes all of it away",
            2
        )),
        "{told:?}"
    );
    assert!(told.contains(&("excluding `\"Else\"` has no effect: `[a-z]+` doesn't match it anyway", 3)), "{told:?}");
}

#[test]
fn a_step_that_fails_does_not_end_the_session() {
    let grammar = file("stepped.ebnf", "root ::= <|fim_prefix|> \"a\"* <|fim_suffix|>\n");
    let commands = b"token <|fim_prefix|>\ntype a\nfrob\nundo 9\ntext\nfinish\n";
    let run = run_with_input(&["step", &grammar], commands);
    assert_eq!(run.code, 0, "{}", run.out);
    // Control tokens are shown by name.
    assert!(run.out.contains("'<|fim_prefix|>a'"), "{}", run.out);
    // The vocabulary can't spell the rest, which is no reason to end.
    let vocab = file("stuck.tiktoken", "YQ== 0\n");
    let run = run_with_input(&["step", "--vocab", &vocab, "--regex", "ab"], b"finish\ntype a\ntext\n");
    assert!(run.code == 1 && run.out.contains("no completion") && run.out.contains("'a'"), "{}", run.out);
}

#[test]
fn files_that_are_nothing_of_the_kind_are_told() {
    let (empty, binary) = (file("empty", ""), file("binary", b"\xFF\xFE\x00\x01"));
    for (args, code, says) in [
        (&["check", &empty][..], 3, "the source has no rules"),
        (&["check", "--ebnf", &empty], 3, "the source has no rules"),
        (&["check", "--schema", &empty], 3, "found the end of the text"),
        (&["check", &binary], 4, "not UTF-8"),
        (&["mask", "--regex", "a", "--vocab", &binary], 4, "UTF-8"),
        (&["mask", "--regex", "a", "--vocab", &empty], 4, "no token"),
        (&["explain", "grammars/json.ebnf"], 2, "explain is about JSON Schemas"),
        (&["check", "--lark", "grammars/json.ebnf"], 3, "`::=` is EBNF"),
    ] {
        let run = run(args);
        assert!(run.code == code && run.err.contains(says), "{args:?}: {} {}", run.code, run.err);
    }
    let huge = file("huge.ebnf", format!("root ::= \"{}\"", "a".repeat(17 << 20)));
    let run = run(&["check", &huge]);
    assert!(run.code == 3 && run.err.contains("source_bytes_max") && run.err.contains("root ::= \"aaa"), "{}", run.err);
}

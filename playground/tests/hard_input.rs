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

/// Masks of an ambiguous grammar take microseconds, and its explanation cubic time: the verdict comes without it.
#[test]
fn explanations_of_ambiguous_grammars_are_bounded() {
    let grammar = file("ambiguous-text.ebnf", "root ::= s\ns ::= s s s | s s | \"a\" | \"\"\n");
    let (text, begun) = ("a".repeat(3000) + "c", "a".repeat(3000));
    let start = std::time::Instant::now();
    let checked = json(&run(&["check", "--json", &grammar, "--text", &text]));
    let document = &checked["documents"][0];
    assert_eq!((&document["matches"], &document["offset"]), (&false.into(), &3000.into()));
    assert_eq!((&document["unexplained"]["code"], &document["expected_bytes"]), (&"time".into(), &"[a]".into()));
    let says = "the explanation took more than 2.00 s; expected items are not listed";
    assert_eq!(document["unexplained"]["message"], says);
    let asked = run(&["mask", &grammar, "--prefix", &begun, "--why", "b", "--why", "a", "-n", "0"]);
    assert!(asked.code == 1 && asked.out.matches(says).count() == 3, "{}", asked.out);
    let stepped = run_with_input(&["step", &grammar], format!("type {text}\n").as_bytes());
    assert!(stepped.out.contains("refused: 'c' at byte 3000") && stepped.out.contains(says), "{}", stepped.out);
    let traced = run(&["trace", &grammar, "--text", &text]);
    assert!(traced.out.contains("BLOCKED") && traced.out.contains(says), "{}", traced.out);
    // Each waits once for what it can't have.
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", start.elapsed());
    // A short text is explained in full.
    let checked = run(&["check", &grammar, "--text", "aac"]);
    assert!(checked.out.contains("\"a\"   in s") && !checked.out.contains("note:"), "{}", checked.out);
}

#[test]
fn unknown_escapes_are_refused() {
    let grammar = file("escapes.ebnf", "root ::= .*\n");
    for args in [
        &["check", &grammar, "--text", r"a\qb"][..],
        &["trace", &grammar, "--text", r"a\qb"],
        &["mask", &grammar, "--prefix", r"a\qb"],
        &["tokens", r"a\qb"],
    ] {
        let run = run(args);
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.err.contains(r"unknown escape \q at byte 1 of 'a\\qb': there are \n \r \t \\ \xHH"), "{}", run.err);
    }
    let stepped = run_with_input(&["step", &grammar], b"type \\q\ntype \\\\q\ntext\n");
    assert!(stepped.out.contains("unknown escape") && stepped.out.contains(r"'\\q'"), "{}", stepped.out);
    // Many a token begins with a backslash.
    assert_eq!(run(&["tokens", "--find", r"\q"]).err, "");
}

/// Who asks for JSON gets JSON, whatever is wrong.
#[test]
fn every_error_is_json() {
    for args in [&["check", "--json"][..], &["mask", "x", "--json", "--white-space", "foo"], &["explain", "--json"]] {
        let run = run(args);
        assert_eq!((run.code, &json(&run)["error"]["kind"]), (2, &"usage".into()), "{args:?}");
        assert!(run.err.starts_with("error: "), "{}", run.err);
    }
    assert_eq!(run(&["check"]).out, "");
    let (none, tag) = (
        file("nothing.ebnf", "root ::= \"a\" & \"b\"\n"),
        r#"{"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {"type": "string", "minLength": 5, "maxLength": 3}}}"#,
    );
    let tag = file("nothing.json", tag);
    let operand =
        file("nothing-within.ebnf", "root ::= %json {\"type\": \"integer\", \"minimum\": 5, \"maximum\": 3}\n");
    let broken = file("broken.ebnf", "root ::= [\n");
    for (path, is_unsatisfiable, keywords) in [
        (&none, true, vec![]),
        (&tag, true, vec!["minLength", "maxLength"]),
        (&operand, true, vec!["minimum", "maximum"]),
        (&broken, false, vec![]),
    ] {
        let error = &json(&run(&["check", "--json", path]))["error"];
        assert_eq!(
            (&error["is_unsatisfiable"], &error["keywords"]),
            (&is_unsatisfiable.into(), &keywords.into()),
            "{error}"
        );
    }
}

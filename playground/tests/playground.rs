//! The playground binary, run as a user runs it: exit codes, both forms of output, and no panic whatever comes in.

mod common;

use common::{command, file, json, run, run_with_input};
use maskwright::{Encoding, GrammarCompiler, Vocab};
use serde_json::Value;
use std::process::Stdio;
use std::sync::Arc;

const LIST: &str = "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= [0-9]+ | \"true\" | root\n";

const TOOL_CALL: &str = "grammars/tool_call.schema.json";

fn validator(schema: &str) -> jsonschema::Validator {
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

#[test]
fn demo_ends_within_any_budget_and_passes_its_checks() {
    for (seed, max_tokens) in
        [("1", "80"), ("2", "2"), ("3", "3"), ("4", "7"), ("18446744073709551615", "25"), ("5", "400")]
    {
        let run = run(&["demo", "--json", "--seed", seed, "--max-tokens", max_tokens]);
        assert_eq!(run.code, 0, "{}", run.err);
        let report = json(&run);
        assert_eq!(report["all_pass"], true);
        let runs = report["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 3);
        for run in runs {
            let n_tokens = run["n_tokens"].as_u64().unwrap();
            let budget = run["max_tokens"].as_u64().unwrap();
            assert!(n_tokens <= budget, "{n_tokens} of {budget}");
            // A tool call is longer than some of the budgets.
            assert!(budget == max_tokens.parse::<u64>().unwrap() || run["grammar"] == TOOL_CALL);
            let steps = run["steps"].as_array().unwrap();
            assert_eq!(n_tokens, steps.len() as u64 + run["n_appended"].as_u64().unwrap());
            // The text is what the steps say, and the last step is the stop token.
            let text: String = steps
                .iter()
                .flat_map(|step| [&step["text"], &step["forced"]])
                .map(|text| text.as_str().unwrap())
                .collect();
            assert_eq!(run["output"], text.as_str());
            assert_eq!(steps.last().unwrap()["token"], 100_257);
            assert!(steps.iter().all(|step| step["n_allowed"].as_u64().unwrap() > 0));
        }
        serde_json::from_str::<Value>(runs[0]["output"].as_str().unwrap()).unwrap();
        let call = serde_json::from_str(runs[2]["output"].as_str().unwrap()).unwrap();
        assert!(validator(TOOL_CALL).is_valid(&call), "{call}");
    }
}

#[test]
fn demo_is_the_same_for_the_same_seed() {
    let outputs = |seed: &str| {
        let report = json(&run(&["demo", "--json", "--seed", seed]));
        let runs = report["runs"].as_array().unwrap();
        runs.iter().map(|run| run["output"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(outputs("11"), outputs("11"));
    assert_ne!(outputs("11"), outputs("12"));
}

#[test]
fn demo_prints_steps_and_totals() {
    let run = run(&["demo", "--seed", "2"]);
    assert_eq!(run.code, 0);
    for part in [
        "vocabulary cl100k_base",
        "any JSON",
        "arithmetic",
        "allowed",
        "<|endoftext|>",
        "check passed: serde_json",
        "check passed: it",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    assert!(!run.out.contains("FAILED"));
}

#[test]
fn check_tells_where_and_why() {
    let grammar = file("list.ebnf", LIST);
    let good = file("good.txt", "[1,[true],22]");
    let bad = file("bad.txt", "[1,\u{20}2]");
    let run = run_with_input(&["check", &grammar, &good, "-", &bad, "--text", "[1,"], b"[[]]");
    assert_eq!(run.code, 1);
    assert!(run.out.contains("good.txt: matches (13 bytes"), "{}", run.out);
    assert!(run.out.contains("standard input: matches"), "{}", run.out);
    assert!(
        run.out.contains("bad.txt: does not match: ' ' is not allowed at line 1, column 4 (byte 3)"),
        "{}",
        run.out
    );
    assert!(run.out.contains(" 1 | [1, 2]\n   |    ^\n expected: "), "{}", run.out);
    assert!(run.out.contains("[0-9]   in item"), "{}", run.out);
    assert!(run.out.contains("incomplete, and ends at line 1, column 4 (byte 3)"), "{}", run.out);
    assert!(run.err.is_empty(), "{}", run.err);
    assert_eq!(common::run(&["check", &grammar, &good]).code, 0);
}

#[test]
fn check_speaks_json() {
    let grammar = file("list2.ebnf", LIST);
    let bytes = file("bytes.txt", b"[1,\n\xFF]");
    let run = run(&["check", "--json", &grammar, &bytes, "--text", "[]", "--text", "[[1"]);
    assert_eq!(run.code, 1);
    let report = json(&run);
    assert_eq!(report["all_match"], false);
    assert_eq!(report["grammar"]["n_rules"], 2);
    let documents = report["documents"].as_array().unwrap();
    assert_eq!(documents[0]["matches"], true);
    assert_eq!((&documents[1]["reason"], &documents[1]["completion"]), (&"incomplete".into(), &"']]'".into()));
    // The line end is what is refused, not the byte after it.
    let refused = [
        ("reason", "refused".into()),
        ("offset", Value::from(3)),
        ("line", 1.into()),
        ("column", 4.into()),
        ("found", "'\\n'".into()),
    ];
    for (key, value) in refused {
        assert_eq!(documents[2][key], value, "{key}");
    }
}

#[test]
fn check_reads_regexes_roots_and_control_tokens() {
    assert_eq!(run(&["check", "--regex", "[a-z]+[0-9]{2,3}", "--text", "ab12", "--text", "z123"]).code, 0);
    let run = run(&["check", "--regex", "[ab]+b", "--text", "aab", "--text", "aaba"]);
    assert_eq!(run.code, 1);
    assert!(
        run.out.contains("'aab': matches") && run.out.contains("'aaba': does not match: it is incomplete"),
        "{}",
        run.out
    );

    let grammar = file("turn.ebnf", "root ::= turn+\nturn ::= <|user|> [a-z]+ <|end|> | <[7]>\n");
    let run = common::run(&["check", "--control-tokens", &grammar, "--text", "<|user|>hi<|end|><[7]>"]);
    assert_eq!(run.code, 0, "{}", run.out);
    let run = common::run(&["check", "--control-tokens", &grammar, "--text", "<|user|>hi<|user|>"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("<|user|> is not allowed at line 1, column 11"), "{}", run.out);
    assert!(run.out.contains("<|end|>"), "{}", run.out);
    // Without the option a name is only text.
    assert_eq!(common::run(&["check", &grammar, "--text", "<|user|>hi<|end|>"]).code, 1);
    assert_eq!(common::run(&["check", &grammar, "--root", "turn", "--control-tokens", "--text", "<[7]><[7]>"]).code, 1);
    assert_eq!(common::run(&["check", &grammar, "--root", "turn", "--control-tokens", "--text", "<[7]>"]).code, 0);
}

#[test]
fn one_line_end_can_be_dropped() {
    let grammar = file("list3.ebnf", LIST);
    let document = file("line.txt", "[]\r\n");
    let optional = run(&["check", &grammar, &document]);
    assert_eq!(optional.code, 0);
    assert!(optional.out.contains("without the line end at its end"), "{}", optional.out);
    assert_eq!(run(&["check", "--exact", &grammar, &document]).code, 1);
    assert_eq!(run(&["check", "--trim", &grammar, &document]).code, 0);
}

#[test]
fn mistakes_in_grammars_are_shown_with_a_caret() {
    let grammar = file("broken.ebnf", "root ::= \"a\" vlue\nvalue ::= \"b\"\n");
    for command in ["check", "mask"] {
        let run = run(&[command, &grammar]);
        assert_eq!(run.code, 3);
        assert!(run.err.contains("undefined rule `vlue` at line 1, column 14"), "{}", run.err);
        assert!(run.err.contains("1 | root ::= \"a\" vlue\n   |              ^^^^"), "{}", run.err);
        assert!(run.err.contains("did you mean `value`?"), "{}", run.err);
    }
    let report = json(&run(&["check", "--json", &grammar]));
    assert_eq!((&report["error"]["kind"], &report["error"]["column"]), (&"grammar".into(), &14.into()));
    let run = run(&["check", "--regex", "a("]);
    assert_eq!(run.code, 3);
    assert!(run.err.contains('^'), "{}", run.err);
}

#[test]
fn warnings_go_to_standard_error() {
    let grammar = file("unused.ebnf", "root ::= \"a\"\nspare ::= \"b\"\n");
    let run = run(&["check", "--json", &grammar, "--text", "a"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("rule `spare` is never used (line 2, column 1)"), "{}", run.err);
    assert_eq!(json(&run)["documents"][0]["matches"], true);
}

#[test]
fn mask_counts_what_the_matcher_allows() {
    let vocab = Arc::new(Vocab::tiktoken(Encoding::Cl100kBase).unwrap());
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    let mut matcher = compiler.compile_ebnf(LIST).unwrap().matcher();
    matcher.accept_bytes(b"[1").unwrap();
    let allowed: Vec<u32> = (0..vocab.n_tokens() as u32).filter(|&token| matcher.is_token_allowed(token)).collect();

    let grammar = file("list4.ebnf", LIST);
    let prefix = file("prefix.txt", "[1");
    let run = run(&["mask", &grammar, "--prefix-file", &prefix, "--json", "-n", "1000000"]);
    assert_eq!(run.code, 0);
    let report = json(&run);
    assert_eq!(report["n_allowed"], allowed.len());
    let listed: Vec<u64> =
        report["tokens"].as_array().unwrap().iter().map(|token| token["id"].as_u64().unwrap()).collect();
    assert!(listed.iter().copied().eq(allowed.iter().map(|&token| u64::from(token))));

    let run = common::run(&["mask", &grammar, "--prefix", "[1,t", "-n", "3"]);
    assert_eq!(run.code, 0);
    for part in ["prefix    4 bytes: '[1,t'", "forced    'rue'", "'r'", "of 100,277 tokens", "complete  no"] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
}

#[test]
fn mask_tells_why_not() {
    let grammar = file("list5.ebnf", LIST);
    let why = |prefix: &str, asked: &str| {
        let run = run(&["mask", &grammar, "--prefix", prefix, "--json", "--why", asked]);
        let reason = json(&run)["why"][0].clone();
        assert_eq!(run.code, i32::from(reason["is_allowed"] == false), "{reason}");
        reason
    };
    assert_eq!(why("[1", "]")["is_allowed"], true);
    assert_eq!(why("[1]", "<|endoftext|>")["is_allowed"], true);
    assert!(why("[1", "<|endoftext|>")["reason"].as_str().unwrap().contains("not complete"));
    assert!(why("[1", "<|fim_prefix|>")["reason"].as_str().unwrap().contains("control token"));
    let crossing = why("[1", "\"],\"");
    assert_eq!((&crossing["is_allowed"], &crossing["n_bytes_read"]), (&false.into(), &0.into()));
    let inside = why("[1", ",t x");
    assert_eq!((&inside["id"], &inside["n_bytes_read"]), (&Value::Null, &2.into()));
    assert_eq!(inside["expected"][0]["what"], "\"rue\"");
    assert_eq!(why("[1", "100300")["is_allowed"], false);
    assert_eq!(why("[", "16")["id"], 16);
    assert_eq!(why("[", "\"16\"")["id"], 845);
}

#[test]
fn vocabularies_come_by_name_or_from_files() {
    let grammar = file("list6.ebnf", LIST);
    // "[", "]", "[]" and "x" in base64.
    let vocab = file("tiny.tiktoken", "Ww== 0\nXQ== 1\nW10= 2\neA== 3\n");
    let report = json(&run(&["mask", &grammar, "--vocab", &vocab, "--json"]));
    assert_eq!((&report["n_tokens"], &report["n_allowed"]), (&4.into(), &2.into()));
    let report = json(&run(&["mask", &grammar, "--vocab", "o200k_base", "--json"]));
    assert!(report["n_tokens"].as_u64().unwrap() > 200_000);
    // A vocabulary that can't spell the grammar: an empty mask, told as such.
    let vocab = file("none.tiktoken", "eA== 0\n");
    let run = run(&["mask", &grammar, "--vocab", &vocab]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("no token of the vocabulary can go on"), "{}", run.out);
    for (name, content) in
        [("bad.json", "{\"model\": 1}"), ("bad.tiktoken", "not base64 at all\n"), ("empty.tiktoken", "")]
    {
        let vocab = file(name, content);
        assert_eq!(common::run(&["mask", &grammar, "--vocab", &vocab]).code, 4, "{name}");
    }
    assert_eq!(common::run(&["mask", &grammar, "--vocab", "no_such_base"]).code, 4);
}

#[test]
fn a_prefix_that_does_not_match_is_told() {
    let grammar = file("list7.ebnf", LIST);
    let run = run(&["mask", &grammar, "--prefix", "[1,,"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("line 1, column 4 (byte 3)") && run.err.contains("expected: "), "{}", run.err);
}

#[test]
fn schemas_are_files_of_json() {
    let call =
        r#"{"name": "book_table", "arguments": {"restaurant": {"id": "r-0042"}, "date": "2024-02-29", "guests": 4}}"#;
    assert!(validator(TOOL_CALL).is_valid(&serde_json::from_str(call).unwrap()));
    assert_eq!(run(&["check", TOOL_CALL, "--text", call]).code, 0);
    let run = run(&["check", "--json", TOOL_CALL, "--text", call, "--text", &call.replace("02-29", "02-30")]);
    assert_eq!(run.code, 1, "{}", run.err);
    let documents = &json(&run)["documents"];
    assert_eq!((&documents[0]["matches"], &documents[1]["matches"]), (&true.into(), &false.into()));
    assert_eq!(documents[1]["offset"], call.find("29\"").unwrap());
    // Any name will do with the flag.
    let schema = file("schema.txt", r#"{"enum": [12, "ab"]}"#);
    let run = common::run(&["mask", "--json", "--schema", &schema, "--why", "\"1\"", "--why", "\"2\""]);
    assert_eq!(run.code, 1, "{}", run.err);
    let reasons = json(&run)["why"].as_array().unwrap().iter().map(|why| why["is_allowed"].clone()).collect::<Vec<_>>();
    assert_eq!(reasons, [true, false]);
    // And none, since the contents say what it is.
    assert_eq!(common::run(&["check", &schema, "--text", "12"]).code, 0);
    assert_eq!(common::run(&["check", "--ebnf", &schema, "--text", "12"]).code, 3);
    assert_eq!(common::run(&["check", "--schema", "--regex", "a", "--text", "a"]).code, 2);
}

#[test]
fn generate_prints_a_document() {
    let validator = validator(TOOL_CALL);
    let generated = |seed: &str| {
        let run = run(&["generate", TOOL_CALL, "--seed", seed]);
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    for seed in ["1", "2", "3"] {
        let text = generated(seed);
        assert!(validator.is_valid(&serde_json::from_str(&text).unwrap()), "{text}");
        assert_eq!(text, generated(seed));
    }
    let run = run(&["generate", "--json", "--regex", "[ab]{3}", "--max-tokens", "4"]);
    let report = json(&run);
    assert_eq!((run.code, report["documents"][0]["output"].as_str().unwrap().len()), (0, 3));
    assert!(report["documents"][0]["n_tokens"].as_u64().unwrap() <= 4);
    // No document is that short.
    assert_eq!(common::run(&["generate", TOOL_CALL, "--max-tokens", "5"]).code, 2);
}

#[test]
fn explain_tells_what_becomes_of_keywords() {
    let run = run(&["explain", TOOL_CALL]);
    assert_eq!(run.code, 0, "{}", run.err);
    for part in
        ["pattern", "enforced    #/properties/arguments/properties/restaurant/properties/id/pattern", "0 relaxed"]
    {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let schema = file("explained.json", r#"{"minLength": 2, "type": "string", "title": "a", "x-mine": 1}"#);
    let report = json(&common::run(&["explain", "--json", &schema]));
    assert_eq!(report["is_exact"], true);
    let verdict_of = |keyword: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["keyword"] == keyword).map(|finding| finding["verdict"].clone())
    };
    let expected = [("minLength", "enforced"), ("type", "enforced"), ("title", "annotation"), ("x-mine", "annotation")];
    for (keyword, verdict) in expected {
        assert_eq!(verdict_of(keyword), Some(verdict.into()), "{keyword}");
    }
    let schema = file("unsatisfiable.json", r#"{"type": "string", "minLength": 5, "maxLength": 3}"#);
    let run = common::run(&["explain", "--json", &schema]);
    assert_eq!(run.code, 3);
    assert_eq!(json(&run)["error"]["is_unsatisfiable"], true);
    let schema = file("reference.json", r#"{"type": "string", "pattern": "^(a)\\1$"}"#);
    assert_eq!(common::run(&["explain", &schema]).code, 3);
    let run = common::run(&["explain", "--lenient", &schema]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("RELAXED"), "{}", run.out);
}

#[test]
fn mistakes_in_commands_are_usage_errors() {
    let grammar = file("list8.ebnf", LIST);
    for args in [
        &[][..],
        &["check"],
        &["mask"],
        &["frobnicate"],
        &["demo", "--seed", "x"],
        &["demo", "--max-tokens", "1"],
        &["check", &grammar, "-", "-"],
        &["check", "-", "-"],
        &["mask", &grammar, "--regex", "a"],
        &["mask", &grammar, "--prefix", "a", "--prefix-file", "b"],
    ] {
        assert_eq!(run(args).code, 2, "{args:?}");
    }
    for args in [&["--help"][..], &["check", "--help"], &["mask", "--help"], &["demo", "--help"]] {
        let run = run(args);
        assert_eq!(run.code, 0);
        assert!(run.out.contains("Exit codes"), "{}", run.out);
    }
}

#[test]
fn nothing_from_outside_makes_it_panic() {
    let grammar = file("list9.ebnf", LIST);
    let directory = env!("CARGO_TARGET_TMPDIR");
    assert_eq!(run(&["check", "/no/such/file"]).code, 4);
    assert_eq!(run(&["check", directory]).code, 4);
    assert_eq!(run(&["check", &grammar, directory, "/no/such/file", "--text", "[]"]).code, 4);
    assert_eq!(run(&["mask", &grammar, "--prefix-file", directory]).code, 4);
    assert_eq!(run(&["mask", &grammar, "--vocab", directory]).code, 4);
    let broken = file("latin1.ebnf", b"root ::= \"\xE9\"");
    assert_eq!(run(&["check", &broken]).code, 4);
    for (name, content) in [("empty", ""), ("nul", "\0"), ("open", "root ::= (((("), ("mark", "\u{FEFF}root ::= \"a\"")]
    {
        let code = run(&["check", &file(name, content)]).code;
        assert_eq!(code, if name == "mark" { 0 } else { 3 }, "{name}");
    }
    let any = file("any.ebnf", "root ::= .*");
    for bytes in [&b"\xFF"[..], b"\xE4\xB8", b"\xF0\x9F\x98\x80\xF0", b"\0\n\r\n\xC0\x80"] {
        assert_eq!(run_with_input(&["check", &any, "-"], bytes).code, 1);
        assert_eq!(run_with_input(&["check", "--json", &any, "-"], bytes).code, 1);
        assert!([0, 1].contains(&run_with_input(&["mask", &any, "--prefix-file", "-", "-n", "1"], bytes).code));
    }
    let deep = vec![b'['; 300_000];
    assert_eq!(run_with_input(&["check", &grammar, "-"], &deep).code, 1);
    let long = "a".repeat(200_000);
    assert_eq!(run_with_input(&["check", "--json", &grammar, "-"], long.as_bytes()).code, 1);
}

#[test]
fn a_closed_pipe_ends_the_output_in_silence() {
    let mut child = command(&["demo", "--max-tokens", "2000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

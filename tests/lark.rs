//! Lark: the cases of `tests/data/lark` on the oracle and on the engine, errors with their places, warnings, captures and limits.

use maskwright::frontend::SyntaxError;
use maskwright::frontend::lark::{self, Parsed};
use maskwright::grammar::{Expr, Grammar, WarningKind};
use maskwright::reference::{OracleMatcher, Recognizer};
use maskwright::testing::cases::{self, Case, Subject};
use maskwright::testing::fixture::tight_config;
use maskwright::{GrammarCompiler, Limits, Vocab};
use std::path::Path;
use std::sync::Arc;

fn parse(source: &str) -> Result<Parsed, SyntaxError> {
    lark::parse(source, &Limits::default())
}

fn load() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lark");
    cases::load(&directory).unwrap_or_else(|message| panic!("{message}"))
}

/// Runs a case on the subject made from its grammar, or checks that the grammar is refused.
fn run<S: Subject>(case: &Case, subject: Result<S, String>) -> Result<usize, String> {
    match (subject, &case.error) {
        (Ok(mut subject), None) => cases::run(case, &mut subject),
        (Err(message), Some(wanted)) if message.contains(wanted) => Ok(1),
        (Err(message), _) => Err(format!("{}: {message}", case.name)),
        (Ok(_), Some(_)) => Err(format!("{}: the grammar is not refused", case.name)),
    }
}

#[track_caller]
fn sum(outcomes: impl IntoIterator<Item = Result<usize, String>>) -> usize {
    let (n_checks, failures): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    let failures: Vec<String> = failures.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
    n_checks.into_iter().flatten().sum()
}

fn has_schema(grammar: &Grammar) -> bool {
    grammar.exprs().iter().any(|expr| matches!(expr, Expr::Schema(_)))
}

#[test]
fn the_oracle_passes_every_case() {
    let cases = load();
    assert!(cases.len() >= 250, "{} cases", cases.len());
    let mut n_schemas = 0;
    let outcomes = cases.iter().filter_map(|case| {
        let grammar = parse(&case.grammar).map(|parsed| parsed.grammar).map_err(|error| error.to_string());
        // The oracle reads no schemas; the engine does.
        if grammar.as_ref().is_ok_and(has_schema) {
            n_schemas += 1;
            return None;
        }
        let oracle = grammar.and_then(|grammar| {
            let recognizer = Recognizer::new(&grammar, &Limits::default()).map_err(|error| error.to_string())?;
            Ok(OracleMatcher::new(&recognizer, Arc::clone(&case.vocab)))
        });
        Some(run(case, oracle))
    });
    println!("{} cases, {} checks", cases.len(), sum(outcomes));
    assert_eq!(n_schemas, 7, "cases with schemas");
}

#[test]
fn the_engine_passes_every_case() {
    for config in [maskwright::Config::default(), tight_config(1 << 12)] {
        let outcomes = load().into_iter().map(|case| {
            let compiler = GrammarCompiler::builder(Arc::clone(&case.vocab)).config(config.clone()).build();
            let compiled = compiler.compile_lark(&case.grammar);
            run(&case, compiled.map(|grammar| grammar.matcher()).map_err(|error| error.to_string()))
        });
        assert!(sum(outcomes) > 700);
    }
}

/// A grammar prints as EBNF that says the same, but for the names of control tokens and schemas that EBNF writes differently.
#[test]
fn grammars_print_as_ebnf() {
    let mut n_printed = 0;
    for case in load().iter().filter(|case| case.error.is_none()) {
        let Ok(parsed) = parse(&case.grammar) else { continue };
        let Some(text) = parsed.grammar.to_ebnf() else { continue };
        // EBNF refuses rules that never finish, which a rule with a parameter may be for some numbers.
        if text.contains(r"::= [^\0-\u{10FFFF}]") {
            continue;
        }
        let root = &parsed.grammar.rule(parsed.grammar.root()).name;
        let again = maskwright::frontend::ebnf::parse(&text, root, &Limits::default());
        let again = again.unwrap_or_else(|error| panic!("{}: {error:#}\n{text}", case.name));
        assert_eq!(again.grammar.to_ebnf().as_ref(), Some(&text), "{}", case.name);
        n_printed += 1;
    }
    assert!(n_printed > 150, "{n_printed}");
}

/// Source, a part of the message, line and column, a part of the hint ("" for no hint).
const ERRORS: &[(&str, &str, (usize, usize), &str)] = &[
    ("start: a\nb: \"x\"", "undefined name `a`", (1, 8), "did you mean `b`?"),
    ("start: itme\nitem: \"x\"", "undefined name `itme`", (1, 8), "did you mean `item`?"),
    ("start: INT", "undefined name `INT`", (1, 8), "write `%import common.INT`"),
    ("strat: \"a\"", "no rule `start`", (1, 1), "did you mean `strat`?"),
    ("root: \"a\"", "no rule `start`", (1, 1), "begins with the rule `start`; the first one here is `root`"),
    ("start: \"a\"\nb: \"b\"\nstart: \"c\"", "`start` is defined twice", (3, 1), "first defined at line 1, column 1"),
    ("start: \"a\"\n  \"b\"", "expected a definition", (2, 3), "begins with `|`"),
    ("start \"a\"", "expected `:` after the name `start`", (1, 7), ""),
    ("start", "the line ends where `:` was expected", (1, 5), ""),
    ("start: (\"a\"", "group is opened here", (1, 8), ""),
    ("start: \"a\nb: \"", "string is opened here", (1, 8), "ends on its line"),
    ("start: \"a\\q\"", "unknown escape `\\q`", (1, 10), "those of JSON"),
    ("start: \"é\" /(b/", "unclosed group", (1, 13), ""),
    ("start: /a/m /b$c/m", "anchors at lines", (1, 15), ""),
    ("start: \"a\"item\nitem: \"b\"", "could be the flag `i`", (1, 11), "put a blank"),
    ("start: < a", "`<` begins no special token", (1, 8), "the character is \"<\""),
    ("start: A\nA: \"x\" B\nB: \"y\" A", "refers to itself", (3, 1), "only rules"),
    ("start: A\nA: a\na: \"x\"", "rule `a` in a terminal", (2, 4), "only terminals"),
    ("start: \"a\" & \"b\"", "`&` is for terminals", (1, 12), ""),
    ("start: A\nA: \"a\" & ", "expected an expression after `&`", (2, 8), ""),
    ("start: A\nA: & \"a\"", "expected an expression before `&`", (2, 4), ""),
    ("start: A\nA: \"a\" ~", "expected an expression after `~`", (2, 8), ""),
    ("start: \"a\" -> \"b\"", "expected a name after `->`", (1, 12), ""),
    ("start: \"a\" -> b \"c\"", "expected the end of the alternative", (1, 17), ""),
    ("start: \"a\"{2,1}", "ends before it begins", (1, 11), ""),
    ("start: \"a\"{4294967296}", "above the limit repeat_max", (1, 12), ""),
    ("start: \"a\"~1.5", "malformed count `1.5`", (1, 12), ""),
    ("start: \"a\"..", "expected a string after `..`", (1, 11), ""),
    ("start: h\nh[lazy, lasy]: /a/", "unknown option `lasy`", (2, 9), "options are lazy"),
    ("start: h\nh[lazy capture]: /a/", "expected a comma", (2, 8), ""),
    ("start: h\nh[max_chars=-1]: /a/", "unexpected", (2, 13), ""),
    ("%import common.INTT\nstart: INTT", "no terminal `INTT`", (1, 16), "did you mean `INT`?"),
    ("%import common.INT INT\nstart: INT", "expected the end of the line", (1, 20), ""),
    ("%import common INT\nstart: INT", "expected `.` or `(`", (1, 16), "like `%import common.INT`"),
    ("%ignroe \" \"\nstart: \"a\"", "unknown directive `%ignroe`", (1, 1), "%ignore"),
    ("%llguidance {\"no_forcing\": 1}\nstart: \"a\"", "`no_forcing` is true or false", (1, 14), ""),
    ("%llguidance {\"a\" true}\nstart: \"a\"", "expected `:`", (1, 18), ""),
    ("start: p::incr([3:2])\np::_: \"a\"", "a range of bits", (1, 16), ""),
    ("start: \"a\" %if lt(_, 3)", "needs the parameter", (1, 16), "`name::_`"),
    ("start: @calls", "there is no grammar `calls`", (1, 8), "beside the source"),
    ("start: \"x\" | a\na: \"x\" b\nb: a", "it needs `b`, which needs `a` again", (2, 1), "an alternative without"),
];

#[test]
fn errors_say_what_and_where() {
    for &(source, message, line_column, hint) in ERRORS {
        let error = parse(source).map(|_| "a grammar").expect_err(source);
        let seen = format!("{source}\n-> {error:#}");
        assert!(error.message().contains(message), "wanted {message:?}: {seen}");
        assert_eq!(error.line_column(), line_column, "{seen}");
        match error.hint() {
            None => assert_eq!(hint, "", "{seen}"),
            Some(found) => assert!(!hint.is_empty() && found.contains(hint), "wanted {hint:?}: {seen}"),
        }
    }
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let source = "%llguidance {\"no_forcing\": true}\nstart: h g\nh[temperature=0.7, max_tokens=3]: /a/\n\
                  g[stop=\"x\", max_chars=3]: \"(\" /b/ \")\"\nspare: \"y\"";
    let parsed = parse(source).unwrap();
    let seen: Vec<_> = parsed.warnings.iter().map(|warning| (warning.kind(), warning.rule())).collect();
    let expected = [
        (WarningKind::WithoutEffect, "start"),
        (WarningKind::WithoutEffect, "h"),
        (WarningKind::ReadDifferently, "g"),
        (WarningKind::UnusedRule, "spare"),
    ];
    assert_eq!(seen, expected);
    let parsed = parse("start[max_chars=5]: \"(\" start \")\" | \"x\"").unwrap();
    let text = "`max_chars` of `start` has no effect: its body must be regular, but rule `start` is recursive";
    assert_eq!(parsed.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    let parsed = parse("start[max_tokens=5, max_chars=3]: \"(\" start \")\" | \"x\"").unwrap();
    let options: Vec<String> = parsed.warnings.iter().map(ToString::to_string).collect();
    assert!(options.len() == 2 && options[0].contains("max_chars") && options[1].contains("max_tokens"), "{options:?}");
    assert!(options.iter().all(|option| option.ends_with("rule `start` is recursive")), "{options:?}");
}

/// Where llguidance's lexer goes on with a lexeme too long, a warning names it.
#[test]
fn longest_match_is_a_warning_where_it_differs() {
    let found = |source: &str| {
        let parsed = parse(source).unwrap_or_else(|error| panic!("{error:#}"));
        let is_lint = |warning: &&maskwright::grammar::Warning| warning.to_string().contains("longest match");
        let spans = parsed.warnings.iter().filter(is_lint).map(|warning| warning.span().unwrap());
        spans.map(|span| source[span.start as usize..span.end as usize].to_owned()).collect::<Vec<_>>()
    };
    for (source, expected) in [
        ("start: /[ab]+/ \"b\"", &["/[ab]+/"][..]),
        ("start: \"foo\" \"bat\" | \"foobar\"", &["\"foo\""]),
        ("start: X X X\nX: \"a\" | \"aa\"", &["X", "X"]),
        ("start: /(.|\\n)*/ \"</x>\"", &["/(.|\\n)*/"]),
        ("start: NAME (\"=\" /[0-9]+/)?\nNAME: /[a-z]+(=[a-z]+)?/", &["NAME"]),
        ("start: NAME NAME\nNAME: /[a-z]+/\n%ignore / +/", &["NAME"]),
        ("start: a \"b\"\na: c | \"x\"\nc: /[ab]/+", &["/[ab]/"][..0]),
        ("start: \"if\" ID | ID\nID: /[a-z]+/", &["\"if\""]),
        // Nothing differs here.
        ("start: /[a-z]+/ \"=\" /[0-9]+/", &[]),
        ("start: \"if\" ID\nID: /[a-z]+/", &[]),
        ("start: h \"b\"\nh[lazy]: /[ab]*b/", &[]),
        ("start: NAME (\",\" NAME)*\nNAME: /[a-z]+/\n%ignore / +/", &[]),
        ("start: \"(\" start \")\" | \"x\"", &[]),
        ("start: <|x|> /.*/ <|y|>", &[]),
        ("start: \"a\"\nspare: /[ab]+/ \"b\"", &[]),
    ] {
        assert_eq!(found(source), expected, "{source}");
    }
    let warning = &parse("start: a\na: \"foo\" \"bat\" | \"foobar\"").unwrap().warnings[0];
    let text = "where `\"foo\"` can end, `\"foobar\"` can go on with what follows: llguidance takes the longest match and reads another language";
    assert_eq!(
        (warning.to_string().as_str(), warning.rule(), warning.kind()),
        (text, "a", WarningKind::ReadDifferently)
    );
}

#[test]
fn captures_have_names() {
    let source =
        "start[capture]: a b c\na[capture=\"A\"]: /a/\nb[capture, suffix=\"x\", stop_capture=\"end\"]: /b*/\nc: /c/";
    let captures = parse(source).unwrap().captures;
    let seen: Vec<_> = captures.iter().map(|c| (c.name.as_str(), c.rule.as_str(), c.is_marker)).collect();
    assert_eq!(seen, [("start", "start", false), ("A", "a", false), ("b", "b", false), ("end", "b", true)]);
}

#[test]
fn unknown_control_tokens_are_errors_of_the_vocabulary() {
    let vocab = Vocab::from_tokens(["a"]).unwrap();
    let error = GrammarCompiler::new(vocab.into()).compile_lark("start: <|nothing|>").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("<|nothing|>"), "{error}");
}

#[test]
fn grammars_given_beside_the_source_are_copied() {
    let limits = Limits::default();
    let status = parse("start: ok | \"cancelled\"\nok: \"ok\"").unwrap().grammar;
    let source = "start: @status (\",\" status-ok | %lark { start: @status })\nstatus-ok: \"!\"";
    let parsed = lark::parse_with(source, &[("status", &status)], &limits).unwrap();
    let names: Vec<&str> = parsed.grammar.rules().iter().map(|rule| &*rule.name).collect();
    assert_eq!(names, ["start", "status-ok", "status-start", "status-ok-2", "lark1.start"]);
    let recognizer = Recognizer::new(&parsed.grammar, &limits).unwrap();
    for (text, is_sentence) in [("ok,!", true), ("cancelledok", true), ("ok!", false), ("ok", false)] {
        let vocab = Arc::new(cases::default_vocab());
        let mut oracle = OracleMatcher::new(&recognizer, vocab);
        let is_read = Subject::accept_bytes(&mut oracle, text.as_bytes());
        assert_eq!(is_read && Subject::is_accepting(&mut oracle), is_sentence, "{text}");
    }
}

#[test]
fn limits_are_met_before_they_hurt() {
    let limits = Limits {
        nesting_max: 5,
        source_bytes_max: 200,
        n_rules_max: 4,
        n_exprs_max: 20,
        repeat_max: 10,
        ..Limits::default()
    };
    let refusal = |source: &str| lark::parse(source, &limits).map(|_| ()).expect_err(source);
    let nested = |depth: usize| format!("start: {}\"x\"{}", "(".repeat(depth), ")".repeat(depth));
    assert!(lark::parse(&nested(5), &limits).is_ok());
    for (source, message, given) in [
        (nested(6), "nesting_max = 5", (6, 5)),
        ("#".repeat(201), "source_bytes_max = 200", (201, 200)),
        ("start: \"a\"\na:\nb:\nc:\nd:".to_owned(), "n_rules_max = 4", (5, 4)),
        ("start: \"a\"~11".to_owned(), "repeat_max = 10", (11, 10)),
        (format!("start: {}", "\"a\" ".repeat(30)), "n_exprs_max = 20", (21, 20)),
        ("start: <[1-1000]>".to_owned(), "n_exprs_max = 20", (21, 20)),
        ("start: p::0\np::_: \"a\" p::incr(_) | \"b\"".to_owned(), "n_rules_max = 4", (5, 4)),
        (
            "start: %regex {\"substring_chars\": \"abcdefghijklmnopqrstuvwxyz\"}".to_owned(),
            "n_exprs_max = 20",
            (21, 20),
        ),
    ] {
        let error = refusal(&source);
        assert!(error.message().contains(message), "{error:#}");
        assert_eq!(error.limit_met(), Some(given), "{error:#}");
    }
    let blocks = |depth: usize| format!("{}\"x\"{}", "start: %lark { ".repeat(depth) + "start: ", "}".repeat(depth));
    assert!(parse(&blocks(3)).is_ok());
    assert!(parse(&blocks(300)).unwrap_err().message().contains("nesting_max"));
}

/// Each of these could take quadratic time, or overflow the stack.
#[test]
fn large_sources_are_read_in_one_pass() {
    let n = 50_000;
    for part in [" \"a\"", " | \"a\"", "\n|", " // c\n |", " [\"a\"]", " (\"a\")~2", " /a/", " -> a |"] {
        let source = format!("start: \"a\"{}", part.repeat(n));
        parse(&source).unwrap_or_else(|error| panic!("{part}: {error:#}"));
    }
    for (part, message) in [
        ("(", "not closed"),
        ("%lark {", "not closed"),
        ("~", "after `~`"),
        ("{", "malformed count"),
        ("<", "begins no special"),
        ("%json", "needs a block"),
        ("\"a\" & ", "for terminals"),
        ("a::", "undefined name"),
    ] {
        let error = parse(&format!("start: \"x\" {}", part.repeat(n))).map(|_| ()).expect_err(part);
        assert!(error.message().contains(message) && format!("{error:#}").len() < 1000, "{part}: {error:#}");
    }
}

/// Pieces of grammars, whole and broken.
const PIECES: [&str; 52] = [
    "start",
    "a",
    "A",
    ":",
    "::",
    "_",
    " ",
    "\n",
    "\n| ",
    "\"",
    "\"b\"",
    "\"b\"i",
    "\\",
    "..",
    "/",
    "/c/",
    "/./s",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "~",
    "&",
    "|",
    "*",
    "+",
    "?",
    "2",
    ",",
    "->",
    "%ignore",
    "%import common.INT",
    "%if",
    "%lark {",
    "%json {",
    "%regex ",
    "{\"substring_chars\": \"ab\"}",
    "lazy",
    "suffix=",
    "stop=\"x\"",
    "<|x|>",
    "<[300]>",
    "<",
    "@a",
    "#",
    "//",
    "is_ones([0:3])",
    "set_bit(1)",
    "é",
    "\0",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    /// Any text is a grammar, or an error with a place inside the text.
    #[test]
    fn broken_texts_are_errors(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..14), tail in proptest::bool::ANY) {
        let source = format!("start: {}{}", pieces.concat(), if tail { "\na: \"x\"\nA: /y/" } else { "" });
        let limits = Limits { n_rules_max: 100, ..Limits::default() };
        if let Err(error) = lark::parse(&source, &limits) {
            let span = error.span();
            proptest::prop_assert!(span.start <= span.end && span.end as usize <= source.len());
            proptest::prop_assert!(source.is_char_boundary(span.start as usize) && source.is_char_boundary(span.end as usize));
            let long_form = format!("{error:#}");
            proptest::prop_assert!(long_form.contains('^'));
        }
    }
}

#[test]
fn line_ends_and_comments_are_one_however_many_there_are() {
    let parsed = |text: &str| Grammar::from_lark(text).unwrap().grammar;
    let expected = parsed("start: \"a\" | b | \"c\"\nb: \"b\"\n");
    // Runs as long as the bytes between two reports of work, and some bytes more or less.
    for n in (1..40).chain(3260..3300).chain([7000]) {
        let run = "\n# x ".repeat(n) + "\n \t";
        for pad in ["", " ", "\r\n"] {
            let text = format!("{pad}{run}start: \"a\"{run}{pad}| b{pad}{run}| \"c\"{run}\nb: \"b\"{run}{pad}");
            assert_eq!(parsed(&text), expected, "{n} {pad:?}");
        }
    }
}

//! The EBNF parser: the grammars of texts, and the errors and hints for malformed texts.

use maskwright::Limits;
use maskwright::frontend::SyntaxError;
use maskwright::frontend::ebnf::{self, Parsed};
use maskwright::frontend::regex;
use maskwright::grammar::{ControlRef, Expr, Grammar, GrammarBuilder, Regex, WarningKind};
use std::sync::Arc;

fn parse(source: &str) -> Result<Parsed, SyntaxError> {
    ebnf::parse(source, "root", &Limits::default())
}

fn grammar(source: &str) -> Grammar {
    parse(source).unwrap_or_else(|error| panic!("{error:#}")).grammar
}

fn body(source: &str) -> Expr {
    let grammar = grammar(&format!("root ::= {source}"));
    grammar.expr(grammar.rule(grammar.root()).body).clone()
}

/// Source, a part of the message, line and column, a part of the hint ("" for no hint).
type ErrorCase = (&'static str, &'static str, (usize, usize), &'static str);

const ERRORS: &[ErrorCase] = &[
    // Calls.
    ("root ::= Regex(=\"a\")", "unexpected `(=`", (1, 15), ""),
    // Names.
    ("root ::= vlaue\nvalue ::= \"x\"", "undefined rule `vlaue`", (1, 10), "did you mean `value`?"),
    ("root ::= \"a\"\n  | Number\nnumber ::= \"x\"", "undefined rule `Number`", (2, 5), "did you mean `number`?"),
    ("root ::= zebra\nvalue ::= \"x\"", "undefined rule `zebra`", (1, 10), ""),
    ("root ::= a-b\na ::= .\nb ::= .", "undefined rule `a-b`", (1, 10), "write `a - b`"),
    ("root ::= a- b\na ::= .\nb ::= .", "undefined rule `a-`", (1, 10), "`-` belongs to the name"),
    ("root ::= a.b\na ::= .\nb ::= .", "undefined rule `a.b`", (1, 10), "write `a . b`"),
    ("root ::= TokenDispatch((1, a))", "undefined rule `TokenDispatch`", (1, 10), "`Substring(...)`"),
    ("root ::= TokenTagDispatch((1, a))", "undefined rule `a`", (1, 31), ""),
    ("root ::= TokenTagDispatch(1)", "a tag is given as `(token, rule)`", (1, 27), ""),
    ("root ::= TokenTagDispatch(tags=1)", "has no argument `tags`", (1, 32), "`excludes`"),
    ("root ::= ExcludeToken(root)", "a token is given as its id", (1, 23), ""),
    ("root ::= ExcludeToken(\"\")", "not empty", (1, 23), ""),
    ("root ::= !<[*]>", "`!` stands before a token", (1, 10), ""),
    ("root ::= !\"a\"", "unexpected `!`", (1, 10), "`!<name>`"),
    ("root ::= <[3-1]>", "ends before it begins", (1, 10), ""),
    (
        "root ::= \"a\"\nb ::= \"b\"\n\nroot ::= \"c\"",
        "rule `root` is defined twice",
        (4, 1),
        "first defined at line 1, column 1",
    ),
    ("Root ::= \"a\"", "no rule `root`", (1, 1), "did you mean `Root`?"),
    ("start ::= \"a\"", "no rule `root`", (1, 1), "the first rule is `start`"),
    ("", "no rule `root`", (1, 1), "the source has no rules"),
    ("# nothing here", "no rule `root`", (1, 1), "the source has no rules"),
    // The structure of a file.
    ("\"a\"", "expected a rule", (1, 1), ""),
    ("root", "expected `::=`", (1, 1), ""),
    ("root x ::= \"a\"", "expected a rule", (1, 1), ""),
    ("::= \"a\"", "`::=` without a rule name", (1, 1), ""),
    ("root ::= ::= \"a\"", "`::=` without a rule name", (1, 10), ""),
    ("root ::= \"a\" \"b\" ::= \"c\"", "`::=` without a rule name", (1, 18), ""),
    ("root = \"a\"", "unexpected `=`", (1, 6), "`name ::= ...`"),
    ("root := \"a\"", "unexpected `:`", (1, 6), "`name ::= ...`"),
    ("root : \"a\"", "unexpected `:`", (1, 6), "`name ::= ...`"),
    ("root ::= \"a\";", "unexpected `;`", (1, 13), "no end mark"),
    ("root ::= \"a\", \"b\"", "unexpected `,`", (1, 13), "no comma"),
    ("root ::= 5 \"a\"", "unexpected `5`", (1, 10), "quotes"),
    ("root ::= !\"a\"", "unexpected `!`", (1, 10), "`~`"),
    ("root ::= \\d+", "unexpected `\\`", (1, 10), "escapes belong"),
    ("root ::= \u{201C}a\u{201D}", "unexpected `\u{201C}`", (1, 10), "written with \""),
    ("root ::=\u{A0}\"a\"", "unexpected character U+00A0", (1, 9), "blanks"),
    ("root ::= \0", "unexpected character U+0000", (1, 10), ""),
    ("root ::= é", "unexpected `é`", (1, 10), ""),
    ("root ::= \"é\" é", "unexpected `é`", (1, 14), ""),
    ("root ::= // a comment\n \"a\"", "empty regex", (1, 10), "comments begin with `#`"),
    ("root ::= \"a\" /* a comment */", "can't begin with `*`", (1, 14), "comments begin with `#`"),
    // What is opened and not closed.
    (
        "root ::= (\"a\" | b\nb ::= \"x\"",
        "group is opened here and not closed",
        (1, 10),
        "rule `b` begins at line 2, column 1",
    ),
    ("root ::= \"a\" ((\"b\")\n", "group is opened here and not closed", (1, 14), ""),
    ("root ::= (\"a\"))", "`)` closes nothing", (1, 15), "write \")\""),
    ("root ::= \"a\" ]", "unexpected `]`", (1, 14), "write \"]\""),
    ("root ::= \"abc\n b ::= \"x\"", "string is opened here and not closed", (1, 10), "a newline `\\n`"),
    ("root ::= 'it\\'s", "string is opened here and not closed", (1, 10), "`'` is written `\\'`"),
    ("root ::= \"abc\\", "string is opened here and not closed", (1, 10), ""),
    ("root ::= [a-z\n", "class is opened here and not closed", (1, 10), "`]` is written `\\]`"),
    ("root ::= [^\\]", "class is opened here and not closed", (1, 10), ""),
    ("root ::= /[a-z]+\n", "regex is opened here and not closed", (1, 10), "`\\/`"),
    ("root ::= <|eot_id", "`<` begins no control token", (1, 10), "`<|name|>`"),
    ("root ::= <|x> \"a\"", "`<` begins no control token", (1, 10), "`<|name|>`"),
    ("root ::= \"a\" < \"b\"", "`<` begins no control token", (1, 14), "the character is \"<\""),
    ("root ::= <[x]>", "`<` begins no control token", (1, 10), "`<[123]>`"),
    ("root ::= <>", "`<` begins no control token", (1, 10), ""),
    // Operators.
    ("root ::= *\"a\"", "nothing to repeat before `*`", (1, 10), ""),
    ("root ::= \"a\" | +", "nothing to repeat before `+`", (1, 16), ""),
    ("root ::= (?\"a\")", "nothing to repeat before `?`", (1, 11), ""),
    ("root ::= {3}", "nothing to repeat before `{3}`", (1, 10), ""),
    ("root ::= ~*", "expected an expression after `~`", (1, 10), ""),
    ("root ::= \"a\" &", "expected an expression after `&`", (1, 14), "\"\""),
    ("root ::= \"a\" - | \"b\"", "expected an expression after `-`", (1, 14), "\"\""),
    ("root ::= (\"a\" - ) \"b\"", "expected an expression after `-`", (1, 15), "\"\""),
    ("root ::= - \"a\"", "expected an expression before `-`", (1, 10), ""),
    ("root ::= \"a\" | & \"b\"", "expected an expression before `&`", (1, 16), ""),
    ("root ::= \"a\" & & \"b\"", "expected an expression after `&`", (1, 14), ""),
    ("root ::= \"a\" (= \"b\") \"c\"", "nothing can follow a look-ahead", (1, 22), "last part of a rule"),
    ("root ::= \"a\" (= \"b\") | \"c\"", "nothing can follow a look-ahead", (1, 22), ""),
    ("root ::= (\"a\" (= \"b\"))", "stands at the end of a rule, outside of groups", (1, 15), ""),
    ("root ::= \"a\" (= (= \"b\"))", "stands at the end of a rule, outside of groups", (1, 17), ""),
    ("root ::= \"a\" & (= \"b\")", "expected an expression after `&`", (1, 14), ""),
    ("root ::= \"a\" (= \"b\" &)", "expected an expression after `&`", (1, 21), ""),
    // Counts.
    ("root ::= \"a\"{3,1}", "the count ends before it begins", (1, 13), "did you mean `{1,3}`?"),
    ("root ::= \"a\"{4294967297}", "above the limit repeat_max = 4294967294", (1, 13), "`{n,}`"),
    ("root ::= \"a\"{1,99999999999999999999999}", "above the limit repeat_max", (1, 13), ""),
    ("root ::= \"a\"{}", "malformed count `{}`", (1, 13), "`{2,5}`"),
    ("root ::= \"a\"{,}", "malformed count `{,}`", (1, 13), "`{2,5}`"),
    ("root ::= \"a\"{1,2,3}", "malformed count", (1, 13), "`{2,5}`"),
    ("root ::= \"a\"{1 2}", "malformed count", (1, 13), "`{2,5}`"),
    ("root ::= \"a\"{-1}", "`{` begins no count", (1, 13), "the character is \"{\""),
    ("root ::= \"a\"{1", "`{` begins no count", (1, 13), ""),
    // Literals and classes.
    ("root ::= \"a\\q\"", "unknown escape `\\q`", (1, 12), "`\\\\`"),
    ("root ::= \"\\d\"", "more than one character", (1, 11), "`[\\d]`"),
    ("root ::= \"\\xg\"", "`\\x` needs hexadecimal digits", (1, 11), ""),
    ("root ::= \"\\x110000\"", "U+110000 is beyond the last character", (1, 11), ""),
    ("root ::= \"\\x123456789ab\"", "`\\x123456789ab` is beyond the last character", (1, 11), ""),
    ("root ::= \"\\xD800\"", "U+D800 is half of a surrogate pair", (1, 11), ""),
    ("root ::= \"\\u12g4\"", "`\\u` needs 4 hexadecimal digits", (1, 11), ""),
    ("root ::= \"\\U0001F60\"", "`\\U` needs 8 hexadecimal digits", (1, 11), ""),
    ("root ::= \"\\u{}\"", "one to six hexadecimal digits", (1, 11), ""),
    ("root ::= \"\\u{1234567}\"", "one to six hexadecimal digits", (1, 11), ""),
    ("root ::= \"\\u{110000}\"", "U+110000 is beyond the last character", (1, 11), ""),
    ("root ::= \"\\uD83D\\uDE00\"", "half of a surrogate pair", (1, 11), "write `\\u{1F600}`"),
    ("root ::= \"\\uDE00\"", "U+DE00 is half of a surrogate pair", (1, 11), "`\\u{...}`"),
    ("root ::= []", "empty class", (1, 10), "\"\""),
    ("root ::= [z-a]", "ends before it begins", (1, 11), "did you mean `a-z`?"),
    ("root ::= [a-Z]", "ends before it begins", (1, 11), "did you mean `a-zA-Z`?"),
    ("root ::= [f-A]", "ends before it begins", (1, 11), "did you mean `a-fA-F`?"),
    ("root ::= [a-\\d]", "needs a character at both ends", (1, 11), "`\\-`"),
    ("root ::= [\\w-z]", "needs a character at both ends", (1, 11), "`\\-`"),
    ("root ::= [é\\p{L}]", "unknown escape `\\p`", (1, 12), "`/\\p{L}/`"),
    ("root ::= \"a\"i\ni ::= \"b\"", "`i` right after a literal is a flag", (1, 13), "put a blank before it"),
    // Regexes.
    ("root ::= /a/ix2", "unknown regex flag `2`", (1, 15), "`c`, `i`, `j`, `s`, `u` and `x`"),
    ("root ::= /a/foo", "unknown regex flag `f`", (1, 13), "blank"),
    ("root ::= /a/s\ns ::= \"b\"", "`s` right after a regex is a flag", (1, 13), "put a blank before it"),
    ("root ::= \"é\" /\\/(b/", "unclosed group", (1, 17), ""),
    // Control tokens.
    ("root ::= <[4294967296]>", "the id of a token is below 4294967296", (1, 10), ""),
    ("root ::= Token(4294967296)", "the id of a token is below 4294967296", (1, 16), ""),
    ("root ::= Token(\"\")", "a token has a name", (1, 16), ""),
    ("root ::= Token(\"a\" 1)", "unexpected `1`", (1, 20), ""),
    // Operands that are not regular.
    ("root ::= ~root \"a\" | \"b\"", "an operand of `~` must be regular, but rule `root` is recursive", (1, 11), ""),
    (
        "root ::= \"a\" - (\"b\" | a)\na ::= \"(\" b \")\" | \"x\"\nb ::= \"y\" a",
        "an operand of `-` must be regular, but rule `a` is recursive",
        (1, 16),
        "",
    ),
    (
        "root ::= \"a\" & (\"b\" <|eot|>)",
        "an operand of `&` must be regular, but `<|eot|>` is a control token",
        (1, 17),
        "",
    ),
    (
        "root ::= a - \"a\"\na ::= Token(3)",
        "an operand of `-` must be regular, but `Token(3)` is a control token",
        (1, 10),
        "",
    ),
    // Rules that never finish.
    (
        "root ::= a\na ::= \"x\" a",
        "rule `a` can never finish: it needs `a` again",
        (2, 1),
        "an alternative without `a`",
    ),
    ("root ::= \"x\" | a\na ::= \"x\" b\nb ::= (a | \"y\" a)+", "it needs `b`, which needs `a` again", (2, 1), ""),
    ("root ::= root", "rule `root` can never finish", (1, 1), ""),
    ("root ::= \"x\" | [^\\0-\\u{10FFFF}] \"y\" b\nb ::= [^\\0-\\U0010FFFF]", "nothing matches this", (2, 7), ""),
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
            Some(found) => assert!(found.contains(hint), "wanted {hint:?}: {seen}"),
        }
        let (line, column) = line_column;
        assert_eq!(error.to_string(), format!("{} at line {line}, column {column}", error.message()));
        assert!(seen.contains(&format!("\n {line} | ")) && seen.contains('^'), "{seen}");
        let is_phrase = !error.message().starts_with(char::is_uppercase) || error.message().starts_with("U+");
        assert!(is_phrase && !error.message().ends_with('.'), "{seen}");
    }
}

#[test]
fn the_long_form_shows_the_line_and_the_hint() {
    let error = parse("# comment\nroot ::= \"a\" (vlaue | \"b\")\nvalue ::= \"x\"").unwrap_err();
    let expected = "undefined rule `vlaue` at line 2, column 15\n \
                    2 | root ::= \"a\" (vlaue | \"b\")\n   \
                      |               ^^^^^\n hint: did you mean `value`?";
    assert_eq!(format!("{error:#}"), expected);
}

#[test]
fn unused_rules_are_warnings() {
    let parsed = parse("root ::= a\nspare ::= other\nother ::= \"x\" other\na ::= \"a\"\nself ::= self").unwrap();
    let seen: Vec<_> = parsed.warnings.iter().map(|w| (w.kind(), w.rule(), w.to_string())).collect();
    let unused = |rule: &'static str| (WarningKind::UnusedRule, rule, format!("rule `{rule}` is never used"));
    let never = |rule, why| (WarningKind::NeverFinishes, rule, format!("rule `{rule}` can never finish: {why}"));
    let expected = [
        unused("spare"),
        never("spare", "it needs `other`, which can't"),
        unused("other"),
        never("other", "it needs `other` again"),
        unused("self"),
        never("self", "it needs `self` again"),
    ];
    assert_eq!(seen, expected);
    assert_eq!(parsed.warnings[0].span().unwrap().start, 11);
}

/// The usual root rule and what it refers to are no mistakes where another root was chosen.
#[test]
fn another_root_is_no_reason_to_warn() {
    let source = "root ::= a b\na ::= \"a\"\nb ::= \"b\"\nspare ::= b";
    let warnings = |root| ebnf::parse(source, root, &Limits::default()).unwrap().warnings;
    let unused = |root| warnings(root).iter().map(|warning| warning.rule().to_owned()).collect::<Vec<_>>();
    assert_eq!(unused("root"), ["spare"]);
    assert_eq!(unused("a"), ["spare"]);
    assert_eq!(unused("spare"), [""; 0]);
}

/// Different spellings of one grammar are equal.
#[test]
fn spellings_of_the_same_grammar() {
    let same: &[&[&str]] = &[
        &[
            "\"a\"",
            "'a'",
            "(\"a\")",
            "\"\\x61\"",
            "'\\u0061'",
            "\"\\u{61}\"",
            "\"\\U00000061\" # comment",
            "(( \"a\" ) )",
            "\r\n\t\"a\"",
        ],
        &["\"a\" |", "\"a\"\n|\n", "\"a\" | \"\"", "\"a\" | ()", "\"a\" | ''i"],
        &["\"\"", "", "()", "''", "# nothing"],
        &["\"é\"", "\"\\xe9\"", "\"\\x00000e9\"", "\"\\xE9\"", "\"\\u00e9\"", "\"\\u{e9}\""],
        &["\"a\"?", "\"a\"{0,1}", "\"a\"{,1}", "\"a\" ?", "\"a\"{ 0 , 1 }"],
        &["\"a\"*", "\"a\"{0,}", "\"a\"{0, -1}"],
        &["\"a\"+", "\"a\"{1,}"],
        &["\"a\"{3}", "\"a\"{3,3}", "\"a\"{03}"],
        &["[a-c]", "[abc]", "[cba]", "[a-bb-c]", "[\\x61-\\u0063]", "[^\\0-`d-\\u{10FFFF}]"],
        &[".", "[\\0-\\U0010FFFF]", "[\\s\\S]", "[^]"],
        &["[-a]", "[a-]", "[\\-a]", "[a\\-]"],
        &["[\\]\\[]", "[[\\]]"],
        &["<[12]>", "Token(12)", "Token( 12 )", "<[012]>"],
        &["<|x|>", "Token(\"<|x|>\")", "Token('<|x|>')"],
        &["Token(1, \"<b>\")", "(<[1]> | <b>)", "<[1]>|<b>"],
        &["\"a\" \"b\" & \"c\" | \"d\"", "((\"a\" \"b\") & \"c\") | \"d\""],
        &["\"a\" & \"b\" - \"c\" & \"d\"", "((\"a\" & \"b\") - \"c\") & \"d\"", "\"a\"&\"b\"-\"c\"&\"d\""],
        &["~\"a\"* \"b\"", "(~(\"a\"*)) \"b\""],
        &["~~\"a\"", "~ ~ \"a\"", "~(~\"a\")"],
        &["\"a\"*?", "(\"a\"*)?"],
        &["\"a\"\"b\"", "\"a\" \"b\"", "\"a\"\n\n# x\n\"b\""],
        &["/a\\/b/", "/a\\/b/ ", "Regex(\"a/b\")", "Regex(\"a/b\", json_string=false, flags=\"\")"],
        &["/a\"\\d/ij", "Regex(\"a\\\"\\\\d\", flags=\"i\", json_string = true)", "Regex('a\"\\\\d', flags='ji', )"],
        &["/(?:)/", "Regex(\"\")", "Regex('')", "%regex \"\""],
        &["/a+/i", "%regex /a+/i", "%regex/a+/i"],
        &["/a\\/\\d/", "%regex \"a/\\\\d\"", "%regex 'a/\\\\d'", "%regex\n/a\\/\\d/"],
        &["Substring(\"a\", 'b')", "Substring( \"a\" , \"\\x62\" , )"],
    ];
    for spellings in same {
        for spelling in &spellings[1..] {
            assert_eq!(body_text(spelling), body_text(spellings[0]), "{spelling:?} and {:?}", spellings[0]);
        }
    }
}

fn body_text(source: &str) -> String {
    grammar(&format!("root ::= {source}")).to_ebnf().unwrap()
}

#[test]
fn tokens_are_what_they_seem() {
    assert_eq!(body("\"\\\\/bfnrt\""), Expr::Literal(b"\\/bfnrt"[..].into()));
    assert_eq!(body("\"a\0b\""), Expr::Literal(b"a\0b"[..].into()));
    assert_eq!(body("\"\\b\\f\\v\\a\\e\\0\\/\\-\\[\\]\\.\""), Expr::Literal(b"\x08\x0C\x0B\x07\x1B\0/-[]."[..].into()));
    assert_eq!(body("\"Straße\"i"), Expr::LiteralNoCase("Straße".into()));
    let control = |text: &str| Expr::Control(ControlRef::Name(text.into()));
    for name in ["<|eot_id|>", "<|a b|>", "<think>", "</s>", "<a.b:c-d_e/1>", "<｜tool▁calls｜>", "<0x0A>"] {
        assert_eq!(body(name), control(name));
    }
    assert_eq!(body("Token(\"any name\")"), control("any name"));
    let Expr::Regex(regex) = body("/a\\/[b\\]]\\\\/is") else { panic!("a regex") };
    assert_eq!((&*regex.pattern, &*regex.flags), (r"a/[b\]]\\", "is"));
    let Expr::Regex(regex) = body("/# \"not a comment/") else { panic!("a regex") };
    assert_eq!(&*regex.pattern, "# \"not a comment");
}

#[test]
fn patterns_with_ends_of_lines_are_written_as_calls() {
    let sources = [
        r#"Regex("a\n\\d+")"#,
        r#"Regex("\\d\n\0", flags="u")"#,
        r#"Regex("a . # b\n c[a\r]", flags="x")"#,
        r#"Regex("[.]\n.", flags="si")"#,
        r#"Regex("[xy]\n.", flags="")"#,
    ];
    for source in sources {
        let written = grammar(&format!("root ::= {source}"));
        let printed = written.to_ebnf().unwrap();
        assert_eq!(grammar(&printed), written, "{printed}");
    }
    assert_eq!(body_text(r#"Regex("a\n\\d+")"#), "root ::= Regex(\"a\\n\\\\d+\")\n");
}

#[test]
fn flags_and_macros_end_where_names_begin() {
    // `"a"item` is a literal and a rule; `"a" i` too.
    let text = grammar("root ::= \"a\"item \"b\" i Token (\"x\")\nitem ::= \"c\"\ni ::= \"d\"\nToken ::= \"e\"")
        .to_ebnf()
        .unwrap();
    assert!(text.starts_with("root ::= \"a\" item \"b\" i Token \"x\"\n"), "{text}");
    let grammar = grammar("root ::= a.b.c a . .a\na.b.c ::= \"x\"\na ::= \"y\"");
    let Expr::Sequence(parts) = grammar.expr(grammar.rule(grammar.root()).body) else { panic!("a sequence") };
    assert_eq!(parts.len(), 5);
}

#[test]
fn any_rule_can_be_the_root_and_rules_keep_their_order() {
    let source = "\u{FEFF}b ::= c | a\r\nc ::= \"x\" # tail\r\na ::=\r\n  c\r\n  c\r\n";
    let parsed = ebnf::parse(source, "a", &Limits::default()).unwrap();
    let names: Vec<&str> = parsed.grammar.rules().iter().map(|rule| &*rule.name).collect();
    assert_eq!(names, ["b", "c", "a"]);
    assert_eq!(parsed.grammar.root().index(), 2);
    assert_eq!(parsed.warnings.len(), 1);
    assert_eq!(parsed.grammar.source(), Some(source));
    let spans: Vec<&str> = parsed
        .grammar
        .rules()
        .iter()
        .map(|rule| rule.span.map(|s| &source[s.start as usize..s.end as usize]).unwrap())
        .collect();
    assert_eq!(spans, names);
}

#[test]
fn every_kind_of_recursion_is_read() {
    for source in [
        "root ::= \"a\" root | \"\"",
        "root ::= root \"a\" | \"b\"",
        "root ::= x root \"a\" | \"b\"\nx ::= \"y\"?",
        "root ::= a \"1\" | \"2\"\na ::= root \"3\"",
        "root ::= root root | [a-z ] | \"\"",
        "root ::= root \"+\" root | root \"*\" root | \"(\" root \")\" | [0-9]+",
    ] {
        assert_eq!(parse(source).unwrap().warnings, []);
    }
}

#[test]
fn text_until_a_tag_can_be_said() {
    for source in [
        "(. * - (.* \"<tool>\" .*)) \"<tool>\"",
        "~(.* \"</tool>\" .*) \"</tool>\"",
        "~(/.*/s \"</tool>\" /.*/s) \"</tool>\"",
        "(/[^x]*/ & [a-z]* - word) \"x\"\nword ::= \"stop\" | \"go\"",
    ] {
        grammar(&format!("root ::= {source}"));
    }
}

#[test]
fn limits_are_met_before_they_hurt() {
    let nested = |depth: usize| format!("root ::= {}\"x\"{}", "(".repeat(depth), ")*".repeat(depth));
    let limits = Limits {
        nesting_max: 5,
        source_bytes_max: 100,
        n_rules_max: 3,
        n_exprs_max: 9,
        repeat_max: 10,
        ..Default::default()
    };
    let refusal = |source: &str| ebnf::parse(source, "root", &limits).unwrap_err().message().to_owned();
    assert!(ebnf::parse(&nested(5), "root", &limits).is_ok());
    assert!(refusal(&nested(6)).ends_with("nesting_max = 5"));
    assert!(refusal(&"#".repeat(101)).contains("source_bytes_max = 100"));
    assert!(refusal("root ::= a b c a ::= . b ::= . c ::= .").ends_with("n_rules_max = 3"));
    assert!(refusal("root ::= \"1\" \"2\" \"3\" \"4\" \"5\" \"6\" \"7\" \"8\" \"9\"").ends_with("n_exprs_max = 9"));
    assert!(refusal("root ::= \"1\"{11,}").ends_with("repeat_max = 10"));
    // Brackets in strings, classes, regexes and comments are not groups.
    assert!(parse(&format!("root ::= \"{0}\" [{0}] # {0}", "(".repeat(1000))).is_ok());
    // A great depth is refused, and fine where the limit is raised: nothing recurses.
    assert!(parse(&nested(Limits::default().nesting_max)).is_ok());
    assert!(parse(&nested(60_000)).unwrap_err().message().contains("nesting_max"));
    let raised = Limits { n_exprs_max: 1 << 21, nesting_max: usize::MAX, ..Default::default() };
    assert!(ebnf::parse(&nested(1_000_000), "root", &raised).is_ok());
    let error = ebnf::parse(&nested(6), "root", &limits).unwrap_err();
    assert_eq!(error.limit_met(), Some((6, 5)));
}

/// Each of these took quadratic time in some reader.
#[test]
fn large_sources_are_read_in_one_pass() {
    let n_rules = 30_000;
    let chain: String = (0..n_rules).map(|i| format!("r{i} ::= \"{i}\" r{} | [a-z]\n", (i + 1) % n_rules)).collect();
    assert_eq!(grammar(&format!("root ::= r0\n{chain}")).rules().len(), n_rules + 1);
    let n = 100_000;
    for part in ["<s>", " | \"a\"", " \"a\"", " - \"a\"", "~", "*", "\n#\n", "(\"\")"] {
        let end = if part == "~" { "\"a\"" } else { "" };
        grammar(&format!("root ::= \"a\"{}{end}", part.repeat(n)));
    }
    for (part, message) in
        [("<|s", "begins no"), ("(", "nesting_max"), ("{1,2", "begins no"), ("\\", "unexpected"), ("z", "undefined")]
    {
        let error = parse(&format!("root ::= {}", part.repeat(n))).unwrap_err();
        assert!(error.message().contains(message) && format!("{error:#}").len() < 1000, "{error:#}");
    }
}

#[test]
fn files_in_the_styles_of_other_engines_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ebnf_compat");
    let mut n_files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let parsed = parse(&source).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        assert_eq!(parsed.warnings, [], "{}", path.display());
        reads_back(&parsed.grammar);
        n_files += 1;
    }
    assert!(n_files >= 6);
}

#[test]
fn grammars_print_and_read_back() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars");
    let mut n_files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ebnf") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        assert!(source.starts_with("# "), "{} says what it is", path.display());
        let parsed = parse(&source).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        assert_eq!(parsed.warnings, [], "{}", path.display());
        reads_back(&parsed.grammar);
        n_files += 1;
    }
    assert!(n_files >= 6);
}

#[test]
fn an_empty_pattern_reads_back() {
    reads_back(&grammar("root ::= Regex(\"\")"));
    let mut builder = GrammarBuilder::new();
    let root = builder.rule("root");
    let empty = regex::parse("", "", &Limits::default()).unwrap();
    let body = builder.regex(Regex { pattern: "".into(), flags: "".into(), regular: Arc::new(empty) });
    builder.define(root, body);
    reads_back(&builder.finish(root).unwrap());
}

fn reads_back(original: &Grammar) {
    let text = original.to_ebnf().unwrap();
    let again = grammar(&text);
    assert!(again == *original, "{text}");
    assert_eq!(again.to_ebnf(), Some(text));
}

/// Pieces of grammars, whole and broken.
const PIECES: [&str; 44] = [
    "root",
    "a",
    "::=",
    " ",
    "\n",
    "\"",
    "'",
    "\\",
    "\\x4",
    "\\u{",
    "[",
    "]",
    "^",
    "-",
    "/",
    "(",
    ")",
    "{",
    "}",
    "{1,",
    "2",
    ",",
    "i",
    ".",
    "*",
    "?",
    "~",
    "&",
    "|",
    "#",
    "<",
    ">",
    "<|",
    "|>",
    "<[",
    "Token(",
    "é",
    "\0",
    "\"b\"",
    "[c-d]",
    "/e/",
    "root ::= ",
    "\na ::= ",
    "(= ",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    /// Any text is a grammar that prints and reads back, or an error with a place inside the text.
    #[test]
    fn broken_texts_are_errors(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..14), starts in proptest::bool::ANY) {
        let source = format!("{}{}", if starts { "root ::= " } else { "" }, pieces.concat());
        match parse(&source) {
            Ok(parsed) => reads_back(&parsed.grammar),
            Err(error) => {
                let span = error.span();
                proptest::prop_assert!(span.start <= span.end && span.end as usize <= source.len());
                proptest::prop_assert!(source.is_char_boundary(span.start as usize) && source.is_char_boundary(span.end as usize));
                let long_form = format!("{error:#}");
                proptest::prop_assert!(long_form.contains('^'));
            }
        }
    }
}

//! A grammar prints as EBNF that reads back as an equal grammar.

use maskwright::Limits;
use maskwright::frontend::{ebnf, regex};
use maskwright::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, GrammarBuilder, Regex, RuleId};
use maskwright::regular::CharSet;
use proptest::prelude::*;
use std::sync::Arc;

/// What a random rule is made of, in the shapes that reading yields: no empty literals, no choice or sequence of fewer than two parts.
#[derive(Clone, Debug)]
enum Shape {
    Empty,
    Literal(String),
    NoCase(String),
    Class(Vec<(char, char)>),
    Regex(&'static str, &'static str),
    ControlName(String),
    ControlId(u32),
    TokenExcept(Vec<u32>, Vec<String>),
    Rule(usize),
    Sequence(Vec<Shape>),
    Choice(Vec<Shape>),
    Repeat(Box<Shape>, u32, Option<u32>),
    And(Box<Shape>, Box<Shape>),
    Minus(Box<Shape>, Box<Shape>),
    Not(Box<Shape>),
}

const NAMES: [&str; 6] = ["root", "a-b", "a.b", "Token", "_x9", "rule-with-a-name-that-is-rather-long"];

const REGEXES: [(&str, &str); 8] = [
    ("[a-z]+", ""),
    ("a/b", ""),
    (r"a\\/b", ""),
    (r"\\", ""),
    ("x # y", "i"),
    ("a b", "x"),
    (".*é", "s"),
    (r"[/]\.", "is"),
];

/// Characters that are likely to be mistreated.
fn char() -> impl Strategy<Value = char> {
    let odd: Vec<char> =
        "ab]^-[\\\"'/#<>|(){}.?*+ \n\r\t\0\x07\x7fé一\u{301}\u{200D}\u{FEFF}\u{FFFF}\u{D7FF}\u{E000}😀\u{10FFFF}"
            .chars()
            .collect();
    prop_oneof![4 => prop::sample::select(odd), 1 => any::<char>()]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(char(), 1..4).prop_map(String::from_iter)
}

/// Leaves that may stand anywhere.
fn regular_leaf() -> impl Strategy<Value = Shape> {
    prop_oneof![
        1 => Just(Shape::Empty),
        3 => text().prop_map(Shape::Literal),
        1 => text().prop_map(Shape::NoCase),
        2 => prop::collection::vec((char(), char()), 1..4).prop_map(Shape::Class),
        1 => Just(Shape::Class(vec![('\0', char::MAX)])),
        1 => prop::sample::select(&REGEXES[..]).prop_map(|(pattern, flags)| Shape::Regex(pattern, flags)),
    ]
}

fn control_name() -> impl Strategy<Value = String> {
    let names = [
        "<|eot_id|>",
        "<|a b|>",
        "</s>",
        "<[x]>",
        "<|>",
        "<||>",
        "<>",
        "<a>b>",
        "<|a|>|>",
        "<a b>",
        "<|x",
        "plain",
        "<é▁x>",
        "<a\">",
    ];
    prop_oneof![
        prop::sample::select(names.to_vec()).prop_map(str::to_owned),
        text(),
        text().prop_map(|t| format!("<{t}>"))
    ]
}

fn with_operators(leaf: impl Strategy<Value = Shape> + 'static, is_regular: bool) -> impl Strategy<Value = Shape> {
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let bounds = (0u32..3, prop::option::of(0u32..3)).prop_map(|(min, more)| (min, more.map(|more| min + more)));
        let joins = if is_regular { 1 } else { 0 };
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Shape::Sequence),
            3 => prop::collection::vec(inner, 2..4).prop_map(Shape::Choice),
            3 => (boxed.clone(), bounds).prop_map(|(body, (min, max))| Shape::Repeat(body, min, max)),
            joins => (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Shape::And(a, b)),
            joins => (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Shape::Minus(a, b)),
            joins => boxed.prop_map(Shape::Not),
        ]
    })
}

fn rule_body() -> impl Strategy<Value = Shape> {
    let regular = || with_operators(regular_leaf(), true);
    let leaf = prop_oneof![
        4 => regular(),
        1 => control_name().prop_map(Shape::ControlName),
        1 => any::<u32>().prop_map(Shape::ControlId),
        1 => (prop::collection::vec(any::<u32>(), 0..4), prop::collection::vec(text(), 0..3)).prop_map(|(ids, names)| Shape::TokenExcept(ids, names)),
        2 => (0..NAMES.len()).prop_map(Shape::Rule),
    ];
    with_operators(leaf, false)
}

fn build(bodies: &[Shape]) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let rules: Vec<RuleId> = NAMES[..bodies.len()].iter().map(|name| builder.rule(name)).collect();
    for (rule, body) in rules.iter().zip(bodies) {
        let body = push(&mut builder, &rules, body);
        builder.define(*rule, body);
    }
    builder.finish(rules[0]).unwrap()
}

fn push(builder: &mut GrammarBuilder, rules: &[RuleId], shape: &Shape) -> ExprId {
    let many = |builder: &mut GrammarBuilder, parts: &[Shape]| -> Box<[ExprId]> {
        parts.iter().map(|part| push(builder, rules, part)).collect()
    };
    let expr = match shape {
        Shape::Empty => Expr::Empty,
        Shape::Literal(text) => Expr::Literal(text.as_bytes().into()),
        Shape::NoCase(text) => Expr::LiteralNoCase(text.as_str().into()),
        Shape::Class(ranges) => Expr::Class(CharSet::from_ranges(ranges.iter().map(|&(a, b)| (a.min(b), a.max(b))))),
        Shape::Regex(pattern, flags) => {
            let mut options = regex::RegexOptions::EBNF;
            assert!(flags.chars().all(|flag| options.set_flag(flag)));
            let regular = Arc::new(regex::parse_with(pattern, &options, &Limits::default()).unwrap());
            Expr::Regex(Regex { pattern: (*pattern).into(), flags: (*flags).into(), regular })
        }
        Shape::ControlName(name) => Expr::Control(ControlRef::Name(name.as_str().into())),
        Shape::ControlId(id) => Expr::Control(ControlRef::Id(*id)),
        Shape::TokenExcept(ids, names) => {
            // Every other id with those behind it.
            let ranges = ids.iter().map(|&id| id..=id.saturating_add(id % 2 * 5));
            Expr::TokenExcept(ExcludedTokens::of_ranges(ranges, names.iter().map(|name| &**name)))
        }
        Shape::Rule(index) => Expr::Rule(rules[index % rules.len()]),
        Shape::Sequence(parts) => Expr::Sequence(many(builder, parts)),
        Shape::Choice(parts) => Expr::Choice(many(builder, parts)),
        Shape::Repeat(body, min, max) => Expr::Repeat { body: push(builder, rules, body), min: *min, max: *max },
        Shape::And(a, b) => Expr::And(push(builder, rules, a), push(builder, rules, b)),
        Shape::Minus(a, b) => Expr::Minus(push(builder, rules, a), push(builder, rules, b)),
        Shape::Not(a) => Expr::Not(push(builder, rules, a)),
    };
    builder.push(expr)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn printed_grammars_read_back_equal(bodies in prop::collection::vec(rule_body(), 1..=NAMES.len())) {
        let grammar = build(&bodies);
        let text = grammar.to_ebnf().expect("EBNF says all of these");
        prop_assert_eq!(&text, &grammar.to_string());
        match ebnf::parse(&text, "root", &Limits::default()) {
            Ok(parsed) => {
                prop_assert_eq!(parsed.grammar.to_ebnf(), Some(text.clone()));
                prop_assert!(parsed.grammar == grammar, "{}", text);
            }
            // Rules that only lead to each other: rightly refused.
            Err(error) => prop_assert!(error.message().contains("can never finish"), "{:#}\n{}", error, text),
        }
    }
}

/// `<|` begins a barred name, so a name such as `<|>` must not be written as it is: a later `|>` would end it.
#[test]
fn half_barred_control_names_are_quoted() {
    for name in ["<|>", "<|a>", "<|x|>"] {
        let bodies = [Shape::Sequence(vec![Shape::ControlName(name.into()), Shape::ControlName("|>".into())])];
        let grammar = build(&bodies);
        let text = grammar.to_ebnf().unwrap();
        assert!(ebnf::parse(&text, "root", &Limits::default()).unwrap().grammar == grammar, "{text}");
    }
}

/// A macro without rules, or with one, is no sequence or choice of one part, which would print as the part.
#[test]
fn macros_print_and_read_back_equal() {
    for text in [
        r#"root ::= TagDispatch(excludes=("ab", "c")) "!""#,
        r#"root ::= "!" | TagDispatch(excludes=("ab"))  "#,
        r#"root ::= TagDispatch() "!""#,
        r#"root ::= TagDispatch(("a", b)) "!"  b ::= "b""#,
        // However a macro is written.
        r#"root ::= Substring("a", "b" ,"\x61\u{62}c" ) & /.{2}/"#,
        r#"root ::= Substring('a',"b") Substring()"#,
        r#"root ::= TagDispatch(("a", b), loop_after_dispatch=false) "!"  b ::= "b""#,
        r#"root ::= TokenTagDispatch(excludes=(1)) "!""#,
        r#"root ::= TokenTagDispatch() | "!""#,
        r#"root ::= TokenTagDispatch((1, b)) "!"  b ::= "b""#,
        r#"root ::= "!" TokenTagDispatch((1, b), (2, b), loop_after_dispatch=false)  b ::= "b""#,
    ] {
        let Ok(parsed) = ebnf::parse(text, "root", &Limits::default()) else { panic!("{text}") };
        let printed = parsed.grammar.to_ebnf().unwrap();
        let again = ebnf::parse(&printed, "root", &Limits::default()).unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(again.grammar, parsed.grammar, "{text} prints as {printed}");
    }
}

/// Removing any one pair of parentheses changes the grammar: none is printed in vain.
#[test]
fn parentheses_are_needed() {
    let source = r#"
        root ::= ("a" | b)* c | ~("a" "b") | ~~"x"+ "y" | (~"a")? | ("a" ("b" "c")) "d" | ("a" | ("b" | "c"))
        b ::= "1" & "2" - "3" | "1" - ("2" - "3") | ("1" | "2") & [x] "3" | "0" ([a] - [b]) "9"
        c ::= ("a" "b"){3} | ([x] & [y]){2,}
    "#;
    let grammar = ebnf::parse(source, "root", &Limits::default()).unwrap().grammar;
    let text = grammar.to_ebnf().unwrap();
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(squeeze(&text), squeeze(source));
    let opens: Vec<usize> = text.match_indices('(').map(|(at, _)| at).collect();
    assert_eq!(opens.len(), 12);
    for open in opens {
        let mut depth = 0;
        let close = text[open..]
            .find(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth == 0
            })
            .unwrap()
            + open;
        let without = format!("{}{}{}", &text[..open], &text[open + 1..close], &text[close + 1..]);
        assert!(ebnf::parse(&without, "root", &Limits::default()).unwrap().grammar != grammar, "{without}");
    }
}

#[test]
fn long_choices_take_a_line_for_each_alternative() {
    let source = format!("root ::= {}", ["\"a fairly long alternative\""; 5].join(" | "));
    let text = ebnf::parse(&source, "root", &Limits::default()).unwrap().grammar.to_ebnf().unwrap();
    assert!(text.starts_with("root ::= \"a fairly long alternative\"\n       | \"a"), "{text}");
    assert_eq!(text.lines().count(), 5);
}

fn single_rule(name: &str, expr: impl FnOnce(&mut GrammarBuilder) -> ExprId) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let root = builder.rule(name);
    let body = expr(&mut builder);
    builder.define(root, body);
    builder.finish(root).unwrap()
}

#[test]
fn what_ebnf_cannot_say_is_not_printed() {
    assert_eq!(single_rule("root", |b| b.literal(b"\xFF")).to_ebnf(), None);
    assert_eq!(single_rule("root", |b| b.literal(b"\xFF")).to_string(), "root ::= <?bytes \\xff?>\n");
    for name in ["", "a b", "é", "9", "-a", "a.", "a..b", "a\0"] {
        assert_eq!(single_rule(name, GrammarBuilder::empty).to_ebnf(), None, "{name}");
    }
    // `"a"i` would be a literal and the rule `i` to one reader and a flag to another.
    let no_case = |b: &mut GrammarBuilder| b.push(Expr::LiteralNoCase("a".into()));
    assert_eq!(single_rule("i", no_case).to_ebnf(), None);
    assert_eq!(single_rule("j", no_case).to_ebnf().as_deref(), Some("j ::= \"a\"i\n"));
}

/// Each of 70 expressions holds the one before twice: the text would have 2^70 parts.
#[test]
fn shared_expressions_do_not_print_for_ever() {
    let grammar = single_rule("root", |b| {
        let mut expr = b.literal("x");
        for _ in 0..70 {
            expr = b.sequence([expr, expr]);
        }
        expr
    });
    assert_eq!(grammar.to_ebnf(), None);
    assert_eq!(grammar.to_string(), "root ::= <?too large to print?>\n");
}

#[test]
fn shapes_that_reading_never_yields_keep_their_meaning() {
    let print = |expr: fn(&mut GrammarBuilder) -> ExprId| single_rule("root", expr).to_ebnf().unwrap();
    assert_eq!(print(|b| b.sequence([])), "root ::= \"\"\n");
    assert_eq!(print(|b| b.literal("")), "root ::= \"\"\n");
    assert_eq!(print(|b| b.choice([])), "root ::= [^\\0-\\u{10FFFF}]\n");
    assert_eq!(
        print(|b| {
            let (x, y) = (b.literal("x"), b.literal("y"));
            let c = b.choice([x, y]);
            let one = b.sequence([c]);
            b.repeat(one, 0, None)
        }),
        "root ::= (\"x\" | \"y\")*\n"
    );
}

#[test]
fn deep_expressions_print_without_recursion() {
    let grammar = single_rule("root", |b| {
        let (mut expr, x) = (b.literal("x"), b.literal("y"));
        for _ in 0..300_000 {
            let not = b.push(Expr::Not(expr));
            let sequence = b.sequence([x, not]);
            expr = b.repeat(sequence, 0, None);
        }
        expr
    });
    let text = grammar.to_ebnf().unwrap();
    assert!(text.contains("\"y\" ~\"x\")*)*"));
    // More parentheses than the reader allows: an error, not a crash.
    assert!(ebnf::parse(&text, "root", &Limits::default()).unwrap_err().message().contains("nesting_max"));
}

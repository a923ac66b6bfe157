//! Operator tables: a rule per level of precedence, as people write expressions. Levels merge, however many there are.

use maskwright::{CompiledGrammar, GrammarCompiler, Vocab};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Operators, none of which is a letter, a digit, a blank or a parenthesis; some begin like others.
const OPERATORS: [&str; 30] = [
    "||", "&&", "|", "^", "&", "==", "<", "<<", "+", "*", "<=", "!=", ">>", "-", "/", "%", "**", "..", "@", ":=", "=>",
    "->", "~~", "??", "::", ">", ">=", "<>", "|||", "&&&",
];

/// A way of writing tables.
#[derive(Clone, Copy, Debug)]
struct Style {
    /// The body of a level: `@` is the level, `+` the next one, `%` the operator.
    level: &'static str,
    /// Levels between the last operator and the atoms: `@` and `+` as above.
    unary: &'static [&'static str],
    /// The atoms beside names, numbers and parentheses.
    atoms: &'static str,
    /// Whether operators are words of one length instead.
    has_words: bool,
}

const LEFT: Style = Style { level: "@ ws % ws + | +", unary: &[], atoms: "", has_words: false };

const STYLES: [Style; 8] = [
    LEFT,
    Style { has_words: true, ..LEFT },
    Style { level: "+ ws % ws @ | +", ..LEFT },
    Style { level: "+ (ws % ws +)*", ..LEFT },
    Style { unary: &["(\"-\" | \"!\") ws @ | +"], ..LEFT },
    Style { unary: &["@ ws \"(\" ws (e1 (ws \",\" ws e1)*)? ws \")\" | @ \".\" name | +"], ..LEFT },
    Style { atoms: r#" | "\"" ([^"\\] | "\\" .)* "\"""#, ..LEFT },
    Style {
        level: "+ ws % ws @ | +",
        unary: &["(\"-\" | \"!\") ws @ | +", "@ ws \"(\" ws (e1 (ws \",\" ws e1)*)? ws \")\" | +"],
        has_words: true,
        ..LEFT
    },
];

impl Style {
    fn operator(self, level: usize) -> String {
        if self.has_words { format!("op{level:02}") } else { OPERATORS[level].to_owned() }
    }

    fn table(self, n_levels: usize) -> String {
        let mut source = "root ::= e1\nws ::= [ ]*\nname ::= [a-z_] [a-z0-9_]*\n".to_owned();
        let mut level = 1;
        let mut add = |body: &str, operator: &str| {
            let body = body.replace('%', operator).replace('@', &format!("e{level}"));
            // A plus sign between blanks or at an end is the next level; the operator is quoted.
            let body = body.split(' ').map(|word| match word.trim_start_matches('(').trim_end_matches([')', '*']) {
                "+" => word.replace('+', &format!("e{}", level + 1)),
                _ => word.to_owned(),
            });
            writeln!(source, "e{level} ::= {}", body.collect::<Vec<_>>().join(" ")).unwrap();
            level += 1;
        };
        (0..n_levels).for_each(|level| add(self.level, &format!("\"{}\"", self.operator(level))));
        self.unary.iter().for_each(|body| add(body, ""));
        writeln!(source, "e{level} ::= name | [0-9]+ | \"(\" ws e1 ws \")\"{}", self.atoms).unwrap();
        source
    }
}

fn compile(source: &str) -> CompiledGrammar {
    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap();
    GrammarCompiler::new(Arc::new(vocab)).compile_ebnf(source).unwrap_or_else(|error| panic!("{error:#}\n{source}"))
}

/// Returns whether a grammar matches a text.
fn matches(grammar: &CompiledGrammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    text.bytes().all(|byte| matcher.accept_token(u32::from(byte)).is_ok()) && matcher.is_accepting()
}

#[test]
fn levels_merge() {
    for style in STYLES {
        for n_levels in [5, 10, 15, 20, 30] {
            let source = style.table(n_levels);
            let start = Instant::now();
            let grammar = compile(&source);
            let (time, n_states) = (start.elapsed(), grammar.n_states());
            // Some states for the atoms, and about one for each letter of the operators.
            assert!(n_states <= 40 + 4 * n_levels, "{style:?}, {n_levels} levels: {n_states} states");
            // Some milliseconds where nothing else runs.
            assert!(time < Duration::from_millis(500), "{style:?}, {n_levels} levels: {time:?}");
        }
    }
}

#[test]
fn merged_levels_match_what_tables_match() {
    for style in STYLES {
        let grammar = compile(&style.table(20));
        let op = |level: usize| style.operator(level);
        let (first, middle, last) = (op(0), op(9), op(19));
        for text in [
            "a".to_owned(),
            format!("a {first} b"),
            format!("a{last}1 {first}(b {middle} 2) {middle} c"),
            format!("((a) {middle} ( b{first}(c)))"),
        ] {
            assert!(matches(&grammar, &text), "{style:?}: {text}");
        }
        for text in [format!("a {first}"), format!("{last} b"), "(a".to_owned(), "a)".to_owned(), "a b".to_owned()] {
            assert!(!matches(&grammar, &text), "{style:?}: {text}");
        }
    }
}

/// Levels that are no chain of loops: copies stay apart, and nothing may blow up for that.
#[test]
fn other_tables_stay_small() {
    let table = |n: usize, level: &dyn Fn(usize) -> String| {
        let levels: String = (1..=n).map(|i| format!("e{i} ::= {}\n", level(i))).collect();
        format!("root ::= e1\nws ::= [ ]*\n{levels}e{} ::= [a-z]+ | \"(\" ws e1 ws \")\"\n", n + 1)
    };
    type Level = Box<dyn Fn(usize, usize) -> String>;
    let levels: [(&str, Level); 4] = [
        ("operators that don't associate", Box::new(|i, _| format!("e{} (ws \"op{i}\" ws e{0})?", i + 1))),
        (
            "assignments",
            Box::new(|i, n| format!("e{i} ws \"op{i}\" ws e{0} | e{0} | e{1} ws \"={i}\" ws e{i}", i + 1, n + 1)),
        ),
        (
            "choices",
            Box::new(|i, _| {
                format!("e{i} ws \"op{i}\" ws e{0} | e{0} ws \"?{i}\" ws e{i} ws \":\" ws e{i} | e{0}", i + 1)
            }),
        ),
        (
            "prefixes of each level",
            Box::new(|i, _| format!("\"pre{i}\" ws e{0} | e{i} ws \"op{i}\" ws e{0} | e{0}", i + 1)),
        ),
    ];
    for (why, level) in levels {
        for n in [10, 15, 20, 30] {
            let n_states = compile(&table(n, &|i| level(i, n))).n_states();
            assert!(n_states <= 100 * n, "{why}, {n} levels: {n_states} states");
        }
    }
}

/// A place that calls many rules, all of which read the same letters, leads into each and back behind it.
#[test]
fn many_calls_from_one_place_are_all_there() {
    const N: usize = 24;
    let tail = |rule: usize| char::from(b'A' + rule as u8);
    let mut source = String::from("root ::= ");
    source += &(0..N).map(|rule| format!("(c{rule} \"{}\")", tail(rule))).collect::<Vec<_>>().join(" | ");
    (0..N).for_each(|rule| source += &format!("\nc{rule} ::= [a-z]{{{},{}}}", rule + 2, rule + 30));
    let grammar = compile(&source);
    for n_letters in 1..60 {
        for rule in 0..N {
            let text = "q".repeat(n_letters) + &tail(rule).to_string();
            assert_eq!(matches(&grammar, &text), (rule + 2..=rule + 30).contains(&n_letters), "{text}");
        }
    }
}

/// Rules in a row that call back are copied together, or stay apart together; either way the texts are those of the grammar.
#[test]
fn optional_rules_in_a_row_match_in_their_order() {
    const N: u32 = 12;
    let letter = |rule: u32| char::from_u32('a' as u32 + rule).unwrap();
    let mut source = String::from("root ::= ");
    source += &(0..N).map(|rule| format!("r{rule}?")).collect::<Vec<_>>().join(" ");
    (0..N).for_each(|rule| source += &format!("\nr{rule} ::= \"{}\" | \"(\" root \")\"", letter(rule)));
    let grammar = compile(&source);
    for (text, is_text) in [
        ("", true),
        ("abcdefghijkl", true),
        ("adl", true),
        ("da", false),
        ("aa", false),
        ("()()()()()()()()()()()()", true),
        ("()()()()()()()()()()()()()", false),
        ("a()c", true),
        ("a()b", false),
        ("(ab(cd)l)b(k)l", true),
        ("(ab(dc)l)b", false),
        ("k()()", false),
        ("((((l))))l", true),
        ("(", false),
    ] {
        assert_eq!(matches(&grammar, text), is_text, "{text}");
    }
}

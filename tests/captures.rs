//! Captures: parts of a text by the names of rules, against all parses of it, and in ambiguous, recursive and circular grammars.

use maskwright::frontend::ebnf;
use maskwright::grammar::{Expr, ExprId, Grammar, WarningKind};
use maskwright::reference::{Recognizer, RuleMatch};
use maskwright::testing::{Rng, rounds};
use maskwright::vocab::TokenKind;
use maskwright::{GrammarCompiler, Limits, Vocab};
use std::collections::BTreeSet;

const WORK_MAX: u64 = 1 << 22;

fn grammar(source: &str) -> Grammar {
    ebnf::parse(source, "root", &Limits::default()).unwrap_or_else(|error| panic!("{source}\n{error:#}")).grammar
}

fn parsed(grammar: &Grammar, text: &str) -> Option<Vec<RuleMatch>> {
    let mut chart = Recognizer::new(grammar, &Limits::default()).unwrap().start();
    (chart.push_bytes(text.as_bytes()) == text.len()).then(|| chart.parse(WORK_MAX)).flatten()
}

/// Returns the rules of a parse with what they matched.
fn shown(source: &str, text: &str) -> String {
    let grammar = grammar(source);
    let parsed = parsed(&grammar, text).unwrap_or_else(|| panic!("{source}\n{text} is no sentence"));
    let rules = parsed.iter().map(|part| format!("{}:{}", grammar.rule(part.rule).name, &text[part.start..part.end]));
    rules.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_leftmost_parse_is_found() {
    for (source, text, wanted) in [
        ("root ::= a b  a ::= [xy]*  b ::= [yz]*", "xyz", "root:xyz a:xy b:z"),
        ("root ::= (a | b)+  a ::= \"x\"  b ::= \"xx\"", "xxx", "root:xxx b:xx a:x"),
        ("root ::= (a | b | c)+  a ::= \"x\"  b ::= \"xx\"  c ::= \"xx\"", "xxx", "root:xxx b:xx a:x"),
        ("root ::= (b | a)+  a ::= \"x\"  b ::= \"xx\"", "xxx", "root:xxx b:xx a:x"),
        ("root ::= a a  a ::= \"x\" | \"xx\"", "xxx", "root:xxx a:xx a:x"),
        ("root ::= e  e ::= e \"+\" e | n  n ::= [0-9]", "1+2+3", "root:1+2+3 e:1+2+3 e:1+2 e:1 n:1 e:2 n:2 e:3 n:3"),
        ("root ::= a  a ::= a | \"x\"", "x", "root:x a:x"),
        ("root ::= a  a ::= b | \"x\"  b ::= a", "x", "root:x a:x"),
        ("root ::= a  a ::= b | \"x\"  b ::= c | a  c ::= \"x\"", "x", "root:x a:x b:x c:x"),
        ("root ::= a{2,3} \"y\"?  a ::= \"x\"? \"y\"", "xyyy", "root:xyyy a:xy a:y a:y"),
        ("root ::= a*  a ::= \"x\"?", "xx", "root:xx a:x a:x"),
        ("root ::= a*  a ::= \"x\"?", "", "root:"),
        ("root ::= s  s ::= s s | \"x\" | \"\"", "xx", "root:xx s:xx s:x s:x"),
        ("root ::= p  p ::= \"(\" p \")\" p | \"\"", "(())()", "root:(())() p:(())() p:() p: p: p:() p: p:"),
        ("root ::= w \"!\"  w ::= (/[a-z]+/ & ~\"no\")", "yes!", "root:yes! w:yes"),
    ] {
        assert_eq!(shown(source, text), wanted, "{source} on {text}");
    }
    assert_eq!(parsed(&grammar("root ::= \"ab\""), "a"), None);
}

/// All ways in which a part of a text is matched by an expression, as lists of rules; none in which a part is explained by itself.
fn ways(
    grammar: &Grammar,
    text: &[u8],
    expr: ExprId,
    (start, end): (usize, usize),
    around: &[(ExprId, usize, usize)],
) -> Vec<Vec<RuleMatch>> {
    if around.contains(&(expr, start, end)) {
        return Vec::new();
    }
    let around: Vec<_> = around.iter().copied().chain([(expr, start, end)]).collect();
    let sequence = |operands: &[ExprId]| {
        let mut found: Vec<(usize, Vec<RuleMatch>)> = vec![(start, Vec::new())];
        for &operand in operands {
            let mut next = Vec::new();
            for (at, rules) in found {
                // The longest first.
                for to in (at..=end).rev() {
                    for way in ways(grammar, text, operand, (at, to), &around) {
                        next.push((to, [rules.clone(), way].concat()));
                    }
                }
            }
            found = next;
        }
        found.into_iter().filter(|(at, _)| *at == end).map(|(_, rules)| rules).collect::<Vec<_>>()
    };
    match grammar.expr(expr) {
        Expr::Empty if start == end => vec![Vec::new()],
        Expr::Literal(bytes) if **bytes == text[start..end] => vec![Vec::new()],
        Expr::Rule(rule) => {
            let whole = RuleMatch { rule: *rule, start, end };
            let found = ways(grammar, text, grammar.rule(*rule).body, (start, end), &around);
            found.into_iter().map(|way| [vec![whole], way].concat()).collect()
        }
        Expr::Sequence(operands) => sequence(operands),
        Expr::Choice(operands) => {
            operands.iter().flat_map(|&operand| ways(grammar, text, operand, (start, end), &around)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns a random grammar of literals, sequences and choices.
fn random_grammar(rng: &mut Rng) -> String {
    let n_rules = rng.between(1, 4);
    let mut source = String::new();
    for rule in 0..n_rules {
        let alternatives = (0..rng.between(1, 3)).map(|_| {
            let operands = (0..rng.between(1, 3)).map(|_| match rng.below(3) {
                0 => format!("r{}", rng.below(n_rules)),
                _ => (*rng.pick(&["\"a\"", "\"b\"", "\"ab\"", "\"\"", "\"a\""])).to_owned(),
            });
            operands.collect::<Vec<_>>().join(" ")
        });
        let name = if rule == 0 { "root ::= r0\nr0".to_owned() } else { format!("r{rule}") };
        source += &format!("{name} ::= {}\n", alternatives.collect::<Vec<_>>().join(" | "));
    }
    source
}

#[test]
fn parses_are_among_all_of_them_and_the_first() {
    let mut rng = Rng::new(rounds::seed_or(7));
    let (mut n_texts, mut n_ambiguous) = (0, 0);
    for _ in 0..400 {
        let source = random_grammar(&mut rng);
        let Ok(ebnf::Parsed { grammar, .. }) = ebnf::parse(&source, "root", &Limits::default()) else { continue };
        if Recognizer::new(&grammar, &Limits::default()).is_err() {
            continue;
        }
        let texts: BTreeSet<String> =
            (0..8).map(|_| (0..rng.below(5)).map(|_| *rng.pick(&['a', 'b', 'a'])).collect()).collect();
        for text in texts {
            let root = grammar.rule(grammar.root()).body;
            let whole = RuleMatch { rule: grammar.root(), start: 0, end: text.len() };
            let all = ways(&grammar, text.as_bytes(), root, (0, text.len()), &[]);
            let found = parsed(&grammar, &text);
            assert_eq!(found.is_some(), !all.is_empty(), "{source}{text:?}");
            let Some(found) = found else { continue };
            n_texts += 1;
            n_ambiguous += usize::from(all.len() > 1);
            assert_eq!(found, [vec![whole], all[0].clone()].concat(), "{source}{text:?}: {} ways", all.len());
        }
    }
    assert!(n_texts > 100 && n_ambiguous > 20, "{n_texts} texts, {n_ambiguous} ambiguous");
}

#[test]
fn matchers_capture_along_the_output() {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    builder.extend(["12", "<n>", "3;"]);
    let call = builder.push("<|call|>");
    builder.set_kind(call, TokenKind::Control).set_name(call, "<|call|>");
    let stop = builder.push("</s>");
    builder.stop_tokens([stop]);
    let compiler = GrammarCompiler::new(builder.build().unwrap().into());
    let source = "start: item (\";\" item)* \"!\"\nitem[capture]: <|call|> num num?\nnum[capture=\"n\"]: /[0-9]+/";
    let mut matcher = compiler.compile_lark(source).unwrap().matcher();
    let captures = |matcher: &maskwright::Matcher| {
        let found = matcher.captures().unwrap().into_iter();
        found
            .map(|part| (part.name, String::from_utf8(part.text).unwrap(), part.range, part.control_tokens))
            .collect::<Vec<_>>()
    };
    assert_eq!(captures(&matcher), []);
    matcher.accept_token(call).unwrap();
    assert_eq!(captures(&matcher), []);
    matcher.accept_token(256).unwrap();
    let item =
        |text: &str, start: usize| ("item".to_owned(), text.to_owned(), start..start + text.len(), vec![(0, call)]);
    let number = |text: &str, start: usize| ("n".to_owned(), text.to_owned(), start..start + text.len(), Vec::new());
    assert_eq!(captures(&matcher), [number("12", 0), item("12", 0)]);
    matcher.accept_token(258).unwrap();
    matcher.accept_token(call).unwrap();
    matcher.accept_bytes(b"7!").unwrap();
    let all = [number("123", 0), item("123", 0), number("7", 4), item("7", 4)];
    assert_eq!(captures(&matcher), all);
    matcher.accept_token(stop).unwrap();
    assert_eq!(captures(&matcher), all);
    matcher.rollback(2).unwrap();
    assert_eq!(captures(&matcher), all[..2]);
}

#[test]
fn markers_and_schemas_are_captured() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let texts = |source: &str, text: &str| {
        let mut matcher = compiler.compile_auto(source).unwrap().matcher();
        matcher.accept_bytes(text.as_bytes()).unwrap();
        let found = matcher.captures().unwrap().into_iter();
        found.map(|part| format!("{}={}", part.name, String::from_utf8_lossy(&part.text))).collect::<Vec<_>>().join(" ")
    };
    let suffix = "start: b \"c\"\nb[capture, suffix=\"éx\", stop_capture=\"end\"]: /[a-zé]*/";
    assert_eq!(texts(suffix, "aéxc"), "end=éx b=aéx");
    assert_eq!(texts("start: b \"xc\"\nb[capture, stop=\"x\", stop_capture=\"end\"]: /[a-z]*/", "axc"), "b=a");
    let schema = "root ::= \"[\" args \"]\"\nargs[capture=\"arguments\"] ::= %json {\"properties\": {\"a\": {\"type\": \"integer\"}}, \"additionalProperties\": false, \"type\": \"object\"}";
    assert_eq!(texts(schema, "[{\"a\": 1}]"), "arguments={\"a\": 1}");
    let parametric = "start: item::1 item::2\nitem::_[capture]: /[0-9]/";
    assert!(compiler.compile_lark(parametric).is_ok());
    assert_eq!(texts(parametric, "12"), "item=1 item=2");
}

#[test]
fn names_are_printed_and_read_again() {
    let source = "root ::= a b\na[capture=\"x \\\"y\"] ::= \"1\"\nb[max_tokens=2, capture] ::= [0-9]*";
    let written = grammar(source);
    let printed = written.to_ebnf().unwrap();
    assert_eq!(grammar(&printed), written, "{printed}");
    assert_eq!(written.captures().len(), 2);
    let mut unnamed = grammar(&source.replace(", capture", ""));
    assert_ne!(unnamed, written);
    unnamed = grammar(&source.replace("capture]", "capture=\"b\"]"));
    assert_eq!(unnamed, written);
}

#[test]
fn captures_that_nothing_finds_are_warnings() {
    let compiler = GrammarCompiler::new(Vocab::from_tokens((0..=255u8).map(|byte| [byte])).unwrap().into());
    let warnings = |source: &str| {
        let compiled = compiler.compile_auto(source).unwrap();
        compiled.warnings().iter().map(|warning| (warning.kind(), warning.to_string())).collect::<Vec<_>>()
    };
    let inner = "x\nx[capture=\"c\"] ::= \"a\"";
    for (source, is_lost) in [
        (format!("root ::= h\nh[max_tokens=9] ::= {inner}"), true),
        (format!("root ::= h\nh[max_chars=9] ::= {inner}"), true),
        (format!("root ::= h\nh[lazy] ::= {inner}"), true),
        (format!("root ::= /[ab]/ & {inner}"), true),
        (format!("root ::= {inner}"), false),
        ("root ::= x\nx[capture=\"c\", lazy] ::= \"a\"*".to_owned(), false),
    ] {
        let found = warnings(&source);
        let lost = found.iter().filter(|(kind, text)| {
            *kind == WarningKind::WithoutEffect && text.starts_with("the capture `c` is not found")
        });
        assert_eq!(lost.count(), usize::from(is_lost), "{source}\n{found:?}");
    }
    let stop = warnings("start: b \"xc\"\nb[stop=\"x\", stop_capture=\"end\"]: /[a-z]*/");
    assert!(stop.iter().any(|(_, text)| text.starts_with("`stop_capture` captures nothing")), "{stop:?}");
}

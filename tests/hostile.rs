//! Hostile grammars and calls: every answer comes in bounded time and memory, or is an error that names a limit.

use maskwright::grammar::{ExprId, GrammarBuilder, WarningKind};
use maskwright::{CompileError, CompileOptions, CompiledGrammar, Config, GrammarCompiler, Limits, TokenKind, Vocab};
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Every byte, runs of some letters, a stop token.
fn vocab() -> Arc<Vocab> {
    let mut builder = Vocab::builder();
    (0..=255u8).for_each(|byte| {
        builder.push([byte]);
    });
    for text in ["a", "b", ")", "(", "ab", "a)", " "] {
        (2..=40).for_each(|n| {
            builder.push(text.repeat(n));
        });
    }
    let stop = builder.push("</s>");
    builder.set_kind(stop, TokenKind::Control);
    builder.stop_tokens([stop]);
    Arc::new(builder.build().unwrap())
}

/// Compiles on a small stack, drops everything there, and returns the outcome.
fn compile(source: String, options: CompileOptions) -> Result<usize, CompileError> {
    let run = move || GrammarCompiler::new(vocab()).compile_ebnf_with(&source, "root", &options).map(|g| g.n_states());
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().expect("no panic")
}

/// Grammars that were slow or large, each with a word on why.
fn bombs() -> Vec<(&'static str, String)> {
    let mut bombs = Vec::new();
    let mut add = |why, write: &dyn Fn(&mut String)| {
        let mut source = String::new();
        write(&mut source);
        bombs.push((why, source));
    };
    add("each alternative begins with an empty arc", &|s| {
        s.push_str("root ::= (");
        (0..5000).for_each(|i| write!(s, "[a-z]? \"w{}\" [a-z]? | ", i * 7919).unwrap());
        s.push_str("\"z\")*");
    });
    add("optional parts in a row: each can follow each", &|s| {
        s.push_str("root ::= ");
        (0..20_000).for_each(|i| write!(s, "\"k{i}\"? ").unwrap());
    });
    add("subsets as large as the automaton", &|s| {
        s.push_str("root ::= ((");
        (0..1000).for_each(|i| write!(s, "r{i} | ").unwrap());
        s.push_str("\"z\") \";\")*\n");
        (0..1000).for_each(|i| writeln!(s, "r{i} ::= [ab]* \"a\" [ab]{{{}}}", 1 + i % 29).unwrap());
    });
    add("a chain of rules, inlined at each link", &|s| {
        s.push_str("root ::= r0\n");
        (0..20_000).for_each(|i| writeln!(s, "r{i} ::= \"a\" r{} \"b\"", i + 1).unwrap());
        s.push_str("r20000 ::= \"x\"");
    });
    add("a chain of units, dropped one inside the other", &|s| {
        s.push_str("root ::= r0\n");
        let next = |i: usize| i + 1;
        (0..20_000).for_each(|i| writeln!(s, "r{i} ::= \"a\" r{0} \"c\" | \"b\" r{0} \"d\"", next(i)).unwrap());
        s.push_str("r20000 ::= \"x\"");
    });
    add("rules that double each other when they are inlined", &|s| {
        s.push_str("root ::= \"x\" | x1 x1\n");
        (1..60).for_each(|i| writeln!(s, "x{i} ::= \"a\" x{} x{0}", i + 1).unwrap());
        s.push_str("x60 ::= \"a\" root root");
    });
    add("a long left chain: what is pushed grows with each rule", &|s| {
        s.push_str("root ::= r0\n");
        (0..3000).for_each(|i| {
            writeln!(s, "r{i} ::= r{0} \"c\" | \"b\" r{0} \"d\" r0 \"e\" | \"e{i}\"", i + 1).unwrap();
        });
        s.push_str("r3000 ::= \"x\"");
    });
    add("a left-recursive cycle", &|s| {
        s.push_str("root ::= r0\n");
        (0..2000).for_each(|i| writeln!(s, "r{i} ::= r{} \"c{i}\" | \"b{i}\"", (i + 1) % 2000).unwrap());
    });
    add("complements of complements", &|s| {
        s.push_str("root ::= r0\n");
        (0..5000).for_each(|i| writeln!(s, "r{i} ::= ~r{}", i + 1).unwrap());
        s.push_str("r5000 ::= /.*a.{10}/");
    });
    add("counters in counters", &|s| s.push_str("root ::= (((\"a\"|\"aa\"){1,100000}){1000}){4294967294}"));
    bombs
}

#[test]
fn every_bomb_has_an_answer() {
    for (why, source) in bombs() {
        let start = Instant::now();
        if let Err(error) = compile(source, CompileOptions::default()) {
            let CompileError::Build(error) = error else { panic!("{why}: {error:#}") };
            assert!(error.limit_met().is_some(), "{why}: {error}");
            let names_it = ["automaton_states_max", "automaton_moves_max", "dfa_states_max"];
            assert!(names_it.iter().any(|name| error.to_string().contains(name)), "{why}: {error}");
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{why}: {:?}", start.elapsed());
    }
}

#[test]
fn deadlines_and_flags_are_met_in_the_middle_of_a_bomb() {
    for (why, source) in bombs() {
        let start = Instant::now();
        let deadline = Some(start + Duration::from_millis(30));
        if let Err(CompileError::Build(error)) = compile(source.clone(), CompileOptions { deadline, cancelled: None }) {
            assert!(error.is_interrupted() || error.limit_met().is_some(), "{why}: {error}");
        }
        // Generous, for busy machines; without checks of the deadline some of these take seconds.
        assert!(start.elapsed() < Duration::from_secs(3), "{why}: {:?}", start.elapsed());
        let cancelled = Some(Arc::new(true.into()));
        let error = compile(source, CompileOptions { deadline: None, cancelled }).unwrap_err();
        assert!(matches!(error, CompileError::Build(error) if error.is_interrupted()), "{why}");
    }
}

#[test]
fn a_repeat_of_nothing_is_not_written_out() {
    let mut builder = GrammarBuilder::new();
    let root = builder.rule("root");
    let nothing: [ExprId; 0] = [];
    let body = builder.sequence(nothing);
    let repeated = builder.repeat(body, 1, Some(u32::MAX - 1));
    let text = builder.literal("x");
    let whole = builder.sequence([repeated, text]);
    builder.define(root, whole);
    let grammar = GrammarCompiler::new(vocab()).compile(&builder.finish(root).unwrap()).unwrap();
    assert!(grammar.n_states() < 20);
}

fn mask_bits(grammar: &CompiledGrammar, n_tokens: usize) -> Vec<Vec<u32>> {
    let mut matcher = grammar.matcher();
    let mut rows = Vec::new();
    for _ in 0..n_tokens {
        let mask = matcher.mask().unwrap();
        for token in 0..mask.n_tokens() as u32 {
            assert_eq!(mask.contains(token), matcher.is_token_allowed(token), "token {token} after {rows:?}");
        }
        rows.push(mask.as_words().to_vec());
        matcher.accept_token(u32::from(b'a')).unwrap();
    }
    rows
}

#[test]
fn masks_of_ambiguous_grammars_take_polynomial_time_and_are_right() {
    // Each of many levels can return in several ways; a token of forty letters sees them all.
    for source in [
        r#"root ::= "a" root root root | "a" root root | "a""#,
        r#"root ::= "a" root root "c"? | "a" root | "a""#,
        r#"root ::= (("a"|"aa"){2,50}("b"|""){0,9}){3,80}"#,
        r#"root ::= "a" root "a" | "a""#,
    ] {
        let start = Instant::now();
        let compiler = GrammarCompiler::new(vocab());
        let rows = mask_bits(&compiler.compile_ebnf(source).unwrap(), 6);
        let config = Config { mask_store_bytes_max: 0, ..Config::default() };
        let without_store = GrammarCompiler::builder(vocab()).config(config).build();
        assert_eq!(rows, mask_bits(&without_store.compile_ebnf(source).unwrap(), 6), "{source}");
        assert!(start.elapsed() < Duration::from_secs(60), "{source}: {:?}", start.elapsed());
    }
}

#[test]
fn a_mask_without_tokens_is_an_error() {
    // A stop token whose text is the only continuation.
    let mut builder = Vocab::builder();
    let a = builder.push("a");
    let b = builder.push("b");
    let vocab = Arc::new(builder.build().unwrap());
    let grammar = GrammarCompiler::new(Arc::clone(&vocab)).compile_ebnf(r#"root ::= "a" "b""#).unwrap();
    let mut matcher = grammar.matcher();
    matcher.set_stop_tokens(&[a]).unwrap();
    let mut row = [u32::MAX];
    assert!(matcher.fill_mask(&mut row).unwrap_err().is_stuck());
    assert_eq!(row, [0]);
    // No stop tokens at all, at the end: the text is complete, and that is no error.
    matcher.set_stop_tokens(&[]).unwrap();
    matcher.accept_tokens(&[a, b]).unwrap();
    let fill = matcher.fill_mask(&mut row).unwrap();
    assert!(matcher.is_accepting() && fill.none_set && !fill.all_set && row == [0]);
}

#[test]
fn bytes_that_cannot_be_spelled_are_a_warning() {
    let compiler = GrammarCompiler::new(Arc::new(Vocab::from_tokens(["a", "b", "cd"]).unwrap()));
    let grammar = compiler.compile_ebnf(r#"root ::= [a-c] "d"?"#).unwrap();
    let kinds: Vec<WarningKind> = grammar.warnings().iter().map(|warning| warning.kind()).collect();
    assert_eq!(kinds, [WarningKind::Unspellable]);
    let text = grammar.warnings()[0].to_string();
    assert_eq!(text, "no token of one byte spells [c-d]: outputs that need such a byte can get stuck");
    assert!(compiler.compile_ebnf(r#"root ::= [ab]+"#).unwrap().warnings().is_empty());
    let mut matcher = compiler.compile_ebnf(r#"root ::= "a" "c""#).unwrap().matcher();
    matcher.accept_token(0).unwrap();
    assert!(matcher.mask().unwrap_err().is_stuck());
}

#[test]
fn misuse_is_refused_and_changes_nothing() {
    let mut builder = Vocab::builder();
    builder.extend(["a", "b", "ab", "", "a"]);
    let named = builder.push("<s>");
    builder.set_name(named, "<s>");
    builder.set_kind(named, TokenKind::Control);
    builder.stop_tokens([named]);
    builder.logits_width(40);
    let vocab = Arc::new(builder.build().unwrap());
    let source = r#"root ::= "a"* (<s> "b")?"#;
    let grammar = GrammarCompiler::new(vocab).compile_ebnf(source).unwrap();
    let mut matcher = grammar.matcher();
    assert!(matcher.fill_mask(&mut [0]).is_err(), "40 tokens need two words");
    let mut row = [u32::MAX; 4];
    matcher.fill_mask(&mut row).unwrap();
    assert_eq!(row, [0b11_0001, 0, 0, 0], "padding and words beyond are cleared");
    for token in [1, 3, 39, 40, 41, u32::MAX - 1, u32::MAX] {
        assert!(matcher.accept_token(token).is_err() && !matcher.is_token_allowed(token), "{token}");
    }
    assert!(matcher.set_stop_tokens(&[40]).is_err() && matcher.replay(&[0, 0, 1]).is_err());
    assert_eq!((matcher.n_steps(), matcher.validate_tokens(&[0, 4, 1, 0])), (0, 2));
    // The grammar names the stop token, which takes precedence: it does not terminate.
    matcher.accept_tokens(&[0, named]).unwrap();
    assert!(!matcher.is_terminated() && !matcher.is_accepting());
    matcher.accept_bytes(b"").unwrap();
    matcher.accept_token(1).unwrap();
    matcher.accept_tokens(&[named, named]).unwrap();
    assert!(matcher.is_terminated() && matcher.accept_token(0).is_err() && matcher.accept_bytes(b"").is_err());
    assert_eq!(matcher.n_steps(), 6);
    matcher.rollback(2).unwrap();
    assert!(!matcher.is_terminated() && matcher.is_accepting());
    assert!(matcher.rollback(5).is_err());
    matcher.rollback(4).unwrap();
    let mut again = [0; 2];
    matcher.fill_mask(&mut again).unwrap();
    assert_eq!(again, row[..2]);
}

#[test]
fn unused_rules_refuse_nothing() {
    // The first is too large for `dfa_states_max`, the second names a token that isn't there, the third matches nothing.
    let source = r#"
        root ::= "x"
        large ::= (.* "a" .{20}) & (.* "b" .{21})
        unknown ::= <nobody>
        nothing ::= "a" & "b"
    "#;
    let grammar = GrammarCompiler::new(vocab()).compile_ebnf(source).unwrap();
    let warnings: Vec<_> = grammar.warnings().iter().map(|warning| (warning.kind(), warning.rule())).collect();
    assert_eq!(warnings, ["large", "unknown", "nothing"].map(|rule| (WarningKind::UnusedRule, rule)));
    assert!(GrammarCompiler::new(vocab()).compile_ebnf(&source.replace("\"x\"", "\"x\" | large")).is_err());
}

#[test]
fn rules_that_match_nothing_are_named() {
    let compiler = GrammarCompiler::new(vocab());
    let source = r#"root ::= "x" | both | "y" rest  both ::= "a" & "b"  rest ::= [ab] - [a-c]  fine ::= "a" & [ab]  spare ::= fine"#;
    let grammar = compiler.compile_ebnf(source).unwrap();
    let empty = grammar.warnings().iter().filter(|warning| warning.kind() == WarningKind::MatchesNothing);
    let empty: Vec<String> = empty.map(|warning| warning.to_string()).collect();
    assert_eq!(empty, ["rule `both` matches nothing at all", "rule `rest` matches nothing at all"]);
    assert!(grammar.warnings().iter().all(|warning| warning.span().is_some()));
    let error = compiler.compile_ebnf(r#"root ::= "a" & "b""#).unwrap_err();
    assert!(error.to_string().contains("`root` matches nothing"), "{error}");
}

#[test]
fn limits_hold_for_the_smallest_values() {
    let limits = Limits { automaton_states_max: 1, automaton_moves_max: 1, ..Limits::default() };
    let compiler = GrammarCompiler::builder(vocab()).limits(limits).build();
    for source in [r#"root ::= "abc""#, r#"root ::= "a" root "b" | """#, r#"root ::= root "x" | "y""#] {
        let Err(CompileError::Build(error)) = compiler.compile_ebnf(source) else { panic!("{source} compiles") };
        assert!(error.limit_met().is_some(), "{source}: {error}");
    }
}

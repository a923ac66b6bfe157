//! The reference recognizer against the definition: sets of words, made by set operations alone.

use maskwright::Limits;
use maskwright::grammar::{ControlRef, Expr, Grammar, GrammarBuilder};
use maskwright::reference::{Chart, Recognizer, Symbol};
use maskwright::regular::CharSet;
use maskwright::testing::words::{Letter, all_words, words_of};
use maskwright::testing::{GrammarShape, Rng, dump_grammar, random_grammar};

fn push_letter(chart: &mut Chart, letter: &Letter) -> bool {
    match letter {
        Letter::Control(control) => chart.push(&Symbol::Control(control.clone())),
        Letter::TokenExcept(excluded) => chart.push(&Symbol::TokenExcept(excluded.clone())),
        Letter::Char(c) => {
            let (before, text) = (chart.len(), c.to_string());
            let is_whole = chart.push_bytes(text.as_bytes()) == text.len();
            if !is_whole {
                chart.truncate(before);
            }
            is_whole
        }
    }
}

/// Checks the shortest completion of a chart, and undoes it.
fn check_completion(chart: &mut Chart, context: &dyn Fn() -> String) {
    let before = chart.len();
    let len = chart.completion_len();
    if len > 5_000 {
        return;
    }
    let completion = chart.shortest_completion();
    assert_eq!(completion.len() as u64, len, "{}", context());
    assert_eq!(len == 0, chart.is_accepting(), "{}", context());
    for symbol in &completion {
        assert!(!chart.is_accepting(), "shorter than said: {completion:?} {}", context());
        assert!(chart.push(symbol), "{symbol:?} of {completion:?} is refused {}", context());
    }
    assert!(chart.is_accepting(), "{completion:?} completes nothing {}", context());
    chart.truncate(before);
}

#[test]
fn recognizer_equals_the_sets_of_words() {
    let n_grammars = 1_500;
    let (mut n_words, mut n_viable, mut n_empty, mut n_refused) = (0, 0, 0, 0);
    for seed in 0..n_grammars {
        let mut rng = Rng::new(seed);
        let mut shape = GrammarShape::random(&mut rng);
        shape.with_raw_bytes = false;
        // Here a set is a letter of its own, which is compared with sets alone.
        shape.sets_of_100 = 0;
        let grammar = random_grammar(&mut rng, &shape);
        let letters: Vec<Letter> = shape
            .alphabet
            .iter()
            .map(|&c| Letter::Char(c))
            .chain(shape.controls.iter().cloned().map(Letter::Control))
            .collect();
        let len_max = if letters.len() > 4 { 3 } else { 4 };
        let words = words_of(&grammar, &shape.alphabet, len_max).expect("all literals are text");
        let recognizer = match Recognizer::new(&grammar, &Limits { dfa_states_max: 2_000, ..Limits::default() }) {
            Ok(recognizer) => recognizer,
            Err(error) if error.is_empty_language() => {
                assert!(words.is_empty(), "seed {seed}: {error}\n{}", dump_grammar(&grammar));
                n_empty += 1;
                continue;
            }
            Err(error) => {
                assert!(error.limit().is_some(), "seed {seed}: {error}\n{}", dump_grammar(&grammar));
                n_refused += 1;
                continue;
            }
        };
        let mut chart = recognizer.start();
        // Words come in lexical order: prefixes are shared.
        let mut read: Vec<Letter> = Vec::new();
        let mut ends: Vec<usize> = vec![0];
        for word in all_words(&letters, len_max) {
            let context = || format!("seed {seed}, word {word:?}\n{}", dump_grammar(&grammar));
            let n_common = read.iter().zip(&word).take_while(|(a, b)| a == b).count();
            read.truncate(n_common);
            ends.truncate(n_common + 1);
            chart.truncate(ends[n_common]);
            for letter in &word[n_common..] {
                if !push_letter(&mut chart, letter) {
                    break;
                }
                read.push(letter.clone());
                ends.push(chart.len());
            }
            let is_viable = read.len() == word.len();
            assert_eq!(is_viable && chart.is_accepting(), words.contains(&word), "{}", context());
            n_words += 1;
            if is_viable {
                n_viable += 1;
                check_completion(&mut chart, &context);
            }
        }
    }
    println!("{n_words} words, {n_viable} viable, {n_empty} empty languages, {n_refused} too large");
    assert!(n_words > 100_000 && n_viable > 10_000 && n_empty > 10 && n_refused * 10 < n_grammars);
}

#[test]
fn charts_depend_on_their_text_alone() {
    // Whatever was read and undone, a chart equals one that never read it.
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let shape = GrammarShape::random(&mut rng);
        let grammar = random_grammar(&mut rng, &shape);
        let Ok(recognizer) = Recognizer::new(&grammar, &Limits { dfa_states_max: 2_000, ..Limits::default() }) else {
            continue;
        };
        let mut chart = recognizer.start();
        let mut text = Vec::new();
        for _ in 0..30 {
            if rng.chance(30) {
                text.truncate(rng.between(0, text.len()));
                chart.truncate(text.len());
            }
            let next: Vec<u8> = chart.next_bytes().iter().collect();
            assert_eq!(
                chart.next_bytes(),
                chart.expected().iter().fold(Default::default(), |set, e| set | e.terminal.bytes())
            );
            for byte in 0..=255 {
                let before = chart.len();
                assert_eq!(chart.push_byte(byte), next.contains(&byte), "seed {seed} byte {byte}");
                chart.truncate(before);
            }
            if next.is_empty() {
                continue;
            }
            let byte = *rng.pick(&next);
            assert!(chart.push_byte(byte));
            text.push(byte);
            let mut fresh = recognizer.start();
            assert_eq!(fresh.push_bytes(&text), text.len());
            assert_eq!((fresh.is_accepting(), fresh.next_bytes()), (chart.is_accepting(), chart.next_bytes()));
            assert_eq!(fresh.completion_len(), chart.completion_len());
        }
    }
}

fn build(make: impl FnOnce(&mut GrammarBuilder) -> maskwright::grammar::ExprId) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let root = builder.rule("root");
    let body = make(&mut builder);
    builder.define(root, body);
    builder.finish(root).unwrap()
}

#[test]
fn large_counts_cost_nothing() {
    let grammar = build(|b| {
        let class = b.class(CharSet::range('a', 'z'));
        b.repeat(class, 2, Some(1_000_000))
    });
    let recognizer = Recognizer::new(&grammar, &Limits::default()).unwrap();
    assert!(!recognizer.accepts(b"a") && recognizer.accepts(b"ab") && recognizer.accepts(&[b'x'; 3_000]));

    // Three levels of four billion: the least length doesn't fit in 64 bits, and the language is not empty.
    let grammar = build(|b| {
        let mut expr = b.literal("a");
        for _ in 0..3 {
            expr = b.repeat(expr, u32::MAX - 1, Some(u32::MAX - 1));
        }
        expr
    });
    let recognizer = Recognizer::new(&grammar, &Limits::default()).unwrap();
    assert!(recognizer.is_viable(b"aaa") && recognizer.start().completion_len() == u64::MAX - 1);
}

#[test]
fn deep_expressions_need_no_deep_stack() {
    let grammar = build(|b| {
        let mut expr = b.literal("a");
        for _ in 0..200_000 {
            expr = b.sequence([expr]);
        }
        let any = b.class(CharSet::all());
        let any = b.repeat(any, 0, None);
        b.push(Expr::And(expr, any))
    });
    let recognizer = Recognizer::new(&grammar, &Limits::default()).unwrap();
    assert!(recognizer.accepts(b"a") && !recognizer.is_viable(b"b"));
}

#[test]
fn what_is_not_regular_is_refused() {
    let limits = Limits::default();
    let recursive = {
        let mut b = GrammarBuilder::new();
        let (root, inner) = (b.rule("root"), b.rule("inner"));
        let (again, a, end) = (b.rule_ref(inner), b.literal("a"), b.empty());
        let more = b.sequence([a, again]);
        let inner_body = b.choice([more, end]);
        b.define(inner, inner_body);
        let reference = b.rule_ref(inner);
        let body = b.push(Expr::Not(reference));
        b.define(root, body);
        b.finish(root).unwrap()
    };
    let error = Recognizer::new(&recursive, &limits).unwrap_err();
    assert!(error.is_not_regular() && error.rule() == Some("inner"), "{error}");
    let control = build(|b| {
        let control = b.push(Expr::Control(ControlRef::Id(3)));
        b.push(Expr::Not(control))
    });
    assert!(Recognizer::new(&control, &limits).unwrap_err().is_not_regular());
    let large = build(|b| {
        let class = b.class(CharSet::range('a', 'z'));
        let many = b.repeat(class, 0, Some(1_000_000));
        b.push(Expr::Not(many))
    });
    let error = Recognizer::new(&large, &Limits { dfa_states_max: 100, ..limits.clone() }).unwrap_err();
    assert_eq!(error.limit().map(|(_, limit)| limit), Some(100));
    let empty = build(|b| b.class(CharSet::empty()));
    assert!(Recognizer::new(&empty, &limits).unwrap_err().is_empty_language());
}

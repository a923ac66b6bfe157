//! Masks behind drafts, against the definition: a fork for each draft that accepts it and fills a row.

use maskwright::matcher::{TreeFill, accept_and_fill};
use maskwright::testing::cases::default_vocab;
use maskwright::testing::engine::is_expensive;
use maskwright::testing::fixture::Fixture;
use maskwright::testing::{Rng, rounds};
use maskwright::{CompiledGrammar, GrammarCompiler, MatchError, Matcher, TokenId, Vocab};
use std::sync::Arc;
use std::time::Instant;

fn compile(text: &str) -> CompiledGrammar {
    GrammarCompiler::new(Arc::new(default_vocab())).compile_ebnf(text).unwrap_or_else(|error| panic!("{error:#}"))
}

fn has(row: &[u32], token: TokenId) -> bool {
    row.get(token as usize / 32).is_some_and(|word| word >> (token % 32) & 1 == 1)
}

/// What the rows of a tree are by definition.
struct Expected {
    rows: Vec<Vec<u32>>,
    is_acceptable: Vec<bool>,
    /// The nodes whose rows can't be filled, with the errors.
    errors: Vec<(usize, MatchError)>,
}

/// Forks for each node, accepts its token if the row before has it, and fills its row.
fn expect(matcher: &Matcher, parents: &[i32], tokens: &[TokenId]) -> Expected {
    let n_words = matcher.grammar().vocab().n_mask_words();
    let mut forks: Vec<Option<Matcher>> = Vec::new();
    let mut expected = Expected { rows: vec![], is_acceptable: vec![], errors: vec![] };
    for (node, &parent) in parents.iter().enumerate() {
        let parent = usize::try_from(parent).ok();
        let fork = match parent {
            None => Some(matcher.fork()),
            Some(parent) => forks[parent]
                .clone()
                .filter(|_| has(&expected.rows[parent], tokens[node]))
                .and_then(|mut fork| fork.accept_token(tokens[node]).is_ok().then_some(fork)),
        };
        expected.is_acceptable.push(fork.is_some());
        let mut row = vec![0; n_words];
        forks.push(match fork {
            Some(mut fork) => match fork.fill_mask(&mut row) {
                Ok(_) => Some(fork),
                Err(error) => {
                    expected.errors.push((node, error));
                    None
                }
            },
            None => {
                row.clone_from(&expected.rows[parent.expect("node 0 is never refused")]);
                None
            }
        });
        expected.rows.push(row);
    }
    expected
}

/// Everything that a matcher can be asked.
fn state(matcher: &mut Matcher) -> (usize, bool, bool, Option<Vec<u32>>, Vec<u8>, String) {
    let mask = matcher.mask().ok().map(|mask| mask.as_words().to_vec());
    let accepted = format!("{:?}", matcher.accepted());
    (matcher.n_steps(), matcher.is_accepting(), matcher.is_terminated(), mask, matcher.jump_forward(), accepted)
}

/// Compares the rows of a tree with the definition; tells how many drafts were acceptable.
fn check(
    matcher: &mut Matcher,
    parents: &[i32],
    tokens: &[TokenId],
    padding: usize,
    context: &dyn Fn() -> String,
) -> usize {
    let expected = expect(matcher, parents, tokens);
    let before = state(matcher);
    let n_words = matcher.grammar().vocab().n_mask_words();
    let words_per_row = n_words + padding;
    let mut rows = vec![0xdead_beef; parents.len() * words_per_row + 3];
    let context = || format!("drafts {tokens:?} below {parents:?}\n{}", context());
    let filled = matcher.fill_masks_for_tree(parents, tokens, &mut rows, words_per_row);
    let (rows_of_nodes, rest) = rows.split_at(parents.len() * words_per_row);
    assert_eq!(rest, [0xdead_beef; 3], "{}", context());
    let n_acceptable = match filled {
        Ok(TreeFill { is_acceptable, all_set, .. }) => {
            assert!(expected.errors.is_empty(), "{:?}\n{}", expected.errors, context());
            assert_eq!(is_acceptable, expected.is_acceptable, "{}", context());
            for (node, row) in rows_of_nodes.chunks(words_per_row).enumerate() {
                assert!(row[..n_words] == expected.rows[node], "the row of node {node}\n{}", context());
                assert!(row[n_words..].iter().all(|&word| word == 0), "words beyond the vocabulary\n{}", context());
            }
            let n_tokens = matcher.grammar().vocab().n_tokens();
            let is_full = (0..n_tokens as TokenId).all(|token| expected.rows.iter().all(|row| has(row, token)));
            assert_eq!(all_set, is_full, "{}", context());
            expected.is_acceptable.iter().filter(|&&is_acceptable| is_acceptable).count() - 1
        }
        Err(error) => {
            let node = error.token_index().unwrap_or(0);
            let (_, wanted) = expected.errors.iter().find(|(other, _)| *other == node).expect("the node has an error");
            assert_eq!((error.is_stuck(), error.is_over_budget()), (wanted.is_stuck(), wanted.is_over_budget()));
            assert_eq!(error.token_index().is_none(), node == 0);
            assert!(rows_of_nodes.iter().all(|&word| word == 0), "rows of an error\n{}", context());
            0
        }
    };
    assert_eq!(state(matcher), before, "the matcher is another one\n{}", context());
    n_acceptable
}

/// Compares a chain with the tree without branches, which is compared with the definition.
fn check_chain(matcher: &mut Matcher, drafts: &[TokenId], is_closed: bool, context: &dyn Fn() -> String) {
    let parents: Vec<i32> = (-1..drafts.len() as i32).collect();
    let tokens: Vec<TokenId> = [TokenId::MAX].into_iter().chain(drafts.iter().copied()).collect();
    check(matcher, &parents, &tokens, 0, context);
    let n_words = matcher.grammar().vocab().n_mask_words();
    let (mut of_chain, mut of_tree) = (vec![7; tokens.len() * n_words], vec![8; tokens.len() * n_words]);
    let before = state(matcher);
    let chain = matcher.fill_masks_for_chain(drafts, &mut of_chain, n_words);
    assert_eq!(state(matcher), before, "the matcher is another one\n{}", context());
    let tree = matcher.fill_masks_for_tree(&parents, &tokens, &mut of_tree, n_words);
    assert_eq!(of_chain, of_tree, "{drafts:?}\n{}", context());
    match (chain, tree) {
        (Ok(chain), Ok(tree)) => {
            let n_acceptable = tree.is_acceptable.iter().filter(|&&is_acceptable| is_acceptable).count() - 1;
            assert_eq!((chain.n_acceptable, chain.all_set), (n_acceptable, tree.all_set), "{drafts:?}\n{}", context());
            // A row closed since it takes too much work refuses what accepting could.
            let n_valid = matcher.validate_tokens(drafts);
            assert!(n_valid == n_acceptable || is_closed && n_valid > n_acceptable, "{drafts:?}\n{}", context());
        }
        (Err(chain), Err(tree)) => {
            assert_eq!(chain.token_index(), tree.token_index().map(|node| node - 1), "{}", context());
        }
        (chain, tree) => panic!("{chain:?}, {tree:?}\n{}", context()),
    }
}

/// A random tree of drafts, most of which may follow their parents.
fn random_tree(rng: &mut Rng, matcher: &Matcher, n_nodes: usize) -> (Vec<i32>, Vec<TokenId>) {
    let vocab = matcher.grammar().vocab();
    let (mut parents, mut tokens) = (vec![-1], vec![rng.bits() as TokenId]);
    let mut forks = vec![matcher.fork()];
    for node in 1..n_nodes {
        let parent = if rng.chance(50) { node - 1 } else { rng.below(node) };
        let mut fork = forks[parent].fork();
        let allowed: Vec<TokenId> = fork.mask().map_or(vec![], |mask| mask.iter().collect());
        let token = match rng.below(10) {
            0 => rng.below(vocab.n_tokens() + 2) as TokenId,
            1 if !matcher.stop_tokens().is_empty() => *rng.pick(matcher.stop_tokens()),
            2 => TokenId::MAX,
            _ if allowed.is_empty() => 0,
            _ => *rng.pick(&allowed),
        };
        _ = fork.accept_token(token);
        parents.push(parent as i32);
        tokens.push(token);
        forks.push(fork);
    }
    (parents, tokens)
}

#[test]
fn rows_of_random_trees_are_those_of_forks() {
    let seed = rounds::seed_or(11);
    let (mut rng, time, start) = (Rng::new(seed), rounds::time_or(4), Instant::now());
    let (mut n_grammars, mut n_trees, mut n_acceptable) = (0, 0, 0);
    while start.elapsed() < time {
        let Some(fixture) = Fixture::random(&mut rng) else { continue };
        n_grammars += 1;
        let mut matcher = fixture.compiled.matcher();
        let is_closed = rng.chance(30);
        matcher.set_fail_closed(is_closed);
        matcher.set_terminate_when_nothing_follows(rng.chance(30));
        if rng.chance(20) {
            let n_tokens = fixture.vocab.n_tokens();
            let stops: Vec<TokenId> = (0..rng.below(3)).map(|_| rng.below(n_tokens) as TokenId).collect();
            matcher.set_stop_tokens(&stops).unwrap();
        }
        for _ in 0..rng.between(1, 5) {
            let n_nodes = rng.between(1, 12);
            let (parents, tokens) = random_tree(&mut rng, &matcher, n_nodes);
            let context = || format!("MASKWRIGHT_SEED={seed}, grammar {n_grammars}\n{}", fixture.describe());
            n_acceptable += check(&mut matcher, &parents, &tokens, rng.below(3), &context);
            check_chain(&mut matcher, &tokens[1..], is_closed, &context);
            n_trees += 1;
            // Along one of the drafts, so that what was found for it is of use.
            let drafts = tokens.iter().skip(1).take(rng.below(3));
            if is_expensive(&matcher, None) || !drafts.copied().all(|draft| matcher.accept_token(draft).is_ok()) {
                break;
            }
        }
    }
    println!("{n_trees} trees of {n_grammars} grammars, {n_acceptable} drafts acceptable");
    assert!(n_trees > 100 && n_acceptable > n_trees, "{n_trees} {n_acceptable}");
}

#[test]
fn chains_have_a_row_for_each_answer() {
    let grammar = compile(r#"root ::= "a" ("b" "c")* <|x|>? <|end|>"#);
    let mut matcher = grammar.matcher();
    let token = |text: &str| TokenId::from(text.as_bytes()[0]);
    let none = || String::new();
    matcher.accept_token(token("a")).unwrap();
    for (drafts, n_acceptable) in [
        (&[][..], 0),
        (&[token("b")], 1),
        (&[token("b"), token("c"), token("b")], 3),
        (&[token("b"), token("b"), token("c")], 1),
        (&[token("c"), token("b")], 0),
        // Control and stop tokens, and what is behind the end.
        (&[300, 303, 303, token("b")], 3),
        (&[303, token("b"), 303], 1),
        // Padding, and ids beyond the vocabulary.
        (&[token("b"), 310, token("c")], 1),
        (&[token("b"), 320, token("c")], 1),
        (&[TokenId::MAX], 0),
    ] {
        check_chain(&mut matcher, drafts, false, &none);
        let mut rows = vec![0; (drafts.len() + 1) * 10];
        let filled = matcher.fill_masks_for_chain(drafts, &mut rows, 10).unwrap();
        assert_eq!(filled.n_acceptable, n_acceptable, "{drafts:?}");
        // What an engine does: accept what is acceptable, then the model's answer to it.
        let mut accepted = matcher.fork();
        accepted.accept_tokens(&drafts[..n_acceptable]).unwrap();
        assert_eq!(accepted.mask().unwrap().as_words(), &rows[n_acceptable * 10..][..10], "{drafts:?}");
    }
}

#[test]
fn mistakes_are_errors_and_write_nothing() {
    let grammar = compile(r#"root ::= [a-z]*"#);
    let mut matcher = grammar.matcher();
    let mut rows = [5; 30];
    let tokens: [TokenId; 3] = [0, b'a'.into(), b'b'.into()];
    for (parents, node) in [
        ([0, 0, 0], 0),
        ([-2, 0, 0], 0),
        ([-1, -1, 0], 1),
        ([-1, 1, 0], 1),
        ([-1, 0, 3], 2),
        ([-1, 2, 0], 1),
        ([-1, 0, i32::MAX], 2),
        ([-1, 0, i32::MIN], 2),
    ] {
        let error = matcher.fill_masks_for_tree(&parents, &tokens, &mut rows, 10).unwrap_err();
        assert_eq!(error.token_index(), Some(node), "{parents:?}: {error}");
        assert!(error.to_string().contains(&format!("parent of node {node} is {}", parents[node])), "{error}");
    }
    let parents = [-1, 0, 1];
    let error = |outcome: Result<TreeFill<'_>, MatchError>| outcome.map(|_| ()).unwrap_err();
    let cut = error(matcher.fill_masks_for_tree(&parents, &tokens[..2], &mut rows, 10));
    assert_eq!((cut.bound(), cut.token_index()), (Some((2, 3)), None));
    assert_eq!(error(matcher.fill_masks_for_tree(&parents, &tokens, &mut rows, 9)).bound(), Some((9, 10)));
    assert_eq!(error(matcher.fill_masks_for_tree(&parents, &tokens, &mut rows, 11)).bound(), Some((30, 33)));
    let huge = error(matcher.fill_masks_for_tree(&parents, &tokens, &mut rows, usize::MAX));
    assert_eq!(huge.bound(), Some((30, usize::MAX)));
    assert_eq!(matcher.fill_masks_for_chain(&tokens, &mut rows, 10).unwrap_err().bound(), Some((30, 40)));
    assert_eq!(rows, [5; 30]);
    // Mistakes of the caller are errors for a matcher that fails closed, too.
    matcher.set_fail_closed(true);
    assert_eq!(matcher.fill_masks_for_chain(&tokens, &mut rows, 10).unwrap_err().bound(), Some((30, 40)));
    // A tree without nodes has no rows.
    let filled = matcher.fill_masks_for_tree(&[], &[], &mut rows, 10).unwrap();
    assert!(filled.is_acceptable.is_empty() && filled.all_set && rows == [5; 30]);
    assert!(matcher.fill_masks_for_tree(&parents, &tokens, &mut rows, 10).is_ok());
}

/// Behind the draft `b` the text is stuck: the call says so, and can be repeated without it.
#[test]
fn rows_that_cannot_be_filled_abort_or_close() {
    let mut builder = Vocab::builder();
    builder.extend(["a", "b", "c"]);
    let stop = builder.push("<stop>");
    builder.stop_tokens([stop]);
    let compiler = GrammarCompiler::new(Arc::new(builder.build().unwrap()));
    let mut matcher = compiler.compile_ebnf(r#"root ::= "a" ("b" "z" | "c"*)"#).unwrap().matcher();
    let mut rows = [9; 4];
    let error = matcher.fill_masks_for_chain(&[0, 1, 2], &mut rows, 1).unwrap_err();
    assert!(error.is_stuck() && error.token_index() == Some(1) && rows == [0; 4], "{error}");
    assert_eq!(matcher.n_steps(), 0);
    assert_eq!(matcher.fill_masks_for_chain(&[0], &mut rows, 1).unwrap().n_acceptable, 1);
    assert_eq!(rows, [0b1, 0b1110, 0, 0]);
    let error = matcher.fill_masks_for_tree(&[-1, 0, 1, 1], &[0, 0, 2, 1], &mut rows, 1).unwrap_err();
    assert!(error.is_stuck() && error.token_index() == Some(3) && rows == [0; 4], "{error}");
    let mut at_start = matcher.fork();
    at_start.accept_bytes(b"ab").unwrap();
    let error = at_start.fill_masks_for_chain(&[0], &mut rows, 1).unwrap_err();
    assert!(error.is_stuck() && error.token_index().is_none(), "{error}");

    // Stop tokens instead of an error; what a row allows is accepted.
    matcher.set_fail_closed(true);
    rows = [9; 4];
    let filled = matcher.fill_masks_for_chain(&[0, 1, 2], &mut rows, 1).unwrap();
    assert_eq!((filled.n_acceptable, rows), (2, [0b1, 0b1110, 0b1000, 0b1000]));
    assert!(matcher.error().is_none());
    matcher.accept_tokens(&[0, 1, stop]).unwrap();
    assert!(matcher.is_terminated());
    matcher.rollback(3).unwrap();
    let filled = matcher.fill_masks_for_tree(&[-1, 0, 1, 2], &[0, 0, 1, stop], &mut rows, 1).unwrap();
    assert_eq!(filled.is_acceptable, [true; 4]);
    assert_eq!(rows, [0b1, 0b1110, 0b1000, 0b1000]);
    // Where no row says so, the stop token is refused as ever.
    let mut row = [0];
    matcher.fill_mask(&mut row).unwrap();
    assert!(matcher.accept_tokens(&[0, 1, stop]).is_err());
}

/// A stop token that is text of the vocabulary, too, is tried for the mask of values that must differ: that asks no further whether it closes.
#[test]
fn a_stop_token_of_text_closes_where_a_row_said_so() {
    let mut builder = Vocab::builder();
    builder.extend(["{", "}", "\"", "a", "t", ",", "{\"a\"", ":", "1", "[", "]"]);
    let stop = builder.push("<stop>");
    builder.stop_tokens([stop]);
    let compiler = GrammarCompiler::new(Arc::new(builder.build().unwrap()));
    // No token has an `r`, so that the text is stuck behind `t`.
    let schema = r#"{ "type": "array", "uniqueItems": true, "items": { "type": "object", "additionalProperties": { "enum": [1, true] } } }"#;
    let mut matcher = compiler.compile_json_schema(schema).unwrap().matcher();
    let (key, stuck) = (6, [9, 0, 2, 3, 2, 7, 4]);
    matcher.set_stop_tokens(&[key]).unwrap();
    matcher.set_fail_closed(true);
    let mut rows = [0; 8];
    let filled = matcher.fill_masks_for_chain(&stuck, &mut rows, 1).unwrap();
    assert_eq!((filled.n_acceptable, rows[7]), (7, 1 << key));
    matcher.accept_token(9).unwrap();
    assert!(matcher.accept_token(key).is_err(), "no row said so here");
    matcher.rollback(1).unwrap();
    matcher.accept_tokens(&stuck).unwrap();
    matcher.accept_token(key).unwrap();
    assert!(matcher.is_terminated());
}

#[test]
fn a_batch_accepts_and_fills() {
    let grammar = compile(r#"root ::= "a" | "b" "a""#);
    let (a, b): (TokenId, TokenId) = (b'a'.into(), b'b'.into());
    let lists: Vec<Vec<TokenId>> = vec![vec![a], vec![b, a], vec![b, b], vec![], vec![a, 303, 303], vec![999]];
    let mut matchers: Vec<Matcher> = lists.iter().map(|_| grammar.matcher()).collect();
    let mut rows = vec![u32::MAX; 6 * 11];
    let filled = accept_and_fill(&mut matchers, &lists, &mut rows, 11, None);
    for (index, tokens) in lists.iter().enumerate() {
        let mut alone = grammar.matcher();
        let mut row = vec![u32::MAX; 11];
        let expected = alone.accept_tokens(tokens).and_then(|()| alone.fill_mask(&mut row));
        if expected.is_err() {
            row.fill(0);
        }
        assert_eq!(filled[index], expected, "{tokens:?}");
        assert_eq!(rows[index * 11..][..11], row, "{tokens:?}");
        assert_eq!(state(&mut matchers[index]), state(&mut alone), "{tokens:?}");
    }
    assert_eq!(filled.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false, true, true, false]);
    assert_eq!(filled[2].as_ref().unwrap_err().token_index(), Some(1));
    // A row that isn't there is an error of its matcher, which has accepted.
    let mut matchers = [grammar.matcher(), grammar.matcher()];
    let filled = accept_and_fill(&mut matchers, &[[a], [a]], &mut rows[..15], 10, None);
    let error = filled[1].as_ref().unwrap_err();
    assert!(filled[0].is_ok() && error.bound() == Some((5, 10)) && error.token_index().is_none(), "{error}");
    assert_eq!(matchers.map(|matcher| matcher.n_steps()), [1, 1]);
}

//! Random sequences of operations on several matchers, beside a model of each: a judge and the list of steps.

use super::cases::Subject;
use super::engine::{Tally, describe, difference, is_expensive, random_allowed};
use super::worlds::World;
use super::{Rng, show_bytes};
use crate::matcher::{AcceptedPiece, MaskKey, Matcher};
use crate::reference::Judge;
use crate::vocab::TokenId;
use std::collections::HashMap;

/// A matcher and what it should be.
struct Pair {
    matcher: Matcher,
    judge: Judge,
    stop_tokens: Vec<TokenId>,
    steps: Vec<AcceptedPiece>,
    /// So many of the first steps were forgotten.
    n_forgotten: usize,
}

impl Pair {
    fn new(world: &World) -> Self {
        Pair {
            matcher: world.compiled.matcher(),
            judge: world.judge(),
            stop_tokens: world.vocab.stop_tokens().to_vec(),
            steps: vec![],
            n_forgotten: 0,
        }
    }

    fn trail(&self, world: &World) -> Vec<String> {
        let show = |step: &AcceptedPiece| match step {
            AcceptedPiece::Token(id) => format!("{id} {}", show_bytes(world.vocab.bytes(*id))),
            AcceptedPiece::Bytes(bytes) => format!("bytes {}", show_bytes(bytes)),
        };
        self.steps.iter().map(show).collect()
    }

    fn fork(&self) -> Self {
        Pair {
            matcher: self.matcher.fork(),
            judge: self.judge.clone(),
            stop_tokens: self.stop_tokens.clone(),
            steps: self.steps.clone(),
            n_forgotten: self.n_forgotten,
        }
    }

    fn judge_accepts(&mut self, tokens: &[TokenId]) -> usize {
        let n_valid = tokens.iter().take_while(|&&id| self.judge.accept_token(id)).count();
        self.steps.extend(tokens[..n_valid].iter().map(|&id| AcceptedPiece::Token(id)));
        n_valid
    }

    fn take_back(&mut self, k: usize) {
        assert!(self.judge.rollback(k));
        self.steps.truncate(self.steps.len() - k);
    }
}

/// Does random operations on several matchers of one world, and compares them with their models.
///
/// # Panics
/// If a matcher differs from its model, or an operation that fails changes anything.
pub fn check(data: &[u8]) -> Tally {
    let mut rng = Rng::from_bytes(data);
    let mut tally = Tally::default();
    let Some(world) = World::random(&mut rng) else { return tally };
    tally.n_grammars += 1;
    let mut keys: HashMap<MaskKey, Vec<u32>> = HashMap::new();
    let mut pairs = vec![Pair::new(&world)];
    for _ in 0..rng.between(1, 40) {
        let index = rng.below(pairs.len());
        if rng.chance(8) && pairs.len() < 4 {
            let fork = pairs[index].fork();
            pairs.push(fork);
            continue;
        }
        let pair = &mut pairs[index];
        if is_expensive(&pair.matcher, Some(&pair.judge)) {
            let k = pair.steps.len() - pair.n_forgotten;
            pair.matcher.rollback(k.div_ceil(2)).expect("so many steps were made");
            pair.take_back(k.div_ceil(2));
            if k == 0 {
                pairs[index] = Pair::new(&world);
            }
            continue;
        }
        operate(&mut rng, &world, pair);
        if !is_expensive(&pair.matcher, Some(&pair.judge)) {
            tally += compare(&world, pair, &mut keys);
        }
    }
    // Whatever happened to the others.
    for pair in pairs.iter_mut().filter(|pair| !is_expensive(&pair.matcher, Some(&pair.judge))) {
        tally += compare(&world, pair, &mut keys);
    }
    tally
}

fn operate(rng: &mut Rng, world: &World, pair: &mut Pair) {
    let n_tokens = world.vocab.n_tokens();
    let context = |pair: &Pair| describe(world, &pair.trail(world));
    match rng.below(18) {
        0..=5 => {
            let row = Subject::mask(&mut pair.matcher);
            if let Some(token) = random_allowed(rng, &row) {
                assert!(pair.matcher.accept_token(token).is_ok(), "token {token} is refused\n{}", context(pair));
                assert_eq!(pair.judge_accepts(&[token]), 1, "token {token}\n{}", context(pair));
            }
        }
        6 => {
            let token = rng.below(n_tokens + 2) as TokenId;
            let is_accepted = pair.matcher.accept_token(token).is_ok();
            let n_accepted = pair.judge_accepts(&[token]);
            assert_eq!(is_accepted, n_accepted == 1, "token {token}\n{}", context(pair));
        }
        7 | 8 => {
            let tokens = random_tokens(rng, pair, n_tokens);
            let outcome = pair.matcher.accept_tokens(&tokens);
            let n_valid = pair.judge_accepts(&tokens);
            if n_valid < tokens.len() {
                pair.take_back(n_valid);
                let error = outcome.expect_err("a token is refused");
                // Which token it was is known but after termination.
                assert!(error.token_index().is_none_or(|index| index == n_valid), "{error}\n{}", context(pair));
            } else {
                assert!(outcome.is_ok(), "tokens {tokens:?} are refused\n{}", context(pair));
            }
        }
        9 => {
            let tokens = random_tokens(rng, pair, n_tokens);
            let n_valid = pair.judge_accepts(&tokens);
            pair.take_back(n_valid);
            assert_eq!(pair.matcher.validate_tokens(&tokens), n_valid, "validating {tokens:?}\n{}", context(pair));
        }
        10 | 11 => {
            let bytes = random_bytes(rng, world, pair);
            let outcome = pair.matcher.accept_bytes(&bytes);
            let is_accepted = pair.judge.accept_bytes(&bytes);
            assert_eq!(outcome.is_ok(), is_accepted, "{}\n{}", show_bytes(&bytes), context(pair));
            if is_accepted {
                pair.steps.push(AcceptedPiece::Bytes(bytes));
            }
        }
        12 | 13 => {
            let n_steps = pair.steps.len() - pair.n_forgotten;
            let k = rng.below(n_steps + 2);
            assert_eq!(pair.matcher.rollback(k).is_ok(), k <= n_steps, "rollback {k}\n{}", context(pair));
            if k <= n_steps {
                pair.take_back(k);
            }
        }
        14 => {
            pair.matcher.reset();
            pair.take_back(pair.steps.len());
            pair.n_forgotten = 0;
        }
        15 => {
            pair.matcher.forget_history();
            pair.n_forgotten = pair.steps.len();
        }
        16 => replay(rng, world, pair),
        _ => {
            let stops: Vec<TokenId> = (0..rng.below(3)).map(|_| rng.below(n_tokens) as TokenId).collect();
            Subject::set_stop_tokens(&mut pair.matcher, &stops);
            pair.judge.set_stop_tokens(&stops);
            pair.stop_tokens = stops;
        }
    }
}

/// Replays the tokens so far, or others.
fn replay(rng: &mut Rng, world: &World, pair: &mut Pair) {
    let mut tokens: Vec<TokenId> = Vec::new();
    for step in &pair.steps {
        match step {
            AcceptedPiece::Token(id) => tokens.push(*id),
            AcceptedPiece::Bytes(_) => {}
        }
    }
    if rng.chance(30) {
        tokens.push(rng.below(world.vocab.n_tokens() + 1) as TokenId);
    }
    let mut judge = world.judge();
    judge.set_stop_tokens(&pair.stop_tokens);
    let is_accepted = tokens.iter().all(|&id| judge.accept_token(id));
    let outcome = pair.matcher.replay(&tokens);
    assert_eq!(outcome.is_ok(), is_accepted, "replay {tokens:?}\n{}", describe(world, &pair.trail(world)));
    if is_accepted {
        pair.judge = judge;
        pair.steps = tokens.into_iter().map(AcceptedPiece::Token).collect();
        pair.n_forgotten = 0;
    }
}

/// Returns a few tokens, most of them such that each may follow those before it.
fn random_tokens(rng: &mut Rng, pair: &Pair, n_tokens: usize) -> Vec<TokenId> {
    let mut fork = pair.matcher.fork();
    let mut tokens = Vec::new();
    for _ in 0..rng.below(4) {
        let row = Subject::mask(&mut fork);
        let token = match random_allowed(rng, &row) {
            Some(token) if rng.chance(85) => token,
            _ => rng.below(n_tokens + 1) as TokenId,
        };
        _ = fork.accept_token(token);
        tokens.push(token);
    }
    tokens
}

/// Returns bytes that may follow, or a part of them and something else.
fn random_bytes(rng: &mut Rng, world: &World, pair: &mut Pair) -> Vec<u8> {
    let mut bytes = match rng.below(3) {
        0 => pair.matcher.jump_forward(),
        _ => {
            let row = Subject::mask(&mut pair.matcher);
            random_allowed(rng, &row).map_or(vec![], |id| world.vocab.bytes(id).to_vec())
        }
    };
    bytes.truncate(rng.below(bytes.len().min(20) + 1));
    if rng.chance(20) {
        bytes.push(rng.below(256) as u8);
    }
    bytes
}

fn compare(world: &World, pair: &mut Pair, keys: &mut HashMap<MaskKey, Vec<u32>>) -> Tally {
    let trail = pair.trail(world);
    let context = || describe(world, &trail);
    let key = pair.matcher.mask_key();
    let row = Subject::mask(&mut pair.matcher);
    let expected = pair.judge.mask();
    if row != expected {
        panic!("{}\n{}", difference(world, &row, &expected), context());
    }
    for key in [key, pair.matcher.mask_key()] {
        assert!(*keys.entry(key).or_insert_with(|| row.clone()) == row, "equal keys, different rows\n{}", context());
    }
    assert_eq!(pair.matcher.is_accepting(), pair.judge.is_accepting(), "accepting\n{}", context());
    assert_eq!(pair.matcher.is_terminated(), pair.judge.is_terminated(), "terminated\n{}", context());
    assert_eq!(pair.matcher.n_steps(), pair.steps.len() - pair.n_forgotten, "steps\n{}", context());
    let forced = pair.matcher.jump_forward();
    assert_eq!(forced[..forced.len().min(16)], pair.judge.forced_text(16), "forced text\n{}", context());
    match pair.matcher.accepted() {
        Ok(accepted) => assert_eq!(accepted, pair.steps, "{}", context()),
        Err(_) => assert!(pair.n_forgotten > 0, "{}", context()),
    }
    // Asking changes nothing.
    assert!(Subject::mask(&mut pair.matcher) == row, "asking changes the mask\n{}", context());
    Tally { n_bits: world.vocab.n_tokens() as u64, n_masks: 1, ..Tally::default() }
}

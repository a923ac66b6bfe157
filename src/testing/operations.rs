//! Random sequences of operations on several matchers, each compared with a model: an oracle and the list of its steps.

use super::cases::Subject;
use super::engine::{Coverage, describe, difference, is_expensive, random_allowed};
use super::fixture::Fixture;
use super::{Rng, show_bytes};
use crate::matcher::{AcceptedPiece, MaskKey, Matcher};
use crate::reference::OracleMatcher;
use crate::vocab::TokenId;
use std::collections::HashMap;

/// A matcher and its model.
struct Tested {
    matcher: Matcher,
    oracle: OracleMatcher,
    stop_tokens: Vec<TokenId>,
    ends_ahead: bool,
    steps: Vec<AcceptedPiece>,
    /// How many of the first steps the matcher has forgotten.
    n_forgotten: usize,
}

impl Tested {
    fn new(fixture: &Fixture) -> Self {
        Tested {
            matcher: fixture.compiled.matcher(),
            oracle: fixture.oracle(),
            stop_tokens: fixture.vocab.stop_tokens().to_vec(),
            ends_ahead: false,
            steps: vec![],
            n_forgotten: 0,
        }
    }

    fn steps(&self, fixture: &Fixture) -> Vec<String> {
        let show = |step: &AcceptedPiece| match step {
            AcceptedPiece::Token(id) => format!("{id} {}", show_bytes(fixture.vocab.bytes(*id))),
            AcceptedPiece::Bytes(bytes) => format!("bytes {}", show_bytes(bytes)),
        };
        self.steps.iter().map(show).collect()
    }

    fn fork(&self) -> Self {
        Tested {
            matcher: self.matcher.fork(),
            oracle: self.oracle.clone(),
            stop_tokens: self.stop_tokens.clone(),
            ends_ahead: self.ends_ahead,
            steps: self.steps.clone(),
            n_forgotten: self.n_forgotten,
        }
    }

    fn oracle_accepts(&mut self, tokens: &[TokenId]) -> usize {
        let n_valid = tokens.iter().take_while(|&&id| self.oracle.accept_token(id)).count();
        self.steps.extend(tokens[..n_valid].iter().map(|&id| AcceptedPiece::Token(id)));
        n_valid
    }

    /// Tells whether comparing would take too long, or the step takes more work than is allowed.
    fn is_too_much(&mut self) -> bool {
        is_expensive(&self.matcher, Some(&self.oracle))
            || self.matcher.mask().is_err_and(|error| error.is_over_budget())
    }

    fn take_back(&mut self, k: usize) {
        assert!(self.oracle.rollback(k));
        self.steps.truncate(self.steps.len() - k);
    }
}

/// Does random operations on several matchers of one fixture and compares them with their models.
///
/// # Panics
/// If a matcher differs from its model, or an operation that fails changes anything.
pub fn check(data: &[u8]) -> Coverage {
    let mut rng = Rng::from_bytes(data);
    let mut coverage = Coverage::default();
    let Some(fixture) = Fixture::random(&mut rng) else { return coverage };
    coverage.n_grammars += 1;
    let mut keys: HashMap<MaskKey, Vec<u32>> = HashMap::new();
    let mut all = vec![Tested::new(&fixture)];
    for _ in 0..rng.between(1, 40) {
        let index = rng.below(all.len());
        if rng.chance(8) && all.len() < 4 {
            let fork = all[index].fork();
            all.push(fork);
            continue;
        }
        let tested = &mut all[index];
        if tested.is_too_much() {
            let k = tested.steps.len() - tested.n_forgotten;
            tested.matcher.rollback(k.div_ceil(2)).expect("so many steps were made");
            tested.take_back(k.div_ceil(2));
            if k == 0 {
                all[index] = Tested::new(&fixture);
            }
            continue;
        }
        operate(&mut rng, &fixture, tested);
        if !tested.is_too_much() {
            coverage += compare(&fixture, tested, &mut keys);
        }
    }
    // No matcher is affected by operations on the others.
    for tested in &mut all {
        if !tested.is_too_much() {
            coverage += compare(&fixture, tested, &mut keys);
        }
    }
    coverage
}

fn operate(rng: &mut Rng, fixture: &Fixture, tested: &mut Tested) {
    let n_tokens = fixture.vocab.n_tokens();
    let context = |tested: &Tested| describe(fixture, &tested.steps(fixture));
    match rng.below(19) {
        0..=5 => {
            let row = Subject::mask(&mut tested.matcher);
            if let Some(token) = random_allowed(rng, &row) {
                assert!(tested.matcher.accept_token(token).is_ok(), "token {token} is refused\n{}", context(tested));
                assert_eq!(tested.oracle_accepts(&[token]), 1, "token {token}\n{}", context(tested));
            }
        }
        6 => {
            let token = rng.below(n_tokens + 2) as TokenId;
            let is_accepted = tested.matcher.accept_token(token).is_ok();
            let n_accepted = tested.oracle_accepts(&[token]);
            assert_eq!(is_accepted, n_accepted == 1, "token {token}\n{}", context(tested));
        }
        7 | 8 => {
            let tokens = random_tokens(rng, tested, n_tokens);
            let outcome = tested.matcher.accept_tokens(&tokens);
            let n_valid = tested.oracle_accepts(&tokens);
            if n_valid < tokens.len() {
                tested.take_back(n_valid);
                let error = outcome.expect_err("a token is refused");
                // Which token it was is known but after termination.
                assert!(error.token_index().is_none_or(|index| index == n_valid), "{error}\n{}", context(tested));
            } else {
                assert!(outcome.is_ok(), "tokens {tokens:?} are refused\n{}", context(tested));
            }
        }
        9 => {
            let tokens = random_tokens(rng, tested, n_tokens);
            let n_valid = tested.oracle_accepts(&tokens);
            tested.take_back(n_valid);
            assert_eq!(tested.matcher.validate_tokens(&tokens), n_valid, "validating {tokens:?}\n{}", context(tested));
        }
        10 | 11 => {
            let bytes = random_bytes(rng, fixture, tested);
            let outcome = tested.matcher.accept_bytes(&bytes);
            let is_accepted = tested.oracle.accept_bytes(&bytes);
            assert_eq!(outcome.is_ok(), is_accepted, "{}\n{}", show_bytes(&bytes), context(tested));
            if is_accepted {
                tested.steps.push(AcceptedPiece::Bytes(bytes));
            }
        }
        12 | 13 => {
            let n_steps = tested.steps.len() - tested.n_forgotten;
            let k = rng.below(n_steps + 2);
            assert_eq!(tested.matcher.rollback(k).is_ok(), k <= n_steps, "rollback {k}\n{}", context(tested));
            if k <= n_steps {
                tested.take_back(k);
            }
        }
        14 => {
            tested.matcher.reset();
            tested.take_back(tested.steps.len());
            tested.n_forgotten = 0;
        }
        15 => {
            tested.matcher.forget_history();
            tested.n_forgotten = tested.steps.len();
        }
        16 => replay(rng, fixture, tested),
        17 => {
            tested.ends_ahead = rng.chance(70);
            tested.matcher.set_terminate_when_nothing_follows(tested.ends_ahead);
            tested.oracle.set_terminate_when_nothing_follows(tested.ends_ahead);
        }
        _ => {
            let stops: Vec<TokenId> = (0..rng.below(3)).map(|_| rng.below(n_tokens) as TokenId).collect();
            Subject::set_stop_tokens(&mut tested.matcher, &stops);
            tested.oracle.set_stop_tokens(&stops);
            tested.stop_tokens = stops;
        }
    }
}

/// Replays the tokens so far, or others.
fn replay(rng: &mut Rng, fixture: &Fixture, tested: &mut Tested) {
    let mut tokens: Vec<TokenId> = Vec::new();
    for step in &tested.steps {
        match step {
            AcceptedPiece::Token(id) => tokens.push(*id),
            AcceptedPiece::Bytes(_) => {}
        }
    }
    if rng.chance(30) {
        tokens.push(rng.below(fixture.vocab.n_tokens() + 1) as TokenId);
    }
    let mut oracle = fixture.oracle();
    oracle.set_stop_tokens(&tested.stop_tokens);
    oracle.set_terminate_when_nothing_follows(tested.ends_ahead);
    let is_accepted = tokens.iter().all(|&id| oracle.accept_token(id));
    let outcome = tested.matcher.replay(&tokens);
    assert_eq!(outcome.is_ok(), is_accepted, "replay {tokens:?}\n{}", describe(fixture, &tested.steps(fixture)));
    if is_accepted {
        tested.oracle = oracle;
        tested.steps = tokens.into_iter().map(AcceptedPiece::Token).collect();
        tested.n_forgotten = 0;
    }
}

/// Returns a few tokens, most of them such that each may follow those before it.
fn random_tokens(rng: &mut Rng, tested: &Tested, n_tokens: usize) -> Vec<TokenId> {
    let mut fork = tested.matcher.fork();
    let mut tokens = Vec::new();
    for _ in 0..rng.below(4) {
        // What follows one token may be read in many more ways.
        if fork.mask().is_err_and(|error| error.is_over_budget()) {
            break;
        }
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

/// Returns bytes that may follow, or a prefix of them and another byte.
fn random_bytes(rng: &mut Rng, fixture: &Fixture, tested: &mut Tested) -> Vec<u8> {
    let mut bytes = match rng.below(3) {
        0 => tested.matcher.jump_forward(),
        _ => {
            let row = Subject::mask(&mut tested.matcher);
            random_allowed(rng, &row).map_or(vec![], |id| fixture.vocab.bytes(id).to_vec())
        }
    };
    bytes.truncate(rng.below(bytes.len().min(20) + 1));
    if rng.chance(20) {
        bytes.push(rng.below(256) as u8);
    }
    bytes
}

fn compare(fixture: &Fixture, tested: &mut Tested, keys: &mut HashMap<MaskKey, Vec<u32>>) -> Coverage {
    let steps = tested.steps(fixture);
    let context = || describe(fixture, &steps);
    let key = tested.matcher.mask_key();
    let row = Subject::mask(&mut tested.matcher);
    let expected = tested.oracle.mask();
    if row != expected {
        panic!("{}\n{}", difference(fixture, &row, &expected), context());
    }
    for key in [key, tested.matcher.mask_key()] {
        assert!(*keys.entry(key).or_insert_with(|| row.clone()) == row, "equal keys, different rows\n{}", context());
    }
    assert_eq!(tested.matcher.is_accepting(), tested.oracle.is_accepting(), "accepting\n{}", context());
    assert_eq!(tested.matcher.is_terminated(), tested.oracle.is_terminated(), "terminated\n{}", context());
    assert_eq!(tested.matcher.n_steps(), tested.steps.len() - tested.n_forgotten, "steps\n{}", context());
    let forced = tested.matcher.jump_forward();
    assert_eq!(forced[..forced.len().min(16)], tested.oracle.forced_text(16), "forced text\n{}", context());
    match tested.matcher.accepted() {
        Ok(accepted) => assert_eq!(accepted, tested.steps, "{}", context()),
        Err(_) => assert!(tested.n_forgotten > 0, "{}", context()),
    }
    // Asking changes nothing.
    assert!(Subject::mask(&mut tested.matcher) == row, "asking changes the mask\n{}", context());
    Coverage { n_bits: fixture.vocab.n_tokens() as u64, n_masks: 1, ..Coverage::default() }
}

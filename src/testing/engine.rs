//! The engine against the oracle: masks, verdicts on tokens, forced text, shortest completions.

use super::cases::Subject;
use super::fixture::Fixture;
use super::{Rng, show_bytes};
use crate::grammar::{ControlRef, ExcludedTokens};
use crate::matcher::Matcher;
use crate::reference::{OracleMatcher, Symbol};
use crate::vocab::{TokenId, TokenKind};

/// Returns whether masks are too expensive here, so that a walk should end. The oracle advances every Earley item by every token, which
/// rules out large vocabularies for ambiguous grammars; the engine's memory shows how ambiguous the text is (where a counter and
/// recursion meet, it grows with the fourth power of the length).
pub fn is_expensive(matcher: &Matcher, oracle: Option<&OracleMatcher>) -> bool {
    let n_tokens = matcher.grammar().vocab().n_tokens();
    let (work_max, memory_max) = match n_tokens {
        0..=500 => (60_000, 128 << 10),
        501..=10_000 => (60_000, 6 << 10),
        _ => (300_000, 4 << 10),
    };
    matcher.memory_bytes() > memory_max || oracle.is_some_and(|oracle| oracle.chart().n_items() * n_tokens > work_max)
}

/// How much was compared.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// Number of bits of masks.
    pub n_bits: u64,
    /// Number of masks.
    pub n_masks: u64,
    /// Number of grammars.
    pub n_grammars: u64,
    /// Number of states whose shortest completion was checked.
    pub n_completions: u64,
}

impl core::ops::AddAssign for Coverage {
    fn add_assign(&mut self, other: Coverage) {
        self.n_bits += other.n_bits;
        self.n_masks += other.n_masks;
        self.n_grammars += other.n_grammars;
        self.n_completions += other.n_completions;
    }
}

/// Walks through a random fixture and compares engine and oracle at every step.
///
/// # Panics
/// If engine and oracle differ.
pub fn check(data: &[u8]) -> Coverage {
    let mut rng = Rng::from_bytes(data);
    let mut coverage = Coverage::default();
    if let Some(fixture) = Fixture::random(&mut rng) {
        walk(&mut rng, &fixture, &mut coverage);
    }
    coverage
}

/// Walks through a fixture and compares engine and oracle at every step.
///
/// # Panics
/// If engine and oracle differ.
pub fn walk(rng: &mut Rng, fixture: &Fixture, coverage: &mut Coverage) {
    coverage.n_grammars += 1;
    let is_large = fixture.vocab.n_tokens() > 500;
    for _ in 0..rng.between(1, 3) {
        let (mut oracle, mut matcher) = (fixture.oracle(), fixture.compiled.matcher());
        if rng.chance(15) {
            let n_tokens = fixture.vocab.n_tokens();
            let stops: Vec<TokenId> = (0..rng.below(4)).map(|_| rng.below(n_tokens) as TokenId).collect();
            Subject::set_stop_tokens(&mut matcher, &stops);
            oracle.set_stop_tokens(&stops);
        }
        let mut steps: Vec<String> = Vec::new();
        for _ in 0..rng.between(1, if is_large { 6 } else { 16 }) {
            if is_expensive(&matcher, Some(&oracle)) {
                break;
            }
            let row = compare(rng, fixture, &mut matcher, &mut oracle, &steps, coverage);
            if rng.chance(10) {
                let k = rng.below(steps.len() + 1);
                matcher.rollback(k).expect("so many steps were made");
                oracle.rollback(k);
                steps.truncate(steps.len() - k);
                continue;
            }
            let Some(token) = random_allowed(rng, &row) else { break };
            let bytes = fixture.vocab.bytes(token);
            if rng.chance(10) && !bytes.is_empty() && !oracle.is_terminated() {
                let prefix = &bytes[..rng.between(1, bytes.len())];
                // The token may be allowed as a control token only.
                let is_viable = oracle.accept_bytes(prefix);
                assert_eq!(matcher.accept_bytes(prefix).is_ok(), is_viable, "{}", describe(fixture, &steps));
                steps.extend(is_viable.then(|| format!("bytes {}", show_bytes(prefix))));
                continue;
            }
            assert!(oracle.accept_token(token));
            let accepted = matcher.accept_token(token);
            steps.push(format!("{token} {}", show_bytes(bytes)));
            assert!(accepted.is_ok(), "the last token is refused\n{}", describe(fixture, &steps));
        }
    }
}

/// Compares all answers of engine and oracle after one prefix; returns the mask row.
///
/// # Panics
/// If engine and oracle differ.
pub fn compare(
    rng: &mut Rng,
    fixture: &Fixture,
    matcher: &mut Matcher,
    oracle: &mut OracleMatcher,
    steps: &[String],
    coverage: &mut Coverage,
) -> Vec<u32> {
    let n_tokens = fixture.vocab.n_tokens();
    let expected = oracle.mask();
    let row = Subject::mask(matcher);
    if row != expected {
        panic!("{}\n{}", difference(fixture, &row, &expected), describe(fixture, steps));
    }
    coverage.n_bits += n_tokens as u64;
    coverage.n_masks += 1;
    let context = || describe(fixture, steps);
    assert_eq!(matcher.is_accepting(), oracle.is_accepting(), "accepting\n{}", context());
    assert_eq!(matcher.is_terminated(), oracle.is_terminated(), "terminated\n{}", context());
    let is_set = |id: TokenId| row[id as usize / 32] >> (id % 32) & 1 == 1;
    // Every token where that is cheap, else some, and one beyond the vocabulary.
    let n_asked = n_tokens.min(if n_tokens > 500 { 100 } else { n_tokens });
    let first = if n_asked < n_tokens { rng.below(n_tokens) } else { 0 };
    for index in 0..n_asked {
        let id = ((first + index * (n_tokens / n_asked)) % n_tokens) as TokenId;
        assert_eq!(matcher.is_token_allowed(id), is_set(id), "token {id}\n{}", context());
    }
    assert!(!matcher.is_token_allowed(n_tokens as TokenId) && !matcher.is_token_allowed(TokenId::MAX));
    let forced = matcher.jump_forward();
    let wanted = oracle.forced_text(24);
    assert_eq!(forced[..forced.len().min(24)], wanted, "forced text\n{}", context());
    let text = matcher.jump_forward_text();
    assert!(forced.starts_with(text.as_bytes()) && forced.len() - text.len() < 4 || forced.len() > text.len());
    for _ in 0..3 {
        let id = rng.below(n_tokens + 1) as TokenId;
        let mut fork = matcher.fork();
        let is_accepted = fork.accept_token(id).is_ok();
        assert_eq!(is_accepted, (id as usize) < n_tokens && is_set(id), "accepting token {id}\n{}", context());
        if !is_accepted {
            assert_eq!(Subject::mask(&mut fork), row, "a refused token changes the mask\n{}", context());
        }
    }
    if !oracle.is_terminated() {
        complete(fixture, matcher, oracle, &context);
        coverage.n_completions += 1;
    }
    row
}

/// Returns the first token of a set, if it has one.
fn some_token(fixture: &Fixture, matcher: &Matcher, excluded: &ExcludedTokens) -> Option<TokenId> {
    let vocab = &fixture.vocab;
    let is_in = |&id: &TokenId| {
        let is_named = excluded.names().iter().any(|name| vocab.ids_called(name).contains(&id));
        let is_out = vocab.kind(id) == TokenKind::Padding || matcher.stop_tokens().contains(&id);
        !is_out && !is_named && !excluded.excludes_id(id)
    };
    (0..vocab.n_tokens() as TokenId).find(is_in)
}

/// Checks that the engine accepts the oracle's shortest completion.
fn complete(fixture: &Fixture, matcher: &Matcher, oracle: &OracleMatcher, context: &dyn Fn() -> String) {
    const LEN_MAX: u64 = 300;
    if oracle.chart().completion_len() > LEN_MAX {
        return;
    }
    let mut fork = matcher.fork();
    for symbol in oracle.chart().shortest_completion() {
        if is_expensive(&fork, None) {
            return;
        }
        let is_accepted = match &symbol {
            Symbol::Byte(byte) => fork.accept_bytes(&[*byte]).is_ok(),
            Symbol::Control(ControlRef::Id(id)) => fork.accept_token(*id).is_ok(),
            Symbol::Control(ControlRef::Name(name)) => {
                fixture.vocab.ids_called(name).iter().any(|&id| fork.accept_token(id).is_ok())
            }
            Symbol::TokenExcept(excluded) => {
                let token = some_token(fixture, matcher, excluded);
                token.is_none_or(|token| fork.accept_token(token).is_ok())
            }
        };
        assert!(is_accepted, "a shortest completion is refused at {symbol:?}\n{}", context());
    }
    assert!(fork.is_accepting(), "a shortest completion completes nothing\n{}", context());
}

/// Returns a random token of a mask row.
pub fn random_allowed(rng: &mut Rng, row: &[u32]) -> Option<TokenId> {
    let n_set: usize = row.iter().map(|word| word.count_ones() as usize).sum();
    if n_set == 0 {
        return None;
    }
    let wanted = rng.below(n_set);
    let mut ids = row
        .iter()
        .zip(0u32..)
        .flat_map(|(&word, index)| (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 32 + bit));
    ids.nth(wanted)
}

/// Returns a message about the tokens in which a row differs from the expected one.
pub fn difference(fixture: &Fixture, row: &[u32], expected: &[u32]) -> String {
    const SHOWN_MAX: usize = 12;
    let differs = |id: &TokenId| (row[*id as usize / 32] ^ expected[*id as usize / 32]) >> (id % 32) & 1 == 1;
    let all: Vec<TokenId> = (0..fixture.vocab.n_tokens() as TokenId).filter(differs).collect();
    let mut lines = vec![format!("{} tokens differ from the oracle's mask", all.len())];
    for &id in all.iter().take(SHOWN_MAX) {
        let state = if row[id as usize / 32] >> (id % 32) & 1 == 1 { "wrongly allowed" } else { "missing" };
        lines.push(format!("token {id} {} is {state}", show_bytes(fixture.vocab.bytes(id))));
    }
    lines.join("\n")
}

/// Returns the steps and the fixture, for messages.
pub fn describe(fixture: &Fixture, steps: &[String]) -> String {
    format!("after {}\n{}", steps.join(", "), fixture.describe())
}

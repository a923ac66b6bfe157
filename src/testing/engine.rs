//! The engine against the judge: masks, verdicts on tokens, forced text, ends.

use super::cases::Subject;
use super::worlds::World;
use super::{Rng, show_bytes};
use crate::grammar::ControlRef;
use crate::matcher::Matcher;
use crate::reference::{Judge, Symbol};
use crate::vocab::TokenId;

/// Tells whether masks are expensive at this place, so that a walk should end: ambiguous grammars and large vocabularies are not for
/// the judge, which reads every token with every item; and the engine's memory tells how ambiguous the text is (where a
/// counter and recursion meet it grows with the fourth power of the length).
pub fn is_expensive(matcher: &Matcher, judge: Option<&Judge>) -> bool {
    let n_tokens = matcher.grammar().vocab().n_tokens();
    let (work_max, memory_max) = match n_tokens {
        0..=500 => (60_000, 128 << 10),
        501..=10_000 => (60_000, 6 << 10),
        _ => (300_000, 4 << 10),
    };
    matcher.memory_bytes() > memory_max || judge.is_some_and(|judge| judge.chart().n_items() * n_tokens > work_max)
}

/// What was compared.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Bits of masks.
    pub n_bits: u64,
    /// Masks.
    pub n_masks: u64,
    /// Grammars.
    pub n_grammars: u64,
    /// States whose shortest completion completed.
    pub n_completions: u64,
}

impl core::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.n_bits += other.n_bits;
        self.n_masks += other.n_masks;
        self.n_grammars += other.n_grammars;
        self.n_completions += other.n_completions;
    }
}

/// Walks through a random world and compares everything at every step.
///
/// # Panics
/// If engine and judge differ.
pub fn check(data: &[u8]) -> Tally {
    let mut rng = Rng::from_bytes(data);
    let mut tally = Tally::default();
    if let Some(world) = World::random(&mut rng) {
        walk(&mut rng, &world, &mut tally);
    }
    tally
}

/// Walks through a world and compares everything at every step.
///
/// # Panics
/// If engine and judge differ.
pub fn walk(rng: &mut Rng, world: &World, tally: &mut Tally) {
    tally.n_grammars += 1;
    let is_large = world.vocab.n_tokens() > 500;
    for _ in 0..rng.between(1, 3) {
        let (mut judge, mut matcher) = (world.judge(), world.compiled.matcher());
        if rng.chance(15) {
            let n_tokens = world.vocab.n_tokens();
            let stops: Vec<TokenId> = (0..rng.below(4)).map(|_| rng.below(n_tokens) as TokenId).collect();
            Subject::set_stop_tokens(&mut matcher, &stops);
            judge.set_stop_tokens(&stops);
        }
        let mut trail: Vec<String> = Vec::new();
        for _ in 0..rng.between(1, if is_large { 6 } else { 16 }) {
            if is_expensive(&matcher, Some(&judge)) {
                break;
            }
            let row = compare(rng, world, &mut matcher, &mut judge, &trail, tally);
            if rng.chance(10) {
                let k = rng.below(trail.len() + 1);
                matcher.rollback(k).expect("so many steps were made");
                judge.rollback(k);
                trail.truncate(trail.len() - k);
                continue;
            }
            let Some(token) = random_allowed(rng, &row) else { break };
            let bytes = world.vocab.bytes(token);
            if rng.chance(10) && !bytes.is_empty() && !judge.is_terminated() {
                let part = &bytes[..rng.between(1, bytes.len())];
                // The token may be allowed as a control token only.
                let is_viable = judge.accept_bytes(part);
                assert_eq!(matcher.accept_bytes(part).is_ok(), is_viable, "{}", describe(world, &trail));
                trail.extend(is_viable.then(|| format!("bytes {}", show_bytes(part))));
                continue;
            }
            assert!(judge.accept_token(token));
            let accepted = matcher.accept_token(token);
            trail.push(format!("{token} {}", show_bytes(bytes)));
            assert!(accepted.is_ok(), "the last token is refused\n{}", describe(world, &trail));
        }
    }
}

/// Compares everything that can be asked at one place; returns the mask row.
///
/// # Panics
/// If engine and judge differ.
pub fn compare(
    rng: &mut Rng,
    world: &World,
    matcher: &mut Matcher,
    judge: &mut Judge,
    trail: &[String],
    tally: &mut Tally,
) -> Vec<u32> {
    let n_tokens = world.vocab.n_tokens();
    let expected = judge.mask();
    let row = Subject::mask(matcher);
    if row != expected {
        panic!("{}\n{}", difference(world, &row, &expected), describe(world, trail));
    }
    tally.n_bits += n_tokens as u64;
    tally.n_masks += 1;
    let context = || describe(world, trail);
    assert_eq!(matcher.is_accepting(), judge.is_accepting(), "accepting\n{}", context());
    assert_eq!(matcher.is_terminated(), judge.is_terminated(), "terminated\n{}", context());
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
    let wanted = judge.forced_text(24);
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
    if !judge.is_terminated() {
        complete(world, matcher, judge, &context);
        tally.n_completions += 1;
    }
    row
}

/// Checks that the judge's shortest completion completes the engine's text too.
fn complete(world: &World, matcher: &Matcher, judge: &Judge, context: &dyn Fn() -> String) {
    const LEN_MAX: u64 = 300;
    if judge.chart().completion_len() > LEN_MAX {
        return;
    }
    let mut fork = matcher.fork();
    for symbol in judge.chart().shortest_completion() {
        if is_expensive(&fork, None) {
            return;
        }
        let is_accepted = match &symbol {
            Symbol::Byte(byte) => fork.accept_bytes(&[*byte]).is_ok(),
            Symbol::Control(ControlRef::Id(id)) => fork.accept_token(*id).is_ok(),
            Symbol::Control(ControlRef::Name(name)) => {
                world.vocab.ids_named(name).iter().any(|&id| fork.accept_token(id).is_ok())
            }
        };
        assert!(is_accepted, "a shortest completion is refused at {symbol:?}\n{}", context());
    }
    assert!(fork.is_accepting(), "a shortest completion completes nothing\n{}", context());
}

/// Returns a random token of a row.
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

/// Returns the tokens in which two rows differ, for messages.
pub fn difference(world: &World, row: &[u32], expected: &[u32]) -> String {
    const SHOWN_MAX: usize = 12;
    let differs = |id: &TokenId| (row[*id as usize / 32] ^ expected[*id as usize / 32]) >> (id % 32) & 1 == 1;
    let all: Vec<TokenId> = (0..world.vocab.n_tokens() as TokenId).filter(differs).collect();
    let mut lines = vec![format!("{} tokens differ from the judge's mask", all.len())];
    for &id in all.iter().take(SHOWN_MAX) {
        let state = if row[id as usize / 32] >> (id % 32) & 1 == 1 { "wrongly allowed" } else { "missing" };
        lines.push(format!("token {id} {} is {state}", show_bytes(world.vocab.bytes(id))));
    }
    lines.join("\n")
}

/// Returns the way and the world, for messages.
pub fn describe(world: &World, trail: &[String]) -> String {
    format!("after {}\n{}", trail.join(", "), world.describe())
}

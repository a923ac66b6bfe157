//! Masks do not depend on caches: of any size, shared by many grammars in any order, on many threads at once.

use super::cases::Subject;
use super::engine::{Coverage, is_expensive, random_allowed};
use super::fixture::{FixtureKind, limits, random_setting, tight_config};
use super::{Rng, dump_grammar, random_grammar};
use crate::grammar::Grammar;
use crate::vocab::TokenId;
use crate::{CompiledGrammar, Config, GrammarCompiler, Matcher};
use std::sync::Arc;

/// A grammar, a sequence of tokens, and the masks along it.
struct Walk {
    grammar: Grammar,
    tokens: Vec<TokenId>,
    rows: Vec<Vec<u32>>,
}

/// Walks through random grammars with a separate compiler for each, and again with shared ones.
///
/// # Panics
/// If a mask differs.
pub fn check(data: &[u8]) -> Coverage {
    let mut rng = Rng::from_bytes(data);
    let kind = *rng.pick(&[FixtureKind::Wide, FixtureKind::Full, FixtureKind::Tiny]);
    let (shape, vocab) = random_setting(&mut rng, kind);
    let compiler =
        |config: Config| GrammarCompiler::builder(Arc::clone(&vocab)).config(config).limits(limits()).build();
    let mut walks = Vec::new();
    for _ in 0..rng.between(2, 6) {
        let grammar = random_grammar(&mut rng, &shape);
        if let Ok(compiled) = compiler(Config::default()).compile(&grammar) {
            walks.push(walk(&mut rng, grammar, &compiled));
        }
    }
    let mut coverage = Coverage { n_grammars: walks.len() as u64, ..Coverage::default() };
    for bytes in [Some(0), Some(4 << 10), Some(32 << 10), None] {
        let shared = compiler(bytes.map_or_else(Config::default, tight_config));
        // Twice, the second time in another order and with warm caches.
        for _ in 0..2 {
            for i in (1..walks.len()).rev() {
                walks.swap(i, rng.below(i + 1));
            }
            walks.iter().for_each(|walk| follow(walk, &shared, &mut coverage));
        }
    }
    for config in [Config::default(), tight_config(16 << 10)] {
        let shared = compiler(config);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (walks, shared) = (&walks, &shared);
                scope.spawn(move || {
                    let from = thread % walks.len().max(1);
                    for walk in walks[from..].iter().chain(&walks[..from]) {
                        follow(walk, shared, &mut Coverage::default());
                    }
                });
            }
        });
    }
    coverage
}

fn walk(rng: &mut Rng, grammar: Grammar, compiled: &CompiledGrammar) -> Walk {
    let mut matcher = compiled.matcher();
    let (mut tokens, mut rows) = (Vec::new(), Vec::new());
    for _ in 0..rng.between(1, 8) {
        if is_expensive(&matcher, None) {
            break;
        }
        let Some(row) = mask_within_budget(&mut matcher) else { break };
        let token = random_allowed(rng, &row);
        rows.push(row);
        let Some(token) = token else { break };
        matcher.accept_token(token).expect("an allowed token is accepted");
        tokens.push(token);
    }
    Walk { grammar, tokens, rows }
}

/// Returns the mask, or nothing if the text can be read in so many ways that finding it takes too much work.
pub(super) fn mask_within_budget(matcher: &mut Matcher) -> Option<Vec<u32>> {
    let is_over_budget = matcher.mask().is_err_and(|error| error.is_over_budget());
    (!is_over_budget).then(|| Subject::mask(matcher))
}

fn follow(walk: &Walk, compiler: &GrammarCompiler, coverage: &mut Coverage) {
    let compiled = compiler.compile(&walk.grammar).expect("it compiled before");
    let mut matcher = compiled.matcher();
    for (index, row) in walk.rows.iter().enumerate() {
        // What is kept saves work, so that a step can be within its bound with one compiler and not with another.
        let Some(found) = mask_within_budget(&mut matcher) else { break };
        assert!(found == *row, "after {:?}\n{}", &walk.tokens[..index], dump_grammar(&walk.grammar));
        coverage.n_masks += 1;
        if let Some(&token) = walk.tokens.get(index) {
            matcher.accept_token(token).expect("an allowed token is accepted");
        }
    }
}

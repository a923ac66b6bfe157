//! Random vocabularies and random walks.

use super::Rng;
use crate::reference::OracleMatcher;
use crate::vocab::{TokenId, TokenKind, Vocab};

/// The features of random vocabularies.
#[derive(Clone, Debug)]
pub struct VocabShape {
    /// The characters of the tokens.
    pub alphabet: Vec<char>,
    /// Names for control tokens.
    pub names: Vec<String>,
    /// Number of text tokens.
    pub n_text: usize,
    /// Whether every byte of the alphabet is a token, so that every text can be spelled.
    pub spells_everything: bool,
}

/// Returns a random vocabulary: short strings, duplicates, empty tokens, parts of characters, bytes that are not UTF-8, control tokens,
/// added text, padding, and one or two stop tokens.
pub fn random_vocab(rng: &mut Rng, shape: &VocabShape) -> Vocab {
    let mut builder = Vocab::builder();
    let mut tokens: Vec<Vec<u8>> = Vec::new();
    if shape.spells_everything {
        let text: String = shape.alphabet.iter().collect();
        tokens.extend(text.bytes().map(|byte| vec![byte]));
    }
    while tokens.len() < shape.n_text {
        let token = match rng.below(20) {
            0 => vec![],
            1 if !tokens.is_empty() => rng.pick(&tokens).clone(),
            2 => vec![rng.below(256) as u8],
            kind => {
                let len = rng.between(1, 5);
                let text: String = (0..len).map(|_| *rng.pick(&shape.alphabet)).collect();
                let (mut start, mut end) = (0, text.len());
                if (3..6).contains(&kind) {
                    start = rng.below(text.len());
                    end = rng.between(start + 1, text.len());
                }
                text.as_bytes()[start..end].to_vec()
            }
        };
        tokens.push(token);
    }
    // Ids in random order, so that no test depends on their order.
    for i in (1..tokens.len()).rev() {
        tokens.swap(i, rng.below(i + 1));
    }
    builder.extend(&tokens);
    for name in &shape.names {
        for _ in 0..rng.between(1, 2) {
            let id = builder.push(name);
            builder.set_name(id, name);
            let kind = if rng.chance(70) { TokenKind::Control } else { TokenKind::AddedText };
            builder.set_kind(id, kind);
        }
    }
    if rng.chance(40) {
        // Text of the alphabet that a grammar may also name.
        let id = rng.below(shape.n_text.max(1)) as TokenId;
        if let (Some(name), false) = (shape.names.first(), tokens.is_empty()) {
            builder.set_kind(id, TokenKind::AddedText);
            builder.set_name(id, name);
        }
    }
    let first_stop = builder.push("<|stop|>");
    let stops: Vec<TokenId> = if rng.chance(70) { vec![first_stop] } else { vec![first_stop, builder.push("<|eot|>")] };
    let n_tokens = builder.n_pushed();
    builder.stop_tokens(stops).logits_width(n_tokens + rng.below(40));
    builder.build().expect("small tokens with known ids")
}

/// Advances an oracle by random allowed tokens, at most `n_steps_max`; returns the tokens accepted.
pub fn random_walk(rng: &mut Rng, oracle: &mut OracleMatcher, n_steps_max: usize) -> Vec<TokenId> {
    let mut walked = Vec::new();
    for _ in 0..n_steps_max {
        let row = oracle.mask();
        let allowed: Vec<TokenId> = (0..oracle.vocab().n_tokens() as TokenId)
            .filter(|&id| row[id as usize / 32] >> (id % 32) & 1 == 1)
            .collect();
        if allowed.is_empty() || oracle.is_terminated() {
            break;
        }
        let id = *rng.pick(&allowed);
        assert!(oracle.accept_token(id), "an allowed token is accepted");
        walked.push(id);
    }
    walked
}

//! The toy model: a sampler with a seed that follows the mask and, from half of its tokens on, closes what is open where it can.

use crate::error::ApiError;
use maskwright::{CompiledGrammar, TokenId, TokenMask};

pub struct Answer {
    pub text: String,
    pub n_tokens: usize,
    /// The answer ends with a stop token, and not at the limit.
    pub is_complete: bool,
}

/// Samples an answer of at most `n_tokens_max` tokens, the stop token included.
pub fn sample(grammar: &CompiledGrammar, seed: u64, n_tokens_max: usize) -> Result<Answer, ApiError> {
    let vocab = grammar.vocab();
    let mut matcher = grammar.matcher();
    let mut mask = TokenMask::new(vocab.n_tokens());
    let (mut tokens, mut random) = (Vec::new(), Random(seed));
    while !matcher.is_terminated() && tokens.len() < n_tokens_max {
        matcher.fill_mask(mask.as_words_mut()).map_err(|error| ApiError::of_match_error(&error))?;
        let is_ending = 2 * tokens.len() >= n_tokens_max;
        let stop = vocab.stop_tokens().iter().copied().find(|&stop| mask.contains(stop));
        let token = match stop {
            Some(stop) if is_ending || random.below(4) == 0 => stop,
            _ => pick(&mask, |token| vocab.bytes(token), is_ending, &mut random).ok_or_else(ApiError::internal)?,
        };
        matcher.accept_token(token).map_err(|error| ApiError::of_match_error(&error))?;
        tokens.push(token);
    }
    let text: Vec<TokenId> = tokens.iter().copied().filter(|&token| vocab.is_text(token)).collect();
    // An answer that the limit cuts may end inside a character.
    let text = String::from_utf8_lossy(&vocab.decode(&text)).into_owned();
    Ok(Answer { text, n_tokens: tokens.len(), is_complete: matcher.is_terminated() })
}

/// Picks any token; of those with printable ASCII only if there are some, and of those that close something if the answer is ending.
fn pick<'v>(
    mask: &TokenMask,
    bytes: impl Fn(TokenId) -> &'v [u8],
    is_ending: bool,
    random: &mut Random,
) -> Option<TokenId> {
    let any: Vec<TokenId> = mask.iter().collect();
    let plain: Vec<TokenId> =
        any.iter().copied().filter(|&t| !bytes(t).is_empty() && bytes(t).iter().all(u8::is_ascii_graphic)).collect();
    let closing: Vec<TokenId> =
        plain.iter().copied().filter(|&t| is_ending && matches!(bytes(t), b"\"" | b"}" | b"]" | b")" | b">")).collect();
    let choice = [closing, plain, any].into_iter().find(|tokens| !tokens.is_empty())?;
    Some(choice[random.below(choice.len())])
}

/// A linear congruential generator, of which the high bits are used.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

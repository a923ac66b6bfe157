//! A random continuation of a document to its end.

use super::workers::{Stopped, Task};
use crate::sampler::{Sampler, Style, View};
use maskwright::{Matcher, TokenMask};
use serde_json::{Value, json};
use std::time::Instant;

/// Samples from a place, at most `n_tokens_max` tokens; then the shortest completion that is found is appended.
///
/// # Errors
/// If the task is cancelled. When its time is over the text so far is returned, which is not complete then.
pub fn report(mut matcher: Matcher, seed: u64, n_tokens_max: usize, task: &Task) -> Result<Value, Stopped> {
    let start = Instant::now();
    let grammar = matcher.grammar().clone();
    let vocab = grammar.vocab();
    let stop_tokens = matcher.stop_tokens().to_vec();
    let mut sampler = Sampler::new(vocab, seed, Style::default());
    let mut mask = TokenMask::new(vocab.n_tokens());
    let (mut text, mut n_tokens) = (Vec::new(), 0);
    let mut is_time_over = false;
    while n_tokens < n_tokens_max && !matcher.is_terminated() {
        match task.check() {
            Err(Stopped::Cancelled) => return Err(Stopped::Cancelled),
            Err(Stopped::TimeOver) => {
                is_time_over = true;
                break;
            }
            Ok(()) => {}
        }
        let used = n_tokens as f64 / n_tokens_max as f64;
        let view = || View { text: &text, used, is_accepting: matcher.is_accepting(), stop_tokens: &stop_tokens };
        if n_tokens > 0 && sampler.wants_end(view()) {
            break;
        }
        let view = view();
        let mut ahead = matcher.fork();
        if ahead.fill_mask(mask.as_words_mut()).is_err() {
            break;
        }
        let Some(token) = sampler.draw(&mask, view) else { break };
        // A name stands for a control token in a document.
        let written = match vocab.bytes(token) {
            b"" => vocab.name(token).unwrap_or_default().as_bytes(),
            bytes => bytes,
        };
        text.extend_from_slice(written);
        if matcher.accept_token(token).is_err() {
            break;
        }
        n_tokens += 1;
    }
    if !matcher.is_accepting() && !matcher.is_terminated() && !is_time_over {
        let completion = super::explanation::completion(&matcher, task)?;
        if let Some(bytes) = completion.filter(|bytes| matcher.accept_bytes(bytes).is_ok()) {
            text.extend_from_slice(&bytes);
        }
    }
    // A character under way is left out.
    let whole = match std::str::from_utf8(&text) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    };
    Ok(json!({
        "text": whole,
        "n_tokens": n_tokens,
        "is_complete": whole.len() == text.len() && (matcher.is_accepting() || matcher.is_terminated()),
        "is_time_over": is_time_over,
        "ns": crate::check::nanos(start.elapsed()),
    }))
}

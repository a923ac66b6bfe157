//! The allowed tokens at a place: how many, grouped by first byte, and a page of those that are looked for.

use super::workers::{Stopped, Task};
use crate::tokens::{shown_kind, shown_token};
use maskwright::{Matcher, TokenId, TokenKind, TokenMask, Vocab};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Instant;

/// Most tokens on one page.
const PAGE_MAX: usize = 200;

/// Which of the allowed tokens are asked for.
#[derive(Deserialize, Clone, Debug)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only those that hold this text.
    pub search: String,
    /// Only those that begin with this byte; 256 for those that are no text.
    pub first_byte: Option<u16>,
    /// How many to skip.
    pub skip: usize,
    /// How many to return.
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Filter { search: String::new(), first_byte: None, skip: 0, limit: 60 }
    }
}

/// Returns the report on the tokens that a matcher allows.
///
/// # Errors
/// If the task is cancelled or its time over.
pub fn report(matcher: &mut Matcher, filter: &Filter, task: &Task) -> Result<Value, Stopped> {
    task.check()?;
    let vocab = std::sync::Arc::clone(matcher.grammar().vocab());
    let start = Instant::now();
    let filled = matcher.mask();
    let mask_ns = crate::check::nanos(start.elapsed());
    let (mask, error) = match filled {
        Ok(mask) => (mask, None),
        Err(error) => {
            let message = if error.is_stuck() { None } else { Some(error.to_string()) };
            (TokenMask::new(vocab.n_tokens()), message)
        }
    };
    task.check()?;
    let mut counts = [0usize; 257];
    let mut page = Vec::new();
    let mut n_matching = 0;
    let search = filter.search.as_bytes();
    for id in mask.iter() {
        let bytes = text_of(&vocab, id);
        let group = bytes.first().map_or(256, |&byte| usize::from(byte));
        counts[group] += 1;
        let is_in_group = filter.first_byte.is_none_or(|byte| usize::from(byte) == group);
        if !is_in_group || !is_found(&vocab, id, search) {
            continue;
        }
        if n_matching >= filter.skip && page.len() < filter.limit.min(PAGE_MAX) {
            page.push(shown(&vocab, id));
        }
        n_matching += 1;
    }
    let groups = (0..=256).filter(|&group| counts[group] > 0);
    let groups: Vec<Value> = groups.map(|group| json!({ "byte": group, "n": counts[group] })).collect();
    Ok(json!({
        "n_allowed": mask.count(),
        "n_tokens": mask.n_tokens(),
        "n_matching": n_matching,
        "skip": filter.skip,
        "tokens": page,
        "groups": groups,
        "mask_ns": mask_ns,
        "is_stuck": mask.count() == 0 && error.is_none() && !matcher.is_accepting(),
        "error": error,
    }))
}

/// Returns the bytes of a token that is text, none for others.
fn text_of(vocab: &Vocab, id: TokenId) -> &[u8] {
    if vocab.kind(id) == TokenKind::Control { b"" } else { vocab.bytes(id) }
}

fn is_found(vocab: &Vocab, id: TokenId, search: &[u8]) -> bool {
    let holds = |text: &[u8]| search.is_empty() || text.windows(search.len()).any(|window| window == search);
    holds(text_of(vocab, id)) || vocab.name(id).is_some_and(|name| holds(name.as_bytes()))
}

/// Returns a token as JSON: `text` is what inserts it into a document, `null` if it is no characters.
pub fn shown(vocab: &Vocab, id: TokenId) -> Value {
    let text = match text_of(vocab, id) {
        b"" if vocab.stop_tokens().contains(&id) => None,
        b"" => vocab.name(id),
        bytes => std::str::from_utf8(bytes).ok(),
    };
    json!({
        "id": id,
        "text": text,
        "shown": shown_token(vocab, id),
        "kind": if vocab.stop_tokens().contains(&id) { "stop token" } else { shown_kind(vocab.kind(id)) },
    })
}

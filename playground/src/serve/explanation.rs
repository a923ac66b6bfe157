//! What a grammar expects at a place, and why a token may stand there or not.
//!
//! Explanations in terms of rules come from the reference recognizer, which parses the text again and knows no deadline. So it is first tried on the text within a budget of
//! time and items; where that does not suffice, only what the engine knows is said: the bytes that may follow, and of a schema the place.

use super::workers::{Stopped, Task};
use crate::expected::{Expected, next_bytes};
use crate::output::{harmless, quoted, quoted_short};
use crate::tokens::{Asked, find_token, shown_token};
use maskwright::diagnose::SchemaPlace;
use maskwright::reference::Recognizer;
use maskwright::{AcceptedPiece, Limits, Matcher, TokenKind};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long the reference recognizer may take for a text.
const RECOGNIZER_TIME_MAX: Duration = Duration::from_millis(400);
/// Most items of the reference recognizer, of some hundred bytes each.
const RECOGNIZER_ITEMS_MAX: usize = 1 << 19;
/// Most expressions of a grammar, and most states of one of its regular expressions, that the reference recognizer is made for.
const RECOGNIZER_EXPRS_MAX: usize = 1 << 15;
const RECOGNIZER_DFA_STATES_MAX: usize = 1 << 11;
/// Most items expected that are shown.
const ITEMS_MAX: usize = 64;

/// Returns what is expected where `rest` stands.
///
/// # Errors
/// If the task is cancelled or its time over.
pub fn expected(matcher: &Matcher, rest: &[u8], task: &Task) -> Result<Value, Stopped> {
    task.check()?;
    let is_affordable = is_affordable(matcher, task)?;
    let found = match is_affordable {
        true => Expected::new(matcher, rest),
        false => {
            let is_schema = matcher.grammar().schema_report().is_some();
            let explained = if is_schema { matcher.explain().ok() } else { None };
            let schema = explained.and_then(|explained| explained.schema().cloned());
            Expected { bytes: next_bytes(matcher), is_accepting: matcher.is_accepting(), schema, ..Expected::default() }
        }
    };
    task.check()?;
    let items = found.items.iter().take(ITEMS_MAX).map(|item| json!({ "what": item.what, "rules": item.rules }));
    let mut items: Vec<Value> = items.collect();
    if items.is_empty() && !found.bytes.is_empty() {
        let what = match &found.schema {
            Some(place) => harmless(&place.expected()),
            None => format!("a byte of {}", crate::expected::shown_bytes(&found.bytes)),
        };
        items.push(json!({ "what": what, "rules": [] }));
    }
    let completion =
        found.completion.as_ref().map(|(text, is_shortest)| json!({ "text": text, "is_shortest": is_shortest }));
    let schema = found.schema.as_ref().map(schema_place);
    Ok(json!({
        "items": items,
        "n_items": found.items.len().max(items.len()),
        "may_end": found.is_accepting,
        "open_rules": found.open_rules,
        "completion": completion,
        "schema": schema,
        "is_whole": is_affordable,
    }))
}

/// Returns what a JSON Schema says at a place: the constraints, each with its place in the schema, and notes about keys.
fn schema_place(place: &SchemaPlace) -> Value {
    let constraints = place.to_json()["constraints"].take();
    let has_alternatives = place.constraints().iter().any(|one| !one.holds);
    // The first lines say the constraints, once more.
    let lines = place.lines();
    let notes = lines.iter().skip(if has_alternatives { 2 } else { 1 });
    json!({
        "pointer": place.pointer(),
        "constraints": constraints,
        "notes": notes.map(|line| harmless(line)).collect::<Vec<_>>(),
    })
}

/// Returns whether the reference recognizer reads the text of a matcher at little cost.
fn is_affordable(matcher: &Matcher, task: &Task) -> Result<bool, Stopped> {
    let Ok(pieces) = matcher.accepted() else { return Ok(false) };
    let start = Instant::now();
    let grammar = matcher.grammar();
    let vocab = grammar.vocab();
    // Making the recognizer can't be interrupted: its size is bounded instead.
    let written = grammar.expanded_grammar();
    if written.exprs().len() > RECOGNIZER_EXPRS_MAX {
        return Ok(false);
    }
    let limits = Limits { dfa_states_max: RECOGNIZER_DFA_STATES_MAX, ..Limits::default() };
    let Ok(recognizer) = Recognizer::new(written, &limits) else { return Ok(false) };
    let mut chart = recognizer.start();
    for piece in &pieces {
        let bytes = match piece {
            AcceptedPiece::Bytes(bytes) => &bytes[..],
            AcceptedPiece::Token(token) if chart.push_control(vocab.name(*token), *token) => b"",
            AcceptedPiece::Token(token) => vocab.bytes(*token),
        };
        for &byte in bytes {
            task.check()?;
            chart.push_byte(byte);
            if start.elapsed() > RECOGNIZER_TIME_MAX || chart.n_items() > RECOGNIZER_ITEMS_MAX {
                return Ok(false);
            }
        }
    }
    Ok(start.elapsed() <= RECOGNIZER_TIME_MAX)
}

/// Returns why a token may stand at a place or not. `asked` is an id, a name, or a text; a number in double quotes is a text.
///
/// # Errors
/// If the task is cancelled or its time over.
pub fn why(matcher: &Matcher, asked: &str, task: &Task) -> Result<Value, Stopped> {
    let vocab = matcher.grammar().vocab();
    let token = match find_token(vocab, asked) {
        Asked::Token(id) => Some(id),
        Asked::Text(_) => None,
        Asked::Unknown(id) => {
            let reason = format!(
                "the vocabulary has no token {id}: its ids end at {}; for a text write it in double quotes",
                vocab.n_tokens() - 1
            );
            return Ok(json!({ "asked": asked, "shown": id.to_string(), "is_allowed": false, "reason": reason }));
        }
    };
    let bytes = match (find_token(vocab, asked), token) {
        (Asked::Text(bytes), _) => bytes,
        (_, Some(id)) if vocab.kind(id) != TokenKind::Control => vocab.bytes(id).to_vec(),
        _ => Vec::new(),
    };
    let is_stop = token.is_some_and(|id| matcher.stop_tokens().contains(&id));
    let n_read = match matcher.fork().accept_bytes(&bytes) {
        Ok(()) => bytes.len(),
        Err(error) => super::place::refused_offset(&error),
    };
    let is_allowed = match token {
        Some(id) => matcher.fork().is_token_allowed(id),
        None => n_read == bytes.len() && !bytes.is_empty(),
    };
    let expected_here = expected(matcher, &bytes, task)?;
    let kind = token.map(|id| vocab.kind(id));
    let (mut at_refusal, mut rules) = (None, Value::Null);
    let reason = if is_stop {
        if is_allowed {
            "the text is complete, and this is a stop token"
        } else {
            "it is a stop token, and the text is not complete"
        }
        .to_owned()
    } else if bytes.is_empty() {
        match kind {
            Some(TokenKind::Control) if is_allowed => "the grammar names this control token here".into(),
            Some(TokenKind::Control) => "it is a control token, which the grammar does not name here".into(),
            _ => "it has no bytes, so it is not text".into(),
        }
    } else if n_read == bytes.len() {
        rules = readers(matcher, &bytes, task)?;
        match is_allowed {
            true => "the text with it can still be completed".into(),
            false => "its bytes may follow, but the token may not stand here".into(),
        }
    } else {
        let mut at = matcher.fork();
        let _ = at.accept_bytes(&bytes[..n_read]);
        at_refusal = Some(expected(&at, &bytes[n_read..], task)?);
        let after = if n_read > 0 { format!(" after {}", quoted(&bytes[..n_read])) } else { String::new() };
        format!("{} can't follow{after}", shown_at(&bytes, n_read))
    };
    Ok(json!({
        "asked": asked,
        "id": token,
        "shown": token.map_or_else(|| quoted_short(&bytes, 60), |id| shown_token(vocab, id)),
        "is_token": token.is_some(),
        "is_allowed": is_allowed,
        "reason": reason,
        "n_bytes": bytes.len(),
        "n_read": n_read,
        "read": quoted(&bytes[..n_read]),
        "unread": quoted(&bytes[n_read..]),
        "readers": rules,
        "expected": at_refusal.unwrap_or(expected_here),
    }))
}

/// Returns which rules read the first byte of a token, and which are open after it.
fn readers(matcher: &Matcher, bytes: &[u8], task: &Task) -> Result<Value, Stopped> {
    if !is_affordable(matcher, task)? || matcher.grammar().schema_report().is_some() {
        return Ok(Value::Null);
    }
    let first = bytes.first().map_or(vec![], |&byte| Expected::new(matcher, b"").rules_that_read(byte));
    let mut after = matcher.fork();
    let _ = after.accept_bytes(bytes);
    task.check()?;
    let open =
        after.explain().map(|explained| explained.rules().iter().map(|open| harmless(open.rule().name())).collect());
    Ok(json!({ "first": first, "open_after": open.unwrap_or_else(|_| Vec::<String>::new()) }))
}

/// Shows the character at an offset, else the byte.
fn shown_at(bytes: &[u8], at: usize) -> String {
    let chunk = bytes[at..].utf8_chunks().next();
    match chunk.and_then(|chunk| chunk.valid().chars().next()) {
        Some(c) => quoted(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => bytes.get(at).map_or(String::new(), |byte| format!("byte \\x{byte:02X}")),
    }
}

/// Returns a text that completes what a matcher has read, if one is found at little cost.
///
/// # Errors
/// If the task is cancelled or its time over.
pub fn completion(matcher: &Matcher, task: &Task) -> Result<Option<Vec<u8>>, Stopped> {
    if !is_affordable(matcher, task)? {
        return Ok(None);
    }
    Ok(matcher.completion().ok().flatten().and_then(|found| found.bytes()))
}

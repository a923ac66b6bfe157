//! What a grammar expects at a place, and why a token may stand there or not.
//!
//! Explanations in terms of rules come from the reference recognizer, within the [budget](crate::affordable) of a request; where that does not suffice, only what the engine
//! knows is said: the bytes that may follow, and of a schema the place.

use super::workers::{Stopped, Task};
use crate::affordable::{Budget, try_recognizer};
use crate::exclusions::Exclusions;
use crate::expected::{EXCLUDED, Expected, MARKER, shown_rule};
use crate::output::{harmless, quoted, quoted_short};
use crate::tokens::{Asked, find_token, shown_token};
use maskwright::diagnose::{RuleLocation, SchemaPlace};
use maskwright::{Matcher, TokenId, TokenKind};
use serde_json::{Value, json};

/// Most items expected that are shown.
const ITEMS_MAX: usize = 64;

/// Returns what is expected where `rest` stands.
///
/// # Errors
/// If the task is cancelled or its time over.
pub fn expected(matcher: &Matcher, rest: &[u8], task: &Task) -> Result<Value, Stopped> {
    task.check()?;
    let unexplained = try_recognizer(matcher, &Budget::REQUEST, || task.check())?;
    let is_affordable = unexplained.is_none();
    let found = Expected::within(matcher, rest, unexplained);
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
    Ok(try_recognizer(matcher, &Budget::REQUEST, || task.check())?.is_none())
}

/// Returns why a token may stand at a place or not. `asked` is an id, a name, or a text; a number in double quotes is a text.
///
/// # Errors
/// If the task is cancelled or its time over.
pub fn why(matcher: &Matcher, asked: &str, exclusions: &Exclusions, task: &Task) -> Result<Value, Stopped> {
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
    // Of a token that is read as a whole no byte is refused.
    let is_whole = n_read < bytes.len() || bytes.is_empty();
    let is_allowed = match token {
        Some(id) => matcher.fork().is_token_allowed(id),
        None => n_read == bytes.len() && !bytes.is_empty(),
    };
    let n_read = if is_allowed { bytes.len() } else { n_read };
    let expected_here = expected(matcher, &bytes, task)?;
    let kind = token.map(|id| vocab.kind(id));
    let (mut at_refusal, mut rules) = (None, Value::Null);
    let reason = if is_stop && matcher.is_accepting() == is_allowed {
        if is_allowed {
            "the text is complete, and this is a stop token"
        } else {
            "it is a stop token, and the text is not complete"
        }
        .to_owned()
    } else if is_allowed && is_whole {
        rules = readers(matcher, token, b"", task)?;
        match kind {
            Some(TokenKind::Control) if is_marker(matcher, token, task)? => MARKER,
            Some(TokenKind::Control) => "the grammar names this control token here, or a set that has it",
            _ => "the grammar names this token here, or a set that has it",
        }
        .to_owned()
    } else if bytes.is_empty() {
        match kind {
            Some(TokenKind::Control) if is_excluded(matcher, token, task)? => EXCLUDED.into(),
            Some(TokenKind::Control) => "it is a control token, which the grammar does not name here".into(),
            _ => "it has no bytes, so it is not text".into(),
        }
    } else if n_read == bytes.len() {
        rules = readers(matcher, token, &bytes, task)?;
        match is_allowed {
            true => "the text with it can still be completed".into(),
            false => "its bytes may follow, but the token may not stand here".into(),
        }
    } else {
        let mut at = matcher.fork();
        let _ = at.accept_bytes(&bytes[..n_read]);
        at_refusal = Some(expected(&at, &bytes[n_read..], task)?);
        let after = if n_read > 0 { format!(" after {}", quoted(&bytes[..n_read])) } else { String::new() };
        let excluded =
            if is_excluded(matcher, token, task)? { format!("{EXCLUDED}, and as text ") } else { String::new() };
        format!("{excluded}{} can't follow{after}", shown_at(&bytes, n_read))
    };
    let exclusions = match (is_allowed, at_refusal.is_some()) {
        (false, true) => exclusions.that_forbid_bytes(matcher, &bytes, n_read),
        (false, false) if is_stop => exclusions.that_forbid_end(matcher),
        _ => Vec::new(),
    };
    task.check()?;
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
        "exclusions": exclusions,
        "expected": at_refusal.unwrap_or(expected_here),
    }))
}

/// Returns whether a token is not allowed because a set of tokens excludes it.
fn is_excluded(matcher: &Matcher, token: Option<TokenId>, task: &Task) -> Result<bool, Stopped> {
    let Some(id) = token.filter(|_| matcher.grammar().schema_report().is_none()) else { return Ok(false) };
    Ok(is_affordable(matcher, task)?
        && Expected::within(matcher, b"", None).is_named(matcher.grammar().vocab(), id) == Some(false))
}

/// Returns whether a control token that is allowed spells a marker.
fn is_marker(matcher: &Matcher, token: Option<TokenId>, task: &Task) -> Result<bool, Stopped> {
    Ok(is_affordable(matcher, task)?
        && Expected::within(matcher, b"", None).spells_marker(matcher.grammar().vocab(), token))
}

/// Returns which rules read a token, by its text or as a whole, and which are open after it.
fn readers(matcher: &Matcher, token: Option<TokenId>, text: &[u8], task: &Task) -> Result<Value, Stopped> {
    if !is_affordable(matcher, task)? || matcher.grammar().schema_report().is_some() {
        return Ok(Value::Null);
    }
    let first = Expected::within(matcher, b"", None).readers_of(matcher.grammar().vocab(), token, text);
    let mut after = matcher.fork();
    let _ = match token {
        Some(id) => after.accept_token(id),
        None => after.accept_bytes(text),
    };
    if !is_affordable(&after, task)? {
        return Ok(json!({ "first": first, "open_after": [] }));
    }
    let open = after.explain().map(|explained| {
        let shown = |rule: &RuleLocation| shown_rule(rule.name(), rule.span());
        explained.rules().iter().map(|open| shown(open.rule())).collect()
    });
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

//! Texts in which names of control tokens stand for those tokens.

use crate::failure::Failure;
use crate::output::quoted;
use crate::vocabulary::{control_refs, marker_refs};
use maskwright::grammar::ControlRef;
use maskwright::{CompiledGrammar, MatchError, Matcher, TokenId, TokenKind, Vocab};

/// A piece of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Bytes.
    Bytes(std::ops::Range<usize>),
    /// A name, and the tokens that it stands for.
    Control { at: std::ops::Range<usize>, control: ControlRef, ids: Vec<TokenId> },
}

/// Splits a text into pieces; without `with_controls` all of it is bytes. Of two names at the same position the longer one is taken.
pub fn pieces(text: &[u8], grammar: &CompiledGrammar, with_controls: bool) -> Vec<Piece> {
    let mut names: Vec<(Vec<u8>, ControlRef, Vec<TokenId>)> = Vec::new();
    if with_controls {
        let mut controls = control_refs(grammar.grammar());
        controls.extend(marker_refs(grammar.grammar(), grammar.vocab()));
        controls.sort_unstable();
        controls.dedup();
        for control in controls {
            let (written, ids) = match &control {
                ControlRef::Name(name) => (name.to_string(), grammar.vocab().ids_named(name).to_vec()),
                ControlRef::Id(id) => (format!("<[{id}]>"), vec![*id]),
            };
            names.push((written.into_bytes(), control, ids));
        }
    }
    names.retain(|(name, ..)| !name.is_empty());
    names.sort_by_key(|(name, ..)| std::cmp::Reverse(name.len()));
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < text.len() && !names.is_empty() {
        match names.iter().find(|(name, ..)| text[at..].starts_with(name)) {
            Some((name, control, ids)) => {
                if begin < at {
                    pieces.push(Piece::Bytes(begin..at));
                }
                begin = at + name.len();
                pieces.push(Piece::Control { at: at..begin, control: control.clone(), ids: ids.clone() });
                at = begin;
            }
            None => at += 1,
        }
    }
    if begin < text.len() {
        pieces.push(Piece::Bytes(begin..text.len()));
    }
    pieces
}

/// Shows tokens as text: bytes in quotes, others by name.
pub fn shown_ids(vocab: &Vocab, ids: &[TokenId]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut bytes = Vec::new();
    for &id in ids {
        match vocab.kind(id) {
            TokenKind::Control => {
                if !bytes.is_empty() {
                    parts.push(quoted(&std::mem::take(&mut bytes)));
                }
                parts.push(vocab.name(id).map_or_else(|| format!("<[{id}]>"), crate::output::harmless));
            }
            _ => bytes.extend_from_slice(vocab.bytes(id)),
        }
    }
    if !bytes.is_empty() || parts.is_empty() {
        parts.push(quoted(&bytes));
    }
    parts.join(" ")
}

/// Accepts the pieces of a text one after the other; returns where the first is refused, if one is.
///
/// A matcher remembers each step, so that a text of many megabytes would exceed its memory: of a long one only the last steps can be rolled back.
///
/// # Errors
/// If a step is over a limit, which says nothing about the text.
pub fn accept(matcher: &mut Matcher, text: &[u8], pieces: &[Piece]) -> Result<Option<usize>, Failure> {
    const REMEMBERED_BYTES_MAX: usize = 1 << 18;
    accept_remembering(matcher, text, pieces, REMEMBERED_BYTES_MAX)
}

/// The longest text of which a matcher that explains it remembers all, in bytes, if its memory suffices.
pub const EXPLAINED_BYTES_MAX: usize = 1 << 24;

/// As [`accept`], for explanations, which need all of the text. Returns the matcher as well.
///
/// # Errors
/// As for [`accept`].
pub fn accept_for_explanation(
    fresh: &Matcher,
    text: &[u8],
    pieces: &[Piece],
) -> Result<(Matcher, Option<usize>), Failure> {
    let mut matcher = fresh.fork();
    if let Ok(refused_at) = accept_remembering(&mut matcher, text, pieces, EXPLAINED_BYTES_MAX) {
        return Ok((matcher, refused_at));
    }
    let mut matcher = fresh.fork();
    let refused_at = accept(&mut matcher, text, pieces)?;
    Ok((matcher, refused_at))
}

fn accept_remembering(
    matcher: &mut Matcher,
    text: &[u8],
    pieces: &[Piece],
    remembered_bytes_max: usize,
) -> Result<Option<usize>, Failure> {
    let mut n_remembered = 0;
    for piece in pieces {
        match piece {
            Piece::Bytes(at) => {
                for start in at.clone().step_by(remembered_bytes_max) {
                    let chunk = &text[start..at.end.min(start + remembered_bytes_max)];
                    if n_remembered + chunk.len() > remembered_bytes_max {
                        matcher.forget_history();
                        n_remembered = 0;
                    }
                    n_remembered += chunk.len();
                    if let Err(error) = matcher.accept_bytes(chunk) {
                        return refused_at(&error, start);
                    }
                }
            }
            // Several ids of one name are one symbol of the grammar: the first that is allowed is accepted.
            Piece::Control { at, ids, .. } => {
                let mut refused = Ok(Some(at.start));
                for &id in ids {
                    match matcher.accept_token(id) {
                        Ok(()) => {
                            refused = Ok(None);
                            break;
                        }
                        Err(error) if error.is_over_budget() => refused = refused_at(&error, at.start),
                        Err(_) => {}
                    }
                }
                if !matches!(refused, Ok(None)) {
                    return refused;
                }
            }
        }
    }
    Ok(None)
}

/// Returns the place of a refusal of a text that begins at `start`.
fn refused_at(error: &MatchError, start: usize) -> Result<Option<usize>, Failure> {
    if error.is_over_budget() || error.is_internal() {
        return Err(Failure::Step(format!("it can't be told whether the text matches: {error}")));
    }
    Ok(Some(start + error.byte_offset().unwrap_or(0)))
}

/// Returns the pieces of the text before an offset.
pub fn cut(pieces: &[Piece], offset: usize) -> Vec<Piece> {
    let mut before = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bytes(at) if at.start < offset => before.push(Piece::Bytes(at.start..at.end.min(offset))),
            Piece::Control { at, .. } if at.end <= offset => before.push(piece.clone()),
            _ => {}
        }
    }
    before
}

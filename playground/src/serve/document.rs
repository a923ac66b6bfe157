//! The tokens of a document, with the verdict of each.

use super::grammars::{Compiled, Grammars};
use super::place::refused_offset;
use super::workers::{Stopped, Task};
use crate::controls::{Piece, pieces};
use crate::forced::ForcedText;
use crate::tokens::shown_token;
use maskwright::{MatchError, Matcher, TokenId, TokenMask};
use serde_json::{Value, json};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Longest document, in bytes.
pub const DOCUMENT_BYTES_MAX: usize = 64 << 10;
/// Tokens whose masks are counted; the verdicts of those after them are found all the same.
const MASKS_MAX: usize = 2048;

/// A token of a document, or a piece that the vocabulary can't spell.
pub struct Cell {
    pub at: Range<usize>,
    pub ids: Vec<TokenId>,
    /// The text is the name of a control token that the grammar names.
    pub is_control: bool,
}

impl Cell {
    /// Accepts the cell as the token that it is; of several control tokens with one name the first that is allowed.
    ///
    /// # Errors
    /// If it is refused.
    pub fn accept(&self, matcher: &mut Matcher, text: &[u8]) -> Result<(), MatchError> {
        let Some((&last, others)) = self.ids.split_last() else {
            return matcher.accept_bytes(&text[self.at.clone()]);
        };
        if others.iter().any(|&id| matcher.accept_token(id).is_ok()) {
            return Ok(());
        }
        matcher.accept_token(last)
    }
}

/// Cuts a document into cells.
pub fn cells(grammars: &Grammars, compiled: &Compiled, text: &[u8]) -> Vec<Cell> {
    let vocab = compiled.grammar.vocab();
    let mut cells = Vec::new();
    for piece in pieces(text, &compiled.grammar, true) {
        match piece {
            Piece::Control { at, ids, .. } => cells.push(Cell { at, ids, is_control: true }),
            Piece::Bytes(at) => match grammars.tokenize(compiled, &text[at.clone()]) {
                None => cells.push(Cell { at, ids: vec![], is_control: false }),
                Some(ids) => {
                    let mut start = at.start;
                    for id in ids {
                        let end = start + vocab.bytes(id).len();
                        cells.push(Cell { at: start..end, ids: vec![id], is_control: false });
                        start = end;
                    }
                }
            },
        }
    }
    cells
}

/// The verdict on a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// It is allowed, and other text is too.
    Allowed,
    /// All that may stand here begins with it: see [`ForcedText`].
    Forced,
    /// It is the first that is refused.
    Refused,
    /// It stands after one that is refused.
    After,
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::Allowed => "allowed",
            Verdict::Forced => "forced",
            Verdict::Refused => "refused",
            Verdict::After => "after",
        }
    }
}

/// Judges the cells of a document in order. Returns the report, and where the first refused byte is.
///
/// # Errors
/// If the task is cancelled. Where its time is over, the cells after that have no verdict.
pub fn report(
    compiled: &Compiled,
    text: &[u8],
    cells: &[Cell],
    task: &Task,
) -> Result<(Value, Option<usize>), Stopped> {
    let vocab = compiled.grammar.vocab();
    let mut matcher = compiled.grammar.matcher();
    let mut mask = TokenMask::new(vocab.n_tokens());
    let (mut mask_time, mut n_masks) = (Duration::ZERO, 0);
    let (mut refused_at, mut is_stopped, mut step_error) = (None, false, None);
    let mut forced = ForcedText::default();
    let mut shown = Vec::with_capacity(cells.len());
    for (index, cell) in cells.iter().enumerate() {
        is_stopped |= match task.check() {
            Err(Stopped::Cancelled) => return Err(Stopped::Cancelled),
            outcome => outcome.is_err(),
        };
        let mut n_allowed = None;
        let bytes = &text[cell.at.clone()];
        let verdict = if refused_at.is_some() {
            Some(Verdict::After)
        } else if is_stopped {
            None
        } else {
            if index < MASKS_MAX {
                let start = Instant::now();
                if matcher.fill_mask(mask.as_words_mut()).is_ok() {
                    n_allowed = Some(mask.count());
                }
                mask_time += start.elapsed();
                n_masks += 1;
            }
            let of_text = if cell.is_control { b"" } else { bytes };
            // Beyond the masks that are counted, forced text isn't looked for either.
            let is_forced =
                n_allowed.is_some() && forced.has_next(&mut matcher, cell.ids.first().copied(), of_text, n_allowed);
            match cell.accept(&mut matcher, text) {
                Ok(()) => Some(if is_forced { Verdict::Forced } else { Verdict::Allowed }),
                Err(error) => {
                    let n_read = match matcher.fork().accept_bytes(bytes) {
                        Err(error) if !cell.is_control => refused_offset(&error),
                        _ => 0,
                    };
                    refused_at = Some(cell.at.start + n_read);
                    if error.is_over_budget() {
                        step_error = Some(error.to_string());
                    }
                    Some(Verdict::Refused)
                }
            }
        };
        shown.push(json!({
            "id": cell.ids.first(),
            "start": cell.at.start,
            "end": cell.at.end,
            "shown": cell.ids.first().map(|&id| shown_token(vocab, id)),
            "is_control": cell.is_control,
            "verdict": verdict.map(Verdict::name),
            "n_allowed": n_allowed,
        }));
    }
    let report = json!({
        "n_bytes": text.len(),
        "tokens": shown,
        "refused_at": refused_at,
        "is_complete": refused_at.is_none() && !is_stopped && matcher.is_accepting(),
        "is_time_over": is_stopped,
        "error": step_error,
        "n_masks": n_masks,
        "mask_ns": crate::check::nanos(mask_time),
    });
    Ok((report, refused_at))
}

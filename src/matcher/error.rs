//! Why a matcher refuses.

use crate::vocab::TokenId;
use core::fmt;

/// Why a matcher refuses a call. The matcher is as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchError {
    kind: Kind,
    /// Where in the caller's list the failing token is; nothing for a call with a single token or none.
    token_index: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    UnknownToken { token: TokenId, n_tokens: usize },
    TokenRefused { token: TokenId },
    BytesRefused { offset: usize },
    Terminated,
    Stuck,
    RollbackTooFar { given: usize, limit: usize },
    RowTooShort { given: usize, needed: usize },
    RowsTooShort { given: usize, needed: usize },
    LengthsDiffer { given: usize, needed: usize },
    ParentOutOfOrder { node: usize, parent: i32 },
    HistoryForgotten,
    NotSpelled { token: TokenId, offset: usize },
    OverWork { limit: u64 },
    OverMemory { given: usize, limit: usize },
    Internal { message: String },
}

impl MatchError {
    pub(super) fn unknown_token(token: TokenId, n_tokens: usize) -> Self {
        Kind::UnknownToken { token, n_tokens }.into()
    }

    pub(super) fn token_refused(token: TokenId) -> Self {
        Kind::TokenRefused { token }.into()
    }

    pub(super) fn bytes_refused(offset: usize) -> Self {
        Kind::BytesRefused { offset }.into()
    }

    pub(super) fn terminated() -> Self {
        Kind::Terminated.into()
    }

    pub(super) fn stuck() -> Self {
        Kind::Stuck.into()
    }

    pub(super) fn rollback_too_far(given: usize, limit: usize) -> Self {
        Kind::RollbackTooFar { given, limit }.into()
    }

    pub(super) fn row_too_short(given: usize, needed: usize) -> Self {
        Kind::RowTooShort { given, needed }.into()
    }

    pub(super) fn rows_too_short(given: usize, needed: usize) -> Self {
        Kind::RowsTooShort { given, needed }.into()
    }

    /// There are not as many tokens as parents.
    pub(super) fn lengths_differ(given: usize, needed: usize) -> Self {
        Kind::LengthsDiffer { given, needed }.into()
    }

    pub(super) fn parent_out_of_order(node: usize, parent: i32) -> Self {
        MatchError { kind: Kind::ParentOutOfOrder { node, parent }, token_index: Some(node) }
    }

    pub(super) fn history_forgotten() -> Self {
        Kind::HistoryForgotten.into()
    }

    /// A tokenizer has a token that doesn't spell the text at an offset.
    pub(super) fn not_spelled(token: TokenId, offset: usize) -> Self {
        Kind::NotSpelled { token, offset }.into()
    }

    pub(super) fn over_work(limit: u64) -> Self {
        Kind::OverWork { limit }.into()
    }

    pub(super) fn over_memory(given: usize, limit: usize) -> Self {
        Kind::OverMemory { given, limit }.into()
    }

    pub(super) fn internal(message: String) -> Self {
        Kind::Internal { message }.into()
    }

    /// Says that the failing token is the one at `index` of the caller's list.
    pub(super) fn in_list(self, index: usize) -> Self {
        MatchError { token_index: Some(index), ..self }
    }

    /// Returns the token that was refused or is unknown, or that a tokenizer has though it doesn't spell the text.
    pub fn token(&self) -> Option<TokenId> {
        match self.kind {
            Kind::UnknownToken { token, .. } | Kind::TokenRefused { token } | Kind::NotSpelled { token, .. } => {
                Some(token)
            }
            _ => None,
        }
    }

    /// Returns the position of the failing token in the list that was given to [`accept_tokens`](super::Matcher::accept_tokens) or
    /// [`replay`](super::Matcher::replay), for whatever reason it failed; the draft or node behind which a row can't be filled; `None` for calls without
    /// a list.
    pub fn token_index(&self) -> Option<usize> {
        self.token_index
    }

    /// Returns the offset of the first byte that was refused, or of the token of a tokenizer that doesn't spell the text.
    pub fn byte_offset(&self) -> Option<usize> {
        match self.kind {
            Kind::BytesRefused { offset } | Kind::NotSpelled { offset, .. } => Some(offset),
            _ => None,
        }
    }

    /// Returns `(given, bound)` when a number was out of range: steps to roll back, words of a row or of all rows, tokens of a
    /// tree, a token id.
    pub fn bound(&self) -> Option<(usize, usize)> {
        match self.kind {
            Kind::RollbackTooFar { given, limit } => Some((given, limit)),
            Kind::RowTooShort { given, needed }
            | Kind::RowsTooShort { given, needed }
            | Kind::LengthsDiffer { given, needed } => Some((given, needed)),
            Kind::UnknownToken { token, n_tokens } => Some((token as usize, n_tokens)),
            Kind::OverMemory { given, limit } => Some((given, limit)),
            _ => None,
        }
    }

    /// Tells whether no token of the vocabulary can go on, though the text is not complete: the vocabulary can't spell what the
    /// grammar asks for.
    pub fn is_stuck(&self) -> bool {
        self.kind == Kind::Stuck
    }

    /// Tells whether the call would take more work than [`Limits::step_work_max`](crate::Limits::step_work_max), or the matcher more memory than
    /// [`Limits::matcher_bytes_max`](crate::Limits::matcher_bytes_max): the text can be read in too many ways. The matcher is usable; another call, for a
    /// token that was sampled or after a rollback, has an allowance of its own.
    pub fn is_over_budget(&self) -> bool {
        matches!(self.kind, Kind::OverWork { .. } | Kind::OverMemory { .. })
    }

    /// Tells whether the engine itself failed, which is a bug; only a matcher that fails closed says so instead of panicking.
    pub fn is_internal(&self) -> bool {
        matches!(self.kind, Kind::Internal { .. })
    }

    /// Tells whether the lists that the call was given don't fit one another: there are not as many tokens as nodes, or a parent is no node before its child.
    pub fn is_malformed(&self) -> bool {
        matches!(self.kind, Kind::LengthsDiffer { .. } | Kind::ParentOutOfOrder { .. })
    }

    /// Tells whether the call came after the end of the output.
    pub fn is_terminated(&self) -> bool {
        self.kind == Kind::Terminated
    }
}

/// Shows a large number, like `48,000,000`.
fn grouped(n: impl fmt::Display) -> String {
    let digits = n.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

impl fmt::Display for MatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::UnknownToken { token, n_tokens } => {
                write!(f, "token id {token} is not in the vocabulary of {n_tokens} tokens")
            }
            Kind::TokenRefused { token } => write!(f, "the grammar does not allow token {token} here"),
            Kind::BytesRefused { offset } => write!(f, "the grammar does not allow the byte at offset {offset}"),
            Kind::Terminated => f.write_str("the output has ended: only stop tokens may follow"),
            Kind::Stuck => f.write_str("no token of the vocabulary can go on, and the text is not complete"),
            Kind::RollbackTooFar { given, limit } => {
                write!(f, "can't roll back {given} steps: the history has {limit}")
            }
            Kind::RowTooShort { given, needed } => write!(f, "the row has {given} words and the mask needs {needed}"),
            Kind::RowsTooShort { given, needed } => {
                write!(f, "the rows have {given} words and the drafts need {needed}")
            }
            Kind::LengthsDiffer { given, needed } => write!(f, "there are {given} tokens for {needed} nodes"),
            Kind::ParentOutOfOrder { node: 0, parent } => {
                return write!(f, "the parent of node 0 is {parent}, not -1");
            }
            Kind::ParentOutOfOrder { node, parent } => {
                return write!(f, "the parent of node {node} is {parent}, which is no node before it");
            }
            Kind::OverWork { limit } => {
                write!(
                    f,
                    "the text can be read in too many ways: the step takes more than {} units of work",
                    grouped(*limit)
                )
            }
            Kind::OverMemory { given, limit } => {
                let (given, limit) = (grouped(*given), grouped(*limit));
                write!(f, "the text can be read in too many ways: the step takes {given} bytes of at most {limit}")
            }
            Kind::Internal { message } => write!(f, "the engine failed: {message}"),
            Kind::NotSpelled { token, offset } => {
                write!(f, "the tokenizer has token {token} at offset {offset}, which does not spell the text")
            }
            Kind::HistoryForgotten => f.write_str("the history was forgotten, and the text with it"),
        }?;
        match self.token_index {
            Some(index) => write!(f, " (index {index} of the list of tokens)"),
            None => Ok(()),
        }
    }
}

impl From<Kind> for MatchError {
    fn from(kind: Kind) -> Self {
        MatchError { kind, token_index: None }
    }
}

impl std::error::Error for MatchError {}

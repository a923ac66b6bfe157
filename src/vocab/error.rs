//! Errors of reading and building vocabularies.

use super::{TokenId, Vocab};
use core::fmt;

/// The reason why a vocabulary could not be read or built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VocabError {
    kind: Box<Kind>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(
    not(all(feature = "hf", feature = "tiktoken")),
    allow(dead_code, reason = "some kinds are made by one reader")
)]
enum Kind {
    Empty,
    TokenTooLong { id: TokenId, given: usize },
    TooManyTokens { given: usize },
    TooManyBytes,
    WidthTooSmall { given: usize, n_tokens: usize },
    IdOutOfRange { id: TokenId, width: usize, role: &'static str },
    Line { line: usize, message: String },
    Malformed { message: String },
    Unsupported { section: String, message: String },
    Io { path: String, kind: std::io::ErrorKind, message: String },
}

impl VocabError {
    fn new(kind: Kind) -> Self {
        VocabError { kind: Box::new(kind) }
    }

    pub(super) fn empty() -> Self {
        Self::new(Kind::Empty)
    }

    pub(super) fn token_too_long(id: TokenId, given: usize) -> Self {
        Self::new(Kind::TokenTooLong { id, given })
    }

    pub(super) fn too_many_tokens(given: usize) -> Self {
        Self::new(Kind::TooManyTokens { given })
    }

    pub(super) fn too_many_bytes() -> Self {
        Self::new(Kind::TooManyBytes)
    }

    pub(super) fn width_too_small(given: usize, n_tokens: usize) -> Self {
        Self::new(Kind::WidthTooSmall { given, n_tokens })
    }

    /// `role` says what the id was given for: `"stop token"`.
    pub(super) fn id_out_of_range(id: TokenId, width: usize, role: &'static str) -> Self {
        Self::new(Kind::IdOutOfRange { id, width, role })
    }

    #[cfg_attr(not(feature = "tiktoken"), expect(dead_code, reason = "made by a reader"))]
    pub(super) fn line(line: usize, message: impl Into<String>) -> Self {
        Self::new(Kind::Line { line, message: message.into() })
    }

    #[cfg_attr(not(any(feature = "tiktoken", feature = "hf")), expect(dead_code, reason = "made by a reader"))]
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(Kind::Malformed { message: message.into() })
    }

    #[cfg_attr(not(feature = "hf"), expect(dead_code, reason = "made by a reader"))]
    pub(super) fn unsupported(section: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported { section: section.into(), message: message.into() })
    }

    #[cfg_attr(not(feature = "hf"), expect(dead_code, reason = "made by a reader"))]
    pub(super) fn io(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(Kind::Io { path: path.display().to_string(), kind: error.kind(), message: error.to_string() })
    }

    /// Returns whether the vocabulary has no token at all.
    pub fn is_empty_vocab(&self) -> bool {
        matches!(*self.kind, Kind::Empty)
    }

    /// Returns the token that the error is about.
    pub fn token_id(&self) -> Option<TokenId> {
        match *self.kind {
            Kind::TokenTooLong { id, .. } | Kind::IdOutOfRange { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Returns the given value and the limit that it exceeds (for a width that is too small: the least width).
    pub fn bound(&self) -> Option<(usize, usize)> {
        match *self.kind {
            Kind::TokenTooLong { given, .. } => Some((given, Vocab::TOKEN_BYTES_MAX)),
            Kind::TooManyTokens { given } => Some((given, Vocab::N_TOKENS_MAX)),
            Kind::WidthTooSmall { given, n_tokens } => Some((given, n_tokens)),
            Kind::IdOutOfRange { id, width, .. } => Some((id as usize, width)),
            _ => None,
        }
    }

    /// Returns the 1-based line of the source text that could not be read.
    pub fn line_number(&self) -> Option<usize> {
        match *self.kind {
            Kind::Line { line, .. } => Some(line),
            _ => None,
        }
    }

    /// Returns the section of a tokenizer file that cannot be represented exactly, such as `decoder.CTC`.
    pub fn unsupported_section(&self) -> Option<&str> {
        match &*self.kind {
            Kind::Unsupported { section, .. } => Some(section),
            _ => None,
        }
    }

    /// Returns whether a source text is malformed: truncated, of another format, or inconsistent in itself.
    pub fn is_malformed(&self) -> bool {
        matches!(*self.kind, Kind::Malformed { .. } | Kind::Line { .. })
    }

    /// Returns the kind of the I/O error, if reading a file failed.
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        match *self.kind {
            Kind::Io { kind, .. } => Some(kind),
            _ => None,
        }
    }
}

impl fmt::Display for VocabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::Empty => f.write_str("the vocabulary has no token"),
            Kind::TokenTooLong { id, given } => {
                write!(f, "token {id} has {given} bytes, more than {}", Vocab::TOKEN_BYTES_MAX)
            }
            Kind::TooManyTokens { given } => write!(f, "{given} tokens are more than {}", Vocab::N_TOKENS_MAX),
            Kind::TooManyBytes => write!(f, "the tokens have more than {} bytes together", Vocab::BYTES_MAX),
            Kind::WidthTooSmall { given, n_tokens } => {
                write!(f, "the logits have {given} columns, fewer than the {n_tokens} tokens")
            }
            Kind::IdOutOfRange { id, width, role } => {
                write!(f, "{role} {id} is not in the vocabulary, whose ids are below {width}")
            }
            Kind::Line { line, message } => write!(f, "line {line}: {message}"),
            Kind::Malformed { message } => f.write_str(message),
            Kind::Unsupported { section, message } => write!(f, "{section} is not supported: {message}"),
            Kind::Io { path, message, .. } => write!(f, "cannot read {path}: {message}"),
        }
    }
}

impl std::error::Error for VocabError {}

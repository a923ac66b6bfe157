//! Reports of how far the scan of a source has come, to who may end it.

use super::SyntaxError;

/// Bytes of a source between two reports of work.
pub(super) const BYTES_PER_CHECK: usize = 1 << 14;

/// Hears of work, in bytes that take as long to read; [`ReadError::Interrupted`] ends the reading.
pub(crate) type Spend<'a> = &'a mut dyn FnMut(usize) -> Result<(), ReadError>;

/// Why a source was not read to the end.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// It is malformed.
    Syntax(SyntaxError),
    /// Whoever hears of the work has ended it.
    Interrupted,
}

impl ReadError {
    /// Returns the error with another one of a malformed source.
    pub fn map_syntax(self, change: impl FnOnce(SyntaxError) -> SyntaxError) -> Self {
        match self {
            ReadError::Syntax(error) => ReadError::Syntax(change(error)),
            ReadError::Interrupted => ReadError::Interrupted,
        }
    }

    /// Returns the error of reading that nobody ends.
    pub fn uninterrupted(self) -> SyntaxError {
        match self {
            ReadError::Syntax(error) => error,
            ReadError::Interrupted => unreachable!("nobody ends the reading"),
        }
    }
}

impl From<SyntaxError> for ReadError {
    fn from(error: SyntaxError) -> Self {
        ReadError::Syntax(error)
    }
}

/// How far a source was read, as last reported.
pub(super) struct Progress<'a> {
    reported: usize,
    spend: Spend<'a>,
}

impl<'a> Progress<'a> {
    /// Begins at `start`; `spend` is told how many bytes were read.
    pub fn new(start: usize, spend: Spend<'a>) -> Self {
        Progress { reported: start, spend }
    }

    /// Reports that the source was read up to `at`, if it was not reported lately.
    pub fn reach(&mut self, at: usize) -> Result<(), ReadError> {
        if at < self.reported + BYTES_PER_CHECK { Ok(()) } else { self.finish(at) }
    }

    /// Reports that the source was read up to `end`.
    pub fn finish(&mut self, end: usize) -> Result<(), ReadError> {
        let n_bytes = end.saturating_sub(self.reported);
        self.reported = self.reported.max(end);
        (self.spend)(n_bytes)
    }
}

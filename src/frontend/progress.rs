//! Reports of how far the scan of a source has come.

/// Bytes of a source between two reports of work.
pub(super) const BYTES_PER_CHECK: usize = 1 << 14;

/// How far a source was read, as last reported.
pub(super) struct Progress<'a, E> {
    reported: usize,
    spend: &'a mut dyn FnMut(usize) -> Result<(), E>,
}

impl<'a, E> Progress<'a, E> {
    /// Begins at `start`; `spend` is told how many bytes were read, and fails if there is to be no more work.
    pub fn new(start: usize, spend: &'a mut dyn FnMut(usize) -> Result<(), E>) -> Self {
        Progress { reported: start, spend }
    }

    /// Reports that the source was read up to `at`, if it was not reported lately.
    pub fn reach(&mut self, at: usize) -> Result<(), E> {
        if at < self.reported + BYTES_PER_CHECK { Ok(()) } else { self.finish(at) }
    }

    /// Reports that the source was read up to `end`.
    pub fn finish(&mut self, end: usize) -> Result<(), E> {
        let n_bytes = end.saturating_sub(self.reported);
        self.reported = self.reported.max(end);
        (self.spend)(n_bytes)
    }
}

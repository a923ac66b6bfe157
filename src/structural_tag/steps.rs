//! Work that can be interrupted.

use super::error::TagError;

/// Reports the steps of reading and lowering to who may end them.
///
/// A step is what a byte of the text takes, some nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    go_on: &'a dyn Fn(usize) -> bool,
}

/// Steps of a part of the document: a format, a tag, a parameter, a schema of arguments.
pub(super) const STEPS_PER_PART: usize = 256;

impl<'a> Steps<'a> {
    /// Returns steps of which `go_on` is told now and then how many there were since, and says whether to go on.
    pub fn new(go_on: &'a dyn Fn(usize) -> bool) -> Self {
        Steps { go_on }
    }

    /// Returns what is told of the steps.
    pub fn go_on(self) -> &'a dyn Fn(usize) -> bool {
        self.go_on
    }

    pub fn spend(self, n_steps: usize) -> Result<(), TagError> {
        if (self.go_on)(n_steps) { Ok(()) } else { Err(TagError::interrupted()) }
    }
}

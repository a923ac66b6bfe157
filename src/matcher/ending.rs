//! How an output ended.

/// Whether an output has ended, and why.
#[derive(Clone, Copy, Default)]
pub(super) struct Ending {
    /// A stop token was accepted that ends the output.
    pub is_stopped: bool,
    /// The output also ends where nothing can follow.
    pub is_asked_ahead: bool,
    /// It ended so: nothing follows but stop tokens, and that was asked for.
    pub is_exhausted: bool,
}

//! What a caller may ask of one compile.

use core::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Instant;

/// A deadline and a flag to cancel a compile. All stages check both at least every few milliseconds.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// Compiling fails once this time has passed.
    pub deadline: Option<Instant>,
    /// Compiling fails once this is set.
    pub cancelled: Option<Arc<AtomicBool>>,
}

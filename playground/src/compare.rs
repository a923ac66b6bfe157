//! `explain --diff`: in what two grammars differ.

use crate::explain::Args;
use crate::failure::{Failure, Verdict};
use crate::output::Output;
use std::path::Path;

/// Runs the comparison.
///
/// # Errors
/// If a grammar can't be read or compiled.
pub fn run(_args: &Args, _other: &Path, _output: &mut Output) -> Result<Verdict, Failure> {
    unreachable!()
}

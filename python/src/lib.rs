//! The extension module `maskwright._core`: the classes of the library for Python.
//!
//! | module | idea |
//! |---|---|
//! | `errors` | errors as Python exceptions with facts as attributes |
//! | `memory` | buffers and tensors of the caller as rows of words or logits: the only unsafe code |
//! | `numbers`, `bytes` | integers of any size and bytes of any kind as arguments |
//! | `options` | keyword arguments as options |
//! | `vocab`, `grammar`, `compiler`, `compiled`, `matcher` | the classes |
//! | `batch` | many matchers at once |
//! | `logits` | masks applied to logits in memory of the CPU |
//! | `tools` | structural tags of models |
//!
//! All classes are frozen. A `Matcher` has a lock of its own, taken only while the interpreter is released, so that no thread can wait for one while it holds the other.

mod batch;
mod bytes;
mod compiled;
mod compiler;
mod errors;
mod grammar;
mod logits;
mod matcher;
mod memory;
mod numbers;
mod options;
mod tools;
mod vocab;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::batch::{accept_and_fill, accept_tokens, fill_masks};
    #[pymodule_export]
    use super::compiled::{CompiledGrammar, Report};
    #[pymodule_export]
    use super::compiler::GrammarCompiler;
    #[pymodule_export]
    use super::grammar::Grammar;
    #[pymodule_export]
    use super::logits::apply_mask_cpu;
    #[pymodule_export]
    use super::matcher::{MaskKey, Matcher};
    #[pymodule_export]
    use super::memory::Bitmask;
    #[pymodule_export]
    use super::options::CancelToken;
    #[pymodule_export]
    use super::tools::{tool_call_formats, tool_call_tag};
    #[pymodule_export]
    use super::vocab::Vocab;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

//! Errors as the exceptions of `maskwright.errors`, which are written in Python: a message, and facts as attributes.

use maskwright::vocab::VocabError;
use maskwright::{CompileError, MatchError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Makes an exception of a class of `maskwright.errors`, whose facts are keyword arguments.
fn exception(class: &'static str, message: String, facts: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) -> PyErr {
    Python::attach(|py| {
        let made = || -> PyResult<PyErr> {
            let class = py.import("maskwright.errors")?.getattr(class)?;
            let kwargs = PyDict::new(py);
            facts(&kwargs)?;
            Ok(PyErr::from_value(class.call((&message,), Some(&kwargs))?))
        };
        made().unwrap_or_else(|error| error)
    })
}

/// An error of compiling `source`.
pub fn compile_error(error: &CompileError, source: &str) -> PyErr {
    let facts = error.facts(source);
    exception("CompileError", error.to_string(), |kwargs| {
        kwargs.set_item("code", facts.code.as_str())?;
        if let Some((line, column)) = facts.line_column {
            kwargs.set_item("line", line)?;
            kwargs.set_item("column", column)?;
        }
        if let Some(span) = facts.span {
            kwargs.set_item("span", (span.start, span.end))?;
        }
        kwargs.set_item("pointer", facts.pointer)?;
        kwargs.set_item("keyword", facts.keyword)?;
        kwargs.set_item("hint", facts.hint)?;
        kwargs.set_item("limit", facts.limit)?;
        kwargs.set_item("details", format!("{error:#}"))
    })
}

/// An error of a matcher.
pub fn match_error(error: &MatchError) -> PyErr {
    exception("MatchError", error.to_string(), |kwargs| {
        kwargs.set_item("token", error.token())?;
        kwargs.set_item("token_index", error.token_index())?;
        kwargs.set_item("byte_offset", error.byte_offset())?;
        kwargs.set_item("bound", error.bound())?;
        kwargs.set_item("is_stuck", error.is_stuck())?;
        kwargs.set_item("is_over_budget", error.is_over_budget())?;
        kwargs.set_item("is_terminated", error.is_terminated())
    })
}

/// An error of a vocabulary.
pub fn vocab_error(error: &VocabError) -> PyErr {
    exception("VocabError", error.to_string(), |kwargs| {
        kwargs.set_item("line", error.line_number())?;
        kwargs.set_item("unsupported_section", error.unsupported_section())?;
        kwargs.set_item("is_malformed", error.is_malformed())
    })
}

/// The error of an integer that is the id of no token at all; `index` is its place in a list.
pub fn no_token(id: &Py<PyAny>, n_tokens: usize, index: Option<usize>) -> PyErr {
    let place = index.map_or(String::new(), |index| format!(" (index {index} of the list of tokens)"));
    exception("MatchError", format!("token id {id} is not in the vocabulary of {n_tokens} tokens{place}"), |kwargs| {
        kwargs.set_item("token", id)?;
        kwargs.set_item("token_index", index)?;
        kwargs.set_item("bound", (id, n_tokens))
    })
}

/// The error of an integer that no token of a vocabulary that is built can have as its id.
pub fn no_vocab_token(id: &Py<PyAny>) -> PyErr {
    exception("VocabError", format!("{id} is no token id"), |_| Ok(()))
}

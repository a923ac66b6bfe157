//! Compiled grammars and the reports of schemas.

use crate::errors::match_error;
use crate::grammar::Grammar;
use crate::matcher::Matcher;
use crate::vocab::Vocab;
use maskwright::Dump;
use maskwright::json_schema::Verdict;
use maskwright::vocab::TokenId;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A grammar compiled for one vocabulary. Immutable; any number of matchers on any number of threads use it.
#[pyclass(frozen, module = "maskwright")]
pub struct CompiledGrammar {
    pub inner: maskwright::CompiledGrammar,
}

#[pymethods]
impl CompiledGrammar {
    /// Returns a matcher before any token. `stop_tokens` replace those of the vocabulary; with `terminate_when_nothing_follows` the output also ends without a stop token, as soon as the
    /// text is complete and nothing can follow; with `fail_closed` a mask that can't be found is that of the stop tokens, and not an exception.
    #[pyo3(signature = (*, stop_tokens=None, terminate_when_nothing_follows=false, fail_closed=false))]
    fn matcher(
        &self,
        stop_tokens: Option<Vec<TokenId>>,
        terminate_when_nothing_follows: bool,
        fail_closed: bool,
    ) -> PyResult<Matcher> {
        let mut matcher = self.inner.matcher();
        matcher.set_fail_closed(fail_closed);
        if let Some(stop_tokens) = stop_tokens {
            matcher.set_stop_tokens(&stop_tokens).map_err(|error| match_error(&error))?;
        }
        if terminate_when_nothing_follows {
            matcher.set_terminate_when_nothing_follows(true);
        }
        Ok(Matcher::new(matcher))
    }

    /// The grammar as written; for a JSON Schema its automata as a grammar.
    #[getter]
    fn grammar(&self, py: Python<'_>) -> Grammar {
        Grammar::without_warnings(py.detach(|| self.inner.grammar().clone()))
    }

    /// The vocabulary.
    #[getter]
    fn vocab(&self) -> Vocab {
        Vocab { inner: Arc::clone(self.inner.vocab()) }
    }

    /// Probable mistakes in the grammar, as messages.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings().iter().map(ToString::to_string).collect()
    }

    /// How each keyword is enforced, if this was compiled from a JSON Schema.
    #[getter]
    fn report(&self) -> Option<Report> {
        self.inner.schema_report().is_some().then(|| Report { grammar: self.inner.clone() })
    }

    /// About how much memory the grammar takes, in bytes, without masks.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
    }

    /// The number of automaton states.
    #[getter]
    fn n_states(&self) -> usize {
        self.inner.n_states()
    }

    /// Returns the automata: as a listing (`"text"`) or as a digraph for Graphviz (`"dot"`).
    #[pyo3(signature = (format="text"))]
    fn dump(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let form = match format {
            "text" => Dump::Text,
            "dot" => Dump::Dot,
            _ => return Err(PyValueError::new_err(format!("there is no format {format:?}: \"text\" or \"dot\""))),
        };
        Ok(py.detach(|| self.inner.dump(form)))
    }

    fn __repr__(&self) -> String {
        format!("<maskwright.CompiledGrammar of {} states>", self.inner.n_states())
    }
}

/// How each keyword of a JSON Schema is enforced.
#[pyclass(frozen, module = "maskwright")]
pub struct Report {
    /// Has a report.
    grammar: maskwright::CompiledGrammar,
}

#[pymethods]
impl Report {
    /// Whether every constraint is enforced: nothing was dropped, and no format is enforced in part.
    #[getter]
    fn is_exact(&self) -> bool {
        self.grammar.schema_report().is_none_or(|report| report.is_exact())
    }

    /// Returns a dict for each keyword: `keyword`, `location` (a JSON pointer behind `#`), `verdict` (`"enforced"`, `"enforced_in_part"`, `"dropped"` or `"annotation"`) and `reason`.
    #[pyo3(signature = (*, only_unenforced=false))]
    fn findings<'py>(&self, py: Python<'py>, only_unenforced: bool) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let report = self.grammar.schema_report();
        let all: Vec<_> = py.detach(|| report.into_iter().flat_map(|report| report.findings()).collect());
        let mut found = Vec::new();
        for finding in all {
            let (verdict, reason) = match &finding.verdict {
                Verdict::Enforced => ("enforced", None),
                Verdict::EnforcedInPart(what) => ("enforced_in_part", Some(&**what)),
                Verdict::Relaxed(why) => ("dropped", Some(&**why)),
                _ => ("annotation", None),
            };
            if only_unenforced && reason.is_none() {
                continue;
            }
            let entry = PyDict::new(py);
            entry.set_item("keyword", &*finding.keyword)?;
            entry.set_item("location", &*finding.location)?;
            entry.set_item("verdict", verdict)?;
            entry.set_item("reason", reason)?;
            found.push(entry);
        }
        Ok(found)
    }
}

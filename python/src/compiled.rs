//! Compiled grammars and the reports of schemas.

use crate::errors::match_error;
use crate::grammar::Grammar;
use crate::matcher::Matcher;
use crate::numbers::GivenId;
use crate::vocab::Vocab;
use maskwright::Dump;
use maskwright::grammar::SchemaOperand;
use maskwright::json_schema::{SchemaReport, Verdict};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A grammar compiled for one vocabulary. Immutable; any number of matchers on any number of threads use it.
#[pyclass(frozen, weakref, module = "maskwright")]
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
        stop_tokens: Option<Vec<GivenId>>,
        terminate_when_nothing_follows: bool,
        fail_closed: bool,
    ) -> PyResult<Matcher> {
        let mut matcher = self.inner.matcher();
        matcher.set_fail_closed(fail_closed);
        if let Some(stop_tokens) = stop_tokens {
            let n_tokens = || self.inner.vocab().n_tokens();
            let stop_tokens = stop_tokens.iter().map(|id| id.checked(n_tokens)).collect::<PyResult<Vec<_>>>()?;
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

    /// How each keyword is enforced, if this was compiled from a JSON Schema, or has schemas within it, as structural tags do.
    #[getter]
    fn report(&self) -> Option<Report> {
        self.inner.schema_reports().next().is_some().then(|| Report { source: Reports::Compiled(self.inner.clone()) })
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

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<maskwright.CompiledGrammar of {} states>", self.inner.n_states())
    }
}

/// How each keyword of a JSON Schema, or of those within a grammar, is enforced.
#[pyclass(frozen, weakref, module = "maskwright")]
pub struct Report {
    pub source: Reports,
}

/// What has the reports.
pub enum Reports {
    Compiled(maskwright::CompiledGrammar),
    Checked(Arc<[(SchemaOperand, SchemaReport)]>),
}

impl Reports {
    /// Returns the reports, with the schemas that are part of a grammar.
    fn each(&self) -> Box<dyn Iterator<Item = (Option<&SchemaOperand>, &SchemaReport)> + '_> {
        match self {
            Reports::Compiled(grammar) => Box::new(grammar.schema_reports()),
            Reports::Checked(reports) => Box::new(reports.iter().map(|(operand, report)| (Some(operand), report))),
        }
    }
}

#[pymethods]
impl Report {
    /// Whether every constraint is enforced: nothing was dropped, and no format is enforced in part.
    #[getter]
    fn is_exact(&self) -> bool {
        self.source.each().all(|(_, report)| report.is_exact())
    }

    /// Returns a dict for each keyword: `keyword`, `location` (a JSON pointer behind `#`), `verdict` (`"enforced"`, `"enforced_in_part"`, `"dropped"` or `"annotation"`), `reason`, and `schema`: the text of the
    /// schema if it is part of a grammar, otherwise None.
    #[pyo3(signature = (*, only_unenforced=false))]
    fn findings<'py>(&self, py: Python<'py>, only_unenforced: bool) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let all: Vec<_> = py.detach(|| {
            let of_schema = |(operand, report): (Option<&SchemaOperand>, &SchemaReport)| {
                let schema = operand.map(|operand| Arc::clone(operand.text()));
                report.findings().map(|finding| (schema.clone(), finding)).collect::<Vec<_>>()
            };
            self.source.each().flat_map(of_schema).collect()
        });
        let mut found = Vec::new();
        for (schema, finding) in all {
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
            entry.set_item("schema", schema.as_deref())?;
            found.push(entry);
        }
        Ok(found)
    }
}

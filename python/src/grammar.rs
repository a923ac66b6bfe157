//! Grammars without a vocabulary: read, checked, put together, printed.

use crate::compiled::{Report, Reports};
use crate::errors::compile_error;
use crate::numbers::{natural, optional_natural};
use crate::options::{CancelToken, compile_options, json_text, regex_options, schema_options};
use maskwright::Limits;
use maskwright::compiler::Validated;
use maskwright::grammar::SchemaOperand;
use maskwright::json_schema::{SchemaOptions, SchemaReport};
use maskwright::structural_tag::{StructuralTag, TagOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString, PyTuple};
use std::sync::Arc;

/// A grammar that was read and checked, before it meets a vocabulary. Immutable.
///
/// Grammars can be put together: `a + b` is one behind the other, `a | b` one of the two.
#[pyclass(frozen, weakref, module = "maskwright")]
pub struct Grammar {
    pub inner: maskwright::grammar::Grammar,
    warnings: Vec<String>,
    reports: Arc<[(SchemaOperand, SchemaReport)]>,
}

impl Grammar {
    pub fn without_warnings(inner: maskwright::grammar::Grammar) -> Self {
        Grammar { inner, warnings: Vec::new(), reports: Arc::default() }
    }

    /// Returns a grammar made with the interpreter released.
    fn made(py: Python<'_>, make: impl FnOnce() -> maskwright::grammar::Grammar + Send) -> Self {
        Self::without_warnings(py.detach(make))
    }
}

/// Returns the grammars among arguments, which are all of them.
fn operands(grammars: &Bound<'_, PyTuple>) -> PyResult<Vec<Py<Grammar>>> {
    grammars.iter().map(|grammar| Ok(grammar.cast::<Grammar>()?.clone().unbind())).collect()
}

impl From<Validated> for Grammar {
    fn from(validated: Validated) -> Self {
        Grammar {
            inner: validated.grammar,
            warnings: validated.warnings.iter().map(ToString::to_string).collect(),
            reports: validated.reports.into(),
        }
    }
}

/// Sub-grammars by name, as `@name` refers to them.
fn named_grammars(grammars: Option<&Bound<'_, PyMapping>>) -> PyResult<Vec<(String, Py<Grammar>)>> {
    let Some(grammars) = grammars else { return Ok(Vec::new()) };
    grammars.items()?.iter().map(|item| item.extract()).collect()
}

/// Returns the texts of an iterable that is not itself one.
pub fn texts_of(texts: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if texts.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("expected texts, not one str"));
    }
    texts.try_iter()?.map(|text| text?.extract()).collect()
}

#[pymethods]
impl Grammar {
    /// Reads EBNF, as GBNF and XGrammar write it. `grammars` are those to which `@name` refers.
    #[staticmethod]
    #[pyo3(signature = (text, *, root="root", grammars=None, timeout=None, cancel=None))]
    fn from_ebnf(
        py: Python<'_>,
        text: &str,
        root: &str,
        grammars: Option<&Bound<'_, PyMapping>>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<Self> {
        let (named, options) = (named_grammars(grammars)?, compile_options(timeout, cancel)?);
        let named: Vec<_> = named.iter().map(|(name, grammar)| (&**name, &grammar.get().inner)).collect();
        let read = || maskwright::grammar::Grammar::from_ebnf_with(text, root, &named, &Limits::default(), &options);
        Ok(py.detach(read).map_err(|error| compile_error(&error, text))?.into())
    }

    /// Reads Lark with the root rule `start`. `grammars` are those to which `@name` refers.
    #[staticmethod]
    #[pyo3(signature = (text, *, grammars=None, timeout=None, cancel=None))]
    fn from_lark(
        py: Python<'_>,
        text: &str,
        grammars: Option<&Bound<'_, PyMapping>>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<Self> {
        let (named, options) = (named_grammars(grammars)?, compile_options(timeout, cancel)?);
        let named: Vec<_> = named.iter().map(|(name, grammar)| (&**name, &grammar.get().inner)).collect();
        let read = || maskwright::grammar::Grammar::from_lark_with(text, &named, &Limits::default(), &options);
        Ok(py.detach(read).map_err(|error| compile_error(&error, text))?.into())
    }

    /// Reads a regular expression, which the whole output must match. `flags` as in `GrammarCompiler.compile_regex`.
    #[staticmethod]
    #[pyo3(signature = (pattern, *, flags="", timeout=None, cancel=None))]
    fn from_regex(
        py: Python<'_>,
        pattern: &str,
        flags: &str,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<Self> {
        let (regex_options, options) = (regex_options(flags)?, compile_options(timeout, cancel)?);
        let read =
            || maskwright::grammar::Grammar::from_regex_with(pattern, &regex_options, &Limits::default(), &options);
        Ok(Self::without_warnings(py.detach(read).map_err(|error| compile_error(&error, pattern))?))
    }

    /// Reads a JSON Schema: the grammar of the documents that it accepts. Options as in `GrammarCompiler.compile_json_schema`.
    #[staticmethod]
    #[pyo3(signature = (schema, *, timeout=None, cancel=None, **options))]
    fn from_json_schema(
        py: Python<'_>,
        schema: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let text = json_text(schema)?;
        let schema_options = schema_options(SchemaOptions::default(), options)?;
        let compile_options = compile_options(timeout, cancel)?;
        let limits = Limits::default();
        let read =
            || maskwright::grammar::Grammar::from_json_schema_with(&text, &schema_options, &limits, &compile_options);
        Ok(py.detach(read).map_err(|error| compile_error(&error, &text))?.into())
    }

    /// Reads a structural tag, as JSON text or as a dict. Its schemas are checked when it is compiled.
    #[staticmethod]
    #[pyo3(signature = (tag, *, timeout=None, cancel=None, **options))]
    fn from_structural_tag(
        py: Python<'_>,
        tag: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (text, tag_options) = (json_text(tag)?, tag_options(options)?);
        let compile_options = compile_options(timeout, cancel)?;
        let read = py.detach(|| StructuralTag::parse_with(&text, &tag_options, &Limits::default(), &compile_options));
        let tag = read.map_err(|error| compile_error(&error, &text))?;
        let warnings = tag.warnings().iter().map(ToString::to_string).collect();
        Ok(Grammar { warnings, ..Self::without_warnings(tag.grammar().clone()) })
    }

    /// Returns the grammar of some texts, of which the output is one.
    #[staticmethod]
    fn choice(py: Python<'_>, texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let texts = texts_of(texts)?;
        Ok(Self::made(py, || maskwright::grammar::Grammar::choice(texts.iter().map(|text| &**text))))
    }

    /// Returns the grammar of one text.
    #[staticmethod]
    fn literal(py: Python<'_>, text: &str) -> Self {
        Self::made(py, || maskwright::grammar::Grammar::literal(text))
    }

    /// Returns the grammar of all JSON documents.
    #[staticmethod]
    fn any_json(py: Python<'_>) -> Self {
        Self::made(py, maskwright::grammar::Grammar::any_json)
    }

    /// Returns the grammar of a sequence: a text of the first grammar, then one of the second, and so on.
    #[staticmethod]
    #[pyo3(signature = (*grammars))]
    fn concat(py: Python<'_>, grammars: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let grammars = operands(grammars)?;
        let parts: Vec<_> = grammars.iter().map(|grammar| &grammar.get().inner).collect();
        Ok(Self::made(py, || maskwright::grammar::Grammar::concat(parts)))
    }

    /// Returns the grammar of a choice: a text of one of the grammars.
    #[staticmethod]
    #[pyo3(signature = (*grammars))]
    fn union(py: Python<'_>, grammars: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let grammars = operands(grammars)?;
        let parts: Vec<_> = grammars.iter().map(|grammar| &grammar.get().inner).collect();
        Ok(Self::made(py, || maskwright::grammar::Grammar::union(parts)))
    }

    /// Returns the grammar of `min` to `max` texts of this one, one behind the other; without `max` there is no upper bound.
    #[pyo3(signature = (min=0, max=None))]
    fn repeat(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = natural)] min: usize,
        #[pyo3(from_py_with = optional_natural)] max: Option<usize>,
    ) -> PyResult<Self> {
        if let Some(max) = max
            && max < min
        {
            return Err(PyValueError::new_err(format!("at least {min} and at most {max} texts")));
        }
        let bound = |n: usize| match u32::try_from(n) {
            Ok(bound) if bound < u32::MAX => Ok(bound),
            _ => Err(PyValueError::new_err(format!("a bound of {n} texts is not below {}", u32::MAX))),
        };
        let (min, max) = (bound(min)?, max.map(bound).transpose()?);
        Ok(Self::made(py, || self.inner.repeat(min, max)))
    }

    /// Returns this grammar with literals that control tokens of their names may spell.
    fn with_markers(&self, py: Python<'_>) -> Self {
        Self::made(py, || self.inner.with_markers())
    }

    /// Returns the grammar as EBNF, or `None` if EBNF can't express it. The root rule is the one that `root` names.
    fn to_ebnf(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.inner.to_ebnf())
    }

    /// The name of the root rule.
    #[getter]
    fn root(&self) -> &str {
        &self.inner.rule(self.inner.root()).name
    }

    /// Probable mistakes in the grammar, as messages.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// How each keyword of the schemas in the text is enforced, if the grammar was read from a text with schemas. Structural tags have none before they are compiled.
    #[getter]
    fn report(&self) -> Option<Report> {
        (!self.reports.is_empty()).then(|| Report { source: Reports::Checked(Arc::clone(&self.reports)) })
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, Grammar>) -> Self {
        let other = other.get();
        Self::made(py, || maskwright::grammar::Grammar::concat([&self.inner, &other.inner]))
    }

    fn __or__(&self, py: Python<'_>, other: &Bound<'_, Grammar>) -> Self {
        let other = other.get();
        Self::made(py, || maskwright::grammar::Grammar::union([&self.inner, &other.inner]))
    }

    fn __str__(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.to_string())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<maskwright.Grammar of {} rules>", self.inner.rules().len())
    }
}

/// Returns the options of a structural tag: those of its schemas.
///
/// # Errors
/// As [`schema_options`].
pub fn tag_options(options: Option<&Bound<'_, PyDict>>) -> PyResult<TagOptions> {
    let mut tag_options = TagOptions::default();
    tag_options.schema = schema_options(tag_options.schema.clone(), options)?;
    Ok(tag_options)
}

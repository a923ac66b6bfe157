//! The compiler.

use crate::compiled::CompiledGrammar;
use crate::errors::compile_error;
use crate::grammar::{Grammar, tag_options, texts_of};
use crate::options::{CancelToken, compile_options, json_text, limits, regex_options, schema_options};
use crate::vocab::Vocab;
use maskwright::json_schema::{SchemaOptions, WhiteSpace};
use maskwright::{CompileError, CompileOptions, Config};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use std::sync::Arc;

/// A compiler of grammars for one vocabulary. Usable from many threads; automata and masks that grammars have in common are built once.
///
/// Every compile takes `timeout` (seconds) and `cancel` (a `CancelToken`). What was compiled before is found again by its source and options.
#[pyclass(frozen, weakref, module = "maskwright")]
pub struct GrammarCompiler {
    inner: maskwright::GrammarCompiler,
}

impl GrammarCompiler {
    fn compile(
        &self,
        py: Python<'_>,
        source: &str,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
        compile: impl Fn(&maskwright::GrammarCompiler, &CompileOptions) -> Result<maskwright::CompiledGrammar, CompileError>
        + Sync,
    ) -> PyResult<CompiledGrammar> {
        let options = compile_options(timeout, cancel)?;
        let compiled = py.detach(|| compile(&self.inner, &options));
        Ok(CompiledGrammar { inner: compiled.map_err(|error| compile_error(&error, source))? })
    }
}

#[pymethods]
impl GrammarCompiler {
    /// `limits` are those of `Limits` in the library, by name; the other arguments bound the caches, in bytes.
    #[new]
    #[pyo3(signature = (vocab, *, limits=None, mask_cache_bytes=None, unit_cache_bytes=None, grammar_cache_bytes=None))]
    fn new(
        vocab: &Bound<'_, Vocab>,
        #[pyo3(from_py_with = self::limits_of)] limits: Option<maskwright::Limits>,
        mask_cache_bytes: Option<usize>,
        unit_cache_bytes: Option<usize>,
        grammar_cache_bytes: Option<usize>,
    ) -> Self {
        let mut config = Config::default();
        config.mask_store_bytes_max = mask_cache_bytes.unwrap_or(config.mask_store_bytes_max);
        config.unit_store_bytes_max = unit_cache_bytes.unwrap_or(config.unit_store_bytes_max);
        config.grammar_cache_bytes_max = grammar_cache_bytes.unwrap_or(config.grammar_cache_bytes_max);
        let builder = maskwright::GrammarCompiler::builder(Arc::clone(&vocab.get().inner));
        GrammarCompiler { inner: builder.limits(limits.unwrap_or_default()).config(config).build() }
    }

    /// The vocabulary.
    #[getter]
    fn vocab(&self) -> Vocab {
        Vocab { inner: Arc::clone(self.inner.vocab()) }
    }

    /// Compiles EBNF, as GBNF and XGrammar write it.
    #[pyo3(signature = (text, *, root="root", timeout=None, cancel=None))]
    fn compile_ebnf(
        &self,
        py: Python<'_>,
        text: &str,
        root: &str,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        self.compile(py, text, timeout, cancel, |compiler, options| compiler.compile_ebnf_with(text, root, options))
    }

    /// Compiles Lark with the root rule `start`.
    #[pyo3(signature = (text, *, timeout=None, cancel=None))]
    fn compile_lark(
        &self,
        py: Python<'_>,
        text: &str,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        self.compile(py, text, timeout, cancel, |compiler, options| compiler.compile_lark_with(text, options))
    }

    /// Compiles EBNF or Lark, whichever the text is: EBNF has `::=`.
    #[pyo3(signature = (text, *, timeout=None, cancel=None))]
    fn compile_auto(
        &self,
        py: Python<'_>,
        text: &str,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        self.compile(py, text, timeout, cancel, |compiler, options| compiler.compile_auto_with(text, options))
    }

    /// Compiles a regular expression, which the whole output must match. `flags` are letters: `i` any case, `s` dot matches newline, `x` white space in the pattern doesn't count, `a` classes such as `\d` are
    /// those of ASCII, `j` the text is the contents of a JSON string that decodes to a match.
    #[pyo3(signature = (pattern, *, flags="", timeout=None, cancel=None))]
    fn compile_regex(
        &self,
        py: Python<'_>,
        pattern: &str,
        flags: &str,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        let regex_options = regex_options(flags)?;
        self.compile(py, pattern, timeout, cancel, |compiler, options| {
            compiler.compile_regex_with(pattern, &regex_options, options)
        })
    }

    /// Compiles a JSON Schema: text, a dict or bool, or a Pydantic model or `TypeAdapter`.
    ///
    /// Options: `white_space_max` (longest run between tokens, in characters; 16; 0 for none), or `indent` (spaces per level), or `separators` (a pair, as in `json.dumps`);
    /// `additional_properties` and `additional_items` (True: as the standard says; otherwise where a schema declares properties, or a prefix of items, there are no others), `any_order` (False: keys in their declared order), `formats` (True: asserted), `integer_fractions` (False), `lenient` (False: a constraint that can't be enforced is an
    /// error), `any_spelling` (False), `draft` (`"2020-12"`), `nullable`, `foreign_keywords`, `base_uri`, `pointer` (of the schema within the document), `text_until` (the value of a
    /// string without quotes), `documents` (other documents by their URIs).
    #[pyo3(signature = (schema, *, timeout=None, cancel=None, **options))]
    fn compile_json_schema(
        &self,
        py: Python<'_>,
        schema: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        let text = json_text(schema)?;
        let schema_options = schema_options(SchemaOptions::default(), options)?;
        self.compile(py, &text, timeout, cancel, |compiler, options| {
            compiler.compile_json_schema_with(&text, &schema_options, options)
        })
    }

    /// Compiles the grammar of all JSON objects.
    #[pyo3(signature = (*, timeout=None, cancel=None, **options))]
    fn compile_json_object(
        &self,
        py: Python<'_>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        let text = r#"{"type": "object"}"#;
        let schema_options = schema_options(SchemaOptions::default(), options)?;
        self.compile(py, text, timeout, cancel, |compiler, options| {
            compiler.compile_json_schema_with(text, &schema_options, options)
        })
    }

    /// Compiles JSON Lines: documents that a schema accepts, at least one, each on a line of its own. White space within a document must not allow line ends: none by default.
    #[pyo3(signature = (schema, *, timeout=None, cancel=None, **options))]
    fn compile_json_lines(
        &self,
        py: Python<'_>,
        schema: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        let text = json_text(schema)?;
        let defaults = SchemaOptions { white_space: WhiteSpace::Compact, ..SchemaOptions::default() };
        let schema_options = schema_options(defaults, options)?;
        self.compile(py, &text, timeout, cancel, |compiler, options| {
            compiler.compile_json_lines(&text, &schema_options, options)
        })
    }

    /// Compiles a structural tag: JSON text or a dict. Options are those of its schemas; objects have no additional properties by default.
    #[pyo3(signature = (tag, *, timeout=None, cancel=None, **options))]
    fn compile_structural_tag(
        &self,
        py: Python<'_>,
        tag: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        let (text, tag_options) = (json_text(tag)?, tag_options(options)?);
        self.compile(py, &text, timeout, cancel, |compiler, options| {
            compiler.compile_structural_tag_with(&text, &tag_options, options)
        })
    }

    /// Compiles a choice: the output is one of some texts, a list or any other iterable of them.
    #[pyo3(signature = (texts, *, timeout=None, cancel=None))]
    fn compile_choice(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        let texts = texts_of(texts)?;
        self.compile(py, "", timeout, cancel, |compiler, options| {
            let choice = maskwright::grammar::Grammar::choice(texts.iter().map(|text| &**text));
            compiler.compile_with(&choice, options)
        })
    }

    /// Compiles a `Grammar`.
    #[pyo3(signature = (grammar, *, timeout=None, cancel=None))]
    fn compile_grammar(
        &self,
        py: Python<'_>,
        grammar: &Bound<'_, Grammar>,
        timeout: Option<f64>,
        cancel: Option<&Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        let grammar = &grammar.get().inner;
        let source = grammar.source().unwrap_or_default();
        self.compile(py, source, timeout, cancel, |compiler, options| compiler.compile_with(grammar, options))
    }

    /// Returns statistics of the caches since the compiler was built.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.inner.stats();
        let entries = [
            ("mask_bytes", stats.masks.bytes as u64),
            ("mask_hits", stats.masks.hits),
            ("mask_misses", stats.masks.misses),
            ("mask_evictions", stats.masks.evictions),
            ("mask_walks", stats.masks.walks),
            ("mask_ambiguous_walks", stats.masks.ambiguous_walks),
            ("unit_bytes", stats.unit_bytes as u64),
            ("units_found", stats.units_found),
            ("units_made", stats.units_made),
            ("grammar_bytes", stats.grammar_bytes as u64),
            ("grammar_hits", stats.grammar_hits),
            ("grammar_misses", stats.grammar_misses),
        ];
        let dict = PyDict::new(py);
        entries.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
        dict.set_item("ambiguous_rules", self.inner.ambiguous_rules())?;
        Ok(dict)
    }

    /// Empties the caches. What was compiled stays usable.
    fn clear_caches(&self, py: Python<'_>) {
        py.detach(|| self.inner.clear_caches());
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<maskwright.GrammarCompiler for {} tokens>", self.inner.vocab().n_tokens())
    }
}

/// Returns limits of a mapping, or of nothing.
fn limits_of(named: &Bound<'_, PyAny>) -> PyResult<Option<maskwright::Limits>> {
    Ok(if named.is_none() { None } else { Some(limits(named.cast::<PyMapping>()?)?) })
}

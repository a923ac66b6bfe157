//! Vocabularies.

use crate::bytes::bytes_of;
use crate::errors::{no_vocab_token, vocab_error};
use crate::numbers::GivenId;
use maskwright::vocab::{TokenId, TokenKind, VocabBuilder};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyMemoryView, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// The tokens of a model: their bytes, their kinds, and which of them end an output.
///
/// A token is *text* (allowed where the grammar allows its bytes), *control* (a special token such as `<|im_end|>`: never text, allowed only where a grammar names it),
/// *added text* (text that a grammar may also name, such as `<think>` in some files), or *padding* (an id without a token: never allowed). The number of tokens is the width of a row of
/// logits; a mask has a bit for each, `ceil(n_tokens / 32)` words of 32 bits.
///
/// Immutable, usable from many threads, picklable. Building one takes some tenths of a second for 150,000 tokens: build it once.
#[pyclass(frozen, weakref, module = "maskwright")]
pub struct Vocab {
    pub inner: Arc<maskwright::Vocab>,
}

/// Sets the kind of some ids: those of a list, or the keys of a mapping to their names.
fn set_kinds(builder: &mut VocabBuilder, ids: Option<&Bound<'_, PyAny>>, kind: TokenKind) -> PyResult<()> {
    let Some(ids) = ids else { return Ok(()) };
    if let Ok(named) = ids.cast::<PyMapping>() {
        for item in named.items()? {
            let (id, name): (GivenId, Option<String>) = item.extract()?;
            let id = vocab_id(&id)?;
            builder.set_kind(id, kind);
            if let Some(name) = name {
                builder.set_name(id, &name);
            }
        }
        return Ok(());
    }
    for id in ids.try_iter()? {
        builder.set_kind(vocab_id(&id?.extract()?)?, kind);
    }
    Ok(())
}

/// Returns the id of a token of a vocabulary that is built.
///
/// # Errors
/// `VocabError` if no token can have it.
fn vocab_id(given: &GivenId) -> PyResult<TokenId> {
    match given {
        GivenId::Token(id) => Ok(*id),
        GivenId::Other(given) => Err(no_vocab_token(given)),
    }
}

/// Sets stop tokens and the width, and builds.
fn finish(
    py: Python<'_>,
    mut builder: VocabBuilder,
    stop_tokens: Option<Vec<GivenId>>,
    width: Option<usize>,
) -> PyResult<Vocab> {
    if let Some(stop_tokens) = stop_tokens {
        builder.stop_tokens(stop_tokens.iter().map(vocab_id).collect::<PyResult<Vec<TokenId>>>()?);
    }
    if let Some(width) = width {
        builder.cut_to_logits_width(width);
    }
    let inner = py.detach(|| builder.build()).map_err(|error| vocab_error(&error))?;
    Ok(Vocab { inner: inner.into() })
}

impl Vocab {
    fn checked(&self, id: &GivenId) -> PyResult<TokenId> {
        let n_tokens = self.inner.n_tokens();
        match id {
            &GivenId::Token(id) if (id as usize) < n_tokens => Ok(id),
            GivenId::Token(id) => Err(PyIndexError::new_err(format!("token id {id} is not below {n_tokens}"))),
            GivenId::Other(id) => Err(PyIndexError::new_err(format!("{id} is no id of {n_tokens} tokens"))),
        }
    }
}

#[pymethods]
impl Vocab {
    /// Builds a vocabulary from the bytes of its tokens, the first with id 0. A `str` is its UTF-8, `None` is padding.
    #[new]
    #[pyo3(signature = (tokens, *, control=None, added_text=None, stop_tokens=None, width=None))]
    fn new(
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        control: Option<&Bound<'_, PyAny>>,
        added_text: Option<&Bound<'_, PyAny>>,
        stop_tokens: Option<Vec<GivenId>>,
        width: Option<usize>,
    ) -> PyResult<Self> {
        let mut builder = maskwright::Vocab::builder();
        for token in tokens.try_iter()? {
            let token = token?;
            let is_bytes = token.is_instance_of::<PyBytes>()
                || token.is_instance_of::<PyByteArray>()
                || token.is_instance_of::<PyMemoryView>();
            if is_bytes || token.is_instance_of::<PyString>() {
                builder.push(&bytes_of(&token)?);
            } else if token.is_none() {
                let id = builder.push(b"");
                builder.set_kind(id, TokenKind::Padding);
            } else {
                let name = token.get_type().name()?;
                return Err(PyTypeError::new_err(format!("a token is bytes, str or None, not {name}")));
            }
        }
        set_kinds(&mut builder, control, TokenKind::Control)?;
        set_kinds(&mut builder, added_text, TokenKind::AddedText)?;
        finish(py, builder, stop_tokens, width)
    }

    /// Reads the text of a `tokenizer.json` file.
    #[staticmethod]
    #[pyo3(signature = (text, *, stop_tokens=None, width=None))]
    fn from_tokenizer_json(
        py: Python<'_>,
        text: &str,
        stop_tokens: Option<Vec<GivenId>>,
        width: Option<usize>,
    ) -> PyResult<Self> {
        let builder = py.detach(|| VocabBuilder::from_hf_json(text)).map_err(|error| vocab_error(&error))?;
        finish(py, builder, stop_tokens, width)
    }

    /// Reads a `tokenizer.json` file.
    #[staticmethod]
    #[pyo3(signature = (path, *, stop_tokens=None, width=None))]
    fn from_tokenizer_file(
        py: Python<'_>,
        path: PathBuf,
        stop_tokens: Option<Vec<GivenId>>,
        width: Option<usize>,
    ) -> PyResult<Self> {
        let builder = py.detach(|| VocabBuilder::from_hf_file(&path)).map_err(|error| vocab_error(&error))?;
        finish(py, builder, stop_tokens, width)
    }

    /// Reads a tokenizer object: of transformers or tokenizers, tiktoken, or mistral-common.
    #[staticmethod]
    #[pyo3(signature = (tokenizer, *, stop_tokens=None, width=None))]
    fn from_tokenizer<'py>(
        tokenizer: &Bound<'py, PyAny>,
        stop_tokens: Option<Bound<'py, PyAny>>,
        width: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let read = tokenizer.py().import("maskwright._tokenizers")?.getattr("from_tokenizer")?;
        read.call1((tokenizer, stop_tokens, width))
    }

    /// Reads `.tiktoken` text: on each line a token in base64 and its id; `special_tokens` are the names and ids that such text lacks.
    #[staticmethod]
    #[pyo3(signature = (text, special_tokens=None, *, stop_tokens=None, width=None))]
    fn from_tiktoken_text<'py>(
        text: &Bound<'py, PyString>,
        special_tokens: Option<&Bound<'py, PyMapping>>,
        stop_tokens: Option<Bound<'py, PyAny>>,
        width: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let read = text.py().import("maskwright._tokenizers")?.getattr("from_tiktoken_text")?;
        read.call1((text, special_tokens, stop_tokens, width))
    }

    /// Reads the JSON text of a `tekken.json` file of Mistral.
    #[staticmethod]
    #[pyo3(signature = (text, *, stop_tokens=None, width=None))]
    fn from_tekken_json<'py>(
        text: &Bound<'py, PyString>,
        stop_tokens: Option<Bound<'py, PyAny>>,
        width: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let read = text.py().import("maskwright._tokenizers")?.getattr("from_tekken_json")?;
        read.call1((text, stop_tokens, width))
    }

    /// The number of tokens: the width of a row of logits.
    #[getter]
    fn n_tokens(&self) -> usize {
        self.inner.n_tokens()
    }

    /// The number of words of a mask: `ceil(n_tokens / 32)`.
    #[getter]
    fn n_mask_words(&self) -> usize {
        self.inner.n_mask_words()
    }

    /// The tokens that end an output, in ascending order.
    #[getter]
    fn stop_tokens(&self) -> Vec<TokenId> {
        self.inner.stop_tokens().to_vec()
    }

    /// Returns the bytes of a token; none for control tokens and padding.
    fn token_bytes<'py>(&self, py: Python<'py>, id: GivenId) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.inner.bytes(self.checked(&id)?)))
    }

    /// Returns the kind of a token: `"text"`, `"control"`, `"added_text"` or `"padding"`.
    fn token_kind(&self, id: GivenId) -> PyResult<&'static str> {
        Ok(match self.inner.kind(self.checked(&id)?) {
            TokenKind::Text => "text",
            TokenKind::Control => "control",
            TokenKind::AddedText => "added_text",
            TokenKind::Padding => "padding",
        })
    }

    /// Returns the name of a control token or of added text.
    fn token_name(&self, id: GivenId) -> PyResult<Option<&str>> {
        Ok(self.inner.name(self.checked(&id)?))
    }

    /// Returns the ids of the tokens with a name.
    fn ids_named(&self, name: &str) -> Vec<TokenId> {
        self.inner.ids_named(name).to_vec()
    }

    /// Returns the bytes that tokens spell, one behind the other.
    fn decode<'py>(&self, py: Python<'py>, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let ids = ids.try_iter()?.map(|id| self.checked(&id?.extract()?)).collect::<PyResult<Vec<TokenId>>>()?;
        Ok(PyBytes::new(py, &py.detach(|| self.inner.decode(&ids))))
    }

    /// Spells a text (bytes, or the UTF-8 of a `str`) with the longest token each time; ends where no token goes on.
    fn tokenize_greedy(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
        let text = bytes_of(text)?;
        Ok(py.detach(|| self.inner.tokenize_greedy(&text)))
    }

    /// About how much memory the vocabulary takes, in bytes.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
    }

    fn __len__(&self) -> usize {
        self.inner.n_tokens()
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("Vocab(n_tokens={}, stop_tokens={:?})", self.inner.n_tokens(), self.inner.stop_tokens())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let vocab = &*self.inner;
        let (control, added_text) = (PyDict::new(py), PyDict::new(py));
        let mut tokens: Vec<Option<Bound<'py, PyBytes>>> = Vec::with_capacity(vocab.n_tokens());
        for id in 0..vocab.n_tokens() as TokenId {
            let names = match vocab.kind(id) {
                TokenKind::Control => Some(&control),
                TokenKind::AddedText => Some(&added_text),
                TokenKind::Text | TokenKind::Padding => None,
            };
            if let Some(names) = names {
                names.set_item(id, vocab.name(id))?;
            }
            let is_padding = vocab.kind(id) == TokenKind::Padding;
            tokens.push((!is_padding).then(|| PyBytes::new(py, vocab.bytes(id))));
        }
        let rebuild = py.import("maskwright._tokenizers")?.getattr("rebuild")?;
        let state = (tokens, control, added_text, vocab.stop_tokens().to_vec());
        Ok((rebuild, state.into_pyobject(py)?))
    }
}

//! Matchers.

use crate::bytes::bytes_of;
use crate::compiled::CompiledGrammar;
use crate::errors::match_error;
use crate::memory::BitmaskRows;
use crate::numbers::{GivenId, draft_ids, natural, parents, row_index, token_ids};
use maskwright::MatchError;
use maskwright::diagnose::{Captured, ExplainError};
use maskwright::vocab::TokenId;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The state of one output: what was accepted so far, and what may follow.
///
/// Each successful accept is one step of the history, which `rollback` takes back. A call that fails leaves the matcher as it was. Calls from several threads wait for one another;
/// different matchers run at the same time.
#[pyclass(frozen, weakref, module = "maskwright")]
pub struct Matcher {
    inner: Mutex<maskwright::Matcher>,
}

/// What identifies a mask: equal keys of matchers of one compiler, equal rows.
#[pyclass(frozen, weakref, eq, hash, module = "maskwright")]
#[derive(PartialEq, Eq, Hash)]
pub struct MaskKey(maskwright::MaskKey);

impl Matcher {
    pub fn new(inner: maskwright::Matcher) -> Self {
        Matcher { inner: Mutex::new(inner) }
    }

    /// Waits for other threads; only to be called while the interpreter is released.
    pub fn lock(&self) -> MutexGuard<'_, maskwright::Matcher> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what may take long, with the interpreter released.
    pub fn run<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut maskwright::Matcher) -> R + Send) -> R {
        py.detach(|| work(&mut self.lock()))
    }

    /// Does what takes no time, without releasing the interpreter unless another thread has the matcher.
    fn peek<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut maskwright::Matcher) -> R + Send) -> R {
        match self.inner.try_lock() {
            Ok(mut matcher) => work(&mut matcher),
            Err(TryLockError::Poisoned(poisoned)) => work(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => self.run(py, work),
        }
    }

    fn try_run<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut maskwright::Matcher) -> Result<R, MatchError> + Send,
    ) -> PyResult<R> {
        self.run(py, work).map_err(|error| match_error(&error))
    }

    fn n_tokens(&self, py: Python<'_>) -> usize {
        self.peek(py, |matcher| matcher.grammar().vocab().n_tokens())
    }
}

/// An explanation as JSON text, with its message, as a Python value.
fn explained<'py>(py: Python<'py>, mut facts: serde_json::Value, message: String) -> PyResult<Bound<'py, PyAny>> {
    if let Some(object) = facts.as_object_mut() {
        object.insert("message".into(), message.into());
    }
    py.import("json")?.getattr("loads")?.call1((facts.to_string(),))
}

fn explain_error(error: ExplainError) -> PyErr {
    match error {
        ExplainError::Matcher(error) => match_error(&error),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

#[pymethods]
impl Matcher {
    /// The grammar.
    #[getter]
    fn grammar(&self, py: Python<'_>) -> CompiledGrammar {
        CompiledGrammar { inner: self.peek(py, |matcher| matcher.grammar().clone()) }
    }

    /// Accepts one token. Raises `MatchError`, which is a `ValueError`, if it is not allowed.
    fn accept_token(&self, py: Python<'_>, token: GivenId) -> PyResult<()> {
        let id = token.checked(|| self.n_tokens(py))?;
        self.try_run(py, |matcher| matcher.accept_token(id))
    }

    /// Accepts one token if it is allowed; tells whether it was.
    fn try_accept_token(&self, py: Python<'_>, token: GivenId) -> bool {
        token.known().is_some_and(|id| self.run(py, |matcher| matcher.accept_token(id).is_ok()))
    }

    /// Accepts several tokens, all or none.
    fn accept_tokens(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<()> {
        let tokens = token_ids(tokens, || self.n_tokens(py))?;
        self.try_run(py, |matcher| matcher.accept_tokens(&tokens))
    }

    /// Accepts bytes (`bytes`, `bytearray` or another buffer of them), or the UTF-8 of a `str`, as one step.
    fn accept_bytes(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = bytes_of(data)?;
        self.try_run(py, |matcher| matcher.accept_bytes(&bytes))
    }

    /// Returns how many of `tokens` could be accepted one after the other. Nothing is accepted.
    fn validate_tokens(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut valid = Vec::new();
        for id in tokens.try_iter()? {
            // What is no token is not valid, and nothing behind it is.
            let Some(id) = id?.extract::<GivenId>()?.known() else { break };
            valid.push(id);
        }
        Ok(self.run(py, |matcher| matcher.validate_tokens(&valid)))
    }

    /// Tells whether a token could be accepted: whether its bit is set in the mask.
    fn is_token_allowed(&self, py: Python<'_>, token: GivenId) -> bool {
        token.known().is_some_and(|id| self.run(py, |matcher| matcher.is_token_allowed(id)))
    }

    /// Fills a row of a bitmask with what may follow: bit `i % 32` of word `i // 32`, least significant first, is set when token `i` is allowed. Every word of the row is written.
    ///
    /// `bitmask` is a `Bitmask`, a numpy array, a CPU tensor or any buffer of int32 or uint32, with one or two dimensions and at least `vocab.n_mask_words` columns. Returns whether the mask has
    /// to be applied: False if every token is allowed.
    #[pyo3(signature = (bitmask, row=0))]
    fn fill_mask(
        &self,
        py: Python<'_>,
        bitmask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = row_index)] row: usize,
    ) -> PyResult<bool> {
        let rows = BitmaskRows::of(bitmask)?;
        let row = rows.row::<u32>(row)?;
        // SAFETY: `rows` has the memory until the end of the call.
        let fill = self.try_run(py, move |matcher| matcher.fill_mask(unsafe { row.slice() }))?;
        Ok(!fill.all_set)
    }

    /// Returns the ids of the tokens that may follow, in ascending order. For looking at; loops fill masks.
    fn allowed_tokens(&self, py: Python<'_>) -> PyResult<Vec<TokenId>> {
        self.try_run(py, |matcher| Ok(matcher.mask()?.iter().collect()))
    }

    /// Returns what identifies the mask: equal keys of matchers of one compiler, equal rows.
    fn mask_key(&self, py: Python<'_>) -> MaskKey {
        MaskKey(self.run(py, maskwright::Matcher::mask_key))
    }

    /// Fills the rows of a chain of drafts, from row `row` on, one more than there are drafts: row `row + i` is what may follow the first `i` of them. Returns how many drafts can be
    /// accepted. The matcher is as before.
    #[pyo3(signature = (drafts, bitmask, row=0))]
    fn fill_masks_for_chain(
        &self,
        py: Python<'_>,
        drafts: &Bound<'_, PyAny>,
        bitmask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = row_index)] row: usize,
    ) -> PyResult<usize> {
        let drafts = draft_ids(drafts)?;
        let rows = BitmaskRows::of(bitmask)?;
        let (block, words_per_row) = (rows.block::<u32>(row, drafts.len() + 1)?, rows.n_columns);
        let filled = self.try_run(py, move |matcher| {
            // SAFETY: `rows` has the memory until the end of the call.
            matcher.fill_masks_for_chain(&drafts, unsafe { block.slice() }, words_per_row)
        })?;
        Ok(filled.n_acceptable)
    }

    /// Fills the rows of a tree of drafts, from row `row` on: row `row + i` is what may follow node `i`. Node 0 stands for the text so far (its parent is -1, its token is not looked at);
    /// the parent of every other node is a node before it. Returns for each node whether it and all drafts above it can be accepted. The matcher is as before.
    #[pyo3(signature = (parents, drafts, bitmask, row=0))]
    fn fill_masks_for_tree(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = parents)] parents: Vec<i32>,
        drafts: &Bound<'_, PyAny>,
        bitmask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = row_index)] row: usize,
    ) -> PyResult<Vec<bool>> {
        let drafts = draft_ids(drafts)?;
        let rows = BitmaskRows::of(bitmask)?;
        let (block, words_per_row) = (rows.block::<u32>(row, parents.len())?, rows.n_columns);
        self.try_run(py, move |matcher| {
            // SAFETY: `rows` has the memory until the end of the call.
            let block = unsafe { block.slice() };
            let filled = matcher.fill_masks_for_tree(&parents, &drafts, block, words_per_row)?;
            Ok(filled.is_acceptable.to_vec())
        })
    }

    /// Takes back the last `k` steps, stop tokens included.
    #[pyo3(signature = (k=1))]
    fn rollback(&self, py: Python<'_>, #[pyo3(from_py_with = natural)] k: usize) -> PyResult<()> {
        self.try_run(py, |matcher| matcher.rollback(k))
    }

    /// Returns an independent matcher in the same state.
    fn fork(&self, py: Python<'_>) -> Matcher {
        Matcher::new(self.run(py, |matcher| matcher.fork()))
    }

    fn __copy__(&self, py: Python<'_>) -> Matcher {
        self.fork(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Matcher {
        self.fork(py)
    }

    /// Goes back to before the first token.
    fn reset(&self, py: Python<'_>) {
        self.run(py, maskwright::Matcher::reset);
    }

    /// Goes back to before the first token and accepts `tokens`: the state after preemption, rebuilt.
    fn replay(&self, py: Python<'_>, tokens: &Bound<'_, PyAny>) -> PyResult<()> {
        let tokens = token_ids(tokens, || self.n_tokens(py))?;
        self.try_run(py, |matcher| matcher.replay(&tokens))
    }

    /// Forgets the steps so far, to save memory: they can't be rolled back any more.
    fn forget_history(&self, py: Python<'_>) {
        self.run(py, maskwright::Matcher::forget_history);
    }

    /// Returns the longest text that every completion begins with, as bytes; it can end within a character.
    fn jump_forward<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.run(py, maskwright::Matcher::jump_forward))
    }

    /// Returns the forced text up to the last whole character.
    fn jump_forward_text(&self, py: Python<'_>) -> String {
        self.run(py, maskwright::Matcher::jump_forward_text)
    }

    /// Returns the forced text as tokens: how many steps to take back first, and the tokens to accept then. `tokenize` maps bytes, which can end within a character, to token ids; without it the longest
    /// token is taken each time.
    #[pyo3(signature = (tokenize=None))]
    fn jump_forward_tokens(
        &self,
        py: Python<'_>,
        tokenize: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(usize, Vec<TokenId>)> {
        let Some(tokenize) = tokenize else {
            let forced = self.try_run(py, |matcher| matcher.jump_forward_tokens(None))?;
            return Ok((forced.n_taken_back, forced.tokens));
        };
        // The tokenizer is called on a fork, so that no other thread waits for a lock while this one waits for Python.
        let mut matcher = self.run(py, |matcher| matcher.fork());
        let n_tokens = matcher.grammar().vocab().n_tokens();
        let failure = RefCell::new(None);
        let tokenizer = |text: &[u8]| {
            let tokens = tokenize.call1((PyBytes::new(py, text),)).and_then(|ids| token_ids(&ids, || n_tokens));
            tokens.unwrap_or_else(|error| {
                failure.borrow_mut().get_or_insert(error);
                Vec::new()
            })
        };
        let forced = matcher.jump_forward_tokens(Some(&tokenizer));
        match failure.into_inner() {
            Some(error) => Err(error),
            None => forced.map(|forced| (forced.n_taken_back, forced.tokens)).map_err(|error| match_error(&error)),
        }
    }

    /// Whether the text so far is complete: a stop token may follow.
    #[getter]
    fn is_accepting(&self, py: Python<'_>) -> bool {
        self.peek(py, |matcher| matcher.is_accepting())
    }

    /// Whether the output has ended: only stop tokens are allowed.
    #[getter]
    fn is_terminated(&self, py: Python<'_>) -> bool {
        self.peek(py, |matcher| matcher.is_terminated())
    }

    /// The number of steps that can be rolled back.
    #[getter]
    fn n_steps(&self, py: Python<'_>) -> usize {
        self.peek(py, |matcher| matcher.n_steps())
    }

    /// The stop tokens in force, in ascending order.
    #[getter]
    fn stop_tokens(&self, py: Python<'_>) -> Vec<TokenId> {
        self.peek(py, |matcher| matcher.stop_tokens().to_vec())
    }

    /// About how much memory the matcher takes, in bytes.
    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> usize {
        self.peek(py, |matcher| matcher.memory_bytes())
    }

    /// Why the last mask of a matcher that fails closed has the stop tokens only; None if it is the mask of what may follow.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let error = self.peek(py, |matcher| matcher.error().cloned())?;
        Some(match_error(&error).into_value(py).into_any())
    }

    /// Returns what may come next and which rules are in progress, as a dict with a `message`. Slow: it reads the text again.
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let explained_now = self.run(py, |matcher| matcher.explain().map(|found| (found.to_json(), found.to_string())));
        let (facts, message) = explained_now.map_err(explain_error)?;
        explained(py, facts, message)
    }

    /// Returns why a token is allowed or not, as a dict with a `message`. Slow: it reads the text again.
    fn explain_token<'py>(&self, py: Python<'py>, token: GivenId) -> PyResult<Bound<'py, PyAny>> {
        let token = token.checked(|| self.n_tokens(py))?;
        let explained_now = self.run(py, |matcher| {
            let found = matcher.explain_token(token);
            found.map(|found| (found.to_json(), found.to_string()))
        });
        let (facts, message) = explained_now.map_err(explain_error)?;
        explained(py, facts, message)
    }

    /// Returns the parts of the accepted text that the grammar names (`capture` in Lark and EBNF), in the order of their ends: name, the offsets in bytes where it begins and ends, and the bytes. A text that can be read in
    /// several ways is read from the left: first alternative, longest match. Slow: it reads the text again.
    fn captures<'py>(&self, py: Python<'py>) -> PyResult<Vec<CapturedTuple<'py>>> {
        let found = self.run(py, |matcher| matcher.captures()).map_err(explain_error)?;
        let part = |part: Captured| (part.name, part.range.start, part.range.end, PyBytes::new(py, &part.text));
        Ok(found.into_iter().map(part).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        self.peek(py, |matcher| {
            let (n_steps, is_accepting) = (matcher.n_steps(), matcher.is_accepting());
            format!("<maskwright.Matcher after {n_steps} steps{}>", if is_accepting { ", complete" } else { "" })
        })
    }
}

/// A captured part: name, the offsets in bytes where it begins and ends, and the bytes.
type CapturedTuple<'py> = (String, usize, usize, Bound<'py, PyBytes>);

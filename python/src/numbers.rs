//! Integers as Python gives them: of any size, where the library has types.

use crate::errors::no_token;
use maskwright::vocab::TokenId;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyValueError};
use pyo3::prelude::*;

/// A token id, or another integer, which is the id of no token.
pub enum GivenId {
    Token(TokenId),
    Other(Py<PyAny>),
}

impl<'py> FromPyObject<'_, 'py> for GivenId {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let id = within::<i64>(&object)?.and_then(|id| TokenId::try_from(id).ok());
        Ok(id.map_or_else(|| GivenId::Other(object.to_owned().unbind()), GivenId::Token))
    }
}

impl GivenId {
    /// Returns the id.
    pub fn known(&self) -> Option<TokenId> {
        match self {
            GivenId::Token(id) => Some(*id),
            GivenId::Other(_) => None,
        }
    }

    /// Returns the id, or one that no vocabulary has.
    pub fn or_unknown(&self) -> TokenId {
        self.known().unwrap_or(TokenId::MAX)
    }

    /// Returns the id.
    ///
    /// # Errors
    /// `MatchError` if no token of any vocabulary has it.
    pub fn checked(&self, n_tokens: impl FnOnce() -> usize) -> PyResult<TokenId> {
        self.checked_at(None, n_tokens)
    }

    /// Returns the id, which is at an index of a list.
    fn checked_at(&self, index: Option<usize>, n_tokens: impl FnOnce() -> usize) -> PyResult<TokenId> {
        match self {
            GivenId::Token(id) => Ok(*id),
            GivenId::Other(given) => Err(no_token(given, n_tokens(), index)),
        }
    }
}

/// Returns the ids of a list or any other iterable of integers.
///
/// # Errors
/// `TypeError` for what is no iterable of integers.
pub fn given_ids(ids: &Bound<'_, PyAny>) -> PyResult<Vec<GivenId>> {
    ids.try_iter()?.map(|id| id?.extract()).collect()
}

/// Returns the token ids of an iterable of integers.
///
/// # Errors
/// As [`given_ids`] and [`GivenId::checked`].
pub fn token_ids(ids: &Bound<'_, PyAny>, n_tokens: impl Fn() -> usize) -> PyResult<Vec<TokenId>> {
    let ids = ids.try_iter()?.enumerate();
    ids.map(|(index, id)| id?.extract::<GivenId>()?.checked_at(Some(index), &n_tokens)).collect()
}

/// Returns ids that may be tried: those that no token has are refused like other tokens.
///
/// # Errors
/// As [`given_ids`].
pub fn draft_ids(ids: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
    ids.try_iter()?.map(|id| Ok(id?.extract::<GivenId>()?.or_unknown())).collect()
}

/// Returns a number from 0 on.
///
/// # Errors
/// `ValueError` for other integers.
pub fn natural(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    match within(&object.as_borrowed())? {
        Some(number) => Ok(number),
        None => Err(PyValueError::new_err(format!("{} is not a number from 0 on", object.str()?))),
    }
}

/// Returns a number from 0 on, if there is one.
///
/// # Errors
/// As [`natural`].
pub fn optional_natural(object: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    if object.is_none() { Ok(None) } else { natural(object).map(Some) }
}

/// Returns the parents of nodes.
///
/// # Errors
/// `ValueError` for integers that are far from any node; `TypeError` for what is no iterable of integers.
pub fn parents(nodes: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
    let parent = |node: Bound<'_, PyAny>| match within(&node.as_borrowed())? {
        Some(parent) => Ok(parent),
        None => Err(PyValueError::new_err(format!("{} is no node", node.str()?))),
    };
    nodes.try_iter()?.map(|node| parent(node?)).collect()
}

/// Returns the number of a row.
///
/// # Errors
/// `IndexError` for one that no array has.
pub fn row_index(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    match within(&object.as_borrowed())? {
        Some(row) => Ok(row),
        None => Err(PyIndexError::new_err(format!("there is no row {}", object.str()?))),
    }
}

/// Returns the numbers of rows, if there are some.
///
/// # Errors
/// As [`row_index`]; `TypeError` for what is no iterable.
pub fn row_indices(rows: &Bound<'_, PyAny>) -> PyResult<Option<Vec<usize>>> {
    match rows.is_none() {
        true => Ok(None),
        false => rows.try_iter()?.map(|row| row_index(&row?)).collect::<PyResult<_>>().map(Some),
    }
}

/// Returns an integer if it is within a type.
fn within<'a, 'py, T: FromPyObject<'a, 'py>>(object: &Borrowed<'a, 'py, PyAny>) -> PyResult<Option<T>> {
    match object.extract::<T>().map_err(Into::into) {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

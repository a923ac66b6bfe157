//! Bytes as Python gives them.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::borrow::Cow;

/// Bytes of a `bytes`, a `bytearray`, a `memoryview` or another buffer of bytes, or the UTF-8 of a `str`.
///
/// # Errors
/// `TypeError` for other objects.
pub fn bytes_of<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().into());
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned().into_bytes().into());
    }
    let Ok(buffer) = PyBuffer::<u8>::get(object) else {
        return Err(PyTypeError::new_err(format!("expected bytes or str, not {}", object.get_type().name()?)));
    };
    Ok(buffer.to_vec(object.py())?.into())
}

//! What C gives: references, strings, arrays, options by size.

use crate::error::error;
use core::ffi::{CStr, c_char};

/// Returns what a handle points to.
pub unsafe fn handle<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, error> {
    // SAFETY: NULL or a handle that is alive.
    unsafe { pointer.as_ref() }.ok_or_else(|| error::argument(&format!("{what} is NULL")))
}

/// Returns what a handle points to, to change it.
pub unsafe fn handle_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, error> {
    // SAFETY: NULL or a handle that is alive and that no other thread uses.
    unsafe { pointer.as_mut() }.ok_or_else(|| error::argument(&format!("{what} is NULL")))
}

/// Returns an array; NULL is one without elements.
pub unsafe fn array<'a, T>(start: *const T, n: usize, what: &str) -> Result<&'a [T], error> {
    match (start.is_null(), n) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(error::argument(&format!("{what} is NULL"))),
        // SAFETY: the caller has as many elements there.
        (false, n) => Ok(unsafe { core::slice::from_raw_parts(start, n) }),
    }
}

/// Returns an array to write to; NULL is one without elements.
pub unsafe fn array_mut<'a, T>(start: *mut T, n: usize, what: &str) -> Result<&'a mut [T], error> {
    match (start.is_null(), n) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(error::argument(&format!("{what} is NULL"))),
        // SAFETY: the caller has as many elements there, which no other thread uses.
        (false, n) => Ok(unsafe { core::slice::from_raw_parts_mut(start, n) }),
    }
}

/// Returns a text with a length.
pub unsafe fn text<'a>(start: *const c_char, n_bytes: usize, what: &str) -> Result<&'a str, error> {
    // SAFETY: as in `array`.
    let bytes = unsafe { array(start.cast::<u8>(), n_bytes, what) }?;
    core::str::from_utf8(bytes)
        .map_err(|error| error::argument(&format!("{what} is not UTF-8 at byte {}", error.valid_up_to())))
}

/// Returns a text with a NUL at its end, or nothing for NULL.
pub unsafe fn optional_text<'a>(start: *const c_char, what: &str) -> Result<Option<&'a str>, error> {
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller has a NUL at the end.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().map(Some).map_err(|_| error::argument(&format!("{what} is not UTF-8")))
}

/// Options that begin with their size.
///
/// # Safety
/// Zeros are a value of the type, and it begins with a `usize`.
pub unsafe trait Options: Copy {}

/// Returns options: as much of them as the caller knows of, zeros beyond; all zeros for NULL. What the caller knows of and this library doesn't must be zeros.
pub unsafe fn options<T: Options>(given: *const T) -> Result<T, error> {
    // SAFETY: zeros are a value of the type.
    let mut options: T = unsafe { core::mem::zeroed() };
    if given.is_null() {
        return Ok(options);
    }
    // SAFETY: options begin with their size.
    let size = unsafe { given.cast::<usize>().read() };
    // A size is a multiple of the alignment: one that is not would cut a pointer in two.
    if size < size_of::<usize>() || size > 1 << 16 || !size.is_multiple_of(align_of::<T>()) {
        return Err(error::argument(&format!("the struct_size of options is {size}: set it to sizeof")));
    }
    let n_known = size.min(size_of::<T>());
    // SAFETY: the caller has so many bytes; those behind the options that are known are initialized, as the header asks.
    let unknown = unsafe { core::slice::from_raw_parts(given.cast::<u8>().add(n_known), size - n_known) };
    if unknown.iter().any(|&byte| byte != 0) {
        return Err(error::argument("the options have one that this version of the library doesn't know"));
    }
    // SAFETY: the caller has so many bytes, and they fit.
    unsafe { core::ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut options).cast::<u8>(), n_known) };
    Ok(options)
}

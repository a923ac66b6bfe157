//! What a grammar names of an accepted text.

use crate::arguments::handle;
use crate::error::{c_string, error, free, guard_handle, guard_or};
use crate::matcher::matcher;
use core::ffi::c_char;
use maskwright::diagnose::Captured;
use std::ffi::CString;

/// The parts of an accepted text that its grammar names.
pub struct captures {
    parts: Vec<(CString, Captured)>,
}

/// A part of an accepted text.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct capture {
    /// The name.
    pub name: *const c_char,
    /// The bytes of the part, without a NUL.
    pub text: *const u8,
    /// Their number.
    pub n_bytes: usize,
    /// How many bytes of the accepted text are before them. Control tokens have none.
    pub offset: usize,
}

/// Returns the parts of the text so far that the grammar names (`capture` in Lark and EBNF), in the order of their ends, and of those with the same end the inner ones first. A text that can be read in several ways is read from
/// the left: first alternative, longest match. The text is read again, for which history must not be forgotten: this is for the end of an output, not for each step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_captures(matcher: *const matcher, error: *mut *mut error) -> *mut captures {
    let work = || {
        // SAFETY: as the header says.
        let found = unsafe { handle(matcher, "matcher") }?.inner.captures()?;
        Ok(captures { parts: found.into_iter().map(|part| (c_string(&part.name), part)).collect() })
    };
    // SAFETY: as the header says.
    unsafe { guard_handle(error, work) }
}

/// Returns the number of parts; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_captures_n(captures: *const captures) -> usize {
    // SAFETY: NULL or captures that are alive.
    guard_or(0, || unsafe { captures.as_ref() }.map_or(0, |captures| captures.parts.len()))
}

/// Writes a part to `*part`, whose pointers live as long as `captures`; returns whether there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_captures_get(captures: *const captures, index: usize, part: *mut capture) -> bool {
    let work = || {
        // SAFETY: NULL or captures that are alive, and NULL or a place for a part.
        let (captures, part) = unsafe { (captures.as_ref()?, part.as_mut()?) };
        let (name, found) = captures.parts.get(index)?;
        let (text, n_bytes, offset) = (found.text.as_ptr(), found.text.len(), found.range.start);
        *part = capture { name: name.as_ptr(), text, n_bytes, offset };
        Some(())
    };
    guard_or(false, || work().is_some())
}

/// Frees captures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_captures_free(captures: *mut captures) {
    // SAFETY: NULL or captures that nobody uses any more.
    unsafe { free(captures) };
}

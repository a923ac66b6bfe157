//! Codes and errors, and the guard that lets no panic out.

use core::ffi::c_char;
use maskwright::compiler::ErrorCode;
use maskwright::diagnose::ExplainError;
use maskwright::vocab::VocabError;
use maskwright::{CompileError, MatchError};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What kind of error it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum code {
    /// No error.
    Ok = 0,
    /// The source is malformed.
    Syntax = 1,
    /// The source is no JSON Schema, or no structural tag.
    Document = 2,
    /// The source asks for something that can't be enforced.
    Unsupported = 3,
    /// No text conforms to the source.
    Unsatisfiable = 4,
    /// The grammar names a token that the vocabulary lacks.
    UnknownToken = 5,
    /// A limit was exceeded.
    Limit = 6,
    /// The time was over, or the compile was cancelled.
    Interrupted = 7,
    /// An option makes no sense, or contradicts another.
    Option = 8,
    /// An argument makes no sense: NULL, text that is not UTF-8, the same matcher twice, a parent that is no node before its child.
    Argument = 20,
    /// The vocabulary can't be read or built.
    Vocab = 21,
    /// The grammar does not allow the token or the bytes here.
    Refused = 30,
    /// The output has ended.
    Terminated = 31,
    /// No token of the vocabulary can go on, though the text is not complete.
    Stuck = 32,
    /// The step takes more work or memory than the limits allow.
    OverBudget = 33,
    /// Something is out of range: a row that is too short, more steps than there are, a history that was forgotten.
    OutOfRange = 34,
    /// The library failed, which is a bug.
    Internal = 99,
}

impl code {
    fn of_compile(error_code: ErrorCode) -> code {
        match error_code {
            ErrorCode::Syntax => code::Syntax,
            ErrorCode::Document => code::Document,
            ErrorCode::Unsupported => code::Unsupported,
            ErrorCode::Unsatisfiable => code::Unsatisfiable,
            ErrorCode::UnknownToken => code::UnknownToken,
            ErrorCode::Limit => code::Limit,
            ErrorCode::Interrupted => code::Interrupted,
            ErrorCode::Option => code::Option,
            _ => code::Internal,
        }
    }

    /// Returns the code of an error of a matcher.
    pub(crate) fn of_match(error: &MatchError) -> code {
        match error {
            _ if error.is_internal() => code::Internal,
            _ if error.is_stuck() => code::Stuck,
            _ if error.is_over_budget() => code::OverBudget,
            _ if error.is_terminated() => code::Terminated,
            _ if error.is_malformed() => code::Argument,
            _ if error.bound().is_some() && error.token().is_none() => code::OutOfRange,
            _ => code::Refused,
        }
    }
}

/// An error: a code, a message, and where it is.
#[derive(Debug)]
pub struct error {
    code: code,
    message: CString,
    line_column: Option<(usize, usize)>,
    pointer: Option<CString>,
    keyword: Option<CString>,
    hint: Option<CString>,
    token_index: Option<usize>,
}

/// Returns a text for C. It has no NUL within: none of our messages has a control character.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

impl error {
    pub(crate) fn new(code: code, message: &str) -> error {
        let (line_column, token_index) = (None, None);
        let (pointer, keyword, hint) = (None, None, None);
        error { code, message: c_string(message), line_column, pointer, keyword, hint, token_index }
    }

    pub(crate) fn argument(message: &str) -> error {
        error::new(code::Argument, message)
    }

    pub(crate) fn option(message: &str) -> error {
        error::new(code::Option, message)
    }

    /// An error of a JSON text.
    pub(crate) fn of_json(message: &str, json_error: &serde_json::Error) -> error {
        // At the end of an empty text there is no column.
        let line_column = Some((json_error.line().max(1), json_error.column().max(1)));
        error { line_column, ..error::new(code::Document, &format!("{message}: {json_error}")) }
    }

    pub(crate) fn of_compile(compile_error: &CompileError, source: &str) -> error {
        let facts = compile_error.facts(source);
        error {
            line_column: facts.line_column,
            pointer: facts.pointer.as_deref().map(c_string),
            keyword: facts.keyword.as_deref().map(c_string),
            hint: facts.hint.as_deref().map(c_string),
            ..error::new(code::of_compile(facts.code), &compile_error.to_string())
        }
    }
}

impl From<VocabError> for error {
    fn from(vocab_error: VocabError) -> error {
        let line_column = vocab_error.line_number().map(|line| (line, 1));
        error { line_column, ..error::new(code::Vocab, &vocab_error.to_string()) }
    }
}

impl From<MatchError> for error {
    fn from(match_error: MatchError) -> error {
        let token_index = match_error.token_index();
        error { token_index, ..error::new(code::of_match(&match_error), &match_error.to_string()) }
    }
}

impl From<ExplainError> for error {
    fn from(explain_error: ExplainError) -> error {
        match explain_error {
            ExplainError::Matcher(_) => error::new(code::OutOfRange, &explain_error.to_string()),
            ExplainError::Recognizer(_) | ExplainError::TooAmbiguous { .. } => {
                error::new(code::Limit, &explain_error.to_string())
            }
            _ => error::new(code::Internal, &explain_error.to_string()),
        }
    }
}

/// Does the work of a function that can fail: its error goes to `*to`, if there is one, and a panic becomes an error.
pub(crate) unsafe fn guard<T>(to: *mut *mut error, work: impl FnOnce() -> Result<T, error>) -> Result<T, code> {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        Err(error::new(code::Internal, &format!("the library failed: {message}")))
    });
    result.map_err(|error| {
        let code = error.code;
        if !to.is_null() {
            // SAFETY: the caller gave a place for a pointer.
            unsafe { *to = Box::into_raw(Box::new(error)) };
        }
        code
    })
}

/// As [`guard`], with a code for the result.
pub(crate) unsafe fn guard_code(to: *mut *mut error, work: impl FnOnce() -> Result<(), error>) -> code {
    // SAFETY: as there.
    match unsafe { guard(to, work) } {
        Ok(()) => code::Ok,
        Err(code) => code,
    }
}

/// As [`guard`], with a handle for the result.
pub(crate) unsafe fn guard_handle<T>(to: *mut *mut error, work: impl FnOnce() -> Result<T, error>) -> *mut T {
    // SAFETY: as there.
    match unsafe { guard(to, work) } {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(_) => core::ptr::null_mut(),
    }
}

/// Returns what a function without errors does, or `otherwise` where it panics.
pub(crate) fn guard_or<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

fn pointer_of(text: Option<&CString>) -> *const c_char {
    text.map_or(core::ptr::null(), |text| text.as_ptr())
}

/// Returns the code of an error; MW_CODE_OK for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_code(error: *const error) -> code {
    // SAFETY: NULL or an error that is alive.
    unsafe { error.as_ref() }.map_or(code::Ok, |error| error.code)
}

/// Returns the message: one line; "" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_message(error: *const error) -> *const c_char {
    // SAFETY: NULL or an error that is alive.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Returns the line in the source, from 1; 0 if it is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_line(error: *const error) -> usize {
    // SAFETY: NULL or an error that is alive.
    unsafe { error.as_ref() }.and_then(|error| error.line_column).map_or(0, |(line, _)| line)
}

/// Returns the column in the line, in characters, from 1; 0 if it is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_column(error: *const error) -> usize {
    // SAFETY: NULL or an error that is alive.
    unsafe { error.as_ref() }.and_then(|error| error.line_column).map_or(0, |(_, column)| column)
}

/// Returns the JSON pointer of the place in a schema or structural tag; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_pointer(error: *const error) -> *const c_char {
    // SAFETY: NULL or an error that is alive.
    pointer_of(unsafe { error.as_ref() }.and_then(|error| error.pointer.as_ref()))
}

/// Returns the keyword of a schema; NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_keyword(error: *const error) -> *const c_char {
    // SAFETY: NULL or an error that is alive.
    pointer_of(unsafe { error.as_ref() }.and_then(|error| error.keyword.as_ref()))
}

/// Returns what the author may have meant; NULL if there is no hint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_hint(error: *const error) -> *const c_char {
    // SAFETY: NULL or an error that is alive.
    pointer_of(unsafe { error.as_ref() }.and_then(|error| error.hint.as_ref()))
}

/// Returns the position of the failing token in the list that was given; SIZE_MAX if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_token_index(error: *const error) -> usize {
    // SAFETY: NULL or an error that is alive.
    unsafe { error.as_ref() }.and_then(|error| error.token_index).unwrap_or(usize::MAX)
}

/// Frees an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_free(error: *mut error) {
    // SAFETY: NULL or an error that is alive and that nobody uses any more.
    unsafe { free(error) };
}

/// Frees a handle, or nothing.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and is given back.
        guard_or((), || drop(unsafe { Box::from_raw(handle) }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_library() {
        for known in ErrorCode::ALL {
            let code = code::of_compile(known);
            assert_eq!(code as u32, known as u32, "{known:?}");
            assert_eq!(format!("{code:?}"), format!("{known:?}"));
        }
    }
}

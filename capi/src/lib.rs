//! The C interface of maskwright. `include/maskwright.h` is generated from these files, and says how handles, errors, options and threads go.
//!
//! | module | idea |
//! |---|---|
//! | `error` | codes and errors; the guard that lets no panic out |
//! | `arguments` | what C gives: strings, arrays, options by size |
//! | `vocab`, `compile`, `matcher` | the handles |
//! | `captures` | what a grammar names of an accepted text |
//! | `batch` | many matchers at once |
//! | `logits` | masks applied to logits |
//! | `testing` | random operations on handles, with the feature `testing` |

#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]
// Every function has the same contract, which the header states.
#![allow(clippy::missing_safety_doc, non_camel_case_types)]

mod arguments;
pub mod batch;
pub mod captures;
pub mod compile;
pub mod error;
pub mod logits;
pub mod matcher;
#[cfg(feature = "testing")]
pub mod testing;
pub mod vocab;

use core::ffi::{CStr, c_char};

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn mw_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

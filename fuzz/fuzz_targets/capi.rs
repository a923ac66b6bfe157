//! The C interface: any calls in any order, on handles that are alive or NULL.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright_c::testing::check(data);
});

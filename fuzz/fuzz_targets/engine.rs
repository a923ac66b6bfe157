//! The engine against the oracle, on random fixtures.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::engine::check(data);
});

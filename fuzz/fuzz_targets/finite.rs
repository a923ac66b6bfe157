//! JSON Schemas: sampled texts are valid, valid values are accepted, nothing is a dead end.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::finite::check(data);
});

//! Structural tags: parse, compile, walk beside the oracle.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::tag_text::check(data);
});

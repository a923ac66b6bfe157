//! Lark texts: parse, compile, walk beside the oracle.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::lark_text::check(data);
});

//! EBNF texts: parse, print, compile, walk.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::ebnf_text::check(data);
});

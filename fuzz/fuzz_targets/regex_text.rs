//! Patterns: parse, compile, walk beside the automaton.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::regex_text::check(data);
});

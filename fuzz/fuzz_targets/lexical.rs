//! Grammars of names, numbers and quoted text: masks against trying each token.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::lexical::check(data);
});

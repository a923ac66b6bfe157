//! Files of tokenizers: an error or a vocabulary that holds together.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::tokenizer_text::check(data);
});

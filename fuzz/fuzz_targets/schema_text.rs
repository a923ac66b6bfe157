//! Texts as JSON Schemas: parse, compile strictly and leniently, walk beside the oracle.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::schema_text::check(data);
});

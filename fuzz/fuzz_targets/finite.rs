//! JSON Schemas with finitely many documents: masks against the set of all documents.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::finite::check(data);
});

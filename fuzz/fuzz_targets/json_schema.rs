//! JSON Schemas: sampled documents are valid, valid values are accepted, there are no dead ends.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::json_schema::check(data);
});

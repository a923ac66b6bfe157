//! Random operations on several matchers beside models.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::operations::check(data);
});

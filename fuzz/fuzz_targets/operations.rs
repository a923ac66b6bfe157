//! Random operations on several matchers, compared with models.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::operations::check(data);
});

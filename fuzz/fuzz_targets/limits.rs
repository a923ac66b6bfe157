//! Sources of every kind under random limits, beside ample ones.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::limits::check(data);
});

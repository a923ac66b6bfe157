//! The engine beside the judge, in random worlds.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    maskwright::testing::engine::check(data);
});

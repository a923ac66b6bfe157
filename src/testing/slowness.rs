//! How slow the machine is, for tests that bound processor time: machines differ by a factor of two, and so does one machine from hour to hour.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What the work below takes on the machine for which the bounds of tests are meant.
const USUAL: Duration = Duration::from_micros(6_500);
const N_KEYS: usize = 20_000;
const N_ATTEMPTS: usize = 5;

/// Returns how many times slower than usual this machine is now; one if it is as fast or faster. It is measured with work like that of compiling, of which
/// none is this library's own: small allocations, hashing and sorting.
pub fn slowness() -> f64 {
    let quickest = (0..N_ATTEMPTS).map(|_| time_of_work()).min().expect("there are attempts");
    (quickest.as_secs_f64() / USUAL.as_secs_f64()).max(1.0)
}

fn time_of_work() -> Duration {
    let start = Instant::now();
    let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
    for i in 0..N_KEYS {
        let key = (i * 7919 % N_KEYS).to_string().into_bytes();
        numbers.insert(key, i);
    }
    let mut keys: Vec<(Vec<u8>, usize)> = numbers.into_iter().collect();
    keys.sort_unstable();
    core::hint::black_box(keys);
    start.elapsed()
}

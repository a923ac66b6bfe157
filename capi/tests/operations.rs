//! Random operations on handles, for a second or as long as `MASKWRIGHT_SECONDS` says; `MASKWRIGHT_SEED` repeats a run.

use maskwright::testing::{Rng, rounds};
use maskwright_c::testing::{Coverage, check};
use std::time::Instant;

#[test]
fn any_calls_in_any_order() {
    let mut rng = Rng::new(rounds::seed_or(rounds::random_seed(1)));
    let (time, start, mut total) = (rounds::time_or(1), Instant::now(), Coverage::default());
    while start.elapsed() < time || total.n_rows < 200 {
        let data: Vec<u8> = (0..40).flat_map(|_| rng.bits().to_le_bytes()).collect();
        let found = check(&data);
        total.n_calls += found.n_calls;
        total.n_errors += found.n_errors;
        total.n_grammars += found.n_grammars;
        total.n_rows += found.n_rows;
    }
    println!("{total:?}");
    assert!(total.n_grammars > 20 && total.n_errors > 100, "{total:?}");
}

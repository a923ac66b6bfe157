//! Random operations on handles, for a second or as long as `MASKWRIGHT_SECONDS` says; `MASKWRIGHT_SEED` repeats a run.

use maskwright::testing::Rng;
use maskwright_c::testing::{Coverage, check};
use std::time::{Duration, Instant};

#[test]
fn any_calls_in_any_order() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = setting("MASKWRIGHT_SEED").unwrap_or(now.as_nanos() as u64 % 1_000_000_000);
    println!("MASKWRIGHT_SEED={seed}");
    let time = Duration::from_secs(setting("MASKWRIGHT_SECONDS").unwrap_or(1));
    let (mut rng, start, mut total) = (Rng::new(seed), Instant::now(), Coverage::default());
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

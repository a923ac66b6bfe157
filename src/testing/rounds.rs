//! Rounds of random checks: as many as a setting asks for, each of which can be repeated by itself.

use super::Rng;
use super::engine::Coverage;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Calls `check` with random numbers until `is_enough`, and for a second at least.
///
/// Prints its seed, which is always the same under `CI=true`; `MASKWRIGHT_SEED=n` repeats it, `MASKWRIGHT_SECONDS=n` runs it for longer.
///
/// # Panics
/// If `check` does, or a setting is no number.
pub fn run(mut check: impl FnMut(&mut Rng) -> Coverage, is_enough: impl Fn(&Coverage) -> bool) -> Coverage {
    let seed = seed_or(random_seed(1));
    let time = time_or(1);
    let (mut rng, mut coverage, start) = (Rng::new(seed), Coverage::default(), Instant::now());
    let mut n_rounds = 0;
    let mut slowest = (Duration::ZERO, 0);
    while start.elapsed() < time || !is_enough(&coverage) {
        // A round can be repeated by itself: its input depends on its seed alone.
        let round = rng.bits();
        let begin = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| check(&mut Rng::new(round)))) {
            Ok(found) => coverage += found,
            Err(panic) => {
                println!("round {n_rounds} with seed {round} of MASKWRIGHT_SEED={seed}");
                resume_unwind(panic);
            }
        }
        n_rounds += 1;
        slowest = slowest.max((begin.elapsed(), round));
    }
    println!("{n_rounds} rounds in {:?}, {coverage:?}, slowest {slowest:?}", start.elapsed());
    coverage
}

/// Returns random input for a body of a fuzz target.
pub fn data(rng: &mut Rng) -> Vec<u8> {
    (0..8).flat_map(|_| rng.bits().to_le_bytes()).collect()
}

/// Returns the seed that `MASKWRIGHT_SEED` asks for, or `default`, and prints it.
///
/// # Panics
/// If that is no number.
pub fn seed_or(default: u64) -> u64 {
    let seed = setting("MASKWRIGHT_SEED").unwrap_or(default);
    println!("MASKWRIGHT_SEED={seed}");
    seed
}

/// Returns `in_ci` under `CI=true`, and a random seed elsewhere: what is found by chance is for those who look for it, not for a change that has
/// nothing to do with it.
pub fn random_seed(in_ci: u64) -> u64 {
    if is_ci() {
        return in_ci;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    now.as_nanos() as u64 % 1_000_000_000
}

/// Returns the time that `MASKWRIGHT_SECONDS` asks for, or so many seconds.
///
/// # Panics
/// If that is no number.
pub fn time_or(seconds: u64) -> Duration {
    Duration::from_secs(setting("MASKWRIGHT_SECONDS").unwrap_or(seconds))
}

/// Tells whether `CI=true`.
pub fn is_ci() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

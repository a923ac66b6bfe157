//! Masks do not depend on the short cuts on the way to them: with each one off, engine and oracle agree.

use maskwright::testing::engine::{self, Coverage};
use maskwright::testing::{Rng, ShortCut, json_schema, operations};

/// Turned off for the whole process, so there is one test.
#[test]
fn masks_are_the_same_without_each_short_cut() {
    let data = |rng: &mut Rng| -> Vec<u8> { (0..8).flat_map(|_| rng.bits().to_le_bytes()).collect() };
    for short_cut in ShortCut::ALL {
        short_cut.set(false);
        let (mut rng, mut coverage) = (Rng::new(short_cut as u64), Coverage::default());
        for _ in 0..60 {
            coverage += engine::check(&data(&mut rng));
            coverage += operations::check(&data(&mut rng));
        }
        for _ in 0..15 {
            coverage += json_schema::check(&data(&mut rng));
        }
        short_cut.set(true);
        assert!(coverage.n_masks > 100, "{short_cut:?}: {coverage:?}");
    }
}

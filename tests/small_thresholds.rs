//! Properties of random inputs where all thresholds are small, so that what pays for thousands of tokens is done for a few.
//!
//! The settings of a run are those of [`rounds`](maskwright::testing::rounds).

use maskwright::testing::rounds::{data, run};
use maskwright::testing::{engine, finite, json_schema, lexical, operations, set_small_thresholds, sharing};

#[test]
fn lexical_grammars() {
    set_small_thresholds(true);
    let coverage = run(|rng| lexical::check(&data(rng)), |coverage| coverage.n_grammars > 100);
    assert!(coverage.n_masks > 200, "{coverage:?}");
}

#[test]
fn engine_against_oracle() {
    set_small_thresholds(true);
    let coverage = run(|rng| engine::check(&data(rng)), |coverage| coverage.n_grammars > 200);
    assert!(coverage.n_masks > 200, "{coverage:?}");
}

#[test]
fn json_schemas() {
    set_small_thresholds(true);
    let coverage = run(|rng| json_schema::check(&data(rng)), |coverage| coverage.n_grammars > 50);
    assert!(coverage.n_masks > 500, "{coverage:?}");
}

#[test]
fn schemas_of_finitely_many_documents() {
    set_small_thresholds(true);
    let coverage = run(|rng| finite::check(&data(rng)), |coverage| coverage.n_grammars > 40);
    assert!(coverage.n_masks > 400, "{coverage:?}");
}

#[test]
fn operation_sequences() {
    set_small_thresholds(true);
    let coverage = run(|rng| operations::check(&data(rng)), |coverage| coverage.n_grammars > 50);
    assert!(coverage.n_masks > 50, "{coverage:?}");
}

#[test]
fn masks_do_not_depend_on_what_is_kept() {
    set_small_thresholds(true);
    let coverage = run(|rng| sharing::check(&data(rng)), |coverage| coverage.n_grammars > 10);
    assert!(coverage.n_masks > 50, "{coverage:?}");
}

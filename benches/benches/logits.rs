//! Masks applied to logits, beside a plain pass that reads and writes the same row: a change of sign, which the compiler makes vector code of.
//!
//! Masks are those along the documents of a case, and artificial ones: words of which all, half or none of the bits are set. A row stays in the cache; a batch of rows doesn't. Each figure is the
//! least of some passes, in microseconds per row; the plain pass is timed in turn with the other.
//!
//! `cargo bench -p maskwright-bench --bench logits`

use std::hint::black_box;
use std::time::Instant;

use half::{bf16, f16};
use maskwright::logits::{Logit, LogitRows, MaskRows, apply_masks};
use maskwright_bench::ours::Ours;
use maskwright_bench::timing::compile;
use maskwright_bench::verify::documents;
use maskwright_bench::{CASES, Engine, Vocabulary};

const PASSES: usize = 40;
/// Rows of a batch, of 400 KB each in 32 bits.
const BATCH: usize = 64;

/// Masks of one kind, one behind the other.
struct Masks {
    name: String,
    words: Vec<u32>,
}

fn main() {
    println!("{:22} {:8} {:>5} {:>9} {:>9} {:>6}", "masks", "logits", "rows", "us a row", "plain", "ratio");
    let vocabulary = Vocabulary::cl100k();
    let kinds = kinds(&vocabulary);
    for n_rows in [1, BATCH] {
        for masks in &kinds {
            measure::<f32>("f32", masks, &vocabulary, n_rows, |logit| -logit, 1.0f32);
            measure::<f16>(
                "f16",
                masks,
                &vocabulary,
                n_rows,
                |logit| f16::from_bits(logit.to_bits() ^ 1 << 15),
                f16::ONE,
            );
            measure::<bf16>(
                "bf16",
                masks,
                &vocabulary,
                n_rows,
                |logit| bf16::from_bits(logit.to_bits() ^ 1 << 15),
                bf16::ONE,
            );
        }
    }
}

fn kinds(vocabulary: &Vocabulary) -> Vec<Masks> {
    let n_words = vocabulary.n_mask_words();
    let artificial =
        [("no bit", 0), ("half of the bits", 0x5a5a_a5a5u32), ("all bits", u32::MAX), ("one bit of 32", 1)];
    let mut kinds: Vec<Masks> =
        artificial.map(|(name, word)| Masks { name: name.into(), words: vec![word; BATCH * n_words] }).into();
    let engine = Ours::load(vocabulary);
    for case in CASES {
        documents(&engine, vocabulary, case).unwrap_or_else(|error| panic!("{error}"));
        let compiled = compile(&engine, case);
        let (mut matcher, mut words) = (compiled.matcher(), vec![0; BATCH * n_words]);
        let tokens = vocabulary.encode(case.documents[0].text);
        let mut rest = tokens.iter().cycle();
        for row in words.chunks_mut(n_words) {
            matcher.fill_mask(row).expect("verified before");
            if matcher.accept_token(*rest.next().expect("a document")).is_err() {
                matcher.reset();
                rest = tokens.iter().cycle();
            }
        }
        kinds.push(Masks { name: case.name.into(), words });
    }
    kinds
}

fn measure<T: Logit>(
    name: &str,
    masks: &Masks,
    vocabulary: &Vocabulary,
    n_rows: usize,
    plain: impl Fn(T) -> T,
    one: T,
) {
    let (width, words_per_row) = (vocabulary.n_tokens(), vocabulary.n_mask_words());
    let mut logits = vec![one; n_rows * width];
    let masks_of_rows = MaskRows { words: &masks.words, words_per_row, n_tokens: width };
    let (mut least, mut least_plain) = (f64::INFINITY, f64::INFINITY);
    let mut n_passes = 0;
    // A single row has each of the masks in turn.
    for first in (0..BATCH).step_by(n_rows).cycle().take(PASSES.max(BATCH / n_rows)) {
        let begin = Instant::now();
        let rows = (first..first + n_rows).zip(0..);
        apply_masks(masks_of_rows, LogitRows { logits: &mut logits, width, stride: width }, rows).expect("rows fit");
        black_box(&mut logits);
        let masked = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        logits.iter_mut().for_each(|logit| *logit = plain(*logit));
        black_box(&mut logits);
        least_plain = least_plain.min(begin.elapsed().as_secs_f64());
        least = least.min(masked);
        n_passes += 1;
    }
    assert!(n_passes >= PASSES);
    let us = 1e6 / n_rows as f64;
    let (least, least_plain) = (least * us, least_plain * us);
    println!("{:22} {name:8} {n_rows:5} {least:9.2} {least_plain:9.2} {:6.2}", masks.name, least / least_plain);
}

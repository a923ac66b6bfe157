//! Masks behind drafts: one call for a chain or a tree, beside a fork for each position that accepts and fills.
//!
//! Drafts are the next tokens of a document, at places all over it; in a tree each of them has siblings from elsewhere in the document, most of which are refused. Rows are in one
//! buffer that stays the same. Everything is warm: each figure is the least of some passes over all places, in microseconds per call and per draft.
//!
//! `cargo bench -p maskwright-bench --bench drafts`
//!
//! Behind `--`: a part of the names of the cases to measure, like `forms/cl100k`.

use std::hint::black_box;
use std::time::Instant;

use maskwright::Matcher;
use maskwright_bench::ours::Ours;
use maskwright_bench::timing::compile;
use maskwright_bench::verify::documents;
use maskwright_bench::{CASES, Case, Engine, Vocabulary};

const CHAIN: usize = 8;
/// Nodes of a tree: a path with three siblings at each node.
const TREE: usize = 64;
const SIBLINGS: usize = 3;
/// Places in each document.
const PLACES: usize = 24;
const PASSES: usize = 30;

/// A place in a document, and the drafts behind it.
struct Place {
    matcher: Matcher,
    parents: Vec<i32>,
    tokens: Vec<u32>,
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!(
        "{:24} {:22} {:>9} {:>10} {:>10} {:>11} {:>7}",
        "case/vocabulary", "drafts", "allowed", "us a call", "us a draft", "forks: call", "ratio"
    );
    for vocabulary in [Vocabulary::cl100k(), Vocabulary::o200k()] {
        let engine = Ours::load(&vocabulary);
        for case in CASES {
            let name = format!("{}/{}", case.name, vocabulary.name);
            if !name.contains(&wanted) {
                continue;
            }
            documents(&engine, &vocabulary, case).unwrap_or_else(|error| panic!("{error}"));
            let mut rows = vec![0; (TREE + 1) * vocabulary.n_mask_words()];
            measure(
                &format!("{name:24} chain of {CHAIN}"),
                &mut places(&engine, &vocabulary, case, CHAIN, 0),
                &mut rows,
                chain,
            );
            measure(
                &format!("{name:24} chain of {}", TREE - 1),
                &mut places(&engine, &vocabulary, case, TREE - 1, 0),
                &mut rows,
                chain,
            );
            measure(
                &format!("{name:24} tree of {TREE}"),
                &mut places(&engine, &vocabulary, case, TREE - 1, SIBLINGS),
                &mut rows,
                tree,
            );
        }
    }
}

/// Returns places in the documents of a case, each with so many drafts behind it.
fn places(engine: &Ours, vocabulary: &Vocabulary, case: &Case, n_drafts: usize, n_siblings: usize) -> Vec<Place> {
    let compiled = compile(engine, case);
    let mut places = Vec::new();
    for document in case.documents {
        let text = vocabulary.encode(document.text);
        let n_path = n_drafts.div_ceil(n_siblings + 1);
        for place in 0..PLACES {
            let at = text.len().saturating_sub(n_path) * place / PLACES;
            let mut matcher = compiled.matcher();
            matcher.accept_tokens(&text[..at]).expect("verified before");
            let (mut parents, mut tokens, mut above) = (vec![-1], vec![0], 0);
            for (index, &token) in text[at..].iter().take(n_path).enumerate() {
                let node = parents.len() as i32;
                let siblings = (0..n_siblings).map(|sibling| text[(at + 7 * index + 13 * sibling) % text.len()]);
                for token in [token].into_iter().chain(siblings).take(n_drafts + 1 - parents.len()) {
                    parents.push(above);
                    tokens.push(token);
                }
                above = node;
            }
            places.push(Place { matcher, parents, tokens });
        }
    }
    places
}

fn chain(place: &mut Place, rows: &mut [u32], n_words: usize) -> usize {
    place.matcher.fill_masks_for_chain(&place.tokens[1..], rows, n_words).expect("drafts have masks").n_acceptable
}

fn tree(place: &mut Place, rows: &mut [u32], n_words: usize) -> usize {
    let filled = place.matcher.fill_masks_for_tree(&place.parents, &place.tokens, rows, n_words);
    filled.expect("drafts have masks").is_acceptable.iter().filter(|&&is_acceptable| is_acceptable).count() - 1
}

/// The same with a fork for each node.
fn forks(place: &mut Place, rows: &mut [u32], n_words: usize) -> usize {
    let mut forks: Vec<Option<Matcher>> = Vec::with_capacity(place.parents.len());
    for (node, &parent) in place.parents.iter().enumerate() {
        let fork = match parent {
            -1 => Some(place.matcher.fork()),
            _ => forks[parent as usize].as_ref().and_then(|parent| {
                let mut fork = parent.fork();
                fork.accept_token(place.tokens[node]).is_ok().then_some(fork)
            }),
        };
        forks.push(fork);
        match forks[node].as_mut() {
            Some(fork) => drop(fork.fill_mask(&mut rows[node * n_words..][..n_words]).expect("drafts have masks")),
            None => rows.copy_within(parent as usize * n_words..(parent as usize + 1) * n_words, node * n_words),
        }
    }
    forks.iter().flatten().count() - 1
}

fn measure(name: &str, places: &mut [Place], rows: &mut [u32], fill: fn(&mut Place, &mut [u32], usize) -> usize) {
    let n_words = places[0].matcher.grammar().vocab().n_mask_words();
    // The same rows, by what is much simpler; and warm.
    let (mut n_allowed, mut n_drafts) = (0, 0);
    for place in places.iter_mut() {
        let mut expected = vec![0; rows.len()];
        let (n, n_expected) = (fill(place, rows, n_words), forks(place, &mut expected, n_words));
        let n_filled = place.parents.len() * n_words;
        assert!(n == n_expected && rows[..n_filled] == expected[..n_filled], "{name}: other rows than forks have");
        (n_allowed, n_drafts) = (n_allowed + n, n_drafts + place.parents.len() - 1);
    }
    let mut least = |fill: fn(&mut Place, &mut [u32], usize) -> usize| {
        let passes = (0..PASSES).map(|_| {
            let begin = Instant::now();
            for place in places.iter_mut() {
                black_box(fill(place, rows, n_words));
                black_box(&mut *rows);
            }
            begin.elapsed().as_secs_f64() * 1e6
        });
        passes.fold(f64::INFINITY, f64::min)
    };
    let (ours, by_forks) = (least(fill), least(forks));
    let n_calls = places.len() as f64;
    println!(
        "{name:47} {:8.0}% {:10.2} {:10.3} {:11.2} {:6.1}x",
        100.0 * n_allowed as f64 / n_drafts as f64,
        ours / n_calls,
        ours / n_drafts as f64,
        by_forks / n_calls,
        by_forks / ours
    );
}

//! What single calls of a matcher take where there is nearly nothing to do: a row of nine words, everything known before.
//!
//! `python/benches/calls.py` runs it beside the same calls from Python, whose difference is what a call through Python costs. Prints JSON: nanoseconds
//! by name of the call, the least of some passes.
//!
//! `cargo bench -p maskwright-bench --no-default-features --features ours --bench calls`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use maskwright::{GrammarCompiler, Matcher, TokenMask, Vocab};

const PASSES: usize = 20;
const CALLS: u32 = 100_000;

fn main() {
    let tokens = (0..=255u8).map(|byte| vec![byte]).chain([b"ab".to_vec()]);
    let vocab = Arc::new(Vocab::from_tokens(tokens).expect("the tokens are few"));
    let mut row = TokenMask::new(vocab.n_tokens());
    let grammar = GrammarCompiler::new(vocab).compile_ebnf("root ::= [a-z]*").expect("the grammar is right");
    let new = || grammar.matcher();

    let fill = least(new, |matcher| matcher.fill_mask(row.as_words_mut()).expect("nothing is bounded"));
    let accept = least(new, |matcher| matcher.accept_token(u32::from(b'a')).expect("a letter"));
    let both = least(new, |matcher| {
        matcher.accept_token(u32::from(b'a')).expect("a letter");
        matcher.rollback(1).expect("one token was accepted");
    });
    println!(r#"{{"fill_mask": {fill:.1}, "accept_token": {accept:.1}, "accept_token + rollback": {both:.1}}}"#);
}

/// Returns how many nanoseconds a call takes, each pass with a new matcher.
fn least<T>(new: impl Fn() -> Matcher, mut call: impl FnMut(&mut Matcher) -> T) -> f64 {
    let pass = || {
        let mut matcher = new();
        let start = Instant::now();
        (0..CALLS).for_each(|_| _ = black_box(call(&mut matcher)));
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    core::iter::repeat_with(pass).take(PASSES).fold(f64::INFINITY, f64::min)
}

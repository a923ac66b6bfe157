//! A batch of sequences with grammars of their own: one call accepts their tokens and fills their rows, slow steps on a pool of threads.
//!
//! ```sh
//! cargo run --example batch
//! ```
//!
//! The rows of the batch are one block of memory, as an inference engine sends it to its device. A sequence that ends leaves the batch.

use maskwright::matcher::{accept_and_fill, fill_masks};
use maskwright::{GrammarCompiler, Matcher, TokenId, Vocab};

/// One sequence of the batch.
struct Sequence {
    name: &'static str,
    matcher: Matcher,
    output: Vec<TokenId>,
    random: u64,
}

impl std::borrow::Borrow<Matcher> for Sequence {
    fn borrow(&self) -> &Matcher {
        &self.matcher
    }
}

impl std::borrow::BorrowMut<Matcher> for Sequence {
    fn borrow_mut(&mut self) -> &mut Matcher {
        &mut self.matcher
    }
}

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    let stop = builder.push("<|end|>");
    let compiler = GrammarCompiler::new(builder.stop_tokens([stop]).build()?.into());
    let vocab = compiler.vocab();

    // Threads may compile at the same time too: compilers are shared.
    let grammars = [
        ("date", r#"root ::= [12] [0-9]{3} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])"#),
        ("word", "root ::= [a-z]{1,12}"),
        ("nested", r#"root ::= "(" root? ")" | "x""#),
        ("answer", r#"root ::= "yes" | "no" | "perhaps""#),
    ];
    let mut batch = Vec::new();
    for (seed, &(name, text)) in (1..).zip(&grammars) {
        batch.push(Sequence {
            name,
            matcher: compiler.compile_ebnf(text)?.matcher(),
            output: Vec::new(),
            random: seed,
        });
    }

    let n_words = vocab.n_mask_words();
    let mut rows = vec![0u32; batch.len() * n_words];
    for filled in fill_masks(&mut batch, &mut rows, n_words, None) {
        filled?;
    }
    let mut finished = Vec::new();
    while !batch.is_empty() {
        // The model's step: a token of each row.
        let mut tokens = Vec::new();
        for (sequence, row) in batch.iter_mut().zip(rows.chunks(n_words)) {
            let token = sequence.sample(row, stop);
            sequence.output.push(token);
            tokens.push([token]);
        }
        // What took its stop token leaves; rows stay dense.
        let (ended, rest): (Vec<_>, Vec<_>) = batch.into_iter().zip(tokens).partition(|(_, token)| *token == [stop]);
        finished.extend(ended.into_iter().map(|(sequence, _)| sequence));
        let (running, tokens): (Vec<_>, Vec<_>) = rest.into_iter().unzip();
        batch = running;
        for filled in accept_and_fill(&mut batch, &tokens, &mut rows, n_words, None) {
            filled?;
        }
    }

    assert_eq!(finished.len(), grammars.len());
    for mut sequence in finished {
        assert!(sequence.matcher.is_accepting());
        sequence.matcher.accept_token(stop)?;
        assert!(sequence.matcher.is_terminated());
        let text = vocab.decode(&sequence.output[..sequence.output.len() - 1]);
        println!("{:>6}: {}", sequence.name, String::from_utf8_lossy(&text));
    }
    Ok(())
}

impl Sequence {
    /// Takes the stop token where it is allowed, in one case of three at least, or any allowed token.
    fn sample(&mut self, row: &[u32], stop: TokenId) -> TokenId {
        let allowed: Vec<TokenId> =
            (0..32 * row.len() as TokenId).filter(|token| row[*token as usize / 32] >> (token % 32) & 1 == 1).collect();
        // A linear congruential generator; its high bits are random enough.
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let number = (self.random >> 33) as usize;
        if number.is_multiple_of(3) && allowed.contains(&stop) { stop } else { allowed[number / 3 % allowed.len()] }
    }
}

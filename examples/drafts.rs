//! Speculative decoding: a draft model proposes some tokens at once, one call fills a mask for each of their positions, and the model verifies them in
//! one step.
//!
//! ```sh
//! cargo run --example drafts
//! ```
//!
//! Both models are toys that know one text by heart; the draft model misspells a word. The output is the same as without drafts.

use maskwright::{GrammarCompiler, Matcher, TokenId, Vocab};

const N_DRAFTS: usize = 4;
const MODEL: &str = r#"["red","green","blue"]"#;
const DRAFT_MODEL: &str = r#"["red","grean","blue"]"#;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Vocab::builder();
    builder.extend((0..=127u8).map(|byte| [byte]));
    let stop = builder.push("<|end|>");
    let compiler = GrammarCompiler::new(builder.stop_tokens([stop]).build()?.into());
    let colours = compiler
        .compile_ebnf(r#"root ::= "[" (colour ("," colour)*)? "]"  colour ::= "\"" ("red" | "green" | "blue") "\"""#)?;

    let (plain, n_plain) = decode(colours.matcher(), 0, stop)?;
    let (text, n_steps) = decode(colours.matcher(), N_DRAFTS, stop)?;
    println!("{text}: {n_steps} steps of the model with drafts, {n_plain} without");
    assert_eq!(text, plain);
    assert_eq!(text, MODEL);
    assert!(n_steps * 2 < n_plain);
    Ok(())
}

/// Decodes until the stop token; returns the text and the number of steps of the model.
fn decode(mut matcher: Matcher, n_drafts: usize, stop: TokenId) -> Result<(String, usize), Box<dyn std::error::Error>> {
    let n_words = matcher.grammar().vocab().n_mask_words();
    let mut rows = vec![0; (n_drafts + 1) * n_words];
    let (mut output, mut n_steps) = (Vec::new(), 0);
    while !matcher.is_terminated() {
        let drafts: Vec<TokenId> = (0..n_drafts).map(|n| next_token(DRAFT_MODEL, output.len() + n, stop)).collect();
        // Row `i` is the mask after `i` drafts. Drafts that the grammar refuses need no verification.
        let filled = matcher.fill_masks_for_chain(&drafts, &mut rows, n_words)?;
        // The model looks at all positions in one step: it confirms drafts up to the first it wouldn't have said, and says the next token.
        n_steps += 1;
        for position in 0..=filled.n_acceptable {
            let token = next_token(MODEL, output.len(), stop);
            let row = &rows[position * n_words..][..n_words];
            assert!(row[token as usize / 32] >> (token % 32) & 1 == 1, "the model keeps to the grammar by itself");
            matcher.accept_token(token)?;
            if token == stop {
                break;
            }
            output.push(token);
            if drafts.get(position) != Some(&token) {
                break;
            }
        }
    }
    let text = matcher.grammar().vocab().decode(&output);
    Ok((String::from_utf8(text)?, n_steps))
}

/// The token of a toy model at a position: that of the text it knows, and the stop token at its end.
fn next_token(text: &str, position: usize, stop: TokenId) -> TokenId {
    text.as_bytes().get(position).map_or(stop, |&byte| byte.into())
}

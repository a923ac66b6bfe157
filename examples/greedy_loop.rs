//! The loop of a decoder for one sequence: fill the mask, apply it to the logits, take the best token, accept it.
//!
//! ```sh
//! cargo run --example greedy_loop
//! ```
//!
//! The model is a toy that wants to say `{"city": Oslo` and forgets the quotation mark and the days. The mask puts both right.

use maskwright::{GrammarCompiler, TokenId, TokenMask, Vocab};
use std::sync::Arc;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
    "required": ["city", "days"],
    "additionalProperties": false
}"#;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let vocab = Arc::new(vocab()?);
    // One compiler per vocabulary, shared by all threads; one matcher per sequence.
    let compiler = GrammarCompiler::new(Arc::clone(&vocab));
    let mut matcher = compiler.compile_json_schema(SCHEMA)?.matcher();

    let mut mask = TokenMask::new(vocab.n_tokens());
    let mut output: Vec<TokenId> = Vec::new();
    while !matcher.is_terminated() {
        let mut logits = toy_logits(&vocab, output.len());
        matcher.fill_mask(mask.as_words_mut())?;
        mask.apply_to_logits(&mut logits);
        let token = argmax(&logits);
        matcher.accept_token(token)?;
        output.push(token);
        println!("{:>4} tokens allowed, took {:?}", mask.count(), String::from_utf8_lossy(vocab.bytes(token)));
    }

    // The stop token is a control token and no text.
    let text = String::from_utf8(vocab.decode(&output[..output.len() - 1]))?;
    println!("{text}");
    let value: serde_json::Value = serde_json::from_str(&text)?;
    assert_eq!(value["city"], "Oslo!!");
    assert!((1..=14).contains(&value["days"].as_i64().expect("an integer")));
    Ok(())
}

/// All bytes, some words, and a stop token.
fn vocab() -> Result<Vocab, Box<dyn std::error::Error>> {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte])).extend(["{\"", "\": ", "city", "days", "Oslo", "!!", "\", \""]);
    let stop = builder.push("<|end|>");
    Ok(builder.stop_tokens([stop]).build()?)
}

/// Prefers the tokens of its sentence in their order and then brackets, otherwise quotation marks and digits to letters.
fn toy_logits(vocab: &Vocab, position: usize) -> Vec<f32> {
    const SENTENCE: [&[u8]; 7] = [b"{\"", b"city", b"\": ", b"Oslo", b"Oslo", b"!!", b"\""];
    let favourite = SENTENCE.get(position).copied().unwrap_or(b"}");
    (0..vocab.n_tokens() as TokenId)
        .map(|token| match vocab.bytes(token) {
            bytes if bytes == favourite => 10.0,
            b"\"" => 5.0,
            [b'0'..=b'9'] => 4.0,
            [b' '] => -5.0,
            bytes => -(bytes.len() as f32),
        })
        .collect()
}

fn argmax(logits: &[f32]) -> TokenId {
    let best = (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
    best.expect("a row has logits") as TokenId
}

//! A vocabulary from tokens of your own: text as bytes, control tokens with names, stop tokens, and logits that are wider than the tokenizer.
//!
//! ```sh
//! cargo run --example custom_vocabulary
//! ```

use maskwright::{GrammarCompiler, TokenKind, Vocab};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Vocab::builder();
    // A token is bytes, and needs not be UTF-8: `é` is two bytes, and here two tokens.
    builder.extend([&b"ca"[..], b"f", b"\xC3", b"\xA9", b"cat", b" "]);
    let think = builder.push("<think>");
    builder.set_kind(think, TokenKind::Control);
    let stop = builder.push("</s>");
    builder.stop_tokens([stop]);
    // Models pad their logits: ids 8 and 9 are of no token, and never allowed.
    builder.logits_width(10);
    let vocab = builder.build()?;
    println!(
        "{} logits, stop tokens {:?}, `<think>` is {:?}",
        vocab.n_tokens(),
        vocab.stop_tokens(),
        vocab.ids_named("<think>")
    );

    let compiler = GrammarCompiler::new(vocab.into());
    let grammar = compiler.compile_ebnf(r#"root ::= <think>? ("café" | "cat")"#)?;
    let mut matcher = grammar.matcher();
    // `ca` and `cat` begin a sentence, and so does the control token, which the grammar names. Its spelling as text would not do.
    assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [0, 4, think]);
    assert!(grammar.matcher().accept_bytes(b"<think>").is_err());

    matcher.accept_tokens(&[think, 0, 1])?;
    for (token, is_allowed) in [(2, true), (3, false), (4, false), (stop, false), (9, false)] {
        assert_eq!(matcher.is_token_allowed(token), is_allowed, "token {token}");
    }
    matcher.accept_tokens(&[2, 3])?;
    // The sentence is complete, and nothing can follow but the end.
    assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [stop]);
    matcher.accept_token(stop)?;
    assert!(matcher.is_terminated());

    // Tokens can be taken back, the stop token included.
    matcher.rollback(5)?;
    matcher.accept_tokens(&[4, stop])?;
    println!("{}", String::from_utf8_lossy(&compiler.vocab().decode(&[4])));
    Ok(())
}

//! Tool calls as the chat template of a model writes them: from a list of tools with schemas to a structural tag, and from that to masks.
//!
//! ```sh
//! cargo run --example tool_calls
//! ```

use maskwright::structural_tag::models::{ModelFormat, Tool, ToolCallOptions, ToolChoice};
use maskwright::{GrammarCompiler, Limits, Vocab};

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather = r#"{
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
        "required": ["city"],
        "additionalProperties": false
    }"#;
    let tools = [Tool::new("weather").with_parameters(weather), Tool::new("now")];

    // The tag is JSON text: log it, cache it, send it to another process.
    let format = ModelFormat::from_name("hermes")?;
    let tag = format.structural_tag(&tools, &ToolChoice::Auto, &ToolCallOptions::default(), &Limits::default())?;
    println!("{tag}\n");

    let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?;
    let compiler = GrammarCompiler::new(vocab.into());
    let mut matcher = compiler.compile_structural_tag(&tag)?.matcher();

    // Text is free. Once a call begins, the grammar leads.
    matcher.accept_bytes(b"I'll look that up.\n<tool_call>\n")?;
    let forced = matcher.jump_forward_text();
    println!("after the opening tag the text goes on with {forced:?}");
    assert_eq!(forced, "{\"name\": \"");

    let call = br#"weather", "arguments": {"city": "Oslo", "days": "#;
    matcher.accept_bytes(&[forced.as_bytes(), call].concat())?;
    assert!(matcher.is_token_allowed(b'7'.into()));
    assert!(!matcher.is_token_allowed(b'"'.into()));

    // A failed call leaves the matcher as it was.
    let error = matcher.accept_bytes(b"15}").expect_err("14 days at most");
    println!("{error}");
    assert_eq!(error.byte_offset(), Some(1));
    matcher.accept_bytes(b"14}}\n</tool_call>")?;
    assert!(matcher.is_accepting());

    // Where a call is required, no text comes before it.
    let required =
        format.structural_tag(&tools, &ToolChoice::Required, &ToolCallOptions::default(), &Limits::default())?;
    let mut matcher = compiler.compile_structural_tag(&required)?.matcher();
    assert!(!matcher.is_accepting() && matcher.accept_bytes(b"Well, ").is_err());
    Ok(())
}

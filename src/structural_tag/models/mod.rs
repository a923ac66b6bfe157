//! Structural tags for the tool calls of models, by the name of the model's format.
//!
//! A model writes calls as its chat template shows them. [`ModelFormat::structural_tag`] turns tools and a choice among them into the structural
//! tag of such outputs, as JSON text that can be logged, cached, and compiled:
//!
//! ```
//! use maskwright::structural_tag::models::{ModelFormat, Tool, ToolCallOptions, ToolChoice};
//! use maskwright::{GrammarCompiler, Limits, Vocab};
//! let parameters = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
//! let tools = [Tool::new("weather").with_parameters(parameters), Tool::new("now")];
//! let format = ModelFormat::from_name("hermes")?;
//! let tag = format.structural_tag(&tools, &ToolChoice::Auto, &ToolCallOptions::default(), &Limits::default())?;
//!
//! let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?;
//! let mut matcher = GrammarCompiler::new(vocab.into()).compile_structural_tag(&tag)?.matcher();
//! matcher.accept_bytes(b"Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": ")?;
//! assert!(matcher.is_token_allowed(u32::from(b'"')));
//! assert!(!matcher.is_token_allowed(u32::from(b'1')));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An output is reasoning, if [`Thinking`] says so, then text and calls as [`ToolChoice`] says:
//!
//! | choice | behind the reasoning |
//! |---|---|
//! | `None` | text |
//! | `Auto` | text, then calls or none; where the template has either text or calls, one of the two |
//! | `Required` | at least one call, and nothing before but line ends that templates have there |
//! | `Named` | one call of this tool, likewise |
//!
//! - Reasoning has no marker in it that ends reasoning; text has none that begins a call, or that begins or ends reasoning.
//! - Nothing follows the last call but what the template has there. Separators are those of the template.
//! - All markers may be spelled by control tokens, whole or in part, or by letters.
//! - Names of tools have no white space, control characters, or any of `" ' \ < > [ ] { } | &`.

mod cohere;
mod deepseek;
mod document;
mod error;
mod exaone;
mod format;
mod glm;
mod harmony;
mod kimi;
mod layout;
mod llama;
mod mimo;
mod minimax;
mod mistral;
mod qwen;
mod request;

pub use error::ToolCallError;
pub use format::ModelFormat;
pub use request::{Thinking, Tool, ToolCallOptions, ToolChoice};

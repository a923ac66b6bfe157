//! Benches of Maskwright, with other engines beside it in the same process.
//!
//! Every engine implements [`Engine`]: it loads the same vocabulary (same ids, same bytes), compiles the same language (each in the
//! syntax that it is meant to be used with, see [`CASES`]), fills a row of words owned by the caller and accepts the tokens of the same
//! documents. [`verify`] runs before anything is timed.
//!
//! Reading order: [`cases`] (grammars and documents), [`vocabulary`], [`engine`] (the trait), one module per engine, [`verify`],
//! [`timing`].
//!
//! ```text
//! cargo bench -p maskwright-bench --bench ratios       figures and ratios: a table, and JSON with --json PATH
//! cargo bench -p maskwright-bench --bench memory       bytes and allocations, counted by the allocator
//! cargo bench -p maskwright-bench --bench engines      criterion; ids are op/grammar/vocabulary/engine
//! cargo bench -p maskwright-bench --bench drafts       masks behind drafts, beside a fork for each
//! cargo bench -p maskwright-bench --bench logits       masks applied to logits, beside a plain pass over the row
//! cargo bench --bench maskbench -- FILES               JSON Schemas with instances, from files: tables, and JSON with --json PATH
//! ```

pub mod cases;
pub mod engine;
#[cfg(feature = "llguidance")]
pub mod llguidance;
#[cfg(feature = "ours")]
pub mod ours;
#[cfg(feature = "ours")]
pub mod schemas;
pub mod timing;
pub mod verify;
pub mod vocabulary;
#[cfg(feature = "xgrammar")]
pub mod xgrammar;

pub use cases::{CASES, Case, Document, PeerGrammar};
pub use engine::{Engine, SchemaEngine, Session, ToolEngine, ToolGrammar};
pub use vocabulary::Vocabulary;

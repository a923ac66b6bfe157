//! What tests and fuzz targets share: random inputs, oracles, bodies of fuzz targets, and data-driven cases.
//!
//! Random inputs depend on their seed alone. Only with the feature `testing`, whose API is not stable.

mod ambiguous;
pub mod cases;
pub mod completion_search;
pub mod corpus;
mod dump;
pub mod ebnf_text;
pub mod engine;
pub mod finite;
pub mod fixture;
mod grammars;
pub mod json_schema;
pub mod lark_text;
pub mod lexical;
pub mod limits;
pub mod operations;
pub mod regex_text;
mod rng;
pub mod rounds;
pub mod sampling;
pub mod schema_text;
pub mod schemas;
pub mod sharing;
mod slowness;
pub mod spelling;
pub mod tag_text;
#[cfg(all(feature = "hf", feature = "tiktoken"))]
pub mod tokenizer_text;
pub mod validator;
mod vocabs;
pub mod words;

pub use crate::mask::ShortCut;
pub use crate::util::set_small_thresholds;
pub use ambiguous::random_ambiguous;
pub use dump::{dump_grammar, dump_vocab, show_bytes};
pub use grammars::{GrammarShape, random_grammar};
pub use rng::Rng;
pub use slowness::slowness;
pub use vocabs::{VocabShape, random_vocab, random_walk};

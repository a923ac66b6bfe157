//! Regular languages over characters and bytes: the one place of the crate that knows them.
//!
//! A [`Regular`] is an expression (an index arena, so neither building nor dropping recurses); a [`Dfa`] is its minimal
//! deterministic automaton over bytes. Characters are Unicode scalar values and are matched by their UTF-8 encoding; a
//! complement is taken among all texts of valid UTF-8.

mod build;
mod charset;
mod combination;
mod completions;
mod determinize;
mod dfa;
mod error;
mod expr;
mod fold;
mod image;
mod json_text;
mod minimize;
#[cfg(any(test, feature = "testing"))]
pub mod naive;
mod nfa;
mod product;
mod substring;
#[cfg(test)]
mod tests;
mod texts;
mod unfold;
mod union;
mod utf8;
mod whole_literals;

pub use charset::CharSet;
pub(crate) use combination::Combination;
pub use dfa::Dfa;
pub use error::RegularError;
pub(crate) use error::Work;
pub use expr::{Node, NodeId, Regular};
pub(crate) use product::{Product, product_within};
pub(crate) use union::Union;
pub use utf8::utf8_sequences;

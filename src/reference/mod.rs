//! The reference recognizer: simple, slow, and independent of the engine.
//!
//! It is the oracle with which everything fast in this crate is compared. It also answers questions about a grammar as its author wrote
//! it ("what is expected here, and which rule says so?"), because the engine rewrites grammars and loses the rules that a person wrote.
//!
//! # Method
//!
//! An Earley recognizer. Each expression of the [`Grammar`](crate::grammar::Grammar) is one *production* (a rule, a sequence, a literal,
//! ...), without any rewriting. A [`Chart`] has a set of *items* `(production, state, origin)` for each position of the text so far: the
//! production was begun at `origin` and has been read as far as `state`, the position of the dot. A repeat counts its copies in `state`,
//! so `[a-z]{1,1000000}` is one production, not a million. Take `s ::= s "a" | ""` and the text `a`:
//!
//! ```text
//! set 0: s began at 0, nothing read; `""` is complete, so s is complete, so `s . "a"` waits for an `a`
//! set 1: `s "a" .` began at 0 is complete, so s (0..1) is; what waited for s in set 0 advances: `s . "a"` waits again
//! ```
//!
//! Only productions that match some string are ever begun, so every item of the last set can be completed to a sentence: a prefix is
//! viable exactly if its last set is not empty.
//!
//! `a & b`, `a - b` and `~a` need more, since two operands that both have continuations may have none in common (`/x[ab]*c/ & ~/x.*c/` is
//! a dead end after `x`). Such an expression is one terminal with an explicit deterministic automaton: its states are the Brzozowski
//! derivatives, without those from which no accepting state is reachable. This shares no code with the automata of [`crate::regular`],
//! so that neither can hide a mistake of the other.
//!
//! Time is cubic in the length of the text in the worst case (`s ::= s s | "a"`), and linear for most grammars.

mod chart;
mod completion;
mod derivative;
mod dfa;
mod error;
mod mask;
mod oracle;
mod parse;
mod productions;
mod token;
mod utf8;

pub use chart::{Chart, Expectation, OpenRule, Recognizer, Symbol, Terminal};
pub use error::RecognizerError;
pub use mask::mask;
pub use oracle::OracleMatcher;
pub use parse::RuleMatch;

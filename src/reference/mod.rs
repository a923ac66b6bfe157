//! The judge: the slow program that is obviously right.
//!
//! Everything fast in this crate is compared with what is here, and questions about a grammar as its author wrote it ("what
//! is expected here, and which rule says so?") are answered here, because rewriting loses the rules that a person wrote.
//!
//! # Method
//!
//! An Earley recognizer. A [`Chart`] holds, for each position of the text so far, every *item* `(part, state, origin)`: some
//! part of the grammar (a rule, a sequence, a literal, ...) was begun at `origin` and has come as far as `state`. Nothing is
//! rewritten: each expression of the [`Grammar`](crate::grammar::Grammar) is one part. A repeat counts its copies in `state`,
//! so `[a-z]{1,1000000}` is one part, not a million. Take `s ::= s "a" | ""` and the text `a`:
//!
//! ```text
//! set 0: s began at 0, nothing read; `""` is done, so s is done, so `s . "a"` waits for an `a`
//! set 1: `s "a" .` began at 0 is done, so s (0..1) is done; what waited for s in set 0 goes on: `s . "a"` waits again
//! ```
//!
//! Only parts that can be finished are ever begun, so every item of the last set can be completed to a whole text: a prefix
//! is viable exactly when its last set is not empty.
//!
//! `a & b`, `a - b` and `~a` need more, since two operands that can each go on may have no common end (`/x[ab]*c/ & ~/x.*c/`
//! is dead after `x`). Such an expression is one terminal with an explicit deterministic automaton, made by taking Brzozowski
//! derivatives until no new one appears and striking out the states from which no end is reached. This shares nothing with
//! the automata of [`crate::regular`], so that neither can hide a mistake of the other.
//!
//! Time is cubic in the length of the text in the worst case (`s ::= s s | "a"`), and linear for most grammars.

mod chart;
mod completion;
mod derivative;
mod error;
mod judge;
mod machine;
mod mask;
mod parts;
mod utf8;

pub use chart::{Chart, Expectation, OpenRule, Recognizer, Symbol, Terminal};
pub use error::RecognizerError;
pub use judge::Judge;
pub use mask::mask;

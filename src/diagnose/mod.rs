//! Questions about a grammar as its author wrote it: what may come here, why is this refused, where does a document fail?
//!
//! All answers come from the [reference recognizer](crate::reference), since the engine rewrites grammars and so loses the rules that a
//! person wrote. They are slow in comparison, and meant for people. Each is plain data with a [`Display`](core::fmt::Display) and a
//! `to_json`.
//!
//! Of a JSON Schema the author knows properties and keywords, not the rules of an automaton: explanations of a matcher of a schema speak of those
//! ([`SchemaPlace`]), with what the engine allows. So do explanations within the documents of schemas among the operands of a grammar.
//!
//! ```
//! use maskwright::{Limits, diagnose, frontend::ebnf, reference::Recognizer};
//! let limits = Limits::default();
//! let grammar = ebnf::parse("root ::= \"[\" num (\",\" num)* \"]\"\nnum ::= [0-9]+", "root", &limits).unwrap().grammar;
//! let recognizer = Recognizer::new(&grammar, &limits).unwrap();
//! let failure = diagnose::check(&grammar, &recognizer, b"[12,\n3;4]").unwrap_err();
//! assert_eq!((failure.offset(), failure.line_column()), (4, (1, 5)));
//! assert_eq!(failure.to_string(), "line 1, column 5: `\\n` is refused; expected [0-9] in rule `num`");
//! ```

mod captures;
mod check;
mod completion;
mod embedded;
mod expected;
mod explain;
mod matcher;
mod schema;
mod show;

pub use captures::Captured;
pub use check::{Failure, check};
pub use completion::Completion;
pub use expected::{Expected, ExpectedItem, RuleInProgress, RuleLocation, expected, rules_in_progress};
pub use explain::{Reason, Refusal, TokenExplanation, explain_bytes, explain_token};
pub use matcher::{ExplainError, Explanation};
pub use schema::{NextKeys, RefusedKey, RefusedKeyReason, SchemaPlace};

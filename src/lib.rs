//! Maskwright: exact token masks for language models, from a grammar and a vocabulary.
//!
//! A model emits tokens; a grammar is about characters. At each decoding step Maskwright computes the set of tokens that keep the output
//! inside the grammar: token `t` is in the mask after the text `p` if and only if some sentence of the grammar begins with `p` and then the
//! bytes of `t`. Both directions are guaranteed.
//!
//! ```
//! use maskwright::{GrammarCompiler, Vocab};
//! let vocab = Vocab::from_tokens(["a", "b", "ab", "ba"])?;
//! let compiler = GrammarCompiler::new(vocab.into());
//! let mut matcher = compiler.compile_ebnf(r#"root ::= "a" root? "b""#)?.matcher();
//! matcher.accept_token(0)?;
//! assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [0, 1, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The picture
//!
//! One stage, one type; holding a value proves that the earlier stages ran.
//!
//! ```text
//! EBNF, Lark, regex --frontend-------> Grammar --pass--> NormalGrammar --automaton--> Program --+
//! structural tag ----structural_tag------^                   ^         (units, linked)          |
//! JSON Schema -------json_schema-----------------------------+                                  |
//!                                                                                              +--mask--> CompiledGrammar --> Matcher
//! tokenizer ---------vocab-----------> Vocab (bytes, trie, regions) ---------------------------+
//! ```
//!
//! A schema within a grammar or a structural tag is compiled by itself, and the program of the grammar calls its units.
//!
//! # Reading order
//!
//! Modules use only those above them in this list, and files of a module form no circles either (a test holds the table):
//!
//! | module | idea |
//! |---|---|
//! | [`util`], [`Limits`] | byte sets, spans, a persistent list; limits on untrusted input |
//! | [`regular`] | regular languages over characters and bytes |
//! | `schema_options` | what JSON Schema leaves open: drafts, white space, spelling |
//! | [`grammar`] | the grammar as written |
//! | [`frontend`] | parsers of EBNF, Lark and regular expressions |
//! | `machine` | registers: counts of copies and characters, residues, distinct values: what is too large for finite automata |
//! | `pass` | from a grammar to its normal form, one rewrite per file |
//! | [`json_schema`] | from a schema to conjunctions, shapes, and automata in normal form |
//! | [`structural_tag`] | JSON documents that say what a model may write around JSON |
//! | `automaton` | units with real-time moves, interned; programs that link them |
//! | `exec` | configurations, stacks as a graph, steps, a lazy DFA over configurations, budgets of work |
//! | [`vocab`] | tokens: kinds, trie, regions |
//! | [`logits`] | masks applied to logits of 32 and 16 bits |
//! | `mask` | queries, walks, entries, decision trees; configurations walked as a whole |
//! | `compiled` | [`CompiledGrammar`]: a program, a vocabulary, and the masks they share |
//! | [`matcher`] | the state of one output |
//! | [`compiler`] | from text to [`CompiledGrammar`], caches |
//! | [`mod@reference`] | the reference recognizer: simple, slow, independent of the engine; the oracle of its tests |
//! | [`diagnose`] | explanations, by the reference recognizer |
//!
//! # Invariants
//!
//! - A mask never depends on the order of earlier calls, on threads, or on the contents of caches.
//! - After `rollback(k)` a matcher equals one that never took those `k` steps.
//! - Keys of caches are content and compared in full: never an index that can be reused, never a hash alone.
//! - Automata and stacks know nothing of tokens; the vocabulary knows nothing of grammars. They meet in `mask`.
//! - Compiled objects are immutable or append-only; only matchers have a history.
//! - There is no `unsafe` code.
//!
//! # Glossary
//!
//! Tokens:
//!
//! - *vocabulary*: the tokens of a model, by id; *token*: the bytes that it adds to the output, or a control token, which has a name and no text
//! - *stop token*: ends the output; allowed where the text is complete or the grammar names it
//! - *token mask*: one bit for each token, set if the token may come next
//! - *token budget*: a bound on the tokens with which a text is written (`max_tokens`)
//! - *set of tokens*: any one token but some, read as a whole
//! - *marker*: a literal that control tokens may spell, whole or in part
//! - *region*: the trie below a node, divided by a set of characters; its *border*: the nodes where a character begins that is not in the set; its *interior*: the other nodes where a character begins
//! - *marks*: for each node of the trie, its place within a UTF-8 character; *punctuation*: which quotes, commas and brackets the tokens below a node hold
//!
//! Grammars:
//!
//! - *grammar*, *rule*, *root rule*; *sentence*: a string of the grammar's language
//! - *viable prefix*: a text that some completion makes a sentence; *dead end*: a prefix that is not viable
//! - *separate* rule or *part*: a rule that is compiled by itself, once for all grammars that have one like it
//! - *lower*: text to IR; *pass*: IR to IR; *build*: IR to automaton; *compile*: all of it
//!
//! Automata:
//!
//! - *unit*: the automaton of one strongly connected component of rules; *state*: one of its states
//! - *call*: enters a unit and pushes the state to go on with; *return*: ends a unit and goes on with that state, in the frame below
//! - *closure*: the states reached by calls and returns alone, without reading; done when a unit is built
//! - *register*: 64 bits beside a state, for counts, residues and sets of distinct values
//! - *head*: a state, a stack node and a register, one place where the text can lead; *configuration*: all heads that are live
//! - *node* and *exit*: what lies below a head, and where it continues after returning; nodes form a graph-structured stack
//! - *step*: reads one byte; *accept*: reads one token
//!
//! Masks:
//!
//! - *context-independent* token: its verdict is the same under every caller; *context-dependent* token: the caller decides
//! - *remainder*: a node of the trie where a unit ends inside a token
//! - *decision tree*: masks by how much of the stack is known
//! - *entry*: one mask in the form that suits its size: ids, a row, or a difference from a row
//! - *row pool*: rows that many entries share
//! - *strategy*: how a walk finds the tokens below a node: a region, the difference from a model, or node by node
//! - *model*: a loop over characters that a state resembles; tokens are walked only where the two differ (not the language model)
//! - *chain*: states that are reached by one more character each, such as white space of limited length
//! - *cluster*: states closed under most characters
//! - *subwalk*: a memoized walk below a node
//! - *lookahead*: how many characters a configuration surely reads (in patterns it is what the standard calls so)
//! - *suffix*: what a token holds behind a node (in Lark it is an option of rules)
//! - *recheck*: find the tokens of a cached mask that repeat a value
//!
//! Matchers:
//!
//! - *rollback*: take back steps; *fork*: a copy that shares the history; *forced text*: the bytes that every completion begins with (methods `jump_forward...`)
//!
//! JSON Schema:
//!
//! - *conjunction*: all constraints on a value at one location; *shape*: a conjunction for one kind of values, without disjunctions
//! - *obligation*: a constraint that one of several keys satisfies
//! - *distinct values*: keys of one object, or items under `uniqueItems`; *declared key*: one that the schema names

#![forbid(unsafe_code)]

mod automaton;
mod compiled;
pub mod compiler;
pub mod diagnose;
mod exec;
pub mod frontend;
pub mod grammar;
pub mod json_schema;
mod limits;
pub mod logits;
mod machine;
mod mask;
pub mod matcher;
mod pass;
pub mod reference;
pub mod regular;
mod schema_options;
pub mod structural_tag;
#[cfg(feature = "testing")]
pub mod testing;
pub mod util;
pub mod vocab;

pub use compiled::{CompiledGrammar, Dump};
pub use compiler::{
    BuildError, CompileError, CompileOptions, Config, GrammarCompiler, GrammarCompilerBuilder, OperandError, Stats,
    Validated,
};
pub use limits::Limits;
pub use mask::{MaskStats, TokenMask};
pub use matcher::{AcceptedPiece, Fill, MaskKey, MatchError, Matcher};
#[cfg(feature = "tiktoken")]
pub use vocab::tiktoken::Encoding;
pub use vocab::{TokenId, TokenKind, Tokenize, Vocab, VocabBuilder, VocabError};

/// The examples of the README.
#[cfg(all(doctest, feature = "tiktoken"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the guide for engine authors.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide.md")]
struct Guide;

/// The examples of the page on structural tags.
#[cfg(doctest)]
#[doc = include_str!("../docs/structural-tags.md")]
struct StructuralTags;

/// The examples of the page on security.
#[cfg(doctest)]
#[doc = include_str!("../docs/security.md")]
struct Security;

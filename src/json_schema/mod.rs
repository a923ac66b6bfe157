//! JSON Schema: from a text to automata in normal form.
//!
//! ```text
//! text, serde_json::Value --read--> Json --load, keywords--> SchemaModel --expand--> shapes --lower--> NormalGrammar
//!                                          ^                    conjunctions ^---------'
//! other documents -------------resolve-----+
//! ```
//!
//! *Conjunctions before automata, disjunctions at run time.* The constraints on a value at one location are a conjunction of signed
//! sub-schemas; for each kind of values it becomes a list of shapes without disjunctions; shapes become automata, whose alternatives are
//! followed at run time, and dead states are removed at the end. So references, recursion and unsatisfiable branches need no special care.
//!
//! | file | idea |
//! |---|---|
//! | `decimal`, `number` | exact numbers; the spellings of the numbers that bounds and divisors allow |
//! | `value`, `read`, `escape`, `within` | JSON documents with spans, duplicate keys and exact numbers, their parser, how strings are spelled, and where in a document a piece of one is |
//! | `error` | why a schema can't be compiled, and where |
//! | `uri`, `draft`, `resolve`, `metaschemas` | identifiers; drafts and their vocabularies; other documents, and those that are built in |
//! | `model` | sub-schemas with typed keywords, references as indices |
//! | [`mod@format`], `language` | asserted formats and patterns: regular languages of decoded strings |
//! | `conjunction`, `shape`, `partial` | conjunctions of constraints; shapes, which have no disjunctions; what is between the two |
//! | `keywords` | each keyword, by family: how it is read, what it asserts, what violating it means, its words |
//! | `wrapper` | documents around a schema, like the definition of a tool |
//! | `load` | from documents to the model |
//! | `equal` | merging of equal sub-schemas |
//! | `text_position` | where a text stops that is the beginning of a JSON document |
//! | `applicable` | what a schema says about one place of a document |
//! | `lint` | probable mistakes, like misspelt keywords |
//! | `report` | how each keyword is enforced |
//! | `expand` | from conjunctions to shapes |
//! | `lower` | from shapes to automata: objects, arrays, strings, white space |
//! | `contradiction` | why a schema is unsatisfiable: which keywords, where |
//! | `compile` | all of it, from a model to automata and a report |
//!
//! Each uses only those above it (a test holds the order).
//!
//! Schemas come from strangers: nothing here recurses over the input, sizes are bounded by [`Limits`](crate::Limits) and by constants of
//! the stages, and each error has a keyword, a location and a reason.

mod applicable;
mod compile;
mod conjunction;
mod contradiction;
mod decimal;
mod draft;
mod equal;
mod error;
mod expand;
pub mod format;
mod keywords;
mod language;
mod lint;
mod load;
mod lower;
mod metaschemas;
mod model;
mod number;
mod partial;
mod read;
mod report;
mod resolve;
mod shape;
mod text_position;
mod uri;
mod value;
mod within;
mod wrapper;

pub use crate::schema_options::{
    JsonTypes, NoDocuments, ReadOptions, Resolve, RootForm, SchemaOptions, Source, Spelling, WhiteSpace,
};
pub use applicable::{Constraint, ConstraintsAt};
pub(crate) use compile::lower;
pub use decimal::{Decimal, DecimalError};
pub use draft::Draft;
pub(crate) use error::LowerError;
pub use error::SchemaError;
pub use keywords::{KeywordInfo, keywords};
pub use lint::{SchemaWarning, SchemaWarningKind};
pub(crate) use lower::SchemaStore;
pub use model::{
    ArrayKeyword, Body, DocumentId, Entry, Keyword, LogicKeyword, Named, NumberKeyword, ObjectKeyword,
    ReferenceKeyword, ResourceId, Schema, SchemaId, SchemaModel, StringKeyword, TypeSet, ValueKeyword,
};
pub use report::{Finding, SchemaReport, Verdict};
pub use text_position::{PathStep, TextPosition, Writing};
pub use value::{Duplicate, Json, Member, Value, ValueId};

//! JSON Schema: from a text to automata in normal form.
//!
//! ```text
//! text, serde_json::Value --read--> Json --load, keywords--> SchemaModel --expand--> shapes --lower--> NormalGrammar
//!                                          ^                    conjunctions ^---------'
//! other documents -------------resolve-----+
//! ```
//!
//! *Conjunction before automata, disjunction in the configuration.* What a value at one place must satisfy is a conjunction of sub-schemas with
//! signs; for each kind of values it becomes a list of shapes without choices; shapes become automata, and what can't be completed is cut
//! away at the end. So references, recursion and unsatisfiable branches need no care of their own.
//!
//! | file | idea |
//! |---|---|
//! | `decimal`, `number` | exact numbers; the texts of the numbers that bounds and divisors allow |
//! | `value`, `read` | JSON with places, repeated keys and exact numbers |
//! | `uri`, `draft`, `resolve` | identifiers; which keyword belongs to which draft; other documents |
//! | `model` | sub-schemas with typed keywords, references as indices |
//! | `load`, `keywords` | from documents to the model |
//! | `equal` | sub-schemas that say the same become one |
//! | [`mod@format`], `language` | the formats that are asserted, patterns: regular languages of decoded strings |
//! | `conjunction`, `shape`, `expand` | what must hold together; what is left of it for one kind of values; from one to the other |
//! | `lower` | from shapes to automata: objects, arrays, strings, white space |
//! | `contradiction` | which keywords leave no value, and where |
//! | `options`, `report` | what the standard leaves open; what became of each keyword |
//!
//! Schemas come from strangers: nothing here recurses, every bound is a field of [`Limits`](crate::Limits), and each
//! error says which keyword, where, why.

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
mod leaf;
mod load;
mod lower;
mod metaschemas;
mod model;
mod number;
mod options;
mod read;
mod report;
mod resolve;
mod shape;
mod uri;
mod value;

pub use decimal::{Decimal, DecimalError};
pub use draft::Draft;
pub use error::SchemaError;
pub(crate) use language::LanguageStore;
pub use load::ReadOptions;
pub(crate) use lower::{LowerError, lower};
pub use model::{Body, DocumentId, Entry, Keyword, Named, ResourceId, Schema, SchemaId, SchemaModel, TypeSet};
pub use options::{SchemaOptions, Spelling, WhiteSpace};
pub use report::{Finding, SchemaReport, Verdict};
pub use resolve::{NoDocuments, Resolve, Source};
pub use value::{Duplicate, Json, Member, Value, ValueId};

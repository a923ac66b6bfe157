//! JSON Schema: from a text to a model of what it says.
//!
//! ```text
//! text, serde_json::Value --read--> Json --load, keywords--> SchemaModel
//!                                          ^
//! other documents -------------resolve-----+
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `decimal` | exact numbers |
//! | `number` | the texts of the numbers that bounds and divisors allow |
//! | `value`, `read` | JSON with places, repeated keys and exact numbers |
//! | `uri`, `draft`, `resolve`, `metaschemas` | identifiers; which keyword belongs to which draft; other documents |
//! | `model` | sub-schemas with typed keywords, references as indices |
//! | `load`, `keywords` | from documents to the model |
//! | [`mod@format`] | the formats that are asserted, as regular languages |
//!
//! Schemas come from strangers: nothing here recurses, every bound is a field of [`Limits`](crate::Limits), and each
//! error says which keyword, where, why.

mod conjunction;
mod decimal;
mod draft;
mod error;
mod expand;
pub mod format;
mod keywords;
mod language;
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
pub use options::{SchemaOptions, WhiteSpace};
pub use report::{Finding, SchemaReport, Verdict};
pub use resolve::{NoDocuments, Resolve, Source};
pub use value::{Duplicate, Json, Member, Value, ValueId};

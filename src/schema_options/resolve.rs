//! Resolution of other documents, by the caller. Nothing is fetched, and metaschemas are built in.

use std::sync::Arc;

/// A document as a resolver returns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// A JSON text.
    Text(Arc<str>),
    /// A value.
    Value(Arc<serde_json::Value>),
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Source::Text(text.into())
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Source::Text(text.into())
    }
}

impl From<serde_json::Value> for Source {
    fn from(value: serde_json::Value) -> Self {
        Source::Value(Arc::new(value))
    }
}

/// A resolver of other documents by their URIs. A closure is one.
///
/// ```
/// use maskwright::{Limits, json_schema::{Json, ReadOptions, SchemaModel, Source}};
/// let known = |uri: &str| (uri == "http://example.com/name").then(|| Source::from(r#"{"type": "string"}"#));
/// let json = Json::parse(r#"{"$id": "http://example.com/root", "$ref": "name"}"#, &Limits::default())?;
/// assert_eq!(SchemaModel::read(json, &ReadOptions::default(), &known, &Limits::default())?.n_schemas(), 2);
/// # Ok::<(), maskwright::json_schema::SchemaError>(())
/// ```
pub trait Resolve {
    /// Returns the document of an absolute URI without fragment (relative where the schema has no base), if it is
    /// known.
    fn resolve(&self, uri: &str) -> Option<Source>;
}

impl<F: Fn(&str) -> Option<Source>> Resolve for F {
    fn resolve(&self, uri: &str) -> Option<Source> {
        self(uri)
    }
}

/// The resolver without documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDocuments;

impl Resolve for NoDocuments {
    fn resolve(&self, _uri: &str) -> Option<Source> {
        None
    }
}

//! The model of a schema as it was written, with typed keywords.
//!
//! All sub-schemas reachable from the root, references included, are in one arena: `$ref` is an index, so
//! that recursive schemas are cycles of indices. Each has a list of [`Keyword`]s in the order in which they were
//! written. Constructs that drafts write differently have one form: a list under `items` is
//! [`ArrayKeyword::PrefixItems`], and then `additionalItems` is [`ArrayKeyword::Items`]; `dependencies` is split into its two
//! kinds; `exclusiveMinimum: true` is the number that it refers to; keywords without effect (`then` without `if`)
//! are annotations. Satisfiability is not checked here: `minLength: 5` beside `maxLength: 3` is fine.

mod keyword;

use super::draft::{Dialect, Draft};
use super::error::SchemaError;
use super::value::{Json, ValueId};
use crate::util::index_type;
use hashbrown::HashMap;
pub(in crate::json_schema) use keyword::Applies;
pub use keyword::{
    ArrayKeyword, Keyword, LogicKeyword, Named, NumberKeyword, ObjectKeyword, ReferenceKeyword, StringKeyword, TypeSet,
    ValueKeyword,
};
use std::sync::Arc;

index_type!(
    /// The index of a sub-schema of a [`SchemaModel`].
    pub SchemaId
);
index_type!(
    /// The index of a document of a [`SchemaModel`].
    pub DocumentId
);
index_type!(
    /// The index of a schema resource of a [`SchemaModel`]: a document, or a part of one with its own `$id`.
    pub ResourceId
);

/// A schema with all schemas that it refers to.
///
/// ```
/// use maskwright::{Limits, json_schema::{Body, Json, Keyword, LogicKeyword, NoDocuments, ReadOptions, SchemaModel}};
/// use maskwright::json_schema::{ReferenceKeyword, StringKeyword};
/// let json = Json::parse(r##"{"maxLength": 5, "not": {"$ref": "#"}}"##, &Limits::default())?;
/// let model = SchemaModel::read(json, &ReadOptions::default(), &NoDocuments, &Limits::default())?;
/// let Body::Keywords { entries, .. } = model.schema(model.root()).body() else { panic!() };
/// assert_eq!(entries[0].keyword, Keyword::String(StringKeyword::MaxLength(5)));
/// let Keyword::Logic(LogicKeyword::Not(inner)) = entries[1].keyword else { panic!() };
/// let Body::Keywords { entries, .. } = model.schema(inner).body() else { panic!() };
/// assert_eq!(entries[0].keyword, Keyword::Reference(ReferenceKeyword::Ref(model.root())));
/// # Ok::<(), maskwright::json_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SchemaModel {
    pub(in crate::json_schema) documents: Vec<Document>,
    pub(in crate::json_schema) resources: Vec<Resource>,
    pub(in crate::json_schema) schemas: Vec<Schema>,
    /// The target of a dynamic anchor in a resource.
    pub(in crate::json_schema) dynamic: HashMap<(ResourceId, Box<str>), SchemaId>,
}

#[derive(Clone, Debug)]
pub(in crate::json_schema) struct Document {
    pub uri: Box<str>,
    pub json: Arc<Json>,
}

#[derive(Clone, Debug)]
pub(in crate::json_schema) struct Resource {
    pub document: DocumentId,
    pub value: ValueId,
    /// The URI without fragment, absolute if the documents define a base.
    pub uri: Box<str>,
    pub dialect: Dialect,
    pub anchors: HashMap<Box<str>, ValueId>,
    /// `$dynamicAnchor`s by name; `$recursiveAnchor` has the empty name.
    pub dynamic_anchors: HashMap<Box<str>, ValueId>,
}

/// A sub-schema: its location and its keywords.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    pub(in crate::json_schema) document: DocumentId,
    pub(in crate::json_schema) value: ValueId,
    pub(in crate::json_schema) resource: ResourceId,
    pub(in crate::json_schema) draft: Draft,
    pub(in crate::json_schema) body: Body,
}

/// The content of a sub-schema.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// All values (`true`) or none (`false`).
    Bool(bool),
    /// The conjunction of its keywords.
    Keywords {
        /// The keywords that constrain values, in the order in which they are written.
        entries: Vec<Entry>,
        /// The values of all other keywords: annotations, unknown keywords, and keywords without effect here.
        annotations: Vec<ValueId>,
    },
}

/// A keyword of a schema, with its location.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The value in the document; its pointer is the location to report.
    pub value: ValueId,
    /// Whether the keyword belongs to another draft than the schema's.
    pub is_foreign: bool,
    /// The keyword with its typed value.
    pub keyword: Keyword,
}

impl SchemaModel {
    /// Returns the schema that was read.
    pub fn root(&self) -> SchemaId {
        SchemaId(0)
    }

    /// Returns the number of sub-schemas.
    pub fn n_schemas(&self) -> usize {
        self.schemas.len()
    }

    /// Returns a sub-schema.
    pub fn schema(&self, id: SchemaId) -> &Schema {
        &self.schemas[id.index()]
    }

    /// Returns the sub-schemas in the order in which they were read.
    pub fn schemas(&self) -> impl Iterator<Item = (SchemaId, &Schema)> {
        self.schemas.iter().enumerate().map(|(i, schema)| (SchemaId::new(i), schema))
    }

    /// Returns the JSON of a document.
    pub fn json(&self, document: DocumentId) -> &Json {
        &self.documents[document.index()].json
    }

    /// Returns the URI of a document; empty for a schema without one.
    pub fn document_uri(&self, document: DocumentId) -> &str {
        &self.documents[document.index()].uri
    }

    /// Returns the URI of a resource, without fragment; empty for a schema without one.
    pub fn resource_uri(&self, resource: ResourceId) -> &str {
        &self.resources[resource.index()].uri
    }

    /// Returns the target of a dynamic anchor in `resource` (the empty name: `$recursiveAnchor`).
    pub fn dynamic_target(&self, resource: ResourceId, anchor: &str) -> Option<SchemaId> {
        self.dynamic.get(&(resource, anchor.into())).copied()
    }

    /// Returns the location of a value of a schema's document as its URI and pointer, like `#/properties/a`.
    pub fn location(&self, schema: SchemaId, value: ValueId) -> String {
        let Document { uri, json } = &self.documents[self.schema(schema).document.index()];
        format!("{uri}#{}", json.pointer(value))
    }

    /// Adds the location to an error: a value of a schema's document.
    pub(in crate::json_schema) fn error_at(&self, schema: SchemaId, value: ValueId, error: SchemaError) -> SchemaError {
        let Document { uri, json } = &self.documents[self.schema(schema).document.index()];
        error.placed_at(uri, json, value)
    }

    /// Adds the excerpt of an error of [`Self::error_at`] that the author gets to see.
    pub(in crate::json_schema) fn illustrated(&self, error: SchemaError) -> SchemaError {
        match self.documents.iter().find(|document| error.is_placed() && *document.uri == *error.document()) {
            Some(document) => error.illustrated(&document.json),
            None => error,
        }
    }

    /// Returns about how much memory the model takes, in bytes.
    pub(in crate::json_schema) fn memory_bytes(&self) -> usize {
        let body = |schema: &Schema| match &schema.body {
            Body::Bool(_) => 0,
            Body::Keywords { entries, annotations } => size_of_val(&**entries) + size_of_val(&**annotations),
        };
        let documents: usize = self.documents.iter().map(|document| document.json.memory_bytes()).sum();
        documents + size_of_val(&*self.schemas) + self.schemas.iter().map(body).sum::<usize>()
    }

    /// Returns the annotations of all sub-schemas: the schema, the keyword, and its value in the schema's document.
    pub fn annotations(&self) -> impl Iterator<Item = (SchemaId, &str, ValueId)> {
        self.schemas().flat_map(move |(id, schema)| {
            let values: &[ValueId] = match &schema.body {
                Body::Bool(_) => &[],
                Body::Keywords { annotations, .. } => annotations,
            };
            let json = self.json(schema.document);
            values.iter().map(move |&value| (id, json.key_of(value).unwrap_or_default(), value))
        })
    }
}

impl Schema {
    /// Returns the document of the schema.
    pub fn document(&self) -> DocumentId {
        self.document
    }

    /// Returns the value of the document that is this schema.
    pub fn value(&self) -> ValueId {
        self.value
    }

    /// Returns the resource that the schema belongs to.
    pub fn resource(&self) -> ResourceId {
        self.resource
    }

    /// Returns the draft of the schema.
    pub fn draft(&self) -> Draft {
        self.draft
    }

    /// Returns the content of the schema.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Returns the number of items with schemas of their own.
    pub fn n_prefix_items(&self) -> usize {
        let items = self.entries().iter().map(|entry| match &entry.keyword {
            Keyword::Array(ArrayKeyword::PrefixItems(items)) => items.len(),
            _ => 0,
        });
        items.sum()
    }

    /// Returns whether null is a type too, beside those of `type`.
    pub fn is_nullable(&self) -> bool {
        self.entries().iter().any(|entry| matches!(entry.keyword, Keyword::Value(ValueKeyword::Nullable(true))))
    }

    /// Returns the keywords that constrain values; none for a boolean schema.
    pub fn entries(&self) -> &[Entry] {
        match &self.body {
            Body::Bool(_) => &[],
            Body::Keywords { entries, .. } => entries,
        }
    }
}

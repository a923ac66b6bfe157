//! The model of a schema as it was written, with typed keywords.
//!
//! All sub-schemas reachable from the root, references included, are in one arena: `$ref` is an index, so
//! that recursive schemas are cycles of indices. Each has a list of [`Keyword`]s in the order in which they were
//! written. Constructs that drafts write differently have one form: a list under `items` is
//! [`Keyword::PrefixItems`], and then `additionalItems` is [`Keyword::Items`]; `dependencies` is split into its two
//! kinds; `exclusiveMinimum: true` is the number that it refers to; keywords without effect (`then` without `if`)
//! are annotations. Satisfiability is not checked here: `minLength: 5` beside `maxLength: 3` is fine.

use super::decimal::Decimal;
use super::draft::Draft;
use super::error::SchemaError;
use super::value::{Json, ValueId};
use crate::util::index_type;
use hashbrown::HashMap;
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
/// use maskwright::{Limits, json_schema::{Body, Json, Keyword, NoDocuments, ReadOptions, SchemaModel}};
/// let json = Json::parse(r##"{"maxLength": 5, "not": {"$ref": "#"}}"##, &Limits::default())?;
/// let model = SchemaModel::read(json, &ReadOptions::default(), &NoDocuments, &Limits::default())?;
/// let Body::Keywords { entries, .. } = model.schema(model.root()).body() else { panic!() };
/// assert_eq!(entries[0].keyword, Keyword::MaxLength(5));
/// let Keyword::Not(inner) = entries[1].keyword else { panic!() };
/// let Body::Keywords { entries, .. } = model.schema(inner).body() else { panic!() };
/// assert_eq!(entries[0].keyword, Keyword::Ref(model.root()));
/// # Ok::<(), maskwright::json_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SchemaModel {
    pub(super) documents: Vec<Document>,
    pub(super) resources: Vec<Resource>,
    pub(super) schemas: Vec<Schema>,
    /// The target of a dynamic anchor in a resource.
    pub(super) dynamic: HashMap<(ResourceId, Box<str>), SchemaId>,
}

#[derive(Clone, Debug)]
pub(super) struct Document {
    pub uri: Box<str>,
    pub json: Arc<Json>,
}

#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub document: DocumentId,
    pub value: ValueId,
    /// The URI without fragment, absolute if the documents define a base.
    pub uri: Box<str>,
    pub dialect: super::load::Dialect,
    pub anchors: HashMap<Box<str>, ValueId>,
    /// `$dynamicAnchor`s by name; `$recursiveAnchor` has the empty name.
    pub dynamic_anchors: HashMap<Box<str>, ValueId>,
}

/// A sub-schema: its location and its keywords.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    pub(super) document: DocumentId,
    pub(super) value: ValueId,
    pub(super) resource: ResourceId,
    pub(super) draft: Draft,
    pub(super) body: Body,
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

/// Names in the order in which they were written, each with its value.
pub type Named<T> = Box<[(Arc<str>, T)]>;

/// A keyword with its value. Values named by a [`ValueId`] are in the document of the schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Keyword {
    /// `type`.
    Type(TypeSet),
    /// `nullable` of OpenAPI 3.0: beside a `type`, null is a type too.
    Nullable(bool),
    /// `enum`.
    Enum(Box<[ValueId]>),
    /// `const`.
    Const(ValueId),
    /// `multipleOf`; greater than 0.
    MultipleOf(Decimal),
    /// `minimum`.
    Minimum(Decimal),
    /// `maximum`.
    Maximum(Decimal),
    /// `exclusiveMinimum`, as a number.
    ExclusiveMinimum(Decimal),
    /// `exclusiveMaximum`, as a number.
    ExclusiveMaximum(Decimal),
    /// `minLength`; counts beyond 64 bits saturate, here and below.
    MinLength(u64),
    /// `maxLength`.
    MaxLength(u64),
    /// `pattern`, as written.
    Pattern(Box<str>),
    /// `format`, known or not, and the draft that defines it.
    Format(Box<str>, Draft),
    /// `properties`, in their order.
    Properties(Named<SchemaId>),
    /// `patternProperties`: patterns as written.
    PatternProperties(Named<SchemaId>),
    /// `additionalProperties`: for the keys that `properties` and `patternProperties` of the same schema don't match.
    AdditionalProperties(SchemaId),
    /// `propertyNames`.
    PropertyNames(SchemaId),
    /// `required`, each name once.
    Required(Box<[Arc<str>]>),
    /// `minProperties`.
    MinProperties(u64),
    /// `maxProperties`.
    MaxProperties(u64),
    /// `dependentRequired`, and the lists in `dependencies`.
    DependentRequired(Named<Box<[Arc<str>]>>),
    /// `dependentSchemas`, and the schemas in `dependencies`.
    DependentSchemas(Named<SchemaId>),
    /// `unevaluatedProperties`.
    UnevaluatedProperties(SchemaId),
    /// `prefixItems`, and a list under `items`.
    PrefixItems(Box<[SchemaId]>),
    /// `items` for the items after the prefix, and `additionalItems` where `items` is a list.
    Items(SchemaId),
    /// `contains` with `minContains` and `maxContains`.
    Contains {
        /// The schema of the items that count.
        schema: SchemaId,
        /// `minContains`, 1 where it is absent.
        min: u64,
        /// `maxContains`.
        max: Option<u64>,
    },
    /// `minItems`.
    MinItems(u64),
    /// `maxItems`.
    MaxItems(u64),
    /// `uniqueItems: true`.
    UniqueItems,
    /// `unevaluatedItems`.
    UnevaluatedItems(SchemaId),
    /// `allOf`.
    AllOf(Box<[SchemaId]>),
    /// `anyOf`.
    AnyOf(Box<[SchemaId]>),
    /// `oneOf`.
    OneOf(Box<[SchemaId]>),
    /// `not`.
    Not(SchemaId),
    /// `if` with `then` and `else`; without either it still evaluates properties and items.
    If {
        /// `if`.
        test: SchemaId,
        /// `then`.
        then: Option<SchemaId>,
        /// `else`.
        otherwise: Option<SchemaId>,
    },
    /// `$ref`; `$dynamicRef` and `$recursiveRef` too if they have one target only.
    Ref(SchemaId),
    /// `$dynamicRef` or `$recursiveRef` to an anchor that outer resources may redefine: the target in the outermost
    /// resource of the dynamic scope that has one ([`SchemaModel::dynamic_target`]), else `target`.
    DynamicRef {
        /// The target as written.
        target: SchemaId,
        /// The name of the anchor; empty for `$recursiveRef`.
        anchor: Box<str>,
    },
}

/// A set of the types of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TypeSet(u8);

impl TypeSet {
    /// No type.
    pub const NONE: TypeSet = TypeSet(0);
    /// `null`.
    pub const NULL: TypeSet = TypeSet(1);
    /// `boolean`.
    pub const BOOLEAN: TypeSet = TypeSet(2);
    /// `integer`: numbers without a fractional part, `1.0` among them.
    pub const INTEGER: TypeSet = TypeSet(4);
    /// `number`, integers among them.
    pub const NUMBER: TypeSet = TypeSet(8 | 4);
    /// `string`.
    pub const STRING: TypeSet = TypeSet(16);
    /// `array`.
    pub const ARRAY: TypeSet = TypeSet(32);
    /// `object`.
    pub const OBJECT: TypeSet = TypeSet(64);
    /// Every type.
    pub const ALL: TypeSet = TypeSet(127);

    pub(super) const NAMES: [(&'static str, TypeSet); 7] = [
        ("null", TypeSet::NULL),
        ("boolean", TypeSet::BOOLEAN),
        ("integer", TypeSet::INTEGER),
        ("number", TypeSet::NUMBER),
        ("string", TypeSet::STRING),
        ("array", TypeSet::ARRAY),
        ("object", TypeSet::OBJECT),
    ];

    /// Returns the type of a name, like `string`.
    pub fn from_name(name: &str) -> Option<TypeSet> {
        TypeSet::NAMES.iter().find(|(other, _)| *other == name).map(|&(_, set)| set)
    }

    /// Returns the types of either set.
    #[must_use]
    pub fn union(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// Returns the types of both sets.
    #[must_use]
    pub fn intersect(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & other.0)
    }

    /// Returns whether all types of `other` are in this set.
    pub fn contains(self, other: TypeSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether no type is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
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
    pub(super) fn error_at(&self, schema: SchemaId, value: ValueId, error: SchemaError) -> SchemaError {
        let Document { uri, json } = &self.documents[self.schema(schema).document.index()];
        error.at(uri, json, value)
    }

    /// Returns about how much memory the model takes, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
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

    /// Returns the keywords that constrain values; none for a boolean schema.
    pub fn entries(&self) -> &[Entry] {
        match &self.body {
            Body::Bool(_) => &[],
            Body::Keywords { entries, .. } => entries,
        }
    }
}

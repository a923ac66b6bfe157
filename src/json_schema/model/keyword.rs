//! Keywords with their typed values, one type per family.
//!
//! A family is what constrains one kind of values, or combines schemas. What each keyword means is in the file of its family under
//! [`keywords`](super::super::keywords): this file says what it looks like, and which sub-schemas it has.

use super::SchemaId;
use crate::json_schema::decimal::Decimal;
use crate::json_schema::draft::Draft;
use crate::json_schema::value::ValueId;
use std::sync::Arc;

/// Names in the order in which they were written, each with its value.
pub type Named<T> = Box<[(Arc<str>, T)]>;

/// A keyword with its value. Values named by a [`ValueId`] are in the document of the schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Keyword {
    /// A keyword about values of every kind, like `type`.
    Value(ValueKeyword),
    /// A keyword about numbers, like `minimum`.
    Number(NumberKeyword),
    /// A keyword about strings, like `minLength`.
    String(StringKeyword),
    /// A keyword about arrays, like `items`.
    Array(ArrayKeyword),
    /// A keyword about objects, like `properties`.
    Object(ObjectKeyword),
    /// A keyword that combines schemas for the same value, like `anyOf`.
    Logic(LogicKeyword),
    /// A reference to another schema for the same value, like `$ref`.
    Reference(ReferenceKeyword),
}

/// Keywords about values of every kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueKeyword {
    /// `type`.
    Type(TypeSet),
    /// `nullable` of OpenAPI 3.0: beside a `type`, null is a type too.
    Nullable(bool),
    /// `enum`.
    Enum(Box<[ValueId]>),
    /// `const`.
    Const(ValueId),
}

/// Keywords about numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NumberKeyword {
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
}

/// Keywords about strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StringKeyword {
    /// `minLength`; counts beyond 64 bits saturate, here and below.
    MinLength(u64),
    /// `maxLength`.
    MaxLength(u64),
    /// `pattern`, as written.
    Pattern(Box<str>),
    /// `format`, known or not, and the draft that defines it.
    Format(Box<str>, Draft),
}

/// Keywords about arrays.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArrayKeyword {
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
}

/// Keywords about objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ObjectKeyword {
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
}

/// Keywords that combine schemas for the same value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogicKeyword {
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
}

/// References to other schemas for the same value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReferenceKeyword {
    /// `$ref`; `$dynamicRef` and `$recursiveRef` too if they have one target only.
    Ref(SchemaId),
    /// `$dynamicRef` or `$recursiveRef` to an anchor that outer resources may redefine: the target in the outermost
    /// resource of the dynamic scope that has one ([`SchemaModel::dynamic_target`](super::SchemaModel::dynamic_target)), else `target`.
    DynamicRef {
        /// The target as written.
        target: SchemaId,
        /// The name of the anchor; empty for `$recursiveRef`.
        anchor: Box<str>,
    },
}

/// The value to which a keyword applies one of its sub-schemas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::json_schema) enum Applies {
    /// The value of the keyword's schema; what the sub-schema evaluates counts as evaluated.
    InPlace,
    /// The value of the keyword's schema, which must fail the sub-schema.
    InPlaceNegated,
    /// A key, a property or an item of that value.
    ToChild,
}

/// The one list of the sub-schemas of all keywords, for shared (`iter`) and exclusive (`iter_mut`) references: calls `$visit` with each, in
/// the order in which they are written.
macro_rules! visit_schemas {
    ($keyword:expr, $iter:ident, $visit:ident) => {{
        use Applies::{InPlace, InPlaceNegated, ToChild};
        match $keyword {
            Keyword::Value(_) | Keyword::Number(_) | Keyword::String(_) => {}
            Keyword::Array(keyword) => match keyword {
                ArrayKeyword::PrefixItems(ids) => ids.$iter().for_each(|id| $visit(id, ToChild)),
                ArrayKeyword::Items(id)
                | ArrayKeyword::Contains { schema: id, .. }
                | ArrayKeyword::UnevaluatedItems(id) => $visit(id, ToChild),
                ArrayKeyword::MinItems(_) | ArrayKeyword::MaxItems(_) | ArrayKeyword::UniqueItems => {}
            },
            Keyword::Object(keyword) => match keyword {
                ObjectKeyword::Properties(named) | ObjectKeyword::PatternProperties(named) => {
                    named.$iter().for_each(|(_, id)| $visit(id, ToChild));
                }
                ObjectKeyword::DependentSchemas(named) => named.$iter().for_each(|(_, id)| $visit(id, InPlace)),
                ObjectKeyword::AdditionalProperties(id)
                | ObjectKeyword::PropertyNames(id)
                | ObjectKeyword::UnevaluatedProperties(id) => $visit(id, ToChild),
                ObjectKeyword::Required(_)
                | ObjectKeyword::MinProperties(_)
                | ObjectKeyword::MaxProperties(_)
                | ObjectKeyword::DependentRequired(_) => {}
            },
            Keyword::Logic(keyword) => match keyword {
                LogicKeyword::AllOf(ids) | LogicKeyword::AnyOf(ids) | LogicKeyword::OneOf(ids) => {
                    ids.$iter().for_each(|id| $visit(id, InPlace));
                }
                LogicKeyword::Not(id) => $visit(id, InPlaceNegated),
                LogicKeyword::If { test, then, otherwise } => {
                    $visit(test, InPlace);
                    then.$iter().chain(otherwise).for_each(|id| $visit(id, InPlace));
                }
            },
            Keyword::Reference(ReferenceKeyword::Ref(id) | ReferenceKeyword::DynamicRef { target: id, .. }) => {
                $visit(id, InPlace);
            }
        }
    }};
}

impl Keyword {
    /// Calls `visit` with each direct sub-schema and the value to which it is applied.
    pub(in crate::json_schema) fn for_each_schema(&self, mut visit: impl FnMut(&SchemaId, Applies)) {
        visit_schemas!(self, iter, visit);
    }

    /// As [`Self::for_each_schema`], to change them.
    pub(in crate::json_schema) fn for_each_schema_mut(&mut self, mut visit: impl FnMut(&mut SchemaId, Applies)) {
        visit_schemas!(self, iter_mut, visit);
    }

    /// Returns the values that the keyword consists of, which are equal to others by their content; `None` if it has another payload.
    pub(in crate::json_schema) fn listed(&self) -> Option<&[ValueId]> {
        match self {
            Keyword::Value(ValueKeyword::Enum(values)) => Some(values),
            Keyword::Value(ValueKeyword::Const(value)) => Some(core::slice::from_ref(value)),
            Keyword::Value(ValueKeyword::Type(_) | ValueKeyword::Nullable(_))
            | Keyword::Number(_)
            | Keyword::String(_)
            | Keyword::Array(_)
            | Keyword::Object(_)
            | Keyword::Logic(_)
            | Keyword::Reference(_) => None,
        }
    }

    /// Returns whether two keywords that consist of values are the same word.
    pub(in crate::json_schema) fn is_same_value_word(&self, other: &Keyword) -> bool {
        match (self, other) {
            (Keyword::Value(a), Keyword::Value(b)) => core::mem::discriminant(a) == core::mem::discriminant(b),
            _ => false,
        }
    }

    /// Returns whether the keyword is a reference whose target depends on the dynamic scope.
    pub(in crate::json_schema) fn is_dynamic(&self) -> bool {
        matches!(self, Keyword::Reference(ReferenceKeyword::DynamicRef { .. }))
    }

    /// Returns the schema of an `unevaluated...` keyword.
    pub(in crate::json_schema) fn unevaluated(&self) -> Option<SchemaId> {
        match self {
            Keyword::Array(ArrayKeyword::UnevaluatedItems(id))
            | Keyword::Object(ObjectKeyword::UnevaluatedProperties(id)) => Some(*id),
            _ => None,
        }
    }
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

    pub(in crate::json_schema) const NAMES: [(&'static str, TypeSet); 7] = [
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

//! Keywords: how each is read, what it asserts, and what violating it means. One file per family.
//!
//! ```text
//! value      type, enum, const, nullable          object     properties, required, ...
//! number     minimum, multipleOf, ...             array      items, contains, ...
//! string     pattern, maxLength, format, ...      logic      allOf, anyOf, oneOf, not, if
//!                                                 reference  $ref, $dynamicRef
//! ```
//!
//! Each family file has the same functions, and each of them matches on all keywords of its family, so that the compiler asks for a new one:
//!
//! - `read`: from JSON to the typed keyword of [`model`](super::model), or an error that names it;
//! - `assert`: the goals and choices that it adds to a [`Partial`];
//! - `negate`: the alternatives of violating it, of which one must hold under a negation;
//! - `describe`: its words in the explanation of a contradiction; its place there is its [`rank`].
//!
//! A keyword about one kind of values, such as `minimum`, is not asked about others: any string satisfies it, and none violates it. That
//! is decided here. What a family needs to know of the schema beyond its keyword it asks of an [`Expansion`].

mod array;
mod logic;
mod number;
mod object;
mod reader;
mod reference;
mod string;
mod value;
mod wording;

use super::conjunction::{Member, ScopeId};
use super::draft::{Draft, Vocabularies};
use super::error::{Expanded, SchemaError};
use super::language::Languages;
use super::model::{
    ArrayKeyword, DocumentId, Keyword, LogicKeyword, NumberKeyword, ObjectKeyword, SchemaId, SchemaModel,
    StringKeyword, TypeSet, ValueKeyword,
};
use super::partial::{Alternative, Choice, Fact, Frames, Goal, Partial};
use super::shape::ValueKind;
use super::value::ValueId;
use crate::Limits;
use crate::schema_options::SchemaOptions;
pub(super) use array::closed_items;
use core::ops::RangeInclusive;
pub(super) use object::closed_keys;
use reader::{KeywordReader, Keywords, Misfit};
pub(super) use reader::{ReadDialect, SubSchemas, read};
use wording::cut;
pub(super) use wording::{LISTED_MAX, Wording, listed};

/// Where a keyword's value holds sub-schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Nowhere.
    Nothing,
    /// It is one, like `not`.
    Schema,
    /// It is a list of them, like `allOf`.
    List,
    /// It is one or a list of them: `items`.
    SchemaOrList,
    /// Its members are (lists of names in `dependencies` aside), like `properties`.
    Map,
}

/// What a word of the standard is for.
#[derive(Clone, Copy)]
enum Role {
    /// It identifies or defines schemas.
    Structure,
    /// It does so, and its value is a string.
    Identifier,
    /// It only modifies another keyword beside it, which reads it.
    PartOf(&'static str),
    /// It constrains values; read by its family.
    Constraint(fn(&mut KeywordReader<'_, '_>, &str, ValueId) -> Result<Option<Keywords>, Misfit>),
}

/// What is known about a keyword before its value is looked at.
pub(super) struct Word {
    pub drafts: RangeInclusive<Draft>,
    pub vocabulary: Vocabularies,
    pub holds: Holds,
    role: Role,
}

/// The names that [`word`] knows, by family.
const NAMES: [&str; 53] = [
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$defs",
    "definitions",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "type",
    "enum",
    "const",
    "nullable",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "minItems",
    "maxItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "unevaluatedItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];

/// A keyword that counts, and the drafts that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeywordInfo {
    /// The keyword, like `minLength`.
    pub name: &'static str,
    /// The drafts that have it, from the first to the last; `None` for `nullable`, which only OpenAPI has.
    pub drafts: Option<RangeInclusive<Draft>>,
    /// Whether it constrains values, perhaps as part of a keyword beside it; the others identify or define schemas.
    pub is_constraint: bool,
}

/// Returns the keywords that count, by family. All other words are annotations.
///
/// ```
/// use maskwright::json_schema::{Draft, keywords};
/// let found = keywords().find(|keyword| keyword.name == "prefixItems").unwrap();
/// assert!(found.is_constraint && found.drafts == Some(Draft::Draft2020..=Draft::Draft2020));
/// ```
pub fn keywords() -> impl Iterator<Item = KeywordInfo> {
    NAMES.into_iter().map(|name| {
        let word = word(name).expect("a name of the list is known");
        let is_constraint = matches!(word.role, Role::Constraint(_) | Role::PartOf(_));
        KeywordInfo { name, drafts: (name != "nullable").then_some(word.drafts), is_constraint }
    })
}

impl Word {
    /// Returns whether the keyword constrains values where it has an effect.
    pub fn is_constraint(&self) -> bool {
        matches!(self.role, Role::Constraint(_))
    }
}

/// Returns what is known about a keyword; `None` for annotations and unknown words.
pub(super) fn word(name: &str) -> Option<Word> {
    use Draft::{Draft4, Draft6, Draft7, Draft2019, Draft2020};
    use Holds::{List, Map, Nothing, Schema, SchemaOrList};
    use Role::{Constraint, Identifier, PartOf, Structure};
    const CORE: Vocabularies = Vocabularies::NONE;
    const APPLY: Vocabularies = Vocabularies::APPLICATOR;
    const CHECK: Vocabularies = Vocabularies::VALIDATION;
    const REST: Vocabularies = Vocabularies::UNEVALUATED;
    const FORMAT: Vocabularies = Vocabularies::FORMAT;
    let (first, last, vocabulary, holds, role) = match name {
        "$schema" => (Draft4, Draft2020, CORE, Nothing, Identifier),
        "$id" => (Draft6, Draft2020, CORE, Nothing, Identifier),
        "$anchor" => (Draft2019, Draft2020, CORE, Nothing, Identifier),
        "$dynamicAnchor" => (Draft2020, Draft2020, CORE, Nothing, Identifier),
        "id" => (Draft4, Draft4, CORE, Nothing, Structure),
        "$vocabulary" => (Draft2019, Draft2020, CORE, Nothing, Structure),
        "$recursiveAnchor" => (Draft2019, Draft2019, CORE, Nothing, Structure),
        "definitions" => (Draft4, Draft7, CORE, Map, Structure),
        "$defs" => (Draft2019, Draft2020, CORE, Map, Structure),
        "$ref" => (Draft4, Draft2020, CORE, Nothing, Constraint(reference::read)),
        "$recursiveRef" => (Draft2019, Draft2019, CORE, Nothing, Constraint(reference::read)),
        "$dynamicRef" => (Draft2020, Draft2020, CORE, Nothing, Constraint(reference::read)),
        "type" | "enum" => (Draft4, Draft2020, CHECK, Nothing, Constraint(value::read)),
        "const" => (Draft6, Draft2020, CHECK, Nothing, Constraint(value::read)),
        // OpenAPI 3.0; foreign to all drafts.
        "nullable" => (Draft4, Draft4, CHECK, Nothing, Constraint(value::read)),
        "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (Draft4, Draft2020, CHECK, Nothing, Constraint(number::read))
        }
        "minLength" | "maxLength" | "pattern" => (Draft4, Draft2020, CHECK, Nothing, Constraint(string::read)),
        "format" => (Draft4, Draft2020, FORMAT, Nothing, Constraint(string::read)),
        "prefixItems" => (Draft2020, Draft2020, APPLY, List, Constraint(array::read)),
        "items" => (Draft4, Draft2020, APPLY, SchemaOrList, Constraint(array::read)),
        "additionalItems" => (Draft4, Draft2019, APPLY, Schema, Constraint(array::read)),
        "contains" => (Draft6, Draft2020, APPLY, Schema, Constraint(array::read)),
        "minContains" | "maxContains" => (Draft2019, Draft2020, CHECK, Nothing, PartOf("contains")),
        "minItems" | "maxItems" | "uniqueItems" => (Draft4, Draft2020, CHECK, Nothing, Constraint(array::read)),
        "unevaluatedItems" => (Draft2019, Draft2020, REST, Schema, Constraint(array::read)),
        "properties" | "patternProperties" => (Draft4, Draft2020, APPLY, Map, Constraint(object::read)),
        "additionalProperties" => (Draft4, Draft2020, APPLY, Schema, Constraint(object::read)),
        "propertyNames" => (Draft6, Draft2020, APPLY, Schema, Constraint(object::read)),
        "required" | "minProperties" | "maxProperties" => (Draft4, Draft2020, CHECK, Nothing, Constraint(object::read)),
        "dependencies" => (Draft4, Draft7, APPLY, Map, Constraint(object::read)),
        "dependentRequired" => (Draft2019, Draft2020, CHECK, Nothing, Constraint(object::read)),
        "dependentSchemas" => (Draft2019, Draft2020, APPLY, Map, Constraint(object::read)),
        "unevaluatedProperties" => (Draft2019, Draft2020, REST, Schema, Constraint(object::read)),
        "allOf" | "anyOf" | "oneOf" => (Draft4, Draft2020, APPLY, List, Constraint(logic::read)),
        "not" => (Draft4, Draft2020, APPLY, Schema, Constraint(logic::read)),
        "if" => (Draft7, Draft2020, APPLY, Schema, Constraint(logic::read)),
        "then" | "else" => (Draft7, Draft2020, APPLY, Schema, PartOf("if")),
        _ => return None,
    };
    Some(Word { drafts: first..=last, vocabulary, holds, role })
}

/// Returns the words that only modify a keyword beside them, and are read with it.
pub(super) fn parts_of(name: &str) -> &'static [&'static str] {
    match name {
        "if" => &["then", "else"],
        "contains" => &["minContains", "maxContains"],
        _ => &[],
    }
}

/// A keyword that is expanded: its place, and the kind of the values that are asked about.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub schema: SchemaId,
    /// The index of the keyword among the entries of its schema.
    pub index: u32,
    pub scope: ScopeId,
    pub kind: ValueKind,
}

impl Site {
    /// Returns the member that a sub-schema of the keyword is.
    fn member(&self, id: SchemaId) -> Member {
        Member::schema(id, self.scope)
    }

    /// Returns the goal that a value satisfies a sub-schema.
    fn satisfied(&self, id: SchemaId) -> Goal {
        Goal::Member(self.member(id), Frames::new())
    }

    /// Returns the goal that a value fails a sub-schema.
    fn failed(&self, id: SchemaId) -> Goal {
        Goal::Member(self.member(id).negated(), Frames::new())
    }
}

/// What keywords ask about their schema and its other constraints while they are expanded.
pub(super) trait Expansion<'a> {
    fn model(&self) -> &'a SchemaModel;

    fn options(&self) -> &'a SchemaOptions;

    fn limits(&self) -> &'a Limits;

    fn languages(&mut self) -> &mut Languages<'a>;

    /// In lenient mode, records that a keyword, or an entry of its map, is not enforced.
    ///
    /// # Errors
    /// The error, with its location, in strict mode, or if it is not about a keyword that can't be enforced.
    fn relax(&mut self, schema: SchemaId, value: ValueId, part: Option<u32>, error: SchemaError) -> Expanded<()>;

    /// Returns the target of a dynamic reference in a scope, if an outer resource defines its anchor.
    fn dynamic_target(&self, scope: ScopeId, anchor: &str) -> Option<SchemaId>;

    /// Returns whether values of a kind visibly fail a schema.
    fn surely_fails(&mut self, kind: ValueKind, id: SchemaId) -> bool;

    /// Returns whether surely no value of a kind satisfies both.
    fn are_disjoint(&mut self, a: Member, b: Member, kind: ValueKind) -> Expanded<bool>;

    /// Returns the choice that `anyOf` is, where frames record what its branches evaluate.
    fn any_of(&mut self, partial: &mut Partial, ids: &[SchemaId], scope: ScopeId, frames: &Frames) -> Expanded<Choice>;

    /// Returns the goals of objects that differ from some constants.
    fn other_objects(&mut self, document: DocumentId, values: &[ValueId]) -> Expanded<Alternative>;
}

/// Adds what a keyword asserts to a partial; returns whether it can hold.
pub(super) fn assert(
    cx: &mut dyn Expansion<'_>,
    partial: &mut Partial,
    site: &Site,
    keyword: &Keyword,
    frames: Frames,
) -> Expanded<bool> {
    match (keyword, site.kind) {
        (Keyword::Value(keyword), _) => return Ok(value::assert(cx, partial, site, keyword)),
        (Keyword::Number(keyword), ValueKind::Number) => number::assert(partial, keyword),
        (Keyword::String(keyword), ValueKind::String) => string::assert(cx, partial, keyword)?,
        (Keyword::Array(keyword), ValueKind::Array) => array::assert(cx, partial, site, keyword, &frames),
        (Keyword::Object(keyword), ValueKind::Object) => object::assert(cx, partial, site, keyword, &frames)?,
        (Keyword::Logic(keyword), _) => logic::assert(cx, partial, site, keyword, frames)?,
        (Keyword::Reference(keyword), _) => reference::assert(cx, partial, site, keyword, frames),
        // It is about values of another kind.
        (Keyword::Number(_) | Keyword::String(_) | Keyword::Array(_) | Keyword::Object(_), _) => {}
    }
    Ok(true)
}

/// Returns the alternatives of violating a keyword.
pub(super) fn negate(cx: &mut dyn Expansion<'_>, site: &Site, keyword: &Keyword) -> Expanded<Vec<Alternative>> {
    Ok(match (keyword, site.kind) {
        (Keyword::Value(keyword), _) => value::negate(cx, site, keyword)?,
        (Keyword::Number(keyword), ValueKind::Number) => number::negate(keyword),
        (Keyword::String(keyword), ValueKind::String) => string::negate(cx, keyword)?,
        (Keyword::Array(keyword), ValueKind::Array) => array::negate(cx, site, keyword)?,
        (Keyword::Object(keyword), ValueKind::Object) => object::negate(cx, site, keyword)?,
        (Keyword::Logic(keyword), _) => logic::negate(cx, site, keyword)?,
        (Keyword::Reference(keyword), _) => reference::negate(cx, site, keyword),
        // It is about values of another kind, which can't violate it.
        (Keyword::Number(_) | Keyword::String(_) | Keyword::Array(_) | Keyword::Object(_), _) => vec![],
    })
}

/// Returns the types of the values that a keyword constrains; `None` if it says something about values of every type.
pub(super) fn types_of(keyword: &Keyword) -> Option<TypeSet> {
    match keyword {
        Keyword::Number(_) => Some(TypeSet::NUMBER),
        Keyword::String(_) => Some(TypeSet::STRING),
        Keyword::Array(_) => Some(TypeSet::ARRAY),
        Keyword::Object(_) => Some(TypeSet::OBJECT),
        Keyword::Value(_) | Keyword::Logic(_) | Keyword::Reference(_) => None,
    }
}

/// Returns the position of a keyword in the explanation of a contradiction; keywords with a high rank are removed first.
pub(super) fn rank(keyword: &Keyword) -> u8 {
    match keyword {
        Keyword::Value(ValueKeyword::Enum(_) | ValueKeyword::Const(_)) => 0,
        Keyword::Value(ValueKeyword::Type(_) | ValueKeyword::Nullable(_)) => 1,
        Keyword::Number(NumberKeyword::MultipleOf(_)) => 2,
        Keyword::String(StringKeyword::Pattern(_) | StringKeyword::Format(..)) => 2,
        Keyword::Object(ObjectKeyword::Required(_)) => 2,
        Keyword::Number(NumberKeyword::Minimum(_) | NumberKeyword::ExclusiveMinimum(_)) => 3,
        Keyword::String(StringKeyword::MinLength(_)) => 3,
        Keyword::Array(ArrayKeyword::MinItems(_)) | Keyword::Object(ObjectKeyword::MinProperties(_)) => 3,
        Keyword::Number(NumberKeyword::Maximum(_) | NumberKeyword::ExclusiveMaximum(_)) => 4,
        Keyword::String(StringKeyword::MaxLength(_)) => 4,
        Keyword::Array(ArrayKeyword::MaxItems(_)) | Keyword::Object(ObjectKeyword::MaxProperties(_)) => 4,
        Keyword::Array(ArrayKeyword::Contains { .. }) => 5,
        Keyword::Array(ArrayKeyword::UniqueItems) => 6,
        Keyword::Array(ArrayKeyword::PrefixItems(_)) => 7,
        Keyword::Object(ObjectKeyword::Properties(_) | ObjectKeyword::PatternProperties(_)) => 7,
        Keyword::Array(ArrayKeyword::Items(_)) => 8,
        Keyword::Object(ObjectKeyword::AdditionalProperties(_) | ObjectKeyword::PropertyNames(_)) => 8,
        Keyword::Object(ObjectKeyword::DependentRequired(_)) => 9,
        Keyword::Object(ObjectKeyword::DependentSchemas(_)) => 10,
        Keyword::Logic(LogicKeyword::AllOf(_)) | Keyword::Reference(_) => 10,
        Keyword::Logic(LogicKeyword::AnyOf(_) | LogicKeyword::OneOf(_)) => 11,
        Keyword::Logic(LogicKeyword::Not(_) | LogicKeyword::If { .. }) => 11,
        Keyword::Array(ArrayKeyword::UnevaluatedItems(_)) => 12,
        Keyword::Object(ObjectKeyword::UnevaluatedProperties(_)) => 12,
    }
}

/// Returns a keyword in the words of an explanation.
pub(super) fn describe(keyword: &Keyword, wording: &Wording<'_>) -> String {
    match keyword {
        Keyword::Value(keyword) => value::describe(keyword, wording),
        Keyword::Number(keyword) => number::describe(keyword, wording),
        Keyword::String(keyword) => string::describe(keyword, wording),
        Keyword::Array(keyword) => array::describe(keyword, wording),
        Keyword::Object(keyword) => object::describe(keyword, wording),
        Keyword::Logic(keyword) => logic::describe(keyword, wording),
        Keyword::Reference(_) => wording.name.to_owned(),
    }
}

/// Returns the explanation of a keyword that no value satisfies, if there is a better one than that.
pub(super) fn describe_alone(keyword: &Keyword, name: &str) -> Option<String> {
    match keyword {
        Keyword::Value(keyword) => value::describe_alone(keyword, name),
        Keyword::Array(keyword) => array::describe_alone(keyword),
        Keyword::Logic(keyword) => logic::describe_alone(keyword, name),
        Keyword::Number(_) | Keyword::String(_) | Keyword::Object(_) | Keyword::Reference(_) => None,
    }
}

/// Returns the number of parts of a keyword that an explanation can do without one by one; `None` if it is a whole.
pub(super) fn n_parts(keyword: &Keyword) -> Option<usize> {
    match keyword {
        Keyword::Array(keyword) => array::n_parts(keyword),
        Keyword::Object(keyword) => object::n_parts(keyword),
        Keyword::Value(_) | Keyword::Number(_) | Keyword::String(_) | Keyword::Logic(_) | Keyword::Reference(_) => None,
    }
}

/// Returns a keyword without those of its parts that don't `remain`, or the whole (`None`). Other keywords must not forbid more than before:
/// what is declared stays declared, with `anything` as its schema.
pub(super) fn without_parts(
    keyword: &Keyword,
    anything: SchemaId,
    remains: &dyn Fn(Option<usize>) -> bool,
) -> Option<Keyword> {
    match keyword {
        Keyword::Array(keyword) => array::without_parts(keyword, anything, remains).map(Keyword::Array),
        Keyword::Object(keyword) => object::without_parts(keyword, anything, remains).map(Keyword::Object),
        Keyword::Value(_) | Keyword::Number(_) | Keyword::String(_) | Keyword::Logic(_) | Keyword::Reference(_) => {
            // `nullable` only allows more.
            let is_free = matches!(keyword, Keyword::Value(ValueKeyword::Nullable(_)));
            (is_free || remains(None)).then(|| keyword.clone())
        }
    }
}

/// Returns an alternative of one fact.
fn fact(fact: Fact) -> Alternative {
    vec![Goal::Fact(fact)]
}

/// Returns the number before `n`, if there is one.
fn below(n: u64) -> impl Iterator<Item = u64> {
    n.checked_sub(1).into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_belong_to_their_keyword() {
        for whole in ["if", "contains"] {
            assert!(!parts_of(whole).is_empty());
            for part in parts_of(whole) {
                assert!(matches!(word(part).unwrap().role, Role::PartOf(of) if of == whole), "{part}");
            }
        }
    }
}

//! Reading the keywords of one sub-schema: typed values, or an error that names the keyword.

use super::{Role, Word, word};
use crate::json_schema::decimal::Decimal;
use crate::json_schema::draft::{Dialect, Draft};
use crate::json_schema::error::{SchemaError, shown};
use crate::json_schema::model::{Body, Entry, Keyword, Named, SchemaId};
use crate::json_schema::value::{Json, Member, Value, ValueId};
use hashbrown::HashSet;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// The keywords that one member of a schema is: two for `dependencies` of both kinds, nearly always one.
pub(super) type Keywords = SmallVec<[Keyword; 1]>;

/// What a schema's keywords are read from: its dialect, and the sub-schemas and references in them.
pub(in crate::json_schema) trait SubSchemas {
    /// Returns the dialect of the schema, and whether keywords of other drafts and `nullable` count.
    fn dialect(&self) -> ReadDialect;

    /// Returns the sub-schema at a location of the document that is read.
    fn schema_at(&mut self, value: ValueId) -> Result<SchemaId, SchemaError>;

    /// Returns the target of a reference, and its dynamic anchor, if it has one.
    fn target(&mut self, keyword: &str, reference: &str) -> Result<(SchemaId, Option<Box<str>>), SchemaError>;

    /// Adds the location to an error.
    fn placed(&self, error: SchemaError, value: ValueId) -> SchemaError;
}

/// A dialect, and what counts beside its keywords.
#[derive(Clone, Copy)]
pub(in crate::json_schema) struct ReadDialect {
    pub dialect: Dialect,
    pub has_foreign_keywords: bool,
    pub has_nullable: bool,
}

/// A malformed keyword, and the offending value.
pub(super) struct Misfit {
    pub value: ValueId,
    pub error: SchemaError,
}

/// Reads the content of a sub-schema: a value of a document.
pub(in crate::json_schema) fn read(
    schemas: &mut dyn SubSchemas,
    json: &Json,
    value: ValueId,
) -> Result<Body, SchemaError> {
    let members = match json.value(value) {
        Value::Bool(verdict) => return Ok(Body::Bool(verdict)),
        Value::Object(members) => members,
        _ => return Err(schemas.placed(SchemaError::not_a_schema(brief(json, value)), value)),
    };
    let dialect = schemas.dialect();
    let mut reader = KeywordReader { schemas, dialect, json, object: value };
    let (mut entries, mut annotations) = (Vec::with_capacity(members.len()), Vec::new());
    for member in members {
        match reader.member(member) {
            Ok(Meaning::Says(keywords, is_foreign)) => {
                let entry = |keyword| Entry { value: member.value, is_foreign, keyword };
                entries.extend(keywords.into_iter().map(entry));
            }
            Ok(Meaning::Annotates) => annotations.push(member.value),
            Ok(Meaning::Structure) => {}
            Err(Misfit { value, error }) => {
                let is_placed = !(error.pointer().is_empty() && error.document().is_empty() && error.span().is_none());
                return Err(if is_placed { error } else { reader.schemas.placed(error, value) });
            }
        }
    }
    Ok(Body::Keywords { entries, annotations })
}

enum Meaning {
    Says(Keywords, bool),
    Annotates,
    /// Identifiers and definitions, and parts of other keywords.
    Structure,
}

/// The reader of one sub-schema.
pub(super) struct KeywordReader<'a, 'b> {
    schemas: &'b mut dyn SubSchemas,
    dialect: ReadDialect,
    json: &'a Json,
    object: ValueId,
}

impl<'a> KeywordReader<'a, '_> {
    fn member(&mut self, member: &Member) -> Result<Meaning, Misfit> {
        let (name, at) = (self.json.key(member), member.value);
        let Some(word) = word(name) else { return Ok(Meaning::Annotates) };
        let draft = self.draft();
        if !draft.has_ref_siblings() && name != "$ref" && self.sibling("$ref").is_some() {
            let is_structure = matches!(name, "definitions" | "$defs" | "$schema" | "id" | "$id");
            return Ok(if is_structure { Meaning::Structure } else { Meaning::Annotates });
        }
        if !self.counts_as(name, &word) {
            return Ok(Meaning::Annotates);
        }
        match word.role {
            Role::Structure => Ok(Meaning::Structure),
            Role::Identifier => self.text(name, at).map(|_| Meaning::Structure),
            Role::PartOf(whole) => Ok(match self.sibling(whole).is_some() && self.counts(whole) {
                true => Meaning::Structure,
                false => Meaning::Annotates,
            }),
            Role::Constraint(read) => Ok(match read(self, name, at)? {
                Some(keywords) => Meaning::Says(keywords, is_foreign(name, &word, draft)),
                None => Meaning::Annotates,
            }),
        }
    }

    /// Returns whether a keyword counts in this dialect.
    fn counts(&self, name: &str) -> bool {
        word(name).is_some_and(|word| self.counts_as(name, &word))
    }

    fn counts_as(&self, name: &str, word: &Word) -> bool {
        let ReadDialect { dialect, has_foreign_keywords, has_nullable } = self.dialect;
        // In draft 4, which is three drafts older, `if` is an unknown keyword.
        let is_unknown = name == "if" && dialect.draft == Draft::Draft4;
        if name == "nullable" && (has_nullable || dialect.is_named) {
            return has_nullable && dialect.vocabularies.contains(word.vocabulary);
        }
        dialect.vocabularies.contains(word.vocabulary)
            && !is_unknown
            && (!is_foreign(name, word, dialect.draft) || has_foreign_keywords)
    }

    pub fn draft(&self) -> Draft {
        self.dialect.dialect.draft
    }

    pub fn value(&self, at: ValueId) -> Value<'a> {
        self.json.value(at)
    }

    /// Returns the value of another keyword of the same schema.
    pub fn sibling(&self, name: &str) -> Option<ValueId> {
        self.json.member(self.object, name)
    }

    /// Returns the value of a keyword that belongs to another one, if it counts in this dialect.
    pub fn part(&self, name: &str) -> Option<ValueId> {
        self.sibling(name).filter(|_| self.counts(name))
    }

    /// Returns the target of a reference, and its dynamic anchor, if it has one.
    pub fn target(&mut self, name: &str, at: ValueId) -> Result<(SchemaId, Option<Box<str>>), Misfit> {
        let text = self.text(name, at)?;
        self.schemas.target(name, &text).map_err(|error| Misfit { value: at, error })
    }

    pub fn count(&self, name: &str, at: ValueId) -> Result<u64, Misfit> {
        match self.json.value(at) {
            Value::Number(number) if number.is_integer() && !number.is_negative() => {
                Ok(number.to_u64().unwrap_or(u64::MAX))
            }
            _ => Err(self.misfit(name, at, "a non-negative integer")),
        }
    }

    pub fn number(&self, name: &str, at: ValueId) -> Result<Decimal, Misfit> {
        match self.json.value(at) {
            Value::Number(number) => Ok(number.clone()),
            _ => Err(self.misfit(name, at, "a number")),
        }
    }

    pub fn boolean(&self, name: &str, at: ValueId) -> Result<bool, Misfit> {
        match self.json.value(at) {
            Value::Bool(verdict) => Ok(verdict),
            _ => Err(self.misfit(name, at, "a boolean")),
        }
    }

    pub fn text(&self, name: &str, at: ValueId) -> Result<Box<str>, Misfit> {
        match self.json.value(at) {
            Value::String(text) => Ok(text.into()),
            _ => Err(self.misfit(name, at, "a string")),
        }
    }

    pub fn list(&self, name: &str, at: ValueId) -> Result<&'a [ValueId], Misfit> {
        match self.json.value(at) {
            Value::Array(items) => Ok(items),
            _ => Err(self.misfit(name, at, "a list")),
        }
    }

    /// Returns a list of names, each once.
    pub fn names(&self, keyword: &str, at: ValueId) -> Result<Box<[Arc<str>]>, Misfit> {
        let Value::Array(items) = self.json.value(at) else {
            return Err(self.misfit(keyword, at, "a list of names"));
        };
        // A few names are compared faster than one is hashed.
        const FEW_MAX: usize = 12;
        let mut seen = HashSet::with_capacity(if items.len() > FEW_MAX { items.len() } else { 0 });
        let mut names: Vec<Arc<str>> = Vec::with_capacity(items.len());
        for &item in items {
            let Value::String(name) = self.json.value(item) else {
                return Err(self.misfit(keyword, item, "a list of names"));
            };
            let is_new = match items.len() > FEW_MAX {
                true => seen.insert(name),
                false => names.iter().all(|known| **known != *name),
            };
            if is_new {
                names.push(name.into());
            }
        }
        Ok(names.into())
    }

    pub fn members(&self, name: &str, at: ValueId) -> Result<&'a [Member], Misfit> {
        match self.json.value(at) {
            Value::Object(members) => Ok(members),
            _ => Err(self.misfit(name, at, "an object")),
        }
    }

    pub fn named<T>(
        &mut self,
        members: &[Member],
        mut read: impl FnMut(&mut Self, ValueId) -> Result<T, Misfit>,
    ) -> Result<Named<T>, Misfit> {
        let mut named = Vec::with_capacity(members.len());
        for member in members {
            named.push((self.json.key(member).into(), read(self, member.value)?));
        }
        Ok(named.into())
    }

    pub fn map(&mut self, name: &str, at: ValueId) -> Result<Named<SchemaId>, Misfit> {
        let members = self.members(name, at)?;
        self.named(members, Self::schema)
    }

    pub fn schemas(&mut self, name: &str, at: ValueId) -> Result<Box<[SchemaId]>, Misfit> {
        let items = self.list(name, at)?;
        let mut schemas = Vec::with_capacity(items.len());
        for &item in items {
            schemas.push(self.schema(item)?);
        }
        Ok(schemas.into())
    }

    pub fn schema(&mut self, at: ValueId) -> Result<SchemaId, Misfit> {
        if !matches!(self.json.value(at), Value::Object(_) | Value::Bool(_)) {
            return Err(Misfit { value: at, error: SchemaError::not_a_schema(brief(self.json, at)) });
        }
        self.schemas.schema_at(at).map_err(|error| Misfit { value: at, error })
    }

    /// Returns the error that a keyword's value is not what is wanted.
    pub fn misfit(&self, keyword: &str, value: ValueId, wanted: &str) -> Misfit {
        let reason = format!("must be {wanted}, not {}", brief(self.json, value));
        Misfit { value, error: SchemaError::keyword_value(keyword, reason) }
    }
}

/// Returns what a member of a schema that is one keyword is read as.
pub(super) fn keyword(keyword: Keyword) -> Option<Keywords> {
    Some(smallvec![keyword])
}

/// Returns whether a keyword belongs to other drafts.
fn is_foreign(name: &str, word: &Word, draft: Draft) -> bool {
    !word.drafts.contains(&draft) || name == "nullable"
}

/// Returns a short description of a value, for messages.
fn brief(json: &Json, value: ValueId) -> String {
    match json.value(value) {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) => shown(text),
        Value::Number(number) => match number.to_string() {
            text if text.len() > 40 => "a long number".to_owned(),
            text => text,
        },
        Value::Null | Value::Bool(_) => json.to_json(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::json_schema::model::{SchemaModel, TypeSet, ValueKeyword};
    use crate::schema_options::NoDocuments;
    use crate::schema_options::ReadOptions;

    fn read_with(source: &str, options: &ReadOptions) -> Result<SchemaModel, SchemaError> {
        let limits = Limits::default();
        SchemaModel::read(Json::parse(source, &limits)?, options, &NoDocuments, &limits)
    }

    /// Returns the keywords of the root, as debug output, and its annotations.
    fn says(source: &str) -> (Vec<String>, Vec<String>) {
        says_with(source, &ReadOptions::default())
    }

    fn says_with(source: &str, options: &ReadOptions) -> (Vec<String>, Vec<String>) {
        let model = read_with(source, options).unwrap_or_else(|error| panic!("{source}: {error}"));
        let entries = model.schema(model.root()).entries().iter();
        let root = model.root();
        let annotations = model.annotations().filter(|(id, ..)| *id == root).map(|(_, word, _)| word.to_owned());
        // Without the family.
        let in_family = |keyword: &Keyword| {
            let text = format!("{keyword:?}");
            let (_, text) = text.split_once('(').expect("keywords have a family");
            text.strip_suffix(')').expect("and are within it").to_owned()
        };
        (entries.map(|entry| in_family(&entry.keyword)).collect(), annotations.collect())
    }

    #[test]
    fn spellings_of_all_drafts_become_one() {
        for (source, keywords, annotations) in [
            (
                r#"{"minLength": 2.0, "maxItems": 1e30}"#,
                &["MinLength(2)", "MaxItems(18446744073709551615)"][..],
                &[][..],
            ),
            (r#"{"multipleOf": 0.070}"#, &["MultipleOf(Decimal(0.07))"], &[]),
            (
                r#"{"minimum": 1, "exclusiveMinimum": true}"#,
                &["Minimum(Decimal(1))", "ExclusiveMinimum(Decimal(1))"],
                &[],
            ),
            (r#"{"maximum": 1, "exclusiveMaximum": false}"#, &["Maximum(Decimal(1))"], &["exclusiveMaximum"]),
            (r#"{"exclusiveMaximum": true}"#, &[], &["exclusiveMaximum"]),
            (r#"{"exclusiveMaximum": 2}"#, &["ExclusiveMaximum(Decimal(2))"], &[]),
            (
                r#"{"items": [true, false], "additionalItems": false}"#,
                &["PrefixItems([SchemaId(1), SchemaId(2)])", "Items(SchemaId(3))"],
                &[],
            ),
            (r#"{"items": {}, "additionalItems": false}"#, &["Items(SchemaId(1))"], &["additionalItems"]),
            (r#"{"prefixItems": [{}], "items": false}"#, &["PrefixItems([SchemaId(1)])", "Items(SchemaId(2))"], &[]),
            (
                r#"{"dependencies": {"a": ["b", "b"], "c": {}}}"#,
                &[r#"DependentRequired([("a", ["b"])])"#, r#"DependentSchemas([("c", SchemaId(1))])"#],
                &[],
            ),
            (
                r#"{"maxContains": 3, "contains": {}, "minContains": 0}"#,
                &["Contains { schema: SchemaId(1), min: 0, max: Some(3) }"],
                &[],
            ),
            (
                r#"{"else": false, "if": true}"#,
                &["If { test: SchemaId(2), then: None, otherwise: Some(SchemaId(1)) }"],
                &[],
            ),
            (r#"{"required": ["a", "b", "a"]}"#, &[r#"Required(["a", "b"])"#], &[]),
            (r#"{"title": "t", "x-y": 1, "uniqueItems": false}"#, &[], &["title", "x-y", "uniqueItems"]),
            (r#"{"$comment": "c", "$defs": {}, "$id": "http://h/"}"#, &[], &["$comment"]),
            (r#"{"then": {}, "minContains": 1}"#, &[], &["then", "minContains"]),
        ] {
            let (found, others) = says(source);
            assert_eq!(found, keywords, "{source}");
            assert_eq!(others, annotations, "{source}");
        }
        let model = read_with(r#"{"type": ["string", "integer", "null"]}"#, &ReadOptions::default()).unwrap();
        let Keyword::Value(ValueKeyword::Type(set)) = model.schema(model.root()).entries()[0].keyword else { panic!() };
        assert_eq!(set, TypeSet::STRING.union(TypeSet::INTEGER).union(TypeSet::NULL));
        assert!(!set.contains(TypeSet::NUMBER) && TypeSet::NUMBER.contains(TypeSet::INTEGER));
    }

    #[test]
    fn the_draft_decides() {
        let draft7 = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}},
            "$ref": "#/definitions/a", "minLength": 1}"##;
        assert_eq!(says(draft7), (vec!["Ref(SchemaId(1))".to_owned()], vec!["minLength".to_owned()]));
        let draft2020 = draft7.replace("http://json-schema.org/draft-07", "https://json-schema.org/draft/2020-12");
        assert_eq!(says(&draft2020).0, ["Ref(SchemaId(1))", "MinLength(1)"]);
        let draft4 = r#"{"$schema": "http://json-schema.org/draft-04/schema#", "const": 1, "minimum": 1}"#;
        assert_eq!(says(draft4).0, ["Const(ValueId(2))", "Minimum(Decimal(1))"]);
        let strict = ReadOptions { has_foreign_keywords: false, ..ReadOptions::default() };
        assert_eq!(says_with(draft4, &strict), (vec!["Minimum(Decimal(1))".to_owned()], vec!["const".to_owned()]));
        let model = read_with(draft4, &ReadOptions::default()).unwrap();
        let foreign: Vec<bool> = model.schema(model.root()).entries().iter().map(|entry| entry.is_foreign).collect();
        assert_eq!(foreign, [true, false]);
    }

    #[test]
    fn malformed_values_are_named() {
        for (source, message) in [
            (r#"{"minLength": -1}"#, "`minLength` at #/minLength must be a non-negative integer, not -1"),
            (r#"{"maxItems": 1.5}"#, "`maxItems` at #/maxItems must be a non-negative integer, not 1.5"),
            (
                r#"{"type": "strin"}"#,
                "`type` at #/type must be the name of a type, not \"strin\" (did you mean \"string\"?)",
            ),
            (
                r#"{"type": ["null", 1]}"#,
                "`type` at #/type/1 must be the name of a type or a list of such names, not 1",
            ),
            (r#"{"type": []}"#, "`type` at #/type must be the name of a type or a list of such names, not an array"),
            (r#"{"enum": {}}"#, "`enum` at #/enum must be a list, not an object"),
            (r#"{"multipleOf": 0}"#, "`multipleOf` at #/multipleOf must be a number greater than 0, not 0"),
            (r#"{"pattern": null}"#, "`pattern` at #/pattern must be a string, not null"),
            (r#"{"required": true}"#, "`required` at #/required must be a list of names, not true"),
            (r#"{"required": ["a", 1]}"#, "`required` at #/required/1 must be a list of names, not 1"),
            (r#"{"properties": []}"#, "`properties` at #/properties must be an object, not an array"),
            (r#"{"properties": {"a": 1}}"#, "a schema must be an object or a boolean, not 1, at #/properties/a"),
            (r#"{"allOf": {}}"#, "`allOf` at #/allOf must be a list, not an object"),
            (r#"{"not": []}"#, "a schema must be an object or a boolean, not an array, at #/not"),
            (r#"{"uniqueItems": 1}"#, "`uniqueItems` at #/uniqueItems must be a boolean, not 1"),
            (r#"{"$ref": 1}"#, "`$ref` at #/$ref must be a string, not 1"),
            (r#"{"$id": 1}"#, "`$id` at #/$id must be a string, not 1"),
            (
                r#"{"contains": {}, "minContains": -1}"#,
                "`minContains` at #/minContains must be a non-negative integer, not -1",
            ),
            (
                r#"{"prefixItems": [], "items": []}"#,
                "`items` at #/items must be a schema beside `prefixItems`, not an array",
            ),
            ("[]", "a schema must be an object or a boolean, not an array, at #"),
        ] {
            let error = read_with(source, &ReadOptions::default()).unwrap_err();
            assert_eq!(error.to_string(), message, "{source}");
        }
    }
}

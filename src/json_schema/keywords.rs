//! The keywords of one sub-schema: typed values, or an error that names the keyword.

use super::decimal::Decimal;
use super::draft::{Draft, Word, word};
use super::error::{SchemaError, shown};
use super::load::Loader;
use super::model::{Body, DocumentId, Entry, Keyword, Named, SchemaId, TypeSet};
use super::value::{Json, Member, Value, ValueId};
use crate::util::closest_name;
use hashbrown::HashSet;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

type Read<T> = Result<T, SchemaError>;

/// A malformed keyword, and the offending value.
struct Misfit {
    value: ValueId,
    error: SchemaError,
}

/// Reads the content of a sub-schema.
pub(super) fn read(loader: &mut Loader<'_>, schema: SchemaId) -> Read<Body> {
    let (document, value) = (loader.model.schema(schema).document, loader.model.schema(schema).value);
    let json = &*Arc::clone(&loader.model.documents[document.index()].json);
    let members = match json.value(value) {
        Value::Bool(verdict) => return Ok(Body::Bool(verdict)),
        Value::Object(members) => members,
        _ => {
            let error = SchemaError::not_a_schema(brief(json, value));
            return Err(loader.placed(error, document, value));
        }
    };
    let mut reader = KeywordReader { loader, schema, document, json, object: value };
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
                return Err(if is_placed { error } else { reader.loader.placed(error, document, value) });
            }
        }
    }
    Ok(Body::Keywords { entries, annotations })
}

enum Meaning {
    Says(SmallVec<[Keyword; 1]>, bool),
    Annotates,
    /// Identifiers and definitions, and parts of other keywords.
    Structure,
}

struct KeywordReader<'a, 'b> {
    loader: &'a mut Loader<'b>,
    schema: SchemaId,
    document: DocumentId,
    json: &'a Json,
    object: ValueId,
}

impl<'a> KeywordReader<'a, '_> {
    fn member(&mut self, member: &Member) -> Result<Meaning, Misfit> {
        let name = self.json.key(member);
        let Some(word) = word(name) else { return Ok(Meaning::Annotates) };
        let dialect = self.loader.dialect(self.loader.model.schema(self.schema).resource);
        if !dialect.draft.has_ref_siblings() && name != "$ref" && self.sibling("$ref").is_some() {
            let is_structure = matches!(name, "definitions" | "$defs" | "$schema" | "id" | "$id");
            return Ok(if is_structure { Meaning::Structure } else { Meaning::Annotates });
        }
        if !self.counts_as(name, &word) {
            return Ok(Meaning::Annotates);
        }
        let is_foreign = is_foreign(name, &word, dialect.draft);
        if name == "dependencies" {
            return Ok(Meaning::Says(self.dependencies(member.value)?, is_foreign));
        }
        let keyword = self.keyword(name, member.value)?;
        Ok(match keyword {
            Some(keyword) => Meaning::Says(smallvec![keyword], is_foreign),
            None if self.is_structure(name) => Meaning::Structure,
            None => Meaning::Annotates,
        })
    }

    /// Returns whether a keyword counts in this dialect.
    fn counts(&self, name: &str) -> bool {
        word(name).is_some_and(|word| self.counts_as(name, &word))
    }

    fn counts_as(&self, name: &str, word: &Word) -> bool {
        let dialect = self.loader.dialect(self.loader.model.schema(self.schema).resource);
        // In draft 4, which is three drafts older, `if` is an unknown keyword.
        let is_unknown = name == "if" && dialect.draft == Draft::Draft4;
        let options = self.loader.options;
        if name == "nullable" && (options.has_nullable || dialect.is_named) {
            return options.has_nullable && dialect.vocabularies.contains(word.vocabulary);
        }
        dialect.vocabularies.contains(word.vocabulary)
            && !is_unknown
            && (!is_foreign(name, word, dialect.draft) || options.has_foreign_keywords)
    }

    /// Returns a keyword; `None` for identifiers, definitions and keywords without effect here.
    fn keyword(&mut self, name: &str, at: ValueId) -> Result<Option<Keyword>, Misfit> {
        Ok(Some(match name {
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(name, at)?,
            "type" => Keyword::Type(self.types(at)?),
            "nullable" => Keyword::Nullable(self.boolean(name, at)?),
            "enum" => Keyword::Enum(self.list(name, at)?.into()),
            "const" => Keyword::Const(at),
            "multipleOf" => {
                let divisor = self.number(name, at)?;
                if divisor.is_zero() || divisor.is_negative() {
                    return Err(self.misfit(name, at, "a number greater than 0"));
                }
                Keyword::MultipleOf(divisor)
            }
            "minimum" => Keyword::Minimum(self.number(name, at)?),
            "maximum" => Keyword::Maximum(self.number(name, at)?),
            "exclusiveMinimum" => match self.exclusive(name, at, "minimum")? {
                Some(bound) => Keyword::ExclusiveMinimum(bound),
                None => return Ok(None),
            },
            "exclusiveMaximum" => match self.exclusive(name, at, "maximum")? {
                Some(bound) => Keyword::ExclusiveMaximum(bound),
                None => return Ok(None),
            },
            "minLength" => Keyword::MinLength(self.count(name, at)?),
            "maxLength" => Keyword::MaxLength(self.count(name, at)?),
            "pattern" => Keyword::Pattern(self.text(name, at)?),
            "format" => Keyword::Format(self.text(name, at)?, self.loader.model.schema(self.schema).draft),
            "properties" => Keyword::Properties(self.map(name, at)?),
            "patternProperties" => Keyword::PatternProperties(self.map(name, at)?),
            "additionalProperties" => Keyword::AdditionalProperties(self.schema(at)?),
            "propertyNames" => Keyword::PropertyNames(self.schema(at)?),
            "required" => Keyword::Required(self.names(name, at)?),
            "minProperties" => Keyword::MinProperties(self.count(name, at)?),
            "maxProperties" => Keyword::MaxProperties(self.count(name, at)?),
            "dependentRequired" => {
                let members = self.members(name, at)?;
                Keyword::DependentRequired(self.named(members, |this, value| this.names(name, value))?)
            }
            "dependentSchemas" => Keyword::DependentSchemas(self.map(name, at)?),
            "unevaluatedProperties" => Keyword::UnevaluatedProperties(self.schema(at)?),
            "prefixItems" => Keyword::PrefixItems(self.schemas(name, at)?),
            "items" => match self.json.value(at) {
                Value::Array(_) if self.sibling("prefixItems").is_some() => {
                    return Err(self.misfit(name, at, "a schema beside `prefixItems`"));
                }
                Value::Array(_) => Keyword::PrefixItems(self.schemas(name, at)?),
                _ => Keyword::Items(self.schema(at)?),
            },
            "additionalItems" => match self.sibling("items").map(|items| self.json.value(items)) {
                Some(Value::Array(_)) => Keyword::Items(self.schema(at)?),
                _ => return Ok(None),
            },
            "contains" => {
                let (min, max) = (self.part_count("minContains")?, self.part_count("maxContains")?);
                Keyword::Contains { schema: self.schema(at)?, min: min.unwrap_or(1), max }
            }
            "minItems" => Keyword::MinItems(self.count(name, at)?),
            "maxItems" => Keyword::MaxItems(self.count(name, at)?),
            "uniqueItems" if self.boolean(name, at)? => Keyword::UniqueItems,
            "unevaluatedItems" => Keyword::UnevaluatedItems(self.schema(at)?),
            "allOf" => Keyword::AllOf(self.schemas(name, at)?),
            "anyOf" => Keyword::AnyOf(self.schemas(name, at)?),
            "oneOf" => Keyword::OneOf(self.schemas(name, at)?),
            "not" => Keyword::Not(self.schema(at)?),
            "if" => {
                let (then, otherwise) = (self.part_schema("then")?, self.part_schema("else")?);
                Keyword::If { test: self.schema(at)?, then, otherwise }
            }
            "$id" | "$anchor" | "$dynamicAnchor" | "$schema" => {
                self.text(name, at)?;
                return Ok(None);
            }
            _ => return Ok(None),
        }))
    }

    /// Splits `dependencies` into its two kinds.
    fn dependencies(&mut self, at: ValueId) -> Result<SmallVec<[Keyword; 1]>, Misfit> {
        let members = self.members("dependencies", at)?;
        let is_list = |member: &Member| matches!(self.json.value(member.value), Value::Array(_));
        let (lists, schemas): (Vec<Member>, Vec<Member>) = members.iter().copied().partition(is_list);
        let mut keywords = SmallVec::new();
        if !lists.is_empty() {
            let lists = self.named(&lists, |this, value| this.names("dependencies", value))?;
            keywords.push(Keyword::DependentRequired(lists));
        }
        if !schemas.is_empty() {
            keywords.push(Keyword::DependentSchemas(self.named(&schemas, Self::schema)?));
        }
        Ok(keywords)
    }

    fn reference(&mut self, name: &str, at: ValueId) -> Result<Keyword, Misfit> {
        let text = self.text(name, at)?;
        let target = self.loader.target(self.schema, name, &text);
        let (target, anchor) = target.map_err(|error| Misfit { value: at, error })?;
        Ok(match anchor {
            Some(anchor) => Keyword::DynamicRef { target, anchor },
            None => Keyword::Ref(target),
        })
    }

    fn types(&self, at: ValueId) -> Result<TypeSet, Misfit> {
        let items = match self.json.value(at) {
            Value::Array(items) if !items.is_empty() => items,
            _ => core::slice::from_ref(&at),
        };
        let mut set = TypeSet::NONE;
        for &item in items {
            let Value::String(name) = self.json.value(item) else {
                return Err(self.misfit("type", item, "the name of a type or a list of such names"));
            };
            let Some(types) = TypeSet::from_name(name) else {
                let guess = closest_name(name, TypeSet::NAMES.iter().map(|(other, _)| *other));
                let guess = guess.map(|guess| format!(" (did you mean {guess:?}?)")).unwrap_or_default();
                let reason = format!("must be the name of a type, not {}{guess}", shown(name));
                return Err(Misfit { value: item, error: SchemaError::keyword_value("type", reason) });
            };
            set = set.union(types);
        }
        Ok(set)
    }

    /// Returns an exclusive bound, as a number or (draft 4) as a flag that the bound beside it is exclusive.
    fn exclusive(&self, name: &str, at: ValueId, bound: &str) -> Result<Option<Decimal>, Misfit> {
        match self.json.value(at) {
            Value::Number(number) => Ok(Some(number.clone())),
            Value::Bool(true) => self.sibling(bound).map(|bound_at| self.number(bound, bound_at)).transpose(),
            Value::Bool(false) => Ok(None),
            _ => Err(self.misfit(name, at, "a number, or in draft 4 a boolean")),
        }
    }

    fn count(&self, name: &str, at: ValueId) -> Result<u64, Misfit> {
        match self.json.value(at) {
            Value::Number(number) if number.is_integer() && !number.is_negative() => {
                Ok(number.to_u64().unwrap_or(u64::MAX))
            }
            _ => Err(self.misfit(name, at, "a non-negative integer")),
        }
    }

    fn part_count(&self, name: &str) -> Result<Option<u64>, Misfit> {
        self.part(name).map(|at| self.count(name, at)).transpose()
    }

    fn part_schema(&mut self, name: &str) -> Result<Option<SchemaId>, Misfit> {
        self.part(name).map(|at| self.schema(at)).transpose()
    }

    /// Returns the value of a keyword that belongs to another one, if it counts in this dialect.
    fn part(&self, name: &str) -> Option<ValueId> {
        self.sibling(name).filter(|_| self.counts(name))
    }

    fn number(&self, name: &str, at: ValueId) -> Result<Decimal, Misfit> {
        match self.json.value(at) {
            Value::Number(number) => Ok(number.clone()),
            _ => Err(self.misfit(name, at, "a number")),
        }
    }

    fn boolean(&self, name: &str, at: ValueId) -> Result<bool, Misfit> {
        match self.json.value(at) {
            Value::Bool(verdict) => Ok(verdict),
            _ => Err(self.misfit(name, at, "a boolean")),
        }
    }

    fn text(&self, name: &str, at: ValueId) -> Result<Box<str>, Misfit> {
        match self.json.value(at) {
            Value::String(text) => Ok(text.into()),
            _ => Err(self.misfit(name, at, "a string")),
        }
    }

    fn list(&self, name: &str, at: ValueId) -> Result<&'a [ValueId], Misfit> {
        match self.json.value(at) {
            Value::Array(items) => Ok(items),
            _ => Err(self.misfit(name, at, "a list")),
        }
    }

    /// Returns a list of names, each once.
    fn names(&self, keyword: &str, at: ValueId) -> Result<Box<[Arc<str>]>, Misfit> {
        let Value::Array(items) = self.json.value(at) else {
            return Err(self.misfit(keyword, at, "a list of names"));
        };
        let mut seen = HashSet::with_capacity(items.len());
        let mut names = Vec::with_capacity(items.len());
        for &item in items {
            let Value::String(name) = self.json.value(item) else {
                return Err(self.misfit(keyword, item, "a list of names"));
            };
            if seen.insert(name) {
                names.push(name.into());
            }
        }
        Ok(names.into())
    }

    fn members(&self, name: &str, at: ValueId) -> Result<&'a [Member], Misfit> {
        match self.json.value(at) {
            Value::Object(members) => Ok(members),
            _ => Err(self.misfit(name, at, "an object")),
        }
    }

    fn named<T>(
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

    fn map(&mut self, name: &str, at: ValueId) -> Result<Named<SchemaId>, Misfit> {
        let members = self.members(name, at)?;
        self.named(members, Self::schema)
    }

    fn schemas(&mut self, name: &str, at: ValueId) -> Result<Box<[SchemaId]>, Misfit> {
        let items = self.list(name, at)?;
        let mut schemas = Vec::with_capacity(items.len());
        for &item in items {
            schemas.push(self.schema(item)?);
        }
        Ok(schemas.into())
    }

    fn schema(&mut self, at: ValueId) -> Result<SchemaId, Misfit> {
        if !matches!(self.json.value(at), Value::Object(_) | Value::Bool(_)) {
            return Err(Misfit { value: at, error: SchemaError::not_a_schema(brief(self.json, at)) });
        }
        self.loader.schema_at(self.document, at).map_err(|error| Misfit { value: at, error })
    }

    /// Returns whether a keyword without a constraint identifies, defines, or belongs to a sibling keyword.
    fn is_structure(&self, name: &str) -> bool {
        match name {
            "then" | "else" => self.sibling("if").is_some() && self.counts("if"),
            "minContains" | "maxContains" => self.sibling("contains").is_some() && self.counts("contains"),
            "definitions" | "id" => true,
            _ => name.starts_with('$'),
        }
    }

    fn sibling(&self, name: &str) -> Option<ValueId> {
        self.json.member(self.object, name)
    }

    fn misfit(&self, keyword: &str, value: ValueId, wanted: &str) -> Misfit {
        let reason = format!("must be {wanted}, not {}", brief(self.json, value));
        Misfit { value, error: SchemaError::keyword_value(keyword, reason) }
    }
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
    use super::super::load::ReadOptions;
    use super::super::model::SchemaModel;
    use super::super::resolve::NoDocuments;
    use super::*;
    use crate::Limits;

    fn read_with(source: &str, options: &ReadOptions) -> Read<SchemaModel> {
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
        (entries.map(|entry| format!("{:?}", entry.keyword)).collect(), annotations.collect())
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
        let Keyword::Type(set) = model.schema(model.root()).entries()[0].keyword else { panic!() };
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

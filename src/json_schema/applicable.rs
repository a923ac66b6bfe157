//! What a schema says about one place of a document: the sub-schemas that apply there, along the path from the root.
//!
//! A value at a path has to satisfy the root schema, all that this refers to or combines by `allOf`, and for each step of the path what `properties`, `items` and
//! so on of these say about the value within. Those *hold*: whatever the rest of the document is. What is reached through a choice (`anyOf`, `oneOf`, `if`,
//! dependencies) *may hold*. Alternatives of another type than the value that is under way are left out, since such a value satisfies none of them. `not`,
//! `unevaluated...` and `contains` are not followed: they say nothing about one value alone. But those of the containers on the path are listed, as are their
//! `uniqueItems`, `const` and `enum`: such a keyword may refuse a value that all keywords about it allow.
//!
//! Locations are those of the text: equal sub-schemas are one in the model, which has the location of the first.

use super::keywords::{Wording, describe, n_parts};
use super::model::{
    ArrayKeyword, Body, Entry, Keyword, LogicKeyword, ObjectKeyword, ReferenceKeyword, Schema, SchemaId, SchemaModel,
    TypeSet, ValueKeyword,
};
use super::text_position::PathStep;
use super::value::{Value, ValueId};
use crate::Limits;
use crate::frontend::ecma;
use crate::regular::Dfa;
use core::iter;
use hashbrown::HashSet;
use std::sync::Arc;

/// Most sub-schemas that are looked at for one place.
const SCHEMAS_MAX: usize = 4096;

/// A sub-schema that applies to a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applicable {
    pub schema: SchemaId,
    /// The value of the schema's document that is the sub-schema as it was written here.
    pub value: ValueId,
    /// Whether it holds, rather than may hold.
    pub holds: bool,
}

/// A keyword that applies to a place of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constraint {
    /// The keyword, like `minimum`.
    pub keyword: Box<str>,
    /// The URI of the document, if it has one, and the JSON pointer of the keyword's value: `#/properties/age/minimum`.
    pub location: Box<str>,
    /// The keyword and its value, truncated: `minimum 0`.
    pub words: Box<str>,
    /// Whether it holds whatever the rest of the document is; else it belongs to an alternative.
    pub holds: bool,
}

/// What a schema says about one place of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConstraintsAt {
    /// The keywords that constrain the value, in the order in which they are found.
    pub constraints: Vec<Constraint>,
    /// The names that the schema has for properties of the object there, in the order in which keys come: declared ones, those that are only required, those of
    /// dependencies.
    pub declared: Vec<Arc<str>>,
    /// The names that are required whatever the rest of the document is.
    pub required: Vec<Arc<str>>,
    /// Names whose presence requires another one, and that, whatever the rest of the document is.
    pub dependent_required: Vec<(Arc<str>, Arc<str>)>,
    /// The keywords of the containers on the path that constrain a value by its neighbours, like `uniqueItems`, or list the containers, like `const`, with the number of steps that lead to the container.
    pub around: Vec<(usize, Constraint)>,
    /// Whether there was too much to look at, and something is missing here.
    pub is_cut: bool,
}

impl SchemaModel {
    /// Returns what the schema says about the value at a path, which is of one of `types`.
    pub(super) fn constraints_at(&self, path: &[PathStep], types: TypeSet) -> ConstraintsAt {
        let mut places = Places { model: self, n_left: SCHEMAS_MAX, is_cut: false };
        let root = Applicable { schema: self.root(), value: self.schema(self.root()).value(), holds: true };
        let mut here = vec![root];
        let mut around = Vec::new();
        for (depth, step) in path.iter().enumerate() {
            let of_step = match step {
                PathStep::Key(_) => TypeSet::OBJECT,
                PathStep::Item(_) => TypeSet::ARRAY,
            };
            let all = places.in_place(here, of_step);
            for one in &all {
                let schema = self.schema(one.schema);
                let entries = schema.entries().iter().filter(|entry| constrains_within(&entry.keyword, step));
                around
                    .extend(entries.flat_map(|entry| self.constraints(one, schema, entry)).map(|found| (depth, found)));
            }
            here = all.iter().flat_map(|&one| places.below(one, step)).collect();
        }
        let all = places.in_place(here, types);
        let mut found = ConstraintsAt { is_cut: places.is_cut, around, ..ConstraintsAt::default() };
        let mut of_dependencies: Vec<Arc<str>> = Vec::new();
        for one in all {
            let schema = self.schema(one.schema);
            for entry in schema.entries() {
                match &entry.keyword {
                    Keyword::Object(ObjectKeyword::Properties(named)) => {
                        for (name, _) in named {
                            if !found.declared.contains(name) {
                                found.declared.push(Arc::clone(name));
                            }
                        }
                    }
                    Keyword::Object(ObjectKeyword::Required(names)) if one.holds => {
                        for name in names {
                            if !found.required.contains(name) {
                                found.required.push(Arc::clone(name));
                            }
                        }
                    }
                    Keyword::Object(ObjectKeyword::DependentRequired(named)) => {
                        let pairs =
                            named.iter().flat_map(|(of, names)| names.iter().map(|name| (of.clone(), name.clone())));
                        found.dependent_required.extend(pairs.filter(|_| one.holds));
                        of_dependencies
                            .extend(named.iter().flat_map(|(of, names)| iter::once(of).chain(names)).cloned());
                    }
                    Keyword::Object(ObjectKeyword::DependentSchemas(named)) => {
                        of_dependencies.extend(named.iter().map(|(of, _)| of.clone()));
                    }
                    _ => {}
                }
                found.constraints.extend(self.constraints(&one, schema, entry));
            }
            if let Body::Bool(false) = schema.body() {
                let location = self.location(one.schema, one.value).into();
                let (keyword, words) = ("false".into(), "no value at all (false)".into());
                found.constraints.push(Constraint { keyword, location, words, holds: one.holds });
            }
        }
        let mut known: HashSet<Arc<str>> = found.declared.iter().cloned().collect();
        let others = found.required.iter().cloned().chain(of_dependencies);
        found.declared.extend(others.filter(|name| known.insert(Arc::clone(name))));
        found
    }

    /// Returns a keyword in words, and the words that only modify it, if it constrains the value itself rather than values within it.
    fn constraints(&self, one: &Applicable, schema: &Schema, entry: &Entry) -> Vec<Constraint> {
        let is_false = |id: SchemaId| matches!(self.schema(id).body(), Body::Bool(false));
        let is_shown = match &entry.keyword {
            Keyword::Value(keyword) => !matches!(keyword, ValueKeyword::Nullable(_)),
            Keyword::Number(_) | Keyword::String(_) => true,
            Keyword::Array(keyword) => match keyword {
                ArrayKeyword::PrefixItems(_) => false,
                ArrayKeyword::Items(id) => is_false(*id),
                _ => true,
            },
            Keyword::Object(keyword) => match keyword {
                ObjectKeyword::MinProperties(_)
                | ObjectKeyword::MaxProperties(_)
                | ObjectKeyword::PropertyNames(_)
                | ObjectKeyword::DependentRequired(_)
                | ObjectKeyword::UnevaluatedProperties(_) => true,
                ObjectKeyword::AdditionalProperties(id) => is_false(*id),
                // Names that are required in any case are known by themselves.
                ObjectKeyword::Required(_) => !one.holds,
                _ => false,
            },
            Keyword::Logic(keyword) => matches!(keyword, LogicKeyword::Not(_)),
            Keyword::Reference(_) => false,
        };
        let json = self.json(schema.document());
        let Some(name) = json.key_of(entry.value).filter(|_| is_shown) else { return Vec::new() };
        // The keyword where it was written here: that of an equal sub-schema says the same.
        let value = json.member(one.value, name).unwrap_or(entry.value);
        let is_nullable = schema.is_nullable();
        let parts: Vec<usize> = (0..n_parts(&entry.keyword).unwrap_or(0)).collect();
        let n_values = |_| None;
        let wording = Wording { name, parts: &parts, json, is_nullable, is_false: &is_false, n_values: &n_values };
        let constraint = |keyword: &str, value: ValueId, words: String| Constraint {
            keyword: keyword.into(),
            location: self.location(one.schema, value).into(),
            words: words.into(),
            holds: one.holds,
        };
        let Keyword::Array(ArrayKeyword::Contains { min, max, .. }) = &entry.keyword else {
            return vec![constraint(name, value, describe(&entry.keyword, &wording))];
        };
        // Each number has a place of its own.
        let mut found = vec![constraint(name, value, name.to_owned())];
        for (part, count) in [("minContains", Some(min)), ("maxContains", max.as_ref())] {
            if let (Some(value), Some(count)) = (json.member(one.value, part), count) {
                found.push(constraint(part, value, format!("{part} {count}")));
            }
        }
        found
    }
}

/// Returns whether a keyword of a container constrains the value behind a step by the values beside it, or by the container as a whole.
fn constrains_within(keyword: &Keyword, step: &PathStep) -> bool {
    match (keyword, step) {
        (Keyword::Value(ValueKeyword::Enum(_) | ValueKeyword::Const(_)), _) => true,
        (Keyword::Array(ArrayKeyword::UniqueItems), PathStep::Item(index)) => *index > 0,
        (Keyword::Array(ArrayKeyword::Contains { .. } | ArrayKeyword::UnevaluatedItems(_)), PathStep::Item(_)) => true,
        (Keyword::Object(ObjectKeyword::UnevaluatedProperties(_)), PathStep::Key(_)) => true,
        _ => false,
    }
}

struct Places<'m> {
    model: &'m SchemaModel,
    n_left: usize,
    is_cut: bool,
}

impl Places<'_> {
    /// Returns the sub-schemas for the same value that some sub-schemas lead to, themselves included, if a value of one of `types` may satisfy them.
    fn in_place(&mut self, start: Vec<Applicable>, types: TypeSet) -> Vec<Applicable> {
        let model = self.model;
        let mut seen: HashSet<(SchemaId, ValueId, bool)> = HashSet::new();
        let mut found = Vec::new();
        let mut pending: Vec<Applicable> = start;
        pending.reverse();
        while let Some(one) = pending.pop() {
            if !seen.insert((one.schema, one.value, one.holds)) || !one.holds && !model.has_type_of(one.schema, types) {
                continue;
            }
            if self.n_left == 0 {
                self.is_cut = true;
                break;
            }
            self.n_left -= 1;
            found.push(one);
            let schema = model.schema(one.schema);
            let json = model.json(schema.document());
            let mut next: Vec<Applicable> = Vec::new();
            for entry in schema.entries() {
                let Some(word) = json.key_of(entry.value) else { continue };
                let written = json.member(one.value, word).unwrap_or(entry.value);
                let item = |index: usize| match json.value(written) {
                    Value::Array(items) => items.get(index).copied(),
                    _ => None,
                };
                let mut push = |schema: SchemaId, value: Option<ValueId>, holds: bool| {
                    let value = value.unwrap_or_else(|| model.schema(schema).value());
                    next.push(Applicable { schema, value, holds });
                };
                match &entry.keyword {
                    Keyword::Logic(LogicKeyword::AllOf(ids)) => {
                        ids.iter().enumerate().for_each(|(index, &id)| push(id, item(index), one.holds));
                    }
                    Keyword::Logic(LogicKeyword::AnyOf(ids) | LogicKeyword::OneOf(ids)) => {
                        let holds = one.holds && ids.len() == 1;
                        ids.iter().enumerate().for_each(|(index, &id)| push(id, item(index), holds));
                    }
                    Keyword::Logic(LogicKeyword::If { then, otherwise, .. }) => {
                        for (id, word) in [(then, "then"), (otherwise, "else")] {
                            id.iter().for_each(|&id| push(id, json.member(one.value, word), false));
                        }
                    }
                    Keyword::Object(ObjectKeyword::DependentSchemas(named)) => {
                        named.iter().for_each(|(name, id)| push(*id, json.member(written, name), false));
                    }
                    Keyword::Reference(ReferenceKeyword::Ref(id)) => {
                        push(*id, model.target_of(schema, *id, written), one.holds);
                    }
                    Keyword::Reference(ReferenceKeyword::DynamicRef { .. }) => self.is_cut = true,
                    _ => {}
                }
            }
            pending.extend(next.into_iter().rev());
        }
        found
    }

    /// Returns what a sub-schema says about a value within the one that it applies to.
    fn below(&mut self, one: Applicable, step: &PathStep) -> Vec<Applicable> {
        let model = self.model;
        let schema = model.schema(one.schema);
        let json = model.json(schema.document());
        let mut found = Vec::new();
        // Whether `properties` and `patternProperties` beside it leave the key to `additionalProperties`; `None` if that is unknown.
        let mut is_additional = Some(true);
        let mut prefix_len = 0;
        let mut rest: Vec<Applicable> = Vec::new();
        for entry in schema.entries() {
            let Some(word) = json.key_of(entry.value) else { continue };
            let written = json.member(one.value, word).unwrap_or(entry.value);
            match (&entry.keyword, step) {
                (Keyword::Object(ObjectKeyword::Properties(named)), PathStep::Key(key)) => {
                    if let Some((name, id)) = named.iter().find(|(name, _)| **name == **key) {
                        let value = json.member(written, name).unwrap_or(model.schema(*id).value());
                        found.push(Applicable { schema: *id, value, holds: one.holds });
                        is_additional = is_additional.map(|_| false);
                    }
                }
                (Keyword::Object(ObjectKeyword::PatternProperties(named)), PathStep::Key(key)) => {
                    for (pattern, id) in named {
                        match matches(pattern, key) {
                            Some(false) => {}
                            Some(true) => {
                                let value = json.member(written, pattern).unwrap_or(model.schema(*id).value());
                                found.push(Applicable { schema: *id, value, holds: one.holds });
                                is_additional = is_additional.map(|_| false);
                            }
                            None => (is_additional, self.is_cut) = (None, true),
                        }
                    }
                }
                (Keyword::Object(ObjectKeyword::AdditionalProperties(id)), PathStep::Key(_))
                | (Keyword::Array(ArrayKeyword::Items(id)), PathStep::Item(_)) => {
                    rest.push(Applicable { schema: *id, value: written, holds: one.holds });
                }
                (Keyword::Array(ArrayKeyword::PrefixItems(ids)), PathStep::Item(index)) => {
                    prefix_len = ids.len();
                    if let Some(&id) = ids.get(*index) {
                        let value = match json.value(written) {
                            Value::Array(items) => items.get(*index).copied(),
                            _ => None,
                        };
                        let value = value.unwrap_or(model.schema(id).value());
                        found.push(Applicable { schema: id, value, holds: one.holds });
                    }
                }
                (
                    Keyword::Object(ObjectKeyword::UnevaluatedProperties(_))
                    | Keyword::Array(ArrayKeyword::UnevaluatedItems(_) | ArrayKeyword::Contains { .. }),
                    _,
                ) => self.is_cut = true,
                _ => {}
            }
        }
        let is_rest = match step {
            PathStep::Key(_) => is_additional == Some(true),
            PathStep::Item(index) => *index >= prefix_len,
        };
        if is_rest {
            found.append(&mut rest);
        }
        found
    }
}

impl SchemaModel {
    /// Returns whether a value of one of `types` may satisfy a sub-schema, as far as its `type` says.
    fn has_type_of(&self, id: SchemaId, types: TypeSet) -> bool {
        let schema = self.schema(id);
        let is_nullable = schema.is_nullable();
        schema.entries().iter().all(|entry| match &entry.keyword {
            Keyword::Value(ValueKeyword::Type(set)) => {
                !set.intersect(types).is_empty() || is_nullable && types.contains(TypeSet::NULL)
            }
            _ => true,
        })
    }

    /// Returns the place that a reference within the document leads to, as it is written: an equal sub-schema may stand in for it in the model.
    fn target_of(&self, schema: &Schema, target: SchemaId, written: ValueId) -> Option<ValueId> {
        let json = self.json(schema.document());
        // A pointer begins at the resource, which is the whole document here.
        let resource = &self.resources[schema.resource().index()];
        if self.schema(target).document() != schema.document() || resource.value != json.root() {
            return None;
        }
        let Value::String(reference) = json.value(written) else { return None };
        let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'))?;
        json.at_pointer(pointer)
    }
}

/// Returns whether a pattern matches a key; `None` if that takes too much.
fn matches(pattern: &str, key: &str) -> Option<bool> {
    let limits = Limits { dfa_states_max: 1 << 12, ..Limits::default() };
    let regular = ecma::parse(pattern, &limits).ok()?;
    Some(Dfa::new(&regular, &limits).ok()?.is_match(key.as_bytes()))
}

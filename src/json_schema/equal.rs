//! Merging of equal sub-schemas.
//!
//! Schemas repeat themselves: a hundred kinds of records of which each has the same forty fields, written out; `{"$ref": "#"}` with a
//! hundred descriptions. Automata are built for conjunctions of sub-schemas, so equal ones should be one sub-schema. Two are merged
//! if their keywords are equal and their sub-schemas are merged already; the last ones are visited first, so that one round finds nearly
//! all. Merged sub-schemas are equivalent, so the search may stop at any time: schemas that are equal only because they refer to themselves
//! in the same way stay separate.

use super::model::{Body, Entry, Schema, SchemaId, SchemaModel};
use super::value::{Json, Value, ValueId};
use crate::pass::{BuildError, CompileBudget};
use ahash::RandomState;
use core::hash::{BuildHasher, Hash, Hasher};
use hashbrown::HashMap;
use smallvec::SmallVec;

/// Most rounds of merging.
const ROUNDS_MAX: usize = 8;
/// What a sub-schema counts in a round, beside those that it names.
const STEPS_PER_SCHEMA: usize = 8;
/// Sub-schemas that one is compared with, at most.
const CANDIDATES_MAX: usize = 16;

impl SchemaModel {
    /// Makes references lead to the first of the sub-schemas that say the same; returns it by sub-schema.
    ///
    /// # Errors
    /// If the budget gives up.
    pub(super) fn merge_equal(&mut self, budget: &CompileBudget) -> Result<Box<[SchemaId]>, BuildError> {
        let n_schemas = self.schemas.len();
        let mut merged: Vec<SchemaId> = (0..n_schemas).map(SchemaId::new).collect();
        let random = RandomState::new();
        for _ in 0..ROUNDS_MAX {
            let mut by_hash: HashMap<u64, SmallVec<[SchemaId; 1]>> = HashMap::with_capacity(n_schemas);
            // Whether one that was merged may be named by one that was looked at before.
            let (mut is_changed, mut is_named_before) = (false, false);
            for index in (0..n_schemas).rev() {
                let mut n_below = 0;
                for_each_below(&mut self.schemas[index].body, |id| {
                    is_named_before |= id.index() <= index;
                    *id = merged[id.index()];
                    n_below += 1;
                });
                budget.spend(STEPS_PER_SCHEMA + n_below)?;
                let id = SchemaId::new(index);
                if merged[index] != id {
                    continue;
                }
                let candidates = by_hash.entry(self.hash(id, &random)).or_default();
                match candidates.iter().find(|&&other| self.are_equal(id, other)) {
                    Some(&other) => {
                        merged[index] = other;
                        is_changed = true;
                    }
                    None if candidates.len() < CANDIDATES_MAX => candidates.push(id),
                    None => {}
                }
            }
            if !is_changed || !is_named_before {
                break;
            }
        }
        // A representative may have been merged in a later round; the first of each class represents all.
        let mut first: Vec<Option<SchemaId>> = vec![None; n_schemas];
        for index in 0..n_schemas {
            let mut of = merged[index];
            while merged[of.index()] != of {
                of = merged[of.index()];
            }
            merged[index] = *first[of.index()].get_or_insert(SchemaId::new(index));
        }
        for schema in &mut self.schemas {
            for_each_below(&mut schema.body, |id| *id = merged[id.index()]);
        }
        Ok(merged.into())
    }

    fn hash(&self, id: SchemaId, random: &RandomState) -> u64 {
        let Schema { document, resource, draft, body, .. } = self.schema(id);
        let json = self.json(*document);
        let mut state = random.build_hasher();
        (resource, draft).hash(&mut state);
        match body {
            Body::Bool(verdict) => verdict.hash(&mut state),
            Body::Keywords { entries, .. } => {
                for Entry { keyword, .. } in entries {
                    match keyword.listed() {
                        Some(values) => {
                            values.iter().for_each(|&value| hash_of(json, value, random, 0).hash(&mut state))
                        }
                        None => keyword.hash(&mut state),
                    }
                }
            }
        }
        state.finish()
    }

    fn are_equal(&self, a: SchemaId, b: SchemaId) -> bool {
        let (a, b) = (self.schema(a), self.schema(b));
        let (in_a, in_b) = (self.json(a.document), self.json(b.document));
        (a.resource, a.draft) == (b.resource, b.draft)
            && match (&a.body, &b.body) {
                (Body::Bool(a), Body::Bool(b)) => a == b,
                (Body::Keywords { entries: a, .. }, Body::Keywords { entries: b, .. }) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| say_the_same(a, in_a, b, in_b))
                }
                _ => false,
            }
    }
}

/// Returns a hash of a value, the same for values that are equal; what is nested too deep makes no difference.
fn hash_of(json: &Json, value: ValueId, random: &RandomState, depth: usize) -> u64 {
    const DEPTH_MAX: usize = 8;
    let below = |value| if depth < DEPTH_MAX { hash_of(json, value, random, depth + 1) } else { 0 };
    match json.value(value) {
        Value::Null => 0,
        Value::Bool(verdict) => random.hash_one(verdict),
        Value::Number(number) => random.hash_one(number),
        Value::String(text) => random.hash_one(text),
        Value::Array(items) => {
            let mut state = random.build_hasher();
            items.iter().for_each(|&item| below(item).hash(&mut state));
            state.finish()
        }
        // In any order.
        Value::Object(members) => {
            let hashes = members.iter().map(|member| random.hash_one((json.key(member), below(member.value))));
            hashes.fold(1, u64::wrapping_add)
        }
    }
}

fn say_the_same(a: &Entry, in_a: &Json, b: &Entry, in_b: &Json) -> bool {
    let equal = |(a, b): (&ValueId, &ValueId)| in_a.equal(*a, in_b, *b);
    match (a.keyword.listed(), b.keyword.listed()) {
        // Values are equal by content, wherever they are written.
        (Some(a_values), Some(b_values)) => {
            a.keyword.is_same_value_word(&b.keyword)
                && a_values.len() == b_values.len()
                && a_values.iter().zip(b_values).all(equal)
        }
        _ => a.keyword == b.keyword,
    }
}

/// Calls `visit` with each direct sub-schema of a schema.
fn for_each_below(body: &mut Body, mut visit: impl FnMut(&mut SchemaId)) {
    let Body::Keywords { entries, .. } = body else { return };
    entries.iter_mut().for_each(|entry| entry.keyword.for_each_schema_mut(|id, _| visit(id)));
}

#[cfg(test)]
mod tests {
    use super::super::model::{Keyword, ObjectKeyword};
    use super::super::{NoDocuments, ReadOptions};
    use super::*;
    use crate::Limits;
    use std::sync::Arc;

    /// Returns the properties of a schema as numbers, equal where they lead to one sub-schema.
    fn properties(schema: &str) -> Vec<usize> {
        let json = Json::parse(schema, &Limits::default()).unwrap();
        let mut model = SchemaModel::read(json, &ReadOptions::default(), &NoDocuments, &Limits::default()).unwrap();
        model.merge_equal(&CompileBudget::none()).unwrap();
        let Keyword::Object(ObjectKeyword::Properties(named)) = &model.schema(model.root()).entries()[0].keyword else {
            panic!()
        };
        let mut seen: Vec<SchemaId> = Vec::new();
        let number = |(_, id): &(Arc<str>, SchemaId)| {
            seen.iter().position(|other| other == id).unwrap_or_else(|| {
                seen.push(*id);
                seen.len() - 1
            })
        };
        named.iter().map(number).collect()
    }

    #[test]
    fn what_says_the_same_is_one() {
        let found = properties(
            r##"{"properties": {
                "a": {"items": {"type": "string"}, "title": "A"},
                "b": {"title": "B", "items": {"type": "string"}},
                "c": {"items": {"type": "number"}},
                "d": {"const": [1]}, "e": {"const": [1.0]}, "f": {"const": [2]},
                "g": {"enum": [1, 2]}, "h": {"enum": [2, 1]},
                "i": {"$ref": "#", "description": "x"}, "j": {"$ref": "#"},
                "k": true, "l": true, "m": false,
                "n": {"properties": {"x": {"items": {"type": "string"}}}},
                "o": {"properties": {"x": {"items": {"type": "string"}}}},
                "p": {"properties": {"y": {"items": {"type": "string"}}}}
            }}"##,
        );
        assert_eq!(found, [0, 0, 1, 2, 2, 3, 4, 5, 6, 6, 7, 7, 8, 9, 9, 10]);
    }
}

//! Explanation of unsatisfiable schemas: a minimal set of contradictory keywords, and its location.
//!
//! Lowering finds only at the end that the root is not productive, and by then there are only automata. To name keywords, schemas with fewer
//! of them are lowered again: a keyword whose removal leaves the schema unsatisfiable is irrelevant, and a set from which none can be removed
//! is the contradiction (delta debugging). Large parts are tried first, so that k of n keywords are found after some k log n lowerings.
//!
//! ```text
//! {"type": "object", "required": ["b", "a"], "properties": {"a": {"minLength": 5, "maxLength": 3, "type": "string"}, "b": {}}}
//!   what is needed: type, required "a", properties "a"     the value of "a" alone has no value: one level down
//!   what is needed there: minLength, maxLength, type       minLength 5 with maxLength 3, at #/properties/a
//! ```
//!
//! The keywords of one *level* are those that apply to one value: of a schema, and of its references and `allOf`. They are copied into
//! new schemas of a copy of the model, and only the copies lose keywords, so that references to the originals, also under a negation, keep
//! their meaning. Removal must never forbid more: `properties` beside `additionalProperties` keeps its names, with unconstrained values, and
//! keywords that evaluate for `unevaluated...` stay as long as that does. So the keywords named are contradictory, however the search ends.
//!
//! This runs only for unsatisfiable schemas. Each test is a lowering and exact, and both their number and their steps together are bounded;
//! when that budget is exhausted, the error only says that the schema is unsatisfiable.

mod words;

use super::error::SchemaError;
use super::keywords::{
    LISTED_MAX, Wording, describe, describe_alone, listed, n_parts, parts_of, rank, types_of, without_parts,
};
use super::language::Languages;
use super::lower::{SchemaStore, has_values, n_different};
use super::model::{
    Applies, ArrayKeyword, Body, DocumentId, Entry, Keyword, LogicKeyword, ObjectKeyword, ReferenceKeyword, Schema,
    SchemaId, SchemaModel, TypeSet, ValueKeyword,
};
use super::value::{Value, ValueId};
use crate::Limits;
use crate::pass::CompileBudget;
use crate::schema_options::SchemaOptions;
use hashbrown::HashSet;
use std::sync::Arc;

/// Most lowerings for one schema.
const QUESTIONS_MAX: usize = 512;
/// Most steps of all lowerings for one schema, some tens of milliseconds.
const STEPS_MAX: u64 = 1 << 23;
/// Greatest depth of levels.
const LEVELS_MAX: usize = 256;

/// Returns the error for a schema that has no value.
pub(super) fn explain(
    model: &SchemaModel,
    options: &SchemaOptions,
    store: &Arc<SchemaStore>,
    limits: &Limits,
    budget: &CompileBudget,
) -> SchemaError {
    let mut probe = model.clone();
    let root = probe.schema(probe.root()).clone();
    let anything = SchemaId::new(probe.schemas.len());
    probe.schemas.push(Schema { body: Body::Bool(true), ..root });
    let is_dynamic = probe.schemas.iter().any(|schema| schema.entries().iter().any(|entry| entry.keyword.is_dynamic()));
    let languages = store.languages(budget);
    let (n_questions, n_steps) = (0, 0);
    let mut search =
        Search { model, probe, anything, is_dynamic, options, store, languages, limits, budget, n_questions, n_steps };
    search.explain()
}

struct Search<'a> {
    model: &'a SchemaModel,
    /// The model, followed by the schemas that lose keywords.
    probe: SchemaModel,
    /// A schema that every value satisfies.
    anything: SchemaId,
    /// Whether there are dynamic references: then no reference is followed.
    is_dynamic: bool,
    options: &'a SchemaOptions,
    store: &'a Arc<SchemaStore>,
    languages: Languages<'a>,
    limits: &'a Limits,
    budget: &'a CompileBudget,
    n_questions: usize,
    n_steps: u64,
}

/// A location. Equal schemas were merged, so a schema has no unique one.
#[derive(Clone, Copy)]
struct Location {
    document: DocumentId,
    value: ValueId,
}

/// Schemas that one value must satisfy.
struct Level {
    schemas: Vec<(SchemaId, Location)>,
    /// The location to report if there is no more specific one.
    home: Location,
    /// The keywords that require a value at this level.
    through: Through,
}

/// The keywords that require a value of a level.
#[derive(Clone)]
enum Through {
    Root,
    Required(Arc<str>),
    MinItems(u64),
    Contains,
    /// Both constrain the item.
    ContainsWithItems,
}

/// A schema whose keywords are removed one by one.
struct Part {
    schema: Schema,
    location: Location,
    /// The copy that loses them.
    copy: SchemaId,
}

/// A unit of removal: a keyword, or one name or item of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Atom {
    part: usize,
    entry: usize,
    sub: Option<usize>,
}

/// The result for one level.
enum Verdict {
    Reason { text: String, keywords: Vec<String>, at: Location },
    Below(Level),
    Unknown,
}

impl Search<'_> {
    fn explain(&mut self) -> SchemaError {
        let root = self.model.root();
        let location = self.location_of(root);
        let mut level = Level { schemas: vec![(root, location)], home: location, through: Through::Root };
        let mut seen: Vec<Vec<SchemaId>> = Vec::new();
        let mut prefix = "";
        for _ in 0..LEVELS_MAX {
            if matches!(level.through, Through::ContainsWithItems) {
                prefix = "contains with items: ";
            }
            let mut ids: Vec<SchemaId> = level.schemas.iter().map(|&(id, _)| id).collect();
            ids.sort_unstable();
            if seen.contains(&ids) {
                let (words, keyword) = words::asking(&level.through);
                let text = format!("{words} asks for one such value within the other, without end");
                return self.error(text, vec![keyword.to_owned()], level.home);
            }
            seen.push(ids);
            match self.explain_level(&level) {
                Verdict::Reason { text, keywords, at } => return self.error(format!("{prefix}{text}"), keywords, at),
                Verdict::Below(below) => level = below,
                Verdict::Unknown => break,
            }
        }
        self.error("no value is valid".to_owned(), Vec::new(), level.home)
    }

    fn error(&self, text: String, keywords: Vec<String>, at: Location) -> SchemaError {
        let uri = self.model.document_uri(at.document);
        SchemaError::unsatisfiable(text, keywords).at(uri, self.model.json(at.document), at.value)
    }

    /// Finds a contradiction in schemas that no value satisfies together.
    fn explain_level(&mut self, level: &Level) -> Verdict {
        let mut parts = match self.parts(&level.schemas) {
            Ok(parts) => parts,
            Err(at) => {
                let text = "`false` allows no value".to_owned();
                return Verdict::Reason { text, keywords: Vec::new(), at };
            }
        };
        let mut atoms = self.atoms(&parts);
        if !self.are_empty_with(&parts, &atoms) || !self.reduce(&parts, &mut atoms) || atoms.is_empty() {
            return Verdict::Unknown;
        }
        if let Some(below) = self.below(level, &parts, &atoms) {
            return Verdict::Below(below);
        }
        let is_any_number = self.widen_integers(&mut parts, &atoms);
        self.in_words(level, &parts, atoms, is_any_number)
    }

    /// Returns the schemas that the value must satisfy, those of references and `allOf` separately; as an error, the location of one that is
    /// `false`.
    fn parts(&mut self, schemas: &[(SchemaId, Location)]) -> Result<Vec<Part>, Location> {
        let mut parts = Vec::new();
        let mut pending: Vec<(SchemaId, Location)> = schemas.iter().rev().copied().collect();
        let mut seen: HashSet<SchemaId> = HashSet::new();
        while let Some((id, location)) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            let mut schema = self.model.schema(id).clone();
            let Body::Keywords { entries, .. } = &mut schema.body else {
                match schema.body {
                    Body::Bool(false) => return Err(location),
                    _ => continue,
                }
            };
            // Keywords that evaluate for an `unevaluated...` keyword stay in their schema.
            if !self.is_dynamic && !entries.iter().any(|entry| is_unevaluated(&entry.keyword)) {
                let first = pending.len();
                entries.retain(|entry| match &entry.keyword {
                    Keyword::Reference(ReferenceKeyword::Ref(target)) => {
                        pending.push((*target, self.location_of(*target)));
                        false
                    }
                    Keyword::Logic(LogicKeyword::AllOf(ids)) => {
                        pending.extend(
                            (0..ids.len()).map(|index| (ids[index], self.sub_location(id, location, entry, index))),
                        );
                        false
                    }
                    Keyword::Logic(LogicKeyword::AnyOf(ids)) | Keyword::Logic(LogicKeyword::OneOf(ids))
                        if ids.len() == 1 =>
                    {
                        pending.push((ids[0], self.sub_location(id, location, entry, 0)));
                        false
                    }
                    _ => true,
                });
                pending[first..].reverse();
            }
            let copy = SchemaId::new(self.probe.schemas.len());
            self.probe.schemas.push(schema.clone());
            parts.push(Part { schema, location, copy });
        }
        Ok(parts)
    }

    /// Returns the units of removal, the most complex first: simple ones make the better explanation.
    fn atoms(&self, parts: &[Part]) -> Vec<Atom> {
        let mut atoms = Vec::new();
        for (part, Part { schema, .. }) in parts.iter().enumerate() {
            for (entry, Entry { keyword, .. }) in schema.entries().iter().enumerate() {
                // It only allows more values.
                if matches!(keyword, Keyword::Value(ValueKeyword::Nullable(_))) {
                    continue;
                }
                let Some(n_subs) = n_parts(keyword) else {
                    atoms.push(Atom { part, entry, sub: None });
                    continue;
                };
                atoms.extend((0..n_subs).map(|sub| Atom { part, entry, sub: Some(sub) }));
            }
        }
        atoms.sort_by_key(|atom| core::cmp::Reverse(rank(keyword(parts, *atom))));
        atoms
    }

    /// Removes what can be removed; returns whether the search was completed.
    fn reduce(&mut self, parts: &[Part], atoms: &mut Vec<Atom>) -> bool {
        let mut size = atoms.len().div_ceil(2);
        loop {
            let mut start = 0;
            while start < atoms.len() {
                let end = (start + size).min(atoms.len());
                let is_left_out = |index: usize| (start..end).contains(&index);
                let remaining = atoms.iter().enumerate().filter(|(index, _)| !is_left_out(*index));
                let waiting: HashSet<usize> = remaining
                    .filter(|(_, atom)| is_unevaluated(keyword(parts, **atom)))
                    .map(|(_, atom)| atom.part)
                    .collect();
                let fewer = atoms.iter().enumerate().filter(|(index, atom)| {
                    !is_left_out(*index) || waiting.contains(&atom.part) && may_evaluate(keyword(parts, **atom))
                });
                let fewer: Vec<Atom> = fewer.map(|(_, atom)| *atom).collect();
                if fewer.len() < atoms.len() && self.are_empty_with(parts, &fewer) {
                    *atoms = fewer;
                } else {
                    start = end;
                }
                if self.is_spent() {
                    return false;
                }
            }
            if size <= 1 {
                return true;
            }
            size = size.div_ceil(2);
        }
    }

    /// Returns the level below that is unsatisfiable on its own: the value of a required key, or a required item.
    fn below(&mut self, level: &Level, parts: &[Part], atoms: &[Atom]) -> Option<Level> {
        if self.is_dynamic {
            return None;
        }
        // The remaining part of each keyword, and the keys and items that it requires.
        let (mut names, mut counts, mut contains) = (Vec::new(), Vec::new(), Vec::new());
        let mut values: Vec<Atom> = Vec::new();
        for &atom in atoms {
            match keyword(parts, atom) {
                Keyword::Value(ValueKeyword::Type(_)) => {}
                Keyword::Object(ObjectKeyword::Required(all)) => names.push(Arc::clone(&all[atom.sub?])),
                Keyword::Array(ArrayKeyword::MinItems(min)) => counts.push(*min),
                Keyword::Array(ArrayKeyword::Contains { schema, min: 1.., .. }) => contains.push((atom, *schema)),
                Keyword::Object(ObjectKeyword::Properties(_))
                | Keyword::Object(ObjectKeyword::PatternProperties(_))
                | Keyword::Object(ObjectKeyword::AdditionalProperties(_))
                | Keyword::Array(ArrayKeyword::PrefixItems(_))
                | Keyword::Array(ArrayKeyword::Items(_)) => values.push(atom),
                _ => return None,
            }
        }
        match (&names[..], &counts[..], &contains[..]) {
            ([name], [], []) => {
                let schemas = self.values_of(name, parts, &values)?;
                self.if_empty(schemas, None, Through::Required(Arc::clone(name)))
            }
            ([], [min], []) => {
                let n_prefix = |atom: &Atom| parts[atom.part].schema.n_prefix_items();
                let first = |atom: &Atom| atom.sub.unwrap_or_else(|| n_prefix(atom));
                for index in values.iter().map(first).filter(|&index| (index as u64) < *min) {
                    let here =
                        values.iter().filter(|atom| atom.sub.map_or(n_prefix(atom) <= index, |sub| sub == index));
                    let schemas = here.flat_map(|atom| self.value_under(parts, *atom)).collect();
                    let below = self.if_empty(schemas, None, Through::MinItems(*min));
                    if below.is_some() {
                        return below;
                    }
                }
                None
            }
            ([], [], [(atom, schema)]) => {
                let part = &parts[atom.part];
                let entry = &part.schema.entries()[atom.entry];
                let counted = (*schema, self.below_key(&part.schema, part.location, entry, None));
                if values.is_empty() {
                    return self.if_empty(vec![counted], None, Through::Contains);
                }
                let are_all =
                    values.iter().all(|atom| atom.sub.is_none() && parts[atom.part].schema.n_prefix_items() == 0);
                if !are_all {
                    return None;
                }
                let mut schemas = vec![counted];
                schemas.extend(values.iter().flat_map(|atom| self.value_under(parts, *atom)));
                self.if_empty(schemas, Some(level.home), Through::ContainsWithItems)
            }
            _ => None,
        }
    }

    /// Returns a level, unless some value satisfies all its schemas or one is `false`, which needs no further explanation.
    fn if_empty(
        &mut self,
        schemas: Vec<(SchemaId, Location)>,
        home: Option<Location>,
        through: Through,
    ) -> Option<Level> {
        let is_false = |&(id, _): &(SchemaId, Location)| matches!(self.model.schema(id).body(), Body::Bool(false));
        let home = home.or_else(|| schemas.first().map(|&(_, location)| location))?;
        if schemas.iter().any(is_false) {
            return None;
        }
        let ids: Vec<SchemaId> = schemas.iter().map(|&(id, _)| id).collect();
        self.are_empty(&ids).then_some(Level { schemas, home, through })
    }

    /// Returns the schemas that apply to the value of a key, by remaining keywords.
    fn values_of(&mut self, name: &str, parts: &[Part], values: &[Atom]) -> Option<Vec<(SchemaId, Location)>> {
        let mut schemas = Vec::new();
        for &atom in values {
            let applies = match (keyword(parts, atom), atom.sub) {
                (Keyword::Object(ObjectKeyword::Properties(named)), Some(sub)) => *named[sub].0 == *name,
                (Keyword::Object(ObjectKeyword::PatternProperties(named)), Some(sub)) => {
                    self.is_match(&named[sub].0, name)?
                }
                (Keyword::Object(ObjectKeyword::AdditionalProperties(_)), None) => {
                    let mut is_known = false;
                    for entry in parts[atom.part].schema.entries() {
                        match &entry.keyword {
                            Keyword::Object(ObjectKeyword::Properties(named)) => {
                                is_known |= named.iter().any(|(declared, _)| **declared == *name)
                            }
                            Keyword::Object(ObjectKeyword::PatternProperties(named)) => {
                                for (pattern, _) in named {
                                    is_known |= self.is_match(pattern, name)?;
                                }
                            }
                            _ => {}
                        }
                    }
                    !is_known
                }
                _ => return None,
            };
            if applies {
                schemas.extend(self.value_under(parts, atom));
            }
        }
        Some(schemas)
    }

    fn is_match(&mut self, pattern: &str, name: &str) -> Option<bool> {
        let language = self.languages.pattern(pattern, "patternProperties", self.limits).ok()?;
        self.languages.contains(language, name).ok()
    }

    /// Returns the schema of an atom that applies to values below.
    fn value_under(&self, parts: &[Part], atom: Atom) -> Option<(SchemaId, Location)> {
        let Part { schema, location, .. } = &parts[atom.part];
        let entry = &schema.entries()[atom.entry];
        let id = match (&entry.keyword, atom.sub) {
            (
                Keyword::Object(ObjectKeyword::Properties(named))
                | Keyword::Object(ObjectKeyword::PatternProperties(named)),
                Some(sub),
            ) => {
                let (name, id) = &named[sub];
                return Some((*id, self.below_key(schema, *location, entry, Some(name))));
            }
            (Keyword::Array(ArrayKeyword::PrefixItems(items)), Some(sub)) => {
                return Some((items[sub], self.below_index(schema, *location, entry, sub)));
            }
            (
                Keyword::Array(ArrayKeyword::Items(id)) | Keyword::Object(ObjectKeyword::AdditionalProperties(id)),
                None,
            ) => *id,
            _ => return None,
        };
        Some((id, self.below_key(schema, *location, entry, None)))
    }

    /// Returns whether the keywords stay contradictory if integers may be any numbers.
    fn widen_integers(&mut self, parts: &mut [Part], atoms: &[Atom]) -> bool {
        let mut is_changed = false;
        let before: Vec<Schema> = parts.iter().map(|part| part.schema.clone()).collect();
        for atom in atoms {
            let Body::Keywords { entries, .. } = &mut parts[atom.part].schema.body else { continue };
            if let Keyword::Value(ValueKeyword::Type(set)) = &mut entries[atom.entry].keyword
                && *set == TypeSet::INTEGER
            {
                *set = TypeSet::NUMBER;
                is_changed = true;
            }
        }
        let is_wide = is_changed && self.are_empty_with(parts, atoms);
        for (part, schema) in parts.iter_mut().zip(before) {
            part.schema = schema;
        }
        is_wide
    }

    /// Returns whether surely no value satisfies the remaining keywords of some parts.
    fn are_empty_with(&mut self, parts: &[Part], atoms: &[Atom]) -> bool {
        let remaining: HashSet<Atom> = atoms.iter().copied().collect();
        for (part_index, part) in parts.iter().enumerate() {
            let entries = part.schema.entries().iter().enumerate().filter_map(|(index, entry)| {
                let remains = |sub| remaining.contains(&Atom { part: part_index, entry: index, sub });
                let Entry { value, is_foreign, keyword } = entry;
                Some(Entry {
                    value: *value,
                    is_foreign: *is_foreign,
                    keyword: without_parts(keyword, self.anything, &remains)?,
                })
            });
            let entries = entries.collect();
            self.probe.schemas[part.copy.index()].body = Body::Keywords { entries, annotations: Vec::new() };
        }
        self.n_steps += atoms.len() as u64;
        let ids: Vec<SchemaId> = parts.iter().map(|part| part.copy).collect();
        self.are_empty(&ids)
    }

    /// Returns whether surely no value satisfies all of some schemas of the probe.
    fn are_empty(&mut self, ids: &[SchemaId]) -> bool {
        if self.is_spent() {
            return false;
        }
        self.n_questions += 1;
        let budget = self.budget.for_steps(STEPS_MAX - self.n_steps);
        let answer = has_values(&self.probe, ids, self.options, self.store, self.limits, &budget);
        self.n_steps += budget.n_steps() + self.probe.n_schemas() as u64;
        matches!(answer, Ok(false))
    }

    fn is_spent(&self) -> bool {
        self.n_questions >= QUESTIONS_MAX || self.n_steps >= STEPS_MAX
    }

    fn location_of(&self, id: SchemaId) -> Location {
        let schema = self.model.schema(id);
        Location { document: schema.document(), value: schema.value() }
    }

    /// Returns the location of the value of a keyword of a schema at a location, or of a member of that value.
    fn below_key(&self, schema: &Schema, location: Location, entry: &Entry, name: Option<&str>) -> Location {
        let word = self.model.json(schema.document()).key_of(entry.value).unwrap_or_default();
        let json = self.model.json(location.document);
        let value = json.member(location.value, word).unwrap_or(location.value);
        let value = name.and_then(|name| json.member(value, name)).unwrap_or(value);
        Location { value, ..location }
    }

    fn below_index(&self, schema: &Schema, location: Location, entry: &Entry, index: usize) -> Location {
        let list = self.below_key(schema, location, entry, None);
        match self.model.json(location.document).value(list.value) {
            Value::Array(items) => Location { value: items.get(index).copied().unwrap_or(list.value), ..location },
            _ => list,
        }
    }

    fn sub_location(&self, id: SchemaId, location: Location, entry: &Entry, index: usize) -> Location {
        self.below_index(self.model.schema(id), location, entry, index)
    }
}

fn keyword(parts: &[Part], atom: Atom) -> &Keyword {
    &parts[atom.part].schema.entries()[atom.entry].keyword
}

fn is_unevaluated(keyword: &Keyword) -> bool {
    keyword.unevaluated().is_some()
}

/// Returns whether removing a keyword could leave more unevaluated. Keywords that declare properties or items keep them when they lose their
/// parts.
fn may_evaluate(keyword: &Keyword) -> bool {
    let mut is_applicator = matches!(keyword, Keyword::Array(ArrayKeyword::Contains { .. }));
    keyword.for_each_schema(|_, applies| is_applicator |= applies == Applies::InPlace);
    is_applicator
}

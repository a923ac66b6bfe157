//! From documents to a [`SchemaModel`]: identifiers and references.
//!
//! There are two steps. *Indexing* visits all locations of a document that can have sub-schemas and records `$id`s and
//! anchors: `{"enum": [{"$id": "x"}]}` identifies nothing, and an `$id` is known before an earlier reference needs it.
//! *Reading* then starts at the root and reads only reachable sub-schemas, so that unused ones do no harm, such as a
//! malformed entry of `$defs` or a reference to a missing document. A reference may point to a location that indexing
//! did not visit (`#/x-parts/a`): that part is indexed then, under the enclosing resource.
//!
//! Both steps use worklists. Each document has two tables by value: the resource of a location and its
//! sub-schema, so that every value is visited once, however many references point to it.

use super::draft::{Dialect, Draft, Vocabularies};
use super::error::SchemaError;
use super::keywords::{self, Holds, ReadDialect, SubSchemas, word};
use super::metaschemas;
use super::model::{Body, Document, DocumentId, Resource, ResourceId, Schema, SchemaId, SchemaModel};
use super::resolve;
use super::uri;
use super::value::{Json, Value, ValueId};
use super::wrapper;
use crate::Limits;
use crate::schema_options::ReadOptions;
use crate::schema_options::{Resolve, Source};
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

impl SchemaModel {
    /// Reads a schema and all schemas that it refers to.
    ///
    /// # Errors
    /// If a reachable keyword has a malformed value, a reference has no target or points into a document that is neither
    /// the metaschema of a draft nor known to `resolver`, a key is duplicate, or a limit is exceeded.
    pub fn read(
        json: Json,
        options: &ReadOptions,
        resolver: &dyn Resolve,
        limits: &Limits,
    ) -> Result<SchemaModel, SchemaError> {
        SchemaModel::read_within(json, options, resolver, limits, &|_| true)
    }

    /// As [`Self::read`], but asks `go_on` at each place whether to go on. If not there is an error that is of no use to anybody: who stops
    /// knows why.
    pub(crate) fn read_within(
        json: Json,
        options: &ReadOptions,
        resolver: &dyn Resolve,
        limits: &Limits,
        go_on: &dyn Fn(usize) -> bool,
    ) -> Result<SchemaModel, SchemaError> {
        // Capacity for most schemas: about a third of the values are schemas themselves.
        let schemas = Vec::with_capacity((json.n_values() / 3).min(64));
        let model = SchemaModel { documents: vec![], resources: vec![], schemas, dynamic: HashMap::new() };
        let (tables, uris, weak_uris, dynamic_names, unused_anchors, dynamic_targets, open) = Default::default();
        let mut loader = Loader {
            model,
            options,
            resolver,
            limits,
            go_on,
            tables,
            uris,
            weak_uris,
            dynamic_names,
            unused_anchors,
            dynamic_targets,
            open,
        };
        let base = uri::split_fragment(&options.base_uri).0.to_owned();
        let document = loader.add_document(&base, json)?;
        let root = loader.root(document)?;
        // A pointer may lead to where keywords lead to no schema.
        loader.index_around(document, root)?;
        loader.schema_at(document, root)?;
        match loader.read_all() {
            Ok(()) => Ok(loader.model),
            Err(error) => Err(match wrapper::find(loader.model.json(document), root) {
                Some(found) => error.with_hint(format!("this looks like {}; {}", found.what, found.hint())),
                None => error,
            }),
        }
    }
}

/// Tables by value of a document.
struct Tables {
    /// The resource of an indexed location.
    resource: Vec<Option<ResourceId>>,
    schema: Vec<Option<SchemaId>>,
}

struct Loader<'a> {
    model: SchemaModel,
    options: &'a ReadOptions,
    resolver: &'a dyn Resolve,
    limits: &'a Limits,
    go_on: &'a dyn Fn(usize) -> bool,
    tables: Vec<Tables>,
    uris: HashMap<Box<str>, ResourceId>,
    /// Locations below resources with identifiers of other drafts.
    weak_uris: HashMap<Box<str>, (DocumentId, ValueId)>,
    /// Names of dynamic anchors that references use.
    dynamic_names: HashSet<Box<str>>,
    /// By name: the dynamic anchors that no reference uses so far.
    unused_anchors: HashMap<Box<str>, Vec<(ResourceId, ValueId)>>,
    /// Those that references use, and that are not read yet.
    dynamic_targets: Vec<(ResourceId, ValueId, Box<str>)>,
    /// The worklist of indexing, reused.
    open: Vec<(ValueId, ResourceId)>,
}

/// What a place that may hold a sub-schema counts, and a sub-schema that is read.
const STEPS_PER_PLACE: usize = 4;
const STEPS_PER_SCHEMA: usize = 16;

/// Says up to where a pointer leads, and what is there.
fn no_value_at(json: &Json, pointer: &str) -> String {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return format!("the pointer {pointer:?} must begin with `/`, like `/components/schemas/Pet`");
    }
    // The longest part that leads somewhere ends before a slash.
    let mut found = pointer;
    let value = loop {
        found = found.rfind('/').map_or("", |slash| &found[..slash]);
        match json.at_pointer(found) {
            Some(value) => break value,
            None if found.is_empty() => return format!("there is no value at {pointer:?} in the document"),
            None => {}
        }
    };
    let missing = &pointer[found.len() + 1..];
    let missing = missing.split('/').next().unwrap_or(missing).replace("~1", "/").replace("~0", "~");
    let place = if found.is_empty() { "the document".to_owned() } else { format!("the value at {found:?}") };
    let mut reason = format!("there is no value at {pointer:?}: {place} has no {missing:?}");
    if let Value::Object(members) = json.value(value) {
        let names = || members.iter().map(|member| json.key(member));
        if let Some(near) = crate::util::closest_name(&missing, names()) {
            reason += &format!(" (did you mean {near:?}?)");
        } else if !members.is_empty() {
            const SHOWN_MAX: usize = 8;
            let shown: Vec<String> = names().take(SHOWN_MAX).map(|name| format!("{name:?}")).collect();
            let more = if members.len() > SHOWN_MAX { ", ..." } else { "" };
            reason += &format!(" (it has {}{more})", shown.join(", "));
        }
    }
    reason
}

/// Returns the pointer to a value that differs from one to nothing in a single name, which is near to the one given.
fn near_pointer(json: &Json, root: ValueId, pointer: &str) -> Option<String> {
    let mut found = pointer;
    let value = loop {
        found = &found[..found.rfind('/')?];
        if let Some(value) = json.at_pointer_from(root, found) {
            break value;
        }
    };
    let (missing, rest) = pointer[found.len() + 1..]
        .split_once('/')
        .map_or_else(|| (&pointer[found.len() + 1..], String::new()), |(missing, rest)| (missing, format!("/{rest}")));
    let Value::Object(members) = json.value(value) else { return None };
    let missing = missing.replace("~1", "/").replace("~0", "~");
    let near = crate::util::closest_name(&missing, members.iter().map(|member| json.key(member)))?;
    let near = format!("{found}/{}{rest}", near.replace('~', "~0").replace('/', "~1"));
    json.at_pointer_from(root, &near).map(|_| near)
}

impl Loader<'_> {
    /// Returns the value that the pointer of the options names.
    fn root(&self, document: DocumentId) -> Result<ValueId, SchemaError> {
        let json = &self.model.documents[document.index()].json;
        let pointer = &self.options.pointer;
        json.at_pointer(pointer).ok_or_else(|| {
            let reason = no_value_at(json, pointer);
            SchemaError::option("pointer", reason)
        })
    }

    /// Counts steps.
    fn look(&self, n_steps: usize) -> Result<(), SchemaError> {
        if (self.go_on)(n_steps) { Ok(()) } else { Err(SchemaError::interrupted()) }
    }

    /// Reads sub-schemas until none is new.
    fn read_all(&mut self) -> Result<(), SchemaError> {
        let mut next = 0;
        loop {
            while next < self.model.schemas.len() {
                self.look(STEPS_PER_SCHEMA)?;
                self.model.schemas[next].body = self.read_schema(SchemaId::new(next))?;
                next += 1;
            }
            // The possible targets of a dynamic reference are reachable too.
            let mut targets = core::mem::take(&mut self.dynamic_targets);
            targets.sort_unstable();
            for (resource, value, name) in targets {
                let schema = self.schema_at(self.model.resources[resource.index()].document, value)?;
                self.model.dynamic.insert((resource, name), schema);
            }
            if next == self.model.schemas.len() {
                return Ok(());
            }
        }
    }

    fn read_schema(&mut self, id: SchemaId) -> Result<Body, SchemaError> {
        let Schema { document, value, .. } = *self.model.schema(id);
        let json = Arc::clone(&self.model.documents[document.index()].json);
        keywords::read(&mut SchemaLoader { loader: self, schema: id, document }, &json, value)
    }

    /// Returns the sub-schema of an indexed location.
    fn schema_at(&mut self, document: DocumentId, value: ValueId) -> Result<SchemaId, SchemaError> {
        let tables = &mut self.tables[document.index()];
        if let Some(schema) = tables.schema[value.index()] {
            return Ok(schema);
        }
        let n_schemas = self.model.schemas.len();
        if n_schemas >= self.limits.n_schemas_max {
            let error = SchemaError::too_much("n_schemas_max", n_schemas + 1, self.limits.n_schemas_max);
            return Err(self.placed(error, document, value));
        }
        let resource = tables.resource[value.index()].expect("the place was indexed");
        let id = SchemaId::new(n_schemas);
        tables.schema[value.index()] = Some(id);
        let draft = self.model.resources[resource.index()].dialect.draft;
        self.model.schemas.push(Schema { document, value, resource, draft, body: Body::Bool(true) });
        Ok(id)
    }

    /// Adds the location to an error.
    fn placed(&self, error: SchemaError, document: DocumentId, value: ValueId) -> SchemaError {
        let Document { uri, json } = &self.model.documents[document.index()];
        error.at(uri, json, value)
    }

    fn dialect(&self, resource: ResourceId) -> Dialect {
        self.model.resources[resource.index()].dialect
    }

    /// Adds a document under its URI and indexes it.
    fn add_document(&mut self, base: &str, json: Json) -> Result<DocumentId, SchemaError> {
        let n_documents = self.model.documents.len() + 1;
        if n_documents > self.limits.n_documents_max {
            return Err(SchemaError::too_much("n_documents_max", n_documents, self.limits.n_documents_max));
        }
        let uri = self.checked_uri(base)?;
        if let Some(again) = json.duplicates().first() {
            let key = json.key_of(again.value).expect("a repeated key has a value");
            let error = SchemaError::duplicate_key(key).at(&uri, &json, again.value);
            return Err(if json.source().is_empty() { error } else { error.in_source(json.source(), again.key_span) });
        }
        let n_values = json.n_values();
        let document = DocumentId::new(n_documents - 1);
        self.tables.push(Tables { resource: vec![None; n_values], schema: vec![None; n_values] });
        self.model.documents.push(Document { uri: uri.clone(), json: Arc::new(json) });
        let default = Dialect { draft: self.options.draft, vocabularies: Vocabularies::ALL, is_named: false };
        let resource = self.add_resource(document, ValueId(0), uri, default)?;
        self.index(document, ValueId(0), resource)?;
        Ok(document)
    }

    fn checked_uri(&self, uri: &str) -> Result<Box<str>, SchemaError> {
        let limit = self.limits.uri_bytes_max;
        if uri.len() > limit {
            return Err(SchemaError::too_much("uri_bytes_max", uri.len(), limit));
        }
        Ok(uri.into())
    }

    /// Adds a resource; its `$schema` may change the dialect. Of several with one URI the first is found by it.
    fn add_resource(
        &mut self,
        document: DocumentId,
        value: ValueId,
        uri: Box<str>,
        outer: Dialect,
    ) -> Result<ResourceId, SchemaError> {
        let dialect = self.dialect_of(document, value, outer)?;
        let id = ResourceId::new(self.model.resources.len());
        self.uris.entry(uri.clone()).or_insert(id);
        let (anchors, dynamic_anchors) = Default::default();
        self.model.resources.push(Resource { document, value, uri, dialect, anchors, dynamic_anchors });
        Ok(id)
    }

    /// Returns another document: the caller's, else a metaschema.
    fn document_at(&self, uri: &str) -> Option<Source> {
        self.resolver.resolve(uri).or_else(|| metaschemas::builtin(uri))
    }

    /// Returns the dialect of a resource by its `$schema`. The dialect of a custom metaschema is given by its
    /// own `$schema` and `$vocabulary`, if the resolver knows it.
    fn dialect_of(&self, document: DocumentId, value: ValueId, outer: Dialect) -> Result<Dialect, SchemaError> {
        const HOPS_MAX: usize = 8;
        let json = self.model.json(document);
        let Some(place) = json.member(value, "$schema") else { return Ok(outer) };
        let Value::String(name) = json.value(place) else { return Ok(outer) };
        let mut name = name.to_owned();
        let mut vocabularies = None;
        for _ in 0..HOPS_MAX {
            if let Some(draft) = Draft::from_uri(&name) {
                let vocabularies = vocabularies.unwrap_or(Vocabularies::ALL);
                return Ok(Dialect { draft, vocabularies, is_named: true });
            }
            let Some(source) = self.document_at(uri::split_fragment(&name).0) else { break };
            let meta = resolve::read(&source, self.limits).map_err(|error| error.in_document(&name))?;
            if let (None, Some(listed)) = (vocabularies, meta.member(meta.root(), "$vocabulary")) {
                let Value::Object(members) = meta.value(listed) else { break };
                let mut all = Vocabularies::NONE;
                for member in members {
                    match Vocabularies::from_uri(meta.key(member)) {
                        Some(vocabulary) => all = all.union(vocabulary),
                        None if meta.value(member.value) == Value::Bool(true) => {
                            let reason = format!("needs the vocabulary {}, which is not known", meta.key(member));
                            return Err(self.placed(SchemaError::keyword_value("$schema", reason), document, place));
                        }
                        None => {}
                    }
                }
                vocabularies = Some(all);
            }
            let Some(Value::String(next)) = meta.member(meta.root(), "$schema").map(|id| meta.value(id)) else { break };
            name = next.to_owned();
        }
        Ok(Dialect { vocabularies: vocabularies.unwrap_or(Vocabularies::ALL), ..outer })
    }

    /// Records the identifiers of all sub-schemas at and below a location of `resource`.
    fn index(&mut self, document: DocumentId, value: ValueId, resource: ResourceId) -> Result<(), SchemaError> {
        let mut open = core::mem::take(&mut self.open);
        open.clear();
        open.push((value, resource));
        while let Some((value, outer)) = open.pop() {
            if self.tables[document.index()].resource[value.index()].is_some() {
                continue;
            }
            self.look(STEPS_PER_PLACE)?;
            let resource = self.identify(document, value, outer)?;
            self.tables[document.index()].resource[value.index()] = Some(resource);
            let json = self.model.json(document);
            let Value::Object(members) = json.value(value) else { continue };
            let held_from = open.len();
            for member in members {
                let Some(word) = word(json.key(member)) else { continue };
                match (word.holds, json.value(member.value)) {
                    (Holds::Schema | Holds::SchemaOrList, Value::Object(_) | Value::Bool(_)) => {
                        open.push((member.value, resource));
                    }
                    (Holds::List | Holds::SchemaOrList, Value::Array(items)) => {
                        open.extend(items.iter().map(|&item| (item, resource)));
                    }
                    (Holds::Map, Value::Object(members)) => {
                        open.extend(members.iter().map(|member| (member.value, resource)));
                    }
                    _ => {}
                }
            }
            // In document order, so that the first of equal names wins.
            open[held_from..].reverse();
        }
        self.open = open;
        Ok(())
    }

    /// Returns the resource that a sub-schema belongs to, a new one if it has an identifier, and records its anchors.
    fn identify(&mut self, document: DocumentId, value: ValueId, outer: ResourceId) -> Result<ResourceId, SchemaError> {
        let json = self.model.json(document);
        // Few schemas have identifiers.
        let is_of_names = |key: &str| key.starts_with('$') || key == "id";
        match json.value(value) {
            Value::Object(members) if members.iter().any(|member| is_of_names(json.key(member))) => {}
            _ => return Ok(outer),
        }
        let is_root = self.model.resources[outer.index()].value == value;
        let text = |key: &str| match json.member(value, key).map(|id| (id, json.value(id))) {
            Some((id, Value::String(text))) => Some((id, text.to_owned())),
            _ => None,
        };
        let mut resource = outer;
        let mut anchors: Vec<Box<str>> = Vec::new();
        let Dialect { draft, is_named, .. } = self.dialect(outer);
        let by_new = text("$id");
        let by_old = text("id").filter(|_| by_new.is_none() && (draft == Draft::Draft4 || !is_named));
        // `$id` in draft 4, and `id` where no draft is named, are weak: they name the location, but below the root
        // they don't change the base.
        let is_weak = !is_root && by_new.is_some() == (draft == Draft::Draft4);
        let is_hidden = !draft.has_ref_siblings() && text("$ref").is_some();
        if let Some((place, id)) = by_new.or(by_old).filter(|_| !is_hidden) {
            let absolute = uri::resolve(&self.model.resources[outer.index()].uri, &id);
            let (base, fragment) = uri::split_fragment(&absolute);
            let base = self.checked_uri(base).map_err(|error| self.placed(error, document, place))?;
            anchors.extend(fragment.filter(|name| !name.is_empty()).map(Box::from));
            if is_root {
                self.uris.entry(base.clone()).or_insert(outer);
                self.model.resources[outer.index()].uri = base;
            } else if is_weak {
                self.weak_uris.entry(base).or_insert((document, value));
            } else if !id.starts_with('#') {
                resource = self.add_resource(document, value, base, self.dialect(outer))?;
            }
        }
        let json = self.model.json(document);
        let text = |key: &str| match json.member(value, key).map(|id| json.value(id)) {
            Some(Value::String(text)) => Some(Box::<str>::from(text)),
            _ => None,
        };
        anchors.extend(text("$anchor"));
        let dynamic = text("$dynamicAnchor");
        let recursive = json.member(value, "$recursiveAnchor").map(|id| json.value(id)) == Some(Value::Bool(true));
        let target = &mut self.model.resources[resource.index()];
        for name in anchors.into_iter().chain(dynamic.clone()) {
            target.anchors.entry(name).or_insert(value);
        }
        for name in dynamic.into_iter().chain((recursive && target.value == value).then(Box::default)) {
            if let Entry::Vacant(place) = target.dynamic_anchors.entry(name.clone()) {
                place.insert(value);
                match self.dynamic_names.contains(&name) {
                    true => self.dynamic_targets.push((resource, value, name)),
                    false => self.unused_anchors.entry(name).or_default().push((resource, value)),
                }
            }
        }
        Ok(resource)
    }

    /// Returns the target of a reference at `place` of a schema, and its dynamic anchor, if it has one.
    fn target(
        &mut self,
        schema: SchemaId,
        keyword: &str,
        reference: &str,
    ) -> Result<(SchemaId, Option<Box<str>>), SchemaError> {
        let outer = self.model.schemas[schema.index()].resource;
        let absolute = uri::resolve(&self.model.resources[outer.index()].uri, reference);
        let (base, fragment) = uri::split_fragment(&absolute);
        let resource = self.uris.get(base).copied();
        let resource = if *base == *self.model.resources[outer.index()].uri { Some(outer) } else { resource };
        let weak = self.weak_uris.get(base).copied().filter(|_| resource.is_none());
        let (document, root) = match (resource, weak) {
            (Some(resource), _) => {
                let Resource { document, value, .. } = self.model.resources[resource.index()];
                (document, value)
            }
            (None, Some(place)) => place,
            (None, None) => {
                let Some(source) = self.document_at(base) else {
                    return Err(SchemaError::without_document(keyword, base));
                };
                let json = resolve::read(&source, self.limits).map_err(|error| error.in_document(base))?;
                (self.add_document(base, json)?, ValueId(0))
            }
        };
        let around = self.tables[document.index()].resource[root.index()].expect("the place was indexed");
        let anchors = &self.model.resources[around.index()].anchors;
        let nowhere = |reason: &str| SchemaError::missing_target(keyword, reference, reason);
        let name = uri::percent_decoded(fragment.unwrap_or("")).ok_or_else(|| nowhere("its fragment is not UTF-8"))?;
        let value = if name.is_empty() {
            root
        } else if name.starts_with('/') {
            let value = self.model.json(document).at_pointer_from(root, &name);
            value.ok_or_else(|| {
                let near = near_pointer(self.model.json(document), root, &name);
                let hint = near.map_or_else(String::new, |near| format!(" (did you mean {:?}?)", format!("#{near}")));
                nowhere(&format!("nothing stands at that pointer{hint}"))
            })?
        } else {
            *anchors.get(&*name).ok_or_else(|| nowhere("there is no such anchor"))?
        };
        self.index_around(document, value)?;
        let resource = self.tables[document.index()].resource[value.index()].expect("the place was indexed");
        let dynamic_anchors = &self.model.resources[resource.index()].dynamic_anchors;
        let dynamic = match keyword {
            "$dynamicRef" if !name.is_empty() && dynamic_anchors.get(&*name) == Some(&value) => Some(name.into()),
            "$recursiveRef" if dynamic_anchors.get("") == Some(&value) => Some(Box::default()),
            _ => None,
        };
        if let Some(name) = &dynamic
            && self.dynamic_names.insert(Box::clone(name))
        {
            let anchors = self.unused_anchors.remove(name).unwrap_or_default();
            self.dynamic_targets
                .extend(anchors.into_iter().map(|(resource, value)| (resource, value, Box::clone(name))));
        }
        Ok((self.schema_at(document, value)?, dynamic))
    }

    /// Indexes the target of a reference, under the resource of the nearest enclosing location that was indexed.
    fn index_around(&mut self, document: DocumentId, value: ValueId) -> Result<(), SchemaError> {
        let json = self.model.json(document);
        let resources = &self.tables[document.index()].resource;
        let mut at = value;
        let resource = loop {
            match resources[at.index()] {
                Some(resource) => break resource,
                None => at = json.parent(at).expect("the root was indexed"),
            }
        };
        self.index(document, value, resource)
    }
}

/// The loader while it reads the keywords of one schema.
struct SchemaLoader<'a, 'b> {
    loader: &'a mut Loader<'b>,
    schema: SchemaId,
    document: DocumentId,
}

impl SubSchemas for SchemaLoader<'_, '_> {
    fn dialect(&self) -> ReadDialect {
        let ReadOptions { has_foreign_keywords, has_nullable, .. } = *self.loader.options;
        let dialect = self.loader.dialect(self.loader.model.schema(self.schema).resource);
        ReadDialect { dialect, has_foreign_keywords, has_nullable }
    }

    fn schema_at(&mut self, value: ValueId) -> Result<SchemaId, SchemaError> {
        self.loader.schema_at(self.document, value)
    }

    fn target(&mut self, keyword: &str, reference: &str) -> Result<(SchemaId, Option<Box<str>>), SchemaError> {
        self.loader.target(self.schema, keyword, reference)
    }

    fn placed(&self, error: SchemaError, value: ValueId) -> SchemaError {
        self.loader.placed(error, self.document, value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{Keyword, LogicKeyword, ReferenceKeyword};
    use super::*;
    use crate::schema_options::{NoDocuments, Source};

    fn read(source: &str) -> Result<SchemaModel, SchemaError> {
        read_with(source, &NoDocuments, &Limits::default())
    }

    fn read_with(source: &str, resolver: &dyn Resolve, limits: &Limits) -> Result<SchemaModel, SchemaError> {
        SchemaModel::read(Json::parse(source, limits)?, &ReadOptions::default(), resolver, limits)
    }

    /// Returns where the references of the root's sub-schemas lead, in the order in which they are met.
    fn targets(model: &SchemaModel) -> Vec<String> {
        let place = |id| model.location(id, model.schema(id).value());
        let entries = model.schemas().flat_map(|(_, schema)| schema.entries());
        entries
            .filter_map(|entry| match &entry.keyword {
                Keyword::Reference(ReferenceKeyword::Ref(target)) => Some(place(*target)),
                Keyword::Reference(ReferenceKeyword::DynamicRef { target, anchor }) => {
                    Some(format!("{} by {anchor:?}", place(*target)))
                }
                _ => None,
            })
            .collect()
    }

    #[test]
    fn references_find_their_targets() {
        for (source, expected) in [
            (r##"{"$ref": "#"}"##, "#"),
            (r##"{"$defs": {"a": {}}, "$ref": "#/$defs/a"}"##, "#/$defs/a"),
            (r##"{"$defs": {"a/b%~": {}}, "$ref": "#/$defs/a~1b%25~0"}"##, "#/$defs/a~1b%~0"),
            (r##"{"parts": {"a": [{"not": {}}]}, "$ref": "#/parts/a/0"}"##, "#/parts/a/0"),
            (r##"{"$defs": {"x": {"$anchor": "here"}}, "$ref": "#here"}"##, "#/$defs/x"),
            (r##"{"$id": "http://h/a/root", "$defs": {"x": {"$id": "b"}}, "$ref": "http://h/a/b"}"##, "#/$defs/x"),
            (r##"{"$id": "http://h/root", "$ref": "root#/$defs/x", "$defs": {"x": true}}"##, "#/$defs/x"),
            // An embedded resource is a world of its own.
            (
                r##"{"$defs": {"x": 1}, "not": {"$id": "in", "$ref": "#/$defs/x", "$defs": {"x": {}}}}"##,
                "#/not/$defs/x",
            ),
            // Draft 4 names places with fragments.
            (
                r##"{"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"x": {"id": "#x"}}, "not": {"$ref": "#x"}}"##,
                "#/definitions/x",
            ),
            // Before draft 2019-09 an identifier beside `$ref` is nothing.
            (
                r##"{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://h/",
                    "definitions": {"x": {"$id": "http://h/x"}}, "not": {"$id": "http://other/", "$ref": "x"}}"##,
                "#/definitions/x",
            ),
            // Without `$schema`, `id` names a place and moves no base.
            (r##"{"not": {"id": "/p/x", "not": {"$ref": "#/d"}}, "d": {}}"##, "#/d"),
            (
                r##"{"$defs": {"x": {"id": "Name", "properties": {"a": {}}}}, "$ref": "Name#/properties/a"}"##,
                "#/$defs/x/properties/a",
            ),
            (
                r##"{"$schema": "http://json-schema.org/draft-04/schema#", "not": {"$id": "/p/x", "not": {"$ref": "#/d"}}, "d": {}}"##,
                "#/d",
            ),
            // No identifiers in what is not a schema.
            (r##"{"$defs": {"e": {"const": {"$anchor": "a"}}, "x": {"$anchor": "a"}}, "$ref": "#a"}"##, "#/$defs/x"),
        ] {
            let model = read(source).unwrap_or_else(|error| panic!("{source}: {error}"));
            assert_eq!(targets(&model), [expected], "{source}");
        }
    }

    #[test]
    fn references_that_lead_nowhere_say_so() {
        for (source, expected) in [
            (
                r##"{"not": {"$ref": "#/a"}}"##,
                "`$ref` at #/not/$ref \"#/a\" leads nowhere: nothing stands at that pointer",
            ),
            (
                r##"{"$ref": "#/definitions/Foo/not", "definitions": {"foo": {"not": {}}, "bar": {}}}"##,
                "`$ref` at #/$ref \"#/definitions/Foo/not\" leads nowhere: nothing stands at that pointer (did you mean \"#/definitions/foo/not\"?)",
            ),
            (r##"{"$ref": "#a"}"##, "`$ref` at #/$ref \"#a\" leads nowhere: there is no such anchor"),
            (r##"{"$ref": "#%ff"}"##, "`$ref` at #/$ref \"#%ff\" leads nowhere: its fragment is not UTF-8"),
            (r##"{"$ref": "a.json"}"##, "`$ref` at #/$ref needs the document \"a.json\", which is not known"),
            (r##"{"a": 1, "$ref": "#/a"}"##, "a schema must be an object or a boolean, not 1, at #/a"),
        ] {
            assert_eq!(read(source).unwrap_err().to_string(), expected, "{source}");
        }
        assert_eq!(read(r##"{"$ref": "http://h/a#/b"}"##).unwrap_err().missing_document(), Some("http://h/a"));
        // Nobody asks for it: it does no harm.
        assert!(read(r##"{"$defs": {"a": {"$ref": "missing", "type": 1}}}"##).is_ok());
    }

    #[test]
    fn documents_come_from_the_resolver() {
        let known = |uri: &str| match uri {
            "http://h/a" => Some(Source::from(r##"{"$defs": {"n": {"$ref": "b#/n"}}, "$ref": "#/$defs/n"}"##)),
            "http://h/b" => {
                Some(Source::from(serde_json::json!({"$id": "http://else/b", "n": {"$ref": "http://h/a"}})))
            }
            "http://h/broken" => Some(Source::from("{")),
            "http://h/wrong" => Some(Source::from("{\n \"type\": 1}")),
            _ => None,
        };
        let read = |source: &str| read_with(source, &known, &Limits::default());
        let model = read(r#"{"$ref": "http://h/a"}"#).unwrap();
        assert_eq!(targets(&model), ["http://h/a#", "http://h/a#/$defs/n", "http://h/b#/n", "http://h/a#"]);
        assert_eq!(model.resource_uri(model.schema(SchemaId::new(3)).resource()), "http://else/b");
        let error = read(r#"{"$ref": "http://h/broken"}"#).unwrap_err();
        assert!(error.as_syntax().is_some() && error.document() == "http://h/broken", "{error}");
        let error = read(r#"{"$ref": "http://h/wrong"}"#).unwrap_err();
        assert_eq!((error.document(), error.pointer(), error.keyword()), ("http://h/wrong", "/type", Some("type")));
        assert!(format!("{error:#}").contains("2 |  \"type\": 1}"), "{error:#}");
    }

    #[test]
    fn dynamic_references_keep_their_choice() {
        let model = read(
            r##"{"$id": "http://h/outer", "$dynamicAnchor": "T", "$ref": "inner",
                "$defs": {"inner": {"$id": "inner", "not": {"$dynamicRef": "#T"}, "$defs": {"t": {"$dynamicAnchor": "T"}}}}}"##,
        )
        .unwrap();
        assert_eq!(targets(&model), ["#/$defs/inner", "#/$defs/inner/$defs/t by \"T\""]);
        assert_eq!(model.dynamic_target(model.schema(model.root()).resource(), "T"), Some(model.root()));
        // A plain anchor is not dynamic.
        let model = read(r##"{"$defs": {"t": {"$anchor": "T"}}, "$dynamicRef": "#T"}"##).unwrap();
        assert_eq!(targets(&model), ["#/$defs/t"]);
        let recursive = r##"{"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true,
            "not": {"$recursiveRef": "#"}}"##;
        assert_eq!(targets(&read(recursive).unwrap()), ["# by \"\""]);
        assert_eq!(targets(&read(&recursive.replace("true", "false")).unwrap()), ["#"]);
    }

    #[test]
    fn dialects_come_from_metaschemas() {
        let known = |uri: &str| {
            let draft = "https://json-schema.org/draft/2020-12";
            (uri == "http://h/meta").then(|| {
                let words = [("core", true), ("applicator", true)].map(|(v, b)| format!("\"{draft}/vocab/{v}\": {b}"));
                Source::from(format!(r#"{{"$schema": "{draft}/schema", "$vocabulary": {{{}}}}}"#, words.join(",")))
            })
        };
        let model =
            read_with(r#"{"$schema": "http://h/meta", "minimum": 1, "not": false}"#, &known, &Limits::default());
        let model = model.unwrap();
        assert!(matches!(model.schema(model.root()).entries()[0].keyword, Keyword::Logic(LogicKeyword::Not(_))));
        assert_eq!(model.annotations().map(|(_, word, _)| word).collect::<Vec<_>>(), ["minimum"]);
        let unknown = |_: &str| Some(Source::from(r#"{"$vocabulary": {"http://h/v": true}}"#));
        let error = read_with(r#"{"$schema": "http://h/meta"}"#, &unknown, &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "`$schema` at #/$schema needs the vocabulary http://h/v, which is not known");
    }

    #[test]
    fn bounds_and_repeated_keys_are_errors() {
        let limits = Limits { n_schemas_max: 3, n_documents_max: 2, uri_bytes_max: 20, ..Limits::default() };
        let bound = |source: &str| {
            let endless = |uri: &str| Some(Source::from(format!("{{\"$ref\": \"{uri}x\"}}")));
            read_with(source, &endless, &limits).unwrap_err().limit()
        };
        assert_eq!(bound(r#"{"allOf": [true, true, true]}"#), Some(("n_schemas_max", 4, 3)));
        assert_eq!(bound(r#"{"$ref": "a"}"#), Some(("n_documents_max", 3, 2)));
        assert_eq!(bound(r#"{"$id": "http://h/123456789012"}"#), Some(("uri_bytes_max", 21, 20)));
        let error = read("{\"not\": {},\n \"not\": {}}").unwrap_err();
        assert_eq!(error.to_string(), "the key \"not\" is repeated, at #/not");
        assert_eq!(error.span().map(|span| span.start), Some(13));
    }

    #[test]
    fn depth_and_width_cost_no_stack() {
        let n = 20_000;
        let nest = |open: &str, close: &str| format!("{}true{}", open.repeat(n), close.repeat(n));
        for source in [nest("{\"not\":", "}"), nest("{\"items\":[", "]}"), nest("{\"properties\":{\"a\":", "}}")] {
            assert_eq!(read(&source).unwrap().n_schemas(), n + 1);
        }
        let deep = nest("{\"x\":", "}");
        let steps = "/x".repeat(n);
        assert_eq!(read(&format!("{{\"$ref\": \"#/d{steps}\", \"d\": {deep}}}")).unwrap().n_schemas(), 2);
        let wide: Vec<_> =
            (0..50_000).map(|i| format!("\"p{i}\":{{\"$ref\":\"#/properties/p{}\"}}", 49_999 - i)).collect();
        assert_eq!(read(&format!("{{\"properties\":{{{}}}}}", wide.join(","))).unwrap().n_schemas(), 50_001);
    }
}

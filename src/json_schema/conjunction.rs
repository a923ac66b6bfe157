//! Conjunctions: the set of all constraints on a value at one location.
//!
//! A *member* is a sub-schema (or a constant, or a choice between conjunctions) with a sign; a *conjunction* is a sorted set of members.
//! References are followed when members are expanded, so a recursive schema is a cycle of conjunctions, and equal conjunctions are interned.
//! `allOf`, keywords beside `$ref`, a name under several `properties`: all of them only add members.
//!
//! The meaning of `$dynamicRef` depends on the resources on the path to it: the *dynamic scope*. A member carries its scope, which is
//! always the empty one in schemas without dynamic references.

use super::model::{DocumentId, ResourceId, SchemaId, SchemaModel};
use super::value::ValueId;
use crate::util::index_type;
use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

index_type!(
    /// The index of a conjunction.
    pub(super) ConjunctionId
);
index_type!(
    /// The index of a choice between conjunctions.
    pub(super) ChoiceId
);
index_type!(
    /// The index of a dynamic scope.
    pub(super) ScopeId
);

/// A member without its sign.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Subject {
    /// No value.
    Nothing,
    /// A sub-schema.
    Schema(SchemaId),
    /// Equality with a constant of a document.
    Value(DocumentId, ValueId),
    /// A disjunction of conjunctions.
    Choice(ChoiceId),
}

/// A subject that a value must satisfy, or must not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Member {
    pub subject: Subject,
    pub scope: ScopeId,
    pub is_negated: bool,
}

impl Member {
    pub const NOTHING: Member = Member { subject: Subject::Nothing, scope: ScopeId(0), is_negated: false };

    pub fn schema(id: SchemaId, scope: ScopeId) -> Self {
        Member { subject: Subject::Schema(id), scope, is_negated: false }
    }

    pub fn value(document: DocumentId, value: ValueId) -> Self {
        Member { subject: Subject::Value(document, value), scope: ScopeId(0), is_negated: false }
    }

    pub fn negated(self) -> Self {
        Member { is_negated: !self.is_negated, ..self }
    }
}

/// The members of a conjunction: nearly always one.
pub(super) type Members = SmallVec<[Member; 1]>;

/// All conjunctions, interned.
#[derive(Default)]
pub(super) struct Conjunctions {
    members: Vec<Members>,
    ids: HashMap<Members, ConjunctionId>,
    choices: Vec<Box<[ConjunctionId]>>,
    choice_ids: HashMap<Box<[ConjunctionId]>, ChoiceId>,
    scopes: Scopes,
}

impl Conjunctions {
    pub fn new(model: &SchemaModel) -> Self {
        // Capacity for most schemas.
        let (members, ids) = (Vec::with_capacity(16), HashMap::with_capacity(28));
        Conjunctions { members, ids, scopes: Scopes::new(model), ..Default::default() }
    }

    /// Returns the conjunction of `members`.
    pub fn intern(&mut self, model: &SchemaModel, members: impl Into<Members>) -> ConjunctionId {
        let mut members: Members = members.into();
        members.retain(|member| verdict(model, *member) != Some(true));
        members.sort_unstable();
        members.dedup();
        let is_dead = members.iter().any(|member| verdict(model, *member) == Some(false))
            || members.windows(2).any(|pair| pair[0].negated() == pair[1]);
        if is_dead {
            members = smallvec![Member::NOTHING];
        }
        if let Some(&id) = self.ids.get(&*members) {
            return id;
        }
        let id = ConjunctionId::new(self.members.len());
        self.members.push(members.clone());
        self.ids.insert(members, id);
        id
    }

    pub fn members(&self, id: ConjunctionId) -> &[Member] {
        &self.members[id.index()]
    }

    pub fn cloned_members(&self, id: ConjunctionId) -> Members {
        self.members[id.index()].clone()
    }

    /// Returns whether a conjunction is trivially unsatisfiable.
    pub fn is_nothing(&self, id: ConjunctionId) -> bool {
        self.members(id) == [Member::NOTHING]
    }

    /// Returns the member that is the disjunction of some conjunctions.
    pub fn choice(&mut self, mut of: Vec<ConjunctionId>) -> Member {
        of.sort_unstable();
        of.dedup();
        let of: Box<[ConjunctionId]> = of.into();
        let id = *self.choice_ids.entry(of).or_insert_with_key(|of| {
            self.choices.push(of.clone());
            ChoiceId::new(self.choices.len() - 1)
        });
        Member { subject: Subject::Choice(id), scope: ScopeId(0), is_negated: false }
    }

    pub fn choices(&self, id: ChoiceId) -> &[ConjunctionId] {
        &self.choices[id.index()]
    }

    /// Returns the scope within `schema` when it was entered from `scope`.
    pub fn enter(&mut self, model: &SchemaModel, scope: ScopeId, schema: SchemaId) -> ScopeId {
        self.scopes.enter(scope, model.schema(schema).resource())
    }

    /// Returns the target of a dynamic reference.
    pub fn dynamic_target(&self, model: &SchemaModel, scope: ScopeId, anchor: &str) -> Option<SchemaId> {
        self.scopes.lists[scope.index()].iter().find_map(|&resource| model.dynamic_target(resource, anchor))
    }
}

/// Returns whether a member holds or fails for every value, if that is trivial.
fn verdict(model: &SchemaModel, member: Member) -> Option<bool> {
    use super::model::Body;
    let says = match member.subject {
        Subject::Nothing => false,
        Subject::Schema(id) => match model.schema(id).body() {
            Body::Bool(verdict) => *verdict,
            Body::Keywords { entries, .. } if entries.is_empty() => true,
            Body::Keywords { .. } => return None,
        },
        Subject::Value(..) | Subject::Choice(_) => return None,
    };
    Some(says != member.is_negated)
}

/// Dynamic scopes: the relevant resources on the path, in the order of their first occurrence. A resource is relevant if it has a dynamic
/// anchor that none before it has: all of the metaschema of draft 2020-12 has one scope, whatever the order of its vocabularies.
struct Scopes {
    lists: Vec<Box<[ResourceId]>>,
    ids: HashMap<Box<[ResourceId]>, ScopeId>,
    /// By resource: its dynamic anchors. Empty without dynamic references: then there is one scope only.
    answers: HashMap<ResourceId, Vec<Box<str>>>,
}

impl Default for Scopes {
    fn default() -> Self {
        Scopes { lists: vec![Box::new([])], ids: HashMap::new(), answers: HashMap::new() }
    }
}

impl Scopes {
    fn new(model: &SchemaModel) -> Self {
        let is_dynamic =
            model.schemas().any(|(_, schema)| schema.entries().iter().any(|entry| entry.keyword.is_dynamic()));
        let mut answers: HashMap<ResourceId, Vec<Box<str>>> = HashMap::new();
        for (resource, name) in model.dynamic.keys().filter(|_| is_dynamic) {
            answers.entry(*resource).or_default().push(name.clone());
        }
        Scopes { answers, ..Default::default() }
    }

    fn enter(&mut self, scope: ScopeId, resource: ResourceId) -> ScopeId {
        let list = &self.lists[scope.index()];
        let Some(names) = self.answers.get(&resource) else { return scope };
        let is_answered = |name| list.iter().any(|before| self.answers[before].contains(name));
        if names.iter().all(is_answered) {
            return scope;
        }
        let longer: Box<[ResourceId]> = list.iter().copied().chain([resource]).collect();
        *self.ids.entry(longer).or_insert_with_key(|longer| {
            self.lists.push(longer.clone());
            ScopeId::new(self.lists.len() - 1)
        })
    }
}

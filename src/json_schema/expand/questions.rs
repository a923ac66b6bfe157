//! Cheap one-sided tests of disjointness and unsatisfiability.
//!
//! Branches that surely exclude each other need no negation, and alternatives that surely fail are not expanded. A test examines a few levels
//! of properties and items and a few alternatives; what it can't prove empty counts as possible, which costs work but is exact.

use super::*;
use crate::json_schema::model::{LogicKeyword, ReferenceKeyword, ValueKeyword};
use crate::regular::Work;

/// Greatest nesting of disjointness tests; beyond it the answer is "unknown".
const QUESTIONS_DEEP_MAX: usize = 6;
/// Levels of properties and items that a test examines.
const EMPTY_LEVELS: usize = 3;
/// Most sub-schemas visited to find the kinds of values that one allows.
const KINDS_LOOKS_MAX: usize = 64;
/// Steps that a product of languages counts as.
const PRODUCT_STEPS: usize = 2048;
/// Steps that a comparison of two branches counts as.
pub(super) const COMPARISON_STEPS: usize = 32;
/// Most alternatives that a test tries.
pub(super) const QUESTION_ALTERNATIVES_MAX: usize = 64;

impl Expander<'_> {
    /// Returns whether surely no value of a kind satisfies both.
    pub(super) fn are_disjoint(&mut self, a: Member, b: Member, kind: ValueKind) -> Expanded<bool> {
        self.budget.spend(COMPARISON_STEPS)?;
        let key = (a.min(b), a.max(b), kind);
        if let Some(&cached) = self.disjoint.get(&key) {
            return Ok(cached);
        }
        let is_disjoint = match kind {
            ValueKind::Object if self.key_constants(a).exclude(&self.key_constants(b)) => true,
            _ => self.are_never(&[a, b]) || self.are_surely_empty(&[a, b], kind, EMPTY_LEVELS)?,
        };
        self.disjoint.insert(key, is_disjoint);
        Ok(is_disjoint)
    }

    /// Returns whether surely no value of a kind satisfies all members, by an examination of at most `n_levels` levels.
    fn are_surely_empty(&mut self, members: &[Member], kind: ValueKind, n_levels: usize) -> Expanded<bool> {
        if self.question_depth >= QUESTIONS_DEEP_MAX {
            return Ok(false);
        }
        self.question_depth += 1;
        // Without what is dropped there are more values.
        let (shapes, _) = self.asking(|cx| cx.expand(members, kind, QUESTION_ALTERNATIVES_MAX));
        self.question_depth -= 1;
        // A member that can't be expanded is an error where it is needed, not in a test.
        let shapes = match shapes {
            Ok(Some(shapes)) => shapes,
            Ok(None) | Err(LowerError::Schema(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        for shape in &shapes {
            if !self.is_surely_empty(shape, n_levels)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether surely no value satisfies a conjunction.
    pub fn is_surely_nothing(&mut self, id: ConjunctionId) -> Expanded<bool> {
        if let Some(&cached) = self.empty.get(&id) {
            return Ok(cached);
        }
        let members = self.conjunctions.members(id).to_vec();
        let mut is_empty = self.are_never(&members);
        if !is_empty {
            is_empty = true;
            for kind in ValueKind::ALL {
                is_empty &= self.are_surely_empty(&members, kind, 1)?;
                if !is_empty {
                    break;
                }
            }
        }
        self.empty.insert(id, is_empty);
        Ok(is_empty)
    }

    /// Returns the listed values of a shape of numbers, as [`NumberShape::listed`] does, and counts the work.
    pub(super) fn listed_numbers<'n>(&self, number: &'n NumberShape) -> Expanded<Option<Vec<&'n Decimal>>> {
        self.budget.spend(number.steps_of_listing())?;
        Ok(number.listed())
    }

    fn is_surely_empty(&mut self, shape: &Shape, n_levels: usize) -> Expanded<bool> {
        if n_levels == 0 {
            return Ok(false);
        }
        let mut needed: SmallVec<[Members; 8]> = SmallVec::new();
        match shape {
            Shape::Only => {}
            Shape::Number(number) => match self.listed_numbers(number)? {
                Some(values) => return Ok(values.is_empty()),
                None => {
                    let mut spend = |n_steps| self.budget.spend(n_steps).is_ok();
                    return Ok(number.set.is_empty(self.limits, &mut Work(&mut spend)).unwrap_or(false));
                }
            },
            Shape::String(string) => {
                if string.languages.len() > 1 {
                    self.budget.spend(PRODUCT_STEPS)?;
                }
                return Ok(match self.languages.listed(string)? {
                    Some(values) => values.is_empty(),
                    None => self.languages.are_disjoint(string),
                });
            }
            Shape::Array(array) => {
                for index in 0..array.min.min(4) {
                    needed.push(array.rules.at(index).collect::<Members>());
                }
            }
            Shape::Object(object) => {
                for (name, ()) in object.required.iter() {
                    let mut members = object.properties.get(name).cloned().unwrap_or_default();
                    for rule in &object.rules {
                        if let Some(true) = self.has_key(&rule.keys, name)? {
                            members.push(rule.member);
                        }
                    }
                    needed.push(members);
                }
            }
        }
        for members in needed.into_iter().filter(|members| !members.is_empty()) {
            let mut is_empty = true;
            for kind in ValueKind::ALL {
                is_empty = self.are_surely_empty(&members, kind, n_levels - 1)?;
                if !is_empty {
                    break;
                }
            }
            if is_empty {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a name is among some keys; `None` if that depends on a schema.
    pub fn has_key(&mut self, keys: &Keys, name: &str) -> Expanded<Option<bool>> {
        Ok(match keys {
            Keys::Name(key) => Some(**key == *name),
            Keys::In(language) => Some(self.languages.contains(*language, name)?),
            Keys::Beside { names, languages } => {
                if names.contains(name) {
                    return Ok(Some(false));
                }
                for &language in languages.iter() {
                    if self.languages.contains(language, name)? {
                        return Ok(Some(false));
                    }
                }
                Some(true)
            }
            Keys::Satisfying(_) => None,
        })
    }

    /// Returns false if a goal visibly fails.
    pub(super) fn may_hold(&mut self, partial: &Partial, goal: &Goal) -> bool {
        match (goal, &partial.shape) {
            (Goal::Fact(Fact::Absent(name)), Shape::Object(object)) => !object.required.contains(name),
            (Goal::Fact(Fact::Required(name)), Shape::Object(object)) => !object.absent.contains(name),
            (Goal::Fact(Fact::Property(name, member)), Shape::Object(object)) if object.required.contains(name) => {
                let mut members = object.properties.get(name).cloned().unwrap_or_default();
                members.push(*member);
                !self.are_never(&members)
            }
            (Goal::Member(member, _), _) => self.may_be(partial, *member),
            _ => true,
        }
    }

    /// Returns false if a member visibly fails.
    pub(super) fn may_be(&mut self, partial: &Partial, member: Member) -> bool {
        if partial.followed.contains(member.negated()) {
            return false;
        }
        match (member.subject, member.is_negated) {
            (Subject::Nothing, is_negated) => is_negated,
            (Subject::Schema(id), false) => {
                !self.surely_fails(partial.kind, id)
                    && match &partial.shape {
                        Shape::Object(object) => !self.excludes(object, member),
                        _ => true,
                    }
            }
            _ => true,
        }
    }

    /// Returns whether values of a kind visibly fail a schema: by its types or by constants of other kinds, here or across references and
    /// `allOf`.
    pub(super) fn surely_fails(&mut self, kind: ValueKind, id: SchemaId) -> bool {
        let kinds = match self.kinds[id.index()] {
            Some(kinds) => kinds,
            None => {
                let kinds = self.find_kinds(id);
                self.kinds[id.index()] = Some(kinds);
                kinds
            }
        };
        kinds >> kind as u8 & 1 == 0
    }

    /// Returns a superset of the kinds of values that a schema allows, a bit for each.
    fn find_kinds(&self, id: SchemaId) -> u8 {
        let all_kinds = (1 << ValueKind::ALL.len()) - 1;
        let mut kinds = all_kinds;
        let mut pending: SmallVec<[SchemaId; 8]> = smallvec::smallvec![id];
        let mut n_looks = 0;
        while let Some(id) = pending.pop() {
            n_looks += 1;
            if n_looks > KINDS_LOOKS_MAX {
                break;
            }
            if let Some(cached) = self.kinds[id.index()] {
                kinds &= cached;
                continue;
            }
            let schema = self.model.schema(id);
            let json = self.model.json(schema.document());
            let entries = match schema.body() {
                Body::Bool(true) => continue,
                Body::Bool(false) => return 0,
                Body::Keywords { entries, .. } => entries,
            };
            let kinds_of = |is_among: &dyn Fn(ValueKind) -> bool| {
                ValueKind::ALL.iter().filter(|kind| is_among(**kind)).fold(0u8, |bits, kind| bits | 1 << *kind as u8)
            };
            for entry in entries {
                match &entry.keyword {
                    Keyword::Value(ValueKeyword::Type(set)) => {
                        kinds &= kinds_of(&|kind| {
                            set.contains(least_type(kind)) || kind == ValueKind::Null && schema.is_nullable()
                        });
                    }
                    Keyword::Value(ValueKeyword::Const(value)) => {
                        kinds &= kinds_of(&|kind| is_of_kind(json.value(*value), kind))
                    }
                    Keyword::Value(ValueKeyword::Enum(values)) => {
                        let mut listed = 0;
                        for &value in values {
                            listed |= kinds_of(&|kind| is_of_kind(json.value(value), kind));
                            if listed & kinds == kinds {
                                break;
                            }
                        }
                        kinds &= listed;
                    }
                    Keyword::Reference(ReferenceKeyword::Ref(id)) => pending.push(*id),
                    Keyword::Logic(LogicKeyword::AllOf(ids)) => {
                        pending.extend(ids.iter().copied().take(KINDS_LOOKS_MAX))
                    }
                    _ => {}
                }
            }
            if kinds == 0 {
                break;
            }
        }
        kinds
    }
}

/// Returns the most specific type of all values of a kind.
fn least_type(kind: ValueKind) -> TypeSet {
    match kind {
        ValueKind::Null => TypeSet::NULL,
        ValueKind::False | ValueKind::True => TypeSet::BOOLEAN,
        // Some numbers are integers, so a schema of type `integer` can't be ruled out.
        ValueKind::Number => TypeSet::INTEGER,
        ValueKind::String => TypeSet::STRING,
        ValueKind::Array => TypeSet::ARRAY,
        ValueKind::Object => TypeSet::OBJECT,
    }
}

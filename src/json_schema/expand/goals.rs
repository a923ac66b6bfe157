//! Goals: what must hold becomes facts of a shape.

use super::*;
use crate::json_schema::keywords::{self, Site, closed_items, closed_keys};
use crate::json_schema::model::{ArrayKeyword, ObjectKeyword};
use crate::json_schema::partial::is_contradictory;

/// Steps that a divisor counts for which a set of numbers is compared with.
const STEPS_PER_DIVISOR: usize = 16;
/// Keywords whose values are patterns.
const PATTERNS: [&str; 2] = ["pattern", "patternProperties"];

impl Expander<'_> {
    /// Expands a goal; returns whether it can hold.
    pub(super) fn pursue(&mut self, partial: &mut Partial, goal: Goal) -> Expanded<bool> {
        match goal {
            Goal::Fact(fact) => {
                // What a fact is compared with.
                self.budget.spend(match &partial.shape {
                    Shape::Number(number) => match &fact {
                        Fact::Number(set) => {
                            let of_pairs = number.set.steps_of_divisions(set.longest_divisor());
                            STEPS_PER_DIVISOR * number.set.n_divisors() + set.n_divisors() * of_pairs
                        }
                        _ => 0,
                    },
                    Shape::String(string) => string.languages.len() / 8,
                    Shape::Object(object) => object.names.len() / 8,
                    Shape::Array(array) => array.counts.len(),
                    Shape::Only => 0,
                })?;
                Ok(self.add(partial, fact))
            }
            Goal::Member(member, frames) => self.pursue_member(partial, member, frames),
            Goal::UnevaluatedViolation(schema, index, scope) => {
                self.pursue_unevaluated_violation(partial, schema, index, scope);
                Ok(true)
            }
            Goal::Entry(schema, index, scope, frames) => {
                let entry = &self.model.schema(schema).entries()[index as usize];
                let site = Site { schema, index, scope, kind: partial.kind };
                self.keyword = Some((schema, entry.value));
                let open_frames = if self.options.is_lenient { frames.clone() } else { Frames::new() };
                match keywords::assert(self, partial, &site, &entry.keyword, frames) {
                    Err(LowerError::Schema(error)) => {
                        self.relax(schema, entry.value, None, error)?;
                        // It is unknown what the dropped constraint would have evaluated.
                        open_frames.iter().for_each(|&frame| partial.frames[frame as usize].is_open = true);
                        Ok(true)
                    }
                    alive => alive,
                }
            }
        }
    }

    /// In lenient mode, records that a keyword, or an entry of its map, is not enforced.
    ///
    /// # Errors
    /// The error, with its location, in strict mode, or if it is not about a keyword that can't be enforced.
    pub fn relax(&mut self, schema: SchemaId, value: ValueId, part: Option<u32>, error: SchemaError) -> Expanded<()> {
        let error = if error.is_placed() { error } else { self.model.error_at(schema, value, error) };
        // A malformed pattern may be dropped as well, since the rest of the schema could be read.
        let may_be_dropped = error.is_unsupported() || error.keyword().is_some_and(|word| PATTERNS.contains(&word));
        if !self.options.is_lenient || !may_be_dropped {
            return Err(error.into());
        }
        self.n_relaxed += 1;
        if !self.relaxed.iter().any(|other| (other.schema, other.value, other.part) == (schema, value, part)) {
            self.relaxed.push(Relaxed { schema, value, part, reason: error.reason().into() });
        }
        Ok(())
    }

    /// Asks a question whose answer takes no constraint from the schema: what lenient mode drops to find it is not dropped. Returns the answer and whether that is so.
    pub(super) fn asking<T>(&mut self, question: impl FnOnce(&mut Self) -> T) -> (T, bool) {
        let (n_listed, n_relaxed) = (self.relaxed.len(), self.n_relaxed);
        let answer = question(self);
        let is_relaxed = self.n_relaxed != n_relaxed;
        self.relaxed.truncate(n_listed);
        self.n_relaxed = n_relaxed;
        (answer, is_relaxed)
    }

    /// Returns the error of a schema that leads back to itself, at its reference if it has one.
    fn circle_at(&self, id: SchemaId) -> SchemaError {
        let schema = self.model.schema(id);
        let entries: &[Entry] = match schema.body() {
            Body::Bool(_) => &[],
            Body::Keywords { entries, .. } => entries,
        };
        let reference = entries.iter().find(|entry| matches!(entry.keyword, Keyword::Reference(_)));
        let error = SchemaError::unsupported("$ref", "it leads back to itself without reading anything");
        self.model.error_at(id, reference.map_or(schema.value(), |entry| entry.value), error)
    }

    fn pursue_member(&mut self, partial: &mut Partial, member: Member, frames: Frames) -> Expanded<bool> {
        let is_circular = matches!(member.subject, Subject::Schema(id) if self.circular[id.index()]);
        if is_circular {
            partial.n_followed += 1;
        } else {
            if partial.followed.contains(member.negated()) {
                return Ok(false);
            }
            if !partial.followed.insert(member) && frames.is_empty() {
                return Ok(true);
            }
        }
        match member.subject {
            Subject::Nothing => return Ok(member.is_negated),
            Subject::Value(document, value) if !member.is_negated => {
                let goals = self.constant(partial.kind, document, value);
                let Some(goals) = goals else { return Ok(false) };
                partial.goals.extend(goals.into_iter().rev().map(Goal::Fact));
                return Ok(true);
            }
            Subject::Choice(id) if !member.is_negated => {
                let of = self.conjunctions.choices(id).to_vec();
                let all = |id: &ConjunctionId| {
                    self.conjunctions.members(*id).iter().map(|&member| Goal::Member(member, Frames::new())).collect()
                };
                let alternatives = of.iter().map(all).collect();
                partial.choices.push_back(Choice::Of(Alternatives::new(alternatives)));
                return Ok(true);
            }
            Subject::Value(..) | Subject::Choice(_) => {
                partial.negations.push_back(member);
                return Ok(true);
            }
            Subject::Schema(_) => {}
        }
        let Subject::Schema(id) = member.subject else { unreachable!("other subjects were handled") };
        if partial.n_followed > 8 * self.model.n_schemas() + 1024 {
            return Err(self.circle_at(id).into());
        }
        let entries = match self.model.schema(id).body() {
            Body::Bool(verdict) => return Ok(*verdict != member.is_negated),
            Body::Keywords { entries, .. } => entries,
        };
        if member.is_negated {
            partial.negations.push_back(member);
            return Ok(true);
        }
        if self.surely_fails(partial.kind, id) {
            return Ok(false);
        }
        let scope = self.conjunctions.enter(self.model, member.scope, id);
        let mut inner = frames.clone();
        for entry in entries {
            let ((Keyword::Object(ObjectKeyword::UnevaluatedProperties(rest)), ValueKind::Object)
            | (Keyword::Array(ArrayKeyword::UnevaluatedItems(rest)), ValueKind::Array)) =
                (&entry.keyword, partial.kind)
            else {
                continue;
            };
            let frame = partial.frames.len() as u32;
            partial.frames.push(Frame::default());
            inner.push(frame);
            let (schema, place) = (Member::schema(*rest, scope), (id, entry.value));
            partial.unevaluated.push(Unevaluated { schema, place, frame, outer: frames.clone(), is_negated: false });
        }
        let goals = (0..entries.len() as u32).rev().map(|index| Goal::Entry(id, index, scope, inner.clone()));
        partial.goals.extend(goals);
        if !self.options.has_additional_properties && partial.kind == ValueKind::Object {
            // Other keys are forbidden where `additionalProperties` is absent.
            let closed =
                closed_keys(self, id).map(|keys| Goal::Fact(Fact::Keys(KeyRule { keys, member: Member::NOTHING })));
            partial.goals.extend(closed);
        }
        if !self.options.has_additional_items && partial.kind == ValueKind::Array {
            // Items behind the prefix are forbidden where `items` is absent.
            let rule = |from| ItemRule { from, to: None, member: Member::NOTHING };
            let closed = closed_items(self.model, id).map(|from| Goal::Fact(Fact::Items(rule(from))));
            partial.goals.extend(closed);
        }
        Ok(true)
    }

    /// Expands a schema without the `unevaluated...` keyword that must be violated.
    fn pursue_unevaluated_violation(&mut self, partial: &mut Partial, id: SchemaId, index: u32, scope: ScopeId) {
        let entries = self.model.schema(id).entries();
        let (Keyword::Object(ObjectKeyword::UnevaluatedProperties(rest))
        | Keyword::Array(ArrayKeyword::UnevaluatedItems(rest))) = entries[index as usize].keyword
        else {
            unreachable!("only these leave something")
        };
        let frame = partial.frames.len() as u32;
        partial.frames.push(Frame { is_exact: true, ..Frame::default() });
        let (schema, place) = (Member::schema(rest, scope), (id, entries[index as usize].value));
        partial.unevaluated.push(Unevaluated { schema, place, frame, outer: Frames::new(), is_negated: true });
        let others = (0..entries.len() as u32).rev().filter(|&other| other != index);
        partial.goals.extend(others.map(|other| Goal::Entry(id, other, scope, smallvec::smallvec![frame])));
    }

    /// Constrains the unevaluated keys or items; returns whether that can hold.
    pub(super) fn constrain_rest(&mut self, partial: &mut Partial, waiting: &Unevaluated) -> Expanded<bool> {
        let frame = core::mem::take(&mut partial.frames[waiting.frame as usize]);
        for &outer in &waiting.outer {
            partial.frames[outer as usize].has_all = true;
        }
        if frame.has_all {
            return Ok(!waiting.is_negated);
        }
        if frame.is_open {
            let (keyword, what) = match partial.kind {
                ValueKind::Object => ("unevaluatedProperties", "keys"),
                _ => ("unevaluatedItems", "items"),
            };
            let reason = format!("a keyword beside or below it that was dropped may evaluate more {what}");
            let error = SchemaError::unsupported(keyword, reason);
            self.relax(waiting.place.0, waiting.place.1, None, error)?;
            return Ok(true);
        }
        let fact = match partial.kind {
            ValueKind::Object => {
                let keys = Keys::Beside { names: Rc::new(frame.names), languages: frame.languages.into() };
                match waiting.is_negated {
                    true => Fact::Obligation(Obligation::key(keys, Some(waiting.schema.negated()))),
                    false => Fact::Keys(KeyRule { keys, member: waiting.schema }),
                }
            }
            _ => {
                let mut member = waiting.schema;
                if !frame.contains.is_empty() {
                    let all = frame.contains.iter().copied().chain([member]);
                    let of = all.map(|member| self.conjunctions.intern(self.model, vec![member])).collect();
                    member = self.conjunctions.choice(of);
                }
                let from = frame.n_items;
                match waiting.is_negated {
                    true => Fact::Count(ItemCount { from, to: None, member: member.negated(), min: 1, max: None }),
                    false => Fact::Items(ItemRule { from, to: None, member }),
                }
            }
        };
        partial.goals.push(Goal::Fact(fact));
        Ok(true)
    }

    /// Adds a fact to a shape; returns whether it can still hold.
    fn add(&mut self, partial: &mut Partial, fact: Fact) -> bool {
        match (&mut partial.shape, fact) {
            (Shape::Number(number), Fact::Number(set)) => number.set = number.set.intersect(&set),
            (Shape::Number(number), Fact::NumberIn(values)) => number.restrict(values),
            (Shape::Number(number), Fact::NumberNot(value)) => {
                number.excluded.insert(value);
            }
            (Shape::String(string), Fact::MinLength(min)) => string.min = string.min.max(min),
            (Shape::String(string), Fact::MaxLength(max)) => {
                string.max = Some(string.max.map_or(max, |old| old.min(max)));
            }
            (Shape::String(string), Fact::Language(language, sign)) => {
                if string.languages.binary_search(&(language, !sign)).is_ok() {
                    return false;
                }
                if let Err(place) = string.languages.binary_search(&(language, sign)) {
                    string.languages.insert(place, (language, sign));
                }
            }
            (Shape::String(string), Fact::StringIn(values)) => string.restrict(values),
            (Shape::String(string), Fact::StringNot(value)) => {
                string.excluded.insert(value);
            }
            (Shape::Object(object), Fact::Property(name, member)) => {
                let members = object.properties.entry(&name);
                if !members.contains(&member) {
                    members.push(member);
                    if object.required.contains(&name) && self.are_never(&object.properties.entry(&name).clone()) {
                        return false;
                    }
                }
            }
            (Shape::Object(object), Fact::Required(name)) => {
                if object.absent.contains(&name) {
                    return false;
                }
                object.required.entry(&name);
                let members = object.properties.get(&name).cloned().unwrap_or_default();
                if self.are_never(&members) {
                    return false;
                }
            }
            (Shape::Object(object), Fact::Absent(name)) => {
                if object.required.contains(&name) {
                    return false;
                }
                object.absent.insert(name);
            }
            (Shape::Object(object), Fact::Keys(rule)) => {
                if !last_of(&object.rules).contains(&rule) {
                    object.rules.push(rule);
                }
            }
            (Shape::Object(object), Fact::Names(member)) => {
                if !object.names.contains(&member) {
                    object.names.push(member);
                }
            }
            (Shape::Object(object), Fact::Obligation(obligation)) => {
                if !last_of(&object.obligations).contains(&obligation) {
                    object.obligations.push(obligation);
                }
            }
            (Shape::Object(object), Fact::MinProperties(min)) => object.min = object.min.max(min),
            (Shape::Object(object), Fact::MaxProperties(max)) => {
                object.max = Some(object.max.map_or(max, |old| old.min(max)));
            }
            (Shape::Array(array), Fact::Items(rule)) => {
                array.rules.add(rule);
            }
            (Shape::Array(array), Fact::Count(count)) => {
                if !array.counts.contains(&count) {
                    array.counts.push(count);
                }
            }
            (Shape::Array(array), Fact::MinItems(min)) => array.min = array.min.max(min),
            (Shape::Array(array), Fact::MaxItems(max)) => {
                array.max = Some(array.max.map_or(max, |old| old.min(max)));
            }
            (Shape::Array(array), Fact::Unique) => {
                array.is_unique = true;
                array.unique_by.extend(self.keyword.filter(|_| self.options.is_lenient));
            }
            _ => unreachable!("facts are about the kind at hand"),
        }
        !is_contradictory(&partial.shape)
    }
}

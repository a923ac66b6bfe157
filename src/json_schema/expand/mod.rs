//! Expansion: from conjunctions to shapes, kind by kind.
//!
//! For one kind of values a conjunction is a formula of *and*, *or* and *not* over simple facts, and is brought into disjunctive normal
//! form: unconditional facts first, then positive choices (`anyOf`, `oneOf`, `if`, ...), then negated ones, since the more facts are known,
//! the more alternatives fail at once. There are only worklists, no recursion over the schema.
//!
//! *One of.* `oneOf` requires that all other branches fail. Most branches exclude each other anyway (another type, another constant under a
//! key that both require): a branch that is visibly disjoint needs no negation.
//!
//! *Unevaluated.* A schema with `unevaluatedProperties` or `unevaluatedItems` opens a *frame*, which records what the applicators below it
//! evaluate; the remaining keys or items are constrained when everything else is known. Any subset of the branches of `anyOf` may hold,
//! and each evaluates its own: then the subsets are the alternatives. That is exact without negations: an alternative that records fewer
//! evaluated keys than are evaluated only constrains more. Under a negation fewer would be wrong: there the branches outside the subset
//! are negated.

mod choices;
mod circular;
mod clauses;
mod constants;
mod finite;
mod goals;
mod languages;
mod place;
mod questions;
mod switch;
mod unions;

use super::conjunction::{ConjunctionId, Conjunctions, Member, Members, ScopeId, Subject};
use super::decimal::Decimal;
use super::error::{Expanded, LowerError, SchemaError};
use super::keywords::Expansion;
use super::language::Languages;
use super::model::{Body, DocumentId, Entry, Keyword, SchemaId, SchemaModel, TypeSet, ValueKeyword};
use super::number::NumberSet;
use super::partial::{Alternative, Alternatives, Choice, Fact, Frame, Frames, Goal, Partial, Unevaluated};
use super::report::Relaxed;
use super::shape::*;
use super::value::{Json, Value, ValueId};
use crate::Limits;
use crate::pass::CompileBudget;
use crate::schema_options::{RootForm, SchemaOptions};
use choices::Outcome;
use circular::circular_schemas;
use hashbrown::{HashMap, HashSet};
use questions::QUESTION_ALTERNATIVES_MAX;
use smallvec::SmallVec;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Steps that a fact counts as where a partial is copied and expanded.
const STEPS_PER_FACT: usize = 4;
/// Bytes of names that are hashed or compared in a step.
const BYTES_PER_STEP: usize = 64;

/// Facts of partials that wait, for each of [`Limits::schema_facts_max`].
const WAITING_PER_FACT: usize = 4;

pub(super) struct Expander<'a> {
    pub model: &'a SchemaModel,
    pub options: &'a SchemaOptions,
    pub limits: &'a Limits,
    budget: &'a CompileBudget,
    pub conjunctions: Conjunctions,
    pub languages: Languages<'a>,
    shapes: HashMap<(ConjunctionId, ValueKind), Rc<[Shape]>>,
    no_shapes: Rc<[Shape]>,
    disjoint: HashMap<(Member, Member, ValueKind), bool>,
    empty: HashMap<ConjunctionId, bool>,
    finite: HashMap<Member, Option<finite::Finite>>,
    /// By the value of an `enum`: its constants, if they can be compared.
    enums: HashMap<(DocumentId, ValueId), Option<Rc<HashSet<finite::Constant>>>>,
    /// By the value of an `anyOf` or `oneOf`: the values of its branches, where they are finitely many.
    unions: HashMap<(DocumentId, ValueId), Option<finite::Finite>>,
    key_constants: HashMap<Member, Rc<finite::KeyConstants>>,
    tests: HashMap<Member, Option<Rc<switch::Test>>>,
    /// By schema, computed on demand: a superset of the kinds of values that it allows.
    kinds: Vec<Option<u8>>,
    /// By schema: whether it may refer to itself at the same value.
    circular: Box<[bool]>,
    question_depth: usize,
    spare_goals: Vec<Vec<Goal>>,
    /// Alternatives tried so far.
    n_tried: usize,
    /// Number of facts of all shapes so far.
    n_facts: usize,
    pub relaxed: Vec<Relaxed>,
    /// Number of constraints dropped in lenient mode.
    pub n_relaxed: usize,
    /// The keyword being expanded, if it is a single one.
    keyword: Option<(SchemaId, ValueId)>,
}

/// The shapes of a conjunction for one kind, nearly always one.
type Shapes = SmallVec<[Shape; 1]>;

/// A partial and its pending alternatives: it is copied for one after the other, so that few copies exist at a time.
struct Fork {
    partial: Partial,
    left: std::vec::IntoIter<Alternative>,
    /// About how many facts wait here and in the forks before.
    n_waiting: usize,
}

impl<'a> Expander<'a> {
    pub fn new(
        model: &'a SchemaModel,
        options: &'a SchemaOptions,
        limits: &'a Limits,
        budget: &'a CompileBudget,
        languages: Languages<'a>,
    ) -> Self {
        Expander {
            model,
            options,
            limits,
            budget,
            conjunctions: Conjunctions::new(model),
            languages,
            // Capacity for most schemas.
            shapes: HashMap::with_capacity(28),
            no_shapes: Rc::new([]),
            disjoint: HashMap::new(),
            empty: HashMap::new(),
            // Capacity for most schemas.
            finite: HashMap::with_capacity(14),
            enums: HashMap::new(),
            unions: HashMap::new(),
            key_constants: HashMap::new(),
            tests: HashMap::new(),
            kinds: vec![None; model.n_schemas()],
            circular: circular_schemas(model),
            question_depth: 0,
            spare_goals: Vec::new(),
            n_tried: 0,
            n_facts: 0,
            relaxed: Vec::new(),
            n_relaxed: 0,
            keyword: None,
        }
    }

    /// Returns the conjunction of the root.
    pub fn root(&mut self) -> ConjunctionId {
        self.conjunctions.intern(self.model, [Member::schema(self.model.root(), ScopeId(0))])
    }

    pub fn intern(&mut self, members: impl Into<Members>) -> ConjunctionId {
        self.conjunctions.intern(self.model, members)
    }

    /// Returns the shapes of a conjunction for one kind; no value of that kind satisfies it if there are none.
    pub fn shapes(&mut self, id: ConjunctionId, kind: ValueKind) -> Expanded<Rc<[Shape]>> {
        // Most conjunctions allow one kind: the others fail by their first members.
        for index in 0..self.conjunctions.members(id).len() {
            let member = self.conjunctions.members(id)[index];
            if let Member { subject: Subject::Schema(id), is_negated: false, .. } = member
                && self.surely_fails(kind, id)
            {
                return Ok(Rc::clone(&self.no_shapes));
            }
        }
        if let Some(shapes) = self.shapes.get(&(id, kind)) {
            return Ok(Rc::clone(shapes));
        }
        let members = self.conjunctions.cloned_members(id);
        if members.len() > 1
            && let Some(shapes) = self.listed_shapes(&members, kind)
        {
            let shapes = self.without_excluded(shapes, kind)?;
            self.shapes.insert((id, kind), Rc::clone(&shapes));
            return Ok(shapes);
        }
        let shapes: Rc<[Shape]> = match self.shape_of_type(&members, kind) {
            Some(shape) => {
                self.count_facts(&members, &shape)?;
                Rc::new([shape])
            }
            None => {
                let mut shapes = self.expand(&members, kind, usize::MAX)?.expect("without a bound of its own");
                match (shapes.pop(), shapes.len()) {
                    (None, _) => Rc::clone(&self.no_shapes),
                    (Some(only), 0) => Rc::new([only]),
                    (Some(last), _) => {
                        shapes.push(last);
                        shapes.into_vec().into()
                    }
                }
            }
        };
        let shapes = self.without_excluded(shapes, kind)?;
        self.shapes.insert((id, kind), Rc::clone(&shapes));
        Ok(shapes)
    }

    /// Returns the shape of a schema that says no more than of which type a scalar is, like most parameters of a tool.
    // PERF: 128 tools of six plain parameters take 41.3 M instructions to compile without it, 39.8 M with it (callgrind of `--bench tools`).
    fn shape_of_type(&self, members: &[Member], kind: ValueKind) -> Option<Shape> {
        let &[Member { subject: Subject::Schema(id), is_negated: false, .. }] = members else { return None };
        let Body::Keywords { entries, .. } = self.model.schema(id).body() else { return None };
        let &[Entry { keyword: Keyword::Value(ValueKeyword::Type(types)), .. }] = &entries[..] else { return None };
        match kind {
            // Options may close these.
            ValueKind::Array | ValueKind::Object => None,
            ValueKind::Number if !types.contains(TypeSet::NUMBER) => {
                Some(Shape::Number(NumberShape { set: NumberSet::integers(), values: None, excluded: BTreeSet::new() }))
            }
            _ => Some(Shape::any(kind)),
        }
    }

    /// Adds to shapes of strings that the texts which the options exclude do not occur in them.
    fn without_excluded(&mut self, shapes: Rc<[Shape]>, kind: ValueKind) -> Expanded<Rc<[Shape]>> {
        let texts = &self.options.excluded_texts;
        if kind != ValueKind::String || texts.is_empty() {
            return Ok(shapes);
        }
        let is_plain = matches!(self.options.root, RootForm::Text { .. });
        let language = self.languages.excluding(texts, is_plain, self.limits)?;
        let mut shapes = shapes.to_vec();
        for shape in &mut shapes {
            let Shape::String(string) = shape else { continue };
            string.languages.push((language, true));
            string.languages.sort_unstable();
            string.languages.dedup();
        }
        Ok(shapes.into())
    }

    /// Returns the shapes of members for one kind; nothing if there are more than `n_max` alternatives to try.
    fn expand(&mut self, members: &[Member], kind: ValueKind, n_max: usize) -> Expanded<Option<Shapes>> {
        // The lists of goals are reused.
        let mut goals = self.spare_goals.pop().unwrap_or_default();
        goals.extend(members.iter().rev().map(|&member| Goal::Member(member, Frames::new())));
        self.expand_goals(members, goals, kind, n_max)
    }

    /// As [`Self::expand`], of goals, the last one first; errors are about the `members`.
    fn expand_goals(
        &mut self,
        members: &[Member],
        goals: Vec<Goal>,
        kind: ValueKind,
        n_max: usize,
    ) -> Expanded<Option<Shapes>> {
        let mut done = Shapes::new();
        // By shape, once there may be several.
        let mut fingerprints: SmallVec<[u64; 1]> = SmallVec::new();
        let mut next = Some(Partial::new(kind, goals));
        let mut forks: Vec<Fork> = Vec::new();
        let mut n_tried = 0;
        while let Some(mut partial) = next.take().or_else(|| next_of(&mut forks)) {
            n_tried += 1;
            // A single alternative costs no more than its size.
            self.n_tried += usize::from(n_tried > 1);
            self.budget.spend(STEPS_PER_FACT * partial.size() + partial.shape.n_name_bytes() / BYTES_PER_STEP)?;
            if n_tried > n_max {
                return Ok(None);
            }
            let limit = self.limits.schema_alternatives_max;
            if n_tried > limit || self.n_tried > 16 * limit {
                let (given, limit) = if n_tried > limit { (n_tried, limit) } else { (self.n_tried, 16 * limit) };
                let error = SchemaError::too_much("schema_alternatives_max", given, limit);
                return Err(self.placed(members, error).into());
            }
            match self.advance(&mut partial)? {
                Outcome::Dead => self.keep_goals(partial.goals),
                Outcome::Done => {
                    self.keep_goals(partial.goals);
                    self.count_facts(members, &partial.shape)?;
                    if done.is_empty() && forks.is_empty() {
                        done.push(partial.shape);
                        break;
                    }
                    let fingerprint = partial.shape.fingerprint();
                    let is_known = fingerprints
                        .iter()
                        .zip(&done)
                        .any(|(&one, shape)| one == fingerprint && *shape == partial.shape);
                    if !is_known {
                        done.push(partial.shape);
                        fingerprints.push(fingerprint);
                    }
                }
                Outcome::Fork(alternatives) => {
                    let n_waiting = forks.last().map_or(0, |fork| fork.n_waiting) + partial.size();
                    let limit = self.limits.schema_facts_max.saturating_mul(WAITING_PER_FACT);
                    if n_waiting > limit {
                        let (given, limit) = (n_waiting / WAITING_PER_FACT, self.limits.schema_facts_max);
                        let error = SchemaError::too_much("schema_facts_max", given.max(limit + 1), limit);
                        return Err(self.placed(members, error).into());
                    }
                    forks.push(Fork { partial, left: alternatives.into_iter(), n_waiting });
                }
            }
        }
        merge_values(&mut done);
        Ok(Some(done))
    }

    /// Counts the facts of a shape.
    fn count_facts(&mut self, members: &[Member], shape: &Shape) -> Expanded<()> {
        let (n_facts, limit) = (shape.n_facts(), self.limits.schema_facts_max);
        // Questions consider one shape after the other, and store none.
        self.n_facts += if self.question_depth == 0 { n_facts } else { 0 };
        if self.n_facts > limit || n_facts > limit {
            let error = SchemaError::too_much("schema_facts_max", self.n_facts.max(n_facts), limit);
            return Err(self.placed(members, error).into());
        }
        Ok(())
    }

    /// Stores an empty list of goals for reuse.
    fn keep_goals(&mut self, mut goals: Vec<Goal>) {
        const KEPT_MAX: usize = 4;
        goals.clear();
        if self.spare_goals.len() < KEPT_MAX {
            self.spare_goals.push(goals);
        }
    }
}

/// Returns a copy of the last partial that has pending alternatives, with the goals of the next one; the last alternative gets the
/// partial itself.
fn next_of(forks: &mut Vec<Fork>) -> Option<Partial> {
    let fork = forks.last_mut()?;
    let alternative = fork.left.next().expect("forks have alternatives left");
    let mut partial = match fork.left.as_slice().is_empty() {
        true => forks.pop().expect("there is a fork").partial,
        false => fork.partial.clone(),
    };
    partial.goals.extend(alternative.into_iter().rev());
    Some(partial)
}

/// Merges the shapes that only list values into one.
fn merge_values(shapes: &mut Shapes) {
    if shapes.len() < 2 {
        return;
    }
    let (mut strings, mut numbers): (Vec<Arc<str>>, Vec<Decimal>) = (Vec::new(), Vec::new());
    let mut listed: HashSet<Arc<str>> = HashSet::new();
    shapes.retain(|shape| match shape {
        Shape::String(StringShape { min: 0, max: None, languages, values: Some(values), excluded })
            if languages.is_empty() && excluded.is_empty() =>
        {
            strings.extend(values.iter().filter(|value| listed.insert(Arc::clone(value))).cloned());
            false
        }
        Shape::Number(NumberShape { set, values: Some(values), excluded })
            if *set == NumberSet::all() && excluded.is_empty() =>
        {
            numbers.extend(values.iter().cloned());
            false
        }
        _ => true,
    });
    if !strings.is_empty() {
        shapes.push(Shape::String(StringShape { values: Some(strings), ..StringShape::default() }));
    }
    if !numbers.is_empty() {
        shapes.push(Shape::Number(NumberShape {
            set: NumberSet::all(),
            values: Some(numbers),
            excluded: BTreeSet::new(),
        }));
    }
}

impl<'a> Expansion<'a> for Expander<'a> {
    fn model(&self) -> &'a SchemaModel {
        self.model
    }

    fn options(&self) -> &'a SchemaOptions {
        self.options
    }

    fn limits(&self) -> &'a Limits {
        self.limits
    }

    fn languages(&mut self) -> &mut Languages<'a> {
        &mut self.languages
    }

    fn relax(&mut self, schema: SchemaId, value: ValueId, part: Option<u32>, error: SchemaError) -> Expanded<()> {
        Expander::relax(self, schema, value, part, error)
    }

    fn dynamic_target(&self, scope: ScopeId, anchor: &str) -> Option<SchemaId> {
        self.conjunctions.dynamic_target(self.model, scope, anchor)
    }

    fn surely_fails(&mut self, kind: ValueKind, id: SchemaId) -> bool {
        Expander::surely_fails(self, kind, id)
    }

    fn are_disjoint(&mut self, a: Member, b: Member, kind: ValueKind) -> Expanded<bool> {
        Expander::are_disjoint(self, a, b, kind)
    }

    fn any_of(&mut self, partial: &mut Partial, ids: &[SchemaId], scope: ScopeId, frames: &Frames) -> Expanded<Choice> {
        Expander::any_of(self, partial, ids, scope, frames)
    }

    fn other_objects(&mut self, document: DocumentId, values: &[ValueId]) -> Expanded<Alternative> {
        Expander::other_objects(self, document, values)
    }
}

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

use super::conjunction::{ConjunctionId, Conjunctions, Member, Members, ScopeId, Subject};
use super::decimal::Decimal;
use super::draft::Draft;
use super::error::SchemaError;
use super::language::Languages;
use super::lower::LowerError;
use super::model::{Body, DocumentId, Entry, Keyword, SchemaId, SchemaModel, TypeSet};
use super::number::NumberSet;
use super::options::SchemaOptions;
use super::report::Relaxed;
use super::shape::*;
use super::value::{Json, Value, ValueId};
use crate::Limits;
use crate::pass::CompileBudget;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Most branches of one `anyOf` whose subsets are alternatives for `unevaluated...`.
const UNEVALUATED_BRANCHES_MAX: usize = 8;

/// Steps that a fact counts as where a partial is copied and expanded.
const STEPS_PER_FACT: usize = 4;

/// Steps that a divisor counts for which a set of numbers is compared with.
const STEPS_PER_DIVISOR: usize = 16;

/// Facts of partials that wait, for each of [`Limits::schema_facts_max`].
const WAITING_PER_FACT: usize = 4;

/// Obligations that a new one is compared with, at most.
const OBLIGATIONS_COMPARED_MAX: usize = 64;

/// Keywords whose values are patterns.
const PATTERNS: [&str; 2] = ["pattern", "patternProperties"];

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
    tags: HashMap<Member, Rc<finite::Tags>>,
    tests: HashMap<Member, Option<Rc<switch::Test>>>,
    /// By schema, computed on demand: a superset of the kinds of values that it allows.
    kinds: Vec<Option<u8>>,
    /// By schema: whether it may refer to itself at the same value.
    circular: Box<[bool]>,
    n_deep: usize,
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

/// The frames that record what a goal evaluates.
type Frames = SmallVec<[u32; 2]>;

/// A constraint to be expanded.
#[derive(Clone, Debug)]
enum Goal {
    Member(Member, Frames),
    /// A keyword, with the scope within its schema.
    Entry(SchemaId, u32, ScopeId, Frames),
    /// All keywords of a schema hold except the `unevaluated...` keyword with this index, which some unevaluated key or item violates.
    UnevaluatedViolation(SchemaId, u32, ScopeId),
    Fact(Fact),
}

/// A simple fact about a value of the kind at hand.
#[derive(Clone, Debug)]
enum Fact {
    Number(NumberSet),
    NumberIn(Vec<Decimal>),
    NumberNot(Decimal),
    MinLength(u64),
    MaxLength(u64),
    Language(super::language::LanguageId, bool),
    StringIn(Vec<Arc<str>>),
    StringNot(Arc<str>),
    Property(Arc<str>, Member),
    Required(Arc<str>),
    Absent(Arc<str>),
    Keys(KeyRule),
    Names(Member),
    Obligation(Obligation),
    MinProperties(u64),
    MaxProperties(u64),
    Items(ItemRule),
    Count(ItemCount),
    MinItems(u64),
    MaxItems(u64),
    Unique,
}

type Alternative = Vec<Goal>;

/// The shapes of a conjunction for one kind, nearly always one.
type Shapes = SmallVec<[Shape; 1]>;

/// The alternatives of a choice, and equivalent clauses, computed on demand.
#[derive(Clone, Debug)]
struct Alternatives {
    all: Vec<Alternative>,
    clauses: OnceCell<Option<Rc<[clauses::Clause]>>>,
    /// The language of the strings that any of these allow, once asked for.
    language: OnceCell<Option<super::language::LanguageId>>,
}

impl Alternatives {
    fn new(all: Vec<Alternative>) -> Rc<Self> {
        Rc::new(Alternatives { all, clauses: OnceCell::new(), language: OnceCell::new() })
    }
}

/// A pending choice.
#[derive(Clone, Debug)]
enum Choice {
    // Shared, since partials are copied with their choices at each fork.
    Of(Rc<Alternatives>),
    /// The alternatives by which something fails.
    Failing(Rc<Alternatives>),
    /// Exactly one of these.
    One(Rc<[Member]>, Frames),
    /// A member that must fail.
    Negated(Member),
}

#[derive(Clone, Debug, Default)]
struct Frame {
    names: HashSet<Arc<str>>,
    languages: Vec<super::language::LanguageId>,
    has_all: bool,
    n_items: u64,
    contains: Vec<Member>,
    /// Whether constraints dropped in lenient mode might evaluate more.
    is_open: bool,
    /// Whether the record must be exact instead of a subset of what is evaluated.
    is_exact: bool,
}

/// A schema whose `unevaluated...` keyword is pending.
#[derive(Clone, Debug)]
struct Unevaluated {
    schema: Member,
    /// The keyword.
    place: (SchemaId, ValueId),
    frame: u32,
    outer: Frames,
    /// Whether the keyword must be violated.
    is_negated: bool,
}

#[derive(Clone)]
struct Partial {
    kind: ValueKind,
    shape: Shape,
    /// A stack: the last goal is next.
    goals: Vec<Goal>,
    choices: VecDeque<Choice>,
    negations: VecDeque<Choice>,
    frames: Vec<Frame>,
    unevaluated: Vec<Unevaluated>,
    /// Members expanded already, apart from what they evaluate.
    followed: Followed,
    /// Number of forks over names that nothing declares.
    n_name_forks: usize,
    /// Number of members expanded that may refer to themselves: many more than there are schemas proves that they do.
    n_followed: usize,
}

/// A set of members.
#[derive(Clone, Default)]
struct Followed {
    // Most sets are small and need no hash table.
    few: SmallVec<[Member; 4]>,
    many: HashSet<Member>,
}

impl Followed {
    const FEW_MAX: usize = 32;

    /// Adds a member; returns whether it is new.
    fn insert(&mut self, member: Member) -> bool {
        if self.contains(member) {
            return false;
        }
        match self.few.len() < Self::FEW_MAX {
            true => self.few.push(member),
            false => drop(self.many.insert(member)),
        }
        true
    }

    fn contains(&self, member: Member) -> bool {
        self.few.contains(&member) || self.few.len() == Self::FEW_MAX && self.many.contains(&member)
    }

    fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }
}

/// A partial and its pending alternatives: it is copied for one after the other, so that few copies exist at a time.
struct Fork {
    partial: Partial,
    left: std::vec::IntoIter<Alternative>,
    /// About how many facts wait here and in the forks before.
    n_waiting: usize,
}

enum Outcome {
    Dead,
    Done,
    Fork(Vec<Alternative>),
}

enum Progress {
    None,
    /// There are new goals.
    More,
    Dead,
}

impl Partial {
    fn new(kind: ValueKind, goals: Vec<Goal>) -> Self {
        Partial {
            kind,
            shape: Shape::any(kind),
            goals,
            choices: VecDeque::new(),
            negations: VecDeque::new(),
            frames: Vec::new(),
            unevaluated: Vec::new(),
            followed: Followed::default(),
            n_name_forks: 0,
            n_followed: 0,
        }
    }

    /// Returns about how much a copy takes.
    fn size(&self) -> usize {
        self.shape.n_facts() + self.goals.len() + self.negations.len() + self.followed.len() + self.choices.len()
    }
}

type Expanded<T> = Result<T, LowerError>;

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
            finite: HashMap::new(),
            tags: HashMap::new(),
            tests: HashMap::new(),
            kinds: vec![None; model.n_schemas()],
            circular: circular(model),
            n_deep: 0,
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
            self.shapes.insert((id, kind), Rc::clone(&shapes));
            return Ok(shapes);
        }
        let mut shapes = self.expand(&members, kind, usize::MAX)?.expect("without a bound of its own");
        let shapes: Rc<[Shape]> = match (shapes.pop(), shapes.len()) {
            (None, _) => Rc::clone(&self.no_shapes),
            (Some(only), 0) => Rc::new([only]),
            (Some(last), _) => {
                shapes.push(last);
                shapes.into_vec().into()
            }
        };
        self.shapes.insert((id, kind), Rc::clone(&shapes));
        Ok(shapes)
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
        let mut prints: SmallVec<[u64; 1]> = SmallVec::new();
        let mut next = Some(Partial::new(kind, goals));
        let mut forks: Vec<Fork> = Vec::new();
        let mut n_tried = 0;
        while let Some(mut partial) = next.take().or_else(|| next_of(&mut forks)) {
            n_tried += 1;
            // A single alternative costs no more than its size.
            self.n_tried += usize::from(n_tried > 1);
            self.budget.spend(STEPS_PER_FACT * partial.size())?;
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
                    let print = partial.shape.print();
                    let is_known =
                        prints.iter().zip(&done).any(|(&one, shape)| one == print && *shape == partial.shape);
                    if !is_known {
                        done.push(partial.shape);
                        prints.push(print);
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
        self.n_facts += if self.n_deep == 0 { n_facts } else { 0 };
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

    /// Expands unconditional goals; stops at the next choice.
    fn advance(&mut self, partial: &mut Partial) -> Expanded<Outcome> {
        loop {
            while let Some(goal) = partial.goals.pop() {
                if !self.pursue(partial, goal)? {
                    return Ok(Outcome::Dead);
                }
            }
            if !self.settle(partial)? {
                return Ok(Outcome::Dead);
            }
            if !partial.goals.is_empty() {
                continue;
            }
            // Choices with a single alternative come first.
            match self.propagate(partial)? {
                Progress::Dead => return Ok(Outcome::Dead),
                Progress::More => continue,
                Progress::None => {}
            }
            if let Some(choice) = partial.negations.pop_front() {
                let Choice::Negated(member) = choice else { unreachable!("only negations wait there") };
                let alternatives = self.negations(partial, member)?;
                partial.choices.push_back(Choice::Failing(Alternatives::new(alternatives)));
                continue;
            }
            if let Some(alternatives) = self.next_fork(partial)? {
                match alternatives.len() {
                    0 => continue,
                    _ => return Ok(Outcome::Fork(alternatives)),
                }
            }
            match partial.unevaluated.pop() {
                Some(waiting) => {
                    if !self.constrain_rest(partial, &waiting)? {
                        return Ok(Outcome::Dead);
                    }
                }
                None => return Ok(Outcome::Done),
            }
        }
    }

    /// Drops alternatives that can't hold; a single remaining alternative becomes unconditional.
    fn propagate(&mut self, partial: &mut Partial) -> Expanded<Progress> {
        let mut choices = core::mem::take(&mut partial.choices);
        let mut progress = Progress::None;
        let mut left = VecDeque::with_capacity(choices.len());
        while let Some(choice) = choices.pop_front() {
            match choice {
                Choice::Of(ref alternatives) | Choice::Failing(ref alternatives) => {
                    let alternatives = &alternatives.all;
                    self.budget.spend(STEPS_PER_FACT * alternatives.len())?;
                    let mut holding: SmallVec<[u32; 8]> = SmallVec::new();
                    for (index, goals) in alternatives.iter().enumerate() {
                        if goals.iter().all(|goal| self.may_hold(partial, goal)) {
                            holding.push(index as u32);
                        }
                    }
                    // An alternative without new constraints is implied by all others.
                    let goals_of = |&index: &u32| &alternatives[index as usize];
                    if holding.iter().any(|index| goals_of(index).iter().all(|goal| is_implied(partial, goal))) {
                        continue;
                    }
                    match holding[..] {
                        [] => return Ok(Progress::Dead),
                        [only] => {
                            partial.goals.extend(goals_of(&only).iter().rev().cloned());
                            progress = Progress::More;
                        }
                        _ if holding.len() == alternatives.len() => left.push_back(choice),
                        _ => {
                            let fewer = holding.iter().map(|index| goals_of(index).clone());
                            let fewer = Alternatives::new(fewer.collect());
                            left.push_back(match choice {
                                Choice::Failing(_) => Choice::Failing(fewer),
                                _ => Choice::Of(fewer),
                            });
                        }
                    }
                }
                Choice::One(branches, frames) => {
                    self.budget.spend(branches.len())?;
                    let alive = branches.iter().copied().filter(|&branch| self.may_be(partial, branch));
                    let alive: Vec<Member> = alive.collect();
                    match alive[..] {
                        [] => return Ok(Progress::Dead),
                        [only] => {
                            partial.goals.push(Goal::Member(only, frames));
                            progress = Progress::More;
                        }
                        _ => left.push_back(Choice::One(alive.into(), frames)),
                    }
                }
                Choice::Negated(_) => unreachable!("negations wait elsewhere"),
            }
            if matches!(progress, Progress::More) {
                self.budget.spend(choices.len())?;
                left.append(&mut choices);
            }
        }
        partial.choices = left;
        Ok(progress)
    }

    /// Removes the choice with the fewest alternatives, after choices that become clauses; `None` if there is none, an empty list if
    /// there are goals to expand first.
    fn next_fork(&mut self, partial: &mut Partial) -> Expanded<Option<Vec<Alternative>>> {
        if let Some(alternatives) = self.switch(partial)? {
            return Ok(Some(alternatives));
        }
        if let Shape::Object(_) = partial.shape {
            let choices = core::mem::take(&mut partial.choices);
            let mut progress = false;
            let (n_choices, mut n_waiting) = (choices.len(), 0);
            let mut order = None;
            for choice in choices {
                let (Choice::Of(alternatives) | Choice::Failing(alternatives)) = &choice else {
                    partial.choices.push_back(choice);
                    continue;
                };
                let is_failing = matches!(choice, Choice::Failing(_));
                match self.clauses(partial, alternatives, is_failing, (n_choices, n_waiting), &mut order)? {
                    Some(clauses) => {
                        progress = true;
                        n_waiting += clauses.len();
                        let facts = clauses.into_iter().map(|any| Goal::Fact(Fact::Obligation(Obligation { any })));
                        partial.goals.extend(facts);
                    }
                    None => partial.choices.push_back(choice),
                }
            }
            if progress {
                return Ok(Some(vec![]));
            }
        }
        if self.join_languages(partial)? {
            return Ok(Some(vec![]));
        }
        let size = |choice: &Choice| match choice {
            Choice::Of(alternatives) | Choice::Failing(alternatives) => alternatives.all.len(),
            Choice::One(branches, _) => branches.len(),
            Choice::Negated(_) => unreachable!("negations wait elsewhere"),
        };
        let least = (0..partial.choices.len()).min_by_key(|&index| size(&partial.choices[index]));
        let Some(choice) = least.and_then(|index| partial.choices.remove(index)) else { return Ok(None) };
        Ok(Some(match choice {
            Choice::Of(alternatives) => {
                partial.n_name_forks += 1;
                alternatives.all.clone()
            }
            Choice::Failing(alternatives) => alternatives.all.clone(),
            Choice::One(branches, frames) => self.one_of(partial.kind, &branches, &frames)?,
            Choice::Negated(_) => unreachable!("negations wait elsewhere"),
        }))
    }

    /// Expands a goal; returns whether it can hold.
    fn pursue(&mut self, partial: &mut Partial, goal: Goal) -> Expanded<bool> {
        match goal {
            Goal::Fact(fact) => {
                // What a fact is compared with.
                self.budget.spend(match &partial.shape {
                    Shape::Number(number) => STEPS_PER_DIVISOR * number.set.n_divisors(),
                    Shape::String(string) => string.languages.len() / 8,
                    _ => 0,
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
                self.keyword = Some((schema, entry.value));
                let open_frames = if self.options.is_lenient { frames.clone() } else { Frames::new() };
                match self.pursue_entry(partial, schema, &entry.keyword, scope, frames) {
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
                partial.negations.push_back(Choice::Negated(member));
                return Ok(true);
            }
            Subject::Schema(_) => {}
        }
        let Subject::Schema(id) = member.subject else { unreachable!("other subjects were handled") };
        if partial.n_followed > 8 * self.model.n_schemas() + 1024 {
            let error = SchemaError::unsupported("$ref", "it leads back to itself without reading anything");
            return Err(self.model.error_at(id, self.model.schema(id).value(), error).into());
        }
        let entries = match self.model.schema(id).body() {
            Body::Bool(verdict) => return Ok(*verdict != member.is_negated),
            Body::Keywords { entries, .. } => entries,
        };
        if member.is_negated {
            partial.negations.push_back(Choice::Negated(member));
            return Ok(true);
        }
        if self.surely_fails(partial.kind, id) {
            return Ok(false);
        }
        let scope = self.conjunctions.enter(self.model, member.scope, id);
        let mut inner = frames.clone();
        for entry in entries {
            let ((Keyword::UnevaluatedProperties(rest), ValueKind::Object)
            | (Keyword::UnevaluatedItems(rest), ValueKind::Array)) = (&entry.keyword, partial.kind)
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
            self.close(partial, id);
        }
        Ok(true)
    }

    /// Expands a schema without the `unevaluated...` keyword that must be violated.
    fn pursue_unevaluated_violation(&mut self, partial: &mut Partial, id: SchemaId, index: u32, scope: ScopeId) {
        let entries = self.model.schema(id).entries();
        let (Keyword::UnevaluatedProperties(rest) | Keyword::UnevaluatedItems(rest)) = entries[index as usize].keyword
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

    /// Forbids other keys where `additionalProperties` is absent.
    fn close(&mut self, partial: &mut Partial, id: SchemaId) {
        let entries = self.model.schema(id).entries();
        let says = |wanted: fn(&Keyword) -> bool| entries.iter().any(|entry| wanted(&entry.keyword));
        let has_properties = says(|keyword| matches!(keyword, Keyword::Properties(_) | Keyword::PatternProperties(_)));
        let is_said =
            says(|keyword| matches!(keyword, Keyword::AdditionalProperties(_) | Keyword::UnevaluatedProperties(_)));
        if has_properties
            && !is_said
            && let Ok(keys) = self.keys_beside(id)
        {
            partial.goals.push(Goal::Fact(Fact::Keys(KeyRule { keys, member: Member::NOTHING })));
        }
    }

    /// Returns the facts of a constant; `None` if it is of another kind.
    fn constant(&mut self, kind: ValueKind, document: DocumentId, value: ValueId) -> Option<Vec<Fact>> {
        let json = self.model.json(document);
        Some(match (kind, json.value(value)) {
            (ValueKind::Null, Value::Null)
            | (ValueKind::True, Value::Bool(true))
            | (ValueKind::False, Value::Bool(false)) => vec![],
            (ValueKind::Number, Value::Number(number)) => vec![Fact::NumberIn(vec![number.clone()])],
            (ValueKind::String, Value::String(text)) => vec![Fact::StringIn(vec![text.into()])],
            (ValueKind::Array, Value::Array(items)) => {
                let n_items = items.len() as u64;
                let mut facts = vec![Fact::MinItems(n_items), Fact::MaxItems(n_items)];
                facts.extend(items.iter().enumerate().map(|(index, &item)| {
                    let (from, to) = (index as u64, Some(index as u64 + 1));
                    Fact::Items(ItemRule { from, to, member: Member::value(document, item) })
                }));
                facts
            }
            (ValueKind::Object, Value::Object(members)) => {
                let mut facts = Vec::with_capacity(2 * members.len() + 1);
                let mut names = HashSet::new();
                for member in members {
                    let name: Arc<str> = json.key(member).into();
                    if names.insert(Arc::clone(&name)) {
                        let value = json.member(value, &name).expect("the object has the key");
                        facts.push(Fact::Property(Arc::clone(&name), Member::value(document, value)));
                        facts.push(Fact::Required(name));
                    }
                }
                let keys = Keys::Beside { names: Rc::new(names), languages: Rc::new([]) };
                facts.push(Fact::Keys(KeyRule { keys, member: Member::NOTHING }));
                facts
            }
            _ => return None,
        })
    }

    /// Returns the alternatives of a value that differs from a constant.
    fn other_than(&mut self, kind: ValueKind, document: DocumentId, value: ValueId) -> Vec<Alternative> {
        let json = self.model.json(document);
        let fact = |fact| vec![Goal::Fact(fact)];
        match (kind, json.value(value)) {
            (ValueKind::Null, Value::Null)
            | (ValueKind::True, Value::Bool(true))
            | (ValueKind::False, Value::Bool(false)) => vec![],
            (ValueKind::Number, Value::Number(number)) => vec![fact(Fact::NumberNot(number.clone()))],
            (ValueKind::String, Value::String(text)) => vec![fact(Fact::StringNot(text.into()))],
            (ValueKind::Array, Value::Array(items)) => {
                let n_items = items.len() as u64;
                let mut alternatives = vec![fact(Fact::MinItems(n_items + 1))];
                if n_items > 0 {
                    alternatives.push(fact(Fact::MaxItems(n_items - 1)));
                }
                alternatives.extend(items.iter().enumerate().map(|(index, &item)| {
                    let (from, to) = (index as u64, Some(index as u64 + 1));
                    let member = Member::value(document, item).negated();
                    vec![Goal::Fact(Fact::MinItems(n_items)), Goal::Fact(Fact::Items(ItemRule { from, to, member }))]
                }));
                alternatives
            }
            (ValueKind::Object, Value::Object(members)) => {
                let mut alternatives = Vec::new();
                let names: HashSet<Arc<str>> = members.iter().map(|member| json.key(member).into()).collect();
                for member in members {
                    let name: Arc<str> = json.key(member).into();
                    if json.member(value, &name) == Some(member.value) {
                        alternatives.push(fact(Fact::Absent(Arc::clone(&name))));
                        let other = Member::value(document, member.value).negated();
                        alternatives.push(vec![
                            Goal::Fact(Fact::Required(Arc::clone(&name))),
                            Goal::Fact(Fact::Property(name, other)),
                        ]);
                    }
                }
                let keys = Keys::Beside { names: Rc::new(names), languages: Rc::new([]) };
                alternatives.push(fact(Fact::Obligation(Obligation::key(keys, None))));
                alternatives
            }
            _ => vec![vec![]],
        }
    }

    /// Returns the alternatives of not satisfying a member (whose sign is negative).
    fn negations(&mut self, partial: &Partial, member: Member) -> Expanded<Vec<Alternative>> {
        let id = match member.subject {
            Subject::Nothing => return Ok(vec![vec![]]),
            Subject::Value(document, value) => return Ok(self.other_than(partial.kind, document, value)),
            Subject::Choice(id) => {
                // Each of the conjunctions must fail: the product of their alternatives.
                let of = self.conjunctions.choices(id).to_vec();
                if of.iter().all(|&id| self.conjunctions.members(id).len() == 1) {
                    let only = |id: &ConjunctionId| self.conjunctions.members(*id)[0].negated();
                    return Ok(vec![of.iter().map(|id| Goal::Member(only(id), Frames::new())).collect()]);
                }
                let mut alternatives: Vec<Alternative> = vec![vec![]];
                for id in of {
                    let members = self.conjunctions.members(id).to_vec();
                    let longer = |goals: &Alternative| {
                        let goals = goals.clone();
                        members
                            .iter()
                            .map(move |member| {
                                goals.iter().cloned().chain([Goal::Member(member.negated(), Frames::new())]).collect()
                            })
                            .collect::<Vec<Alternative>>()
                    };
                    alternatives = alternatives.iter().flat_map(longer).collect();
                    if alternatives.len() > self.limits.schema_alternatives_max {
                        let limit = self.limits.schema_alternatives_max;
                        return Err(SchemaError::too_much("schema_alternatives_max", alternatives.len(), limit).into());
                    }
                }
                return Ok(alternatives);
            }
            Subject::Schema(id) => id,
        };
        if self.surely_fails(partial.kind, id) {
            return Ok(vec![vec![]]);
        }
        let scope = self.conjunctions.enter(self.model, member.scope, id);
        let mut alternatives = Vec::new();
        for entry in self.model.schema(id).entries() {
            match self.negate_entry(partial.kind, id, &entry.keyword, scope) {
                Ok(found) => alternatives.extend(found),
                Err(LowerError::Schema(error)) => {
                    self.relax(id, entry.value, None, error)?;
                    alternatives.push(vec![]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(alternatives)
    }

    /// Constrains the unevaluated keys or items; returns whether that can hold.
    fn constrain_rest(&mut self, partial: &mut Partial, waiting: &Unevaluated) -> Expanded<bool> {
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
                if !object.rules.contains(&rule) {
                    object.rules.push(rule);
                }
            }
            (Shape::Object(object), Fact::Names(member)) => {
                if !object.names.contains(&member) {
                    object.names.push(member);
                }
            }
            (Shape::Object(object), Fact::Obligation(obligation)) => {
                // Duplicates do no harm, so comparing with the last few is enough.
                let first = object.obligations.len().saturating_sub(OBLIGATIONS_COMPARED_MAX);
                if !object.obligations[first..].contains(&obligation) {
                    object.obligations.push(obligation);
                }
            }
            (Shape::Object(object), Fact::MinProperties(min)) => object.min = object.min.max(min),
            (Shape::Object(object), Fact::MaxProperties(max)) => {
                object.max = Some(object.max.map_or(max, |old| old.min(max)));
            }
            (Shape::Array(array), Fact::Items(rule)) => {
                if !array.rules.contains(&rule) {
                    array.rules.push(rule);
                }
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

/// Returns by schema whether keywords that apply to the same value may refer back to it, or to a schema of which that is true.
fn circular(model: &SchemaModel) -> Box<[bool]> {
    let n = model.n_schemas();
    // Source and target.
    let mut steps: Vec<(SchemaId, SchemaId)> = Vec::new();
    for (id, schema) in model.schemas() {
        let mut lead_to = |target: SchemaId| steps.push((id, target));
        for entry in schema.entries() {
            match &entry.keyword {
                Keyword::AllOf(ids) | Keyword::AnyOf(ids) | Keyword::OneOf(ids) => {
                    ids.iter().copied().for_each(&mut lead_to);
                }
                Keyword::Not(id) | Keyword::Ref(id) => lead_to(*id),
                Keyword::If { test, then, otherwise } => {
                    core::iter::once(*test).chain(*then).chain(*otherwise).for_each(&mut lead_to);
                }
                Keyword::DependentSchemas(schemas) => schemas.iter().for_each(|(_, id)| lead_to(*id)),
                Keyword::DynamicRef { target, .. } => {
                    model.dynamic.values().copied().chain([*target]).for_each(&mut lead_to);
                }
                _ => {}
            }
        }
    }
    if steps.is_empty() {
        return vec![false; n].into();
    }
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut n_targets = vec![0u32; n];
    for (source, target) in steps {
        n_targets[source.index()] += 1;
        sources[target.index()].push(source.index() as u32);
    }
    // Schemas without targets are removed first, then those that refer to removed ones only.
    let mut circular = vec![true; n];
    let mut pending: Vec<usize> = (0..n).filter(|&index| n_targets[index] == 0).collect();
    while let Some(index) = pending.pop() {
        circular[index] = false;
        for &source in &sources[index] {
            n_targets[source as usize] -= 1;
            if n_targets[source as usize] == 0 {
                pending.push(source as usize);
            }
        }
    }
    circular.into()
}

/// Returns whether a goal is implied by the partial.
fn is_implied(partial: &Partial, goal: &Goal) -> bool {
    match (goal, &partial.shape) {
        (Goal::Member(member, frames), _) => frames.is_empty() && partial.followed.contains(*member),
        (Goal::Fact(Fact::Required(name)), Shape::Object(object)) => object.required.contains(name),
        (Goal::Fact(Fact::Absent(name)), Shape::Object(object)) => object.absent.contains(name),
        (Goal::Fact(Fact::Property(name, member)), Shape::Object(object)) => {
            object.absent.contains(name) || object.properties.get(name).is_some_and(|members| members.contains(member))
        }
        _ => false,
    }
}

/// Returns whether a shape is visibly contradictory.
fn is_contradictory(shape: &Shape) -> bool {
    let are_crossed = |min: u64, max: Option<u64>| max.is_some_and(|max| min > max);
    match shape {
        Shape::Only => false,
        Shape::Number(number) => number.values.as_ref().is_some_and(Vec::is_empty) || number.set == NumberSet::empty(),
        Shape::String(string) => {
            string.values.as_ref().is_some_and(Vec::is_empty) || are_crossed(string.min, string.max)
        }
        Shape::Array(array) => are_crossed(array.min, array.max),
        Shape::Object(object) => are_crossed(object.min.max(object.required.len() as u64), object.max),
    }
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

fn is_of_kind(value: Value<'_>, kind: ValueKind) -> bool {
    matches!(
        (value, kind),
        (Value::Null, ValueKind::Null)
            | (Value::Bool(true), ValueKind::True)
            | (Value::Bool(false), ValueKind::False)
            | (Value::Number(_), ValueKind::Number)
            | (Value::String(_), ValueKind::String)
            | (Value::Array(_), ValueKind::Array)
            | (Value::Object(_), ValueKind::Object)
    )
}

mod clauses;
mod finite;
mod keywords;
mod languages;
mod others;
mod place;
mod questions;
mod switch;
mod unions;

use questions::QUESTION_ALTERNATIVES_MAX;

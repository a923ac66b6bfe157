//! Partial expansions: what is known about the values of one alternative of a conjunction, and what remains to be expanded.
//!
//! A partial has a shape, built from the facts so far, *goals*, which must all hold, and *choices*, of which one alternative each must hold.
//! Keywords add goals and choices ([`keywords`](super::keywords)); expansion turns goals into facts, and forks a partial at a choice
//! ([`expand`](super::expand)).

use super::conjunction::{Member, ScopeId};
use super::decimal::Decimal;
use super::model::SchemaId;
use super::number::NumberSet;
use super::shape::{ItemCount, ItemRule, KeyRule, LanguageId, Obligation, Shape, ValueKind, Witness};
use super::value::ValueId;
use hashbrown::HashSet;
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// The frames that record what a goal evaluates.
pub(super) type Frames = SmallVec<[u32; 2]>;

/// A constraint to be expanded.
#[derive(Clone, Debug)]
pub(super) enum Goal {
    Member(Member, Frames),
    /// A keyword, with the scope within its schema.
    Entry(SchemaId, u32, ScopeId, Frames),
    /// All keywords of a schema hold except the `unevaluated...` keyword with this index, which some unevaluated key or item violates.
    UnevaluatedViolation(SchemaId, u32, ScopeId),
    Fact(Fact),
}

/// A simple fact about a value of the kind at hand.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    Number(NumberSet),
    NumberIn(Vec<Decimal>),
    NumberNot(Decimal),
    MinLength(u64),
    MaxLength(u64),
    Language(LanguageId, bool),
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

/// Goals that hold together, one alternative of a choice.
pub(super) type Alternative = Vec<Goal>;

/// A disjunction of facts.
pub(super) type Clause = Vec<Witness>;

/// The alternatives of a choice, and equivalent clauses, computed on demand.
#[derive(Clone, Debug)]
pub(super) struct Alternatives {
    pub all: Vec<Alternative>,
    /// Whether these are the ways in which something fails.
    pub is_failing: bool,
    pub clauses: OnceCell<Option<Rc<[Clause]>>>,
    /// The language of the strings that any of these allow, once asked for.
    pub language: OnceCell<Option<LanguageId>>,
}

impl Alternatives {
    pub fn new(all: Vec<Alternative>) -> Rc<Self> {
        Self::of(all, false)
    }

    /// The ways in which something fails.
    pub fn failing(all: Vec<Alternative>) -> Rc<Self> {
        Self::of(all, true)
    }

    /// Those of the alternatives with some indices.
    pub fn reduced_to(&self, indices: &[u32]) -> Rc<Self> {
        Self::of(indices.iter().map(|&index| self.all[index as usize].clone()).collect(), self.is_failing)
    }

    fn of(all: Vec<Alternative>, is_failing: bool) -> Rc<Self> {
        Rc::new(Alternatives { all, is_failing, clauses: OnceCell::new(), language: OnceCell::new() })
    }
}

/// A pending choice.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    // Shared, since partials are copied with their choices at each fork.
    Of(Rc<Alternatives>),
    /// Exactly one of these.
    One(Rc<[Member]>, Frames),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub names: HashSet<Arc<str>>,
    pub languages: Vec<LanguageId>,
    pub has_all: bool,
    pub n_items: u64,
    pub contains: Vec<Member>,
    /// Whether constraints dropped in lenient mode might evaluate more.
    pub is_open: bool,
    /// Whether the record must be exact instead of a subset of what is evaluated.
    pub is_exact: bool,
}

/// A schema whose `unevaluated...` keyword is pending.
#[derive(Clone, Debug)]
pub(super) struct Unevaluated {
    pub schema: Member,
    /// The keyword.
    pub place: (SchemaId, ValueId),
    pub frame: u32,
    pub outer: Frames,
    /// Whether the keyword must be violated.
    pub is_negated: bool,
}

#[derive(Clone)]
pub(super) struct Partial {
    pub kind: ValueKind,
    pub shape: Shape,
    /// A stack: the last goal is next.
    pub goals: Vec<Goal>,
    pub choices: VecDeque<Choice>,
    /// Members that must fail.
    pub negations: VecDeque<Member>,
    pub frames: Vec<Frame>,
    pub unevaluated: Vec<Unevaluated>,
    /// Members expanded already, apart from what they evaluate.
    pub followed: Followed,
    /// Number of forks so far, except those between ways to fail.
    pub n_forks: usize,
    /// Number of members expanded that may refer to themselves: many more than there are schemas proves that they do.
    pub n_followed: usize,
}

/// A set of members.
#[derive(Clone, Default)]
pub(super) struct Followed {
    // Most sets are small and need no hash table.
    pub few: SmallVec<[Member; 4]>,
    pub many: HashSet<Member>,
}

impl Followed {
    const FEW_MAX: usize = 32;

    /// Adds a member; returns whether it is new.
    pub fn insert(&mut self, member: Member) -> bool {
        if self.contains(member) {
            return false;
        }
        match self.few.len() < Self::FEW_MAX {
            true => self.few.push(member),
            false => drop(self.many.insert(member)),
        }
        true
    }

    pub fn contains(&self, member: Member) -> bool {
        self.few.contains(&member) || self.few.len() == Self::FEW_MAX && self.many.contains(&member)
    }

    pub fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }
}

impl Partial {
    pub fn new(kind: ValueKind, goals: Vec<Goal>) -> Self {
        Partial {
            kind,
            shape: Shape::any(kind),
            goals,
            choices: VecDeque::new(),
            negations: VecDeque::new(),
            frames: Vec::new(),
            unevaluated: Vec::new(),
            followed: Followed::default(),
            n_forks: 0,
            n_followed: 0,
        }
    }

    /// Returns about how much a copy takes.
    pub fn size(&self) -> usize {
        self.shape.n_facts() + self.goals.len() + self.negations.len() + self.followed.len() + self.choices.len()
    }

    /// Records what a keyword evaluates, in each of some frames.
    pub fn record(&mut self, frames: &Frames, mut evaluate: impl FnMut(&mut Frame)) {
        frames.iter().for_each(|&frame| evaluate(&mut self.frames[frame as usize]));
    }

    /// Adds goals, to be pursued in their order before those that wait.
    pub fn add_goals(&mut self, goals: impl IntoIterator<Item = Goal, IntoIter: DoubleEndedIterator>) {
        self.goals.extend(goals.into_iter().rev());
    }

    /// Adds a choice between alternatives.
    pub fn add_choice(&mut self, alternatives: Vec<Alternative>) {
        self.choices.push_back(Choice::Of(Alternatives::new(alternatives)));
    }
}

/// Returns whether a goal is implied by the partial.
pub(super) fn is_implied(partial: &Partial, goal: &Goal) -> bool {
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
pub(super) fn is_contradictory(shape: &Shape) -> bool {
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

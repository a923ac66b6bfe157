//! Unions: `anyOf`, and `oneOf`, where all other branches must fail.
//!
//! n branches have n (n - 1) pairs, each of which must be tested for a common value: 100 million for a `oneOf` of 10,000 constants.
//! So branches are indexed before pairs are compared. Scalars that branches list are counted: those listed by exactly one branch
//! are one alternative together. Arrays and objects are distinguished by the constants that their branches list for the whole value or for
//! a key (a *discriminator*): a branch is compared only with those that list one of its constants, or that list none.

use super::finite::{Constant, Finite};
use super::questions::COMPARISON_STEPS;
use super::*;

/// Most branches whose subsets are listed, whatever the limit says.
const SUBSETS_BITS_MAX: usize = 16;

/// The scalars of a kind that branches list, with the number of branches that list each.
struct Listed {
    kind: ValueKind,
    n_branches: HashMap<Constant, usize>,
}

/// A discriminator: the value itself, or the value of a key.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Discriminator {
    Value,
    Key(Arc<str>),
}

/// The branches by the constants that they list for a discriminator.
#[derive(Default)]
struct Index {
    by_value: HashMap<Constant, Vec<u32>>,
    /// The branches that list something, ascending. There can be as many discriminators as branches, so nothing here is as long as those are.
    listing: Vec<u32>,
    /// The branches that list nothing, once they are asked for.
    silent: Option<Rc<[u32]>>,
}

impl Expander<'_> {
    /// Returns the choice of `anyOf`; if frames record what is evaluated, between all sets of branches, where the others fail if the record
    /// `is_exact`.
    pub(super) fn any_of(
        &mut self,
        partial: &mut Partial,
        ids: &[SchemaId],
        scope: ScopeId,
        frames: &Frames,
    ) -> Expanded<Choice> {
        let is_exact = frames.iter().any(|&frame| partial.frames[frame as usize].is_exact);
        let kind = partial.kind;
        let goal = |id: SchemaId| Goal::Member(Member::schema(id, scope), frames.clone());
        let alive: Vec<SchemaId> = ids.iter().copied().filter(|&id| !self.surely_fails(kind, id)).collect();
        if frames.is_empty() && alive.len() > 1 && !matches!(kind, ValueKind::Array | ValueKind::Object) {
            let branches = alive.iter().map(|&id| Member::schema(id, scope)).collect();
            return Ok(Choice::Of(self.any_of_scalars(kind, branches)));
        }
        if frames.is_empty() || alive.len() < 2 {
            return Ok(Choice::Of(Alternatives::new(alive.into_iter().map(|id| vec![goal(id)]).collect())));
        }
        let limit = self.limits.unevaluated_branches_max.min(SUBSETS_BITS_MAX);
        if alive.len() > limit && self.options.is_lenient {
            // It is unknown which branch evaluated, so the rest is not constrained.
            frames.iter().for_each(|&frame| partial.frames[frame as usize].is_open = true);
            return Ok(Choice::Of(Alternatives::new(alive.into_iter().map(|id| vec![goal(id)]).collect())));
        }
        if alive.len() > limit {
            let keyword = if kind == ValueKind::Array { "unevaluatedItems" } else { "unevaluatedProperties" };
            let n_alive = alive.len();
            let reason = format!("{n_alive} branches of `anyOf` may overlap, and at most {limit} are told apart");
            return Err(SchemaError::unsupported(keyword, reason).into());
        }
        let subsets = (1u32..1 << alive.len()).map(|subset| {
            let each = alive.iter().enumerate().map(|(index, &id)| (subset >> index & 1 == 1, id));
            let goals = each.filter_map(|(is_chosen, id)| match is_chosen {
                true => Some(goal(id)),
                false => is_exact.then(|| Goal::Member(Member::schema(id, scope).negated(), Frames::new())),
            });
            goals.collect()
        });
        Ok(Choice::Of(Alternatives::new(subsets.collect())))
    }

    /// Returns the alternatives of `anyOf` for scalars: all listed values are one.
    fn any_of_scalars(&mut self, kind: ValueKind, branches: Vec<Member>) -> Rc<Alternatives> {
        let mut listed = Listed::new(kind);
        let mut alternatives: Vec<Alternative> = Vec::new();
        for branch in branches {
            match self.finite(branch).filter(|finite| finite.is_exact && finite.is_about(kind)) {
                Some(finite) => listed.add(&finite),
                None => alternatives.push(vec![Goal::Member(branch, Frames::new())]),
            }
        }
        let all = listed.values(|_| true);
        if !all.is_empty() {
            alternatives.push(fact_in(kind, &all).map(Goal::Fact).into_iter().collect());
        }
        Alternatives::new(alternatives)
    }

    /// Returns the alternatives of `oneOf`: one branch holds, and all that are not known to be disjoint from it fail.
    pub(super) fn one_of(
        &mut self,
        kind: ValueKind,
        branches: &[Member],
        frames: &Frames,
    ) -> Expanded<Vec<Alternative>> {
        let is_scalar = !matches!(kind, ValueKind::Array | ValueKind::Object);
        let mut listed = Listed::new(kind);
        let mut others: Vec<Member> = Vec::with_capacity(branches.len());
        for &branch in branches {
            match self.finite(branch).filter(|finite| is_scalar && finite.is_exact && finite.is_about(kind)) {
                Some(finite) => listed.add(&finite),
                None => others.push(branch),
            }
        }
        let all = listed.values(|_| true);
        let mut alternatives = Vec::with_capacity(others.len() + 1);
        // The goals of a value that only one branch lists.
        let mut alone: Alternative = Vec::new();
        let rivals = self.rivals(kind, &others)?;
        for (&branch, rivals) in others.iter().zip(rivals) {
            let mut goals = vec![Goal::Member(branch, frames.clone())];
            goals.extend(rivals.iter().map(|rival| Goal::Member(rival.negated(), Frames::new())));
            // The value must be none of the listed ones.
            let common = self.common_values(kind, branch, &all)?;
            for value in common.as_ref().unwrap_or(&all) {
                match other_than(value) {
                    Some(fact) => goals.push(Goal::Fact(fact)),
                    None => goals.push(Goal::Member(Member::NOTHING, Frames::new())),
                }
            }
            match common {
                Some(common) => listed.add_all(common),
                None => alone.push(Goal::Member(branch.negated(), Frames::new())),
            }
            alternatives.push(goals);
        }
        let once = listed.values(|n_branches| n_branches == 1);
        if !once.is_empty() {
            alone.extend(fact_in(kind, &once).map(Goal::Fact));
            alternatives.push(alone);
        }
        Ok(alternatives)
    }

    /// Returns those of some values of a kind that satisfy a member; `None` if that is unknown.
    fn common_values(
        &mut self,
        kind: ValueKind,
        member: Member,
        values: &[Constant],
    ) -> Expanded<Option<Vec<Constant>>> {
        if values.is_empty() {
            return Ok(Some(Vec::new()));
        }
        self.budget.spend(COMPARISON_STEPS + values.len())?;
        let mut goals: Vec<Goal> = fact_in(kind, values).map(Goal::Fact).into_iter().collect();
        goals.push(Goal::Member(member, Frames::new()));
        let shapes = match self.asking(|cx| cx.expand_goals(&[member], goals, kind, QUESTION_ALTERNATIVES_MAX)) {
            (Ok(Some(shapes)), false) => shapes,
            // A constraint dropped in lenient mode might have excluded some.
            (Ok(_), _) | (Err(LowerError::Schema(_)), _) => return Ok(None),
            (Err(error), _) => return Err(error),
        };
        let mut common: HashSet<Constant> = HashSet::new();
        for shape in &shapes {
            match shape {
                Shape::Only => common.extend(values.iter().cloned()),
                Shape::Number(number) => match self.listed_numbers(number)? {
                    Some(numbers) => common.extend(numbers.into_iter().cloned().map(Constant::Number)),
                    None => return Ok(None),
                },
                Shape::String(string) => match self.languages.listed(string)? {
                    Some(texts) => common.extend(texts.into_iter().map(Constant::Text)),
                    None => return Ok(None),
                },
                Shape::Array(_) | Shape::Object(_) => return Ok(None),
            }
        }
        Ok(Some(values.iter().filter(|&value| common.contains(value)).cloned().collect()))
    }

    /// Returns by branch the others that are not known to be disjoint from it.
    fn rivals(&mut self, kind: ValueKind, branches: &[Member]) -> Expanded<Vec<Vec<Member>>> {
        let mut indexes = self.indexes(kind, branches)?;
        let everything: Rc<[u32]> = (0..branches.len() as u32).collect();
        let mut rivals = Vec::with_capacity(branches.len());
        let mut candidates: Vec<u32> = Vec::new();
        for (index, &branch) in branches.iter().enumerate() {
            let lists = self.discriminators(kind, branch, true);
            let n_others = |list: &(Discriminator, Rc<HashSet<Constant>>)| {
                let of = &indexes[&list.0];
                let n_alike: usize = list.1.iter().filter_map(|value| of.by_value.get(value)).map(Vec::len).sum();
                n_alike + branches.len() - of.listing.len()
            };
            let best = lists.into_iter().map(|list| (n_others(&list), list)).min_by_key(|(n_others, _)| *n_others);
            candidates.clear();
            match best {
                Some((_, (discriminator, values))) => {
                    let of = indexes.get_mut(&discriminator).expect("all discriminators were indexed");
                    candidates.extend(values.iter().filter_map(|value| of.by_value.get(value)).flatten());
                    candidates.extend_from_slice(&of.silent(branches.len()));
                    candidates.sort_unstable();
                    candidates.dedup();
                }
                None => candidates.extend_from_slice(&everything),
            }
            let mut found = Vec::new();
            for &other_index in candidates.iter().filter(|&&other| other as usize != index) {
                let other = branches[other_index as usize];
                self.budget.spend(COMPARISON_STEPS)?;
                if branch == other || !self.are_disjoint(branch, other, kind)? {
                    found.push(other);
                }
            }
            rivals.push(found);
        }
        Ok(rivals)
    }

    /// Returns the indexes of branches, by discriminator.
    fn indexes(&mut self, kind: ValueKind, branches: &[Member]) -> Expanded<HashMap<Discriminator, Index>> {
        let mut indexes: HashMap<Discriminator, Index> = HashMap::new();
        for (place, &branch) in branches.iter().enumerate() {
            for (discriminator, values) in self.discriminators(kind, branch, false) {
                self.budget.spend(values.len() + 1)?;
                let index = indexes.entry(discriminator).or_default();
                index.listing.push(place as u32);
                for value in values.iter() {
                    index.by_value.entry(value.clone()).or_default().push(place as u32);
                }
            }
        }
        Ok(indexes)
    }

    /// Returns the constants that a branch lists, by discriminator; if `only_required`, without optional keys, which an object may lack.
    fn discriminators(
        &mut self,
        kind: ValueKind,
        branch: Member,
        only_required: bool,
    ) -> Vec<(Discriminator, Rc<HashSet<Constant>>)> {
        let mut found = Vec::new();
        if let Some(finite) = self.finite(branch).filter(|finite| finite.is_about(kind)) {
            found.push((Discriminator::Value, finite.values));
        }
        if kind == ValueKind::Object {
            let keys = self.key_constants(branch);
            let lists = keys.values.iter().filter(|(name, _)| !only_required || keys.required.contains(*name));
            found.extend(lists.map(|(name, values)| (Discriminator::Key(Arc::clone(name)), Rc::clone(values))));
        }
        found
    }
}

impl Listed {
    fn new(kind: ValueKind) -> Self {
        Listed { kind, n_branches: HashMap::new() }
    }

    fn add(&mut self, finite: &Finite) {
        self.add_all(finite.values.iter().cloned());
    }

    /// Counts a branch with these values.
    fn add_all(&mut self, values: impl IntoIterator<Item = Constant>) {
        for value in values.into_iter().filter(|value| value.is_of_kind(self.kind)) {
            *self.n_branches.entry(value).or_default() += 1;
        }
    }

    /// Returns the values whose number of branches `is_wanted`.
    fn values(&self, is_wanted: impl Fn(usize) -> bool) -> Vec<Constant> {
        let wanted = self.n_branches.iter().filter(|(_, n_branches)| is_wanted(**n_branches));
        let mut values: Vec<Constant> = wanted.map(|(value, _)| value.clone()).collect();
        values.sort_unstable();
        values
    }
}

impl Index {
    fn silent(&mut self, n_branches: usize) -> Rc<[u32]> {
        let is_silent = |place: &u32| self.listing.binary_search(place).is_err();
        let silent = || (0..n_branches as u32).filter(is_silent).collect();
        Rc::clone(self.silent.get_or_insert_with(silent))
    }
}

/// Returns the fact that a scalar of a kind is one of some values; `None` if the kind has no other value.
fn fact_in(kind: ValueKind, values: &[Constant]) -> Option<Fact> {
    let numbers = || values.iter().filter_map(Constant::number).cloned().collect();
    let texts = || values.iter().filter_map(Constant::text).cloned().collect();
    match kind {
        ValueKind::Number => Some(Fact::NumberIn(numbers())),
        ValueKind::String => Some(Fact::StringIn(texts())),
        _ => None,
    }
}

/// Returns the fact that a scalar differs from a value; `None` if its kind has no other value.
fn other_than(value: &Constant) -> Option<Fact> {
    match value {
        Constant::Number(number) => Some(Fact::NumberNot(number.clone())),
        Constant::Text(text) => Some(Fact::StringNot(Arc::clone(text))),
        _ => None,
    }
}

//! Clauses: choices that the automaton of an object tracks in its state, instead of a fork into several shapes.
//!
//! `{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}` is one object in which a key `a` or a key `b` is pending; `oneOf` with n branches
//! that each name another key makes n - 1 such conditions in each branch. As alternatives that would be 2^n shapes; as *clauses*, each a
//! disjunction of witnesses, they are n bits that are set while keys are read. A choice becomes clauses if each alternative is a
//! conjunction of clauses, by the distributive law, as long as the result is small.

use super::*;

/// Most clauses of one choice.
const CLAUSES_MAX: usize = 4;
/// Most clauses of one shape before choices fork again, except clauses about nearby names.
const PENDING_MAX: usize = 32;
/// Most choices that fork instead of becoming many clauses each.
const CHOICES_FORKED_MAX: usize = 8;
/// Number of remaining choices beyond which forking can't help, as there would be too many shapes: then more clauses than [`PENDING_MAX`] may be pending.
const CHOICES_HOPELESS: usize = 16;
/// Greatest distance, in the order of keys, of nearby names: clauses about them are pending for a short while, so few bits are in use at
/// a time.
const NEAR_MAX: usize = 8;
/// Forks behind which a choice becomes clauses although it is over names that nothing declares.
const FORKS_MAX: usize = 3;
/// Most witnesses of one clause.
const WITNESSES_MAX: usize = 1024;
/// Pairs of witnesses that are compared in a step, and most of them that are compared to find out whether a clause is implied by another one.
const COMPARED_PER_STEP: usize = 8;
const IMPLICATION_MAX: usize = 1 << 8;
/// Greatest depth to which choices within choices are expanded.
const DEEP_MAX: usize = 6;

pub(super) type Clause = Vec<Witness>;

/// The order in which an object's keys come, as far as it is known.
#[derive(Default)]
pub(super) struct NameOrder {
    places: HashMap<Arc<str>, usize>,
}

impl NameOrder {
    /// Returns the order of the names of a shape.
    fn of(object: &ObjectShape) -> Self {
        let mut order = NameOrder::default();
        let declared = object.properties.iter().map(|(name, _)| name);
        let declared = declared.chain(object.required.iter().map(|(name, ())| name));
        let clauses = object.obligations.iter().map(|obligation| &obligation.any);
        declared.chain(clauses.flatten().filter_map(name_of)).for_each(|name| _ = order.position(name));
        order
    }

    /// Returns the position of a name, after all others if it is new.
    fn position(&mut self, name: &Arc<str>) -> usize {
        let n_names = self.places.len();
        *self.places.entry(Arc::clone(name)).or_insert(n_names)
    }

    /// Returns whether clauses are about nearby names.
    fn are_near(&mut self, clauses: &[Clause]) -> bool {
        clauses.iter().all(|clause| {
            let (mut first, mut last) = (usize::MAX, 0);
            for witness in clause {
                let Some(name) = name_of(witness) else { return false };
                let position = self.position(name);
                (first, last) = (first.min(position), last.max(position));
            }
            last - first.min(last) <= NEAR_MAX
        })
    }
}

impl Expander<'_> {
    /// Returns the clauses equivalent to a choice, if they are few, given that `n_pending` others are pending.
    ///
    /// Keys come in the order in which a shape names them, and an alternative that names further keys has another order; so the first few
    /// choices of that kind fork. If there are few choices (`n_choices`), one that makes many clauses forks too. The alternatives of a failure
    /// name only keys that other branches name.
    pub(super) fn clauses(
        &mut self,
        partial: &Partial,
        choice: &Alternatives,
        (n_choices, n_pending): (usize, usize),
        order: &mut Option<NameOrder>,
    ) -> Expanded<Option<Vec<Clause>>> {
        let Shape::Object(object) = &partial.shape else { return Ok(None) };
        self.budget.spend(STEPS_PER_FACT)?;
        let clauses = match choice.clauses.get() {
            Some(cached) => cached.clone(),
            None => {
                let clauses: Option<Rc<[Clause]>> = self.clauses_of(&choice.all, DEEP_MAX)?.map(Into::into);
                choice.clauses.get_or_init(|| clauses).clone()
            }
        };
        let Some(clauses) = clauses else { return Ok(None) };
        let n_new = clauses.iter().filter(|clause| as_fact(clause).is_none()).count();
        let n_pending = object.obligations.len() + n_pending + n_new;
        let names_are_declared = clauses.iter().flatten().all(|witness| match witness {
            Witness::Absent(name) | Witness::Key(Keys::Name(name), _) => {
                object.properties.contains(name) || object.required.contains(name)
            }
            Witness::Key(..) => true,
        });
        let may_fork = !choice.is_failing && !names_are_declared && partial.n_forks < FORKS_MAX;
        let n_witnesses: usize = clauses.iter().map(Vec::len).sum();
        let n_bytes: usize = clauses.iter().flatten().filter_map(name_of).map(|name| name.len()).sum();
        self.budget
            .spend(STEPS_PER_FACT * clauses.len() + n_witnesses / COMPARED_PER_STEP + n_bytes / BYTES_PER_STEP)?;
        let mut are_near = || order.get_or_insert_with(|| NameOrder::of(object)).are_near(&clauses);
        let are_few = n_new <= CLAUSES_MAX && (n_pending <= PENDING_MAX || n_choices > CHOICES_HOPELESS);
        let may_be_many = n_new <= CLAUSES_MAX || n_choices > CHOICES_FORKED_MAX;
        let is_fit = n_new == 0 || (!may_fork && (are_few || may_be_many && are_near()));
        Ok(is_fit.then(|| clauses.to_vec()))
    }

    fn clauses_of(&mut self, choice: &[Alternative], n_levels: usize) -> Expanded<Option<Vec<Clause>>> {
        let mut all: Vec<Clause> = vec![vec![]];
        for alternative in choice {
            let Some(clauses) = self.clauses_of_goals(alternative, n_levels)? else { return Ok(None) };
            let mut product: Vec<Clause> = Vec::new();
            for left in &all {
                for right in &clauses {
                    self.budget.spend(1 + left.len() * right.len() / COMPARED_PER_STEP)?;
                    let mut clause = left.clone();
                    clause.extend(right.iter().filter(|witness| !left.contains(witness)).cloned());
                    if clause.len() > WITNESSES_MAX {
                        return Ok(None);
                    }
                    self.budget.spend(clause.len() / COMPARED_PER_STEP)?;
                    if !is_tautology(&clause) && !product.contains(&clause) {
                        product.push(clause);
                    }
                    if product.len() > 4 * CLAUSES_MAX {
                        return Ok(None);
                    }
                }
            }
            self.budget.spend(product.len())?;
            all = product;
        }
        // A clause with all witnesses of another is implied by it; long ones are not compared.
        let is_implied = |index: usize| {
            let others = all.iter().enumerate().filter(|(other, _)| *other != index);
            others.into_iter().any(|(other, less)| {
                (less.len(), other) < (all[index].len(), index)
                    && less.len() * all[index].len() <= IMPLICATION_MAX
                    && less.iter().all(|one| all[index].contains(one))
            })
        };
        let is_needed: Vec<bool> = (0..all.len()).map(|index| !is_implied(index)).collect();
        let mut is_needed = is_needed.into_iter();
        all.retain(|_| is_needed.next() == Some(true));
        Ok(Some(all))
    }

    /// Returns the clauses equivalent to a conjunction of goals.
    fn clauses_of_goals(&mut self, goals: &Alternative, n_levels: usize) -> Expanded<Option<Vec<Clause>>> {
        let has_frames = |goal: &Goal| matches!(goal, Goal::Member(_, frames) if !frames.is_empty());
        if n_levels == 0 || goals.iter().any(has_frames) {
            return Ok(None);
        }
        // The unconditional goals make a shape.
        let mut scratch = Partial::new(ValueKind::Object, goals.iter().rev().cloned().collect());
        while let Some(goal) = scratch.goals.pop() {
            self.budget.spend(1)?;
            if !self.pursue(&mut scratch, goal)? {
                return Ok(Some(vec![vec![]]));
            }
        }
        let Shape::Object(object) = &scratch.shape else { return Ok(None) };
        let is_more = !object.rules.is_empty() || !object.names.is_empty() || object.min > 0 || object.max.is_some();
        if is_more || !scratch.unevaluated.is_empty() {
            return Ok(None);
        }
        let mut all: Vec<Clause> = Vec::new();
        for (name, members) in object.properties.iter() {
            for &member in members {
                let found = Witness::Key(Keys::Name(Arc::clone(name)), Some(member));
                all.push(match object.required.contains(name) {
                    true => vec![found],
                    false => vec![Witness::Absent(Arc::clone(name)), found],
                });
            }
        }
        for (name, ()) in object.required.iter().filter(|(name, ())| !object.properties.contains(name)) {
            all.push(vec![Witness::Key(Keys::Name(Arc::clone(name)), None)]);
        }
        let mut absent: Vec<&Arc<str>> = object.absent.iter().collect();
        absent.sort_unstable();
        all.extend(absent.into_iter().map(|name| vec![Witness::Absent(Arc::clone(name))]));
        all.extend(object.obligations.iter().map(|obligation| obligation.any.clone()));
        let mut choices: Vec<Rc<Alternatives>> = Vec::new();
        for choice in &scratch.choices {
            let Choice::Of(alternatives) = choice else { return Ok(None) };
            choices.push(Rc::clone(alternatives));
        }
        for &member in &scratch.negations {
            choices.push(Alternatives::failing(self.negations(&scratch, member)?));
        }
        for choice in choices {
            let Some(clauses) = self.clauses_of(&choice.all, n_levels - 1)? else { return Ok(None) };
            all.extend(clauses);
        }
        all.retain(|clause| !is_tautology(clause));
        Ok((all.len() <= 4 * CLAUSES_MAX).then_some(all))
    }

    /// Simplifies the obligations of an object by what is known now; returns whether all can hold. A clause of a single witness becomes a goal.
    pub(super) fn simplify_obligations(&mut self, partial: &mut Partial) -> Expanded<bool> {
        let Shape::Object(object) = &mut partial.shape else { return Ok(true) };
        let mut obligations = Vec::with_capacity(object.obligations.len());
        let mut goals = Vec::new();
        for obligation in core::mem::take(&mut object.obligations) {
            let mut any = Vec::with_capacity(obligation.any.len());
            let mut is_met = false;
            self.budget.spend(obligation.any.len())?;
            for witness in obligation.any {
                match self.verdict(object, &witness)? {
                    Some(true) => is_met = true,
                    Some(false) => {}
                    None => any.push(witness),
                }
            }
            if is_met || is_tautology(&any) {
                continue;
            }
            if any.is_empty() {
                return Ok(false);
            }
            match as_fact(&any) {
                Some(facts) => goals.extend(facts.into_iter().rev().map(Goal::Fact)),
                None => obligations.push(Obligation { any }),
            }
        }
        object.obligations = obligations;
        partial.goals.extend(goals);
        Ok(true)
    }

    /// Returns whether a witness holds or fails; `None` if that is open.
    fn verdict(&mut self, object: &ObjectShape, witness: &Witness) -> Expanded<Option<bool>> {
        Ok(match witness {
            Witness::Absent(name) if object.required.contains(name) => Some(false),
            Witness::Absent(name) => self.is_forbidden(object, name)?.then_some(true),
            Witness::Key(Keys::Name(name), member) => self.name_verdict(object, name, *member)?,
            Witness::Key(Keys::Satisfying(_), _) => None,
            Witness::Key(keys, member) => {
                // If only certain names are allowed, one of them must be the witness.
                let closed = object.rules.iter().find_map(|rule| match &rule.keys {
                    Keys::Beside { names, languages } if languages.is_empty() && self.is_false(rule.member) => {
                        Some(names)
                    }
                    _ => None,
                });
                let Some(names) = closed else { return Ok(None) };
                self.budget.spend(names.len())?;
                for name in names.iter() {
                    let name: Arc<str> = Arc::clone(name);
                    if self.has_key(keys, &name)? == Some(true)
                        && self.name_verdict(object, &name, *member)? != Some(false)
                    {
                        return Ok(None);
                    }
                }
                Some(false)
            }
        })
    }

    /// As [`Self::verdict`], for a key of this name with a value that satisfies a member.
    fn name_verdict(
        &mut self,
        object: &ObjectShape,
        name: &Arc<str>,
        member: Option<Member>,
    ) -> Expanded<Option<bool>> {
        if self.is_forbidden(object, name)? {
            return Ok(Some(false));
        }
        let is_required = object.required.contains(name);
        let Some(member) = member else { return Ok(is_required.then_some(true)) };
        let mut members = object.properties.get(name).cloned().unwrap_or_default();
        if is_required {
            if members.contains(&member) {
                return Ok(Some(true));
            }
            members.push(member.negated());
            if self.are_never(&members) {
                return Ok(Some(true));
            }
            members.pop();
        }
        members.push(member);
        Ok(self.are_never(&members).then_some(false))
    }

    /// Returns whether objects of a shape surely don't have a key.
    pub(super) fn is_forbidden(&mut self, object: &ObjectShape, name: &Arc<str>) -> Expanded<bool> {
        if object.absent.contains(name) {
            return Ok(true);
        }
        for rule in &object.rules {
            if self.is_false(rule.member) && self.has_key(&rule.keys, name)? == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_false(&self, member: Member) -> bool {
        match member.subject {
            Subject::Nothing => !member.is_negated,
            Subject::Schema(id) => {
                matches!(self.model.schema(id).body(), Body::Bool(verdict) if *verdict == member.is_negated)
            }
            _ => false,
        }
    }
}

fn name_of(witness: &Witness) -> Option<&Arc<str>> {
    match witness {
        Witness::Absent(name) | Witness::Key(Keys::Name(name), _) => Some(name),
        Witness::Key(..) => None,
    }
}

/// Returns simpler facts that are equivalent to a clause, if there are any.
fn as_fact(clause: &[Witness]) -> Option<SmallVec<[Fact; 2]>> {
    Some(match clause {
        [Witness::Absent(name)] => smallvec::smallvec![Fact::Absent(Arc::clone(name))],
        [Witness::Key(Keys::Name(name), None)] => smallvec::smallvec![Fact::Required(Arc::clone(name))],
        [Witness::Key(Keys::Name(name), Some(member))] => {
            smallvec::smallvec![Fact::Required(Arc::clone(name)), Fact::Property(Arc::clone(name), *member)]
        }
        [Witness::Absent(absent), Witness::Key(Keys::Name(name), Some(member))]
        | [Witness::Key(Keys::Name(name), Some(member)), Witness::Absent(absent)]
            if absent == name =>
        {
            smallvec::smallvec![Fact::Property(Arc::clone(name), *member)]
        }
        _ => return None,
    })
}

/// Returns whether a clause always holds: a name is present or absent, its value satisfies a member or not.
fn is_tautology(clause: &[Witness]) -> bool {
    let absent = || {
        clause.iter().filter_map(|witness| match witness {
            Witness::Absent(name) => Some(name),
            Witness::Key(..) => None,
        })
    };
    if absent().next().is_none() {
        return false;
    }
    let absent: HashSet<&Arc<str>> = absent().collect();
    let mut met: HashSet<(&Arc<str>, Member)> = HashSet::new();
    clause.iter().any(|witness| match witness {
        Witness::Key(Keys::Name(name), member) if absent.contains(name) => match *member {
            None => true,
            Some(member) => {
                met.insert((name, member));
                met.contains(&(name, member.negated()))
            }
        },
        _ => false,
    })
}

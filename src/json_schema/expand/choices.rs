//! Choices: of which alternatives one must hold.
//!
//! All goals of a partial are pursued first; then choices lose the alternatives that can't hold any more, those with a single one left become
//! goals, and the smallest of the others forks the partial.

use super::*;
use crate::json_schema::keywords::{self, Site, closed_items, closed_keys};
use crate::json_schema::partial::is_implied;

pub(super) enum Outcome {
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

/// What becomes of the choices that are left.
enum NextFork {
    /// There are none.
    None,
    /// Some became goals.
    GoalsFirst,
    /// One of them is next: one of these holds.
    Between(Vec<Alternative>),
}

impl Expander<'_> {
    /// Expands unconditional goals; stops at the next choice.
    pub(super) fn advance(&mut self, partial: &mut Partial) -> Expanded<Outcome> {
        loop {
            while let Some(goal) = partial.goals.pop() {
                if !self.pursue(partial, goal)? {
                    return Ok(Outcome::Dead);
                }
            }
            if !self.simplify_obligations(partial)? {
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
            if let Some(member) = partial.negations.pop_front() {
                let alternatives = self.negations(partial, member)?;
                partial.choices.push_back(Choice::Of(Alternatives::failing(alternatives)));
                continue;
            }
            match self.next_fork(partial)? {
                NextFork::GoalsFirst => continue,
                NextFork::Between(alternatives) if alternatives.is_empty() => return Ok(Outcome::Dead),
                NextFork::Between(alternatives) => return Ok(Outcome::Fork(alternatives)),
                NextFork::None => {}
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
                Choice::Of(alternatives) => {
                    self.budget.spend(STEPS_PER_FACT * alternatives.all.len())?;
                    let mut holding: SmallVec<[u32; 8]> = SmallVec::new();
                    for (index, goals) in alternatives.all.iter().enumerate() {
                        if goals.iter().all(|goal| self.may_hold(partial, goal)) {
                            holding.push(index as u32);
                        }
                    }
                    // An alternative without new constraints is implied by all others.
                    let goals_of = |&index: &u32| &alternatives.all[index as usize];
                    if holding.iter().any(|index| goals_of(index).iter().all(|goal| is_implied(partial, goal))) {
                        continue;
                    }
                    match holding[..] {
                        [] => return Ok(Progress::Dead),
                        [only] => {
                            partial.goals.extend(goals_of(&only).iter().rev().cloned());
                            progress = Progress::More;
                        }
                        _ if holding.len() == alternatives.all.len() => left.push_back(Choice::Of(alternatives)),
                        _ => left.push_back(Choice::Of(alternatives.reduced_to(&holding))),
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
            }
            if matches!(progress, Progress::More) {
                self.budget.spend(choices.len())?;
                left.append(&mut choices);
            }
        }
        partial.choices = left;
        Ok(progress)
    }

    /// Removes the choice with the fewest alternatives, after choices that become clauses.
    fn next_fork(&mut self, partial: &mut Partial) -> Expanded<NextFork> {
        if let Some(alternatives) = self.switch(partial)? {
            return Ok(NextFork::Between(alternatives));
        }
        if let Shape::Object(_) = partial.shape {
            let choices = core::mem::take(&mut partial.choices);
            let mut progress = false;
            let (n_choices, mut n_waiting) = (choices.len(), 0);
            let mut order = None;
            for choice in choices {
                let Choice::Of(alternatives) = &choice else {
                    partial.choices.push_back(choice);
                    continue;
                };
                match self.clauses(partial, alternatives, (n_choices, n_waiting), &mut order)? {
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
                return Ok(NextFork::GoalsFirst);
            }
        }
        if self.join_languages(partial)? {
            return Ok(NextFork::GoalsFirst);
        }
        let size = |choice: &Choice| match choice {
            Choice::Of(alternatives) => alternatives.all.len(),
            Choice::One(branches, _) => branches.len(),
        };
        let least = (0..partial.choices.len()).min_by_key(|&index| size(&partial.choices[index]));
        let Some(choice) = least.and_then(|index| partial.choices.remove(index)) else {
            return Ok(NextFork::None);
        };
        Ok(NextFork::Between(match choice {
            Choice::Of(alternatives) => {
                partial.n_forks += usize::from(!alternatives.is_failing);
                alternatives.all.clone()
            }
            Choice::One(branches, frames) => self.one_of(partial.kind, &branches, &frames)?,
        }))
    }

    /// Returns the alternatives of not satisfying a member (whose sign is negative).
    pub(super) fn negations(&mut self, partial: &Partial, member: Member) -> Expanded<Vec<Alternative>> {
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
        for (index, entry) in self.model.schema(id).entries().iter().enumerate() {
            let site = Site { schema: id, index: index as u32, scope, kind: partial.kind };
            match keywords::negate(self, &site, &entry.keyword) {
                Ok(found) => alternatives.extend(found),
                Err(LowerError::Schema(error)) => {
                    self.relax(id, entry.value, None, error)?;
                    alternatives.push(vec![]);
                }
                Err(error) => return Err(error),
            }
        }
        // What the options forbid where no keyword says so must be able to be there.
        if !self.options.has_additional_properties && partial.kind == ValueKind::Object {
            let other_key = |keys| vec![Goal::Fact(Fact::Obligation(Obligation::key(keys, None)))];
            alternatives.extend(closed_keys(self, id).map(other_key));
        }
        if !self.options.has_additional_items && partial.kind == ValueKind::Array {
            let more_items = |from: u64| vec![Goal::Fact(Fact::MinItems(from.saturating_add(1)))];
            alternatives.extend(closed_items(self.model, id).map(more_items));
        }
        Ok(alternatives)
    }
}

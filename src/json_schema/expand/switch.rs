//! Switches: many conditions on one key, decided together.
//!
//! `{"allOf": [{"if": {"properties": {"kind": {"const": "a"}}}, "then": ..}, ..]}` with n conditions on `kind`, or a chain of them by `else`,
//! is n choices. One after the other they make n forks, each with n choices that test the same key again: n³ steps in all.
//! If the conditions only test which constants a key has (*exact tests*), all those on one key are decided by its value: one
//! alternative for each group of values that take the same branches, one for other values, one for objects without the key.

use super::finite::Constant;
use super::*;
use crate::json_schema::model::{LogicKeyword, ObjectKeyword, ReferenceKeyword, ValueKeyword};

/// Fewest conditions on one key that are decided together: a few are as cheap as clauses or forks.
const CONDITIONS_MIN: usize = 8;
/// Steps that a goal of an alternative counts as; it takes some hundred bytes.
const STEPS_PER_GOAL: usize = 64;
/// Most sub-schemas of a test.
const LOOKS_MAX: usize = 16;

/// An exact test: it constrains one key to certain constants and nothing else.
#[derive(Debug)]
pub(super) struct Test {
    name: Arc<str>,
    values: Rc<HashSet<Constant>>,
    /// The constraint on the value of the key.
    value: Member,
    /// Whether objects without the key fail.
    is_required: bool,
}

/// The consequence of a test that holds while all tests before it fail.
struct Arm {
    test: Rc<Test>,
    goals: Alternative,
}

/// A condition on a key, with the chain of conditions under its `else`.
struct Switch {
    arms: Vec<Arm>,
    /// The consequence if all tests fail.
    otherwise: Alternative,
}

/// The arms taken: the index of the switch, and that of the arm in it.
type Taken = SmallVec<[(u32, u32); 2]>;

impl Expander<'_> {
    /// Returns the alternatives of all conditions on one key together, and removes those from the pending choices; `None` if there are few.
    pub(super) fn switch(&mut self, partial: &mut Partial) -> Expanded<Option<Vec<Alternative>>> {
        let Some(name) = self.switched_key(partial) else { return Ok(None) };
        let (mut switches, mut left) = (Vec::new(), VecDeque::new());
        for choice in core::mem::take(&mut partial.choices) {
            match self.test_of(&choice).filter(|(test, _)| test.name == name) {
                Some((test, ..)) => switches.push(self.switch_of(&choice, test)?),
                None => left.push_back(choice),
            }
        }
        partial.choices = left;
        let Shape::Object(object) = &partial.shape else { unreachable!("keys are of objects") };
        let constraints = object.properties.get(&name).cloned().unwrap_or_default();
        let (is_required, is_absent) = (object.required.contains(&name), object.absent.contains(&name));
        let allowed = self.allowed(&constraints);
        let mut alternatives = Vec::new();
        if !is_absent {
            let groups = self.groups(&switches, allowed.as_deref())?;
            let n_listed: usize = groups.iter().map(|(_, values)| values.len()).sum();
            for (taken, values) in &groups {
                alternatives.push(self.with_values(&switches, taken, values, allowed.as_deref())?);
            }
            if allowed.is_none_or(|allowed| n_listed < allowed.len()) {
                let tests = || switches.iter().flat_map(|switch| &switch.arms).map(|arm| arm.test.value.negated());
                let mut goals = properties(&name, tests());
                goals.push(Goal::Fact(Fact::Required(Arc::clone(&name))));
                goals.extend(switches.iter().flat_map(|switch| switch.otherwise.iter().cloned()));
                alternatives.push(goals);
            }
        }
        if !is_required {
            let mut goals = vec![Goal::Fact(Fact::Absent(Arc::clone(&name)))];
            for switch in &switches {
                let arm = switch.arms.iter().find(|arm| !arm.test.is_required);
                goals.extend(arm.map_or(&switch.otherwise, |arm| &arm.goals).iter().cloned());
            }
            alternatives.push(goals);
        }
        Ok(Some(alternatives))
    }

    /// Returns the first key that many conditions test.
    fn switched_key(&mut self, partial: &Partial) -> Option<Arc<str>> {
        if partial.kind != ValueKind::Object {
            return None;
        }
        let mut n_conditions: HashMap<Arc<str>, usize> = HashMap::new();
        for choice in &partial.choices {
            let Some((test, n_tests)) = self.test_of(choice) else { continue };
            let n_of_key = n_conditions.entry(Arc::clone(&test.name)).or_default();
            *n_of_key += n_tests;
            if *n_of_key >= CONDITIONS_MIN {
                return Some(Arc::clone(&test.name));
            }
        }
        None
    }

    /// Returns the test of a condition, and the number of tests in its chain, up to [`CONDITIONS_MIN`]; `None` if a choice is no condition or
    /// its test is not exact.
    fn test_of(&mut self, choice: &Choice) -> Option<(Rc<Test>, usize)> {
        let Choice::Of(alternatives) = choice else { return None };
        if alternatives.is_failing {
            return None;
        }
        let [holds, fails] = &alternatives.all[..] else { return None };
        let (Some(Goal::Member(test, _)), Some(Goal::Member(denied, _))) = (holds.first(), fails.first()) else {
            return None;
        };
        if *denied != test.negated() {
            return None;
        }
        let test = self.exact_test(*test)?;
        let mut n_tests = 1;
        let mut otherwise = fails[1..].to_vec();
        while n_tests < CONDITIONS_MIN
            && let Some((next, _, then_otherwise)) = self.next_condition(&otherwise)
            && next.name == test.name
        {
            n_tests += 1;
            otherwise = then_otherwise;
        }
        Some((test, n_tests))
    }

    /// Returns the switch that a condition begins.
    fn switch_of(&mut self, choice: &Choice, test: Rc<Test>) -> Expanded<Switch> {
        let Choice::Of(alternatives) = choice else { unreachable!("conditions are choices") };
        let alternatives = &alternatives.all;
        let goals = match alternatives[0].first() {
            // If a frame records what the test evaluates, it is expanded.
            Some(Goal::Member(_, frames)) if !frames.is_empty() => alternatives[0].clone(),
            _ => alternatives[0][1..].to_vec(),
        };
        let mut otherwise = alternatives[1][1..].to_vec();
        let name = Arc::clone(&test.name);
        let mut arms = vec![Arm { test, goals }];
        while let Some((test, goals, then_otherwise)) = self.next_condition(&otherwise)
            && test.name == name
        {
            self.budget.spend(1)?;
            arms.push(Arm { test, goals });
            otherwise = then_otherwise;
        }
        Ok(Switch { arms, otherwise })
    }

    /// Returns the condition that some goals are, if its test is exact: the test, and its consequences if it holds and if it fails.
    fn next_condition(&mut self, goals: &[Goal]) -> Option<(Rc<Test>, Alternative, Alternative)> {
        let &[Goal::Member(Member { subject: Subject::Schema(id), scope, is_negated: false }, ref frames)] = goals
        else {
            return None;
        };
        let [Entry { keyword: Keyword::Logic(LogicKeyword::If { test, then, otherwise }), .. }] =
            self.model.schema(id).entries()
        else {
            return None;
        };
        if !frames.is_empty() || self.circular[id.index()] {
            return None;
        }
        let scope = self.conjunctions.enter(self.model, scope, id);
        let test = self.exact_test(Member::schema(*test, scope))?;
        let branch = |id: &Option<SchemaId>| {
            id.iter().map(|&id| Goal::Member(Member::schema(id, scope), Frames::new())).collect()
        };
        Some((test, branch(then), branch(otherwise)))
    }

    /// Returns the values that tests list, of those that are `allowed`, in groups that take the same arms.
    fn groups(
        &mut self,
        switches: &[Switch],
        allowed: Option<&HashSet<Constant>>,
    ) -> Expanded<Vec<(Taken, Vec<Constant>)>> {
        let mut taken_by: HashMap<&Constant, Taken> = HashMap::new();
        for (switch_index, switch) in switches.iter().enumerate() {
            for (arm_index, arm) in switch.arms.iter().enumerate() {
                self.budget.spend(arm.test.values.len())?;
                for value in arm.test.values.iter().filter(|value| allowed.is_none_or(|all| all.contains(*value))) {
                    let taken = taken_by.entry(value).or_default();
                    if taken.last().is_none_or(|last| last.0 != switch_index as u32) {
                        taken.push((switch_index as u32, arm_index as u32));
                    }
                }
            }
        }
        let mut groups: HashMap<Taken, Vec<Constant>> = HashMap::new();
        for (value, taken) in taken_by {
            groups.entry(taken).or_default().push(value.clone());
        }
        let mut groups: Vec<(Taken, Vec<Constant>)> = groups.into_iter().collect();
        groups.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(groups)
    }

    /// Returns the goals of objects whose key has one of some values, which take these arms.
    fn with_values(
        &mut self,
        switches: &[Switch],
        taken: &Taken,
        values: &[Constant],
        allowed: Option<&HashSet<Constant>>,
    ) -> Expanded<Alternative> {
        let arm_at = |&(switch, arm): &(u32, u32)| &switches[switch as usize].arms[arm as usize];
        let name = &arm_at(&taken[0]).test.name;
        let mut members: Vec<Member> = taken.iter().map(|at| arm_at(at).test.value).collect();
        // Values that satisfy all of these tests and take other arms satisfy further tests, which must fail here.
        let smallest = taken.iter().map(|at| &arm_at(at).test.values).min_by_key(|values| values.len());
        let of_group: HashSet<&Constant> = values.iter().collect();
        let passes = |value: &&Constant| {
            !of_group.contains(value)
                && allowed.is_none_or(|all| all.contains(*value))
                && taken.iter().all(|at| arm_at(at).test.values.contains(*value))
        };
        let mut others: HashSet<&Constant> =
            smallest.into_iter().flat_map(|values| values.iter()).filter(passes).collect();
        for arm in switches.iter().flat_map(|switch| &switch.arms) {
            if others.is_empty() {
                break;
            }
            self.budget.spend(others.len())?;
            let is_other = others.iter().any(|value| arm.test.values.contains(*value));
            if is_other && !values.iter().any(|value| arm.test.values.contains(value)) {
                others.retain(|value| !arm.test.values.contains(*value));
                members.push(arm.test.value.negated());
            }
        }
        let mut goals = properties(name, members);
        goals.push(Goal::Fact(Fact::Required(Arc::clone(name))));
        let mut taken = taken.iter().peekable();
        for (index, switch) in switches.iter().enumerate() {
            let arm = taken.next_if(|(switch, _)| *switch == index as u32);
            goals.extend(arm.map_or(&switch.otherwise, |at| &arm_at(at).goals).iter().cloned());
        }
        self.budget.spend(STEPS_PER_GOAL * goals.len() + switches.len())?;
        Ok(goals)
    }

    /// Returns a member as an exact test on scalars of one key, if it is one.
    fn exact_test(&mut self, member: Member) -> Option<Rc<Test>> {
        if let Some(cached) = self.tests.get(&member) {
            return cached.clone();
        }
        let found = self.find_exact_test(member).map(Rc::new);
        self.tests.insert(member, found.clone());
        found
    }

    fn find_exact_test(&mut self, member: Member) -> Option<Test> {
        // Without additional properties the test would forbid all other keys.
        if !self.options.has_additional_properties {
            return None;
        }
        let mut tested: Option<(Arc<str>, Member)> = None;
        let mut required: SmallVec<[Arc<str>; 2]> = SmallVec::new();
        let mut pending = vec![member];
        let mut n_looks = 0;
        while let Some(member) = pending.pop() {
            n_looks += 1;
            let Member { subject: Subject::Schema(id), scope, is_negated: false } = member else { return None };
            if n_looks > LOOKS_MAX {
                return None;
            }
            let scope = self.conjunctions.enter(self.model, scope, id);
            let Body::Keywords { entries, .. } = self.model.schema(id).body() else { return None };
            for entry in entries {
                match &entry.keyword {
                    Keyword::Value(ValueKeyword::Type(set)) if set.contains(TypeSet::OBJECT) => {}
                    Keyword::Object(ObjectKeyword::Required(names)) => required.extend(names.iter().cloned()),
                    Keyword::Object(ObjectKeyword::Properties(named)) => {
                        let [(name, id)] = &**named else { return None };
                        if tested.replace((Arc::clone(name), Member::schema(*id, scope))).is_some() {
                            return None;
                        }
                    }
                    Keyword::Reference(ReferenceKeyword::Ref(id)) => pending.push(Member::schema(*id, scope)),
                    Keyword::Logic(LogicKeyword::AllOf(ids)) => {
                        pending.extend(ids.iter().map(|&id| Member::schema(id, scope)))
                    }
                    _ => return None,
                }
            }
        }
        let (name, value) = tested?;
        if !required.iter().all(|required| *required == name) || !self.is_finite(value) {
            return None;
        }
        let values = self.finite(value)?.values;
        Some(Test { name, values, value, is_required: !required.is_empty() })
    }
}

/// Returns the goals that constrain the value of a key by each of some members.
fn properties(name: &Arc<str>, members: impl IntoIterator<Item = Member>) -> Alternative {
    members.into_iter().map(|member| Goal::Fact(Fact::Property(Arc::clone(name), member))).collect()
}

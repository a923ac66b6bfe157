//! Enumeration of the objects of a shape, if they are few.

use super::super::array::EnumerationBudget;
use super::super::{Lowered, Lowerer};
use super::{KeyIndex, Places, Progress};
use crate::json_schema::shape::ObjectShape;

impl Lowerer<'_> {
    /// Adds the objects of a shape, with their members in the order of the draft; returns whether they are few.
    pub(in super::super) fn few_objects(
        &mut self,
        shape: &ObjectShape,
        few: &mut EnumerationBudget,
        texts: &mut Vec<Vec<u8>>,
    ) -> Lowered<bool> {
        let Some(plan) = self.plan_object(shape)? else { return Ok(true) };
        // There is no place for keys that nobody names where those that must be there are as many as there may be.
        let n_required = plan.names.iter().filter(|name| name.is_required).count() as u64;
        if plan.max.is_none_or(|max| max > n_required) {
            for class in &plan.classes {
                if self.few_values(class.content.conjunction, few)?.is_none_or(|values| !values.is_empty()) {
                    return Ok(false);
                }
            }
        }
        let mut places = Places::default();
        let none = Progress { next: 0, n_members: 0, met: 0 };
        let mut open: Vec<(Vec<u8>, Progress)> = vec![(Vec::new(), none)];
        while let Some((members, seen)) = open.pop() {
            if few.is_over(texts, open.len()) {
                return Ok(false);
            }
            if plan.may_close(seen) {
                texts.push([b"{", &*members, b"}"].concat());
            }
            if plan.max.is_some_and(|max| seen.n_members >= max) {
                continue;
            }
            let mut passed = seen;
            loop {
                let stop = plan.rest(passed.next).next_stop;
                for index in passed.next..=stop {
                    let Some(name) = plan.names.get(index as usize).filter(|name| name.content.is_some()) else {
                        continue;
                    };
                    let key = [if members.is_empty() { &b"\""[..] } else { b",\"" }, &*name.spelled, b":"].concat();
                    let after = Progress { next: index + 1, ..passed };
                    for (conjunction, met) in self.variants(&plan, &mut places, KeyIndex::Name(index), after)? {
                        let n_members = plan.n_members_after(seen.n_members);
                        let Some(met) = plan.satisfied_after(KeyIndex::Name(index), after.met | met) else {
                            continue;
                        };
                        let after = Progress { n_members, met, ..after };
                        let Some(values) = self.few_values(conjunction, few)? else { return Ok(false) };
                        open.extend(values.iter().map(|value| ([&*members, &*key, value].concat(), after)));
                        if few.is_over(texts, open.len()) {
                            return Ok(false);
                        }
                    }
                }
                let is_last = plan.names.get(stop as usize).is_none_or(|name| name.is_required);
                let Some(seen) = Some(passed).filter(|_| !is_last).and_then(|seen| plan.skip(seen, stop)) else {
                    break;
                };
                passed = seen;
            }
        }
        Ok(true)
    }
}

//! The order in which rules are inlined: callees first, and of mutually recursive rules last the one that should stay a rule.
//!
//! An operator table calls in one direction, from loose operators to tight ones, and back only between brackets:
//!
//! ```text
//! e1 ::= e2 ("or" e2)*    e2 ::= e3 ("and" e3)*    ...    e15 ::= [0-9]+ | "(" e1 ")"
//! ```
//!
//! All of it is one strongly connected component, and in any order but callees first each level is copied with two copies of the next
//! one in it, and so on: 2^15 copies, though the automata of all levels together are small once copies of one level merge. So a
//! component is decomposed like the loops of a flow graph (Bourdoncle, 1993): one rule, the *head*, comes last; without it the others
//! fall into smaller components, which come callees first, each decomposed in the same way. In the end only the head calls itself.
//!
//! The head is a rule on all cycles of the component, if one is found; rules by which the component is entered are tried first, then those
//! with the most calls.
//!
//! Cost: the calls of a component for each level of nesting, at most [`VISITS_PER_CALL`] times all calls; deeper levels come in the order
//! of the number of calls.

use super::network::NetRuleId;
use crate::util::components;

/// Rules tried as a head that is on all cycles of a component.
const HEADS_TRIED_MAX: usize = 4;
/// Visits of calls allowed: so many for each call and rule of the network, and a fixed number more.
const VISITS_PER_CALL: usize = 16;
const VISITS_FREE: usize = 1 << 16;

/// Returns all rules, callees first except in cycles. `callees` has those of each rule, as often as they are called.
pub(super) fn callees_first(callees: &[Vec<NetRuleId>], root: NetRuleId) -> Vec<NetRuleId> {
    let mut n_sites = vec![0u32; callees.len()];
    callees.iter().flatten().for_each(|callee| n_sites[callee.index()] += 1);
    let n_calls: usize = callees.iter().map(Vec::len).sum();
    let n_visits_left = VISITS_FREE + VISITS_PER_CALL * (n_calls + callees.len());
    let indices = vec![u32::MAX; callees.len()];
    let mut order = Order { callees, root, n_sites, indices, n_visits_left };
    let mut found = Vec::with_capacity(callees.len());
    let mut pending = vec![Part::Rules((0..callees.len()).map(NetRuleId::new).collect())];
    while let Some(part) = pending.pop() {
        match part {
            Part::Head(rule) => found.push(rule),
            Part::Rules(rules) => {
                let first = pending.len();
                for component in order.components(&rules) {
                    order.decompose(component, &mut pending);
                }
                pending[first..].reverse();
            }
        }
    }
    found
}

/// Pending rules of the decomposition.
enum Part {
    /// The next rule.
    Head(NetRuleId),
    Rules(Vec<NetRuleId>),
}

struct Order<'a> {
    callees: &'a [Vec<NetRuleId>],
    root: NetRuleId,
    n_sites: Vec<u32>,
    /// By rule: its index among the rules considered, or `u32::MAX`.
    indices: Vec<u32>,
    n_visits_left: usize,
}

impl Order<'_> {
    /// Returns the components of the calls among some rules, in reverse topological order.
    fn components(&mut self, rules: &[NetRuleId]) -> Vec<Vec<NetRuleId>> {
        (0..).zip(rules).for_each(|(place, rule)| self.indices[rule.index()] = place);
        let among = |rule: &NetRuleId| -> Vec<u32> {
            let indices = self.callees[rule.index()].iter().map(|callee| self.indices[callee.index()]);
            indices.filter(|&place| place != u32::MAX).collect()
        };
        let calls: Vec<Vec<u32>> = rules.iter().map(among).collect();
        let found = components(rules.len(), |place: u32| &calls[place as usize]);
        rules.iter().for_each(|rule| self.indices[rule.index()] = u32::MAX);
        let n_visits = rules.iter().map(|rule| 1 + self.callees[rule.index()].len()).sum();
        self.n_visits_left = self.n_visits_left.saturating_sub(n_visits);
        found.iter().map(|indices| indices.iter().map(|&place| rules[place as usize]).collect()).collect()
    }

    /// Decomposes a component and appends its parts in order.
    fn decompose(&mut self, mut rules: Vec<NetRuleId>, parts: &mut Vec<Part>) {
        rules.sort_unstable_by_key(|&rule| (rule == self.root, self.n_sites[rule.index()], rule));
        if rules.len() <= 2 || self.n_visits_left == 0 {
            parts.extend(rules.into_iter().map(Part::Head));
            return;
        }
        let head = self.head(&rules);
        rules.retain(|&rule| rule != head);
        parts.push(Part::Rules(rules));
        parts.push(Part::Head(head));
    }

    /// Returns the head of a component; `rules` are sorted, the one with the most calls at the end.
    fn head(&mut self, rules: &[NetRuleId]) -> NetRuleId {
        let most_called = rules[rules.len() - 1];
        if most_called == self.root {
            return most_called;
        }
        let mut n_inside = vec![0; rules.len()];
        (0..).zip(rules).for_each(|(place, rule)| self.indices[rule.index()] = place);
        for callee in rules.iter().flat_map(|rule| &self.callees[rule.index()]) {
            if let Some(n_calls) = n_inside.get_mut(self.indices[callee.index()] as usize) {
                *n_calls += 1;
            }
        }
        rules.iter().for_each(|rule| self.indices[rule.index()] = u32::MAX);
        let is_entered = |&place: &usize| self.n_sites[rules[place].index()] > n_inside[place];
        let candidates = (0..rules.len()).rev().filter(is_entered).take(HEADS_TRIED_MAX - 1);
        let candidates: Vec<NetRuleId> = candidates.map(|place| rules[place]).chain([most_called]).collect();
        let on_all_cycles = |head: &NetRuleId| {
            let others: Vec<NetRuleId> = rules.iter().copied().filter(|rule| rule != head).collect();
            self.components(&others).iter().all(|component| component.len() == 1)
        };
        candidates.into_iter().find(on_all_cycles).unwrap_or(most_called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(calls: &[&[u32]], root: u32) -> Vec<u32> {
        let callees: Vec<Vec<NetRuleId>> =
            calls.iter().map(|of| of.iter().map(|&callee| NetRuleId(callee)).collect()).collect();
        callees_first(&callees, NetRuleId(root)).into_iter().map(|rule| rule.0).collect()
    }

    #[test]
    fn the_levels_of_an_operator_table_come_callees_first() {
        // root ::= e1;  e1 ::= e2 ("or" e2)*;  e2 ::= e3 ("and" e3)*;  e3 ::= "0" | "(" e1 ")"
        assert_eq!(order(&[&[1], &[2, 2], &[3, 3], &[1]], 0), [3, 2, 1, 0]);
        // Likewise when a level in the middle is called most.
        assert_eq!(order(&[&[1], &[2, 2], &[3, 3, 3], &[1]], 0), [3, 2, 1, 0]);
    }

    #[test]
    fn the_rule_on_all_cycles_comes_last() {
        // root ::= object;  object ::= "{" value "}";  array ::= "[" value "]";  value ::= object | array
        assert_eq!(order(&[&[1], &[3, 3], &[3, 3], &[1, 2]], 0).last_chunk(), Some(&[3, 0]));
    }

    #[test]
    fn cycles_within_cycles_are_taken_apart_too() {
        // 1 <-> 2 -> 3 <-> 4 -> 1: no rule is on all cycles.
        assert_eq!(order(&[&[1], &[2], &[1, 3], &[4], &[3, 1]], 0), [4, 3, 2, 1, 0]);
    }

    #[test]
    fn every_rule_comes_once_whatever_the_calls() {
        let n = 60u32;
        let all: Vec<u32> = (0..n).collect();
        let dense: Vec<&[u32]> = (0..n).map(|_| &all[..]).collect();
        let ladder: Vec<Vec<u32>> = (0..20_000u32).map(|i| vec![(i + 1) % 20_000, i.saturating_sub(1)]).collect();
        let ladder: Vec<&[u32]> = ladder.iter().map(Vec::as_slice).collect();
        for calls in [dense, ladder] {
            let mut found = order(&calls, 0);
            found.sort_unstable();
            assert!(found.iter().copied().eq(0..calls.len() as u32));
        }
    }
}

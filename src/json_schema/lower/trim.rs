//! Trimming: removal of dead states and unproductive rules.
//!
//! A rule is productive if it matches some string; a state is live if some string leads from it to the end of its rule. Both are computed
//! together ([`Live`]): an edge that calls a rule counts once that rule is productive. Linear in the edges.

use super::SchemaStore;
use super::draft::Draft;
use super::{Cached, DraftRule};
use crate::pass::{
    BuildError, Callees, CompileBudget, Edge, FinishedNetwork, FinishedRule, Label, NetRuleId, RuleAutomaton,
};
use core::mem::{replace, take};
use std::sync::Arc;

/// Returns the network of the rules that the root needs; `None` if the root is not productive.
pub(super) fn trim(
    rules: &[DraftRule],
    root: NetRuleId,
    store: &SchemaStore,
    memory: &mut TrimWorkspace,
    budget: &CompileBudget,
) -> Result<Option<FinishedNetwork>, BuildError> {
    let TrimWorkspace { live, numbering, walk } = memory;
    live.find(rules, budget)?;
    if !live.is_productive(root.index()) {
        return Ok(None);
    }
    numbering.begin(rules, live, root);
    let mut finished: Vec<FinishedRule> = Vec::with_capacity(rules.len());
    while let Some(&needed) = numbering.order.get(finished.len()) {
        let index = match needed {
            Needed::Rule(rule) => rule.index(),
            Needed::Part { of, part, first } => {
                let Some(Cached::Network(network)) = &rules[of.index()].cached else { unreachable!("it has parts") };
                finished.push(numbering.part(network.rule(part), of, first));
                continue;
            }
        };
        let rule = &rules[index];
        match &rule.cached {
            None => {}
            Some(Cached::Leaf(automaton)) => {
                let (name, automaton) = (rule.name.into(), Arc::clone(automaton));
                finished.push(FinishedRule { name, automaton, callees: Callees::new(), counter: rule.counter });
                continue;
            }
            Some(Cached::Caller(automaton, callees)) => {
                let callees = numbering.callees(finished.len(), callees);
                let (name, automaton) = (rule.name.into(), Arc::clone(automaton));
                finished.push(FinishedRule { name, automaton, callees, counter: rule.counter });
                continue;
            }
            Some(Cached::Network(network)) => {
                let of = NetRuleId::new(index);
                let first = numbering.need_parts(of, network);
                finished.push(numbering.part(network.rule(network.root), of, first));
                continue;
            }
        }
        budget.spend(rule.draft.n_states() + rule.draft.n_edges())?;
        let (automaton, callees) = match live.is_whole[index] {
            true => numbering.automaton(finished.len(), &rule.draft, live.walk(index), |_| true),
            false => {
                walk.go(&rule.draft, |edge| live.is_edge(index, edge));
                numbering.automaton(finished.len(), &rule.draft, &walk.states, |edge| live.is_edge(index, edge))
            }
        };
        let automaton = Arc::new(automaton);
        if let Some(key) = &rule.key {
            store.leaves.keep(key.clone(), &automaton);
        }
        finished.push(FinishedRule { name: rule.name.into(), automaton, callees, counter: rule.counter });
    }
    Ok(Some(FinishedNetwork { rules: finished, root: NetRuleId::new(0) }))
}

/// The workspace of trimming.
#[derive(Default)]
pub(super) struct TrimWorkspace {
    live: Live,
    numbering: Numbering,
    walk: Walk,
}

impl TrimWorkspace {
    /// Returns whether the memory is small enough for reuse.
    pub fn is_small(&self) -> bool {
        self.live.states.capacity().max(self.live.bases.capacity()) <= 1 << 14
    }
}

/// Resolves aliases: a rule that only calls another rule is an alias of it.
fn resolve_aliases(rules: &[DraftRule], live: &Live, alias: &mut Vec<NetRuleId>, resolved: &mut Vec<NetRuleId>) {
    alias.clear();
    for (index, rule) in rules.iter().enumerate() {
        let mut edges = rule.draft.row(0).filter(|edge| live.is_edge(index, edge));
        let only = match (edges.next(), edges.next()) {
            (Some(edge), None) if rule.counter.is_none() && rule.cached.is_none() => Some(edge),
            _ => None,
        };
        alias.push(match only {
            Some(&Edge { label: Label::Call(called), target })
                if rule.draft.accepting[target as usize]
                    && !rule.draft.row(target).any(|edge| live.is_edge(index, edge)) =>
            {
                called
            }
            _ => NetRuleId::new(index),
        });
    }
    let resolve = |rule: usize| {
        let (mut at, mut n_steps) = (NetRuleId::new(rule), 0);
        while alias[at.index()] != at && n_steps <= alias.len() {
            at = alias[at.index()];
            n_steps += 1;
        }
        at
    };
    resolved.clear();
    resolved.extend((0..rules.len()).map(resolve));
}

/// Most edges of a row that is sorted by insertion.
const SHORT_ROW: usize = 8;

/// A rule that the root needs.
#[derive(Clone, Copy)]
enum Needed {
    Rule(NetRuleId),
    /// A rule of the network that was cached for the rule `of`, but its root; the first of them has the number `first`.
    Part {
        of: NetRuleId,
        part: NetRuleId,
        first: usize,
    },
}

/// The numbering of the needed rules, in the order of a search.
#[derive(Default)]
struct Numbering {
    /// By rule: the rule that it only calls, or itself.
    alias: Vec<NetRuleId>,
    /// By rule: the rule at the end of its chain of aliases.
    resolved: Vec<NetRuleId>,
    numbers: Vec<Option<NetRuleId>>,
    /// The needed rules by number.
    order: Vec<Needed>,
    /// By rule: the last caller that was visited, and the rule's index among the callees of that caller.
    places: Vec<(usize, u32)>,
    callees: Vec<NetRuleId>,
    /// By state of a draft: its number.
    states: Vec<u32>,
}

impl Numbering {
    /// Begins with the root.
    fn begin(&mut self, rules: &[DraftRule], live: &Live, root: NetRuleId) {
        resolve_aliases(rules, live, &mut self.alias, &mut self.resolved);
        let root = self.resolved[root.index()];
        self.order.clear();
        self.order.push(Needed::Rule(root));
        self.numbers.clear();
        self.numbers.resize(rules.len(), None);
        self.numbers[root.index()] = Some(NetRuleId(0));
        self.places.clear();
        self.places.resize(rules.len(), (usize::MAX, 0));
    }

    /// Returns the automaton of a rule, and what it calls. `walk` has its states, the start first.
    fn automaton(
        &mut self,
        caller: usize,
        draft: &Draft,
        walk: &[u32],
        is_edge: impl Fn(&Edge) -> bool,
    ) -> (RuleAutomaton, Callees) {
        self.callees.clear();
        self.states.clear();
        self.states.resize(draft.n_states(), u32::MAX);
        for (number, &state) in walk.iter().enumerate() {
            self.states[state as usize] = number as u32;
        }
        let mut edges: Vec<Edge> = Vec::with_capacity(draft.n_edges());
        let mut ends = Vec::with_capacity(walk.len() + 1);
        ends.push(0u32);
        for &state in walk.iter() {
            if let Some(&Edge { label: label @ Label::Bytes(..), target }) = draft.only_edge(state)
                && is_edge(&Edge { label, target })
            {
                edges.push(Edge { label, target: self.states[target as usize] });
                ends.push(edges.len() as u32);
                continue;
            }
            let first = edges.len();
            let (mut least, mut is_sorted) = (0, true);
            for edge in draft.row(state).filter(|edge| is_edge(edge)) {
                let label = match edge.label {
                    Label::Call(called) => Label::Call(self.callee(caller, called)),
                    label => label,
                };
                let key = label.key();
                is_sorted &= least <= key;
                least = key + 1;
                edges.push(Edge { label, target: self.states[edge.target as usize] });
            }
            // Most rows are drafted in order.
            if !is_sorted {
                sort_from(&mut edges, first);
            }
            ends.push(edges.len() as u32);
        }
        let number = |state: u32| Some(self.states[state as usize]).filter(|&number| number != u32::MAX);
        let elements = draft.elements.iter().filter_map(|&(state, distinct)| Some((number(state)?, distinct)));
        let mut elements: Vec<_> = elements.collect();
        elements.sort_unstable();
        let register_rules = draft
            .register_rules
            .iter()
            .filter_map(|(state, register_rule)| Some((number(*state)?, register_rule.clone())));
        let mut register_rules: Vec<_> = register_rules.collect();
        register_rules.sort_unstable_by_key(|&(state, _)| state);
        let accepting = walk.iter().map(|&state| draft.accepting[state as usize]);
        let automaton = RuleAutomaton::from_sorted(edges, ends, accepting)
            .with_elements(elements, &draft.declared_keys)
            .with_register_rules(register_rules);
        (automaton, Callees::from_slice(&self.callees))
    }

    /// Returns the numbers of the rules that a caller calls.
    fn callees(&mut self, caller: usize, called: &[NetRuleId]) -> Callees {
        self.callees.clear();
        called.iter().for_each(|&called| _ = self.callee(caller, called));
        Callees::from_slice(&self.callees)
    }

    /// Numbers the rules of a network that was cached for a rule, but its root; returns the first number.
    fn need_parts(&mut self, of: NetRuleId, network: &FinishedNetwork) -> usize {
        debug_assert_eq!(network.root, NetRuleId(0));
        let first = self.order.len();
        let parts = (1..network.rules.len()).map(NetRuleId::new);
        self.order.extend(parts.map(|part| Needed::Part { of, part, first }));
        first
    }

    /// Returns a rule of a network that was cached for the rule `of`.
    fn part(&self, rule: &FinishedRule, of: NetRuleId, first: usize) -> FinishedRule {
        let root = self.numbers[of.index()].expect("the root is numbered before its parts");
        let number = |part: &NetRuleId| match part.index() {
            0 => root,
            part => NetRuleId::new(first + part - 1),
        };
        FinishedRule { callees: rule.callees.iter().map(number).collect(), ..rule.clone() }
    }

    /// Returns the index of a rule among the callees of a caller.
    fn callee(&mut self, caller: usize, called: NetRuleId) -> NetRuleId {
        let called = self.resolved[called.index()];
        let place = &mut self.places[called.index()];
        if place.0 != caller {
            let number = *self.numbers[called.index()].get_or_insert_with(|| {
                self.order.push(Needed::Rule(called));
                NetRuleId::new(self.order.len() - 1)
            });
            *place = (caller, self.callees.len() as u32);
            self.callees.push(number);
        }
        NetRuleId(place.1)
    }
}

/// Sorts the edges from an index on, and removes duplicates there.
fn sort_from(edges: &mut Vec<Edge>, first: usize) {
    let row = &mut edges[first..];
    if row.len() <= SHORT_ROW {
        // Mostly a single edge is out of order.
        let rank = |edge: &Edge| (edge.label.key(), edge.target);
        for at in 1..row.len() {
            let (edge, mut place) = (row[at], at);
            while place > 0 && rank(&edge) < rank(&row[place - 1]) {
                row[place] = row[place - 1];
                place -= 1;
            }
            row[place] = edge;
        }
        if row.windows(2).all(|pair| rank(&pair[0]) != rank(&pair[1])) {
            return;
        }
    } else {
        row.sort_unstable();
    }
    let mut kept = first + 1;
    for at in first + 1..edges.len() {
        if edges[at] != edges[kept - 1] {
            edges[kept] = edges[at];
            kept += 1;
        }
    }
    edges.truncate(kept);
}

/// The reachable states of a draft, in the order of a search.
#[derive(Default)]
struct Walk {
    states: Vec<u32>,
    is_seen: Vec<bool>,
    open: Vec<u32>,
}

impl Walk {
    fn go(&mut self, draft: &Draft, is_edge: impl Fn(&Edge) -> bool) {
        let Walk { states, is_seen, open } = self;
        states.clear();
        is_seen.clear();
        is_seen.resize(draft.n_states(), false);
        is_seen[0] = true;
        open.push(0);
        while let Some(mut state) = open.pop() {
            states.push(state);
            // Most states, those within keys and constants, have one edge: what it leads to is next, and need not wait in `open`.
            while let Some(edge) = draft.only_edge(state).filter(|edge| is_edge(edge))
                && !replace(&mut is_seen[edge.target as usize], true)
            {
                state = edge.target;
                states.push(state);
            }
            for edge in draft.row(state) {
                if is_edge(edge) && !replace(&mut is_seen[edge.target as usize], true) {
                    open.push(edge.target);
                }
            }
        }
    }
}

/// Sweeps over the states before the general algorithm, which sorts edges by target.
const SWEEPS_MAX: usize = 4;

/// The live states of all rules.
#[derive(Default)]
struct Live {
    /// By rule: the number of its first state among those of all rules.
    bases: Vec<usize>,
    states: Vec<bool>,
    /// The [`Walk`]s of all rules, concatenated, and by rule their ranges.
    walks: Vec<u32>,
    walk_ranges: Vec<(usize, usize)>,
    /// By rule: whether all reachable states are live.
    is_whole: Vec<bool>,
    calls: Calls,
    /// The walk of the current rule.
    current: Walk,
    /// States that were not live when they were visited, with their rules.
    unsettled: Vec<(usize, u32)>,
}

impl Live {
    fn find(&mut self, rules: &[DraftRule], budget: &CompileBudget) -> Result<(), BuildError> {
        let (mut n_states, mut n_edges) = (0, 0);
        self.bases.clear();
        self.states.clear();
        for DraftRule { draft, .. } in rules {
            self.bases.push(n_states);
            self.states.extend_from_slice(&draft.accepting);
            n_states += draft.n_states();
            n_edges += draft.n_edges();
        }
        budget.spend(n_states + n_edges)?;
        self.calls.find(rules);
        let is_settled = self.sweep(rules);
        self.is_whole.clear();
        if is_settled && self.unsettled.is_empty() {
            // In most schemas every state is live.
            self.is_whole.resize(rules.len(), true);
            return Ok(());
        }
        if !is_settled {
            self.follow(rules, n_edges);
        }
        let mut is_whole = take(&mut self.is_whole);
        is_whole.extend((0..rules.len()).map(|rule| {
            let states = &self.states[self.bases[rule]..];
            let are_live = self.walk(rule).iter().all(|&state| states[state as usize]);
            are_live && self.calls.of_rule(rule).iter().all(|called| self.is_productive(called.index()))
        }));
        self.is_whole = is_whole;
        Ok(())
    }

    fn walk(&self, rule: usize) -> &[u32] {
        let (first, end) = self.walk_ranges[rule];
        &self.walks[first..end]
    }

    /// Sweeps over the states of each rule backwards, callees before their callers, and marks live states; returns whether the result is
    /// complete. Without loops and recursion one sweep is enough.
    fn sweep(&mut self, rules: &[DraftRule]) -> bool {
        let Live { bases, states, walks, walk_ranges, calls, current: walk, unsettled, .. } = self;
        walks.clear();
        walk_ranges.clear();
        walk_ranges.resize(rules.len(), (0, 0));
        unsettled.clear();
        calls.put_callees_first();
        for &rule in &calls.order {
            let (draft, base) = (&rules[rule].draft, bases[rule]);
            let first = walks.len();
            walk.go(draft, |_| true);
            walks.extend_from_slice(&walk.states);
            walk_ranges[rule] = (first, walks.len());
            for &state in walk.states.iter().rev() {
                let at = base + state as usize;
                states[at] = states[at]
                    || match draft.only_edge(state) {
                        Some(edge) => is_live_edge(edge, base, bases, states),
                        None => draft.row(state).any(|edge| is_live_edge(edge, base, bases, states)),
                    };
                if !states[at] {
                    unsettled.push((rule, state));
                }
            }
        }
        for _ in 1..SWEEPS_MAX {
            let n_unsettled = unsettled.len();
            unsettled.retain(|&(rule, state)| {
                let base = bases[rule];
                let found = rules[rule].draft.row(state).any(|edge| is_live_edge(edge, base, bases, states));
                states[base + state as usize] = found;
                !found
            });
            if unsettled.len() == n_unsettled {
                return true;
            }
        }
        unsettled.is_empty()
    }

    /// Finds the remaining live states by a search backwards from live ones.
    fn follow(&mut self, rules: &[DraftRule], n_edges: usize) {
        let Live { bases, states, .. } = self;
        let n_states = states.len();
        // Edges by target.
        let mut starts = vec![0u32; n_states + 1];
        for (rule, base) in rules.iter().zip(&*bases) {
            for edge in rule.draft.edges() {
                starts[base + edge.target as usize + 1] += 1;
            }
        }
        (0..n_states).for_each(|state| starts[state + 1] += starts[state]);
        let mut sources: Vec<(u32, Option<NetRuleId>)> = vec![(0, None); n_edges];
        let mut filled = starts.clone();
        for (rule, base) in rules.iter().zip(&*bases) {
            for state in 0..rule.draft.n_states() {
                for edge in rule.draft.row(state as u32) {
                    let called = if let Label::Call(called) = edge.label { Some(called) } else { None };
                    let place = &mut filled[base + edge.target as usize];
                    sources[*place as usize] = ((base + state) as u32, called);
                    *place += 1;
                }
            }
        }
        let mut is_start = vec![u32::MAX; n_states];
        bases.iter().enumerate().for_each(|(index, &base)| is_start[base] = index as u32);
        states.fill(false);
        let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); rules.len()];
        let mut pending: Vec<u32> = Vec::with_capacity(n_states);
        let mut blocked: Vec<(NetRuleId, u32)> = Vec::new();
        for (rule, base) in rules.iter().zip(&*bases) {
            for (state, _) in rule.draft.accepting.iter().enumerate().filter(|(_, accepts)| **accepts) {
                states[base + state] = true;
                pending.push((base + state) as u32);
            }
        }
        while let Some(state) = pending.pop() {
            let mut enliven = |state: u32| {
                if !replace(&mut states[state as usize], true) {
                    pending.push(state);
                }
            };
            if is_start[state as usize] != u32::MAX {
                take(&mut waiting[is_start[state as usize] as usize]).into_iter().for_each(&mut enliven);
            }
            let range = starts[state as usize] as usize..starts[state as usize + 1] as usize;
            for &(source, called) in &sources[range] {
                match called {
                    None => enliven(source),
                    Some(called) => blocked.push((called, source)),
                }
            }
            for (called, source) in blocked.drain(..) {
                if states[bases[called.index()]] {
                    if !replace(&mut states[source as usize], true) {
                        pending.push(source);
                    }
                } else {
                    waiting[called.index()].push(source);
                }
            }
        }
    }

    fn is_productive(&self, rule: usize) -> bool {
        self.states[self.bases[rule]]
    }

    fn is_edge(&self, rule: usize, edge: &Edge) -> bool {
        is_live_edge(edge, self.bases[rule], &self.bases, &self.states)
    }
}

/// Returns whether an edge leads to the end of its rule, whose states begin at `base`, as far as is known.
#[inline]
fn is_live_edge(edge: &Edge, base: usize, bases: &[usize], states: &[bool]) -> bool {
    let is_called = match edge.label {
        Label::Call(called) => states[bases[called.index()]],
        _ => true,
    };
    is_called && states[base + edge.target as usize]
}

/// The calls of each rule, with repetitions.
#[derive(Default)]
struct Calls {
    callees: Vec<NetRuleId>,
    /// By rule: where its callees end.
    ends: Vec<usize>,
    /// All rules, callees before callers except in cycles.
    order: Vec<usize>,
    is_seen: Vec<bool>,
    /// The stack of the search: rules with the number of callees visited.
    open: Vec<(usize, usize)>,
}

impl Calls {
    /// Finds the calls of some rules.
    fn find(&mut self, rules: &[DraftRule]) {
        self.callees.clear();
        self.ends.clear();
        for rule in rules {
            self.callees.extend_from_slice(rule.draft.calls());
            self.ends.push(self.callees.len());
        }
    }

    fn of_rule(&self, rule: usize) -> &[NetRuleId] {
        &self.callees[if rule == 0 { 0 } else { self.ends[rule - 1] }..self.ends[rule]]
    }

    /// Puts callees before their callers.
    fn put_callees_first(&mut self) {
        let (mut order, mut is_seen, mut open) = (take(&mut self.order), take(&mut self.is_seen), take(&mut self.open));
        order.clear();
        is_seen.clear();
        is_seen.resize(self.ends.len(), false);
        for first in 0..self.ends.len() {
            let mut entered = Some(first);
            loop {
                if let Some(rule) = entered.take().filter(|&rule| !replace(&mut is_seen[rule], true)) {
                    open.push((rule, 0));
                }
                let Some((rule, n_seen)) = open.last_mut() else { break };
                match self.of_rule(*rule).get(*n_seen) {
                    Some(called) => {
                        entered = Some(called.index());
                        *n_seen += 1;
                    }
                    None => {
                        order.push(*rule);
                        open.pop();
                    }
                }
            }
        }
        (self.order, self.is_seen, self.open) = (order, is_seen, open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// Returns rules with few edges, so that some states are dead and some rules unproductive.
    fn rules(rng: &mut Rng) -> Vec<DraftRule> {
        let n_rules = 1 + rng.below(6);
        let draft = |rng: &mut Rng| {
            let mut draft = Draft::new();
            let n_states = 1 + rng.below(6) as u32;
            (1..n_states).for_each(|_| {
                draft.state();
            });
            for _ in 0..rng.below(9) {
                let label = match rng.below(3) {
                    0 => Label::Call(NetRuleId::new(rng.below(n_rules))),
                    _ => Label::Bytes(b'a', b'a' + rng.below(3) as u8),
                };
                draft.edge(rng.below(n_states as usize) as u32, label, rng.below(n_states as usize) as u32);
            }
            if rng.below(4) > 0 {
                draft.accept(n_states - 1);
            }
            draft
        };
        let rule = |draft: Draft| DraftRule { name: "rule", draft, counter: None, key: None, cached: None };
        (0..n_rules).map(|_| rule(draft(rng))).collect()
    }

    fn found(rules: &[DraftRule]) -> Live {
        let mut live = Live::default();
        live.find(rules, &CompileBudget::none()).unwrap();
        live
    }

    #[test]
    fn both_ways_find_the_same_live_states() {
        let mut rng = Rng::new(1);
        for _ in 0..3000 {
            let rules = rules(&mut rng);
            let swept = found(&rules);
            let mut followed = Live { states: vec![false; swept.states.len()], ..found(&rules) };
            followed.follow(&rules, rules.iter().map(|rule| rule.draft.n_edges()).sum());
            for rule in 0..rules.len() {
                // A state that nothing leads to is of no interest.
                for &state in swept.walk(rule) {
                    let place = swept.bases[rule] + state as usize;
                    assert_eq!(swept.states[place], followed.states[place], "rule {rule}, state {state}");
                }
            }
        }
    }

    #[test]
    fn a_row_of_rules_that_wait_for_each_other_is_followed() {
        // Each rule calls itself and the next one in either order; only the last ends.
        let n_rules = 50;
        let rules = (0..n_rules).map(|index| {
            let mut draft = Draft::new();
            let (middle, end) = (draft.state(), draft.state());
            draft.accept(end);
            match index + 1 == n_rules {
                true => draft.edge(0, Label::Bytes(b'x', b'x'), end),
                false => {
                    draft.edge(0, Label::Call(NetRuleId::new(index)), middle);
                    draft.edge(0, Label::Call(NetRuleId::new(index + 1)), end);
                    draft.edge(middle, Label::Call(NetRuleId::new(0)), end);
                }
            }
            DraftRule { name: "rule", draft, counter: None, key: None, cached: None }
        });
        let rules: Vec<DraftRule> = rules.collect();
        let live = found(&rules);
        assert!((0..n_rules).all(|rule| live.is_productive(rule)));
        assert!(live.is_whole.iter().all(|&is_whole| is_whole));
    }
}

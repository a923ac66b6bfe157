//! Cutting away what can't be completed.
//!
//! A rule is productive when some text completes it; a state is live when some text leads from it to the end of its rule. Both are found
//! together, backwards from the ends: an edge that calls a rule counts once that rule is productive. Linear in the edges.

use super::DraftRule;
use crate::json_schema::language::LanguageStore;
use crate::pass::{BuildError, Edge, Label, NetRule, NetRuleId, Network, RuleAutomaton, Watch};
use std::sync::Arc;

/// Returns the network of the rules that the root needs; nothing if no text completes the root.
pub(super) fn trim(
    rules: Vec<DraftRule>,
    root: NetRuleId,
    store: &LanguageStore,
    watch: &Watch,
) -> Result<Option<Network<Arc<RuleAutomaton>>>, BuildError> {
    let live = Live::find(&rules, watch)?;
    if !live.is_productive(root.index()) {
        return Ok(None);
    }
    // Rules that only call another one are that other one.
    let mut alias: Vec<NetRuleId> = Vec::with_capacity(rules.len());
    for (index, rule) in rules.iter().enumerate() {
        let mut edges = rule.draft.row(0).filter(|edge| live.is_edge(index, edge));
        let only = match (edges.next(), edges.next()) {
            (Some(edge), None) if rule.counter.is_none() => Some(edge),
            _ => None,
        };
        alias.push(match only {
            Some(Edge { label: Label::Call(called), target })
                if rule.draft.accepting[target as usize]
                    && !rule.draft.row(target).any(|edge| live.is_edge(index, &edge)) =>
            {
                called
            }
            _ => NetRuleId::new(index),
        });
    }
    let resolve = |rule: NetRuleId| {
        let (mut at, mut n_steps) = (rule, 0);
        while alias[at.index()] != at && n_steps <= alias.len() {
            at = alias[at.index()];
            n_steps += 1;
        }
        at
    };
    let resolved: Vec<NetRuleId> = (0..rules.len()).map(|rule| resolve(NetRuleId::new(rule))).collect();
    let mut numbers: Vec<Option<NetRuleId>> = vec![None; rules.len()];
    let mut order = vec![resolved[root.index()]];
    numbers[order[0].index()] = Some(NetRuleId::new(0));
    let mut trimmed: Vec<NetRule<Arc<RuleAutomaton>>> = Vec::new();
    let (mut states, mut state_numbers, mut row): (Vec<u32>, Vec<u32>, Vec<Edge>) = Default::default();
    while trimmed.len() < order.len() {
        let index = order[trimmed.len()].index();
        let rule = &rules[index];
        if let Some(kept) = &rule.kept {
            trimmed.push(NetRule { name: rule.name.into(), automaton: Arc::clone(kept), counter: rule.counter });
            continue;
        }
        states.clear();
        states.push(0);
        state_numbers.clear();
        state_numbers.resize(rule.draft.n_states(), u32::MAX);
        state_numbers[0] = 0;
        let n_states = rule.draft.n_states();
        let mut edges: Vec<Edge> = Vec::with_capacity(rule.draft.n_edges());
        let (mut ends, mut accepting) = (Vec::with_capacity(n_states + 1), Vec::with_capacity(n_states));
        ends.push(0u32);
        while accepting.len() < states.len() {
            let state = states[accepting.len()] as usize;
            row.clear();
            for edge in rule.draft.row(state as u32).filter(|edge| live.is_edge(index, edge)) {
                let number = &mut state_numbers[edge.target as usize];
                if *number == u32::MAX {
                    *number = states.len() as u32;
                    states.push(edge.target);
                }
                let label = match edge.label {
                    Label::Call(called) => {
                        let called = resolved[called.index()];
                        let number = *numbers[called.index()].get_or_insert_with(|| {
                            order.push(called);
                            NetRuleId::new(order.len() - 1)
                        });
                        Label::Call(number)
                    }
                    label => label,
                };
                row.push(Edge { label, target: *number });
            }
            watch.spend(1 + row.len())?;
            // PERF: most rows have one edge.
            if row.len() > 1 {
                row.sort_unstable();
                row.dedup();
            }
            edges.extend_from_slice(&row);
            ends.push(edges.len() as u32);
            accepting.push(rule.draft.accepting[state]);
        }
        let elements = rule.draft.elements.iter().map(|&(state, distinct)| (state_numbers[state as usize], distinct));
        let mut elements: Vec<_> = elements.filter(|&(state, _)| state != u32::MAX).collect();
        elements.sort_unstable();
        let tallies = rule.draft.tallies.iter().map(|(state, tally)| (state_numbers[*state as usize], tally.clone()));
        let mut tallies: Vec<_> = tallies.filter(|(state, _)| *state != u32::MAX).collect();
        tallies.sort_unstable_by_key(|&(state, _)| state);
        let automaton = RuleAutomaton::from_sorted(edges, ends, accepting)
            .with_elements(elements, rule.draft.reserved.clone())
            .with_tallies(tallies);
        let automaton = Arc::new(automaton);
        if let Some(key) = &rule.key {
            store.leaves.keep(key.clone(), &automaton);
        }
        trimmed.push(NetRule { name: rule.name.into(), automaton, counter: rule.counter });
    }
    Ok(Some(Network { rules: trimmed, root: NetRuleId::new(0) }))
}

/// Which states are live.
struct Live {
    /// By rule: where its states begin.
    bases: Vec<usize>,
    states: Vec<bool>,
}

impl Live {
    fn find(rules: &[DraftRule], watch: &Watch) -> Result<Live, BuildError> {
        let mut bases = Vec::with_capacity(rules.len());
        let mut n_states = 0;
        for rule in rules {
            bases.push(n_states);
            n_states += rule.draft.n_states();
        }
        // Edges by target.
        let mut starts = vec![0u32; n_states + 1];
        for (rule, base) in rules.iter().zip(&bases) {
            for edge in rule.draft.edges() {
                starts[base + edge.target as usize + 1] += 1;
            }
        }
        (0..n_states).for_each(|state| starts[state + 1] += starts[state]);
        let n_edges = starts[n_states] as usize;
        watch.spend(n_states + n_edges)?;
        let mut sources: Vec<(u32, Option<NetRuleId>)> = vec![(0, None); n_edges];
        let mut filled = starts.clone();
        for (rule, base) in rules.iter().zip(&bases) {
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
        let mut states = vec![false; n_states];
        let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); rules.len()];
        let mut pending: Vec<u32> = Vec::with_capacity(n_states);
        let mut blocked: Vec<(NetRuleId, u32)> = Vec::new();
        for (rule, base) in rules.iter().zip(&bases) {
            for (state, _) in rule.draft.accepting.iter().enumerate().filter(|(_, accepts)| **accepts) {
                states[base + state] = true;
                pending.push((base + state) as u32);
            }
        }
        while let Some(state) = pending.pop() {
            let mut enliven = |state: u32| {
                if !core::mem::replace(&mut states[state as usize], true) {
                    pending.push(state);
                }
            };
            if is_start[state as usize] != u32::MAX {
                core::mem::take(&mut waiting[is_start[state as usize] as usize]).into_iter().for_each(&mut enliven);
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
                    if !core::mem::replace(&mut states[source as usize], true) {
                        pending.push(source);
                    }
                } else {
                    waiting[called.index()].push(source);
                }
            }
        }
        Ok(Live { bases, states })
    }

    fn is_productive(&self, rule: usize) -> bool {
        self.states[self.bases[rule]]
    }

    fn is_edge(&self, rule: usize, edge: &Edge) -> bool {
        let is_called = match edge.label {
            Label::Call(called) => self.is_productive(called.index()),
            _ => true,
        };
        is_called && self.states[self.bases[rule] + edge.target as usize]
    }
}

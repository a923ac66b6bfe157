//! Determinization: from an automaton with epsilon edges to a deterministic, minimal one, with labels as letters.
//!
//! The subset construction, then minimization with a numbering in breadth-first order along sorted labels, so that equal languages over
//! equal letters give equal automata. Bytes come in ranges, and overlapping ranges are split at each other's ends. Some languages have no
//! small deterministic automaton (`.*a.{20}`): beyond a number of states the result is the given automaton without epsilon edges instead,
//! of which several states are live at once at run time. States of it that go on alike are merged first (bisimulation), and where that merged any
//! the subsets are tried once more: `([a-z]* "1" [0-9]* | [a-z]* "2" [0-9]* | ...)*` is in any set of its digits, which are one state then.
//!
//! The empty word is dropped: state 0 of the result never accepts.
//!
//! Cost: linear in the size of the result times the size of its subsets, plus one sort per state. The subsets can be as large as the
//! automaton (`("a"? "b"? "c"? ...)*`), so the states visited for them are bounded as well; and without epsilon edges the given automaton can
//! have the square of its edges, which is where a grammar is refused.

use super::BuildError;
use super::compile_budget::{CompileBudget, steps_of_sorting};
use super::minimize::{merge, minimize};
use super::network::{Determinism, Edge, Label, Nfa, Rows, RuleAutomaton};
use hashbrown::HashMap;
use smallvec::SmallVec;

/// Deterministic states allowed: so many per state of the given automaton, and [`STATES_FREE`] more.
const STATES_PER_STATE: usize = 8;
const STATES_FREE: usize = 256;
/// Visits for subsets allowed per state of the given automaton, when the whole compile has taken more than [`VISITS_FREE`] steps.
const VISITS_PER_STATE: usize = 64;
const VISITS_FREE: u64 = 1 << 24;
/// Steps of a compile that making a state counts as, beside those of its letters, and each visit for its subset, which is sorted, hashed and looked up.
const STEPS_PER_SUBSET: usize = 8;
const STEPS_PER_VISIT: usize = 2;
/// And each target of a letter, which is sorted with the others.
const STEPS_PER_TARGET: usize = 3;
/// Visits for the letters of one state between two checks of the budget.
const VISITS_PER_CHECK: usize = 1 << 13;

/// Returns the automaton of the non-empty words of `nfa`.
pub(crate) fn determinize(nfa: &Nfa, budget: &CompileBudget) -> Result<RuleAutomaton, BuildError> {
    budget.spend(nfa.n_states as usize + nfa.edges.len() + nfa.epsilons.len())?;
    let graph = Graph::new(nfa);
    budget.check()?;
    if !graph.is_live(nfa.start) {
        return Ok(RuleAutomaton::of_nothing());
    }
    if let Some((rows, accepting)) = subsets(nfa, &graph, budget)? {
        return minimize(&rows, &accepting, budget);
    }
    let merged = merge_alike(nfa, &graph, budget)?;
    let graph = Graph::new(&merged);
    if merged.n_states < nfa.n_states
        && let Some((rows, accepting)) = subsets(&merged, &graph, budget)?
    {
        return minimize(&rows, &accepting, budget);
    }
    without_epsilons(&merged, &graph, budget)
}

/// Most room, in states, that is made beforehand.
const CAPACITY_MAX: usize = 1 << 12;

type Subset = SmallVec<[u32; 8]>;

/// The edges of an automaton by source, and its live states (from which an accepting state is reachable).
struct Graph {
    edge_offsets: Vec<u32>,
    edges: Vec<Edge>,
    epsilon_offsets: Vec<u32>,
    epsilons: Vec<u32>,
    live: Vec<bool>,
}

impl Graph {
    fn new(nfa: &Nfa) -> Self {
        let n = nfa.n_states as usize;
        let (edge_offsets, edges) =
            by_source(n, nfa.edges.iter().map(|&(from, label, target)| (from, Edge { label, target })), NO_EDGE);
        let (epsilon_offsets, epsilons) = by_source(n, nfa.epsilons.iter().copied(), 0);
        let reversed = nfa.edges.iter().map(|&(from, _, to)| (to, from));
        let (back_offsets, back) = by_source(n, reversed.chain(nfa.epsilons.iter().map(|&(from, to)| (to, from))), 0);
        let mut live = vec![false; n];
        live[nfa.accept as usize] = true;
        let mut pending = vec![nfa.accept];
        while let Some(state) = pending.pop() {
            for &from in &back[back_offsets[state as usize] as usize..back_offsets[state as usize + 1] as usize] {
                if !core::mem::replace(&mut live[from as usize], true) {
                    pending.push(from);
                }
            }
        }
        Graph { edge_offsets, edges, epsilon_offsets, epsilons, live }
    }

    fn is_live(&self, state: u32) -> bool {
        self.live[state as usize]
    }

    fn edges(&self, state: u32) -> &[Edge] {
        &self.edges[self.edge_offsets[state as usize] as usize..self.edge_offsets[state as usize + 1] as usize]
    }

    fn epsilons(&self, state: u32) -> &[u32] {
        &self.epsilons[self.epsilon_offsets[state as usize] as usize..self.epsilon_offsets[state as usize + 1] as usize]
    }
}

const NO_EDGE: Edge = Edge { label: Label::Bytes(0, 0), target: 0 };

/// Sorts values by their source: returns offsets and the values. `any` is some value.
fn by_source<T: Copy>(n: usize, pairs: impl Iterator<Item = (u32, T)> + Clone, any: T) -> (Vec<u32>, Vec<T>) {
    let mut offsets = vec![0u32; n + 1];
    for (from, _) in pairs.clone() {
        offsets[from as usize + 1] += 1;
    }
    for i in 0..n {
        offsets[i + 1] += offsets[i];
    }
    let mut values: Vec<T> = vec![any; offsets[n] as usize];
    // Offsets are where the next value goes, and become where the values of the next source begin; then they are shifted back.
    for (from, value) in pairs {
        let next = &mut offsets[from as usize];
        values[*next as usize] = value;
        *next += 1;
    }
    offsets.copy_within(0..n, 1);
    offsets[0] = 0;
    (offsets, values)
}

/// The epsilon closure. Drops irrelevant states: keeps live ones with edges, and the accepting one.
struct Closure<'a> {
    graph: &'a Graph,
    accept: u32,
    stamp: Vec<u32>,
    round: u32,
    pending: Vec<u32>,
    /// States visited since the last check of the budget.
    n_visits: usize,
}

impl<'a> Closure<'a> {
    fn new(nfa: &Nfa, graph: &'a Graph) -> Self {
        let stamp = vec![0; nfa.n_states as usize];
        Closure { graph, accept: nfa.accept, stamp, round: 0, pending: Vec::new(), n_visits: 0 }
    }

    /// Returns the closure of one state.
    fn of_one(&mut self, state: u32) -> Subset {
        if !self.graph.epsilons(state).is_empty() {
            return self.of([state]);
        }
        // Most states have none: those within literals.
        self.n_visits += 1;
        let is_kept = self.graph.is_live(state) && (state == self.accept || !self.graph.edges(state).is_empty());
        if is_kept { Subset::from_slice(&[state]) } else { Subset::new() }
    }

    fn of(&mut self, states: impl IntoIterator<Item = u32>) -> Subset {
        self.round += 1;
        let mut subset = Subset::new();
        self.pending.clear();
        self.pending.extend(states);
        while let Some(state) = self.pending.pop() {
            self.n_visits += 1;
            if self.stamp[state as usize] == self.round || !self.graph.is_live(state) {
                continue;
            }
            self.stamp[state as usize] = self.round;
            if state == self.accept || !self.graph.edges(state).is_empty() {
                subset.push(state);
            }
            self.pending.extend_from_slice(self.graph.epsilons(state));
        }
        subset.sort_unstable();
        subset
    }
}

/// Returns the deterministic automaton of `nfa`; nothing where it would be too large.
fn subsets(nfa: &Nfa, graph: &Graph, budget: &CompileBudget) -> Result<Option<(Rows, Vec<bool>)>, BuildError> {
    let n_states_max = STATES_FREE + STATES_PER_STATE * nfa.n_states as usize;
    let mut closure = Closure::new(nfa, graph);
    let n = nfa.n_states as usize;
    let mut ids: HashMap<Subset, u32> = HashMap::new();
    // By state: the subset of that state alone, found once. `(w1 | w2 | ...)*` returns to its start after every word.
    let mut of_single = vec![u32::MAX; nfa.n_states as usize];
    // By state: the number of the subset that has only it. Most subsets have one state, and are found without hashing.
    let mut only = vec![u32::MAX; nfa.n_states as usize];
    let mut n_visits = 0usize;
    // The initial state is a state of its own: it never accepts.
    let mut sets: Vec<Subset> = Vec::with_capacity(n.min(CAPACITY_MAX));
    sets.push(closure.of([nfa.start]));
    let (mut rows, mut accepting) = (Rows::with_capacity(n.min(CAPACITY_MAX)), Vec::with_capacity(n.min(CAPACITY_MAX)));
    let mut splitter = Splitter::default();
    while rows.len() < sets.len() {
        let subset = core::mem::take(&mut sets[rows.len()]);
        let n_spent = core::mem::take(&mut closure.n_visits) + subset.len();
        budget.spend(STEPS_PER_SUBSET + STEPS_PER_VISIT * n_spent)?;
        n_visits += n_spent;
        accepting.push(!rows.is_empty() && subset.contains(&nfa.accept));
        splitter.clear();
        for &state in &subset {
            for edge in graph.edges(state) {
                if graph.is_live(edge.target) {
                    splitter.add(edge.label, edge.target);
                }
            }
        }
        let mut n_targets = splitter.n_letters() + steps_of_sorting(splitter.n_letters());
        let mut checked = Ok(());
        splitter.for_each(|label, targets| {
            if closure.n_visits > VISITS_PER_CHECK && checked.is_ok() {
                // One state can have thousands of letters, and each the closure of thousands of states.
                n_visits += closure.n_visits;
                checked = budget.spend(STEPS_PER_VISIT * core::mem::take(&mut closure.n_visits));
            }
            if checked.is_err() {
                return;
            }
            n_targets += targets.len();
            let single = targets[1..].iter().all(|&target| target == targets[0]).then_some(targets[0] as usize);
            let target = match single {
                Some(single) if of_single[single] != u32::MAX => of_single[single],
                _ => {
                    let set = match single {
                        Some(_) => closure.of_one(targets[0]),
                        None => closure.of(targets.iter().copied()),
                    };
                    let next = sets.len() as u32;
                    let number = match set[..] {
                        [state] => &mut only[state as usize],
                        _ => ids.entry(set.clone()).or_insert(u32::MAX),
                    };
                    if *number == u32::MAX {
                        *number = next;
                        sets.push(set);
                    }
                    *number
                }
            };
            single.into_iter().for_each(|single| of_single[single] = target);
            match (rows.open_row().last_mut(), label) {
                (Some(Edge { label: Label::Bytes(_, high), target: last }), Label::Bytes(low, new_high))
                    if *last == target && *high + 1 == low =>
                {
                    *high = new_high;
                }
                _ => rows.push(Edge { label, target }),
            }
        });
        checked?;
        rows.end_row();
        budget.spend(STEPS_PER_TARGET * n_targets)?;
        budget.check_edges(rows.edges().len())?;
        let visits_max = STATES_FREE + VISITS_PER_STATE * nfa.n_states as usize;
        if sets.len() > n_states_max || n_visits > visits_max && budget.n_steps() > VISITS_FREE {
            return Ok(None);
        }
    }
    Ok(Some((rows, accepting)))
}

/// An epsilon edge, as a letter: no automaton that was built before has this number.
const EPSILON: Label = Label::External(u32::MAX);

/// Returns the live part of an automaton, with states merged that have the same edges, epsilon edges too, to merged states (a bisimulation).
fn merge_alike(nfa: &Nfa, graph: &Graph, budget: &CompileBudget) -> Result<Nfa, BuildError> {
    let mut number = vec![u32::MAX; nfa.n_states as usize];
    number[nfa.start as usize] = 0;
    let mut order = vec![nfa.start];
    let (mut rows, mut accepting) = (Rows::default(), Vec::new());
    while let Some(&state) = order.get(rows.len()) {
        accepting.push(state == nfa.accept);
        let epsilons = graph.epsilons(state).iter().map(|&target| Edge { label: EPSILON, target });
        for edge in graph.edges(state).iter().copied().chain(epsilons).filter(|edge| graph.is_live(edge.target)) {
            let target = &mut number[edge.target as usize];
            if *target == u32::MAX {
                *target = order.len() as u32;
                order.push(edge.target);
            }
            rows.push(Edge { target: *target, ..edge });
        }
        rows.sort_open_row();
        budget.spend(1 + rows.next_row().len())?;
        rows.end_row();
    }
    let (rows, accepting) = merge(&rows, &accepting, budget)?;
    let accept = accepting.iter().position(|&accepts| accepts).expect("the start is live") as u32;
    let mut merged = Nfa { n_states: rows.len() as u32, start: 0, accept, ..Nfa::new() };
    for state in 0..rows.len() {
        let (epsilons, edges): (Vec<&Edge>, Vec<&Edge>) =
            rows.row(state).iter().partition(|edge| edge.label == EPSILON);
        merged.epsilons.extend(epsilons.into_iter().map(|edge| (state as u32, edge.target)));
        merged.edges.extend(edges.into_iter().map(|edge| (state as u32, edge.label, edge.target)));
    }
    Ok(merged)
}

/// Groups targets by letter; overlapping byte ranges are split at each other's ends.
#[derive(Default)]
pub(crate) struct Splitter {
    bytes: Vec<(u8, u8, u32)>,
    others: Vec<(Label, u32)>,
    cuts: Vec<u16>,
    targets: Vec<u32>,
}

impl Splitter {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.others.clear();
    }

    /// Returns the number of letters that were added.
    pub fn n_letters(&self) -> usize {
        self.bytes.len() + self.others.len()
    }

    pub fn add(&mut self, label: Label, target: u32) {
        match label {
            Label::Bytes(low, high) => self.bytes.push((low, high, target)),
            _ => self.others.push((label, target)),
        }
    }

    /// Calls `visit` with each letter (disjoint byte ranges ascending, then other labels in order) and its targets, which may repeat.
    pub fn for_each(&mut self, mut visit: impl FnMut(Label, &[u32])) {
        if let [(low, high, target)] = self.bytes[..] {
            // Three states of four read one range of bytes.
            visit(Label::Bytes(low, high), &[target]);
        } else {
            self.for_each_range(&mut visit);
        }
        self.others.sort_unstable();
        for group in self.others.chunk_by(|a, b| a.0 == b.0) {
            self.targets.clear();
            self.targets.extend(group.iter().map(|&(_, target)| target));
            visit(group[0].0, &self.targets);
        }
    }

    /// Calls `visit` with the disjoint byte ranges.
    fn for_each_range(&mut self, visit: &mut impl FnMut(Label, &[u32])) {
        self.bytes.sort_unstable();
        self.cuts.clear();
        for &(low, high, _) in &self.bytes {
            self.cuts.push(u16::from(low));
            self.cuts.push(u16::from(high) + 1);
        }
        self.cuts.sort_unstable();
        self.cuts.dedup();
        let mut first = 0;
        for pair in self.cuts.windows(2) {
            let (low, high) = (pair[0] as u8, (pair[1] - 1) as u8);
            self.targets.clear();
            // Ranges are sorted by their low end: those before `first` have all ended.
            while first < self.bytes.len() && self.bytes[first].1 < low {
                first += 1;
            }
            for &(from, to, target) in &self.bytes[first..] {
                if from > low {
                    break;
                }
                if to >= high {
                    self.targets.push(target);
                }
            }
            if !self.targets.is_empty() {
                visit(Label::Bytes(low, high), &self.targets);
            }
        }
    }
}

/// Returns the given automaton, trimmed and without epsilon edges, but nondeterministic.
fn without_epsilons(nfa: &Nfa, graph: &Graph, budget: &CompileBudget) -> Result<RuleAutomaton, BuildError> {
    let mut closure = Closure::new(nfa, graph);
    // The start state is a copy, since it must not accept.
    let mut number = vec![u32::MAX; nfa.n_states as usize];
    let mut order = vec![nfa.start];
    let (mut rows, mut accepting) = (Rows::default(), Vec::new());
    let mut row = Vec::new();
    while rows.len() < order.len() {
        let subset = closure.of([order[rows.len()]]);
        accepting.push(!rows.is_empty() && subset.contains(&nfa.accept));
        for &state in &subset {
            for edge in graph.edges(state).iter().filter(|edge| graph.is_live(edge.target)) {
                let target = &mut number[edge.target as usize];
                if *target == u32::MAX {
                    *target = order.len() as u32;
                    order.push(edge.target);
                }
                row.push(Edge { label: edge.label, target: *target });
            }
        }
        row.sort_unstable();
        row.dedup();
        budget.spend(core::mem::take(&mut closure.n_visits) + row.len())?;
        budget.count_edges(row.len())?;
        row.drain(..).for_each(|edge| rows.push(edge));
        rows.end_row();
    }
    Ok(RuleAutomaton::from_parts(rows, accepting, Determinism::TooLarge))
}

#[cfg(test)]
mod tests {
    use super::super::network::NetRuleId;
    use super::*;

    fn nfa(n_states: u32, edges: &[(u32, Label, u32)], epsilons: &[(u32, u32)]) -> Nfa {
        Nfa { n_states, start: 0, accept: 1, edges: edges.to_vec(), epsilons: epsilons.to_vec() }
    }

    fn byte(b: u8) -> Label {
        Label::Bytes(b, b)
    }

    #[test]
    fn overlapping_ranges_are_cut_and_equal_futures_merged() {
        // [a-m] x | [g-z] x  ==  [a-z] x
        let given = nfa(
            4,
            &[
                (0, Label::Bytes(b'a', b'm'), 2),
                (0, Label::Bytes(b'g', b'z'), 3),
                (2, byte(b'x'), 1),
                (3, byte(b'x'), 1),
            ],
            &[],
        );
        let automaton = determinize(&given, &CompileBudget::none()).unwrap();
        assert_eq!(automaton.n_states(), 3);
        assert_eq!(automaton.edges(0), [Edge { label: Label::Bytes(b'a', b'z'), target: 1 }]);
        assert!(automaton.determinism() == Determinism::Minimal && automaton.is_pure_end(2));
    }

    #[test]
    fn the_empty_word_is_dropped_and_dead_states_go() {
        // (a B)* with a dead branch on `z`, where B is a call
        let call = Label::Call(NetRuleId::new(7));
        let given = nfa(4, &[(0, byte(b'a'), 2), (2, call, 0), (0, byte(b'z'), 3)], &[(0, 1)]);
        let automaton = determinize(&given, &CompileBudget::none()).unwrap();
        assert!(!automaton.is_accepting(0));
        assert_eq!(automaton.n_states(), 3, "a start that doesn't accept, the middle, and the accepting loop");
        let end = automaton.edges(automaton.edges(0)[0].target)[0].target;
        assert!(automaton.is_accepting(end) && automaton.edges(end).len() == 1);
    }

    #[test]
    fn a_language_without_a_small_automaton_stays_nondeterministic() {
        // .*a.{14} has 2^15 deterministic states.
        let mut given = nfa(3, &[(0, Label::Bytes(0, 255), 0), (0, byte(b'a'), 2)], &[]);
        let mut last = 2;
        for _ in 0..13 {
            let next = given.state();
            given.edges.push((last, Label::Bytes(0, 255), next));
            last = next;
        }
        given.edges.push((last, Label::Bytes(0, 255), 1));
        let automaton = determinize(&given, &CompileBudget::none()).unwrap();
        assert_eq!(automaton.determinism(), Determinism::TooLarge);
        assert!(automaton.n_states() <= given.n_states as usize + 1);
    }

    #[test]
    fn states_that_go_on_alike_do_not_make_a_language_large() {
        // (0 [0-9]* | 1 [0-9]* | ...)* x: of the ten loops those of any set of digits are live, each of which is a state.
        let digits = Label::Bytes(b'0', b'9');
        let mut given = Nfa::new();
        for digit in b'0'..=b'9' {
            let (first, own_loop) = (given.state(), given.state());
            given.epsilons.extend([(0, first), (own_loop, 0)]);
            given.edges.extend([(first, byte(digit), own_loop), (own_loop, digits, own_loop)]);
        }
        given.edges.push((0, byte(b'x'), 1));
        let automaton = determinize(&given, &CompileBudget::none()).unwrap();
        assert_eq!(automaton.determinism(), Determinism::Minimal);
        let edges = [Edge { label: digits, target: 0 }, Edge { label: byte(b'x'), target: 1 }];
        assert_eq!((automaton.n_states(), automaton.edges(0)), (2, &edges[..]));
    }
}

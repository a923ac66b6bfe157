//! Minimization: merging states with the same future.
//!
//! The simple method (Moore) splits states into classes by acceptance and then, again and again, by the classes of their targets,
//! until nothing changes: a thousand rounds over a thousand states for a literal of that length. Here a state is reconsidered only
//! if the class of one of its targets got a new number, and when a class is split its largest part keeps the number, so
//! that a state changes its number at most log n times (the argument of Hopcroft, 1971). States of a class that are not reconsidered agree
//! with each other, and one of them represents all.
//!
//! Most automata of grammars have no cycles, and need none of this: bottom up, a state is equal to one with the same edges to the same classes
//! (Revuz, 1992). Nor do those with cycles where each leads through a state that differs from all others, such as the first of a list's item: such a state is
//! a class of its own, and without the edges into it there is no cycle. That two states differ is seen by walking from both at once (Hopcroft and Karp, 1971).
//!
//! Cost: O(m log n) visits of edges, for m edges and n states; O(m) where there is nothing to split.

use super::BuildError;
use super::compile_budget::CompileBudget;
use super::network::{Determinism, Edge, Label, Rows, RuleAutomaton};
use core::hash::BuildHasher;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use smallvec::SmallVec;

/// States between two checks of the deadline: some milliseconds.
const STATES_PER_CHECK: usize = 1 << 13;
/// Edges of one state that are worth a check.
const EDGES_PER_CHECK: usize = 1 << 9;

/// Pairs of states that a walk from two states compares at most: it is on its way for as long as both read the same.
const PAIRS_MAX: usize = 1 << 6;

type Row = SmallVec<[(Label, u32); 4]>;

/// Returns the minimal automaton of a deterministic one without dead states, numbered in breadth-first order along sorted labels.
pub(super) fn minimize(rows: &Rows, accepting: &[bool], budget: &CompileBudget) -> Result<RuleAutomaton, BuildError> {
    let (rows, accepting) = merge(rows, accepting, budget)?;
    Ok(RuleAutomaton::from_parts(rows, accepting, Determinism::Minimal))
}

/// Merges states that have the same edges to merged states, of an automaton without dead states whose rows are sorted, and numbers them likewise.
/// Those of a deterministic automaton are all that have the same future; of others those that a bisimulation finds which compares labels as they are
/// written.
pub(super) fn merge(rows: &Rows, accepting: &[bool], budget: &CompileBudget) -> Result<(Rows, Vec<bool>), BuildError> {
    budget.spend(rows.len() + rows.edges().len())?;
    let class = match classes_bottom_up(rows, accepting, budget)? {
        Some(class) => class,
        None => Refinement::new(rows, accepting, budget)?.run(budget)?,
    };
    let n = rows.len();
    // By class: a representative.
    let mut member = vec![0u32; n];
    (0..n).for_each(|state| member[class[state] as usize] = state as u32);
    let mut number = vec![u32::MAX; n];
    let mut order = Vec::with_capacity(n);
    order.push(0u32);
    number[class[0] as usize] = 0;
    let (mut new_rows, mut new_accepting) = (Rows::with_capacity(n), Vec::with_capacity(n));
    while new_rows.len() < order.len() {
        let state = order[new_rows.len()] as usize;
        check_now_and_then(new_rows.len(), rows.row(state).len(), budget)?;
        push_merged(rows.row(state), &class, &mut new_rows);
        for edge in new_rows.open_row() {
            let number = &mut number[edge.target as usize];
            if *number == u32::MAX {
                *number = order.len() as u32;
                order.push(member[edge.target as usize]);
            }
            edge.target = *number;
        }
        new_rows.end_row();
        new_accepting.push(accepting[state]);
    }
    Ok((new_rows, new_accepting))
}

/// States in an order in which each is behind all that it leads to, but for those that close a cycle.
struct BottomUp {
    order: Vec<u32>,
    /// The states that the edges lead to which close cycles, ascending: without those edges there is none.
    heads: Vec<u32>,
}

impl BottomUp {
    fn of(rows: &Rows, budget: &CompileBudget) -> Result<Self, BuildError> {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut marks = vec![NEW; rows.len()];
        let (mut order, mut heads) = (Vec::with_capacity(rows.len()), Vec::new());
        // (state, edges of it that were followed)
        let mut path: Vec<(u32, u32)> = vec![(0, 0)];
        marks[0] = OPEN;
        while let Some(&mut (state, ref mut n_followed)) = path.last_mut() {
            let Some(edge) = rows.row(state as usize).get(*n_followed as usize) else {
                check_now_and_then(order.len(), rows.row(state as usize).len(), budget)?;
                marks[state as usize] = DONE;
                order.push(state);
                path.pop();
                continue;
            };
            *n_followed += 1;
            match marks[edge.target as usize] {
                NEW => {
                    check_now_and_then(path.len(), 0, budget)?;
                    marks[edge.target as usize] = OPEN;
                    path.push((edge.target, 0));
                }
                OPEN => heads.push(edge.target),
                _ => {}
            }
        }
        heads.sort_unstable();
        heads.dedup();
        Ok(BottomUp { order, heads })
    }
}

/// Checks the deadline once in a few thousand states, whose steps are counted already, and at each with very many edges.
fn check_now_and_then(n_states: usize, n_edges: usize, budget: &CompileBudget) -> Result<(), BuildError> {
    match n_states.is_multiple_of(STATES_PER_CHECK) || n_edges > EDGES_PER_CHECK {
        true => budget.check(),
        false => Ok(()),
    }
}

/// Returns by state its class, which is the number of a state of that class; nothing where a cycle may lead through equal states only.
fn classes_bottom_up(rows: &Rows, accepting: &[bool], budget: &CompileBudget) -> Result<Option<Vec<u32>>, BuildError> {
    let BottomUp { order, heads } = BottomUp::of(rows, budget)?;
    let is_head = |state: u32| heads.binary_search(&state).is_ok();
    let mut class = vec![0u32; rows.len()];
    heads.iter().for_each(|&head| class[head as usize] = head);
    // The rows of classes so far, and the classes by row.
    let mut known = Rows::with_capacity(rows.len());
    let mut of_known: Vec<u32> = Vec::with_capacity(rows.len());
    let mut ids: HashTable<u32> = HashTable::with_capacity(rows.len());
    let hasher = DefaultHashBuilder::default();
    let hash = |accepts: bool, row: &[Edge]| hasher.hash_one((accepts, row));
    for (n_done, &state) in order.iter().enumerate() {
        check_now_and_then(n_done, rows.row(state as usize).len(), budget)?;
        let accepts = accepting[state as usize];
        push_merged(rows.row(state as usize), &class, &mut known);
        let row = known.next_row();
        let hash_of_row = hash(accepts, row);
        let is_it = |&id: &u32| accepting[of_known[id as usize] as usize] == accepts && known.row(id as usize) == row;
        match ids.find(hash_of_row, is_it) {
            Some(&id) if !is_head(state) => {
                class[state as usize] = of_known[id as usize];
                known.drop_open_row();
            }
            _ => {
                let id = of_known.len() as u32;
                of_known.push(state);
                known.end_row();
                class[state as usize] = state;
                ids.insert_unique(hash_of_row, id, |&id| {
                    hash(accepting[of_known[id as usize] as usize], known.row(id as usize))
                });
            }
        }
    }
    // If two classes were equal, so would be a head and another: they themselves, or two that they lead to.
    let differ = heads.is_empty() || Classes { rows: &known, states: &of_known, accepting }.differ_from(&heads);
    Ok(differ.then_some(class))
}

/// Classes that may be equal, as an automaton.
struct Classes<'a> {
    rows: &'a Rows,
    /// By class, the state after which edges call it.
    states: &'a [u32],
    accepting: &'a [bool],
}

impl Classes<'_> {
    /// Returns whether each of `heads`, which are states, surely differs from all other classes.
    fn differ_from(&self, heads: &[u32]) -> bool {
        let mut number = vec![u32::MAX; self.accepting.len()];
        (0u32..).zip(self.states).for_each(|(class, &state)| number[state as usize] = class);
        let reads = |class: u32| (self.accepts(class), letters(self.rows.row(class as usize)));
        let mut alike: Vec<_> =
            heads.iter().map(|&head| number[head as usize]).map(|head| (reads(head), head)).collect();
        alike.sort_unstable();
        // Most classes begin with another letter than each head, which is seen without all letters.
        let begins = |class: u32| match self.rows.row(class as usize).first().map(|edge| edge.label) {
            Some(Label::Bytes(low, _)) => Some(Label::Bytes(low, low)),
            other => other,
        };
        let mut beginnings: SmallVec<[_; 4]> = alike.iter().map(|&(_, head)| begins(head)).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        // As many steps as there are edges, so that the walks cost no more than what they save.
        let mut n_steps_left = self.rows.edges().len();
        let mut others =
            (0..self.states.len() as u32).filter(|&class| beginnings.binary_search(&begins(class)).is_ok());
        others.all(|class| {
            let reads = reads(class);
            let first = alike.partition_point(|(others, _)| *others < reads);
            let heads = alike[first..].iter().take_while(|(others, _)| *others == reads).map(|&(_, head)| head);
            heads.filter(|&head| head != class).all(|head| self.surely_differ(head, class, &number, &mut n_steps_left))
        })
    }

    /// Returns whether a walk of at most so many steps shows that two classes differ.
    fn surely_differ(&self, a: u32, b: u32, number: &[u32], n_steps_left: &mut usize) -> bool {
        let mut pairs = vec![(a, b)];
        let mut next = 0;
        while let Some(&(a, b)) = pairs.get(next) {
            next += 1;
            let [row, other] = [a, b].map(|class| self.rows.row(class as usize));
            if pairs.len() > PAIRS_MAX || *n_steps_left < row.len() {
                return false;
            }
            *n_steps_left -= row.len();
            if self.accepts(a) != self.accepts(b) || letters(row) != letters(other) {
                return true;
            }
            let labels = |row: &[Edge]| row.iter().map(|edge| edge.label).collect::<SmallVec<[Label; 4]>>();
            let labels_of_row = labels(row);
            if labels_of_row.windows(2).any(|pair| pair[0] == pair[1]) || labels_of_row != labels(other) {
                // Nothing is known of rows that are cut differently or not deterministic.
                continue;
            }
            for (edge, other) in row.iter().zip(other).filter(|(edge, other)| edge.target != other.target) {
                let pair = (number[edge.target as usize], number[other.target as usize]);
                if !pairs.contains(&pair) {
                    pairs.push(pair);
                }
            }
        }
        false
    }

    fn accepts(&self, class: u32) -> bool {
        self.accepting[self.states[class as usize] as usize]
    }
}

/// Appends a row with targets replaced by their classes; neighbouring ranges with the same class are joined, and of equal edges one stays.
fn push_merged(row: &[Edge], class: &[u32], rows: &mut Rows) {
    for edge in row {
        let target = class[edge.target as usize];
        let last = rows.open_row().last_mut().filter(|last| last.target == target);
        if !last.is_some_and(|last| extend(&mut last.label, edge.label)) {
            rows.push(Edge { label: edge.label, target });
        }
    }
    // The edges of a deterministic automaton are in the order of their labels alone.
    if !rows.open_row().is_sorted_by(|a, b| a < b) {
        rows.sort_open_row();
    }
}

/// As [`push_merged`], on its own.
fn merged(row: &[Edge], class: &[u32]) -> Row {
    let mut merged = Row::new();
    for edge in row {
        let target = class[edge.target as usize];
        let last = merged.last_mut().filter(|last| last.1 == target);
        if !last.is_some_and(|last| extend(&mut last.0, edge.label)) {
            merged.push((edge.label, target));
        }
    }
    if !merged.is_sorted_by(|a, b| a < b) {
        merged.sort_unstable();
        merged.dedup();
    }
    merged
}

/// Returns the letters of a row, whatever their targets; neighbouring ranges are joined.
fn letters(row: &[Edge]) -> SmallVec<[Label; 4]> {
    let mut letters: SmallVec<[Label; 4]> = SmallVec::new();
    for edge in row {
        if !letters.last_mut().is_some_and(|last| *last == edge.label || extend(last, edge.label)) {
            letters.push(edge.label);
        }
    }
    letters
}

/// Extends a range of bytes by one that begins right behind it; returns whether it does.
#[inline]
fn extend(range: &mut Label, next: Label) -> bool {
    match (range, next) {
        (Label::Bytes(_, high), Label::Bytes(low, new_high)) if *high < low && *high + 1 == low => {
            *high = new_high;
            true
        }
        _ => false,
    }
}

struct Refinement<'a> {
    rows: &'a Rows,
    /// The sources of the edges into each state, cut by offsets.
    sources: Vec<u32>,
    offsets: Vec<u32>,
    class: Vec<u32>,
    /// The states by class: those of a class are contiguous, pending ones first.
    order: Vec<u32>,
    position: Vec<u32>,
    blocks: Vec<Block>,
    /// Classes with pending states.
    pending: Vec<u32>,
}

/// A class as a range of `order`.
#[derive(Clone, Copy)]
struct Block {
    first: u32,
    /// Where the states begin that are not pending.
    settled: u32,
    end: u32,
}

impl<'a> Refinement<'a> {
    fn new(rows: &'a Rows, accepting: &[bool], budget: &CompileBudget) -> Result<Self, BuildError> {
        let n = rows.len();
        let mut offsets = vec![0u32; n + 1];
        rows.edges().iter().for_each(|edge| offsets[edge.target as usize + 1] += 1);
        (0..n).for_each(|i| offsets[i + 1] += offsets[i]);
        let mut next = offsets.clone();
        let mut sources = vec![0u32; offsets[n] as usize];
        for state in 0..n {
            for edge in rows.row(state) {
                let at = &mut next[edge.target as usize];
                sources[*at as usize] = state as u32;
                *at += 1;
            }
        }
        budget.check()?;
        // The first partition is by acceptance and by letters; in most automata it leaves few states together.
        let mut ids: HashMap<(bool, SmallVec<[Label; 4]>), u32> = HashMap::with_capacity(n);
        let first_class = |state: usize| {
            let fresh = ids.len() as u32;
            *ids.entry((accepting[state], letters(rows.row(state)))).or_insert(fresh)
        };
        let class: Vec<u32> = (0..n).map(first_class).collect();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&state| class[state as usize]);
        let mut position = vec![0; n];
        order.iter().enumerate().for_each(|(at, &state)| position[state as usize] = at as u32);
        let mut blocks: Vec<Block> = Vec::with_capacity(ids.len());
        for group in order.chunk_by(|&a, &b| class[a as usize] == class[b as usize]) {
            let first = blocks.last().map_or(0, |block| block.end);
            let end = first + group.len() as u32;
            blocks.push(Block { first, settled: end, end });
        }
        let pending = (0..blocks.len() as u32).collect();
        budget.check()?;
        Ok(Refinement { rows, sources, offsets, class, order, position, blocks, pending })
    }

    fn run(mut self, budget: &CompileBudget) -> Result<Vec<u32>, BuildError> {
        while let Some(class) = self.pending.pop() {
            let Block { first, settled, .. } = self.blocks[class as usize];
            let waiting = &self.order[first as usize..settled as usize];
            budget.spend(1 + waiting.iter().map(|&state| 1 + self.rows.row(state as usize).len()).sum::<usize>())?;
            self.split(class);
        }
        Ok(self.class)
    }

    fn split(&mut self, class: u32) {
        let Block { first, settled, end } = self.blocks[class as usize];
        if end - first == 1 {
            self.blocks[class as usize].settled = first;
            return;
        }
        // The first settled state represents all settled ones.
        let n_waiting = settled - first;
        let spokesman = (settled < end).then(|| self.order[settled as usize]);
        if let (1, Some(spokesman)) = (n_waiting, spokesman) {
            // Most splits are of one state, in a long row of states that differ by what follows behind the last.
            let row = |state: u32| merged(self.rows.row(state as usize), &self.class);
            let state = self.order[first as usize];
            if row(state) == row(spokesman) {
                self.blocks[class as usize].settled = first;
                return;
            }
            self.blocks[class as usize] = Block { first: settled, settled, end };
            self.class[state as usize] = self.blocks.len() as u32;
            self.blocks.push(Block { first, settled: first, end: settled });
            self.wake_sources(state);
            return;
        }
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut group_of: HashMap<Row, usize> = HashMap::with_capacity(n_waiting as usize + 1);
        for &state in spokesman.iter().chain(&self.order[first as usize..settled as usize]) {
            let index = *group_of.entry(merged(self.rows.row(state as usize), &self.class)).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[index].push(state);
        }
        // The group of the representative is the first, and contains all settled states.
        let n_settled = (end - settled) as usize;
        let size = |index: usize| groups[index].len() + if index == 0 { n_settled.saturating_sub(1) } else { 0 };
        let largest = (0..groups.len()).max_by_key(|&index| size(index)).expect("a class has states");
        if groups.len() == 1 {
            self.blocks[class as usize].settled = first;
            return;
        }
        // Store the groups one after the other; the settled states stay at the end, after the first group.
        let mut at = first;
        let mut ranges = vec![(0, 0); groups.len()];
        for (index, group) in groups.iter().enumerate().rev() {
            let start = at;
            for &state in group.iter().filter(|&&state| index != 0 || Some(state) != spokesman) {
                self.order[at as usize] = state;
                self.position[state as usize] = at;
                at += 1;
            }
            ranges[index] = (start, if index == 0 { end } else { at });
        }
        let mut renamed: Vec<(u32, u32)> = Vec::new();
        for (index, &(start, stop)) in ranges.iter().enumerate() {
            let number = if index == largest { class } else { self.blocks.len() as u32 };
            let block = Block { first: start, settled: start, end: stop };
            if index == largest {
                self.blocks[class as usize] = block;
            } else {
                self.blocks.push(block);
                renamed.push((start, stop));
                (start..stop).for_each(|at| self.class[self.order[at as usize] as usize] = number);
            }
        }
        for (start, stop) in renamed {
            // `wake` moves states within their blocks, maybe within this one.
            let states: Vec<u32> = self.order[start as usize..stop as usize].to_vec();
            states.into_iter().for_each(|state| self.wake_sources(state));
        }
    }

    /// Makes the states pending that lead to a state.
    fn wake_sources(&mut self, state: u32) {
        for at in self.offsets[state as usize]..self.offsets[state as usize + 1] {
            self.wake(self.sources[at as usize]);
        }
    }

    /// Makes a state pending.
    fn wake(&mut self, state: u32) {
        let class = self.class[state as usize];
        let block = &mut self.blocks[class as usize];
        let at = self.position[state as usize];
        if at < block.settled {
            return;
        }
        if block.settled == block.first {
            self.pending.push(class);
        }
        let border = block.settled;
        block.settled += 1;
        let other = self.order[border as usize];
        self.order.swap(at as usize, border as usize);
        self.position[other as usize] = at;
        self.position[state as usize] = border;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moore's method, as the oracle.
    fn moore(rows: &Rows, accepting: &[bool]) -> usize {
        let mut class: Vec<u32> = accepting.iter().map(|&accepts| u32::from(accepts)).collect();
        let mut n_classes = 0;
        loop {
            let mut ids: HashMap<(u32, Row), u32> = HashMap::new();
            let next = (0..rows.len()).map(|state| {
                let key = (class[state], merged(rows.row(state), &class));
                let fresh = ids.len() as u32;
                *ids.entry(key).or_insert(fresh)
            });
            let next: Vec<u32> = next.collect();
            class = next;
            if ids.len() == n_classes {
                return n_classes;
            }
            n_classes = ids.len();
        }
    }

    #[test]
    fn as_few_states_as_the_simple_method_finds() {
        let mut seed = 1u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let mut n_with_heads_alone = 0;
        for round in 0..6000u64 {
            let n = 1 + next(14);
            let n_alphabets = 1 + 7 * (round % 4 / 2);
            let rows: Vec<Vec<Edge>> = (0..n)
                .map(|state| {
                    // In half of the automata few states have the letters of others.
                    let first = 3 * next(n_alphabets) as u8;
                    let letters = (first..first + 3).filter(|_| next(3) > 0).collect::<Vec<_>>();
                    // Some ranges span two letters.
                    // Every other automaton has no cycles.
                    let edges = letters.iter().map(|&letter| {
                        let target = if round % 2 == 0 { next(n) } else { state + 1 + next(n) };
                        Edge { label: Label::Bytes(letter * 2, letter * 2 + 1), target: target as u32 }
                    });
                    edges.filter(|edge| u64::from(edge.target) < n).collect()
                })
                .collect();
            let mut accepting: Vec<bool> = (0..n).map(|_| next(3) == 0).collect();
            accepting[0] = false;
            // Keep what can be reached: the result is numbered from the start.
            let mut seen = vec![false; n as usize];
            let mut pending = vec![0usize];
            while let Some(state) = pending.pop() {
                if !core::mem::replace(&mut seen[state], true) {
                    pending.extend(rows[state].iter().map(|edge| edge.target as usize));
                }
            }
            let number: Vec<u32> = seen
                .iter()
                .scan(0, |next, &seen| {
                    let number = *next;
                    *next += u32::from(seen);
                    Some(number)
                })
                .collect();
            let states: Vec<usize> = (0..n as usize).filter(|&state| seen[state]).collect();
            let mut kept = Rows::default();
            for &state in &states {
                rows[state].iter().for_each(|e| kept.push(Edge { target: number[e.target as usize], ..*e }));
                kept.end_row();
            }
            let rows = kept;
            let accepting: Vec<bool> = states.iter().map(|&s| accepting[s]).collect();
            let heads = BottomUp::of(&rows, &CompileBudget::none()).unwrap().heads;
            let bottom_up = classes_bottom_up(&rows, &accepting, &CompileBudget::none()).unwrap();
            assert!(bottom_up.is_some() || !heads.is_empty(), "round {round}");
            n_with_heads_alone += usize::from(bottom_up.is_some() && !heads.is_empty());
            let got = minimize(&rows, &accepting, &CompileBudget::none()).unwrap();
            assert_eq!(got.n_states(), moore(&rows, &accepting), "round {round}: {rows:?} {accepting:?}");
        }
        assert!(n_with_heads_alone > 300, "{n_with_heads_alone} automata with cycles were minimized bottom up");
    }
}

//! Systems of equations, from repeats with assertions in their body.
//!
//! The equation of `((?!ab).)*$` is `R = "" | (. R) & ~("ab" anything)`: a variable under an intersection, where Arden's rule doesn't apply. So
//! the languages are determinized first: a state is an expression over nodes and variables, its transitions are Brzozowski derivatives by
//! classes of characters that no node distinguishes, and a variable is replaced by its definition when its first character is needed. States
//! are equal if their nodes are (unions and intersections are sorted and without duplicates), so there are finitely many. The result
//! is a linear system, and Arden's rule eliminates one state after the other, those with the fewest transitions first.
//!
//! Unfolding `R = after | cont(x, R)` may come back to `R` before a character is consumed, if `x` matches the empty string; that contributes
//! nothing to the least solution, so it counts as the empty language. Variables never occur under a complement: lookaheads have no variables.
//!
//! The states are bounded (`loop_states_max`); real patterns need about ten.

use super::arena::{Arena, Continuation, Variable};
use crate::Limits;
use crate::regular::{CharSet, Node, NodeId};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// The deepest nesting of nodes in a system, since derivatives recurse.
const DEPTH_MAX: usize = 1000;

/// Why a system is not solved.
pub(super) enum TooLarge {
    /// It has more states, equations or nodes than the limit on states allows.
    States(usize),
    /// Its nodes are nested too deep for the stack.
    Deep,
    /// Solving it takes too long.
    Steps,
}

/// The equations of a loop and of the loops inside it: the definition of each variable.
#[derive(Default)]
pub(super) struct System {
    equations: HashMap<Variable, NodeId>,
}

impl System {
    pub(super) fn define(&mut self, variable: Variable, value: NodeId) {
        self.equations.insert(variable, value);
    }

    /// Returns nodes without variables that are equal to `starts`; or why there are none.
    pub(super) fn solve(
        self,
        starts: Continuation,
        arena: &mut Arena,
        limits: &Limits,
    ) -> Result<Continuation, TooLarge> {
        let n_states_max = limits.loop_states_max;
        arena.spend(arena.n_nodes());
        if arena.is_spent() {
            return Err(TooLarge::Steps);
        }
        if depth(arena) > DEPTH_MAX {
            return Err(TooLarge::Deep);
        }
        if self.equations.len() > n_states_max {
            return Err(TooLarge::States(n_states_max));
        }
        let n_nodes_max = arena.n_nodes().saturating_add(limits.dfa_states_max);
        let mut solver = Solver { system: self, cells: Vec::new(), derivatives: HashMap::new(), arena };
        solver.cells = solver.cells();
        let mut numbers: HashMap<NodeId, usize> = HashMap::new();
        let mut states: Vec<NodeId> = Vec::new();
        let mut intern = |id: NodeId, states: &mut Vec<NodeId>| {
            *numbers.entry(id).or_insert_with(|| {
                states.push(id);
                states.len() - 1
            })
        };
        let starts = starts.map(|start| intern(start, &mut states));
        let mut rows: Vec<Row> = Vec::new();
        while let Some(&state) = states.get(rows.len()) {
            if solver.arena.is_spent() {
                return Err(TooLarge::Steps);
            }
            if states.len() > n_states_max || solver.arena.n_nodes() > n_nodes_max {
                return Err(TooLarge::States(n_states_max));
            }
            let mut row = Row { moves: BTreeMap::new(), end: solver.arena.nothing() };
            if solver.arena.is_nullable(state) {
                row.end = solver.arena.empty();
            }
            let unfolded = solver.unfold(state, &mut Unfolding::default());
            let mut targets: BTreeMap<usize, Vec<(char, char)>> = BTreeMap::new();
            for cell in 0..solver.cells.len() {
                let next = solver.derive(unfolded, cell);
                if !solver.arena.is_nothing(next) {
                    let target = intern(next, &mut states);
                    targets.entry(target).or_default().extend_from_slice(solver.cells[cell].ranges());
                }
            }
            for (target, ranges) in targets {
                let class = solver.arena.class(&CharSet::from_ranges(ranges));
                row.moves.insert(target, class);
            }
            rows.push(row);
        }
        let solved = eliminate(rows, starts, arena, n_nodes_max);
        solved.ok_or(if arena.is_spent() { TooLarge::Steps } else { TooLarge::States(n_states_max) })
    }
}

/// Returns how deep the nodes of an arena are nested.
fn depth(arena: &Arena) -> usize {
    let mut depths = vec![1_usize; arena.n_nodes()];
    for id in 0..depths.len() {
        arena
            .node(NodeId::new(id))
            .for_each_operand(|operand| depths[id] = depths[id].max(depths[operand.index()] + 1));
    }
    depths.into_iter().max().unwrap_or(0)
}

struct Solver<'a> {
    system: System,
    /// Classes of characters that no node distinguishes.
    cells: Vec<CharSet>,
    derivatives: HashMap<(NodeId, usize), NodeId>,
    arena: &'a mut Arena,
}

impl Solver<'_> {
    /// Divides the characters so that every class of the arena is a union of cells.
    fn cells(&self) -> Vec<CharSet> {
        let mut sets: Vec<&CharSet> = Vec::new();
        for id in (0..self.arena.n_nodes()).map(NodeId::new) {
            if let Node::Class(set) = self.arena.node(id) {
                sets.push(set);
            }
        }
        // The points where membership may change.
        let mut starts: Vec<u32> = vec![0, 0xE000];
        for set in &sets {
            for &(low, high) in set.ranges() {
                starts.extend([u32::from(low), u32::from(high) + 1]);
            }
        }
        starts.retain(|start| char::from_u32(*start).is_some());
        starts.sort_unstable();
        starts.dedup();
        let mut cells: HashMap<Vec<bool>, Vec<(char, char)>> = HashMap::new();
        for (place, &start) in starts.iter().enumerate() {
            let low = char::from_u32(start).expect("surrogates were taken out");
            let next = starts.get(place + 1).copied().unwrap_or(0x11_0000);
            let high = char::from_u32(next - 1).unwrap_or('\u{D7FF}');
            let members = sets.iter().map(|set| set.contains(low)).collect();
            cells.entry(members).or_default().push((low, high));
        }
        let mut cells: Vec<CharSet> = cells.into_values().map(CharSet::from_ranges).collect();
        cells.sort_unstable();
        cells
    }

    /// Replaces variables whose first character is needed by their definitions.
    fn unfold(&mut self, id: NodeId, within: &mut Unfolding) -> NodeId {
        self.arena.spend(1);
        if !self.arena.has_variables(id) || self.arena.is_spent() {
            return id;
        }
        if let Some(variable) = self.arena.as_variable(id) {
            if within.open.contains(&variable) {
                return self.arena.nothing();
            }
            let value = self.system.equations[&variable];
            let outer = core::mem::take(&mut within.unfolded);
            within.open.push(variable);
            let unfolded = self.unfold(value, within);
            within.open.pop();
            within.unfolded = outer;
            return unfolded;
        }
        if let Some(&unfolded) = within.unfolded.get(&id) {
            return unfolded;
        }
        let unfolded = match self.arena.node(id).clone() {
            Node::Union(operands) => {
                let ids: Vec<NodeId> = operands.iter().map(|&operand| self.unfold(operand, within)).collect();
                self.arena.union(ids)
            }
            Node::And(a, b) => {
                let (a, b) = (self.unfold(a, within), self.unfold(b, within));
                self.arena.and(a, b)
            }
            Node::Concat(operands) => {
                // A variable comes last; its first character is needed if the operands before it may match the empty string.
                let (&last, before) = operands.split_last().expect("there are operands");
                if !before.iter().all(|&id| self.arena.is_nullable(id)) || !self.arena.has_variables(last) {
                    return id;
                }
                let any = self.arena.class(&CharSet::all());
                let anything = self.arena.anything();
                let some = self.arena.concat(&[any, anything]);
                let before = self.arena.concat(before);
                let before = self.arena.and(before, some);
                let goes_on = self.arena.concat(&[before, last]);
                let last = self.unfold(last, within);
                self.arena.union([goes_on, last])
            }
            _ => id,
        };
        within.unfolded.insert(id, unfolded);
        unfolded
    }

    /// Returns what may follow a character of a cell.
    fn derive(&mut self, id: NodeId, cell: usize) -> NodeId {
        if let Some(&cached) = self.derivatives.get(&(id, cell)) {
            return cached;
        }
        self.arena.spend(1);
        if self.arena.is_spent() {
            return id;
        }
        let derived = match self.arena.node(id).clone() {
            Node::Empty | Node::Bytes(_) => self.arena.nothing(),
            Node::Class(set) => {
                let (low, _) = self.cells[cell].ranges()[0];
                if set.contains(low) { self.arena.empty() } else { self.arena.nothing() }
            }
            Node::Concat(operands) => {
                let mut choices = Vec::new();
                for (place, &operand) in operands.iter().enumerate() {
                    let first = self.derive(operand, cell);
                    let continuation = self.arena.concat(&operands[place + 1..]);
                    choices.push(self.arena.concat(&[first, continuation]));
                    if !self.arena.is_nullable(operand) {
                        break;
                    }
                }
                self.arena.union(choices)
            }
            Node::Union(operands) => {
                let ids: Vec<NodeId> = operands.iter().map(|&operand| self.derive(operand, cell)).collect();
                self.arena.union(ids)
            }
            Node::Repeat { body, min, max } => {
                let first = self.derive(body, cell);
                let continuation = self.arena.repeat(body, min.saturating_sub(1), max.map(|max| max - 1));
                self.arena.concat(&[first, continuation])
            }
            Node::And(a, b) => {
                let (a, b) = (self.derive(a, cell), self.derive(b, cell));
                self.arena.and(a, b)
            }
            Node::Substring(_) => unreachable!("patterns have no lists of chunks"),
            Node::Not(a) => {
                let a = self.derive(a, cell);
                self.arena.not(a)
            }
        };
        self.derivatives.insert((id, cell), derived);
        derived
    }
}

/// Variables that are being replaced by their definitions, and what became of nodes meanwhile.
#[derive(Default)]
struct Unfolding {
    open: Vec<Variable>,
    /// By node, as long as the same variables are open: nodes share operands, and would be looked at exponentially often.
    unfolded: HashMap<NodeId, NodeId>,
}

/// A linear equation: a state is the union of its transitions and of a constant.
struct Row {
    moves: BTreeMap<usize, NodeId>,
    end: NodeId,
}

/// Eliminates all states by Arden's rule; `None` if that takes too many nodes.
fn eliminate(mut rows: Vec<Row>, starts: [usize; 3], arena: &mut Arena, n_nodes_max: usize) -> Option<Continuation> {
    // Start states stay until the end, as rows without incoming transitions.
    let n_states = rows.len();
    for &start in &starts {
        let moves = rows[start].moves.clone();
        let end = rows[start].end;
        rows.push(Row { moves, end });
    }
    let mut left: Vec<usize> = (0..n_states).collect();
    while !left.is_empty() {
        let cost = |&state: &usize| {
            let n_into = rows.iter().filter(|row| row.moves.contains_key(&state)).count();
            (n_into * (rows[state].moves.len() + 1), state)
        };
        let chosen = left.iter().copied().min_by_key(|state| cost(state)).expect("some are left");
        left.retain(|&state| state != chosen);
        let mut row = core::mem::replace(&mut rows[chosen], Row { moves: BTreeMap::new(), end: arena.nothing() });
        if let Some(again) = row.moves.remove(&chosen) {
            let again = arena.repeat(again, 0, None);
            for label in row.moves.values_mut() {
                *label = arena.concat(&[again, *label]);
            }
            row.end = arena.concat(&[again, row.end]);
        }
        for other in &mut rows {
            let Some(into) = other.moves.remove(&chosen) else { continue };
            for (&target, &label) in &row.moves {
                let label = arena.concat(&[into, label]);
                let existing = other.moves.get(&target).copied();
                other.moves.insert(target, arena.union(existing.into_iter().chain([label])));
            }
            let end = arena.concat(&[into, row.end]);
            other.end = arena.union([other.end, end]);
        }
        if arena.n_nodes() > n_nodes_max || arena.is_spent() {
            return None;
        }
    }
    Some(core::array::from_fn(|start| rows[n_states + start].end))
}

//! Nondeterministic automata over byte ranges, written out from an expression.
//!
//! The classical construction (Thompson, *Regular expression search algorithm*, 1968), backwards: `write(node, exit)` makes the states that match `node` and then go on at `exit`,
//! and returns where they begin. The exit is known before the entry, so nothing is patched but the entry of a loop. The
//! calls live on a list of tasks instead of the stack; their results, the entries, are a second list.

use super::error::{RegularError, Work};
use super::utf8::{ClassAutomaton, EXIT, Edge};
use super::{Dfa, Node, NodeId, Regular};
use hashbrown::HashMap;

/// A state: moves on bytes, moves on nothing, or the only final state.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Moves on bytes: this range of `Nfa::edges`, ascending and disjoint.
    Bytes(u32, u32),
    /// Moves on nothing: this range of `Nfa::jumps`.
    Jumps(u32, u32),
    /// The end of a match.
    Final,
}

/// An automaton with one entry and one final state.
#[derive(Debug)]
pub(super) struct Nfa {
    pub(super) states: Vec<State>,
    pub(super) edges: Vec<Edge>,
    pub(super) jumps: Vec<u32>,
    pub(super) entry: u32,
    /// Where any text follows up to the end of the match, if that is written somewhere.
    pub(super) anything: Option<u32>,
}

/// What writing needs to know about the nodes of an expression.
pub(super) struct Parts<'a> {
    pub(super) regular: &'a Regular,
    /// The automata of the classes, and which class has which.
    pub(super) classes: Vec<ClassAutomaton>,
    /// By node: an index into `classes`, meaningless for other nodes.
    pub(super) class_of: Vec<u32>,
    /// By node: the number of states that it needs at most.
    pub(super) n_states: Vec<u64>,
    /// By node: the number of nodes visited while it is written out.
    pub(super) n_steps: Vec<u64>,
    /// The automata of intersections and complements.
    pub(super) dfas: HashMap<NodeId, Dfa>,
    /// Whether every node matches whole characters only.
    pub(super) is_text: bool,
}

impl Parts<'_> {
    /// Tells whether a node is any number of any characters.
    fn is_anything(&self, id: NodeId) -> bool {
        let Node::Repeat { body, min: 0, max: None } = *self.regular.node(id) else { return false };
        matches!(self.regular.node(body), Node::Class(set) if set.is_all())
    }
}

/// The final state of an automaton that is written out.
pub(super) const FINAL: u32 = 0;

/// Tasks between two questions whether to go on.
const TASKS_PER_LOOK: usize = 1 << 10;

enum Task {
    /// Write a node in front of an exit.
    Node(NodeId, u32),
    /// The operands of a concatenation from this one on are written: write those before.
    Concat(NodeId, usize),
    /// That many alternatives are written: join them.
    Union(usize),
    /// The body in front of a loop's entry is written: close the loop.
    Loop { body: NodeId, entry: u32, exit: u32, min: u32 },
    /// An optional copy is written: make it optional, and write that many more.
    Optional { body: NodeId, left: u32, exit: u32, min: u32 },
    /// Write that many copies more.
    Copies(NodeId, u32),
}

/// Writes out `root`. Its size was checked before.
///
/// # Errors
/// If it is time to stop.
pub(super) fn write(parts: &Parts<'_>, root: NodeId, work: &mut Work<'_>) -> Result<Nfa, RegularError> {
    let n_states = parts.n_states[root.index()] as usize + 1;
    let mut nfa = Nfa::new();
    nfa.states.reserve(n_states);
    nfa.edges.reserve(n_states);
    let mut tasks = vec![Task::Node(root, FINAL)];
    let mut entries: Vec<u32> = Vec::new();
    let mut n_tasks = 0;
    while let Some(task) = tasks.pop() {
        n_tasks += 1;
        if n_tasks % TASKS_PER_LOOK == 0 {
            work.spend(TASKS_PER_LOOK)?;
        }
        match task {
            // Without states it matches the empty text alone; not looking inside matters when nodes are shared.
            Task::Node(id, exit) if parts.n_states[id.index()] == 0 => entries.push(exit),
            Task::Node(id, exit) => match parts.regular.node(id) {
                Node::Empty => entries.push(exit),
                Node::Bytes(bytes) => entries.push(nfa.text(bytes, exit)),
                Node::Class(_) => {
                    let entry = nfa.class(&parts.classes[parts.class_of[id.index()] as usize], exit);
                    entries.push(entry);
                }
                Node::Concat(operands) => {
                    // The last operand comes first: what follows it is the exit.
                    entries.push(exit);
                    tasks.push(Task::Concat(id, operands.len()));
                }
                Node::Union(operands) => {
                    tasks.push(Task::Union(operands.len()));
                    tasks.extend(operands.iter().rev().map(|&operand| Task::Node(operand, exit)));
                }
                // Any text up to the end is the same wherever it is written.
                Node::Repeat { .. } if exit == FINAL && parts.is_text && parts.is_anything(id) => {
                    if let Some(entry) = nfa.anything {
                        entries.push(entry);
                        continue;
                    }
                    let &Node::Repeat { body, .. } = parts.regular.node(id) else { unreachable!("it is a repeat") };
                    let entry = nfa.jumps([]);
                    nfa.anything = Some(entry);
                    tasks.push(Task::Loop { body, entry, exit, min: 0 });
                    tasks.push(Task::Node(body, entry));
                }
                &Node::Repeat { body, min, max } => match repeat_bounds(min, max, parts.n_states[body.index()]) {
                    (min, None) => {
                        let entry = nfa.jumps([]);
                        tasks.push(Task::Loop { body, entry, exit, min });
                        tasks.push(Task::Node(body, entry));
                    }
                    (min, Some(max)) if max > min => {
                        tasks.push(Task::Optional { body, left: max - min - 1, exit, min });
                        tasks.push(Task::Node(body, exit));
                    }
                    (min, Some(_)) => {
                        entries.push(exit);
                        tasks.push(Task::Copies(body, min));
                    }
                },
                Node::And(..) | Node::Not(_) | Node::Substring(_) => {
                    let entry = nfa.dfa(&parts.dfas[&id], exit);
                    entries.push(entry);
                }
            },
            Task::Concat(id, written) => {
                if written > 0
                    && let Node::Concat(operands) = parts.regular.node(id)
                {
                    let exit = entries.pop().expect("an entry per task");
                    tasks.push(Task::Concat(id, written - 1));
                    tasks.push(Task::Node(operands[written - 1], exit));
                }
            }
            Task::Union(n) => {
                if n != 1 {
                    let alternatives = entries.split_off(entries.len() - n);
                    entries.push(nfa.union(alternatives));
                }
            }
            Task::Loop { body, entry, exit, min } => {
                let start = *entries.last().expect("an entry per task");
                nfa.states[entry as usize] = nfa.jump_list([start, exit]);
                if min == 0 {
                    entries.pop();
                    entries.push(entry);
                } else {
                    tasks.push(Task::Copies(body, min - 1));
                }
            }
            Task::Optional { body, left, exit, min } => {
                let start = entries.pop().expect("an entry per task");
                let entry = nfa.jumps([start, exit]);
                if left > 0 {
                    tasks.push(Task::Optional { body, left: left - 1, exit, min });
                    tasks.push(Task::Node(body, entry));
                } else {
                    entries.push(entry);
                    tasks.push(Task::Copies(body, min));
                }
            }
            Task::Copies(body, left) => {
                if left > 0 {
                    let exit = entries.pop().expect("an entry per task");
                    tasks.push(Task::Copies(body, left - 1));
                    tasks.push(Task::Node(body, exit));
                }
            }
        }
    }
    nfa.entry = entries.pop().expect("the entry of the root");
    Ok(nfa)
}

/// Returns how often a body is written out: as often as said, but at most once when it has no states at all, since then
/// it matches nothing but the empty text.
pub(super) fn repeat_bounds(min: u32, max: Option<u32>, n_states_body: u64) -> (u32, Option<u32>) {
    if n_states_body == 0 { (min.min(1), Some(max.map_or(1, |max| max.min(1)))) } else { (min, max) }
}

impl Nfa {
    /// Returns an automaton with the final state alone.
    pub(super) fn new() -> Self {
        Nfa { states: vec![State::Final], edges: Vec::new(), jumps: Vec::new(), entry: FINAL, anything: None }
    }

    fn push(&mut self, state: State) -> u32 {
        self.states.push(state);
        self.states.len() as u32 - 1
    }

    /// Makes the states that match some bytes and then go on at `exit`; returns the first.
    pub(super) fn text(&mut self, bytes: &[u8], exit: u32) -> u32 {
        bytes.iter().rev().fold(exit, |exit, &byte| self.bytes([(byte, byte, exit)]))
    }

    fn bytes(&mut self, edges: impl IntoIterator<Item = Edge>) -> u32 {
        let start = self.edges.len() as u32;
        self.edges.extend(edges);
        self.push(State::Bytes(start, self.edges.len() as u32))
    }

    fn jumps(&mut self, targets: impl IntoIterator<Item = u32>) -> u32 {
        let state = self.jump_list(targets);
        self.push(state)
    }

    fn jump_list(&mut self, targets: impl IntoIterator<Item = u32>) -> State {
        let start = self.jumps.len() as u32;
        self.jumps.extend(targets);
        State::Jumps(start, self.jumps.len() as u32)
    }

    /// Returns a state that goes on like any of some. Those that begin with the same byte share that move, and so do those behind it, so that
    /// `jan|jun|jul` is a tree: else each set of places that begins there would have one for each alternative.
    pub(super) fn union(&mut self, alternatives: Vec<u32>) -> u32 {
        // What is written for sharing is no more than what there was.
        let n_states_max = 2 * self.states.len();
        let root = self.jumps([]);
        // States that are still to go on like some others.
        let mut pending = vec![(root, alternatives)];
        let mut first_bytes: Vec<(Edge, u32)> = Vec::new();
        while let Some((state, mut alternatives)) = pending.pop() {
            alternatives.sort_unstable();
            alternatives.dedup();
            first_bytes.clear();
            if self.states.len() < n_states_max {
                let single = |&alternative: &u32| match self.states[alternative as usize] {
                    State::Bytes(start, end) if end == start + 1 => Some((self.edges[start as usize], alternative)),
                    _ => None,
                };
                first_bytes.extend(alternatives.iter().filter_map(single));
                first_bytes.sort_unstable();
            }
            let is_tree = |(a, b): (&(Edge, u32), &(Edge, u32))| (a.0.0, a.0.1) == (b.0.0, b.0.1) || a.0.1 < b.0.0;
            if first_bytes.len() < 2 || !first_bytes.iter().zip(&first_bytes[1..]).all(is_tree) {
                self.states[state as usize] = self.jump_list(alternatives);
                continue;
            }
            let mut joined: Vec<u32> = first_bytes.iter().map(|&(_, alternative)| alternative).collect();
            joined.sort_unstable();
            alternatives.retain(|alternative| joined.binary_search(alternative).is_err());
            let groups = first_bytes.chunk_by(|a, b| a.0.0 == b.0.0);
            let moves: Vec<Edge> = groups
                .map(|group| match group {
                    [(edge, _)] => *edge,
                    [((low, high, _), _), ..] => {
                        let target = self.push(State::Jumps(0, 0));
                        pending.push((target, group.iter().map(|(edge, _)| edge.2).collect()));
                        (*low, *high, target)
                    }
                    [] => unreachable!("groups have members"),
                })
                .collect();
            alternatives.push(self.bytes(moves));
            self.states[state as usize] = self.jump_list(alternatives);
        }
        root
    }

    fn class(&mut self, class: &ClassAutomaton, exit: u32) -> u32 {
        let base = self.states.len() as u32;
        for state in 0..class.n_states() {
            let edges = class.edges(state).iter();
            self.bytes(edges.map(|&(low, high, to)| (low, high, if to == EXIT { exit } else { base + to })));
        }
        self.states.len() as u32 - 1
    }

    /// Copies an automaton: first the states with their edges, then, for accepting ones, a way out beside them.
    fn dfa(&mut self, dfa: &Dfa, exit: u32) -> u32 {
        let Some(start) = dfa.start() else { return self.jumps([]) };
        let base = self.states.len() as u32;
        let mut n_accepting = 0;
        let entries: Vec<u32> = (0..dfa.n_states() as u32)
            .map(|state| {
                if dfa.is_accepting(state) {
                    n_accepting += 1;
                    base + dfa.n_states() as u32 + n_accepting - 1
                } else {
                    base + state
                }
            })
            .collect();
        for state in 0..dfa.n_states() as u32 {
            self.bytes(dfa.edges(state).map(|(low, high, to)| (low, high, entries[to as usize])));
        }
        for state in (0..dfa.n_states() as u32).filter(|&state| dfa.is_accepting(state)) {
            self.jumps([base + state, exit]);
        }
        entries[start as usize]
    }
}

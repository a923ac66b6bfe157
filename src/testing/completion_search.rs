//! A search for a completion of a prefix: proof that it is viable, or that it is a dead end.
//!
//! Random descents find no string that contains `wifi` where an unanchored pattern asks for it, and not the next multiple of 11.
//! [`CompletionSearch`] is an A* search over configurations, byte by byte. The cost of a configuration is the bytes read plus a lower
//! bound on the bytes to come, which ignores counters and distinctness. One byte is tried of each set that no live state tells apart, and
//! configurations are compared by content, not by the numbers of their stack nodes. A search ends with a completion, with the proof that
//! there is none (a dead end, which is a bug), or out of steps.
//!
//! The prefix of a value that must be distinct is part of the content, which makes every key another configuration. Where the domain
//! can't be exhausted, the first search keeps only the suffixes of earlier values that the prefix may still run into; if it finds a dead
//! end, the search is repeated with the exact content.

use crate::automaton::{CounterId, DONE, Kind, Linked, LocalState, Owner, Program, StateId, Step};
use crate::compiled::CompiledGrammar;
use crate::exec::{BOTTOM, Configuration, DistinctValues, Head, StackNodeId, Stacks, StacksMark, is_done, step_byte};
use crate::machine::DeclaredKeys;
use crate::matcher::Matcher;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Completion {
    /// Bytes that complete the text.
    Found(Vec<u8>),
    /// The proof that no bytes do.
    DeadEnd,
    /// Nothing yet, within the steps.
    OutOfSteps,
}

/// Searches for completions of the prefixes of one grammar.
pub struct CompletionSearch {
    grammar: CompiledGrammar,
    /// By state: a lower bound on the bytes from there to an end of its unit.
    distances: Vec<u32>,
    /// By unit and counter: a lower bound on the bytes of a copy of its body.
    bodies: HashMap<(u32, CounterId), u32>,
}

/// Greater than any distance.
const FAR: u32 = u32::MAX / 4;

/// The weights of the lower bound, tried in turn: with 1 the first completion found is a shortest one, with more it is found sooner.
const WEIGHTS: [u64; 2] = [1, 6];

impl CompletionSearch {
    /// Returns the search for a grammar.
    pub fn new(grammar: &CompiledGrammar) -> CompletionSearch {
        let program = grammar.program();
        let (distances, bodies) = distances(program);
        CompletionSearch { grammar: grammar.clone(), distances, bodies }
    }

    /// Searches for bytes that complete the text of a matcher.
    pub fn search(&self, matcher: &Matcher, n_steps_max: usize) -> Completion {
        let (stacks, live) = matcher.place();
        for weight in WEIGHTS {
            let share = if weight == 1 { n_steps_max / 4 } else { n_steps_max };
            for is_exact in [false, true] {
                match Search::new(self, stacks, is_exact, weight).run(stacks, live, share) {
                    Completion::DeadEnd if !is_exact && stacks.values().is_some() => {}
                    Completion::OutOfSteps => break,
                    end => return end,
                }
            }
        }
        Completion::OutOfSteps
    }

    fn program(&self) -> &Program {
        self.grammar.program()
    }

    /// Returns a lower bound on the bytes from a head to its return.
    fn distance(&self, head: Head) -> u32 {
        let (program, distance) = (self.program(), self.distances[head.state.index()]);
        let Some((linked, local)) = program.place(head.state) else { return 0 };
        (distance + copies(linked, local, head.register, &self.bodies)).min(FAR)
    }
}

/// Returns the least distance from a state by node of one byte.
fn moved(linked: &Linked, state: LocalState, distances: &[u32], fresh: &[u32]) -> u32 {
    let content = &linked.unit.content;
    let codes = content.table.moves(state).map(|(_, code)| code);
    let behind = |step: Step| match step {
        Step::None => FAR,
        Step::Plain(target) | Step::Local(target) => distances[linked.own(target).index()],
        Step::List(list) => {
            let sums = linked.unit.list(list).iter().map(|one| {
                // The first continues with the register of the source state.
                let mut places = one.pushes.iter().chain([&one.target]).map(|&place| linked.state(place).index());
                let first = places.next().map_or(0, |state| distances[state]);
                places.fold(first, |sum, state| (sum + fresh[state]).min(FAR))
            });
            sums.min().unwrap_or(FAR)
        }
    };
    (codes.map(|code| behind(code.step())).min().unwrap_or(FAR) + 1).min(FAR)
}

/// Returns the distances of all states, the least solution, from above; and those of the bodies of counters.
fn distances(program: &Program) -> (Vec<u32>, HashMap<(u32, CounterId), u32>) {
    /// For a program that needs more, distances are upper bounds and completions not the shortest.
    const N_SWEEPS_MAX: usize = 200;
    let mut distances = vec![FAR; program.n_states()];
    distances[DONE.index()] = 0;
    // By state: the distance with a register of 0.
    let mut fresh = distances.clone();
    let mut bodies = HashMap::new();
    for linked in children_first(program) {
        // States mostly have greater numbers than their predecessors.
        for _ in 0..N_SWEEPS_MAX {
            let mut is_changed = false;
            for state in linked.unit.states().rev() {
                let (at, info) = (linked.own(state).index(), linked.unit.info(state));
                let least = match info.kind {
                    Kind::End | Kind::Loop { .. } => 0,
                    Kind::BodyEnd { loop_state, .. } => distances[linked.own(loop_state).index()],
                    Kind::RegisterRule { register_rule } if linked.unit.register_rule(register_rule).can_ever_end() => {
                        0
                    }
                    Kind::Inner | Kind::RegisterRule { .. } | Kind::DistinctValue(_) => FAR,
                };
                let least = least.min(moved(linked, state, &distances, &fresh));
                is_changed |= least < distances[at];
                distances[at] = least.min(distances[at]);
                fresh[at] = distances[at];
            }
            if !is_changed {
                break;
            }
        }
        let infos = || linked.unit.states().map(|state| (linked.unit.info(state), state));
        for (info, state) in infos() {
            if let Kind::Loop { counter } = info.kind {
                bodies.insert((linked.unit.uid, counter), moved(linked, state, &distances, &fresh));
            }
        }
        for (info, state) in infos() {
            if let Some(Owner::Counter(_) | Owner::RegisterRules(_)) = info.owner {
                let at = linked.own(state).index();
                fresh[at] = (distances[at] + copies(linked, state, 0, &bodies)).min(FAR);
            }
        }
    }
    (distances, bodies)
}

/// Returns a lower bound on the bytes that the register still requires: copies of a body after the current one, or characters.
fn copies(linked: &Linked, state: LocalState, register: u64, bodies: &HashMap<(u32, CounterId), u32>) -> u32 {
    let info = linked.unit.info(state);
    if let Kind::RegisterRule { register_rule } = info.kind {
        let n_missing = linked.unit.register_rule(register_rule).n_missing(register);
        return n_missing.min(u64::from(FAR)) as u32;
    }
    let Some(Owner::Counter(counter)) = info.owner else { return 0 };
    let n_missing = linked.unit.counter(counter).n_missing(register);
    let n_whole = if matches!(info.kind, Kind::Loop { .. }) { n_missing } else { n_missing.saturating_sub(1) };
    let body = bodies.get(&(linked.unit.uid, counter)).copied().unwrap_or(1);
    n_whole.saturating_mul(body).min(FAR)
}

/// Returns the units of a program, callees before callers.
fn children_first(program: &Program) -> Vec<&Linked> {
    let by_uid: HashMap<u32, &Linked> = program.units().iter().map(|linked| (linked.unit.uid, linked)).collect();
    let (mut open, mut seen, mut order) = (Vec::new(), HashSet::new(), Vec::new());
    open.extend(program.units().first().map(|root| (root.unit.uid, 0)));
    while let Some((uid, n_done)) = open.pop() {
        let linked = by_uid[&uid];
        match linked.unit.content.children.get(n_done) {
            Some(child) => {
                open.push((uid, n_done + 1));
                if seen.insert(child.uid) {
                    open.push((child.uid, 0));
                }
            }
            None => order.push(linked),
        }
    }
    order
}

/// The content of a configuration or a stack node: state, content of the node below, content of the register.
type Content = Box<[(StateId, u32, u64)]>;

/// The configurations seen so far, by content.
struct SeenConfigurations<'a> {
    tables: &'a CompletionSearch,
    is_exact: bool,
    /// The ids of nodes by content.
    nodes: HashMap<Content, u32>,
    /// By id of a node: a lower bound on the bytes below it.
    below: Vec<u32>,
    /// Sets of distinct values, with the prefix of the next one, by content.
    registers: HashMap<Vec<Vec<u8>>, u64>,
    /// The ids of nodes from before the search, which all its stacks share. None where values must be distinct: content changes then.
    old: HashMap<StackNodeId, u32>,
    /// The mark from before the search; of empty stacks likewise.
    before: StacksMark,
    configurations: HashSet<Content>,
}

impl SeenConfigurations<'_> {
    /// Returns the id of a register's content; `is_exit` says whether the head is returned to.
    fn register(&mut self, stacks: &Stacks, head: Head, is_exit: bool) -> u64 {
        let Some(info) = self.tables.program().info(head.state) else { return 0 };
        let (Some(values), Some(Owner::DistinctValues(distinct))) = (stacks.values(), info.owner) else {
            return head.register;
        };
        let equality = distinct.equality;
        let canonical = |value| equality.canonical(&values.bytes(value).collect::<Vec<u8>>());
        let mut key: Vec<Vec<u8>> = values.in_set(head.register).map(canonical).collect();
        key.sort_unstable();
        if is_exit && let Kind::DistinctValue(next) = info.kind {
            key.push(b"next".to_vec());
            if self.is_exact || distinct.has_finite_domain() {
                key.push(values.begun_key(head.register).to_vec());
            } else {
                let n_before = key.len();
                key.extend(values.suffixes(head.register).map(|suffix| values.bytes(suffix).collect()));
                let declared_keys =
                    self.tables.program().place(head.state).and_then(|(at, _)| at.unit.declared_keys(next));
                for_each_declared_suffix(values, head.register, declared_keys, |suffix| key.push(suffix.to_vec()));
                key[n_before..].sort_unstable();
            }
        }
        let n_known = self.registers.len() as u64;
        *self.registers.entry(key).or_insert(n_known)
    }

    /// Returns the id of a node's content.
    fn node(&mut self, stacks: &Stacks, node: StackNodeId, new: &mut HashMap<StackNodeId, u32>) -> u32 {
        let mut open = vec![node];
        while let Some(&node) = open.last() {
            if self.old.contains_key(&node) || new.contains_key(&node) {
                open.pop();
                continue;
            }
            let n_open = open.len();
            let exits: Vec<Head> = if node == BOTTOM { Vec::new() } else { stacks.exits(node).collect() };
            open.extend(
                exits.iter().map(|exit| exit.node).filter(|id| !self.old.contains_key(id) && !new.contains_key(id)),
            );
            if open.len() > n_open {
                continue;
            }
            open.pop();
            let number =
                |this: &Self, id: StackNodeId| this.old.get(&id).or_else(|| new.get(&id)).copied().expect("below");
            let mut below = if exits.is_empty() { 0 } else { FAR };
            let mut content = Vec::with_capacity(exits.len());
            for exit in exits {
                let number = number(self, exit.node);
                below = below.min((self.tables.distance(exit) + self.below[number as usize]).min(FAR));
                content.push((exit.state, number, self.register(stacks, exit, true)));
            }
            content.sort_unstable();
            let n_known = self.below.len() as u32;
            let id = *self.nodes.entry(content.into()).or_insert(n_known);
            if id == n_known {
                self.below.push(below);
            }
            if self.before.has(node) { &mut self.old } else { &mut *new }.insert(node, id);
        }
        self.old.get(&node).or_else(|| new.get(&node)).copied().expect("it was just numbered")
    }

    /// Adds a configuration; returns a lower bound on the bytes that complete it, or `None` if it was seen.
    fn add(&mut self, stacks: &Stacks, live: &[Head]) -> Option<u32> {
        let mut new = HashMap::new();
        let mut needed = FAR;
        let mut content = Vec::with_capacity(live.len());
        for &head in live {
            let node = self.node(stacks, head.node, &mut new);
            needed = needed.min((self.tables.distance(head) + self.below[node as usize]).min(FAR));
            content.push((head.state, node, self.register(stacks, head, false)));
        }
        content.sort_unstable();
        self.configurations.insert(content.into()).then_some(needed)
    }
}

/// A node of the search tree.
struct SearchNode {
    parent: u32,
    byte: u8,
    n_bytes: u32,
    /// Taken when the node is expanded.
    place: Option<(Stacks, Configuration)>,
}

struct Search<'a> {
    seen: SeenConfigurations<'a>,
    weight: u64,
    tree: Vec<SearchNode>,
    /// The frontier, by cost; of equal costs the longest text first.
    frontier: BinaryHeap<(Reverse<u64>, u32, Reverse<u32>)>,
}

impl<'a> Search<'a> {
    fn new(tables: &'a CompletionSearch, stacks: &Stacks, is_exact: bool, weight: u64) -> Self {
        let seen = SeenConfigurations {
            tables,
            is_exact,
            nodes: HashMap::new(),
            below: Vec::new(),
            registers: HashMap::new(),
            old: HashMap::new(),
            before: if stacks.values().is_some() { StacksMark::default() } else { stacks.mark() },
            configurations: HashSet::new(),
        };
        Search { seen, weight, tree: Vec::new(), frontier: BinaryHeap::new() }
    }

    fn run(mut self, stacks: &Stacks, live: &[Head], n_steps_max: usize) -> Completion {
        let program = self.seen.tables.program();
        self.add(SearchNode { parent: 0, byte: 0, n_bytes: 0, place: Some((stacks.clone(), live.to_vec())) });
        let mut n_steps = 0;
        while let Some((_, n_bytes, Reverse(at))) = self.frontier.pop() {
            let (stacks, live) = self.tree[at as usize].place.take().expect("each node is expanded once");
            if is_done(&live) {
                return Completion::Found(self.bytes(at));
            }
            for byte in byte_classes(program, &stacks, &live, self.seen.is_exact) {
                let (mut stacks, mut next) = (stacks.clone(), Configuration::new());
                n_steps += 1;
                step_byte(program, &mut stacks, &live, byte, &mut next);
                if !next.is_empty() {
                    self.add(SearchNode { parent: at, byte, n_bytes: n_bytes + 1, place: Some((stacks, next)) });
                }
            }
            if n_steps > n_steps_max {
                return Completion::OutOfSteps;
            }
        }
        Completion::DeadEnd
    }

    fn add(&mut self, node: SearchNode) {
        let (stacks, live) = node.place.as_ref().expect("it was not expanded");
        if let Some(needed) = self.seen.add(stacks, live) {
            let cost = u64::from(node.n_bytes) + self.weight * u64::from(needed);
            self.frontier.push((Reverse(cost), node.n_bytes, Reverse(self.tree.len() as u32)));
            self.tree.push(node);
        }
    }

    fn bytes(&self, mut at: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        while at != 0 {
            bytes.push(self.tree[at as usize].byte);
            at = self.tree[at as usize].parent;
        }
        bytes.reverse();
        bytes
    }
}

/// Calls `visit` with the suffix of each declared key of which the current key is a prefix.
fn for_each_declared_suffix(
    values: &DistinctValues,
    register: u64,
    declared_keys: Option<&DeclaredKeys>,
    mut visit: impl FnMut(&[u8]),
) {
    let Some(declared_keys) = declared_keys else { return };
    let n_begun = values.n_begun(register) as usize;
    values.declared_with_prefix(register, declared_keys).for_each(|index| visit(&declared_keys.get(index)[n_begun..]));
}

/// Returns one byte of each class that leads to the same place. Where values must be distinct, each byte by which an earlier value
/// continues is a class of its own, or, if `is_exact`, each byte.
fn byte_classes(program: &Program, stacks: &Stacks, live: &[Head], is_exact: bool) -> Vec<u8> {
    let mut special = [is_exact && stacks.values().is_some(); 256];
    if let Some(values) = stacks.values() {
        for head in live {
            for exit in stacks.exits(head.node) {
                let Some((linked, local)) = program.place(exit.state) else { continue };
                if let Kind::DistinctValue(distinct) = linked.unit.info(local).kind {
                    let mut is_next = |byte: u8| special[usize::from(byte)] = true;
                    let suffixes = values.suffixes(exit.register);
                    suffixes.filter_map(|suffix| values.first_of(suffix)).for_each(&mut is_next);
                    let declared_keys = linked.unit.declared_keys(distinct);
                    for_each_declared_suffix(values, exit.register, declared_keys, |suffix| {
                        suffix.first().copied().into_iter().for_each(&mut is_next);
                    });
                }
            }
        }
    }
    // Letters and digits first, so that completions are readable.
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.sort_by_key(|byte| (!byte.is_ascii_lowercase(), !byte.is_ascii_digit(), !byte.is_ascii_graphic()));
    let mut seen = HashSet::new();
    bytes.retain(|&byte| {
        let places = live.iter().filter_map(|head| program.place(head.state));
        let codes: SmallVec<[_; 4]> = places.map(|(linked, local)| linked.unit.code(local, byte)).collect();
        let is_read = codes.iter().any(|code| code.step() != Step::None);
        is_read && seen.insert((codes, special[usize::from(byte)].then_some(byte)))
    });
    bytes
}

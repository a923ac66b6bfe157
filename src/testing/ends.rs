//! The way from a state to the end of a text, by search.
//!
//! Random descents can't find a word of `wifi` without anchors, or the next multiple of 11. [`Ends`] searches byte by byte
//! (A*) among configurations: the next to be looked at is the one with the fewest bytes read and still to read, where
//! the latter is estimated from below by what the automata need without counters and distinct elements. One byte stands for
//! all that no live state tells apart, and configurations of equal content, whatever the numbers of their stack nodes,
//! are one. So a search ends in one of three ways: with a text; with the proof that there is none, which is a dead end
//! and a bug; or out of steps.
//!
//! What was read of an element that must be new is a part of the content, and would make every key another
//! configuration. Where elements can't run out, only what earlier elements go on with is counted; a search that finds
//! no end that way is repeated with all of it.

use crate::automaton::{DONE, Kind, Linked, Owner, Program, StateId, Step};
use crate::compiler::CompiledGrammar;
use crate::exec::{BOTTOM, Configuration, Elements, NodeId, Pair, Stacks, is_done, step_byte};
use crate::machine::{DeclaredKeys, Distinct};
use crate::matcher::Matcher;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The bytes that make the text whole.
    Found(Vec<u8>),
    /// That no bytes do.
    None,
    /// Nothing, within the steps.
    Unknown,
}

/// Searches for the ends of texts of one grammar.
pub struct Ends {
    grammar: CompiledGrammar,
    /// By state: no more bytes than are needed from there to an end of its unit.
    distances: Vec<u32>,
    /// By unit and counter: no more bytes than a copy of its body has.
    bodies: HashMap<(u32, u32), u32>,
}

/// More than any distance.
const FAR: u32 = u32::MAX / 4;

/// How much an estimate weighs: by 1 the first text found is a shortest one, by more it is found sooner.
const WEIGHTS: [u64; 2] = [1, 6];

impl Ends {
    /// Returns the search for a grammar.
    pub fn new(grammar: &CompiledGrammar) -> Ends {
        let program = grammar.program();
        let (distances, bodies) = distances(program);
        Ends { grammar: grammar.clone(), distances, bodies }
    }

    /// Looks for the bytes that end the text of a matcher.
    pub fn search(&self, matcher: &Matcher, n_steps_max: usize) -> End {
        let (stacks, live) = matcher.place();
        for weight in WEIGHTS {
            let share = if weight == 1 { n_steps_max / 4 } else { n_steps_max };
            for is_exact in [false, true] {
                match Search::new(self, stacks, is_exact, weight).run(stacks, live, share) {
                    End::None if !is_exact && stacks.elements().is_some() => {}
                    End::Unknown => break,
                    end => return end,
                }
            }
        }
        End::Unknown
    }

    fn program(&self) -> &Program {
        self.grammar.program()
    }

    /// Returns no more bytes than are needed from a pair to its return.
    fn distance(&self, pair: Pair) -> u32 {
        let (program, distance) = (self.program(), self.distances[pair.state as usize]);
        let Some((linked, local)) = program.place(pair.state) else { return 0 };
        (distance + copies(linked, local, pair.register, &self.bodies)).min(FAR)
    }
}

/// Returns the least distance behind one byte from a state.
fn moved(linked: &Linked, state: u32, distances: &[u32], fresh: &[u32]) -> u32 {
    let content = &linked.unit.content;
    let codes = content.table.moves(state).map(|(_, code)| code);
    let behind = |step: Step| match step {
        Step::None => FAR,
        Step::Quiet(target) | Step::Simple(target) => distances[(linked.base + target) as usize],
        Step::List(list) => {
            let sums = linked.unit.list(list).iter().map(|one| {
                // The first goes on with the register of the state that is left.
                let mut places = one.pushes.iter().chain([&one.target]).map(|&place| linked.state(place) as usize);
                let first = places.next().map_or(0, |state| distances[state]);
                places.fold(first, |sum, state| (sum + fresh[state]).min(FAR))
            });
            sums.min().unwrap_or(FAR)
        }
    };
    (codes.map(|code| behind(code.step())).min().unwrap_or(FAR) + 1).min(FAR)
}

/// Returns the distances of all states, the least solution, from above; and those of the bodies of counters.
fn distances(program: &Program) -> (Vec<u32>, HashMap<(u32, u32), u32>) {
    /// A program that needs more is estimated from above, and its texts are not the shortest.
    const N_SWEEPS_MAX: usize = 200;
    let mut distances = vec![FAR; program.n_states()];
    distances[DONE as usize] = 0;
    // With a register in which nothing was counted yet.
    let mut fresh = distances.clone();
    let mut bodies = HashMap::new();
    for linked in children_first(program) {
        // States mostly come behind those that lead to them.
        for _ in 0..N_SWEEPS_MAX {
            let mut is_changed = false;
            for (state, info) in linked.unit.content.infos.iter().enumerate().rev() {
                let at = linked.base as usize + state;
                let least = match info.kind {
                    Kind::End | Kind::Loop { .. } => 0,
                    Kind::BodyEnd { loop_state, .. } => distances[(linked.base + loop_state) as usize],
                    Kind::RegisterRule { register_rule } if linked.unit.register_rule(register_rule).can_ever_end() => {
                        0
                    }
                    Kind::Inner | Kind::RegisterRule { .. } | Kind::Element(_) => FAR,
                };
                let least = least.min(moved(linked, state as u32, &distances, &fresh));
                is_changed |= least < distances[at];
                distances[at] = least.min(distances[at]);
                fresh[at] = distances[at];
            }
            if !is_changed {
                break;
            }
        }
        let infos = || linked.unit.content.infos.iter().zip(0..);
        for (info, state) in infos() {
            if let Kind::Loop { counter } = info.kind {
                bodies.insert((linked.unit.uid, counter), moved(linked, state, &distances, &fresh));
            }
        }
        for (info, state) in infos() {
            if let Some(Owner::Counter(_) | Owner::RegisterRules(_)) = info.owner {
                let at = (linked.base + state) as usize;
                fresh[at] = (distances[at] + copies(linked, state, 0, &bodies)).min(FAR);
            }
        }
    }
    (distances, bodies)
}

/// Returns no more bytes than the copies have that must follow the one under way, or the pieces that are still missing.
fn copies(linked: &Linked, state: u32, register: u64, bodies: &HashMap<(u32, u32), u32>) -> u32 {
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

/// Returns the units of a program, each behind those that it calls.
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

/// A configuration by its content.
type Content = Box<[(StateId, u32, u64)]>;

/// Configurations that were seen, by content.
struct Seen<'a> {
    ends: &'a Ends,
    is_exact: bool,
    /// Nodes by content, and the bytes needed below each.
    nodes: HashMap<Content, u32>,
    below: Vec<u32>,
    /// The sets of elements, with what was read of the next one.
    registers: HashMap<Vec<Vec<u8>>, u64>,
    /// Nodes from before the search, which all its stacks have; without elements, whose content grows with the text.
    old: HashMap<NodeId, u32>,
    n_old: u32,
    configurations: HashSet<Content>,
}

impl Seen<'_> {
    /// Returns the register of a pair, elements by content; `is_exit` tells whether the pair is returned to.
    fn register(&mut self, stacks: &Stacks, pair: Pair, is_exit: bool) -> u64 {
        let Some(info) = self.ends.program().info(pair.state) else { return 0 };
        let (Some(elements), Some(Owner::Elements(distinct))) = (stacks.elements(), info.owner) else {
            return pair.register;
        };
        let Distinct { equality, has_finite_domain, .. } = distinct;
        let mut key: Vec<Vec<u8>> = Vec::new();
        elements.for_each(pair.register, |element| {
            key.push(equality.canonical(&elements.bytes(element).collect::<Vec<u8>>()));
        });
        key.sort_unstable();
        if is_exit && let Kind::Element(next) = info.kind {
            key.push(b"next".to_vec());
            if self.is_exact || has_finite_domain {
                key.push(elements.begun(pair.register));
            } else {
                let n_before = key.len();
                elements.for_each_rest(pair.register, |rest| key.push(elements.bytes(rest).collect()));
                let declared_keys =
                    self.ends.program().place(pair.state).and_then(|(at, _)| at.unit.declared_keys(next));
                for_each_reserved_rest(elements, pair.register, declared_keys, |rest| key.push(rest.to_vec()));
                key[n_before..].sort_unstable();
            }
        }
        let n_known = self.registers.len() as u64;
        *self.registers.entry(key).or_insert(n_known)
    }

    /// Returns the number of a node's content.
    fn node(&mut self, stacks: &Stacks, node: NodeId, new: &mut HashMap<NodeId, u32>) -> u32 {
        let mut open = vec![node];
        while let Some(&node) = open.last() {
            if self.old.contains_key(&node) || new.contains_key(&node) {
                open.pop();
                continue;
            }
            let n_open = open.len();
            let exits = (0..stacks.n_exits(node)).map(|index| stacks.exit(node, index));
            let exits: Vec<Pair> = if node == BOTTOM { Vec::new() } else { exits.collect() };
            open.extend(
                exits.iter().map(|exit| exit.node).filter(|id| !self.old.contains_key(id) && !new.contains_key(id)),
            );
            if open.len() > n_open {
                continue;
            }
            open.pop();
            let number = |this: &Self, id: NodeId| this.old.get(&id).or_else(|| new.get(&id)).copied().expect("below");
            let mut below = if exits.is_empty() { 0 } else { FAR };
            let mut content = Vec::with_capacity(exits.len());
            for exit in exits {
                let number = number(self, exit.node);
                below = below.min((self.ends.distance(exit) + self.below[number as usize]).min(FAR));
                content.push((exit.state, number, self.register(stacks, exit, true)));
            }
            content.sort_unstable();
            let n_known = self.below.len() as u32;
            let id = *self.nodes.entry(content.into()).or_insert(n_known);
            if id == n_known {
                self.below.push(below);
            }
            if node < self.n_old { &mut self.old } else { &mut *new }.insert(node, id);
        }
        self.old.get(&node).or_else(|| new.get(&node)).copied().expect("it was just numbered")
    }

    /// Returns no more bytes than a configuration needs, if it is new.
    fn add(&mut self, stacks: &Stacks, live: &[Pair]) -> Option<u32> {
        let mut new = HashMap::new();
        let mut needed = FAR;
        let mut content = Vec::with_capacity(live.len());
        for &pair in live {
            let node = self.node(stacks, pair.node, &mut new);
            needed = needed.min((self.ends.distance(pair) + self.below[node as usize]).min(FAR));
            content.push((pair.state, node, self.register(stacks, pair, false)));
        }
        content.sort_unstable();
        self.configurations.insert(content.into()).then_some(needed)
    }
}

/// A text under way.
struct Way {
    from: u32,
    byte: u8,
    n_bytes: u32,
    /// Until it is looked at.
    place: Option<(Stacks, Configuration)>,
}

struct Search<'a> {
    seen: Seen<'a>,
    weight: u64,
    ways: Vec<Way>,
    /// The next to be looked at, of equally good ones the longest.
    open: BinaryHeap<(Reverse<u64>, u32, Reverse<u32>)>,
}

impl<'a> Search<'a> {
    fn new(ends: &'a Ends, stacks: &Stacks, is_exact: bool, weight: u64) -> Self {
        let seen = Seen {
            ends,
            is_exact,
            nodes: HashMap::new(),
            below: Vec::new(),
            registers: HashMap::new(),
            old: HashMap::new(),
            n_old: if stacks.elements().is_some() { 0 } else { stacks.mark().n_nodes },
            configurations: HashSet::new(),
        };
        Search { seen, weight, ways: Vec::new(), open: BinaryHeap::new() }
    }

    fn run(mut self, stacks: &Stacks, live: &[Pair], n_steps_max: usize) -> End {
        let program = self.seen.ends.program();
        self.add(Way { from: 0, byte: 0, n_bytes: 0, place: Some((stacks.clone(), live.to_vec())) });
        let mut n_steps = 0;
        while let Some((_, n_bytes, Reverse(at))) = self.open.pop() {
            let (stacks, live) = self.ways[at as usize].place.take().expect("each is looked at once");
            if is_done(&live) {
                return End::Found(self.bytes(at));
            }
            for byte in kinds_of_bytes(program, &stacks, &live, self.seen.is_exact) {
                let (mut stacks, mut next) = (stacks.clone(), Configuration::new());
                n_steps += 1;
                step_byte(program, &mut stacks, &live, byte, &mut next);
                if !next.is_empty() {
                    self.add(Way { from: at, byte, n_bytes: n_bytes + 1, place: Some((stacks, next)) });
                }
            }
            if n_steps > n_steps_max {
                return End::Unknown;
            }
        }
        End::None
    }

    fn add(&mut self, way: Way) {
        let (stacks, live) = way.place.as_ref().expect("it was not looked at");
        if let Some(needed) = self.seen.add(stacks, live) {
            let cost = u64::from(way.n_bytes) + self.weight * u64::from(needed);
            self.open.push((Reverse(cost), way.n_bytes, Reverse(self.ways.len() as u32)));
            self.ways.push(way);
        }
    }

    fn bytes(&self, mut at: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        while at != 0 {
            bytes.push(self.ways[at as usize].byte);
            at = self.ways[at as usize].from;
        }
        bytes.reverse();
        bytes
    }
}

/// Calls `visit` with what is left of each declared element that the element under way is a beginning of.
fn for_each_reserved_rest(
    elements: &Elements,
    register: u64,
    declared_keys: Option<&DeclaredKeys>,
    mut visit: impl FnMut(&[u8]),
) {
    let Some(declared_keys) = declared_keys else { return };
    let n_begun = elements.n_begun(register) as usize;
    elements.begun_reserved(register, declared_keys).for_each(|index| visit(&declared_keys.get(index)[n_begun..]));
}

/// Returns one byte for all that lead to the same place. Where elements are compared, each byte that an earlier one goes on with is a kind,
/// or, if `is_exact`, each byte.
fn kinds_of_bytes(program: &Program, stacks: &Stacks, live: &[Pair], is_exact: bool) -> Vec<u8> {
    let mut special = [is_exact && stacks.elements().is_some(); 256];
    if let Some(elements) = stacks.elements() {
        for pair in live {
            for index in 0..stacks.n_exits(pair.node) {
                let exit = stacks.exit(pair.node, index);
                let Some((linked, local)) = program.place(exit.state) else { continue };
                if let Kind::Element(distinct) = linked.unit.info(local).kind {
                    let mut is_next = |byte: u8| special[usize::from(byte)] = true;
                    elements.for_each_rest(exit.register, |rest| elements.bytes(rest).take(1).for_each(&mut is_next));
                    let declared_keys = linked.unit.declared_keys(distinct);
                    for_each_reserved_rest(elements, exit.register, declared_keys, |rest| {
                        rest.first().copied().into_iter().for_each(&mut is_next);
                    });
                }
            }
        }
    }
    // Letters and digits come first, to be read.
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.sort_by_key(|byte| (!byte.is_ascii_lowercase(), !byte.is_ascii_digit(), !byte.is_ascii_graphic()));
    let mut seen = HashSet::new();
    bytes.retain(|&byte| {
        let places = live.iter().filter_map(|pair| program.place(pair.state));
        let codes: SmallVec<[_; 4]> = places.map(|(linked, local)| linked.unit.code(local, byte)).collect();
        let is_read = codes.iter().any(|code| code.step() != Step::None);
        is_read && seen.insert((codes, special[usize::from(byte)].then_some(byte)))
    });
    bytes
}

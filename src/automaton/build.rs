//! Building units from the rules of a normal grammar.
//!
//! A state of a unit is a set of *items* (rule, state of its automaton) that lie over the same stack. Reading a byte from a set
//! takes the closure over calls first: the rules that the items call, those that *they* begin with, and so on; it ends, since no
//! rule begins with itself. A call that ends its rule pushes nothing (the callee's items join the set); other calls are grouped by
//! what they return to, each group a *context*: a chain of pushed return states, and the items at its end. Within a context the
//! targets of a byte are one state; so expression grammars, alternatives with common beginnings, and calls of one rule from several
//! places stay deterministic. Calls into other units take over their first moves.
//!
//! Copies of a counted body have a register, so items of a counter's body are only ever together with each other.
//!
//! Sets can be exponentially many. Past a budget the unit is built again with one item per state and several moves per byte.
//!
//! Cost: for each state, the sum of the edges in its closure, and of the lengths of its chains. Rules that begin with each other in a long
//! row (`a ::= b "x" | "p"`, `b ::= c "y" | "q"`, ...) have long chains in each of many states, so what is kept counts against
//! [`automaton_moves_max`](crate::Limits::automaton_moves_max) while it is made, each pushed state as one move.

use super::unit::{Code, Content, Kind, Move, Owner, Reads, StateInfo, StateRef, Step, Unit};
use crate::machine::{Counter, Distinct};
use crate::pass::{BuildError, Label, NetRuleId, Network, RuleAutomaton, Splitter, Watch};
use ahash::{AHashMap, AHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// States allowed per item, and in any case, before items are no longer put together.
const STATES_PER_ITEM: usize = 4;
const STATES_FREE: usize = 256;
/// Items in all sets together, per item and in any case, likewise.
const MEMBERS_PER_ITEM: usize = 16;
const MEMBERS_FREE: usize = 1 << 22;

/// Where a rule ended up: a unit and one of its entries.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub unit: Arc<Unit>,
    pub state: u32,
}

/// Builds the unit of the rules `members`, a component of the call graph. `entries` has the places of all rules that they call
/// outside the component; `called` are the members that others may enter.
pub(crate) fn build(
    network: &Network<RuleAutomaton>,
    members: &[NetRuleId],
    called: &[NetRuleId],
    entries: &[Option<Entry>],
    bounds: Bounds<'_>,
) -> Result<Content, BuildError> {
    let n_items: usize = members.iter().map(|&id| network.rule(id).automaton.n_states()).sum();
    let budget = Budget {
        n_states: STATES_FREE + STATES_PER_ITEM * n_items,
        n_members: MEMBERS_FREE + MEMBERS_PER_ITEM * n_items,
    };
    if let Some(content) = Builder::new(network, members, entries, true, bounds).run(called, budget)? {
        return Ok(content);
    }
    let content = Builder::new(network, members, entries, false, bounds).run(called, Budget::NONE)?;
    Ok(content.expect("without a budget building goes on to the end"))
}

/// How far items are put together.
#[derive(Clone, Copy)]
struct Budget {
    n_states: usize,
    n_members: usize,
}

impl Budget {
    const NONE: Budget = Budget { n_states: usize::MAX, n_members: usize::MAX };
}

/// What building a unit may use.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub watch: &'a Watch,
    /// Moves of the units before.
    pub n_moves: usize,
    pub n_moves_max: usize,
}

impl Bounds<'_> {
    /// Checks the number of moves of this unit.
    fn check_moves(&self, n_moves: usize) -> Result<(), BuildError> {
        let n_moves = self.n_moves.saturating_add(n_moves);
        if n_moves > self.n_moves_max {
            let what = "moves of the grammar's automata (automaton_moves_max)";
            return Err(BuildError::limit(what, n_moves as u64, self.n_moves_max as u64));
        }
        Ok(())
    }
}

/// A state of a member's automaton. `state == LOOP` is the place between two copies of a counted body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Item {
    member: u32,
    state: u32,
}

const LOOP: u32 = u32::MAX;

type Items = SmallVec<[Item; 4]>;

/// Items at the end of a chain of pushed return states.
struct Context {
    chain: Chain,
    at: At,
}

enum At {
    Items(Items),
    /// The entry of a child, by its slot.
    Child(u32, u32),
}

struct Builder<'a> {
    network: &'a Network<RuleAutomaton>,
    members: &'a [NetRuleId],
    member_of: AHashMap<NetRuleId, u32>,
    entries: &'a [Option<Entry>],
    merges: bool,
    ids: AHashMap<Items, u32>,
    sets: Vec<Items>,
    counters: Vec<Counter>,
    /// By member: which counter it is.
    counter_of: Vec<Option<u32>>,
    /// By member: whether its states have a register.
    has_register: Vec<bool>,
    distinct_of: Vec<Option<Distinct>>,
    children: Vec<Arc<Unit>>,
    slot_of: AHashMap<u32, u32>,
    lists: Vec<Box<[Move]>>,
    list_ids: AHashMap<Vec<Move>, u32>,
    scratch: Scratch,
    bounds: Bounds<'a>,
    /// Moves of the lists and what they push.
    n_listed: usize,
    /// Items of all sets together.
    n_members: usize,
}

/// Where a letter leads: to a state of the unit with nothing pushed, or to the moves of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    State(u32),
    List(u32),
}

/// The moves of a state by letter: disjoint byte ranges ascending, then control tokens.
#[derive(Default)]
struct Row {
    bytes: Vec<(u8, u8, Target)>,
    controls: Vec<(u32, Target)>,
}

impl Row {
    fn push(&mut self, label: Label, target: Target) {
        match label {
            Label::Bytes(low, high) => self.bytes.push((low, high, target)),
            Label::Control(token) => self.controls.push((token, target)),
            Label::Call(_) => unreachable!("calls were followed"),
        }
    }
}

/// What the items of one context read: letters with positions of `targets`.
#[derive(Default)]
struct Scratch {
    letters: Splitter,
    targets: Vec<Item>,
}

type Chain = SmallVec<[StateRef; 4]>;

impl<'a> Builder<'a> {
    fn new(
        network: &'a Network<RuleAutomaton>,
        members: &'a [NetRuleId],
        entries: &'a [Option<Entry>],
        merges: bool,
        bounds: Bounds<'a>,
    ) -> Self {
        let mut counters = Vec::new();
        let counter_of = members.iter().map(|&id| {
            network.rule(id).counter.map(|counter| {
                counters.push(counter);
                counters.len() as u32 - 1
            })
        });
        let has_register =
            members.iter().map(|&id| network.rule(id).counter.is_some() || network.rule(id).automaton.has_elements());
        Builder {
            counter_of: counter_of.collect(),
            has_register: has_register.collect(),
            distinct_of: members.iter().map(|&id| network.rule(id).automaton.distinct()).collect(),
            member_of: members.iter().enumerate().map(|(index, &id)| (id, index as u32)).collect(),
            counters,
            network,
            members,
            entries,
            merges,
            ids: AHashMap::new(),
            sets: Vec::new(),
            children: Vec::new(),
            slot_of: AHashMap::new(),
            lists: Vec::new(),
            list_ids: AHashMap::new(),
            scratch: Scratch::default(),
            bounds,
            n_listed: 0,
            n_members: 0,
        }
    }

    fn run(mut self, called: &[NetRuleId], budget: Budget) -> Result<Option<Content>, BuildError> {
        let starts: Vec<u32> = called.iter().map(|id| self.start(self.member_of[id])).collect();
        // The end of a copy leads to the place between copies, which must exist even where copies are entered from inside.
        let counted = (0..self.members.len() as u32).filter(|&member| self.counter_of[member as usize].is_some());
        for member in counted.collect::<Vec<_>>() {
            self.start(member);
        }
        let mut rows: Vec<Row> = Vec::new();
        let mut n_targets = 0;
        while rows.len() < self.sets.len() {
            self.bounds.watch.spend(1)?;
            let row = self.row(rows.len())?;
            n_targets += row.bytes.len() + row.controls.len();
            rows.push(row);
            self.bounds.check_moves(n_targets + self.n_listed)?;
            if self.sets.len() > budget.n_states || self.n_members > budget.n_members {
                return Ok(None);
            }
        }
        self.finish(rows, starts).map(Some)
    }

    fn automaton(&self, member: u32) -> &'a RuleAutomaton {
        &self.network.rule(self.members[member as usize]).automaton
    }

    fn state(&mut self, items: Items) -> u32 {
        *self.ids.entry(items).or_insert_with_key(|items| {
            self.n_members += items.len();
            self.sets.push(items.clone());
            self.sets.len() as u32 - 1
        })
    }

    /// Returns the state in which a member begins.
    fn start(&mut self, member: u32) -> u32 {
        let state = if self.counter_of[member as usize].is_some() { LOOP } else { 0 };
        self.state(SmallVec::from_slice(&[Item { member, state }]))
    }

    /// Returns the states that stand for these items: one, or one each when items are not put together.
    fn states(&mut self, mut items: Items) -> SmallVec<[u32; 2]> {
        items.sort_unstable();
        items.dedup();
        if self.merges {
            return SmallVec::from_slice(&[self.state(items)]);
        }
        items.into_iter().map(|item| self.state(SmallVec::from_slice(&[item]))).collect()
    }

    fn slot(&mut self, unit: &Arc<Unit>) -> u32 {
        *self.slot_of.entry(unit.uid).or_insert_with(|| {
            self.children.push(Arc::clone(unit));
            self.children.len() as u32
        })
    }

    fn list(&mut self, mut moves: Vec<Move>) -> u32 {
        moves.sort_unstable();
        moves.dedup();
        if let Some(&id) = self.list_ids.get(&moves) {
            return id;
        }
        self.n_listed += moves.iter().map(|one| 1 + one.pushes.len()).sum::<usize>();
        self.lists.push(moves.clone().into());
        let id = self.lists.len() as u32 - 1;
        self.list_ids.insert(moves, id);
        id
    }

    fn row(&mut self, state: usize) -> Result<Row, BuildError> {
        let mut items = self.sets[state].clone();
        // Between two copies, a copy begins.
        items.iter_mut().filter(|item| item.state == LOOP).for_each(|item| item.state = 0);
        let mut scratch = core::mem::take(&mut self.scratch);
        let mut contexts = Vec::new();
        let mut row = Row::default();
        self.close(&SmallVec::new(), items, &mut contexts, &mut scratch)?;
        if contexts.is_empty() && self.merges {
            // PERF: nearly all states call nothing, and then a letter leads to one state.
            let Scratch { letters, targets } = &mut scratch;
            let mut n_items = 0;
            letters.for_each(|label, found| {
                n_items += found.len();
                let items = found.iter().map(|&index| targets[index as usize]).collect();
                row.push(label, Target::State(self.states(items)[0]));
            });
            self.bounds.watch.spend(n_items)?;
        } else {
            self.row_of_contexts(&mut scratch, contexts, &mut row)?;
        }
        self.scratch = scratch;
        Ok(row)
    }

    /// Completes a row from what was closed first (into `scratch`) and the contexts that it led to.
    fn row_of_contexts(
        &mut self,
        scratch: &mut Scratch,
        mut contexts: Vec<Context>,
        row: &mut Row,
    ) -> Result<(), BuildError> {
        let mut moves: Vec<Move> = Vec::new();
        // Moves made for this row, and the chains that wait or were pushed.
        let mut n_made: usize = contexts.iter().map(|context| 1 + context.chain.len()).sum();
        let mut by_letter = Splitter::default();
        let mut chain: Chain = SmallVec::new();
        let mut is_closed = true;
        loop {
            if is_closed {
                let Scratch { letters, targets } = scratch;
                letters.for_each(|label, found| {
                    let items = found.iter().map(|&index| targets[index as usize]).collect();
                    for target in self.states(items) {
                        n_made += 1 + chain.len();
                        by_letter.add(label, moves.len() as u32);
                        moves.push(Move { pushes: chain.as_slice().into(), target: StateRef::own(target) });
                    }
                });
            }
            self.bounds.watch.spend(1 + chain.len())?;
            self.bounds.check_moves(n_made)?;
            let Some(context) = contexts.pop() else { break };
            chain = context.chain;
            is_closed = matches!(context.at, At::Items(_));
            match context.at {
                At::Items(items) => {
                    let n_before = contexts.len();
                    self.close(&chain, items, &mut contexts, scratch)?;
                    n_made += (contexts.len() - n_before) * (2 + chain.len());
                }
                At::Child(slot, state) => {
                    let n_before = n_made;
                    self.child_moves(&chain, slot, state, |label, found| {
                        n_made += 1 + found.pushes.len();
                        by_letter.add(label, moves.len() as u32);
                        moves.push(found);
                    });
                    self.bounds.watch.spend(n_made - n_before)?;
                }
            }
        }
        by_letter.for_each(|label, found| {
            let target = match found {
                &[index] if moves[index as usize].is_simple() => Target::State(moves[index as usize].target.state),
                _ => Target::List(self.list(found.iter().map(|&index| moves[index as usize].clone()).collect())),
            };
            row.push(label, target);
        });
        Ok(())
    }

    /// Follows the calls of `items` that end their rules, puts what they read into `scratch`, and adds a context for each other call.
    fn close(
        &mut self,
        chain: &Chain,
        items: Items,
        contexts: &mut Vec<Context>,
        scratch: &mut Scratch,
    ) -> Result<(), BuildError> {
        scratch.letters.clear();
        scratch.targets.clear();
        // Rules entered at the end of the same chain, and calls by callee with what they return to.
        let mut entered: AHashSet<NetRuleId> = AHashSet::new();
        let mut calls: Vec<(NetRuleId, Items)> = Vec::new();
        let mut call_of: AHashMap<NetRuleId, usize> = AHashMap::new();
        let mut closed = items;
        let mut next = 0;
        while next < closed.len() {
            let Item { member, state } = closed[next];
            next += 1;
            let automaton = self.automaton(member);
            self.bounds.watch.spend(1 + automaton.edges(state).len())?;
            for edge in automaton.edges(state) {
                let target = Item { member, state: edge.target };
                let Label::Call(callee) = edge.label else {
                    scratch.letters.add(edge.label, scratch.targets.len() as u32);
                    scratch.targets.push(target);
                    continue;
                };
                let ends_rule = !self.has_register[member as usize] && automaton.is_pure_end(edge.target);
                if !ends_rule {
                    let index = *call_of.entry(callee).or_insert_with(|| {
                        calls.push((callee, Items::new()));
                        calls.len() - 1
                    });
                    calls[index].1.push(target);
                } else if entered.insert(callee) {
                    match self.member_of.get(&callee) {
                        Some(&member) if !self.has_register[member as usize] => {
                            closed.push(Item { member, state: 0 });
                        }
                        _ => contexts.push(self.enter(chain.clone(), callee)),
                    }
                }
            }
        }
        // Plain members of this unit that return to the same place are entered together.
        let mut groups: Vec<(u32, Items)> = Vec::new();
        let mut group_of: AHashMap<u32, usize> = AHashMap::new();
        for (callee, returns) in calls {
            self.bounds.watch.spend(1 + chain.len())?;
            for state in self.states(returns) {
                match self.member_of.get(&callee) {
                    Some(&member) if !self.has_register[member as usize] && self.merges => {
                        let start = Item { member, state: 0 };
                        let index = *group_of.entry(state).or_insert_with(|| {
                            groups.push((state, Items::new()));
                            groups.len() - 1
                        });
                        groups[index].1.push(start);
                    }
                    _ => {
                        let mut chain = chain.clone();
                        chain.push(StateRef::own(state));
                        contexts.push(self.enter(chain, callee));
                    }
                }
            }
        }
        for (state, starts) in groups {
            let mut chain = chain.clone();
            chain.push(StateRef::own(state));
            contexts.push(Context { chain, at: At::Items(starts) });
        }
        Ok(())
    }

    fn enter(&mut self, chain: Chain, callee: NetRuleId) -> Context {
        let at = match self.member_of.get(&callee) {
            Some(&member) => At::Items(SmallVec::from_slice(&[Item { member, state: 0 }])),
            None => {
                let entry = self.entries[callee.index()].as_ref().expect("callees are built before their callers");
                At::Child(self.slot(&Arc::clone(&entry.unit)), entry.state)
            }
        };
        Context { chain, at }
    }

    /// Passes the moves of a child's state to `found`, as seen from this unit.
    fn child_moves(&mut self, chain: &Chain, slot: u32, state: u32, mut found: impl FnMut(Label, Move)) {
        let child = Arc::clone(&self.children[slot as usize - 1]);
        // Only grandchildren that first moves lead to become children: a long chain of units would have all that follow.
        let mut slots: AHashMap<u32, u32> = AHashMap::new();
        slots.insert(0, slot);
        let mut pass = |label: Label, code: Code| match code.step() {
            Step::None => {}
            Step::Quiet(target) | Step::Simple(target) => {
                found(label, Move { pushes: chain.as_slice().into(), target: StateRef { slot, state: target } });
            }
            Step::List(list) => {
                for one in child.list(list) {
                    let mut translate = |place: StateRef| {
                        let slot = *slots
                            .entry(place.slot)
                            .or_insert_with_key(|&slot| self.slot(&child.content.children[slot as usize - 1]));
                        StateRef { slot, state: place.state }
                    };
                    let mut pushes: Vec<StateRef> = Vec::with_capacity(chain.len() + one.pushes.len());
                    pushes.extend_from_slice(chain);
                    pushes.extend(one.pushes.iter().map(|&place| translate(place)));
                    found(label, Move { pushes: pushes.into(), target: translate(one.target) });
                }
            }
        };
        let mut low = 0u16;
        while low < 256 {
            let code = child.code(state, low as u8);
            let mut high = low;
            while high < 255 && child.code(state, high as u8 + 1) == code {
                high += 1;
            }
            pass(Label::Bytes(low as u8, high as u8), code);
            low = high + 1;
        }
        for &(token, list) in child.controls(state) {
            pass(Label::Control(token), Code::list(list));
        }
    }

    fn info(&self, items: &Items, row: &Row) -> StateInfo {
        let first = items[0];
        let counter = self.counter_of[first.member as usize];
        let owner = match (counter, self.has_register[first.member as usize]) {
            (Some(counter), _) => Some(Owner::Counter(counter)),
            (None, true) => self.distinct_of[first.member as usize].map(Owner::Elements),
            (None, false) => None,
        };
        let may_end = || items.iter().any(|item| self.automaton(item.member).is_accepting(item.state));
        let element = if first.state == LOOP { None } else { self.automaton(first.member).element(first.state) };
        let kind = match counter {
            // Only calls of elements lead here.
            None if element.is_some() => Kind::Element(element.expect("just seen")),

            Some(counter) if first.state == LOOP => Kind::Loop { counter },
            Some(counter) if may_end() => {
                let between: Items = SmallVec::from_slice(&[Item { member: first.member, state: LOOP }]);
                Kind::BodyEnd { counter, loop_state: self.ids[&between] }
            }
            None if may_end() => Kind::End,
            _ => Kind::Inner,
        };
        StateInfo { kind, reads: reads(row), owner }
    }

    fn finish(mut self, rows: Vec<Row>, entries: Vec<u32>) -> Result<Content, BuildError> {
        let infos: Vec<StateInfo> = self.sets.iter().zip(&rows).map(|(items, row)| self.info(items, row)).collect();
        let (class_of, n_classes, table) = move_table(&rows, &infos, self.bounds, self.n_listed)?;
        let has_controls = rows.iter().any(|row| !row.controls.is_empty());
        let mut controls: Vec<Box<[(u32, u32)]>> = Vec::new();
        for row in rows.iter().filter(|_| has_controls) {
            let lists = row.controls.iter().map(|&(token, target)| match target {
                Target::List(list) => (token, list),
                Target::State(state) => {
                    (token, self.list(vec![Move { pushes: Box::new([]), target: StateRef::own(state) }]))
                }
            });
            controls.push(lists.collect());
        }
        Ok(Content {
            class_of: class_of.into(),
            n_classes,
            table: table.into(),
            lists: self.lists.into(),
            infos: infos.into(),
            controls: controls.into(),
            counters: self.counters.into(),
            children: self.children.into(),
            entries: entries.into(),
            has_elements: self
                .has_register
                .iter()
                .zip(&self.counter_of)
                .any(|(&has, counter)| has && counter.is_none()),
        })
    }
}

fn code(target: Target, infos: &[StateInfo]) -> Code {
    match target {
        Target::List(list) => Code::list(list),
        Target::State(state) => {
            let info = &infos[state as usize];
            if info.kind == Kind::Inner && info.has_moves() { Code::quiet(state) } else { Code::simple(state) }
        }
    }
}

fn reads(row: &Row) -> Reads {
    match (&row.bytes[..], &row.controls[..]) {
        ([], []) => Reads::Nothing,
        (&[(low, high, _)], []) if low == high => Reads::Only(low),
        _ => Reads::More,
    }
}

/// Returns the class of each byte, the number of classes, and the table by state and class. Bytes are of one class when no row
/// tells them apart: bytes between two neighbouring ends of ranges never are, and of the intervals, equal columns are one.
fn move_table(
    rows: &[Row],
    infos: &[StateInfo],
    bounds: Bounds<'_>,
    n_listed: usize,
) -> Result<(Vec<u8>, usize, Vec<Code>), BuildError> {
    let mut is_cut = [false; 257];
    for &(low, high, _) in rows.iter().flat_map(|row| &row.bytes) {
        is_cut[usize::from(low)] = true;
        is_cut[usize::from(high) + 1] = true;
    }
    let mut interval_of = [0u8; 256];
    let mut n_intervals = 1usize;
    for byte in 1..256 {
        n_intervals += usize::from(is_cut[byte]);
        interval_of[byte] = (n_intervals - 1) as u8;
    }
    // Of four intervals at least, on average, one should be left.
    bounds.check_moves(n_listed.saturating_add(rows.len().saturating_mul(n_intervals) / 4))?;
    bounds.watch.look()?;
    let mut wide = vec![Code::NONE; rows.len() * n_intervals];
    for (row, codes) in rows.iter().zip(wide.chunks_mut(n_intervals)) {
        for &(low, high, target) in &row.bytes {
            let range = usize::from(interval_of[usize::from(low)])..=usize::from(interval_of[usize::from(high)]);
            codes[range].fill(code(target, infos));
        }
    }
    let mut class_of_interval = vec![0u8; n_intervals];
    let mut columns: AHashMap<Vec<Code>, u8> = AHashMap::with_capacity(n_intervals);
    let mut representatives: Vec<usize> = Vec::new();
    for (interval, class) in class_of_interval.iter_mut().enumerate() {
        let column: Vec<Code> = wide.iter().skip(interval).step_by(n_intervals).copied().collect();
        bounds.watch.spend(rows.len())?;
        *class = *columns.entry(column).or_insert_with(|| {
            representatives.push(interval);
            (representatives.len() - 1) as u8
        });
    }
    bounds.check_moves(n_listed.saturating_add(rows.len() * representatives.len()))?;
    let class_of = interval_of.iter().map(|&interval| class_of_interval[usize::from(interval)]).collect();
    let narrow = |codes: &[Code]| representatives.iter().map(|&interval| codes[interval]).collect::<Vec<_>>();
    let table = wide.chunks(n_intervals).flat_map(narrow).collect();
    Ok((class_of, representatives.len(), table))
}

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

use super::state::{Kind, Owner, ROLES_MAX, Role, StateInfo, StateInfos, StateInfosBuilder};
use super::table::{MoveTable, Piece, Row, Rows, Target, mixed, reads};
use super::unit::{Content, Move, PackedMove, Pushes, StateRef, Step, Unit};
use crate::machine::{Counter, DeclaredKeys, Distinct, RegisterRule};
use crate::pass::{
    BuildError, CompileBudget, Edge, FinishedNetwork, FinishedRule, Label, NetRuleId, RuleAutomaton, Splitter,
};
use crate::util::RingCache;
use core::hash::BuildHasher;
use core::mem::take;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// States allowed per item, and in any case, before items are no longer put together.
const STATES_PER_ITEM: usize = 4;
const STATES_FREE: usize = 256;
/// Items in all sets together, per item and in any case, likewise.
const MEMBERS_PER_ITEM: usize = 16;
const MEMBERS_FREE: usize = 1 << 22;

/// Fewest ranges of a child's row that are worth keeping as they look from the unit.
const KEPT_RUNS_MIN: usize = 8;
/// Most ranges of a row that is short.
const SHORT_ROW: usize = 4;

/// Where a rule ended up: a unit and one of its entries.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub unit: Arc<Unit>,
    pub state: u32,
}

/// Builds the unit of the rules `members`, a component of the call graph. `entered` are the places of those that others may enter; `entries`
/// has the places of all rules that they call outside the component.
pub(crate) fn build(
    network: &FinishedNetwork,
    members: &[NetRuleId],
    entered: &[u32],
    entries: &[Option<Entry>],
    bounds: Bounds<'_>,
    workspace: &mut Workspace,
) -> Result<Content, BuildError> {
    if let [id] = members
        && network.rule(*id).counter.is_none()
        && let Some(content) = plain(network.rule(*id), bounds, &mut workspace.rows)?
    {
        return Ok(content);
    }
    let n_items: usize = members.iter().map(|&id| network.rule(id).automaton.n_states()).sum();
    let budget = Budget {
        n_states: STATES_FREE + STATES_PER_ITEM * n_items,
        n_members: MEMBERS_FREE + MEMBERS_PER_ITEM * n_items,
    };
    if let Some(content) = Builder::new(network, members, entries, true, bounds, workspace).run(entered, budget)? {
        return Ok(content);
    }
    let builder = Builder::new(network, members, entries, false, bounds, workspace);
    let content = builder.run(entered, Budget::NONE)?;
    Ok(content.expect("without a budget building goes on to the end"))
}

/// Returns the unit of a rule without calls, control tokens and registers whose edges are apart: its states are those of the automaton.
fn plain(rule: &FinishedRule, bounds: Bounds<'_>, rows: &mut Rows) -> Result<Option<Content>, BuildError> {
    let automaton = &rule.automaton;
    let n_states = automaton.n_states();
    if automaton.has_register() || !rule.callees.is_empty() {
        return Ok(None);
    }
    rows.clear(n_states, automaton.all_edges().len());
    for state in 0..n_states as u32 {
        let edges = automaton.edges(state);
        let mut last = None;
        for edge in edges {
            let Label::Bytes(low, high) = edge.label else { return Ok(None) };
            if last.is_some_and(|last| low <= last) {
                return Ok(None);
            }
            last = Some(high);
            rows.bytes.push((low, high, Target::State(edge.target)));
        }
        rows.end();
    }
    bounds.check_moves(rows.bytes.len())?;
    bounds.compile_budget.spend(n_states + rows.bytes.len())?;
    let infos = infos_of_states(automaton, None, rows)?;
    Ok(Some(Content {
        table: MoveTable::new(rows, &infos, bounds, 0)?,
        moves: Box::new([]),
        list_ends: Box::new([]),
        infos,
        controls: Box::new([]),
        counters: Box::new([]),
        register_rules: Box::new([]),
        declared_keys: SmallVec::new(),
        children: SmallVec::new(),
        entries: smallvec![0],
        has_distinct_values: false,
    }))
}

/// Returns what is known of states, unless they have too many roles.
fn known(infos: Option<StateInfos>) -> Result<StateInfos, BuildError> {
    let too_many = || BuildError::limit("roles of a unit's states", ROLES_MAX as u64 + 1, ROLES_MAX as u64);
    infos.ok_or_else(too_many)
}

/// Returns what is known of the states of a unit that are those of an automaton without counters and register rules.
fn infos_of_states(automaton: &RuleAutomaton, owner: Option<Owner>, rows: &Rows) -> Result<StateInfos, BuildError> {
    let mut infos = StateInfosBuilder::with_capacity(rows.len());
    // PERF: nearly all states have one of these roles.
    let [inner, end] = [Kind::Inner, Kind::End].map(|kind| infos.role(Role { kind, owner }));
    for (state, row) in (0..).zip(rows.iter()) {
        infos.push(if automaton.is_accepting(state) { end } else { inner }, reads(&row));
    }
    for &(state, distinct) in automaton.elements() {
        // Only calls of values lead here.
        let role = infos.role(Role { kind: Kind::DistinctValue(distinct), owner });
        infos.set_role(state, role);
    }
    known(infos.finish())
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
    pub compile_budget: &'a CompileBudget,
    /// Moves of the units before.
    pub n_moves: usize,
    pub n_moves_max: usize,
}

impl Bounds<'_> {
    /// Checks the number of moves of this unit.
    pub fn check_moves(&self, n_moves: usize) -> Result<(), BuildError> {
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

/// A rule of the unit.
struct Member<'a> {
    id: NetRuleId,
    rule: &'a FinishedRule,
    /// Where the states of its single items begin in `single_ids`; the place between copies comes first.
    single_base: u32,
    /// Where its lists begin in `declared_keys`.
    declared_keys_base: u32,
    /// Which counter it is.
    counter: Option<u32>,
    /// Whether its states have a register.
    has_register: bool,
    /// What stands for all its register rules.
    strictest: Option<RegisterRule>,
    distinct: Option<Distinct>,
}

/// Memory that one unit after the other is built in.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The states of sets with several items.
    ids: HashMap<Items, u32>,
    /// The states of sets with one item, `u32::MAX` where there is none yet.
    single_ids: Vec<u32>,
    sets: Vec<Items>,
    /// Units that are called, and the slot of each by its number.
    children: Vec<Arc<Unit>>,
    slot_of: HashMap<u32, u32>,
    child_rows: HashMap<(Chain, u32, u32), ChildRow>,
    /// The moves of all lists, where each list ends, and the lists by what they hold.
    listed: Vec<Move>,
    list_ends: Vec<u32>,
    list_ids: HashTable<(u64, u32)>,
    /// The last lists that two targets became together, the next to be replaced first.
    joined: RingCache<(Target, Target), Target, 4>,
    /// The last short rows of children's states over one return state: by that, the slot and the state.
    short_rows: RingCache<(StateRef, u32, u32), SmallVec<[Piece; SHORT_ROW]>, 8>,
    scratch: Scratch,
    contexts: Vec<Context>,
    row_scratch: RowScratch,
    closing: Option<Closing>,
    rows: Rows,
}

impl Workspace {
    /// Largest table that is kept: clearing one takes as long as it is large.
    const CAPACITY_MAX: usize = 4096;

    /// Tells whether the memory is worth keeping until the next grammar.
    pub fn is_small(&self) -> bool {
        const ROWS_MAX: usize = 1 << 14;
        let lists = self.listed.capacity().max(self.list_ends.capacity());
        let states = self.single_ids.capacity().max(self.sets.capacity());
        lists.max(states).max(self.rows.bytes.capacity()) <= ROWS_MAX
    }

    /// Forgets all but the memory, for a unit with so many items.
    fn clear(&mut self, n_items: usize) {
        let is_large = |capacity: usize| capacity > Self::CAPACITY_MAX;
        let of_closing = |closing: &Closing| {
            closing.entered.capacity().max(closing.call_of.capacity()).max(closing.group_of.capacity())
        };
        let of_maps = self.ids.capacity().max(self.slot_of.capacity()).max(self.child_rows.capacity());
        if is_large(of_maps)
            || is_large(self.list_ids.capacity())
            || self.closing.as_ref().is_some_and(|of| is_large(of_closing(of)))
        {
            *self = Workspace::default();
        }
        self.ids.clear();
        self.single_ids.clear();
        self.single_ids.resize(n_items, u32::MAX);
        self.sets.clear();
        self.children.clear();
        self.slot_of.clear();
        self.child_rows.clear();
        self.listed.clear();
        self.list_ends.clear();
        self.list_ids.clear();
        self.joined.clear();
        self.short_rows.clear();
    }
}

struct Builder<'a> {
    members: SmallVec<[Member<'a>; 1]>,
    entries: &'a [Option<Entry>],
    merges: bool,
    counters: Vec<Counter>,
    register_rules: Vec<RegisterRule>,
    register_rule_ids: HashMap<RegisterRule, u32>,
    /// The declared keys of all members.
    declared_keys: SmallVec<[Arc<DeclaredKeys>; 1]>,
    /// What fingerprints of lists begin with.
    seed: u64,
    bounds: Bounds<'a>,
    /// Moves of the lists and what they push.
    n_listed: usize,
    /// Items of all sets together.
    n_members: usize,
    /// Whether the states are those of the one member's automaton: each of them is simple ([`Builder::is_simple`]).
    is_direct: bool,
    workspace: &'a mut Workspace,
}

/// The memory in which calls are sorted out.
#[derive(Default)]
struct Closing {
    /// Rules entered at the end of the same chain.
    entered: HashSet<NetRuleId>,
    /// Calls by callee, with what they return to.
    calls: Vec<(NetRuleId, Items)>,
    call_of: HashMap<NetRuleId, usize>,
    /// Members that are entered together, by where they return to.
    groups: Vec<(u32, Items)>,
    group_of: HashMap<u32, usize>,
}

/// The moves of one letter, nearly always one or two.
type MoveList = SmallVec<[Move; 2]>;

/// Where control tokens lead.
type ControlPieces = SmallVec<[(u32, Target); 4]>;

/// Returns a number that different lists of moves have in common very rarely.
fn fingerprint(seed: u64, moves: &[Move]) -> u64 {
    // PERF: a list is a few words, which a general hash takes a hundred steps for.
    let add = |print: u64, place: &StateRef| mixed(print ^ (u64::from(place.slot) << 32 | u64::from(place.state)));
    moves.iter().fold(seed, |print, one| add(one.pushes.iter().fold(print, add), &one.target))
}

/// Returns how many of some edges read bytes: they come first.
fn n_bytes(edges: &[Edge]) -> usize {
    edges.iter().take_while(|edge| matches!(edge.label, Label::Bytes(..))).count()
}

/// Tells whether edges that read bytes, in their order, have no byte in common.
fn are_apart(edges: &[Edge]) -> bool {
    edges.windows(2).all(|pair| match (pair[0].label, pair[1].label) {
        (Label::Bytes(_, high), Label::Bytes(low, _)) => high < low,
        _ => false,
    })
}

/// The moves of a child's state as seen from the unit, over a chain.
#[derive(Clone, Default)]
struct ChildRow {
    bytes: Vec<Piece>,
    controls: Vec<(u32, Target)>,
}

/// The moves of a row, and their letters.
#[derive(Default)]
struct RowScratch {
    moves: Vec<Move>,
    by_letter: Splitter,
    pieces: Vec<Piece>,
    merged: Vec<Piece>,
    theirs: ChildRow,
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
        network: &'a FinishedNetwork,
        ids: &[NetRuleId],
        entries: &'a [Option<Entry>],
        merges: bool,
        bounds: Bounds<'a>,
        workspace: &'a mut Workspace,
    ) -> Self {
        let mut members = SmallVec::with_capacity(ids.len());
        let mut counters = Vec::new();
        let mut n_single = 0;
        let mut declared_keys: SmallVec<[Arc<DeclaredKeys>; 1]> = SmallVec::new();
        for &id in ids {
            let rule = network.rule(id);
            members.push(Member {
                id,
                rule,
                single_base: n_single + 1,
                declared_keys_base: declared_keys.len() as u32,
                counter: rule.counter.map(|_| counters.len() as u32),
                has_register: rule.counter.is_some() || rule.automaton.has_register(),
                strictest: rule.automaton.strictest_register_rule(),
                distinct: rule.automaton.distinct(),
            });
            n_single += 1 + rule.automaton.n_states() as u32;
            counters.extend(rule.counter);
            declared_keys.extend(rule.automaton.declared_keys().iter().cloned());
        }
        workspace.clear(n_single as usize);
        let mut builder = Builder {
            members,
            entries,
            merges,
            counters,
            register_rules: Vec::new(),
            register_rule_ids: HashMap::new(),
            declared_keys,
            seed: DefaultHashBuilder::default().hash_one(ids),
            bounds,
            n_listed: 0,
            n_members: 0,
            is_direct: false,
            workspace,
        };
        builder.is_direct = match &builder.members[..] {
            [Member { rule, .. }] if merges && rule.counter.is_none() => {
                (0..rule.automaton.n_states() as u32).all(|state| builder.is_simple(rule, state))
            }
            _ => false,
        };
        builder
    }

    fn run(mut self, entered: &[u32], budget: Budget) -> Result<Option<Content>, BuildError> {
        let starts: SmallVec<[u32; 4]> = entered.iter().map(|&member| self.start(member)).collect();
        // The end of a copy leads to the place between copies, which must exist even where copies are entered from inside.
        for member in 0..self.members.len() {
            if self.members[member].counter.is_some() {
                self.start(member as u32);
            }
        }
        // PERF: nearly all states stand for one item, and read one or two ranges.
        let n_items = self.workspace.single_ids.len();
        let mut rows = take(&mut self.workspace.rows);
        rows.clear(n_items, 2 * n_items);
        let n_direct = if self.is_direct { self.automaton(0).n_states() } else { 0 };
        while rows.len() < n_direct.max(self.workspace.sets.len()) {
            self.bounds.compile_budget.spend(1)?;
            let state = rows.len() as u32;
            match self.is_direct {
                true => match *self.automaton(0).edges(state) {
                    // PERF: three states of four read one byte.
                    [Edge { label: Label::Bytes(low, high), target }] => {
                        rows.bytes.push((low, high, Target::State(target)));
                    }
                    _ => self.simple_row(Item { member: 0, state }, &mut rows)?,
                },
                false => self.row(state as usize, &mut rows)?,
            }
            rows.end();
            self.bounds.check_moves(rows.bytes.len() + rows.controls.len() + self.n_listed)?;
            if self.workspace.sets.len() > budget.n_states || self.n_members > budget.n_members {
                return Ok(None);
            }
        }
        self.finish(rows, starts).map(Some)
    }

    fn automaton(&self, member: u32) -> &'a RuleAutomaton {
        &self.members[member as usize].rule.automaton
    }

    /// Returns the member that is a rule, unless the rule is of another unit.
    fn member_of(&self, rule: NetRuleId) -> Option<u32> {
        // Members are ascending.
        self.members.binary_search_by_key(&rule, |member| member.id).ok().map(|member| member as u32)
    }

    fn state(&mut self, items: Items) -> u32 {
        if let [item] = items[..] {
            return self.single(item);
        }
        *self.workspace.ids.entry(items).or_insert_with_key(|items| {
            self.n_members += items.len();
            self.workspace.sets.push(items.clone());
            self.workspace.sets.len() as u32 - 1
        })
    }

    /// Returns the state of one item.
    fn single(&mut self, item: Item) -> u32 {
        if self.is_direct {
            return item.state;
        }
        // PERF: nearly all sets have one item, and need no hashing.
        let at = self.members[item.member as usize].single_base.wrapping_add(item.state) as usize;
        if self.workspace.single_ids[at] == u32::MAX {
            self.workspace.single_ids[at] = self.workspace.sets.len() as u32;
            self.n_members += 1;
            self.workspace.sets.push(SmallVec::from_slice(&[item]));
        }
        self.workspace.single_ids[at]
    }

    /// Returns the state in which a member begins.
    fn start(&mut self, member: u32) -> u32 {
        let state = if self.members[member as usize].counter.is_some() { LOOP } else { 0 };
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

    /// Returns the states that stand for items which calls return to: values that are kept apart in different ways are never one state.
    fn return_states(&mut self, mut items: Items) -> SmallVec<[u32; 2]> {
        let value = |builder: &Self, item: &Item| builder.automaton(item.member).element(item.state);
        let mut states = SmallVec::new();
        while let Some(first) = items.first() {
            let distinct = value(self, first);
            let (alike, others) = items.into_iter().partition(|item| value(self, item) == distinct);
            states.extend(self.states(alike));
            items = others;
        }
        states
    }

    fn slot(&mut self, unit: &Arc<Unit>) -> u32 {
        let Workspace { slot_of, children, .. } = &mut *self.workspace;
        *slot_of.entry(unit.uid).or_insert_with(|| {
            children.push(Arc::clone(unit));
            children.len() as u32
        })
    }

    /// Returns the list of some moves.
    fn list(&mut self, moves: &mut MoveList) -> u32 {
        if moves.len() > 1 {
            moves.sort_unstable();
            moves.dedup();
        }
        let Builder { workspace, seed, .. } = self;
        let Workspace { listed, list_ends, list_ids, .. } = &mut **workspace;
        let fingerprint = fingerprint(*seed, moves);
        let is_it = |&(known, id): &(u64, u32)| {
            let first = if id == 0 { 0 } else { list_ends[id as usize - 1] };
            known == fingerprint && listed[first as usize..list_ends[id as usize] as usize] == moves[..]
        };
        if let Some(&(_, id)) = list_ids.find(fingerprint, is_it) {
            return id;
        }
        self.n_listed += moves.iter().map(|one| 1 + one.pushes.len()).sum::<usize>();
        listed.extend(moves.drain(..));
        list_ends.push(listed.len() as u32);
        let id = list_ends.len() as u32 - 1;
        list_ids.insert_unique(fingerprint, (fingerprint, id), |&(fingerprint, _)| fingerprint);
        id
    }

    fn row(&mut self, state: usize, rows: &mut Rows) -> Result<(), BuildError> {
        if let [item] = self.workspace.sets[state][..] {
            let (rule, state) =
                (self.members[item.member as usize].rule, if item.state == LOOP { 0 } else { item.state });
            let edges = rule.automaton.edges(state);
            if self.is_simple(rule, state) && (self.merges || n_bytes(edges) == edges.len()) {
                return self.simple_row(item, rows);
            }
        }
        let mut items = self.workspace.sets[state].clone();
        // Between two copies, a copy begins.
        items.iter_mut().filter(|item| item.state == LOOP).for_each(|item| item.state = 0);
        let mut scratch = core::mem::take(&mut self.workspace.scratch);
        let mut contexts = core::mem::take(&mut self.workspace.contexts);
        self.close(&SmallVec::new(), items, &mut contexts, &mut scratch)?;
        if contexts.is_empty() && self.merges {
            // PERF: nearly all states call nothing, and then a letter leads to one state.
            let Scratch { letters, targets } = &mut scratch;
            let mut n_items = 0;
            letters.for_each(|label, found| {
                n_items += found.len();
                let items = found.iter().map(|&index| targets[index as usize]).collect();
                rows.push(label, Target::State(self.states(items)[0]));
            });
            self.bounds.compile_budget.spend(n_items)?;
        } else if self.merges && contexts.iter().all(|context| matches!(context.at, At::Child(..))) {
            self.row_beside_children(&mut scratch, &contexts, rows)?;
        } else {
            self.row_of_contexts(&mut scratch, &mut contexts, rows)?;
        }
        contexts.clear();
        (self.workspace.scratch, self.workspace.contexts) = (scratch, contexts);
        Ok(())
    }

    /// Completes a row from what was closed first (into `scratch`) and calls into other units.
    fn row_beside_children(
        &mut self,
        scratch: &mut Scratch,
        contexts: &[Context],
        rows: &mut Rows,
    ) -> Result<(), BuildError> {
        let mut pieces = core::mem::take(&mut self.workspace.row_scratch.pieces);
        pieces.clear();
        let mut controls = ControlPieces::new();
        let Scratch { letters, targets } = scratch;
        letters.for_each(|label, found| {
            let items = found.iter().map(|&index| targets[index as usize]).collect();
            let target = Target::State(self.states(items)[0]);
            match label {
                Label::Bytes(low, high) => pieces.push((low, high, target)),
                Label::Control(token) => controls.push((token, target)),
                Label::Call(_) => unreachable!("calls were followed"),
            }
        });
        for context in contexts {
            let At::Child(slot, state) = context.at else { unreachable!("all contexts are children") };
            self.join_child(&context.chain, slot, state, &mut pieces, &mut controls)?;
        }
        rows.bytes.extend_from_slice(&pieces);
        controls.sort_unstable_by_key(|&(token, _)| token);
        rows.controls.extend_from_slice(&controls);
        self.workspace.row_scratch.pieces = pieces;
        Ok(())
    }

    /// Adds the moves of a child's state, over a chain, to those that were found before.
    fn join_child(
        &mut self,
        chain: &Chain,
        slot: u32,
        state: u32,
        pieces: &mut Vec<Piece>,
        controls: &mut ControlPieces,
    ) -> Result<(), BuildError> {
        let mut theirs = core::mem::take(&mut self.workspace.row_scratch.theirs);
        self.child_row(chain, slot, state, &mut theirs);
        self.bounds.compile_budget.spend(theirs.bytes.len() + chain.len())?;
        self.bounds.check_moves(self.n_listed)?;
        // PERF: white space lies below all else that stands between values.
        let is_below = |low: &[Piece], high: &[Piece]| match (low.last(), high.first()) {
            (Some((_, end, _)), Some((first, _, _))) => end < first,
            _ => true,
        };
        if is_below(pieces, &theirs.bytes) {
            pieces.extend_from_slice(&theirs.bytes);
        } else if is_below(&theirs.bytes, pieces) {
            pieces.extend_from_slice(&theirs.bytes);
            pieces.rotate_right(theirs.bytes.len());
        } else {
            let mut merged = core::mem::take(&mut self.workspace.row_scratch.merged);
            self.merge(pieces, &theirs.bytes, &mut merged);
            core::mem::swap(pieces, &mut merged);
            self.workspace.row_scratch.merged = merged;
        }
        for &(token, target) in &theirs.controls {
            match controls.iter_mut().find(|(known, _)| *known == token) {
                Some((_, known)) => *known = self.joined(*known, target),
                None => controls.push((token, target)),
            }
        }
        self.workspace.row_scratch.theirs = theirs;
        Ok(())
    }

    /// Tells whether a state of a rule reads bytes, each to one place, and calls rules of other units, each from one place.
    fn is_simple(&self, rule: &FinishedRule, state: u32) -> bool {
        // Edges are sorted by their labels, bytes first.
        let edges = rule.automaton.edges(state);
        if let [Edge { label: Label::Bytes(..), .. }] = edges {
            return true;
        }
        let (bytes, calls) = edges.split_at(n_bytes(edges));
        are_apart(bytes)
            && calls.iter().all(|edge| match edge.label {
                Label::Call(called) => self.member_of(rule.callee(called)).is_none(),
                _ => false,
            })
            && calls.windows(2).all(|pair| pair[0].label != pair[1].label)
    }

    /// Makes the row of an item whose state is simple ([`Self::is_simple`]).
    fn simple_row(&mut self, item: Item, rows: &mut Rows) -> Result<(), BuildError> {
        // PERF: nearly all states are so, and need no sorting out.
        let member = &self.members[item.member as usize];
        let (rule, has_register) = (member.rule, member.has_register);
        let edges = rule.automaton.edges(if item.state == LOOP { 0 } else { item.state });
        let (bytes, calls) = edges.split_at(n_bytes(edges));
        let target = |builder: &mut Self, edge: &Edge| builder.single(Item { member: item.member, state: edge.target });
        if calls.is_empty() {
            self.bounds.compile_budget.spend(edges.len())?;
            for edge in bytes {
                let target = target(self, edge);
                rows.push(edge.label, Target::State(target));
            }
            return Ok(());
        }
        self.bounds.compile_budget.spend(edges.len())?;
        let mut pieces = core::mem::take(&mut self.workspace.row_scratch.pieces);
        pieces.clear();
        let mut controls = ControlPieces::new();
        for edge in bytes {
            let Label::Bytes(low, high) = edge.label else { unreachable!("only bytes are among them") };
            pieces.push((low, high, Target::State(target(self, edge))));
        }
        for edge in calls {
            let Label::Call(called) = edge.label else { unreachable!("only calls are among them") };
            let mut chain = Chain::new();
            if has_register || !rule.automaton.is_pure_end(edge.target) {
                chain.push(StateRef::own(target(self, edge)));
            }
            let (slot, state) = self.child(rule.callee(called));
            self.join_child(&chain, slot, state, &mut pieces, &mut controls)?;
        }
        rows.bytes.extend_from_slice(&pieces);
        controls.sort_unstable_by_key(|&(token, _)| token);
        rows.controls.extend_from_slice(&controls);
        self.workspace.row_scratch.pieces = pieces;
        Ok(())
    }

    /// Puts two lists of disjoint ranges, ascending, together.
    fn merge(&mut self, ours: &[Piece], theirs: &[Piece], merged: &mut Vec<Piece>) {
        merged.clear();
        let (mut ours, mut theirs) = (ours.iter().copied().peekable(), theirs.iter().copied().peekable());
        while let (Some(&(low, high, target)), Some(&(other_low, other_high, other))) = (ours.peek(), theirs.peek()) {
            let advance = |pieces: &mut core::iter::Peekable<_>, (_, high, target): Piece, last: u8| {
                if last == high {
                    pieces.next();
                } else {
                    *pieces.peek_mut().expect("just seen") = (last + 1, high, target);
                }
            };
            if low < other_low {
                let last = high.min(other_low - 1);
                merged.push((low, last, target));
                advance(&mut ours, (low, high, target), last);
            } else if other_low < low {
                let last = other_high.min(low - 1);
                merged.push((other_low, last, other));
                advance(&mut theirs, (other_low, other_high, other), last);
            } else {
                let last = high.min(other_high);
                merged.push((low, last, self.joined(target, other)));
                advance(&mut ours, (low, high, target), last);
                advance(&mut theirs, (other_low, other_high, other), last);
            }
        }
        merged.extend(ours);
        merged.extend(theirs);
    }

    /// Returns where a letter leads that leads to both.
    fn joined(&mut self, a: Target, b: Target) -> Target {
        if a == b {
            return a;
        }
        if let Some(&known) = self.workspace.joined.get(&(a, b)) {
            return known;
        }
        let mut moves = MoveList::new();
        for target in [a, b] {
            match target {
                Target::State(state) => moves.push(Move { pushes: Pushes::new(), target: StateRef::own(state) }),
                Target::List(list) => {
                    let first = if list == 0 { 0 } else { self.workspace.list_ends[list as usize - 1] };
                    moves.extend(
                        self.workspace.listed[first as usize..self.workspace.list_ends[list as usize] as usize]
                            .iter()
                            .cloned(),
                    );
                }
            }
        }
        let joined = Target::List(self.list(&mut moves));
        self.workspace.joined.insert((a, b), joined);
        joined
    }

    /// Finds the moves of a child's state, as seen from this unit, over a chain.
    fn child_row(&mut self, chain: &Chain, slot: u32, state: u32, found: &mut ChildRow) {
        found.bytes.clear();
        found.controls.clear();
        let child = Arc::clone(&self.workspace.children[slot as usize - 1]);
        let runs = child.runs(state);
        // PERF: the keys that nobody names are called from every place between two members, over the same chain.
        let key = (runs.len() >= KEPT_RUNS_MIN).then(|| (chain.clone(), slot, state));
        if let Some(row) = key.as_ref().and_then(|key| self.workspace.child_rows.get(key)) {
            found.bytes.extend_from_slice(&row.bytes);
            found.controls.extend_from_slice(&row.controls);
            return;
        }
        let short_key = match chain[..] {
            [only] if runs.len() <= SHORT_ROW && child.controls(state).is_empty() => Some((only, slot, state)),
            _ => None,
        };
        if let Some(row) = short_key.as_ref().and_then(|key| self.workspace.short_rows.get(key)) {
            found.bytes.extend_from_slice(row);
            return;
        }
        let mut known: SmallVec<[(PackedMove, Target); 8]> = SmallVec::new();
        let mut target_of = |builder: &mut Self, code: PackedMove| {
            if let Some(&(_, target)) = known.iter().find(|(known, _)| *known == code) {
                return target;
            }
            let mut moves = MoveList::new();
            builder.translate(chain, &child, slot, code, |one| moves.push(one));
            // Never a state of this unit.
            let target = Target::List(builder.list(&mut moves));
            known.push((code, target));
            target
        };
        for &(low, high, code) in runs.iter() {
            found.bytes.push((low, high, target_of(self, code)));
        }
        for &(token, list) in child.controls(state) {
            found.controls.push((token, target_of(self, PackedMove::list(list))));
        }
        if let Some(key) = key {
            self.workspace.child_rows.insert(key, found.clone());
        }
        if let Some(key) = short_key {
            self.workspace.short_rows.insert(key, SmallVec::from_slice(&found.bytes));
        }
    }

    /// Completes a row from what was closed first (into `scratch`) and the contexts that it led to.
    fn row_of_contexts(
        &mut self,
        scratch: &mut Scratch,
        contexts: &mut Vec<Context>,
        rows: &mut Rows,
    ) -> Result<(), BuildError> {
        let mut moves = core::mem::take(&mut self.workspace.row_scratch.moves);
        let mut by_letter = core::mem::take(&mut self.workspace.row_scratch.by_letter);
        moves.clear();
        by_letter.clear();
        // Moves made for this row, and the chains that wait or were pushed.
        let mut n_made: usize = contexts.iter().map(|context| 1 + context.chain.len()).sum();
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
                        moves.push(Move { pushes: Pushes::from_slice(&chain), target: StateRef::own(target) });
                    }
                });
            }
            self.bounds.compile_budget.spend(1 + chain.len())?;
            self.bounds.check_moves(n_made)?;
            let Some(context) = contexts.pop() else { break };
            chain = context.chain;
            is_closed = matches!(context.at, At::Items(_));
            match context.at {
                At::Items(items) => {
                    let n_before = contexts.len();
                    self.close(&chain, items, contexts, scratch)?;
                    n_made += (contexts.len() - n_before) * (2 + chain.len());
                }
                At::Child(slot, state) => {
                    let n_before = n_made;
                    self.child_moves(&chain, slot, state, |label, found| {
                        n_made += 1 + found.pushes.len();
                        by_letter.add(label, moves.len() as u32);
                        moves.push(found);
                    });
                    self.bounds.compile_budget.spend(n_made - n_before)?;
                }
            }
        }
        by_letter.for_each(|label, found| {
            let target = match found {
                &[index] if moves[index as usize].is_simple() => Target::State(moves[index as usize].target.state),
                _ => Target::List(self.list(&mut found.iter().map(|&index| moves[index as usize].clone()).collect())),
            };
            rows.push(label, target);
        });
        (self.workspace.row_scratch.moves, self.workspace.row_scratch.by_letter) = (moves, by_letter);
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
        // PERF: an empty one would be made for nothing.
        let closing = self.workspace.closing.take().unwrap_or_default();
        let Closing { mut entered, mut calls, mut call_of, mut groups, mut group_of } = closing;
        entered.clear();
        call_of.clear();
        group_of.clear();
        let mut closed = items;
        let mut next = 0;
        while next < closed.len() {
            let Item { member, state } = closed[next];
            next += 1;
            let automaton = self.automaton(member);
            self.bounds.compile_budget.spend(1 + automaton.edges(state).len())?;
            for edge in automaton.edges(state) {
                let target = Item { member, state: edge.target };
                let Label::Call(called) = edge.label else {
                    scratch.letters.add(edge.label, scratch.targets.len() as u32);
                    scratch.targets.push(target);
                    continue;
                };
                let caller = &self.members[member as usize];
                let callee = caller.rule.callee(called);
                let ends_rule = !caller.has_register && automaton.is_pure_end(edge.target);
                if !ends_rule {
                    let index = *call_of.entry(callee).or_insert_with(|| {
                        calls.push((callee, Items::new()));
                        calls.len() - 1
                    });
                    calls[index].1.push(target);
                } else if entered.insert(callee) {
                    match self.member_of(callee) {
                        Some(member) if !self.members[member as usize].has_register => {
                            closed.push(Item { member, state: 0 });
                        }
                        _ => contexts.push(self.enter(chain.clone(), callee)),
                    }
                }
            }
        }
        // Plain members of this unit that return to the same place are entered together.
        for (callee, returns) in calls.drain(..) {
            self.bounds.compile_budget.spend(1 + chain.len())?;
            for state in self.return_states(returns) {
                match self.member_of(callee) {
                    Some(member) if !self.members[member as usize].has_register && self.merges => {
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
        for (state, starts) in groups.drain(..) {
            let mut chain = chain.clone();
            chain.push(StateRef::own(state));
            contexts.push(Context { chain, at: At::Items(starts) });
        }
        self.workspace.closing = Some(Closing { entered, calls, call_of, groups, group_of });
        Ok(())
    }

    fn enter(&mut self, chain: Chain, callee: NetRuleId) -> Context {
        let at = match self.member_of(callee) {
            Some(member) => At::Items(SmallVec::from_slice(&[Item { member, state: 0 }])),
            None => {
                let (slot, state) = self.child(callee);
                At::Child(slot, state)
            }
        };
        Context { chain, at }
    }

    /// Returns where a rule of another unit begins: slot and state.
    fn child(&mut self, callee: NetRuleId) -> (u32, u32) {
        let entries = self.entries;
        let entry = entries[callee.index()].as_ref().expect("callees are built before their callers");
        (self.slot(&entry.unit), entry.state)
    }

    /// Passes the moves of a child's state to `found`, as seen from this unit.
    fn child_moves(&mut self, chain: &Chain, slot: u32, state: u32, mut found: impl FnMut(Label, Move)) {
        let child = Arc::clone(&self.workspace.children[slot as usize - 1]);
        for &(low, high, code) in child.runs(state).iter() {
            self.translate(chain, &child, slot, code, |one| found(Label::Bytes(low, high), one));
        }
        for &(token, list) in child.controls(state) {
            self.translate(chain, &child, slot, PackedMove::list(list), |one| found(Label::Control(token), one));
        }
    }

    /// Passes the moves of an entry of a child's table to `found`, as seen from this unit, over a chain.
    fn translate(&mut self, chain: &Chain, child: &Unit, slot: u32, code: PackedMove, mut found: impl FnMut(Move)) {
        match code.step() {
            Step::None => {}
            Step::Plain(target) | Step::Local(target) => {
                found(Move { pushes: Pushes::from_slice(chain), target: StateRef { slot, state: target } });
            }
            Step::List(list) => {
                for one in child.list(list) {
                    // Only grandchildren that first moves lead to become children: a long chain of units would have all that follow.
                    let mut translate = |place: StateRef| match place.slot {
                        0 => StateRef { slot, state: place.state },
                        theirs => StateRef {
                            slot: self.slot(&child.content.children[theirs as usize - 1]),
                            state: place.state,
                        },
                    };
                    let mut pushes = Pushes::from_slice(chain);
                    one.pushes.iter().for_each(|&place| pushes.push(translate(place)));
                    found(Move { pushes, target: translate(one.target) });
                }
            }
        }
    }

    fn register_rule(&mut self, register_rule: RegisterRule) -> u32 {
        *self.register_rule_ids.entry(register_rule).or_insert_with_key(|register_rule| {
            self.register_rules.push(register_rule.clone());
            self.register_rules.len() as u32 - 1
        })
    }

    fn info(&mut self, state: usize, row: &Row<'_>) -> StateInfo {
        let (first, n_items) = match self.is_direct {
            true => (Item { member: 0, state: state as u32 }, 1),
            false => (self.workspace.sets[state][0], self.workspace.sets[state].len()),
        };
        let member = &self.members[first.member as usize];
        let automaton = &*member.rule.automaton;
        if n_items == 1 && !member.has_register {
            // PERF: nearly all states.
            let kind = if automaton.is_accepting(first.state) { Kind::End } else { Kind::Inner };
            return StateInfo { kind, reads: reads(row), owner: None };
        }
        if let Some(strictest) = member.strictest.clone() {
            debug_assert_eq!(n_items, 1, "a rule with register rules is deterministic");
            let owner = Some(Owner::RegisterRules(self.register_rule(strictest)));
            let register_rule = automaton.register_rule(first.state).cloned();
            let kind = register_rule.map_or(Kind::Inner, |register_rule| Kind::RegisterRule {
                register_rule: self.register_rule(register_rule),
            });
            return StateInfo { kind, reads: reads(row), owner };
        }
        let owner = match (member.counter, member.has_register) {
            (Some(counter), _) => Some(Owner::Counter(counter)),
            (None, true) => member.distinct.map(Owner::DistinctValues),
            (None, false) => None,
        };
        let accepts = |item: &Item| self.automaton(item.member).is_accepting(item.state);
        let can_end = || if n_items == 1 { accepts(&first) } else { self.workspace.sets[state].iter().any(accepts) };
        let value = automaton.element(first.state);
        debug_assert!(
            self.is_direct
                || self.workspace.sets[state]
                    .iter()
                    .all(|item| self.automaton(item.member).element(item.state) == value),
            "values of one state are kept apart in one way"
        );
        let kind = match (member.counter, value) {
            // Only calls of values lead here.
            (None, Some(distinct)) => {
                let declared_keys = distinct.declared_keys.map(|index| member.declared_keys_base + index);
                Kind::DistinctValue(Distinct { declared_keys, ..distinct })
            }
            (Some(counter), _) if first.state == LOOP => Kind::Loop { counter },
            (Some(counter), _) if can_end() => {
                let between = member.single_base.wrapping_add(LOOP);
                Kind::BodyEnd { counter, loop_state: self.workspace.single_ids[between as usize] }
            }
            (None, None) if can_end() => Kind::End,
            _ => Kind::Inner,
        };
        StateInfo { kind, reads: reads(row), owner }
    }

    fn finish(mut self, rows: Rows, entries: SmallVec<[u32; 4]>) -> Result<Content, BuildError> {
        let infos = match &self.members[..] {
            [member] if self.is_direct && member.strictest.is_none() => {
                infos_of_states(&member.rule.automaton, member.distinct.map(Owner::DistinctValues), &rows)?
            }
            _ => known(StateInfos::of(rows.iter().enumerate().map(|(state, row)| self.info(state, &row))))?,
        };
        let table = MoveTable::new(&rows, &infos, self.bounds, self.n_listed)?;
        let has_controls = !rows.controls.is_empty();
        let mut controls: Vec<Box<[(u32, u32)]>> = Vec::new();
        for row in rows.iter().filter(|_| has_controls) {
            let lists = row.controls.iter().map(|&(token, target)| match target {
                Target::List(list) => (token, list),
                Target::State(state) => {
                    (token, self.list(&mut smallvec![Move { pushes: Pushes::new(), target: StateRef::own(state) }]))
                }
            });
            controls.push(lists.collect());
        }
        let content = Content {
            table,
            moves: self.workspace.listed.drain(..).collect(),
            list_ends: self.workspace.list_ends.as_slice().into(),
            infos,
            controls: controls.into(),
            counters: self.counters.into(),
            register_rules: self.register_rules.into(),
            declared_keys: self.declared_keys,
            children: self.workspace.children.drain(..).collect(),
            entries,
            has_distinct_values: self.members.iter().any(|member| member.distinct.is_some()),
        };
        self.workspace.rows = rows;
        Ok(content)
    }
}

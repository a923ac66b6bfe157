//! Finding the mask of a configuration: from each head down its stack, as far as the tokens can see.
//!
//! Each answer on the way down is a branch of a decision tree, and its mask is cached. That is right for grammars that are nearly
//! deterministic; but with `s ::= s s{2,3} | [ab]` a text of 30 letters can be under way in many ways, each node of its stacks has
//! dozens of exits, and the ways down that tokens of five letters can see are hundreds of thousands. And in `block*` with
//! `block ::= "(" block* ")" | [a-z ]+` a block may end, and the next one begin, behind each letter of each token. Past [`VISITS_MAX`],
//! [`WALKED_MAX`] or [`CLASSIFY_WORK_MAX`] the mask is found by walking all tokens with the whole configuration instead
//! ([`configuration`](super::configuration)), in which heads that meet are joined.

use super::controls::{add_controls, with_sets};
use super::decision::{DecisionId, DecisionNode, KeyPlace, Next, NodeKey};
use super::entry::MaskEntry;
use super::found::Found;
use super::remainder::{Remainder, ResumePoint};
use super::store::MaskStore;
use super::switches::ShortCut;
use super::table::{Place, Table};
use super::walk_context::WalkContext;
use super::walker::Walker;
use crate::automaton::{DONE, Program, StateId};
use crate::exec::{Head, OverBudget, StackNodeId, Stacks, Work, signature};
use crate::vocab::{TrieNode, Vocab};
use core::cell::Cell;
use core::ops::Deref;
use smallvec::SmallVec;
use std::sync::Arc;

/// Everything that a question about masks needs.
pub(crate) struct MaskQuery<'a> {
    pub program: &'a Program,
    pub vocab: &'a Vocab,
    pub store: &'a MaskStore,
    pub table: &'a Table,
    pub stacks: &'a Stacks,
    /// What finding masks has cost, and may.
    pub work: Cell<Work>,
    /// How many nodes were found in the table.
    pub n_hits: Cell<u64>,
    /// Memory that a walk may take, in bytes.
    pub walk_bytes_max: usize,
}

/// What [`fill`] found out on the way.
pub(crate) struct FillOutcome {
    /// Whether the mask allows no token.
    pub is_empty: bool,
    /// Where the node with the mask is in the table, if it is one head's and cached.
    pub place: Option<Place>,
}

/// Most nodes of decision trees to look at for one mask.
const VISITS_MAX: usize = 512;
/// How many times the vocabulary may be walked, counted in nodes, to make those that are missing.
const WALKED_MAX: u64 = 4;

/// Work of a walk beyond which its configuration is walked as a whole instead.
const CLASSIFY_WORK_MAX: u64 = 1 << 17;
/// How often that is halved, at most.
const CLASSIFY_HALVED_MAX: u32 = 5;
/// What beginning to walk at a place takes beside its steps, and how many words of a row are written in the time of a step: where many masks are made at once,
/// nodes and rows are not in the cache.
const WORK_PER_WALK: u64 = 16;
const WORDS_PER_WORK: u64 = 4;

/// Why the parts of a configuration are not looked at one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GaveUp {
    /// There are more ways down the stacks than are worth it.
    Ambiguous,
    OverBudget,
}

/// Makes `row` the mask of a configuration, without stop tokens; a part of it if that takes more work than is left.
pub(crate) fn fill(query: &MaskQuery<'_>, live: &[Head], row: &mut [u32]) -> Result<FillOutcome, OverBudget> {
    // The usual configuration is one head whose mask is cached, and then that is all there is to do.
    if let [head] = live
        && let Some((place, decision)) = query.cached_mask(*head)
    {
        decision.mask.write(row);
        return Ok(FillOutcome { is_empty: decision.is_empty, place: Some(place) });
    }
    match answers(query, live) {
        Ok(Reached { answers, are_cached }) => {
            query.write_union(&answers, are_cached, row);
            Ok(FillOutcome { is_empty: answers.iter().all(|answer| answer.is_empty), place: None })
        }
        Err(GaveUp::Ambiguous) => {
            let is_empty = query.write_configuration(live, row)?;
            Ok(FillOutcome { is_empty, place: None })
        }
        Err(GaveUp::OverBudget) => Err(OverBudget),
    }
}

/// Adds the mask of a configuration to `row`, without stop tokens; tells whether it is empty.
pub(crate) fn add(query: &MaskQuery<'_>, live: &[Head], row: &mut [u32]) -> Result<bool, OverBudget> {
    match answers(query, live) {
        Ok(Reached { answers, .. }) => {
            answers.iter().for_each(|answer| answer.mask.add_to(row));
            Ok(answers.iter().all(|answer| answer.is_empty))
        }
        Err(GaveUp::Ambiguous) => {
            let mut own = vec![0; row.len()];
            let is_empty = query.write_configuration(live, &mut own)?;
            row.iter_mut().zip(own).for_each(|(word, bits)| *word |= bits);
            Ok(is_empty)
        }
        Err(GaveUp::OverBudget) => Err(OverBudget),
    }
}

/// Returns what identifies the mask of a configuration, without stop tokens: equal ids, equal masks.
pub(crate) fn mask_ids(query: &MaskQuery<'_>, live: &[Head]) -> SmallVec<[u64; 2]> {
    match answers(query, live) {
        Ok(Reached { answers, .. }) => answers.iter().map(|answer| answer.id.0).collect(),
        Err(_) => {
            // What is not cached is like no other.
            let cached = query.find_configuration(live).map(|decision| decision.id);
            SmallVec::from_slice(&[cached.unwrap_or_else(DecisionNode::fresh_id).0])
        }
    }
}

/// Where a way down a stack is to be followed.
struct Question {
    /// The node above, and whether it is cached; nothing above a root.
    above: Option<(Arc<DecisionNode>, bool)>,
    head: Head,
}

/// A node of a decision tree whose mask is part of a configuration's.
pub(super) enum Answer<'a> {
    Cached(&'a DecisionNode),
    Shared(Arc<DecisionNode>),
}

impl Deref for Answer<'_> {
    type Target = DecisionNode;

    fn deref(&self) -> &DecisionNode {
        match self {
            Answer::Cached(decision) => decision,
            Answer::Shared(decision) => decision,
        }
    }
}

/// Nodes whose masks together are a mask, each once, by id.
pub(super) type Answers<'a> = SmallVec<[Answer<'a>; 4]>;

/// Where the ways from some heads down end.
struct Reached<'a> {
    answers: Answers<'a>,
    /// Whether all nodes on the way are cached now.
    are_cached: bool,
}

/// Returns the nodes whose masks together are the mask of `live`.
fn answers<'a>(query: &'a MaskQuery<'_>, live: &[Head]) -> Result<Reached<'a>, GaveUp> {
    if !ShortCut::Heads.is_on() {
        return Err(GaveUp::Ambiguous);
    }
    let (mut n_visits, mut n_walked, mut are_cached) = (0, 0, true);
    let mut answers = Answers::new();
    // Stacks that share nodes could be walked along exponentially many ways.
    let mut seen: SmallVec<[(DecisionId, StackNodeId); 16]> = SmallVec::new();
    let heads = live.iter().filter(|head| head.state != DONE);
    let mut pending: SmallVec<[Question; 4]> = heads.map(|&head| Question { above: None, head }).collect();
    while let Some(Question { above, head }) = pending.pop() {
        let (parent, is_parent_kept) =
            above.as_ref().map_or((DecisionId::NONE, true), |(above, is_kept)| (above.id, *is_kept));
        // What hangs below a node that is not cached would never be found again.
        let key = is_parent_kept.then(|| query.key(parent, head.state, head.register));
        let (decision, is_kept, node) = match key.and_then(|key| query.table.find(&key)) {
            // The usual mask has no remainders or one branching, and needs no reference counts.
            Some((place, decision)) => match query.descend_cached(place, decision, head.node) {
                Lookup::Found(_, decision) => {
                    answers.push(Answer::Cached(decision));
                    continue;
                }
                Lookup::Stuck(decision, node) => (Arc::clone(decision), true, node),
                Lookup::Ambiguous => return Err(GaveUp::Ambiguous),
            },
            None if above.is_some() && n_walked > WALKED_MAX * query.vocab.trie().n_nodes() as u64 => {
                return Err(GaveUp::Ambiguous);
            }
            None => {
                let (decision, is_kept, n_nodes) =
                    query.make_node(above.as_ref().map(|(above, _)| &**above), key, head)?;
                n_walked += if above.is_some() { n_nodes } else { 0 };
                are_cached &= is_kept;
                (decision, is_kept, head.node)
            }
        };
        if decision.next == Next::Configuration {
            return Err(GaveUp::Ambiguous);
        }
        if decision.remainders.is_empty() {
            answers.push(Answer::Shared(decision));
            continue;
        }
        if seen.contains(&(decision.id, node)) {
            continue;
        }
        seen.push((decision.id, node));
        n_visits += query.stacks.n_exits(node);
        if n_visits > VISITS_MAX {
            return Err(GaveUp::Ambiguous);
        }
        for exit in query.stacks.exits(node) {
            let decision = Arc::clone(&decision);
            match exit.state {
                // Nothing follows the whole text: what is below the remainders is refused.
                DONE => answers.push(Answer::Shared(decision)),
                _ => pending.push(Question { above: Some((decision, is_kept)), head: exit }),
            }
        }
    }
    answers.sort_unstable_by_key(|answer| answer.id);
    answers.dedup_by_key(|answer| answer.id);
    Ok(Reached { answers, are_cached })
}

enum Lookup<'a> {
    Found(Place, &'a DecisionNode),
    Stuck(&'a Arc<DecisionNode>, StackNodeId),
    Ambiguous,
}

impl MaskQuery<'_> {
    fn key(&self, parent: DecisionId, state: StateId, register: u64) -> NodeKey {
        let (linked, local) = self.program.place(state).expect("a live state belongs to a unit");
        NodeKey {
            parent,
            place: KeyPlace::State(linked.unit.unit_state(local)),
            register: self.signature(state, register),
        }
    }

    /// Returns a register that no token can tell from `register` in `state`. Masks that are cached know nothing of values that were read; the
    /// matcher looks again.
    pub(super) fn signature(&self, state: StateId, register: u64) -> u64 {
        // A token holds no more pieces than bytes.
        signature(self.program, state, register, self.vocab.token_bytes_max() as u32)
    }

    /// Returns the cached node that has the mask of a head, if one way leads to it.
    fn cached_mask(&self, head: Head) -> Option<(Place, &DecisionNode)> {
        if head.state == DONE {
            return None;
        }
        let (place, decision) = self.table.find(&self.key(DecisionId::NONE, head.state, head.register))?;
        match self.descend_cached(place, decision, head.node) {
            Lookup::Found(place, decision) => Some((place, decision)),
            Lookup::Stuck(..) | Lookup::Ambiguous => None,
        }
    }

    /// Goes down from a cached node as long as the answer is one exit and its node is cached.
    #[inline]
    fn descend_cached<'a>(
        &'a self,
        mut place: Place,
        mut decision: &'a Arc<DecisionNode>,
        mut node: StackNodeId,
    ) -> Lookup<'a> {
        self.count_hit();
        while !decision.remainders.is_empty() {
            if self.stacks.n_exits(node) != 1 {
                return Lookup::Stuck(decision, node);
            }
            let exit = self.stacks.exit(node, 0);
            if exit.state == DONE {
                break;
            }
            let Some(next) = self.table.find(&self.key(decision.id, exit.state, exit.register)) else {
                return Lookup::Stuck(decision, node);
            };
            self.count_hit();
            (place, decision) = next;
            node = exit.node;
        }
        if decision.next == Next::Configuration { Lookup::Ambiguous } else { Lookup::Found(place, decision) }
    }

    /// Walks on with a head, whose caller is unknown, where tokens go on: below the remainders of the node above, or at the root of the trie if there is none. Returns the new
    /// node, whether it is cached, and about how many trie nodes that took.
    #[cold]
    fn make_node(
        &self,
        above: Option<&DecisionNode>,
        key: Option<NodeKey>,
        Head { state, register, .. }: Head,
    ) -> Result<(Arc<DecisionNode>, bool, u64), GaveUp> {
        // What it costs to begin a walk.
        const NODES_PER_WALK: u64 = 4;
        let mut walker = self.store.take_walker();
        let work_max = self.classify_work_max(state);
        walker.clear(Work::up_to(work_max.min(self.work.get().left())));
        // Any register with this signature would do; the signature is one.
        let register = self.signature(state, register);
        let root = [ResumePoint::Node(TrieNode::ROOT).into()];
        for remainder in above.map_or(&root[..], |above| &above.remainders) {
            walker.walk_from(self.context(), remainder, state, register);
        }
        let n_nodes = walker.found.n_nodes + NODES_PER_WALK * walker.found.n_walks;
        if walker.is_spent() {
            let (node, is_kept) = self.give_up(walker, key, state, work_max)?;
            return Ok((node, is_kept, n_nodes));
        }
        self.spend_on(&walker);
        let mask = match above {
            Some(above) => {
                walker.found.flatten(self.vocab);
                above.mask.edited(&[], &walker.found.tokens, self.vocab.n_mask_words())
            }
            None => self.mask_of_state(state, &mut walker.found),
        };
        let remainders = distinct(&mut walker.found.remainders);
        let node = self.store.node(mask, remainders, self.vocab.n_mask_words(), &mut walker.scratch_row);
        self.store.put_walker(walker);
        let (node, is_kept) = self.keep(key, Arc::new(node));
        Ok((node, is_kept, n_nodes))
    }

    /// Returns the mask of what a walk from a state found, with the tokens that the state reads as a whole.
    fn mask_of_state(&self, state: StateId, found: &mut Found) -> MaskEntry {
        let (linked, local) = self.program.place(state).expect("a live state belongs to a unit");
        let n_words = self.vocab.n_mask_words();
        found.tokens.extend(linked.unit.named_tokens(local));
        with_sets(&linked.unit, local, self.vocab, found.mask(self.vocab, n_words))
    }

    /// Returns the work of a walk from a state beyond which its configuration is walked as a whole instead: the less, the more states of its unit took more.
    fn classify_work_max(&self, state: StateId) -> u64 {
        let n_ambiguous =
            self.program.place(state).map_or(0, |(linked, _)| self.store.n_ambiguous_states(&linked.unit));
        CLASSIFY_WORK_MAX >> n_ambiguous.min(CLASSIFY_HALVED_MAX)
    }

    /// Keeps that there are too many ways behind a key to take them one by one, unless that only took more than is left for this mask.
    fn give_up(
        &self,
        mut walker: Box<Walker>,
        key: Option<NodeKey>,
        state: StateId,
        work_max: u64,
    ) -> Result<(Arc<DecisionNode>, bool), GaveUp> {
        let work = walker.work_done();
        self.spend_on(&walker);
        walker.clear(Work::default());
        self.store.put_walker(walker);
        if work <= work_max {
            return Err(GaveUp::OverBudget);
        }
        if let Some((linked, _)) = self.program.place(state) {
            self.store.note_ambiguous(&linked.unit);
        }
        Ok(self.keep(key, Arc::new(DecisionNode::inner(Next::Configuration))))
    }

    /// Keeps a node under a key, if it has one; returns it or an equal one that was there before, and whether it is cached.
    fn keep(&self, key: Option<NodeKey>, node: Arc<DecisionNode>) -> (Arc<DecisionNode>, bool) {
        match key.and_then(|key| self.store.insert(key, &node)) {
            Some(cached) => (cached, true),
            None => (node, false),
        }
    }

    /// Counts a walk that made a mask, or gave up.
    fn spend_on(&self, walker: &Walker) {
        let (n_nodes, n_walks) = (walker.found.n_nodes, walker.found.n_walks);
        let n_words = self.vocab.n_mask_words() as u64;
        self.spend(walker.work_done() + n_nodes + WORK_PER_WALK * n_walks + n_words / WORDS_PER_WORK);
    }

    pub(super) fn count_hit(&self) {
        self.n_hits.set(self.n_hits.get() + 1);
    }

    fn spend(&self, work: u64) {
        let mut all = self.work.get();
        all.spend(work);
        self.work.set(all);
    }

    /// Makes `row` the mask of a configuration, as it was found before or by walking with all of its heads together; tells whether it is empty.
    #[cold]
    fn write_configuration(&self, live: &[Head], row: &mut [u32]) -> Result<bool, OverBudget> {
        if let Some(decision) = self.find_configuration(live) {
            self.count_hit();
            decision.mask.write(row);
            return Ok(decision.is_empty);
        }
        row.fill(0);
        let mut walk = self.store.configuration_walks.take(self.program);
        let work = Work::up_to(self.work.get().left());
        let walked = walk.add_to(self.context(), self.stacks, live, row, work, self.walk_bytes_max);
        if walked.is_ok() {
            for head in live {
                if let Some((linked, local)) = self.program.place(head.state) {
                    add_controls(&linked.unit, local, self.vocab, row);
                }
            }
            let read = walk.nodes_read();
            self.insert_configuration(live, |node| read.contains(&node), || self.node_of_row(row));
        }
        self.spend(walk.work_done());
        // A step that is over its budget would not be if it were tried again with what this one found out.
        if walked.is_ok() {
            self.store.configuration_walks.put(walk);
        }
        self.store.count_ambiguous_walk();
        walked.map(|()| row.iter().all(|&word| word == 0))
    }

    fn context(&self) -> WalkContext<'_> {
        WalkContext::new(self.program, self.vocab)
    }
}

/// Returns the remainders, each once: walks that began inside one another's part of the trie can end at the same nodes.
fn distinct(remainders: &mut Vec<Remainder>) -> Box<[Remainder]> {
    let key = |remainder: &Remainder| {
        let excluded = remainder.excluded.as_ref().map_or(0, |tokens| Arc::as_ptr(tokens).addr());
        match &remainder.point {
            ResumePoint::Node(node) => (0, 0, node.0, 0, excluded),
            ResumePoint::Merged(trie, node) => (1, Arc::as_ptr(trie).addr(), node.0, 0, excluded),
            ResumePoint::Region(region, after) => {
                let (first, last) = after.range();
                (2, Arc::as_ptr(region).addr(), u32::from(first), last, excluded)
            }
        }
    };
    remainders.sort_unstable_by_key(key);
    remainders.dedup_by_key(|remainder| key(remainder));
    remainders.as_slice().into()
}

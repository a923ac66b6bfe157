//! The decision trees of all masks over one vocabulary, shared by every grammar.
//!
//! Nodes are found in a [`Table`], without a lock. Adding one takes a lock, for a moment, after the walk that found its mask. When memory runs out, one bucket of
//! the table after the other is swept (the clock algorithm): nodes that were looked up since the last sweep stay, others go. A node whose
//! parent went is never found again, since ids are not used twice, and goes with a later sweep.

use super::configuration::ConfigurationWalks;
use super::decision::{DecisionId, DecisionNode, NodeKey};
use super::entry::MaskEntry;
use super::remainder::Remainder;
use super::row_pool::RowPool;
use super::table::{NODE_OVERHEAD_BYTES, Table};
use super::walker::Walker;
use crate::automaton::Unit;
use crate::util::Pool;
use ahash::AHashMap;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts of the masks cached by a compiler, since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MaskStats {
    /// Masks (and inner nodes of decision trees) cached as lists of tokens.
    pub n_sparse: usize,
    /// Kept as rows of bits.
    pub n_dense: usize,
    /// Kept as a shared row and lists of tokens to add and to take away.
    pub n_patched: usize,
    /// Memory of what is cached, in bytes.
    pub bytes: usize,
    /// Questions that were answered from the store. Matchers report theirs now and then, and when they are dropped.
    pub hits: u64,
    /// Questions that took a walk.
    pub misses: u64,
    /// Nodes forgotten to stay within the bound on memory.
    pub evictions: u64,
    /// Walks over the vocabulary, or over parts of it.
    pub walks: u64,
    /// Trie nodes that the walks visited.
    pub nodes_walked: u64,
    /// Walks over the vocabulary with a whole configuration, since the text can be read in many ways.
    pub ambiguous_walks: u64,
}

impl MaskStats {
    /// Returns the number of masks of this form.
    fn form_mut(&mut self, mask: &MaskEntry) -> &mut usize {
        match mask {
            MaskEntry::Sparse(_) => &mut self.n_sparse,
            MaskEntry::Dense(_) => &mut self.n_dense,
            MaskEntry::Patched { .. } => &mut self.n_patched,
        }
    }
}

/// The decision trees over one vocabulary.
#[derive(Debug)]
pub(crate) struct MaskStore {
    bytes_max: usize,
    /// That of the newest table.
    version: AtomicU64,
    inner: Mutex<Inner>,
    rows: RowPool,
    walkers: Pool<Walker>,
    pub(super) configuration_walks: ConfigurationWalks,
    hits: AtomicU64,
    ambiguous: Mutex<Ambiguous>,
}

/// What took more work than is worth it part by part.
#[derive(Debug, Default)]
struct Ambiguous {
    /// The rules, the first of them.
    rules: BTreeSet<String>,
    /// By unit: how many of its states.
    states: AHashMap<u32, u32>,
}

/// Most rules and units that are noted.
const AMBIGUOUS_RULES_MAX: usize = 64;
const AMBIGUOUS_UNITS_MAX: usize = 1024;

#[derive(Debug)]
struct Inner {
    table: Arc<Table>,
    memory: Memory,
    /// The bucket to sweep next.
    hand: usize,
    stats: MaskStats,
}

/// What the nodes of a table take.
#[derive(Debug, Default)]
struct Memory {
    bytes: usize,
    /// Where rows and merged tries are, how many nodes share each, and its bytes, which count once. No hash table, since one that grows moves all that it holds: with a hundred
    /// thousand rows, that took 2 to 5 ms.
    shared: BTreeMap<usize, (u32, usize)>,
}

impl Memory {
    /// Returns what one more node takes, in bytes.
    fn of_one_more(&self, node: &DecisionNode) -> usize {
        let new = node.shared().filter(|(place, _)| !self.shared.contains_key(place));
        Memory::of_own(node) + new.map(|(_, bytes)| bytes).sum::<usize>()
    }

    fn of_own(node: &DecisionNode) -> usize {
        node.memory_bytes() + NODE_OVERHEAD_BYTES
    }

    fn add(&mut self, node: &DecisionNode) {
        self.bytes += self.of_one_more(node);
        for (place, bytes) in node.shared() {
            self.shared.entry(place).or_insert((0, bytes)).0 += 1;
        }
    }

    fn remove(&mut self, node: &DecisionNode) {
        self.bytes -= Memory::of_own(node);
        for (place, _) in node.shared() {
            let (n_sharing, bytes) = self.shared.get_mut(&place).expect("the node was added");
            *n_sharing -= 1;
            if *n_sharing == 0 {
                self.bytes -= *bytes;
                self.shared.remove(&place);
            }
        }
    }
}

impl Inner {
    /// Sweeps one bucket.
    fn sweep(&mut self) {
        let bucket = self.table.bucket_from(self.hand);
        self.hand = bucket + 1;
        let (table, forgotten) = self.table.swept(bucket);
        self.table = Arc::new(table);
        for node in &forgotten {
            self.memory.remove(node);
            *self.stats.form_mut(&node.mask) -= 1;
        }
        self.stats.evictions += forgotten.len() as u64;
    }
}

impl MaskStore {
    /// Returns an empty store that keeps at most about `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        let (memory, stats) = (Memory::default(), MaskStats::default());
        MaskStore {
            bytes_max,
            version: AtomicU64::new(0),
            inner: Mutex::new(Inner { table: Arc::new(Table::new(0)), memory, hand: 0, stats }),
            rows: RowPool::default(),
            walkers: Pool::default(),
            configuration_walks: ConfigurationWalks::default(),
            hits: AtomicU64::new(0),
            ambiguous: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing below panics half-way in a state that matters.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest table.
    pub fn table(&self) -> Arc<Table> {
        Arc::clone(&self.lock().table)
    }

    /// Makes `table` the newest one.
    #[inline]
    pub fn refresh(&self, table: &mut Arc<Table>) {
        if self.version.load(Ordering::Acquire) != table.version() {
            *table = self.table();
        }
    }

    /// Keeps a node, if there is room. Returns the one that is found under the key from now on, this one or an equal one that was there before; `None`
    /// if it is not cached.
    pub fn insert(&self, key: NodeKey, node: &Arc<DecisionNode>) -> Option<Arc<DecisionNode>> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        if let Some((_, known)) = inner.table.find(&key) {
            return Some(Arc::clone(known));
        }
        let has_room = |inner: &Inner| inner.memory.bytes + inner.memory.of_one_more(node) <= self.bytes_max;
        let is_kept = if !has_room(inner) {
            // One bucket, however little that frees: a step does not wait for a whole round.
            if inner.memory.of_one_more(node) <= self.bytes_max / 2 {
                inner.sweep();
            }
            has_room(inner) && inner.table.add(key, node)
        } else if inner.table.add(key, node) {
            true
        } else if let Some(table) = inner.table.with_room_for(&key) {
            inner.table = Arc::new(table);
            inner.table.add(key, node)
        } else {
            false
        };
        if is_kept {
            inner.memory.add(node);
            *inner.stats.form_mut(&node.mask) += 1;
        }
        if inner.table.version() != self.version.load(Ordering::Relaxed) {
            self.version.store(inner.table.version(), Ordering::Release);
        }
        is_kept.then(|| Arc::clone(node))
    }

    /// As [`Self::insert`], for the node of a list below a node.
    pub fn insert_list(&self, parent: DecisionId, list: &[u64], node: DecisionNode) -> Option<Arc<DecisionNode>> {
        let cached = self.insert(NodeKey::of_list(parent, list), &Arc::new(node.under(list)))?;
        (*cached.list == *list).then_some(cached)
    }

    /// Returns a new node, with its mask in the form that suits it beside those that are cached.
    /// `scratch` is memory for a row.
    pub fn node(
        &self,
        mask: MaskEntry,
        remainders: Box<[Remainder]>,
        n_words: usize,
        scratch: &mut Vec<u32>,
    ) -> DecisionNode {
        DecisionNode::new(self.rows.delta_encoded(mask, n_words, scratch), remainders)
    }

    /// Returns a walker, and takes it back with [`Self::put_walker`].
    pub fn take_walker(&self) -> Box<Walker> {
        self.walkers.take()
    }

    /// Takes a walker back, and counts what it did.
    pub fn put_walker(&self, walker: Box<Walker>) {
        {
            let found = &walker.found;
            let stats = &mut self.lock().stats;
            stats.misses += 1;
            stats.walks += found.n_walks;
            stats.nodes_walked += found.n_nodes;
        }
        if walker.is_small() {
            self.walkers.put(walker);
        }
    }

    /// Notes that the texts behind a state of a unit can be read in many ways.
    pub fn note_ambiguous(&self, unit: &Unit) {
        let mut ambiguous = self.ambiguous();
        if ambiguous.rules.len() < AMBIGUOUS_RULES_MAX {
            ambiguous.rules.insert(unit.name.clone().into_owned());
        }
        if ambiguous.states.len() == AMBIGUOUS_UNITS_MAX {
            ambiguous.states.clear();
        }
        *ambiguous.states.entry(unit.uid).or_default() += 1;
    }

    /// Returns of how many states of a unit that was noted.
    pub fn n_ambiguous_states(&self, unit: &Unit) -> u32 {
        self.ambiguous().states.get(&unit.uid).copied().unwrap_or(0)
    }

    /// Returns the rules that were noted.
    pub fn ambiguous_rules(&self) -> Vec<String> {
        self.ambiguous().rules.iter().cloned().collect()
    }

    fn ambiguous(&self) -> MutexGuard<'_, Ambiguous> {
        self.ambiguous.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a walk with a whole configuration.
    pub fn count_ambiguous_walk(&self) {
        let stats = &mut self.lock().stats;
        stats.misses += 1;
        stats.ambiguous_walks += 1;
    }

    /// Adds to the count of hits.
    pub fn add_hits(&self, hits: u64) {
        self.hits.fetch_add(hits, Ordering::Relaxed);
    }

    /// Forgets everything that is cached.
    pub fn clear(&self) {
        // They remember parts of masks.
        self.walkers.clear();
        self.configuration_walks.clear();
        self.rows.clear();
        // The rules are a report, and stay.
        self.ambiguous().states.clear();
        let mut inner = self.lock();
        let n_nodes = inner.stats.n_sparse + inner.stats.n_dense + inner.stats.n_patched;
        inner.stats.evictions += n_nodes as u64;
        (inner.stats.n_sparse, inner.stats.n_dense, inner.stats.n_patched) = (0, 0, 0);
        (inner.memory, inner.hand) = (Memory::default(), 0);
        inner.table = Arc::new(Table::new(inner.table.version() + 1));
        self.version.store(inner.table.version(), Ordering::Release);
    }

    pub fn stats(&self) -> MaskStats {
        let inner = self.lock();
        MaskStats { bytes: inner.memory.bytes, hits: self.hits.load(Ordering::Relaxed), ..inner.stats }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decision::KeyPlace;
    use super::super::remainder::ResumePoint;
    use super::*;
    use crate::automaton::{LocalState, UnitState};
    use crate::vocab::{TrieNode, Vocab};
    use smallvec::SmallVec;

    const BYTES_MAX: usize = 1 << 19;

    fn key(n: u32) -> NodeKey {
        let place = KeyPlace::State(UnitState { uid: n / 3, state: LocalState(n) });
        NodeKey { parent: DecisionId(u64::from(n % 7)), place, register: u64::from(n) << 40 }
    }

    fn node(n: u32) -> Arc<DecisionNode> {
        Arc::new(DecisionNode::new(MaskEntry::Sparse(SmallVec::from_slice(&[n])), Box::new([])))
    }

    fn token_of(node: &DecisionNode) -> u32 {
        let MaskEntry::Sparse(ids) = &node.mask else { panic!("a list") };
        ids[0]
    }

    #[test]
    fn all_nodes_are_found_in_a_table_that_grows_bucket_by_bucket() {
        let store = MaskStore::new(1 << 30);
        for n in 0..50_000 {
            assert!(store.insert(key(n), &node(n)).is_some());
        }
        let table = store.table();
        assert!(table.version() > 64 && store.stats().n_sparse == 50_000 && store.stats().evictions == 0);
        for n in 0..50_000 {
            let (place, found) = table.find(&key(n)).expect("it was cached");
            assert_eq!((token_of(found), token_of(table.node(place))), (n, n));
            assert!(table.find(&NodeKey { register: 1, ..key(n) }).is_none());
        }
    }

    #[test]
    fn a_table_is_as_it_was_for_those_who_still_read_it() {
        let store = MaskStore::new(1 << 30);
        let first = store.table();
        (0..1000).for_each(|n| assert!(store.insert(key(n), &node(n)).is_some()));
        assert!((0..1000).filter(|&n| first.find(&key(n)).is_some()).count() < 1000);
        // What a reader of an old table does not find is there already.
        let known = store.insert(key(999), &node(5)).expect("it is cached");
        assert_eq!(token_of(&known), 999);
    }

    #[test]
    fn a_full_store_forgets_what_nobody_uses_and_stays_within_its_bound() {
        let store = MaskStore::new(BYTES_MAX);
        let mut table = store.table();
        for n in 0..20_000 {
            store.refresh(&mut table);
            store.insert(key(n), &node(n));
            if let Some((_, first)) = table.find(&key(0)) {
                assert_eq!(token_of(first), 0);
            }
            assert!(store.stats().bytes <= BYTES_MAX);
        }
        assert!(store.stats().evictions > 10_000);
        store.refresh(&mut table);
        let found = (0..20_000).filter_map(|n| Some((n, token_of(table.find(&key(n))?.1))));
        let found: Vec<(u32, u32)> = found.collect();
        // The first node was looked up all the time.
        assert!(
            found.len() > 500 && found[0] == (0, 0) && found.iter().all(|(n, token)| n == token),
            "{}",
            found.len()
        );
    }

    #[test]
    fn a_child_is_not_found_below_another_node_that_came_after_its_parent_was_forgotten() {
        let store = MaskStore::new(BYTES_MAX);
        let parent = store.insert(key(0), &node(0)).expect("there is room");
        let child = |parent: &DecisionNode| NodeKey { parent: parent.id, ..key(1) };
        store.insert(child(&parent), &node(1)).expect("there is room");
        (2..20_000).for_each(|n| drop(store.insert(key(n), &node(n))));
        assert!(store.table().find(&key(0)).is_none(), "the parent was forgotten");
        let again = (0..10_000).find_map(|_| store.insert(key(0), &node(0))).expect("there is room at last");
        assert!(store.table().find(&child(&again)).is_none());
    }

    #[test]
    fn a_list_is_not_taken_for_another_one_of_the_same_key() {
        let store = MaskStore::new(BYTES_MAX);
        let new = |n: u32| DecisionNode::new(MaskEntry::Sparse(SmallVec::from_slice(&[n])), Box::new([]));
        let (here, there) = (DecisionId(1), DecisionId(2));
        store.insert_list(here, &[1, 2], new(1)).expect("there is room");
        // As if the two lists had one hash.
        store.insert(NodeKey::of_list(here, &[3, 4]), &Arc::new(new(2).under(&[1, 2]))).expect("there is room");
        assert!(store.insert_list(here, &[3, 4], new(3)).is_none(), "it can't be cached");
        let known = store.insert_list(here, &[1, 2], new(4)).expect("it is cached");
        let table = store.table();
        assert!(token_of(&known) == 1 && table.find_list(here, &[1, 2]).is_some_and(|node| token_of(node) == 1));
        assert!(table.find_list(here, &[3, 4]).is_none() && table.find_list(there, &[1, 2]).is_none());
        assert!(table.find_list(here, &[1, 2, 0]).is_none() && table.find_list(here, &[]).is_none());
    }

    #[test]
    fn rows_and_tries_that_nodes_share_count_once_until_the_last_one_goes() {
        let vocab = Vocab::from_tokens(["ab", "ac", "b"]).unwrap();
        let trie = vocab.merged(&[vocab.trie().find(b"a").unwrap()]);
        let row: Arc<[u32]> = Arc::from([1; 1000]);
        // Two places in one trie.
        let places =
            || [TrieNode::ROOT, TrieNode::ROOT.next()].map(|node| ResumePoint::Merged(Arc::clone(&trie), node));
        let remainders = || places().map(Remainder::from).into();
        let dense = || Arc::new(DecisionNode::new(MaskEntry::Dense(Arc::clone(&row)), remainders()));
        let mut memory = Memory::default();
        let (first, second) = (dense(), dense());
        memory.add(&first);
        let of_one = memory.bytes;
        memory.add(&second);
        let of_more = memory.bytes - of_one;
        assert!(of_more < 1000, "{of_more}");
        assert_eq!(of_one, of_more + 4000 + trie.memory_bytes());
        memory.remove(&first);
        assert_eq!(memory.bytes, of_one);
        memory.remove(&second);
        assert!(memory.bytes == 0 && memory.shared.is_empty());
    }

    #[test]
    fn a_node_that_is_too_large_is_no_reason_to_forget_others() {
        let store = MaskStore::new(BYTES_MAX);
        assert!(store.insert(key(1), &node(1)).is_some());
        let large = Arc::new(DecisionNode::new(MaskEntry::Sparse((0..1_000_000).collect()), Box::new([])));
        for _ in 0..40 {
            assert!(store.insert(key(0), &large).is_none());
        }
        assert!(store.table().find(&key(1)).is_some());
    }
}

//! A hash table that is read without locks, and grows and shrinks piece by piece.
//!
//! The simple table, an array of slots that is copied into one twice as large, moves everything at once: with a million nodes that takes 200 ms, within one
//! `fill_mask`. So does forgetting what is not used any more. Here a table is a *directory* of *buckets* (extendible hashing: Fagin, Nievergelt, Pippenger,
//! Strong, ACM TODS 4(3), 1979): the low bits of a hash say which bucket, and a bucket that is full is replaced by two, told apart by one bit more.
//!
//! ```text
//! low bits of a hash      00   01   10   11
//! directory                |    |    |    |
//! buckets                  A    B    A    C      A knows one bit (depth 1), B and C two
//! ```
//!
//! A [`Table`] is immutable but for nodes that are added to its buckets; each replacement of a bucket makes a new table that shares all others with
//! the old one, and most of the directory, which is cut into pages. Readers keep the table that they have until the owner tells that there is a newer
//! one; what they don't find in it they ask for again under the owner's lock.
//!
//! Cost: finding takes one probe sequence in one bucket. Replacing a bucket moves [`BUCKET_NODES`] nodes at most and copies one or two pages of the
//! directory and the list of its pages. Buckets are small since nearly all of them fill up at the same time: with 1,024 nodes in each, hundreds of
//! steps in a row took 200 to 400 us.

use super::decision::{DecisionId, DecisionNode, NodeKey};
use ahash::RandomState;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Nodes that a bucket has room for.
const BUCKET_NODES: usize = 128;
/// The fewest that it has room for: not the same number in all buckets, so that they don't all fill up at the same time.
const BUCKET_NODES_MIN: usize = 88;
/// A power of two, so that at most half of them are taken.
const BUCKET_SLOTS: usize = 2 * BUCKET_NODES;
/// Buckets that a page of the directory lists.
const PAGE_BUCKETS: usize = 64;
/// Most hash bits that buckets are told apart by. A directory of this size has room for 2^27 nodes.
const DEPTH_MAX: u32 = 20;

/// Where a node is in one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    bucket: u32,
    index: u32,
}

/// What a node takes in the table beside itself, in bytes: its slots and its entry, at the load that buckets have on average.
pub(super) const NODE_OVERHEAD_BYTES: usize = 3 * size_of::<AtomicU64>() + 3 * size_of::<Entry>() / 2 + 16;

/// Room for a node, set once.
type Entry = OnceLock<(NodeKey, Arc<DecisionNode>)>;

/// Some nodes, found by their keys.
#[derive(Debug)]
struct Bucket {
    /// How many low bits of the directory's half of a hash are the same for all of its nodes.
    depth: u32,
    /// Nodes that it has. Changed under the owner's lock.
    n_nodes: AtomicU32,
    n_nodes_max: u32,
    /// Open addressing: a node's index plus 1 below the other half of its key's hash, or 0.
    slots: [AtomicU64; BUCKET_SLOTS],
    entries: [Entry; BUCKET_NODES],
}

impl Bucket {
    /// Returns an empty bucket for the hashes with these low bits.
    fn new(depth: u32, bits: u32) -> Self {
        let scattered = (bits | 1 << depth).wrapping_mul(0x9E37_79B9) >> 16;
        let n_nodes_max = BUCKET_NODES_MIN as u32 + scattered % (BUCKET_NODES - BUCKET_NODES_MIN + 1) as u32;
        Bucket {
            depth,
            n_nodes: AtomicU32::new(0),
            n_nodes_max,
            slots: [const { AtomicU64::new(0) }; BUCKET_SLOTS],
            entries: [const { OnceLock::new() }; BUCKET_NODES],
        }
    }

    /// Returns a bucket with some nodes of another one.
    fn with<'a>(
        depth: u32,
        bits: u32,
        nodes: impl Iterator<Item = (u64, &'a (NodeKey, Arc<DecisionNode>))>,
    ) -> Arc<Self> {
        let bucket = Arc::new(Bucket::new(depth, bits));
        nodes.for_each(|(hash, (key, node))| bucket.put(hash, *key, node));
        bucket
    }

    fn nodes(&self) -> impl Iterator<Item = &(NodeKey, Arc<DecisionNode>)> + Clone {
        self.entries.iter().map_while(OnceLock::get)
    }

    /// Adds a node, and tells whether there was room. The caller holds the owner's lock.
    fn add(&self, hash: u64, key: NodeKey, node: &Arc<DecisionNode>) -> bool {
        let has_room = self.n_nodes.load(Ordering::Relaxed) < self.n_nodes_max;
        if has_room {
            self.put(hash, key, node);
        }
        has_room
    }

    /// Adds a node. The caller holds the owner's lock.
    fn put(&self, hash: u64, key: NodeKey, node: &Arc<DecisionNode>) {
        let index = self.n_nodes.load(Ordering::Relaxed);
        assert!(self.entries[index as usize].set((key, Arc::clone(node))).is_ok(), "entry {index} is set once");
        let mut slot = hash as usize % BUCKET_SLOTS;
        while self.slots[slot].load(Ordering::Relaxed) != 0 {
            slot = (slot + 1) % BUCKET_SLOTS;
        }
        self.slots[slot].store(hash << 32 | u64::from(index + 1), Ordering::Release);
        self.n_nodes.store(index + 1, Ordering::Relaxed);
    }
}

/// A directory of buckets.
#[derive(Debug)]
pub(crate) struct Table {
    /// Greater than that of all tables that it replaces.
    version: u64,
    hasher: RandomState,
    /// By the low bits of the directory's half of a hash: the buckets of a page are told apart by the lowest ones.
    directory: Box<[Arc<Page>]>,
}

/// Some consecutive entries of a directory.
type Page = [Arc<Bucket>; PAGE_BUCKETS];

impl Table {
    /// Returns an empty table.
    pub fn new(version: u64) -> Self {
        let bucket = Arc::new(Bucket::new(0, 0));
        let page: Page = core::array::from_fn(|_| Arc::clone(&bucket));
        Table { version, hasher: RandomState::new(), directory: Box::new([Arc::new(page)]) }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the half of a hash that finds a bucket.
    fn bits(hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    /// Returns how many entries the directory has.
    fn len(&self) -> usize {
        self.directory.len() * PAGE_BUCKETS
    }

    /// Returns the entry of the directory for a hash.
    fn entry_of(&self, hash: u64) -> usize {
        Table::bits(hash) as usize & (self.len() - 1)
    }

    /// Returns the bucket at an entry of the directory.
    fn bucket(&self, at: usize) -> &Arc<Bucket> {
        &self.directory[at / PAGE_BUCKETS][at % PAGE_BUCKETS]
    }

    /// Returns the node at a place in this table.
    pub fn node(&self, place: Place) -> &DecisionNode {
        let entry = self.bucket(place.bucket as usize).entries[place.index as usize].get();
        &entry.expect("a place is that of a node").1
    }

    /// Returns the node with this key, and its place.
    #[inline]
    pub fn find(&self, key: &NodeKey) -> Option<(Place, &Arc<DecisionNode>)> {
        let hash = self.hasher.hash_one(key);
        let at = self.entry_of(hash);
        let bucket = &**self.bucket(at);
        let mut slot = hash as usize % BUCKET_SLOTS;
        loop {
            let found = bucket.slots[slot].load(Ordering::Acquire);
            let index = (found as u32).checked_sub(1)?;
            // The upper half of a slot is compared first; reading another node's key would be a cache miss.
            if found >> 32 == hash & u64::from(u32::MAX)
                && let Some((known, node)) = bucket.entries[index as usize].get()
                && known == key
            {
                node.mark_used();
                return Some((Place { bucket: at as u32, index }, node));
            }
            slot = (slot + 1) % BUCKET_SLOTS;
        }
    }

    /// Returns the node of a list below a node.
    pub fn find_list(&self, parent: DecisionId, list: &[u64]) -> Option<&Arc<DecisionNode>> {
        let (_, node) = self.find(&NodeKey::of_list(parent, list))?;
        (*node.list == *list).then_some(node)
    }

    /// Adds a node that is not there yet, if its bucket has room; tells whether it has. The caller holds the owner's lock.
    pub fn add(&self, key: NodeKey, node: &Arc<DecisionNode>) -> bool {
        let hash = self.hasher.hash_one(key);
        self.bucket(self.entry_of(hash)).add(hash, key, node)
    }

    /// Returns this table with two buckets in place of the one of `key`; nothing if there can't be more.
    pub fn with_room_for(&self, key: &NodeKey) -> Option<Table> {
        let at = self.entry_of(self.hasher.hash_one(key));
        let full = self.bucket(at);
        let bit = 1 << full.depth;
        let half = |is_set: bool| {
            let nodes = full.nodes().map(|node| (self.hasher.hash_one(node.0), node));
            let bits = low_bits(at, full.depth) | if is_set { bit } else { 0 };
            Bucket::with(full.depth + 1, bits, nodes.filter(|(hash, _)| (Table::bits(*hash) & bit != 0) == is_set))
        };
        (full.depth < DEPTH_MAX).then(|| self.with_buckets(at, &[half(false), half(true)]))
    }

    /// Returns the first entry of the directory from `at` on, round the directory, that is the first of its bucket.
    pub fn bucket_from(&self, at: usize) -> usize {
        let is_first = |&at: &usize| at >> self.bucket(at).depth == 0;
        (at..self.len()).find(is_first).unwrap_or(0)
    }

    /// Returns this table without the nodes of a bucket that were not used since its last sweep, and those nodes.
    pub fn swept(&self, at: usize) -> (Table, Vec<Arc<DecisionNode>>) {
        let old = self.bucket(at);
        let (used, forgotten): (Vec<_>, Vec<_>) = old.nodes().partition(|(_, node)| node.take_used());
        let used = used.iter().map(|&entry| (self.hasher.hash_one(entry.0), entry));
        let swept = Bucket::with(old.depth, low_bits(at, old.depth), used);
        (self.with_buckets(at, &[swept]), forgotten.into_iter().map(|(_, node)| Arc::clone(node)).collect())
    }

    /// Returns this table with the bucket at an entry replaced by another one, or by two that are told apart by one bit more.
    fn with_buckets(&self, at: usize, new: &[Arc<Bucket>]) -> Table {
        let old_depth = self.bucket(at).depth;
        let n_bits = new.iter().map(|bucket| bucket.depth).max().unwrap_or(0);
        let len = self.len().max(1 << n_bits);
        let is_of_old = |bits: usize| (bits ^ at) & ((1 << old_depth) - 1) == 0;
        let directory = (0..len).step_by(PAGE_BUCKETS).map(|first| {
            let page = &self.directory[(first / PAGE_BUCKETS) & (self.directory.len() - 1)];
            if !is_of_old(first | (at % PAGE_BUCKETS)) {
                return Arc::clone(page);
            }
            Arc::new(core::array::from_fn(|k| match first + k {
                bits if is_of_old(bits) => Arc::clone(&new[(bits >> old_depth) & (new.len() - 1)]),
                _ => Arc::clone(&page[k]),
            }))
        });
        Table { version: self.version + 1, hasher: self.hasher.clone(), directory: directory.collect() }
    }
}

/// Returns the bits of an entry of the directory that all nodes of a bucket have in common.
fn low_bits(at: usize, depth: u32) -> u32 {
    at as u32 & ((1 << depth) - 1)
}

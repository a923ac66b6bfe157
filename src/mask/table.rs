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
//! the old one. Readers keep the table that they have until the owner tells that there is a newer one; what they don't find in it they ask for again
//! under the owner's lock.
//!
//! Cost: finding takes one probe sequence in one bucket; replacing a bucket moves [`BUCKET_NODES_MAX`] nodes at most, and copies the directory.

use super::decision::{DecisionNode, NodeKey};
use ahash::RandomState;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Most nodes of a bucket. Moving them takes some 100 us, mostly waiting for memory.
const BUCKET_NODES_MAX: usize = 1024;
/// Room in the first bucket.
const BUCKET_NODES_MIN: usize = 64;
/// Most hash bits that buckets are told apart by. A directory of this size has room for 2^30 nodes.
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
    /// Open addressing: a node's index plus 1 below the other half of its key's hash, or 0. A power of two, twice as many as entries.
    slots: Box<[AtomicU64]>,
    entries: Box<[Entry]>,
    /// Nodes that it has. Changed under the owner's lock.
    n_nodes: AtomicU32,
}

impl Bucket {
    fn new(depth: u32, n_nodes_max: usize) -> Self {
        Bucket {
            depth,
            slots: (0..2 * n_nodes_max).map(|_| AtomicU64::new(0)).collect(),
            entries: (0..n_nodes_max).map(|_| OnceLock::new()).collect(),
            n_nodes: AtomicU32::new(0),
        }
    }

    /// Returns a bucket with some nodes, and room for as many more as buckets should have when they are made.
    fn with<'a>(depth: u32, nodes: impl Iterator<Item = (u64, &'a (NodeKey, Arc<DecisionNode>))> + Clone) -> Self {
        let n_nodes = nodes.clone().count();
        let bucket = Bucket::new(depth, (2 * n_nodes).next_power_of_two().clamp(BUCKET_NODES_MIN, BUCKET_NODES_MAX));
        nodes.for_each(|(hash, (key, node))| assert!(bucket.add(hash, *key, node), "there is room for what was there"));
        bucket
    }

    fn nodes(&self) -> impl Iterator<Item = &(NodeKey, Arc<DecisionNode>)> + Clone {
        self.entries.iter().map_while(OnceLock::get)
    }

    /// Adds a node, and tells whether there was room. The caller holds the owner's lock.
    fn add(&self, hash: u64, key: NodeKey, node: &Arc<DecisionNode>) -> bool {
        let index = self.n_nodes.load(Ordering::Relaxed);
        let Some(entry) = self.entries.get(index as usize) else { return false };
        assert!(entry.set((key, Arc::clone(node))).is_ok(), "entry {index} is set once");
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot].load(Ordering::Relaxed) != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot].store(hash << 32 | u64::from(index + 1), Ordering::Release);
        self.n_nodes.store(index + 1, Ordering::Relaxed);
        true
    }

    fn has_room(&self) -> bool {
        (self.n_nodes.load(Ordering::Relaxed) as usize) < self.entries.len()
    }
}

/// A directory of buckets.
#[derive(Debug)]
pub(crate) struct Table {
    /// Greater than that of all tables that it replaces.
    version: u64,
    hasher: RandomState,
    /// By the low bits of the directory's half of a hash.
    directory: Box<[Arc<Bucket>]>,
}

impl Table {
    /// Returns an empty table.
    pub fn new(version: u64) -> Self {
        Table { version, hasher: RandomState::new(), directory: Box::new([Arc::new(Bucket::new(0, BUCKET_NODES_MIN))]) }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the half of a hash that finds a bucket.
    fn bits(hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    fn bucket_of(&self, hash: u64) -> usize {
        Table::bits(hash) as usize & (self.directory.len() - 1)
    }

    /// Returns the node at a place in this table.
    pub fn node(&self, place: Place) -> &DecisionNode {
        let entry = self.directory[place.bucket as usize].entries[place.index as usize].get();
        &entry.expect("a place is that of a node").1
    }

    /// Returns the node with this key, and its place.
    #[inline]
    pub fn find(&self, key: &NodeKey) -> Option<(Place, &Arc<DecisionNode>)> {
        let hash = self.hasher.hash_one(key);
        let at = self.bucket_of(hash);
        let bucket = &*self.directory[at];
        let mask = bucket.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let found = bucket.slots[slot].load(Ordering::Acquire);
            let index = (found as u32).checked_sub(1)?;
            // PERF: the upper half of a slot is compared first; reading another node's key would be a cache miss.
            if found >> 32 == hash & u64::from(u32::MAX)
                && let Some((known, node)) = bucket.entries[index as usize].get()
                && known == key
            {
                node.mark_used();
                return Some((Place { bucket: at as u32, index }, node));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a node that is not there yet, if its bucket has room; tells whether it has. The caller holds the owner's lock.
    pub fn add(&self, key: NodeKey, node: &Arc<DecisionNode>) -> bool {
        let hash = self.hasher.hash_one(key);
        self.directory[self.bucket_of(hash)].add(hash, key, node)
    }

    /// Returns this table with more room in the bucket of `key`; nothing if there can't be more.
    pub fn with_room_for(&self, key: &NodeKey) -> Option<Table> {
        let hash = self.hasher.hash_one(key);
        let full = &self.directory[self.bucket_of(hash)];
        debug_assert!(!full.has_room());
        let nodes = || full.nodes().map(|node| (self.hasher.hash_one(node.0), node));
        if full.entries.len() < BUCKET_NODES_MAX {
            return Some(self.with_buckets(full, &[Arc::new(Bucket::with(full.depth, nodes()))]));
        }
        let bit = 1 << full.depth;
        let half = |is_set: bool| {
            let nodes = nodes().filter(move |(hash, _)| (Table::bits(*hash) & bit != 0) == is_set);
            Arc::new(Bucket::with(full.depth + 1, nodes))
        };
        (full.depth < DEPTH_MAX).then(|| self.with_buckets(full, &[half(false), half(true)]))
    }

    /// Returns the number of the first bucket from `number` on, round the directory.
    pub fn bucket_from(&self, number: usize) -> usize {
        let is_first = |&at: &usize| at >> self.directory[at].depth == 0;
        (number..self.directory.len()).find(is_first).unwrap_or(0)
    }

    /// Returns this table without the nodes of a bucket that were not used since its last sweep, and those nodes.
    pub fn swept(&self, bucket: usize) -> (Table, Vec<Arc<DecisionNode>>) {
        let old = &self.directory[bucket];
        let (used, forgotten): (Vec<_>, Vec<_>) = old.nodes().partition(|(_, node)| node.take_used());
        let used = used.iter().map(|&entry| (self.hasher.hash_one(entry.0), entry));
        let swept = Arc::new(Bucket::with(old.depth, used));
        (self.with_buckets(old, &[swept]), forgotten.into_iter().map(|(_, node)| Arc::clone(node)).collect())
    }

    /// Returns this table with a bucket replaced by another one, or by two that are told apart by one bit more.
    fn with_buckets(&self, old: &Arc<Bucket>, new: &[Arc<Bucket>]) -> Table {
        let n_bits = new.iter().map(|bucket| bucket.depth).max().unwrap_or(0);
        let len = self.directory.len().max(1 << n_bits);
        let directory = (0..len).map(|bits| match &self.directory[bits & (self.directory.len() - 1)] {
            bucket if Arc::ptr_eq(bucket, old) => Arc::clone(&new[(bits >> old.depth) & (new.len() - 1)]),
            bucket => Arc::clone(bucket),
        });
        Table { version: self.version + 1, hasher: self.hasher.clone(), directory: directory.collect() }
    }
}

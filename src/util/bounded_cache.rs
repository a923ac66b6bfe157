//! A cache bounded by the weight of what it holds, which forgets little by little.
//!
//! A cache of what was used last needs links between its entries and a change of them at each hit; one that is emptied when it is full is
//! simple, but then frees everything at once: a cache of 160 MB takes 40 ms for that, and some request pays for it. This one has two
//! *generations*. An entry is born young, and becomes young again when it is found. Before the young ones weigh more than half of what the
//! cache may hold, they become the old ones, and the old ones that nobody asked for since are *retired*: they are found no more, and each
//! later insertion frees about twice the weight that it adds. So when the next generation is full, the retired one is gone.
//!
//! ```text
//! young    a b c      insert, find: here
//! old      d e        find: moves to the young ones
//! retired  f g h      never found; each insertion frees some
//! ```
//!
//! Young and old entries weigh at most half the bound each, and since more is freed of the retired ones than is added, all three stay within
//! the bound. (One entry that is heavier than half leaves no room for old ones.) A look-up is one in one table, or two.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use hashbrown::hash_table::IntoIter;
use hashbrown::{DefaultHashBuilder, Equivalent, HashTable};

/// How much of retired entries is freed for each unit of weight that is added.
const FREED_PER_ADDED: usize = 2;

struct Entry<T> {
    hash: u64,
    weight: usize,
    value: T,
}

/// Entries found by a hash and a comparison that the caller gives.
pub(crate) struct BoundedTable<T> {
    young: HashTable<Entry<T>>,
    old: HashTable<Entry<T>>,
    retired: Option<IntoIter<Entry<T>>>,
    young_weight: usize,
    old_weight: usize,
    retired_weight: usize,
    weight_max: usize,
}

impl<T> fmt::Debug for BoundedTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedTable").field("weight", &self.weight()).finish_non_exhaustive()
    }
}

impl<T> BoundedTable<T> {
    /// Returns an empty table whose entries weigh at most about `weight_max` together.
    pub fn new(weight_max: usize) -> Self {
        BoundedTable {
            young: HashTable::new(),
            old: HashTable::new(),
            retired: None,
            young_weight: 0,
            old_weight: 0,
            retired_weight: 0,
            weight_max,
        }
    }

    /// Returns the weight of all entries, retired ones included.
    pub fn weight(&self) -> usize {
        self.young_weight + self.old_weight + self.retired_weight
    }

    /// Returns what `take` makes of the entry with this hash for which `is_it` holds.
    pub fn find<R>(&mut self, hash: u64, is_it: impl Fn(&T) -> bool, take: impl FnOnce(&T) -> R) -> Option<R> {
        let is_entry = |entry: &Entry<T>| entry.hash == hash && is_it(&entry.value);
        if let Some(entry) = self.young.find(hash, is_entry) {
            return Some(take(&entry.value));
        }
        let (entry, _) = self.old.find_entry(hash, is_entry).ok()?.remove();
        let taken = take(&entry.value);
        self.old_weight -= entry.weight;
        self.add(entry);
        Some(taken)
    }

    /// Inserts an entry that is not there yet, unless it is too heavy for the table.
    pub fn insert(&mut self, hash: u64, weight: usize, value: T) {
        if weight <= self.weight_max {
            self.add(Entry { hash, weight, value });
        }
    }

    /// Forgets and frees all entries.
    pub fn clear(&mut self) {
        *self = BoundedTable::new(self.weight_max);
    }

    fn add(&mut self, entry: Entry<T>) {
        if self.young_weight + entry.weight > self.weight_max / 2 && !self.young.is_empty() {
            self.end_generation();
        }
        self.free_retired(FREED_PER_ADDED * entry.weight);
        if self.weight() + entry.weight > self.weight_max {
            // Some entry is heavier than half of the bound.
            self.free_retired(usize::MAX);
            (self.old, self.old_weight) = (HashTable::new(), 0);
        }
        self.young_weight += entry.weight;
        self.young.insert_unique(entry.hash, entry, |entry| entry.hash);
    }

    /// Makes the young entries old, and retires the old ones.
    fn end_generation(&mut self) {
        self.free_retired(usize::MAX);
        // A table of the size that the next generation will have need not grow.
        let fresh = HashTable::with_capacity(self.young.len());
        let retired = core::mem::replace(&mut self.old, core::mem::replace(&mut self.young, fresh));
        (self.retired, self.retired_weight) = (Some(retired.into_iter()), self.old_weight);
        (self.old_weight, self.young_weight) = (self.young_weight, 0);
    }

    /// Frees retired entries of at least this weight, if there are so many.
    fn free_retired(&mut self, weight: usize) {
        let Some(retired) = &mut self.retired else { return };
        let mut freed = 0;
        while freed < weight {
            match retired.next() {
                Some(entry) => freed += entry.weight,
                None => {
                    (self.retired, self.retired_weight) = (None, 0);
                    return;
                }
            }
        }
        self.retired_weight -= freed;
    }
}

/// A [`BoundedTable`] of keys with values.
#[derive(Debug)]
pub(crate) struct BoundedMap<K, V> {
    hasher: DefaultHashBuilder,
    table: BoundedTable<(K, V)>,
}

impl<K: Hash + Eq, V: Clone> BoundedMap<K, V> {
    /// Returns an empty map whose entries weigh at most about `weight_max` together.
    pub fn new(weight_max: usize) -> Self {
        BoundedMap { hasher: DefaultHashBuilder::default(), table: BoundedTable::new(weight_max) }
    }

    /// Returns the weight of all entries.
    pub fn weight(&self) -> usize {
        self.table.weight()
    }

    /// Returns the value of a key.
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&mut self, key: &Q) -> Option<V> {
        self.table.find(self.hasher.hash_one(key), |(known, _)| key.equivalent(known), |(_, value)| value.clone())
    }

    /// Inserts a value, unless the key has one.
    pub fn insert(&mut self, key: K, weight: usize, value: V) {
        if self.get(&key).is_none() {
            self.table.insert(self.hasher.hash_one(&key), weight, (key, value));
        }
    }

    /// Forgets and frees all entries.
    pub fn clear(&mut self) {
        self.table.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn what_is_used_stays_and_the_rest_goes() {
        let mut map: BoundedMap<u32, u32> = BoundedMap::new(100);
        for n in 0..1000 {
            map.insert(n, 1, 10 * n);
            assert!(map.weight() <= 100, "{}", map.weight());
            assert_eq!((map.get(&0), map.get(&n)), (Some(0), Some(10 * n)), "one that is asked for stays");
        }
        assert_eq!((map.get(&1), map.get(&850), map.get(&960)), (None, None, Some(9600)));
        map.insert(960, 1, 7);
        assert_eq!(map.get(&960), Some(9600), "the first value stays");
        map.clear();
        assert_eq!((map.get(&0), map.weight()), (None, 0));
        map.insert(5, 101, 50);
        assert_eq!(map.get(&5), None, "it is heavier than all may be");
        (6..9).for_each(|n| map.insert(n, 60, n));
        assert_eq!((map.get(&6), map.get(&8)), (None, Some(8)), "heavy ones leave little room");
        assert!(map.weight() <= 100);
    }

    /// Counts how many were dropped.
    struct Counted(Rc<Cell<usize>>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn each_insertion_frees_a_little() {
        let n_freed = Rc::new(Cell::new(0));
        let mut table = BoundedTable::new(2000);
        for n in 0..20_000u64 {
            let before = n_freed.get();
            table.insert(n, 1, Counted(Rc::clone(&n_freed)));
            assert!(n_freed.get() - before <= FREED_PER_ADDED, "{n}: {} at once", n_freed.get() - before);
            assert!(table.weight() <= 2000);
        }
        assert!(n_freed.get() > 17_000);
        drop(table);
        assert_eq!(n_freed.get(), 20_000);
    }
}

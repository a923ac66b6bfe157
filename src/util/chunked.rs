//! A persistent list: it grows and shrinks at its end, and copies share its front.
//!
//! The front lies in frozen chunks that copies share; the tail is owned. A copy costs one reference count and a copy of the tail (at most
//! [`TAIL_MAX`] items); a push costs no atomic operation except once per chunk. The tail keeps at least a chunk when one is frozen, so that
//! pushing and truncating a few items again and again, as trying tokens does, never freezes and thaws the same chunk.

use std::sync::Arc;

/// Items per frozen chunk.
const CHUNK: usize = 64;
/// Most items of the tail.
const TAIL_MAX: usize = 2 * CHUNK;

/// A persistent list of items that are cheap to copy.
#[derive(Debug)]
pub(crate) struct Chunked<T> {
    /// The front: frozen chunks of [`CHUNK`] items each, once there is one.
    frozen: Option<Arc<Vec<Arc<[T]>>>>,
    /// Number of items in the front.
    n_frozen: usize,
    tail: Vec<T>,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked { frozen: None, n_frozen: 0, tail: Vec::new() }
    }
}

impl<T: Copy> Clone for Chunked<T> {
    fn clone(&self) -> Self {
        Chunked { frozen: self.frozen.clone(), n_frozen: self.n_frozen, tail: self.tail.clone() }
    }
}

impl<T: Copy> Chunked<T> {
    /// Returns the number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.n_frozen + self.tail.len()
    }

    /// Returns the item at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    #[inline]
    pub fn get(&self, index: usize) -> T {
        match index.checked_sub(self.n_frozen) {
            Some(index) => self.tail[index],
            None => self.chunks()[index / CHUNK][index % CHUNK],
        }
    }

    /// Adds an item at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.tail.len() == TAIL_MAX {
            self.freeze();
        }
        self.tail.push(item);
    }

    /// Replaces an item.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    pub fn replace(&mut self, index: usize, item: T) {
        if let Some(index) = index.checked_sub(self.n_frozen) {
            self.tail[index] = item;
            return;
        }
        let chunk = &mut self.chunks_mut()[index / CHUNK];
        let mut items = chunk.to_vec();
        items[index % CHUNK] = item;
        *chunk = items.into();
    }

    #[cold]
    fn freeze(&mut self) {
        let chunk = Arc::from(&self.tail[..CHUNK]);
        self.chunks_mut().push(chunk);
        self.n_frozen += CHUNK;
        self.tail.drain(..CHUNK);
    }

    /// Drops all items after the first `len`.
    pub fn truncate(&mut self, len: usize) {
        if let Some(len) = len.checked_sub(self.n_frozen) {
            self.tail.truncate(len);
            return;
        }
        let n_chunks = len / CHUNK;
        let chunk = Arc::clone(&self.chunks()[n_chunks]);
        self.chunks_mut().truncate(n_chunks);
        self.tail.clear();
        self.tail.extend_from_slice(&chunk[..len % CHUNK]);
        self.n_frozen = n_chunks * CHUNK;
    }

    fn chunks(&self) -> &[Arc<[T]>] {
        self.frozen.as_deref().map_or(&[], |chunks| chunks)
    }

    fn chunks_mut(&mut self) -> &mut Vec<Arc<[T]>> {
        Arc::make_mut(self.frozen.get_or_insert_default())
    }

    /// Returns the memory that the items take, in bytes, shared chunks included.
    pub fn memory_bytes(&self) -> usize {
        let n_chunks = self.frozen.as_ref().map_or(0, |chunks| chunks.capacity());
        (self.n_frozen + self.tail.capacity()) * size_of::<T>() + n_chunks * size_of::<Arc<[T]>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_as_a_vector_and_copies_are_independent() {
        let mut list = Chunked::default();
        let mut model: Vec<u32> = Vec::new();
        let mut copies = Vec::new();
        let mut seed = 1u32;
        for step in 0..20_000u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match seed >> 28 {
                0 if seed >> 8 & 0xff == 0 => {
                    let len = (seed >> 8) as usize % (model.len() + 1);
                    list.truncate(len);
                    model.truncate(len);
                }
                1 if seed >> 8 & 0x3f == 0 => copies.push((list.clone(), model.clone())),
                2 if !model.is_empty() => {
                    let index = (seed >> 8) as usize % model.len();
                    list.replace(index, step);
                    model[index] = step;
                }
                _ => {
                    list.push(step);
                    model.push(step);
                }
            }
        }
        copies.push((list, model));
        assert!(copies.len() > 2);
        for (list, model) in copies {
            assert_eq!(list.len(), model.len());
            assert!(model.iter().enumerate().all(|(i, &item)| list.get(i) == item));
        }
    }

    #[test]
    fn truncating_at_a_border_of_chunks() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 5] {
            let mut list = Chunked::default();
            (0..3 * CHUNK).for_each(|i| list.push(i));
            list.truncate(len);
            list.push(7);
            assert_eq!((list.len(), list.get(len)), (len + 1, 7));
            assert!((0..len).all(|i| list.get(i) == i));
        }
    }
}

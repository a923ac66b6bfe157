//! The decision trees of all masks over one vocabulary, shared by every grammar.
//!
//! A node's key is its parent and an answer: which state (of which unit) the frame below returns to, and the signature of its register;
//! for a root, the state itself. Keys are content (units are interned, their numbers never reused) and compared in full.
//!
//! Reading takes no lock and writes nothing shared. A *generation* is an open-addressing table that only grows: its slots are
//! atomics, its nodes are set once. Adding takes a lock, for a moment, after the walk. When a generation has no room left it is
//! closed, and the next fill opens a new one: twice as large if memory allows, else with only the nodes used since the last time (a
//! clock bit per node, written once per generation). Readers keep the generation they have until their next fill.

use super::bases::Bases;
use super::entry::MaskEntry;
use super::walk::{Remainder, Walker};
use crate::automaton::ReservedTokens;
use crate::machine::DeclaredKeys;
use crate::vocab::{TokenId, Vocab};
use ahash::{AHashMap, AHashSet, RandomState};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Names a node of a generation.
pub(crate) type TreeId = u32;

/// Where a node hangs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    /// 0 for a root, else the parent's number plus 1.
    pub parent: u32,
    pub unit: u32,
    pub state: u32,
    /// The name of a stack's node, in keys of whole configurations; else 0.
    pub node: u32,
    pub register: u64,
}

const _: () = assert!(size_of::<Key>() == 24);

/// What decides beyond a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The frame below, for each remainder; nothing if there is none.
    Remainders,
    /// More than can be taken one by one: the whole configuration.
    Configuration,
    /// Another pair of a configuration.
    Pair,
    /// The exits of the node of a configuration's stacks that has this name.
    Exits(u32),
}

/// A node of a decision tree.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Never the same for two nodes of this process.
    pub id: u64,
    /// The tokens allowed so far.
    pub mask: MaskEntry,
    /// Whether there are none.
    pub is_empty: bool,
    /// Where the next frame decides.
    pub remainders: Box<[Remainder]>,
    pub next: Next,
    was_used: AtomicBool,
}

impl Tree {
    pub fn new(mask: MaskEntry, remainders: Box<[Remainder]>) -> Self {
        let is_empty = mask.is_empty();
        Tree {
            id: Tree::fresh_id(),
            mask,
            is_empty,
            remainders,
            next: Next::Remainders,
            was_used: AtomicBool::new(true),
        }
    }

    /// Returns a node that has no mask.
    pub fn inner(next: Next) -> Self {
        Tree { next, ..Tree::new(MaskEntry::Sparse(SmallVec::new()), Box::new([])) }
    }

    /// Returns a number that no node has or will have.
    pub fn fresh_id() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Tree>() + self.mask.memory_bytes() + size_of_val(&*self.remainders) + SLOT_BYTES
    }
}

/// What a node takes in the table, at the load that the table is kept at.
const SLOT_BYTES: usize = 2 * size_of::<AtomicU64>() + size_of::<Place>() + 16;

/// Room for a node, set once.
type Place = OnceLock<(Key, Arc<Tree>)>;

/// A table of nodes that only grows.
#[derive(Debug)]
pub(crate) struct Generation {
    number: u64,
    hasher: RandomState,
    /// A node's number plus 1 below the low half of its key's hash, or 0; the length is a power of two, at least twice the nodes'.
    slots: Box<[AtomicU64]>,
    nodes: Box<[Place]>,
    is_closed: AtomicBool,
}

impl Generation {
    fn new(number: u64, hasher: RandomState, capacity: usize) -> Self {
        Generation {
            number,
            hasher,
            slots: (0..2 * capacity).map(|_| AtomicU64::new(0)).collect(),
            nodes: (0..capacity).map(|_| OnceLock::new()).collect(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Returns the number of the generation, which no other one of the store has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns a node that was found or kept before.
    pub fn tree(&self, number: TreeId) -> &Tree {
        let (_, tree) = self.nodes[number as usize].get().expect("a node has a number once it is kept");
        tree
    }

    /// Returns the node with this key.
    #[inline]
    pub fn find(&self, key: &Key) -> Option<(TreeId, &Arc<Tree>)> {
        let (mask, hash) = (self.slots.len() - 1, self.hasher.hash_one(key));
        let mut slot = hash as u32 as usize & mask;
        loop {
            let found = self.slots[slot].load(Ordering::Acquire);
            let number = (found as u32).checked_sub(1)?;
            // PERF: a node that is another one is hardly ever looked at, which would be far away in memory.
            if found >> 32 == hash & u64::from(u32::MAX)
                && let Some((known, tree)) = self.nodes[number as usize].get()
                && known == key
            {
                if !tree.was_used.load(Ordering::Relaxed) {
                    tree.was_used.store(true, Ordering::Relaxed);
                }
                return Some((number, tree));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a node as number `number`, the next. The caller holds the store's lock.
    fn add(&self, number: u32, key: Key, tree: Arc<Tree>) {
        let hash = self.hasher.hash_one(key);
        let was_empty = self.nodes[number as usize].set((key, tree)).is_ok();
        assert!(was_empty, "node {number} is set once");
        self.add_slot(hash << 32 | u64::from(number + 1));
    }

    /// Adds what a slot holds. The caller holds the store's lock.
    fn add_slot(&self, content: u64) {
        let mask = self.slots.len() - 1;
        let mut slot = (content >> 32) as usize & mask;
        while self.slots[slot].load(Ordering::Relaxed) != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot].store(content, Ordering::Release);
    }

    /// Returns a generation with the same nodes, of which there are `n_nodes`, under the same numbers, and room for as many more.
    ///
    /// PERF: it is made while somebody waits for a mask. Nodes are far apart in memory, and neither looked at nor hashed again.
    fn grown(&self, n_nodes: usize) -> Generation {
        let next = Generation::new(self.number + 1, self.hasher.clone(), capacity_for(n_nodes));
        for (place, node) in next.nodes.iter().zip(self.nodes.iter().map_while(OnceLock::get)) {
            assert!(place.set(node.clone()).is_ok(), "a node is set once");
        }
        let slots = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed));
        slots.filter(|&content| content != 0).for_each(|content| next.add_slot(content));
        next
    }
}

/// Counts of the masks kept by a compiler, since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MaskStats {
    /// Masks (and inner nodes of decision trees) kept as lists of tokens.
    pub n_sparse: usize,
    /// Kept as rows of bits.
    pub n_dense: usize,
    /// Kept as a shared row and lists of tokens to add and to take away.
    pub n_patched: usize,
    /// Memory of what is kept, in bytes.
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
    /// Tokens found allowed whatever the caller, summed over the states classified.
    pub tokens_context_independent: u64,
    /// Tokens whose verdict is the caller's, summed over the states classified.
    pub tokens_context_dependent: u64,
}

impl MaskStats {
    /// Returns the share of context-independent tokens among those that a state doesn't refuse by itself; 1 when there are none.
    pub fn context_independent_share(&self) -> f64 {
        let all = self.tokens_context_independent + self.tokens_context_dependent;
        if all == 0 { 1.0 } else { self.tokens_context_independent as f64 / all as f64 }
    }
}

/// The decision trees over one vocabulary.
#[derive(Debug)]
pub(crate) struct MaskStore {
    bytes_max: usize,
    current_number: AtomicU64,
    inner: Mutex<Inner>,
    bases: Bases,
    walkers: Mutex<Vec<Walker>>,
    hits: AtomicU64,
    /// The rules whose masks took more work than is worth it part by part, the first of them.
    ambiguous: Mutex<BTreeSet<String>>,
    element_tokens: OnceLock<Arc<ElementTokens>>,
}

/// Calls `visit` with all that may be a key in some bytes, what stands between two quotes, with the second, and with what stands before it; quotes
/// within are escaped.
fn for_each_quoted<'a>(bytes: &'a [u8], mut visit: impl FnMut(&'a [u8], &'a [u8])) {
    for (open, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
        let mut at = open + 1;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    visit(&bytes[open + 1..=at], &bytes[..open]);
                    break;
                }
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }
}

/// Tokens that may hold a whole element or the beginning of one, where elements are compared.
#[derive(Debug)]
pub(crate) struct ElementTokens {
    /// By what stands between two quotes in them, with the second; and the longest such piece, in bytes.
    pub by_key: AHashMap<Box<[u8]>, Vec<TokenId>>,
    key_bytes_max: usize,
    /// Those in which the same stands between quotes twice.
    pub twice: Box<[TokenId]>,
    /// By what was read of a key, without its opening quote: those that may end it, and hold it whole once more behind that. And the longest such
    /// beginning, in bytes.
    ending_twice: AHashMap<Box<[u8]>, Vec<TokenId>>,
    ending_twice_bytes_max: usize,
    /// Those with two quotes.
    pub quoted: Box<[TokenId]>,
    /// Those with a quote and a comma.
    pub separating: Box<[TokenId]>,
    /// Those with a quote, or with a byte that may stand behind a value: white space, a comma, a closing bracket or brace.
    pub ending: Box<[TokenId]>,
    /// Those with such a byte, other than a quote, behind one that is no white space.
    pub ending_whole: Box<[TokenId]>,
    /// Those with a closing bracket or brace, and those with a quote before it.
    pub closing: Box<[TokenId]>,
    pub closing_quoted: Box<[TokenId]>,
    /// Those with a closing bracket or brace, a comma behind it, and more; and those with a quote before.
    pub closing_on: Box<[TokenId]>,
    pub closing_on_quoted: Box<[TokenId]>,
    /// Those with a quote, a comma behind it, and what may be a whole item behind that.
    pub string_on: Box<[TokenId]>,
    /// By what stands behind a quote in them, up to their end, and the length of the longest such piece, in bytes.
    pub by_begun_key: AHashMap<Box<[u8]>, Vec<TokenId>>,
    pub begun_bytes_max: usize,
    /// The most closing brackets and braces before a quote in one of them.
    pub closed_before_key_max: usize,
    /// Those that may hold two elements of a container that begins within: an opening bracket or brace, and a comma behind.
    pub opening: Box<[TokenId]>,
    /// Those of them with a quote before the bracket or brace.
    pub opening_quoted: Box<[TokenId]>,
    /// Those with a quote, and the place of the first.
    pub with_quote: Box<[(TokenId, u32)]>,
    /// Those that begin with a quote, as a mask.
    begins_with_quote: Box<[u32]>,
    /// Those with a backslash.
    pub escaping: Box<[TokenId]>,
    /// Those with an opening bracket.
    pub brackets: Box<[TokenId]>,
    /// Those of them with a quote before the bracket.
    pub brackets_quoted: Box<[TokenId]>,
    /// Those in which a container begins, first or behind a comma.
    pub containers: Box<[TokenId]>,
}

impl ElementTokens {
    /// Finds the tokens of a vocabulary.
    fn of(vocab: &Vocab) -> ElementTokens {
        let with = |test: &dyn Fn(&[u8]) -> bool| {
            (0..vocab.n_tokens() as TokenId).filter(|&token| test(vocab.bytes(token))).collect()
        };
        let n_quotes = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'"').count();
        let mut by_key: AHashMap<Box<[u8]>, Vec<TokenId>> = AHashMap::new();
        let mut twice: Vec<TokenId> = Vec::new();
        for token in (0..vocab.n_tokens() as TokenId).filter(|&token| n_quotes(vocab.bytes(token)) >= 2) {
            let mut keys: Vec<&[u8]> = Vec::new();
            for_each_quoted(vocab.bytes(token), |key, _| keys.push(key));
            keys.sort_unstable();
            if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                twice.push(token);
            }
            keys.dedup();
            keys.into_iter().for_each(|key| by_key.entry(key.into()).or_default().push(token));
        }
        let mut ending_twice: AHashMap<Box<[u8]>, Vec<TokenId>> = AHashMap::new();
        for token in (0..vocab.n_tokens() as TokenId).filter(|&token| n_quotes(vocab.bytes(token)) >= 3) {
            let bytes = vocab.bytes(token);
            for (end, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
                // Between two keys of an object stands a comma.
                for_each_quoted(&bytes[end + 1..], |key, before| {
                    if let Some(begun) = key[..key.len() - 1].strip_suffix(&bytes[..end])
                        && before.trim_ascii_end().ends_with(b",")
                    {
                        ending_twice.entry(begun.into()).or_default().push(token);
                    }
                });
            }
        }
        let is_behind = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b']' | b'}');
        let mut by_begun_key: AHashMap<Box<[u8]>, Vec<TokenId>> = AHashMap::new();
        for token in 0..vocab.n_tokens() as TokenId {
            let bytes = vocab.bytes(token);
            for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
                by_begun_key.entry(bytes[at + 1..].into()).or_default().push(token);
            }
        }
        // What a string leaves of a token: nothing ends or begins before its quote.
        let first_quote = |bytes: &[u8]| -> Option<usize> { bytes.iter().position(|&byte| byte == b'"') };
        let closes = |bytes: &[u8]| bytes.iter().any(|byte| matches!(byte, b'}' | b']'));
        let closes_and_goes_on = |bytes: &[u8]| {
            let close = bytes.iter().position(|byte| matches!(byte, b'}' | b']'));
            let comma = close.and_then(|close| Some(close + bytes[close..].iter().position(|&byte| byte == b',')?));
            comma.is_some_and(|comma| !bytes[comma + 1..].trim_ascii().is_empty())
        };
        // Quotes may be escaped and commas be within a string, so that any may count.
        let goes_on_behind_string = |bytes: &[u8]| {
            let quote = first_quote(bytes).unwrap_or(bytes.len());
            let commas = (quote..bytes.len()).filter(|&place| bytes[place] == b',');
            commas.into_iter().any(|comma| match bytes[comma + 1..].trim_ascii_start() {
                [b'"', rest @ ..] => rest.contains(&b'"'),
                [_, rest @ ..] => rest.iter().any(is_behind),
                [] => false,
            })
        };
        let behind_quote =
            |bytes: &[u8], test: &dyn Fn(&[u8]) -> bool| first_quote(bytes).is_some_and(|quote| test(&bytes[quote..]));
        let opens = |bytes: &[u8]| {
            let open = bytes.iter().position(|byte| matches!(byte, b'{' | b'['));
            open.is_some_and(|open| bytes[open..].contains(&b','))
        };
        let begins_container = |bytes: &[u8]| {
            let is_open = |byte: &u8| matches!(byte, b'{' | b'[');
            let comma = bytes.iter().position(|&byte| byte == b',');
            bytes.trim_ascii_start().first().is_some_and(is_open)
                || comma.is_some_and(|comma| bytes[comma..].iter().any(is_open))
        };
        let n_closed_before_key = |bytes: &[u8]| {
            let quote = bytes.iter().rposition(|&byte| byte == b'"').unwrap_or(0);
            bytes[..quote].iter().filter(|byte| matches!(byte, b'}' | b']')).count()
        };
        let quote_of = |token: TokenId| Some((token, first_quote(vocab.bytes(token))? as u32));
        let mut begins_with_quote = vec![0u32; vocab.n_mask_words()];
        for token in (0..vocab.n_tokens()).filter(|&token| vocab.bytes(token as TokenId).first() == Some(&b'"')) {
            begins_with_quote[token / 32] |= 1 << (token % 32);
        }
        ElementTokens {
            begins_with_quote: begins_with_quote.into(),
            with_quote: (0..vocab.n_tokens() as TokenId).filter_map(quote_of).collect(),
            escaping: with(&|bytes| bytes.contains(&b'\\')),
            brackets: with(&|bytes| bytes.contains(&b'[')),
            containers: with(&begins_container),
            begun_bytes_max: by_begun_key.keys().map(|key| key.len()).max().unwrap_or(0),
            closed_before_key_max: (0..vocab.n_tokens() as TokenId)
                .map(|token| n_closed_before_key(vocab.bytes(token)))
                .max()
                .unwrap_or(0),
            by_begun_key,
            closing_quoted: with(&|bytes| behind_quote(bytes, &closes)),
            closing_on_quoted: with(&|bytes| behind_quote(bytes, &closes_and_goes_on)),
            opening_quoted: with(&|bytes| behind_quote(bytes, &opens)),
            brackets_quoted: with(&|bytes| behind_quote(bytes, &|bytes| bytes.contains(&b'['))),
            ending: with(&|bytes| bytes.iter().any(|byte| *byte == b'"' || is_behind(byte))),
            ending_whole: with(&|bytes| bytes.trim_ascii_start().iter().skip(1).any(is_behind)),
            key_bytes_max: by_key.keys().map(|key| key.len()).max().unwrap_or(0),
            by_key,
            twice: twice.into(),
            ending_twice_bytes_max: ending_twice.keys().map(|begun| begun.len()).max().unwrap_or(0),
            ending_twice,
            quoted: with(&|bytes| n_quotes(bytes) >= 2),
            opening: with(&opens),
            separating: with(&|bytes| n_quotes(bytes) > 0 && bytes.contains(&b',')),
            closing: with(&closes),
            closing_on: with(&closes_and_goes_on),
            string_on: with(&goes_on_behind_string),
        }
    }

    /// Clears the bits of the tokens that begin with a quote.
    pub fn clear_quotes(&self, row: &mut [u32]) {
        // PERF: these are many.
        row.iter_mut().zip(&self.begins_with_quote).for_each(|(word, quoted)| *word &= !quoted);
    }

    /// Returns the tokens that may end a key of which `n_bytes` bytes were read, the opening quote included, and hold it whole once more.
    pub fn ending_twice(&self, n_bytes: usize, begun: impl FnOnce() -> SmallVec<[u8; 64]>) -> &[TokenId] {
        // PERF: hardly a token has the three quotes that it takes, and those tokens hold short keys.
        if n_bytes > self.ending_twice_bytes_max + 1 {
            return &[];
        }
        begun().get(1..).and_then(|begun| self.ending_twice.get(begun)).map_or(&[], |tokens| tokens)
    }

    /// Returns the tokens that have to do with some keys, which have both quotes.
    pub fn of_keys(&self, keys: &DeclaredKeys) -> ReservedTokens {
        // PERF: most keys are longer than what hardly a token holds.
        let rests = keys.iter().filter_map(|key| key.get(1..)).filter(|rest| rest.len() <= self.key_bytes_max);
        ReservedTokens::new(sorted(rests.flat_map(|rest| self.by_key.get(rest).into_iter().flatten().copied())))
    }

    /// Returns the tokens that begin with what some keys are behind their first quote.
    pub fn beginning(vocab: &Vocab, keys: &DeclaredKeys) -> Box<[TokenId]> {
        let trie = vocab.trie();
        let nodes = keys.iter().filter_map(|key| trie.find(key.get(1..)?));
        sorted(nodes.flat_map(|node| trie.subtree_tokens(node).iter().copied()))
    }
}

/// Returns some tokens in order, each once.
fn sorted(tokens: impl Iterator<Item = TokenId>) -> Box<[TokenId]> {
    let mut tokens: Vec<TokenId> = tokens.collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.into()
}

#[derive(Debug)]
struct Inner {
    current: Arc<Generation>,
    n_nodes: u32,
    memory: Memory,
    stats: MaskStats,
}

/// What some nodes take.
#[derive(Debug, Default)]
struct Memory {
    bytes: usize,
    /// Where their rows are: each counts once, however many masks share it.
    rows: AHashSet<usize>,
}

impl Memory {
    /// Returns what a node more takes, in bytes.
    fn of_one_more(&self, tree: &Tree) -> usize {
        let new_row = tree.mask.row().filter(|row| !self.rows.contains(&Arc::as_ptr(row).addr()));
        tree.memory_bytes() + new_row.map_or(0, |row| size_of_val(&**row))
    }

    fn add(&mut self, tree: &Tree) {
        self.bytes += self.of_one_more(tree);
        self.rows.extend(tree.mask.row().map(|row| Arc::as_ptr(row).addr()));
    }
}

const CAPACITY_FIRST: usize = 256;

/// Returns for how many nodes a generation has room that begins with `n_nodes`.
fn capacity_for(n_nodes: usize) -> usize {
    (2 * n_nodes).next_power_of_two().max(CAPACITY_FIRST)
}

impl MaskStore {
    /// Returns an empty store that keeps at most about `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        let current = Arc::new(Generation::new(0, RandomState::new(), CAPACITY_FIRST));
        MaskStore {
            bytes_max,
            current_number: AtomicU64::new(0),
            inner: Mutex::new(Inner { current, n_nodes: 0, memory: Memory::default(), stats: MaskStats::default() }),
            bases: Bases::default(),
            walkers: Mutex::default(),
            hits: AtomicU64::new(0),
            ambiguous: Mutex::default(),
            element_tokens: OnceLock::new(),
        }
    }

    /// Returns the tokens that may hold a whole element; the vocabulary is the same each time.
    pub fn element_tokens(&self, vocab: &Vocab) -> &Arc<ElementTokens> {
        // PERF: they depend on the vocabulary alone, and finding them takes as long as a hundred schemas.
        self.element_tokens.get_or_init(|| vocab.derived(ElementTokens::of))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing below panics half-way in a state that matters.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the generation in use.
    pub fn generation(&self) -> Arc<Generation> {
        Arc::clone(&self.lock().current)
    }

    /// Makes `generation` the one in use; opens a new one if that one is closed.
    #[inline]
    pub fn refresh(&self, generation: &mut Arc<Generation>) {
        let is_current = self.current_number.load(Ordering::Acquire) == generation.number;
        if !is_current || generation.is_closed.load(Ordering::Relaxed) {
            *generation = self.renewed();
        }
    }

    #[cold]
    fn renewed(&self) -> Arc<Generation> {
        let mut inner = self.lock();
        if inner.current.is_closed.load(Ordering::Relaxed) {
            inner.rotate(self.bytes_max);
            self.current_number.store(inner.current.number, Ordering::Release);
        }
        Arc::clone(&inner.current)
    }

    /// Keeps a node, if there is room and the generation is still the one in use; returns the number under which it, or an equal
    /// one that was faster, is kept.
    pub fn keep(&self, generation: &Arc<Generation>, key: Key, tree: &Arc<Tree>) -> Option<TreeId> {
        let mut inner = self.lock();
        if inner.current.number != generation.number || generation.is_closed.load(Ordering::Relaxed) {
            return None;
        }
        if let Some((number, _)) = generation.find(&key) {
            return Some(number);
        }
        let bytes = inner.memory.bytes + inner.memory.of_one_more(tree);
        if inner.n_nodes as usize == generation.nodes.len() || bytes > self.bytes_max {
            generation.is_closed.store(true, Ordering::Relaxed);
            return None;
        }
        let number = inner.n_nodes;
        generation.add(number, key, Arc::clone(tree));
        inner.n_nodes += 1;
        inner.memory.add(tree);
        inner.stats.count_form(&tree.mask, 1);
        Some(number)
    }

    /// Returns a new node, with its mask in the form that suits it beside those that are kept.
    /// `zeros` is a row without bits.
    pub fn tree(
        &self,
        mask: MaskEntry,
        remainders: Box<[Remainder]>,
        n_words: usize,
        zeros: &mut Vec<u32>,
    ) -> Arc<Tree> {
        Arc::new(Tree::new(self.bases.rebased(mask, n_words, zeros), remainders))
    }

    /// Returns a walker, and takes it back with [`Self::put_walker`].
    pub fn take_walker(&self) -> Walker {
        let free = self.walkers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(Walker::new)
    }

    /// Takes a walker back, and counts what it did.
    pub fn put_walker(&self, mut walker: Walker, tokens: Option<(usize, usize)>) {
        const KEPT_MAX: usize = 64;
        {
            let found = walker.found();
            let stats = &mut self.lock().stats;
            stats.misses += 1;
            stats.walks += found.n_walks;
            stats.nodes_walked += found.n_nodes;
            let (independent, dependent) = tokens.unwrap_or_default();
            stats.tokens_context_independent += independent as u64;
            stats.tokens_context_dependent += dependent as u64;
        }
        let mut walkers = self.walkers.lock().unwrap_or_else(PoisonError::into_inner);
        if walkers.len() < KEPT_MAX {
            walkers.push(walker);
        }
    }

    /// Notes that the texts of a rule can be read in many ways.
    pub fn note_ambiguous(&self, rule: &str) {
        const RULES_MAX: usize = 64;
        let mut rules = self.ambiguous.lock().unwrap_or_else(PoisonError::into_inner);
        if rules.len() < RULES_MAX {
            rules.insert(rule.to_owned());
        }
    }

    /// Returns the rules that were noted.
    pub fn ambiguous_rules(&self) -> Vec<String> {
        self.ambiguous.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Counts a walk with a whole configuration.
    pub fn count_ambiguous_walk(&self) {
        self.lock().stats.ambiguous_walks += 1;
    }

    /// Adds to the count of hits.
    pub fn add_hits(&self, hits: u64) {
        self.hits.fetch_add(hits, Ordering::Relaxed);
    }

    /// Forgets everything that is kept.
    pub fn clear(&self) {
        // They know parts of masks.
        self.walkers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.bases.clear();
        let mut inner = self.lock();
        inner.rotate(0);
        self.current_number.store(inner.current.number, Ordering::Release);
    }

    pub fn stats(&self) -> MaskStats {
        let inner = self.lock();
        MaskStats { bytes: inner.memory.bytes, hits: self.hits.load(Ordering::Relaxed), ..inner.stats }
    }
}

impl MaskStats {
    fn count_form(&mut self, mask: &MaskEntry, n: usize) {
        match mask {
            MaskEntry::Sparse(_) => self.n_sparse += n,
            MaskEntry::Dense(_) => self.n_dense += n,
            MaskEntry::Patched { .. } => self.n_patched += n,
        }
    }
}

impl Inner {
    /// Opens a new generation: with all nodes if an eighth of the memory is free, so that there was only no room in the table, else with those used
    /// lately if they fit in half of it, else with none.
    fn rotate(&mut self, bytes_max: usize) {
        let old = Arc::clone(&self.current);
        if self.memory.bytes <= bytes_max - bytes_max / 8 {
            self.current = Arc::new(old.grown(self.n_nodes as usize));
            old.is_closed.store(true, Ordering::Relaxed);
            return;
        }
        let nodes = || old.nodes.iter().map_while(OnceLock::get);
        let mut used = Memory::default();
        nodes().filter(|(_, tree)| tree.was_used.load(Ordering::Relaxed)).for_each(|(_, tree)| used.add(tree));
        let keeps_used = used.bytes <= bytes_max / 2;
        let is_kept = |tree: &Tree| keeps_used && tree.was_used.load(Ordering::Relaxed);
        let n_kept = nodes().filter(|(_, tree)| is_kept(tree)).count();
        let next = Generation::new(old.number + 1, old.hasher.clone(), capacity_for(n_kept));
        // Parents come before their children, so their new numbers are known; a child whose parent goes, goes too.
        let mut numbers: Vec<Option<u32>> = Vec::with_capacity(self.n_nodes as usize);
        let n_before = self.n_nodes;
        (self.n_nodes, self.memory) = (0, Memory::default());
        let stats = &mut self.stats;
        (stats.n_sparse, stats.n_dense, stats.n_patched) = (0, 0, 0);
        for (key, tree) in nodes() {
            let parent = match key.parent {
                root @ (0 | u32::MAX) => Some(root),
                number => numbers[number as usize - 1].map(|number| number + 1),
            };
            let number = match parent {
                Some(parent) if is_kept(tree) => {
                    tree.was_used.store(false, Ordering::Relaxed);
                    next.add(self.n_nodes, Key { parent, ..*key }, Arc::clone(tree));
                    stats.count_form(&tree.mask, 1);
                    self.memory.add(tree);
                    self.n_nodes += 1;
                    Some(self.n_nodes - 1)
                }
                _ => None,
            };
            numbers.push(number);
        }
        stats.evictions += u64::from(n_before - self.n_nodes);
        old.is_closed.store(true, Ordering::Relaxed);
        self.current = Arc::new(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of a chain of nodes: each hangs below the one before.
    fn key(n: u32) -> Key {
        Key { parent: n % 7, unit: n / 3, state: n, node: 0, register: u64::from(n) << 40 }
    }

    fn tree(n: u32) -> Arc<Tree> {
        Arc::new(Tree::new(MaskEntry::Sparse(SmallVec::from_slice(&[n])), Box::new([])))
    }

    fn token_of(tree: &Tree) -> u32 {
        let MaskEntry::Sparse(ids) = &tree.mask else { panic!("a list") };
        ids[0]
    }

    #[test]
    fn all_nodes_are_found_in_a_generation_that_has_grown() {
        let store = MaskStore::new(1 << 30);
        let mut generation = store.generation();
        let mut numbers = Vec::new();
        for n in 0..5000 {
            // A node that comes when there is no room is kept the next time.
            let number = store.keep(&generation, key(n), &tree(n)).or_else(|| {
                store.refresh(&mut generation);
                store.keep(&generation, key(n), &tree(n))
            });
            numbers.push(number.expect("there is room"));
        }
        assert!(generation.number() >= 4 && store.stats().n_sparse == 5000 && store.stats().evictions == 0);
        for n in 0..5000 {
            let (number, tree) = generation.find(&key(n)).expect("it was kept");
            assert_eq!((number, token_of(tree), token_of(generation.tree(number))), (numbers[n as usize], n, n));
            assert!(generation.find(&Key { register: 1, ..key(n) }).is_none());
        }
    }

    #[test]
    fn a_full_store_forgets_what_nobody_uses_and_stays_within_its_bound() {
        const BYTES_MAX: usize = 1 << 17;
        let store = MaskStore::new(BYTES_MAX);
        let mut generation = store.generation();
        let is_root = |key: Key| Key { parent: 0, ..key };
        for n in 0..20_000 {
            store.refresh(&mut generation);
            store.keep(&generation, is_root(key(n)), &tree(n));
            if let Some((_, first)) = generation.find(&is_root(key(0))) {
                assert_eq!(token_of(first), 0);
            }
            assert!(store.stats().bytes <= BYTES_MAX);
        }
        assert!(store.stats().evictions > 10_000);
        let found = (0..20_000).filter_map(|n| Some((n, generation.find(&is_root(key(n)))?.1)));
        let found: Vec<(u32, u32)> = found.map(|(n, tree)| (n, token_of(tree))).collect();
        assert!(!found.is_empty() && found.iter().all(|(n, token)| n == token));
    }

    #[test]
    fn a_table_without_room_is_no_reason_to_forget() {
        // As many as two tables of the first size have room for take more than half of this.
        let of_one = tree(0).memory_bytes();
        let store = MaskStore::new(3 * CAPACITY_FIRST * of_one);
        let mut generation = store.generation();
        for n in 0..2 * CAPACITY_FIRST as u32 + 1 {
            store.refresh(&mut generation);
            if store.keep(&generation, key(n), &tree(n)).is_none() {
                store.refresh(&mut generation);
                store.keep(&generation, key(n), &tree(n)).expect("there is room");
            }
        }
        assert_eq!(store.stats().evictions, 0);
        assert!((0..2 * CAPACITY_FIRST as u32).all(|n| generation.find(&key(n)).is_some()));
    }

    #[test]
    fn a_node_that_is_too_large_does_not_make_the_table_grow() {
        let store = MaskStore::new(4096);
        let mut generation = store.generation();
        let large = Arc::new(Tree::new(MaskEntry::Sparse((0..10_000).collect()), Box::new([])));
        for _ in 0..40 {
            store.refresh(&mut generation);
            assert!(store.keep(&generation, key(0), &large).is_none());
        }
        assert_eq!(generation.nodes.len(), CAPACITY_FIRST);
    }
}

//! A lazy DFA over configurations: subset construction on demand.
//!
//! A walk of the vocabulary steps a configuration by each byte of each token. Where the grammar is ambiguous a step costs as much as there are
//! heads, and stacks grow with each one, at each node of the vocabulary's trie. But those nodes lead to a handful of configurations: after
//! `[a-z ]+` read in any of the ways that `(block)*` with `block ::= "(" block* ")" | [a-z ]+` leaves open, there is one, however the letters were split.
//! So configurations are interned, with the nodes of their stacks, and so are their transitions: the walk becomes that of an automaton whose
//! states are configurations, one table look-up per byte. (M. O. Rabin, D. Scott, "Finite automata and their decision problems", 1959; made on
//! demand as in K. Thompson, "Regular expression search algorithm", 1968. Here configurations have stacks, so there are finitely many of them
//! only because tokens are finite.)
//!
//! ```text
//! {s}  --a-->  {loop, s}  --a-->  {loop, s}          found again: the same number
//!                         --(-->  {s over n1}        n1 returns to s: the same node, whichever head pushed it
//! ```
//!
//! Cost: a look-up per byte; a step per head for each configuration and class of bytes that is met. Work is counted with that of the stacks.

use super::head::{Configuration, Head, StackNodeId, signature};
use super::stack::{InternedNodes, Stacks, hash_of, spread};
use super::step::step_byte;
use super::work::Work;
use crate::automaton::Program;
use ahash::AHashMap;
use hashbrown::HashTable;

/// A configuration, by the number that a [`LazyDfa`] gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ConfigId(u32);

impl ConfigId {
    /// The empty configuration: no sentence begins so.
    pub const DEAD: ConfigId = ConfigId(0);

    /// Returns the number.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transition that was not asked for yet.
const UNKNOWN: u32 = u32::MAX;

/// What work a step takes that is not found: beside that of its heads.
const WORK_PER_STEP: u64 = 16;
const WORK_PER_HEAD: u64 = 4;

/// Configurations met so far, and the transitions between them.
#[derive(Debug)]
pub(crate) struct LazyDfa {
    stacks: Stacks,
    interned: InternedNodes,
    /// The heads of all configurations, one after the other.
    heads: Vec<Head>,
    /// Where the heads of each configuration begin, and where those of the last one end.
    starts: Vec<u32>,
    /// Hashes of configurations, and their numbers.
    numbers: HashTable<(u64, u32)>,
    /// By configuration: whether its stacks are those from the start, and it counts nothing.
    is_flat: Vec<bool>,
    /// What so many bytes can see of a configuration.
    visible: AHashMap<(ConfigId, u8), ConfigId>,
    /// What the stacks took at the start.
    bytes_before: usize,
    /// By configuration and class of bytes.
    transitions: Vec<u32>,
    n_classes: usize,
    class_of: [u8; 256],
    live: Configuration,
    next: Configuration,
}

impl Default for LazyDfa {
    fn default() -> Self {
        LazyDfa {
            stacks: Stacks::new(crate::automaton::DONE),
            interned: InternedNodes::default(),
            heads: Vec::new(),
            starts: Vec::new(),
            numbers: HashTable::new(),
            is_flat: Vec::new(),
            visible: AHashMap::new(),
            bytes_before: 0,
            transitions: Vec::new(),
            n_classes: 0,
            class_of: [0; 256],
            live: Vec::new(),
            next: Vec::new(),
        }
    }
}

impl LazyDfa {
    /// Forgets everything and begins with a configuration over some stacks and an allowance of work; returns its number. Values are not compared.
    pub fn start(&mut self, program: &Program, stacks: &Stacks, live: &[Head], work: Work) -> ConfigId {
        self.stacks = stacks.to_explore();
        self.stacks.work = work;
        self.bytes_before = self.stacks.memory_bytes();
        self.interned.clear();
        self.heads.clear();
        self.starts.clear();
        self.starts.push(0);
        self.numbers.clear();
        self.transitions.clear();
        self.is_flat.clear();
        self.visible.clear();
        (self.n_classes, self.class_of) = (program.byte_classes().n_classes(), *program.byte_classes().of());
        let dead = self.intern(&[]);
        debug_assert_eq!(dead, ConfigId::DEAD);
        self.intern(live)
    }

    /// Returns the work of steps, to add that of others.
    #[inline]
    pub fn work(&mut self) -> &mut Work {
        &mut self.stacks.work
    }

    /// Returns the heads of a configuration.
    pub fn heads(&self, config: ConfigId) -> &[Head] {
        &self.heads[self.starts[config.index()] as usize..self.starts[config.index() + 1] as usize]
    }

    /// Tells whether exits of a node of the first stacks were read.
    pub fn has_looked_at(&self, node: StackNodeId) -> bool {
        self.stacks.has_looked_at(node)
    }

    /// Returns the memory taken since the start, in bytes.
    pub fn memory_bytes(&self) -> usize {
        (self.stacks.memory_bytes() - self.bytes_before.min(self.stacks.memory_bytes()))
            + self.heads.len() * size_of::<Head>()
            + (self.starts.len() + self.transitions.len()) * size_of::<u32>()
            + self.numbers.capacity() * size_of::<(u64, u32)>()
            + self.visible.capacity() * size_of::<[ConfigId; 4]>()
            + self.interned.memory_bytes()
    }

    /// Returns the configuration after a byte.
    #[inline]
    pub fn step(&mut self, program: &Program, config: ConfigId, byte: u8) -> ConfigId {
        let known = self.transitions[self.place(config, byte)];
        if known != UNKNOWN { ConfigId(known) } else { self.find_step(program, config, byte) }
    }

    /// Returns the configuration of one head.
    pub fn config_of(&mut self, head: Head) -> ConfigId {
        self.intern(&[head])
    }

    /// Tells whether [`Self::visible`] is the configuration itself, whatever the height.
    #[inline]
    pub fn is_flat(&self, config: ConfigId) -> bool {
        self.is_flat[config.index()]
    }

    /// Returns a configuration that `height` further bytes can't tell from this one: frames and counts out of their reach are left out. So configurations
    /// that grow with each byte of a token are few all the same, since nearly all of the vocabulary's trie is near its leaves. [`u8::MAX`] is any height.
    #[inline]
    pub fn visible(&mut self, program: &Program, config: ConfigId, height: u8) -> ConfigId {
        if self.is_flat(config) || height == u8::MAX {
            return config;
        }
        match self.visible.get(&(config, height)) {
            Some(&known) => known,
            None => self.find_visible(program, config, height),
        }
    }

    #[cold]
    fn find_visible(&mut self, program: &Program, config: ConfigId, height: u8) -> ConfigId {
        let mut live = core::mem::take(&mut self.live);
        live.clear();
        live.extend_from_slice(self.heads(config));
        self.stacks.work.spend(WORK_PER_STEP + WORK_PER_HEAD * live.len() as u64);
        for head in &mut live {
            head.register = signature(program, head.state, head.register, u32::from(height));
            head.node = self.stacks.visible(program, head.node, height, &mut self.interned);
        }
        live.sort_unstable();
        live.dedup();
        let found = self.intern(&live);
        self.visible.insert((config, height), found);
        self.live = live;
        found
    }

    /// Returns where a transition is.
    #[inline]
    fn place(&self, config: ConfigId, byte: u8) -> usize {
        config.index() * self.n_classes + usize::from(self.class_of[usize::from(byte)])
    }

    #[cold]
    fn find_step(&mut self, program: &Program, config: ConfigId, byte: u8) -> ConfigId {
        let mut live = core::mem::take(&mut self.live);
        live.clear();
        live.extend_from_slice(self.heads(config));
        let fresh = self.stacks.mark();
        let mut next = core::mem::take(&mut self.next);
        step_byte(program, &mut self.stacks, &live, byte, &mut next);
        let n_made = u64::from(self.stacks.mark().n_nodes - fresh.n_nodes);
        self.stacks.work.spend(WORK_PER_STEP + WORK_PER_HEAD * (live.len() as u64 + next.len() as u64 + n_made));
        self.stacks.intern(fresh, &mut next, &mut self.interned);
        let target = self.intern(&next);
        let place = self.place(config, byte);
        self.transitions[place] = target.0;
        (self.live, self.next) = (live, next);
        target
    }

    /// Returns the number of a configuration.
    fn intern(&mut self, live: &[Head]) -> ConfigId {
        let hash = spread(hash_of(live));
        let is_equal = |&(known_hash, number): &(u64, u32)| known_hash == hash && self.heads(ConfigId(number)) == live;
        if let Some(&(_, number)) = self.numbers.find(hash, is_equal) {
            return ConfigId(number);
        }
        let number = self.starts.len() as u32 - 1;
        self.heads.extend_from_slice(live);
        self.starts.push(self.heads.len() as u32);
        self.transitions.resize(self.transitions.len() + self.n_classes, UNKNOWN);
        self.numbers.insert_unique(hash, (hash, number), |&(hash, _)| hash);
        self.is_flat.push(live.iter().all(|head| head.register == 0 && self.stacks.is_base(head.node)));
        ConfigId(number)
    }
}

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
//! Configurations are kept from walk to walk, since the texts of a grammar lead to the same ones again and again. So the stacks that a walk begins with are imported
//! by content ([`interned`](super::interned)). Of deep ones only the upper frames are, and a walk that returns beyond them is *blind*: it must begin again with more.
//!
//! Cost: a look-up per byte; a step per head for each configuration and class of bytes that is met. Work is counted with that of the stacks.

use super::head::{BOTTOM, Configuration, Head, StackNodeId, signature};
use super::interned::{HEIGHT_MAX, InternedStacks, UNSEEN};
use super::stack::{Stacks, hash_of, spread};
use super::step::step_byte;
use super::work::Work;
use crate::automaton::{BELOW, DONE, Program, StateId};
use crate::util::ByteSet;
use ahash::{AHashMap, AHashSet};
use hashbrown::HashTable;
use smallvec::SmallVec;

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

/// Heights that are told apart: powers of two up to [`HEIGHT_MAX`].
const N_HEIGHTS: usize = HEIGHT_MAX.trailing_zeros() as usize + 1;

/// Configurations met so far, and the transitions between them.
#[derive(Debug)]
pub(crate) struct LazyDfa {
    interned: InternedStacks,
    /// The heads of all configurations, one after the other.
    heads: Vec<Head>,
    configs: Vec<Config>,
    /// Hashes of configurations, and their numbers.
    numbers: HashTable<(u64, u32)>,
    /// By configuration and class of bytes.
    transitions: Vec<u32>,
    n_classes: usize,
    class_of: [u8; 256],
    /// By state, once asked for: the bytes that it reads.
    bytes_of: AHashMap<StateId, ByteSet>,
    /// Those that were stepped from since the walk began, and when else they were.
    visited: Vec<ConfigId>,
    epoch: u32,
    is_blind: bool,
    live: Configuration,
    next: Configuration,
}

#[derive(Debug)]
struct Config {
    /// Where its heads end; they begin where those of the one before end.
    heads_end: u32,
    /// When it was last stepped from.
    epoch: u32,
    /// Whether it counts nothing and has no frames to return to.
    is_flat: bool,
    /// What bytes up to each height can see of it; [`UNKNOWN`] if that was not asked for yet.
    visible: [u32; N_HEIGHTS],
    /// The nodes whose exits its transitions read.
    reads: SmallVec<[StackNodeId; 4]>,
}

impl LazyDfa {
    /// Returns one that has met no configurations of a program.
    pub fn new(program: &Program) -> LazyDfa {
        let mut dfa = LazyDfa {
            interned: InternedStacks::default(),
            heads: Vec::new(),
            configs: Vec::new(),
            numbers: HashTable::new(),
            transitions: Vec::new(),
            n_classes: program.byte_classes().n_classes(),
            class_of: *program.byte_classes().of(),
            bytes_of: AHashMap::new(),
            visited: Vec::new(),
            epoch: 0,
            is_blind: false,
            live: Vec::new(),
            next: Vec::new(),
        };
        let dead = dfa.intern(&[]);
        debug_assert_eq!(dead, ConfigId::DEAD);
        dfa
    }

    /// Begins a walk from a configuration with an allowance of work; returns its number. Of its stacks `n_deep` frames are seen, and of registers what `horizon` bytes
    /// can tell. Values are not compared.
    pub fn start(
        &mut self,
        program: &Program,
        stacks: &Stacks,
        live: &[Head],
        work: Work,
        n_deep: usize,
        horizon: u32,
    ) -> ConfigId {
        self.interned.stacks.work = work;
        self.is_blind = false;
        self.visited.clear();
        self.next_epoch();
        let mut start = core::mem::take(&mut self.live);
        start.clear();
        start.extend_from_slice(live);
        self.interned.import(program, stacks, &mut start, n_deep, horizon);
        let config = if self.work().is_spent() { ConfigId::DEAD } else { self.intern(&start) };
        self.live = start;
        config
    }

    /// Returns the work of steps, to add that of others.
    #[inline]
    pub fn work(&mut self) -> &mut Work {
        &mut self.interned.stacks.work
    }

    /// Tells whether the walk returned beyond the frames that it sees. Then configurations have too few heads.
    #[inline]
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// Returns the heads of a configuration.
    pub fn heads(&self, config: ConfigId) -> &[Head] {
        let first = config.index().checked_sub(1).map_or(0, |before| self.configs[before].heads_end);
        &self.heads[first as usize..self.configs[config.index()].heads_end as usize]
    }

    /// Returns which nodes of the stacks at the start the walk has read exits of, perhaps too many.
    pub fn nodes_read(&self) -> AHashSet<StackNodeId> {
        let reads = self.visited.iter().flat_map(|config| &self.configs[config.index()].reads).copied().collect();
        self.interned.imported_of(&reads)
    }

    /// Begins to note which configurations are stepped from, for [`Self::noted`].
    pub fn note(&mut self) -> usize {
        self.next_epoch();
        self.visited.len()
    }

    /// Returns the configurations that were stepped from since a note.
    pub fn noted(&self, note: usize) -> &[ConfigId] {
        &self.visited[note..]
    }

    /// Forgets which configurations were stepped from since a note.
    pub fn forget(&mut self, note: usize) {
        self.visited.truncate(note);
        self.next_epoch();
    }

    /// Notes that what was found out by stepping from some configurations was used again.
    pub fn visit(&mut self, configs: &[ConfigId]) {
        self.visited.extend_from_slice(configs);
    }

    fn next_epoch(&mut self) {
        if self.epoch == u32::MAX {
            self.epoch = 0;
            self.configs.iter_mut().for_each(|config| config.epoch = 0);
        }
        self.epoch += 1;
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.heads.len() * size_of::<Head>()
            + self.configs.len() * size_of::<Config>()
            + (self.transitions.len() + self.visited.len()) * size_of::<u32>()
            + self.numbers.capacity() * size_of::<(u64, u32)>()
            + self.bytes_of.capacity() * size_of::<(StateId, ByteSet)>()
            + self.interned.memory_bytes()
    }

    /// Returns the configuration after a byte.
    #[inline]
    pub fn step(&mut self, program: &Program, config: ConfigId, byte: u8) -> ConfigId {
        let entry = &mut self.configs[config.index()];
        if entry.epoch != self.epoch {
            entry.epoch = self.epoch;
            self.visited.push(config);
        }
        let known = self.transitions[self.place(config, byte)];
        if known != UNKNOWN { ConfigId(known) } else { self.find_step(program, config, byte) }
    }

    /// Returns the configuration of one head.
    pub fn config_of(&mut self, head: Head) -> ConfigId {
        self.intern(&[head])
    }

    /// Returns the configuration of one head over stacks of which nothing is seen; nothing if it reads nothing.
    pub fn config_alone(&mut self, head: Head) -> Option<ConfigId> {
        let is_live = head.state != DONE && head.state != BELOW;
        is_live.then(|| self.intern(&[Head { node: UNSEEN, ..head }]))
    }

    /// Returns the bytes that some head of a configuration reads, whatever it counts.
    pub fn bytes(&mut self, program: &Program, config: ConfigId) -> ByteSet {
        let mut bytes = ByteSet::EMPTY;
        for index in 0..self.heads(config).len() {
            let state = self.heads(config)[index].state;
            bytes |= *self.bytes_of.entry(state).or_insert_with(|| program.bytes(state));
        }
        bytes
    }

    /// Tells whether [`Self::visible`] is the configuration itself, whatever the height.
    #[inline]
    pub fn is_flat(&self, config: ConfigId) -> bool {
        self.configs[config.index()].is_flat
    }

    /// Returns a configuration that `height` further bytes can't tell from this one: frames and counts out of their reach are left out. So configurations
    /// that grow with each byte of a token are few all the same, since nearly all of the vocabulary's trie is near its leaves.
    #[inline]
    pub fn visible(&mut self, program: &Program, config: ConfigId, height: u8) -> ConfigId {
        let entry = &self.configs[config.index()];
        if entry.is_flat || height > HEIGHT_MAX {
            return config;
        }
        let index = height.next_power_of_two().trailing_zeros() as usize;
        let known = entry.visible[index];
        if known != UNKNOWN { ConfigId(known) } else { self.find_visible(program, config, index) }
    }

    #[cold]
    fn find_visible(&mut self, program: &Program, config: ConfigId, index: usize) -> ConfigId {
        let height = 1 << index;
        let mut live = core::mem::take(&mut self.live);
        live.clear();
        live.extend_from_slice(self.heads(config));
        self.work().spend(WORK_PER_STEP + WORK_PER_HEAD * live.len() as u64);
        for head in &mut live {
            head.register = signature(program, head.state, head.register, u32::from(height));
            head.node = self.interned.visible(program, head.node, height);
        }
        live.sort_unstable();
        live.dedup();
        let found = self.intern(&live);
        self.configs[config.index()].visible[index] = found.0;
        self.live = live;
        found
    }

    /// Returns the class of a byte: those of one class lead to the same configurations.
    #[inline]
    pub fn class(&self, byte: u8) -> u8 {
        self.class_of[usize::from(byte)]
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
        if live.iter().any(|head| head.state == BELOW) {
            self.is_blind = true;
            self.live = live;
            return ConfigId::DEAD;
        }
        let stacks = &mut self.interned.stacks;
        let fresh = stacks.mark();
        let mut next = core::mem::take(&mut self.next);
        step_byte(program, stacks, &live, byte, &mut next);
        let n_made = u64::from(stacks.mark().n_nodes - fresh.n_nodes);
        stacks.work.spend(WORK_PER_STEP + WORK_PER_HEAD * (live.len() as u64 + next.len() as u64 + n_made));
        let reads = &mut self.configs[config.index()].reads;
        reads.extend(stacks.take_reads());
        reads.sort_unstable();
        reads.dedup();
        let is_spent = stacks.work.is_spent();
        self.interned.intern(fresh, &mut next);
        // What was found with too little work may lack heads.
        let target = if is_spent { ConfigId::DEAD } else { self.intern(&next) };
        if !is_spent {
            let place = self.place(config, byte);
            self.transitions[place] = target.0;
        }
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
        let number = self.configs.len() as u32;
        self.heads.extend_from_slice(live);
        self.configs.push(Config {
            heads_end: self.heads.len() as u32,
            epoch: 0,
            is_flat: live.iter().all(|head| head.register == 0 && (head.node == BOTTOM || head.node == UNSEEN)),
            visible: [UNKNOWN; N_HEIGHTS],
            reads: SmallVec::new(),
        });
        self.transitions.resize(self.transitions.len() + self.n_classes, UNKNOWN);
        self.numbers.insert_unique(hash, (hash, number), |&(hash, _)| hash);
        ConfigId(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{start, step_bytes};
    use crate::{CompiledGrammar, GrammarCompiler, Vocab};
    use std::sync::Arc;

    const GRAMMAR: &str = "root ::= (\"(\" root \")\" | \"[\" root \"]\" | \"*\" root \"*\" | [a-z*] | number{2,4})*\nnumber ::= [0-9]+ \",\"";
    const TEXTS: [&str; 8] = ["", "((a", "[((a", "[(([((a", "*((a*(*b", "(1,2,3", "[[[[[[(12,", "*a*(*(1,2,"];
    const SUFFIXES: [&str; 8] = ["a", ")))", "))]))", "*)*)]*", ",3,)", "[(*1,2,*)]", "4,5,6,", "*]*)*"];

    fn grammar() -> CompiledGrammar {
        let vocab = Vocab::from_tokens(["a"]).unwrap();
        GrammarCompiler::new(Arc::new(vocab)).compile_ebnf(GRAMMAR).unwrap()
    }

    /// Returns where a text leads.
    fn after(program: &Program, text: &str) -> (Stacks, Configuration) {
        let (mut stacks, mut live) = (Stacks::new(DONE), Configuration::new());
        start(program, &mut live);
        let (mut current, mut next) = (Configuration::new(), Configuration::new());
        let n_read = step_bytes(program, &mut stacks, &live, text.as_bytes(), &mut current, &mut next);
        assert_eq!(n_read, text.len(), "{text}");
        (stacks, current)
    }

    fn n_readable(program: &Program, text: &str, suffix: &str) -> usize {
        let (mut stacks, live) = after(program, text);
        let (mut current, mut next) = (Configuration::new(), Configuration::new());
        step_bytes(program, &mut stacks, &live, suffix.as_bytes(), &mut current, &mut next)
    }

    /// One DFA for all texts, however much of their stacks it sees: it reads what steps read, or says that it can't tell.
    #[test]
    fn configurations_are_those_of_steps_or_blind() {
        let grammar = grammar();
        let program = grammar.program();
        let mut dfa = LazyDfa::new(program);
        let (mut n_blind, mut n_configs) = ([0; 4], 0);
        for round in 0..2 {
            for (index, n_deep) in [1, 2, 4, 100].into_iter().enumerate() {
                for text in TEXTS {
                    let (stacks, live) = after(program, text);
                    for suffix in SUFFIXES {
                        let mut config = dfa.start(program, &stacks, &live, Work::default(), n_deep, 16);
                        let mut n_read = 0;
                        for &byte in suffix.as_bytes() {
                            // What the bytes to come can't see makes no difference.
                            config = dfa.visible(program, config, (suffix.len() - n_read) as u8);
                            config = dfa.step(program, config, byte);
                            if config == ConfigId::DEAD {
                                break;
                            }
                            n_read += 1;
                        }
                        if dfa.is_blind() {
                            n_blind[index] += 1;
                        } else {
                            assert_eq!(n_read, n_readable(program, text, suffix), "{text} {suffix} {n_deep}");
                        }
                    }
                }
            }
            if round == 0 {
                n_configs = dfa.configs.len();
            }
        }
        assert_eq!(dfa.configs.len(), n_configs, "all configurations were met before");
        assert!(n_blind[0] > n_blind[1] && n_blind[1] > n_blind[2] && n_blind[3] == 0, "{n_blind:?}");
    }

    #[test]
    fn nodes_that_are_returned_to_were_read_whatever_was_visible_of_them() {
        let grammar = grammar();
        let program = grammar.program();
        let mut dfa = LazyDfa::new(program);
        for (text, byte, is_bottom_read) in [("", b'a', true), ("(((a", b')', false), ("(a", b')', true)] {
            let (stacks, live) = after(program, text);
            let mut read_at = |height: Option<u8>| {
                let config = dfa.start(program, &stacks, &live, Work::default(), 100, 16);
                assert!(dfa.nodes_read().is_empty());
                let config = height.map_or(config, |height| dfa.visible(program, config, height));
                assert_ne!(dfa.step(program, config, byte), ConfigId::DEAD);
                dfa.nodes_read()
            };
            let read = read_at(None);
            // What is visible of two nodes may be the same.
            assert!(read.is_subset(&read_at(Some(1))), "{text}");
            assert_eq!(read.contains(&BOTTOM), is_bottom_read, "{text}");
            assert!(live.iter().any(|head| read.contains(&head.node)), "{text}");
        }
    }
}

//! The mask of a whole configuration, by a walk with a lazy DFA.
//!
//! Taking a mask apart by heads and frames (see [`query`](super::query)) finds most of it in the store, and is right as long as the parts are few.
//! With ambiguous recursion they are not: at each of a hundred thousand places in the vocabulary a loop may end, and another one begin.
//! Here all heads are walked together over the stacks that they have, as one state of a [`LazyDfa`], so that ways that meet are one. What a
//! configuration reads for many characters without being refused is not walked at all ([`lookahead`](super::lookahead)).
//!
//! Cost: for each configuration on the way its transitions; beside them a look-up for each trie node that is not covered by a look-ahead.

use super::lookahead::{Lookahead, Lookaheads, rounded};
use super::switches::ShortCut;
use super::walk_context::{REGIONS_DEEP_MAX, WalkContext};
use crate::automaton::{Program, ProgramId};
use crate::exec::{ConfigId, Head, LazyDfa, OverBudget, StackNodeId, Stacks, Work};
use crate::util::{Threshold, bit_row};
use crate::vocab::{Region, TokenId, TrieNode};
use ahash::{AHashMap, AHashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Fewest trie nodes below a node that make it worth to look for a look-ahead.
const REGION_NODES_MIN: usize = 400;
/// Steps that are found again, of a row, in a unit of work.
const STEPS_PER_WORK: u64 = 4;
/// Work of look-ahead that found nothing beyond which a walk looks no further ahead.
const WASTED_MAX: u64 = 1 << 16;
/// Memory of one walk that is kept for the next one.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// What a look-ahead takes, about.
const KNOWN_BYTES: usize = 256;
/// Most walks whose memory is kept.
const KEPT_MAX: usize = 8;
/// Tokens of a region beyond which its row is added instead of them.
const ROW_TOKENS_MIN: Threshold = Threshold::new(1 << 12);
/// Frames that a walk sees at first: few tokens close more.
const N_DEEP: usize = 16;

/// Walks that are not under way, with what they know about configurations of one program each.
#[derive(Debug, Default)]
pub(super) struct ConfigurationWalks(Mutex<Vec<ConfigurationWalk>>);

impl ConfigurationWalks {
    /// Returns a walk with a program: one that knows something, or a new one.
    pub fn take(&self, program: &Program) -> ConfigurationWalk {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().rposition(|walk| walk.program == program.id());
        known.map_or_else(|| ConfigurationWalk::new(program), |index| kept.remove(index))
    }

    /// Takes a walk back.
    pub fn put(&self, walk: ConfigurationWalk) {
        if walk.memory_bytes() > KEPT_BYTES_MAX {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push(walk);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Vec::new();
    }
}

/// A walk with configurations of a program, what is known about these, and the memory that it works in.
#[derive(Debug)]
pub(super) struct ConfigurationWalk {
    program: ProgramId,
    dfa: LazyDfa,
    lookaheads: Lookaheads,
    /// By configuration, and what can be read behind it: its look-ahead, once asked for.
    known: AHashMap<(ConfigId, u8), Option<Arc<Lookahead>>>,
    /// The configurations before the bytes of the nodes on the way.
    levels: Vec<ConfigId>,
    /// Work of look-ahead that found nothing, in the walk under way.
    wasted: u64,
    bytes_max: usize,
    /// How many frames a walk sees.
    n_deep: usize,
}

/// Why a walk ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    OverBudget,
    /// It returned beyond the frames that it sees.
    Blind,
}

impl ConfigurationWalk {
    fn new(program: &Program) -> ConfigurationWalk {
        ConfigurationWalk {
            program: program.id(),
            dfa: LazyDfa::new(program),
            lookaheads: Lookaheads::default(),
            known: AHashMap::new(),
            levels: Vec::new(),
            wasted: 0,
            bytes_max: 0,
            n_deep: N_DEEP,
        }
    }

    fn memory_bytes(&self) -> usize {
        self.dfa.memory_bytes() + self.known.capacity() * KNOWN_BYTES
    }

    /// Adds to `row` the text tokens that a configuration allows, with no more work, and bytes for configurations and stacks, than that.
    pub fn add_to(
        &mut self,
        context: WalkContext<'_>,
        stacks: &Stacks,
        live: &[Head],
        row: &mut [u32],
        mut work: Work,
        bytes_max: usize,
    ) -> Result<(), OverBudget> {
        let horizon = context.vocab.token_bytes_max();
        // What is kept is not to use up what this walk may take.
        if self.memory_bytes() > bytes_max / 2 {
            *self = ConfigurationWalk::new(context.program);
        }
        self.bytes_max = bytes_max;
        loop {
            self.levels.clear();
            self.wasted = 0;
            let start = self.dfa.start(context.program, stacks, live, work, self.n_deep, horizon as u32);
            let walked = self.check().and_then(|()| self.below(context, TrieNode::ROOT, start, row, 0));
            match walked.and_then(|()| self.check()) {
                Ok(()) => return Ok(()),
                Err(Stop::OverBudget) => return Err(OverBudget),
                // To return through a frame takes a byte at least; searches for look-aheads read a few more than tokens have.
                Err(Stop::Blind) => self.n_deep = (2 * self.n_deep).max(horizon + 1),
            }
            work = *self.dfa.work();
        }
    }

    /// Returns the work done by the last walk.
    pub fn work_done(&mut self) -> u64 {
        self.dfa.work().done()
    }

    /// Returns the nodes of the stacks whose exits the last walk read, perhaps too many: its mask holds for all stacks that have these.
    pub fn nodes_read(&self) -> AHashSet<StackNodeId> {
        self.dfa.nodes_read()
    }

    fn check(&mut self) -> Result<(), Stop> {
        if self.dfa.is_blind() {
            return Err(Stop::Blind);
        }
        let is_over = self.dfa.work().is_spent() || self.memory_bytes() > self.bytes_max;
        if is_over { Err(Stop::OverBudget) } else { Ok(()) }
    }

    /// Adds the tokens below a trie node that a configuration reads.
    fn below(
        &mut self,
        context: WalkContext<'_>,
        from: TrieNode,
        config: ConfigId,
        row: &mut [u32],
        nesting: usize,
    ) -> Result<(), Stop> {
        if self.skips(context, from, config, row, nesting)? {
            return Ok(());
        }
        let WalkContext { program, vocab, .. } = context;
        let trie = vocab.trie();
        let (depth_base, n_levels) = (usize::from(trie.depth(from)) + 1, self.levels.len());
        self.levels.push(config);
        let (mut node, end) = (from.next(), trie.subtree_end(from));
        while node < end {
            self.dfa.work().spend(1);
            let depth = n_levels + usize::from(trie.depth(node)) - depth_base;
            self.levels.truncate(depth + 1);
            let next = self.dfa.step(program, self.levels[depth], trie.byte(node));
            if self.dfa.work().is_spent() {
                return Err(Stop::OverBudget);
            }
            if next == ConfigId::DEAD {
                if self.dfa.is_blind() {
                    return Err(Stop::Blind);
                }
                node = trie.subtree_end(node);
                continue;
            }
            bit_row::set_all(row, trie.tokens(node));
            let height = trie.height(node);
            if height == 0 {
                node = node.next();
                continue;
            }
            let next = self.dfa.visible(program, next, height);
            if self.skips(context, node, next, row, nesting)? {
                node = trie.subtree_end(node);
                continue;
            }
            self.levels.push(next);
            node = node.next();
        }
        self.levels.truncate(n_levels);
        self.check()
    }

    /// Adds the tokens below a trie node by the look-ahead of a configuration; tells whether there is one that is worth it.
    fn skips(
        &mut self,
        context: WalkContext<'_>,
        node: TrieNode,
        config: ConfigId,
        row: &mut [u32],
        nesting: usize,
    ) -> Result<bool, Stop> {
        let trie = context.vocab.trie();
        let is_small = trie.n_nodes_at(node) <= REGION_NODES_MIN;
        if is_small || nesting >= REGIONS_DEEP_MAX || !ShortCut::Lookaheads.is_on() {
            return Ok(false);
        }
        let Some(lookahead) = self.lookahead(context, config, trie.height(node))? else { return Ok(false) };
        let region = context.vocab.region(lookahead.alphabet, node);
        self.take(context, &region, config, &lookahead, row)?;
        self.leave(context, &region, config, &lookahead, row, nesting)?;
        Ok(true)
    }

    fn lookahead(
        &mut self,
        context: WalkContext<'_>,
        config: ConfigId,
        height: u8,
    ) -> Result<Option<Arc<Lookahead>>, Stop> {
        let height = if self.dfa.is_flat(config) { u8::MAX } else { rounded(height) };
        if let Some(known) = self.known.get(&(config, height)) {
            if let Some(lookahead) = known {
                self.dfa.visit(&lookahead.configs);
            }
            return Ok(known.clone());
        }
        if self.wasted > WASTED_MAX {
            return Ok(None);
        }
        let (before, note) = (self.dfa.work().done(), self.dfa.note());
        let found = self.lookaheads.find(context.program, &mut self.dfa, config, height);
        self.check()?;
        let found = found.map(|found| Arc::new(Lookahead { configs: self.dfa.noted(note).into(), ..found }));
        if found.is_none() {
            self.wasted += self.dfa.work().done() - before;
        }
        self.known.insert((config, height), found.clone());
        Ok(found)
    }

    /// Adds the tokens of a region that a configuration reads: all, but for those with more characters than its look-ahead.
    fn take(
        &mut self,
        context: WalkContext<'_>,
        region: &Region,
        config: ConfigId,
        lookahead: &Lookahead,
        row: &mut [u32],
    ) -> Result<(), Stop> {
        let WalkContext { program, vocab, .. } = context;
        let longer = region.tokens_beyond(vocab, lookahead.n_chars);
        if longer.is_empty() && region.n_tokens() >= ROW_TOKENS_MIN.get() {
            let base = region.row(row.len());
            row.iter_mut().zip(&**base).for_each(|(word, bits)| *word |= bits);
            return Ok(());
        }
        bit_row::set_all(row, region.tokens_up_to(vocab, lookahead.n_chars));
        let depth = usize::from(vocab.trie().depth(region.from()));
        for &token in &*longer {
            if self.run(program, config, &vocab.bytes(token)[depth..])? != ConfigId::DEAD {
                bit_row::set(row, token as TokenId);
            }
        }
        Ok(())
    }

    /// Walks on at the border of a region.
    fn leave(
        &mut self,
        context: WalkContext<'_>,
        region: &Region,
        config: ConfigId,
        lookahead: &Lookahead,
        row: &mut [u32],
        nesting: usize,
    ) -> Result<(), Stop> {
        let WalkContext { program, vocab, .. } = context;
        let trie = vocab.trie();
        let depth = usize::from(trie.depth(region.from()));
        let broken = if lookahead.may_break { region.broken(trie) } else { &[] };
        let leaving = lookahead.leaving.iter().flat_map(|byte| region.border(byte));
        for &node in leaving.chain(broken) {
            let Some(&token) = trie.subtree_tokens(node).first() else { continue };
            let next = self.run(program, config, &vocab.bytes(token)[depth..usize::from(trie.depth(node))])?;
            if next == ConfigId::DEAD {
                continue;
            }
            bit_row::set_all(row, trie.tokens(node));
            if trie.has_children(node) {
                let next = self.dfa.visible(program, next, trie.height(node));
                self.below(context, node, next, row, nesting + 1)?;
            }
        }
        Ok(())
    }

    /// Returns the configuration after some bytes.
    fn run(&mut self, program: &Program, mut config: ConfigId, bytes: &[u8]) -> Result<ConfigId, Stop> {
        self.dfa.work().spend(bytes.len() as u64 / STEPS_PER_WORK + 1);
        for &byte in bytes {
            config = self.dfa.step(program, config, byte);
            if config == ConfigId::DEAD {
                break;
            }
        }
        self.check()?;
        Ok(config)
    }
}

//! The mask of a whole configuration, by a walk with a lazy DFA.
//!
//! Taking a mask apart by heads and frames (see [`settle`](super::settle)) finds most of it in the store, and is right as long as the parts are few.
//! With ambiguous recursion they are not: at each of a hundred thousand places in the vocabulary a loop may end, and another one begin.
//! Here all heads are walked together over the stacks that they have, as one state of a [`LazyDfa`], so that ways that meet are one. What a
//! configuration reads for many characters without being refused is not walked at all ([`lookahead`](super::lookahead)).
//!
//! Cost: for each configuration on the way its transitions; beside them a look-up for each trie node that is not covered by a look-ahead.

use super::lookahead::{Lookahead, Lookaheads};
use super::switches::ShortCut;
use super::walk_context::{REGIONS_DEEP_MAX, WalkContext};
use crate::automaton::Program;
use crate::exec::{ConfigId, Head, LazyDfa, OverBudget, Stacks, Work};
use crate::util::bit_row;
use crate::vocab::{Region, TokenId, TrieNode};
use ahash::AHashMap;
use std::sync::Arc;

/// Fewest trie nodes below a node that make it worth to look for a look-ahead.
const REGION_NODES_MIN: usize = 400;
/// Steps that are found again, of a row, in a unit of work.
const STEPS_PER_WORK: u64 = 4;
/// Work of look-ahead that found nothing beyond which a walk looks no further ahead.
const WASTED_MAX: u64 = 1 << 16;
/// Memory that is kept from walk to walk.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Tokens of a region beyond which its row is added instead of them.
const ROW_TOKENS_MIN: usize = 1 << 12;

/// Walks with configurations, and the memory that they work in.
#[derive(Debug, Default)]
pub(super) struct ConfigurationWalk {
    pub dfa: LazyDfa,
    lookaheads: Lookaheads,
    /// By configuration, and what can be read behind it: its look-ahead, once asked for.
    known: AHashMap<(ConfigId, u8), Option<Arc<Lookahead>>>,
    /// The configurations before the bytes of the nodes on the way.
    levels: Vec<ConfigId>,
    /// Work of look-ahead that found nothing, in the walk under way.
    wasted: u64,
    bytes_max: usize,
}

impl ConfigurationWalk {
    /// Adds to `row` the text tokens that a configuration allows, with no more work, and bytes for configurations and stacks, than that.
    pub fn add_to(
        &mut self,
        context: WalkContext<'_>,
        stacks: &Stacks,
        live: &[Head],
        row: &mut [u32],
        work: Work,
        bytes_max: usize,
    ) -> Result<(), OverBudget> {
        self.known.clear();
        self.levels.clear();
        self.wasted = 0;
        self.bytes_max = bytes_max;
        let start = self.dfa.start(context.program, stacks, live, work);
        self.below(context, TrieNode::ROOT, start, row, 0)?;
        self.check()
    }

    /// Returns the work done by the last walk, the memory that is kept for the next one given back if it is much.
    pub fn finish(&mut self) -> u64 {
        let work = self.dfa.work().done();
        if self.dfa.memory_bytes() > KEPT_BYTES_MAX {
            *self = ConfigurationWalk::default();
        }
        work
    }

    fn check(&mut self) -> Result<(), OverBudget> {
        let is_over = self.dfa.work().is_spent() || self.dfa.memory_bytes() > self.bytes_max;
        if is_over { Err(OverBudget) } else { Ok(()) }
    }

    /// Adds the tokens below a trie node that a configuration reads.
    fn below(
        &mut self,
        context: WalkContext<'_>,
        from: TrieNode,
        config: ConfigId,
        row: &mut [u32],
        nesting: usize,
    ) -> Result<(), OverBudget> {
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
                return Err(OverBudget);
            }
            if next == ConfigId::DEAD {
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
    ) -> Result<bool, OverBudget> {
        let trie = context.vocab.trie();
        let is_small = trie.n_nodes_at(node) <= REGION_NODES_MIN;
        if is_small || nesting >= REGIONS_DEEP_MAX || !ShortCut::Lookaheads.is_on() {
            return Ok(false);
        }
        let Some(lookahead) = self.lookahead(context, config, trie.height(node)) else { return Ok(false) };
        self.check()?;
        let region = context.vocab.region(lookahead.alphabet, node);
        self.take(context, &region, config, &lookahead, row)?;
        self.leave(context, &region, config, &lookahead, row, nesting)?;
        Ok(true)
    }

    fn lookahead(&mut self, context: WalkContext<'_>, config: ConfigId, height: u8) -> Option<Arc<Lookahead>> {
        let height = if self.dfa.is_flat(config) { u8::MAX } else { height };
        if let Some(known) = self.known.get(&(config, height)) {
            return known.clone();
        }
        if self.wasted > WASTED_MAX {
            return None;
        }
        let before = self.dfa.work().done();
        let found = self.lookaheads.find(context.program, &mut self.dfa, config, height).map(Arc::new);
        if found.is_none() {
            self.wasted += self.dfa.work().done() - before;
        }
        self.known.insert((config, height), found.clone());
        found
    }

    /// Adds the tokens of a region that a configuration reads: all, but for those with more characters than its look-ahead.
    fn take(
        &mut self,
        context: WalkContext<'_>,
        region: &Region,
        config: ConfigId,
        lookahead: &Lookahead,
        row: &mut [u32],
    ) -> Result<(), OverBudget> {
        let WalkContext { program, vocab, .. } = context;
        let (sure, longer) = region.tokens_up_to(vocab, lookahead.n_chars);
        if longer.is_empty() && sure.len() >= ROW_TOKENS_MIN {
            let base = region.row(row.len());
            row.iter_mut().zip(&**base).for_each(|(word, bits)| *word |= bits);
            return Ok(());
        }
        bit_row::set_all(row, sure);
        let depth = usize::from(vocab.trie().depth(region.from()));
        for &token in longer {
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
    ) -> Result<(), OverBudget> {
        let WalkContext { program, vocab, .. } = context;
        let trie = vocab.trie();
        let depth = usize::from(trie.depth(region.from()));
        for byte in lookahead.leaving.iter() {
            for &node in region.border(byte) {
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
        }
        Ok(())
    }

    /// Returns the configuration after some bytes.
    fn run(&mut self, program: &Program, mut config: ConfigId, bytes: &[u8]) -> Result<ConfigId, OverBudget> {
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

//! Masks where elements must all be different: keys of objects, items under `uniqueItems`.
//!
//! Masks that are kept know nothing of what was read. That makes no difference for nearly all tokens: one is wrongly allowed only if it completes
//! an element that is there already. For keys, and for strings among items, those tokens are found by what an element looks like (a token that
//! completes one has its closing quote), and tried. Of other items, those tokens are tried in which one may end. Where elements may run
//! out (`enum`), all tokens are tried on the way through the trie.

use super::Matcher;
use crate::automaton::{Kind, Owner};
use crate::exec::{Elements, NodeId, Pair, Piece};
use crate::machine::Equality;
use crate::mask::{fill, is_wide};
use crate::vocab::TokenId;
use std::sync::Arc;

/// Most nodes of the stacks to look at before all tokens are tried.
const NODES_MAX: usize = 256;

/// Which tokens have to be tried, and memory to find that out in.
#[derive(Default)]
pub(super) struct Doubt {
    /// All.
    all: bool,
    /// Those with two quotes, with three, and those that open or close a container: items that are no texts may be within.
    items: bool,
    /// Those in which an item that begins within them may end.
    whole_items: bool,
    /// Those in which an item under way may end.
    ends: bool,
    /// Those with a quote and a comma: an item may begin within that nothing is left for.
    next_items: bool,
    /// Those that hold one of these between quotes.
    keys: Vec<Piece>,
    /// Those that begin with one of these.
    rests: Vec<Piece>,
    /// A key.
    bytes: Vec<u8>,
    seen: Vec<NodeId>,
    pending: Vec<(NodeId, usize)>,
}

impl Matcher {
    /// Makes `row` the mask of what may follow, where elements are compared; returns the number of tokens, or more.
    pub(super) fn fill_with_elements(&mut self, row: &mut [u32]) -> usize {
        let mut doubt = core::mem::take(&mut self.scratch.doubt);
        self.find_doubt(&mut doubt);
        let n_tokens = match doubt.all {
            true => {
                row.fill(0);
                self.asker().walk_whole(&self.live, row)
            }
            false => self.fill_and_try(row, &mut doubt),
        };
        self.scratch.doubt = doubt;
        n_tokens
    }

    /// As [`Self::fill_with_elements`], where only some tokens have to be tried.
    fn fill_and_try(&mut self, row: &mut [u32], doubt: &mut Doubt) -> usize {
        let filled = fill(&self.asker(), &self.live, row);
        self.count_hits(filled.n_hits);
        let masks = Arc::clone(self.grammar.masks());
        let kept = masks.element_tokens(self.grammar.vocab());
        let mut n_cleared = 0;
        self.clear_refused(row, &kept.twice, &mut n_cleared);
        if self.grammar.program().has_items() {
            self.clear_refused(row, &kept.opening, &mut n_cleared);
        }
        if doubt.items {
            self.clear_refused(row, &kept.quoted, &mut n_cleared);
            self.clear_refused(row, &kept.closing, &mut n_cleared);
        }
        if doubt.whole_items {
            self.clear_refused(row, &kept.quoted, &mut n_cleared);
            self.clear_refused(row, &kept.ending_whole, &mut n_cleared);
        }
        if doubt.ends {
            self.clear_refused(row, &kept.ending, &mut n_cleared);
        }
        if doubt.next_items {
            self.clear_refused(row, &kept.separating, &mut n_cleared);
        }
        for &key in &doubt.keys {
            doubt.bytes.clear();
            doubt.bytes.extend(self.elements().bytes(key));
            if let Some(tokens) = kept.by_key.get(&*doubt.bytes) {
                self.clear_refused(row, tokens, &mut n_cleared);
            }
        }
        let vocab = Arc::clone(self.grammar.vocab());
        let trie = vocab.trie();
        for &rest in &doubt.rests {
            let node = self.elements().bytes(rest).try_fold(0, |node, byte| trie.child(node, byte));
            if let Some(node) = node {
                self.clear_refused(row, trie.subtree_tokens(node), &mut n_cleared);
            }
        }
        match n_cleared {
            0 => filled.n_tokens,
            // Sums don't say any more whether the mask is empty.
            _ => row.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Clears the bits of those of `tokens` that are refused.
    fn clear_refused(&mut self, row: &mut [u32], tokens: &[TokenId], n_cleared: &mut usize) {
        for &token in tokens {
            let (word, bit) = (token as usize / 32, token % 32);
            if row[word] >> bit & 1 == 1 && !self.is_token_allowed(token) {
                row[word] &= !(1 << bit);
                *n_cleared += 1;
            }
        }
    }

    fn elements(&self) -> &Elements {
        self.stacks.elements().expect("elements are compared")
    }

    fn find_doubt(&self, doubt: &mut Doubt) {
        let (program, elements) = (self.grammar.program(), self.elements());
        (doubt.all, doubt.items, doubt.next_items) = (false, false, false);
        doubt.keys.clear();
        doubt.rests.clear();
        let Doubt { seen, pending, .. } = doubt;
        seen.clear();
        pending.clear();
        let n_deep_max = self.grammar.vocab().token_bytes_max();
        for &pair in &self.live {
            if let Some(Owner::Elements(distinct)) = program.info(pair.state).and_then(|info| info.owner) {
                // Between elements: a whole one may follow.
                match distinct.equality {
                    _ if distinct.is_finite => doubt.all = true,
                    Equality::Bytes => elements.for_each(pair.register, |element| {
                        // One may begin right here, behind its quote.
                        doubt.rests.push(element);
                        doubt.keys.push(element);
                    }),
                    Equality::Json => doubt.whole_items = true,
                }
            }
            pending.push((pair.node, 0));
            while let Some((node, n_deep)) = pending.pop() {
                if seen.contains(&node) || n_deep > n_deep_max {
                    continue;
                }
                if seen.len() >= NODES_MAX {
                    doubt.all = true;
                    return;
                }
                seen.push(node);
                for index in 0..self.stacks.n_exits(node) {
                    let exit: Pair = self.stacks.exit(node, index);
                    let Some(info) = program.info(exit.state) else { continue };
                    if let Kind::Element(distinct) = info.kind {
                        let is_text = distinct.equality == Equality::Bytes;
                        doubt.items |= !is_text;
                        if n_deep == 0 {
                            // Within free text nothing runs out, and an element ends with its quote, a container with its bracket.
                            let is_container = matches!(elements.first_byte(exit.register), Some(b'{' | b'['));
                            let is_simple = match is_text {
                                true => !distinct.is_finite,
                                false => is_container || is_wide(program, pair.state),
                            };
                            doubt.all |= !is_simple && distinct.is_finite;
                            doubt.ends |= !is_simple && !distinct.is_finite;
                            doubt.next_items |= distinct.is_finite;
                            elements.for_each_rest(exit.register, |rest| doubt.rests.push(rest));
                        }
                    }
                    if let Some(Owner::Elements(distinct)) = info.owner {
                        doubt.next_items |= distinct.is_finite;
                        match distinct.equality {
                            Equality::Bytes => elements.for_each(exit.register, |key| doubt.keys.push(key)),
                            Equality::Json => doubt.items = true,
                        }
                    }
                    pending.push((exit.node, n_deep + 1));
                }
            }
        }
    }
}

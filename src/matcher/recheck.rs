//! Masks where values must differ: which tokens of a cached mask repeat a value, or leave none for one that must follow.
//!
//! Cached masks ignore the document so far, so that `[1, 2, 1` is as good a beginning as any, whatever `uniqueItems` says. The simple remedy, to try each token of the mask
//! by itself, takes 100 ms within a string, where 100,000 tokens are allowed. But hardly one of these has to do with the values that are there already:
//!
//! ```text
//! ["red", "green", "r|            `ed"` repeats a value and `","red"` may; no other token can, and none of those that begin with an `x` is worth a look
//! ```
//!
//! So the tokens are tried together, on a walk of the vocabulary's trie with real steps, and a subtree is left as it is if nothing in it can make a difference. That
//! is so at a node if every place where the text can be there is *safe*:
//! - no value under way is a prefix of one that is there already. Then whatever completes it is new, and the same holds for all longer prefixes;
//! - no token below the node ends a value and begins another one of the same container, as far as its punctuation tells
//!   ([`Punctuation`]): `"abc` doesn't, `"a", "b` may;
//! - between two values, nothing obliges another one to follow of which none may be left.
//!
//! All of that errs on the side of walking on. Where places are dropped on the way, because a value is repeated in one reading of the text and not in another one, the
//! whole subtree is walked. Cost: a step for each node that is visited, and a look at its stacks; within a string, some hundred nodes.

use super::Matcher;
use crate::automaton::{Kind, Owner, Program};
use crate::exec::{Configuration, Elements, NodeId, OverBudget, Pair, Stacks, StacksMark, Within, step_byte};
use crate::machine::{Distinct, Equality};
use crate::vocab::{Punctuation, TokenId};
use smallvec::SmallVec;
use std::sync::Arc;

/// Most nodes of the stacks to look at for one place; with more it is not known to be safe.
const STACK_NODES_MAX: usize = 256;
/// Work of a look at the stacks of a place.
const WORK_PER_PLACE: u64 = 16;

/// Memory for the walk.
#[derive(Default)]
pub(super) struct Recheck {
    /// By depth in the trie: where the text leads.
    levels: Vec<Level>,
    n_levels: usize,
    stack: StackWalk,
}

/// The text up to a node of the trie.
struct Level {
    live: Configuration,
    mark: StacksMark,
    within: Within,
    /// Whether no place was dropped on the way because of the values before: then the cached mask is right about what is live here.
    is_complete: bool,
}

/// Memory to go down stacks.
#[derive(Default)]
struct StackWalk {
    seen: SmallVec<[NodeId; 32]>,
    pending: SmallVec<[(NodeId, usize); 16]>,
    /// Frames whose value was no prefix of another one before the token: none of those that are longer is.
    new_values: SmallVec<[Pair; 8]>,
}

/// What the tokens below a node may still do.
#[derive(Clone, Copy)]
struct Suffixes {
    punctuation: Punctuation,
    n_bytes_max: usize,
}

impl Matcher {
    /// Makes `row` the mask of what may follow; tells whether that is none.
    pub(super) fn fill_distinct(&mut self, row: &mut [u32]) -> Result<bool, OverBudget> {
        if let Some(is_empty) = self.fill_with_keys(row) {
            return is_empty;
        }
        let is_empty = self.fill_live(row)?;
        let mut memory = self.scratch.recheck.take().unwrap_or_default();
        let is_changed = self.clear_repeating(row, &mut memory);
        self.scratch.recheck = Some(memory);
        if self.stacks.work.is_spent() {
            return Err(OverBudget);
        }
        Ok(is_empty || is_changed && row.iter().all(|&word| word == 0))
    }

    /// Clears the bits of the tokens that the values before rule out; tells whether there may be some.
    fn clear_repeating(&mut self, row: &mut [u32], memory: &mut Recheck) -> bool {
        let grammar = self.grammar.clone();
        let (program, vocab) = (grammar.program(), Arc::clone(grammar.vocab()));
        let (trie, punctuation) = (vocab.trie(), vocab.punctuation());
        let mark = self.stacks.mark();
        let within = self.elements().within();
        memory.n_levels = 0;
        memory.push(&self.live, mark, within, true);
        memory.stack.note_new_values(program, &self.stacks, &self.live);
        let suffixes = |node: u32, within: Within| Suffixes {
            punctuation: match within {
                Within::Nothing => punctuation.below(node),
                Within::String | Within::Escape => punctuation.below_in_string(node),
            },
            n_bytes_max: match trie.height(node) {
                u8::MAX => usize::MAX,
                height => usize::from(height),
            },
        };
        let mut next = core::mem::take(&mut self.scratch.next);
        let mut is_changed = false;
        let (mut node, end) = match memory.stack.are_safe(program, &self.stacks, &self.live, suffixes(0, within)) {
            true => (0, 0),
            false => (1, trie.subtree_end(0)),
        };
        while node < end && !self.stacks.work.is_spent() {
            self.stacks.work.spend(WORK_PER_PLACE);
            memory.n_levels = usize::from(trie.depth(node));
            let above = &memory.levels[memory.n_levels - 1];
            self.stacks.truncate(above.mark);
            let n_refused = self.elements().n_refused();
            step_byte(program, &mut self.stacks, &above.live, trie.byte(node), &mut next);
            let mut is_complete = above.is_complete && self.elements().n_refused() == n_refused;
            if !trie.tokens(node).is_empty() {
                let n_live = next.len();
                self.scratch.viability.retain(program, &mut self.stacks, &mut next);
                is_complete &= next.len() == n_live;
            }
            let within = above.within.after(trie.byte(node));
            let is_left = if next.is_empty() {
                if !is_complete {
                    clear(row, trie.subtree_tokens(node));
                    is_changed = true;
                }
                true
            } else {
                let is_leaf = trie.subtree_end(node) == node + 1;
                is_leaf || is_complete && memory.stack.are_safe(program, &self.stacks, &next, suffixes(node, within))
            };
            if is_left {
                node = trie.subtree_end(node);
            } else {
                memory.push(&next, self.stacks.mark(), within, is_complete);
                node += 1;
            }
        }
        self.scratch.next = next;
        self.stacks.truncate(mark);
        is_changed
    }

    pub(super) fn elements(&self) -> &Elements {
        self.stacks.elements().expect("values are compared")
    }

    /// Clears the bits of those of `tokens` that are refused, tried one by one; passes them to `visit`.
    pub(super) fn clear_refused(&mut self, row: &mut [u32], tokens: &[TokenId], mut visit: impl FnMut(TokenId)) {
        for &token in tokens {
            let (word, bit) = (token as usize / 32, token % 32);
            if self.stacks.work.is_spent() {
                return;
            }
            if row[word] >> bit & 1 == 1 && !self.allows(token) {
                row[word] &= !(1 << bit);
                visit(token);
            }
        }
    }
}

impl Recheck {
    fn push(&mut self, live: &[Pair], mark: StacksMark, within: Within, is_complete: bool) {
        // PERF: levels stay, so that their configurations are not allocated anew.
        if self.n_levels == self.levels.len() {
            self.levels.push(Level { live: Configuration::new(), mark, within, is_complete });
        }
        let level = &mut self.levels[self.n_levels];
        level.live.clear();
        level.live.extend_from_slice(live);
        (level.mark, level.within, level.is_complete) = (mark, within, is_complete);
        self.n_levels += 1;
    }
}

impl StackWalk {
    /// Finds the frames of `live` whose values are no prefixes of others.
    fn note_new_values(&mut self, program: &Program, stacks: &Stacks, live: &[Pair]) {
        self.new_values.clear();
        let mut new_values = core::mem::take(&mut self.new_values);
        self.visit(stacks, live, usize::MAX, |frame, _| {
            if let Some(Kind::Element(distinct)) = program.info(frame.state).map(|info| info.kind)
                && !new_values.contains(&frame)
                && !can_repeat(program, stacks, frame, distinct)
            {
                new_values.push(frame);
            }
            true
        });
        self.new_values = new_values;
    }

    /// Tells whether no suffix makes a difference in any of these places.
    fn are_safe(&mut self, program: &Program, stacks: &Stacks, live: &[Pair], suffixes: Suffixes) -> bool {
        let holds = |bits| suffixes.punctuation.has(bits);
        // Containers that begin within a suffix.
        if holds(Punctuation::OPEN_COMMA) || program.has_last_items() && holds(Punctuation::OPEN) {
            return false;
        }
        let is_safe_here = |pair: &Pair| {
            let owner = program.info(pair.state).and_then(|info| info.owner);
            !matches!(owner, Some(Owner::Elements(distinct)) if begins_value(program, *pair, distinct, suffixes, false))
        };
        // Further out nothing is compared unless values can be exhausted, by any byte.
        let n_deep_max = match program.may_run_out() {
            true => usize::MAX,
            false if holds(Punctuation::END) => suffixes.n_bytes_max,
            false => 0,
        };
        let new_values = core::mem::take(&mut self.new_values);
        let are_safe = live.iter().all(is_safe_here)
            && self.visit(stacks, live, n_deep_max, |frame, n_deep| {
                let Some(info) = program.info(frame.state) else { return true };
                if let Kind::Element(distinct) = info.kind
                    && !new_values.contains(&frame)
                    && can_repeat(program, stacks, frame, distinct)
                {
                    return false;
                }
                // Each frame takes a byte to leave. Behind a value comes a comma; behind white space another value may.
                let is_reached = holds(Punctuation::END) && n_deep < suffixes.n_bytes_max;
                let is_behind_comma = matches!(info.kind, Kind::Element(_));
                !matches!(info.owner, Some(Owner::Elements(distinct))
                    if is_reached && begins_value(program, frame, distinct, suffixes, is_behind_comma))
            });
        self.new_values = new_values;
        are_safe
    }

    /// Calls `test` with all frames on the stacks of some places, up to a depth, and with how many are above each; tells whether all pass, and there are not too many.
    fn visit(
        &mut self,
        stacks: &Stacks,
        live: &[Pair],
        n_deep_max: usize,
        mut test: impl FnMut(Pair, usize) -> bool,
    ) -> bool {
        self.seen.clear();
        self.pending.clear();
        self.pending.extend(live.iter().map(|pair| (pair.node, 0)));
        // Breadth first, so that a node is met at its least depth.
        let mut at = 0;
        while let Some(&(node, n_deep)) = self.pending.get(at) {
            at += 1;
            if self.seen.contains(&node) {
                continue;
            }
            if self.seen.len() >= STACK_NODES_MAX {
                return false;
            }
            self.seen.push(node);
            for index in 0..stacks.n_exits(node) {
                let frame = stacks.exit(node, index);
                if !test(frame, n_deep) {
                    return false;
                }
                if n_deep < n_deep_max {
                    self.pending.push((frame.node, n_deep + 1));
                }
            }
        }
        true
    }
}

/// Tells whether the value under way in a frame may become one that is there already, or must be followed by another one of which none may be left.
fn can_repeat(program: &Program, stacks: &Stacks, frame: Pair, distinct: Distinct) -> bool {
    let Some(elements) = stacks.elements() else { return false };
    let is_declared = || {
        let keys = program.place(frame.state).and_then(|(linked, _)| linked.unit.declared_keys(distinct));
        keys.is_some_and(|keys| !elements.begun_reserved(frame.register, keys).is_empty())
    };
    elements.can_repeat(frame.register, distinct.equality) || program.may_have_to_close(frame.state) || is_declared()
}

/// Tells whether a suffix may begin a value that is compared with others of a frame, or oblige one to follow; `is_behind_comma` tells that a comma has to come first.
fn begins_value(program: &Program, frame: Pair, distinct: Distinct, suffixes: Suffixes, is_behind_comma: bool) -> bool {
    let holds = |bits| suffixes.punctuation.has(bits);
    let is_exhaustible = distinct.has_finite_domain || program.may_have_to_close(frame.state);
    let is_first = frame.register as u32 == 0;
    match (distinct.equality, is_behind_comma) {
        // A comma alone may be too much.
        _ if is_exhaustible => true,
        (Equality::Bytes, true) => holds(Punctuation::COMMA_TWO_QUOTES),
        (Equality::Bytes, false) => holds(Punctuation::TWO_QUOTES),
        (Equality::Json, true) => holds(Punctuation::COMMA),
        (Equality::Json, false) => !is_first || holds(Punctuation::COMMA),
    }
}

/// Clears the bits of tokens.
pub(super) fn clear(row: &mut [u32], tokens: &[TokenId]) {
    tokens.iter().for_each(|&token| row[token as usize / 32] &= !(1 << (token % 32)));
}

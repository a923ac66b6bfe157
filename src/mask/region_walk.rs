//! Walking by regions: a state that loops on many characters takes the tokens of these from the vocabulary, and walks on only at the border.
//!
//! The tokens of a region ([`Region`]) are allowed without a look. What is left are the border nodes whose byte the state reads, those of the interior where the unit may end, and tokens with
//! more characters than a count allows.

use super::found::LargeSet;
use super::loops::{Form, Loop};
use super::remainder::ResumePoint;
use super::switches::ShortCut;
use super::walk_context::WalkContext;
use super::walker::Walker;
use crate::automaton::{BELOW, Kind, LocalState};
use crate::exec::{Head, can_end, signature};
use crate::util::ByteSet;
use crate::vocab::{Alphabet, CharCount, Region, TokenId, TrieNode};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Tokens that are noted in the time of a visit.
const TOKENS_PER_WORK: usize = 16;

impl Walker {
    /// Walks the tokens below the trie node `from` with a head from which characters of an alphabet are read one by one.
    pub(super) fn below_region(
        &mut self,
        context: WalkContext<'_>,
        from: TrieNode,
        head: Head,
        Loop { alphabet, form }: Loop,
    ) {
        let region = context.vocab.region(alphabet, from);
        match form {
            Form::Endless => self.below_loop(context, &region, head, alphabet, ByteSet::EMPTY),
            Form::Counted => {
                let local = context.program.place(head.state).map(|(_, local)| local);
                let heads = counted_heads(context, head, |_| local);
                let bytes = context.program.bytes(head.state) & !alphabet.first_bytes();
                self.below_counted(context, &region, &heads, bytes);
            }
            Form::Chain(chain) => {
                let heads = counted_heads(context, head, |n_chars| chain.states.get(n_chars).copied());
                self.below_counted(context, &region, &heads, chain.bytes);
            }
            Form::ScanCluster(cluster) => self.below_cluster(context, &region, head, &cluster),
        }
    }

    /// Walks the tokens below a region's node with a head that loops on the region's characters; but those left out that begin with
    /// certain bytes.
    pub(super) fn below_loop(
        &mut self,
        context: WalkContext<'_>,
        region: &Arc<Region>,
        head: Head,
        alphabet: Alphabet,
        apart: ByteSet,
    ) {
        let program = context.program;
        self.take_region(context, region, usize::MAX, Vec::new());
        for byte in program.bytes(head.state).iter() {
            if !alphabet.begins(byte) {
                let after = if apart.contains(byte) { CharCount::OneOrMore } else { CharCount::Any };
                self.cross(context, region, byte, after, head);
            }
        }
        if program.info(head.state).is_some_and(|info| info.kind == Kind::End) {
            self.leave_after(context, region, head, CharCount::OneOrMore);
        }
    }

    /// Walks the tokens below a region's node with a head, given those that 0, 1, ... of the region's characters lead to, and the other bytes that these read.
    fn below_counted(&mut self, context: WalkContext<'_>, region: &Arc<Region>, heads: &[CountedHead], bytes: ByteSet) {
        let WalkContext { program, vocab, trie, .. } = context;
        let (CountedHead { head, goes_on }, n_max) = (heads[0], heads.len() - 1);
        self.take_region(context, region, n_max, Vec::new());
        let is_loop = goes_on && heads.iter().all(|after| after.head.state == head.state);
        let is_far = is_loop && n_max >= vocab.token_bytes_max() && are_far(context, heads);
        for byte in bytes.iter() {
            match is_far {
                true => self.cross(context, region, byte, CharCount::Any, head),
                false => self.cross_counted(context, region, byte, |n_read| {
                    heads.get(n_read).filter(|after| after.goes_on).map(|after| after.head)
                }),
            }
        }
        // Where the unit may end, it may end from there on, until characters are too many.
        let can_end = |after: &CountedHead| can_end(program, after.head);
        let Some(first) = heads[1..].iter().position(can_end) else { return };
        let is_anywhere =
            first == 0 && region.tokens_beyond(vocab, n_max).is_empty() && region.n_chars_max(trie) <= n_max;
        let after = if is_anywhere { CharCount::OneOrMore } else { CharCount::Between(first as u16 + 1, n_max as u16) };
        self.leave_after(context, region, head, after);
    }

    /// Adds the tokens of a region in which at most `n_max` characters begin, but `refused`.
    pub(super) fn take_region(
        &mut self,
        context: WalkContext<'_>,
        region: &Arc<Region>,
        n_max: usize,
        refused: Vec<TokenId>,
    ) {
        let is_row = region.from() == TrieNode::ROOT;
        let set = LargeSet::Region(Arc::clone(region), n_max);
        let n_copied = self.found.add_set(context.vocab, set, is_row, refused);
        self.stacks.work.spend((n_copied / TOKENS_PER_WORK) as u64);
    }

    /// Walks on at the nodes of a region's border for `byte`, with the head that stands after so many characters.
    fn cross_counted(
        &mut self,
        context: WalkContext<'_>,
        region: &Region,
        byte: u8,
        head_after: impl Fn(usize) -> Option<Head>,
    ) {
        let base = context.trie.n_chars(region.from());
        for &node in region.border(byte) {
            if self.is_spent() {
                return;
            }
            if let Some(head) = head_after(usize::from(context.trie.n_chars_before(node) - base)) {
                self.enter_with(context, node, head);
            }
        }
    }

    /// Goes on where the frames below `head` return to, after some characters of a region.
    fn leave_after(&mut self, context: WalkContext<'_>, region: &Arc<Region>, head: Head, after: CharCount) {
        for index in 0..self.stacks.n_exits(head.node) {
            let exit = self.stacks.exit(head.node, index);
            if exit.state == BELOW {
                self.found.remainders.push(ResumePoint::Region(Arc::clone(region), after).into());
            } else {
                self.leave(context, region, after, exit);
            }
        }
    }

    /// Walks on with `head` at the nodes of `byte` that lie behind some characters of a region.
    fn cross(&mut self, context: WalkContext<'_>, region: &Region, byte: u8, after: CharCount, head: Head) {
        let after = match after {
            CharCount::Between(0 | 1, last) if usize::from(last) >= region.n_chars_max(context.trie) => {
                CharCount::OneOrMore
            }
            after => after,
        };
        let crossing = if ShortCut::Merged.is_on() { region.crossing(context.trie, byte, after) } else { None };
        let Some(crossing) = crossing else {
            return self.enter_all(context, region.border_after(context.trie, byte, after), head);
        };
        if !crossing.merged.is_empty() {
            let merged = context.vocab.merged(&crossing.merged);
            let n_levels = self.levels.len();
            self.push_heads(&[head]);
            self.found.n_walks += 1;
            self.below(context.on(&merged), TrieNode::ROOT);
            self.levels.truncate(n_levels);
        }
        self.enter_all(context, crossing.alone.iter().copied(), head);
    }

    /// Walks on with `head` at some nodes.
    fn enter_all(&mut self, context: WalkContext<'_>, nodes: impl Iterator<Item = TrieNode>, head: Head) {
        for node in nodes {
            if self.is_spent() {
                return;
            }
            self.enter_with(context, node, head);
        }
    }

    /// As [`Self::cross`], with a head that stands behind the region's characters and may read further ones.
    pub(super) fn leave(&mut self, context: WalkContext<'_>, region: &Region, after: CharCount, head: Head) {
        for byte in context.program.bytes(head.state).iter() {
            if self.is_spent() {
                return;
            }
            self.cross(context, region, byte, after, head);
            self.enter_all(context, region.interior_after(context.trie, byte, after), head);
        }
    }
}

/// A head behind some characters that may be counted.
#[derive(Clone, Copy)]
struct CountedHead {
    head: Head,
    /// Whether bytes can follow; else the unit ends there.
    goes_on: bool,
}

/// Tells whether no token reaches a bound on what is counted: then one register is as good as another.
fn are_far(context: WalkContext<'_>, heads: &[CountedHead]) -> bool {
    let (first, horizon) = (heads[0].head, context.vocab.token_bytes_max());
    let signature = |register, n: usize| signature(context.program, first.state, register, (horizon - n) as u32);
    heads.iter().enumerate().all(|(n, after)| signature(after.head.register, n) == signature(first.register, n))
}

/// Returns a head of a unit after 0, 1, ... characters, each of which leads to one of its states, as long as there may be so many, and a token may have them.
fn counted_heads(
    context: WalkContext<'_>,
    head: Head,
    state_after: impl Fn(usize) -> Option<LocalState>,
) -> SmallVec<[CountedHead; 32]> {
    let (program, n_max) = (context.program, context.vocab.token_bytes_max());
    let mut heads: SmallVec<[CountedHead; 32]> = SmallVec::new();
    let Some((linked, local)) = program.place(head.state) else {
        return smallvec![CountedHead { head, goes_on: false }];
    };
    let unit = &linked.unit;
    heads.push(CountedHead { head, goes_on: unit.can_continue(local, head.register) });
    while heads.len() <= n_max {
        let CountedHead { head: before, goes_on: true } = heads[heads.len() - 1] else { break };
        let Some(state) = state_after(heads.len()) else { break };
        let Some(register) = unit.advance(state, before.register) else { break };
        let head = Head { state: linked.own(state), register, ..head };
        let goes_on = unit.info(state).has_moves() && unit.can_continue(state, register);
        if !goes_on && !unit.can_end(state, register) {
            break;
        }
        heads.push(CountedHead { head, goes_on });
    }
    heads
}

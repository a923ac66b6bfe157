//! Walking the token trie with a state.
//!
//! The trie is a preorder list, so a walk is one loop: step the configuration of the parent by the node's byte; if nothing is left,
//! jump behind the subtree, otherwise note the tokens that end here and go on to the next node, which is the first child. The
//! configurations of the ancestors are kept on a stack; nearly always they are one head, and a step is one table look-up.
//!
//! Below a state that loops on many characters that would visit most of the trie. There the walk takes the *region* of the
//! loop's characters from the vocabulary: its tokens are allowed without a look, and the walk goes on only at the borders whose byte
//! the state reads. What a configuration allows is the union of what its heads allow, so each head is taken by itself.

use super::callee::{Callee, callee};
use super::found::LargeSet;
use super::loops::{Chain, Form, Loop};
use super::remainder::{Remainder, ResumePoint, exclude};
use super::subwalk;
use super::switches::ShortCut;
use super::walk_context::WalkContext;
use super::walker::{Level, NODES_PER_WORK, Strategy, Walker};
use crate::automaton::{BELOW, Kind, LocalState, Program, RegisterRuleId, StateId, Step};
use crate::exec::{BOTTOM, Counted, Head, StacksMark, can_end, count, signature, step_byte};
use crate::util::ByteSet;
use crate::vocab::{Alphabet, CharCount, Region, TokenId, TrieNode};
use smallvec::SmallVec;
use std::sync::Arc;

/// What else a walk takes that visits a node with several heads, or with a move that changes stacks.
const WORK_PER_SLOW_STEP: u64 = 8;
const WORK_PER_HEAD: u64 = 4;
/// What beginning to walk at a place takes.
const WORK_PER_WALK: u64 = 4;
/// Tokens that are noted in the time of a visit.
const TOKENS_PER_WORK: usize = 16;

impl Walker {
    /// Walks all tokens, beginning in `state` with an unknown caller; adds to what was found.
    pub(super) fn classify(&mut self, context: WalkContext<'_>, state: StateId, register: u64) {
        self.start(context, state);
        self.found.n_walks += 1;
        self.below_head(context, TrieNode::ROOT, Head { state, node: BOTTOM, register });
    }

    /// Walks on at a remainder, beginning in `state` with an unknown caller; adds to what was found.
    pub(super) fn settle(&mut self, context: WalkContext<'_>, remainder: &Remainder, state: StateId, register: u64) {
        self.start(context, state);
        self.after(context, remainder, Head { state, node: BOTTOM, register });
    }

    /// Walks on with `head` at a remainder.
    pub(super) fn after(&mut self, context: WalkContext<'_>, remainder: &Remainder, head: Head) {
        if self.is_spent() {
            return;
        }
        let (n_tokens, n_remainders) = (self.found.tokens.len(), self.found.remainders.len());
        match &remainder.point {
            ResumePoint::Node(node) => {
                self.found.n_walks += 1;
                self.below_head(context, *node, head);
            }
            ResumePoint::Merged(trie, node) => {
                self.found.n_walks += 1;
                self.below_head(context.on(trie), *node, head);
            }
            ResumePoint::Region(region, after) => self.leave(context, region, *after, head),
        }
        if let Some(excluded) = &remainder.excluded {
            let fresh = self.found.tokens.split_off(n_tokens);
            self.found.tokens.extend(fresh.into_iter().filter(|id| excluded.binary_search(id).is_err()));
            exclude(&mut self.found.remainders[n_remainders..], excluded);
        }
    }

    fn start(&mut self, context: WalkContext<'_>, state: StateId) {
        self.home = context.program.place(state).map_or(u32::MAX, |(linked, _)| linked.unit.uid);
        self.levels.clear();
        self.heads.clear();
        // The bottom stays.
        self.stacks.truncate(StacksMark::BOTTOM);
    }

    /// Walks the tokens below the trie node `from` with one head.
    pub(super) fn below_head(&mut self, context: WalkContext<'_>, from: TrieNode, head: Head) {
        if self.is_spent() {
            return;
        }
        self.stacks.work.spend(WORK_PER_WALK);
        if context.has_regions(from) {
            match self.strategy(context.program, head) {
                Strategy::Region(Loop { form: Form::Chain(chain), .. })
                    if !bounds_out_of_reach(context, head, chain.strictest) =>
                {
                    if let Some(Loop { alphabet, form: Form::ScanCluster(cluster) }) =
                        self.loops.cluster(context.program, head.state)
                    {
                        let region = context.vocab.region(alphabet, from);
                        return self.below_cluster(context, &region, head, &cluster);
                    }
                }
                Strategy::Region(Loop { alphabet, form }) => {
                    let region = context.vocab.region(alphabet, from);
                    return match form {
                        Form::Endless => {
                            self.below_loop(context, &region, head, alphabet, ByteSet::EMPTY);
                        }
                        Form::Counted => self.below_counted(context, &region, head, alphabet),
                        Form::Chain(chain) => self.below_chain(context, &region, head, &chain),
                        Form::ScanCluster(cluster) => self.below_cluster(context, &region, head, &cluster),
                    };
                }
                Strategy::Diff(path) => {
                    if self.walk_diff(context, from, head, &path) {
                        return;
                    }
                    self.loops.forget_model(context.program, head.state);
                    self.strategies.remove(&head.state);
                    return self.below_head(context, from, head);
                }
                Strategy::Callee(callee) => return self.below_callee(context, from, head, &callee),
                Strategy::Walk => {}
            }
        }
        let n_levels = self.levels.len();
        self.push_heads(&[head]);
        self.below(context, from);
        self.levels.truncate(n_levels);
    }

    pub(super) fn strategy(&mut self, program: &Program, head: Head) -> Strategy {
        if let Some(strategy) = self.strategies.get(&head.state) {
            return strategy.clone();
        }
        let strategy = if let Some(found) = self.loops.get(program, head.state) {
            Strategy::Region(found)
        } else if let Some(callee) = self.useful_callee(program, head.state) {
            Strategy::Callee(callee)
        } else {
            let path = self.model_path(program, head);
            // A space begins half of the tokens.
            match path {
                Some(path) if self.is_like_by(program, head, &path, b' ') => Strategy::Diff(path),
                path => match self.loops.cluster(program, head.state) {
                    Some(found) => Strategy::Region(found),
                    None => path.map_or(Strategy::Walk, Strategy::Diff),
                },
            }
        };
        self.strategies.insert(head.state, strategy.clone());
        strategy
    }

    /// Returns what a state calls, if that is not walked byte by byte as well.
    fn useful_callee(&mut self, program: &Program, state: StateId) -> Option<Callee> {
        let callee = ShortCut::Callees.is_on().then(|| callee(program, state)).flatten()?;
        let start = Head { state: callee.start, node: BOTTOM, register: 0 };
        (!matches!(self.strategy(program, start), Strategy::Walk)).then_some(callee)
    }

    /// Walks the tokens below a trie node with what a head calls.
    fn below_callee(&mut self, context: WalkContext<'_>, from: TrieNode, head: Head, callee: &Callee) {
        let mark = self.stacks.mark();
        let over = |head: Head, &frame: &StateId| {
            let node = self.stacks.push(context.program, frame, &[head]);
            Head { state: frame, node, register: 0 }
        };
        let top = callee.frames.iter().fold(head, over);
        self.below_head(context, from, Head { state: callee.start, ..top });
        self.stacks.truncate(mark);
    }

    /// Pushes some heads, at least one, as a level.
    pub(super) fn push_heads(&mut self, heads: &[Head]) {
        let (first, mark) = (self.heads.len() as u32, self.stacks.mark());
        if heads.len() > 1 {
            self.heads.extend_from_slice(heads);
        }
        self.levels.push(Level { head: heads[0], first, last: self.heads.len() as u32, mark });
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
        self.take_region(context, region, usize::MAX);
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

    /// Walks the tokens below a region's node with a head whose count goes up with each of the region's characters.
    fn below_counted(&mut self, context: WalkContext<'_>, region: &Arc<Region>, head: Head, alphabet: Alphabet) {
        let WalkContext { program, vocab, .. } = context;
        let Some((linked, local)) = program.place(head.state) else { return };
        let (unit, kind) = (&linked.unit, linked.unit.info(local).kind);
        let can_continue = |register: u64| match kind {
            Kind::Loop { counter } => unit.counter(counter).can_continue(register),
            Kind::RegisterRule { register_rule } => unit.register_rule(register_rule).can_continue(register),
            _ => false,
        };
        let advance = |register: u64| match kind {
            Kind::Loop { counter } => unit.counter(counter).advance(register),
            Kind::RegisterRule { register_rule } if can_continue(register) => {
                unit.register_rule(register_rule).advance(register)
            }
            _ => None,
        };
        let can_end = |register: u64| can_end(program, Head { register, ..head });
        // The register after so many characters, as long as there may be so many.
        let mut registers: SmallVec<[u64; 32]> = SmallVec::from_slice(&[head.register]);
        while registers.len() <= vocab.token_bytes_max() {
            match advance(registers[registers.len() - 1]) {
                Some(register) => registers.push(register),
                None => break,
            }
        }
        let n_max = registers.len() - 1;
        self.take_region(context, region, n_max);
        // Where no token reaches a bound, one register is as good as another.
        let horizon = vocab.token_bytes_max();
        let is_same = |n: usize| {
            let signature = |register| signature(program, head.state, register, (horizon - n) as u32);
            signature(registers[n]) == signature(head.register)
        };
        let is_far = n_max >= horizon && can_continue(head.register) && (0..=n_max).all(is_same);
        for byte in program.bytes(head.state).iter() {
            if alphabet.begins(byte) {
                continue;
            }
            if is_far {
                self.cross(context, region, byte, CharCount::Any, head);
                continue;
            }
            self.cross_counted(context, region, byte, |n_read| {
                let register = *registers.get(n_read)?;
                can_continue(register).then_some(Head { register, ..head })
            });
        }
        let Some(first) = (1..=n_max).find(|&n| can_end(registers[n])) else { return };
        let ends_anywhere = n_max >= horizon && registers[1..].iter().all(|&register| can_end(register));
        let after = if ends_anywhere { CharCount::OneOrMore } else { CharCount::Between(first as u16, n_max as u16) };
        self.leave_after(context, region, head, after);
    }

    /// Walks the tokens below a region's node with the first state of a chain, each state of which is reached by one more character.
    fn below_chain(&mut self, context: WalkContext<'_>, region: &Arc<Region>, head: Head, chain: &Chain) {
        let WalkContext { program, vocab, trie, .. } = context;
        let Some((linked, local)) = program.place(head.state) else { return };
        let states = &*chain.states;
        let n_max = states.len() - 1;
        self.take_region(context, region, n_max);
        debug_assert_eq!(states[0], local);
        for &byte in &chain.bytes {
            self.cross_counted(context, region, byte, |n_read| {
                states.get(n_read).map(|&local| Head { state: linked.own(local), ..head })
            });
        }
        // One register is as good as another where no token reaches a bound.
        let is_end = |local: &LocalState| can_end(program, Head { state: linked.own(*local), ..head });
        let Some(first) = states[1..].iter().position(is_end) else { return };
        // Where no token holds more of its characters than there are states, the chain may be over anywhere.
        let is_anywhere =
            first == 0 && region.tokens_up_to(vocab, n_max).1.is_empty() && region.n_chars_max(trie) <= n_max;
        let after = if is_anywhere { CharCount::OneOrMore } else { CharCount::Between(first as u16 + 1, n_max as u16) };
        self.leave_after(context, region, head, after);
    }

    /// Adds the tokens of a region but some.
    pub(super) fn take_region_but(
        &mut self,
        context: WalkContext<'_>,
        region: &Arc<Region>,
        mut refused: Vec<TokenId>,
    ) {
        if refused.is_empty() {
            return self.take_region(context, region, usize::MAX);
        }
        if region.from() == TrieNode::ROOT && self.found.base.is_none() {
            self.found.base = Some(LargeSet::Region(Arc::clone(region), usize::MAX));
            return self.found.cleared.append(&mut refused);
        }
        refused.sort_unstable();
        let tokens = region.tokens_up_to(context.vocab, usize::MAX).0;
        let is_allowed = |id: &TokenId| refused.binary_search(id).is_err();
        self.found.tokens.extend(tokens.iter().copied().filter(is_allowed));
    }

    /// Adds the tokens of a region in which at most `n_max` characters begin.
    fn take_region(&mut self, context: WalkContext<'_>, region: &Arc<Region>, n_max: usize) {
        if region.from() == TrieNode::ROOT && self.found.base.is_none() {
            self.found.base = Some(LargeSet::Region(Arc::clone(region), n_max));
        } else if matches!(&self.found.base, Some(LargeSet::Region(base, base_max)) if Arc::ptr_eq(base, region) && n_max <= *base_max)
            && self.found.cleared.is_empty()
        {
            // It is there already.
        } else {
            let tokens = region.tokens_up_to(context.vocab, n_max).0;
            self.stacks.work.spend((tokens.len() / TOKENS_PER_WORK) as u64);
            self.found.tokens.extend_from_slice(tokens);
        }
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
        if ShortCut::Merged.is_on()
            && let Some(merged) = region.merged(context.trie, byte, after)
        {
            let n_levels = self.levels.len();
            self.push_heads(&[head]);
            self.found.n_walks += 1;
            self.below(context.on(&merged), TrieNode::ROOT);
            self.levels.truncate(n_levels);
        } else {
            self.enter_all(context, region.border_after(context.trie, byte, after), head);
        }
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
    fn leave(&mut self, context: WalkContext<'_>, region: &Region, after: CharCount, head: Head) {
        for byte in context.program.bytes(head.state).iter() {
            if self.is_spent() {
                return;
            }
            self.cross(context, region, byte, after, head);
            self.enter_all(context, region.interior_after(context.trie, byte, after), head);
        }
    }

    /// Steps `head` by the byte of `node`, and walks on below.
    pub(super) fn enter_with(&mut self, context: WalkContext<'_>, node: TrieNode, head: Head) {
        let n_levels = self.levels.len();
        self.push_heads(&[head]);
        self.found.n_walks += 1;
        self.found.n_nodes += 1;
        self.stacks.work.spend(WORK_PER_WALK);
        if self.step(context, node, n_levels) {
            self.descend(context, node);
        }
        self.levels.truncate(n_levels);
    }

    /// Walks below `node` with the last level; head by head if that allows to use regions.
    pub(super) fn descend(&mut self, context: WalkContext<'_>, node: TrieNode) {
        if !self.split(context, node) {
            self.below(context, node);
        }
    }

    /// Walks below `node` with each head of the last level by itself if that allows to use regions; returns whether it does.
    fn split(&mut self, context: WalkContext<'_>, node: TrieNode) -> bool {
        if !context.is_whole() || context.n_nodes_below(node) < subwalk::NODES_MIN {
            return false;
        }
        let level = *self.levels.last().expect("a level was pushed");
        let heads: SmallVec<[Head; 4]> = level.heads(&self.heads).into();
        let has_regions = context.has_regions(node);
        let is_short_cut = |walker: &mut Walker, head: Head| {
            walker.is_memoized(context, node, head)
                || has_regions && !matches!(walker.strategy(context.program, head), Strategy::Walk)
        };
        if !heads.iter().any(|&head| is_short_cut(self, head)) {
            return false;
        }
        for head in heads {
            if self.is_memoized(context, node, head) {
                self.walk_memoized(context, node, head);
            } else {
                self.below_head(context.deeper(), node, head);
            }
        }
        true
    }

    /// Walks the tokens below the trie node `from` with the last level.
    fn below(&mut self, context: WalkContext<'_>, from: TrieNode) {
        let trie = context.trie;
        let depth = usize::from(trie.depth(from)) + 1;
        let Some(children) = trie.wide_children(from) else {
            return self.below_first(context, from.next(), trie.subtree_end(from), depth);
        };
        // Those that the level can't read are left out.
        let level = *self.levels.last().expect("a level was pushed");
        let bytes_of = |head: &Head| context.program.bytes(head.state);
        let bytes = level.heads(&self.heads).iter().fold(ByteSet::EMPTY, |all, head| all | bytes_of(head));
        for &(_, node) in children.iter().filter(|(byte, _)| bytes.contains(*byte)) {
            self.below_first(context, node, trie.subtree_end(node), depth);
        }
    }

    /// Walks the trie nodes from `node` up to `end`, which begin at a depth, with the last level.
    fn below_first(&mut self, context: WalkContext<'_>, mut node: TrieNode, end: TrieNode, depth_base: usize) {
        let trie = context.trie;
        let base = self.levels.len() - 1;
        while node < end && !self.is_spent() {
            self.found.n_nodes += 1;
            self.stacks.work.spend(u64::from(self.found.n_nodes.is_multiple_of(NODES_PER_WORK)));
            let depth = base + usize::from(trie.depth(node)) - depth_base;
            let goes_on = self.step(context, node, depth) && !self.split(context, node);
            node = match goes_on {
                true if trie.wide_children(node).is_none() => node.next(),
                true => {
                    self.below(context, node);
                    trie.subtree_end(node)
                }
                false => trie.subtree_end(node),
            };
        }
        self.levels.truncate(base + 1);
    }

    /// Steps the level at `depth` by the byte of `node`, notes what ends here, and pushes the next level; tells whether anything can
    /// follow.
    #[inline]
    fn step(&mut self, context: WalkContext<'_>, node: TrieNode, depth: usize) -> bool {
        let trie = context.trie;
        let level = self.levels[depth];
        if level.is_single() {
            let Some((linked, local)) = context.program.place(level.head.state) else { return false };
            match linked.unit.code(local, trie.byte(node)).step() {
                Step::None => return false,
                Step::Plain(state) => {
                    self.levels.truncate(depth + 1);
                    self.levels.push(Level { head: Head { state: linked.own(state), ..level.head }, ..level });
                    self.found.tokens.extend_from_slice(trie.tokens(node));
                    return true;
                }
                Step::Local(state) => match count(&linked.unit, state, level.head.register) {
                    Some(Counted::Nowhere) => return false,
                    Some(Counted::On(register)) => {
                        self.levels.truncate(depth + 1);
                        self.levels
                            .push(Level { head: Head { state: linked.own(state), register, ..level.head }, ..level });
                        self.found.tokens.extend_from_slice(trie.tokens(node));
                        return true;
                    }
                    None => {}
                },
                Step::List(_) => {}
            }
        }
        self.slow_step(context, node, depth)
    }

    fn slow_step(&mut self, context: WalkContext<'_>, node: TrieNode, depth: usize) -> bool {
        let WalkContext { program, trie, .. } = context;
        let level = self.levels[depth];
        self.levels.truncate(depth + 1);
        self.heads.truncate(level.last as usize);
        self.stacks.truncate(level.mark);
        let heads = level.heads(&self.heads);
        step_byte(program, &mut self.stacks, heads, trie.byte(node), &mut self.next);
        let n_heads = heads.len() + self.next.len();
        self.stacks.work.spend(WORK_PER_SLOW_STEP + WORK_PER_HEAD * n_heads as u64);
        if self.is_spent() {
            return false;
        }
        if !trie.tokens(node).is_empty() {
            self.viability.retain(program, &mut self.stacks, &mut self.next);
        }
        if self.next.is_empty() {
            return false;
        }
        self.found.tokens.extend_from_slice(trie.tokens(node));
        let has_descendants = trie.has_children(node);
        if has_descendants && self.next.iter().any(|head| head.state == BELOW) {
            self.found.remainders.push(context.remainder(node));
        }
        self.next.retain(|head| program.place(head.state).is_some());
        if self.next.is_empty() || !has_descendants {
            return false;
        }
        let next = core::mem::take(&mut self.next);
        self.push_heads(&next);
        self.next = next;
        true
    }
}

/// Tells whether no token can reach a bound on what is counted, if anything is.
fn bounds_out_of_reach(context: WalkContext<'_>, head: Head, strictest: Option<RegisterRuleId>) -> bool {
    let Some((linked, _)) = context.program.place(head.state) else { return false };
    let horizon = context.vocab.token_bytes_max() as u32;
    strictest.is_none_or(|register_rule| {
        linked.unit.register_rule(register_rule).bounds_out_of_reach(head.register, horizon)
    })
}

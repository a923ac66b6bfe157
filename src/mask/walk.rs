//! Walking the token trie with a state.
//!
//! The trie is a preorder list, so a walk is one loop: step the configuration of the parent by the node's byte; if nothing is left,
//! jump behind the subtree, otherwise note the tokens that end here and go on to the next node, which is the first child. The
//! configurations of the ancestors are kept on a stack; nearly always they are one pair, and a step is one table look-up.
//!
//! Below a state that loops on many characters that would visit most of the trie. There the walk takes the *region* of the
//! loop's characters from the vocabulary: its tokens are allowed without a look, and the walk goes on only at the borders whose byte
//! the state reads. What a configuration allows is the union of what its pairs allow, so each pair is taken by itself.

use super::loops::{Chain, Form, Loop, Loops};
use super::model::{ModelPath, Twins, exclude};
use crate::automaton::{BELOW, Kind, Owner, Program, StateId, Step};
use crate::exec::{BOTTOM, Configuration, Pair, Stacks, StacksMark, step_byte};
use crate::machine::{Counter, Machine, Tally};
use crate::util::ByteSet;
use crate::vocab::{Alphabet, Region, TokenId, Trie, Vocab};
use ahash::AHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Fewest trie nodes below a node that make it worth to ask for a region.
const REGION_NODES: u32 = 200;
/// Regions within regions, at most; below that the trie is walked.
const REGIONS_DEEP_MAX: usize = 16;

/// A place in the vocabulary where the unit ends inside a token: what follows is up to the caller.
#[derive(Clone, Debug)]
pub(crate) struct Remainder {
    pub spot: Spot,
    /// Tokens beyond the place that the caller does not decide on, ascending.
    pub excluded: Option<Arc<[TokenId]>>,
}

/// A place in the vocabulary.
#[derive(Clone, Debug)]
pub(crate) enum Spot {
    /// Below this node of the vocabulary's trie.
    Node(u32),
    /// Below this node of what was merged behind a region.
    Merged(Arc<Trie>, u32),
    /// After at least one character of a region, anywhere.
    Region(Arc<Region>),
    /// After at least and at most so many characters of a region.
    Counted(Arc<Region>, u16, u16),
}

impl From<Spot> for Remainder {
    fn from(spot: Spot) -> Self {
        Remainder { spot, excluded: None }
    }
}

/// What a walk found, and the memory it worked in.
#[derive(Debug)]
pub(crate) struct Walker {
    pub(super) stacks: Stacks,
    pub(super) levels: Vec<Level>,
    pairs: Vec<Pair>,
    live: Configuration,
    pub(super) next: Configuration,
    shapes: AHashMap<StateId, Shape>,
    pub(super) loops: Loops,
    pub(super) twins: Twins,
    pub(super) found: Found,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// A region whose tokens are allowed, beside `tokens`, as far as at most so many characters begin in them.
    pub base: Option<(Arc<Region>, usize)>,
    /// Tokens of `base` that are not allowed, unless `tokens` has them.
    pub cleared: Vec<TokenId>,
    /// Tokens that are allowed, in any order, perhaps repeated.
    pub tokens: Vec<TokenId>,
    /// Where the caller decides.
    pub remainders: Vec<Remainder>,
    /// Trie nodes visited.
    pub n_nodes: u64,
    /// Walks, over the vocabulary or a part of it.
    pub n_walks: u64,
}

/// How the tokens below a state are found.
#[derive(Clone, Debug)]
enum Shape {
    /// By the region of its loop.
    Loop(Loop),
    /// By the region of another state's loop, and a walk where they differ.
    Like(ModelPath),
    /// By walking.
    Other,
}

/// The configuration before the byte of a trie node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// The only pair, or else `pairs[first..last]`.
    pair: Pair,
    first: u32,
    last: u32,
    mark: StacksMark,
}

impl Level {
    fn is_single(&self) -> bool {
        self.first == self.last
    }
}

/// What counts the characters of a loop.
enum Count<'a> {
    Copies(&'a Counter),
    /// The tally of the loop, and the strictest of its rule.
    Pieces(&'a Tally, &'a Tally),
}

impl Count<'_> {
    fn advance(&self, register: u64) -> Option<u64> {
        match self {
            Count::Copies(counter) => counter.advance(register),
            Count::Pieces(tally, _) => {
                if tally.may_go_on(register) {
                    tally.arrive(register)
                } else {
                    None
                }
            }
        }
    }

    fn may_continue(&self, register: u64) -> bool {
        match self {
            Count::Copies(counter) => counter.may_continue(register),
            Count::Pieces(tally, _) => tally.may_go_on(register),
        }
    }

    fn may_end(&self, register: u64) -> bool {
        match self {
            Count::Copies(counter) => counter.may_end(register),
            Count::Pieces(tally, _) => tally.may_end(register),
        }
    }

    fn signature(&self, register: u64, horizon: u32) -> u64 {
        match self {
            Count::Copies(counter) => counter.signature(register, horizon),
            Count::Pieces(_, strictest) => strictest.signature(register, horizon),
        }
    }
}

/// What a walk is about.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub program: &'a Program,
    pub vocab: &'a Vocab,
}

/// The trie that is walked: the vocabulary's, or what was merged behind a region.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub program: &'a Program,
    pub vocab: &'a Vocab,
    pub trie: &'a Trie,
    merged: Option<&'a Arc<Trie>>,
}

impl<'a> Subject<'a> {
    fn whole(self) -> Ground<'a> {
        Ground { program: self.program, vocab: self.vocab, trie: self.vocab.trie(), merged: None }
    }
}

impl Ground<'_> {
    /// Returns the same on another trie.
    fn on<'b>(&'b self, merged: &'b Arc<Trie>) -> Ground<'b> {
        Ground { trie: merged, merged: Some(merged), ..*self }
    }

    pub fn remainder(&self, node: u32) -> Remainder {
        self.merged.map_or(Spot::Node(node), |trie| Spot::Merged(Arc::clone(trie), node)).into()
    }

    /// Tells whether it is worth to ask for a region below a node.
    fn has_regions(&self, from: u32, n_deep: usize) -> bool {
        self.merged.is_none() && n_deep < REGIONS_DEEP_MAX && self.trie.subtree_end(from) - from > REGION_NODES
    }
}

impl Walker {
    pub fn new() -> Self {
        Walker {
            stacks: Stacks::new(BELOW),
            levels: Vec::new(),
            pairs: Vec::new(),
            live: Vec::new(),
            next: Vec::new(),
            shapes: AHashMap::new(),
            loops: Loops::default(),
            twins: Twins::default(),
            found: Found::default(),
        }
    }

    /// Prepares for walks with a program, and forgets what was found before.
    pub fn clear(&mut self) {
        self.shapes.clear();
        self.found.base = None;
        self.found.cleared.clear();
        self.found.tokens.clear();
        self.found.remainders.clear();
        (self.found.n_nodes, self.found.n_walks) = (0, 0);
    }

    /// Returns what was found since the last [`Self::clear`].
    pub fn found(&mut self) -> &mut Found {
        &mut self.found
    }

    /// Walks all tokens, beginning in `state` with an unknown caller; adds to what was found.
    pub fn classify(&mut self, subject: Subject<'_>, state: StateId, register: u64) {
        self.start();
        self.found.n_walks += 1;
        self.below_pair(subject.whole(), 0, Pair { state, node: BOTTOM, register }, 0);
    }

    /// Walks on at a remainder, beginning in `state` with an unknown caller; adds to what was found.
    pub fn settle(&mut self, subject: Subject<'_>, remainder: &Remainder, state: StateId, register: u64) {
        self.start();
        let pair = Pair { state, node: BOTTOM, register };
        let ground = subject.whole();
        let (n_tokens, n_remainders) = (self.found.tokens.len(), self.found.remainders.len());
        match &remainder.spot {
            Spot::Node(node) => {
                self.found.n_walks += 1;
                self.below_pair(ground, *node, pair, 0);
            }
            Spot::Merged(trie, node) => {
                self.found.n_walks += 1;
                self.below_pair(ground.on(trie), *node, pair, 0);
            }
            Spot::Region(region) => self.after_region(ground, region, pair, 0),
            Spot::Counted(region, first, last) => self.after_counted(ground, region, pair, 0, *first, *last),
        }
        if let Some(excluded) = &remainder.excluded {
            let fresh = self.found.tokens.split_off(n_tokens);
            self.found.tokens.extend(fresh.into_iter().filter(|id| excluded.binary_search(id).is_err()));
            exclude(&mut self.found.remainders[n_remainders..], excluded);
        }
    }

    /// Walks all tokens with a configuration over stacks that are known to their bottom; adds to what was found. Pairs stay together, so
    /// there are no short cuts by regions.
    pub fn walk_whole(&mut self, subject: Subject<'_>, stacks: &Stacks, live: &[Pair]) {
        let own = core::mem::replace(&mut self.stacks, stacks.clone());
        self.levels.clear();
        self.pairs.clear();
        self.found.n_walks += 1;
        self.pairs.extend(live.iter().filter(|pair| subject.program.place(pair.state).is_some()));
        match self.pairs[..] {
            [] => {}
            [pair] => {
                self.pairs.clear();
                self.push_single(pair);
            }
            [pair, ..] => self.push_several(pair, 0),
        }
        if !self.levels.is_empty() {
            self.below(subject.whole(), 0, REGIONS_DEEP_MAX);
        }
        self.stacks = own;
    }

    fn start(&mut self) {
        self.levels.clear();
        self.pairs.clear();
        // The bottom stays.
        self.stacks.truncate(StacksMark { n_nodes: BOTTOM + 1, n_bytes: 0 });
    }

    /// Walks the tokens below the trie node `from` with one pair.
    pub(super) fn below_pair(&mut self, ground: Ground<'_>, from: u32, pair: Pair, n_deep: usize) {
        if ground.has_regions(from, n_deep) {
            match self.shape(ground.program, pair) {
                Shape::Loop(Loop { alphabet, form }) => {
                    let region = ground.vocab.region(alphabet, from);
                    return match form {
                        Form::Endless => self.below_loop(ground, &region, pair, alphabet, n_deep),
                        Form::Counted => self.below_counted(ground, &region, pair, alphabet, n_deep),
                        Form::Chain(chain) => self.below_chain(ground, &region, pair, &chain, n_deep),
                    };
                }
                Shape::Like(path) => {
                    if self.below_like(ground, from, pair, &path, n_deep) {
                        return;
                    }
                    self.shapes.insert(pair.state, Shape::Other);
                    self.loops.forget_model(ground.program, pair.state);
                }
                Shape::Other => {}
            }
        }
        let n_levels = self.levels.len();
        self.push_single(pair);
        self.below(ground, from, n_deep);
        self.levels.truncate(n_levels);
    }

    fn shape(&mut self, program: &Program, pair: Pair) -> Shape {
        if let Some(shape) = self.shapes.get(&pair.state) {
            return shape.clone();
        }
        let shape = match self.loops.get(program, pair.state) {
            Some(found) => Shape::Loop(found),
            None if self.loops.has_no_model(program, pair.state) => Shape::Other,
            None => self.model_path(program, pair).map_or(Shape::Other, Shape::Like),
        };
        self.shapes.insert(pair.state, shape.clone());
        shape
    }

    fn push_single(&mut self, pair: Pair) {
        let (at, mark) = (self.pairs.len() as u32, self.stacks.mark());
        self.levels.push(Level { pair, first: at, last: at, mark });
    }

    /// Pushes some pairs, at least one, as a level.
    pub(super) fn push_configuration(&mut self, pairs: &[Pair]) {
        if let [pair] = *pairs {
            return self.push_single(pair);
        }
        let first = self.pairs.len() as u32;
        self.pairs.extend_from_slice(pairs);
        self.push_several(pairs[0], first);
    }

    /// Pushes the pairs from `first` on as one level.
    fn push_several(&mut self, pair: Pair, first: u32) {
        let mark = self.stacks.mark();
        self.levels.push(Level { pair, first, last: self.pairs.len() as u32, mark });
    }

    /// Walks the tokens below a region's node with a pair that loops on the region's characters.
    fn below_loop(&mut self, ground: Ground<'_>, region: &Arc<Region>, pair: Pair, alphabet: Alphabet, n_deep: usize) {
        let program = ground.program;
        self.take_region(ground, region, usize::MAX);
        for byte in bytes_of(program, pair.state).iter() {
            if !alphabet.begins(byte) {
                self.cross(ground, region, byte, false, pair, n_deep);
            }
        }
        if program.info(pair.state).is_some_and(|info| info.kind == Kind::End) {
            self.leave_after(ground, region, pair, n_deep, None);
        }
    }

    /// Walks the tokens below a region's node with a pair whose count goes up with each of the region's characters.
    fn below_counted(
        &mut self,
        ground: Ground<'_>,
        region: &Arc<Region>,
        pair: Pair,
        alphabet: Alphabet,
        n_deep: usize,
    ) {
        let Ground { program, vocab, .. } = ground;
        let Some((linked, local)) = program.place(pair.state) else { return };
        let count = match linked.unit.info(local).kind {
            Kind::Loop { counter } => Count::Copies(linked.unit.counter(counter)),
            Kind::Tally { tally } => {
                let Some(Owner::Tallies(strictest)) = linked.unit.info(local).owner else { return };
                Count::Pieces(linked.unit.tally(tally), linked.unit.tally(strictest))
            }
            _ => return,
        };
        // The register after so many characters, as long as there may be so many.
        let mut registers: SmallVec<[u64; 32]> = SmallVec::from_slice(&[pair.register]);
        while registers.len() <= vocab.token_bytes_max() {
            match count.advance(registers[registers.len() - 1]) {
                Some(register) => registers.push(register),
                None => break,
            }
        }
        let n_max = registers.len() - 1;
        self.take_region(ground, region, n_max);
        // Where no token reaches a bound, one register is as good as another.
        let horizon = vocab.token_bytes_max();
        let is_same = |n: usize| {
            let signature = |register| count.signature(register, (horizon - n) as u32);
            signature(registers[n]) == signature(pair.register)
        };
        let is_far = n_max >= horizon && count.may_continue(pair.register) && (0..=n_max).all(is_same);
        for byte in bytes_of(program, pair.state).iter() {
            if alphabet.begins(byte) {
                continue;
            }
            if is_far {
                self.cross(ground, region, byte, false, pair, n_deep);
                continue;
            }
            self.cross_counted(ground, region, byte, n_deep, |n_read| {
                let register = *registers.get(n_read)?;
                count.may_continue(register).then_some(Pair { register, ..pair })
            });
        }
        let Some(first) = (1..=n_max).find(|&n| count.may_end(registers[n])) else { return };
        let ends_anywhere = n_max >= horizon && registers[1..].iter().all(|&register| count.may_end(register));
        self.leave_after(ground, region, pair, n_deep, (!ends_anywhere).then_some((first as u16, n_max as u16)));
    }

    /// Walks the tokens below a region's node with the first state of a chain, each state of which is reached by one more character.
    fn below_chain(&mut self, ground: Ground<'_>, region: &Arc<Region>, pair: Pair, chain: &Chain, n_deep: usize) {
        let Ground { program, vocab, trie, .. } = ground;
        let Some((linked, local)) = program.place(pair.state) else { return };
        let states = &*chain.states;
        let n_max = states.len() - 1;
        self.take_region(ground, region, n_max);
        let state = |local: u32| linked.bases[0] + local;
        debug_assert_eq!(states[0], local);
        for &byte in &chain.bytes {
            self.cross_counted(ground, region, byte, n_deep, |n_read| {
                states.get(n_read).map(|&local| Pair { state: state(local), ..pair })
            });
        }
        let is_end = |local: &u32| linked.unit.info(*local).kind == Kind::End;
        let Some(first) = states[1..].iter().position(is_end) else { return };
        // Where no token holds more of its characters than there are states, the chain may be over anywhere.
        let is_anywhere =
            first == 0 && region.tokens_up_to(vocab, n_max).1.is_empty() && region.n_begun_max(trie) <= n_max;
        self.leave_after(ground, region, pair, n_deep, (!is_anywhere).then_some((first as u16 + 1, n_max as u16)));
    }

    /// Adds the tokens of a region in which at most `n_max` characters begin.
    fn take_region(&mut self, ground: Ground<'_>, region: &Arc<Region>, n_max: usize) {
        if region.from() == 0 && self.found.base.is_none() {
            self.found.base = Some((Arc::clone(region), n_max));
        } else if matches!(&self.found.base, Some((base, base_max)) if Arc::ptr_eq(base, region) && n_max <= *base_max)
            && self.found.cleared.is_empty()
        {
            // It is there already.
        } else {
            self.found.tokens.extend_from_slice(region.tokens_up_to(ground.vocab, n_max).0);
        }
    }

    /// Walks on at the nodes of a region's border for `byte`, with the pair that stands after so many characters.
    fn cross_counted(
        &mut self,
        ground: Ground<'_>,
        region: &Region,
        byte: u8,
        n_deep: usize,
        pair_after: impl Fn(usize) -> Option<Pair>,
    ) {
        let base = ground.trie.n_begun(region.from());
        for &node in region.border(byte) {
            if let Some(pair) = pair_after(usize::from(ground.trie.n_begun_before(node) - base)) {
                self.enter_with(ground, node, pair, n_deep);
            }
        }
    }

    /// Goes on where the frames below `pair` return to, after some characters of a region: after any number, or in a range.
    fn leave_after(
        &mut self,
        ground: Ground<'_>,
        region: &Arc<Region>,
        pair: Pair,
        n_deep: usize,
        range: Option<(u16, u16)>,
    ) {
        for index in 0..self.stacks.n_exits(pair.node) {
            let exit = self.stacks.exit(pair.node, index);
            match range {
                None if exit.state == BELOW => self.found.remainders.push(Spot::Region(Arc::clone(region)).into()),
                None => self.after_region(ground, region, exit, n_deep),
                Some((first, last)) if exit.state == BELOW => {
                    self.found.remainders.push(Spot::Counted(Arc::clone(region), first, last).into());
                }
                Some((first, last)) => self.after_counted(ground, region, exit, n_deep, first, last),
            }
        }
    }

    /// Walks on with `pair` after at least `first` and at most `last` characters of a region.
    fn after_counted(
        &mut self,
        ground: Ground<'_>,
        region: &Arc<Region>,
        pair: Pair,
        n_deep: usize,
        first: u16,
        last: u16,
    ) {
        for byte in bytes_of(ground.program, pair.state).iter() {
            region.for_each_after(ground.trie, byte, first..=last, |node| {
                self.enter_with(ground, node, pair, n_deep);
            });
        }
    }

    /// Walks on with `pair` after at least one character of a region.
    fn after_region(&mut self, ground: Ground<'_>, region: &Arc<Region>, pair: Pair, n_deep: usize) {
        for byte in bytes_of(ground.program, pair.state).iter() {
            self.cross(ground, region, byte, true, pair, n_deep);
            region.for_each_inside(ground.trie, byte, |node| self.enter_with(ground, node, pair, n_deep));
        }
    }

    /// Walks on with `pair` at the nodes of a region's border for `byte`: all, or those after at least one character.
    fn cross(&mut self, ground: Ground<'_>, region: &Region, byte: u8, is_after_some: bool, pair: Pair, n_deep: usize) {
        if let Some(merged) = region.merged(ground.trie, byte, is_after_some) {
            let n_levels = self.levels.len();
            self.push_single(pair);
            self.found.n_walks += 1;
            self.below(ground.on(&merged), 0, n_deep);
            self.levels.truncate(n_levels);
        } else if is_after_some {
            region.for_each_on_border(ground.trie, byte, |node| self.enter_with(ground, node, pair, n_deep));
        } else {
            region.border(byte).iter().for_each(|&node| self.enter_with(ground, node, pair, n_deep));
        }
    }

    /// Steps `pair` by the byte of `node`, and walks on below.
    fn enter_with(&mut self, ground: Ground<'_>, node: u32, pair: Pair, n_deep: usize) {
        let n_levels = self.levels.len();
        self.push_single(pair);
        self.found.n_walks += 1;
        self.found.n_nodes += 1;
        if self.step(ground, node, n_levels) {
            self.descend(ground, node, n_deep);
        }
        self.levels.truncate(n_levels);
    }

    /// Walks below `node` with the last level; pair by pair if that allows to use regions.
    pub(super) fn descend(&mut self, ground: Ground<'_>, node: u32, n_deep: usize) {
        if !self.split(ground, node, n_deep) {
            self.below(ground, node, n_deep);
        }
    }

    /// Walks below `node` with each pair of the last level by itself if that allows to use regions; returns whether it does.
    fn split(&mut self, ground: Ground<'_>, node: u32, n_deep: usize) -> bool {
        if !ground.has_regions(node, n_deep) {
            return false;
        }
        let level = *self.levels.last().expect("a level was pushed");
        let pairs: SmallVec<[Pair; 4]> = if level.is_single() {
            SmallVec::from_slice(&[level.pair])
        } else {
            self.pairs[level.first as usize..level.last as usize].into()
        };
        if pairs.iter().all(|&pair| matches!(self.shape(ground.program, pair), Shape::Other)) {
            return false;
        }
        pairs.iter().for_each(|&pair| self.below_pair(ground, node, pair, n_deep + 1));
        true
    }

    /// Walks the tokens below the trie node `from` with the last level.
    fn below(&mut self, ground: Ground<'_>, from: u32, n_deep: usize) {
        let trie = ground.trie;
        let base = self.levels.len() - 1;
        let depth_base = usize::from(trie.depth(from)) + 1;
        let end = trie.subtree_end(from);
        let mut node = from + 1;
        while node < end {
            self.found.n_nodes += 1;
            let depth = base + usize::from(trie.depth(node)) - depth_base;
            let goes_on = self.step(ground, node, depth) && !self.split(ground, node, n_deep);
            node = if goes_on { node + 1 } else { trie.subtree_end(node) };
        }
        self.levels.truncate(base + 1);
    }

    /// Steps the level at `depth` by the byte of `node`, notes what ends here, and pushes the next level; tells whether anything can
    /// follow.
    #[inline]
    fn step(&mut self, ground: Ground<'_>, node: u32, depth: usize) -> bool {
        let trie = ground.trie;
        let level = self.levels[depth];
        if level.is_single() && self.stacks.elements().is_none() {
            let Some((linked, local)) = ground.program.place(level.pair.state) else { return false };
            match linked.unit.code(local, trie.byte(node)).step() {
                Step::None => return false,
                Step::Quiet(state) => {
                    self.levels.truncate(depth + 1);
                    self.levels.push(Level { pair: Pair { state: linked.bases[0] + state, ..level.pair }, ..level });
                    self.found.tokens.extend_from_slice(trie.tokens(node));
                    return true;
                }
                Step::Simple(_) | Step::List(_) => {}
            }
        }
        self.slow_step(ground, node, depth)
    }

    fn slow_step(&mut self, ground: Ground<'_>, node: u32, depth: usize) -> bool {
        let Ground { program, trie, .. } = ground;
        let level = self.levels[depth];
        self.levels.truncate(depth + 1);
        self.pairs.truncate(level.last as usize);
        self.stacks.truncate(level.mark);
        self.live.clear();
        if level.is_single() {
            self.live.push(level.pair);
        } else {
            self.live.extend_from_slice(&self.pairs[level.first as usize..level.last as usize]);
        }
        step_byte(program, &mut self.stacks, &self.live, trie.byte(node), &mut self.next);
        if self.next.is_empty() {
            return false;
        }
        self.found.tokens.extend_from_slice(trie.tokens(node));
        let has_descendants = trie.subtree_end(node) > node + 1;
        if has_descendants && self.next.iter().any(|pair| pair.state == BELOW) {
            self.found.remainders.push(ground.remainder(node));
        }
        self.next.retain(|pair| program.place(pair.state).is_some());
        if self.next.is_empty() || !has_descendants {
            return false;
        }
        let next = core::mem::take(&mut self.next);
        self.push_configuration(&next);
        self.next = next;
        true
    }
}

fn bytes_of(program: &Program, state: StateId) -> ByteSet {
    let Some((linked, local)) = program.place(state) else { return ByteSet::EMPTY };
    (0..=255).filter(|&byte| linked.unit.code(local, byte).step() != Step::None).collect()
}

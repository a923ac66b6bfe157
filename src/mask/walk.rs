//! Walking the token trie with a state.
//!
//! The trie is a preorder list, so a walk is one loop: step the configuration of the parent by the node's byte; if nothing is left,
//! jump behind the subtree, otherwise note the tokens that end here and go on to the next node, which is the first child. The
//! configurations of the ancestors are kept on a stack; nearly always they are one pair, and a step is one table look-up.
//!
//! Below a state that loops on many characters that would visit most of the trie. There the walk takes the *region* of the
//! loop's characters from the vocabulary: its tokens are allowed without a look, and the walk goes on only at the borders whose byte
//! the state reads. What a configuration allows is the union of what its pairs allow, so each pair is taken by itself.

use super::loops::{alphabet, counted_alphabet};
use crate::automaton::{BELOW, Kind, Program, StateId, Step};
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
pub(crate) enum Remainder {
    /// Below this trie node.
    Node(u32),
    /// After at least one character of a region, anywhere.
    Region(Arc<Region>),
    /// After at least and at most so many characters of a region.
    Counted(Arc<Region>, u16, u16),
}

/// What a walk found, and the memory it worked in.
#[derive(Debug)]
pub(crate) struct Walker {
    stacks: Stacks,
    levels: Vec<Level>,
    pairs: Vec<Pair>,
    live: Configuration,
    next: Configuration,
    alphabets: AHashMap<StateId, Option<Loop>>,
    found: Found,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// A region whose tokens are allowed, beside `tokens`, as far as at most so many characters begin in them.
    pub base: Option<(Arc<Region>, usize)>,
    /// Tokens that are allowed, in any order, perhaps repeated.
    pub tokens: Vec<TokenId>,
    /// Where the caller decides.
    pub remainders: Vec<Remainder>,
    /// Trie nodes visited.
    pub n_nodes: u64,
    /// Walks, over the vocabulary or a part of it.
    pub n_walks: u64,
}

/// A loop over characters: the state itself, or copies of a counted body.
#[derive(Clone, Copy, Debug)]
struct Loop {
    alphabet: Alphabet,
    is_counted: bool,
}

/// The configuration before the byte of a trie node.
#[derive(Clone, Copy, Debug)]
struct Level {
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
    Pieces(&'a Tally),
}

impl Count<'_> {
    fn advance(&self, register: u64) -> Option<u64> {
        match self {
            Count::Copies(counter) => counter.advance(register),
            Count::Pieces(tally) => {
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
            Count::Pieces(tally) => tally.may_go_on(register),
        }
    }

    fn may_end(&self, register: u64) -> bool {
        match self {
            Count::Copies(counter) => counter.may_end(register),
            Count::Pieces(tally) => tally.may_end(register),
        }
    }
}

/// What a walk is about.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub program: &'a Program,
    pub vocab: &'a Vocab,
}

impl Walker {
    pub fn new() -> Self {
        Walker {
            stacks: Stacks::new(BELOW),
            levels: Vec::new(),
            pairs: Vec::new(),
            live: Vec::new(),
            next: Vec::new(),
            alphabets: AHashMap::new(),
            found: Found::default(),
        }
    }

    /// Prepares for walks with a program, and forgets what was found before.
    pub fn clear(&mut self) {
        self.alphabets.clear();
        self.found.base = None;
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
        self.below_pair(subject, 0, Pair { state, node: BOTTOM, register }, 0);
    }

    /// Walks on at a remainder, beginning in `state` with an unknown caller; adds to what was found.
    pub fn settle(&mut self, subject: Subject<'_>, remainder: &Remainder, state: StateId, register: u64) {
        self.start();
        let pair = Pair { state, node: BOTTOM, register };
        match remainder {
            Remainder::Node(node) => {
                self.found.n_walks += 1;
                self.below_pair(subject, *node, pair, 0);
            }
            Remainder::Region(region) => self.after_region(subject, region, pair, 0),
            Remainder::Counted(region, first, last) => self.after_counted(subject, region, pair, 0, *first, *last),
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
            self.below(subject, 0, REGIONS_DEEP_MAX);
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
    fn below_pair(&mut self, subject: Subject<'_>, from: u32, pair: Pair, n_deep: usize) {
        let Subject { program, vocab } = subject;
        let trie = vocab.trie();
        if n_deep < REGIONS_DEEP_MAX
            && trie.subtree_end(from) - from > REGION_NODES
            && let Some(Loop { alphabet, is_counted }) = self.alphabet(program, pair.state)
        {
            let region = vocab.region(alphabet, from);
            return match is_counted {
                false => self.below_loop(subject, &region, pair, alphabet, n_deep),
                true => self.below_counted(subject, &region, pair, alphabet, n_deep),
            };
        }
        let n_levels = self.levels.len();
        self.push_single(pair);
        self.below(subject, from, n_deep);
        self.levels.truncate(n_levels);
    }

    fn alphabet(&mut self, program: &Program, state: StateId) -> Option<Loop> {
        *self.alphabets.entry(state).or_insert_with(|| {
            let plain = alphabet(program, state).map(|alphabet| Loop { alphabet, is_counted: false });
            plain.or_else(|| counted_alphabet(program, state).map(|alphabet| Loop { alphabet, is_counted: true }))
        })
    }

    fn push_single(&mut self, pair: Pair) {
        let (at, mark) = (self.pairs.len() as u32, self.stacks.mark());
        self.levels.push(Level { pair, first: at, last: at, mark });
    }

    /// Pushes the pairs from `first` on as one level.
    fn push_several(&mut self, pair: Pair, first: u32) {
        let mark = self.stacks.mark();
        self.levels.push(Level { pair, first, last: self.pairs.len() as u32, mark });
    }

    /// Walks the tokens below a region's node with a pair that loops on the region's characters.
    fn below_loop(
        &mut self,
        subject: Subject<'_>,
        region: &Arc<Region>,
        pair: Pair,
        alphabet: Alphabet,
        n_deep: usize,
    ) {
        let program = subject.program;
        if region.from() == 0 && self.found.base.is_none() {
            self.found.base = Some((Arc::clone(region), usize::MAX));
        } else {
            self.found.tokens.extend_from_slice(region.tokens());
        }
        for byte in bytes_of(program, pair.state).iter() {
            let is_looping = if byte < 0x80 { alphabet.ascii >> byte & 1 == 1 } else { alphabet.others };
            if !is_looping {
                for &node in region.border(byte) {
                    self.enter_with(subject, node, pair, n_deep);
                }
            }
        }
        if program.info(pair.state).is_some_and(|info| info.kind == Kind::End) {
            for index in 0..self.stacks.n_exits(pair.node) {
                let exit = self.stacks.exit(pair.node, index);
                if exit.state == BELOW {
                    self.found.remainders.push(Remainder::Region(Arc::clone(region)));
                } else {
                    self.after_region(subject, region, exit, n_deep);
                }
            }
        }
    }

    /// Walks the tokens below a region's node with a pair whose count goes up with each of the region's characters.
    fn below_counted(
        &mut self,
        subject: Subject<'_>,
        region: &Arc<Region>,
        pair: Pair,
        alphabet: Alphabet,
        n_deep: usize,
    ) {
        let Subject { program, vocab } = subject;
        let trie = vocab.trie();
        let Some((linked, local)) = program.place(pair.state) else { return };
        let count = match linked.unit.info(local).kind {
            Kind::Loop { counter } => Count::Copies(linked.unit.counter(counter)),
            Kind::Tally { tally } => Count::Pieces(linked.unit.tally(tally)),
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
        if region.from() == 0 && self.found.base.is_none() {
            self.found.base = Some((Arc::clone(region), n_max));
        } else {
            self.found.tokens.extend_from_slice(region.tokens_up_to(vocab, n_max).0);
        }
        let base = trie.n_begun(region.from());
        for byte in bytes_of(program, pair.state).iter() {
            let is_looping = if byte < 0x80 { alphabet.ascii >> byte & 1 == 1 } else { alphabet.others };
            if is_looping {
                continue;
            }
            for &node in region.border(byte) {
                let n_read = usize::from(trie.n_begun_before(node) - base);
                if let Some(&register) = registers.get(n_read)
                    && count.may_continue(register)
                {
                    self.enter_with(subject, node, Pair { register, ..pair }, n_deep);
                }
            }
        }
        let Some(first) = (1..=n_max).find(|&n| count.may_end(registers[n])) else { return };
        let (first, last) = (first as u16, n_max as u16);
        for index in 0..self.stacks.n_exits(pair.node) {
            let exit = self.stacks.exit(pair.node, index);
            if exit.state == BELOW {
                self.found.remainders.push(Remainder::Counted(Arc::clone(region), first, last));
            } else {
                self.after_counted(subject, region, exit, n_deep, first, last);
            }
        }
    }

    /// Walks on with `pair` after at least `first` and at most `last` characters of a region.
    fn after_counted(
        &mut self,
        subject: Subject<'_>,
        region: &Arc<Region>,
        pair: Pair,
        n_deep: usize,
        first: u16,
        last: u16,
    ) {
        for byte in bytes_of(subject.program, pair.state).iter() {
            region.for_each_after(subject.vocab.trie(), byte, first..=last, |node| {
                self.enter_with(subject, node, pair, n_deep);
            });
        }
    }

    /// Walks on with `pair` after at least one character of a region.
    fn after_region(&mut self, subject: Subject<'_>, region: &Arc<Region>, pair: Pair, n_deep: usize) {
        for byte in bytes_of(subject.program, pair.state).iter() {
            region.for_each_after_some(subject.vocab.trie(), byte, |node| self.enter_with(subject, node, pair, n_deep));
        }
    }

    /// Steps `pair` by the byte of `node`, and walks on below.
    fn enter_with(&mut self, subject: Subject<'_>, node: u32, pair: Pair, n_deep: usize) {
        let n_levels = self.levels.len();
        self.push_single(pair);
        self.found.n_walks += 1;
        self.found.n_nodes += 1;
        if self.step(subject, node, n_levels) {
            self.descend(subject, node, n_deep);
        }
        self.levels.truncate(n_levels);
    }

    /// Walks below `node` with the last level; pair by pair if that allows to use regions.
    fn descend(&mut self, subject: Subject<'_>, node: u32, n_deep: usize) {
        if !self.split(subject, node, n_deep) {
            self.below(subject, node, n_deep);
        }
    }

    /// Walks below `node` with each pair of the last level by itself if that allows to use regions; returns whether it does.
    fn split(&mut self, subject: Subject<'_>, node: u32, n_deep: usize) -> bool {
        let trie = subject.vocab.trie();
        if n_deep >= REGIONS_DEEP_MAX || trie.subtree_end(node) - node <= REGION_NODES {
            return false;
        }
        let level = *self.levels.last().expect("a level was pushed");
        let pairs: SmallVec<[Pair; 4]> = if level.is_single() {
            SmallVec::from_slice(&[level.pair])
        } else {
            self.pairs[level.first as usize..level.last as usize].into()
        };
        if pairs.iter().all(|pair| self.alphabet(subject.program, pair.state).is_none()) {
            return false;
        }
        pairs.iter().for_each(|&pair| self.below_pair(subject, node, pair, n_deep + 1));
        true
    }

    /// Walks the tokens below the trie node `from` with the last level.
    fn below(&mut self, subject: Subject<'_>, from: u32, n_deep: usize) {
        let trie = subject.vocab.trie();
        let base = self.levels.len() - 1;
        let depth_base = usize::from(trie.depth(from)) + 1;
        let end = trie.subtree_end(from);
        let mut node = from + 1;
        while node < end {
            self.found.n_nodes += 1;
            let depth = base + usize::from(trie.depth(node)) - depth_base;
            let goes_on = self.step(subject, node, depth) && !self.split(subject, node, n_deep);
            node = if goes_on { node + 1 } else { trie.subtree_end(node) };
        }
        self.levels.truncate(base + 1);
    }

    /// Steps the level at `depth` by the byte of `node`, notes what ends here, and pushes the next level; tells whether anything can
    /// follow.
    #[inline]
    fn step(&mut self, subject: Subject<'_>, node: u32, depth: usize) -> bool {
        let trie = subject.vocab.trie();
        let level = self.levels[depth];
        if level.is_single() && self.stacks.elements().is_none() {
            let Some((linked, local)) = subject.program.place(level.pair.state) else { return false };
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
        self.slow_step(subject.program, trie, node, depth)
    }

    fn slow_step(&mut self, program: &Program, trie: &Trie, node: u32, depth: usize) -> bool {
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
            self.found.remainders.push(Remainder::Node(node));
        }
        self.next.retain(|pair| program.place(pair.state).is_some());
        if self.next.is_empty() || !has_descendants {
            return false;
        }
        if let [pair] = self.next[..] {
            self.push_single(pair);
        } else {
            let first = self.pairs.len() as u32;
            self.pairs.extend_from_slice(&self.next);
            self.push_several(self.next[0], first);
        }
        true
    }
}

fn bytes_of(program: &Program, state: StateId) -> ByteSet {
    let Some((linked, local)) = program.place(state) else { return ByteSet::EMPTY };
    (0..=255).filter(|&byte| linked.unit.code(local, byte).step() != Step::None).collect()
}

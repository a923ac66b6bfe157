//! Walking the token trie with a state.
//!
//! The trie is a preorder list, so a walk is one loop: step the configuration of the parent by the node's byte; if nothing is left,
//! jump behind the subtree, otherwise note the tokens that end here and go on to the next node, which is the first child. The
//! configurations of the ancestors are kept on a stack; nearly always they are one pair, and a step is one table look-up.
//!
//! Below a state that loops on many characters that would visit most of the trie. There the walk takes the *region* of the
//! loop's characters from the vocabulary: its tokens are allowed without a look, and the walk goes on only at the borders whose byte
//! the state reads. What a configuration allows is the union of what its pairs allow, so each pair is taken by itself.

use super::configuration::ConfigurationWalk;
use super::entry::MaskEntry;
use super::field::{Field, Next, Place, WHOLE};
use super::loops::{Chain, Form, Loop, Loops};
use super::model::{ModelPath, Twins, exclude};
use super::part::{self, Part, Parts};
use super::switches::ShortCut;
use crate::automaton::{BELOW, Code, Kind, Owner, Program, StateId, Step, Unit};
use crate::exec::{BOTTOM, Configuration, Pair, Stacks, StacksMark, Viability, Work, step_byte};
use crate::machine::{Counter, RegisterRule};
use crate::util::ByteSet;
use crate::vocab::{Alphabet, CharCount, Region, TokenId, Trie, Vocab};
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
    /// After some characters of a region, anywhere.
    Region(Arc<Region>, CharCount),
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
    viability: Viability,
    shapes: AHashMap<StateId, Shape>,
    /// The unit that the walk began in.
    pub(super) home: u32,
    pub(super) parts: Parts,
    pub(super) loops: Loops,
    pub(super) twins: Twins,
    pub(super) found: Found,
    pub(super) configurations: ConfigurationWalk,
    /// A mask under way.
    pub(super) row: Vec<u32>,
    /// A row without bits, to compare masks in.
    pub(super) zeros: Vec<u32>,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Tokens that are allowed beside `tokens`, as a row that is there already.
    pub base: Option<Base>,
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

/// Trie nodes that are visited with one pair in a unit of work.
const NODES_PER_WORK: u64 = 4;
/// What else a walk takes that visits a node with several pairs, or with a move that changes stacks.
const WORK_PER_SLOW_STEP: u64 = 8;
const WORK_PER_PAIR: u64 = 4;
/// What beginning to walk at a place takes.
const WORK_PER_WALK: u64 = 4;
/// Tokens that are noted in the time of a visit.
const TOKENS_PER_WORK: usize = 16;

/// A large set of tokens.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// Those of a region in which at most so many characters begin.
    Region(Arc<Region>, usize),
    Part(Arc<Part>),
}

impl Base {
    pub fn tokens<'a>(&'a self, vocab: &Vocab) -> &'a [TokenId] {
        match self {
            Base::Region(region, n_max) => region.tokens_up_to(vocab, *n_max).0,
            Base::Part(part) => part.tokens(),
        }
    }

    pub fn mask(&self, vocab: &Vocab, n_words: usize) -> MaskEntry {
        match self {
            Base::Region(region, n_max) => MaskEntry::of_region_up_to(region, vocab, *n_max, n_words),
            Base::Part(part) => MaskEntry::Dense(Arc::clone(part.row(n_words))),
        }
    }
}

impl Found {
    /// Makes the tokens of the base tokens like the others.
    pub fn flatten(&mut self, vocab: &Vocab) {
        let Some(base) = self.base.take() else { return };
        self.cleared.sort_unstable();
        let is_kept = |id: &TokenId| self.cleared.binary_search(id).is_err();
        self.tokens.extend(base.tokens(vocab).iter().copied().filter(is_kept));
        self.cleared.clear();
    }
}

/// How the tokens below a state are found.
#[derive(Clone, Debug)]
pub(super) enum Shape {
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
    /// The register rule of the loop, and the strictest of its rule.
    Pieces(&'a RegisterRule, &'a RegisterRule),
}

impl Count<'_> {
    fn advance(&self, register: u64) -> Option<u64> {
        match self {
            Count::Copies(counter) => counter.advance(register),
            Count::Pieces(register_rule, _) => {
                if register_rule.can_continue(register) {
                    register_rule.advance(register)
                } else {
                    None
                }
            }
        }
    }

    fn can_continue(&self, register: u64) -> bool {
        match self {
            Count::Copies(counter) => counter.can_continue(register),
            Count::Pieces(register_rule, _) => register_rule.can_continue(register),
        }
    }

    fn can_end(&self, register: u64) -> bool {
        match self {
            Count::Copies(counter) => counter.can_end(register),
            Count::Pieces(register_rule, _) => register_rule.can_end(register),
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
        self.is_whole(n_deep) && self.n_nodes_below(from) >= REGION_NODES
    }

    /// Tells whether the vocabulary is walked, and short cuts may still be taken.
    pub fn is_whole(&self, n_deep: usize) -> bool {
        self.merged.is_none() && n_deep < REGIONS_DEEP_MAX
    }

    pub fn n_nodes_below(&self, node: u32) -> u32 {
        self.trie.subtree_end(node) - node - 1
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
            viability: Viability::default(),
            shapes: AHashMap::new(),
            home: u32::MAX,
            parts: Parts::default(),
            loops: Loops::default(),
            twins: Twins::default(),
            found: Found::default(),
            configurations: ConfigurationWalk::default(),
            row: Vec::new(),
            zeros: Vec::new(),
        }
    }

    /// Prepares for walks with a program, and forgets what was found before.
    pub fn clear(&mut self) {
        self.shapes.clear();
        self.loops.allow_surveys();
        self.found.base = None;
        self.found.cleared.clear();
        self.found.tokens.clear();
        self.found.remainders.clear();
        (self.found.n_nodes, self.found.n_walks) = (0, 0);
        self.stacks.work = Work::default();
    }

    /// Bounds the work until the next [`Self::clear`]; what is found by then is of no use ([`Self::is_spent`]).
    pub fn bound_work(&mut self, max: u64) {
        self.stacks.work = Work::up_to(max);
    }

    /// Tells whether a walk was given up, since it took more work than it may.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.stacks.work.is_spent()
    }

    /// Returns the work done since the last [`Self::clear`].
    pub fn work_done(&self) -> u64 {
        self.stacks.work.done()
    }

    /// Returns what was found since the last [`Self::clear`].
    pub fn found(&mut self) -> &mut Found {
        &mut self.found
    }

    /// Walks all tokens, beginning in `state` with an unknown caller; adds to what was found.
    pub fn classify(&mut self, subject: Subject<'_>, state: StateId, register: u64) {
        self.start(subject, state);
        self.found.n_walks += 1;
        self.below_pair(subject.whole(), 0, Pair { state, node: BOTTOM, register }, 0);
    }

    /// Walks on at a remainder, beginning in `state` with an unknown caller; adds to what was found.
    pub fn settle(&mut self, subject: Subject<'_>, remainder: &Remainder, state: StateId, register: u64) {
        self.start(subject, state);
        self.after(subject.whole(), remainder, Pair { state, node: BOTTOM, register }, 0);
    }

    /// Walks on with `pair` at a remainder.
    pub(super) fn after(&mut self, ground: Ground<'_>, remainder: &Remainder, pair: Pair, n_deep: usize) {
        if self.is_spent() {
            return;
        }
        let (n_tokens, n_remainders) = (self.found.tokens.len(), self.found.remainders.len());
        match &remainder.spot {
            Spot::Node(node) => {
                self.found.n_walks += 1;
                self.below_pair(ground, *node, pair, n_deep);
            }
            Spot::Merged(trie, node) => {
                self.found.n_walks += 1;
                self.below_pair(ground.on(trie), *node, pair, n_deep);
            }
            Spot::Region(region, after) => self.leave(ground, region, *after, pair, n_deep),
        }
        if let Some(excluded) = &remainder.excluded {
            let fresh = self.found.tokens.split_off(n_tokens);
            self.found.tokens.extend(fresh.into_iter().filter(|id| excluded.binary_search(id).is_err()));
            exclude(&mut self.found.remainders[n_remainders..], excluded);
        }
    }

    fn start(&mut self, subject: Subject<'_>, state: StateId) {
        self.home = subject.program.place(state).map_or(u32::MAX, |(linked, _)| linked.unit.uid);
        self.levels.clear();
        self.pairs.clear();
        // The bottom stays.
        self.stacks.truncate(StacksMark { n_nodes: BOTTOM + 1, n_bytes: 0 });
    }

    /// Walks the tokens below the trie node `from` with one pair.
    pub(super) fn below_pair(&mut self, ground: Ground<'_>, from: u32, pair: Pair, n_deep: usize) {
        if self.is_spent() {
            return;
        }
        self.stacks.work.spend(WORK_PER_WALK);
        if ground.has_regions(from, n_deep) {
            match self.shape(ground.program, pair) {
                Shape::Loop(Loop { form: Form::Chain(chain), .. })
                    if !bounds_out_of_reach(ground, pair, chain.strictest) =>
                {
                    if let Some(Loop { alphabet, form: Form::Field(field) }) =
                        self.loops.field(ground.program, pair.state)
                    {
                        let region = ground.vocab.region(alphabet, from);
                        return self.below_field(ground, &region, pair, &field, n_deep);
                    }
                }
                Shape::Loop(Loop { alphabet, form }) => {
                    let region = ground.vocab.region(alphabet, from);
                    return match form {
                        Form::Endless => {
                            self.below_loop(ground, &region, pair, alphabet, ByteSet::EMPTY, n_deep);
                        }
                        Form::Counted => self.below_counted(ground, &region, pair, alphabet, n_deep),
                        Form::Chain(chain) => self.below_chain(ground, &region, pair, &chain, n_deep),
                        Form::Field(field) => self.below_field(ground, &region, pair, &field, n_deep),
                    };
                }
                Shape::Like(path) => {
                    if self.below_like(ground, from, pair, &path, n_deep) {
                        return;
                    }
                    self.loops.forget_model(ground.program, pair.state);
                    self.shapes.remove(&pair.state);
                    return self.below_pair(ground, from, pair, n_deep);
                }
                Shape::Other => {}
            }
        }
        let n_levels = self.levels.len();
        self.push_single(pair);
        self.below(ground, from, n_deep);
        self.levels.truncate(n_levels);
    }

    pub(super) fn shape(&mut self, program: &Program, pair: Pair) -> Shape {
        if let Some(shape) = self.shapes.get(&pair.state) {
            return shape.clone();
        }
        let shape = if let Some(found) = self.loops.get(program, pair.state) {
            Shape::Loop(found)
        } else {
            let path = self.model_path(program, pair);
            // A space begins half of the tokens.
            match path {
                Some(path) if self.is_like_by(program, pair, &path, b' ') => Shape::Like(path),
                path => match self.loops.field(program, pair.state) {
                    Some(found) => Shape::Loop(found),
                    None => path.map_or(Shape::Other, Shape::Like),
                },
            }
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

    /// Walks the tokens below a region's node with a pair that loops on the region's characters; but those left out that begin with
    /// certain bytes.
    pub(super) fn below_loop(
        &mut self,
        ground: Ground<'_>,
        region: &Arc<Region>,
        pair: Pair,
        alphabet: Alphabet,
        apart: ByteSet,
        n_deep: usize,
    ) {
        let program = ground.program;
        self.take_region(ground, region, usize::MAX);
        for byte in bytes_of(program, pair.state).iter() {
            if !alphabet.begins(byte) {
                let after = if apart.contains(byte) { CharCount::OneOrMore } else { CharCount::Any };
                self.cross(ground, region, byte, after, pair, n_deep);
            }
        }
        if program.info(pair.state).is_some_and(|info| info.kind == Kind::End) {
            self.leave_after(ground, region, pair, n_deep, CharCount::OneOrMore);
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
            Kind::RegisterRule { register_rule } => {
                let Some(Owner::RegisterRules(strictest)) = linked.unit.info(local).owner else { return };
                Count::Pieces(linked.unit.register_rule(register_rule), linked.unit.register_rule(strictest))
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
        let is_far = n_max >= horizon && count.can_continue(pair.register) && (0..=n_max).all(is_same);
        for byte in bytes_of(program, pair.state).iter() {
            if alphabet.begins(byte) {
                continue;
            }
            if is_far {
                self.cross(ground, region, byte, CharCount::Any, pair, n_deep);
                continue;
            }
            self.cross_counted(ground, region, byte, n_deep, |n_read| {
                let register = *registers.get(n_read)?;
                count.can_continue(register).then_some(Pair { register, ..pair })
            });
        }
        let Some(first) = (1..=n_max).find(|&n| count.can_end(registers[n])) else { return };
        let ends_anywhere = n_max >= horizon && registers[1..].iter().all(|&register| count.can_end(register));
        let after = if ends_anywhere { CharCount::OneOrMore } else { CharCount::Between(first as u16, n_max as u16) };
        self.leave_after(ground, region, pair, n_deep, after);
    }

    /// Walks the tokens below a region's node with the first state of a chain, each state of which is reached by one more character.
    fn below_chain(&mut self, ground: Ground<'_>, region: &Arc<Region>, pair: Pair, chain: &Chain, n_deep: usize) {
        let Ground { program, vocab, trie, .. } = ground;
        let Some((linked, local)) = program.place(pair.state) else { return };
        let states = &*chain.states;
        let n_max = states.len() - 1;
        self.take_region(ground, region, n_max);
        let state = |local: u32| linked.base + local;
        debug_assert_eq!(states[0], local);
        for &byte in &chain.bytes {
            self.cross_counted(ground, region, byte, n_deep, |n_read| {
                states.get(n_read).map(|&local| Pair { state: state(local), ..pair })
            });
        }
        // One register is as good as another where no token reaches a bound.
        let is_end = |local: &u32| match linked.unit.info(*local).kind {
            Kind::RegisterRule { register_rule } => linked.unit.register_rule(register_rule).can_end(pair.register),
            kind => kind == Kind::End,
        };
        let Some(first) = states[1..].iter().position(is_end) else { return };
        // Where no token holds more of its characters than there are states, the chain may be over anywhere.
        let is_anywhere =
            first == 0 && region.tokens_up_to(vocab, n_max).1.is_empty() && region.n_chars_max(trie) <= n_max;
        let after = if is_anywhere { CharCount::OneOrMore } else { CharCount::Between(first as u16 + 1, n_max as u16) };
        self.leave_after(ground, region, pair, n_deep, after);
    }

    /// Walks the tokens below a region's node with a state of a field: along characters only as far as they may be refused, and from where
    /// another byte follows.
    fn below_field(&mut self, ground: Ground<'_>, region: &Arc<Region>, pair: Pair, field: &Field, n_deep: usize) {
        let Ground { program, vocab, trie, .. } = ground;
        let Some((linked, local)) = program.place(pair.state) else { return };
        let pair_at = |(state, _): Place, register| Pair { state: linked.base + state, register, ..pair };
        let mut refused = Vec::new();
        for (node, place, register) in self.refused_by(ground, region.from(), pair, field, &mut refused) {
            self.enter_with(ground, node, pair_at(place, register), n_deep);
        }
        self.take_region_but(ground, region, refused);
        let depth = usize::from(trie.depth(region.from()));
        for byte in field.bytes.iter() {
            for &node in region.border(byte) {
                if self.is_spent() {
                    return;
                }
                let Some(&token) = trie.subtree_tokens(node).first() else { continue };
                let before = &vocab.bytes(token)[depth..usize::from(trie.depth(node)) - 1];
                let Some((local, register)) = field.run(&linked.unit, local, pair.register, before) else { continue };
                if linked.unit.code(local, byte) != Code::NONE {
                    self.enter_with(ground, node, pair_at((local, WHOLE), register), n_deep);
                }
            }
        }
    }

    /// Collects the tokens below `from` that a state of a field refuses, perhaps with others that hold more than characters of the field; returns the
    /// nodes whose byte leads out of it, with the places before them, the tokens below which are collected too.
    fn refused_by(
        &mut self,
        ground: Ground<'_>,
        from: u32,
        pair: Pair,
        field: &Field,
        refused: &mut Vec<TokenId>,
    ) -> Vec<(u32, Place, u64)> {
        let Ground { program, vocab, trie, .. } = ground;
        let mut leading_out = Vec::new();
        let Some((linked, local)) = program.place(pair.state) else { return leading_out };
        let unit = &linked.unit;
        let n_far = n_far(unit, pair.register, field.strictest, vocab.token_bytes_max());
        let is_sure = |node: u32, place: Place, depth: usize| {
            let height = trie.height(node);
            let is_read = height <= field.radius(place) || field.needed(place) & !trie.bytes_below(node) != 0;
            is_read && (n_far > vocab.token_bytes_max() || depth + usize::from(height) <= n_far)
        };
        let home = (local, WHOLE);
        if is_sure(from, home, 0) {
            return leading_out;
        }
        let depth_base = usize::from(trie.depth(from)) + 1;
        let mut levels: Vec<(Place, u64)> = vec![(home, pair.register)];
        let (mut node, end) = (from + 1, trie.subtree_end(from));
        while node < end {
            self.found.n_nodes += 1;
            self.stacks.work.spend(u64::from(self.found.n_nodes.is_multiple_of(NODES_PER_WORK)));
            let depth = usize::from(trie.depth(node)) - depth_base;
            levels.truncate(depth + 1);
            let (place, register) = levels[depth];
            match field.next(unit, place, register, trie.byte(node)) {
                Next::Place(place, register) if !is_sure(node, place, depth + 1) => {
                    levels.push((place, register));
                    node += 1;
                    continue;
                }
                Next::Place(..) | Next::Border => {}
                Next::Nowhere => refused.extend_from_slice(trie.subtree_tokens(node)),
                Next::Out => {
                    refused.extend_from_slice(trie.subtree_tokens(node));
                    leading_out.push((node, place, register));
                }
            }
            node = trie.subtree_end(node);
        }
        leading_out
    }

    /// Adds the tokens of a region but some.
    fn take_region_but(&mut self, ground: Ground<'_>, region: &Arc<Region>, mut refused: Vec<TokenId>) {
        if refused.is_empty() {
            return self.take_region(ground, region, usize::MAX);
        }
        if region.from() == 0 && self.found.base.is_none() {
            self.found.base = Some(Base::Region(Arc::clone(region), usize::MAX));
            return self.found.cleared.append(&mut refused);
        }
        refused.sort_unstable();
        let tokens = region.tokens_up_to(ground.vocab, usize::MAX).0;
        let is_allowed = |id: &TokenId| refused.binary_search(id).is_err();
        self.found.tokens.extend(tokens.iter().copied().filter(is_allowed));
    }

    /// Adds the tokens of a region in which at most `n_max` characters begin.
    fn take_region(&mut self, ground: Ground<'_>, region: &Arc<Region>, n_max: usize) {
        if region.from() == 0 && self.found.base.is_none() {
            self.found.base = Some(Base::Region(Arc::clone(region), n_max));
        } else if matches!(&self.found.base, Some(Base::Region(base, base_max)) if Arc::ptr_eq(base, region) && n_max <= *base_max)
            && self.found.cleared.is_empty()
        {
            // It is there already.
        } else {
            let tokens = region.tokens_up_to(ground.vocab, n_max).0;
            self.stacks.work.spend((tokens.len() / TOKENS_PER_WORK) as u64);
            self.found.tokens.extend_from_slice(tokens);
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
        let base = ground.trie.n_chars(region.from());
        for &node in region.border(byte) {
            if self.is_spent() {
                return;
            }
            if let Some(pair) = pair_after(usize::from(ground.trie.n_chars_before(node) - base)) {
                self.enter_with(ground, node, pair, n_deep);
            }
        }
    }

    /// Goes on where the frames below `pair` return to, after some characters of a region.
    fn leave_after(&mut self, ground: Ground<'_>, region: &Arc<Region>, pair: Pair, n_deep: usize, after: CharCount) {
        for index in 0..self.stacks.n_exits(pair.node) {
            let exit = self.stacks.exit(pair.node, index);
            if exit.state == BELOW {
                self.found.remainders.push(Spot::Region(Arc::clone(region), after).into());
            } else {
                self.leave(ground, region, after, exit, n_deep);
            }
        }
    }

    /// Walks on with `pair` at the nodes of `byte` that lie behind some characters of a region.
    fn cross(&mut self, ground: Ground<'_>, region: &Region, byte: u8, after: CharCount, pair: Pair, n_deep: usize) {
        let after = match after {
            CharCount::Between(0 | 1, last) if usize::from(last) >= region.n_chars_max(ground.trie) => {
                CharCount::OneOrMore
            }
            after => after,
        };
        if ShortCut::Merged.is_on()
            && let Some(merged) = region.merged(ground.trie, byte, after)
        {
            let n_levels = self.levels.len();
            self.push_single(pair);
            self.found.n_walks += 1;
            self.below(ground.on(&merged), 0, n_deep);
            self.levels.truncate(n_levels);
        } else {
            self.enter_all(ground, region.border_after(ground.trie, byte, after), pair, n_deep);
        }
    }

    /// Walks on with `pair` at some nodes.
    fn enter_all(&mut self, ground: Ground<'_>, nodes: impl Iterator<Item = u32>, pair: Pair, n_deep: usize) {
        for node in nodes {
            if self.is_spent() {
                return;
            }
            self.enter_with(ground, node, pair, n_deep);
        }
    }

    /// As [`Self::cross`], with a pair that stands behind the region's characters and may read further ones.
    fn leave(&mut self, ground: Ground<'_>, region: &Region, after: CharCount, pair: Pair, n_deep: usize) {
        for byte in bytes_of(ground.program, pair.state).iter() {
            if self.is_spent() {
                return;
            }
            self.cross(ground, region, byte, after, pair, n_deep);
            self.enter_all(ground, region.interior_after(ground.trie, byte, after), pair, n_deep);
        }
    }

    /// Steps `pair` by the byte of `node`, and walks on below.
    fn enter_with(&mut self, ground: Ground<'_>, node: u32, pair: Pair, n_deep: usize) {
        let n_levels = self.levels.len();
        self.push_single(pair);
        self.found.n_walks += 1;
        self.found.n_nodes += 1;
        self.stacks.work.spend(WORK_PER_WALK);
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
        if !ground.is_whole(n_deep) || ground.n_nodes_below(node) < part::NODES_MIN {
            return false;
        }
        let level = *self.levels.last().expect("a level was pushed");
        let pairs: SmallVec<[Pair; 4]> = if level.is_single() {
            SmallVec::from_slice(&[level.pair])
        } else {
            self.pairs[level.first as usize..level.last as usize].into()
        };
        let has_regions = ground.has_regions(node, n_deep);
        let is_short_cut = |walker: &mut Walker, pair: Pair| {
            walker.is_shared(ground, node, pair, n_deep)
                || has_regions && !matches!(walker.shape(ground.program, pair), Shape::Other)
        };
        if !pairs.iter().any(|&pair| is_short_cut(self, pair)) {
            return false;
        }
        for pair in pairs {
            if self.is_shared(ground, node, pair, n_deep) {
                self.below_shared(ground, node, pair, n_deep);
            } else {
                self.below_pair(ground, node, pair, n_deep + 1);
            }
        }
        true
    }

    /// Walks the tokens below the trie node `from` with the last level.
    fn below(&mut self, ground: Ground<'_>, from: u32, n_deep: usize) {
        let trie = ground.trie;
        let depth = usize::from(trie.depth(from)) + 1;
        let Some(children) = trie.wide_children(from) else {
            return self.below_first(ground, from + 1, trie.subtree_end(from), depth, n_deep);
        };
        // Those that the level can't read are left out.
        let level = *self.levels.last().expect("a level was pushed");
        let bytes = if level.is_single() {
            bytes_of(ground.program, level.pair.state)
        } else {
            let pairs = &self.pairs[level.first as usize..level.last as usize];
            pairs.iter().fold(ByteSet::EMPTY, |all, pair| all | bytes_of(ground.program, pair.state))
        };
        for &(_, node) in children.iter().filter(|(byte, _)| bytes.contains(*byte)) {
            self.below_first(ground, node, trie.subtree_end(node), depth, n_deep);
        }
    }

    /// Walks the trie nodes from `node` up to `end`, which begin at a depth, with the last level.
    fn below_first(&mut self, ground: Ground<'_>, mut node: u32, end: u32, depth_base: usize, n_deep: usize) {
        let trie = ground.trie;
        let base = self.levels.len() - 1;
        while node < end && !self.is_spent() {
            self.found.n_nodes += 1;
            self.stacks.work.spend(u64::from(self.found.n_nodes.is_multiple_of(NODES_PER_WORK)));
            let depth = base + usize::from(trie.depth(node)) - depth_base;
            let goes_on = self.step(ground, node, depth) && !self.split(ground, node, n_deep);
            node = match goes_on {
                true if trie.wide_children(node).is_none() => node + 1,
                true => {
                    self.below(ground, node, n_deep);
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
    fn step(&mut self, ground: Ground<'_>, node: u32, depth: usize) -> bool {
        let trie = ground.trie;
        let level = self.levels[depth];
        if level.is_single() {
            let Some((linked, local)) = ground.program.place(level.pair.state) else { return false };
            match linked.unit.code(local, trie.byte(node)).step() {
                Step::None => return false,
                Step::Quiet(state) => {
                    self.levels.truncate(depth + 1);
                    self.levels.push(Level { pair: Pair { state: linked.base + state, ..level.pair }, ..level });
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
        let n_pairs = self.live.len() + self.next.len();
        self.stacks.work.spend(WORK_PER_SLOW_STEP + WORK_PER_PAIR * n_pairs as u64);
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

/// Tells whether no token can reach a bound on what is counted, if anything is.
fn bounds_out_of_reach(ground: Ground<'_>, pair: Pair, strictest: Option<u32>) -> bool {
    let Some((linked, _)) = ground.program.place(pair.state) else { return false };
    let horizon = ground.vocab.token_bytes_max() as u32;
    strictest.is_none_or(|register_rule| {
        linked.unit.register_rule(register_rule).bounds_out_of_reach(pair.register, horizon)
    })
}

/// Returns how many pieces, at most one more than `n_max`, surely reach no greatest number of what is counted, if anything is.
fn n_far(unit: &Unit, register: u64, strictest: Option<u32>, n_max: usize) -> usize {
    let Some(register_rule) = strictest.map(|register_rule| unit.register_rule(register_rule)) else {
        return n_max + 1;
    };
    let numbers: Vec<u32> = (1..=n_max as u32 + 1).collect();
    numbers.partition_point(|&n| register_rule.upper_bound_out_of_reach(register, n))
}

pub(super) fn bytes_of(program: &Program, state: StateId) -> ByteSet {
    program.place(state).map_or(ByteSet::EMPTY, |(linked, local)| linked.unit.bytes(local))
}

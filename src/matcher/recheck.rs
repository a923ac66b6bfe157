//! Masks where values must differ: which tokens of a cached mask repeat a value, or leave none for one that must follow.
//!
//! Cached masks ignore the document so far, so that `[1, 2, 1` is as good a beginning as any, whatever `uniqueItems` says. The simple remedy tries each token of the mask
//! by itself: within a string that is nearly all of the vocabulary. But hardly one of these has to do with the values that are there already:
//!
//! ```text
//! ["red", "green", "r|            `ed"` repeats a value and `","red"` may; no other token can, and none of those that begin with an `x` is worth a look
//! ```
//!
//! So the tokens are tried together, on a walk of the vocabulary's trie with real steps, and a subtree is left as it is if nothing in it can make a difference. That
//! is so at a node if every place where the text can be there is *safe*:
//! - no value under way is a prefix of one that is there already. Then whatever completes it is new, and the same holds for all longer prefixes;
//! - no token below the node ends a value and holds another one of the same container whole, as far as its punctuation tells
//!   ([`Punctuation`]): `"abc` doesn't, `"a", "b"` may. Where values may run out, beginning another one is enough;
//! - between two values, no suffix begins like a value that is there already, and nothing obliges another one to follow of which none may be left.
//!
//! Keys that are there already are few, and so are the tokens that hold one of them whole: those are tried one by one (`Matcher::clear_held_keys`), and so are
//! tokens with punctuation that few tokens have. Then the walk has only the suffixes of values under way.
//!
//! All of that errs on the side of walking on. Where places are dropped on the way, because a value is repeated in one reading of the text and not in another one, the
//! whole subtree is walked. Cost: a step for each node that is visited, and a look at its stacks.

use super::Matcher;
use super::danger::{Danger, Level, Recheck, Repeating, StackWalk, height, n_values_within};
use crate::automaton::{Kind, Owner, Program};
use crate::exec::{Candidates, Configuration, DistinctValues, Head, OverBudget, Stacks, Within, step_byte};
use crate::machine::{Distinct, Equality};
use crate::mask::add_controls;
use crate::util::{ByteSet, bit_row};
use crate::vocab::{Punctuation, TokenId, TrieNode};

/// Most nodes of the stacks to look at for one place, and for a whole mask; with more any token may make a difference.
const STACK_NODES_MAX: usize = 1024;
/// Most values under way that are remembered as new.
const KNOWN_NEW_MAX: usize = 64;
/// Most declared keys whose next bytes are looked at one by one.
const DECLARED_KEYS_MAX: usize = 64;
/// Most tokens below a node that are looked up in the mask before a step: where none is left, the step is none.
const FEW_TOKENS: usize = 8;
/// Work of a look at the stacks of a place.
const WORK_PER_PLACE: u64 = 64;

impl Matcher {
    /// Makes `row` the mask of what may follow; tells whether that is none.
    pub(super) fn fill_distinct(&mut self, row: &mut [u32]) -> Result<bool, OverBudget> {
        let reads_whole = self.reads_text_tokens_whole();
        if !reads_whole && let Some(is_empty) = self.fill_with_keys(row)? {
            return Ok(is_empty);
        }
        let is_empty = self.fill_live(row)?;
        let mut memory = self.scratch.recheck.take().unwrap_or_default();
        let is_changed = self.clear_repeating(row, &mut memory);
        self.scratch.recheck = Some(memory);
        if reads_whole && is_changed {
            // What repeats a value as text may still be read as a whole.
            let (program, vocab) = (self.grammar.program(), self.grammar.vocab());
            for (linked, local) in self.live.iter().filter_map(|head| program.place(head.state)) {
                add_controls(&linked.unit, local, vocab, row);
            }
        }
        if self.stacks.work.is_spent() {
            return Err(OverBudget);
        }
        Ok(is_empty || is_changed && row.iter().all(|&word| word == 0))
    }

    /// Tells whether tokens of text may be read as a whole here, whatever their text is.
    fn reads_text_tokens_whole(&self) -> bool {
        let (program, vocab) = (self.grammar.program(), self.grammar.vocab());
        program.has_controls()
            && self.live.iter().filter_map(|head| program.place(head.state)).any(|(linked, local)| {
                let mut named = linked.unit.named_tokens(local);
                named.any(|token| vocab.is_text(token)) || linked.unit.sets_read(local).next().is_some()
            })
    }

    /// Clears the bits of the tokens that the values before rule out; tells whether there may be some.
    fn clear_repeating(&mut self, row: &mut [u32], memory: &mut Recheck) -> bool {
        let grammar = self.grammar.clone();
        let (program, vocab) = (grammar.program(), grammar.vocab());
        let (trie, punctuation) = (vocab.trie(), vocab.punctuation());
        let mark = self.stacks.mark();
        self.scratch.viability.remember(&self.stacks);
        let mut is_changed = false;
        let opening = vocab.quoted_strings().opening_and_holding();
        self.clear_refused(row, opening.iter().copied(), |_| is_changed = true);
        memory.stack.are_held_keys_tried = self.clear_held_keys(row, |_| is_changed = true).is_some();
        memory.stack.find_repeating(program, &mut self.stacks, &self.live, height(trie, TrieNode::ROOT));
        memory.n_levels = 0;
        let within = self.values().within();
        let danger = memory.stack.danger(program, &mut self.stacks, &self.live, within, height(trie, TrieNode::ROOT));
        let danger = danger.among(bytes_read(program, &self.live));
        memory.push(&self.live, Level { live: Configuration::new(), mark, within, danger, is_complete: true });
        // Few tokens hold what can make a difference, and of these few are in the mask: they are tried one by one.
        let listed = vocab.punctuated_tokens().with(danger.punctuation, within.is_string());
        let is_listed = listed.is_some();
        let tokens = listed.into_iter().flatten();
        let is_left = |byte: u8| danger.spares(byte, Punctuation::NO_SPACE);
        let elsewhere = tokens.filter(|&token| vocab.bytes(token).first().is_none_or(|&byte| is_left(byte)));
        self.clear_refused(row, elsewhere, |_| is_changed = true);
        // Nearly all children of the root are left here; asking each by itself is a cache miss.
        for (node, own) in punctuation.root_children(within.is_string()) {
            let own = if is_listed { own.and(Punctuation::NO_SPACE) } else { own };
            if !danger.spares(trie.byte(node), own) {
                is_changed |= self.recheck_subtree(row, memory, node);
            }
        }
        self.scratch.viability.forget();
        self.stacks.truncate(mark);
        is_changed
    }

    /// Clears the bits of the tokens at and below a child of the root that the values before rule out; tells whether there may be some.
    fn recheck_subtree(&mut self, row: &mut [u32], memory: &mut Recheck, top: TrieNode) -> bool {
        let grammar = self.grammar.clone();
        let (program, vocab) = (grammar.program(), grammar.vocab());
        let (trie, punctuation) = (vocab.trie(), vocab.punctuation());
        let mut next = core::mem::take(&mut self.scratch.next);
        let mut is_changed = false;
        let (mut node, end) = (top, trie.subtree_end(top));
        while node < end && !self.stacks.work.is_spent() {
            memory.n_levels = usize::from(trie.depth(node));
            let above = &memory.levels[memory.n_levels - 1];
            // Most nodes are left here, before any step.
            let own = || punctuation.from(trie, node, above.within.is_string());
            let tokens = trie.subtree_tokens(node);
            if above.is_complete && above.danger.spares(trie.byte(node), own())
                || tokens.len() <= FEW_TOKENS && tokens.iter().all(|&token| !bit_row::has(row, token))
            {
                node = trie.subtree_end(node);
                continue;
            }
            self.stacks.truncate(above.mark);
            let n_refused = self.values().n_refused();
            step_byte(program, &mut self.stacks, &above.live, trie.byte(node), &mut next);
            let mut is_complete = above.is_complete && self.values().n_refused() == n_refused;
            if !trie.tokens(node).is_empty() {
                let n_live = next.len();
                self.scratch.viability.retain(program, &mut self.stacks, &mut next);
                is_complete &= next.len() == n_live;
            }
            if next.is_empty() {
                if !is_complete {
                    bit_row::clear_all(row, trie.subtree_tokens(node));
                    is_changed = true;
                }
                node = trie.subtree_end(node);
                continue;
            }
            if !trie.has_children(node) {
                node = node.next();
                continue;
            }
            self.stacks.work.spend(WORK_PER_PLACE);
            let within = above.within.after(trie.byte(node));
            let danger = memory.stack.danger(program, &mut self.stacks, &next, within, height(trie, node));
            // What can't be read is in no mask, unless another place read it.
            let danger = if is_complete { danger.among(bytes_read(program, &next)) } else { danger };
            // That something can follow is known only where a token ends.
            let danger = if trie.tokens(node).is_empty() { danger.with_space() } else { danger };
            if is_complete && danger.spares_all(punctuation.below(node, within.is_string())) {
                node = trie.subtree_end(node);
                continue;
            }
            let mark = self.stacks.mark();
            memory.push(&next, Level { live: Configuration::new(), mark, within, danger, is_complete });
            node = node.next();
        }
        self.scratch.next = next;
        is_changed
    }

    pub(super) fn values(&self) -> &DistinctValues {
        values_of(&self.stacks)
    }

    /// Clears the bits of those of `tokens` that are refused, tried one by one; passes them to `visit`.
    pub(super) fn clear_refused(
        &mut self,
        row: &mut [u32],
        tokens: impl Iterator<Item = TokenId>,
        mut visit: impl FnMut(TokenId),
    ) {
        for token in tokens {
            if self.stacks.work.is_spent() {
                return;
            }
            if bit_row::has(row, token) && !self.allows(token) {
                bit_row::clear(row, token);
                visit(token);
            }
        }
    }
}

impl StackWalk {
    /// Finds the frames of `live` whose values may become others. What is known since the last mask isn't found anew.
    fn find_repeating(&mut self, program: &Program, stacks: &mut Stacks, live: &[Head], n_bytes_max: usize) {
        self.before = stacks.mark();
        let (mut repeating_before, new_before) =
            (core::mem::take(&mut self.repeating), core::mem::take(&mut self.known_new));
        let (mut repeating, mut new): (Vec<Repeating>, Vec<(Head, u32)>) = (Vec::new(), Vec::new());
        let (mut n_compared, n_bytes) = (0, self.before.n_bytes);
        self.are_all_known = self.visit(stacks, live, usize::MAX, STACK_NODES_MAX, |frame, _| {
            let Some(Kind::DistinctValue(distinct)) = program.info(frame.state).map(|info| info.kind) else {
                return true;
            };
            if repeating.iter().any(|known| known.frame == frame) {
                return true;
            }
            let is_new = |known: &&(Head, u32)| known.0 == frame;
            let candidates = match new_before.iter().find(is_new) {
                Some(&known) => {
                    new.push(known);
                    None
                }
                None => {
                    let before = repeating_before.iter().position(|known| known.frame == frame);
                    let found = match before.and_then(|at| repeating_before.swap_remove(at).candidates) {
                        Some(mut candidates) => {
                            n_compared += candidates.len() as u64;
                            candidates.narrow(values_of(stacks));
                            candidates
                        }
                        None => candidates(stacks, frame, distinct, &mut n_compared),
                    };
                    if found.is_empty() && values_of(stacks).n_values(frame.register) > 0 && new.len() < KNOWN_NEW_MAX {
                        new.push((frame, n_bytes));
                    }
                    Some(found).filter(|found| !found.is_empty())
                }
            };
            if candidates.is_some() || !other_repetitions(program, stacks, frame, distinct, n_bytes_max).is_empty() {
                repeating.push(Repeating { frame, candidates });
            }
            true
        });
        stacks.work.spend(n_compared);
        (self.repeating, self.known_new) = (repeating, new);
    }

    /// Returns which suffixes, of so many bytes at most, can make a difference in some of these places.
    fn danger(
        &mut self,
        program: &Program,
        stacks: &mut Stacks,
        live: &[Head],
        within: Within,
        n_bytes_max: usize,
    ) -> Danger {
        if !self.are_all_known {
            return Danger::ALL;
        }
        // Containers that begin within a suffix.
        let mut all = Danger::of_punctuation(match program.has_last_items(n_values_within(n_bytes_max)) {
            // There may be too few values for any array.
            true if program.has_last_items(0) => Punctuation::OPEN.or(Punctuation::OPEN_COMMA),
            true => Punctuation::OPEN_ITEM.or(Punctuation::OPEN_COMMA),
            false => Punctuation::OPEN_COMMA,
        });
        let are_held_keys_tried = self.are_held_keys_tried;
        let next_value = |frame: Head, distinct: Distinct, position: Position| {
            let is_key = distinct.equality == Equality::Bytes && !distinct.has_finite_domain();
            match is_key && are_held_keys_tried {
                true => Danger::NONE,
                false => next_value(program, stacks, frame, distinct, position, n_bytes_max),
            }
        };
        for head in live {
            if let Some(Owner::DistinctValues(distinct)) = program.owner(head.state) {
                all = all.or(next_value(*head, distinct, Position::Here));
            }
        }
        let mut n_compared = 0;
        let (repeating, n_bytes_before) = (core::mem::take(&mut self.repeating), self.before.n_bytes);
        // Values that may be repeated count however far down they are, which is known of those that began before; next values as far down as a
        // suffix can return.
        let n_deep_max = if repeating.is_empty() { n_bytes_max } else { usize::MAX };
        let are_few = self.visit(stacks, live, n_deep_max, STACK_NODES_MAX, |frame, n_deep| {
            let Some(info) = program.info(frame.state) else { return true };
            if let Kind::DistinctValue(distinct) = info.kind {
                let values = values_of(stacks);
                let repeated = match repeating.iter().find(|known| known.frame == frame) {
                    Some(Repeating { candidates, .. }) => {
                        Some(candidates.as_ref().map_or(ByteSet::EMPTY, |candidates| candidates.next_bytes(values)))
                    }
                    // A value that began before and could become no other one can't now.
                    None if frame.register >> 32 < u64::from(n_bytes_before) => None,
                    None => Some(candidates(stacks, frame, distinct, &mut n_compared).next_bytes(values)),
                };
                let of_value = repeated.map_or(ByteSet::EMPTY, |bytes| {
                    bytes | other_repetitions(program, stacks, frame, distinct, n_bytes_max)
                });
                all = all.or(
                    match of_value == ByteSet::ALL && within == Within::Nothing && ends_between_scalars(values) {
                        true => Danger::of_all_but_space(),
                        false => Danger::of_bytes(of_value),
                    },
                );
            }
            // Each frame takes a byte to leave.
            if let Some(Owner::DistinctValues(distinct)) = info.owner
                && n_deep < n_bytes_max
            {
                let positions: &[Position] = match (info.kind, within) {
                    (Kind::DistinctValue(_), _) => &[Position::BehindComma],
                    (_, Within::String | Within::Escape) => &[Position::BehindString],
                    (_, Within::Nothing) => &[Position::BehindSpace],
                    (_, Within::Unknown) => &[Position::BehindSpace, Position::BehindString],
                };
                for &position in positions {
                    all = all.or(next_value(frame, distinct, position));
                }
            }
            !all.is_all()
        });
        stacks.work.spend(n_compared + self.seen.len() as u64);
        self.repeating = repeating;
        if are_few { all } else { Danger::ALL }
    }

    /// Calls `test` with all frames on the stacks of some places, up to a depth, and with how many are above each; tells whether all pass, and there are not
    /// more than `n_nodes_max` nodes.
    fn visit(
        &mut self,
        stacks: &Stacks,
        live: &[Head],
        n_deep_max: usize,
        n_nodes_max: usize,
        mut test: impl FnMut(Head, usize) -> bool,
    ) -> bool {
        self.seen.clear();
        self.pending.clear();
        self.pending.extend(live.iter().map(|head| (head.node, 0)));
        // Breadth first, so that a node is met at its least depth.
        let mut at = 0;
        while let Some(&(node, n_deep)) = self.pending.get(at) {
            at += 1;
            if self.seen.contains(node) {
                continue;
            }
            if self.seen.len() >= n_nodes_max {
                return false;
            }
            self.seen.push(node);
            for frame in stacks.exits(node) {
                if !test(frame, n_deep) {
                    return false;
                }
                // Nodes that the suffix made are looked at however deep they are: values began there.
                if n_deep < n_deep_max || !self.before.has(frame.node) {
                    self.pending.push((frame.node, n_deep + 1));
                }
            }
        }
        true
    }
}

/// Returns the bytes that some head of a configuration reads.
fn bytes_read(program: &Program, live: &[Head]) -> ByteSet {
    live.iter().fold(ByteSet::EMPTY, |all, head| all | program.bytes(head.state))
}

fn values_of(stacks: &Stacks) -> &DistinctValues {
    stacks.values().expect("values are compared")
}

/// Tells whether white space that follows ends no number or word, in a JSON text that is not within a string.
fn ends_between_scalars(values: &DistinctValues) -> bool {
    values.bytes_backward().next().is_none_or(|last| b"{}[],:\" \t\n\r".contains(&last))
}

/// Returns the values before that the one under way in a frame may become; adds to `n_compared` how many there are.
fn candidates(stacks: &Stacks, frame: Head, distinct: Distinct, n_compared: &mut u64) -> Candidates {
    *n_compared += u64::from(values_of(stacks).n_values(frame.register));
    Candidates::of(values_of(stacks), frame.register, distinct.equality)
}

/// Tells whether the values of a frame's rule may have run out, or may do within a suffix of so many bytes at most.
fn may_be_exhausted(program: &Program, stacks: &Stacks, frame: Head, n_bytes_max: usize) -> bool {
    let n_values = || values_of(stacks).n_values(frame.register) as usize;
    program
        .may_be_exhausted_behind(frame.state)
        .is_some_and(|least| n_values().saturating_add(n_values_within(n_bytes_max)) >= least as usize)
}

/// Returns the bytes behind which the value under way in a frame may become a declared key, or any if it must be followed by another value of which none may be left.
fn other_repetitions(
    program: &Program,
    stacks: &Stacks,
    frame: Head,
    distinct: Distinct,
    n_bytes_max: usize,
) -> ByteSet {
    if may_be_exhausted(program, stacks, frame, n_bytes_max) {
        return ByteSet::ALL;
    }
    let declared = program.place(frame.state).and_then(|(linked, _)| linked.unit.declared_keys(distinct));
    let Some(keys) = declared else { return ByteSet::EMPTY };
    let (values, n_read) = (values_of(stacks), values_of(stacks).n_begun(frame.register) as usize);
    let found = values.declared_with_prefix(frame.register, keys);
    if found.len() > DECLARED_KEYS_MAX {
        return ByteSet::ALL;
    }
    found.filter_map(|index| keys.get(index).get(n_read).copied()).collect()
}

/// Where the next value of a container can begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Here,
    /// Behind white space, or behind a comma.
    BehindSpace,
    /// Behind the string that the text is in, and a comma.
    BehindString,
    /// Behind the value under way, and a comma.
    BehindComma,
}

/// Returns which suffixes may begin a value that is compared with those of a frame, or oblige one to follow.
fn next_value(
    program: &Program,
    stacks: &Stacks,
    frame: Head,
    distinct: Distinct,
    position: Position,
    n_bytes_max: usize,
) -> Danger {
    let may_have_to_close = may_be_exhausted(program, stacks, frame, n_bytes_max);
    let is_exhaustible = distinct.has_finite_domain() || may_have_to_close;
    let behind = Danger::of_punctuation;
    match (distinct.equality, position) {
        // A comma alone may oblige another value to follow.
        (_, Position::BehindComma | Position::BehindString) if may_have_to_close => behind(Punctuation::COMMA),
        (_, Position::BehindComma | Position::BehindString) if is_exhaustible => behind(Punctuation::COMMA_MORE),
        (Equality::Bytes, _) if may_have_to_close => behind(Punctuation::END),
        // A key begins with a quote.
        (Equality::Bytes, _) if is_exhaustible => behind(Punctuation::QUOTE),
        (Equality::Bytes, Position::BehindComma | Position::BehindString) => behind(Punctuation::COMMA_TWO_QUOTES),
        (Equality::Bytes, _) => behind(Punctuation::TWO_QUOTES),
        // What may be no value at all makes no difference.
        (Equality::Json, Position::Here | Position::BehindSpace) if is_exhaustible => Danger::of_all_but_space(),
        // Else a value must be there whole, in the suffix or, if there is one already, before its end.
        (Equality::Json, Position::BehindComma | Position::BehindString) => behind(Punctuation::COMMA_VALUE),
        (Equality::Json, Position::Here | Position::BehindSpace) => {
            let bytes = values_of(stacks).first_bytes(frame.register);
            Danger { punctuation: Punctuation::COMMA_VALUE, bytes, is_behind_space: !bytes.is_empty() }
        }
    }
}

//! Walking the token trie with a state.
//!
//! The trie is a preorder list, so a walk is one loop: step the configuration of the parent by the node's byte; if nothing is left,
//! jump behind the subtree, otherwise note the tokens that end here and go on to the next node, which is the first child. The
//! configurations of the ancestors are kept on a stack; nearly always they are one head, and a step is one table look-up.
//!
//! Below a state that loops on many characters that would visit most of the trie. There the walk takes the *region* of the
//! loop's characters from the vocabulary ([`region_walk`](super::region_walk)). What a configuration allows is the union of what its heads allow, so each head is taken by itself.

use super::callee::{Callee, callee};
use super::remainder::{Remainder, ResumePoint};
use super::subwalk;
use super::switches::ShortCut;
use super::walk_context::WalkContext;
use super::walker::{Level, NODES_PER_WORK, Strategy, Walker};
use crate::automaton::{BELOW, Program, StateId};
use crate::exec::{BOTTOM, Head, PlainStep, StacksMark, plain_step, step_byte};
use crate::util::ByteSet;
use crate::vocab::TrieNode;
use smallvec::SmallVec;

/// What else a walk takes that visits a node with several heads, or with a move that changes stacks.
const WORK_PER_SLOW_STEP: u64 = 8;
const WORK_PER_HEAD: u64 = 4;
/// What beginning to walk at a place takes.
const WORK_PER_WALK: u64 = 4;

impl Walker {
    /// Walks on at a remainder, beginning in `state` with an unknown caller; adds to what was found.
    pub(super) fn walk_from(&mut self, context: WalkContext<'_>, remainder: &Remainder, state: StateId, register: u64) {
        self.start(context, state);
        self.after(context, remainder, Head { state, node: BOTTOM, register });
    }

    /// Walks on with `head` at a remainder.
    pub(super) fn after(&mut self, context: WalkContext<'_>, remainder: &Remainder, head: Head) {
        if self.is_spent() {
            return;
        }
        let before = self.found.mark();
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
            let after = self.found.mark();
            self.found.refuse(excluded, before, after);
            self.found.exclude(excluded, before, after);
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
                Strategy::Region(found) => return self.below_region(context, from, head, found),
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
        if !context.is_whole() || context.n_nodes_below(node) < subwalk::NODES_MIN.get() {
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
    pub(super) fn below(&mut self, context: WalkContext<'_>, from: TrieNode) {
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
            match plain_step(&linked.unit, local, level.head.register, trie.byte(node)) {
                PlainStep::Nowhere => return false,
                PlainStep::To(state, register) => {
                    self.levels.truncate(depth + 1);
                    self.levels
                        .push(Level { head: Head { state: linked.own(state), register, ..level.head }, ..level });
                    self.found.tokens.extend_from_slice(trie.tokens(node));
                    return true;
                }
                PlainStep::Other => {}
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

#[cfg(test)]
mod tests {
    use crate::{GrammarCompiler, Vocab};
    use std::sync::Arc;

    /// Compares masks behind texts with trying each token, over single bytes and some more tokens.
    fn compare(grammar: &str, more: impl IntoIterator<Item = Vec<u8>>, texts: &[&str]) {
        let tokens = (0..=255u8).map(|byte| vec![byte]).chain(more);
        let vocab = Arc::new(Vocab::from_tokens(tokens).unwrap());
        let compiled = GrammarCompiler::new(vocab).compile_ebnf(grammar).unwrap();
        for text in texts {
            let mut matcher = compiled.matcher();
            matcher.accept_bytes(text.as_bytes()).unwrap();
            let mask = matcher.mask().unwrap();
            let ids = 0..compiled.vocab().n_tokens() as u32;
            let wrong = ids.into_iter().find(|&id| mask.contains(id) != matcher.is_token_allowed(id));
            let wrong = wrong.map(|id| String::from_utf8_lossy(compiled.vocab().bytes(id)).into_owned());
            assert_eq!(wrong, None, "{grammar}, behind {text:?}");
        }
    }

    #[test]
    fn what_is_counted_ends_no_earlier_and_no_later_than_it_may() {
        let mut words: Vec<Vec<u8>> = vec![vec![]];
        for n in 0..4 {
            let longer = words.iter().filter(|word| word.len() == n);
            words.extend(longer.flat_map(|word| b"abc".map(|byte| [&word[..], &[byte]].concat())).collect::<Vec<_>>());
        }
        let more = words.iter().flat_map(|word| [word.clone(), [&word[..], b"!"].concat()]);
        let more: Vec<Vec<u8>> = more.filter(|word| word.len() > 1).collect();
        for count in ["{3,5}", "{3,500}", "{2,}", "{0,4}", "{1,70}"] {
            let grammar = format!(r#"root ::= name "!"  name ::= [a-z]{count} | "<" name ">" "#);
            compare(&grammar, more.clone(), &["", "a", "ab", "abca", "<", "<b"]);
        }
    }

    #[test]
    fn a_model_that_reads_more_is_not_taken_for_the_same() {
        // Behind `z` the state and its model have several heads, and two of the state's go on by the move of one of the model's; another one of the model's goes on, too.
        let grammar = r#"
            root ::= ([X5]{1,6} | name [^<!\n] [a-z0-9_,.]* [a-z] [a-z0-9_,.]*) "\n"
            name ::= [a-zA-Z_ ]* | "<" name ">"
        "#;
        compare(grammar, [b"z.\n".to_vec()], &[""]);
    }

    #[test]
    fn what_only_the_model_reads_is_not_taken_from_what_only_the_state_reads() {
        // Behind a space both read on, the state and its model; behind ` (` a subwalk has what the state reads, and all that the model reads there is refused.
        let letters = || (b'a'..=b'p').map(|letter| vec![letter]);
        let pairs = letters().flat_map(|first| letters().map(move |second| [&first[..], &second].concat()));
        let tokens = letters().chain(pairs).map(|text| [b" (", &text[..]].concat());
        let grammar = r#"
            root ::= r "\n"
            r ::= " " ([a-zA-Z0-9_] [a-zA-Z0-9_(]* | str "?") | "<" r ">"
            str ::= "(" [a-z]* "!" | "<" str ">"
        "#;
        compare(grammar, tokens, &["", "<", "< ", " ", " a", " ("]);
    }

    #[test]
    fn what_a_caller_does_not_decide_on_stays_out_where_a_subwalk_is_shared() {
        const SIGNS: &[u8] = b"!#$%&*+-/:;=?@^|~";
        let mut tokens: Vec<Vec<u8>> = Vec::new();
        for &first in SIGNS {
            tokens.push([b"zz(+", &[first][..]].concat());
            tokens.extend(SIGNS.iter().map(|&second| [b"zz(+", &[first, second][..]].concat()));
        }
        // Behind a `y` a word is read like a loop over letters, which may end behind `zz`.
        let grammar = r#"
            root ::= name "(" signs ")"
            name ::= ([a-zA-Z]+ - "yzz") | "<" name ">"
            signs ::= [!#$%&*+\-/:;=?@^|~]+ | "[" signs "]"
        "#;
        compare(grammar, tokens, &["", "<", "z", "y"]);
    }
}

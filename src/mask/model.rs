//! States that read nearly as a loop does.
//!
//! A name begins with a letter and goes on with letters and digits; before an identifier a keyword may stand. Nearly every letter leads into
//! a loop; only along some others, a few hundred trie nodes, something else can follow. Walked letter by letter, such a state visits 20,000 nodes
//! and adds 90,000 tokens one at a time, and each place inside a keyword does so again.
//!
//! So the loops that most letters lead to (one, or two where two rules go on alike) are taken as the state's *model*: what
//! the model allows is found by regions, and then the trie is walked with both, state and model, only where they differ. There tokens
//! and remainders are added and taken away. Where both have come to the same configuration, nothing below can differ.

use super::loops::{Form, Loop};
use super::remainder::sorted;
use super::switches::ShortCut;
use super::walk_context::WalkContext;
use super::walker::{ModelPath, ProductWalk, Strategy, Twin, Walker};
use crate::automaton::{BELOW, Kind, PackedMove, Program, StateId};
use crate::exec::{Head, PlainStep, StackNodeId, Stacks, plain_step, step_byte};
use crate::util::ByteSet;
use crate::vocab::TrieNode;
use smallvec::SmallVec;

/// Bytes by which a state is asked for its model, and how many of them must lead there.
const SAMPLE: &[u8] = b"eaqnzXT_5";
const SAMPLE_MIN: usize = 5;

/// Most tokens that may have to be taken away from what a model allows.
const TAKEN_AWAY_MAX: usize = 2048;

impl Walker {
    /// Returns how to find the model of a state, if it has one.
    pub(super) fn model_path(&mut self, program: &Program, head: Head) -> Option<ModelPath> {
        let (linked, local) = program.place(head.state).filter(|_| ShortCut::Models.is_on())?;
        let reads = |byte: &&u8| linked.unit.code(local, **byte) != PackedMove::NONE;
        if SAMPLE.iter().filter(reads).count() < SAMPLE_MIN || self.loops.has_no_model(program, head.state) {
            return None;
        }
        let mark = self.stacks.mark();
        let mut found: SmallVec<[(Head, u8, usize); 8]> = SmallVec::new();
        let mut next = core::mem::take(&mut self.next);
        for &byte in SAMPLE {
            step_byte(program, &mut self.stacks, &[head], byte, &mut next);
            for &head in &next {
                let is_loop = |found: Loop| match found.form {
                    Form::Endless => true,
                    Form::ScanCluster(_) => false,
                    Form::Counted | Form::Chain(_) => before(program, head).is_some(),
                };
                if !self.loops.get(program, head.state).is_some_and(is_loop) {
                    continue;
                }
                let is_known = |(known, ..): &&mut (Head, u8, usize)| is_same(&self.stacks, *known, head, STACK_DEPTH);
                match found.iter_mut().find(is_known) {
                    Some((_, last, n)) => (*last, *n) = (byte, *n + 1),
                    None => found.push((head, byte, 1)),
                }
            }
        }
        self.next = next;
        self.stacks.truncate(mark);
        // Those that a byte leads to together, and are each found often.
        let &(_, byte, _) = found.iter().filter(|(.., n)| *n >= SAMPLE_MIN).max_by_key(|(.., n)| *n)?;
        let is_often = |(_, last, n): &&(Head, u8, usize)| *last == byte && *n >= SAMPLE_MIN;
        let mut states: SmallVec<[StateId; 2]> = found.iter().filter(is_often).map(|(head, ..)| head.state).collect();
        states.sort_unstable();
        states.dedup();
        (!states.contains(&head.state)).then_some(ModelPath { byte, states })
    }

    /// Tells whether a byte leads a head to its model or nowhere.
    pub(super) fn is_like_by(&mut self, program: &Program, head: Head, path: &ModelPath, byte: u8) -> bool {
        let mark = self.stacks.mark();
        let mut next = core::mem::take(&mut self.next);
        step_byte(program, &mut self.stacks, &[head], byte, &mut next);
        let is_like = next.iter().all(|head| path.states.contains(&head.state));
        self.next = next;
        self.stacks.truncate(mark);
        is_like
    }

    /// Walks the tokens below the trie node `from` with a head that has a model; or says no, and leaves everything as it was, if the two
    /// turn out to differ too much.
    pub(super) fn walk_diff(&mut self, context: WalkContext<'_>, from: TrieNode, head: Head, path: &ModelPath) -> bool {
        let mut next = core::mem::take(&mut self.next);
        step_byte(context.program, &mut self.stacks, &[head], path.byte, &mut next);
        // A loop before the byte is the loop after it, with one character less if it counts them.
        let of_state = |&state: &StateId| {
            let after = *next.iter().find(|head| head.state == state)?;
            Some(before(context.program, after).unwrap_or(after))
        };
        let model: Option<SmallVec<[Head; 2]>> = path.states.iter().map(of_state).collect();
        self.next = next;
        // The byte led there when the path was found; now the budget is spent, and the call will fail.
        let Some(model) = model else { return false };
        let before = self.found.mark();
        let mut products = core::mem::take(&mut self.products);
        products.apart = self.apart(context.program, head, &model);
        for &head in &model {
            match self.strategy(context.program, head) {
                Strategy::Region(Loop { alphabet, form: Form::Endless }) => {
                    let region = context.vocab.region(alphabet, from);
                    self.below_loop(context.deeper(), &region, head, alphabet, products.apart);
                }
                _ => self.below_head(context.deeper(), from, head),
            }
        }
        // Behind here comes what only the state reads.
        let of_model = self.found.mark();
        if !self.differ(context, from, head, &model, &mut products) {
            self.products = products;
            self.found.truncate(before);
            return false;
        }
        if !products.refused.is_empty() {
            products.refused.sort_unstable();
            self.found.refuse(&products.refused, before, of_model);
        }
        if !products.excluded.is_empty() {
            let excluded = core::mem::take(&mut products.excluded);
            self.found.exclude(&sorted(excluded), before, of_model);
        }
        self.products = products;
        true
    }

    /// Returns the bytes that are no characters of the model's loops and lead elsewhere from it than from the head. Nothing where another
    /// loop has its part in the model.
    fn apart(&mut self, program: &Program, head: Head, model: &[Head]) -> ByteSet {
        let mut bytes = ByteSet::EMPTY;
        let mut characters = ByteSet::EMPTY;
        for &head in model {
            let Strategy::Region(Loop { alphabet, form: Form::Endless }) = self.strategy(program, head) else {
                return ByteSet::EMPTY;
            };
            bytes |= program.bytes(head.state);
            characters |= alphabet.first_bytes();
        }
        let (mut own, mut other) = (Vec::new(), Vec::new());
        let is_apart = |&byte: &u8| {
            let mark = self.stacks.mark();
            step_byte(program, &mut self.stacks, &[head], byte, &mut own);
            step_byte(program, &mut self.stacks, model, byte, &mut other);
            let is_apart = !are_same(&self.stacks, &own, &other);
            self.stacks.truncate(mark);
            is_apart
        };
        (bytes & !characters).iter().filter(is_apart).collect()
    }

    /// Walks below `from` with a head and its model where they differ: adds what only the head allows to what was found, and notes what
    /// only the model allows; gives up if that is too much.
    fn differ(
        &mut self,
        context: WalkContext<'_>,
        from: TrieNode,
        head: Head,
        model: &[Head],
        products: &mut ProductWalk,
    ) -> bool {
        let WalkContext { trie, .. } = context;
        products.levels.clear();
        products.heads.clear();
        products.refused.clear();
        products.excluded.clear();
        products.heads.push(head);
        products.heads.extend_from_slice(model);
        let last = products.heads.len() as u32;
        products.levels.push(Twin { first: 0, middle: 1, last, mark: self.stacks.mark(), ended: None });
        let depth_base = usize::from(trie.depth(from)) + 1;
        // Most bytes lead to the same; a list of the children is looked through faster than the children.
        let mut children: SmallVec<[(u8, TrieNode); 16]> = SmallVec::new();
        let listed = trie.wide_children(from).unwrap_or_else(|| {
            children.extend(trie.children(from).map(|child| (trie.byte(child), child)));
            &children
        });
        for &(byte, child) in listed {
            if !products.apart.contains(byte)
                && is_alike_at_a_glance(context.program, &self.stacks, &[head], model, byte)
            {
                continue;
            }
            let end = trie.subtree_end(child);
            let mut node = child;
            while node < end && !self.is_spent() {
                let depth = usize::from(trie.depth(node)) - depth_base;
                self.found.n_nodes += 1;
                self.stacks.work.spend(8);
                let goes_on = self.step_twins(context, node, depth, products);
                node = if goes_on { node.next() } else { trie.subtree_end(node) };
                if products.excluded.len() + products.refused.len() > TAKEN_AWAY_MAX {
                    return false;
                }
            }
        }
        true
    }

    /// Steps both by the byte of `node`, notes what differs, and pushes the next level; tells whether anything below can differ.
    fn step_twins(
        &mut self,
        context: WalkContext<'_>,
        node: TrieNode,
        depth: usize,
        products: &mut ProductWalk,
    ) -> bool {
        let WalkContext { program, trie, .. } = context;
        let (twin, byte) = (products.levels[depth], trie.byte(node));
        let (own, model) =
            products.heads[twin.first as usize..twin.last as usize].split_at((twin.middle - twin.first) as usize);
        let is_apart = depth == 0 && products.apart.contains(byte);
        if let (&[own], &[model], false) = (own, model, is_apart)
            && let (Some(own), Some(model)) = (plainly(program, own, byte), plainly(program, model, byte))
        {
            // Nearly all nodes: both read on, and nothing ends.
            let goes_on = trie.has_children(node) && !is_same(&self.stacks, own, model, STACK_DEPTH);
            if goes_on {
                products.levels.truncate(depth + 1);
                products.heads.truncate(twin.last as usize);
                products.heads.extend([own, model]);
                let (first, middle, last) = (twin.last, twin.last + 1, twin.last + 2);
                products.levels.push(Twin { first, middle, last, mark: twin.mark, ended: None });
            }
            return goes_on;
        }
        // On the first level that was seen before.
        if depth > 0 && is_alike_at_a_glance(program, &self.stacks, own, model, byte) {
            return false;
        }
        self.stacks.truncate(twin.mark);
        step_byte(program, &mut self.stacks, own, byte, &mut products.own);
        step_byte(program, &mut self.stacks, if is_apart { &[] } else { model }, byte, &mut products.model);
        if are_same(&self.stacks, &products.own, &products.model) {
            return false;
        }
        match (products.own.is_empty(), products.model.is_empty()) {
            (true, false) => products.refused.extend_from_slice(trie.tokens(node)),
            (false, true) => self.found.tokens.extend_from_slice(trie.tokens(node)),
            _ => {}
        }
        if !trie.has_children(node) {
            return false;
        }
        let ends = |heads: &[Head]| heads.iter().any(|head| head.state == BELOW);
        let (own_ends, model_ends) = (ends(&products.own), ends(&products.model));
        products.own.retain(|head| program.place(head.state).is_some());
        products.model.retain(|head| program.place(head.state).is_some());
        match (own_ends, model_ends) {
            (true, false) => self.found.remainders.push(context.remainder(node)),
            (false, true) => {
                products.excluded.extend_from_slice(&trie.subtree_tokens(node)[trie.tokens(node).len()..]);
                // The tokens below are taken from all remainders of the model, so the state's own places to end, above and below, are noted apart.
                for above in &mut products.levels[..=depth] {
                    self.found.remainders.extend(above.ended.take().map(|node| context.remainder(node)));
                }
                if !products.own.is_empty() {
                    self.walk_own(context, node, products);
                    products.own.clear();
                }
            }
            _ => {}
        }
        if are_same(&self.stacks, &products.own, &products.model) {
            return false;
        }
        if products.model.is_empty() {
            self.walk_own(context, node, products);
            return false;
        }
        products.levels.truncate(depth + 1);
        products.heads.truncate(twin.last as usize);
        let first = twin.last;
        let middle = first + products.own.len() as u32;
        let last = middle + products.model.len() as u32;
        products.heads.extend_from_slice(&products.own);
        products.heads.extend_from_slice(&products.model);
        let ended = (own_ends && model_ends).then_some(node);
        products.levels.push(Twin { first, middle, last, mark: self.stacks.mark(), ended });
        true
    }

    /// Walks below `node` with what the state made of it, without the model.
    fn walk_own(&mut self, context: WalkContext<'_>, node: TrieNode, products: &ProductWalk) {
        let n_levels = self.levels.len();
        self.push_heads(&products.own);
        self.descend(context, node);
        self.levels.truncate(n_levels);
    }
}

/// Returns the head that a byte leads to, if nothing but its state and what it counts change.
fn plainly(program: &Program, head: Head, byte: u8) -> Option<Head> {
    let (linked, local) = program.place(head.state)?;
    match plain_step(&linked.unit, local, head.register, byte) {
        PlainStep::To(state, register) => Some(Head { state: linked.own(state), register, ..head }),
        PlainStep::Nowhere | PlainStep::Other => None,
    }
}

/// Returns the state of a loop that counts characters before the one character that it has counted.
fn before(program: &Program, head: Head) -> Option<Head> {
    let (linked, local) = program.place(head.state)?;
    let counts = matches!(linked.unit.info(local).kind, Kind::Loop { .. } | Kind::RegisterRule { .. });
    let is_first = counts && linked.unit.advance(local, 0) == Some(head.register);
    is_first.then_some(Head { register: 0, ..head })
}

/// Tells whether a byte leads to the same, as far as the move tables show it.
fn is_alike_at_a_glance(program: &Program, stacks: &Stacks, own: &[Head], model: &[Head], byte: u8) -> bool {
    let code_of = |head: Head| {
        let (linked, local) = program.place(head.state)?;
        Some((linked, linked.unit.code(local, byte)))
    };
    // Each that goes on must do so on both sides, by the same move of the same unit over the same stack.
    let is_met = |head: Head, others: &[Head]| {
        let Some((linked, code)) = code_of(head) else { return false };
        let is_it = |other: Head| {
            code_of(other).is_some_and(|(other_linked, other_code)| {
                core::ptr::eq(linked, other_linked)
                    && code == other_code
                    && head.register == other.register
                    && is_same_stack(stacks, head.node, other.node, STACK_DEPTH)
            })
        };
        code == PackedMove::NONE || others.iter().any(|&other| is_it(other))
    };
    own.iter().all(|&head| is_met(head, model)) && model.iter().all(|&head| is_met(head, own))
}

/// How far down stacks are compared; deeper ones count as different.
const STACK_DEPTH: usize = 4;

fn are_same(stacks: &Stacks, a: &[Head], b: &[Head]) -> bool {
    a.len() == b.len() && a.iter().all(|&head| b.iter().any(|&other| is_same(stacks, head, other, STACK_DEPTH)))
}

fn is_same(stacks: &Stacks, a: Head, b: Head, depth: usize) -> bool {
    a.state == b.state && a.register == b.register && is_same_stack(stacks, a.node, b.node, depth)
}

/// Tells whether two nodes have the same content.
fn is_same_stack(stacks: &Stacks, a: StackNodeId, b: StackNodeId, depth: usize) -> bool {
    a == b
        || depth > 0
            && stacks.n_exits(a) == stacks.n_exits(b)
            && (0..stacks.n_exits(a))
                .all(|index| is_same(stacks, stacks.exit(a, index), stacks.exit(b, index), depth - 1))
}

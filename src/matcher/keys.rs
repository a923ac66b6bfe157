//! Masks where only the keys of objects must differ, and can't be exhausted: nearly all schemas.
//!
//! As in [`super::recheck`], which serves all grammars, the cached mask is right but for the tokens that repeat a key. Here the text is in one place, and so are the objects
//! around it, one within the other, and the tokens that can repeat a key are known without a walk:
//! - tokens that begin with the suffix of a key whose prefix was read: all of them are refused;
//! - tokens that end the key under way and hold it once more: hardly any, and those are tried;
//! - tokens that hold a key of an object around the text whole, between two quotes: few, the same ones until a key ends, and tried.

use super::Matcher;
use super::known::{ObjectKey, ObjectSlot};
use super::recheck::clear;
use crate::automaton::{Kind, Owner};
use crate::exec::{OverBudget, Pair};
use crate::vocab::TokenId;
use smallvec::SmallVec;
use std::sync::Arc;

/// Several ways lead down the stacks.
struct ManyWays;

/// Where the text is.
struct Around {
    /// The frame of a key under way.
    key: Option<Pair>,
    /// The object, between its values or in the frame of one.
    object: Option<Pair>,
}

impl Matcher {
    /// Makes `row` the mask of what may follow, and tells whether that is none; nothing if the grammar or the place is none of the usual ones.
    pub(super) fn fill_with_keys(&mut self, row: &mut [u32]) -> Option<Result<bool, OverBudget>> {
        let &[pair] = &self.live[..] else { return None };
        if self.grammar.program().may_run_out() {
            return None;
        }
        if let Some(is_empty) = self.fill_settled(row) {
            return Some(Ok(is_empty));
        }
        let Around { key, object } = self.around(pair).ok()?;
        let slot = match object {
            None => None,
            Some(frame) => Some(self.object_slot(frame).ok()?),
        };
        let is_empty = match self.fill_live(row) {
            Ok(is_empty) => is_empty,
            Err(OverBudget) => return Some(Err(OverBudget)),
        };
        let mut n_cleared = 0;
        if let Some(frame) = key {
            self.clear_key_suffixes(row, frame, &mut n_cleared);
            let vocab = Arc::clone(self.grammar.vocab());
            let n_bytes = self.elements().n_begun(frame.register) as usize;
            let prefix = || self.elements().begun_key(frame.register)[1..].to_vec();
            let tokens = if n_bytes > 0 { vocab.quoted_strings().ending_and_holding(n_bytes - 1, prefix) } else { &[] };
            self.clear_refused(row, tokens, |_| n_cleared += 1);
        }
        let mut refused = self.scratch.known.take_refused();
        match slot {
            None => {
                let vocab = Arc::clone(self.grammar.vocab());
                self.clear_refused(row, vocab.quoted_strings().holding_twice(), |token| refused.push(token));
            }
            Some(slot) => {
                let tokens = core::mem::take(self.scratch.known.tokens_mut(slot));
                self.clear_refused(row, &tokens, |token| refused.push(token));
                *self.scratch.known.tokens_mut(slot) = tokens;
            }
        }
        if self.stacks.work.is_spent() {
            return Some(Err(OverBudget));
        }
        n_cleared += refused.len();
        let is_empty = is_empty || n_cleared > 0 && row.iter().all(|&word| word == 0);
        // Of a key under way more and more is known, though the pair may stay the same.
        self.scratch.known.settle(refused, key.is_none().then_some(is_empty));
        Some(Ok(is_empty))
    }

    /// Goes down the stacks to the next object around a place.
    fn around(&self, pair: Pair) -> Result<Around, ManyWays> {
        let program = self.grammar.program();
        let (mut frame, mut key) = (pair, None);
        // Each frame takes a byte to leave, and a token can't leave more.
        for _ in 0..=self.grammar.vocab().token_bytes_max() {
            let Some(info) = program.info(frame.state) else { break };
            // Right behind a key the place itself is what its call returned to, and the key is not under way any more.
            if let (Kind::Element(_), true) = (info.kind, frame != pair) {
                key = Some(frame);
            }
            if let Some(Owner::Elements(_)) = info.owner {
                return Ok(Around { key, object: Some(frame) });
            }
            if self.stacks.n_exits(frame.node) != 1 {
                return Err(ManyWays);
            }
            frame = self.stacks.exit(frame.node, 0);
        }
        Ok(Around { key, object: None })
    }

    /// Returns where the tokens are that may repeat a key of an object or of those around it.
    fn object_slot(&mut self, frame: Pair) -> Result<ObjectSlot, ManyWays> {
        let unit = self.grammar.program().unit_index(frame.state) as u32;
        let key = ObjectKey { unit, set: frame.register as u32, node: frame.node };
        match self.scratch.known.find_object(key) {
            Some(slot) => Ok(slot),
            None => {
                let mut tokens = self.scratch.known.take_oldest_tokens();
                self.object_tokens(frame, &mut tokens)?;
                Ok(self.scratch.known.add_object(key, tokens))
            }
        }
    }

    /// Makes `tokens` those that may repeat a key of an object or of those around it.
    fn object_tokens(&self, object: Pair, tokens: &mut Vec<TokenId>) -> Result<(), ManyWays> {
        let strings = self.grammar.vocab().quoted_strings();
        tokens.clear();
        tokens.extend_from_slice(strings.holding_twice());
        let mut next = Some(object);
        for _ in 0..=strings.n_closed_before_quote_max() {
            let Some(frame) = next else { break };
            for list in self.grammar.declared_key_tokens(self.grammar.program().unit_index(frame.state)) {
                tokens.extend_from_slice(&list.holding);
            }
            self.elements().for_each_held(frame.register, |key| {
                // Behind the opening quote.
                let string: SmallVec<[u8; 64]> = self.elements().bytes(key).skip(1).collect();
                tokens.extend_from_slice(strings.holding(&string));
            });
            if self.stacks.n_exits(frame.node) != 1 {
                return Err(ManyWays);
            }
            next = self.around(self.stacks.exit(frame.node, 0))?.object;
        }
        tokens.sort_unstable();
        tokens.dedup();
        Ok(())
    }

    /// Clears the tokens that begin with the suffix of a key which is there already, or declared.
    fn clear_key_suffixes(&self, row: &mut [u32], frame: Pair, n_cleared: &mut usize) {
        let vocab = self.grammar.vocab();
        self.elements().for_each_rest(frame.register, |rest| {
            *n_cleared += 1;
            let suffix: SmallVec<[u8; 64]> = self.elements().bytes(rest).collect();
            if *suffix == *b"\"" {
                vocab.quoted_strings().clear_beginning_with_quote(row);
            } else if let Some(node) = vocab.trie().find(&suffix) {
                clear(row, vocab.trie().subtree_tokens(node));
            }
        });
        self.clear_declared_suffixes(row, frame, n_cleared);
    }

    /// Clears the tokens that begin with the suffix of a declared key whose prefix was read.
    fn clear_declared_suffixes(&self, row: &mut [u32], frame: Pair, n_cleared: &mut usize) {
        let program = self.grammar.program();
        let Some((linked, local)) = program.place(frame.state) else { return };
        let Kind::Element(distinct) = linked.unit.info(local).kind else { return };
        let Some((list, keys)) = distinct.declared_keys.zip(linked.unit.declared_keys(distinct)) else { return };
        let found = self.elements().begun_reserved(frame.register, keys);
        if found.is_empty() {
            return;
        }
        *n_cleared += 1;
        let (vocab, n_read) = (self.grammar.vocab(), self.elements().n_begun(frame.register) as usize);
        if n_read == 1 {
            // PERF: right behind the quote all keys are left, and the same tokens each time.
            let of_unit = self.grammar.declared_key_tokens(program.unit_index(frame.state));
            return clear(row, of_unit[list as usize].beginning(keys, vocab));
        }
        // Keys with a common prefix go down the trie together, as long as there are tokens.
        let trie = vocab.trie();
        let mut pending: SmallVec<[(u32, usize, usize, usize); 8]> = SmallVec::new();
        pending.push((0, found.start, found.end, n_read));
        while let Some((node, mut first, last, n_bytes)) = pending.pop() {
            if keys.get(first).len() == n_bytes {
                match n_bytes == n_read + 1 {
                    true => vocab.quoted_strings().clear_beginning_with_quote(row),
                    false => clear(row, trie.subtree_tokens(node)),
                }
                first += 1;
            }
            while first < last {
                let byte = keys.get(first)[n_bytes];
                let end = keys.partition_point(first..last, |key| key[n_bytes] == byte);
                pending.extend(trie.child(node, byte).map(|child| (child, first, end, n_bytes + 1)));
                first = end;
            }
        }
    }
}

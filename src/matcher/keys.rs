//! Masks where keys of objects are all that must be different, and an object never runs out of them: nearly all grammars.
//!
//! As in [`super::elements`], which is for all grammars, the kept mask is right but for the tokens that complete a key which is there already.
//! Here the text is in one place, and so are the objects around it, one within the other. A token can repeat
//! - a key by going on with the one under way: all tokens that begin with what is left of a key which begins alike are out;
//! - the key under way, by ending it and holding it once more: hardly a token does, and those are tried;
//! - a key of an object around the text, whole, between two quotes of its own: those tokens are few, the same until a key ends, and tried.

use super::Matcher;
use super::elements::{ReservedRests, clear, reserved_tokens};
use super::known::{ObjectKey, ObjectSlot};
use crate::automaton::{Kind, Owner};
use crate::exec::{OverBudget, Pair};
use crate::mask::ElementTokens;
use crate::vocab::TokenId;
use smallvec::SmallVec;

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
    pub(super) fn fill_with_keys(&mut self, row: &mut [u32], kept: &ElementTokens) -> Option<Result<bool, OverBudget>> {
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
            Some(frame) => Some(self.object_slot(frame, kept).ok()?),
        };
        let is_empty = match self.fill_live(row) {
            Ok(is_empty) => is_empty,
            Err(OverBudget) => return Some(Err(OverBudget)),
        };
        let mut n_cleared = 0;
        if let Some(frame) = key {
            self.clear_key_rests(row, frame, kept, &mut n_cleared);
            self.clear_refused(row, self.tokens_ending_twice(frame, kept), &mut n_cleared);
        }
        let mut refused = self.scratch.known.take_refused();
        match slot {
            None => self.clear_each_refused(row, &kept.twice, |token| refused.push(token)),
            Some(slot) => {
                let tokens = core::mem::take(self.scratch.known.tokens_mut(slot));
                self.clear_each_refused(row, &tokens, |token| refused.push(token));
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
    fn object_slot(&mut self, frame: Pair, kept: &ElementTokens) -> Result<ObjectSlot, ManyWays> {
        let unit = self.grammar.program().unit_index(frame.state) as u32;
        let key = ObjectKey { unit, set: frame.register as u32, node: frame.node };
        match self.scratch.known.find_object(key) {
            Some(slot) => Ok(slot),
            None => {
                let mut tokens = self.scratch.known.take_oldest_tokens();
                self.object_tokens(frame, kept, &mut tokens)?;
                Ok(self.scratch.known.add_object(key, tokens))
            }
        }
    }

    /// Makes `tokens` those that may repeat a key of an object or of those around it.
    fn object_tokens(&self, object: Pair, kept: &ElementTokens, tokens: &mut Vec<TokenId>) -> Result<(), ManyWays> {
        tokens.clear();
        tokens.extend_from_slice(&kept.twice);
        let mut next = Some(object);
        // No token closes more objects before a key.
        for _ in 0..=kept.closed_before_key_max {
            let Some(frame) = next else { break };
            let unit = self.grammar.program().unit_index(frame.state) as u32;
            let reserved = reserved_tokens(&self.grammar, unit, kept);
            reserved.iter().for_each(|of_list| tokens.extend_from_slice(&of_list.holding));
            self.elements().for_each_held(frame.register, |key| {
                // Behind the opening quote.
                let rest: SmallVec<[u8; 64]> = self.elements().bytes(key).skip(1).collect();
                tokens.extend(kept.by_key.get(&*rest).into_iter().flatten());
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

    /// Clears the tokens that go on with what is left of a key that is there already.
    fn clear_key_rests(&mut self, row: &mut [u32], frame: Pair, kept: &ElementTokens, n_cleared: &mut usize) {
        let trie = self.grammar.vocab().trie();
        self.elements().for_each_rest(frame.register, |rest| {
            *n_cleared += 1;
            let rest: SmallVec<[u8; 64]> = self.elements().bytes(rest).collect();
            if *rest == *b"\"" {
                kept.clear_quotes(row);
            } else if let Some(node) = trie.find(&rest) {
                clear(row, trie.subtree_tokens(node));
            }
        });
        let reserved = ReservedRests::of(self.grammar.program(), self.elements(), frame);
        self.with_reserved_rests(reserved.as_slice(), kept, |_, tokens, is_quote| {
            *n_cleared += 1;
            match is_quote {
                true => kept.clear_quotes(row),
                false => clear(row, tokens),
            }
        });
    }
}

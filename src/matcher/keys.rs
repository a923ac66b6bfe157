//! Masks where only the keys of objects must differ: nearly all schemas.
//!
//! As in [`super::recheck`], which serves all grammars, the cached mask is right but for the tokens that repeat a key. Here the text is in few places, each with objects
//! around it, one within the other, and the tokens that can repeat a key are known without a walk:
//! - tokens that begin with the suffix of a key whose prefix was read: all of them are refused;
//! - tokens that end the key under way and hold it once more: hardly any, and those are tried;
//! - tokens that hold a key of an object around the text whole, between two quotes: few, the same ones until a key ends, and tried;
//! - tokens that begin an object and hold a key of it, which may be declared: hardly any, and tried.
//!
//! Keys of limited length, such as `^[a-z]{1,64}$`, could all be taken: not the first few of them, but those that begin with a prefix that few keys have
//! ([`Distinct::scarce_after`](crate::machine::Distinct::scarce_after)). Such a prefix must be one of a key that is there already, so that tokens that go on towards one of these
//! are tried, and tokens that hold that much of a key.

use super::Matcher;
use super::danger::{height, n_values_within};
use super::memo::{ObjectKey, ObjectSlot};
use crate::automaton::{Kind, Owner, StateId};
use crate::exec::{BOTTOM, Head, OverBudget};
use crate::machine::{Equality, SCARCE};
use crate::mask::{add, fill};
use crate::util::bit_row;
use crate::vocab::{Punctuation, QuotedStrings, TokenId, TrieNode};
use smallvec::SmallVec;
use std::sync::Arc;

/// Most places where the text can be.
const PLACES_MAX: usize = 4;
/// Most frames to look at on the way down.
const FRAMES_MAX: usize = 1024;

/// What is around the text, in all places where it can be.
struct Surroundings {
    places: Places,
    /// The frame of the key under way.
    key: Option<Head>,
    /// The places within the key, and those that are in none.
    within: SmallVec<[Head; 2]>,
    beside: SmallVec<[Head; 2]>,
}

/// What is around each of the places where the text can be.
type Places = SmallVec<[Around; PLACES_MAX]>;

/// What is around a place.
#[derive(Clone, Copy)]
struct Around {
    /// The frame of a key under way.
    key: Option<Head>,
    /// The object, between its values or in the frame of one.
    object: Option<Head>,
}

impl Matcher {
    /// Makes `row` the mask of what may follow, and tells whether that is none; nothing if the grammar or the place is none of the usual ones.
    pub(super) fn fill_with_keys(&mut self, row: &mut [u32]) -> Result<Option<bool>, OverBudget> {
        if let Some(is_empty) = self.fill_lasting(row) {
            return Ok(Some(is_empty));
        }
        let Some(surroundings) = self.surroundings() else { return Ok(None) };
        let is_empty = self.fill_around(row, &surroundings)?;
        self.scratch.memo.lasting = None;
        let mut refused = core::mem::take(&mut self.scratch.memo.refused);
        refused.clear();
        let is_known = self.clear_repeated_keys(row, &surroundings, &mut refused).is_some();
        if !is_known {
            return Ok(None);
        }
        if self.stacks.work.is_spent() {
            return Err(OverBudget);
        }
        let is_changed = surroundings.key.is_some() || !refused.is_empty();
        let is_empty = is_empty || is_changed && row.iter().all(|&word| word == 0);
        // Of a key under way more and more is known, though the head may stay the same.
        let is_lasting = surroundings.key.is_none() && self.live.len() == 1;
        (self.scratch.memo.refused, self.scratch.memo.lasting) = (refused, is_lasting.then_some(is_empty));
        Ok(Some(is_empty))
    }

    /// Makes `row` the mask of what may follow if that is the last one again, tokens that were refused included; tells whether that is none.
    fn fill_lasting(&mut self, row: &mut [u32]) -> Option<bool> {
        let is_empty = self.scratch.memo.lasting?;
        let node = self.scratch.memo.node(&self.live, &self.table)?;
        node.mask.write(row);
        bit_row::clear_all(row, &self.scratch.memo.refused);
        self.count_hits(1);
        Some(is_empty)
    }

    /// Returns what is around the text, if all places where it can be are usual ones and at most one key is under way.
    fn surroundings(&mut self) -> Option<Surroundings> {
        let has_other_values = self.grammar.program().may_run_out();
        let places = self.places()?;
        let mut found = Surroundings { places, key: None, within: SmallVec::new(), beside: SmallVec::new() };
        for index in 0..self.live.len() {
            let head = self.live[index];
            if has_other_values && !self.is_among_keys(head) {
                return None;
            }
            match (found.places[index].key, found.key) {
                (None, _) => found.beside.push(head),
                (Some(key), Some(known)) if key != known => return None,
                (Some(key), _) => {
                    found.key = Some(key);
                    found.within.push(head);
                }
            }
        }
        Some(found)
    }

    /// Returns what is around each place where the text can be; nothing if they are many, or several ways lead down their stacks.
    fn places(&self) -> Option<Places> {
        let are_few = self.live.len() <= PLACES_MAX;
        are_few.then(|| self.live.iter().map(|&head| self.around(head)).collect())?
    }

    /// Makes `row` the mask without the tokens that go on with the key under way to one that is there already; tells whether it is empty but for these.
    fn fill_around(&mut self, row: &mut [u32], surroundings: &Surroundings) -> Result<bool, OverBudget> {
        let Surroundings { key, within, beside, .. } = surroundings;
        let Some(frame) = *key else { return self.fill_live(row) };
        if beside.is_empty() {
            let is_empty = self.fill_live(row)?;
            self.clear_key_suffixes(row, frame);
            return Ok(is_empty);
        }
        // Keys that are declared are read beside the others, and may be what those may not.
        self.scratch.memo.lasting = None;
        let of_key = self.ask(|query, _| fill(query, within, row))?;
        self.clear_key_suffixes(row, frame);
        let are_others_empty = self.ask(|query, _| add(query, beside, row))?;
        Ok(of_key.is_empty && are_others_empty)
    }

    /// Tries the tokens that may hold a key whole which is there already, and clears those that are refused. Nothing if it can't be found which objects are around.
    fn clear_repeated_keys(
        &mut self,
        row: &mut [u32],
        surroundings: &Surroundings,
        refused: &mut Vec<TokenId>,
    ) -> Option<()> {
        let vocab = Arc::clone(self.grammar.vocab());
        let mut refuse = |token| refused.push(token);
        self.clear_held_keys_of(row, &surroundings.places, &mut refuse)?;
        if let Some(frame) = surroundings.key {
            let tokens = self.tokens_to_scarce_keys(frame);
            self.clear_refused(row, tokens.into_iter(), &mut refuse);
        }
        // An object that begins within a token may have a declared key as another one.
        let opening = vocab.quoted_strings().opening_and_holding();
        self.clear_refused(row, opening.iter().copied(), &mut refuse);
        if self.grammar.program().may_run_out() {
            // An array that begins within a token may hold the same value twice.
            let is_in_string = self.values().within().is_string();
            let tokens = vocab.punctuated_tokens().with(Punctuation::OPEN_COMMA, is_in_string);
            self.clear_refused(row, tokens.into_iter().flatten(), &mut refuse);
        }
        Some(())
    }

    /// Clears the tokens that hold a key whole which is there already in some object around the text, or hold the same key twice, wherever the text is;
    /// passes them to `visit`. Nothing if it can't be found which objects are around.
    pub(super) fn clear_held_keys(&mut self, row: &mut [u32], mut visit: impl FnMut(TokenId)) -> Option<()> {
        let places = self.places()?;
        self.clear_held_keys_of(row, &places, &mut visit)
    }

    fn clear_held_keys_of(
        &mut self,
        row: &mut [u32],
        places: &[Around],
        visit: &mut impl FnMut(TokenId),
    ) -> Option<()> {
        let vocab = Arc::clone(self.grammar.vocab());
        let strings = vocab.quoted_strings();
        let mut slots: SmallVec<[ObjectSlot; PLACES_MAX]> = SmallVec::new();
        for (index, &Around { key, object }) in places.iter().enumerate() {
            let before = &places[..index];
            if let Some(frame) = key.filter(|_| before.iter().all(|other| other.key != key)) {
                let tokens = self.ending_and_holding(strings, frame);
                self.clear_refused(row, tokens.iter().copied(), &mut *visit);
            }
            let Some(frame) = object else {
                self.clear_refused(row, strings.holding_twice().iter().copied(), &mut *visit);
                continue;
            };
            let slot = self.object_slot(frame)?;
            if slots.contains(&slot) {
                continue;
            }
            slots.push(slot);
            let tokens = core::mem::take(self.scratch.memo.tokens_mut(slot));
            self.clear_refused(row, tokens.iter().copied(), &mut *visit);
            *self.scratch.memo.tokens_mut(slot) = tokens;
        }
        Some(())
    }

    /// Returns the tokens that may end the key under way in a frame and hold it once more.
    fn ending_and_holding<'a>(&self, strings: &'a QuotedStrings, frame: Head) -> &'a [TokenId] {
        // Without its opening quote.
        let prefix = || self.values().begun_key(frame.register).into_iter().skip(1).collect::<SmallVec<[u8; 64]>>();
        match self.values().n_begun(frame.register) as usize {
            0 => &[],
            n_bytes => strings.ending_and_holding(n_bytes - 1, prefix),
        }
    }

    /// Tells whether all values that are compared at a place and around it are keys of which more are left than a document has, or scarce ones only behind a prefix, as far as the stacks go down one way.
    fn is_among_keys(&mut self, head: Head) -> bool {
        let program = self.grammar.program();
        let is_usual = |frame: Head| match program.owner(frame.state) {
            Some(Owner::DistinctValues(distinct)) => {
                let is_known = distinct.scarce_after.is_none_or(|n_bytes| n_bytes > 0);
                distinct.equality == Equality::Bytes && is_known && self.values().n_values(frame.register) < SCARCE / 2
            }
            _ => true,
        };
        let n_bytes_max = height(self.grammar.vocab().trie(), TrieNode::ROOT);
        if program.has_last_items(n_values_within(n_bytes_max)) || !is_usual(head) {
            return false;
        }
        let mut node = head.node;
        for _ in 0..FRAMES_MAX {
            if self.scratch.memo.among_keys == Some(node) || node == BOTTOM {
                self.scratch.memo.among_keys = Some(head.node);
                return true;
            }
            if self.stacks.n_exits(node) != 1 {
                return false;
            }
            let frame = self.stacks.exit(node, 0);
            if !is_usual(frame) {
                return false;
            }
            node = frame.node;
        }
        false
    }

    /// Returns the length of the shortest prefix of a key that few keys begin with, if there are such prefixes.
    fn scarce_after(&self, state: StateId) -> Option<u32> {
        match self.grammar.program().owner(state) {
            Some(Owner::DistinctValues(distinct)) if distinct.equality == Equality::Bytes => distinct.scarce_after,
            _ => None,
        }
    }

    /// Returns the tokens that go on with the key under way to where few keys begin so, which may all be there already.
    fn tokens_to_scarce_keys(&self, frame: Head) -> Vec<TokenId> {
        let (trie, mut found) = (self.grammar.vocab().trie(), Vec::new());
        let Some(scarce_after) = self.scarce_after(frame.state) else { return found };
        let n_least = scarce_after.saturating_sub(self.values().n_begun(frame.register)) as usize;
        for suffix in self.values().suffixes(frame.register) {
            let mut node = TrieNode::ROOT;
            for (byte, n_bytes) in self.values().bytes(suffix).zip(1..) {
                let Some(child) = trie.child(node, byte) else { break };
                node = child;
                if n_bytes >= n_least {
                    found.extend_from_slice(trie.tokens(node));
                }
            }
        }
        found
    }

    /// Goes down the stacks to the next object around a place; nothing if several ways lead down.
    fn around(&self, head: Head) -> Option<Around> {
        let program = self.grammar.program();
        let (mut frame, mut key) = (head, None);
        // Each frame takes a byte to leave, and a token can't leave more.
        for _ in 0..=self.grammar.vocab().token_bytes_max() {
            let Some(info) = program.info(frame.state) else { break };
            // Right behind a key the place itself is what its call returned to, and the key is not under way any more.
            if let (Kind::DistinctValue(_), true) = (info.kind, frame != head) {
                key = Some(frame);
            }
            if let Some(Owner::DistinctValues(_)) = info.owner {
                return Some(Around { key, object: Some(frame) });
            }
            if self.stacks.n_exits(frame.node) != 1 {
                return None;
            }
            frame = self.stacks.exit(frame.node, 0);
        }
        Some(Around { key, object: None })
    }

    /// Returns where the tokens are that may repeat a key of an object or of those around it; nothing if several ways lead to those.
    fn object_slot(&mut self, frame: Head) -> Option<ObjectSlot> {
        let unit = self.grammar.program().unit_index(frame.state) as u32;
        let key = ObjectKey { unit, set: frame.register as u32, node: frame.node };
        if let Some(slot) = self.scratch.memo.find_object(key) {
            return Some(slot);
        }
        let mut tokens = self.scratch.memo.take_oldest_tokens();
        self.object_tokens(frame, &mut tokens)?;
        Some(self.scratch.memo.add_object(key, tokens))
    }

    /// Makes `tokens` those that may repeat a key of an object or of those around it.
    fn object_tokens(&self, object: Head, tokens: &mut Vec<TokenId>) -> Option<()> {
        let strings = self.grammar.vocab().quoted_strings();
        tokens.clear();
        tokens.extend_from_slice(strings.holding_twice());
        let mut next = Some(object);
        for _ in 0..=strings.n_closed_before_quote_max() {
            let Some(frame) = next else { break };
            for list in self.grammar.declared_key_tokens(self.grammar.program().unit_index(frame.state)) {
                tokens.extend_from_slice(&list.holding);
            }
            if let Some(n_bytes) = self.scarce_after(frame.state) {
                tokens.extend(strings.open_for(n_bytes));
            }
            for key in self.values().held_keys(frame.register) {
                // Behind the opening quote.
                let string: SmallVec<[u8; 64]> = self.values().bytes(key).skip(1).collect();
                tokens.extend_from_slice(strings.holding(&string));
            }
            if self.stacks.n_exits(frame.node) != 1 {
                return None;
            }
            next = self.around(self.stacks.exit(frame.node, 0))?.object;
        }
        tokens.sort_unstable();
        tokens.dedup();
        Some(())
    }

    /// Clears the tokens that begin with the suffix of a key which is there already, or declared.
    fn clear_key_suffixes(&self, row: &mut [u32], frame: Head) {
        let vocab = self.grammar.vocab();
        for suffix in self.values().suffixes(frame.register) {
            let suffix: SmallVec<[u8; 64]> = self.values().bytes(suffix).collect();
            if *suffix == *b"\"" {
                vocab.quoted_strings().clear_beginning_with_quote(row);
            } else if let Some(node) = vocab.trie().find(&suffix) {
                bit_row::clear_all(row, vocab.trie().subtree_tokens(node));
            }
        }
        self.clear_declared_suffixes(row, frame);
    }

    /// Clears the tokens that begin with the suffix of a declared key whose prefix was read.
    fn clear_declared_suffixes(&self, row: &mut [u32], frame: Head) {
        let program = self.grammar.program();
        let Some((linked, local)) = program.place(frame.state) else { return };
        let Kind::DistinctValue(distinct) = linked.unit.info(local).kind else { return };
        let Some((list, keys)) = distinct.declared_keys.zip(linked.unit.declared_keys(distinct)) else { return };
        let found = self.values().declared_with_prefix(frame.register, keys);
        if found.is_empty() {
            return;
        }
        let (vocab, n_read) = (self.grammar.vocab(), self.values().n_begun(frame.register) as usize);
        if n_read == 1 {
            // Right behind the quote all keys are left, and the same tokens each time.
            let of_unit = self.grammar.declared_key_tokens(program.unit_index(frame.state));
            return bit_row::clear_all(row, of_unit[list as usize].beginning(keys, vocab));
        }
        // Keys with a common prefix go down the trie together, as long as there are tokens.
        let trie = vocab.trie();
        let mut pending: SmallVec<[(TrieNode, usize, usize, usize); 8]> = SmallVec::new();
        pending.push((TrieNode::ROOT, found.start, found.end, n_read));
        while let Some((node, mut first, last, n_bytes)) = pending.pop() {
            if keys.get(first).len() == n_bytes {
                match n_bytes == n_read + 1 {
                    true => vocab.quoted_strings().clear_beginning_with_quote(row),
                    false => bit_row::clear_all(row, trie.subtree_tokens(node)),
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

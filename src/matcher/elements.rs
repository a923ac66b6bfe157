//! Masks where elements must all be different: keys of objects, items under `uniqueItems`.
//!
//! Masks that are kept know nothing of what was read. That makes no difference for nearly all tokens: one is wrongly allowed only if it completes
//! an element that is there already. For keys, and for strings among items, those tokens are found by what an element looks like (a token that
//! completes one has its closing quote), and tried. The names of an object are keys that are there from the start, as far as the keys that nobody
//! names go. Of other items, those tokens are tried in which one may end. Where texts may run out
//! (`enum`), so are those that lead along one that is there already: only behind those nothing new may be left. Where that can't be said of other
//! items, all tokens are tried on the way through the trie.

use super::Matcher;
use crate::automaton::{Kind, Owner, Program, ReservedTokens, StateId};
use crate::compiler::CompiledGrammar;
use crate::exec::{Elements, NodeId, OverBudget, Pair, Piece};
use crate::machine::{Distinct, Equality, JsonScalars};
use crate::mask::{ElementTokens, add, fill, is_wide};
use crate::vocab::TokenId;
use smallvec::SmallVec;
use std::sync::Arc;

/// Most tokens of a kept mask to try, before all are tried on the way through the trie.
const ROW_TOKENS_MAX: usize = 4096;

/// Most nodes of the stacks to look at before all tokens are tried.
const NODES_MAX: usize = 256;

/// Which tokens have to be tried, and memory to find that out in.
#[derive(Default)]
pub(super) struct Doubt {
    /// All.
    all: bool,
    /// Those with two quotes, and those that open or close a container: items that are no texts may be within.
    items: bool,
    /// Those that close a container: it may be an item that is there already.
    closing: bool,
    /// Those that go on behind a container and a comma: another item may be within, and whole.
    closing_on: bool,
    /// Those in which an item that begins within them may end.
    whole_items: bool,
    /// Those in which an item under way may end.
    ends: bool,
    /// Those with a quote and a comma: an item may begin within that nothing is left for.
    next_items: bool,
    /// Those that hold one of these keys.
    keys: Vec<Piece>,
    /// Those that may end a key under way and hold it once more.
    ending_twice: Vec<TokenId>,
    /// Those that hold a key that one of these units reserves; by number, ascending.
    reserving: SmallVec<[u32; 8]>,
    /// Those that go on behind a string and a comma with another whole item.
    string_on: bool,
    /// Those that begin with one of these, what is left of items.
    rests: Vec<Piece>,
    /// Whether the text is within a string that is an item, whatever its parse: then those are refused.
    is_one_string: bool,
    /// Likewise what is left of keys, and where each of these ends.
    key_rests: Vec<u8>,
    key_rest_ends: Vec<usize>,
    /// Likewise what is left of declared keys.
    reserved_rests: SmallVec<[ReservedRests; 2]>,
    /// The places within keys.
    within_keys: WithinKeys,
    /// Those that one of `rests` begins with: with finitely many elements, nothing may be left behind such a beginning.
    beginnings: bool,
    /// Those in which, behind a quote, one of `keys` begins that is not whole.
    begun_keys: bool,
    /// All that the kept masks allow: what follows may complete an element, or leave nothing to complete it with.
    row: bool,
    /// Those with a quote.
    quotes: bool,
    /// Those that go on with one of these texts within a string, or end it there; and those with a backslash.
    strings: Vec<Vec<u8>>,
    /// Those with a backslash, beside.
    escapes: bool,
    /// Whether the text is within a string, so that no item ends in a token without a quote.
    is_in_string: bool,
    /// Containers under way that are items, by their registers, and whether one that is there already may come of them.
    led: SmallVec<[(u64, bool); 4]>,
    /// A key.
    bytes: Vec<u8>,
    seen: Vec<NodeId>,
    pending: Vec<Below>,
}

/// A node of the stacks to look at.
#[derive(Clone, Copy)]
struct Below {
    node: NodeId,
    /// How many nodes lie above it.
    n_deep: usize,
    /// How many objects surely have to be closed to come there.
    n_closed: usize,
}

/// What is left of some keys of a unit's list of declared ones.
#[derive(Clone, Copy)]
pub(super) struct ReservedRests {
    unit: u32,
    list: u32,
    first: usize,
    last: usize,
    /// Bytes that were read, the quote included.
    n_begun: usize,
}

impl ReservedRests {
    /// Returns those of the declared keys that the key under way in a frame is a beginning of.
    pub fn of(program: &Program, elements: &Elements, frame: Pair) -> Option<ReservedRests> {
        let (linked, local) = program.place(frame.state)?;
        let Kind::Element(distinct) = linked.unit.info(local).kind else { return None };
        let (list, keys) = distinct.declared_keys.zip(linked.unit.declared_keys(distinct))?;
        let found = elements.begun_reserved(frame.register, keys);
        (!found.is_empty()).then(|| ReservedRests {
            unit: program.unit_index(frame.state) as u32,
            list,
            first: found.start,
            last: found.end,
            n_begun: elements.n_begun(frame.register) as usize,
        })
    }
}

/// Which places of a configuration are within keys.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum WithinKeys {
    #[default]
    None,
    /// Those over this node, which return to one place: they refuse all that begins with the rest of a key.
    Over(NodeId),
    Several,
}

impl Matcher {
    /// Makes `row` the mask of what may follow, where elements are compared; tells whether that is none.
    pub(super) fn fill_with_elements(&mut self, row: &mut [u32]) -> Result<bool, OverBudget> {
        // PERF: this and what is in doubt are taken out and put back: counting references takes as long as a part of the rest, and that is large.
        let kept = match self.scratch.kept.take() {
            Some(kept) => kept,
            None => Arc::clone(self.grammar.masks().element_tokens(self.grammar.vocab())),
        };
        let is_empty = match self.fill_with_keys(row, &kept) {
            Some(is_empty) => is_empty,
            None => {
                let mut doubt = self.scratch.doubt.take().unwrap_or_default();
                self.find_doubt(&mut doubt, &kept);
                let is_empty = match doubt.all {
                    true => {
                        row.fill(0);
                        self.ask(|asker, live| asker.walk_whole(live, row)).map(|is_any| !is_any)
                    }
                    false => self.fill_and_try(row, &mut doubt, &kept),
                };
                self.scratch.doubt = Some(doubt);
                is_empty
            }
        };
        self.scratch.kept = Some(kept);
        if self.stacks.work.is_spent() { Err(OverBudget) } else { is_empty }
    }

    /// As [`Self::fill_with_elements`], where only some tokens have to be tried.
    fn fill_and_try(&mut self, row: &mut [u32], doubt: &mut Doubt, kept: &ElementTokens) -> Result<bool, OverBudget> {
        let mut n_cleared = 0;
        let is_empty = match doubt.within_keys {
            WithinKeys::Over(node) => self.fill_with_key(row, node, doubt, kept, &mut n_cleared)?,
            WithinKeys::None | WithinKeys::Several => self.fill_live(row)?,
        };
        if doubt.row {
            if row.iter().map(|word| word.count_ones() as usize).sum::<usize>() > ROW_TOKENS_MAX {
                row.fill(0);
                return self.ask(|asker, live| asker.walk_whole(live, row)).map(|is_any| !is_any);
            }
            for word in 0..row.len() {
                for bit in (0..32).filter(|bit| row[word] >> bit & 1 == 1).collect::<SmallVec<[usize; 32]>>() {
                    self.clear_refused(row, &[(32 * word + bit) as TokenId], &mut n_cleared);
                }
            }
            return Ok(is_empty || n_cleared > 0 && row.iter().all(|&word| word == 0));
        }
        let [opening, closing, closing_on, brackets] = match doubt.is_in_string {
            true => [&kept.opening_quoted, &kept.closing_quoted, &kept.closing_on_quoted, &kept.brackets_quoted],
            false => [&kept.opening, &kept.closing, &kept.closing_on, &kept.brackets],
        };
        if doubt.is_one_string {
            let trie = self.grammar.vocab().trie();
            for &rest in &doubt.rests {
                doubt.bytes.clear();
                doubt.bytes.extend(self.elements().bytes(rest));
                trie.find(&doubt.bytes).into_iter().for_each(|node| clear(row, trie.subtree_tokens(node)));
                n_cleared += 1;
            }
        }
        self.clear_refused(row, &kept.twice, &mut n_cleared);
        self.clear_refused(row, &doubt.ending_twice, &mut n_cleared);
        if self.grammar.program().has_items() {
            self.clear_refused(row, opening, &mut n_cleared);
        }
        if doubt.items {
            self.clear_refused(row, &kept.quoted, &mut n_cleared);
        }
        if doubt.items || doubt.closing {
            self.clear_refused(row, closing, &mut n_cleared);
        } else if doubt.closing_on {
            self.clear_refused(row, closing_on, &mut n_cleared);
        }
        if doubt.whole_items {
            self.clear_refused(row, &kept.quoted, &mut n_cleared);
            self.clear_refused(row, &kept.ending_whole, &mut n_cleared);
        }
        if doubt.ends {
            self.clear_refused(row, &kept.ending, &mut n_cleared);
        }
        if doubt.next_items {
            self.clear_refused(row, &kept.separating, &mut n_cleared);
        }
        if self.grammar.program().has_last_items() {
            self.clear_refused(row, brackets, &mut n_cleared);
        }
        if doubt.items || doubt.whole_items {
            self.clear_refused(row, &kept.containers, &mut n_cleared);
        }
        if doubt.string_on {
            self.clear_refused(row, &kept.string_on, &mut n_cleared);
        }
        self.try_strings(row, doubt, kept, &mut n_cleared);
        for &unit in &doubt.reserving {
            // PERF: hardly a token holds a whole name.
            if reserved_tokens(&self.grammar, unit, kept).iter().any(|tokens| !tokens.holding.is_empty()) {
                let grammar = self.grammar.clone();
                for tokens in reserved_tokens(&grammar, unit, kept) {
                    self.clear_refused(row, &tokens.holding, &mut n_cleared);
                }
            }
        }
        for &key in &doubt.keys {
            doubt.bytes.clear();
            // Behind the opening quote.
            doubt.bytes.extend(self.elements().bytes(key).skip(1));
            if let Some(tokens) = kept.by_key.get(&*doubt.bytes) {
                self.clear_refused(row, tokens, &mut n_cleared);
            }
            let n_begun_max = if doubt.begun_keys { doubt.bytes.len().min(kept.begun_bytes_max + 1) } else { 0 };
            for n_begun in 0..n_begun_max {
                if let Some(tokens) = kept.by_begun_key.get(&doubt.bytes[..n_begun]) {
                    self.clear_refused(row, tokens, &mut n_cleared);
                }
            }
        }
        let is_doubtful = doubt.within_keys == WithinKeys::Several;
        if is_doubtful {
            self.with_reserved_rests(&doubt.reserved_rests, kept, |matcher, tokens, _| {
                matcher.clear_refused(row, tokens, &mut n_cleared);
            });
        }
        for rest in texts(&doubt.key_rests, &doubt.key_rest_ends).filter(|_| doubt.beginnings || is_doubtful) {
            self.try_along(row, rest, doubt.beginnings, is_doubtful, &mut n_cleared);
        }
        for &rest in &doubt.rests {
            doubt.bytes.clear();
            doubt.bytes.extend(self.elements().bytes(rest));
            self.try_along(row, &doubt.bytes, doubt.beginnings, !doubt.is_one_string, &mut n_cleared);
        }
        Ok(is_empty || n_cleared > 0 && row.iter().all(|&word| word == 0))
    }

    /// Makes `row` the mask where the places over one node only are within a key: what completes a key that is there already is left out of
    /// what they allow, before the others add theirs.
    fn fill_with_key(
        &mut self,
        row: &mut [u32],
        node: NodeId,
        doubt: &Doubt,
        kept: &ElementTokens,
        n_cleared: &mut usize,
    ) -> Result<bool, OverBudget> {
        let (within, others): (SmallVec<[Pair; 4]>, SmallVec<[Pair; 4]>) =
            self.live.iter().copied().partition(|pair: &Pair| pair.node == node);
        let of_key = self.ask(|asker, _| fill(asker, &within, row))?;
        let trie = self.grammar.vocab().trie();
        for rest in texts(&doubt.key_rests, &doubt.key_rest_ends) {
            *n_cleared += 1;
            if rest == b"\"" {
                kept.clear_quotes(row);
            } else if let Some(node) = trie.find(rest) {
                clear(row, trie.subtree_tokens(node));
            }
        }
        self.with_reserved_rests(&doubt.reserved_rests, kept, |_, tokens, is_quote| {
            *n_cleared += 1;
            match is_quote {
                true => kept.clear_quotes(row),
                false => clear(row, tokens),
            }
        });
        let of_others = self.ask(|asker, _| add(asker, &others, row))?;
        self.count_hits(of_key.n_hits + of_others.n_hits);
        Ok(of_key.is_empty && of_others.is_empty)
    }

    /// Passes the tokens that begin with what is left of declared keys, and whether that is only the quote.
    pub(super) fn with_reserved_rests(
        &mut self,
        reserved_rests: &[ReservedRests],
        kept: &ElementTokens,
        mut visit: impl FnMut(&mut Matcher, &[TokenId], bool),
    ) {
        if reserved_rests.is_empty() {
            return;
        }
        let grammar = self.grammar.clone();
        let trie = grammar.vocab().trie();
        for rests in reserved_rests {
            let unit = &grammar.program().units()[rests.unit as usize].unit;
            let keys = &unit.content.declared_keys[rests.list as usize];
            if rests.n_begun == 1 {
                // PERF: right behind the quote all of them are left.
                let tokens = &reserved_tokens(&grammar, rests.unit, kept)[rests.list as usize];
                visit(self, tokens.beginning(|| ElementTokens::beginning(grammar.vocab(), keys)), false);
                continue;
            }
            // Those that begin alike go down the trie together, as long as there are tokens.
            let mut pending: SmallVec<[(u32, usize, usize, usize); 8]> = SmallVec::new();
            pending.push((0, rests.first, rests.last, rests.n_begun));
            while let Some((node, mut first, last, n_read)) = pending.pop() {
                if keys.get(first).len() == n_read {
                    visit(self, trie.subtree_tokens(node), n_read == rests.n_begun + 1);
                    first += 1;
                }
                while first < last {
                    let byte = keys.get(first)[n_read];
                    let end = keys.partition_point(first..last, |key| key[n_read] == byte);
                    pending.extend(trie.child(node, byte).map(|child| (child, first, end, n_read + 1)));
                    first = end;
                }
            }
        }
    }

    /// Tries the tokens that begin with a text if `is_doubtful`, and those that it begins with if `beginnings`.
    fn try_along(&mut self, row: &mut [u32], text: &[u8], beginnings: bool, is_doubtful: bool, n_cleared: &mut usize) {
        let vocab = Arc::clone(self.grammar.vocab());
        let trie = vocab.trie();
        let mut node = 0;
        for &byte in text {
            let Some(child) = trie.child(node, byte) else { return };
            node = child;
            if beginnings {
                self.clear_refused(row, trie.tokens(node), n_cleared);
            }
        }
        if is_doubtful {
            self.clear_refused(row, trie.subtree_tokens(node), n_cleared);
        }
    }

    /// Tries the tokens that lead along strings of elements that are there already.
    fn try_strings(&mut self, row: &mut [u32], doubt: &Doubt, kept: &ElementTokens, n_cleared: &mut usize) {
        if doubt.escapes {
            self.clear_refused(row, &kept.escaping, n_cleared);
        }
        if !doubt.quotes && doubt.strings.is_empty() {
            return;
        }
        let vocab = Arc::clone(self.grammar.vocab());
        for &(token, quote) in &kept.with_quote {
            let piece = &vocab.bytes(token)[..quote as usize];
            let is_like = |string: &Vec<u8>| string == piece;
            if doubt.quotes || piece.contains(&b'\\') || doubt.strings.iter().any(is_like) {
                self.clear_refused(row, &[token], n_cleared);
            }
        }
        let trie = vocab.trie();
        for string in &doubt.strings {
            let mut node = 0;
            for &byte in string {
                let Some(child) = trie.child(node, byte) else { break };
                self.clear_refused(row, trie.tokens(child), n_cleared);
                node = child;
            }
        }
    }

    /// Returns the tokens that may end the key under way in a frame, and hold it once more.
    pub(super) fn tokens_ending_twice<'a>(&self, frame: Pair, kept: &'a ElementTokens) -> &'a [TokenId] {
        let elements = self.elements();
        kept.ending_twice(elements.n_begun(frame.register) as usize, || elements.begun_key(frame.register))
    }

    /// Clears the bits of those of `tokens` that are refused.
    pub(super) fn clear_refused(&mut self, row: &mut [u32], tokens: &[TokenId], n_cleared: &mut usize) {
        self.clear_each_refused(row, tokens, |_| *n_cleared += 1);
    }

    /// Likewise, and passes them to `visit`.
    pub(super) fn clear_each_refused(&mut self, row: &mut [u32], tokens: &[TokenId], mut visit: impl FnMut(TokenId)) {
        for &token in tokens {
            let (word, bit) = (token as usize / 32, token % 32);
            if self.stacks.work.is_spent() {
                return;
            }
            if row[word] >> bit & 1 == 1 && !self.allows(token) {
                row[word] &= !(1 << bit);
                visit(token);
            }
        }
    }

    pub(super) fn elements(&self) -> &Elements {
        self.stacks.elements().expect("elements are compared")
    }

    /// Finds the tokens behind which an element under way may have no new value left: those that lead along an element that is there already,
    /// unless something endless comes behind the value under way.
    fn find_last_values(&self, pair: Pair, doubt: &mut Doubt) {
        let program = self.grammar.program();
        let Doubt { seen, pending, .. } = doubt;
        seen.clear();
        pending.clear();
        pending.push(Below { node: pair.node, n_deep: 0, n_closed: 0 });
        let mut begun: Vec<(u64, bool)> = Vec::new();
        while let Some(Below { node, .. }) = pending.pop() {
            if seen.contains(&node) {
                continue;
            }
            if seen.len() >= NODES_MAX {
                doubt.all = true;
                return;
            }
            seen.push(node);
            for index in 0..self.stacks.n_exits(node) {
                let exit: Pair = self.stacks.exit(node, index);
                let Some(info) = program.info(exit.state) else { continue };
                if let Kind::Element(Distinct { equality: Equality::Json, .. }) = info.kind {
                    begun.push((exit.register, program.may_have_to_close(exit.state)));
                }
                if !program.is_endless(exit.state, false) || program.has_last_items() {
                    pending.push(Below { node: exit.node, n_deep: 0, n_closed: 0 });
                }
            }
        }
        for (register, must_close) in begun {
            self.find_last_value(pair, register, must_close, doubt);
        }
    }

    /// As [`Self::find_last_values`], for one element.
    fn find_last_value(&self, pair: Pair, register: u64, must_close: bool, doubt: &mut Doubt) {
        let (program, elements) = (self.grammar.program(), self.elements());
        // Of strings and numbers one is missing only where few are possible, which is seen elsewhere.
        let is_container = matches!(elements.first_byte(register), Some(b'{' | b'['));
        if !must_close && (register as u32 == 0 || !is_container) {
            return;
        }
        let text: Vec<u8> = elements.begun(register);
        let leaves = JsonScalars::of(&text);
        let is_endless = program.is_endless(pair.state, false);
        if must_close {
            match (&leaves.partial, is_endless) {
                (None, _) => doubt.row = true,
                (Some(_), true) => doubt.quotes = true,
                (Some(_), false) => doubt.all = true,
            }
            return;
        }
        let is_cut = is_cut(&text);
        let mut is_led = false;
        elements.for_each_with(register, leaves.bloom_bits(), |element| {
            let known = JsonScalars::of(&elements.bytes(element).collect::<Vec<u8>>());
            is_led |= is_cut || leaves.can_extend_to(&known);
            match &leaves.partial {
                _ if doubt.row => {}
                Some(_) if is_cut => {
                    (doubt.quotes, doubt.escapes) = (true, true);
                    doubt.all |= !is_endless;
                }
                None => doubt.row |= leaves.can_extend_to(&known),
                Some(begun) if leaves.can_extend_to(&known) => {
                    doubt.escapes |= !is_endless;
                    for string in known.strings.iter().filter_map(|string| string.strip_prefix(&**begun)) {
                        if !doubt.strings.iter().any(|known| known == string) {
                            doubt.strings.push(string.to_vec());
                        }
                    }
                }
                Some(_) => {}
            }
        });
        doubt.led.push((register, is_led));
    }

    /// Tells whether a container under way may become an element that is there already.
    fn is_led(&self, register: u64, led: &[(u64, bool)]) -> bool {
        if register as u32 == 0 {
            return false;
        }
        if let Some(&(_, is_led)) = led.iter().find(|(known, _)| *known == register) {
            return is_led;
        }
        let elements = self.elements();
        let text = elements.begun(register);
        let leaves = JsonScalars::of(&text);
        let mut is_led = false;
        elements.for_each_with(register, leaves.bloom_bits(), |element| {
            is_led = is_led
                || is_cut(&text)
                || leaves.can_extend_to(&JsonScalars::of(&elements.bytes(element).collect::<Vec<u8>>()));
        });
        is_led
    }

    fn find_doubt(&self, doubt: &mut Doubt, kept: &ElementTokens) {
        let (program, elements) = (self.grammar.program(), self.elements());
        (doubt.all, doubt.items, doubt.whole_items, doubt.ends, doubt.next_items) = (false, false, false, false, false);
        (doubt.beginnings, doubt.begun_keys) = (false, false);
        // All that is live has read the same text.
        doubt.is_in_string = elements.is_in_string();
        (doubt.row, doubt.quotes, doubt.escapes) = (false, false, false);
        (doubt.closing, doubt.closing_on, doubt.string_on, doubt.is_one_string) = (false, false, false, false);
        doubt.led.clear();
        doubt.strings.clear();
        doubt.keys.clear();
        doubt.ending_twice.clear();
        doubt.reserving.clear();
        doubt.rests.clear();
        doubt.key_rests.clear();
        doubt.key_rest_ends.clear();
        doubt.reserved_rests.clear();
        doubt.within_keys = WithinKeys::None;
        if program.has_items() {
            self.live.iter().for_each(|&pair| self.find_last_values(pair, doubt));
        }
        let Doubt { seen, pending, reserving, key_rests, key_rest_ends, reserved_rests, within_keys, .. } = doubt;
        let ending_twice = &mut doubt.ending_twice;
        seen.clear();
        pending.clear();
        let mut reserve = |state: StateId| {
            let index = program.unit_index(state) as u32;
            if !program.units()[index as usize].unit.content.declared_keys.is_empty() && !reserving.contains(&index) {
                reserving.push(index);
            }
        };
        let n_deep_max = self.grammar.vocab().token_bytes_max();
        // PERF: of the keys further out no token holds anything, and nothing else is compared where nothing runs out.
        let n_closed_max = if program.may_run_out() { usize::MAX } else { kept.closed_before_key_max };
        let is_one = self.live.len() == 1;
        for &pair in &self.live {
            let mut below = Below { node: pair.node, n_deep: 0, n_closed: 0 };
            if let Some(Owner::Elements(distinct)) = program.info(pair.state).and_then(|info| info.owner) {
                below.n_closed += usize::from(is_one);
                // Between elements: a whole one may follow.
                match distinct.equality {
                    Equality::Bytes => {
                        match distinct.has_finite_domain {
                            true => elements.for_each(pair.register, |key| doubt.keys.push(key)),
                            false => elements.for_each_held(pair.register, |key| doubt.keys.push(key)),
                        }
                        reserve(pair.state);
                        doubt.begun_keys |= distinct.has_finite_domain;
                    }
                    Equality::Json if distinct.has_finite_domain || program.may_have_to_close(pair.state) => {
                        doubt.all = true
                    }
                    Equality::Json => doubt.whole_items = true,
                }
            }
            pending.push(below);
            while let Some(Below { node, n_deep, n_closed }) = pending.pop() {
                if seen.contains(&node) || n_deep > n_deep_max || n_closed > n_closed_max {
                    continue;
                }
                if seen.len() >= NODES_MAX {
                    doubt.all = true;
                    return;
                }
                seen.push(node);
                let n_exits = self.stacks.n_exits(node);
                for index in 0..n_exits {
                    let exit: Pair = self.stacks.exit(node, index);
                    let Some((linked, local)) = program.place(exit.state) else { continue };
                    let info = linked.unit.info(local);
                    if let Kind::Element(distinct) = info.kind {
                        let is_text = distinct.equality == Equality::Bytes;
                        // Within free text nothing runs out, and an element ends with its quote, a container with its bracket.
                        let first_byte = elements.first_byte(exit.register);
                        let is_container = matches!(first_byte, Some(b'{' | b'['));
                        match first_byte {
                            _ if is_text => ending_twice.extend_from_slice(self.tokens_ending_twice(exit, kept)),
                            Some(b'{' | b'[') => {
                                doubt.closing_on = true;
                                doubt.closing = doubt.closing || self.is_led(exit.register, &doubt.led);
                            }
                            Some(b'"') => {
                                doubt.string_on = true;
                                let is_here = self.live.iter().all(|pair| pair.node == node);
                                doubt.is_one_string |= n_deep == 0 && is_here && n_exits == 1;
                                elements.for_each_rest(exit.register, |rest| doubt.rests.push(rest));
                            }
                            _ => doubt.items = true,
                        }
                        if n_deep == 0 {
                            let is_simple = is_text || is_container || is_wide(program, pair.state);
                            doubt.all |= !is_simple && distinct.has_finite_domain;
                            doubt.ends |= !is_simple && !distinct.has_finite_domain;
                            doubt.beginnings |= is_text && distinct.has_finite_domain;
                            doubt.next_items |= distinct.has_finite_domain;
                            let is_only = *within_keys == WithinKeys::None && n_exits == 1;
                            match is_text {
                                true if is_only => *within_keys = WithinKeys::Over(node),
                                true => *within_keys = WithinKeys::Several,
                                false if first_byte == Some(b'"') => {}
                                false => elements.for_each_rest(exit.register, |rest| doubt.rests.push(rest)),
                            }
                            if is_text {
                                elements.for_each_rest(exit.register, |rest| {
                                    key_rests.extend(elements.bytes(rest));
                                    key_rest_ends.push(key_rests.len());
                                });
                                reserved_rests.extend(ReservedRests::of(program, elements, exit));
                            }
                        }
                    }
                    if let Some(Owner::Elements(distinct)) = info.owner {
                        doubt.next_items |= distinct.has_finite_domain;
                        match distinct.equality {
                            Equality::Bytes => {
                                match distinct.has_finite_domain {
                                    true => elements.for_each(exit.register, |key| doubt.keys.push(key)),
                                    false => elements.for_each_held(exit.register, |key| doubt.keys.push(key)),
                                }
                                reserve(exit.state);
                            }
                            // What an element returns to was seen to above.
                            Equality::Json => doubt.items |= !matches!(info.kind, Kind::Element(_)),
                        }
                    }
                    // Where several ways lead down, one that closes less may come to the same node.
                    let is_closed = matches!(info.owner, Some(Owner::Elements(_))) && is_one && n_exits == 1;
                    let n_closed = n_closed + usize::from(is_closed);
                    pending.push(Below { node: exit.node, n_deep: n_deep + 1, n_closed });
                }
            }
        }
    }
}

/// Returns the tokens that have to do with the keys that a unit reserves, by list.
pub(super) fn reserved_tokens<'a>(
    grammar: &'a CompiledGrammar,
    unit: u32,
    kept: &ElementTokens,
) -> &'a [ReservedTokens] {
    let unit = &grammar.program().units()[unit as usize].unit;
    unit.reserved_tokens(|keys| kept.of_keys(keys))
}

/// Tells whether a JSON text ends within an escape, or before the second half of a pair of them.
fn is_cut(text: &[u8]) -> bool {
    let (mut at, mut is_in_string) = (0, false);
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'"' => {
                is_in_string = !is_in_string;
                1
            }
            b'\\' if is_in_string => match text.get(at + 1) {
                Some(b'u') => {
                    let is_first_half = matches!(
                        text.get(at + 2..at + 4),
                        Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
                    );
                    if is_first_half { 12 } else { 6 }
                }
                _ => 2,
            },
            _ => 1,
        };
    }
    at > text.len()
}

/// Clears the bits of tokens.
pub(super) fn clear(row: &mut [u32], tokens: &[TokenId]) {
    tokens.iter().for_each(|&token| row[token as usize / 32] &= !(1 << (token % 32)));
}

/// Returns the texts that stand one after the other in `bytes`.
fn texts<'a>(bytes: &'a [u8], ends: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let starts = core::iter::once(&0).chain(ends);
    starts.zip(ends).map(|(&start, &end)| &bytes[start..end])
}

#[cfg(test)]
mod tests {
    use super::is_cut;

    #[test]
    fn escapes_under_way() {
        for (text, wanted) in [
            (r#"{"a":"b"#, false),
            (r#"{"a":"\"#, true),
            (r#"{"a":"\\"#, false),
            (r#"{"a":"\\\"#, true),
            (r#""\n"#, false),
            (r#""\u00"#, true),
            (r#""\u00e9"#, false),
            (r#""\ud83d"#, true),
            (r#""\ud83d\ude0"#, true),
            (r#""\ud83d\ude00"#, false),
            (r#"["\\", "\"", 1"#, false),
        ] {
            assert_eq!(is_cut(text.as_bytes()), wanted, "{text}");
        }
    }
}

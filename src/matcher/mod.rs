//! Matchers: one output under way.

mod batch;
mod danger;
mod error;
mod fail_closed;
mod failure;
mod history;
mod keys;
mod live;
mod memo;
mod recheck;

pub use batch::{accept_tokens, fill_masks};
pub use error::MatchError;

use crate::automaton::{DONE, Linked, Owner, Program, Reads};
use crate::compiled::CompiledGrammar;
use crate::exec::{
    Configuration, Head, OverBudget, Stacks, Viability, Work, is_done, start, step_byte, step_bytes, step_control, tidy,
};
use crate::mask::{MaskQuery, Table, TokenMask, fresh_mask_id, mask_ids};
use crate::util::bit_row;
use crate::util::chunked::Chunked;
use crate::vocab::{TokenId, TokenKind};
use core::cell::Cell;
use core::fmt;
use danger::Recheck;
use failure::Failure;
use history::{Accepted, History, Snapshot};
use memo::MaskMemo;
use smallvec::SmallVec;
use std::sync::Arc;

/// Longest text that [`Matcher::jump_forward`] returns, in bytes; a grammar can force any amount.
pub const JUMP_FORWARD_BYTES_MAX: usize = 1 << 16;

/// One output under way: what was accepted so far, and what may follow.
///
/// Every call that fails leaves the matcher as it was. Each successful accept is one step of the history, whatever it accepted.
/// Cloning is [`fork`](Self::fork).
///
/// Cost: accepting takes some nanoseconds per byte, filling a mask about as long as copying it once its states were seen by any
/// matcher of the compiler; memory is below 4 KiB at first, then 12 bytes per token and 8 bytes per open frame in deterministic
/// grammars.
pub struct Matcher {
    grammar: CompiledGrammar,
    live: Configuration,
    stacks: Stacks,
    /// The bytes read before each step, where values are compared.
    n_bytes_before: Chunked<u32>,
    is_terminated: bool,
    history: History,
    /// The first step is not the beginning of the text.
    is_trimmed: bool,
    /// Stop tokens of this matcher, if they are not the vocabulary's.
    stop_tokens: Option<Arc<[TokenId]>>,
    table: Arc<Table>,
    scratch: Scratch,
    n_hits: u64,
    failure: Failure,
}

/// Memory to compute in before anything is committed.
#[derive(Default)]
struct Scratch {
    current: Configuration,
    next: Configuration,
    control: Configuration,
    recheck: Option<Recheck>,
    viability: Viability,
    memo: MaskMemo,
}

fn fresh_stacks(grammar: &CompiledGrammar) -> Stacks {
    let mut stacks = Stacks::new(DONE);
    if grammar.program().has_distinct_values() {
        stacks.compare_values(grammar.program().is_json());
    }
    stacks
}

/// What [`Matcher::fill_mask`] found out on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Fill {
    /// Every token is allowed: there is nothing to apply.
    pub all_set: bool,
}

/// Identifies a mask: equal keys of matchers over one compiler, equal rows. (Unequal keys can have equal rows.)
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MaskKey {
    mask_ids: SmallVec<[u64; 2]>,
    stop_tokens: SmallVec<[TokenId; 2]>,
    stop_tokens_known: Option<Arc<[TokenId]>>,
}

impl CompiledGrammar {
    /// Returns a matcher before any token.
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self.clone())
    }
}

impl Matcher {
    fn new(grammar: CompiledGrammar) -> Self {
        let table = grammar.masks().table();
        let mut live = Configuration::new();
        start(grammar.program(), &mut live);
        let stacks = fresh_stacks(&grammar);
        Matcher {
            grammar,
            live,
            stacks,
            n_bytes_before: Chunked::default(),
            is_terminated: false,
            history: History::default(),
            is_trimmed: false,
            stop_tokens: None,
            table,
            scratch: Scratch::default(),
            n_hits: 0,
            failure: Failure::default(),
        }
    }

    /// Returns the number of places in the grammar where the text so far can be: 1 nearly always.
    pub fn n_live(&self) -> usize {
        self.live.len()
    }

    /// Returns where the text so far leads.
    #[cfg(feature = "testing")]
    pub(crate) fn place(&self) -> (&Stacks, &[crate::exec::Head]) {
        (&self.stacks, &self.live)
    }

    /// Returns the grammar.
    pub fn grammar(&self) -> &CompiledGrammar {
        &self.grammar
    }

    /// Returns the stop tokens in force.
    pub fn stop_tokens(&self) -> &[TokenId] {
        self.stop_tokens.as_deref().unwrap_or_else(|| self.grammar.vocab().stop_tokens())
    }

    /// Replaces the vocabulary's stop tokens for this matcher. A stop token is never text while it is one. Padding is never allowed,
    /// not even as a stop token: give such an id a kind in the vocabulary.
    ///
    /// # Errors
    /// If an id is not in the vocabulary.
    pub fn set_stop_tokens(&mut self, tokens: &[TokenId]) -> Result<(), MatchError> {
        let n_tokens = self.grammar.vocab().n_tokens();
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= n_tokens) {
            return Err(MatchError::unknown_token(token, n_tokens));
        }
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        self.stop_tokens = Some(tokens.into());
        // A stop token is no text.
        self.scratch.memo.invalidate();
        Ok(())
    }

    /// Tells whether the text so far is a whole sentence of the grammar: a stop token may follow.
    pub fn is_accepting(&self) -> bool {
        is_done(&self.live)
    }

    /// Tells whether a stop token was accepted.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// Returns the number of steps that can be rolled back.
    pub fn n_steps(&self) -> usize {
        self.history.len()
    }

    /// Accepts one token.
    ///
    /// # Errors
    /// If the id is unknown, the token's bit in the mask is not set, or a stop token was accepted before and this is none; if the text can
    /// then be read in too many ways ([`MatchError::is_over_budget`]).
    pub fn accept_token(&mut self, token: TokenId) -> Result<(), MatchError> {
        let mark = self.stacks.mark();
        self.allow_work();
        let after = self.after_token(token).and_then(|after| match self.stacks.mark() == mark {
            true => Ok(after),
            false => self.within_memory(after),
        });
        let after = after.inspect_err(|_| self.stacks.truncate(mark))?;
        let n_nodes = self.stacks.mark().n_nodes - mark.n_nodes;
        self.history.push_token(&self.live, self.is_terminated, n_nodes, token);
        self.note_bytes(mark.n_bytes);
        match after {
            After::Text => {
                self.failure.error = None;
                core::mem::swap(&mut self.live, &mut self.scratch.current);
            }
            After::Stop => self.is_terminated = true,
        }
        Ok(())
    }

    /// Accepts several tokens, all or none.
    ///
    /// # Errors
    /// As [`accept_token`](Self::accept_token), for the first token that fails; [`MatchError::token_index`] is its index.
    pub fn accept_tokens(&mut self, tokens: &[TokenId]) -> Result<(), MatchError> {
        for (index, &token) in tokens.iter().enumerate() {
            if let Err(error) = self.accept_token(token) {
                self.undo(index);
                return Err(error.in_list(index));
            }
        }
        Ok(())
    }

    /// Accepts bytes, as one step; a way to add forced text, or a prompt's end. No bytes are a step as well.
    ///
    /// # Errors
    /// If the bytes can't follow, a stop token was accepted, or the text can then be read in too many ways.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> Result<(), MatchError> {
        if self.is_terminated {
            return Err(MatchError::terminated());
        }
        let mark = self.stacks.mark();
        self.allow_work();
        let n_read = self.after_bytes(bytes);
        let read = match n_read < bytes.len() {
            _ if self.stacks.work.is_spent() => Err(self.over_work()),
            true => Err(MatchError::bytes_refused(n_read)),
            false => self.within_memory(()),
        };
        read.inspect_err(|_| self.stacks.truncate(mark))?;
        self.history.push_bytes(&self.live, self.stacks.mark().n_nodes - mark.n_nodes, bytes);
        self.note_bytes(mark.n_bytes);
        self.failure.error = None;
        core::mem::swap(&mut self.live, &mut self.scratch.current);
        Ok(())
    }

    /// Returns how many of `tokens` could be accepted one after the other. Nothing is accepted.
    pub fn validate_tokens(&mut self, tokens: &[TokenId]) -> usize {
        let n_valid = tokens.iter().take_while(|&&token| self.accept_token(token).is_ok()).count();
        self.undo(n_valid);
        n_valid
    }

    /// Tells whether a token could be accepted: whether its bit is set in the mask. As accepting does, it says no where that takes more work than
    /// one step may.
    pub fn is_token_allowed(&mut self, token: TokenId) -> bool {
        self.allow_work();
        let mark = self.stacks.mark();
        let is_allowed = self.after_token(token).and_then(|after| self.within_memory(after)).is_ok();
        self.stacks.truncate(mark);
        is_allowed
    }

    /// As [`Self::is_token_allowed`], with what is left of the work.
    fn allows(&mut self, token: TokenId) -> bool {
        let mark = self.stacks.mark();
        let is_allowed = self.after_token(token).is_ok();
        self.stacks.truncate(mark);
        is_allowed
    }

    /// Makes `row` the mask of what may follow: bit `i % 32` of word `i / 32`, least significant first, is set when token `i` is allowed.
    /// The row needs `ceil(n_tokens / 32)` words; words beyond are cleared.
    ///
    /// # Errors
    /// If the row is too short; if no token can follow a text that is not complete ([`MatchError::is_stuck`]; the row is all zeros then); or if the text
    /// can be read in so many ways that finding the mask takes more than the [`Limits`](crate::Limits) allow for one step
    /// ([`MatchError::is_over_budget`], all zeros as well). A matcher that [fails closed](Self::set_fail_closed) has no errors here.
    pub fn fill_mask(&mut self, row: &mut [u32]) -> Result<Fill, MatchError> {
        match self.failure.is_closed {
            false => self.try_fill_mask(row),
            true => Ok(self.fill_or_close(row)),
        }
    }

    fn try_fill_mask(&mut self, row: &mut [u32]) -> Result<Fill, MatchError> {
        let (n_words, n_all) = (self.grammar.vocab().n_mask_words(), self.grammar.vocab().n_tokens());
        if row.len() < n_words {
            return Err(MatchError::row_too_short(row.len(), n_words));
        }
        let (row, beyond) = row.split_at_mut(n_words);
        beyond.fill(0);
        let mut is_empty = true;
        if self.is_terminated {
            row.fill(0);
        } else {
            self.grammar.masks().refresh(&mut self.table);
            self.allow_work();
            let filled = match self.stacks.values() {
                None => self.fill_live(row),
                Some(_) => self.fill_distinct(row),
            };
            is_empty = filled.map_err(|OverBudget| {
                row.fill(0);
                self.over_work()
            })?;
        }
        let (n_stops, n_cleared) = self.add_stop_tokens(row);
        // A stop token may have been the only text.
        if n_stops == 0 && (is_empty || n_cleared > 0 && row.iter().all(|&word| word == 0)) {
            return Err(MatchError::stuck());
        }
        let (full, last) = row.split_at(n_all / 32);
        let all_set =
            full.iter().all(|&word| word == u32::MAX) && last.iter().all(|&word| word == (1 << (n_all % 32)) - 1);
        Ok(Fill { all_set })
    }

    /// Returns the mask of what may follow, in memory of its own.
    ///
    /// # Errors
    /// As [`fill_mask`](Self::fill_mask).
    pub fn mask(&mut self) -> Result<TokenMask, MatchError> {
        let mut mask = TokenMask::new(self.grammar.vocab().n_tokens());
        self.fill_mask(mask.as_words_mut())?;
        Ok(mask)
    }

    /// Returns what identifies the mask that [`fill_mask`](Self::fill_mask) would make.
    pub fn mask_key(&mut self) -> MaskKey {
        self.grammar.masks().refresh(&mut self.table);
        let mask_ids = match self.is_terminated {
            true => SmallVec::new(),
            false if self.stacks.values().is_some() => SmallVec::from_slice(&[fresh_mask_id()]),
            false => {
                self.allow_work();
                self.ask(mask_ids)
            }
        };
        let allowed = self.stop_tokens().iter().copied().filter(|&token| self.is_stop_allowed(token));
        MaskKey { mask_ids, stop_tokens: allowed.collect(), stop_tokens_known: self.stop_tokens.clone() }
    }

    /// Takes back the last `k` steps, stop tokens included.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn rollback(&mut self, k: usize) -> Result<(), MatchError> {
        if k > self.history.len() {
            return Err(MatchError::rollback_too_far(k, self.history.len()));
        }
        self.undo(k);
        Ok(())
    }

    /// Returns an independent matcher in the same state. Takes about a microsecond, however long the history is.
    pub fn fork(&self) -> Matcher {
        Matcher {
            grammar: self.grammar.clone(),
            live: self.live.clone(),
            stacks: self.stacks.clone(),
            n_bytes_before: self.n_bytes_before.clone(),
            is_terminated: self.is_terminated,
            history: self.history.clone(),
            is_trimmed: self.is_trimmed,
            stop_tokens: self.stop_tokens.clone(),
            table: Arc::clone(&self.table),
            scratch: Scratch::default(),
            n_hits: 0,
            failure: self.failure.clone(),
        }
    }

    /// Goes back to before the first token, also when the history was forgotten. Stop tokens of this matcher stay.
    pub fn reset(&mut self) {
        start(self.grammar.program(), &mut self.live);
        self.stacks = fresh_stacks(&self.grammar);
        self.n_bytes_before = Chunked::default();
        self.history = History::default();
        self.scratch.memo.truncate(0, 0);
        (self.is_terminated, self.is_trimmed) = (false, false);
        (self.failure.error, self.failure.is_poisoned) = (None, false);
    }

    /// Goes back to before the first token and accepts `tokens`: the state after preemption, rebuilt.
    ///
    /// # Errors
    /// As [`accept_tokens`](Self::accept_tokens); the matcher is then as it was before the call.
    pub fn replay(&mut self, tokens: &[TokenId]) -> Result<(), MatchError> {
        let mut fresh = self.grammar.matcher();
        fresh.stop_tokens.clone_from(&self.stop_tokens);
        fresh.failure.is_closed = self.failure.is_closed;
        fresh.accept_tokens(tokens)?;
        *self = fresh;
        Ok(())
    }

    /// Forgets the steps so far, to save memory: they can't be rolled back any more.
    pub fn forget_history(&mut self) {
        self.is_trimmed |= self.history.len() > 0;
        self.history = History::default();
        self.n_bytes_before = Chunked::default();
        self.stacks = self.stacks.compacted(&mut self.live);
        self.scratch.memo.truncate(0, 0);
    }

    /// Returns the longest text that every completion begins with, at most [`JUMP_FORWARD_BYTES_MAX`] bytes of it and as much as one step's work finds. Empty when the text
    /// is complete already; ends before a control token. It can end within a character: see [`jump_forward_text`](Self::jump_forward_text).
    pub fn jump_forward(&mut self) -> Vec<u8> {
        let mut forced = Vec::new();
        if self.is_terminated {
            return forced;
        }
        let mark = self.stacks.mark();
        self.allow_work();
        let Scratch { current, next, viability, .. } = &mut self.scratch;
        current.clone_from(&self.live);
        let program = self.grammar.program();
        while forced.len() < JUMP_FORWARD_BYTES_MAX && !is_done(current) {
            let reads = current.iter().map(|head| program.info(head.state).map_or(Reads::Nothing, |info| info.reads));
            let mut only = None;
            let is_forced = reads.into_iter().all(|reads| match reads {
                Reads::Only(byte) => *only.get_or_insert(byte) == byte,
                Reads::Nothing | Reads::More => false,
            });
            let only =
                only.filter(|_| is_forced).or_else(|| only_byte(program, &mut self.stacks, current, next, viability));
            let Some(byte) = only else { break };
            step_byte(program, &mut self.stacks, current, byte, next);
            viability.retain(program, &mut self.stacks, next);
            if next.is_empty() || self.stacks.work.is_spent() {
                break;
            }
            forced.push(byte);
            core::mem::swap(current, next);
        }
        self.stacks.truncate(mark);
        forced
    }

    /// Returns the forced text up to the last whole character.
    pub fn jump_forward_text(&mut self) -> String {
        let forced = self.jump_forward();
        match String::from_utf8(forced) {
            Ok(text) => text,
            Err(error) => {
                let n_valid = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                bytes.truncate(n_valid);
                String::from_utf8(bytes).expect("cut at the first byte that is not part of a whole character")
            }
        }
    }

    /// Returns the bytes and control tokens accepted so far.
    ///
    /// # Errors
    /// If a part of the history was forgotten.
    pub fn accepted(&self) -> Result<Vec<AcceptedPiece>, MatchError> {
        if self.is_trimmed {
            return Err(MatchError::history_forgotten());
        }
        let mut pieces = Vec::with_capacity(self.history.len());
        self.history.for_each_accepted(|accepted, offset| {
            pieces.push(match accepted {
                Accepted::Token(token) => AcceptedPiece::Token(token),
                Accepted::Bytes(n) => {
                    AcceptedPiece::Bytes((offset..offset + n).map(|i| self.history.byte(i)).collect())
                }
            });
        });
        Ok(pieces)
    }

    /// Returns about how much memory this matcher takes, in bytes, without the grammar; what forks share counts for each.
    pub fn memory_bytes(&self) -> usize {
        let heads = self.live.capacity()
            + self.scratch.current.capacity()
            + self.scratch.next.capacity()
            + self.scratch.control.capacity();
        size_of::<Matcher>()
            + heads * 16
            + self.stacks.memory_bytes()
            + self.history.memory_bytes()
            + self.n_bytes_before.memory_bytes()
            + self.scratch.memo.memory_bytes()
    }

    /// Notes the number of bytes read before a step, where values are compared.
    fn note_bytes(&mut self, n_bytes: u32) {
        if self.stacks.values().is_some() {
            self.n_bytes_before.push(n_bytes);
            let strings = self.grammar.vocab().quoted_strings();
            self.stacks.settle_values(|key| key.get(1..).is_none_or(|string| !strings.holding(string).is_empty()));
        }
    }

    fn undo(&mut self, k: usize) {
        if k > 0 {
            self.failure.error = None;
        }
        let mut mark = self.stacks.mark();
        for _ in 0..k {
            let Some(Snapshot { is_terminated, n_nodes }) = self.history.pop(&mut self.live, mark.n_nodes) else {
                break;
            };
            (self.is_terminated, mark.n_nodes) = (is_terminated, n_nodes);
            if let Some(n_steps) = self.n_bytes_before.len().checked_sub(1) {
                mark.n_bytes = self.n_bytes_before.get(n_steps);
                self.n_bytes_before.truncate(n_steps);
            }
        }
        self.stacks.truncate(mark);
        self.scratch.memo.truncate(mark.n_nodes, self.stacks.values().map_or(0, |values| values.n_sets()));
    }

    /// Computes where a token leads, into `scratch.current`; on an error the stacks may have grown.
    fn after_token(&mut self, token: TokenId) -> Result<After, MatchError> {
        let vocab = self.grammar.vocab();
        if token as usize >= vocab.n_tokens() {
            return Err(MatchError::unknown_token(token, vocab.n_tokens()));
        }
        let kind = vocab.kind(token);
        let is_stop = kind != TokenKind::Padding && self.stop_tokens().contains(&token);
        if self.is_terminated {
            return if is_stop { Ok(After::Stop) } else { Err(MatchError::terminated()) };
        }
        if self.failure.is_poisoned {
            return if is_stop { Ok(After::Stop) } else { Err(self.failure.poisoned()) };
        }
        let fresh = self.stacks.mark();
        let program = self.grammar.program();
        let Scratch { current, next, control, viability, .. } = &mut self.scratch;
        if kind == TokenKind::Padding || !program.has_controls() {
            control.clear();
        } else {
            step_control(program, &mut self.stacks, &self.live, token, control);
        }
        let is_text = matches!(kind, TokenKind::Text | TokenKind::AddedText) && !is_stop;
        let bytes = if is_text { vocab.bytes(token) } else { &[] };
        if bytes.is_empty() || step_bytes(program, &mut self.stacks, &self.live, bytes, current, next) < bytes.len() {
            current.clear();
        }
        if !control.is_empty() {
            current.append(control);
            tidy(program, &mut self.stacks, current, fresh);
        }
        viability.retain(program, &mut self.stacks, current);
        if self.stacks.work.is_spent() {
            return Err(self.over_work());
        }
        if !current.is_empty() {
            return Ok(After::Text);
        }
        // A matcher that fails closed has nothing else to offer.
        if is_stop && (is_done(&self.live) || self.failure.error.is_some()) {
            return Ok(After::Stop);
        }
        Err(MatchError::token_refused(token))
    }

    /// Computes where bytes lead, into `scratch.current`; returns how many can be read.
    fn after_bytes(&mut self, bytes: &[u8]) -> usize {
        let program = self.grammar.program();
        let Scratch { current, next, viability, .. } = &mut self.scratch;
        let mark = self.stacks.mark();
        let mut n_read = step_bytes(program, &mut self.stacks, &self.live, bytes, current, next);
        // What can't be completed can't be read: without their last bytes the rest may.
        while n_read > 0 && program.may_run_out() && !self.stacks.work.is_spent() {
            if n_read < bytes.len() {
                self.stacks.truncate(mark);
                step_bytes(program, &mut self.stacks, &self.live, &bytes[..n_read], current, next);
            }
            viability.retain(program, &mut self.stacks, current);
            if !current.is_empty() {
                break;
            }
            n_read -= 1;
        }
        n_read
    }

    /// Asks something of the masks, with what is left of the work.
    fn ask<T>(&mut self, question: impl FnOnce(&MaskQuery<'_>, &[Head]) -> T) -> T {
        let query = MaskQuery {
            program: self.grammar.program(),
            vocab: self.grammar.vocab(),
            store: self.grammar.masks(),
            table: &self.table,
            stacks: &self.stacks,
            work: Cell::new(self.stacks.work),
            walk_bytes_max: self.grammar.step_limits().bytes_max,
        };
        let answer = question(&query, &self.live);
        self.stacks.work = query.work.into_inner();
        answer
    }

    /// Begins a step: all of its work is left.
    #[inline]
    fn allow_work(&mut self) {
        self.stacks.work = Work::up_to(self.grammar.step_limits().work_max);
    }

    #[cold]
    fn over_work(&self) -> MatchError {
        MatchError::over_work(self.grammar.step_limits().work_max)
    }

    /// Returns `value` if the matcher takes no more memory than it may.
    fn within_memory<T>(&self, value: T) -> Result<T, MatchError> {
        let limit = self.grammar.step_limits().bytes_max;
        let given = self.stacks.memory_bytes() + self.history.memory_bytes();
        if given > limit { Err(MatchError::over_memory(given, limit)) } else { Ok(value) }
    }

    /// Sets and clears the bits of stop tokens; returns how many are set, and how many were set and are not.
    fn add_stop_tokens(&self, row: &mut [u32]) -> (usize, usize) {
        let (mut n_set, mut n_cleared) = (0, 0);
        for &token in self.stop_tokens() {
            let (word, bit) = bit_row::place(token);
            let word = &mut row[word];
            if self.is_stop_allowed(token) {
                *word |= bit;
                n_set += 1;
            } else {
                n_cleared += usize::from(*word & bit != 0);
                *word &= !bit;
            }
        }
        (n_set, n_cleared)
    }

    fn is_stop_allowed(&self, token: TokenId) -> bool {
        let is_padding = self.grammar.vocab().kind(token) == TokenKind::Padding;
        !is_padding && (self.is_terminated || is_done(&self.live) || self.is_named_here(token))
    }

    /// Tells whether the grammar itself names the token here.
    fn is_named_here(&self, token: TokenId) -> bool {
        let program = self.grammar.program();
        self.live.iter().any(|head| {
            program
                .place(head.state)
                .is_some_and(|(linked, local)| linked.unit.control_lists(local, token).next().is_some())
        })
    }

    fn count_hits(&mut self, n_hits: u64) {
        const REPORTED_EVERY: u64 = 1024;
        self.n_hits += n_hits;
        if self.n_hits >= REPORTED_EVERY {
            self.grammar.masks().add_hits(core::mem::take(&mut self.n_hits));
        }
    }
}

/// Where a token leads.
enum After {
    /// To the configuration in scratch.
    Text,
    /// To termination.
    Stop,
}

/// One step of what a matcher accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AcceptedPiece {
    /// A token.
    Token(TokenId),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// Returns the only byte that can follow, where a count of pieces, or values that run out, may rule out what the automaton reads; nothing
/// where none of that is so.
fn only_byte(
    program: &Program,
    stacks: &mut Stacks,
    live: &Configuration,
    next: &mut Configuration,
    viability: &mut Viability,
) -> Option<u8> {
    let has_register_rule =
        |state| matches!(program.info(state).and_then(|info| info.owner), Some(Owner::RegisterRules(_)));
    let names_controls = |state| {
        let is_named = |(linked, state): (&Linked, u32)| {
            linked.unit.controls(state).iter().any(|(letter, _)| !letter.is_spelling())
        };
        program.place(state).is_some_and(is_named)
    };
    let may_be_ruled_out = program.may_run_out() || live.iter().any(|head| has_register_rule(head.state));
    if !may_be_ruled_out || live.iter().any(|head| names_controls(head.state)) {
        return None;
    }
    let mut only = None;
    for byte in 0..=255 {
        let mark = stacks.mark();
        step_byte(program, stacks, live, byte, next);
        viability.retain(program, stacks, next);
        stacks.truncate(mark);
        if !next.is_empty() && only.replace(byte).is_some() {
            return None;
        }
    }
    only
}

impl Clone for Matcher {
    fn clone(&self) -> Self {
        self.fork()
    }
}

impl Drop for Matcher {
    fn drop(&mut self) {
        if self.n_hits > 0 {
            self.grammar.masks().add_hits(self.n_hits);
        }
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher")
            .field("n_steps", &self.n_steps())
            .field("is_accepting", &self.is_accepting())
            .field("is_terminated", &self.is_terminated)
            .finish_non_exhaustive()
    }
}

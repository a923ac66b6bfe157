//! Matchers: one output under way.

#[cfg(feature = "rayon")]
mod batch;
mod danger;
mod draft_walk;
mod drafts;
mod error;
mod fail_closed;
mod history;
mod jump;
mod jump_tokens;
mod keys;
mod memo;
mod place_key;
mod recheck;
mod stop;
#[cfg(feature = "rayon")]
mod threads;

#[cfg(feature = "rayon")]
pub use batch::{accept_and_fill, accept_tokens, fill_masks, step_each};
pub use drafts::{ChainFill, TreeFill};
pub use error::MatchError;
pub use history::AcceptedPiece;
pub use jump::JUMP_FORWARD_BYTES_MAX;
pub use jump_tokens::ForcedTokens;
pub use place_key::PlaceKey;

use crate::automaton::DONE;
use crate::compiled::CompiledGrammar;
use crate::exec::{
    Configuration, Head, OverBudget, Stacks, StacksMark, Viability, Work, end_token, is_done, start, step_bytes,
    step_control, tidy,
};
use crate::mask::{DecisionNode, FillOutcome, MaskQuery, Table, TokenMask, fill, mask_ids};
use crate::util::chunked::Chunked;
use crate::vocab::{TokenId, TokenKind};
use core::cell::Cell;
use core::fmt;
use danger::Recheck;
use draft_walk::DraftWalk;
use history::{History, Snapshot};
use memo::MaskMemo;
use smallvec::SmallVec;
use std::sync::Arc;

/// Bytes that are accepted as one step and may take the work of one call; hardly a token is longer.
const BYTES_PER_STEP: usize = 256;

/// One output under way: what was accepted so far, and what may follow.
///
/// Every call that fails leaves the matcher as it was. Each successful accept is one step of the history, whatever it accepted.
/// Cloning is [`fork`](Self::fork).
///
/// Cost: accepting takes a table look-up per byte, filling a mask about as long as copying it once its states were seen by any
/// matcher of the compiler; memory is below 4 KiB at first, then 12 bytes per token and 8 bytes per open frame in deterministic
/// grammars (`tests/allocations.rs` measures it).
pub struct Matcher {
    grammar: CompiledGrammar,
    live: Configuration,
    stacks: Stacks,
    /// The bytes read before each step, where values are compared.
    n_bytes_before: Chunked<u32>,
    ending: Ending,
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
    row: Vec<u32>,
    drafts: DraftWalk,
}

impl Scratch {
    /// Forgets what was found out about nodes, sets and text that are no more: those left are the first.
    fn truncate(&mut self, mark: StacksMark, n_sets: u32) {
        self.memo.truncate(mark, n_sets);
        if let Some(recheck) = &mut self.recheck {
            recheck.stack.truncate(mark, n_sets);
        }
    }
}

/// Whether an output has ended, and why.
#[derive(Clone, Copy, Default)]
struct Ending {
    /// A stop token was accepted that ends the output.
    is_stopped: bool,
    /// The output also ends where nothing can follow.
    is_asked_ahead: bool,
    /// It ended so: nothing follows but stop tokens, and that was asked for.
    is_exhausted: bool,
}

/// What a matcher does where a mask can't be found.
#[derive(Clone, Default)]
struct Failure {
    /// It allows the stop tokens and nothing else.
    is_closed: bool,
    /// Why it did so at the last mask.
    error: Option<MatchError>,
    /// It did so for a mask behind drafts, in the call that filled the last masks.
    is_closed_ahead: bool,
    /// The engine failed while it was changing something: nothing is believed any more.
    is_poisoned: bool,
}

impl Failure {
    /// Goes back to what it was before steps that were taken back. What they left behind of a failure of the engine stays.
    fn restore(&mut self, before: Failure) {
        *self = Failure { is_poisoned: self.is_poisoned, ..before };
    }

    fn poisoned(&self) -> MatchError {
        MatchError::internal("it failed before".to_owned())
    }
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
    /// No token is allowed: the text is complete, and there is no stop token that could say so. Or a matcher that
    /// [fails closed](Matcher::set_fail_closed) has none to end with.
    pub none_set: bool,
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
            ending: Ending::default(),
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

    /// Tells whether the text so far is a whole sentence of the grammar: a stop token may follow.
    pub fn is_accepting(&self) -> bool {
        is_done(&self.live)
    }

    /// Returns the number of steps that can be rolled back.
    pub fn n_steps(&self) -> usize {
        self.history.len()
    }

    /// Accepts one token. A stop token [ends the output](Self::is_terminated) where the text is complete.
    ///
    /// # Errors
    /// If the id is unknown, the token's bit in the mask is not set, or the output has ended and this is no stop token; if the text can
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
        self.history.push_token(&self.live, self.ending.is_stopped, n_nodes, token);
        self.note_bytes(mark.n_bytes);
        match after {
            After::Text { is_end } => {
                self.failure.error = None;
                core::mem::swap(&mut self.live, &mut self.scratch.current);
                self.ending.is_stopped = is_end;
            }
            After::Stop => self.ending.is_stopped = true,
        }
        self.note_exhaustion();
        Ok(())
    }

    /// Accepts several tokens, all or none.
    ///
    /// # Errors
    /// As [`accept_token`](Self::accept_token), for the first token that fails; [`MatchError::token_index`] is its index.
    pub fn accept_tokens(&mut self, tokens: &[TokenId]) -> Result<(), MatchError> {
        let failure = self.failure.clone();
        for (index, &token) in tokens.iter().enumerate() {
            if let Err(error) = self.accept_token(token) {
                self.undo(index);
                self.failure.restore(failure);
                return Err(error.in_list(index));
            }
        }
        Ok(())
    }

    /// Accepts bytes, as one step; a way to add forced text, or a prompt's end. No bytes are a step as well. Where the grammar counts tokens, they are one.
    ///
    /// # Errors
    /// If the bytes can't follow, the output has [ended](Self::is_terminated), or the text can then be read in too many ways; the work of a call is allowed once for each 256 bytes.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> Result<(), MatchError> {
        if self.is_terminated() {
            return Err(MatchError::terminated());
        }
        if self.failure.is_poisoned {
            return Err(self.failure.poisoned());
        }
        let mark = self.stacks.mark();
        self.allow_work_for(bytes);
        let n_read = self.after_bytes(bytes);
        let read = match n_read < bytes.len() {
            _ if self.stacks.work.is_spent() => Err(self.over_work()),
            true => Err(MatchError::bytes_refused(n_read)),
            false => {
                end_token(self.grammar.program(), &mut self.stacks, &mut self.scratch.current, mark);
                self.within_memory(())
            }
        };
        read.inspect_err(|_| self.stacks.truncate(mark))?;
        self.history.push_bytes(&self.live, self.stacks.mark().n_nodes - mark.n_nodes, bytes);
        self.note_bytes(mark.n_bytes);
        self.failure.error = None;
        core::mem::swap(&mut self.live, &mut self.scratch.current);
        self.note_exhaustion();
        Ok(())
    }

    /// Returns how many of `tokens` could be accepted one after the other. Nothing is accepted.
    pub fn validate_tokens(&mut self, tokens: &[TokenId]) -> usize {
        let failure = self.failure.clone();
        let n_valid = tokens.iter().take_while(|&&token| self.accept_token(token).is_ok()).count();
        self.undo(n_valid);
        self.failure.restore(failure);
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
    /// The row needs `ceil(n_tokens / 32)` words; words beyond are cleared. Where the text is complete and there are no stop tokens the row can be empty
    /// ([`Fill::none_set`]): the output has to end.
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
        if self.is_terminated() {
            row.fill(0);
        } else {
            is_empty = self.fill_following(row)?;
        }
        let (n_stops, n_cleared) = self.add_stop_tokens(row);
        // A stop token may have been the only text.
        let none_set = n_stops == 0 && (is_empty || n_cleared > 0 && row.iter().all(|&word| word == 0));
        if none_set && !self.is_terminated() && !self.is_accepting() {
            return Err(MatchError::stuck());
        }
        let (full, last) = row.split_at(n_all / 32);
        let all_set =
            full.iter().all(|&word| word == u32::MAX) && last.iter().all(|&word| word == (1 << (n_all % 32)) - 1);
        Ok(Fill { all_set, none_set })
    }

    /// Makes `row`, of as many words as a mask has, the mask of the tokens that the grammar lets follow, whichever are stop tokens; tells whether there are none.
    fn fill_following(&mut self, row: &mut [u32]) -> Result<bool, MatchError> {
        self.grammar.masks().refresh(&mut self.table);
        self.allow_work();
        let filled = match self.stacks.values() {
            None => self.fill_live(row),
            Some(_) => self.fill_distinct(row),
        };
        filled.map_err(|OverBudget| {
            row.fill(0);
            self.over_work()
        })
    }

    /// Makes `row` the mask of what may follow, whatever values there are; tells whether that is none.
    fn fill_live(&mut self, row: &mut [u32]) -> Result<bool, OverBudget> {
        if let Some(node) = self.scratch.memo.node(&self.live, &self.table) {
            node.mask.write(row);
            let is_empty = node.is_empty;
            self.count_hits(1);
            return Ok(is_empty);
        }
        self.scratch.memo.lasting = None;
        let FillOutcome { is_empty, place } = self.ask(|query, live| fill(query, live, row))?;
        self.scratch.memo.place = place.map(|place| (self.live[0], self.table.version(), place));
        Ok(is_empty)
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
        let mask_ids = match self.is_terminated() {
            true => SmallVec::new(),
            false if self.failure.is_poisoned || self.stacks.values().is_some() => {
                SmallVec::from_slice(&[DecisionNode::fresh_id().0])
            }
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

    /// Returns an independent matcher in the same state. Its cost does not grow with the history, which copies share.
    pub fn fork(&self) -> Matcher {
        Matcher {
            grammar: self.grammar.clone(),
            live: self.live.clone(),
            stacks: self.stacks.clone(),
            n_bytes_before: self.n_bytes_before.clone(),
            ending: self.ending,
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
        match self.failure.is_poisoned {
            true => self.scratch = Scratch::default(),
            false => self.scratch.truncate(StacksMark::default(), 0),
        }
        (self.ending.is_stopped, self.is_trimmed) = (false, false);
        self.failure = Failure { is_closed: self.failure.is_closed, ..Failure::default() };
        self.note_exhaustion();
    }

    /// Goes back to before the first token and accepts `tokens`: the state after preemption, rebuilt.
    ///
    /// # Errors
    /// As [`accept_tokens`](Self::accept_tokens); the matcher is then as it was before the call.
    pub fn replay(&mut self, tokens: &[TokenId]) -> Result<(), MatchError> {
        let mut fresh = self.fork();
        fresh.reset();
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
        self.scratch.truncate(StacksMark::default(), 0);
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
        self.history.for_each_accepted(|piece| pieces.push(piece));
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
            + self.scratch.row.capacity() * size_of::<u32>()
            + self.scratch.drafts.memory_bytes()
            + self.scratch.recheck.as_ref().map_or(0, Recheck::memory_bytes)
    }

    /// Notes the number of bytes read before a step, where values are compared.
    fn note_bytes(&mut self, n_bytes: u32) {
        if self.stacks.values().is_some() {
            self.n_bytes_before.push(n_bytes);
            let strings = self.grammar.vocab().quoted_strings();
            self.stacks.examine_values(|key| key.get(1..).is_none_or(|string| !strings.holding(string).is_empty()));
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
            (self.ending.is_stopped, mark.n_nodes) = (is_terminated, n_nodes);
            if let Some(n_steps) = self.n_bytes_before.len().checked_sub(1) {
                mark.n_bytes = self.n_bytes_before.get(n_steps);
                self.n_bytes_before.truncate(n_steps);
            }
        }
        self.stacks.truncate(mark);
        self.scratch.truncate(mark, self.stacks.n_sets());
        self.note_exhaustion();
    }

    /// Computes where a token leads, into `scratch.current`; on an error the stacks may have grown.
    fn after_token(&mut self, token: TokenId) -> Result<After, MatchError> {
        let vocab = self.grammar.vocab();
        if token as usize >= vocab.n_tokens() {
            return Err(MatchError::unknown_token(token, vocab.n_tokens()));
        }
        let kind = vocab.kind(token);
        let is_stop = self.stop_tokens().contains(&token);
        if self.is_terminated() {
            return if is_stop { Ok(After::Stop) } else { Err(MatchError::terminated()) };
        }
        if self.failure.is_poisoned {
            return if is_stop { Ok(After::Stop) } else { Err(self.failure.poisoned()) };
        }
        // A matcher that fails closed has nothing else to offer.
        if is_stop && self.failure.error.is_some() {
            return Ok(After::Stop);
        }
        let fresh = self.stacks.mark();
        let program = self.grammar.program();
        let Scratch { current, next, control, viability, .. } = &mut self.scratch;
        if kind == TokenKind::Padding || !program.has_controls() {
            control.clear();
        } else {
            // A stop token is in no set.
            step_control(program, &mut self.stacks, &self.live, token, !is_stop, control);
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
        end_token(program, &mut self.stacks, current, fresh);
        if self.stacks.work.is_spent() {
            return Err(self.over_work());
        }
        if !current.is_empty() {
            return Ok(After::Text { is_end: is_stop && is_done(current) });
        }
        if is_stop && (is_done(&self.live) || self.closes_here()) {
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
            n_hits: Cell::new(0),
            walk_bytes_max: self.grammar.step_limits().bytes_max,
        };
        let answer = question(&query, &self.live);
        let (work, n_hits) = (query.work.into_inner(), query.n_hits.into_inner());
        self.stacks.work = work;
        self.count_hits(n_hits);
        answer
    }

    /// Begins a step: all of its work is left.
    #[inline]
    fn allow_work(&mut self) {
        self.stacks.work = Work::up_to(self.grammar.step_limits().work_max);
    }

    /// Begins a step of many bytes: as tokens they would be several.
    fn allow_work_for(&mut self, bytes: &[u8]) {
        let n_steps = 1 + bytes.len() / BYTES_PER_STEP;
        self.stacks.work = Work::up_to(self.grammar.step_limits().work_max.saturating_mul(n_steps as u64));
    }

    #[cold]
    fn over_work(&self) -> MatchError {
        MatchError::over_work(self.stacks.work.max())
    }

    /// Returns `value` if the matcher takes no more memory than it may.
    fn within_memory<T>(&self, value: T) -> Result<T, MatchError> {
        let limit = self.grammar.step_limits().bytes_max;
        let given = self.stacks.memory_bytes() + self.history.memory_bytes();
        if given > limit { Err(MatchError::over_memory(given, limit)) } else { Ok(value) }
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
    /// To the configuration in scratch, which is the end if this is a stop token with which the text is complete.
    Text { is_end: bool },
    /// To the end, with a stop token that is not part of the text.
    Stop,
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
            .field("is_terminated", &self.is_terminated())
            .finish_non_exhaustive()
    }
}

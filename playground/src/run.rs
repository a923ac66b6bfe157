//! One output, sampled token by token as an inference engine does: fill the mask, choose, accept, append forced text.
//!
//! The output ends within the budget of tokens. Before a token is chosen, the text with it must leave room for a completion: the reference recognizer finds a shortest one, the
//! engine confirms it, and cut into the longest tokens it has a number of tokens. Once no choice would leave room for that, the completion of the text so far is
//! written instead.

use crate::affordable::{Budget, Unexplained, try_recognizer};
use crate::failure::Failure;
use crate::output::harmless;
use crate::sampler::{Sampler, View};
use core::convert::Infallible;
use maskwright::grammar::ControlRef;
use maskwright::reference::{OracleMatcher, Recognizer, Symbol};
use maskwright::{Limits, MatchError, Matcher, TokenId, TokenKind, TokenMask, Vocab};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One decoding step.
#[derive(Clone, Debug)]
pub struct Step {
    pub index: usize,
    pub n_allowed: usize,
    pub token: TokenId,
    /// The token belongs to the completion that is written to end in time.
    pub is_closing: bool,
    /// The forced text after the token.
    pub forced: String,
    pub fill_time: Duration,
    pub accept_time: Duration,
    pub forced_time: Duration,
}

/// A part of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text.
    Bytes(Vec<u8>),
    /// A token that is no text.
    Token(TokenId),
}

/// An output in progress.
pub struct Run {
    matcher: Matcher,
    oracle: OracleMatcher,
    pub max_tokens: usize,
    /// The text, without tokens that are no text.
    pub text: Vec<u8>,
    parts: Vec<Part>,
    pub n_used: usize,
    /// The tokens of forced text that was appended without a step.
    pub n_appended: usize,
    pub steps: Vec<Step>,
    /// What is written to end in time.
    plan: VecDeque<TokenId>,
    has_ended: bool,
    /// The reference recognizer was not asked about the text: it only ends.
    only_ends: bool,
    /// The text was complete before the last token.
    was_complete: bool,
}

impl Run {
    /// Returns an output that goes on from what a matcher has read.
    ///
    /// # Errors
    /// If the budget is too small for any output, or no completion is found.
    pub fn new(matcher: Matcher, max_tokens: usize) -> Result<Self, Failure> {
        let (run, n_least) = Run::with_room(matcher, max_tokens)?;
        if n_least > max_tokens {
            return Err(Failure::Usage(format!(
                "--max-tokens {max_tokens} is too small: the shortest output has {n_least}"
            )));
        }
        Ok(run)
    }

    /// Returns an output, and how many tokens a shortest one has; a budget that is too small for any output becomes twice that.
    ///
    /// # Errors
    /// If the reference recognizer can't read the grammar, or the text so far within its [budget](Budget::SAMPLES), or no completion is found.
    pub fn with_room(matcher: Matcher, max_tokens: usize) -> Result<(Self, usize), Failure> {
        let begun = matcher.accepted().map_err(|error| unexpected(&error))?;
        let try_again = || try_recognizer(&matcher, &Budget::SAMPLES, || Ok::<(), Infallible>(()));
        let is_too_much =
            !begun.is_empty() && matches!(try_again(), Ok(Some(Unexplained::Time { .. } | Unexplained::Items { .. })));
        // A text that is complete needs no completion.
        let only_ends = is_too_much && (matcher.is_accepting() || matcher.is_terminated());
        if is_too_much && !only_ends {
            let message = "the text so far can be read in so many ways that looking for completions takes too long";
            return Err(Failure::Step(message.into()));
        }
        let grammar = matcher.grammar();
        let recognizer = Recognizer::new(grammar.expanded_grammar(), &Limits::default())
            .map_err(|error| Failure::Usage(format!("the reference recognizer can't read the grammar: {error}")))?;
        let mut oracle = OracleMatcher::new(&recognizer, Arc::clone(grammar.vocab()));
        oracle.set_stop_tokens(matcher.stop_tokens());
        for piece in begun.into_iter().filter(|_| !only_ends) {
            let _ = match piece {
                maskwright::AcceptedPiece::Token(token) => oracle.accept_token(token),
                maskwright::AcceptedPiece::Bytes(bytes) => oracle.accept_bytes(&bytes),
            };
        }
        let mut run = Run {
            matcher,
            oracle,
            max_tokens,
            text: vec![],
            parts: vec![],
            n_used: 0,
            n_appended: 0,
            steps: vec![],
            plan: VecDeque::new(),
            has_ended: false,
            only_ends,
            was_complete: false,
        };
        let ahead = run.matcher.fork();
        let n_least = run.completion(&ahead).map(|plan| plan.len()).ok_or_else(|| {
            Failure::Stuck("no completion of the text was found that the vocabulary can spell".into())
        })?;
        if n_least > max_tokens {
            run.max_tokens = n_least.saturating_mul(2);
        }
        Ok((run, n_least))
    }

    /// Returns the matcher of the output.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Samples to the end.
    ///
    /// # Errors
    /// If nothing may follow, or reference recognizer and mask differ.
    pub fn finish(mut self, sampler: &mut Sampler, mut tell: impl FnMut(&Step)) -> Result<Self, Failure> {
        let vocab = Arc::clone(self.matcher.grammar().vocab());
        let mut mask = TokenMask::new(vocab.n_tokens());
        while !self.matcher.is_terminated() && !self.has_ended {
            let start = Instant::now();
            self.matcher.fill_mask(mask.as_words_mut()).map_err(|error| unexpected(&error))?;
            let fill_time = start.elapsed();
            let Some((token, is_closing)) = self.choose(sampler, &mask, &vocab)? else {
                self.has_ended = true;
                break;
            };
            self.was_complete = self.matcher.is_accepting();
            let start = Instant::now();
            self.matcher.accept_token(token).map_err(|error| unexpected(&error))?;
            let accept_time = start.elapsed();
            if !self.only_ends && !self.oracle.accept_token(token) {
                return Err(refused_by_oracle(token));
            }
            self.push_token(token, &vocab);
            self.n_used += 1;
            let start = Instant::now();
            // What is planned is written as planned: forced text is a part of it.
            let forced = if self.plan.is_empty() { self.matcher.jump_forward_text() } else { String::new() };
            if !forced.is_empty() {
                self.matcher.accept_bytes(forced.as_bytes()).map_err(|error| unexpected(&error))?;
                self.oracle.accept_bytes(forced.as_bytes());
            }
            let forced_time = start.elapsed();
            self.push_bytes(forced.as_bytes());
            // Forced text is part of every completion, so this stays within the budget.
            let n_forced = vocab.tokenize_greedy(forced.as_bytes()).len();
            (self.n_used, self.n_appended) = (self.n_used + n_forced, self.n_appended + n_forced);
            let index = self.steps.len() + 1;
            let n_allowed = mask.count();
            let step = Step { index, n_allowed, token, is_closing, forced, fill_time, accept_time, forced_time };
            tell(&step);
            self.steps.push(step);
        }
        Ok(self)
    }

    fn push_token(&mut self, token: TokenId, vocab: &Vocab) {
        let is_text = !self.matcher.stop_tokens().contains(&token) && vocab.kind(token) != TokenKind::Control;
        if is_text && !vocab.bytes(token).is_empty() {
            self.push_bytes(vocab.bytes(token));
        } else {
            self.parts.push(Part::Token(token));
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
        match self.parts.last_mut() {
            Some(Part::Bytes(last)) => last.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.parts.push(Part::Bytes(bytes.to_vec())),
        }
    }

    /// Returns the tokens of the output; forced text is cut into the longest.
    pub fn tokens(&self) -> Vec<TokenId> {
        let vocab = self.matcher.grammar().vocab();
        let of_step = |step: &Step| {
            let forced = vocab.tokenize_greedy(step.forced.as_bytes());
            std::iter::once(step.token).chain(forced).collect::<Vec<_>>()
        };
        self.steps.iter().flat_map(of_step).collect()
    }

    /// Returns the output with the names of control tokens, but for a stop token behind a text that was complete without it.
    pub fn shown(&self) -> String {
        let vocab = self.matcher.grammar().vocab();
        let n_parts = self.parts.len();
        let is_left_out = |index: usize, id: &TokenId| {
            index + 1 == n_parts && self.was_complete && self.matcher.stop_tokens().contains(id)
        };
        let mut shown = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Bytes(bytes) => shown.push_str(&String::from_utf8_lossy(bytes)),
                Part::Token(id) if is_left_out(index, id) => {}
                Part::Token(id) => match vocab.name(*id) {
                    Some(name) => shown.push_str(&harmless(name)),
                    None => shown.push_str(&format!("<[{id}]>")),
                },
            }
        }
        shown
    }

    /// Returns an allowed token that leaves room to end, and whether it was chosen to end in time; `None` where the output ends without a stop token.
    fn choose(
        &mut self,
        sampler: &mut Sampler,
        mask: &TokenMask,
        vocab: &Vocab,
    ) -> Result<Option<(TokenId, bool)>, Failure> {
        const N_TRIES: usize = 8;
        if self.only_ends {
            return Ok(self.matcher.stop_tokens().first().map(|&stop| (stop, true)));
        }
        if let Some(token) = self.plan.pop_front() {
            return Ok(Some((token, true)));
        }
        let used = (1.5 * self.n_used as f64 / self.max_tokens as f64).min(1.0);
        let is_accepting = self.matcher.is_accepting();
        let view = View { text: &self.text, used, is_accepting, stop_tokens: self.matcher.stop_tokens() };
        let stop = self.matcher.stop_tokens().first().copied();
        if is_accepting && (sampler.wants_end(view) || mask.iter().all(|token| Some(token) == stop)) {
            return Ok(stop.map(|stop| (stop, false)));
        }
        for _ in 0..N_TRIES {
            let view = View { text: &self.text, used, is_accepting, stop_tokens: self.matcher.stop_tokens() };
            let Some(token) = sampler.draw(mask, view) else { break };
            let mut ahead = self.matcher.fork();
            ahead.accept_token(token).map_err(|error| unexpected(&error))?;
            if !self.oracle.accept_token(token) {
                return Err(refused_by_oracle(token));
            }
            // Forced text is written next, cut into tokens by itself.
            let forced = ahead.jump_forward_text();
            let n_forced = vocab.tokenize_greedy(forced.as_bytes()).len();
            let is_ahead = forced.is_empty() || ahead.accept_bytes(forced.as_bytes()).is_ok();
            let is_oracle_ahead = !forced.is_empty() && self.oracle.accept_bytes(forced.as_bytes());
            let completion = if is_ahead { self.completion(&ahead) } else { None };
            self.oracle.rollback(1 + usize::from(is_oracle_ahead));
            let Some(n_to_end) = completion.map(|plan| plan.len()) else { continue };
            let has_room = self.n_used + 1 + n_forced + n_to_end <= self.max_tokens;
            // Only white space could follow: too early in the first half of the budget.
            let is_early = used < 0.5 && n_to_end <= 1 && only_blanks_follow(&mut ahead, vocab);
            if has_room && !is_early {
                return Ok(Some((token, false)));
            }
        }
        let ahead = self.matcher.fork();
        let plan = self.completion(&ahead);
        self.plan = plan.ok_or_else(|| Failure::Stuck("no completion of the text was found".into()))?.into();
        // Nothing is planned where the text is complete and has no stop token.
        Ok(self.plan.pop_front().map(|token| (token, true)))
    }

    /// Returns tokens that complete what `ahead` has read, and the reference recognizer as well: with the stop token, if there is one.
    fn completion(&mut self, ahead: &Matcher) -> Option<Vec<TokenId>> {
        if ahead.is_terminated() {
            return Some(Vec::new());
        }
        let mut tokens = match ahead.is_accepting() {
            true => Vec::new(),
            false => spelled(ahead, &self.oracle.chart().shortest_completion())
                .or_else(|| spelled(ahead, ahead.completion().ok()??.symbols()))?,
        };
        let mut after = ahead.fork();
        after.accept_tokens(&tokens).ok()?;
        if !after.is_terminated() {
            tokens.extend(after.stop_tokens().first());
        }
        Some(tokens)
    }

    /// Replays the steps with warm caches; returns the mean time of masks and of accepts.
    pub fn again(&self) -> (Duration, Duration) {
        let mut matcher = self.matcher.grammar().matcher();
        let mut mask = TokenMask::new(matcher.grammar().vocab().n_tokens());
        let (mut fill_time, mut accept_time) = (Duration::ZERO, Duration::ZERO);
        for step in &self.steps {
            let start = Instant::now();
            let filled = matcher.fill_mask(mask.as_words_mut());
            fill_time += start.elapsed();
            let start = Instant::now();
            let accepted = matcher.accept_token(step.token);
            accept_time += start.elapsed();
            let forced = matcher.accept_bytes(step.forced.as_bytes());
            debug_assert!(filled.is_ok() && accepted.is_ok() && (forced.is_ok() || matcher.is_terminated()));
        }
        let n_steps = self.steps.len().max(1) as u32;
        (fill_time / n_steps, accept_time / n_steps)
    }
}

/// Returns symbols as tokens, the longest that fit, if a matcher accepts them and is complete then.
fn spelled(matcher: &Matcher, symbols: &[Symbol]) -> Option<Vec<TokenId>> {
    let vocab = matcher.grammar().vocab();
    let mut ahead = matcher.fork();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < symbols.len() {
        let control = match &symbols[at] {
            Symbol::Byte(_) => None,
            Symbol::Control(ControlRef::Id(id)) => Some(*id),
            Symbol::Control(ControlRef::Name(name)) => {
                Some(vocab.ids_named(name).iter().copied().find(|&id| ahead.fork().is_token_allowed(id))?)
            }
            Symbol::TokenExcept(_) => Some(ahead.mask().ok()?.iter().find(|id| !ahead.stop_tokens().contains(id))?),
        };
        if let Some(id) = control {
            ahead.accept_token(id).ok()?;
            tokens.push(id);
            at += 1;
            continue;
        }
        let byte = |symbol: &Symbol| match symbol {
            Symbol::Byte(byte) => Some(*byte),
            _ => None,
        };
        let bytes: Vec<u8> = symbols[at..].iter().map_while(byte).collect();
        // The longest token first; where tokens are counted, or stop tokens are text, a shorter one may do.
        let (id, n_read) = (1..=bytes.len().min(vocab.token_bytes_max())).rev().find_map(|len| {
            let node = vocab.trie().find(&bytes[..len])?;
            let id = vocab.trie().tokens(node).iter().copied().find(|&id| ahead.accept_token(id).is_ok())?;
            Some((id, len))
        })?;
        tokens.push(id);
        at += n_read;
    }
    (ahead.is_accepting() || ahead.is_terminated()).then_some(tokens)
}

/// Returns whether only white space can follow.
fn only_blanks_follow(ahead: &mut Matcher, vocab: &Vocab) -> bool {
    let Ok(mask) = ahead.mask() else { return false };
    let is_blank = |token: TokenId| vocab.bytes(token).iter().all(u8::is_ascii_whitespace);
    mask.iter().all(|token| ahead.stop_tokens().contains(&token) || is_blank(token))
}

fn refused_by_oracle(token: TokenId) -> Failure {
    Failure::Stuck(format!("the reference recognizer refuses token {token}, which the mask allows"))
}

fn unexpected(error: &MatchError) -> Failure {
    Failure::Stuck(error.to_string())
}

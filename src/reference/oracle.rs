//! The oracle: a matcher by definition.

use super::chart::{Chart, Recognizer};
use super::mask::{mask_in_order, text_order};
use crate::vocab::{TokenId, TokenKind, Vocab};
use std::sync::Arc;

/// A slow matcher that follows the definitions: a [`Chart`] reads the tokens, and masks are made by trying each token.
#[derive(Clone, Debug)]
pub struct OracleMatcher {
    vocab: Arc<Vocab>,
    order: Arc<[TokenId]>,
    stop_tokens: Vec<TokenId>,
    chart: Chart,
    /// By step: the length of the chart before it, and whether a stop token had been accepted.
    history: Vec<(usize, bool)>,
    is_terminated: bool,
}

impl OracleMatcher {
    /// Returns an oracle at the empty text, with the stop tokens of the vocabulary.
    pub fn new(recognizer: &Recognizer, vocab: Arc<Vocab>) -> Self {
        let (order, stop_tokens) = (text_order(&vocab).into(), vocab.stop_tokens().to_vec());
        OracleMatcher { vocab, order, stop_tokens, chart: recognizer.start(), history: vec![], is_terminated: false }
    }

    /// Replaces the stop tokens.
    pub fn set_stop_tokens(&mut self, ids: &[TokenId]) {
        self.stop_tokens = ids.to_vec();
    }

    /// Returns the mask row.
    pub fn mask(&mut self) -> Vec<u32> {
        mask_in_order(&mut self.chart, &self.vocab, &self.order, &self.stop_tokens, self.is_terminated)
    }

    /// Accepts a token. Returns whether it is allowed; if not, nothing changes.
    pub fn accept_token(&mut self, id: TokenId) -> bool {
        let before = (self.chart.len(), self.is_terminated);
        let is_stop = self.stop_tokens.contains(&id);
        let kind = self.vocab.kind(id);
        let (name, bytes) = (self.vocab.name(id), self.vocab.bytes(id));
        let is_allowed = if kind == TokenKind::Padding {
            false
        } else if self.is_terminated {
            is_stop
        } else if is_stop || bytes.is_empty() {
            self.chart.push_control(name, id) || {
                self.is_terminated = is_stop && self.chart.is_accepting();
                self.is_terminated
            }
        } else {
            self.chart.push_text_or_control(bytes, name, id)
        };
        if is_allowed {
            self.history.push(before);
        }
        is_allowed
    }

    /// Accepts bytes as one step. Returns whether they are viable; if not, nothing changes.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        let before = self.chart.len();
        if self.is_terminated || self.chart.push_bytes(bytes) < bytes.len() {
            self.chart.truncate(before);
            return false;
        }
        self.history.push((before, false));
        true
    }

    /// Undoes the last `k` steps. Returns whether there were that many; if not, nothing changes.
    pub fn rollback(&mut self, k: usize) -> bool {
        let Some(n_left) = self.history.len().checked_sub(k) else { return false };
        if let Some(&(len, is_terminated)) = self.history.get(n_left) {
            self.chart.truncate(len);
            self.is_terminated = is_terminated;
            self.history.truncate(n_left);
        }
        true
    }

    /// Returns the longest common prefix of all completions, cut at `len_max` bytes.
    pub fn forced_text(&mut self, len_max: usize) -> Vec<u8> {
        let before = self.chart.len();
        let mut forced = Vec::new();
        while forced.len() < len_max
            && !self.is_terminated
            && !self.chart.is_accepting()
            && !self.chart.expects_control()
        {
            let next = self.chart.next_bytes();
            let Some(byte) = next.iter().next().filter(|_| next.len() == 1) else { break };
            forced.push(byte);
            self.chart.push_byte(byte);
        }
        self.chart.truncate(before);
        forced
    }

    /// Returns whether the text so far is a sentence of the grammar.
    pub fn is_accepting(&self) -> bool {
        self.chart.is_accepting()
    }

    /// Returns whether a stop token was accepted.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// Returns the number of steps.
    pub fn n_steps(&self) -> usize {
        self.history.len()
    }

    /// Returns the vocabulary.
    pub fn vocab(&self) -> &Arc<Vocab> {
        &self.vocab
    }

    /// Returns the chart.
    pub fn chart(&self) -> &Chart {
        &self.chart
    }
}

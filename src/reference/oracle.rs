//! The oracle: a matcher by definition.

use super::chart::{Chart, Recognizer};
use super::mask::{mask_in_order, text_order};
use crate::vocab::{TokenId, Vocab};
use std::sync::Arc;

/// A slow matcher that follows the definitions: a [`Chart`] reads the tokens, and masks are made by trying each token.
#[derive(Clone, Debug)]
pub struct OracleMatcher {
    vocab: Arc<Vocab>,
    order: Arc<[TokenId]>,
    stop_tokens: Vec<TokenId>,
    chart: Chart,
    /// By step: the length of the chart before it, and whether a stop token had ended the output.
    history: Vec<(usize, bool)>,
    /// A stop token ended the output.
    is_stopped: bool,
    /// The output also ends where nothing but stop tokens can follow.
    is_asked_ahead: bool,
}

impl OracleMatcher {
    /// Returns an oracle at the empty text, with the stop tokens of the vocabulary.
    pub fn new(recognizer: &Recognizer, vocab: Arc<Vocab>) -> Self {
        let (order, stop_tokens) = (text_order(&vocab).into(), vocab.stop_tokens().to_vec());
        let (chart, history) = (recognizer.start(), vec![]);
        OracleMatcher { vocab, order, stop_tokens, chart, history, is_stopped: false, is_asked_ahead: false }
    }

    /// Replaces the stop tokens.
    pub fn set_stop_tokens(&mut self, ids: &[TokenId]) {
        self.stop_tokens = ids.to_vec();
    }

    /// Sets whether the output also ends where the text is complete and nothing but stop tokens can follow.
    pub fn set_terminate_when_nothing_follows(&mut self, is_asked: bool) {
        self.is_asked_ahead = is_asked;
    }

    /// Returns the mask row.
    pub fn mask(&mut self) -> Vec<u32> {
        // Where nothing but stop tokens follows, the mask is the same before the end and behind it.
        mask_in_order(&mut self.chart, &self.vocab, &self.order, &self.stop_tokens, self.is_stopped)
    }

    /// Accepts a token. Returns whether it is allowed; if not, nothing changes.
    pub fn accept_token(&mut self, id: TokenId) -> bool {
        let before = (self.chart.len(), self.is_stopped);
        let is_stop = self.stop_tokens.contains(&id);
        let vocab = &*self.vocab;
        let is_allowed = if self.is_terminated() {
            self.is_stopped |= is_stop;
            is_stop
        } else if is_stop {
            // Named or not: the output ends if the text is complete now.
            let is_named = self.chart.push_whole(vocab, id, true);
            self.is_stopped = self.chart.is_accepting();
            is_named || self.is_stopped
        } else if vocab.bytes(id).is_empty() {
            self.chart.push_whole(vocab, id, false)
        } else {
            self.chart.push_text_or_whole(vocab, id)
        };
        if is_allowed {
            self.chart.end_token();
            self.history.push(before);
        }
        is_allowed
    }

    /// Accepts bytes as one step. Returns whether they are viable; if not, nothing changes.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> bool {
        let before = self.chart.len();
        if self.is_terminated() || self.chart.push_bytes(bytes) < bytes.len() {
            self.chart.truncate(before);
            return false;
        }
        self.chart.end_token();
        self.history.push((before, false));
        true
    }

    /// Undoes the last `k` steps. Returns whether there were that many; if not, nothing changes.
    pub fn rollback(&mut self, k: usize) -> bool {
        let Some(n_left) = self.history.len().checked_sub(k) else { return false };
        if let Some(&(len, is_stopped)) = self.history.get(n_left) {
            self.chart.truncate(len);
            self.is_stopped = is_stopped;
            self.history.truncate(n_left);
        }
        true
    }

    /// Returns the longest common prefix of all completions, cut at `len_max` bytes.
    pub fn forced_text(&mut self, len_max: usize) -> Vec<u8> {
        let before = self.chart.len();
        let mut forced = Vec::new();
        while forced.len() < len_max && !self.is_stopped && !self.chart.is_accepting() && !self.chart.expects_control()
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

    /// Returns whether the output has ended: by a stop token, or since nothing but stop tokens can follow, where that was asked for.
    pub fn is_terminated(&self) -> bool {
        let is_exhausted = || {
            let mut following = self.clone().mask();
            self.stop_tokens.iter().for_each(|&id| following[id as usize / 32] &= !(1 << (id % 32)));
            self.is_accepting() && following.iter().all(|&word| word == 0)
        };
        self.is_stopped || self.is_asked_ahead && is_exhausted()
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

//! Masks by definition: try each token.

use super::chart::Chart;
use crate::vocab::{TokenId, Vocab};

/// Returns the mask row after the text of `chart`, by trying each token; the chart is unchanged afterwards.
///
/// - A text token is allowed if its bytes are viable, a control token if the grammar names it or its name stands in a marker, added text in both cases; any token
///   but padding is allowed if the grammar names its id, or its text where no token has that name; or if it is of a set of tokens that the grammar reads.
/// - A stop token is in no set.
/// - A stop token is never text. It is allowed if the grammar names it, and otherwise exactly if the text so far is a sentence.
/// - After termination only stop tokens are allowed.
pub fn mask(chart: &mut Chart, vocab: &Vocab, stop_tokens: &[TokenId], is_terminated: bool) -> Vec<u32> {
    mask_in_order(chart, vocab, &text_order(vocab), stop_tokens, is_terminated)
}

/// Returns the text tokens in the order of their bytes, so that neighbours share prefixes.
pub(super) fn text_order(vocab: &Vocab) -> Vec<TokenId> {
    let mut order: Vec<TokenId> = (0..vocab.n_tokens() as TokenId).filter(|&id| !vocab.bytes(id).is_empty()).collect();
    order.sort_by_key(|&id| vocab.bytes(id));
    order
}

pub(super) fn mask_in_order(
    chart: &mut Chart,
    vocab: &Vocab,
    order: &[TokenId],
    stop_tokens: &[TokenId],
    is_terminated: bool,
) -> Vec<u32> {
    let mut row = vec![0; vocab.n_mask_words()];
    let mut allow = |id: TokenId| row[id as usize / 32] |= 1 << (id % 32);
    let is_stop = |id: TokenId| stop_tokens.contains(&id);
    let can_stop = is_terminated || chart.is_accepting();
    stop_tokens.iter().filter(|_| can_stop).for_each(|&id| allow(id));
    if is_terminated {
        return row;
    }
    if chart.expects_control() || chart.expects_marker() {
        (0..vocab.n_tokens() as TokenId)
            .filter(|&id| push_as_control(chart, vocab, id, is_stop(id)))
            .for_each(&mut allow);
    }
    // The prefix that a token shares with its predecessor is not read again.
    let start = chart.len();
    let mut last: &[u8] = &[];
    for &id in order {
        let bytes = vocab.bytes(id);
        let n_common = last.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        let n_read = chart.len() - start;
        if n_common <= n_read {
            chart.truncate(start + n_common);
            chart.push_bytes(&bytes[n_common..]);
            last = bytes;
        } // Else it begins with the bytes that were refused last.
        if chart.len() - start == bytes.len() && n_common <= n_read && !is_stop(id) {
            allow(id);
        }
    }
    chart.truncate(start);
    row
}

/// Returns whether the grammar names the token here, or reads it as one of a set; the chart is unchanged afterwards.
fn push_as_control(chart: &mut Chart, vocab: &Vocab, id: TokenId, is_stop: bool) -> bool {
    let len = chart.len();
    let is_read = chart.push_whole(vocab, id, is_stop);
    chart.truncate(len);
    is_read
}

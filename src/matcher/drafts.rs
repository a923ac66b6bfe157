//! Drafts: the masks behind tokens that another model proposed, before any of them is accepted.
//!
//! Speculative decoding lets a small model write ahead, as a chain of tokens or as a tree of alternatives, and asks the large model about all of its positions at once. Each
//! position needs a mask of its own. The simple way forks the matcher for each, accepts the tokens up to there and fills a row. Here one matcher walks the tree depth first,
//! takes back what it accepted, and fills a row at each node:
//!
//! ```text
//! accepted text  -- 0 --+-- "{" 1 --+-- "\"a" 2      row 0: what may follow the text        row 2: what may follow `{"a`
//!                       |           +-- "]"   3      row 1: what may follow `{`             row 3: as row 1, since `{]` is refused
//!                       +-- "["  4                   row 4: what may follow `[`
//! ```
//!
//! Cost: accepting and filling at each node, about as much as for as many steps; refused drafts take a copy of a row. Nothing is allocated once the memory to walk in is as large
//! as the largest tree so far.

use super::draft_walk::{DraftWalk, NONE};
use super::{Failure, Fill, MatchError, Matcher};
use crate::util::bit_row;
use crate::vocab::TokenId;

/// What [`Matcher::fill_masks_for_chain`] found out on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChainFill {
    /// How many of the drafts can be accepted, one after the other.
    pub n_acceptable: usize,
    /// Every token is allowed in every row: there is nothing to apply.
    pub all_set: bool,
}

/// What [`Matcher::fill_masks_for_tree`] found out on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TreeFill<'a> {
    /// By node: whether it and all drafts above it can be accepted, one after the other. Node 0 always can.
    pub is_acceptable: &'a [bool],
    /// Every token is allowed in every row: there is nothing to apply.
    pub all_set: bool,
}

/// What became of the rows behind drafts.
struct Ahead {
    /// Why a row could not be filled.
    error: Option<MatchError>,
    /// A row has the stop tokens, since the matcher fails closed.
    is_closed: bool,
}

/// Rows one behind the other.
struct Rows<'a> {
    words: &'a mut [u32],
    words_per_row: usize,
}

impl<'a> Rows<'a> {
    /// Returns the first `n_rows` rows of `words`.
    fn new(words: &'a mut [u32], words_per_row: usize, n_rows: usize, n_mask_words: usize) -> Result<Self, MatchError> {
        if words_per_row < n_mask_words {
            return Err(MatchError::row_too_short(words_per_row, n_mask_words));
        }
        let (given, needed) = (words.len(), n_rows.saturating_mul(words_per_row));
        let words = words.get_mut(..needed).ok_or_else(|| MatchError::rows_too_short(given, needed))?;
        Ok(Rows { words, words_per_row })
    }

    fn row(&mut self, index: usize) -> &mut [u32] {
        &mut self.words[index * self.words_per_row..][..self.words_per_row]
    }

    fn has(&self, index: usize, token: TokenId) -> bool {
        bit_row::has(&self.words[index * self.words_per_row..], token)
    }

    fn copy(&mut self, from: usize, to: usize) {
        let from = from * self.words_per_row;
        self.words.copy_within(from..from + self.words_per_row, to * self.words_per_row);
    }
}

impl Matcher {
    /// Fills the rows of a chain of drafts: row `i` is the mask of what may follow the first `i` of them, so that row 0 is that of [`fill_mask`](Self::fill_mask), row `i` is
    /// for the model's answer to draft `i`, and there is one more row than drafts. Row `i` is `rows[i * words_per_row..][..words_per_row]`; words beyond the vocabulary are
    /// cleared, words beyond the last row are left as they are. The matcher is as before.
    ///
    /// A draft is acceptable if those before it are and its bit is set in the row before it; a token that isn't in the vocabulary is not. Behind a draft that isn't,
    /// rows are copies of the one that refuses it: whatever is sampled there comes to nothing. Behind a stop token that ends the output the row has the stop tokens.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let vocab = Vocab::from_tokens(["a", "b", "c"])?;
    /// let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= ("a" "b"* "c")*"#)?.matcher();
    /// let mut rows = [0; 4];
    /// let filled = matcher.fill_masks_for_chain(&[0, 1, 0], &mut rows, 1)?;
    /// assert_eq!((filled.n_acceptable, rows), (2, [0b001, 0b110, 0b110, 0b110]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there are fewer words than rows need, or `words_per_row` is less than a mask has ([`MatchError::bound`] has the words that there are, and those needed); nothing is
    /// written then.
    ///
    /// If a row can't be filled, as in [`fill_mask`](Self::fill_mask). All rows are zeros then, and [`MatchError::token_index`] is the index of the last draft before that row, none
    /// for the first row. The drafts before that one have masks: the call can be repeated with them. A matcher that [fails closed](Self::set_fail_closed) fills such a row with the stop
    /// tokens, and goes on.
    pub fn fill_masks_for_chain(
        &mut self,
        drafts: &[TokenId],
        rows: &mut [u32],
        words_per_row: usize,
    ) -> Result<ChainFill, MatchError> {
        let n_mask_words = self.grammar.vocab().n_mask_words();
        let mut rows = Rows::new(rows, words_per_row, drafts.len() + 1, n_mask_words)?;
        let filled = self.fill_chain(drafts, &mut rows);
        if filled.is_err() {
            rows.words.fill(0);
        }
        filled
    }

    fn fill_chain(&mut self, drafts: &[TokenId], rows: &mut Rows<'_>) -> Result<ChainFill, MatchError> {
        let Fill { mut all_set, .. } = self.fill_mask(rows.row(0))?;
        let failure = self.failure.clone();
        let (mut n_acceptable, mut ahead) = (0, self.begin_ahead());
        while n_acceptable < drafts.len() && self.accept_draft(drafts[n_acceptable], n_acceptable, rows) {
            n_acceptable += 1;
            let Some(fill) = self.fill_ahead(n_acceptable, n_acceptable - 1, rows, &mut ahead) else { break };
            all_set &= fill.all_set;
        }
        self.undo(n_acceptable);
        self.end_ahead(failure, ahead)?;
        for index in n_acceptable..drafts.len() {
            rows.copy(index, index + 1);
        }
        Ok(ChainFill { n_acceptable, all_set })
    }

    /// Fills the rows of a tree of drafts: row `i` is the mask of what may follow node `i`, that is the text so far and the drafts on the way from node 0 to node `i`. Node 0 stands for
    /// the text so far: its parent is -1 and its token is not looked at. The parent of every other node is a node before it, and its token the draft. Rows are as those of
    /// [`fill_masks_for_chain`](Self::fill_masks_for_chain), which is the same for a tree without branches. The matcher is as before.
    ///
    /// A draft is acceptable if its parent is and its bit is set in its parent's row; the row of one that isn't is a copy of its parent's, and so are all rows below.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let vocab = Vocab::from_tokens(["a", "b", "c"])?;
    /// let mut matcher = GrammarCompiler::new(vocab.into()).compile_ebnf(r#"root ::= ("a" "b"* "c")*"#)?.matcher();
    /// matcher.accept_token(0)?;
    /// // Behind "a" come "b" and "c", and behind "b" another "b" and "a".
    /// let (parents, tokens) = ([-1, 0, 0, 1, 1], [0, 1, 2, 1, 0]);
    /// let mut rows = [0; 5];
    /// let filled = matcher.fill_masks_for_tree(&parents, &tokens, &mut rows, 1)?;
    /// assert_eq!(filled.is_acceptable, [true, true, true, true, false]);
    /// assert_eq!(rows, [0b110, 0b110, 0b001, 0b110, 0b110]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a parent is not before its child, or node 0 has one ([`MatchError::token_index`] is the node); if there are not as many tokens as parents; if there are too few words. Nothing is
    /// written then.
    ///
    /// If a row can't be filled, as in [`fill_mask`](Self::fill_mask). All rows are zeros then, and [`MatchError::token_index`] is the node, none for node 0. The call can be repeated
    /// without that node and those below it. A matcher that [fails closed](Self::set_fail_closed) fills such a row with the stop tokens, and goes on.
    pub fn fill_masks_for_tree(
        &mut self,
        parents: &[i32],
        tokens: &[TokenId],
        rows: &mut [u32],
        words_per_row: usize,
    ) -> Result<TreeFill<'_>, MatchError> {
        if tokens.len() != parents.len() {
            return Err(MatchError::lengths_differ(tokens.len(), parents.len()));
        }
        let n_mask_words = self.grammar.vocab().n_mask_words();
        let mut rows = Rows::new(rows, words_per_row, parents.len(), n_mask_words)?;
        let mut walk = core::mem::take(&mut self.scratch.drafts);
        let filled = walk.link(parents).and_then(|()| {
            let filled = self.fill_tree(parents, tokens, &mut rows, &mut walk);
            if filled.is_err() {
                rows.words.fill(0);
            }
            filled
        });
        self.scratch.drafts = walk;
        let all_set = filled?;
        Ok(TreeFill { is_acceptable: &self.scratch.drafts.is_acceptable, all_set })
    }

    /// Fills the rows of a tree; tells whether every token is allowed in every row.
    fn fill_tree(
        &mut self,
        parents: &[i32],
        tokens: &[TokenId],
        rows: &mut Rows<'_>,
        walk: &mut DraftWalk,
    ) -> Result<bool, MatchError> {
        if parents.is_empty() {
            return Ok(true);
        }
        let Fill { mut all_set, .. } = self.fill_mask(rows.row(0))?;
        let failure = self.failure.clone();
        let mut ahead = self.begin_ahead();
        walk.is_acceptable[0] = true;
        walk.path.push((0, walk.links[0].0));
        // Depth first.
        while let Some((parent, next)) = walk.path.last_mut() {
            let node = *next as usize;
            if *next == NONE {
                walk.path.pop();
                self.undo(usize::from(!walk.path.is_empty()));
                continue;
            }
            let (first_child, sibling) = walk.links[node];
            *next = sibling;
            if self.accept_draft(tokens[node], *parent as usize, rows) {
                walk.is_acceptable[node] = true;
                walk.path.push((node as u32, first_child));
                let Some(fill) = self.fill_ahead(node, node, rows, &mut ahead) else { break };
                all_set &= fill.all_set;
            }
        }
        self.undo(walk.path.len().saturating_sub(1));
        self.end_ahead(failure, ahead)?;
        for (node, &parent) in parents.iter().enumerate().skip(1) {
            if !walk.is_acceptable[node] {
                rows.copy(parent as usize, node);
            }
        }
        Ok(all_set)
    }

    /// Begins a walk over drafts, behind the first row.
    fn begin_ahead(&mut self) -> Ahead {
        let is_closed = self.failure.error.is_some();
        // Also for the second draft below a row.
        self.failure.is_closed_ahead = is_closed;
        Ahead { error: None, is_closed }
    }

    /// Fills a row behind drafts that were accepted, of which `last_draft` is the index of the last one in the caller's list; nothing if that fails, which is noted.
    fn fill_ahead(&mut self, row: usize, last_draft: usize, rows: &mut Rows<'_>, ahead: &mut Ahead) -> Option<Fill> {
        let filled = self.fill_mask(rows.row(row));
        ahead.is_closed |= self.failure.error.is_some();
        self.failure.is_closed_ahead = ahead.is_closed;
        filled.map_err(|error| ahead.error = Some(error.in_list(last_draft))).ok()
    }

    /// Ends a walk over drafts, which were all taken back; `failure` is what became of the first row.
    fn end_ahead(&mut self, failure: Failure, ahead: Ahead) -> Result<(), MatchError> {
        let is_poisoned = self.failure.is_poisoned;
        self.failure = Failure { is_closed_ahead: ahead.is_closed, is_poisoned, ..failure };
        ahead.error.map_or(Ok(()), Err)
    }

    /// Accepts a draft if its bit is set in the row before it.
    fn accept_draft(&mut self, draft: TokenId, row_before: usize, rows: &Rows<'_>) -> bool {
        let is_known = (draft as usize) < self.grammar.vocab().n_tokens();
        is_known && rows.has(row_before, draft) && self.accept_token(draft).is_ok()
    }
}

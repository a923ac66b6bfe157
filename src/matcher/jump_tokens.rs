//! Forced text as tokens.
//!
//! Forced bytes need no model, but the model goes on behind tokens, and those should be the tokens that it saw in training. Two things stand in the way, at either end:
//!
//! ```text
//! accepted   {"na      tokens   {"  na             forced   me":
//! tokenizer  {"name":           {"  name  ":       so `na` has to be taken back: the tokenizer has no boundary there
//!
//! forced     ":        then     ": or ":"          so `":` isn't certain: what the model writes next may belong to the same token
//! ```
//!
//! Let `T` be the tokenizer, `a` the accepted text and `f` the forced text. A token of `T(af)` is *certain* if it and all before it are in `T(afx)` for every `x` that may follow. The
//! simple method tries all `x`. But a tokenizer that is consistent ([`Tokenize`]) splits `afx` as `T((af)[..o])`, a token `w` that begins at `o` and goes beyond `af`, and more. So it is enough to
//! look at each `o` where some token begins with the rest of `af`, and at the tokens `w` that do and whose remainder may follow: if `T((af)[..o] w)` is `T((af)[..o])` and `w`, then the tokens of
//! `T(af)` beyond those of `T((af)[..o])` are not certain. Those `o` are the ends of few tokens, all near the end.

use super::Matcher;
use super::error::MatchError;
use super::history::AcceptedPiece;
use crate::vocab::{TokenId, TokenKind, Tokenize, TrieNode, Vocab};

/// Most texts that a tokenizer is asked about for one call, beyond those at the ends of few tokens; what would take more counts as not certain.
const TOKENIZED_MAX: usize = 256;

/// Forced text as tokens: what [`Matcher::jump_forward_tokens`] returns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ForcedTokens {
    /// How many steps to take back first: the tokenizer would merge the last accepted tokens with forced text.
    pub n_taken_back: usize,
    /// The tokens that follow then. They spell what was taken back and some of the forced text, so that accepting them succeeds.
    pub tokens: Vec<TokenId>,
}

/// Text that was accepted, as far as the tokenizer sees it: behind the last control token.
struct AcceptedText {
    bytes: Vec<u8>,
    /// Where tokens end that can be taken back, behind where the first of them begins.
    boundaries: Vec<usize>,
}

/// The tokenizer of those who have none: markers as control tokens, and all else by longest match.
struct Greedy<'a> {
    vocab: &'a Vocab,
    /// The offsets at which control tokens stand.
    markers: Vec<(usize, TokenId)>,
}

impl Tokenize for Greedy<'_> {
    fn tokenize(&self, text: &[u8]) -> Vec<TokenId> {
        let (mut tokens, mut end) = (Vec::new(), 0);
        for &(offset, token) in &self.markers {
            let after = offset + spelling(self.vocab, token).len();
            if after <= text.len() {
                tokens.extend(self.vocab.tokenize(&text[end..offset]));
                tokens.push(token);
                end = after;
            }
        }
        tokens.extend(self.vocab.tokenize(&text[end..]));
        tokens
    }
}

/// Returns what a token spells in forced text: a control token its name.
fn spelling(vocab: &Vocab, token: TokenId) -> &[u8] {
    match vocab.kind(token) {
        TokenKind::Control => vocab.name(token).map_or(&[], str::as_bytes),
        _ => vocab.bytes(token),
    }
}

/// A text as tokens, with where each ends.
struct Tokenized {
    tokens: Vec<TokenId>,
    ends: Vec<usize>,
}

impl Matcher {
    /// Returns the forced text ([`jump_forward`](Self::jump_forward)) as tokens, as far as they are certain: those with which the tokenizer spells the accepted text, the forced text, and whatever may
    /// follow it. Where it would merge what was accepted with what is forced, some accepted tokens have to be taken back. The matcher is as before: to follow it, take back
    /// [`n_taken_back`](ForcedTokens::n_taken_back) steps and accept the [`tokens`](ForcedTokens::tokens). Both are nothing if no forced token is certain.
    ///
    /// Accepted tokens stay up to the last of their ends where the tokenizer has a boundary as well, also where it would not have chosen them. The tokenizer sees the text behind the last control
    /// token; bytes that were accepted as such are part of it, and can't be taken back. Nothing is certain where it would merge tokens that the grammar reads as a whole. Tokens that are
    /// stop tokens of the matcher are not used. A control token of the tokenizer spells its name, and is one of the tokens where the grammar reads a marker of that name; elsewhere the tokens
    /// end before it.
    ///
    /// Without a tokenizer the forced text is spelled by itself, markers by control tokens, and all else each time by the longest token that fits; nothing is taken back.
    ///
    /// ```
    /// use maskwright::vocab::Vocab;
    /// use maskwright::GrammarCompiler;
    /// let vocab = std::sync::Arc::new(Vocab::from_tokens(["{", "\"", "na", "me", "name", "\":", "\":1", "1", "2"])?);
    /// let grammar = GrammarCompiler::new(vocab.clone()).compile_ebnf(r#"root ::= "{\"name\":" [12]"#)?;
    /// let mut matcher = grammar.matcher();
    /// matcher.accept_tokens(&[0, 1, 2])?;
    /// // The vocabulary as a tokenizer, by longest match: "name" is one token, and `":` may yet become `":1`.
    /// let forced = matcher.jump_forward_tokens(Some(&*vocab))?;
    /// assert_eq!((forced.n_taken_back, &*forced.tokens), (1, &[4][..]));
    /// // Without a tokenizer `me` is spelled by itself.
    /// let forced = matcher.jump_forward_tokens(None)?;
    /// assert_eq!((forced.n_taken_back, &*forced.tokens), (0, &[3][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cost: the tokenizer reads the text a few times, up to some hundred times in the worst case; call it where [`jump_forward`](Self::jump_forward) is worth it, and not each step.
    ///
    /// # Errors
    /// If the tokenizer's tokens don't spell the text ([`MatchError::byte_offset`] is where they differ, from the beginning of the text that it was given); with a tokenizer, if the text so far was
    /// [forgotten](Self::forget_history); if a step takes more than the [`Limits`](crate::Limits) allow.
    pub fn jump_forward_tokens(&mut self, tokenizer: Option<&dyn Tokenize>) -> Result<ForcedTokens, MatchError> {
        let forced = self.jump_forward();
        if forced.is_empty() {
            return Ok(ForcedTokens::default());
        }
        let vocab = std::sync::Arc::clone(self.grammar.vocab());
        let accepted = match tokenizer {
            None => AcceptedText { bytes: Vec::new(), boundaries: vec![0] },
            Some(_) => self.accepted_text()?,
        };
        let greedy =
            Greedy { vocab: &vocab, markers: if tokenizer.is_none() { self.markers(&forced) } else { Vec::new() } };
        let tokenizer = tokenizer.unwrap_or(&greedy);
        let n_accepted = accepted.bytes.len();
        let mut text = accepted.bytes;
        text.extend_from_slice(&forced);
        let all = self.tokenized(tokenizer, &text)?;
        // As far as the tokenizer reads it: the last character may be incomplete.
        text.truncate(all.ends.last().copied().unwrap_or(0));
        if text.len() <= n_accepted {
            return Ok(ForcedTokens::default());
        }
        let failure = self.failure.clone();
        self.accept_bytes(&text[n_accepted..])?;
        let n_certain = self.count_certain(tokenizer, &text, &all);
        self.undo(1);
        self.failure = failure;
        let is_stop = |token: &TokenId| self.stop_tokens().contains(token);
        let n_certain = n_certain?.min(all.tokens.iter().position(is_stop).unwrap_or(usize::MAX));
        if all.ends[..n_certain].last().is_none_or(|&end| end <= n_accepted) {
            return Ok(ForcedTokens::default());
        }
        // How many tokens of the tokenizer end where an accepted one does, at the last place where that is so.
        let common = accepted.boundaries.iter().enumerate().rev().find_map(|(index, &boundary)| match boundary {
            0 => Some((index, 0)),
            _ => all.ends[..n_certain].binary_search(&boundary).ok().map(|token| (index, token + 1)),
        });
        let forced = common.map_or_else(ForcedTokens::default, |(index, first)| ForcedTokens {
            n_taken_back: accepted.boundaries.len() - 1 - index,
            tokens: all.tokens[first..n_certain].to_vec(),
        });
        Ok(self.followed(forced))
    }

    /// Returns forced tokens as far as they can be followed: tokens that were read as a whole, whatever their text, can't be merged with others, and a control token is read where the grammar
    /// has it.
    fn followed(&self, mut forced: ForcedTokens) -> ForcedTokens {
        let vocab = self.grammar.vocab();
        let may_be_merged = forced.n_taken_back > 0 && self.grammar.program().has_controls();
        if !may_be_merged && forced.tokens.iter().all(|&token| vocab.is_text(token)) {
            return forced;
        }
        let mut fork = self.fork();
        fork.undo(forced.n_taken_back);
        let n_followed = forced.tokens.iter().take_while(|&&token| fork.accept_token(token).is_ok()).count();
        match forced.n_taken_back {
            _ if n_followed == forced.tokens.len() => forced,
            0 => {
                forced.tokens.truncate(n_followed);
                forced
            }
            _ => ForcedTokens::default(),
        }
    }

    /// Returns where control tokens may spell parts of forced text, the longest at each place, each behind the one before: its offset and the token.
    fn markers(&self, forced: &[u8]) -> Vec<(usize, TokenId)> {
        let mut markers = Vec::new();
        if !self.grammar.program().has_controls() {
            return markers;
        }
        let vocab = self.grammar.vocab();
        // Names are whole characters; what ends within one has none.
        let text = core::str::from_utf8(forced);
        let text = text
            .unwrap_or_else(|error| core::str::from_utf8(&forced[..error.valid_up_to()]).expect("valid up to there"));
        let is_marker = |id: TokenId| vocab.kind(id) == TokenKind::Control && !self.stop_tokens().contains(&id);
        let mut fork = self.fork();
        let mut offset = 0;
        while offset < forced.len() {
            let rest = &forced[offset..];
            let mut marker = None;
            if let Some(text) = text.get(offset..) {
                vocab.for_each_name_beginning(text, |name, ids| {
                    let mut ids = ids.iter().filter(|&&id| is_marker(id) && !name.is_empty());
                    marker = marker.or_else(|| ids.find(|&&id| fork.is_token_allowed(id)).map(|&id| (name.len(), id)));
                });
            }
            let accepted = match marker {
                Some((_, id)) => fork.accept_token(id),
                None => fork.accept_bytes(&rest[..1]),
            };
            if accepted.is_err() {
                break;
            }
            markers.extend(marker.map(|(_, id)| (offset, id)));
            offset += marker.map_or(1, |(n_bytes, _)| n_bytes);
        }
        markers
    }

    /// Returns the text behind the last control token.
    fn accepted_text(&self) -> Result<AcceptedText, MatchError> {
        let vocab = self.grammar.vocab();
        let mut text = AcceptedText { bytes: Vec::new(), boundaries: vec![0] };
        let mut is_known = !self.is_trimmed;
        self.history.for_each_accepted(|piece| match piece {
            AcceptedPiece::Token(token) if vocab.is_text(token) && !self.stop_tokens().contains(&token) => {
                text.bytes.extend_from_slice(vocab.bytes(token));
                text.boundaries.push(text.bytes.len());
            }
            AcceptedPiece::Token(_) => {
                is_known = true;
                text = AcceptedText { bytes: Vec::new(), boundaries: vec![0] };
            }
            AcceptedPiece::Bytes(bytes) => {
                text.bytes.extend(bytes);
                text.boundaries = vec![text.bytes.len()];
            }
        });
        if is_known { Ok(text) } else { Err(MatchError::history_forgotten()) }
    }

    /// Tokenizes a text, and checks that the tokens spell it or a prefix of it.
    fn tokenized(&self, tokenizer: &dyn Tokenize, text: &[u8]) -> Result<Tokenized, MatchError> {
        let (tokens, mut end) = (tokenizer.tokenize(text), 0);
        let mut ends = Vec::with_capacity(tokens.len());
        for &token in &tokens {
            let bytes = spelling(self.grammar.vocab(), token);
            if bytes.is_empty() || !text[end..].starts_with(bytes) {
                return Err(MatchError::not_spelled(token, end));
            }
            end += bytes.len();
            ends.push(end);
        }
        Ok(Tokenized { tokens, ends })
    }

    /// Returns how many tokens of a text are certain, this matcher being behind it.
    fn count_certain(&mut self, tokenizer: &dyn Tokenize, text: &[u8], all: &Tokenized) -> Result<usize, MatchError> {
        let vocab = std::sync::Arc::clone(self.grammar.vocab());
        let trie = vocab.trie();
        // Where a longer token may begin, and how many tokens are certain if it does.
        let mut begins: Vec<(usize, TrieNode, Tokenized, usize)> = Vec::new();
        for offset in (text.len() + 1).saturating_sub(vocab.token_bytes_max())..text.len() {
            let Some(node) = trie.find(&text[offset..]).filter(|&node| trie.has_children(node)) else {
                continue;
            };
            let before = self.tokenized(tokenizer, &text[..offset])?;
            let n_common = before.tokens.iter().zip(&all.tokens).take_while(|(a, b)| a == b).count();
            begins.push((offset, node, before, n_common));
        }
        begins.sort_by_key(|&(.., n_common)| n_common);
        self.allow_work();
        let mut n_left = TOKENIZED_MAX;
        for (offset, node, before, n_common) in begins {
            if n_common < all.tokens.len()
                && self.may_go_beyond(tokenizer, text, (offset, node), &before, &mut n_left)?
            {
                return Ok(n_common);
            }
        }
        Ok(all.tokens.len())
    }

    /// Tells whether behind the tokens `before`, which end at an offset of the text, a token may follow that goes beyond the text.
    fn may_go_beyond(
        &mut self,
        tokenizer: &dyn Tokenize,
        text: &[u8],
        (offset, begin): (usize, TrieNode),
        before: &Tokenized,
        n_left: &mut usize,
    ) -> Result<bool, MatchError> {
        let vocab = std::sync::Arc::clone(self.grammar.vocab());
        let trie = vocab.trie();
        // The tokenizer doesn't tell what is before the middle of a character.
        let is_split = before.ends.last().copied().unwrap_or(0) < offset;
        let mut whole = text[..offset].to_vec();
        let (mut node, end) = (begin.next(), trie.subtree_end(begin));
        while node < end {
            let longest = trie.subtree_tokens(node).first().map_or(&[][..], |&token| vocab.bytes(token));
            let bytes = &longest[..usize::from(trie.depth(node))];
            let mark = self.stacks.mark();
            let rest = &bytes[text.len() - offset..];
            let may_follow = self.after_bytes(rest) == rest.len();
            self.stacks.truncate(mark);
            if !may_follow && !self.stacks.work.is_spent() {
                node = trie.subtree_end(node);
                continue;
            }
            if !trie.tokens(node).is_empty() {
                if self.stacks.work.is_spent() || is_split || *n_left == 0 {
                    return Ok(true);
                }
                *n_left -= 1;
                whole.truncate(offset);
                whole.extend_from_slice(bytes);
                let longer = self.tokenized(tokenizer, &whole)?;
                let is_one_more =
                    longer.tokens.len() == before.tokens.len() + 1 && longer.ends.last() == Some(&whole.len());
                if is_one_more && longer.tokens.starts_with(&before.tokens) {
                    return Ok(true);
                }
            }
            node = node.next();
        }
        Ok(false)
    }
}

//! The builder of vocabularies.

use super::{MergedTries, PackedStart, Regions, TokenId, TokenKind, TokenTables, Trie, Vocab, VocabError};
use crate::util::ByteSet;
use std::collections::BTreeMap;

/// Customary names of tokens that end a text or a turn.
const STOP_NAMES: &[&str] = &[
    "</s>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|eos|>",
    "<eos>",
    "<end_of_turn>",
    "<|END_OF_TURN_TOKEN|>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
    "[EOS]",
    "[SEP]",
];

/// A builder that collects the tokens of a vocabulary, their kinds and names, the stop tokens and the width of the logits.
///
/// [`build`](VocabBuilder::build) reports all errors, so that calls can be chained. Later calls override earlier ones.
#[derive(Clone, Debug, Default)]
pub struct VocabBuilder {
    bytes: Vec<u8>,
    /// Where each pushed token ends in `bytes`.
    ends: Vec<u32>,
    kinds: BTreeMap<TokenId, TokenKind>,
    names: BTreeMap<TokenId, Box<str>>,
    stop_tokens: Vec<TokenId>,
    logits_width: Option<usize>,
    /// Tokens beyond the width are dropped.
    is_cut: bool,
    /// The first push that could not be stored.
    error: Option<VocabError>,
}

impl Vocab {
    /// Returns a builder without tokens.
    pub fn builder() -> VocabBuilder {
        VocabBuilder::new()
    }

    /// Builds a vocabulary of text tokens, the first with id 0, and without stop tokens.
    ///
    /// # Errors
    /// As [`VocabBuilder::build`].
    pub fn from_tokens<T: AsRef<[u8]>>(tokens: impl IntoIterator<Item = T>) -> Result<Vocab, VocabError> {
        let mut builder = Vocab::builder();
        builder.extend(tokens);
        builder.build()
    }
}

impl VocabBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds the token with the next id, of kind text, and returns the id. It may be empty, and may equal another token. A token that
    /// passes a limit is not stored; [`build`](Self::build) reports it.
    pub fn push(&mut self, bytes: impl AsRef<[u8]>) -> TokenId {
        let bytes = bytes.as_ref();
        let id = self.ends.len();
        // A token past a limit is not stored, so that memory stays bounded; `build` reports the error.
        let error = if bytes.len() > Vocab::TOKEN_BYTES_MAX {
            Some(VocabError::token_too_long(id.min(Vocab::N_TOKENS_MAX) as TokenId, bytes.len()))
        } else if id >= Vocab::N_TOKENS_MAX {
            Some(VocabError::too_many_tokens(id + 1))
        } else if self.bytes.len() + bytes.len() > Vocab::BYTES_MAX {
            Some(VocabError::too_many_bytes())
        } else {
            None
        };
        if let Some(error) = error {
            self.error.get_or_insert(error);
            return id as TokenId;
        }
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len() as u32);
        id as TokenId
    }

    /// Adds tokens with the next ids, of kind text.
    pub fn extend<T: AsRef<[u8]>>(&mut self, tokens: impl IntoIterator<Item = T>) -> &mut Self {
        for token in tokens {
            self.push(token);
        }
        self
    }

    /// Returns the number of tokens pushed so far.
    pub fn n_pushed(&self) -> usize {
        self.ends.len()
    }

    /// Sets the kind of a token. A token without a name that becomes control or added text is named by its bytes, when they are
    /// UTF-8. An id beyond the pushed tokens may become a control token, which needs no bytes.
    pub fn set_kind(&mut self, id: TokenId, kind: TokenKind) -> &mut Self {
        self.kinds.insert(id, kind);
        self
    }

    /// Names a token for grammars; several tokens may share a name.
    pub fn set_name(&mut self, id: TokenId, name: &str) -> &mut Self {
        self.names.insert(id, name.into());
        self
    }

    /// Sets the tokens that end a document, in place of those set before. A stop token is never text: it becomes a control token,
    /// whatever its kind was.
    pub fn stop_tokens(&mut self, ids: impl IntoIterator<Item = TokenId>) -> &mut Self {
        self.stop_tokens = ids.into_iter().collect();
        self
    }

    /// Sets the stop tokens to the control tokens that have customary names of tokens that end a text or a turn, such as `</s>`,
    /// `<|endoftext|>`, `<|eot_id|>`, `<|im_end|>`, `<eos>`, `<end_of_turn>`; to none if there is no such token. Most tokenizer files do not
    /// say which tokens stop, so this is a guess: use [`stop_tokens`](Self::stop_tokens) where they are known.
    pub fn guess_stop_tokens(&mut self) -> &mut Self {
        let is_control = |id: &TokenId| self.kinds.get(id) == Some(&TokenKind::Control);
        let name_of = |id: TokenId| match self.names.get(&id) {
            Some(name) => Some(&**name),
            None => self.pushed_bytes(id).and_then(|bytes| core::str::from_utf8(bytes).ok()),
        };
        let ids = self.kinds.keys().copied().filter(is_control);
        let stops = ids.filter(|&id| name_of(id).is_some_and(|name| STOP_NAMES.contains(&name))).collect();
        self.stop_tokens = stops;
        self
    }

    /// Sets the width of a row of logits, where it is larger than the number of tokens; the ids beyond are padding, but for those that are declared stop tokens.
    /// A smaller width is an error; see [`cut_to_logits_width`](Self::cut_to_logits_width).
    pub fn logits_width(&mut self, n_tokens: usize) -> &mut Self {
        (self.logits_width, self.is_cut) = (Some(n_tokens), false);
        self
    }

    /// Sets the width of a row of logits, where it may also be smaller than the number of tokens: a model with fewer logits than its tokenizer has tokens never
    /// samples those beyond. They are dropped, with their kinds and names, and are no stop tokens.
    ///
    /// ```
    /// use maskwright::Vocab;
    /// let mut builder = Vocab::builder();
    /// builder.extend(["a", "b", "<end>", "<extra>"]).stop_tokens([2, 3]);
    /// let vocab = builder.cut_to_logits_width(3).build()?;
    /// assert_eq!((vocab.n_tokens(), vocab.stop_tokens()), (3, &[2][..]));
    /// # Ok::<(), maskwright::vocab::VocabError>(())
    /// ```
    pub fn cut_to_logits_width(&mut self, n_tokens: usize) -> &mut Self {
        (self.logits_width, self.is_cut) = (Some(n_tokens), true);
        self
    }

    /// Builds the vocabulary and its indexes.
    ///
    /// # Errors
    /// If there is no token and no width; if a token, their number or their size passes [`Vocab::TOKEN_BYTES_MAX`],
    /// [`Vocab::N_TOKENS_MAX`] or [`Vocab::BYTES_MAX`]; if the width is smaller than the number of tokens; if a stop token, a
    /// kind or a name belongs to an id that is not below the width. (Where tokens are cut to the width, neither is an error.)
    pub fn build(&self) -> Result<Vocab, VocabError> {
        if let (true, Some(width)) = (self.is_cut, self.logits_width) {
            return self.cut_to(width).build();
        }
        let width = self.checked_width()?;
        let kinds = self.final_kinds(width);
        let names = self.final_names(&kinds);
        let (bytes, starts) = self.text_bytes(&kinds);

        let mut ids_by_name: BTreeMap<Box<str>, Vec<TokenId>> = BTreeMap::new();
        for (&id, name) in &names {
            ids_by_name.entry(name.clone()).or_default().push(id);
        }
        let mut stop_tokens = self.stop_tokens.clone();
        stop_tokens.sort_unstable();
        stop_tokens.dedup();
        let token_bytes_max = starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0) as usize;
        let trie = Trie::new(&bytes, &starts);
        let spellable: ByteSet = starts.windows(2).filter(|w| w[1] - w[0] == 1).map(|w| bytes[w[0] as usize]).collect();
        Ok(Vocab {
            token_bytes_max,
            unspellable_bytes: !spellable,
            regions: Regions::new(&trie, width),
            tables: TokenTables::of(&trie, &bytes, &starts, &kinds),
            trie,
            merged_tries: MergedTries::default(),
            bytes: bytes.into(),
            starts: starts
                .iter()
                .zip(kinds.iter().copied().chain([TokenKind::Padding]))
                .map(|(&start, kind)| PackedStart::new(start, kind))
                .collect(),
            names,
            ids_by_name: ids_by_name.into_iter().map(|(name, ids)| (name, ids.into())).collect(),
            stop_tokens: stop_tokens.into(),
        })
    }

    /// Returns a builder without the ids beyond a width.
    fn cut_to(&self, width: usize) -> VocabBuilder {
        let mut cut = self.clone();
        cut.is_cut = false;
        cut.ends.truncate(width);
        cut.bytes.truncate(cut.ends.last().map_or(0, |&end| end as usize));
        let is_kept = |id: TokenId| (id as usize) < width;
        cut.kinds.retain(|&id, _| is_kept(id));
        cut.names.retain(|&id, _| is_kept(id));
        cut.stop_tokens.retain(|&id| is_kept(id));
        cut
    }

    fn checked_width(&self) -> Result<usize, VocabError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let n_pushed = self.n_pushed();
        let width = self.logits_width.unwrap_or(n_pushed);
        if width > Vocab::N_TOKENS_MAX {
            return Err(VocabError::too_many_tokens(width));
        }
        if width < n_pushed {
            return Err(VocabError::width_too_small(width, n_pushed));
        }
        if width == 0 {
            return Err(VocabError::empty());
        }
        let in_range = |id: TokenId, role| match (id as usize) < width {
            true => Ok(()),
            false => Err(VocabError::id_out_of_range(id, width, role)),
        };
        self.stop_tokens.iter().try_for_each(|&id| in_range(id, "stop token"))?;
        self.kinds.keys().try_for_each(|&id| in_range(id, "token with a kind"))?;
        self.names.keys().try_for_each(|&id| in_range(id, "named token"))?;
        Ok(width)
    }

    fn final_kinds(&self, width: usize) -> Vec<TokenKind> {
        let mut kinds = vec![TokenKind::Text; self.n_pushed()];
        kinds.resize(width, TokenKind::Padding);
        for (&id, &kind) in &self.kinds {
            kinds[id as usize] = kind;
        }
        for &id in &self.stop_tokens {
            kinds[id as usize] = TokenKind::Control;
        }
        kinds
    }

    fn final_names(&self, kinds: &[TokenKind]) -> BTreeMap<TokenId, Box<str>> {
        let mut names = self.names.clone();
        for &id in self.kinds.keys().chain(&self.stop_tokens) {
            let is_special = matches!(kinds[id as usize], TokenKind::Control | TokenKind::AddedText);
            if is_special
                && let Some(bytes) = self.pushed_bytes(id)
                && let Ok(name) = core::str::from_utf8(bytes)
                && !name.is_empty()
            {
                names.entry(id).or_insert_with(|| name.into());
            }
        }
        names
    }

    fn pushed_bytes(&self, id: TokenId) -> Option<&[u8]> {
        let id = id as usize;
        let end = *self.ends.get(id)? as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        Some(&self.bytes[start..end])
    }

    /// Copies the bytes of the tokens that are text; all others get none. The bytes of `id` lie at `starts[id]..starts[id + 1]`.
    fn text_bytes(&self, kinds: &[TokenKind]) -> (Vec<u8>, Vec<u32>) {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut starts = Vec::with_capacity(kinds.len() + 1);
        starts.push(0);
        let mut start = 0;
        for (id, kind) in kinds.iter().enumerate() {
            if let Some(&end) = self.ends.get(id) {
                if matches!(kind, TokenKind::Text | TokenKind::AddedText) {
                    bytes.extend_from_slice(&self.bytes[start..end as usize]);
                }
                start = end as usize;
            }
            starts.push(bytes.len() as u32);
        }
        (bytes, starts)
    }
}

//! How texts are cut into tokens: as a tokenizer does, or, where a vocabulary has none or it would change the text, into the longest tokens that fit.

use crate::failure::Failure;
use crate::output::quoted;
use crate::vocabulary::{is_hf_json, read_text};
use maskwright::vocab::tiktoken;
use maskwright::{Encoding, TokenId, Vocab};
use std::path::Path;

/// What commands say where [`Cut::is_tokenizers`] is false.
pub const LONGEST: &str = "cut into the longest tokens: no tokenizer is known that keeps the text as it is";

/// Cuts texts.
pub enum Tokenizer {
    /// That of an embedded encoding.
    Tiktoken(Encoding),
    /// That of a `tokenizer.json` file.
    HuggingFace(Box<tokenizers::Tokenizer>),
    /// None: a file of ranks says how tokens are merged, but not where a text is split before.
    Longest,
}

/// The tokens of a text.
pub struct Cut {
    pub ids: Vec<TokenId>,
    /// Whether the tokenizer cuts the text so.
    pub is_tokenizers: bool,
}

impl Tokenizer {
    /// Returns the tokenizer of an embedded vocabulary or of a file.
    ///
    /// # Errors
    /// If the file can't be read or is not of its form.
    pub fn read(name: &str) -> Result<Self, Failure> {
        if let Some(encoding) = Encoding::ALL.into_iter().find(|encoding| encoding.name() == name) {
            return Ok(Tokenizer::Tiktoken(encoding));
        }
        let path = Path::new(name);
        let text = read_text(path)?;
        if !is_hf_json(path, &text) {
            return Ok(Tokenizer::Longest);
        }
        let failed = |message: String| Failure::File { path: crate::source::shown_path(path), message };
        let mut tokenizer: tokenizers::Tokenizer =
            text.parse().map_err(|error| failed(format!("no tokenizer: {error}")))?;
        // In a document the name of a control token is text, unless a grammar reads the token there.
        tokenizer.set_encode_special_tokens(true);
        tokenizer.with_truncation(None).map_err(|error| failed(error.to_string()))?.with_padding(None);
        Ok(Tokenizer::HuggingFace(Box::new(tokenizer)))
    }

    /// Cuts a text; nothing if no tokens of the vocabulary spell it.
    pub fn cut(&self, vocab: &Vocab, text: &[u8]) -> Option<Cut> {
        let spells = |ids: &[TokenId]| vocab.decode(ids) == text;
        if let Some(ids) = self.tokens(text).filter(|ids| spells(ids)) {
            return Some(Cut { ids, is_tokenizers: true });
        }
        let ids = vocab.tokenize_greedy(text);
        spells(&ids).then_some(Cut { ids, is_tokenizers: false })
    }

    /// Returns what the tokenizer makes of a text. It may be another one: some put a space first, some know fewer characters.
    fn tokens(&self, text: &[u8]) -> Option<Vec<TokenId>> {
        let text = std::str::from_utf8(text).ok()?;
        match self {
            Tokenizer::Tiktoken(encoding) => Some(tiktoken::encode(*encoding, text)),
            Tokenizer::HuggingFace(tokenizer) => Some(tokenizer.encode_fast(text, false).ok()?.get_ids().to_vec()),
            Tokenizer::Longest => None,
        }
    }

    /// As [`Self::cut`], for a command.
    ///
    /// # Errors
    /// If no token spells a part of the text.
    pub fn cut_all(&self, vocab: &Vocab, text: &[u8]) -> Result<Cut, Failure> {
        self.cut(vocab, text).ok_or_else(|| {
            let n_spelled: usize = vocab.tokenize_greedy(text).iter().map(|&id| vocab.bytes(id).len()).sum();
            let shown = text.get(n_spelled).map_or_else(String::new, |byte| quoted(&[*byte]));
            Failure::Stuck(format!("the vocabulary can't spell the text: no token has {shown} at byte {n_spelled}"))
        })
    }
}

//! The parts of a `tokenizer.json` file that decoding depends on.
//!
//! The `tokenizers` crate would read all of it, with merges, scores and regular expressions that only encoding needs; on the way it
//! refuses a file for a pre-tokenizer that it doesn't know, renumbers added tokens after a gap, and panics on some merges that
//! contradict the model. So the tables of tokens are read here, and the crate is asked about decoders only.

use crate::vocab::{TokenId, Vocab, VocabError};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A `tokenizer.json` file, as far as decoding depends on it.
#[derive(Deserialize)]
pub(super) struct TokenizerFile {
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    pub(super) added_tokens: Vec<AddedToken>,
    #[serde(default)]
    pub(super) normalizer: Value,
    #[serde(default)]
    pub(super) pre_tokenizer: Value,
    #[serde(default)]
    pub(super) decoder: Value,
    pub(super) model: ModelSection,
}

/// A token outside the model, or one of its tokens with a special meaning.
#[derive(Deserialize)]
pub(super) struct AddedToken {
    pub(super) id: TokenId,
    pub(super) content: String,
    #[serde(default)]
    pub(super) special: bool,
}

/// The model section; which fields there are depends on its type.
#[derive(Deserialize)]
pub(super) struct ModelSection {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    vocab: TokenTable,
    /// Names the token for text that the model can't spell.
    #[serde(default)]
    unk_token: Option<String>,
    /// The same for unigram models, as an id.
    #[serde(default)]
    unk_id: Option<TokenId>,
    #[serde(default)]
    pub(super) byte_fallback: bool,
    #[serde(default)]
    pub(super) continuing_subword_prefix: Option<String>,
    #[serde(default)]
    merges: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    max_input_chars_per_word: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenTable {
    Ids(BTreeMap<String, TokenId>),
    /// Tokens with their scores in the order of their ids; they may repeat.
    Pieces(Vec<(String, f64)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ModelKind {
    Bpe,
    Unigram,
    WordLevel,
    WordPiece,
}

impl TokenizerFile {
    pub(super) fn read(text: &str) -> Result<Self, VocabError> {
        let file: TokenizerFile = serde_json::from_str(text).map_err(|error| malformed(&error))?;
        match &file.version {
            Some(version) if version != "1.0" => Err(VocabError::unsupported("version", "it is not 1.0")),
            _ => Ok(file),
        }
    }

    /// Returns the tokens by id, as the file spells them; `None` where an id is skipped.
    pub(super) fn tokens(&self) -> Result<Vec<Option<String>>, VocabError> {
        let n_model = match &self.model.vocab {
            TokenTable::Ids(ids) => ids.values().max().map_or(0, |&id| id as usize + 1),
            TokenTable::Pieces(pieces) => pieces.len(),
        };
        let n_tokens = self.added_tokens.iter().map(|added| added.id as usize + 1).fold(n_model, usize::max);
        if n_tokens > Vocab::N_TOKENS_MAX {
            return Err(VocabError::too_many_tokens(n_tokens));
        }
        let mut tokens: Vec<Option<String>> = vec![None; n_tokens];
        match &self.model.vocab {
            TokenTable::Ids(ids) => ids.iter().try_for_each(|(token, &id)| place(&mut tokens, id, token))?,
            TokenTable::Pieces(pieces) => {
                pieces.iter().zip(&mut tokens).for_each(|((piece, _), slot)| *slot = Some(piece.clone()));
            }
        }
        for added in &self.added_tokens {
            if let TokenTable::Ids(ids) = &self.model.vocab
                && let Some(&id) = ids.get(&added.content)
                && id != added.id
            {
                let AddedToken { id: given, content, .. } = added;
                let message = format!("added token {content:?} has id {given}, but the model gives it {id}");
                return Err(VocabError::malformed(message));
            }
            place(&mut tokens, added.id, &added.content)?;
        }
        Ok(tokens)
    }

    /// Returns the id and the name of the model's token for text that it can't spell.
    pub(super) fn unknown_token(&self) -> Option<(TokenId, &str)> {
        match &self.model.vocab {
            TokenTable::Ids(ids) => {
                let name = self.model.unk_token.as_deref()?;
                Some((*ids.get(name)?, name))
            }
            TokenTable::Pieces(pieces) => {
                let id = self.model.unk_id?;
                Some((id, &pieces.get(id as usize)?.0))
            }
        }
    }
}

impl ModelSection {
    /// Returns the type of the model; old files don't say it.
    pub(super) fn kind(&self) -> Result<ModelKind, VocabError> {
        match (self.kind.as_deref(), &self.vocab) {
            (Some("BPE"), TokenTable::Ids(_)) => Ok(ModelKind::Bpe),
            (Some("WordPiece"), TokenTable::Ids(_)) => Ok(ModelKind::WordPiece),
            (Some("WordLevel"), TokenTable::Ids(_)) => Ok(ModelKind::WordLevel),
            (Some("Unigram") | None, TokenTable::Pieces(_)) => Ok(ModelKind::Unigram),
            (Some("BPE" | "WordPiece" | "WordLevel" | "Unigram"), _) => {
                Err(VocabError::malformed("the vocabulary of the model is not of the form that its type has"))
            }
            (Some(kind), _) => {
                let kind: String = kind.chars().take(60).collect();
                Err(VocabError::unsupported(format!("model.{kind}"), "the type is unknown"))
            }
            (None, TokenTable::Ids(_)) if self.merges.is_some() => Ok(ModelKind::Bpe),
            (None, TokenTable::Ids(_)) if self.max_input_chars_per_word.is_some() => Ok(ModelKind::WordPiece),
            (None, TokenTable::Ids(_)) => Ok(ModelKind::WordLevel),
        }
    }
}

/// Gives `id` to `token`; another may not have it.
fn place(tokens: &mut [Option<String>], id: TokenId, token: &str) -> Result<(), VocabError> {
    match &mut tokens[id as usize] {
        Some(other) if other != token => {
            Err(VocabError::malformed(format!("the tokens {other:?} and {token:?} have the same id {id}")))
        }
        slot => {
            *slot = Some(token.to_owned());
            Ok(())
        }
    }
}

/// Messages may quote the input: they are cut.
pub(super) fn malformed(error: &dyn std::fmt::Display) -> VocabError {
    let message: String = error.to_string().chars().take(300).collect();
    VocabError::malformed(format!("not a tokenizer file: {message}"))
}

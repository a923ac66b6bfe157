//! Vocabularies from Hugging Face `tokenizer.json` files.
//!
//! The file lists tokens as strings that are not the text they stand for: `Ġthe` is `" the"`, `<0x0A>` is a line feed, `▁the` is
//! `" the"`, `##ing` is `"ing"`. Which of these conventions hold is said by the file's *decoder* section, and a guess from the
//! model's name or from the look of the tokens is wrong for some model: in one vocabulary `▁` is a space, in another it is itself.
//! So each token is run through the decoder as it would be in mid-sequence (see `decoder`), and a decoder whose result can't
//! be said token by token is refused by name.
//!
//! - Added tokens marked special are control tokens, other added tokens are added text, both named by their content.
//! - The model's token for the unknown is a control token too: it stands for text that is not its own.
//! - The file doesn't say which tokens stop: those with a customary name do ([`VocabBuilder::guess_stop_tokens`]), until
//!   [`VocabBuilder::stop_tokens`] says better. Kinds and the logits width can be overridden there as well.
//! - Ids are those in the file; ids that it skips are padding.

mod decoder;
mod file;

use super::{TokenId, TokenKind, Vocab, VocabBuilder, VocabError};
use decoder::MidSequence;
use file::TokenizerFile;
use std::path::Path;

impl Vocab {
    /// Reads the text of a `tokenizer.json` file. Use [`VocabBuilder::from_hf_json`] to set stop tokens, kinds or the logits width.
    ///
    /// # Errors
    /// If the text is not such a file, if it uses a decoder that can't be represented exactly (the error names the section), or as
    /// [`VocabBuilder::build`].
    pub fn from_hf_json(text: &str) -> Result<Vocab, VocabError> {
        VocabBuilder::from_hf_json(text)?.build()
    }

    /// Reads a `tokenizer.json` file, as [`from_hf_json`](Self::from_hf_json) does.
    ///
    /// # Errors
    /// As there, and if the file can't be read.
    pub fn from_hf_file(path: impl AsRef<Path>) -> Result<Vocab, VocabError> {
        VocabBuilder::from_hf_file(path)?.build()
    }
}

impl VocabBuilder {
    /// Reads the text of a `tokenizer.json` file, to change what it says before the vocabulary is built.
    ///
    /// # Errors
    /// If the text is not such a file, or if it uses a decoder that can't be represented exactly (the error names the section).
    pub fn from_hf_json(text: &str) -> Result<VocabBuilder, VocabError> {
        let file = TokenizerFile::read(text)?;
        file.model.kind()?;
        let mid_sequence = MidSequence::new(&file)?;
        let tokens = file.tokens()?;

        let mut builder = VocabBuilder::new();
        for token in &tokens {
            match token {
                Some(token) => builder.push(mid_sequence.bytes(token)?),
                None => builder.push(b""),
            };
        }
        for (id, token) in tokens.iter().enumerate() {
            if token.is_none() {
                builder.set_kind(id as TokenId, TokenKind::Padding);
            }
        }
        if let Some((id, name)) = file.unknown_token() {
            builder.set_kind(id, TokenKind::Control).set_name(id, name);
        }
        for added in &file.added_tokens {
            let kind = if added.special { TokenKind::Control } else { TokenKind::AddedText };
            builder.set_kind(added.id, kind).set_name(added.id, &added.content);
        }
        builder.guess_stop_tokens();
        Ok(builder)
    }

    /// Reads a `tokenizer.json` file, as [`from_hf_json`](Self::from_hf_json) does.
    ///
    /// # Errors
    /// As there, and if the file can't be read.
    pub fn from_hf_file(path: impl AsRef<Path>) -> Result<VocabBuilder, VocabError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| VocabError::io(path, &error))?;
        Self::from_hf_json(&text)
    }
}

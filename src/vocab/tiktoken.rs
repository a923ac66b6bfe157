//! Vocabularies from tiktoken data: embedded encodings, and the text of a `.tiktoken` file.
//!
//! Both give the exact bytes of each text token. Special tokens are control tokens with their names; those with a customary name for
//! the end of a text (`<|endoftext|>`, see [`VocabBuilder::guess_stop_tokens`]) are stop tokens until others are set. Ids that
//! the data skips are padding.

use super::{TokenId, TokenKind, Vocab, VocabBuilder, VocabError};
use base64::Engine as _;
use tiktoken_rs::CoreBPE;

/// An embedded encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Encoding {
    /// `cl100k_base`: 100,256 text tokens, 5 special tokens.
    Cl100kBase,
    /// `o200k_base`: 199,998 text tokens, 2 special tokens.
    O200kBase,
}

impl Encoding {
    /// All embedded encodings.
    pub const ALL: [Encoding; 2] = [Encoding::Cl100kBase, Encoding::O200kBase];

    /// Returns the customary name, such as `cl100k_base`.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Cl100kBase => "cl100k_base",
            Encoding::O200kBase => "o200k_base",
        }
    }

    fn bpe(self) -> &'static CoreBPE {
        match self {
            Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
            Encoding::O200kBase => tiktoken_rs::o200k_base_singleton(),
        }
    }
}

/// Tokenizes a text by the encoding; names of special tokens in it are plain text.
///
/// ```
/// use maskwright::vocab::tiktoken::{encode, Encoding};
/// assert_eq!(encode(Encoding::Cl100kBase, "hello world"), [15339, 1917]);
/// ```
pub fn encode(encoding: Encoding, text: &str) -> Vec<TokenId> {
    encoding.bpe().encode_ordinary(text)
}

impl Vocab {
    /// Returns the vocabulary of an embedded encoding. Its stop token is `<|endoftext|>`.
    ///
    /// # Errors
    /// None in practice: the data is part of the program.
    pub fn tiktoken(encoding: Encoding) -> Result<Vocab, VocabError> {
        VocabBuilder::tiktoken(encoding)?.build()
    }

    /// Reads the text of a `.tiktoken` file: on each line a token in base64, a space and its rank, which is its id. `specials` are
    /// the names and ids of the special tokens, which such a file lacks.
    ///
    /// # Errors
    /// If a line is not of this form or its id is taken or too large (the error has the line), if a special token's id is taken,
    /// or as [`VocabBuilder::build`].
    pub fn from_tiktoken_text(text: &str, specials: &[(&str, TokenId)]) -> Result<Vocab, VocabError> {
        VocabBuilder::from_tiktoken_text(text, specials)?.build()
    }
}

impl VocabBuilder {
    /// Collects the vocabulary of an embedded encoding, to change it before it is built.
    ///
    /// # Errors
    /// None in practice: the data is part of the program.
    pub fn tiktoken(encoding: Encoding) -> Result<VocabBuilder, VocabError> {
        let bpe = encoding.bpe();
        let mut specials: Vec<(TokenId, &str)> = Vec::new();
        for name in bpe.special_tokens() {
            match bpe.encode_with_special_tokens(name)[..] {
                [id] => specials.push((id, name)),
                _ => return Err(VocabError::malformed(format!("special token {name} is not one token"))),
            }
        }
        // The special tokens lie beyond the text tokens, which have no gaps.
        let n_tokens = specials.iter().map(|&(id, _)| id + 1).max().unwrap_or(0);
        let mut slots: Vec<Option<Vec<u8>>> = (0..n_tokens).map(|id| bpe.decode_bytes(&[id]).ok()).collect();
        specials.iter().for_each(|&(id, _)| slots[id as usize] = None);
        from_slots(slots, specials.into_iter().map(|(id, name)| (name, id)))
    }

    /// Reads the text of a `.tiktoken` file as [`Vocab::from_tiktoken_text`] does, to change it before it is built.
    ///
    /// # Errors
    /// As there, except those of building.
    pub fn from_tiktoken_text(text: &str, specials: &[(&str, TokenId)]) -> Result<VocabBuilder, VocabError> {
        let mut slots: Vec<Option<Vec<u8>>> = Vec::new();
        for (line_idx, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let err = |message: String| VocabError::line(line_idx + 1, message);
            let (token, rank) = line
                .trim()
                .split_once(' ')
                .ok_or_else(|| err("expected a token in base64, a space and its rank".into()))?;
            let id: TokenId = rank.trim().parse().map_err(|_| err(format!("{:?} is not a rank", cut(rank))))?;
            if id as usize >= Vocab::N_TOKENS_MAX {
                return Err(err(format!("rank {id} is not below {}", Vocab::N_TOKENS_MAX)));
            }
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(token)
                .map_err(|_| err(format!("{:?} is not base64", cut(token))))?;
            if slots.len() <= id as usize {
                slots.resize(id as usize + 1, None);
            }
            if slots[id as usize].replace(bytes).is_some() {
                return Err(err(format!("rank {id} is given twice")));
            }
        }
        from_slots(slots, specials.iter().copied())
    }
}

/// Collects text tokens by id, where `None` is padding, and special tokens, whose slots must be free.
fn from_slots<'a>(
    slots: Vec<Option<Vec<u8>>>,
    specials: impl Iterator<Item = (&'a str, TokenId)>,
) -> Result<VocabBuilder, VocabError> {
    let mut builder = VocabBuilder::new();
    let mut width = slots.len();
    for slot in &slots {
        let id = builder.push(slot.as_deref().unwrap_or_default());
        if slot.is_none() {
            builder.set_kind(id, TokenKind::Padding);
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for (name, id) in specials {
        if slots.get(id as usize).is_some_and(Option::is_some) || !seen.insert(id) {
            return Err(VocabError::malformed(format!("the id {id} of special token {name} is taken")));
        }
        width = width.max(id as usize + 1);
        builder.set_kind(id, TokenKind::Control).set_name(id, name);
    }
    builder.logits_width(width).guess_stop_tokens();
    Ok(builder)
}

/// Shortens a text for a message.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

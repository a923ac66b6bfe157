//! The bytes that a decoder adds for one token in mid-sequence.
//!
//! A decoder turns a list of tokens into a text in steps; each step maps the list to a new one. The bytes of a token are independent of
//! its neighbours only for some steps, in a certain order:
//!
//! ```text
//! each token by itself      Replace, Metaspace, WordPiece, Strip       "▁the" -> " the", "##ing" -> "ing"
//! then bytes                ByteFallback, or ByteLevel                 "<0x0A>" -> "\n", "Ġthe" -> " the"
//! then the whole text       Fuse, Strip                                matter only at the ends of the text
//! ```
//!
//! A step that comes later than in this order depends on several tokens (a `Replace` after `Fuse` finds matches that span two tokens) and
//! is refused; so are steps that depend on neighbours by nature (CTC drops repeats; `BPEDecoder` writes the end of a word only if
//! another token follows).
//!
//! Metaspace, WordPiece and Strip treat the first token of a sequence differently (no leading space). So the steps are applied to each
//! token with another one before it.

use super::file::{ModelKind, TokenizerFile, malformed};
use crate::vocab::VocabError;
use serde_json::Value;
use tokenizers::decoders::sequence::Sequence;
use tokenizers::decoders::strip::Strip;
use tokenizers::decoders::wordpiece::WordPiece;
use tokenizers::normalizers::replace::Replace;
use tokenizers::{Decoder, DecoderWrapper};

/// A decoder, applied to tokens in mid-sequence.
pub(super) struct MidSequence {
    each_token: Vec<Step>,
    bytes: Bytes,
}

enum Step {
    /// A step of the crate that treats each token but the first by itself.
    Decoder(DecoderWrapper),
    /// Takes a character off the ends of a token. (The crate's own panics when a token is short.)
    Strip(Strip),
    /// Separates tokens by a space, as is done when there is no decoder.
    Space,
}

#[derive(PartialEq)]
enum Bytes {
    /// A token is text.
    Utf8,
    /// A token such as `<0x0A>` is a byte, any other is text.
    Fallback,
    /// Each character of a token stands for a byte; a token with a character outside the table is text.
    Level,
}

impl MidSequence {
    /// Reads the decoder section; if there is none, the result undoes what the pre-tokenizer and the normalizer did to the text.
    pub(super) fn new(file: &TokenizerFile) -> Result<MidSequence, VocabError> {
        if file.decoder.is_null() {
            return Self::without_decoder(file);
        }
        let decoder: DecoderWrapper = match serde_json::from_value(file.decoder.clone()) {
            Ok(decoder) => decoder,
            Err(error) => return Err(unread_decoder(&file.decoder, &error)),
        };
        let mut this = MidSequence { each_token: Vec::new(), bytes: Bytes::Utf8 };
        let mut is_fused = false;
        for step in flatten(decoder) {
            let name = step_name(&step);
            let is_late = is_fused || this.bytes != Bytes::Utf8;
            let late = |is_late: bool| match is_late {
                true => Err(unsupported(name, "after bytes were decoded or tokens were joined it looks across tokens")),
                false => Ok(()),
            };
            match step {
                DecoderWrapper::Fuse(_) => is_fused = true,
                // Only the ends of the text are stripped.
                DecoderWrapper::Strip(_) if is_fused => {}
                DecoderWrapper::Strip(strip) => {
                    late(is_late)?;
                    this.each_token.push(Step::Strip(strip));
                }
                DecoderWrapper::Replace(_) | DecoderWrapper::Metaspace(_) | DecoderWrapper::WordPiece(_) => {
                    late(is_late)?;
                    this.each_token.push(Step::Decoder(step));
                }
                DecoderWrapper::ByteFallback(_) => {
                    late(is_late)?;
                    this.bytes = Bytes::Fallback;
                }
                DecoderWrapper::ByteLevel(_) => {
                    late(is_late)?;
                    this.bytes = Bytes::Level;
                    is_fused = true;
                }
                DecoderWrapper::BPE(_) => {
                    return Err(unsupported(name, "what a token adds depends on whether another follows"));
                }
                DecoderWrapper::CTC(_) => return Err(unsupported(name, "what a token adds depends on its neighbours")),
                DecoderWrapper::Sequence(_) => unreachable!("sequences are flattened"),
            }
        }
        Ok(this)
    }

    fn without_decoder(file: &TokenizerFile) -> Result<MidSequence, VocabError> {
        let pre_tokenizers = sections(&file.pre_tokenizer, "pretokenizers");
        let normalizers = sections(&file.normalizer, "normalizers");
        if pre_tokenizers.iter().chain(&normalizers).any(|section| section["type"] == "ByteLevel") {
            return Ok(MidSequence { each_token: Vec::new(), bytes: Bytes::Level });
        }
        let marker = pre_tokenizers
            .iter()
            .filter(|section| section["type"] == "Metaspace")
            .map(|section| &section["replacement"])
            .chain(
                normalizers
                    .iter()
                    .filter(|s| s["type"] == "Replace" && s["pattern"]["String"] == " ")
                    .map(|s| &s["content"]),
            )
            .find_map(|marker| marker.as_str().filter(|marker| !marker.is_empty()));
        if let Some(marker) = marker {
            let replace = Replace::new(marker, " ").map_err(|error| malformed(&error))?;
            let each_token = vec![Step::Decoder(DecoderWrapper::Replace(replace))];
            return Ok(MidSequence {
                each_token,
                bytes: if file.model.byte_fallback { Bytes::Fallback } else { Bytes::Utf8 },
            });
        }
        let step = match file.model.kind()? {
            ModelKind::WordPiece => {
                let prefix = file.model.continuing_subword_prefix.as_deref().unwrap_or("##");
                Step::Decoder(DecoderWrapper::WordPiece(WordPiece::new(prefix.into(), false)))
            }
            ModelKind::WordLevel => Step::Space,
            ModelKind::Bpe | ModelKind::Unigram => {
                let message = "it is absent, and neither pre-tokenizer nor normalizer says how tokens become text";
                return Err(VocabError::unsupported("decoder", message));
            }
        };
        Ok(MidSequence { each_token: vec![step], bytes: Bytes::Utf8 })
    }

    /// Returns the bytes that the token adds after another one.
    pub(super) fn bytes(&self, token: &str) -> Result<Vec<u8>, VocabError> {
        let mut token = token.to_owned();
        for step in &self.each_token {
            token = match step {
                Step::Decoder(decoder) => {
                    let tokens = decoder.decode_chain(vec!["x".into(), token]).map_err(|error| malformed(&error))?;
                    tokens.into_iter().next_back().unwrap_or_default()
                }
                Step::Strip(strip) => stripped(strip, &token),
                Step::Space => format!(" {token}"),
            };
        }
        Ok(match self.bytes {
            Bytes::Utf8 => token.into_bytes(),
            Bytes::Fallback => fallback_byte(&token).map_or_else(|| token.into_bytes(), |byte| vec![byte]),
            Bytes::Level => {
                token.chars().map(level_byte).collect::<Option<Vec<u8>>>().unwrap_or_else(|| token.into_bytes())
            }
        })
    }
}

/// Returns the steps of a decoder in order, with nested sequences flattened.
fn flatten(decoder: DecoderWrapper) -> Vec<DecoderWrapper> {
    let mut steps = Vec::new();
    let mut open = vec![decoder];
    while let Some(decoder) = open.pop() {
        match decoder {
            DecoderWrapper::Sequence(sequence) => open.extend(Sequence::get_decoders(&sequence).iter().rev().cloned()),
            step => steps.push(step),
        }
    }
    steps
}

/// Returns a section as a list: its parts when it is a sequence, itself otherwise.
fn sections<'a>(section: &'a Value, parts: &str) -> Vec<&'a Value> {
    let mut list = Vec::new();
    let mut open = vec![section];
    while let Some(section) = open.pop() {
        match section[parts].as_array() {
            Some(inner) => open.extend(inner.iter().rev()),
            None => list.push(section),
        }
    }
    list
}

fn step_name(decoder: &DecoderWrapper) -> &'static str {
    match decoder {
        DecoderWrapper::BPE(_) => "BPEDecoder",
        DecoderWrapper::ByteLevel(_) => "ByteLevel",
        DecoderWrapper::WordPiece(_) => "WordPiece",
        DecoderWrapper::Metaspace(_) => "Metaspace",
        DecoderWrapper::CTC(_) => "CTC",
        DecoderWrapper::Sequence(_) => "Sequence",
        DecoderWrapper::Replace(_) => "Replace",
        DecoderWrapper::Fuse(_) => "Fuse",
        DecoderWrapper::Strip(_) => "Strip",
        DecoderWrapper::ByteFallback(_) => "ByteFallback",
    }
}

fn unsupported(name: &str, message: &str) -> VocabError {
    VocabError::unsupported(format!("decoder.{name}"), message)
}

/// Names the step of a decoder section that the crate can't read.
fn unread_decoder(decoder: &Value, error: &serde_json::Error) -> VocabError {
    let is_unread = |section: &&&Value| serde_json::from_value::<DecoderWrapper>((**section).clone()).is_err();
    let steps = sections(decoder, "decoders");
    match steps.iter().find(is_unread).and_then(|section| section["type"].as_str()) {
        Some(name) => {
            let name: String = name.chars().take(60).collect();
            unsupported(&name, &error.to_string().chars().take(300).collect::<String>())
        }
        None => malformed(&format!("decoder: {error}")),
    }
}

/// Takes up to `start` and `stop` characters off the ends, while they are the character to strip.
fn stripped(strip: &Strip, token: &str) -> String {
    let chars: Vec<char> = token.chars().collect();
    let n_of = |n_max: usize, chars: &mut dyn Iterator<Item = &char>| {
        chars.take(n_max).take_while(|&&c| c == strip.content).count()
    };
    let start = n_of(strip.start, &mut chars.iter());
    let end = (chars.len() - n_of(strip.stop, &mut chars.iter().rev())).max(start);
    chars[start..end].iter().collect()
}

/// Reads a token such as `<0x0A>`.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() == 2 { u8::from_str_radix(digits, 16).ok() } else { None }
}

/// Returns the byte that a character stands for in byte-level tokens: printable characters up to U+00FF stand for their own
/// number, the others for the remaining bytes in order, from U+0100.
fn level_byte(c: char) -> Option<u8> {
    match c as u32 {
        n @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => Some(n as u8),
        n @ 0x100..=0x120 => Some((n - 0x100) as u8),
        n @ 0x121..=0x142 => Some((n - 0x121 + 0x7F) as u8),
        0x143 => Some(0xAD),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_level_table_is_the_alphabet_of_the_crate() {
        let alphabet = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet();
        let mut bytes: Vec<u8> = alphabet.iter().filter_map(|&c| level_byte(c)).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=255).collect::<Vec<u8>>());
        assert_eq!((0..0x400).filter_map(char::from_u32).filter_map(level_byte).count(), 256);
        assert_eq!(
            [' ', '\n', 'Ġ', 'Ċ', 'a', 'é'].map(level_byte),
            [None, None, Some(b' '), Some(b'\n'), Some(b'a'), Some(0xE9)]
        );
    }

    #[test]
    fn fallback_tokens() {
        assert_eq!(["<0x0A>", "<0xff>", "<0x0>", "<0x0AA>", "<0xZZ>", "0x0A", "<0xé>"].map(fallback_byte), {
            [Some(10), Some(255), None, None, None, None, None]
        });
    }

    #[test]
    fn stripping_short_tokens() {
        let strip = Strip::new(' ', 2, 3);
        assert_eq!(
            ["", " ", "   ", "      ", "  a ", "a"].map(|token| stripped(&strip, token)),
            ["", "", "", " ", "a", "a"]
        );
    }
}

//! Vocabularies.

use crate::arguments::{Options, array, handle, options, text};
use crate::error::{error, free, guard_handle, guard_or};
use core::ffi::c_char;
use maskwright::vocab::{TokenKind, Vocab, VocabBuilder};
use std::sync::Arc;

/// The tokens of a model.
pub struct vocab {
    pub(crate) inner: Arc<Vocab>,
}

/// The kind of a token, which decides where it may be allowed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum token_kind {
    /// Ordinary text: allowed where the grammar allows its bytes.
    Text = 0,
    /// A special token such as <|im_start|>: never text, allowed only where a grammar names it. Its bytes are its name.
    Control = 1,
    /// An added token such as `<think>`: text that a grammar may also name.
    AddedText = 2,
    /// An id without a token: never allowed.
    Padding = 3,
}

/// Options of vocabularies.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct vocab_options {
    /// The size of this struct.
    pub struct_size: usize,
    /// The tokens that end an output. They are never text. NULL: none, or those that a tokenizer file seems to have.
    pub stop_tokens: *const u32,
    /// Their number.
    pub n_stop_tokens: usize,
    /// The width of a row of logits; 0: the number of tokens. Ids beyond the tokens are padding, tokens beyond the width are dropped.
    pub logits_width: usize,
}

// SAFETY: zeros are NULL and 0.
unsafe impl Options for vocab_options {}

unsafe fn finish(mut builder: VocabBuilder, given: *const vocab_options) -> Result<vocab, error> {
    // SAFETY: as the functions below say.
    let given = unsafe { options(given) }?;
    if !given.stop_tokens.is_null() {
        // SAFETY: likewise.
        let stop_tokens = unsafe { array(given.stop_tokens, given.n_stop_tokens, "stop_tokens") }?;
        builder.stop_tokens(stop_tokens.iter().copied());
    }
    if given.logits_width > 0 {
        builder.cut_to_logits_width(given.logits_width);
    }
    Ok(vocab { inner: Arc::new(builder.build()?) })
}

/// Builds a vocabulary of `n_tokens` tokens, the first with id 0. `bytes` are those of all tokens, one behind the other, and `lengths` how many each has; `kinds` are their kinds, or NULL if all are
/// text. Some tenths of a second for 150,000 tokens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocab_new(
    bytes: *const u8,
    lengths: *const usize,
    kinds: *const token_kind,
    n_tokens: usize,
    options: *const vocab_options,
    error: *mut *mut error,
) -> *mut vocab {
    let work = || {
        // SAFETY: there are `n_tokens` lengths, and as many bytes as they add up to.
        let lengths = unsafe { array(lengths, n_tokens, "lengths") }?;
        let n_bytes = lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(length));
        let n_bytes = n_bytes.filter(|&n_bytes| n_bytes <= isize::MAX as usize);
        let n_bytes = n_bytes.ok_or_else(|| crate::error::error::argument("the lengths are too large"))?;
        // SAFETY: likewise. Kinds are read as numbers, since C can give any.
        let (mut rest, kinds) = unsafe {
            let n_kinds = if kinds.is_null() { 0 } else { n_tokens };
            (array(bytes, n_bytes, "bytes")?, array(kinds.cast::<i32>(), n_kinds, "kinds")?)
        };
        let mut builder = Vocab::builder();
        for (index, &length) in lengths.iter().enumerate() {
            let (token, behind) = rest.split_at(length);
            rest = behind;
            let id = builder.push(token);
            match kinds.get(index) {
                None | Some(0) => {}
                Some(1) => drop(builder.set_kind(id, TokenKind::Control)),
                Some(2) => drop(builder.set_kind(id, TokenKind::AddedText)),
                Some(3) => drop(builder.set_kind(id, TokenKind::Padding)),
                Some(kind) => {
                    let message = format!("token {index} has kind {kind}, which there isn't");
                    return Err(crate::error::error::argument(&message));
                }
            }
        }
        // SAFETY: as the header says.
        unsafe { finish(builder, options) }
    };
    // SAFETY: as the header says.
    unsafe { guard_handle(error, work) }
}

/// Reads the text of a tokenizer.json file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocab_from_tokenizer_json(
    json: *const c_char,
    n_bytes: usize,
    options: *const vocab_options,
    error: *mut *mut error,
) -> *mut vocab {
    // SAFETY: as the header says.
    let work = || unsafe { finish(VocabBuilder::from_hf_json(text(json, n_bytes, "json")?)?, options) };
    // SAFETY: as the header says.
    unsafe { guard_handle(error, work) }
}

/// Returns the number of tokens: the width of a row of logits; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocab_n_tokens(vocab: *const vocab) -> usize {
    // SAFETY: NULL or a vocabulary that is alive.
    guard_or(0, || unsafe { handle(vocab, "vocab") }.map_or(0, |vocab| vocab.inner.n_tokens()))
}

/// Returns the number of words of a mask, ceil(n_tokens / 32); 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocab_n_mask_words(vocab: *const vocab) -> usize {
    // SAFETY: NULL or a vocabulary that is alive.
    guard_or(0, || unsafe { handle(vocab, "vocab") }.map_or(0, |vocab| vocab.inner.n_mask_words()))
}

/// Frees a vocabulary. Compilers that were made from it keep what they need.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocab_free(vocab: *mut vocab) {
    // SAFETY: NULL or a vocabulary that nobody uses any more.
    unsafe { free(vocab) };
}

//! Matchers.

use crate::arguments::{Options, array, array_mut, handle, handle_mut};
use crate::compile::grammar;
use crate::error::{code, error, free, guard_code, guard_handle, guard_or};
use maskwright::Matcher;

/// The state of one output: what was accepted so far, and what may follow. A call that fails leaves it as it was.
pub struct matcher {
    pub(crate) inner: Matcher,
}

/// Options of matchers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct matcher_options {
    /// The size of this struct.
    pub struct_size: usize,
    /// Stop tokens in place of the vocabulary's; any id below the width of the logits. NULL: those of the vocabulary.
    pub stop_tokens: *const u32,
    /// Their number.
    pub n_stop_tokens: usize,
    /// Whether the output also ends without a stop token, as soon as the text is complete and nothing can follow.
    pub terminate_when_nothing_follows: bool,
    /// Whether a mask that can't be found is that of the stop tokens, and not an error.
    pub fail_closed: bool,
}

// SAFETY: zeros are NULL, 0 and false.
unsafe impl Options for matcher_options {}

/// Makes a matcher before any token. It keeps what it needs of the grammar.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_new(
    grammar: *const grammar,
    options: *const matcher_options,
    error: *mut *mut error,
) -> *mut matcher {
    let work = || {
        // SAFETY: as the header says.
        let (grammar, given) = unsafe { (handle(grammar, "grammar")?, crate::arguments::options(options)?) };
        let mut inner = grammar.inner.matcher();
        inner.set_fail_closed(given.fail_closed);
        if !given.stop_tokens.is_null() {
            // SAFETY: likewise.
            inner.set_stop_tokens(unsafe { array(given.stop_tokens, given.n_stop_tokens, "stop_tokens") }?)?;
        }
        inner.set_terminate_when_nothing_follows(given.terminate_when_nothing_follows);
        Ok(matcher { inner })
    };
    // SAFETY: as the header says.
    unsafe { guard_handle(error, work) }
}

/// Accepts one token. A stop token ends the output where the text is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_accept(matcher: *mut matcher, token: u32, error: *mut *mut error) -> code {
    // SAFETY: as the header says.
    unsafe { guard_code(error, || Ok(handle_mut(matcher, "matcher")?.inner.accept_token(token)?)) }
}

/// Accepts several tokens, all or none; mw_error_token_index has the position of the one that failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_accept_many(
    matcher: *mut matcher,
    tokens: *const u32,
    n_tokens: usize,
    error: *mut *mut error,
) -> code {
    let work = || {
        // SAFETY: as the header says.
        let (matcher, tokens) = unsafe { (handle_mut(matcher, "matcher")?, array(tokens, n_tokens, "tokens")?) };
        Ok(matcher.inner.accept_tokens(tokens)?)
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Accepts bytes, as one step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_accept_bytes(
    matcher: *mut matcher,
    bytes: *const u8,
    n_bytes: usize,
    error: *mut *mut error,
) -> code {
    let work = || {
        // SAFETY: as the header says.
        let (matcher, bytes) = unsafe { (handle_mut(matcher, "matcher")?, array(bytes, n_bytes, "bytes")?) };
        Ok(matcher.inner.accept_bytes(bytes)?)
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Accepts one token if it is allowed; returns whether it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_try_accept(matcher: *mut matcher, token: u32) -> bool {
    // SAFETY: NULL or a matcher that no other thread uses.
    guard_or(false, || unsafe { matcher.as_mut() }.is_some_and(|matcher| matcher.inner.accept_token(token).is_ok()))
}

/// Returns whether a token could be accepted: whether its bit is set in the mask. Much faster than a mask.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_is_allowed(matcher: *mut matcher, token: u32) -> bool {
    // SAFETY: NULL or a matcher that no other thread uses.
    guard_or(false, || unsafe { matcher.as_mut() }.is_some_and(|matcher| matcher.inner.is_token_allowed(token)))
}

/// Returns how many of `tokens` could be accepted one after the other. Nothing is accepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_validate(matcher: *mut matcher, tokens: *const u32, n_tokens: usize) -> usize {
    let work = || {
        // SAFETY: NULL or a matcher that no other thread uses, and as many tokens.
        let (matcher, tokens) = unsafe { (matcher.as_mut(), array(tokens, n_tokens, "tokens")) };
        match (matcher, tokens) {
            (Some(matcher), Ok(tokens)) => matcher.inner.validate_tokens(tokens),
            _ => 0,
        }
    };
    guard_or(0, work)
}

/// Fills a row of `n_words` words with what may follow: bit i % 32 of word i / 32, least significant first, is set when token i is allowed. Words beyond those of a mask are cleared. `*needs_apply`, if it is not
/// NULL, becomes false if every token is allowed. Where the row can't be filled it is all zeros, unless the matcher fails closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fill(
    matcher: *mut matcher,
    row: *mut u32,
    n_words: usize,
    needs_apply: *mut bool,
    error: *mut *mut error,
) -> code {
    let work = || {
        // SAFETY: as the header says.
        let (matcher, row) = unsafe { (handle_mut(matcher, "matcher")?, array_mut(row, n_words, "row")?) };
        let fill = matcher.inner.fill_mask(row).inspect_err(|_| row.fill(0))?;
        // SAFETY: NULL or a place for a bool.
        if let Some(needs_apply) = unsafe { needs_apply.as_mut() } {
            *needs_apply = !fill.all_set;
        }
        Ok(())
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Fills the rows of a chain of drafts, one more than there are drafts: row i is what may follow the first i of them, and begins at `rows + i * words_per_row`. Behind a draft that is refused rows are copies of the one that
/// refuses it. `*n_acceptable` becomes the number of drafts that can be accepted. The matcher is as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fill_chain(
    matcher: *mut matcher,
    drafts: *const u32,
    n_drafts: usize,
    rows: *mut u32,
    words_per_row: usize,
    n_acceptable: *mut usize,
    error: *mut *mut error,
) -> code {
    let work = || {
        let n_words = n_drafts.checked_add(1).and_then(|n_rows| n_rows.checked_mul(words_per_row));
        let n_words = n_words.ok_or_else(|| crate::error::error::argument("there are too many drafts"))?;
        // SAFETY: as the header says.
        let (matcher, drafts, rows) = unsafe {
            (handle_mut(matcher, "matcher")?, array(drafts, n_drafts, "drafts")?, array_mut(rows, n_words, "rows")?)
        };
        let filled = matcher.inner.fill_masks_for_chain(drafts, rows, words_per_row)?;
        // SAFETY: NULL or a place for a number.
        if let Some(n_acceptable) = unsafe { n_acceptable.as_mut() } {
            *n_acceptable = filled.n_acceptable;
        }
        Ok(())
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Fills the rows of a tree of drafts: row i is what may follow node i, and begins at `rows + i * words_per_row`. Node 0 stands for the text so far: its parent is -1, its draft is not looked at. The parent of every other
/// node is a node before it. `acceptable`, if it is not NULL, has a place for each node: whether it and all drafts above it can be accepted. The matcher is as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fill_tree(
    matcher: *mut matcher,
    parents: *const i32,
    drafts: *const u32,
    n_nodes: usize,
    rows: *mut u32,
    words_per_row: usize,
    acceptable: *mut bool,
    error: *mut *mut error,
) -> code {
    let work = || {
        let n_words = n_nodes.checked_mul(words_per_row);
        let n_words = n_words.ok_or_else(|| crate::error::error::argument("there are too many nodes"))?;
        let n_acceptable = if acceptable.is_null() { 0 } else { n_nodes };
        // SAFETY: as the header says.
        let (matcher, parents, drafts, rows, acceptable) = unsafe {
            (
                handle_mut(matcher, "matcher")?,
                array(parents, n_nodes, "parents")?,
                array(drafts, n_nodes, "drafts")?,
                array_mut(rows, n_words, "rows")?,
                array_mut(acceptable, n_acceptable, "acceptable")?,
            )
        };
        let filled = matcher.inner.fill_masks_for_tree(parents, drafts, rows, words_per_row)?;
        acceptable.iter_mut().zip(filled.is_acceptable).for_each(|(to, &is_acceptable)| *to = is_acceptable);
        Ok(())
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Takes back the last `k` steps, stop tokens included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_rollback(matcher: *mut matcher, k: usize, error: *mut *mut error) -> code {
    // SAFETY: as the header says.
    unsafe { guard_code(error, || Ok(handle_mut(matcher, "matcher")?.inner.rollback(k)?)) }
}

/// Returns an independent matcher in the same state; NULL for NULL. About a microsecond, however long the history is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fork(matcher: *const matcher) -> *mut matcher {
    // SAFETY: as the header says.
    unsafe {
        guard_handle(core::ptr::null_mut(), || {
            Ok(crate::matcher::matcher { inner: handle(matcher, "matcher")?.inner.fork() })
        })
    }
}

/// Makes a matcher one in the state of another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_copy_state(to: *mut matcher, from: *const matcher, error: *mut *mut error) -> code {
    let work = || {
        if core::ptr::eq(to, from) {
            return Ok(());
        }
        // SAFETY: as the header says; they are two.
        let (to, from) = unsafe { (handle_mut(to, "to")?, handle(from, "from")?) };
        to.inner = from.inner.fork();
        Ok(())
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Goes back to before the first token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_reset(matcher: *mut matcher) {
    // SAFETY: NULL or a matcher that no other thread uses.
    guard_or((), || unsafe { matcher.as_mut() }.into_iter().for_each(|matcher| matcher.inner.reset()));
}

/// Goes back to before the first token and accepts `tokens`: the state after preemption, rebuilt.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_replay(
    matcher: *mut matcher,
    tokens: *const u32,
    n_tokens: usize,
    error: *mut *mut error,
) -> code {
    let work = || {
        // SAFETY: as the header says.
        let (matcher, tokens) = unsafe { (handle_mut(matcher, "matcher")?, array(tokens, n_tokens, "tokens")?) };
        Ok(matcher.inner.replay(tokens)?)
    };
    // SAFETY: as the header says.
    unsafe { guard_code(error, work) }
}

/// Forgets the steps so far, to save memory: they can't be taken back any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_forget_history(matcher: *mut matcher) {
    // SAFETY: NULL or a matcher that no other thread uses.
    guard_or((), || unsafe { matcher.as_mut() }.into_iter().for_each(|matcher| matcher.inner.forget_history()));
}

/// Returns whether the text so far is complete: a stop token may follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_is_accepting(matcher: *const matcher) -> bool {
    // SAFETY: NULL or a matcher that no other thread uses.
    guard_or(false, || unsafe { matcher.as_ref() }.is_some_and(|matcher| matcher.inner.is_accepting()))
}

/// Returns whether the output has ended: only stop tokens are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_is_terminated(matcher: *const matcher) -> bool {
    // SAFETY: NULL or a matcher that no other thread uses.
    guard_or(false, || unsafe { matcher.as_ref() }.is_some_and(|matcher| matcher.inner.is_terminated()))
}

/// Returns the number of steps that can be taken back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_n_steps(matcher: *const matcher) -> usize {
    // SAFETY: NULL or a matcher that no other thread uses.
    guard_or(0, || unsafe { matcher.as_ref() }.map_or(0, |matcher| matcher.inner.n_steps()))
}

/// Writes the longest text that every completion begins with, as much of it as fits into `capacity` bytes, without a NUL; returns how long it is. It can end within a character. Nothing is written where `buffer` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_jump_forward(matcher: *mut matcher, buffer: *mut u8, capacity: usize) -> usize {
    let work = || {
        let capacity = if buffer.is_null() { 0 } else { capacity };
        // SAFETY: NULL or a matcher that no other thread uses, and as many bytes.
        let (matcher, buffer) = unsafe { (matcher.as_mut(), array_mut(buffer, capacity, "buffer")) };
        let (Some(matcher), Ok(buffer)) = (matcher, buffer) else { return 0 };
        let forced = matcher.inner.jump_forward();
        let n_written = forced.len().min(buffer.len());
        buffer[..n_written].copy_from_slice(&forced[..n_written]);
        forced.len()
    };
    guard_or(0, work)
}

/// Frees a matcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_free(matcher: *mut matcher) {
    // SAFETY: NULL or a matcher that nobody uses any more.
    unsafe { free(matcher) };
}

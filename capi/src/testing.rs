//! Random operations on handles, for tests and a fuzz target: what the header promises holds for any calls in any order.
//!
//! A handle is used until it is freed, and not after that: the header forbids it, and nothing could be promised. All else is tried: NULL handles, arrays that are NULL or too short
//! for their use, options of odd sizes, sources that are no text, handles that outlive what they were made from. Buffers are exactly as large as is said, so that an
//! address sanitizer sees what is read or written beyond them.
//!
//! Only with the feature `testing`, whose API is not stable.

use crate::arguments::Options;
use crate::batch::{mw_batch_accept_and_fill, mw_batch_fill};
use crate::compile::*;
use crate::error::*;
use crate::logits::{mw_apply_mask_bf16, mw_apply_mask_f16, mw_apply_mask_f32};
use crate::matcher::*;
use crate::vocab::*;
use core::ffi::CStr;
use core::ptr::{null, null_mut};
use maskwright::testing::{Rng, ebnf_text, lark_text, regex_text, schemas, tag_text};

/// Most live handles of a kind.
const LIVE_MAX: usize = 4;
/// Time for one compile: the sources are random, and the limits those of the library.
const COMPILE_MS: u64 = 2000;
/// Written behind rows, where nothing may be written.
const CANARY: u32 = 0xC0DE_CAFE;

/// What was reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coverage {
    /// Calls.
    pub n_calls: usize,
    /// Calls that failed, as they should.
    pub n_errors: usize,
    /// Grammars that compiled.
    pub n_grammars: usize,
    /// Rows that were filled.
    pub n_rows: usize,
}

/// Options of a caller with a later version of the header.
#[repr(C)]
struct Later<T> {
    known: T,
    unknown: [usize; 8],
}

impl<T> Later<T> {
    fn new(known: T, rng: &mut Rng) -> Self {
        let mut unknown = [0; 8];
        if rng.chance(10) {
            unknown[rng.below(8)] = 1;
        }
        Later { known, unknown }
    }

    fn pointer(&self) -> *const T {
        // Of all of it: what is behind the options that are known is read as well.
        (&raw const *self).cast()
    }
}

/// A matcher, with what is needed to call it.
#[derive(Clone, Copy)]
struct Tested {
    handle: *mut matcher,
    n_tokens: usize,
    is_fail_closed: bool,
}

impl Tested {
    fn n_words(self) -> usize {
        self.n_tokens.div_ceil(32)
    }

    /// Returns what a call that fails must not change.
    fn state(self) -> (usize, bool, bool) {
        // SAFETY: the matcher is alive.
        unsafe {
            let (is_accepting, is_terminated) =
                (mw_matcher_is_accepting(self.handle), mw_matcher_is_terminated(self.handle));
            (mw_matcher_n_steps(self.handle), is_accepting, is_terminated)
        }
    }
}

/// All handles that are alive.
struct World {
    rng: Rng,
    vocabs: Vec<*mut vocab>,
    /// With the width of the vocabulary that each was made from.
    compilers: Vec<(*mut compiler, usize)>,
    grammars: Vec<(*mut grammar, usize)>,
    matchers: Vec<Tested>,
    cancels: Vec<*mut cancel>,
    coverage: Coverage,
}

/// Does random operations on handles.
///
/// # Panics
/// If something that the header promises doesn't hold.
pub fn check(data: &[u8]) -> Coverage {
    let mut world = World {
        rng: Rng::from_bytes(data),
        vocabs: vec![],
        compilers: vec![],
        grammars: vec![],
        matchers: vec![],
        cancels: vec![],
        coverage: Coverage::default(),
    };
    world.new_vocab();
    world.new_compiler();
    for _ in 0..world.rng.between(4, 60) {
        world.step();
    }
    world.free_all();
    world.coverage
}

/// Looks at everything an error has, and frees it. Returns its code.
fn read_error(error: *mut error) -> code {
    // SAFETY: NULL or an error that a call made; it is freed once.
    unsafe {
        let code = mw_error_code(error);
        let message = CStr::from_ptr(mw_error_message(error)).to_str().expect("messages are UTF-8");
        assert_eq!(message.is_empty(), error.is_null(), "an error has a message");
        assert_ne!(code, crate::error::code::Internal, "{message}");
        for text in [mw_error_pointer(error), mw_error_keyword(error), mw_error_hint(error)] {
            assert!(text.is_null() || CStr::from_ptr(text).to_str().is_ok());
        }
        let (line, column) = (mw_error_line(error), mw_error_column(error));
        assert_eq!(line == 0, column == 0, "{message}");
        let _ = mw_error_token_index(error);
        mw_error_free(error);
        code
    }
}

impl World {
    /// Calls a function that makes a handle or an error, sometimes without a place for the error.
    fn make<T>(&mut self, call: impl FnOnce(*mut *mut error) -> *mut T) -> Option<*mut T> {
        self.coverage.n_calls += 1;
        let mut error = null_mut();
        let has_place = self.rng.chance(90);
        let made = call(if has_place { &raw mut error } else { null_mut() });
        if has_place {
            assert_eq!(made.is_null(), !error.is_null(), "either a handle or an error");
        }
        read_error(error);
        self.coverage.n_errors += usize::from(made.is_null());
        (!made.is_null()).then_some(made)
    }

    /// Calls a function that returns a code, sometimes without a place for the error.
    fn call(&mut self, call: impl FnOnce(*mut *mut error) -> code) -> code {
        self.coverage.n_calls += 1;
        let mut error = null_mut();
        let has_place = self.rng.chance(90);
        let code = call(if has_place { &raw mut error } else { null_mut() });
        let told = read_error(error);
        assert_ne!(code, crate::error::code::Internal);
        if has_place {
            assert_eq!(told, code, "the error has the code that is returned");
        }
        self.coverage.n_errors += usize::from(code != crate::error::code::Ok);
        code
    }

    /// Returns a size for options: mostly the right one.
    fn size_of<T: Options>(&mut self) -> usize {
        match self.rng.below(12) {
            0 => 0,
            1 => size_of::<usize>(),
            2 => self.rng.below(size_of::<T>() + 1),
            3 => size_of::<T>() + self.rng.below(size_of::<Later<T>>() - size_of::<T>() + 1),
            4 => usize::MAX,
            _ => size_of::<T>(),
        }
    }

    fn new_vocab(&mut self) {
        let texts: Vec<Vec<u8>> = match self.rng.below(3) {
            0 => (0..=255u8).map(|byte| vec![byte]).collect(),
            _ => {
                let words: [&[u8]; 16] = [
                    b"a", b"b", b"ab", b"\"", b"{", b"}", b":", b",", b"1", b"[", b"]", b" ", b"\xC3", b"\xA9",
                    b"<|x|>", b"",
                ];
                (0..self.rng.between(0, 80)).map(|_| self.rng.pick(&words).to_vec()).collect()
            }
        };
        let bytes = texts.concat();
        let mut lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        if self.rng.chance(3) {
            // Their sum is too large, which is seen before any byte is.
            lengths.extend([usize::MAX, 2]);
        }
        let kinds: Vec<i32> =
            lengths.iter().map(|_| if self.rng.chance(90) { 0 } else { self.rng.below(5) as i32 }).collect();
        let stop_tokens: Vec<u32> = (0..self.rng.below(3)).map(|_| self.rng.below(lengths.len() + 2) as u32).collect();
        let options = vocab_options {
            struct_size: self.size_of::<vocab_options>(),
            stop_tokens: if self.rng.chance(50) { null() } else { stop_tokens.as_ptr() },
            n_stop_tokens: stop_tokens.len(),
            logits_width: if self.rng.chance(30) { self.rng.below(120) } else { 0 },
        };
        let options = Later::new(options, &mut self.rng);
        let options = if self.rng.chance(20) { null() } else { options.pointer() };
        let kinds = if self.rng.chance(50) { null() } else { kinds.as_ptr().cast::<token_kind>() };
        let lengths_start = if self.rng.chance(3) { null() } else { lengths.as_ptr() };
        let json = br#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}"#;
        let from_json = self.rng.chance(5);
        // SAFETY: the arrays are as long as is said, unless that is refused before they are read.
        let made = self.make(|error| unsafe {
            match from_json {
                true => mw_vocab_from_tokenizer_json(json.as_ptr().cast(), json.len(), options, error),
                false => mw_vocab_new(bytes.as_ptr(), lengths_start, kinds, lengths.len(), options, error),
            }
        });
        if let Some(handle) = made {
            // SAFETY: it is alive.
            let (n_tokens, n_words) = unsafe { (mw_vocab_n_tokens(handle), mw_vocab_n_mask_words(handle)) };
            assert_eq!(n_words, n_tokens.div_ceil(32));
            self.vocabs.push(handle);
        }
    }

    /// Returns a handle, or rarely NULL.
    fn pick<T>(&mut self, from: &[*mut T]) -> *mut T {
        if from.is_empty() || self.rng.chance(4) { null_mut() } else { *self.rng.pick(from) }
    }

    fn new_compiler(&mut self) {
        let vocabs = self.vocabs.clone();
        let vocab = self.pick(&vocabs);
        let bytes = self.rng.below(1 << 16);
        let options = compiler_options {
            struct_size: self.size_of::<compiler_options>(),
            mask_cache_bytes: bytes,
            unit_cache_bytes: self.rng.below(1 << 16),
            grammar_cache_bytes: self.rng.below(1 << 16),
        };
        let options = Later::new(options, &mut self.rng);
        let options = if self.rng.chance(50) { null() } else { options.pointer() };
        // SAFETY: NULL or handles that are alive.
        let made = self.make(|error| unsafe { mw_compiler_new(vocab, options, error) });
        if let Some(handle) = made {
            // SAFETY: a compiler was made from it.
            self.compilers.push((handle, unsafe { mw_vocab_n_tokens(vocab) }));
        }
    }

    /// Returns a source, and the kind that it is or is taken for.
    fn source(&mut self) -> (Vec<u8>, u32) {
        let rng = &mut self.rng;
        let (text, kind) = match rng.below(8) {
            0 | 1 => (ebnf_text::random_text(rng), 0),
            2 => (lark_text::random_text(rng), 1),
            3 => (regex_text::random_text(rng), 3),
            4 => (schemas::random_schema(rng).into_bytes(), 4),
            5 => (tag_text::random_text(rng), 5),
            6 => (br#"["ab", "a", ""]"#.to_vec(), 6),
            _ => (br#"root ::= "a" root? ("b" | [ab]) | <|x|>"#.to_vec(), 0),
        };
        let kind = if rng.chance(5) { rng.below(9) as u32 } else { kind };
        (text, kind)
    }

    fn compile(&mut self) {
        let compilers: Vec<*mut compiler> = self.compilers.iter().map(|&(handle, _)| handle).collect();
        let compiler = self.pick(&compilers);
        let (text, kind) = self.source();
        let cancels = self.cancels.clone();
        let names = [c"root", c"a", c"", c"\xFF", c", ", c": "];
        let name = |rng: &mut Rng, percent| if rng.chance(percent) { rng.pick(&names).as_ptr() } else { null() };
        let rng = &mut self.rng;
        let options = compile_options {
            struct_size: 0,
            timeout_ms: COMPILE_MS,
            cancel: if cancels.is_empty() || rng.chance(70) { null() } else { *rng.pick(&cancels) },
            root: name(rng, 5),
            has_white_space_max: rng.chance(20),
            white_space_max: rng.below(20) as u32,
            indent: if rng.chance(10) { rng.below(5) as u32 } else { 0 },
            item_separator: name(rng, 5),
            key_separator: name(rng, 5),
            no_additional_properties: rng.chance(20),
            additional_properties: rng.chance(20),
            no_formats: rng.chance(20),
            integer_fractions: rng.chance(20),
            lenient: rng.chance(30),
            any_order: rng.chance(20),
            no_additional_items: rng.chance(20),
        };
        let options = compile_options { struct_size: self.size_of::<compile_options>(), ..options };
        let options = Later::new(options, &mut self.rng);
        let given = if self.rng.chance(20) { null() } else { options.pointer() };
        let (start, n_bytes) = match self.rng.below(40) {
            0 => (null(), text.len()),
            1 => (null(), 0),
            _ => (text.as_ptr(), text.len()),
        };
        // SAFETY: NULL or handles that are alive, and as many bytes; names end with NUL.
        let made = self.make(|error| unsafe { mw_compile(compiler, kind, start.cast(), n_bytes, given, error) });
        let Some(handle) = made else { return };
        self.coverage.n_grammars += 1;
        let width = self.compilers.iter().find(|(other, _)| *other == compiler).map_or(0, |&(_, width)| width);
        // SAFETY: the grammar is alive.
        unsafe {
            let n_warnings = mw_grammar_n_warnings(handle);
            for index in 0..n_warnings.min(8) {
                assert!(!CStr::from_ptr(mw_grammar_warning(handle, index)).to_bytes().is_empty());
            }
            assert!(mw_grammar_warning(handle, n_warnings).is_null());
            assert!(CStr::from_ptr(mw_grammar_unenforced(handle)).to_bytes().starts_with(b"["));
            assert!(mw_grammar_memory_bytes(handle) > 0);
        }
        self.grammars.push((handle, width));
    }

    fn new_matcher(&mut self) {
        let grammars: Vec<*mut grammar> = self.grammars.iter().map(|&(handle, _)| handle).collect();
        let grammar = self.pick(&grammars);
        let width = self.grammars.iter().find(|(other, _)| *other == grammar).map_or(0, |&(_, width)| width);
        let stop_tokens: Vec<u32> = (0..self.rng.below(3)).map(|_| self.rng.below(width + 2) as u32).collect();
        let options = matcher_options {
            struct_size: size_of::<matcher_options>(),
            stop_tokens: if self.rng.chance(60) { null() } else { stop_tokens.as_ptr() },
            n_stop_tokens: stop_tokens.len(),
            terminate_when_nothing_follows: self.rng.chance(30),
            fail_closed: self.rng.chance(30),
        };
        let is_given = self.rng.chance(70);
        let given = if is_given { &raw const options } else { null() };
        // SAFETY: NULL or handles that are alive.
        let made = self.make(|error| unsafe { mw_matcher_new(grammar, given, error) });
        if let Some(handle) = made {
            let is_fail_closed = is_given && options.fail_closed;
            self.matchers.push(Tested { handle, n_tokens: width, is_fail_closed });
        }
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..4 if self.vocabs.len() < LIVE_MAX => self.new_vocab(),
            4..8 if self.compilers.len() < LIVE_MAX => self.new_compiler(),
            8..20 if self.grammars.len() < LIVE_MAX => self.compile(),
            20..30 if self.matchers.len() < LIVE_MAX => self.new_matcher(),
            30..33 => self.cancel(),
            33..40 => self.free_one(),
            40..43 => self.nulls(),
            43..47 => self.batch(),
            47..50 => self.logits(),
            _ if !self.matchers.is_empty() => self.use_matcher(),
            _ if !self.grammars.is_empty() => self.new_matcher(),
            _ => self.compile(),
        }
    }

    fn cancel(&mut self) {
        if self.cancels.len() < LIVE_MAX {
            self.cancels.push(mw_cancel_new());
        } else {
            let flag = self.cancels[0];
            // SAFETY: it is alive.
            unsafe { mw_cancel_set(flag) };
        }
    }

    /// Frees a handle. What was made from it goes on.
    fn free_one(&mut self) {
        // SAFETY: each is alive, and forgotten here.
        unsafe {
            match self.rng.below(5) {
                0 if self.vocabs.len() > 1 => mw_vocab_free(self.vocabs.swap_remove(0)),
                1 if self.compilers.len() > 1 => mw_compiler_free(self.compilers.swap_remove(0).0),
                2 if !self.grammars.is_empty() => mw_grammar_free(self.grammars.swap_remove(0).0),
                3 if !self.matchers.is_empty() => mw_matcher_free(self.matchers.swap_remove(0).handle),
                4 if !self.cancels.is_empty() => mw_cancel_free(self.cancels.swap_remove(0)),
                _ => {}
            }
        }
    }

    fn free_all(&mut self) {
        // SAFETY: each is alive, and forgotten here; in any order.
        unsafe {
            self.vocabs.drain(..).for_each(|handle| mw_vocab_free(handle));
            self.grammars.drain(..).for_each(|(handle, _)| mw_grammar_free(handle));
            self.compilers.drain(..).for_each(|(handle, _)| mw_compiler_free(handle));
            self.cancels.drain(..).for_each(|handle| mw_cancel_free(handle));
            self.matchers.drain(..).for_each(|tested| mw_matcher_free(tested.handle));
        }
    }

    /// Calls functions with NULL handles: an error or a neutral answer.
    fn nulls(&mut self) {
        let mut row = [CANARY; 2];
        let codes = [
            // SAFETY: NULL handles are allowed.
            self.call(|error| unsafe { mw_matcher_accept(null_mut(), 0, error) }),
            self.call(|error| unsafe { mw_matcher_accept_bytes(null_mut(), null(), 0, error) }),
            self.call(|error| unsafe { mw_matcher_rollback(null_mut(), 1, error) }),
            self.call(|error| unsafe { mw_matcher_replay(null_mut(), null(), 0, error) }),
            self.call(|error| unsafe { mw_matcher_fill(null_mut(), row.as_mut_ptr(), 2, null_mut(), error) }),
            self.call(|error| unsafe { mw_matcher_copy_state(null_mut(), null(), error) }),
        ];
        // Copying a handle to itself does nothing, whatever it is.
        assert_eq!(codes[..5], [code::Argument; 5]);
        assert_eq!(codes[5], code::Ok);
        assert_eq!(row, [CANARY; 2]);
        // SAFETY: likewise.
        unsafe {
            assert!(!mw_matcher_try_accept(null_mut(), 0) && !mw_matcher_is_allowed(null_mut(), 0));
            assert!(!mw_matcher_is_accepting(null()) && !mw_matcher_is_terminated(null()));
            assert_eq!((mw_matcher_n_steps(null()), mw_matcher_validate(null_mut(), null(), 0)), (0, 0));
            assert!(mw_matcher_fork(null()).is_null() && mw_grammar_unenforced(null()).is_null());
            assert_eq!((mw_vocab_n_tokens(null()), mw_grammar_n_warnings(null())), (0, 0));
            assert_eq!(mw_matcher_jump_forward(null_mut(), null_mut(), 0), 0);
            mw_matcher_reset(null_mut());
            mw_matcher_forget_history(null_mut());
            mw_compiler_clear_caches(null());
            mw_cancel_set(null());
            mw_vocab_free(null_mut());
            mw_compiler_free(null_mut());
            mw_grammar_free(null_mut());
            mw_matcher_free(null_mut());
            mw_cancel_free(null_mut());
            mw_error_free(null_mut());
        }
    }

    /// Fills a row of `n_words` words, and checks what was written.
    fn fill(&mut self, tested: Tested, n_words: usize) -> Option<Vec<u32>> {
        let mut row = vec![CANARY; n_words + 1];
        let mut needs_apply = true;
        let place = if self.rng.chance(50) { &raw mut needs_apply } else { null_mut() };
        let start = row.as_mut_ptr();
        // SAFETY: the matcher is alive, and there are more words than is said.
        let code = self.call(|error| unsafe { mw_matcher_fill(tested.handle, start, n_words, place, error) });
        assert_eq!(row.pop(), Some(CANARY), "nothing is written beyond the row");
        if code != code::Ok {
            assert!(row.iter().all(|&word| word == 0), "a row that can't be filled is zeros");
            assert!(!tested.is_fail_closed, "{code:?} from a matcher that fails closed");
            return None;
        }
        self.coverage.n_rows += 1;
        if n_words < tested.n_words() {
            assert!(tested.is_fail_closed, "a row that is too short is filled");
            return None;
        }
        let bit = |id: usize| row[id / 32] >> (id % 32) & 1 == 1;
        assert!((tested.n_tokens..32 * n_words).all(|id| !bit(id)), "bits beyond the vocabulary are clear");
        if !place.is_null() {
            let is_full = (0..tested.n_tokens).all(bit);
            // The row of stop tokens, where there are no others, is applied all the same.
            assert!(needs_apply != is_full || needs_apply && tested.is_fail_closed, "whether all tokens are allowed");
        }
        Some(row)
    }

    fn use_matcher(&mut self) {
        let tested = *self.rng.pick(&self.matchers);
        let handle = tested.handle;
        let before = tested.state();
        let tokens: Vec<u32> = (0..self.rng.below(5)).map(|_| self.rng.below(tested.n_tokens + 2) as u32).collect();
        let token = tokens.first().copied().unwrap_or(0);
        let wide = tested.n_words() + self.rng.below(3);
        // SAFETY of all calls below: the matcher is alive, arrays are as long as is said.
        let failed = match self.rng.below(14) {
            0 => {
                let short = self.rng.below(tested.n_words() + 1);
                self.fill(tested, short);
                true
            }
            1..4 => {
                // The mask and single tokens agree; an allowed token is accepted.
                let Some(row) = self.fill(tested, wide) else { return };
                let allowed: Vec<u32> =
                    (0..tested.n_tokens as u32).filter(|&id| row[id as usize / 32] >> (id % 32) & 1 == 1).collect();
                let is_allowed = unsafe { mw_matcher_is_allowed(handle, token) };
                // A matcher that fails closed has a mask where a token by itself can't be told.
                assert!(is_allowed == allowed.contains(&token) || tested.is_fail_closed, "token {token}");
                if allowed.is_empty() {
                    return;
                }
                let token = *self.rng.pick(&allowed);
                let code = self.call(|error| unsafe { mw_matcher_accept(handle, token, error) });
                assert!(code == code::Ok || code == code::OverBudget || tested.is_fail_closed, "{code:?}");
                code != code::Ok
            }
            4 => self.call(|error| unsafe { mw_matcher_accept(handle, token, error) }) != code::Ok,
            5 => {
                let n_valid = unsafe { mw_matcher_validate(handle, tokens.as_ptr(), tokens.len()) };
                assert!(n_valid <= tokens.len() && tested.state() == before);
                let code =
                    self.call(|error| unsafe { mw_matcher_accept_many(handle, tokens.as_ptr(), tokens.len(), error) });
                assert_eq!(
                    code == code::Ok,
                    n_valid == tokens.len(),
                    "{code:?}: {n_valid} of {tokens:?}, {before:?}, {}",
                    tested.is_fail_closed
                );
                code != code::Ok
            }
            6 => {
                const PIECES: [&[u8]; 6] = [b"a", b"ab", b"{\"", b"1", b"", b"\xFF"];
                let bytes = PIECES[self.rng.below(PIECES.len())];
                self.call(|error| unsafe { mw_matcher_accept_bytes(handle, bytes.as_ptr(), bytes.len(), error) })
                    != code::Ok
            }
            7 => {
                let k = self.rng.below(before.0 + 2);
                let code = self.call(|error| unsafe { mw_matcher_rollback(handle, k, error) });
                assert_eq!(code == code::Ok, k <= before.0, "{k} steps of {}", before.0);
                assert!(code != code::Ok || tested.state().0 == before.0 - k);
                code != code::Ok
            }
            8 if self.matchers.len() < LIVE_MAX => {
                let fork = unsafe { mw_matcher_fork(handle) };
                assert!(!fork.is_null());
                let fork = Tested { handle: fork, ..tested };
                assert_eq!(fork.state(), before);
                let (one, other) = (self.fill(tested, wide), self.fill(fork, wide));
                assert_eq!(one, other, "a fork allows the same");
                self.matchers.push(fork);
                true
            }
            9 => {
                let n_rows = tokens.len() + 1;
                let mut rows = vec![CANARY; n_rows * wide];
                let (start, mut n_acceptable) = (rows.as_mut_ptr(), usize::MAX);
                let place = &raw mut n_acceptable;
                let code = self.call(|error| unsafe {
                    mw_matcher_fill_chain(handle, tokens.as_ptr(), tokens.len(), start, wide, place, error)
                });
                if code == code::Ok {
                    assert!(n_acceptable <= tokens.len());
                    if let Some(row) = self.fill(tested, wide) {
                        assert_eq!(rows[..wide], row, "the first row is the mask");
                    }
                }
                // Too many to count.
                let refused = self.call(|error| unsafe {
                    mw_matcher_fill_chain(handle, null(), usize::MAX, null_mut(), 2, null_mut(), error)
                });
                assert_eq!(refused, code::Argument);
                true
            }
            10 => {
                let n_nodes = tokens.len() + 1;
                let parents = (0..n_nodes).map(|node| match node {
                    0 => -1,
                    _ if self.rng.chance(5) => self.rng.below(n_nodes + 2) as i32 - 1,
                    _ => self.rng.below(node) as i32,
                });
                let parents = parents.collect::<Vec<_>>();
                let drafts: Vec<u32> = std::iter::once(0).chain(tokens.iter().copied()).collect();
                let (mut rows, mut acceptable) = (vec![CANARY; n_nodes * wide], vec![false; n_nodes]);
                let (start, places) = (rows.as_mut_ptr(), acceptable.as_mut_ptr());
                let code = self.call(|error| unsafe {
                    mw_matcher_fill_tree(handle, parents.as_ptr(), drafts.as_ptr(), n_nodes, start, wide, places, error)
                });
                assert!(code != code::Ok || acceptable[0]);
                true
            }
            11 => {
                let mut buffer = vec![0u8; self.rng.below(9)];
                let (start, capacity) = (buffer.as_mut_ptr(), buffer.len());
                let n_forced = unsafe { mw_matcher_jump_forward(handle, start, capacity) };
                if n_forced > 0 && n_forced <= capacity {
                    let code =
                        self.call(|error| unsafe { mw_matcher_accept_bytes(handle, buffer.as_ptr(), n_forced, error) });
                    assert!(code == code::Ok || code == code::OverBudget, "forced text is accepted: {code:?}");
                    return;
                }
                true
            }
            12 => {
                let other = *self.rng.pick(&self.matchers);
                let code = self.call(|error| unsafe { mw_matcher_copy_state(handle, other.handle, error) });
                assert_eq!(code, code::Ok);
                assert_eq!(tested.state(), other.state());
                // From now on it is like the other one, which may be of another vocabulary.
                for one in &mut self.matchers {
                    if one.handle == handle {
                        *one = Tested { handle, ..other };
                    }
                }
                return;
            }
            _ => {
                match self.rng.below(3) {
                    0 => unsafe { mw_matcher_reset(handle) },
                    1 => unsafe { mw_matcher_forget_history(handle) },
                    _ => {
                        let code = self
                            .call(|error| unsafe { mw_matcher_replay(handle, tokens.as_ptr(), tokens.len(), error) });
                        assert!(code == code::Ok || tested.state() == before, "a call that fails changes nothing");
                    }
                }
                return;
            }
        };
        if failed {
            assert_eq!(tested.state(), before, "what fails, or only looks, changes nothing");
        }
    }

    fn batch(&mut self) {
        let n = self.matchers.len();
        let words = self.matchers.iter().map(|tested| tested.n_words()).max().unwrap_or(0);
        let mut list: Vec<*mut matcher> = self.matchers.iter().map(|tested| tested.handle).collect();
        match self.rng.below(10) {
            0 => list.extend(list.first().copied()),
            1 => list.push(null_mut()),
            _ => {}
        }
        let is_bad = list.len() > n;
        let mut rows = vec![CANARY; list.len() * words];
        let mut codes = vec![code::Internal; list.len()];
        let tokens: Vec<u32> = list.iter().map(|_| self.rng.below(40) as u32).collect();
        let (start, places) = (rows.as_mut_ptr(), if self.rng.chance(80) { codes.as_mut_ptr() } else { null_mut() });
        let accepts = self.rng.chance(50);
        // SAFETY: the matchers are alive or NULL, and the arrays as long as is said.
        let code = self.call(|error| unsafe {
            match accepts {
                true => mw_batch_accept_and_fill(
                    null(),
                    list.as_ptr(),
                    tokens.as_ptr(),
                    list.len(),
                    start,
                    words,
                    places,
                    error,
                ),
                false => mw_batch_fill(null(), list.as_ptr(), list.len(), start, words, places, error),
            }
        });
        assert_eq!(code, if is_bad { code::Argument } else { code::Ok });
        if is_bad || places.is_null() {
            return;
        }
        assert!(codes.iter().all(|&code| code != code::Internal));
        for (index, tested) in self.matchers.clone().into_iter().enumerate() {
            let row = &rows[index * words..][..words];
            if codes[index] == code::Ok {
                // The same as by itself.
                let own = self.fill(tested, words);
                assert!(own.is_none_or(|own| own == row) || tested.is_fail_closed);
            } else {
                assert!(row.iter().all(|&word| word == 0), "{:?}", codes[index]);
            }
        }
    }

    fn logits(&mut self) {
        let n_tokens = self.rng.below(100);
        let mask: Vec<u32> = (0..self.rng.below(5)).map(|_| self.rng.bits() as u32).collect();
        let n_logits = n_tokens + self.rng.below(3);
        let n_given = if self.rng.chance(10) { self.rng.below(n_logits + 1) } else { n_logits };
        let mut singles = vec![1.0f32; n_given];
        let mut halves = vec![0u16; n_given];
        let is_enough = 32 * mask.len() >= n_tokens && n_given >= n_tokens;
        let kind = self.rng.below(3);
        let (words, n_words) = (mask.as_ptr(), mask.len());
        // SAFETY: the arrays are as long as is said.
        let code = self.call(|error| unsafe {
            match kind {
                0 => mw_apply_mask_f32(words, n_words, n_tokens, singles.as_mut_ptr(), n_given, error),
                1 => mw_apply_mask_f16(words, n_words, n_tokens, halves.as_mut_ptr(), n_given, error),
                _ => mw_apply_mask_bf16(words, n_words, n_tokens, halves.as_mut_ptr(), n_given, error),
            }
        });
        assert_eq!(code == code::Ok, is_enough, "{n_words} words, {n_tokens} tokens, {n_given} logits: {code:?}");
        if code == code::Ok && kind == 0 {
            for (id, logit) in singles.iter().enumerate() {
                let is_allowed = id < n_tokens && mask[id / 32] >> (id % 32) & 1 == 1;
                assert_eq!(*logit == f32::NEG_INFINITY, !is_allowed, "logit {id}");
            }
        }
    }
}

//! What arguments and options mean that the programs in `examples` have no use for, and what is refused.

use core::ffi::{CStr, c_char};
use core::mem::zeroed;
use core::ptr::{null, null_mut};
use maskwright_c::batch::{mw_pool_free, mw_pool_new};
use maskwright_c::compile::*;
use maskwright_c::error::*;
use maskwright_c::matcher::*;
use maskwright_c::vocab::*;

/// A compiler for bytes.
struct Compiler {
    vocab: *mut vocab,
    compiler: *mut compiler,
}

impl Compiler {
    fn new() -> Self {
        let bytes: Vec<u8> = (0..=255).collect();
        let lengths = [1usize; 256];
        // SAFETY: the arrays are as long as is said.
        unsafe {
            let vocab = mw_vocab_new(bytes.as_ptr(), lengths.as_ptr(), null(), 256, null(), null_mut());
            let compiler = mw_compiler_new(vocab, null(), null_mut());
            assert!(!vocab.is_null() && !compiler.is_null());
            Compiler { vocab, compiler }
        }
    }

    /// Compiles a source; returns the matcher, or the code and the place of the error.
    fn matcher(
        &self,
        kind: source,
        text: &str,
        options: &compile_options,
    ) -> Result<*mut matcher, (code, usize, usize)> {
        let mut error = null_mut();
        // SAFETY: the handles are alive, and freed once.
        unsafe {
            let text_start = text.as_ptr().cast::<c_char>();
            let grammar = mw_compile(self.compiler, kind as u32, text_start, text.len(), options, &mut error);
            if grammar.is_null() {
                let (code, line, column) = (mw_error_code(error), mw_error_line(error), mw_error_column(error));
                assert!(!CStr::from_ptr(mw_error_message(error)).is_empty());
                mw_error_free(error);
                return Err((code, line, column));
            }
            let matcher = mw_matcher_new(grammar, null(), null_mut());
            mw_grammar_free(grammar);
            Ok(matcher)
        }
    }

    /// Tells whether a document conforms to the schema of one property, an integer.
    fn accepts(&self, options: &compile_options, document: &str) -> bool {
        let schema = r#"{"properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}"#;
        let matcher = self.matcher(source::JsonSchema, schema, options).unwrap();
        // SAFETY: the matcher is alive, and freed once.
        unsafe {
            let code = mw_matcher_accept_bytes(matcher, document.as_ptr(), document.len(), null_mut());
            let is_accepted = code == maskwright_c::error::code::Ok && mw_matcher_is_accepting(matcher);
            mw_matcher_free(matcher);
            is_accepted
        }
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        // SAFETY: they are alive, and freed once.
        unsafe {
            mw_compiler_free(self.compiler);
            mw_vocab_free(self.vocab);
        }
    }
}

fn options() -> compile_options {
    // SAFETY: zeros are the defaults.
    compile_options { struct_size: size_of::<compile_options>(), ..unsafe { zeroed() } }
}

#[test]
fn one_separator_makes_the_other_plain() {
    let compiler = Compiler::new();
    let item = compile_options { item_separator: c", ".as_ptr(), ..options() };
    assert!(compiler.accepts(&item, r#"{"a":1}"#) && !compiler.accepts(&item, r#"{"a": 1}"#));
    let key = compile_options { key_separator: c": ".as_ptr(), ..options() };
    assert!(compiler.accepts(&key, r#"{"a": 1}"#) && !compiler.accepts(&key, r#"{ "a": 1}"#));
    assert!(compiler.accepts(&options(), r#"{ "a" : 1 }"#));
}

#[test]
fn options_that_contradict_one_another_are_refused() {
    let compiler = Compiler::new();
    let contradictions = [
        compile_options { indent: 2, has_white_space_max: true, ..options() },
        compile_options { indent: 2, item_separator: c", ".as_ptr(), ..options() },
        compile_options { has_white_space_max: true, key_separator: c": ".as_ptr(), ..options() },
        compile_options { additional_properties: true, no_additional_properties: true, ..options() },
    ];
    for contradiction in contradictions {
        let refused = compiler.matcher(source::JsonSchema, "true", &contradiction);
        assert_eq!(refused, Err((code::Option, 0, 0)));
    }
}

#[test]
fn options_of_a_later_version_are_ignored_where_they_are_zero() {
    #[repr(C)]
    struct Later {
        known: compile_options,
        unknown: [usize; 2],
    }
    let compiler = Compiler::new();
    for (unknown, expected) in [([0, 0], None), ([0, 1], Some(code::Argument))] {
        let known = compile_options { struct_size: size_of::<Later>(), ..options() };
        let later = Later { known, unknown };
        let mut error = null_mut();
        // SAFETY: the options are as long as they say, and handles are freed once.
        unsafe {
            let given = (&raw const later).cast();
            let grammar = mw_compile(compiler.compiler, source::Regex as u32, c"a".as_ptr(), 1, given, &mut error);
            assert_eq!((!error.is_null()).then(|| mw_error_code(error)), expected);
            mw_grammar_free(grammar);
            mw_error_free(error);
        }
    }
}

#[test]
fn errors_have_codes_and_places_that_fit() {
    let compiler = Compiler::new();
    for (text, line, column) in [("[\"a\",\n 1]", 2, 2), ("", 1, 1), ("{}", 1, 1)] {
        let Err((code, found_line, found_column)) = compiler.matcher(source::Choice, text, &options()) else {
            panic!("{text} is no choice");
        };
        assert_eq!((code, found_line), (code::Document, line), "{text}");
        assert!(found_column >= column, "{text}: {found_column}");
    }
    let matcher = compiler.matcher(source::Regex, "abc", &options()).unwrap();
    let mut rows = [0u32; 24];
    // SAFETY: arrays are as long as is said, and handles are freed once.
    unsafe {
        for parents in [[0, 0, 1], [-1, 1, 0], [-1, 0, 7]] {
            let drafts = [0u32; 3];
            let rows = rows.as_mut_ptr();
            let filled =
                mw_matcher_fill_tree(matcher, parents.as_ptr(), drafts.as_ptr(), 3, rows, 8, null_mut(), null_mut());
            assert_eq!(filled, code::Argument, "{parents:?}");
        }
        assert_eq!(mw_matcher_jump_forward(matcher, null_mut(), 8), 3);
        let mut buffer = [0u8; 2];
        assert_eq!((mw_matcher_jump_forward(matcher, buffer.as_mut_ptr(), 2), &buffer), (3, b"ab"));
        mw_matcher_free(matcher);
    }
}

#[test]
fn pools_have_a_bound() {
    let mut error = null_mut();
    // SAFETY: the handles are freed once.
    unsafe {
        assert!(mw_pool_new(100_000, &mut error).is_null() && mw_error_code(error) == code::Argument);
        mw_error_free(error);
        mw_pool_free(mw_pool_new(2, null_mut()));
    }
}

//! Compilers and compiled grammars.

use crate::arguments::{Options, handle, optional_text, options};
use crate::error::{error, free, guard_handle, guard_or};
use crate::vocab::vocab;
use core::ffi::c_char;
use core::time::Duration;
use maskwright::frontend::regex::RegexOptions;
use maskwright::grammar::Grammar;
use maskwright::json_schema::{SchemaOptions, Verdict, WhiteSpace};
use maskwright::structural_tag::TagOptions;
use maskwright::{CompileError, CompileOptions, CompiledGrammar, Config, GrammarCompiler};
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A compiler of grammars for one vocabulary.
pub struct compiler {
    inner: GrammarCompiler,
}

/// A grammar compiled for one vocabulary.
pub struct grammar {
    pub(crate) inner: CompiledGrammar,
    warnings: Vec<CString>,
    report: CString,
}

/// A flag that cancels compiles from another thread.
pub struct cancel {
    flag: Arc<AtomicBool>,
}

/// What a source is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum source {
    /// EBNF, as GBNF and XGrammar write it.
    Ebnf = 0,
    /// Lark, with the root rule `start`.
    Lark = 1,
    /// EBNF if it has `::=`, Lark otherwise.
    Auto = 2,
    /// A regular expression, which the whole output must match.
    Regex = 3,
    /// A JSON Schema.
    JsonSchema = 4,
    /// A structural tag, as JSON.
    StructuralTag = 5,
    /// A JSON array of texts, of which the output is one.
    Choice = 6,
}

impl source {
    fn of(number: u32) -> Option<source> {
        use source::*;
        [Ebnf, Lark, Auto, Regex, JsonSchema, StructuralTag, Choice].into_iter().find(|&source| source as u32 == number)
    }
}

/// Options of compilers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compiler_options {
    /// The size of this struct.
    pub struct_size: usize,
    /// Bound on cached masks, in bytes; 0: the default.
    pub mask_cache_bytes: usize,
    /// Bound on cached automata, in bytes; 0: the default.
    pub unit_cache_bytes: usize,
    /// Bound on cached grammars, in bytes; 0: the default.
    pub grammar_cache_bytes: usize,
}

// SAFETY: zeros are 0.
unsafe impl Options for compiler_options {}

/// Options of one compile. Those from `has_white_space_max` on are of schemas, also within structural tags. `white_space_max`, `indent` and separators exclude one another.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct compile_options {
    /// The size of this struct.
    pub struct_size: usize,
    /// Compiling fails after so many milliseconds; 0: never.
    pub timeout_ms: u64,
    /// Compiling fails once this is set; NULL: never.
    pub cancel: *const cancel,
    /// The name of the root rule of EBNF; NULL: "root".
    pub root: *const c_char,
    /// Whether `white_space_max` is given.
    pub has_white_space_max: bool,
    /// The longest run of white space between two tokens of JSON, in characters; by default 16.
    pub white_space_max: u32,
    /// Spaces per level, with a line for each member and item; 0: no lines.
    pub indent: u32,
    /// Between members and between items, like ", ". NULL: a comma without white space if there is a `key_separator`, otherwise any white space.
    pub item_separator: *const c_char,
    /// Between a key and its value, like ": ". NULL: a colon without white space if there is an `item_separator`, otherwise any white space.
    pub key_separator: *const c_char,
    /// Whether an object without `additionalProperties` has no other keys than its `properties`. In structural tags that is the default.
    pub no_additional_properties: bool,
    /// Whether it may have others also in a structural tag.
    pub additional_properties: bool,
    /// Whether `format` is not asserted.
    pub no_formats: bool,
    /// Whether integers may be written like 1.0.
    pub integer_fractions: bool,
    /// Whether a constraint that can't be enforced is dropped and reported, instead of an error.
    pub lenient: bool,
    /// Whether the keys of objects come in any order, instead of that in which schemas name them.
    pub any_order: bool,
    /// Whether an array with `prefixItems` and without `items` has no further items.
    pub no_additional_items: bool,
}

// SAFETY: zeros are NULL, 0 and false.
unsafe impl Options for compile_options {}

/// Options as the library has them.
struct Given<'a> {
    compile: CompileOptions,
    root: &'a str,
    schema: SchemaOptions,
    tag: TagOptions,
}

unsafe fn given<'a>(given: *const compile_options) -> Result<Given<'a>, error> {
    // SAFETY: as the header says.
    let given = unsafe { options(given) }?;
    let timeout = Some(given.timeout_ms).filter(|&timeout| timeout > 0).map(Duration::from_millis);
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    // SAFETY: as the header says.
    let (root, item, key, cancelled) = unsafe {
        (
            optional_text(given.root, "root")?.unwrap_or("root"),
            optional_text(given.item_separator, "item_separator")?,
            optional_text(given.key_separator, "key_separator")?,
            given.cancel.as_ref().map(|cancel| Arc::clone(&cancel.flag)),
        )
    };
    if given.no_additional_properties && given.additional_properties {
        return Err(error::option("no_additional_properties and additional_properties contradict each other"));
    }
    let has_separators = item.is_some() || key.is_some();
    let white_space = match (given.has_white_space_max, given.indent, has_separators) {
        (false, 0, false) => WhiteSpace::default(),
        (true, 0, false) if given.white_space_max == 0 => WhiteSpace::Compact,
        (true, 0, false) => WhiteSpace::Flexible { run_max: given.white_space_max },
        (false, spaces, false) => WhiteSpace::Indent { spaces },
        (false, 0, true) => WhiteSpace::Separators { item: item.unwrap_or(",").into(), key: key.unwrap_or(":").into() },
        _ => return Err(error::option("white_space_max, indent and separators exclude one another")),
    };
    let schema = SchemaOptions {
        white_space,
        has_additional_properties: !given.no_additional_properties,
        has_additional_items: !given.no_additional_items,
        has_formats: !given.no_formats,
        has_integer_fractions: given.integer_fractions,
        is_lenient: given.lenient,
        has_any_order: given.any_order,
        ..SchemaOptions::default()
    };
    let mut tag = TagOptions::default();
    tag.schema = SchemaOptions { has_additional_properties: given.additional_properties, ..schema.clone() };
    Ok(Given { compile: CompileOptions { deadline, cancelled }, root, schema, tag })
}

impl grammar {
    fn new(inner: CompiledGrammar) -> grammar {
        let c_string = |text: String| CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
        let warnings = inner.warnings().iter().map(|warning| c_string(warning.to_string())).collect();
        let findings = inner
            .schema_reports()
            .flat_map(|(operand, report)| report.findings().map(move |finding| (operand, finding)));
        let unenforced: Vec<serde_json::Value> = findings
            .filter_map(|(operand, finding)| {
                let (verdict, reason) = match &finding.verdict {
                    Verdict::EnforcedInPart(what) => ("enforced_in_part", what),
                    Verdict::Relaxed(why) => ("dropped", why),
                    _ => return None,
                };
                Some(serde_json::json!({
                    "keyword": &*finding.keyword,
                    "location": &*finding.location,
                    "verdict": verdict,
                    "reason": &**reason,
                    "schema": operand.map(|operand| &**operand.text()),
                }))
            })
            .collect();
        let report = c_string(serde_json::Value::from(unenforced).to_string());
        grammar { inner, warnings, report }
    }
}

/// Makes a compiler. It keeps what it needs of the vocabulary.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_new(
    vocab: *const vocab,
    options: *const compiler_options,
    error: *mut *mut error,
) -> *mut compiler {
    let work = || {
        // SAFETY: as the header says.
        let (vocab, given) = unsafe { (handle(vocab, "vocab")?, crate::arguments::options(options)?) };
        let mut config = Config::default();
        let set = |to: &mut usize, bytes| {
            if bytes > 0 {
                *to = bytes;
            }
        };
        set(&mut config.mask_store_bytes_max, given.mask_cache_bytes);
        set(&mut config.unit_store_bytes_max, given.unit_cache_bytes);
        set(&mut config.grammar_cache_bytes_max, given.grammar_cache_bytes);
        Ok(compiler { inner: GrammarCompiler::builder(Arc::clone(&vocab.inner)).config(config).build() })
    };
    // SAFETY: as the header says.
    unsafe { guard_handle(error, work) }
}

/// Compiles a source; `kind` is an mw_source. What was compiled before is found again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compile(
    compiler: *const compiler,
    kind: u32,
    text: *const c_char,
    n_bytes: usize,
    options: *const compile_options,
    error: *mut *mut error,
) -> *mut grammar {
    let work = || {
        // SAFETY: as the header says.
        let (compiler, given) = unsafe { (&handle(compiler, "compiler")?.inner, given(options)?) };
        // SAFETY: likewise.
        let text = unsafe { crate::arguments::text(text, n_bytes, "text") }?;
        let kind =
            source::of(kind).ok_or_else(|| crate::error::error::argument(&format!("there is no mw_source {kind}")))?;
        let compiled = match kind {
            source::Ebnf => compiler.compile_ebnf_with(text, given.root, &given.compile),
            source::Lark => compiler.compile_lark_with(text, &given.compile),
            source::Auto => compiler.compile_auto_with(text, &given.compile),
            source::Regex => compiler.compile_regex_with(text, &RegexOptions::default(), &given.compile),
            source::JsonSchema => compiler.compile_json_schema_with(text, &given.schema, &given.compile),
            source::StructuralTag => compiler.compile_structural_tag_with(text, &given.tag, &given.compile),
            source::Choice => choice(compiler, text, &given.compile)?,
        };
        compiled.map(grammar::new).map_err(|compile_error| crate::error::error::of_compile(&compile_error, text))
    };
    // SAFETY: as the header says.
    unsafe { guard_handle(error, work) }
}

fn choice(
    compiler: &GrammarCompiler,
    text: &str,
    options: &CompileOptions,
) -> Result<Result<CompiledGrammar, CompileError>, error> {
    let malformed = |json_error| error::of_json("no array of texts", &json_error);
    let texts: Vec<String> = serde_json::from_str(text).map_err(malformed)?;
    Ok(compiler.compile_with(&Grammar::choice(texts.iter().map(|text| &**text)), options))
}

/// Empties the caches of a compiler. What was compiled stays usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_clear_caches(compiler: *const compiler) {
    // SAFETY: NULL or a compiler that is alive.
    guard_or((), || unsafe { compiler.as_ref() }.into_iter().for_each(|compiler| compiler.inner.clear_caches()));
}

/// Frees a compiler. Grammars that it compiled stay usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_free(compiler: *mut compiler) {
    // SAFETY: NULL or a compiler that nobody uses any more.
    unsafe { free(compiler) };
}

/// Returns the number of warnings: probable mistakes in the grammar.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_n_warnings(grammar: *const grammar) -> usize {
    // SAFETY: NULL or a grammar that is alive.
    unsafe { grammar.as_ref() }.map_or(0, |grammar| grammar.warnings.len())
}

/// Returns a warning, or NULL if there are fewer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_warning(grammar: *const grammar, index: usize) -> *const c_char {
    // SAFETY: NULL or a grammar that is alive.
    let warning = unsafe { grammar.as_ref() }.and_then(|grammar| grammar.warnings.get(index));
    warning.map_or(core::ptr::null(), |warning| warning.as_ptr())
}

/// Returns the keywords of a schema that are not enforced, or not in full, as a JSON array of objects with `keyword`, `location`, `verdict`, `reason` and `schema`: the text of a schema within a grammar or a
/// structural tag, otherwise null. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_unenforced(grammar: *const grammar) -> *const c_char {
    // SAFETY: NULL or a grammar that is alive.
    unsafe { grammar.as_ref() }.map_or(core::ptr::null(), |grammar| grammar.report.as_ptr())
}

/// Returns about how much memory the grammar takes, in bytes, without masks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_memory_bytes(grammar: *const grammar) -> usize {
    // SAFETY: NULL or a grammar that is alive.
    guard_or(0, || unsafe { grammar.as_ref() }.map_or(0, |grammar| grammar.inner.memory_bytes()))
}

/// Frees a grammar. Matchers that were made from it keep what they need.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_free(grammar: *mut grammar) {
    // SAFETY: NULL or a grammar that nobody uses any more.
    unsafe { free(grammar) };
}

/// Makes a flag that cancels compiles.
#[unsafe(no_mangle)]
pub extern "C" fn mw_cancel_new() -> *mut cancel {
    Box::into_raw(Box::new(cancel { flag: Arc::default() }))
}

/// Sets the flag: every compile that has it fails within some milliseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_cancel_set(cancel: *const cancel) {
    // SAFETY: NULL or a flag that is alive.
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.flag.store(true, Ordering::Relaxed);
    }
}

/// Frees a flag. Compiles that have it go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_cancel_free(cancel: *mut cancel) {
    // SAFETY: NULL or a flag that nobody uses any more.
    unsafe { free(cancel) };
}

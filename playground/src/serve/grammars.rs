//! Vocabularies, each read when first asked for, and the grammars that were compiled last.

use super::schema::SchemaRequest;
use super::workers::Task;
use crate::failure::Failure;
use crate::options::GrammarArgs;
use crate::source::{Form, GrammarSource};
use crate::tokenizer::Tokenizer;
use crate::vocabulary;
use maskwright::compiler::Config;
use maskwright::grammar::Warning;
use maskwright::{CompileError, CompiledGrammar, Encoding, GrammarCompiler, Limits, TokenId, Vocab};
use serde::Deserialize;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Longest grammar, in bytes.
pub const GRAMMAR_BYTES_MAX: usize = 256 << 10;
/// Longest compile of a grammar whose exclusions are looked at: that takes about as long again, and can't be interrupted.
const LINTED_TIME_MAX: Duration = Duration::from_millis(50);
/// Grammars that are kept.
const KEPT_MAX: usize = 16;
/// The name of the vocabulary of bytes.
const BYTES: &str = "bytes";

/// A dialect, as a request names it.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// What the text looks like.
    #[default]
    Auto,
    Ebnf,
    Lark,
    Regex,
    JsonSchema,
    StructuralTag,
}

/// How to read a grammar.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    pub dialect: Dialect,
    /// The root rule of EBNF.
    pub root: Option<&'a str>,
    /// Options of JSON Schemas.
    pub schema: &'a SchemaRequest,
}

struct Offered {
    name: String,
    tokenizer: Tokenizer,
    /// The compiler, once the vocabulary was asked for.
    compiler: OnceLock<Result<GrammarCompiler, String>>,
}

/// A grammar that was compiled.
#[derive(Clone)]
pub struct Compiled {
    pub source: Arc<GrammarSource>,
    pub grammar: CompiledGrammar,
    /// How long it took, now or when it was compiled.
    pub time: Duration,
    pub is_kept: bool,
    /// Warnings that compiling doesn't look for.
    pub exclusions: Arc<[Warning]>,
    pub vocab: usize,
}

/// Vocabularies and grammars.
pub struct Grammars {
    vocabs: Vec<Offered>,
    kept: Mutex<VecDeque<Compiled>>,
}

/// The reason why there is no grammar.
pub enum Refused {
    /// The request makes no sense.
    Request(String),
    /// The grammar is too long.
    TooLong(String),
    /// The vocabulary can't be read.
    Vocab(String),
    /// The grammar can't be compiled.
    Grammar(Box<(GrammarSource, CompileError)>),
}

impl Grammars {
    /// Offers the embedded vocabularies, that of bytes, and files.
    ///
    /// # Errors
    /// If a file can't be read; so files are read at once.
    pub fn new(files: &[String]) -> Result<Self, Failure> {
        let offered = |name: &str, tokenizer| Offered { name: name.into(), tokenizer, compiler: OnceLock::new() };
        let mut vocabs: Vec<Offered> =
            Encoding::ALL.into_iter().map(|encoding| offered(encoding.name(), Tokenizer::Tiktoken(encoding))).collect();
        vocabs.push(offered(BYTES, Tokenizer::Longest));
        for path in files {
            let file_name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
            let mut name = crate::output::harmless(&file_name);
            if vocabs.iter().any(|vocab| vocab.name == name) {
                name = format!("{name} ({})", vocabs.len());
            }
            let offer = offered(&name, Tokenizer::read(path)?);
            let _ = offer.compiler.set(Ok(compiler(vocabulary::read(path)?)));
            vocabs.push(offer);
        }
        Ok(Grammars { vocabs, kept: Mutex::default() })
    }

    /// Returns the names of the vocabularies.
    pub fn vocab_names(&self) -> Vec<&str> {
        self.vocabs.iter().map(|vocab| &*vocab.name).collect()
    }

    /// Compiles a grammar, or returns it if it was compiled before.
    ///
    /// # Errors
    /// If there is no such vocabulary, or the grammar can't be compiled within the task's time.
    pub fn compile(&self, text: &str, reading: Reading, vocab: &str, task: &Task) -> Result<Compiled, Refused> {
        let Reading { dialect, root, schema } = reading;
        if text.len() > GRAMMAR_BYTES_MAX {
            return Err(Refused::TooLong(format!(
                "the grammar has {} bytes, and may have {GRAMMAR_BYTES_MAX}",
                text.len()
            )));
        }
        let Some(index) = self.vocabs.iter().position(|offered| offered.name == vocab) else {
            return Err(Refused::Request(format!("there is no vocabulary `{}`", crate::output::harmless(vocab))));
        };
        let args = GrammarArgs {
            regex: (dialect == Dialect::Regex).then(|| text.to_owned()),
            ebnf: dialect == Dialect::Ebnf,
            lark: dialect == Dialect::Lark,
            schema: dialect == Dialect::JsonSchema,
            tag: dialect == Dialect::StructuralTag,
            root: root
                .filter(|root| !root.is_empty() && matches!(dialect, Dialect::Auto | Dialect::Ebnf))
                .map(str::to_owned),
            ..GrammarArgs::default()
        };
        let mut form = Form::find(&args, "", text).map_err(|failure| Refused::Request(failure.to_string()))?;
        let schema = schema.options().map_err(Refused::Request)?;
        if let Form::Schema(options) = &mut form {
            **options = schema;
        }
        let source = GrammarSource { name: "grammar".into(), text: text.to_owned(), form };
        if let Some(kept) = self.kept(&source, index) {
            return Ok(kept);
        }
        let compiler = self.vocabs[index].compiler().map_err(Refused::Vocab)?;
        let start = Instant::now();
        let compiled = source.compile_with(&compiler, &task.compile_options());
        let time = start.elapsed();
        let grammar = match compiled {
            Ok(grammar) => grammar,
            Err(error) => return Err(Refused::Grammar(Box::new((source, error)))),
        };
        let exclusions = match time <= LINTED_TIME_MAX {
            true => grammar.grammar().exclusion_warnings(compiler.limits()),
            false => Vec::new(),
        };
        let exclusions: Arc<[Warning]> = exclusions.into();
        let compiled = Compiled { source: Arc::new(source), grammar, time, is_kept: false, exclusions, vocab: index };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(Compiled { is_kept: true, ..compiled.clone() });
        kept.truncate(KEPT_MAX);
        Ok(compiled)
    }

    fn kept(&self, source: &GrammarSource, vocab: usize) -> Option<Compiled> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|kept| kept.vocab == vocab && kept.source.is_same(source))?;
        let found = kept.remove(at)?;
        kept.push_front(found.clone());
        Some(found)
    }

    /// Returns the compiler that a grammar was compiled with.
    pub fn compiler_of(&self, compiled: &Compiled) -> GrammarCompiler {
        self.vocabs[compiled.vocab].compiler().expect("the vocabulary was read for this grammar")
    }

    /// Cuts a text into tokens; `None` if they don't spell it.
    pub fn tokenize(&self, compiled: &Compiled, text: &[u8]) -> Option<Vec<TokenId>> {
        let cut = self.vocabs[compiled.vocab].tokenizer.cut(compiled.grammar.vocab(), text);
        cut.map(|cut| cut.ids)
    }
}

impl Offered {
    fn compiler(&self) -> Result<GrammarCompiler, String> {
        let read = || match self.tokenizer {
            Tokenizer::Tiktoken(encoding) => Vocab::tiktoken(encoding).map(compiler).map_err(|error| error.to_string()),
            _ => of_bytes().map(compiler).map_err(|error| error.to_string()),
        };
        self.compiler.get_or_init(read).clone()
    }
}

/// Returns the vocabulary whose tokens are the bytes, with one stop token.
fn of_bytes() -> Result<Vocab, maskwright::VocabError> {
    let mut builder = Vocab::builder();
    builder.extend((0..=255u8).map(|byte| [byte]));
    let end = builder.push(b"");
    builder.set_kind(end, maskwright::TokenKind::Control).set_name(end, "<|end|>").stop_tokens([end]);
    builder.build()
}

/// Returns a compiler whose limits are those of a page: smaller than a server's, so that several hostile grammars fit in memory.
fn compiler(vocab: Vocab) -> GrammarCompiler {
    let limits = Limits {
        source_bytes_max: GRAMMAR_BYTES_MAX,
        automaton_states_max: 1 << 18,
        automaton_moves_max: 1 << 21,
        ..Limits::default()
    };
    let config = Config {
        mask_store_bytes_max: 64 << 20,
        unit_store_bytes_max: 64 << 20,
        // Grammars are kept here, with the time that they took.
        grammar_cache_bytes_max: 0,
        compile_threads_max: 1,
    };
    GrammarCompiler::builder(vocab.into()).limits(limits).config(config).build()
}

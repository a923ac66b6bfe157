//! Maskwright itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use maskwright::json_schema::SchemaOptions;
use maskwright::testing::ShortCut;
use maskwright::vocab::{TokenKind, Vocab};
use maskwright::{CompileOptions, CompiledGrammar, Config, GrammarCompiler, Matcher};

use crate::{Case, Engine, SchemaEngine, Session, ToolEngine, ToolGrammar, Vocabulary};

/// Maskwright with a vocabulary.
pub struct Ours {
    vocab: Arc<Vocab>,
    config: Config,
    compiler: GrammarCompiler,
}

/// A text in progress.
pub struct OurSession {
    matcher: Matcher,
}

/// Returns a short cut by its name, to be turned off to see what it buys.
///
/// # Errors
/// If there is none; the message names those that there are.
pub fn short_cut(name: &str) -> Result<ShortCut, String> {
    let names = || ShortCut::ALL.map(|short_cut| format!("{short_cut:?}").to_lowercase());
    let found = ShortCut::ALL.into_iter().zip(names()).find(|(_, known)| known == name);
    found
        .map(|(short_cut, _)| short_cut)
        .ok_or_else(|| format!("no short cut {name}; there are {}", names().join(", ")))
}

impl Ours {
    fn with(vocabulary: &Vocabulary, config: Config) -> Ours {
        let vocab = Arc::new(Ours::vocab(vocabulary));
        let compiler = GrammarCompiler::builder(vocab.clone()).config(config.clone()).build();
        Ours { vocab, config, compiler }
    }

    /// Builds the vocabulary alone; loading an engine is this and an empty compiler.
    pub fn vocab(vocabulary: &Vocabulary) -> Vocab {
        let mut builder = Vocab::builder();
        builder.extend(&vocabulary.tokens);
        for (id, text) in &vocabulary.specials {
            builder.set_kind(*id, TokenKind::Control);
            builder.set_name(*id, text);
        }
        builder.stop_tokens([vocabulary.stop]);
        builder.build().expect("a vocabulary")
    }
}

impl Engine for Ours {
    const NAME: &'static str = "maskwright";
    type Compiled = CompiledGrammar;
    type Session = OurSession;

    fn load(vocabulary: &Vocabulary) -> Self {
        Ours::with(vocabulary, Config::default())
    }

    fn forget(&mut self) {
        // The compiler owns both stores; a new one starts with empty ones.
        self.compiler = GrammarCompiler::builder(self.vocab.clone()).config(self.config.clone()).build();
    }

    fn compile(&self, case: &Case) -> Result<CompiledGrammar, String> {
        self.compiler.compile_ebnf(case.ebnf).map_err(|error| format!("{error:#}"))
    }

    fn start(&self, compiled: &CompiledGrammar) -> OurSession {
        OurSession { matcher: compiled.matcher() }
    }

    fn compiled_bytes(compiled: &CompiledGrammar) -> Option<usize> {
        Some(compiled.memory_bytes())
    }
}

impl ToolEngine for Ours {
    fn compile_tools(&self, tools: &ToolGrammar) -> Result<CompiledGrammar, String> {
        self.compiler.compile_structural_tag(&tools.structural_tag).map_err(|error| format!("{error:#}"))
    }
}

impl SchemaEngine for Ours {
    fn load_for_schemas(vocabulary: &Vocabulary) -> Self {
        Ours::with(vocabulary, Config { grammar_cache_bytes_max: 0, ..Config::default() })
    }

    fn compile_schema(&self, schema: &str, time_max: Duration) -> Result<CompiledGrammar, String> {
        let options = CompileOptions { deadline: Some(Instant::now() + time_max), ..CompileOptions::default() };
        let compiled = self.compiler.compile_json_schema_with(schema, &SchemaOptions::default(), &options);
        compiled.map_err(|error| error.to_string())
    }

    fn store_bytes(&self) -> Option<usize> {
        let stats = self.compiler.stats();
        Some(stats.masks.bytes + stats.unit_bytes)
    }
}

impl OurSession {
    /// Returns the matcher, for what only this engine has (batches).
    pub fn into_matcher(self) -> Matcher {
        self.matcher
    }
}

impl Session for OurSession {
    fn fill(&mut self, row: &mut [u32]) {
        self.matcher.fill_mask(row).expect("a mask");
    }

    fn try_fill(&mut self, row: &mut [u32]) -> bool {
        self.matcher.fill_mask(row).is_ok()
    }

    fn accept(&mut self, token: u32) -> bool {
        self.matcher.accept_token(token).is_ok()
    }

    fn rollback(&mut self, n_tokens: usize) {
        self.matcher.rollback(n_tokens).expect("tokens to take back");
    }

    fn jump_forward(&mut self) -> Vec<u8> {
        self.matcher.jump_forward()
    }
}

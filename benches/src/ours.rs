//! Maskwright itself.

use std::sync::Arc;

use maskwright::vocab::{TokenKind, Vocab};
use maskwright::{CompiledGrammar, GrammarCompiler, Matcher};

use crate::{Case, Engine, Session, Vocabulary};

/// Maskwright with a vocabulary.
pub struct Ours {
    vocab: Arc<Vocab>,
    compiler: GrammarCompiler,
}

/// A text in progress.
pub struct OurSession {
    matcher: Matcher,
}

impl Ours {
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
        let vocab = Arc::new(Ours::vocab(vocabulary));
        Ours { compiler: GrammarCompiler::new(vocab.clone()), vocab }
    }

    fn forget(&mut self) {
        // The compiler owns both stores; a new one starts with empty ones.
        self.compiler = GrammarCompiler::new(self.vocab.clone());
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

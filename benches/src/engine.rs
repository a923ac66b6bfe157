//! What a bench asks of an engine.
//!
//! The traits are used through generics only, so that a timed step is a direct call into the engine and nothing else.

use std::time::Duration;

use crate::{Case, Vocabulary};

/// An engine that has loaded a vocabulary.
pub trait Engine: Sized {
    /// Name in tables and bench ids.
    const NAME: &'static str;
    /// A compiled grammar, from which any number of sessions start.
    type Compiled;
    /// The state of one generated text.
    type Session: Session;

    /// Loads a vocabulary; what an engine prepares for all grammars belongs here.
    fn load(vocabulary: &Vocabulary) -> Self;

    /// Drops what earlier compiles and masks left behind, so that the next compile is a first one.
    fn forget(&mut self);

    /// Compiles a grammar.
    ///
    /// # Errors
    /// The engine's message, if it refuses the grammar.
    fn compile(&self, case: &Case) -> Result<Self::Compiled, String>;

    /// Starts a text. Sessions of one compiled grammar share whatever the engine lets them share.
    fn start(&self, compiled: &Self::Compiled) -> Self::Session;

    /// Returns the bytes that the engine says a compiled grammar holds, if it says.
    fn compiled_bytes(compiled: &Self::Compiled) -> Option<usize>;
}

/// An engine that compiles JSON Schemas.
pub trait SchemaEngine: Engine {
    /// Loads a vocabulary without a cache of compiled schemas; what schemas have in common may be kept.
    fn load_for_schemas(vocabulary: &Vocabulary) -> Self;

    /// Compiles a schema, in about so much time at most if the engine can be told.
    ///
    /// # Errors
    /// The engine's message, if it refuses the schema.
    fn compile_schema(&self, schema: &str, time_max: Duration) -> Result<Self::Compiled, String>;

    /// Returns the bytes that the engine says it keeps for later schemas, if it says.
    fn store_bytes(&self) -> Option<usize>;
}

/// The calls of some tools, as each engine takes them.
pub struct ToolGrammar {
    /// As a structural tag.
    pub structural_tag: String,
    /// As Lark, if it can be said there.
    pub lark: Option<String>,
}

/// An engine that compiles tools as a choice.
pub trait ToolEngine: Engine {
    /// Compiles the calls of some tools.
    ///
    /// # Errors
    /// The engine's message, if it can't.
    fn compile_tools(&self, tools: &ToolGrammar) -> Result<Self::Compiled, String>;
}

/// The state of one generated text. Methods panic when the engine reports an error: a bench doesn't go on after one.
pub trait Session {
    /// Writes the mask of the next token into the caller's row.
    fn fill(&mut self, row: &mut [u32]);

    /// Accepts a token and says whether the engine took it.
    fn accept(&mut self, token: u32) -> bool;

    /// Writes the mask of the next token as [`fill`](Self::fill) does; returns false where the engine reports an error.
    fn try_fill(&mut self, row: &mut [u32]) -> bool {
        self.fill(row);
        true
    }

    /// Takes back the last tokens.
    fn rollback(&mut self, n_tokens: usize);

    /// Returns the bytes that must come next.
    fn jump_forward(&mut self) -> Vec<u8>;
}

/// Returns whether a row allows a token.
pub fn allows(row: &[u32], token: u32) -> bool {
    row[token as usize / 32] >> (token % 32) & 1 == 1
}

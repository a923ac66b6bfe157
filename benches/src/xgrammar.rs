//! The crate `xgrammar-rs`, with one thread and its caches on.
//!
//! Masks of the states of a grammar are made when it is compiled, so its cold pass is nearly all compile time. Clearing the compiler's
//! cache keeps masks of single rules, so a first compile needs a new compiler, and the vocabulary is held here a second time
//! (what the memory program shows as loaded is twice what the engine needs).

use xgrammar::{CompiledGrammar, GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType};

use crate::{Case, Engine, PeerGrammar, Session, ToolEngine, ToolGrammar, Vocabulary};

/// xgrammar with a vocabulary.
pub struct Xgrammar {
    info: TokenizerInfo,
    compiler: GrammarCompiler,
}

/// A text in progress.
pub struct XgrammarSession {
    matcher: GrammarMatcher,
    shape: [i64; 1],
}

impl Engine for Xgrammar {
    const NAME: &'static str = "xgrammar";
    type Compiled = CompiledGrammar;
    type Session = XgrammarSession;

    fn load(vocabulary: &Vocabulary) -> Self {
        let stop = Some(vec![vocabulary.stop as i32]);
        let info =
            TokenizerInfo::new_from_bytes(&vocabulary.tokens, VocabType::Raw, None, stop, false).expect("a vocabulary");
        Xgrammar { compiler: compiler(info.clone()), info }
    }

    fn forget(&mut self) {
        self.compiler = compiler(self.info.clone());
    }

    fn compile(&self, case: &Case) -> Result<CompiledGrammar, String> {
        match case.xgrammar {
            PeerGrammar::Ebnf(text) => {
                self.compiler.compile_grammar_ebnf(text, "root").map_err(|error| error.to_string())
            }
            PeerGrammar::BuiltinJson => Ok(self.compiler.compile_builtin_json_grammar()),
            PeerGrammar::JsonSchema(_) | PeerGrammar::Lark(_) => Err("not a grammar for xgrammar".to_string()),
        }
    }

    fn start(&self, compiled: &CompiledGrammar) -> XgrammarSession {
        let n_words = xgrammar::get_bitmask_size(compiled.tokenizer_info().vocab_size());
        XgrammarSession { matcher: GrammarMatcher::from_compiled_grammar(compiled, false), shape: [i64::from(n_words)] }
    }

    fn compiled_bytes(compiled: &CompiledGrammar) -> Option<usize> {
        Some(compiled.memory_size_bytes())
    }
}

impl ToolEngine for Xgrammar {
    fn compile_tools(&self, tools: &ToolGrammar) -> Result<CompiledGrammar, String> {
        self.compiler.compile_structural_tag(&tools.structural_tag).map_err(|error| error.to_string())
    }
}

/// One thread, caches on, without a bound.
fn compiler(info: TokenizerInfo) -> GrammarCompiler {
    GrammarCompiler::new(info, 1, true, -1)
}

impl Session for XgrammarSession {
    fn fill(&mut self, row: &mut [u32]) {
        self.matcher.fill_next_token_bitmask(bytemuck::cast_slice_mut(row), &self.shape, 0).expect("a mask");
    }

    fn accept(&mut self, token: u32) -> bool {
        self.matcher.accept_token(token as i32)
    }

    fn rollback(&mut self, n_tokens: usize) {
        self.matcher.rollback(n_tokens as i32).expect("tokens to take back");
    }

    fn jump_forward(&mut self) -> Vec<u8> {
        self.matcher.find_jump_forward_string().expect("forced bytes")
    }
}

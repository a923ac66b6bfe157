//! The crate `llguidance`, set up as a server would.
//!
//! One `ParserFactory` per vocabulary with its general slices, made at load time. A compiled grammar is a matcher that has not moved;
//! a session is a clone of it, so sessions share the lexer's states, which is what makes its second pass fast. The tokenizer is
//! declared non-canonical (the engine's own default for a vocabulary given as bytes): a canonical one makes it return a mask of one
//! token wherever text is forced, which is a different question. `mask_or_eos` and the copy into the caller's row are what its C
//! interface does.

use std::sync::Arc;
use std::time::Duration;

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use crate::{Case, Engine, PeerGrammar, SchemaEngine, Session, ToolEngine, ToolGrammar, Vocabulary};

/// llguidance with a vocabulary.
pub struct Llguidance {
    factory: ParserFactory,
}

/// A text in progress.
pub struct LlguidanceSession {
    matcher: Matcher,
}

impl Engine for Llguidance {
    const NAME: &'static str = "llguidance";
    type Compiled = Matcher;
    type Session = LlguidanceSession;

    fn load(vocabulary: &Vocabulary) -> Self {
        let mut tokens = vocabulary.tokens.clone();
        for (id, text) in &vocabulary.specials {
            // Its convention: a special token is 0xFF and the spelling.
            tokens[*id as usize] = [&[TokTrie::SPECIAL_TOKEN_MARKER], text.as_bytes()].concat();
        }
        let info = TokRxInfo::new(vocabulary.n_tokens() as u32, vocabulary.stop);
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(TokTrie::from(&info, &tokens)));
        let mut factory = ParserFactory::new_simple(&env).expect("general slices are valid");
        factory.quiet();
        Llguidance { factory }
    }

    fn forget(&mut self) {
        // The factory keeps nothing of a grammar.
    }

    fn compile(&self, case: &Case) -> Result<Matcher, String> {
        let grammar = match case.llguidance {
            PeerGrammar::JsonSchema(text) => {
                TopLevelGrammar::from_json_schema(serde_json::from_str(text).map_err(|error| error.to_string())?)
            }
            PeerGrammar::Lark(text) => TopLevelGrammar::from_lark(text.to_string()),
            PeerGrammar::Ebnf(_) | PeerGrammar::BuiltinJson => return Err("not a grammar for llguidance".to_string()),
        };
        let matcher = Matcher::new(self.factory.create_parser(grammar));
        match matcher.get_error() {
            Some(error) => Err(error),
            None => Ok(matcher),
        }
    }

    fn start(&self, compiled: &Matcher) -> LlguidanceSession {
        LlguidanceSession { matcher: compiled.clone() }
    }

    fn compiled_bytes(_: &Matcher) -> Option<usize> {
        None
    }
}

impl ToolEngine for Llguidance {
    fn compile_tools(&self, tools: &ToolGrammar) -> Result<Matcher, String> {
        let lark = tools.lark.clone().ok_or("no such style")?;
        let matcher = Matcher::new(self.factory.create_parser(TopLevelGrammar::from_lark(lark)));
        match matcher.get_error() {
            Some(error) => Err(error),
            None => Ok(matcher),
        }
    }
}

impl SchemaEngine for Llguidance {
    fn load_for_schemas(vocabulary: &Vocabulary) -> Self {
        Llguidance::load(vocabulary)
    }

    fn compile_schema(&self, schema: &str, _: Duration) -> Result<Matcher, String> {
        let schema = serde_json::from_str(schema).map_err(|error| error.to_string())?;
        let matcher = Matcher::new(self.factory.create_parser(TopLevelGrammar::from_json_schema(schema)));
        match matcher.get_error() {
            Some(error) => Err(error),
            None => Ok(matcher),
        }
    }

    fn store_bytes(&self) -> Option<usize> {
        None
    }
}

impl Session for LlguidanceSession {
    fn fill(&mut self, row: &mut [u32]) {
        let mask = self.matcher.compute_mask_or_eos().expect("a mask");
        row.copy_from_slice(&mask.as_slice()[..row.len()]);
    }

    fn try_fill(&mut self, row: &mut [u32]) -> bool {
        let Ok(mask) = self.matcher.compute_mask_or_eos() else { return false };
        row.copy_from_slice(&mask.as_slice()[..row.len()]);
        true
    }

    fn accept(&mut self, token: u32) -> bool {
        self.matcher.consume_token(token).is_ok()
    }

    fn rollback(&mut self, n_tokens: usize) {
        self.matcher.rollback(n_tokens).expect("tokens to take back");
    }

    fn jump_forward(&mut self) -> Vec<u8> {
        self.matcher.compute_ff_bytes()
    }
}

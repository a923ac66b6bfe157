//! Compiling Lark, and texts of any dialect.

use super::GrammarCompiler;
use super::cache::SourceKey;
use super::error::CompileError;
use super::options::CompileOptions;
use super::validate::read_source;
use crate::compiled::CompiledGrammar;
use crate::frontend::{Dialect, lark};
use crate::pass::CompileBudget;

impl GrammarCompiler {
    /// Compiles a [Lark](lark) grammar whose root rule is `start`.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens(["a", "b", " "])?.into());
    /// let mut matcher = compiler.compile_lark("start: \"a\" \"b\"\n%ignore \" \"")?.matcher();
    /// matcher.accept_token(0)?;
    /// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text is malformed, a schema in it is refused, or the grammar can't be built.
    pub fn compile_lark(&self, text: &str) -> Result<CompiledGrammar, CompileError> {
        self.compile_lark_with(text, &CompileOptions::default())
    }

    /// Compiles a [Lark](lark) grammar with options.
    ///
    /// # Errors
    /// As [`compile_lark`](Self::compile_lark), and if the deadline passes or the flag is set.
    pub fn compile_lark_with(&self, text: &str, options: &CompileOptions) -> Result<CompiledGrammar, CompileError> {
        self.shared.grammars.get_or_compile(
            || SourceKey::Lark(text.into()),
            options,
            || {
                let limits = &self.shared.limits;
                let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
                let parsed = read_source(&budget, |spend| lark::parse_within(text, &[], limits, spend))?;
                self.build(parsed.grammar.into(), parsed.warnings, &budget, options)
            },
        )
    }

    /// Compiles a grammar of the [dialect](Dialect::of) that it is written in: EBNF with the root rule `root`, or Lark.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens(["a", "b"])?.into());
    /// for text in ["root ::= \"a\" [b]*", "start: \"a\" /b*/"] {
    ///     assert_eq!(compiler.compile_auto(text)?.matcher().mask()?.iter().collect::<Vec<_>>(), [0]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`compile_ebnf`](Self::compile_ebnf) or [`compile_lark`](Self::compile_lark).
    pub fn compile_auto(&self, text: &str) -> Result<CompiledGrammar, CompileError> {
        self.compile_auto_with(text, &CompileOptions::default())
    }

    /// Compiles a grammar of the dialect that it is written in, with options.
    ///
    /// # Errors
    /// As [`compile_auto`](Self::compile_auto), and if the deadline passes or the flag is set.
    pub fn compile_auto_with(&self, text: &str, options: &CompileOptions) -> Result<CompiledGrammar, CompileError> {
        match Dialect::of(text) {
            Dialect::Ebnf => self.compile_ebnf_with(text, "root", options),
            Dialect::Lark => self.compile_lark_with(text, options),
        }
    }
}

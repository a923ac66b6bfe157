//! A grammar compiled for one vocabulary: what all of its matchers share, and nothing that changes while they run but caches.
//!
//! The compiler makes it, above in the order of the modules; matchers are made from it, and hold it.

mod schema;
mod warnings;

use crate::automaton::{Program, dump_dot, dump_text};
use crate::grammar::{Grammar, RuleId, SchemaOperand, Warning};
use crate::json_schema::SchemaReport;
use crate::mask::{DeclaredKeyTokens, KeyTokens, MaskStats, MaskStore};
use crate::vocab::Vocab;
use core::fmt;
use core::ops::Range;
pub(crate) use schema::CompiledSchema;
use std::sync::{Arc, OnceLock};
pub(crate) use warnings::{operand_warnings, schema_warnings};

/// The format of a [`CompiledGrammar::dump`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Dump {
    /// A listing for people.
    Text,
    /// A digraph for Graphviz.
    Dot,
}

/// A grammar compiled for one vocabulary. `Send + Sync` and cheap to clone; any number of matchers on any number of threads use it.
#[derive(Clone)]
pub struct CompiledGrammar {
    inner: Arc<Inner>,
}

/// The source of a compiled grammar, in the form that explanations need.
pub(crate) enum Origin {
    /// A grammar, as written, with the schemas among its operands.
    Grammar {
        written: Arc<Grammar>,
        schemas: Vec<(SchemaOperand, Arc<CompiledSchema>)>,
        /// The grammar with its schemas as grammars, made on demand.
        expanded: OnceLock<Box<Expanded>>,
    },
    /// A JSON Schema.
    Schema(Box<CompiledSchema>),
}

/// A grammar with its schemas as grammars.
pub(crate) struct Expanded {
    grammar: Grammar,
    /// The rules of each schema, in order, and its index among the schemas.
    rules: Vec<(Range<usize>, usize)>,
}

impl Origin {
    /// Returns the origin of a grammar with the schemas among its operands.
    pub fn grammar(written: Arc<Grammar>, schemas: Vec<(SchemaOperand, Arc<CompiledSchema>)>) -> Self {
        Origin::Grammar { written, schemas, expanded: OnceLock::new() }
    }
}

struct Inner {
    program: Program,
    origin: Origin,
    warnings: Vec<Warning>,
    /// These and those about schemas, found on demand.
    all_warnings: OnceLock<Vec<Warning>>,
    vocab: Arc<Vocab>,
    masks: Arc<MaskStore>,
    declared_key_tokens: DeclaredKeyTokens,
    step_limits: StepLimits,
}

/// The limits on one step of a matcher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepLimits {
    pub work_max: u64,
    pub bytes_max: usize,
}

impl CompiledGrammar {
    /// Returns a grammar of its program, whose masks are kept in `masks`.
    pub(crate) fn new(
        program: Program,
        origin: Origin,
        warnings: Vec<Warning>,
        vocab: Arc<Vocab>,
        masks: Arc<MaskStore>,
        step_limits: StepLimits,
    ) -> Self {
        let declared_key_tokens = DeclaredKeyTokens::of(&program);
        let all_warnings = OnceLock::new();
        let inner = Inner { program, origin, warnings, all_warnings, vocab, masks, declared_key_tokens, step_limits };
        CompiledGrammar { inner: Arc::new(inner) }
    }

    pub(crate) fn step_limits(&self) -> StepLimits {
        self.inner.step_limits
    }

    /// Returns the grammar as written; for a JSON Schema, its automata as a grammar.
    pub fn grammar(&self) -> &Grammar {
        match &self.inner.origin {
            Origin::Grammar { written, .. } => written,
            Origin::Schema(schema) => schema.grammar(),
        }
    }

    /// Returns the grammar with a grammar in place of each JSON Schema among its operands: what explanations and the reference recognizer read.
    /// Like that of a schema by itself, it leaves out that keys and unique items differ.
    pub fn expanded_grammar(&self) -> &Grammar {
        match &self.inner.origin {
            Origin::Grammar { written, schemas, .. } if schemas.is_empty() => written,
            Origin::Grammar { written, schemas, expanded } => {
                &expanded
                    .get_or_init(|| {
                        let find = |operand: &SchemaOperand| schemas.iter().position(|(known, _)| known == operand);
                        let (grammar, rules) =
                            written.with_schemas_as(|operand| Some(schemas[find(operand)?].1.grammar()));
                        let index = |operand| find(&operand).expect("it was found before");
                        let rules = rules.into_iter().map(|(range, of)| (range, index(of))).collect();
                        Box::new(Expanded { grammar, rules })
                    })
                    .grammar
            }
            Origin::Schema(schema) => schema.grammar(),
        }
    }

    /// Returns the schema among the operands that a rule of the [expanded grammar](Self::expanded_grammar) is made of, if it is.
    pub(crate) fn schema_of_rule(&self, rule: RuleId) -> Option<(&SchemaOperand, &SchemaReport)> {
        let Origin::Grammar { schemas, expanded, .. } = &self.inner.origin else { return None };
        let rules = &expanded.get()?.rules;
        let after = rules.partition_point(|(range, _)| range.start <= rule.index());
        let (range, index) = rules.get(after.checked_sub(1)?)?;
        let (operand, schema) = &schemas[*index];
        range.contains(&rule.index()).then(|| (operand, schema.report()))
    }

    /// Returns probable mistakes in the grammar, such as rules that are never used, and in its JSON Schemas, such as misspelt keywords.
    pub fn warnings(&self) -> &[Warning] {
        self.inner.all_warnings.get_or_init(|| {
            let mut warnings = self.inner.warnings.clone();
            match &self.inner.origin {
                Origin::Grammar { written, schemas, .. } => {
                    let reports = schemas.iter().map(|(operand, schema)| (operand, schema.report()));
                    warnings.extend(operand_warnings(written, reports));
                }
                Origin::Schema(schema) => warnings.extend(schema_warnings(schema.report())),
            }
            warnings
        })
    }

    /// Returns how each keyword is enforced, if this was compiled from a JSON Schema.
    pub fn schema_report(&self) -> Option<&SchemaReport> {
        match &self.inner.origin {
            Origin::Grammar { .. } => None,
            Origin::Schema(schema) => Some(schema.report()),
        }
    }

    /// Returns how each keyword of each schema is enforced: of the schema that this was compiled from, without an operand, or of the schemas among the operands of the grammar, as in
    /// structural tags.
    ///
    /// ```
    /// # use maskwright::{CompileOptions, GrammarCompiler, Vocab, structural_tag::TagOptions};
    /// let mut vocab = Vocab::builder();
    /// (0..=255).for_each(|byte| drop(vocab.push(&[byte])));
    /// let compiler = GrammarCompiler::new(vocab.build()?.into());
    /// let tag = r#"{"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {"pattern": "(a)\\1"}}}"#;
    /// let mut options = TagOptions::default();
    /// options.schema.is_lenient = true;
    /// let grammar = compiler.compile_structural_tag_with(tag, &options, &CompileOptions::default())?;
    /// let (operand, report) = grammar.schema_reports().next().unwrap();
    /// assert!(operand.unwrap().text().contains("pattern"));
    /// assert!(!report.is_exact() && grammar.schema_report().is_none());
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn schema_reports(&self) -> impl Iterator<Item = (Option<&SchemaOperand>, &SchemaReport)> {
        let operands: &[(SchemaOperand, Arc<CompiledSchema>)] = match &self.inner.origin {
            Origin::Grammar { schemas, .. } => schemas,
            Origin::Schema(_) => &[],
        };
        let embedded = operands.iter().map(|(operand, schema)| (Some(operand), schema.report()));
        self.schema_report().map(|report| (None, report)).into_iter().chain(embedded)
    }

    /// Returns the vocabulary.
    pub fn vocab(&self) -> &Arc<Vocab> {
        &self.inner.vocab
    }

    /// Returns about how much memory the grammar takes, in bytes: automata (those shared with other grammars included) and the
    /// grammar as written, but not masks, which belong to the compiler.
    pub fn memory_bytes(&self) -> usize {
        let written = match &self.inner.origin {
            Origin::Grammar { written: grammar, .. } => {
                size_of_val(grammar.exprs())
                    + grammar.rules().iter().map(|rule| rule.name.len() + size_of_val(rule)).sum::<usize>()
                    + grammar.source().map_or(0, str::len)
            }
            Origin::Schema(schema) => schema.memory_bytes(),
        };
        self.inner.program.memory_bytes() + written + size_of::<Inner>()
    }

    /// Returns the number of automaton states.
    pub fn n_states(&self) -> usize {
        self.inner.program.n_states()
    }

    /// Returns the automata in a readable format.
    pub fn dump(&self, form: Dump) -> String {
        match form {
            Dump::Text => dump_text(&self.inner.program),
            Dump::Dot => dump_dot(&self.inner.program),
        }
    }

    /// Returns the statistics of masks, over all grammars of the same compiler.
    pub fn stats(&self) -> MaskStats {
        self.inner.masks.stats()
    }

    #[inline]
    pub(crate) fn program(&self) -> &Program {
        &self.inner.program
    }

    /// Returns the tokens for each list of declared keys of a unit of the program.
    #[inline]
    pub(crate) fn declared_key_tokens(&self, unit: usize) -> &[KeyTokens] {
        let Inner { program, vocab, declared_key_tokens, .. } = &*self.inner;
        declared_key_tokens.of_unit(program, unit, vocab)
    }

    pub(crate) fn masks(&self) -> &Arc<MaskStore> {
        &self.inner.masks
    }
}

impl fmt::Debug for CompiledGrammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledGrammar").field("n_states", &self.n_states()).finish_non_exhaustive()
    }
}

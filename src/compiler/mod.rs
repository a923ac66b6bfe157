//! Compiling: from a source and a vocabulary to a [`CompiledGrammar`].

mod cache;
mod dialect;
mod error;
mod facts;
mod options;
mod parts;
mod references;
mod schema;
mod threads;
mod validate;

pub use crate::pass::BuildError;
pub use error::{CompileError, OperandError};
pub use facts::{ErrorCode, ErrorFacts};
pub use options::CompileOptions;
pub use validate::Validated;

use crate::automaton::{Program, UnitStore};
use crate::compiled::{CompiledGrammar, CompiledSchema, Origin, StepLimits};
use crate::frontend::ebnf;
use crate::frontend::regex::RegexOptions;
use crate::grammar::{Grammar, RuleId, SchemaOperand, Warning};
use crate::json_schema::{SchemaError, SchemaOptions, SchemaStore};
use crate::limits::Limits;
use crate::mask::{MaskStats, MaskStore};
use crate::pass::{CompileBudget, normalize, normalize_part};
use crate::structural_tag::{StructuralTag, TagOptions};
use crate::vocab::Vocab;
use cache::{CompileCache, SourceKey};
use core::fmt;
use parts::{CompiledPart, CompiledParts, Miss, PartCache};
use references::{CompiledSchemas, GrammarReferences, Schemas};
use schema::{STEPS_PER_BYTE_WITHIN, lower_schema};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sizes of a compiler's caches, in bytes, and its threads. Smaller caches and fewer threads cost time and change nothing else.
///
/// Masks are cached by unit and become useless when the unit is evicted. For JSON Schemas both take about the same memory, some 40 KB each
/// for a schema that has nothing in common with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bound on masks and decision trees.
    pub mask_store_bytes_max: usize,
    /// Bound on units of automata.
    pub unit_store_bytes_max: usize,
    /// Bound on compiled grammars, cached by source: half of it for whole ones, a quarter each for the schemas and for the other parts that grammars are made of; 0 turns
    /// these caches off.
    pub grammar_cache_bytes_max: usize,
    /// Most threads on which one compile works, where a grammar has many JSON Schemas that are not cached; 1 is the caller's thread alone. What is
    /// compiled, and which error is returned, does not depend on it.
    pub compile_threads_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            mask_store_bytes_max: 160 << 20,
            unit_store_bytes_max: 160 << 20,
            grammar_cache_bytes_max: 64 << 20,
            compile_threads_max: 8,
        }
    }
}

/// A compiler of grammars for one vocabulary. Thread-safe and cheap to clone; clones share their caches.
///
/// Automata and masks that grammars have in common are built once, whichever grammar is compiled first.
///
/// ```
/// use maskwright::{GrammarCompiler, Vocab};
/// use std::sync::Arc;
/// let vocab = Arc::new(Vocab::from_tokens(["a", "b", "ab", "ba"])?);
/// let grammar = GrammarCompiler::new(vocab).compile_ebnf(r#"root ::= "a" "b"+"#)?;
/// let mut matcher = grammar.matcher();
/// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct GrammarCompiler {
    shared: Arc<Shared>,
}

struct Shared {
    vocab: Arc<Vocab>,
    limits: Limits,
    units: UnitStore,
    masks: Arc<MaskStore>,
    languages: Mutex<Arc<SchemaStore>>,
    grammars: CompileCache<SourceKey, CompiledGrammar>,
    /// Schemas among the operands of grammars.
    schemas: CompileCache<SchemaOperand, Arc<CompiledSchema>>,
    parts: PartCache,
    compile_threads_max: usize,
}

impl Shared {
    fn languages(&self) -> MutexGuard<'_, Arc<SchemaStore>> {
        self.languages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A builder of a [`GrammarCompiler`].
pub struct GrammarCompilerBuilder {
    vocab: Arc<Vocab>,
    limits: Limits,
    config: Config,
}

impl GrammarCompilerBuilder {
    /// Sets the bounds on what a compile may use.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the sizes of the caches.
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Returns the compiler.
    pub fn build(self) -> GrammarCompiler {
        let Config { mask_store_bytes_max, unit_store_bytes_max, grammar_cache_bytes_max, compile_threads_max } =
            self.config;
        GrammarCompiler {
            shared: Arc::new(Shared {
                vocab: self.vocab,
                limits: self.limits,
                units: UnitStore::new(unit_store_bytes_max),
                masks: Arc::new(MaskStore::new(mask_store_bytes_max)),
                languages: Mutex::default(),
                grammars: CompileCache::new(grammar_cache_bytes_max / 2),
                schemas: CompileCache::new(grammar_cache_bytes_max / 4),
                parts: PartCache::new(grammar_cache_bytes_max / 4),
                compile_threads_max,
            }),
        }
    }
}

/// Statistics of a [`GrammarCompiler`] since it was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Masks: entries by form, bytes, hits, misses, evictions, walks.
    pub masks: MaskStats,
    /// Units of automata found in the cache.
    pub units_found: u64,
    /// Units of automata built.
    pub units_made: u64,
    /// Memory of the cached units, in bytes.
    pub unit_bytes: usize,
    /// Compiles answered by the cache, of grammars and of the schemas among their operands.
    pub grammar_hits: u64,
    /// Compiles that the cache could not answer.
    pub grammar_misses: u64,
    /// Memory of the cached grammars, schemas and other parts, in bytes.
    pub grammar_bytes: usize,
}

impl GrammarCompiler {
    /// Returns a compiler with default limits and configuration.
    pub fn new(vocab: Arc<Vocab>) -> Self {
        Self::builder(vocab).build()
    }

    /// Returns a builder, to choose limits and configuration.
    pub fn builder(vocab: Arc<Vocab>) -> GrammarCompilerBuilder {
        GrammarCompilerBuilder { vocab, limits: Limits::default(), config: Config::default() }
    }

    /// Returns the vocabulary.
    pub fn vocab(&self) -> &Arc<Vocab> {
        &self.shared.vocab
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Compiles an EBNF grammar whose root rule is `root`.
    ///
    /// # Errors
    /// If the text is malformed, or the grammar can't be built.
    pub fn compile_ebnf(&self, text: &str) -> Result<CompiledGrammar, CompileError> {
        self.compile_ebnf_with(text, "root", &CompileOptions::default())
    }

    /// Compiles an EBNF grammar with a chosen root rule.
    ///
    /// # Errors
    /// As [`compile_ebnf`](Self::compile_ebnf), and if there is no such rule.
    pub fn compile_ebnf_with_root(&self, text: &str, root: &str) -> Result<CompiledGrammar, CompileError> {
        self.compile_ebnf_with(text, root, &CompileOptions::default())
    }

    /// Compiles an EBNF grammar with a chosen root rule, a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`compile_ebnf_with_root`](Self::compile_ebnf_with_root), and if the deadline passes or the flag is set.
    pub fn compile_ebnf_with(
        &self,
        text: &str,
        root: &str,
        options: &CompileOptions,
    ) -> Result<CompiledGrammar, CompileError> {
        self.shared.grammars.get_or_compile(
            || SourceKey::Ebnf(text.into(), root.into()),
            options,
            || {
                let limits = &self.shared.limits;
                let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
                let parsed =
                    validate::read_source(&budget, |spend| ebnf::parse_within(text, root, &[], limits, spend))?;
                self.build(parsed.grammar.into(), parsed.warnings, &budget, options)
            },
        )
    }

    /// Compiles a regular expression, which the whole output must match.
    ///
    /// # Errors
    /// If the pattern is malformed or not regular, or the grammar can't be built.
    pub fn compile_regex(&self, pattern: &str) -> Result<CompiledGrammar, CompileError> {
        self.compile_regex_with(pattern, &RegexOptions::default(), &CompileOptions::default())
    }

    /// Compiles a regular expression with options, a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`compile_regex`](Self::compile_regex), and if the deadline passes or the flag is set.
    ///
    /// ```
    /// use maskwright::{CompileOptions, GrammarCompiler, Vocab, frontend::regex::RegexOptions};
    /// use std::time::{Duration, Instant};
    /// let compiler = GrammarCompiler::new(Vocab::from_tokens(["a", "b", "\n"])?.into());
    /// let options = CompileOptions { deadline: Some(Instant::now() + Duration::from_secs(1)), ..Default::default() };
    /// for (dot_matches_newline, n_tokens) in [(false, 2), (true, 3)] {
    ///     let regex_options = RegexOptions { dot_matches_newline, ..RegexOptions::default() };
    ///     let grammar = compiler.compile_regex_with(".b", &regex_options, &options)?;
    ///     assert_eq!(grammar.matcher().mask()?.iter().count(), n_tokens);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile_regex_with(
        &self,
        pattern: &str,
        regex_options: &RegexOptions,
        options: &CompileOptions,
    ) -> Result<CompiledGrammar, CompileError> {
        self.shared.grammars.get_or_compile(
            || SourceKey::Regex(pattern.into(), *regex_options),
            options,
            || {
                let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), &self.shared.limits);
                let grammar = validate::read_regex(pattern, regex_options, &self.shared.limits, &budget)?;
                self.build(grammar.into(), Vec::new(), &budget, options)
            },
        )
    }

    /// Compiles a JSON Schema: the output is a JSON document that the schema accepts.
    ///
    /// # Errors
    /// If the schema is malformed, unsatisfiable, or has a constraint that can't be enforced exactly.
    ///
    /// ```
    /// use maskwright::{GrammarCompiler, Vocab};
    /// let vocab = Vocab::from_tokens((0..=255u8).map(|byte| [byte]))?;
    /// let compiler = GrammarCompiler::new(vocab.into());
    /// let mut matcher = compiler.compile_json_schema(r#"{"enum": [1, "a"], "type": "string"}"#)?.matcher();
    /// assert_eq!(matcher.jump_forward_text(), "\"a\"");
    /// let error = compiler.compile_json_schema(r#"{"type": "string", "minLength": 5, "maxLength": 3}"#).unwrap_err();
    /// assert!(error.to_string().contains("unsatisfiable: minLength 5 with maxLength 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile_json_schema(&self, schema: &str) -> Result<CompiledGrammar, CompileError> {
        self.compile_json_schema_with(schema, &SchemaOptions::default(), &CompileOptions::default())
    }

    /// Compiles a JSON Schema with options, a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`compile_json_schema`](Self::compile_json_schema), and if the deadline passes or the flag is set.
    pub fn compile_json_schema_with(
        &self,
        schema: &str,
        schema_options: &SchemaOptions,
        options: &CompileOptions,
    ) -> Result<CompiledGrammar, CompileError> {
        let key = || SourceKey::Schema(schema.into(), Box::new(schema_options.clone()));
        self.shared.grammars.get_or_compile(key, options, || {
            let limits = &self.shared.limits;
            let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
            let schema = self.build_schema(schema, schema_options, &budget)?;
            if !schema.has_empty_text() && !schema.has_other_texts() {
                return Err(SchemaError::without_form().into());
            }
            budget.check()?;
            let program = Program::link(schema.entry(), schema.has_empty_text(), true, limits)?;
            Ok(self.finish(program, Origin::Schema(Box::new(schema)), Vec::new()))
        })
    }

    fn build_schema(
        &self,
        schema: &str,
        schema_options: &SchemaOptions,
        budget: &CompileBudget,
    ) -> Result<CompiledSchema, CompileError> {
        let limits = &self.shared.limits;
        let languages = Arc::clone(&*self.shared.languages());
        let (normal, report) = lower_schema(schema, schema_options, &languages, limits, budget)?;
        let entry = Program::build(&normal, &[], &self.shared.units, limits, budget)?;
        Ok(CompiledSchema::new(entry, normal, report))
    }

    /// Compiles a [structural tag](crate::structural_tag): tool calls and JSON amid free text, as one JSON document says.
    ///
    /// # Errors
    /// If the text is malformed, a grammar, schema or regular expression in it is refused, or the grammar can't be built. The error has the JSON
    /// pointer of the place.
    pub fn compile_structural_tag(&self, text: &str) -> Result<CompiledGrammar, CompileError> {
        self.compile_structural_tag_with(text, &TagOptions::default(), &CompileOptions::default())
    }

    /// Compiles a [structural tag](crate::structural_tag) with options, a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`compile_structural_tag`](Self::compile_structural_tag), and if the deadline passes or the flag is set.
    pub fn compile_structural_tag_with(
        &self,
        text: &str,
        tag_options: &TagOptions,
        options: &CompileOptions,
    ) -> Result<CompiledGrammar, CompileError> {
        let key = || SourceKey::Tag(text.into(), Box::new(tag_options.clone()));
        self.shared.grammars.get_or_compile(key, options, || {
            let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), &self.shared.limits);
            let tag = validate::read_tag(text, tag_options, &self.shared.limits, &budget)?;
            let built = self.build(tag.shared_grammar(), tag.warnings().to_vec(), &budget, options);
            built.map_err(|error| in_tag(error, &tag))
        })
    }

    /// Compiles a choice: the output is one of some texts.
    ///
    /// # Errors
    /// If there are none, or more than the limits allow.
    pub fn compile_choice<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<CompiledGrammar, CompileError> {
        self.compile(&Grammar::choice(texts))
    }

    /// Compiles the grammar of JSON objects: any object, on one line or several.
    ///
    /// # Errors
    /// If a limit is met.
    pub fn compile_json_object(&self) -> Result<CompiledGrammar, CompileError> {
        self.compile_json_schema(r#"{"type": "object"}"#)
    }

    /// Compiles JSON Lines: documents that a schema accepts, at least one, each on a line of its own; the last line end may be missing. White space
    /// within a document is that of the options, which must not allow line ends: [`WhiteSpace::Compact`] or [`WhiteSpace::Separators`].
    ///
    /// # Errors
    /// As [`compile_json_schema`](Self::compile_json_schema), and if the options allow line ends.
    ///
    /// [`WhiteSpace::Compact`]: crate::json_schema::WhiteSpace::Compact
    /// [`WhiteSpace::Separators`]: crate::json_schema::WhiteSpace::Separators
    pub fn compile_json_lines(
        &self,
        schema: &str,
        schema_options: &SchemaOptions,
        options: &CompileOptions,
    ) -> Result<CompiledGrammar, CompileError> {
        if !schema_options.white_space.is_on_one_line() {
            return Err(SchemaError::option("white_space", "a document of JSON Lines is on one line").into());
        }
        let document = Grammar::schema(SchemaOperand::new(schema, schema_options.clone()));
        let line_end = Grammar::literal("\n");
        let more = Grammar::concat([&line_end, &document]).repeat(0, None);
        self.compile_with(&Grammar::concat([&document, &more, &line_end.repeat(0, Some(1))]), options)
    }

    /// Compiles a grammar made by a [`GrammarBuilder`](crate::grammar::GrammarBuilder). Not cached.
    ///
    /// # Errors
    /// If the grammar can't be built.
    pub fn compile(&self, grammar: &Grammar) -> Result<CompiledGrammar, CompileError> {
        self.compile_with(grammar, &CompileOptions::default())
    }

    /// Compiles a grammar made by a [`GrammarBuilder`](crate::grammar::GrammarBuilder), with a deadline and a flag to cancel. Not cached.
    ///
    /// # Errors
    /// If the grammar can't be built, the deadline passes or the flag is set.
    pub fn compile_with(&self, grammar: &Grammar, options: &CompileOptions) -> Result<CompiledGrammar, CompileError> {
        let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), &self.shared.limits);
        self.build(grammar.clone().into(), Vec::new(), &budget, options)
    }

    fn build(
        &self,
        grammar: Arc<Grammar>,
        mut warnings: Vec<Warning>,
        budget: &CompileBudget,
        options: &CompileOptions,
    ) -> Result<CompiledGrammar, CompileError> {
        let Shared { vocab, limits, units, .. } = &*self.shared;
        budget.check()?;
        let mut compiled = CompiledSchemas::default();
        let schemas = Schemas::of(&grammar, |operands| {
            let schemas = self.compile_schemas(operands, budget, options)?;
            Ok(operands.iter().zip(schemas).map(|(operand, schema)| compiled.add(operand, schema)).collect())
        })?;
        let (program, empty_rules) = match grammar.separate_rules().is_empty() {
            true => {
                let references = GrammarReferences::new(vocab, &schemas.externals, &[]);
                let (normal, empty_rules) = normalize(&grammar, &references, limits, budget)?;
                (Program::new(&normal, &compiled.entries, units, limits, budget)?, empty_rules)
            }
            false => self.build_of_parts(&grammar, &schemas, &compiled, budget)?,
        };
        warnings.extend(empty_rules.into_iter().map(|rule| Warning::matches_nothing(grammar.rule(rule))));
        let unspellable = program.bytes_read(vocab.unspellable_bytes());
        if !unspellable.is_empty() {
            warnings.push(Warning::unspellable(&grammar, unspellable));
        }
        Ok(self.finish(program, Origin::grammar(grammar, compiled.compiled), warnings))
    }

    /// Compiles the schemas of a grammar, on several threads where there are many that are not cached. Returns the index of the first that is refused.
    fn compile_schemas(
        &self,
        operands: &[&SchemaOperand],
        budget: &CompileBudget,
        options: &CompileOptions,
    ) -> Result<Vec<Arc<CompiledSchema>>, (usize, CompileError)> {
        let cache = &self.shared.schemas;
        let mut sources = Vec::with_capacity(operands.len());
        let mut schemas: Vec<Option<Arc<CompiledSchema>>> = Vec::with_capacity(operands.len());
        for (index, operand) in operands.iter().enumerate() {
            let spent = budget.check().and_then(|()| budget.spend(operand_steps(operand)));
            spent.map_err(|error| (index, error.into()))?;
            sources.push(cache.hashed(SchemaOperand::clone(operand)));
            schemas.push(cache.find(&sources[index]));
        }
        let is_missing = |index: &usize| schemas[*index].is_none();
        let missing: Vec<usize> = (0..operands.len()).filter(is_missing).collect();
        let compile = |&index: &usize, budget: &CompileBudget| {
            budget.check()?;
            let operand = operands[index];
            let build = || self.build_schema(operand.text(), operand.options(), budget).map(Arc::new);
            cache.get_or_compile_hashed(&sources[index], options, build)
        };
        let n_threads = threads::n_threads(missing.len(), self.shared.compile_threads_max);
        let compiled = threads::compile_each(&missing, n_threads, budget, &self.shared.limits, compile);
        let compiled = compiled.map_err(|(at, error)| (missing[at], error))?;
        missing.into_iter().zip(compiled).for_each(|(index, schema)| schemas[index] = Some(schema));
        Ok(schemas.into_iter().flatten().collect())
    }

    /// Builds a grammar whose separate rules are compiled by themselves. Returns the rules that match nothing, too.
    fn build_of_parts(
        &self,
        grammar: &Grammar,
        schemas: &Schemas,
        compiled: &CompiledSchemas,
        budget: &CompileBudget,
    ) -> Result<(Program, Vec<RuleId>), CompileError> {
        let Shared { vocab, limits, units, parts: cache, .. } = &*self.shared;
        let schema = |operand: &SchemaOperand| schemas.entry(compiled, operand);
        let mut parts = CompiledParts::default();
        let n_threads_max = self.shared.compile_threads_max;
        let compile_all = |misses: &[Miss<'_>]| {
            let n_threads = threads::n_threads(misses.len(), n_threads_max);
            let compile = |miss: &Miss<'_>, budget: &CompileBudget| {
                let Miss { part, references } = miss;
                let (normal, empty_rules) =
                    normalize_part(&part.grammar, &references.with_vocab(vocab), limits, budget)?;
                let build = || Program::build(&normal, &references.entries, units, limits, budget);
                let entry = normal.has_other_texts().then(build).transpose()?;
                Ok(CompiledPart { entry, has_empty_text: normal.has_empty_text, empty_rules })
            };
            threads::compile_each(misses, n_threads, budget, limits, compile).map_err(|(_, error)| error)
        };
        let rest = parts.compile_all(grammar, schema, cache, compile_all)?;
        let references = parts.references(&rest, schema);
        let (normal, found) = normalize(&rest.grammar, &references.with_vocab(vocab), limits, budget)?;
        let program = Program::new(&normal, &references.entries, units, limits, budget)?;
        let mut empty_rules = parts.empty_rules;
        empty_rules.extend(found.into_iter().map(|rule| rest.rules[rule.index()]));
        empty_rules.sort_unstable();
        Ok((program, empty_rules))
    }

    fn finish(&self, program: Program, origin: Origin, warnings: Vec<Warning>) -> CompiledGrammar {
        let Shared { vocab, masks, limits, .. } = &*self.shared;
        let step_limits = StepLimits { work_max: limits.step_work_max, bytes_max: limits.matcher_bytes_max };
        CompiledGrammar::new(program, origin, warnings, Arc::clone(vocab), Arc::clone(masks), step_limits)
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> Stats {
        let (units_found, units_made, unit_bytes) = self.shared.units.stats();
        let of_grammars = self.shared.grammars.stats();
        let of_schemas = self.shared.schemas.stats();
        let (grammar_hits, grammar_misses) = (of_grammars.0 + of_schemas.0, of_grammars.1 + of_schemas.1);
        let grammar_bytes = of_grammars.2 + of_schemas.2 + self.shared.parts.n_bytes();
        let masks = self.shared.masks.stats();
        Stats { masks, units_found, units_made, unit_bytes, grammar_hits, grammar_misses, grammar_bytes }
    }

    /// Returns the names of rules that proved so ambiguous that their masks were computed by walking the vocabulary with whole configurations,
    /// at most 64 of them ([`MaskStats::ambiguous_walks`] counts those walks). Such masks are slower, and exact all the same; a step that needs
    /// more work than [`Limits::step_work_max`] is an error ([`MatchError::is_over_budget`](crate::MatchError::is_over_budget)).
    pub fn ambiguous_rules(&self) -> Vec<String> {
        self.shared.masks.ambiguous_rules()
    }

    /// Clears all that is cached for later compiles and masks: grammars, automata, masks, and what the vocabulary has found out for them. What is left is what
    /// grammars and matchers in use need; these are not affected.
    pub fn clear_caches(&self) {
        self.shared.masks.clear();
        self.shared.grammars.clear();
        self.shared.schemas.clear();
        self.shared.parts.clear();
        self.shared.units.clear();
        *self.shared.languages() = Arc::default();
        self.shared.vocab.clear_caches();
    }
}

/// Returns the steps of a compile that a schema among the operands of a grammar counts as before it is read.
fn operand_steps(operand: &SchemaOperand) -> usize {
    // Of a schema within a document the whole is parsed and kept, perhaps for each of many.
    let steps_per_byte = if operand.options().read.pointer.is_empty() { 1 } else { STEPS_PER_BYTE_WITHIN };
    steps_per_byte * operand.text().len()
}

/// Returns an error of a structural tag's grammar with the place in the document, if it is about a part of it.
fn in_tag(error: CompileError, tag: &StructuralTag) -> CompileError {
    match error {
        CompileError::Operand(error) => {
            tag.schema_error(error.operand_span(), error.operand(), error.schema_error().clone()).into()
        }
        CompileError::Build(error) => tag.build_error(&error).map_or_else(|| error.into(), CompileError::from),
        other => other,
    }
}

impl fmt::Debug for GrammarCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrammarCompiler")
            .field("n_tokens", &self.shared.vocab.n_tokens())
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

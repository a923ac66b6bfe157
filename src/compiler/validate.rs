//! Grammars that are checked without a vocabulary, as an API server does before it hands a request on.

use super::error::CompileError;
use super::options::CompileOptions;
use super::references::Schemas;
use super::schema::{STEPS_PER_BYTE, lower_schema};
use crate::compiled::{operand_warnings, schema_warnings};
use crate::frontend::regex::RegexOptions;
use crate::frontend::{ReadError, Spend, ebnf, lark, regex};
use crate::grammar::{ControlRef, ExcludedTokens, Grammar, GrammarBuilder, Regex, SchemaOperand, Warning, merged};
use crate::json_schema::{SchemaError, SchemaOptions, SchemaReport, SchemaStore};
use crate::limits::Limits;
use crate::pass::{BuildError, CompileBudget, External, References, TokenRanges, normalize};
use crate::structural_tag::{StructuralTag, TagError, TagOptions};
use core::cell::RefCell;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// A grammar that compiles for any vocabulary that has the control tokens it names, unless the vocabulary can't spell it or a limit is smaller.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Validated {
    /// The grammar.
    pub grammar: Grammar,
    /// Probable mistakes.
    pub warnings: Vec<Warning>,
    /// How each keyword of its schemas is enforced, by schema.
    pub reports: Vec<(SchemaOperand, SchemaReport)>,
}

/// Grammars from texts, checked without a vocabulary: all errors but those about control tokens show here.
impl Grammar {
    /// Returns the grammar of an EBNF text with the root rule `root`.
    ///
    /// ```
    /// use maskwright::grammar::Grammar;
    /// let checked = Grammar::from_ebnf(r#"root ::= "n=" %json {"type": "integer"} <|end|>"#, "root")?;
    /// assert!(checked.warnings.is_empty() && checked.reports.len() == 1);
    /// let error = Grammar::from_ebnf(r#"root ::= %json {"type": "integer", "minimum": "1"}"#, "root").unwrap_err();
    /// assert!(error.to_string().starts_with("schema in rule `root`: `minimum`"), "{error}");
    /// # Ok::<(), maskwright::CompileError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is malformed, the grammar has no sentences or a limit is met; if a schema in it is malformed, unsatisfiable, or has a
    /// constraint that can't be enforced.
    pub fn from_ebnf(text: &str, root: &str) -> Result<Validated, CompileError> {
        Self::from_ebnf_with(text, root, &[], &Limits::default(), &CompileOptions::default())
    }

    /// As [`Self::from_ebnf`], with grammars to which `@name` refers, limits, a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`Self::from_ebnf`], and if the deadline passes or the flag is set.
    pub fn from_ebnf_with(
        text: &str,
        root: &str,
        grammars: &[(&str, &Grammar)],
        limits: &Limits,
        options: &CompileOptions,
    ) -> Result<Validated, CompileError> {
        let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
        let parsed = read_source(&budget, |spend| ebnf::parse_within(text, root, grammars, limits, spend))?;
        validate(parsed.grammar, parsed.warnings, limits, &budget)
    }

    /// Returns the grammar of a [Lark](lark) text with the root rule `start`.
    ///
    /// # Errors
    /// As [`Self::from_ebnf`].
    pub fn from_lark(text: &str) -> Result<Validated, CompileError> {
        Self::from_lark_with(text, &[], &Limits::default(), &CompileOptions::default())
    }

    /// As [`Self::from_lark`], with grammars to which `@name` refers, limits, a deadline and a flag to cancel.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Limits, grammar::Grammar};
    /// let status = Grammar::from_lark("start: \"ok\" | \"cancelled\"")?.grammar;
    /// let (limits, options) = (Limits::default(), CompileOptions::default());
    /// let checked = Grammar::from_lark_with("start: \"status: \" @status", &[("status", &status)], &limits, &options)?;
    /// assert!(checked.warnings.is_empty());
    /// # Ok::<(), maskwright::CompileError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::from_lark`], and if the deadline passes or the flag is set.
    pub fn from_lark_with(
        text: &str,
        grammars: &[(&str, &Grammar)],
        limits: &Limits,
        options: &CompileOptions,
    ) -> Result<Validated, CompileError> {
        let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
        let parsed = read_source(&budget, |spend| lark::parse_within(text, grammars, limits, spend))?;
        validate(parsed.grammar, parsed.warnings, limits, &budget)
    }

    /// Returns the grammar of a regular expression, which the whole output must match.
    ///
    /// # Errors
    /// If the pattern is malformed, not regular or too large.
    pub fn from_regex(pattern: &str) -> Result<Grammar, CompileError> {
        Self::from_regex_with(pattern, &RegexOptions::default(), &Limits::default(), &CompileOptions::default())
    }

    /// As [`Self::from_regex`], with options of the pattern, limits, a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`Self::from_regex`], and if the deadline passes or the flag is set.
    pub fn from_regex_with(
        pattern: &str,
        regex_options: &RegexOptions,
        limits: &Limits,
        options: &CompileOptions,
    ) -> Result<Grammar, CompileError> {
        let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
        read_regex(pattern, regex_options, limits, &budget)
    }

    /// Returns the grammar of the JSON documents that a schema accepts.
    ///
    /// # Errors
    /// If the schema is malformed, unsatisfiable, or has a constraint that can't be enforced exactly.
    pub fn from_json_schema(schema: &str, schema_options: &SchemaOptions) -> Result<Validated, CompileError> {
        Self::from_json_schema_with(schema, schema_options, &Limits::default(), &CompileOptions::default())
    }

    /// As [`Self::from_json_schema`], with limits, a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`Self::from_json_schema`], and if the deadline passes or the flag is set.
    pub fn from_json_schema_with(
        schema: &str,
        schema_options: &SchemaOptions,
        limits: &Limits,
        options: &CompileOptions,
    ) -> Result<Validated, CompileError> {
        let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
        let (normal, report) = lower_schema(schema, schema_options, &Arc::default(), limits, &budget)?;
        if !normal.has_empty_text && !normal.has_other_texts() {
            return Err(SchemaError::without_form().into());
        }
        let operand = SchemaOperand::new(schema, schema_options.clone());
        let warnings = schema_warnings(&report).collect();
        let reports = vec![(operand.clone(), report)];
        Ok(Validated { grammar: Grammar::schema(operand), warnings, reports })
    }

    /// Returns the grammar of all JSON documents.
    pub fn any_json() -> Grammar {
        Grammar::schema(SchemaOperand::new("true", SchemaOptions::default()))
    }
}

impl StructuralTag {
    /// As [`Self::parse`], with a deadline and a flag to cancel.
    ///
    /// # Errors
    /// As [`Self::parse`], and if the deadline passes or the flag is set.
    pub fn parse_with(
        text: &str,
        tag_options: &TagOptions,
        limits: &Limits,
        options: &CompileOptions,
    ) -> Result<StructuralTag, CompileError> {
        let budget = CompileBudget::new(options.deadline, options.cancelled.clone(), limits);
        read_tag(text, tag_options, limits, &budget)
    }
}

/// Returns what a front end reads, which takes steps of the budget.
pub(super) fn read_source<T>(
    budget: &CompileBudget,
    read: impl FnOnce(Spend<'_>) -> Result<T, ReadError>,
) -> Result<T, CompileError> {
    let mut exhausted = None;
    let spend = &mut |n_bytes| {
        budget.spend(STEPS_PER_BYTE * n_bytes).map_err(|error| {
            exhausted = Some(error);
            ReadError::Interrupted
        })
    };
    read(spend).map_err(|error| match error {
        ReadError::Syntax(error) => error.into(),
        ReadError::Interrupted => exhausted.expect("only the budget ends the reading").into(),
    })
}

/// Returns the grammar of a regular expression.
pub(super) fn read_regex(
    pattern: &str,
    options: &RegexOptions,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<Grammar, CompileError> {
    budget.check()?;
    let regular = Arc::new(read_source(budget, |spend| regex::parse_within(pattern, options, limits, spend))?);
    let (pattern, flags) = options.in_ebnf(pattern);
    let mut builder = GrammarBuilder::new();
    let root = builder.rule("root");
    let body = builder.regex(Regex { pattern: pattern.into(), flags: flags.into(), regular });
    builder.define(root, body);
    Ok(builder.finish(root).expect("the only rule is defined"))
}

/// Reads a structural tag.
pub(super) fn read_tag(
    text: &str,
    options: &TagOptions,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<StructuralTag, CompileError> {
    // What stopped reading is the budget's to say.
    let stopped = |error: TagError| budget.check().err().map_or(CompileError::from(error), CompileError::from);
    let go_on = |n_steps| budget.spend(n_steps).is_ok();
    budget.spend(STEPS_PER_BYTE * text.len())?;
    StructuralTag::parse_within(text, options, limits, &go_on).map_err(stopped)
}

fn validate(
    grammar: Grammar,
    mut warnings: Vec<Warning>,
    limits: &Limits,
    budget: &CompileBudget,
) -> Result<Validated, CompileError> {
    let (store, mut reports) = (Arc::<SchemaStore>::default(), Vec::new());
    let schemas = Schemas::of(&grammar, |operands| {
        let check = |(index, &operand): (usize, &&SchemaOperand)| {
            let lowered = lower_schema(operand.text(), operand.options(), &store, limits, budget);
            let (normal, report) = lowered.map_err(|error| (index, error))?;
            reports.push((operand.clone(), report));
            let number = normal.has_other_texts().then_some(index as u32);
            Ok(External { number, has_empty_text: normal.has_empty_text })
        };
        operands.iter().enumerate().map(check).collect()
    })?;
    let references = AnyControls { numbers: RefCell::default(), schemas: &schemas.externals };
    let (_, empty_rules) = normalize(&grammar, &references, limits, budget)?;
    warnings.extend(operand_warnings(&grammar, reports.iter().map(|(operand, report)| (operand, report))));
    warnings.extend(empty_rules.into_iter().map(|rule| Warning::matches_nothing(grammar.rule(rule))));
    Ok(Validated { grammar, warnings, reports })
}

/// A vocabulary that has all control tokens.
struct AnyControls<'a> {
    numbers: RefCell<HashMap<ControlRef, u32>>,
    schemas: &'a HashMap<SchemaOperand, External>,
}

impl References for AnyControls<'_> {
    fn resolve(&self, name: &ControlRef) -> Result<SmallVec<[u32; 2]>, BuildError> {
        let mut numbers = self.numbers.borrow_mut();
        let next = numbers.len() as u32;
        Ok(SmallVec::from_slice(&[*numbers.entry(name.clone()).or_insert(next)]))
    }

    fn excluded(&self, tokens: &ExcludedTokens) -> Result<Option<TokenRanges>, BuildError> {
        // Which tokens they are is of no importance, only that different sets are different.
        let mut ids = tokens.ids().to_vec();
        for name in tokens.names() {
            let token = self.resolve(&ControlRef::Name(name.clone()))?[0];
            ids.push((token, token));
        }
        Ok(Some(merged(ids).into()))
    }

    fn for_each_spelling(&self, _text: &str, _visit: &mut dyn FnMut(usize, u32)) {}

    fn external(&self, schema: &SchemaOperand) -> External {
        self.schemas[schema]
    }
}

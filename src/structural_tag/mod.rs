//! Structural tags: one JSON document that says what a model may write around JSON, such as tool calls amid free text.
//!
//! ```text
//! {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool="], "tags": [
//!     {"type": "tag", "begin": "<tool=add>", "content": {"type": "json_schema", "json_schema": {...}}, "end": "</tool>"}]}}
//! ```
//!
//! The format is the one that XGrammar introduced and inference servers pass on. A document is an envelope with a *format*, whose parts are formats:
//!
//! | `type` | fields (default) | output |
//! |---|---|---|
//! | `const_string` | `value` | this text |
//! | `json_schema` | `json_schema`, `max_whitespace_cnt` (16), `any_order` (false), `excludes` ([]), `style` (`json`) | a JSON document that the schema accepts, without white space around it; or parameters in a style that is no JSON: `qwen_xml`, `minimax_xml`, `glm_xml`, `deepseek_xml`, `deepseek_v4_1_xml`, `kimi_k3_xml`, `cohere_xml`, `minimax_m3_xml` |
//! | `qwen_xml_parameter` | `json_schema` | the older name of the style `qwen_xml` |
//! | `grammar` | `grammar` | what an EBNF grammar with the root rule `root` matches |
//! | `regex` | `pattern` | what a regular expression matches as a whole; `.` is any character |
//! | `any_text` | `excludes` ([]), `max_chars`, `max_tokens` | any text in which none of these occurs, of so many characters and tokens at most |
//! | `sequence`, `or` | `elements` | one behind the other; one of them |
//! | `optional`, `star`, `plus` | `content` | at most once; any number of times; at least once |
//! | `repeat` | `content`, `min` (0), `max` (-1: no bound) | so many times |
//! | `tag` | `begin`, `content`, `end` | the begin, the content, and the end, or one of several; `""` among them makes the end optional |
//! | `triggered_tags` | `triggers`, `tags`, `at_least_one`, `stop_after_first` (false), `excludes` ([]) | free text, and wherever a trigger occurs, one of the tags that begin with it |
//! | `tags_with_separator` | `tags`, `separator`, `at_least_one`, `stop_after_first` (false) | tags with the separator between them, and nothing else |
//! | `dispatch` | `rules` (pairs of a pattern and a format), `loop` (true), `excludes` ([]) | free text, and behind each occurrence of a pattern its format |
//! | `token` | `token` (an id or a name) | this token |
//! | `exclude_token` | `exclude_tokens` ([]) | any one token but these |
//! | `any_tokens` | `exclude_tokens` ([]), `max_tokens` | any tokens but these, so many at most |
//! | `token_triggered_tags` | `trigger_tokens`, `tags`, `at_least_one`, `stop_after_first` (false), `exclude_tokens` ([]) | any tokens, and wherever a trigger occurs, one of the tags that begin with it |
//! | `token_dispatch` | `rules` (pairs of a token and a format), `loop` (true), `exclude_tokens` ([]) | any tokens, and behind each of the rules' tokens its format |
//!
//! - Free text that a tag encloses, at whatever depth of sequences and choices, has none of the tag's ends in it.
//! - Where a text of `triggered_tags` or `dispatch` has several patterns, the first occurrence counts, the one that begins first; of patterns that begin at the same place, each may be
//!   the one. The output may stop within a pattern, and not right behind one. `at_least_one` wants a tag before any free text; `stop_after_first` ends the output behind the first tag.
//! - Tokens of `any_text` count if they begin a character of it; those that only finish one, or go on behind it in what follows, count once at most ([`Expr::AtMostTokens`](crate::grammar::Expr::AtMostTokens)).
//! - A token is an id, the name of a token, or the text of one that has no name. The free tokens of `exclude_token`, `any_tokens`, `token_triggered_tags` and `token_dispatch` are whole tokens, of any
//!   text, control tokens too, but never padding, a stop token, a trigger, or a token that ends the tag around them. A stop token that a format names is allowed where it stands.
//! - Begins, ends, triggers, separators, constant strings and the literals of grammars and regular expressions are *markers*: control tokens of
//!   the vocabulary may spell them, whole or in part ([`Expr::Marker`](crate::grammar::Expr::Marker)). Free text and JSON are text.
//! - In schemas, `additionalProperties` and `unevaluatedProperties` count as `false` where they are missing, as other engines read them, unless the
//!   [options](TagOptions) say otherwise. Properties come in their declared order. With `any_order` they come in any order, in all objects of the schema; the required
//!   ones are there and none comes twice, as in any other schema ([`SchemaOptions::has_any_order`](crate::json_schema::SchemaOptions::has_any_order)).
//! - No string of a schema with `excludes` has one of these texts in it, neither a value nor a key, as it is written: in JSON between its quotes, in other styles between its markers
//!   ([`SchemaOptions::excluded_texts`](crate::json_schema::SchemaOptions::excluded_texts)). That is said of each string by itself: punctuation, numbers and markers are not searched.
//! - Unknown fields are ignored, with a [warning](StructuralTag::warnings). Formats nest at most [`NESTING_MAX`] deep.
//!
//! [`models`] has the structural tags for the tool calls of well-known models.
//!
//! The older form, `{"structures": [{"begin", "schema", "end"}], "triggers": [..]}`, means `triggered_tags` of `json_schema` tags.

mod error;
mod fields;
mod format;
mod lower;
mod members;
pub mod models;
mod nested;
mod options;
mod parameters;
mod places;
mod read;
mod steps;

pub use error::TagError;
pub use options::{NESTING_MAX, TagOptions};

use crate::grammar::{ControlRef, Grammar, SchemaOperand, Warning};
use crate::json_schema::{Json, SchemaError, Value, ValueId};
use crate::limits::Limits;
use crate::pass::BuildError;
use crate::util::Span;
use std::sync::{Arc, OnceLock};
use steps::Steps;

/// A structural tag that was read: its grammar, and where its schemas are in the document.
#[derive(Clone, Debug)]
pub struct StructuralTag {
    grammar: Arc<Grammar>,
    warnings: Vec<Warning>,
    source: Arc<str>,
    limits: Limits,
    /// The document, once somebody asks for a place.
    json: OnceLock<Json>,
}

/// The fields whose values are schemas. These are compiled by themselves, so that the objects are left unread, but for those in a style that is no JSON.
const SCHEMA_FIELDS: &[&str] = &["json_schema", "schema"];

impl StructuralTag {
    /// Reads the JSON text of a structural tag. Its schemas are checked when the grammar is compiled.
    ///
    /// ```
    /// use maskwright::{Limits, structural_tag::{StructuralTag, TagOptions}};
    /// let text = r#"{"type": "structural_tag", "format": {"type": "sequence", "elements": [
    ///     {"type": "const_string", "value": "<think>"}, {"type": "any_text", "excludes": ["</think>"]}]}}"#;
    /// let tag = StructuralTag::parse(text, &TagOptions::default(), &Limits::default())?;
    /// assert_eq!(tag.grammar().rules().len(), 1);
    /// let error = StructuralTag::parse(&text.replace("value", "text"), &TagOptions::default(), &Limits::default()).unwrap_err();
    /// assert_eq!(error.to_string(), "#/format/elements/0: a `const_string` needs a field `value`");
    /// # Ok::<(), maskwright::structural_tag::TagError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not JSON or no structural tag, a grammar or regular expression in it is malformed, or a limit is met.
    pub fn parse(text: &str, options: &TagOptions, limits: &Limits) -> Result<StructuralTag, TagError> {
        StructuralTag::parse_within(text, options, limits, &|_| true)
    }

    /// As [`Self::parse`], but tells `go_on` now and then how many steps were taken since, and asks whether to go on. If not there is an error
    /// that is of no use to anybody: who stops knows why.
    pub(crate) fn parse_within(
        text: &str,
        options: &TagOptions,
        limits: &Limits,
        go_on: &dyn Fn(usize) -> bool,
    ) -> Result<StructuralTag, TagError> {
        let steps = Steps::new(go_on);
        let json = Json::outline(text, SCHEMA_FIELDS, limits, go_on).map_err(|error| TagError::json(&error))?;
        let model = read::read(&json, options, limits, steps)?;
        let grammar = lower::lower(&json, &model, limits, steps)?.into();
        let (source, limits) = (json.shared_source(), limits.clone());
        Ok(StructuralTag { grammar, warnings: model.warnings, source, limits, json: OnceLock::new() })
    }

    /// Returns the document with all that is in its schemas.
    fn json(&self) -> &Json {
        let read = || Json::parse(&self.source, &self.limits).expect("the text was checked before");
        self.json.get_or_init(read)
    }

    /// Returns the grammar. Spans of it are those of the JSON text.
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// Returns the grammar, to be kept.
    pub(crate) fn shared_grammar(&self) -> Arc<Grammar> {
        Arc::clone(&self.grammar)
    }

    /// Returns probable mistakes, with the [pointers](Warning::pointer) of their places: fields that nothing reads, since they are misspelt, and mistakes in the grammars of the
    /// formats `grammar`; 1024 at most.
    ///
    /// ```
    /// use maskwright::{Limits, structural_tag::{StructuralTag, TagOptions}};
    /// let text = r#"{"type": "structural_tag", "format": {"type": "any_text", "exclude": ["</think>"]}}"#;
    /// let tag = StructuralTag::parse(text, &TagOptions::default(), &Limits::default())?;
    /// let message = "#/format/exclude: the format `any_text` has no field `exclude`, which is ignored; did you mean `excludes`?";
    /// assert_eq!(tag.warnings()[0].to_string(), message);
    /// # Ok::<(), maskwright::structural_tag::TagError>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the error of a schema of the document that an operand of the grammar with a span is or is part of.
    pub(crate) fn schema_error(&self, span: Option<Span>, operand: &SchemaOperand, error: SchemaError) -> TagError {
        let json = self.json();
        let at = span.and_then(|span| json.schema_around(span, operand.text()));
        // A schema of a grammar that is a string of the document.
        let holds = |id: &ValueId| {
            let is_grammar = json.key_of(*id) == Some("grammar");
            is_grammar && matches!(json.value(*id), Value::String(text) if text.contains(&**operand.text()))
        };
        match at.is_none().then(|| json.values_within(json.root()).find(holds)).flatten() {
            Some(grammar) => TagError::document(json, grammar, format!("in a schema of the grammar: {error}")),
            None => TagError::schema(json, at, error),
        }
    }

    /// Returns the error of building what has a span of the grammar, if something has.
    pub(crate) fn build_error(&self, error: &BuildError) -> Option<TagError> {
        let span = error.span()?;
        let json = self.json();
        let format = json.value_at(span)?;
        let at = error.unknown_token().and_then(|token| self.token_within(format, &token));
        Some(TagError::build(json, at.unwrap_or(format), error.clone()))
    }

    /// Returns the first place within a format that names a token.
    fn token_within(&self, format: ValueId, token: &ControlRef) -> Option<ValueId> {
        let json = self.json();
        let is_token = |id: &ValueId| match (json.value(*id), token) {
            (Value::String(name), ControlRef::Name(wanted)) => *name == **wanted,
            (Value::Number(number), ControlRef::Id(wanted)) => number.to_string() == wanted.to_string(),
            _ => false,
        };
        // Elsewhere a string is text.
        let is_name = |id: &ValueId| {
            let list = json.parent(*id);
            match (json.key_of(*id), list.and_then(|list| json.key_of(list))) {
                (Some(key), _) => key == "token",
                (None, Some(key)) => key == "exclude_tokens" || key == "trigger_tokens",
                (None, None) => {
                    list.and_then(|rule| json.parent(rule)).and_then(|rules| json.key_of(rules)) == Some("rules")
                }
            }
        };
        json.values_within(format).find(|id| is_token(id) && is_name(id))
    }

    /// Returns the JSON pointer of what has a span of the grammar, such as a schema.
    pub fn pointer_of(&self, span: Span) -> Option<String> {
        let json = self.json();
        json.value_at(span).map(|id| json.pointer(id))
    }
}

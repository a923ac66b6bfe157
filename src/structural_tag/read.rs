//! Reading: from JSON to formats.
//!
//! Formats nest at most [`NESTING_MAX`] and `nesting_max` deep, which bounds the recursion.

use super::error::TagError;
use super::fields;
use super::format::{Edge, Format, FormatId, Model, Tag, Times};
use super::members::ANY_ORDER_MAX;
use super::nested::{Nested, NestedStyle};
use super::options::{NESTING_MAX, TagOptions};
use super::parameters::{Parameters, Style};
use super::steps::{STEPS_PER_PART, Steps};
use crate::frontend::regex::RegexOptions;
use crate::frontend::{ReadError, ebnf, regex};
use crate::grammar::{ControlRef, Regex, SchemaOperand, Warning, WarningKind};
use crate::json_schema::{Json, Value, ValueId};
use crate::limits::Limits;
use crate::schema_options::{SchemaOptions, WhiteSpace};
use crate::util::{Span, closest_name};
use core::fmt;
use std::sync::Arc;

/// Reads a document: an envelope with a format, or the older form.
pub(super) fn read(json: &Json, options: &TagOptions, limits: &Limits, steps: Steps<'_>) -> Result<Model, TagError> {
    let schema_options = Arc::new(options.schema.clone());
    let (formats, warnings) = (Vec::new(), Vec::new());
    let mut reader = Reader { json, options, limits, steps, formats, warnings, schema_options, n_excluded: 0 };
    let root = json.root();
    if !matches!(json.value(root), Value::Object(_)) {
        return Err(TagError::document(json, root, "a structural tag is an object"));
    }
    let root = match json.member(root, "structures") {
        Some(structures) if json.member(root, "format").is_none() => {
            reader.check_fields(root, format_args!("the older form of a structural tag"), fields::OLDER_FORM)?;
            reader.older_form(root, structures)?
        }
        _ => {
            reader.check_fields(root, format_args!("the envelope of a structural tag"), fields::ENVELOPE)?;
            if let Some(kind) = json.member(root, "type")
                && json.value(kind) != Value::String("structural_tag")
            {
                return Err(TagError::document(json, kind, "the type of a structural tag is `structural_tag`"));
            }
            let format = reader.field(root, "structural_tag", "format")?;
            reader.format(format, 1)?
        }
    };
    Ok(Model { formats: reader.formats, root, warnings: reader.warnings })
}

/// Pairs of a trigger and a tag that may be compared, for each of `n_exprs_max`: by default 4,000 triggers and 4,000 tags.
const PAIRS_PER_EXPR: usize = 64;

/// Pairs of an excluded text and a value of a schema that is no JSON, for each of `n_exprs_max`: each parameter has all excluded texts.
const EXCLUDED_PAIRS_PER_EXPR: usize = 4;

/// Most warnings.
const WARNINGS_MAX: usize = 1 << 10;

struct Reader<'a> {
    json: &'a Json,
    options: &'a TagOptions,
    limits: &'a Limits,
    steps: Steps<'a>,
    formats: Vec<(Format, ValueId)>,
    /// Probable mistakes in grammars, and unknown fields.
    warnings: Vec<Warning>,
    /// The options of the last schema: mostly the next one has the same.
    schema_options: Arc<SchemaOptions>,
    /// Pairs of an excluded text and a value of a schema so far.
    n_excluded: usize,
}

impl Reader<'_> {
    fn error(&self, at: ValueId, message: impl Into<Box<str>>) -> TagError {
        TagError::document(self.json, at, message)
    }

    fn add(&mut self, format: Format, at: ValueId) -> FormatId {
        self.formats.push((format, at));
        FormatId::new(self.formats.len() - 1)
    }

    /// Warns of fields that an object doesn't have.
    fn check_fields(&mut self, at: ValueId, object: fmt::Arguments<'_>, known: &[&str]) -> Result<(), TagError> {
        let json = self.json;
        let Value::Object(members) = json.value(at) else { return Ok(()) };
        for member in members {
            if self.warnings.len() >= WARNINGS_MAX {
                break;
            }
            let field = json.key(member);
            if fields::is_unknown(known, field) {
                self.steps.spend(STEPS_PER_PART)?;
                let message = fields::complaint(object, known, field);
                self.warn(WarningKind::WithoutEffect, member.key_span, member.value, message);
            }
        }
        Ok(())
    }

    /// Adds a warning about a value, at a span that shows it.
    fn warn(&mut self, kind: WarningKind, span: Span, at: ValueId, detail: String) {
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(Warning::of_document(kind, &self.json.pointer(at), span, detail));
        }
    }

    /// As [`Self::check_fields`], for a format of a type.
    fn check_format_fields(&mut self, at: ValueId, name: &str) -> Result<(), TagError> {
        self.check_fields(at, format_args!("the format `{name}`"), fields::of_format(name))
    }

    fn format(&mut self, at: ValueId, depth: usize) -> Result<FormatId, TagError> {
        let limit = self.limits.nesting_max.min(NESTING_MAX);
        if depth > limit {
            return Err(TagError::limit(self.json, at, "formats within formats (nesting_max)", depth, limit));
        }
        self.steps.spend(STEPS_PER_PART)?;
        if !matches!(self.json.value(at), Value::Object(_)) {
            return Err(self.error(at, "a format is an object"));
        }
        let kind = self.field(at, "format", "type")?;
        let name = self.text(kind, "the type of a format")?;
        let format = match &*name {
            "const_string" => Format::ConstString(self.text_field(at, &name, "value")?),
            "json_schema" | "qwen_xml_parameter" => self.json_schema(at, &name)?,
            "grammar" => self.grammar(at)?,
            "regex" => self.regex(at)?,
            "any_text" => Format::AnyText {
                excludes: self.texts(at, "excludes")?,
                n_chars_max: self.count_or_null(at, "max_chars")?,
                n_tokens_max: self.count_or_null(at, "max_tokens")?,
            },
            "sequence" => Format::Sequence(self.elements(at, &name, depth)?),
            "or" => Format::Or(self.elements(at, &name, depth)?),
            "optional" => self.repeat(at, &name, (0, Some(1)), depth)?,
            "star" => self.repeat(at, &name, (0, None), depth)?,
            "plus" => self.repeat(at, &name, (1, None), depth)?,
            "repeat" => self.repeat(at, &name, self.counts(at)?, depth)?,
            "tag" => Format::Tag(self.tag(at, depth)?),
            "triggered_tags" => self.triggered_tags(at, depth)?,
            "tags_with_separator" => {
                let tags = self.tags(at, &name, depth)?;
                let separator = self.text_field(at, &name, "separator")?;
                Format::TagsWithSeparator { tags, separator, times: self.times(at)? }
            }
            "dispatch" => self.dispatch(at, depth)?,
            "token" => Format::Token(self.token(at)?),
            "exclude_token" => Format::ExcludeToken(self.excluded_tokens(at)?),
            "any_tokens" => {
                let n_tokens_max = self.count_or_null(at, "max_tokens")?;
                Format::AnyTokens { excludes: self.excluded_tokens(at)?, n_tokens_max }
            }
            "token_triggered_tags" => self.token_triggered_tags(at, depth)?,
            "token_dispatch" => self.token_dispatch(at, depth)?,
            other => {
                let near = closest_name(other, fields::formats());
                let hint = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
                return Err(self.error(kind, format!("there is no format `{other}`{hint}")));
            }
        };
        if &*name != "tag" {
            self.check_format_fields(at, &name)?;
        }
        Ok(self.add(format, at))
    }

    /// Reads `{"structures": [{"begin", "schema", "end"}], "triggers": [..]}`.
    fn older_form(&mut self, at: ValueId, structures: ValueId) -> Result<FormatId, TagError> {
        let mut tags = Vec::new();
        for structure in self.list(structures, "the structures")? {
            self.steps.spend(STEPS_PER_PART)?;
            self.check_fields(structure, format_args!("an item of `structures`"), fields::STRUCTURE)?;
            let begin = Edge::Text(self.text_field(structure, "structure", "begin")?);
            let ends = vec![Edge::Text(self.text_field(structure, "structure", "end")?)];
            let schema = self.field(structure, "structure", "schema")?;
            let operand = self.operand(schema, self.options.schema.clone())?;
            let content = self.add(Format::JsonSchema(operand, schema), structure);
            tags.push(Tag { at: structure, begin, content, ends });
        }
        let triggers = self.field(at, "structural_tag", "triggers")?;
        let format = self.triggered(at, triggers, tags)?;
        Ok(self.add(format, at))
    }

    fn json_schema(&mut self, at: ValueId, name: &str) -> Result<Format, TagError> {
        let schema = self.field(at, name, "json_schema")?;
        let mut style = (name == "qwen_xml_parameter").then_some(("qwen_xml".to_owned(), at));
        if let Some(field) = self.json.member(at, "style") {
            let name = self.text(field, "the style of a schema")?;
            style = (name != "json").then_some((name, field));
        }
        let mut options = self.options.schema.clone();
        options.excluded_texts.extend(self.texts(at, "excludes")?.into_iter().map(String::into_boxed_str));
        options.excluded_texts.sort_unstable();
        options.excluded_texts.dedup();
        if let Some(any_order) = self.json.member(at, "any_order") {
            options.has_any_order = self.flag(any_order, "any_order")?;
        }
        if let Some(count) = self.json.member(at, "max_whitespace_cnt")
            && self.json.value(count) != Value::Null
        {
            options.white_space = WhiteSpace::Flexible { run_max: self.count(count, "max_whitespace_cnt")? };
            if style.is_some() && options.white_space == (WhiteSpace::Flexible { run_max: 0 }) {
                let message =
                    "`max_whitespace_cnt` is at least 1 beside a style: between two parameters stands a line end";
                return Err(self.error(count, message));
            }
        }
        let Some((style, style_at)) = style else {
            return Ok(Format::JsonSchema(self.operand(schema, options)?, schema));
        };
        let part = self.json.part(schema, self.limits, self.steps.go_on()).map_err(|error| TagError::json(&error))?;
        self.count_excluded(at, &part, options.excluded_texts.len())?;
        if let Some(style) = NestedStyle::find(&style) {
            let nested = Nested::read(&part, part.root(), style, options, self.limits, self.steps)?;
            return Ok(Format::Nested(Box::new(nested)));
        }
        let found = Style::find(&style).ok_or_else(|| {
            let names: Vec<&str> = ["json"].into_iter().chain(Style::names()).chain(NestedStyle::names()).collect();
            let near = closest_name(&style, names.iter().copied());
            let hint =
                near.map_or_else(|| format!("styles are {}", names.join(", ")), |near| format!("is `{near}` meant?"));
            TagError::unsupported(self.json, style_at, format!("the style `{style}` is not supported: {hint}"))
        })?;
        let has_any_order = options.has_any_order;
        let parameters = Parameters::read(&part, part.root(), found, options, self.steps)?;
        let (given, limit) = (parameters.n_declared(), self.limits.any_order_keys_max.min(ANY_ORDER_MAX));
        if has_any_order && given > limit {
            let what = "parameters in any order (any_order_keys_max)";
            return Err(TagError::limit(self.json, schema, what, given, limit));
        }
        Ok(Format::Parameters(Box::new(parameters)))
    }

    /// Refuses so many excluded texts and parameters that having all of these with each parameter would take much memory.
    fn count_excluded(&mut self, at: ValueId, schema: &Json, n_excluded: usize) -> Result<(), TagError> {
        self.n_excluded = self.n_excluded.saturating_add(n_excluded.saturating_mul(schema.n_values()));
        let limit = self.limits.n_exprs_max.saturating_mul(EXCLUDED_PAIRS_PER_EXPR);
        if self.n_excluded > limit {
            let what = "pairs of an excluded text and a value of a schema (4 * n_exprs_max)";
            return Err(TagError::limit(self.json, at, what, self.n_excluded, limit));
        }
        Ok(())
    }

    fn operand(&mut self, schema: ValueId, options: SchemaOptions) -> Result<SchemaOperand, TagError> {
        if !matches!(self.json.value(schema), Value::Object(_) | Value::Bool(_)) {
            return Err(self.error(schema, "a schema is an object, `true` or `false`"));
        }
        if *self.schema_options != options {
            self.schema_options = Arc::new(options);
        }
        let (text, span) = (self.json.source(), self.json.span(schema));
        let options = Arc::clone(&self.schema_options);
        Ok(SchemaOperand::new(&text[span.start as usize..span.end as usize], options))
    }

    fn grammar(&mut self, at: ValueId) -> Result<Format, TagError> {
        let field = self.field(at, "grammar", "grammar")?;
        let text = self.text(field, "the field `grammar`")?;
        let parsed = ebnf::parse_within(&text, "root", &[], self.limits, &mut |n_bytes| self.spend_within(n_bytes));
        let parsed = parsed.map_err(|error| self.read_error(error, field, "grammar"))?;
        let (pointer, span) = (self.json.pointer(field), self.json.span(field));
        let n_left = WARNINGS_MAX.saturating_sub(self.warnings.len());
        let warnings = parsed.warnings.into_iter().take(n_left).map(|warning| warning.in_document(&pointer, span));
        self.warnings.extend(warnings);
        Ok(Format::Grammar(Box::new(parsed.grammar.with_markers())))
    }

    fn regex(&self, at: ValueId) -> Result<Format, TagError> {
        let field = self.field(at, "regex", "pattern")?;
        let pattern = self.text(field, "the field `pattern`")?;
        let options = RegexOptions::EBNF;
        let regular = regex::parse_within(&pattern, &options, self.limits, &mut |n_steps| self.spend_within(n_steps));
        let regular = regular.map_err(|error| self.read_error(error, field, "regular expression"))?;
        let (pattern, flags) = options.in_ebnf(&pattern);
        let regex = Regex { pattern: pattern.into(), flags: flags.into(), regular: Arc::new(regular) };
        Ok(Format::Regex(regex.with_markers()))
    }

    fn spend_within(&self, n_steps: usize) -> Result<(), ReadError> {
        self.steps.spend(n_steps).map_err(|_| ReadError::Interrupted)
    }

    /// Returns the error of a text in a field that was not read to its end.
    fn read_error(&self, error: ReadError, field: ValueId, what: &'static str) -> TagError {
        match error {
            ReadError::Syntax(error) => TagError::syntax(self.json, field, what, error),
            ReadError::Interrupted => TagError::interrupted(),
        }
    }

    /// Refuses so many triggers and tags that comparing each with each would take long.
    fn check_pairs(&self, at: ValueId, n_triggers: usize, n_tags: usize) -> Result<(), TagError> {
        let n_pairs = n_triggers.saturating_mul(n_tags);
        let limit = self.limits.n_exprs_max.saturating_mul(PAIRS_PER_EXPR);
        if n_pairs > limit {
            let what = "pairs of triggers and tags (64 * n_exprs_max)";
            return Err(TagError::limit(self.json, at, what, n_pairs, limit));
        }
        self.steps.spend(n_pairs)
    }

    /// Reads a count that may be missing.
    fn count_or_null(&self, at: ValueId, name: &str) -> Result<Option<u32>, TagError> {
        match self.json.member(at, name) {
            Some(field) if self.json.value(field) != Value::Null => self.count(field, name).map(Some),
            _ => Ok(None),
        }
    }

    fn elements(&mut self, at: ValueId, name: &str, depth: usize) -> Result<Vec<FormatId>, TagError> {
        let field = self.field(at, name, "elements")?;
        let elements = self.list(field, "the field `elements`")?;
        if elements.is_empty() {
            return Err(self.error(field, format!("`{name}` has at least one element")));
        }
        elements.into_iter().map(|element| self.format(element, depth + 1)).collect()
    }

    fn repeat(
        &mut self,
        at: ValueId,
        name: &str,
        (min, max): (u32, Option<u32>),
        depth: usize,
    ) -> Result<Format, TagError> {
        let content = self.field(at, name, "content")?;
        Ok(Format::Repeat { content: self.format(content, depth + 1)?, min, max })
    }

    /// Reads the counts of a `repeat`.
    fn counts(&self, at: ValueId) -> Result<(u32, Option<u32>), TagError> {
        let min = self.json.member(at, "min").map_or(Ok(0), |field| self.count(field, "min"))?;
        let max = match self.json.member(at, "max") {
            Some(field) if !self.is_no_bound(field) => Some(self.max(field)?),
            _ => None,
        };
        let repeat_max = self.limits.bound_max();
        if min > repeat_max || max.is_some_and(|max| max > repeat_max) {
            return Err(self.error(at, format!("more copies than the limit repeat_max = {repeat_max}")));
        }
        match max {
            Some(max) if max < min => Err(self.error(at, format!("`max` {max} is less than `min` {min}"))),
            _ => Ok((min, max)),
        }
    }

    fn is_no_bound(&self, at: ValueId) -> bool {
        match self.json.value(at) {
            Value::Null => true,
            Value::Number(number) => number.to_string() == "-1",
            _ => false,
        }
    }

    fn tag(&mut self, at: ValueId, depth: usize) -> Result<Tag, TagError> {
        let begin = self.field(at, "tag", "begin")?;
        let begin = self.edge(begin, "begin")?;
        let content = self.field(at, "tag", "content")?;
        let content = self.format(content, depth + 1)?;
        let end = self.field(at, "tag", "end")?;
        let ends = match self.json.value(end) {
            Value::Array(ends) => ends.iter().map(|&end| self.edge(end, "end")).collect::<Result<Vec<_>, _>>()?,
            _ => vec![self.edge(end, "end")?],
        };
        if ends.is_empty() {
            return Err(self.error(end, "a tag has at least one end"));
        }
        self.check_format_fields(at, "tag")?;
        Ok(Tag { at, begin, content, ends })
    }

    fn edge(&mut self, at: ValueId, what: &str) -> Result<Edge, TagError> {
        match self.json.value(at) {
            Value::String(text) => Ok(Edge::Text(text.to_owned())),
            Value::Object(_) => {
                let kind = self.field(at, "format", "type")?;
                if let Value::String(name) = self.json.value(kind) {
                    self.check_format_fields(at, name)?;
                }
                match self.json.value(kind) {
                    Value::String("token") => Ok(Edge::Token(self.token(at)?)),
                    Value::String("const_string") => Ok(Edge::Text(self.text_field(at, "const_string", "value")?)),
                    _ => Err(self.error(kind, format!("the {what} of a tag is a text or a token"))),
                }
            }
            _ => Err(self.error(at, format!("the {what} of a tag is a text or a token"))),
        }
    }

    fn token(&self, at: ValueId) -> Result<ControlRef, TagError> {
        let token = self.field(at, "token", "token")?;
        self.token_ref(token)
    }

    /// Reads an id or a name.
    fn token_ref(&self, token: ValueId) -> Result<ControlRef, TagError> {
        match self.json.value(token) {
            Value::String("") => Err(self.error(token, "a token has a name that is not empty")),
            Value::String(name) => Ok(ControlRef::Name(name.into())),
            _ => Ok(ControlRef::Id(self.count(token, "token")?)),
        }
    }

    fn tags(&mut self, at: ValueId, name: &str, depth: usize) -> Result<Vec<Tag>, TagError> {
        let field = self.field(at, name, "tags")?;
        let tags = self.list(field, "the field `tags`")?;
        if tags.is_empty() {
            return Err(self.error(field, format!("`{name}` has at least one tag")));
        }
        // Their `type` may be left out.
        for &tag in &tags {
            if let Some(kind) = self.json.member(tag, "type")
                && self.json.value(kind) != Value::String("tag")
            {
                return Err(self.error(kind, format!("an item of the tags of `{name}` has the type `tag`")));
            }
        }
        tags.into_iter().map(|tag| self.tag(tag, depth + 1)).collect()
    }

    fn triggered_tags(&mut self, at: ValueId, depth: usize) -> Result<Format, TagError> {
        let tags = self.tags(at, "triggered_tags", depth)?;
        let triggers = self.field(at, "triggered_tags", "triggers")?;
        self.triggered(at, triggers, tags)
    }

    fn triggered(&mut self, at: ValueId, triggers: ValueId, tags: Vec<Tag>) -> Result<Format, TagError> {
        let texts = self.text_list(triggers, "the field `triggers`")?;
        if texts.is_empty() || texts.iter().any(String::is_empty) {
            return Err(self.error(triggers, "there is at least one trigger, and none is empty"));
        }
        self.check_pairs(triggers, texts.len(), tags.len())?;
        let mut begins_some = vec![false; texts.len()];
        for tag in &tags {
            let Edge::Text(begin) = &tag.begin else {
                return Err(self.error(at, "the tags of `triggered_tags` begin with a text"));
            };
            let mut is_triggered = false;
            for (trigger, begins_some) in texts.iter().zip(&mut begins_some) {
                let begins = begin.starts_with(&**trigger);
                (is_triggered, *begins_some) = (is_triggered || begins, *begins_some || begins);
            }
            if !is_triggered {
                return Err(self.error(triggers, format!("no trigger begins the tag that begins with {begin:?}")));
            }
        }
        let fields = self.list(triggers, "the field `triggers`")?;
        for ((trigger, field), _) in texts.iter().zip(fields).zip(begins_some).filter(|(_, begins_some)| !begins_some) {
            let detail = format!("no tag begins with the trigger {trigger:?}: text that contains it can't go on");
            self.warn(WarningKind::Suspicious, self.json.span(field), field, detail);
        }
        Ok(Format::TriggeredTags {
            triggers: texts,
            tags,
            times: self.times(at)?,
            excludes: self.texts(at, "excludes")?,
        })
    }

    fn dispatch(&mut self, at: ValueId, depth: usize) -> Result<Format, TagError> {
        let field = self.field(at, "dispatch", "rules")?;
        let mut rules = Vec::new();
        for rule in self.list(field, "the field `rules`")? {
            let [pattern, format] = *self.list(rule, "a rule")? else {
                return Err(self.error(rule, "a rule is a list of a pattern and a format"));
            };
            let text = self.text(pattern, "the pattern of a rule")?;
            if text.is_empty() {
                return Err(self.error(pattern, "the pattern of a rule is not empty"));
            }
            rules.push((text, self.format(format, depth + 1)?));
        }
        if rules.is_empty() {
            return Err(self.error(field, "`dispatch` has at least one rule"));
        }
        let is_loop = self.json.member(at, "loop").map_or(Ok(true), |field| self.flag(field, "loop"))?;
        Ok(Format::Dispatch { rules, is_loop, excludes: self.texts(at, "excludes")? })
    }

    /// Reads a list of ids and names.
    fn token_list(&self, at: ValueId, what: &str) -> Result<Vec<ControlRef>, TagError> {
        self.list(at, what)?.into_iter().map(|token| self.token_ref(token)).collect()
    }

    fn excluded_tokens(&self, at: ValueId) -> Result<Vec<ControlRef>, TagError> {
        match self.json.member(at, "exclude_tokens") {
            Some(list) if self.json.value(list) != Value::Null => self.token_list(list, "the field `exclude_tokens`"),
            _ => Ok(Vec::new()),
        }
    }

    fn token_triggered_tags(&mut self, at: ValueId, depth: usize) -> Result<Format, TagError> {
        let tags = self.tags(at, "token_triggered_tags", depth)?;
        let field = self.field(at, "token_triggered_tags", "trigger_tokens")?;
        let triggers = self.token_list(field, "the field `trigger_tokens`")?;
        if triggers.is_empty() {
            return Err(self.error(field, "there is at least one trigger"));
        }
        self.check_pairs(field, triggers.len(), tags.len())?;
        for tag in &tags {
            let Edge::Token(begin) = &tag.begin else {
                return Err(self.error(at, "the tags of `token_triggered_tags` begin with a token"));
            };
            if !triggers.contains(begin) {
                let begin = match begin {
                    ControlRef::Name(name) => format!("{name:?}"),
                    ControlRef::Id(id) => id.to_string(),
                };
                return Err(self.error(field, format!("the token {begin}, with which a tag begins, is no trigger")));
            }
        }
        Ok(Format::TokenTriggeredTags { triggers, tags, times: self.times(at)?, excludes: self.excluded_tokens(at)? })
    }

    fn token_dispatch(&mut self, at: ValueId, depth: usize) -> Result<Format, TagError> {
        let field = self.field(at, "token_dispatch", "rules")?;
        let mut rules = Vec::new();
        for rule in self.list(field, "the field `rules`")? {
            let [token, format] = *self.list(rule, "a rule")? else {
                return Err(self.error(rule, "a rule is a list of a token and a format"));
            };
            rules.push((self.token_ref(token)?, self.format(format, depth + 1)?));
        }
        if rules.is_empty() {
            return Err(self.error(field, "`token_dispatch` has at least one rule"));
        }
        let is_loop = self.json.member(at, "loop").map_or(Ok(true), |field| self.flag(field, "loop"))?;
        Ok(Format::TokenDispatch { rules, is_loop, excludes: self.excluded_tokens(at)? })
    }

    fn times(&self, at: ValueId) -> Result<Times, TagError> {
        let flag = |name: &str| self.json.member(at, name).map_or(Ok(false), |field| self.flag(field, name));
        Ok(Times { at_least_one: flag("at_least_one")?, stop_after_first: flag("stop_after_first")? })
    }

    fn field(&self, at: ValueId, name: &str, field: &str) -> Result<ValueId, TagError> {
        if !matches!(self.json.value(at), Value::Object(_)) {
            return Err(self.error(at, format!("a `{name}` is an object")));
        }
        self.json.member(at, field).ok_or_else(|| {
            let hint = match self.json.value(at) {
                Value::Object(members) => closest_name(field, members.iter().map(|member| self.json.key(member))),
                _ => None,
            };
            let hint = hint.map_or(String::new(), |near| format!(" (is `{near}` meant to be it?)"));
            self.error(at, format!("a `{name}` needs a field `{field}`{hint}"))
        })
    }

    fn text_field(&self, at: ValueId, name: &str, field: &str) -> Result<String, TagError> {
        let value = self.field(at, name, field)?;
        self.text(value, &format!("the field `{field}`"))
    }

    fn text(&self, at: ValueId, what: &str) -> Result<String, TagError> {
        match self.json.value(at) {
            Value::String(text) => Ok(text.to_owned()),
            _ => Err(self.error(at, format!("{what} is a string"))),
        }
    }

    fn flag(&self, at: ValueId, name: &str) -> Result<bool, TagError> {
        match self.json.value(at) {
            Value::Bool(flag) => Ok(flag),
            _ => Err(self.error(at, format!("`{name}` is `true` or `false`"))),
        }
    }

    fn count(&self, at: ValueId, name: &str) -> Result<u32, TagError> {
        let is_none = || self.error(at, format!("`{name}` is a number below 4294967296, and not negative"));
        self.number(at).ok_or_else(is_none)
    }

    /// Reads a greatest count that may have none.
    fn max(&self, at: ValueId) -> Result<u32, TagError> {
        let is_none = || self.error(at, "`max` is a number below 4294967296, or -1 where there is none");
        self.number(at).ok_or_else(is_none)
    }

    fn number(&self, at: ValueId) -> Option<u32> {
        match self.json.value(at) {
            Value::Number(number) => number.to_string().parse().ok(),
            _ => None,
        }
    }

    fn list(&self, at: ValueId, what: &str) -> Result<Vec<ValueId>, TagError> {
        match self.json.value(at) {
            Value::Array(items) => Ok(items.to_vec()),
            _ => Err(self.error(at, format!("{what} is a list"))),
        }
    }

    fn text_list(&self, at: ValueId, what: &str) -> Result<Vec<String>, TagError> {
        self.list(at, what)?.into_iter().map(|item| self.text(item, "an item of the list")).collect()
    }

    /// Reads a list of texts that may be missing, none of them empty.
    fn texts(&self, at: ValueId, field: &str) -> Result<Vec<String>, TagError> {
        let Some(list) = self.json.member(at, field).filter(|&list| self.json.value(list) != Value::Null) else {
            return Ok(Vec::new());
        };
        let texts = self.text_list(list, &format!("the field `{field}`"))?;
        match texts.iter().any(String::is_empty) {
            true => Err(self.error(list, format!("no text of `{field}` is empty"))),
            false => Ok(texts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_format(format: &str) -> Result<crate::structural_tag::StructuralTag, TagError> {
        let text = format!(r#"{{"type": "structural_tag", "format": {format}}}"#);
        crate::structural_tag::StructuralTag::parse(&text, &TagOptions::default(), &Limits::default())
    }

    #[test]
    fn formats_are_those_that_are_read() {
        for name in fields::formats() {
            let tag = read_format(&format!(r#"{{"type": "{name}"}}"#));
            let error = tag.err().map_or(String::new(), |error| error.to_string());
            assert!(!error.contains("there is no format"), "{error}");
        }
    }

    /// No field takes an object with a member `?`, but a schema, which is read later.
    #[test]
    fn fields_are_those_that_are_read() {
        let sound = |name: &str| match name {
            "value" | "separator" | "end" | "pattern" | "style" => "\"json\"",
            "grammar" => r#""root ::= \"a\"""#,
            "begin" => "\"b\"",
            "triggers" => "[\"b\"]",
            "tags" => r#"[{"begin": "b", "content": {"type": "any_text"}, "end": "e"}]"#,
            "content" => r#"{"type": "any_text"}"#,
            "elements" => r#"[{"type": "any_text"}]"#,
            "rules" => r#"[["b", {"type": "any_text"}]]"#,
            "token" => "1",
            "trigger_tokens" => "[1]",
            "json_schema" => "{}",
            "excludes" | "exclude_tokens" => "[]",
            "max_chars" | "max_tokens" | "max" | "max_whitespace_cnt" => "null",
            "min" => "0",
            _ => "false",
        };
        for name in fields::formats() {
            for asked in fields::of_format(name).iter().filter(|&&field| field != "json_schema") {
                let members = fields::of_format(name).iter().map(|&field| {
                    let is_token = name == "token_triggered_tags" && field == "tags";
                    let token =
                        r#"[{"begin": {"type": "token", "token": 1}, "content": {"type": "any_text"}, "end": "e"}]"#;
                    let value = if is_token { token } else { sound(field) };
                    format!("{field:?}: {}", if field == *asked { r#"{"?": 0}"# } else { value })
                });
                let members = members.collect::<Vec<_>>().join(", ");
                let broken = format!(r#"{{"type": "{name}", {members}}}"#);
                assert!(read_format(&broken).is_err(), "{broken}");
            }
        }
    }
}

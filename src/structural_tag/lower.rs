//! Lowering: from formats to a grammar.
//!
//! Formats refer to earlier ones only, but what a format is depends on the tags around it, whose ends its free text excludes. So formats are
//! lowered from the root down, with the ends of the innermost tag; their depth is bounded.

use super::error::TagError;
use super::format::{Edge, Format, FormatId, Model, Tag, Times};
use super::parameters::SharedRules;
use super::steps::{STEPS_PER_PART, Steps};
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, GrammarBuilder};
use crate::json_schema::{Json, ValueId};
use crate::limits::Limits;
use crate::regular::CharSet;

/// Most bytes of triggers that are compared, each trigger with each: 400 of 40 bytes are a tenth of that.
const COMPARED_BYTES_MAX: usize = 1 << 26;

/// Returns the grammar of a document.
pub(super) fn lower(json: &Json, model: &Model, limits: &Limits, steps: Steps<'_>) -> Result<Grammar, TagError> {
    let (builder, shared) = (GrammarBuilder::new(), SharedRules::default());
    let mut lowering = Lowering { json, model, limits, steps, builder, shared, n_rules: 0 };
    lowering.builder.set_source(json.source());
    let root = lowering.builder.rule("root");
    let body = lowering.format(model.root, &Ends::default())?;
    lowering.builder.define_at(root, body, Some(json.span(model.formats[model.root.index()].1)));
    Ok(lowering.builder.finish(root).expect("every rule has a body"))
}

struct Lowering<'a> {
    json: &'a Json,
    model: &'a Model,
    limits: &'a Limits,
    steps: Steps<'a>,
    builder: GrammarBuilder,
    shared: SharedRules,
    /// Rules so far.
    n_rules: usize,
}

/// The ends of the innermost tag around a format.
#[derive(Default)]
struct Ends<'a> {
    texts: Vec<&'a str>,
    tokens: Vec<&'a ControlRef>,
}

impl Lowering<'_> {
    /// Lowers a format. None of `ends` occurs in its free text, or among its free tokens.
    fn format(&mut self, id: FormatId, ends: &Ends<'_>) -> Result<ExprId, TagError> {
        let model = self.model;
        let (format, at) = &model.formats[id.index()];
        self.steps.spend(STEPS_PER_PART)?;
        let place = self.builder.set_place(Some(self.json.span(*at)));
        let lowered = self.format_at(id, format, *at, ends);
        self.builder.set_place(place);
        lowered
    }

    fn format_at(&mut self, id: FormatId, format: &Format, at: ValueId, ends: &Ends<'_>) -> Result<ExprId, TagError> {
        if self.builder.n_exprs() > self.limits.n_exprs_max {
            let (given, limit) = (self.builder.n_exprs(), self.limits.n_exprs_max);
            return Err(TagError::limit(self.json, at, "expressions (n_exprs_max)", given, limit));
        }
        Ok(match format {
            Format::ConstString(text) => self.builder.marker(text),
            Format::JsonSchema(operand, schema) => {
                let span = self.json.span(*schema);
                self.builder.push_at(Expr::Schema(operand.clone()), Some(span))
            }
            Format::Parameters(parameters) => {
                let prefix = format!("parameters-{}-", id.index());
                parameters.lower(&mut self.builder, &mut self.shared, &prefix, self.steps)?
            }
            Format::Nested(nested) => {
                nested.lower(&mut self.builder, &format!("elements-{}-", id.index()), self.steps)?
            }
            Format::Grammar(grammar) => {
                let root = self.builder.add_grammar(grammar, &format!("grammar-{}-", id.index()));
                self.builder.rule_ref(root)
            }
            Format::Regex(regex) => self.builder.regex(regex.clone()),
            Format::AnyText { excludes, n_chars_max, n_tokens_max } => {
                let text = self.any_text(&joined(excludes, &ends.texts), *n_chars_max);
                match n_tokens_max {
                    Some(max) => self.bounded_text(text, *max),
                    None => text,
                }
            }
            Format::Sequence(elements) => {
                let elements = self.formats(elements, ends)?;
                self.builder.sequence(elements)
            }
            Format::Or(elements) => {
                let elements = self.formats(elements, ends)?;
                self.builder.one_of(elements)
            }
            Format::Repeat { content, min, max } => {
                let content = self.format(*content, ends)?;
                self.builder.repeat(content, *min, *max)
            }
            Format::Tag(tag) => self.tag(tag)?,
            Format::TriggeredTags { triggers, tags, times, excludes } => {
                self.triggered_tags(at, triggers, tags, *times, &joined(excludes, &ends.texts))?
            }
            Format::TagsWithSeparator { tags, separator, times } => self.separated(tags, separator, *times)?,
            Format::Dispatch { rules, is_loop, excludes } => {
                self.dispatch(at, rules, *is_loop, &joined(excludes, &ends.texts), ends)?
            }
            Format::Token(token) => self.builder.push(Expr::Control(token.clone())),
            Format::ExcludeToken(excludes) => self.token_but([excludes, &[][..]], ends),
            Format::AnyTokens { excludes, n_tokens_max } => {
                let other = self.token_but([excludes, &[][..]], ends);
                self.builder.repeat(other, 0, *n_tokens_max)
            }
            Format::TokenTriggeredTags { triggers, tags, times, excludes } => {
                let first = self.tags(tags)?;
                let other = self.token_but([triggers, excludes], ends);
                self.amid_tokens(other, first, *times)
            }
            Format::TokenDispatch { rules, is_loop, excludes } => {
                let mut arms = Vec::with_capacity(rules.len());
                for (token, format) in rules {
                    let (token, content) =
                        (self.builder.push(Expr::Control(token.clone())), self.format(*format, ends)?);
                    arms.push(self.builder.sequence([token, content]));
                }
                let first = self.builder.one_of(arms);
                let tokens: Vec<ControlRef> = rules.iter().map(|(token, _)| token.clone()).collect();
                let other = self.token_but([&tokens, excludes], ends);
                self.amid_tokens(other, first, Times { at_least_one: false, stop_after_first: !is_loop })
            }
        })
    }

    /// Returns any one token but those of two lists and the ends of the tag around.
    fn token_but(&mut self, lists: [&[ControlRef]; 2], ends: &Ends<'_>) -> ExprId {
        let all = lists.into_iter().flatten().chain(ends.tokens.iter().copied());
        self.builder.token_except(ExcludedTokens::new(all.cloned()))
    }

    /// Returns tags with other tokens around them.
    fn amid_tokens(&mut self, other: ExprId, tag: ExprId, times: Times) -> ExprId {
        if times.at_least_one && times.stop_after_first {
            return tag;
        }
        let free = self.builder.repeat(other, 0, None);
        let next = self.builder.sequence([free, tag]);
        if times.stop_after_first {
            return self.builder.choice([next, free]);
        }
        let more = self.builder.repeat(next, 0, None);
        match times.at_least_one {
            true => self.builder.sequence([tag, more, free]),
            false => self.builder.sequence([more, free]),
        }
    }

    fn formats(&mut self, ids: &[FormatId], ends: &Ends<'_>) -> Result<Vec<ExprId>, TagError> {
        ids.iter().map(|&id| self.format(id, ends)).collect()
    }

    fn any_text(&mut self, excludes: &[&str], n_chars_max: Option<u32>) -> ExprId {
        let Some(n_chars_max) = n_chars_max else { return self.builder.text_without(excludes) };
        let any = self.builder.class(CharSet::all());
        let short = self.builder.repeat(any, 0, Some(n_chars_max));
        if excludes.is_empty() {
            return short;
        }
        let text = self.builder.text_without(excludes);
        self.builder.push(Expr::And(text, short))
    }

    fn tag(&mut self, tag: &Tag) -> Result<ExprId, TagError> {
        let place = self.builder.set_place(Some(self.json.span(tag.at)));
        let lowered = self.tag_here(tag);
        self.builder.set_place(place);
        lowered
    }

    fn tag_here(&mut self, tag: &Tag) -> Result<ExprId, TagError> {
        let begin = self.edge(&tag.begin);
        let mut inner = Ends::default();
        for end in &tag.ends {
            match end {
                Edge::Text(text) if !text.is_empty() => inner.texts.push(text),
                Edge::Text(_) => {}
                Edge::Token(token) => inner.tokens.push(token),
            }
        }
        let content = self.format(tag.content, &inner)?;
        let ends = tag.ends.iter().map(|end| self.edge(end)).collect();
        let end = self.builder.one_of(ends);
        Ok(self.builder.sequence([begin, content, end]))
    }

    fn tags(&mut self, tags: &[Tag]) -> Result<ExprId, TagError> {
        let tags = tags.iter().map(|tag| self.tag(tag)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.builder.one_of(tags))
    }

    fn edge(&mut self, edge: &Edge) -> ExprId {
        match edge {
            Edge::Text(text) => self.builder.marker(text),
            Edge::Token(token) => self.builder.push(Expr::Control(token.clone())),
        }
    }

    fn triggered_tags(
        &mut self,
        at: ValueId,
        triggers: &[String],
        tags: &[Tag],
        times: Times,
        excludes: &[&str],
    ) -> Result<ExprId, TagError> {
        let mut of_trigger: Vec<(&str, Vec<ExprId>)> =
            triggers.iter().map(|trigger| (&**trigger, Vec::new())).collect();
        for tag in tags {
            let lowered = self.tag(tag)?;
            let Edge::Text(begin) = &tag.begin else { unreachable!("such a tag was refused") };
            self.steps.spend(of_trigger.len())?;
            let found = of_trigger.iter_mut().filter(|(trigger, _)| begin.starts_with(trigger));
            found.for_each(|(_, tags)| tags.push(lowered));
        }
        // Triggers without a tag are excluded from the text as well.
        let unused = of_trigger.iter().filter(|(_, tags)| tags.is_empty()).map(|&(trigger, _)| trigger);
        let excludes: Vec<&str> = excludes.iter().copied().chain(unused).collect();
        // A rule for the tags of each trigger: they stand at two places.
        let used = of_trigger.into_iter().filter(|(_, tags)| !tags.is_empty());
        let arms: Vec<(&str, ExprId)> = used.map(|(trigger, tags)| (trigger, self.rule_of(tags))).collect();
        let first = self.builder.one_of(arms.iter().map(|&(_, arm)| arm).collect());
        if times.at_least_one && times.stop_after_first {
            return Ok(first);
        }
        let (next, text) = self.text_around(at, &arms, &excludes)?;
        Ok(if times.stop_after_first {
            self.builder.choice([next, text])
        } else {
            let more = self.builder.repeat(next, 0, None);
            match times.at_least_one {
                true => self.builder.sequence([first, more, text]),
                false => self.builder.sequence([more, text]),
            }
        })
    }

    /// Returns a reference to a new rule that is one of some tags.
    fn rule_of(&mut self, tags: Vec<ExprId>) -> ExprId {
        self.n_rules += 1;
        let rule = self.builder.rule(&format!("tags-{}", self.n_rules));
        let body = self.builder.one_of(tags);
        self.builder.define(rule, body);
        self.builder.rule_ref(rule)
    }

    /// Returns a reference to a new rule that is a text with at most so many tokens: EBNF says that of rules.
    fn bounded_text(&mut self, text: ExprId, max: u32) -> ExprId {
        self.n_rules += 1;
        let rule = self.builder.rule(&format!("text-{}", self.n_rules));
        let body = self.builder.at_most_tokens(text, max);
        self.builder.define(rule, body);
        self.builder.rule_ref(rule)
    }

    fn dispatch(
        &mut self,
        at: ValueId,
        rules: &[(String, FormatId)],
        is_loop: bool,
        excludes: &[&str],
        ends: &Ends<'_>,
    ) -> Result<ExprId, TagError> {
        let mut arms: Vec<(&str, ExprId)> = Vec::with_capacity(rules.len());
        for (pattern, format) in rules {
            let (marker, content) = (self.builder.marker(pattern), self.format(*format, ends)?);
            arms.push((pattern, self.builder.sequence([marker, content])));
        }
        let (next, text) = self.text_around(at, &arms, excludes)?;
        Ok(match is_loop {
            true => {
                let all = self.builder.repeat(next, 0, None);
                self.builder.sequence([all, text])
            }
            false => self.builder.choice([next, text]),
        })
    }

    /// Returns free text with the arm of a pattern behind it, and free text without any pattern.
    fn text_around(
        &mut self,
        at: ValueId,
        arms: &[(&str, ExprId)],
        excludes: &[&str],
    ) -> Result<(ExprId, ExprId), TagError> {
        // Each pattern is looked for in each other one.
        let n_bytes: usize =
            arms.iter().map(|(pattern, _)| pattern.len()).chain(excludes.iter().map(|text| text.len())).sum();
        let n_compared = arms.len().saturating_mul(n_bytes);
        if n_compared > COMPARED_BYTES_MAX {
            return Err(TagError::limit(self.json, at, "bytes of patterns to compare", n_compared, COMPARED_BYTES_MAX));
        }
        self.steps.spend(n_compared)?;
        let limit = self.limits.n_exprs_max;
        let next = self.builder.text_until_within(arms, excludes, limit).ok_or_else(|| {
            let what = "expressions (n_exprs_max) of patterns that are long or overlap";
            TagError::limit(self.json, at, what, limit.saturating_add(1), limit)
        })?;
        let without: Vec<&str> = arms.iter().map(|&(pattern, _)| pattern).chain(excludes.iter().copied()).collect();
        Ok((next, self.builder.text_without(&without)))
    }

    fn separated(&mut self, tags: &[Tag], separator: &str, times: Times) -> Result<ExprId, TagError> {
        let first = self.tags(tags)?;
        let all = if times.stop_after_first {
            first
        } else {
            let separator = self.builder.marker(separator);
            let more = self.builder.sequence([separator, first]);
            let more = self.builder.repeat(more, 0, None);
            self.builder.sequence([first, more])
        };
        Ok(match times.at_least_one {
            true => all,
            false => self.builder.repeat(all, 0, Some(1)),
        })
    }
}

/// Returns the texts of both lists, each once.
fn joined<'t>(excludes: &'t [String], ends: &[&'t str]) -> Vec<&'t str> {
    let mut all: Vec<&str> = excludes.iter().map(|text| &**text).chain(ends.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

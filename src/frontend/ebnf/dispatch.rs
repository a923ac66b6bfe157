//! `TagDispatch(...)`: free text up to the first of some tags, then the rule of that tag, and so on.
//!
//! What is free text before a tag is said where it is built ([`free_text`](crate::grammar::GrammarBuilder::text_until)); structural tags have the same.
//!
//! ```text
//! TagDispatch(("<a>", r))  =  (text-until-<a> r)* text-without-<a>
//! ```

use super::lower::Lowering;
use crate::frontend::SyntaxError;
use crate::grammar::{Expr, ExprId, RuleId};
use crate::util::Span;

/// What `TagDispatch` says.
pub(super) struct Dispatch {
    /// Each tag with its rule, and where it is.
    pub tags: Vec<(String, RuleId, Span)>,
    /// What free text must not hold.
    pub excludes: Vec<(String, Span)>,
    /// Whether free text goes on after a rule.
    pub is_loop: bool,
}

impl Lowering<'_> {
    /// Lowers a dispatch.
    pub(super) fn dispatch(&mut self, dispatch: &Dispatch, span: Span) -> Result<Expr, SyntaxError> {
        for (text, place) in dispatch
            .tags
            .iter()
            .map(|(text, _, place)| (text, place))
            .chain(dispatch.excludes.iter().map(|(text, place)| (text, place)))
        {
            if text.is_empty() {
                return Err(SyntaxError::new(self.source, *place, "a tag or an excluded text can't be empty"));
            }
        }
        for (excluded, place) in &dispatch.excludes {
            if dispatch.tags.iter().any(|(tag, ..)| tag.starts_with(&**excluded)) {
                let message = "a tag begins with this excluded text, so it could never come";
                return Err(SyntaxError::new(self.source, *place, message));
            }
        }
        let mut texts: Vec<&str> = dispatch.tags.iter().map(|(tag, ..)| &**tag).collect();
        texts.extend(dispatch.excludes.iter().map(|(text, _)| &**text));
        texts.sort_unstable();
        texts.dedup();
        self.check_comparisons(dispatch, &texts, span)?;
        let free = self.builder.text_without(&texts);
        let mut arms: Vec<(&str, ExprId)> = Vec::with_capacity(dispatch.tags.len());
        for (tag, rule, place) in &dispatch.tags {
            let marker = self.push(Expr::Marker(tag.as_str().into()), *place)?.expr;
            let rule = self.push(Expr::Rule(*rule), *place)?.expr;
            arms.push((tag, self.push(Expr::Sequence([marker, rule].into()), *place)?.expr));
        }
        if arms.is_empty() {
            return Ok(self.builder.expr(free).clone());
        }
        let excludes: Vec<&str> = dispatch.excludes.iter().map(|(text, _)| &**text).collect();
        let limit = self.limits.n_exprs_max;
        let next = self.builder.text_until_within(&arms, &excludes, limit).ok_or_else(|| {
            let message = format!("tags overlap in more places than the limit n_exprs_max = {limit} allows");
            SyntaxError::new(self.source, span, message).over_limit(limit.saturating_add(1), limit)
        })?;
        self.check_n_exprs(0, span)?;
        if !dispatch.is_loop {
            return Ok(Expr::Choice([next, free].into()));
        }
        let all = self.push(Expr::Repeat { body: next, min: 0, max: None }, span)?.expr;
        Ok(Expr::Sequence([all, free].into()))
    }

    /// Checks the length of all pairs of tags and texts: each is compared.
    fn check_comparisons(&self, dispatch: &Dispatch, texts: &[&str], span: Span) -> Result<(), SyntaxError> {
        let n_bytes_of_tags: usize = dispatch.tags.iter().map(|(tag, ..)| tag.len()).sum();
        let n_bytes_of_texts: usize = texts.iter().map(|text| text.len()).sum();
        let given = (n_bytes_of_tags.saturating_mul(texts.len()))
            .saturating_add(n_bytes_of_texts.saturating_mul(dispatch.tags.len()));
        let limit = self.limits.source_bytes_max;
        if given <= limit {
            return Ok(());
        }
        let message = format!("all pairs of tags have {given} bytes, above the limit source_bytes_max = {limit}");
        Err(SyntaxError::new(self.source, span, message).over_limit(given, limit))
    }
}

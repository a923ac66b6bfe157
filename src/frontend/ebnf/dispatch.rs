//! `TagDispatch(...)`: free text up to the first of some tags, then the rule of that tag, and so on.
//!
//! Free text before a tag must not hold any tag, nor an excluded text; and the tag must be the first that ends. So for a tag `t`, the text `p` before it is any text such
//! that no proper prefix of `p t` ends with a tag or an excluded text `x`. Such a prefix ends inside of `p`, which then holds `x`; or inside of `t`, after its first k characters: then `x` ends with those, and
//! `p` ends with the rest of `x`. (If nothing of `x` is left, `x` is inside of `t` and always ends first: the tag never comes.) All of this is regular:
//!
//! ```text
//! TagDispatch(("<a>", r))          =  (text-before-<a> "<a>" r)* text-without-<a>
//! text-before-t                    =  .* - .* (tags | excludes) .* - .* rests
//! ```

use super::lower::Lowering;
use crate::frontend::SyntaxError;
use crate::frontend::overlap::{beginnings, ends_that_begin};
use crate::grammar::{Expr, ExprId, RuleId};
use crate::regular::CharSet;
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
        let any = self.push(Expr::Class(CharSet::all()), span)?.expr;
        let all = self.push(Expr::Repeat { body: any, min: 0, max: None }, span)?.expr;
        let ends: Result<Vec<ExprId>, SyntaxError> = texts.iter().map(|text| self.text(text, span)).collect();
        let ends = self.push(Expr::Choice(ends?.into()), span)?.expr;
        let holding = self.push(Expr::Sequence([all, ends, all].into()), span)?.expr;
        let free = self.push(Expr::Minus(all, holding), span)?.expr;
        if dispatch.tags.is_empty() {
            return Ok(Expr::Sequence([free].into()));
        }
        let mut arms = Vec::with_capacity(dispatch.tags.len());
        for (tag, rule, place) in &dispatch.tags {
            let before = self.text_before(tag, &texts, (all, free), *place)?;
            let marker = self.push(Expr::Marker(tag.as_str().into()), *place)?.expr;
            let rule = self.push(Expr::Rule(*rule), *place)?.expr;
            arms.push(self.push(Expr::Sequence([before, marker, rule].into()), *place)?.expr);
        }
        let arms = self.push(Expr::Choice(arms.into()), span)?.expr;
        if !dispatch.is_loop {
            return Ok(Expr::Choice([arms, free].into()));
        }
        let arms = self.push(Expr::Repeat { body: arms, min: 0, max: None }, span)?.expr;
        Ok(Expr::Sequence([arms, free].into()))
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

    fn text(&mut self, text: &str, span: Span) -> Result<ExprId, SyntaxError> {
        Ok(self.push(Expr::Literal(text.as_bytes().into()), span)?.expr)
    }

    /// Returns the free text before a tag, given all text and the text without tags and excluded texts.
    fn text_before(
        &mut self,
        tag: &str,
        texts: &[&str],
        (all, free): (ExprId, ExprId),
        span: Span,
    ) -> Result<ExprId, SyntaxError> {
        // A text inside of the tag ends before it.
        if texts.iter().any(|text| tag.find(text).is_some_and(|at| at + text.len() < tag.len())) {
            return Ok(self.push(Expr::Choice([].into()), span)?.expr);
        }
        let mut rests = Vec::new();
        for text in texts {
            // What is left of `text` where it ends with a proper beginning of the tag.
            let ends = ends_that_begin(text, tag);
            if !ends.is_empty() {
                rests.push(beginnings(text, &ends, &mut |expr| Ok(self.push(expr, span)?.expr))?);
            }
        }
        if rests.is_empty() {
            return Ok(free);
        }
        let rests = self.push(Expr::Choice(rests.into()), span)?.expr;
        let ending = self.push(Expr::Sequence([all, rests].into()), span)?.expr;
        Ok(self.push(Expr::Minus(free, ending), span)?.expr)
    }
}

//! What a grammar says beside its language: names for parts of the text, and options without effect.

use crate::frontend::check::shorten;
use crate::grammar::{ExprId, RuleId, Warning, WarningKind};
use crate::util::Span;

/// A part of the text that a grammar names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capture {
    /// The name of the capture.
    pub name: String,
    /// The name of the rule whose text it is.
    pub rule: String,
    /// Whether it is the marker of `suffix` or `stop`, and not the text of the rule.
    pub is_marker: bool,
}

/// Returns the warning that an option has no effect.
pub(super) fn without_effect(rule: &str, option: &str, span: Span) -> Warning {
    let detail = format!("option `{}` has no effect on the language", shorten(option));
    Warning::of_source(WarningKind::WithoutEffect, rule, span, detail)
}

/// A lexeme in a rule.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub expr: ExprId,
    pub span: Span,
    pub rule: RuleId,
    /// Whether it is what may stand between others.
    pub is_ignored: bool,
}

//! What the front ends for grammars check in common.

use super::SyntaxError;
use crate::grammar::analysis::{self, Obstacle, Regularity};
use crate::grammar::{Expr, ExprId, Grammar, RuleId};
use crate::limits::Limits;
use crate::util::Span;

/// Cuts what an author wrote to a length that fits into a message.
pub(super) fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Refuses a source that is too long.
pub(super) fn source_length(source: &str, limits: &Limits) -> Result<(), SyntaxError> {
    // Spans count to 4 GiB whatever the limit.
    let limit = limits.source_bytes_max.min(u32::MAX as usize);
    if source.len() <= limit {
        return Ok(());
    }
    let message = format!("the source has {} bytes, above the limit source_bytes_max = {limit}", source.len());
    // The whole is not kept; the line with the caret shows how it begins.
    Err(SyntaxError::new(&shorten(source), Span::default(), message).over_limit(source.len(), limit))
}

/// Returns the reason why an expression is not regular.
pub(super) fn irregularity(grammar: &Grammar, source: &str, regular: &Regularity, operand: ExprId) -> String {
    match regular.obstacle(operand) {
        Obstacle::Cycle(rules) => format!("rule `{}` is recursive", shorten(&grammar.rule(rules[0]).name)),
        Obstacle::Expr(id) => {
            let kind = match grammar.expr(id) {
                Expr::Schema(_) => "a JSON Schema",
                Expr::AtMostTokens { .. } => "a text with a bound on its tokens",
                _ => "a control token",
            };
            match grammar.span(id) {
                Some(span) => format!("`{}` is {kind}", shorten(&source[span.start as usize..span.end as usize])),
                None => format!("it holds {kind}"),
            }
        }
    }
}

/// Refuses reachable rules that are not productive.
pub(super) fn rules_finish(grammar: &Grammar, source: &str) -> Result<(), SyntaxError> {
    let productivity = analysis::Productivity::new(grammar);
    let reachable = analysis::reachable_rules(grammar);
    let stuck = |rule: RuleId| reachable[rule.index()] && !productivity.is_productive(grammar.rule(rule).body);
    let Some(rule) = (0..grammar.rules().len()).map(RuleId::new).find(|&rule| stuck(rule)) else { return Ok(()) };
    Err(match productivity.obstacle(rule) {
        Obstacle::Cycle(rules) => {
            let span = grammar.rule(rules[0]).span.unwrap_or_default();
            let name = shorten(&grammar.rule(rules[0]).name);
            let message = format!("rule `{name}` can never finish: {}", analysis::describe_cycle(grammar, &rules));
            SyntaxError::new(source, span, message).with_hint(format!("give it an alternative without `{name}`"))
        }
        Obstacle::Expr(id) => {
            let name = shorten(&grammar.rule(rule).name);
            let span = grammar.span(id).or(grammar.rule(rule).span).unwrap_or_default();
            SyntaxError::new(source, span, format!("rule `{name}` can never finish: nothing matches this"))
        }
    })
}

//! Estimates of how many states expressions have, to decide whether repetitions are unrolled.

use crate::grammar::{Expr, Grammar};
use crate::regular::{CharSet, Node, Regular};

/// Most states of an unrolled repetition; larger ones become counters.
pub(super) const UNROLLED_STATES_MAX: u64 = 32;

/// Returns by expression an upper estimate of its states.
pub(super) fn grammar_sizes(grammar: &Grammar) -> Vec<u64> {
    let mut sizes: Vec<u64> = Vec::with_capacity(grammar.exprs().len());
    for expr in grammar.exprs() {
        let size = match expr {
            Expr::Empty | Expr::Control(_) | Expr::TokenExcept(_) | Expr::Schema(_) | Expr::Rule(_) => 1,
            Expr::Marker(text) => text.len() as u64,
            Expr::Literal(bytes) => bytes.len() as u64,
            Expr::LiteralNoCase(text) => text.len() as u64 * 2,
            Expr::Class(set) => class_size(set),
            Expr::Regex(regex) => regex.regular.root().map_or(0, |root| regular_sizes(&regex.regular)[root.index()]),
            Expr::Repeat { body, min, max } => repeat_size(sizes[body.index()], *min, *max),
            Expr::AtMostTokens { .. } => 1,
            // The size of an automaton is not known beforehand; it is rarely small.
            Expr::And(..) | Expr::Minus(..) | Expr::Not(_) => UNROLLED_STATES_MAX,
            Expr::Sequence(_) | Expr::Choice(_) => {
                let mut sum = 0u64;
                expr.for_each_operand(|id| sum = sum.saturating_add(sizes[id.index()]));
                sum
            }
        };
        sizes.push(size);
    }
    sizes
}

/// As [`grammar_sizes`], of the nodes of a regular expression.
pub(super) fn regular_sizes(regular: &Regular) -> Vec<u64> {
    let mut sizes: Vec<u64> = Vec::with_capacity(regular.nodes().len());
    for node in regular.nodes() {
        let size = match node {
            Node::Empty => 1,
            Node::Bytes(bytes) => bytes.len() as u64,
            Node::Class(set) => class_size(set),
            Node::Concat(parts) | Node::Union(parts) => {
                parts.iter().fold(0u64, |sum, part| sum.saturating_add(sizes[part.index()]))
            }
            Node::Repeat { body, min, max } => repeat_size(sizes[body.index()], *min, *max),
            Node::And(..) | Node::Not(_) | Node::Substring(_) => UNROLLED_STATES_MAX,
        };
        sizes.push(size);
    }
    sizes
}

fn class_size(set: &CharSet) -> u64 {
    1 + set.ranges().iter().filter(|&&(_, high)| !high.is_ascii()).count() as u64 * 3
}

fn repeat_size(body: u64, min: u32, max: Option<u32>) -> u64 {
    let unrolled = body.max(1).saturating_mul(u64::from(max.unwrap_or(min).max(1)));
    if unrolled > UNROLLED_STATES_MAX { body.saturating_add(1) } else { unrolled }
}

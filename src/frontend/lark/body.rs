//! Bodies: from tokens to an expression.
//!
//! A body is parsed from left to right with one [`Level`] per open group on an explicit stack. The syntax:
//!
//! ```text
//! choice      = alternative ("|" alternative)*
//! alternative = sequence ("&" sequence)* ("->" name)? ("%if" condition)?
//! sequence    = element*
//! element     = "~"* atom ("*" | "+" | "?" | "~" count | "{" count "}")?
//! atom        = "(" choice ")" | "[" choice "]" | string (".." string)? | regex | special | block | name ("::" number)?
//! ```
//!
//! Alternatives whose condition does not hold are left out before they are lowered: what they refer to may not end.

use super::lower::{Context, Lowering};
use super::param::Evaluator;
use super::scan::{Token, TokenKind, Tokens};
use crate::frontend::check::shorten;
use crate::frontend::progress::{BYTES_PER_CHECK, Progress};
use crate::frontend::{ReadError, Spend, SyntaxError};
use crate::grammar::{Expr, ExprId};
use crate::util::Span;
use core::ops::Range;
use hashbrown::HashMap;

/// An expression, its span, and whether it is a repetition, which can't be repeated.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub expr: ExprId,
    pub span: Span,
    pub is_repeated: bool,
}

/// The state of parsing a group, or a whole body.
struct Level {
    /// Where the group begins.
    start: usize,
    is_optional: bool,
    /// Alternatives that have ended.
    alternatives: Vec<ExprId>,
    /// Operands of `&` so far in this alternative, and where the last `&` is.
    joined: Option<(ExprId, Span)>,
    /// Finished elements of the sequence.
    sequence: Vec<ExprId>,
    /// Pending `~`.
    complements: Vec<Span>,
    /// The element to which a suffix would apply.
    current: Option<Part>,
    /// Whether the condition of this alternative does not hold.
    is_dropped: bool,
}

impl Level {
    fn new(start: usize, is_optional: bool) -> Self {
        Level {
            start,
            is_optional,
            alternatives: Vec::new(),
            joined: None,
            sequence: Vec::new(),
            complements: Vec::new(),
            current: None,
            is_dropped: false,
        }
    }
}

/// What a body is parsed with.
pub(super) struct Parser<'s> {
    pub tokens: Tokens<'s>,
    pub context: Context,
    /// Where the body ends.
    pub end: usize,
    /// Where alternatives begin and end whose condition does not hold.
    dropped: HashMap<usize, usize>,
}

impl<'s> Lowering<'s> {
    /// Lowers a body. Reports the bytes read to `spend`, whose error ends it.
    pub(super) fn body(
        &mut self,
        context: Context,
        range: Range<usize>,
        spend: Spend<'_>,
    ) -> Result<ExprId, ReadError> {
        self.count_bytes(context, &range)?;
        let dropped = self.dropped(context, range.clone(), spend)?;
        let tokens = Tokens::new(self.source, range.clone());
        let mut parser = Parser { tokens, context, end: range.end, dropped };
        let mut levels = vec![Level::new(range.start, false)];
        self.drop_alternative(&mut parser, &mut levels[0]);
        let mut seen = range.start;
        while let Some(token) = parser.tokens.next() {
            let token = token?;
            if token.range.end.saturating_sub(seen) >= BYTES_PER_CHECK {
                spend(token.range.end - seen)?;
                seen = token.range.end;
            }
            let level = levels.last_mut().expect("the body's level stays until the end");
            match token.kind {
                TokenKind::Newline => {}
                TokenKind::Open => {
                    self.end_part(level);
                    if let Some(&mark) = level.complements.last().filter(|_| !context.is_lexeme) {
                        let message = "the complement of a group is for terminals, whose names begin with a capital";
                        return Err(SyntaxError::new(self.source, mark, message).into());
                    }
                    if levels.len() > self.limits.nesting_max {
                        return Err(self.too_deep(&token).into());
                    }
                    let mut inner = Level::new(token.range.start, &self.source[token.range.clone()] == "[");
                    self.drop_alternative(&mut parser, &mut inner);
                    levels.push(inner);
                }
                TokenKind::Close => {
                    let expr = self.end_level(level, token.range.end)?;
                    let part = Part { expr, span: Span::new(level.start, token.range.end), is_repeated: false };
                    levels.pop();
                    let level = levels.last_mut().expect("the first pass has seen that groups are opened");
                    self.set_atom(level, part)?;
                }
                _ => self.token(level, &token, &mut parser, spend)?,
            }
        }
        // A rule with a parameter is read again for each number.
        spend(1 + range.end.saturating_sub(seen))?;
        let level = levels.last_mut().expect("the body's level stays until the end");
        Ok(self.end_level(level, range.end)?)
    }

    /// Counts the bytes that are read for rules with parameters: each of their bodies is read many times.
    fn count_bytes(&mut self, context: Context, range: &Range<usize>) -> Result<(), SyntaxError> {
        if context.number.is_none() {
            return Ok(());
        }
        self.n_bytes_of_instances += range.len();
        let (given, limit) = (self.n_bytes_of_instances, self.limits.source_bytes_max);
        if given <= limit {
            return Ok(());
        }
        let message =
            format!("rules with parameters have {given} bytes in all, above the limit source_bytes_max = {limit}");
        let span = Span::new(range.start, range.start);
        Err(SyntaxError::new(self.source, span, message).over_limit(given, limit))
    }

    pub(super) fn refuse(&self, token: &Token, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.source, token.range.clone().into(), message)
    }

    fn too_deep(&self, token: &Token) -> SyntaxError {
        let limit = self.limits.nesting_max;
        let error = self.refuse(token, format!("groups nest deeper than the limit nesting_max = {limit}"));
        error.over_limit(limit + 1, limit)
    }

    fn token(
        &mut self,
        level: &mut Level,
        token: &Token,
        parser: &mut Parser<'s>,
        spend: Spend<'_>,
    ) -> Result<(), ReadError> {
        let text = &self.source[token.range.clone()];
        match (token.kind, text) {
            (TokenKind::Mark, "|") => {
                self.end_alternative(level)?;
                self.drop_alternative(parser, level);
                Ok(())
            }
            (TokenKind::Mark, "&") => Ok(self.end_operand(level, token, parser.context)?),
            (TokenKind::Mark, "~") if !self.is_count(level, parser) => {
                self.end_part(level);
                self.check_n_exprs(level.complements.len(), token.range.clone().into())?;
                level.complements.push(token.range.clone().into());
                Ok(())
            }
            (TokenKind::Mark, "~" | "*" | "+" | "?" | "{") => Ok(self.repetition(level, token, text, parser)?),
            (TokenKind::Mark, "->") => {
                let next = parser.tokens.next().transpose()?;
                if next.as_ref().is_none_or(|next| next.kind != TokenKind::Name) {
                    return Err(self.refuse(token, "expected a name after `->`").into());
                }
                Ok(self.check_alternative_ends(parser)?)
            }
            // It was evaluated when the alternative began.
            (TokenKind::Directive, "%if") => {
                let mut evaluator = Evaluator::new(self.source, token.range.end, parser.end, parser.context.number);
                evaluator.condition()?;
                parser.tokens.move_to(evaluator.at);
                Ok(self.check_alternative_ends(parser)?)
            }
            _ => {
                self.end_part(level);
                let context = parser.context;
                // The complement of a lexeme is one.
                let is_complement = !level.complements.is_empty();
                parser.context.is_lexeme |= is_complement;
                let part = self.atom(token, parser, spend)?;
                parser.context = context;
                self.set_atom(level, part)?;
                if is_complement && !context.is_lexeme {
                    let part = level.current.as_mut().expect("it was set");
                    part.expr = self.lexeme(part.expr, context.scope, part.span)?;
                }
                Ok(())
            }
        }
    }

    /// Returns whether a `~` begins a count.
    fn is_count(&self, level: &Level, parser: &Parser<'s>) -> bool {
        level.current.is_some() && parser.tokens.peek().is_some_and(|next| next.kind == TokenKind::Number)
    }

    pub(super) fn only_in_terminals(&self, token: &Token) -> SyntaxError {
        let text = &self.source[token.range.clone()];
        self.refuse(token, format!("`{text}` is for terminals, whose names begin with a capital"))
    }

    /// Checks that nothing but the end of an alternative follows.
    fn check_alternative_ends(&self, parser: &Parser<'s>) -> Result<(), SyntaxError> {
        match parser.tokens.peek() {
            Some(next) if !matches!(next.kind, TokenKind::Close | TokenKind::Newline) => {
                match &self.source[next.range.clone()] {
                    "|" | "%if" => Ok(()),
                    _ => Err(self.refuse(&next, "expected the end of the alternative")),
                }
            }
            _ => Ok(()),
        }
    }

    /// Skips the alternative that begins here if its condition does not hold.
    fn drop_alternative(&self, parser: &mut Parser<'s>, level: &mut Level) {
        let end = parser.dropped.get(&parser.tokens.at());
        level.is_dropped = end.is_some();
        if let Some(&end) = end {
            parser.tokens.move_to(end);
        }
    }

    /// Returns where the alternatives begin and end whose condition does not hold. Linear in the text.
    fn dropped(
        &self,
        context: Context,
        range: Range<usize>,
        spend: Spend<'_>,
    ) -> Result<HashMap<usize, usize>, ReadError> {
        let mut dropped = HashMap::new();
        if !self.source[range.clone()].contains("%if") {
            return Ok(dropped);
        }
        let mut tokens = Tokens::new(self.source, range.clone());
        // The alternatives that are open: where each begins, and whether it is dropped.
        let mut open = vec![(range.start, false)];
        let mut end = range.start;
        let mut progress = Progress::new(range.start, spend);
        loop {
            progress.reach(end)?;
            let token = tokens.next().transpose()?;
            let text = token.as_ref().map_or("", |token| &self.source[token.range.clone()]);
            let kind = token.as_ref().map(|token| token.kind);
            if kind.is_none_or(|kind| kind == TokenKind::Close) || text == "|" {
                let (start, is_dropped) = open.pop().expect("the first pass has seen that groups are opened");
                if is_dropped {
                    dropped.insert(start, end);
                }
            }
            let Some(token) = token else { return Ok(dropped) };
            end = token.range.end;
            match token.kind {
                TokenKind::Open => open.push((end, false)),
                TokenKind::Mark if text == "|" => open.push((end, false)),
                TokenKind::Directive if text == "%if" => {
                    let mut evaluator = Evaluator::new(self.source, end, range.end, context.number);
                    let holds = evaluator.condition()?;
                    end = evaluator.at;
                    tokens.move_to(end);
                    let (_, is_dropped) = open.last_mut().expect("the body's alternative is open");
                    *is_dropped |= !holds;
                }
                _ => {}
            }
        }
    }

    /// Makes an atom the current element.
    fn set_atom(&mut self, level: &mut Level, mut part: Part) -> Result<(), SyntaxError> {
        while let Some(mark) = level.complements.pop() {
            part.span = mark.join(part.span);
            part.expr = self.push(Expr::Not(part.expr), part.span)?;
        }
        level.current = Some(part);
        Ok(())
    }

    fn end_part(&mut self, level: &mut Level) {
        level.sequence.extend(level.current.take().map(|part| part.expr));
    }

    fn repetition(
        &mut self,
        level: &mut Level,
        token: &Token,
        mark: &str,
        parser: &mut Parser<'s>,
    ) -> Result<(), SyntaxError> {
        let Some(part) = level.current.filter(|_| level.complements.is_empty()) else {
            // `?name` in a body means the same as `name`.
            let is_prefix = mark == "?"
                && parser
                    .tokens
                    .peek()
                    .is_some_and(|next| next.kind == TokenKind::Name && next.range.start == token.range.end);
            return if is_prefix {
                Ok(())
            } else {
                Err(self.refuse(token, format!("nothing to repeat before `{mark}`")))
            };
        };
        if part.is_repeated {
            return Err(self.refuse(token, format!("`{mark}` after a repetition")).with_hint(
                "a repetition of a repetition needs parentheses; lazy ones are the option `lazy` of a rule",
            ));
        }
        let (min, max) = match mark {
            "*" => (0, None),
            "+" => (1, None),
            "?" => (0, Some(1)),
            _ => self.count(token, parser)?,
        };
        let span = Span::new(part.span.start as usize, token.range.end);
        let expr = self.push(Expr::Repeat { body: part.expr, min, max }, span)?;
        level.current = Some(Part { expr, span, is_repeated: true });
        Ok(())
    }

    /// Reads what follows `~` or `{`: the bounds of a count.
    fn count(&self, mark: &Token, parser: &mut Parser<'s>) -> Result<(u32, Option<u32>), SyntaxError> {
        let is_braced = &self.source[mark.range.clone()] == "{";
        let malformed = |token: Option<&Token>| {
            let error = self.refuse(token.unwrap_or(mark), "malformed count");
            error.with_hint("counts are written `~2`, `~2..5`, `{2}`, `{2,}`, `{,5}` or `{2,5}`")
        };
        let (mut low, mut high, mut is_range) = (None, None, false);
        let separator = if is_braced { "," } else { ".." };
        loop {
            let before = parser.tokens.clone();
            let token = parser.tokens.next().transpose()?;
            let text = token.as_ref().map_or("", |token| &self.source[token.range.clone()]);
            match &token {
                Some(number) if number.kind == TokenKind::Number && !is_range && low.is_none() => {
                    low = Some(self.bound(number)?);
                }
                Some(number) if number.kind == TokenKind::Number && is_range && high.is_none() => {
                    high = Some(self.bound(number)?);
                }
                Some(_) if text == separator && !is_range && (is_braced || low.is_some()) => is_range = true,
                Some(_) if is_braced && text == "}" => break,
                other if is_braced => return Err(malformed(other.as_ref())),
                _ => {
                    parser.tokens = before;
                    break;
                }
            }
        }
        let end = if is_range { high } else { low };
        match (low, end) {
            (None, None) if !is_range => Err(malformed(None)),
            (_, None) if !is_braced => Err(malformed(None)),
            (Some(low), Some(high)) if low > high => {
                Err(self.refuse(mark, format!("the count ends before it begins: {low} is more than {high}")))
            }
            (low, high) => Ok((low.unwrap_or(0), high)),
        }
    }

    fn bound(&self, number: &Token) -> Result<u32, SyntaxError> {
        let digits = &self.source[number.range.clone()];
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.refuse(number, format!("malformed count `{}`", shorten(digits))));
        }
        let limit = self.limits.bound_max();
        match digits.parse::<u32>() {
            Ok(value) if value <= limit => Ok(value),
            _ => {
                let message = format!("the count {} is above the limit repeat_max = {limit}", shorten(digits));
                let given = digits.parse().unwrap_or(usize::MAX);
                Err(self.refuse(number, message).over_limit(given, limit as usize))
            }
        }
    }

    /// Finishes the current sequence and joins it with the operands of `&` before it.
    fn end_sequence(&mut self, level: &mut Level) -> Result<ExprId, SyntaxError> {
        self.end_part(level);
        if let Some(&mark) = level.complements.last() {
            return Err(SyntaxError::new(self.source, mark, "expected an expression after `~`"));
        }
        let is_empty = level.sequence.is_empty();
        let expr = match *core::mem::take(&mut level.sequence) {
            [] => self.push(Expr::Empty, Span::default())?,
            [expr] => expr,
            ref parts => self.push(Expr::Sequence(parts.into()), Span::default())?,
        };
        match level.joined.take() {
            None => Ok(expr),
            Some((_, mark)) if is_empty => Err(SyntaxError::new(self.source, mark, "expected an expression after `&`")),
            Some((left, _)) => self.push(Expr::And(left, expr), Span::default()),
        }
    }

    fn end_operand(&mut self, level: &mut Level, mark: &Token, context: Context) -> Result<(), SyntaxError> {
        if !context.is_lexeme {
            return Err(self.only_in_terminals(mark));
        }
        if level.sequence.is_empty() && level.current.is_none() {
            return Err(self.refuse(mark, "expected an expression before `&`"));
        }
        let left = self.end_sequence(level)?;
        level.joined = Some((left, mark.range.clone().into()));
        Ok(())
    }

    fn end_alternative(&mut self, level: &mut Level) -> Result<(), SyntaxError> {
        if !level.is_dropped {
            let alternative = self.end_sequence(level)?;
            level.alternatives.push(alternative);
        }
        Ok(())
    }

    /// Finishes a group or the body.
    fn end_level(&mut self, level: &mut Level, end: usize) -> Result<ExprId, SyntaxError> {
        self.end_alternative(level)?;
        let span = Span::new(level.start, end);
        let body = match *level.alternatives {
            [only] => only,
            ref alternatives => self.push(Expr::Choice(alternatives.into()), span)?,
        };
        if level.is_optional {
            return self.push(Expr::Repeat { body, min: 0, max: Some(1) }, span);
        }
        Ok(body)
    }
}

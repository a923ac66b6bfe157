//! Lowering: from tokens to the grammar.
//!
//! A rule body is parsed from left to right, token by token, with one [`Level`] per open group on an explicit stack, so that a sequence of
//! a million operands is a loop and a deep group is a stack entry. Only the grammar is built: no syntax tree, which would take
//! several times as much memory. The syntax:
//!
//! ```text
//! choice      = alternative ("|" alternative)*
//! alternative = (sequence (("&" | "-") sequence)*)?
//! sequence    = element+
//! element     = "~"* atom ("*" | "+" | "?" | count)*
//! atom        = "(" choice ")" | literal "i"? | class | "." | regex flags? | control | reference | "Token(" ref ("," ref)* ")"
//! ```
//!
//! Flags follow without a blank, and so does the parenthesis of `Token(`.

use super::scan::{BYTES_PER_CHECK, RuleText, Token, TokenKind, Tokens};
use super::{hint, lexeme, operand};
use crate::frontend::{SyntaxError, regex};
use crate::grammar::{ControlRef, Expr, ExprId, Grammar, GrammarBuilder, Regex, RuleId};
use crate::limits::Limits;
use crate::regular::{CharSet, Regular};
use crate::util::Span;
use core::ops::Range;
use hashbrown::HashMap;
use std::sync::Arc;

/// Bytes of other text that take as long to parse as a short regex.
const REGEX_BYTES: usize = 1 << 10;

/// Lowers rule bodies into a builder that has all names already.
pub(super) struct Lowering<'s> {
    source: &'s str,
    limits: &'s Limits,
    rules: &'s [RuleText],
    pub builder: GrammarBuilder,
    /// Grammars given beside the source, by name.
    grammars: &'s [(&'s str, &'s Grammar)],
    /// The root rules of those that were referred to.
    roots: HashMap<&'s str, RuleId>,
    /// Regexes parsed before: files repeat them.
    regexes: HashMap<&'s str, Regex>,
    /// Number of nodes of all these, which count as expressions.
    n_regex_nodes: usize,
}

/// An expression and its span.
#[derive(Clone, Copy)]
struct Part {
    expr: ExprId,
    span: Span,
}

/// The state of parsing a group, or a whole body.
struct Level {
    /// Where the group begins.
    start: usize,
    /// Alternatives that have ended.
    alternatives: Vec<Part>,
    /// Operands joined so far in this alternative, and the operator after them.
    joined: Option<(Part, Join)>,
    /// Finished elements of the sequence.
    sequence: Vec<Part>,
    /// The spans of the pending `~` of the current element.
    complements: Vec<Span>,
    /// The element to which a suffix would apply.
    current: Option<Part>,
}

/// Why parsing a regular expression stopped: its own error, or that of `spend`.
enum Stop<E> {
    Syntax(SyntaxError),
    Interrupted(E),
}

impl<E> From<SyntaxError> for Stop<E> {
    fn from(error: SyntaxError) -> Self {
        Stop::Syntax(error)
    }
}

#[derive(Clone, Copy)]
enum Join {
    And,
    Minus,
}

impl<'s> Lowering<'s> {
    pub(super) fn new(
        source: &'s str,
        rules: &'s [RuleText],
        grammars: &'s [(&'s str, &'s Grammar)],
        limits: &'s Limits,
    ) -> Self {
        let (builder, roots, regexes) = (GrammarBuilder::new(), HashMap::new(), HashMap::new());
        Lowering { source, limits, rules, grammars, roots, builder, regexes, n_regex_nodes: 0 }
    }

    /// Lowers the body of a rule. Reports the bytes read to `spend`, whose error ends it.
    pub(super) fn body<E: From<SyntaxError>>(
        &mut self,
        range: Range<usize>,
        spend: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<ExprId, E> {
        let mut tokens = Tokens::new(self.source, range.clone());
        let mut levels = vec![Level::new(range.start)];
        let mut seen = range.start;
        let mut n_regexes = self.regexes.len();
        while let Some(token) = tokens.next() {
            let token = token?;
            let n_bytes = token.range.end - seen + REGEX_BYTES * (self.regexes.len() - n_regexes);
            if n_bytes >= BYTES_PER_CHECK {
                spend(n_bytes)?;
                (seen, n_regexes) = (token.range.end, self.regexes.len());
            }
            let is_in_group = levels.len() > 1;
            let level = levels.last_mut().expect("the body's level stays until the end");
            match token.kind {
                TokenKind::Open => {
                    self.end_part(level)?;
                    levels.push(Level::new(token.range.start));
                }
                TokenKind::Close if is_in_group => {
                    let part = self.end_level(level, &token.range, range.clone())?;
                    levels.pop();
                    levels.last_mut().expect("the group is inside a level").current = Some(part);
                }
                _ => self.token(level, token, &mut tokens, &range, spend)?,
            }
        }
        spend(range.end - seen)?;
        let level = levels.last_mut().expect("the scan has seen that all groups are closed");
        Ok(self.end_level(level, &(range.end..range.end), range)?.expr)
    }

    fn token<E: From<SyntaxError>>(
        &mut self,
        level: &mut Level,
        token: Token,
        tokens: &mut Tokens<'s>,
        body: &Range<usize>,
        spend: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let unexpected = || hint::explain_stop(self.source, body.clone(), token.range.start);
        let mut range = token.range.clone();
        let span = Span::from(range.clone());
        let mark = if token.kind == TokenKind::Mark { self.source.as_bytes()[range.start] } else { 0 };
        let expr = match (token.kind, mark) {
            (TokenKind::Mark, b'~') => {
                self.end_part(level)?;
                self.check_n_exprs(level.complements.len(), span)?;
                level.complements.push(span);
                return Ok(());
            }
            (TokenKind::Mark, b'|') if level.wants_operand() => return Err(unexpected().into()),
            (TokenKind::Mark, b'|') => return Ok(self.end_alternative(level, span)?),
            (TokenKind::Mark, b'&' | b'-') if level.wants_operand() || !level.has_operand() => {
                return Err(unexpected().into());
            }
            (TokenKind::Mark, b'&') => return Ok(self.end_operand(level, Join::And)?),
            (TokenKind::Mark, b'-') => return Ok(self.end_operand(level, Join::Minus)?),
            (TokenKind::Mark, b'*' | b'+' | b'?') | (TokenKind::Count, _) => {
                let body = level.current.ok_or_else(unexpected)?;
                let (min, max) = match mark {
                    b'*' => (0, None),
                    b'+' => (1, None),
                    b'?' => (0, Some(1)),
                    _ => lexeme::count(self.source, range, self.limits)?,
                };
                let expr = Expr::Repeat { body: body.expr, min, max };
                level.current = Some(self.push(expr, body.span.join(span))?);
                return Ok(());
            }
            (TokenKind::Mark, b'.') => Expr::Class(CharSet::all()),
            (TokenKind::Literal, _) => {
                range.end = tokens.skip_name(|name| name == "i").unwrap_or(range.end);
                self.literal(range.clone())?
            }
            (TokenKind::Regex, _) => {
                range.end = tokens.skip_name(|_| true).unwrap_or(range.end);
                Expr::Regex(self.regex(range.clone(), spend)?)
            }
            (TokenKind::Class, _) => Expr::Class(lexeme::class(self.source, range.clone(), spend)?),
            (TokenKind::Control, _) => self.control(range.clone())?,
            (TokenKind::Schema, _) => Expr::Schema(operand::schema(self.source, range.clone())?),
            (TokenKind::Grammar, _) => Expr::Rule(self.grammar(range.clone())?),
            (TokenKind::Name, _) => match self.token_macro(&token, tokens, body)? {
                Some((expr, end)) => {
                    range.end = end;
                    expr
                }
                None => Expr::Rule(self.rule(range.clone())?),
            },
            _ => return Err(unexpected().into()),
        };
        self.end_part(level)?;
        level.current = Some(self.push(expr, range.into())?);
        Ok(())
    }

    /// Finishes the current element, which no suffix can follow any more.
    fn end_part(&mut self, level: &mut Level) -> Result<(), SyntaxError> {
        let Some(mut part) = level.current.take() else { return Ok(()) };
        while let Some(mark) = level.complements.pop() {
            part = self.push(Expr::Not(part.expr), mark.join(part.span))?;
        }
        level.sequence.push(part);
        Ok(())
    }

    /// Finishes the current sequence and joins it with the operands before it.
    fn end_sequence(&mut self, level: &mut Level) -> Result<Option<Part>, SyntaxError> {
        self.end_part(level)?;
        let part = match *level.sequence {
            [] => return Ok(None),
            [part] => part,
            [first, .., last] => {
                let parts = level.sequence.iter().map(|part| part.expr).collect();
                self.push(Expr::Sequence(parts), first.span.join(last.span))?
            }
        };
        level.sequence.clear();
        Ok(Some(match level.joined.take() {
            None => part,
            Some((left, join)) => {
                let expr = match join {
                    Join::And => Expr::And(left.expr, part.expr),
                    Join::Minus => Expr::Minus(left.expr, part.expr),
                };
                self.push(expr, left.span.join(part.span))?
            }
        }))
    }

    fn end_operand(&mut self, level: &mut Level, join: Join) -> Result<(), SyntaxError> {
        let left = self.end_sequence(level)?.expect("the parser wants operands on both sides");
        level.joined = Some((left, join));
        Ok(())
    }

    fn end_alternative(&mut self, level: &mut Level, mark: Span) -> Result<(), SyntaxError> {
        let alternative = match self.end_sequence(level)? {
            Some(part) => part,
            None => self.push(Expr::Empty, mark)?,
        };
        level.alternatives.push(alternative);
        Ok(())
    }

    /// Finishes a group or the body at the token that closes it.
    fn end_level(&mut self, level: &mut Level, close: &Range<usize>, body: Range<usize>) -> Result<Part, SyntaxError> {
        if level.wants_operand() {
            return Err(hint::explain_stop(self.source, body, close.start));
        }
        let span = Span::new(level.start, close.end);
        self.end_alternative(level, span)?;
        match *level.alternatives {
            [only] => Ok(only),
            _ => {
                let parts = level.alternatives.iter().map(|part| part.expr).collect();
                self.push(Expr::Choice(parts), span)
            }
        }
    }

    fn literal(&self, range: Range<usize>) -> Result<Expr, SyntaxError> {
        let is_no_case = self.source[range.clone()].ends_with('i');
        if is_no_case {
            self.check_flag_is_no_rule(range.end - 1..range.end, "literal")?;
        }
        let quote_end = range.end - usize::from(is_no_case);
        let text = lexeme::text(self.source, range.start + 1..quote_end - 1)?;
        Ok(match (text.is_empty(), is_no_case) {
            (true, _) => Expr::Empty,
            (false, true) => Expr::LiteralNoCase(text.into()),
            (false, false) => Expr::Literal(text.into_bytes().into()),
        })
    }

    fn regex<E: From<SyntaxError>>(
        &mut self,
        range: Range<usize>,
        spend: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Regex, E> {
        let written = &self.source[range.clone()];
        if let Some(regex) = self.regexes.get(written) {
            return Ok(regex.clone());
        }
        let close = written.rfind('/').expect("flags hold no slash");
        let (inside, flags) = (&written[1..close], &written[close + 1..]);
        let flags_range = range.start + close + 1..range.end;
        if let Some(at) = flags.find(|flag| !matches!(flag, 'c' | 'i' | 's' | 'x')) {
            let start = flags_range.start + at;
            let message = format!("unknown regex flag `{}`", &flags[at..=at]);
            let error = SyntaxError::new(self.source, Span::new(start, start + 1), message);
            return Err(error
                .with_hint("flags are `c`, `i`, `s` and `x`; a rule after a regex needs a blank before it")
                .into());
        }
        if !flags.is_empty() {
            self.check_flag_is_no_rule(flags_range, "regex")?;
        }
        let pattern = lexeme::pattern(inside);
        let ordinary = flags.replace('c', "");
        let regular =
            regex::parse_within(&pattern, &ordinary, self.limits, &mut |n| spend(n).map_err(Stop::Interrupted));
        let regular: Regular = regular.map_err(|stop| match stop {
            Stop::Interrupted(error) => error,
            Stop::Syntax(error) => {
                let place = |offset: u32| range.start + 1 + lexeme::offset_in_written(inside, offset as usize);
                let span = Span::new(place(error.span().start), place(error.span().end));
                error.moved(self.source, span).into()
            }
        })?;
        self.n_regex_nodes += regular.nodes().len();
        self.check_n_exprs(0, range.into())?;
        let regex = Regex { pattern: pattern.into(), flags: flags.into(), regular: Arc::new(regular) };
        self.regexes.insert(written, regex.clone());
        Ok(regex)
    }

    /// Refuses `"abc"i` if there is a rule `i`, which makes it ambiguous to a reader.
    fn check_flag_is_no_rule(&self, flags: Range<usize>, after: &str) -> Result<(), SyntaxError> {
        let written = &self.source[flags.clone()];
        if self.builder.rule_named(written).is_none() {
            return Ok(());
        }
        let message = format!("`{written}` right after a {after} is a flag, but there is a rule of that name");
        Err(SyntaxError::new(self.source, flags.into(), message).with_hint("to mean the rule, put a blank before it"))
    }

    fn control(&self, range: Range<usize>) -> Result<Expr, SyntaxError> {
        let written = &self.source[range.clone()];
        let id = written.strip_prefix("<[").and_then(|rest| rest.strip_suffix("]>"));
        Ok(Expr::Control(match id {
            Some(digits) => ControlRef::Id(self.token_id(digits, range)?),
            None => ControlRef::Name(written.into()),
        }))
    }

    /// Lowers `Token(16)`, `Token("<name>")` or a list of both, if `name` begins one; returns also its end.
    fn token_macro(
        &mut self,
        name: &Token,
        tokens: &mut Tokens<'s>,
        body: &Range<usize>,
    ) -> Result<Option<(Expr, usize)>, SyntaxError> {
        if let Some(marker) = self.marker(name, tokens)? {
            return Ok(Some(marker));
        }
        if &self.source[name.range.clone()] != "Token" || !self.source[name.range.end..].starts_with('(') {
            return Ok(None);
        }
        let mut ahead = tokens.clone();
        let mut refs: Vec<Token> = Vec::new();
        // A parenthesis or a comma precedes each reference, and a parenthesis follows the last one.
        let mut before = ahead.next();
        let end = loop {
            let Some(Ok(found)) = before else { return Ok(None) };
            match (found.kind, ahead.next()) {
                (TokenKind::Close, _) if !refs.is_empty() => break found.range.end,
                (kind, Some(Ok(token)))
                    if matches!(token.kind, TokenKind::Number | TokenKind::Literal)
                        && (kind == TokenKind::Open && refs.is_empty() || &self.source[found.range.clone()] == ",") =>
                {
                    refs.push(token);
                }
                _ if refs.is_empty() || self.builder.rule_named("Token").is_some() => return Ok(None),
                _ => return Err(hint::explain_stop(self.source, body.clone(), found.range.start)),
            }
            before = ahead.next();
        };
        ahead.rewind(end);
        *tokens = ahead;
        let mut parts = Vec::with_capacity(refs.len());
        for Token { kind, range } in refs {
            let span = Span::from(range.clone());
            let control = if kind == TokenKind::Literal {
                let name = lexeme::text(self.source, range.start + 1..range.end - 1)?;
                if name.is_empty() {
                    return Err(SyntaxError::new(self.source, span, "a token has a name that is not empty"));
                }
                ControlRef::Name(name.into())
            } else {
                ControlRef::Id(self.token_id(&self.source[range.clone()], range)?)
            };
            parts.push((control, span));
        }
        if parts.len() == 1 {
            return Ok(Some((Expr::Control(parts.remove(0).0), end)));
        }
        let parts: Result<Box<[ExprId]>, SyntaxError> =
            parts.into_iter().map(|(control, span)| Ok(self.push(Expr::Control(control), span)?.expr)).collect();
        Ok(Some((Expr::Choice(parts?), end)))
    }

    /// Lowers `Marker("<name>")`, unless there is a rule of that name; returns also its end.
    fn marker(&self, name: &Token, tokens: &mut Tokens<'s>) -> Result<Option<(Expr, usize)>, SyntaxError> {
        let is_marker = &self.source[name.range.clone()] == "Marker" && self.builder.rule_named("Marker").is_none();
        let mut ahead = tokens.clone();
        let mut next = || ahead.next().and_then(Result::ok);
        let (Some(open), Some(text), Some(close)) = (next(), next(), next()) else { return Ok(None) };
        let kinds = (open.kind, text.kind, close.kind);
        if !is_marker || kinds != (TokenKind::Open, TokenKind::Literal, TokenKind::Close) {
            return Ok(None);
        }
        *tokens = ahead;
        let text = lexeme::text(self.source, text.range.start + 1..text.range.end - 1)?;
        Ok(Some((if text.is_empty() { Expr::Empty } else { Expr::Marker(text.into()) }, close.range.end)))
    }

    fn token_id(&self, digits: &str, range: Range<usize>) -> Result<u32, SyntaxError> {
        digits.parse().map_err(|_| SyntaxError::new(self.source, range.into(), "the id of a token is below 4294967296"))
    }

    fn rule(&self, range: Range<usize>) -> Result<RuleId, SyntaxError> {
        self.builder.rule_named(&self.source[range.clone()]).ok_or_else(|| {
            let names = self.rules.iter().map(|rule| &self.source[rule.name.clone()]);
            hint::undefined_rule(self.source, range, names)
        })
    }

    /// Returns the root rule of a grammar given beside the source, copied here at the first reference.
    fn grammar(&mut self, range: Range<usize>) -> Result<RuleId, SyntaxError> {
        let name = &self.source[range.start + 1..range.end];
        if let Some(&root) = self.roots.get(name) {
            return Ok(root);
        }
        let Some(&(_, grammar)) = self.grammars.iter().find(|(known, _)| *known == name) else {
            let error = SyntaxError::new(self.source, range.into(), format!("there is no grammar `{name}`"));
            return Err(match hint::closest_name(name, self.grammars.iter().map(|&(known, _)| known)) {
                Some(near) => error.with_hint(format!("did you mean `@{near}`?")),
                None => error.with_hint("grammars that `@` refers to are given beside the source, by name"),
            });
        };
        self.check_n_exprs(grammar.exprs().len(), range.into())?;
        let root = self.builder.add_grammar(grammar, &format!("{name}-"));
        self.roots.insert(name, root);
        Ok(root)
    }

    fn push(&mut self, expr: Expr, span: Span) -> Result<Part, SyntaxError> {
        self.check_n_exprs(0, span)?;
        Ok(Part { expr: self.builder.push_at(expr, Some(span)), span })
    }

    /// Checks the number of expressions, pending ones included.
    fn check_n_exprs(&self, n_waiting: usize, span: Span) -> Result<(), SyntaxError> {
        if self.builder.n_exprs() + self.n_regex_nodes + n_waiting < self.limits.n_exprs_max {
            return Ok(());
        }
        let message = format!("more expressions than the limit n_exprs_max = {}", self.limits.n_exprs_max);
        let (error, limit) = (SyntaxError::new(self.source, span, message), self.limits.n_exprs_max);
        Err(error.over_limit(limit.saturating_add(1), limit))
    }
}

impl Level {
    fn new(start: usize) -> Self {
        let (alternatives, sequence, complements) = (Vec::new(), Vec::new(), Vec::new());
        Level { start, alternatives, joined: None, sequence, complements, current: None }
    }

    /// Returns whether there is an operand after the last operator.
    fn has_operand(&self) -> bool {
        self.current.is_some() || !self.sequence.is_empty()
    }

    /// Returns whether the right operand of an operator is missing.
    fn wants_operand(&self) -> bool {
        let is_complement_open = self.current.is_none() && !self.complements.is_empty();
        is_complement_open || self.joined.is_some() && !self.has_operand()
    }
}

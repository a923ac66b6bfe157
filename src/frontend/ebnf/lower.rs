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
//! atom        = "(" choice ")" | literal "i"? | class | "." | regex flags? | control | reference | macro "(" arguments ")"
//! ```
//!
//! Flags follow without a blank, and so does the parenthesis of a macro. A body may end with a look-ahead `"(=" choice ")"`, which is read and
//! dropped.

use super::options::{RuleOptions, rule_options};
use super::scan::{PATTERN, RuleText, Token, TokenKind, Tokens};
use super::{hint, lexeme, operand, operand_end};
use crate::frontend::progress::BYTES_PER_CHECK;
use crate::frontend::regex::RegexOptions;
use crate::frontend::specials::{self, Special};
use crate::frontend::{ReadError, Spend, SyntaxError, regex};
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId, Grammar, GrammarBuilder, Regex, RuleId};
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
    pub source: &'s str,
    pub limits: &'s Limits,
    rules: &'s [RuleText],
    pub builder: GrammarBuilder,
    /// Where `\x` has more than two digits.
    pub long_escapes: Vec<Span>,
    /// What is probably not what was meant, and why.
    pub suspicious: Vec<(Span, &'static str)>,
    /// The first look-ahead.
    pub look_ahead: Option<Span>,
    /// By rule with options that change its language: its plain body, and how it is made of that.
    pub changed: Vec<Changed>,
    /// Grammars given beside the source, by name.
    grammars: &'s [(&'s str, &'s Grammar)],
    /// The root rules of those that were referred to.
    roots: HashMap<&'s str, RuleId>,
    /// Regexes parsed before: files repeat them.
    regexes: HashMap<&'s str, Regex>,
    /// Number of nodes of all these, which count as expressions.
    pub n_regex_nodes: usize,
}

/// A rule whose options change its language.
pub(super) struct Changed {
    pub rule: RuleId,
    /// Where the option is.
    pub span: Span,
    pub option: ChangingOption,
    /// The body without the option.
    pub body: ExprId,
}

/// An option that changes what a rule matches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangingOption {
    Lazy,
    MaxChars,
    MaxTokens,
}

/// An expression and its span.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub expr: ExprId,
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
    /// Whether this is a look-ahead.
    is_ahead: bool,
    /// The element to which a suffix would apply.
    current: Option<Part>,
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
        let (long_escapes, changed) = (Vec::new(), Vec::new());
        Lowering {
            source,
            limits,
            rules,
            builder,
            long_escapes,
            suspicious: Vec::new(),
            look_ahead: None,
            changed,
            grammars,
            roots,
            regexes,
            n_regex_nodes: 0,
        }
    }

    /// Lowers the body of a rule. Reports the bytes read to `spend`, whose error ends it.
    pub(super) fn body(&mut self, range: Range<usize>, spend: Spend<'_>) -> Result<ExprId, ReadError> {
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
                TokenKind::Ahead => {
                    if is_in_group {
                        let place = Span::from(token.range.clone());
                        let message = "a look-ahead `(= ...)` stands at the end of a rule, outside of groups";
                        return Err(SyntaxError::new(self.source, place, message).into());
                    }
                    if level.wants_operand() {
                        return Err(hint::explain_stop(self.source, range.clone(), token.range.start).into());
                    }
                    self.end_part(level)?;
                    levels.push(Level { is_ahead: true, ..Level::new(token.range.start) });
                }
                TokenKind::Close if level.is_ahead => {
                    let part = self.end_level(level, &token.range, range.clone())?;
                    self.look_ahead = self.look_ahead.or(Some(part.span));
                    levels.pop();
                    if let Some(next) = tokens.next() {
                        return Err(SyntaxError::new(
                            self.source,
                            next?.range.into(),
                            "nothing can follow a look-ahead",
                        )
                        .with_hint("it is the last part of a rule; put the rest into a rule of its own")
                        .into());
                    }
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

    /// Returns the body of a rule with options.
    pub(super) fn with_options(
        &mut self,
        rule: RuleId,
        body: ExprId,
        options: Range<usize>,
    ) -> Result<(ExprId, Vec<Span>), SyntaxError> {
        let RuleOptions { lazy, chars_max, tokens_max, capture, without_effect } = rule_options(self.source, options)?;
        if let Some(capture) = capture {
            let name = capture.unwrap_or_else(|| self.builder.name_of(rule).to_owned());
            self.builder.capture(rule, &name);
        }
        let mut changed = body;
        if let Some(span) = lazy {
            // No match begins with a shorter one.
            let any = self.push(Expr::Class(CharSet::all()), span)?;
            let more = self.push(Expr::Repeat { body: any.expr, min: 1, max: None }, span)?;
            let longer = self.push(Expr::Sequence([changed, more.expr].into()), span)?;
            changed = self.push(Expr::Minus(changed, longer.expr), span)?.expr;
            self.changed.push(Changed { rule, span, option: ChangingOption::Lazy, body });
        }
        if let Some((n_chars, span)) = chars_max {
            changed = self.at_most(changed, n_chars, span)?;
            self.changed.push(Changed { rule, span, option: ChangingOption::MaxChars, body });
        }
        if let Some((n_tokens, span)) = tokens_max {
            changed = match self.builder.repeated_tokens(changed, n_tokens) {
                Some(tokens) => self.push(tokens, span)?.expr,
                None => {
                    self.changed.push(Changed { rule, span, option: ChangingOption::MaxTokens, body });
                    self.push(Expr::AtMostTokens { body: changed, max: n_tokens }, span)?.expr
                }
            };
        }
        Ok((changed, without_effect))
    }

    /// Returns the matches of `body` that have at most `n_chars` characters.
    fn at_most(&mut self, body: ExprId, n_chars: u32, span: Span) -> Result<ExprId, SyntaxError> {
        // A repeated class needs no intersection: its copies are its characters.
        if let &Expr::Repeat { body, min, max } = self.builder.expr(body)
            && matches!(self.builder.expr(body), Expr::Class(_))
            && min <= n_chars
        {
            let max = Some(max.map_or(n_chars, |max| max.min(n_chars)));
            return Ok(self.push(Expr::Repeat { body, min, max }, span)?.expr);
        }
        let any = self.push(Expr::Class(CharSet::all()), span)?;
        let short = self.push(Expr::Repeat { body: any.expr, min: 0, max: Some(n_chars) }, span)?;
        Ok(self.push(Expr::And(body, short.expr), span)?.expr)
    }

    fn token(
        &mut self,
        level: &mut Level,
        token: Token,
        tokens: &mut Tokens<'s>,
        body: &Range<usize>,
        spend: Spend<'_>,
    ) -> Result<(), ReadError> {
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
            (TokenKind::Mark, b'.') => {
                self.note_range_of_literals(range.clone());
                Expr::Class(CharSet::all())
            }
            (TokenKind::Literal, _) => {
                range.end = tokens.skip_name(|name| name == "i").unwrap_or(range.end);
                self.literal(range.clone())?
            }
            (TokenKind::Regex, _) => {
                range.end = tokens.skip_name(|_| true).unwrap_or(range.end);
                Expr::Regex(self.regex(range.clone(), spend)?)
            }
            (TokenKind::Pattern, _) => {
                let start = operand_end::skip_blanks(self.source, range.start + PATTERN.len(), range.end);
                let is_between_slashes = self.source[start..].starts_with('/');
                if is_between_slashes {
                    range.end = tokens.skip_name(|_| true).unwrap_or(range.end);
                }
                Expr::Regex(match is_between_slashes {
                    true => self.regex(start..range.end, spend)?,
                    false => self.pattern_in_quotes(start..range.end, spend)?,
                })
            }
            (TokenKind::Class, _) => {
                self.note_quotes_in_class(range.clone());
                Expr::Class(lexeme::class(self.source, range.clone(), &mut self.long_escapes, spend)?)
            }
            (TokenKind::Control, _) => self.control(range.clone())?,
            (TokenKind::Schema, _) => Expr::Schema(operand::schema(self.source, range.clone())?),
            (TokenKind::Grammar, _) => Expr::Rule(self.grammar(range.clone())?),
            (TokenKind::Name, _) => match self.macro_call(&token, tokens, body, spend)? {
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

    /// Notes `"a".."z"`, which Lark and others read as a range of characters.
    fn note_range_of_literals(&mut self, dot: Range<usize>) {
        let (before, after) = (&self.source[..dot.start], &self.source[dot.end..]);
        let Some(after) = after.strip_prefix('.') else { return };
        if before.trim_end().ends_with(['"', '\'']) && after.trim_start().starts_with(['"', '\'']) {
            self.suspicious.push((
                Span::new(dot.start, dot.end + 1),
                "`..` is two of any character here; a range is written `[a-z]`",
            ));
        }
    }

    /// Notes `["a"]`, which other notations read as an option.
    fn note_quotes_in_class(&mut self, range: Range<usize>) {
        let inside = self.source[range.start + 1..range.end - 1].trim();
        let is_quoted = |quote: char| inside.len() > 2 && inside.starts_with(quote) && inside.ends_with(quote);
        if is_quoted('"') || is_quoted('\'') {
            let reason =
                "`[...]` is one character of a set, and the quotes belong to it; an option is written `(\"text\")?`";
            self.suspicious.push((range.into(), reason));
        }
    }

    fn literal(&mut self, range: Range<usize>) -> Result<Expr, SyntaxError> {
        let is_no_case = self.source[range.clone()].ends_with('i');
        if is_no_case {
            self.check_flag_is_no_rule(range.end - 1..range.end, "literal")?;
        }
        let quote_end = range.end - usize::from(is_no_case);
        let text = lexeme::text(self.source, range.start + 1..quote_end - 1, &mut self.long_escapes)?;
        Ok(match (text.is_empty(), is_no_case) {
            (true, _) => Expr::Empty,
            (false, true) => Expr::LiteralNoCase(text.into()),
            (false, false) => Expr::Literal(text.into_bytes().into()),
        })
    }

    fn regex(&mut self, range: Range<usize>, spend: Spend<'_>) -> Result<Regex, ReadError> {
        let written = &self.source[range.clone()];
        if let Some(regex) = self.regexes.get(written) {
            return Ok(regex.clone());
        }
        let close = written.rfind('/').expect("flags hold no slash");
        let (inside, flags) = (&written[1..close], &written[close + 1..]);
        let flags_range = range.start + close + 1..range.end;
        let mut options = RegexOptions::EBNF;
        if let Some((at, _)) =
            flags.char_indices().find(|&(_, flag)| flag == 'a' || flag != 'c' && !options.set_flag(flag))
        {
            let start = flags_range.start + at;
            let message = format!("unknown regex flag `{}`", &flags[at..=at]);
            let error = SyntaxError::new(self.source, Span::new(start, start + 1), message);
            return Err(error
                .with_hint("flags are `c`, `i`, `j`, `s`, `u` and `x`; a rule after a regex needs a blank before it")
                .into());
        }
        if !flags.is_empty() {
            self.check_flag_is_no_rule(flags_range, "regex")?;
        }
        let pattern = lexeme::pattern(inside);
        let place = |span: Span| {
            let place = |offset: u32| range.start + 1 + lexeme::offset_in_written(inside, offset as usize);
            Span::new(place(span.start), place(span.end))
        };
        let regular = self.parse_pattern(&pattern, &options, place, range.clone().into(), spend)?;
        let regex = Regex { pattern: pattern.into(), flags: flags.into(), regular };
        let regex = if regex.has_markers() { regex.with_markers() } else { regex };
        self.regexes.insert(written, regex.clone());
        Ok(regex)
    }

    /// Lowers the string behind `%regex`.
    fn pattern_in_quotes(&mut self, range: Range<usize>, spend: Spend<'_>) -> Result<Regex, ReadError> {
        let pattern = lexeme::text(self.source, range.start + 1..range.end - 1, &mut self.long_escapes)?;
        let span = Span::from(range);
        let regular = self.parse_pattern(&pattern, &RegexOptions::EBNF, |_| span, span, spend)?;
        let (pattern, flags) = RegexOptions::EBNF.in_ebnf(&pattern);
        Ok(Regex { pattern: pattern.into(), flags: flags.into(), regular })
    }

    /// Parses a pattern. `place` maps a span of it to one of the source; `span` is that of the whole expression.
    pub(super) fn parse_pattern(
        &mut self,
        pattern: &str,
        options: &RegexOptions,
        place: impl Fn(Span) -> Span,
        span: Span,
        spend: Spend<'_>,
    ) -> Result<Arc<Regular>, ReadError> {
        let regular = regex::parse_within(pattern, options, self.limits, spend);
        let regular: Regular =
            regular.map_err(|error| error.map_syntax(|error| error.moved(self.source, place(error.span()))))?;
        self.n_regex_nodes += regular.nodes().len();
        self.check_n_exprs(0, span)?;
        Ok(Arc::new(regular))
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

    /// Lowers `<name>`, `<[5]>`, `<[1-3,7]>`, `<[^5]>`, `<[*]>`, or `!` before one of the first three.
    fn control(&mut self, range: Range<usize>) -> Result<Expr, SyntaxError> {
        let span = Span::from(range.clone());
        let is_negated = self.source[range.clone()].starts_with('!');
        let special = specials::read(self.source, range.start + usize::from(is_negated)..range.end)?;
        Ok(match (special, is_negated) {
            (Special::AllBut(_), true) => {
                return Err(SyntaxError::new(self.source, span, "`!` stands before a token, or a list of some"));
            }
            (Special::AllBut(excluded), false) => Expr::TokenExcept(excluded),
            (Special::Name(name), true) => Expr::TokenExcept(ExcludedTokens::new([ControlRef::Name(name)])),
            (Special::Name(name), false) => Expr::Control(ControlRef::Name(name)),
            (Special::Ids(ranges), true) => {
                Expr::TokenExcept(ExcludedTokens::of_ranges(ranges.into_iter().map(|(low, high)| low..=high), []))
            }
            (Special::Ids(ranges), false) => self.one_of_ids(&ranges, span)?,
        })
    }

    /// Returns one token of some ranges of ids.
    pub(super) fn one_of_ids(&mut self, ranges: &[(u32, u32)], span: Span) -> Result<Expr, SyntaxError> {
        if let &[(low, high)] = ranges
            && low == high
        {
            return Ok(Expr::Control(ControlRef::Id(low)));
        }
        let n_ids = ranges.iter().map(|&(low, high)| (high - low) as usize + 1).fold(0, usize::saturating_add);
        self.check_n_exprs(n_ids, span)?;
        let mut ids = Vec::with_capacity(n_ids);
        for control in specials::references(ranges) {
            ids.push(self.push(Expr::Control(control), span)?.expr);
        }
        Ok(Expr::Choice(ids.into()))
    }

    pub(super) fn token_id(&self, digits: &str, range: Range<usize>) -> Result<u32, SyntaxError> {
        digits.parse().map_err(|_| SyntaxError::new(self.source, range.into(), "the id of a token is below 4294967296"))
    }

    pub(super) fn rule(&self, range: Range<usize>) -> Result<RuleId, SyntaxError> {
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

    pub(super) fn push(&mut self, expr: Expr, span: Span) -> Result<Part, SyntaxError> {
        self.check_n_exprs(0, span)?;
        Ok(Part { expr: self.builder.push_at(expr, Some(span)), span })
    }

    /// Checks the number of expressions, pending ones included.
    pub(super) fn check_n_exprs(&self, n_waiting: usize, span: Span) -> Result<(), SyntaxError> {
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
        Level { start, alternatives, joined: None, sequence, complements, is_ahead: false, current: None }
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

//! Macros: `Token(...)`, `ExcludeToken(...)`, `Marker(...)`, `Regex(...)`, `Substring(...)`, `TagDispatch(...)`, `TokenTagDispatch(...)`.
//!
//! A macro is a name with a parenthesis right after it. A rule of the same name takes precedence. Arguments are strings, numbers, names,
//! and such in parentheses, with commas between them; some have names, like `json_string=true`.

use super::dispatch::Dispatch;
use super::lower::Lowering;
use super::scan::{Token, TokenKind, Tokens};
use super::{hint, lexeme};
use crate::frontend::regex::RegexOptions;
use crate::frontend::{ReadError, Spend, SyntaxError};
use crate::grammar::{ControlRef, Expr, ExprId, Regex};
use crate::util::Span;
use core::ops::Range;

/// An argument of a macro.
pub(super) struct Argument {
    /// Its name, if it has one.
    pub name: Option<Range<usize>>,
    pub value: Value,
    /// Where its value is.
    pub range: Range<usize>,
}

/// The value of an argument.
pub(super) enum Value {
    /// A string, a number, a name or a token.
    One(Token),
    /// Values in parentheses.
    Tuple(Vec<Token>),
}

impl Argument {
    /// Returns the string that the value is.
    fn literal(&self) -> Option<&Token> {
        match &self.value {
            Value::One(token) if token.kind == TokenKind::Literal => Some(token),
            _ => None,
        }
    }
}

impl<'s> Lowering<'s> {
    /// Lowers the macro that begins at `name`, if one does; returns also where it ends.
    pub(super) fn macro_call(
        &mut self,
        name: &Token,
        tokens: &mut Tokens<'s>,
        body: &Range<usize>,
        spend: Spend<'_>,
    ) -> Result<Option<(Expr, usize)>, ReadError> {
        let written = &self.source[name.range.clone()];
        if !self.source[name.range.end..].starts_with('(') {
            return Ok(None);
        }
        match written {
            "Token" => Ok(self.token_macro(tokens, body)?),
            "Marker" => Ok(self.marker(name, tokens)?),
            "Regex" | "Substring" | "TagDispatch" | "ExcludeToken" | "TokenTagDispatch"
                if self.builder.rule_named(written).is_none() =>
            {
                let (arguments, end) = self.arguments(tokens, body)?;
                let span = Span::new(name.range.start, end);
                let expr = match written {
                    "Regex" => self.regex_macro(&arguments, span, spend)?,
                    "TagDispatch" => self.dispatch_macro(&arguments, span)?,
                    "TokenTagDispatch" => self.token_dispatch_macro(&arguments, span)?,
                    "ExcludeToken" => self.exclude_macro(&arguments)?,
                    _ => self.substring_macro(&arguments, span)?,
                };
                Ok(Some((expr, end)))
            }
            _ => Ok(None),
        }
    }

    /// Reads the arguments of a macro up to its parenthesis; returns also where that ends.
    fn arguments(&self, tokens: &mut Tokens<'s>, body: &Range<usize>) -> Result<(Vec<Argument>, usize), SyntaxError> {
        let unexpected = |token: &Token| hint::explain_stop(self.source, body.clone(), token.range.start);
        let is_mark = |token: &Token, mark: &str| &self.source[token.range.clone()] == mark;
        let is_value = |token: &Token| {
            matches!(token.kind, TokenKind::Literal | TokenKind::Number | TokenKind::Name | TokenKind::Control)
        };
        let mut next = || tokens.next().expect("the scan has seen that all groups are closed");
        let mut arguments: Vec<Argument> = Vec::new();
        // The values of the tuple that is open, and where it begins.
        let mut tuple: Option<(Option<Range<usize>>, Vec<Token>, usize)> = None;
        let open = next()?;
        if open.kind != TokenKind::Open {
            // `(=` begins what must follow.
            return Err(unexpected(&open));
        }
        let mut name = None;
        loop {
            // A parenthesis or a comma precedes each value; one comma may be last.
            let mut token = next()?;
            if tuple.is_none() && name.is_none() && token.kind == TokenKind::Name {
                let ahead = next()?;
                if is_mark(&ahead, "=") {
                    name = Some(token.range);
                    token = next()?;
                } else {
                    let range = token.range.clone();
                    arguments.push(Argument { name: None, value: Value::One(token), range });
                    if ahead.kind == TokenKind::Close {
                        return Ok((arguments, ahead.range.end));
                    }
                    if !is_mark(&ahead, ",") {
                        return Err(unexpected(&ahead));
                    }
                    continue;
                }
            }
            if token.kind == TokenKind::Open && tuple.is_none() {
                tuple = Some((name.take(), Vec::new(), token.range.start));
                continue;
            }
            let mut closing = token.clone();
            if is_value(&token) {
                match &mut tuple {
                    Some((_, values, _)) => values.push(token),
                    None => {
                        let range = token.range.clone();
                        arguments.push(Argument { name: name.take(), value: Value::One(token), range });
                    }
                }
                closing = next()?;
            } else if token.kind != TokenKind::Close || name.is_some() {
                return Err(unexpected(&token));
            }
            // A tuple may end here, and the arguments behind it.
            if closing.kind == TokenKind::Close
                && let Some((name, values, start)) = tuple.take()
            {
                let range = start..closing.range.end;
                arguments.push(Argument { name, value: Value::Tuple(values), range });
                closing = next()?;
            }
            match closing.kind {
                TokenKind::Close if tuple.is_none() => return Ok((arguments, closing.range.end)),
                _ if is_mark(&closing, ",") => {}
                _ => return Err(unexpected(&closing)),
            }
        }
    }

    /// Returns the text of an argument that must be a string.
    fn text_of(&mut self, argument: &Argument, of: &str) -> Result<String, SyntaxError> {
        match argument.literal() {
            Some(token) => self.text_of_token(&token.clone(), of),
            None => Err(SyntaxError::new(self.source, argument.range.clone().into(), format!("{of} must be a string"))),
        }
    }

    fn text_of_token(&mut self, token: &Token, of: &str) -> Result<String, SyntaxError> {
        let Range { start, end } = token.range;
        if token.kind != TokenKind::Literal {
            return Err(SyntaxError::new(self.source, Span::new(start, end), format!("{of} must be a string")));
        }
        lexeme::text(self.source, start + 1..end - 1, &mut self.long_escapes)
    }

    /// Reads `true` or `false`.
    pub(super) fn flag_of(&self, argument: &Argument, name: &str) -> Result<bool, SyntaxError> {
        match &self.source[argument.range.clone()] {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => {
                let message = format!("`{name}` must be `true` or `false`");
                Err(SyntaxError::new(self.source, argument.range.clone().into(), message))
            }
        }
    }

    /// Lowers `TagDispatch(("tag", rule), loop_after_dispatch=true, excludes=("text",))`.
    fn dispatch_macro(&mut self, arguments: &[Argument], span: Span) -> Result<Expr, SyntaxError> {
        let mut dispatch = Dispatch { tags: Vec::new(), excludes: Vec::new(), is_loop: true };
        for argument in arguments {
            let place = Span::from(argument.range.clone());
            match (argument.name.clone().map(|name| &self.source[name]), &argument.value) {
                (None, Value::Tuple(pair)) => match &pair[..] {
                    [tag, rule] if rule.kind == TokenKind::Name => {
                        let text = self.text_of_token(tag, "a tag")?;
                        let rule = self.rule(rule.range.clone())?;
                        dispatch.tags.push((text, rule, tag.range.clone().into()));
                    }
                    _ => return Err(SyntaxError::new(self.source, place, "a tag is given as `(\"tag\", rule)`")),
                },
                (None, Value::One(_)) => {
                    return Err(SyntaxError::new(self.source, place, "a tag is given as `(\"tag\", rule)`"));
                }
                (Some(name @ "loop_after_dispatch"), _) => dispatch.is_loop = self.flag_of(argument, name)?,
                (Some("excludes"), Value::Tuple(texts)) => {
                    for text in texts {
                        let place = Span::from(text.range.clone());
                        dispatch.excludes.push((self.text_of_token(text, "an excluded text")?, place));
                    }
                }
                (Some("excludes"), Value::One(_)) => {
                    return Err(SyntaxError::new(self.source, place, "`excludes` is a list like `(\"text\",)`"));
                }
                (Some(other), _) => {
                    return Err(SyntaxError::new(
                        self.source,
                        place,
                        format!("`TagDispatch` has no argument `{other}`"),
                    )
                    .with_hint("it has `loop_after_dispatch` and `excludes`"));
                }
            }
        }
        self.dispatch(&dispatch, span)
    }

    /// Lowers `Regex("pattern", json_string=false, flags="")`.
    fn regex_macro(&mut self, arguments: &[Argument], span: Span, spend: Spend<'_>) -> Result<Expr, ReadError> {
        let mut options = RegexOptions::EBNF;
        let mut pattern = None;
        for argument in arguments {
            let place = Span::from(argument.range.clone());
            let refuse = |message: String| ReadError::from(SyntaxError::new(self.source, place, message));
            match argument.name.clone().map(|name| &self.source[name]) {
                None if pattern.is_none() => pattern = Some((self.text_of(argument, "the pattern of `Regex`")?, place)),
                None => return Err(refuse("`Regex` has one pattern".to_owned())),
                Some(name @ "json_string") => options.is_json_string = self.flag_of(argument, name)?,
                Some("flags") => {
                    let flags = self.text_of(argument, "`flags`")?;
                    // As XGrammar has it: with flags a dot means what `s` says.
                    options.dot_matches_newline = false;
                    if let Some(flag) = flags.chars().find(|&flag| flag == 'a' || !options.set_flag(flag)) {
                        return Err(SyntaxError::new(self.source, place, format!("unknown regex flag `{flag}`"))
                            .with_hint("flags are `i`, `j`, `s`, `u` and `x`")
                            .into());
                    }
                }
                Some(other) => {
                    return Err(SyntaxError::new(self.source, place, format!("`Regex` has no argument `{other}`"))
                        .with_hint("it has `json_string` and `flags`")
                        .into());
                }
            }
        }
        let Some((pattern, place)) = pattern else {
            return Err(SyntaxError::new(self.source, span, "`Regex` needs a pattern").into());
        };
        let regular = self.parse_pattern(&pattern, &options, |_| place, span, spend)?;
        let (pattern, flags) = options.in_ebnf(&pattern);
        Ok(Expr::Regex(Regex { pattern: pattern.into(), flags: flags.into(), regular }))
    }

    /// Lowers `Substring("chunk", ...)`.
    fn substring_macro(&mut self, arguments: &[Argument], span: Span) -> Result<Expr, SyntaxError> {
        let mut chunks: Vec<Box<[u8]>> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            if let Some(name) = &argument.name {
                let message = format!("`Substring` has no argument `{}`", &self.source[name.clone()]);
                return Err(SyntaxError::new(self.source, name.clone().into(), message));
            }
            chunks.push(self.text_of(argument, "a chunk of `Substring`")?.into_bytes().into());
        }
        // A chunk counts as an expression.
        self.n_regex_nodes += chunks.len() + 1;
        self.check_n_exprs(0, span)?;
        Ok(Expr::Regex(Regex::substring(chunks)))
    }

    /// Lowers `Marker("<name>")`, unless there is a rule of that name; returns also its end.
    fn marker(&mut self, name: &Token, tokens: &mut Tokens<'s>) -> Result<Option<(Expr, usize)>, SyntaxError> {
        let is_marker = &self.source[name.range.clone()] == "Marker" && self.builder.rule_named("Marker").is_none();
        let mut ahead = tokens.clone();
        let mut next = || ahead.next().and_then(Result::ok);
        let (Some(open), Some(text), Some(close)) = (next(), next(), next()) else { return Ok(None) };
        let kinds = (open.kind, text.kind, close.kind);
        if !is_marker || kinds != (TokenKind::Open, TokenKind::Literal, TokenKind::Close) {
            return Ok(None);
        }
        *tokens = ahead;
        let text = lexeme::text(self.source, text.range.start + 1..text.range.end - 1, &mut self.long_escapes)?;
        Ok(Some((if text.is_empty() { Expr::Empty } else { Expr::Marker(text.into()) }, close.range.end)))
    }

    /// Lowers `Token(16)`, `Token("<name>")` or a list of both; returns also its end.
    fn token_macro(
        &mut self,
        tokens: &mut Tokens<'s>,
        body: &Range<usize>,
    ) -> Result<Option<(Expr, usize)>, SyntaxError> {
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
                let name = lexeme::text(self.source, range.start + 1..range.end - 1, &mut self.long_escapes)?;
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
}

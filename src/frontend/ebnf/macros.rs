//! Macros: `Token(...)`, `Marker(...)`, `Regex(...)`, `Substring(...)`.
//!
//! A macro is a name with a parenthesis right after it. A rule of the same name takes precedence. Arguments are strings, numbers, names and
//! named ones like `json_string=true`, with commas between them.

use super::lower::Lowering;
use super::scan::{Token, TokenKind, Tokens};
use super::{hint, lexeme};
use crate::frontend::SyntaxError;
use crate::frontend::regex::RegexOptions;
use crate::grammar::{ControlRef, Expr, ExprId, Regex};
use crate::regular::{Node, Regular};
use crate::util::Span;
use core::ops::Range;
use std::sync::Arc;

/// An argument of a macro: its name, if it has one, and its value.
struct Argument {
    name: Option<Range<usize>>,
    value: Token,
}

impl<'s> Lowering<'s> {
    /// Lowers the macro that begins at `name`, if one does; returns also where it ends.
    pub(super) fn macro_call<E: From<SyntaxError>>(
        &mut self,
        name: &Token,
        tokens: &mut Tokens<'s>,
        body: &Range<usize>,
        spend: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<(Expr, usize)>, E> {
        let written = &self.source[name.range.clone()];
        if !self.source[name.range.end..].starts_with('(') {
            return Ok(None);
        }
        match written {
            "Token" => Ok(self.token_macro(tokens, body)?),
            "Marker" => Ok(self.marker(name, tokens)?),
            "Regex" | "Substring" if self.builder.rule_named(written).is_none() => {
                let (arguments, end) = self.arguments(tokens, body)?;
                let span = Span::new(name.range.start, end);
                let expr = match written {
                    "Regex" => self.regex_macro(&arguments, span, spend)?,
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
        let mut next = || tokens.next().expect("the scan has seen that all groups are closed");
        let mut arguments: Vec<Argument> = Vec::new();
        let mut token = next()?;
        debug_assert_eq!(token.kind, TokenKind::Open);
        loop {
            // A parenthesis or a comma precedes each argument; one comma may be last.
            token = next()?;
            if token.kind == TokenKind::Close {
                return Ok((arguments, token.range.end));
            }
            let mut argument = Argument { name: None, value: token };
            token = next()?;
            if argument.value.kind == TokenKind::Name && is_mark(&token, "=") {
                argument = Argument { name: Some(argument.value.range), value: next()? };
                token = next()?;
            }
            if !matches!(argument.value.kind, TokenKind::Literal | TokenKind::Number | TokenKind::Name) {
                return Err(unexpected(&argument.value));
            }
            arguments.push(argument);
            match token.kind {
                TokenKind::Close => return Ok((arguments, token.range.end)),
                _ if is_mark(&token, ",") => {}
                _ => return Err(unexpected(&token)),
            }
        }
    }

    /// Returns the text of an argument that must be a string.
    fn text_of(&mut self, argument: &Argument, of: &str) -> Result<String, SyntaxError> {
        let Range { start, end } = argument.value.range;
        if argument.value.kind != TokenKind::Literal {
            return Err(SyntaxError::new(self.source, Span::new(start, end), format!("{of} must be a string")));
        }
        lexeme::text(self.source, start + 1..end - 1, &mut self.long_escapes)
    }

    /// Lowers `Regex("pattern", json_string=false, flags="")`.
    fn regex_macro<E: From<SyntaxError>>(
        &mut self,
        arguments: &[Argument],
        span: Span,
        spend: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Expr, E> {
        let mut options = RegexOptions::EBNF;
        let mut pattern = None;
        for argument in arguments {
            let place = Span::from(argument.value.range.clone());
            let refuse = |message: String| E::from(SyntaxError::new(self.source, place, message));
            let value = &self.source[argument.value.range.clone()];
            match argument.name.clone().map(|name| &self.source[name]) {
                None if pattern.is_none() => pattern = Some((self.text_of(argument, "the pattern of `Regex`")?, place)),
                None => return Err(refuse("`Regex` has one pattern".to_owned())),
                Some("json_string") => match value {
                    "true" | "false" => options.is_json_string = value == "true",
                    _ => return Err(refuse("`json_string` must be `true` or `false`".to_owned())),
                },
                Some("flags") => {
                    let flags = self.text_of(argument, "`flags`")?;
                    // PERF is no question here: flags are a few letters.
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
        let mut regular = Regular::new();
        let root = regular.push(Node::Substring(chunks.into()));
        regular.set_root(root);
        let (pattern, flags) = (self.source[span.start as usize..span.end as usize].into(), "".into());
        Ok(Expr::Regex(Regex { pattern, flags, regular: Arc::new(regular) }))
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

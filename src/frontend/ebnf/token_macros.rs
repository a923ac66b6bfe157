//! Macros over tokens that are read as a whole: `ExcludeToken(...)` and `TokenTagDispatch(...)`.
//!
//! `TokenTagDispatch` is to tokens what `TagDispatch` is to text. A token ends where it begins, so no pattern overlaps another, and the tokens between two tags are just those that
//! are neither a tag nor excluded:
//!
//! ```text
//! TokenTagDispatch((<a>, r), (<b>, s))  =  (other* (<a> r | <b> s))* other*        other = any token but <a>, <b> and those excluded
//! ```

use super::lexeme;
use super::lower::Lowering;
use super::macros::{Argument, Value};
use super::scan::{Token, TokenKind};
use crate::frontend::SyntaxError;
use crate::frontend::specials::{self, Special};
use crate::grammar::{ControlRef, ExcludedTokens, Expr, ExprId};
use crate::util::Span;

/// Tokens that an argument stands for: one by name, or ranges of ids.
struct TokenRefs {
    names: Vec<String>,
    ids: Vec<(u32, u32)>,
}

impl TokenRefs {
    fn none() -> Self {
        TokenRefs { names: Vec::new(), ids: Vec::new() }
    }

    fn append(&mut self, mut other: TokenRefs) {
        self.names.append(&mut other.names);
        self.ids.append(&mut other.ids);
    }

    fn excluded(&self) -> ExcludedTokens {
        ExcludedTokens::of_ranges(self.ids.iter().map(|&(low, high)| low..=high), self.names.iter().map(|name| &**name))
    }
}

impl Lowering<'_> {
    /// Lowers `ExcludeToken(16, "<name>", <[3-7]>)`.
    pub(super) fn exclude_macro(&mut self, arguments: &[Argument]) -> Result<Expr, SyntaxError> {
        let mut excluded = TokenRefs::none();
        for argument in arguments {
            let Value::One(token) = &argument.value else { return Err(self.no_token(argument)) };
            if argument.name.is_some() {
                return Err(self.no_token(argument));
            }
            excluded.append(self.token_refs(token)?);
        }
        Ok(Expr::TokenExcept(excluded.excluded()))
    }

    /// Lowers `TokenTagDispatch((16, rule), ("<name>", rule), loop_after_dispatch=true, excludes=(17,))`.
    pub(super) fn token_dispatch_macro(&mut self, arguments: &[Argument], span: Span) -> Result<Expr, SyntaxError> {
        let mut named = TokenRefs::none();
        let mut arms: Vec<ExprId> = Vec::new();
        let mut is_loop = true;
        for argument in arguments {
            let place = Span::from(argument.range.clone());
            match (argument.name.clone().map(|name| &self.source[name]), &argument.value) {
                (None, Value::Tuple(pair)) => match &pair[..] {
                    [tag, rule] if rule.kind == TokenKind::Name => {
                        let refs = self.token_refs(tag)?;
                        let tag = self.one_of_refs(&refs, tag.range.clone().into())?;
                        let rule = self.rule(rule.range.clone())?;
                        let rule = self.push(Expr::Rule(rule), place)?.expr;
                        arms.push(self.push(Expr::Sequence([tag, rule].into()), place)?.expr);
                        named.append(refs);
                    }
                    _ => return Err(SyntaxError::new(self.source, place, "a tag is given as `(token, rule)`")),
                },
                (Some(name @ "loop_after_dispatch"), _) => is_loop = self.flag_of(argument, name)?,
                (Some("excludes"), Value::Tuple(tokens)) => {
                    for token in tokens {
                        named.append(self.token_refs(token)?);
                    }
                }
                (Some("excludes"), Value::One(_)) => {
                    return Err(SyntaxError::new(self.source, place, "`excludes` is a list like `(16,)`"));
                }
                (None, Value::One(_)) => {
                    return Err(SyntaxError::new(self.source, place, "a tag is given as `(token, rule)`"));
                }
                (Some(other), _) => {
                    let message = format!("`TokenTagDispatch` has no argument `{other}`");
                    return Err(SyntaxError::new(self.source, place, message)
                        .with_hint("it has `loop_after_dispatch` and `excludes`"));
                }
            }
        }
        let other = self.push(Expr::TokenExcept(named.excluded()), span)?.expr;
        let free = Expr::Repeat { body: other, min: 0, max: None };
        if arms.is_empty() {
            return Ok(free);
        }
        let free = self.push(free, span)?.expr;
        let arms = self.builder.one_of(arms);
        let next = self.push(Expr::Sequence([free, arms].into()), span)?.expr;
        Ok(match is_loop {
            true => {
                let all = self.push(Expr::Repeat { body: next, min: 0, max: None }, span)?.expr;
                Expr::Sequence([all, free].into())
            }
            false => Expr::Choice([next, free].into()),
        })
    }

    /// Reads an id, a name, or a token as it stands elsewhere.
    fn token_refs(&mut self, token: &Token) -> Result<TokenRefs, SyntaxError> {
        let (range, span) = (token.range.clone(), Span::from(token.range.clone()));
        let refuse = |message: &str| Err(SyntaxError::new(self.source, span, message));
        let mut refs = TokenRefs::none();
        match token.kind {
            TokenKind::Number => {
                let id = self.token_id(&self.source[range.clone()], range)?;
                refs.ids.push((id, id));
            }
            TokenKind::Literal => {
                let name = lexeme::text(self.source, range.start + 1..range.end - 1, &mut self.long_escapes)?;
                if name.is_empty() {
                    return Err(SyntaxError::new(self.source, span, "a token has a name that is not empty"));
                }
                refs.names.push(name);
            }
            TokenKind::Control if !self.source[range.clone()].starts_with('!') => {
                match specials::read(self.source, range)? {
                    Special::Name(name) => refs.names.push(name.into()),
                    Special::Ids(ranges) => refs.ids = ranges,
                    Special::AllBut(_) => return refuse("a token, or a list of some, is wanted here"),
                }
            }
            _ => return refuse("a token is given as its id, its name in quotes, or as elsewhere"),
        }
        Ok(refs)
    }

    fn one_of_refs(&mut self, refs: &TokenRefs, span: Span) -> Result<ExprId, SyntaxError> {
        let expr = match &refs.names[..] {
            [name] => Expr::Control(ControlRef::Name(name.as_str().into())),
            _ => self.one_of_ids(&refs.ids, span)?,
        };
        Ok(self.push(expr, span)?.expr)
    }

    fn no_token(&self, argument: &Argument) -> SyntaxError {
        let message = "`ExcludeToken` has tokens: ids, names in quotes, or both";
        SyntaxError::new(self.source, argument.range.clone().into(), message)
    }
}

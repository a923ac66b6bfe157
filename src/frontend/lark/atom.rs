//! Atoms: strings, ranges, regexes, names, special tokens and blocks.

use super::body::{Parser, Part};
use super::json;
use super::lower::{Context, Instance, Lowering};
use super::param::Evaluator;
use super::scan::{Token, TokenKind, block_inside};
use crate::frontend::check::shorten;
use crate::frontend::specials::{self, Special};
use crate::frontend::{ReadError, Spend, SyntaxError};
use crate::grammar::{ControlRef, Expr, ExprId, Regex, SchemaOperand};
use crate::regular::CharSet;
use crate::schema_options::SchemaOptions;
use crate::util::Span;
use core::ops::Range;

impl<'s> Lowering<'s> {
    /// Lowers the atom that begins with a token.
    pub(super) fn atom(&mut self, token: &Token, parser: &mut Parser<'s>, spend: Spend<'_>) -> Result<Part, ReadError> {
        let mut range = token.range.clone();
        let context = parser.context;
        let expr = match token.kind {
            TokenKind::String => {
                let expr = self.string_or_range(&mut range, parser)?;
                self.lexeme_in(context, expr, range.clone())?
            }
            TokenKind::Regex => {
                let expr = Expr::Regex(self.regex(range.clone(), spend)?);
                self.lexeme_in(context, expr, range.clone())?
            }
            TokenKind::Name => self.name(&mut range, parser)?,
            TokenKind::Special => self.special(token, context)?,
            TokenKind::Block => self.block(token, context, spend)?,
            TokenKind::Reference if context.is_lexeme => {
                return Err(self
                    .refuse(token, "other grammars can't stand in terminals")
                    .with_hint("use a rule")
                    .into());
            }
            TokenKind::Reference => {
                let root = self.grammar(token)?;
                self.lexeme_in(context, Expr::Rule(root), range.clone())?
            }
            _ => {
                let text = shorten(&self.source[range]);
                return Err(self.refuse(token, format!("unexpected `{text}`")).into());
            }
        };
        Ok(Part { expr, span: range.into(), is_repeated: false })
    }

    /// Adds a lexeme, with what may follow it where it is one by itself.
    fn lexeme_in(&mut self, context: Context, expr: Expr, range: Range<usize>) -> Result<ExprId, SyntaxError> {
        let span = Span::from(range);
        // The empty text is no lexeme, behind which something may be ignored.
        let is_part = context.is_lexeme || matches!(expr, Expr::Empty);
        let expr = self.push(expr, span)?;
        if is_part { Ok(expr) } else { self.lexeme(expr, context.scope, span) }
    }

    /// Reads a string, or a range of characters, which extends `range`.
    fn string_or_range(&self, range: &mut Range<usize>, parser: &mut Parser<'s>) -> Result<Expr, SyntaxError> {
        let (text, is_any_case) = self.string(range.clone())?;
        if parser.tokens.peek().is_none_or(|next| &self.source[next.range] != "..") {
            return Ok(match (text.is_empty(), is_any_case) {
                (true, _) => Expr::Empty,
                (false, true) => Expr::LiteralNoCase(text.into()),
                // In rules, special tokens may spell it.
                (false, false) if !parser.context.is_lexeme => Expr::Marker(text.into()),
                (false, false) => Expr::Literal(text.into_bytes().into()),
            });
        }
        let dots = parser.tokens.next().expect("it was seen")?;
        let high = parser.tokens.next().transpose()?.filter(|token| token.kind == TokenKind::String);
        let high = high.ok_or_else(|| self.refuse(&dots, "expected a string after `..`"))?;
        let (high_text, high_any_case) = self.string(high.range.clone())?;
        range.end = high.range.end;
        let refuse = |message: &str| SyntaxError::new(self.source, range.clone().into(), message);
        if is_any_case || high_any_case {
            return Err(refuse("ends of ranges have no flag `i`"));
        }
        let only = |text: &str| {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        match (only(&text), only(&high_text)) {
            (Some(low), Some(high)) if low <= high => Ok(Expr::Class(CharSet::range(low, high))),
            (Some(_), Some(_)) => Err(refuse("the range of characters ends before it begins")),
            _ => Err(refuse("both ends of a range are one character")),
        }
    }

    /// Returns the text of a string token, and whether it has the flag `i`.
    fn string(&self, range: Range<usize>) -> Result<(String, bool), SyntaxError> {
        let is_any_case = self.source[range.clone()].ends_with('i');
        let text = json::text(self.source, range.start + 1..range.end - 1 - usize::from(is_any_case))?;
        Ok((text, is_any_case))
    }

    /// Lowers a reference, with its parameter, which extends `range`.
    fn name(&mut self, range: &mut Range<usize>, parser: &mut Parser<'s>) -> Result<ExprId, SyntaxError> {
        let context = parser.context;
        let span = Span::from(range.clone());
        let name = &self.source[range.clone()];
        let scope = &self.scopes[context.scope];
        let index = scope.definition(name).ok_or_else(|| scope.undefined(self.source, range.clone()))?;
        let definition = &scope.items.definitions[index];
        let (is_terminal, has_parameter) = (definition.is_terminal, definition.has_parameter);
        if context.is_lexeme && !is_terminal {
            let message =
                format!("rule `{}` in a terminal, or in a rule with `lazy`, `suffix` or `stop`", shorten(name));
            return Err(SyntaxError::new(self.source, span, message)
                .with_hint("only terminals can stand here; their names begin with a capital"));
        }
        let is_given = parser.tokens.peek().is_some_and(|next| &self.source[next.range] == "::");
        let number = match (has_parameter, is_given) {
            (false, false) => None,
            (true, true) => {
                let mark = parser.tokens.next().expect("it was seen")?;
                let mut evaluator = Evaluator::new(self.source, mark.range.end, parser.end, context.number);
                let number = evaluator.number()?;
                range.end = evaluator.at;
                parser.tokens.move_to(evaluator.at);
                Some(number)
            }
            (true, false) => {
                return Err(SyntaxError::new(self.source, span, format!("rule `{}` needs a parameter", shorten(name)))
                    .with_hint(format!("like `{0}::0`, or `{0}::_` for that of the rule around", shorten(name))));
            }
            (false, true) => {
                let message = format!("`{}` has no parameter", shorten(name));
                return Err(SyntaxError::new(self.source, span, message));
            }
        };
        let rule = self.rule_of(Instance { scope: context.scope, definition: index, number })?;
        if is_terminal {
            return self.lexeme_in(context, Expr::Rule(rule), range.clone());
        }
        self.push(Expr::Rule(rule), range.clone().into())
    }

    fn special(&mut self, token: &Token, context: Context) -> Result<ExprId, SyntaxError> {
        if context.is_lexeme {
            return Err(self.refuse(token, "special tokens can't stand in terminals").with_hint("use a rule"));
        }
        let span = Span::from(token.range.clone());
        let expr = match specials::read(self.source, token.range.clone())? {
            Special::Name(name) => Expr::Control(ControlRef::Name(name)),
            Special::AllBut(excluded) => Expr::TokenExcept(excluded),
            Special::Ids(ranges) => {
                let n_ids = ranges.iter().map(|&(low, high)| (high - low) as usize + 1).fold(0, usize::saturating_add);
                self.check_n_exprs(n_ids, span)?;
                let ids: Result<Vec<ExprId>, SyntaxError> =
                    specials::references(&ranges).map(|id| self.push(Expr::Control(id), span)).collect();
                Expr::Choice(ids?.into())
            }
        };
        self.lexeme_in(context, expr, token.range.clone())
    }

    fn block(&mut self, token: &Token, context: Context, spend: Spend<'_>) -> Result<ExprId, ReadError> {
        let inside = block_inside(self.source, &token.range);
        let text = &self.source[token.range.clone()];
        if text.starts_with("%regex") {
            let expr = self.substring(token, inside)?;
            return Ok(self.lexeme_in(context, expr, token.range.clone())?);
        }
        if context.is_lexeme {
            return Err(self
                .refuse(token, "blocks of other grammars can't stand in terminals")
                .with_hint("use a rule")
                .into());
        }
        if text.starts_with("%json") {
            let schema = SchemaOperand::new(&self.source[inside.start - 1..inside.end + 1], SchemaOptions::default());
            return Ok(self.lexeme_in(context, Expr::Schema(schema), token.range.clone())?);
        }
        if !text.starts_with("%lark") {
            return Err(self.refuse(token, "options stand on a line of their own").into());
        }
        let depth = self.scopes[context.scope].depth + 1;
        let limit = self.limits.nesting_max;
        if depth > limit {
            let error = self.refuse(token, format!("blocks nest deeper than the limit nesting_max = {limit}"));
            return Err(error.over_limit(depth, limit).into());
        }
        let expr = self.open_scope(inside, depth, spend)?;
        Ok(self.lexeme(expr, context.scope, token.range.clone().into())?)
    }

    /// Reads the block of `%regex`.
    fn substring(&mut self, token: &Token, inside: Range<usize>) -> Result<Expr, SyntaxError> {
        let malformed = || {
            self.refuse(token, "malformed `%regex`").with_hint(
                "write {\"substring_chunks\": [\"a\", \"b\"]}, {\"substring_words\": \"a b\"} or {\"substring_chars\": \"ab\"}",
            )
        };
        let mut members = json::members(self.source, inside)?;
        let (Some(member), true) = (members.pop(), members.is_empty()) else { return Err(malformed()) };
        let chunks: Vec<String> = match (&*member.key, member.value) {
            ("substring_chunks", json::Value::Texts(chunks)) => chunks,
            ("substring_words", json::Value::Text(text)) => words(&text),
            ("substring_chars", json::Value::Text(text)) => text.chars().map(String::from).collect(),
            _ => return Err(malformed()),
        };
        self.n_regex_nodes += chunks.len() + 1;
        self.check_n_exprs(0, token.range.clone().into())?;
        Ok(Expr::Regex(Regex::substring(chunks.into_iter().map(|chunk| chunk.into_bytes().into()).collect())))
    }
}

/// Cuts a text into words: longest runs of letters, digits and `_`, of white space, and of other characters.
fn words(text: &str) -> Vec<String> {
    let kind = |c: char| (c.is_alphanumeric() || c == '_', c.is_whitespace());
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if last == Some(kind(c)) => word.push(c),
            _ => words.push(c.into()),
        }
        last = Some(kind(c));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_and_what_is_between_them() {
        assert_eq!(words("foo bar. b2_z"), ["foo", " ", "bar", ".", " ", "b2_z"]);
        assert_eq!(words("a  ..é"), ["a", "  ", "..", "é"]);
        assert!(words("").is_empty());
    }
}

//! The definitions and directives of a Lark text.
//!
//! An item ends with its line, unless the next line begins with `|`. After this pass all names are known; bodies are read again when they are lowered.

use super::scan::{Token, TokenKind, Tokens, block_inside};
use super::{common, json};
use crate::frontend::check::shorten;
use crate::frontend::progress::Progress;
use crate::frontend::{ReadError, Spend, SyntaxError};
use crate::limits::Limits;
use crate::util::Span;
use core::ops::Range;

/// A rule or a terminal.
#[derive(Debug)]
pub(super) struct Definition {
    /// Where its name is.
    pub name: Range<usize>,
    /// Its name, without `?` and `!`.
    pub text: Box<str>,
    pub is_terminal: bool,
    /// Whether it has a parameter, `::_`.
    pub has_parameter: bool,
    /// Its options with their brackets.
    pub options: Option<Range<usize>>,
    pub body: Body,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Body {
    /// A part of the source.
    Text(Range<usize>),
    /// The pattern of a terminal of `common`.
    Common(&'static str),
}

/// The options of a whole text.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub allow_initial_skip: bool,
    pub ignore_once: bool,
    /// Whether the marker of `stop` is read, as that of `suffix`.
    pub stop_keeps_marker: bool,
}

/// The items of a text.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub definitions: Vec<Definition>,
    /// The bodies of `%ignore`.
    pub ignored: Vec<Range<usize>>,
    pub options: Options,
    /// Options without effect on the language, with their names.
    pub without_effect: Vec<(String, Span)>,
}

/// Reads the items of a part of the source.
pub(super) fn read(source: &str, range: Range<usize>, limits: &Limits, spend: Spend<'_>) -> Result<Items, ReadError> {
    let mut items = Items::default();
    let mut reader = Reader { source, tokens: Tokens::new(source, range.clone()), end: range.end };
    let mut progress = Progress::new(range.start, spend);
    while let Some(token) = reader.tokens.next() {
        let token = token?;
        progress.reach(token.range.end)?;
        match token.kind {
            TokenKind::Newline => {}
            TokenKind::Directive => reader.directive(&token, &mut items, &mut progress)?,
            TokenKind::Block => reader.options(&token, &mut items)?,
            _ => {
                let definition = reader.definition(token, &mut progress)?;
                items.definitions.push(definition);
            }
        }
        if items.definitions.len() > limits.n_rules_max {
            let message = format!("more rules than the limit n_rules_max = {}", limits.n_rules_max);
            let error = SyntaxError::new(source, items.definitions[limits.n_rules_max].name.clone().into(), message);
            return Err(error.over_limit(limits.n_rules_max + 1, limits.n_rules_max).into());
        }
    }
    progress.finish(range.end)?;
    Ok(items)
}

/// Returns whether a name is that of a terminal: its first letter is a capital.
pub(super) fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(|c: char| c.is_ascii_uppercase())
}

struct Reader<'s> {
    source: &'s str,
    tokens: Tokens<'s>,
    end: usize,
}

impl<'s> Reader<'s> {
    fn text(&self, token: &Token) -> &'s str {
        &self.source[token.range.clone()]
    }

    fn refuse(&self, token: &Token, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(self.source, token.range.clone().into(), message)
    }

    /// Reads the next token of the line.
    fn next(&mut self, expected: &str) -> Result<Token, SyntaxError> {
        let found = self.tokens.next().transpose()?;
        match found {
            Some(token) if token.kind != TokenKind::Newline => Ok(token),
            found => {
                let at = found.map_or(self.end, |token| token.range.start);
                let last = self.source[..at].char_indices().next_back();
                let span = Span::new(last.map_or(0, |(start, _)| start), at);
                Err(SyntaxError::new(self.source, span, format!("the line ends where {expected} was expected")))
            }
        }
    }

    /// Reads up to the end of an item; returns where its text ends. Checks that brackets are closed.
    fn skip_body(&mut self, progress: &mut Progress<'_>) -> Result<usize, ReadError> {
        let mut opened: Vec<usize> = Vec::new();
        let mut end = None;
        // Where the line ends are that may end the item.
        let mut line_end: Option<(Tokens<'s>, usize)> = None;
        loop {
            let before = self.tokens.clone();
            let Some(token) = self.tokens.next().transpose()? else { break };
            progress.reach(token.range.end)?;
            let text = self.text(&token);
            match token.kind {
                TokenKind::Open => opened.push(token.range.start),
                TokenKind::Close => match opened.pop() {
                    Some(open) if (self.source.as_bytes()[open] == b'(') == (text == ")") => {}
                    Some(_) => {
                        let message = format!("`{text}` closes a bracket of the other kind");
                        return Err(self.refuse(&token, message).into());
                    }
                    None => return Err(self.refuse(&token, format!("`{text}` closes nothing")).into()),
                },
                TokenKind::Newline => {
                    let (before, start) = line_end.take().unwrap_or((before, token.range.start));
                    match self.tokens.peek() {
                        Some(next) if next.kind == TokenKind::Newline => line_end = Some((before, start)),
                        Some(next) if self.text(&next) == "|" => {}
                        _ => {
                            self.tokens = before;
                            return Ok(end.unwrap_or(start));
                        }
                    }
                    continue;
                }
                _ => {}
            }
            end = Some(token.range.end);
        }
        match opened.last() {
            None => Ok(self.end),
            Some(&open) => {
                let span = Span::new(open, open + 1);
                Err(SyntaxError::new(self.source, span, "group is opened here and not closed").into())
            }
        }
    }

    fn definition(&mut self, first: Token, progress: &mut Progress<'_>) -> Result<Definition, ReadError> {
        let head = self.head(first)?;
        let start = self.tokens.at();
        let end = self.skip_body(progress)?;
        Ok(Definition { body: Body::Text(start..end.max(start)), ..head })
    }

    /// Reads a definition up to its `:`; the body is empty yet.
    fn head(&mut self, first: Token) -> Result<Definition, SyntaxError> {
        let mut name = first;
        while matches!(self.text(&name), "?" | "!") {
            name = self.next("a name")?;
        }
        if name.kind != TokenKind::Name {
            return Err(self
                .refuse(&name, "expected a definition, like `name: \"text\"`")
                .with_hint("a definition goes on in the next line only if that begins with `|`"));
        }
        let text = self.text(&name);
        let is_terminal = is_terminal(text);
        let mut next = self.next("`:`")?;
        let mut has_parameter = false;
        if self.text(&next) == "::" {
            let parameter = self.next("`_`")?;
            if self.text(&parameter) != "_" || is_terminal {
                let error = self.refuse(&parameter, "a rule with a parameter is defined as `name::_: ...`");
                let is_ebnf = self.text(&parameter).starts_with('=');
                return Err(if is_ebnf { error.with_hint("`::=` is EBNF; Lark writes `name: ...`") } else { error });
            }
            has_parameter = true;
            next = self.next("`:`")?;
        }
        let mut options = None;
        if self.text(&next) == "[" {
            let start = next.range.start;
            if is_terminal {
                return Err(self
                    .refuse(&next, "options are for rules, not for terminals")
                    .with_hint("write a rule with the option whose body is the terminal"));
            }
            while self.text(&next) != "]" {
                next = self.next("`]`")?;
            }
            options = Some(start..next.range.end);
            next = self.next("`:`")?;
        }
        match self.text(&next) {
            ":" => {}
            "." => {
                return Err(self.refuse(&next, "priorities are not supported").with_hint("exact matching needs none"));
            }
            "{" => return Err(self.refuse(&next, "templates are not supported")),
            other => {
                let message = format!("expected `:` after the name `{}`, not `{}`", shorten(text), shorten(other));
                return Err(self.refuse(&next, message));
            }
        }
        let body = Body::Text(next.range.end..next.range.end);
        Ok(Definition { name: name.range, text: text.into(), is_terminal, has_parameter, options, body })
    }

    fn directive(
        &mut self,
        directive: &Token,
        items: &mut Items,
        progress: &mut Progress<'_>,
    ) -> Result<(), ReadError> {
        match self.text(directive) {
            "%ignore" => {
                let end = self.skip_body(progress)?;
                items.ignored.push(directive.range.end..end.max(directive.range.end));
                Ok(())
            }
            "%import" => Ok(self.import(items)?),
            other @ ("%declare" | "%override" | "%extend") => {
                Err(self.refuse(directive, format!("`{other}` is not supported")).into())
            }
            other => Err(self
                .refuse(directive, format!("unknown directive `{}`", shorten(other)))
                .with_hint("directives are %import, %ignore, %llguidance and %grammar_options")
                .into()),
        }
    }

    /// Reads `%import common.A`, `%import common.A -> B` or `%import common (A, B)`.
    fn import(&mut self, items: &mut Items) -> Result<(), SyntaxError> {
        let library = self.next("`common`")?;
        if self.text(&library) != "common" {
            return Err(self.refuse(&library, "only `common` can be imported").with_hint("like `%import common.INT`"));
        }
        let mark = self.next("`.`")?;
        match self.text(&mark) {
            "." => {
                let name = self.next("a terminal of `common`")?;
                let pattern = self.common_pattern(&name)?;
                let mut alias = name;
                if self.tokens.peek().is_some_and(|next| self.text(&next) == "->") {
                    self.next("`->`")?;
                    alias = self.next("a name")?;
                    if alias.kind != TokenKind::Name {
                        return Err(self.refuse(&alias, "expected a name"));
                    }
                }
                items.definitions.push(self.imported(&alias, pattern));
            }
            "(" => loop {
                let name = self.next("a terminal of `common`")?;
                let pattern = self.common_pattern(&name)?;
                items.definitions.push(self.imported(&name, pattern));
                let mark = self.next("`)`")?;
                match self.text(&mark) {
                    ")" => break,
                    "," => {}
                    _ => return Err(self.refuse(&mark, "expected `,` or `)`")),
                }
            },
            _ => return Err(self.refuse(&mark, "expected `.` or `(`").with_hint("like `%import common.INT`")),
        }
        match self.tokens.peek() {
            Some(next) if next.kind != TokenKind::Newline => Err(self.refuse(&next, "expected the end of the line")),
            _ => Ok(()),
        }
    }

    fn common_pattern(&self, name: &Token) -> Result<&'static str, SyntaxError> {
        let text = self.text(name);
        common::pattern(text).ok_or_else(|| {
            let error = self.refuse(name, format!("`common` has no terminal `{}`", shorten(text)));
            match crate::util::closest_name(text, common::names()) {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error.with_hint(format!("it has {}", common::names().collect::<Vec<_>>().join(", "))),
            }
        })
    }

    fn imported(&self, name: &Token, pattern: &'static str) -> Definition {
        Definition {
            name: name.range.clone(),
            text: self.text(name).into(),
            is_terminal: true,
            has_parameter: false,
            options: None,
            body: Body::Common(pattern),
        }
    }

    /// Reads `%llguidance {...}` and `%grammar_options {...}`.
    fn options(&mut self, block: &Token, items: &mut Items) -> Result<(), SyntaxError> {
        let text = self.text(block);
        if !text.starts_with("%llguidance") && !text.starts_with("%grammar_options") {
            let name = &text[..text.find(|c: char| c != '%' && !c.is_ascii_alphanumeric()).unwrap_or(text.len())];
            return Err(self
                .refuse(block, format!("`{name}` is no definition of its own"))
                .with_hint(format!("write `start: {name} {{ ... }}`")));
        }
        for json::Member { key, value, span } in json::members(self.source, block_inside(self.source, &block.range))? {
            let refuse = |message: String| SyntaxError::new(self.source, span, message);
            match (&*key, value) {
                ("allow_initial_skip", json::Value::Bool(value)) => items.options.allow_initial_skip = value,
                ("ignore_once", json::Value::Bool(value)) => items.options.ignore_once = value,
                ("stop_keeps_marker", json::Value::Bool(value)) => items.options.stop_keeps_marker = value,
                ("skip_repetition", json::Value::Text(value)) => match &*value {
                    "once" => items.options.ignore_once = true,
                    "repeat" => items.options.ignore_once = false,
                    _ => return Err(refuse("`skip_repetition` is \"once\" or \"repeat\"".to_owned())),
                },
                ("no_forcing", json::Value::Bool(_)) => items.without_effect.push((key, span)),
                ("allow_invalid_utf8", json::Value::Bool(false)) => {}
                ("allow_invalid_utf8", json::Value::Bool(true)) => {
                    return Err(refuse("`allow_invalid_utf8` is not supported: regexes are of characters here, and all texts are UTF-8".to_owned())
                        .with_hint("leave it out; a token whose bytes are no text can be named by its id, as `<[128]>`"));
                }
                (
                    "allow_initial_skip" | "ignore_once" | "stop_keeps_marker" | "no_forcing" | "allow_invalid_utf8",
                    _,
                ) => {
                    return Err(refuse(format!("`{key}` is true or false")));
                }
                _ => {
                    return Err(refuse(format!("unknown option `{}`", shorten(&key))).with_hint(
                        "options are allow_initial_skip, ignore_once, skip_repetition, stop_keeps_marker, no_forcing and allow_invalid_utf8",
                    ));
                }
            }
        }
        Ok(())
    }
}

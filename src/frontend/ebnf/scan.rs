//! The scan before parsing: it finds the ends of tokens, splits the text into rules, bounds the nesting, and checks that brackets and
//! quotes are closed.
//!
//! A rule begins at `name ::=` and ends where the next one begins, whatever the line ends, so the last name of a body may begin the
//! next rule. After the scan all names are known, and the bodies are parsed with the same [`Tokens`], rule by rule.

use super::operand_end;
pub(super) use crate::frontend::check::shorten;
use crate::frontend::progress::Progress;
use crate::frontend::{ReadError, Spend, SyntaxError, extent};
use crate::limits::Limits;
use crate::util::Span;
use core::ops::Range;

/// What a token is; those of one character that only bodies care about are `Mark`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// The name of a rule, or of a macro.
    Name,
    /// `::=`.
    Defines,
    /// `(`.
    Open,
    /// `(=`.
    Ahead,
    /// `)`.
    Close,
    /// A literal, without its flag.
    Literal,
    /// `[...]`.
    Class,
    /// `/.../`, without its flags.
    Regex,
    /// `%regex "..."`, or `%regex /.../` without its flags.
    Pattern,
    /// `<...>` or `!<...>`.
    Control,
    /// `{...}`.
    Count,
    /// `%json {...}`, with options or without.
    Schema,
    /// `@name`.
    Grammar,
    /// Digits.
    Number,
    /// One of `| & - ~ * + ? . , =`.
    Mark,
}

/// What begins a regular expression that is named as such.
pub(super) const PATTERN: &str = "%regex";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub range: Range<usize>,
}

/// A rule as the scan found it.
#[derive(Debug)]
pub(super) struct RuleText {
    /// Where its name is.
    pub name: Range<usize>,
    /// Its options with their brackets, if it has any.
    pub options: Option<Range<usize>>,
    /// What follows `::=`.
    pub body: Range<usize>,
}

/// Cuts a source into rules.
pub(super) fn rules(source: &str, limits: &Limits, spend: Spend<'_>) -> Result<Vec<RuleText>, ReadError> {
    let mut rules: Vec<RuleText> = Vec::new();
    let mut opened: Vec<usize> = Vec::new();
    let mut last: Option<Token> = None;
    let mut before_last: Option<Token> = None;
    let start = if source.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let mut progress = Progress::new(start, spend);
    for token in Tokens::new(source, start..source.len()) {
        let token = token?;
        progress.reach(token.range.end)?;
        let span = Span::from(token.range.clone());
        match token.kind {
            TokenKind::Defines => {
                let Some((name, options)) = defined_name(before_last.take(), last.take()) else {
                    return Err(SyntaxError::new(source, span, "`::=` without a rule name before it").into());
                };
                if let Some(&opener) = opened.last() {
                    let (line, column) = Span::from(name.range.clone()).line_column(source);
                    let rule = shorten(&source[name.range]);
                    return Err(unclosed(source, opener, "group")
                        .with_hint(format!("rule `{rule}` begins at line {line}, column {column}, inside the group"))
                        .into());
                }
                if rules.len() >= limits.n_rules_max {
                    let message = format!("more rules than the limit n_rules_max = {}", limits.n_rules_max);
                    let error = SyntaxError::new(source, name.range.into(), message);
                    return Err(error.over_limit(rules.len() + 1, limits.n_rules_max).into());
                }
                if let Some(rule) = rules.last_mut() {
                    rule.body.end = name.range.start;
                }
                rules.push(RuleText { name: name.range, options, body: token.range.end..source.len() });
                continue;
            }
            TokenKind::Open | TokenKind::Ahead => {
                if opened.len() >= limits.nesting_max {
                    return Err(too_deep(source, span, limits).into());
                }
                opened.push(token.range.start);
            }
            TokenKind::Close => {
                opened.pop().ok_or_else(|| {
                    SyntaxError::new(source, span, "`)` closes nothing").with_hint("to mean the character, write \")\"")
                })?;
            }
            TokenKind::Mark if &source[token.range.clone()] == "=" && opened.is_empty() => {
                return Err(unexpected(source, token.range.start).into());
            }
            // Only arguments of macros have commas. Here since what comes behind it may be no token at all, and the first error is the one to report.
            TokenKind::Mark if &source[token.range.clone()] == "," && opened.is_empty() && !rules.is_empty() => {
                let error = SyntaxError::new(source, span, "unexpected `,`");
                return Err(error.with_hint("parts that follow each other need no comma").into());
            }
            _ => {}
        }
        // Before the first rule there is room for its name, and for its options.
        let is_option = |last: &Token| is_options(last, &token) && before_last.is_none();
        if rules.is_empty() && !last.as_ref().map_or(token.kind == TokenKind::Name, is_option) {
            let first = before_last.or(last).map_or(token.range, |name| name.range);
            return Err(SyntaxError::new(source, first.into(), "expected a rule, like `name ::= \"text\"`").into());
        }
        before_last = last.replace(token);
    }
    match (opened.last(), last) {
        (Some(&opener), _) => Err(unclosed(source, opener, "group").into()),
        (None, Some(token)) if rules.is_empty() => {
            Err(SyntaxError::new(source, token.range.into(), "expected `::=` after the name of the rule").into())
        }
        _ => Ok(rules),
    }
}

/// Returns whether `class` are the options of the rule whose name is right before them.
fn is_options(name: &Token, class: &Token) -> bool {
    (name.kind, class.kind) == (TokenKind::Name, TokenKind::Class) && name.range.end == class.range.start
}

/// Returns the name and the options of a rule from the two tokens before its `::=`.
fn defined_name(before_last: Option<Token>, last: Option<Token>) -> Option<(Token, Option<Range<usize>>)> {
    let last = last?;
    match before_last {
        _ if last.kind == TokenKind::Name => Some((last, None)),
        Some(name) if is_options(&name, &last) => Some((name, Some(last.range))),
        _ => None,
    }
}

fn too_deep(source: &str, span: Span, limits: &Limits) -> SyntaxError {
    let message = format!("groups nest deeper than the limit nesting_max = {}", limits.nesting_max);
    SyntaxError::new(source, span, message).over_limit(limits.nesting_max.saturating_add(1), limits.nesting_max)
}

fn unclosed(source: &str, opener: usize, what: &str) -> SyntaxError {
    SyntaxError::new(source, Span::new(opener, opener + 1), format!("{what} is opened here and not closed"))
}

/// The tokens of a part of the source, white space and comments left out. Ends after an error.
#[derive(Clone)]
pub(super) struct Tokens<'s> {
    source: &'s str,
    at: usize,
    end: usize,
}

impl<'s> Tokens<'s> {
    pub(super) fn new(source: &'s str, range: Range<usize>) -> Self {
        Tokens { source, at: range.start, end: range.end }
    }

    /// Goes back to a place that was read.
    pub(super) fn rewind(&mut self, at: usize) {
        self.at = at;
    }

    /// Skips a name that begins right here, without a blank before it, if it is one of those wanted; returns where it ends.
    pub(super) fn skip_name(&mut self, is_wanted: impl FnOnce(&str) -> bool) -> Option<usize> {
        let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let end = self.byte(self.at).is_some_and(is_start).then(|| self.name_end(self.at))?;
        if !is_wanted(&self.source[self.at..end]) {
            return None;
        }
        self.at = end;
        Some(end)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.source.as_bytes()[..self.end].get(at).copied()
    }

    fn skip_blank(&mut self) {
        let text = &self.source.as_bytes()[..self.end];
        let is_left = |byte: u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        loop {
            self.at = extent::find(text, self.at, is_left).unwrap_or(self.end);
            if self.byte(self.at) != Some(b'#') {
                return;
            }
            self.at = extent::find(text, self.at, |byte| byte == b'\n').unwrap_or(self.end);
        }
    }

    fn token(&mut self) -> Result<Token, SyntaxError> {
        let start = self.at;
        let (kind, end) = match self.byte(start).expect("a token has a first byte") {
            byte if byte.is_ascii_alphabetic() || byte == b'_' => (TokenKind::Name, self.name_end(start)),
            byte if byte.is_ascii_digit() => {
                let n_digits = self.source[start..self.end].bytes().take_while(u8::is_ascii_digit).count();
                (TokenKind::Number, start + n_digits)
            }
            quote @ (b'"' | b'\'') => (TokenKind::Literal, self.quoted_end(start, quote, "string")?),
            b'[' => (TokenKind::Class, self.quoted_end(start, b']', "class")?),
            b'/' => (TokenKind::Regex, self.regex_end(start)?),
            b'<' => (TokenKind::Control, self.control_end(start)?),
            b'!' if self.byte(start + 1) == Some(b'<') => (TokenKind::Control, self.control_end(start + 1)?),
            b'{' => (TokenKind::Count, self.count_end(start)?),
            b'%' if self.source[start..self.end].starts_with(operand_end::KEYWORD) => {
                (TokenKind::Schema, operand_end::end(self.source, start..self.end)?)
            }
            b'%' if self.source[start..self.end].starts_with(PATTERN) => (TokenKind::Pattern, self.pattern_end(start)?),
            b'@' => (TokenKind::Grammar, self.grammar_end(start)?),
            b'(' if self.byte(start + 1) == Some(b'=') => (TokenKind::Ahead, start + 2),
            b'(' => (TokenKind::Open, start + 1),
            b')' => (TokenKind::Close, start + 1),
            b'|' | b'&' | b'-' | b'~' | b'*' | b'+' | b'?' | b'.' | b',' | b'=' => (TokenKind::Mark, start + 1),
            b':' if self.source[start..self.end].starts_with("::=") => (TokenKind::Defines, start + 3),
            _ => return Err(unexpected(self.source, start)),
        };
        self.at = end;
        Ok(Token { kind, range: start..end })
    }

    /// A dot belongs to a name when a letter or a digit follows it; otherwise it is any character.
    fn name_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(byte) = self.byte(at) {
            let next_is_word = || self.byte(at + 1).is_some_and(|next| next.is_ascii_alphanumeric() || next == b'_');
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || (byte == b'.' && next_is_word())) {
                break;
            }
            at += 1;
        }
        at
    }

    /// Returns the end of what begins at `start` and ends at an unescaped `close` of the same line.
    fn quoted_end(&self, start: usize, close: u8, what: &str) -> Result<usize, SyntaxError> {
        if let Some(end) = extent::quoted(&self.source.as_bytes()[..self.end], start, close) {
            return Ok(end);
        }
        let hint = match close {
            b']' => "a class ends on its line; inside it, `]` is written `\\]` and a newline `\\n`".to_owned(),
            b'/' => "a regex ends on its line; inside it, `/` is written `\\/`; comments begin with `#`".to_owned(),
            _ => format!(
                "a string ends on its line; inside it, `{0}` is written `\\{0}` and a newline `\\n`",
                close as char
            ),
        };
        Err(unclosed(self.source, start, what).with_hint(hint))
    }

    /// Returns where the regular expression ends that `%regex` begins.
    fn pattern_end(&self, start: usize) -> Result<usize, SyntaxError> {
        let at = operand_end::skip_blanks(self.source, start + PATTERN.len(), self.end);
        match self.byte(at) {
            Some(b'/') => self.regex_end(at),
            Some(quote @ (b'"' | b'\'')) => self.quoted_end(at, quote, "string"),
            _ => Err(SyntaxError::new(
                self.source,
                Span::new(start, at),
                "expected a regular expression behind `%regex`",
            )
            .with_hint("it is a string or stands between slashes, like `%regex \"[a-z]+\"` or `%regex /[a-z]+/i`")),
        }
    }

    fn regex_end(&self, start: usize) -> Result<usize, SyntaxError> {
        if self.byte(start + 1) == Some(b'/') {
            return Err(SyntaxError::new(self.source, Span::new(start, start + 2), "empty regex")
                .with_hint("comments begin with `#`; the empty text is \"\""));
        }
        if self.byte(start + 1) == Some(b'*') {
            return Err(SyntaxError::new(self.source, Span::new(start, start + 2), "a regex can't begin with `*`")
                .with_hint("comments begin with `#` and end with the line"));
        }
        self.quoted_end(start, b'/', "regex")
    }

    fn control_end(&self, start: usize) -> Result<usize, SyntaxError> {
        let text = &self.source[start..self.end];
        let malformed = |width: usize| {
            SyntaxError::new(self.source, Span::new(start, start + width), "`<` begins no control token").with_hint(
                "a control token is written `<|name|>`, `<name>`, `<[123]>` or `<[1-3,7]>`; the character is \"<\"",
            )
        };
        if let Some(id) = text.strip_prefix("<[") {
            let is_inside = |&byte: &u8| byte.is_ascii_digit() || b",-^*".contains(&byte);
            let length = id.bytes().take_while(is_inside).count();
            let is_closed = length > 0 && id[length..].starts_with("]>");
            return if is_closed { Ok(start + length + 4) } else { Err(malformed(2)) };
        }
        if let Some(name) = text.strip_prefix("<|") {
            // Up to the next `<` or line end, so that a line of many `<` is not read again for each.
            let part = &name[..name.find(['<', '\n', '\r']).unwrap_or(name.len())];
            return part.find("|>").map(|length| start + length + 4).ok_or_else(|| malformed(2));
        }
        let name = &text[1..];
        let length = name.find(|c: char| c.is_whitespace() || "<>\"'()".contains(c)).unwrap_or(name.len());
        let is_closed = length > 0 && name[length..].starts_with('>');
        if is_closed { Ok(start + length + 2) } else { Err(malformed(1)) }
    }

    fn count_end(&self, start: usize) -> Result<usize, SyntaxError> {
        let inside = &self.source[start + 1..self.end];
        // After the comma, `-1` is no bound.
        let mut has_comma = false;
        let length = inside.find(|c: char| {
            has_comma |= c == ',';
            !(c.is_ascii_digit() || matches!(c, ',' | ' ' | '\t') || c == '-' && has_comma)
        });
        let length = length.unwrap_or(inside.len());
        if inside[length..].starts_with('}') {
            return Ok(start + length + 2);
        }
        Err(SyntaxError::new(self.source, Span::new(start, start + 1), "`{` begins no count")
            .with_hint("counts are written `{2}`, `{2,}`, `{2,5}` or `{,5}`; the character is \"{\""))
    }

    fn grammar_end(&self, start: usize) -> Result<usize, SyntaxError> {
        let is_start = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        if self.byte(start + 1).is_some_and(is_start) {
            return Ok(self.name_end(start + 1));
        }
        Err(SyntaxError::new(self.source, Span::new(start, start + 1), "`@` is followed by the name of a grammar"))
    }
}

/// Returns the error for a character that begins no token.
fn unexpected(source: &str, at: usize) -> SyntaxError {
    let c = source[at..].chars().next().expect("a character begins here");
    let message = if c.is_control() || (c.is_whitespace() && c != ' ') {
        format!("unexpected character U+{:04X}", u32::from(c))
    } else {
        format!("unexpected `{c}`")
    };
    let error = SyntaxError::new(source, Span::new(at, at + c.len_utf8()), message);
    let hint = match c {
        ':' | '=' => "a rule is written `name ::= ...`".to_owned(),
        ';' => "a rule needs no end mark".to_owned(),
        '!' => "any token but one is written `!<name>`; the complement of a regular expression is `~`".to_owned(),
        '\\' => "escapes belong into strings, classes and regexes".to_owned(),
        ']' | '}' | '>' => format!("to mean the character, write \"{c}\""),
        _ if c.is_whitespace() => "only blanks, tabs and line ends may stand between tokens".to_owned(),
        '\u{201C}' | '\u{201D}' | '\u{2018}' | '\u{2019}' => "strings are written with \" or '".to_owned(),
        _ => return error,
    };
    error.with_hint(hint)
}

impl Iterator for Tokens<'_> {
    type Item = Result<Token, SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_blank();
        if self.at >= self.end {
            return None;
        }
        let token = self.token();
        if token.is_err() {
            self.at = self.end;
        }
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        Tokens::new(source, 0..source.len()).map(|token| &source[token.unwrap().range]).collect()
    }

    #[test]
    fn tokens_end_where_they_should() {
        let source = r#"a.b c. d-e "x\"]" '[' [\]"/] /\/#"/i # "(
            <|a b|> "a" <|y|> <[12]> </s> {1, 2} f*"#;
        let expected = [
            "a.b",
            "c",
            ".",
            "d-e",
            r#""x\"]""#,
            "'['",
            r#"[\]"/]"#,
            r#"/\/#"/"#,
            "i",
            "<|a b|>",
            r#""a""#,
            "<|y|>",
            "<[12]>",
            "</s>",
            "{1, 2}",
            "f",
            "*",
        ];
        assert_eq!(texts(source), expected);
    }

    #[test]
    fn rules_end_where_the_next_begins() {
        let source = "a ::= b # c ::= d\n  \"e ::=\"\nf # comment\n ::= g";
        let rules = rules(source, &Limits::default(), &mut |_| Ok(())).unwrap();
        let parts: Vec<_> = rules.into_iter().map(|r| (&source[r.name], source[r.body].trim())).collect();
        assert_eq!(parts, [("a", "b # c ::= d\n  \"e ::=\""), ("f", "g")]);
    }
}
